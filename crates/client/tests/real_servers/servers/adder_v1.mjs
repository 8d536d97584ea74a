// A server of the TypeScript SDK, version 1: the tool `add`.
// Arguments: the folder of node_modules, a transport, and for HTTP a port and how it answers.
import { randomUUID } from "node:crypto";
import http from "node:http";
import { pathToFileURL } from "node:url";

const [modules, transport, port, ...modes] = process.argv.slice(2);
const from = (path) => import(pathToFileURL(`${modules}/${path}`));
const sdk = (path) => from(`@modelcontextprotocol/sdk/dist/esm/${path}`);
const { McpServer } = await sdk("server/mcp.js");
const { z } = await from("zod/index.js");

function adder() {
  const server = new McpServer({ name: "adder", version: "1" });
  server.tool("add", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  return server;
}

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return parts.length ? JSON.parse(Buffer.concat(parts)) : undefined;
}

function refuse(response, message) {
  response.writeHead(400, { "content-type": "application/json" });
  const error = { code: -32000, message };
  response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
}

if (transport === "stdio") {
  const { StdioServerTransport } = await sdk("server/stdio.js");
  await adder().connect(new StdioServerTransport());
} else if (transport === "sse") {
  const { SSEServerTransport } = await sdk("server/sse.js");
  const open = new Map();
  const handle = async (request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    if (request.method === "GET" && url.pathname === "/sse") {
      const connection = new SSEServerTransport("/messages", response);
      open.set(connection.sessionId, connection);
      await adder().connect(connection);
    } else if (request.method === "POST" && url.pathname === "/messages") {
      const connection = open.get(url.searchParams.get("sessionId"));
      await connection.handlePostMessage(request, response, await body(request));
    } else {
      response.writeHead(404).end();
    }
  };
  http.createServer(handle).listen(Number(port), "127.0.0.1");
} else {
  // The two ways that the SDK's own examples show: a session per client, or nothing kept at all.
  const { StreamableHTTPServerTransport } = await sdk("server/streamableHttp.js");
  const { isInitializeRequest } = await sdk("types.js");
  const sessions = new Map();
  const enableJsonResponse = modes.includes("json");
  const handle = async (request, response) => {
    const message = request.method === "POST" ? await body(request) : undefined;
    let connection = sessions.get(request.headers["mcp-session-id"]);
    if (modes.includes("stateless")) {
      if (request.method !== "POST") return response.writeHead(405).end();
      connection = new StreamableHTTPServerTransport({
        sessionIdGenerator: undefined,
        enableJsonResponse,
      });
      await adder().connect(connection);
    } else if (!connection) {
      if (!isInitializeRequest(message)) return refuse(response, "no session");
      connection = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse,
        onsessioninitialized: (id) => sessions.set(id, connection),
      });
      await adder().connect(connection);
    }
    await connection.handleRequest(request, response, message);
  };
  http.createServer(handle).listen(Number(port), "127.0.0.1");
}
