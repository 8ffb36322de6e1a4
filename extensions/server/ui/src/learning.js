// Learning: lessons, what they changed, and taking them back.
import { get, may, mayVouch, post, reinforce, trace } from "./api.js";
import { asked } from "./asked.js";
import { headings } from "./passage.js";
import { chunkLink } from "./chunk.js";
import { count, empty, field, h, moment, put, score, signed, some, svg } from "./dom.js";
import { formats } from "./formats.js";
import { lines } from "./plots.js";

const MOST = 100; // lessons in the list, the newest

export function showLearning(view) {
  const lessons = h("div", { "aria-live": "polite" });
  const edges = h("div");
  const forgetting = h("div", { "aria-live": "polite" });
  const taken = h("div", { "aria-live": "polite" });
  const proposed = h("div", { "aria-live": "polite" });
  const [compared, comparing] = comparison();
  put(view,
    proposed,
    may("teach") && h("section", h("h2", "Lessons"), lessons),
    h("section", h("h2", "Ranks with and without lessons"), compared),
    may("write") && h("section", h("h2", "Did it help here?"), report()),
    h("div", { class: may("teach") ? "pair" : "" },
      h("section", h("h2", "What was learned"), edges),
      may("teach") && h("section", h("h2", "Take back"), forget(forgetting, () => list()), forgetting, taken)));
  return Promise.all([comparing, may("teach") ? list() : moved()]);

  /** For the role read: the parameters, without lessons. */
  async function moved() {
    try {
      const { learned } = await get("learned");
      put(edges, learned.length ? [parameters(learned), formats("parameters")] : h("p.quiet", "No parameter was learned yet."),
        h("p.quiet", "To see the lessons, use a token with the role teach."));
    } catch (problem) {
      put(edges, h("p.refused", { role: "alert" }, problem.message));
    }
  }

  async function list() {
    put(lessons, h("p.quiet", "Reading …"));
    const undoing = undoable(taken, list);
    try {
      const [{ preview }, { lessons: known }, { learned }] = await Promise.all([
        post("forget", { everything: true, dry_run: true }), post("lessons", {}), get("learned")]);
      const newest = known.slice(-MOST).reverse();
      const open = proposals(known);
      const titles = await headings([...open.flatMap((pair) => [pair.old, pair.new]),
        ...newest.flatMap((item) => [...item.cited, ...item.rejected]), ...preview.changes.map((item) => item.target)]);
      put(proposed, proposalList(open.filter((pair) => titles.has(pair.old) && titles.has(pair.new)), titles, list));
      put(lessons, overview(known, newest, titles, (criteria) => showPreview(forgetting, criteria, list)));
      put(edges, parameters(learned), learned.length > 0 && formats("parameters"),
        changes(preview, "Nothing was learned yet.", titles), formats("edges", { everything: true }));
      await undoing;
    } catch (problem) {
      put(lessons, h("p.refused", { role: "alert" }, problem.message));
    }
  }
}

function overview(known, newest, titles, takeBack) {
  if (!known.length) {
    return empty("Nothing was taught yet",
      h("p", "A lesson is an answer that cites some of the passages it was shown. Questions like it then find "
        + "these passages sooner. Being retrieved teaches nothing."),
      h("p", h("a", { href: "#/ask" }, "Ask something"), ", mark what answers it, and come back."));
  }
  const counts = new Map();
  for (const { actor } of known) counts.set(actor, (counts.get(actor) || 0) + 1);
  const actors = [...counts].sort(([, a], [, b]) => b - a);
  const idle = known.filter((lesson) => !lesson.active).length;
  return [
    h("p.summary",
      h("b", some(known.length, "lesson")), ` by ${some(actors.length, "actor")}. `,
      idle > 0 && h("span.quiet", `${count(idle)} have no effect any more.`)),
    h("div.pair",
      h("div", growth(known, actors.slice(0, 4)),
        h("table", h("thead", h("tr", h("th", { scope: "col" }, "actor"), h("th.number", { scope: "col" }, "lessons"),
          h("th", { scope: "col" }, h("span.hidden", "action")))),
        h("tbody", actors.slice(0, 50).map(([name, n], at) => h("tr",
          h("td", { dir: "auto" }, at < 4 && h(`i.swatch.c${at}`, { "aria-hidden": "true" }), name || h("i", "no name")),
          h("td.number", count(n)), h("td", name && h("button", {
            type: "button",
            "aria-label": `Take back what ${name} taught`,
            onclick: () => takeBack({ actor: name }),
          }, "Take back"))))))),
      h("div.scroll.list", { tabindex: "0", role: "region", "aria-label": "Lessons, the newest first" },
        h("ol.log", newest.map((lesson) => lessonItem(lesson, titles, takeBack))),
        known.length > newest.length && h("p.quiet", `${count(known.length - newest.length)} older ones`))),
    formats("lessons"),
  ];
}

