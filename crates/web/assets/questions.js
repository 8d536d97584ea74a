// One dialog for each kind of question. Closing it answers nothing: the question stays in the inbox.

import { apiPath, get, send } from "./api.js";
import { diffView } from "./diff.js";
import { openDialog } from "./dialog.js";
import { button, chip, failure, fill, h, isSubmit, safeText, toast } from "./dom.js";
import { FormView } from "./form.js";
import { jsonText } from "./json.js";
import { addressShown, openInNewTab } from "./outside.js";
import { store } from "./store.js";
import { claimChips } from "./tools.js";

export const kindOf = (question) => (typeof question.kind === "string" ? question.kind : Object.keys(question.kind)[0]);
const contentOf = (question) => (typeof question.kind === "string" ? {} : question.kind[kindOf(question)]);

const TITLES = {
  approval: (question) => `May ${contentOf(question).tool} be called?`, drift: (question) => `${contentOf(question).name.tool} has changed`,
  elicit_form: () => "A server asks", elicit_url: () => "A server wants to open a page", sampling: () => "A server asks for a model's answer", roots: () => "A server asks for folders",
};
export const titleOf = (question) => safeText(TITLES[kindOf(question)]?.(question) ?? "A question");

let asking = null;
export const openQuestion = () => asking?.id ?? null;

// Closes the dialog of a question that is gone.
export function closeGone() {
  if (asking && !store.questions.has(asking.id)) {
    const wasMine = asking.isAnswered;
    asking.dialog.close();
    if (!wasMine) toast("The question was answered elsewhere or withdrawn.");
  }
}

export function showQuestion(question) {
  if (asking) return;
  const kind = kindOf(question);
  const draw = DIALOGS[kind] ?? unknown;
  const problem = h("div");
  const mine = { id: question.id, isAnswered: false };
  const answer = async (value) => {
    mine.isAnswered = true;
    try {
      await send("POST", `/questions/${question.id}`, typeof value === "string" && value.startsWith("{") ? `{"answer":${value}}` : { answer: value });
      store.questions.delete(question.id);
      dialog.close();
    } catch (error) {
      mine.isAnswered = false;
      if (error.status === 409 || error.status === 404) { dialog.close(); toast("The question was answered elsewhere or withdrawn."); } else fill(problem, failure(error));
    }
  };
  const { body, actions } = draw(question, contentOf(question), answer);
  const dialog = openDialog({
    title: titleOf(question), role: "alertdialog", kind: `question ${kind}`,
    body: [h("p.from", "from ", h("strong", question.server), question.request ? h("span.small.muted", ` for call #${question.request}`) : null), body, problem],
    actions: [actions, h("span.grow"), button("Later", () => dialog.close(), { class: "quiet", title: "Esc. The question stays in the inbox, and its call waits." })],
    onclose: () => { asking = null; },
  });
  asking = Object.assign(mine, { dialog });
}

const DIALOGS = { approval, drift, elicit_form: elicitForm, elicit_url: elicitUrl, sampling, roots };

function choice(name, label, options) {
  const group = h("fieldset.choice", h("legend", label), h("div.segments", options.map(([value, words], index) => h("label", h("input", { type: "radio", name, value, checked: index === 0 }), h("span", words)))));
  return { group, value: () => group.querySelector("input:checked").value };
}

function approval(question, asked, answer) {
  const json = JSON.stringify(asked.arguments ?? {}, null, 2);
  const remember = choice("remember", "Remember", [["once", "Once"], ["session", "This session"], ["always", "Always"]]);
  const scope = choice("scope", "For", [["tool", "this tool"], ["server", "the whole server"]]);
  const about = h("div");
  get(apiPath("tools", question.server, asked.tool)).then((tool) => {
    const { state, lines = [] } = tool.pin ?? {};
    fill(about, h("p.facts", claimChips(tool.claims), state ? chip(state === "same" ? "definition as approved" : state === "new" ? "never approved before" : state.replace("_", " "), state === "same" ? "" : "warn") : null),
      state === "drifted" && lines.length ? [h("h3", "What changed"), diffView(lines)] : null);
  }, () => {});
  const decide = (word) => () => answer({ [word]: { remember: remember.value(), scope: scope.value() } });
  return {
    body: [
      h("p.facts", h("code", asked.tool), asked.title ? h("span", asked.title) : null), asked.description ? h("p.description.small", asked.description) : null, about,
      asked.because ? h("p.small.muted", asked.because) : null,
      h("h3", "Arguments"), pairsOf(asked.arguments), h("details", h("summary.small.muted", "as raw JSON"), jsonText(json)),
      h("div.choices", remember.group, scope.group),
    ],
    actions: [button("Allow", decide("allow"), { class: "primary" }), button("Deny", decide("deny"))],
  };
}

