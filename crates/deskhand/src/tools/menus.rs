//! Menus: what an application offers, read and worked by path.

use super::evidence::{Acted, Witness, short};
use super::menu_buttons::{self, Opened};
use super::windows::of_application;
use super::{Alias, same, target};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool, both};
use deskhand_core::menu::{self, MenuItem, Via};
use deskhand_core::window::{Window, WindowId};
use deskhand_core::{Code, Error, Rect, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The table of this noun.
pub static TOOLS: &[Row] =
    &[Row::of::<ListMenuItems>(), Row::of::<GetMenuItemState>(), Row::of::<ClickMenuItem>()];

/// Other names.
pub static ALIASES: &[Alias] =
    &[same("get_menu_bar_structure", "list_menu_items"), same("list_menus", "list_menu_items")];

/// Reading menus and working them.
const ERRORS: &[Code] = &[
    Code::MenuItemNotFound,
    Code::AmbiguousTarget,
    Code::ElementNotActionable,
    Code::WindowNotFound,
    Code::WindowMinimized,
    Code::ApplicationNotFound,
    Code::PermissionDenied,
    Code::SecureDesktopActive,
    Code::Busy,
];

/// Other names of parameters.
const NAMES: &[(&str, &str)] = &[
    ("process", "application"),
    ("menu_path", "path"),
    ("item", "path"),
    ("menu_item", "path"),
    ("item_path", "path"),
];

/// What opening menus may take: they unfold with animations, one after the other.
const OPENING: Duration = Duration::from_secs(10);

/// How long an application gets to react to a menu item.
const SETTLE: Duration = Duration::from_millis(600);

/// The menus of a window as they were read.
struct Bar {
    window: Window,
    via: &'static str,
    menus: Vec<MenuItem>,
    /// The menus that had to be opened, where they are open still.
    opened: Option<Opened>,
}

/// The window whose menus are meant: the one named, the application's, or the focused one.
fn window(cx: &Context, application: Option<&str>, window: Option<&str>) -> Result<Window> {
    let windows = cx.desktop.windows.list(&cx.call)?;
    let of: Option<Vec<WindowId>> = application.map(|name| of_application(cx, &windows, name)).transpose()?;
    let mut candidates: Vec<&Window> =
        windows.iter().filter(|window| of.as_ref().is_none_or(|of| of.contains(&window.id))).collect();
    if let Some(name) = window {
        let own: Vec<Window> = candidates.into_iter().cloned().collect();
        return target::one_window(&own, name);
    }
    if let Some(name) = application {
        // Of several the one in front is meant, and rather a window than its dialog.
        candidates.sort_by_key(|window| (!window.focused, window.transient));
        return candidates.first().map(|window| (*window).clone()).ok_or_else(|| {
            Error::new(Code::WindowNotFound, format!("{name:?} has no window, so no menu bar either."))
                .remedy("Wait for its window, or look at its item in the notification area (list_status_bar_items).")
        });
    }
    windows.iter().find(|window| window.focused).cloned().ok_or_else(|| {
        Error::new(
            Code::WindowNotFound,
            "No window has the keyboard, so there are no menus to read by default.",
        )
        .found(windows.iter().map(target::line))
        .remedy("Pass application or window.")
    })
}

/// Reads the menus of a window: closed where it declares them, else by opening them if that is allowed. Menus
/// that were opened are open when this returns; `path` says which are needed, all of them when it is empty.
fn read(cx: &Context, window: Window, open: bool, path: &[String]) -> Result<Bar> {
    let bar = cx.desktop.menus.read(&cx.call, &window)?;
    match bar.via {
        Via::Exported | Via::Elements => {
            Ok(Bar { window, via: bar.via.name(), menus: bar.menus, opened: None })
        }
        Via::Nothing => {
            let window = target::shown(window)?;
            let buttons = menu_buttons::of_window(cx, &window)?;
            if buttons.is_empty() {
                return Err(Error::new(
                    Code::MenuItemNotFound,
                    format!("The window {:?} has no menu bar and no button that opens a menu.", window.title),
                )
                .remedy("Work what it shows: get_ui_elements, click_ui_element."));
            }
            if !open {
                let menus = buttons.iter().map(menu_buttons::closed).collect();
                return Ok(Bar { window, via: "buttons", menus, opened: None });
            }
            let (menus, opened) = menu_buttons::open(cx, &window, buttons, path)?;
            Ok(Bar { window, via: "opened", menus, opened: Some(opened) })
        }
    }
}

/// Runs `body` with the menus, and closes what had to be opened whatever comes of it.
fn with_menus<T>(
    cx: &Context,
    window: Window,
    open: bool,
    path: &[String],
    body: impl FnOnce(&mut Bar) -> Result<T>,
) -> Result<T> {
    let mut bar = read(cx, window, open, path)?;
    let done = body(&mut bar);
    let closed = bar.opened.take().map_or(Ok(()), |opened| opened.close(cx));
    let done = done?;
    closed.map(|()| done)
}

/// An object, for what nests: a schema of its own would have to refer to itself.
fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "object" } })
}

