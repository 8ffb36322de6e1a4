// Passages as elements: Markdown is drawn, and words of the question are marked.
import { h, joined } from "./dom.js";

/** Marks in order, in UTF-16 units; the server counts characters. */
export function placed(text, marks) {
  let at = null;
  if (/[\ud800-\udfff]/.test(text)) {
    at = [0];
    for (const character of text) at.push(at.at(-1) + character.length);
  }
  return marks
    .map((mark) => (at ? { ...mark, start: at[mark.start], end: at[mark.end] } : mark))
    .sort((one, other) => one.start - other.start);
}

/** A word of the question; the commoner it is, the fainter. */
function marked(text, { weight }) {
  const element = h("mark", text);
  element.style.setProperty("--strength", `${Math.round(100 * weight ** 3)}%`);
  return element;
}

/** A range of a text as it is, with its marks. */
export function plain(text, marks, from = 0, to = text.length) {
  const parts = [];
  let at = from;
  for (const mark of marks) {
    if (mark.start >= to) break;
    if (mark.start < at) continue;
    parts.push(text.slice(at, mark.start), marked(text.slice(mark.start, mark.end), mark));
    at = mark.end;
  }
  return [...parts, text.slice(at, Math.max(at, to))];
}

// Code, rows of tables, wrapped lines, headings, bold, emphasis, links, escapes, items. All repeats
// are bounded, as texts may be hostile.
const MARKDOWN = new RegExp([
  "\\s{0,3}^[ \\t]*(?:```|~~~).*\\n(?<block>(?:.*\\n)*?)[ \\t]*(?:```|~~~)[ \\t]*$\\s{0,3}",
  "^\\|[-:| \\t]+$\\n?",
  "^\\|(?<row>.+)$\\n?",
  "(?<=[^\\s|])\\n(?=[a-z(`])",
  "\\s{0,3}^[ \\t]*#{1,6}[ \\t]+(?<heading>.+)$\\s{0,3}",
  "(?<tick>`+)(?<code>[^`]+)\\k<tick>",
  "(?:\\*\\*|__)(?=\\S)(?<strong>.+?)(?:\\*\\*|__)",
  "(?<![\\w*])[*_](?<em>[^\\s*_](?:[^*_]*[^\\s*_])?)[*_](?!\\w)",
  "!?\\[(?<label>[^\\]]{0,300})\\]\\((?:[^()]|\\([^()]*\\))*\\)",
  "\\\\(?<escape>[!-/:-@[-`{-~])",
  "^[ \\t]*(?:```|~~~).*$",
  "^(?<indent>[ \\t]*)[-*+>][ \\t]+",
].join("|"), "dgm");
const VERBATIM = { block: "code.block", code: "code" };
const DRAWN = { heading: "strong.block", strong: "strong", em: "i", label: "span" };

/** Draw a range; code that it cuts gets fences. */
export function drawn(text, marks, from = 0, to = text.length, before = "", after = "") {
  const parts = [];
  const begin = from - before.length;
  let at = from;
  for (const match of `${before}${text.slice(from, to)}${after}`.matchAll(MARKDOWN)) {
    // Spaces that a block takes with it.
    const around = /^\s|\s$/.test(match[0]) && " ";
    parts.push(plain(text, marks, at, begin + match.index), around);
    at = begin + match.index + match[0].length;
    const { groups } = match;
    for (const [name, range] of Object.entries(match.indices.groups)) {
      if (!range) continue;
      const [start, end] = range.map((n) => begin + n);
      if (VERBATIM[name]) parts.push(h(VERBATIM[name], plain(text, marks, start, end)));
      else if (DRAWN[name]) parts.push(h(DRAWN[name], drawn(text, marks, start, end)));
      else if (name === "row") parts.push(cells(text, marks, start, end));
      else if (name === "escape") parts.push(groups.escape);
      else if (name === "indent") parts.push(groups.indent.length > 1 ? "◦ " : "• ");
    }
    parts.push(around);
  }
  return [...parts, plain(text, marks, at, to)];
}

function cells(text, marks, from, to) {
  const found = [...text.slice(from, to).matchAll(/(?:\\.|[^|\\])*[^|\s](?:\\.|[^|\\])*/g)];
  return h("span.tr", joined(found.map(({ 0: cell, index }) =>
    drawn(text, marks, from + index, from + index + cell.length)), " · "));
}

/** Where a text goes on after the headings that its title says already. */
export function startOf({ text, title }) {
  let first = 0;
  for (const [line, heading] of text.matchAll(/\s*#+ (.+)\s*/gy)) {
    if (!title.includes(heading)) break;
    first += line.length;
  }
  return first;
}

/** A passage, whole and in parts that show each word of the question that it holds. */
export function excerpt({ text, title, ...passage }, room = 250) {
  const marks = placed(text, passage.marks);
  const first = startOf({ text, title });
  const ranges = [];
  const covered = new Set();
  for (let width = room; ranges.length < 4; width = room / 3) {
    const best = heaviest(marks, width - 60, covered);
    if (!best.worth) break;
    best.words.forEach((_, word) => covered.add(word));
    ranges.push(around(text, best.start, width));
  }
  if (!ranges.length) ranges.push(around(text, first, room));
  const merged = [];
  for (const [from, to] of ranges.sort((one, other) => one[0] - other[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1] + 3) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  merged[0][0] = Math.max(merged[0][0], first);
  const [[from, to]] = merged;
  const isWhole = merged.length === 1 && from === first && !text.slice(to).trim();
  const isCode = (at) => (text.slice(0, at).match(/^[ \t]*(```|~~~)/gm) ?? []).length % 2;
  const parts = merged.map(([from, to]) => [drawn(text, marks, from, to,
    isCode(from) ? "```\n" : "", isCode(to) ? "\n```" : ""), text.slice(to).trim() && " … "]);
  return { isWhole, whole: drawn(text, marks, first), parts: [from > first && "… ", parts] };
}

/** Where a stretch begins that shows most words not covered yet. */
function heaviest(marks, width, covered) {
  let best = { worth: 0 };
  marks.forEach(({ start }, n) => {
    const words = new Map();
    for (let m = n; m < marks.length && marks[m].end <= start + width; m += 1) {
      if (!covered.has(marks[m].word)) words.set(marks[m].word, marks[m].weight);
    }
    const worth = [...words.values()].reduce((sum, weight) => sum + weight, 0);
    if (worth > best.worth + 1e-9) best = { worth, words, start };
  });
  return best;
}

/** A range that begins with a cell, sentence or line, and ends a word. */
function around(text, start, width) {
  const isRow = text[text.lastIndexOf("\n", start - 1) + 1] === "|";
  const lead = text.slice(Math.max(0, start - 60), start);
  const begins = [lead.indexOf(" "), lead.lastIndexOf("\n"), lead.lastIndexOf(". ") + 1, 0];
  const from = start < 60 ? 0 : isRow ? text.lastIndexOf("|", start)
    : start - lead.length + Math.max(...begins);
  const least = Math.max(from + width, start + 60);
  const rest = text.slice(least).search(/\s/);
  return [from, rest < 0 ? text.length : least + rest];
}
