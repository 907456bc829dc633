//! What a session offers beside its windows, through MCP, each on the real service.

#![cfg(target_os = "linux")]

mod stage;

use rustix::process::Signal;
use serde_json::{Value, json};
use stage::PrivateDesktop;
use stage::client::Client;
use stage::session::{Process, have, output_of, pactl, pulseaudio, shower, wait};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

fn pipewire(desktop: &PrivateDesktop) -> [Process; 3] {
    let servers = ["pipewire", "wireplumber", "pipewire-pulse"].map(|program| {
        let server = Process::start(desktop.command(program));
        if program == "pipewire" {
            let runtime = desktop.environment.iter().find(|(name, _)| name == "XDG_RUNTIME_DIR").unwrap();
            let socket = std::path::Path::new(&runtime.1).join("pipewire-0");
            wait("PipeWire", || socket.exists().then_some(()));
        }
        server
    });
    wait("pipewire-pulse", || pactl(desktop, &["info"]).contains("Server Name").then_some(()));
    for (name, description) in [("one", "First"), ("two", "Second")] {
        let (name, about) =
            (format!("sink_name={name}"), format!("sink_properties=device.description={description}"));
        pactl(desktop, &["load-module", "module-null-sink", &name, &about]);
    }
    wait("the default sink", || pactl(desktop, &["info"]).contains("Default Sink: one").then_some(()));
    servers
}

/// The whole of it on one server: what each tool answers, against what `pactl` reads.
fn audio(client: &mut Client, desktop: &PrivateDesktop) {
    let volume = client.call("get_volume", json!({}));
    assert_eq!((&volume["volume"], &volume["muted"]), (&json!(100), &json!(false)), "{volume}");
    assert_eq!(volume["output"], "one");
    let set = client.confirmed("set_volume", json!({ "volume": 37 }));
    assert_eq!((&set["volume"], &set["evidence"]), (&json!(37), &json!("volume 100 → 37")), "{set}");
    assert!(pactl(desktop, &["get-sink-volume", "one"]).contains(" 37% "));
    for wrong in [json!(-1), json!(101)] {
        client.refused("invalid_argument", "set_volume", json!({ "volume": wrong }));
    }
    client.refused("missing_required_parameter", "set_volume", json!({}));
    assert!(pactl(desktop, &["get-sink-volume", "one"]).contains(" 37% "));

    assert_eq!(client.call("get_mute_status", json!({}))["muted"], false);
    for muted in [true, false] {
        client.confirmed("set_mute", json!({ "muted": muted }));
        assert_eq!(client.call("get_mute_status", json!({}))["muted"], muted);
        assert_eq!(pactl(desktop, &["get-sink-mute", "one"]).contains("yes"), muted);
    }

    client.confirmed("set_volume", json!({ "volume": 5, "output": "second" }));
    assert!(pactl(desktop, &["get-sink-volume", "two"]).contains(" 5% "));
    let unknown = client.refused("invalid_argument", "get_volume", json!({ "output": "radio" }));
    assert!(unknown["detail"]["found"].to_string().contains("two (Second)"), "{unknown}");
    client.confirmed("set_audio_output", json!({ "output": "two" }));
    wait("the default", || pactl(desktop, &["info"]).contains("Default Sink: two").then_some(()));
    assert_eq!(client.call("get_volume", json!({}))["volume"], 5);
    let outputs = client.call("list_audio_outputs", json!({}))["outputs"].clone();
    let defaults: Vec<&Value> = outputs.as_array().unwrap().iter().map(|output| &output["default"]).collect();
    assert_eq!(defaults, [false, true], "{outputs}");
}

