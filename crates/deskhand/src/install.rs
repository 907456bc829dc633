//! `deskhand install`: Deskhand's entry in the configuration of a client.
//!
//! The files are other programs', and people write in them by hand. So one place of them is changed and every other
//! byte stays, an entry that is there already is not overwritten unasked, and a file that cannot be understood is left
//! alone. It is deliberately no package manager: it installs nothing but the entry, and starts nothing.

mod clients;
mod file;
mod json;
mod toml;

pub use clients::{CLIENTS, Client, Platform, Scope, Surroundings};

use deskhand_core::{Code, Error, Result};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What a client is to start, and under which name.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The name of the server in the client's list.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The entry was added.
    Added,
    /// It was there, just like that; whether the client has it switched off.
    AlreadyThere {
        /// Whether the entry says that it is not to be started.
        off: bool,
    },
    /// Something else is there under that name, and was kept: what differs, line by line.
    Kept(Vec<String>),
    /// Something else was there and has been replaced.
    Replaced(Vec<String>),
    /// The entry was removed.
    Removed,
    /// There was no entry to remove.
    NotThere,
}

/// How configuration is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    /// JSON, with comments and trailing commas where they are.
    Json,
    Toml,
}

/// What is wrong with a file, and where.
#[derive(Debug, PartialEq)]
struct Fault {
    /// The byte at which it shows.
    at: usize,
    /// A sentence without its end.
    what: String,
}

/// Ways to reach a server that exclude a command: a client would not know which of both is meant.
const OTHER_WAYS: [&str; 4] = ["url", "httpUrl", "serverUrl", "headers"];

/// Puts the entry into a client's file.
pub fn install(client: &Client, path: &Path, entry: &Entry, force: bool) -> Result<Outcome> {
    let path = &file::resolve(path)?;
    let held = file::read(path)?;
    let text = held.as_deref().unwrap_or_default();
    let (outcome, new) = put(client, text, entry, force).map_err(|fault| refused(path, text, &fault))?;
    if let Some(new) = new {
        file::write(path, held.as_deref(), &new)?;
        read_back(client, path, entry)?;
    }
    Ok(outcome)
}

/// Takes the entry out of a client's file: one that starts Deskhand, or any with `force`.
pub fn remove(client: &Client, path: &Path, entry: &Entry, force: bool) -> Result<Outcome> {
    let path = &file::resolve(path)?;
    let Some(held) = file::read(path)? else { return Ok(Outcome::NotThere) };
    let (outcome, new) = take(client, &held, entry, force).map_err(|fault| refused(path, &held, &fault))?;
    if let Some(new) = new {
        file::write(path, Some(&held), &new)?;
    }
    Ok(outcome)
}

/// What stands in a client's file: nothing, the entry, or another one of that name, as far as it differs.
pub fn examine(client: &Client, path: &Path, entry: &Entry) -> Result<Outcome> {
    let path = &file::resolve(path)?;
    let held = file::read(path)?;
    let text = held.as_deref().unwrap_or_default();
    let found = client.look(text, &entry.name).map_err(|fault| refused(path, text, &fault))?;
    Ok(match found {
        None => Outcome::NotThere,
        Some(found) => {
            let differs = difference(client, &found, entry);
            if differs.is_empty() {
                Outcome::AlreadyThere { off: switched_off(&found) }
            } else {
                Outcome::Kept(differs)
            }
        }
    })
}

/// The configuration as it would stand in a file of its own.
pub fn snippet(client: &Client, entry: &Entry) -> String {
    match put(client, "", entry, false) {
        Ok((_, Some(text))) => text,
        // A file without anything holds nothing to refuse.
        Ok((_, None)) | Err(_) => String::new(),
    }
}

/// The path of the program that runs, as the person calls it: by the link in PATH where one leads here, since what it
/// leads to changes its name with the version on some systems.
pub fn own_path() -> Result<PathBuf> {
    let unknown = |error: std::io::Error| {
        Error::backend("The path of the running program is not known.")
            .because(error)
            .remedy("Say it with --command.")
    };
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).map_err(unknown)?;
    let Some(name) = own.file_name() else { return Ok(own) };
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| path.canonicalize().is_ok_and(|path| path == own));
    Ok(found.unwrap_or(own))
}

/// The new text, where something changes.
type Put = (Outcome, Option<String>);

