// Replay: activation, step by step, from the question over tags and chunks.
import { post, trace } from "./api.js";
import { address, addressed, asked } from "./asked.js";
import { causesBar, legend, longestOf } from "./causes.js";
import { chunkLink } from "./chunk.js";
import { empty, field, h, put, score, some, still, svg, tagLink } from "./dom.js";
import { formats } from "./formats.js";
import { headings } from "./passage.js";

const COLUMN = 150; // at least; columns fill the frame
const LINE = 14;
const TOP = 56;
const MOST = 9; // nodes of a column, the strongest
const PLAY = 1600;

export function showReplay(view, parameters) {
  addressed(parameters);
  const input = h("input", { type: "search", required: true, value: asked.query, maxlength: 65536 });
  const stage = h("div");
  let stop = null;
  const form = h("form.ask", {
    onsubmit: (event) => {
      event.preventDefault();
      Object.assign(asked, { query: input.value.trim(), recall: null });
      if (location.hash === address("replay")) play();
      else location.hash = address("replay");
    },
  }, h("div.question", field("Question", input), h("button.primary", "Replay")));
  put(view, form, stage);
  if (asked.query) return play();
  return put(stage, empty("Watch activation spread",
    h("p", "A question activates the tags that it names and the best passages by words and meaning. "
      + "From there, activation flows from passages to tags and on to passages, a little weaker "
      + "at each step. Learned flows have their own colour."),
    h("p", h("a", { href: "#/ask" }, "Ask a question"), " first, or type one above.")));

  async function play() {
    stop?.();
    put(stage, h("p.quiet", "Spreading …"));
    try {
      const filter = asked.where ? { where: asked.where } : {};
      asked.recall ||= await post("recall", { query: asked.query, k: asked.k, ...filter });
      const replay = await trace(asked.recall, asked.where);
      const chunks = [...replay.nodes.filter((node) => node.kind === "chunk").map((node) => [node, node.value]),
        ...replay.hits.map((hit) => [hit, hit.chunk_id])];
      const titles = await headings(chunks.map(([, id]) => id));
      for (const [named, id] of chunks) named.title = titles.get(id) ?? named.title;
      stop = replay.events.length ? film(stage, replay) : nothing(stage);
    } catch (problem) {
      put(stage, h("p.refused", { role: "alert" }, problem.message));
    }
  }
}

function nothing(stage) {
  put(stage, empty("Nothing spread", h("p", "The question names no tag, and no passage matches its words or "
    + "meaning.")));
  return null;
}

/** Group events into frames: a frame is one hop of one step. */
export function framesOf(replay) {
  const frames = [];
  for (const event of replay.events) {
    const into = replay.nodes[event.target].kind;
    const start = event.over === "question";
    const key = start ? "start" : `${event.step} ${event.over} ${into}`;
    let frame = frames.at(-1);
    if (!frame || frame.key !== key) {
      frame = { key, step: event.step, over: event.over, into, events: [] };
      frames.push(frame);
    }
    frame.events.push(event);
  }
  return frames;
}

function captionOf(replay, frame) {
  const into = new Set(frame.events.map((event) => event.target)).size;
  const from = new Set(frame.events.map((event) => event.source)).size;
  const learned = frame.events.filter((event) => event.learned > 0).length;
  const taught = learned ? ` ${some(learned, "flow")} because of past citations.` : "";
  if (frame.key === "start") {
    const tags = frame.events.filter((event) => replay.nodes[event.target].kind === "tag").length;
    return `The question activates ${some(tags, "tag")} that it names and the `
      + `best ${some(into - tags, "passage")} of the search.${taught}`;
  }
  const kind = frame.into === "tag" ? "tag" : "passage";
  if (frame.over === "link") return `Finally, the best passages pass some on along their links to ${some(into, kind)}.`;
  if (frame.into === "tag" && frame.step === 0) {
    return `Lessons connect the tags of the question to ${some(into, kind)}.`;
  }
  if (frame.step === 0) return `From the cues, activation flows to ${some(into, kind)} that have them as title.${taught}`;
  return frame.into === "tag"
    ? `Step ${frame.step}: ${some(from, "passage")} pass activation on to ${some(into, kind)}.${taught}`
    : `Step ${frame.step}: ${some(from, "node")} pass activation on to ${some(into, kind)}.${taught}`;
}

const nameOf = (node) => node.title || node.value || "question";

