//! The requirements document through MCP under its profile: a test for each acceptance criterion, named after
//! it. Each holds what the reply says against what the applications, the X server and the services say.
//!
//! What the document says of macOS is read as its counterpart here: AppleScript is what interprets scripts, the
//! Finder the file manager, a bundle identifier a desktop entry's, System Settings what the remedy says to do,
//! the permission to see the screen a cookie that the X server trusts, a status bar item one of the
//! notification area.

#![cfg(target_os = "linux")]

mod stage;

use serde_json::{Value, json};
use stage::client::Client;
use stage::menu_item;
use stage::office::{Office, names};
use stage::picture::picture;
use stage::scene::{Scene, near};
use stage::session::{self, Process, frame, have, output, pactl, pointer, pulseaudio, shower, wait};
use stage::tray::{Program, item};
use stage::{PrivateDesktop, Stage};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const REQUIREMENTS: &[&str] = &["--profile", "requirements"];
const TWO_DISPLAYS: &[&str] = &["--size", "1280x800,1024x768"];

/// The stage with a client of the requirements.
fn scene(toolkit: &str) -> Option<Scene> {
    Scene::under(REQUIREMENTS, toolkit)
}

/// A desktop without a window, with a client of the requirements.
fn bare(needed: &[&str]) -> Option<(Client, PrivateDesktop)> {
    session::bare(REQUIREMENTS, needed, &[])
}

/// A client of the requirements on no desktop: scripts need none.
fn nowhere(rules: &[&str]) -> Client {
    Client::nowhere(&[REQUIREMENTS, rules].concat())
}

/// A client of the requirements that may run JavaScript.
fn scripting() -> Option<Client> {
    have(&["gjs"]).then(|| nowhere(&["--allow", "execute_javascript"]))
}

/// What the stage's application is called.
fn application(scene: &mut Scene) -> String {
    let pid = scene.stage.pid().as_raw_nonzero().get();
    let running = scene.client.call("list_running_apps", json!({}));
    let applications = running["applications"].as_array().into_iter().flatten();
    let own =
        applications.clone().find(|application| application["pid"] == pid).expect("the stage's application");
    own["name"].as_str().unwrap().to_owned()
}

/// Another application's window, and its id.
fn terminal(client: &mut Client, desktop: &PrivateDesktop) -> (Process, Value) {
    let mut command = desktop.command("xterm");
    command.args(["-T", "Terminal", "-geometry", "60x12+20+40"]);
    let process = Process::start(command);
    let shown = client.call("wait_for", json!({ "window_title": "Terminal", "timeout_ms": 20_000 }));
    let window = shown["window"]["id"].clone();
    wait("the terminal's activation", || (active(desktop) == window).then_some(()));
    (process, window)
}

/// Mousepad's window, as soon as it answers.
fn mousepad(client: &mut Client, arguments: Value) -> Value {
    let launch = json!({ "application": "mousepad", "arguments": arguments, "timeout_ms": 30_000 });
    let window = client.call("launch_app", launch)["window"]["id"].clone();
    let text = json!({ "selector": "text_area", "window": window, "timeout_ms": 30_000 });
    client.call("wait_for", text);
    window
}

/// The window that the window manager calls active.
fn active(desktop: &PrivateDesktop) -> Value {
    output(desktop, "xdotool", &["getactivewindow"]).trim().parse::<u64>().map_or(Value::Null, |id| json!(id))
}

/// The events that have reached the stage since a mark, of one kind.
fn events(scene: &Scene, mark: usize, kind: &str) -> Vec<Value> {
    scene.stage.events().into_iter().skip(mark).filter(|event| event["event"] == kind).collect()
}

/// Clicks at a place of the canvas and gives the clicks that came of it.
#[track_caller]
fn clicks(scene: &mut Scene, tool: &str, (x, y): (i64, i64), more: Value, count: usize) -> Vec<Value> {
    let there = scene.on_canvas(x, y, more);
    let mark = scene.stage.mark();
    scene.client.call(tool, there);
    scene.exactly(count, "clicks", mark, |event| event["event"] == "click" && event["widget"] == "canvas")
}

/// The canvas gets the keyboard.
#[track_caller]
fn type_on_canvas(scene: &mut Scene) {
    clicks(scene, "click", (20, 20), json!({}), 1);
}

/// Presses keys one after the other, and holds what the application got against what was meant.
#[track_caller]
fn presses(scene: &mut Scene, keys: &[(&str, &str)]) {
    type_on_canvas(scene);
    let mark = scene.stage.mark();
    for (key, _) in keys {
        scene.client.call("press_key", json!({ "key": key }));
    }
    let came = scene.exactly(2 * keys.len(), "key events", mark, |event| event["event"] == "key");
    let came: Vec<(&str, bool)> =
        came.iter().map(|event| (event["key"].as_str().unwrap(), event["down"] == true)).collect();
    let meant: Vec<(&str, bool)> =
        keys.iter().flat_map(|(_, seen)| [(*seen, true), (*seen, false)]).collect();
    assert_eq!(came, meant);
}

/// The text field of the stage gets the keyboard.
#[track_caller]
fn type_in_entry(scene: &mut Scene) {
    let entry = scene.named("Name")["ref"].clone();
    scene.client.call("click_ui_element", json!({ "element": entry }));
    scene.stage.wait_for("focus", |event| event["event"] == "focus" && event["widget"] == "entry");
}

// ---- 1: the server -----------------------------------------------------------------------------------------

/// What it says of itself and of each tool has the form that the specification asks for.
#[test]
fn rq_1_1_tools_follow_the_protocol() {
    let mut client = nowhere(&[]);
    let about = json!({ "name": "claude-code", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about });
    let told = client.request("initialize", hello);
    assert_eq!(told["protocolVersion"], "2025-06-18", "{told}");
    assert!(told["capabilities"]["tools"].is_object() && told["serverInfo"]["name"].is_string(), "{told}");
    for tool in client.request("tools/list", json!({}))["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{tool}");
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
}

