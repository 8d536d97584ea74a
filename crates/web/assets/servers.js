// Servers: the list at the left with their states, and the page of one.

import { apiPath, get, post, send } from "./api.js";
import { listOf } from "./catalog.js";
import { diffView } from "./diff.js";
import { button, chip, complain, empty, failure, fill, h, plural, safeText, timeOf, toast } from "./dom.js";
import { LEVELS } from "./log.js";
import { back, welcome } from "./pane.js";
import { href } from "./router.js";
import { listen, store } from "./store.js";

// A glyph and a word for each state: the colour never says it alone.
export const STATES = {
  ready: ["●", "ready", "good"], starting: ["◐", "starting", "live"], configured: ["○", "not started", ""], backing_off: ["◌", "backing off", "warn"], parked: ["✗", "parked", "bad"],
  stopping: ["◑", "stopping", ""], stopped: ["○", "stopped", ""], disabled: ["–", "disabled", ""],
};
export const stateOf = (server) => STATES[server.state] ?? ["?", server.state, ""];
const isFailed = (server) => server.state === "parked" || server.state === "backing_off";

// The list; one row has the tab stop, arrows move it.
export function serverList(place) {
  const draw = () => {
    const servers = [...store.servers.values()].sort((a, b) => a.name.localeCompare(b.name));
    const open = decodeURIComponent(/^#\/servers\/([^/]+)/.exec(location.hash)?.[1] ?? "");
    const row = (server, index) => {
      const [glyph, word, kind] = stateOf(server);
      const isOpen = server.name === open;
      return h("li", h("a.server-row", { href: href("servers", server.name), "data-key": `server:${server.name}`, tabIndex: isOpen || !open && index === 0 ? 0 : -1, "aria-current": isOpen ? "page" : null },
        h("span.glyph", { class: kind, "aria-hidden": "true" }, glyph), h("span.name", server.name), h("span.state", { class: kind }, word),
        isFailed(server) && server.last_failure ? h("span.cause", server.last_failure.cause) : null));
    };
    fill(place, h("h2", "Servers", h("span.count", servers.length || "")), servers.length ? h("ul", { onkeydown: rove }, servers.map(row)) : empty("No server is configured."));
  };
  listen(["servers", "route"], draw);
  draw();
}

function rove(event) {
  const rows = [...event.currentTarget.querySelectorAll("a")];
  const at = rows.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (to === undefined || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  rows.forEach((row, index) => { row.tabIndex = index === to ? 0 : -1; });
  rows[Math.max(0, Math.min(rows.length - 1, to))]?.focus();
}

export function serversView(place) {
  const detail = h("section.pane.detail.only", { "aria-label": "Server", tabIndex: -1 });
  place.append(h("div.panes.one", detail));
  let name = null, more = null;
  const stop = listen(["servers"], () => draw());
  const fetchMore = async () => {
    const asked = name;
    try {
      const answer = await get(apiPath("servers", asked));
      if (asked !== name) return;
      more = answer;
      draw();
    } catch { /* The snapshot is shown; the connection tells of itself. */ }
  };
  const act = (verb) => async (event) => {
    event.target.disabled = true;
    try {
      more = await post(apiPath("servers", name, verb));
      toast(`${name}: ${{ start: "started", stop: "stopped", restart: "started again", enable: "enabled", disable: "disabled", refresh: "lists fetched again" }[verb]}.`);
    } catch (error) { complain(error); }
    draw();
    fetchMore();
  };
  const draw = () => {
    const server = store.servers.get(name);
    if (!server) return fill(detail, name ? empty(`There is no server ${name}.`) : overview());
    const [glyph, word, kind] = stateOf(server);
    const known = { ...more, ...server };
    const offers = more?.offers ?? server.offers ?? {};
    const verbs = server.state === "disabled" || more?.enabled === false ? [["Enable", "enable"]] : [...(["ready", "starting", "backing_off"].includes(server.state) ? [["Restart", "restart"], ["Stop", "stop"]] : [["Start", "start"]]), ["Fetch lists again", "refresh"], ["Disable", "disable"]];
    const level = h("select", { "data-key": "level", "aria-label": "Log level", onchange: () => send("PUT", apiPath("servers", name, "log_level"), { level: level.value }).then(() => toast(`${name} sends ${level.value} and above.`), (error) => complain(error)) },
      h("option", { value: "", disabled: true, selected: !more?.log_level }, "as it likes"), LEVELS.map((one) => h("option", { value: one, selected: more?.log_level === one }, one)));
    const pairs = [["Target", h("code.breakable", known.target)], ["Calls itself", itself(known.calls_itself)], ["Era", known.era], ["Revision", known.revision], ["Process", known.process_id], ["Started", plural(known.starts ?? 0, "time")],
      ["Offers", offered(offers, name)], ["Requests", known.requests ? `${known.requests.issued} issued, ${known.requests.open} open` : null], ["Log level", server.state === "ready" ? level : null]];
    fill(detail, back("tools"),
      h("h1", name), h("p.facts", h("span.state", { class: kind }, h("span", { "aria-hidden": "true" }, `${glyph} `), word), known.since_ms ? h("span.small.muted", "since ", timeOf(known.since_ms)) : null),
      isFailed(server) && server.last_failure ? failure({ message: server.last_failure.cause, hint: server.state === "parked" ? "It is not started again by itself. Mend the cause, then start it." : "It is started again soon." }) : null,
      h("div.run-row", verbs.map(([label, verb]) => button(label, act(verb), { class: verb === "start" || verb === "enable" ? "primary" : "", "data-key": `verb:${verb}` }))),
      h("dl.pairs", pairs.filter(([, value]) => value != null && value !== "").map(([label, value]) => [h("dt", label), h("dd", value instanceof Node ? value : Array.isArray(value) ? value : String(value))])),
      server.last_failure?.stderr?.length ? h("section", h("h2", "Last words on standard error"), h("pre.text", { tabIndex: 0 }, safeText(server.last_failure.stderr.join("\n")).replace(/\\u\{a\}/g, "\n"))) : null,
      pinned());
  };
  // Made once for a state of the pins, because it fetches.
  let pinsNode = null, pinsKey = null;
  const pinned = () => {
    const key = JSON.stringify([name, more?.pins]);
    if (key !== pinsKey) { pinsKey = key; pinsNode = pinsSection(name, more?.pins); }
    return pinsNode;
  };
  return {
    show([which]) {
      name = which ?? null;
      more = null;
      place.classList.toggle("has-detail", Boolean(name));
      draw();
      if (name) fetchMore();
    },
    leave: stop,
  };
}

const itself = (info) => (info ? safeText(typeof info === "string" ? info : [info.title ?? info.name, info.version].filter(Boolean).join(" ")) : null);

function offered(offers, name) {
  const parts = [["tools", "tool"], ["resources", "resource"], ["templates", "template"], ["prompts", "prompt"]]
    .map(([kind, one]) => [kind, one, offers[kind] ?? (listOf(kind).entries.filter((entry) => entry.server === name).length || null)])
    .filter(([, , count]) => count);
  return parts.length ? h("span", parts.map(([kind, one, count], index) => [index ? ", " : "", h("a", { href: `${href(kind === "templates" ? "resources" : kind)}?${encodeURIComponent(`server:${name}`)}` }, plural(count, one))])) : null;
}

function overview() {
  const servers = [...store.servers.values()];
  const counts = Object.entries(Object.groupBy(servers, (server) => stateOf(server)[1])).map(([word, some]) => `${some.length} ${word}`);
  return welcome(plural(servers.length, "server"), h("p.muted", counts.join(", ")));
}

// Pins: how many tools are what was approved; those that are not, with the difference.
function pinsSection(name, pins) {
  if (!pins || !pins.drifted && !pins.new && !pins.same) return null;
  const place = h("div");
  const show = async () => {
    try {
      const { tools } = await get(apiPath("pins", name));
      const drifted = tools.filter((tool) => tool.state === "drifted" || tool.state === "not_locked");
      const accept = (tool) => async () => {
        try { await post(apiPath("pins", name, "accept"), { tools: [{ name: tool.name, definition: tool.definition }] }); toast(`${tool.name}: the definition of now is pinned.`); show(); } catch (error) { complain(error); }
      };
      fill(place, drifted.length ? drifted.map((tool) => h("section.drift", h("h3", tool.name, " ", chip("drifted", "bad")), diffView(tool.lines), h("p.actions", button("Accept the definition of now", accept(tool))))) : h("p.small.muted", "None has changed."));
    } catch (error) { fill(place, failure(error)); }
  };
  if (pins.drifted) show();
  return h("section", h("h2", "Pinned definitions"), h("p.small.muted", `${pins.same} as approved, ${pins.new} new, ${pins.drifted} changed.`), place);
}