/// The menus of a window.
#[derive(Serialize, JsonSchema)]
pub struct MenuList {
    /// How they were read: `exported` by the application, `elements` of its closed menu bar, `opened` and
    /// closed again, or only the `buttons` that would open them.
    pub via: &'static str,
    /// The window that they belong to.
    pub window: u64,
    /// Its title.
    pub window_title: String,
    /// Menus and items: {name, shortcut?, enabled, checked?, submenu?, items?}. What is checked or not has
    /// `checked`; `submenu` without items was not read.
    #[schemars(schema_with = "objects")]
    pub menus: Vec<Value>,
    /// How many menus and items there are in all.
    pub total: usize,
    /// Whether this is only a part of them.
    pub truncated: bool,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
    /// What had to be done to read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// List a window's menus with all their items: shortcuts, what is enabled and checked. Menus that can only be
/// read open are opened and closed again; the reply says so.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListMenuItems {
    /// The application (name, id or pid); without it the focused window's.
    pub application: Option<String>,
    /// The window (id or title).
    pub window: Option<String>,
    /// Only what is below this item: `File`, or `File > Export As`.
    pub path: Option<String>,
    /// How many levels of items; all by default.
    pub max_depth: Option<Ranged<1, 32>>,
    /// false: never open a menu to read it.
    pub open_menus: Option<bool>,
    /// How many at the most; 400 by default.
    pub page_size: Option<Ranged<1, 2000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

impl Tool for ListMenuItems {
    const NAME: &'static str = "list_menu_items";
    const EFFECT: Effect = Effect::Input;
    const LEAST: Effect = Effect::Read;
    const ERRORS: &'static [Code] = ERRORS;
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("process", "application"), ("menu_path", "path"), ("menu", "path"), ("item", "path")];
    const GROUP: Group = Group::Menus;
    type Output = Data<MenuList>;

    fn effect(&self) -> Effect {
        effect(self.open_menus)
    }

    fn patience(&self) -> Duration {
        patience(self.open_menus)
    }

    fn call(self, cx: &Context) -> Result<Data<MenuList>> {
        let path = self.path.as_deref().map(menu::parse_path).transpose()?.unwrap_or_default();
        let window = window(cx, self.application.as_deref(), self.window.as_deref())?;
        let open = self.open_menus.unwrap_or(true);
        with_menus(cx, window, open, &path, |bar| {
            let menus = match menu::find(&bar.menus, &path, &whole(&bar.window))?.last() {
                Some(item) => std::slice::from_ref(*item),
                None => &bar.menus[..],
            };
            let depth = self.max_depth.map_or(usize::MAX, |depth| depth.get() as usize);
            let rows = rows(menus, depth);
            let total = rows.len();
            let size = self.page_size.map_or(400, Ranged::get);
            let places: Vec<usize> = (0..total).collect();
            let (places, next) = super::page::page(places, Some(size), self.page_token.as_deref())?;
            Ok(Data(MenuList {
                via: bar.via,
                window: bar.window.id.0,
                window_title: bar.window.title.clone(),
                menus: nested(&rows, &places),
                total,
                truncated: places.len() < total,
                next_page_token: next,
                note: note(bar),
            }))
        })
    }
}

fn effect(open_menus: Option<bool>) -> Effect {
    if open_menus == Some(false) { Effect::Read } else { Effect::Input }
}

fn patience(open_menus: Option<bool>) -> Duration {
    if open_menus == Some(false) { Duration::ZERO } else { OPENING }
}

fn whole(window: &Window) -> String {
    format!("The window {:?}", window.title)
}

