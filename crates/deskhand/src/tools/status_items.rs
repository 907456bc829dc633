//! The notification area: what applications keep beside the clock, and the menus behind it.

use super::evidence::{Acted, short};
use super::menus::{Consequence, require_clickable, shown, state_of};
use super::pointer;
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::input::Button;
use deskhand_core::menu::{self, MenuItem};
use deskhand_core::status_item::{self, StatusItem, Way};
use deskhand_core::{Code, Error, Point, Rect, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] =
    &[Row::of::<ListStatusBarItems>(), Row::of::<ClickStatusBarItem>(), Row::of::<ClickStatusBarMenuItem>()];

/// Other names of the item.
const NAMES: &[(&str, &str)] = ITEM_AND_PATH.split_at(11).0;

/// Other names of the item and of the path in its menu.
const ITEM_AND_PATH: &[(&str, &str)] = &[
    ("description", "item"),
    ("status_item", "item"),
    ("item_description", "item"),
    ("identifier", "item"),
    ("id", "item"),
    ("name", "item"),
    ("title", "item"),
    ("process", "item"),
    ("process_name", "item"),
    ("application", "item"),
    ("app", "item"),
    ("menu_path", "path"),
    ("menu_item", "path"),
    ("menu_item_path", "path"),
    ("item_path", "path"),
];

/// How long an application gets to react.
const SETTLE: Duration = Duration::from_millis(600);

/// An item as it is shown to callers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StatusItemInfo {
    /// Pass this, its name, description or process as `item`.
    pub id: String,
    /// Its application's name for it.
    pub name: String,
    /// What people read: its title or tool tip.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The process that owns it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub process: String,
    /// Its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// passive (hidden by its application), active or needs_attention.
    pub status: String,
    /// Whether it has a menu that click_status_bar_menu_item can work.
    pub menu: bool,
    /// Where it lies, in global pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Rect>,
    /// Why its position is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position_reason: Option<String>,
    /// What is the matter with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl From<StatusItem> for StatusItemInfo {
    fn from(item: StatusItem) -> StatusItemInfo {
        StatusItemInfo {
            id: item.id.0.to_string(),
            name: item.name,
            description: item.description,
            process: item.process,
            pid: item.pid,
            status: item.status,
            menu: matches!(item.way, Way::Called { menu: true, .. }),
            position: item.place.as_ref().ok().copied(),
            position_reason: item.place.err(),
            problem: item.problem,
        }
    }
}

/// The notification area.
#[derive(Serialize, JsonSchema)]
pub struct StatusItemList {
    /// The items.
    pub items: Vec<StatusItemInfo>,
    /// Who keeps it: a panel, or deskhand.
    pub kept_by: Vec<String>,
}

/// List the items of the notification area (tray, status bar): names, descriptions, processes, positions.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListStatusBarItems {}

impl Tool for ListStatusBarItems {
    const NAME: &'static str = "list_status_bar_items";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::StatusItems;
    type Output = Data<StatusItemList>;

    fn call(self, cx: &Context) -> Result<Data<StatusItemList>> {
        let area = cx.desktop.status_items.list(&cx.call)?;
        Ok(Data(StatusItemList {
            items: area.items.into_iter().map(StatusItemInfo::from).collect(),
            kept_by: area.keepers,
        }))
    }
}

fn find(cx: &Context, name: &str) -> Result<StatusItem> {
    let area = cx.desktop.status_items.list(&cx.call)?;
    status_item::find(&area.items, name).cloned()
}

fn line(item: &StatusItem) -> String {
    format!("status item {}", status_item::describe(item))
}

fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "object" } })
}

/// What came of a click on an item.
#[derive(Serialize, JsonSchema)]
pub struct StatusItemClicked {
    /// What was done and what was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// The menu that the click opens: {name, enabled, checked?, submenu?, items?}.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "objects")]
    pub menu: Vec<Value>,
}

/// Click an item of the notification area. An item that does nothing but open its menu answers with the menu.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClickStatusBarItem {
    /// Its id, name, description or process.
    pub item: String,
    /// left (default), right or middle.
    #[serde(default)]
    pub button: Button,
    /// Look this long for a consequence; 600 by default.
    #[serde(default)]
    pub settle_ms: Option<Ranged<0, 10_000>>,
}

