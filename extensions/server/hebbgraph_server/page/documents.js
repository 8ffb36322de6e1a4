// Documents: found, shown, replaced, deleted; the folder read again.
import { changed, go, href } from "./address.js";
import { get, post, remove, session } from "./api.js";
import { named } from "./card.js";
import { attempt, button, confirmed, count, h, put, refuse, some, tell } from "./dom.js";
import { excerpt } from "./text.js";
import { choose, review } from "./upload.js";

const MOST = 300;
const ERASED = "What is deleted is overwritten on the disk; lessons on it rest.";

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
    timer = setTimeout(() => go(changed({ find: input.value }), true), 200);
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
    total > MOST && `, of which ${count(MOST)} are shown`);
  }

  await find();
  return (now) => {
    if (now.has("place")) return false;
    input.value = now.get("find") ?? "";
    attempt(find, refuse(said));
    return true;
  };
}

const row = (document) => h("li", h("div.head", h("h2", named(document)),
  h("span.soft", some(document.passages, "passage"))));

async function showDocument(view, place, wanted) {
  const { passages } = await get("documents/passages", { place });
  const title = passages[0].headings[0] || passages[0].title || place;
  document.title = `${title} · hebbgraph`;
  put(view, h("div.head", h("h1", title), session.may.write && h("div.row",
      button("Replace", (event) => choose(event, place)),
      button("Delete", () => erase(place, title, passages), { class: "danger" }))),
    h("p.soft", place, ` · ${some(passages.length, "passage")}`),
    h("ol.cards", { "aria-label": "Passages" }, passages.map((each) => h("li", {
      tabindex: "-1", class: each.id === wanted ? "card judged" : "card",
    }, h("h2", each.title),
    h("div.text.whole", excerpt(each).whole)))));
  const target = view.querySelector(".judged");
  target?.scrollIntoView({ block: "center" });
  target?.focus({ preventScroll: true });
}

async function erase(place, title, passages) {
  const label = `Delete ${some(passages.length, "passage")}`;
  if (!await confirmed(`Delete “${title}”?`, ERASED, label)) return;
  await attempt(async () => {
    const { deleted } = await remove("documents", { place });
    go(href("/documents"));
    tell(`${some(deleted, "passage")} deleted`);
  });
}

/** Preview the folder, read it, or also delete what is gone from it. */
async function reread(report, done, wanted = { preview: true }) {
  put(report, h("p.soft", `Reading ${session.folder} …`));
  await attempt(async () => {
    const found = await post("documents/folder", undefined, wanted);
    put(report, reported(found, wanted, (next) => reread(report, done, next)));
    dispatchEvent(new Event("stored"));
    done();
  }, refuse(report));
}

/** What is or will be read, what failed and why, and whose files are gone. */
function reported(found, { preview, delete_missing: isDeleted }, then) {
  const { changed_documents: changed, deleted, documents, failed, missing, skipped } = found;
  const gone = some(missing.length, "document");
  const isOpen = preview && documents.length > 0;
  const places = (title, all, why) => all.length > 0 && h("details", { open: title === "Failed" },
    h("summary", `${title}: ${some(all.length, "file")}`),
    h("ul", all.map((place) => h("li", place, why && `: ${why[place]}`))));
  return h("section.review", { "aria-label": "The folder", role: "status" },
    isOpen && h("h2", "Nothing is changed yet"),
    h("p", `${count(documents.length - changed)} new, ${count(changed)} changed, `
      + `${count(found.unchanged_documents)} as before, ${count(missing.length)} gone`,
    !preview && `; ${some(deleted, "passage")} deleted`),
    places("Failed", Object.keys(failed), failed),
    places("Skipped", Object.keys(skipped), skipped),
    places(isOpen ? "To read" : "Read", documents),
    places("Gone", missing),
    h("div.row", isOpen
      ? button(`Read ${some(documents.length, "file")}`, () => then({}), { class: "primary" })
      : !isDeleted && missing.length > 0 && button(`Delete ${gone}`, async () => {
        if (await confirmed(`Delete ${gone}?`, ERASED, "Delete")) then({ delete_missing: true });
      }, { class: "danger" })));
}
