//! Applications: desktop entries, processes, starting and ending.

mod entry;
mod policy;
pub(crate) mod process;

use deskhand_core::app::{Apps, Installed, Launch, Launched, Running};
use deskhand_core::watch::Bell;
use deskhand_core::window::Window;
use deskhand_core::{Call, Code, Error, Result};
use entry::{Catalog, Entry, base_name};
use process::Process;
use rustix::process::{Pid, Signal};
use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Lists the windows, so that applications can be told by them.
pub type ListWindows = Box<dyn Fn(&Call) -> Result<Vec<Window>> + Send + Sync>;

/// The applications of one desktop.
pub struct LinuxApps {
    environment: Vec<(String, String)>,
    windows: ListWindows,
    catalog: Mutex<Catalog>,
}

/// How long a program is watched for failing at once. One that fails later has no window to show for it,
/// and the caller waits for that one.
const FIRST_BREATH: Duration = Duration::from_millis(50);

impl LinuxApps {
    /// `environment` are the variables that tell programs where this desktop is (DISPLAY,
    /// DBUS_SESSION_BUS_ADDRESS …); they go before those of our own process, for what is started as well as
    /// for where desktop entries and executables are looked for.
    pub fn new(environment: Vec<(String, String)>, windows: ListWindows) -> LinuxApps {
        LinuxApps { environment, windows, catalog: Mutex::new(Catalog::default()) }
    }

    fn variable(&self, name: &str) -> Option<String> {
        let own = self.environment.iter().rev().find(|(key, _)| key == name);
        own.map(|(_, value)| value.clone()).or_else(|| std::env::var(name).ok())
    }

    fn entries(&self) -> Vec<Entry> {
        let languages = entry::languages(|name| self.variable(name));
        let mut catalog = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        catalog.entries(&self.data_folders(), &languages).to_vec()
    }

