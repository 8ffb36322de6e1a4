// Documents: found, shown, replaced, deleted; the folder read again.
import { changed, go, href } from "./address.js";
import { get, post, remove, session } from "./api.js";
import { named } from "./card.js";
import { attempt, button, confirmed, count, h, put, refused, some, tell } from "./dom.js";
import { drawn } from "./text.js";
import { choose, review } from "./upload.js";

const MOST = 300;

export async function showDocuments(view, given) {
  const place = given.get("place");
  if (place) return showDocument(view, place, given.get("passage"));
  const mayWrite = session.may.write;
  const input = h("input", { type: "search", "aria-label": "Find documents",
    placeholder: "Find by title or place", value: given.get("find") ?? "" });
  const list = h("ul.rows", { "aria-label": "Documents" });
  const [said, report] = [h("p.soft", { role: "status" }), h("div")];
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => go(changed({ find: input.value.trim() }), true), 200);
  });
  put(view, h("h1", "Documents"), mayWrite && review(find),
    h("div.row", input, mayWrite && button("Add files", choose, { class: "primary" }),
      mayWrite && session.folder && button("Read the folder again", () => reread(report, find))),
    report, said, list);

  async function find() {
    const words = input.value.trim();
    const { documents, total } = await get("documents", { find: words, limit: MOST });
    if (words !== input.value.trim()) return; // somebody typed on
    put(list, documents.map(row));
    put(said, total ? some(total, "document")
      : words ? "No title and no place holds this." : "No document yet.",
    total > MOST && `, of which ${count(MOST)} are shown: find others by title or place`);
  }

  await find();
  return (now) => {
    if (now.has("place")) return false;
    attempt(find, (problem) => put(said, refused(problem)));
    return true;
  };
}

const row = (document) => h("li", h("div.head", h("h2", named(document)),
  h("span.soft", some(document.passages, "passage"))));

async function showDocument(view, place, wanted) {
  const { passages } = await get("documents/passages", { place });
  const title = passages[0].headings[0] ?? passages[0].title ?? place;
  document.title = `${title} · hebbgraph`;
  put(view, h("p", h("a", { href: href("/documents") }, "All documents")),
    h("div.head", h("h1", title), session.may.write && h("div.row",
      button("Replace", (event) => choose(event, place)),
      button("Delete", () => erase(place, title, passages), { class: "danger" }))),
    h("p.soft", place, ` · ${some(passages.length, "passage")}`),
    h("ol.cards", { "aria-label": "Passages" }, passages.map((each) => h("li.card", {
      tabindex: "-1", class: each.id === wanted ? "card judged" : "card",
    }, h("h2", each.title),
    h("div.text.whole", drawn(each.text, []))))));
  const target = view.querySelector(".judged");
  target?.scrollIntoView({ block: "center" });
  target?.focus({ preventScroll: true });
}

async function erase(place, title, passages) {
  const size = some(passages.length, "passage");
  await attempt(async () => {
    const { lessons } = await get("lessons", { limit: 1000 });
    const touched = lessons.filter(({ cited, rejected }) =>
      [...cited, ...rejected].some((each) => each.place === place)).length;
    const body = [
      h("p", `${size} of `, h("b", place), " will be deleted, and overwritten on the disk."),
      touched > 0 && h("p", `${some(touched, "lesson")} will rest until the same texts are back.`),
    ];
    if (!await confirmed(`Delete “${title}”?`, body, `Delete ${size}`)) return;
    const { deleted } = await remove("documents", { place });
    go(href("/documents"));
    tell(`${some(deleted, "passage")} deleted`);
  });
}

/** Read the folder again, and say what that did. */
async function reread(report, done, deletesMissing = false) {
  put(report, h("p.soft", `Reading ${session.folder} …`));
  await attempt(async () => {
    const found = await post("documents/folder", undefined, { delete_missing: deletesMissing });
    put(report, reported(found, !deletesMissing && (() => reread(report, done, true))));
    done();
  }, (problem) => put(report, refused(problem)));
}

/** What was read, what failed and why, and whose files are gone. */
function reported(found, deleteMissing) {
  const gone = some(found.missing.length, "document");
  const reasons = (title, all) => all.length > 0 && h("details", { open: title === "Failed" },
    h("summary", `${title}: ${some(all.length, "file")}`),
    h("ul", all.map(([place, why]) => h("li", h("b", place), `: ${why}`))));
  return h("section.review", { "aria-label": "The folder", role: "status" },
    h("p", `${some(found.documents.length, "document")} read, `
      + `${count(found.unchanged_documents)} as before, `
      + `${some(found.deleted, "passage")} deleted.`),
    reasons("Failed", Object.entries(found.failed)),
    reasons("Skipped", Object.entries(found.skipped)),
    deleteMissing && found.missing.length > 0 && [
      h("p", `The files of ${gone} are gone from the folder:`),
      h("ul", found.missing.map((place) => h("li", place))),
      button(`Delete ${gone}`, async () => {
        const body = h("p", "Their passages will be deleted, and overwritten on the disk.");
        if (await confirmed(`Delete ${gone}?`, body, "Delete")) deleteMissing();
      }, { class: "danger" }),
    ]);
}
