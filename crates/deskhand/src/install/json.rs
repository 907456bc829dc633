//! JSON with comments, changed in one place. The parser says where things stand; the text is cut and pasted there, so
//! that every other byte stays by construction.

use super::{Fault, OTHER_WAYS};
use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::Value;

/// The members of an entry.
type Fields = [(String, Value)];

/// The entry `name` among the servers.
pub fn look(text: &str, under: &str, name: &str) -> Result<Option<Value>, Fault> {
    let parsed = Parsed::new(text)?;
    let Some(servers) = parsed.servers(under)? else { return Ok(None) };
    Ok(member(servers, name)?.map(|entry| plain(&entry.value)))
}

/// The text with a new entry, last among the servers.
pub fn insert(text: &str, under: &str, name: &str, fields: &Fields) -> Result<String, Fault> {
    let parsed = Parsed::new(text)?;
    let entry = Value::Object(fields.iter().cloned().collect());
    let among = |name: &str, entry| Value::Object([(name.to_owned(), entry)].into_iter().collect());
    let style = parsed.style();
    match (parsed.root()?, parsed.servers(under)?) {
        (None, _) => {
            let all = style.render(&among(under, among(name, entry)), "");
            let comments = text.trim_end();
            let gap = if comments.is_empty() { "" } else { style.newline };
            Ok(format!("{comments}{gap}{all}{}", style.newline))
        }
        (Some(root), None) => Ok(parsed.add(root, under, &among(name, entry))),
        (Some(_), Some(servers)) => Ok(parsed.add(servers, name, &entry)),
    }
}

/// The text with the entry saying what is wanted. Its other members stay, but for those that exclude a command.
pub fn overwrite(text: &str, under: &str, name: &str, fields: &Fields) -> Result<String, Fault> {
    let mut text = text.to_owned();
    for (key, wanted) in fields {
        text = set(&text, under, name, key, wanted, fields)?;
    }
    for way in OTHER_WAYS {
        let parsed = Parsed::new(&text)?;
        let Some(entry) = parsed.entry(under, name)? else { continue };
        if let Node::Object(object) = &entry.value
            && member(object, way)?.is_some()
        {
            text = parsed.cut(object, way);
        }
    }
    Ok(text)
}

/// The text without the entry.
pub fn remove(text: &str, under: &str, name: &str) -> Result<String, Fault> {
    let parsed = Parsed::new(text)?;
    Ok(match parsed.servers(under)? {
        Some(servers) => parsed.cut(servers, name),
        None => text.to_owned(),
    })
}

/// One member of the entry set, or the whole entry where it is no object.
fn set(
    text: &str,
    under: &str,
    name: &str,
    key: &str,
    wanted: &Value,
    all: &Fields,
) -> Result<String, Fault> {
    let parsed = Parsed::new(text)?;
    let Some(entry) = parsed.entry(under, name)? else { return Ok(text.to_owned()) };
    let style = parsed.style();
    let replaced = |node: &Node, new: &str| format!("{}{new}{}", &text[..node.start()], &text[node.end()..]);
    match &entry.value {
        Node::Object(object) => Ok(match member(object, key)? {
            Some(there) if plain(&there.value) == *wanted => text.to_owned(),
            Some(there) => replaced(&there.value, &style.render(wanted, "")),
            // What a client takes for granted is not written into an entry that goes without.
            None if key == "type" => text.to_owned(),
            None => parsed.add(object, key, wanted),
        }),
        node => {
            let indent = parsed.indent_of_line(entry.start());
            let entry = Value::Object(all.iter().cloned().collect());
            Ok(replaced(node, &style.render(&entry, indent)))
        }
    }
}

/// A text and what stands where.
struct Parsed<'a> {
    text: &'a str,
    value: Option<Node<'a>>,
    /// With the comments.
    tokens: Vec<TokenAndRange<'a>>,
}

impl<'a> Parsed<'a> {
    fn new(text: &'a str) -> Result<Parsed<'a>, Fault> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        // What editors read as settings: JSON, comments and trailing commas. No client reads the rest of JSON5.
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = parse_to_ast(text, &collect, &options).map_err(|error| Fault {
            at: error.range().start,
            what: format!("this is not JSON: {}", error.kind()),
        })?;
        Ok(Parsed { text, value: parsed.value, tokens: parsed.tokens.unwrap_or_default() })
    }

