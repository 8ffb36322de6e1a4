// Teaching: what answers the question and what is wrong, given and taken back.
import { get, post, remove, session } from "./api.js";
import { named } from "./card.js";
import { attempt, button, h, put, some, tell } from "./dom.js";
import { excerpt } from "./text.js";

const NAME = "hebbgraph-actor";
const me = () => session.actor ?? (localStorage.getItem(NAME) || null);

/** Where people say who they are, for badges; a token may know it. */
export function nameField() {
  if (session.actor) return h("span", "marking as ", h("b", session.actor));
  return h("label", "marking as ", h("input", {
    type: "text", maxlength: 100, placeholder: "your name",
    value: localStorage.getItem(NAME) ?? "",
    onchange: (event) => localStorage.setItem(NAME, event.target.value.trim()),
  }));
}

/** Read the lessons on a question; `again` asks it again. */
export async function lessonsOn(answer, again) {
  const { lessons } = await get("lessons", { question: answer.question, limit: 1000 });
  const mine = () => lessons.filter((each) => each.may_undo && each.actor === me());
  const forget = (id) => remove(`lessons/${encodeURIComponent(id)}`);

  let isBusy = false;
  async function changing(work) {
    if (isBusy) return; // what a second click means depends on the first
    isBusy = true;
    await attempt(work);
    isBusy = false;
  }

  /** What I said of which passage; the last word counts. */
  function verdicts() {
    const said = new Map();
    for (const lesson of mine().reverse()) {
      lesson.cited.forEach(({ id }) => said.set(id, "cited"));
      lesson.rejected.forEach(({ id }) => said.set(id, "rejected"));
    }
    return said;
  }

  /** Say something of a passage; the same again takes it back. One lesson holds all that I say. */
  const judge = (id, name) => changing(async () => {
    const said = verdicts();
    if (said.get(id) === name) said.delete(id);
    else said.set(id, name);
    const all = (verdict) => [...said.keys()].filter((key) => said.get(key) === verdict);
    const given = said.size && await post("lessons", {
      recall: answer.id, cited: all("cited"), rejected: all("rejected"), actor: me(),
    });
    for (const former of mine()) await forget(former.id);
    await again(id, !said.has(id) ? "Taken back"
      : given.trusted ? "Learned" : "Kept; it counts once another name says the same");
  });

  /** Take back a lesson; if it is mine and on this question, what it says of a passage. */
  const undo = (lesson, id) => (mine().some((each) => each.id === lesson) && verdicts().has(id)
    ? judge(id, verdicts().get(id))
    : changing(async () => {
      await forget(lesson);
      await again(id, "Taken back");
    }));

  const wrong = (id) => lessons.find(({ rejected }) => rejected.some((each) => each.id === id));
  return { judge, undo, wrong, verdict: (id) => verdicts().get(id) };
}

/** A search for the passage that answers a question, but was not found by it. */
export function searchToTeach(taught) {
  const list = h("ol.rows", { "aria-label": "Passages to choose from" });
  const input = h("input", { type: "search", id: "missing" });
  return h("details",
    h("summary", "The answer is not here?"),
    h("form", {
      role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        attempt(async () => {
          const found = await post("recalls", { question: input.value, k: 8, keep: false });
          const hits = found.hits.filter((hit) => hit.score);
          tell(`${some(hits.length, "passage")} found`);
          put(list, hits.map((hit) => h("li", h("div.head", h("h3", named(hit)),
            button("Answers it", () => taught.judge(hit.id, "cited"), { class: "verdict" })),
          h("p.soft", excerpt(hit).parts))));
        });
      },
    }, h("label", { for: "missing" }, "Find the passage by words that it holds"),
    h("div.row", input, h("button", "Find"))),
    list);
}
