//! Raw lines in, golden lines out, against the built program without any display.
//!
//! `NAME.jsonl` is sent as it is, byte by byte; what came back is compared with `NAME.replies.jsonl`,
//! which `UPDATE_EXPECT=1` rewrites. Calls run beside each other, so that replies are sorted by id: those
//! without one first, which come in the order of their lines.

use crate::process::program;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let input = std::fs::read(folder.join(format!("{name}.jsonl"))).unwrap();
    let mut child = program(&["serve"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    for line in String::from_utf8(output.stderr).unwrap().lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object()), "log line: {line}");
    }
    let mut replies: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("stdout: {line}")))
        .collect();
    replies.iter_mut().for_each(mask);
    replies.sort_by_key(order);
    let found: String = replies.iter().map(|reply| format!("{reply}\n")).collect();
    let golden = folder.join(format!("{name}.replies.jsonl"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return std::fs::write(golden, found).unwrap();
    }
    let expected = std::fs::read_to_string(golden).unwrap();
    assert_eq!(found, expected, "{name}: UPDATE_EXPECT=1 rewrites what is expected");
}

fn order(reply: &Value) -> (u8, u64, String) {
    let id = match reply {
        Value::Array(replies) => return (3, 0, replies.first().map(ToString::to_string).unwrap_or_default()),
        reply => &reply["id"],
    };
    match (id, id.as_u64()) {
        (Value::Null, _) => (0, 0, String::new()),
        (_, Some(number)) => (1, number, String::new()),
        (other, None) => (2, 0, other.to_string()),
    }
}

/// Leaves out what changes with every tool and every version, and sorts the answers of a batch.
fn mask(reply: &mut Value) {
    if let Value::Array(replies) = reply {
        replies.iter_mut().for_each(mask);
        return replies.sort_by_key(order);
    }
    let Some(result) = reply.get_mut("result").and_then(Value::as_object_mut) else { return };
    for (name, shown) in [("tools", "(tools)"), ("instructions", "(instructions)")] {
        if let Some(member) = result.get_mut(name) {
            *member = json!(shown);
        }
    }
    if let Some(version) = result.get_mut("serverInfo").and_then(|info| info.get_mut("version")) {
        *version = json!("(version)");
    }
    if let Some(info) =
        result.get_mut("_meta").and_then(|meta| meta.get_mut("io.modelcontextprotocol/serverInfo"))
    {
        info["version"] = json!("(version)");
    }
}

macro_rules! transcripts {
    ($($name:ident)*) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}

transcripts! {
    hello
    versions_old
    versions_unknown
    without_hello
    garbage
    truncated
    invalid_requests
    wrong_params
    unknown
    ids
    batch_old
    batch_new
    defaults
    resources
    observations
    stateless
    shutdown
}
