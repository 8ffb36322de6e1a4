// Map: the tags around one, as a picture and as a list; from tag to passages and back.
import Graph from "graphology";
import Sigma from "sigma";
import { post } from "./api.js";
import { chunkLink } from "./chunk.js";
import { colours, count, empty, field, h, put, settled, some, tagLink } from "./dom.js";
import { places } from "./place.js";
import { bars } from "./plots.js";

const LIMIT = 500;
const HUES = 8;

export function showMap(view, parameters) {
  const tag = parameters.get("tag") || "";
  const input = h("input", { type: "search", value: tag, required: true, maxlength: 512, list: "tag-names",
    autocomplete: "off" });
  const names = h("datalist", { id: "tag-names" });
  const body = h("div");
  const go = (name) => { location.hash = `#/map?tag=${encodeURIComponent(name)}`; };
  put(view, h("form.ask", {
    role: "search",
    onsubmit: (event) => {
      event.preventDefault();
      go(input.value.trim());
    },
  }, h("div.question", field("Tag", input), h("button.primary", "Show")), names), body);
  input.addEventListener("input", settled(180, async () => {
    const { tags } = await post("tags", { containing: input.value.trim(), limit: 20 }).catch(() => ({ tags: [] }));
    put(names, tags.map((one) => h("option", { value: one.tag }, `${count(one.chunks)} passages`)));
  }));
  let stop = null;
  if (tag) around(body, tag, go).then((end) => { stop = end; });
  else start(body);
  return () => stop?.();
}

async function start(body) {
  put(body, h("p.quiet", "Reading …"));
  try {
    const { tags } = await post("tags", { limit: 48 });
    put(body, tags.length ? h("section.empty",
      h("h2", "Where do you want to go?"),
      h("p", "A tag is a name that occurs in passages. Two tags are neighbours if a passage holds "
        + "both, and the more passages do, the nearer they lie."),
      h("p.cloud", tags.map((one) => [tagLink(one.tag), h("small", count(one.chunks)), " "])))
      : empty("No tags yet", h("p", "The index is empty. ", h("a", { href: "#/operations" }, "Add some text"), " first.")));
  } catch (problem) {
    put(body, h("p.refused", { role: "alert" }, problem.message));
  }
}

async function around(body, tag, go) {
  put(body, h("p.quiet", "Reading …"));
  let found;
  try {
    found = await post("neighborhood", { tag, limit: LIMIT });
  } catch (problem) {
    put(body, h("p.refused", { role: "alert" }, problem.message));
    return null;
  }
  const picture = h("div.picture", { "aria-hidden": "true" });
  const [centre, ...others] = found.nodes;
  const colonies = [...new Set(found.nodes.map((node) => node.colony).filter((one) => one !== null))];
  put(body,
    h("p.summary", { "data-nodes": found.nodes.length, "data-edges": found.edges.length },
      h("b", { dir: "auto" }, found.tag), ` is in ${some(centre.chunks, "passage")}, beside `,
      `${some(others.length + found.more, "other tag")}. `,
      found.more > 0 && h("span.quiet", `The ${count(others.length)} strongest are shown, ${count(found.more)} more are not. `),
      found.sampled && h("span.quiet", "It has so many passages that a part of them was counted. "),
      h("a", { href: `#/tags?tag=${encodeURIComponent(found.tag)}` }, "Correct it")),
    h("div.map", h("div",
      picture,
      colonies.length > 0 && h("p.quiet", `Regions are the ${some(colonies.length, "colony", "colonies")} of passages.`)),
    h("aside",
      h("section", h("h2", "Neighbours"), h("div.scroll.list", { tabindex: "0", role: "region", "aria-label": "Neighbours" },
        h("table", h("thead", h("tr", h("th", { scope: "col" }, "tag"),
          h("th.number", { scope: "col" }, "shared"), h("th.number", { scope: "col" }, "all"))),
        h("tbody", others.map((node) => h("tr",
          h("td", tagLink(node.tag)), h("td.number", count(node.weight)), h("td.number", count(node.chunks)))))))),
      found.n_hubs > 0 && h("section", h("h2", "Hubs, folded"),
        h("p.quiet", "So frequent that they tell nothing apart. Recalls cut them."),
        h("p", found.hubs.map((hub) => [tagLink(hub.tag), h("small", count(hub.chunks)), " "]),
          found.n_hubs > found.hubs.length && `${count(found.n_hubs - found.hubs.length)} more`)))),
    h("div.pair",
      h("section", h("h2", "Passages"), h("ul.plain", found.chunks.map((chunk) =>
        h("li", chunkLink(chunk.chunk_id, chunk.title), chunk.is_title && h("span.badge", "its title")))),
      found.more_chunks > 0 && h("p.quiet", `${count(found.more_chunks)} more`)),
      h("section", h("h2", "Degrees here"), degrees(found))));
  return found.nodes.length > 1 ? drawn(picture, found, go) : lonely(picture);
}

function lonely(picture) {
  put(picture, h("p.quiet", "No other tag is in its passages."));
  return null;
}

