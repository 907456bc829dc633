//! What steps say, checked as a whole before the first is made.

use crate::arguments;
use crate::tool::Effect;
use crate::tools;
use deskhand_core::near::near;
use deskhand_core::{Code, Error, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// How many steps may be written, all lists together.
pub const MOST_STEPS: usize = 500;
/// How deep they may be nested.
pub const MOST_DEPTH: usize = 8;
/// How many rounds one repeat may make.
pub const LOOP_ROUNDS: u64 = 1000;

/// Tools that make steps themselves. What is nested stands in one list of steps, with one bound.
const NO_STEPS: &[&str] = &["run_steps", "execute_macro"];

/// Steps as they are written: what they mean is [`Plan`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepList(pub Vec<Value>);

impl JsonSchema for StepList {
    fn schema_name() -> Cow<'static, str> {
        "Steps".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// Lists inside lists are left open here, because clients take no schema that refers to itself. They are
    /// checked by [`Plan::parse`].
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "tool": { "type": "string" },
                    "arguments": { "type": "object" },
                    "optional": { "type": "boolean" },
                    "wait": { "type": "object" },
                    "if": { "type": "object" },
                    "then": { "type": "array", "items": { "type": "object" } },
                    "else": { "type": "array", "items": { "type": "object" } },
                    "repeat": { "type": "object" },
                    "steps": { "type": "array", "items": { "type": "object" } },
                    "assign": { "type": "object" }
                },
                "additionalProperties": false
            }
        })
    }
}

/// Steps that have been understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// Which parameters their references name.
    pub parameters: Vec<String>,
    /// Whether no step stands inside another: then the order says which is which.
    pub flat: bool,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A call of a tool.
    Call {
        /// Its name.
        tool: String,
        /// Its arguments, with references.
        arguments: Map<String, Value>,
        /// Whether to go on when it fails.
        optional: bool,
    },
    /// One list or the other.
    If {
        /// What decides.
        condition: Condition,
        /// Made when it holds.
        then: Vec<Step>,
        /// Made when it does not.
        otherwise: Vec<Step>,
    },
    /// A list again and again.
    Repeat {
        /// How often.
        rounds: Rounds,
        /// What.
        steps: Vec<Step>,
    },
    /// Variables get values.
    Assign(Map<String, Value>),
}

/// How often a list is repeated.
#[derive(Clone, Debug, PartialEq)]
pub enum Rounds {
    /// A number, or a reference to one.
    Times(Value),
    /// Until a condition holds after a round, at most so often.
    Until(Condition, u64),
}

/// Something that holds or does not: every test of it has to.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What is looked at, mostly a reference.
    pub value: Value,
    /// What has to be true of it.
    pub tests: Vec<Test>,
}

/// One test of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Whether there is one.
    Exists(bool),
    /// The same.
    Equals(Value),
    /// Another.
    NotEquals(Value),
    /// A text holds this text, a list this item, an object this member.
    Contains(Value),
    /// A number above this one.
    GreaterThan(Value),
    /// A number below this one.
    LessThan(Value),
}

const TESTS: &[&str] = &["exists", "equals", "not_equals", "contains", "greater_than", "less_than"];

/// The kinds of steps: the member that makes one, and what may stand beside it.
const KINDS: &[(&str, &[&str])] = &[
    ("tool", &["arguments", "optional"]),
    ("wait", &["optional"]),
    ("if", &["then", "else"]),
    ("repeat", &["steps"]),
    ("assign", &[]),
];

impl Plan {
    /// Understands steps, or names all that is wrong with them. Arguments without references are held against
    /// their tools; the others when they are made.
    pub fn parse(written: &StepList, check_arguments: bool) -> Result<Plan> {
        if written.0.is_empty() {
            return Err(Error::new(
                Code::MissingRequiredParameter,
                "steps is empty: there is nothing to do.",
            ));
        }
        let mut reader = Reader {
            faults: Vec::new(),
            near: Vec::new(),
            count: 0,
            parameters: Vec::new(),
            check_arguments,
        };
        let steps = reader.list("steps", &written.0, 1);
        if MOST_STEPS < reader.count {
            reader.faults.push(format!("{} steps are written, and {MOST_STEPS} may be", reader.count));
        }
        if reader.faults.is_empty() {
            let flat = steps.iter().all(|step| match step {
                Step::Call { .. } => true,
                Step::If { .. } | Step::Repeat { .. } | Step::Assign(_) => false,
            });
            return Ok(Plan { steps, parameters: reader.parameters, flat });
        }
        reader.near.sort_unstable();
        reader.near.dedup();
        Err(Error::argument(format!("The steps do not fit; nothing was done: {}.", reader.faults.join("; ")))
            .expected(
                "each step one of {tool, arguments?, optional?}, {wait}, {if, then?, else?}, {repeat, steps}, {assign}",
            )
            .found(reader.near))
    }