// -- outdated passages, by people who cannot vouch for it ---------------------------

/** Replacements that nobody has vouched for, each with the lessons that propose it. */
function proposals(known) {
  const pairs = (lesson) => Object.entries(lesson.outdated).map(([old, now]) => `${old}\n${now}`);
  const accepted = new Set(known.filter((lesson) => lesson.trusted).flatMap(pairs));
  const by = new Map();
  for (const lesson of known) {
    for (const pair of lesson.trusted ? [] : pairs(lesson)) if (!accepted.has(pair)) by.set(pair, [...(by.get(pair) || []), lesson]);
  }
  return [...by].map(([pair, lessons]) => ({ old: pair.split("\n")[0], new: pair.split("\n")[1], lessons }));
}

function proposalList(open, titles, done) {
  if (!open.length) return null;
  const problem = h("p.refused", { role: "alert" });
  const doing = (label, work) => h("button", {
    type: "button",
    "aria-label": label,
    onclick: async (event) => {
      event.target.disabled = true;
      try {
        await work();
        await done();
      } catch (error) {
        put(problem, error.message);
        event.target.disabled = false;
      }
    },
  }, label.split(":")[0]);
  return h("section", h("h2", "Proposals"),
    h("p.quiet", "People say that a passage is outdated. Accept this, and the newer one replaces it in all answers; "
      + "dismiss it, and their feedback is taken back."),
    h("ul.plain", { "aria-label": "Proposals" }, open.map((pair) => {
      const [old, now] = [titles.get(pair.old), titles.get(pair.new)];
      const names = [...new Set(pair.lessons.map((each) => each.actor || "no name"))];
      return h("li.row",
        h("span", chunkLink(pair.old, old), " replaced by ", chunkLink(pair.new, now),
          h("span.quiet", ", says ", h("span", { dir: "auto" }, names.slice(0, 4).join(", "), names.length > 4 && " …"))),
        mayVouch() && doing(`Accept: ${now} in place of ${old}`, () => accept(pair, old)),
        doing(`Dismiss: ${now} in place of ${old}`, () => post("forget", {
          feedback: pair.lessons.map((each) => each.feedback_id), dry_run: false })));
    })), problem);
}

/** Vouch for a proposal, for its question or else for the title of the outdated passage. */
async function accept(pair, title) {
  const recall = await post("recall", { query: pair.lessons[0].question || title }); // a lesson of its own
  return reinforce(recall, { outdated: { [pair.old]: pair.new }, trusted: true });
}

/** A plot of the number of lessons of each actor over time. */
function growth(known, actors) {
  const step = Math.ceil(known.length / 60);
  const at = known.map((_, number) => number).filter((number) => (known.length - 1 - number) % step === 0);
  const day = (seconds) => new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const series = actors.map(([name], place) => {
    let sum = 0;
    const sums = known.map((lesson) => { sum += lesson.actor === name ? 1 : 0; return sum; });
    return { label: name || "no name", values: at.map((number) => sums[number]), colour: `colony-${place}` };
  });
  const days = at.map((number) => day(known[number].created_at));
  const names = days.map((name, place) => (name === days[place - 1] ? "" : name));
  return lines("Lessons of each actor over time", names, series);
}

