// The way to the console: the token, requests, and the stream of events.

const TOKEN = "attache-token";

// The link brings the token in its fragment, which no server sees. It moves to this tab's storage,
// and out of the address. A link that others could see brings a code instead, which is good for
// one token.
export async function takeToken() {
  const brought = /[#&](token|code)=([^&]+)/.exec(location.hash);
  if (brought) {
    sessionStorage.setItem(TOKEN, decodeURIComponent(brought[2]));
    const rest = location.hash.replace(brought[0], "").replace(/^[#&]?/, "");
    history.replaceState(null, "", `${location.pathname}#${rest || "/tools"}`);
    if (brought[1] === "code") sessionStorage.setItem(TOKEN, (await post("/token")).token);
  }
  return sessionStorage.getItem(TOKEN);
}

// The link that opens another window with the same token.
export const linkWithToken = () => `${location.origin}/#token=${encodeURIComponent(sessionStorage.getItem(TOKEN) ?? "")}`;

export class ApiError extends Error {
  constructor(status, error) {
    super(error.message ?? `The console answered with status ${status}.`);
    this.status = status;
    for (const key of ["kind", "origin", "code", "hint", "server", "call"]) this[key] = error[key] ?? undefined;
    this.dataJson = error.data_json;
  }
}

// JSON in which numbers that JavaScript would round stay as they were written, for what a person
// reads before deciding. Where the browser cannot, they are rounded.
export function parseExact(text) {
  return JSON.parse(text, (key, value, context) => {
    const source = context?.source;
    const isRounded = typeof value === "number" && source && JSON.rawJSON && (Number.isInteger(value) ? !Number.isSafeInteger(value) : source.replace(/[^\d]/g, "").length > 15);
    return isRounded ? JSON.rawJSON(source) : value;
  });
}

// What to do when the console refuses the token; set by the page.
let onRefused = () => {};
export const whenRefused = (act) => { onRefused = act; };

const EXACT = /^\/(snapshot|questions|tools\/)/;

function authorized(headers = {}) {
  return { Authorization: `Bearer ${sessionStorage.getItem(TOKEN) ?? ""}`, ...headers };
}

// Sends a request. `body` is JSON text, or a value to be made one: text keeps numbers exact.
export async function send(method, path, body, signal) {
  const init = { method, headers: authorized(), signal, cache: "no-store", credentials: "omit" };
  if (body !== undefined) {
    init.headers["Content-Type"] = "application/json";
    init.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(`/api/v1${path}`, init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { kind: "lost", origin: "console", message: "The console does not answer. Is attache web still running?" });
  }
  if (response.status === 204) return null;
  const text = await response.text();
  let answer = {};
  try { answer = EXACT.test(path) ? parseExact(text) : JSON.parse(text); } catch { /* An answer that is no JSON has no words for people. */ }
  if (response.ok) return answer;
  if (response.status === 401) onRefused();
  throw new ApiError(response.status, answer.error ?? {});
}

export const get = (path, signal) => send("GET", path, undefined, signal);
export const post = (path, body, signal) => send("POST", path, body ?? {}, signal);

// A path of the API: its parts may be any text.
export const apiPath = (...parts) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");

export const query = (params) => {
  const pairs = Object.entries(params).filter(([, value]) => value != null && value !== "");
  return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
};

const PATIENCE_MS = 40000;
const LONGEST_WAIT_MS = 8000;

// Reads an event stream for ever: `onevent(name, data)` for each event, `onstate("live" | "lost",
// why)` as it comes and goes. `path()` is asked anew for every connection.
export function follow(path, { onevent, onstate, lastId }) {
  let stopped = false, paused = false, failures = 0, controller = null, wake = () => {};
  const run = async () => {
    while (!stopped) {
      if (paused) { await new Promise((done) => { wake = done; }); continue; }
      controller = new AbortController();
      let patience = 0, why = "";
      try {
        const id = lastId?.();
        const headers = authorized(id === undefined ? {} : { "Last-Event-ID": String(id) });
        const restart = () => { clearTimeout(patience); patience = setTimeout(() => controller.abort(), PATIENCE_MS); };
        restart();
        const response = await fetch(`/api/v1${path()}`, { headers, signal: controller.signal, cache: "no-store", credentials: "omit" });
        if (response.status === 401) { onRefused(); return; }
        if (!response.ok) { why = (await response.json()).error.message; throw why; }
        failures = 0;
        onstate?.("live");
        await readStream(response.body, onevent, restart);
      } catch { /* Told below: a cut and an end are the same to the reader. */ }
      clearTimeout(patience);
      if (stopped || paused) continue;
      const pause = Math.min(LONGEST_WAIT_MS, 250 * 2 ** failures++);
      onstate?.("lost", why);
      await new Promise((done) => { wake = done; setTimeout(done, pause); });
    }
  };
  run();
  return {
    stop() { stopped = true; controller?.abort(); wake(); },
    retryNow() { failures = 0; wake(); },
    pause(yes) { if (paused !== yes) { paused = yes; failures = 0; if (yes) controller?.abort(); wake(); } },
    cut() { controller?.abort(); },
  };
}

async function readStream(body, onevent, onbytes) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onbytes();
    const pieces = (rest + value).split("\n\n");
    rest = pieces.pop();
    for (const piece of pieces) {
      let name = "message", data = "";
      for (const line of piece.split("\n")) {
        if (line.startsWith("data: ")) data += line.slice(6);
        else if (line.startsWith("event: ")) name = line.slice(7);
      }
      if (data) onevent(name, name === "asked" ? parseExact(data) : JSON.parse(data));
    }
  }
}
