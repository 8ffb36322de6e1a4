// Requests to the server. Errors are its own messages, which people can read.
import { href } from "./address.js";

const TOKEN = "hebbgraph-token";

const failed = (message, status = 0) => Object.assign(new Error(message), { status });

export let session = null;

// `--open` brings the token behind the address, which is never sent and leaves it at once.
const brought = new URLSearchParams(location.hash.slice(1)).get("token");
if (brought) {
  sessionStorage.setItem(TOKEN, brought);
  history.replaceState(null, "", location.pathname + location.search);
}

export function useToken(token) {
  if (token) sessionStorage.setItem(TOKEN, token);
  else sessionStorage.removeItem(TOKEN);
}

async function sent(method, path, query = {}, body = undefined) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(href(`/v1/${path}`, query), { method, headers, body });
  } catch {
    throw failed("The server does not answer; try again.");
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const message = answer.message ?? `The server answered with status ${response.status}.`;
  // A sentence, unless it begins with a name.
  const said = message.replace(/^[a-z]+ /, (word) => word[0].toUpperCase() + word.slice(1));
  const problem = failed(said, response.status);
  if (response.status === 401) dispatchEvent(new CustomEvent("signin", { detail: problem }));
  throw problem;
}

export const get = (path, query) => sent("GET", path, query);
export const post = (path, value, query) => send(path, JSON.stringify(value), "json", query);
export const send = (path, data, kind, query) =>
  sent("POST", path, query, data && new Blob([data], { type: `application/${kind}` }));
export const remove = (path, query) => sent("DELETE", path, query);

/** Ask who this is; a namespace that the token does not see falls back to one that it sees. */
export async function enter() {
  try {
    session = await get("session");
  } catch (problem) {
    if (problem.status !== 403 && problem.status !== 404) throw problem;
    session = await get("session", { namespace: null });
    history.replaceState(null, "", location.pathname);
  }
}