function film(stage, replay) {
  const frames = framesOf(replay);
  const column = Math.max(COLUMN, (stage.clientWidth - 40) / (frames.length + 1));
  const drawing = draw(replay, frames, column);
  const slider = h("input", { type: "range", min: 0, max: frames.length - 1, step: 1, value: 0,
    "aria-label": "Step" });
  const caption = h("p.caption", { "aria-live": "polite" });
  const playing = h("button.primary", { type: "button" }, "Play");
  const back = h("button", { type: "button", "aria-label": "Step back" }, "◀");
  const forth = h("button", { type: "button", "aria-label": "Step forward" }, "▶");
  const flows = h("div");
  const more = { recall: replay.recall_id, where: asked.where_ };
  const cuts = h("div");
  const frameOf = h("div.scroll", { tabindex: "0", role: "region", "aria-label": "The spread" },
    drawing.root);
  const longest = longestOf(replay.hits, (hit) => hit);
  let at = 0;
  let timer = 0;
  const show = (next) => {
    at = Math.min(Math.max(next, 0), frames.length - 1);
    slider.value = at;
    slider.setAttribute("aria-valuetext", `${at + 1} of ${frames.length}`);
    drawing.show(at);
    put(caption, h("b", `${at + 1}/${frames.length} `), captionOf(replay, frames[at]));
    put(flows, flowTable(replay, frames[at]));
    put(cuts, cutList(replay, frames[at]));
    back.disabled = at === 0;
    forth.disabled = at === frames.length - 1;
    const right = (at + 2) * column - frameOf.clientWidth;
    frameOf.scrollTo({ left: Math.max(right, 0), behavior: still() ? "auto" : "smooth" });
  };
  const pause = () => {
    clearInterval(timer);
    timer = 0;
    put(playing, "Play");
  };
  playing.addEventListener("click", () => {
    if (timer) return pause();
    if (at === frames.length - 1) show(0);
    put(playing, "Pause");
    timer = setInterval(() => {
      if (!stage.isConnected) return pause(); // another view is shown
      show(at + 1);
      if (at === frames.length - 1) pause();
    }, PLAY);
  });
  slider.addEventListener("input", () => { pause(); show(Number(slider.value)); });
  back.addEventListener("click", () => { pause(); show(at - 1); });
  forth.addEventListener("click", () => { pause(); show(at + 1); });
  put(stage,
    h("div.controls", playing, back, slider, forth),
    caption,
    frameOf,
    h("p.legend", h("span", h("i.flow"), "over the graph"), h("span", h("i.learned"), "learned"),
      h("span", h("i.tagdot"), "tag"), h("span", h("i.chunkdot"), "passage")),
    h("div.pair", h("section", h("h2", "Flows of this step"), flows, formats("flows", more)),
      h("section", h("h2", "What was cut, and why"), cuts)),
    h("section", h("h2", "Result"), legend(),
      h("ol.ends", { "aria-label": "Result" }, replay.hits.map((hit) => h("li",
        h("span.rank", `${hit.rank}`), chunkLink(hit.chunk_id, hit.title),
        h("span.score", score(hit.score)), causesBar(hit, hit, longest)))), formats("ranks", more)));
  show(0);
  return pause;
}

/** Lay the frames out from left to right: a column for what each one reaches. */
function layout(replay, frames, column) {
  const columns = frames.map((frame) => {
    const mass = new Map();
    for (const event of frame.events) {
      mass.set(event.target, (mass.get(event.target) || 0) + event.mass);
    }
    const order = [...mass].sort(([a, x], [b, y]) => y - x || a - b);
    return { shown: order.slice(0, MOST), more: order.length - MOST };
  });
  const place = columns.map((reached, at) => {
    let y = TOP;
    const placed = new Map();
    for (const [node, mass] of reached.shown) {
      placed.set(node, { x: (at + 1) * column + 24, y, mass });
      y += 44 + LINE * linesOf(nameOf(replay.nodes[node]), column).length;
    }
    reached.end = y;
    return placed;
  });
  return { columns, place };
}

