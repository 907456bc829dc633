//! Menus that an application exports as `org.gtk.Menus`, with their actions as `org.gtk.Actions`.
//!
//! A menu is a list of items in a numbered group; an item names its submenu or its section by group and
//! number. Reading a group subscribes to it, so that the application fills it and tells of changes: every
//! subscription is ended again. Whether an item reacts and is checked is what its action says.

use super::line::{Fault, ask};
use crate::atspi::bus::within;
use crate::atspi::menus::UNANSWERED;
use deskhand_core::menu::{MenuItem, MenuItemId, without_mark};
use deskhand_core::{Code, Error, Result};
use std::collections::{BTreeSet, HashMap};
use zbus::Connection;
use zbus::message::Flags;
use zbus::zvariant::{OwnedValue, Signature, Value};

const MENUS: &str = "org.gtk.Menus";
const ACTIONS: &str = "org.gtk.Actions";

/// How often references to further groups are followed.
const MOST_ROUNDS: usize = 16;

/// Where a window's menus and their actions are.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The application's unique name.
    pub name: String,
    /// The path of the menu bar.
    pub bar: String,
    /// The path of the application's own menu, if it has one.
    pub app_menu: Option<String>,
    /// The path of the actions whose names begin with `app.`.
    pub app: Option<String>,
    /// The path of those that begin with `win.`.
    pub window: Option<String>,
}

type Item = HashMap<String, OwnedValue>;
type Groups = HashMap<(u32, u32), Vec<Item>>;

/// What an action says: whether it is enabled, the type of its parameter, and its state if it has one.
type Action = (bool, Signature, Vec<OwnedValue>);

/// Reads the menus. `application` names the application's own menu.
pub async fn read(bus: &Connection, place: &Place, application: &str) -> Result<Vec<MenuItem>> {
    let whom = "The application that exports the menus";
    let own = async {
        match &place.app_menu {
            Some(path) => groups(bus, place, path).await.map(Some),
            None => Ok(None),
        }
    };
    let (bar, own) = futures_util::future::join(groups(bus, place, &place.bar), own).await;
    // After the menus were announced, so that what they brought up to date is seen.
    let actions = actions(bus, place).await;
    let (bar, own, actions) = (
        bar.map_err(|fault| fault.error(whom))?,
        own.map_err(|fault| fault.error(whom))?,
        actions.map_err(|fault| fault.error(whom))?,
    );
    let mut menus = Vec::new();
    if let Some(own) = own {
        menus.push(MenuItem {
            id: MenuItemId(String::new().into()),
            name: application.to_owned(),
            shortcut: None,
            enabled: true,
            checked: None,
            submenu: true,
            items: level(&own, (0, 0), &actions, 0),
        });
    }
    menus.extend(level(&bar, (0, 0), &actions, 0));
    Ok(menus)
}

/// Every group that can be reached from the first, as it is when its menu is shown.
///
/// An application may fill a submenu, or look what is enabled in it, only when it is about to be shown: the
/// submenu then names an action whose state says so. It is set as a panel sets it, and taken back.
async fn groups(bus: &Connection, place: &Place, path: &str) -> std::result::Result<Groups, Fault> {
    let mut known = BTreeSet::new();
    let read = async {
        let mut groups = reachable(bus, place, path, &mut known).await?;
        let showing: BTreeSet<String> = groups
            .values()
            .flatten()
            .filter_map(|item| text(item, "submenu-action").map(str::to_owned))
            .collect();
        if !showing.is_empty() {
            show(bus, place, &showing).await;
            let again = reachable(bus, place, path, &mut known).await;
            hide(bus, place, &showing).await;
            groups = again?;
        }
        Ok(groups)
    };
    let groups = read.await;
    let numbers: Vec<u32> = known.into_iter().collect();
    // Nothing depends on the answer: the application forgets us at the latest when we go.
    drop(ask(bus, &place.name, path, MENUS, "End", &numbers).await);
    groups
}

