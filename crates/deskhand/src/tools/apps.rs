//! Applications: what runs, starting, activating, quitting.

use super::evidence::Acted;
use super::page::page;
use super::windows::{self, WindowInfo};
use super::{keyboard, target};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::app::{Launch, Running};
use deskhand_core::window::Window;
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<ListRunningApps>(),
    Row::of::<LaunchApp>(),
    Row::of::<ActivateApp>(),
    Row::of::<QuitApp>(),
    Row::of::<OpenApplication>(),
    Row::of::<ListApplications>(),
    Row::of::<GetApplication>(),
    Row::of::<DeleteApplication>(),
];

/// A running application as it is shown to callers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApplicationInfo {
    /// Its name.
    pub name: String,
    /// Its resource name.
    pub resource: String,
    /// Its desktop entry or bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its process.
    pub pid: u32,
    /// How many windows it has.
    pub windows: u32,
    /// Whether one of them has the keyboard.
    pub active: bool,
}

impl From<Running> for ApplicationInfo {
    fn from(app: Running) -> ApplicationInfo {
        ApplicationInfo {
            resource: format!("applications/{}", app.pid),
            name: app.name,
            id: app.id,
            pid: app.pid,
            windows: app.windows,
            active: app.active,
        }
    }
}

/// Applications.
#[derive(Serialize, JsonSchema)]
pub struct ApplicationList {
    /// The applications.
    pub applications: Vec<ApplicationInfo>,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

/// List the running applications: those that have a window or a desktop entry.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListRunningApps {
    /// How many at the most.
    pub page_size: Option<Ranged<1, 1000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

impl Tool for ListRunningApps {
    const NAME: &'static str = "list_running_apps";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::Applications;
    type Output = Data<ApplicationList>;

    fn call(self, cx: &Context) -> Result<Data<ApplicationList>> {
        list(cx.desktop.apps.running(&cx.call)?, self.page_size, self.page_token.as_deref())
    }
}

fn list(
    running: Vec<Running>,
    size: Option<Ranged<1, 1000>>,
    token: Option<&str>,
) -> Result<Data<ApplicationList>> {
    let (running, next_page_token) = page(running, size.map(Ranged::get), token)?;
    Ok(Data(ApplicationList { applications: running.into_iter().map(Into::into).collect(), next_page_token }))
}

/// Start an application and wait for its first window. Nothing is interpreted by a shell.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaunchApp {
    /// A name (Calculator), a desktop entry's id, or an executable.
    pub application: String,
    /// Its arguments, files to open say.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The folder to start it in.
    #[serde(default)]
    pub working_directory: Option<String>,
    /// Variables to add to its environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// How long to wait for its window; 10 s by default.
    #[serde(default)]
    pub wait_ms: Option<Ranged<0, 120_000>>,
}

/// What was started.
#[derive(Serialize, JsonSchema)]
pub struct LaunchedInfo {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// Its name.
    pub name: String,
    /// Its desktop entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its process.
    pub pid: u32,
    /// Its first window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowInfo>,
}

