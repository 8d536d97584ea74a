// Builds elements and formats what they say. Text is always text: nothing that a server sends is
// read as HTML or reorders what stands beside it, and no address is set but those a person may open.

const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "selected", "readOnly", "indeterminate", "open", "tabIndex", "spellcheck"]);
const SAFE_ADDRESS = /^(#|\/(?!\/)|https?:|mailto:|blob:)/i;

// `h("p.note", {title: "x", onclick: f}, "words", child)`; properties may be left out, and children
// that are nothing are.
export function h(tag, ...children) {
  const [name, ...classes] = tag.split(".");
  const props = children[0]?.constructor === Object ? children.shift() : {};
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(props)) {
    if (value == null || value === false && !PROPERTIES.has(key)) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.classList.add(...String(value).split(" ").filter(Boolean));
    else if (PROPERTIES.has(key)) element[key] = value;
    else if ((key === "href" || key === "src") && !SAFE_ADDRESS.test(value)) continue;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...present(children));
  return element;
}

function present(children) {
  return children.flat(Infinity).filter((child) => child != null && child !== false && child !== "").map((child) => (child instanceof Node ? child : safeText(child)));
}

// Text of a server: what would change direction, hide or control is spelled out.
const UNSAFE = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
export const safeText = (text) => String(text).replace(UNSAFE, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

// Replaces what is inside, and gives the focus back to the element of the same `data-key`.
export function fill(container, ...children) {
  const held = container.contains(document.activeElement) ? document.activeElement : null;
  const key = held?.dataset.key;
  const range = key && "selectionStart" in held ? [held.selectionStart, held.selectionEnd] : null;
  const scrolled = container.scrollTop;
  container.replaceChildren(...present(children));
  if (container.scrollTop !== scrolled) container.scrollTop = scrolled;
  if (!key) return;
  const again = container.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!again || again === document.activeElement) return;
  again.focus({preventScroll: true});
  if (range && range[0] !== null) try { again.setSelectionRange(...range); } catch { /* Not every input has a selection. */ }
}

export const button = (label, onclick, props = {}) => h("button", {type: "button", ...props, onclick}, label);

export const iconButton = (icon, label, onclick, props = {}) =>
  h("button.icon", {type: "button", "aria-label": label, title: label, ...props, onclick}, h("span", {"aria-hidden": "true"}, icon));

// Whether a key sends what was filled in.
export const isSubmit = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey);

// Names the place of a field, of a problem, of a value.
export const pathKey = (path) => JSON.stringify(path);

let lastId = 0;
export const newId = (prefix) => `${prefix}-${++lastId}`;

// Sizes, times and counts are formatted once here, so that all views say them alike.
export function bytes(size) {
  if (size == null) return "";
  if (size < 1000) return `${size} B`;
  const units = ["kB", "MB", "GB"];
  let value = size / 1000, unit = 0;
  while (value >= 999.5 && unit < 2) { value /= 1000; unit++; }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function duration(ms) {
  if (ms == null) return "";
  if (ms < 1) return "< 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
  if (ms < 3600000) return `${Math.floor(ms / 60000)} min ${Math.floor(ms % 60000 / 1000)} s`;
  return `${Math.floor(ms / 3600000)} h ${Math.floor(ms % 3600000 / 60000)} min`;
}

const two = (number) => String(number).padStart(2, "0");
export function clock(ms, withMillis = false) {
  const at = new Date(ms);
  const text = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return withMillis ? `${text}.${String(at.getMilliseconds()).padStart(3, "0")}` : text;
}

export const counted = (number) => Number(number).toLocaleString("en");
export const plural = (number, one, many = `${one}s`) => `${counted(number)} ${number === 1 ? one : many}`;

export function timeOf(ms) {
  return h("time", {datetime: new Date(ms).toISOString(), title: new Date(ms).toLocaleString()}, clock(ms));
}

// What screen readers hear; at most one sentence in two seconds, the newest.
let spokenAt = 0, waiting = null, speakTimer = 0;
export function say(sentence) {
  waiting = sentence;
  if (speakTimer) return;
  speakTimer = setTimeout(() => {
    speakTimer = 0;
    spokenAt = Date.now();
    document.getElementById("spoken").textContent = waiting;
  }, Math.max(50, spokenAt + 2000 - Date.now()));
}

export function toast(sentence, kind = "") {
  const element = h("div.toast", {class: kind}, sentence);
  const place = document.getElementById("toasts");
  place.append(element);
  while (place.children.length > 4) place.firstChild.remove();
  setTimeout(() => element.remove(), kind === "bad" ? 8000 : 4000);
  return element;
}

export const complain = (error) => toast(error.message, "bad");

export async function copy(text, what = "") {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied ${what ? `${what}, ` : ""}${bytes(new Blob([text]).size)}.`);
  } catch {
    toast("The browser did not let the page copy. Select the text and copy it by hand.", "bad");
  }
}

// A sentence for a place that has nothing to show: what is so, and what to do.
export const empty = (sentence, ...more) => h("div.empty", h("p", sentence), more);

export const chip = (words, kind = "", title) => h("span.chip", {class: kind, title}, words);

// A failure as the API tells it, or as the browser does.
export function failure(error, ...actions) {
  return h("div.failure", {role: "alert"},
    h("p", error.server ? h("strong", `${error.server}: `) : null, error.message ?? String(error)),
    error.hint ? h("p.hint", error.hint) : null,
    error.code !== undefined || error.origin
      ? h("p.small.muted", [error.origin ? `from the ${error.origin}` : "", error.code !== undefined ? `code ${error.code}` : ""].filter(Boolean).join(", ")) : null,
    error.dataJson ?? error.data_json ? h("details", h("summary", "Details"), h("pre.code", { tabIndex: 0 }, error.dataJson ?? error.data_json)) : null,
    actions.length ? h("p.actions", actions) : null);
}
