//! The notification area: `org.kde.StatusNotifierItem` on the session bus, and the icons that applications embed
//! in a panel by XEmbed.
//!
//! An item needs somebody who keeps the list. Where a panel does, it is asked. On a desktop of Deskhand's own, or
//! where that is asked for, Deskhand keeps the list itself until somebody else wants to.

mod watcher;
mod xembed;

use crate::atspi::Atspi;
use crate::atspi::bus::{command, within};
use crate::atspi::menus::UNANSWERED;
use crate::menu::dbusmenu;
use crate::menu::line::{Fault, Line, ask};
use deskhand_core::element::{Elements, Root, State, TreeQuery};
use deskhand_core::geometry::Point;
use deskhand_core::input::Button;
use deskhand_core::menu::{MenuItem, MenuItemId};
use deskhand_core::status_item::{StatusArea, StatusItem, StatusItemId, StatusItems, Way};
use deskhand_core::{Call, Code, Error, Result};
use std::sync::Arc;
use std::time::Duration;
use watcher::Watcher;
use zbus::Connection;
use zbus::zvariant::{OwnedValue, Value};

const ITEM: &str = "org.kde.StatusNotifierItem";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// How long one item may hold up the list of all.
const PATIENCE: Duration = Duration::from_millis(400);

/// The notification area of a session.
pub struct LinuxStatusItems {
    bus: Line,
    /// The list that Deskhand keeps itself, where it may.
    own: Option<Arc<Watcher>>,
    atspi: Option<Atspi>,
    embedded: Option<xembed::Embedded>,
}

/// Where a registered item is: the bus name of its owner and its path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    name: String,
    path: String,
}

impl Place {
    /// From what a watcher lists: `:1.5/StatusNotifierItem`, or a name alone.
    fn parse(text: &str) -> Option<Place> {
        let (name, path) = match text.find('/') {
            Some(0) => return None,
            Some(at) => text.split_at(at),
            None => (text, "/StatusNotifierItem"),
        };
        Some(Place { name: name.to_owned(), path: path.to_owned() })
    }

    fn id(&self) -> StatusItemId {
        StatusItemId(format!("{}{}", self.name, self.path).into())
    }
}

impl LinuxStatusItems {
    /// The notification area of the session with this bus. `host` says that Deskhand may keep the list itself.
    /// Nothing is connected yet.
    pub fn new(
        bus: Option<String>,
        host: bool,
        display: Option<&str>,
        atspi: Option<Atspi>,
    ) -> LinuxStatusItems {
        LinuxStatusItems {
            bus: Line::new(bus),
            own: host.then(Arc::default),
            atspi,
            embedded: display.map(xembed::Embedded::new),
        }
    }

    /// Who keeps the list, and what is on it; nothing where nobody does.
    async fn registered(&self, bus: &Connection) -> Result<Option<(Option<u32>, Vec<Place>)>> {
        if let Some(own) = &self.own
            && let Some(places) = own.items(bus).await?
        {
            return Ok(Some((None, places.iter().filter_map(|text| Place::parse(text)).collect())));
        }
        let asked = ask(
            bus,
            watcher::NAME,
            watcher::PATH,
            PROPERTIES,
            "Get",
            &(watcher::NAME, "RegisteredStatusNotifierItems"),
        );
        let reply = match within(Duration::from_secs(2), asked).await {
            Some(Ok(reply)) => reply,
            Some(Err(Fault::Absent(_))) => return Ok(None),
            Some(Err(fault)) => return Err(fault.error("The panel that keeps the notification area")),
            None => {
                return Err(Error::new(
                    Code::Timeout,
                    "The panel that keeps the notification area does not answer.",
                )
                .remedy("It may be busy or hang: start it again, or try again later."));
            }
        };
        let body = reply.body();
        let value: OwnedValue = body.deserialize().map_err(|error| Fault::Lost(error).error("The panel"))?;
        let places: Vec<String> = value.try_into().unwrap_or_default();
        let keeper = pid(bus, watcher::NAME).await;
        Ok(Some((keeper, places.iter().filter_map(|text| Place::parse(text)).collect())))
    }