    /// The object that is the file; none where the file is empty but for comments.
    fn root(&self) -> Result<Option<&Object<'a>>, Fault> {
        self.value.as_ref().map(|value| object(value, "the file")).transpose()
    }

    fn servers(&self, under: &str) -> Result<Option<&Object<'a>>, Fault> {
        let Some(root) = self.root()? else { return Ok(None) };
        member(root, under)?.map(|servers| object(&servers.value, &format!("{under:?}"))).transpose()
    }

    fn entry(&self, under: &str, name: &str) -> Result<Option<&ObjectProp<'a>>, Fault> {
        self.servers(under)?.map_or(Ok(None), |servers| member(servers, name))
    }

    /// How this file is written.
    fn style(&self) -> Style {
        let one_line = self.value.is_some() && !self.text.trim().contains('\n');
        let first = match &self.value {
            Some(Node::Object(root)) => root.properties.first(),
            _ => None,
        };
        let unit = first.and_then(|first| self.own_indent(first)).filter(|unit| !unit.is_empty());
        Style {
            unit: unit.unwrap_or("  ").to_owned(),
            newline: if self.text.contains("\r\n") { "\r\n" } else { "\n" },
            one_line,
            tight: one_line && !self.text.contains("\": ") && self.text.contains("\":"),
        }
    }

    /// The white space before a member that begins its line.
    fn own_indent(&self, member: &ObjectProp) -> Option<&'a str> {
        let line = self.text[..member.start()].rfind('\n')? + 1;
        let before = &self.text[line..member.start()];
        before.trim().is_empty().then_some(before)
    }

    /// The white space with which the line of a byte begins.
    fn indent_of_line(&self, at: usize) -> &'a str {
        let line = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &self.text[line..];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }

    /// The text with one more member at the end of an object.
    fn add(&self, object: &Object, key: &str, value: &Value) -> String {
        let (text, style) = (self.text, self.style());
        let Some(last) = object.properties.last() else { return self.fill(object, key, value) };
        let comma = self.comma_after(last.end());
        let mut at = comma.map_or(last.end(), |comma| comma.end());
        let many_lines = text[object.start()..object.end()].contains('\n');
        let own = object.properties.iter().find_map(|member| self.own_indent(member));
        let indent = own
            .map_or_else(|| format!("{}{}", self.indent_of_line(object.start()), style.unit), str::to_owned);
        // A comment behind the last member on its line is about that one, and stays there.
        let behind = self.tokens.partition_point(|token| token.start() < at);
        for comment in &self.tokens[behind..] {
            if !is_comment(comment) || text[at..comment.start()].contains('\n') {
                break;
            }
            at = comment.end();
        }
        let (gap, style) = match many_lines {
            true => (format!("{}{indent}", style.newline), Style { one_line: false, tight: false, ..style }),
            false if style.tight => (String::new(), style),
            false => (" ".to_owned(), Style { one_line: true, ..style }),
        };
        let new = style.member(key, value, &indent);
        // A list whose last member has a comma keeps that manner.
        let (separating, trailing) = if comma.is_some() { ("", ",") } else { (",", "") };
        let (end, rest) = (last.end(), &text[at..]);
        format!("{}{separating}{}{gap}{new}{trailing}{rest}", &text[..end], &text[end..at])
    }

    /// The text with a first member in an empty object.
    fn fill(&self, object: &Object, key: &str, value: &Value) -> String {
        let (text, style) = (self.text, self.style());
        let close = object.end() - 1;
        let inside = text[object.start() + 1..close].trim_end();
        let (open, rest) = (&text[..=object.start()], &text[close..]);
        if style.one_line && self.value.as_ref().is_some_and(|root| root.start() != object.start()) {
            return format!("{open}{inside}{}{rest}", style.member(key, value, ""));
        }
        let style = Style { one_line: false, tight: false, ..style };
        let outer = self.indent_of_line(object.start());
        let inner = format!("{outer}{}", style.unit);
        let new = style.member(key, value, &inner);
        let line = style.newline;
        format!("{open}{inside}{line}{inner}{new}{line}{outer}{rest}")
    }

    /// The text without a member of an object, its comma, and its line where nothing else stands there.
    fn cut(&self, object: &Object, key: &str) -> String {
        let text = self.text;
        let Some(index) = object.properties.iter().position(|member| member.name.as_str() == key) else {
            return text.to_owned();
        };
        let gone = &object.properties[index];
        let comma = self.comma_after(gone.end());
        let (mut start, mut end) = (gone.start(), comma.map_or(gone.end(), |comma| comma.end()));
        let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &text[end..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
        if text[line..start].trim().is_empty() && rest[blank..].starts_with('\n') {
            (start, end) = (line, end + blank + 1);
        } else if comma.is_some() {
            end += blank;
        } else {
            start = text[..start].trim_end_matches([' ', '\t']).len();
        }
        let close = object.end() - 1;
        let empty = text[object.start() + 1..start].trim().is_empty() && text[end..close].trim().is_empty();
        if empty {
            return format!("{}{}", &text[..=object.start()], &text[close..]);
        }
        let mut before = text[..start].to_owned();
        // The comma before the last member goes with it, where it separated and did not trail.
        if comma.is_none() && 0 < index {
            let previous = self.comma_after(object.properties[index - 1].end());
            if let Some(previous) = previous {
                before.replace_range(previous.start()..previous.end(), "");
            }
        }
        format!("{before}{}", &text[end..])
    }

    /// The comma that follows, comments aside.
    fn comma_after(&self, at: usize) -> Option<&TokenAndRange<'a>> {
        let next = self.tokens.iter().find(|token| at <= token.start() && !is_comment(token))?;
        (next.token == Token::Comma).then_some(next)
    }
}

