// Addresses outside of the page: shown in full first, opened by a click only, with no way back.

import { button, h } from "./dom.js";
import { openDialog } from "./dialog.js";

// The parts of an address a person has to see: the host stands out, look-alikes are spelled out.
export function addressShown(address) {
  let url;
  try { url = new URL(address); } catch { return h("p.address", h("code", address)); }
  return h("p.address", h("code", `${url.protocol}//`, h("strong", url.host), `${url.pathname}${url.search}${url.hash}`));
}

export function openInNewTab(address) {
  if (/^(https?|mailto):/i.test(address)) window.open(address, "_blank", "noopener,noreferrer");
}

export function openOutside(address) {
  const dialog = openDialog({
    title: "Open a page outside of the console?",
    body: [h("p", "The address comes from a server:"), addressShown(address)],
    actions: [
      button("Open in a new tab", () => { openInNewTab(address); dialog.close(); }, { class: "primary" }),
      button("Stay here", () => dialog.close()),
    ],
  });
}
