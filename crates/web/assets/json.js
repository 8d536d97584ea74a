// JSON for the eye: values as a tree that unfolds, and text with its parts told apart.

import { h, plural } from "./dom.js";

const OPEN_DEPTH = 2;
const AT_ONCE = 200;

// A tree as the API gives it: every text in it is safe, numbers are as they were written.
export function jsonTree(node, name = null, depth = isSmall(node) ? -100 : 0) {
  const label = name === null ? null : h("span.key", name, ": ");
  if (node.node !== "list" && node.node !== "object") return h("div.leaf", label, leaf(node));
  const isList = node.node === "list";
  const inside = isList ? node.items.map((item, index) => [String(index), item]) : node.members.map((member) => [member.name, member.value]);
  const total = inside.length + node.more;
  const count = plural(total, isList ? "item" : "member");
  if (!total) return h("div.leaf", label, h("span.muted", isList ? "[ ]" : "{ }"));
  const body = h("div.branch");
  const unfold = () => {
    if (!body.childNodes.length) more(body, inside, node.more, depth);
  };
  const isOpen = depth < OPEN_DEPTH && inside.length <= AT_ONCE;
  if (isOpen) unfold();
  return h("details.tree", {open: isOpen, ontoggle: (event) => event.target.open && unfold()},
    h("summary", label, h("span.muted", isList ? `[${count}]` : `{${count}}`)), body);
}

// Few values are all shown at once.
function isSmall(root) {
  let left = 80;
  const waiting = [root];
  while (waiting.length && left-- > 0) {
    const node = waiting.pop();
    waiting.push(...(node.items ?? []).slice(0, 81), ...(node.members ?? []).slice(0, 81).map((member) => member.value));
  }
  return left > 0;
}

// A long list unfolds in pieces, so that no click builds fifty thousand elements.
function more(body, inside, leftOut, depth, from = 0) {
  for (const [name, value] of inside.slice(from, from + AT_ONCE)) body.append(jsonTree(value, name, depth + 1));
  const next = from + AT_ONCE;
  if (next < inside.length) {
    const button = h("button.link", {type: "button", onclick: () => { button.remove(); more(body, inside, leftOut, depth, next); }}, `Show ${Math.min(AT_ONCE, inside.length - next)} more of ${inside.length - next}`);
    body.append(button);
  } else if (leftOut) body.append(h("div.muted", `${plural(leftOut, "more value")} not shown; copy the JSON to see all.`));
}

function leaf(node) {
  if (node.node === "text") return h("span.string", `"${node.text}"`);
  if (node.node === "number") return h("span.number", node.text);
  return h("span.word", node.node === "bool" ? String(node.value) : "null");
}

export function leafText(node) {
  if (!node) return "";
  if (node.node === "text" || node.node === "number") return node.text;
  return node.node === "bool" ? String(node.value) : node.node === "null" ? "null" : "…";
}

const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g;
const COLOURED = 200000;

// JSON text with keys, strings and numbers told apart; long text stays plain.
export function jsonText(text) {
  const pre = h("pre.code", {tabIndex: 0});
  if (text.length > COLOURED) {
    pre.textContent = text;
    return pre;
  }
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    if (match.index > at) pre.append(text.slice(at, match.index));
    const kind = match[1] ? (match[2] ? "key" : "string") : match[3] ? "number" : "word";
    pre.append(h("span", {class: kind}, match[1] ?? match[0]));
    if (match[2]) pre.append(match[2]);
    at = match.index + match[0].length;
  }
  pre.append(text.slice(at));
  return pre;
}

// The same JSON with line breaks and indentation, every character of its values kept: numbers
// are never read, so none is rounded.
export function prettyJson(text) {
  let out = "", depth = 0, inText = false;
  const line = () => "\n" + "  ".repeat(depth);
  for (let at = 0; at < text.length; at++) {
    const c = text[at];
    if (inText) {
      out += c;
      if (c === "\\") out += text[++at] ?? "";
      else if (c === '"') inText = false;
    } else if (c === '"') { inText = true; out += c; }
    else if (c === "{" || c === "[") {
      const closing = /^\s*[}\]]/.exec(text.slice(at + 1, at + 40));
      if (closing) { out += c + closing[0].trim(); at += closing[0].length; } else { depth++; out += c + line(); }
    } else if (c === "}" || c === "]") { depth--; out += line() + c; }
    else if (c === ",") out += c + line();
    else if (c === ":") out += ": ";
    else if (!/\s/.test(c)) out += c;
  }
  return out;
}
