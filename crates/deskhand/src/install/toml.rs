//! TOML, changed in one place. The parser says where things stand; the text is cut and pasted there, so that every other
//! byte stays by construction. A new table goes to the end of the file, where it is valid whatever stands before.

use super::{Fault, OTHER_WAYS};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::ops::Range;
use toml_parser::decoder::ScalarKind;
use toml_parser::parser::{Event, EventKind, RecursionGuard, ValidateWhitespace, parse_document};
use toml_parser::{ParseError, Source};

/// The members of an entry.
type Fields = [(String, Value)];

/// How deep values may lie in each other.
const DEPTH: u32 = 80;

/// The entry `name` among the servers.
pub fn look(text: &str, under: &str, name: &str) -> Result<Option<Value>, Fault> {
    Ok(Parsed::new(text)?.servers(under)?.get(name).cloned())
}

/// The text with a new entry, at its end.
pub fn insert(text: &str, under: &str, name: &str, fields: &Fields) -> Result<String, Fault> {
    let parsed = Parsed::new(text)?;
    parsed.servers(under)?;
    if let Some(closed) = parsed.value_at(&[under]) {
        return Err(Fault {
            at: closed.at.start,
            what: format!("{under} is written within braces, and nothing can be added to it from elsewhere"),
        });
    }
    let newline = parsed.newline();
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
    Ok(new)
}

/// The text with the entry saying what is wanted. Its other members stay, but for those that exclude a command.
pub fn overwrite(text: &str, under: &str, name: &str, fields: &Fields) -> Result<String, Fault> {
    let mut text = text.to_owned();
    // The last first: each goes in front of what is there.
    for (key, wanted) in fields.iter().rev() {
        text = set(&text, &[under, name], key, wanted)?;
    }
    for way in OTHER_WAYS {
        text = cut_all(text, &[under, name, way])?;
    }
    Ok(text)
}

/// The text without the entry.
pub fn remove(text: &str, under: &str, name: &str) -> Result<String, Fault> {
    cut_all(text.to_owned(), &[under, name])
}

/// One member of the entry set.
fn set(text: &str, entry: &[&str; 2], key: &str, wanted: &Value) -> Result<String, Fault> {
    let parsed = Parsed::new(text)?;
    let [under, name] = *entry;
    if let Some(there) = parsed.value_at(&[under, name, key]) {
        return Ok(match there.value == *wanted {
            true => text.to_owned(),
            false => replaced(text, &there.at, &written(wanted)),
        });
    }
    if let Some(whole) = parsed.value_at(entry) {
        let member = format!("{key} = {}", written(wanted));
        return Ok(match whole.value.as_object() {
            Some(members) if members.is_empty() => replaced(text, &whole.at, &format!("{{ {member} }}")),
            Some(_) => replaced(text, &(whole.at.start + 1..whole.at.start + 1), &format!(" {member},")),
            None => replaced(text, &whole.at, &format!("{{ {member} }}")),
        });
    }
    // In front of a member that is there, written as that one is; else right behind the head of its table.
    let sibling =
        parsed.facts.iter().find(|fact| fact.path.len() == 3 && fact.path[..2] == *entry && !fact.is_head());
    let line = match sibling {
        Some(sibling) => {
            let start = line_start(text, sibling.at.start);
            let before = &text[start..sibling.last_key];
            Some((start, before))
        }
        None => parsed
            .facts
            .iter()
            .find(|fact| fact.is_head() && fact.path == *entry)
            .map(|head| (line_end(text, head.at.end), "")),
    };
    Ok(match line {
        Some((at, before)) => {
            let gap = if text[..at].is_empty() || text[..at].ends_with('\n') { "" } else { parsed.newline() };
            let line = format!("{gap}{before}{key} = {}{}", written(wanted), parsed.newline());
            replaced(text, &(at..at), &line)
        }
        None => text.to_owned(),
    })
}

/// The text without anything at a path or below it.
fn cut_all(mut text: String, path: &[&str]) -> Result<String, Fault> {
    loop {
        let parsed = Parsed::new(&text)?;
        let found = parsed.facts.iter().position(|fact| fact.path.starts_with(&owned(path)));
        let cut = found.map(|found| parsed.without(found));
        match cut {
            Some(new) => text = new,
            None => return Ok(text),
        }
    }
}

/// A text and what stands where.
struct Parsed<'a> {
    text: &'a str,
    facts: Vec<Fact>,
}

/// The head of a table, or a member.
struct Fact {
    /// All keys that lead there. One table of several in a list has a number that no key can be.
    path: Vec<String>,
    /// From its first key, or the bracket, to its end.
    at: Range<usize>,
    /// Where its last key begins.
    last_key: usize,
    /// None for the head of a table.
    value: Option<Placed>,
    /// Whether it stands within the braces of another value.
    within: bool,
}

impl Fact {
    fn is_head(&self) -> bool {
        self.value.is_none()
    }

    fn inside(&self, other: &Fact) -> bool {
        other.at.start < self.at.start && self.at.end < other.at.end
    }
}

