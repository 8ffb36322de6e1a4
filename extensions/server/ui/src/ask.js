// Ask: passages with highlighted matches, the reasons for them, and teaching.
import { learnsFromUse, may, post, reinforce, roleKnown, trace } from "./api.js";
import { address, addressed, asked } from "./asked.js";
import { causesBar, longestOf, shares } from "./causes.js";
import { chunkLink } from "./chunk.js";
import { empty, field, fresh, h, put, said, score, settled, some, tagLink } from "./dom.js";
import { formats } from "./formats.js";
import { reply } from "./reply.js";
import { bodyOf, headingOf, markerOf, placeOf, snippet, whole } from "./passage.js";

let asking = false; // whether to move the focus to the answer

export function showAsk(view, parameters) {
  addressed(parameters);
  const first = h("input", { type: "search", value: asked.query, required: true, maxlength: 65536 });
  const second = h("input", { type: "search", value: asked.other, maxlength: 65536 });
  const k = h("input", { type: "number", min: 1, max: 100, value: asked.k });
  const where = h("input", { type: "text", value: asked.where_, spellcheck: "false",
    placeholder: '{"kind": "place"}' });
  const results = h("div.columns");
  const refused = h("p.refused", { role: "alert" });
  const more = h("details", asked.other || asked.where_ ? { open: true } : {},
    h("summary", "Filter, compare"),
    h("div.fields",
      field("A second question, to compare", second),
      field("Only chunks whose metadata matches", where, "A filter in JSON, as in the Python API."),
      field("Hits", k)));
  const form = h("form.ask", {
    role: "search",
    onsubmit: (event) => {
      event.preventDefault();
      submit();
    },
  }, h("div.question", field("Question", first), h("button.primary", "Ask")), more, refused);
  put(view, form, results);
  return asked.query ? ask() : welcome(results);

  function submit() {
    const filter = where.value.trim();
    put(refused);
    try {
      if (filter) JSON.parse(filter);
    } catch (problem) {
      put(refused, `The filter is not JSON: ${problem.message}`);
      return;
    }
    Object.assign(asked, { query: first.value.trim(), other: second.value.trim(), k: Number(k.value) || 10, where_: filter });
    if (!asked.query) return;
    asking = true;
    if (location.hash === address("ask")) ask();
    else location.hash = address("ask"); // which shows this view again
  }

  async function ask() {
    try {
      asked.where = asked.where_ ? JSON.parse(asked.where_) : null;
    } catch (problem) {
      put(refused, `The filter is not JSON: ${problem.message}`);
      return;
    }
    const questions = asked.other ? [asked.query, asked.other] : [asked.query];
    const columns = questions.map((query) => h("section.answers", { tabindex: "-1", "aria-label": query }));
    put(results, columns);
    results.classList.toggle("two", questions.length > 1);
    await Promise.all(questions.map((query, at) => answer(columns[at], query, at === 0)));
    if (asking) columns[0].focus({ preventScroll: true });
    asking = false;
  }
}

async function welcome(results) {
  const tries = h("ul.tries");
  put(results, empty("Ask something that takes two passages to answer",
    h("p", "Each passage shows why it was found. Mark those that answer, and the next question, "
      + "reworded or not, finds them sooner."), tries));
  const { tags } = await post("tags", { limit: 100 }).catch(() => ({ tags: [] }));
  const named = tags.filter((tag) => tag.titles > 0);
  if (named.length) {
    const [first, second, third] = named;
    const questions = [`What is known about ${first.tag}?`,
      second && `What connects ${first.tag} and ${second.tag}?`, third && `Who or what is ${third.tag}?`].filter(Boolean);
    put(tries, questions.map((query) => h("li", h("a", {
      href: `#/ask?${new URLSearchParams({ q: query })}`,
      dir: "auto",
      onclick: () => { asking = true; },
    }, query))));
  } else if (results.querySelector(".empty")) {
    put(tries, h("li", "The index is empty. ", h("a", { href: "#/operations" }, "Add a document"), " first."));
  }
}

const SURE = [[0.8, "Sure: passages hold what the question names."], [0.5, "Fairly sure that this is about the question."],
  [0.3, "Unsure: passages hold only part of the question."], [0, "Probably nothing here is about this question."]];

