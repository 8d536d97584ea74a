// What the page knows: the snapshot of the host, kept current by its events. Views listen to topics
// and draw at most once a frame.

import { follow, get } from "./api.js";
import { plural, safeText } from "./dom.js";

const MOST_LOG = 20000;
const MOST_SPANS = 5000;

export const store = {
  console: null,
  startedMs: 0,
  seq: 0,
  servers: new Map(),
  requests: new Map(),
  spans: [],
  questions: new Map(),
  log: [],
  logDropped: 0,
  missed: 0,
  gaps: 0,
  subscriptions: [],
  calls: [],
  // What was announced of lists since they were fetched: {server, kind, isStart}; none means all.
  outdated: [],
  connection: "starting",
  trouble: "",
};

const listeners = new Map();
const dirty = new Set();
let scheduled = false;

// Calls `draw` after changes of these topics: servers, requests, questions, log, connection, lists.
export function listen(topics, draw) {
  for (const topic of topics) {
    if (!listeners.has(topic)) listeners.set(topic, new Set());
    listeners.get(topic).add(draw);
  }
  return () => { for (const topic of topics) listeners.get(topic).delete(draw); };
}

export function changed(topic) {
  dirty.add(topic);
  if (scheduled) return;
  scheduled = true;
  const draw = () => {
    if (!scheduled) return;
    scheduled = false;
    const draws = new Set([...dirty].flatMap((name) => [...(listeners.get(name) ?? [])]));
    dirty.clear();
    for (const one of draws) one();
  };
  // A hidden tab has no frames, and still has to know.
  if (document.hidden) setTimeout(draw, 100);
  else { requestAnimationFrame(draw); setTimeout(draw, 250); }
}

// Events that came while a snapshot is fetched, and the number of the last event that it has seen.
let reading = null, again = false, asOf = 0;
let stream = null;

// Takes the snapshot and follows the events after it.
export async function begin() {
  await takeSnapshot();
  store.seq = asOf;
  stream = follow(() => `/events?host=${store.startedMs}`, {
    lastId: () => store.seq,
    onevent,
    onstate(state, why) {
      store.connection = state;
      store.trouble = why;
      changed("connection");
    },
  });
  document.addEventListener("visibilitychange", sharePlaces);
  if (document.hidden) sharePlaces();
}

const HIDDEN_MS = 2000;
let giveBack = () => {};

// Browsers keep six connections to one address, and a stream takes one for good. So tabs that are
// not seen give theirs back, all but one of them, which goes on to count questions in its title.
function sharePlaces() {
  giveBack();
  if (!document.hidden) { stream.pause(false); return; }
  const waiting = new AbortController();
  const timer = setTimeout(() => stream.pause(true), HIDDEN_MS);
  giveBack = () => { clearTimeout(timer); waiting.abort(); };
  const hold = () => new Promise((done) => {
    clearTimeout(timer);
    stream.pause(false);
    giveBack = done;
  });
  navigator.locks?.request("attache-hidden", { signal: waiting.signal }, hold).catch(() => {});
}

export const retryNow = () => stream?.retryNow();
// For tests of the way back: cuts the stream as a network would.
export const cutStream = () => stream?.cut();

function onevent(name, data) {
  if (name === "reset") beginAnew(data);
  else if (reading) reading.push(data);
  else apply(data);
}

// The events up to this one are not to be had any more, or are of another host.
function beginAnew({ seq, started_ms }) {
  if (started_ms === store.startedMs) lost({ at_ms: Date.now() }, seq - store.seq);
  store.seq = seq;
  outdated();
  // Without a snapshot nothing that is shown can be trusted: the next connection begins anew too.
  takeSnapshot().catch(() => { store.startedMs = 0; cutStream(); });
}

async function takeSnapshot() {
  if (reading) { again = true; return; }
  reading = [];
  try {
    do { again = false; useSnapshot(await get("/snapshot")); } while (again);
  } finally {
    const waiting = reading;
    reading = null;
    waiting.forEach(apply);
  }
}

function useSnapshot(snapshot) {
  if (store.startedMs !== snapshot.started_ms) {
    store.startedMs = snapshot.started_ms;
    store.spans = [];
  }
  asOf = snapshot.seq;
  store.console = snapshot.console;
  store.servers = new Map(snapshot.servers.map((server) => [server.name, server]));
  store.requests = new Map(snapshot.requests.map((request) => [request.request, { ...request }]));
  store.questions = new Map(snapshot.questions.map((question) => [question.id, question]));
  store.subscriptions = snapshot.subscriptions ?? [];
  store.calls = snapshot.calls ?? [];
  const known = new Map(store.spans.map((span) => [span.request, span]));
  for (const ended of snapshot.recent ?? []) if (!known.get(ended.request)?.ending) known.set(ended.request, { ...ended, ending: ended.ending ?? "ended" });
  for (const open of snapshot.requests) if (!known.has(open.request)) known.set(open.request, store.requests.get(open.request));
  store.spans = [...known.values()].sort((a, b) => a.since_ms - b.since_ms);
  for (const topic of ["servers", "requests", "questions", "snapshotcalls"]) changed(topic);
}

