// Addresses of views: /?q=…, /learned, /documents?find=…; they keep the namespace.

export const parameters = () => new URLSearchParams(location.search);

/** The address of a view; what is empty is left out. */
export function href(path, given = {}) {
  const query = new URLSearchParams();
  const namespace = parameters().get("namespace");
  for (const [name, value] of Object.entries({ ...given, namespace: given.namespace ?? namespace })) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  return query.size ? `${path}?${query}` : path;
}

/** This view with some parameters changed. */
export const changed = (given) =>
  href(location.pathname, { ...Object.fromEntries(parameters()), ...given });

/** Go to an address of this page; `replace` leaves no trace in the history. */
export function go(address, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event("moved"));
}

