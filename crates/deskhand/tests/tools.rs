//! Tools on the desktop in memory: every tool once as it is ordinarily used, what must be refused, and the
//! cases in which a careless tool would claim a success.

use deskhand::call::{Client, Config, Server};
use deskhand::{encode, tools};
use deskhand_core::Rect;
use deskhand_core::fake::{Control, Fake};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

struct Stage {
    server: Arc<Server>,
    client: Arc<Client>,
    control: Arc<Control>,
}

fn stage() -> Stage {
    stage_with(Config::default())
}

fn stage_with(config: Config) -> Stage {
    deskhand::log::silence();
    let (desktop, control) = Fake::new().build();
    let server = Server::new(desktop, config);
    let client = server.client("test");
    Stage { server, client, control }
}

impl Stage {
    fn call(&self, tool: &str, arguments: Value) -> Value {
        self.call_as(&self.client, tool, arguments)
    }

    fn call_as(&self, client: &Arc<Client>, tool: &str, arguments: Value) -> Value {
        let prepared = self.server.prepare(client, tool, arguments, None);
        let prepared = prepared.unwrap_or_else(|| panic!("no tool is called {tool}"));
        encode::json(&self.server.run(prepared))
    }

    #[track_caller]
    fn refused(&self, code: &str, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments.clone());
        assert_eq!(answer["code"], code, "{tool} {arguments}: {answer}");
        answer
    }

    fn ref_of(&self, selector: &str) -> Value {
        let found = self.call("find_elements", json!({ "selector": selector, "include_hidden": true }));
        assert_eq!(found["elements"].as_array().map(Vec::len), Some(1), "{selector}: {found}");
        found["elements"][0]["ref"].clone()
    }
}

/// Every tool with the arguments of an ordinary use, and what has to stand in the answer.
fn ordinary() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("take_screenshot", json!({}), "\"width\":1280"),
        ("zoom", json!({ "x": 100, "y": 100 }), "\"width\":640"),
        ("list_displays", json!({}), "FAKE-2"),
        ("get_display", json!({ "name": "displays/1" }), "\"index\":1"),
        ("get_ui_elements", json!({}), "button"),
        ("find_elements", json!({ "role": "button", "title": "sav" }), "\"Save\""),
        ("get_element", json!({ "element": "save-button" }), "\"role\":\"button\""),
        ("get_element_actions", json!({ "element": "button[name=Save]" }), "\"actions\":["),
        ("click_ui_element", json!({ "element": "button[name=Save]" }), "\"effect\":\"confirmed\""),
        ("get_ui_element_value", json!({ "element": "text_field[name=Title]" }), "\"value\":\"Untitled\""),
        (
            "set_ui_element_value",
            json!({ "element": "slider[name=Zoom]", "value": "150" }),
            "\"effect\":\"confirmed\"",
        ),
        ("perform_element_action", json!({ "element": "button[name=Save]", "action": "click" }), "confirmed"),
        ("focus_ui_element", json!({ "element": "text_field[name=Title]" }), "\"effect\":\"confirmed\""),
        (
            "scroll_to_element",
            json!({ "element": "list_item[name=\"File 20\"]" }),
            "\"effect\":\"confirmed\"",
        ),
        ("wait_for", json!({ "selector": "button[name=Save]:enabled" }), "\"condition\":\"element\""),
        ("click", json!({ "x": 90, "y": 107 }), "\"effect\":\"confirmed\""),
        ("double_click", json!({ "x": 100, "y": 300 }), "\"pointer\":{\"x\":100"),
        ("move_mouse", json!({ "x": -500, "y": 200 }), "\"display\":1"),
        (
            "left_mouse_down",
            json!({ "x": 100, "y": 300, "button": "middle" }),
            "\"held\":[\"middle button\"]",
        ),
        ("left_mouse_up", json!({ "button": "middle" }), "\"held\":[]"),
        ("cursor_position", json!({}), "\"x\":"),
        (
            "drag",
            json!({ "start_x": 100, "start_y": 300, "end_x": 200, "end_y": 320, "duration_ms": 0 }),
            "\"effect\"",
        ),
        ("scroll", json!({ "direction": "down", "x": 550, "y": 250 }), "\"delivered\":\"3 notch(es)\""),
        ("type_text", json!({ "text": "hé 世", "element": "text_field[name=Title]" }), "reads back exactly"),
        ("press_key", json!({ "key": "ctrl+S" }), "\"effect\""),
        ("hold_key", json!({ "key": "shift", "duration_ms": 60_000 }), "\"held\":[\"shift\"]"),
        ("list_windows", json!({ "application": "Editor" }), "Tips - Editor"),
        ("get_window", json!({ "name": "windows/8" }), "Calculator"),
        ("focus_window", json!({ "window": "Calculator" }), "\"effect\":\"confirmed\""),
        ("set_window", json!({ "window": 8, "display": 1 }), "\"display\":1"),
        ("move_window", json!({ "window": 8, "x": 20.9, "y": 60 }), "\"x\":20"),
        ("resize_window", json!({ "window": 7, "width": 500, "height": 300 }), "\"width\":500"),
        ("minimize_window", json!({ "window": 7 }), "\"state\":\"minimized\""),
        ("restore_window", json!({ "window": 7 }), "\"effect\":\"confirmed\""),
        ("close_window", json!({ "window": "Tips" }), "is gone"),
        ("list_running_apps", json!({}), "applications/101"),
        ("launch_app", json!({ "application": "Viewer", "wait_ms": 2000 }), "\"effect\":\"confirmed\""),
        ("activate_app", json!({ "application": "Calculator" }), "\"effect\":\"confirmed\""),
        ("quit_app", json!({ "application": "Calculator" }), "has ended"),
        ("open_application", json!({ "application_id": "Editor" }), "\"effect\":\"confirmed\""),
        ("list_applications", json!({}), "\"applications\":["),
        ("get_application", json!({ "name": "applications/101" }), "\"pid\":101"),
        (
            "run_steps",
            json!({ "steps": [
            { "tool": "find_elements", "arguments": { "selector": "button[name=Save]" } },
            { "tool": "click_ui_element", "arguments": { "element": { "$from": "prev.elements[0].ref" } } },
        ] }),
            "\"succeeded\":2",
        ),
    ]
}

