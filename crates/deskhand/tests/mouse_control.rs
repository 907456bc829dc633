//! `mouse_control` through MCP on real desktops: a test for each scenario, requirement and criterion of its
//! two specifications, named after it. What counts is what the application wrote down of what reached it, and
//! what the X server's own tools say.
//!
//! Windows' own means have their counterparts: SendInput is XTEST, an elevated process is another user's, the
//! secure desktop is a screen locker, GetDoubleClickTime is the settings daemon's `Net/DoubleClickTime`.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use stage::client::Client;
use stage::scene::{Scene, near};
use stage::{PrivateDesktop, Stage};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TOOL: &str = "mouse_control";
const TWO: &[&str] = &["--size", "1280x800,1024x768"];
const THREE: &[&str] = &["--size", "1280x800,1024x768,640x480"];

/// A desktop with a client and without any window.
struct Bare {
    client: Client,
    desktop: PrivateDesktop,
}

impl Bare {
    fn open(options: &[&str]) -> Option<Bare> {
        let desktop = desktop(options)?;
        Some(Bare { client: Client::start(&desktop), desktop })
    }

    /// Two monitors of which the left one is not the primary: its points lie at negative places from there.
    fn with_a_monitor_to_the_left() -> Option<Bare> {
        let desktop = desktop(TWO)?;
        let layout = "--delmonitor DISPLAY-0 --delmonitor DISPLAY-1 --setmonitor left 1280/338x800/211+0+0 \
                      screen --setmonitor *right 1024/270x768/203+1280+0 none";
        let words = layout.split_whitespace();
        assert!(desktop.command("xrandr").args(words).status().unwrap().success());
        Some(Bare { client: Client::start(&desktop), desktop })
    }
}

fn desktop(options: &[&str]) -> Option<PrivateDesktop> {
    if !Path::new("/usr/bin/Xvfb").exists() {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "Xvfb is missing");
        eprintln!("SKIPPED: Xvfb is missing; REQUIRE_DESKTOP=x11 makes this fail.");
        return None;
    }
    Some(PrivateDesktop::start(options))
}

/// A call that has to succeed, flatly.
#[track_caller]
fn done(client: &mut Client, arguments: Value) -> Value {
    let answer = client.call(TOOL, arguments.clone());
    assert_eq!(answer["success"], true, "{arguments}: {answer}");
    answer
}

/// A call that has to be refused with a code, flatly.
#[track_caller]
fn refused(client: &mut Client, code: &str, arguments: Value) -> Value {
    let (fine, answer) = client.try_call(TOOL, arguments.clone());
    assert!(!fine && answer["success"] == false && answer["error_code"] == code, "{arguments}: {answer}");
    assert!(answer["error"].is_string() && answer["error_details"].is_object(), "{arguments}: {answer}");
    answer
}

/// Where the X server says that the pointer is.
fn pointer(desktop: &PrivateDesktop) -> (i64, i64) {
    let told = desktop.command("xdotool").args(["getmouselocation", "--shell"]).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let number = |name: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{told}"));
        line.parse().unwrap()
    };
    (number("X="), number("Y="))
}

fn xdotool(desktop: &PrivateDesktop, arguments: &[&str]) {
    assert!(desktop.command("xdotool").args(arguments).status().unwrap().success());
}

/// The arguments of an action at a point of the canvas, on monitor 0.
fn on_canvas(scene: &Scene, action: &str, (x, y): (i64, i64), mut more: Value) -> Value {
    more["action"] = json!(action);
    more["monitorIndex"] = json!(0);
    scene.on_canvas(x, y, more)
}

/// The arguments of a drag between two points of widgets.
fn drag(scene: &Scene, start: (&str, i64, i64), end: (&str, i64, i64), mut more: Value) -> Value {
    let (start, end) = (scene.point(start.0, start.1, start.2), scene.point(end.0, end.1, end.2));
    for (name, value) in [("startX", start.0), ("startY", start.1), ("endX", end.0), ("endY", end.1)] {
        more[name] = json!(value);
    }
    more["action"] = json!("drag");
    more["monitorIndex"] = json!(0);
    more
}

fn is_click(event: &Value) -> bool {
    event["event"] == "click" && event["widget"] == "canvas"
}

fn is_edge(event: &Value) -> bool {
    event["event"] == "press" || event["event"] == "release"
}

/// Does an action on the canvas and gives the clicks that came of it.
#[track_caller]
fn clicks(scene: &mut Scene, arguments: Value, count: usize) -> Vec<Value> {
    let mark = scene.stage.mark();
    done(&mut scene.client, arguments);
    scene.exactly(count, "clicks", mark, is_click)
}

/// What the application sees held when the pointer moves over it.
#[track_caller]
fn held(scene: &mut Scene) -> (Value, Value) {
    scene.settle();
    let events = scene.stage.events();
    let motion = events.iter().rev().find(|event| event["event"] == "motion").expect("a motion");
    (motion["modifiers"].clone(), motion["buttons"].clone())
}

#[track_caller]
fn wait<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let call = Call::with_timeout(Duration::from_secs(20));
    call.until(what, || Ok(probe())).unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Ends with the value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Something else that runs on the desktop; see stage/x_client.py.
fn x_client(desktop: &PrivateDesktop, arguments: &[&str]) -> Process {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stage/x_client.py");
    let mut client = desktop.command("/usr/bin/python3");
    let mut child = client.arg(script).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "x_client.py {arguments:?}");
    Process(child)
}

// ---- User story 1: move -----------------------------------------------------------------------------------

/// The pointer goes to the point, and the reply says that it is there.
#[test]
fn us1_1_move_reports_the_final_position() {
    let Some(mut bare) = Bare::open(&[]) else { return };
    let moved = done(&mut bare.client, json!({ "action": "move", "x": 500, "y": 300, "monitorIndex": 0 }));
    assert_eq!(moved["final_position"], json!({ "x": 500, "y": 300 }));
    assert_eq!(moved["effect"], "confirmed", "{moved}");
    assert_eq!(pointer(&bare.desktop), (500, 300));
}

/// A monitor left of the primary one is reached, whose points lie at negative places from there.
#[test]
fn us1_2_a_monitor_left_of_the_primary_is_reached() {
    let Some(mut bare) = Bare::with_a_monitor_to_the_left() else { return };
    let moved = done(&mut bare.client, json!({ "action": "move", "x": 780, "y": 200, "monitorIndex": 1 }));
    assert_eq!((&moved["monitorIndex"], &moved["monitorWidth"]), (&json!(1), &json!(1280)), "{moved}");
    assert_eq!(moved["final_position"], json!({ "x": 780, "y": 200 }));
    // 500 to the left of the primary monitor.
    assert_eq!(pointer(&bare.desktop), (1280 - 500, 200));
    done(&mut bare.client, json!({ "action": "move", "x": 0, "y": 0, "monitorIndex": 0 }));
    assert_eq!(pointer(&bare.desktop), (1280, 0));
}

/// A point outside is refused with the bounds that are valid, and the pointer stays.
#[test]
fn us1_3_points_outside_are_refused_with_the_bounds() {
    let Some(mut bare) = Bare::open(TWO) else { return };
    let before = pointer(&bare.desktop);
    for (x, y) in [(99_999, 5), (-500, 200), (5, 800), (1280, 0)] {
        let outside = json!({ "action": "move", "x": x, "y": y, "monitorIndex": 0 });
        let answer = refused(&mut bare.client, "coordinates_out_of_bounds", outside);
        let bounds = json!({ "left": 0, "top": 0, "width": 1280, "height": 800 });
        assert_eq!(answer["error_details"]["valid_bounds"], bounds, "{answer}");
    }
    assert_eq!(pointer(&bare.desktop), before);
}

/// On a desktop that is scaled to 150 % a coordinate still is a pixel of the screen.
#[test]
fn us1_4_coordinates_are_pixels_of_the_screen_at_150_percent() {
    at_scale("150");
}

/// Presses in a window whose toolkit draws at a scale, and compares with what the toolkit makes of it.
fn at_scale(percent: &str) {
    let Some(mut bare) = Bare::open(&["--size", "1920x1400"]) else { return };
    let factor = percent.parse::<f64>().unwrap() / 100.0;
    // What toolkits and desktops go by: the one sets the dots per inch, the other scales by itself.
    let mut xrdb = bare.desktop.command("xrdb");
    let dots = format!("Xft.dpi: {}\n", (96.0 * factor).round());
    let mut merging = xrdb.arg("-merge").stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut merging.stdin.take().unwrap(), dots.as_bytes()).unwrap();
    assert!(merging.wait().unwrap().success());
    let stage = Stage::start("qt5", |program| {
        let mut command = bare.desktop.command(program);
        command.env("QT_SCALE_FACTOR", factor.to_string()).env("QT_FONT_DPI", "96");
        command
    });
    let window = json!({ "window_title": stage.title, "timeout_ms": 20_000 });
    let window = bare.client.call("wait_for", window)["window"]["id"].clone();
    bare.client.confirmed("set_window", json!({ "window": window, "x": 3, "y": 5 }));
    let bounds = bare.client.call("get_window", json!({ "window": window }))["bounds"].clone();
    let number = |name: &str| bounds[name].as_i64().unwrap();
    // The canvas fills the lower end of the window.
    let bottom = number("y") + number("height");
    for (x, up) in [(101, 60), (350, 47), (201, 101)] {
        let mark = stage.mark();
        let (x, y) = (number("x") + x, bottom - up);
        let click = json!({ "action": "click", "x": x, "y": y, "monitorIndex": 0 });
        let clicked = done(&mut bare.client, click);
        assert_eq!(clicked["final_position"], json!({ "x": x, "y": y }), "at {percent} %");
        assert_eq!(pointer(&bare.desktop), (x, y), "at {percent} %");
        let press = stage.wait_since(mark, "press", |event| event["event"] == "press");
        let seen = |name: &str| press[name].as_f64().unwrap() * factor;
        let off = (seen("screen_x") - x as f64).abs().max((seen("screen_y") - y as f64).abs());
        // The toolkit tells whole pixels of its own, which are larger.
        assert!(off <= factor, "{off} pixels off at {percent} %: {press}");
    }
}