    /// Where desktop entries lie, the most important place first.
    fn data_folders(&self) -> Vec<PathBuf> {
        let set = |name: &str| self.variable(name).filter(|value| !value.is_empty());
        let home = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| format!("{home}/.local/share")));
        let places = set("XDG_DATA_DIRS").unwrap_or_else(|| "/usr/local/share:/usr/share".to_owned());
        let mut folders: Vec<PathBuf> = Vec::new();
        for place in home.iter().map(String::as_str).chain(places.split(':')) {
            let folder = Path::new(place).join("applications");
            // The specification says to pass over relative paths.
            if folder.is_absolute() && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    fn program_folders(&self) -> Vec<PathBuf> {
        let path = self.variable("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".to_owned());
        path.split(':').map(PathBuf::from).filter(|folder| folder.is_absolute()).collect()
    }

    /// The executable of this name on PATH, or at this path.
    fn find_program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && is_executable(path));
        }
        let plain = !matches!(name, "" | "." | "..");
        self.program_folders()
            .into_iter()
            .filter(|_| plain)
            .map(|folder| folder.join(name))
            .find(|path| is_executable(path))
    }

    /// What `application` names, in this order: an entry's id, its name, an executable, the beginning of
    /// one entry's name. The executable goes before the beginning, so that `sh` is never Shotwell.
    fn resolve(&self, application: &str, entries: &[Entry]) -> Result<Target> {
        let wanted = application.trim();
        if wanted.is_empty() {
            return Err(Error::argument("No application was named.")
                .expected("the id or name of a desktop entry, or an executable"));
        }
        if wanted.contains('/') {
            return match self.find_program(wanted) {
                Some(path) => Ok(Target::Program(path)),
                None => Err(Error::new(
                    Code::ApplicationNotFound,
                    format!("There is no executable file {wanted:?}."),
                )
                .expected("an absolute path to an executable, or the name of an application")),
            };
        }
        let id = wanted.strip_suffix(".desktop").unwrap_or(wanted);
        let by_id = entries.iter().find(|entry| entry.id == id);
        let by_id = by_id.or_else(|| entries.iter().find(|entry| entry.id.eq_ignore_ascii_case(id)));
        if let Some(entry) = by_id {
            return Ok(Target::Entry(entry.clone()));
        }
        let lower = wanted.to_lowercase();
        let listed = || entries.iter().filter(|entry| !entry.unlisted);
        let names = |entry: &Entry| [entry.name.to_lowercase(), entry.plain_name.to_lowercase()];
        if let Some(entry) = sole(wanted, listed().filter(|entry| names(entry).contains(&lower)))? {
            return Ok(Target::Entry(entry.clone()));
        }
        if let Some(path) = self.find_program(wanted) {
            // The entry tells the name and the id; it counts when it starts just this program.
            let mut plain = listed()
                .filter(|entry| entry.program_name() == Some(wanted) && entry.is_plain() && !entry.terminal);
            let known = plain.next().filter(|_| !policy::is_interpreter(wanted));
            return Ok(match (known, plain.next()) {
                (Some(entry), None) => Target::Entry(entry.clone()),
                (_, _) => Target::Program(path),
            });
        }
        let begins = |entry: &&Entry| names(entry).iter().any(|name| name.starts_with(&lower));
        if let Some(entry) = sole(wanted, listed().filter(begins))? {
            return Ok(Target::Entry(entry.clone()));
        }
        Err(Error::new(Code::ApplicationNotFound, format!("No application {wanted:?} is installed."))
            .expected("the id or name of a desktop entry, an executable on PATH, or an absolute path")
            .found(near(&lower, entries))
            .remedy("Take one of the names in found, or install it."))
    }

    /// What to run: the command, what it is called, and in which folder.
    fn plan(&self, launch: &Launch, target: &Target) -> Result<Plan> {
        match target {
            Target::Program(path) => {
                policy::executable(launch, path, &self.program_folders())?;
                let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
                let mut command = vec![path.display().to_string()];
                command.extend(launch.arguments.iter().cloned());
                Ok(Plan { program: path.clone(), command, name, id: None, folder: None })
            }
            Target::Entry(entry) => {
                let missing = |program: &str| {
                    Error::new(
                        Code::ApplicationNotFound,
                        format!(
                            "{:?} is in the menu, but its program {program:?} is not installed.",
                            entry.name
                        ),
                    )
                    .remedy("Install the program, or name another application.")
                };
                if let Some(needed) = &entry.try_exec
                    && self.find_program(needed).is_none()
                {
                    return Err(missing(needed));
                }
                let Some(named) = entry.program() else {
                    let how = if entry.bus_activated { "only by a message to the bus" } else { "by nothing" };
                    return Err(Error::unsupported(format!("{:?} can be started {how}.", entry.name))
                        .remedy("Name its executable instead."));
                };
                let program = self.find_program(named).ok_or_else(|| missing(named))?;
                let worker = entry.worker().and_then(|worker| self.find_program(worker));
                policy::entry(launch, entry, worker.as_deref().unwrap_or(&program))?;
                let mut plan = Plan {
                    program,
                    command: entry.command(&launch.arguments),
                    name: entry.name.clone(),
                    id: Some(entry.id.clone()),
                    folder: entry.folder.clone(),
                };
                if entry.terminal {
                    self.in_terminal(&mut plan)?;
                }
                Ok(plan)
            }
        }
    }

    fn in_terminal(&self, plan: &mut Plan) -> Result<()> {
        let found =
            TERMINALS.iter().find_map(|(name, option)| Some((self.find_program(name)?, *name, *option)));
        let Some((program, name, option)) = found else {
            return Err(Error::backend(format!("{:?} runs in a terminal, and there is none.", plan.name))
                .expected(TERMINALS.map(|(name, _)| name).join(", "))
                .remedy("Install xterm."));
        };
        let inner = std::mem::take(&mut plan.command);
        plan.command = vec![name.to_owned(), option.to_owned(), plan.program.display().to_string()];
        plan.command.extend(inner.into_iter().skip(1));
        plan.program = program;
        Ok(())
    }

    fn start(&self, launch: &Launch, plan: &Plan) -> Result<Child> {
        let home = || self.variable("HOME").map(PathBuf::from).filter(|home| home.is_dir());
        let asked = launch.working_directory.as_ref();
        if let Some(folder) = asked.filter(|folder| !folder.is_dir()) {
            return Err(Error::new(Code::PathNotFound, format!("There is no folder {}.", folder.display()))
                .expected("an existing folder to start in"));
        }
        let folder = asked.cloned().or_else(|| plan.folder.clone().filter(|folder| folder.is_dir()));
        let mut command = Command::new(&plan.program);
        command
            .arg0(&plan.command[0])
            .args(&plan.command[1..])
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(folder.or_else(home).unwrap_or_else(|| PathBuf::from("/")))
            // Our own streams are the wire.
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        in_own_session(&mut command);
        command.spawn().map_err(|error| {
            let code = match error.kind() {
                std::io::ErrorKind::PermissionDenied => Code::PermissionDenied,
                _ => Code::Backend,
            };
            Error::new(code, format!("{} could not be started.", plan.program.display()))
                .because(error)
                .remedy("Start it in a terminal to see why.")
        })
    }
}

