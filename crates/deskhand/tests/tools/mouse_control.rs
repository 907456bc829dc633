//! `mouse_control` on the desktop in memory: the flat answers, and every failure under the code that its
//! clients know.

use crate::desk::{Desk, quiet_defects};
use deskhand::profiles::Profile;
use deskhand::tool::{COMMON_ERRORS, Reply};
use deskhand::tools::mouse_control::CODES;
use deskhand::{encode, tools};
use deskhand_core::fake::Fake;
use deskhand_core::input::{Button, Held};
use deskhand_core::key::{Key, NamedKey};
use deskhand_core::{Code, Error, Rect};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const TOOL: &str = "mouse_control";

/// What a client sees, whatever came of it.
fn answer(desk: &Desk, arguments: Value) -> Value {
    encode::json(&desk.call(TOOL, arguments))
}

/// What a client sees, and after it what reached the desktop.
fn check(setup: impl FnOnce(&Desk), arguments: Value, expect: Expect) {
    let desk = Desk::new();
    setup(&desk);
    desk.control.take_log();
    let mut text = format!("{}\n", answer(&desk, arguments));
    let log = desk.control.log();
    for (place, line) in log.iter().enumerate() {
        // How many steps a way has depends on the time: its last one is enough.
        let goes_on = log.get(place + 1).is_some_and(|next| next.starts_with("move"));
        if !(line.starts_with("move") && goes_on) {
            text.push_str(&format!("> {line}\n"));
        }
    }
    expect.assert_eq(&text);
}

fn plain(_: &Desk) {}

