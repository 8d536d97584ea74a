// What servers offer: tools, resources, templates and prompts of all servers, fetched once and again
// when a list changes. The first screenful comes first, so that a long list is never waited for.

import { get, query } from "./api.js";
import { changed, listen } from "./store.js";

const FIRST = 200;
const KINDS = ["tools", "resources", "templates", "prompts"];

const lists = new Map(KINDS.map((kind) => [kind, { entries: [], servers: [], total: 0, state: "unasked", error: null }]));

export const listOf = (kind) => lists.get(kind);

// Fetches a list that is not there yet; `again` fetches it in any case.
export async function load(kind, again = false) {
  const list = lists.get(kind);
  if (list.state === "loading") { list.stale = again || list.stale; return; }
  if (list.state === "loaded" && !again) return;
  list.state = "loading";
  list.stale = false;
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
  if (list.stale) load(kind, true);
  // A server that was still starting is asked again when it is ready: its state event says so.
}

const page = (kind, limit) => get(`/${kind}${query({ view: "brief", limit })}`);

function take(list, answer, kind) {
  list.entries = answer.entries;
  list.servers = answer.servers;
  list.total = answer.total;
  for (const entry of list.entries) {
    entry.hay = [`${entry.name} ${entry.title ?? ""} ${entry.uri ?? ""} ${entry.server}`.toLowerCase(), (entry.description ?? "").toLowerCase()];
  }
  changed(kind);
}

let timer = 0;
listen(["lists"], () => {
  clearTimeout(timer);
  timer = setTimeout(() => { for (const kind of KINDS) if (lists.get(kind).state !== "unasked") load(kind, true); }, 200);
});

// What a person has to know of a list beside its entries: who has not answered, who was remembered.
export function listNotes(kind) {
  const { servers } = lists.get(kind);
  const missing = servers.filter((server) => ["starting", "parked", "unreachable"].includes(server.outcome));
  const remembered = servers.filter((server) => server.outcome === "remembered");
  return { missing, remembered, answered: servers.length - missing.length, of: servers.length };
}