// ---- User story 2: click ----------------------------------------------------------------------------------

/// Without coordinates a press and a release of the left button happen where the pointer is.
#[test]
fn us2_1_a_click_happens_where_the_pointer_is() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let there = on_canvas(&scene, "move", (60, 70), json!({}));
    done(&mut scene.client, there);
    let mark = scene.stage.mark();
    done(&mut scene.client, json!({ "action": "click" }));
    let edges = scene.exactly(2, "press and release", mark, is_edge);
    assert_eq!((&edges[0]["event"], &edges[1]["event"]), (&json!("press"), &json!("release")));
    assert!(edges.iter().all(|event| event["button"] == 1 && near(event, (60, 70), 1)), "{edges:#?}");
}

/// With coordinates the pointer goes there first.
#[test]
fn us2_2_a_click_at_coordinates_moves_there_first() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let there = on_canvas(&scene, "click", (160, 90), json!({}));
    let clicks = clicks(&mut scene, there, 1);
    assert_eq!(clicks[0]["button"], 1);
    assert!(near(&clicks[0], (160, 90), 1), "{clicks:#?}");
}

/// A window of another user's process gets no click, and the reply says why.
#[test]
fn us2_3_a_window_of_another_user_is_refused_with_the_reason() {
    let Some(mut foreign) = Foreign::open() else { return };
    let click = on_canvas(&foreign.scene, "click", (60, 70), json!({}));
    let answer = refused(&mut foreign.client, "elevated_process_target", click);
    let text = answer["error"].as_str().unwrap();
    assert!(text.contains("another user") && text.contains("Stage (gtk3)"), "{answer}");
    assert!(answer["error_details"]["remedy"].is_string(), "{answer}");
}

/// A server of a user who owns nothing else on the desktop: its windows are somebody else's.
struct Foreign {
    client: Client,
    scene: Scene,
    folder: PathBuf,
}

impl Foreign {
    const NOBODY: u32 = 65_534;

    fn open() -> Option<Foreign> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can start a process of another user.");
            return None;
        }
        let scene = Scene::open("gtk3")?;
        let folder = std::env::temp_dir().join(format!("deskhand-nobody-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let cookie = folder.join("cookie");
        let variable = |name: &str| {
            let mut pairs = scene.desktop.environment.iter();
            pairs.find(|(key, _)| key == name).map(|(_, value)| value.clone()).unwrap()
        };
        fs::copy(variable("XAUTHORITY"), &cookie).unwrap();
        // Where it was built another user may not look.
        let program = folder.join("program");
        let built = env!("CARGO_BIN_EXE_deskhand");
        fs::hard_link(built, &program).or_else(|_| fs::copy(built, &program).map(drop)).unwrap();
        for path in [&folder, &cookie] {
            chown(path, Some(Foreign::NOBODY), Some(Foreign::NOBODY)).unwrap();
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let display = variable("DISPLAY");
        let client = Client::on(|_| {
            let mut command = Command::new(&program);
            command.env_clear().env("DISPLAY", display).env("XAUTHORITY", &cookie).env("HOME", &folder);
            command.env("XDG_RUNTIME_DIR", &folder).env("PATH", "/usr/bin:/bin").current_dir(&folder);
            command.uid(Foreign::NOBODY).gid(Foreign::NOBODY);
            command
        });
        Some(Foreign { client, scene, folder })
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A locked screen gets no click.
#[test]
fn us2_4_a_locked_screen_is_refused() {
    while_locked(|client, there| {
        let answer = refused(client, "secure_desktop_active", there);
        assert!(answer["error"].as_str().unwrap().contains("locker"), "{answer}");
    });
}

/// Locks the screen, and checks that nothing reached the window below meanwhile.
fn while_locked(work: impl FnOnce(&mut Client, Value)) {
    if !Path::new("/usr/bin/i3lock").exists() {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "i3lock is missing");
        return;
    }
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let there = on_canvas(&scene, "click", (60, 70), json!({}));
    let mark = scene.stage.mark();
    let locker = scene.desktop.command("i3lock").arg("--nofork").stderr(Stdio::null()).spawn().unwrap();
    let locker = Process(locker);
    let probe = json!({ "x": 1, "y": 1 });
    wait("the locker to be seen", || (!scene.client.try_call("move_mouse", probe.clone()).0).then_some(()));
    work(&mut scene.client, there.clone());
    drop(locker);
    wait("the locker to be gone", || scene.client.try_call("move_mouse", probe.clone()).0.then_some(()));
    let reached = scene.stage.events().into_iter().skip(mark).find(is_edge);
    assert_eq!(reached, None, "input reached a locked session");
    done(&mut scene.client, there);
}

// ---- User stories 3 to 5: the other clicks ----------------------------------------------------------------

/// Two left clicks come soon enough after each other to be one double click.
#[test]
fn us3_1_a_double_click_is_two_clicks_in_time() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let there = on_canvas(&scene, "move", (60, 70), json!({}));
    done(&mut scene.client, there);
    let clicks = clicks(&mut scene, json!({ "action": "double_click" }), 2);
    assert_eq!((&clicks[0]["count"], &clicks[1]["count"]), (&json!(1), &json!(2)), "{clicks:#?}");
    assert!(clicks.iter().all(|click| click["button"] == 1 && near(click, (60, 70), 1)), "{clicks:#?}");
}

/// With coordinates the pointer goes there first.
#[test]
fn us3_2_a_double_click_at_coordinates_moves_there_first() {
    let Some(mut scene) = Scene::open("qt5") else { return };
    let there = on_canvas(&scene, "double_click", (200, 40), json!({}));
    let clicks = clicks(&mut scene, there, 2);
    assert_eq!(clicks[1]["count"], 2);
    assert!(clicks.iter().all(|click| near(click, (200, 40), 1)), "{clicks:#?}");
}

/// A press and a release of the right button happen where the pointer is.
#[test]
fn us4_1_a_right_click_happens_where_the_pointer_is() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let there = on_canvas(&scene, "move", (60, 70), json!({}));
    done(&mut scene.client, there);
    let clicks = clicks(&mut scene, json!({ "action": "right_click" }), 1);
    assert!(clicks[0]["button"] == 3 && near(&clicks[0], (60, 70), 1), "{clicks:#?}");
}

/// With coordinates the pointer goes there first; what opens there is seen.
#[test]
fn us4_2_a_right_click_at_coordinates_opens_the_menu_there() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let there = on_canvas(&scene, "right_click", (120, 30), json!({}));
    let clicks = clicks(&mut scene, there, 1);
    assert!(clicks[0]["button"] == 3 && near(&clicks[0], (120, 30), 1), "{clicks:#?}");
    // A text has a menu of its own, which is what right clicks are for.
    let (x, y) = scene.stage.middle("entry");
    let place = scene.stage.place("entry");
    let (x, y) = scene.point("entry", x - place.0, y - place.1);
    let menu = json!({ "action": "right_click", "x": x, "y": y, "monitorIndex": 0 });
    let opened = done(&mut scene.client, menu);
    assert_eq!(opened["effect"], "confirmed", "{opened}");
    scene.client.call("wait_for", json!({ "selector": "menu_item[name~=\"Paste\"]", "timeout_ms": 10_000 }));
}

/// A press and a release of the middle button happen where the pointer is.
#[test]
fn us5_1_a_middle_click_happens_where_the_pointer_is() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let there = on_canvas(&scene, "move", (60, 70), json!({}));
    done(&mut scene.client, there);
    let clicks = clicks(&mut scene, json!({ "action": "middle_click" }), 1);
    assert!(clicks[0]["button"] == 2 && near(&clicks[0], (60, 70), 1), "{clicks:#?}");
}

// ---- User story 6: modifiers ------------------------------------------------------------------------------

/// Ctrl is down while the button is.
#[test]
fn us6_1_ctrl_is_held_during_a_click() {
    with_modifiers(json!(["ctrl"]));
}

/// Shift is down while the button is.
#[test]
fn us6_2_shift_is_held_during_a_click() {
    with_modifiers(json!(["shift"]));
}

/// Several are down at once.
#[test]
fn us6_3_several_modifiers_are_held_at_once() {
    with_modifiers(json!(["ctrl", "shift"]));
}

