/** Where the program is: where the person says, else in PATH, else in the usual places. Knows nothing of VS Code. */

import * as path from "node:path";

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether there is a file that can be run. */
  readonly runs: (file: string) => boolean;
}

/** The program, or why there is none, in sentences for a person. */
export type Found = { readonly command: string } | { readonly missing: string };

export function find(setting: string, machine: Machine): Found {
  const given = setting.replace(/^~(?=[/\\]|$)/, machine.home);
  const paths = machine.platform === "win32" ? path.win32 : path.posix;
  if (given !== "" && given !== paths.basename(given)) {
    if (!paths.isAbsolute(given)) {
      return { missing: `deskhand.command is ${setting}: it has to be a full path, or a name in PATH.` };
    }
    if (machine.runs(given)) {
      return { command: given };
    }
    return { missing: `deskhand.command says ${setting}, and there is no program.` };
  }
  const name = given === "" ? "deskhand" : given;
  const file = machine.platform === "win32" && !name.toLowerCase().endsWith(".exe") ? `${name}.exe` : name;
  const places = folders(machine, paths);
  const command = places.map((folder) => paths.join(folder, file)).find(machine.runs);
  if (command !== undefined) {
    return { command };
  }
  return {
    missing:
      `Deskhand is not installed, or not found: there is no ${file} in ${places.join(", ")}. ` +
      "Install it, or say where it is in the setting deskhand.command.",
  };
}

/** PATH, then where installers put programs that are in the PATH of a terminal and not in that of an editor. */
function folders(machine: Machine, paths: path.PlatformPath): string[] {
  const { environment, home, platform } = machine;
  const searched = (environment.PATH ?? environment.Path ?? "").split(paths.delimiter);
  const cargo = environment.CARGO_HOME ?? paths.join(home, ".cargo");
  const usual =
    platform === "win32"
      ? [paths.join(cargo, "bin")]
      : [paths.join(cargo, "bin"), paths.join(home, ".local/bin"), "/usr/local/bin", "/usr/bin", "/opt/homebrew/bin"];
  // A relative folder of PATH is the workspace's, whose programs are not started unasked.
  return [...new Set([...searched, ...usual])].filter((folder) => paths.isAbsolute(folder));
}
