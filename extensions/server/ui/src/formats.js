// The addresses of a table: what the page shows, as JSON and as CSV.
import { file, hasToken, namespace } from "./api.js";
import { h } from "./dom.js";

/** Links to a table of the server, with the arguments that are not empty. */
export function formats(name, filters = {}) {
  const parameters = Object.entries(filters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return h("p.formats", ["JSON", "CSV"].map((form) => {
    const path = `tables/${name}.${form.toLowerCase()}?${new URLSearchParams(parameters)}`;
    return [h("a", {
      href: `/v1/${path}&${new URLSearchParams({ namespace: namespace() })}`,
      download: `${name}.${form.toLowerCase()}`,
      "aria-label": `${name} as ${form}`,
      onclick: (event) => { // a link carries no token
        if (!hasToken() || event.target.href.startsWith("blob:")) return;
        event.preventDefault();
        fetched(event.target, path);
      },
    }, form), " "];
  }));
}

async function fetched(link, path) {
  const address = link.href;
  link.href = URL.createObjectURL(await file(path));
  link.click();
  URL.revokeObjectURL(link.href);
  link.href = address;
}
