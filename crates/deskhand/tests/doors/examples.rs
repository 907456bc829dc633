//! The examples of the JSON-RPC 2.0 specification (section 7), at `POST /` and as lines. Methods that are only
//! examples are not here, and parameters are taken by name; everything else is as the specification has it.

use crate::connection::Connection;
use crate::http::Served;
use deskhand::mcp::Options;
use serde_json::{Value, json};

/// What is sent and what comes back: for each request its id and the code of its error, or 0 for a result.
type Example = (&'static str, &'static [(&'static str, i64)]);

const EXAMPLES: &[Example] = &[
    // Calls with positional parameters.
    (r#"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}"#, &[("1", -32602)]),
    (r#"{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}"#, &[("2", -32602)]),
    // Calls with named parameters, and the same of methods that are here.
    (
        r#"{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}"#,
        &[("3", -32601)],
    ),
    (
        r#"{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}"#,
        &[("4", -32601)],
    ),
    (r#"{"jsonrpc": "2.0", "method": "tools/list", "params": {}, "id": 5}"#, &[("5", 0)]),
    (r#"{"id": "6", "params": {}, "method": "tools/list", "jsonrpc": "2.0"}"#, &[("\"6\"", 0)]),
    // Notifications.
    (r#"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#, &[]),
    (r#"{"jsonrpc": "2.0", "method": "foobar"}"#, &[]),
    // A method that is not there.
    (r#"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#, &[("\"1\"", -32601)]),
    // What is no JSON.
    (r#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#, &[("null", -32700)]),
    // What is no request.
    (r#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#, &[("null", -32600)]),
    // A batch that is no JSON.
    (
        r#"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method"]"#,
        &[("null", -32700)],
    ),
    // An empty batch.
    ("[]", &[("null", -32600)]),
    // Batches of what are no requests.
    ("[1]", &[("null", -32600)]),
    ("[1,2,3]", &[("null", -32600), ("null", -32600), ("null", -32600)]),
    // A batch of all.
    (
        r#"[
            {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
            {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
            {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
            {"foo": "boo"},
            {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
            {"jsonrpc": "2.0", "method": "tools/list", "id": "9"}
        ]"#,
        &[("\"1\"", -32602), ("\"2\"", -32602), ("null", -32600), ("\"5\"", -32601), ("\"9\"", 0)],
    ),
    // A batch of notifications.
    (
        r#"[
            {"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
            {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}
        ]"#,
        &[],
    ),
];

fn check(sent: &str, answer: &Value, expected: &[(&str, i64)]) {
    let is_batch = sent.starts_with('[') && sent != "[]" && expected != [("null", -32700)];
    assert_eq!(answer.is_array(), is_batch, "{sent}: {answer}");
    let answers = answer.as_array().cloned().unwrap_or_else(|| vec![answer.clone()]);
    let mut found = Vec::new();
    for answer in &answers {
        let members = answer.as_object().unwrap();
        assert_eq!((members.len(), &members["jsonrpc"]), (3, &json!("2.0")), "{sent}: {answer}");
        let code = members.get("error").map_or(0, |error| error["code"].as_i64().unwrap());
        assert!(code != 0 || members.contains_key("result"), "{sent}: {answer}");
        assert!(code == 0 || answer["error"]["message"].is_string(), "{sent}: {answer}");
        found.push((members["id"].to_string(), code));
    }
    let mut expected: Vec<_> = expected.iter().map(|(id, code)| ((*id).to_owned(), *code)).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{sent}");
}

#[test]
fn over_http_they_are_answered_as_the_specification_says() {
    let served = Served::start(|_| {});
    for (sent, expected) in EXAMPLES {
        let answer = served.open().send("POST /", &served.headers(), sent);
        if expected.is_empty() {
            assert_eq!((answer.status, answer.body.as_str()), (204, ""), "{sent}");
        } else {
            assert_eq!(answer.status, 200, "{sent}");
            check(sent, &answer.json(), expected);
        }
    }
}

#[tokio::test]
async fn as_lines_they_are_answered_as_the_specification_says() {
    let mut connection = Connection::open(Options::default());
    for (sent, expected) in EXAMPLES {
        connection.send(&sent.replace('\n', " ")).await;
        if expected.is_empty() {
            connection.send(r#"{"jsonrpc":"2.0","id":"next","method":"ping"}"#).await;
            assert_eq!(connection.receive().await["id"], "next", "{sent}");
        } else {
            check(sent, &connection.receive().await, expected);
        }
    }
}
