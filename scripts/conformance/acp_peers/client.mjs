// Works with `apprentice acp` as an editor does, by the TypeScript SDK, and by raw lines where the SDK would not say such things.
//   AGENT='apprentice acp …' node client.mjs [--asks]
// With --asks the agent was started with --ask. The agent's model must work for some seconds.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import * as acp from "@agentclientprotocol/sdk";

const asks = process.argv.includes("--asks");
const { initialize, session } = acp.methods.agent;
let faults = 0;

function check(holds, what, found) {
  if (!holds) faults += 1;
  console.log(`${holds ? "ok   " : "FAULT"} ${what}${holds ? "" : `: ${JSON.stringify(found)}`}`);
}

// Our agent, with every line that it writes.
class Agent {
  constructor() {
    this.process = spawn(process.env.AGENT, { shell: true, stdio: ["pipe", "pipe", "ignore"], detached: true });
    this.ended = once(this.process, "exit");
    this.lines = [];
    this.listeners = new Set();
    this.process.stdin.on("error", () => {});
    createInterface({ input: this.process.stdout }).on("line", (line) => {
      this.lines.push(line);
      for (const listener of this.listeners) listener(line);
    });
  }

  say(message) {
    this.process.stdin.write((typeof message === "string" ? message : JSON.stringify({ jsonrpc: "2.0", ...message })) + "\n");
  }

  // The answer with this id: a message without a method.
  async answer(id) {
    const fits = (line) => {
      const message = JSON.parse(line);
      return !("method" in message) && message.id === id ? message : undefined;
    };
    for (const line of this.lines) if (fits(line)) return fits(line);
    return Promise.race([pause(10_000), this.ended.then(() => undefined), new Promise((done) => this.listeners.add((line) => fits(line) && done(fits(line))))]);
  }

  // A stream for the SDK beside the list above.
  stream() {
    const output = new ReadableStream({
      start: (queue) => {
        this.process.stdout.on("data", (data) => queue.enqueue(new Uint8Array(data)));
        this.process.stdout.on("end", () => { try { queue.close(); } catch { /* it was cancelled */ } });
      },
    });
    return acp.ndJsonStream(Writable.toWeb(this.process.stdin), output);
  }

  kill() {
    try { process.kill(-this.process.pid, "SIGKILL"); } catch { /* it has ended */ }
  }
}

// Does something with a session of the SDK's client.
async function withClient(work, { onUpdate = () => {}, onPermission } = {}) {
  const agent = new Agent();
  const client = acp.client({ name: "editor" })
    .onNotification(acp.methods.client.session.update, ({ params }) => onUpdate(params))
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => onPermission(params));
  try {
    await client.connectWith(agent.stream(), async (cx) => {
      const ask = (method, params) => Promise.race([
        cx.request(method, params).then((result) => ({ result }), (error) => ({ error })),
        pause(60_000).then(() => ({ error: { message: "no answer" } })),
      ]);
      await ask(initialize, { protocolVersion: 1, clientCapabilities: {} });
      await work({ agent, ask, cancel: (sessionId) => cx.notify(session.cancel, { sessionId }) });
    });
  } finally {
    agent.kill();
  }
}
const opened = async (ask) => (await ask(session.new, { cwd: "/", mcpServers: [] })).result?.sessionId;
const words = (sessionId, text) => ({ sessionId, prompt: [{ type: "text", text }] });

async function lines() {
  const agent = new Agent();
  const hello = (id, protocolVersion) => ({ id, method: "initialize", params: { protocolVersion, clientCapabilities: {} } });
  agent.say(hello(1, 12));
  check((await agent.answer(1))?.result?.protocolVersion === 1, "version 12 is answered with the own one, a number");
  let id = 10;
  for (const version of ["2025-06-18", 1.5, 70000]) {
    agent.say(hello(++id, version));
    const answer = await agent.answer(id);
    check(answer?.error?.code === -32602, `version ${version} is refused`, answer);
  }
  for (const [name, method] of [[2, "session/sing"], ["text-id", "_other/thing"]]) {
    agent.say({ id: name, method, params: {} });
    const answer = await agent.answer(name);
    check(answer?.error?.code === -32601, `${method} is no method`, answer);
  }
  agent.say({ method: "session/sing", params: {} });
  agent.say({ method: "$/cancel_request", params: { requestId: 1 } });
  agent.say({ method: "session/cancel", params: { sessionId: "of nobody" } });
  agent.say({ id: null, result: {} });
  agent.say({ id: 3, method: "session/prompt", params: words("of nobody", "x") });
  check((await agent.answer(3))?.error?.code === -32602, "there is no such session; notifications that mean nothing are nothing");
  const over = (type) => ({ cwd: "/", mcpServers: [{ type, name: "files", url: "http://127.0.0.1:9", headers: [] }] });
  for (const [at, [params, code]] of [[{ cwd: "there", mcpServers: [] }, -32602], [{ cwd: "/" }, -32602],
    [{ cwd: "/", mcpServers: [], mode: "x" }, -32602], [over("http"), -32602], [over("sse"), -32602],
    // A tool server that does not start is no fault of the request.
    [{ cwd: "/", mcpServers: [{ name: "files", command: "no-such-program", args: [], env: [] }] }, -32603]].entries()) {
    agent.say({ id: 20 + at, method: "session/new", params });
    const answer = await agent.answer(20 + at);
    check(answer?.error?.code === code, `a session is not opened with ${JSON.stringify(params)}`, answer);
  }
  const before = agent.lines.length;
  agent.say(JSON.stringify([{ jsonrpc: "2.0", ...hello(4, 1) }]));
  agent.say("{ this is no JSON");
  agent.say(hello(5, 1));
  check(Boolean((await agent.answer(5))?.result), "after a batch and after junk it answers");
  const codes = agent.lines.slice(before, -1).map((line) => JSON.parse(line)).map(({ id, error }) => [id, error?.code]);
  check(JSON.stringify(codes) === "[[null,-32600],[null,-32700]]", "each of them got one error under the id null", codes);
  check(agent.lines.every((line) => JSON.parse(line).jsonrpc === "2.0"), "all that it writes is JSON-RPC");
  agent.process.stdin.end();
  check(await Promise.race([agent.ended.then(() => true), pause(5_000, false)]), "it ends with its input");
  agent.kill();
}

