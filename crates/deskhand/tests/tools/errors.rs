//! The table against the desktop: every tool does its ordinary work, and every error that a row names
//! happens. A row without a case fails here.

use crate::desk::{DEFECT, Desk, print, quiet_defects};
use deskhand::tool::{COMMON_ERRORS, Group, Reply, Row};
use deskhand::tools;
use deskhand_core::fake::Fake;
use deskhand_core::{Code, Error, Rect, Result};
use expect_test::expect_file;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Every capability of a desktop.
const EVERYTHING: &[&str] = &[
    "screen",
    "input",
    "elements",
    "windows",
    "apps",
    "audio",
    "system",
    "clipboard",
    "notifications",
    "ocr",
    "scripts",
    "touch",
    "menus",
    "status_items",
    "files",
    "person",
];
/// Tools that only work with what Deskhand itself keeps.
const WITHOUT_DESKTOP: &[&str] = &[
    "create_macro",
    "get_macro",
    "list_macros",
    "delete_macro",
    "stop_recording",
    "create_session",
    "get_session",
    "list_sessions",
    "enable_tools",
];
const SAVE: &str = "save-button";
const TITLE: &str = "text_field[name=\"Title\"]";

/// What a tool is called with ordinarily; the desktop is made ready for it.
fn ordinary(desk: &Desk, tool: &str) -> Value {
    match tool {
        "take_screenshot" | "extract_text" => json!({ "x": 40, "y": 40, "width": 64, "height": 48 }),
        "zoom" => json!({ "x": 88, "y": 106, "scale": 8 }),
        "list_displays" | "get_ui_elements" | "cursor_position" | "list_windows" => json!({}),
        "list_running_apps" | "list_applications" => json!({}),
        "get_display" => json!({ "display": "1" }),
        "find_elements" => json!({ "selector": "slider" }),
        "get_element" | "get_element_actions" | "click_ui_element" => json!({ "element": SAVE }),
        "get_ui_element_value" => json!({ "element": "slider" }),
        "set_ui_element_value" => json!({ "element": TITLE, "value": "Report" }),
        "perform_element_action" => json!({ "element": SAVE, "action": "click" }),
        "focus_ui_element" => json!({ "element": TITLE }),
        "scroll_to_element" => json!({ "element": "list_item[name=\"File 20\"]" }),
        "wait_for" => json!({ "selector": "slider", "timeout_ms": 200 }),
        "click" | "double_click" | "move_mouse" | "left_mouse_down" => json!({ "x": 88, "y": 106 }),
        "left_mouse_up" => {
            desk.data("left_mouse_down", json!({ "x": 88, "y": 106 }));
            json!({})
        }
        "mouse_control" => json!({ "action": "click", "x": 88, "y": 106, "monitorIndex": 0 }),
        "drag" => json!({ "start_x": 480, "start_y": 106, "end_x": 540, "end_y": 106, "duration_ms": 0 }),
        "scroll" => json!({ "direction": "down", "x": 500, "y": 300 }),
        "type_text" => json!({ "text": "Hello" }),
        "gesture" => json!({ "gesture_type": "tap", "x": 88, "y": 106 }),
        "press_key" => json!({ "key": "a" }),
        "hold_key" => json!({ "key": "shift" }),
        "get_window" | "focus_window" | "minimize_window" | "close_window" => json!({ "window": "8" }),
        "restore_window" => {
            desk.data("minimize_window", json!({ "window": "8" }));
            json!({ "window": "8" })
        }
        "set_window" => json!({ "window": "8", "state": "maximized" }),
        "move_window" => json!({ "window": "8", "x": 700, "y": 200 }),
        "resize_window" => json!({ "window": "8", "width": 300, "height": 400 }),
        "launch_app" => json!({ "application": "Viewer" }),
        "activate_app" | "quit_app" | "open_application" => json!({ "application": "Calculator" }),
        "get_application" => json!({ "application": "Calculator" }),
        "delete_application" => {
            desk.data("open_application", json!({ "application": "Calculator" }));
            json!({ "application": "Calculator" })
        }
        "send_notification" => json!({ "title": "Tea", "message": "It is ready." }),
        "list_notifications" => json!({ "watch": true }),
        "act_on_notification" => {
            let tea = json!({ "title": "Tea", "message": "", "actions": ["Drink", "Later"] });
            json!({ "id": desk.data("send_notification", tea)["id"], "action": "Drink" })
        }
        "dismiss_notification" => {
            json!({ "id": desk.data("send_notification", json!({ "title": "Tea", "message": "" }))["id"] })
        }
        "list_menu_items" => json!({}),
        "click_menu_item" | "get_menu_item_state" => json!({ "path": "File > Save" }),
        "list_status_bar_items" => json!({}),
        "click_status_bar_item" => json!({ "item": "mixer" }),
        "click_status_bar_menu_item" => json!({ "item": "mixer", "path": "Mute" }),
        "get_system_info" | "get_battery_status" => json!({}),
        "get_volume" | "get_mute_status" | "list_audio_outputs" => json!({}),
        "set_volume" => json!({ "volume": 40 }),
        "set_mute" => json!({ "muted": true }),
        "set_audio_output" => json!({ "output": "headset" }),
        "get_clipboard" | "clear_clipboard" => json!({}),
        "set_clipboard" => json!({ "text": "copied" }),
        "get_clipboard_history" => json!({ "watch": true }),
        "reveal_in_finder" => json!({ "path": std::env::temp_dir() }),
        "get_selected_files" | "get_finder_window_path" => {
            desk.data("reveal_in_finder", json!({ "path": std::env::temp_dir() }));
            json!({})
        }
        "execute_shell_command" => json!({ "command": "echo", "args": ["hello"] }),
        "validate_script" => json!({ "script": "echo hello" }),
        "execute_javascript" => json!({ "script": "print(2)" }),
        "create_observation" => json!({ "type": "attribute", "element": SAVE }),
        "stream_observations" => json!({ "types": ["attribute"], "element": SAVE, "duration_ms": 20 }),
        "get_observation" | "cancel_observation" => {
            let observation = desk.data("create_observation", json!({ "type": "element", "window": "8" }));
            json!({ "name": observation["name"] })
        }
        "list_observations" => json!({}),
        "launchProcess" => json!({ "executable": "Viewer" }),
        "listWindows" | "getProviders" => json!({}),
        "queryTree" => json!({ "providerName": "at-spi", "targetId": "8" }),
        "readProperty" => json!({ "providerName": "at-spi", "elementId": SAVE, "propertyName": "name" }),
        "setProperty" => {
            json!({ "providerName": "at-spi", "elementId": TITLE, "propertyName": "value", "value": "Report" })
        }
        "clickElement" => json!({ "providerName": "windows-forms", "elementId": SAVE }),
        "enable_tools" => json!({ "groups": ["audio"] }),
        // There is nothing ordinary in it.
        "execute_apple_script" => json!({ "script": "beep" }),
        "run_steps" => json!({ "steps": [{ "tool": "move_mouse", "arguments": { "x": 5, "y": 5 } }] }),
        "create_macro" => json!({ "name": "look", "steps": [{ "tool": "cursor_position" }] }),
        "get_macro" | "delete_macro" | "execute_macro" => {
            desk.data("create_macro", ordinary(desk, "create_macro"));
            json!({ "name": "look" })
        }
        "list_macros" | "start_recording" | "create_session" | "get_session" | "list_sessions" => json!({}),
        "stop_recording" => {
            desk.data("start_recording", json!({}));
            desk.control.person_clicks(deskhand_core::Point::new(88, 106));
            json!({})
        }
        "delete_session" => json!({ "session": desk.data("create_session", json!({}))["session"] }),
        _ => panic!("{tool} has no ordinary case: add one here, and one that is compared beside it"),
    }
}

