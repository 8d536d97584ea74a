// The palette: any server, tool, resource, prompt or command by a few letters.

import { listOf, load } from "./catalog.js";
import { openDialog } from "./dialog.js";
import { h, newId } from "./dom.js";
import { filterItems, parseFilter } from "./filter.js";
import { go } from "./router.js";
import { listen, store } from "./store.js";

const MOST = 60;
let paletteIsOpen = false;

export function openPalette(commands) {
  if (paletteIsOpen) return;
  paletteIsOpen = true;
  for (const kind of ["tools", "resources", "prompts"]) load(kind);
  const id = newId("palette");
  let shown = [], at = 0;
  const input = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": id, "aria-label": "Go to or do", placeholder: "Go to a tool, server, resource, prompt, or do…", spellcheck: false, autocomplete: "off", oninput: () => { at = 0; draw(); },
    onkeydown: (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
      if (step) { event.preventDefault(); at = Math.max(0, Math.min(shown.length - 1, at + step)); mark(); }
      if (event.key === "Enter" && shown[at]) { event.preventDefault(); pick(shown[at]); }
    } });
  const results = h("ul.palette-list", { id, role: "listbox", "aria-label": "Found" });
  const dialog = openDialog({ title: "Go to", kind: "palette", body: [input, results], onclose: () => { paletteIsOpen = false; stop(); } });
  const pick = (item) => { dialog.close(); item.act(); };
  const draw = () => {
    const words = parseFilter(input.value, []);
    shown = filterItems(everything(commands), words, (item) => item.hay).slice(0, MOST);
    results.replaceChildren(...shown.map((item, index) => h("li", { role: "option", id: `${id}-${index}`, onclick: () => pick(item) }, h("span.kind.small.muted", item.kind), h("span.name", item.name), h("span.small.muted", item.more ?? ""))));
    if (!shown.length) results.append(h("li.muted", { role: "option", "aria-selected": "false" }, "Nothing fits."));
    mark();
  };
  const mark = () => {
    [...results.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === at && shown.length > 0)));
    results.children[at]?.scrollIntoView({ block: "nearest" });
    if (shown.length) input.setAttribute("aria-activedescendant", `${id}-${at}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const stop = listen(["tools", "resources", "prompts", "servers"], draw);
  draw();
  input.focus();
}

const entryOf = (kind, name, more, act) => ({ kind, name, more, act, hay: [`${name} ${more ?? ""}`.toLowerCase(), kind] });

function everything(commands) {
  return [
    ...commands.map(({ name, keys, act }) => entryOf("do", name, keys, act)),
    ...[...store.servers.keys()].map((name) => entryOf("server", name, null, () => go("servers", name))),
    ...listOf("tools").entries.map((tool) => entryOf("tool", tool.name, tool.server, () => go("tools", tool.server, tool.name))),
    ...listOf("resources").entries.map((entry) => entryOf("resource", entry.title ?? entry.name, `${entry.server} ${entry.uri}`, () => go("resources", entry.server, entry.uri))),
    ...listOf("prompts").entries.map((prompt) => entryOf("prompt", prompt.name, prompt.server, () => go("prompts", prompt.server, prompt.name))),
  ];
}