fn with_modifiers(modifiers: Value) {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let there = on_canvas(&scene, "click", (60, 70), json!({ "modifiers": modifiers }));
    let clicks = clicks(&mut scene, there, 1);
    assert_eq!(clicks[0]["modifiers"], modifiers, "{clicks:#?}");
}

/// After a click with modifiers none of them is down any more.
#[test]
fn us6_4_no_stuck_modifiers() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    for modifiers in [json!(["ctrl"]), json!(["shift", "alt"]), json!(["ctrl", "shift", "alt", "meta"])] {
        let there = on_canvas(&scene, "click", (60, 70), json!({ "modifiers": modifiers }));
        done(&mut scene.client, there);
        assert_eq!(held(&mut scene), (json!([]), json!([])), "after {modifiers}");
    }
}

// ---- User story 7: drag -----------------------------------------------------------------------------------

/// The button goes down at the start and up at the end, and the pointer passes the way with it down.
#[test]
fn us7_1_a_drag_presses_at_its_start_and_lets_go_at_its_end() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let mark = scene.stage.mark();
    let way = drag(&scene, ("canvas", 40, 40), ("canvas", 340, 130), json!({}));
    let dragged = done(&mut scene.client, way.clone());
    assert_eq!(dragged["final_position"], json!({ "x": way["endX"], "y": way["endY"] }), "{dragged}");
    let edges = scene.exactly(2, "press and release", mark, is_edge);
    assert!(edges[0]["event"] == "press" && near(&edges[0], (40, 40), 1), "{edges:#?}");
    assert!(edges[1]["event"] == "release" && near(&edges[1], (340, 130), 1), "{edges:#?}");
    let events = scene.stage.events();
    let motions = events.iter().skip(mark);
    let motions = motions.filter(|event| event["event"] == "motion" && event["buttons"] == json!([1]));
    assert!(5 <= motions.count(), "the way has steps");
}

/// Dropped where nothing takes it, the button goes up all the same and the reply says where.
#[test]
fn us7_2_a_drop_where_nothing_takes_it_still_ends_the_drag() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let way = drag(&scene, ("source", 20, 20), ("canvas", 200, 100), json!({}));
    let mark = scene.stage.mark();
    let dropped = done(&mut scene.client, way.clone());
    assert_eq!(dropped["final_position"], json!({ "x": way["endX"], "y": way["endY"] }), "{dropped}");
    assert_ne!(dropped["effect"], "confirmed", "nothing came of it: {dropped}");
    scene.stage.wait_since(mark, "drag", |event| event["event"] == "drag");
    let (_, buttons) = held(&mut scene);
    assert_eq!(buttons, json!([]));
    let events = scene.stage.events();
    assert!(!events.iter().skip(mark).any(|event| event["event"] == "drop"));
}

/// The button that is named is the one that drags.
#[test]
fn us7_3_a_drag_uses_the_button_that_is_named() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    for (name, button) in [("right", 3), ("middle", 2), ("left", 1)] {
        let mark = scene.stage.mark();
        let way = drag(&scene, ("canvas", 40, 40), ("canvas", 240, 100), json!({ "button": name }));
        done(&mut scene.client, way);
        let edges = scene.exactly(2, "press and release", mark, is_edge);
        assert!(edges.iter().all(|event| event["button"] == button), "{name}: {edges:#?}");
    }
}

// ---- User story 8: scroll ---------------------------------------------------------------------------------

/// How far down the scroll area is.
fn depth(scene: &Scene) -> i64 {
    let events = scene.stage.events();
    let last = events.iter().rev().find(|event| event["event"] == "scroll" && event["widget"] == "rows");
    last.map_or(0, |event| event["y"].as_i64().unwrap())
}

/// Scrolls over the rows, and says how far down they are when that has had its effect.
#[track_caller]
fn scroll(scene: &mut Scene, direction: &str, more: Value) -> i64 {
    let (x, y) = scene.point("rows", 40, 60);
    let mut turn = json!({ "action": "scroll", "direction": direction, "x": x, "y": y, "monitorIndex": 0 });
    turn.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mark = scene.stage.mark();
    let answer = done(&mut scene.client, turn.clone());
    assert_eq!(answer["effect"], "confirmed", "{turn}: {answer}");
    let moved = |event: &Value| event["event"] == "scroll" && event["widget"] == "rows";
    scene.stage.wait_since(mark, "scroll", moved);
    scene.client.call("wait_for", json!({ "still_ms": 150, "window": scene.window }));
    depth(scene)
}

/// Down shows what comes further down.
#[test]
fn us8_1_the_wheel_turns_down() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    assert!(0 < scroll(&mut scene, "down", json!({})));
}

/// Up goes back.
#[test]
fn us8_2_the_wheel_turns_up() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let down = scroll(&mut scene, "down", json!({ "amount": 4 }));
    assert!(scroll(&mut scene, "up", json!({ "amount": 2 })) < down);
}

/// Left and right turn the wheel sideways.
#[test]
fn us8_3_the_wheel_turns_left_and_right() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    for (direction, across) in [("left", -1.0), ("right", 1.0)] {
        let mark = scene.stage.mark();
        let there = on_canvas(&scene, "scroll", (60, 70), json!({ "direction": direction }));
        // The canvas sees the wheel and nothing there scrolls, which the reply does not call a success.
        refused(&mut scene.client, "not_scrollable", there);
        let turned = scene.exactly(1, "turn of the wheel", mark, |event| event["event"] == "wheel");
        let (dx, dy) = (turned[0]["dx"].as_f64(), turned[0]["dy"].as_f64());
        assert_eq!((dx, dy), (Some(across), Some(0.0)), "{direction}");
    }
}

/// An amount of 3 is three clicks of the wheel.
#[test]
fn us8_4_an_amount_is_clicks_of_the_wheel() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let mark = scene.stage.mark();
    let there = on_canvas(&scene, "scroll", (60, 70), json!({ "direction": "down", "amount": 3 }));
    refused(&mut scene.client, "not_scrollable", there);
    let turned = scene.exactly(3, "turns of the wheel", mark, |event| event["event"] == "wheel");
    assert!(turned.iter().all(|event| event["dy"].as_f64() == Some(1.0)), "{turned:#?}");
    let one = scroll(&mut scene, "down", json!({ "amount": 1 }));
    let four = scroll(&mut scene, "down", json!({ "amount": 3 }));
    assert!((four - 4 * one).abs() <= 4, "one click {one}, four clicks {four}");
}

/// With coordinates the pointer goes there first.
#[test]
fn us8_5_a_scroll_at_coordinates_moves_there_first() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    done(&mut scene.client, json!({ "action": "move", "x": 1, "y": 1, "monitorIndex": 0 }));
    assert!(0 < scroll(&mut scene, "down", json!({})));
    assert_eq!(pointer(&scene.desktop), scene.point("rows", 40, 60));
}

// ---- Edge cases -------------------------------------------------------------------------------------------

/// The window goes away while something is dragged in it: the button goes up, and the success is partial.
#[test]
fn edge_mc_1_a_window_lost_during_a_drag_is_a_partial_success() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let way = drag(&scene, ("canvas", 40, 40), ("canvas", 340, 130), json!({}));
    let mark = scene.stage.mark();
    let (client, stage) = (&mut scene.client, &scene.stage);
    let answer = std::thread::scope(|scope| {
        let dragging = scope.spawn(|| done(client, way.clone()));
        stage.wait_since(mark, "press", |event| event["event"] == "press");
        kill_process(stage.pid(), Signal::KILL).unwrap();
        dragging.join().unwrap()
    });
    assert_eq!(answer["partial"], true, "{answer}");
    assert_eq!(answer["error_code"], "window_lost_during_drag", "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("Stage (gtk3)"), "{answer}");
    assert_eq!(answer["final_position"], json!({ "x": way["endX"], "y": way["endY"] }), "{answer}");
    // Another window there sees no button down.
    let mark = scene.stage.mark();
    let next = Stage::start("qt5", |program| scene.desktop.command(program));
    let title = json!({ "window_title": next.title, "timeout_ms": 20_000 });
    let bounds = scene.client.call("wait_for", title)["window"]["bounds"].clone();
    assert!(bounds.is_object(), "{mark}");
    let number = |name: &str| bounds[name].as_i64().unwrap();
    for up in [60, 70] {
        let (x, y) = (number("x") + 200, number("y") + number("height") - up);
        done(&mut scene.client, json!({ "action": "move", "x": x, "y": y, "monitorIndex": 0 }));
    }
    let motion = next.wait_for("motion", |event| event["event"] == "motion");
    assert_eq!(motion["buttons"], json!([]), "{motion}");
}

/// Each of many calls in rapid succession is finished when it returns, and they arrive in order.
#[test]
fn edge_mc_2_rapid_calls_arrive_one_after_the_other() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let mark = scene.stage.mark();
    for n in 0..20 {
        let there = on_canvas(&scene, "click", (20 + 15 * n, 70), json!({}));
        done(&mut scene.client, there);
    }
    let edges = scene.exactly(40, "press and release", mark, is_edge);
    for (n, pair) in (0_i64..).zip(edges.chunks(2)) {
        assert!(pair[0]["event"] == "press" && pair[1]["event"] == "release", "{pair:#?}");
        assert!(pair.iter().all(|event| near(event, (20 + 15 * n, 70), 1)), "{n}: {pair:#?}");
    }
}

