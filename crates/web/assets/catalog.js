// What servers offer: tools, resources, templates and prompts of all servers, fetched once. Of a
// server that says that a list changed, or that was started, that list is fetched again. The first
// screenful comes first, so that a long list is never waited for.

import { get, query } from "./api.js";
import { changed, listen, store } from "./store.js";

const FIRST = 200;
const KINDS = ["tools", "resources", "templates", "prompts"];

const lists = new Map(KINDS.map((kind) => [kind, { entries: [], servers: [], state: "unasked", error: null, waiting: [] }]));

export const listOf = (kind) => lists.get(kind);

// Fetches a list that is not there yet; `again` fetches it in any case.
export async function load(kind, again = false) {
  const list = lists.get(kind);
  if (list.state === "loading" || list.state === "loaded" && !again) return;
  list.state = "loading";
  try {
    const first = await page(kind, FIRST);
    if (first.next_cursor) {
      if (!list.entries.length) take(list, first, kind);
      take(list, await page(kind, 20000), kind);
    } else take(list, first, kind);
    list.error = null;
  } catch (error) {
    list.error = error;
  }
  list.state = "loaded";
  changed(kind);
  renew(kind, list.waiting.splice(0).filter(({ server, isStart }) => !isStart || !hasAnswered(list, server)));
}

const page = (kind, limit, server) => get(`/${kind}${query({ view: "brief", limit, server })}`);
const hasAnswered = (list, server) => list.servers.some((one) => one.name === server && one.outcome === "ok");

// Fetches again what is said to be outdated. While a list is on its way, that waits.
async function renew(kind, outdated) {
  const list = lists.get(kind);
  if (!outdated.length || list.state === "unasked") return;
  if (list.state === "loading") { list.waiting.push(...outdated); return; }
  const names = [...new Set(outdated.map(({ server }) => server))];
  if (list.error || names.some((name) => !list.servers.some((one) => one.name === name))) { load(kind, true); return; }
  list.state = "loading";
  for (const name of names) {
    try {
      const part = await page(kind, 20000, name);
      const order = list.servers.map((one) => one.name);
      const entries = [...list.entries.filter((entry) => entry.server !== name), ...part.entries].sort((a, b) => order.indexOf(a.server) - order.indexOf(b.server));
      take(list, { entries, servers: list.servers.map((one) => part.servers.find((other) => other.name === one.name) ?? one) }, kind);
    } catch (error) { list.error = error; }
  }
  list.state = "loaded";
  changed(kind);
  renew(kind, list.waiting.splice(0));
}

function take(list, answer, kind) {
  list.entries = answer.entries;
  list.servers = answer.servers;
  for (const entry of list.entries) {
    entry.hay ??= [`${entry.name} ${entry.title ?? ""} ${entry.uri ?? ""} ${entry.server}`.toLowerCase(), (entry.description ?? "").toLowerCase()];
  }
  changed(kind);
}

let timer = 0;
listen(["lists"], () => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const outdated = store.outdated.splice(0);
    // One notification stands for both lists of resources.
    const isOf = (kind) => (one) => !one.kind || one.kind === (kind === "templates" ? "resources" : kind);
    for (const kind of KINDS) renew(kind, outdated.filter(isOf(kind)));
  }, 200);
});

// What a person has to know of a list beside its entries: who has not answered, who was remembered.
export function listNotes(kind) {
  const { servers } = lists.get(kind);
  const missing = servers.filter((server) => ["starting", "parked", "unreachable"].includes(server.outcome));
  const remembered = servers.filter((server) => server.outcome === "remembered");
  return { missing, remembered, answered: servers.length - missing.length, of: servers.length };
}
