// A view of two panes: a list with its filter, and what is picked from it. On a narrow screen one of
// them is shown at a time.

import { button, counted, empty, failure, fill, h, newId, plural } from "./dom.js";
import { filterItems, parseFilter } from "./filter.js";
import { href } from "./router.js";
import { listen } from "./store.js";
import { VirtualList } from "./virtual.js";

export class ListPane {
  // items(): all of them · row(item) · open(item) · isOpen(item) · haystack(item) · field(item, token)
  // notes(): elements above the list · nothing(): element if there is no item at all
  constructor({ title, tokens, rowHeight, items, row, open, isOpen, haystack, field, notes, nothing, rowClass, tools = [] }) {
    Object.assign(this, { tokens, items, isOpen, haystack, field, notes, nothing });
    this.count = h("span.count");
    const hint = newId("hint");
    this.input = h("input.filter", { type: "search", placeholder: "Filter", "aria-label": `Filter ${title.toLowerCase()}`, "aria-describedby": hint, "data-filter": "", spellcheck: false, autocomplete: "off",
      oninput: () => this.draw(true),
      onkeydown: (event) => {
        if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); this.list.element.focus(); this.list.select(0, event.key === "Enter"); }
        if (event.key === "Escape" && this.input.value) { event.preventDefault(); event.stopPropagation(); this.input.value = ""; this.draw(true); }
      } });
    this.list = new VirtualList({ label: title, rowHeight, row, onopen: open, rowClass });
    this.above = h("div.notes");
    this.instead = h("div.instead");
    this.element = h("section.pane.list-pane", { "aria-label": title },
      h("header", h("h1", title), this.count, h("span.grow"), tools),
      h("div.filter-row", this.input, h("span.unseen", { id: hint }, `Words, or tokens: ${tokens.map((token) => `${token}:`).join(" ")}`)),
      this.above, this.list.element, this.instead);
  }

  draw(fromTop = false) {
    const all = this.items();
    const filter = parseFilter(this.input.value, this.tokens);
    const shown = filterItems(all, filter, this.haystack, this.field);
    const hasFilter = filter.words.length || filter.tokens.length;
    this.count.textContent = hasFilter && shown.length !== all.length ? `${counted(shown.length)} of ${counted(all.length)}` : all.length ? counted(all.length) : "";
    if (fromTop) this.list.element.scrollTop = 0;
    this.list.set(shown, this.isOpen);
    this.list.element.hidden = !shown.length;
    fill(this.above, this.notes?.() ?? []);
    if (shown.length) fill(this.instead);
    else fill(this.instead, all.length ? empty("Nothing fits the filter.", button("Clear the filter", () => { this.input.value = ""; this.draw(true); this.input.focus(); })) : this.nothing());
  }

  filterBy(text) {
    this.input.value = text;
    this.draw(true);
  }
}

// A list beside what is picked from it. `page(detail, ...rest)` draws what the address names in at
// least `parts` parts, and may have `update` and `leave`; `invite()` stands there until then.
export function listView(place, { label, topics, parts = 2, page, invite, isOpen, ...list }) {
  const detail = h("section.pane.detail", { "aria-label": label, tabIndex: -1 });
  let current = null;
  const pane = new ListPane({ ...list, isOpen: (item) => current && isOpen(item, current) });
  const stop = listen(topics, () => {
    pane.draw();
    if (current) current.update?.();
    else fill(detail, invite());
  });
  place.append(h("div.panes", pane.element, detail));
  pane.draw();
  return {
    pane,
    show(rest) {
      current?.leave?.();
      current = rest.length >= parts ? page(detail, ...rest) : null;
      place.classList.toggle("has-detail", Boolean(current));
      if (!current) fill(detail, invite());
      pane.list.set(pane.list.items, pane.isOpen);
    },
    leave() { stop(); current?.leave?.(); },
  };
}

export const welcome = (words, ...more) => h("div.welcome", h("p.big", words), more);

// The way back to the list, on a narrow screen.
export const back = (view) => h("a.back", { href: href(view) }, `← ${view[0].toUpperCase()}${view.slice(1)}`);

// The sentences above a list: servers that have not answered, and lists from memory.
export function noteLines({ missing, remembered, answered, of }, list, retry) {
  if (list.error) return [failure(list.error, button("Try again", retry))];
  const lines = [];
  if (missing.length) {
    const parked = missing.filter((server) => server.outcome !== "starting");
    const words = missing.length - parked.length ? `${answered} of ${plural(of, "server")} answered; ${missing.filter((server) => server.outcome === "starting").map((server) => server.name).join(", ")} still starting.` : `${answered} of ${plural(of, "server")} answered.`;
    lines.push(h("p.note", words));
  }
  if (remembered.length) lines.push(h("p.note", `Remembered, not fresh: ${remembered.map((server) => server.name).join(", ")}.`));
  return lines;
}