    /// The most that any of the steps does.
    pub fn effect(written: &StepList) -> Effect {
        fn most(list: &[Value]) -> Effect {
            let inside = |step: &Value| {
                let own = step.get("tool").and_then(Value::as_str);
                let own = own.and_then(|name| tools::find(name, Value::Null)).map(|(row, _)| row.effect);
                let lists =
                    ["then", "else", "steps"].into_iter().filter_map(|name| step.get(name)?.as_array());
                lists.map(|list| most(list)).chain(own).max().unwrap_or(Effect::Read)
            };
            list.iter().map(inside).max().unwrap_or(Effect::Read)
        }
        most(&written.0)
    }
}

struct Reader {
    faults: Vec<String>,
    near: Vec<&'static str>,
    count: usize,
    parameters: Vec<String>,
    check_arguments: bool,
}

impl Reader {
    fn wrong(&mut self, fault: String) {
        self.faults.push(fault);
    }

    fn list(&mut self, place: &str, written: &[Value], depth: usize) -> Vec<Step> {
        if MOST_DEPTH < depth {
            self.wrong(format!("{place} is nested deeper than {MOST_DEPTH} lists"));
            return Vec::new();
        }
        let each = written.iter().enumerate();
        each.filter_map(|(index, step)| self.step(&format!("{place}[{index}]"), step, depth)).collect()
    }

    fn step(&mut self, place: &str, written: &Value, depth: usize) -> Option<Step> {
        self.count += 1;
        let Some(object) = written.as_object() else {
            self.wrong(format!("{place} has to be an object"));
            return None;
        };
        let kinds: Vec<_> = KINDS.iter().filter(|(kind, _)| object.contains_key(*kind)).collect();
        let [(kind, beside)] = kinds[..] else {
            let names = KINDS.iter().map(|(kind, _)| *kind).collect::<Vec<_>>().join(", ");
            let strange = object.keys().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            let found = if strange.is_empty() { "nothing".to_owned() } else { strange };
            self.wrong(format!("{place} needs one of {names}, and has {found}"));
            return None;
        };
        for name in object.keys().filter(|name| *name != kind && !beside.contains(&name.as_str())) {
            self.wrong(format!("{place}.{name} does not belong to a step with {kind}"));
        }
        let optional = match object.get("optional") {
            None => false,
            Some(Value::Bool(optional)) => *optional,
            Some(_) => {
                self.wrong(format!("{place}.optional has to be true or false"));
                false
            }
        };
        match *kind {
            "tool" => self.call(place, object, optional),
            "wait" => {
                let arguments = self.object(place, object, "wait");
                self.arguments(&format!("{place}.wait"), "wait_for", &arguments);
                Some(Step::Call { tool: "wait_for".to_owned(), arguments, optional })
            }
            "if" => {
                let condition = self.condition(&format!("{place}.if"), &object["if"]);
                let then = self.inner(place, object, "then", depth);
                let otherwise = self.inner(place, object, "else", depth);
                if then.is_empty() && otherwise.is_empty() && !object.contains_key("then") {
                    self.wrong(format!("{place} needs then or else"));
                }
                Some(Step::If { condition: condition?, then, otherwise })
            }
            "repeat" => {
                let rounds = self.rounds(place, object);
                let steps = self.inner(place, object, "steps", depth);
                if !object.contains_key("steps") {
                    self.wrong(format!("{place} needs steps to repeat"));
                }
                Some(Step::Repeat { rounds: rounds?, steps })
            }
            _ => {
                let values = self.object(place, object, "assign");
                if values.is_empty() {
                    self.wrong(format!("{place}.assign names no variable"));
                }
                for (name, value) in &values {
                    self.references(&format!("{place}.assign.{name}"), value);
                }
                Some(Step::Assign(values))
            }
        }
    }

    fn call(&mut self, place: &str, object: &Map<String, Value>, optional: bool) -> Option<Step> {
        let Some(tool) = object["tool"].as_str() else {
            self.wrong(format!("{place}.tool has to be a tool's name"));
            return None;
        };
        if NO_STEPS.contains(&tool) {
            self.wrong(format!("{place}: {tool} cannot be a step"));
            return None;
        }
        let arguments = self.object(place, object, "arguments");
        if tools::find(tool, Value::Null).is_none() {
            self.wrong(format!("{place}: there is no tool called {tool:?}"));
            self.near.extend(near(tool, tools::names()));
            return None;
        }
        self.arguments(&format!("{place}.arguments"), tool, &arguments);
        Some(Step::Call { tool: tool.to_owned(), arguments, optional })
    }

    /// References may lead nowhere until the step is made; what holds none can be checked now.
    fn arguments(&mut self, place: &str, tool: &str, arguments: &Map<String, Value>) {
        let before = self.parameters.len();
        let mut any = false;
        for (name, value) in arguments {
            any |= self.references(&format!("{place}.{name}"), value);
        }
        if any || before < self.parameters.len() || !self.check_arguments {
            return;
        }
        let Some((row, arguments)) = tools::find(tool, Value::Object(arguments.clone())) else { return };
        let checked =
            arguments::rewrite(row, arguments).and_then(|arguments| arguments::check(row, &arguments));
        if let Err(error) = checked {
            self.wrong(format!("{place} of {tool}: {}", error.message.trim_end_matches('.')));
        }
    }

