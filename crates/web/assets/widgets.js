// The widgets of forms: what a person types or picks becomes an edit, never a value made here. The
// fields inside of a widget are drawn with `parts.draw`.

import { button, h, iconButton, plural, safeText } from "./dom.js";

const MOST_ITEMS = 100;
const MOST_SELECT = 300;
const MOST_CHECKS = 60;

export function drawWidget(parts) {
  switch (parts.field.kind.widget) {
    case "text": return textWidget(parts);
    case "number": return lineWidget(parts, { inputmode: "decimal", autocomplete: "off", class: "number" });
    case "boolean": return booleanWidget(parts);
    case "choice": return choiceWidget(parts);
    case "multi_choice": return multiWidget(parts);
    case "list": return listWidget(parts);
    case "object": return objectWidget(parts);
    case "variants": return variantsWidget(parts);
    case "deferred": return deferredWidget(parts);
    default: return linesWidget(parts, { class: "code", spellcheck: false });
  }
}

// What a person entered; a field that came later names its place in the schema.
export const entering = (field, text) => ({ do: "enter", path: field.path, text, place: field.fromExpansion ? field.place : undefined });

function described({ field, ids, problems }) {
  const by = [field.description || field.kind.widget !== "boolean" ? ids.hint : "", problems.length ? ids.problem : ""].filter(Boolean).join(" ");
  return { "aria-describedby": by || null, "aria-invalid": problems.length ? "true" : null, "aria-required": field.required ? "true" : null };
}

// The text that is shown: what is being typed, else what the console says.
const shownText = ({ form, key, value }) => form.typed.get(key) ?? (value.null ? "" : value.text ?? "");

function lineWidget(parts, props = {}) {
  const { form, field, key, ids } = parts;
  const input = h("input", { id: ids.input, type: "text", "data-key": key, value: shownText(parts), spellcheck: false, readOnly: field.read_only, ...described(parts), ...props,
    placeholder: field.default != null ? `default: ${typeof field.default === "string" ? field.default : JSON.stringify(field.default)}` : "",
    oninput: () => { form.type(field, input.value); suggest(parts, input); },
    onchange: () => form.commit() });
  return input;
}

function linesWidget(parts, props = {}) {
  const { form, field, key, ids } = parts;
  const text = shownText(parts);
  const area = h("textarea", { id: ids.input, "data-key": key, value: text, rows: Math.min(16, Math.max(3, text.split("\n").length)), readOnly: field.read_only, ...described(parts), ...props,
    oninput: () => form.type(field, area.value), onchange: () => form.commit() });
  return area;
}

const DATE = /^(\d{4}-\d\d-\d\d)?$/;

function textWidget(parts) {
  const { shape, format } = parts.field.kind;
  if (shape === "lines") return linesWidget(parts);
  if (shape === "masked") return lineWidget(parts, { type: "password", autocomplete: "new-password" });
  if (format === "date" && DATE.test(shownText(parts))) return lineWidget(parts, { type: "date" });
  const inputmode = { email: "email", uri: "url" }[format] ?? null;
  return parts.form.complete ? [lineWidget(parts, { list: `${parts.ids.input}d`, autocomplete: "off" }), h("datalist", { id: `${parts.ids.input}d` })] : lineWidget(parts, { inputmode, autocomplete: "off" });
}

// Values that the server offers to complete, fetched after a pause.
function suggest({ form, field, ids }, input) {
  if (!form.complete) return;
  clearTimeout(form.suggestTimer);
  form.suggestTimer = setTimeout(async () => {
    const values = await form.complete(field.name, input.value).catch(() => []);
    const list = document.getElementById(`${ids.input}d`);
    list?.replaceChildren(...values.slice(0, 100).map((value) => h("option", { value })));
  }, 200);
}

function radios({ form, field, key, ids }, options, chosen, pick) {
  return h("div.segments", { role: "radiogroup", "aria-labelledby": `${ids.input}l` }, options.map(([label, word]) =>
    h("label", h("input", { type: "radio", name: ids.input, "data-key": `${key}:${word}`, checked: chosen === word, disabled: field.read_only, onchange: () => { form.touched.add(key); pick(word); } }), h("span", label))));
}

function booleanWidget(parts) {
  const { form, field, value } = parts;
  const options = [["yes", "true"], ["no", "false"]];
  if (!field.required) options.unshift(["unset", "unset"]);
  return radios(parts, options, value.set && !value.null ? value.text : "unset", (word) =>
    form.edit(word === "unset" ? { do: "unset", path: field.path } : entering(field, word)));
}

function choiceWidget(parts) {
  const { form, field, key, ids, value } = parts;
  const options = field.kind.options;
  const shown = (option) => (option.title && option.title !== option.label ? `${option.title} (${option.label})` : option.label);
  if (options.length > MOST_SELECT) {
    return [lineWidget(parts, { list: `${ids.input}o`, autocomplete: "off" }),
      h("datalist", { id: `${ids.input}o` }, options.map((option) => h("option", { value: option.label }, option.title ?? ""))),
      h("p.hint.small", `${plural(options.length, "choice")}: type to find one.`)];
  }
  const select = h("select", { id: ids.input, "data-key": key, disabled: field.read_only, ...described(parts), onchange: () => {
    form.touched.add(key);
    const option = options[Number(select.value)];
    form.edit(option ? entering(field, option.label) : { do: "unset", path: field.path });
  } }, h("option", { value: "" }, field.required ? "Choose…" : "unset"),
  options.map((option, index) => h("option", { value: String(index), selected: value.set && option.label === value.text }, shown(option))));
  return select;
}