/// A desktop whose server may run code too.
fn allowed(fake: Fake) -> Desk {
    Desk::with(fake, |config| config.policy.allow.push("shell".to_owned()))
}

/// Makes a tool fail with a code, if a case for that is here.
fn provoke(row: &Row, code: Code) -> Option<Result<Reply>> {
    let takes = |name: &str| row.input_schema()["properties"].get(name).is_some();
    let mut desk = allowed(Fake::new());
    if row.name == "execute_apple_script" {
        let before = [Code::InvalidArgument, Code::MissingRequiredParameter, Code::DeniedByPolicy];
        if code == Code::Unsupported {
            return Some(desk.server.run(desk.prepare(row.name, ordinary(&desk, row.name))));
        }
        if !before.contains(&code) {
            return None;
        }
    }
    if code == Code::DeniedByPolicy {
        desk = Desk::with(Fake::new(), |config| config.policy.deny.push(row.name.to_owned()));
        let arguments = ordinary(&Desk::new(), row.name);
        return Some(desk.server.run(desk.prepare(row.name, arguments)));
    }
    // What is kept here can always be told.
    let kept = ["get_observation", "list_observations", "cancel_observation", "enable_tools", "getProviders"]
        .contains(&row.name);
    if kept && [Code::Unsupported, Code::Backend, Code::Timeout, Code::Internal].contains(&code) {
        return None;
    }
    let by_desktop =
        [Code::Unsupported, Code::Backend, Code::Timeout, Code::Cancelled, Code::Internal].contains(&code);
    if by_desktop && WITHOUT_DESKTOP.contains(&row.name) {
        return None;
    }
    let mut arguments = ordinary(&desk, row.name);
    let mut without = |names: &[&str], with: Value| {
        let object = arguments.as_object_mut().unwrap();
        names.iter().for_each(|name| drop(object.remove(*name)));
        object.extend(with.as_object().unwrap().clone());
    };
    let point = &["x", "y", "width", "height", "start_x", "start_y"];
    // Elements are named by `element`, where there is one, else by the start of a drag or by a selector.
    let element = if takes("element") { "element" } else { "from_element" };
    let mut held = None;
    match (code, row.name) {
        (Code::InvalidArgument, _) => without(&[], json!({ "nonsense": 1 })),
        (Code::MissingRequiredParameter, _) => {
            let required = row.input_schema()["required"].as_array().cloned().unwrap_or_default();
            match (required.first(), row.name) {
                (Some(name), _) => without(&[name.as_str()?], json!({})),
                (None, "click" | "double_click" | "left_mouse_down" | "left_mouse_up") => {
                    without(&["y"], json!({ "x": 1 }));
                }
                (None, "zoom" | "move_mouse") => without(&["x", "y"], json!({})),
                (None, "take_screenshot" | "extract_text") => without(&["width"], json!({})),
                (None, "drag") => without(&["end_x", "end_y"], json!({})),
                (None, "scroll") => without(&["direction"], json!({})),
                (None, "set_clipboard") => without(&["text"], json!({})),
                (None, "stream_observations") => without(&["types", "element"], json!({})),
                (None, "find_elements" | "wait_for") => without(&["selector"], json!({})),
                (None, "create_macro") => without(&["name", "steps"], json!({})),
                // Tools that need nothing.
                (None, _) => return None,
            }
        }
        (Code::Unsupported, "act_on_notification") => {
            fail_everything_of(&desk, "notifications", Code::Unsupported, "Nobody shows any here.");
        }
        (Code::Unsupported, name) => {
            // Each tool needs at least one of these.
            let needs = match name {
                "activate_app" => "windows",
                "gesture" => "touch",
                "start_recording" => "person",
                "left_mouse_up" | "drag" | "move_mouse" | "click" | "double_click" => "input",
                "left_mouse_down" | "scroll" | "cursor_position" | "mouse_control" => "input",
                _ => match row.group {
                    Group::Pointer | Group::Keyboard => "input",
                    Group::Screen => "screen",
                    Group::Elements => "elements",
                    Group::Observations => "elements",
                    Group::Windows => "windows",
                    Group::Applications => "apps",
                    Group::Audio => "audio",
                    Group::Scripting => "scripts",
                    Group::Files => "files",
                    Group::System => "system",
                    Group::Clipboard => "clipboard",
                    Group::Notifications => "notifications",
                    Group::Menus => "menus",
                    Group::StatusItems => "status_items",
                    Group::Steps | Group::Sessions => "windows",
                },
            };
            // Those say it of their steps, these need nothing.
            if matches!(name, "run_steps" | "execute_macro" | "delete_application" | "delete_session") {
                return None;
            }
            desk = allowed(Fake::new().without(needs));
        }
        // What a step fails with stands in its own outcome.
        (Code::Backend | Code::Timeout, "run_steps") if code == Code::Backend => {
            desk.control.fail_next("input.lock", Error::backend("The lock is out of order."));
        }
        (Code::Timeout, "run_steps") => {
            desk.control.hang_next("input.lock");
            without(&[], json!({ "timeout_ms": 20 }));
        }
        (Code::Backend, _) => fail_everything(&desk, Code::Backend, "It is out of order."),
        (Code::Timeout, "wait_for") => without(&["selector"], json!({ "text": "rain", "timeout_ms": 20 })),
        (Code::Timeout, _) => {
            EVERYTHING.iter().for_each(|what| desk.control.hang_next(what));
            without(&[], json!({ "timeout_ms": 20 }));
        }
        (Code::Cancelled, _) => {
            let prepared = desk.prepare(row.name, arguments);
            prepared.cancellation().cancel();
            return Some(desk.server.run(prepared));
        }
        // Looking is never stopped, and what a step fails with stands in its own outcome.
        (Code::PausedByUser, "run_steps") => return None,
        (Code::PausedByUser, _) if !row.effect.takes_lane() => return None,
        (Code::PausedByUser, _) => desk.server.desktop.person.halt("escape was held").unwrap(),
        (Code::Internal, _) => {
            for what in EVERYTHING {
                desk.control.fail_always(what, || panic!("{DEFECT}"));
            }
        }
        (Code::WindowNotFound, "queryTree") => without(&[], json!({ "targetId": "Nowhere" })),
        (Code::WindowNotFound, "setProperty" | "readProperty") => {
            without(&[], json!({ "elementId": "Nowhere" }));
        }
        (Code::ElementStale, "queryTree") => without(&[], json!({ "targetId": "e999" })),
        (Code::ElementStale, "setProperty" | "readProperty" | "clickElement") => {
            without(&[], json!({ "elementId": "e999" }));
        }
        (Code::InvalidSelector, "clickElement") => without(&[], json!({ "elementId": "button[" })),
        (Code::UnknownKey, "setProperty") => {
            without(&[], json!({ "propertyName": "keys", "value": "{ANYKEY}" }));
        }
        (Code::TextNotTypeable, "setProperty") => {
            desk.control.change(|world| world.forbid_characters(&['€']));
            without(&[], json!({ "elementId": "8", "propertyName": "keys", "value": "5 €" }));
        }
        (code, "launchProcess")
            if row.errors.contains(&code) && ![Code::SecureDesktopActive, Code::Busy].contains(&code) =>
        {
            fail_everything_of(&desk, "apps.launch", code, "It cannot be started.");
        }
        (code, "queryTree" | "setProperty" | "readProperty" | "clickElement")
            if row.errors.contains(&code) && ![Code::SecureDesktopActive, Code::Busy].contains(&code) =>
        {
            // What the canonical tools behind them answer is handed on.
            match row.name {
                "setProperty" | "readProperty" => {
                    without(&[], json!({ "elementId": "8", "propertyName": "value" }))
                }
                _ => {}
            }
            fail_everything_of(&desk, "elements", code, "As its application says.");
        }
        (Code::ElevatedProcessTarget, _) => desk.control.change(|world| world.elevate(101)),
        (Code::TargetChanged, "mouse_control") => {
            desk.control.change(|world| world.confine_pointer(Some(Rect::new(500, 500, 50, 50))));
        }
        (Code::InvalidCoordinates, "mouse_control") => without(&[], json!({ "monitorIndex": 5 })),
        (Code::NotScrollable, "mouse_control") => {
            without(&[], json!({ "action": "scroll", "direction": "down", "x": 100, "y": 510 }));
        }
        (Code::SecureDesktopActive, _) => desk.control.change(|world| world.lock_session(true)),
        (Code::ObservationNotFound, "stream_observations") => {
            without(&["types", "element"], json!({ "names": ["o99"] }));
        }
        (Code::ObservationNotFound, _) => without(&[], json!({ "name": "observations/o99" })),
        (Code::WindowNotFound, _) if row.group == Group::Observations => {
            without(&["element"], json!({ "window": "Nowhere" }));
        }
        (Code::ApplicationNotFound, _) if row.group == Group::Observations => {
            without(&["element"], json!({ "application": "Nothing" }));
        }
        (Code::Busy, "create_observation" | "stream_observations") => {
            for _ in 0..deskhand::observations::MOST_OBSERVATIONS {
                desk.data("create_observation", json!({ "type": "window" }));
            }
        }
        (Code::Busy, "create_session") => {
            (0..32).for_each(|_| drop(desk.data("create_session", json!({}))));
        }
        (Code::Busy, "create_macro" | "stop_recording") => {
            for number in 0..500 {
                let steps = json!([{ "tool": "cursor_position" }]);
                desk.data("create_macro", json!({ "name": format!("m{number}"), "steps": steps }));
            }
        }
        (Code::SessionNotFound, _) => without(&[], json!({ "session": "s9" })),
        (Code::MacroNotFound, _) => without(&["name"], json!({ "name": "lock" })),
        (Code::PermissionDenied, "create_macro" | "get_macro" | "stop_recording") => {
            desk = Desk::with(Fake::new(), |config| config.write_folders = vec!["/sys".into()]);
            let arguments = with_file(ordinary(&desk, row.name), "/sys/look.json");
            return Some(desk.server.run(desk.prepare(row.name, arguments)));
        }
        (Code::PathNotFound, "create_macro" | "get_macro" | "stop_recording") => {
            without(&[], json!({ "file_path": "/nowhere/look.json" }));
        }
        (Code::PathExists, "create_macro" | "get_macro" | "stop_recording") => {
            let path = std::env::temp_dir().join(format!("deskhand-{}-{}.png", row.name, std::process::id()));
            std::fs::write(&path, "kept").unwrap();
            let arguments = with_file(arguments, &path.display().to_string());
            let result = desk.server.run(desk.prepare(row.name, arguments));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
            std::fs::remove_file(&path).unwrap();
            return Some(result);
        }
        (Code::Busy, _) => {
            held = Some(desk.server.desktop.lane.draw(99));
            without(&[], json!({ "timeout_ms": 10 }));
        }
        (Code::PermissionDenied, "take_screenshot" | "extract_text") => {
            desk.control.fail_always("screen", || {
                Error::new(Code::PermissionDenied, "The desktop does not let itself be seen.")
            });
        }
        (Code::PermissionDenied, "get_clipboard") => {
            desk.control.fail_always("clipboard.offer", || {
                Error::new(Code::PermissionDenied, "The clipboard is not to be read.")
            });
        }
        (Code::PermissionDenied, "launch_app" | "open_application") => {
            without(&["application"], json!({ "application": "Viewer" }));
            fail_everything_of(&desk, "apps.launch", Code::PermissionDenied, "It may not be started.");
        }
        (Code::PermissionDenied, "quit_app") => {
            without(&[], json!({ "force": true }));
            fail_everything_of(&desk, "apps.terminate", Code::PermissionDenied, "It may not be ended.");
        }
        (Code::PermissionDenied, "list_notifications") => {
            fail_everything_of(&desk, "notifications.watch", code, "The bus does not let itself be watched.");
        }
        (Code::TargetChanged, "act_on_notification") => {
            desk.data("dismiss_notification", json!({ "id": arguments["id"] }));
        }
        (
            Code::PermissionDenied | Code::ElementNotActionable | Code::AmbiguousTarget,
            "act_on_notification",
        ) => {
            fail_everything_of(&desk, "notifications.invoke", code, "Its popup cannot be worked.");
        }
        (Code::PermissionDenied, "execute_shell_command") => {
            fail_everything_of(&desk, "scripts", Code::PermissionDenied, "It may not be run.");
        }
        (Code::PermissionDenied, _) if row.group == Group::Files => {
            fail_everything_of(&desk, "files", Code::PermissionDenied, "It shows no accessibility tree.");
        }
        (Code::PermissionDenied, _) if row.group == Group::Audio => {
            fail_everything_of(&desk, "audio", Code::PermissionDenied, "It does not let this user in.");
        }
        (Code::PermissionDenied, _) => {
            if takes(element) {
                without(point, json!({ element: SAVE }));
            }
            fail_everything_of(&desk, "elements", Code::PermissionDenied, "Accessibility is off.");
        }
        (Code::InvalidSelector, "find_elements" | "wait_for") => {
            without(&[], json!({ "selector": "button[" }));
        }
        (Code::InvalidSelector, _) => without(point, json!({ element: "button[" })),
        (Code::ElementNotFound, _) => without(point, json!({ element: "button[name=\"Sav\"]" })),
        (Code::ElementStale, _) => without(point, json!({ element: "e999" })),
        (Code::StatusItemNotFound, _) => without(&[], json!({ "item": "nobody" })),
        (Code::AmbiguousTarget, _) if row.group == Group::StatusItems => without(&[], json!({ "item": "i" })),
        (Code::ElementNotActionable, "click_status_bar_menu_item") => {
            without(&[], json!({ "path": "Outputs" }))
        }
        (Code::MenuItemNotFound, "click_status_bar_menu_item") => without(&[], json!({ "path": "Mite" })),
        (Code::MenuItemNotFound, _) => without(&[], json!({ "path": "File > Sive" })),
        (Code::ElementNotActionable, "click_menu_item") => without(&[], json!({ "path": "File" })),
        (Code::ElementNotActionable | Code::WindowMinimized, _) if row.group == Group::Menus => {
            let viewer = desk.data("launch_app", json!({ "application": "Viewer" }))["window"]["id"].clone();
            without(&[], json!({ "window": viewer, "path": "Options > Close" }));
            if code == Code::WindowMinimized {
                desk.data("minimize_window", json!({ "window": viewer }));
            } else {
                fail_everything_of(
                    &desk,
                    "elements.perform",
                    Code::ElementNotActionable,
                    "It does not open.",
                );
            }
        }
        (Code::ElementNotActionable, "type_text" | "press_key" | "hold_key") => {
            without(&[], json!({ "element": "button[name=\"Undo\"]" }));
        }
        (Code::ElementNotActionable, "scroll_to_element") => {
            fail_everything_of(
                &desk,
                "elements.scroll_into_view",
                Code::ElementNotActionable,
                "It does not scroll.",
            );
        }
        (Code::ElementNotActionable, "scroll") => {
            desk.control.change(|world| world.place_window(9, Rect::new(-900, 900, 500, 400)));
            desk.control.change(|world| {
                world.place_window(7, Rect::new(40, 40, 200, 120));
            });
            without(point, json!({ "element": "list_item[name=\"File 20\"]" }));
        }
        (Code::ElementNotActionable, "drag") => {
            desk.control.change(|world| world.place_window(8, Rect::new(40, 40, 640, 480)));
            desk.control.change(|world| world.raise_window(8));
            without(point, json!({ "from_element": SAVE }));
        }
        (Code::ElementNotActionable, _) => without(point, json!({ element: "button[name=\"Undo\"]" })),
        (Code::TargetChanged, "type_text") => {
            desk.control.change(|world| world.steal_focus_after(2, 8));
        }
        (Code::TargetChanged, "press_key" | "hold_key") => {
            desk.control.change(|world| world.refuse_window_requests(true));
            without(&[], json!({ "window": "8" }));
        }
        (Code::TargetChanged, "zoom" | "move_mouse" | "left_mouse_down" | "left_mouse_up" | "gesture") => {
            let shot = desk.data("take_screenshot", json!({ "display": "0", "max_width": 0 }));
            desk.control.change(|world| world.place_window(7, Rect::new(300, 300, 640, 480)));
            without(&[], json!({ "image": shot["image"], "x": 88, "y": 106 }));
        }
        (Code::TargetChanged, _) => {
            let name = desk.find("button[name=\"Save\"]");
            desk.control.change(|world| world.set_name("editor/save", "Delete"));
            without(point, json!({ element: name }));
        }
        (Code::AmbiguousTarget, _) if row.group == Group::Audio => without(&[], json!({ "output": "s" })),
        (Code::AmbiguousTarget, _) if takes("element") || takes("from_element") => {
            if matches!(row.name, "take_screenshot" | "extract_text") || !takes("window") {
                without(point, json!({ element: "button" }));
            } else {
                without(point, json!({ element: "button", "window": "8" }));
            }
        }
        (Code::AmbiguousTarget, "launch_app" | "open_application") => {
            without(&["application"], json!({ "application": "Viewer" }));
            fail_everything_of(&desk, "apps.launch", Code::AmbiguousTarget, "2 entries are called that.");
        }
        (Code::AmbiguousTarget, "get_application" | "quit_app") => {
            desk.data("launch_app", json!({ "application": "Calculator" }));
        }
        (Code::AmbiguousTarget, "left_mouse_up") => {
            without(&[], json!({ "window": "Editor", "x": 5, "y": 5 }));
        }
        (Code::AmbiguousTarget, _) => without(&[], json!({ "window": "Editor" })),
        (Code::WindowNotFound, _) if row.group == Group::Files => {
            desk.control.change(|world| world.set_file_view(None));
        }
        (Code::WindowNotFound, "activate_app") => {
            let shell = desk.data("launch_app", json!({ "application": "Viewer", "wait_ms": 0 }));
            desk.control.change(|world| world.delay_launches(std::time::Duration::from_secs(9)));
            let slow = desk.data("launch_app", json!({ "application": "Viewer", "wait_ms": 0 }));
            assert_ne!(shell["pid"], slow["pid"]);
            without(&[], json!({ "application": slow["pid"] }));
        }
        (Code::WindowNotFound, "take_screenshot" | "extract_text") => {
            without(point, json!({ "window": "Nowhere" }))
        }
        (Code::WindowNotFound, "left_mouse_up") => without(&[], json!({ "window": "No", "x": 5, "y": 5 })),
        (Code::WindowNotFound, "wait_for") => {
            without(&["selector"], json!({ "still_ms": 50, "window": "Nowhere" }));
        }
        (Code::WindowNotFound, _) => without(&[], json!({ "window": "Nowhere" })),
        (Code::ApplicationNotFound, "execute_shell_command") => without(&[], json!({ "command": "nothing" })),
        (Code::ApplicationNotFound, _) => without(&[], json!({ "application": "Nothing" })),
        (Code::DisplayNotFound, "take_screenshot" | "extract_text") => {
            without(point, json!({ "display": "7" }))
        }
        (Code::DisplayNotFound, "left_mouse_up") => without(&[], json!({ "display": "7", "x": 5, "y": 5 })),
        (Code::DisplayNotFound, _) => without(&[], json!({ "display": "7" })),
        (Code::WindowMinimized, "find_elements" | "wait_for") => {
            desk.data("minimize_window", json!({ "window": "8" }));
            without(&["selector"], json!({ "window": "8" }));
            match row.name {
                "wait_for" => without(&[], json!({ "seen_text": "7" })),
                _ => without(&[], json!({ "text": "7", "include_ocr": true })),
            }
        }
        (Code::WindowMinimized, "take_screenshot" | "extract_text") => {
            desk.data("minimize_window", json!({ "window": "8" }));
            without(point, json!({ "window": "8" }));
        }
        (Code::WindowMinimized, "drag") => {
            desk.data("minimize_window", json!({ "window": "8" }));
            without(&[], json!({ "window": "8" }));
        }
        (Code::WindowMinimized, "click_ui_element" | "set_ui_element_value") => {
            // It declares no action, so it would have to be clicked where it shows.
            desk.data("minimize_window", json!({ "window": "9" }));
            without(&["value"], json!({ "element": "check_box[name=\"Show at start\"]" }));
            if row.name == "set_ui_element_value" {
                without(&[], json!({ "value": false }));
            }
        }
        (Code::WindowMinimized, _) => {
            desk.data("minimize_window", json!({ "window": "8" }));
            without(&[], json!({ "window": "8", "x": 5, "y": 5 }));
        }
        (Code::CoordinatesOutOfBounds, "drag") => without(&[], json!({ "end_x": 99_999 })),
        (Code::CoordinatesOutOfBounds, _) => without(&[], json!({ "x": 99_999, "y": 5 })),
        (Code::InvalidCoordinates, "extract_text") => without(point, json!({ "image": "i9" })),
        (Code::InvalidCoordinates, "take_screenshot") => without(point, json!({ "unchanged_since": "i9" })),
        (Code::InvalidCoordinates, "set_window" | "move_window") => without(&[], json!({ "x": 1e9 })),
        (Code::InvalidCoordinates, "drag") => without(&[], json!({ "image": "i9" })),
        (Code::InvalidCoordinates, _) => without(&[], json!({ "image": "i9", "x": 1, "y": 1 })),
        (Code::UnknownKey, "type_text") => {
            let none = Error::new(Code::UnknownKey, "This keyboard has no such key.");
            desk.control.fail_next("input.key", none);
            without(&[], json!({ "modifiers": ["ctrl"] }));
        }
        (Code::UnknownKey, _) => without(&[], json!({ "key": "anykey" })),
        (Code::TextNotTypeable, _) => {
            desk.control.change(|world| world.forbid_characters(&['€']));
            without(&[], json!({ "text": "5 €" }));
        }
        (Code::NotScrollable, _) => without(&[], json!({ "x": 100, "y": 510 })),
        (Code::PathExists, "take_screenshot" | "get_clipboard") => {
            let path = std::env::temp_dir().join(format!("deskhand-{}-{}.png", row.name, std::process::id()));
            std::fs::write(&path, "kept").unwrap();
            without(&[], json!({ "file_path": path }));
            let result = desk.server.run(desk.prepare(row.name, arguments));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
            std::fs::remove_file(&path).unwrap();
            return Some(result);
        }
        (Code::PathNotFound, "set_clipboard") => without(&["text"], json!({ "files": ["/nowhere/x.txt"] })),
        (Code::PathNotFound, "take_screenshot" | "get_clipboard") => {
            without(&[], json!({ "file_path": "/nowhere/x.png" }))
        }
        (Code::PathNotFound, "reveal_in_finder") => without(&[], json!({ "path": "/nowhere/at-all" })),
        (Code::PathNotFound, "execute_shell_command") => {
            without(&[], json!({ "working_directory": "/nowhere" }));
        }
        (Code::ScriptFailed, _) => without(&[], json!({ "script": "throw 1" })),
        (Code::PathNotFound, _) => {
            without(&["application"], json!({ "application": "Viewer", "working_directory": "/nowhere" }));
        }
        _ => return None,
    }
    let result = desk.server.run(desk.prepare(row.name, arguments));
    drop(held);
    desk.control.recover();
    Some(result)
}

