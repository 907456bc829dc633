//! Applications: what runs, starting, activating, quitting.

use crate::desk::{Desk, check, plain};
use expect_test::expect;
use serde_json::json;

#[test]
fn starting() {
    check(
        plain,
        "launch_app",
        json!({ "application": "Viewer", "arguments": ["lake.png"] }),
        expect![[r#"
        effect: confirmed
        evidence: "the window 20 \"Viewer\" of Viewer opened"
        name: Viewer
        id: org.example.Viewer
        pid: 201
        window:
          id: 20
          name: applications/201/windows/20
          title: Viewer
          application: Viewer
          pid: 201
          bounds: x 200  y 200  width 400  height 300
          state: normal
          focused: true
          display: 0
        > launch Viewer lake.png
    "#]],
    );
    check(
        plain,
        "launch_app",
        json!({ "name": "org.example.Calculator.desktop" }),
        expect![[r#"
        effect: confirmed
        evidence: "the window 20 \"Calculator\" of Calculator opened"
        name: Calculator
        id: org.example.Calculator
        pid: 201
        window:
          id: 20
          name: applications/201/windows/20
          title: Calculator
          application: Calculator
          pid: 201
          bounds: x 840  y 140  width 260  height 344
          state: normal
          focused: true
          display: 0
        > launch org.example.Calculator.desktop
    "#]],
    );
    check(
        plain,
        "launch_app",
        json!({ "application": "Editor" }),
        expect![[r#"
        effect: confirmed
        evidence: "the window 20 \"Untitled - Editor\" of Editor opened"
        name: Editor
        id: org.example.Editor
        pid: 101
        window:
          id: 20
          name: applications/101/windows/20
          title: "Untitled - Editor"
          application: Editor
          pid: 101
          bounds: x 80  y 80  width 640  height 480
          state: normal
          focused: true
          display: 0
        > launch Editor
    "#]],
    );
    check(
        plain,
        "launch_app",
        json!({ "executable": "ghost", "wait_ms": 200 }),
        expect![[r#"
        effect: no_change_seen
        reason: "Its process has ended without a window. It may have handed over to a running instance: see list_windows."
        name: ghost
        pid: 201
        > launch ghost
    "#]],
    );
    check(
        plain,
        "launch_app",
        json!({ "application": "Viewer", "wait_ms": 0 }),
        expect![[r#"
        effect: unverified
        reason: "wait_ms is 0, so no window was waited for."
        name: Viewer
        id: org.example.Viewer
        pid: 201
        > launch Viewer
    "#]],
    );
    check(
        |desk| desk.control.change(|world| world.delay_launches(std::time::Duration::from_secs(60))),
        "launch_app",
        json!({ "application": "Viewer", "wait_ms": 30 }),
        expect![[r#"
            effect: unverified
            reason: "It runs, and opened no window within 30 ms."
            name: Viewer
            id: org.example.Viewer
            pid: 201
            > launch Viewer
        "#]],
    );
    check(
        plain,
        "launch_app",
        json!({ "application": "sh" }),
        expect![[r#"
        denied_by_policy: sh is an interpreter.
          remedy: Start Deskhand with --allow shell to start interpreters.
    "#]],
    );
    check(
        plain,
        "open_application",
        json!({ "name": "Calculator" }),
        expect![[r#"
        effect: confirmed
        evidence: "keyboard focus \"Untitled - Editor\" → \"Calculator\""
        name: Calculator
        id: org.example.Calculator
        pid: 102
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
        "open_application",
        json!({ "application": "Viewer" }),
        expect![[r#"
        effect: confirmed
        evidence: "the window 20 \"Viewer\" of Viewer opened"
        name: Viewer
        id: org.example.Viewer
        pid: 201
        window:
          id: 20
          name: applications/201/windows/20
          title: Viewer
          application: Viewer
          pid: 201
          bounds: x 200  y 200  width 400  height 300
          state: normal
          focused: true
          display: 0
        > launch Viewer
    "#]],
    );
}

#[test]
fn what_runs() {
    check(
        plain,
        "list_running_apps",
        json!({}),
        expect![[r#"
        applications:
          - name Editor  resource applications/101  id org.example.Editor  pid 101  windows 2  active true
          - name Calculator  resource applications/102  id org.example.Calculator  pid 102  windows 1  active false
    "#]],
    );
    check(
        plain,
        "get_application",
        json!({ "name": "applications/101" }),
        expect![[r#"
        name: Editor
        resource: applications/101
        id: org.example.Editor
        pid: 101
        windows: 2
        active: true
    "#]],
    );
    check(
        plain,
        "list_applications",
        json!({}),
        expect![[r#"
        applications:
    "#]],
    );
    let desk = Desk::new();
    desk.data("open_application", json!({ "application": "Calculator" }));
    desk.check("list_applications", json!({}), expect![[r#"
        applications:
          - name Calculator  resource applications/102  id org.example.Calculator  pid 102  windows 1  active true
    "#]]);
    desk.check(
        "delete_application",
        json!({ "application": "applications/102" }),
        expect![[r#"
        effect: confirmed
        evidence: "0 application(s) tracked, 1 before"
    "#]],
    );
    desk.check(
        "list_applications",
        json!({}),
        expect![[r#"
        applications:
    "#]],
    );
}

#[test]
fn activating_and_quitting() {
    check(
        plain,
        "activate_app",
        json!({ "application": "Calculator" }),
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
        "quit_app",
        json!({ "application": "Calculator" }),
        expect![[r#"
        effect: confirmed
        evidence: "the process 102 (Calculator) has ended"
        > close 8
    "#]],
    );
    check(
        plain,
        "quit_app",
        json!({ "application": "Calculator", "force": true }),
        expect![[r#"
        effect: confirmed
        evidence: "the process 102 (Calculator) has ended"
        > kill 102
    "#]],
    );
    check(
        |desk| desk.control.change(|world| world.make_stubborn(102)),
        "quit_app",
        json!({ "application": "Calculator" }),
        expect![[r#"
            effect: no_change_seen
            reason: "Calculator is still running 3000 ms after it was asked to quit; force: true would end it."
            > close 8
        "#]],
    );
    let desk = Desk::new();
    desk.control.change(|world| world.ask_before_closing(true));
    desk.data("type_text", json!({ "text": "unsaved" }));
    desk.check(
        "quit_app",
        json!({ "application": "Editor" }),
        expect![[r#"
        effect: no_change_seen
        reason: "Editor is still running and probably asks something: 20 \"Save changes?\" of Editor."
        > close 7
        > close 9
    "#]],
    );
}
