// Log: what servers write to stderr, their log messages, and their states.

import { apiPath, send } from "./api.js";
import { button, clock, copy, counted, empty, fill, h, plural, toast } from "./dom.js";
import { filterItems, parseFilter } from "./filter.js";
import { listen, store } from "./store.js";
import { VirtualList } from "./virtual.js";

export const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
// What has no level, or one of its own making, stands where a person would look for it.
const RANK = { __proto__: null, stderr: 1, state: 1, gap: 7, ...Object.fromEntries(LEVELS.map((level, index) => [level, index])) };

export function logView(place) {
  let least = 0, shown = [], seen = 0;
  const count = h("span.count"), instead = h("div.instead"), note = h("p.note", { hidden: true });
  const list = new VirtualList({ label: "Log", rowHeight: 24, follow: true,
    row: (line) => [h("span.cell.time", clock(line.at, true)), h("span.cell.server", line.server), h("span.cell.level", line.level), h("span.cell.text", line.text)],
    rowClass: (line) => (RANK[line.level] >= 4 ? "bad" : line.level === "warning" ? "warn" : line.level === "state" ? "state" : ""),
    onopen: (line) => copy(`${new Date(line.at).toISOString()} ${line.server} ${line.level} ${line.text}`, "the line") });
  const followButton = button("Follow", () => setFollow(!list.following), { class: "small", "aria-pressed": "true" });
  const setFollow = (yes) => {
    list.follow(yes);
    followButton.setAttribute("aria-pressed", String(yes));
  };
  list.onfollow = setFollow;
  const input = h("input.filter", { type: "search", placeholder: "Filter: server:notes word", "aria-label": "Filter the log", "data-filter": "", spellcheck: false, oninput: () => draw(true) });
  const level = h("select", { "aria-label": "Least level", onchange: () => { least = Number(level.value); draw(true); } }, LEVELS.map((name, index) => h("option", { value: String(index) }, index ? `${name} and above` : "all levels")));
  const ask = h("select", { "aria-label": "Level that the servers send", onchange: () => setLevel(ask) }, h("option", { value: "" }, "servers send…"), LEVELS.map((name) => h("option", { value: name }, name)));
  place.append(h("div.panes.one", h("section.pane.list-pane.log", { "aria-label": "Log" },
    h("header", h("h1", "Log"), count, h("span.grow"), ask, level, followButton),
    h("div.filter-row", input), note, list.element, instead)));

  // While nothing filters, new lines are appended; a filter is applied to the new lines only.
  const draw = (anew) => {
    const filter = parseFilter(input.value, ["server", "level"]);
    const isPlain = !filter.words.length && !filter.tokens.length && !least;
    const total = store.logDropped + store.log.length;
    const pick = (lines) => lines.filter((line) => (RANK[line.level] ?? 1) >= least && filterItems([line], filter, () => [line.text.toLowerCase(), ""], (one, name) => one[name]).length);
    if (isPlain) {
      const dropped = store.logDropped - (list.dropped ?? store.logDropped);
      list.dropped = store.logDropped;
      if (anew || list.items !== store.log) list.set(store.log);
      else list.grew(dropped);
      shown = store.log;
    } else if (anew || shown === store.log || total - seen > store.log.length) {
      shown = pick(store.log);
      list.set(shown);
    } else {
      shown.push(...pick(store.log.slice(seen - total)));
      list.grew();
    }
    seen = total;
    count.textContent = total ? (shown.length === store.log.length ? counted(total) : `${counted(shown.length)} of ${counted(store.log.length)}`) : "";
    note.hidden = !store.logDropped && !store.missed;
    const missed = store.missed ? `${plural(store.missed, "message")} came faster than they could be shown: see the ${plural(store.gaps, "gap")}. ` : "";
    note.textContent = missed + (store.logDropped ? `The newest ${counted(store.log.length)} lines are kept here; ${plural(store.logDropped, "older line")} went. “attache logs SERVER” has the files.` : "");
    list.element.hidden = !shown.length;
    if (shown.length) fill(instead);
    else fill(instead, store.log.length ? empty("Nothing fits the filter.") : empty("Nothing was written since this page was opened.", h("p", "Standard error and log messages of all servers appear here. Older lines: ", h("code", "attache logs SERVER"))));
  };
  const stop = listen(["log"], () => draw(false));
  draw(true);
  return { pane: { input, list }, show() { setFollow(true); draw(true); }, leave: stop };
}

async function setLevel(select) {
  const level = select.value;
  if (!level) return;
  const ready = [...store.servers.values()].filter((server) => server.state === "ready");
  const told = await Promise.allSettled(ready.map((server) => send("PUT", apiPath("servers", server.name, "log_level"), { level })));
  const done = told.filter((one) => one.status === "fulfilled").length;
  toast(`${done} of ${plural(ready.length, "server")} will send ${level} and above.`);
  select.value = "";
}
