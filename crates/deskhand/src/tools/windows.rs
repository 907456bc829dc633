//! Windows: what is open, and arranging it. Every change is read back.

use super::evidence::{Acted, Seen};
use super::page::page;
use super::target;
use super::{Alias, same};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::geometry::display_of;
use deskhand_core::window::{Window, WindowId, WindowState};
use deskhand_core::{Code, Error, Point, Rect, Result, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<ListWindows>(),
    Row::of::<GetWindow>(),
    Row::of::<FocusWindow>(),
    Row::of::<SetWindow>(),
    Row::of::<MoveWindow>(),
    Row::of::<ResizeWindow>(),
    Row::of::<MinimizeWindow>(),
    Row::of::<RestoreWindow>(),
    Row::of::<CloseWindow>(),
];

/// Other names.
pub static ALIASES: &[Alias] = &[same("activate_window", "focus_window")];

const WINDOW_ERRORS: &[Code] =
    &[Code::WindowNotFound, Code::AmbiguousTarget, Code::SecureDesktopActive, Code::Busy];

/// A window as it is shown to callers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WindowInfo {
    /// Pass this as `window`.
    pub id: u64,
    /// Its resource name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its application.
    pub application: String,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Where it lies, with its decorations.
    pub bounds: Rect,
    /// How it is shown.
    pub state: WindowState,
    /// Whether it has the keyboard.
    pub focused: bool,
    /// The index of the display that shows the most of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display: Option<u32>,
}

impl WindowInfo {
    /// What callers are shown of windows.
    pub fn of_all(cx: &Context, windows: &[Window]) -> Vec<WindowInfo> {
        // A desktop that cannot tell its displays can still tell its windows.
        let displays = cx.desktop.screen.displays(&cx.call).unwrap_or_default();
        windows
            .iter()
            .map(|window| WindowInfo {
                id: window.id.0,
                name: match window.pid {
                    Some(pid) => format!("applications/{pid}/windows/{}", window.id),
                    None => format!("windows/{}", window.id),
                },
                title: window.title.clone(),
                application: window.application.clone(),
                pid: window.pid,
                bounds: window.bounds,
                state: window.state,
                focused: window.focused,
                display: display_of(&displays, &window.bounds).map(|display| display.index),
            })
            .collect()
    }

    /// What callers are shown of one window.
    pub fn of(cx: &Context, window: &Window) -> WindowInfo {
        WindowInfo::of_all(cx, std::slice::from_ref(window)).remove(0)
    }
}

/// List the open windows, topmost first.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListWindows {
    /// Only those of this application (name, id or pid).
    pub application: Option<String>,
    /// How many at the most.
    pub page_size: Option<Ranged<1, 1000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

/// Windows.
#[derive(Serialize, JsonSchema)]
pub struct WindowList {
    /// The windows, topmost first.
    pub windows: Vec<WindowInfo>,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

impl Tool for ListWindows {
    const NAME: &'static str = "list_windows";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::ApplicationNotFound];
    const GROUP: Group = Group::Windows;
    type Output = Data<WindowList>;

    fn call(self, cx: &Context) -> Result<Data<WindowList>> {
        let mut windows = cx.desktop.windows.list(&cx.call)?;
        if let Some(name) = &self.application {
            let of = of_application(cx, &windows, name)?;
            windows.retain(|window| of.contains(&window.id));
        }
        let (windows, next_page_token) =
            page(windows, self.page_size.map(Ranged::get), self.page_token.as_deref())?;
        Ok(Data(WindowList { windows: WindowInfo::of_all(cx, &windows), next_page_token }))
    }
}

/// The windows of an application, by its window class where that says it, else by its processes.
pub fn of_application(cx: &Context, windows: &[Window], name: &str) -> Result<Vec<WindowId>> {
    let lower = name.trim().to_lowercase();
    let by_class: Vec<WindowId> = windows
        .iter()
        .filter(|window| window.application.to_lowercase() == lower)
        .map(|window| window.id)
        .collect();
    if !by_class.is_empty() {
        return Ok(by_class);
    }
    let mut pids = Vec::new();
    for app in target::applications(cx, name)? {
        pids.push(app.pid);
        pids.extend(cx.desktop.apps.family(&cx.call, app.pid).unwrap_or_default());
    }
    Ok(windows
        .iter()
        .filter(|window| window.pid.is_some_and(|pid| pids.contains(&pid)))
        .map(|window| window.id)
        .collect())
}

/// Show one window.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetWindow {
    /// Its id, title or a unique part of it.
    pub window: String,
}

