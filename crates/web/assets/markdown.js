// Markdown from the nodes that the API makes of it. HTML in it is text, images are links: fetching
// them would tell a stranger that they are looked at.

import { h } from "./dom.js";
import { openOutside } from "./outside.js";

export function markdown(parts) {
  return h("div.markdown", parts.map(part));
}

function part(node) {
  switch (node.part) {
    // Headings of an answer stand below those of the page.
    case "heading": return h(`h${Math.min(6, node.level + 2)}`, {class: `level-${node.level}`}, words(node.words));
    case "paragraph": return h("p", words(node.words));
    case "code": return h("pre.code", {tabIndex: 0, "aria-label": node.language ? `Code, ${node.language}` : "Code"}, node.text);
    case "quote": return h("blockquote", node.parts.map(part));
    case "list": return h(node.start == null ? "ul" : "ol", {start: node.start ?? null}, node.items.map(listItem));
    case "table": return tableOf(node);
    case "rule": return h("hr");
    default: return h("p", JSON.stringify(node));
  }
}

function listItem(node) {
  const task = node.done == null ? null : h("span.task", node.done ? "☑ " : "☐ ");
  const [only, ...others] = node.parts;
  const inside = only?.part === "paragraph" && !others.length ? words(only.words) : node.parts.map(part);
  return h("li", task, inside);
}

function tableOf(node) {
  const [first = [], ...rest] = node.rows;
  const cell = (tag) => (content, index) => h(tag, {class: node.alignments[index] === "right" ? "number" : node.alignments[index] === "center" ? "center" : ""}, words(content));
  return h("div.table", {tabIndex: 0, role: "group", "aria-label": "table"}, h("table", h("thead", h("tr", first.map(cell("th")))), h("tbody", rest.map((row) => h("tr", row.map(cell("td")))))));
}

function words(list) {
  return list.map((word) => {
    switch (word.inline) {
      case "text": return word.text;
      case "code": return h("code", word.text);
      case "emphasis": return h("em", words(word.words));
      case "strong": return h("strong", words(word.words));
      case "strikethrough": return h("s", words(word.words));
      case "break": return h("br");
      case "link": return linkOf(word);
      default: return "";
    }
  });
}

function linkOf(word) {
  const inside = words(word.words);
  const label = inside.length ? inside : word.url;
  const kind = word.is_image ? h("span.small.muted", " (image, not fetched)") : null;
  if (!word.can_be_opened) return h("span", label, h("span.small.muted", ` (${word.url})`), kind);
  return h("span", h("button.link", {type: "button", title: word.url, onclick: () => openOutside(word.url)}, label), kind);
}
