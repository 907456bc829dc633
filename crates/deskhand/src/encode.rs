//! A result as MCP content, as bare JSON, or as text for a terminal.

use crate::line::Line;
use crate::tool::Reply;
use deskhand_core::{Error, Result};
use serde_json::{Value, json};
use std::fmt::Write;

/// The longest error text that every client shows whole.
const LONGEST_ERROR: usize = 10_000;

/// A failure in the shape of the contract that its tool keeps. It travels with the error, which stays what it
/// is to everything but an encoding.
#[derive(Debug)]
struct Shown(Value);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Shown {}

/// Lets clients see this object instead of the error's own.
pub fn show_as(mut error: Error, shown: Value) -> Error {
    // What was underneath stands in the detail as text.
    error.source = Some(Box::new(Shown(shown)));
    error
}

/// What clients see instead of the error's own object, if anything.
pub fn shown(error: &Error) -> Option<&Value> {
    let source = error.source.as_ref()?;
    source.downcast_ref::<Shown>().map(|shown| &shown.0)
}

/// The `result` member of `tools/call`, by the MCP specification ("Tool Result").
pub fn mcp(result: &Result<Reply>) -> Value {
    let mut line = Line::default();
    write_mcp(&mut line, result, false);
    serde_json::from_slice(&line.into_bytes()).unwrap_or_default()
}

/// The same as bytes at the end of a line. Written by hand because a picture is large: it is neither copied
/// nor looked at again. `typed` adds the `resultType` that protocol versions from 2026-07-28 ask for.
pub fn write_mcp(whole: &mut Line, result: &Result<Reply>, typed: bool) {
    let mut line = whole.own();
    line.extend_from_slice(if typed {
        br#"{"resultType":"complete","content":["#
    } else {
        br#"{"content":["#
    });
    match result {
        Ok(Reply::Picture(picture)) => {
            line.extend_from_slice(br#"{"type":"image","data":""#);
            picture.base64.iter().for_each(|piece| whole.share(piece.clone()));
            line = whole.own();
            line.extend_from_slice(br#"","mimeType":"#);
            write_string(line, picture.mime);
            line.extend_from_slice(br#"},{"type":"text","text":"#);
            write_string(line, &picture.text);
        }
        Ok(Reply::Reading(text)) => {
            line.extend_from_slice(br#"{"type":"text","text":"#);
            write_string(line, text);
        }
        Ok(Reply::Data(data)) => {
            let text = data.to_string();
            line.extend_from_slice(br#"{"type":"text","text":"#);
            write_string(line, &text);
            // Structured content has to be an object.
            if !data.is_object() {
                line.extend_from_slice(br#"}],"isError":false}"#);
                return;
            }
            line.extend_from_slice(br#"}],"structuredContent":"#);
            line.extend_from_slice(text.as_bytes());
            line.extend_from_slice(br#","isError":false}"#);
            return;
        }
        Err(error) => {
            line.extend_from_slice(br#"{"type":"text","text":"#);
            write_string(line, &error_text(error));
            if let Some(shown) = shown(error) {
                line.extend_from_slice(br#"}],"structuredContent":"#);
                line.extend_from_slice(shown.to_string().as_bytes());
                line.extend_from_slice(br#","isError":true}"#);
                return;
            }
        }
    }
    line.extend_from_slice(br#"}],"isError":"#);
    line.extend_from_slice(if result.is_err() { b"true}" } else { b"false}" });
}

/// Text as JSON. Writing to memory cannot fail.
fn write_string(line: &mut Vec<u8>, text: &str) {
    let _ = serde_json::to_writer(line, text);
}

/// An error as its JSON, cut where a client would cut it.
pub fn error_text(error: &Error) -> String {
    if let Some(shown) = shown(error) {
        return shown.to_string();
    }
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
        Err(error) => match shown(error) {
            Some(shown) => shown.clone(),
            None => serde_json::to_value(error).unwrap_or_else(|_| json!(error.to_string())),
        },
    }
}

/// The same with a picture's bytes in it as base64, for surfaces that have nothing but JSON.
pub fn bare(result: &Result<Reply>) -> Value {
    let mut value = json(result);
    if let (Ok(Reply::Picture(picture)), Some(object)) = (result, value.as_object_mut()) {
        object.entry("mime_type").or_insert(json!(picture.mime));
        object.entry("base64").or_insert(json!(picture.base64.concat()));
    }
    value
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Picture;

    #[test]
    fn every_kind_of_reply_is_a_tool_result() {
        let picture = Picture {
            base64: ["iVBO".into(), "+/8=".into()].into(),
            mime: "image/png",
            text: "Scaled 0.5: say \"image=i1\".\n".into(),
            data: json!({}),
        };
        assert_eq!(
            mcp(&Ok(Reply::Picture(picture))),
            json!({
                "content": [
                    { "type": "image", "data": "iVBO+/8=", "mimeType": "image/png" },
                    { "type": "text", "text": "Scaled 0.5: say \"image=i1\".\n" },
                ],
                "isError": false,
            })
        );
        assert_eq!(
            mcp(&Ok(Reply::Reading("a\u{1}b".into()))),
            json!({ "content": [{ "type": "text", "text": "a\u{1}b" }], "isError": false })
        );
        assert_eq!(
            mcp(&Ok(Reply::Data(json!({ "x": 1 })))),
            json!({
                "content": [{ "type": "text", "text": "{\"x\":1}" }],
                "structuredContent": { "x": 1 },
                "isError": false,
            })
        );
        assert_eq!(
            mcp(&Err(Error::new(deskhand_core::Code::Timeout, "Late."))),
            json!({
                "content": [{
                    "type": "text",
                    "text": "{\"code\":\"timeout\",\"message\":\"Late.\",\"retry\":true}",
                }],
                "isError": true,
            })
        );
    }

    #[test]
    fn newer_protocol_versions_are_told_that_the_result_is_complete() {
        let mut line = Line::default();
        write_mcp(&mut line, &Ok(Reply::Reading("x".into())), true);
        let value: Value = serde_json::from_slice(&line.into_bytes()).unwrap();
        assert_eq!(value["resultType"], "complete");
    }
}