fn note(bar: &Bar) -> Option<String> {
    match (bar.via, &bar.opened) {
        ("buttons", _) => Some(
            "Its menus can be read only while they are open: leave open_menus out to open and close them."
                .to_owned(),
        ),
        (_, Some(opened)) => Some(opened.note()),
        (_, None) => None,
    }
}

/// Items in the order of reading, each with its depth and the row that it is below.
fn rows(menus: &[MenuItem], depth: usize) -> Vec<(usize, Option<usize>, &MenuItem)> {
    fn add<'m>(
        items: &'m [MenuItem],
        depth: usize,
        parent: Option<usize>,
        most: usize,
        rows: &mut Vec<(usize, Option<usize>, &'m MenuItem)>,
    ) {
        for item in items.iter().filter(|_| depth < most) {
            let place = rows.len();
            rows.push((depth, parent, item));
            add(&item.items, depth + 1, Some(place), most, rows);
        }
    }
    let mut all = Vec::new();
    add(menus, 0, None, depth, &mut all);
    all
}

/// The rows of one page as they nest, with those above them.
fn nested(rows: &[(usize, Option<usize>, &MenuItem)], page: &[usize]) -> Vec<Value> {
    let mut kept = vec![false; rows.len()];
    for place in page {
        let above = std::iter::successors(Some(*place), |place| rows[*place].1);
        above.for_each(|place| kept[place] = true);
    }
    let mut values: Vec<Option<Value>> =
        rows.iter().zip(&kept).map(|((_, _, item), kept)| kept.then(|| shown(item))).collect();
    let mut tops = Vec::new();
    // From the end, so that every row is whole when it is put into the one above.
    for place in (0..rows.len()).rev() {
        let Some(mut value) = values[place].take() else { continue };
        if let Some(Value::Array(items)) = value.get_mut("items") {
            items.reverse();
        }
        match rows[place].1.and_then(|parent| values[parent].as_mut()) {
            Some(Value::Object(parent)) => {
                if let Value::Array(items) = parent.entry("items").or_insert_with(|| json!([])) {
                    items.push(value);
                }
            }
            _ => tops.push(value),
        }
    }
    tops.reverse();
    tops
}

/// An item as it is shown to callers, without those below it.
pub fn shown(item: &MenuItem) -> Value {
    let mut value = json!({ "name": item.name });
    if let Some(shortcut) = &item.shortcut {
        value["shortcut"] = json!(shortcut);
    }
    value["enabled"] = json!(item.enabled);
    if let Some(checked) = item.checked {
        value["checked"] = json!(checked);
    }
    if item.submenu {
        value["submenu"] = json!(true);
    }
    value
}

/// One menu item.
#[derive(Serialize, JsonSchema)]
pub struct MenuItemState {
    /// The names on the way to it.
    pub path: String,
    /// Its name.
    pub name: String,
    /// The keys that do the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortcut: Option<String>,
    /// Whether it reacts.
    pub enabled: bool,
    /// Whether it is checked; absent where it cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
    /// Whether it opens a submenu.
    pub submenu: bool,
    /// The names of the items in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// How it was read.
    pub via: &'static str,
    /// The title of its window.
    pub window_title: String,
    /// What had to be done to read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Tell whether a menu item is enabled, checked or a submenu.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMenuItemState {
    /// The names on the way to it: `View > Line Numbers`.
    pub path: String,
    /// The application (name, id or pid); without it the focused window's.
    #[serde(default)]
    pub application: Option<String>,
    /// The window (id or title).
    #[serde(default)]
    pub window: Option<String>,
    /// false: never open a menu to read it.
    #[serde(default)]
    pub open_menus: Option<bool>,
}

impl Tool for GetMenuItemState {
    const NAME: &'static str = "get_menu_item_state";
    const EFFECT: Effect = Effect::Input;
    const LEAST: Effect = Effect::Read;
    const ERRORS: &'static [Code] = ERRORS;
    const ALIASES: &'static [(&'static str, &'static str)] = NAMES;
    const GROUP: Group = Group::Menus;
    type Output = Data<MenuItemState>;

    fn effect(&self) -> Effect {
        effect(self.open_menus)
    }

    fn patience(&self) -> Duration {
        patience(self.open_menus)
    }