impl Tool for GetWindow {
    const NAME: &'static str = "get_window";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::WindowNotFound, Code::AmbiguousTarget];
    const GROUP: Group = Group::Windows;
    type Output = Data<WindowInfo>;

    fn call(self, cx: &Context) -> Result<Data<WindowInfo>> {
        Ok(Data(WindowInfo::of(cx, &target::window(cx, &self.window)?)))
    }
}

/// What was done to a window, and what it is like now.
#[derive(Serialize, JsonSchema)]
pub struct WindowActed {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// The window as it is now; absent when it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowInfo>,
}

/// Bring a window to the front and give it the keyboard; a minimized one is restored.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FocusWindow {
    /// Its id, title or a unique part of it.
    pub window: String,
}

impl Tool for FocusWindow {
    const NAME: &'static str = "focus_window";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = WINDOW_ERRORS;
    const GROUP: Group = Group::Windows;
    type Output = Data<WindowActed>;

    fn call(self, cx: &Context) -> Result<Data<WindowActed>> {
        let window = target::window(cx, &self.window)?;
        let acted = focus(cx, &window)?;
        answer(cx, window.id, acted)
    }
}

/// Gives a window the keyboard and waits until it has it.
pub fn focus(cx: &Context, window: &Window) -> Result<Acted> {
    let before = cx.desktop.windows.list(&cx.call)?;
    if before.iter().any(|other| other.id == window.id && other.focused) {
        return Ok(Acted::confirmed(format!("{:?} had the keyboard already", window.title)));
    }
    cx.desktop.windows.focus(&cx.call, window.id)?;
    let had = before
        .iter()
        .find(|other| other.focused)
        .map_or("nothing".to_owned(), |other| format!("{:?}", other.title));
    let has = cx.call.until_within(
        cx.server.config.window_patience,
        "waiting for the window to get the keyboard",
        || {
            let windows = cx.desktop.windows.list(&cx.call)?;
            Ok(windows.into_iter().find(|other| other.id == window.id && other.focused))
        },
    )?;
    Ok(match has {
        Some(now) => Acted::confirmed(format!("keyboard focus {had} → {:?}", now.title)),
        None => Acted::no_change(format!(
            "The window manager did not give {:?} the keyboard within {} ms; {had} has it still.",
            window.title,
            cx.server.config.window_patience.as_millis()
        )),
    })
}

/// What can be made of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrangement {
    /// At a size and place of its own: restores a minimized, maximized or fullscreen window.
    Normal,
    /// Iconified.
    Minimized,
    /// Over the work area.
    Maximized,
    /// Over the whole display.
    Fullscreen,
    /// Closed, as its close button does.
    Closed,
}

/// Arrange a window: move, resize, minimize, maximize, restore, fullscreen, close, or move it to another
/// display. Reports what the window manager made of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetWindow {
    /// Its id, title or a unique part of it.
    pub window: String,
    /// New left edge, global or relative to `display`.
    #[serde(default)]
    pub x: Option<f64>,
    /// New top edge.
    #[serde(default)]
    pub y: Option<f64>,
    /// New width with decorations.
    #[serde(default)]
    pub width: Option<Ranged<1, 65535>>,
    /// New height with decorations.
    #[serde(default)]
    pub height: Option<Ranged<1, 65535>>,
    /// normal restores; closed asks it to close.
    #[serde(default)]
    pub state: Option<Arrangement>,
    /// Move it to this display (index or name).
    #[serde(default)]
    pub display: Option<String>,
}