impl Tool for LaunchApp {
    const NAME: &'static str = "launch_app";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = &[
        Code::ApplicationNotFound,
        Code::AmbiguousTarget,
        Code::PathNotFound,
        Code::PermissionDenied,
        Code::SecureDesktopActive,
        Code::Busy,
        Code::SessionNotFound,
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("executable", "application"),
        ("args", "arguments"),
        ("name", "application"),
        ("bundle_id", "application"),
    ];
    const SESSION: bool = true;
    const GROUP: Group = Group::Applications;
    type Output = Data<LaunchedInfo>;

    fn patience(&self) -> Duration {
        self.wait_ms.map_or(Duration::from_secs(10), Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<LaunchedInfo>> {
        if let Some(folder) = &self.working_directory
            && !std::path::Path::new(folder).is_dir()
        {
            return Err(Error::new(
                Code::PathNotFound,
                format!("There is no folder {folder:?} to start in."),
            ));
        }
        let before: Vec<Window> = cx.desktop.windows.list(&cx.call)?;
        let launched = cx.desktop.apps.launch(
            &cx.call,
            &Launch {
                application: self.application.clone(),
                arguments: self.arguments,
                working_directory: self.working_directory.map(PathBuf::from),
                environment: self.environment.into_iter().collect(),
                allow_interpreters: cx.server.config.policy.allows_shell(),
            },
        )?;
        track(cx, launched.pid);
        let wait = self.wait_ms.map_or(Duration::from_secs(10), Ranged::milliseconds);
        let window = cx.aside(|| {
            first_window(cx, launched.pid, &launched.name, launched.id.as_deref(), &before, wait)
        })?;
        let acted = match &window {
            Some(window) => Acted::confirmed(format!("the window {} opened", target::line(window))),
            None if wait.is_zero() => Acted::unverified("wait_ms is 0, so no window was waited for."),
            None if cx.desktop.apps.alive(launched.pid) => {
                Acted::unverified(format!("It runs, and opened no window within {} ms.", wait.as_millis()))
            }
            None => Acted::no_change(
                "Its process has ended without a window. It may have handed over to a running instance: see list_windows.",
            ),
        };
        // What was started may only be a starter, or may have handed over to an instance that ran already:
        // the application is the process with the window.
        let pid = window.as_ref().and_then(|window| window.pid).unwrap_or(launched.pid);
        track(cx, pid);
        Ok(Data(LaunchedInfo {
            acted,
            name: launched.name,
            id: launched.id,
            pid,
            window: window.map(|window| WindowInfo::of(cx, &window)),
        }))
    }
}

/// Waits for a window that was not there before and belongs to what was started: to its processes, or,
/// when a launcher handed over to a running instance, to its class.
fn first_window(
    cx: &Context,
    pid: u32,
    name: &str,
    id: Option<&str>,
    before: &[Window],
    wait: Duration,
) -> Result<Option<Window>> {
    let last = id.and_then(|id| id.rsplit('.').next()).unwrap_or(name).to_lowercase();
    let name = name.to_lowercase();
    cx.call.until_within(wait, "waiting for the first window", || {
        let now = cx.desktop.windows.list(&cx.call)?;
        let mut fresh =
            now.into_iter().filter(|window| !before.iter().any(|old| old.id == window.id)).peekable();
        if fresh.peek().is_none() {
            return Ok(None);
        }
        let family = cx.desktop.apps.family(&cx.call, pid).unwrap_or_default();
        Ok(fresh.find(|window| {
            let class = window.application.to_lowercase();
            window.pid.is_some_and(|owner| owner == pid || family.contains(&owner))
                || class == name
                || class.contains(&last)
                || (!class.is_empty() && last.contains(&class))
        }))
    })
}

/// Remembers an application that was opened or attached through Deskhand.
fn track(cx: &Context, pid: u32) {
    cx.session.track(pid);
}

/// Bring an application to the front.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivateApp {
    /// Its name, desktop entry's id or pid.
    pub application: String,
}

impl Tool for ActivateApp {
    const NAME: &'static str = "activate_app";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] =
        &[Code::ApplicationNotFound, Code::WindowNotFound, Code::SecureDesktopActive, Code::Busy];
    const GROUP: Group = Group::Applications;
    type Output = Data<windows::WindowActed>;

    fn call(self, cx: &Context) -> Result<Data<windows::WindowActed>> {
        let window = keyboard::window_of_application(cx, &self.application)?;
        cx.call(windows::FocusWindow { window: window.id.to_string() })
    }
}

/// Quit an application as a person would: its windows are asked to close, and it may ask back. With force
/// its process is ended at once and unsaved work is lost.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuitApp {
    /// Its name, desktop entry's id or pid.
    pub application: String,
    /// End its process without asking.
    #[serde(default)]
    pub force: bool,
}

impl Tool for QuitApp {
    const NAME: &'static str = "quit_app";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = &[
        Code::ApplicationNotFound,
        Code::AmbiguousTarget,
        Code::PermissionDenied,
        Code::SecureDesktopActive,
        Code::Busy,
    ];
    const GROUP: Group = Group::Applications;
    type Output = Data<Acted>;

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let app = target::application(cx, &self.application)?;
        let before = cx.desktop.windows.list(&cx.call)?;
        let own: Vec<&Window> = before.iter().filter(|window| window.pid == Some(app.pid)).collect();
        if self.force || own.is_empty() {
            cx.desktop.apps.terminate(&cx.call, app.pid, self.force)?;
        } else {
            for window in &own {
                match cx.desktop.windows.close(&cx.call, window.id) {
                    Ok(()) => {}
                    Err(error) if error.code == Code::WindowNotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let patience = Duration::from_secs(3);
        enum Came {
            Gone,
            Windowless,
            Asks(String),
        }
        let came = cx.aside(|| {
            cx.call.until_within(patience, "waiting for the application to quit", || {
                if !cx.desktop.apps.alive(app.pid) {
                    return Ok(Some(Came::Gone));
                }
                let now = cx.desktop.windows.list(&cx.call)?;
                let mut left = now.iter().filter(|window| window.pid == Some(app.pid));
                if let Some(asks) = left.clone().find(|window| !before.iter().any(|old| old.id == window.id))
                {
                    return Ok(Some(Came::Asks(target::line(asks))));
                }
                Ok((left.next().is_none() && !own.is_empty()).then_some(Came::Windowless))
            })
        })?;
        // Some linger for a moment after their last window, some stay in the tray on purpose.
        let gone = match came {
            Some(Came::Windowless) => cx
                .aside(|| {
                    cx.call.until_within(
                        Duration::from_millis(1500),
                        "waiting for the process to end",
                        || Ok((!cx.desktop.apps.alive(app.pid)).then_some(())),
                    )
                })?
                .is_some(),
            Some(Came::Gone) => true,
            Some(Came::Asks(_)) | None => false,
        };
        let acted = match came {
            _ if gone => Acted::confirmed(format!("the process {} ({}) has ended", app.pid, app.name)),
            Some(Came::Asks(window)) => Acted::no_change(format!(
                "{} is still running and probably asks something: {window}.",
                app.name
            )),
            Some(Came::Windowless | Came::Gone) => Acted {
                reason: Some("Its process goes on in the background, as some applications do.".into()),
                ..Acted::confirmed("all its windows are closed")
            },
            None => Acted::no_change(format!(
                "{} is still running {} ms after it was asked to quit; force: true would end it.",
                app.name,
                patience.as_millis()
            )),
        };
        Ok(Data(acted))
    }
}

/// Open an application, or bring it to the front if it runs already.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenApplication {
    /// Its name, desktop entry's id, or executable.
    pub application: String,
}

