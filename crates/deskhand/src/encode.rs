//! A result as MCP content, as bare JSON, or as text for a terminal.

use crate::tool::Reply;
use deskhand_core::{Error, Result};
use serde_json::{Value, json};
use std::fmt::Write;

/// The longest error text that every client shows whole.
const LONGEST_ERROR: usize = 10_000;

/// The `result` member of `tools/call`, by the MCP specification ("Tool Result").
pub fn mcp(result: &Result<Reply>) -> Value {
    match result {
        Ok(Reply::Picture(picture)) => json!({
            "content": [
                { "type": "image", "data": &*picture.base64, "mimeType": picture.mime },
                { "type": "text", "text": picture.text },
            ],
            "isError": false,
        }),
        Ok(Reply::Reading(text)) => json!({
            "content": [{ "type": "text", "text": text }],
            "isError": false,
        }),
        Ok(Reply::Data(data)) => json!({
            "content": [{ "type": "text", "text": data.to_string() }],
            "structuredContent": data,
            "isError": false,
        }),
        Err(error) => json!({
            "content": [{ "type": "text", "text": error_text(error) }],
            "isError": true,
        }),
    }
}

/// An error as its JSON, cut where a client would cut it.
pub fn error_text(error: &Error) -> String {
    let mut text = serde_json::to_string(error).unwrap_or_else(|_| error.to_string());
    if text.len() > LONGEST_ERROR {
        let short = Error::new(error.code, error.message.chars().take(2000).collect::<String>());
        text = serde_json::to_string(&short).unwrap_or_default();
    }
    text
}

/// A result as JSON for a program.
pub fn json(result: &Result<Reply>) -> Value {
    match result {
        Ok(Reply::Picture(picture)) => picture.data.clone(),
        Ok(Reply::Reading(text)) => json!(text),
        Ok(Reply::Data(data)) => data.clone(),
        Err(error) => serde_json::to_value(error).unwrap_or_else(|_| json!(error.to_string())),
    }
}

/// A result as text for a person at a terminal.
pub fn terminal(result: &Result<Reply>) -> String {
    match result {
        Ok(Reply::Picture(picture)) => picture.text.clone(),
        Ok(Reply::Reading(text)) => text.clone(),
        Ok(Reply::Data(data)) => {
            let mut text = String::new();
            outline(&mut text, data, 0);
            text.trim_end().to_owned()
        }
        Err(error) => {
            let mut text = format!("{}: {}", error.code, error.message);
            if let Some(expected) = &error.detail.expected {
                let _ = write!(text, "\n  expected: {expected}");
            }
            if !error.detail.found.is_empty() {
                let _ = write!(text, "\n  found: {}", error.detail.found.join("; "));
            }
            if let Some(os) = &error.detail.os {
                let _ = write!(text, "\n  system: {os}");
            }
            if let Some(remedy) = &error.detail.remedy {
                let _ = write!(text, "\n  remedy: {remedy}");
            }
            text
        }
    }
}

/// JSON as indented `key: value` lines; an object without nesting fits one line.
fn outline(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(object) => {
            for (key, member) in object {
                let _ = write!(text, "{:indent$}{key}:", "");
                match flat(member) {
                    Some(flat) => {
                        let _ = writeln!(text, " {flat}");
                    }
                    None => {
                        text.push('\n');
                        outline(text, member, indent + 2);
                    }
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                let flat = flat(item).unwrap_or_else(|| line_of(item));
                let _ = writeln!(text, "{:indent$}- {flat}", "");
            }
        }
        other => {
            let _ = writeln!(text, "{:indent$}{}", "", plain(other));
        }
    }
}

fn flat(value: &Value) -> Option<String> {
    match value {
        Value::Object(object) if object.values().all(|member| !member.is_object() && !member.is_array()) => {
            Some(line_of(value))
        }
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            Some(items.iter().map(plain).collect::<Vec<_>>().join(", "))
        }
        Value::Object(_) | Value::Array(_) => None,
        other => Some(plain(other)),
    }
}

fn line_of(value: &Value) -> String {
    match value {
        Value::Object(object) => object
            .iter()
            .map(|(key, member)| match member {
                Value::Object(_) => format!("{key} {{{}}}", line_of(member)),
                Value::Array(_) => format!("{key} [{}]", line_of(member)),
                other => format!("{key} {}", plain(other)),
            })
            .collect::<Vec<_>>()
            .join("  "),
        Value::Array(items) => items.iter().map(line_of).collect::<Vec<_>>().join(", "),
        other => plain(other),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() || text.contains(char::is_whitespace) => format!("{text:?}"),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
