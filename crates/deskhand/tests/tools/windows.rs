//! Windows: what is open, and arranging it.

use crate::desk::{Desk, check, plain};
use expect_test::expect;
use serde_json::json;

#[test]
fn listing() {
    check(
        plain,
        "list_windows",
        json!({}),
        expect![[r#"
        windows:
          - id 7  name applications/101/windows/7  title "Untitled - Editor"  application Editor  pid 101  bounds {x 40  y 40  width 640  height 480}  state normal  focused true  display 0
          - id 8  name applications/102/windows/8  title Calculator  application Calculator  pid 102  bounds {x 800  y 100  width 260  height 344}  state normal  focused false  display 0
          - id 9  name applications/101/windows/9  title "Tips - Editor"  application Editor  pid 101  bounds {x -900  y 100  width 500  height 400}  state normal  focused false  display 1
    "#]],
    );
    check(
        plain,
        "list_windows",
        json!({ "application": "Editor", "page_size": 1 }),
        expect![[r#"
        windows:
          - id 7  name applications/101/windows/7  title "Untitled - Editor"  application Editor  pid 101  bounds {x 40  y 40  width 640  height 480}  state normal  focused true  display 0
        next_page_token: p5a5b
    "#]],
    );
    check(
        plain,
        "list_windows",
        json!({ "application": "Nothing" }),
        expect![[r#"
        application_not_found: No running application matches "Nothing".
          expected: a name, a desktop entry's id or a pid of a running application
          found: Editor (101); Calculator (102)
          remedy: Start it with launch_app.
    "#]],
    );
    check(
        plain,
        "get_window",
        json!({ "window": "applications/102/windows/8" }),
        expect![[r#"
        id: 8
        name: applications/102/windows/8
        title: Calculator
        application: Calculator
        pid: 102
        bounds: x 800  y 100  width 260  height 344
        state: normal
        focused: false
        display: 0
    "#]],
    );
    check(
        plain,
        "get_window",
        json!({ "window_id": 7 }),
        expect![[r#"
        id: 7
        name: applications/101/windows/7
        title: "Untitled - Editor"
        application: Editor
        pid: 101
        bounds: x 40  y 40  width 640  height 480
        state: normal
        focused: true
        display: 0
    "#]],
    );
    check(
        plain,
        "get_window",
        json!({ "name": "tips" }),
        expect![[r#"
        id: 9
        name: applications/101/windows/9
        title: "Tips - Editor"
        application: Editor
        pid: 101
        bounds: x -900  y 100  width 500  height 400
        state: normal
        focused: false
        display: 1
    "#]],
    );
}

#[test]
fn changes_are_read_back() {
    check(
        plain,
        "focus_window",
        json!({ "window": "Calculator" }),
        expect![[r#"
        effect: confirmed
        evidence: "keyboard focus \"Untitled - Editor\" → \"Calculator\""
        window:
          id: 8
          name: applications/102/windows/8
          title: Calculator
          application: Calculator
          pid: 102
          bounds: x 800  y 100  width 260  height 344
          state: normal
          focused: true
          display: 0
        > focus 8
    "#]],
    );
    check(
        plain,
        "activate_window",
        json!({ "window": "7" }),
        expect![[r#"
        effect: confirmed
        evidence: "\"Untitled - Editor\" had the keyboard already"
        window:
          id: 7
          name: applications/101/windows/7
          title: "Untitled - Editor"
          application: Editor
          pid: 101
          bounds: x 40  y 40  width 640  height 480
          state: normal
          focused: true
          display: 0
    "#]],
    );
    check(
        plain,
        "set_window",
        json!({ "window": "8", "x": 700, "y": 200, "width": 300 }),
        expect![[r#"
        effect: confirmed
        evidence: "260x344 at (800, 100) → 300x344 at (700, 200)"
        window:
          id: 8
          name: applications/102/windows/8
          title: Calculator
          application: Calculator
          pid: 102
          bounds: x 700  y 200  width 300  height 344
          state: normal
          focused: false
          display: 0
        > place 8 300x344 at 700,200
    "#]],
    );
    check(
        plain,
        "set_window",
        json!({ "window": "8", "display": 1 }),
        expect![[r#"
        effect: confirmed
        evidence: "260x344 at (800, 100) → 260x344 at (-512, 100)"
        window:
          id: 8
          name: applications/102/windows/8
          title: Calculator
          application: Calculator
          pid: 102
          bounds: x -512  y 100  width 260  height 344
          state: normal
          focused: false
          display: 1
        > place 8 at -512,100
    "#]],
    );
    check(
        plain,
        "set_window",
        json!({ "window": "8", "state": "maximized" }),
        expect![[r#"
        effect: confirmed
        evidence: "normal → maximized"
        window:
          id: 8
          name: applications/102/windows/8
          title: Calculator
          application: Calculator
          pid: 102
          bounds: x 0  y 32  width 1280  height 768
          state: maximized
          focused: false
          display: 0
        > state 8 maximized
    "#]],
    );
    check(
        plain,
        "set_window",
        json!({ "window": "8", "state": "fullscreen" }),
        expect![[r#"
        effect: confirmed
        evidence: "normal → fullscreen"
        window:
          id: 8
          name: applications/102/windows/8
          title: Calculator
          application: Calculator
          pid: 102
          bounds: x 0  y 0  width 1280  height 800
          state: fullscreen
          focused: false
          display: 0
        > state 8 fullscreen
    "#]],
    );
    check(
        plain,
        "set_window",
        json!({ "window": "8" }),
        expect![[r#"
        missing_required_parameter: Nothing was asked of the window.
          expected: at least one of x and y, width, height, state, display
    "#]],
    );
    check(
        plain,
        "set_window",
        json!({ "window": "8", "state": "closed", "x": 5 }),
        expect![[r#"
        invalid_argument: A window that is closed has no place or size: pass state closed alone.
    "#]],
    );
    check(
        plain,
        "move_window",
        json!({ "window": "8", "x": 10, "y": 20, "display": 1 }),
        expect![[r#"
        effect: confirmed
        evidence: "260x344 at (800, 100) → 260x344 at (-1014, 20)"
        window:
          id: 8
          name: applications/102/windows/8
          title: Calculator
          application: Calculator
          pid: 102
          bounds: x -1014  y 20  width 260  height 344
          state: normal
          focused: false
          display: 1
        > place 8 at -1014,20
    "#]],
    );
    check(
        plain,
        "resize_window",
        json!({ "window": "8", "width": 10, "height": 10 }),
        expect![[r#"
        effect: confirmed
        evidence: "260x344 at (800, 100) → 100x60 at (800, 100)"
        reason: "10x10 at (800, 100) was asked for; the window manager or the application decided otherwise."
        window:
          id: 8
          name: applications/102/windows/8
          title: Calculator
          application: Calculator
          pid: 102
          bounds: x 800  y 100  width 100  height 60
          state: normal
          focused: false
          display: 0
        > place 8 10x10
    "#]],
    );
    check(
        plain,
        "minimize_window",
        json!({ "window": "7" }),
        expect![[r#"
        effect: confirmed
        evidence: "normal → minimized"
        window:
          id: 7
          name: applications/101/windows/7
          title: "Untitled - Editor"
          application: Editor
          pid: 101
          bounds: x 40  y 40  width 640  height 480
          state: minimized
          focused: false
          display: 0
        > state 7 minimized
    "#]],
    );
    check(
        plain,
        "restore_window",
        json!({ "window": "7" }),
        expect![[r#"
        effect: confirmed
        evidence: "it was normal already"
        window:
          id: 7
          name: applications/101/windows/7
          title: "Untitled - Editor"
          application: Editor
          pid: 101
          bounds: x 40  y 40  width 640  height 480
          state: normal
          focused: true
          display: 0
    "#]],
    );
    check(
        |desk| drop(desk.data("minimize_window", json!({ "window": 8 }))),
        "restore_window",
        json!({ "window": "8" }),
        expect![[r#"
            effect: confirmed
            evidence: "minimized → normal"
            window:
              id: 8
              name: applications/102/windows/8
              title: Calculator
              application: Calculator
              pid: 102
              bounds: x 800  y 100  width 260  height 344
              state: normal
              focused: true
              display: 0
            > state 8 normal
        "#]],
    );
    check(
        plain,
        "close_window",
        json!({ "window": "8" }),
        expect![[r#"
        effect: confirmed
        evidence: "the window \"Calculator\" is gone"
        > close 8
    "#]],
    );
}

#[test]
fn what_the_window_manager_refuses_is_told() {
    check(
        |desk| desk.control.change(|world| world.refuse_window_requests(true)),
        "move_window",
        json!({ "window": "8", "x": 10, "y": 20 }),
        expect![[r#"
            effect: no_change_seen
            reason: "The window stays 260x344 at (800, 100): 260x344 at (10, 20) was asked for; the window manager or the application decided otherwise."
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
            > place 8 at 10,20
        "#]],
    );
    check(
        |desk| desk.control.change(|world| world.refuse_window_requests(true)),
        "minimize_window",
        json!({ "window": "8" }),
        expect![[r#"
            effect: no_change_seen
            reason: "The window is normal and not minimized: the window manager does not do it for this window."
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
            > state 8 minimized
        "#]],
    );
}

#[test]
fn closing_a_window_with_unsaved_work_says_that_it_asks() {
    let desk = Desk::new();
    desk.control.change(|world| world.ask_before_closing(true));
    desk.data("type_text", json!({ "text": "unsaved" }));
    desk.check("close_window", json!({ "window": "Untitled" }), expect![[r#"
        effect: no_change_seen
        reason: "The window is still open: its application opened another one, which probably asks something: 20 \"Save changes?\" of Editor."
        window:
          id: 7
          name: applications/101/windows/7
          title: "Untitled - Editor"
          application: Editor
          pid: 101
          bounds: x 40  y 40  width 640  height 480
          state: normal
          focused: false
          display: 0
        > close 7
    "#]]);
}