/// A message a line on the standard streams, nothing else on them, and the end of input is the end.
#[test]
fn rq_1_2_stdio_connects() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_deskhand"));
    server.arg("serve").args(REQUIREMENTS).env_remove("DISPLAY").env("DESKHAND_FIND_SESSION", "never");
    let mut server =
        server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let about = json!({ "name": "claude-code", "version": "2.0" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
    std::io::Write::write_all(&mut server.stdin.take().unwrap(), format!("{hello}\n").as_bytes()).unwrap();
    let ended = server.wait_with_output().unwrap();
    let lines: Vec<Value> = ended
        .stdout
        .split_inclusive(|&byte| byte == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert!(ended.status.success(), "{:?}", ended.status);
    assert_eq!((lines.len(), &lines[0]["id"], &lines[0]["jsonrpc"]), (1, &json!(0), &json!("2.0")));
}

/// Each name of the document, in its order, each with a schema that describes every parameter.
#[test]
fn rq_1_3_the_list_has_every_tool_with_its_schema() {
    let names = "list_running_apps launch_app quit_app activate_app list_windows focus_window move_window \
                 resize_window minimize_window get_system_info get_battery_status get_display_info get_clipboard \
                 set_clipboard send_notification reveal_in_finder get_selected_files get_finder_window_path \
                 get_volume set_volume get_mute_status set_mute click double_click move_mouse drag type_text \
                 press_key key_combination take_screenshot get_ui_elements click_ui_element get_ui_element_value \
                 set_ui_element_value focus_ui_element scroll scroll_to_element list_menu_items click_menu_item \
                 get_menu_item_state get_menu_bar_structure list_status_bar_items click_status_bar_item \
                 click_status_bar_menu_item";
    let listed = nowhere(&[]).request("tools/list", json!({}))["tools"].clone();
    let tools = listed.as_array().unwrap();
    let listed: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(listed, names.split_whitespace().collect::<Vec<_>>());
    for tool in tools {
        for (name, property) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(property["type"].is_string() && property["description"].is_string(), "{name} of {tool}");
        }
    }
}

/// The tool that was named is the one that acts.
#[test]
fn rq_1_4_a_call_runs_its_tool() {
    let Some((mut client, desktop)) = bare(&["xdotool"]) else { return };
    client.confirmed("move_mouse", json!({ "x": 345, "y": 67 }));
    assert_eq!(pointer(&desktop), (345, 67));
}

/// Text and pictures, successes and failures come as typed blocks.
#[test]
fn rq_1_5_replies_have_a_content_array() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    for (tool, arguments, kinds, fails) in [
        ("get_display_info", json!({}), &["text"][..], false),
        ("take_screenshot", json!({}), &["image", "text"][..], false),
        ("focus_window", json!({ "window": "Nowhere" }), &["text"][..], true),
    ] {
        let result = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        let mut came: Vec<&str> = result["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["type"].as_str().unwrap())
            .collect();
        came.sort_unstable();
        assert_eq!((came.as_slice(), result["isError"] == true), (kinds, fails), "{tool}");
    }
}

// ---- 2: scripts --------------------------------------------------------------------------------------------

/// The interpreter of the system runs it; AppleScript, which has none here, says where it works.
#[test]
fn rq_2_1_a_script_runs_in_the_systems_interpreter() {
    let Some(mut client) = scripting() else { return };
    let script = "print(imports.gi.GLib.file_read_link('/proc/self/exe'))";
    let ran = client.call("execute_javascript", json!({ "script": script }));
    let program = ran["stdout"].as_str().unwrap().trim();
    assert_eq!(Path::new(program), fs::canonicalize("/usr/bin/gjs").unwrap(), "{ran}");
    let apple = client.refused("unsupported", "execute_apple_script", json!({ "script": "beep" }));
    assert!(apple["message"].as_str().unwrap().contains("macOS"), "{apple}");
    assert!(apple["detail"]["remedy"].is_string(), "{apple}");
}

/// Each by itself.
#[test]
fn rq_2_2_stdout_and_stderr_are_both_captured() {
    let Some(mut client) = scripting() else { return };
    let ran = client.call("execute_javascript", json!({ "script": "print('plain'); printerr('odd')" }));
    assert_eq!((ran["stdout"].as_str(), ran["stderr"].as_str()), (Some("plain\n"), Some("odd\n")), "{ran}");
}

/// Without a word about time it is ended after 30 s, with all that it started.
#[test]
fn rq_2_3_after_30_seconds_a_script_ends_with_a_timeout() {
    let mut client = nowhere(&["--allow", "shell"]);
    // No other process sleeps for just this long.
    let nap = format!("{}.{}", 60_000, std::process::id());
    let began = Instant::now();
    let line = json!({ "command": format!("sleep {nap} & sleep {nap}"), "shell": true });
    let refused = client.refused("timeout", "execute_shell_command", line);
    let took = began.elapsed().as_secs_f64();
    assert!((29.5..33.0).contains(&took), "{took} s: {refused}");
    wait("their end", || {
        let left = Command::new("pgrep").args(["-fx", &format!("sleep {nap}")]).output().unwrap().stdout;
        left.is_empty().then_some(())
    });
}

/// What went wrong, and where, in the script's own words.
#[test]
fn rq_2_4_an_error_of_the_script_is_in_the_reply() {
    let Some(mut client) = scripting() else { return };
    let script = json!({ "script": "let fine = 1;\nthrow new Error('the kettle is empty')" });
    let refused = client.refused("script_failed", "execute_javascript", script);
    assert!(refused["detail"]["found"].to_string().contains("the kettle is empty"), "{refused}");
}

/// A list or an object comes as one, and what is none stays text.
#[test]
fn rq_2_5_structured_output_comes_back_structured() {
    let Some(mut client) = scripting() else { return };
    let script = json!({ "script": "({ cups: [1, 2], full: true })" });
    assert_eq!(client.call("execute_javascript", script)["result"], json!({ "cups": [1, 2], "full": true }));
    let plain = client.call("execute_javascript", json!({ "script": "'two cups'" }));
    assert_eq!((&plain["result"], &plain["stdout"]), (&Value::Null, &json!("two cups\n")));
}

// ---- 3: applications ---------------------------------------------------------------------------------------

/// Name, desktop entry and process, as the window manager knows it.
#[test]
fn rq_3_1_running_applications_with_names_ids_and_pids() {
    let Some((mut client, desktop)) = bare(&["xterm", "wmctrl"]) else { return };
    let (process, _) = terminal(&mut client, &desktop);
    let running = client.call("list_running_apps", json!({}));
    let applications = running["applications"].as_array().unwrap();
    let own =
        applications.iter().find(|application| application["pid"] == process.0.id()).expect("the terminal");
    assert_eq!((&own["name"], &own["id"]), (&json!("XTerm"), &json!("debian-xterm")), "{running}");
    assert!(output(&desktop, "wmctrl", &["-lp"]).contains(&process.0.id().to_string()));
}

/// Its window is there when the reply comes.
#[test]
fn rq_3_2_launch_app_starts_an_application() {
    let Some((mut client, desktop)) = bare(&["galculator", "wmctrl"]) else { return };
    let launched = client.call("launch_app", json!({ "application": "galculator", "timeout_ms": 30_000 }));
    let windows = output(&desktop, "wmctrl", &["-lp"]);
    assert!(windows.contains(&launched["pid"].to_string()) && windows.contains("galculator"), "{windows}");
}

/// The error has the name that was asked for.
#[test]
fn rq_3_3_an_unknown_application_is_named_in_the_error() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let unknown = json!({ "application": "Kettle Studio" });
    let refused = client.refused("application_not_found", "launch_app", unknown);
    assert!(refused["message"].as_str().unwrap().contains("\"Kettle Studio\""), "{refused}");
}

/// It is asked to close its window and does so itself.
#[test]
fn rq_3_4_quit_app_quits_gracefully() {
    let Some(mut scene) = scene("gtk3") else { return };
    let name = application(&mut scene);
    scene.client.confirmed("quit_app", json!({ "application": name }));
    scene.stage.wait_for("the close", |event| event["event"] == "close");
}

/// The window manager has it active, which it was not.
#[test]
fn rq_3_5_activate_app_brings_it_to_the_front() {
    let Some(mut scene) = scene("gtk3") else { return };
    let _terminal = terminal(&mut scene.client, &scene.desktop);
    let name = application(&mut scene);
    scene.client.confirmed("activate_app", json!({ "application": name }));
    assert_eq!(active(&scene.desktop), scene.window);
}

// ---- 4: windows --------------------------------------------------------------------------------------------

/// Titles, applications, places and sizes, as xwininfo tells them with the frame.
#[test]
fn rq_4_1_windows_with_titles_applications_places_and_sizes() {
    let Some((mut client, desktop)) = bare(&["xterm", "xwininfo"]) else { return };
    let (_process, window) = terminal(&mut client, &desktop);
    let listed = client.call("list_windows", json!({}))["windows"].clone();
    let own = &listed[0];
    assert_eq!(json!([own["id"], own["title"], own["application"]]), json!([window, "Terminal", "XTerm"]));
    let bounds = ["x", "y", "width", "height"].map(|name| own["bounds"][name].as_i64().unwrap());
    assert_eq!(bounds, frame(&desktop, &window));
}

/// Of two applications' windows only those of the one that was named.
#[test]
fn rq_4_2_only_the_windows_of_an_application() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (_process, window) = terminal(&mut scene.client, &scene.desktop);
    let listed = scene.client.call("list_windows", json!({ "application": "XTerm" }))["windows"].clone();
    let ids: Vec<&Value> = listed.as_array().unwrap().iter().map(|window| &window["id"]).collect();
    assert_eq!(ids, [&window]);
}

/// It is active and above the others.
#[test]
fn rq_4_3_focus_window_brings_it_to_the_front() {
    let Some(mut scene) = scene("gtk3") else { return };
    let _terminal = terminal(&mut scene.client, &scene.desktop);
    scene.client.confirmed("focus_window", json!({ "window": scene.window }));
    assert_eq!(active(&scene.desktop), scene.window);
    let stacking = output(&scene.desktop, "xprop", &["-root", "_NET_CLIENT_LIST_STACKING"]);
    let top = stacking.trim().rsplit("0x").next().and_then(|id| u64::from_str_radix(id, 16).ok());
    assert_eq!(top.map(|id| json!(id)), Some(scene.window.clone()), "{stacking}");
}

/// Its frame is where it was told to be.
#[test]
fn rq_4_4_move_window_moves_it() {
    let Some((mut client, desktop)) = bare(&["xterm", "xwininfo"]) else { return };
    let (_process, window) = terminal(&mut client, &desktop);
    client.confirmed("move_window", json!({ "window": window, "x": 210, "y": 130 }));
    assert_eq!(frame(&desktop, &window)[..2], [210, 130]);
}

/// It has the size, with its frame.
#[test]
fn rq_4_5_resize_window_resizes_it() {
    let Some(mut scene) = scene("gtk3") else { return };
    let sized = json!({ "window": scene.window, "width": 1000, "height": 700 });
    scene.client.confirmed("resize_window", sized);
    assert_eq!(frame(&scene.desktop, &scene.window)[2..], [1000, 700]);
}

/// The window manager has it minimized.
#[test]
fn rq_4_6_minimize_window_minimizes_it() {
    let Some((mut client, desktop)) = bare(&["xterm", "xprop"]) else { return };
    let (_process, window) = terminal(&mut client, &desktop);
    client.confirmed("minimize_window", json!({ "window": window }));
    let state = output(&desktop, "xprop", &["-id", &window.to_string(), "WM_STATE"]);
    assert!(state.contains("Iconic"), "{state}");
}

// ---- 5: the system -----------------------------------------------------------------------------------------

/// System, processor and memory as the kernel and the release file tell them; the model as the firmware does, or
/// why there is none.
#[test]
fn rq_5_1_system_version_model_processor_and_memory() {
    let told = nowhere(&[]).call("get_system_info", json!({}));
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    assert!(file("/etc/os-release").contains(told["os"].as_str().unwrap()), "{told}");
    assert!(file("/proc/cpuinfo").contains(told["processor"].as_str().unwrap()), "{told}");
    let memory = told["memory_bytes"].as_u64().unwrap() / 1024;
    assert!(file("/proc/meminfo").contains(&format!("{memory} kB")), "{told}");
    match told["model"].as_str() {
        Some(model) => assert!(!model.is_empty() && told["model_reason"].is_null(), "{told}"),
        None => assert!(told["model_reason"].as_str().unwrap().contains("firmware"), "{told}"),
    }
}

/// UPower's stand-in on a bus of its own, and a server that takes this bus for the system's.
fn upower() -> Option<(Client, Process, PrivateDesktop)> {
    if !have(&["Xvfb", "gdbus"]) {
        return None;
    }
    let desktop = PrivateDesktop::start(&[]);
    let session = desktop.environment.iter().find(|(name, _)| name == "DBUS_SESSION_BUS_ADDRESS");
    let bus = session.unwrap().1.clone();
    let mut mock = desktop.command("/usr/bin/python3");
    mock.args(["-m", "dbusmock", "--system", "--template", "upower"]).env("DBUS_SYSTEM_BUS_ADDRESS", &bus);
    let mock = Process::start(mock);
    let command = |program: &str| {
        let mut command = desktop.command(program);
        command.env("DBUS_SYSTEM_BUS_ADDRESS", &bus);
        command
    };
    let mut client = Client::with_options(command, REQUIREMENTS);
    wait("UPower", || (client.call("get_battery_status", json!({}))["source"] == "upower").then_some(()));
    Some((client, mock, desktop))
}

