// Dialogs: one look, the focus kept inside and given back, Esc closes.

import { fill, h, newId } from "./dom.js";

export function openDialog({ title, body, actions = [], role = "dialog", kind = "", onclose }) {
  const heading = newId("dialog");
  const content = h("div.dialog-body", { id: `${heading}-body` }, body);
  const before = document.activeElement;
  const element = h("dialog", { role, class: kind, "aria-labelledby": heading, "aria-describedby": role === "alertdialog" ? `${heading}-body` : null },
    h("h2", { id: heading, tabIndex: -1 }, title), content, h("div.dialog-actions", actions));
  let closed = false;
  const close = () => {
    if (closed) return;
    closed = true;
    element.close();
    element.remove();
    onclose?.();
    if (before?.isConnected) before.focus({ preventScroll: true });
  };
  element.addEventListener("cancel", (event) => { event.preventDefault(); close(); });
  // A press beside the dialog is Esc.
  element.addEventListener("mousedown", (event) => event.target === element && close());
  document.getElementById("dialogs").append(element);
  element.showModal();
  // Keys that were meant for the page must not press a button of a dialog that opens by itself.
  element.querySelector("h2").focus();
  return { close, redraw: (...children) => fill(content, ...children) };
}
