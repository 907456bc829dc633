//! The pointer: clicking, moving, holding, dragging, scrolling.

use crate::desk::{Desk, check, plain};
use deskhand_core::Rect;
use expect_test::expect;
use serde_json::json;

#[test]
fn a_click_is_confirmed_by_what_came_of_it() {
    check(
        plain,
        "click",
        json!({ "x": 88, "y": 106 }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            pointer: x 88  y 106  display 0
            window_title: "Untitled - Editor"
            > move 88,106
            > down left
            > up left
            < editor/save clicked
        "#]],
    );
    check(
        plain,
        "click",
        json!({ "element": "save-button" }),
        expect![[r#"
        effect: confirmed
        evidence: "became focused"
        via: pointer
        target: "e1 button \"Save\""
        pointer: x 88  y 106  display 0
        window_title: "Untitled - Editor"
        > move 88,106
        > down left
        > up left
        < editor/save clicked
    "#]],
    );
    check(
        plain,
        "click",
        json!({ "element": "check_box[name=\"Wrap lines\"]" }),
        expect![[r#"
        effect: confirmed
        evidence: "became checked, became focused"
        via: pointer
        target: "e1 check_box \"Wrap lines\""
        pointer: x 300  y 106  display 0
        window_title: "Untitled - Editor"
        > move 300,106
        > down left
        > up left
        < editor/wrap clicked
    "#]],
    );
    check(
        plain,
        "click",
        json!({ "element": "save-button", "settle_ms": 0 }),
        expect![[r#"
            effect: unverified
            reason: "settle_ms is 0, so nothing was looked for."
            via: pointer
            target: "e1 button \"Save\""
            pointer: x 88  y 106  display 0
            window_title: "Untitled - Editor"
            > move 88,106
            > down left
            > up left
            < editor/save clicked
        "#]],
    );
    check(
        |desk| desk.control.change(|world| world.ignore_clicks(true)),
        "click",
        json!({ "x": 88, "y": 106 }),
        expect![[r#"
            effect: no_change_seen
            reason: "There was no event, no changed state and no changed pixels at the target within 20 ms. It may react later, or not at all."
            pointer: x 88  y 106  display 0
            window_title: "Untitled - Editor"
            > move 88,106
            > down left
            > up left
        "#]],
    );
    check(
        plain,
        "click",
        json!({ "x": 600, "y": 700 }),
        expect![[r#"
        effect: no_change_seen
        reason: "There was no event, no changed state and no changed pixels at the target within 20 ms. It may react later, or not at all."
        pointer: x 600  y 700  display 0
        > move 600,700
        > down left
        > up left
    "#]],
    );
}

#[test]
fn buttons_counts_and_modifiers_reach_the_application() {
    check(
        plain,
        "click",
        json!({ "x": 100, "y": 300, "button": "right" }),
        expect![[r#"
        effect: confirmed
        evidence: "elements were added"
        pointer: x 100  y 300  display 0
        window_title: "Untitled - Editor"
        > move 100,300
        > down right
        > up right
        < editor/text right clicked
    "#]],
    );
    check(
        plain,
        "click",
        json!({ "x": 100, "y": 300, "click_count": 3, "modifiers": ["ctrl", "shift"] }),
        expect![[r#"
            effect: no_change_seen
            reason: "There was no event, no changed state and no changed pixels at the target within 20 ms. It may react later, or not at all."
            pointer: x 100  y 300  display 0
            window_title: "Untitled - Editor"
            > move 100,300
            > key ctrl down
            > key shift down
            > down left
            > up left
            > down left
            > up left
            > down left
            > up left
            > key shift up
            > key ctrl up
            < editor/text clicked with ctrl+shift
            < editor/text double clicked with ctrl+shift
            < editor/text triple clicked with ctrl+shift
        "#]],
    );
    check(
        plain,
        "double_click",
        json!({ "element": "text_area" }),
        expect![[r#"
        effect: no_change_seen
        reason: "There was no event, no changed state and no changed pixels at the target within 20 ms. It may react later, or not at all."
        via: pointer
        target: "e1 text_area \"Document\""
        pointer: x 240  y 324  display 0
        window_title: "Untitled - Editor"
        > move 240,324
        > down left
        > up left
        > down left
        > up left
        < editor/text clicked
        < editor/text double clicked
    "#]],
    );
    check(
        plain,
        "click",
        json!({ "element": "save-button", "show_animation": true }),
        expect![[r#"
            effect: confirmed
            evidence: "became focused"
            via: pointer
            target: "e1 button \"Save\""
            pointer: x 88  y 106  display 0
            window_title: "Untitled - Editor"
            ignored: show_animation
            > move 88,106
            > down left
            > up left
            < editor/save clicked
        "#]],
    );
}

#[test]
fn a_point_can_be_relative_to_a_display_or_a_window() {
    check(
        plain,
        "click",
        json!({ "x": 200, "y": 200, "display": 1 }),
        expect![[r#"
            effect: confirmed
            evidence: "a window changed (activate)"
            pointer: x -824  y 200  display 1
            window_title: "Tips - Editor"
            > move -824,200
            > down left
            > up left
            < tips clicked
        "#]],
    );
    check(
        plain,
        "click",
        json!({ "x": 48, "y": 66, "window": "Untitled" }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            pointer: x 88  y 106  display 0
            window_title: "Untitled - Editor"
            > move 88,106
            > down left
            > up left
            < editor/save clicked
        "#]],
    );
    check(
        plain,
        "click",
        json!({ "x": 88.9, "y": 106.9 }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            pointer: x 88  y 106  display 0
            window_title: "Untitled - Editor"
            > move 88,106
            > down left
            > up left
            < editor/save clicked
        "#]],
    );
    check(
        plain,
        "click",
        json!({ "window": "Calculator" }),
        expect![[r#"
        missing_required_parameter: x and y are missing: window says only what they are relative to.
    "#]],
    );
    check(
        plain,
        "click",
        json!({ "x": 700, "y": 5, "window": "Calculator" }),
        expect![[r#"
        coordinates_out_of_bounds: The point (700, 5) lies outside window 8.
          expected: 0 <= x < 260 and 0 <= y < 344, relative to window 8
    "#]],
    );
}

#[test]
fn without_a_point_it_clicks_where_the_pointer_is() {
    check(
        |desk| drop(desk.data("move_mouse", json!({ "x": 88, "y": 106 }))),
        "click",
        json!({}),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            pointer: x 88  y 106  display 0
            window_title: "Untitled - Editor"
            > down left
            > up left
            < editor/save clicked
        "#]],
    );
}

#[test]
fn moving_is_confirmed_by_where_the_pointer_is() {
    check(
        plain,
        "move_mouse",
        json!({ "x": 100, "y": 200 }),
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
        "move_mouse",
        json!({ "x": 10, "y": 10, "display": "FAKE-2" }),
        expect![[r#"
        effect: confirmed
        evidence: "pointer (640, 400) → (-1014, 10)"
        pointer: x -1014  y 10  display 1
        > move -1014,10
    "#]],
    );
    check(
        plain,
        "move_mouse",
        json!({ "x": 100, "y": 200, "modifiers": ["alt"] }),
        expect![[r#"
        effect: confirmed
        evidence: "pointer (640, 400) → (100, 200)"
        pointer: x 100  y 200  display 0
        window_title: "Untitled - Editor"
        > key alt down
        > move 100,200
        > key alt up
    "#]],
    );
    check(
        plain,
        "hover",
        json!({ "x": 100, "y": 200, "duration": 0.01 }),
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
        "mouse_move",
        json!({ "coordinateX": 100, "coordinateY": 200, "smooth": true, "duration_ms": 0 }),
        expect![[r#"
            effect: confirmed
            evidence: "pointer (640, 400) → (100, 200)"
            pointer: x 100  y 200  display 0
            window_title: "Untitled - Editor"
            > move 100,200
        "#]],
    );
    check(
        |desk| desk.control.change(|world| world.confine_pointer(Some(Rect::new(0, 0, 50, 50)))),
        "move_mouse",
        json!({ "x": 100, "y": 200 }),
        expect![[r#"
            target_changed: The pointer was put to (100, 200) but is at (49, 49): something confines or moves it.
              expected: (100, 200)
              found: (49, 49)
              remedy: Look at the screen; the application that has the pointer may have to let go of it first.
            > move 100,200
        "#]],
    );
}

#[test]
fn a_button_stays_down_until_it_is_let_go_of() {
    let desk = Desk::new();
    desk.check(
        "left_mouse_down",
        json!({ "x": 88, "y": 106 }),
        expect![[r#"
        effect: confirmed
        evidence: "the left button is down"
        pointer: x 88  y 106  display 0
        held: "left button"
        > move 88,106
        > down left
    "#]],
    );
    desk.check(
        "left_mouse_up",
        json!({}),
        expect![[r#"
        effect: confirmed
        evidence: "the left button is up"
        pointer: x 88  y 106  display 0
        held:
        > up left
        < editor/save clicked
    "#]],
    );
    desk.check(
        "left_mouse_up",
        json!({ "button": "right" }),
        expect![[r#"
        effect: no_change_seen
        reason: "No client held the right button."
        pointer: x 88  y 106  display 0
        held:
    "#]],
    );
    desk.check(
        "cursor_position",
        json!({}),
        expect![[r#"
        x: 88
        y: 106
        display: 0
        window_title: "Untitled - Editor"
        window: 7
    "#]],
    );
}

#[test]
fn dragging_reports_what_followed_the_pointer() {
    check(
        plain,
        "drag",
        json!({ "start_x": 480, "start_y": 106, "end_x": 540, "end_y": 106, "duration_ms": 0 }),
        expect![[r#"
            effect: confirmed
            evidence: "dragged (480, 106) → (540, 106); a value changed to \"170\""
            pointer: x 540  y 106  display 0
            window_title: "Untitled - Editor"
            > move 480,106
            > down left
            > move 540,106
            > up left
            < editor/zoom clicked
        "#]],
    );
    check(
        plain,
        "drag",
        json!({ "from_element": "slider", "end_x": 900, "end_y": 700, "path": [{ "x": 500, "y": 600 }], "duration_ms": 0 }),
        expect![[r#"
            effect: confirmed
            evidence: "dragged (480, 106) → (900, 700); a value changed to \"200\""
            pointer: x 900  y 700  display 0
            > move 480,106
            > down left
            > move 500,600
            > move 900,700
            > up left
            < editor/zoom dragged
        "#]],
    );
    check(
        plain,
        "drag",
        json!({ "startX": 300, "startY": 50, "endX": 400, "endY": 150, "duration_ms": 0 }),
        expect![[r#"
            effect: confirmed
            evidence: "dragged (300, 50) → (400, 150); pixels changed within 17x17 at (392, 142)"
            pointer: x 400  y 150  display 0
            window_title: "Untitled - Editor"
            > move 300,50
            > down left
            > move 400,150
            > up left
        "#]],
    );
    check(
        plain,
        "left_click_drag",
        json!({ "end_x": 700, "end_y": 700, "duration_ms": 0 }),
        expect![[r#"
            effect: no_change_seen
            reason: "There was no event, no changed state and no changed pixels at the target within 20 ms. It may react later, or not at all."
            pointer: x 700  y 700  display 0
            > down left
            > move 700,700
            > up left
            < editor/recent/9 dragged
        "#]],
    );
    check(
        plain,
        "drag",
        json!({ "from_element": "slider", "start_x": 5, "end_x": 1, "end_y": 1 }),
        expect![[r#"
            invalid_argument: Each end of a drag is either an element or a point, not both.
        "#]],
    );
}

#[test]
fn scrolling_says_what_was_delivered() {
    check(
        plain,
        "scroll",
        json!({ "direction": "down", "x": 500, "y": 300 }),
        expect![[r#"
            effect: confirmed
            evidence: "a value changed to \"120\""
            via: pointer
            pointer: x 500  y 300  display 0
            window_title: "Untitled - Editor"
            delivered: "3 notch(es)"
            > move 500,300
            > wheel 0,3
            < editor/files scrolled to 120
        "#]],
    );
    check(
        plain,
        "scroll",
        json!({ "direction": "up", "notches": 2, "x": 500, "y": 300 }),
        expect![[r#"
            effect: no_change_seen
            reason: "Nothing moved: what can scroll there is at its end in this direction, or has no more to show than it does."
            via: pointer
            pointer: x 500  y 300  display 0
            window_title: "Untitled - Editor"
            delivered: "2 notch(es)"
            > move 500,300
            > wheel 0,-2
        "#]],
    );
    check(
        plain,
        "scroll",
        json!({ "direction": "down", "amount": 100, "element": "list_box" }),
        expect![[r#"
            effect: confirmed
            evidence: "a value changed to \"80\""
            via: pointer
            pointer: x 554  y 342  display 0
            window_title: "Untitled - Editor"
            delivered: "2 notch(es), the nearest to 100 pixels that the wheel can do"
            > move 554,342
            > wheel 0,2
            < editor/files scrolled to 80
        "#]],
    );
    check(
        |desk| desk.control.change(|world| world.set_toolkit(101, "GTK 4.8")),
        "scroll",
        json!({ "delta_y": 100, "element": "list_box" }),
        expect![[r#"
            effect: confirmed
            evidence: "scroll bar 0 → 100"
            via: action
            pointer: x 554  y 342  display 0
            window_title: "Untitled - Editor"
            delivered: "100 pixels"
            > move 554,342
            > set editor/files/bar "100"
            < editor/files scrolled to 100
        "#]],
    );
    check(
        |desk| desk.control.change(|world| world.set_toolkit(101, "GTK 4.8")),
        "scroll",
        json!({ "delta_y": 1000, "element": "list_box" }),
        expect![[r#"
            effect: confirmed
            evidence: "scroll bar 0 → 240"
            via: action
            pointer: x 554  y 342  display 0
            window_title: "Untitled - Editor"
            delivered: "240 pixels"
            > move 554,342
            > set editor/files/bar "1000"
            < editor/files scrolled to 240
        "#]],
    );
    check(
        plain,
        "scroll",
        json!({ "direction": "down", "x": 100, "y": 510 }),
        expect![[r#"
            not_scrollable: Nothing at (100, 510) scrolls.
              remedy: Scroll in an element that does: find_elements with the role scroll_pane, list, tree, table or document.
            > move 100,510
            > wheel 0,3
        "#]],
    );
    check(
        plain,
        "scroll",
        json!({ "direction": "left", "x": 500, "y": 300 }),
        expect![[r#"
            effect: no_change_seen
            reason: "Nothing moved: what can scroll there is at its end in this direction, or has no more to show than it does."
            via: pointer
            pointer: x 500  y 300  display 0
            window_title: "Untitled - Editor"
            delivered: "3 notch(es)"
            > move 500,300
            > wheel -3,0
            < editor/files scrolled across
        "#]],
    );
    check(
        plain,
        "scroll",
        json!({ "direction": "down", "delta_y": 5, "x": 500, "y": 300 }),
        expect![[r#"
        invalid_argument: delta_x and delta_y are one way to say how far, direction another: pass one of them.
    "#]],
    );
    check(
        plain,
        "scroll",
        json!({ "delta_x": 0 }),
        expect![[r#"
        invalid_argument: (0, 0) is no distance to scroll.
    "#]],
    );
}
