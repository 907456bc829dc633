//! Which desktop Deskhand works on: the one it was told, the one it was started on, or the running
//! session of the same user, if there is just one.

use deskhand_core::app::NoApps;
use deskhand_core::desktop::Services;
use deskhand_core::element::NoElements;
use deskhand_core::input::NoInput;
use deskhand_core::screen::NoScreen;
use deskhand_core::window::NoWindows;
use deskhand_core::{Call, Choice, Code, Desktop, Missing, Result};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[cfg(target_os = "linux")]
use deskhand_linux::PRIVATE_MARK;
/// Set in the environment of everything on a private desktop.
#[cfg(not(target_os = "linux"))]
const PRIVATE_MARK: &str = "DESKHAND_PRIVATE_DESKTOP";

/// What decides on the desktop.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// The X display that was asked for.
    pub display: Option<String>,
    /// Whether to look for a running session when the environment names none.
    pub find_session: bool,
}

/// A desktop's environment, as far as it differs from the one that Deskhand was started with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// Variables to set.
    pub variables: Vec<(Cow<'static, str>, String)>,
    /// Variables to remove, because they lead to another desktop.
    pub removed: Vec<&'static str>,
    /// What was chosen and why, in sentences for the log.
    pub notes: Vec<String>,
    /// Why there is no display.
    pub missing: Option<Missing>,
    /// Whether Deskhand keeps the notification area where nobody else does.
    pub tray_host: bool,
}

/// Connects to the desktop of a session, whose environment this process has adopted.
pub fn connect(session: &Session) -> Arc<Desktop> {
    #[cfg(target_os = "linux")]
    return deskhand_linux::connect(&deskhand_linux::Place {
        missing: session.missing.clone(),
        tray_host: session.tray_host,
        ..deskhand_linux::Place::from_environment()
    });
    #[cfg(not(target_os = "linux"))]
    if let Some(missing) = &session.missing {
        return without(missing);
    }
    #[cfg(not(target_os = "linux"))]
    without(&Missing {
        code: Code::Unsupported,
        reason: "No provider for this system is built in yet.".into(),
        remedy: "Use Deskhand on Linux with X11.".into(),
    })
}

/// Mends what can be mended of the session that the environment names: switches accessibility on.
pub fn fix() -> Result<()> {
    #[cfg(target_os = "linux")]
    return deskhand_linux::enable_accessibility(
        &Call::with_timeout(Duration::from_secs(10)),
        &deskhand_linux::Place::from_environment(),
    );
    #[cfg(not(target_os = "linux"))]
    Ok(())
}

/// A desktop that has nothing, and whose every call says why.
pub fn without(missing: &Missing) -> Arc<Desktop> {
    let choice =
        |capability| Choice { capability, provider: Err(missing.clone()), reason: missing.reason.clone() };
    Desktop::new(
        Box::new(NoScreen(missing.clone())),
        Box::new(NoInput(missing.clone())),
        Box::new(NoElements(missing.clone())),
        Box::new(NoWindows(missing.clone())),
        Box::new(NoApps(missing.clone())),
        Services::none(missing),
        [
            "input",
            "screen",
            "elements",
            "windows",
            "applications",
            "audio",
            "system",
            "clipboard",
            "notifications",
            "ocr",
            "scripts",
            "touch",
            "menus",
            "status items",
            "files",
        ]
        .map(choice)
        .into(),
    )
}

/// The parts of the system that decide, so that tests can make one up.
pub struct System {
    /// The environment.
    pub environment: BTreeMap<String, String>,
    /// Where processes are listed.
    pub processes: PathBuf,
    /// Where users' sockets are.
    pub run: PathBuf,
    /// Whose processes count.
    pub user: u32,
    /// Whether a display answers.
    pub answers: fn(u32) -> bool,
}

impl System {
    /// This system.
    pub fn here() -> System {
        System {
            environment: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
            processes: "/proc".into(),
            run: "/run/user".into(),
            #[cfg(unix)]
            user: rustix::process::geteuid().as_raw(),
            #[cfg(not(unix))]
            user: 0,
            answers: display_answers,
        }
    }

