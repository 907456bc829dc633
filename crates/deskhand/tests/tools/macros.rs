//! Macros: made, kept, saved, loaded and run.

use crate::desk::{Desk, check};
use deskhand_core::Code;
use deskhand_core::fake::Fake;
use expect_test::expect;
use serde_json::{Value, json};

/// Fills the title of the editor, and ticks a box where that is wanted.
fn form() -> Value {
    json!({
        "name": "form",
        "description": "Fill the form.",
        "parameters": [
            { "name": "title", "description": "What it is called." },
            { "name": "zoom", "type": "integer", "default": 120 },
            { "name": "wrap", "type": "boolean", "default": false },
            { "name": "style", "default": "plain", "options": ["plain", "bold"] },
            { "name": "password", "secret": true },
        ],
        "steps": [
            { "tool": "set_ui_element_value", "arguments": { "element": "text_field[name=\"Title\"]", "value": { "$from": "params.title" } } },
            { "tool": "type_text", "arguments": { "element": "password_field", "text": { "$from": "params.password" } } },
            { "tool": "set_ui_element_value", "arguments": { "element": "slider", "value": { "$from": "params.zoom" } } },
            { "if": { "value": { "$from": "params.wrap" }, "equals": true },
              "then": [{ "tool": "click_ui_element", "arguments": { "element": "check_box", "window": "7" } }] },
        ],
    })
}

fn made(desk: &Desk) {
    desk.data("create_macro", form());
}

