// Differences in two columns, what was approved beside what is there now; on a narrow screen one
// below the other.

import { h } from "./dom.js";

// Lines as the host gives them: kept, removed, added, and gaps. Removed and added lines that follow
// each other stand side by side.
export function diffView(lines, [before, after] = ["Approved", "Now"]) {
  const rows = [];
  let removed = [], added = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) rows.push([removed[at], added[at], "changed"]);
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line === "gap") { flush(); rows.push([null, null, "gap"]); }
    else if (line.removed !== undefined) removed.push(line.removed);
    else if (line.added !== undefined) added.push(line.added);
    else { flush(); rows.push([line.kept, line.kept, "kept"]); }
  }
  flush();
  const cell = (text, kind, mark) => h("td", { class: text === undefined ? "none" : kind }, text === undefined ? "" : [mark ? h("span.unseen", `${mark}: `) : null, text || " "]);
  return h("div.diff", { tabIndex: 0, role: "group", "aria-label": "Difference" }, h("table",
    h("thead", h("tr", h("th", { scope: "col" }, before), h("th", { scope: "col" }, after))),
    h("tbody", rows.map(([left, right, kind]) => (kind === "gap" ? h("tr.gap", h("td", { colspan: "2" }, "⋯"))
      : h("tr", cell(left, kind === "changed" ? "removed" : "", kind === "changed" ? "removed" : ""), cell(right, kind === "changed" ? "added" : "", kind === "changed" ? "added" : "")))))));
}

const MOST_LINES = 2000;

// The lines in which two texts differ, by their longest common lines.
export function lineDiff(one, two) {
  const a = one.split("\n").slice(0, MOST_LINES), b = two.split("\n").slice(0, MOST_LINES);
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) {
    common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  }
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push({ kept: a[i++] }); j++; }
    else if (i < a.length && (j >= b.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) lines.push({ removed: a[i++] });
    else lines.push({ added: b[j++] });
  }
  return lines;
}