    /// Where a panel shows the items that have no place yet, as far as its accessibility tree tells.
    fn find_places(&self, call: &Call, keeper: Option<u32>, items: &mut [StatusItem]) {
        let Some(keeper) = keeper else {
            for item in items {
                item.place =
                    Err("Deskhand itself keeps this notification area, and draws no icons.".to_owned());
            }
            return;
        };
        let tree = self.atspi.as_ref().map(|atspi| {
            atspi.tree(
                &call.within(Duration::from_secs(1)),
                &TreeQuery { values: false, ..TreeQuery::new(Root::Process(keeper)) },
            )
        });
        for item in items {
            let nodes = tree.as_ref().and_then(|tree| tree.as_ref().ok()).map_or(&[][..], |tree| &tree.nodes);
            let shown = nodes.iter().map(|node| &node.element).find(|element| {
                let says = |text: &str| {
                    !text.is_empty()
                        && [&item.description, &item.name]
                            .iter()
                            .any(|own| !own.is_empty() && text.contains(&***own))
                };
                !element.states.has(State::Offscreen) && (says(&element.name) || says(&element.description))
            });
            item.place = shown.and_then(|element| element.bounds).ok_or_else(|| {
                format!(
                    "The panel ({}) does not tell in its accessibility tree where it shows the item.",
                    command(keeper)
                )
            });
        }
    }
}

impl StatusItems for LinuxStatusItems {
    fn list(&self, call: &Call) -> Result<StatusArea> {
        let called = self.bus.with(call, "listing the notification area", async |bus| {
            let Some((keeper, places)) = self.registered(bus).await? else { return Ok(None) };
            let items = futures_util::future::join_all(places.iter().map(|place| describe(bus, place))).await;
            Ok(Some((keeper, items.into_iter().flatten().collect::<Vec<_>>())))
        });
        let mut area = StatusArea::default();
        // A display may have icons inside a panel without a session bus, and the other way round.
        let called = match (called, &self.embedded) {
            (Ok(called), _) => called,
            (Err(error), Some(_)) if error.code == Code::Backend => None,
            (Err(error), _) => return Err(error),
        };
        if let Some((keeper, mut items)) = called {
            self.find_places(call, keeper, &mut items);
            area.keepers.push(keeper.map_or_else(|| "deskhand".to_owned(), command));
            area.items = items;
        }
        if let Some(embedded) = &self.embedded
            && let Some((keeper, items)) = embedded.list(call)?
        {
            area.keepers.push(keeper);
            area.keepers.dedup();
            area.items.extend(items);
        }
        if area.keepers.is_empty() {
            return Err(Error::backend("Nobody keeps a notification area in this session.").remedy(
                "Start a panel that has one, or start Deskhand with --tray-host to let it keep the items itself (or with --virtual).",
            ));
        }
        Ok(area)
    }

    fn activate(&self, call: &Call, item: &StatusItemId, button: Button, at: Point) -> Result<()> {
        let place = parse(item)?;
        let method = match button {
            Button::Left => "Activate",
            Button::Right => "ContextMenu",
            Button::Middle => "SecondaryActivate",
            Button::Back | Button::Forward => {
                return Err(Error::argument("Items of the notification area know left, middle and right."));
            }
        };
        self.bus.with(call, "clicking an item of the notification area", async |bus| {
            let body = (at.x, at.y);
            let asked = ask(bus, &place.name, &place.path, ITEM, method, &body);
            match within(UNANSWERED, asked).await {
                // A menu or a dialog may hold up the answer until it is closed.
                None | Some(Ok(_)) => Ok(()),
                Some(Err(Fault::Absent(said))) if said.contains("UnknownMethod") => {
                    Err(Error::unsupported(format!("The item does not know {method}.")).os(said).remedy(
                        "Work its menu: click_status_bar_menu_item, or click_status_bar_item with the left button.",
                    ))
                }
                Some(Err(fault)) => Err(gone(fault, item)),
            }
        })
    }

    fn menu(&self, call: &Call, item: &StatusItemId) -> Result<Vec<MenuItem>> {
        self.bus.with(call, "reading the menu of an item of the notification area", async |bus| {
            dbusmenu::read(bus, &menu_of(bus, item).await?).await
        })
    }

    fn click(&self, call: &Call, item: &StatusItemId, entry: &MenuItemId) -> Result<()> {
        self.bus.with(call, "clicking in the menu of an item of the notification area", async |bus| {
            dbusmenu::activate(bus, &menu_of(bus, item).await?, entry).await
        })
    }
}

fn parse(item: &StatusItemId) -> Result<Place> {
    Place::parse(&item.0).ok_or_else(|| Error::argument(format!("{:?} is no id of such an item.", &*item.0)))
}

fn gone(fault: Fault, item: &StatusItemId) -> Error {
    match fault {
        Fault::Absent(said) => Error::new(Code::StatusItemNotFound, format!("The item {} has gone.", item.0))
            .os(said)
            .remedy("List the items again: its application may have ended."),
        fault => fault.error("The application of the item"),
    }
}