fn with_file(mut arguments: Value, path: &str) -> Value {
    arguments["file_path"] = json!(path);
    arguments
}

fn fail_everything(desk: &Desk, code: Code, message: &'static str) {
    for what in EVERYTHING {
        fail_everything_of(desk, what, code, message);
    }
}

fn fail_everything_of(desk: &Desk, what: &str, code: Code, message: &'static str) {
    desk.control.fail_always(what, move || Error::new(code, message));
}

#[test]
fn every_tool_does_its_ordinary_work() {
    for row in tools::all().filter(|row| row.name != "execute_apple_script") {
        let desk = allowed(Fake::new());
        let arguments = ordinary(&desk, row.name);
        let reply = desk.call(row.name, arguments.clone());
        let text = print(&reply);
        assert!(reply.is_ok(), "{} {arguments}: {text}", row.name);
        for failed in ["unverified", "no_change_seen"] {
            assert!(!text.contains(failed) || row.name == "press_key", "{} {arguments}: {text}", row.name);
        }
    }
}

#[test]
fn every_other_name_leads_to_its_tool() {
    for alias in tools::aliases() {
        let desk = Desk::new();
        let arguments = ordinary(&desk, alias.tool);
        let reply = desk.call(alias.name, arguments.clone());
        assert!(reply.is_ok(), "{} {arguments}: {}", alias.name, print(&reply));
    }
}

