//! Menus: what an application offers behind the words at the top of its window.

use crate::call::Call;
use crate::element::{ElementId, Role, State, Tree};
use crate::error::{Code, Error, Result};
use crate::window::Window;
use std::sync::Arc;

/// What the backend needs to find an item again. Opaque outside the backend that made it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MenuItemId(pub Arc<str>);

/// A menu or an item of one. Separators are none.
#[derive(Clone, Debug, PartialEq)]
pub struct MenuItem {
    /// How it is found again.
    pub id: MenuItemId,
    /// What it says, without accelerator marks.
    pub name: String,
    /// The keys that do the same: `Ctrl+Shift+S`.
    pub shortcut: Option<String>,
    /// Whether it reacts.
    pub enabled: bool,
    /// Whether it is checked; nothing where it cannot be.
    pub checked: Option<bool>,
    /// Whether it leads to further items.
    pub submenu: bool,
    /// The items it leads to, as far as they are known.
    pub items: Vec<MenuItem>,
}

/// The menus of a window as far as they can be read without opening them.
#[derive(Clone, Debug, PartialEq)]
pub struct MenuBar {
    /// How they were read, which is how they are worked too.
    pub via: Via,
    /// The menus; none where the window has no menu bar.
    pub menus: Vec<MenuItem>,
}

/// By what a window declares its menus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Its application exports them as data, over D-Bus say.
    Exported,
    /// They are elements of its accessibility tree, closed or open.
    Elements,
    /// It declares no menu bar at all.
    Nothing,
}

impl Via {
    /// The word in replies.
    pub const fn name(self) -> &'static str {
        match self {
            Via::Exported => "exported",
            Via::Elements => "elements",
            Via::Nothing => "nothing",
        }
    }
}

/// Reads menus without opening them, and works their items.
pub trait Menus: Send + Sync {
    /// The menus of a window, by the way that it declares.
    fn read(&self, call: &Call, window: &Window) -> Result<MenuBar>;

    /// Does what a click on an item does. It may be closed.
    fn activate(&self, call: &Call, window: &Window, item: &MenuItemId) -> Result<()>;
}

/// The stand-in where menus cannot be read.
pub struct NoMenus(pub crate::desktop::Missing);

impl Menus for NoMenus {
    fn read(&self, _: &Call, _: &Window) -> Result<MenuBar> {
        Err(self.0.error())
    }
    fn activate(&self, _: &Call, _: &Window, _: &MenuItemId) -> Result<()> {
        Err(self.0.error())
    }
}

/// The items below an element of a tree: menu items, whatever containers lie between. `shortcut` tells that
/// of a node, where it is known beside its name.
pub fn items_below(tree: &Tree, root: usize, shortcut: &dyn Fn(usize) -> Option<String>) -> Vec<MenuItem> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); tree.nodes.len()];
    for (index, node) in tree.nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            below[parent].push(index);
        }
    }
    collect(tree, &below, root, shortcut)
}

fn collect(
    tree: &Tree,
    below: &[Vec<usize>],
    parent: usize,
    shortcut: &dyn Fn(usize) -> Option<String>,
) -> Vec<MenuItem> {
    let mut items: Vec<MenuItem> = Vec::new();
    for index in &below[parent] {
        let element = &tree.nodes[*index].element;
        let inner = || collect(tree, below, *index, shortcut);
        match element.role {
            Role::Menu | Role::MenuItem | Role::CheckMenuItem | Role::RadioMenuItem
                if !element.name.trim().is_empty() =>
            {
                items.push(item(element, shortcut(*index), inner()));
            }
            Role::Separator => {}
            // An unnamed menu is the surface that a Qt item opens; the rest is what toolkits lay menus out with.
            _ => join(&mut items, inner()),
        }
    }
    items
}

/// Adds the items of a further part of a menu. GTK 4 lays a submenu beside the menu as a part of its own, whose
/// first item has the name of the one that leads there, and leads back.
fn join(items: &mut Vec<MenuItem>, mut part: Vec<MenuItem>) {
    if 1 < part.len()
        && let Some(leading) = leading(items, &part[0].name)
    {
        leading.items = part.split_off(1);
        leading.submenu = true;
        return;
    }
    items.append(&mut part);
}

fn leading<'m>(items: &'m mut [MenuItem], name: &str) -> Option<&'m mut MenuItem> {
    items.iter_mut().find_map(|item| {
        if item.name == name && item.items.is_empty() { Some(item) } else { leading(&mut item.items, name) }
    })
}

