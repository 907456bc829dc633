//! Making steps: one after the other through the one path of all calls, until the first that fails.

use super::LOOP_ROUNDS;
use super::plan::{Condition, Plan, Rounds, Step, Test};
use super::reference::{Scope, resolve, tested};
use crate::call::Context;
use crate::encode;
use crate::sessions::name_of;
use crate::tool::Ranged;
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// How many calls one run may make, rounds and all.
pub const MOST_CALLS: usize = 1000;
/// The longest result of a step that stands in the reply whole, in bytes.
const LONGEST_RESULT: usize = 4000;
/// How many bytes of results a reply holds before they are cut shorter.
const MOST_RESULTS: usize = 60_000;
/// What is left of a result then.
const SHORT_RESULT: usize = 300;
/// How many outcomes a reply lists; of more, the last ones.
const MOST_OUTCOMES: usize = 200;

/// What came of the steps.
#[derive(Serialize, JsonSchema)]
pub struct Ran {
    /// Whether all was done that was to be done.
    pub ok: bool,
    /// How many calls succeeded.
    pub succeeded: usize,
    /// How many steps the outermost list has.
    pub total: usize,
    /// The step that failed and ended it; what stands before it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<String>,
    /// What the steps had pressed and was let go of, because they did not come to their end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<String>,
    /// How many outcomes at the beginning are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<usize>,
    /// Each call's outcome, up to the one that failed.
    pub steps: Vec<Outcome>,
}

/// What came of one step.
#[derive(Serialize, JsonSchema)]
pub struct Outcome {
    /// Which step it is, where some stand inside others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The tool.
    pub tool: String,
    /// Whether it succeeded.
    pub ok: bool,
    /// What it answered; cut when it is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// How long it took.
    pub duration_ms: u64,
}

/// A run of steps.
pub struct Run<'a> {
    /// The call that it is a part of.
    pub cx: &'a Context<'a>,
    /// The parameters of the macro.
    pub params: Map<String, Value>,
    /// Values that no reply may show.
    pub secrets: Vec<String>,
    /// Between calls.
    pub delay: Option<Ranged<0, 10_000>>,
    /// Go on after an error.
    pub keep_going: bool,
    outcomes: Vec<Outcome>,
    left_out: usize,
    succeeded: usize,
    calls: usize,
    shown: usize,
    prev: Option<Value>,
    results: Vec<Value>,
    index: Option<u64>,
    flat: bool,
    stopped_at: Option<String>,
    /// Something failed that was not optional.
    failed: bool,
}

/// Whether to go on.
enum Then {
    GoOn,
    Stop,
}

