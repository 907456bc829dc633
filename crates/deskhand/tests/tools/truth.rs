//! A reply tells what is true: of disabled, covered, moved, closed, recycled and ignored things.

use crate::desk::{Desk, check, plain};
use deskhand_core::Rect;
use expect_test::expect;
use serde_json::json;

#[test]
fn a_disabled_button_is_not_clicked() {
    check(
        plain,
        "click",
        json!({ "element": "button[name=\"Undo\"]" }),
        expect![[r#"
        element_not_actionable: e1 button "Undo" is disabled.
          remedy: Wait until it is enabled (wait_for with :enabled), or do first what enables it.
    "#]],
    );
    check(
        plain,
        "click_ui_element",
        json!({ "element": "button[name=\"Undo\"]" }),
        expect![[r#"
        element_not_actionable: e1 button "Undo" is disabled.
          remedy: Wait until it is enabled (wait_for with :enabled), or do first what enables it.
    "#]],
    );
    check(
        plain,
        "perform_element_action",
        json!({ "element": "button[name=\"Undo\"]", "action": "click" }),
        expect![[r#"
            element_not_actionable: e1 button "Undo" is disabled.
              remedy: Wait until it is enabled (wait_for with :enabled), or do first what enables it.
        "#]],
    );
}

#[test]
fn a_covered_element_is_clicked_by_its_action_only() {
    let cover = |desk: &Desk| {
        desk.control.change(|world| {
            world.place_window(8, Rect::new(40, 40, 300, 344));
            world.raise_window(8);
        })
    };
    check(
        cover,
        "click",
        json!({ "element": "save-button" }),
        expect![[r#"
        element_not_actionable: e1 button "Save" is covered by the window "Calculator".
          remedy: Bring its window to the front with focus_window first.
    "#]],
    );
    check(
        cover,
        "click_ui_element",
        json!({ "element": "save-button" }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            via: action
            target: "e1 button \"Save\""
            window_title: "Untitled - Editor"
            > perform editor/save click
        "#]],
    );
    let menu = |desk: &Desk| drop(desk.data("click_ui_element", json!({ "element": "menu" })));
    check(
        menu,
        "click",
        json!({ "element": "save-button" }),
        expect![[r#"
        element_not_actionable: e2 button "Save" is covered at its middle by menu_item "New".
          remedy: Close or move what covers it, or use click_ui_element, which uses its own action.
    "#]],
    );
}

#[test]
fn an_element_of_a_closed_window_is_stale() {
    let desk = Desk::new();
    let name = desk.find("button[name=Close]");
    desk.control.change(|world| world.close_window(9));
    desk.check(
        "click",
        json!({ "element": name }),
        expect![[r#"
            element_stale: e1 (button "Close") is gone, and so is its window or application.
              system: The element is gone.
              remedy: Look at what is there now: list_windows, get_ui_elements.
        "#]],
    );
    desk.control.change(|world| world.crash(102));
    desk.check(
        "click_ui_element",
        json!({ "element": "e999" }),
        expect![[r#"
        element_stale: No element is known as e999 here.
          remedy: Refs come from get_ui_elements and find_elements of this server process: read again.
    "#]],
    );
}

#[test]
fn an_element_that_was_rebuilt_is_found_again() {
    let desk = Desk::new();
    let name = desk.find("button[name=Save]");
    desk.control.change(|world| drop(world.recreate("editor/save")));
    desk.check(
        "click_ui_element",
        json!({ "element": name }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            reason: "e1 had been rebuilt by its application and was found again by role and name"
            via: action
            target: "e1 button \"Save\""
            window_title: "Untitled - Editor"
            > perform editor/save#2 click
        "#]],
    );
    desk.check(
        "get_element",
        json!({ "element": name }),
        expect![[r#"
        ref: e1
        role: button
        name: Save
        description: "Save the document"
        identifier: save-button
        states: enabled, focusable, visible
        bounds: x 48  y 92  width 80  height 28
        actions: click
        window: 7
        pid: 101
    "#]],
    );
}

#[test]
fn an_element_that_is_gone_is_answered_with_what_is_like_it() {
    let desk = Desk::new();
    let name = desk.find("check_box[name=\"Wrap lines\"]");
    desk.control.change(|world| world.remove("editor/wrap"));
    desk.check(
        "click_ui_element",
        json!({ "element": name }),
        expect![[r#"
        element_stale: e1 (check_box "Wrap lines") is gone.
          expected: check_box "Wrap lines"
          remedy: Read the elements again and use a ref of that reading.
    "#]],
    );
}

#[test]
fn a_pointer_that_is_kept_elsewhere_does_not_click() {
    let confined =
        |desk: &Desk| desk.control.change(|world| world.confine_pointer(Some(Rect::new(0, 0, 50, 50))));
    check(
        confined,
        "click",
        json!({ "x": 90, "y": 107 }),
        expect![[r#"
        target_changed: The pointer was put to (90, 107) but is at (49, 49): something confines or moves it.
          expected: (90, 107)
          found: (49, 49)
          remedy: Look at the screen; the application that has the pointer may have to let go of it first.
        > move 90,107
    "#]],
    );
    check(
        confined,
        "left_mouse_down",
        json!({ "x": 90, "y": 107 }),
        expect![[r#"
        target_changed: The pointer was put to (90, 107) but is at (49, 49): something confines or moves it.
          expected: (90, 107)
          found: (49, 49)
          remedy: Look at the screen; the application that has the pointer may have to let go of it first.
        > move 90,107
    "#]],
    );
}

#[test]
fn a_list_that_recycles_its_rows_is_not_clicked_on_the_wrong_one() {
    let desk = Desk::new();
    let name = desk.find("list_item[name=\"File 2\"]");
    desk.control.change(|world| world.reverse("editor/recent"));
    desk.check("click_ui_element", json!({ "element": name }), expect![[r#"
        target_changed: e1 is no longer what was shown.
          expected: list_item "File 2"
          found: e1 list_item "File 19"
          remedy: Read the elements again; if it is the right one still, repeat the call: the ref means what it shows now.
    "#]]);
}

#[test]
fn a_minimized_window_has_no_points_and_its_elements_no_place() {
    let minimized = |desk: &Desk| drop(desk.data("minimize_window", json!({ "window": 7 })));
    check(
        minimized,
        "click",
        json!({ "x": 48, "y": 66, "window": 7 }),
        expect![[r#"
        window_minimized: The window "Untitled - Editor" is minimized.
          remedy: Restore it first: focus_window, or set_window with state normal.
    "#]],
    );
    check(
        minimized,
        "click",
        json!({ "element": "save-button" }),
        expect![[r#"
            window_minimized: The window "Untitled - Editor" is minimized.
              remedy: Restore it first: focus_window, or set_window with state normal.
        "#]],
    );
    check(
        minimized,
        "click_ui_element",
        json!({ "element": "save-button" }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            via: action
            target: "e1 button \"Save\""
            window_title: "Untitled - Editor"
            > perform editor/save click
        "#]],
    );
    check(
        minimized,
        "take_screenshot",
        json!({ "window": 7 }),
        expect![[r#"
        window_minimized: The window "Untitled - Editor" is minimized.
          remedy: Restore it first: focus_window, or set_window with state normal.
    "#]],
    );
    check(
        minimized,
        "type_text",
        json!({ "text": "Hi", "element": "text_area" }),
        expect![[r#"
        effect: confirmed
        evidence: "reads back exactly, 2 characters at the caret"
        target: "e1 text_area \"Document\""
        window_title: "Untitled - Editor"
        characters: 2
        > focus 7
        > type "Hi"
        < editor/text got "Hi"
    "#]],
    );
}

#[test]
fn coordinates_of_a_picture_are_refused_when_what_it_showed_has_gone() {
    let desk = Desk::new();
    desk.check("take_screenshot", json!({ "max_width": 640 }), expect![[r#"
        Scaled 0.50: pass image=i1 with coordinates from this picture. 640x400 of display 0, 1280x800 at (0, 0).
    "#]]);
    desk.check(
        "click",
        json!({ "image": "i1", "x": 44, "y": 53 }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            pointer: x 89  y 107  display 0
            window_title: "Untitled - Editor"
            > move 89,107
            > down left
            > up left
            < editor/save clicked
        "#]],
    );
    desk.control.change(|world| world.place_window(7, Rect::new(60, 40, 640, 480)));
    desk.check(
        "click",
        json!({ "image": "i1", "x": 44, "y": 53 }),
        expect![[r#"
        target_changed: The window "Untitled - Editor" at (89, 107) has moved since i1 was taken.
          remedy: Take a new screenshot and use coordinates from that one.
    "#]],
    );
    desk.control.change(|world| {
        world.open_window(102, "Advertisement", Rect::new(0, 0, 300, 300), true);
    });
    desk.check(
        "click",
        json!({ "image": "i1", "x": 44, "y": 53 }),
        expect![[r#"
        target_changed: Another window, "Advertisement", lies at (89, 107) since i1 was taken.
          remedy: Take a new screenshot and use coordinates from that one.
    "#]],
    );
    desk.check(
        "click",
        json!({ "image": "i1", "x": 640, "y": 53 }),
        expect![[r#"
        coordinates_out_of_bounds: The point (640, 53) lies outside image i1.
          expected: 0 <= x < 640 and 0 <= y < 400, relative to image i1
    "#]],
    );
}

#[test]
fn an_application_that_hangs_costs_its_own_deadline() {
    let hangs = |desk: &Desk| desk.control.change(|world| world.silence(102, true));
    check(
        hangs,
        "click_ui_element",
        json!({ "element": "button[name=\"7\"]", "window": 8 }),
        expect![[r#"
            timeout: Calculator did not answer, so "button[name=\"7\"]" could not be looked for.
              system: It did not answer.
              remedy: The application hangs or is stopped: wait, or quit it by force (quit_app).
        "#]],
    );
    check(
        hangs,
        "click",
        json!({ "x": 840, "y": 215 }),
        expect![[r#"
        effect: confirmed
        evidence: "pixels changed within 17x17 at (832, 207)"
        pointer: x 840  y 215  display 0
        window_title: Calculator
        > move 840,215
        > down left
        > up left
    "#]],
    );
    check(
        hangs,
        "click_ui_element",
        json!({ "element": "save-button" }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            via: action
            target: "e1 button \"Save\""
            window_title: "Untitled - Editor"
            > perform editor/save click
        "#]],
    );
    check(
        hangs,
        "close_window",
        json!({ "window": 8 }),
        expect![[r#"
        effect: no_change_seen
        reason: "The window is still open: its application was asked to close it and has not done so."
        window:
          id: 8
          name: applications/102/windows/8
          title: Calculator
          application: Calculator
          pid: 102
          bounds: x 800  y 100  width 260  height 344
          state: normal
          focused: false
          display: 0
        > close 8
    "#]],
    );
}

#[test]
fn a_window_that_closes_in_the_middle_of_it_is_told() {
    let desk = Desk::new();
    desk.control.change(|world| world.delay_windows(std::time::Duration::from_millis(900)));
    desk.control.later(std::time::Duration::from_millis(200), |world| world.close_window(8));
    desk.check(
        "set_window",
        json!({ "window": 8, "state": "maximized" }),
        expect![[r#"
        window_not_found: The window 8 closed in the middle of it.
        > state 8 maximized
    "#]],
    );
}