impl Apps for LinuxApps {
    fn installed(&self, call: &Call) -> Result<Vec<Installed>> {
        call.check("reading the desktop entries")?;
        let listed = self.entries().into_iter().filter(|entry| !entry.unlisted);
        let mut installed: Vec<Installed> = listed
            .filter(|entry| entry.try_exec.as_ref().is_none_or(|needed| self.find_program(needed).is_some()))
            .map(|entry| Installed {
                executable: entry.program().map(str::to_owned),
                id: entry.id,
                name: entry.name,
                window_class: entry.window_class,
            })
            .collect();
        installed.sort_by_cached_key(|entry| (entry.name.to_lowercase(), entry.id.clone()));
        Ok(installed)
    }

    fn running(&self, call: &Call) -> Result<Vec<Running>> {
        let windows = (self.windows)(call)?;
        let entries = self.entries();
        let processes: HashMap<u32, Process> =
            Process::all().into_iter().map(|process| (process.pid, process)).collect();
        call.check("reading the processes")?;
        let mut running: Vec<Running> = Vec::new();
        for window in &windows {
            let Some(process) = window.pid.and_then(|pid| processes.get(&pid)) else { continue };
            if let Some(known) = running.iter_mut().find(|known| known.pid == process.pid) {
                known.windows += 1;
                known.active |= window.focused;
                continue;
            }
            let entry = by_class(&entries, &window.application).or_else(|| by_process(&entries, process));
            running.push(Running { windows: 1, active: window.focused, ..describe(process, entry) });
        }
        let ours = rustix::process::geteuid().as_raw();
        let display = self.variable("DISPLAY");
        let mut rest: Vec<(&Process, &Entry)> = Vec::new();
        for process in processes.values() {
            call.check("reading the processes")?;
            if running.iter().any(|known| known.pid == process.pid) || process.user() != Some(ours) {
                continue;
            }
            if let Some(entry) = by_process(&entries, process)
                && same_display(process.variable("DISPLAY").as_deref(), display.as_deref())
            {
                rest.push((process, entry));
            }
        }
        let shown: Vec<(u32, Option<String>)> =
            running.iter().map(|known| (known.pid, known.id.clone())).collect();
        // A browser's children are the browser: only the eldest of an application counts.
        let elder = |process: &Process, entry: &Entry| {
            ancestors(&processes, process).any(|pid| {
                rest.iter().any(|(other, of)| other.pid == pid && of.id == entry.id)
                    || shown.iter().any(|(other, of)| *other == pid && of.as_ref() == Some(&entry.id))
            })
        };
        for (process, entry) in &rest {
            if !elder(process, entry) {
                running.push(describe(process, Some(entry)));
            }
        }
        running.sort_by_cached_key(|known| {
            (!known.active, known.windows == 0, known.name.to_lowercase(), known.pid)
        });
        Ok(running)
    }

    fn launch(&self, call: &Call, launch: &Launch) -> Result<Launched> {
        call.check("looking for the application")?;
        let target = self.resolve(&launch.application, &self.entries())?;
        let plan = self.plan(launch, &target)?;
        let child = self.start(launch, &plan)?;
        let launched = Launched { pid: child.id(), name: plan.name.clone(), id: plan.id.clone() };
        let ended = reap(child);
        // The program runs: that the call ends meanwhile does not undo it.
        let early = call
            .until_within(FIRST_BREATH, "watching the program start", || {
                Ok(*ended.lock().unwrap_or_else(PoisonError::into_inner))
            })
            .unwrap_or_default();
        match early {
            Some(status) if !status.success() => Err(failed_at_once(&plan, status)),
            Some(_) | None => Ok(launched),
        }
    }

