// The page: the frame around the views, the keys, and how it begins.

import { activityView } from "./activity.js";
import { linkWithToken, takeToken, whenRefused } from "./api.js";
import { callsView } from "./callsview.js";
import { calls, runningCalls, runningLine } from "./calls.js";
import { openDialog } from "./dialog.js";
import { button, fill, h, iconButton, plural } from "./dom.js";
import { inboxButton, openInbox } from "./inbox.js";
import { logView } from "./log.js";
import { openPalette } from "./palette.js";
import { promptsView } from "./prompts.js";
import { resourcesView } from "./resources.js";
import { go, href, route } from "./router.js";
import { serverList, serversView } from "./servers.js";
import { begin, changed, cutStream, listen, retryNow, store } from "./store.js";
import { toolsView } from "./tools.js";

const VIEWS = { tools: toolsView, resources: resourcesView, prompts: promptsView, calls: callsView, activity: activityView, log: logView, servers: serversView };
const TABS = ["tools", "resources", "prompts", "calls", "activity", "log"];
const named = (view) => view[0].toUpperCase() + view.slice(1);

const THEMES = ["system", "light", "dark"];
let theme = localStorage.getItem("attache-theme") ?? "system";
function useTheme(name) {
  theme = THEMES.includes(name) ? name : "system";
  localStorage.setItem("attache-theme", theme);
  document.documentElement.dataset.theme = theme;
}

// One table of keys: the help and the palette are made of it.
const KEYS = [
  { keys: "Ctrl K", name: "Palette: go anywhere", is: (event) => event.ctrlKey && event.key === "k" || event.metaKey && event.key === "k", act: () => openPalette(COMMANDS), always: true },
  { keys: ":", is: (event) => event.key === ":", act: () => openPalette(COMMANDS) },
  ...TABS.map((view, index) => ({ keys: String(index + 1), name: named(view), is: (event) => event.key === String(index + 1), act: () => go(view) })),
  { keys: "/", name: "Filter the list", is: (event) => event.key === "/", act: () => document.querySelector("[data-filter]")?.focus() },
  { keys: "a", name: "Inbox: questions that wait", is: (event) => event.key === "a", act: openInbox },
  { keys: "t", name: "Theme: system, light, dark", is: (event) => event.key === "t", act: () => nextTheme() },
  { keys: "?", name: "All keys", is: (event) => event.key === "?", act: () => showHelp() },
];
const OTHER_KEYS = [["↑ ↓ j k, PgUp PgDn, g G", "Move in a list"], ["Enter", "Open what is at hand"], ["Ctrl Enter", "Run the tool"], ["Esc", "Back; closes a dialog, answers nothing"], ["Tab, Shift Tab", "The next or the last control"]];
const COMMANDS = [...KEYS.filter((key) => key.name && !key.always), { name: "Open another window of this console", act: () => window.open(linkWithToken(), "_blank", "noopener") }];

function showHelp() {
  const row = (keys, name) => [h("dt", keys.split(" ").map((key) => [h("kbd", key), " "])), h("dd", name)];
  const dialog = openDialog({ title: "Keys", kind: "help", body: [h("dl.keys", KEYS.filter((key) => key.name).map((key) => row(key.keys, key.name)), OTHER_KEYS.map(([keys, name]) => row(keys, name))), h("p.small.muted", "Spec workflows have their view in ", h("code", "attache ui"), ".")],
    actions: [h("span.small.muted", `Attaché ${store.console?.version ?? ""}`), h("span.grow"), button("Close", () => dialog.close())] });
}

let drawTheme = () => {};
function nextTheme() {
  useTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
  drawTheme();
}

function onkey(event) {
  const isTyping = event.target.closest?.("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");
  const isInDialog = Boolean(document.querySelector("dialog[open]"));
  for (const key of KEYS) {
    if (!key.is(event) || (isTyping || isInDialog) && !key.always) continue;
    if (!key.always && (event.ctrlKey || event.metaKey || event.altKey)) continue;
    event.preventDefault();
    key.act();
    return;
  }
  if (event.key !== "Escape" || isInDialog || event.defaultPrevented) return;
  if (isTyping) document.activeElement.blur();
  else if (route().rest.length) { go(route().view === "servers" ? "tools" : route().view); document.querySelector(".virtual")?.focus(); }
}