impl<'a> Run<'a> {
    /// A run that has not begun.
    pub fn new(cx: &'a Context<'a>, params: Map<String, Value>, secrets: Vec<String>) -> Run<'a> {
        Run {
            cx,
            params,
            secrets,
            delay: None,
            keep_going: false,
            outcomes: Vec::new(),
            left_out: 0,
            succeeded: 0,
            calls: 0,
            shown: 0,
            prev: None,
            results: Vec::new(),
            index: None,
            flat: true,
            stopped_at: None,
            failed: false,
        }
    }

    /// Makes the steps, and says what came of each.
    pub fn all(mut self, plan: &Plan) -> Ran {
        self.flat = plan.flat;
        let before = self.cx.desktop.holds().of(self.cx.session.owner);
        for (number, step) in plan.steps.iter().enumerate() {
            let calls = self.calls;
            let then = self.step(&format!("steps[{number}]"), step);
            // What a step with others inside answered is what its last call did.
            let result = if calls < self.calls { self.prev.clone() } else { None };
            self.results.push(result.unwrap_or(Value::Null));
            if let Then::Stop = then {
                break;
            }
        }
        let mut released = Vec::new();
        if self.stopped_at.is_some() {
            released = self.let_go(&before);
        }
        Ran {
            ok: !self.failed,
            succeeded: self.succeeded,
            total: plan.steps.len(),
            stopped_at: self.stopped_at,
            released,
            left_out: (0 < self.left_out).then_some(self.left_out),
            steps: self.outcomes,
        }
    }

    /// Lets go of what these steps pressed and would have let go of themselves.
    fn let_go(&self, before: &[deskhand_core::input::Held]) -> Vec<String> {
        let pressed = self.cx.desktop.holds().of(self.cx.session.owner);
        let pressed: Vec<_> = pressed.into_iter().filter(|held| !before.contains(held)).collect();
        if pressed.is_empty() {
            return Vec::new();
        }
        // Neither a deadline nor a cancellation leaves a key down.
        let grace = self.cx.call.grace();
        let mut released = Vec::new();
        if let Ok(mut hands) = self.cx.desktop.input(&grace) {
            for held in pressed.into_iter().rev() {
                if hands.take_back(held).is_ok_and(|was| was) {
                    released.push(name_of(held));
                }
            }
        }
        released
    }

    fn list(&mut self, place: &str, steps: &[Step]) -> Then {
        for (number, step) in steps.iter().enumerate() {
            if let Then::Stop = self.step(&format!("{place}[{number}]"), step) {
                return Then::Stop;
            }
        }
        Then::GoOn
    }

    fn step(&mut self, place: &str, step: &Step) -> Then {
        match step {
            Step::Call { tool, arguments, optional } => self.call(place, tool, arguments, *optional),
            Step::If { condition, then, otherwise } => match self.holds(condition) {
                Ok(true) => self.list(&format!("{place}.then"), then),
                Ok(false) => self.list(&format!("{place}.else"), otherwise),
                Err(error) => self.failed(place, "if", error),
            },
            Step::Repeat { rounds, steps } => {
                let outer = self.index;
                let then = self.repeat(place, rounds, steps);
                self.index = outer;
                then
            }
            Step::Assign(values) => {
                let started = self.resolve(&Value::Object(values.clone()));
                let values = started.and_then(|values| match values {
                    Value::Object(values) => self.cx.session.assign(values),
                    _ => Ok(()),
                });
                match values {
                    Ok(()) => Then::GoOn,
                    Err(error) => self.failed(place, "assign", error),
                }
            }
        }
    }

    fn repeat(&mut self, place: &str, rounds: &Rounds, steps: &[Step]) -> Then {
        let most = match rounds {
            Rounds::Until(_, most) => *most,
            Rounds::Times(times) => {
                let times = self.resolve(times).and_then(|times| {
                    times.as_u64().filter(|times| *times <= LOOP_ROUNDS).ok_or_else(|| {
                        Error::argument(format!("{times} is no number of rounds."))
                            .expected(format!("an integer from 0 to {LOOP_ROUNDS}"))
                    })
                });
                match times {
                    Ok(times) => times,
                    Err(error) => return self.failed(place, "repeat", error),
                }
            }
        };
        for round in 0..most {
            self.index = Some(round);
            // Rounds without a call end in time as well.
            if let Err(error) = self.cx.call.check("repeating steps") {
                return self.failed(place, "repeat", error);
            }
            if let Then::Stop = self.list(&format!("{place}.round[{round}].steps"), steps) {
                return Then::Stop;
            }
            if let Rounds::Until(condition, _) = rounds {
                match self.holds(condition) {
                    Ok(true) => return Then::GoOn,
                    Ok(false) => {}
                    Err(error) => return self.failed(place, "repeat", error),
                }
            }
        }
        match rounds {
            Rounds::Times(_) => Then::GoOn,
            Rounds::Until(condition, _) => {
                let last = tested(&condition.value, self.scope(&self.vars())).ok().flatten();
                let error =
                    Error::new(Code::Timeout, format!("The condition did not come true in {most} rounds."))
                        .expected(condition.to_string())
                        .found(last.map(|value| self.bounded(&value, SHORT_RESULT).to_string()))
                        .remedy("Look at what the steps do; raise at_most if it only needs longer.");
                self.failed(place, "repeat", error)
            }
        }
    }

    fn call(&mut self, place: &str, tool: &str, arguments: &Map<String, Value>, optional: bool) -> Then {
        if MOST_CALLS <= self.calls {
            let error = Error::argument(format!("The steps would go on after {MOST_CALLS} calls."))
                .remedy("Repeat less, or make them in several runs.");
            return self.failed(place, tool, error);
        }
        if let (true, Some(delay)) = (0 < self.calls, self.delay)
            && let Err(error) = self.cx.call.pause(delay.milliseconds(), "pausing between steps")
        {
            return self.failed(place, tool, error);
        }
        let started = Instant::now();
        let number = self.calls;
        self.calls += 1;
        let result = self
            .resolve(&Value::Object(arguments.clone()))
            .and_then(|arguments| self.cx.call_by_name(tool, arguments, number));
        let over = self.over();
        let ok = result.is_ok();
        let value = encode::json(&result);
        if ok {
            self.succeeded += 1;
        }
        let room = if self.shown < MOST_RESULTS { LONGEST_RESULT } else { SHORT_RESULT };
        let shown = self.bounded(&self.scrub(&value), room);
        self.shown += shown.to_string().len();
        self.note(Outcome {
            step: (!self.flat).then(|| place.to_owned()),
            tool: tool.to_owned(),
            ok,
            result: ok.then(|| shown.clone()),
            error: (!ok).then_some(shown),
            duration_ms: milliseconds(started),
        });
        // What an optional step failed with can be asked for; otherwise a failure leaves no result.
        self.prev = Some(if ok || optional { value } else { Value::Null });
        self.failed |= !ok && (over || !optional);
        if !ok && (over || !(optional || self.keep_going)) {
            self.stopped_at = Some(place.to_owned());
            return Then::Stop;
        }
        Then::GoOn
    }

    /// Whether the whole run was called off or is out of time: nothing more can succeed.
    fn over(&self) -> bool {
        self.cx.call.cancellation().is_cancelled() || self.cx.call.remaining() == Duration::ZERO
    }

    /// A step that is no call and failed.
    fn failed(&mut self, place: &str, what: &str, error: Error) -> Then {
        self.failed = true;
        let value = encode::json(&Err(error));
        let shown = self.bounded(&self.scrub(&value), LONGEST_RESULT);
        self.note(Outcome {
            step: (!self.flat).then(|| place.to_owned()),
            tool: what.to_owned(),
            ok: false,
            result: None,
            error: Some(shown),
            duration_ms: 0,
        });
        if self.keep_going && !self.over() && self.calls < MOST_CALLS {
            return Then::GoOn;
        }
        self.stopped_at = Some(place.to_owned());
        Then::Stop
    }

    fn note(&mut self, outcome: Outcome) {
        if MOST_OUTCOMES <= self.outcomes.len() {
            self.outcomes.remove(0);
            self.left_out += 1;
        }
        self.outcomes.push(outcome);
    }

    fn vars(&self) -> Map<String, Value> {
        self.cx.session.state().variables.clone()
    }

    fn scope<'s>(&'s self, vars: &'s Map<String, Value>) -> Scope<'s> {
        Scope {
            prev: self.prev.as_ref(),
            steps: &self.results,
            params: Some(&self.params),
            vars: Some(vars),
            index: self.index,
        }
    }

    fn resolve(&self, value: &Value) -> Result<Value> {
        resolve(value, self.scope(&self.vars()))
    }

    fn holds(&self, condition: &Condition) -> Result<bool> {
        let vars = self.vars();
        let scope = self.scope(&vars);
        let value = tested(&condition.value, scope)?;
        for test in &condition.tests {
            let holds = match (test, &value) {
                (Test::Exists(wanted), value) => value.is_some() == *wanted,
                (_, None) => {
                    // Says where the reference ends.
                    resolve(&condition.value, scope)?;
                    false
                }
                (Test::Equals(wanted), Some(value)) => same(value, &resolve(wanted, scope)?),
                (Test::NotEquals(wanted), Some(value)) => !same(value, &resolve(wanted, scope)?),
                (Test::Contains(wanted), Some(value)) => contains(value, &resolve(wanted, scope)?),
                (Test::GreaterThan(wanted), Some(value)) => {
                    number(&resolve(wanted, scope)?)? < number(value)?
                }
                (Test::LessThan(wanted), Some(value)) => number(value)? < number(&resolve(wanted, scope)?)?,
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same without what must not be shown.
    fn scrub(&self, value: &Value) -> Value {
        if self.secrets.is_empty() {
            return value.clone();
        }
        match value {
            // A short one would be found in every other word: it is hidden where it stands alone.
            Value::String(text) if self.secrets.contains(text) => Value::String("•••".to_owned()),
            Value::String(text) => {
                let long = self.secrets.iter().filter(|secret| 4 <= secret.chars().count());
                Value::String(long.fold(text.clone(), |text, secret| text.replace(secret, "•••")))
            }
            Value::Array(items) => Value::Array(items.iter().map(|item| self.scrub(item)).collect()),
            Value::Object(members) => {
                let clean = members.iter().map(|(name, member)| (name.clone(), self.scrub(member)));
                Value::Object(clean.collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn bounded(&self, value: &Value, most: usize) -> Value {
        let text = value.to_string();
        if text.len() <= most {
            return value.clone();
        }
        let text = value.as_str().map_or(text, str::to_owned);
        let end = text.char_indices().map(|(index, _)| index).take_while(|index| *index <= most).last();
        Value::String(format!("{}… (cut; {} bytes in all)", &text[..end.unwrap_or(0)], text.len()))
    }
}

/// Whether two values mean the same: 2 and 2.0, and a number and its text, as elements show it.
fn same(one: &Value, other: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::String(one), Value::String(other)) => one == other,
        _ => one == other || text(one).is_some_and(|one| text(other) == Some(one)),
    }
}

fn contains(whole: &Value, part: &Value) -> bool {
    match whole {
        Value::String(text) => match part {
            Value::String(part) => text.contains(part),
            other => text.contains(&other.to_string()),
        },
        Value::Array(items) => items.iter().any(|item| same(item, part)),
        Value::Object(members) => part.as_str().is_some_and(|name| members.contains_key(name)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn number(value: &Value) -> Result<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| Error::argument(format!("{value:.60} is no number to compare.")))
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tests = self.tests.iter().map(|test| match test {
            Test::Exists(wanted) => json!({ "exists": wanted }),
            Test::Equals(wanted) => json!({ "equals": wanted }),
            Test::NotEquals(wanted) => json!({ "not_equals": wanted }),
            Test::Contains(wanted) => json!({ "contains": wanted }),
            Test::GreaterThan(wanted) => json!({ "greater_than": wanted }),
            Test::LessThan(wanted) => json!({ "less_than": wanted }),
        });
        let tests: Vec<String> = tests.map(|test| test.to_string()).collect();
        write!(f, "{} {}", self.value, tests.join(" "))
    }
}