// Arguments one by one: name, and value as text a person can read whole.
function pairsOf(value) {
  const entries = Object.entries(value ?? {});
  if (!entries.length) return h("p.muted", "none");
  return h("dl.pairs", entries.map(([name, one]) => [h("dt", h("code", name)), h("dd", h("pre.value", typeof one === "string" ? one : JSON.stringify(one, null, 2)))]));
}

function drift(question, changed, answer) {
  return {
    body: [h("p", "Its definition is not the one that was approved", changed.lock ? [" in ", h("code", changed.lock)] : null, ". Read what changed before it is used again."),
      h("p.small.muted", changed.paths.slice(0, 20).join(", ")), diffView(changed.lines)],
    actions: [button("Accept and pin it", () => answer({ accept: {} }), { class: "primary" }), button("Decline", () => answer("decline"))],
  };
}

function elicitForm(question, asked, answer) {
  const form = new FormView({ question: question.id });
  const accept = async () => { if (await form.ready()) answer(`{"accept":{"content":${form.valueJson ?? "{}"}}}`); };
  form.element.addEventListener("keydown", (event) => { if (isSubmit(event)) accept(); });
  return {
    body: [h("p.message", asked.message ?? ""), h("p.small.muted", "What you enter goes to this server. Enter no password."), form.element],
    actions: [button("Send", accept, { class: "primary" }), button("Decline", () => answer("decline")), button("Cancel the request", () => answer("cancel"))],
  };
}

function elicitUrl(question, asked, answer) {
  return {
    body: [h("p.message", asked.message ?? ""), h("p", "It would open this address in a new tab:"), addressShown(asked.url ?? ""), h("p.small.muted", "Look at the host. The page cannot reach this console.")],
    actions: [button("Open it and tell the server", () => { openInNewTab(asked.url ?? ""); answer({ accept: {} }); }, { class: "primary" }), button("Decline", () => answer("decline")), button("Cancel the request", () => answer("cancel"))],
  };
}

function sampling(question, asked, answer) {
  const text = h("textarea", { id: "sampling-answer", rows: 5 }), model = h("input", { type: "text", id: "sampling-model", value: "person" });
  const words = (content) => (Array.isArray(content) ? content : [content]).map((part) => (part?.type === "text" ? part.text : JSON.stringify(part))).join("\n");
  return {
    body: [
      asked.systemPrompt ? h("div.message-block", h("span.small.muted", "system"), h("pre.text", { tabIndex: 0 }, asked.systemPrompt)) : null,
      (asked.messages ?? []).map((message) => h("div.message-block", h("span.small.muted", message.role), h("pre.text", { tabIndex: 0 }, words(message.content)))),
      h("p.small.muted", `At most ${asked.maxTokens} tokens.`),
      h("div.field", h("label", { for: "sampling-answer" }, "Your answer"), text), h("div.field", h("label", { for: "sampling-model" }, "In the name of the model"), model)],
    actions: [button("Send the answer", () => answer({ message: { role: "assistant", model: model.value || "person", content: { type: "text", text: text.value }, stopReason: "endTurn" } }), { class: "primary" }), button("Refuse", () => answer({ refuse: { reason: "The person refused." } }))],
  };
}

function roots(question, asked, answer) {
  return {
    body: [h("p", "It wants to know which folders it may work in. The console hands out no folders; those of the configuration are given without asking.")],
    actions: [button("Refuse", () => answer({ refuse: { reason: "The person gave no folders." } }), { class: "primary" })],
  };
}

function unknown(question) {
  return { body: [h("p", "This page does not know the kind of this question."), jsonText(JSON.stringify(question, null, 2))], actions: [] };
}