/// Requests that a client sends without waiting for the replies take turns.
#[test]
fn edge_mc_3_concurrent_requests_take_turns() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let mark = scene.stage.mark();
    for n in 0..5 {
        let way = drag(&scene, ("canvas", 20 + 30 * n, 40), ("canvas", 40 + 30 * n, 120), json!({}));
        let params = json!({ "name": TOOL, "arguments": way });
        let call =
            json!({ "jsonrpc": "2.0", "id": format!("d{n}"), "method": "tools/call", "params": params });
        scene.client.send(&call);
    }
    let edges = scene.exactly(10, "press and release", mark, is_edge);
    for (n, pair) in (0_i64..).zip(edges.chunks(2)) {
        assert!(pair[0]["event"] == "press" && near(&pair[0], (20 + 30 * n, 40), 1), "{n}: {pair:#?}");
        assert!(pair[1]["event"] == "release" && near(&pair[1], (40 + 30 * n, 120), 1), "{n}: {pair:#?}");
    }
}

/// What the person holds is used and left held; only what the tool pressed is let go of.
#[test]
fn edge_mc_4_modifiers_held_by_the_person_are_left_alone() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    xdotool(&scene.desktop, &["keydown", "ctrl"]);
    let there = on_canvas(&scene, "click", (60, 70), json!({ "modifiers": ["ctrl", "shift"] }));
    let both = clicks(&mut scene, there, 1);
    assert_eq!(both[0]["modifiers"], json!(["ctrl", "shift"]));
    assert_eq!(held(&mut scene).0, json!(["ctrl"]), "shift was the tool's, ctrl is the person's");
    let there = on_canvas(&scene, "click", (260, 70), json!({}));
    let theirs = clicks(&mut scene, there, 1);
    assert_eq!(theirs[0]["modifiers"], json!(["ctrl"]));
    xdotool(&scene.desktop, &["keyup", "ctrl"]);
    assert_eq!(held(&mut scene).0, json!([]));
}

/// Fractions are cut off, not rounded.
#[test]
fn edge_mc_5_fractions_are_truncated() {
    let Some(mut bare) = Bare::open(&[]) else { return };
    for (x, y, place) in [(500.9, 300.99, (500, 300)), (0.5, 0.999, (0, 0)), (1279.9, 799.5, (1279, 799))] {
        let moved = done(&mut bare.client, json!({ "action": "move", "x": x, "y": y, "monitorIndex": 0 }));
        assert_eq!(moved["final_position"], json!({ "x": place.0, "y": place.1 }));
        assert_eq!(pointer(&bare.desktop), place);
    }
}

/// Where an application keeps the pointer to itself it is tried, and told that it did not get there.
#[test]
fn edge_mc_6_a_pointer_that_is_confined_is_told() {
    let Some(mut bare) = Bare::open(&[]) else { return };
    let game = x_client(&bare.desktop, &["confine", "100", "100", "200", "150"]);
    for action in ["move", "click"] {
        let outside = json!({ "action": action, "x": 600, "y": 500, "monitorIndex": 0 });
        let answer = refused(&mut bare.client, "send_input_failed", outside);
        let (x, y) = pointer(&bare.desktop);
        assert!((100..300).contains(&x) && (100..250).contains(&y), "({x}, {y})");
        assert!(answer["error"].as_str().unwrap().contains(&format!("is at ({x}, {y})")), "{answer}");
    }
    done(&mut bare.client, json!({ "action": "move", "x": 150, "y": 120, "monitorIndex": 0 }));
    drop(game);
    done(&mut bare.client, json!({ "action": "move", "x": 600, "y": 500, "monitorIndex": 0 }));
}

// ---- Functional requirements ------------------------------------------------------------------------------

/// Input is made as a device makes it, by XTEST: to the application it is the server's and nobody else's.
#[test]
fn fr_001_input_comes_from_the_servers_devices() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let mark = scene.stage.mark();
    let there = on_canvas(&scene, "click", (60, 70), json!({}));
    done(&mut scene.client, there);
    let edges = scene.exactly(2, "press and release", mark, is_edge);
    assert!(edges.iter().all(|event| event["sent"] == false), "{edges:#?}");
}

/// Nothing is sent past the server (XSendEvent), the way that applications may ignore, for any kind of event.
#[test]
fn fr_002_no_event_is_sent_past_the_server() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let mark = scene.stage.mark();
    let way = drag(&scene, ("canvas", 40, 40), ("canvas", 340, 130), json!({}));
    done(&mut scene.client, way);
    let turn = on_canvas(&scene, "scroll", (60, 70), json!({ "direction": "down" }));
    scene.client.try_call(TOOL, turn);
    scene.stage.wait_since(mark, "wheel", |event| event["event"] == "wheel");
    let events = scene.stage.events();
    let told: Vec<&Value> = events.iter().skip(mark).filter(|event| event.get("sent").is_some()).collect();
    assert!(8 < told.len(), "{told:#?}");
    assert!(told.iter().all(|event| event["sent"] == false), "{told:#?}");
}

/// Coordinates are the screen's: when the window moves, the same point is another one in it.
#[test]
fn fr_003_coordinates_are_not_relative_to_a_window() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let there = on_canvas(&scene, "click", (260, 70), json!({}));
    let before = clicks(&mut scene, there.clone(), 1);
    let bounds = scene.client.call("get_window", json!({ "window": scene.window }))["bounds"].clone();
    let left = bounds["x"].as_i64().unwrap();
    let moved = json!({ "window": scene.window, "x": left + 90, "y": bounds["y"] });
    scene.client.confirmed("set_window", moved);
    scene.moved(90, 0);
    let after = clicks(&mut scene, there, 1);
    assert!(near(&before[0], (260, 70), 1) && near(&after[0], (170, 70), 1), "{before:?} {after:?}");
}

/// A window on a monitor left of the primary one gets the click.
#[test]
fn fr_004_a_click_arrives_on_every_monitor() {
    let Some(bare) = Bare::with_a_monitor_to_the_left() else { return };
    let mut scene = Scene::of(bare.desktop, "gtk3");
    for (index, left) in [(1, 0), (0, 1280)] {
        let bounds = |scene: &mut Scene| {
            let bounds = scene.client.call("get_window", json!({ "window": scene.window }))["bounds"].clone();
            (bounds["x"].as_i64().unwrap(), bounds["y"].as_i64().unwrap())
        };
        let before = bounds(&mut scene);
        scene.client.confirmed("set_window", json!({ "window": scene.window, "x": left + 20, "y": 20 }));
        let after = bounds(&mut scene);
        scene.moved(after.0 - before.0, after.1 - before.1);
        let (x, y) = scene.point("canvas", 60, 70);
        let click = json!({ "action": "click", "x": x - left, "y": y, "monitorIndex": index });
        let clicks = clicks(&mut scene, click, 1);
        assert!(near(&clicks[0], (60, 70), 1), "monitor {index}: {clicks:#?}");
    }
}

/// A window that draws everything at twice the size gets the click at the pixel that was named.
#[test]
fn fr_005_coordinates_stay_physical_pixels_where_windows_are_scaled() {
    at_scale("200");
}

/// X11 needs no normalized coordinates; what the formula is for holds: each corner is reached to the pixel.
#[test]
fn fr_006_every_corner_of_every_monitor_is_reached_exactly() {
    let Some(mut bare) = Bare::with_a_monitor_to_the_left() else { return };
    for (index, left, width, height) in [(0, 1280, 1024, 768), (1, 0, 1280, 800)] {
        for (x, y) in [(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1), (width / 3, 1)] {
            let corner = json!({ "action": "move", "x": x, "y": y, "monitorIndex": index });
            assert_eq!(done(&mut bare.client, corner)["final_position"], json!({ "x": x, "y": y }));
            assert_eq!(pointer(&bare.desktop), (left + x, y));
        }
    }
}

/// The check comes before any attempt: neither button nor pointer has done anything.
#[test]
fn fr_007_another_users_window_is_seen_before_anything_is_tried() {
    let Some(mut foreign) = Foreign::open() else { return };
    let Foreign { client, scene, .. } = &mut foreign;
    done(client, json!({ "action": "move", "x": 1, "y": 1, "monitorIndex": 0 }));
    let mark = scene.stage.mark();
    let click = on_canvas(scene, "click", (60, 70), json!({ "modifiers": ["ctrl"] }));
    refused(client, "elevated_process_target", click);
    assert_eq!(pointer(&scene.desktop), (1, 1));
    scene.settle();
    let reached = scene.stage.events().into_iter().skip(mark).find(is_edge);
    assert_eq!(reached, None);
}

/// Modifiers are let go of although the call fails in the middle, and so is the button.
#[test]
fn fr_008_modifiers_are_let_go_of_when_a_call_fails_half_way() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let mark = scene.stage.mark();
    // The way takes longer than the time that it is given.
    let more = json!({ "modifiers": ["ctrl", "shift", "alt"], "timeout_ms": 150 });
    let way = drag(&scene, ("canvas", 40, 40), ("canvas", 340, 130), more);
    refused(&mut scene.client, "operation_timeout", way);
    scene.stage.wait_since(mark, "press", |event| event["event"] == "press");
    assert_eq!(held(&mut scene), (json!([]), json!([])));
}

