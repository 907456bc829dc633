import * as mock from "./mock";

import * as assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { beforeEach, test } from "node:test";
import type { ExtensionContext } from "vscode";
import { PROVIDER, activate } from "../src/extension";

// eslint-disable-next-line @typescript-eslint/no-require-imports
const manifest = require("../../package.json");

/** The built program; DESKHAND names another, and makes its absence a failure. */
const program = process.env.DESKHAND ?? path.resolve(__dirname, "../../../../target/debug/deskhand");
const isBuilt = fs.existsSync(program) || process.env.DESKHAND !== undefined;

const context = { subscriptions: [] as { dispose(): void }[] };
activate(context as unknown as ExtensionContext);
const provider = mock.providers.get(PROVIDER)!;

beforeEach(() => {
  for (const name of Object.keys(mock.values)) {
    delete mock.values[name];
  }
  mock.errors.length = 0;
  mock.done.length = 0;
  mock.press.button = undefined;
});

test("package.json declares what the code registers, and every setting that it reads", () => {
  assert.deepEqual(manifest.contributes.mcpServerDefinitionProviders.map((one: { id: string }) => one.id), [PROVIDER]);
  assert.equal(mock.providers.size, 1);
  const read = new Set<string>();
  const { settings } = require("../src/server") as typeof import("../src/server");
  settings((name) => void read.add(name));
  const declared = Object.keys(manifest.contributes.configuration.properties);
  assert.deepEqual(declared.sort(), [...read].map((name) => `deskhand.${name}`).sort());
});

test("the defaults of package.json are those of the code, and a workspace can loosen nothing", () => {
  const properties = manifest.contributes.configuration.properties;
  const { serverArguments, settings } = require("../src/server") as typeof import("../src/server");
  const defaults = serverArguments(settings((name) => properties[`deskhand.${name}`].default));
  assert.deepEqual(defaults, ["serve", "--profile", "standard"]);
  const loose = Object.keys(properties).filter((name) => properties[name].scope !== "machine");
  assert.deepEqual(loose.sort(), ["deskhand.enabled", "deskhand.profile", "deskhand.timeoutMs"]);
});

test("a changed setting is told to the editor, another extension's is not", () => {
  let told = 0;
  provider.onDidChangeMcpServerDefinitions(() => told++);
  mock.set("readOnly", true);
  assert.equal(told, 1);
  mock.setElsewhere();
  assert.equal(told, 1);
  assert.ok(provider.provideMcpServerDefinitions()[0].args.includes("--read-only"));
});

test("switched off, there is nothing to start", () => {
  mock.set("enabled", false);
  assert.deepEqual(provider.provideMcpServerDefinitions(), []);
});

test("a program that is missing is said with what to do, when it is to start and not before", async () => {
  mock.set("command", "/nonexistent/deskhand");
  const [server] = provider.provideMcpServerDefinitions();
  assert.deepEqual(mock.errors, []);
  mock.press.button = "Open Settings";
  assert.equal(await provider.resolveMcpServerDefinition(server), undefined);
  await new Promise(setImmediate);
  assert.match(mock.errors[0], /\/nonexistent\/deskhand/);
  assert.deepEqual(mock.done, [["workbench.action.openSettings", "deskhand."]]);
  mock.press.button = "How to Install";
  await provider.resolveMcpServerDefinition(server);
  await new Promise(setImmediate);
  assert.equal(mock.done[1][0], "open");
});

test("a wrong setting is said when it is to start", async () => {
  mock.set("virtualDesktop", "big");
  const [server] = provider.provideMcpServerDefinitions();
  assert.equal(await provider.resolveMcpServerDefinition(server), undefined);
  assert.match(mock.errors[0], /virtualDesktop/);
});

test("another program under that name is not started", { skip: process.platform === "win32" }, async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "deskhand-vscode-"));
  try {
    for (const [script, said] of [
      ["#!/bin/sh\necho something else\n", /another program/],
      ["#!/bin/sh\nexit 3\n", /does not run/],
    ] as const) {
      const file = path.join(folder, "deskhand");
      fs.writeFileSync(file, script, { mode: 0o755 });
      mock.set("command", file);
      const [server] = provider.provideMcpServerDefinitions();
      assert.equal(await provider.resolveMcpServerDefinition(server), undefined);
      assert.match(mock.errors.pop()!, said);
    }
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test("the built program takes the arguments and answers", { skip: !isBuilt && "build it: cargo build" }, async () => {
  mock.set("command", program);
  mock.set("profile", "full");
  mock.set("timeoutMs", 2500);
  mock.set("deny", ["type_text", "clipboard"]);
  mock.set("confirm", ["script"]);
  mock.set("allow", ["shell"]);
  mock.set("hideApps", ["KeePassXC"]);
  mock.set("denyApps", ["Thunderbird"]);
  const [offered] = provider.provideMcpServerDefinitions();
  const server = await provider.resolveMcpServerDefinition(offered);
  assert.deepEqual(mock.errors, []);
  assert.ok(server !== undefined && /^\d+\.\d+\.\d+/.test(server.version ?? ""), JSON.stringify(server));

  const environment = { ...process.env, DESKHAND_FIND_SESSION: "never" };
  const child = spawn(server.command, server.args, { stdio: ["pipe", "pipe", "ignore"], env: environment });
  try {
    const ask = speak(child);
    const opened = await ask("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "0" },
    });
    assert.equal(opened.serverInfo.name, "deskhand");
    assert.equal(opened.serverInfo.version, server.version);
    const { tools } = await ask("tools/list", {});
    const names = tools.map((tool: { name: string }) => tool.name);
    assert.ok(names.includes("execute_shell_command") && names.includes("click"), names.join(" "));
    assert.ok(!names.includes("type_text") && !names.includes("get_clipboard"), names.join(" "));
  } finally {
    child.kill();
  }
});

/** Asks a server over its standard streams; it has ten seconds for each answer. */
function speak(child: ChildProcess) {
  const waiting = new Map<number, (message: any) => void>();
  createInterface({ input: child.stdout! }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  let last = 0;
  return (method: string, params: unknown) =>
    new Promise<any>((answered, failed) => {
      const id = ++last;
      const timer = setTimeout(() => failed(new Error(`no answer to ${method}`)), 10_000);
      waiting.set(id, (message) => {
        clearTimeout(timer);
        message.error === undefined ? answered(message.result) : failed(new Error(JSON.stringify(message.error)));
      });
      child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
}
