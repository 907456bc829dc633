//! Audio on real servers of the test's own, PulseAudio and PipeWire, with sinks that nobody hears. `pactl`
//! tells what really happened.

#![cfg(target_os = "linux")]

use deskhand_core::audio::Audio;
use deskhand_core::{Call, Code};
use deskhand_linux::audio::{PulseAudio, Server};
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    PulseAudio,
    PipeWire,
}

/// A runtime folder, and the servers in it.
struct Sound {
    kind: Kind,
    home: PathBuf,
    servers: Vec<Child>,
}

impl Sound {
    /// Starts the servers of a kind with two sinks, `one` (the default) and `two`.
    fn start(kind: Kind) -> Option<Sound> {
        let needed: &[&str] = match kind {
            Kind::PulseAudio => &["pulseaudio", "pactl"],
            Kind::PipeWire => &["pipewire", "wireplumber", "pipewire-pulse", "pactl"],
        };
        for program in needed {
            if !std::path::Path::new("/usr/bin").join(program).exists() {
                assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{program} is not installed");
                eprintln!("skipped: {program} is not installed");
                return None;
            }
        }
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("deskhand-audio-{}-{made}", std::process::id()));
        std::fs::create_dir_all(home.join("run")).unwrap();
        let mut sound = Sound { kind, home, servers: Vec::new() };
        sound.serve();
        Some(sound)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &self.home);
        command.env("XDG_RUNTIME_DIR", self.home.join("run")).env("LC_ALL", "C");
        command.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", self.home.join("run/bus").display()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn spawn(&mut self, program: &str, arguments: &[&str]) {
        let child = self.command(program).args(arguments).spawn().unwrap();
        self.servers.push(child);
    }

    fn serve(&mut self) {
        match self.kind {
            Kind::PulseAudio => self.spawn(
                "pulseaudio",
                &[
                    "--daemonize=no",
                    "--exit-idle-time=-1",
                    "-n",
                    "--load=module-native-protocol-unix",
                    "--load=module-null-sink sink_name=one sink_properties=device.description=First",
                    "--load=module-null-sink sink_name=two sink_properties=device.description=Second",
                ],
            ),
            Kind::PipeWire => {
                // Wireplumber ends where there is no session bus.
                let bus = self.home.join("run/bus");
                std::fs::remove_file(&bus).ok();
                let address = format!("--address=unix:path={}", bus.display());
                self.spawn("dbus-daemon", &["--session", "--nofork", &address]);
                until("the bus", || bus.exists());
                self.spawn("pipewire", &[]);
                until("PipeWire", || self.home.join("run/pipewire-0").exists());
                self.spawn("wireplumber", &[]);
                self.spawn("pipewire-pulse", &[]);
                until("pipewire-pulse", || self.pactl(&["info"]).contains("Server Name"));
                for (name, description) in [("one", "First"), ("two", "Second")] {
                    let name = format!("sink_name={name}");
                    let description = format!("sink_properties=device.description={description}");
                    self.pactl(&["load-module", "module-null-sink", &name, &description]);
                }
            }
        }
        until("both sinks", || {
            let sinks = self.pactl(&["list", "short", "sinks"]);
            sinks.contains("one")
                && sinks.contains("two")
                && self.pactl(&["info"]).contains("Default Sink: one")
        });
    }

    fn pactl(&self, arguments: &[&str]) -> String {
        let output =
            self.command("timeout").arg("5").arg("pactl").args(arguments).stdout(Stdio::piped()).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    }

    /// What `pactl` reads of a sink: the percentages of its channels, and whether it is muted.
    fn read(&self, sink: &str) -> (Vec<u32>, bool) {
        let text = self.pactl(&["get-sink-volume", sink]);
        let percents =
            text.split_whitespace().filter_map(|word| word.strip_suffix('%')?.parse().ok()).collect();
        (percents, self.pactl(&["get-sink-mute", sink]).contains("yes"))
    }

    fn audio(&self) -> PulseAudio {
        let socket = self.home.join("run/pulse/native");
        PulseAudio::new(Server { sockets: vec![socket], ..Server::default() })
    }

    /// The process that speaks the protocol.
    fn server(&self) -> Pid {
        Pid::from_child(self.servers.last().unwrap())
    }

    fn end(&mut self) {
        while let Some(mut child) = self.servers.pop() {
            child.kill().ok();
            child.wait().ok();
        }
        std::fs::remove_file(self.home.join("run/pulse/native")).ok();
        std::fs::remove_file(self.home.join("run/pulse/pid")).ok();
    }
}