function lessonItem(lesson, titles, takeBack) {
  const named = (id) => [" ", titles.has(id) ? chunkLink(id, titles.get(id)) : h("code.chunk", id.slice(0, 12))];
  return h("li",
    h("div", lesson.question && h("p", { dir: "auto" }, lesson.question),
      lesson.cited.length > 0 && h("p", h("small", "cited"), lesson.cited.map(named)),
      lesson.rejected.length > 0 && h("p", h("small", "wrong"), lesson.rejected.map(named)),
      h("p.quiet", `${moment(lesson.created_at)}, `, h("span", { dir: "auto" }, lesson.actor || "no name"),
        lesson.kind !== "cited" && `, ${lesson.kind}`,
        Object.keys(lesson.outdated).length > 0 && ", on what is outdated", lesson.origin && [", from ", h("span", { dir: "auto" }, lesson.origin)],
        `; ${count(lesson.active)} of ${some(lesson.edges, "edge")} active`)),
    h("button", {
      type: "button",
      "aria-label": `Take back lesson ${lesson.feedback_id.slice(0, 8)}`,
      onclick: () => takeBack({ feedback: lesson.feedback_id }),
    }, "Take back"));
}

const PARAMETERS = {
  words: "Questions in similar words",
  "often by words": "Often cited for similar words",
  vectors: "Questions of similar meaning",
  "often by vectors": "Often cited for similar meaning",
  pairs: "Passages cited together",
  handicap: "Handicap of taught passages",
  opened: "Opening, relative to a citation",
  copied: "Copying, relative to a citation",
  "asked again": "Asking again, relative to a citation",
  "read on": "Reading on, relative to a citation",
};

/** The parameters of the corpus that citations moved. */
function parameters(learned) {
  if (!learned.length) return null;
  return h("table.parameters", { "aria-label": "Learned parameters" }, h("thead", h("tr", h("th", { scope: "col" }, "weight of"), h("th.number", { scope: "col" }, "default"),
    h("th.number", { scope: "col" }, "here"), h("th.number", { scope: "col" }, "by"))),
  h("tbody", learned.map((parameter) => h("tr", h("td", PARAMETERS[parameter.name] ?? parameter.name),
    h("td.number", parameter.default.toFixed(2)), h("td.number", h("b.learned", parameter.value.toFixed(2))),
    h("td.number", `${some(parameter.lessons, "lesson")}, ${some(parameter.actors, "actor")}`)))));
}

function changes(preview, none, titles = new Map()) {
  if (!preview.changes.length) return h("p.quiet", none);
  const most = Math.max(...preview.changes.map((change) => Math.abs(change.before - change.after)));
  return [h("p.quiet", `${some(preview.removed, "link")} from questions to passages; the strongest:`),
    h("div.scroll.list", { tabindex: "0", role: "region", "aria-label": "Learned edges" }, h("table",
      h("thead", h("tr", h("th", { scope: "col" }, "passage"), h("th.number", { scope: "col" }, "weight"))),
      h("tbody", preview.changes.map((change) => h("tr", h("td", chunkLink(change.target, titles.get(change.target) ?? change.target.slice(0, 8))),
        h("td.number", h("i.weight", { "aria-hidden": "true", style: { width: `${(40 * Math.abs(change.before - change.after)) / most}px` } }),
          change.after === 0 ? score(change.before) : `${score(change.before)} → ${score(change.after)}`))))))];
}

function forget(place, done) {
  const actor = h("input", { type: "text", maxlength: 512 });
  const since = h("input", { type: "datetime-local" });
  const until = h("input", { type: "datetime-local" });
  const chunk = h("input", { type: "text", maxlength: 512 });
  return h("form", {
    onsubmit: (event) => {
      event.preventDefault();
      const criteria = {};
      if (actor.value.trim()) criteria.actor = actor.value.trim();
      if (chunk.value.trim()) criteria.chunk = chunk.value.trim();
      if (since.value) criteria.since = new Date(since.value).getTime() / 1000;
      if (until.value) criteria.until = new Date(until.value).getTime() / 1000;
      showPreview(place, criteria, done);
    },
  }, h("p.quiet", "Answers will be as if it had never been taught. You first see what would change."),
  h("div.fields", field("By this actor", actor), field("On this passage (id)", chunk),
    field("From", since), field("Before", until)),
  h("div.row", h("button", "See what would change")));
}

