//! Menus, the notification area, notifications, the clipboard and the file manager behind the rules.

use super::Guard;
use crate::call::Call;
use crate::clipboard::{self, Fetched, History, Kind, Loan, Offer, Owner, Part, Selection};
use crate::error::{Code, Error, Result};
use crate::files::{self, FileView, Revealer};
use crate::geometry::Point;
use crate::input::Button;
use crate::menu::{self, MenuBar, MenuItem, MenuItemId};
use crate::notification::{
    self, Delivered, Invoking, Notification, NotificationEvent, NotificationWatch, Shower, Shown,
};
use crate::person::{self, Device, Each};
use crate::status_item::{self, StatusArea, StatusItem, StatusItemId};
use crate::window::Window;
use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct Menus {
    pub(super) inner: Arc<dyn menu::Menus>,
    pub(super) guard: Arc<Guard>,
}

impl menu::Menus for Menus {
    fn read(&self, call: &Call, window: &Window) -> Result<MenuBar> {
        if self.guard.hides(call, window)? {
            return Err(super::windows::gone(window.id));
        }
        self.inner.read(call, window)
    }

    fn activate(&self, call: &Call, window: &Window, item: &MenuItemId) -> Result<()> {
        self.guard.require_window(call, window)?;
        self.inner.activate(call, window, item)
    }
}

pub(super) struct StatusItems {
    pub(super) inner: Arc<dyn status_item::StatusItems>,
    pub(super) guard: Arc<Guard>,
}

impl StatusItems {
    fn hides(&self, call: &Call, item: &StatusItem) -> Result<bool> {
        let named = [&item.name, &item.process].into_iter().any(|name| self.guard.hides_name(name));
        Ok(named || self.guard.hides_process(call, item.pid)?)
    }

    fn require(&self, call: &Call, id: &StatusItemId) -> Result<()> {
        let area = self.inner.list(call)?;
        match area.items.iter().find(|item| item.id == *id) {
            Some(item) => self.guard.require_process(call, item.pid, &[&item.name, &item.process]),
            None => self.guard.roster.rules.require_nobody("an item of the notification area"),
        }
    }
}

impl status_item::StatusItems for StatusItems {
    fn list(&self, call: &Call) -> Result<StatusArea> {
        let StatusArea { keepers, items } = self.inner.list(call)?;
        let mut shown = Vec::new();
        for item in items {
            if !self.hides(call, &item)? {
                shown.push(item);
            }
        }
        Ok(StatusArea { keepers, items: shown })
    }

    fn activate(&self, call: &Call, item: &StatusItemId, button: Button, at: Point) -> Result<()> {
        self.require(call, item)?;
        self.inner.activate(call, item, button, at)
    }

    /// To fill its menu is the item's own work, so that a denied one is not asked for it either.
    fn menu(&self, call: &Call, item: &StatusItemId) -> Result<Vec<MenuItem>> {
        self.require(call, item)?;
        self.inner.menu(call, item)
    }

    fn click(&self, call: &Call, item: &StatusItemId, entry: &MenuItemId) -> Result<()> {
        self.require(call, item)?;
        self.inner.click(call, item, entry)
    }
}

pub(super) struct Notifications {
    pub(super) inner: Arc<dyn notification::Notifications>,
    pub(super) guard: Arc<Guard>,
}

impl notification::Notifications for Notifications {
    fn shower(&self, call: &Call) -> Result<Shower> {
        self.inner.shower(call)
    }

    fn send(&self, call: &Call, notification: &Notification) -> Result<Delivered> {
        self.inner.send(call, notification)
    }

    fn close(&self, call: &Call, id: u32) -> Result<()> {
        self.inner.close(call, id)
    }

    fn invoke(&self, call: &Call, target: &Shown, key: &str, open: &[Shown]) -> Result<Invoking> {
        self.guard.require_process(call, None, &[&target.application])?;
        self.inner.invoke(call, target, key, open)
    }

    fn watch(&self, call: &Call) -> Result<Box<dyn NotificationWatch>> {
        Ok(Box::new(Withholding { inner: self.inner.watch(call)?, guard: self.guard.clone() }))
    }
}

/// What happens to the notifications that may be seen.
struct Withholding {
    inner: Box<dyn NotificationWatch>,
    guard: Arc<Guard>,
}

impl NotificationWatch for Withholding {
    fn next(&mut self, call: &Call, until: Instant) -> Result<Option<NotificationEvent>> {
        loop {
            match self.inner.next(call, until)? {
                Some(NotificationEvent::Shown(shown)) if self.guard.hides_name(&shown.application) => {}
                other => return Ok(other),
            }
        }
    }
}

pub(super) struct Clipboard {
    pub(super) inner: Arc<dyn clipboard::Clipboard>,
    pub(super) guard: Arc<Guard>,
}

impl Clipboard {
    fn hides(&self, call: &Call, owner: Option<&Owner>) -> Result<bool> {
        let Some(owner) = owner else { return Ok(false) };
        Ok(self.guard.hides_name(&owner.name) || self.guard.hides_process(call, owner.pid)?)
    }
}

