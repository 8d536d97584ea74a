// Answers as the API gives them, block by block. Media become blob addresses; what could contain a
// program, such as SVG, is for saving only.

import { post } from "./api.js";
import { button, bytes, chip, copy, h, plural } from "./dom.js";
import { jsonText, jsonTree, leafText } from "./json.js";
import { markdown } from "./markdown.js";

const FIRST_TEXT = 256 * 1024;
const FIRST_ROWS = 200;
let blobs = [];

// `open(uri)` reads a resource of the same server.
export function renderDocument(doc, open) {
  return h("div.document",
    doc.is_error ? h("p.verdict.bad", "tool failed") : null,
    doc.description ? h("p.muted", doc.description) : null,
    !doc.blocks.length && !doc.structured ? h("p.muted", "The answer is empty.") : null,
    doc.structured ? structured(doc.structured, open) : null,
    doc.blocks.map((block) => blockOf(block, open, Boolean(doc.structured))));
}

function structured(part, open) {
  const report = part.report;
  return h("section.block", {"aria-label": "Structured answer"},
    head("structured answer", part.bytes),
    report?.problems.length ? h("div.warning", h("p", "It does not keep what the tool's output schema promises:"),
      h("ul", report.problems.slice(0, 20).map((problem) => h("li", problem.message)))) : null,
    bodyOf(part.body, open));
}

function blockOf(block, open, hasStructured) {
  const label = block.kind === "unknown" ? `unknown block ${block.label}` : block.kind;
  const inside = () => bodyOf(block, open);
  const facts = [block.role ? chip(block.role) : null, block.audience?.length ? chip(`for ${block.audience.join(", ")}`) : null];
  if (block.repeats_structured && hasStructured) {
    const body = h("div");
    return h("details.block", {ontoggle: (event) => event.target.open && !body.firstChild && body.append(inside())},
      h("summary.muted", `the same as text, ${bytes(block.bytes)}`), body);
  }
  const plain = block.kind === "text" && !block.role;
  return h("section.block", {"aria-label": label}, plain && block.bytes < 4000 ? null : head(label, block.bytes, facts), inside());
}

function head(label, size, facts = []) {
  return h("div.block-head", h("span.small.muted", label), facts, h("span.small.muted.size", bytes(size)));
}

function bodyOf(body, open) {
  switch (body.kind) {
    case "text": return textBody(body, open);
    case "markdown": return switchable(() => markdown(body.parts), body.text, "Markdown", "as text");
    case "tree": return jsonTree(body.root);
    case "table": return table(body);
    case "image": return body.can_be_shown ? imageOf(body) : saveOnly(body);
    case "audio": return body.can_be_shown ? audioOf(body) : saveOnly(body);
    case "binary": return saveOnly(body);
    case "link": return link(body, open);
    case "resource": return h("div", h("p.small", h("code", body.uri)), bodyOf(body.body, open));
    default: return h("details", h("summary", `unknown block ${body.label ?? body.kind}`), jsonText(body.raw ?? JSON.stringify(body, null, 2)));
  }
}

// Text that looks like more is shown as that, as soon as the console has read it.
function textBody(body, open) {
  const plain = longText(body.text);
  if (body.looks_like === "plain") return plain;
  const place = h("div", plain);
  post("/view", { text: body.text, as: body.looks_like }).then(({ block }) =>
    place.replaceChildren(switchable(() => (block.kind === "markdown" ? markdown(block.parts) : bodyOf(block, open)), body.text, body.looks_like === "json" ? "JSON" : "Markdown", "as text")), () => {});
  return place;
}

function switchable(rich, text, name, other) {
  const place = h("div", rich());
  let isRich = true;
  const flip = button(other, () => {
    isRich = !isRich;
    flip.textContent = isRich ? other : `as ${name}`;
    place.replaceChildren(isRich ? rich() : longText(text));
  }, {class: "link small"});
  return h("div.switchable", h("div.tools", flip, button("copy", () => copy(text), {class: "link small"})), place);
}

