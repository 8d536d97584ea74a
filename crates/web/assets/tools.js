// Tools: all of all servers, and the page of one: its form, its calls, its history.

import { apiPath, get, query } from "./api.js";
import { argumentsBlock, calls, callResult, copyAs, endingChip, runTool, runningLine, wholeCall } from "./calls.js";
import { listNotes, listOf, load } from "./catalog.js";
import { diffView } from "./diff.js";
import { button, bytes, chip, complain, duration, empty, failure, fill, h, isSubmit, plural, say, timeOf, toast } from "./dom.js";
import { FormView } from "./form.js";
import { jsonText } from "./json.js";
import { back, listView, noteLines, welcome } from "./pane.js";
import { go, href } from "./router.js";
import { listen, store } from "./store.js";

// Forms as they were left, by tool: going elsewhere and back loses nothing.
const forms = new Map();

export const claimChips = (claims) => claims.map((claim) => chip(claim, claim === "destructive" ? "warn" : "", "The server claims so; nobody has checked it."));

export function toolsView(place) {
  load("tools");
  return listView(place, {
    label: "Tool", topics: ["tools"], title: "Tools", tokens: ["server", "claim"], rowHeight: 56,
    items: () => listOf("tools").entries,
    row: (tool) => [h("div.row-main", h("span.name", tool.name), tool.claims.includes("read-only") ? h("span.claim", "read-only") : tool.claims.includes("destructive") ? h("span.claim.warn", "destructive") : null),
      h("div.row-more", h("span.server", tool.server), tool.title || tool.description ? ` · ${tool.title ?? tool.description}` : "")],
    open: (tool) => go("tools", tool.server, tool.name),
    isOpen: (tool, current) => tool.server === current.server && tool.name === current.name,
    haystack: (tool) => tool.hay,
    field: (tool, name) => (name === "server" ? tool.server : tool.claims.join(" ")),
    notes: () => noteLines(listNotes("tools"), listOf("tools"), () => load("tools", true)),
    nothing: () => nothingHere("tools"),
    page: toolPage,
    invite: () => welcome(listOf("tools").entries.length ? "Pick a tool to use it." : "Tools appear here as servers answer.",
      h("p.muted", h("kbd", "/"), " filters, ", h("kbd", "Ctrl K"), " goes anywhere, ", h("kbd", "?"), " tells all keys.")),
  });
}

// Why a list is empty, and what to do.
export function nothingHere(kind) {
  const list = listOf(kind);
  if (list.state !== "loaded") return empty(`Asking the servers for their ${kind}…`, h("div.spinner", { "aria-hidden": "true" }));
  if (!store.servers.size) return empty("No server is configured.", h("p", "Add one with ", h("code", "attache add NAME -- COMMAND"), ", then start the console again."));
  const { missing } = listNotes(kind);
  if (missing.length) return empty(`No ${kind} yet: ${missing.map((server) => `${server.name} is ${server.outcome === "starting" ? "still starting" : server.outcome}`).join(", ")}.`, missing.filter((server) => server.cause).map((server) => h("p.small", `${server.name}: ${server.cause}`)));
  const others = ["tools", "resources", "prompts"].filter((other) => other !== kind && listOf(other).entries.length);
  return empty(`No ${kind}: the servers offer ${others.length ? `${others.join(" and ")} only` : "none"}.`);
}

