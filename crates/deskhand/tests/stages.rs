//! The stages themselves: what a known-good program does to them has to stand in their logs. Without this,
//! a test that finds nothing in a log could not tell whose fault it is.

#![cfg(target_os = "linux")]

mod stage;

use serde_json::json;
use stage::{PrivateDesktop, Stage};

fn xdotool(desktop: &PrivateDesktop, arguments: &str) -> String {
    let output = desktop.command("xdotool").args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "xdotool {arguments}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn check(toolkit: &str) {
    if !std::path::Path::new("/usr/bin/xdotool").exists() {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "xdotool is missing");
        eprintln!("skipped: xdotool is missing");
        return;
    }
    // Without a window manager the window has no frame, and its content begins where it begins.
    let desktop = PrivateDesktop::start(&["--window-manager", "none"]);
    let stage = Stage::start(toolkit, |program| desktop.command(program));
    let window = xdotool(&desktop, "search --onlyvisible --name ^Stage");
    let window = window.split_whitespace().next().unwrap();
    xdotool(&desktop, &format!("windowfocus {window}"));
    let click = |widget: &str, button: u8| {
        let (x, y) = stage.middle(widget);
        xdotool(&desktop, &format!("mousemove --window {window} {x} {y} click {button}"));
    };
    click("ok", 1);
    let event = stage.wait_for("click on OK", |event| event["event"] == "click" && event["widget"] == "ok");
    assert_eq!((&event["button"], &event["modifiers"]), (&json!(1), &json!([])));
    click("disabled", 1);
    xdotool(&desktop, "keydown shift");
    click("canvas", 3);
    xdotool(&desktop, "keyup shift");
    let event =
        stage.wait_for("click on the canvas", |event| event["event"] == "click" && event["button"] == 3);
    assert_eq!(event["modifiers"], json!(["shift"]));
    click("entry", 1);
    stage.wait_for("focus", |event| event["event"] == "focus" && event["widget"] == "entry");
    xdotool(&desktop, "type hello");
    stage.wait_for("text", |event| event["widget"] == "entry" && event["text"] == "hello");
    click("canvas", 1);
    stage.wait_for("focus", |event| event["event"] == "focus" && event["widget"] == "canvas");
    xdotool(&desktop, "key Page_Down");
    stage.wait_for("key", |event| event["key"] == "page_down" && event["down"] == false);
    click("canvas", 5);
    stage.wait_for("wheel", |event| event["event"] == "wheel" && 0.0 < event["dy"].as_f64().unwrap());
    assert!(stage.events().iter().all(|event| event["widget"] != "disabled"), "{:#?}", stage.events());
}

#[test]
fn gtk3() {
    check("gtk3");
}

#[test]
fn gtk4() {
    check("gtk4");
}

#[test]
fn qt5() {
    check("qt5");
}

#[test]
fn chromium() {
    check("chromium");
}