#[test]
fn every_tool_does_its_ordinary_work() {
    let mut seen = HashSet::from(["delete_application"]);
    for (tool, arguments, wanted) in ordinary() {
        let stage = stage();
        if tool == "left_mouse_up" {
            stage.call("left_mouse_down", json!({ "x": 100, "y": 300, "button": "middle" }));
        }
        if tool == "list_applications" {
            stage.call("open_application", json!({ "application": "Editor" }));
        }
        let answer = stage.call(tool, arguments.clone());
        assert!(
            answer.get("code").is_none() && answer.to_string().contains(wanted),
            "{tool} {arguments}: {answer}"
        );
        seen.insert(tool);
    }
    let stage = stage();
    stage.call("open_application", json!({ "application": "Editor" }));
    let answer = stage.call("delete_application", json!({ "name": "applications/101" }));
    assert_eq!(answer["effect"], "confirmed", "{answer}");
    let missing: Vec<_> = tools::rows().map(|row| row.name).filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

#[test]
fn every_fault_of_the_arguments_is_named_at_once() {
    let stage = stage();
    let answer =
        stage.refused("invalid_argument", "set_window", json!({ "x": "far", "wdth": 3, "state": "big" }));
    let message = answer["message"].as_str().unwrap();
    for fault in ["window", "x has to be a number", "wdth", "state has to be one of"] {
        assert!(message.contains(fault), "{fault} is missing: {message}");
    }
    let answer = stage.refused("missing_required_parameter", "move_window", json!({}));
    assert!(
        ["window", "x", "y"].iter().all(|name| answer["message"].as_str().unwrap().contains(name)),
        "{answer}"
    );
    stage.refused("missing_required_parameter", "click", json!({ "x": 5 }));
    stage.refused("invalid_argument", "click", json!({ "x": 5, "y": 5, "click_count": 4 }));
    stage.refused("invalid_argument", "scroll", json!({ "direction": "up", "delta_y": 5 }));
    stage.refused("unknown_key", "press_key", json!({ "key": "anykey" }));
    stage.refused("invalid_selector", "find_elements", json!({ "selector": "button[" }));
    assert!(stage.control.received().is_empty(), "{:?}", stage.control.received());
}

#[test]
fn what_is_not_there_is_answered_with_what_is() {
    let stage = stage();
    for (code, tool, arguments) in [
        ("window_not_found", "focus_window", json!({ "window": "Browser" })),
        ("ambiguous_target", "focus_window", json!({ "window": "Editor" })),
        ("application_not_found", "quit_app", json!({ "application": "Browser" })),
        ("display_not_found", "get_display", json!({ "display": "7" })),
        ("coordinates_out_of_bounds", "click", json!({ "x": 5000, "y": 5 })),
        ("coordinates_out_of_bounds", "click", json!({ "x": 1300, "y": 5, "display": 0 })),
        ("element_not_found", "click", json!({ "element": "button[name=Sav]" })),
    ] {
        let answer = stage.refused(code, tool, arguments);
        assert!(answer["detail"]["found"].is_array() || answer["detail"]["expected"].is_string(), "{answer}");
    }
    assert!(stage.control.received().is_empty(), "{:?}", stage.control.received());
}

#[test]
fn what_cannot_be_worked_is_refused_and_left_alone() {
    let stage = stage();
    let undo = stage.ref_of("button[name=Undo]");
    stage.refused("element_not_actionable", "click_ui_element", json!({ "element": undo }));
    stage.refused("element_not_actionable", "click", json!({ "element": undo }));
    let result = json!({ "element": "text_field[name=Result]", "text": "5" });
    stage.refused("element_not_actionable", "type_text", result);
    stage.control.change(|world| world.lock_session(true));
    stage.refused("secure_desktop_active", "click", json!({ "x": 90, "y": 107 }));
    stage.control.change(|world| world.lock_session(false));
    stage.control.change(|world| world.confine_pointer(Some(Rect::new(0, 0, 50, 50))));
    stage.refused("target_changed", "click", json!({ "x": 90, "y": 107 }));
}

#[test]
fn a_covered_element_is_clicked_by_its_action_only() {
    let stage = stage();
    let save = stage.ref_of("button[name=Save]");
    stage.control.change(|world| world.open_window(102, "On top", Rect::new(40, 60, 400, 100), false));
    stage.control.change(|world| world.raise_window(20));
    stage.refused("element_not_actionable", "click", json!({ "element": save }));
    let answer = stage.call("click_ui_element", json!({ "element": save }));
    assert_eq!((&answer["effect"], &answer["via"]), (&json!("confirmed"), &json!("action")), "{answer}");
}

#[test]
fn a_ref_means_what_was_shown_or_is_refused() {
    let stage = stage();
    let first = stage.ref_of("list_item[name=\"File 1\"]");
    stage.control.change(|world| world.reverse("editor/recent"));
    stage.refused("target_changed", "click_ui_element", json!({ "element": first }));
    let save = stage.ref_of("button[name=Save]");
    let rebuilt = stage.control.change(|world| world.recreate("editor/save"));
    let answer = stage.call("click_ui_element", json!({ "element": save }));
    assert_eq!(answer["effect"], "confirmed", "{answer}");
    stage.control.change(|world| world.remove(&rebuilt.0));
    stage.refused("element_stale", "click_ui_element", json!({ "element": save }));
    stage.refused("element_stale", "click", json!({ "element": "e99999" }));
}

#[test]
fn input_that_had_no_effect_is_no_success() {
    let stage = stage();
    stage.control.change(|world| world.ignore_clicks(true));
    let answer = stage.call("click", json!({ "x": 90, "y": 107 }));
    assert_eq!(answer["effect"], "no_change_seen", "{answer}");
    stage.control.change(|world| world.ignore_keys(true));
    let answer = stage.call("type_text", json!({ "text": "x", "element": "text_field[name=Title]" }));
    assert_eq!(answer["effect"], "no_change_seen", "{answer}");
    stage.control.change(|world| world.refuse_window_requests(true));
    let answer = stage.call("move_window", json!({ "window": 8, "x": 5, "y": 5 }));
    assert_eq!(answer["effect"], "no_change_seen", "{answer}");
}

#[test]
fn typing_stops_when_the_focus_goes_and_says_how_far_it_came() {
    let stage = stage();
    stage.control.change(|world| world.steal_focus_after(40, 8));
    let answer =
        stage.refused("target_changed", "type_text", json!({ "text": "x".repeat(200), "window": 7 }));
    assert!(answer["message"].as_str().unwrap().contains("characters"), "{answer}");
    assert_eq!(stage.control.value("calculator/result"), "0");
    stage.control.change(|world| world.forbid_characters(&['ß']));
    let before = stage.control.value("editor/text");
    let answer = stage.refused("text_not_typeable", "type_text", json!({ "text": "Straße", "window": 7 }));
    assert!(answer["detail"]["found"][0].as_str().unwrap().contains("ß"), "{answer}");
    assert_eq!(stage.control.value("editor/text"), before, "half of it was typed");
}

#[test]
fn passwords_are_confirmed_by_their_length_and_never_shown() {
    let stage = stage();
    let answer = stage.call("type_text", json!({ "text": "hunter2", "element": "password_field" }));
    assert_eq!(stage.control.value("editor/password"), "hunter2");
    for answer in [
        answer,
        stage.call("get_ui_element_value", json!({ "element": "password_field" })),
        stage.call("get_ui_elements", json!({})),
        stage.call("get_element", json!({ "element": "password_field" })),
    ] {
        assert!(!answer.to_string().contains("hunter2"), "{answer}");
    }
}

#[test]
fn coordinates_of_a_picture_are_refused_once_something_else_lies_there() {
    let stage = stage();
    let image = stage.call("take_screenshot", json!({}))["image"].clone();
    let point = json!({ "image": image, "x": 90, "y": 107 });
    assert_eq!(stage.call("click", point.clone())["pointer"]["x"], 90);
    stage.control.change(|world| world.place_window(7, Rect::new(60, 60, 640, 480)));
    stage.refused("target_changed", "click", point);
}

#[test]
fn what_a_client_holds_is_let_go_of_when_it_goes() {
    let stage = stage();
    let client = stage.server.client("passing");
    stage.call_as(&client, "left_mouse_down", json!({ "x": 100, "y": 300 }));
    stage.call_as(&client, "hold_key", json!({ "key": "ctrl" }));
    assert_eq!(stage.control.held().len(), 2);
    drop(client);
    assert!(stage.control.held().is_empty(), "{:?}", stage.control.held());
}

#[test]
fn policy_is_asked_before_anything_moves() {
    let mut config = Config::default();
    config.policy.read_only = true;
    let stage = stage_with(config);
    stage.refused("denied_by_policy", "click", json!({ "x": 90, "y": 107 }));
    stage.refused("denied_by_policy", "take_screenshot", json!({ "file_path": "/tmp/never.png" }));
    assert!(stage.call("list_windows", json!({}))["windows"].is_array());
    assert!(stage.control.received().is_empty());
    let stage = self::stage();
    let path = json!({ "file_path": "/etc/never.png" });
    stage.refused("denied_by_policy", "take_screenshot", path);
}

#[test]
fn steps_stop_at_the_first_error_and_say_which() {
    let stage = stage();
    let answer = stage.call(
        "run_steps",
        json!({ "steps": [
            { "tool": "list_windows" },
            { "tool": "focus_window", "arguments": { "window": "Browser" } },
            { "tool": "click", "arguments": { "x": 90, "y": 107 } },
        ] }),
    );
    assert_eq!((&answer["succeeded"], &answer["total"]), (&json!(1), &json!(3)));
    assert_eq!(answer["steps"][1]["error"]["code"], "window_not_found");
    assert_eq!(answer["steps"].as_array().unwrap().len(), 2);
    assert!(stage.control.received().is_empty(), "{:?}", stage.control.received());
}

#[test]
fn readings_tell_what_changed_and_how_to_go_on() {
    let stage = stage();
    let first = stage.call("get_ui_elements", json!({ "window": 7 }));
    let name =
        first.as_str().unwrap().split("snapshot ").nth(1).unwrap().split(':').next().unwrap().to_owned();
    let same = stage.call("get_ui_elements", json!({ "window": 7, "since": name }));
    assert!(same.as_str().unwrap().contains("Nothing changed"), "{same}");
    stage.control.change(|world| world.set_name("editor/status", "Saved"));
    let after = stage.call("get_ui_elements", json!({ "window": 7, "since": name }));
    assert!(after.as_str().unwrap().contains("~ e") && after.as_str().unwrap().contains("Saved"), "{after}");
    let cut = stage.call("get_ui_elements", json!({ "window": 7, "max_bytes": 200 }));
    let token =
        cut.as_str().unwrap().split("page_token=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let rest = stage.call("get_ui_elements", json!({ "page_token": token, "max_bytes": 100_000 }));
    assert!(rest.as_str().unwrap().starts_with(' ') || rest.as_str().unwrap().starts_with('e'), "{rest}");
}
