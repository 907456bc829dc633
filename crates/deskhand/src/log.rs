//! One JSON object a line on stderr: stdout is the wire.

use serde_json::{Map, Value, json};
use std::any::Any;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

static QUIET: AtomicBool = AtomicBool::new(false);
static LOST: AtomicU64 = AtomicU64::new(0);

/// The longest line: what a pipe that has room for anything takes whole.
const LONGEST: usize = 4096;

/// Stops the log: for a person at a terminal, to whom every outcome is told anyway.
pub fn silence() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Logs a panic as a line like every other, instead of as loose text.
pub fn panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic_text(panic.payload());
        let place = panic.location().map(ToString::to_string);
        line("error", "panic", json!({ "message": message, "place": place }));
    }));
}

/// What a panic said.
pub fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

/// Writes one line, unless nobody reads: a client that leaves standard error alone must not bring every
/// call to a halt. Lines that were left out are counted in the next one.
pub fn line(level: &str, event: &str, fields: Value) {
    if QUIET.load(Ordering::Relaxed) {
        return;
    }
    if !is_read() {
        LOST.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let mut object = Map::new();
    object.insert("time".into(), json!(now()));
    object.insert("level".into(), json!(level));
    object.insert("event".into(), json!(event));
    if let Value::Object(fields) = fields {
        object.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    let lost = LOST.swap(0, Ordering::Relaxed);
    if 0 < lost {
        object.insert("lines_lost_before".into(), json!(lost));
    }
    let text = bounded(object);
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// The line, with its longest members replaced by their length until it is short enough.
fn bounded(mut object: Map<String, Value>) -> String {
    loop {
        let mut text = Value::Object(object.clone()).to_string();
        if text.len() < LONGEST {
            text.push('\n');
            return text;
        }
        let longest = object.iter().max_by_key(|(_, value)| value.to_string().len());
        let Some((name, length)) = longest.map(|(name, value)| (name.clone(), value.to_string().len()))
        else {
            return String::new();
        };
        object.insert(name, json!(format!("({length} bytes)")));
    }
}

/// Whether a line can be written without waiting. Errors say yes: then writing says what is wrong.
#[cfg(unix)]
fn is_read() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stderr = std::io::stderr();
    let mut wait = [PollFd::new(&stderr, PollFlags::OUT)];
    poll(&mut wait, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
}

#[cfg(not(unix))]
fn is_read() -> bool {
    true
}

/// Arguments as the log shows them: secrets by their length, long texts cut.
pub fn redact(arguments: &Value, secret: &[&str]) -> Value {
    match arguments {
        Value::Object(object) => object
            .iter()
            .map(|(name, value)| {
                let shown =
                    if secret.contains(&name.as_str()) { length_of(value) } else { redact(value, secret) };
                (name.clone(), shown)
            })
            .collect(),
        Value::Array(items) => items.iter().take(50).map(|item| redact(item, secret)).collect(),
        Value::String(text) if text.chars().count() > 200 => {
            json!(format!(
                "{}… ({} characters)",
                text.chars().take(200).collect::<String>(),
                text.chars().count()
            ))
        }
        other => other.clone(),
    }
}

fn length_of(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(format!("({} characters)", text.chars().count())),
        Value::Array(items) => json!(format!("({} items)", items.len())),
        Value::Object(_) => json!("(an object)"),
        Value::Null | Value::Bool(_) | Value::Number(_) => json!("(a value)"),
    }
}

/// The time of day now.
fn now() -> String {
    rfc3339(SystemTime::now())
}

/// A time as RFC 3339 in UTC with milliseconds.
pub fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

/// The date of a day counted from 1970-01-01, by Howard Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(20_778), (2026, 11, 21));
    }

    #[test]
    fn a_line_fits_a_pipe() {
        let mut object = Map::new();
        object.insert("event".into(), json!("call"));
        object.insert("arguments".into(), json!(vec!["x".repeat(200); 50]));
        assert_eq!(bounded(object), "{\"event\":\"call\",\"arguments\":\"(10151 bytes)\"}\n");
    }

    #[test]
    fn secrets_are_logged_by_length_at_any_depth() {
        let shown = redact(&json!({"steps": [{"arguments": {"text": "hunter2", "x": 1}}]}), &["text"]);
        assert_eq!(shown, json!({"steps": [{"arguments": {"text": "(7 characters)", "x": 1}}]}));
    }
}
