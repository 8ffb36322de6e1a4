// The shell: who asks, the place in the address, keys, files dropped anywhere.
import { changed, go, href, parameters } from "./address.js";
import { enter, session, useToken } from "./api.js";
import { keys, showAsk } from "./ask.js";
import { showDocuments } from "./documents.js";
import { attempt, button, h, put, refuse, refused, some, tell } from "./dom.js";
import { showLearned } from "./learned.js";
import { offer } from "./upload.js";

const PLACES = { "/": ["Ask", showAsk], "/learned": ["Learned", showLearned],
  "/documents": ["Documents", showDocuments] };
const main = document.getElementById("main");
const links = [...document.querySelectorAll("header a")];
let shown = {}; // the view: its path, namespace, and how it changes itself

/** Show what the address names. */
async function show() {
  const here = { path: location.pathname, namespace: parameters().get("namespace") };
  if (shown.change && shown.path === here.path && shown.namespace === here.namespace
    && shown.change(parameters())) return;
  const [title, draw] = PLACES[here.path] ?? PLACES["/"];
  const view = h("div.view");
  shown = here;
  document.title = `${title} · hebbgraph`;
  put(main, view);
  for (const link of links) {
    const path = new URL(link.href).pathname;
    link.href = href(path);
    link.ariaCurrent = path === here.path && !link.matches(".brand") ? "page" : null;
  }
  await attempt(async () => {
    await enter();
    if (!view.isConnected) return;
    drawCorpus();
    here.change = await draw(view, parameters());
    if (!PLACES[here.path]) tell("There is nothing at this address");
  }, refuse(view));
}

function drawCorpus() {
  const names = session.namespaces;
  const choose = names.length > 1 && h("select", {
    "aria-label": "Namespace",
    onchange: (event) => go(href(location.pathname, { namespace: event.target.value })),
  }, names.map((name) => h("option", { selected: name === session.namespace }, name)));
  const leave = session.needs_token && button("Sign out", () => {
    useToken(null);
    shown = {};
    go(href("/"));
  }, { class: "link" });
  const size = `${some(session.documents, "document")} · ${some(session.passages, "passage")}`;
  put(document.getElementById("corpus"), choose, h("span", `${session.name} · ${size}`), leave);
}

/** In place of a view: ask for the token, and go on where it was needed. */
function signIn(problem) {
  const isWrong = sessionStorage.getItem("hebbgraph-token") !== null;
  const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  shown = {};
  put(document.getElementById("corpus"));
  put(main, h("form.view", {
    onsubmit: (event) => {
      event.preventDefault();
      useToken(input.value.trim());
      show();
    },
  }, h("h1", "Sign in"),
  isWrong ? refused(problem) : h("p.soft", problem.message),
  h("div.row", h("label", { for: "token" }, "Token"), input, h("button.primary", "Sign in"))));
  input.focus();
}

addEventListener("signin", (event) => signIn(event.detail));
addEventListener("stored", () => enter().then(drawCorpus));
addEventListener("popstate", show);
addEventListener("moved", () => {
  tell("");
  const before = shown.path;
  show();
  if (before === location.pathname) return;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/']");
  const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
  if (!link || !isPlain || !PLACES[link.pathname]) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog")) return;
  const isTyping = event.target.matches("input, select");
  if (event.key === "Escape" && parameters().has("tag")) go(changed({ tag: null }));
  else if (event.key === "/" && !isTyping) {
    event.preventDefault();
    main.querySelector("input[type=search]")?.select();
  } else keys(event, isTyping);
});

const drop = document.getElementById("drop");
const hasFiles = (event) => event.dataTransfer?.types.includes("Files") && session?.may.write;
addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  put(drop, h("p", `Drop files to add them to ${session.name}`)).hidden = false;
});
addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.hidden = true; });
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  drop.hidden = true;
  const isFolder = (item) => item.webkitGetAsEntry()?.isDirectory;
  if ([...event.dataTransfer.items].some(isFolder)) tell("Drop files, not folders");
  else offer([...event.dataTransfer.files]);
});

show();
