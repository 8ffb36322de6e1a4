// Map: the tags around one, all labelled; a click expands, dragging moves. From tag to passages and back.
import { post } from "./api.js";
import { chunkLink } from "./chunk.js";
import { count, empty, field, h, put, settled, some, svg, tagLink } from "./dom.js";
import { formats } from "./formats.js";
import { headings } from "./passage.js";
import { boxOf, places, settle } from "./place.js";

const NODES = 40;
const FEWER = 16; // on a narrow screen
const MORE = 8; // that a click adds
const HUES = 8;

export function showMap(view, parameters) {
  const tag = parameters.get("tag") || "";
  const input = h("input", { type: "search", value: tag, required: true, maxlength: 512, list: "tag-names",
    autocomplete: "off" });
  const names = h("datalist", { id: "tag-names" });
  const body = h("div");
  put(view, h("form.ask", {
    role: "search",
    onsubmit: (event) => {
      event.preventDefault();
      location.hash = `#/map?tag=${encodeURIComponent(input.value.trim())}`;
    },
  }, h("div.question", field("Tag", input), h("button.primary", "Show")), names), body);
  input.addEventListener("input", settled(180, async () => {
    const { tags } = await post("tags", { containing: input.value.trim(), limit: 20 }).catch(() => ({ tags: [] }));
    put(names, tags.map((match) => h("option", { value: match.tag }, some(match.chunks, "passage"))));
  }));
  return (tag ? around(body, tag) : start(body)).catch((problem) => put(body, h("p.refused", { role: "alert" }, problem.message)));
}

async function start(body) {
  put(body, h("p.quiet", "Reading …"));
  const { tags } = await post("tags", { limit: 48 });
  put(body, tags.length ? h("section.empty",
    h("h2", "Choose a tag"),
    h("p", "A tag is a name in passages. Two tags are neighbours if a passage holds both; the more "
      + "passages do, the nearer they are."),
    h("p.cloud", tags.map((tag) => [h("span", tagLink(tag.tag), h("small", count(tag.chunks))), " "])))
    : empty("No tags yet", h("p", "The index is empty. ", h("a", { href: "#/operations" }, "Add a document"), " first.")));
}

async function around(body, tag) {
  put(body, h("p.quiet", "Reading …"));
  const most = body.clientWidth < 600 ? FEWER : NODES;
  const neighborhood = await post("neighborhood", { tag, limit: most - 1 });
  const picture = h("div.picture");
  const beside = h("aside", { "aria-label": "Chosen tag" });
  put(body, h("p.quiet", "Click a tag to see more around it; drag it to move it."), h("div.map", picture, beside));
  const about = async (expanded) => {
    const titles = await headings(expanded.chunks.slice(0, 8).map((chunk) => chunk.chunk_id));
    put(beside, aboutTag(expanded, expanded.tag === neighborhood.tag, titles));
  };
  await about(neighborhood);
  draw(picture, neighborhood, async (name) => {
    const expanded = await post("neighborhood", { tag: name, limit: NODES - 1 });
    await about(expanded);
    return expanded;
  });
}

/** A tag's passages, neighbours and hubs. */
function aboutTag(neighborhood, isCentre, titles) {
  const [{ chunks }, ...others] = neighborhood.nodes;
  return [
    h("h2", { dir: "auto" }, neighborhood.tag),
    h("p.summary",
      `In ${some(chunks, "passage")}, beside ${some(others.length + neighborhood.more, "other tag")}. `,
      neighborhood.sampled && "Counted from a sample of its passages. ",
      !isCentre && [h("a", { href: `#/map?tag=${encodeURIComponent(neighborhood.tag)}` }, "Centre here"), " · "],
      h("a", { href: `#/ask?${new URLSearchParams({ q: `What is known about ${neighborhood.tag}?` })}` }, "Ask about it"), " · ",
      h("a", { href: `#/tags?tag=${encodeURIComponent(neighborhood.tag)}` }, "Correct it")),
    h("section", h("h3", "Passages"), h("ul.plain", neighborhood.chunks.slice(0, 8).map((chunk) =>
      h("li", chunkLink(chunk.chunk_id, titles.get(chunk.chunk_id) ?? chunk.title), chunk.is_title && h("span.badge", "its title")))),
    neighborhood.more_chunks + neighborhood.chunks.length > 8 && h("p.quiet", `${count(neighborhood.more_chunks + neighborhood.chunks.length - 8)} more`)),
    h("section", h("h3", "Neighbours"), others.length ? h("div.scroll.list", { tabindex: "0", role: "region", "aria-label": "Neighbours" },
      h("table", h("thead", h("tr", h("th", { scope: "col" }, "tag"),
        h("th.number", { scope: "col" }, "shared"), h("th.number", { scope: "col" }, "all"))),
      h("tbody", others.map((node) => h("tr",
        h("td", tagLink(node.tag)), h("td.number", count(node.weight)), h("td.number", count(node.chunks)))))))
      : h("p.quiet", "Its passages hold no other tag."), others.length > 0 && formats("neighbours", { tag: neighborhood.tag })),
    neighborhood.n_hubs > 0 && h("details", h("summary", `${some(neighborhood.n_hubs, "hub")}, folded`),
      h("p.quiet", "Tags of too many passages. Recalls ignore them."),
      h("p", neighborhood.hubs.map((hub) => [tagLink(hub.tag), h("small", count(hub.chunks)), " "]))),
  ];
}

