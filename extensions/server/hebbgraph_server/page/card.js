// A passage that was found: lesson, text with marks, hop, and why.
import { changed, href } from "./address.js";
import { button, h, joined, put } from "./dom.js";
import { drawn, excerpt, placed, plain } from "./text.js";
import { bar, sentence } from "./why.js";

/** Title and place of a passage or document, which lead there. */
export function named({ id, title, text, place }, marks = []) {
  const label = title || text?.slice(0, 60) || "a passage that is gone";
  const shown = plain(label, title ? placed(title, marks) : []);
  const address = href("/documents", { place, passage: id });
  return [place ? h("a", { href: address }, shown) : shown, place && [" ", h("small", place)]];
}

/** The text, cut to what matters until it is opened. */
function body(hit) {
  const { isWhole, parts, whole } = excerpt(hit);
  const shown = h("div.text");
  const more = button("", () => {
    draw(more.ariaExpanded !== "true");
    more.focus({ preventScroll: true });
  }, { class: "link", "data-key": "o" });
  const draw = (isOpen) => {
    shown.classList.toggle("whole", isOpen);
    more.ariaExpanded = String(isOpen);
    put(more, isOpen ? "Show less" : "Show all");
    put(shown, isOpen ? [whole, !hit.complete && " …"] : parts,
      !isWhole && [isOpen ? "\n" : " ", more]);
  };
  draw(isWhole);
  return shown;
}

function hopOf({ kind, shared, source, target }) {
  const tags = joined(shared.map((tag) => h("a", { href: changed({ tag }) }, h("b", tag))));
  const said = { words: ["both name ", tags], tag: ["both have the tag ", tags],
    link: "one links to the other" }[kind];
  const quote = (end) => end.quote && h("blockquote",
    h("q", drawn(end.quote, placed(end.quote, end.marks))), h("cite", end.title));
  return h("div.hop", { role: "group", "aria-label": `Reached from ${source.title}` },
    h("p", "Reached from ", source.rank && `${source.rank}, `, h("b", source.title), ": ", said),
    quote(source), quote(target));
}

/** Whose lesson moved a passage, and for which question; with undo. */
function badge(hit, taught) {
  const lesson = hit.lesson ?? taught?.wrong(hit.id);
  if (!lesson) return null;
  const { actor, question } = lesson;
  const isRaised = hit.lesson && (hit.untaught_rank ?? Infinity) > hit.rank;
  return h("p", { class: hit.lesson ? "badge" : "badge wrong" },
    isRaised && (hit.rank === 1 ? "First because " : "Raised because "),
    h("b", actor ?? (isRaised ? "somebody" : "Somebody")),
    hit.lesson ? " marked it for " : " marked it wrong for ",
    question ? ["“", h("a", { href: href("/", { q: question }) }, question), "”"]
      : "an earlier question",
    taught && lesson.may_undo && [" · ", button("Undo", () => taught.undo(lesson.id, hit.id),
      { class: "link", "data-key": "u" })]);
}

export function card(hit, { above, next, answer, best, taught, isPlain }) {
  if (isPlain ? !hit.untaught : !hit.score && !hit.parts.learned) return null; // fills up the list
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
      h("h2", { id: heading }, h("span.rank", hit.rank), " ", named(hit, hit.title_marks)),
      isMoved && h("span.moved", from && from < hit.rank ? "▼" : "▲",
        ` from ${from ?? "far below"}`),
      taught && h("div.verdicts", verdict("cited", "Answers it", "a"),
        verdict("rejected", "Wrong", "x"))),
    body(hit),
    hit.hop && hopOf(hit.hop),
    h("p.why", bar(hit, best, isPlain), sentence(hit, above, next, answer)));
}
