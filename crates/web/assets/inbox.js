// The inbox: all open questions. One that belongs to a call of this tab opens by itself.

import { calls } from "./calls.js";
import { openDialog } from "./dialog.js";
import { button, empty, h, plural, say, timeOf, toast } from "./dom.js";
import { closeGone, openQuestion, showQuestion, titleOf } from "./questions.js";
import { listen, store } from "./store.js";

// What was told of each question, and which of them opened by themselves.
const seen = new Map();
const opened = new Set();
let list = null;

export function inboxButton() {
  const count = h("span.badge");
  const element = button(["Inbox ", count], openInbox, { class: "inbox", title: "Questions that wait for an answer (a)" });
  const draw = () => {
    const open = store.questions.size;
    count.textContent = open || "";
    count.hidden = !open;
    element.classList.toggle("asks", open > 0);
    element.setAttribute("aria-label", open ? `Inbox, ${plural(open, "question")}` : "Inbox, no questions");
    document.title = open ? `(${open}) Attaché` : "Attaché";
    closeGone();
    for (const question of store.questions.values()) announce(question);
    for (const [id, told] of seen) if (!store.questions.has(id)) told?.remove();
    list?.();
  };
  listen(["questions"], draw);
  draw();
  return element;
}

function announce(question) {
  const isMine = question.request !== undefined && calls.get(question.request)?.mine;
  const isNew = !seen.has(question.id);
  // The answer that says that a call is this tab's may come after its question.
  if (!isNew && !(isMine && !opened.has(question.id))) return;
  if (isMine && openQuestion() === null && !document.querySelector("dialog[open]")) {
    seen.get(question.id)?.remove();
    seen.set(question.id, null);
    opened.add(question.id);
    say(`${question.server} asks: ${titleOf(question)}`);
    showQuestion(question);
    return;
  }
  if (!isNew) return;
  say(`${question.server} asks: ${titleOf(question)}`);
  const told = toast([h("span", `${question.server}: ${titleOf(question)} `), button("Answer", () => { told.remove(); showQuestion(question); }, { class: "link" })]);
  seen.set(question.id, told);
}

export function openInbox() {
  if (openQuestion() !== null || list) return;
  const open = [...store.questions.values()];
  if (open.length === 1) { showQuestion(open[0]); return; }
  const dialog = openDialog({ title: "Inbox", body: [], actions: [h("span.grow"), button("Close", () => dialog.close())], onclose: () => { list = null; } });
  list = () => {
    const questions = [...store.questions.values()];
    dialog.redraw(questions.length ? h("ul.inbox-list", questions.map((question) => h("li", button([h("strong", titleOf(question)), h("span.small.muted", ` ${question.server} · since `, timeOf(question.since_ms))], () => { dialog.close(); showQuestion(question); }, { "data-key": `question:${question.id}` }))))
      : empty("Nothing waits for an answer.", h("p", "Approvals, forms and requests of servers appear here.")));
  };
  list();
}
