// A passage that was found: lesson, text with marks, hop, and why.
import { changed, href } from "./address.js";
import { button, h, joined, put } from "./dom.js";
import { drawn, excerpt, placed, plain } from "./text.js";
import { bar, sentence } from "./why.js";

/** Title and place of a passage, which lead to it in its document. */
export function named({ id, title, text, place }, marks = []) {
  const shown = title ? plain(title, placed(title, marks)) : text?.slice(0, 60) || "a passage that is gone";
  const address = href("/documents", { place, passage: id });
  return [place ? h("a", { href: address }, shown) : shown, place && h("small", { dir: "auto" }, place)];
}

/** The text of a passage, cut to what matters until it is opened. */
function body({ text, marks, complete }) {
  const all = placed(text, marks);
  const { parts, isWhole } = excerpt(text, all);
  const shown = h("div.text", { dir: "auto" });
  const more = button("", () => {
    draw(more.ariaExpanded !== "true");
    more.focus({ preventScroll: true });
  }, { class: "link", "data-key": "o" });
  const draw = (isOpen) => {
    shown.classList.toggle("whole", isOpen);
    more.ariaExpanded = String(isOpen);
    put(more, isOpen ? "Show less" : "Show all");
    put(shown, isOpen ? [drawn(text, all), !complete && " …", "\n"] : parts,
      !(isWhole && !text.includes("\n")) && [" ", more]);
  };
  draw(false);
  return shown;
}

/** Two passages joined by the words that they share, quoted. */
function hopOf({ kind, shared, source, target }) {
  const tags = joined(shared.map((tag) => h("a", { href: changed({ tag }) }, h("b", tag))));
  const said = { words: ["both name ", tags], tag: ["both have the tag ", tags],
    link: "one links to the other" }[kind];
  const quote = (end) => end.quote && h("blockquote", { dir: "auto" },
    h("q", plain(end.quote, placed(end.quote, end.marks))), h("cite", end.title));
  return h("div.hop", { role: "group", "aria-label": `Reached from ${source.title}` },
    h("p", "Reached from ", source.rank && `${source.rank}, `, h("b", source.title), ": ", said),
    quote(source), quote(target));
}

/** Whose lesson moved a passage, and for which question; with undo. */
function badge(hit, taught) {
  const lesson = hit.lesson ?? taught?.wrong(hit.id);
  if (!lesson) return null;
  const before = hit.untaught_rank ?? Infinity;
  const lead = hit.lesson && before > hit.rank
    ? `${hit.rank === 1 ? "First" : `Raised${before < Infinity ? ` from ${before}` : ""}`} because ` : "";
  return h("p", { class: hit.lesson ? "badge" : "badge wrong" },
    lead, h("b", lesson.actor ?? (lead ? "somebody" : "Somebody")), ` marked it${hit.lesson ? "" : " wrong"} for `,
    lesson.question ? ["“", h("a", { href: href("/", { q: lesson.question }) }, lesson.question), "”"]
      : "an earlier question",
    taught && lesson.may_undo && [" · ", button("Undo", () => taught.undo(lesson.id, hit.id),
      { class: "link", "data-key": "u" })]);
}

/** A card; `taught` judges passages, if that is allowed. */
export function card(hit, { above, next, answer, best, taught, isPlain }) {
  const heading = `hit-${hit.rank}`;
  const verdict = (name, label, letter) => button(label, () => taught.judge(hit.id, name), {
    class: `verdict ${name}`, "data-key": letter, "aria-describedby": heading,
    "aria-pressed": String(taught.verdict(hit.id) === name),
  });
  const from = hit.untaught_rank;
  const isMoved = !isPlain && hit.parts.learned !== 0 && from !== hit.rank;
  return h("li.card", { "data-id": hit.id, tabindex: "-1", "aria-labelledby": heading },
    !isPlain && badge(hit, taught),
    h("div.head",
      h("h2", { id: heading, dir: "auto" }, h("span.rank", hit.rank), " ", named(hit, hit.title_marks)),
      isMoved && h("span.moved", from < hit.rank ? "▼" : "▲", from ? ` from ${from}` : " from far below"),
      taught && h("div.verdicts", verdict("cited", "Answers it", "a"), verdict("rejected", "Wrong", "x"))),
    body(hit),
    hit.hop && hopOf(hit.hop),
    h("p.why", bar(hit, best, isPlain), sentence(hit, above, next, answer)));
}
