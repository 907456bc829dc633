//! Dragging and scrolling in every toolkit, through MCP: what counts is what the application wrote down of
//! what reached it.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::{Value, json};
use stage::scene::{Scene, near};
use std::time::Duration;

fn is(event: &Value, name: &str, widget: &str) -> bool {
    event["event"] == name && event["widget"] == widget
}

/// A button goes down at the start, the pointer passes the way, and the button goes up at the end.
fn points(scene: &mut Scene) {
    let (start, end) = ((40, 40), (340, 130));
    let table = [
        (json!({}), 1, json!([]), vec![]),
        (json!({ "button": "right" }), 3, json!([]), vec![]),
        (json!({ "modifiers": ["ctrl", "shift"] }), 1, json!(["ctrl", "shift"]), vec![]),
        (json!({ "button": "middle" }), 2, json!([]), vec![(100, 160), (220, 15)]),
    ];
    for (mut arguments, button, modifiers, way) in table {
        let mark = scene.stage.mark();
        let on_screen = |(x, y)| scene.point("canvas", x, y);
        (arguments["start_x"], arguments["start_y"]) = pair(on_screen(start));
        (arguments["end_x"], arguments["end_y"]) = pair(on_screen(end));
        arguments["duration_ms"] = json!(400);
        if !way.is_empty() {
            let path = way.iter().map(|point| pair(on_screen(*point)));
            arguments["path"] = path.map(|(x, y)| json!({ "x": x, "y": y })).collect();
        }
        let reply = scene.client.call("drag", arguments.clone());
        assert_eq!(
            (&reply["pointer"]["x"], &reply["pointer"]["y"]),
            (&arguments["end_x"], &arguments["end_y"])
        );
        let ends = scene.exactly(2, "press and release", mark, |event| {
            event["event"] == "press" || event["event"] == "release"
        });
        assert_eq!(
            (&ends[0]["event"], &ends[1]["event"]),
            (&json!("press"), &json!("release")),
            "{arguments}"
        );
        assert!(near(&ends[0], start, 1) && near(&ends[1], end, 1), "{arguments}: {ends:#?}");
        for event in &ends {
            assert_eq!((&event["button"], &event["modifiers"]), (&json!(button), &modifiers), "{arguments}");
        }
        let events = scene.stage.events();
        let motions = events.iter().skip(mark).filter(|event| {
            is(event, "motion", "canvas")
                && event["buttons"] == json!([button])
                && event["modifiers"] == modifiers
        });
        let motions = motions.collect::<Vec<_>>();
        assert!(5 <= motions.len(), "{arguments}: the way has steps: {motions:#?}");
        for point in way {
            // Toolkits take several motions of one frame for one.
            assert!(motions.iter().any(|event| near(event, point, 25)), "{point:?} in {motions:#?}");
        }
    }
    scene.client.refused("missing_required_parameter", "drag", json!({ "start_x": 5, "start_y": 5 }));
}

fn pair((x, y): (i64, i64)) -> (Value, Value) {
    (json!(x), json!(y))
}

/// What is dragged by name is dropped there, with what it carries; and the reply knows whether it was.
fn elements(scene: &mut Scene) {
    let source = scene.named("Drag me")["ref"].clone();
    let target = scene.named("Drop here")["ref"].clone();
    let mark = scene.stage.mark();
    let drag = json!({ "from_element": source, "to_element": target, "settle_ms": 1000 });
    let reply = scene.client.call("drag", drag);
    // Only the stage's log changes by a drop: that nothing was seen of it is the truth.
    assert_ne!(reply["effect"], "unverified", "{reply}");
    let dropped = scene.stage.wait_since(mark, "drop", |event| is(event, "drop", "target"));
    assert_eq!(dropped["text"], "cargo");

    // Onto something that takes nothing.
    let mark = scene.stage.mark();
    let (x, y) = scene.point("canvas", 200, 100);
    let lost = scene.client.call("drag", json!({ "from_element": source, "end_x": x, "end_y": y }));
    scene.settle();
    let events = scene.stage.events();
    assert!(!events.iter().skip(mark).any(|event| event["event"] == "drop"), "{lost}");
    assert_eq!(lost["effect"], "no_change_seen", "{lost}");
    assert_eq!(lost["window_title"], scene.stage.title, "{lost}");

    // By selector in the window that is named, though there are points beside it as well.
    let way = json!({
        "from_element": "[name=\"Drag me\"]:nth(1)", "to_element": "[name=\"Drop here\"]:nth(1)",
        "window": scene.window, "settle_ms": 1000, "duration_ms": 600,
    });
    let mark = scene.stage.mark();
    let dropped =
        |scene: &Scene| scene.stage.events().iter().skip(mark).any(|event| is(event, "drop", "target"));
    // A browser is not always ready for the next drag when the last one was given up.
    let call = Call::with_timeout(Duration::from_secs(30));
    let come = call.until("dropping", || {
        scene.client.call("drag", way.clone());
        Ok(dropped(scene).then_some(()))
    });
    assert!(come.is_ok(), "nothing was dropped: {:#?}", &scene.stage.events()[mark..]);
}

