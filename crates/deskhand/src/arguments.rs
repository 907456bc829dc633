//! From what a client sent to what a tool's type takes: other names rewritten, then every fault at once.

use crate::tool::Row;
use deskhand_core::near::near;
use deskhand_core::{Code, Error, Result};
use serde_json::{Map, Value, json};

/// Names of parameters that other tool sets use, and ours. They hold wherever the tool has the parameter
/// on the right and none of its own with the name on the left.
const EVERYWHERE: &[(&str, &str)] = &[
    ("element_id", "element"),
    ("identifier", "element"),
    ("ref", "element"),
    ("app", "application"),
    ("app_name", "application"),
    ("application_id", "application"),
    ("application_name", "application"),
    ("process_name", "application"),
    ("name", "window"),
    ("name", "display"),
    ("name", "application"),
    ("window_id", "window"),
    ("window_title", "window"),
    ("display_id", "display"),
    ("monitor", "display"),
    ("delay", "delay_ms"),
    ("count", "click_count"),
    ("clicks", "click_count"),
    ("coordinate_x", "x"),
    ("coordinate_y", "y"),
];

/// Times that other tool sets give in seconds.
const SECONDS: &[(&str, &str)] = &[("timeout", "timeout_ms"), ("duration", "duration_ms")];

/// Rewrites other names of parameters to ours, in snake_case, drops nulls, and takes values that mean the
/// same for each other. Naming one parameter twice is an error.
pub fn rewrite(row: &Row, arguments: Value) -> Result<Value> {
    let given = match arguments {
        Value::Null => Map::new(),
        Value::Object(object) => object,
        other => {
            return Err(Error::argument(format!("The arguments of {} have to be an object.", row.name))
                .expected("an object with a member for each parameter")
                .found([kind(&other)]));
        }
    };
    let empty = Map::new();
    let known = row.input_schema().get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let mut taken: Map<String, Value> = Map::new();
    for (name, value) in given {
        if value.is_null() {
            continue;
        }
        let (name, value) = ours(row, known, name, value);
        let value = alike(known.get(&name), value);
        if taken.contains_key(&name) {
            return Err(Error::argument(format!("The parameter {name} is given twice, under two names."))
                .remedy(format!("Pass {name} once.")));
        }
        taken.insert(name, value);
    }
    Ok(Value::Object(taken))
}

/// A value in the form that the schema asks for, where nothing but the form differs: 2.0 for 2, a number or
/// a boolean for its text (the window 7, the value 120, the value true), and Shift for shift.
fn alike(schema: Option<&Value>, value: Value) -> Value {
    let Some(schema) = schema else { return value };
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    match (kind, &value) {
        ("integer", Value::Number(number)) => match number.as_f64() {
            // Beyond 2^53 a number is no exact integer, and out of every bound.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                json!(float as i64)
            }
            _ => value,
        },
        ("string", Value::Number(_) | Value::Bool(_)) if schema.get("enum").is_none() => {
            json!(value.to_string())
        }
        (_, Value::String(name)) => match schema.get("enum").and_then(Value::as_array) {
            Some(names) if !is_one_of(names, &value) => {
                let lower = json!(name.to_ascii_lowercase());
                if is_one_of(names, &lower) { lower } else { value }
            }
            _ => value,
        },
        ("array", Value::Array(items)) => {
            items.iter().map(|item| alike(schema.get("items"), item.clone())).collect()
        }
        _ => value,
    }
}

/// Whether a value is one of an enumeration. Modifiers have other names (`cmd`, `option`) that serde knows
/// and the schema does not show.
fn is_one_of(names: &[Value], value: &Value) -> bool {
    names.contains(value)
        || (names.iter().any(|name| name == "meta")
            && serde_json::from_value::<deskhand_core::key::Modifier>(value.clone()).is_ok())
}

fn ours(row: &Row, known: &Map<String, Value>, name: String, value: Value) -> (String, Value) {
    if known.contains_key(&name) {
        return (name, value);
    }
    let snake = snake_case(&name);
    if known.contains_key(&snake) || row.hidden.contains(&snake.as_str()) {
        return (snake, value);
    }
    if snake == "parent" {
        return parent(known, value);
    }
    for (theirs, ours) in row.aliases.iter().chain(EVERYWHERE) {
        if *theirs == snake && known.contains_key(*ours) {
            return ((*ours).to_owned(), value);
        }
    }
    for (theirs, ours) in SECONDS {
        if *theirs == snake
            && known.contains_key(*ours)
            && let Some(seconds) = value.as_f64()
        {
            return ((*ours).to_owned(), json!((seconds * 1000.0).round() as i64));
        }
    }
    (name, value)
}

