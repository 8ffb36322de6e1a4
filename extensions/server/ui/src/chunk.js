// A dialog with one chunk: its text, place, tags, and the effect of lessons.
import { post } from "./api.js";
import { asked } from "./asked.js";
import { h, put, said, signed, tagLink } from "./dom.js";
import { headingOf, headings, placeOf, whole } from "./passage.js";

const MOST_SHOWN = 100_000;
const MADE = new Set(["source", "position", "headings", "media_type", "content_hash"]); // heading and place say it

/** A button that opens a chunk; `did` is called with what is done with it. */
export function chunkLink(id, title, did) {
  return h("button.chunk", { type: "button", dir: "auto", onclick: () => openChunk(id, did) }, title || id);
}

const CAUSE = { words: "an earlier question in similar words", vectors: "an earlier question of similar meaning", pairs: "cited for another question" };

/** The lessons that moved this chunk for the last question, and their actors. */
async function explained(id) {
  let effects;
  try {
    ({ learned: effects } = await post("explain", { recall: asked.recall.id, chunk_id: id }));
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    return null; // the recall is no longer kept
  }
  if (!effects.length) return null;
  const strongest = effects.slice(0, 8);
  const cited = (effect) => (effect.family === "pairs" ? effect.source.split(", ").filter((other) => other !== id) : []);
  const titles = await headings(strongest.flatMap(cited));
  return h("section", h("h3", "Effect of lessons on the last question"),
    h("ul.plain", { "aria-label": "Effect of lessons" }, strongest.map((effect) => h("li", { dir: "auto" }, h("span.learned", signed(effect.effect)), " ", CAUSE[effect.family],
      cited(effect).length > 0 && ` together with ${cited(effect).map((other) => titles.get(other) ?? other.slice(0, 8)).join(", ")}`,
      h("span.quiet", `, taught by ${effect.actor || "someone unnamed"}`)))));
}

/** Open a chunk by its id. */
export async function openChunk(id, did = () => {}) {
  const body = h("div.reading", { "aria-busy": "true" }, h("p.quiet", "Reading …"));
  const dialog = h("dialog.wide", { "aria-labelledby": "chunk-title" }, body);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("copy", () => did("copied"));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("a")) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  try {
    const { chunks: [chunk] } = await post("get", { ids: [id] });
    if (!chunk) throw new Error("This passage was deleted.");
    did("opened");
    const { tags } = await post("tags", { chunk: id });
    const why = asked.recall ? await explained(id) : null;
    const long = chunk.text.length > MOST_SHOWN;
    const facts = Object.entries(chunk.metadata).filter(([name]) => !MADE.has(name));
    put(body,
      h("h2", { id: "chunk-title", dir: "auto" }, headingOf(chunk)),
      h("p.quiet", { dir: "auto" }, placeOf(chunk), h("code.id", { title: chunk.id }, ` ${chunk.id.slice(0, 8)}`)),
      whole(long ? { ...chunk, text: chunk.text.slice(0, MOST_SHOWN) } : chunk),
      long && h("p.quiet", "This is the beginning; the text goes on."),
      facts.length > 0 && h("dl.facts", facts.map(([name, value]) => [
        said("dt", name), said("dd", typeof value === "string" ? value : JSON.stringify(value))])),
      tags.length > 0 && h("section", h("h3", "Tags"), h("p.tagged", { role: "group", "aria-label": "Tags" }, tags.map((tagged) => [tagLink(tagged.tag), " "]))),
      why,
      h("div.row.end", close));
  } catch (problem) {
    put(body, h("h2", { id: "chunk-title" }, "No such passage"), h("p", problem.message), h("div.row", close));
  }
  body.removeAttribute("aria-busy");
  close.focus({ preventScroll: true });
  dialog.scrollTop = 0;
}