// The exact JSON of a choice: a number as it is written, because reading it could round it.
const exact = (option) => (typeof option.value === "number" ? option.label : JSON.stringify(option.value));

function multiWidget(parts) {
  const { form, field, key, value } = parts;
  const options = field.kind.options;
  if (options.length > MOST_CHECKS) return linesWidget(parts, { class: "code", spellcheck: false });
  let chosen = [];
  try { chosen = value.set ? JSON.parse(value.text).map((one) => JSON.stringify(one)) : []; } catch { /* A draft; the boxes begin anew. */ }
  const isChosen = (option) => chosen.includes(JSON.stringify(option.value));
  const flip = (option) => {
    form.touched.add(key);
    const next = options.filter((other) => (other === option ? !isChosen(other) : isChosen(other)));
    form.edit(entering(field, `[${next.map(exact).join(",")}]`));
  };
  return h("div.checks", options.map((option, index) => h("label", h("input", { type: "checkbox", "data-key": `${key}:${index}`, checked: isChosen(option), disabled: field.read_only, onchange: () => flip(option) }), h("span", option.title ?? option.label))));
}

function listWidget(parts) {
  const { form, field, key, draw } = parts;
  const { items, rest, first } = field.kind;
  const path = field.path;
  const row = (item, index) => h("li", draw(form, item), h("div.item-actions",
    iconButton("↑", `Move item ${index + 1} up`, () => form.edit({ do: "move", path, from: index, to: index - 1 }), { disabled: index === 0, class: "quiet", "data-key": `up:${key}:${index}` }),
    iconButton("↓", `Move item ${index + 1} down`, () => form.edit({ do: "move", path, from: index, to: index + 1 }), { disabled: index === items.length - 1, class: "quiet", "data-key": `down:${key}:${index}` }),
    iconButton("+", `Duplicate item ${index + 1}`, () => form.edit({ do: "duplicate", path, index }), { class: "quiet", "data-key": `dup:${key}:${index}` }),
    iconButton("×", `Delete item ${index + 1}`, () => form.edit({ do: "unset", path: [...path, index] }), { class: "quiet", "data-key": `del:${key}:${index}` })));
  return [
    items.length ? h("ol.items", items.slice(0, MOST_ITEMS).map(row)) : null,
    items.length > MOST_ITEMS ? h("p.small.muted", `${items.length - MOST_ITEMS} more items: edit them in the JSON view.`) : null,
    rest || items.length < first.length ? button(`Add ${items.length ? "another item" : "an item"}`, () => { form.folded.set(key, true); form.edit({ do: "add", path }); }, { "data-key": `add:${key}`, class: "small" }) : null,
  ];
}

function objectWidget(parts) {
  const { form, field, key, draw } = parts;
  const { fields, others, patterns } = field.kind;
  const input = h("input", { type: "text", "aria-label": `Name of a member to add to ${field.name || "the arguments"}`, "data-key": `name:${key}`, spellcheck: false, placeholder: "name",
    onkeydown: (event) => { if (event.key === "Enter" && !event.ctrlKey) { event.preventDefault(); add(); } } });
  const add = () => { if (input.value) form.edit({ do: "add_key", path: field.path, key: input.value }); };
  const nothing = !fields.length && !field.path.length;
  return [
    nothing ? h("p.muted", "It takes no arguments.") : null,
    fields.map((member) => draw(form, member)),
    others || patterns.length ? h("details.add-key", { open: form.folded.get(`add:${key}`) ?? false, ontoggle: (event) => form.folded.set(`add:${key}`, event.target.open) },
      h("summary.small.muted", patterns.length ? `Add a member (${patterns.map((one) => one.pattern).join(", ")})` : "Add a member of another name"),
      h("div.add-row", input, button("Add", add, { class: "small" }))) : null,
  ];
}

function variantsWidget(parts) {
  const { form, field, key, draw } = parts;
  const { options, chosen } = field.kind;
  const select = h("select", { "data-key": key, "aria-label": `Shape of ${field.title ?? (safeText(field.name) || "the value")}`, onchange: () => { form.touched.add(key); form.edit({ do: "pick", path: field.path, variant: Number(select.value) }); } },
    chosen === null ? h("option", { value: "" }, "Choose a shape…") : null,
    options.map((option, index) => h("option", { value: String(index), selected: index === chosen }, option.title)));
  return [select, field.kind.field ? h("div.variant", draw(form, { ...field.kind.field, title: field.kind.field.title ?? field.title }, true)) : null];
}

function deferredWidget({ form, field }) {
  return button("Show its fields", () => {
    form.expand.push({ path: field.path, place: field.place });
    form.edit();
  }, { class: "small" });
}
