// Operations: size, health, and adding text with progress.
import { get, post, stream } from "./api.js";
import { count, field, h, put, some } from "./dom.js";
import { bars } from "./plots.js";

const NAMES = {
  chunks: "passages", tags: "tags", postings: "passage – tag edges", edges: "tag – tag edges",
  density: "density", tags_per_chunk: "tags a passage", untagged_share: "passages without tags",
  generation: "generation", colonies: "colonies",
};
const shown = (name, value) => (name === "untagged_share" ? `${(100 * value).toFixed(1)} %`
  : Number.isInteger(value) ? count(value) : value.toPrecision(3));

export function showOperations(view) {
  const numbers = h("div", { "aria-live": "polite" });
  const health = h("div", { "aria-live": "polite" });
  put(view,
    h("section", h("h2", "Size"), numbers),
    h("div.pair",
      h("section", h("h2", "Health"), h("p.quiet", "The doctor compares everything that is derived with the texts. It takes as long as building the index."),
        h("div.row", h("button", { type: "button", onclick: (event) => examine(event.target) }, "Examine"),
          h("button", { type: "button", onclick: (event) => findColonies(event.target) }, "Find colonies")), health),
      h("section", h("h2", "Add text"), adding(() => measure()))));
  measure();

  async function measure() {
    put(numbers, h("p.quiet", "Counting …"));
    try {
      const stats = await get("stats");
      const degrees = Object.entries(stats.degrees);
      put(numbers, h("dl.tiles", Object.entries(NAMES).filter(([name]) => name in stats).map(([name, label]) =>
        h("div", h("dt", label), h("dd", { "data-stat": name, "data-value": stats[name] }, shown(name, stats[name]))))),
      stats.chunks > 0 && h("section", h("h3", "Neighbours of a tag"),
        bars("Neighbours of a tag, by percentile", degrees.map(([name]) => name), degrees.map(([, value]) => value)),
        h("p.quiet", "By percentile. A graph whose tags all know each other tells nothing apart.")));
    } catch (problem) {
      put(numbers, h("p.refused", problem.message));
    }
  }

  async function examine(button) {
    button.disabled = true;
    put(health, h("p.quiet", "Examining …"));
    try {
      const report = await post("doctor", {});
      put(health, h("p", { "data-findings": report.findings.length }, report.findings.length
        ? `${some(report.findings.length, "problem")}:` : `All is well: ${some(report.chunks, "passage")}, ${some(report.feedbacks, "lesson")}.`),
      h("ul", report.findings.map((one) => h("li", h("b", one.part), " ", one.problem))),
      report.notes.map((note) => h("p.note", { dir: "auto" }, note)));
    } catch (problem) {
      put(health, h("p.refused", problem.message));
    }
    button.disabled = false;
  }

  async function findColonies(button) {
    button.disabled = true;
    put(health, h("p.quiet", "Looking for communities of passages …"));
    try {
      const { colonies } = await post("colonies", {});
      put(health, h("p", `${some(colonies.length, "colony", "colonies")}. The map shows them as regions.`),
        h("ul.plain", colonies.slice(0, 12).map((one) => h("li", h("span", { dir: "auto" }, one.name), " ", h("small", some(one.chunks, "passage"))))));
    } catch (problem) {
      put(health, h("p.refused", problem.message));
    }
    button.disabled = false;
  }
}

function adding(done) {
  const title = h("input", { type: "text", maxlength: 4096 });
  const text = h("textarea", { rows: 5, required: true });
  const file = h("input", { type: "file", multiple: true, accept: ".jsonl,.json,.txt,.md,.markdown,.rst,.html,.htm,.pdf,.docx" });
  const meter = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Adding" });
  const told = h("p", { role: "status" });
  const button = h("button.primary", "Add");
  file.addEventListener("change", () => { text.required = !file.files.length; });
  return h("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      button.disabled = true;
      try {
        await add();
      } catch (problem) {
        put(told, h("span.refused", problem.message));
      }
      meter.hidden = true;
      button.disabled = false;
    },
  }, field("Title", title), field("Text", text), field("Or a file", file,
    "PDF, Word, HTML, Markdown or text, which replaces the document of its name; or chunks as JSON lines."), h("div.row", button), meter, told);

  async function add() {
    meter.hidden = false;
    meter.removeAttribute("value");
    const reports = [];
    const refused = [];
    if (!file.files.length) reports.push(await addChunks([{ title: title.value.trim(), text: text.value }]));
    for (const each of file.files) {
      put(told, `Reading ${each.name} …`);
      try {
        reports.push(/\.jsonl?$/i.test(each.name) ? await addChunks(await chunksOf(each))
          : await post("put_file", { name: each.name, content: await base64(each) }));
      } catch (problem) {
        refused.push(h("br"), h("span.refused", problem.message.startsWith(each.name) ? problem.message : `${each.name}: ${problem.message}`));
      }
    }
    const sum = (name) => reports.reduce((total, report) => total + report[name], 0);
    put(told, reports.length
      ? `${some(sum("added"), "passage")} added, ${count(sum("replaced"))} replaced, ${count(sum("unchanged"))} as before, ${count(sum("deleted"))} removed.`
      : "", ...refused);
    if (!reports.length) return;
    title.value = text.value = file.value = "";
    text.required = true;
    done();
  }

  async function addChunks(chunks) {
    let report = null;
    for await (const line of stream("add", { chunks })) {
      if (line.problem) throw new Error(line.problem.detail || line.problem.title);
      if (line.report) report = line.report;
      else if (line.total) {
        meter.value = line.done / line.total;
        put(told, `${count(line.done)} of ${count(line.total)}`);
      }
    }
    return report;
  }
}

/** The chunks in a file of JSON, or of a JSON object a line. */
async function chunksOf(file) {
  const content = await file.text();
  return file.name.toLowerCase().endsWith("l")
    ? content.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line))
    : [JSON.parse(content)].flat();
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1] ?? ""); // a data: URL
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
