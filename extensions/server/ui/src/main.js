// The shell: navigation, theme, namespace, token, and the view that the address names.
import { chooseNamespace, connect, get, healthy, learnRole, namespace, roleKnown } from "./api.js";
import { showAsk } from "./ask.js";
import { h, put } from "./dom.js";
import { showLearning } from "./learning.js";
import { showMap } from "./map.js";
import { showOperations } from "./operations.js";
import { showReplay } from "./replay.js";
import { showTags } from "./tags.js";

// The last three depend on the role.
const VIEWS = [
  ["ask", "Ask", "What is found, and why", showAsk],
  ["replay", "Replay", "How activation spread", showReplay],
  ["map", "Map", "The neighbours of a tag", showMap],
  ["learning", "Learning", "What citations have taught", showLearning, true],
  ["tags", "Tags", "The names in passages, and corrections", showTags, true],
  ["operations", "Documents", "Content, size and health of the index", showOperations, true],
];

const main = h("main", { id: "main", tabindex: "-1" });
const links = VIEWS.map(([name, title]) => h("a", { href: `#/${name}` }, h("span", title)));
const offline = h("p.offline", { role: "status", hidden: true });

const THEMES = { system: "System theme", light: "Light theme", dark: "Dark theme" };
function theme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("hebbgraph-theme", name);
  dispatchEvent(new Event("themechange"));
}
const themes = h("select", { "aria-label": "Colours", onchange: (event) => theme(event.target.value) },
  Object.entries(THEMES).map(([name, label]) => h("option", { value: name }, label)));
themes.value = localStorage.getItem("hebbgraph-theme") || "system";
document.documentElement.dataset.theme = themes.value;

const namespaces = h("select", {
  "aria-label": "Namespace",
  onchange: (event) => {
    chooseNamespace(event.target.value);
    start();
  },
});

document.body.append(
  h("a.skip", { href: "#main", onclick: (event) => { event.preventDefault(); main.focus(); } },
    "Skip to content"),
  h("header.rail",
    h("a.mark", { href: "#/ask", "aria-label": "hebbgraph" },
      h("img", { src: "icon.svg", alt: "", width: 28, height: 28 }), h("b", "hebbgraph")),
    h("nav", { "aria-label": "Views" }, links),
    h("div.settings", namespaces, themes)),
  offline,
  main,
);

connect({
  token: (why) => new Promise((resolve) => {
    const input = h("input", { type: "password", autocomplete: "off", required: true, id: "token" });
    let given = null;
    const dialog = h("dialog", { "aria-labelledby": "token-title" },
      h("form", {
        method: "dialog",
        onsubmit: () => { given = input.value.trim(); },
      },
      h("h2", { id: "token-title" }, "This server needs a token"),
      h("p", why || "Ask the person who runs it."),
      h("div.field", h("label", { for: "token" }, "Token"), input),
      h("div.row", h("button.primary", "Continue"),
        h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
    dialog.addEventListener("close", () => { dialog.remove(); resolve(given); });
    document.body.append(dialog);
    dialog.showModal();
  }),
  offline: watch,
});

let watching = false;
async function watch() {
  if (watching) return;
  watching = true;
  put(offline, "The server does not answer. Waiting for it …").hidden = false;
  while (!(await healthy())) await new Promise((resolve) => setTimeout(resolve, 1500));
  put(offline, "The server is back.");
  setTimeout(() => { offline.hidden = true; }, 3000);
  watching = false;
  listNamespaces();
}

async function listNamespaces() {
  const { namespaces: names } = await get("namespaces").catch(() => ({ namespaces: [] }));
  const here = namespace();
  if (!names.includes(here)) names.unshift(here);
  put(namespaces, names.map((name) => h("option", { value: name }, name)));
  namespaces.value = here;
  namespaces.hidden = names.length < 2;
}

/** Show the view that the address names; `data-shown` names the one that is complete. */
async function show() {
  const [path, query] = location.hash.replace(/^#\//, "").split("?");
  const at = Math.max(VIEWS.findIndex(([name]) => name === path), 0);
  const [name, title, about, view, byRole] = VIEWS[at];
  links.forEach((link, number) => {
    if (number === at) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  document.title = `${title} · hebbgraph`;
  const body = h("div", { class: `view view-${name}` });
  delete main.dataset.shown;
  put(main, h("div.head", h("h1", title), h("p", about)), body);
  if (byRole) await roleKnown();
  if (!body.isConnected) return; // another view was asked for meanwhile
  await view(body, new URLSearchParams(query || ""));
  if (body.isConnected) main.dataset.shown = location.hash;
}

addEventListener("hashchange", () => {
  show();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
addEventListener("keydown", (event) => {
  const field = main.querySelector("input[type=search]");
  if (event.key !== "/" || !field || event.ctrlKey || event.metaKey || event.altKey
    || event.target.matches("input, textarea, select, dialog *")) return;
  event.preventDefault();
  field.select();
});
function start() {
  learnRole();
  show();
}
listNamespaces();
start();