/// A slider follows the pointer, and takes a value.
fn slider(scene: &mut Scene) {
    let slider = scene.named("Volume");
    let (x, y) = scene.stage.middle("slider");
    let place = scene.stage.place("slider");
    let (x, y) = scene.point("slider", x - place.0, y - place.1);
    let mark = scene.stage.mark();
    let way = json!({ "start_x": x, "start_y": y, "end_x": x + place.2 / 4, "end_y": y, "settle_ms": 500 });
    scene.client.confirmed("drag", way);
    let value = |from: i64, to: i64| {
        move |event: &Value| {
            is(event, "value", "slider") && (from..=to).contains(&event["value"].as_i64().unwrap())
        }
    };
    scene.stage.wait_since(mark, "value about 75", value(70, 82));
    let mark = scene.stage.mark();
    scene.client.confirmed("set_ui_element_value", json!({ "element": slider["ref"], "value": "20" }));
    scene.stage.wait_since(mark, "value 20", value(20, 20));
}

/// Rows are reordered by dragging them.
fn list(scene: &mut Scene) {
    let first = scene.named("Banana")["ref"].clone();
    let last = scene.named("Date")["ref"].clone();
    let mark = scene.stage.mark();
    let drag = json!({ "from_element": first, "to_element": last, "settle_ms": 1000, "duration_ms": 600 });
    scene.client.confirmed("drag", drag);
    scene.stage.wait_since(mark, "new order", |event| {
        let place = |name: &str| event["items"].as_array().unwrap().iter().position(|item| item == name);
        is(event, "order", "list") && place("Cherry") < place("Banana")
    });
}

/// The wheel turns as often as asked for over what takes it, though nothing there scrolls.
fn wheel(scene: &mut Scene) {
    let table = [
        (json!({ "direction": "down", "notches": 4 }), (0.0, 4.0), json!([])),
        (json!({ "direction": "up", "notches": 2 }), (0.0, -2.0), json!([])),
        (json!({ "direction": "right", "notches": 3 }), (3.0, 0.0), json!([])),
        (json!({ "direction": "left" }), (-3.0, 0.0), json!([])),
        (json!({ "direction": "down", "notches": 2, "modifiers": ["ctrl"] }), (0.0, 2.0), json!(["ctrl"])),
        (json!({ "delta_y": 106 }), (0.0, 2.0), json!([])),
        (json!({ "delta_y": -20 }), (0.0, -1.0), json!([])),
        (json!({ "delta_x": 53, "delta_y": 53 }), (1.0, 1.0), json!([])),
        (json!({ "direction": "down", "amount": 160 }), (0.0, 3.0), json!([])),
    ];
    for (arguments, (across, down), modifiers) in table {
        let mark = scene.stage.mark();
        let mut there = scene.on_canvas(100, 80, arguments.clone());
        there["settle_ms"] = json!(0);
        let reply = scene.client.call("scroll", there);
        assert_eq!(reply["effect"], "unverified", "{arguments}: {reply}");
        let notches = format!("{} notch(es)", f64::abs(across) + f64::abs(down));
        assert!(reply["delivered"].as_str().unwrap().starts_with(&notches), "{arguments}: {reply}");
        let turned = |scene: &Scene| {
            let events = scene.stage.events().into_iter().skip(mark);
            events.filter(|event| is(event, "wheel", "canvas")).collect::<Vec<_>>()
        };
        let sum_of = |turned: &[Value], axis: &str| {
            turned.iter().map(|event| event[axis].as_f64().unwrap()).sum::<f64>()
        };
        let call = Call::with_timeout(Duration::from_secs(10));
        // What still comes then is too much.
        let _ = call.until("waiting for the wheel", || {
            let turned = turned(scene);
            let all = (sum_of(&turned, "dx"), sum_of(&turned, "dy")) == (across, down);
            Ok(all.then_some(()))
        });
        scene.settle();
        let turned = turned(scene);
        let sum = |axis: &str| sum_of(&turned, axis);
        assert_eq!((sum("dx"), sum("dy")), (across, down), "{arguments}: {turned:#?}");
        assert!(turned.iter().all(|event| event["modifiers"] == modifiers), "{arguments}: {turned:#?}");
    }
    let there = scene.on_canvas(100, 80, json!({ "direction": "down" }));
    if scene.stage.toolkit == "chromium" {
        // A page says of itself that it is a document, and not whether it is longer than its window.
        assert_eq!(scene.client.call("scroll", there)["effect"], "no_change_seen");
    } else {
        scene.client.refused("not_scrollable", "scroll", there);
    }
    for both in [
        json!({ "direction": "down", "delta_y": 5 }),
        json!({ "direction": "down", "amount": 50, "notches": 1 }),
        json!({ "amount": 50, "delta_x": 5 }),
        json!({ "direction": "down", "element": "button", "x": 5, "y": 5 }),
        json!({ "delta_y": 0 }),
    ] {
        scene.client.refused("invalid_argument", "scroll", both);
    }
    scene.client.refused("missing_required_parameter", "scroll", json!({ "x": 5, "y": 5 }));
}

