//! Random calls in a row on one desktop in memory: whatever they say and however they fail, what is promised
//! of every call holds.

use super::desk::Desk;
use deskhand::encode;
use deskhand::tools;
use deskhand_core::Code;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// More than the largest reply of this small desktop: its pictures.
const LARGEST: usize = 2 << 20;
/// What any of these calls takes at most; each is told to take less.
const LONGEST: Duration = Duration::from_secs(10);

/// Names that mean something on this desktop, and some that do not.
const WORDS: [&str; 22] = [
    "e1",
    "e8",
    "e10",
    "e999",
    "7",
    "Editor",
    "editor",
    "Untitled",
    "button[name=\"Save\"]",
    "list_item",
    "*",
    "a[",
    "s1",
    "i1",
    "0",
    "ctrl+s",
    "enter",
    "Grüße 👋",
    "",
    "applications/1/windows/7",
    "png",
    "../x",
];

/// How one value is chosen: by its schema mostly, else anything.
#[derive(Clone, Debug)]
enum Choice {
    Absent,
    Fitting(Index, i64),
    Anything(Index),
}

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![
        5 => Just(Choice::Absent),
        5 => (any::<Index>(), -3i64..1300).prop_map(|(index, number)| Choice::Fitting(index, number)),
        1 => any::<Index>().prop_map(Choice::Anything),
    ]
}

#[derive(Clone, Debug)]
struct Random {
    tool: Index,
    choices: Vec<Choice>,
}

fn random() -> impl Strategy<Value = Random> {
    (any::<Index>(), prop::collection::vec(choice(), 1..12))
        .prop_map(|(tool, choices)| Random { tool, choices })
}

impl Random {
    fn arguments(&self, schema: &Value, required: &[&str]) -> Value {
        let mut arguments = Map::new();
        let properties = schema["properties"].as_object().into_iter().flatten();
        for ((name, property), choice) in properties.zip(self.choices.iter().cycle()) {
            let value = match choice {
                Choice::Absent if required.contains(&name.as_str()) => fitting(property, &self.tool, 1),
                Choice::Absent => continue,
                Choice::Fitting(index, number) => fitting(property, index, *number),
                Choice::Anything(index) => {
                    let all =
                        [json!(null), json!(-1), json!(1e99), json!("x"), json!([]), json!({}), json!(true)];
                    index.get(&all).clone()
                }
            };
            // A time is short, so that many calls can be made.
            let value = match value.as_i64() {
                Some(number) if name.ends_with("_ms") => json!(number.rem_euclid(40)),
                _ => value,
            };
            arguments.insert(name.clone(), value);
        }
        arguments.insert("timeout_ms".to_owned(), json!(300));
        Value::Object(arguments)
    }
}

fn fitting(schema: &Value, index: &Index, number: i64) -> Value {
    if let Some(options) = schema["enum"].as_array() {
        return index.get(options).clone();
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(number % 2 == 0),
        Some("integer" | "number") => {
            let low = schema["minimum"].as_i64().unwrap_or(i64::MIN);
            let high = schema["maximum"].as_i64().unwrap_or(i64::MAX);
            json!(number.clamp(low, high))
        }
        Some("array") => {
            let items = &schema["items"];
            Value::Array((0..number.rem_euclid(3)).map(|_| fitting(items, index, number)).collect())
        }
        Some("object") => {
            let members = schema["properties"].as_object().into_iter().flatten();
            members.map(|(name, schema)| (name.clone(), fitting(schema, index, number))).collect()
        }
        _ => json!(index.get(&WORDS)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_called_every_promise_holds(calls in prop::collection::vec(random(), 1..40)) {
        let desk = Desk::with(deskhand_core::fake::Fake::new(), |config| config.write_folders.clear());
        let rows: Vec<_> = tools::all().collect();
        for call in &calls {
            let row = call.tool.get(&rows);
            let schema = row.input_schema();
            let required = schema["required"].as_array().into_iter().flatten();
            let required: Vec<&str> = required.filter_map(Value::as_str).collect();
            let arguments = call.arguments(schema, &required);
            let began = Instant::now();
            // An error that the row does not name fails in here.
            let result = desk.call(row.name, arguments.clone());
            let answer = encode::json(&result).to_string();
            let told = format!("{} {arguments}: {answer:.2000}", row.name);
            prop_assert!(began.elapsed() < LONGEST, "took {:?}: {told}", began.elapsed());
            if let Err(error) = &result {
                prop_assert!(error.code != Code::Internal, "{told}");
                prop_assert!(!error.message.is_empty() && error.message.len() < 20_000, "{told}");
            }
            prop_assert!(answer.len() < LARGEST, "{told}");
        }
        let Desk { client, control, .. } = desk;
        drop(client);
        prop_assert_eq!(control.held(), []);
    }
}
