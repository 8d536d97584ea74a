// The official TypeScript SDK's client as a worker of the benchmark: commands
// as JSON lines on standard input, times as JSON lines on standard output. The
// commands are described in src/control.rs.

import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const MESSAGE = "hello";
const ECHO = "Echo: hello";

const clients = [];

function expect(found, expected) {
  if (found !== expected) {
    throw new Error(`the answer is ${found} where ${expected} was expected`);
  }
}

async function open(server) {
  const client = new Client({ name: "typescript", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: server.program, args: server.arguments }),
  );
  return client;
}

async function echo(client) {
  const result = await client.callTool({ name: "echo", arguments: { message: MESSAGE } });
  expect(result.content[0].text, ECHO);
}

async function text(client, bytes) {
  const result = await client.callTool({ name: "text", arguments: { bytes } });
  expect(result.content[0].text.length, bytes);
}

async function list(client, tools) {
  let count = 0;
  let cursor;
  do {
    const page = await client.listTools({ cursor });
    count += page.tools.length;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(count, tools);
}

async function each(times, work) {
  const nanoseconds = [];
  for (let turn = 0; turn < times; turn += 1) {
    const start = process.hrtime.bigint();
    await work();
    nanoseconds.push(Number(process.hrtime.bigint() - start));
  }
  return nanoseconds;
}

async function perform(command) {
  const [client] = clients;
  switch (command.do) {
    case "open":
      for (let opened = 0; opened < command.connections; opened += 1) {
        const connection = await open(command.server);
        await echo(connection);
        clients.push(connection);
      }
      return [];
    case "sequential":
      return each(command.calls, () => echo(client));
    case "in_flight":
      return each(1, async () => {
        for (let made = 0; made < command.calls; made += command.width) {
          await Promise.all(Array.from({ length: command.width }, () => echo(client)));
        }
      });
    case "text":
      return each(command.results, () => text(client, command.bytes));
    case "list":
      return each(command.lists, () => list(client, command.tools));
    default:
      throw new Error(`unknown command ${command.do}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = { nanoseconds: await perform(JSON.parse(line)) };
  } catch (cause) {
    reply = { error: String(cause) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
await Promise.all(clients.map((client) => client.close()));
