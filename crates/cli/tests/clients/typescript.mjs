// A client of the official TypeScript SDK: asks a server what it is told to, and prints the answers
// as one JSON document.
//
//   node typescript.mjs SDK auto|legacy QUESTIONS URL
//   node typescript.mjs SDK auto|legacy QUESTIONS COMMAND ARGUMENT...
//
// SDK is a folder: version 1 of the SDK, or the client package of version 2, which speaks both eras.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const [sdk, mode, questions, ...target] = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8"));
const isFirst = version.startsWith("1.");
const load = (first, second) => import(join(sdk, isFirst ? first : second));

const { Client } = await load("dist/esm/client/index.js", "dist/index.mjs");

async function transport() {
  if (target[0].startsWith("http:")) {
    const { StreamableHTTPClientTransport } = await load(
      "dist/esm/client/streamableHttp.js",
      "dist/index.mjs",
    );
    return new StreamableHTTPClientTransport(new URL(target[0]));
  }
  const { StdioClientTransport } = await load("dist/esm/client/stdio.js", "dist/stdio.mjs");
  const [command, ...args] = target;
  return new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" });
}

const options = isFirst || mode === "legacy" ? {} : { versionNegotiation: { mode: "auto" } };
const client = new Client({ name: "typescript", version: "1" }, options);
await client.connect(await transport());
const answers = [];
for (const [method, params] of JSON.parse(questions)) {
  try {
    answers.push(await client[method](params));
  } catch (error) {
    answers.push({ code: error.code, message: error.message });
  }
}
const server = { server: client.getServerVersion(), capabilities: client.getServerCapabilities() };
process.stdout.write(`${JSON.stringify({ ...server, answers })}\n`);
await client.close();
