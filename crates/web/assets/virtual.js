// A list of any length of which only the rows in sight exist. The list has the focus and names the
// row at hand (aria-activedescendant), because a row that holds the focus could scroll away.

import { h, newId } from "./dom.js";

const BEYOND = 8;

export class VirtualList {
  // `row(item, index)` makes the inside of a row; `onopen(item)` is called for Enter and a click.
  constructor({label, rowHeight, row, onopen, onmove, rowClass, follow = false}) {
    this.rowHeight = rowHeight;
    this.row = row;
    this.onopen = onopen;
    this.onmove = onmove;
    this.rowClass = rowClass;
    this.items = [];
    this.count = 0;
    this.at = -1;
    this.following = follow;
    this.shown = new Map();
    this.id = newId("list");
    this.sizer = h("div.sizer", {role: "presentation"});
    this.element = h("div.virtual", {
      role: "listbox", tabIndex: 0, "aria-label": label, id: this.id,
      onscroll: () => this.scrolled(),
      onkeydown: (event) => this.key(event),
      onclick: (event) => this.click(event),
    }, this.sizer);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  // Shows other items; `keep(item)` says which one stays at hand.
  set(items, keep) {
    this.items = items;
    this.count = items.length;
    this.at = keep ? items.findIndex(keep) : Math.min(this.at, items.length - 1);
    this.redraw();
  }

  // The items have been appended to in place, and `dropped` were taken from the front.
  grew(dropped = 0) {
    this.count = this.items.length;
    if (dropped) {
      this.at = Math.max(-1, this.at - dropped);
      if (!this.following) this.element.scrollTop -= dropped * this.rowHeight;
      this.redraw();
    } else {
      this.resize();
      this.draw();
    }
  }

  redraw() {
    for (const element of this.shown.values()) element.remove();
    this.shown.clear();
    this.resize();
    this.draw();
  }

  resize() {
    this.sizer.style.height = `${this.count * this.rowHeight}px`;
    if (this.following) this.toEnd();
  }

  toEnd() {
    this.byItself = true;
    this.element.scrollTop = this.count * this.rowHeight;
  }

  follow(yes) {
    this.following = yes;
    if (yes) this.toEnd();
    this.draw();
  }

  scrolled() {
    if (this.onfollow && !this.byItself) {
      const atEnd = this.element.scrollTop + this.element.clientHeight >= this.count * this.rowHeight - this.rowHeight;
      if (atEnd !== this.following) this.onfollow(atEnd);
    }
    this.byItself = false;
    this.draw();
  }

  draw() {
    const height = this.element.clientHeight;
    if (!height) return;
    const top = this.element.scrollTop;
    const from = Math.max(0, Math.floor(top / this.rowHeight) - BEYOND);
    const to = Math.min(this.count, Math.ceil((top + height) / this.rowHeight) + BEYOND);
    for (const [index, element] of this.shown) {
      if (index < from || index >= to) { element.remove(); this.shown.delete(index); }
    }
    const fresh = document.createDocumentFragment();
    for (let index = from; index < to; index++) {
      if (this.shown.has(index)) continue;
      const element = this.make(index);
      this.shown.set(index, element);
      fresh.append(element);
    }
    if (fresh.childNodes.length) this.sizer.append(fresh);
    this.mark();
  }

  make(index) {
    const item = this.items[index];
    const element = h("div.row", {
      role: "option", id: `${this.id}-${index}`, "aria-posinset": index + 1, "aria-setsize": this.count,
      class: this.rowClass?.(item) ?? "",
    }, this.row(item, index));
    element.style.transform = `translateY(${index * this.rowHeight}px)`;
    element.style.height = `${this.rowHeight}px`;
    element.index = index;
    return element;
  }

  mark() {
    for (const [index, element] of this.shown) element.setAttribute("aria-selected", String(index === this.at));
    if (this.shown.has(this.at)) this.element.setAttribute("aria-activedescendant", `${this.id}-${this.at}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  select(index, open = false) {
    if (!this.count) return;
    this.at = Math.max(0, Math.min(this.count - 1, index));
    const top = this.at * this.rowHeight, {scrollTop, clientHeight} = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + this.rowHeight - clientHeight;
    this.draw();
    this.onmove?.(this.items[this.at]);
    if (open) this.onopen?.(this.items[this.at]);
  }

  click(event) {
    const row = event.target.closest?.(".row");
    if (row && row.parentNode === this.sizer) this.select(row.index, true);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 1);
    const moves = {ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -this.count, g: -this.count, End: this.count, G: this.count};
    if (event.key in moves) this.select(this.at < 0 ? (moves[event.key] > 0 && moves[event.key] < this.count ? 0 : this.count * Math.sign(moves[event.key])) : this.at + moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") { if (this.at >= 0) this.onopen?.(this.items[this.at]); }
    else return;
    event.preventDefault();
  }
}
