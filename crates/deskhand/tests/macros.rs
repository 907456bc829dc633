//! Macros on real applications through MCP: written by hand, and recorded from a person whose part is played
//! through the input devices of an Xorg server.

#![cfg(target_os = "linux")]

mod stage;
#[path = "../../linux/tests/xorg/mod.rs"]
mod xorg;

use deskhand_core::Call;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use stage::client::Client;
use stage::{PrivateDesktop, Stage};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use xorg::{BACKSPACE, CTRL, Hand, Xorg, mouse_and_keyboard};

fn is_there(programs: &[&str]) -> bool {
    for needed in programs {
        if !std::path::Path::new("/usr/bin").join(needed).exists() {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{needed} is missing");
            eprintln!("SKIPPED: {needed} is missing; REQUIRE_DESKTOP=x11 makes this fail.");
            return false;
        }
    }
    true
}

fn launch(client: &mut Client, program: &str) -> Value {
    let launch = json!({ "application": program, "wait_ms": 60_000, "timeout_ms": 90_000 });
    let window = client.call("launch_app", launch)["window"]["id"].clone();
    assert!(window.is_u64(), "{program} has no window");
    window
}

/// Waits until the calculator shows a number.
#[track_caller]
fn shows(client: &mut Client, number: &str) {
    let selector = format!("[value=\"{number}\"], [name=\"{number}\"]:not(:focusable)");
    client.call("wait_for", json!({ "window": "galculator", "selector": selector, "timeout_ms": 5000 }));
}

fn click(name: Value) -> Value {
    let element = json!({ "$join": ["toggle_button[name=\"", name, "\"]"] });
    json!({ "tool": "click_ui_element", "arguments": { "element": element, "window": "galculator" } })
}

/// The calculator's buttons come up again a moment after a click, and a click before that does nothing.
fn up(name: Value) -> Value {
    let selector = json!({ "$join": ["toggle_button[name=\"", name, "\"]:not(:checked)"] });
    json!({ "wait": { "selector": selector, "window": "galculator" } })
}

fn param(name: &str) -> Value {
    json!({ "$from": format!("params.{name}") })
}