/// Every action reports where the pointer is and what window lies there.
#[test]
fn fr_009_every_reply_tells_the_position_and_the_window() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let rows = scene.point("rows", 40, 60);
    let all = [
        on_canvas(&scene, "move", (60, 70), json!({})),
        on_canvas(&scene, "click", (80, 70), json!({})),
        on_canvas(&scene, "double_click", (140, 70), json!({})),
        on_canvas(&scene, "right_click", (200, 70), json!({})),
        on_canvas(&scene, "middle_click", (240, 70), json!({})),
        drag(&scene, ("canvas", 40, 40), ("canvas", 340, 130), json!({})),
        json!({ "action": "scroll", "direction": "down", "x": rows.0, "y": rows.1, "monitorIndex": 0 }),
        json!({ "action": "get_position" }),
    ];
    for arguments in all {
        let answer = done(&mut scene.client, arguments.clone());
        let (x, y) = pointer(&scene.desktop);
        assert_eq!(answer["final_position"], json!({ "x": x, "y": y }), "{arguments}: {answer}");
        assert_eq!(answer["window_title"], scene.stage.title, "{arguments}: {answer}");
    }
    done(&mut scene.client, json!({ "action": "move", "x": 1279, "y": 799, "monitorIndex": 0 }));
    assert_eq!(done(&mut scene.client, json!({ "action": "get_position" }))["window_title"], "");
}

/// Points are checked before anything is done, for every action that takes some.
#[test]
fn fr_010_points_are_checked_before_anything_is_done() {
    let Some(mut bare) = Bare::open(&[]) else { return };
    let before = pointer(&bare.desktop);
    for action in ["move", "click", "double_click", "right_click", "middle_click", "scroll"] {
        let mut outside = json!({ "action": action, "x": 1280, "y": 5, "monitorIndex": 0 });
        if action == "scroll" {
            outside["direction"] = json!("down");
        }
        refused(&mut bare.client, "coordinates_out_of_bounds", outside);
    }
    let way =
        json!({ "startX": 5, "startY": 5, "endX": 5, "endY": 800, "monitorIndex": 0, "action": "drag" });
    refused(&mut bare.client, "coordinates_out_of_bounds", way);
    assert_eq!(pointer(&bare.desktop), before);
}

/// All actions are there, and no others.
#[test]
fn fr_011_every_action_is_supported() {
    let Some(mut bare) = Bare::open(&[]) else { return };
    for arguments in everything(0) {
        done(&mut bare.client, arguments);
    }
    let answer = refused(&mut bare.client, "invalid_action", json!({ "action": "fly" }));
    assert_eq!(answer["error"], "Invalid action: \"fly\"");
    assert_eq!(answer["error_details"]["valid_actions"].as_array().unwrap().len(), 8, "{answer}");
}

/// Each action once, on a monitor.
fn everything(monitor: u32) -> Vec<Value> {
    let point = |action: &str| json!({ "action": action, "x": 300, "y": 200, "monitorIndex": monitor });
    let mut scroll = point("scroll");
    scroll["direction"] = json!("up");
    vec![
        point("move"),
        point("click"),
        point("double_click"),
        point("right_click"),
        point("middle_click"),
        json!({ "action": "drag", "startX": 10, "startY": 20, "endX": 110, "endY": 120, "monitorIndex": monitor }),
        scroll,
        json!({ "action": "get_position" }),
    ]
}

/// The four clicks take coordinates, and go without.
#[test]
fn fr_012_clicks_take_coordinates_and_go_without() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    for (n, (action, button, count)) in (0_i64..).zip([
        ("click", 1, 1),
        ("right_click", 3, 1),
        ("middle_click", 2, 1),
        ("double_click", 1, 2),
    ]) {
        let there = on_canvas(&scene, action, (40 + 60 * n, 70), json!({}));
        let with = clicks(&mut scene, there, count);
        let apart = on_canvas(&scene, "move", (40 + 60 * n, 120), json!({}));
        done(&mut scene.client, apart);
        let without = clicks(&mut scene, json!({ "action": action }), count);
        for (click, y) in with.iter().map(|click| (click, 70)).chain(without.iter().map(|click| (click, 120)))
        {
            assert!(click["button"] == button && near(click, (40 + 60 * n, y), 1), "{action}: {click}");
        }
    }
}

/// A drag takes its ends in either spelling, and names whatever of them is missing.
#[test]
fn fr_013_a_drag_takes_start_and_end_in_either_spelling() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let ((start_x, start_y), (end_x, end_y)) =
        (scene.point("canvas", 40, 40), scene.point("canvas", 240, 100));
    for way in [
        json!({ "start_x": start_x, "start_y": start_y, "end_x": end_x, "end_y": end_y, "monitor_index": 0 }),
        json!({ "startX": start_x, "startY": start_y, "endX": end_x, "endY": end_y, "monitorIndex": 0 }),
    ] {
        let mut way = way;
        way["action"] = json!("drag");
        let mark = scene.stage.mark();
        done(&mut scene.client, way);
        let edges = scene.exactly(2, "press and release", mark, is_edge);
        assert!(near(&edges[0], (40, 40), 1) && near(&edges[1], (240, 100), 1), "{edges:#?}");
    }
    let half = json!({ "action": "drag", "start_x": 5, "start_y": 5, "monitorIndex": 0 });
    let answer = refused(&mut scene.client, "missing_required_parameter", half);
    assert_eq!(answer["error_details"]["missing"], json!(["endX", "endY"]), "{answer}");
}

/// A scroll needs a direction; without an amount it is one click of the wheel.
#[test]
fn fr_014_a_scroll_takes_a_direction_and_an_amount_of_one_by_default() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let there = on_canvas(&scene, "scroll", (60, 70), json!({}));
    refused(&mut scene.client, "missing_required_parameter", there.clone());
    for (direction, across, down) in [("up", 0, -1), ("down", 0, 1), ("left", -1, 0), ("right", 1, 0)] {
        let mark = scene.stage.mark();
        let mut turn = there.clone();
        turn["direction"] = json!(direction);
        scene.client.try_call(TOOL, turn);
        let turned = scene.exactly(1, "turn of the wheel", mark, |event| event["event"] == "wheel");
        let turned = (turned[0]["dx"].as_f64(), turned[0]["dy"].as_f64());
        assert_eq!(turned, (Some(f64::from(across)), Some(f64::from(down))), "{direction}");
    }
    let mut sideways = there;
    sideways["direction"] = json!("sideways");
    let answer = refused(&mut scene.client, "invalid_scroll_direction", sideways);
    let all = json!(["up", "down", "left", "right"]);
    assert_eq!(answer["error_details"]["valid_directions"], all, "{answer}");
}

/// Every kind of click takes every modifier.
#[test]
fn fr_015_every_click_takes_modifiers() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let all = [("click", 1), ("right_click", 1), ("middle_click", 1), ("double_click", 2)];
    for (n, (action, count)) in (0_i64..).zip(all) {
        for (m, modifiers) in (0_i64..).zip([json!(["ctrl"]), json!(["shift"]), json!(["alt"])]) {
            let at = (30 + 70 * n, 30 + 50 * m);
            let there = on_canvas(&scene, action, at, json!({ "modifiers": modifiers }));
            for click in clicks(&mut scene, there, count) {
                assert_eq!(click["modifiers"], modifiers, "{action}: {click}");
            }
        }
    }
}

/// Each call is one JSON object on a line of standard error: with a correlation id, the action, where, and
/// what came of it.
#[test]
fn fr_016_every_call_is_a_line_of_json_on_stderr() {
    let Some(desktop) = desktop(&[]) else { return };
    let path = std::env::temp_dir().join(format!("deskhand-log-{}.jsonl", std::process::id()));
    let log = fs::File::create(&path).unwrap();
    let mut client = Client::with_log(|program| desktop.command(program), &[], log.into());
    done(&mut client, json!({ "action": "click", "x": 70, "y": 80, "monitorIndex": 0 }));
    refused(
        &mut client,
        "coordinates_out_of_bounds",
        json!({ "action": "move", "x": 9999, "y": 1, "monitorIndex": 0 }),
    );
    refused(&mut client, "invalid_action", json!({ "action": "fly" }));
    done(&mut client, json!({ "action": "get_position" }));
    drop(client);
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(path).unwrap();
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let calls: Vec<&Value> = lines.iter().filter(|line| line["tool"] == TOOL).collect();
    let [click, outside, unknown, position] = calls[..] else { panic!("four calls, four lines: {text}") };
    assert_eq!((&click["action"], &click["outcome"]), (&json!("click"), &json!("ok")), "{click}");
    let arguments = &click["arguments"];
    assert_eq!(
        (&arguments["x"], &arguments["y"], &arguments["monitorIndex"]),
        (&json!(70), &json!(80), &json!(0))
    );
    assert_eq!((&click["pointer"], &click["monitor"]), (&json!({ "x": 70, "y": 80 }), &json!(0)), "{click}");
    assert_eq!((&outside["action"], &outside["outcome"]), (&json!("move"), &json!("error")), "{outside}");
    assert_eq!(outside["error_code"], "coordinates_out_of_bounds", "{outside}");
    assert_eq!(
        (&outside["arguments"]["x"], &unknown["error_code"]),
        (&json!(9999), &json!("invalid_action"))
    );
    assert_eq!(position["pointer"], json!({ "x": 70, "y": 80 }), "{position}");
    let ids: std::collections::BTreeSet<&str> =
        calls.iter().map(|line| line["correlation"].as_str().expect("an id")).collect();
    assert_eq!(ids.len(), 4, "each call has an id of its own");
    assert!(calls.iter().all(|line| line["time"].is_string() && line["duration_ms"].is_number()));
}

