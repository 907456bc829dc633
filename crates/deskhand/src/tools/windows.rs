//! Windows.

use super::Alias;
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Row, Tool};
use deskhand_core::geometry::display_of;
use deskhand_core::window::{Window, WindowState};
use deskhand_core::{Code, Rect, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<ListWindows>()];

/// Other names.
pub static ALIASES: &[Alias] = &[];

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
    /// What a caller is shown of a window.
    pub fn of(cx: &Context, window: &Window) -> WindowInfo {
        let displays = cx.desktop.screen.displays(&cx.call).unwrap_or_default();
        WindowInfo {
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
        }
    }
}

/// List the open windows, topmost first.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListWindows {
    /// Only those of this application (name, id or pid).
    pub application: Option<String>,
}

/// Windows.
#[derive(Serialize, JsonSchema)]
pub struct WindowList {
    /// The windows, topmost first.
    pub windows: Vec<WindowInfo>,
}

impl Tool for ListWindows {
    const NAME: &'static str = "list_windows";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::ApplicationNotFound];
    const GROUP: Group = Group::Windows;
    type Output = Data<WindowList>;

    fn call(self, cx: &Context) -> Result<Data<WindowList>> {
        let windows = cx.desktop.windows.list(&cx.call)?;
        Ok(Data(WindowList { windows: windows.iter().map(|window| WindowInfo::of(cx, window)).collect() }))
    }
}