/// As UPower knows the battery.
#[test]
fn rq_5_2_battery_percentage_and_charging() {
    for (kind, charging) in [("Charging", true), ("Discharging", false)] {
        let Some((mut client, _mock, desktop)) = upower() else { return };
        let method = format!("org.freedesktop.DBus.Mock.Add{kind}Battery");
        let path = "/org/freedesktop/UPower";
        let call = ["call", "--session", "-d", "org.freedesktop.UPower", "-o", path, "-m", &method];
        output(&desktop, "gdbus", &[&call[..], &["battery", "Mock", "64", "1800"]].concat());
        let told = client.call("get_battery_status", json!({}));
        assert_eq!(json!([told["percentage"], told["charging"]]), json!([64.0, charging]), "{told}");
    }
}

/// A machine without one is no error.
#[test]
fn rq_5_3_a_machine_without_a_battery_says_so() {
    let Some((mut client, _mock, _desktop)) = upower() else { return };
    let told = client.call("get_battery_status", json!({}));
    assert_eq!(told["present"], false, "{told}");
    assert!(told["reason"].as_str().unwrap().contains("desktop machine"), "{told}");
}

/// Each monitor of the X server, by its name.
#[test]
fn rq_5_4_displays_with_resolution_and_name() {
    let Some((mut client, desktop)) = session::bare(REQUIREMENTS, &["xrandr"], TWO_DISPLAYS) else { return };
    let told = client.call("get_display_info", json!({}))["displays"].clone();
    let monitors = output(&desktop, "xrandr", &["--listmonitors"]);
    assert_eq!(told.as_array().unwrap().len(), 2);
    for display in told.as_array().unwrap() {
        let name = display["name"].as_str().unwrap();
        let line = monitors
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("no {name} in {monitors}"));
        let size =
            [&display["bounds"]["width"], &display["bounds"]["height"]].map(|value| format!("{value}/"));
        assert!(size.iter().all(|number| line.contains(number.as_str())), "{display}: {line}");
    }
}

// ---- 6: the clipboard --------------------------------------------------------------------------------------

/// Copies something with xclip.
fn copy(desktop: &PrivateDesktop, kind: &str, bytes: &[u8]) {
    let mut xclip = desktop.command("xclip");
    xclip.args(["-selection", "clipboard", "-t", kind, "-in"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut copying = xclip.spawn().unwrap();
    std::io::Write::write_all(&mut copying.stdin.take().unwrap(), bytes).unwrap();
    assert!(copying.wait().unwrap().success());
    let offers = || output(desktop, "xclip", &["-selection", "clipboard", "-t", "TARGETS", "-out"]);
    wait("the copy", || offers().lines().any(|offer| offer == kind).then_some(()));
}

/// What another program copied.
#[test]
fn rq_6_1_the_clipboards_text_is_returned() {
    let Some((mut client, desktop)) = bare(&["xclip"]) else { return };
    copy(&desktop, "UTF8_STRING", "naïve 茶".as_bytes());
    assert_eq!(client.call("get_clipboard", json!({}))["text"], "naïve 茶");
}

/// Another program pastes it.
#[test]
fn rq_6_2_the_clipboard_is_set() {
    let Some((mut client, desktop)) = bare(&["xclip"]) else { return };
    client.call("set_clipboard", json!({ "text": "Tee für 2 🍵" }));
    assert_eq!(output(&desktop, "xclip", &["-selection", "clipboard", "-out"]), "Tee für 2 🍵");
}

/// The types that are there instead of a text.
#[test]
fn rq_6_3_what_is_no_text_is_told_by_its_type() {
    let Some((mut client, desktop)) = bare(&["xclip"]) else { return };
    let shot = picture(&mut client, "take_screenshot", json!({ "format": "png" }));
    for (kind, bytes, told_as) in
        [("image/png", shot.bytes.as_slice(), "image"), ("application/pdf", b"%PDF", "application/pdf")]
    {
        copy(&desktop, kind, bytes);
        let told = client.try_call("get_clipboard", json!({})).1;
        assert!(told["text"].is_null() && told.to_string().contains(told_as), "{kind}: {told}");
    }
}

/// The reply says that it was read back.
#[test]
fn rq_6_4_setting_is_confirmed() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let set = client.confirmed("set_clipboard", json!({ "text": "tea" }));
    assert!(set["evidence"].as_str().unwrap().contains("3 characters"), "{set}");
}

// ---- 7: notifications --------------------------------------------------------------------------------------

/// dunst has it among what it shows.
#[test]
fn rq_7_1_a_notification_is_shown() {
    let Some((mut client, desktop)) = bare(&["dunst", "dunstctl", "gdbus"]) else { return };
    let _dunst = shower(&desktop, "dunst");
    client.call("send_notification", json!({ "title": "Tea", "message": "It is ready." }));
    assert_eq!(output(&desktop, "dunstctl", &["count", "displayed"]).trim(), "1");
    output(&desktop, "dunstctl", &["close-all"]);
    let shown = output(&desktop, "dunstctl", &["history"]);
    assert!(shown.contains("Tea") && shown.contains("It is ready."), "{shown}");
}

/// A daemon that plays sounds and writes down what it is asked for.
fn listener() -> Option<(Client, Process, PrivateDesktop, PathBuf)> {
    let (client, desktop) = bare(&["gdbus"])?;
    let log = Path::new(runtime(&desktop)).join("notifications.log");
    let mut mock = desktop.command("/usr/bin/python3");
    mock.args(["-m", "dbusmock", "--template", "notification_daemon", "--logfile"]).arg(&log);
    mock.args(["--parameters", r#"{"capabilities": "body sound"}"#]);
    let mock = Process::start(mock);
    wait("the daemon", || {
        let call = ["call", "--session", "-d", "org.freedesktop.DBus", "-o", "/org/freedesktop/DBus"];
        let ask = ["-m", "org.freedesktop.DBus.NameHasOwner", "org.freedesktop.Notifications"];
        output(&desktop, "gdbus", &[&call[..], &ask[..]].concat()).contains("true").then_some(())
    });
    Some((client, mock, desktop, log))
}

fn runtime(desktop: &PrivateDesktop) -> &str {
    &desktop.environment.iter().find(|(name, _)| name == "XDG_RUNTIME_DIR").unwrap().1
}

/// It stands between title and message: notifications here have no other place for it.
#[test]
fn rq_7_2_a_subtitle_is_shown() {
    let Some((mut client, _daemon, _desktop, log)) = listener() else { return };
    let tea = json!({ "title": "Tea", "subtitle": "In the kitchen", "message": "It is ready." });
    let sent = client.call("send_notification", tea);
    assert!(sent["ignored"].is_null(), "{sent}");
    let log = fs::read_to_string(log).unwrap();
    assert!(
        log.contains("In the kitchen\\nIt is ready.") || log.contains("In the kitchen\nIt is ready."),
        "{log}"
    );
}

/// The daemon is told which sound to play; one that plays none is told of in the reply.
#[test]
fn rq_7_3_a_sound_is_asked_for() {
    let Some((mut client, daemon, desktop, log)) = listener() else { return };
    let tea = json!({ "title": "Tea", "message": "It is ready.", "sound": "message-new-instant" });
    let sent = client.call("send_notification", tea.clone());
    assert!(sent["ignored"].is_null(), "{sent}");
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("sound-name") && log.contains("message-new-instant"), "{log}");
    drop(daemon);
    if have(&["dunst"]) {
        let _dunst = shower(&desktop, "dunst");
        assert_eq!(client.call("send_notification", tea)["ignored"], json!(["sound"]));
    }
}

/// The reply has who took it and the number that it gave.
#[test]
fn rq_7_4_delivery_is_confirmed() {
    let Some((mut client, _daemon, _desktop, _)) = listener() else { return };
    let sent = client.confirmed("send_notification", json!({ "title": "Tea", "message": "It is ready." }));
    assert_eq!(sent["id"], 1, "{sent}");
    assert!(sent["shown_by"].as_str().unwrap().contains("mock-notify"), "{sent}");
}

// ---- 8: the file manager -----------------------------------------------------------------------------------

/// Thunar with some files, and a client.
fn office() -> Option<(Client, Office)> {
    let mut office = Office::open("thunar")?;
    office.serve("thunar", &["--daemon"]);
    Some((office.client(REQUIREMENTS), office))
}

/// Its window shows the folder, and the file in it is the one that is selected.
#[test]
fn rq_8_1_the_file_manager_opens_and_selects_a_file() {
    let Some((mut client, office)) = office() else { return };
    let file = office.folder.join("third one.md");
    client.confirmed("reveal_in_finder", json!({ "path": file, "timeout_ms": 30_000 }));
    let windows = output(&office.desktop, "wmctrl", &["-l"]);
    assert!(windows.contains(office.folder.file_name().unwrap().to_str().unwrap()), "{windows}");
    assert_eq!(client.call("get_selected_files", json!({}))["files"][0]["path"], json!(file));
}

/// All that a person selected, with their paths.
#[test]
fn rq_8_2_selected_files_are_listed() {
    let Some((mut client, office)) = office() else { return };
    let file = office.folder.join("plain.txt");
    client.confirmed("reveal_in_finder", json!({ "path": file, "timeout_ms": 30_000 }));
    let window = client.call("get_finder_window_path", json!({}))["window"].clone();
    // Its icon view tells of one selected file only.
    for key in ["ctrl+2", "ctrl+a"] {
        client.call("press_key", json!({ "key": key, "window": window }));
    }
    let all = wait("four files", || {
        let selected = client.call("get_selected_files", json!({}));
        (selected["count"] == 4).then_some(selected)
    });
    let told: BTreeSet<&str> = names(&all).into_iter().collect();
    assert_eq!(told, BTreeSet::from(["50%25 #ü.txt", "a folder", "plain.txt", "third one.md"]));
}

/// The error has the path, and nothing opens.
#[test]
fn rq_8_3_a_path_that_is_not_there_is_an_error() {
    let Some((mut client, desktop)) = bare(&["wmctrl"]) else { return };
    let refused =
        client.refused("path_not_found", "reveal_in_finder", json!({ "path": "/tmp/no such/file" }));
    assert!(refused["message"].as_str().unwrap().contains("/tmp/no such"), "{refused}");
    assert_eq!(output(&desktop, "wmctrl", &["-l"]), "");
}

/// The folder that its frontmost window shows.
#[test]
fn rq_8_4_the_frontmost_folder_is_told() {
    let Some((mut client, office)) = office() else { return };
    for folder in [office.folder.clone(), office.folder.join("a folder")] {
        let mut open = office.desktop.command("thunar");
        open.arg(&folder).env("HOME", &office.home);
        assert!(open.status().unwrap().success());
        wait("the folder", || {
            let told = client.try_call("get_finder_window_path", json!({})).1;
            (told["path"] == json!(folder)).then_some(())
        });
    }
}

// ---- 9: sound ----------------------------------------------------------------------------------------------

/// PulseAudio with an output that sounds nowhere, and a client.
fn speakers() -> Option<(Client, Process, PrivateDesktop)> {
    let (client, desktop) = bare(&["pulseaudio", "pactl"])?;
    let server = pulseaudio(&desktop);
    Some((client, server, desktop))
}

/// What another program set.
#[test]
fn rq_9_1_the_volume_is_told_from_0_to_100() {
    let Some((mut client, _server, desktop)) = speakers() else { return };
    for percent in ["0%", "42%", "100%"] {
        pactl(&desktop, &["set-sink-volume", "@DEFAULT_SINK@", percent]);
        assert_eq!(format!("{}%", client.call("get_volume", json!({}))["volume"]), percent);
    }
}

/// Another program reads it.
#[test]
fn rq_9_2_the_volume_is_set() {
    let Some((mut client, _server, desktop)) = speakers() else { return };
    for volume in [0, 37, 100] {
        client.confirmed("set_volume", json!({ "volume": volume }));
        let told = pactl(&desktop, &["get-sink-volume", "@DEFAULT_SINK@"]);
        assert!(told.contains(&format!(" {volume}% ")), "{told}");
    }
}

/// What is allowed is said, and nothing changes.
#[test]
fn rq_9_3_a_volume_outside_is_a_validation_error() {
    let Some((mut client, _server, desktop)) = speakers() else { return };
    client.confirmed("set_volume", json!({ "volume": 37 }));
    for volume in [-1, 101] {
        let refused = client.refused("invalid_argument", "set_volume", json!({ "volume": volume }));
        assert!(refused["message"].as_str().unwrap().contains("from 0 to 100"), "{refused}");
    }
    assert!(pactl(&desktop, &["get-sink-volume", "@DEFAULT_SINK@"]).contains(" 37% "));
}

/// As another program set it.
#[test]
fn rq_9_4_whether_it_is_muted() {
    let Some((mut client, _server, desktop)) = speakers() else { return };
    for (set, muted) in [("1", true), ("0", false)] {
        pactl(&desktop, &["set-sink-mute", "@DEFAULT_SINK@", set]);
        assert_eq!(client.call("get_mute_status", json!({}))["muted"], muted);
    }
}

/// Another program finds it muted.
#[test]
fn rq_9_5_muting_mutes() {
    let Some((mut client, _server, desktop)) = speakers() else { return };
    client.confirmed("set_mute", json!({ "muted": true }));
    assert!(pactl(&desktop, &["get-sink-mute", "@DEFAULT_SINK@"]).contains("yes"));
}

/// What was muted sounds again.
#[test]
fn rq_9_6_unmuting_lets_it_sound() {
    let Some((mut client, _server, desktop)) = speakers() else { return };
    pactl(&desktop, &["set-sink-mute", "@DEFAULT_SINK@", "1"]);
    client.confirmed("set_mute", json!({ "muted": false }));
    assert!(pactl(&desktop, &["get-sink-mute", "@DEFAULT_SINK@"]).contains("no"));
}

// ---- 10: errors --------------------------------------------------------------------------------------------

/// A result that says it is an error, in words.
#[test]
fn rq_10_1_a_failing_script_is_an_error_with_a_message() {
    let Some(mut client) = scripting() else { return };
    let call = json!({ "name": "execute_javascript", "arguments": { "script": "kettle.boil()" } });
    let result = client.request("tools/call", call);
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("The script ended with an error.") && text.contains("kettle is not defined"),
        "{text}"
    );
}

/// All that are missing, at once.
#[test]
fn rq_10_2_missing_parameters_are_named() {
    let mut client = nowhere(&[]);
    let refused = client.refused("missing_required_parameter", "move_window", json!({}));
    let message = refused["message"].as_str().unwrap();
    assert!(["window", "x", "y"].iter().all(|name| message.contains(&format!("{name} "))), "{refused}");
}

/// What came and what was expected.
#[test]
fn rq_10_3_a_wrong_type_tells_the_expected_form() {
    let mut client = nowhere(&[]);
    let refused = client.refused("invalid_argument", "set_mute", json!({ "muted": "loud" }));
    assert!(refused["message"].as_str().unwrap().contains("muted has to be"), "{refused}");
    assert!(refused["detail"]["expected"].as_str().unwrap().contains("muted: "), "{refused}");
}

/// The same server answers the next call.
#[test]
fn rq_10_4_a_failing_script_does_not_end_the_server() {
    let Some(mut client) = scripting() else { return };
    for script in ["throw 1", "imports.system.exit(3)", "new Uint8Array(-1)", "let = "] {
        client.refused("script_failed", "execute_javascript", json!({ "script": script }));
    }
    let fine = client.call("execute_javascript", json!({ "script": "6 * 7" }));
    assert_eq!(fine["stdout"], "42\n", "{fine}");
}

/// With the name that does not exist.
#[test]
fn rq_10_5_an_unknown_tool_is_told() {
    let answer = nowhere(&[]).exchange("tools/call", json!({ "name": "boil_water", "arguments": {} }));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("boil_water"), "{answer}");
}

