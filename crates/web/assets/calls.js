// Calls: how one is begun, followed and cancelled, and how it is shown while it runs and after.

import { get, post, send } from "./api.js";
import { button, chip, complain, copy, duration, failure, h, safeText, say, timeOf, toast } from "./dom.js";
import { renderDocument } from "./document.js";
import { jsonText, prettyJson } from "./json.js";
import { go, href } from "./router.js";
import { changed, listen, store } from "./store.js";

const KEPT_WHOLE = 40;

export const calls = new Map();
const whole = new Map();
let isFetching = false;

export const ENDINGS = {
  result: ["done", "good"], tool_failed: ["tool failed", "bad"], server_error: ["server error", "bad"], timed_out: ["timed out", "bad"], cancelled: ["cancelled", ""],
  not_sent: ["not sent", "bad"], outcome_unknown: ["outcome unknown", "bad"], protocol_error: ["protocol error", "bad"], refused: ["refused", "bad"], question_refused: ["question refused", "bad"],
  unreachable: ["unreachable", "bad"], not_found: ["not found", "bad"], task: ["goes on as a task", ""], ended: ["ended", ""],
};
export const endingWord = (ending) => ENDINGS[ending]?.[0] ?? String(ending ?? "running").replace(/_/g, " ");
export const endingChip = (ending) => (ending ? chip(endingWord(ending), ENDINGS[ending]?.[1] ?? "") : chip("running", "live"));

export async function fetchCalls() {
  if (isFetching) { isFetching = "again"; return; }
  isFetching = true;
  try {
    for (const call of (await get("/calls")).calls) learn(call);
  } catch { /* The connection tells of itself. */ }
  const again = isFetching === "again";
  isFetching = false;
  changed("calllist");
  if (again) fetchCalls();
}

function learn(call) {
  const before = calls.get(call.call);
  calls.set(call.call, { ...before, ...call });
  if (before?.state === "running" && call.state === "ended") say(`${call.tool} on ${call.server}: ${endingWord(call.ending)}.`);
  return calls.get(call.call);
}

listen(["calls"], fetchCalls);
listen(["snapshotcalls"], () => {
  for (const call of store.calls) learn(call);
  changed("calllist");
});

// Begins a call; `argumentsJson` is text, so that numbers go as they were typed.
export async function runTool(server, tool, argumentsJson, { timeoutMs, asTask } = {}) {
  const head = JSON.stringify({ server_name: server, tool_name: tool, origin: "person", ...(timeoutMs ? { timeout_ms: timeoutMs } : {}), ...(asTask ? { as_task: true } : {}) });
  const { call } = await send("POST", "/use_mcp_tool", `${head.slice(0, -1)},"arguments":${argumentsJson ?? "{}"}}`);
  learn({ ...call, mine: true });
  // A question for it may have come before this answer.
  changed("questions");
  changed("calllist");
  watch(call.call);
  return call.call;
}

// The events tell when a request ends. A call that never becomes one, because it was refused or the
// server is down, is asked for until it has ended.
async function watch(id) {
  for (let pause = 120; calls.get(id)?.state === "running"; pause = Math.min(2000, pause * 1.6)) {
    await new Promise((done) => setTimeout(done, pause));
    if (store.requests.has(id)) continue;
    try { learn(await get(`/calls/${id}`)); changed("calllist"); } catch (error) { if (error.status === 404) return; }
  }
}

export async function cancelCall(id) {
  try {
    learn(await send("DELETE", `/calls/${id}`));
    changed("calllist");
  } catch (error) { complain(error); }
}

// A call with its arguments and result.
export async function wholeCall(id) {
  if (whole.has(id)) return whole.get(id);
  const call = await get(`/calls/${id}`);
  learn(call);
  if (call.state === "ended") {
    whole.set(id, call);
    if (whole.size > KEPT_WHOLE) whole.delete(whole.keys().next().value);
  }
  return call;
}

export const runningCalls = () => [...calls.values()].filter((call) => call.state === "running");

// One line for a running call, with its bar; it is made once and then kept current.
export function runningLine(call) {
  const bar = h("progress", { "aria-label": `Progress of ${call.tool}` });
  const message = h("span.message"), numbers = h("span.small.muted.numbers");
  const element = h("div.running", h("a", { href: href("calls", String(call.call)) }, h("span.muted", `#${call.call} `), call.tool, h("span.muted.small", ` ${call.server}`)), bar, message, numbers,
    button("Cancel", () => cancelCall(call.call), { class: "small", "data-key": `cancel:${call.call}` }));
  const update = () => {
    const span = store.requests.get(call.call) ?? calls.get(call.call)?.progress ?? {};
    const since = Date.now() - call.since_ms;
    if (span.total) { bar.max = span.total; bar.value = Math.min(span.progress, span.total); } else bar.removeAttribute("value");
    const percent = span.total ? `${Math.floor(100 * span.progress / span.total)} %` : span.progress ? String(span.progress) : "";
    const left = span.total && span.progress > 0 && span.progress < span.total && since > 2000 ? `about ${duration(since / span.progress * (span.total - span.progress))} left` : "";
    const waits = [...store.questions.values()].some((question) => question.request === call.call);
    bar.hidden = waits && !span.total;
    message.textContent = waits ? "waits for an answer in the inbox" : safeText(span.message ?? "");
    numbers.textContent = [percent, duration(since), left].filter(Boolean).join(" · ");
    if (percent && percent !== element.percent) say(`${call.tool}: ${percent}${span.message ? `, ${safeText(span.message)}` : ""}`);
    element.percent = percent;
  };
  element.update = update;
  update();
  return element;
}

// A call that has ended: how, and what came.
export function callResult(call, { again = true } = {}) {
  const open = (uri) => go("resources", call.server, uri);
  const copies = button("Copy the JSON", () => copy(call.result_json ?? "", "the result"), { class: "link small", hidden: !call.result_json });
  return h("article.result", { "aria-label": `Result of call ${call.call}` },
    h("header", endingChip(call.ending), h("a.small.muted", { href: href("calls", String(call.call)) }, `#${call.call}`), h("span.small.muted", duration(call.after_ms)), h("span.small.muted", timeOf(call.since_ms)), h("span.grow"), copies,
      again ? button("Use these arguments", () => go("tools", call.server, call.tool, `call-${call.call}`), { class: "link small" }) : null),
    call.error && !call.is_error ? failure(call.error) : null,
    call.dropped ? h("p.muted", "The result is no longer kept here; the call log may have it.") : null,
    call.document ? renderDocument(call.document, open) : null);
}

export function argumentsBlock(call) {
  return h("details", h("summary", "Arguments"), jsonText(prettyJson(call.arguments_json ?? "{}")));
}

export async function copyAs(form, server, tool, argumentsJson) {
  try {
    const head = JSON.stringify({ server_name: server, tool_name: tool });
    const answer = await post("/copy", `${head.slice(0, -1)},"arguments":${argumentsJson ?? "{}"}}`);
    const text = { command: answer.command, json_rpc: answer.json_rpc, curl: answer.curl }[form];
    if (text) await copy(text, { command: "the attache command", json_rpc: "the JSON-RPC request", curl: "the curl command" }[form]);
    else toast("There is no curl command: the server is not reached over HTTP.");
  } catch (error) { complain(error); }
}