fn item(element: &crate::element::Element, shortcut: Option<String>, items: Vec<MenuItem>) -> MenuItem {
    let states = &element.states;
    let checkable = matches!(element.role, Role::CheckMenuItem | Role::RadioMenuItem)
        || states.has(State::Checkable)
        || states.has(State::Checked);
    let (name, told) = apart(&element.name);
    MenuItem {
        id: MenuItemId(element.id.0.clone()),
        name,
        shortcut: shortcut.or(told),
        enabled: states.has(State::Enabled),
        checked: checkable.then(|| states.has(State::Checked)),
        submenu: element.role == Role::Menu || states.has(State::HasPopup) || !items.is_empty(),
        items,
    }
}

/// The element behind an item that [`items_below`] made.
pub fn element_of(item: &MenuItemId) -> ElementId {
    ElementId(item.0.clone())
}

/// A name without the keys that stand behind it, as Chromium writes them: `New tab Ctrl+T`.
fn apart(name: &str) -> (String, Option<String>) {
    let name = name.trim();
    let (Some((words, last)), keys) = (name.rsplit_once([' ', '\t']), is_shortcut) else {
        return (name.to_owned(), None);
    };
    if keys(last) { (words.trim().to_owned(), Some(last.to_owned())) } else { (name.to_owned(), None) }
}

fn is_shortcut(text: &str) -> bool {
    let function_key = |key: &str| {
        key.strip_prefix('F')
            .is_some_and(|number| number.parse::<u8>().is_ok_and(|number| (1..=24).contains(&number)))
    };
    match text.rsplit_once('+') {
        Some((modifiers, key)) => {
            !key.is_empty()
                && modifiers.split('+').all(|modifier| {
                    matches!(modifier, "Ctrl" | "Alt" | "Shift" | "Meta" | "Super" | "Search")
                })
        }
        None => function_key(text),
    }
}

/// A label without its accelerator mark: `_File` and `Save _As`, where `mark` is `_`; a doubled mark is one
/// of the label's own.
pub fn without_mark(label: &str, mark: char) -> String {
    let mut plain = String::with_capacity(label.len());
    let mut characters = label.chars().peekable();
    while let Some(character) = characters.next() {
        if character != mark {
            plain.push(character);
        } else if characters.peek() == Some(&mark) {
            plain.push(mark);
            characters.next();
        }
    }
    // Where letters are none, the mark's letter stands behind the label in brackets: `文件(_F)`.
    let bracketed = label.find(&format!("({mark}")).filter(|at| label[*at..].chars().count() == 4);
    match bracketed {
        Some(at) if label.ends_with(')') => label[..at].trim_end().to_owned(),
        _ => plain.trim().to_owned(),
    }
}

/// The names on a path: `File > Save As...`. An arrow does as well as `>`.
pub fn parse_path(path: &str) -> Result<Vec<String>> {
    let names: Vec<String> = path
        .split(['>', '→', '›', '▸', '▶'])
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    if names.is_empty() {
        return Err(Error::argument(format!("{path:?} names no menu item."))
            .expected("the names on the way to it, such as File > Save As..."));
    }
    Ok(names)
}

/// The item at the end of a path, from the first menu on. Case, ellipses and accelerator marks are forgiven.
/// `whole` says what the path begins in, for the message when there is no such item.
pub fn find<'m>(menus: &'m [MenuItem], path: &[String], whole: &str) -> Result<Vec<&'m MenuItem>> {
    let mut line: Vec<&MenuItem> = Vec::new();
    let mut level = menus;
    let mut rest = path;
    while !rest.is_empty() {
        let place = line.last().map_or(whole.to_owned(), |item| format!("The menu {:?}", item.name));
        // An item may have the sign in its own name: the longest name that fits is meant.
        let found = (1..=rest.len()).rev().find_map(|count| {
            let wanted = rest[..count].join(" > ");
            one(level, &wanted, &place).transpose().map(|item| (count, item))
        });
        let Some((count, item)) = found else { return Err(no_item(&place, &rest[0], level)) };
        let item = item?;
        line.push(item);
        level = &item.items;
        rest = &rest[count..];
    }
    Ok(line)
}

fn one<'m>(level: &'m [MenuItem], wanted: &str, place: &str) -> Result<Option<&'m MenuItem>> {
    let tests: [&dyn Fn(&str) -> bool; 2] = [&|name| name == wanted, &|name| plain(name) == plain(wanted)];
    for test in tests {
        let matching: Vec<&MenuItem> = level.iter().filter(|item| test(&item.name)).collect();
        let enabled: Vec<&MenuItem> = matching.iter().copied().filter(|item| item.enabled).collect();
        match (&matching[..], &enabled[..]) {
            ([], _) => {}
            ([only], _) | (_, [only]) => return Ok(Some(only)),
            _ => {
                let message = format!("{place} has {} items {wanted:?}; one is needed.", matching.len());
                return Err(Error::new(Code::AmbiguousTarget, message)
                    .found(matching.iter().map(|item| describe(item)))
                    .remedy("Open the menu and click the one you mean by its element."));
            }
        }
    }
    Ok(None)
}

