//! Whatever goes wrong is never called a success: adversarial cases on a real window, each with what the
//! application wrote down of what reached it.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::{Value, json};
use stage::PrivateDesktop;
use stage::client::Client;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

/// Tests of their own for each case on each toolkit: they say more when they fail, and run beside each other.
macro_rules! cases {
    ($($toolkit:ident { $($case:ident)* })*) => {
        $(mod $toolkit {
            $(#[test]
            fn $case() {
                super::$case(stringify!($toolkit));
            })*
        })*
    };
}

cases! {
    gtk3 {
        a_disabled_button a_covered_element a_covered_window an_element_of_a_closed_window
        a_list_that_recycles_its_rows a_list_that_reorders_its_rows a_pointer_that_is_confined
        typing_while_another_window_takes_the_focus a_field_that_is_read_only
        an_application_that_ignores_the_key a_menu_item_that_vanishes a_drop_that_is_refused
        a_minimized_window a_screen_that_changed_since_the_picture a_window_that_moved_since_the_picture
    }
    qt5 {
        a_disabled_button a_covered_element a_covered_window an_element_of_a_closed_window
        a_list_that_recycles_its_rows a_list_that_reorders_its_rows
        typing_while_another_window_takes_the_focus a_field_that_is_read_only
        an_application_that_ignores_the_key a_menu_item_that_vanishes a_drop_that_is_refused
        a_minimized_window a_screen_that_changed_since_the_picture a_window_that_moved_since_the_picture
    }
    gtk4 {
        a_disabled_button a_covered_element a_covered_window an_element_of_a_closed_window
        a_list_that_recycles_its_rows a_list_that_reorders_its_rows
        typing_while_another_window_takes_the_focus a_field_that_is_read_only
        an_application_that_ignores_the_key a_drop_that_is_refused
        a_minimized_window a_screen_that_changed_since_the_picture a_window_that_moved_since_the_picture
    }
}

/// A window that does what lets actions fail, when it is told to; see stage/restless_gtk3.py.
struct Restless {
    client: Client,
    window: Value,
    process: Child,
    orders: Option<ChildStdin>,
    done: BufReader<ChildStdout>,
    log: PathBuf,
    desktop: PrivateDesktop,
}

impl Restless {
    fn open(toolkit: &str) -> Option<Restless> {
        if !Path::new("/usr/bin/Xvfb").exists() {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "Xvfb is missing");
            eprintln!("SKIPPED: Xvfb is missing; REQUIRE_DESKTOP=x11 makes this fail.");
            return None;
        }
        let desktop = PrivateDesktop::start(&[]);
        let log = std::env::temp_dir().join(format!("restless-{toolkit}-{}.jsonl", std::process::id()));
        let _ = std::fs::remove_file(&log);
        let mut process = desktop
            .command("/usr/bin/python3")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/stage/restless_{toolkit}.py")))
            .arg(&log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the system has a Python");
        let orders = process.stdin.take();
        let done = BufReader::new(process.stdout.take().unwrap());
        let mut client = Client::start(&desktop);
        let title = json!({ "window_title": "Restless", "timeout_ms": 20_000 });
        let window = client.call("wait_for", title)["window"]["id"].clone();
        client.confirmed("focus_window", json!({ "window": window }));
        let there = json!({ "selector": "button[name=\"Cherry\"]", "window": window, "timeout_ms": 20_000 });
        client.call("wait_for", there);
        Some(Restless { client, window, process, orders, done, log, desktop })
    }

    /// Gives an order, and waits until it is carried out.
    fn order(&mut self, order: &str) {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
        let mut line = String::new();
        self.done.read_line(&mut line).unwrap();
        assert!(line.contains("done"), "{order}: {line:?}");
    }

    fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// What was clicked, in order.
    fn clicked(&self) -> Vec<String> {
        let events = self.events().into_iter().filter(|event| event["event"] == "click");
        events.map(|event| event["widget"].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    fn comes(&self, what: &str, mut probe: impl FnMut(&Restless) -> bool) {
        let call = Call::with_timeout(Duration::from_secs(20));
        let come = call.until(what, || Ok(probe(self).then_some(())));
        assert!(come.is_ok(), "{what} did not come: {:#?}", self.events());
    }

    /// The same of what the client sees.
    #[track_caller]
    fn comes_to(&mut self, what: &str, mut probe: impl FnMut(&mut Restless) -> bool) {
        let call = Call::with_timeout(Duration::from_secs(20));
        assert!(call.until(what, || Ok(probe(self).then_some(()))).is_ok(), "{what} did not come");
    }

    /// The element of this name.
    #[track_caller]
    fn named(&mut self, name: &str) -> Value {
        let wanted = json!({ "selector": format!("[name=\"{name}\"]"), "window": self.window });
        let found = self.client.call("find_elements", wanted)["elements"][0].clone();
        assert!(found["ref"].is_string(), "nothing is called {name}");
        found
    }

    /// The place of an element in a picture of the screen.
    #[track_caller]
    fn pictured(&mut self, name: &str) -> Value {
        let bounds = self.named(name)["bounds"].clone();
        let picture = self.client.call("take_screenshot", json!({ "max_width": 0, "max_height": 0 }));
        let image = picture.as_str().unwrap().split_once("image=").unwrap().1;
        let image = image.split([' ', '\n']).next().unwrap();
        let at = |name: &str| bounds[name].as_i64().unwrap() + 5;
        json!({ "image": image, "x": at("x"), "y": at("y") })
    }

    /// Makes a click that certainly arrives, so that one before it would be known of.
    fn settle(&mut self) {
        let before = self.clicked().len();
        let cherry = json!({ "element": "button[name=\"Cherry\"]", "window": self.window });
        self.client.call("click_ui_element", cherry);
        self.comes("the settling click", |stage| before < stage.clicked().len());
    }
}

impl Drop for Restless {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.log);
    }
}

/// A disabled button is not clicked, in no way.
fn a_disabled_button(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let asleep = stage.named("Asleep")["ref"].clone();
    for tool in ["click", "click_ui_element", "double_click"] {
        stage.client.refused("element_not_actionable", tool, json!({ "element": asleep }));
    }
    stage.settle();
    assert_eq!(stage.clicked(), ["Cherry"]);
}

/// What is covered is clicked by its own action, and the reply says so; the pointer is refused.
fn a_covered_element(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let under = stage.named("Under")["ref"].clone();
    stage.order("cover");
    let curtain = json!({ "selector": "button[name=\"Curtain\"]", "window": stage.window });
    stage.client.call("wait_for", curtain);
    let refused = stage.client.refused("element_not_actionable", "click", json!({ "element": under }));
    assert!(refused["message"].as_str().unwrap().contains("Curtain"), "{refused}");
    let done = stage.client.call("click_ui_element", json!({ "element": under }));
    assert_eq!(done["via"], "action", "{done}");
    stage.comes("the click", |stage| stage.clicked() == ["Under"]);
}

/// The same of what another window covers: one of its own application, and one of another.
fn a_covered_window(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let apple = stage.named("Apple")["ref"].clone();
    let other = |stage: &Restless| {
        let mut command = stage.desktop.command("/usr/bin/python3");
        command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::piped()).stdout(Stdio::null());
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stage");
        command.arg(folder.join("changes_qt5.py")).spawn().unwrap()
    };
    stage.order("steal");
    for (title, clicks) in [("Thief", 1), ("Changes (qt5)", 2)] {
        let mut process = (title != "Thief").then(|| other(&stage));
        let window = json!({ "window_title": title, "timeout_ms": 20_000 });
        let window = stage.client.call("wait_for", window)["window"]["id"].clone();
        let own = stage.client.call("get_window", json!({ "window": stage.window }))["bounds"].clone();
        let over = json!({
            "window": window, "x": own["x"], "y": own["y"], "width": own["width"], "height": own["height"],
        });
        stage.client.call("set_window", over);
        stage.client.confirmed("focus_window", json!({ "window": window }));
        let refused = stage.client.refused("element_not_actionable", "click", json!({ "element": apple }));
        assert!(refused["message"].as_str().unwrap().contains(title), "{refused}");
        let done = stage.client.call("click_ui_element", json!({ "element": apple }));
        assert_eq!(done["via"], "action", "{done}");
        stage.comes("the click", |stage| stage.clicked().len() == clicks);
        if let Some(process) = &mut process {
            drop(process.stdin.take());
            process.wait().unwrap();
        }
    }
    assert_eq!(stage.clicked(), ["Apple", "Apple"]);
}

