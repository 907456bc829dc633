//! Clicking, holding, hovering and pressing keys in every toolkit, through MCP: what counts is what the
//! application wrote down of what reached it.

#![cfg(target_os = "linux")]

mod stage;

use serde_json::{Value, json};
use stage::client::Client;
use stage::scene::{Scene, near};

fn pointer_and_keys(toolkit: &str) {
    let Some(mut scene) = Scene::open(toolkit) else { return };
    clicks(&mut scene);
    motion(&mut scene);
    held_buttons(&mut scene);
    held_keys(&mut scene);
    keys(&mut scene);
}

/// Every button, count and modifier arrives as what it is, and once.
fn clicks(scene: &mut Scene) {
    let table = [
        (json!({}), 1, 1, json!([])),
        // A second call at the same place is another click and not the half of a double click.
        (json!({}), 1, 1, json!([])),
        (json!({ "click_count": 2 }), 1, 2, json!([])),
        (json!({ "click_count": 3 }), 1, 3, json!([])),
        (json!({ "button": "right" }), 3, 1, json!([])),
        (json!({ "button": "middle" }), 2, 1, json!([])),
        (json!({ "button": "back" }), 8, 1, json!([])),
        (json!({ "button": "forward" }), 9, 1, json!([])),
        (json!({ "modifiers": ["ctrl"] }), 1, 1, json!(["ctrl"])),
        (json!({ "modifiers": ["shift"] }), 1, 1, json!(["shift"])),
        (json!({ "modifiers": ["alt"] }), 1, 1, json!(["alt"])),
        (json!({ "modifiers": ["ctrl", "shift", "alt"] }), 1, 1, json!(["ctrl", "shift", "alt"])),
        (json!({ "button": "right", "modifiers": ["shift"], "click_count": 2 }), 3, 2, json!(["shift"])),
    ];
    for (arguments, button, count, modifiers) in table {
        let mark = scene.stage.mark();
        let there = scene.on_canvas(60, 70, arguments.clone());
        scene.client.call("click", there);
        let clicks = scene.exactly(count, "clicks", mark, |event| event["event"] == "click");
        for (click, count) in clicks.iter().zip(1..) {
            assert!(near(click, (60, 70), 1), "{arguments}: {click}");
            let got = (&click["button"], &click["count"], &click["modifiers"]);
            assert_eq!(got, (&json!(button), &json!(count), &modifiers), "{arguments}: {click}");
        }
    }
    let mark = scene.stage.mark();
    let there = scene.on_canvas(90, 40, json!({}));
    scene.client.call("double_click", there);
    let clicks = scene.exactly(2, "clicks", mark, |event| event["event"] == "click");
    assert_eq!(clicks[1]["count"], 2);
}

/// The pointer goes there by small steps when that is asked for, and at once when not.
fn motion(scene: &mut Scene) {
    let moved = |event: &Value| event["event"] == "motion";
    let mark = scene.stage.mark();
    let start = scene.on_canvas(20, 20, json!({}));
    let end = scene.on_canvas(320, 120, json!({ "smooth": true, "duration_ms": 300, "modifiers": ["ctrl"] }));
    scene.client.confirmed("move_mouse", start);
    let reply = scene.client.confirmed("move_mouse", end.clone());
    scene.stage.wait_since(mark, "end of the way", |event| moved(event) && near(event, (320, 120), 1));
    assert_eq!((&reply["pointer"]["x"], &reply["pointer"]["y"]), (&end["x"], &end["y"]), "{reply}");
    let way = scene.stage.events().into_iter().skip(mark).filter(moved).collect::<Vec<_>>();
    let between = way.iter().filter(|event| {
        let x = event["x"].as_i64().unwrap();
        (25..315).contains(&x)
            && near(event, (x, 20 + (x - 20) / 3), 3)
            && event["modifiers"] == json!(["ctrl"])
    });
    assert!(5 <= between.count(), "a smooth way has steps: {way:#?}");

    let mark = scene.stage.mark();
    let there = scene.on_canvas(40, 150, json!({ "duration_ms": 50 }));
    scene.client.confirmed("hover", there);
    scene.stage.wait_since(mark, "motion", |event| moved(event) && near(event, (40, 150), 1));
    let outside = json!({ "x": 90_000, "y": 5 });
    scene.client.refused("coordinates_out_of_bounds", "move_mouse", outside.clone());
    scene.client.refused("coordinates_out_of_bounds", "click", outside);
}

