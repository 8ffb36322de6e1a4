// A passage for reading: heading, place, and text with the question's words highlighted.
import { lexer } from "marked";
import { post } from "./api.js";
import { h } from "./dom.js";

const SNIPPET = 300;
const MOST_RENDERED = 20_000; // a longer text shows as it is, unmarked
const WORD = /[\p{L}\p{N}]+/gu;

/** Title and headings, which differ between the passages of a document. */
export function headingOf(chunk) {
  const above = Array.isArray(chunk.metadata.headings) ? chunk.metadata.headings : [];
  const named = [...new Set([chunk.title, ...above])].filter((name) => name && typeof name === "string");
  return named.join(" › ") || chunk.text.slice(0, 60) || chunk.id;
}

/** Names of passages by id: the heading, with the place if several have the same. */
export function namesOf(chunks) {
  const often = new Map();
  for (const chunk of chunks) often.set(headingOf(chunk), (often.get(headingOf(chunk)) || 0) + 1);
  return new Map(chunks.map((chunk) => [chunk.id,
    headingOf(chunk) + (often.get(headingOf(chunk)) > 1 ? ` (${placeOf(chunk) || chunk.id.slice(0, 8)})` : "")]));
}

/** The names of passages, by id. */
export async function headings(ids) {
  const wanted = [...new Set(ids)].slice(0, 1000);
  const { chunks } = wanted.length ? await post("get", { ids: wanted }) : { chunks: [] };
  return namesOf(chunks);
}

/** The document, and which passage of it; of a path on the server, the name alone. */
export function placeOf(chunk) {
  const at = chunk.metadata.position;
  return chunk.document_id ? nameOf(chunk.document_id) + (Number.isInteger(at) ? `, passage ${at + 1}` : "") : "";
}

/** A document's name; a path from the root shows its last part. */
export const nameOf = (id) => (/^(\/|[A-Za-z]:[\\/])/.test(id) ? id.split(/[\\/]/).pop() : id);

/** The text without the line of headings that it may begin with. */
export function bodyOf(chunk) {
  const above = chunk.metadata.headings;
  const line = Array.isArray(above) && above.length ? above.join(" > ") : null;
  return line && chunk.text.startsWith(line) ? chunk.text.slice(line.length).trimStart() : chunk.text;
}

/** Words that carry no meaning in a question. */
const ASKING = new Set(("about after also been before both could does during each else from have having here into just made make "
  + "many more most much only other over same should some such than that their them then there these they this those through "
  + "under very were what when where which while whom whose will with without would your").split(" "));

/** A function that finds words of the question, except those in nearly every passage. */
export function markerOf(query, hits) {
  const texts = hits.map((hit) => hit.chunk.text.toLowerCase());
  const telling = (word) => !ASKING.has(word) && (word.length > 3 || /[^a-z]/.test(word)) && (texts.length < 4
    ? word.length > 4 : texts.filter((text) => text.includes(word)).length < 0.7 * texts.length);
  const wanted = [...new Set(query.toLowerCase().match(WORD) || [])].filter(telling);
  return (word) => {
    const small = word.toLowerCase();
    return wanted.find((stem) => stem === small || (Math.min(stem.length, small.length) >= 4
      && Math.abs(stem.length - small.length) <= 3 && (stem.startsWith(small) || small.startsWith(stem))));
  };
}