    fn alive(&self, pid: u32) -> bool {
        Process::read(pid).is_some_and(|process| !process.dead)
    }

    fn family(&self, call: &Call, pid: u32) -> Result<Vec<u32>> {
        call.check("reading the processes")?;
        Ok(process::family(&Process::all(), pid))
    }

    fn terminate(&self, call: &Call, pid: u32, force: bool) -> Result<()> {
        call.check("ending a process")?;
        let refused = |why: &str| {
            Error::new(Code::PermissionDenied, format!("Process {pid} is not ended: {why}."))
                .remedy("Name a process of your own applications, see list_running_apps.")
        };
        let gone = || {
            Error::new(Code::ApplicationNotFound, format!("There is no process {pid}."))
                .remedy("It has ended already: look at list_running_apps.")
        };
        match pid {
            0 => return Err(refused("0 means a whole group of processes")),
            1 => return Err(refused("it is the first process of the system")),
            pid if pid == std::process::id() => return Err(refused("it is Deskhand itself")),
            _ => {}
        }
        let process = Process::read(pid).filter(|process| !process.dead).ok_or_else(gone)?;
        if process.is_kernel() {
            return Err(refused("it belongs to the kernel"));
        }
        if process.user() != Some(rustix::process::geteuid().as_raw()) {
            return Err(refused("it belongs to another user"));
        }
        let target = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
        let signal = if force { Signal::KILL } else { Signal::TERM };
        rustix::process::kill_process(target, signal).map_err(|error| match error {
            rustix::io::Errno::SRCH => gone(),
            rustix::io::Errno::PERM => refused("the system does not allow it"),
            other => Error::backend(format!("Process {pid} could not be ended.")).because(other),
        })
    }

    fn watch_end(&self, pid: u32, bell: &Bell) -> Result<Box<dyn Send>> {
        let doing = || Error::backend(format!("The end of process {pid} cannot be waited for."));
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(doing)?;
        match rustix::process::pidfd_open(number, rustix::process::PidfdFlags::empty()) {
            Ok(process) => Ok(Box::new(crate::ready::ring(process, bell)?)),
            Err(rustix::io::Errno::SRCH) => {
                bell.ring();
                Ok(Box::new(()))
            }
            Err(error) => Err(doing().because(error)),
        }
    }
}

/// What is to be started.
enum Target {
    Entry(Entry),
    Program(PathBuf),
}

/// How it is started.
struct Plan {
    program: PathBuf,
    /// The arguments, the program's own name first.
    command: Vec<String>,
    name: String,
    id: Option<String>,
    folder: Option<PathBuf>,
}

/// Terminals for entries that want one, with the option after which the command follows. Debian's
/// alternative is the person's choice, so it goes first.
const TERMINALS: [(&str, &str); 9] = [
    ("x-terminal-emulator", "-e"),
    ("xdg-terminal-exec", "--"),
    ("gnome-terminal", "--"),
    ("konsole", "-e"),
    ("xfce4-terminal", "-x"),
    ("alacritty", "-e"),
    ("kitty", "--"),
    ("foot", "--"),
    ("xterm", "-e"),
];

/// A session of its own keeps the program apart from our terminal and its signals, and makes its family
/// known by one number.
pub(crate) fn in_own_session(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed: setsid is one, and nothing
    // is allocated or locked here.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
}

/// Waits for the child on a thread of its own, so that it never stays a zombie; its status is left where
/// the caller looks.
fn reap(mut child: Child) -> Arc<Mutex<Option<ExitStatus>>> {
    let ended = Arc::new(Mutex::new(None));
    let note = ended.clone();
    let watch = std::thread::Builder::new().name("reaper".to_owned()).stack_size(64 * 1024);
    // Without a thread the child runs all the same, and is reaped when Deskhand ends.
    drop(watch.spawn(move || {
        if let Ok(status) = child.wait() {
            *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
        }
    }));
    ended
}