impl Tool for ClickStatusBarItem {
    const NAME: &'static str = "click_status_bar_item";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] =
        &[Code::StatusItemNotFound, Code::AmbiguousTarget, Code::SecureDesktopActive, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] = NAMES;
    const GROUP: Group = Group::StatusItems;
    type Output = Data<StatusItemClicked>;

    fn patience(&self) -> Duration {
        self.settle_ms.map_or(SETTLE, Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<StatusItemClicked>> {
        let item = find(cx, &self.item)?;
        let settle = self.settle_ms.map_or(SETTLE, Ranged::milliseconds);
        let center = item.place.as_ref().map_or(Point::new(0, 0), |place| place.center());
        let target = Some(line(&item));
        match item.way {
            Way::Pointed => {
                let acted = pointer::click_at(cx, Some(center), self.button, 1, &[], settle)?;
                Ok(Data(StatusItemClicked {
                    acted: Acted { via: Some("pointer"), target, ..acted },
                    menu: Vec::new(),
                }))
            }
            Way::Called { menu: true, only_menu: true } if self.button != Button::Middle => {
                let items = cx.desktop.status_items.menu(&cx.call, &item.id)?;
                let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
                let acted = Acted::confirmed(format!("its menu was filled: {}", short(&names.join(", "))));
                let reason = "A click on this item only opens its menu, which was read without being shown. Work it with click_status_bar_menu_item.";
                Ok(Data(StatusItemClicked {
                    acted: Acted { via: Some("menu"), target, reason: Some(reason.to_owned()), ..acted },
                    menu: items.iter().map(nested).collect(),
                }))
            }
            Way::Called { .. } => {
                let consequence = Consequence::of_process(cx, item.pid)?;
                cx.desktop.status_items.activate(&cx.call, &item.id, self.button, center)?;
                let acted = consequence.conclude(cx, settle, None)?;
                Ok(Data(StatusItemClicked {
                    acted: Acted { via: Some("call"), target, ..acted },
                    menu: Vec::new(),
                }))
            }
        }
    }
}

fn nested(item: &MenuItem) -> Value {
    let mut value = shown(item);
    if !item.items.is_empty() {
        value["items"] = item.items.iter().map(nested).collect();
    }
    value
}

/// Click an item in the menu of an item of the notification area, by path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClickStatusBarMenuItem {
    /// The item's id, name, description or process.
    pub item: String,
    /// The names on the way in its menu: `Preferences`, `Devices > Speakers`.
    pub path: String,
    /// Look this long for a consequence; 600 by default.
    #[serde(default)]
    pub settle_ms: Option<Ranged<0, 10_000>>,
}

impl Tool for ClickStatusBarMenuItem {
    const NAME: &'static str = "click_status_bar_menu_item";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = &[
        Code::StatusItemNotFound,
        Code::MenuItemNotFound,
        Code::AmbiguousTarget,
        Code::ElementNotActionable,
        Code::SecureDesktopActive,
        Code::Busy,
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = ITEM_AND_PATH;
    const GROUP: Group = Group::StatusItems;
    type Output = Data<Acted>;

    fn patience(&self) -> Duration {
        self.settle_ms.map_or(SETTLE, Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let path = menu::parse_path(&self.path)?;
        let item = find(cx, &self.item)?;
        if item.way == Way::Pointed {
            return Err(Error::unsupported(format!(
                "The icon {:?} exports no menu: it is a window inside the panel.",
                item.name
            ))
            .remedy("Click it with the right button (click_status_bar_item), then its menu by its elements or a screenshot."));
        }
        let whole = format!("The menu of {:?}", item.name);
        let read = || cx.desktop.status_items.menu(&cx.call, &item.id);
        let menus = read()?;
        let line_of = menu::find(&menus, &path, &whole)?;
        let place = line_of.iter().map(|item| item.name.as_str()).collect::<Vec<_>>().join(" > ");
        let entry = line_of[line_of.len() - 1];
        require_clickable(entry, &place)?;
        let consequence = Consequence::of_process(cx, item.pid)?;
        cx.desktop.status_items.click(&cx.call, &item.id, &entry.id)?;
        let again = || state_of(&read().ok()?, &path);
        let settle = self.settle_ms.map_or(SETTLE, Ranged::milliseconds);
        let acted = consequence.conclude(cx, settle, Some((entry, &again)))?;
        let target = format!("menu item {} of {}", short(&place), line(&item));
        Ok(Data(Acted { via: Some("call"), target: Some(target), ..acted }))
    }
}
