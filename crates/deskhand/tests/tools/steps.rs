//! Several calls in one.

use crate::desk::{Desk, check, plain};
use expect_test::expect;
use serde_json::{Value, json};

#[test]
fn references_lead_to_earlier_results() {
    check(
        plain,
        "run_steps",
        json!({ "steps": [{ "tool": "find_elements", "arguments": { "selector": "slider" } }, { "tool": "set_ui_element_value", "arguments": { "element": { "$from": "prev.elements[0].ref" }, "value": "150" } }, { "tool": "get_ui_element_value", "arguments": { "element": { "$from": "steps[0].elements[0].ref" } } }] }),
        expect![[r#"
            ok: true
            succeeded: 3
            total: 3
            steps:
              - tool find_elements  ok true  result {elements [ref e1  role slider  name Zoom  value 100  states [enabled, focusable, visible]  bounds {x 380  y 92  width 200  height 28}  window 7  pid 101]  truncated false}  duration_ms …
              - tool set_ui_element_value  ok true  result {effect confirmed  evidence "value \"100\" → \"150\""  via action  target "e1 slider \"Zoom\""}  duration_ms …
              - tool get_ui_element_value  ok true  result {ref e1  role slider  name Zoom  value 150}  duration_ms …
            > set editor/zoom "150"
        "#]],
    );
    check(
        plain,
        "run_steps",
        json!({ "steps": [{ "tool": "cursor_position" }, { "tool": "get_window", "arguments": { "window": { "$from": "prev.windows[0].id" } } }] }),
        expect![[r#"
            ok: false
            succeeded: 1
            total: 2
            stopped_at: steps[1]
            steps:
              - tool cursor_position  ok true  result {x 640  y 400  display 0  window_title "Untitled - Editor"  window 7}  duration_ms …
              - tool get_window  ok false  error {code invalid_argument  message "The reference \"prev.windows[0].id\" leads nowhere: there is no windows."  detail {expected "prev, steps[n], params.name, vars.name or index, then .member and [index], as in prev.elements[0].ref"}  retry false}  duration_ms …
        "#]],
    );
}

#[test]
fn an_error_stops_it_unless_told_otherwise() {
    check(
        plain,
        "run_steps",
        json!({ "steps": [{ "tool": "get_window", "arguments": { "window": "Nowhere" } }, { "tool": "cursor_position" }] }),
        expect![[r#"
            ok: false
            succeeded: 0
            total: 2
            stopped_at: steps[0]
            steps:
              - tool get_window  ok false  error {code window_not_found  message "No window matches \"Nowhere\"."  detail {expected "a window's id, exact title or unique part of a title"  found ["7 \"Untitled - Editor\" of Editor", "8 \"Calculator\" of Calculator", "9 \"Tips - Editor\" of Editor"]}  retry true}  duration_ms …
        "#]],
    );
    check(
        plain,
        "run_steps",
        json!({ "continueOnError": true, "steps": [{ "tool": "click", "arguments": { "x": "left" } }, { "tool": "cursor_position" }] }),
        expect![[r#"
            ok: false
            succeeded: 1
            total: 2
            steps:
              - tool click  ok false  error {code invalid_argument  message "The arguments do not fit: x has to be a number, not the string \"left\"."  detail {expected "x?: a number, y?: a number, display?: a string, window?: a string, image?: a string, element?: a string, text?: a string, button?: one of left, middle, right, back, forward, click_count?: an integer from 1 to 3, modifiers?: an array of one of ctrl, shift, alt, meta, primary, settle_ms?: an integer from 0 to 10000"}  retry false}  duration_ms …
              - tool cursor_position  ok true  result {x 640  y 400  display 0  window_title "Untitled - Editor"  window 7}  duration_ms …
        "#]],
    );
}

#[test]
fn nothing_is_done_of_what_cannot_all_be_begun() {
    check(
        plain,
        "run_steps",
        json!({ "steps": [{ "tool": "click", "arguments": { "x": 88, "y": 106 } }, { "tool": "clik" }] }),
        expect![[r#"
            invalid_argument: The steps do not fit; nothing was done: steps[1]: there is no tool called "clik".
              expected: each step one of {tool, arguments?, optional?}, {wait}, {if, then?, else?}, {repeat, steps}, {assign}
              found: click
        "#]],
    );
    check(
        plain,
        "run_steps",
        json!({ "steps": [{ "tool": "run_steps", "arguments": { "steps": [] } }] }),
        expect![[r#"
            invalid_argument: The steps do not fit; nothing was done: steps[0]: run_steps cannot be a step.
              expected: each step one of {tool, arguments?, optional?}, {wait}, {if, then?, else?}, {repeat, steps}, {assign}
        "#]],
    );
    check(
        plain,
        "run_steps",
        json!({ "steps": [] }),
        expect![[r#"
        missing_required_parameter: steps is empty: there is nothing to do.
    "#]],
    );
    check(
        plain,
        "run_steps",
        json!({ "steps": [{ "name": "click" }] }),
        expect![[r#"
            invalid_argument: The arguments do not fit: steps[0].name is no parameter.
              expected: steps: an array of object, continue_on_error?: true or false, delay_ms?: an integer from 0 to 10000, session?: a string
        "#]],
    );
}

#[test]
fn a_long_result_is_cut_and_a_picture_is_its_data() {
    check(
        plain,
        "run_steps",
        json!({ "steps": [{ "tool": "take_screenshot" }] }),
        expect![[r#"
            ok: true
            succeeded: 1
            total: 1
            steps:
              - tool take_screenshot  ok true  result {image i1  shows "display 0"  bounds {x 0  y 0  width 1280  height 800}  width 1280  height 800  scale 1.0  format png}  duration_ms …
        "#]],
    );
}

/// What a run did: how many calls, where it stopped, and what reached the desktop.
fn run(desk: &Desk, steps: Value) -> Value {
    desk.data("run_steps", json!({ "steps": steps, "timeout_ms": 5000 }))
}

#[test]
fn conditions_choose_and_all_their_tests_have_to_hold() {
    let zoom = json!({ "tool": "get_ui_element_value", "arguments": { "element": "slider" } });
    let click = |name: &str| json!([{ "tool": "click_ui_element", "arguments": { "element": format!("button[name=\"{name}\"]"), "window": "8" } }]);
    // The slider is at "100", a text that stands for a number.
    for (condition, holds) in [
        (json!({ "value": { "$from": "prev.value" }, "equals": 100 }), true),
        (json!({ "value": { "$from": "prev.value" }, "equals": "100" }), true),
        (json!({ "value": { "$from": "prev.value" }, "not_equals": "100" }), false),
        (json!({ "value": { "$from": "prev.value" }, "contains": "10" }), true),
        (json!({ "value": { "$from": "prev.value" }, "greater_than": 50, "less_than": 100 }), false),
        (json!({ "value": { "$from": "prev.value" }, "greater_than": 50, "less_than": 101 }), true),
        (json!({ "value": { "$from": "prev.nothing" }, "exists": true }), false),
        (json!({ "value": { "$from": "prev.nothing" }, "exists": false }), true),
        (json!({ "value": { "$from": "prev.nothing", "default": 3 }, "equals": 3 }), true),
        (json!({ "value": ["a", 2], "contains": 2.0 }), true),
    ] {
        let desk = Desk::new();
        let ran = run(&desk, json!([zoom, { "if": condition, "then": click("7"), "else": click("8") }]));
        assert_eq!(ran["ok"], true, "{condition}: {ran}");
        assert_eq!(desk.control.value("calculator/result"), if holds { "7" } else { "8" }, "{condition}");
        assert_eq!(ran["steps"][1]["step"], format!("steps[1].{}[0]", if holds { "then" } else { "else" }));
    }
    // A reference that leads nowhere is told, unless it is asked whether it does.
    let desk = Desk::new();
    let lost = json!({ "value": { "$from": "prev.nothing" }, "equals": 3 });
    let ran = run(&desk, json!([zoom, { "if": lost, "then": click("7") }]));
    assert_eq!((&ran["ok"], &ran["stopped_at"]), (&json!(false), &json!("steps[1]")));
    assert!(ran["steps"][1]["error"]["message"].as_str().unwrap().contains("there is no nothing"), "{ran}");
}

#[test]
fn rounds_are_counted_or_end_with_a_condition_and_have_a_bound() {
    let desk = Desk::new();
    let press = |name: Value| json!({ "tool": "click_ui_element", "arguments": { "element": { "$join": ["button[name=\"", name, "\"]"] }, "window": "8" } });
    let ran =
        run(&desk, json!([{ "repeat": { "times": 4 }, "steps": [press(json!({ "$from": "index" }))] }]));
    assert_eq!(ran["succeeded"], 4, "{ran}");
    assert_eq!(desk.control.value("calculator/result"), "123");
    assert_eq!(ran["steps"][3]["step"], "steps[0].round[3].steps[0]");
    // Until the display says so.
    let result =
        json!({ "tool": "get_ui_element_value", "arguments": { "element": "text_field", "window": "8" } });
    let until = json!({ "value": { "$from": "prev.value" }, "equals": "123777" });
    let ran = run(
        &desk,
        json!([{ "repeat": { "until": until, "at_most": 9 }, "steps": [press(json!("7")), result] }]),
    );
    assert_eq!((&ran["ok"], &ran["succeeded"]), (&json!(true), &json!(6)), "{ran}");
    // One that never comes true is no success.
    let never = json!({ "value": { "$from": "prev.value" }, "equals": "rain" });
    let ran = run(&desk, json!([{ "repeat": { "until": never, "at_most": 2 }, "steps": [result] }]));
    let error = &ran["steps"][2]["error"];
    assert_eq!((&ran["ok"], &error["code"]), (&json!(false), &json!("timeout")), "{ran}");
    assert_eq!(error["message"], "The condition did not come true in 2 rounds.");
    // However it is written, no run makes more than a thousand calls.
    let look = json!([{ "tool": "cursor_position" }]);
    let many =
        json!([{ "repeat": { "times": 40 }, "steps": [{ "repeat": { "times": 40 }, "steps": look }] }]);
    let ran = run(&desk, many);
    assert_eq!((&ran["ok"], &ran["succeeded"]), (&json!(false), &json!(1000)), "{ran:.300}");
    assert_eq!(ran["steps"].as_array().unwrap().len(), 200);
    assert_eq!(ran["left_out"], 801);
    assert!(ran["steps"][199]["error"]["message"].as_str().unwrap().contains("after 1000 calls"));
    // Rounds without a call end in time, too.
    let empty = json!([{ "repeat": { "times": 1000 }, "steps": [{ "repeat": { "times": 1000 }, "steps": [{ "repeat": { "times": 1000 }, "steps": [] }] }] }]);
    let ran = desk.data("run_steps", json!({ "steps": empty, "timeout_ms": 100 }));
    assert_eq!((&ran["ok"], &ran["steps"][0]["error"]["code"]), (&json!(false), &json!("timeout")), "{ran}");
}

#[test]
fn variables_stay_with_the_session_and_are_bounded() {
    let desk = Desk::new();
    let ran = run(
        &desk,
        json!([
            { "tool": "find_elements", "arguments": { "selector": "slider" } },
            { "assign": { "zoom": { "$from": "prev.elements[0].ref" }, "n": 3 } },
            { "tool": "get_ui_element_value", "arguments": { "element": { "$from": "vars.zoom" } } },
        ]),
    );
    assert_eq!(ran["steps"][1]["result"]["value"], "100", "{ran}");
    // Another run of the same session knows them, another session does not.
    let again =
        json!([{ "tool": "get_ui_element_value", "arguments": { "element": { "$from": "vars.zoom" } } }]);
    assert_eq!(run(&desk, again.clone())["ok"], true);
    let session = desk.data("create_session", json!({}))["session"].clone();
    let ran = desk.data("run_steps", json!({ "steps": again, "session": session }));
    assert!(ran["steps"][0]["error"]["message"].as_str().unwrap().contains("no variable zoom"), "{ran}");
    // They grow to a bound and no further.
    let double = json!({ "assign": { "x": { "$join": [{ "$from": "vars.x", "default": "ab" }, { "$from": "vars.x", "default": "ab" }] } } });
    let ran = run(&desk, json!([{ "repeat": { "times": 30 }, "steps": [double] }]));
    assert_eq!((&ran["ok"], &ran["steps"][0]["error"]["code"]), (&json!(false), &json!("invalid_argument")));
    assert!(desk.client.session.state().variables["x"].as_str().unwrap().len() < 1 << 20);
}

#[test]
fn an_optional_step_may_fail_and_its_error_can_be_asked_for() {
    let desk = Desk::new();
    let ran = run(
        &desk,
        json!([
            { "tool": "get_window", "arguments": { "window": "Nowhere" }, "optional": true },
            { "if": { "value": { "$from": "prev.code" }, "equals": "window_not_found" }, "then": [{ "tool": "focus_window", "arguments": { "window": "8" } }] },
            { "wait": { "window_title": "Calculator" } },
        ]),
    );
    assert_eq!((&ran["ok"], &ran["succeeded"]), (&json!(true), &json!(2)), "{ran}");
    assert_eq!(ran["steps"][0]["ok"], false);
    assert!(desk.control.log().contains(&"focus 8".to_owned()), "{:?}", desk.control.log());
}

#[test]
fn what_steps_pressed_is_let_go_of_when_they_do_not_come_to_their_end() {
    let hold = json!({ "tool": "hold_key", "arguments": { "key": "shift" } });
    let down = json!({ "tool": "left_mouse_down", "arguments": { "x": 88, "y": 106 } });
    // Held before: not theirs to let go of.
    let desk = Desk::new();
    desk.data("hold_key", json!({ "key": "alt" }));
    let ran = run(&desk, json!([hold, down, { "tool": "get_window", "arguments": { "window": "Nowhere" } }]));
    assert_eq!(ran["released"], json!(["left button", "shift"]), "{ran}");
    assert_eq!(desk.control.held().len(), 1);
    // Steps that end well may leave something held: that was their purpose.
    assert_eq!(run(&desk, json!([hold]))["ok"], true);
    assert_eq!(desk.control.held().len(), 2);
    // Cancelled in the middle of a wait.
    let desk = Desk::new();
    let steps = json!([hold, { "assign": { "held": true } }, { "wait": { "window_title": "Rain" } }]);
    let prepared = desk.prepare("run_steps", json!({ "steps": steps, "continue_on_error": true }));
    let cancellation = prepared.cancellation().clone();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| desk.server.run(prepared));
        let call = deskhand_core::Call::with_timeout(std::time::Duration::from_secs(10));
        let held = || desk.client.session.state().variables.contains_key("held");
        call.until("the key to be down", || Ok(held().then_some(()))).unwrap();
        cancellation.cancel();
        let ran = deskhand::encode::json(&running.join().unwrap());
        assert_eq!((&ran["stopped_at"], &ran["released"]), (&json!("steps[2]"), &json!(["shift"])), "{ran}");
        assert_eq!(ran["steps"][1]["error"]["code"], "cancelled");
    });
    assert!(desk.control.held().is_empty());
}

#[test]
fn all_that_is_wrong_with_steps_is_named_before_the_first_is_made() {
    let desk = Desk::new();
    let steps = json!([
        { "tool": "clik" },
        { "tool": "click", "then": [] },
        { "if": { "value": 1, "equls": 2 }, "then": [{ "wait": {} , "tool": "click" }] },
        { "repeat": { "until": { "value": 1, "exists": true } }, "steps": [{ "tool": "run_steps" }] },
        { "repeat": { "times": 5000 }, "steps": [] },
        { "assign": {} },
        {},
        { "tool": "click", "arguments": { "x": { "$from": "elements[0]" } } },
    ]);
    let error = desk.error("run_steps", json!({ "steps": steps }));
    for fault in [
        "steps[0]: there is no tool called \"clik\"",
        "steps[1].then does not belong to a step with tool",
        "steps[2].if.equls is no test",
        "steps[2].then[0] needs one of tool, wait, if, repeat, assign, and has",
        "steps[3].repeat needs times, or until with at_most",
        "steps[3].steps[0]: run_steps cannot be a step",
        "steps[4].repeat.times has to be an integer from 0 to 1000",
        "steps[5].assign names no variable",
        "steps[6] needs one of",
        "steps[7].arguments.x.$from has to be a path that begins with",
    ] {
        assert!(error.message.contains(fault), "{fault}: {error}");
    }
    assert_eq!(error.detail.found, ["click"]);
    let deep = (0..9).fold(
        json!([{ "tool": "cursor_position" }]),
        |inner, _| json!([{ "repeat": { "times": 1 }, "steps": inner }]),
    );
    assert!(desk.error("run_steps", json!({ "steps": deep })).message.contains("nested deeper than 8"));
    let long: Vec<_> = (0..501).map(|_| json!({ "tool": "cursor_position" })).collect();
    assert!(desk.error("run_steps", json!({ "steps": long })).message.contains("501 steps are written"));
    assert!(desk.control.log().is_empty());
}
