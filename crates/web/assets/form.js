// A form over one value. The console makes the fields, keeps numbers exact and tells the problems;
// this draws them and sends back each edit.

import { post } from "./api.js";
import { failure, fill, h, pathKey } from "./dom.js";
import { drawField } from "./fields.js";
import { prettyJson } from "./json.js";
import { entering } from "./widgets.js";

const TYPING_MS = 140;

export class FormView {
  // `of` names the form for the API; `onchange(form)` is called after each answer; `complete(name,
  // text)` finds values for a field, where a server offers that.
  constructor(of, { valueJson = null, defaults = true, onchange = () => {}, complete = null } = {}) {
    this.of = of;
    this.onchange = onchange;
    this.complete = complete;
    this.state = valueJson === null ? null : { value_json: valueJson };
    this.queue = valueJson === null && defaults ? [{ do: "defaults" }] : [];
    this.expand = [];
    this.typed = new Map();
    this.touched = new Set();
    this.folded = new Map();
    this.answer = null;
    this.view = "form";
    this.tried = false;
    this.element = h("div.form", { "aria-busy": "true" }, h("p.muted", "Making the form…"));
    this.settled = this.flush();
  }

  get valueJson() { return this.answer?.value_json ?? null; }
  get problems() { return this.answer?.problems ?? []; }

  // Sends edits; those made while a request is under way go together with the next.
  edit(...edits) {
    this.queue.push(...edits);
    this.settled = this.sending ? this.sending.then(() => this.flush()) : this.flush();
    return this.settled;
  }

  // A person types: the text stays in its field, and is sent after a short pause.
  type(field, text) {
    const key = pathKey(field.path);
    this.typed.set(key, text);
    this.touched.add(key);
    clearTimeout(this.timer);
    // An emptied field is left out; an empty text is sent only where one has to be.
    const isOut = text === "" && (field.kind.widget !== "text" || !field.required) && typeof field.path.at(-1) !== "number";
    const edit = isOut ? { do: "unset", path: field.path } : entering(field, text);
    this.waiting = { ...this.waiting, [key]: edit };
    this.timer = setTimeout(() => this.commit(), TYPING_MS);
  }

  commit() {
    clearTimeout(this.timer);
    const edits = Object.values(this.waiting ?? {});
    this.waiting = null;
    return edits.length ? this.edit(...edits) : this.settled;
  }

  flush() {
    if (this.sending) return this.sending;
    const edits = this.queue;
    this.queue = [];
    const before = new Map(this.typed);
    this.sending = post("/form", { of: this.of, state: this.state, edits, expand: this.expand }).then((answer) => {
      this.answer = answer;
      this.state = answer.state;
      this.failed = null;
      // What was typed since stays as typed.
      for (const [key, text] of before) if (this.typed.get(key) === text && !this.waiting?.[key]) this.typed.delete(key);
      for (const refused of answer.refused) this.refusal = refused.message;
      if (!answer.refused.length) this.refusal = null;
    }, (error) => { this.failed = error; }).finally(() => {
      this.sending = null;
      if (this.queue.length) return this.flush();
      this.draw();
      this.onchange(this);
    });
    return this.sending;
  }

  show(view) {
    this.view = view;
    this.draw();
  }

  // Before a run: what is typed counts, and every problem shows.
  async ready() {
    await this.commit();
    if (this.view === "json") await this.commitJson();
    await this.settled;
    this.tried = true;
    this.draw();
    return !this.failed && !this.problems.length;
  }

  draw() {
    this.element.removeAttribute("aria-busy");
    if (this.failed) return fill(this.element, failure(this.failed));
    if (!this.answer) return;
    this.values = new Map(this.answer.values.map((value) => [pathKey(value.path), value]));
    this.problemsAt = new Map();
    for (const problem of this.problems) {
      const key = pathKey(problem.path);
      this.problemsAt.set(key, [...(this.problemsAt.get(key) ?? []), problem]);
    }
    this.expanded = new Map((this.answer.expanded ?? []).map((field) => [pathKey(field.path), { ...field, fromExpansion: true }]));
    this.isDrawing = true;
    fill(this.element, this.view === "json" ? this.jsonView() : drawField(this, this.answer.field, true), this.summary());
    this.isDrawing = false;
  }

  jsonView() {
    const key = "json:root";
    const text = this.typedJson ?? this.answer.pretty ?? (this.answer.value_json ? prettyJson(this.answer.value_json) : "");
    const area = h("textarea.code", { "data-key": key, "aria-label": "Arguments as JSON", value: text, spellcheck: false, rows: Math.min(24, Math.max(6, text.split("\n").length + 1)),
      oninput: () => {
        this.typedJson = area.value;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.commitJson(), TYPING_MS * 2);
      },
      // Drawing takes the field away for a moment, which is no leaving. Text that is no JSON stays.
      onblur: () => { if (!this.isDrawing) this.commitJson().then(() => { if (!this.refusal && !this.problems.some((problem) => problem.rule === "syntax")) { this.typedJson = null; this.draw(); } }); } });
    return area;
  }

  commitJson() {
    clearTimeout(this.timer);
    if (this.typedJson == null) return Promise.resolve();
    return this.edit(this.typedJson.trim() ? { do: "set", path: [], json: this.typedJson } : { do: "unset", path: [] });
  }

  // Which problems a person sees: those of fields that were touched; after a try, all.
  shownProblems(path) {
    const problems = this.problemsAt.get(pathKey(path)) ?? [];
    return this.tried || this.touched.has(pathKey(path)) || this.view === "json" ? problems : problems.filter((problem) => problem.rule === "syntax");
  }

  summary() {
    const all = this.problems;
    const notes = this.answer.unchecked.length ? h("p.small.muted", `Not checked here: ${this.answer.unchecked.join(", ")}. The server judges it.`) : null;
    const refused = this.refusal ? h("p.problem", { role: "alert" }, this.refusal) : null;
    if (!all.length || !(this.tried || this.view === "json")) return [refused, notes];
    // In the form each stands at its field already.
    const listed = this.view === "json" ? all : all.filter((problem) => !this.values.has(pathKey(problem.path)));
    return [refused, h("div.problems", { role: "alert" }, h("p", all.length === 1 ? "One thing is not right yet." : `${all.length} things are not right yet.`),
      listed.length ? h("ul", listed.slice(0, 12).map((problem) => h("li", problem.message))) : null), notes];
  }
}
