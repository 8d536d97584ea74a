// Prompts: a form with completion, and the messages it makes.

import { post } from "./api.js";
import { listNotes, listOf, load } from "./catalog.js";
import { button, copy, failure, fill, h } from "./dom.js";
import { renderDocument } from "./document.js";
import { FormView } from "./form.js";
import { detailPane, ListPane, noteLines, twoPanes } from "./pane.js";
import { go, href } from "./router.js";
import { listen } from "./store.js";
import { nothingHere } from "./tools.js";

export function promptsView(place) {
  const detail = detailPane("Prompt");
  let current = null;
  const pane = new ListPane({
    title: "Prompts", tokens: ["server"], rowHeight: 56,
    items: () => listOf("prompts").entries,
    row: (prompt) => [h("div.row-main", {}, h("span.name", {}, prompt.name)), h("div.row-more", {}, h("span.server", {}, prompt.server), prompt.title || prompt.description ? ` · ${prompt.title ?? prompt.description}` : "")],
    open: (prompt) => go("prompts", prompt.server, prompt.name),
    isOpen: (prompt) => current && prompt.server === current.server && prompt.name === current.name,
    haystack: (prompt) => prompt.hay,
    field: (prompt) => prompt.server,
    notes: () => noteLines(listNotes("prompts"), listOf("prompts"), () => load("prompts", true)),
    nothing: () => nothingHere("prompts"),
  });
  place.append(twoPanes(pane.element, detail));
  const stop = listen(["prompts"], () => pane.draw());
  load("prompts");
  pane.draw();
  return {
    pane,
    show([server, name]) {
      current = name ? promptPage(detail, server, name) : null;
      place.classList.toggle("has-detail", Boolean(name));
      if (!current) fill(detail, h("div.welcome", {}, h("p.big", {}, "Pick a prompt to fill it in.")));
      pane.list.set(pane.list.items, pane.isOpen);
    },
    leave: stop,
  };
}

function promptPage(detail, server, name) {
  const entry = listOf("prompts").entries.find((one) => one.server === server && one.name === name);
  const result = h("section", { "aria-label": "Messages" });
  const complete = async (argument, value) => {
    const filled = JSON.parse(form.valueJson ?? "{}");
    return (await post("/completion", { server_name: server, ref: { type: "ref/prompt", name }, argument: { name: argument, value }, context: { arguments: filled } })).values;
  };
  const form = new FormView({ prompt: { server, name } }, { complete, defaults: false });
  const run = button("Get the messages", async () => {
    if (!await form.ready()) return;
    run.disabled = true;
    try {
      const answer = await post(`/prompts/${encodeURIComponent(server)}/${encodeURIComponent(name)}`, `{"arguments":${form.valueJson ?? "{}"}}`);
      fill(result, h("div.form-head", {}, h("h2", {}, "Messages"), h("span.grow"), button("Copy the JSON", () => copy(answer.result_json, "the messages"), { class: "link small" })), renderDocument(answer.document, (uri) => go("resources", server, uri)));
    } catch (error) { fill(result, h("h2", {}, "Messages"), failure(error)); }
    run.disabled = false;
  }, { class: "primary" });
  detail.onkeydown = (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run.click(); };
  fill(detail, h("a.back", { href: href("prompts") }, "← Prompts"), h("h1", {}, entry?.title ?? name), h("p.facts", {}, h("code", {}, name), h("span", {}, "on ", h("a", { href: href("servers", server) }, server))),
    entry?.description ? h("p.description", {}, entry.description) : null, h("h2", {}, "Arguments"), form.element, h("div.run-row", {}, run), result);
  return { server, name };
}
