// Addresses of views: /?q=…, /learned, /documents?find=…

export const parameters = () => new URLSearchParams(location.search);

/** An address in this namespace; what is empty is left out. */
export function href(path, given = {}) {
  const all = { namespace: parameters().get("namespace"), ...given };
  const named = Object.entries(all).filter(([, value]) => (value ?? "") !== "");
  const query = new URLSearchParams(named);
  return query.size ? `${path}?${query}` : path;
}

/** This view with some parameters changed. */
export const changed = (given) =>
  href(location.pathname, { ...Object.fromEntries(parameters()), ...given });

export function go(address, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event("moved"));
}

