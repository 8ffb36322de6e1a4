// What is known about a tag: passages by relevance, neighbors, and what links there.
import { changed, go } from "./address.js";
import { get } from "./api.js";
import { named } from "./card.js";
import { attempt, button, count, h, put, refused, some } from "./dom.js";
import { excerpt } from "./text.js";

/** A tag as a link that opens its panel. */
export const tagLink = (tag, more) => h("a.tag", { href: changed({ tag }) }, tag, more);

export async function showTag(panel, tag) {
  panel.hidden = !tag;
  put(panel);
  if (!tag) return;
  panel.setAttribute("aria-label", `About ${tag}`);
  const close = () => go(changed({ tag: null }));
  put(panel, button("×", close, { class: "close", "aria-label": "Close" }),
    h("h2", { tabindex: "-1" }, tag));
  panel.querySelector("h2").focus({ preventScroll: true });
  await attempt(async () => {
    const about = await get(`tags/${encodeURIComponent(tag)}`, { k: 50 });
    panel.append(
      h("p.soft", `In ${some(about.chunks, "passage")}; the most relevant first.`),
      h("ol.rows", { "aria-label": "Passages" }, about.hits.map((hit) => h("li", h("h3", named(hit)),
        h("div.text", excerpt(hit, 120).parts)))),
      section("Neighbors, and in how many passages", about.neighbors, (each) =>
        h("li", tagLink(each.tag, [" ", h("small", count(each.weight))])), "ul.tags"),
      section("What links there", about.linked_from, (from) => h("li", named(from))));
  }, (problem) => panel.append(refused(problem)));
}

function section(title, items, draw, list = "ul") {
  return items.length ? h("section", h("h3", title), h(list, items.map(draw))) : "";
}
