// A server of the TypeScript SDK, version 2, of both eras over stdio: the tool `add`.
// Arguments: the folder of node_modules, and for how many milliseconds it starts.
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [modules, starting] = process.argv.slice(2);
const from = (path) => import(pathToFileURL(`${modules}/${path}`));
const { McpServer } = await from("@modelcontextprotocol/server/dist/index.mjs");
const { serveStdio } = await from("@modelcontextprotocol/server/dist/stdio.mjs");
const { z } = await from("zod/index.js");

console.error("starting");
await pause(Number(starting));
await serveStdio(() => {
  const server = new McpServer({ name: "adder", version: "2" });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  server.registerTool("add", { description: "Adds.", inputSchema }, async ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  return server;
});
