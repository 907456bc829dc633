//! Menus behind buttons, which can be read only while they are open: those of GTK 4 and Chromium.
//!
//! Opening them is input: the window gets the keyboard, the button's own action opens the menu, and Escape closes
//! it again. Only a window that has the keyboard gets the Escape.

use super::elements::{click_action, click_element};
use super::evidence::Seen;
use super::find::{Found, shows};
use super::target;
use crate::call::Context;
use deskhand_core::element::{Bounds, Element, ElementId, Role, Root, State, Tree, TreeQuery};
use deskhand_core::input::Button;
use deskhand_core::key::{Key, NamedKey};
use deskhand_core::menu::{self, MenuItem, MenuItemId};
use deskhand_core::window::Window;
use deskhand_core::{Code, Error, Result};
use std::time::Duration;

/// How long a menu may take to unfold.
const UNFOLDING: Duration = Duration::from_millis(1200);

/// How deep submenus are opened.
const MOST_LEVELS: usize = 4;

/// Menus that are open.
pub struct Opened {
    window: Window,
    buttons: Vec<String>,
    failed: Vec<String>,
}

impl Opened {
    /// What was done, for the reply.
    pub fn note(&self) -> String {
        let mut note = format!(
            "Input was made: {:?} got the keyboard, and its menus ({}) were opened and closed again.",
            self.window.title,
            self.buttons.join(", ")
        );
        if !self.failed.is_empty() {
            note.push_str(&format!(" No menu opened at {}.", self.failed.join(", ")));
        }
        note
    }

    /// Closes what is open.
    pub fn close(self, cx: &Context) -> Result<()> {
        close(cx, &self.window)
    }
}

fn close(cx: &Context, window: &Window) -> Result<()> {
    // Submenus close one after the other, and a toolkit may swallow an Escape while it unfolds a menu.
    for _ in 0..=2 * MOST_LEVELS {
        let open = open_menus(&tree(cx, window)?).len();
        if open == 0 {
            return Ok(());
        }
        cx.desktop.input(&cx.call)?.tap(Key::Named(NamedKey::Escape))?;
        cx.call.until_within(Duration::from_millis(400), "waiting for a menu to close", || {
            Ok((open_menus(&tree(cx, window)?).len() < open).then_some(()))
        })?;
    }
    Err(Error::backend(format!("A menu of {:?} is open still: Escape did not close it.", window.title))
        .remedy("Look at a screenshot; press escape, or click beside it."))
}

fn tree(cx: &Context, window: &Window) -> Result<Tree> {
    // GTK 4 says of a closed menu that it is visible: that it is not mapped shows by its place only.
    let bounds = Bounds::Showing;
    let query = TreeQuery { bounds, values: false, actions: true, ..TreeQuery::new(Root::Window(window.id)) };
    cx.desktop.elements.tree(&cx.call, &query)
}

/// The menus that show, outside of pages and menu bars.
fn open_menus(tree: &Tree) -> Vec<usize> {
    (0..tree.nodes.len())
        .filter(|index| {
            let element = &tree.nodes[*index].element;
            element.role == Role::Menu && shows(element) && !inside(tree, *index, Role::Document)
        })
        .collect()
}

fn inside(tree: &Tree, index: usize, role: Role) -> bool {
    std::iter::successors(tree.nodes[index].parent, |parent| tree.nodes[*parent].parent)
        .any(|parent| tree.nodes[parent].element.role == role)
}

/// The buttons of a window that open a menu.
pub fn of_window(cx: &Context, window: &Window) -> Result<Vec<Element>> {
    let tree = tree(cx, window)?;
    let is_button = |element: &Element| matches!(element.role, Role::Button | Role::ToggleButton);
    let mut buttons: Vec<Element> = Vec::new();
    for (index, node) in tree.nodes.iter().enumerate() {
        let element = &node.element;
        // A window that has only just opened may not be in the list yet, and passes for a pop-up of this one.
        if element.window != Some(window.id)
            || !is_button(element)
            || !shows(element)
            || element.name.is_empty()
            || inside(&tree, index, Role::Document)
        {
            continue;
        }
        // What GTK 4 calls a menu button is a button around a button of the same name.
        let around = node
            .parent
            .map(|parent| &tree.nodes[parent].element)
            .is_some_and(|outer| is_button(outer) && outer.name == element.name && outer.actions.is_empty());
        // Of what opens something, Chromium presses what opens a bubble.
        let opens = element.states.has(State::HasPopup)
            && !element
                .actions
                .iter()
                .any(|action| matches!(action.to_lowercase().as_str(), "press" | "click"));
        if around || opens || element.states.has(State::HasPopup) && element.actions.is_empty() {
            buttons.push(element.clone());
        }
    }
    Ok(buttons)
}

/// A button as a menu that was not opened.
pub fn closed(button: &Element) -> MenuItem {
    MenuItem {
        id: MenuItemId(button.id.0.clone()),
        name: button.name.clone(),
        shortcut: None,
        enabled: button.states.has(State::Enabled),
        checked: None,
        submenu: true,
        items: Vec::new(),
    }
}

