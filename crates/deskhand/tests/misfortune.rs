//! What goes wrong around Deskhand, through MCP: two clients at once, a hung application, an X server that
//! dies, a session that gets locked.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use stage::Stage;
use stage::client::Client;
use stage::scene::Scene;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ends with the value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn wait<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let call = Call::with_timeout(Duration::from_secs(20));
    call.until(what, || Ok(probe())).unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Two servers, each with a text for a field of its own: the one waits for the other.
#[test]
fn two_servers_that_type_at_once_mix_nothing_up() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let other_stage = Stage::start("qt5", |program| scene.desktop.command(program));
    let mut other = Client::start(&scene.desktop);
    let window = json!({ "window_title": other_stage.title, "timeout_ms": 20_000 });
    let other_window = other.call("wait_for", window)["window"]["id"].clone();
    let field =
        json!({ "selector": "text_field[name=\"Name\"]", "window": other_window, "timeout_ms": 20_000 });
    other.call("wait_for", field);
    let texts = ["The quick brown fox, çà et là: 0123456789", "jumps over naïve dogs; ÄÖÜ (and) 98765-43"];
    for round in 1..=3 {
        let marks = [scene.stage.mark(), other_stage.mark()];
        std::thread::scope(|scope| {
            let (first, window) = (&mut scene.client, scene.window.clone());
            let type_into = |client: &mut Client, window: Value, text: &str| {
                let name = "text_field[name=\"Name\"]";
                let text = json!({ "element": name, "window": window, "text": text, "timeout_ms": 20_000 });
                client.confirmed("type_text", text);
            };
            scope.spawn(move || type_into(first, window, texts[0]));
            let (second, window) = (&mut other, other_window.clone());
            scope.spawn(move || type_into(second, window, texts[1]));
        });
        for ((stage, text), mark) in
            [(&scene.stage, texts[0]), (&other_stage, texts[1])].into_iter().zip(marks)
        {
            // A field that gets the focus anew may select what it holds, and then the text replaces it.
            let whole = (1..=round).map(|times| text.repeat(times)).collect::<Vec<_>>();
            stage.wait_since(mark, "whole text", |event| {
                event["widget"] == "entry" && whole.iter().any(|whole| event["text"] == **whole)
            });
        }
    }
}

/// A hung application costs its own deadline, is named, and keeps nobody else from answering.
#[test]
fn a_frozen_application_costs_its_own_deadline() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let frozen = Stage::start("qt5", |program| scene.desktop.command(program));
    let window = json!({ "window_title": frozen.title, "timeout_ms": 20_000 });
    let window = scene.client.call("wait_for", window)["window"]["id"].clone();
    let ok = json!({ "selector": "button[name=\"OK\"]", "window": window, "timeout_ms": 20_000 });
    let ok = scene.client.call("wait_for", ok)["element"]["ref"].clone();
    scene.client.confirmed("focus_window", json!({ "window": window }));

    let pid = frozen.pid();
    kill_process(pid, Signal::STOP).unwrap();
    for (tool, arguments) in [
        ("get_ui_elements", json!({ "window": window, "timeout_ms": 1500 })),
        ("get_element", json!({ "element": ok, "timeout_ms": 1500 })),
        ("click_ui_element", json!({ "element": ok, "timeout_ms": 1500 })),
        ("click", json!({ "element": ok, "timeout_ms": 1500 })),
        ("type_text", json!({ "element": "text_field", "window": window, "text": "x", "timeout_ms": 1500 })),
    ] {
        let begun = Instant::now();
        let (fine, answer) = scene.client.try_call(tool, arguments.clone());
        assert!(begun.elapsed() < Duration::from_millis(3000), "{tool} took {:?}: {answer}", begun.elapsed());
        let text = answer.to_string();
        assert!(!fine || text.contains("did not answer"), "{tool}: {answer}");
        assert!(text.contains("Stage") || text.contains("stage_qt5"), "{tool} names it: {answer}");
    }
    // Everything at once says what the others have, and who is silent.
    let (fine, all) = scene.client.try_call("find_elements", json!({ "title": "OK", "timeout_ms": 3000 }));
    assert!(fine && all["elements"][0]["name"] == "OK" && all["truncated"] == true, "{all}");
    assert_eq!(all["silent"][0]["application"], "Stage", "{all}");

    // Another client works with the other application meanwhile.
    let mut other = Client::start(&scene.desktop);
    let begun = Instant::now();
    let healthy = json!({ "element": "button[name=\"OK\"]", "window": scene.window });
    other.call("click_ui_element", healthy.clone());
    scene.stage.wait_for("click", |event| event["event"] == "click" && event["widget"] == "ok");
    other.confirmed("focus_window", json!({ "window": scene.window }));
    let field =
        json!({ "element": "text_field[name=\"Name\"]", "window": scene.window, "text": "meanwhile" });
    other.confirmed("type_text", field);
    scene.client.call("click_ui_element", healthy);
    assert!(begun.elapsed() < Duration::from_secs(4), "the others took {:?}", begun.elapsed());

    kill_process(pid, Signal::CONT).unwrap();
    let mark = frozen.mark();
    let again = json!({ "element": "button[name=\"OK\"]", "window": window, "timeout_ms": 10_000 });
    wait("the application to answer again", || {
        scene.client.try_call("click_ui_element", again.clone()).0.then_some(())
    });
    frozen.wait_since(mark, "click", |event| event["event"] == "click" && event["widget"] == "ok");
    let field = json!({ "element": "text_field[name=\"Name\"]", "window": window, "text": "healed" });
    scene.client.confirmed("type_text", field);
    frozen
        .wait_since(mark, "text", |event| event["text"].as_str().is_some_and(|text| text.contains("healed")));
}

