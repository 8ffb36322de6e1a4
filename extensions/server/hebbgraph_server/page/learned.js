// Learned: the lessons, what they brought, and taking them back.
import { href } from "./address.js";
import { get, remove, session } from "./api.js";
import { named } from "./card.js";
import { attempt, button, confirmed, h, joined, put, refuse, some, tell } from "./dom.js";

export async function showLearned(view) {
  const { lessons, total } = await get("lessons", { limit: 1000 });
  put(view, h("h1", "Learned"),
    h("p.soft", total
      ? `${some(total, "lesson")}, the newest first. `
      : ["No lessons in force. ", h("a", { href: href("/") }, "Ask a question"),
        ", and say which passage answers it. "],
    !session.keeps_questions && "Questions are not kept, by a setting of the server."),
    total > 0 && check(),
    h("ol.rows", { "aria-label": "Lessons" },
      lessons.map((lesson) => row(lesson, () => showLearned(view)))));
}

function row(lesson, again) {
  const { actor, cited, created, may_undo: mayUndo, note, question, rejected } = lesson;
  const passages = (title, all) => all.length > 0
    && h("p", h("span.soft", title, " "), joined(all.map((each) => named(each))));
  return h("li",
    h("div.head", h("h2", question
      ? h("a", { href: href("/", { q: question }) }, question) : "A question that was not kept"),
    mayUndo && button("Take back", () => takeBack(lesson, again))),
    passages("Answered by", cited),
    passages("Wrong:", rejected),
    h("p.soft", actor ?? "Somebody",
      ` · ${new Date(created * 1000).toLocaleString("en-GB")}`,
      note && ` · moves nothing: ${note}`));
}

async function takeBack({ cited, id, rejected }, again) {
  const titles = joined([...cited, ...rejected].map(({ title }) =>
    h("b", title || "what is gone")));
  if (!await confirmed("Take this lesson back?", ["On ", titles], "Take back")) return;
  await attempt(async () => {
    await remove(`lessons/${encodeURIComponent(id)}`);
    await again();
    tell("Taken back");
  });
}

/** Past questions are asked again, each without its own lesson. */
function check() {
  const result = h("span", { role: "status" });
  return h("div.row", button("Did it help?", () => attempt(async () => {
    put(result, verdict(await get("lessons/evaluation")));
  }, refuse(result))), result);
}

function verdict({ questions, better, worse }) {
  if (questions < 2) return "It takes answers to two questions to tell.";
  return `${questions} past questions, each without its own lesson: the others make ${better} `
    + `better, ${worse} worse, and leave ${questions - better - worse} as before.`;
}