async fn reachable(
    bus: &Connection,
    place: &Place,
    path: &str,
    known: &mut BTreeSet<u32>,
) -> std::result::Result<Groups, Fault> {
    let mut groups = Groups::new();
    let mut asked = BTreeSet::new();
    let mut wanted = BTreeSet::from([0u32]);
    for _ in 0..MOST_ROUNDS {
        if wanted.is_empty() {
            break;
        }
        let numbers: Vec<u32> = wanted.iter().copied().collect();
        let reply = ask(bus, &place.name, path, MENUS, "Start", &numbers).await?;
        // A group that was begun twice has to be ended twice.
        let twice: Vec<u32> = wanted.iter().copied().filter(|group| !known.insert(*group)).collect();
        if !twice.is_empty() {
            drop(ask(bus, &place.name, path, MENUS, "End", &twice).await);
        }
        asked.append(&mut wanted);
        let body = reply.body();
        let part: Vec<(u32, u32, Vec<Item>)> = body.deserialize()?;
        for (group, number, items) in part {
            let links = items.iter().flat_map(|item| [link(item, ":section"), link(item, ":submenu")]);
            wanted.extend(links.flatten().map(|(group, _)| group).filter(|group| !asked.contains(group)));
            groups.insert((group, number), items);
        }
    }
    Ok(groups)
}

/// Tells the application that submenus are about to be shown. Who does not care says so: the menus are read
/// either way.
async fn show(bus: &Connection, place: &Place, actions: &BTreeSet<String>) {
    let orders = actions.iter().filter_map(|action| {
        let (path, name) = place.action(action)?;
        Some(async move {
            let none: HashMap<&str, Value<'_>> = HashMap::new();
            let body = (name, Value::Bool(true), none);
            within(UNANSWERED, ask(bus, &place.name, path, ACTIONS, "SetState", &body)).await
        })
    });
    drop(futures_util::future::join_all(orders).await);
}

/// Tells it that they are shown no longer, without waiting: what is asked next is answered after it.
async fn hide(bus: &Connection, place: &Place, actions: &BTreeSet<String>) {
    for (path, name) in actions.iter().filter_map(|action| place.action(action)) {
        let none: HashMap<&str, Value<'_>> = HashMap::new();
        let message = zbus::Message::method_call(path, "SetState")
            .and_then(|message| message.destination(place.name.as_str()))
            .and_then(|message| message.interface(ACTIONS))
            .and_then(|message| message.with_flags(Flags::NoReplyExpected))
            .and_then(|message| message.build(&(name, Value::Bool(false), none)));
        if let Ok(message) = message {
            drop(bus.send(&message).await);
        }
    }
}

impl Place {
    /// The path and the name of an action, from its whole name.
    fn action<'a>(&'a self, whole: &'a str) -> Option<(&'a str, &'a str)> {
        let (prefix, name) = whole.split_once('.').filter(|(_, name)| !name.is_empty())?;
        let path = match prefix {
            "app" => self.app.as_deref(),
            "win" => self.window.as_deref(),
            "unity" => Some(&*self.bar),
            _ => None,
        };
        Some((path?, name))
    }
}

/// All actions, by their whole names.
async fn actions(bus: &Connection, place: &Place) -> std::result::Result<HashMap<String, Action>, Fault> {
    let sources = [("app", &place.app), ("win", &place.window), ("unity", &Some(place.bar.clone()))]
        .map(|(prefix, path)| (prefix, path.clone()));
    let answers = sources.into_iter().map(|(prefix, path)| async move {
        let Some(path) = path else { return Ok((prefix, HashMap::new())) };
        match ask(bus, &place.name, &path, ACTIONS, "DescribeAll", &()).await {
            Ok(reply) => Ok((prefix, reply.body().deserialize::<HashMap<String, Action>>()?)),
            // Not every application has actions in each place.
            Err(Fault::Absent(_)) => Ok((prefix, HashMap::new())),
            Err(fault) => Err(fault),
        }
    });
    let mut all = HashMap::new();
    for answer in futures_util::future::join_all(answers).await {
        let (prefix, actions) = answer?;
        all.extend(actions.into_iter().map(|(name, action)| (format!("{prefix}.{name}"), action)));
    }
    Ok(all)
}