/** How many neighbours the tags shown have among each other, and the share of all possible. */
export function degreesOf(found) {
  const degree = found.nodes.map(() => 0);
  for (const { source, target } of found.edges) {
    degree[source] += 1;
    degree[target] += 1;
  }
  const n = found.nodes.length;
  return { degree, density: n > 1 ? found.edges.length / ((n * (n - 1)) / 2) : 0 };
}

function degrees(found) {
  const { degree, density } = degreesOf(found);
  const bounds = [1, 2, 3, 5, 9, 17, 33, 65, 129, 257];
  const counts = bounds.map((low, at) =>
    degree.filter((one) => one >= low && one < (bounds[at + 1] ?? Infinity)).length);
  const last = counts.findLastIndex((one) => one > 0);
  const names = bounds.map((low, at) => {
    const high = (bounds[at + 1] ?? Infinity) - 1;
    return high === low ? `${low}` : high === Infinity ? `${low}+` : `${low}–${high}`;
  });
  return [bars("How many tags have how many neighbours here", names.slice(0, last + 1), counts.slice(0, last + 1)),
    h("p.quiet", { "data-density": density }, `Tags by number of neighbours among those shown. Density ${density.toFixed(3)}.`)];
}

function drawn(picture, found, go) {
  const graph = new Graph();
  const points = places(found.nodes, found.edges);
  const hue = (node) => (node.colony === null ? "graph" : `colony-${node.colony % HUES}`);
  const most = Math.max(...found.nodes.map((node) => node.chunks));
  found.nodes.forEach((node, at) => graph.addNode(at, {
    ...points[at],
    label: node.tag,
    size: at === 0 ? 14 : 3 + 8 * Math.sqrt(node.chunks / most),
    forceLabel: at === 0,
  }));
  const strongest = Math.max(...found.edges.map((edge) => edge.weight), 1);
  for (const { source, target, weight } of found.edges) {
    graph.addEdge(source, target, { size: 0.5 + 2.5 * (weight / strongest) });
  }
  let sigma;
  try {
    sigma = new Sigma(graph, picture, {
      labelFont: "system-ui, sans-serif",
      labelSize: 13,
      labelDensity: 0.7,
      labelGridCellSize: 90,
      labelRenderedSizeThreshold: 5,
      zIndex: true,
      minCameraRatio: 0.08,
      maxCameraRatio: 3,
    });
  } catch {
    put(picture, h("p.quiet", "This browser draws no WebGL; the list beside says the same."));
    return null;
  }
  const under = sigma.createCanvas("regions", { beforeLayer: "edges", style: { pointerEvents: "none" } });
  const paint = () => {
    const [ink, rule] = colours("ink", "thread");
    sigma.setSetting("labelColor", { color: ink });
    graph.forEachNode((at) => graph.setNodeAttribute(at, "color",
      colours(Number(at) === 0 ? "ink" : hue(found.nodes[at]))[0]));
    graph.forEachEdge((edge) => graph.setEdgeAttribute(edge, "color", rule));
  };
  paint();
  const regions = () => drawRegions(sigma, graph, found, under);
  sigma.on("afterRender", regions);
  sigma.on("clickNode", ({ node }) => go(found.nodes[node].tag));
  sigma.on("enterNode", ({ node }) => {
    picture.classList.add("pointing");
    const near = new Set(graph.neighbors(node)).add(node);
    sigma.setSetting("edgeReducer", (edge, data) => (graph.hasExtremity(edge, node) ? data : { ...data, hidden: true }));
    sigma.setSetting("nodeReducer", (one, data) => (near.has(one) ? { ...data, forceLabel: near.size < 40 } : { ...data, label: "" }));
  });
  sigma.on("leaveNode", () => {
    picture.classList.remove("pointing");
    sigma.setSetting("edgeReducer", null);
    sigma.setSetting("nodeReducer", null);
  });
  addEventListener("themechange", paint);
  picture.dataset.drawn = graph.order;
  return () => {
    removeEventListener("themechange", paint);
    sigma.kill();
  };
}

/** Colour the ground under each colony: soft discs that run into each other. */
function drawRegions(sigma, graph, found, canvas) {
  const context = canvas.getContext("2d");
  const { width, height } = sigma.getDimensions();
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  Object.assign(canvas, { width: width * devicePixelRatio, height: height * devicePixelRatio }); // clears it
  context.scale(devicePixelRatio, devicePixelRatio);
  const byColony = new Map();
  found.nodes.forEach((node, at) => {
    if (node.colony === null || at === 0) return;
    byColony.set(node.colony, [...(byColony.get(node.colony) || []), at]);
  });
  const radius = 34 / Math.sqrt(sigma.getCamera().ratio);
  for (const [colony, nodes] of byColony) {
    const [colour] = colours(`colony-${colony % HUES}`);
    context.fillStyle = colour;
    context.globalAlpha = 0.13;
    context.beginPath(); // one path: where discs overlap, the ground is no darker
    for (const at of nodes) {
      const { x, y } = sigma.graphToViewport(graph.getNodeAttributes(at));
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    }
    context.fill();
  }
}
