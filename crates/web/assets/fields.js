// One field of a form: its name, what it means, its widget, what is wrong with it.

import { button, chip, h, iconButton, pathKey } from "./dom.js";
import { drawWidget } from "./widgets.js";

// Widgets that contain fields are groups; all others are one label and one control.
const GROUPS = ["list", "object", "variants", "deferred"];

export function drawField(form, field, isRoot = false) {
  if (field.kind.widget === "deferred" && form.expanded.has(pathKey(field.path))) field = form.expanded.get(pathKey(field.path));
  if (form.inExpansion) field = { ...field, fromExpansion: true };
  const key = pathKey(field.path);
  const value = form.values.get(key) ?? { text: "", set: false };
  const ids = { input: `f${form.id ??= formNumber()}${key}`, hint: `h${form.id}${key}`, problem: `p${form.id}${key}` };
  const problems = form.shownProblems(field.path);
  const parts = { form, field, value, key, ids, problems, draw: drawField };
  if (isRoot) return h("div.fields", field.kind.widget === "object" ? null : hint(parts), problemLines(parts), inside(parts));
  return GROUPS.includes(field.kind.widget) ? group(parts) : single(parts);
}

let formCount = 0;
const formNumber = () => ++formCount;

function inside(parts) {
  const { form, field } = parts;
  const outer = form.inExpansion;
  form.inExpansion = outer || Boolean(field.fromExpansion);
  const drawn = drawWidget(parts);
  form.inExpansion = outer;
  return drawn;
}

function single(parts) {
  const { field, ids, value } = parts;
  const isRadio = field.kind.widget === "boolean" || field.kind.widget === "multi_choice";
  return h("div.field", { class: [value.set ? "is-set" : "", parts.problems.length ? "is-wrong" : ""].join(" "), role: isRadio ? "group" : null, "aria-labelledby": isRadio ? `${ids.input}l` : null },
    h("div.field-head", isRadio ? h("span.label", { id: `${ids.input}l` }, fieldName(field)) : h("label", { for: ids.input }, fieldName(field)), marks(parts), actions(parts)),
    hint(parts), inside(parts), problemLines(parts));
}

function group(parts) {
  const { form, field, key, value } = parts;
  const isOpen = form.folded.get(key) ?? (field.required || value.set || field.kind.widget === "variants" || field.path.length < 2);
  return h("details.group", { open: isOpen, ontoggle: (event) => form.folded.set(key, event.target.open) },
    h("summary", h("span.label", fieldName(field)), marks(parts), h("span.small.muted", value.set ? "" : " unset")),
    h("div.group-body", { role: "group", "aria-label": field.title ?? field.name }, hint(parts), actions(parts), inside(parts), problemLines(parts)));
}

function fieldName(field) {
  const isItem = /^\d+$/.test(field.name) && typeof field.path.at(-1) === "number";
  if (isItem) return field.title ? `${field.title} ${Number(field.name) + 1}` : `Item ${Number(field.name) + 1}`;
  return field.title ? [field.title, " ", h("code.small.muted", field.name)] : h("code", field.name || "value");
}

function marks({ field }) {
  return h("span.marks",
    field.required ? h("span.required", { title: "It cannot be left out" }, "required") : null,
    field.read_only ? chip("the server sets it") : null,
    field.deprecated ? chip("deprecated", "warn") : null,
    field.undescribed ? chip("not in the schema") : null);
}

function hint({ field, ids }) {
  const rules = rulesOf(field.kind);
  const words = [field.description, rules].filter(Boolean);
  return words.length ? h("p.hint.small", { id: ids.hint }, field.description, field.description && rules ? " " : null, rules ? h("span.rules", rules) : null) : null;
}

function problemLines({ problems, ids }) {
  return problems.length ? h("p.problem.small", { id: ids.problem }, problems.map((problem) => h("span", problem.message, " "))) : null;
}

// The constraints in words, as far as a person needs them before typing.
function rulesOf(kind) {
  const between = (range, unit) => {
    if (!range || range.min === null && range.max === null) return "";
    if (range.min !== null && range.max !== null) return range.min === range.max ? `exactly ${range.min} ${unit}` : `${range.min} to ${range.max} ${unit}`;
    return range.min !== null ? (range.min ? `at least ${range.min} ${unit}` : "") : `at most ${range.max} ${unit}`;
  };
  const rules = [];
  if (kind.widget === "text") rules.push(kind.format ?? "", between(kind.length, "characters"), ...kind.patterns.map((pattern) => `matches ${pattern}`));
  if (kind.widget === "number") {
    if (kind.whole) rules.push("whole number");
    for (const [key, words] of [["minimum", "at least"], ["maximum", "at most"], ["above", "more than"], ["below", "less than"], ["step", "in steps of"]]) if (kind[key] !== null) rules.push(`${words} ${kind[key]}`);
  }
  if (kind.widget === "multi_choice" || kind.widget === "list") rules.push(between(kind.count, "items"), kind.unique ? "no two equal" : "");
  if (kind.widget === "object") rules.push(...kind.dependent_required.map(([one, others]) => `with ${one} also ${others.join(", ")}`));
  if (kind.widget === "json") rules.push(`as JSON: ${kind.reason}`);
  return rules.filter(Boolean).join(" · ");
}

function actions({ form, field, value, key }) {
  const act = (edit) => () => { form.typed.delete(key); form.edit(edit); };
  const path = field.path;
  const isItem = typeof path.at(-1) === "number";
  return h("span.field-actions",
    !value.set && field.default != null ? button("default", act({ do: "default", path }), { class: "link small", title: `Use the default, ${JSON.stringify(field.default)}` }) : null,
    field.examples.length ? button("example", () => {
      form.exampleAt = { ...form.exampleAt, [key]: ((form.exampleAt?.[key] ?? -1) + 1) % field.examples.length };
      act({ do: "example", path, index: form.exampleAt[key] })();
    }, { class: "link small", "data-key": `example:${key}` }) : null,
    field.nullable && !value.null ? button("null", act({ do: "null", path }), { class: "link small", title: "Send null, which is not the same as leaving it out" }) : null,
    value.null ? chip("null") : null,
    value.set && !isItem && !(field.required && field.kind.widget === "boolean") ? iconButton("×", `Leave ${field.title ?? field.name} out`, act({ do: "unset", path }), { class: "quiet" }) : null);
}