/** A text with the marker's words highlighted. */
function highlighted(text, marker) {
  if (!marker) return text;
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(WORD)) {
    if (!marker(found[0])) continue;
    parts.push(text.slice(from, found.index), h("mark", found[0]));
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

/** A line or three around the words that match best, without markup. */
export function snippet(chunk, marker) {
  const text = plainOf(chunk).replace(/\s*\|\s*/g, " · ").replace(/\s+/g, " ").trim();
  const found = [...text.slice(0, MOST_RENDERED).matchAll(WORD)].filter((word) => marker(word[0]));
  let [best, most] = [0, 0];
  found.forEach((word, at) => {
    const within = new Set(found.slice(at).filter((match) => match.index < word.index + SNIPPET)
      .map((match) => marker(match[0])));
    if (within.size > most) [best, most] = [word.index, within.size];
  });
  const from = best < SNIPPET / 2 ? 0 : text.indexOf(" ", best - SNIPPET / 4) + 1;
  const end = from + SNIPPET >= text.length ? text.length : Math.max(text.lastIndexOf(" ", from + SNIPPET), from + SNIPPET / 2);
  return h("p.text", { dir: "auto" }, from > 0 && "… ", highlighted(text.slice(from, end), marker), end < text.length && " …");
}

/** The text as it reads, without markup; code only where there is nothing else. */
function plainOf(chunk) {
  const text = bodyOf(chunk);
  if (/^text\/(plain|x-code)$/.test(chunk.metadata.media_type) || text.length > MOST_RENDERED) return text;
  const tokens = lexer(text, { gfm: true, breaks: true });
  return worded(tokens.filter((token) => token.type !== "code")).trim() || worded(tokens);
}

function worded(tokens) {
  return tokens.map((token) => {
    switch (token.type) {
      case "heading": return `${worded(token.tokens)}: `;
      case "list": return token.items.map((item) => `• ${worded(item.tokens)} `).join("");
      case "table": return [token.header, ...token.rows].map((row) => `${row.map((cell) => worded(cell.tokens)).join(" · ")}. `).join("");
      case "html": return token.text.replace(/<!--.*?-->/gs, " ");
      case "paragraph": case "blockquote": return `${worded(token.tokens)} `;
      case "space": case "br": case "hr": case "def": return " ";
      default: return token.tokens ? worded(token.tokens) : token.text ?? token.raw;
    }
  }).join("");
}

/** The whole text. Markdown is drawn from its tokens; HTML in it stays text. */
export function whole(chunk, marker) {
  const text = bodyOf(chunk);
  if (/^text\/(plain|x-code)$/.test(chunk.metadata.media_type) || text.length > MOST_RENDERED) {
    return h("div.text.plain", { dir: "auto" }, text.length > MOST_RENDERED ? text : highlighted(text, marker));
  }
  return h("div.text", { dir: "auto" }, drawn(lexer(text, { gfm: true, breaks: true }), marker));
}

const PLAIN = { strong: "strong", em: "em", del: "del", blockquote: "blockquote", paragraph: "p" };

function drawn(tokens, marker) {
  const inside = (token) => (token.tokens ? drawn(token.tokens, marker) : highlighted(token.text ?? "", marker));
  return tokens.map((token) => {
    switch (token.type) {
      case "space": case "def": return null;
      case "br": return h("br");
      case "hr": return h("hr");
      case "heading": return h("p.heading", inside(token));
      case "code": return h("pre", { tabindex: "0" }, h("code", token.text));
      case "codespan": return h("code", token.text);
      case "list": return h(token.ordered ? "ol" : "ul", token.items.map((item) => h("li", inside(item))));
      case "checkbox": return token.checked ? "☑ " : "☐ ";
      case "table": return h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Table" }, h("table",
        h("thead", h("tr", token.header.map((cell) => h("th", { scope: "col" }, drawn(cell.tokens, marker))))),
        h("tbody", token.rows.map((row) => h("tr", row.map((cell) => h("td", drawn(cell.tokens, marker))))))));
      case "link": return /^https?:\/\//i.test(token.href)
        ? h("a", { href: token.href, rel: "noreferrer", target: "_blank" }, inside(token)) : h("span", inside(token));
      case "text": case "escape": return token.tokens ? inside(token) : highlighted(token.text, marker);
      default: return PLAIN[token.type] ? h(PLAIN[token.type], inside(token)) : highlighted(token.text ?? token.raw, marker);
    }
  });
}