// ---- 11: permissions ---------------------------------------------------------------------------------------

/// Whatever needs elements says that accessibility is off and how to switch it on.
#[test]
fn rq_11_1_accessibility_that_is_off_tells_how_to_grant_it() {
    let Some(mut scene) = scene("gtk3") else { return };
    let set = ["org.freedesktop.DBus.Properties.Set", "org.a11y.Status", "IsEnabled", "<false>"];
    let call = ["call", "--session", "-d", "org.a11y.Bus", "-o", "/org/a11y/bus", "-m"];
    output(&scene.desktop, "gdbus", &[&call[..], &set[..]].concat());
    let name = application(&mut scene);
    // What was read before is known still: another server asks anew.
    scene.client = Client::with_options(|program| scene.desktop.command(program), REQUIREMENTS);
    for (tool, arguments) in [
        ("get_ui_elements", json!({ "application": name })),
        ("click_ui_element", json!({ "element": "button[name=\"OK\"]", "application": name })),
        ("set_ui_element_value", json!({ "element": "slider", "value": "3", "application": name })),
    ] {
        let refused = scene.client.refused("permission_denied", tool, arguments);
        assert!(refused["message"].as_str().unwrap().contains("Accessibility is switched off"), "{refused}");
        assert!(refused["detail"]["remedy"].as_str().unwrap().contains("deskhand doctor --fix"), "{refused}");
    }
}

/// No tool for it is listed, none that is called by name runs any, and no shell is launched as an application.
#[test]
fn rq_11_2_no_arbitrary_shell_command_is_run() {
    let Some((mut client, desktop)) = bare(&[]) else { return };
    let trace = Path::new(runtime(&desktop)).join("trace");
    let line = format!("touch {}", trace.display());
    for (tool, arguments) in [
        ("execute_shell_command", json!({ "command": line, "shell": true })),
        ("execute_javascript", json!({ "script": "1" })),
        ("launch_app", json!({ "application": "sh", "arguments": ["-c", line] })),
        ("launch_app", json!({ "application": "/usr/bin/env", "arguments": ["touch", trace] })),
    ] {
        let refused = client.refused("denied_by_policy", tool, arguments);
        assert!(refused["detail"]["remedy"].as_str().unwrap().contains("--allow"), "{refused}");
    }
    let listed = client.request("tools/list", json!({}))["tools"].clone();
    let mut names = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    assert!(!names.any(|name| name.contains("shell") || name.contains("execute")), "{listed}");
    assert!(!trace.exists());
}

/// A window that the window manager does not offer is neither listed nor moved.
#[test]
fn rq_11_3_window_tools_keep_to_what_the_window_manager_offers() {
    let Some((mut client, desktop)) = bare(&["xterm", "xwininfo"]) else { return };
    // Like a menu, it does without the window manager.
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stage/x_client.py");
    let mut menu = desktop.command("/usr/bin/python3");
    menu.arg(script).args(["confine", "700", "500", "101", "53"]);
    let _menu = Process::start(menu);
    let unmanaged = wait("the unmanaged window", || {
        let tree = output(&desktop, "xwininfo", &["-root", "-tree"]);
        let line = tree.lines().find(|line| line.contains("101x53+700+500"))?.trim().to_owned();
        u64::from_str_radix(line.strip_prefix("0x")?.split(' ').next()?, 16).ok()
    });
    let (_process, window) = terminal(&mut client, &desktop);
    let listed = client.call("list_windows", json!({}))["windows"].clone();
    let ids: Vec<&Value> = listed.as_array().unwrap().iter().map(|window| &window["id"]).collect();
    assert_eq!(ids, [&window]);
    for (tool, more) in [("move_window", json!({ "x": 1, "y": 1 })), ("minimize_window", json!({}))] {
        let mut arguments = more;
        arguments["window"] = json!(unmanaged);
        client.refused("window_not_found", tool, arguments);
    }
}

