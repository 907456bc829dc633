//! The order of acting: one at a time, in the order of arrival, and nothing stays pressed.

use crate::desk::{DEFECT, Desk, quiet_defects};
use deskhand_core::Rect;
use deskhand_core::input::{Button, Held};
use serde_json::json;
use std::time::{Duration, Instant};

/// Waits for what happens on another thread.
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let call = deskhand_core::Call::with_timeout(Duration::from_secs(5));
    call.until(what, || Ok(is().then_some(()))).unwrap();
}

#[test]
fn a_read_follows_its_own_clients_change() {
    let desk = Desk::new();
    let change = desk.prepare("type_text", json!({ "text": "Hello", "delay_ms": 5 }));
    let read = desk.prepare("get_ui_element_value", json!({ "element": "text_area" }));
    std::thread::scope(|scope| {
        let read = scope.spawn(|| desk.server.run(read));
        scope.spawn(|| desk.server.run(change)).join().unwrap().unwrap();
        let text = crate::desk::print(&read.join().unwrap());
        assert!(text.contains("value: Hello"), "{text}");
    });
}

#[test]
fn a_read_of_another_client_does_not_wait() {
    let desk = Desk::new();
    let other = desk.server.client("other");
    let _change = desk.prepare("type_text", json!({ "text": "Hello" }));
    let read = desk.prepare_for(&other, "cursor_position", json!({ "timeout_ms": 1000 }));
    assert!(desk.server.run(read).is_ok());
}

#[test]
fn two_clients_do_not_interleave_and_the_first_to_arrive_is_the_first_to_act() {
    let desk = Desk::new();
    let other = desk.server.client("other");
    let calls: Vec<_> = (0..6)
        .map(|number| {
            let text = number.to_string().repeat(5);
            let client = if number % 2 == 0 { &desk.client } else { &other };
            desk.prepare_for(client, "type_text", json!({ "text": text, "delay_ms": 1 }))
        })
        .collect();
    std::thread::scope(|scope| {
        for call in calls.into_iter().rev() {
            scope.spawn(|| desk.server.run(call).unwrap());
        }
    });
    assert_eq!(desk.control.value("editor/text"), "000001111122222333334444455555");
}

#[test]
fn a_wait_lets_others_act() {
    let desk = Desk::new();
    let other = desk.server.client("other");
    desk.control.change(|world| world.delay_launches(Duration::from_secs(60)));
    let launch = desk.prepare("launch_app", json!({ "application": "Viewer", "wait_ms": 5000 }));
    let cancellation = launch.cancellation();
    std::thread::scope(|scope| {
        let launch = scope.spawn(|| desk.server.run(launch));
        until("starting", || desk.control.log().iter().any(|line| line.starts_with("launch")));
        let click = desk.prepare_for(&other, "click", json!({ "x": 88, "y": 106 }));
        assert!(desk.server.run(click).is_ok());
        cancellation.cancel();
        assert!(launch.join().unwrap().is_err());
    });
}

#[test]
fn what_a_client_holds_is_let_go_of_when_it_goes() {
    let desk = Desk::new();
    let other = desk.server.client("other");
    desk.server.run(desk.prepare_for(&other, "hold_key", json!({ "key": "shift" }))).unwrap();
    desk.server.run(desk.prepare_for(&other, "left_mouse_down", json!({ "x": 88, "y": 106 }))).unwrap();
    assert_eq!(desk.control.held().len(), 2);
    drop(other);
    assert_eq!(desk.control.held(), []);
    assert!(desk.control.log().ends_with(&["up left".to_owned(), "key shift up".to_owned()]));
}

#[test]
fn a_hold_ends_at_its_time_limit() {
    let desk = Desk::new();
    let started = Instant::now();
    desk.data("hold_key", json!({ "key": "ctrl", "duration_ms": 60 }));
    assert_eq!(desk.control.held().len(), 1);
    until("letting go", || desk.control.held().is_empty());
    assert!(Duration::from_millis(60) <= started.elapsed());
}

#[test]
fn a_panic_ends_one_call_and_leaves_nothing_pressed() {
    quiet_defects();
    let desk = Desk::new();
    desk.control.fail_always("windows.settle", || panic!("{DEFECT}"));
    let drag = json!({ "start_x": 480, "start_y": 106, "end_x": 540, "end_y": 106, "modifiers": ["ctrl"] });
    let error = desk.error("drag", drag);
    assert_eq!(error.code, deskhand_core::Code::Internal);
    assert_eq!(desk.control.held(), []);
    desk.control.recover();
    desk.data("click", json!({ "x": 88, "y": 106 }));
}

#[test]
fn a_cancelled_call_leaves_nothing_pressed() {
    let desk = Desk::new();
    let drag = json!({ "start_x": 480, "start_y": 106, "end_x": 540, "end_y": 106, "duration_ms": 9000 });
    let prepared = desk.prepare("drag", drag);
    let cancellation = prepared.cancellation();
    std::thread::scope(|scope| {
        let drag = scope.spawn(|| desk.server.run(prepared));
        until("pressing", || !desk.control.held().is_empty());
        cancellation.cancel();
        assert_eq!(drag.join().unwrap().err().unwrap().code, deskhand_core::Code::Cancelled);
    });
    assert_eq!(desk.control.held(), []);
}

#[test]
fn what_the_person_holds_stays_the_persons() {
    let desk = Desk::new();
    let shift = Held::Key("shift".parse().unwrap());
    desk.control.change(|world| world.person_holds(shift, true));
    desk.data("click", json!({ "x": 88, "y": 106, "modifiers": ["shift"] }));
    assert_eq!(desk.control.held(), [shift]);
    assert!(!desk.control.log().iter().any(|line| line.contains("shift")), "{:?}", desk.control.log());
}

#[test]
fn a_button_that_is_held_drags_over_several_calls() {
    let desk = Desk::new();
    desk.data("left_mouse_down", json!({ "x": 300, "y": 50 }));
    assert_eq!(desk.control.held(), [Held::Button(Button::Left)]);
    desk.data("move_mouse", json!({ "x": 350, "y": 90 }));
    desk.data("left_mouse_up", json!({}));
    assert_eq!(desk.control.window(7).unwrap().bounds, Rect::new(90, 80, 640, 480));
}