// The first part at once, the rest on demand.
function longText(text) {
  const pre = h("pre.text", text.slice(0, FIRST_TEXT));
  const tools = text.length > 200 ? h("div.tools", button("copy", () => copy(text), {class: "link small"})) : null;
  if (text.length <= FIRST_TEXT) return h("div.switchable", tools, pre);
  const rest = button(`Show the other ${bytes(text.length - FIRST_TEXT)}`, () => {
    pre.append(text.slice(FIRST_TEXT));
    rest.remove();
  });
  return h("div.switchable", tools, pre, h("p.small.muted", `The first ${bytes(FIRST_TEXT)} are shown. `, rest));
}

function table(body) {
  let rows = body.rows, sorted = null, shown = FIRST_ROWS;
  const place = h("div.table", {tabIndex: 0, role: "group", "aria-label": body.name ?? "table"});
  const sortBy = (index) => {
    sorted = sorted?.index === index ? {index, down: !sorted.down} : {index, down: false};
    const order = (a, b) => compareCells(a[index], b[index]) * (sorted.down ? -1 : 1);
    rows = [...body.rows].sort(order);
    draw();
  };
  const isNumeric = body.columns.map((_, index) => body.rows.slice(0, 50).every((row) => !row[index] || row[index].node === "number" || row[index].node === "null"));
  const heading = (column, index) => h("th", {scope: "col", class: isNumeric[index] ? "number" : "", "aria-sort": sorted?.index === index ? (sorted.down ? "descending" : "ascending") : null},
    button(column.title ?? column.name, () => sortBy(index), {class: "link", "data-key": `sort-${index}`}));
  const draw = () => {
    place.replaceChildren(h("table", h("thead", h("tr", body.columns.map(heading))),
      h("tbody", rows.slice(0, shown).map((row) => h("tr", row.map((cell, index) => h("td", {class: isNumeric[index] ? "number" : ""}, leafText(cell))))))));
    if (rows.length > shown) place.append(button(`Show more of ${plural(rows.length, "row")}`, () => { shown += FIRST_ROWS * 5; draw(); }, {class: "link"}));
    if (body.more) place.append(h("p.muted.small", `${plural(body.more, "more row")} not shown.`));
  };
  draw();
  const csv = () => [body.columns.map((column) => column.name), ...rows.map((row) => row.map(leafText))].map((cells) => cells.join("\t")).join("\n");
  return h("div.switchable", h("div.tools", button("copy", () => copy(csv(), "the table"), {class: "link small"})), place);
}

function compareCells(a, b) {
  if (!a || !b) return (a ? 0 : 1) - (b ? 0 : 1);
  if (a.node === "number" && b.node === "number") return Number(a.text) - Number(b.text);
  return leafText(a).localeCompare(leafText(b));
}

function blobOf(media) {
  const decoded = Uint8Array.from(atob(media.data), (c) => c.charCodeAt(0));
  const type = media.can_be_shown ? media.mime_type : "application/octet-stream";
  const address = URL.createObjectURL(new Blob([decoded], {type}));
  blobs.push(address);
  if (blobs.length > 200) URL.revokeObjectURL(blobs.shift());
  return address;
}

const save = (media, address) => h("a", {href: address, download: `answer.${(media.mime_type.split("/")[1] ?? "bin").replace(/[^a-z0-9].*$/i, "") || "bin"}`}, "Save");

function imageOf(media) {
  const address = blobOf(media);
  return h("figure", h("img", {src: address, alt: `Image in the answer, ${media.mime_type}`, loading: "lazy"}), h("figcaption.small.muted", media.mime_type, " · ", save(media, address)));
}

function audioOf(media) {
  const address = blobOf(media);
  return h("figure", h("audio", {controls: true, src: address, "aria-label": "Sound in the answer"}), h("figcaption.small.muted", media.mime_type, " · ", save(media, address)));
}

const saveOnly = (media) => h("p", `${media.mime_type}, for saving only. `, save(media, blobOf(media)));

function link(body, open) {
  return h("div.resource-link",
    open ? button(body.name, () => open(body.uri), {class: "link", title: "Reads the resource through the host"}) : h("strong", body.name),
    h("code.small", body.uri),
    body.description ? h("p.small.muted", body.description) : null,
    h("span.small.muted", [body.mime_type, body.size != null ? bytes(body.size) : ""].filter(Boolean).join(" · ")));
}
