//! Passwords stand in no reply, and typed text in no log.

use crate::desk::Desk;
use deskhand::encode;
use serde_json::{Value, json};
use std::process::Command;

const SECRET: &str = "hunter2-verysecret";

/// Everything that could tell the secret.
fn calls() -> Vec<(&'static str, Value)> {
    let field = "password_field";
    vec![
        ("type_text", json!({ "text": SECRET, "element": field })),
        ("type_text", json!({ "Text": SECRET })),
        ("type_text", json!({ "txt": SECRET })),
        ("type_text", json!({ "text": [SECRET] })),
        ("type_text", json!({ "text": SECRET, "Text": SECRET })),
        ("set_ui_element_value", json!({ "element": field, "value": SECRET })),
        ("set_ui_element_value", json!({ "element": field, "text": SECRET })),
        ("write_element_value", json!({ "elementId": field, "Value": SECRET })),
        ("set_ui_element_value", json!({ "element": "slider", "value": SECRET })),
        ("type_text", json!({ "text": SECRET, "element": field, "method": "paste" })),
        ("get_ui_element_value", json!({ "element": field })),
        ("get_element", json!({ "element": field })),
        ("find_elements", json!({ "selector": field })),
        ("get_ui_elements", json!({ "window": 7 })),
        ("get_ui_elements", json!({ "window": 7, "format": "json" })),
        (
            "execute_shell_command",
            json!({ "command": SECRET, "args": [SECRET], "environment": { "A": SECRET }, "stdin": SECRET }),
        ),
        ("execute_javascript", json!({ "script": SECRET })),
        ("validate_script", json!({ "script": SECRET })),
        (
            "run_steps",
            json!({ "continue_on_error": true, "steps": [
                { "tool": "type_text", "arguments": { "text": SECRET, "element": field } },
                { "tool": "set_ui_element_value", "arguments": { "element": field, "text": SECRET } },
                { "tool": "type_text", "arguments": { "texd": SECRET } },
            ] }),
        ),
    ]
}

#[test]
fn no_reply_tells_what_a_password_field_holds() {
    let desk = Desk::new();
    for (tool, arguments) in calls() {
        let reply = encode::mcp(&desk.call(tool, arguments.clone())).to_string();
        let own_number = tool == "set_ui_element_value" && arguments["element"] == "slider";
        assert!(own_number || !reply.contains(SECRET), "{tool} {arguments}: {reply}");
    }
    assert!(desk.control.value("editor/password").contains(SECRET));
}

#[test]
fn no_line_of_the_log_tells_what_was_typed() {
    // The log is this process's standard error, so another process makes the calls.
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "masking::calls_that_are_logged", "--nocapture"])
        .env("TOOLS_LOG", "1")
        .output()
        .unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // One line for each call, and one for each step.
    assert_eq!(lines.len(), calls().len() + 3, "{log}");
    assert!(!log.contains(SECRET), "{log}");
    assert_eq!(lines[0]["arguments"]["text"], "(18 characters)");
    assert_eq!(lines[0]["tool"], "type_text");
    assert_eq!(lines[0]["outcome"], "ok");
    assert_eq!(lines[2]["code"], "invalid_argument");
}

/// Does its work in the process that the test above starts.
#[test]
fn calls_that_are_logged() {
    if std::env::var_os("TOOLS_LOG").is_none() {
        return;
    }
    let desk = Desk::new();
    for (tool, arguments) in calls() {
        let _ = desk.call(tool, arguments);
    }
}
