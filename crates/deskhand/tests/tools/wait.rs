//! Waiting.

use crate::desk::{Desk, check, plain};
use deskhand_core::{Code, Error};
use expect_test::expect;
use serde_json::json;
use std::time::Duration;

/// An application that starts may not answer, or have no tree yet; that accessibility is off does not pass.
#[test]
fn what_does_not_answer_yet_is_waited_for() {
    for code in [Code::Timeout, Code::PermissionDenied] {
        let desk = Desk::new();
        desk.control.fail_next("elements.tree", Error::new(code, "It is still starting."));
        assert_eq!(desk.data("wait_for", json!({ "selector": "slider" }))["condition"], "element");
        desk.control.fail_always("elements.tree", move || Error::new(code, "It is still starting."));
        let error = desk.error("wait_for", json!({ "selector": "slider", "timeout_ms": 300 }));
        assert_eq!(error.code, Code::Timeout);
        assert_eq!(error.detail.found, ["It is still starting."], "{error:?}");
        desk.control.recover();
        desk.control.fail_always("elements", || Error::new(Code::PermissionDenied, "Accessibility is off."));
        let error = desk.error("wait_for", json!({ "selector": "slider", "timeout_ms": 10_000 }));
        assert_eq!(error.code, Code::PermissionDenied);
    }
}

#[test]
fn what_is_there_already_is_there() {
    check(
        plain,
        "wait_for",
        json!({ "selector": "slider" }),
        expect![[r#"
        condition: element
        element:
          ref: e1
          role: slider
          name: Zoom
          value: 100
          states: enabled, focusable, visible
          bounds: x 380  y 92  width 200  height 28
          window: 7
          pid: 101
        matches: 1
        waited_ms: …
    "#]],
    );
    check(
        plain,
        "wait_for",
        json!({ "window_title": "calc" }),
        expect![[r#"
        condition: window_title
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
        waited_ms: …
    "#]],
    );
    check(
        plain,
        "wait_for",
        json!({ "selector": "dialog", "gone": true }),
        expect![[r#"
        condition: element
        matches: 0
        waited_ms: …
    "#]],
    );
    check(
        plain,
        "wait_for",
        json!({ "process_ended": 999 }),
        expect![[r#"
        condition: process_ended
        waited_ms: …
    "#]],
    );
    check(
        plain,
        "wait_for",
        json!({ "still_ms": 50 }),
        expect![[r#"
        condition: still
        waited_ms: …
    "#]],
    );
    check(
        plain,
        "wait_for",
        json!({}),
        expect![[r#"
            missing_required_parameter: Nothing says what to wait for.
              expected: at least one of selector, role, title, identifier, text, seen_text, window_title, still_ms, process_ended, notification, clipboard
        "#]],
    );
}

#[test]
fn what_comes_is_seen() {
    check(
        |desk| desk.control.later(Duration::from_millis(30), |world| world.set_name("editor/status", "Done")),
        "wait_for",
        json!({ "text": "done" }),
        expect![[r#"
            condition: element
            element:
              ref: e1
              role: label
              name: Done
              states: enabled, visible
              bounds: x 40  y 492  width 640  height 28
              window: 7
              pid: 101
            matches: 1
            waited_ms: …
        "#]],
    );
    check(
        |desk| desk.control.later(Duration::from_millis(30), |world| world.crash(102)),
        "wait_for",
        json!({ "process_ended": 102 }),
        expect![[r#"
            condition: process_ended
            waited_ms: …
        "#]],
    );
    check(
        |desk| desk.control.later(Duration::from_millis(30), |world| world.close_window(8)),
        "wait_for",
        json!({ "window_title": "Calculator", "gone": true }),
        expect![[r#"
            condition: window_title
            waited_ms: …
        "#]],
    );
    check(
        |desk| {
            desk.control.later(Duration::from_millis(30), |world| {
                world.set_state("editor/undo", deskhand_core::element::State::Enabled, true)
            })
        },
        "wait_for",
        json!({ "selector": "button[name=Undo]:enabled" }),
        expect![[r#"
            condition: element
            element:
              ref: e1
              role: button
              name: Undo
              states: enabled, focusable, visible
              bounds: x 136  y 92  width 80  height 28
              window: 7
              pid: 101
            matches: 1
            waited_ms: …
        "#]],
    );
}

#[test]
fn what_does_not_come_is_told_with_what_was_seen_last() {
    check(
        plain,
        "wait_for",
        json!({ "text": "rain", "timeout_ms": 30 }),
        expect![[r#"
            timeout: This did not come true in time: the text "rain".
              found: 65 elements, 0 of them fit
              remedy: Look at the screen; pass a larger timeout_ms if it only needs longer.
        "#]],
    );
    check(
        plain,
        "wait_for",
        json!({ "selector": "slider", "window": "Nowhere", "timeout": 0.03 }),
        expect![[r#"
            timeout: This did not come true in time: the selector "slider".
              found: No window matches "Nowhere".
              remedy: Look at the screen; pass a larger timeout_ms if it only needs longer.
        "#]],
    );
    check(
        plain,
        "wait_for",
        json!({ "window_title": "Nowhere", "timeout_ms": 30 }),
        expect![[r#"
            timeout: This did not come true in time: the window title "Nowhere".
              found: windows: 7 "Untitled - Editor" of Editor, 8 "Calculator" of Calculator, 9 "Tips - Editor" of Editor
              remedy: Look at the screen; pass a larger timeout_ms if it only needs longer.
        "#]],
    );
    check(
        plain,
        "wait_for",
        json!({ "still_ms": 5000, "timeout_ms": 30 }),
        expect![[r#"
            timeout: This did not come true in time: a still screen.
              remedy: Look at the screen; pass a larger timeout_ms if it only needs longer.
        "#]],
    );
}
