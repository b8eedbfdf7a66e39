// An agent of the TypeScript SDK that works with the tools which it is handed in session/new, for `--model acp:COMMAND`.
//   node acp_agent.mjs TEXT            types TEXT into the field that the page has focused, and ends its turn with words
//   node acp_agent.mjs --fault FAULT   version, die, hang, error, stop, strange or cancelled: does not keep the protocol
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const fault = process.argv[2] === "--fault" ? process.argv[3] : "";
const text = fault ? "fault" : process.argv[2] ?? "";
const sessions = new Map();

// A client of the Model Context Protocol, as far as this needs one.
function tools({ command, args, env }) {
  const own = Object.fromEntries(env.map((one) => [one.name, one.value]));
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...own } });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  let last = 0;
  const say = (message) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  const ask = (method, params) => new Promise((done, failed) => {
    const id = ++last;
    waiting.set(id, ({ result, error }) => error ? failed(new Error(error.message)) : done(result));
    say({ id, method, params });
  });
  const ready = ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "agent", version: "1" } })
    .then(() => say({ method: "notifications/initialized" }));
  return { ask: async (method, params) => { await ready; return ask(method, params); }, end: () => child.stdin.end() };
}

async function work(cx, sessionId, session) {
  const update = (what) => cx.client.notify(acp.methods.client.session.update, { sessionId, update: what });
  const words = (kind, said) => update({ sessionUpdate: kind, content: { type: "text", text: said } });
  await words("agent_thought_chunk", "The field has the focus.");
  if (fault === "die") process.exit(3);
  if (fault === "hang") await new Promise(() => {});
  if (fault === "error") throw new Error("the model is away");
  if (fault === "strange") return { stopReason: "bored" };
  if (fault === "cancelled" || fault === "stop") return { stopReason: fault === "stop" ? "max_tokens" : "cancelled" };
  const { tools: offered } = await session.tools.ask("tools/list", {});
  await words("agent_message_chunk", `Tools: ${offered.map((tool) => tool.name).join(", ")}. `);
  await update({ sessionUpdate: "tool_call", toolCallId: "t1", title: "type", kind: "execute", status: "pending" });
  const { outcome } = await cx.client.request(acp.methods.client.session.requestPermission, { sessionId,
    toolCall: { toolCallId: "t1" },
    options: [{ optionId: "no", name: "Reject", kind: "reject_once" }, { optionId: "yes", name: "Allow", kind: "allow_once" }] });
  if (outcome.optionId !== "yes") throw new Error("not allowed: " + JSON.stringify(outcome));
  const done = await session.tools.ask("tools/call", { name: "computer", arguments: { action: "type", text } });
  const kinds = done.content.map((part) => part.type).join(", ");
  await update({ sessionUpdate: "tool_call_update", toolCallId: "t1", status: done.isError ? "failed" : "completed" });
  await session.tools.ask("tools/call", { name: "computer", arguments: { action: "fly" } })
    .then((answer) => { if (!answer.isError) throw new Error("an act that there is not was done"); });
  await words("agent_message_chunk", `Typed; I was shown ${kinds}.`);
  return { stopReason: "end_turn" };
}

acp.agent({ name: "typist" })
  .onRequest(acp.methods.agent.initialize, () => ({
    protocolVersion: fault === "version" ? 7 : acp.PROTOCOL_VERSION,
    agentCapabilities: {}, agentInfo: { name: "typist", version: "1.0" },
  }))
  .onRequest(acp.methods.agent.session.new, ({ params }) => {
    const sessionId = `s${sessions.size}`;
    sessions.set(sessionId, { tools: tools(params.mcpServers[0]) });
    return { sessionId };
  })
  .onRequest(acp.methods.agent.session.prompt, (cx) => work(cx, cx.params.sessionId, sessions.get(cx.params.sessionId)))
  .onNotification(acp.methods.agent.session.cancel, () => {})
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