/// What can be known beforehand is checked before the first input: the far end of a drag, too.
#[test]
fn fr_017_nothing_is_done_when_the_far_end_of_a_drag_is_wrong() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    done(&mut scene.client, json!({ "action": "move", "x": 1, "y": 1, "monitorIndex": 0 }));
    let mark = scene.stage.mark();
    let mut way = drag(&scene, ("canvas", 40, 40), ("canvas", 340, 130), json!({ "modifiers": ["ctrl"] }));
    way["endY"] = json!(5000);
    let answer = refused(&mut scene.client, "coordinates_out_of_bounds", way.clone());
    let said = format!("Coordinates ({}, 5000) out of bounds for monitor 0", way["endX"]);
    assert_eq!(answer["error"], said);
    assert_eq!(pointer(&scene.desktop), (1, 1));
    scene.settle();
    assert_eq!(scene.stage.events().into_iter().skip(mark).find(is_edge), None);
}

/// The system's own time for double clicks decides: two calls at one place are kept further apart than that,
/// and a double click is well within it.
#[test]
fn fr_018_the_systems_time_for_double_clicks_is_kept() {
    let Some(desktop) = desktop(&[]) else { return };
    let _daemon = x_client(&desktop, &["double-click", "1200"]);
    let mut scene = Scene::of(desktop, "gtk3");
    let there = on_canvas(&scene, "click", (60, 70), json!({}));
    clicks(&mut scene, there.clone(), 1);
    let began = Instant::now();
    let second = clicks(&mut scene, there, 1);
    assert!(Duration::from_millis(900) < began.elapsed(), "they were kept apart: {:?}", began.elapsed());
    assert_eq!(second[0]["count"], 1, "two clicks of two calls are no double click");
    let there = on_canvas(&scene, "double_click", (260, 70), json!({}));
    let double = clicks(&mut scene, there, 2);
    assert_eq!(double[1]["count"], 2);
}

/// A locked screen refuses every action that makes input, clearly, and each works again afterwards.
#[test]
fn fr_019_a_locked_screen_refuses_every_input() {
    while_locked(|client, there| {
        for mut arguments in everything(0) {
            if arguments["action"] == "get_position" {
                done(client, arguments);
                continue;
            }
            if arguments.get("x").is_some() {
                (arguments["x"], arguments["y"]) = (there["x"].clone(), there["y"].clone());
            }
            let answer = refused(client, "secure_desktop_active", arguments);
            assert!(answer["error_details"]["remedy"].as_str().unwrap().contains("unlock"), "{answer}");
        }
    });
}

// ---- Success criteria -------------------------------------------------------------------------------------

/// Every action works on an ordinary desktop with an ordinary window, in the profile of its own.
#[test]
fn sc_001_every_action_works_on_an_ordinary_desktop() {
    let Some(scene) = Scene::open("gtk3") else { return };
    let command = |program: &str| scene.desktop.command(program);
    let mut client = Client::with_options(command, &["--profile", "mouse-control"]);
    let listed = client.request("tools/list", json!({}));
    let names: Vec<_> = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(json!(names), json!([TOOL, "take_screenshot", "list_displays", "list_windows"]));
    let (x, y) = scene.point("rows", 40, 60);
    for mut arguments in everything(0) {
        if arguments["action"] == "scroll" {
            // Where something scrolls.
            arguments = json!({ "action": "scroll", "direction": "down", "x": x, "y": y, "monitorIndex": 0 });
        }
        let answer = done(&mut client, arguments.clone());
        assert_eq!(answer["monitorIndex"], 0, "{arguments}: {answer}");
    }
    // Its pictures are those whose pixels it takes.
    let picture = client.call("take_screenshot", json!({ "display": "0" }));
    assert!(picture.as_str().unwrap().contains("1280x800"), "{picture}");
    let result = client.request("tools/call", json!({ "name": TOOL, "arguments": { "action": "fly" } }));
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["error_code"], "invalid_action", "{result}");
}

/// The pointer is put to the pixel at every usual scale.
#[test]
fn sc_002_the_pointer_is_exact_at_every_scale() {
    for percent in ["100", "125", "150", "200"] {
        at_scale(percent);
    }
}

/// A monitor left of the primary one needs no configuration: every action works there.
#[test]
fn sc_003_a_monitor_left_of_the_primary_needs_no_configuration() {
    let Some(mut bare) = Bare::with_a_monitor_to_the_left() else { return };
    for arguments in everything(1) {
        let answer = done(&mut bare.client, arguments.clone());
        assert_eq!(answer["monitorIndex"], 1, "{arguments}: {answer}");
        assert!(pointer(&bare.desktop).0 < 1280, "{arguments}");
    }
}

/// Every action that makes input refuses another user's window, and none of it arrives there.
#[test]
fn sc_004_every_action_refuses_another_users_window() {
    let Some(mut foreign) = Foreign::open() else { return };
    let Foreign { client, scene, .. } = &mut foreign;
    let mark = scene.stage.mark();
    for action in ["click", "double_click", "right_click", "middle_click", "scroll"] {
        let more = if action == "scroll" { json!({ "direction": "down" }) } else { json!({}) };
        let there = on_canvas(scene, action, (60, 70), more);
        refused(client, "elevated_process_target", there);
    }
    let way = drag(scene, ("canvas", 40, 40), ("canvas", 340, 130), json!({}));
    refused(client, "elevated_process_target", way);
    // Also where the pointer happens to be; to be there is no input.
    let there = on_canvas(scene, "move", (60, 70), json!({}));
    done(client, there);
    refused(client, "elevated_process_target", json!({ "action": "click" }));
    scene.settle();
    let got = |event: &Value| is_edge(event) || event["event"] == "wheel";
    assert_eq!(scene.stage.events().into_iter().skip(mark).find(got), None);
    // What belongs to nobody is no target.
    done(client, json!({ "action": "click", "x": 1279, "y": 799, "monitorIndex": 0 }));
}

/// No modifier is stuck after any action, whether it succeeds or fails.
#[test]
fn sc_005_no_modifier_is_stuck_after_any_action() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let all = json!(["ctrl", "shift", "alt"]);
    for action in ["move", "click", "double_click", "right_click", "middle_click", "scroll"] {
        let mut there = on_canvas(&scene, action, (60, 70), json!({ "modifiers": all }));
        if action == "scroll" {
            there["direction"] = json!("down");
        }
        scene.client.try_call(TOOL, there);
        assert_eq!(held(&mut scene), (json!([]), json!([])), "after {action}");
    }
    for timeout in [60, 150, 5000] {
        let more = json!({ "modifiers": all, "timeout_ms": timeout });
        let way = drag(&scene, ("canvas", 40, 40), ("canvas", 340, 130), more);
        scene.client.try_call(TOOL, way);
        assert_eq!(held(&mut scene), (json!([]), json!([])), "after a drag of {timeout} ms at the most");
    }
}

/// Every call returns within its time, which MCP_MOUSE_TIMEOUT_MS sets; 5 s without it. A wrong value is named
/// at the start.
#[test]
fn sc_006_every_call_returns_within_its_time() {
    let Some(mut bare) = Bare::open(&[]) else { return };
    let started = Instant::now();
    for arguments in everything(0) {
        let began = Instant::now();
        done(&mut bare.client, arguments.clone());
        assert!(began.elapsed() < Duration::from_secs(5), "{arguments}");
    }
    assert!(started.elapsed() < Duration::from_secs(20));

    // Somebody else has the pointer for longer than anybody waits.
    let with = |time: Option<&str>| {
        Client::on(|program| {
            let mut command = bare.desktop.command(program);
            command.envs(time.map(|time| ("MCP_MOUSE_TIMEOUT_MS", time)));
            command
        })
    };
    let (mut short, mut usual) = (with(Some("400")), with(None));
    let way = json!({ "x": 900, "y": 600, "duration_ms": 7000 });
    let params = json!({ "name": "move_mouse", "arguments": way });
    bare.client.send(&json!({ "jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": params }));
    let first = pointer(&bare.desktop);
    wait("the pointer to be on its way", || (pointer(&bare.desktop) != first).then_some(()));
    for (client, least, most) in [(&mut short, 300, 2500), (&mut usual, 4500, 6900)] {
        let began = Instant::now();
        refused(client, "operation_timeout", json!({ "action": "click" }));
        let took = began.elapsed();
        assert!(
            Duration::from_millis(least) < took && took < Duration::from_millis(most),
            "{took:?} is not within {least} to {most} ms"
        );
    }
    for wrong in ["soon", "0", "-5", "1.5", ""] {
        let mut serve = bare.desktop.command(env!("CARGO_BIN_EXE_deskhand"));
        let output =
            serve.arg("serve").env("MCP_MOUSE_TIMEOUT_MS", wrong).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("MCP_MOUSE_TIMEOUT_MS"), "{wrong:?}: {said}");
    }
}