/// What a parameter's name stands for.
pub struct Meaning {
    /// The tool's own name of it.
    pub name: String,
    /// Whether it is a time in seconds, where the tool takes milliseconds.
    pub in_seconds: bool,
}

/// What a name of a parameter means to a tool. `None` when the tool has no such parameter, or takes it
/// without effect.
pub fn meaning(row: &Row, name: &str) -> Option<Meaning> {
    let known = row.input_schema().get("properties")?.as_object()?;
    let (own, value) = ours(row, known, name.to_owned(), json!(1));
    let in_seconds = value != json!(1);
    known.contains_key(&own).then_some(Meaning { name: own, in_seconds })
}

/// `parent` names an application or one of its windows as a resource, or an element by its ref.
fn parent(known: &Map<String, Value>, value: Value) -> (String, Value) {
    let is_ref = |name: &str| {
        name.strip_prefix('e').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let element = value.as_str().map(|name| name.rsplit_once("elements/").map_or(name, |(_, last)| last));
    if let Some(element) = element.filter(|name| is_ref(name) && known.contains_key("element")) {
        return ("element".to_owned(), Value::String(element.to_owned()));
    }
    let is_window = value.as_str().is_some_and(|name| name.contains("windows/"));
    let name = if is_window && known.contains_key("window") { "window" } else { "application" };
    if known.contains_key(name) { (name.to_owned(), value) } else { ("parent".to_owned(), value) }
}

/// `startX` is `start_x`, `elementId` is `element_id`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            if !snake.is_empty() && !snake.ends_with('_') {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
        } else {
            snake.push(if c == '-' { '_' } else { c });
        }
    }
    snake
}

/// Checks arguments against a schema of the plain form that [`crate::tool::schema_of`] makes, and names
/// every fault. What stands in secret parameters is not repeated.
pub fn check(row: &Row, arguments: &Value) -> Result<()> {
    let schema = row.input_schema();
    let mut faults = Faults { all: Vec::new(), missing_only: true, secret: row.secret, hidden: row.hidden };
    faults.visit("", schema, arguments);
    if faults.all.is_empty() {
        return Ok(());
    }
    let code = if faults.missing_only { Code::MissingRequiredParameter } else { Code::InvalidArgument };
    let mut error = Error::new(code, format!("The arguments do not fit: {}.", faults.all.join("; ")));
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        error = error.expected(
            properties
                .iter()
                .filter(|(name, _)| *name != "timeout_ms")
                .map(|(name, property)| {
                    let optional = if required.contains(&name.as_str()) { "" } else { "?" };
                    format!("{name}{optional}: {}", form(property))
                })
                .collect::<Vec<_>>()
                .join(", "),
        );
    }
    Err(error)
}

struct Faults<'a> {
    all: Vec<String>,
    missing_only: bool,
    secret: &'a [&'a str],
    hidden: &'a [&'a str],
}

