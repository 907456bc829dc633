//! What runs beside the applications of a desktop, and what its own tools say of it.

use super::PrivateDesktop;
use super::client::Client;
use deskhand_core::Call;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Ends with the value.
pub struct Process(pub Child);

impl Process {
    pub fn start(mut command: Command) -> Process {
        Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A desktop without a window, and a client of a server with these options; nothing where a program is missing.
pub fn bare(options: &[&str], needed: &[&str], of_desktop: &[&str]) -> Option<(Client, PrivateDesktop)> {
    if !have(&[&["Xvfb"], needed].concat()) {
        return None;
    }
    let desktop = PrivateDesktop::start(of_desktop);
    Some((Client::with_options(|program| desktop.command(program), options), desktop))
}

/// Whether these programs are there; loud where they are not.
pub fn have(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| !std::path::Path::new("/usr/bin").join(program).exists());
    if let Some(missing) = missing {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{missing} is missing");
        eprintln!("SKIPPED: {missing} is missing; REQUIRE_DESKTOP=x11 makes this fail.");
    }
    missing.is_none()
}

/// Waits until something is there.
#[track_caller]
pub fn wait<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let call = Call::with_timeout(Duration::from_secs(20));
    call.until(what, || Ok(probe())).unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// What a command prints.
pub fn output_of(mut command: Command) -> String {
    String::from_utf8_lossy(&command.stdin(Stdio::null()).output().unwrap().stdout).into_owned()
}

/// What PulseAudio tells.
pub fn pactl(desktop: &PrivateDesktop, arguments: &[&str]) -> String {
    let mut command = desktop.command("timeout");
    command.args(["5", "pactl"]).args(arguments).env("LC_ALL", "C").stderr(Stdio::null());
    output_of(command)
}

/// Starts PulseAudio with two outputs that sound nowhere.
pub fn pulseaudio(desktop: &PrivateDesktop) -> Process {
    let mut command = desktop.command("pulseaudio");
    command.args(["--daemonize=no", "--exit-idle-time=-1", "-n", "--load=module-native-protocol-unix"]);
    command.arg("--load=module-null-sink sink_name=one sink_properties=device.description=First");
    command.arg("--load=module-null-sink sink_name=two sink_properties=device.description=Second");
    let server = Process::start(command);
    wait("both sinks", || pactl(desktop, &["list", "short", "sinks"]).contains("two").then_some(()));
    server
}

/// What a program of the desktop prints.
pub fn output(desktop: &PrivateDesktop, program: &str, arguments: &[&str]) -> String {
    String::from_utf8(desktop.command(program).args(arguments).output().unwrap().stdout).unwrap()
}

/// Where the X server says that the pointer is.
pub fn pointer(desktop: &PrivateDesktop) -> (i64, i64) {
    let told = output(desktop, "xdotool", &["getmouselocation", "--shell"]);
    let number = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)?.parse().ok()).unwrap();
    (number("X="), number("Y="))
}

/// Starts who shows notifications, and waits until it has the name on the bus.
pub fn shower(desktop: &PrivateDesktop, program: &str) -> Process {
    let process = Process::start(desktop.command(program));
    let pid = process.0.id().to_string();
    wait(program, || {
        let mut owner = desktop.command("gdbus");
        owner.args(["call", "--session", "--dest", "org.freedesktop.DBus", "--object-path", "/"]);
        owner.args(["--method", "org.freedesktop.DBus.GetConnectionUnixProcessID"]);
        owner.arg("org.freedesktop.Notifications").stderr(Stdio::null());
        output_of(owner).contains(&format!("uint32 {pid},")).then_some(())
    });
    process
}

/// The place and size of a window with its frame, as xwininfo tells them: x, y, width, height.
pub fn frame(desktop: &PrivateDesktop, window: &Value) -> [i64; 4] {
    let told = output(desktop, "xwininfo", &["-tree", "-id", &window.to_string()]);
    // The window manager put the window into one of its own.
    let parent =
        told.split("Parent window id: ").nth(1).and_then(|rest| rest.split(' ').next()).expect(&told);
    let told = output(desktop, "xwininfo", &["-id", parent]);
    ["Absolute upper-left X:", "Absolute upper-left Y:", "Width:", "Height:"].map(|what| {
        let number = told.lines().find_map(|line| line.trim().strip_prefix(what)?.trim().parse().ok());
        number.unwrap_or_else(|| panic!("no {what} in {told}"))
    })
}
