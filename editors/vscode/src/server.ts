/** What the settings say, as the command line of `deskhand serve`. Knows nothing of VS Code. */

export interface Settings {
  readonly enabled: boolean;
  readonly command: string;
  readonly arguments: readonly string[];
  readonly profile: string;
  readonly virtualDesktop: string;
  readonly readOnly: boolean;
  readonly timeoutMs: number | null;
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly confirm: readonly string[];
  readonly allowApps: readonly string[];
  readonly denyApps: readonly string[];
  readonly hideApps: readonly string[];
}

/** Gives the setting of that name, without its prefix, or nothing. */
export type Read = (name: string) => unknown;

/** The settings. One of a wrong type is named, since a rule that is overlooked would forbid nothing. */
export function settings(read: Read): Settings {
  const wrong: string[] = [];
  const value = <T>(name: string, fallback: T, fits: (value: unknown) => value is T, form: string): T => {
    const given = read(name);
    if (given === undefined) {
      return fallback;
    }
    if (!fits(given)) {
      wrong.push(`deskhand.${name} has to be ${form}`);
      return fallback;
    }
    return given;
  };
  const text = (name: string) => value(name, "", isText, "text").trim();
  const flag = (name: string, fallback: boolean) => value(name, fallback, isFlag, "true or false");
  const list = (name: string) => value(name, [], isList, "a list of names, none of them empty").map((item) => item.trim());
  const found: Settings = {
    enabled: flag("enabled", true),
    command: text("command"),
    arguments: value("arguments", [], isTexts, "a list of text"),
    profile: text("profile"),
    virtualDesktop: text("virtualDesktop"),
    readOnly: flag("readOnly", false),
    timeoutMs: value("timeoutMs", null, isTime, "a whole number of milliseconds, 1 or more"),
    allow: list("allow"),
    deny: list("deny"),
    confirm: list("confirm"),
    allowApps: list("allowApps"),
    denyApps: list("denyApps"),
    hideApps: list("hideApps"),
  };
  if (!SIZES.test(found.virtualDesktop)) {
    wrong.push("deskhand.virtualDesktop has to be a size such as 1280x800, or empty");
  }
  if (wrong.length > 0) {
    throw new Error(`${wrong.join("; ")}.`);
  }
  return found;
}

/** The arguments that start the server so. */
export function serverArguments(settings: Settings): string[] {
  const repeated = (flag: string, values: readonly string[]) => values.flatMap((value) => [flag, value]);
  return [
    "serve",
    ...(settings.profile === "" ? [] : ["--profile", settings.profile]),
    ...(settings.virtualDesktop === "" ? [] : ["--virtual", settings.virtualDesktop]),
    ...(settings.readOnly ? ["--read-only"] : []),
    ...(settings.timeoutMs === null ? [] : ["--timeout-ms", String(settings.timeoutMs)]),
    ...repeated("--allow", settings.allow),
    ...repeated("--deny", settings.deny),
    ...repeated("--confirm", settings.confirm),
    ...repeated("--allow-app", settings.allowApps),
    ...repeated("--deny-app", settings.denyApps),
    ...repeated("--hide-app", settings.hideApps),
    ...settings.arguments,
  ];
}

/** What a version line (`deskhand 0.1.0`) says. */
export function versionIn(line: string): string | undefined {
  return /^deskhand (\S+)/.exec(line)?.[1];
}

const SIZES = /^$|^[1-9]\d*x[1-9]\d*(,[1-9]\d*x[1-9]\d*)*$/;

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isFlag(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText);
}

function isList(value: unknown): value is string[] {
  return isTexts(value) && value.every((item) => item.trim() !== "");
}

function isTime(value: unknown): value is number | null {
  return value === null || (Number.isInteger(value) && (value as number) > 0);
}