impl Drop for Sound {
    fn drop(&mut self) {
        self.end();
        std::fs::remove_dir_all(&self.home).ok();
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let call = Call::with_timeout(Duration::from_secs(20));
    call.until(what, || Ok(done().then_some(()))).unwrap_or_else(|error| panic!("{what}: {error}"));
}

fn call() -> Call {
    Call::with_timeout(Duration::from_secs(10))
}

fn volumes_and_mute(kind: Kind) {
    let Some(sound) = Sound::start(kind) else { return };
    let audio = sound.audio();
    let all = audio.outputs(&call()).unwrap();
    let told: Vec<_> =
        all.iter().map(|output| (&*output.name, &*output.description, output.default)).collect();
    assert_eq!(told, [("one", "First", true), ("two", "Second", false)]);
    let usual = audio.default_output(&call()).unwrap();
    assert_eq!((&*usual.name, usual.volume, usual.muted, usual.default), ("one", 100, false, true));

    for percent in [0, 1, 33, 50, 99, 100] {
        audio.set_volume(&call(), "one", percent).unwrap();
        until("the volume", || audio.default_output(&call()).unwrap().volume == percent);
        assert_eq!(sound.read("one"), (vec![percent, percent], false));
    }
    assert_eq!(sound.read("two"), (vec![100, 100], false), "the other output was left alone");

    // The balance is kept, and what is amplified says so.
    sound.pactl(&["set-sink-volume", "two", "40%", "80%"]);
    until("the volume", || audio.outputs(&call()).unwrap()[1].volume == 80);
    audio.set_volume(&call(), "two", 40).unwrap();
    until("the balance", || sound.read("two").0 == [20, 40]);
    sound.pactl(&["set-sink-volume", "two", "130%"]);
    until("the volume", || audio.outputs(&call()).unwrap()[1].volume == 130);

    for muted in [true, false] {
        audio.set_muted(&call(), "one", muted).unwrap();
        until("the mute", || audio.default_output(&call()).unwrap().muted == muted);
        assert_eq!(sound.read("one").1, muted);
    }

    audio.set_default(&call(), "two").unwrap();
    until("the default", || audio.default_output(&call()).unwrap().name == "two");
    until("the default of the server", || sound.pactl(&["info"]).contains("Default Sink: two"));

    for name in ["three", "", "a\0b", "@DEFAULT_SOURCE@"] {
        let error = audio.set_volume(&call(), name, 5).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{name:?}: {error:?}");
        assert!(error.detail.found.iter().any(|found| found.contains("Second")), "{error:?}");
    }
}

#[test]
fn pulseaudio_is_set_and_read_back() {
    volumes_and_mute(Kind::PulseAudio);
}

#[test]
fn pipewire_is_set_and_read_back() {
    volumes_and_mute(Kind::PipeWire);
}

fn misfortunes(kind: Kind) {
    let Some(mut sound) = Sound::start(kind) else { return };
    let audio = sound.audio();
    let mut times: Vec<Duration> = (0..50)
        .map(|_| {
            let begun = Instant::now();
            audio.default_output(&call()).unwrap();
            begun.elapsed()
        })
        .collect();
    times.sort();
    eprintln!("{kind:?}: the default output in {:?} (median of {})", times[times.len() / 2], times.len());

    // It hangs. More calls than its socket keeps in its queue, each ends with its own deadline.
    kill_process(sound.server(), Signal::STOP).unwrap();
    for round in 0..12 {
        let begun = Instant::now();
        let error = audio.default_output(&Call::with_timeout(Duration::from_millis(200))).unwrap_err();
        assert_eq!(error.code, Code::Timeout, "{round}: {error:?}");
        assert!(error.message.contains("did not answer") && error.detail.remedy.is_some(), "{error:?}");
        assert!(begun.elapsed() < Duration::from_millis(600), "{round}: {:?}", begun.elapsed());
    }
    let cancelled = Call::with_timeout(Duration::from_secs(30));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| audio.set_volume(&cancelled, "one", 10));
        cancelled.cancellation().cancel();
        assert_eq!(waiting.join().unwrap().unwrap_err().code, Code::Cancelled);
    });
    assert!(begun.elapsed() < Duration::from_secs(2));
    kill_process(sound.server(), Signal::CONT).unwrap();
    assert_eq!(audio.default_output(&call()).unwrap().name, "one", "it is there again by itself");

    // It dies while it is asked.
    kill_process(sound.server(), Signal::STOP).unwrap();
    let begun = Instant::now();
    let died = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| audio.default_output(&call()));
        let connected = Call::with_timeout(Duration::from_millis(300));
        connected.pause(Duration::from_millis(100), "letting the call begin").unwrap();
        kill_process(sound.server(), Signal::KILL).unwrap();
        waiting.join().unwrap().unwrap_err()
    });
    assert_eq!(died.code, Code::Backend, "{died:?}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());

    // It is gone, with and without its socket left behind, and it comes back.
    for _ in 0..2 {
        let error = audio.outputs(&call()).unwrap_err();
        assert_eq!(error.code, Code::Backend, "{error:?}");
        assert!(error.message.contains("No audio server"), "{error:?}");
        assert!(error.detail.remedy.as_ref().unwrap().contains("pulseaudio"), "{error:?}");
        sound.end();
    }
    sound.serve();
    audio.set_volume(&call(), "one", 42).unwrap();
    until("the volume", || sound.read("one").0 == [42, 42]);
}