#[test]
fn audio_with_pulseaudio_that_comes_and_goes() {
    if !have(&["Xvfb", "pulseaudio", "pactl"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let mut client = Client::start(&desktop);
    for (tool, arguments) in [("get_volume", json!({})), ("set_mute", json!({ "muted": true }))] {
        let refused = client.refused("backend", tool, arguments);
        assert!(refused["message"].as_str().unwrap().contains("No audio server runs"), "{refused}");
        assert!(refused["detail"]["remedy"].as_str().unwrap().contains("pulseaudio"), "{refused}");
    }
    let server = pulseaudio(&desktop);
    audio(&mut client, &desktop);

    server.signal(Signal::STOP);
    let begun = Instant::now();
    client.refused("timeout", "get_volume", json!({ "timeout_ms": 300 }));
    client.refused("timeout", "set_volume", json!({ "volume": 9, "timeout_ms": 300 }));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    server.signal(Signal::CONT);
    client.confirmed("set_volume", json!({ "volume": 9 }));
    drop(server);
    client.refused("backend", "get_volume", json!({}));
    let _server = pulseaudio(&desktop);
    client.confirmed("set_volume", json!({ "volume": 12, "output": "one" }));
}

#[test]
fn audio_with_pipewire() {
    if !have(&["Xvfb", "pipewire", "wireplumber", "pipewire-pulse", "pactl"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let mut client = Client::start(&desktop);
    let _servers = pipewire(&desktop);
    audio(&mut client, &desktop);
}

/// Sound needs no display: a machine without one still has its volume set.
#[test]
fn audio_without_a_display() {
    if !have(&["Xvfb", "pulseaudio", "pactl"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let _server = pulseaudio(&desktop);
    let mut client = Client::on(|program| {
        let mut command = desktop.command(program);
        command.env_remove("DISPLAY");
        command
    });
    client.refused("backend", "list_windows", json!({}));
    client.confirmed("set_volume", json!({ "volume": 21 }));
    assert!(pactl(&desktop, &["get-sink-volume", "one"]).contains(" 21% "));
}

/// The machine is told as other programs tell it, and its battery as UPower does.
#[test]
fn the_machine_and_its_battery() {
    if !have(&["Xvfb", "dbus-daemon", "gdbus"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    // The session's bus stands in for the system's: UPower is looked for there.
    let bus =
        desktop.environment.iter().find(|(name, _)| name == "DBUS_SESSION_BUS_ADDRESS").unwrap().1.clone();
    let mut client = Client::on(|program| {
        let mut command = desktop.command(program);
        command.env("DBUS_SYSTEM_BUS_ADDRESS", &bus);
        command
    });
    let info = client.call("get_system_info", json!({}));
    let release = std::fs::read_to_string("/etc/os-release").unwrap();
    assert!(release.contains(info["os"].as_str().unwrap()), "{info}");
    assert_eq!(info["session_type"], "x11");
    assert_eq!(info["private_desktop"], true);
    assert!(0 < info["memory_bytes"].as_u64().unwrap() && info["processor"].is_string(), "{info}");

    let has_battery =
        std::fs::read_dir("/sys/class/power_supply").is_ok_and(|mut folder| folder.next().is_some());
    let power = client.call("get_battery_status", json!({}));
    assert_eq!(power["source"], "sysfs");
    if !has_battery {
        assert_eq!(power["present"], false, "{power}");
        assert!(power["reason"].as_str().unwrap().contains("no battery"), "{power}");
    }
    let mut mock = desktop.command("/usr/bin/python3");
    mock.args(["-m", "dbusmock", "--system", "--template", "upower"]).env("DBUS_SYSTEM_BUS_ADDRESS", &bus);
    let mock = Process::start(mock);
    wait("the mock", || (client.call("get_battery_status", json!({}))["source"] == "upower").then_some(()));
    assert_eq!(client.call("get_battery_status", json!({}))["present"], false);
    let mut add = desktop.command("gdbus");
    add.args([
        "call",
        "--session",
        "--dest",
        "org.freedesktop.UPower",
        "--object-path",
        "/org/freedesktop/UPower",
    ]);
    add.args(["--method", "org.freedesktop.DBus.Mock.AddChargingBattery", "bat", "Mock", "64", "1800"]);
    output_of(add);
    let power = client.call("get_battery_status", json!({}));
    assert_eq!((&power["percentage"], &power["state"]), (&json!(64.0), &json!("charging")), "{power}");
    assert_eq!((&power["charging"], &power["time_to_full_s"]), (&json!(true), &json!(1800)), "{power}");

    mock.signal(Signal::STOP);
    let hung = client.refused("timeout", "get_battery_status", json!({ "timeout_ms": 300 }));
    assert!(hung["message"].as_str().unwrap().contains("UPower"), "{hung}");
    mock.signal(Signal::CONT);
    assert_eq!(client.call("get_battery_status", json!({}))["source"], "upower");
    drop(mock);
    wait("sysfs", || (client.call("get_battery_status", json!({}))["source"] == "sysfs").then_some(()));
}

/// A notification of another program; says which action was chosen when it is closed.
fn notify_send(desktop: &PrivateDesktop, arguments: &[&str]) -> Child {
    let mut command = desktop.command("notify-send");
    command.args(["-a", "Mail"]).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn chosen(program: Child) -> String {
    String::from_utf8(program.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
}

/// Waits until a notification of this title is listed, and gives it.
#[track_caller]
fn listed(client: &mut Client, title: &str, state: &str) -> Value {
    wait(&format!("{title} {state}"), || {
        let list = client.call("list_notifications", json!({}));
        let all = list["notifications"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["title"] == title && one["state"] == state)
    })
}

/// What every daemon does alike.
fn notifications(client: &mut Client, desktop: &PrivateDesktop, name: &str, via: &str) {
    assert_eq!(client.call("list_notifications", json!({ "watch": true }))["watching"], true);
    let tea = json!({
        "title": "Tea <&>", "subtitle": "Kitchen", "message": "a < b & <b>c</b>", "actions": ["Drink"],
        "urgency": "normal", "sound": "bell", "expire_ms": 0,
    });
    let sent = client.confirmed("send_notification", tea);
    assert!(sent["shown_by"].as_str().unwrap().contains(name), "{sent}");
    assert_eq!(sent["ignored"], json!(["sound"]), "{sent}");
    let seen = listed(client, "Tea <&>", "open");
    assert_eq!((&seen["id"], &seen["actions"]), (&sent["id"], &json!(["Drink"])));
    let acted = client.confirmed("act_on_notification", json!({ "id": sent["id"], "action": "Drink" }));
    assert_eq!(acted["via"], via, "{acted}");
    assert_eq!(listed(client, "Tea <&>", "closed")["chosen"], "Drink");
    client.refused("target_changed", "act_on_notification", json!({ "id": sent["id"] }));

    // One of another program, which is told what was chosen.
    let mail = notify_send(desktop, &["-t", "0", "-A", "open=Open it", "New message", "From Ann"]);
    let seen = listed(client, "New message", "open");
    assert_eq!((&seen["application"], &seen["message"]), (&json!("Mail"), &json!("From Ann")), "{seen}");
    client.confirmed("act_on_notification", json!({ "id": seen["id"], "action": "open it" }));
    assert_eq!(chosen(mail), "open");

    // Dismissed, and dismissed again: then there is none.
    let mail = notify_send(desktop, &["-t", "0", "-A", "open=Open it", "Second message"]);
    let id = listed(client, "Second message", "open")["id"].clone();
    client.confirmed("dismiss_notification", json!({ "id": id }));
    assert_eq!(chosen(mail), "");
    assert_eq!(listed(client, "Second message", "closed")["id"], id);
    let again = client.call("dismiss_notification", json!({ "id": id }));
    assert_eq!(again["effect"], "no_change_seen", "{again}");

    // Waited for, without any other watching.
    client.call("list_notifications", json!({ "watch": false }));
    let delayed =
        desktop.command("sh").args(["-c", "sleep 0.3; exec notify-send -a Chat Hello World"]).spawn();
    let came = client.call("wait_for", json!({ "notification": "world", "timeout_ms": 15_000 }));
    assert_eq!(
        (&came["condition"], &came["notification"]["title"]),
        (&json!("notification"), &json!("Hello"))
    );
    delayed.unwrap().wait().unwrap();
    let none = json!({ "notification": "never", "timeout_ms": 200 });
    client.refused("timeout", "wait_for", none);
    assert_eq!(client.call("list_notifications", json!({}))["notifications"], json!([]));
    client.confirmed("dismiss_notification", json!({ "id": came["notification"]["id"] }));
}

#[test]
fn notifications_with_dunst_that_comes_and_goes() {
    if !have(&["Xvfb", "dunst", "dunstctl", "notify-send", "gdbus"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let mut client = Client::start(&desktop);
    let dunst = shower(&desktop, "dunst");
    notifications(&mut client, &desktop, "dunst", "daemon");
    // What was shown is what was meant: no markup came of it.
    let mut history = desktop.command("dunstctl");
    history.arg("history");
    let history = output_of(history);
    assert!(
        history.contains("Tea <&>") && history.contains("a &lt; b &amp; &lt;b&gt;c&lt;/b&gt;"),
        "{history}"
    );

    // Of two that it shows, the right one is meant.
    client.call("list_notifications", json!({ "watch": true }));
    let both = ["First", "Other"].map(|title| notify_send(&desktop, &["-t", "0", "-A", "yes=Yes", title]));
    let mut ids = ["First", "Other"].map(|title| listed(&mut client, title, "open")["id"].as_u64().unwrap());
    // The older one stands above.
    ids.sort();
    let (ok, answer) = client.try_call("act_on_notification", json!({ "id": ids[1], "action": "Yes" }));
    // Some versions of dunst know the one at the top alone.
    let top_alone = !ok && answer["code"] == "element_not_actionable";
    assert!(answer["effect"] == "confirmed" || top_alone, "{answer}");
    for id in if top_alone { &ids[..] } else { &ids[..1] } {
        client.confirmed("act_on_notification", json!({ "id": id, "action": "Yes" }));
    }
    assert_eq!(both.map(chosen), ["yes", "yes"]);
    // Who did not see what is shown does not guess.
    let unseen = notify_send(&desktop, &["-t", "0", "-A", "yes=Yes", "Unseen"]);
    let unseen_id = listed(&mut client, "Unseen", "open")["id"].clone();
    client.call("list_notifications", json!({ "watch": false }));
    let own = json!({ "title": "Own", "message": "", "actions": ["Yes"], "expire_ms": 0 });
    let own = client.confirmed("send_notification", own)["id"].clone();
    client.refused("element_not_actionable", "act_on_notification", json!({ "id": own, "action": "Yes" }));
    for id in [&own, &unseen_id] {
        client.confirmed("dismiss_notification", json!({ "id": id }));
    }
    assert_eq!(chosen(unseen), "");
    let several = json!({ "title": "Choice", "message": "", "actions": ["Yes", "No"], "expire_ms": 0 });
    let several = client.confirmed("send_notification", several)["id"].clone();
    client.refused("unsupported", "act_on_notification", json!({ "id": several, "action": "No" }));

    dunst.signal(Signal::STOP);
    let begun = Instant::now();
    let tea = json!({ "title": "Tea", "message": "", "timeout_ms": 300 });
    let hung = client.refused("timeout", "send_notification", tea.clone());
    assert!(hung["message"].as_str().unwrap().contains("notification daemon"), "{hung}");
    client.refused("timeout", "dismiss_notification", json!({ "id": several, "timeout_ms": 300 }));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    dunst.signal(Signal::CONT);
    let tea = json!({ "title": "Tea", "message": "", "expire_ms": 0 });
    let sent = client.confirmed("send_notification", tea.clone());
    client.confirmed("dismiss_notification", json!({ "id": sent["id"] }));
    drop(dunst);
    let _dunst = shower(&desktop, "dunst");
    let sent = client.confirmed("send_notification", tea);
    client.confirmed("dismiss_notification", json!({ "id": sent["id"] }));
}

/// Where Debian puts it.
const XFCE: &str = "/usr/lib/x86_64-linux-gnu/xfce4/notifyd/xfce4-notifyd";

#[test]
fn notifications_with_xfce4_notifyd() {
    if !have(&["Xvfb", "notify-send", "gdbus"]) || !have(&[XFCE]) {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let mut client = Client::start(&desktop);
    let _shower = shower(&desktop, XFCE);
    notifications(&mut client, &desktop, "Xfce", "action");

    // Of several buttons, and of several notifications alike but for their titles, the right one is pressed.
    client.call("list_notifications", json!({ "watch": true }));
    let actions = ["-t", "0", "-A", "yes=Yes", "-A", "no=No"];
    let both = ["One", "Two"].map(|title| notify_send(&desktop, &[&actions[..], &[title]].concat()));
    for (title, action) in [("Two", "No"), ("One", "Yes")] {
        let id = listed(&mut client, title, "open")["id"].clone();
        client.confirmed("act_on_notification", json!({ "id": id, "action": action }));
    }
    assert_eq!(both.map(chosen), ["yes", "no"]);
}

#[test]
fn notifications_where_nobody_shows_them() {
    if !have(&["Xvfb", "dbus-daemon"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let folder = &desktop.environment.iter().find(|(name, _)| name == "XDG_RUNTIME_DIR").unwrap().1;
    let (config, socket) = (format!("{folder}/empty.conf"), format!("{folder}/empty"));
    // A bus that knows nobody to start.
    let text = format!(
        r#"<busconfig><type>session</type><listen>unix:path={socket}</listen><policy context="default">
           <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
           </policy></busconfig>"#
    );
    std::fs::write(&config, text).unwrap();
    let mut bus = desktop.command("dbus-daemon");
    bus.args(["--nofork", &format!("--config-file={config}")]);
    let bus = Process::start(bus);
    wait("the bus", || std::os::unix::net::UnixStream::connect(&socket).ok());
    let mut client = Client::on(|program| {
        let mut command = desktop.command(program);
        command.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={socket}"));
        command
    });
    let tea = json!({ "title": "Tea", "message": "" });
    for _ in 0..2 {
        let refused = client.refused("backend", "send_notification", tea.clone());
        assert!(refused["message"].as_str().unwrap().contains("No notification daemon runs"), "{refused}");
        assert!(refused["detail"]["remedy"].as_str().unwrap().contains("dunst"), "{refused}");
    }
    client.refused("backend", "dismiss_notification", json!({ "id": 1 }));
    drop(bus);
    let gone = client.refused("backend", "send_notification", tea);
    assert!(gone["message"].as_str().unwrap().contains("session bus"), "{gone}");
}

#[test]
fn a_desktop_that_cannot_be_touched_says_why_and_what_to_do() {
    if !have(&["Xvfb"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let tap = json!({ "gesture_type": "tap", "center_x": 100, "center_y": 100 });
    let refused = Client::start(&desktop).refused("unsupported", "gesture", tap.clone());
    assert!(refused["message"].as_str().unwrap().contains("private desktop"), "{refused}");
    assert!(refused["detail"]["remedy"].as_str().unwrap().contains("click"), "{refused}");
    // The same display, taken for a person's: either there is no door to the kernel, or the device that went
    // through it is none of this display's.
    let mut client = Client::on(|program| {
        let mut command = desktop.command(program);
        command.env_remove("DESKHAND_PRIVATE_DESKTOP");
        command
    });
    let refused = client.refused("unsupported", "gesture", tap);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("/dev/uinput") || message.contains("did not take it"), "{refused}");
    assert!(refused["detail"]["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()), "{refused}");
}