/// Opens the menus of these buttons and reads them: all one after the other, or the one that a path begins
/// with, which stays open.
pub fn open(
    cx: &Context,
    window: &Window,
    buttons: Vec<Element>,
    path: &[String],
) -> Result<(Vec<MenuItem>, Opened)> {
    let window = target::shown(window.clone())?;
    let focused = super::windows::focus(cx, &window)?;
    if focused.effect != Seen::Confirmed {
        return Err(Error::backend(format!(
            "{:?} did not get the keyboard, so its menus were not opened.",
            window.title
        ))
        .os(focused.reason.unwrap_or_default())
        .remedy("Bring it to the front with focus_window first."));
    }
    let mut opened = Opened { window: window.clone(), buttons: Vec::new(), failed: Vec::new() };
    let mut menus: Vec<MenuItem> = buttons.iter().map(closed).collect();
    let wanted = match path {
        [] => None,
        path => {
            let first = menu::find(&menus, &path[..1], &format!("The window {:?}", window.title))?;
            menus.iter().position(|menu| menu.id == first[0].id)
        }
    };
    let which: Vec<usize> = wanted.map_or_else(|| (0..menus.len()).collect(), |only| vec![only]);
    let last = which.last().copied();
    for place in which {
        let read = open_one(cx, &window, &buttons[place], path.get(1..).unwrap_or_default(), path.is_empty());
        match read {
            Ok(Some(items)) => {
                opened.buttons.push(menus[place].name.clone());
                menus[place].items = items;
            }
            Ok(None) => opened.failed.push(menus[place].name.clone()),
            Err(error) => {
                // What is open must not stay so; why it failed is what is told.
                let _ = close(cx, &window);
                return Err(error);
            }
        }
        if wanted.is_none() || Some(place) != last {
            close_all(cx, &window)?;
        }
    }
    if wanted.is_none() {
        // Whatever opened that is no menu is closed too; that it showed none is told.
        let failed = std::mem::take(&mut opened.failed);
        menus.retain(|menu| !failed.contains(&menu.name));
        opened.failed = failed;
    }
    Ok((menus, opened))
}

/// Closes menus, and a bubble that opened instead of one.
fn close_all(cx: &Context, window: &Window) -> Result<()> {
    if open_menus(&tree(cx, window)?).is_empty() {
        cx.desktop.input(&cx.call)?.tap(Key::Named(NamedKey::Escape))?;
        return Ok(());
    }
    close(cx, window)
}

/// Opens the menu of one button and reads it. `path` says which submenus are needed where they have to be opened
/// as well; `all` that all are.
fn open_one(
    cx: &Context,
    window: &Window,
    button: &Element,
    path: &[String],
    all: bool,
) -> Result<Option<Vec<MenuItem>>> {
    let before = ids(&tree(cx, window)?);
    press(cx, button)?;
    let Some(mut items) = unfolded(cx, window, &before)? else { return Ok(None) };
    fill(cx, window, &mut items, path, all, 0)?;
    Ok(Some(items))
}

fn ids(tree: &Tree) -> Vec<ElementId> {
    open_menus(tree).into_iter().map(|index| tree.nodes[index].element.id.clone()).collect()
}

fn press(cx: &Context, element: &Element) -> Result<()> {
    match click_action(element) {
        Some(action) => cx.desktop.elements.perform(&cx.call, &element.id, action),
        None => {
            let found = Found {
                element: cx.desktop.elements.element(&cx.call, &element.id)?,
                name: cx.server.refs.show(element),
                note: None,
            };
            click_element(cx, &found, Button::Left, 1, &[], Duration::ZERO).map(drop)
        }
    }
}

/// The items of the menu that was not open before, as soon as it holds some.
fn unfolded(cx: &Context, window: &Window, before: &[ElementId]) -> Result<Option<Vec<MenuItem>>> {
    cx.call.until_within(UNFOLDING, "waiting for a menu to open", || {
        let tree = tree(cx, window)?;
        let new =
            open_menus(&tree).into_iter().find(|index| !before.contains(&tree.nodes[*index].element.id));
        let items = new.map(|index| menu::items_below(&tree, index, &|_| None));
        Ok(items.filter(|items| !items.is_empty()))
    })
}

/// Opens submenus that show their items only when they are open.
fn fill(
    cx: &Context,
    window: &Window,
    items: &mut [MenuItem],
    path: &[String],
    all: bool,
    level: usize,
) -> Result<()> {
    if MOST_LEVELS <= level || (path.is_empty() && !all) {
        return Ok(());
    }
    let wanted = match path.first() {
        // What is not there is told by whoever looks for the whole path.
        Some(name) => match menu::find(items, std::slice::from_ref(name), "") {
            Ok(line) => items.iter().position(|item| item.id == line[0].id),
            Err(_) => return Ok(()),
        },
        None => None,
    };
    for (place, item) in items.iter_mut().enumerate() {
        if !item.submenu || !item.enabled || wanted.is_some_and(|wanted| wanted != place) {
            continue;
        }
        let rest = path.get(1..).unwrap_or_default();
        if item.items.is_empty() {
            let before = ids(&tree(cx, window)?);
            let element = cx.desktop.elements.element(&cx.call, &menu::element_of(&item.id))?;
            press(cx, &element)?;
            // The menu of an item before closes when the next one opens.
            item.items = unfolded(cx, window, &before)?.unwrap_or_default();
        }
        fill(cx, window, &mut item.items, rest, all, level + 1)?;
    }
    Ok(())
}

/// Does what an item of an open menu does.
pub fn work(cx: &Context, item: &MenuItem) -> Result<()> {
    let element = cx.desktop.elements.element(&cx.call, &menu::element_of(&item.id))?;
    let Some(action) = element.actions.first().cloned() else {
        return Err(Error::new(
            Code::ElementNotActionable,
            format!("The menu item {:?} declares no action.", item.name),
        )
        .remedy("Open the menu and click its place."));
    };
    cx.desktop.elements.perform(&cx.call, &element.id, &action)
}
