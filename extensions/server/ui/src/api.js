// Requests to the server. Errors are its problems (RFC 9457), with their messages.

const TOKEN = "hebbgraph-token";
const NAMESPACE = "hebbgraph-namespace";

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

let askForToken = async () => null;
let tellOffline = () => {};
/** Set the functions that ask for a token and report that the server is offline. */
export function connect({ token, offline }) {
  let asking = null; // one dialog for many requests
  askForToken = (why) => {
    asking ||= token(why).finally(() => { asking = null; });
    return asking;
  };
  tellOffline = offline;
}

export const namespace = () => sessionStorage.getItem(NAMESPACE) || "default";
export function chooseNamespace(name) {
  sessionStorage.setItem(NAMESPACE, name);
}

async function sent(path, body, more) {
  const headers = { Accept: "application/json", ...more };
  const token = sessionStorage.getItem(TOKEN); // never in a URL, gone with the tab
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const url = `/v1/${path}${path.includes("?") ? "&" : "?"}namespace=${encodeURIComponent(namespace())}`;
  try {
    return await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
    });
  } catch {
    tellOffline();
    throw new Problem("The server does not answer. It may be stopped or restarting.", 0);
  }
}

async function answered(path, body, more = {}) {
  for (;;) {
    const used = sessionStorage.getItem(TOKEN);
    const response = await sent(path, body, more);
    if (response.ok) return response;
    const problem = await response.json().catch(() => ({}));
    if (response.status === 401) {
      const refused = sessionStorage.getItem(TOKEN);
      const token = refused === used ? await askForToken(problem.detail) : refused;
      if (token) {
        sessionStorage.setItem(TOKEN, token);
        continue;
      }
    }
    throw new Problem(problem.detail || problem.title || `status ${response.status}`, response.status);
  }
}

const ROLES = ["read", "teach", "write"];
let role = "write"; // until the server has answered
let answers = false;
let folder = false;
let learns = false;
let own = null;
let learning = null;
/** Learn what the token may do; the page offers nothing else. */
export function learnRole() {
  learning = get("access").then((access) => { ({ role, answers, folder, learns, actor: own } = access); })
    .catch(() => {}); // the view shows the error
}
/** Wait until that is known. */
export const roleKnown = () => learning;
export const may = (what) => ROLES.indexOf(role) >= ROLES.indexOf(what);

/** Whether a model answers questions here. */
export const modelAnswers = () => answers;

/** Whether opening and copying teach (--learn-from-use). */
export const learnsFromUse = () => learns;

/** Whether the token may vouch for the feedback of others. */
export const mayVouch = () => may("teach") && !own;

/** Whether the server has a folder to read again. */
export const hasFolder = () => folder;

export const hasToken = () => Boolean(sessionStorage.getItem(TOKEN));

/** GET a file. */
export const file = async (path) => (await answered(path)).blob();
/** GET a route. */
export const get = async (path) => (await answered(path)).json();
/** POST to a route. */
export const post = async (path, body) => (await answered(path, body)).json();

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** POST a long request as a task; `tell` is called with its progress. */
export async function work(path, body = {}, tell = () => {}) {
  const begun = await (await answered(path, body, { Prefer: "respond-async" })).json();
  for (let wait = 100; ; wait = Math.min(2 * wait, 2000)) {
    await pause(wait);
    const { tasks } = await get("tasks");
    const task = tasks.find((each) => each.id === begun.id);
    if (!task) throw new Problem("The server was restarted; begin again.", 0);
    if (task.status === "done") return task.answer;
    if (task.status === "failed") throw new Problem(task.problem?.detail ?? "The server stopped it.", task.problem?.status ?? 0);
    if (task.total) tell(task.done, task.total);
  }
}

/** POST a file; `tell` is called with the share that was sent. */
export async function upload(path, body, tell) {
  await get("access"); // asks for a token if needed; fetch reports no progress
  const request = new XMLHttpRequest();
  request.open("POST", `/v1/${path}?namespace=${encodeURIComponent(namespace())}`);
  request.setRequestHeader("Content-Type", "application/json");
  const token = sessionStorage.getItem(TOKEN);
  if (token) request.setRequestHeader("Authorization", `Bearer ${token}`);
  request.upload.onprogress = ({ loaded, total }) => tell(loaded / total);
  await new Promise((resolve) => {
    request.onloadend = resolve;
    request.send(JSON.stringify(body));
  });
  if (request.status === 0) {
    tellOffline();
    throw new Problem("The server does not answer. It may be stopped or restarting.", 0);
  }
  const answer = JSON.parse(request.responseText);
  if (request.status !== 200) throw new Problem(answer.detail || answer.title, request.status);
  return answer;
}

/** POST, and read the lines of the answer as they come. */
export async function* stream(path, body) {
  const response = await answered(path, body, { Accept: "application/x-ndjson" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += value || "";
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.trim()) yield JSON.parse(line);
    if (done) return;
  }
}

/** Whether the server is there. */
export async function healthy() {
  try {
    return (await fetch("/v1/health", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

/** Teach a lesson on a recall: by its id or, if it is not kept, with the whole recall. */
export async function reinforce(recall, lesson) {
  try {
    return await post("reinforce", { recall: recall.id, ...lesson });
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    return post("reinforce", { recall, ...lesson });
  }
}

/** Trace a recall: by its id or, if it is not kept, with the whole recall. */
export async function trace(recall, where) {
  const more = where ? { where } : {};
  try {
    return await post("trace", { recall: recall.id, ...more });
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    return post("trace", { recall, ...more });
  }
}