#[test]
fn a_pulseaudio_that_hangs_dies_and_comes_back() {
    misfortunes(Kind::PulseAudio);
}

#[test]
fn a_pipewire_that_hangs_dies_and_comes_back() {
    misfortunes(Kind::PipeWire);
}

/// The bridge answers from what it knows while the daemon behind it hangs: no call waits longer than it may.
#[test]
fn a_pipewire_whose_core_hangs_costs_the_deadline_at_the_most() {
    let Some(sound) = Sound::start(Kind::PipeWire) else { return };
    let audio = sound.audio();
    let core = Pid::from_child(&sound.servers[1]);
    kill_process(core, Signal::STOP).unwrap();
    let begun = Instant::now();
    let asked = audio.set_volume(&Call::with_timeout(Duration::from_millis(500)), "one", 20);
    assert!(begun.elapsed() < Duration::from_millis(1000), "{:?}: {asked:?}", begun.elapsed());
    if let Err(error) = asked {
        assert_eq!(error.code, Code::Timeout, "{error:?}");
    }
    kill_process(core, Signal::CONT).unwrap();
    audio.set_volume(&call(), "one", 30).unwrap();
    until("the volume", || sound.read("one").0 == [30, 30]);
}

/// Who listens there and speaks something else is told apart from a server.
#[test]
fn something_else_at_the_socket_is_no_server() {
    let path = std::env::temp_dir().join(format!("deskhand-audio-else-{}", std::process::id()));
    std::fs::remove_file(&path).ok();
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let audio = PulseAudio::new(Server { sockets: vec![path.clone()], ..Server::default() });
    for said in [&b"HTTP/1.1 400 Bad Request\r\n\r\nthis is something else entirely"[..], &[0; 200], b""] {
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                std::io::Write::write_all(&mut stream, said).ok();
            });
            audio.default_output(&call()).unwrap_err()
        });
        assert_eq!(error.code, Code::Backend, "{error:?}");
    }
    std::fs::remove_file(&path).ok();
    let nowhere = PulseAudio::new(Server { remote: Some("tcp:far".into()), ..Server::default() });
    let error = nowhere.default_output(&call()).unwrap_err();
    assert!(error.message.contains("tcp:far"), "{error:?}");
}
