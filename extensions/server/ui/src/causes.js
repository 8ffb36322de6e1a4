// What a score is made of: a line of words, and a bar with its numbers.
import { h, score, signed } from "./dom.js";

export const CAUSES = [
  ["lexical", "words"],
  ["dense", "meaning"],
  ["graph", "graph"],
  ["learned", "learned"],
  ["other", "other"], // what a replay does not know, such as a reranker
];

function partsOf(hit, traced) {
  const causes = { ...traced.causes, other: hit.score - traced.score };
  return CAUSES.map(([name, label]) => ({ name, label, value: causes[name] }))
    .filter(({ value }) => Math.abs(value) >= 0.0005);
}

/** The length of the longest bar, which fills its card. */
export const longestOf = (hits, toldOf) => Math.max(...hits.map((hit) =>
  partsOf(hit, toldOf(hit)).reduce((sum, { value }) => sum + Math.abs(value), 0)), 1e-9);

/** The parts of a score as shares, the largest first: "graph 70%, words 30%". */
export function shares(hit, traced) {
  const parts = partsOf(hit, traced);
  const all = parts.reduce((sum, { value }) => sum + Math.abs(value), 0) || 1;
  return parts.sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
    .map(({ label, value }) => `${label} ${value < 0 ? "−" : ""}${Math.round((100 * Math.abs(value)) / all)}%`).join(", ");
}

/** The parts of a hit's score, from its replay: a bar, what lowers it hatched, and the numbers. */
export function causesBar(hit, traced, longest) {
  const parts = partsOf(hit, traced);
  return h("div.causes",
    h("div.bar", { "aria-hidden": "true" }, parts.sort((a, b) => b.value - a.value).map(({ name, value }) =>
      h(`i.${name}${value < 0 ? ".minus" : ""}`, { style: { width: `${(100 * Math.abs(value)) / longest}%` } }))),
    h("dl", parts.map(({ name, label, value }) => h("div", h("dt", h(`i.${name}`, { "aria-hidden": "true" }), label),
      h("dd", name === "learned" || name === "other" || value < 0 ? signed(value) : score(value))))));
}

export const legend = () => h("p.legend", CAUSES.map(([name, label]) =>
  h("span", h(`i.${name}`, { "aria-hidden": "true" }), label)));
