// Operations: documents first, then size and health.
import { get, hasFolder, may, post, stream, upload, work as task } from "./api.js";
import { chunkLink } from "./chunk.js";
import { count, empty, field, h, moment, put, said, settled, some } from "./dom.js";
import { formats } from "./formats.js";
import { nameOf, namesOf } from "./passage.js";
import { bars } from "./plots.js";

const NAMES = {
  chunks: "passages", tags: "tags", postings: "passage – tag edges", edges: "tag – tag edges",
  density: "density", tags_per_chunk: "tags a passage", untagged_share: "passages without tags",
  generation: "commits", colonies: "colonies",
};
const KINDS = ".txt,.md,.markdown,.rst,.html,.htm,.pdf,.docx";
const shown = (name, value) => (name === "untagged_share" ? `${(100 * value).toFixed(1)}%`
  : Number.isInteger(value) ? count(value) : value.toPrecision(3));

export function showOperations(view, parameters) {
  const numbers = h("div");
  const refresh = [() => measure(numbers)];
  const changed = () => Promise.all(refresh.map((again) => again()));
  put(view,
    h("section", documents(parameters.get("document"), changed, refresh)),
    may("write") && h("section", h("h2", "Add"), adding(changed)),
    h("section", h("h2", "Size"), numbers),
    h("div.pair",
      work("Health", "Compares the whole index with the texts. This takes as long as building it.", "Examine", examine),
      work("Colonies", "Communities of passages that share tags. The map colours them.", "Find colonies", findColonies)));
  return changed();
}

async function measure(numbers) {
  try {
    const stats = await get("stats");
    const degrees = Object.entries(stats.degrees);
    put(numbers, h("dl.tiles", Object.entries(NAMES).filter(([name]) => name in stats).map(([name, label]) =>
      h("div", h("dt", label), h("dd", shown(name, stats[name]))))),
    stats.chunks > 0 && h("details", h("summary", "Neighbours of a tag"),
      bars("Neighbours of a tag, by percentile", degrees.map(([name]) => name), degrees.map(([, value]) => value)),
      h("p.quiet", "By percentile. If most tags are neighbours, the graph says little.")));
  } catch (problem) {
    put(numbers, h("p.refused", problem.message));
  }
}

/** A section with a button that starts long work, and its result. */
function work(title, about, label, run) {
  const place = h("div", { role: "status" });
  return h("section", h("h2", title), h("p.quiet", about), h("div.row", h("button", {
    type: "button",
    onclick: async ({ target }) => {
      target.disabled = true;
      put(place, h("p.quiet", "Working …"));
      put(place, await run().catch((problem) => h("p.refused", problem.message)));
      target.disabled = false;
    },
  }, label)), place);
}

async function examine() {
  const report = await task("doctor");
  return [h("p", report.findings.length
    ? `${some(report.findings.length, "problem")}:` : `All is well: ${some(report.chunks, "passage")}, ${some(report.feedbacks, "lesson")}.`),
  h("ul", report.findings.map((finding) => h("li", h("b", finding.part), " ", finding.problem))),
  report.notes.map((note) => said("p.note", note))];
}

async function findColonies() {
  const { colonies } = await task("colonies");
  return [h("p", `${some(colonies.length, "colony", "colonies")}:`),
    h("ul.plain", colonies.slice(0, 12).map((colony) => h("li", said("span", colony.name), " ", h("small", some(colony.chunks, "passage"))))), formats("colonies")];
}

// -- documents ------------------------------------------------------------------------

function documents(open, changed, refresh) {
  const find = h("input", { type: "search", maxlength: 512, value: open ? nameOf(open) : "" });
  const status = h("p", { role: "status" });
  const table = h("div");
  const list = async () => {
    try {
      const { documents: entries, total } = await post("documents", { containing: find.value.trim(), limit: 100 });
      put(table, entries.length ? h("div.scroll.list.documents", { tabindex: "0", role: "region", "aria-label": "Documents" },
        h("table", h("thead", h("tr", h("th", { scope: "col" }, "document"), h("th", { scope: "col" }, "title"),
          h("th.number", { scope: "col" }, "passages"), h("th", { scope: "col" }, "indexed"), h("th", { scope: "col" }, h("span.hidden", "actions")))),
        h("tbody", entries.map((each) => row(each, each.id === open, status, changed)))))
        : total || find.value ? h("p.quiet", "No document name contains this.")
          : empty("No documents yet", h("p", "Add a file below, or run ", h("code", "hebbgraph index FOLDER --db DIR"), ".")),
      total > entries.length && h("p.quiet", `${count(total - entries.length)} more; find them by name.`),
      entries.length > 0 && formats("documents", { containing: find.value.trim(), limit: 10000 }));
    } catch (problem) {
      put(table, h("p.refused", { role: "alert" }, problem.message));
    }
  };
  const again = may("write") && hasFolder() && h("button", { type: "button", onclick: async () => {
    again.disabled = true;
    await doing(status, changed, async () => {
      const report = await task("read_folder", {}, (done, total) => put(status, `${count(done)} of ${some(total, "file")}`));
      return [`The folder was read: ${some(report.indexed, "document")} indexed, ${count(report.unchanged)} as before, ${count(report.removed)} removed.`,
        report.failed.map((failure) => [h("br"), h("span.refused", { dir: "auto" }, failure)])];
    });
    again.disabled = false;
  } }, "Read the folder again");
  find.addEventListener("input", settled(180, list));
  refresh.push(list);
  return [h("div.question", field("Find", find), again), h("p.quiet", "Most recently indexed first."), status, table];
}

