//! The public surface: one file for each noun. This list is the table that everything else reads.

pub mod apps;
pub mod audio;
pub mod automation;
pub mod clipboard;
pub mod elements;
pub mod evidence;
pub mod files;
pub mod find;
pub mod gesture;
pub mod keyboard;
pub mod macros;
pub mod marks;
pub mod menu_buttons;
pub mod menus;
pub mod more;
pub mod mouse_control;
pub mod notifications;
pub mod observations;
pub mod ocr;
pub mod page;
pub mod pointer;
pub mod recording;
pub mod screen;
pub mod scripting;
pub mod scroll;
pub mod send_keys;
pub mod sessions;
pub mod status_items;
pub mod steps;
pub mod system;
pub mod target;
pub mod wait;
pub mod windows;

use crate::tool::Row;
use serde_json::Value;

/// Every table, in the order in which tools are listed.
static TABLES: &[&[Row]] = &[
    screen::TOOLS,
    ocr::TOOLS,
    elements::TOOLS,
    wait::TOOLS,
    observations::TOOLS,
    pointer::TOOLS,
    scroll::TOOLS,
    gesture::TOOLS,
    keyboard::TOOLS,
    windows::TOOLS,
    apps::TOOLS,
    menus::TOOLS,
    status_items::TOOLS,
    audio::TOOLS,
    system::TOOLS,
    clipboard::TOOLS,
    notifications::TOOLS,
    files::TOOLS,
    scripting::TOOLS,
    steps::TOOLS,
    more::TOOLS,
    macros::TOOLS,
    recording::TOOLS,
    sessions::TOOLS,
];

/// Tools that keep the contract of another tool set. They act through the canonical ones, can be called
/// under every profile and are listed by their own.
static ADAPTERS: &[&[Row]] = &[mouse_control::TOOLS, automation::TOOLS];

/// Another name of a tool, with the arguments it adds or changes.
pub struct Alias {
    /// The other name.
    pub name: &'static str,
    /// The tool behind it.
    pub tool: &'static str,
    /// Turns its arguments into the tool's.
    pub adapt: fn(Value) -> Value,
}

/// Other names of tools.
static ALIASES: &[&[Alias]] = &[
    screen::ALIASES,
    ocr::ALIASES,
    files::ALIASES,
    elements::ALIASES,
    pointer::ALIASES,
    scroll::ALIASES,
    keyboard::ALIASES,
    windows::ALIASES,
    clipboard::ALIASES,
    menus::ALIASES,
];

/// Every canonical tool.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// Every tool that keeps the contract of another tool set.
pub fn adapters() -> impl Iterator<Item = &'static Row> {
    ADAPTERS.iter().flat_map(|table| table.iter())
}

/// Every tool that has a row.
pub fn all() -> impl Iterator<Item = &'static Row> {
    rows().chain(adapters())
}

/// The tool of this name.
pub fn row(name: &str) -> Option<&'static Row> {
    all().find(|row| row.name == name)
}

/// Every other name.
pub fn aliases() -> impl Iterator<Item = &'static Alias> {
    ALIASES.iter().flat_map(|table| table.iter())
}

/// Every name that can be called.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|row| row.name).chain(aliases().map(|alias| alias.name))
}

/// The tool that a name stands for, with its arguments as the tool takes them.
pub fn find(name: &str, arguments: Value) -> Option<(&'static Row, Value)> {
    if let Some(row) = row(name) {
        return Some((row, arguments));
    }
    let alias = aliases().find(|alias| alias.name == name)?;
    Some((row(alias.tool)?, (alias.adapt)(arguments)))
}

/// An alias that changes nothing but the name.
pub const fn same(name: &'static str, tool: &'static str) -> Alias {
    Alias { name, tool, adapt: std::convert::identity }
}

/// Adds an argument unless the caller gave it.
pub fn with(mut arguments: Value, name: &str, value: Value) -> Value {
    if arguments.is_null() {
        arguments = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(object) = &mut arguments {
        object.entry(name).or_insert(value);
    }
    arguments
}
