// Why a passage stands where it does.
import { h, joined } from "./dom.js";
import { startOf } from "./text.js";

const PARTS = ["words", "meaning", "links", "learned"];

/** A thin bar, as long as the score against the first one's. */
export function bar(hit, best, isPlain) {
  const parts = PARTS.filter((name) => !isPlain || name !== "learned")
    .map((name) => [name, Math.max(hit.parts[name], 0)]);
  const said = parts.filter(([, part]) => part >= 0.0005)
    .map(([name, part]) => `${name} ${part.toFixed(3)}`).join(", ");
  return h("span.bar", { role: "img", title: `Score: ${said}` },
    parts.map(([name, part]) => swatch(name, `${100 * part / best}%`)));
}

export function legend(hits, isPlain) {
  const found = PARTS.filter((name) => hits.some((hit) => hit.parts[name] > 0.0005)
    && !(isPlain && name === "learned"));
  return found.length > 0 && h("p.legend", "Score: ",
    found.map((name) => h("span", swatch(name, "9px"), name)));
}

function swatch(name, width) {
  const element = h("i");
  Object.assign(element.style, { width, background: `var(--${name})` });
  return element;
}

const words = (list) => joined(list.map((word) => h("em", word)));

export function sentence(hit, above, next, answer) {
  const parts = hit.has.length ? [["has ", words(hit.has)]] : [];
  if (hit.lacks.length) parts.push([hit.has.length ? "lacks " : "has none of ", words(hit.lacks)]);
  if (hit.hop) parts.push(["reached from ", hit.hop.source.rank ?? "another passage"]);
  const weights = new Map(answer.words.map(({ word, weight }) => [word, weight]));
  if (above) parts.push(behind(hit, above, weights));
  if (next?.adds.length) parts.push(["the next one adds ", words(next.adds)]);
  return h("span", joined(parts, "; "));
}

/** What the passage above has more; lessons only if it would be below without. */
function behind(hit, above, weights) {
  const at = h("b", `below ${above.rank}`);
  const lead = (name) => above.parts[name] - hit.parts[name];
  const all = PARTS.reduce((sum, name) => sum + lead(name), 0);
  const [most] = PARTS.filter((name) => name !== "learned" || all <= lead(name))
    .toSorted((one, other) => lead(other) - lead(one));
  if (lead(most) <= 0) return [h("b", `level with ${above.rank}`), " in all that counts"];
  if (most === "learned") {
    return [at, above.parts.learned > 0 ? ", which a lesson raised" : ", lowered by a lesson"];
  }
  if (most === "meaning") return [at, ", which is closer in meaning"];
  if (most === "links") return [at, ", which gets more from links"];
  return [at, ", ", wordLead(hit, above, weights)];
}

/** What the passage above has more of, in words. */
function wordLead(hit, above, weights) {
  const worth = (list) => list.reduce((sum, word) => sum + (weights.get(word) ?? 0), 0);
  const [more, less] = [above.has.filter((word) => hit.lacks.includes(word)),
    hit.has.filter((word) => above.lacks.includes(word))];
  if (worth(more) > worth(less)) {
    return less.length ? ["which has ", words(more), "; that counts for more than ", words(less)]
      : [hit.has.length ? "which also has " : "which has ", words(more)];
  }
  const isTitled = (each, word) => each.title_marks.some((mark) => mark.word === word);
  const titled = above.has.find((word) => isTitled(above, word) && !isTitled(hit, word));
  if (titled) return ["which has ", h("em", titled), " in its title"];
  const times = (each, word) =>
    each.marks.filter((mark) => mark.word === word && mark.start >= startOf(each)).length;
  const lead = (word) => weights.get(word) * (times(above, word) - times(hit, word));
  const [best] = above.has.toSorted((one, other) => lead(other) - lead(one));
  if (lead(best) > 0) {
    return ["whose text has ", h("em", best),
      ` ${times(above, best)} times against ${times(hit, best)}`];
  }
  return "whose words score a bit more";
}
