//! Menus, by the way that a window declares: as data on the session bus, or as elements.
//!
//! A window that names its exported menus (`_GTK_MENUBAR_OBJECT_PATH` on itself, `_KDE_NET_WM_APPMENU_…` on
//! itself, or an entry with the session's registrar of menus) is read and worked over the session bus, because
//! that knows what is checked and enabled without anything being open. Every other window is read from its
//! accessibility tree. Which way is told by the window, never by which one answers.

pub mod dbusmenu;
mod gtk;
pub mod line;

use crate::atspi::Atspi;
use crate::x11::link::{Link, X, failed};
use deskhand_core::menu::{MenuBar, MenuItem, MenuItemId, Menus, Via};
use deskhand_core::window::{Window, WindowId};
use deskhand_core::{Call, Error, Result};
use line::Line;
use std::collections::HashMap;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _};

/// Reads and works menus of windows on an X display.
pub struct LinuxMenus {
    atspi: Atspi,
    link: Link<Names>,
    bus: Line,
}

/// The atoms of what a window says about its menus.
struct Names([Atom; PROPERTIES.len()]);

const PROPERTIES: [&str; 7] = [
    "_GTK_UNIQUE_BUS_NAME",
    "_GTK_MENUBAR_OBJECT_PATH",
    "_GTK_APP_MENU_OBJECT_PATH",
    "_GTK_APPLICATION_OBJECT_PATH",
    "_GTK_WINDOW_OBJECT_PATH",
    "_KDE_NET_WM_APPMENU_SERVICE_NAME",
    "_KDE_NET_WM_APPMENU_OBJECT_PATH",
];

const DOING: &str = "asking a window for its menus";

/// Where a window's menus are exported.
#[derive(Clone, Debug, PartialEq)]
enum Exported {
    /// As `org.gtk.Menus`.
    Gtk(gtk::Place),
    /// As `com.canonical.dbusmenu`.
    DbusMenu(dbusmenu::Place),
}

impl LinuxMenus {
    /// Menus on this display, with the session bus at this address. Nothing is connected yet.
    pub fn new(display: &str, bus: Option<String>, atspi: Atspi) -> LinuxMenus {
        let link = Link::new(display, |_, x: &X, _| {
            let mut atoms = [0; PROPERTIES.len()];
            for (atom, name) in atoms.iter_mut().zip(PROPERTIES) {
                let cookie = x.intern_atom(false, name.as_bytes()).map_err(failed(DOING))?;
                *atom = cookie.reply().map_err(failed(DOING))?.atom;
            }
            Ok(Names(atoms))
        });
        LinuxMenus { atspi, link, bus: Line::new(bus) }
    }

    /// What the window says of itself; nothing where it exports no menus.
    fn exported(&self, call: &Call, window: WindowId) -> Result<Option<Exported>> {
        let told = self.link.with(call, |x, _, names| properties(x, names, window))?;
        if let (Some(name), Some(bar)) = (told.get(PROPERTIES[0]), told.get(PROPERTIES[1])) {
            return Ok(Some(Exported::Gtk(gtk::Place {
                name: name.clone(),
                bar: bar.clone(),
                app_menu: told.get(PROPERTIES[2]).cloned(),
                app: told.get(PROPERTIES[3]).cloned(),
                window: told.get(PROPERTIES[4]).cloned(),
            })));
        }
        if let (Some(name), Some(path)) = (told.get(PROPERTIES[5]), told.get(PROPERTIES[6])) {
            return Ok(Some(Exported::DbusMenu(dbusmenu::Place { name: name.clone(), path: path.clone() })));
        }
        let registered = self.bus.with(call, "asking the registrar of menus", async |bus| {
            dbusmenu::registered(bus, window.0).await
        })?;
        Ok(registered.map(Exported::DbusMenu))
    }
}

