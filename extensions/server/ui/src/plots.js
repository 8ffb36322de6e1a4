// Plots by uPlot, in the colours of the page.
import uPlot from "uplot";
import { colours, fresh, h } from "./dom.js";

/** Bars over a few labelled places. */
export function bars(label, names, values, colour = "graph") {
  return plot(label, names, [{ values, colour, paths: uPlot.paths.bars({ size: [0.7, 60] }), fill: true }]);
}

/** Lines over labelled places. */
export function lines(label, names, series) {
  return plot(label, names, series.map((line) => ({ width: 2, ...line })));
}

function plot(label, names, series) {
  const place = h("div.plot", { role: "img", "aria-label": label, id: fresh("plot") });
  const make = () => {
    const [ink, rule, ...own] = colours("quiet", "rule", ...series.map((line) => line.colour));
    const axis = { stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 },
      font: "12px system-ui" };
    const width = Math.max(place.clientWidth, 220);
    place.replaceChildren();
    new uPlot({
      width,
      height: 170,
      cursor: { show: false },
      legend: { show: false },
      scales: { x: { time: false, range: (_, low, high) => [low - 0.6, high + 0.6] },
        y: { range: (_, low, high) => [Math.min(low, 0), Math.max(high, 1) * 1.15] } },
      axes: [{ ...axis, grid: { show: false }, ticks: { show: false }, incrs: [1, 2, 5, 10, 20, 50, 100],
        values: (_, splits) => splits.map((at) => (Number.isInteger(at) ? names[at] ?? "" : "")) },
      { ...axis, size: 46 }],
      series: [{}, ...series.map((line, at) => ({
        label: line.label, stroke: own[at], width: line.width ?? 0, paths: line.paths,
        fill: line.fill ? own[at] : undefined, points: { show: !line.fill && line.values.length < 30 },
      }))],
    }, [names.map((_, at) => at), ...series.map((line) => line.values)], place);
  };
  const observer = new ResizeObserver(() => { if (place.isConnected) make(); });
  observer.observe(place);
  const recolour = () => {
    if (place.isConnected) make();
    else removeEventListener("themechange", recolour);
  };
  addEventListener("themechange", recolour);
  return place;
}
