//! Applications: what is installed, what runs, starting and quitting.

use crate::call::Call;
use crate::error::Result;
use crate::watch::Bell;
use std::path::PathBuf;

/// A program that is installed with an entry in the system's menu of applications.
#[derive(Clone, Debug, PartialEq)]
pub struct Installed {
    /// The desktop entry's id without `.desktop`, or the bundle id.
    pub id: String,
    /// The name that people see.
    pub name: String,
    /// The program that it starts, without arguments.
    pub executable: Option<String>,
    /// The window class that its windows declare, where the entry tells.
    pub window_class: Option<String>,
}

/// A running application.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// Its name: of its desktop entry, else of its process.
    pub name: String,
    /// The desktop entry or bundle, where one is known.
    pub id: Option<String>,
    /// The process.
    pub pid: u32,
    /// The process's own name.
    pub process: String,
    /// How many windows it has.
    pub windows: u32,
    /// Whether one of them has the keyboard.
    pub active: bool,
}

/// What to start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// A desktop entry's id or name, or an executable's name or path.
    pub application: String,
    /// Arguments after those of the entry. Never interpreted by a shell.
    pub arguments: Vec<String>,
    /// The folder to start in.
    pub working_directory: Option<PathBuf>,
    /// Variables to add to the environment.
    pub environment: Vec<(String, String)>,
    /// Whether executables without a desktop entry that are shells or interpreters may be started.
    pub allow_interpreters: bool,
}

/// What was started.
#[derive(Clone, Debug, PartialEq)]
pub struct Launched {
    /// The process that was started. A launcher may end and leave the work to another process.
    pub pid: u32,
    /// The name of the entry or executable.
    pub name: String,
    /// The desktop entry, if one was used.
    pub id: Option<String>,
}

/// Starts, lists and ends applications.
pub trait Apps: Send + Sync {
    /// What is installed.
    fn installed(&self, call: &Call) -> Result<Vec<Installed>>;

    /// What runs and has a window or a desktop entry.
    fn running(&self, call: &Call) -> Result<Vec<Running>>;

    /// Starts an application. `application_not_found` with near names when there is none.
    fn launch(&self, call: &Call, launch: &Launch) -> Result<Launched>;

    /// Whether the process is still there (a zombie is not).
    fn alive(&self, pid: u32) -> bool;

    /// The processes that descend from `pid`, itself first.
    fn family(&self, call: &Call, pid: u32) -> Result<Vec<u32>>;

    /// Asks the process to end, or ends it when `force` is set.
    fn terminate(&self, call: &Call, pid: u32, force: bool) -> Result<()>;

    /// Rings the bell when the process has ended, as long as what is returned is kept. Rings at once when it
    /// has ended already.
    fn watch_end(&self, pid: u32, bell: &Bell) -> Result<Box<dyn Send>>;
}

/// The stand-in where applications cannot be managed.
pub struct NoApps(pub crate::desktop::Missing);

impl Apps for NoApps {
    fn installed(&self, _: &Call) -> Result<Vec<Installed>> {
        Err(self.0.error())
    }
    fn running(&self, _: &Call) -> Result<Vec<Running>> {
        Err(self.0.error())
    }
    fn launch(&self, _: &Call, _: &Launch) -> Result<Launched> {
        Err(self.0.error())
    }
    fn alive(&self, _: u32) -> bool {
        false
    }
    fn family(&self, _: &Call, _: u32) -> Result<Vec<u32>> {
        Err(self.0.error())
    }
    fn terminate(&self, _: &Call, _: u32, _: bool) -> Result<()> {
        Err(self.0.error())
    }
    fn watch_end(&self, _: u32, _: &Bell) -> Result<Box<dyn Send>> {
        Err(self.0.error())
    }
}
