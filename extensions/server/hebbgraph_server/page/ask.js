// Ask: a question, the passages for it, with and without lessons.
import { changed, go, href } from "./address.js";
import { get, post, session } from "./api.js";
import { card, named } from "./card.js";
import { attempt, button, count, glide, h, joined, put, refused, some, tell } from "./dom.js";
import { showTag, tagLink } from "./tag.js";
import { lessonsOn, nameField, searchToTeach } from "./teach.js";
import { choose } from "./upload.js";
import { legend } from "./why.js";

/** How sure it is that something here answers the question. */
function verdict(confidence, [first]) {
  if (!first?.score) return "Nothing is found.";
  if (confidence < 0.5) return "Unsure whether this is known here.";
  return `This is ${first.lacks.length ? "probably " : ""}known here.`;
}

let latest = ""; // the question on the screen: answers to earlier ones come too late

export async function showAsk(view, given) {
  const input = h("input", { type: "search", "aria-label": "Question", maxlength: 8192,
    placeholder: "Ask a question" });
  const results = h("section.results", { tabindex: "-1", "aria-label": "Answer" });
  const panel = h("aside", { hidden: true });
  let [answer, tag] = [null, null];
  put(view, h("form.ask", {
    role: "search",
    onsubmit: (event) => {
      event.preventDefault();
      answer = null; // the same question is asked again, too
      if (input.value.trim()) go(href("/", { q: input.value.trim() }));
      results.focus({ preventScroll: true });
    },
  }, input, h("button.primary", "Ask")), h("div.columns", results, panel));

  function change(now) {
    const question = now.get("q") ?? "";
    const isPlain = now.get("lessons") === "off";
    if (now.get("tag") !== tag) {
      tag = now.get("tag");
      showTag(panel, tag);
      view.classList.toggle("wide", Boolean(tag));
    }
    if (answer?.question === question) answer.draw(isPlain);
    else {
      latest = question;
      document.title = `${question || "Ask"} · hebbgraph`;
      input.value = question;
      answer = question ? answered(results, question, isPlain) : { question, draw: () => {} };
      attempt(() => (question ? answer.ask() : welcome(results)), (problem) => {
        if (latest === question) put(results, refused(problem));
      });
    }
    return true;
  }
  change(given);
  if (!input.value) input.focus();
  return change;
}

async function welcome(results) {
  const tries = h("ul.tries", { "aria-label": "Questions to try" });
  const { documents, kinds, lessons, may, name, passages } = session;
  put(results, h("div.welcome", h("h1", name), passages
    ? [h("p.soft", `${some(documents, "document")}, ${some(passages, "passage")}`,
      lessons > 0 && [", ", h("a", { href: href("/learned") }, some(lessons, "lesson"))]),
    h("h2", "Try"), tries, h("p.hints", hint("/", "question"), hints()),
    may.write && h("p.soft", "Drop files anywhere to add them.")]
    : [h("p.soft", "Nothing is here yet."), may.write
      ? [h("p", "Drop files anywhere, or ", button("choose files", choose, { class: "link" }), "."),
        h("p.soft", `It reads ${kinds.join(" ")} and other text.`)]
      : h("p", "Whoever runs the server can add documents.")]));
  if (!passages) return;
  const { questions } = await get("suggestions");
  put(tries, questions.map((question) =>
    h("li", h("a", { href: href("/", { q: question }) }, question))));
}

const hint = (keys, does) => h("span", [...keys].map((key) => h("kbd", key)), " ", does);
const hints = () => [hint("jk", "move"), hint("a", "answers it"), hint("x", "wrong"),
  hint("u", "undo"), hint("o", "show all")];