// What a snapshot tells as well; lines of logs and updates come as events only.
const IN_SNAPSHOT = ["added", "removed", "state", "sent", "progress", "ended", "asked", "answered", "withdrawn"];

function outdated(server, kind, isStart = false) {
  store.outdated.push({ server, kind, isStart });
  changed("lists");
}

function apply(event) {
  if (event.seq <= store.seq) return;
  store.seq = event.seq;
  if (event.seq > asOf || !IN_SNAPSHOT.includes(event.event)) APPLY[event.event]?.(event, event.server);
}

const APPLY = {
  added(event, name) {
    store.servers.set(name, { name, state: event.state, target: event.target, since_ms: event.at_ms, starts: 0 });
    changed("servers");
    outdated();
  },
  removed(event, name) { store.servers.delete(name); changed("servers"); outdated(); },
  state(event, name) {
    const server = store.servers.get(name) ?? { name };
    const before = server.state;
    Object.assign(server, { state: event.state, since_ms: event.at_ms, starts: event.starts ?? server.starts, process_id: undefined, era: undefined, revision: undefined, ...event.connection });
    if (event.cause) server.last_failure = { cause: event.cause, stderr: event.stderr ?? [] };
    store.servers.set(name, server);
    if (before !== event.state) line(event, event.state === "parked" || event.state === "backing_off" ? "error" : "state", `${event.state.replace("_", " ")}${event.cause ? `: ${event.cause}` : ""}`);
    changed("servers");
    if (event.state === "ready" || event.state === "disabled") outdated(name, null, true);
  },
  sent(event, name) {
    const sent = { request: event.request, server: name, method: event.method, about: event.about, origin: event.origin, since_ms: event.at_ms };
    // A request that is sent again, as in a conversation of several rounds, stays one span.
    const again = store.spans.findLast((span) => span.request === event.request);
    const span = again ? Object.assign(again, { ending: undefined, rounds: (again.rounds ?? 1) + 1 }) : sent;
    store.requests.set(event.request, span);
    if (!again) store.spans.push(span);
    if (store.spans.length > MOST_SPANS * 1.2) store.spans = store.spans.slice(-MOST_SPANS);
    changed("requests");
  },
  progress(event) {
    const span = store.requests.get(event.request);
    if (span) Object.assign(span, { progress: event.progress, total: event.total, message: event.message });
    changed("progress");
  },
  ended(event) {
    const span = store.requests.get(event.request);
    if (span) Object.assign(span, { ending: event.ending ?? "ended", after_ms: event.after_ms });
    store.requests.delete(event.request);
    changed("requests");
    if (span?.method === "tools/call") changed("calls");
  },
  asked(event) { store.questions.set(event.question.id, event.question); changed("questions"); },
  answered(event) { store.questions.delete(event.question); changed("questions"); },
  withdrawn(event) { store.questions.delete(event.question); changed("questions"); },
  log(event) { line(event, event.level, typeof event.data === "string" ? event.data : JSON.stringify(event.data), event.logger); },
  stderr(event) { line(event, "stderr", event.line); },
  list_changed(event, name) { outdated(name, event.list); },
  resource_updated(event, name) {
    for (const one of store.subscriptions) if (one.server === name && one.uri === event.uri) one.updates = (one.updates ?? 0) + 1;
    for (const hear of updateListeners) hear(name, event.uri);
    changed("subscriptions");
  },
  defect(event) { line(event, "warning", `defect: ${event.problem}`); },
  not_stored(event) { line(event, "warning", `not stored: ${event.problem}`); },
  notification(event) { line(event, "debug", event.method); },
  missed(event, name) {
    lost(event, event.count);
    // What a server said too fast may have been that a list changed.
    if (name) outdated(name);
  },
  gap(event) { line(event, "gap", "The connection was cut here; what the server said meanwhile is lost."); outdated(event.server); },
};

const updateListeners = new Set();
export function onResourceUpdated(hear) {
  updateListeners.add(hear);
  return () => updateListeners.delete(hear);
}

// Everything that cannot be shown is told by its number, where it would stand.
function lost(event, many) {
  if (many <= 0) return;
  store.missed += many;
  store.gaps++;
  line(event, "gap", `${plural(many, "message")} came faster than they could be shown.`);
}

function line(event, level, text, logger) {
  store.log.push({ at: event.at_ms, server: event.server ?? "", level, text: safeText(logger ? `${logger}: ${text}` : text) });
  if (store.log.length > MOST_LOG * 1.1) {
    const gone = store.log.length - MOST_LOG;
    store.log.splice(0, gone);
    store.logDropped += gone;
  }
  changed("log");
}
