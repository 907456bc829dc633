import * as assert from "node:assert/strict";
import { test } from "node:test";
import { type Machine, find } from "../src/find";

const machine = (there: string[], more: Partial<Machine> = {}): Machine => ({
  platform: "linux",
  home: "/home/me",
  environment: { PATH: "/a:/b:relative:" },
  runs: (file) => there.includes(file),
  ...more,
});

test("a path that is given is taken, or missed", () => {
  assert.deepEqual(find("/x/deskhand", machine(["/x/deskhand", "/a/deskhand"])), { command: "/x/deskhand" });
  assert.deepEqual(find("~/d", machine(["/home/me/d"])), { command: "/home/me/d" });
  assert.match(missing("/x/deskhand", machine(["/a/deskhand"])), /says \/x\/deskhand/);
  assert.match(missing("x/deskhand", machine([])), /full path/);
});

test("PATH comes before the usual places, in its order", () => {
  assert.deepEqual(find("", machine(["/b/deskhand", "/a/deskhand"])), { command: "/a/deskhand" });
  assert.deepEqual(find("", machine(["/home/me/.cargo/bin/deskhand"])), { command: "/home/me/.cargo/bin/deskhand" });
  assert.deepEqual(find("", machine(["/usr/local/bin/deskhand"])), { command: "/usr/local/bin/deskhand" });
  assert.deepEqual(find("desk", machine(["/b/desk"])), { command: "/b/desk" });
});

test("a program of the workspace is not started unasked", () => {
  assert.match(missing("", machine(["relative/deskhand"])), /not found/);
});

test("Windows has another separator, and endings", () => {
  const windows = machine(["C:\\b\\deskhand.exe"], {
    platform: "win32",
    home: "C:\\Users\\me",
    environment: { Path: "C:\\a;C:\\b" },
  });
  assert.deepEqual(find("", windows), { command: "C:\\b\\deskhand.exe" });
});

test("where there is none, it says where it looked and what to do", () => {
  const said = missing("", machine([]));
  assert.match(said, /\/a, \/b, .*\.cargo\/bin/);
  assert.match(said, /deskhand\.command/);
});

function missing(setting: string, machine: Machine): string {
  const found = find(setting, machine);
  assert.ok("missing" in found, JSON.stringify(found));
  return found.missing;
}