async function showPreview(place, criteria, done) {
  put(place, h("p.quiet", "Reading the log …"));
  try {
    const { preview } = await post("forget", { ...criteria, dry_run: true });
    const n = preview.feedback.length;
    const button = h("button.danger", { type: "button", disabled: !n }, `Take back ${some(n, "lesson")}`);
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        const { forgotten } = await post("forget", { ...criteria, dry_run: false });
        put(place, h("p.note", { role: "status" }, `${some(forgotten, "lesson")} taken back.`));
        done();
      } catch (problem) {
        put(place, h("p.refused", { role: "alert" }, problem.message));
      }
    });
    put(place, h("section.preview", { "aria-label": "This would change" }, h("h3", "This would change"),
      h("p", `${some(n, "lesson")}: ${some(preview.removed, "learned edge")} would go, ${count(preview.changed)} would change.`),
      changes(preview, "Nothing: these lessons have no effect any more."), h("div.row", button)));
    place.scrollIntoView({ block: "nearest" });
  } catch (problem) {
    put(place, h("p.refused", { role: "alert" }, problem.message));
  }
}

/** Recent forgettings, with buttons to undo them. */
async function undoable(place, done) {
  const { forgotten } = await get("forgotten").catch(() => ({ forgotten: [] })); // not for every role
  put(place, forgotten.length > 0 && [h("h3", "Recently taken back"), h("ul.plain", forgotten.map((forgetting) => {
    const button = h("button", {
      type: "button",
      "aria-label": `Put back what was taken at ${moment(forgetting.created_at)}`,
      onclick: async () => {
        button.disabled = true;
        try {
          const { undone } = await post("undo_forget", { forgetting: forgetting.id });
          await done();
          place.prepend(h("p.note", { role: "status" }, `${some(undone, "lesson")} put back.`));
        } catch (problem) {
          button.replaceWith(h("span.refused", { role: "alert" }, problem.message));
        }
      },
    }, "Put back");
    const names = Object.entries(forgetting.actors).map(([name, n]) => `${name || "no name"} (${count(n)})`);
    return h("li.row", h("span", `${some(forgetting.feedback.length, "lesson")} by `,
      h("span", { dir: "auto" }, names.slice(0, 4).join(", "), names.length > 4 && " …"),
      h("span.quiet", `, until ${moment(forgetting.until)}`)), button);
  }))]);
}

// -- what lessons did for later questions ---------------------------------------------

const VERDICTS = {
  helped: "Learning helped here.",
  harmed: "Learning harmed here.",
  mixed: "Learning helped one figure here and harmed the other.",
  unclear: "Whether learning helped here cannot be told: the intervals hold 0.",
  too_few: "Whether learning helped here cannot be told: too few questions.",
  no_questions: "Whether learning helped here cannot be told: no questions are kept.",
  no_lessons: "Nothing was learned here yet.",
};

function report() {
  const place = h("div", { "aria-live": "polite" });
  const button = h("button", {
    type: "button",
    onclick: async () => {
      button.disabled = true;
      put(place, h("p.quiet", "Asking again with none of the lessons, an eighth of them, …"));
      try {
        put(place, curve(await post("lesson_report", {})));
      } catch (problem) {
        put(place, h("p.refused", { role: "alert" }, problem.message));
      }
      button.disabled = false;
    },
  }, "Replay the log");
  return h("div", h("p.quiet", "This asks the later half of the questions again, first without lessons, then with more and more of the "
    + "earlier ones. Passages that were cited then count as right. It changes nothing."), h("div.row", button), place);
}

