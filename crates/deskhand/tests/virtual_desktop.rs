//! Private desktops, from outside: what programs on them see, and that nothing outlives the owner.

#![cfg(target_os = "linux")]

use deskhand_core::Call;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

/// Whether private desktops can be started here. Where they have to be, their absence fails.
fn possible() -> bool {
    let installed = |name: &str| Path::new("/usr/bin").join(name).exists();
    let possible = ["Xvfb", "openbox", "dbus-daemon", "gdbus", "xdotool"].into_iter().all(installed);
    let required =
        std::env::var("REQUIRE_DESKTOP").is_ok_and(|kinds| kinds.split(',').any(|kind| kind == "x11"));
    assert!(possible || !required, "REQUIRE_DESKTOP=x11, but Xvfb, openbox, D-Bus or xdotool is missing");
    if !possible {
        eprintln!("skipped: Xvfb, openbox, dbus-daemon, gdbus or xdotool is missing");
    }
    possible
}

fn deskhand(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deskhand"));
    command.arg("desktop").args(arguments);
    command
}

/// Runs a shell script on a private desktop.
fn inside(options: &[&str], script: &str) -> Output {
    deskhand(options).args(["--", "sh", "-c", script]).output().unwrap()
}

fn text(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{} {out} {err}", output.status);
    out.into_owned()
}

#[test]
fn a_command_sees_the_desktop_and_its_exit_code_is_passed_on() {
    if !possible() {
        return;
    }
    let output = inside(&["--size", "1000x700"], "xdotool getdisplaygeometry; cat; exit 7");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1000 700\n");
    assert_eq!(inside(&[], "kill -TERM $$").status.code(), Some(128 + 15));
}

#[test]
fn several_displays_stand_side_by_side_and_the_first_is_primary() {
    if !possible() {
        return;
    }
    let seen = text(&inside(&["--displays", "800x600,640x480"], "xrandr --listmonitors"));
    assert!(seen.contains("0: +*DISPLAY-0 800/") || seen.contains("0: *DISPLAY-0 800/"), "{seen}");
    assert!(seen.contains("x480/127+800+0"), "{seen}");
}

#[test]
fn accessibility_is_on_and_the_registry_is_there_before_the_command() {
    if !possible() {
        return;
    }
    let seen = text(&inside(
        &[],
        "gdbus call --session -d org.a11y.Bus -o /org/a11y/bus \
         -m org.freedesktop.DBus.Properties.Get org.a11y.Status IsEnabled",
    ));
    assert_eq!(seen.trim(), "(<true>,)");
    let seen = text(&inside(
        &[],
        r#"a=$(gdbus call --session -d org.a11y.Bus -o /org/a11y/bus -m org.a11y.Bus.GetAddress | cut -d"'" -f2)
           gdbus call --address "$a" -d org.freedesktop.DBus -o /org/freedesktop/DBus \
             -m org.freedesktop.DBus.NameHasOwner org.a11y.atspi.Registry"#,
    ));
    assert_eq!(seen.trim(), "(true,)");
}

#[test]
fn nothing_of_the_callers_session_gets_in() {
    if !possible() {
        return;
    }
    let output = deskhand(&["--", "env"])
        .env("WAYLAND_DISPLAY", "wayland-0")
        .env("SESSION_MANAGER", "local/me:@/tmp/.ICE-unix/1")
        .env("AT_SPI_BUS_ADDRESS", "unix:path=/nowhere")
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
        .env("NO_AT_BRIDGE", "1")
        .env("XDG_RUNTIME_DIR", "/nowhere")
        .output()
        .unwrap();
    let seen = text(&output);
    for outside in ["wayland-0", ".ICE-unix", "/nowhere", "NO_AT_BRIDGE"] {
        assert!(!seen.contains(outside), "{outside} got in: {seen}");
    }
}

#[test]
fn what_is_missing_is_named_with_its_remedy() {
    let output = inside(&["--window-manager", "no-such-manager"], "true");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no-such-manager"), "{said}");
    let output = deskhand(&["--", "true"]).env("PATH", "/nowhere").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("apt-get install xvfb dbus openbox"), "{said}");
}

/// A desktop with everything on it that could stay behind: an application, a program that has left its
/// parent and session, programs that ignore being asked to end, and services that the bus started.
struct Crowd {
    owner: Child,
    folder: PathBuf,
    display: String,
    _output: BufReader<ChildStdout>,
}

const CROWD: &str = r#"
    trap '' TERM
    xterm >/dev/null 2>&1 &
    setsid -f sleep 98765
    sh -c 'trap "" TERM; sleep 98764 & wait' &
    gdbus call --session -d ca.desrt.dconf -o / -m org.freedesktop.DBus.Peer.Ping >/dev/null 2>&1
    echo "$XDG_RUNTIME_DIR $DISPLAY"
    wait; sleep 98763
