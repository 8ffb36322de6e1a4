// One chunk, in a dialog: its text, where it is from, and its tags.
import { post } from "./api.js";
import { h, put, said, tagLink } from "./dom.js";

const MOST_SHOWN = 100_000;

/** A link that opens a chunk. */
export function chunkLink(id, title) {
  return h("button.chunk", { type: "button", dir: "auto", onclick: () => openChunk(id) }, title || id);
}

/** Open a chunk by its id; `recall` explains its tags, if there is one. */
export async function openChunk(id) {
  const body = h("div.reading", { "aria-busy": "true" }, h("p.quiet", "Reading …"));
  const dialog = h("dialog.wide", { "aria-labelledby": "chunk-title" }, body);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("a")) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  try {
    const { chunks: [chunk] } = await post("get", { ids: [id] });
    if (!chunk) throw new Error("This chunk is no longer there.");
    const text = chunk.text.slice(0, MOST_SHOWN);
    const facts = Object.entries(chunk.metadata);
    put(body,
      h("h2", { id: "chunk-title", dir: "auto" }, chunk.title || chunk.id),
      h("p.quiet", { dir: "auto" }, chunk.id, chunk.document_id ? ` · ${chunk.document_id}` : ""),
      said("p.text", text),
      chunk.text.length > MOST_SHOWN && h("p.quiet", "The text goes on; this is its beginning."),
      facts.length > 0 && h("dl.facts", facts.map(([name, value]) => [
        said("dt", name), said("dd", typeof value === "string" ? value : JSON.stringify(value))])),
      chunk.tags.length > 0 && h("p", "Given tags: ", chunk.tags.map((tag) => [tagLink(tag), " "])),
      h("div.row", close));
  } catch (problem) {
    put(body, h("h2", { id: "chunk-title" }, "No chunk"), h("p", problem.message), h("div.row", close));
  }
  body.removeAttribute("aria-busy");
  close.focus();
}
