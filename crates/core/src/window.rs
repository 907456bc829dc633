//! Windows: what is open, where, and in what state.

use crate::call::Call;
use crate::error::Result;
use crate::geometry::{Point, Rect, Size};
use crate::watch::Bell;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// A window's number, as the system gives it. Below 2^53 on every platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct WindowId(pub u64);

impl std::fmt::Display for WindowId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How a window is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowState {
    /// At a size and place of its own.
    #[default]
    Normal,
    /// Iconified: not on the screen.
    Minimized,
    /// Over the whole work area.
    Maximized,
    /// Over the whole display, without decorations.
    Fullscreen,
    /// Not mapped, or on another workspace.
    Hidden,
}

/// A top-level window that a person would call one.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Its number.
    pub id: WindowId,
    /// Its title.
    pub title: String,
    /// The application's name: the window class where the system has one.
    pub application: String,
    /// The process that owns it, where known.
    pub pid: Option<u32>,
    /// Where it lies, with its decorations and without its shadow.
    pub bounds: Rect,
    /// Where its content lies, without decorations: the origin of window-relative coordinates of
    /// toolkits.
    pub content: Rect,
    /// How it is shown.
    pub state: WindowState,
    /// Whether it has the keyboard.
    pub focused: bool,
    /// Whether it is a dialog, a menu or another window of passing nature.
    pub transient: bool,
    /// Whether its process may do what ours may not: it is another user's, or runs as administrator. Input
    /// there would do it on our behalf.
    pub elevated: bool,
}

/// A window that shows, with what lies outside the list of windows too: menus, panels, tooltips.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The window.
    pub window: Window,
    /// The parts of the screen that it surely hides from what lies beneath it; less than its bounds where it has
    /// a shape or can be seen through.
    pub covers: Vec<Rect>,
}

/// Sees and arranges windows. A method that changes something returns as soon as the request is made:
/// the caller reads back what came of it.
pub trait Windows: Send + Sync {
    /// All windows, the topmost first.
    fn list(&self, call: &Call) -> Result<Vec<Window>>;

    /// Everything that shows, the topmost first; also menus and other windows outside the list.
    fn layers(&self, call: &Call) -> Result<Vec<Layer>>;

    /// The topmost window that shows at a point; also menus and other windows outside the list.
    fn at(&self, call: &Call, point: Point) -> Result<Option<Window>>;

    /// Asks for the keyboard focus and the front.
    fn focus(&self, call: &Call, id: WindowId) -> Result<()>;

    /// Asks for a place and a size, of the window with its decorations.
    fn place(&self, call: &Call, id: WindowId, origin: Option<Point>, size: Option<Size>) -> Result<()>;

    /// Asks for a state; `Normal` restores.
    fn set_state(&self, call: &Call, id: WindowId, state: WindowState) -> Result<()>;

    /// Asks it to close, as its close button does.
    fn close(&self, call: &Call, id: WindowId) -> Result<()>;

    /// Waits until the application has worked through everything that reached the window so far.
    /// `true` when it answered, `false` when it cannot be asked (no `_NET_WM_PING`, say); `timeout` when
    /// it could be and did not answer within `patience`.
    fn settle(&self, call: &Call, id: WindowId, patience: Duration) -> Result<bool>;

    /// Watches the windows from now on: the bell rings when something about them may have changed.
    fn watch(&self, call: &Call, bell: &Bell) -> Result<Box<dyn WindowWatch>>;
}

/// Tells that windows have changed; what, [`Windows::list`] says.
pub trait WindowWatch: Send {
    /// Whether something may have changed since this was last asked. Does not wait for it. Fails when it
    /// cannot be known any more.
    fn changed(&mut self, call: &Call) -> Result<bool>;
}

/// Shared between the desktop and providers that need to know the windows.
impl<W: Windows + ?Sized> Windows for Arc<W> {
    fn list(&self, call: &Call) -> Result<Vec<Window>> {
        (**self).list(call)
    }
    fn layers(&self, call: &Call) -> Result<Vec<Layer>> {
        (**self).layers(call)
    }
    fn at(&self, call: &Call, point: Point) -> Result<Option<Window>> {
        (**self).at(call, point)
    }
    fn focus(&self, call: &Call, id: WindowId) -> Result<()> {
        (**self).focus(call, id)
    }
    fn place(&self, call: &Call, id: WindowId, origin: Option<Point>, size: Option<Size>) -> Result<()> {
        (**self).place(call, id, origin, size)
    }
    fn set_state(&self, call: &Call, id: WindowId, state: WindowState) -> Result<()> {
        (**self).set_state(call, id, state)
    }
    fn close(&self, call: &Call, id: WindowId) -> Result<()> {
        (**self).close(call, id)
    }
    fn settle(&self, call: &Call, id: WindowId, patience: Duration) -> Result<bool> {
        (**self).settle(call, id, patience)
    }
    fn watch(&self, call: &Call, bell: &Bell) -> Result<Box<dyn WindowWatch>> {
        (**self).watch(call, bell)
    }
}

/// The stand-in where windows cannot be seen.
pub struct NoWindows(pub crate::desktop::Missing);

impl Windows for NoWindows {
    fn list(&self, _: &Call) -> Result<Vec<Window>> {
        Err(self.0.error())
    }
    fn layers(&self, _: &Call) -> Result<Vec<Layer>> {
        Err(self.0.error())
    }
    fn at(&self, _: &Call, _: Point) -> Result<Option<Window>> {
        Err(self.0.error())
    }
    fn focus(&self, _: &Call, _: WindowId) -> Result<()> {
        Err(self.0.error())
    }
    fn place(&self, _: &Call, _: WindowId, _: Option<Point>, _: Option<Size>) -> Result<()> {
        Err(self.0.error())
    }
    fn set_state(&self, _: &Call, _: WindowId, _: WindowState) -> Result<()> {
        Err(self.0.error())
    }
    fn close(&self, _: &Call, _: WindowId) -> Result<()> {
        Err(self.0.error())
    }
    fn settle(&self, _: &Call, _: WindowId, _: Duration) -> Result<bool> {
        Err(self.0.error())
    }
    fn watch(&self, _: &Call, _: &Bell) -> Result<Box<dyn WindowWatch>> {
        Err(self.0.error())
    }
}
