// Prompts: a form with completion, and the messages it makes.

import { apiPath, post } from "./api.js";
import { listNotes, listOf, load } from "./catalog.js";
import { button, copy, failure, fill, h, isSubmit } from "./dom.js";
import { renderDocument } from "./document.js";
import { FormView } from "./form.js";
import { back, listView, noteLines, welcome } from "./pane.js";
import { go, href } from "./router.js";
import { nothingHere } from "./tools.js";

export function promptsView(place) {
  load("prompts");
  return listView(place, {
    label: "Prompt", topics: ["prompts"], title: "Prompts", tokens: ["server"], rowHeight: 56,
    items: () => listOf("prompts").entries,
    row: (prompt) => [h("div.row-main", h("span.name", prompt.name)), h("div.row-more", h("span.server", prompt.server), prompt.title || prompt.description ? ` · ${prompt.title ?? prompt.description}` : "")],
    open: (prompt) => go("prompts", prompt.server, prompt.name),
    isOpen: (prompt, current) => prompt.server === current.server && prompt.name === current.name,
    haystack: (prompt) => prompt.hay,
    field: (prompt) => prompt.server,
    notes: () => noteLines(listNotes("prompts"), listOf("prompts"), () => load("prompts", true)),
    nothing: () => nothingHere("prompts"),
    page: promptPage,
    invite: () => welcome("Pick a prompt to fill it in."),
  });
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
      const answer = await post(apiPath("prompts", server, name), `{"arguments":${form.valueJson ?? "{}"}}`);
      fill(result, h("div.form-head", h("h2", "Messages"), h("span.grow"), button("Copy the JSON", () => copy(answer.result_json, "the messages"), { class: "link small" })), renderDocument(answer.document, (uri) => go("resources", server, uri)));
    } catch (error) { fill(result, h("h2", "Messages"), failure(error)); }
    run.disabled = false;
  }, { class: "primary" });
  detail.onkeydown = (event) => { if (isSubmit(event)) run.click(); };
  fill(detail, back("prompts"), h("h1", entry?.title ?? name), h("p.facts", h("code", name), h("span", "on ", h("a", { href: href("servers", server) }, server))),
    entry?.description ? h("p.description", entry.description) : null, h("h2", "Arguments"), form.element, h("div.run-row", run), result);
  return { server, name };
}
