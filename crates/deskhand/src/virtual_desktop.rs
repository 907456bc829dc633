//! A private headless desktop: an X server without a screen, a window manager, a session bus and
//! accessibility, shared with nobody and gone with its owner.
//!
//! Nothing of it reaches the person's own session: it has its own bus, runtime folder, cookie and, unless
//! asked otherwise, settings. A separate process, the keeper, is the parent of all of it and ends it when
//! its owner goes, however the owner goes: it holds the reading end of a pipe whose writing end dies with
//! the owner. The keeper is this program again, started as `deskhand keep-desktop`.

mod keeper;
mod line;
mod processes;
mod programs;
mod session;

use deskhand_core::call::Cancellation;
use deskhand_core::{Call, Code, Error, Result, Size};
use programs::Programs;
use serde::{Deserialize, Serialize};
use session::Session;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a desktop may take to come up. It needs about half a second; a busy machine needs more.
pub const START_TIMEOUT: Duration = Duration::from_secs(20);

/// The hidden first argument that makes this program the keeper of a private desktop.
const KEEP: &str = "keep-desktop";

/// What a private desktop should be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The displays from left to right; the first is the primary one.
    pub displays: Vec<Size>,
    /// The window manager: a program's name or path, or `none`. Without one, the first installed of
    /// [`window_managers`].
    pub window_manager: Option<String>,
    /// Whether applications see the person's own settings, caches and browser profiles. They do not by
    /// default: a browser that finds its profile in use opens its page in the person's window instead.
    pub share_settings: bool,
}

impl Options {
    /// One display of this size, and the rest as it comes.
    pub fn new(size: Size) -> Options {
        Options { displays: vec![size], window_manager: None, share_settings: false }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new(Size { width: 1280, height: 800 })
    }
}

/// The window managers that are looked for, best first, when none is named.
pub fn window_managers() -> impl Iterator<Item = &'static str> {
    programs::WINDOW_MANAGERS.iter().map(|manager| manager.name)
}

/// A running private desktop. Dropping it ends the desktop and every application on it.
#[derive(Debug)]
pub struct VirtualDesktop {
    session: Session,
    window_manager: Option<String>,
    keeper: Child,
}

impl VirtualDesktop {
    /// Starts a desktop and waits until it is usable: the window manager manages, the bus answers, the
    /// accessibility registry is there.
    pub fn start(call: &Call, options: &Options) -> Result<VirtualDesktop> {
        check_displays(&options.displays)?;
        let programs = Programs::find(options.window_manager.as_deref())?;
        session::clear_remains();
        let mut session = Session::create(options.share_settings)?;
        let order = Order {
            folder: session.folder().to_owned(),
            share_settings: options.share_settings,
            displays: options.displays.clone(),
            programs,
            timeout_ms: u64::try_from(call.remaining().as_millis()).unwrap_or(u64::MAX),
        };
        // The link in /proc still works after an upgrade has replaced the file.
        let mut keeper = Command::new("/proc/self/exe")
            .arg0("deskhand")
            .arg(KEEP)
            .arg(serde_json::to_string(&order).map_err(|error| {
                Error::backend("The private desktop could not be described.").because(error)
            })?)
            .env("XAUTHORITY", session.cookie_file())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Error::backend("Deskhand could not start itself to keep a private desktop.").because(error)
            })?;
        // From here on dropping the desktop takes everything down, also when an error ends this function.
        let reply = keeper.stdout.take();
        let mut desktop = VirtualDesktop { session: session.clone(), window_manager: None, keeper };
        let Some(mut reply) = reply else {
            return Err(Error::backend("The keeper of the private desktop has no output."));
        };
        let line = line::read(call, &mut reply, "waiting for the private desktop to start")?;
        let Some(line) = line else {
            return Err(Error::backend("The keeper of the private desktop ended before it was ready.")
                .remedy("Its last words stand above, on the standard error output."));
        };
        match serde_json::from_str(&line) {
            Ok(Reply::Ready { display, window_manager }) => {
                session.set_display(&display);
                desktop.session = session;
                desktop.window_manager = window_manager;
                Ok(desktop)
            }
            Ok(Reply::Failed(failure)) => Err(failure.into_error()),
            Err(error) => {
                Err(Error::backend(format!("The keeper of the private desktop answered {line:?}."))
                    .because(error))
            }
        }
    }

    /// The name of the X display, as in DISPLAY. No cookie is needed: the server lets this user in.
    pub fn display(&self) -> &str {
        self.session.display()
    }

    /// The address of the private session bus, as in DBUS_SESSION_BUS_ADDRESS.
    pub fn bus_address(&self) -> String {
        self.session.bus_address()
    }

    /// The window manager that was started, if any.
    pub fn window_manager(&self) -> Option<&str> {
        self.window_manager.as_deref()
    }

    /// What a program needs in its environment to belong to this desktop.
    pub fn environment(&self) -> Vec<(String, String)> {
        self.session.environment()
    }

    /// The variables that must not reach a program of this desktop, because they lead back into the
    /// person's session or change what toolkits do.
    pub fn removed_environment(&self) -> &'static [&'static str] {
        session::REMOVED
    }

    /// A command whose program will belong to this desktop.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.session.apply(&mut command);
        command
    }
}