impl Faults<'_> {
    /// A wrong value for a message, unless it may be a secret.
    fn show(&self, path: &str, value: &Value) -> String {
        if self.secret.contains(&path.split(['.', '[']).next().unwrap_or(path)) {
            return kind(value).to_owned();
        }
        show(value)
    }

    fn wrong(&mut self, fault: String) {
        self.missing_only = false;
        self.all.push(fault);
    }

    fn visit(&mut self, path: &str, schema: &Value, value: &Value) {
        if let Some(options) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
            let fits = options.iter().any(|option| {
                let mut trial =
                    Faults { all: Vec::new(), missing_only: true, secret: self.secret, hidden: self.hidden };
                trial.visit(path, option, value);
                trial.all.is_empty()
            });
            if !fits {
                self.wrong(format!("{path} has to be {}, not {}", form(schema), self.show(path, value)));
            }
            return;
        }
        let fits = match schema.get("type").and_then(Value::as_str) {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("number") => value.is_number(),
            Some("integer") => value.is_i64() || value.is_u64(),
            _ => true,
        };
        if !fits {
            let place = if path.is_empty() { "the arguments" } else { path };
            return self.wrong(format!("{place} has to be {}, not {}", form(schema), self.show(path, value)));
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array)
            && !is_one_of(values, value)
        {
            return self.wrong(format!("{path} has to be {}, not {}", form(schema), self.show(path, value)));
        }
        self.bounds(path, schema, value);
        match value {
            Value::Object(object) => self.members(path, schema, object),
            Value::Array(items) => {
                if let Some(each) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.visit(&format!("{path}[{index}]"), each, item);
                    }
                }
            }
            _ => {}
        }
    }

    fn bounds(&mut self, path: &str, schema: &Value, value: &Value) {
        let Some(number) = value.as_f64() else { return };
        let low = schema.get("minimum").and_then(Value::as_f64);
        let high = schema.get("maximum").and_then(Value::as_f64);
        if low.is_some_and(|low| number < low) || high.is_some_and(|high| high < number) {
            self.wrong(format!("{path} has to be {}, not {}", form(schema), self.show(path, value)));
        }
    }

    fn members(&mut self, path: &str, schema: &Value, object: &Map<String, Value>) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                let shape = properties.get(name).map(form).unwrap_or_default();
                self.all.push(format!("{} ({shape}) is required", inside(name)));
            }
        }
        for (name, member) in object {
            match properties.get(name) {
                Some(property) => self.visit(&inside(name), property, member),
                // Its type is checked with the tool's own.
                None if path.is_empty() && self.hidden.contains(&name.as_str()) => {}
                None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                    let meant = match near(name, properties.keys().map(String::as_str)).first() {
                        Some(near) => format!(" (is {near} meant?)"),
                        None => String::new(),
                    };
                    self.wrong(format!("{} is no parameter{meant}", inside(name)));
                }
                None => {}
            }
        }
    }
}

/// A fault that was found in `arguments`, with the name of the parameter that has it: the one without which the
/// fault is another one or none. Serde does not say which, and to keep account of it on the way costs more code
/// than all the tools' arguments together.
pub fn placed(arguments: &Value, fault: String, find: &dyn Fn(&Value) -> Option<String>) -> String {
    let names = arguments.as_object().into_iter().flat_map(|object| object.keys());
    let culprit = names.into_iter().find(|name| {
        let mut others = arguments.clone();
        if let Some(others) = others.as_object_mut() {
            others.remove(*name);
        }
        find(&others).as_ref() != Some(&fault)
    });
    match culprit {
        Some(name) => format!("{name}: {fault}"),
        None => fault,
    }
}

/// The expected form in words.
pub fn form(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<_> = values.iter().map(|value| value.as_str().unwrap_or("?")).collect();
        return format!("one of {}", values.join(", "));
    }
    if let Some(options) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        return options.iter().map(form).collect::<Vec<_>>().join(" or ");
    }
    let kind = match schema.get("type").and_then(Value::as_str) {
        Some("integer") => "an integer",
        Some("number") => "a number",
        Some("string") => "a string",
        Some("boolean") => "true or false",
        Some("array") => "an array",
        Some("object") => "an object",
        _ => "any value",
    };
    let of = match schema.get("items") {
        Some(items) if kind == "an array" => {
            format!(" of {}", form(items).trim_start_matches("an ").trim_start_matches("a "))
        }
        _ => String::new(),
    };
    let bounds = match (schema.get("minimum"), schema.get("maximum")) {
        (Some(low), Some(high)) => format!(" from {low} to {high}"),
        (Some(low), None) => format!(" from {low}"),
        (None, Some(high)) => format!(" up to {high}"),
        (None, None) => String::new(),
    };
    format!("{kind}{of}{bounds}")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A wrong value for a message: short, and never a long text, which may be a secret.
fn show(value: &Value) -> String {
    match value {
        Value::String(text) if text.chars().count() > 40 => {
            format!("a string of {} characters", text.chars().count())
        }
        Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Null => {
            format!("the {} {value}", kind(value).trim_start_matches("an ").trim_start_matches("a "))
        }
        Value::Array(_) | Value::Object(_) => kind(value).to_owned(),
    }
}