#[test]
fn a_macro_does_what_it_is_told_with_its_parameters() {
    check(
        made,
        "execute_macro",
        json!({ "name": "form", "parameters": { "title": "Report", "wrap": true, "password": "hunter2" } }),
        expect![[r#"
            macro: form
            ok: true
            succeeded: 4
            total: 4
            steps:
              - step steps[0]  tool set_ui_element_value  ok true  result {effect confirmed  evidence "value \"Untitled\" → \"Report\""  via action  target "e1 text_field \"Title\""}  duration_ms …
              - step steps[1]  tool type_text  ok true  result {effect confirmed  evidence "it holds 0 → 7 characters"  target "e2 password_field \"Password\""  window_title "Untitled - Editor"  characters 7}  duration_ms …
              - step steps[2]  tool set_ui_element_value  ok true  result {effect confirmed  evidence "value \"100\" → \"120\""  via action  target "e3 slider \"Zoom\""}  duration_ms …
              - step steps[3].then[0]  tool click_ui_element  ok true  result {effect confirmed  evidence "became checked"  via action  target "e4 check_box \"Wrap lines\""  window_title "Untitled - Editor"}  duration_ms …
            > set editor/title "Report"
            > focus editor/password
            > type "hunter2"
            > set editor/zoom "120"
            > perform editor/wrap toggle
            < editor/title got "Report"
            < editor/password got "hunter2"
        "#]],
    );
    let desk = Desk::new();
    made(&desk);
    let ran = desk.data(
        "execute_macro",
        json!({ "macro": "macros/form", "params": { "title": "A", "password": "x", "zoom": 150 } }),
    );
    assert_eq!(ran["ok"], true, "{ran}");
    assert_eq!(desk.control.value("editor/title"), "A");
    assert_eq!(desk.control.value("editor/zoom"), "150");
}

#[test]
fn it_stops_at_the_first_error_and_says_which_and_what_was_done() {
    let desk = Desk::new();
    made(&desk);
    desk.control.change(|world| world.remove("editor/zoom"));
    let ran = desk
        .data("execute_macro", json!({ "name": "form", "parameters": { "title": "B", "password": "x" } }));
    assert_eq!(
        (&ran["ok"], &ran["stopped_at"], &ran["succeeded"]),
        (&json!(false), &json!("steps[2]"), &json!(2))
    );
    assert_eq!(ran["steps"][2]["error"]["code"], "element_not_found");
    assert_eq!(ran["steps"][0]["result"]["effect"], "confirmed");
    assert_eq!(desk.control.value("editor/title"), "B");
}

#[test]
fn every_wrong_parameter_is_named() {
    let desk = Desk::new();
    made(&desk);
    let parameters = json!({ "zoom": "big", "wrap": 1, "style": "odd", "passwort": "hunter2" });
    let error = desk.error("execute_macro", json!({ "name": "form", "parameters": parameters }));
    expect![[r#"
        The parameters of form do not fit: title (a string) is required; zoom has to be an integer, not "big"; wrap has to be true or false, not 1; style has to be one of "plain", "bold", not "odd"; password (a string) is required; passwort is no parameter (is password meant?).
        title: a string, zoom?: an integer, wrap?: true or false, style?: one of "plain", "bold", password: a string"#]].assert_eq(&format!("{}\n{}", error.message, error.detail.expected.unwrap()));
    assert!(!error.message.contains("hunter2"));
    let error = desk.error("execute_macro", json!({ "name": "form", "parameters": { "title": "x" } }));
    assert_eq!(error.code, Code::MissingRequiredParameter);
    let error = desk
        .error("execute_macro", json!({ "name": "form", "parameters": { "title": "x", "password": 12345 } }));
    assert!(
        error.message.contains("password has to be a string") && !error.message.contains("12345"),
        "{error}"
    );
    assert!(desk.control.log().is_empty());
}

#[test]
fn tc_create_macro_names_all_that_is_wrong_with_it() {
    let desk = Desk::new();
    let wrong = json!({
        "name": "a b",
        "parameters": [
            { "name": "x", "type": "integer", "default": "one" },
            { "name": "x" },
            { "name": "p", "secret": true, "default": "hunter2" },
            { "name": "o", "type": "boolean", "options": [1] },
        ],
        "steps": [
            { "tool": "click", "arguments": { "x": "left", "yy": 2 } },
            { "tool": "click", "arguments": { "x": { "$from": "params.nothing" } } },
        ],
    });
    let error = desk.error("create_macro", wrong);
    for fault in [
        "the name \"a b\" is none",
        "there are two parameters called x",
        "the default: x has to be an integer, not \"one\"",
        "p is secret and can have neither a default nor options",
        "the option 1 of o is no boolean",
        "steps[0].arguments of click: The arguments do not fit",
    ] {
        assert!(error.message.contains(fault), "{fault}: {error}");
    }
    assert!(!error.message.contains("hunter2"));
    let unknown = json!({ "name": "m", "steps": [{ "tool": "click", "arguments": { "x": { "$from": "params.nothing" } } }] });
    assert!(desk.error("create_macro", unknown).message.contains("params.nothing, which is no parameter"));
    let nested = json!({ "name": "m", "steps": [{ "tool": "execute_macro", "arguments": { "name": "m" } }] });
    assert!(desk.error("create_macro", nested).message.contains("execute_macro cannot be a step"));
    assert_eq!(desk.data("list_macros", json!({}))["macros"], json!([]));
}

#[test]
fn tc_list_macros_in_pages_as_they_are_replaced_and_forgotten() {
    let desk = Desk::new();
    made(&desk);
    let error = desk.error("create_macro", form());
    assert!(error.message.contains("already"), "{error}");
    let mut again = form();
    again["overwrite"] = json!(true);
    again["description"] = json!("Another.");
    assert_eq!(desk.data("create_macro", again)["description"], "Another.");
    desk.data("create_macro", json!({ "name": "look", "steps": [{ "tool": "cursor_position" }] }));
    let first = desk.data("list_macros", json!({ "page_size": 1 }));
    assert_eq!(
        (&first["macros"][0]["resource"], &first["macros"][0]["step_count"]),
        (&json!("macros/form"), &json!(4))
    );
    let rest = desk.data("list_macros", json!({ "page_token": first["next_page_token"] }));
    assert_eq!(rest["macros"][0]["name"], "look");
    assert_eq!(desk.data("get_macro", json!({ "name": "form" }))["steps"], form()["steps"]);
    desk.data("delete_macro", json!({ "name": "form" }));
    let error = desk.error("execute_macro", json!({ "name": "lok" }));
    assert_eq!((error.code, &error.detail.found[..]), (Code::MacroNotFound, &["look".to_owned()][..]));
}

#[test]
fn tc_get_macro_writes_a_file_when_asked_that_loads_as_what_it_was() {
    let folder = std::env::temp_dir().join(format!("deskhand-macros-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let desk = Desk::with(Fake::new(), |config| config.write_folders = vec![folder.clone()]);
    let path = folder.join("form.json");
    let mut saved = form();
    saved["file_path"] = json!(path);
    assert_eq!(desk.data("create_macro", saved)["file_path"], json!(path));
    let text = std::fs::read_to_string(&path).unwrap();
    expect![[r#"
        {
          "name": "form",
          "description": "Fill the form.",
          "parameters": [
            {
              "name": "title",
              "type": "string",
              "description": "What it is called."
            },
            {
              "name": "zoom",
              "type": "integer",
              "default": 120
            },
            {
              "name": "wrap",
              "type": "boolean",
              "default": false
            },
            {
              "name": "style",
              "type": "string",
              "default": "plain",
              "options": [
                "plain",
                "bold"
              ]
            },
            {
              "name": "password",
              "type": "string",
              "secret": true
            }
          ],
          "steps": [
            {
              "tool": "set_ui_element_value",
              "arguments": {
                "element": "text_field[name=\"Title\"]",
                "value": {
                  "$from": "params.title"
                }
              }
            },
            {
              "tool": "type_text",
              "arguments": {
                "element": "password_field",
                "text": {
                  "$from": "params.password"
                }
              }
            },
            {
              "tool": "set_ui_element_value",
              "arguments": {
                "element": "slider",
                "value": {
                  "$from": "params.zoom"
                }
              }
            },
            {
              "if": {
                "value": {
                  "$from": "params.wrap"
                },
                "equals": true
              },
              "then": [
                {
                  "tool": "click_ui_element",
                  "arguments": {
                    "element": "check_box",
                    "window": "7"
                  }
                }
              ]
            }
          ]
        }
    "#]]
    .assert_eq(&text);
    // Loaded by another server, under its own name or another.
    let other = Desk::with(Fake::new(), |config| config.write_folders = vec![folder.clone()]);
    other.data("create_macro", json!({ "file_path": path }));
    other.data("create_macro", json!({ "file_path": path, "name": "again" }));
    for name in ["form", "again"] {
        assert_eq!(other.data("get_macro", json!({ "name": name }))["steps"], form()["steps"]);
    }
    // Kept as it is unless asked.
    let error = desk.error("get_macro", json!({ "name": "form", "file_path": path }));
    assert_eq!(error.code, Code::PathExists);
    desk.data("get_macro", json!({ "name": "form", "file_path": path, "overwrite": true }));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    // A macro that cannot be written is not made either.
    let mut denied = form();
    denied["name"] = json!("elsewhere");
    denied["file_path"] = json!("/etc/form.json");
    assert_eq!(desk.error("create_macro", denied).code, Code::DeniedByPolicy);
    assert_eq!(desk.error("get_macro", json!({ "name": "elsewhere" })).code, Code::MacroNotFound);
    // What is no macro is refused, and where; so is a file from elsewhere, however it is named.
    for (text, why) in [
        ("{\"name\": \"x\", \"steps\": 3}", "line 1 column 24"),
        ("{\"name\": \"x\"}", "missing field `steps`"),
        ("not JSON", "expected"),
        ("{\"name\": \"x\", \"steps\": [{\"tool\": \"clik\"}]}", "no tool called"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = desk.error("create_macro", json!({ "file_path": path, "overwrite": true }));
        assert!(error.message.contains(why), "{why}: {error}");
    }
    for elsewhere in ["/etc/passwd".to_owned(), format!("{}/../../etc/passwd", folder.display())] {
        assert_eq!(desk.error("create_macro", json!({ "file_path": elsewhere })).code, Code::DeniedByPolicy);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn policy_holds_for_each_step() {
    let desk = Desk::with(Fake::new(), |config| config.policy.deny.push("click_ui_element".to_owned()));
    made(&desk);
    let ran = desk.data(
        "execute_macro",
        json!({ "name": "form", "parameters": { "title": "x", "password": "y", "wrap": true } }),
    );
    assert_eq!(ran["stopped_at"], "steps[3].then[0]", "{ran}");
    assert_eq!(ran["steps"][3]["error"]["code"], "denied_by_policy");
    let shell = json!({ "name": "shell", "steps": [{ "tool": "execute_shell_command", "arguments": { "command": "true" } }] });
    desk.data("create_macro", shell);
    let ran = desk.data("execute_macro", json!({ "name": "shell" }));
    assert_eq!(ran["steps"][0]["error"]["code"], "denied_by_policy");
}