/** The answer to one question on the screen. */
function answered(view, question, isPlain) {
  const [summary, list, below] = [h("div", { role: "status" }),
    h("ol.cards", { "aria-label": "Passages" }), h("div")];
  let [found, taught] = [null, null];

  async function load() {
    found = await post("recalls", { question, compare: true });
    taught = session.may.teach && found.kept ? await lessonsOn(found, again) : null;
  }

  async function ask() {
    view.ariaBusy = true;
    await load().finally(() => { view.ariaBusy = latest !== question; });
    if (latest !== question) return;
    view.ariaLabel = `Answer to ${question}`;
    put(view, summary, taught && h("p.foot", nameField()), list, below);
    draw(isPlain);
  }

  /** Ask again after a lesson, and show where its passage went. */
  async function again(id, what) {
    await load();
    if (latest !== question) return;
    draw(false, id);
    const hit = found.hits.find((each) => each.id === id);
    const name = `“${hit?.title || "The passage"}”`;
    tell(`${what}. ${name} is ${hit?.score ? `number ${hit.rank}` : "not among the first"} now.`);
  }

  function draw(plainly, judged = null) {
    isPlain = plainly;
    if (!found) return;
    const isFound = found.hits.length > 0;
    put(summary, summarized(found, isPlain));
    glide(list, judged, () => put(list, isPlain ? plainCards(found) : cards(found, taught)));
    put(below, isFound && legend(found.hits, isPlain),
      taught && [searchToTeach(taught), h("p.hints", hints())]);
  }
  return { question, ask, draw };
}

function cards(answer, taught) {
  const { hits } = answer;
  const best = Math.max(...hits.map((hit) => hit.score), 1e-9);
  const about = { answer, best, taught };
  return hits.map((hit, at) => card(hit, { above: hits[at - 1], next: hits[at + 1], ...about }));
}

function plainCards(answer) {
  const hits = new Map(answer.hits.map((hit) => [hit.id, hit]));
  const best = Math.max(...answer.hits.map((hit) => hit.untaught), 1e-9);
  return answer.without_lessons.map((each) => (hits.has(each.id)
    ? card({ ...hits.get(each.id), rank: each.rank, hop: null }, { answer, best, isPlain: true })
    : h("li.card", { "data-id": each.id, tabindex: "-1" },
      h("h2", h("span.rank", each.rank), " ", named(each), h("small", "far below with lessons")))));
}

/** How sure the answer is, and on what. */
function summarized({ confidence, hits, ignored, names, notes, words }, isPlain) {
  const [counted, common] = [words, ignored].map((all) =>
    all.filter((word) => word.passages !== null));
  const turn = (label, lessons) => button(label, () => go(changed({ lessons }), true),
    { "aria-pressed": String(isPlain === Boolean(lessons)) });
  const line = (...said) => h("p.words", said);
  return [
    h("div.said", h("h1", isPlain ? "Without lessons" : verdict(confidence ?? 1, hits)),
      hits.some((hit) => hit.parts.learned !== 0)
      && h("div.switch", { role: "group", "aria-label": "Ranking" },
        turn("with lessons", null), turn("without", "off"))),
    counted.length > 0 && line("In how many passages: ", joined(counted.map(({ word, passages }) =>
      [h("em", word), ` ${count(passages)}`]), " · ")),
    names.length + common.length > 0 && line("Names in the question: ",
      names.map((tag) => [tagLink(tag), " "]), common.map(({ word, passages }) =>
        [tagLink(word), ` ignored: in ${some(passages, "passage")} `])),
    notes.filter((note) => !/^(no tag of|nothing known)/.test(note))
      .map((note) => line(note.replace("chunk", "passage"))),
  ];
}

/** Keys that move among the passages, and press their buttons. */
export function keys(event, isTyping) {
  const all = [...document.querySelectorAll(".results .cards > li")];
  const at = all.indexOf(event.target.closest(".cards > li"));
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
  const target = /^[a-z]$/.test(event.key) && all[at]?.querySelector(`[data-key="${event.key}"]`);
  if (step && all.length && (!isTyping || event.key === "ArrowDown")) {
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  } else if (target && !isTyping) target.click();
  else return;
  event.preventDefault();
}
