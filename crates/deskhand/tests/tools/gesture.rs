//! Gestures.

use crate::desk::{Desk, check, plain};
use deskhand_core::fake::Fake;
use deskhand_core::{Code, Error};
use expect_test::expect;
use serde_json::json;

#[test]
fn fingers_go_where_they_should_and_come_up() {
    for (arguments, went) in [
        (
            json!({ "gesture_type": "pinch", "scale": 2, "distance": 80 }),
            "fingers down 340,300 260,300; fingers up 380,300 220,300",
        ),
        (
            json!({ "gesture_type": "pinch", "scale": 0.5, "distance": 80, "rotation": 90 }),
            "fingers down 380,300 220,300; fingers up 300,340 300,260",
        ),
        (
            json!({ "gesture_type": "rotate", "rotation": -90, "fingers": 4 }),
            "fingers down 400,300 300,400 200,300 300,200; fingers up 300,200 400,300 300,400 200,300",
        ),
        (
            json!({ "type": "swipe", "direction": "up", "finger_count": 3, "distance": 100 }),
            "fingers down 240,350 300,350 360,350; fingers up 240,250 300,250 360,250",
        ),
        (json!({ "type": "tap" }), "fingers down 300,300; fingers up 300,300"),
        (
            json!({ "type": "double_tap" }),
            "fingers down 300,300; fingers up 300,300; fingers down 300,300; fingers up 300,300",
        ),
        (json!({ "type": "long_press" }), "fingers down 300,300; fingers up 300,300"),
    ] {
        let desk = Desk::new();
        let mut all = json!({ "x": 300, "y": 300, "duration_ms": 20 });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        desk.data("gesture", all);
        assert_eq!(desk.control.log().join("; "), went, "{arguments}");
    }
}

#[test]
fn what_a_gesture_answers() {
    check(
        plain,
        "gesture",
        json!({ "gesture_type": "tap", "center_x": 60, "center_y": 60, "window": "7", "duration_ms": 10 }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            window_title: "Untitled - Editor"
            touches: 1
            > fingers down 100,100
            > fingers up 100,100
            < editor/save clicked
        "#]],
    );
    for (arguments, code) in [
        (json!({ "gesture_type": "pinch" }), Code::MissingRequiredParameter),
        (json!({ "gesture_type": "rotate" }), Code::MissingRequiredParameter),
        (json!({ "gesture_type": "swipe" }), Code::MissingRequiredParameter),
        (json!({ "gesture_type": "pinch", "scale": 0 }), Code::InvalidArgument),
        (json!({ "gesture_type": "rotate", "rotation": 400 }), Code::InvalidArgument),
        (json!({ "gesture_type": "pinch", "scale": 2, "finger_count": 1 }), Code::InvalidArgument),
        (json!({ "gesture_type": "tap", "scale": 2 }), Code::InvalidArgument),
        (
            json!({ "gesture_type": "swipe", "direction": "left", "distance": 5000 }),
            Code::CoordinatesOutOfBounds,
        ),
    ] {
        let desk = Desk::new();
        let mut all = json!({ "center_x": 300, "center_y": 300 });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        assert_eq!(desk.error("gesture", all).code, code, "{arguments}");
        assert!(desk.control.log().is_empty());
    }
}

#[test]
fn fingers_come_up_whatever_happens() {
    let press = json!({ "gesture_type": "long_press", "center_x": 300, "center_y": 300 });
    for what in ["touch.lift", "touch.place"] {
        let desk = Desk::new();
        desk.control.fail_next(what, Error::backend("The screen broke."));
        assert_eq!(desk.error("gesture", press.clone()).code, Code::Backend);
        let log = desk.control.log().join("; ");
        assert_eq!(log.contains("down"), log.contains("up"), "{what}: {log}");
    }
    // Cancelled while a finger is down.
    let desk = Desk::new();
    let prepared = desk.prepare("gesture", press);
    let cancellation = prepared.cancellation().clone();
    std::thread::scope(|scope| {
        let pressing = scope.spawn(|| desk.server.run(prepared));
        let call = deskhand_core::Call::with_timeout(std::time::Duration::from_secs(10));
        let down = || Ok((!desk.control.log().is_empty()).then_some(()));
        call.until("waiting for the finger", down).unwrap();
        cancellation.cancel();
        assert!(pressing.join().unwrap().is_err_and(|error| error.code == Code::Cancelled));
    });
    assert_eq!(desk.control.log(), ["fingers down 300,300", "fingers up 300,300"]);
    let desk = Desk::with(Fake::new().without("touch"), |_| {});
    let tap = json!({ "gesture_type": "tap", "center_x": 300, "center_y": 300 });
    assert_eq!(desk.error("gesture", tap).code, Code::Unsupported);
}
