// One address for each view: `#/tools/SERVER/NAME`; `#/tools?server:NAME` brings a filter.

const KNOWN = ["tools", "resources", "prompts", "calls", "activity", "log", "servers"];

export const href = (...parts) => `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;

export const go = (...parts) => { location.hash = href(...parts); };

export function route() {
  const [path, filter] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map((part) => {
    try { return decodeURIComponent(part); } catch { return part; }
  });
  const [view = "tools", ...rest] = parts;
  return KNOWN.includes(view) ? { view, rest, filter: filter && decodeURIComponent(filter) } : { view: "tools", rest: [] };
}