impl Tool for SetWindow {
    const NAME: &'static str = "set_window";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = &[
        Code::WindowNotFound,
        Code::AmbiguousTarget,
        Code::DisplayNotFound,
        Code::InvalidCoordinates,
        Code::SecureDesktopActive,
        Code::Busy,
    ];
    const GROUP: Group = Group::Windows;
    type Output = Data<WindowActed>;

    fn call(self, cx: &Context) -> Result<Data<WindowActed>> {
        let window = target::window(cx, &self.window)?;
        let origin = self.origin(cx, &window)?;
        let size = match (self.width, self.height) {
            (None, None) => None,
            (width, height) => Some(Size {
                width: width.map_or(window.bounds.width, |width| width.get() as u32),
                height: height.map_or(window.bounds.height, |height| height.get() as u32),
            }),
        };
        if origin.is_none() && size.is_none() && self.state.is_none() {
            return Err(Error::new(Code::MissingRequiredParameter, "Nothing was asked of the window.")
                .expected("at least one of x and y, width, height, state, display"));
        }
        if self.state == Some(Arrangement::Closed) {
            if origin.is_some() || size.is_some() {
                return Err(Error::argument(
                    "A window that is closed has no place or size: pass state closed alone.",
                ));
            }
            return close(cx, &window);
        }
        let mut acted = Vec::new();
        // A maximized or minimized window has no place of its own: restore first, arrange then.
        let restores = self.state == Some(Arrangement::Normal);
        if restores {
            acted.push(set_state(cx, &window, WindowState::Normal)?);
            // What was maximized before it was minimized came back as that.
            if matches!(again(cx, window.id)?.state, WindowState::Maximized | WindowState::Fullscreen) {
                acted.push(set_state(cx, &window, WindowState::Normal)?);
            }
        }
        if origin.is_some() || size.is_some() {
            acted.push(place(cx, window.id, origin, size)?);
        }
        match self.state {
            Some(Arrangement::Minimized) => acted.push(set_state(cx, &window, WindowState::Minimized)?),
            Some(Arrangement::Maximized) => acted.push(set_state(cx, &window, WindowState::Maximized)?),
            Some(Arrangement::Fullscreen) => acted.push(set_state(cx, &window, WindowState::Fullscreen)?),
            Some(Arrangement::Normal | Arrangement::Closed) | None => {}
        }
        answer(cx, window.id, join(acted))
    }
}

impl SetWindow {
    fn origin(&self, cx: &Context, window: &Window) -> Result<Option<Point>> {
        let truncated = |value: Option<f64>, what: &str| match value {
            Some(value) if !value.is_finite() || 32_767.0 < value.abs() => Err(Error::new(
                Code::InvalidCoordinates,
                format!("{what} = {value} is no place for a window."),
            )),
            Some(value) => Ok(Some(value.trunc() as i32)),
            None => Ok(None),
        };
        let (x, y) = (truncated(self.x, "x")?, truncated(self.y, "y")?);
        let Some(name) = &self.display else {
            return Ok(match (x, y) {
                (None, None) => None,
                (x, y) => Some(Point::new(x.unwrap_or(window.bounds.x), y.unwrap_or(window.bounds.y))),
            });
        };
        let displays = cx.desktop.screen.displays(&cx.call)?;
        let display = target::display(cx, name)?;
        // Without a place it keeps the one it has, relative to its display.
        let from = display_of(&displays, &window.bounds).map_or(display.bounds, |from| from.bounds);
        let keep = |own: i32, from: i32, room: u32| (own - from).clamp(0, (room / 2) as i32);
        Ok(Some(Point::new(
            display.bounds.x + x.unwrap_or_else(|| keep(window.bounds.x, from.x, display.bounds.width)),
            display.bounds.y + y.unwrap_or_else(|| keep(window.bounds.y, from.y, display.bounds.height)),
        )))
    }
}

/// Several changes of one window as one report: the weakest counts.
fn join(all: Vec<Acted>) -> Acted {
    let worst = |seen: Seen| match seen {
        Seen::Confirmed => 0,
        Seen::Unverified => 1,
        Seen::NoChangeSeen => 2,
    };
    let texts = |of: fn(&Acted) -> Option<&String>| {
        let texts: Vec<&str> = all.iter().filter_map(of).map(String::as_str).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    };
    Acted {
        effect: all.iter().map(|acted| acted.effect).max_by_key(|seen| worst(*seen)).unwrap_or_default(),
        evidence: texts(|acted| acted.evidence.as_ref()),
        reason: texts(|acted| acted.reason.as_ref()),
        ..Acted::default()
    }
}

