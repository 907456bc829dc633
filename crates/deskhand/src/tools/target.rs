//! From what a caller names to what is there: windows, applications, displays, points.
//!
//! Several matches where one is needed are an error with the candidates; none is an error with what is
//! there. Nothing is guessed.

use crate::call::Context;
use deskhand_core::app::Running;
use deskhand_core::geometry::{display_at, require_on_screen};
use deskhand_core::window::{Window, WindowId};
use deskhand_core::{Code, Display, Error, Frame, Point, Result};

/// A point in one of the frames, as a tool's parameters give it.
#[derive(Clone, Copy, Debug, Default)]
pub struct At<'a> {
    /// Across.
    pub x: Option<f64>,
    /// Down.
    pub y: Option<f64>,
    /// Relative to this display.
    pub display: Option<&'a str>,
    /// Relative to this window.
    pub window: Option<&'a str>,
    /// Pixels of this screenshot.
    pub image: Option<&'a str>,
}

impl At<'_> {
    /// The screen pixel, if a point was given; refused when no display shows it, or when what the
    /// picture showed there is no longer there.
    pub fn resolve(&self, cx: &Context) -> Result<Option<Point>> {
        let (x, y) = match (self.x, self.y) {
            (Some(x), Some(y)) => (x, y),
            (None, None) => {
                // Somebody who names a frame means a point in it, not wherever the pointer happens to be.
                let frames = [("display", self.display), ("window", self.window), ("image", self.image)];
                return match frames.into_iter().find(|(_, given)| given.is_some()) {
                    None => Ok(None),
                    Some((frame, _)) => Err(Error::new(
                        Code::MissingRequiredParameter,
                        format!("x and y are missing: {frame} says only what they are relative to."),
                    )),
                };
            }
            (given, _) => {
                let (there, missing) = if given.is_some() { ("x", "y") } else { ("y", "x") };
                return Err(Error::new(
                    Code::MissingRequiredParameter,
                    format!("{missing} is missing: a point needs both x and y, and only {there} was given."),
                ));
            }
        };
        let point = match (self.display, self.window, self.image) {
            (None, None, None) => global(x, y)?,
            (Some(name), None, None) => {
                let display = display(cx, name)?;
                Frame::unscaled(format!("display {}", display.index), display.bounds).to_screen(x, y)?
            }
            (None, Some(name), None) => {
                let window = shown(window(cx, name)?)?;
                Frame::unscaled(format!("window {}", window.id), window.bounds).to_screen(x, y)?
            }
            (None, None, Some(name)) => from_picture(cx, name, x, y)?,
            _ => {
                return Err(Error::new(
                    Code::InvalidCoordinates,
                    "Only one of display, window and image can say what x and y are relative to.",
                ));
            }
        };
        require_on_screen(&cx.desktop.screen.displays(&cx.call)?, point)?;
        Ok(Some(point))
    }
}

fn global(x: f64, y: f64) -> Result<Point> {
    let limit = f64::from(i32::MAX);
    if !(x.is_finite() && y.is_finite()) || limit < x.abs() || limit < y.abs() {
        return Err(Error::new(Code::InvalidCoordinates, format!("({x}, {y}) is no point on a screen.")));
    }
    Ok(Point::new(x.trunc() as i32, y.trunc() as i32))
}

/// A point of a screenshot, refused when another window lies there now or the window has moved.
fn from_picture(cx: &Context, name: &str, x: f64, y: f64) -> Result<Point> {
    let image = cx.server.images.get(name)?;
    let point = image.frame.to_screen(x, y)?;
    let then = image.windows.iter().find(|(_, bounds)| bounds.contains(point));
    let now = cx.desktop.windows.at(&cx.call, point).ok().flatten();
    let changed = |message: String| {
        Err(Error::new(Code::TargetChanged, message)
            .remedy("Take a new screenshot and use coordinates from that one."))
    };
    match (then, now) {
        (Some((id, _)), Some(now)) if *id != now.id => {
            changed(format!("Another window, {:?}, lies at {point} since {name} was taken.", now.title))
        }
        (Some((_, bounds)), Some(now)) if *bounds != now.bounds => {
            changed(format!("The window {:?} at {point} has moved since {name} was taken.", now.title))
        }
        (Some(_), None) => changed(format!("The window at {point} has gone since {name} was taken.")),
        (None, Some(now)) => {
            changed(format!("A window, {:?}, lies at {point} since {name} was taken.", now.title))
        }
        _ => Ok(point),
    }
}

/// The display of an index, an id, a name or a resource name (`displays/0`).
pub fn display(cx: &Context, name: &str) -> Result<Display> {
    let displays = cx.desktop.screen.displays(&cx.call)?;
    let wanted = name.trim();
    let wanted = wanted.strip_prefix("displays/").unwrap_or(wanted);
    let found = displays
        .iter()
        .find(|display| display.index.to_string() == wanted)
        .or_else(|| displays.iter().find(|display| display.id == wanted))
        .or_else(|| displays.iter().find(|display| display.name.eq_ignore_ascii_case(wanted)))
        .or_else(|| displays.iter().find(|display| display.primary && matches!(wanted, "main" | "primary")));
    found.cloned().ok_or_else(|| {
        Error::new(Code::DisplayNotFound, format!("There is no display {name:?}."))
            .expected("an index or a name")
            .found(
                displays
                    .iter()
                    .map(|display| format!("{}: {} ({})", display.index, display.name, display.bounds)),
            )
    })
}

