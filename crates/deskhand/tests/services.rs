//! What a session offers beside its windows, through MCP, each on the real service.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use stage::PrivateDesktop;
use stage::client::Client;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ends with the value.
struct Process(Child);

impl Process {
    fn start(mut command: Command) -> Process {
        Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Whether these programs are there; loud where they are not.
fn have(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| !std::path::Path::new("/usr/bin").join(program).exists());
    if let Some(missing) = missing {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{missing} is missing");
        eprintln!("SKIPPED: {missing} is missing; REQUIRE_DESKTOP=x11 makes this fail.");
    }
    missing.is_none()
}

#[track_caller]
fn wait<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let call = Call::with_timeout(Duration::from_secs(20));
    call.until(what, || Ok(probe())).unwrap_or_else(|error| panic!("{what}: {error}"))
}

fn output_of(mut command: Command) -> String {
    String::from_utf8_lossy(&command.stdin(Stdio::null()).output().unwrap().stdout).into_owned()
}

fn pactl(desktop: &PrivateDesktop, arguments: &[&str]) -> String {
    let mut command = desktop.command("timeout");
    command.args(["5", "pactl"]).args(arguments).env("LC_ALL", "C").stderr(Stdio::null());
    output_of(command)
}

fn pulseaudio(desktop: &PrivateDesktop) -> Process {
    let mut command = desktop.command("pulseaudio");
    command.args(["--daemonize=no", "--exit-idle-time=-1", "-n", "--load=module-native-protocol-unix"]);
    command.arg("--load=module-null-sink sink_name=one sink_properties=device.description=First");
    command.arg("--load=module-null-sink sink_name=two sink_properties=device.description=Second");
    let server = Process::start(command);
    wait("both sinks", || pactl(desktop, &["list", "short", "sinks"]).contains("two").then_some(()));
    server
}

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