    /// Where systemd puts the session bus of the user.
    fn user_bus(&self) -> PathBuf {
        self.run.join(self.user.to_string()).join("bus")
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

impl Session {
    /// Finds the session to work on.
    pub fn find(options: &ConnectOptions, system: &System) -> Session {
        let mut session = Session::default();
        let own = system.variable("DISPLAY");
        let asked = options.display.as_deref();
        let wanted = asked.or(own);
        let has_bus = system.variable("DBUS_SESSION_BUS_ADDRESS").is_some();
        if let Some(display) = wanted {
            if own != wanted {
                session.set("DISPLAY", display, "as asked by --display");
            }
            let moved = asked.is_some_and(|asked| own.is_none_or(|own| number(own) != number(asked)));
            // Looking through all processes takes milliseconds: not where nothing is to be found out.
            let has_bus = has_bus || system.user_bus().exists();
            if options.find_session && (moved || !has_bus) {
                let programs = programs(system);
                let there = programs.iter().find(|program| Some(program.display) == number(display));
                session.follow(system, there, moved);
            }
        } else if options.find_session {
            let programs: Vec<Program> =
                programs(system).into_iter().filter(|program| (system.answers)(program.display)).collect();
            let displays: BTreeSet<u32> = programs.iter().map(|program| program.display).collect();
            match (displays.len(), programs.first()) {
                (1, Some(program)) => {
                    let why = format!("the only running session of this user, seen in {}", program.title());
                    session.set("DISPLAY", &format!(":{}", program.display), &why);
                    session.follow(system, Some(program), true);
                }
                (0, _) | (_, None) => session.missing = Some(no_display("no running session was found")),
                _ => session.missing = Some(several(&programs, &displays)),
            }
        } else {
            session.missing = Some(no_display("looking for a running session is off"));
        }
        session.find_bus(system);
        session
    }

    /// The environment of a private desktop.
    #[cfg(target_os = "linux")]
    pub fn private(desktop: &crate::virtual_desktop::VirtualDesktop) -> Session {
        Session {
            variables: desktop.environment().into_iter().map(|(name, value)| (name.into(), value)).collect(),
            removed: desktop.removed_environment().to_vec(),
            notes: vec![format!("Working on a private desktop, DISPLAY={}.", desktop.display())],
            missing: None,
            tray_host: true,
        }
    }

    /// Takes what belongs to the display from a program that runs on it. What the environment has already
    /// counts more, unless it belongs to another display.
    fn follow(&mut self, system: &System, program: Option<&Program>, moved: bool) {
        let Some(program) = program else { return };
        for (name, value) in &program.variables {
            if (moved || system.variable(name).is_none()) && system.variable(name) != Some(value) {
                let why = format!("from {} on the same display", program.title());
                self.set(name, value, &why);
            }
        }
    }

    fn find_bus(&mut self, system: &System) {
        const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";
        if system.variable(BUS).is_some() || self.variables.iter().any(|(name, _)| *name == BUS) {
            return;
        }
        let socket = system.user_bus();
        if socket.exists() {
            self.set(BUS, &format!("unix:path={}", socket.display()), "the user's own session bus");
        } else if self.missing.is_none() {
            self.notes.push(
                "There is no session bus: elements and notifications will not be available. Start Deskhand \
                 inside the session, set DBUS_SESSION_BUS_ADDRESS, or use --virtual."
                    .into(),
            );
        }
    }

    fn set(&mut self, name: &'static str, value: &str, why: &str) {
        self.notes.push(format!("{name}={value}: {why}."));
        self.variables.push((name.into(), value.to_owned()));
    }

    /// Makes it this process's environment, which the programs that it starts inherit.
    ///
    /// # Safety
    /// No other thread may run yet: the environment is read without a lock by the C library.
    pub unsafe fn adopt(&self) {
        for name in &self.removed {
            // SAFETY: the caller vouches that there is no other thread.
            unsafe { std::env::remove_var(name) };
        }
        for (name, value) in &self.variables {
            // SAFETY: as above.
            unsafe { std::env::set_var(&**name, value) };
        }
    }
}

fn no_display(why: &str) -> Missing {
    Missing {
        code: Code::Backend,
        reason: format!("There is no display to work on: DISPLAY is not set, and {why}."),
        remedy: "Start Deskhand with --virtual 1280x800 for a private desktop of its own, with --display :0 \
                 for a running one, or from a terminal inside the session."
            .into(),
    }
}

fn several(programs: &[Program], displays: &BTreeSet<u32>) -> Missing {
    let seen: Vec<String> = displays
        .iter()
        .filter_map(|display| programs.iter().find(|program| program.display == *display))
        .take(8)
        .map(|program| format!(":{} ({})", program.display, program.title()))
        .collect();
    Missing {
        code: Code::Backend,
        reason: format!(
            "There is no one display to work on: DISPLAY is not set, and several run: {}.",
            seen.join(", ")
        ),
        remedy: format!("Pass --display :{}, say, or --virtual.", displays.first().unwrap_or(&0)),
    }
}

/// A program of this user on a display of this machine.
struct Program {
    pid: u32,
    name: String,
    display: u32,
    variables: Vec<(&'static str, String)>,
}

impl Program {
    fn title(&self) -> String {
        format!("{} ({})", self.name, self.pid)
    }
}

/// What a session's programs know of it, besides the display.
const BELONGING: [&str; 4] =
    ["XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP"];

/// This user's programs with a display, the ones that know most of their session first, then the oldest.
fn programs(system: &System) -> Vec<Program> {
    let entries = std::fs::read_dir(&system.processes).into_iter().flatten().flatten();
    let mut programs: Vec<Program> =
        entries.filter_map(|entry| program(&entry.path(), system.user)).collect();
    programs.sort_by_key(|program| (std::cmp::Reverse(program.variables.len()), program.pid));
    programs
}

fn program(folder: &Path, user: u32) -> Option<Program> {
    let pid = folder.file_name()?.to_str()?.parse().ok()?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::uid(&folder.metadata().ok()?) != user {
        return None;
    }
    #[cfg(not(unix))]
    let _ = user;
    // The files of /proc have no size, so that reading them takes a buffer that is large enough at once.
    let mut environment = Vec::with_capacity(16 * 1024);
    std::fs::File::open(folder.join("environ")).ok()?.read_to_end(&mut environment).ok()?;
    let environment: BTreeMap<&str, &str> = environment
        .split(|byte| *byte == 0)
        .filter_map(|entry| std::str::from_utf8(entry).ok()?.split_once('='))
        .collect();
    if environment.contains_key(PRIVATE_MARK) {
        return None;
    }
    let display = number(environment.get("DISPLAY")?)?;
    let known = |name: &&'static str| Some((*name, (*environment.get(*name)?).to_owned()));
    let name = std::fs::read_to_string(folder.join("comm")).unwrap_or_default().trim().to_owned();
    Some(Program { pid, name, display, variables: BELONGING.iter().filter_map(known).collect() })
}

/// The number of a display of this machine. `localhost:10` is somebody's screen at the other end of ssh.
fn number(display: &str) -> Option<u32> {
    let rest = display.strip_prefix("unix").unwrap_or(display).strip_prefix(':')?;
    rest.split('.').next()?.parse().ok()
}

/// Whether an X server listens: its socket stays behind when it is killed.
#[cfg(unix)]
fn display_answers(display: u32) -> bool {
    std::os::unix::net::UnixStream::connect(format!("/tmp/.X11-unix/X{display}")).is_ok()
}

#[cfg(not(unix))]
fn display_answers(_: u32) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    struct Machine(PathBuf);

    impl Machine {
        fn new(name: &str) -> Machine {
            let folder = std::env::temp_dir().join(format!("deskhand-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(folder.join("run")).unwrap();
            Machine(folder)
        }

        fn runs(&self, pid: u32, name: &str, environment: &[&str]) {
            let folder = self.0.join(pid.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
            std::fs::write(folder.join("environ"), environment.join("\0")).unwrap();
        }

        fn find(&self, display: Option<&str>, environment: &[(&str, &str)]) -> Session {
            let system = System {
                environment: environment.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
                processes: self.0.clone(),
                run: self.0.join("run"),
                user: rustix::process::geteuid().as_raw(),
                answers: |display| display != 66,
            };
            let options = ConnectOptions { display: display.map(Into::into), find_session: true };
            Session::find(&options, &system)
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn variable<'a>(session: &'a Session, name: &str) -> Option<&'a str> {
        session.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn the_only_session_is_found_with_what_belongs_to_it() {
        let machine = Machine::new("one");
        machine.runs(
            20,
            "openbox",
            &["DISPLAY=:3.0", "XAUTHORITY=/x", "DBUS_SESSION_BUS_ADDRESS=unix:path=/b"],
        );
        machine.runs(10, "xterm", &["DISPLAY=:3"]);
        machine.runs(11, "dead", &["DISPLAY=:66"]);
        machine.runs(12, "remote", &["DISPLAY=localhost:10.0"]);
        machine.runs(13, "private", &["DISPLAY=:99", "DESKHAND_PRIVATE_DESKTOP=1"]);
        let session = machine.find(None, &[]);
        assert_eq!(session.missing, None);
        assert_eq!(variable(&session, "DISPLAY"), Some(":3"));
        assert_eq!(variable(&session, "XAUTHORITY"), Some("/x"));
        assert_eq!(variable(&session, "DBUS_SESSION_BUS_ADDRESS"), Some("unix:path=/b"));
        assert!(session.notes[0].contains("openbox (20)"), "{:?}", session.notes);
    }

    #[test]
    fn several_sessions_are_a_question() {
        let machine = Machine::new("two");
        machine.runs(20, "openbox", &["DISPLAY=:3"]);
        machine.runs(21, "i3", &["DISPLAY=:4"]);
        let missing = machine.find(None, &[]).missing.unwrap();
        assert!(missing.reason.contains(":3 (openbox (20)), :4 (i3 (21))"), "{}", missing.reason);
        assert!(missing.remedy.contains("--display :3"));
    }

    #[test]
    fn without_any_session_the_ways_on_are_told() {
        let missing = Machine::new("none").find(None, &[]).missing.unwrap();
        assert!(missing.reason.contains("DISPLAY is not set"));
        assert!(missing.remedy.contains("--virtual") && missing.remedy.contains("--display"));
    }

    #[test]
    fn an_own_environment_is_left_alone() {
        let machine = Machine::new("own");
        machine.runs(20, "openbox", &["DISPLAY=:3", "XAUTHORITY=/other"]);
        let session =
            machine.find(None, &[("DISPLAY", ":3"), ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/mine")]);
        assert_eq!(session, Session::default());
    }

    #[test]
    fn another_display_brings_its_own_bus() {
        let machine = Machine::new("other");
        machine.runs(20, "i3", &["DISPLAY=:4", "DBUS_SESSION_BUS_ADDRESS=unix:path=/theirs"]);
        let own = [("DISPLAY", ":3"), ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/mine")];
        let session = machine.find(Some(":4"), &own);
        assert_eq!(variable(&session, "DISPLAY"), Some(":4"));
        assert_eq!(variable(&session, "DBUS_SESSION_BUS_ADDRESS"), Some("unix:path=/theirs"));
    }

    #[test]
    fn the_users_bus_is_found_where_systemd_puts_it() {
        let machine = Machine::new("bus");
        let folder = machine.0.join("run").join(rustix::process::geteuid().as_raw().to_string());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("bus"), "").unwrap();
        let session = machine.find(Some(":4"), &[]);
        assert!(variable(&session, "DBUS_SESSION_BUS_ADDRESS").unwrap().ends_with("/bus"));
    }
}