/// The display that shows a point.
pub fn display_of_point(cx: &Context, point: Point) -> Result<Option<u32>> {
    let displays = cx.desktop.screen.displays(&cx.call)?;
    Ok(display_at(&displays, point).map(|display| display.index))
}

/// The one window that a name stands for: an id, a resource name, an exact title, a unique part of a
/// title, or an application with one window.
pub fn window(cx: &Context, name: &str) -> Result<Window> {
    let windows = cx.desktop.windows.list(&cx.call)?;
    one_window(&windows, name)
}

/// The same within a list.
pub fn one_window(windows: &[Window], name: &str) -> Result<Window> {
    let wanted = name.trim();
    if let Some(id) = window_id(wanted) {
        return windows
            .iter()
            .find(|window| window.id == id)
            .cloned()
            .ok_or_else(|| no_window(windows, name));
    }
    let lower = wanted.to_lowercase();
    let matching =
        |test: &dyn Fn(&Window) -> bool| windows.iter().filter(|window| test(window)).collect::<Vec<_>>();
    let tests: [&dyn Fn(&Window) -> bool; 4] = [
        &|window| window.title == wanted,
        &|window| window.title.to_lowercase() == lower,
        &|window| !lower.is_empty() && window.title.to_lowercase().contains(&lower),
        &|window| window.application.to_lowercase() == lower,
    ];
    for test in tests {
        match matching(test)[..] {
            [] => {}
            [only] => return Ok(only.clone()),
            ref several => {
                return Err(Error::new(
                    Code::AmbiguousTarget,
                    format!("{} windows match {name:?}; one is needed.", several.len()),
                )
                .found(several.iter().map(|window| line(window)))
                .remedy("Pass the id of the one you mean."));
            }
        }
    }
    Err(no_window(windows, name))
}

/// `7`, `windows/7`, `applications/12/windows/7` or hexadecimal as X tools print it.
fn window_id(name: &str) -> Option<WindowId> {
    let last = name.rsplit_once("windows/").map_or(name, |(_, last)| last);
    let number = match last.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => last.parse().ok(),
    };
    number.map(WindowId)
}

fn no_window(windows: &[Window], name: &str) -> Error {
    Error::new(Code::WindowNotFound, format!("No window matches {name:?}."))
        .expected("a window's id, exact title or unique part of a title")
        .found(windows.iter().map(line))
}

/// A window in one line, for messages.
pub fn line(window: &Window) -> String {
    format!("{} {:?} of {}", window.id, window.title, window.application)
}

/// Refuses a minimized window for what needs it on the screen.
pub fn shown(window: Window) -> Result<Window> {
    use deskhand_core::window::WindowState;
    match window.state {
        WindowState::Minimized => {
            Err(Error::new(Code::WindowMinimized, format!("The window {:?} is minimized.", window.title))
                .remedy("Restore it first: focus_window, or set_window with state normal."))
        }
        WindowState::Normal | WindowState::Maximized | WindowState::Fullscreen | WindowState::Hidden => {
            Ok(window)
        }
    }
}

/// Refuses a window whose process may do what ours may not, before any input is made there: input would be a
/// way round the system's own borders.
pub fn require_not_elevated(window: Option<&Window>) -> Result<()> {
    let Some(window) = window.filter(|window| window.elevated) else { return Ok(()) };
    let process = window.pid.map_or(String::new(), |pid| format!(" (process {pid})"));
    Err(Error::new(
        Code::ElevatedProcessTarget,
        format!(
            "The window {:?} there belongs to another user or to an administrator{process}; no input was made.",
            window.title
        ),
    )
    .remedy("Let the person at the desktop do it, or act on another window."))
}

/// The running applications that a name stands for: a pid, a resource name, an id or a name. Never empty.
pub fn applications(cx: &Context, name: &str) -> Result<Vec<Running>> {
    let running = cx.desktop.apps.running(&cx.call)?;
    let wanted = name.trim();
    let wanted = wanted.strip_prefix("applications/").unwrap_or(wanted);
    let wanted = wanted.split_once('/').map_or(wanted, |(first, _)| first);
    let lower = wanted.to_lowercase();
    let lower = lower.strip_suffix(".desktop").unwrap_or(&lower);
    let tests: [&dyn Fn(&Running) -> bool; 5] = [
        &|app| app.pid.to_string() == wanted,
        &|app| app.name.to_lowercase() == lower,
        &|app| app.id.as_ref().is_some_and(|id| id.to_lowercase() == lower),
        &|app| app.process.to_lowercase() == lower,
        &|app| !lower.is_empty() && app.name.to_lowercase().contains(lower),
    ];
    for test in tests {
        let matching: Vec<Running> = running.iter().filter(|app| test(app)).cloned().collect();
        if !matching.is_empty() {
            return Ok(matching);
        }
    }
    Err(Error::new(Code::ApplicationNotFound, format!("No running application matches {name:?}."))
        .expected("a name, a desktop entry's id or a pid of a running application")
        .found(running.iter().map(|app| format!("{} ({})", app.name, app.pid)))
        .remedy("Start it with launch_app."))
}

/// The one application that a name stands for.
pub fn application(cx: &Context, name: &str) -> Result<Running> {
    let mut matching = applications(cx, name)?;
    if 1 < matching.len() {
        return Err(Error::new(
            Code::AmbiguousTarget,
            format!("{} running applications match {name:?}; one is needed.", matching.len()),
        )
        .found(matching.iter().map(|app| format!("{} ({})", app.name, app.pid)))
        .remedy("Pass the pid of the one you mean."));
    }
    Ok(matching.remove(0))
}