struct Placed {
    at: Range<usize>,
    value: Value,
}

impl<'a> Parsed<'a> {
    fn new(text: &'a str) -> Result<Parsed<'a>, Fault> {
        let source = Source::new(text);
        let tokens = source.lex().into_vec();
        let (mut events, mut error): (Vec<Event>, Option<ParseError>) = Default::default();
        {
            let mut checked = ValidateWhitespace::new(&mut events, source);
            let mut guarded = RecursionGuard::new(&mut checked, DEPTH);
            parse_document(&tokens, &mut guarded, &mut error);
        }
        let mut walk = Walk { source, events: &events, next: 0, error, facts: Vec::new() };
        walk.document();
        if let Some(error) = walk.error {
            let at = error.unexpected().or(error.context()).map_or(0, |span| span.start());
            return Err(Fault { at, what: format!("this is not TOML: {}", error.description()) });
        }
        let parsed = Parsed { text, facts: walk.facts };
        parsed.check()?;
        Ok(parsed)
    }

    /// That nothing is said twice, which is no matter of grammar.
    fn check(&self) -> Result<(), Fault> {
        for (index, fact) in self.facts.iter().enumerate() {
            let clash = self.facts[..index].iter().find(|earlier| {
                let closes = |one: &Fact, other: &Fact| {
                    !one.is_head()
                        && other.path.starts_with(&one.path)
                        && !(other.within && other.inside(one))
                };
                closes(earlier, fact)
                    || closes(fact, earlier)
                    || (earlier.is_head() && fact.is_head() && earlier.path == fact.path)
            });
            if clash.is_some() {
                let what = format!("this is not TOML: {} is said twice", fact.path.join("."));
                return Err(Fault { at: fact.at.start, what });
            }
        }
        Ok(())
    }

    /// Everything below the servers.
    fn servers(&self, under: &str) -> Result<Map<String, Value>, Fault> {
        let mut servers = Map::new();
        let below = |fact: &&Fact| !fact.within && fact.path.first().is_some_and(|first| first == under);
        for fact in self.facts.iter().filter(below) {
            let value = fact.value.as_ref().map(|placed| placed.value.clone());
            match (&fact.path[1..], value) {
                ([], Some(Value::Object(members))) => servers.extend(members),
                ([], None) => {}
                ([key, ..], _) if key.starts_with('\0') => {
                    return Err(Fault {
                        at: fact.at.start,
                        what: format!("{under} is a list, where a table is expected"),
                    });
                }
                ([], Some(other)) => {
                    return Err(Fault {
                        at: fact.at.start,
                        what: format!("{under} is {other}, where a table is expected"),
                    });
                }
                (path, value) => put(&mut servers, path, value.unwrap_or_else(|| Value::Object(Map::new()))),
            }
        }
        Ok(servers)
    }

    fn value_at(&self, path: &[&str]) -> Option<&Placed> {
        self.facts.iter().find(|fact| fact.path == *path && !fact.is_head())?.value.as_ref()
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// The text without a member, or without a table and what belongs to it.
    fn without(&self, index: usize) -> String {
        let text = self.text;
        let fact = &self.facts[index];
        if fact.within {
            return self.without_inner(fact);
        }
        let start = line_start(text, fact.at.start);
        let last = match fact.is_head() {
            true => self.facts[index + 1..].iter().take_while(|fact| !fact.is_head()).last().unwrap_or(fact),
            false => fact,
        };
        let mut end = line_end(text, last.at.end);
        let mut kept = &text[..start];
        if fact.is_head() {
            let rest = &text[end..];
            let blank: usize =
                rest.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
            let is_apart = kept.lines().last().is_none_or(|line| line.trim().is_empty());
            end += if is_apart { blank } else { 0 };
            // The line that set it apart from what stands before.
            if text[end..].is_empty() {
                let lines = kept.trim_end_matches([' ', '\t', '\r', '\n']);
                let ending = kept[lines.len()..].find('\n').map_or(0, |newline| newline + 1);
                kept = &kept[..lines.len() + ending];
            }
        }
        format!("{kept}{}", &text[end..])
    }

    /// The text without a member within braces, and without the comma that set it apart.
    fn without_inner(&self, fact: &Fact) -> String {
        let text = self.text;
        let (before, rest) = (&text[..fact.at.start], &text[fact.at.end..]);
        if let Some(rest) = rest.trim_start_matches([' ', '\t']).strip_prefix(',') {
            return format!("{before}{}", rest.trim_start_matches([' ', '\t']));
        }
        match before.trim_end().strip_suffix(',') {
            Some(before) => format!("{before}{rest}"),
            None => {
                format!("{}{}", before.trim_end_matches([' ', '\t']), rest.trim_start_matches([' ', '\t']))
            }
        }
    }
}

/// The way through what the parser tells.
struct Walk<'a> {
    source: Source<'a>,
    events: &'a [Event],
    next: usize,
    error: Option<ParseError>,
    facts: Vec<Fact>,
}

impl<'a> Walk<'a> {
    fn document(&mut self) {
        let mut table = Vec::new();
        while let Some(event) = self.step() {
            let start = event.span().start();
            match event.kind() {
                EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                    let (path, last_key, end) = self.keys();
                    table = path;
                    if event.kind() == EventKind::ArrayTableOpen {
                        table.push(format!("\0{start}"));
                    }
                    let head =
                        Fact { path: table.clone(), at: start..end, last_key, value: None, within: false };
                    self.facts.push(head);
                }
                EventKind::SimpleKey => drop(self.member(start, Some(&table), false)),
                _ => {}
            }
        }
    }

