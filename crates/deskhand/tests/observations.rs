//! Observations of real applications, through MCP: what is changed from outside is told, with what was and
//! what is, and nothing is activated by looking.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use stage::PrivateDesktop;
use stage::client::Client;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// A desktop and a client on it; nothing where a program is missing.
fn desktop(programs: &[&str]) -> Option<(Client, PrivateDesktop)> {
    for needed in programs.iter().chain(&["Xvfb", "xdotool"]) {
        if !Path::new("/usr/bin").join(needed).exists() {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{needed} is missing");
            eprintln!("SKIPPED: {needed} is missing; REQUIRE_DESKTOP=x11 makes this fail.");
            return None;
        }
    }
    let desktop = PrivateDesktop::start(&[]);
    Some((Client::start(&desktop), desktop))
}

/// A window that changes when it is told to, by somebody other than Deskhand.
struct Changes {
    process: Child,
    orders: Option<ChildStdin>,
    done: BufReader<ChildStdout>,
    window: Value,
}

impl Changes {
    fn start(toolkit: &str, desktop: &PrivateDesktop, client: &mut Client) -> Changes {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stage");
        let mut process = desktop
            .command("/usr/bin/python3")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .arg(folder.join(format!("changes_{toolkit}.py")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the system has a Python");
        let orders = process.stdin.take();
        let done = BufReader::new(process.stdout.take().unwrap());
        let title = json!({ "window_title": format!("Changes ({toolkit})"), "timeout_ms": 20_000 });
        let window = client.call("wait_for", title)["window"]["id"].clone();
        let go = json!({ "selector": "button[name=\"Go\"]", "window": window, "timeout_ms": 20_000 });
        client.call("wait_for", go);
        Changes { process, orders, done, window }
    }

    /// Gives an order, and waits until it is carried out.
    fn order(&mut self, order: &str) {
        self.send(order);
        let mut line = String::new();
        self.done.read_line(&mut line).unwrap();
        assert!(line.contains("done"), "{order}: {line:?}");
    }

    fn send(&mut self, order: &str) {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().cast_signed()).expect("it is running")
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        // A test that failed may have left it stopped.
        let _ = kill_process(self.pid(), Signal::CONT);
        drop(self.orders.take());
        let _ = self.process.wait();
    }
}

/// Begins an observation.
#[track_caller]
fn begin(client: &mut Client, arguments: Value) -> Value {
    client.call("create_observation", arguments)["name"].clone()
}

/// The events so far, as soon as one of them is what is wanted: kind, what and `old → new`.
#[track_caller]
fn told(client: &mut Client, name: &Value, wanted: &str) -> Vec<String> {
    let call = Call::with_timeout(Duration::from_secs(30));
    let mut last = Vec::new();
    let come = call.until("waiting for an event", || {
        let read = client.call("get_observation", json!({ "name": name, "max_events": 1000 }));
        last = read["events"].as_array().unwrap().iter().map(line).collect();
        Ok(last.iter().any(|line| line.contains(wanted)).then_some(()))
    });
    assert!(come.is_ok(), "no {wanted:?} among {last:#?}");
    last
}

fn line(event: &Value) -> String {
    let word = |name: &str| event[name].as_str().unwrap_or_default();
    let what = word("what");
    // Refs are numbered in the order in which they are met.
    let what =
        what.split_once(' ').filter(|(first, _)| first.starts_with('e')).map_or(what, |(_, rest)| rest);
    let mut line = format!("{} {what}", word("kind"));
    for name in ["attribute", "old", "new", "reason"] {
        if event[name].is_string() {
            line.push_str(&format!(" {name}={}", word(name)));
        }
    }
    line
}

/// Which window has the keyboard, as another program sees it.
fn active(desktop: &PrivateDesktop) -> String {
    let output = desktop.command("xdotool").arg("getactivewindow").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn xdotool(desktop: &PrivateDesktop, arguments: &[&str]) {
    assert!(desktop.command("xdotool").args(arguments).status().unwrap().success(), "{arguments:?}");
}

/// A window of each toolkit changes by itself, behind another one.
fn toolkit(toolkit: &str) {
    let Some((mut client, desktop)) = desktop(&[]) else { return };
    let mut changes = Changes::start(toolkit, &desktop, &mut client);
    let window = changes.window.clone();
    let other = if toolkit == "gtk3" { "qt5" } else { "gtk3" };
    let front = Changes::start(other, &desktop, &mut client);
    client.confirmed("focus_window", json!({ "window": front.window }));
    let before = active(&desktop);

    let elements =
        begin(&mut client, json!({ "type": "element", "window": window, "poll_interval_ms": 200 }));
    let windows = begin(&mut client, json!({ "type": "window", "window": window }));
    let check = json!({ "type": "attribute", "element": "check_box[name=\"Remember\"]", "window": window,
                        "attributes": ["checked"] });
    let check = begin(&mut client, check);
    for (order, wanted) in [
        ("check", "state_changed check_box \"Remember\" attribute=checked old=false new=true"),
        ("label Hello", "name_changed label \"Hello\" old=Ready new=Hello"),
        ("name one", "value_changed text_field \"Name\" old= new=one"),
        ("name two", "value_changed text_field \"Name\" old=one new=two"),
        ("enable off", "state_changed button \"Go\" attribute=enabled old=true new=false"),
        ("progress 0.5", "value_changed progress_bar \"Progress\" old="),
        ("password secret", "value_changed password_field \"Password\""),
        ("add First", "element_added"),
        ("remove First", "element_removed"),
    ] {
        changes.order(order);
        let lines = told(&mut client, &elements, wanted);
        assert!(!lines.iter().any(|line| line.contains("secret")), "{lines:#?}");
    }
    assert_eq!(told(&mut client, &check, "state_changed").len(), 1);
    changes.order("title Changed");
    let title = format!("window_title_changed {} \"Changed\"", window);
    told(&mut client, &windows, &title);
    assert_eq!(active(&desktop), before, "looking activated a window");

    // As many changes at once as an application can make are told together, the last one surely.
    changes.order("name*1000 number {}");
    let lines = told(&mut client, &elements, "new=number 999");
    assert!(lines.len() < 100, "{} events", lines.len());
    changes.order("add*30 Button {}");
    told(&mut client, &elements, "element_added");

    changes.send("close");
    told(&mut client, &windows, "ended");
    told(&mut client, &elements, "ended");
}

#[test]
fn gtk3() {
    toolkit("gtk3");
}

#[test]
fn gtk4() {
    toolkit("gtk4");
}

#[test]
fn qt5() {
    toolkit("qt5");
}

#[test]
fn a_calculator_that_a_person_clicks() {
    let Some((mut client, desktop)) = desktop(&["galculator"]) else { return };
    let applications = begin(&mut client, json!({ "type": "application" }));
    let started = client.call("launch_app", json!({ "application": "galculator", "wait_ms": 30_000 }));
    let window = started["window"]["id"].clone();
    let seven = json!({ "selector": "toggle_button[name=\"7\"]", "window": window, "timeout_ms": 20_000 });
    let bounds = client.call("wait_for", seven)["element"]["bounds"].clone();
    told(&mut client, &applications, "application_started");
    let display =
        json!({ "type": "attribute", "element": "text_area", "window": window, "attributes": ["value"] });
    let display = begin(&mut client, display);
    let windows = begin(&mut client, json!({ "type": "window", "parent": started["window"]["name"] }));
    let middle = |start: &str, size: &str| {
        (bounds[start].as_i64().unwrap() + bounds[size].as_i64().unwrap() / 2).to_string()
    };
    let (x, y) = (middle("x", "width"), middle("y", "height"));
    xdotool(&desktop, &["mousemove", &x, &y, "click", "1"]);
    told(&mut client, &display, "value_changed text_area old=0 new=7");
    xdotool(&desktop, &["click", "1"]);
    told(&mut client, &display, "value_changed text_area old=7 new=77");

    xdotool(&desktop, &["windowmove", &window.to_string(), "300", "200"]);
    told(&mut client, &windows, "window_moved");
    let pid = Pid::from_raw(i32::try_from(started["pid"].as_i64().unwrap()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    assert!(told(&mut client, &display, "ended").last().unwrap().contains("has quit"));
    assert!(told(&mut client, &windows, "ended").last().unwrap().contains("has closed"));
    told(&mut client, &applications, "application_quit");
    let list = client.call("list_observations", json!({}));
    let states: Vec<&Value> =
        list["observations"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["active", "ended", "ended"], "{list}");
}

#[test]
fn an_editor_that_a_person_types_into() {
    let Some((mut client, desktop)) = desktop(&["mousepad"]) else { return };
    let windows = begin(&mut client, json!({ "type": "window" }));
    let mut editor = desktop.command("mousepad").spawn().unwrap();
    let lines = told(&mut client, &windows, "window_opened");
    assert!(lines.iter().any(|line| line.contains("Mousepad")), "{lines:#?}");
    let there = json!({ "selector": "text_area", "application": "mousepad", "timeout_ms": 20_000 });
    let text = client.call("wait_for", there)["element"]["ref"].clone();
    client.confirmed("focus_ui_element", json!({ "element": text }));
    let observed = begin(&mut client, json!({ "type": "attribute", "parent": text }));
    xdotool(&desktop, &["type", "--delay", "60", "Hi there"]);
    let lines = told(&mut client, &observed, "new=Hi there");
    assert!(lines[0].contains("value_changed text_area old= new=H"), "{lines:#?}");
    told(&mut client, &windows, "window_title_changed");
    let _ = editor.kill();
    let _ = editor.wait();
    told(&mut client, &windows, "window_closed");
    told(&mut client, &observed, "ended");
}

#[test]
fn a_stopped_application_holds_up_nobody_else() {
    let Some((mut client, desktop)) = desktop(&[]) else { return };
    let mut stopped = Changes::start("gtk3", &desktop, &mut client);
    let mut lively = Changes::start("qt5", &desktop, &mut client);
    let watched = begin(&mut client, json!({ "type": "element", "window": stopped.window }));
    // It has said something when it stops: what it is has to be read from it.
    stopped.order("label Before");
    told(&mut client, &watched, "name_changed");
    kill_process(stopped.pid(), Signal::STOP).unwrap();

    let began = Instant::now();
    let hopeless = json!({ "type": "element", "window": stopped.window, "timeout_ms": 1500 });
    client.refused("timeout", "create_observation", hopeless);
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    let other = begin(&mut client, json!({ "type": "element", "window": lively.window }));
    lively.order("label Hello");
    told(&mut client, &other, "name_changed label \"Hello\" old=Ready new=Hello");

    stopped.send("label After");
    kill_process(stopped.pid(), Signal::CONT).unwrap();
    told(&mut client, &watched, "name_changed label \"After\" old=Before new=After");
    kill_process(stopped.pid(), Signal::STOP).unwrap();
    kill_process(stopped.pid(), Signal::KILL).unwrap();
    let lines = told(&mut client, &watched, "ended");
    assert!(lines.last().unwrap().contains("quit") || lines.last().unwrap().contains("closed"), "{lines:#?}");
}

#[test]
fn when_the_accessibility_bus_dies_it_ends_and_the_windows_go_on() {
    let Some((mut client, desktop)) = desktop(&["gdbus"]) else { return };
    let mut changes = Changes::start("gtk3", &desktop, &mut client);
    let elements = begin(&mut client, json!({ "type": "element", "window": changes.window }));
    let windows = begin(&mut client, json!({ "type": "window", "window": changes.window }));
    let script = r#"a=$(gdbus call --session -d org.a11y.Bus -o /org/a11y/bus -m org.a11y.Bus.GetAddress | cut -d"'" -f2)
        gdbus call --address "$a" -d org.freedesktop.DBus -o /org/freedesktop/DBus \
            -m org.freedesktop.DBus.GetConnectionUnixProcessID org.freedesktop.DBus"#;
    let output = desktop.command("sh").args(["-c", script]).output().unwrap();
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    let digits: String = answer.rsplit(' ').next().unwrap().chars().filter(char::is_ascii_digit).collect();
    let daemon = Pid::from_raw(digits.parse().unwrap_or_else(|_| panic!("{output:?}"))).unwrap();
    kill_process(daemon, Signal::KILL).unwrap();
    let lines = told(&mut client, &elements, "ended");
    assert!(lines.last().unwrap().contains("accessibility bus has gone"), "{lines:#?}");
    changes.order("title Still here");
    told(&mut client, &windows, "window_title_changed");
}

/// How often each thread of a process has gone to sleep by itself.
fn wakings(process: u32) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten() {
        let read = |file: &str| std::fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        let status = read("status");
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        if let Some(count) = count.and_then(|count| count.trim().parse().ok()) {
            all.push((format!("{} {}", read("comm").trim(), thread.file_name().display()), count));
        }
    }
    all.sort();
    all
}

/// A server that has worked and observes sleeps until something happens, all threads of it.
#[test]
fn an_idle_server_never_wakes() {
    let Some((mut client, desktop)) = desktop(&[]) else { return };
    let mut changes = Changes::start("gtk3", &desktop, &mut client);
    for (tool, arguments) in [
        ("take_screenshot", json!({})),
        ("get_clipboard", json!({})),
        ("list_running_apps", json!({})),
        ("move_mouse", json!({ "x": 5, "y": 5 })),
        ("type_text", json!({ "text": "typed", "element": "text_field[name=\"Name\"]" })),
    ] {
        client.call(tool, arguments);
    }
    begin(&mut client, json!({ "type": "window" }));
    begin(&mut client, json!({ "type": "application" }));
    let name = begin(&mut client, json!({ "type": "element", "window": changes.window }));
    // The last of what it did goes on for a while: the clipboard, threads without work.
    let (call, server) = (Call::with_timeout(Duration::from_secs(60)), client.pid());
    let mut last = Vec::new();
    let slept = call.until("two seconds without a waking", || {
        let before = wakings(server);
        call.pause(Duration::from_secs(2), "letting it sleep")?;
        let now = wakings(server);
        last = now.iter().filter(|thread| !before.contains(thread)).cloned().collect();
        Ok((before == now).then_some(()))
    });
    assert!(slept.is_ok(), "these woke last: {last:?}");
    changes.order("label Hello");
    told(&mut client, &name, "name_changed label \"Hello\" old=Ready new=Hello");
}

/// A window that changes, and a client that knows the tool catalogue alone.
fn catalogue() -> Option<(Client, Changes, PrivateDesktop)> {
    let (mut client, desktop) = desktop(&[])?;
    let changes = Changes::start("gtk3", &desktop, &mut client);
    let client = Client::with_options(|program| desktop.command(program), &["--profile", "catalogue"]);
    Some((client, changes, desktop))
}

/// The window and its application, as resources.
fn resources(client: &mut Client, changes: &Changes) -> (Value, Value) {
    let window = client.call("get_window", json!({ "name": changes.window }));
    (window["name"].clone(), json!(format!("applications/{}", window["pid"])))
}

#[test]
fn tc_create_observation_of_every_type_with_its_filters() {
    let Some((mut client, mut changes, _desktop)) = catalogue() else { return };
    let (window, application) = resources(&mut client, &changes);
    let of = |kind: &str, parent: &Value| json!({ "type": kind, "parent": parent, "poll_interval_ms": 500 });
    let with = |mut arguments: Value, name: &str, value: Value| {
        arguments[name] = value;
        arguments
    };
    let buttons = begin(&mut client, with(of("tree", &application), "roles", json!(["button"])));
    let names = begin(&mut client, with(of("attribute", &window), "attributes", json!(["name"])));
    let shown = begin(&mut client, with(of("element", &window), "visible_only", json!(true)));
    let windows = begin(&mut client, of("window", &application));
    let quits = begin(&mut client, of("application", &application));
    changes.order("add Extra");
    let lines = told(&mut client, &buttons, "element_added button \"Extra\"");
    assert_eq!(lines.len(), 1, "{lines:#?}");
    told(&mut client, &shown, "element_added");
    changes.order("label Done");
    changes.order("enable off");
    told(&mut client, &shown, "attribute=enabled");
    assert_eq!(told(&mut client, &names, "name_changed"), ["name_changed label \"Done\" old=Ready new=Done"]);
    changes.order("title Other");
    told(&mut client, &windows, "window_title_changed");
    changes.send("close");
    told(&mut client, &windows, "window_closed");
    told(&mut client, &quits, "application_quit");
}

#[test]
fn tc_stream_observations_answers_with_what_came_meanwhile() {
    let Some((mut client, mut changes, _desktop)) = catalogue() else { return };
    let (window, _) = resources(&mut client, &changes);
    let arguments = json!({ "parent": window, "types": ["attribute", "window"], "attributes": ["name", "title"],
                            "roles": ["label"], "poll_interval_ms": 500, "duration_ms": 50_000, "max_events": 2 });
    let stop = std::sync::atomic::AtomicBool::new(false);
    let streamed = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Whether it follows already cannot be seen from here: something happens until it has ended.
            let call = Call::with_timeout(Duration::from_secs(60));
            for number in 0.. {
                if stop.load(std::sync::atomic::Ordering::SeqCst) {
                    return;
                }
                changes.order(&format!("label number {number}"));
                changes.order(&format!("title title {number}"));
                call.pause(Duration::from_millis(100), "waiting").unwrap();
            }
        });
        let streamed = client.try_call("stream_observations", arguments);
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        streamed
    });
    assert!(streamed.0, "{}", streamed.1);
    let streamed = streamed.1;
    assert_eq!(streamed["until"], "max_events", "{streamed}");
    let events = streamed["events"].as_array().unwrap();
    assert_eq!(events.len(), 2, "{streamed}");
    for event in events {
        let kind = event["kind"].as_str().unwrap();
        assert!(["name_changed", "window_title_changed"].contains(&kind), "{event}");
    }
    assert_eq!(client.call("list_observations", json!({}))["observations"], json!([]));
}