/// Two servers that drag at once never mix their input.
#[test]
fn sc_007_two_servers_never_mix_their_input() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let mut other = Client::start(&scene.desktop);
    let mark = scene.stage.mark();
    let ways = [
        drag(&scene, ("canvas", 30, 30), ("canvas", 130, 60), json!({})),
        drag(&scene, ("canvas", 230, 130), ("canvas", 330, 160), json!({ "button": "right" })),
    ];
    let client = &mut scene.client;
    std::thread::scope(|scope| {
        for (client, way) in [(client, &ways[0]), (&mut other, &ways[1])] {
            scope.spawn(move || (0..4).for_each(|_| drop(done(client, way.clone()))));
        }
    });
    let edges = scene.exactly(16, "press and release", mark, is_edge);
    for pair in edges.chunks(2) {
        assert!(pair[0]["event"] == "press" && pair[1]["event"] == "release", "{pair:#?}");
        assert_eq!(pair[0]["button"], pair[1]["button"], "{pair:#?}");
        let (start, end) =
            if pair[0]["button"] == 1 { ((30, 30), (130, 60)) } else { ((230, 130), (330, 160)) };
        assert!(near(&pair[0], start, 1) && near(&pair[1], end, 1), "{pair:#?}");
    }
}

/// Toolkits take a double click for one: it selects a word.
#[test]
fn sc_008_a_double_click_selects_a_word() {
    for toolkit in ["gtk3", "qt5"] {
        let Some(mut scene) = Scene::open(toolkit) else { return };
        let field = scene.named("Notes")["ref"].clone();
        scene
            .client
            .confirmed("set_ui_element_value", json!({ "element": field, "value": "Kaleidoscope of words" }));
        let (x, y) = scene.point("text", 25, 12);
        done(&mut scene.client, json!({ "action": "double_click", "x": x, "y": y, "monitorIndex": 0 }));
        wait(&format!("the word to be selected in {toolkit}"), || {
            let mut xclip = scene.desktop.command("xclip");
            let selected =
                xclip.args(["-o", "-selection", "primary"]).stderr(Stdio::null()).output().unwrap();
            (selected.stdout.trim_ascii() == b"Kaleidoscope").then_some(())
        });
    }
}

/// The wheel scrolls what people scroll: lists of two toolkits, a page in a browser, a file manager, an editor.
#[test]
fn sc_009_the_wheel_scrolls_lists_and_pages() {
    for toolkit in ["gtk3", "qt5", "chromium"] {
        let Some(mut scene) = Scene::open(toolkit) else { return };
        let down = scroll(&mut scene, "down", json!({ "amount": 3 }));
        let up = scroll(&mut scene, "up", json!({ "amount": 1 }));
        assert!(up < down, "{toolkit}: {down} → {up}");
    }
    let Some(mut bare) = Bare::open(&[]) else { return };
    let file = std::env::temp_dir().join(format!("deskhand-rows-{}.txt", std::process::id()));
    fs::write(&file, "a row\n".repeat(500)).unwrap();
    let programs = [("thunar", "/etc".into()), ("mousepad", file.clone())];
    for (program, shows) in programs.iter().filter(|(program, _)| stage::session::have(&[program])) {
        scrolls(&mut bare.client, program, shows);
    }
    fs::remove_file(file).unwrap();
}

/// Turns the wheel over an application's window, and holds its scroll bar against it.
fn scrolls(client: &mut Client, program: &str, shows: &Path) {
    let launch = json!({ "application": program, "arguments": [shows], "timeout_ms": 60_000 });
    let window = client.call("launch_app", launch)["window"].clone();
    let bar = json!({ "selector": "scroll_bar", "window": window["id"] });
    let bars = |client: &mut Client| -> f64 {
        let found = client.call("find_elements", bar.clone())["elements"].clone();
        let values = found.as_array().unwrap().iter().filter_map(|bar| bar["value"].as_str()?.parse().ok());
        values.fold(0.0, f64::max)
    };
    let mut waiting = bar.clone();
    waiting["timeout_ms"] = json!(20_000);
    client.call("wait_for", waiting);
    let bounds = client.call("get_window", json!({ "window": window["id"] }))["bounds"].clone();
    let middle =
        |start: &str, size: &str| bounds[start].as_i64().unwrap() + bounds[size].as_i64().unwrap() / 2;
    let turn = |direction: &str, amount: u32| {
        json!({
            "action": "scroll", "direction": direction, "amount": amount, "monitorIndex": 0,
            "x": middle("x", "width"), "y": middle("y", "height"),
        })
    };
    done(client, turn("down", 3));
    let down = wait(program, || Some(bars(client)).filter(|place| 0.0 < *place));
    done(client, turn("up", 1));
    wait(program, || (bars(client) < down).then_some(()));
}

/// What is dragged is dropped with what it carries.
#[test]
fn sc_010_what_is_dragged_is_dropped() {
    for toolkit in ["gtk3", "qt5"] {
        let Some(mut scene) = Scene::open(toolkit) else { return };
        let mark = scene.stage.mark();
        let way = drag(&scene, ("source", 20, 20), ("target", 30, 25), json!({}));
        done(&mut scene.client, way);
        let dropped = scene.stage.wait_since(mark, "drop", |event| event["event"] == "drop");
        assert_eq!(dropped["text"], "cargo", "{toolkit}");
    }
}

// ---- monitorIndex: when it is required --------------------------------------------------------------------

/// An action with coordinates is refused without a monitor, does nothing then, and works with one.
fn needs_a_monitor(arguments: Value) {
    let Some(mut bare) = Bare::open(TWO) else { return };
    let before = pointer(&bare.desktop);
    let answer = refused(&mut bare.client, "missing_required_parameter", arguments.clone());
    assert_eq!(answer["error"], "monitorIndex is required when using x/y coordinates");
    assert_eq!(answer["error_details"]["valid_indices"], json!([0, 1]), "{answer}");
    assert_eq!(pointer(&bare.desktop), before);
    let mut complete = arguments;
    complete["monitorIndex"] = json!(1);
    let answer = done(&mut bare.client, complete.clone());
    assert_eq!(answer["monitorIndex"], 1, "{answer}");
    let end = |name: &str, end: &str| complete.get(name).unwrap_or(&complete[end]).as_i64().unwrap();
    assert_eq!(pointer(&bare.desktop), (1280 + end("x", "endX"), end("y", "endY")));
}

/// `move` with coordinates needs a monitor.
#[test]
fn mi_a_1_move_needs_a_monitor() {
    needs_a_monitor(json!({ "action": "move", "x": 500, "y": 300 }));
}

/// `click` with coordinates needs a monitor.
#[test]
fn mi_a_2_click_needs_a_monitor() {
    needs_a_monitor(json!({ "action": "click", "x": 500, "y": 300 }));
}

/// `double_click` with coordinates needs a monitor.
#[test]
fn mi_a_3_double_click_needs_a_monitor() {
    needs_a_monitor(json!({ "action": "double_click", "x": 500, "y": 300 }));
}

/// `right_click` with coordinates needs a monitor.
#[test]
fn mi_a_4_right_click_needs_a_monitor() {
    needs_a_monitor(json!({ "action": "right_click", "x": 500, "y": 300 }));
}

/// `middle_click` with coordinates needs a monitor.
#[test]
fn mi_a_5_middle_click_needs_a_monitor() {
    needs_a_monitor(json!({ "action": "middle_click", "x": 500, "y": 300 }));
}

/// `drag`, which has coordinates always, needs a monitor.
#[test]
fn mi_a_6_drag_needs_a_monitor() {
    needs_a_monitor(json!({ "action": "drag", "startX": 50, "startY": 60, "endX": 500, "endY": 300 }));
}

/// `scroll` with coordinates needs a monitor.
#[test]
fn mi_a_7_scroll_needs_a_monitor() {
    needs_a_monitor(json!({ "action": "scroll", "direction": "down", "x": 500, "y": 300 }));
}

// ---- monitorIndex: when it is not needed ------------------------------------------------------------------

/// Puts the pointer on the second monitor and does something there without naming it.
fn needs_none(arguments: Value) {
    let Some(mut bare) = Bare::open(TWO) else { return };
    done(&mut bare.client, json!({ "action": "move", "x": 321, "y": 123, "monitorIndex": 1 }));
    let answer = done(&mut bare.client, arguments.clone());
    assert_eq!((&answer["monitorIndex"], &answer["monitorWidth"]), (&json!(1), &json!(1024)), "{answer}");
    assert_eq!(answer["final_position"], json!({ "x": 321, "y": 123 }), "{answer}");
    // One that is given all the same is ignored, even where there is no such monitor.
    let mut with = arguments;
    with["monitorIndex"] = json!(0);
    let answer = done(&mut bare.client, with);
    assert_eq!(
        (&answer["monitorIndex"], &answer["ignored"]),
        (&json!(1), &json!(["monitorIndex"])),
        "{answer}"
    );
    assert_eq!(pointer(&bare.desktop), (1280 + 321, 123));
}

