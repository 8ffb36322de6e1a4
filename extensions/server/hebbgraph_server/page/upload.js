// Uploads: a file is compared with what is there, and stored once people say so.
import { go, href } from "./address.js";
import { send } from "./api.js";
import { attempt, button, count, h, joined, put, some, tell } from "./dom.js";

/** Files that wait for a decision: {file, place, change, why, others}. */
let waiting = [];
let redraw = () => {};
let isStoring = false;

/** Let people choose files; `place` says which document one replaces. */
export function choose(event, place = null) {
  const input = h("input", { type: "file", multiple: place === null });
  input.addEventListener("change", () => offer([...input.files], place));
  input.click();
}

/** Preview files, one after another. */
export async function offer(files, place = null) {
  const added = [];
  for (const file of files) {
    const each = { file, place: place ?? file.name, others: [] };
    const isTwice = waiting.some((other) => other.place === each.place);
    if (isTwice) each.why = "A file of this name waits already.";
    else added.push(each);
    waiting.push(each);
  }
  if (location.pathname !== "/documents" || place) go(href("/documents"));
  redraw();
  for (const each of added) await preview(each);
  tell("Read; nothing is stored yet");
}

const upload = (each, isPreview) =>
  send("documents", each.file, "octet-stream", { place: each.place, preview: isPreview });

async function preview(each) {
  await attempt(async () => {
    each.change = await upload(each, true);
    // A document of this name elsewhere may be meant: people decide.
    if (!each.change.replaces) each.others = each.change.same_name;
    each.isOpen ??= each.others.length > 0;
  }, (problem) => { each.why = problem.message; });
  redraw();
}

const ready = () => waiting.filter((each) => each.change && !each.isOpen);

async function store(done) {
  const stored = ready();
  isStoring = true;
  redraw();
  for (const each of stored) {
    await attempt(async () => {
      await upload(each, false);
      leaveOut(each);
    }, (problem) => Object.assign(each, { change: null, why: problem.message }));
  }
  isStoring = false;
  redraw();
  tell(`${some(stored.filter((each) => !each.why).length, "document")} stored`);
  dispatchEvent(new Event("stored"));
  done();
}

function leaveOut(each) {
  waiting = waiting.filter((other) => other !== each);
  redraw();
}

export function review(done) {
  const section = h("section.review", { "aria-label": "Files to add" });
  redraw = () => {
    section.hidden = !waiting.length;
    const replaced = ready().filter((each) => each.change.replaces).length;
    const added = ready().length - replaced;
    const label = [added && `Add ${count(added)}`, replaced && `Replace ${count(replaced)}`];
    put(section, h("h2", "None of these is stored yet"), h("ul.rows", waiting.map(row)),
      ready().length > 0 && h("div.row",
        button(isStoring ? "Storing …" : label.filter(Boolean).join(", "), () => store(done),
          { class: "primary", disabled: isStoring })));
  };
  redraw();
  return section;
}

function row(each) {
  return h("li",
    h("div.head", h("h3", each.place),
      button("Leave out", () => leaveOut(each), { class: "link" })),
    each.why && h("p.refused", { role: "alert" }, each.why),
    each.change && [decision(each), !each.isOpen && changes(each.change)],
    !each.why && !each.change && h("p.soft", "Reading …"));
}

function changes({ replaces, passages, added, unchanged, deleted, title, resting, ...changed }) {
  const edited = Math.min(added, deleted);
  return [
    replaces
      ? h("p", "Replaces “", h("b", replaces.title),
        "”. Passages: ", joined([[unchanged, "as before"], [edited, "changed"],
          [added - edited, "new"], [deleted - edited, "gone"]]
          .filter(([n]) => n).map(([n, what]) => `${count(n)} ${what}`)), ".")
      : h("p", "A new document, “", h("b", title), `”: ${some(passages, "passage")}.`),
    resting > 0 && h("p", some(resting, "lesson"), " will rest until the same text is back."),
    difference(changed),
  ];
}

/** The first sentences that go, and that come. */
function difference({ gone, new: come }) {
  const [before, after] = [gone, come].map((all) => new Set(all.flatMap(({ text }) =>
    text.split(/\s*\n[#>*\s-]*|(?<=[.!?])\s/))));
  const only = (name, lines, others) => [...lines.difference(others)].slice(0, 6)
    .map((line, at) => h(name, at < 5 ? line : "…"));
  return h("blockquote", only("del", before, after), only("ins", after, before));
}

function decision(each) {
  const option = (place, ...label) => h("label", h("input", {
    type: "radio", name: each.file.name, checked: !each.isOpen && each.place === place,
    onchange: () => {
      Object.assign(each, { place, isOpen: false });
      preview(each);
    },
  }), " ", label);
  return each.others.length > 0 && h("fieldset",
    h("legend", "There is a document of this name. Is it this one?"),
    each.others.map((place) => option(place, "Replace ", h("b", place))),
    option(each.file.name, "Add another one"));
}