fn answer(cx: &Context, id: WindowId, acted: Acted) -> Result<Data<WindowActed>> {
    let now = cx.desktop.windows.list(&cx.call)?.into_iter().find(|window| window.id == id);
    Ok(Data(WindowActed { acted, window: now.map(|window| WindowInfo::of(cx, &window)) }))
}

/// Reads a window again; `window_not_found` when it has gone meanwhile.
fn again(cx: &Context, id: WindowId) -> Result<Window> {
    cx.desktop.windows.list(&cx.call)?.into_iter().find(|window| window.id == id).ok_or_else(|| {
        Error::new(Code::WindowNotFound, format!("The window {id} closed in the middle of it."))
    })
}

/// Asks for a place and a size and waits until the window has it, or has stopped changing.
fn place(cx: &Context, id: WindowId, origin: Option<Point>, size: Option<Size>) -> Result<Acted> {
    let before = again(cx, id)?.bounds;
    let wanted = Rect {
        x: origin.map_or(before.x, |origin| origin.x),
        y: origin.map_or(before.y, |origin| origin.y),
        width: size.map_or(before.width, |size| size.width),
        height: size.map_or(before.height, |size| size.height),
    };
    cx.desktop.windows.place(&cx.call, id, origin, size)?;
    let reached =
        cx.call.until_within(Duration::from_millis(500), "waiting for the window to be arranged", || {
            Ok((again(cx, id)?.bounds == wanted).then_some(()))
        })?;
    if reached.is_some() {
        return Ok(Acted::confirmed(format!("{before} → {wanted}")));
    }
    let after = again(cx, id)?.bounds;
    let reason = format!("{wanted} was asked for; the window manager or the application decided otherwise.");
    if after == before {
        return Ok(Acted::no_change(format!("The window stays {before}: {reason}")));
    }
    Ok(Acted { reason: Some(reason), ..Acted::confirmed(format!("{before} → {after}")) })
}

/// How long the size of a window follows its state.
const BOUNDS_PATIENCE: Duration = Duration::from_millis(300);

/// Asks for a state and waits until the window has it. A minimized window is restored to what it was before.
fn set_state(cx: &Context, window: &Window, wanted: WindowState) -> Result<Acted> {
    let (before, bounds) = {
        let window = again(cx, window.id)?;
        (window.state, window.bounds)
    };
    if before == wanted {
        return Ok(Acted::confirmed(format!("it was {} already", state_name(wanted))));
    }
    let restored = |now: WindowState| {
        let shown = matches!(now, WindowState::Maximized | WindowState::Fullscreen);
        before == WindowState::Minimized && wanted == WindowState::Normal && shown
    };
    cx.desktop.windows.set_state(&cx.call, window.id, wanted)?;
    let reached = cx.call.until_within(
        cx.server.config.window_patience,
        "waiting for the window to change its state",
        || {
            let now = again(cx, window.id)?.state;
            Ok((now == wanted || restored(now)).then_some(now))
        },
    )?;
    if reached.is_some() && before != WindowState::Minimized && wanted != WindowState::Minimized {
        // The state is told first. A window that was as large before has nothing to change.
        cx.call.until_within(BOUNDS_PATIENCE, "waiting for the window to change its size", || {
            Ok((again(cx, window.id)?.bounds != bounds).then_some(()))
        })?;
    }
    let now = again(cx, window.id)?.state;
    Ok(match reached {
        Some(reached) => Acted::confirmed(format!("{} → {}", state_name(before), state_name(reached))),
        None => Acted::no_change(format!(
            "The window is {} and not {}: the window manager does not do it for this window.",
            state_name(now),
            state_name(wanted)
        )),
    })
}

const fn state_name(state: WindowState) -> &'static str {
    match state {
        WindowState::Normal => "normal",
        WindowState::Minimized => "minimized",
        WindowState::Maximized => "maximized",
        WindowState::Fullscreen => "fullscreen",
        WindowState::Hidden => "hidden",
    }
}

