// Ask: hits with the causes of their scores and the path that led there; cite, and ask again.
import { post, trace } from "./api.js";
import { asked } from "./asked.js";
import { causesBar, legend } from "./causes.js";
import { chunkLink } from "./chunk.js";
import { empty, field, h, put, said, score, settled, some, tagLink } from "./dom.js";

const CLAMPED = 1200;

export function showAsk(view) {
  const first = h("input", { type: "search", value: asked.query, required: true, maxlength: 65536 });
  const second = h("input", { type: "search", value: asked.other, maxlength: 65536 });
  const k = h("input", { type: "number", min: 1, max: 100, value: asked.k });
  const where = h("input", { type: "text", value: asked.where_, spellcheck: "false",
    placeholder: '{"kind": "place"}' });
  const results = h("div.columns", { "aria-live": "polite" });
  const refused = h("p.refused", { role: "alert" });
  const more = h("details", asked.other || asked.where_ ? { open: true } : {},
    h("summary", "Filter, compare"),
    h("div.fields",
      field("A second question, beside the first", second),
      field("Only chunks whose metadata fits", where, "A filter as JSON, as in the Python API."),
      field("Hits", k)));
  const form = h("form.ask", {
    role: "search",
    onsubmit: (event) => {
      event.preventDefault();
      ask();
    },
  }, h("div.question", field("Question", first), h("button.primary", "Ask")), more, refused);
  put(view, form, results);
  if (asked.query) ask();
  else welcome(results, first);

  async function ask() {
    put(refused);
    asked.query = first.value.trim();
    asked.other = second.value.trim();
    asked.k = Number(k.value) || 10;
    asked.where_ = where.value.trim();
    if (!asked.query) return;
    try {
      asked.where = asked.where_ ? JSON.parse(asked.where_) : null;
    } catch (problem) {
      put(refused, `The filter is not JSON: ${problem.message}`);
      return;
    }
    const questions = asked.other ? [asked.query, asked.other] : [asked.query];
    const columns = questions.map(() => h("section.answers"));
    put(results, columns);
    results.classList.toggle("two", questions.length > 1);
    await Promise.all(questions.map((query, at) => answer(columns[at], query, at === 0)));
  }
}

async function welcome(results, first) {
  const tries = h("p");
  put(results, empty("Ask something that takes two passages to answer",
    h("p", "Each hit shows what its score is made of and the path that led to it: from the tags "
      + "that your question names, over passages, to others that they mention."),
    h("p", "Mark the hits that answer it as cited. The index learns from citations only, so the "
      + "next question, reworded or not, finds them sooner."), tries));
  const { tags } = await post("tags", { limit: 100 }).catch(() => ({ tags: [] }));
  const named = tags.filter((tag) => tag.titles > 0).slice(0, 3);
  if (named.length) {
    put(tries, "For a start: ", named.map((tag) => [h("button.link", {
      type: "button",
      dir: "auto",
      onclick: () => {
        first.value = `What is known about ${tag.tag}?`;
        first.form.requestSubmit();
      },
    }, `What is known about ${tag.tag}?`), " "]));
  } else if (results.querySelector(".empty")) {
    put(tries, "The index is empty. ", h("a", { href: "#/operations" }, "Add some text"), " first.");
  }
}

async function answer(column, query, main, before = null) {
  column.setAttribute("aria-busy", "true");
  if (!before) put(column, h("p.quiet", "Asking …"));
  let recall;
  let told;
  try {
    const filter = asked.where ? { where: asked.where } : {};
    recall = await post("recall", { query, k: asked.k, ...filter });
    told = await trace(recall, asked.where);
  } catch (problem) {
    put(column, h("p.refused", { role: "alert" }, problem.message));
    return;
  } finally {
    column.removeAttribute("aria-busy");
  }
  if (main) asked.recall = recall;
  const causes = new Map(told.hits.map((hit) => [hit.chunk_id, hit]));
  const longest = Math.max(...recall.hits.map((hit) => hit.score), 0);
  const marks = new Map();
  const teach = teaching(column, query, main, recall, marks);
  put(column,
    said("h2", query),
    h("p.summary",
      recall.cues.length
        ? ["Names ", recall.cues.map((cue) => [tagLink(cue.tag), " "])]
        : "Names no tag of the index. ",
      recall.confidence !== null && h("span.quiet", { "data-confidence": recall.confidence },
        `Confidence ${score(recall.confidence)}. `),
      main && recall.hits.length > 0 && h("a", { href: "#/replay" }, "Replay it")),
    recall.notes.map((note) => said("p.note", note)),
    recall.hits.length ? [legend(), h("ol.hits", recall.hits.map((hit) =>
      card(hit, causes.get(hit.chunk.id), longest, marks, teach.changed, before)))]
      : empty("Nothing fits", h("p", "No chunk passes the filter, or the index is empty.")),
    recall.hits.length > 0 && teach.bar);
}