    fn call(self, cx: &Context) -> Result<Data<MenuItemState>> {
        let path = menu::parse_path(&self.path)?;
        let window = window(cx, self.application.as_deref(), self.window.as_deref())?;
        with_menus(cx, window, self.open_menus.unwrap_or(true), &path, |bar| {
            let line = menu::find(&bar.menus, &path, &whole(&bar.window))?;
            let item = line[line.len() - 1];
            Ok(Data(MenuItemState {
                path: joined(&line),
                name: item.name.clone(),
                shortcut: item.shortcut.clone(),
                enabled: item.enabled,
                checked: item.checked,
                submenu: item.submenu,
                items: item.items.iter().map(|item| item.name.clone()).collect(),
                via: bar.via,
                window_title: bar.window.title.clone(),
                note: note(bar),
            }))
        })
    }
}

fn joined(line: &[&MenuItem]) -> String {
    line.iter().map(|item| item.name.as_str()).collect::<Vec<_>>().join(" > ")
}

/// Click a menu item by its path. Case, ellipses and accelerator marks are forgiven. The menu needs not be
/// open.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClickMenuItem {
    /// The names on the way to it: `File > Save As...`.
    pub path: String,
    /// The application (name, id or pid); without it the focused window's.
    #[serde(default)]
    pub application: Option<String>,
    /// The window (id or title).
    #[serde(default)]
    pub window: Option<String>,
    /// Look this long for a consequence; 600 by default.
    #[serde(default)]
    pub settle_ms: Option<Ranged<0, 10_000>>,
}

impl Tool for ClickMenuItem {
    const NAME: &'static str = "click_menu_item";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = &both::<10>(ERRORS, &[Code::ElevatedProcessTarget]);
    const ALIASES: &'static [(&'static str, &'static str)] = NAMES;
    const GROUP: Group = Group::Menus;
    type Output = Data<Acted>;

    fn patience(&self) -> Duration {
        OPENING + self.settle_ms.map_or(SETTLE, Ranged::milliseconds)
    }

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        let path = menu::parse_path(&self.path)?;
        let window = window(cx, self.application.as_deref(), self.window.as_deref())?;
        target::require_not_elevated(Some(&window))?;
        let mut bar = read(cx, window, true, &path)?;
        let clicked = click(cx, &mut bar, &path, self.settle_ms.map_or(SETTLE, Ranged::milliseconds));
        // A click closes the menu that it is in; what was not clicked is open still.
        if let (Err(_), Some(opened)) = (&clicked, bar.opened.take()) {
            opened.close(cx)?;
        }
        clicked.map(Data)
    }
}

fn click(cx: &Context, bar: &mut Bar, path: &[String], settle: Duration) -> Result<Acted> {
    let line = menu::find(&bar.menus, path, &whole(&bar.window))?;
    let item = line[line.len() - 1].clone();
    let place = joined(&line);
    require_clickable(&item, &place)?;
    let consequence = Consequence::begin(cx, &bar.window)?;
    match &bar.opened {
        Some(_) => menu_buttons::work(cx, &item)?,
        None => cx.desktop.menus.activate(&cx.call, &bar.window, &item.id)?,
    }
    let again = || -> Option<MenuItem> {
        let now = cx.desktop.menus.read(&cx.call, &bar.window).ok()?;
        state_of(&now.menus, path)
    };
    let again = bar.opened.is_none().then_some((&item, &again as &dyn Fn() -> Option<MenuItem>));
    let acted = consequence.conclude(cx, settle, again)?;
    Ok(Acted {
        via: Some(bar.via),
        target: Some(format!("menu item {}", short(&place))),
        window_title: Some(bar.window.title.clone()),
        ..acted
    })
}

/// The item at the end of a path, if it is there still.
pub fn state_of(menus: &[MenuItem], path: &[String]) -> Option<MenuItem> {
    menu::find(menus, path, "").ok()?.last().map(|item| (*item).clone())
}

/// Refuses what a click would not do anything to.
pub fn require_clickable(item: &MenuItem, place: &str) -> Result<()> {
    if item.submenu {
        return Err(Error::new(
            Code::ElementNotActionable,
            format!("{place:?} is a submenu; nothing was clicked."),
        )
        .expected("the path of an item in it")
        .found(item.items.iter().map(menu::describe)));
    }
    if !item.enabled {
        return Err(Error::new(Code::ElementNotActionable, format!("The menu item {place:?} is disabled."))
            .remedy("Do first what enables it: select something, say, or open a document."));
    }
    Ok(())
}