/// After a round through the tools there is no file that was not there before, and no connection to the network.
#[test]
fn rq_11_4_nothing_is_kept_or_sent_beyond_the_reply() {
    let Some(mut scene) = scene("gtk3") else { return };
    let folder = Path::new(runtime(&scene.desktop)).parent().unwrap().to_owned();
    let (home, temporary) = (folder.join("home"), folder.join("temporary"));
    for folder in [&home, &temporary] {
        fs::create_dir(folder).unwrap();
    }
    let command = |program: &str| {
        let mut command = scene.desktop.command(program);
        command.env("HOME", &home).env("TMPDIR", &temporary).current_dir(&home);
        command
    };
    scene.client = Client::with_options(command, REQUIREMENTS);
    let before = files(&folder);
    let secret = "Oolong-4711";
    for (tool, arguments) in [
        ("list_windows", json!({})),
        ("get_ui_elements", json!({ "window": scene.window })),
        ("set_ui_element_value", json!({ "element": "text_field[name=\"Name\"]", "value": secret })),
        ("type_text", json!({ "text": secret })),
        ("set_clipboard", json!({ "text": secret })),
        ("get_clipboard", json!({})),
        ("take_screenshot", json!({})),
        ("list_menu_items", json!({ "window": scene.window })),
        ("list_status_bar_items", json!({})),
    ] {
        scene.client.call(tool, arguments);
    }
    let pid = scene.client.pid();
    let mut own = BTreeSet::new();
    for descriptor in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
        let target = fs::read_link(descriptor.path()).unwrap_or_default().to_string_lossy().into_owned();
        own.extend(
            target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).map(str::to_owned),
        );
    }
    assert!(!own.is_empty(), "it speaks to the X server at least");
    for protocol in ["tcp", "tcp6", "udp", "udp6"] {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{protocol}")).unwrap_or_default();
        let inode = |line: &str| line.split_whitespace().nth(9).unwrap_or_default().to_owned();
        assert!(!table.lines().any(|line| own.contains(&inode(line))), "{table}");
    }
    let new: Vec<PathBuf> = files(&folder).difference(&before).cloned().collect();
    // The locks that keep two servers from acting at once; what they hold is looked at below.
    let locks = Path::new(runtime(&scene.desktop)).join("deskhand");
    let kept: Vec<&PathBuf> = new.iter().filter(|path| !path.starts_with(&locks)).collect();
    assert!(kept.is_empty(), "{kept:?}");
    for path in new.iter().filter(|path| path.is_file()) {
        let content = fs::read(path).unwrap();
        assert!(!content.windows(secret.len()).any(|part| part == secret.as_bytes()), "{}", path.display());
    }
}

/// Every file and folder below.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            all.extend(files(&entry.path()));
        }
        all.insert(entry.path());
    }
    all
}

/// An application that shows itself to nobody is named, with what to do about it.
#[test]
fn rq_11_5_an_application_that_denies_access_is_named() {
    let Some((mut client, desktop)) = bare(&[]) else { return };
    let stage = Stage::start("gtk3", |program| {
        let mut command = desktop.command(program);
        command.env("NO_AT_BRIDGE", "1");
        command
    });
    let window = json!({ "window_title": stage.title, "timeout_ms": 20_000 });
    let window = client.call("wait_for", window)["window"].clone();
    let name = window["application"].as_str().unwrap();
    let refused =
        client.refused("permission_denied", "get_ui_elements", json!({ "application": window["pid"] }));
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains(name) || message.contains("python3"), "{name}: {refused}");
    assert!(refused["detail"]["remedy"].as_str().unwrap().contains("Start it again"), "{refused}");
}

/// A client of a server that comes with the cookie of an untrusted client, as with `ssh -X`.
fn untrusted() -> Option<(Client, PrivateDesktop)> {
    if !have(&["Xvfb", "xauth", "xdotool"]) {
        return None;
    }
    let desktop = PrivateDesktop::start(&[]);
    let cookie = Path::new(runtime(&desktop)).join("untrusted");
    let display = desktop.environment.iter().find(|(name, _)| name == "DISPLAY").unwrap().1.clone();
    let mut xauth = desktop.command("xauth");
    xauth.arg("-f").arg(&cookie).args(["generate", &display, ".", "untrusted"]).stderr(Stdio::null());
    assert!(xauth.status().unwrap().success());
    let command = |program: &str| {
        let mut command = desktop.command(program);
        command.env("XAUTHORITY", &cookie);
        command
    };
    Some((Client::with_options(command, REQUIREMENTS), desktop))
}

/// The X server shows no pixels to clients that it does not trust: the error says so, and what to do.
#[test]
fn rq_11_6_a_screen_that_may_not_be_seen_tells_how_to_grant_it() {
    let Some((mut client, _desktop)) = untrusted() else { return };
    let refused = client.refused("permission_denied", "take_screenshot", json!({}));
    assert!(refused["message"].as_str().unwrap().contains("untrusted"), "{refused}");
    assert!(refused["detail"]["remedy"].as_str().unwrap().contains("XAUTHORITY"), "{refused}");
}

/// Without the permission neither pointer nor keyboard do anything, and the error tells how to grant it.
#[test]
fn rq_11_7_pointer_and_keyboard_need_permission() {
    let Some((mut client, desktop)) = untrusted() else { return };
    let before = pointer(&desktop);
    for (tool, arguments) in [
        ("move_mouse", json!({ "x": 5, "y": 5 })),
        ("click", json!({ "x": 5, "y": 5 })),
        ("drag", json!({ "start_x": 5, "start_y": 5, "end_x": 50, "end_y": 50 })),
        ("type_text", json!({ "text": "tea" })),
        ("press_key", json!({ "key": "enter" })),
    ] {
        let refused = client.refused("permission_denied", tool, arguments);
        assert!(refused["detail"]["remedy"].as_str().unwrap().contains("XAUTHORITY"), "{refused}");
    }
    assert_eq!(pointer(&desktop), before);
}

// ---- 12: the pointer ---------------------------------------------------------------------------------------

/// One click of the left button, there.
#[test]
fn rq_12_1_a_left_click_at_a_point() {
    let Some(mut scene) = scene("gtk3") else { return };
    let clicks = clicks(&mut scene, "click", (60, 70), json!({}), 1);
    assert!(clicks[0]["button"] == 1 && near(&clicks[0], (60, 70), 0), "{clicks:#?}");
}

/// One of the right button.
#[test]
fn rq_12_2_a_right_click() {
    let Some(mut scene) = scene("gtk3") else { return };
    let clicks = clicks(&mut scene, "click", (61, 71), json!({ "button": "right" }), 1);
    assert!(clicks[0]["button"] == 3 && near(&clicks[0], (61, 71), 0), "{clicks:#?}");
}

/// One of the middle button.
#[test]
fn rq_12_3_a_middle_click() {
    let Some(mut scene) = scene("gtk3") else { return };
    let clicks = clicks(&mut scene, "click", (62, 72), json!({ "button": "middle" }), 1);
    assert!(clicks[0]["button"] == 2 && near(&clicks[0], (62, 72), 0), "{clicks:#?}");
}

/// The application takes the two for one double click.
#[test]
fn rq_12_4_a_double_click() {
    let Some(mut scene) = scene("gtk3") else { return };
    let clicks = clicks(&mut scene, "double_click", (63, 73), json!({}), 2);
    assert_eq!((&clicks[0]["count"], &clicks[1]["count"]), (&json!(1), &json!(2)), "{clicks:#?}");
    assert!(clicks.iter().all(|click| click["button"] == 1 && near(click, (63, 73), 0)), "{clicks:#?}");
}

/// The pointer is there, and no button went down.
#[test]
fn rq_12_5_a_move_without_a_click() {
    let Some(mut scene) = scene("gtk3") else { return };
    let there = scene.on_canvas(64, 74, json!({}));
    let wanted = (there["x"].as_i64().unwrap(), there["y"].as_i64().unwrap());
    scene.client.confirmed("move_mouse", there);
    assert_eq!(pointer(&scene.desktop), wanted);
    scene.settle();
    assert_eq!(events(&scene, 0, "press"), [Value::Null; 0]);
}

/// Down at the start, held on the way, up at the end.
#[test]
fn rq_12_6_a_drag_between_points() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (start, end) = (scene.point("canvas", 30, 40), scene.point("canvas", 230, 140));
    let mark = scene.stage.mark();
    let way = json!({ "start_x": start.0, "start_y": start.1, "end_x": end.0, "end_y": end.1 });
    scene.client.call("drag", way);
    scene.settle();
    let (down, up) = (events(&scene, mark, "press"), events(&scene, mark, "release"));
    assert!(down.len() == 1 && down[0]["button"] == 1 && near(&down[0], (30, 40), 0), "{down:#?}");
    assert!(up.len() == 1 && up[0]["button"] == 1 && near(&up[0], (230, 140), 0), "{up:#?}");
    let held =
        events(&scene, mark, "motion").into_iter().filter(|event| event["buttons"] == json!([1])).count();
    assert!(2 < held, "{held} motions with the button held");
}

