// The time lane: the last minute or so, one bar for each request, as long as it took.

const ROWS = 6;
const LEAST_MS = 15000;
const MOST_MS = 120000;

export function drawLane(canvas, spans, now) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !now) return;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
    canvas.width = width * ratio;
    canvas.height = height * ratio;
  }
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(canvas);
  const colour = (name) => style.getPropertyValue(name).trim();
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const recent = spans.filter((span) => span.since_ms + (span.after_ms ?? now - span.since_ms) > now - MOST_MS);
  const first = recent.reduce((least, span) => Math.min(least, span.since_ms), now);
  const range = Math.min(MOST_MS, Math.max(LEAST_MS, now - first));
  const x = (ms) => (ms - (now - range)) / range * width;
  ticks(pen, { width, height, range, now, x, line: colour("--line"), text: colour("--muted"), font: style.fontFamily });
  // A span takes the first row that is free when it begins.
  const free = new Array(ROWS).fill(-Infinity);
  const rowHeight = (height - 16) / ROWS;
  for (const span of recent) {
    const end = span.ending ? span.since_ms + span.after_ms : now;
    const left = x(span.since_ms), right = Math.max(left + 3, x(end));
    let row = free.findIndex((until) => until <= left);
    if (row < 0) row = free.indexOf(Math.min(...free));
    free[row] = right + 1;
    pen.fillStyle = colour(!span.ending ? "--accent" : span.ending === "result" ? "--good" : span.ending === "cancelled" || span.ending === "ended" ? "--muted" : "--bad");
    pen.globalAlpha = span.ending ? 0.75 : 1;
    pen.beginPath();
    pen.roundRect(Math.max(0, left), 2 + row * rowHeight, Math.max(3, right - Math.max(0, left)), Math.max(3, rowHeight - 2), 2);
    pen.fill();
  }
  pen.globalAlpha = 1;
}

function ticks(pen, { width, height, range, now, x, line, text, font }) {
  const step = [5000, 10000, 20000, 30000].find((each) => range / each <= Math.max(3, width / 110)) ?? 30000;
  pen.font = `11px ${font}`;
  pen.textBaseline = "bottom";
  for (let back = step; back < range; back += step) {
    const at = x(now - back);
    pen.fillStyle = line;
    pen.fillRect(at, 0, 1, height - 14);
    pen.fillStyle = text;
    pen.fillText(`−${back / 1000} s`, at + 3, height);
  }
}
