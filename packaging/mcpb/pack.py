"""Packs the bundle of MCP (.mcpb): a zip of the manifest, the program and its licenses, the same for the same input.

Called by packaging/build.
"""

import argparse
import hashlib
import json
import os
import pathlib
import time
import zipfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent


def main():
    arguments = argparse.ArgumentParser()
    for name in ("version", "program", "tools", "licenses", "level", "out", "server-json"):
        arguments.add_argument(f"--{name}", required=True)
    given = arguments.parse_args()

    manifest = json.loads((HERE / "manifest.json").read_text())
    expect(manifest["version"], given.version, "packaging/mcpb/manifest.json")
    tools = json.loads(pathlib.Path(given.tools).read_text())
    manifest["tools"] = [
        {"name": tool["name"], "description": tool["description"].split(". ")[0].rstrip(".")} for tool in tools
    ]

    # The oldest date that a zip can hold is in 1980.
    date = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]
    files = [
        ("manifest.json", json.dumps(manifest, indent=2).encode() + b"\n", 0o644),
        ("server/deskhand", pathlib.Path(given.program).read_bytes(), 0o755),
        ("LICENSE-APACHE", (ROOT / "LICENSE-APACHE").read_bytes(), 0o644),
        ("LICENSE-MIT", (ROOT / "LICENSE-MIT").read_bytes(), 0o644),
        ("third-party-licenses", pathlib.Path(given.licenses).read_bytes(), 0o644),
    ]
    with zipfile.ZipFile(given.out, "w", zipfile.ZIP_DEFLATED, compresslevel=int(given.level)) as bundle:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            bundle.writestr(entry, data)

    server = json.loads((HERE.parent / "server.json").read_text())
    expect(server["version"], given.version, "packaging/server.json")
    name = pathlib.Path(given.out).name
    for package in server["packages"]:
        expect(package["version"], given.version, "packaging/server.json")
        if package["identifier"].endswith("/" + name):
            package["fileSha256"] = hashlib.sha256(pathlib.Path(given.out).read_bytes()).hexdigest()
    pathlib.Path(given.server_json).write_text(json.dumps(server, indent=2) + "\n")


def expect(found, wanted, where):
    if found != wanted:
        raise SystemExit(f"{where} has version {found}, and Cargo.toml {wanted}: make them equal")


main()
