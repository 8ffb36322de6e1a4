// Documents: found by title and place, shown, replaced, deleted; the folder read again.
import { changed, go, href } from "./address.js";
import { get, post, remove, session } from "./api.js";
import { attempt, button, confirmed, count, h, put, refused, some, tell } from "./dom.js";
import { drawn } from "./text.js";
import { choose, review } from "./upload.js";

const PAGE = 100;

export async function showDocuments(view, given) {
  const place = given.get("place");
  if (place) return showDocument(view, place, given.get("passage"));
  const mayWrite = session.may.write;
  const input = h("input", { type: "search", "aria-label": "Find documents",
    placeholder: "Find by title or place", value: given.get("find") ?? "" });
  const list = h("ul.rows", { "aria-label": "Documents" });
  const [said, more, report] = [h("p.soft", { role: "status" }), h("div.row"), h("div")];
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => go(changed({ find: input.value.trim() }), true), 200);
  });
  put(view, h("h1", "Documents"), mayWrite && review(() => find()),
    h("div.row", input, mayWrite && button("Add files", choose, { class: "primary" }),
      mayWrite && session.folder && button("Read the folder again", () => reread(report, find))),
    report, said, list, more);

  async function find(offset = 0) {
    const words = input.value.trim();
    const { documents, total } = await get("documents", { find: words, offset, limit: PAGE });
    if (words !== input.value.trim()) return; // somebody typed on
    list.replaceChildren(...(offset ? list.children : []), ...documents.map(row));
    put(said, total ? some(total, "document") : words ? "No title and no place holds this."
      : "No document yet.", !total && !words && mayWrite && " Drop files anywhere, or add them here.");
    const left = total - list.children.length;
    put(more, left > 0 && button(`Show ${count(Math.min(left, PAGE))} more`,
      () => find(list.children.length)));
  }

  await find();
  return (now) => {
    if (now.has("place")) return false;
    attempt(find, (problem) => put(said, refused(problem)));
    return true;
  };
}

function row({ place, title, passages }) {
  return h("li", h("div.head",
    h("h2", { dir: "auto" }, h("a", { href: href("/documents", { place }) }, title),
      h("small", { dir: "auto" }, place)),
    h("span.soft", some(passages, "passage"))));
}

async function showDocument(view, place, wanted) {
  const { passages } = await get("documents/passages", { place });
  const title = passages[0].headings[0] ?? passages[0].title ?? place;
  document.title = `${title} · hebbgraph`;
  put(view, h("p", h("a", { href: href("/documents") }, "All documents")),
    h("div.head", h("h1", { dir: "auto" }, title), session.may.write && h("div.row",
      button("Replace", (event) => choose(event, place)),
      button("Delete", () => erase(place, title, passages), { class: "danger" }))),
    h("p.soft", { dir: "auto" }, place, ` · ${some(passages.length, "passage")}`),
    h("ol.cards", { "aria-label": "Passages" }, passages.map((each) => h("li.card", {
      tabindex: "-1", class: each.id === wanted ? "card judged" : "card",
    }, h("h2", { dir: "auto" }, each.title),
    h("div.text.whole", { dir: "auto" }, drawn(each.text, []))))));
  const target = view.querySelector(".judged");
  target?.scrollIntoView({ block: "center" });
  target?.focus({ preventScroll: true });
}

/** Say what deleting would take, then delete. */
async function erase(place, title, passages) {
  const size = some(passages.length, "passage");
  await attempt(async () => {
    const { lessons } = await get("lessons", { limit: 1000 });
    const touched = lessons.filter(({ cited, rejected }) =>
      [...cited, ...rejected].some((each) => each.place === place)).length;
    const body = [h("p", `${size} of `, h("b", place), " will be deleted, and overwritten on the disk."),
      touched > 0 && h("p", `What ${some(touched, "lesson")} said of them will move nothing until the `
        + "same texts are here again.")];
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

/** What was read, what failed and why, and whose files are gone; these go if people say so. */
function reported(found, deleteMissing) {
  const gone = some(found.missing.length, "document");
  const reasons = (title, of, open) => Object.keys(of).length > 0 && h("details", { open },
    h("summary", `${title}: ${some(Object.keys(of).length, "file")}`),
    h("ul", Object.entries(of).map(([place, why]) => h("li", h("b", place), `: ${why}`))));
  return h("section.review", { "aria-label": "The folder", role: "status" },
    h("p", `${some(found.documents.length, "document")} read, ${count(found.unchanged_documents)} as `
      + `before, ${some(found.deleted, "passage")} deleted.`),
    reasons("Failed", found.failed, true), reasons("Skipped", found.skipped, false),
    deleteMissing && found.missing.length > 0 && [
      h("p", `The files of ${gone} are gone from the folder:`),
      h("ul", found.missing.map((place) => h("li", place))),
      button(`Delete ${gone}`, async () => {
        const body = h("p", "Their passages will be deleted, and overwritten on the disk.");
        if (await confirmed(`Delete ${gone}?`, body, "Delete")) deleteMissing();
      }, { class: "danger" }),
    ]);
}