function curve(result) {
  const figures = [["recall", `Recall@${result.k}`, "graph"], ["mrr", "Reciprocal rank", "learned"]];
  return [h("p.note", h("b", VERDICTS[result.verdict]), " ", result.advice),
    result.points.length > 0 && [
      lines("Recall and reciprocal rank by number of lessons", result.points.map((point) => count(point.lessons)),
        figures.map(([name, label, colour]) => ({ label, colour, values: result.points.map((point) => point[name]) }))),
      h("table", h("caption.quiet", `${some(result.asked, "later question")}; ${count(result.repeated)} repeat an earlier one word for word. `
        + "Brackets hold the change with its 95% interval."),
      h("thead", h("tr", h("th.number", { scope: "col" }, "lessons"),
        figures.map(([, label, colour]) => h("th.number", { scope: "col" }, h(`i.swatch.${colour}`, { "aria-hidden": "true" }), label)))),
      h("tbody", result.points.map((point) => h("tr", h("td.number", count(point.lessons)),
        figures.map(([name]) => h("td.number", score(point[name]), " ",
          point.lessons > 0 && h("small.quiet", between(point[`${name}_change`])))))))),
      formats("gain"),
      result.moved.length > 0 && h("details", h("summary", "Questions with the largest changes"), h("ul.plain", result.moved.map((question) => h("li",
        h("span", { dir: "auto" }, question.question), h("span.quiet", ` ${rank(question.before)} → ${rank(question.after)}`))))),
    ]];
}

const between = ({ mean, low, high }) => `(${signed(mean)}, ${signed(low)} to ${signed(high)})`;
const rank = (value) => (value === null ? "beyond" : count(value));

// -- static against learned ---------------------------------------------------------

function comparison() {
  const input = h("input", { type: "search", value: asked.query, maxlength: 65536, required: true });
  const place = h("div", { "aria-live": "polite" });
  const compare = async () => {
    put(place, h("p.quiet", "Asking twice …"));
    try {
      const recall = await post("recall", { query: input.value.trim(), k: 10 });
      const result = await trace(recall, null);
      const titles = await headings(result.hits.map((hit) => hit.chunk_id));
      put(place, result.hits.length ? [slopes(result.hits, titles), formats("ranks", { recall: recall.id })] : h("p.quiet", "No passage was found."));
    } catch (problem) {
      put(place, h("p.refused", { role: "alert" }, problem.message));
    }
  };
  const form = h("form.ask", {
    onsubmit: (event) => {
      event.preventDefault();
      compare();
    },
  }, h("div.question", field("Question", input), h("button", "Compare")));
  return [h("div", form, place), asked.query ? compare() : null];
}

/** Ranks without lessons on the left, with them on the right. */
function slopes(hits, titles) {
  const row = 37; // as high as a row of the table beside it
  const lowest = hits.length + 1;
  const height = (lowest + 1) * row;
  const y = (rank) => (Math.min(rank, lowest) + 0.5) * row;
  const lines = hits.map((hit) => {
    const was = hit.unlearned_rank ?? lowest;
    const kind = hit.rank < was ? "up" : hit.rank > was ? "down" : "same";
    return svg(`g.${kind}`,
      svg("path", { d: `M40,${y(was)} C110,${y(was)} 130,${y(hit.rank)} 200,${y(hit.rank)}` }),
      svg("circle", { cx: 40, cy: y(was), r: 4 }), svg("circle", { cx: 200, cy: y(hit.rank), r: 4 }),
      svg("text.rank", { x: 28, y: y(was) + 4, "text-anchor": "end" }, was >= lowest ? `>${hits.length}` : `${was}`));
  });
  return h("div.slopes",
    svg("svg", { viewBox: `0 0 220 ${height}`, width: 220, height, "aria-hidden": "true" },
      svg("text.step", { x: 40, y: 23, "text-anchor": "middle" }, "without"),
      svg("text.step", { x: 200, y: 23, "text-anchor": "middle" }, "with"), lines),
    h("table", { "aria-label": "Ranks with and without lessons" }, h("thead", h("tr", h("th.number", { scope: "col" }, "with"), h("th.number", { scope: "col" }, "without"),
      h("th", { scope: "col" }, "passage"), h("th.number", { scope: "col" }, "learned"))),
    h("tbody", hits.map((hit) => h("tr", h("td.number", hit.rank), h("td.number", hit.unlearned_rank ?? "–"),
      h("td", chunkLink(hit.chunk_id, titles.get(hit.chunk_id) ?? hit.title)),
      h("td.number", Math.abs(hit.causes.learned) < 0.0005 ? "" : h("span.learned", signed(hit.causes.learned))))))));
}