async function answer(column, query, main, before = null, message = null, earlier = null) {
  column.setAttribute("aria-busy", "true");
  if (!before) put(column, h("p.quiet", "Asking …"));
  let recall;
  let traced;
  try {
    const filter = asked.where ? { where: asked.where } : {};
    recall = await post("recall", { query, k: asked.k, ...filter });
    traced = await trace(recall, asked.where);
    await roleKnown();
  } catch (problem) {
    put(column, h("p.refused", { role: "alert" }, problem.message));
    return;
  } finally {
    column.removeAttribute("aria-busy");
  }
  if (main) asked.recall = recall;
  const causes = new Map(traced.hits.map((hit) => [hit.chunk_id, hit]));
  const known = recall.hits.filter((hit) => causes.has(hit.chunk.id));
  const longest = longestOf(known, (hit) => causes.get(hit.chunk.id));
  const marker = markerOf(query, recall.hits);
  const teach = may("teach") && recall.hits.length > 0 ? teaching(column, query, main, recall, message) : null;
  const cards = recall.hits.map((hit) => card(hit, causes.get(hit.chunk.id), longest, marker, teach, before));
  put(column,
    h(asked.other ? "h2" : "h2.hidden", { dir: "auto" }, query),
    h("p.summary",
      h("span", { role: "status" }, some(recall.hits.length, "passage"), ". "),
      recall.confidence !== null && h("span.quiet", { title: `Confidence ${score(recall.confidence)}` },
        SURE.find(([least]) => recall.confidence >= least)[1], " "),
      recall.cues.length > 0 && ["It names ", recall.cues.map((cue) => [tagLink(cue.tag), " "])],
      main && recall.hits.length > 0 && h("a", { href: address("replay") }, "Replay it")),
    recall.notes.map((note) => said("p.note", note)),
    earlier,
    recall.hits.length ? h("ol.hits", { "aria-label": "Passages" }, cards)
      : empty("Nothing found", h("p", "No passage matches the filter, or the index is empty.")),
    recall.hits.length > 0 && formats("hits", { query, k: asked.k, where: asked.where_ }),
    teach && teach.bar);
  if (teach) column.onkeydown = keys(cards, teach);
  const replied = main && !before && reply(column, recall, teach);
  if (replied) column.querySelector(".hits").before(replied);
}

/** With focus on the answer, a number goes to a passage, c and w mark it, t teaches. */
function keys(cards, teach) {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    const here = event.target.closest(".hit");
    if (/^[0-9]$/.test(event.key)) cards[(Number(event.key) || 10) - 1]?.focus();
    else if (event.key === "c" && here) here.querySelector("[data-mark=cited]").click();
    else if (event.key === "w" && here) here.querySelector("[data-mark=wrong]").click();
    else if (event.key === "t") teach.now();
    else return;
    event.preventDefault();
  };
}

function card(hit, traced, longest, marker, teach, before) {
  const { chunk } = hit;
  const did = (kind) => teach?.did(chunk.id, kind);
  const body = h("div", { oncopy: () => did("copied") }, snippet(chunk, marker));
  const long = bodyOf(chunk).length > body.textContent.length;
  const place = placeOf(chunk);
  const mark = (kind, label) => h("button.mark", {
    type: "button",
    "aria-pressed": "false",
    "data-mark": kind,
    onclick: (event) => {
      const kept = teach.mark(chunk.id, kind);
      for (const button of event.target.parentElement.children) button.setAttribute("aria-pressed", String(kept === button.dataset.mark));
    },
  }, label);
  const [rank, heading] = [fresh("rank"), fresh("heading")]; // which name the card
  return h("li.hit", { "data-chunk": chunk.id, tabindex: "-1", "aria-labelledby": `${rank} ${heading}` },
    h("div.title",
      h("span.rank", { id: rank }, `${hit.rank}`),
      h("div.name", h("h3", { id: heading }, chunkLink(chunk.id, headingOf(chunk), did)),
        place && h("p.place.quiet", h("a", { href: `#/operations?document=${encodeURIComponent(chunk.document_id)}`, dir: "auto" }, place))),
      before && moved(hit.rank, before.get(chunk.id)),
      teach && h("span.marks", mark("cited", "Cited"), mark("wrong", "Wrong"))),
    body,
    h("div.row",
      traced && h("details.why", h("summary", `Why: ${shares(hit, traced)}`),
        h("p.quiet", "Score ", h("span.score", score(hit.score))), causesBar(hit, traced, longest)),
      long && h("button.link", {
        type: "button",
        "aria-expanded": "false",
        onclick: (event) => {
          const open = event.target.getAttribute("aria-expanded") === "false";
          put(body, open ? whole(chunk, marker) : snippet(chunk, marker));
          if (open) did("opened");
          event.target.setAttribute("aria-expanded", String(open));
          put(event.target, open ? "Show less" : "Show all");
        },
      }, "Show all")),
    hit.path.length > 2 && pathLine(hit.path));
}