#[test]
fn every_error_that_a_tool_names_happens_and_is_told() {
    // The common ones have a test of their own.
    let codes: Vec<Code> = Code::ALL.iter().copied().filter(|code| !COMMON_ERRORS.contains(code)).collect();
    // Most tools say the same of the same: each sentence stands once, with the tools that say it.
    let mut said: BTreeMap<(Code, String), Vec<&str>> = BTreeMap::new();
    let (mut never, mut unnamed) = (Vec::new(), Vec::new());
    for (row, seen) in provoke_all(&codes) {
        for (code, seen) in seen {
            match (row.errors.contains(&code), seen) {
                (true, Some(Err(error))) if error.code == code => {
                    said.entry((code, steady(&print(&Err(error))))).or_default().push(row.name);
                }
                (true, Some(other)) => never.push(format!("{} {code}: {}", row.name, print(&other))),
                (true, None) => never.push(format!("{} {code}: no case", row.name)),
                (false, Some(Err(error))) if error.code == code => {
                    unnamed.push(format!("{} {code}: {}", row.name, error.message));
                }
                (false, _) => {}
            }
        }
    }
    assert!(
        unnamed.is_empty(),
        "These errors happen and their tool does not name them:\n{}",
        unnamed.join("\n")
    );
    assert!(never.is_empty(), "These errors do not happen:\n{}", never.join("\n"));
    let mut text = String::new();
    for ((_, error), tools) in said {
        let _ = writeln!(text, "[{}]\n{error}\n", tools.join(" "));
    }
    expect_file!["errors.txt"].assert_eq(&text);
}

