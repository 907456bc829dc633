//! What is not allowed is neither listed nor done.

use crate::desk::Desk;
use deskhand_core::fake::Fake;
use expect_test::expect;
use serde_json::json;

fn with(read_only: bool, allow: &[&str], deny: &[&str]) -> Desk {
    let list = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
    Desk::with(Fake::new(), |config| {
        config.policy.read_only = read_only;
        config.policy.allow = list(allow);
        config.policy.deny = list(deny);
    })
}

#[test]
fn read_only_looks_and_does_not_touch() {
    let desk = with(true, &[], &[]);
    desk.check(
        "cursor_position",
        json!({}),
        expect![[r#"
        x: 640
        y: 400
        display: 0
        window_title: "Untitled - Editor"
        window: 7
    "#]],
    );
    desk.check(
        "click",
        json!({ "x": 1, "y": 1 }),
        expect![[r#"
        denied_by_policy: click would make input, and Deskhand was started with --read-only.
          remedy: Start it without --read-only to allow this.
    "#]],
    );
    desk.check(
        "take_screenshot",
        json!({ "x": 0, "y": 0, "width": 9, "height": 9 }),
        expect![[r#"
            Pass image=i1 with coordinates from this picture. 9x9 of a region, 9x9 at (0, 0).
        "#]],
    );
    desk.check(
        "take_screenshot",
        json!({ "file_path": "/tmp/deskhand-never.png" }),
        expect![[r#"
            denied_by_policy: take_screenshot would write a file, and Deskhand was started with --read-only.
              remedy: Leave out or turn off the parameter that makes it more than looking.
        "#]],
    );
    desk.check(
        "run_steps",
        json!({ "steps": [{ "tool": "cursor_position" }] }),
        expect![[r#"
            ok: true
            succeeded: 1
            total: 1
            steps:
              - tool cursor_position  ok true  result {x 640  y 400  display 0  window_title "Untitled - Editor"  window 7}  duration_ms …
        "#]],
    );
    desk.check(
        "launch_app",
        json!({ "application": "Viewer" }),
        expect![[r#"
        denied_by_policy: launch_app would change the desktop, and Deskhand was started with --read-only.
          remedy: Start it without --read-only to allow this.
    "#]],
    );
    assert!(desk.control.log().is_empty());
}

#[test]
fn tools_groups_and_effects_can_be_denied() {
    let desk = with(false, &[], &["click", "keyboard", "change"]);
    desk.check(
        "click",
        json!({ "x": 1, "y": 1 }),
        expect![[r#"
        denied_by_policy: click is off: Deskhand was started with --deny click.
          remedy: Start it without that option to allow this.
    "#]],
    );
    desk.check(
        "double_click",
        json!({ "x": 1, "y": 1 }),
        expect![[r#"
        denied_by_policy: click is off: Deskhand was started with --deny click.
          remedy: Start it without that option to allow this.
    "#]],
    );
    desk.check(
        "press_key",
        json!({ "key": "x" }),
        expect![[r#"
        denied_by_policy: press_key is off: Deskhand was started with --deny keyboard.
          remedy: Start it without that option to allow this.
    "#]],
    );
    desk.check(
        "close_window",
        json!({ "window": 8 }),
        expect![[r#"
        denied_by_policy: close_window is off: Deskhand was started with --deny change.
          remedy: Start it without that option to allow this.
    "#]],
    );
    desk.check(
        "run_steps",
        json!({ "steps": [{ "tool": "press_key", "arguments": { "key": "x" } }] }),
        expect![[r#"
            ok: false
            succeeded: 0
            total: 1
            stopped_at: steps[0]
            steps:
              - tool press_key  ok false  error {code denied_by_policy  message "press_key is off: Deskhand was started with --deny keyboard."  detail {remedy "Start it without that option to allow this."}  retry false}  duration_ms …
        "#]],
    );
    assert!(desk.control.log().is_empty());
}

#[test]
fn interpreters_need_leave() {
    let desk = with(false, &["shell"], &[]);
    desk.check(
        "launch_app",
        json!({ "application": "sh", "wait_ms": 0 }),
        expect![[r#"
        effect: unverified
        reason: "wait_ms is 0, so no window was waited for."
        name: sh
        pid: 201
        > launch sh
    "#]],
    );
}

#[test]
fn more_tools_are_told_in_short_and_without_what_is_denied() {
    let desk = with(false, &[], &["set_mute"]);
    desk.check("enable_tools", json!({ "groups": ["audio"] }), expect![[r#"
        tools:
          - call get_volume(output?)  description "Tell how loud the default audio output, or another one, is."
          - call "set_volume(volume, output?)"  description "Set how loud the default audio output, or another one, is. What is muted stays muted."
          - call get_mute_status(output?)  description "Tell whether the default audio output, or another one, is muted."
          - call "list_audio_outputs(page_size?, page_token?)"  description "List the audio outputs, with their volumes and which one is the default."
          - call set_audio_output(output)  description "Make an audio output the default one: applications that choose none play on it."
    "#]]);
    desk.check("enable_tools", json!({ "groups": ["everything"] }), expect![[r#"
        invalid_argument: The arguments do not fit: groups[0] has to be one of pointer, keyboard, screen, elements, observations, windows, applications, menus, status_items, audio, files, scripting, system, clipboard, notifications, steps, sessions, not the string "everything".
          expected: groups: an array of one of pointer, keyboard, screen, elements, observations, windows, applications, menus, status_items, audio, files, scripting, system, clipboard, notifications, steps, sessions
    "#]]);
}
