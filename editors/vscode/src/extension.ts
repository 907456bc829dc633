/** Offers Deskhand to VS Code as an MCP server, as the settings say. The rules are in `server.ts` and `find.ts`. */

import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import { promisify } from "node:util";
import * as vscode from "vscode";
import { type Found, find } from "./find";
import { type Settings, serverArguments, settings, versionIn } from "./server";

/** The one of package.json. */
export const PROVIDER = "deskhand.server";

const HOW_TO_INSTALL = "https://github.com/deskhand/deskhand#install";
const VERSION_TIMEOUT_MS = 5_000;

export function activate(context: vscode.ExtensionContext): void {
  const changed = new vscode.EventEmitter<void>();
  context.subscriptions.push(
    changed,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("deskhand")) {
        changed.fire();
      }
    }),
    vscode.lm.registerMcpServerDefinitionProvider(PROVIDER, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions: provide,
      resolveMcpServerDefinition: resolve,
    }),
  );
}

/** What there is to start. Asks nobody anything: the editor calls this at any time. */
function provide(): vscode.McpStdioServerDefinition[] {
  let given: Settings;
  try {
    given = read();
  } catch {
    // Listed all the same, so that starting it says what is wrong.
    return [new vscode.McpStdioServerDefinition("Deskhand", "deskhand", ["serve"])];
  }
  if (!given.enabled) {
    return [];
  }
  const found = look(given);
  const command = "command" in found ? found.command : "deskhand";
  return [new vscode.McpStdioServerDefinition("Deskhand", command, serverArguments(given))];
}

/** The same when it is about to start: with what the settings say now, and a word to the person where that fails. */
async function resolve(server: vscode.McpStdioServerDefinition): Promise<vscode.McpStdioServerDefinition | undefined> {
  let given: Settings;
  try {
    given = read();
  } catch (error) {
    void tell(said(error));
    return undefined;
  }
  const found = look(given);
  if ("missing" in found) {
    void tell(found.missing, "How to Install");
    return undefined;
  }
  try {
    const { stdout } = await promisify(execFile)(found.command, ["--version"], { timeout: VERSION_TIMEOUT_MS });
    server.version = versionIn(stdout);
  } catch (error) {
    void tell(`${found.command} does not run: ${said(error)}`, "How to Install");
    return undefined;
  }
  if (server.version === undefined) {
    void tell(`${found.command} is another program: it does not say that it is Deskhand.`);
    return undefined;
  }
  server.command = found.command;
  server.args = serverArguments(given);
  return server;
}

function read(): Settings {
  const configuration = vscode.workspace.getConfiguration("deskhand");
  return settings((name) => configuration.get(name));
}

function look(given: Settings): Found {
  return find(given.command, { platform: process.platform, home: os.homedir(), environment: process.env, runs });
}

function runs(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

async function tell(message: string, ...more: "How to Install"[]): Promise<void> {
  const choice = await vscode.window.showErrorMessage(message, ...more, "Open Settings");
  if (choice === "Open Settings") {
    await vscode.commands.executeCommand("workbench.action.openSettings", "deskhand.");
  } else if (choice === "How to Install") {
    await vscode.env.openExternal(vscode.Uri.parse(HOW_TO_INSTALL));
  }
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