impl Menus for LinuxMenus {
    fn read(&self, call: &Call, window: &Window) -> Result<MenuBar> {
        let Some(exported) = self.exported(call, window.id)? else {
            return Ok(match self.atspi.menu_bar(call, window)? {
                Some(menus) => MenuBar { via: Via::Elements, menus },
                None => MenuBar { via: Via::Nothing, menus: Vec::new() },
            });
        };
        let whose = format!("{} ({})", window.application, window.title);
        let mut menus =
            self.bus.with(call, &format!("reading the menus of {whose}"), async |bus| match &exported {
                Exported::Gtk(place) => gtk::read(bus, place, &window.application).await,
                Exported::DbusMenu(place) => dbusmenu::read(bus, place).await,
            })?;
        // GTK applications tell their window which keys they take, not the menu: the same menu bar among the
        // elements has them.
        if matches!(exported, Exported::Gtk(_)) && !tells_shortcuts(&menus) {
            match self.atspi.menu_bar(call, window) {
                Ok(Some(elements)) => take_shortcuts(&mut menus, &elements),
                // Without accessibility the menus are complete but for the keys.
                Ok(None) | Err(Error { code: deskhand_core::Code::PermissionDenied, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(MenuBar { via: Via::Exported, menus })
    }

    fn activate(&self, call: &Call, window: &Window, item: &MenuItemId) -> Result<()> {
        let Some(exported) = self.exported(call, window.id)? else {
            return self.atspi.activate_menu_item(call, item);
        };
        let whose = format!("{} ({})", window.application, window.title);
        self.bus.with(call, &format!("working a menu item of {whose}"), async |bus| match &exported {
            Exported::Gtk(place) => gtk::activate(bus, place, item).await,
            Exported::DbusMenu(place) => dbusmenu::activate(bus, place, item).await,
        })
    }
}

fn properties(x: &X, names: &Names, window: WindowId) -> Result<HashMap<&'static str, String>> {
    let Ok(window) = u32::try_from(window.0) else { return Ok(HashMap::new()) };
    let mut cookies = Vec::with_capacity(PROPERTIES.len());
    for atom in names.0 {
        cookies.push(x.get_property(false, window, atom, AtomEnum::ANY, 0, 1024).map_err(failed(DOING))?);
    }
    let mut told = HashMap::new();
    for (name, cookie) in PROPERTIES.into_iter().zip(cookies) {
        // A window that has gone says nothing; whoever asked finds out at the next step.
        let Ok(reply) = cookie.reply() else { continue };
        let text = String::from_utf8_lossy(&reply.value).trim_end_matches('\0').to_owned();
        if !text.is_empty() {
            told.insert(name, text);
        }
    }
    Ok(told)
}

/// Whether the menus themselves tell shortcuts. GTK applications do so of single items that they add later.
fn tells_shortcuts(menus: &[MenuItem]) -> bool {
    fn count(items: &[MenuItem]) -> (usize, usize) {
        items.iter().fold((0, 0), |(all, told), item| {
            let below = count(&item.items);
            (all + 1 + below.0, told + usize::from(item.shortcut.is_some()) + below.1)
        })
    }
    let (all, told) = count(menus);
    all < 20 * told
}

/// Gives items the shortcuts of those with the same name at the same place.
fn take_shortcuts(menus: &mut [MenuItem], from: &[MenuItem]) {
    let mut from: Vec<&MenuItem> = from.iter().collect();
    for item in menus {
        let Some(at) = from.iter().position(|other| other.name == item.name) else { continue };
        let other = from.remove(at);
        if item.shortcut.is_none() {
            item.shortcut.clone_from(&other.shortcut);
        }
        take_shortcuts(&mut item.items, &other.items);
    }
}

/// An accelerator of GTK in the words of everybody: `<Primary><Shift>s` is `Ctrl+Shift+S`.
pub fn accelerator(text: &str) -> Option<String> {
    let mut rest = text.trim();
    let mut keys = String::new();
    while let Some((modifier, after)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        let modifier = match modifier.to_ascii_lowercase().as_str() {
            "primary" | "control" | "ctrl" | "ctl" => "Ctrl",
            "shift" | "shft" => "Shift",
            "alt" | "mod1" => "Alt",
            "super" | "meta" | "hyper" | "mod4" => "Meta",
            _ => return None,
        };
        keys.push_str(modifier);
        keys.push('+');
        rest = after;
    }
    let key = match rest {
        "" => return None,
        "plus" | "KP_Add" => "+",
        "minus" | "KP_Subtract" => "-",
        "equal" => "=",
        "comma" => ",",
        "period" => ".",
        "slash" => "/",
        "space" => "Space",
        "Return" | "KP_Enter" => "Enter",
        "Page_Up" => "PageUp",
        "Page_Down" => "PageDown",
        "question" => "?",
        key => key,
    };
    let mut letters = key.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => keys.extend(letter.to_uppercase()),
        _ => keys.push_str(key),
    }
    Some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accelerators_are_written_as_people_do() {
        for (text, keys) in [
            ("<Primary><Shift>s", "Ctrl+Shift+S"),
            ("F11", "F11"),
            ("<Alt>Up", "Alt+Up"),
            ("<Control>plus", "Ctrl++"),
            ("Delete", "Delete"),
        ] {
            assert_eq!(accelerator(text).as_deref(), Some(keys));
        }
        assert_eq!((accelerator(""), accelerator("<Hypo>x")), (None, None));
    }
}