/// How new text is written.
struct Style {
    unit: String,
    newline: &'static str,
    one_line: bool,
    /// Without spaces, as programs write.
    tight: bool,
}

impl Style {
    fn member(&self, key: &str, value: &Value, indent: &str) -> String {
        let colon = if self.tight { ":" } else { ": " };
        format!("{}{colon}{}", Value::from(key), self.render(value, indent))
    }

    /// Objects with a line for each member; lists in one line.
    fn render(&self, value: &Value, indent: &str) -> String {
        let comma = if self.tight { "," } else { ", " };
        match value {
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.render(item, indent)).collect();
                format!("[{}]", items.join(comma))
            }
            Value::Object(members) => {
                let inner = format!("{indent}{}", self.unit);
                let members: Vec<String> =
                    members.iter().map(|(key, value)| self.member(key, value, &inner)).collect();
                if self.one_line {
                    return format!("{{{}}}", members.join(comma));
                }
                let line = self.newline;
                format!("{{{line}{inner}{}{line}{indent}}}", members.join(&format!(",{line}{inner}")))
            }
            scalar => scalar.to_string(),
        }
    }
}

/// The member of that name. Of two, clients take the last, and people see the first: nobody could be right.
fn member<'o, 'a>(object: &'o Object<'a>, name: &str) -> Result<Option<&'o ObjectProp<'a>>, Fault> {
    let mut found = object.properties.iter().filter(|member| member.name.as_str() == name);
    let first = found.next();
    match found.next() {
        Some(second) => Err(Fault { at: second.start(), what: format!("{name:?} stands there twice") }),
        None => Ok(first),
    }
}

fn object<'o, 'a>(value: &'o Node<'a>, what: &str) -> Result<&'o Object<'a>, Fault> {
    let is = match value {
        Node::Object(object) => return Ok(object),
        Node::StringLit(_) => "text",
        Node::NumberLit(_) => "a number",
        Node::BooleanLit(_) => "true or false",
        Node::Array(_) => "a list",
        Node::NullKeyword(_) => "null",
    };
    Err(Fault { at: value.start(), what: format!("{what} is {is}, where an object is expected") })
}

fn is_comment(token: &TokenAndRange) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// A value without its place. Numbers that JSON's own types do not hold become text: they are only compared.
fn plain(node: &Node) -> Value {
    match node {
        Node::StringLit(text) => Value::from(text.value.as_ref()),
        Node::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_else(|_| number.value.into()),
        Node::BooleanLit(flag) => Value::from(flag.value),
        Node::Array(list) => list.elements.iter().map(plain).collect(),
        Node::Object(object) => object
            .properties
            .iter()
            .map(|member| (member.name.as_str().to_owned(), plain(&member.value)))
            .collect(),
        Node::NullKeyword(_) => Value::Null,
    }
}
