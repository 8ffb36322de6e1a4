// What is known about a tag: passages by relevance, neighbors, and what links there.
import { changed, go } from "./address.js";
import { get } from "./api.js";
import { named } from "./card.js";
import { attempt, button, count, h, put, refuse, some } from "./dom.js";
import { excerpt } from "./text.js";

/** A tag as a link that opens its panel. */
export const tagLink = (tag, more) => h("a.tag", { href: changed({ tag }) }, tag, more);

export async function showTag(panel, tag) {
  panel.hidden = !tag;
  put(panel);
  if (!tag) return;
  panel.ariaLabel = `About ${tag}`;
  const body = h("div"); // late answers find it gone
  put(panel,
    button("×", () => go(changed({ tag: null })), { class: "close", "aria-label": "Close" }),
    h("h2", { tabindex: "-1" }, tag), body);
  panel.querySelector("h2").focus({ preventScroll: true });
  await attempt(async () => {
    const about = await get(`tags/${encodeURIComponent(tag)}`, { k: 50 });
    put(body,
      h("p.soft", `In ${some(about.chunks, "passage")}; ${about.hits.length} shown, `
        + "the most relevant first."),
      h("ol.rows", { "aria-label": "Passages" }, about.hits.map((hit) => h("li", h("h3", named(hit)),
        h("div.text", excerpt(hit, 120).parts)))),
      section("Neighbors, and in how many passages", about.neighbors, (each) =>
        h("li", tagLink(each.tag, [" ", h("small", count(each.weight))])), "ul.tags"),
      section("What links there", about.linked_from, (from) => h("li", named(from))));
  }, refuse(body));
}

function section(title, items, draw, list = "ul") {
  return items.length ? h("section", h("h3", title), h(list, items.map(draw))) : "";
}
