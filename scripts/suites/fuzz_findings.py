"""Judges what mcp-fuzzer found. It counts all that was answered without an error as accepted, and most of that is as
valid as anything; what the specification's schema or the schema of the tool forbids is not.

usage: fuzz_findings.py REPORT TOOLS_LIST
"""

import glob
import json
import os
import sys

sys.path[:0] = glob.glob("target/tools/suites/lib/python3*/site-packages")

import mcp_fuzzer
from jsonschema import Draft202012Validator

REPORT, TOOLS = sys.argv[1:]

# What is no fault of a desktop's server, each with its reason.
IGNORED = {
    "injection_reflection",  # an answer says what was typed: it is JSON, and nobody takes it for a page
    "non_determinism",  # a desktop has a state: a recording can be stopped once
    "performance_outlier",  # a call takes as long as it is told to, and the machine has other work
}


def is_json(value) -> bool:
    """Whether it can be sent at all: Python writes numbers that JSON has not, and no answer can name such a request."""
    try:
        json.dumps(value, allow_nan=False)
        return True
    except ValueError:
        return False


def was_told(finding: dict) -> bool:
    """Whether it is a notification: what becomes of one is never told, and the fuzzer takes that for a yes."""
    result = finding["evidence"].get("result")
    return isinstance(result, dict) and result.get("response") == {"status": "notification_sent"}


def takes_its_time(sent) -> bool:
    """Whether a call was told to take longer than the fuzzer waits."""
    if isinstance(sent, list):
        return any(map(takes_its_time, sent))
    if not isinstance(sent, dict):
        return False
    for name, value in sent.items():
        long = 5000 if name.lower().endswith("ms") else 5
        timed = any(word in name.lower() for word in ("_ms", "duration", "timeout", "delay", "interval"))
        if timed and isinstance(value, (int, float)) and long < value or takes_its_time(value):
            return True
    return False


def wrong(schema: dict, value) -> list[str]:
    """What a schema has against a value, but for the case of words, which Deskhand does not mind."""
    faults = []
    for error in Draft202012Validator(schema).iter_errors(value):
        known = error.validator == "enum" and isinstance(error.instance, str)
        if not (known and error.instance.lower() in error.validator_value):
            faults.append(f"{error.json_path}: {error.message[:200]}")
    return faults


def schema_of(target: str) -> dict | None:
    """The specification's schema of a message, without what the fuzzer writes down otherwise than it sends it: each has
    an id, and the method of its kind."""
    folder = os.path.join(os.path.dirname(mcp_fuzzer.__file__), "schemas/mcp-spec/schema/2025-11-25/schema.json")
    with open(folder, encoding="utf-8") as file:
        definitions = json.load(file)["$defs"]
    if target not in definitions:
        return None
    definitions[target]["required"] = [name for name in definitions[target].get("required", []) if name != "id"]
    definitions[target]["properties"].pop("method", None)
    return {"$ref": f"#/$defs/{target}", "$defs": definitions}


with open(os.path.join(REPORT, "findings.json"), encoding="utf-8") as file:
    findings = json.load(file)["findings"]
with open(TOOLS, encoding="utf-8") as file:
    listed = json.load(file)
tools = {tool["name"]: tool["inputSchema"] for tool in listed.get("result", listed)["tools"]}

bad, looked_at = [], 0
for finding in findings:
    category, target, sent = finding["category"], finding["target"], finding["evidence"].get("input")
    if category in IGNORED or was_told(finding) or not is_json(sent):
        continue
    looked_at += 1
    if category == "hang" and takes_its_time(sent):
        continue
    if category != "accepted_malformed":
        bad.append(f"{category}: {target}: {json.dumps(finding)[:1000]}")
        continue
    schema = tools.get(target) if finding["kind"] == "tool" else schema_of(target)
    faults = wrong(schema, sent) if schema else []
    if faults:
        bad.append(f"accepted, and forbidden: {target}: {faults}: {json.dumps(finding)[:1000]}")

for line in bad:
    print(line)
if bad:
    sys.exit(f"mcp-fuzzer found {len(bad)} things; all of it is in {REPORT}.")
print(f"   no crash, no hang, nothing forbidden accepted ({looked_at} answers held against the schemas)")