function moved(rank, was) {
  if (was === undefined) return h("span.moved.up", "new");
  if (was === rank) return h("span.moved", "as before");
  return h(`span.moved.${rank < was ? "up" : "down"}`,
    `${rank < was ? "▲" : "▼"} from ${was}`);
}

/** The path from the question to a hit, as a line of links. */
export function pathLine(path) {
  return h("p.path", { role: "group", "aria-label": "Path" }, path.map((step, at) => [
    at > 0 && h("span.to", { "aria-hidden": "true" }, "→"),
    step.kind === "query" ? h("span.start", "question")
      : step.kind === "episode" ? h("span.start.learned", "an earlier question")
        : step.kind === "tag" ? tagLink(step.value) : chunkLink(step.value, step.title),
    " "]));
}

/** The bar with the marks, the button and its result, which stays in view. */
function teaching(column, query, main, recall, message) {
  const marks = new Map();
  const done = new Set();
  let shown = null; // all hits, unless a model was shown fewer
  const actor = h("input", { type: "text", autocomplete: "username", maxlength: 512,
    value: localStorage.getItem("hebbgraph-actor") || "", placeholder: "name" });
  const status = h(message ? "span" : "span.hint", { role: "status" });
  const button = h("button.primary", { type: "button", disabled: true, onclick: teach }, "Teach");
  const bar = h("div.teach", { role: "group", "aria-label": "Teach" }, status, h("label.inline", "as ", actor), button);
  const of = (kind) => [...marks].filter(([, mark]) => mark === kind).map(([id]) => id);
  put(status, message || "Mark what answers the question and what does not. Unmarked passages lose nothing.");
  actor.addEventListener("input", settled(200, () =>
    localStorage.setItem("hebbgraph-actor", actor.value.trim())));

  function mark(id, kind) {
    marks.set(id, marks.get(id) === kind ? null : kind);
    const [cited, wrong] = [of("cited").length, of("wrong").length];
    button.disabled = !(cited || wrong);
    status.className = "";
    put(status, `${cited} cited, ${wrong} wrong of ${recall.hits.length} shown`);
    return marks.get(id);
  }

  /** Teach the citations of a model's answer. */
  function accept(modelAnswer) {
    marks.clear();
    for (const id of modelAnswer.cited) marks.set(id, "cited");
    ({ shown } = modelAnswer);
    return teach();
  }

  /** Report use of a passage once, where the server learns from it, without waiting. */
  function did(id, kind) {
    if (!learnsFromUse() || done.has(kind + id)) return;
    done.add(kind + id);
    reinforce(recall, { cited: [id], kind, actor: actor.value.trim() || null })
      .catch((problem) => console.info(`The page could not report that this was ${kind}: ${problem.message}`));
  }

  async function teach() {
    button.disabled = true;
    const lesson = { cited: of("cited"), rejected: of("wrong"), actor: actor.value.trim() || null, ...(shown ? { shown } : {}) };
    try {
      const given = await reinforce(recall, lesson);
      await again([`Learned: ${lesson.cited.length} cited, ${lesson.rejected.length} wrong. This is the answer now. `,
        h("button.link", { type: "button", onclick: (event) => takeBack(event.target, given.id) }, "Undo")]);
    } catch (problem) {
      put(status, problem.message);
      button.disabled = false;
    }
  }

  async function again(what) {
    await answer(column, query, main, new Map(recall.hits.map((hit) => [hit.chunk.id, hit.rank])), what, column.querySelector(".reply"));
    column.focus({ preventScroll: true });
  }

  async function takeBack(undo, feedback) {
    undo.remove();
    try {
      await post("forget", { feedback, dry_run: false });
      const now = new Map([...column.querySelectorAll(".hit")].map((hit, at) => [hit.dataset.chunk, at + 1]));
      await answer(column, query, main, now, "Taken back: the answer is as it was.", column.querySelector(".reply"));
    } catch (problem) {
      column.querySelector(".teach [role=status]").textContent = problem.message;
    }
  }
  return { bar, mark, accept, did, now: () => button.click() };
}