impl Drop for VirtualDesktop {
    fn drop(&mut self) {
        let call = Call::with_timeout(Duration::from_secs(6));
        drop(self.keeper.stdin.take());
        let keeper = &mut self.keeper;
        let ended = call.until_within(Duration::from_secs(5), "ending the private desktop", || {
            Ok(keeper.try_wait().ok().flatten())
        });
        if !matches!(ended, Ok(Some(_))) {
            let _ = self.keeper.kill();
            let _ = self.keeper.wait();
        }
        // Nothing is left to do here unless somebody killed the keeper.
        self.session.clear();
    }
}

/// Runs `command` inside a private desktop, takes the desktop down with it, and passes on its exit code;
/// a command that a signal ended has 128 and the signal's number, as in a shell.
pub fn run_inside(options: &Options, command: &[OsString]) -> Result<i32> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Error::new(Code::MissingRequiredParameter, "No command was given.")
            .remedy("Name it after two dashes: deskhand desktop -- COMMAND [ARGUMENT…]"));
    };
    let cancellation = Cancellation::default();
    let relay = Relay::start(cancellation.clone())?;
    let call = Call::with_timeout(START_TIMEOUT).with_cancellation(cancellation);
    let desktop = match VirtualDesktop::start(&call, options) {
        Err(error) if error.code == Code::Cancelled => return Ok(128 + relay.received()),
        other => other?,
    };
    let mut child = desktop.command(program).args(arguments).spawn().map_err(|error| {
        Error::new(Code::PathNotFound, format!("{program:?} cannot be run.")).because(error)
    })?;
    relay.send_to(&child);
    let status = child
        .wait()
        .map_err(|error| Error::backend(format!("Waiting for {program:?} failed.")).because(error))?;
    drop(desktop);
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// Makes this process the keeper of a private desktop, if that is what it was started for. Belongs at the
/// very beginning of `main`, before any thread exists and before arguments are read.
pub fn keep_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != KEEP {
        return None;
    }
    let order = arguments.next().unwrap_or_default();
    Some(match serde_json::from_str(&order.to_string_lossy()) {
        Ok(order) => keeper::keep(order),
        Err(error) => {
            eprintln!("deskhand: {KEEP} is for Deskhand's own use: {error}");
            ExitCode::from(2)
        }
    })
}

/// Reads a size like `1280x800`.
pub fn parse_size(text: &str) -> Result<Size> {
    let wrong = || {
        Error::argument(format!("{text:?} is no size of a display."))
            .expected(format!("WIDTHxHEIGHT, each from {SMALLEST} to {LARGEST}, like 1280x800"))
    };
    let (width, height) = text.trim().split_once(['x', 'X']).ok_or_else(wrong)?;
    let number = |digits: &str| digits.parse::<u32>().map_err(|_| wrong());
    let size = Size { width: number(width)?, height: number(height)? };
    check_displays(&[size]).map_err(|_| wrong())?;
    Ok(size)
}

/// Reads sizes like `1280x800,1920x1080`: displays from left to right.
pub fn parse_sizes(text: &str) -> Result<Vec<Size>> {
    let sizes = text.split(',').map(parse_size).collect::<Result<Vec<Size>>>()?;
    check_displays(&sizes)?;
    Ok(sizes)
}

const SMALLEST: u32 = 64;
/// What an X server can address with its signed 16-bit coordinates.
const LARGEST: u32 = 32767;