/// What may follow from a menu item: windows that come and go, content that changes, a check mark.
pub struct Consequence {
    windows: Vec<Window>,
    witness: Witness,
    pid: Option<u32>,
}

impl Consequence {
    /// Remembers what is there before.
    pub fn begin(cx: &Context, window: &Window) -> Result<Consequence> {
        Ok(Consequence {
            windows: cx.desktop.windows.list(&cx.call)?,
            // A caret that blinks changes pixels too: what the application says counts, not what it draws.
            witness: Witness::begin(cx, Some(window), Rect::default()),
            pid: window.pid,
        })
    }

    /// The same of an application without a window of its own.
    pub fn of_process(cx: &Context, pid: Option<u32>) -> Result<Consequence> {
        Ok(Consequence {
            windows: cx.desktop.windows.list(&cx.call)?,
            witness: Witness::of_process(cx, pid),
            pid,
        })
    }

    /// Waits for it at most `settle`. `item` is the item as it was, and how to read it again, where that can
    /// be done without opening its menu.
    pub fn conclude(
        mut self,
        cx: &Context,
        settle: Duration,
        item: Option<(&MenuItem, &dyn Fn() -> Option<MenuItem>)>,
    ) -> Result<Acted> {
        if settle.is_zero() {
            return Ok(Acted::unverified("settle_ms is 0, so nothing was looked for."));
        }
        let until = Instant::now() + settle;
        let checks = item.is_some_and(|(before, _)| before.checked.is_some());
        let difference = || item.and_then(|(before, again)| difference(before, &again()?));
        let mut said = None;
        loop {
            let last = until <= Instant::now();
            let word = self.witness.hear(cx, until.min(Instant::now() + Duration::from_millis(20)))?;
            if let Some(evidence) = self.windows_changed(cx)? {
                return Ok(Acted::confirmed(evidence));
            }
            // Menus are long: the item is read again when the application has said something, and at the end.
            if (word.is_some() || checks || last)
                && let Some(evidence) = difference()
            {
                return Ok(Acted::confirmed(evidence));
            }
            match word {
                // Content that changed is the item's doing; what else is said may be of the menu itself.
                Some((word, true)) if !checks => return Ok(Acted::confirmed(word)),
                Some((word, _)) => said = said.or(Some(word)),
                None => {}
            }
            if last {
                break;
            }
        }
        let after = format!("within {} ms", settle.as_millis());
        Ok(match said {
            _ if checks => Acted::no_change(format!("Its check mark is as it was {after}.")),
            Some(word) => Acted {
                evidence: Some(word),
                ..Acted::unverified(format!(
                    "The application reacted {after}, but neither a window nor a content changed: whether it did what the item says is not known."
                ))
            },
            None => Acted::no_change(format!(
                "No window, content or state changed {after}. It may react later, or do something that does not show."
            )),
        })
    }

    /// What is different about the windows of the application.
    fn windows_changed(&self, cx: &Context) -> Result<Option<String>> {
        let now = cx.desktop.windows.list(&cx.call)?;
        let own = |window: &&Window| self.pid.is_none() || window.pid.is_none() || window.pid == self.pid;
        for window in now.iter().filter(own) {
            match self.windows.iter().find(|before| before.id == window.id) {
                None => return Ok(Some(format!("a window opened: {}", target::line(window)))),
                Some(before) if before.title != window.title => {
                    return Ok(Some(format!("title {} → {}", short(&before.title), short(&window.title))));
                }
                Some(before) if before.state != window.state => {
                    return Ok(Some(
                        format!("window {:?} → {:?}", before.state, window.state).to_lowercase(),
                    ));
                }
                Some(before) if before.bounds.size() != window.bounds.size() => {
                    return Ok(Some(format!("window {} → {}", before.bounds, window.bounds)));
                }
                Some(_) => {}
            }
        }
        let gone = self
            .windows
            .iter()
            .find(|before| own(before) && !now.iter().any(|window| window.id == before.id));
        Ok(gone.map(|window| format!("the window {:?} closed", window.title)))
    }
}

/// What is different about an item.
fn difference(before: &MenuItem, now: &MenuItem) -> Option<String> {
    if before.checked != now.checked {
        let word = |checked: Option<bool>| checked.unwrap_or(false);
        return Some(format!("checked {} → {}", word(before.checked), word(now.checked)));
    }
    (before.enabled != now.enabled).then(|| format!("enabled {} → {}", before.enabled, now.enabled))
}