/// A name as it is compared.
fn plain(name: &str) -> String {
    let name = name.split('\t').next().unwrap_or(name).trim();
    let name = name.trim_end_matches(['.', '…', ' ']);
    let kept: String =
        name.chars().filter(|c| !matches!(c, '_' | '&')).flat_map(char::to_lowercase).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// No item has this name; says which there are at that level.
pub fn no_item(place: &str, wanted: &str, level: &[MenuItem]) -> Error {
    let message = match level {
        [] => format!("{place} has no items, so no {wanted:?}."),
        _ => format!("{place} has no item {wanted:?}."),
    };
    Error::new(Code::MenuItemNotFound, message)
        .expected("a name of this level")
        .found(level.iter().map(describe))
        .remedy("Use one of these names; those on a path are parted by >.")
}

/// An item in a few words, for messages.
pub fn describe(item: &MenuItem) -> String {
    let mut text = item.name.clone();
    if item.submenu {
        text.push_str(" >");
    }
    if !item.enabled {
        text.push_str(" (disabled)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(name: &str) -> MenuItem {
        MenuItem {
            id: MenuItemId(name.into()),
            name: name.to_owned(),
            shortcut: None,
            enabled: true,
            checked: None,
            submenu: false,
            items: Vec::new(),
        }
    }

    fn menus() -> Vec<MenuItem> {
        let items = ["Save", "Save As…", "A > B", "Cut && Paste"].map(leaf).to_vec();
        vec![MenuItem { submenu: true, items, ..leaf("File") }, leaf("Help")]
    }

    fn found(path: &str) -> Result<String> {
        let path = parse_path(path)?;
        find(&menus(), &path, "The window")
            .map(|line| line.iter().map(|item| &*item.name).collect::<Vec<_>>().join("/"))
    }

    #[test]
    fn case_ellipses_and_marks_are_forgiven() {
        for path in [
            "File > Save As...",
            "_file>save _as",
            "FILE → &Save As…",
            "File ›  Save  As",
            "File>Save As\tCtrl+S",
        ] {
            assert_eq!(found(path).unwrap(), "File/Save As…", "{path}");
        }
        assert_eq!(found("file > save").unwrap(), "File/Save");
        assert_eq!(found("File > A > B").unwrap(), "File/A > B");
        assert_eq!(found("File > cut & paste").unwrap(), "File/Cut && Paste");
    }

    #[test]
    fn a_wrong_path_tells_what_there_is_at_that_level() {
        let error = found("File > Sive").unwrap_err();
        assert_eq!(error.code, Code::MenuItemNotFound);
        assert_eq!(error.message, "The menu \"File\" has no item \"Sive\".");
        assert_eq!(error.detail.found, ["Save", "Save As…", "A > B", "Cut && Paste"]);
        let error = found("Edit > Copy").unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.detail.found),
            ("The window has no item \"Edit\".", vec!["File >".to_owned(), "Help".to_owned()])
        );
        assert_eq!(found(" > ").unwrap_err().code, Code::InvalidArgument);
    }

    #[test]
    fn marks_are_taken_out_of_labels() {
        for (label, plain) in [
            ("_File", "File"),
            ("Save _As…", "Save As…"),
            ("a__b", "a_b"),
            ("文件(_F)", "文件"),
            ("New      ", "New"),
        ] {
            assert_eq!(without_mark(label, '_'), plain);
        }
    }

    #[test]
    fn keys_behind_a_name_are_its_shortcut() {
        let pair = |name: &str, keys: Option<&str>| (name.to_owned(), keys.map(str::to_owned));
        assert_eq!(apart("New tab Ctrl+T"), pair("New tab", Some("Ctrl+T")));
        assert_eq!(apart("Full screen F11"), pair("Full screen", Some("F11")));
        assert_eq!(
            apart("Delete browsing data… Ctrl+Shift+Del"),
            pair("Delete browsing data…", Some("Ctrl+Shift+Del"))
        );
        assert_eq!(apart("C+ C++"), pair("C+ C++", None));
        assert_eq!(apart("More tools"), pair("More tools", None));
    }
}