fn check_displays(displays: &[Size]) -> Result<()> {
    let valid = SMALLEST..=LARGEST;
    let across = displays.iter().fold(0, |sum: u32, size| sum.saturating_add(size.width));
    if displays.iter().all(|size| valid.contains(&size.width) && valid.contains(&size.height))
        && valid.contains(&across)
    {
        return Ok(());
    }
    Err(Error::argument("The displays of a private desktop have impossible sizes.")
        .expected(format!(
            "at least one display, each at least {SMALLEST} pixels wide and high, together at most {LARGEST}"
        ))
        .found(displays.iter().map(|size| format!("{}x{}", size.width, size.height))))
}

/// What the keeper is told to do.
#[derive(Serialize, Deserialize)]
struct Order {
    folder: std::path::PathBuf,
    share_settings: bool,
    displays: Vec<Size>,
    programs: Programs,
    timeout_ms: u64,
}

/// What the keeper answers, as one line of JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Ready { display: String, window_manager: Option<String> },
    Failed(Failure),
}

/// An error on its way from the keeper.
#[derive(Serialize, Deserialize)]
struct Failure {
    code: String,
    message: String,
    remedy: Option<String>,
    os: Option<String>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            code: error.code.name().to_owned(),
            message: error.message,
            remedy: error.detail.remedy,
            os: error.detail.os,
        }
    }
}

impl Failure {
    fn into_error(self) -> Error {
        let code = Code::ALL.iter().copied().find(|code| code.name() == self.code).unwrap_or(Code::Backend);
        let mut error = Error::new(code, self.message);
        error.detail.remedy = self.remedy;
        error.detail.os = self.os;
        error
    }
}

/// Passes signals that would end this process on to the command, which decides what they mean.
struct Relay(Arc<Mutex<RelayState>>);

#[derive(Default)]
struct RelayState {
    received: i32,
    child: Option<rustix::process::Pid>,
}

impl Relay {
    /// Starts listening. A signal that comes before there is a command calls off `starting`.
    fn start(starting: Cancellation) -> Result<Relay> {
        let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT])
            .map_err(|error| Error::backend("Signals cannot be received.").because(error))?;
        let state = Arc::new(Mutex::new(RelayState::default()));
        let relay = Relay(state.clone());
        // A terminal sends Ctrl+C to the command as well: passing it on would send it twice.
        let at_terminal = std::io::stdin().is_terminal() || std::io::stderr().is_terminal();
        std::thread::spawn(move || {
            for signal in signals.forever() {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                state.received = signal;
                match state.child {
                    None => starting.cancel(),
                    Some(_) if at_terminal && matches!(signal, SIGINT | SIGQUIT) => {}
                    Some(child) => pass_on(child, signal),
                }
            }
        });
        Ok(relay)
    }

    /// From now on signals go to `child`; one that came in between goes there at once.
    fn send_to(&self, child: &Child) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.child = rustix::process::Pid::from_raw(child.id().cast_signed());
        if let (Some(child), true) = (state.child, 0 < state.received) {
            pass_on(child, state.received);
        }
    }

    fn received(&self) -> i32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).received
    }
}

fn pass_on(child: rustix::process::Pid, signal: i32) {
    if let Some(signal) = rustix::process::Signal::from_named_raw(signal) {
        // The command may have ended in this moment; then there is nobody to tell.
        let _ = rustix::process::kill_process(child, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_impossible_ones_refused() {
        assert_eq!(parse_size("1280x800").unwrap(), Size { width: 1280, height: 800 });
        assert_eq!(parse_sizes("1280x800, 640X480").unwrap()[1], Size { width: 640, height: 480 });
        for wrong in ["", "1280", "1280x", "x800", "1280x800x24", "0x800", "-5x800", "40000x800", "a x b"] {
            assert_eq!(parse_size(wrong).unwrap_err().code, Code::InvalidArgument, "{wrong:?}");
        }
        assert!(parse_sizes("20000x800,20000x800").is_err(), "together wider than X can address");
    }

    #[test]
    fn an_error_survives_the_way_from_the_keeper() {
        let sent = Error::new(Code::Timeout, "No window manager came.").remedy("Wait.").os("exit 1");
        let text = serde_json::to_string(&Reply::Failed(sent.into())).unwrap();
        let Reply::Failed(failure) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        let error = failure.into_error();
        assert_eq!((error.code, error.message.as_str()), (Code::Timeout, "No window manager came."));
        assert_eq!(error.detail.os.as_deref(), Some("exit 1"));
    }
}