fn close(cx: &Context, window: &Window) -> Result<Data<WindowActed>> {
    let before = cx.desktop.windows.list(&cx.call)?;
    cx.desktop.windows.close(&cx.call, window.id)?;
    enum Came {
        Gone,
        Asks(String),
    }
    let came =
        cx.call.until_within(cx.server.config.window_patience, "waiting for the window to close", || {
            let now = cx.desktop.windows.list(&cx.call)?;
            if !now.iter().any(|other| other.id == window.id) {
                return Ok(Some(Came::Gone));
            }
            let asks = now
                .iter()
                .find(|other| other.pid == window.pid && !before.iter().any(|known| known.id == other.id));
            Ok(asks.map(|asks| Came::Asks(target::line(asks))))
        })?;
    let acted = match came {
        Some(Came::Gone) => Acted::confirmed(format!("the window {:?} is gone", window.title)),
        Some(Came::Asks(line)) => Acted::no_change(format!(
            "The window is still open: its application opened another one, which probably asks something: {line}."
        )),
        None => Acted::no_change(
            "The window is still open: its application was asked to close it and has not done so.",
        ),
    };
    answer(cx, window.id, acted)
}

/// Move a window: its frame's top left corner, in global pixels.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveWindow {
    /// Its id, title or a unique part of it.
    pub window: String,
    /// New left edge.
    pub x: f64,
    /// New top edge.
    pub y: f64,
    /// x and y are relative to this display.
    #[serde(default)]
    pub display: Option<String>,
}

impl Tool for MoveWindow {
    const NAME: &'static str = "move_window";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = SetWindow::ERRORS;
    const GROUP: Group = Group::Windows;
    type Output = Data<WindowActed>;

    fn call(self, cx: &Context) -> Result<Data<WindowActed>> {
        cx.call(SetWindow {
            x: Some(self.x),
            y: Some(self.y),
            display: self.display,
            ..SetWindow::nothing(self.window)
        })
    }
}

/// Resize a window, decorations included.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResizeWindow {
    /// Its id, title or a unique part of it.
    pub window: String,
    /// New width.
    pub width: Ranged<1, 65535>,
    /// New height.
    pub height: Ranged<1, 65535>,
}

impl Tool for ResizeWindow {
    const NAME: &'static str = "resize_window";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = WINDOW_ERRORS;
    const GROUP: Group = Group::Windows;
    type Output = Data<WindowActed>;

    fn call(self, cx: &Context) -> Result<Data<WindowActed>> {
        cx.call(SetWindow {
            width: Some(self.width),
            height: Some(self.height),
            ..SetWindow::nothing(self.window)
        })
    }
}

impl SetWindow {
    /// A change of nothing yet.
    fn nothing(window: String) -> SetWindow {
        SetWindow { window, x: None, y: None, width: None, height: None, state: None, display: None }
    }
}

/// Restore a window: a minimized one to what it was before, a maximized or fullscreen one to its own size.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreWindow {
    /// Its id, title or a unique part of it.
    pub window: String,
}

impl Tool for RestoreWindow {
    const NAME: &'static str = "restore_window";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = WINDOW_ERRORS;
    const GROUP: Group = Group::Windows;
    type Output = Data<WindowActed>;

    fn call(self, cx: &Context) -> Result<Data<WindowActed>> {
        let window = target::window(cx, &self.window)?;
        answer(cx, window.id, set_state(cx, &window, WindowState::Normal)?)
    }
}

/// Tools that take a window and nothing else, each a state of [`SetWindow`].
macro_rules! state_tools {
    ($($(#[$doc:meta])* $type:ident $name:literal $state:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            /// Its id, title or a unique part of it.
            pub window: String,
        }

        impl Tool for $type {
            const NAME: &'static str = $name;
            const EFFECT: Effect = Effect::Change;
            const ERRORS: &'static [Code] = WINDOW_ERRORS;
            const GROUP: Group = Group::Windows;
            type Output = Data<WindowActed>;

            fn call(self, cx: &Context) -> Result<Data<WindowActed>> {
                cx.call(SetWindow { state: Some(Arrangement::$state), ..SetWindow::nothing(self.window) })
            }
        }
    )*};
}

state_tools! {
    /// Minimize a window.
    MinimizeWindow "minimize_window" Minimized;
    /// Close a window as its close button does. Unsaved work may make its application ask first: the
    /// reply says so.
    CloseWindow "close_window" Closed;
}