/// The document's names of the keys are those of this keyboard.
#[test]
fn rq_12_7_modifiers_go_by_every_name() {
    let Some(mut scene) = scene("gtk3") else { return };
    for (name, key) in [("Command", "meta"), ("Shift", "shift"), ("Option", "alt"), ("Control", "ctrl")] {
        let clicks = clicks(&mut scene, "click", (65, 75), json!({ "modifiers": [name] }), 1);
        assert_eq!(clicks[0]["modifiers"], json!([key]), "{name}");
    }
}

/// They are down at the press and at the release, and up again afterwards.
#[test]
fn rq_12_8_modifiers_are_held_during_the_click() {
    let Some(mut scene) = scene("gtk3") else { return };
    let mark = scene.stage.mark();
    clicks(&mut scene, "click", (66, 76), json!({ "modifiers": ["shift", "control"] }), 1);
    for edge in ["press", "release"] {
        assert_eq!(events(&scene, mark, edge)[0]["modifiers"], json!(["ctrl", "shift"]), "{edge}");
    }
    let last = events(&scene, mark, "motion").pop().expect("a motion after it");
    assert_eq!(last["modifiers"], json!([]), "{last}");
}

// ---- 13: the keyboard --------------------------------------------------------------------------------------

/// The text grows by one character after the other, in order.
#[test]
fn rq_13_1_each_character_is_typed_in_order() {
    let Some(mut scene) = scene("gtk3") else { return };
    type_in_entry(&mut scene);
    let mark = scene.stage.mark();
    scene.client.confirmed("type_text", json!({ "text": "Grün 茶!" }));
    let texts: Vec<Value> =
        events(&scene, mark, "text").into_iter().map(|event| event["text"].clone()).collect();
    assert_eq!(texts, ["G", "Gr", "Grü", "Grün", "Grün ", "Grün 茶", "Grün 茶!"]);
}

/// Six characters take five pauses.
#[test]
fn rq_13_2_a_delay_between_keystrokes() {
    let Some(mut scene) = scene("gtk3") else { return };
    type_in_entry(&mut scene);
    let began = Instant::now();
    scene.client.confirmed("type_text", json!({ "text": "oolong", "delay": 60 }));
    let took = began.elapsed();
    assert!(Duration::from_millis(300) <= took && took < Duration::from_secs(3), "{took:?}");
    scene.stage.wait_for("the text", |event| event["widget"] == "entry" && event["text"] == "oolong");
}

/// It goes down and up again, once.
#[test]
fn rq_13_3_a_key_is_pressed_and_released() {
    let Some(mut scene) = scene("gtk3") else { return };
    presses(&mut scene, &[("k", "k")]);
}

/// By the names of the document.
#[test]
fn rq_13_4_special_keys_are_known() {
    let Some(mut scene) = scene("gtk3") else { return };
    let keys = [
        ("Enter", "enter"),
        ("Escape", "escape"),
        ("Tab", "tab"),
        ("Delete", "delete"),
        ("Backspace", "backspace"),
        ("ArrowUp", "up"),
        ("ArrowDown", "down"),
        ("Left", "left"),
        ("Right", "right"),
    ];
    presses(&mut scene, &keys);
}

/// All twelve. GTK opens its menu bar with F10; Qt leaves it to the application.
#[test]
fn rq_13_5_function_keys_are_known() {
    let Some(mut scene) = scene("qt5") else { return };
    let names: Vec<(String, String)> =
        (1..=12).map(|number| (format!("F{number}"), format!("f{number}"))).collect();
    let keys: Vec<(&str, &str)> = names.iter().map(|(key, seen)| (key.as_str(), seen.as_str())).collect();
    presses(&mut scene, &keys);
}

/// Copying copies, and a key with two modifiers arrives with both.
#[test]
fn rq_13_6_key_combinations_are_pressed() {
    let Some(mut scene) = scene("gtk3") else { return };
    type_in_entry(&mut scene);
    scene.client.confirmed("type_text", json!({ "text": "oolong" }));
    scene.client.call("key_combination", json!({ "modifiers": ["control"], "key": "a" }));
    scene.client.call("key_combination", json!({ "modifiers": ["control"], "key": "c" }));
    wait("the copy", || {
        (output(&scene.desktop, "xclip", &["-selection", "clipboard", "-o"]) == "oolong").then_some(())
    });
    type_on_canvas(&mut scene);
    let mark = scene.stage.mark();
    scene.client.call("key_combination", json!({ "modifiers": ["command", "shift"], "key": "s" }));
    let pressed = |event: &Value| event["event"] == "key" && event["down"] == true;
    let key = scene.stage.wait_since(mark, "S", |event| pressed(event) && event["key"] == "S");
    assert_eq!(key["modifiers"], json!(["shift", "meta"]), "{key}");
}

/// The application that is named comes to the front before the first key.
#[test]
fn rq_13_7_the_application_is_activated_before_typing() {
    let Some(mut scene) = scene("gtk3") else { return };
    type_in_entry(&mut scene);
    let _terminal = terminal(&mut scene.client, &scene.desktop);
    let name = application(&mut scene);
    scene.client.confirmed("type_text", json!({ "text": "oolong", "application": name }));
    assert_eq!(active(&scene.desktop), scene.window);
    scene.stage.wait_for("the text", |event| event["widget"] == "entry" && event["text"] == "oolong");
}

/// As often as was asked for.
#[test]
fn rq_13_8_a_key_is_repeated() {
    let Some(mut scene) = scene("gtk3") else { return };
    type_on_canvas(&mut scene);
    let mark = scene.stage.mark();
    scene.client.call("press_key", json!({ "key": "Right", "repeat": 4 }));
    let pressed = |event: &Value| event["event"] == "key" && event["key"] == "right" && event["down"] == true;
    scene.exactly(4, "presses", mark, pressed);
}

// ---- 14: screenshots ---------------------------------------------------------------------------------------

/// The primary display, all of it, in its own size.
#[test]
fn rq_14_1_the_whole_primary_screen() {
    let Some((mut client, _desktop)) = session::bare(REQUIREMENTS, &[], &["--size", "1920x1080,1024x768"])
    else {
        return;
    };
    let shot = picture(&mut client, "take_screenshot", json!({}));
    assert_eq!((shot.width, shot.height), (1920, 1080));
}

/// The second of two.
#[test]
fn rq_14_2_a_display() {
    let Some((mut client, _desktop)) = session::bare(REQUIREMENTS, &[], TWO_DISPLAYS) else { return };
    let shot = picture(&mut client, "take_screenshot", json!({ "display": 1 }));
    assert_eq!((shot.width, shot.height), (1024, 768));
    client.refused("display_not_found", "take_screenshot", json!({ "display": 2 }));
}

/// All of the window and nothing of what covers it.
#[test]
fn rq_14_3_a_window_only() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (_process, window) = terminal(&mut scene.client, &scene.desktop);
    let above = json!({ "window": window, "x": 400, "y": 300 });
    scene.client.confirmed("move_window", above);
    let shot = json!({ "window": scene.window, "format": "png" });
    let covered = picture(&mut scene.client, "take_screenshot", shot.clone());
    let size = [i64::from(covered.width), i64::from(covered.height)];
    assert_eq!(size, frame(&scene.desktop, &scene.window)[2..]);
    scene.client.confirmed("move_window", json!({ "window": window, "x": 20, "y": 40 }));
    let other_place = picture(&mut scene.client, "take_screenshot", shot);
    assert!(covered.pixels() == other_place.pixels(), "what covers it shows");
}

/// A part of the canvas has the canvas's color and no other.
#[test]
fn rq_14_4_a_region_only() {
    let Some(mut scene) = scene("gtk3") else { return };
    let region = scene.on_canvas(10, 10, json!({ "width": 320, "height": 101, "format": "png" }));
    let shot = picture(&mut scene.client, "take_screenshot", region);
    assert_eq!((shot.width, shot.height), (320, 101));
    let pixels = shot.pixels();
    let is_the_canvass = |pixel: [u8; 3]| pixel == pixels[0] && pixel[0].abs_diff(222) < 2 && pixel[2] == 255;
    assert!(pixels.iter().copied().all(is_the_canvass), "{:?}", pixels[0]);
}

/// In the reply, as a picture block.
#[test]
fn rq_14_5_base64_by_default() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    let result = client.request("tools/call", json!({ "name": "take_screenshot", "arguments": {} }));
    let block = result["content"].as_array().unwrap().iter().find(|block| block["type"] == "image").unwrap();
    assert!(block["mimeType"].as_str().unwrap().starts_with("image/"), "{}", block["mimeType"]);
    let bytes = base64_simd::STANDARD.decode_to_vec(block["data"].as_str().unwrap()).unwrap();
    assert!(1000 < bytes.len(), "{} bytes", bytes.len());
}

/// Both are what they say, by their first bytes.
#[test]
fn rq_14_6_png_and_jpeg() {
    let Some((mut client, _desktop)) = bare(&[]) else { return };
    for (format, begins) in [("png", &b"\x89PNG\r\n"[..]), ("jpeg", &b"\xff\xd8\xff"[..])] {
        let shot = picture(&mut client, "take_screenshot", json!({ "format": format }));
        assert_eq!(shot.mime, format!("image/{format}"));
        assert!(shot.bytes.starts_with(begins), "{format}: {:?}", &shot.bytes[..8]);
    }
}