function toolbar() {
  const themeButton = iconButton("", "", nextTheme, { class: "quiet theme" });
  drawTheme = () => {
    const label = `Theme: ${theme}`;
    themeButton.firstChild.textContent = { system: "◐", light: "☀", dark: "☾" }[theme];
    themeButton.setAttribute("aria-label", label);
    themeButton.title = `${label} (t)`;
  };
  drawTheme();
  const dot = h("span.dot", { role: "img" });
  const drawDot = () => {
    const words = { live: "Connected to the console", lost: "Not connected to the console", starting: "Connecting to the console" }[store.connection];
    dot.className = `dot ${store.connection}`;
    dot.setAttribute("aria-label", words);
    dot.title = words;
  };
  listen(["connection"], drawDot);
  drawDot();
  return [h("button.search", { type: "button", onclick: () => openPalette(COMMANDS), title: "The palette: any tool, server, resource, prompt or command" }, h("span", "Go to…"), h("kbd", { "aria-hidden": "true" }, "Ctrl K")), inboxButton(), themeButton, iconButton("?", "Keys", showHelp, { class: "quiet help" }), dot];
}

function tabs() {
  const links = TABS.map((view) => h("a", { href: href(view), "data-view": view }, named(view)));
  const draw = () => { for (const link of links) link.toggleAttribute("aria-current", false), route().view === link.dataset.view && link.setAttribute("aria-current", "page"); };
  listen(["route"], draw);
  draw();
  return h("nav.tabs", { "aria-label": "Views" }, links);
}

// Running calls below every view; those that the page at hand shows itself are left out.
function runningStrip() {
  const list = h("div.strip-list"), title = h("h2"), element = h("section.strip", { "aria-label": "Running calls", hidden: true }, title, list);
  const lines = new Map();
  const draw = () => {
    const [server, tool] = route().view === "tools" ? route().rest : [];
    const open = runningCalls().filter((call) => !(call.server === server && call.tool === tool) && !(route().view === "calls" && Number(route().rest[0]) === call.call));
    for (const [id, line] of lines) if (!open.some((call) => call.call === id)) { line.remove(); lines.delete(id); }
    for (const call of open.slice(-3)) if (!lines.has(call.call)) { const line = runningLine(call); lines.set(call.call, line); list.append(line); }
    element.hidden = !open.length;
    title.textContent = plural(open.length, "call") + " running";
    for (const line of lines.values()) line.update();
  };
  listen(["calllist", "progress", "questions", "route"], draw);
  setInterval(() => { for (const line of lines.values()) line.update(); }, 500);
  return element;
}

function banner() {
  const element = h("div.banner", { role: "alert", hidden: true });
  let timer = 0;
  listen(["connection"], () => {
    clearTimeout(timer);
    if (store.connection === "live") { element.hidden = true; return; }
    // A short cut is no news.
    timer = setTimeout(() => {
      element.hidden = false;
      fill(element, h("span", `${store.trouble ? `The console refuses: ${store.trouble}.` : "The console does not answer."} What is shown may be old; the page tries again by itself.`), button("Try now", retryNow, { class: "small" }));
    }, 700);
  });
  return element;
}

function gate(...words) {
  document.title = "Attaché";
  fill(document.getElementById("app"), h("main.gate", { id: "main" }, h("h1", "Attaché"), words));
}

function noToken(sentence) {
  gate(h("p", sentence), h("p", "Run ", h("code", "attache web --open"), ", or use the link that ", h("code", "attache web"), " printed."));
}

async function start() {
  useTheme(theme);
  let isRefused = false;
  whenRefused(() => noToken("This link opens the console once, and was used before. If it was not you who used it, end the console and start it again."));
  try {
    if (!await takeToken()) return noToken("This page needs the token of its link.");
  } catch (error) { return error.status === 401 || gate(h("p", error.message)); }
  whenRefused(() => { isRefused = true; noToken("The token of this page is not valid any more: the console was started again, or the link was cut."); });
  const main = h("main", { id: "main", tabIndex: -1 }), servers = h("nav.servers", { "aria-label": "Servers" });
  const menu = button("Servers", () => document.body.classList.toggle("shows-servers"), { class: "servers-button" });
  fill(document.getElementById("app"), banner(), h("header.top", h("a.brand", { href: "#/tools", "aria-label": "Attaché, tools" }, "Attaché"), menu, tabs(), h("span.grow"), h("div.toolbar", toolbar())), h("div.frame", servers, h("div.middle", main, runningStrip())));
  let view = null, shown = null;
  const draw = () => {
    const { view: name, rest, filter } = route();
    document.body.classList.remove("shows-servers");
    if (name !== shown) {
      view?.leave?.();
      main.replaceChildren();
      main.className = `view-${name}`;
      view = VIEWS[name](main);
      shown = name;
    }
    view.show(rest);
    if (filter) view.pane?.filterBy(filter);
    changed("route");
  };
  serverList(servers);
  window.addEventListener("hashchange", draw);
  document.addEventListener("keydown", onkey);
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  draw();
  try {
    await begin();
  } catch (error) {
    if (!isRefused) { store.connection = "lost"; changed("connection"); setTimeout(() => location.reload(), 3000); }
  }
}

// What the browser tests look at and cannot see from outside.
window.attache = { store, calls, cutStream };

start();
