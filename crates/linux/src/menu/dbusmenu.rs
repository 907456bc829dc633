//! Menus that an application exports as `com.canonical.dbusmenu`: those of the notification area, and the menu
//! bars of Qt applications where the session has a registrar of menus.
//!
//! Such a menu may be filled only once somebody says that it is about to be shown. Empty submenus are
//! therefore announced and read again when the application says that the layout has changed.

use super::accelerator;
use super::line::{Fault, ask, patiently};
use crate::atspi::bus::within;
use crate::atspi::menus::UNANSWERED;
use deskhand_core::menu::{MenuItem, MenuItemId, without_mark};
use deskhand_core::{Error, Result};
use futures_lite::StreamExt;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use zbus::zvariant::{OwnedValue, Value};
use zbus::{Connection, MatchRule, MessageStream};

const MENU: &str = "com.canonical.dbusmenu";
const REGISTRAR: &str = "com.canonical.AppMenu.Registrar";

/// How long an application gets to fill a menu after it said that it would.
const FILLING: Duration = Duration::from_millis(2500);

/// The same where it said nothing of the kind: most empty menus are just empty.
const PERHAPS: Duration = Duration::from_millis(250);

/// How long it may take to say so.
const ANNOUNCING: Duration = Duration::from_millis(1000);

/// How deep submenus are filled.
const MOST_LEVELS: usize = 8;

/// Where a menu is.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The bus name of its owner.
    pub name: String,
    /// Its path.
    pub path: String,
}

/// The menu bar that an application has registered for a window, where the session has a registrar.
pub async fn registered(bus: &Connection, window: u64) -> Result<Option<Place>> {
    let Ok(window) = u32::try_from(window) else { return Ok(None) };
    let daemon = "org.freedesktop.DBus";
    let owned = ask(bus, daemon, "/org/freedesktop/DBus", daemon, "NameHasOwner", &REGISTRAR).await;
    let owned = owned.map_err(|fault| fault.error("The session bus"))?;
    if !owned.body().deserialize::<bool>().unwrap_or(false) {
        return Ok(None);
    }
    let path = "/com/canonical/AppMenu/Registrar";
    let reply =
        patiently(ANNOUNCING, ask(bus, REGISTRAR, path, REGISTRAR, "GetMenuForWindow", &window)).await;
    let reply = match reply {
        Ok(reply) => reply,
        // It knows no menu of this window.
        Err(Fault::Refused(_) | Fault::Absent(_)) => return Ok(None),
        Err(fault) => return Err(fault.error("The registrar of menus")),
    };
    let body = reply.body();
    let place = body.deserialize::<(String, zbus::zvariant::OwnedObjectPath)>().ok();
    Ok(place
        .filter(|(name, path)| !name.is_empty() && path.as_str() != "/")
        .map(|(name, path)| Place { name, path: path.to_string() }))
}

/// An item as it came.
struct Node {
    id: i32,
    properties: HashMap<String, OwnedValue>,
    below: Vec<Node>,
}

/// Reads a whole menu, with what its application fills in only now.
pub async fn read(bus: &Connection, place: &Place) -> Result<Vec<MenuItem>> {
    let whom = "The application that exports the menu";
    let root = filled(bus, place).await.map_err(|fault| fault.error(whom))?;
    Ok(items(&root))
}

async fn filled(bus: &Connection, place: &Place) -> std::result::Result<Node, Fault> {
    let mut updates = updates(bus, &place.path).await?;
    let mut announced = BTreeSet::from([0]);
    let mut coming = about_to_show(bus, place, 0).await?;
    let mut root = layout(bus, place).await?;
    for _ in 0..MOST_LEVELS {
        let mut empty = Vec::new();
        unfilled(&root, &mut empty);
        let fresh: Vec<i32> = empty.iter().copied().filter(|id| announced.insert(*id)).collect();
        if fresh.is_empty() && (empty.is_empty() || !coming) {
            break;
        }
        for id in fresh {
            coming |= about_to_show(bus, place, id).await?;
        }
        // What was filled at once shows at the next reading; the rest is announced by a signal.
        root = layout(bus, place).await?;
        let mut still = Vec::new();
        unfilled(&root, &mut still);
        if !still.is_empty() && still.iter().any(|id| empty.contains(id)) {
            let patience = if std::mem::take(&mut coming) { FILLING } else { PERHAPS };
            if within(patience, updates.next()).await.is_some() {
                root = layout(bus, place).await?;
            }
        }
    }
    Ok(root)
}

async fn updates(bus: &Connection, path: &str) -> std::result::Result<MessageStream, Fault> {
    let rule = MatchRule::builder()
        .msg_type(zbus::message::Type::Signal)
        .interface(MENU)?
        .member("LayoutUpdated")?
        .path(path.to_owned())?
        .build();
    Ok(MessageStream::for_match_rule(rule, bus, None).await?)
}