/// The file has the picture, and the reply only says so.
#[test]
fn rq_14_7_saved_to_a_path() {
    let Some((mut client, desktop)) = bare(&[]) else { return };
    let path = Path::new(runtime(&desktop)).join("shot.png");
    let call = json!({ "name": "take_screenshot", "arguments": { "file_path": path, "format": "png" } });
    let result = client.request("tools/call", call);
    let kinds: Vec<&Value> =
        result["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert!(kinds == ["text"] && result["isError"] != true, "{result}");
    let file =
        png::Decoder::new(std::io::BufReader::new(fs::File::open(&path).unwrap())).read_info().unwrap();
    assert_eq!((file.info().width, file.info().height), (1280, 800));
}

/// With its name, and the windows that there are.
#[test]
fn rq_14_8_a_missing_window_is_told() {
    let Some((mut client, desktop)) = bare(&["xterm"]) else { return };
    let _terminal = terminal(&mut client, &desktop);
    let refused = client.refused("window_not_found", "take_screenshot", json!({ "window": "Kettle" }));
    assert!(refused["message"].as_str().unwrap().contains("\"Kettle\""), "{refused}");
    assert!(refused["detail"]["found"].to_string().contains("Terminal"), "{refused}");
}

// ---- 15: elements ------------------------------------------------------------------------------------------

/// Roles, titles, values and places, one below the other.
#[test]
fn rq_15_1_a_tree_with_roles_titles_values_and_places() {
    let Some(mut scene) = scene("gtk3") else { return };
    let name = application(&mut scene);
    let tree = scene.client.call("get_ui_elements", json!({ "application": name }));
    let tree = tree.as_str().expect("a reading").to_owned();
    let line = |what: &str| tree.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{tree}"));
    assert!(line("button \"OK\"").contains('@') && line("slider \"Volume\"").contains("= \"50\""), "{tree}");
    // The rows stand below the pane that shows them.
    let indent = |line: &str| line.len() - line.trim_start().len();
    assert!(indent(line("scroll_pane \"Rows\"")) < indent(line("label \"Row 1\"")), "{tree}");
    let (x, y) = scene.point("slider", 0, 0);
    let (_, _, width, height) = scene.stage.place("slider");
    assert!(line("slider").ends_with(&format!("@{x},{y} {width}x{height}")), "{tree}");
}

/// What lies deeper is not read.
#[test]
fn rq_15_2_a_limit_of_depth() {
    let Some(mut scene) = scene("gtk3") else { return };
    let name = application(&mut scene);
    let read = |scene: &mut Scene, depth: i64| {
        let tree = scene.client.call("get_ui_elements", json!({ "application": name, "max_depth": depth }));
        tree.as_str().unwrap().to_owned()
    };
    let (shallow, deep) = (read(&mut scene, 4), read(&mut scene, 20));
    assert!(shallow.contains("canvas \"Canvas\"") && !shallow.contains("\"Row 1\""), "{shallow}");
    assert!(deep.contains("canvas \"Canvas\"") && deep.contains("\"Row 1\""), "{deep}");
}

/// By its way through the tree and by the identifier that it was shown with.
#[test]
fn rq_15_3_a_click_by_path_or_identifier() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (name, identifier) = (application(&mut scene), scene.named("OK")["ref"].clone());
    for element in [json!("filler > filler > button[name=\"OK\"]"), identifier] {
        let mark = scene.stage.mark();
        scene.client.call("click_ui_element", json!({ "element": element, "application": name }));
        scene.stage.wait_since(mark, "click", |event| event["event"] == "click" && event["widget"] == "ok");
    }
}

/// What the element holds now.
#[test]
fn rq_15_4_a_value_is_read() {
    let Some(mut scene) = scene("gtk3") else { return };
    type_in_entry(&mut scene);
    scene.client.confirmed("type_text", json!({ "text": "oolong" }));
    for (element, value) in [("Name", json!("oolong")), ("Volume", json!("50"))] {
        let element = scene.named(element)["ref"].clone();
        let told = scene.client.call("get_ui_element_value", json!({ "element": element }));
        assert_eq!(told["value"], value, "{told}");
    }
}

/// The application has it; what cannot be edited is refused.
#[test]
fn rq_15_5_a_value_is_set() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (entry, label) = (scene.named("Name")["ref"].clone(), scene.named("Row 1")["ref"].clone());
    scene.client.confirmed("set_ui_element_value", json!({ "element": entry, "value": "oolong" }));
    scene.stage.wait_for("the text", |event| event["widget"] == "entry" && event["text"] == "oolong");
    let fixed = json!({ "element": label, "value": "Row 0" });
    scene.client.refused("element_not_actionable", "set_ui_element_value", fixed);
}

/// The error has what was looked for.
#[test]
fn rq_15_6_a_missing_element_is_named_in_the_error() {
    let Some(mut scene) = scene("gtk3") else { return };
    for (code, element, name) in
        [("element_not_found", "button[name=\"Kettle\"]", "Kettle"), ("element_stale", "e4711", "e4711")]
    {
        let missing = json!({ "element": element, "window": scene.window });
        let refused = scene.client.refused(code, "click_ui_element", missing);
        assert!(refused["message"].as_str().unwrap().contains(name), "{refused}");
    }
}

/// The application sees the focus come.
#[test]
fn rq_15_7_the_keyboard_focus_is_set() {
    let Some(mut scene) = scene("gtk3") else { return };
    let notes = scene.named("Notes")["ref"].clone();
    scene.client.confirmed("focus_ui_element", json!({ "element": notes }));
    scene.stage.wait_for("focus", |event| event["event"] == "focus" && event["widget"] == "text");
}

// ---- 16: scrolling -----------------------------------------------------------------------------------------

/// The rows go down and up again.
#[test]
fn rq_16_1_scrolling_up_and_down() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (x, y) = scene.point("rows", 40, 40);
    let mut last = 0;
    for (direction, sign) in [("down", 1), ("down", 1), ("up", -1)] {
        scene.settle();
        let mark = scene.stage.mark();
        let there = json!({ "direction": direction, "x": x, "y": y, "settle_ms": 3000 });
        scene.client.confirmed("scroll", there);
        scene.settle();
        let now = events(&scene, mark, "scroll").pop().expect("a scroll")["y"].as_i64().unwrap();
        assert_eq!((now - last).signum(), sign, "{direction}: {last} → {now}");
        last = now;
    }
}

/// A line that is too long for its window moves to either side.
#[test]
fn rq_16_2_scrolling_left_and_right() {
    let Some((mut client, desktop)) = bare(&["mousepad"]) else { return };
    let file = Path::new(runtime(&desktop)).join("long.txt");
    fs::write(&file, "oolong ".repeat(200)).unwrap();
    let window = mousepad(&mut client, json!([file]));
    let bar = json!({ "element": "scroll_bar:nth(1)", "window": window });
    let mut last = 0.0;
    for (direction, way) in [("right", 1.0), ("right", 1.0), ("left", -1.0)] {
        let there = json!({
            "direction": direction, "element": "text_area", "window": window, "settle_ms": 3000,
        });
        client.confirmed("scroll", there);
        let place = client.call("get_ui_element_value", bar.clone())["value"].clone();
        let place: f64 = place.as_str().unwrap().parse().unwrap();
        assert!(0.0 < (place - last) * way, "{direction}: {last} → {place}");
        last = place;
    }
}

/// As many pixels as were asked for, where the application scrolls by pixels.
#[test]
fn rq_16_3_an_amount_in_pixels() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (x, y) = scene.point("rows", 40, 40);
    let scrolled =
        scene.client.confirmed("scroll", json!({ "direction": "down", "amount": 137, "x": x, "y": y }));
    assert_eq!(scrolled["delivered"], "137 pixels", "{scrolled}");
    scene.stage.wait_for("137 pixels", |event| event["event"] == "scroll" && event["y"] == 137);
}

/// What lies there scrolls, and what lies elsewhere does not.
#[test]
fn rq_16_4_scrolling_at_a_point() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (beside, rows) = (scene.point("text", 30, 30), scene.point("rows", 40, 40));
    for ((x, y), moves) in [(beside, false), (rows, true)] {
        let mark = scene.stage.mark();
        let there = json!({ "direction": "down", "amount": 120, "x": x, "y": y });
        let scrolled = scene.client.call("scroll", there);
        assert_eq!(pointer(&scene.desktop), (x, y));
        assert_eq!(scrolled["effect"] == "confirmed", moves, "{scrolled}");
        scene.settle();
        assert_eq!(events(&scene, mark, "scroll").is_empty(), !moves, "{scrolled}");
    }
}

/// The row lies within its pane afterwards.
#[test]
fn rq_16_5_scrolling_until_an_element_is_visible() {
    let Some(mut scene) = scene("gtk3") else { return };
    let name = application(&mut scene);
    let row = json!({ "element": "label[name=\"Row 90\"]", "application": name });
    scene.client.confirmed("scroll_to_element", row);
    // Each row is 24 pixels high.
    let (top, (_, _, _, height)) = (89 * 24, scene.stage.place("rows"));
    scene.stage.wait_for("row 90", |event| {
        let from = event["y"].as_i64().unwrap_or(i64::MAX);
        event["event"] == "scroll" && from <= top && top + 24 <= from + height
    });
}

/// A button has nothing to scroll, which is an error, and nothing moves.
#[test]
fn rq_16_6_what_cannot_scroll_is_told() {
    let Some(mut scene) = scene("gtk3") else { return };
    let (x, y) = scene.point("ok", 20, 10);
    let mark = scene.stage.mark();
    let refused =
        scene.client.refused("not_scrollable", "scroll", json!({ "direction": "down", "x": x, "y": y }));
    assert!(refused["message"].as_str().unwrap().contains("scrolls"), "{refused}");
    assert_eq!(events(&scene, mark, "scroll"), [Value::Null; 0]);
}

// ---- 17: menus and the notification area -------------------------------------------------------------------

