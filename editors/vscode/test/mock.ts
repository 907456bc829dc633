/** As much of VS Code as the extension uses, in place of the module `vscode`. Import it before the extension. */

import Module = require("node:module");

export interface Definition {
  label: string;
  command: string;
  args: string[];
  version?: string;
}

export interface Provider {
  onDidChangeMcpServerDefinitions(listener: () => void): void;
  provideMcpServerDefinitions(): Definition[];
  resolveMcpServerDefinition(server: Definition): Promise<Definition | undefined>;
}

export const values: Record<string, unknown> = {};
export const errors: string[] = [];
export const done: unknown[][] = [];
export const providers = new Map<string, Provider>();
/** What the person presses in the next message. */
export const press: { button?: string } = {};
let configurationChanged: (event: { affectsConfiguration(section: string): boolean }) => void = () => {};

/** Sets a setting, as the person does. */
export function set(name: string, value: unknown): void {
  values[name] = value;
  configurationChanged({ affectsConfiguration: (section) => `deskhand.${name}`.startsWith(section) });
}

/** A setting of another extension changes. */
export function setElsewhere(): void {
  configurationChanged({ affectsConfiguration: (section) => section === "editor" });
}

class EventEmitter {
  private readonly listeners: (() => void)[] = [];
  readonly event = (listener: () => void) => {
    this.listeners.push(listener);
    return { dispose() {} };
  };
  fire() {
    for (const listener of this.listeners) {
      listener();
    }
  }
  dispose() {}
}

const vscode = {
  EventEmitter,
  McpStdioServerDefinition: class {
    constructor(
      readonly label: string,
      public command: string,
      public args: string[] = [],
    ) {}
  },
  Uri: { parse: (text: string) => text },
  commands: { executeCommand: async (...words: unknown[]) => done.push(words) },
  env: { openExternal: async (uri: unknown) => done.push(["open", uri]) },
  lm: {
    registerMcpServerDefinitionProvider(id: string, provider: Provider) {
      providers.set(id, provider);
      return { dispose: () => providers.delete(id) };
    },
  },
  window: {
    async showErrorMessage(message: string, ...buttons: string[]) {
      errors.push(message);
      return buttons.find((button) => button === press.button);
    },
  },
  workspace: {
    getConfiguration: (section: string) => ({
      get: (name: string) => (section === "deskhand" ? values[name] : undefined),
    }),
    onDidChangeConfiguration(listener: typeof configurationChanged) {
      configurationChanged = listener;
      return { dispose() {} };
    },
  },
};

const loader = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown };
const load = loader._load;
loader._load = (request, ...rest) => (request === "vscode" ? vscode : load.call(loader, request, ...rest));
