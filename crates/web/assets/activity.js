// Activity: every request as one row and as a span of the time lane, live.

import { follow } from "./api.js";
import { endingChip, endingWord } from "./calls.js";
import { button, bytes, clock, duration, empty, fill, h, iconButton, plural, safeText } from "./dom.js";
import { jsonText, prettyJson } from "./json.js";
import { drawLane } from "./lane.js";
import { ListPane } from "./pane.js";
import { listen, store } from "./store.js";

const MOST_FRAMES = 2000;

export function activityView(place) {
  let paused = null, picked = null, stream = null;
  const frames = [];
  const lane = h("canvas.lane", { role: "img", "aria-label": "Requests over time" });
  const detail = h("section.activity-detail", { "aria-label": "Request", hidden: true });
  const pause = button("Pause", () => {
    paused = paused ? null : [...store.spans];
    pause.textContent = paused ? "Resume" : "Pause";
    pause.setAttribute("aria-pressed", String(Boolean(paused)));
    draw();
  }, { class: "small" });
  const messages = button("Show messages", () => watchFrames(), { class: "small", title: "Also keeps the messages themselves, from now on" });
  const pane = new ListPane({
    title: "Activity", tokens: ["server", "method", "status", "id", "ms", "about"], rowHeight: 30,
    items: () => [...(paused ?? store.spans)].reverse(),
    row: (span) => [h("span.cell.time", clock(span.since_ms, true)), h("span.cell.server", span.server), h("span.cell.method", span.method), h("span.cell.about", span.about), h("span.cell.ms", span.ending ? duration(span.after_ms) : "…"), h("span.cell.ending", endingChip(span.ending))],
    open: (span) => { picked = span; drawDetail(); },
    isOpen: (span) => span === picked,
    haystack: (span) => [`${span.method} ${span.about ?? ""} ${span.server}`.toLowerCase(), ""],
    field: (span, name) => ({ server: span.server, method: span.method, status: endingWord(span.ending), id: span.request, ms: span.after_ms, about: span.about })[name],
    notes: () => (store.missed ? [h("p.note", `${plural(store.missed, "message")} came faster than they could be shown; the list may have gaps.`)] : []),
    nothing: () => empty("Nothing was sent yet.", h("p", "Requests appear here as they are sent, from all servers.")),
    tools: [messages, pause],
  });
  pane.element.classList.add("activity");
  pane.input.placeholder = "Filter: server:notes method:tools ms:>500 status:failed";
  pane.above.before(lane);
  place.append(h("div.panes.one", pane.element), detail);

  const draw = () => {
    pane.draw();
    drawLane(lane, paused ?? store.spans, paused ? paused.at(-1)?.since_ms : Date.now());
    drawDetail();
  };
  // The lane moves only while something runs.
  const timer = setInterval(() => { if (!paused && store.requests.size) drawLane(lane, store.spans, Date.now()); }, 100);
  const stop = listen(["requests"], () => { if (!paused) draw(); });

  function watchFrames() {
    if (stream) {
      stream.stop();
      stream = null;
    } else {
      stream = follow(() => "/frames", { onevent: (name, frame) => {
        frames.push(frame);
        if (frames.length > MOST_FRAMES) frames.splice(0, MOST_FRAMES / 4);
        if (picked) drawDetail();
      } });
    }
    messages.textContent = stream ? "Stop messages" : "Show messages";
    messages.setAttribute("aria-pressed", String(Boolean(stream)));
  }

  function drawDetail() {
    detail.hidden = !picked;
    if (!picked) return;
    const span = picked;
    const shown = framesOf(span, frames);
    fill(detail, h("header", h("h2", span.method), endingChip(span.ending), h("span.grow"), iconButton("×", "Close", () => { picked = null; drawDetail(); }, { class: "quiet", "data-key": "close" })),
      h("dl.pairs", [["Request", `#${span.request}`], ["Server", span.server], ["About", span.about ?? "—"], ["Sent", clock(span.since_ms, true)], ["Took", span.ending ? duration(span.after_ms) : "still running"], ["Rounds", span.rounds ?? 1], ["Wanted by", span.origin === "person" ? "a person" : span.origin ? "a program" : "the host"]].map(([name, value]) => [h("dt", name), h("dd", String(value))])),
      shown.length ? shown.map(messageBlock) : h("p.small.muted", stream ? "No message of this request was seen; it was sent before the messages were kept." : "“Show messages” keeps the messages of requests from now on."));
  }

  draw();
  return { pane, show() { draw(); }, leave() { clearInterval(timer); stop(); stream?.stop(); } };
}

// Messages have ids of their connection, not numbers of the host: they are matched by server, time
// and method, and answers by the id of their request.
function framesOf(span, frames) {
  const end = span.ending ? span.since_ms + span.after_ms + 50 : Infinity;
  const near = frames.filter((frame) => frame.server === span.server && frame.at_us / 1000 >= span.since_ms - 50 && frame.at_us / 1000 <= end);
  const message = (frame) => { try { return JSON.parse((frame.kind.sent ?? frame.kind.received).payload); } catch { return {}; } };
  const sent = near.find((frame) => frame.kind.sent && message(frame).method === span.method);
  if (!sent) return [];
  const { id } = message(sent);
  return near.filter((frame) => frame === sent || frame.kind.received && message(frame).id === id && message(frame).method === undefined || frame.kind.received && message(frame).method === "notifications/progress").slice(0, 20);
}

function messageBlock(frame) {
  const message = frame.kind.sent ?? frame.kind.received;
  return h("details", { open: message.payload.length < 20000 }, h("summary", frame.kind.sent ? "sent" : "received", h("span.small.muted", ` ${clock(frame.at_us / 1000, true)} · ${bytes(message.bytes)}${frame.redacted ? " · secrets masked" : ""}`)), jsonText(safeText(prettyJson(message.payload)).replace(/\\u\{a\}/g, "\n")));
}
