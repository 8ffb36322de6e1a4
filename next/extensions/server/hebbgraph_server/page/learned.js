// Learned: the lessons, what they brought, and taking them back.
import { changed, href } from "./address.js";
import { get, remove, session } from "./api.js";
import { named } from "./card.js";
import { attempt, button, confirmed, count, h, joined, put, refused, some, tell } from "./dom.js";

const PAGE = 50;

export async function showLearned(view, given) {
  const actor = given.get("actor");
  const list = h("ol.rows", { "aria-label": "Lessons" });
  const [said, more] = [h("p.soft"), h("div.row")];
  let total = 0;

  async function load() {
    const found = await get("lessons", { actor, offset: list.children.length, limit: PAGE });
    ({ total } = found);
    list.append(...found.lessons.map((lesson) => row(lesson, taken)));
    draw();
  }

  function draw() {
    const left = total - list.children.length;
    put(more, left > 0 && button(`Show ${count(Math.min(left, PAGE))} more`, load));
    put(said, total ? `${some(total, "lesson")}, the newest first. `
      : ["Nothing was taught yet. ", h("a", { href: href("/") }, "Ask a question"),
        ", and say which passage answers it. "],
    actor && [`Only those of ${actor}; `, h("a", { href: changed({ actor: null }) }, "show all"), ". "],
    !session.keeps_questions && "Questions are not kept, by a setting of the server.");
  }

  function taken(item) {
    item.remove();
    total -= 1;
    draw();
  }

  await load();
  put(view, h("h1", "Learned"), said, total > 0 && check(), list, more);
}

function row(lesson, taken) {
  const { actor, cited, created, may_undo: mayUndo, note, question, reason, rejected } = lesson;
  const passages = (title, all) => all.length > 0
    && h("p", h("span.soft", title, " "), joined(all.map((each) => named(each))));
  const item = h("li",
    h("div.head", h("h2", { dir: "auto" }, question
      ? h("a", { href: href("/", { q: question }) }, question) : "A question that was not kept"),
    mayUndo && button("Take back", () => takeBack(lesson, () => taken(item)))),
    passages("Answered by", cited),
    passages("Wrong:", rejected),
    reason && h("p", `“${reason}”`),
    h("p.soft", actor ? h("a", { href: changed({ actor }) }, actor) : "Somebody",
      " · ", new Date(created * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }), note && ` · moves nothing: ${note}`));
  return item;
}

async function takeBack({ id, cited, rejected }, done) {
  const body = [h("p", "The ranking will be as if this had never been said of:"),
    h("ul", [...cited, ...rejected].map((each) => h("li", each.title || "a passage that is gone")))];
  if (!await confirmed("Take this lesson back?", body, "Take back")) return;
  await attempt(async () => {
    await remove(`lessons/${encodeURIComponent(id)}`);
    done();
    tell("Taken back");
  });
}

/** Did it help? Past questions are asked again, each without its own lesson. */
function check() {
  const result = h("span", { role: "status" });
  return h("div.row", button("Did it help?", () => attempt(async () => {
    put(result, "Asking past questions again …");
    put(result, verdict(await get("lessons/evaluation")));
  }, (problem) => put(result, refused(problem)))), result);
}

function verdict({ questions, untaught, taught, error }) {
  if (!questions) return "No question can be asked again yet.";
  const percent = (share) => `${Math.round(100 * share)} %`;
  const gain = taught - untaught;
  const isClear = Math.abs(gain) > 1.96 * error;
  return `${!isClear || !gain ? "It cannot be told yet" : gain > 0 ? "It helped" : "It harmed"}. Of `
    + `${some(questions, "past question")}, each asked without its own lesson, the ranking is `
    + `${percent(untaught)} right without lessons and ${percent(taught)} with the others.`;
}