function card(hit, told, longest, marks, changed, before) {
  const { chunk } = hit;
  const text = said("p.text", chunk.text.slice(0, CLAMPED));
  const long = chunk.text.length > 320;
  if (long) text.classList.add("clamped");
  const was = before?.get(chunk.id);
  const mark = (kind, label) => h("button.mark", {
    type: "button",
    "aria-pressed": "false",
    onclick: (event) => {
      const on = marks.get(chunk.id) !== kind;
      marks.set(chunk.id, on ? kind : null);
      for (const one of event.target.parentElement.querySelectorAll("button.mark")) {
        one.setAttribute("aria-pressed", String(on && one === event.target));
      }
      changed();
    },
  }, label);
  return h("li.hit", { "data-chunk": chunk.id, "data-score": hit.score },
    h("div.title",
      h("span.rank", `${hit.rank}`),
      h("h3", chunkLink(chunk.id, chunk.title || chunk.text.slice(0, 60))),
      before && moved(hit.rank, was),
      h("span.score", { title: "Score" }, score(hit.score))),
    told && causesBar(hit, told, longest),
    hit.path.length > 1 && pathLine(hit.path),
    text,
    h("div.row",
      mark("cited", "Cited"), mark("wrong", "Wrong"),
      long && h("button.link", {
        type: "button",
        "aria-expanded": "false",
        onclick: (event) => {
          const open = !text.classList.toggle("clamped");
          event.target.setAttribute("aria-expanded", String(open));
          event.target.textContent = open ? "Show less" : "Show more";
        },
      }, "Show more")));
}

function moved(rank, was) {
  if (was === undefined) return h("span.moved.up", "new");
  if (was === rank) return h("span.moved", "as before");
  return h(`span.moved.${rank < was ? "up" : "down"}`,
    `${rank < was ? "▲" : "▼"} from ${was}`);
}

/** The path from the question to a hit, as a line of links. */
export function pathLine(path) {
  return h("p.path", { "aria-label": "Path" }, path.map((step, at) => [
    at > 0 && h("span.to", { "aria-hidden": "true" }, "→"),
    step.kind === "query" ? h("span.start", "question")
      : step.kind === "episode" ? h("span.start.learned", "an earlier question")
        : step.kind === "tag" ? tagLink(step.value) : chunkLink(step.value, step.title),
    " "]));
}

function teaching(column, query, main, recall, marks) {
  const actor = h("input", { type: "text", autocomplete: "username", maxlength: 512,
    value: localStorage.getItem("hebbgraph-actor") || "", placeholder: "name" });
  const said_ = h("span");
  const button = h("button.primary", { type: "button", disabled: true }, "Teach");
  const bar = h("div.teach", { role: "group", "aria-label": "Teach" },
    said_, h("label.inline", "as ", actor), button);
  const of = (kind) => [...marks].filter(([, mark]) => mark === kind).map(([id]) => id);
  const changed = () => {
    const [cited, wrong] = [of("cited").length, of("wrong").length];
    button.disabled = !(cited || wrong);
    put(said_, cited || wrong ? `${cited} cited, ${wrong} wrong of ${recall.hits.length} shown`
      : "Mark what answers the question, and what does not.");
  };
  changed();
  actor.addEventListener("input", settled(200, () =>
    localStorage.setItem("hebbgraph-actor", actor.value.trim())));
  button.addEventListener("click", async () => {
    button.disabled = true;
    const lesson = { cited: of("cited"), rejected: of("wrong"), actor: actor.value.trim() || null };
    try {
      try {
        await post("reinforce", { recall: recall.id, ...lesson });
      } catch (problem) {
        if (problem.status !== 404) throw problem;
        await post("reinforce", { recall, ...lesson });
      }
      const before = new Map(recall.hits.map((hit) => [hit.chunk.id, hit.rank]));
      await answer(column, query, main, before);
      column.prepend(h("p.note.learned", { role: "status" },
        `Learned from ${some(lesson.cited.length, "citation")}. This is the answer now; `,
        h("a", { href: "#/learning" }, "take it back"), " if that was wrong."));
    } catch (problem) {
      put(said_, problem.message);
      button.disabled = false;
    }
  });
  return { bar, changed };
}
