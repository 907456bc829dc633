//! Arguments: other names, other forms, and every fault at once.

use crate::desk::{Desk, check, plain};
use expect_test::expect;
use serde_json::json;

#[test]
fn every_fault_is_named_at_once() {
    check(
        plain,
        "click",
        json!({ "x": "left", "buton": "left", "button": "top", "click_count": 7, "modifiers": ["hyper"] }),
        expect![[r#"
            invalid_argument: The arguments do not fit: x has to be a number, not the string "left"; buton is no parameter (is button meant?); button has to be one of left, middle, right, back, forward, not the string "top"; click_count has to be an integer from 1 to 3, not the integer 7; modifiers[0] has to be one of ctrl, shift, alt, meta, primary, not the string "hyper".
              expected: x?: a number, y?: a number, display?: a string, window?: a string, image?: a string, element?: a string, text?: a string, button?: one of left, middle, right, back, forward, click_count?: an integer from 1 to 3, modifiers?: an array of one of ctrl, shift, alt, meta, primary, settle_ms?: an integer from 0 to 10000
        "#]],
    );
    check(
        plain,
        "move_window",
        json!({}),
        expect![[r#"
        missing_required_parameter: The arguments do not fit: window (a string) is required; x (a number) is required; y (a number) is required.
          expected: window: a string, x: a number, y: a number, display?: a string
    "#]],
    );
    check(
        plain,
        "move_window",
        json!({ "window": [7], "x": 5 }),
        expect![[r#"
        invalid_argument: The arguments do not fit: y (a number) is required; window has to be a string, not an array.
          expected: window: a string, x: a number, y: a number, display?: a string
    "#]],
    );
    check(
        plain,
        "drag",
        json!({ "end_x": 1, "end_y": 1, "path": [{ "x": 1 }, 5] }),
        expect![[r#"
        invalid_argument: The arguments do not fit: path[0].y (a number) is required; path[1] has to be an object, not the integer 5.
          expected: start_x?: a number, start_y?: a number, end_x?: a number, end_y?: a number, from_element?: a string, to_element?: a string, path?: an array of object, display?: a string, window?: a string, image?: a string, duration_ms?: an integer from 0 to 60000, button?: one of left, middle, right, back, forward, modifiers?: an array of one of ctrl, shift, alt, meta, primary, settle_ms?: an integer from 0 to 10000
    "#]],
    );
    check(
        plain,
        "click",
        json!({ "x": 5, "coordinate_x": 6, "y": 1 }),
        expect![[r#"
        invalid_argument: The parameter x is given twice, under two names.
          remedy: Pass x once.
    "#]],
    );
    check(
        plain,
        "click",
        json!([1, 2]),
        expect![[r#"
        invalid_argument: The arguments of click have to be an object.
          expected: an object with a member for each parameter
          found: an array
    "#]],
    );
    check(
        plain,
        "click",
        json!({ "x": 5, "y": 5, "element": "save-button" }),
        expect![[r#"
            invalid_argument: Pass one of element, text, or x and y.
        "#]],
    );
    check(
        plain,
        "click",
        json!({ "x": 5 }),
        expect![[r#"
        missing_required_parameter: y is missing: a point needs both x and y, and only x was given.
    "#]],
    );
    check(
        plain,
        "click",
        json!({ "x": 5, "y": 5, "display": 0, "window": 7 }),
        expect![[r#"
        invalid_coordinates: Only one of display, window and image can say what x and y are relative to.
    "#]],
    );
    check(
        plain,
        "cursor_position",
        json!({ "timeout_ms": -5 }),
        expect![[r#"
        invalid_argument: timeout_ms has to be at least 1, not -5.
    "#]],
    );
}

#[test]
fn nulls_are_absent_and_forms_that_mean_the_same_are_taken() {
    check(
        plain,
        "move_mouse",
        json!({ "x": 100.7, "y": 200.2, "display": null, "duration_ms": 0.0 }),
        expect![[r#"
            effect: confirmed
            evidence: "pointer (640, 400) → (100, 200)"
            pointer: x 100  y 200  display 0
            window_title: "Untitled - Editor"
            > move 100,200
        "#]],
    );
    check(
        plain,
        "resize_window",
        json!({ "parent": "applications/102/windows/8", "width": 300.0, "height": 400 }),
        expect![[r#"
            effect: confirmed
            evidence: "260x344 at (800, 100) → 300x400 at (800, 100)"
            window:
              id: 8
              name: applications/102/windows/8
              title: Calculator
              application: Calculator
              pid: 102
              bounds: x 800  y 100  width 300  height 400
              state: normal
              focused: false
              display: 0
            > place 8 300x400
        "#]],
    );
    check(
        plain,
        "click",
        json!({ "x": 5, "y": 5, "button": "Right", "modifiers": ["Shift", "Command"], "settle_ms": 0 }),
        expect![[r#"
            effect: unverified
            reason: "settle_ms is 0, so nothing was looked for."
            pointer: x 5  y 5  display 0
            > move 5,5
            > key shift down
            > key meta down
            > down right
            > up right
            > key meta up
            > key shift up
        "#]],
    );
    check(
        plain,
        "list_windows",
        json!({ "parent": "applications/102" }),
        expect![[r#"
        windows:
          - id 8  name applications/102/windows/8  title Calculator  application Calculator  pid 102  bounds {x 800  y 100  width 260  height 344}  state normal  focused false  display 0
    "#]],
    );
    check(
        plain,
        "cursor_position",
        json!(null),
        expect![[r#"
        x: 640
        y: 400
        display: 0
        window_title: "Untitled - Editor"
        window: 7
    "#]],
    );
    check(
        plain,
        "move_mouse",
        json!({ "x": -1024, "y": 0, "modifiers": ["cmd", "option"] }),
        expect![[r#"
        effect: confirmed
        evidence: "pointer (640, 400) → (-1024, 0)"
        pointer: x -1024  y 0  display 1
        > key meta down
        > key alt down
        > move -1024,0
        > key alt up
        > key meta up
    "#]],
    );
}

#[test]
fn near_names_are_offered_for_an_unknown_tool() {
    let error = deskhand::call::unknown_tool("click_elemnt");
    expect![[r#"
        invalid_argument: There is no tool called "click_elemnt".
          found: clickElement; click_element; click_ui_element; click
          remedy: List the tools for their names."#]]
    .assert_eq(&crate::desk::print(&Err(error)));
    let error = deskhand::call::unknown_tool("TypeText");
    expect![[r#"
        invalid_argument: There is no tool called "TypeText".
          found: type_text
          remedy: List the tools for their names."#]]
    .assert_eq(&crate::desk::print(&Err(error)));
    let error = deskhand::call::unknown_tool("mouse");
    expect![[r#"
        invalid_argument: There is no tool called "mouse".
          found: move_mouse; mouse_move; left_mouse_up; mouse_control; left_mouse_down
          remedy: List the tools for their names."#]]
    .assert_eq(&crate::desk::print(&Err(error)));
    let error = deskhand::call::unknown_tool("");
    expect![[r#"
        invalid_argument: There is no tool called "".
          remedy: List the tools for their names."#]]
    .assert_eq(&crate::desk::print(&Err(error)));
    assert!(Desk::new().server.prepare(&Desk::new().client, "clik", json!({}), None).is_none());
}