fn level(
    groups: &Groups,
    place: (u32, u32),
    actions: &HashMap<String, Action>,
    depth: usize,
) -> Vec<MenuItem> {
    let mut items = Vec::new();
    if MOST_ROUNDS <= depth {
        return items;
    }
    let mut seen = BTreeSet::new();
    for item in groups.get(&place).into_iter().flatten() {
        if let Some(section) = link(item, ":section") {
            // LibreOffice exports its whole menu bar twice, in two sections.
            let fresh = level(groups, section, actions, depth + 1);
            items.extend(fresh.into_iter().filter(|item| !item.submenu || seen.insert(item.id.clone())));
            continue;
        }
        let name = without_mark(text(item, "label").unwrap_or_default(), '_');
        let action = text(item, "action").and_then(|name| actions.get(name));
        if name.is_empty() || is_hidden(item, action) {
            continue;
        }
        let submenu = link(item, ":submenu");
        items.push(MenuItem {
            id: id(item, &name),
            name,
            shortcut: text(item, "accel").and_then(super::accelerator),
            // An item without an action that there is does nothing; a submenu needs none.
            enabled: submenu.is_some() || action.is_some_and(|(enabled, ..)| *enabled),
            checked: action.and_then(|action| checked(action, item.get("target"))),
            submenu: submenu.is_some(),
            items: submenu.map_or_else(Vec::new, |place| level(groups, place, actions, depth + 1)),
        });
    }
    items
}

/// An action with a state of true or false is a check mark; one whose state is the item's target a choice.
fn checked((_, parameter, state): &Action, target: Option<&OwnedValue>) -> Option<bool> {
    let state: &Value<'_> = state.first()?;
    match (state, target) {
        (Value::Bool(on), None) if matches!(parameter, Signature::Unit) => Some(*on),
        (state, Some(target)) if state.value_signature() == target.value_signature() => {
            Some(*state == **target)
        }
        _ => None,
    }
}

fn is_hidden(item: &Item, action: Option<&Action>) -> bool {
    match text(item, "hidden-when") {
        Some("action-missing") => action.is_none(),
        Some("action-disabled") => action.is_none_or(|(enabled, ..)| !enabled),
        _ => false,
    }
}

fn text<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    item.get(name).and_then(|value| <&str>::try_from(value).ok())
}

fn link(item: &Item, name: &str) -> Option<(u32, u32)> {
    match &**item.get(name)? {
        Value::Structure(parts) => match parts.fields() {
            [Value::U32(group), Value::U32(number)] => Some((*group, *number)),
            _ => None,
        },
        _ => None,
    }
}

/// The action and its target: what is needed to do what the item does, whatever becomes of the menu.
fn id(item: &Item, name: &str) -> MenuItemId {
    if link(item, ":submenu").is_some() {
        return MenuItemId(format!("\n{name}").into());
    }
    let action = text(item, "action").unwrap_or_default();
    let target = item.get("target").map_or_else(String::new, |target| target.to_string());
    MenuItemId(format!("{action}\n{target}").into())
}

/// Does what an item does.
pub async fn activate(bus: &Connection, place: &Place, item: &MenuItemId) -> Result<()> {
    let (action, target) = item.0.split_once('\n').unwrap_or((&item.0, ""));
    let Some((path, name)) = place.action(action) else {
        return Err(Error::new(
            Code::ElementNotActionable,
            "The menu item has no action that could be done.",
        )
        .remedy("Work it by its keys, or by its element while the menu is open."));
    };
    let whom = "The application that exports the menus";
    let parameter: Vec<Value<'static>> = match target {
        "" => Vec::new(),
        // The target is read again from what the application exports: a text cannot carry every type.
        target => vec![target_of(bus, place, action, target).await.map_err(|fault| fault.error(whom))?],
    };
    let none: HashMap<&str, Value<'_>> = HashMap::new();
    let body = (name, parameter, none);
    let asked = ask(bus, &place.name, path, ACTIONS, "Activate", &body);
    within(UNANSWERED, asked)
        .await
        .map_or(Ok(()), |answer| answer.map(drop).map_err(|fault| fault.error(whom)))
}

async fn target_of(
    bus: &Connection,
    place: &Place,
    action: &str,
    wanted: &str,
) -> std::result::Result<Value<'static>, Fault> {
    for path in std::iter::once(&place.bar).chain(&place.app_menu) {
        for item in groups(bus, place, path).await?.into_values().flatten() {
            if text(&item, "action") == Some(action)
                && let Some(target) = item.get("target").filter(|target| target.to_string() == wanted)
            {
                return Ok(target.try_clone().map(Value::from).map_err(zbus::Error::from)?);
            }
        }
    }
    Err(Fault::Absent(format!("no menu item with the action {action} and the target {wanted}")))
}
