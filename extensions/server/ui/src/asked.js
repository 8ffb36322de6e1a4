/** The last question of this tab, which other views go on with. */
export const asked = { query: "", other: "", k: 10, where: null, where_: "", recall: null };

/** Take over the question that an address names, if it names one. */
export function addressed(parameters) {
  if (!parameters.has("q")) return;
  const [query, where_] = [parameters.get("q"), parameters.get("where") || ""];
  const k = Number(parameters.get("k")) || 10;
  if (query !== asked.query || where_ !== asked.where_ || k !== asked.k) asked.recall = null;
  Object.assign(asked, { query, where_, k, other: parameters.get("and") || "" });
}

/** The address of a view for the last question. */
export function address(view) {
  const more = { q: asked.query, and: asked.other, where: asked.where_, k: asked.k === 10 ? "" : asked.k };
  const parameters = Object.entries(more).filter(([, value]) => value);
  return `#/${view}${parameters.length ? "?" : ""}${new URLSearchParams(parameters)}`;
}
