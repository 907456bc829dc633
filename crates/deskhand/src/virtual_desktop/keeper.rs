//! The keeper: the process that is parent to a private desktop and ends it when the owner goes.
//!
//! It has one thread and does little, so that little can go wrong. Everything it starts dies with it, and
//! as a reaper it adopts what its descendants leave behind: nothing that belongs to the desktop escapes.

use super::programs::WINDOW_MANAGERS;
use super::session::Session;
use super::{Order, Reply, line, processes};
use deskhand_core::{Call, Code, Error, Result, Size};
use deskhand_linux::x11::link::{Link, X, failed};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, set_child_subreaper, set_parent_process_death_signal, setsid,
    waitpid,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::protocol::randr::{ConnectionExt as _, MonitorInfo};
use x11rb::protocol::xproto::{
    AccessControl, Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, Family, HostMode, Window,
};

/// Keeps the desktop described by `order` until standard input closes, a signal comes, or the X server or
/// the bus ends.
pub fn keep(order: Order) -> ExitCode {
    match Keeper::new(&order) {
        Ok(keeper) => keeper.run(&order),
        Err(error) => {
            answer(&Reply::Failed(error.into()));
            ExitCode::FAILURE
        }
    }
}

struct Keeper {
    session: Session,
    wake: UnixStream,
    stop: Arc<AtomicBool>,
    /// The X server and the bus: without one of them there is no desktop.
    vital: Vec<Pid>,
    window_manager: Option<Pid>,
}

