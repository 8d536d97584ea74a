// Resources and templates: read, watch, save.

import { apiPath, post, send } from "./api.js";
import { listNotes, listOf, load } from "./catalog.js";
import { button, bytes, chip, clock, complain, copy, failure, fill, h, isSubmit, say } from "./dom.js";
import { renderDocument } from "./document.js";
import { FormView } from "./form.js";
import { back, listView, noteLines, welcome } from "./pane.js";
import { go, href } from "./router.js";
import { changed, listen, onResourceUpdated, store } from "./store.js";
import { nothingHere } from "./tools.js";

export function resourcesView(place) {
  load("resources");
  load("templates");
  return listView(place, {
    label: "Resource", topics: ["resources", "templates", "subscriptions"], title: "Resources", tokens: ["server", "type"], rowHeight: 56,
    items: () => [...listOf("resources").entries, ...listOf("templates").entries.map((entry) => (entry.isTemplate ? entry : Object.assign(entry, { isTemplate: true })))],
    row: (entry) => [h("div.row-main", h("span.name", entry.title ?? entry.name), entry.isTemplate ? h("span.claim", "template") : isWatched(entry.server, entry.uri) ? h("span.claim", "watched") : null),
      h("div.row-more", h("span.server", entry.server), ` · ${entry.uri}`)],
    open: (entry) => go("resources", entry.server, entry.uri, ...(entry.isTemplate ? ["template"] : [])),
    isOpen: (entry, current) => entry.server === current.server && entry.uri === current.uri,
    haystack: (entry) => entry.hay,
    field: (entry, name) => (name === "server" ? entry.server : entry.mime_type ?? ""),
    notes: () => noteLines(listNotes("resources"), listOf("resources"), () => load("resources", true)),
    nothing: () => nothingHere("resources"),
    page: (detail, server, uri, kind) => (kind === "template" ? templatePage : resourcePage)(detail, server, uri),
    invite: () => welcome("Pick a resource to read it."),
  });
}

const subscriptionOf = (server, uri) => store.subscriptions.find((one) => one.server === server && one.uri === uri && !one.ended);
const isWatched = (server, uri) => Boolean(subscriptionOf(server, uri));

function resourcePage(detail, server, uri) {
  const contents = h("div"), status = h("p.small.muted"), watch = button("", flip);
  const aborter = new AbortController();
  const entry = () => listOf("resources").entries.find((one) => one.server === server && one.uri === uri);
  const drawWatch = () => {
    const one = subscriptionOf(server, uri);
    watch.textContent = one ? "Stop watching" : "Watch";
    watch.setAttribute("aria-pressed", String(Boolean(one)));
  };
  async function flip() {
    watch.disabled = true;
    try {
      const one = subscriptionOf(server, uri);
      if (one) {
        await send("DELETE", apiPath("subscriptions", one.id));
        store.subscriptions = store.subscriptions.filter((other) => other !== one);
      } else store.subscriptions = [...store.subscriptions.filter((other) => other.server !== server || other.uri !== uri), await post("/subscriptions", { server_name: server, uri })];
      changed("subscriptions");
    } catch (error) { complain(error); }
    watch.disabled = false;
    drawWatch();
  }
  const read = async (why) => {
    contents.setAttribute("aria-busy", "true");
    try {
      const answer = await post("/access_mcp_resource", { server_name: server, uri }, aborter.signal);
      status.textContent = `${why} ${clock(Date.now())}${answer.freshness !== "fresh" ? `, ${answer.freshness}` : ""}, ${bytes(answer.document.bytes)}`;
      fill(contents, renderDocument(answer.document, (other) => go("resources", server, other)));
      copyJson.onclick = () => copy(answer.contents_json, "the contents as JSON");
      copyJson.hidden = false;
    } catch (error) {
      if (error.name !== "AbortError") fill(contents, failure(error, button("Read again", () => read("read"))));
    }
    contents.removeAttribute("aria-busy");
  };
  const copyJson = button("Copy the JSON", null, { class: "link small", hidden: true });
  const stopUpdates = onResourceUpdated((from, which) => {
    if (from !== server || which !== uri) return;
    contents.classList.remove("flash");
    void contents.offsetWidth;
    contents.classList.add("flash");
    say("The resource was updated.");
    read("updated, read");
  });
  const stop = listen(["subscriptions"], drawWatch);
  const known = entry();
  fill(detail, back("resources"),
    h("h1", known?.title ?? known?.name ?? uri), h("p.facts", h("code.breakable", uri), h("span", "on ", h("a", { href: href("servers", server) }, server)), known?.mime_type ? chip(known.mime_type) : null, known?.size ? h("span.small.muted", bytes(known.size)) : null),
    known?.description ? h("p.description", known.description) : null,
    h("div.run-row", button("Read again", () => read("read"), { class: "primary" }), watch, button("Copy the address", () => copy(uri, "the address"), { class: "link small" }), copyJson), h("h2", "Contents"), status, contents);
  drawWatch();
  read("read");
  return { server, uri, leave() { stop(); stopUpdates(); aborter.abort(); } };
}

// A template is a form whose fields make an address.
function templatePage(detail, server, template) {
  const result = h("code.breakable");
  const complete = async (name, value) => (await post("/completion", { server_name: server, ref: { type: "ref/resource", uri: template }, argument: { name, value } })).values;
  let address = null;
  const form = new FormView({ template: { server, uri_template: template } }, { complete, defaults: false, onchange: async () => {
    try {
      const values = Object.fromEntries(Object.entries(JSON.parse(form.valueJson ?? "{}")).map(([name, value]) => [name, String(value)]));
      const answer = await post("/expand", { uri_template: template, values });
      address = answer.uri;
      result.textContent = address;
      read.disabled = !address;
    } catch (error) { result.textContent = error.message; }
  } });
  const read = button("Read", async () => { await form.commit(); await form.settled; if (address) go("resources", server, address); }, { class: "primary", disabled: true });
  const entry = listOf("templates").entries.find((one) => one.server === server && one.uri === template);
  fill(detail, back("resources"), h("h1", entry?.title ?? entry?.name ?? template),
    h("p.facts", h("code.breakable", template), h("span", "on ", h("a", { href: href("servers", server) }, server)), chip("template")),
    entry?.description ? h("p.description", entry.description) : null, h("h2", "Values"), form.element, h("p.small.muted", "Address: ", result), h("div.run-row", read));
  detail.onkeydown = (event) => { if (isSubmit(event)) read.click(); };
  return { server, uri: template };
}