/// A button that is held across calls is down in the motions between them, and up after its time or its client.
fn held_buttons(scene: &mut Scene) {
    for (name, button) in [("left", 1), ("right", 3)] {
        let mark = scene.stage.mark();
        let start = scene.on_canvas(30, 30, json!({ "button": name }));
        let held = scene.client.confirmed("left_mouse_down", start);
        assert_eq!(held["held"], json!([format!("{name} button")]));
        for (x, y) in [(80, 50), (160, 90)] {
            let way = scene.on_canvas(x, y, json!({}));
            scene.client.confirmed("move_mouse", way);
            scene.stage.wait_since(mark, "motion with the button down", |event| {
                event["event"] == "motion" && near(event, (x, y), 1) && event["buttons"] == json!([button])
            });
        }
        let up = scene.client.confirmed("left_mouse_up", json!({ "button": name }));
        assert_eq!(up["held"], json!([]));
        let ends = scene.exactly(2, "press and release", mark, press_or_release);
        assert_eq!((&ends[0]["event"], &ends[1]["event"]), (&json!("press"), &json!("release")));
        assert!(near(&ends[0], (30, 30), 1) && near(&ends[1], (160, 90), 1), "{ends:#?}");
        assert!(ends.iter().all(|event| event["button"] == button), "{ends:#?}");
    }
    let again = scene.client.call("left_mouse_up", json!({}));
    assert_eq!(again["effect"], "no_change_seen", "nothing was held: {again}");

    let mark = scene.stage.mark();
    let start = scene.on_canvas(30, 30, json!({ "duration_ms": 200 }));
    scene.client.confirmed("left_mouse_down", start.clone());
    scene.stage.wait_since(mark, "release at the time limit", |event| event["event"] == "release");

    let mark = scene.stage.mark();
    let mut other = Client::start(&scene.desktop);
    other.confirmed("left_mouse_down", scene.on_canvas(40, 40, json!({})));
    scene.stage.wait_since(mark, "press", |event| event["event"] == "press");
    drop(other);
    scene.stage.wait_since(mark, "release when the client goes", |event| event["event"] == "release");
}

fn press_or_release(event: &Value) -> bool {
    event["event"] == "press" || event["event"] == "release"
}

/// A key that is held across calls is down in the click between them, and up after its time or its client.
fn held_keys(scene: &mut Scene) {
    let there = scene.on_canvas(50, 60, json!({}));
    scene.client.call("click", there.clone());
    let mark = scene.stage.mark();
    scene.client.confirmed("hold_key", json!({ "key": "shift" }));
    scene.client.confirmed("hold_key", json!({ "key": "ctrl" }));
    scene.client.call("click", there.clone());
    scene.client.confirmed("hold_key", json!({ "key": "ctrl", "release": true }));
    scene.client.call("click", there.clone());
    let last = scene.client.confirmed("hold_key", json!({ "key": "shift", "release": true }));
    assert_eq!(last["held"], json!([]));
    scene.client.call("click", there);
    let clicks = scene.exactly(3, "clicks", mark, |event| event["event"] == "click");
    let modifiers = clicks.iter().map(|click| click["modifiers"].clone()).collect::<Vec<_>>();
    assert_eq!(modifiers, [json!(["ctrl", "shift"]), json!(["shift"]), json!([])]);

    let up = |key: &'static str| {
        move |event: &Value| event["event"] == "key" && event["key"] == key && event["down"] == false
    };
    let mark = scene.stage.mark();
    scene.client.call("hold_key", json!({ "key": "f7", "duration_ms": 200, "window": scene.window }));
    scene.stage.wait_since(mark, "key up at the time limit", up("f7"));
    let mark = scene.stage.mark();
    let mut other = Client::start(&scene.desktop);
    other.call("hold_key", json!({ "key": "f8", "window": scene.window }));
    scene.stage.wait_since(mark, "key down", |event| event["key"] == "f8" && event["down"] == true);
    drop(other);
    scene.stage.wait_since(mark, "key up when the client goes", up("f8"));
}

/// Keys arrive as often as asked for, with exactly their modifiers.
fn keys(scene: &mut Scene) {
    let there = scene.on_canvas(50, 60, json!({}));
    scene.client.call("click", there);
    let combination = |keys: Value| ("key_combination", json!({ "keys": keys }));
    let mut table = vec![
        (combination(json!(["ctrl", "shift", "k"])), "k", 1, json!(["ctrl", "shift"])),
        (combination(json!("alt+j")), "j", 1, json!(["alt"])),
        (("press_key", json!({ "key": "ctrl+D" })), "d", 1, json!(["ctrl"])),
        (("press_key", json!({ "key": "a", "modifiers": ["ctrl"] })), "a", 1, json!(["ctrl"])),
        (("press_key", json!({ "key": "x", "repeat": 20 })), "x", 20, json!([])),
        (("press_key", json!({ "key": "right", "repeat": 5, "delay_ms": 5 })), "right", 5, json!([])),
    ];
    for key in ["up", "down", "left", "tab", "enter", "escape", "space", "home", "page_down", "delete"] {
        table.push((("press_key", json!({ "key": key })), key, 1, json!([])));
    }
    for key in ["f1", "f2", "f3", "f4", "f5", "f6", "f9", "f12"] {
        table.push((("press_key", json!({ "key": key })), key, 1, json!([])));
    }
    for ((tool, arguments), key, count, modifiers) in table {
        let mark = scene.stage.mark();
        scene.client.call(tool, arguments.clone());
        let letter = |event: &Value| {
            let same = event["key"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(key));
            event["event"] == "key" && same
        };
        let down = |event: &Value| letter(event) && event["down"] == true;
        for pressed in scene.exactly(count, key, mark, down) {
            assert_eq!(pressed["modifiers"], modifiers, "{tool} {arguments}: {pressed}");
        }
        scene.exactly(count, key, mark, |event| letter(event) && event["down"] == false);
        let moved = scene.stage.events().into_iter().skip(mark).find(|event| event["event"] == "focus");
        assert_eq!(moved, None, "{tool} {arguments} is the canvas's own");
    }
    scene.client.refused("unknown_key", "press_key", json!({ "key": "nonsense" }));
}

#[test]
fn gtk3() {
    pointer_and_keys("gtk3");
}

#[test]
fn gtk4() {
    pointer_and_keys("gtk4");
}

#[test]
fn qt5() {
    pointer_and_keys("qt5");
}

#[test]
fn chromium() {
    pointer_and_keys("chromium");
}