function draw(replay, frames, column) {
  const { columns, place } = layout(replay, frames, column);
  const height = Math.max(...columns.map(({ end, more }) => end + (more > 0 ? 20 : 0)));
  const width = (frames.length + 1) * column;
  const query = { x: 24, y: TOP };
  const groups = frames.map((frame, at) => {
    // A node passes on from the last column in which it was reached.
    const origin = (node) => {
      if (node === 0) return query;
      for (let before = at - 1; before >= 0; before -= 1) {
        if (place[before].has(node)) return place[before].get(node);
      }
      return place[at].get(node); // learned hops between tags of one column
    };
    const paths = [];
    for (const event of frame.events) {
      const [from, to] = [origin(event.source), place[at].get(event.target)];
      if (!from || !to || from === to) continue;
      const bend = (to.x - from.x) / 2 || 30;
      const d = `M${from.x},${from.y} C${from.x + bend},${from.y} ${to.x - bend},${to.y} ${to.x},${to.y}`;
      const thick = Math.max(1, 14 * Math.sqrt(event.mass));
      const kind = event.learned >= 0.5 ? "learned" : "flow";
      paths.push(svg(`path.edge.${kind}`, { d, "stroke-width": thick.toFixed(1), pathLength: 1 },
        svg("title", `${nameOf(replay.nodes[event.source])} to ${nameOf(replay.nodes[event.target])}: `
          + score(event.mass))));
    }
    const nodes = [...place[at]].map(([node, { x, y, mass }]) => mark(replay.nodes[node], x, y, mass, column));
    if (columns[at].more > 0) {
      nodes.push(svg("text.quiet", { x: (at + 1) * column + 12, y: columns[at].end },
        `${columns[at].more} more`));
    }
    const title = svg("text.step", { x: (at + 1) * column + 12, y: 20 }, headOf(frame));
    return [svg("g", paths), svg("g", title, nodes)]; // all nodes lie above all edges
  });
  const root = svg("svg.spread", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": "Activation from left to right; the table below has the same content" },
  groups.map(([edges]) => edges),
  svg("g", svg("circle.query", { cx: query.x, cy: query.y, r: 10 }),
    svg("text.label", { x: query.x - 12, y: query.y + 28 }, "question")),
  groups.map(([, nodes]) => nodes));
  return {
    root,
    show(at) {
      groups.flat().forEach((group, number) => {
        const frame = number >> 1;
        group.classList.toggle("coming", frame > at);
        group.classList.toggle("now", frame === at);
        group.classList.toggle("gone", frame < at);
      });
    },
  };
}

function headOf(frame) {
  if (frame.key === "start") return "cues and seeds";
  const kind = frame.into === "tag" ? "tags" : "passages";
  if (frame.over === "link") return `links: ${kind}`;
  return frame.step ? `step ${frame.step}: ${kind}` : frame.into === "tag" ? "joined by lessons" : "titles";
}

/** A name in as many lines as it takes in a column, at most six. */
function linesOf(name, column) {
  const letters = (column - 16) / 7;
  const lines = [""];
  for (const word of name.split(" ")) {
    if (lines.at(-1) && lines.at(-1).length + 1 + word.length > letters) lines.push("");
    lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines.length > 6 ? [...lines.slice(0, 5), `${lines[5]} …`] : lines;
}

function mark(node, x, y, mass, column) {
  const size = 4 + 9 * Math.min(Math.sqrt(mass), 1);
  const shape = node.kind === "tag"
    ? svg("circle.tag", { cx: x, cy: y, r: size })
    : svg("rect.chunk", { x: x - size, y: y - size, width: 2 * size, height: 2 * size, rx: 3 });
  const name = nameOf(node);
  return svg("g.node", svg("title", `${name}${node.title ? ` (${node.value})` : ""}: ${score(mass)}`), shape,
    svg("text.label", { direction: "ltr" }, linesOf(name, column).map((line, at) =>
      svg("tspan", { x: x - 12, y: y + 27 + LINE * at }, `\u2068${line}\u2069`))));
}

function nodeLink(replay, number) {
  const node = replay.nodes[number];
  if (number === 0) return "question";
  return node.kind === "tag" ? tagLink(node.value) : chunkLink(node.value, node.title);
}

function flowTable(replay, frame) {
  const rows = [...frame.events].sort((a, b) => b.mass - a.mass);
  return [h("div.scroll.list", { tabindex: "0", role: "region", "aria-label": "Flows of this step" },
    h("table",
      h("thead", h("tr", h("th", { scope: "col" }, "from"), h("th", { scope: "col" }, "to"),
        h("th.number", { scope: "col" }, "mass"), h("th.number", { scope: "col" }, "learned"))),
      h("tbody", rows.slice(0, 40).map((event) => h("tr", h("td", nodeLink(replay, event.source)),
        h("td", nodeLink(replay, event.target)), h("td.number", score(event.mass)),
        h("td.number", event.learned ? h("span.learned", `${Math.round(100 * event.learned)}%`) : ""))))),
  ), rows.length > 40 && h("p.quiet", `${rows.length - 40} weaker flows are not shown.`)];
}

function cutList(replay, frame) {
  const cuts = replay.cuts.filter((cut) => cut.step === frame.step || (frame.key === "start" && cut.step === 0));
  if (!cuts.length) return h("p.quiet", "Nothing in this step.");
  const byReason = Map.groupBy ? Map.groupBy(cuts, (cut) => cut.reason) : grouped(cuts);
  return h("ul.cuts", [...byReason].map(([reason, nodes]) => h("li", h("p.quiet", reason),
    h("p.row", nodes.map((node) => (node.kind === "tag" ? tagLink(node.value) : chunkLink(node.value, node.title)))))));
}

function grouped(cuts) {
  const found = new Map();
  for (const cut of cuts) found.set(cut.reason, [...(found.get(cut.reason) || []), cut]);
  return found;
}