#[test]
fn every_action_is_a_canonical_tool_and_answers_flatly() {
    check(
        plain,
        json!({ "action": "move", "x": 500.9, "y": 300.2, "monitorIndex": 0 }),
        expect![[r#"
        {"success":true,"final_position":{"x":500,"y":300},"monitorIndex":0,"monitorWidth":1280,"monitorHeight":800,"window_title":"Untitled - Editor","effect":"confirmed","evidence":"pointer (640, 400) → (500, 300)"}
        > move 500,300
    "#]],
    );
    check(
        plain,
        json!({ "action": "click", "x": 88, "y": 106, "monitor_index": 0 }),
        expect![[r#"
        {"success":true,"final_position":{"x":88,"y":106},"monitorIndex":0,"monitorWidth":1280,"monitorHeight":800,"window_title":"Untitled - Editor","effect":"confirmed","evidence":"a property changed (name) to \"Saved\""}
        > move 88,106
        > down left
        > up left
    "#]],
    );
    check(
        plain,
        json!({ "action": "double_click", "x": 100, "y": 300, "monitorIndex": 0, "modifiers": ["ctrl"] }),
        expect![[r#"
            {"success":true,"final_position":{"x":100,"y":300},"monitorIndex":0,"monitorWidth":1280,"monitorHeight":800,"window_title":"Untitled - Editor","effect":"no_change_seen","reason":"There was no event, no changed state and no changed pixels at the target within 20 ms. It may react later, or not at all."}
            > move 100,300
            > key ctrl down
            > down left
            > up left
            > down left
            > up left
            > key ctrl up
        "#]],
    );
    check(
        plain,
        json!({ "action": "right_click", "x": 100, "y": 300, "monitorIndex": 0 }),
        expect![[r#"
        {"success":true,"final_position":{"x":100,"y":300},"monitorIndex":0,"monitorWidth":1280,"monitorHeight":800,"window_title":"","effect":"confirmed","evidence":"elements were added"}
        > move 100,300
        > down right
        > up right
    "#]],
    );
    check(
        plain,
        json!({ "action": "middle_click" }),
        expect![[r#"
        {"success":true,"final_position":{"x":640,"y":400},"monitorIndex":0,"monitorWidth":1280,"monitorHeight":800,"window_title":"Untitled - Editor","effect":"no_change_seen","reason":"There was no event, no changed state and no changed pixels at the target within 20 ms. It may react later, or not at all."}
        > down middle
        > up middle
    "#]],
    );
    check(
        plain,
        json!({
            "action": "drag", "startX": 480, "start_y": 106, "endX": 540, "end_y": 106, "monitorIndex": 0,
            "timeout_ms": 5000,
        }),
        expect![[r#"
            {"success":true,"final_position":{"x":540,"y":106},"monitorIndex":0,"monitorWidth":1280,"monitorHeight":800,"window_title":"Untitled - Editor","effect":"confirmed","evidence":"dragged (480, 106) → (540, 106); a value changed to \"170\""}
            > move 480,106
            > down left
            > move 540,106
            > up left
        "#]],
    );
    check(
        plain,
        json!({ "action": "scroll", "direction": "down", "amount": 2, "x": 500, "y": 300, "monitorIndex": 0 }),
        expect![[r#"
            {"success":true,"final_position":{"x":500,"y":300},"monitorIndex":0,"monitorWidth":1280,"monitorHeight":800,"window_title":"Untitled - Editor","effect":"confirmed","evidence":"a value changed to \"80\"","delivered":"2 notch(es)"}
            > move 500,300
            > wheel 0,2
        "#]],
    );
    check(
        plain,
        json!({ "action": "get_position" }),
        expect![[r#"
        {"success":true,"final_position":{"x":640,"y":400},"monitorIndex":0,"monitorWidth":1280,"monitorHeight":800,"window_title":"Untitled - Editor"}
    "#]],
    );
}

#[test]
fn coordinates_count_from_their_monitor_also_left_of_the_primary() {
    check(
        plain,
        json!({ "action": "move", "x": 524, "y": 200, "monitorIndex": 1 }),
        expect![[r#"
        {"success":true,"final_position":{"x":524,"y":200},"monitorIndex":1,"monitorWidth":1024,"monitorHeight":768,"window_title":"Tips - Editor","effect":"confirmed","evidence":"pointer (640, 400) → (-500, 200)"}
        > move -500,200
    "#]],
    );
    let desk = Desk::new();
    desk.control.take_log();
    for (x, y) in [(0.0_f64, 0.0_f64), (1023.99, 767.99), (-0.5, 0.0)] {
        let answer = answer(&desk, json!({ "action": "move", "x": x, "y": y, "monitorIndex": 1 }));
        assert_eq!(answer["success"], true, "{answer}");
        assert_eq!(answer["final_position"], json!({ "x": x.trunc() as i32, "y": y.trunc() as i32 }));
    }
    assert_eq!(desk.control.take_log(), ["move -1024,0", "move -1,767", "move -1024,0"]);
    for (x, y) in [(1024.0, 0.0), (0.0, 768.0), (-1.0, 5.0), (5.0, -1.0), (1e300, 0.0)] {
        let answer = answer(&desk, json!({ "action": "move", "x": x, "y": y, "monitorIndex": 1 }));
        assert_eq!(answer["error_code"], "coordinates_out_of_bounds", "{answer}");
        let bounds = json!({ "left": -1024, "top": 0, "width": 1024, "height": 768 });
        assert_eq!(answer["error_details"]["valid_bounds"], bounds, "{answer}");
    }
    assert_eq!(desk.control.take_log(), [""; 0], "what is out of bounds is refused and never clamped");
}

#[test]
fn what_is_missing_is_named_all_at_once_with_what_to_pass() {
    check(
        plain,
        json!({ "action": "click", "x": 88, "y": 106 }),
        expect![[r#"
        {"success":false,"error_code":"missing_required_parameter","error":"monitorIndex is required when using x/y coordinates","error_details":{"missing":["monitorIndex"],"valid_indices":[0,1],"remedy":"Pass x, y and monitorIndex together, or none of them to act where the pointer is."}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "click", "x": 88 }),
        expect![[r#"
        {"success":false,"error_code":"missing_required_parameter","error":"y and monitorIndex are required when using x/y coordinates","error_details":{"missing":["y","monitorIndex"],"valid_indices":[0,1],"remedy":"Pass x, y and monitorIndex together, or none of them to act where the pointer is."}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "move" }),
        expect![[r#"
        {"success":false,"error_code":"missing_required_parameter","error":"x, y and monitorIndex are required for move","error_details":{"missing":["x","y","monitorIndex"],"valid_indices":[0,1],"remedy":"Pass x, y and monitorIndex together."}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "drag", "start_x": 1, "monitorIndex": 0 }),
        expect![[r#"
        {"success":false,"error_code":"missing_required_parameter","error":"startY, endX and endY are required for drag","error_details":{"missing":["startY","endX","endY"],"valid_indices":[0,1],"remedy":"Pass startX, startY, endX, endY and monitorIndex together."}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "scroll" }),
        expect![[r#"
        {"success":false,"error_code":"missing_required_parameter","error":"direction is required for scroll","error_details":{"missing":["direction"],"valid_directions":["up","down","left","right"]}}
    "#]],
    );
    check(
        plain,
        json!({}),
        expect![[r#"
        {"success":false,"error_code":"missing_required_parameter","error":"The arguments do not fit: action (one of move, click, double_click, right_click, middle_click, drag, scroll, get_position) is required.","error_details":{"expected":"action: one of move, click, double_click, right_click, middle_click, drag, scroll, get_position, x?: a number, y?: a number, monitorIndex?: an integer, startX?: a number, startY?: a number, endX?: a number, endY?: a number, button?: one of left, middle, right, back, forward, direction?: one of up, down, left, right, amount?: an integer from 1 to 1000, modifiers?: an array of one of ctrl, shift, alt, meta, primary"}}
    "#]],
    );
}

#[test]
fn what_is_wrong_is_told_with_what_would_be_right() {
    check(
        plain,
        json!({ "action": "click", "x": 1, "y": 1, "monitorIndex": 5 }),
        expect![[r#"
        {"success":false,"error_code":"invalid_coordinates","error":"Invalid monitorIndex: 5","error_details":{"valid_indices":[0,1],"remedy":"Use one of valid_indices; 0 is the primary monitor. list_displays shows them all."}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "click", "x": 2000, "y": 300, "monitorIndex": 1 }),
        expect![[r#"
        {"success":false,"error_code":"coordinates_out_of_bounds","error":"Coordinates (2000, 300) out of bounds for monitor 1","error_details":{"valid_bounds":{"left":-1024,"top":0,"width":1024,"height":768},"remedy":"Coordinates count from the top left corner of the monitor: x from 0 to 1023, y from 0 to 767. They are those of its screenshot in native size."}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "fly" }),
        expect![[r#"
        {"success":false,"error_code":"invalid_action","error":"Invalid action: \"fly\"","error_details":{"valid_actions":["move","click","double_click","right_click","middle_click","drag","scroll","get_position"]}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "scroll", "direction": "sideways" }),
        expect![[r#"
        {"success":false,"error_code":"invalid_scroll_direction","error":"Invalid scroll direction: \"sideways\"","error_details":{"valid_directions":["up","down","left","right"]}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "click", "x": "left", "y": 5, "monitorIndex": 0 }),
        expect![[r#"
        {"success":false,"error_code":"invalid_coordinates","error":"The arguments do not fit: x has to be a number, not the string \"left\".","error_details":{"expected":"action: one of move, click, double_click, right_click, middle_click, drag, scroll, get_position, x?: a number, y?: a number, monitorIndex?: an integer, startX?: a number, startY?: a number, endX?: a number, endY?: a number, button?: one of left, middle, right, back, forward, direction?: one of up, down, left, right, amount?: an integer from 1 to 1000, modifiers?: an array of one of ctrl, shift, alt, meta, primary"}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "click", "monitorIndex": 0.5, "x": 1, "y": 1 }),
        expect![[r#"
        {"success":false,"error_code":"invalid_coordinates","error":"The arguments do not fit: monitorIndex has to be an integer, not the number 0.5.","error_details":{"expected":"action: one of move, click, double_click, right_click, middle_click, drag, scroll, get_position, x?: a number, y?: a number, monitorIndex?: an integer, startX?: a number, startY?: a number, endX?: a number, endY?: a number, button?: one of left, middle, right, back, forward, direction?: one of up, down, left, right, amount?: an integer from 1 to 1000, modifiers?: an array of one of ctrl, shift, alt, meta, primary"}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "click", "modifiers": ["hyper"] }),
        expect![[r#"
        {"success":false,"error_code":"invalid_argument","error":"The arguments do not fit: modifiers[0] has to be one of ctrl, shift, alt, meta, primary, not the string \"hyper\".","error_details":{"expected":"action: one of move, click, double_click, right_click, middle_click, drag, scroll, get_position, x?: a number, y?: a number, monitorIndex?: an integer, startX?: a number, startY?: a number, endX?: a number, endY?: a number, button?: one of left, middle, right, back, forward, direction?: one of up, down, left, right, amount?: an integer from 1 to 1000, modifiers?: an array of one of ctrl, shift, alt, meta, primary"}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "right_click", "button": "left" }),
        expect![[r#"
        {"success":false,"error_code":"invalid_argument","error":"right_click uses its own button; button says another one.","error_details":{"remedy":"Leave button out, or use click or drag with it."}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "scroll", "direction": "up", "amount": 0 }),
        expect![[r#"
        {"success":false,"error_code":"invalid_argument","error":"The arguments do not fit: amount has to be an integer from 1 to 1000, not the integer 0.","error_details":{"expected":"action: one of move, click, double_click, right_click, middle_click, drag, scroll, get_position, x?: a number, y?: a number, monitorIndex?: an integer, startX?: a number, startY?: a number, endX?: a number, endY?: a number, button?: one of left, middle, right, back, forward, direction?: one of up, down, left, right, amount?: an integer from 1 to 1000, modifiers?: an array of one of ctrl, shift, alt, meta, primary"}}
    "#]],
    );
    check(
        plain,
        json!({ "action": "click", "where": "there" }),
        expect![[r#"
        {"success":false,"error_code":"invalid_argument","error":"The arguments do not fit: where is no parameter.","error_details":{"expected":"action: one of move, click, double_click, right_click, middle_click, drag, scroll, get_position, x?: a number, y?: a number, monitorIndex?: an integer, startX?: a number, startY?: a number, endX?: a number, endY?: a number, button?: one of left, middle, right, back, forward, direction?: one of up, down, left, right, amount?: an integer from 1 to 1000, modifiers?: an array of one of ctrl, shift, alt, meta, primary"}}
    "#]],
    );
}

#[test]
fn what_keeps_input_from_arriving_is_told_under_the_codes_that_clients_know() {
    let click = || json!({ "action": "click", "x": 88, "y": 106, "monitorIndex": 0 });
    check(
        |desk| desk.control.change(|world| world.elevate(101)),
        click(),
        expect![[r#"
        {"success":false,"error_code":"elevated_process_target","error":"The window \"Untitled - Editor\" there belongs to another user or to an administrator (process 101); no input was made.","error_details":{"remedy":"Let the person at the desktop do it, or act on another window."}}
    "#]],
    );
    check(
        |desk| desk.control.change(|world| world.lock_session(true)),
        click(),
        expect![[r#"
        {"success":false,"error_code":"secure_desktop_active","error":"The session is locked.","error_details":{"remedy":"Unlock the session, then try again."}}
    "#]],
    );
    check(
        |desk| desk.control.fail_next("input.button", Error::backend("The X server has gone.")),
        click(),
        expect![[r#"
            {"success":false,"error_code":"send_input_failed","error":"The X server has gone.","error_details":{"retry":true}}
            > move 88,106
            > up left
        "#]],
    );
    check(
        |desk| {
            desk.control.hang_next("input.move_to");
        },
        json!({ "action": "click", "x": 88, "y": 106, "monitorIndex": 0, "timeout_ms": 20 }),
        expect![[r#"
            {"success":false,"error_code":"operation_timeout","error":"The deadline passed while input.move_to did not answer.","error_details":{"remedy":"Pass a larger timeout_ms, or look at what is holding it up.","retry":true}}
        "#]],
    );
    check(
        |desk| desk.control.change(|world| world.confine_pointer(Some(Rect::new(500, 500, 50, 50)))),
        click(),
        expect![[r#"
            {"success":false,"error_code":"send_input_failed","error":"The pointer was put to (88, 106) but is at (500, 500): something confines or moves it.","error_details":{"expected":"(88, 106)","found":["(500, 500)"],"remedy":"Look at the screen; the application that has the pointer may have to let go of it first.","retry":true}}
            > move 88,106
        "#]],
    );
    check(
        plain,
        json!({ "action": "scroll", "direction": "down", "x": 100, "y": 510, "monitorIndex": 0 }),
        expect![[r#"
            {"success":false,"error_code":"not_scrollable","error":"Nothing at (100, 510) scrolls.","error_details":{"remedy":"Scroll in an element that does: find_elements with the role scroll_pane, list, tree, table or document.","retry":true}}
            > move 100,510
            > wheel 0,1
        "#]],
    );
}

/// An elevated window gets nothing at all, whichever end of a drag it lies at; moving over it is no input.
#[test]
fn an_elevated_window_is_refused_before_the_pointer_moves() {
    let desk = Desk::new();
    desk.control.change(|world| world.elevate(102));
    desk.control.take_log();
    let there = json!({ "x": 850, "y": 200, "monitorIndex": 0 });
    for action in ["click", "double_click", "right_click", "middle_click", "scroll"] {
        let mut arguments = there.clone();
        arguments["action"] = json!(action);
        if action == "scroll" {
            arguments["direction"] = json!("down");
        }
        assert_eq!(answer(&desk, arguments)["error_code"], "elevated_process_target", "{action}");
    }
    for (start, end) in [((850, 200), (100, 300)), ((100, 300), (850, 200))] {
        let drag = json!({
            "action": "drag", "startX": start.0, "startY": start.1, "endX": end.0, "endY": end.1,
            "monitorIndex": 0,
        });
        assert_eq!(answer(&desk, drag)["error_code"], "elevated_process_target");
    }
    assert_eq!(desk.control.take_log(), [""; 0]);
    let mut over = there;
    over["action"] = json!("move");
    assert_eq!(answer(&desk, over)["success"], true);
    assert_eq!(answer(&desk, json!({ "action": "click" }))["error_code"], "elevated_process_target");
    assert_eq!(desk.control.take_log(), ["move 850,200"]);
}

#[test]
fn a_window_that_goes_during_a_drag_is_a_partial_success() {
    check(
        |desk| {
            desk.control.later(std::time::Duration::from_millis(60), |world| world.close_window(7));
        },
        json!({ "action": "drag", "startX": 100, "startY": 300, "endX": 300, "endY": 400, "monitorIndex": 0 }),
        expect![[r#"
            {"success":true,"partial":true,"error_code":"window_lost_during_drag","error":"The window \"Untitled - Editor\" was lost during the drag","final_position":{"x":300,"y":400},"monitorIndex":0,"monitorWidth":1280,"monitorHeight":800,"window_title":"","effect":"unverified","reason":"The window \"Untitled - Editor\" went away during the drag."}
            > move 100,300
            > down left
            > move 300,400
            > up left
        "#]],
    );
}

#[test]
fn what_means_nothing_for_an_action_is_named_and_does_nothing() {
    let desk = Desk::new();
    let told = |arguments| answer(&desk, arguments)["ignored"].clone();
    assert_eq!(told(json!({ "action": "click", "monitorIndex": 9 })), json!(["monitorIndex"]));
    assert_eq!(
        told(json!({ "action": "get_position", "x": 5, "y": 5, "monitorIndex": 9 })),
        json!(["x", "y", "monitorIndex"])
    );
    assert_eq!(
        told(json!({ "action": "move", "x": 5, "y": 5, "monitorIndex": 0, "amount": 3, "button": "right" })),
        json!(["button", "amount"])
    );
    assert_eq!(told(json!({ "action": "click", "x": 5, "y": 5, "monitorIndex": 0 })), Value::Null);
}

#[test]
fn a_picture_says_what_its_coordinates_belong_to() {
    let desk = Desk::new();
    let shot = desk.data("take_screenshot", json!({ "display": "1", "max_width": 512 }));
    desk.control.take_log();
    let there = json!({ "action": "move", "x": 256, "y": 100, "image": shot["image"], "monitorIndex": 0 });
    let answer = answer(&desk, there);
    assert_eq!(
        (&answer["monitorIndex"], &answer["ignored"]),
        (&json!(1), &json!(["monitorIndex"])),
        "{answer}"
    );
    assert_eq!(answer["final_position"], json!({ "x": 513, "y": 201 }));
}

#[test]
fn modifiers_are_let_go_of_also_after_a_failure_and_the_persons_stay() {
    let desk = Desk::new();
    desk.control.fail_next("input.button", Error::backend("The X server has gone."));
    let both =
        json!({ "action": "click", "x": 88, "y": 106, "monitorIndex": 0, "modifiers": ["ctrl", "shift"] });
    assert_eq!(answer(&desk, both.clone())["error_code"], "send_input_failed");
    assert_eq!(desk.control.held(), []);
    let shift = Held::Key(Key::Named(NamedKey::Shift));
    desk.control.change(|world| world.person_holds(shift, true));
    desk.control.take_log();
    assert_eq!(answer(&desk, both)["success"], true);
    assert_eq!(desk.control.held(), [shift]);
    let pressed = desk.control.take_log();
    assert!(!pressed.iter().any(|line| line.contains("shift")), "{pressed:?}");
    let drag = json!({
        "action": "drag", "startX": 480, "startY": 106, "endX": 540, "endY": 106, "monitorIndex": 0,
        "modifiers": ["ctrl"], "timeout_ms": 60,
    });
    assert_eq!(answer(&desk, drag)["error_code"], "operation_timeout");
    assert_eq!(desk.control.held(), [shift], "and so is the button");
    assert!(!desk.control.held().contains(&Held::Button(Button::Left)));
}

#[test]
fn a_failure_is_the_same_object_as_text_and_as_structured_content() {
    let desk = Desk::new();
    let result = desk.call(TOOL, json!({ "action": "fly" }));
    let sent = encode::mcp(&result);
    assert_eq!(sent["isError"], true);
    let text: Value = serde_json::from_str(sent["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, sent["structuredContent"]);
    let members: Vec<_> = text.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["success", "error_code", "error", "error_details"]);
    let sent = encode::mcp(&desk.call(TOOL, json!({ "action": "get_position" })));
    assert_eq!((&sent["isError"], &sent["structuredContent"]["success"]), (&json!(false), &json!(true)));

    // As a step of others it fails as a step does, and looks the same.
    let steps = json!({ "steps": [{ "tool": TOOL, "arguments": { "action": "fly" } }] });
    let ran = desk.data("run_steps", steps);
    assert_eq!(ran["steps"][0]["error"]["error_code"], "invalid_action", "{ran}");
}

#[test]
fn what_policy_denies_is_denied_through_it_too() {
    let desk = Desk::with(Fake::new(), |config| config.policy.deny.push("click".to_owned()));
    let refused = answer(&desk, json!({ "action": "click" }));
    assert_eq!(refused["error_code"], "denied_by_policy", "{refused}");
    let desk = Desk::with(Fake::new(), |config| config.policy.read_only = true);
    assert_eq!(answer(&desk, json!({ "action": "get_position" }))["success"], true);
    assert_eq!(answer(&desk, json!({ "action": "click" }))["error_code"], "denied_by_policy");
}

/// No canonical code that differs for these clients reaches them, and every one of theirs is made somewhere.
#[test]
fn every_code_has_its_name() {
    quiet_defects();
    let row = tools::row(TOOL).unwrap();
    let theirs: BTreeSet<&str> = CODES.iter().map(|(_, theirs)| *theirs).collect();
    for code in row.errors.iter().chain(COMMON_ERRORS).chain(&[Code::DisplayNotFound]) {
        let shaped = row.shape(&Value::Null, Error::new(*code, "It did not work."));
        let shown = encode::json(&Err::<Reply, _>(shaped));
        let name = shown["error_code"].as_str().unwrap();
        let renamed = CODES.iter().any(|(ours, _)| ours == code);
        assert_eq!(renamed, name != code.name(), "{name}");
        assert!(!renamed || theirs.contains(name));
        assert_eq!((&shown["success"], &shown["error"]), (&json!(false), &json!("It did not work.")));
        assert!(shown["error_details"].is_object(), "{shown}");
    }
}

#[test]
fn the_profile_lists_it_with_pictures_in_native_size() {
    let desk = Desk::new();
    let listed = Profile::MouseControl.list(&desk.server, &Default::default());
    let names: Vec<_> = listed.iter().map(|tool| tool.name).collect();
    assert_eq!(names, [TOOL, "take_screenshot", "list_displays", "list_windows"]);
    assert!(!Profile::Full.shown().iter().any(|shown| shown.name == TOOL), "it is no tool of its own");
    let width = &listed[1].input_schema["properties"]["max_width"]["description"];
    assert!(width.as_str().unwrap().contains("native by default"), "{width}");
    let native = Profile::MouseControl.adapt("take_screenshot", json!({ "display": "1" }));
    assert_eq!(native, json!({ "display": "1", "max_width": 0, "max_height": 0, "max_bytes": 0 }));
    let asked = json!({ "max_width": 100, "max_height": 0, "max_bytes": 5 });
    assert_eq!(Profile::MouseControl.adapt("take_screenshot", asked.clone()), asked);
    assert_eq!(Profile::Full.adapt("take_screenshot", json!({})), json!({}));
    assert_eq!(Profile::MouseControl.adapt(TOOL, json!({})), json!({}));
}

/// Proves: the schema takes what the contract names, in both spellings, and nothing else by accident.
#[test]
fn its_parameters_are_those_of_the_contract() {
    let schema = tools::row(TOOL).unwrap().input_schema();
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "action",
            "x",
            "y",
            "monitorIndex",
            "startX",
            "startY",
            "endX",
            "endY",
            "button",
            "direction",
            "amount",
            "modifiers",
            "timeout_ms"
        ]
    );
    assert_eq!(schema["required"], json!(["action"]));
    for modifier in ["ctrl", "shift", "alt"] {
        assert!(schema["properties"]["modifiers"]["items"]["enum"].to_string().contains(modifier));
    }
}