function toolPage(detail, server, name, from) {
  const key = JSON.stringify([server, name]);
  const page = { server, name, tool: null, view: "form", leave() { stop(); clearInterval(timer); } };
  const heading = h("div.tool-head"), formPlace = h("div"), running = h("section.runnings", { "aria-label": "Running calls of this tool" }), results = h("section.results", { "aria-label": "Result" }), past = h("section");
  const runButton = button("Run", () => run(false), { class: "primary", title: "Ctrl Enter", "data-key": "run" });
  const asIs = button("Send as is", () => run(true), { hidden: true, class: "warn", title: "Sends what is there although it does not fit the schema, to see what the server does" });
  const timeout = h("input", { type: "text", inputmode: "numeric", id: "timeout", placeholder: "default", size: "8" });
  const asTask = h("input", { type: "checkbox", id: "as-task" });
  const segments = h("div.segments", { role: "radiogroup", "aria-label": "How to edit the arguments" }, ["form", "json"].map((view) =>
    h("label", h("input", { type: "radio", name: "arguments-view", checked: view === "form", onchange: () => form()?.show(view) }), h("span", view === "form" ? "Form" : "JSON"))));
  const copies = h("details.menu", h("summary", "Copy as"), h("div.menu-items",
    [["attache command", "command"], ["JSON-RPC", "json_rpc"], ["curl", "curl"]].map(([label, kind]) => button(label, async () => { copies.open = false; await form()?.commit(); copyAs(kind, server, name, form()?.valueJson); }))));
  const form = () => forms.get(key);
  const body = h("div.tool-body", h("div.form-head", h("h2", "Arguments"), segments, h("span.grow"), copies), formPlace,
    h("div.run-row", runButton, asIs, h("details.options", h("summary.small.muted", "Options"), h("div.option-row", h("label", { for: "timeout" }, "Time-out in ms"), timeout, h("label.task", asTask, " as a task")))),
    running, results, past);
  fill(detail, back("tools"), heading, body);
  detail.scrollTop = 0;
  detail.onkeydown = (event) => { if (isSubmit(event)) { event.preventDefault(); run(false); } };

  const lines = new Map();
  let shown = null;
  const mine = () => [...calls.values()].filter((call) => call.server === server && call.tool === name);
  const draw = async () => {
    const open = mine().filter((call) => call.state === "running");
    for (const [id, line] of lines) if (!open.some((call) => call.call === id)) { line.remove(); lines.delete(id); }
    for (const call of open) if (!lines.has(call.call)) { const line = runningLine(call); lines.set(call.call, line); running.append(line); }
    const last = mine().filter((call) => call.state === "ended").at(-1);
    if (last && last.call !== shown && last.call >= page.firstCall) {
      shown = last.call;
      const call = { ...last, ...await wholeCall(last.call).catch((error) => ({ error })) };
      fill(results, h("h2", "Result"), callResult(call, { again: false }));
      if (call.mine) results.scrollIntoView({ block: "nearest" });
      say(`${name}: ${endingChip(call.ending).textContent}`);
      drawPast();
    }
  };
  const drawPast = () => pastCalls(past, page, form);
  const stop = listen(["calllist", "progress", "questions"], () => { draw(); for (const line of lines.values()) line.update(); });
  const timer = setInterval(() => { for (const line of lines.values()) line.update(); }, 250);

  const run = async (force) => {
    if (!form() || runButton.disabled) return;
    runButton.disabled = true;
    try {
      const fits = await form().ready();
      asIs.hidden = fits;
      if (!fits && !force) {
        formPlace.querySelector("[aria-invalid]")?.focus();
        return;
      }
      const ms = Number(timeout.value) || undefined;
      const id = await runTool(server, name, form().valueJson, { timeoutMs: ms, asTask: asTask.checked });
      page.firstCall = Math.min(page.firstCall, id);
      await draw();
      running.scrollIntoView({ block: "nearest" });
    } catch (error) {
      fill(results, h("h2", "Result"), failure(error));
    } finally { runButton.disabled = false; }
  };

  page.firstCall = Math.min(Infinity, ...mine().map((call) => call.call).slice(-1));
  get(apiPath("tools", server, name)).then((tool) => {
    page.tool = tool;
    fill(heading, toolHeading(tool));
  }, (error) => fill(heading, h("h1", name), failure(error)));
  begin();
  draw();
  drawPast();

  async function begin() {
    let valueJson = null;
    if (from) {
      const again = await argumentsOf(from);
      if (again) { forms.delete(key); valueJson = again; }
    }
    if (!forms.has(key)) {
      forms.set(key, new FormView({ tool: { server, name } }, { valueJson }));
      if (forms.size > 30) forms.delete(forms.keys().next().value);
    }
    form().onchange = (filled) => { asIs.hidden = !(filled.tried && filled.problems.length); };
    form().view = "form";
    fill(formPlace, form().element);
    form().draw();
  }
  return page;
}

// The arguments of an earlier call: of this console (`call-7`) or of the call log (`log-12`).
async function argumentsOf(from) {
  try {
    if (from.startsWith("call-")) return (await wholeCall(Number(from.slice(5)))).arguments_json;
    return (await get(`/history/${from.slice(4)}`)).began?.arguments_json;
  } catch (error) {
    complain(error);
    return null;
  }
}

function toolHeading(tool) {
  const { state, lines = [] } = tool.pin ?? {};
  const pin = { new: ["new", "", "It was never approved; the first use pins it."], same: ["pinned", "", "It is what was approved."], drifted: ["drifted", "bad", "It is not what was approved."], not_locked: ["not in the lock file", "bad", "The lock file names its server and does not list it."] }[state];
  return [
    h("h1", tool.title ?? tool.name),
    h("p.facts", h("code.breakable", h("a", { href: href("servers", tool.server), title: "The server" }, tool.server), `/${tool.name}`), claimChips(tool.claims), pin ? chip(...pin) : null, h("span.small.muted", `definition ${bytes(tool.bytes)}`)),
    tool.description ? h("p.description", tool.description) : null,
    lines.length && state === "drifted" ? h("details.drift", { open: true }, h("summary", "What changed since it was approved"), diffView(lines)) : null,
    h("details.definition", h("summary.small.muted", "Definition"), jsonText(JSON.stringify(tool.entry, null, 2))),
  ];
}

// What the call log has of this tool.
async function pastCalls(place, { server, name }, form) {
  let answer;
  try { answer = await get(`/history${query({ server, name, limit: 20 })}`); } catch (error) {
    // A console without a call log has no history, which is not a failure.
    if (error.status !== 404) fill(place, h("h2", "History"), failure(error));
    return;
  }
  const rows = answer.calls.filter((call) => call.began).reverse();
  if (!rows.length) return fill(place);
  const use = (record) => async () => {
    const json = (await get(`/history/${record.number}`).catch(() => record)).began.arguments_json;
    if (form() && json) { form().tried = false; form().edit({ do: "set", path: [], json }); toast("The form has the arguments of that call."); }
  };
  const result = (record) => {
    const body = h("div");
    return h("details", { ontoggle: async (event) => {
      if (!event.target.open || body.firstChild) return;
      try {
        const one = await get(`/history/${record.number}`);
        const error = one.ended?.error;
        fill(body, error ? failure(error) : null, argumentsBlock(one.began), one.document ? callResult({ call: record.number, server, document: one.document, ending: one.ended.ending, since_ms: one.began.at_ms, after_ms: one.ended.took_ms, result_json: one.ended.result_json }, { again: false }) : null);
      } catch (error) { fill(body, failure(error)); }
    } }, h("summary", h("span.summary-row", endingChip(record.ended?.ending ?? "ended"), timeOf(record.began.at_ms), h("span.small.muted", duration(record.ended?.took_ms)), h("code.small.ellipsis", record.began.arguments_json ?? ""))), h("p.actions", button("Use these arguments", use(record), { class: "small" })), body);
  };
  fill(place, h("h2", "History"), h("p.small.muted", `${plural(rows.length, "call")} of this tool in the call log, newest first.`), h("div.history", rows.map(result)));
}