fn put(client: &Client, text: &str, entry: &Entry, force: bool) -> std::result::Result<Put, Fault> {
    let (mark, text) = split_mark(text);
    let fields = client.fields(entry);
    let Some(found) = client.look(text, &entry.name)? else {
        let new = match client.format {
            Format::Json => json::insert(text, client.under, &entry.name, &fields)?,
            Format::Toml => toml::insert(text, client.under, &entry.name, &fields)?,
        };
        return Ok((Outcome::Added, Some(format!("{mark}{new}"))));
    };
    let differs = difference(client, &found, entry);
    if differs.is_empty() {
        return Ok((Outcome::AlreadyThere { off: switched_off(&found) }, None));
    }
    if !force {
        return Ok((Outcome::Kept(differs), None));
    }
    let new = match client.format {
        Format::Json => json::overwrite(text, client.under, &entry.name, &fields)?,
        Format::Toml => toml::overwrite(text, client.under, &entry.name, &fields)?,
    };
    Ok((Outcome::Replaced(differs), Some(format!("{mark}{new}"))))
}

fn take(client: &Client, text: &str, entry: &Entry, force: bool) -> std::result::Result<Put, Fault> {
    let (mark, text) = split_mark(text);
    let Some(found) = client.look(text, &entry.name)? else { return Ok((Outcome::NotThere, None)) };
    if !force && !starts_deskhand(&found, entry) {
        return Ok((Outcome::Kept(difference(client, &found, entry)), None));
    }
    let new = match client.format {
        Format::Json => json::remove(text, client.under, &entry.name)?,
        Format::Toml => toml::remove(text, client.under, &entry.name)?,
    };
    Ok((Outcome::Removed, Some(format!("{mark}{new}"))))
}

/// The byte order mark that some editors put first, and the rest.
fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(text.len() - text.trim_start_matches('\u{feff}').len())
}

/// What an entry has otherwise, as lines: `-` is there, `+` is wanted. Members that say nothing about what is started
/// (variables, limits, trust) are the person's own and no difference.
fn difference(client: &Client, found: &Value, entry: &Entry) -> Vec<String> {
    let Some(members) = found.as_object() else {
        return vec![
            format!("- {found}"),
            format!("+ {}", Value::Object(client.fields(entry).into_iter().collect())),
        ];
    };
    let mut lines = Vec::new();
    for (name, wanted) in client.fields(entry) {
        let there = members.get(&name);
        // A client takes a command for granted where it finds no type.
        if there == Some(&wanted) || (name == "type" && there.is_none()) {
            continue;
        }
        lines.extend(there.map(|there| format!("- {name}: {there}")));
        lines.push(format!("+ {name}: {wanted}"));
    }
    let others = OTHER_WAYS.iter().filter_map(|way| Some((way, members.get(*way)?)));
    // What a header says may be a secret.
    lines.extend(others.map(|(way, value)| match value.as_str() {
        Some(url) => format!("- {way}: {url:?}"),
        None => format!("- {way}"),
    }));
    lines
}

/// Whether the person has switched the entry off in the client.
fn switched_off(found: &Value) -> bool {
    found["disabled"] == json!(true) || found["enabled"] == json!(false)
}

/// Whether an entry is one that starts Deskhand, whatever its arguments.
fn starts_deskhand(found: &Value, entry: &Entry) -> bool {
    let command = found["command"].as_str().unwrap_or_default();
    let stem = Path::new(command).file_stem().and_then(|stem| stem.to_str());
    command == entry.command || stem == Some("deskhand")
}

fn refused(path: &Path, text: &str, fault: &Fault) -> Error {
    let before = text.get(..fault.at.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Error::argument(format!("{}:{line}:{column}: {}.", path.display(), fault.what))
        .remedy("Nothing was changed. Mend the file, or put in by hand what --print shows.")
}

/// Success is what stands in the file.
fn read_back(client: &Client, path: &Path, entry: &Entry) -> Result<()> {
    if matches!(examine(client, path, entry)?, Outcome::AlreadyThere { .. }) {
        return Ok(());
    }
    Err(Error::new(
        Code::Internal,
        format!("{} was written, and does not read as it should.", path.display()),
    )
    .remedy("Look into the file; what --print shows is what should stand there."))
}

impl Client {
    /// The entry of that name, as JSON.
    fn look(&self, text: &str, name: &str) -> std::result::Result<Option<Value>, Fault> {
        let (_, text) = split_mark(text);
        match self.format {
            Format::Json => json::look(text, self.under, name),
            Format::Toml => toml::look(text, self.under, name),
        }
    }

    /// The members of an entry that say what is started.
    fn fields(&self, entry: &Entry) -> Vec<(String, Value)> {
        let kind = self.typed.then(|| ("type".to_owned(), json!("stdio")));
        let command = ("command".to_owned(), json!(entry.command));
        kind.into_iter().chain([command, ("args".to_owned(), json!(entry.arguments))]).collect()
    }
}

#[cfg(test)]
mod tests;