impl Tool for OpenApplication {
    const NAME: &'static str = "open_application";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = &[
        Code::ApplicationNotFound,
        Code::AmbiguousTarget,
        Code::PermissionDenied,
        Code::SecureDesktopActive,
        Code::Busy,
        Code::SessionNotFound,
    ];
    const SESSION: bool = true;
    const GROUP: Group = Group::Applications;
    type Output = Data<LaunchedInfo>;

    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn call(self, cx: &Context) -> Result<Data<LaunchedInfo>> {
        let running = match target::applications(cx, &self.application) {
            Ok(running) => running.into_iter().find(|app| 0 < app.windows),
            Err(error) if error.code == Code::ApplicationNotFound => None,
            Err(error) => return Err(error),
        };
        let Some(app) = running else {
            return cx.call(LaunchApp {
                application: self.application,
                arguments: Vec::new(),
                working_directory: None,
                environment: BTreeMap::new(),
                wait_ms: None,
            });
        };
        track(cx, app.pid);
        let Data(acted) = cx.call(ActivateApp { application: app.pid.to_string() })?;
        Ok(Data(LaunchedInfo {
            acted: acted.acted,
            name: app.name,
            id: app.id,
            pid: app.pid,
            window: acted.window,
        }))
    }
}

/// List the applications that were opened through Deskhand in this session. list_running_apps lists all.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListApplications {
    /// How many at the most.
    pub page_size: Option<Ranged<1, 1000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

impl Tool for ListApplications {
    const NAME: &'static str = "list_applications";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::SessionNotFound];
    const SESSION: bool = true;
    const GROUP: Group = Group::Applications;
    type Output = Data<ApplicationList>;

    fn call(self, cx: &Context) -> Result<Data<ApplicationList>> {
        let tracked = {
            let mut state = cx.session.state();
            state.applications.retain(|pid| cx.desktop.apps.alive(*pid));
            state.applications.clone()
        };
        let mut running = cx.desktop.apps.running(&cx.call)?;
        running.retain(|app| tracked.contains(&app.pid));
        list(running, self.page_size, self.page_token.as_deref())
    }
}

/// Show one running application.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetApplication {
    /// Its name, desktop entry's id, pid or resource name.
    pub application: String,
}

impl Tool for GetApplication {
    const NAME: &'static str = "get_application";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::ApplicationNotFound, Code::AmbiguousTarget];
    const GROUP: Group = Group::Applications;
    type Output = Data<ApplicationInfo>;

    fn call(self, cx: &Context) -> Result<Data<ApplicationInfo>> {
        Ok(Data(target::application(cx, &self.application)?.into()))
    }
}

/// Stop tracking an application that was opened through Deskhand. It goes on running; quit_app quits it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteApplication {
    /// Its name, pid or resource name.
    pub application: String,
}

impl Tool for DeleteApplication {
    const NAME: &'static str = "delete_application";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] =
        &[Code::ApplicationNotFound, Code::SecureDesktopActive, Code::Busy, Code::SessionNotFound];
    const SESSION: bool = true;
    const GROUP: Group = Group::Applications;
    type Output = Data<Acted>;

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let named = target::applications(cx, &self.application).unwrap_or_default();
        let mut state = cx.session.state();
        let tracked = &mut state.applications;
        let before = tracked.len();
        let number = self.application.trim_start_matches("applications/").parse().ok();
        tracked.retain(|pid| !named.iter().any(|app| app.pid == *pid) && Some(*pid) != number);
        if tracked.len() == before {
            return Err(Error::new(
                Code::ApplicationNotFound,
                format!("No application {:?} is tracked.", self.application),
            )
            .expected("one that list_applications lists")
            .found(tracked.iter().map(|pid| format!("applications/{pid}"))));
        }
        Ok(Data(Acted::confirmed(format!("{} application(s) tracked, {before} before", tracked.len()))))
    }
}