/// An element of a window that has closed is stale.
fn an_element_of_a_closed_window(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let apple = stage.named("Apple")["ref"].clone();
    stage.order("close");
    let gone = json!({ "window_title": "Restless", "gone": true, "timeout_ms": 10_000 });
    stage.client.call("wait_for", gone);
    for tool in ["click", "click_ui_element", "focus_ui_element", "get_ui_element_value"] {
        let (fine, answer) = stage.client.try_call(tool, json!({ "element": apple }));
        let code = answer["code"].as_str().unwrap_or_default();
        assert!(!fine && ["element_stale", "element_not_found"].contains(&code), "{tool}: {answer}");
    }
}

/// A row that shows something else than when it was seen is not clicked in its place. The refusal shows what it
/// is now, and from then on that is what the ref means.
fn a_list_that_recycles_its_rows(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let apple = stage.named("Apple")["ref"].clone();
    for (tool, now) in [("click", "Banana"), ("click_ui_element", "Cherry")] {
        stage.order("recycle");
        let refused = stage.client.refused("target_changed", tool, json!({ "element": apple }));
        assert!(refused["detail"]["found"].to_string().contains(now), "{refused}");
    }
    stage.settle();
    assert_eq!(stage.clicked().len(), 1, "{:?}", stage.clicked());
}

/// What has moved is clicked where it is now, and what moves in that very moment is not called clicked.
fn a_list_that_reorders_its_rows(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let apple = stage.named("Apple");
    stage.order("reorder");
    let clicked = stage.client.call("click", json!({ "element": apple["ref"] }));
    stage.comes("the click", |stage| !stage.clicked().is_empty());
    assert!(clicked["effect"] != "confirmed" || stage.clicked() == ["Apple"], "{clicked}");
    stage.comes_to("another place", |stage| stage.named("Apple")["bounds"] != apple["bounds"]);
    stage.client.call("click", json!({ "element": apple["ref"] }));
    stage.comes("the other click", |stage| stage.clicked().len() == 2);
    assert_eq!(stage.clicked()[1], "Apple", "{clicked}");
}