async function turn() {
  const updates = [];
  let asked = 0;
  const onPermission = ({ options }) => {
    asked += 1;
    return { outcome: { outcome: "selected", optionId: options[0].optionId } };
  };
  await withClient(async ({ agent, ask }) => {
    const [one, other] = [await opened(ask), await opened(ask)];
    check(one && other && one !== other, "two sessions have ids of their own", [one, other]);
    const running = ask(session.prompt, words(one, "Do it."));
    const second = await ask(session.prompt, words(one, "Do more."));
    check(second.error?.code === -32600, "a second turn of a session waits for the first", second);
    const end = await running;
    check(end.result?.stopReason === "end_turn", "the turn ends", end);
    await pause(1_000);
    const written = agent.lines.map((line) => JSON.parse(line));
    const answer = written.findIndex(({ result }) => result?.stopReason);
    const sent = written.filter(({ method }) => method === "session/update");
    check(written.slice(answer).every(({ method }) => method !== "session/update"), "nothing comes after the answer");
    check(sent.length > 0 && sent.length === updates.length, "the SDK knows every update", [sent.length, updates.length]);
    check(sent.every(({ params }) => params.sessionId === one), "each names its session");
    const status = new Map();
    for (const { sessionUpdate: kind, toolCallId: call, status: now } of updates) {
      if (kind === "tool_call") status.set(call, now);
      if (kind === "tool_call_update") {
        check(status.has(call), `${call} was told of before it changed`);
        status.set(call, now);
      }
    }
    check(status.size > 0 && [...status.values()].every((now) => ["completed", "failed"].includes(now)), "each call ends", [...status]);
    const pictures = updates.flatMap(({ content }) => Array.isArray(content) ? content : [])
      .filter(({ content }) => content?.type === "image" && content.data.length > 100);
    check(pictures.length > 0, "pictures of the screen are among the results");
    check(asks ? asked > 0 : asked === 0, asks ? "it asked first" : "it did not ask", asked);
    const closed = await ask("session/close", { sessionId: other });
    check(Boolean(closed.result), "a session can be closed", closed);
    const gone = await ask(session.prompt, words(other, "x"));
    check(gone.error?.code === -32602, "and is gone then", gone);
  }, { onUpdate: ({ update }) => updates.push(update), onPermission });
}

async function cancelled(open) {
  let begun;
  const working = new Promise((done) => { begun = done; });
  const onPermission = async () => {
    begun();
    if (open === "never answered") return new Promise(() => {});
    await pause(500);
    return { outcome: { outcome: "cancelled" } };
  };
  await withClient(async ({ ask, cancel }) => {
    const one = await opened(ask);
    const running = ask(session.prompt, words(one, "Do it."));
    await Promise.race([working, pause(20_000)]);
    await pause(200);
    cancel(one);
    const end = await running;
    check(end.result?.stopReason === "cancelled", `cancelled with ${asks ? `a permission ${open}` : "a call open"}`, end);
    const refused = await ask(session.prompt, { sessionId: one, prompt: [{ type: "image", data: "AA==", mimeType: "image/png" }] });
    check(refused.error?.code === -32602, "a picture in a prompt is refused by the session, which lives", refused);
    const next = ask(session.prompt, words(one, "Go on."));
    cancel(one);
    check((await next).result?.stopReason === "cancelled", "so is the next turn, at its very beginning", await next);
  }, { onUpdate: ({ update }) => { if (!asks && update.sessionUpdate === "tool_call") begun(); }, onPermission });
}

await lines();
await turn();
for (const open of asks ? ["answered too late", "never answered"] : ["of none"]) await cancelled(open);
process.exit(faults ? 1 : 0);