impl Keeper {
    fn new(order: &Order) -> Result<Keeper> {
        let cannot = |what: &str, os: &dyn std::fmt::Display| {
            Error::backend(format!("The keeper of a private desktop cannot {what}.")).os(os)
        };
        // In a session of its own, Ctrl+C in the owner's terminal does not end it before the applications.
        setsid().map_err(|error| cannot("leave its owner's terminal", &error))?;
        set_child_subreaper(Some(getpid())).map_err(|error| cannot("adopt processes", &error))?;
        let (wake, waker) = UnixStream::pair().map_err(|error| cannot("make a pipe", &error))?;
        wake.set_nonblocking(true).map_err(|error| cannot("make a pipe", &error))?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGCHLD, SIGTERM, SIGINT, SIGHUP] {
            let waker = waker.try_clone().map_err(|error| cannot("make a pipe", &error))?;
            if signal != SIGCHLD {
                signal_hook::flag::register(signal, stop.clone())
                    .map_err(|error| cannot("receive signals", &error))?;
            }
            signal_hook::low_level::pipe::register(signal, waker)
                .map_err(|error| cannot("receive signals", &error))?;
        }
        let session = Session::join(order.folder.clone(), order.share_settings)?;
        Ok(Keeper { session, wake, stop, vital: Vec::new(), window_manager: None })
    }

    fn run(mut self, order: &Order) -> ExitCode {
        let call = Call::with_timeout(Duration::from_millis(order.timeout_ms));
        let code = match self.raise(&call, order) {
            Ok(window_manager) => {
                answer(&Reply::Ready { display: self.session.display().to_owned(), window_manager });
                self.wait();
                ExitCode::SUCCESS
            }
            Err(error) => {
                answer(&Reply::Failed(error.into()));
                ExitCode::FAILURE
            }
        };
        self.take_down();
        code
    }

    /// Starts everything, each step as soon as what it needs is there. Says which window manager it is.
    fn raise(&mut self, call: &Call, order: &Order) -> Result<Option<String>> {
        self.start_x_server(call, order)?;
        let link = Link::new(self.session.display(), |_, _, _| Ok(()));
        link.with(call, |x, screen, ()| {
            let root = x.setup().roots[screen].root;
            let_this_user_in(x)?;
            lay_out_displays(x, root, &order.displays)?;
            paint(x, root)
        })?;
        self.start_bus(call, order)?;
        let manager = order.programs.window_manager.as_deref();
        let log = self.session.folder().join("window-manager.log");
        if let Some(manager) = manager {
            self.start_window_manager(manager, &log)?;
        }
        // The window manager comes up meanwhile.
        switch_accessibility_on(call, &self.session.bus_address())?;
        let name = manager.map(|_| {
            link.with(call, |x, screen, ()| await_window_manager(call, x, x.setup().roots[screen].root))
                .map_err(|error| error.os(last_words(&log)))
        });
        let name = name.transpose()?;
        Ok(name.map(|name| if name.is_empty() { manager.map(file_name).unwrap_or_default() } else { name }))
    }

    fn start_x_server(&mut self, call: &Call, order: &Order) -> Result<()> {
        let (width, height) = (
            order.displays.iter().map(|size| size.width).sum::<u32>(),
            order.displays.iter().map(|size| size.height).max().unwrap_or_default(),
        );
        let log = self.session.folder().join("x-server.log");
        let mut command = Command::new(&order.programs.xvfb);
        // The server finds a free number itself and writes it to descriptor 1 when clients may connect.
        // `-noreset` keeps its state when the last client leaves; `-s 0` keeps the screen from blanking.
        command
            .args(["-displayfd", "1", "-screen", "0", &format!("{width}x{height}x24"), "-dpi", "96"])
            .args(["-nolisten", "tcp", "-noreset", "-s", "0", "-auth"])
            .arg(self.session.cookie_file());
        let mut child = self.spawn(command, &log)?;
        self.vital.push(pid(&child));
        let number = self.first_line(call, &mut child, "waiting for the X server", &log)?;
        self.session.set_display(&format!(":{number}"));
        Ok(())
    }

    /// The bus comes after the X server, because the services that it starts get its environment.
    fn start_bus(&mut self, call: &Call, order: &Order) -> Result<()> {
        let log = self.session.folder().join("bus.log");
        let mut command = Command::new(&order.programs.dbus_daemon);
        command
            .args(["--session", "--nofork", "--nopidfile", "--print-address=1"])
            .arg(format!("--address={}", self.session.bus_address()));
        self.session.apply(&mut command);
        let mut child = self.spawn(command, &log)?;
        self.vital.push(pid(&child));
        self.first_line(call, &mut child, "waiting for the session bus", &log)?;
        Ok(())
    }

    fn start_window_manager(&mut self, program: &Path, log: &Path) -> Result<()> {
        let mut command = Command::new(program);
        let name = file_name(program);
        if let Some(known) = WINDOW_MANAGERS.iter().find(|manager| manager.name == name) {
            let folder = self.session.folder().to_string_lossy();
            command.args(known.arguments.iter().map(|argument| argument.replace("{folder}", &folder)));
        }
        self.session.apply(&mut command);
        let child = self.spawn(command, log)?;
        self.window_manager = Some(pid(&child));
        Ok(())
    }

    /// Starts a program that dies with the keeper, with its words in `log`.
    fn spawn(&self, mut command: Command, log: &Path) -> Result<Child> {
        let program = command.get_program().to_owned();
        let cannot = |error: std::io::Error| {
            Error::backend(format!("{} cannot be started.", program.display())).because(error)
        };
        let log = File::create(log).map_err(cannot)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        die_with_parent(&mut command);
        command.spawn().map_err(cannot)
    }

    fn first_line(&self, call: &Call, child: &mut Child, doing: &str, log: &Path) -> Result<String> {
        let ended = || Error::backend(format!("The program ended while {doing}.")).os(last_words(log));
        let mut output = child.stdout.take().ok_or_else(ended)?;
        let line = line::read(call, &mut output, doing).map_err(|error| error.os(last_words(log)))?;
        line.filter(|line| !line.is_empty()).ok_or_else(ended)
    }

    /// Waits until the desktop has to end, reaping what ends before.
    fn wait(&self) {
        let mut input = std::io::stdin();
        let mut byte = [0; 64];
        loop {
            let (ended, woken) = {
                let mut fds = [PollFd::new(&input, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
                if poll(&mut fds, None).is_err_and(|error| error != rustix::io::Errno::INTR) {
                    return;
                }
                (!fds[0].revents().is_empty(), !fds[1].revents().is_empty())
            };
            // Nothing is ever written to the owner's end: whatever comes is its end.
            if ended && !matches!(input.read(&mut byte), Ok(1..)) {
                return;
            }
            if woken {
                while matches!((&self.wake).read(&mut byte), Ok(1..)) {}
            }
            if self.stop.load(Ordering::Relaxed) || reap().iter().any(|pid| self.vital.contains(pid)) {
                return;
            }
        }
    }

    /// Ends the applications first, while they still have a display, then the rest, and tidies up.
    fn take_down(&self) {
        let call = Call::with_timeout(Duration::from_secs(4));
        let base: Vec<Pid> = self.vital.iter().copied().chain(self.window_manager).collect();
        let mark = self.session.mark();
        processes::end(&call, Duration::from_millis(400), || {
            reap();
            let mut found = processes::marked(&mark);
            found.extend(processes::children());
            found.retain(|process| !base.contains(&process.pid));
            found
        });
        processes::end(&call, Duration::from_millis(600), || {
            reap();
            processes::children()
        });
        self.session.clear();
    }
}

/// Makes the program of `command` end when the process that started it does.
#[expect(unsafe_code, reason = "code between fork and exec is unsafe by nature")]
fn die_with_parent(command: &mut Command) {
    let parent = getpid();
    let bind = move || {
        // The X server removes its socket and its lock on SIGTERM, and would leave them on SIGKILL.
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // The parent may have ended before it was asked for.
        if getppid() == Some(parent) { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
    };
    // SAFETY: the closure makes two system calls and neither allocates nor locks.
    unsafe { command.pre_exec(bind) };
}

/// Admits every process of this user by its identity, beside the cookie: Deskhand itself then needs no more
/// than the display's name. Everybody else stays out.
fn let_this_user_in(x: &X) -> Result<()> {
    let doing = "letting this user in";
    let user = format!("localuser\0#{}", rustix::process::geteuid().as_raw());
    x.change_hosts(HostMode::INSERT, Family::SERVER_INTERPRETED, user.as_bytes())
        .map_err(failed(doing))?
        .check()
        .map_err(failed(doing))?;
    let hosts = x.list_hosts().map_err(failed(doing))?.reply().map_err(failed(doing))?;
    if hosts.mode == AccessControl::ENABLE && hosts.hosts.len() == 1 {
        return Ok(());
    }
    Err(Error::new(Code::PermissionDenied, "The private X server would let other users in.")
        .expected("access control on, and one entry: this user")
        .found(hosts.hosts.iter().map(|host| String::from_utf8_lossy(&host.address).into_owned())))
}

/// Divides the one screen into monitors. One of them has to claim the screen's only output, the others
/// have none.
fn lay_out_displays(x: &X, root: Window, displays: &[Size]) -> Result<()> {
    if displays.len() < 2 {
        return Ok(());
    }
    let doing = "laying out the displays";
    let resources =
        x.randr_get_screen_resources_current(root).map_err(failed(doing))?.reply().map_err(failed(doing))?;
    let mut left = 0;
    for (index, size) in displays.iter().enumerate() {
        let name = intern(x, &format!("DISPLAY-{index}"))?;
        let monitor = MonitorInfo {
            name,
            primary: index == 0,
            automatic: false,
            // Displays were checked to fit into what X can address.
            x: left as i16,
            y: 0,
            width: size.width as u16,
            height: size.height as u16,
            width_in_millimeters: millimeters(size.width),
            height_in_millimeters: millimeters(size.height),
            outputs: resources.outputs.iter().copied().filter(|_| index == 0).collect(),
        };
        x.randr_set_monitor(root, monitor).map_err(failed(doing))?.check().map_err(failed(doing))?;
        left += size.width;
    }
    Ok(())
}

/// At 96 dots per inch.
fn millimeters(pixels: u32) -> u32 {
    pixels * 254 / 960
}

/// A plain background that is not black: a black picture reads as a failed capture.
fn paint(x: &X, root: Window) -> Result<()> {
    const SLATE: u32 = 0x0033_4455;
    let doing = "painting the background";
    x.change_window_attributes(root, &ChangeWindowAttributesAux::new().background_pixel(SLATE))
        .map_err(failed(doing))?
        .check()
        .map_err(failed(doing))?;
    x.clear_area(false, root, 0, 0, 0, 0).map_err(failed(doing))?.check().map_err(failed(doing))
}

/// Waits until a window manager manages, and says its name. The window that the root names has to answer
/// with itself: a property alone may be left over.
fn await_window_manager(call: &Call, x: &X, root: Window) -> Result<String> {
    let check = intern(x, "_NET_SUPPORTING_WM_CHECK")?;
    let name = intern(x, "_NET_WM_NAME")?;
    let window = |of: Window| {
        let value = x.get_property(false, of, check, AtomEnum::WINDOW, 0, 1).ok()?.reply().ok()?;
        value.value32()?.next()
    };
    call.until("waiting for the window manager", || {
        let Some(manager) = window(root).filter(|&manager| window(manager) == Some(manager)) else {
            return Ok(None);
        };
        let text = x.get_property(false, manager, name, AtomEnum::ANY, 0, 64).map_err(failed("naming it"))?;
        let text = text.reply().map_err(failed("asking for the window manager's name"))?;
        Ok(Some(String::from_utf8_lossy(&text.value).into_owned()))
    })
}

fn intern(x: &X, name: &str) -> Result<Atom> {
    let doing = "interning an atom";
    Ok(x.intern_atom(false, name.as_bytes()).map_err(failed(doing))?.reply().map_err(failed(doing))?.atom)
}

/// Switches accessibility on for the session and waits until the registry answers, without which the
/// first application would start unseen.
fn switch_accessibility_on(call: &Call, address: &str) -> Result<()> {
    const BUS: &str = "org.a11y.Bus";
    const BUS_PATH: &str = "/org/a11y/bus";
    const REGISTRY: &str = "org.a11y.atspi.Registry";
    let work = async {
        let on = zbus::zvariant::Value::from(true);
        let bus = zbus::connection::Builder::address(address)?.build().await?;
        let set = ("org.a11y.Status", "IsEnabled", on);
        bus.call_method(Some(BUS), BUS_PATH, Some("org.freedesktop.DBus.Properties"), "Set", &set).await?;
        let reply = bus.call_method(Some(BUS), BUS_PATH, Some(BUS), "GetAddress", &()).await?;
        let address: String = reply.body().deserialize()?;
        let bus = zbus::connection::Builder::address(&*address)?.build().await?;
        let path = "/org/a11y/atspi/registry";
        bus.call_method(Some(REGISTRY), path, Some(REGISTRY), "GetRegisteredEvents", &()).await?;
        Ok::<(), zbus::Error>(())
    };
    let late = async {
        async_io::Timer::at(call.deadline()).await;
        Err(zbus::Error::InputOutput(Arc::new(std::io::ErrorKind::TimedOut.into())))
    };
    async_io::block_on(futures_lite::future::or(work, late)).map_err(|error| {
        Error::backend("Accessibility cannot be switched on in the private desktop.")
            .because(error)
            .remedy("See that at-spi2-core is installed whole: apt-get install --reinstall at-spi2-core")
    })
}

/// Takes note of children that have ended, so that they do not stay as zombies.
fn reap() -> Vec<Pid> {
    let mut ended = Vec::new();
    while let Ok(Some((pid, _))) = waitpid(None, WaitOptions::NOHANG) {
        ended.push(pid);
    }
    ended
}

fn answer(reply: &Reply) {
    let mut output = std::io::stdout();
    // An owner that no longer listens has gone, and then standard input has closed too.
    let _ = serde_json::to_writer(&output, reply);
    let _ = output.write_all(b"\n").and_then(|()| output.flush());
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The last lines of a log, which tell why a program did not start.
fn last_words(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(5)..].join("; ")
}