function draw(picture, neighborhood, expand) {
  const nodes = neighborhood.nodes.map((node) => ({ ...node }));
  const edges = [];
  const known = new Map(nodes.map((node, at) => [node.tag, at]));
  const join = (expanded) => {
    for (const { source, target, weight } of expanded.edges) {
      const [a, b] = [known.get(expanded.nodes[source].tag), known.get(expanded.nodes[target].tag)];
      if (a !== undefined && b !== undefined && !edges.some((edge) => edge.a === a && edge.b === b)) edges.push({ a, b, weight });
    }
  };
  join(neighborhood);
  places(nodes, edges, picture.clientWidth, picture.clientHeight);
  const [threads, dots] = [svg("g"), svg("g")];
  const root = svg("svg", { role: "group", "aria-label": `Tags around ${neighborhood.tag}` }, threads, dots);
  put(picture, root);
  const redraw = () => {
    const strongest = Math.max(...edges.map((edge) => edge.weight), 1);
    threads.replaceChildren(...edges.map(({ a, b, weight }) => svg("line", { x1: nodes[a].x, y1: nodes[a].y,
      x2: nodes[b].x, y2: nodes[b].y, "stroke-width": (0.5 + (3 * weight) / strongest).toFixed(1) })));
    nodes.forEach((node) => {
      if (!node.drawn) dots.append(node.drawn = dot(node, nodes.indexOf(node) === 0));
      node.drawn.setAttribute("transform", `translate(${node.x},${node.y})`);
    });
  };
  const fit = () => {
    const { left, top, width, height } = boxOf(nodes, picture.clientWidth, picture.clientHeight);
    root.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
  };
  const dot = (node, isCentre) => {
    const hue = node.colony === null ? "graph" : `colony-${node.colony % HUES}`;
    const element = svg(`g.dot${isCentre ? ".centre" : ""}`, { tabindex: "0", role: "button", "aria-label": node.tag },
      svg("title", `${node.tag}: ${some(node.chunks, "passage")}`),
      svg("circle", { r: isCentre ? 10 : 4 + Math.min(5, Math.log2(node.chunks)), style: { fill: isCentre ? "" : `var(--${hue})` } }),
      svg("text", { x: 14, y: 5 }, node.label));
    element.addEventListener("keydown", (event) => { if (event.key === "Enter") grow(node); });
    dragged(element, root, node, redraw, () => grow(node));
    return element;
  };
  async function grow(node) {
    const expanded = await expand(node.tag).catch(() => null); // the tag may have gone
    if (!expanded) return;
    const fresh = expanded.nodes.filter((node) => !known.has(node.tag)).slice(0, MORE).map((node) => ({ ...node }));
    for (const node of fresh) known.set(node.tag, nodes.push(node) - 1);
    join(expanded);
    settle(nodes, node, fresh);
    redraw();
    fit();
  }
  redraw();
  fit();
}

/** Move a node with the pointer; a press that does not move is a click. */
function dragged(element, root, node, moved, clicked) {
  let from = null;
  const at = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(root.getScreenCTM().inverse());
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    from = { start: at(event), x: node.x, y: node.y, far: false };
  });
  element.addEventListener("pointermove", (event) => {
    if (!from) return;
    const { x, y } = at(event);
    from.far ||= Math.hypot(x - from.start.x, y - from.start.y) > 4;
    if (!from.far) return;
    Object.assign(node, { x: from.x + x - from.start.x, y: from.y + y - from.start.y });
    moved();
  });
  element.addEventListener("pointerup", () => {
    const click = from && !from.far;
    from = null;
    if (click) clicked();
  });
}