/// A click where the pointer is needs no monitor.
#[test]
fn mi_b_1_a_click_at_the_pointer_needs_no_monitor() {
    needs_none(json!({ "action": "click" }));
}

/// A scroll where the pointer is needs no monitor.
#[test]
fn mi_b_2_a_scroll_at_the_pointer_needs_no_monitor() {
    needs_none(json!({ "action": "scroll", "direction": "down" }));
}

/// To ask where the pointer is needs no monitor: it is in the answer.
#[test]
fn mi_b_3_get_position_needs_no_monitor() {
    needs_none(json!({ "action": "get_position" }));
}

// ---- monitorIndex: errors ---------------------------------------------------------------------------------

/// Coordinates without a monitor: the sentence and the indices that are valid.
#[test]
fn mi_c_1_a_missing_monitor_is_told_with_the_valid_ones() {
    let Some(mut bare) = Bare::open(THREE) else { return };
    let click = json!({ "action": "click", "x": 500, "y": 300 });
    let answer = refused(&mut bare.client, "missing_required_parameter", click);
    assert_eq!(answer["error"], "monitorIndex is required when using x/y coordinates");
    assert_eq!(answer["error_details"]["valid_indices"], json!([0, 1, 2]));
}

/// A monitor that is not there: the sentence and the indices that are valid.
#[test]
fn mi_c_2_a_wrong_monitor_is_told_with_the_valid_ones() {
    let Some(mut bare) = Bare::open(THREE) else { return };
    for index in [5, -1] {
        let click = json!({ "action": "click", "x": 500, "y": 300, "monitorIndex": index });
        let answer = refused(&mut bare.client, "invalid_coordinates", click);
        assert_eq!(answer["error"], format!("Invalid monitorIndex: {index}"));
        assert_eq!(answer["error_details"]["valid_indices"], json!([0, 1, 2]));
    }
}

/// A point beside its monitor: the sentence and the monitor's bounds.
#[test]
fn mi_c_3_a_point_beside_its_monitor_is_told_with_its_bounds() {
    let Some(mut bare) = Bare::open(THREE) else { return };
    let click = json!({ "action": "click", "x": 2000, "y": 300, "monitorIndex": 1 });
    let answer = refused(&mut bare.client, "coordinates_out_of_bounds", click);
    assert_eq!(answer["error"], "Coordinates (2000, 300) out of bounds for monitor 1");
    let bounds = json!({ "left": 1280, "top": 0, "width": 1024, "height": 768 });
    assert_eq!(answer["error_details"]["valid_bounds"], bounds);
}

// ---- monitorIndex: what replies tell ----------------------------------------------------------------------

/// Every success tells on which monitor the pointer ended.
#[test]
fn mi_d_1_every_success_tells_the_monitor() {
    let Some(mut bare) = Bare::open(TWO) else { return };
    for monitor in [0, 1] {
        for arguments in everything(monitor) {
            let answer = done(&mut bare.client, arguments.clone());
            assert_eq!(answer["monitorIndex"], monitor, "{arguments}: {answer}");
        }
    }
}

/// Every success tells how large that monitor is.
#[test]
fn mi_d_2_every_success_tells_the_size_of_the_monitor() {
    let Some(mut bare) = Bare::open(TWO) else { return };
    for (monitor, width, height) in [(0, 1280, 800), (1, 1024, 768)] {
        for arguments in everything(monitor) {
            let answer = done(&mut bare.client, arguments.clone());
            let size = (&answer["monitorWidth"], &answer["monitorHeight"]);
            assert_eq!(size, (&json!(width), &json!(height)), "{arguments}: {answer}");
        }
    }
}

/// The reply has the members of the specification's example, with positions that count from the monitor.
#[test]
fn mi_d_3_the_reply_has_the_shape_of_the_example() {
    let Some(desktop) = desktop(&["--size", "1920x1080,2560x1440"]) else { return };
    let mut scene = Scene::of(desktop, "gtk3");
    let window = json!({ "window": scene.window, "x": 1920 + 60, "y": 60 });
    scene.client.confirmed("set_window", window);
    let move_there = json!({ "action": "move", "x": 500, "y": 300, "monitorIndex": 1 });
    let mut answer = done(&mut scene.client, move_there);
    assert_eq!(pointer(&scene.desktop), (1920 + 500, 300));
    for further in ["effect", "evidence"] {
        assert!(answer.as_object_mut().unwrap().remove(further).is_some(), "{further}");
    }
    assert_eq!(
        answer,
        json!({
            "success": true,
            "final_position": { "x": 500, "y": 300 },
            "monitorIndex": 1,
            "monitorWidth": 2560,
            "monitorHeight": 1440,
            "window_title": "Stage (gtk3)",
        })
    );
}

// ---- monitorIndex: the checklist --------------------------------------------------------------------------

/// With one monitor every action works with index 0, and no other index does.
#[test]
fn mi_e_1_every_action_works_on_a_single_monitor() {
    let Some(mut bare) = Bare::open(&[]) else { return };
    for arguments in everything(0) {
        done(&mut bare.client, arguments);
    }
    for arguments in everything(1).into_iter().filter(|arguments| arguments.get("monitorIndex").is_some()) {
        let answer = refused(&mut bare.client, "invalid_coordinates", arguments);
        assert_eq!(answer["error_details"]["valid_indices"], json!([0]));
    }
}

/// A click on the second monitor reaches the window there.
#[test]
fn mi_e_2_clicks_reach_the_second_monitor() {
    let Some(mut scene) = Scene::open_on(TWO, "qt5") else { return };
    let place = |scene: &mut Scene| {
        let bounds = scene.client.call("get_window", json!({ "window": scene.window }))["bounds"].clone();
        (bounds["x"].as_i64().unwrap(), bounds["y"].as_i64().unwrap())
    };
    let before = place(&mut scene);
    scene.client.confirmed("set_window", json!({ "window": scene.window, "x": 1300, "y": 20 }));
    let after = place(&mut scene);
    scene.moved(after.0 - before.0, after.1 - before.1);
    let (x, y) = scene.point("canvas", 60, 70);
    let click = json!({ "action": "click", "x": x - 1280, "y": y, "monitorIndex": 1 });
    let clicks = clicks(&mut scene, click, 1);
    assert!(near(&clicks[0], (60, 70), 1), "{clicks:#?}");
}

/// An index that is no monitor's is refused by every action that has coordinates.
#[test]
fn mi_e_3_every_action_checks_the_monitor() {
    let Some(mut bare) = Bare::open(TWO) else { return };
    let before = pointer(&bare.desktop);
    for arguments in everything(2).into_iter().filter(|arguments| arguments.get("monitorIndex").is_some()) {
        let answer = refused(&mut bare.client, "invalid_coordinates", arguments);
        assert_eq!(answer["error"], "Invalid monitorIndex: 2");
    }
    assert_eq!(pointer(&bare.desktop), before);
}

/// Points beside a monitor are refused and never clamped to it, nor passed on to its neighbor.
#[test]
fn mi_e_4_points_beside_a_monitor_are_refused_and_never_clamped() {
    let Some(mut bare) = Bare::open(TWO) else { return };
    let before = pointer(&bare.desktop);
    for (monitor, x, y) in [(0, 1280, 5), (0, -1, 5), (1, -1, 5), (1, 1024, 5), (1, 5, 768), (0, 5, 800)] {
        let beside = json!({ "action": "click", "x": x, "y": y, "monitorIndex": monitor });
        refused(&mut bare.client, "coordinates_out_of_bounds", beside);
    }
    assert_eq!(pointer(&bare.desktop), before);
}

/// The worked example: a point that the first monitor does not have, on a second one that has it.
#[test]
fn mi_e_5_a_point_that_only_the_larger_monitor_has() {
    let Some(mut bare) = Bare::open(&["--size", "1920x1080,2560x1440"]) else { return };
    let there = |monitor| json!({ "action": "click", "x": 2200, "y": 300, "monitorIndex": monitor });
    refused(&mut bare.client, "coordinates_out_of_bounds", there(0));
    let answer = done(&mut bare.client, there(1));
    assert_eq!((&answer["monitorIndex"], &answer["monitorWidth"]), (&json!(1), &json!(2560)), "{answer}");
    assert_eq!(pointer(&bare.desktop), (1920 + 2200, 300));
}

/// The descriptions tell a model when a monitor has to be named.
#[test]
fn mi_e_6_the_descriptions_tell_when_a_monitor_is_needed() {
    let row = deskhand::tools::row(TOOL).unwrap();
    assert!(
        row.description().contains("`monitorIndex`, which is required with them"),
        "{}",
        row.description()
    );
    let about = &row.input_schema()["properties"]["monitorIndex"]["description"];
    assert!(about.as_str().unwrap().contains("0 is the primary"), "{about}");
}

/// Documentation and changelog say what is required.
#[test]
fn mi_e_7_documentation_and_changelog_tell_of_it() {
    for (file, wanted) in [("docs/tools.md", "### `mouse_control`"), ("CHANGELOG.md", "`monitorIndex`")] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        let mut text = String::new();
        fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
        assert!(text.contains(wanted), "{file} lacks {wanted}");
    }
}