/// Tells the application that a menu is about to be shown; whether it says that this changes the menu.
async fn about_to_show(bus: &Connection, place: &Place, id: i32) -> std::result::Result<bool, Fault> {
    let asked = ask(bus, &place.name, &place.path, MENU, "AboutToShow", &id);
    match patiently(ANNOUNCING, asked).await {
        Ok(reply) => Ok(reply.body().deserialize().unwrap_or(false)),
        // Some fill their menus without being told, and know no such method.
        Err(Fault::Refused(_)) => Ok(false),
        Err(Fault::Absent(said)) if !said.contains("ServiceUnknown") && !said.contains("UnknownObject") => {
            Ok(false)
        }
        Err(fault) => Err(fault),
    }
}

async fn layout(bus: &Connection, place: &Place) -> std::result::Result<Node, Fault> {
    let none: Vec<&str> = Vec::new();
    let reply = ask(bus, &place.name, &place.path, MENU, "GetLayout", &(0i32, -1i32, none)).await?;
    let body = reply.body();
    let (_, (id, properties, below)) =
        body.deserialize::<(u32, (i32, HashMap<String, OwnedValue>, Vec<OwnedValue>))>()?;
    let below = below.iter().filter_map(|child| node(child)).collect();
    Ok(Node { id, properties, below })
}

fn node(value: &Value<'_>) -> Option<Node> {
    let Value::Structure(parts) = value else { return None };
    let [Value::I32(id), Value::Dict(properties), Value::Array(below)] = parts.fields() else { return None };
    let properties = properties.iter().filter_map(|(name, value)| {
        let Value::Str(name) = name else { return None };
        let value = if let Value::Value(inner) = value { inner } else { value };
        Some((name.to_string(), value.try_to_owned().ok()?))
    });
    let below = below.iter().filter_map(|child| match child {
        Value::Value(inner) => node(inner),
        other => node(other),
    });
    Some(Node { id: *id, properties: properties.collect(), below: below.collect() })
}

impl Node {
    fn text(&self, name: &str) -> Option<&str> {
        self.properties.get(name).and_then(|value| <&str>::try_from(value).ok())
    }

    fn flag(&self, name: &str) -> bool {
        self.properties.get(name).is_none_or(|value| bool::try_from(value) != Ok(false))
    }

    fn is_menu(&self) -> bool {
        !self.below.is_empty() || self.text("children-display") == Some("submenu")
    }
}

/// The menus without items: the whole one, and visible submenus.
fn unfilled(menu: &Node, empty: &mut Vec<i32>) {
    if menu.below.is_empty() {
        empty.push(menu.id);
    }
    for item in menu.below.iter().filter(|item| item.is_menu() && item.flag("visible")) {
        unfilled(item, empty);
    }
}

fn items(menu: &Node) -> Vec<MenuItem> {
    let shown =
        menu.below.iter().filter(|item| item.flag("visible") && item.text("type") != Some("separator"));
    shown
        .map(|item| MenuItem {
            id: MenuItemId(item.id.to_string().into()),
            name: without_mark(item.text("label").unwrap_or_default(), '_'),
            shortcut: item.properties.get("shortcut").and_then(|keys| shortcut(keys)),
            enabled: item.flag("enabled"),
            checked: checked(item),
            submenu: item.is_menu(),
            items: items(item),
        })
        .filter(|item| !item.name.is_empty())
        .collect()
}

fn checked(item: &Node) -> Option<bool> {
    item.text("toggle-type").filter(|kind| !kind.is_empty())?;
    Some(item.properties.get("toggle-state").is_some_and(|state| i32::try_from(state) == Ok(1)))
}

/// The first of the shortcuts, each a list of key names.
fn shortcut(keys: &Value<'_>) -> Option<String> {
    let Value::Array(presses) = keys else { return None };
    let Value::Array(names) = presses.iter().next()? else { return None };
    let names: Vec<&str> = names
        .iter()
        .filter_map(|name| if let Value::Str(name) = name { Some(name.as_str()) } else { None })
        .collect();
    let (key, modifiers) = names.split_last()?;
    let marked: String = modifiers.iter().map(|name| format!("<{name}>")).collect();
    accelerator(&format!("{marked}{key}"))
}

/// Does what a click on an item does.
pub async fn activate(bus: &Connection, place: &Place, item: &MenuItemId) -> Result<()> {
    let id: i32 =
        item.0.parse().map_err(|_| Error::argument(format!("{:?} is no item of this menu.", &*item.0)))?;
    let event = (id, "clicked", Value::I32(0), 0u32);
    let clicked = ask(bus, &place.name, &place.path, MENU, "Event", &event);
    let whom = "The application that exports the menu";
    within(UNANSWERED, clicked)
        .await
        .map_or(Ok(()), |answer| answer.map(drop).map_err(|fault| fault.error(whom)))
}