#[test]
fn tc_get_observation_gives_events_with_numbers_and_values() {
    let Some((mut client, mut changes, _desktop)) = catalogue() else { return };
    let (window, _) = resources(&mut client, &changes);
    let field = json!({ "parent": window, "role": "text_field" });
    let field = client.call("find_elements", field)["elements"][0]["ref"].clone();
    let name = begin(&mut client, json!({ "type": "attribute", "parent": field }));
    changes.order("name one");
    told(&mut client, &name, "new=one");
    changes.order("name two");
    told(&mut client, &name, "new=two");
    let read = client.call("get_observation", json!({ "name": name }));
    let numbers: Vec<u64> =
        read["events"].as_array().unwrap().iter().map(|event| event["sequence"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{read}");
    assert_eq!(
        (&read["observation"]["state"], &read["observation"]["dropped"]),
        (&json!("active"), &json!(0))
    );
    client.refused("observation_not_found", "get_observation", json!({ "name": "observations/o99" }));
}

#[test]
fn tc_list_observations_in_pages_and_of_a_parent() {
    let Some((mut client, changes, _desktop)) = catalogue() else { return };
    let (window, application) = resources(&mut client, &changes);
    let all = begin(&mut client, json!({ "type": "window" }));
    let own = begin(&mut client, json!({ "type": "tree", "parent": window }));
    let first = client.call("list_observations", json!({ "page_size": 1 }));
    assert_eq!(first["observations"][0]["name"], all, "{first}");
    let next = json!({ "page_size": 1, "page_token": first["next_page_token"] });
    let second = client.call("list_observations", next);
    assert_eq!((&second["observations"][0]["name"], &second["next_page_token"]), (&own, &Value::Null));
    let of = client.call("list_observations", json!({ "parent": application }));
    assert_eq!(of["observations"].as_array().unwrap().len(), 1, "{of}");
}

#[test]
fn tc_cancel_observation_ends_it() {
    let Some((mut client, changes, _desktop)) = catalogue() else { return };
    let (window, _) = resources(&mut client, &changes);
    let name = begin(&mut client, json!({ "type": "element", "parent": window }));
    assert_eq!(client.call("cancel_observation", json!({ "name": name }))["state"], "ended");
    client.refused("observation_not_found", "cancel_observation", json!({ "name": name }));
    assert_eq!(client.call("list_observations", json!({}))["observations"], json!([]));
}