    fn object(&mut self, place: &str, object: &Map<String, Value>, name: &str) -> Map<String, Value> {
        match object.get(name) {
            None => Map::new(),
            Some(Value::Object(members)) => members.clone(),
            Some(_) => {
                self.wrong(format!("{place}.{name} has to be an object"));
                Map::new()
            }
        }
    }

    fn inner(&mut self, place: &str, object: &Map<String, Value>, name: &str, depth: usize) -> Vec<Step> {
        match object.get(name) {
            None => Vec::new(),
            Some(Value::Array(list)) => self.list(&format!("{place}.{name}"), list, depth + 1),
            Some(_) => {
                self.wrong(format!("{place}.{name} has to be a list of steps"));
                Vec::new()
            }
        }
    }

    fn rounds(&mut self, place: &str, object: &Map<String, Value>) -> Option<Rounds> {
        let repeat = self.object(place, object, "repeat");
        let place = format!("{place}.repeat");
        let known = ["times", "until", "at_most"];
        for name in repeat.keys().filter(|name| !known.contains(&name.as_str())) {
            self.wrong(format!("{place}.{name} is no member: {} are", known.join(", ")));
        }
        let at_most = match repeat.get("at_most") {
            None => None,
            Some(number) => match number.as_u64().filter(|number| (1..=LOOP_ROUNDS).contains(number)) {
                Some(number) => Some(number),
                None => {
                    self.wrong(format!("{place}.at_most has to be an integer from 1 to {LOOP_ROUNDS}"));
                    return None;
                }
            },
        };
        match (repeat.get("times"), repeat.get("until"), at_most) {
            (Some(times), None, None) => {
                let is_reference = self.references(&format!("{place}.times"), times);
                if !is_reference && times.as_u64().is_none_or(|times| LOOP_ROUNDS < times) {
                    self.wrong(format!(
                        "{place}.times has to be an integer from 0 to {LOOP_ROUNDS}, or a reference to one"
                    ));
                    return None;
                }
                Some(Rounds::Times(times.clone()))
            }
            (None, Some(until), Some(at_most)) => {
                Some(Rounds::Until(self.condition(&format!("{place}.until"), until)?, at_most))
            }
            _ => {
                self.wrong(format!("{place} needs times, or until with at_most"));
                None
            }
        }
    }

    fn condition(&mut self, place: &str, written: &Value) -> Option<Condition> {
        let Some(object) = written.as_object() else {
            self.wrong(format!("{place} has to be an object with value and a test"));
            return None;
        };
        let Some(value) = object.get("value") else {
            self.wrong(format!("{place}.value is missing: what is to be tested"));
            return None;
        };
        self.references(&format!("{place}.value"), value);
        let mut tests = Vec::new();
        for (name, wanted) in object.iter().filter(|(name, _)| *name != "value") {
            self.references(&format!("{place}.{name}"), wanted);
            tests.push(match (name.as_str(), wanted) {
                ("exists", Value::Bool(wanted)) => Test::Exists(*wanted),
                ("exists", _) => {
                    self.wrong(format!("{place}.exists has to be true or false"));
                    continue;
                }
                ("equals", _) => Test::Equals(wanted.clone()),
                ("not_equals", _) => Test::NotEquals(wanted.clone()),
                ("contains", _) => Test::Contains(wanted.clone()),
                ("greater_than", _) => Test::GreaterThan(wanted.clone()),
                ("less_than", _) => Test::LessThan(wanted.clone()),
                _ => {
                    self.wrong(format!("{place}.{name} is no test: {} are", TESTS.join(", ")));
                    continue;
                }
            });
        }
        if tests.is_empty() {
            self.wrong(format!("{place} has no test: one of {}", TESTS.join(", ")));
        }
        Some(Condition { value: value.clone(), tests })
    }

    /// Whether a value holds references; notes the parameters that they name.
    fn references(&mut self, place: &str, value: &Value) -> bool {
        match value {
            Value::Object(object) if object.contains_key("$from") => {
                let root = object["$from"].as_str().map(|path| path.split(['.', '[']).collect::<Vec<_>>());
                match root.as_deref() {
                    Some(["params", name, ..]) => self.parameters.push((*name).to_owned()),
                    Some(["prev" | "$prev" | "steps" | "vars" | "index", ..]) => {}
                    _ => self.wrong(format!(
                        "{place}.$from has to be a path that begins with prev, steps, params, vars or index"
                    )),
                }
                if let Some(other) = object.keys().find(|name| !["$from", "default"].contains(&name.as_str()))
                {
                    self.wrong(format!("{place}.{other} does not belong to a reference"));
                }
                true
            }
            Value::Object(object) => {
                let mut any = object.contains_key("$join");
                for (name, member) in object {
                    any |= self.references(&format!("{place}.{name}"), member);
                }
                any
            }
            Value::Array(items) => {
                let mut any = false;
                for (index, item) in items.iter().enumerate() {
                    any |= self.references(&format!("{place}[{index}]"), item);
                }
                any
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
}
