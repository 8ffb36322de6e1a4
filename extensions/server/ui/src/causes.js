// What a score is made of, as a bar with its numbers.
import { h, score, signed } from "./dom.js";

export const CAUSES = [
  ["lexical", "words"],
  ["dense", "meaning"],
  ["graph", "graph"],
  ["learned", "learned"],
  ["other", "other"], // what a replay does not know, such as a reranker
];

/** The parts of a hit's score, from its replay: a bar as long, and a line that says the same. */
export function causesBar(hit, told, longest) {
  const causes = { ...told.causes, other: hit.score - told.score };
  const parts = CAUSES.map(([name, label]) => [name, label, Math.abs(causes[name]) < 0.0005 ? 0 : causes[name]]);
  const positive = parts.filter(([, , value]) => value > 0);
  const total = positive.reduce((sum, [, , value]) => sum + value, 0) || 1;
  const bar = h("div.bar", { "aria-hidden": "true" }, positive.map(([name, , value]) =>
    h(`i.${name}`, { style: { width: `${(100 * value) / total}%` } })));
  bar.style.width = `${Math.max((100 * total) / (longest || 1), 1)}%`;
  return h("div.causes", bar, h("dl", parts.filter(([, , value]) => value).map(
    ([name, label, value]) => h("div", h("dt", h(`i.${name}`, { "aria-hidden": "true" }), label),
      h("dd", { "data-cause": name }, name === "learned" || name === "other" ? signed(value) : score(value))))));
}

export const legend = () => h("p.legend", CAUSES.map(([name, label]) =>
  h("span", h(`i.${name}`, { "aria-hidden": "true" }), label)));
