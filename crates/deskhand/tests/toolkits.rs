//! The same job in every toolkit, through MCP: what the reply says is held against what the application
//! wrote down of what reached it.

#![cfg(target_os = "linux")]

mod stage;

use serde_json::{Value, json};
use stage::client::Client;
use stage::{PrivateDesktop, Stage};

/// Letters, accents, another alphabet, Han, an emoji beyond the basic plane.
const TEXT: &str = "Deskhand: naïve, Жук, 世界, 👋!";

fn job(toolkit: &str) {
    if !std::path::Path::new("/usr/bin/Xvfb").exists() {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "Xvfb is missing");
        eprintln!("SKIPPED: Xvfb is missing; REQUIRE_DESKTOP=x11 makes this fail.");
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let stage = Stage::start(toolkit, |program| desktop.command(program));
    let mut client = Client::start(&desktop);
    let window = client.call("wait_for", json!({ "window_title": "Stage", "timeout_ms": 20_000 }));
    let window = window["window"]["id"].clone();
    client.confirmed("focus_window", json!({ "window": window }));
    let ok = json!({ "selector": "button[name=\"OK\"]", "window": window, "timeout_ms": 20_000 });
    let ok = client.call("wait_for", ok)["element"].clone();

    // By its own action, and by the pointer at its place: the application has to have seen both.
    let clicks = |stage: &Stage| {
        stage.events().iter().filter(|event| event["event"] == "click" && event["widget"] == "ok").count()
    };
    client.call("click_ui_element", json!({ "element": ok["ref"], "settle_ms": 1000 }));
    stage.wait_for("click by action", |event| event["event"] == "click" && event["widget"] == "ok");
    let (before, mark) = (clicks(&stage), stage.mark());
    client.call("click", json!({ "element": ok["ref"], "settle_ms": 1000 }));
    stage.wait_since(mark, "click by pointer", |event| {
        event["event"] == "click" && event["widget"] == "ok" && event["button"] == 1
    });
    assert_eq!(clicks(&stage), before + 1, "one click has to arrive as one");

    let disabled = json!({ "element": "button[name=\"Disabled\"]", "window": window });
    client.refused("element_not_actionable", "click_ui_element", disabled.clone());
    client.refused("element_not_actionable", "click", disabled);
    client.refused(
        "element_not_found",
        "click",
        json!({ "element": "button[name=\"Nowhere\"]", "window": window }),
    );

    let check = json!({ "element": "check_box[name=\"Remember\"]", "window": window, "value": "true" });
    client.confirmed("set_ui_element_value", check.clone());
    stage.wait_for("toggle", |event| event["event"] == "toggle" && event["checked"] == true);
    let again = client.confirmed("set_ui_element_value", check);
    assert!(again["evidence"].as_str().unwrap_or_default().contains("already"), "{again}");

    // On a web page Tab leaves the field.
    let lines = if toolkit == "chromium" { "one\ntwo" } else { "one\ntwo\tthree" };
    for (widget, name, text) in [("entry", "Name", TEXT), ("text", "Notes", lines)] {
        let field = json!({ "title": name, "window": window });
        let found = client.call("find_elements", field)["elements"].clone();
        let is_text = |role: &Value| role == "text_field" || role == "text_area";
        let field = found.as_array().into_iter().flatten().find(|element| is_text(&element["role"]));
        let field = field.unwrap_or_else(|| panic!("no text is called {name}: {found}"));
        let typed = client.call("type_text", json!({ "text": text, "element": field["ref"] }));
        stage.wait_for("text", |event| event["widget"] == widget && event["text"] == text);
        assert_eq!(typed["effect"], "confirmed", "{typed}");
    }

    // What stands in a line is kept when it gets the keyboard, although toolkits select it all then.
    let more = json!({ "element": "text_field[name=\"Name\"]", "window": window, "text": " and on" });
    let typed = client.confirmed("type_text", more);
    let whole = format!("{TEXT} and on");
    stage.wait_for("more text", |event| event["widget"] == "entry" && event["text"] == *whole);
    assert!(typed["evidence"].as_str().unwrap_or_default().contains("exactly"), "{typed}");

    let field = json!({ "element": "password_field", "window": window });
    let secret = json!({ "element": "password_field", "window": window, "text": "hunter2" });
    let typed = client.call("type_text", secret);
    stage.wait_for("the password", |event| event["widget"] == "password" && event["text"] == "hunter2");
    let read = client.call("get_ui_element_value", field);
    for answer in [&typed, &read, &client.call("get_ui_elements", json!({ "window": window }))] {
        assert!(!answer.to_string().contains("hunter2"), "the password stands in {answer}");
    }

    // A point of a scaled picture has to find its pixel.
    let (x, y) = canvas(&stage, &mut client, &window);
    let picture = client.call("take_screenshot", json!({ "max_width": 640, "window": window }));
    let image = picture.as_str().and_then(|text| text.split_once("image=")).map(|(_, rest)| rest);
    let image =
        image.and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{picture}")).to_owned();
    let shown = client.call("get_window", json!({ "window": window }))["bounds"].clone();
    let number = |value: &Value| value.as_f64().unwrap();
    let scale = (640.0 / number(&shown["width"])).min(1.0);
    let point = json!({
        "image": image,
        "x": ((x - number(&shown["x"])) * scale).round(),
        "y": ((y - number(&shown["y"])) * scale).round(),
        "button": "right",
        "modifiers": ["ctrl"],
        "settle_ms": 300,
    });
    let clicked = client.call("click", point);
    let there = stage.wait_for("click on the canvas", |event| {
        event["event"] == "click" && event["widget"] == "canvas" && event["button"] == 3
    });
    assert_eq!(there["modifiers"], json!(["ctrl"]));
    let at = &clicked["pointer"];
    assert!(
        (number(&at["x"]) - x).abs() <= 2.0 && (number(&at["y"]) - y).abs() <= 2.0,
        "{clicked} for {x}, {y}"
    );
    client.call("press_key", json!({ "key": "page_down", "window": window }));
    stage.wait_for("page_down", |event| event["event"] == "key" && event["key"] == "page_down");

    client.confirmed("set_window", json!({ "window": window, "x": 40, "y": 60 }));
    client.call("close_window", json!({ "window": window }));
    client.call("wait_for", json!({ "window_title": "Stage", "gone": true, "timeout_ms": 10_000 }));
}

/// The middle of the canvas on the screen: where the application's own events say that it is.
fn canvas(stage: &Stage, client: &mut Client, window: &Value) -> (f64, f64) {
    let (x, y) = stage.middle("canvas");
    let (ok_x, ok_y) = stage.middle("ok");
    // The place of OK on the screen is known from the element; both are measured from one corner.
    let ok = client.call("get_element", json!({ "element": "button[name=\"OK\"]", "window": window }));
    let bounds = &ok["bounds"];
    let middle =
        |start: &str, size: &str| bounds[start].as_f64().unwrap() + bounds[size].as_f64().unwrap() / 2.0;
    (
        (middle("x", "width") + x as f64 - ok_x as f64).round(),
        (middle("y", "height") + y as f64 - ok_y as f64).round(),
    )
}

#[test]
fn gtk3() {
    job("gtk3");
}

#[test]
fn gtk4() {
    job("gtk4");
}

#[test]
fn qt5() {
    job("qt5");
}

#[test]
fn chromium() {
    job("chromium");
}
