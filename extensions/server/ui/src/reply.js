// A model's answer: its citations link to passages, and teach once it is accepted.
import { modelAnswers, stream } from "./api.js";
import { h, put } from "./dom.js";

const BRACKETS = /\[([^\][]+)\]/g;

/** The section of the answer, or null. `teach` is null for the role read. */
export function reply(column, recall, teach) {
  if (!modelAnswers() || !recall.hits.length) return null;
  const place = h("section.reply", { "aria-label": "Answer", "aria-busy": "true", "aria-live": "polite" },
    h("p.quiet", "The model reads the passages …"));
  const ask = async () => {
    try {
      let answer = null;
      let said = "";
      const coming = h("p", { dir: "auto" });
      for await (const line of stream("answer", { recall_id: recall.id })) {
        if (line.problem) throw new Error(line.problem.detail || line.problem.title);
        if (line.answer) answer = line.answer;
        else {
          if (!said) put(place, coming);
          said += line.text;
          coming.textContent = said;
        }
      }
      const accept = teach && answer.cited.length > 0 && h("button", {
        type: "button",
        onclick: () => { accept.remove(); teach.accept(answer); },
      }, "Right: teach what it cites");
      put(place, answer.text.split(/\n{2,}/).map((part) => h("p", { dir: "auto" }, linked(column, part, answer.keys))),
        h("div.row", h("small.quiet", answer.cited.length ? "Written by a model from the passages below. "
          : "Written by a model that cites no passage. "), accept));
    } catch (problem) {
      put(place, h("p.refused", { role: "alert" }, problem.message), h("button", { type: "button", onclick: again }, "Ask the model again"));
    }
    place.removeAttribute("aria-busy");
  };
  const again = () => {
    put(place, h("p.quiet", "The model reads the passages …")).setAttribute("aria-busy", "true");
    ask();
  };
  ask();
  return place;
}

/** A text with the keys in it as links to the passages. */
function linked(column, text, keys) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(BRACKETS)) {
    const named = found[1].split(/[,;]\s*/).filter((key) => Object.hasOwn(keys, key));
    if (!named.length) continue;
    parts.push(text.slice(from, found.index), named.map((key) => cite(column, keys[key])));
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

function cite(column, id) {
  const card = () => [...column.querySelectorAll(".hit")].find((hit) => hit.dataset.chunk === id);
  const rank = card()?.querySelector(".rank").textContent ?? "?";
  return h("button.cite", {
    type: "button",
    "aria-label": `Passage ${rank}`,
    onclick: () => {
      card()?.focus();
      card()?.scrollIntoView({ block: "center" });
    },
  }, rank);
}
