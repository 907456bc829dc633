//! Sessions: what they own, and that it ends with them.

use crate::desk::Desk;
use deskhand_core::{Call, Code};
use serde_json::json;
use std::time::Duration;

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let call = Call::with_timeout(Duration::from_secs(10));
    call.until(what, || Ok(done().then_some(()))).unwrap();
}

#[test]
fn tc_create_session_owns_what_its_calls_leave_behind() {
    let desk = Desk::new();
    let own = desk.data("get_session", json!({}));
    assert_eq!((&own["name"], &own["held"]), (&json!("sessions/own"), &json!([])));
    let made = desk.data("create_session", json!({ "description": "order", "variables": { "n": 1 } }));
    assert_eq!(
        (&made["session"], &made["name"], &made["ttl_ms"]),
        (&json!("s1"), &json!("sessions/s1"), &json!(900_000))
    );
    desk.data("hold_key", json!({ "key": "shift", "session": "s1" }));
    desk.data("left_mouse_down", json!({ "x": 5, "y": 50, "session": "sessions/s1" }));
    desk.data("open_application", json!({ "application": "Calculator", "session": "s1" }));
    desk.data("hold_key", json!({ "key": "ctrl" }));
    let observation =
        desk.data("create_observation", json!({ "type": "window", "session": "s1" }))["name"].clone();
    let session = desk.data("get_session", json!({ "name": "sessions/s1" }));
    assert_eq!(session["held"], json!(["shift", "left button"]), "{session}");
    assert_eq!(session["applications"], json!(["applications/102"]));
    assert_eq!(session["variables"], json!({ "n": 1 }));
    assert_eq!(session["observations"], json!([observation]));
    // Each has its own.
    assert_eq!(desk.data("list_applications", json!({}))["applications"], json!([]));
    let theirs = desk.data("list_applications", json!({ "session": "s1" }));
    assert_eq!(theirs["applications"][0]["pid"], 102);
    assert_eq!(desk.data("get_session", json!({}))["held"], json!(["ctrl"]));
    let all = desk.data("list_sessions", json!({ "page_size": 1 }));
    assert_eq!(all["sessions"][0]["session"], "own");
    let rest = desk.data("list_sessions", json!({ "page_token": all["next_page_token"] }));
    assert_eq!(
        (&rest["sessions"][0]["session"], &rest["sessions"][0]["variables"]),
        (&json!("s1"), &json!(["n"]))
    );
    // And ends with it: the applications go on.
    let ended = desk.data("delete_session", json!({ "session": "s1" }));
    assert_eq!(ended["released"], json!(["left button", "shift"]), "{ended}");
    assert_eq!((&ended["variables"], &ended["applications"]), (&json!(1), &json!(1)));
    assert_eq!(ended["observations"], 1);
    assert_eq!(desk.error("get_observation", json!({ "name": observation })).code, Code::ObservationNotFound);
    assert_eq!(desk.control.held().len(), 1);
    assert!(desk.control.window(8).is_some());
    let error = desk.error("hold_key", json!({ "key": "alt", "session": "s1" }));
    assert_eq!(error.code, Code::SessionNotFound);
    assert!(
        desk.error("delete_session", json!({ "session": "own" })).message.contains("ends with the client")
    );
}

#[test]
fn a_session_that_nobody_uses_expires_and_lets_go() {
    let desk = Desk::new();
    desk.data("create_session", json!({ "ttl_ms": 60_000 }));
    desk.data("create_session", json!({ "ttl_ms": 300 }));
    desk.data("hold_key", json!({ "key": "shift", "session": "s2" }));
    // While it is used it lasts, however long the call takes.
    let steps = json!([{ "wait": { "window_title": "Rain" }, "optional": true }]);
    let ran = desk.data("run_steps", json!({ "steps": steps, "session": "s2", "timeout_ms": 700 }));
    assert_eq!(ran["steps"][0]["error"]["code"], "timeout", "{ran}");
    assert_eq!(desk.control.held().len(), 1, "it was used all the while");
    until("the session to expire", || desk.control.held().is_empty());
    assert_eq!(desk.error("get_session", json!({ "session": "s2" })).code, Code::SessionNotFound);
    assert_eq!(desk.data("get_session", json!({ "session": "s1" }))["session"], "s1");
}

#[test]
fn tc_get_session_is_for_its_client_and_it_ends_with_them() {
    let desk = Desk::new();
    let other = desk.server.client("other");
    desk.data("create_session", json!({}));
    let theirs =
        desk.server.run(desk.prepare_for(&other, "hold_key", json!({ "key": "alt", "session": "s1" })));
    assert_eq!(theirs.err().map(|error| error.code), Some(Code::SessionNotFound));
    desk.server.run(desk.prepare_for(&other, "create_session", json!({}))).unwrap();
    desk.server.run(desk.prepare_for(&other, "hold_key", json!({ "key": "alt", "session": "s2" }))).unwrap();
    desk.data("hold_key", json!({ "key": "shift", "session": "s1" }));
    desk.data("start_recording", json!({ "session": "s1" }));
    drop(other);
    assert_eq!(desk.control.held().len(), 1, "only the other client's key is up");
    let Desk { client, control, server } = desk;
    drop(client);
    assert!(control.held().is_empty());
    drop(server);
}

#[test]
fn tc_delete_session_lets_go_also_of_what_its_last_call_presses() {
    let desk = Desk::new();
    desk.data("create_session", json!({}));
    let hold = |arguments| json!({ "tool": "hold_key", "arguments": arguments });
    let steps = json!([hold(json!({ "key": "shift" })), hold(json!({ "key": "alt", "session": "own" }))]);
    desk.data("run_steps", json!({ "steps": steps, "session": "s1" }));
    assert_eq!(desk.data("get_session", json!({ "session": "s1" }))["held"], json!(["shift"]));
    assert_eq!(desk.data("get_session", json!({}))["held"], json!(["alt"]));
    // One that ends during a call of its own lets go of what that call still presses.
    let steps = json!([{ "tool": "delete_session", "arguments": { "session": "s1" } }, hold(json!({ "key": "ctrl" }))]);
    desk.data("run_steps", json!({ "steps": steps, "session": "s1" }));
    assert_eq!(desk.control.held().len(), 1, "{:?}", desk.control.held());
}

#[test]
fn tc_list_sessions_gives_the_clients_own_first_and_then_page_by_page() {
    let desk = Desk::new();
    (0..3).for_each(|_| drop(desk.data("create_session", json!({}))));
    let (mut names, mut token) = (Vec::new(), None);
    loop {
        let page = desk.data("list_sessions", json!({ "page_size": 2, "page_token": token }));
        names.extend(page["sessions"].as_array().unwrap().iter().map(|one| one["name"].clone()));
        token = page.get("next_page_token").cloned();
        if token.is_none() {
            break;
        }
    }
    assert_eq!(json!(names), json!(["sessions/own", "sessions/s1", "sessions/s2", "sessions/s3"]));
}
