//! TOML, changed in one place. A new table goes to the end of the file, where it is valid whatever stands before.

use super::{Fault, OTHER_WAYS};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, TomlError, Value as Node};

/// The members of an entry.
type Fields = [(String, Value)];

/// The entry `name` among the servers.
pub fn look(text: &str, under: &str, name: &str) -> Result<Option<Value>, Fault> {
    let document = parse(text)?;
    let Some(servers) = servers(text, &document, under)? else { return Ok(None) };
    Ok(servers.get(name).map(plain))
}

/// The text with a new entry, at its end.
pub fn insert(text: &str, under: &str, name: &str, fields: &Fields) -> Result<String, Fault> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut new = text.to_owned();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push_str(newline);
    }
    if !new.trim().is_empty() {
        new.push_str(newline);
    }
    new.push_str(&format!("[{under}.{name}]{newline}"));
    for (key, value) in fields {
        new.push_str(&format!("{key} = {}{newline}", written(value)));
    }
    // A table that was written within braces is closed, and nothing can follow it elsewhere.
    parse(&new).map_err(|fault| Fault {
        at: text.len(),
        what: format!("a table for {name} cannot follow here: {}", fault.what),
    })?;
    Ok(new)
}

/// The text with the entry saying what is wanted. Its other members stay, but for those that exclude a command.
pub fn overwrite(text: &str, under: &str, name: &str, fields: &Fields) -> Result<String, Fault> {
    let mut document = parse(text)?;
    let Some(servers) = document.get_mut(under).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if servers.get(name).is_some_and(|entry| entry.as_table_like().is_none()) {
        servers.insert(name, Item::Table(Table::new()));
    }
    if let Some(entry) = servers.get_mut(name).and_then(Item::as_table_like_mut) {
        for (key, value) in fields {
            put(entry, key, value);
        }
        for way in OTHER_WAYS {
            entry.remove(way);
        }
    }
    Ok(same_lines(text, document.to_string()))
}

/// The text without the entry.
pub fn remove(text: &str, under: &str, name: &str) -> Result<String, Fault> {
    let mut document = parse(text)?;
    if let Some(servers) = document.get_mut(under).and_then(Item::as_table_like_mut) {
        servers.remove(name);
    }
    Ok(same_lines(text, document.to_string()))
}

/// Sets a member; what stands around its value, such as a comment behind it, stays.
fn put(entry: &mut dyn TableLike, key: &str, value: &Value) {
    if entry.get(key).map(plain).as_ref() == Some(value) {
        return;
    }
    let mut new = node(value);
    if let Some(there) = entry.get_mut(key).and_then(Item::as_value_mut) {
        *new.decor_mut() = there.decor().clone();
        *there = new;
    } else {
        entry.insert(key, Item::Value(new));
    }
}

fn parse(text: &str) -> Result<DocumentMut, Fault> {
    text.parse().map_err(|error: TomlError| Fault {
        at: error.span().map_or(0, |span| span.start),
        what: format!("this is not TOML: {}", error.message().trim_end_matches('.').replace('\n', ", ")),
    })
}

fn servers<'d>(
    text: &str,
    document: &'d DocumentMut,
    under: &str,
) -> Result<Option<&'d dyn TableLike>, Fault> {
    let Some(item) = document.get(under) else { return Ok(None) };
    item.as_table_like().map(Some).ok_or_else(|| Fault {
        // A parsed document that can be changed has forgotten where things stood.
        at: text.find(under).unwrap_or(0),
        what: format!("{under} is {}, where a table is expected", item.type_name()),
    })
}

/// The crate ends lines its own way.
fn same_lines(was: &str, new: String) -> String {
    let all_windows = was.contains("\r\n") && was.matches("\r\n").count() == was.matches('\n').count();
    if all_windows { new.replace("\r\n", "\n").replace('\n', "\r\n") } else { new }
}

fn written(value: &Value) -> String {
    node(value).to_string()
}

fn node(value: &Value) -> Node {
    match value {
        Value::Array(items) => Node::Array(items.iter().map(node).collect::<Array>()),
        Value::String(text) => Node::from(text.as_str()),
        other => Node::from(other.to_string()),
    }
}

/// A value without its place.
fn plain(item: &Item) -> Value {
    match item {
        Item::Value(value) => plain_value(value),
        Item::Table(table) => members(table),
        Item::None | Item::ArrayOfTables(_) => Value::Null,
    }
}

fn plain_value(value: &Node) -> Value {
    match value {
        Node::String(text) => Value::from(text.value().as_str()),
        Node::Integer(number) => Value::from(*number.value()),
        Node::Float(number) => Value::from(*number.value()),
        Node::Boolean(flag) => Value::from(*flag.value()),
        Node::Datetime(time) => Value::from(time.value().to_string()),
        Node::Array(list) => list.iter().map(plain_value).collect(),
        Node::InlineTable(table) => members(table),
    }
}

fn members(table: &dyn TableLike) -> Value {
    table.iter().map(|(key, item)| (key.to_owned(), plain(item))).collect()
}
