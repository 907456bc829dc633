//! The programs that a private desktop is made of, and what to install when one is missing.

use deskhand_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where the programs are.
#[derive(Debug, Serialize, Deserialize)]
pub struct Programs {
    /// The X server.
    pub xvfb: PathBuf,
    /// The message bus.
    pub dbus_daemon: PathBuf,
    /// The window manager, unless there should be none.
    pub window_manager: Option<PathBuf>,
}

/// A window manager, and the arguments with which it leaves session managers and compositing alone.
pub struct WindowManager {
    /// The program's name, which is also its package's on Debian.
    pub name: &'static str,
    /// Its arguments; `{folder}` is the folder of the desktop.
    pub arguments: &'static [&'static str],
}

/// The window managers that are known, best first: the first one that is installed is taken. The order is
/// by how much of EWMH they do and how fast they start. i3 ignores most requests for tiled windows and
/// comes last.
pub const WINDOW_MANAGERS: &[WindowManager] = &[
    WindowManager { name: "openbox", arguments: &["--sm-disable", "--config-file", "{folder}/openbox.xml"] },
    WindowManager { name: "xfwm4", arguments: &["--sm-client-disable", "--compositor=off"] },
    WindowManager { name: "metacity", arguments: &["--sm-disable", "--no-composite"] },
    WindowManager { name: "marco", arguments: &["--sm-disable", "--no-composite"] },
    WindowManager { name: "kwin_x11", arguments: &[] },
    WindowManager { name: "fluxbox", arguments: &[] },
    WindowManager { name: "icewm", arguments: &[] },
    WindowManager { name: "i3", arguments: &["-c", "{folder}/i3.conf"] },
];

/// The description by which the bus starts the accessibility services.
const ACCESSIBILITY: &str = "dbus-1/services/org.a11y.Bus.service";

impl Programs {
    /// Finds everything, or names all that is missing at once.
    pub fn find(window_manager: Option<&str>) -> Result<Programs> {
        let mut missing = Missing::default();
        let xvfb = missing.unless(on_path("Xvfb"), "Xvfb", "xvfb");
        let dbus_daemon = missing.unless(on_path("dbus-daemon"), "dbus-daemon", "dbus");
        let window_manager = match window_manager {
            Some("none") => None,
            Some(name) => Some(missing.unless(on_path(name), name, name)),
            None => {
                let first = WINDOW_MANAGERS.iter().find_map(|manager| on_path(manager.name));
                Some(missing.unless(first, "a window manager", WINDOW_MANAGERS[0].name))
            }
        };
        let accessibility = session_data_folders().map(|folder| folder.join(ACCESSIBILITY));
        missing.unless(
            accessibility.into_iter().find(|file| file.is_file()),
            "the accessibility bus",
            "at-spi2-core",
        );
        missing.into_result()?;
        Ok(Programs { xvfb, dbus_daemon, window_manager })
    }
}

/// Where the bus looks for services.
fn session_data_folders() -> impl Iterator<Item = PathBuf> {
    let folders = std::env::var("XDG_DATA_DIRS").unwrap_or_default();
    let folders = std::env::split_paths(&folders).collect::<Vec<PathBuf>>();
    folders.into_iter().chain(["/usr/local/share".into(), "/usr/share".into()])
}

/// A program by its name on the PATH, or by its path.
fn on_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_executable(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[derive(Default)]
struct Missing {
    programs: Vec<String>,
    packages: Vec<String>,
}

impl Missing {
    fn unless(&mut self, found: Option<PathBuf>, program: &str, package: &str) -> PathBuf {
        if found.is_none() {
            self.programs.push(program.to_owned());
            self.packages.push(package.to_owned());
        }
        found.unwrap_or_default()
    }

    fn into_result(self) -> Result<()> {
        if self.programs.is_empty() {
            return Ok(());
        }
        Err(Error::backend(format!(
            "A private desktop needs programs that are not installed: {}.",
            self.programs.join(", ")
        ))
        .remedy(format!("On Debian and Ubuntu: apt-get install {}", self.packages.join(" "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_missing_is_named_with_one_line_to_install_it() {
        let mut missing = Missing::default();
        missing.unless(None, "Xvfb", "xvfb");
        missing.unless(Some("/usr/bin/dbus-daemon".into()), "dbus-daemon", "dbus");
        missing.unless(None, "the accessibility bus", "at-spi2-core");
        let error = missing.into_result().unwrap_err();
        assert!(error.message.contains("Xvfb, the accessibility bus"), "{error}");
        assert!(error.detail.remedy.unwrap().ends_with("apt-get install xvfb at-spi2-core"));
    }

    #[test]
    fn a_named_window_manager_that_is_not_there_is_refused() {
        let error = Programs::find(Some("no-such-manager")).unwrap_err();
        assert!(error.message.contains("no-such-manager"), "{error}");
    }
}