    /// A member, whose first key was just seen, of the table with that path; none within a list.
    fn member(&mut self, start: usize, table: Option<&[String]>, within: bool) -> (Vec<String>, Value) {
        self.next -= 1;
        let (keys, last_key, _) = self.keys();
        let path = table.map(|table| [table, &keys].concat());
        let value = self.value(path.as_deref());
        let plain = value.value.clone();
        if let Some(path) = path {
            self.facts.push(Fact { path, at: start..value.at.end, last_key, value: Some(value), within });
        }
        (keys, plain)
    }

    fn step(&mut self) -> Option<Event> {
        let event = *self.events.get(self.next)?;
        self.next += 1;
        Some(event)
    }

    /// The keys of a head or a member, where the last begins, and where what ends them ends.
    fn keys(&mut self) -> (Vec<String>, usize, usize) {
        let (mut keys, mut last, mut end) = (Vec::new(), 0, 0);
        while let Some(event) = self.step() {
            end = event.span().end();
            match event.kind() {
                EventKind::SimpleKey => {
                    last = event.span().start();
                    let mut key = Cow::Borrowed("");
                    if let Some(raw) = self.source.get(event) {
                        raw.decode_key(&mut key, &mut self.error);
                    }
                    keys.push(key.into_owned());
                }
                EventKind::StdTableClose | EventKind::ArrayTableClose | EventKind::KeyValSep => break,
                _ => {}
            }
        }
        (keys, last, end)
    }

    fn value(&mut self, path: Option<&[String]>) -> Placed {
        while let Some(event) = self.step() {
            let span = event.span();
            match event.kind() {
                EventKind::Scalar => {
                    return Placed { at: span.start()..span.end(), value: self.scalar(event) };
                }
                EventKind::ArrayOpen => return self.list(span.start()),
                EventKind::InlineTableOpen => return self.table(span.start(), path),
                EventKind::Whitespace => {}
                // The parser has told of the fault.
                _ => break,
            }
        }
        Placed { at: 0..0, value: Value::Null }
    }

    fn scalar(&mut self, event: Event) -> Value {
        let mut text = Cow::Borrowed("");
        let Some(raw) = self.source.get(event) else { return Value::Null };
        match raw.decode_scalar(&mut text, &mut self.error) {
            ScalarKind::Boolean(flag) => Value::Bool(flag),
            ScalarKind::String => Value::from(text.into_owned()),
            // Only compared, and written as they stood.
            ScalarKind::DateTime | ScalarKind::Float | ScalarKind::Integer(_) => {
                serde_json::from_str(&text).unwrap_or_else(|_| Value::from(raw.as_str()))
            }
        }
    }

    fn list(&mut self, start: usize) -> Placed {
        let mut items = Vec::new();
        while let Some(event) = self.step() {
            match event.kind() {
                EventKind::ArrayClose => {
                    return Placed { at: start..event.span().end(), value: Value::Array(items) };
                }
                EventKind::Scalar | EventKind::ArrayOpen | EventKind::InlineTableOpen => {
                    self.next -= 1;
                    items.push(self.value(None).value);
                }
                _ => {}
            }
        }
        Placed { at: start..start, value: Value::Array(items) }
    }

    fn table(&mut self, start: usize, path: Option<&[String]>) -> Placed {
        let mut members = Map::new();
        while let Some(event) = self.step() {
            match event.kind() {
                EventKind::InlineTableClose => {
                    return Placed { at: start..event.span().end(), value: Value::Object(members) };
                }
                EventKind::SimpleKey => {
                    let (keys, value) = self.member(event.span().start(), path, true);
                    put(&mut members, &keys, value);
                }
                _ => {}
            }
        }
        Placed { at: start..start, value: Value::Object(members) }
    }
}

/// Puts a value where a path leads. A table that is there already keeps what it has.
fn put(members: &mut Map<String, Value>, path: &[String], value: Value) {
    let [key, rest @ ..] = path else { return };
    let there = members.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
    match (rest, there) {
        ([], Value::Object(there)) if value.as_object().is_some_and(Map::is_empty) && !there.is_empty() => {}
        ([], there) => *there = value,
        (rest, Value::Object(there)) => put(there, rest, value),
        (_, _) => {}
    }
}

/// A value as TOML. JSON's strings and lists of them are TOML's, but for one character.
fn written(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        scalar => scalar.to_string().replace('\u{7f}', "\\u007f"),
    }
}

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|key| (*key).to_owned()).collect()
}

fn replaced(text: &str, at: &Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..at.start], &text[at.end..])
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Behind the end of the line.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}
