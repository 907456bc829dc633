//! Several calls in one.

use crate::desk::{check, plain};
use expect_test::expect;
use serde_json::json;

#[test]
fn references_lead_to_earlier_results() {
    check(
        plain,
        "run_steps",
        json!({ "steps": [{ "tool": "find_elements", "arguments": { "selector": "slider" } }, { "tool": "set_ui_element_value", "arguments": { "element": { "$from": "prev.elements[0].ref" }, "value": "150" } }, { "tool": "get_ui_element_value", "arguments": { "element": { "$from": "steps[0].elements[0].ref" } } }] }),
        expect![[r#"
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
            succeeded: 1
            total: 2
            steps:
              - tool cursor_position  ok true  result {x 640  y 400  display 0  window_title "Untitled - Editor"  window 7}  duration_ms …
              - tool get_window  ok false  error {code invalid_argument  message "The reference \"prev.windows[0].id\" leads nowhere: there is no windows."  detail {expected "prev or steps[n], then .member and [index], as in prev.elements[0].ref"}  retry false}  duration_ms …
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
            succeeded: 0
            total: 2
            steps:
              - tool get_window  ok false  error {code window_not_found  message "No window matches \"Nowhere\"."  detail {expected "a window's id, exact title or unique part of a title"  found ["7 \"Untitled - Editor\" of Editor", "8 \"Calculator\" of Calculator", "9 \"Tips - Editor\" of Editor"]}  retry true}  duration_ms …
        "#]],
    );
    check(
        plain,
        "run_steps",
        json!({ "continueOnError": true, "steps": [{ "tool": "click", "arguments": { "x": "left" } }, { "tool": "cursor_position" }] }),
        expect![[r#"
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
            invalid_argument: There is no tool called "clik".
              expected: tools that exist, in every step; nothing was done
              found: click
              remedy: List the tools for their names.
        "#]],
    );
    check(
        plain,
        "run_steps",
        json!({ "steps": [{ "tool": "run_steps", "arguments": { "steps": [] } }] }),
        expect![[r#"
            invalid_argument: run_steps cannot be a step of itself.
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
        invalid_argument: The arguments do not fit: steps[0].tool (a string) is required; steps[0].name is no parameter.
          expected: steps: an array of object, continue_on_error?: true or false, delay_ms?: an integer from 0 to 10000
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
            succeeded: 1
            total: 1
            steps:
              - tool take_screenshot  ok true  result {image i1  shows "display 0"  bounds {x 0  y 0  width 1280  height 800}  width 1280  height 800  scale 1.0  format png}  duration_ms …
        "#]],
    );
}