function row(entry, isOpen, status, changed) {
  const name = nameOf(entry.id);
  const passages = h("ol.plain");
  const inside = h("details", { ontoggle: async () => {
    if (inside.open && !passages.children.length) put(passages, await passagesOf(entry.id));
  } }, h("summary", { dir: "auto" }, name), passages);
  inside.open = isOpen;
  const suffix = /\.[a-z]+$/i.exec(entry.id)?.[0];
  const file = h("input", { type: "file", hidden: true, accept: suffix || KINDS, "aria-label": `New version of ${name}`,
    onchange: () => doing(status, changed, async () => {
      await sendFile(entry.id, file.files[0], (share) => put(status, `Sending ${name}: ${percent(share)}`));
      return `${name} was replaced.`;
    }) });
  const remove = h("button.danger", { type: "button", "aria-label": `Delete ${name}`, onclick: () => {
    if (remove.dataset.sure) {
      doing(status, changed, async () => {
        await post("delete", { document_id: entry.id });
        return `${name} was deleted.`;
      });
      return;
    }
    remove.dataset.sure = "yes";
    put(remove, `Delete ${some(entry.passages, "passage")}?`);
  } }, "Delete");
  return h("tr", h("td", inside), h("td", { dir: "auto" }, entry.title),
    h("td.number", count(entry.passages), h("span.unit", entry.passages === 1 ? " passage" : " passages")),
    h("td.quiet", entry.indexed_at ? moment(entry.indexed_at) : ""),
    h("td.number", may("write") && [suffix && [file, h("button", { type: "button", "aria-label": `Replace ${name}`, onclick: () => file.click() }, "Replace")], " ", remove]));
}

async function doing(status, changed, action) {
  put(status, "Working …");
  try {
    put(status, await action());
    changed();
  } catch (problem) {
    put(status, h("span.refused", problem.message));
  }
}

async function passagesOf(document_id) {
  const { ids } = await post("ids", { where: { $document_id: document_id } });
  const { chunks } = await post("get", { ids: ids.slice(0, 200) });
  chunks.sort((a, b) => (a.metadata.position ?? 0) - (b.metadata.position ?? 0));
  const names = namesOf(chunks);
  return [chunks.map((chunk) => h("li", chunkLink(chunk.id, names.get(chunk.id)))),
    ids.length > 200 && h("li.quiet", `${count(ids.length - 200)} more`)];
}

const percent = (share) => `${Math.round(100 * share)}%`;

const sendFile = async (name, file, tell) => upload("put_file", { name, content: await base64(file) }, tell);

// -- adding ---------------------------------------------------------------------------

function adding(done) {
  const title = h("input", { type: "text", maxlength: 4096 });
  const text = h("textarea", { rows: 3, required: true });
  const file = h("input", { type: "file", multiple: true, accept: `.jsonl,.json,${KINDS}` });
  const meter = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Adding" });
  const status = h("p", { role: "status" });
  const button = h("button.primary", "Add");
  file.addEventListener("change", () => { text.required = !file.files.length; });
  return h("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      button.disabled = true;
      try {
        await add();
      } catch (problem) {
        put(status, h("span.refused", problem.message));
      }
      meter.hidden = true;
      button.disabled = false;
    },
  }, h("div.fields", field("Files", file,
    "PDF, Word, HTML, Markdown or text; a file replaces the document of its name. Or chunks as JSON lines."),
  h("div", field("Or a title", title), field("and its text", text))), h("div.row", button), meter, status);

  async function add() {
    meter.hidden = false;
    meter.removeAttribute("value");
    const reports = [];
    const refused = [];
    if (!file.files.length) reports.push(await addChunks([{ title: title.value.trim(), text: text.value }]));
    for (const [at, each] of [...file.files].entries()) {
      put(status, `Sending ${each.name} …`);
      try {
        reports.push(/\.jsonl?$/i.test(each.name) ? await addChunks(await chunksOf(each))
          : await sendFile(each.name, each, (share) => {
            meter.value = (at + 0.9 * share) / file.files.length;
            put(status, share < 1 ? `Sending ${each.name}: ${percent(share)}` : `Reading ${each.name} …`);
          }));
      } catch (problem) {
        refused.push(h("br"), h("span.refused", problem.message.startsWith(each.name) ? problem.message : `${each.name}: ${problem.message}`));
      }
    }
    const sum = (name) => reports.reduce((total, report) => total + report[name], 0);
    put(status, reports.length
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
        put(status, `${count(line.done)} of ${count(line.total)}`);
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
