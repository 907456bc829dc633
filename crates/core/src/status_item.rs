//! Items of the notification area: what applications keep beside the clock.

use crate::call::Call;
use crate::error::{Code, Error, Result};
use crate::geometry::{Point, Rect};
use crate::input::Button;
use crate::menu::{MenuItem, MenuItemId};
use std::sync::Arc;

/// What the backend needs to find an item again. Opaque outside the backend that made it, and shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StatusItemId(pub Arc<str>);

/// An item of the notification area.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusItem {
    /// How it is found again.
    pub id: StatusItemId,
    /// Its application's name for it.
    pub name: String,
    /// What people read: its title or tool tip.
    pub description: String,
    /// The process that owns it, where known.
    pub pid: Option<u32>,
    /// What the kernel calls that process.
    pub process: String,
    /// Whether its application hides it now (`passive`), shows it (`active`) or wants it noticed
    /// (`needs_attention`).
    pub status: String,
    /// How it is worked.
    pub way: Way,
    /// Where it lies on the screen, or why that is not known.
    pub place: std::result::Result<Rect, String>,
    /// What is the matter with it: that its application does not answer, say.
    pub problem: Option<String>,
}

/// How an item of the notification area is worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is told that it was clicked, and has a menu that can be read.
    Called {
        /// Whether it exports a menu.
        menu: bool,
        /// Whether a click does nothing but open that menu.
        only_menu: bool,
    },
    /// It is a window inside the panel, which is clicked with the pointer.
    Pointed,
}

/// The items, and who shows them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusArea {
    /// Who keeps the area: `deskhand`, a panel, or both of a session's areas by name.
    pub keepers: Vec<String>,
    /// The items.
    pub items: Vec<StatusItem>,
}

/// Sees and works the notification area.
pub trait StatusItems: Send + Sync {
    /// Every item. `backend` where nobody keeps a notification area.
    fn list(&self, call: &Call) -> Result<StatusArea>;

    /// Tells an item that it was clicked at a place. For items that are [`Way::Called`].
    fn activate(&self, call: &Call, item: &StatusItemId, button: Button, at: Point) -> Result<()>;

    /// The menu of an item, filled as for being shown.
    fn menu(&self, call: &Call, item: &StatusItemId) -> Result<Vec<MenuItem>>;

    /// Does what a click on an item of that menu does.
    fn click(&self, call: &Call, item: &StatusItemId, entry: &MenuItemId) -> Result<()>;
}

/// No item is called this.
pub fn no_such_item(name: &str, items: &[StatusItem]) -> Error {
    Error::new(Code::StatusItemNotFound, format!("The notification area has no item {name:?}."))
        .expected("an item's id, name or description, or its process")
        .found(items.iter().map(describe))
        .remedy("List them with list_status_bar_items; an application may take a moment to add its item.")
}

/// An item in a few words, for messages.
pub fn describe(item: &StatusItem) -> String {
    let mut text = item.name.clone();
    if !item.description.is_empty() && item.description != item.name {
        text.push_str(&format!(" {:?}", item.description));
    }
    if !item.process.is_empty() {
        text.push_str(&format!(" of {}", item.process));
    }
    text
}

/// The one item that a name stands for.
pub fn find<'i>(items: &'i [StatusItem], name: &str) -> Result<&'i StatusItem> {
    let wanted = name.trim().to_lowercase();
    let is = |text: &str| text.to_lowercase() == wanted;
    let tests: [&dyn Fn(&StatusItem) -> bool; 4] = [
        &|item| *item.id.0 == *name.trim(),
        &|item| is(&item.name) || is(&item.description),
        &|item| is(&item.process) || item.pid.is_some_and(|pid| pid.to_string() == wanted),
        &|item| {
            !wanted.is_empty()
                && [&item.name, &item.description, &item.process]
                    .iter()
                    .any(|text| text.to_lowercase().contains(&wanted))
        },
    ];
    for test in tests {
        match items.iter().filter(|item| test(item)).collect::<Vec<_>>()[..] {
            [] => {}
            [only] => return Ok(only),
            ref several => {
                return Err(Error::new(
                    Code::AmbiguousTarget,
                    format!(
                        "{} items of the notification area match {name:?}; one is needed.",
                        several.len()
                    ),
                )
                .found(several.iter().map(|item| format!("{}: {}", item.id.0, describe(item))))
                .remedy("Pass the id of the one you mean."));
            }
        }
    }
    Err(no_such_item(name, items))
}

/// The stand-in where there is no notification area.
pub struct NoStatusItems(pub crate::desktop::Missing);

impl StatusItems for NoStatusItems {
    fn list(&self, _: &Call) -> Result<StatusArea> {
        Err(self.0.error())
    }
    fn activate(&self, _: &Call, _: &StatusItemId, _: Button, _: Point) -> Result<()> {
        Err(self.0.error())
    }
    fn menu(&self, _: &Call, _: &StatusItemId) -> Result<Vec<MenuItem>> {
        Err(self.0.error())
    }
    fn click(&self, _: &Call, _: &StatusItemId, _: &MenuItemId) -> Result<()> {
        Err(self.0.error())
    }
}