async fn menu_of(bus: &Connection, item: &StatusItemId) -> Result<dbusmenu::Place> {
    let place = parse(item)?;
    let menu = property(bus, &place, "Menu").await.map_err(|fault| gone(fault, item))?;
    let path = menu.as_ref().and_then(|menu| path_of(menu)).ok_or_else(|| {
        Error::unsupported("The item exports no menu.").remedy(
            "Click it (click_status_bar_item): it may open a window, or a menu that only the screen shows.",
        )
    })?;
    Ok(dbusmenu::Place { name: place.name, path })
}

/// A path; `/NO_DBUSMENU` is what KDE calls none.
fn path_of(value: &Value<'_>) -> Option<String> {
    match value {
        Value::ObjectPath(path) if path.as_str() != "/" && path.as_str() != "/NO_DBUSMENU" => {
            Some(path.to_string())
        }
        Value::Str(path) if path.starts_with('/') => Some(path.to_string()),
        _ => None,
    }
}

/// A property, nothing where the item has no such one. All at once would bring icons of megabytes along.
async fn property(
    bus: &Connection,
    place: &Place,
    name: &str,
) -> std::result::Result<Option<OwnedValue>, Fault> {
    match ask(bus, &place.name, &place.path, PROPERTIES, "Get", &(ITEM, name)).await {
        Ok(reply) => Ok(reply.body().deserialize::<OwnedValue>().ok()),
        Err(Fault::Absent(said)) if said.contains("UnknownObject") || said.contains("ServiceUnknown") => {
            Err(Fault::Absent(said))
        }
        Err(Fault::Absent(_) | Fault::Refused(_)) => Ok(None),
        Err(fault) => Err(fault),
    }
}

async fn pid(bus: &Connection, name: &str) -> Option<u32> {
    let daemon = "org.freedesktop.DBus";
    let asked = ask(bus, daemon, "/org/freedesktop/DBus", daemon, "GetConnectionUnixProcessID", &name).await;
    asked.ok()?.body().deserialize().ok()
}

/// An item; nothing when its application has gone.
async fn describe(bus: &Connection, place: &Place) -> Option<StatusItem> {
    let pid = pid(bus, &place.name).await?;
    let asked = within(PATIENCE, async {
        let names = ["Id", "Title", "Status", "Menu", "ItemIsMenu", "ToolTip", "XAyatanaOrderingIndex"];
        futures_util::future::join_all(names.map(|name| property(bus, place, name))).await
    });
    let mut item = StatusItem {
        id: place.id(),
        name: String::new(),
        description: String::new(),
        pid: Some(pid),
        process: command(pid),
        status: "unknown".to_owned(),
        way: Way::Called { menu: false, only_menu: false },
        place: Err(String::new()),
        problem: None,
    };
    let Some(answers) = asked.await else {
        item.name.clone_from(&item.process);
        item.problem = Some(format!("Its application did not answer within {} ms.", PATIENCE.as_millis()));
        return Some(item);
    };
    let mut told = Vec::with_capacity(answers.len());
    for answer in answers {
        match answer {
            Ok(value) => told.push(value),
            Err(Fault::Absent(_)) => return None,
            Err(fault) => {
                item.problem = Some(fault.error("Its application").message);
                told.push(None);
            }
        }
    }
    let text = |at: usize| match told.get(at).and_then(Option::as_deref) {
        Some(Value::Str(text)) => text.trim().to_owned(),
        _ => String::new(),
    };
    item.name = Some(text(0)).filter(|name| !name.is_empty()).unwrap_or_else(|| item.process.clone());
    item.description =
        [tool_tip(told[5].as_deref()), text(1)].into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    item.status = match text(2).as_str() {
        "Passive" => "passive",
        "NeedsAttention" => "needs_attention",
        _ => "active",
    }
    .to_owned();
    item.way = Way::Called {
        menu: told[3].as_deref().and_then(path_of).is_some(),
        // Those of Ayatana do nothing but open their menu, and say so by nothing else.
        only_menu: matches!(told[4].as_deref(), Some(Value::Bool(true))) || told[6].is_some(),
    };
    Some(item)
}

/// The title of a tool tip `(icon name, pixmaps, title, text)`.
fn tool_tip(value: Option<&Value<'_>>) -> String {
    match value {
        Some(Value::Structure(parts)) => match parts.fields() {
            [_, _, Value::Str(title), _] => title.trim().to_owned(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_are_names_with_or_without_a_path() {
        let place = |name: &str, path: &str| Some(Place { name: name.to_owned(), path: path.to_owned() });
        assert_eq!(Place::parse(":1.5/a/b"), place(":1.5", "/a/b"));
        assert_eq!(Place::parse("org.kde.X-1-1"), place("org.kde.X-1-1", "/StatusNotifierItem"));
        assert_eq!(Place::parse("/a/b"), None);
    }
}
