// Elements from values. Text is only ever set as text, so markup in data stays text.

/** Make an element: h("button.quiet", { type: "button", onclick }, "Undo"). */
export function h(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  return fill(element, rest);
}

const SVG = "http://www.w3.org/2000/svg";

/** Make an SVG element. */
export function svg(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElementNS(SVG, tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  return fill(element, rest);
}

function fill(element, rest) {
  for (const child of rest.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) element.append(child);
    else if (typeof child === "object") set(element, child);
    else element.append(String(child));
  }
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
}

/** Replace what an element holds. */
export function put(element, ...children) {
  element.replaceChildren();
  fill(element, children);
  return element;
}

/** Text by somebody else: in its own direction. */
export const said = (name, text) => h(name, { dir: "auto" }, text);

const NUMBER = new Intl.NumberFormat("en");
export const count = (value) => NUMBER.format(value);
export const some = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;
export const score = (value) => value.toFixed(3);
export const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);
export const moment = (seconds) => new Date(seconds * 1000).toLocaleString("en-GB", {
  dateStyle: "medium", timeStyle: "short",
});

let last = 0;
/** An id that nothing else on the page has. */
export const fresh = (name) => `${name}-${++last}`;

/** A label and its field. */
export function field(label, input, hint) {
  input.id ||= fresh("field");
  const about = hint ? h("small", { id: fresh("hint") }, hint) : null;
  if (about) input.setAttribute("aria-describedby", about.id);
  return h("div.field", h("label", { for: input.id }, label), input, about);
}

/** What to show where there is nothing yet. */
export function empty(title, ...body) {
  return h("section.empty", h("h2", title), body);
}

/** A node of a path as a link: tags lead to the map, chunks open. */
export function tagLink(tag) {
  return h("a.tag", { href: `#/map?tag=${encodeURIComponent(tag)}`, dir: "auto" }, tag);
}

/** Wait until nothing was called for a while. */
export function settled(milliseconds, work) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
}

/** Read colours of the style sheet. */
export function colours(...names) {
  const style = getComputedStyle(document.documentElement);
  return names.map((name) => style.getPropertyValue(`--${name}`).trim());
}

export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