/// Menus, items and their shortcuts, without opening any.
#[test]
fn rq_17_1_the_menu_hierarchy_with_shortcuts() {
    let Some((mut client, _desktop)) = bare(&["mousepad"]) else { return };
    mousepad(&mut client, json!([]));
    let menus = client.call("list_menu_items", json!({ "application": "mousepad" }));
    let titles: Vec<&str> =
        menus["menus"].as_array().unwrap().iter().map(|menu| menu["name"].as_str().unwrap()).collect();
    assert_eq!(titles, ["File", "Edit", "Search", "View", "Document", "Help"]);
    assert_eq!(menu_item(&menus, &["File", "Save As..."])["shortcut"], "Ctrl+Shift+S");
    assert_eq!(menu_item(&menus, &["Edit", "Convert", "Transpose"])["shortcut"], "Ctrl+T");
    assert_eq!(menus["truncated"], false);
}

/// The dialog opens.
#[test]
fn rq_17_2_a_click_by_a_path() {
    let Some((mut client, desktop)) = bare(&["mousepad", "wmctrl"]) else { return };
    mousepad(&mut client, json!([]));
    let save = json!({ "application": "mousepad", "path": "File > Save As...", "settle_ms": 5000 });
    client.confirmed("click_menu_item", save);
    let windows = output(&desktop, "wmctrl", &["-l"]);
    assert!(windows.contains("Save As"), "{windows}");
}

/// Each of the three, of items that differ in it.
#[test]
fn rq_17_3_whether_it_is_enabled_checked_or_a_submenu() {
    let Some((mut client, _desktop)) = bare(&["mousepad"]) else { return };
    mousepad(&mut client, json!([]));
    let mut state =
        |path: &str| client.call("get_menu_item_state", json!({ "application": "mousepad", "path": path }));
    assert_eq!(state("File > New")["enabled"], true);
    assert_eq!(state("File > Reload")["enabled"], false);
    assert_eq!(state("View > Line Numbers")["checked"], false);
    assert_eq!(state("Document > Tab Size")["submenu"], true);
    let clicked = json!({ "application": "mousepad", "path": "View > Line Numbers" });
    client.confirmed("click_menu_item", clicked.clone());
    assert_eq!(client.call("get_menu_item_state", clicked)["checked"], true);
}

/// The names at the level where it went wrong, and of no other.
#[test]
fn rq_17_4_a_wrong_path_tells_what_there_is() {
    let Some(mut scene) = scene("gtk3") else { return };
    let name = application(&mut scene);
    for (path, there) in
        [("Tools > In", &["File", "View"][..]), ("View > Zoom > Sideways", &["In", "Out"][..])]
    {
        for tool in ["click_menu_item", "get_menu_item_state"] {
            let wrong = json!({ "application": name, "path": path });
            let refused = scene.client.refused("menu_item_not_found", tool, wrong);
            let found: Vec<&str> =
                refused["detail"]["found"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let plain: Vec<&str> = found.iter().map(|name| name.trim_end_matches(" >")).collect();
            assert_eq!(plain, there, "{refused}");
        }
    }
}

/// What a panel shows: what it is, where it is, and whose it is.
#[test]
fn rq_17_5_status_items_with_descriptions_places_and_processes() {
    let Some((mut client, desktop)) = bare(&["trayer", "xwininfo"]) else { return };
    let _panel = Process::start(desktop.command("trayer"));
    let icon = Program::python(&desktop, "tray_icons.py", &["embedded"], &[]);
    // It gets its title after it came, and from the panel its place.
    let shown = wait("the icon", || {
        let list = client.call("list_status_bar_items", json!({}));
        let items = list["items"].as_array().unwrap();
        let shown = items.iter().find(|item| item["description"] == "Embedded icon")?;
        let place = ["width", "height", "x", "y"].map(|name| shown["position"][name].to_string());
        // Each line of the tree of windows ends with a size and a place on the screen.
        let tree = output(&desktop, "xwininfo", &["-root", "-tree"]);
        let (size, at) = (format!("{}x{}+", place[0], place[1]), format!("  +{}+{}", place[2], place[3]));
        tree.lines().any(|line| line.contains(&size) && line.ends_with(&at)).then(|| shown.clone())
    });
    assert_eq!(shown["pid"], icon.process.id(), "{shown}");
    assert!(shown["process"].as_str().unwrap().starts_with("python3"), "{shown}");
}

/// An indicator answers with its menu.
#[test]
fn rq_17_6_a_status_item_is_clicked() {
    let Some((mut client, desktop)) = bare(&[]) else { return };
    let late = Program::python(&desktop, "tray_item.py", &[], &["0"]);
    let indicator = Program::python(&desktop, "tray_icons.py", &["indicator"], &[]);
    item(&mut client, "late");
    item(&mut client, "deskhand-indicator");
    let clicked = client.confirmed("click_status_bar_item", json!({ "item": "An indicator" }));
    assert_eq!(clicked["menu"][0]["name"], "Alpha", "{clicked}");
    // By its process, and one that is told of the click itself.
    client.call("click_status_bar_item", json!({ "item": late.process.id() }));
    late.wait_for(&json!({ "event": "Activate" }));
    drop(indicator);
}

/// The application gets the click, in submenus too.
#[test]
fn rq_17_7_an_item_of_a_status_menu_is_clicked() {
    let Some((mut client, desktop)) = bare(&[]) else { return };
    let indicator = Program::python(&desktop, "tray_icons.py", &["indicator"], &[]);
    item(&mut client, "deskhand-indicator");
    for (path, clicked) in [("Beta", "Beta"), ("More > Deep", "Deep")] {
        client.call("click_status_bar_menu_item", json!({ "item": "deskhand-indicator", "path": path }));
        indicator.wait_for(&json!({ "event": "clicked", "item": clicked }));
    }
}

/// By name, with those that are there.
#[test]
fn rq_17_8_a_missing_status_item_tells_which_there_are() {
    let Some((mut client, desktop)) = bare(&[]) else { return };
    let _late = Program::python(&desktop, "tray_item.py", &[], &["0"]);
    item(&mut client, "late");
    for (tool, arguments) in [
        ("click_status_bar_item", json!({ "item": "kettle" })),
        ("click_status_bar_menu_item", json!({ "item": "kettle", "path": "Boil" })),
    ] {
        let refused = client.refused("status_item_not_found", tool, arguments);
        assert!(refused["message"].as_str().unwrap().contains("kettle"), "{refused}");
        assert!(refused["detail"]["found"][0].as_str().unwrap().contains("late"), "{refused}");
    }
}

/// All menus and items with what is enabled and checked, by the process.
#[test]
fn rq_17_9_the_menu_bars_structure_with_states() {
    let Some(mut scene) = scene("gtk3") else { return };
    let name = application(&mut scene);
    let dark = json!({ "application": name, "path": "View > Dark" });
    scene.client.confirmed("click_menu_item", dark);
    scene.stage.wait_for("the click", |event| event["event"] == "menu" && event["checked"] == true);
    let structure = scene.client.call("get_menu_bar_structure", json!({ "process_name": name }));
    assert_eq!(structure["total"], 9, "{structure}");
    for path in [&["File", "New"][..], &["File", "Open…"], &["File", "Quit"], &["View", "Zoom", "Out"]] {
        assert_eq!(menu_item(&structure, path)["enabled"], true, "{path:?}");
    }
    assert_eq!(menu_item(&structure, &["View", "Dark"])["checked"], true);
    // There is nothing to reload in an editor that has just started.
    let Some((mut client, _desktop)) = bare(&["mousepad"]) else { return };
    mousepad(&mut client, json!([]));
    let structure = client.call("get_menu_bar_structure", json!({ "process_name": "mousepad" }));
    assert_eq!(menu_item(&structure, &["File", "New"])["enabled"], true);
    assert_eq!(menu_item(&structure, &["File", "Reload"])["enabled"], false);
}

/// The network applet, a part of the desktop, and an item of some program.
#[test]
fn rq_17_10_items_of_the_system_and_of_applications() {
    let Some((mut client, desktop)) = bare(&["nm-applet"]) else { return };
    let mut network = desktop.command("nm-applet");
    network.arg("--indicator");
    let network = Process::start(network);
    let indicator = Program::python(&desktop, "tray_icons.py", &["indicator"], &[]);
    for (name, pid) in [("nm-applet", network.0.id()), ("deskhand-indicator", indicator.process.id())] {
        let shown = item(&mut client, name);
        assert_eq!(shown["pid"], pid, "{shown}");
        let clicked = client.confirmed("click_status_bar_item", json!({ "item": name }));
        assert!(!clicked["menu"].as_array().unwrap().is_empty(), "{name}: {clicked}");
    }
    client.call("click_status_bar_menu_item", json!({ "item": "deskhand-indicator", "path": "Alpha" }));
    indicator.wait_for(&json!({ "event": "clicked", "item": "Alpha" }));
}

/// A menu that is empty until it is announced, and a submenu that is filled by an announcement of its own.
#[test]
fn rq_17_11_menus_that_fill_themselves_late_are_waited_for() {
    let Some((mut client, desktop)) = bare(&[]) else { return };
    let late = Program::python(&desktop, "tray_item.py", &[], &["400"]);
    item(&mut client, "late");
    let began = Instant::now();
    let clicked = client.confirmed("click_status_bar_menu_item", json!({ "item": "late", "path": "Ready" }));
    assert_eq!(clicked["evidence"], "checked false → true", "{clicked}");
    assert!(Duration::from_millis(400) <= began.elapsed(), "the menu was there at once");
    client.call("click_status_bar_menu_item", json!({ "item": "late", "path": "More > Later" }));
    late.wait_for(&json!({ "event": "Event", "arguments": ["21", "clicked", "0", "0"] }));
}