/// A pointer that is kept elsewhere is told where it is, and clicks nothing.
fn a_pointer_that_is_confined(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stage/x_client.py");
    let mut game = stage
        .desktop
        .command("/usr/bin/python3")
        .arg(script)
        .args(["confine", "1000", "600", "100", "100"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(game.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let bounds = stage.named("Apple")["bounds"].clone();
    let there = json!({ "x": bounds["x"].as_i64().unwrap() + 5, "y": bounds["y"].as_i64().unwrap() + 5 });
    let moved = stage.client.try_call("move_mouse", there.clone());
    assert!(!moved.0 || moved.1["effect"] != "confirmed", "{moved:?}");
    let refused = stage.client.refused("target_changed", "click", there);
    let at = stage.client.call("cursor_position", json!({}));
    assert!(1000 <= at["x"].as_i64().unwrap() && 600 <= at["y"].as_i64().unwrap(), "{at} {refused}");
    game.kill().unwrap();
    game.wait().unwrap();
    stage.settle();
    assert_eq!(stage.clicked(), ["Cherry"]);
}

/// When another window takes the keyboard while a text is typed, typing stops, and the reply tells how far it
/// came; the other window gets none of the rest.
fn typing_while_another_window_takes_the_focus(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let line = stage.named("Line")["ref"].clone();
    let text = "0123456789".repeat(20);
    let typing = json!({ "element": line, "text": text, "delay_ms": 20, "timeout_ms": 30_000 });
    let request = json!({
        "jsonrpc": "2.0", "id": "typing", "method": "tools/call",
        "params": { "name": "type_text", "arguments": typing },
    });
    stage.client.send(&request);
    stage.comes("some of the text", |stage| {
        stage.events().iter().any(|event| event["widget"] == "line" && event["text"] == "0123456789")
    });
    stage.order("steal");
    let result = stage.client.answer("typing")["result"].clone();
    assert_eq!(result["isError"], true, "{result}");
    let told = result["structuredContent"].to_string() + &result["content"].to_string();
    assert!(told.contains("target_changed"), "{result}");
    let events = stage.events();
    let loot = events.iter().rev().find(|event| event["widget"] == "loot");
    let stolen = loot.map_or(0, |event| event["text"].as_str().unwrap().len());
    assert!(stolen <= 2, "{stolen} characters went to the wrong window");
}

/// What cannot be edited is not written to.
fn a_field_that_is_read_only(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let fixed = stage.named("Fixed")["ref"].clone();
    for (tool, arguments) in [
        ("type_text", json!({ "element": fixed, "text": "new" })),
        ("set_ui_element_value", json!({ "element": fixed, "value": "new" })),
    ] {
        let (fine, answer) = stage.client.try_call(tool, arguments);
        assert!(!fine || answer["effect"] == "no_change_seen", "{tool}: {answer}");
    }
    let value = stage.client.call("get_ui_element_value", json!({ "element": fixed }));
    assert_eq!(value["value"], "fixed", "{value}");
}

/// A key that an application ignores is no success.
fn an_application_that_ignores_the_key(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    stage.order("deafen");
    // What its application tells of that may come late, and is no consequence of the key.
    let deaf = json!({ "selector": "[name=\"Deaf\"]:focused", "window": stage.window });
    stage.client.call("wait_for", deaf);
    let pressed = stage.client.call("press_key", json!({ "key": "x", "window": stage.window }));
    stage.comes("the key", |stage| stage.events().iter().any(|event| event["widget"] == "deaf"));
    assert_ne!(pressed["effect"], "confirmed", "{pressed}");
    assert!(pressed["reason"].is_string(), "{pressed}");
}

/// A menu item that has gone is told with what there is.
fn a_menu_item_that_vanishes(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    stage.client.call("click_menu_item", json!({ "window": stage.window, "path": "Edit > Undo" }));
    stage.comes("the item", |stage| stage.events().iter().any(|event| event["item"] == "Undo"));
    stage.order("forget");
    let gone = json!({ "window": stage.window, "path": "Edit > Undo" });
    let refused = stage.client.refused("menu_item_not_found", "click_menu_item", gone);
    assert_eq!(refused["detail"]["found"], json!(["Redo"]), "{refused}");
}

/// A drop that nothing takes is not a success.
fn a_drop_that_is_refused(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let (apple, deaf) = (stage.named("Apple")["ref"].clone(), stage.named("Deaf")["ref"].clone());
    let dragged = stage.client.call("drag", json!({ "from_element": apple, "to_element": deaf }));
    stage.settle();
    assert_ne!(dragged["effect"], "confirmed", "{dragged} {:?}", stage.events());
}

/// What is minimized has no place on the screen.
fn a_minimized_window(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let apple = stage.named("Apple")["ref"].clone();
    stage.order("iconify");
    stage.comes_to("minimized", |stage| {
        stage.client.call("get_window", json!({ "window": stage.window }))["state"] == "minimized"
    });
    stage.client.refused("window_minimized", "click", json!({ "element": apple }));
    stage.client.refused("window_minimized", "take_screenshot", json!({ "window": stage.window }));
    let beside = json!({ "window": stage.window, "x": 10, "y": 10 });
    stage.client.refused("window_minimized", "click", beside);
    assert_eq!(stage.clicked(), [""; 0]);
}

/// Coordinates of a picture are refused when another window lies there now.
fn a_screen_that_changed_since_the_picture(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let there = stage.pictured("Apple");
    stage.order("steal");
    let thief = json!({ "window_title": "Thief", "timeout_ms": 10_000 });
    let thief = stage.client.call("wait_for", thief)["window"]["id"].clone();
    let own = stage.client.call("get_window", json!({ "window": stage.window }))["bounds"].clone();
    stage.client.call("set_window", json!({ "window": thief, "x": own["x"], "y": own["y"] }));
    let refused = stage.client.refused("target_changed", "click", there);
    assert!(refused["message"].as_str().unwrap().contains("Thief"), "{refused}");
    assert_eq!(stage.clicked(), [""; 0]);
}

/// The same when it is the window that was pictured, at another place.
fn a_window_that_moved_since_the_picture(toolkit: &str) {
    let Some(mut stage) = Restless::open(toolkit) else { return };
    let there = stage.pictured("Apple");
    let own = stage.client.call("get_window", json!({ "window": stage.window }))["bounds"].clone();
    let beside = own["y"].as_i64().unwrap() + 60;
    stage.client.call("set_window", json!({ "window": stage.window, "x": own["x"], "y": beside }));
    stage.client.refused("target_changed", "click", there);
    stage.settle();
    assert_eq!(stage.clicked(), ["Cherry"]);
}