/// What comes of every provocation, tool by tool. Some wait for what does not come, so tools go side by side.
fn provoke_all(codes: &[Code]) -> Vec<(&'static Row, Vec<(Code, Option<Result<Reply>>)>)> {
    std::thread::scope(|scope| {
        let all: Vec<_> = tools::all()
            .map(|row| {
                let each = move || codes.iter().map(|code| (*code, provoke(row, *code))).collect();
                (row, scope.spawn(each))
            })
            .collect();
        all.into_iter().map(|(row, seen)| (row, seen.join().unwrap())).collect()
    })
}

/// Names of files differ from run to run.
fn steady(text: &str) -> String {
    text.replace(&std::env::temp_dir().display().to_string(), "TMP")
        .replace(&format!("-{}.png", std::process::id()), ".png")
        // Where nothing can be written for everybody.
        .replace("Read-only file system (os error 30)", "Permission denied (os error 13)")
}

#[test]
fn every_tool_takes_the_common_errors_as_they_come() {
    quiet_defects();
    let mut never = Vec::new();
    for (row, seen) in provoke_all(COMMON_ERRORS) {
        for (code, seen) in seen {
            match seen {
                Some(Err(error)) if error.code == code => {}
                Some(other) => never.push(format!("{} {code}: {}", row.name, print(&other))),
                None => {}
            }
        }
    }
    assert!(never.is_empty(), "These errors do not happen:\n{}", never.join("\n"));
}

#[test]
fn whatever_takes_the_lane_can_be_told_to_wait_and_that_the_session_is_locked() {
    for row in tools::all().filter(|row| row.effect.takes_lane()) {
        for code in [Code::Busy, Code::SecureDesktopActive] {
            assert!(row.errors.contains(&code), "{} does not name {code}", row.name);
        }
    }
}
