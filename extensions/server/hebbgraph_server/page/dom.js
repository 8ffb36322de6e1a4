// Elements from values; text is only ever set as text.

/** Make an element: h("button.quiet", { type: "button", onclick }, "Undo"). */
export function h(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  return fill(element, rest);
}

function fill(element, rest) {
  for (const child of rest.flat(Infinity)) {
    if (isNothing(child)) continue;
    if (typeof child === "object" && !(child instanceof Node)) set(element, child);
    else element.append(child);
  }
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (isNothing(value)) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
}

const isNothing = (value) => value === null || value === undefined || value === false;

export function put(element, ...children) {
  element.replaceChildren();
  return fill(element, children);
}

export const button = (label, onclick, more = {}) =>
  h("button", { type: "button", onclick, ...more }, label);

export const refused = (problem) => h("p.refused", { role: "alert" }, problem.message);
export const refuse = (view) => (problem) => put(view, refused(problem));

export async function attempt(work, fail = (problem) => tell(problem.message)) {
  try {
    await work();
  } catch (problem) {
    if (problem.status === undefined) throw problem; // a mistake of ours
    if (problem.status !== 401) fail(problem); // else the page asks for a token
  }
}

export const count = (value) => value.toLocaleString("en");
export const some = (value, one) => `${count(value)} ${one}${value === 1 ? "" : "s"}`;
export const joined = (items, separator = ", ") =>
  items.flatMap((item, at) => (at ? [separator, item] : [item]));

/** Tell a screen reader, and everybody for some seconds. */
export function tell(text) {
  const status = document.getElementById("status");
  put(status, text);
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => put(status), 5000);
}

/** Ask before something is lost; resolves to whether it shall be done. */
export function confirmed(title, body, label) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": title },
      h("h2", title),
      h("p", body),
      h("div.row",
        button("Cancel", () => dialog.close(), { autofocus: true }),
        button(label, () => dialog.close("yes"), { class: "danger" })));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Redraw a list, go to one of its items, and let it glide from where it was. */
export function glide(list, id, draw) {
  const find = () => [...list.children].find((item) => item.dataset.id === id);
  const place = () => find()?.getBoundingClientRect().top;
  const from = place();
  draw();
  const item = find();
  if (!item) return;
  item.scrollIntoView({ block: "center" });
  item.style.setProperty("--way", `${(from ?? place()) - place()}px`);
  item.classList.add("judged");
  item.focus({ preventScroll: true });
}
