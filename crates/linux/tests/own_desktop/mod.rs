//! A desktop of the test's own: an X server, a session bus, a window manager or none, and programs. All of
//! it ends with the test.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use deskhand_core::Call;

/// The display numbers that these tests may take.
const DISPLAYS: std::ops::RangeInclusive<u32> = 140..=149;

// Each test file uses the part that it needs.
#[allow(dead_code)]
pub struct OwnDesktop {
    pub display: String,
    pub home: PathBuf,
    pub environment: Vec<(String, String)>,
    children: Vec<Child>,
}

#[allow(dead_code)]
impl OwnDesktop {
    /// Starts one; `None`, said aloud, where the machine has no X server to start.
    pub fn start(manager: &[&str]) -> Option<OwnDesktop> {
        for program in ["Xvfb", "dbus-daemon"].iter().chain(manager.first()) {
            if !installed(program) {
                let wanted = std::env::var("REQUIRE_DESKTOP").is_ok_and(|desktop| desktop == "x11");
                assert!(!wanted, "{program} is not installed, and REQUIRE_DESKTOP=x11 says that it must be");
                eprintln!("skipped: {program} is not installed");
                return None;
            }
        }
        static MADE: AtomicU32 = AtomicU32::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("deskhand-test-{}-{made}", std::process::id()));
        std::fs::create_dir_all(home.join("run")).unwrap();
        let mut desktop =
            OwnDesktop { display: String::new(), home, environment: Vec::new(), children: Vec::new() };
        desktop.serve();
        desktop.set("DISPLAY", &desktop.display.clone());
        desktop.set("HOME", &desktop.home.display().to_string());
        desktop.set("XDG_RUNTIME_DIR", &desktop.home.join("run").display().to_string());
        for (name, value) in [
            ("GDK_BACKEND", "x11"),
            ("QT_QPA_PLATFORM", "xcb"),
            ("LIBGL_ALWAYS_SOFTWARE", "1"),
            ("GTK_USE_PORTAL", "0"),
            ("NO_AT_BRIDGE", "1"),
            ("GTK_A11Y", "none"),
            ("LC_ALL", "C.UTF-8"),
        ] {
            desktop.set(name, value);
        }
        let bus = format!("unix:path={}", desktop.home.join("run/bus").display());
        desktop.set("DBUS_SESSION_BUS_ADDRESS", &bus);
        desktop.spawn("dbus-daemon", &["--session", "--nofork", &format!("--address={bus}")]);
        until("the bus", || desktop.home.join("run/bus").exists());
        if let [program, arguments @ ..] = manager {
            desktop.spawn(program, arguments);
            until("the window manager", || {
                desktop.run("xprop", &["-root", "_NET_SUPPORTING_WM_CHECK"]).contains("window id")
            });
        }
        Some(desktop)
    }

    fn serve(&mut self) {
        for number in DISPLAYS {
            let display = format!(":{number}");
            let mut server = Command::new("Xvfb");
            server.args([&display, "-screen", "0", "1280x800x24", "-dpi", "96", "-nolisten", "tcp"]);
            server.arg("-noreset").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut server = server.spawn().unwrap();
            let lock = format!("/tmp/.X{number}-lock");
            let ours = server.id().to_string();
            // Another test may have taken the number at the same time: the lock tells whose it is.
            let mut taken = false;
            until("the X server", || {
                taken = server.try_wait().unwrap().is_some();
                let locked = std::fs::read_to_string(&lock).is_ok_and(|pid| pid.trim() == ours);
                taken || (locked && x11rb::connect(Some(&display)).is_ok())
            });
            if !taken {
                self.display = display;
                self.children.push(server);
                return;
            }
        }
        panic!("all displays {DISPLAYS:?} are taken");
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts a program that stays.
    pub fn spawn(&mut self, program: &str, arguments: &[&str]) -> u32 {
        let mut command = self.command(program, arguments);
        let child = command.stdout(Stdio::null()).process_group(0).spawn().unwrap();
        self.children.push(child);
        self.children.last().unwrap().id()
    }

    /// Runs a program to its end and gives what it wrote.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program, arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Ends a program that was started here.
    pub fn kill(&mut self, pid: u32) {
        let at = self.children.iter().position(|child| child.id() == pid).unwrap();
        end(&mut self.children.remove(at));
    }
}

impl Drop for OwnDesktop {
    fn drop(&mut self) {
        while let Some(mut child) = self.children.pop() {
            end(&mut child);
        }
        std::fs::remove_dir_all(&self.home).ok();
    }
}

/// The X server cleans up after itself when it is asked to end; the others need no asking.
fn end(child: &mut Child) {
    let group = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(group, rustix::process::Signal::TERM).ok();
    let patience = Call::with_timeout(Duration::from_millis(500));
    patience.until("a program to end", || Ok(child.try_wait().unwrap())).ok();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    child.kill().ok();
    child.wait().ok();
}

pub fn installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':').any(|folder| PathBuf::from(folder).join(program).exists())
}

/// Waits for something that has to come.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let call = Call::with_timeout(Duration::from_secs(30));
    call.until(what, || Ok(done().then_some(()))).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// A call with plenty of time.
pub fn call() -> Call {
    Call::with_timeout(Duration::from_secs(10))
}