"#;

impl Crowd {
    fn gather() -> Crowd {
        let mut owner =
            deskhand(&["--", "sh", "-c", CROWD]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(owner.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let (run, display) = line.trim().split_once(' ').unwrap();
        let folder = Path::new(run).parent().unwrap().to_owned();
        let crowd = Crowd { owner, folder, display: display.to_owned(), _output: output };
        assert!(6 <= crowd.processes().len(), "{:?}", crowd.processes());
        crowd
    }

    /// Command lines of what belongs to the desktop: by its environment, or by its arguments.
    fn processes(&self) -> Vec<(i32, String)> {
        let folder = self.folder.to_string_lossy().into_owned();
        let read = |pid: i32, file: &str| {
            let mut bytes = Vec::new();
            let _ = fs::File::open(format!("/proc/{pid}/{file}")).and_then(|mut f| f.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let pids = fs::read_dir("/proc").unwrap().flatten();
        pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .map(|pid| (pid, read(pid, "cmdline")))
            .filter(|(pid, command)| command.contains(&folder) || read(*pid, "environ").contains(&folder))
            .collect()
    }

    fn keeper(&self) -> i32 {
        let all = self.processes();
        all.iter().find(|(_, command)| command.contains("keep-desktop")).unwrap().0
    }

    fn x_socket(&self) -> PathBuf {
        Path::new("/tmp/.X11-unix").join(format!("X{}", self.display.trim_start_matches(':')))
    }

    #[track_caller]
    fn assert_gone(&self) {
        let call = Call::with_timeout(Duration::from_secs(10));
        let gone = call.until("waiting for the crowd to leave", || {
            let gone = self.processes().is_empty() && !self.x_socket().exists() && !self.folder.exists();
            Ok(gone.then_some(()))
        });
        let (socket, folder) = (self.x_socket().exists(), self.folder.exists());
        assert!(gone.is_ok(), "left behind: {:?}, socket {socket}, folder {folder}", self.processes());
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for (pid, _) in self.processes() {
            kill(pid, Signal::KILL);
        }
        let _ = self.owner.kill();
        let _ = self.owner.wait();
    }
}

fn kill(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

#[test]
fn nothing_outlives_an_owner_that_is_killed() {
    if !possible() {
        return;
    }
    let mut crowd = Crowd::gather();
    crowd.owner.kill().unwrap();
    crowd.owner.wait().unwrap();
    crowd.assert_gone();
}

#[test]
fn nothing_outlives_a_keeper_that_is_killed() {
    if !possible() {
        return;
    }
    let crowd = Crowd::gather();
    let shell = crowd.processes().iter().find(|(_, command)| command.contains("98763")).unwrap().0;
    kill(crowd.keeper(), Signal::KILL);
    // Its command going is how the owner learns that it is over.
    kill(shell, Signal::KILL);
    crowd.assert_gone();
}

#[test]
fn the_next_start_clears_what_a_killed_owner_and_keeper_left() {
    if !possible() {
        return;
    }
    let mut crowd = Crowd::gather();
    let keeper = crowd.keeper();
    kill(keeper, Signal::STOP);
    crowd.owner.kill().unwrap();
    crowd.owner.wait().unwrap();
    kill(keeper, Signal::KILL);
    let call = Call::with_timeout(Duration::from_secs(5));
    call.until("waiting for the keeper to end", || {
        Ok((!Path::new(&format!("/proc/{keeper}/fd/0")).exists()).then_some(()))
    })
    .unwrap();
    assert!(crowd.folder.exists());
    assert!(inside(&[], "true").status.success());
    // Another test's start may have been clearing up just then, and been killed by that test.
    if crowd.folder.exists() {
        assert!(inside(&[], "true").status.success());
    }
    crowd.assert_gone();
}

#[test]
fn an_owner_that_is_asked_to_end_asks_its_command() {
    if !possible() {
        return;
    }
    let mut owner = deskhand(&["--", "sh", "-c", "trap 'exit 5' TERM; echo up; sleep 98762 & wait"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    kill(owner.id().cast_signed(), Signal::TERM);
    assert_eq!(owner.wait().unwrap().code(), Some(5));
}

#[test]
fn a_desktop_without_its_x_server_ends() {
    if !possible() {
        return;
    }
    let crowd = Crowd::gather();
    let (keeper, all) = (crowd.keeper(), crowd.processes());
    kill(all.iter().find(|(_, command)| command.contains("Xvfb")).unwrap().0, Signal::KILL);
    let call = Call::with_timeout(Duration::from_secs(10));
    let ended = call.until("waiting for the keeper to end", || {
        Ok((!Path::new(&format!("/proc/{keeper}/fd/0")).exists()).then_some(()))
    });
    assert!(ended.is_ok(), "{:?}", crowd.processes());
}
