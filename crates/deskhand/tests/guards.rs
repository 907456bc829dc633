//! The guards on real displays, through MCP: a person at the devices of an X server, and windows of applications
//! that may not be worked or seen. What counts is what the applications wrote down, and the pixels of the pictures.

#![cfg(target_os = "linux")]

mod stage;
#[path = "../../linux/tests/xorg/mod.rs"]
mod xorg;

use deskhand_core::Call;
use serde_json::{Value, json};
use stage::Stage;
use stage::client::Client;
use stage::scene::Scene;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use xorg::{ESCAPE, Hand, Xorg, mouse_and_keyboard};

const F9: u32 = 75;

/// A display with a person at it, and a window without decorations at its corner.
struct Desk {
    stage: Stage,
    hand: Hand,
    xorg: Xorg,
    runtime: PathBuf,
}

impl Desk {
    fn open(test: &str) -> Option<Desk> {
        let xorg = Xorg::start(test, &mouse_and_keyboard())?;
        let hand = Hand::at(&xorg);
        let runtime = std::env::temp_dir().join(format!("deskhand-guards-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&runtime).unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&runtime, std::fs::Permissions::from_mode(0o700)).unwrap();
        let stage = Stage::start("gtk3", |program| command(program, &xorg.display, &runtime));
        Some(Desk { stage, hand, xorg, runtime })
    }

    fn command(&self, program: &str) -> Command {
        command(program, &self.xorg.display, &self.runtime)
    }

    fn client(&self, options: &[&str]) -> Client {
        Client::with_options(|program| self.command(program), options)
    }

    fn deskhand(&self, arguments: &[&str]) -> String {
        let output = self.command(env!("CARGO_BIN_EXE_deskhand")).args(arguments).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    }

    fn middle(&self, widget: &str) -> Value {
        let (x, y) = self.stage.middle(widget);
        json!({ "x": x, "y": y })
    }

    /// What the field holds.
    fn entry(&self) -> String {
        let events = self.stage.events();
        let last = events.iter().rev().find(|event| event["widget"] == "entry" && event["text"].is_string());
        last.map_or(String::new(), |event| event["text"].as_str().unwrap().to_owned())
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.runtime);
    }
}

fn command(program: &str, display: &str, runtime: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["PATH", "HOME", "LANG"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.env("DISPLAY", display).env("XDG_RUNTIME_DIR", runtime).env("NO_AT_BRIDGE", "1");
    command.env("GDK_BACKEND", "x11").env("DESKHAND_FIND_SESSION", "never");
    command
}

fn long() -> Call {
    Call::with_timeout(Duration::from_secs(30))
}

#[track_caller]
fn until(what: &str, mut there: impl FnMut() -> bool) {
    long().until(what, || Ok(there().then_some(()))).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// A person's key pauses typing; it goes on when they are quiet, and nothing of it is lost.
#[test]
fn typing_makes_way_for_a_person() {
    let Some(mut desk) = Desk::open("yield") else { return };
    let mut client = desk.client(&["--yield-ms", "500", "--stop-chord", "off"]);
    client.call("click", desk.middle("entry"));
    let text = "the quick brown fox jumps over the lazy dog ".repeat(2);
    std::thread::scope(|scope| {
        let typing = json!({ "text": text, "delay_ms": 20, "timeout_ms": 60_000 });
        let typing = scope.spawn(|| client.try_call("type_text", typing));
        until("typing begins", || 5 < desk.entry().len());
        // A key that changes nothing of what is typed, as Shift would.
        desk.hand.tap(F9);
        // What was under way is typed, then nothing until the person has been quiet.
        long().pause(Duration::from_millis(250), "it coming to a halt").unwrap();
        let halted = desk.entry();
        assert!(halted.len() < text.len(), "{halted}");
        desk.hand.tap(F9);
        long().pause(Duration::from_millis(350), "the person being busy").unwrap();
        assert_eq!(desk.entry(), halted, "nothing is typed while the person is busy");
        let (ok, answer) = typing.join().unwrap();
        assert!(ok, "{answer}");
    });
    let whole = long().until("all of the text", || Ok((text.len() <= desk.entry().len()).then_some(())));
    assert!(whole.is_ok() && desk.entry() == text, "{:?}", desk.entry());

    // A person who does not stop: the call says so in its own time, and nothing is pressed.
    std::thread::scope(|scope| {
        let call = json!({ "x": 5, "y": 5, "timeout_ms": 900 });
        let clicking = scope.spawn(|| client.try_call("click", call));
        while !clicking.is_finished() {
            desk.hand.point(1100, 900);
            long().pause(Duration::from_millis(30), "moving").unwrap();
            desk.hand.point(1101, 900);
        }
        let (ok, answer) = clicking.join().unwrap();
        assert!(!ok && answer["code"] == "paused_by_user", "{answer}");
    });
}

/// A person who holds Escape ends a drag half way: the button comes up, and nothing more is done until they let it.
#[test]
fn holding_escape_stops_a_drag_and_everything_after_it() {
    let Some(mut desk) = Desk::open("stop") else { return };
    let options = ["--yield-ms", "0", "--stop-chord", "escape:400"];
    let mut client = desk.client(&options);
    let (x, y) = desk.stage.middle("canvas");
    let drag = json!({ "start_x": x - 60, "start_y": y, "end_x": x + 60, "end_y": y, "duration_ms": 8000 });
    let mark = desk.stage.mark();
    std::thread::scope(|scope| {
        let dragging = scope.spawn(|| client.try_call("drag", drag));
        desk.stage.wait_since(mark, "press", |event| event["event"] == "press");
        // Too short means nothing.
        desk.hand.tap(ESCAPE);
        long().pause(Duration::from_millis(600), "nothing happening").unwrap();
        assert!(!dragging.is_finished());
        desk.hand.key(ESCAPE, true);
        let (ok, answer) = dragging.join().unwrap();
        assert!(!ok && answer["code"] == "paused_by_user", "{answer}");
        desk.hand.key(ESCAPE, false);
    });
    let release = desk.stage.wait_since(mark, "release", |event| event["event"] == "release");
    assert!(release["x"].as_i64() < Some(desk.stage.place("canvas").2 / 2 + 55), "half way: {release}");

    let refused = client.refused("paused_by_user", "click", desk.middle("canvas"));
    assert!(refused["detail"]["remedy"].as_str().unwrap().contains("deskhand resume"), "{refused}");
    client.call("cursor_position", json!({}));
    let doctor = desk.deskhand(&["doctor"]);
    assert!(doctor.contains("STOPPED by the person: escape was held for 400 ms"), "{doctor}");
    // Another process on the display is stopped with it.
    assert!(desk.deskhand(&["call", "click", "x=9", "y=9"]).contains("paused_by_user"));

    assert!(desk.deskhand(&["resume"]).contains("goes on"));
    let mark = desk.stage.mark();
    client.call("click", desk.middle("canvas"));
    desk.stage.wait_since(mark, "click", |event| event["event"] == "click");

    // Held again, twice: it stops, and goes on.
    let stopped = |desk: &Desk| desk.deskhand(&["doctor"]).contains("STOPPED");
    for stops in [true, false] {
        desk.hand.key(ESCAPE, true);
        until("the chord", || stopped(&desk) == stops);
        desk.hand.key(ESCAPE, false);
    }
    client.call("click", desk.middle("canvas"));

    // What Deskhand presses itself does not count, and a new start lets it go on.
    client.call("hold_key", json!({ "key": "escape", "duration_ms": 700 }));
    long().pause(Duration::from_millis(900), "holding").unwrap();
    assert!(!stopped(&desk));
    desk.hand.key(ESCAPE, true);
    until("the chord", || stopped(&desk));
    desk.hand.key(ESCAPE, false);
    drop(client);
    let mut client = desk.client(&options);
    client.call("click", desk.middle("canvas"));
}

/// A second window, and a client for which its application is off limits in some way.
struct Two {
    guarded: Client,
    scene: Scene,
    other: Stage,
    window: Value,
    /// Where the other window lies.
    bounds: Value,
}

impl Two {
    fn open(option: &str) -> Option<Two> {
        let mut scene = Scene::open("gtk3")?;
        let other = Stage::start("qt5", |program| scene.desktop.command(program));
        let found = json!({ "window_title": other.title, "timeout_ms": 20_000 });
        let window = scene.client.call("wait_for", found)["window"]["id"].clone();
        for (window, x, y) in [(&scene.window, 20, 40), (&window, 300, 200)] {
            scene.client.call("move_window", json!({ "window": window, "x": x, "y": y }));
        }
        let about = scene.client.call("get_window", json!({ "window": window }));
        let name = about["application"].as_str().unwrap().to_owned();
        let guarded = Client::with_options(|program| scene.desktop.command(program), &[option, &name]);
        Some(Two { guarded, scene, other, window, bounds: about["bounds"].clone() })
    }

    fn inside(&self) -> Value {
        let at = |start: &str, size: &str| {
            self.bounds[start].as_i64().unwrap() + self.bounds[size].as_i64().unwrap() / 2
        };
        json!({ "x": at("x", "width"), "y": at("y", "height") })
    }
}

#[test]
fn a_denied_applications_window_is_neither_clicked_nor_typed_into() {
    let Some(mut two) = Two::open("--deny-app") else { return };
    two.scene.client.confirmed("focus_window", json!({ "window": two.window }));
    let mark = two.other.mark();
    let inside = two.inside();
    let refused = two.guarded.refused("denied_by_policy", "click", inside.clone());
    assert!(refused["message"].as_str().unwrap().contains("--deny-app"), "{refused}");
    two.guarded.refused("denied_by_policy", "type_text", json!({ "text": "no" }));
    two.guarded.refused("denied_by_policy", "press_key", json!({ "key": "a" }));
    let button = json!({ "element": "button[name=\"OK\"]", "window": two.window });
    two.guarded.refused("denied_by_policy", "click_ui_element", button);
    two.guarded.refused("denied_by_policy", "close_window", json!({ "window": two.window }));
    // It can be seen, and the other one worked.
    let found = json!({ "selector": "button[name=\"OK\"]", "window": two.window });
    assert_eq!(two.guarded.call("find_elements", found)["elements"].as_array().unwrap().len(), 1);
    two.guarded.confirmed("focus_window", json!({ "window": two.scene.window }));
    two.guarded
        .call("click_ui_element", json!({ "element": "button[name=\"OK\"]", "window": two.scene.window }));
    let came = two.other.events();
    let input = ["press", "release", "click", "key", "text", "clicked"];
    let reached: Vec<_> =
        came[mark..].iter().filter(|event| input.iter().any(|kind| event["event"] == **kind)).collect();
    assert!(reached.is_empty(), "{reached:#?}");
}

/// A picture of the whole screen as rows of red, green, blue.
fn picture(client: &mut Client, name: &str) -> (usize, Vec<[u8; 3]>) {
    let path = std::env::temp_dir().join(format!("deskhand-guards-{}-{name}.png", std::process::id()));
    let whole =
        json!({ "format": "png", "max_width": 0, "max_height": 0, "file_path": path, "overwrite": true });
    client.call("take_screenshot", whole);
    let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let mut decoder = png::Decoder::new(file);
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let _ = std::fs::remove_file(&path);
    let size = info.color_type.samples();
    let pixels = bytes[..info.buffer_size()].chunks(size);
    let color = |pixel: &[u8]| if size < 3 { [pixel[0]; 3] } else { [pixel[0], pixel[1], pixel[2]] };
    (info.width as usize, pixels.map(color).collect())
}

#[test]
fn a_hidden_applications_pixels_are_in_no_picture_and_those_of_others_stay() {
    let Some(mut two) = Two::open("--hide-app") else { return };
    let windows = two.guarded.call("list_windows", json!({}));
    assert!(!windows.to_string().contains("qt5"), "{windows}");
    two.guarded.refused("window_not_found", "get_window", json!({ "window": two.window }));
    let found = json!({ "selector": "button[name=\"OK\"]" });
    let found = two.guarded.call("find_elements", found);
    assert_eq!(found["elements"].as_array().unwrap().len(), 1, "that of the other window: {found}");
    let inside = two.inside();
    two.guarded.refused("denied_by_policy", "click", inside);

    let side = |name: &str| usize::try_from(two.bounds[name].as_i64().unwrap()).unwrap();
    let (x, y, width, height) = (side("x"), side("y"), side("width"), side("height"));
    for above in [true, false] {
        let front = if above { &two.window } else { &two.scene.window };
        two.scene.client.confirmed("focus_window", json!({ "window": front }));
        let front =
            two.scene.client.call("get_window", json!({ "window": two.scene.window }))["bounds"].clone();
        let other = |name: &str| usize::try_from(front[name].as_i64().unwrap()).unwrap();
        let (stride, plain) = picture(&mut two.scene.client, "plain");
        let (_, seen) = picture(&mut two.guarded, "seen");
        let (mut masked, mut kept) = (0, 0);
        for (place, (seen, plain)) in seen.iter().zip(&plain).enumerate() {
            let (px, py) = (place % stride, place / stride);
            let within = |x: usize, y: usize, width: usize, height: usize| {
                (x..x + width).contains(&px) && (y..y + height).contains(&py)
            };
            let covered = !above && within(other("x"), other("y"), other("width"), other("height"));
            if within(x, y, width, height) && !covered {
                assert_eq!(*seen, [128; 3], "({px}, {py}) shows what is hidden");
                masked += 1;
            } else if (px as i64 - x as i64).abs() > 1 && covered {
                assert_eq!(seen, plain, "({px}, {py}) is another's");
                kept += 1;
            }
        }
        assert!(1000 < masked && (above || 1000 < kept), "above {above}: {masked} masked, {kept} kept");
        let elsewhere = 21 * stride + 700;
        assert_eq!(seen[elsewhere], plain[elsewhere]);
    }
    // Text that is only pixels is masked with them.
    let region = json!({ "x": x, "y": y + 30, "width": 1270 - x, "height": 790 - y - 30 });
    two.scene.client.confirmed("focus_window", json!({ "window": two.window }));
    let (ok, read) = two.guarded.try_call("extract_text", region);
    assert!(ok && !read.to_string().contains("OK"), "{read}");
}