fn failed_at_once(plan: &Plan, status: ExitStatus) -> Error {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit status {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "without saying how".to_owned(),
    };
    Error::backend(format!("{:?} was started and ended at once {how}.", plan.name))
        .expected("a program that keeps running, or ends with status 0")
        .found([plan.command.join(" ")])
        .remedy("Start it in a terminal to see what it says; its arguments may be wrong.")
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The one that matches, if one does; `ambiguous_target` when several do.
fn sole<'e>(wanted: &str, matching: impl Iterator<Item = &'e Entry>) -> Result<Option<&'e Entry>> {
    let matching: Vec<&Entry> = matching.collect();
    if matching.len() < 2 {
        return Ok(matching.first().copied());
    }
    Err(Error::new(Code::AmbiguousTarget, format!("{} applications match {wanted:?}.", matching.len()))
        .expected("the name or id of one application")
        .found(matching.iter().map(|entry| format!("{} ({})", entry.name, entry.id)))
        .remedy("Pass the id that stands in parentheses."))
}

/// The installed names that are like `wanted`, the likest first.
fn near(wanted: &str, entries: &[Entry]) -> Vec<String> {
    let likeness = |entry: &Entry| {
        let own = [entry.name.as_str(), entry.plain_name.as_str(), entry.id.as_str()];
        let last = entry.id.rsplit('.').next();
        own.into_iter()
            .chain(last)
            .chain(entry.program_name())
            .map(|name| {
                let name = name.to_lowercase();
                let part = name.contains(wanted) || (2 < name.len() && wanted.contains(&name));
                if part { 1.0 } else { strsim::jaro_winkler(&name, wanted) }
            })
            .fold(0.0, f64::max)
    };
    let mut ranked: Vec<(f64, &Entry)> = entries
        .iter()
        .filter(|entry| !entry.unlisted)
        .map(|entry| (likeness(entry), entry))
        .filter(|(likeness, _)| 0.8 <= *likeness)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().take(5).map(|(_, entry)| format!("{} ({})", entry.name, entry.id)).collect()
}

/// The entry whose windows are of this class.
fn by_class<'e>(entries: &'e [Entry], class: &str) -> Option<&'e Entry> {
    if class.is_empty() {
        return None;
    }
    let is = |text: &str| text.eq_ignore_ascii_case(class);
    let declared = |entry: &&Entry| entry.window_class.as_deref().is_some_and(is);
    let named = |entry: &&Entry| is(&entry.id) || entry.id.rsplit('.').next().is_some_and(is);
    best(entries, declared).or_else(|| best(entries, named))
}

/// The entry that starts the program which this process runs.
fn by_process<'e>(entries: &'e [Entry], process: &Process) -> Option<&'e Entry> {
    let command = process.command();
    let executable = process.executable();
    let mut names: Vec<&str> = command.first().map(|first| base_name(first)).into_iter().collect();
    names.extend(executable.as_ref().and_then(|path| path.file_name()?.to_str()));
    if names.iter().any(|name| policy::is_interpreter(name)) {
        // The program is the script, not what runs it.
        names = command.get(1).map(|script| base_name(script)).into_iter().collect();
    }
    let starts = |entry: &&Entry| {
        entry.program_name().is_some_and(|name| names.contains(&name) && !policy::is_interpreter(name))
    };
    best(entries, starts)
}

/// Entries in the menu go before the others, those without arguments of their own before those with.
fn best(entries: &[Entry], matches: impl Fn(&&Entry) -> bool) -> Option<&Entry> {
    entries.iter().filter(matches).min_by_key(|entry| (entry.unlisted, !entry.is_plain()))
}

fn describe(process: &Process, entry: Option<&Entry>) -> Running {
    let own = process.full_name();
    Running {
        name: entry.map_or_else(|| own.clone(), |entry| entry.name.clone()),
        id: entry.map(|entry| entry.id.clone()),
        pid: process.pid,
        process: own,
        windows: 0,
        active: false,
    }
}

fn ancestors<'p>(processes: &'p HashMap<u32, Process>, process: &Process) -> impl Iterator<Item = u32> + 'p {
    let first = processes.get(&process.parent);
    std::iter::successors(first, |process| processes.get(&process.parent)).map(|process| process.pid).take(64)
}

/// Whether both name the same display; the number of the screen does not matter.
fn same_display(one: Option<&str>, other: Option<&str>) -> bool {
    let plain = |name: &str| {
        let (host, number) = name.rsplit_once(':')?;
        Some((host.to_owned(), number.split('.').next()?.to_owned()))
    };
    match (one.and_then(plain), other.and_then(plain)) {
        (Some(one), Some(other)) => one == other,
        (_, _) => false,
    }
}