/// An X server of its own number, which may be killed.
fn x_server(number: Option<&str>) -> (Process, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    let server = Command::new("Xvfb")
        .args(number)
        .args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"])
        .stdout(writer)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(reader).read_line(&mut line).unwrap();
    assert!(!line.trim().is_empty(), "Xvfb did not start");
    (Process(server), format!(":{}", line.trim()))
}

/// The server dies in the middle of a call: that call says so, and the ones after the next server's start work.
#[test]
fn an_x_server_that_dies_is_told_and_the_next_one_is_used() {
    if !std::path::Path::new("/usr/bin/Xvfb").exists() {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "Xvfb is missing");
        return;
    }
    // Far from where servers look for a free number: nobody may take this one while it is free.
    let number = format!(":{}", 760 + std::process::id() % 150);
    let (server, display) = x_server(Some(&number));
    let mut client = Client::on(|program| {
        let mut command = Command::new(program);
        command.env_clear().env("DISPLAY", &display).env("PATH", "/usr/bin:/bin");
        command
    });
    client.confirmed("move_mouse", json!({ "x": 5, "y": 5 }));
    client.call("take_screenshot", json!({}));

    let way = json!({ "x": 900, "y": 600, "duration_ms": 20_000 });
    let (fine, answer) = std::thread::scope(|scope| {
        let call = scope.spawn(|| client.try_call("move_mouse", way));
        // It is under way when the pointer is.
        wait("the pointer to move", || {
            let place = Command::new("xdotool").arg("getmouselocation").env("DISPLAY", &display).output();
            let text = String::from_utf8_lossy(&place.unwrap().stdout).into_owned();
            (!text.is_empty() && !text.starts_with("x:5 ")).then_some(())
        });
        drop(server);
        call.join().unwrap()
    });
    assert!(!fine && answer["code"] == "backend", "{answer}");
    assert!(answer["message"].as_str().unwrap().contains(&display), "{answer}");
    for (tool, arguments) in [
        ("click", json!({ "x": 5, "y": 5 })),
        ("take_screenshot", json!({})),
        ("list_windows", json!({})),
        ("list_displays", json!({})),
    ] {
        client.refused("backend", tool, arguments);
    }

    let (_server, _) = x_server(Some(&number));
    wait("the new server to be used", || {
        client.try_call("move_mouse", json!({ "x": 7, "y": 7 })).0.then_some(())
    });
    let place = client.call("cursor_position", json!({}));
    assert_eq!((&place["x"], &place["y"]), (&json!(7), &json!(7)), "{place}");
    client.call("take_screenshot", json!({}));
    client.call("list_displays", json!({}));
}

/// A locked session gets no input at all, and works again when it is unlocked.
#[test]
fn a_locked_session_gets_no_input() {
    if !std::path::Path::new("/usr/bin/i3lock").exists() {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "i3lock is missing");
        return;
    }
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let field = json!({ "selector": "text_field[name=\"Name\"]", "window": scene.window });
    let field = scene.client.call("find_elements", field)["elements"][0]["ref"].clone();
    let locker = scene.desktop.command("i3lock").arg("--nofork").stderr(Stdio::null()).spawn().unwrap();
    let locker = Process(locker);
    let there = scene.on_canvas(60, 60, json!({}));
    wait("the locker to be seen", || {
        let (fine, answer) = scene.client.try_call("move_mouse", there.clone());
        (!fine).then(|| assert_eq!(answer["code"], "secure_desktop_active", "{answer}"))
    });
    let mark = scene.stage.mark();
    for (tool, arguments) in [
        ("click", there.clone()),
        ("move_mouse", there.clone()),
        ("drag", json!({ "start_x": 5, "start_y": 5, "end_x": 50, "end_y": 50 })),
        ("scroll", json!({ "x": there["x"], "y": there["y"], "direction": "down" })),
        ("left_mouse_down", there.clone()),
        ("hold_key", json!({ "key": "shift" })),
        ("press_key", json!({ "key": "a" })),
        ("type_text", json!({ "text": "secret" })),
        ("type_text", json!({ "text": "secret", "element": field })),
        ("click", json!({ "element": field })),
    ] {
        scene.client.refused("secure_desktop_active", tool, arguments);
    }
    drop(locker);
    wait("the locker to be gone", || scene.client.try_call("move_mouse", there.clone()).0.then_some(()));
    let events = scene.stage.events();
    let got = |event: &&Value| ["press", "wheel", "key", "text"].iter().any(|name| event["event"] == *name);
    assert_eq!(events.iter().skip(mark).find(got), None, "input reached a locked session");
    scene.client.confirmed("type_text", json!({ "text": "open again", "element": field }));
}