impl clipboard::Clipboard for Clipboard {
    fn offer(&self, call: &Call, selection: Selection) -> Result<Option<Offer>> {
        let offer = self.inner.offer(call, selection)?;
        Ok(match offer {
            // As from a password manager: that there is something is told, and not what or whose.
            Some(offer) if self.hides(call, offer.owner.as_ref())? => {
                Some(Offer { secret: true, ..Offer::default() })
            }
            other => other,
        })
    }

    fn fetch(&self, call: &Call, selection: Selection, kind: Kind, most: usize) -> Result<Option<Fetched>> {
        let offer =
            if self.guard.roster.rules.hides_any() { self.inner.offer(call, selection)? } else { None };
        if self.hides(call, offer.and_then(|offer| offer.owner).as_ref())? {
            return Err(Error::new(
                Code::PermissionDenied,
                "What was copied comes from an application that Deskhand may not see.",
            )
            .remedy("Ask the person at the desktop for it."));
        }
        self.inner.fetch(call, selection, kind, most)
    }

    fn put(&self, call: &Call, selection: Selection, parts: Vec<Part>) -> Result<()> {
        self.inner.put(call, selection, parts)
    }

    fn clear(&self, call: &Call, selection: Selection) -> Result<()> {
        self.inner.clear(call, selection)
    }

    fn lend(&self, call: &Call, parts: Vec<Part>) -> Result<Box<dyn Loan>> {
        self.inner.lend(call, parts)
    }

    fn changes(&self, call: &Call) -> Result<Box<dyn clipboard::Changes>> {
        self.inner.changes(call)
    }

    fn watch(&self, call: &Call, on: bool) -> Result<()> {
        self.inner.watch(call, on)
    }

    fn history(&self, call: &Call) -> Result<History> {
        let History { watching, entries: all, mut withheld } = self.inner.history(call)?;
        let mut entries = Vec::new();
        for entry in all {
            if self.hides(call, entry.owner.as_ref())? {
                withheld += 1;
            } else {
                entries.push(entry);
            }
        }
        Ok(History { watching, entries, withheld })
    }

    fn leave(&self, call: &Call) -> Result<()> {
        self.inner.leave(call)
    }
}

pub(super) struct Files {
    pub(super) inner: Arc<dyn files::Files>,
    pub(super) guard: Arc<Guard>,
}

impl files::Files for Files {
    fn revealer(&self, call: &Call) -> Result<Revealer> {
        self.inner.revealer(call)
    }

    /// Which of several programs would be started is not known: each may have to be left alone.
    fn reveal(&self, call: &Call, path: &Path) -> Result<String> {
        match self.inner.revealer(call)? {
            Revealer::Running(pid) => self.guard.require_process(call, Some(pid), &[])?,
            Revealer::Starts(programs) => {
                if programs.is_empty() {
                    return Err(Error::new(
                        Code::DeniedByPolicy,
                        "Which file manager would be started is not known, so that the rules for applications cannot be \
                         asked.",
                    )
                    .remedy("Start the file manager first (launch_app), or leave it to the person."));
                }
                for program in programs {
                    self.guard.require_start(call, &program)?;
                }
            }
        }
        self.inner.reveal(call, path)
    }

    fn front(&self, call: &Call) -> Result<FileView> {
        let view = self.inner.front(call)?;
        let windows = self.guard.windows.list(call)?;
        let hidden = match windows.iter().find(|window| window.id == view.window) {
            Some(window) => self.guard.hides(call, window)?,
            None => self.guard.hides_name(&view.application),
        };
        if hidden {
            return Err(Error::new(Code::WindowNotFound, "No window of a file manager is open.")
                .remedy("Open one with reveal_in_finder or launch_app."));
        }
        Ok(view)
    }
}

/// The person, where not all of what they do may be seen: in a hidden window they type what nobody is to know.
pub(super) struct Person {
    pub(super) inner: Arc<dyn person::Person>,
    pub(super) rules: Vec<String>,
}

impl person::Person for Person {
    fn devices(&self, call: &Call) -> Result<Vec<Device>> {
        self.inner.devices(call)
    }

    fn watch(&self, _: &Call, _: Each) -> Result<Box<dyn Any + Send + Sync>> {
        Err(Error::new(
            Code::DeniedByPolicy,
            format!(
                "What the person does is not watched while applications are hidden: Deskhand was started with {}.",
                self.rules.join(" ")
            ),
        )
        .remedy("Start Deskhand without that to record."))
    }

    fn keys(&self, call: &Call, each: Each) -> Result<Box<dyn Any + Send + Sync>> {
        self.inner.keys(call, each)
    }

    fn quiet_for(&self, call: &Call) -> Result<Option<Duration>> {
        self.inner.quiet_for(call)
    }

    fn halted(&self) -> Result<Option<String>> {
        self.inner.halted()
    }

    fn halt(&self, how: &str) -> Result<()> {
        self.inner.halt(how)
    }

    fn resume(&self) -> Result<bool> {
        self.inner.resume()
    }
}