/// How far down the scroll area is.
fn depth(scene: &Scene) -> i64 {
    let events = scene.stage.events();
    let last = events.iter().rev().find(|event| is(event, "scroll", "rows"));
    last.map_or(0, |event| event["y"].as_i64().unwrap())
}

/// A view moves as far as asked for, says when it is at its end, and brings what is far down into sight.
fn view(scene: &mut Scene) {
    let rows = scene.named("Rows")["ref"].clone();
    let mark = scene.stage.mark();
    let reply =
        scene.client.confirmed("scroll", json!({ "element": rows, "direction": "down", "notches": 2 }));
    assert_eq!(reply["delivered"], "2 notch(es)", "{reply}");
    scene
        .stage
        .wait_since(mark, "scroll", |event| is(event, "scroll", "rows") && 0 < event["y"].as_i64().unwrap());
    // Two scrolls of one frame that end where they began are no change.
    scene.client.call("wait_for", json!({ "still_ms": 100, "window": scene.window }));
    scene.client.confirmed("scroll", json!({ "element": rows, "direction": "up", "notches": 20 }));
    scene.stage.wait_since(mark, "top", |event| is(event, "scroll", "rows") && event["y"] == 0);

    let mark = scene.stage.mark();
    let reply =
        scene.client.confirmed("scroll", json!({ "element": rows, "direction": "down", "amount": 300 }));
    let exact = reply["delivered"] == "300 pixels";
    let wanted = if exact { 300..=300 } else { 100..=600 };
    scene.stage.wait_since(mark, "300 pixels", |event| {
        is(event, "scroll", "rows") && wanted.contains(&event["y"].as_i64().unwrap())
    });

    let row = scene.stage.place("rows").3;
    for (name, number) in [("Row 80", 80), ("Row 3", 3), ("Row 40", 40)] {
        let element = json!({ "element": format!("[name=\"{name}\"]:nth(1)"), "window": scene.window });
        let reply = scene.client.confirmed("scroll_to_element", element);
        let (top, bottom) = (24 * (number - 1), 24 * number);
        let call = Call::with_timeout(Duration::from_secs(10));
        let shows = call.until("waiting for the row", || {
            // A page tells of a scroll with its next frame, and draws none while nothing happens to it.
            scene.settle();
            let depth = depth(scene);
            Ok((depth <= top + 12 && bottom <= depth + row + 12).then_some(()))
        });
        assert!(shows.is_ok(), "{name} at {}: {reply}", depth(scene));
    }

    let end = json!({ "element": rows, "direction": "down", "notches": 100, "settle_ms": 1000 });
    let call = Call::with_timeout(Duration::from_secs(20));
    let reply = call.until("scrolling to the end", || {
        let reply = scene.client.call("scroll", end.clone());
        Ok((reply["effect"] == "no_change_seen").then_some(reply))
    });
    let reply = reply.unwrap();
    assert!(reply["reason"].as_str().unwrap().contains("end"), "{reply}");
    scene.settle();
    let before = depth(scene);
    assert!(2400 - row <= before + 24, "{before} is the end");
    let reply = scene.client.call("scroll", json!({ "element": rows, "delta_y": 100 }));
    assert_eq!(reply["effect"], "no_change_seen", "{reply}");
    scene.settle();
    assert_eq!(depth(scene), before);
}

macro_rules! for_each_toolkit {
    ($($step:ident)*) => { $(mod $step {
        fn run(toolkit: &str) {
            if let Some(mut scene) = super::Scene::open(toolkit) {
                super::$step(&mut scene);
            }
        }

        #[test]
        fn gtk3() {
            run("gtk3");
        }

        #[test]
        fn gtk4() {
            run("gtk4");
        }

        #[test]
        fn qt5() {
            run("qt5");
        }

        #[test]
        fn chromium() {
            run("chromium");
        }
    })* };
}

for_each_toolkit! { points elements slider list wheel view }
