// A server of tmcp, which shares no code with the official SDK: the tool `answer`.
// Argument: the folder of node_modules.
import { pathToFileURL } from "node:url";

const from = (path) => import(pathToFileURL(`${process.argv[2]}/${path}`));
const { McpServer } = await from("tmcp/src/index.js");
const { StdioTransport } = await from("@tmcp/transport-stdio/src/index.js");

const server = new McpServer(
  { name: "oracle", version: "1", description: "Knows." },
  { adapter: undefined, capabilities: { tools: {} } },
);
server.tool({ name: "answer", description: "Gives the answer." }, () => ({
  content: [{ type: "text", text: "42" }],
}));
new StdioTransport(server).listen();