#[test]
fn tc_execute_macro_works_a_calculator_with_parameters_a_condition_and_rounds() {
    if !is_there(&["Xvfb", "galculator"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let mut client = Client::start(&desktop);
    launch(&mut client, "galculator");
    let display = json!({ "tool": "find_elements", "arguments": { "window": "galculator", "selector": "[value=\"8\"], [name=\"8\"]:not(:focusable)" } });
    let sum = json!({
        "name": "sum",
        "parameters": [
            { "name": "first", "type": "integer" },
            { "name": "second", "type": "integer", "default": 3 },
            { "name": "sign", "default": "+", "options": ["+", "*"] },
            { "name": "times", "type": "integer", "default": 1 },
        ],
        "steps": [
            { "tool": "press_key", "arguments": { "key": "escape", "window": "galculator" } },
            up(param("first")),
            click(param("first")),
            { "repeat": { "times": param("times") }, "steps": [up(param("sign")), click(param("sign")), up(param("second")), click(param("second"))] },
            up(json!("=")),
            click(json!("=")),
            display,
            { "if": { "value": { "$from": "prev.elements[0]" }, "exists": true },
              "then": [{ "assign": { "eight": true } }],
              "else": [{ "assign": { "eight": false } }] },
        ],
    });
    client.call("create_macro", sum);
    let run = |client: &mut Client, parameters: Value| {
        let ran = client.call("execute_macro", json!({ "name": "sum", "parameters": parameters }));
        assert_eq!(ran["ok"], true, "{ran}");
        client.call("get_session", json!({}))["variables"]["eight"].clone()
    };
    assert_eq!(run(&mut client, json!({ "first": 5 })), true);
    shows(&mut client, "8");
    assert_eq!(run(&mut client, json!({ "first": 5, "times": 4 })), false);
    shows(&mut client, "17");
    assert_eq!(run(&mut client, json!({ "first": 2, "second": 4, "sign": "*" })), true);
    let error = client.refused(
        "invalid_argument",
        "execute_macro",
        json!({ "name": "sum", "parameters": { "first": "5", "sign": "-" } }),
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("first has to be an integer") && message.contains("sign has to be one of"),
        "{error}"
    );
    // What cannot be done stops it there, and says what was done before.
    let wrong = json!({ "name": "sum", "parameters": { "first": 77 }, "timeout_ms": 1500 });
    let ran = client.call("execute_macro", wrong);
    assert_eq!(
        (&ran["ok"], &ran["stopped_at"], &ran["succeeded"]),
        (&json!(false), &json!("steps[1]"), &json!(1))
    );
    assert_eq!(ran["steps"][1]["error"]["code"], "timeout");
}

/// An Xorg server with a person at it, and a session around it.
struct Place {
    client: Client,
    hand: Hand,
    /// How many acts of theirs have to be seen.
    acts: u64,
    manager: Child,
    session: PrivateDesktop,
    xorg: Xorg,
}

/// A program on the display of the one and in the session of the other.
fn of_both(session: &PrivateDesktop, xorg: &Xorg, program: &str) -> Command {
    let mut command = session.command(program);
    command.env("DISPLAY", &xorg.display);
    command
}

impl Place {
    fn open(test: &str) -> Option<Place> {
        if !is_there(&["Xvfb", "openbox", "galculator", "mousepad"]) {
            return None;
        }
        let xorg = Xorg::start(test, &mouse_and_keyboard())?;
        // The session's services need no display of their own: only the applications are on the other one.
        let session = PrivateDesktop::start(&[]);
        let command = |program: &str| of_both(&session, &xorg, program);
        let manager = command("openbox").stderr(Stdio::null()).spawn().unwrap();
        let mut client = Client::on(command);
        let call = Call::with_timeout(Duration::from_secs(20));
        call.until("the window manager", || Ok(client.try_call("list_windows", json!({})).0.then_some(())))
            .unwrap();
        let hand = Hand::at(&xorg);
        Some(Place { client, hand, acts: 0, manager, session, xorg })
    }

    /// Holds the left button down from one place to another, on the way of a hand.
    fn drag(&mut self, from: (i32, i32), to: (i32, i32)) {
        self.act(0, |hand| hand.point(from.0, from.1));
        self.act(1, |hand| hand.button(1, true));
        for step in 1..=10 {
            let part = |from: i32, to: i32| from + (to - from) * step / 10;
            self.act(0, |hand| hand.point(part(from.0, to.0), part(from.1, to.1)));
        }
        self.act(1, |hand| hand.button(1, false));
    }

    /// The middle of an element.
    fn middle(&mut self, selector: &str, window: &str) -> (i32, i32) {
        let found = json!({ "selector": selector, "window": window, "timeout_ms": 20_000 });
        let bounds = self.client.call("wait_for", found)["element"]["bounds"].clone();
        let middle = |start: &str, size: &str| {
            i32::try_from(bounds[start].as_i64().unwrap() + bounds[size].as_i64().unwrap() / 2).unwrap()
        };
        (middle("x", "width"), middle("y", "height"))
    }

    fn text(&mut self) -> String {
        let answer =
            self.client.call("get_ui_element_value", json!({ "element": "text_area", "window": "Mousepad" }));
        answer["value"].as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn holds(&mut self, text: &str) {
        let call = Call::with_timeout(Duration::from_secs(10));
        let held = call.until("the text", || Ok((self.text() == text).then_some(())));
        assert!(held.is_ok(), "it holds {:?} and not {text:?}", self.text());
    }

    fn record(&mut self) -> Value {
        self.acts = 0;
        self.client.call("start_recording", json!({}))
    }

    /// Does something that counts as so many acts, and waits until all of them have been looked at: a press of a
    /// person lasts longer than that.
    fn act(&mut self, acts: u64, make: impl FnOnce(&mut Hand)) {
        self.acts += acts;
        make(&mut self.hand);
        let call = Call::with_timeout(Duration::from_secs(20));
        let looked = call.until("the recording to look", || {
            let recording = self.client.call("get_session", json!({}))["recording"].clone();
            let all = Some(self.acts) <= recording["acts"].as_u64() && recording["waiting"] == 0;
            Ok(all.then_some(()))
        });
        looked.unwrap();
    }

    /// Clicks as slowly as a person.
    fn click(&mut self, (x, y): (i32, i32)) {
        self.act(0, |hand| hand.point(x, y));
        self.act(1, |hand| hand.button(1, true));
        self.act(1, |hand| hand.button(1, false));
    }

    fn tap(&mut self, code: u32) {
        self.act(1, |hand| hand.tap(code));
    }

    /// Types as slowly as a person.
    fn types(&mut self, text: &str) {
        for c in text.chars() {
            let (_, shift) = xorg::key_of(c);
            self.act(1 + u64::from(shift), |hand| hand.types(&c.to_string()));
        }
    }

    fn stop(&mut self, name: &str) -> Value {
        self.client.call("stop_recording", json!({ "name": name, "timeout_ms": 20_000 }))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_raw(self.manager.id().cast_signed()).unwrap(), Signal::TERM);
        let _ = self.manager.wait();
    }
}

#[test]
fn a_person_is_recorded_by_elements_and_it_runs_again_on_a_moved_window() {
    let Some(mut place) = Place::open("recording") else { return };
    let window = launch(&mut place.client, "galculator");
    let buttons = ["5", "5", "+", "3", "="];
    let places: Vec<_> = buttons
        .iter()
        .map(|name| place.middle(&format!("toggle_button[name=\"{name}\"]"), "galculator"))
        .collect();
    // galculator takes the first click for getting the focus only.
    let (x, y) = place.middle("text_area", "galculator");
    place.hand.click(x, y);
    let started = place.record();
    assert_eq!(started["devices"], json!(["mouse", "keyboard"]));
    for (name, at) in buttons.iter().zip(&places) {
        // As slow as a person: the button of the last click is up again.
        let up = format!("toggle_button[name=\"{name}\"]:not(:checked)");
        place.client.call("wait_for", json!({ "selector": up, "window": "galculator" }));
        place.click(*at);
    }
    shows(&mut place.client, "58");
    // Deskhand at work in between is not the person.
    place.client.call("press_key", json!({ "key": "escape", "window": "galculator" }));
    let stopped = place.stop("sum");
    let steps = stopped["macro"]["steps"].clone();
    let step = |name: &str| json!({ "tool": "click_ui_element", "arguments": { "element": format!("toggle_button[name=\"{name}\"]"), "window": "Galculator" } });
    let up =
        json!({ "wait": { "selector": "toggle_button[name=\"5\"]:not(:checked)", "window": "Galculator" } });
    let expected = [step("5"), up, step("5"), step("+"), step("3"), step("=")];
    assert_eq!(steps, json!(expected), "{stopped}");
    for at in [None, Some((500, 420))] {
        if let Some((x, y)) = at {
            place.client.confirmed("move_window", json!({ "window": window, "x": x, "y": y }));
        }
        place.client.call("press_key", json!({ "key": "escape", "window": "galculator" }));
        shows(&mut place.client, "0");
        let ran = place.client.call("execute_macro", json!({ "name": "sum" }));
        assert_eq!(ran["ok"], true, "{ran}");
        shows(&mut place.client, "58");
    }
}

#[test]
fn what_a_person_types_becomes_a_text_and_what_they_choose_a_path() {
    let Some(mut place) = Place::open("typing") else { return };
    launch(&mut place.client, "mousepad");
    let area = place.middle("text_area", "Mousepad");
    place.record();
    place.click(area);
    place.types("Hello, World?");
    place.tap(BACKSPACE);
    place.types("!");
    place.holds("Hello, World!");
    place.act(1, |hand| hand.key(CTRL, true));
    place.tap(xorg::key_of('a').0);
    place.act(0, |hand| hand.key(CTRL, false));
    place.tap(BACKSPACE);
    place.types("again");
    place.holds("again");
    for selector in ["menu[name=\"Document\"]", "[name=\"Word Wrap\"]"] {
        let at = place.middle(selector, "Mousepad");
        // A person clicks what they see.
        place.client.call("wait_for", json!({ "still_ms": 100 }));
        place.click(at);
    }
    let stopped = place.stop("text");
    let window = "Mousepad";
    let expected = json!([
        { "tool": "click_ui_element", "arguments": { "element": "text_area", "window": window } },
        { "tool": "type_text", "arguments": { "text": "Hello, World!", "element": "text_area", "window": window } },
        { "tool": "press_key", "arguments": { "key": "ctrl+a", "window": window } },
        { "tool": "press_key", "arguments": { "key": "backspace", "window": window } },
        { "tool": "type_text", "arguments": { "text": "again", "element": "text_area", "window": window } },
        { "tool": "click_menu_item", "arguments": { "path": "Document > Word Wrap", "window": window } },
    ]);
    assert_eq!(stopped["macro"]["steps"], expected, "{stopped}");
    // It does the same again: all is chosen and replaced.
    let ran = place.client.call("execute_macro", json!({ "name": "text" }));
    assert_eq!(ran["ok"], true, "{ran}");
    place.holds("again");
}

/// Drags, the wheel and a password of a person, each held against what the window wrote down, when they did it
/// and when it runs again.
#[test]
fn what_a_person_drags_scrolls_and_types_in_secret_runs_again() {
    let Some(mut place) = Place::open("hands") else { return };
    let stage = Stage::start("gtk3", |program| of_both(&place.session, &place.xorg, program));
    let window = stage.title.clone();
    place.client.call("wait_for", json!({ "window_title": window, "timeout_ms": 20_000 }));
    place.client.confirmed("focus_window", json!({ "window": window }));
    let [source, target, rows, password] =
        ["[name=\"Drag me\"]", "[name=\"Drop here\"]", "[name=\"Rows\"]", "password_field"]
            .map(|selector| place.middle(selector, &window));
    let happened = |since: usize, text: &str| {
        let all = ["drop", "scroll", "text"].map(|name| {
            stage.wait_since(since, name, |event| {
                event["event"] == name && (name != "text" || event["text"] == text)
            })
        });
        assert_eq!(all[0]["text"], "cargo", "{all:?}");
        all[1]["y"].as_i64().unwrap()
    };

    place.record();
    place.drag(source, target);
    stage.wait_for("drop", |event| event["event"] == "drop");
    place.act(0, |hand| hand.point(rows.0, rows.1));
    for _ in 0..3 {
        place.act(1, |hand| hand.press(5));
    }
    place.click(password);
    place.types("Hunter2!");
    let scrolled = happened(0, "Hunter2!");
    assert!(0 < scrolled, "{scrolled}");
    let stopped = place.stop("hands");
    assert!(!stopped.to_string().contains("unter"), "{stopped}");
    let steps = stopped["macro"]["steps"].as_array().unwrap();
    let tools: Vec<_> = steps.iter().map(|step| step["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["drag", "scroll", "click_ui_element", "type_text"], "{stopped}");
    assert_eq!(steps[1]["arguments"]["notches"], 3, "{stopped}");
    assert_eq!(steps[1]["arguments"]["direction"], "down", "{stopped}");
    assert_eq!(steps[3]["arguments"]["text"], json!({ "$from": "params.password" }), "{stopped}");

    let mark = stage.mark();
    let missing = place.client.try_call("execute_macro", json!({ "name": "hands" }));
    assert!(!missing.0 && missing.1.to_string().contains("password"), "{missing:?}");
    let parameters = json!({ "password": "Swordfish?" });
    let ran = place.client.call("execute_macro", json!({ "name": "hands", "parameters": parameters }));
    assert_eq!(ran["ok"], true, "{ran}");
    assert!(!ran.to_string().contains("Swordfish"), "{ran}");
    assert!(scrolled < happened(mark, "Hunter2!Swordfish?"));
}
