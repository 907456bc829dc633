//! One JSON object a line on stderr: stdout is the wire.

use serde_json::{Map, Value, json};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes one line. A log that cannot be written is no reason to fail a call.
pub fn line(level: &str, event: &str, fields: Value) {
    let mut object = Map::new();
    object.insert("time".into(), json!(now()));
    object.insert("level".into(), json!(level));
    object.insert("event".into(), json!(event));
    if let Value::Object(fields) = fields {
        object.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    let mut text = Value::Object(object).to_string();
    text.push('\n');
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
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

/// The time of day as RFC 3339 in UTC with milliseconds.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
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
    fn secrets_are_logged_by_length_at_any_depth() {
        let shown = redact(&json!({"steps": [{"arguments": {"text": "hunter2", "x": 1}}]}), &["text"]);
        assert_eq!(shown, json!({"steps": [{"arguments": {"text": "(7 characters)", "x": 1}}]}));
    }
}
