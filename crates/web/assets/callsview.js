// Calls: those of this console, running and past; two of them compared.

import { argumentsBlock, calls, callResult, endingChip, endingWord, fetchCalls, runningLine, wholeCall } from "./calls.js";
import { diffView, lineDiff } from "./diff.js";
import { button, clock, duration, empty, failure, fill, h } from "./dom.js";
import { prettyJson } from "./json.js";
import { back, listView, welcome } from "./pane.js";
import { go, href } from "./router.js";
import { listen } from "./store.js";

export function callsView(place) {
  fetchCalls();
  return listView(place, {
    label: "Call", topics: ["calllist"], parts: 1, title: "Calls", tokens: ["server", "tool", "status", "ms"], rowHeight: 56,
    items: () => [...calls.values()].sort((a, b) => b.call - a.call),
    row: (call) => [h("div.row-main", h("span.name", call.tool), endingChip(call.ending)), h("div.row-more", h("span.server", call.server), ` · #${call.call} · ${clock(call.since_ms)}${call.after_ms === undefined ? "" : ` · ${duration(call.after_ms)}`}`)],
    open: (call) => go("calls", String(call.call)),
    isOpen: (call, current) => call.call === current.id,
    haystack: (call) => [`${call.tool} ${call.server} ${call.call}`.toLowerCase(), endingWord(call.ending)],
    field: (call, name) => ({ server: call.server, tool: call.tool, status: endingWord(call.ending), ms: call.after_ms })[name],
    nothing: () => empty("No calls yet.", h("p", "Run a tool, or let a program call ", h("code", "use_mcp_tool"), "; both appear here.")),
    page: (detail, id, other) => callPage(detail, Number(id), other ? Number(other) : null),
    invite: () => welcome("Pick a call to see it whole."),
  });
}

function callPage(detail, id, other) {
  const place = h("div"), compared = h("section");
  let line = null, isDrawn = false;
  const page = { id, update, leave() { clearInterval(timer); stop(); } };
  const timer = setInterval(() => line?.update(), 250);
  const stop = listen(["progress"], () => line?.update());
  async function update() {
    const brief = calls.get(id);
    if (isDrawn || brief?.state === "running" && line) return;
    try {
      const call = await wholeCall(id);
      line = call.state === "running" ? runningLine(call) : null;
      isDrawn = call.state === "ended";
      fill(place, h("h1", call.tool), h("p.facts", h("span", `call #${id} on `, h("a", { href: href("servers", call.server) }, call.server)), h("span.small.muted", call.origin === "person" ? "by a person" : "by a program"), h("a.small", { href: href("tools", call.server, call.tool, `call-${id}`) }, "Open with these arguments")),
        argumentsBlock(call), line ?? [h("h2", "Result"), callResult(call, { again: false })], isDrawn ? comparing(call) : null);
      if (other && isDrawn) compare(other);
    } catch (error) { isDrawn = true; fill(place, h("h1", `Call #${id}`), failure(error)); }
  }
  const comparing = (call) => {
    const others = [...calls.values()].filter((one) => one.state === "ended" && one.call !== id && one.tool === call.tool && one.server === call.server).slice(-20).reverse();
    if (!others.length) return null;
    const select = h("select", { "aria-label": "The call to compare with" }, others.map((one) => h("option", { value: String(one.call), selected: one.call === other }, `#${one.call}, ${clock(one.since_ms)}, ${endingWord(one.ending)}`)));
    return h("div.run-row", select, button("Compare the results", () => go("calls", String(id), select.value), { class: "small" }));
  };
  const compare = async (which) => {
    try {
      const [one, two] = await Promise.all([wholeCall(which), wholeCall(id)]);
      const lines = lineDiff(prettyJson(one.result_json ?? "null"), prettyJson(two.result_json ?? "null"));
      const isSame = lines.every((each) => each.kept !== undefined);
      fill(compared, h("h2", "Compared"), isSame ? h("p.muted", `The results of #${which} and #${id} are the same.`) : diffView(lines, [`#${which}`, `#${id}`]));
    } catch (error) { fill(compared, failure(error)); }
  };
  fill(detail, back("calls"), place, compared);
  update();
  return page;
}
