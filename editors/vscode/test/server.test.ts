import * as assert from "node:assert/strict";
import { test } from "node:test";
import { serverArguments, settings, versionIn } from "../src/server";

const given = (values: Record<string, unknown>) => settings((name) => values[name]);

test("without settings the server starts as it would by itself", () => {
  assert.deepEqual(serverArguments(given({})), ["serve"]);
});

test("each setting is a flag", () => {
  for (const [name, value, flags] of [
    ["profile", "full", ["--profile", "full"]],
    ["virtualDesktop", " 1280x800 ", ["--virtual", "1280x800"]],
    ["virtualDesktop", "1280x800,1920x1080", ["--virtual", "1280x800,1920x1080"]],
    ["readOnly", true, ["--read-only"]],
    ["readOnly", false, []],
    ["timeoutMs", 1500, ["--timeout-ms", "1500"]],
    ["timeoutMs", null, []],
    ["allow", ["shell"], ["--allow", "shell"]],
    ["deny", ["type_text", "keyboard"], ["--deny", "type_text", "--deny", "keyboard"]],
    ["confirm", ["script"], ["--confirm", "script"]],
    ["allowApps", ["Text Editor"], ["--allow-app", "Text Editor"]],
    ["denyApps", ["a"], ["--deny-app", "a"]],
    ["hideApps", ["b"], ["--hide-app", "b"]],
    ["arguments", ["--yield-ms", "0"], ["--yield-ms", "0"]],
  ] as const) {
    assert.deepEqual(serverArguments(given({ [name]: value })), ["serve", ...flags], name);
  }
});

test("what makes no sense is named, all of it, and starts nothing", () => {
  assert.throws(
    () => given({ readOnly: "yes", timeoutMs: 0.5, deny: ["type_text", " "], virtualDesktop: "big" }),
    (error: Error) =>
      ["readOnly", "timeoutMs", "deny", "virtualDesktop"].every((name) => error.message.includes(`deskhand.${name}`)),
  );
});

test("the version is in the first line", () => {
  assert.equal(versionIn("deskhand 0.1.0\n"), "0.1.0");
  assert.equal(versionIn("GNU bash, version 5"), undefined);
});
