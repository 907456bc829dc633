//! Several calls in one.

use crate::call::Context;
use crate::encode;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<RunSteps>()];

/// The longest result of a step that stands in the reply whole, in bytes.
const LONGEST_RESULT: usize = 4000;

/// Make several calls in one, in their order; stops at the first error. An argument can be a reference to
/// an earlier result: `{"$from": "prev.elements[0].ref"}`, or `"steps[0].window.id"`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSteps {
    /// The calls.
    pub steps: Vec<Step>,
    /// Go on after an error.
    #[serde(default)]
    pub continue_on_error: bool,
    /// Between steps.
    #[serde(default)]
    pub delay_ms: Option<Ranged<0, 10_000>>,
}

/// One call.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// What came of the steps.
#[derive(Serialize, JsonSchema)]
pub struct Ran {
    /// How many steps succeeded.
    pub succeeded: usize,
    /// How many steps there are.
    pub total: usize,
    /// Each step's outcome, up to the one that failed.
    pub steps: Vec<Outcome>,
}

/// What came of one step.
#[derive(Serialize, JsonSchema)]
pub struct Outcome {
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

impl Tool for RunSteps {
    const NAME: &'static str = "run_steps";
    const EFFECT: Effect = Effect::Input;
    const LEAST: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::SecureDesktopActive, Code::Busy];
    // Each step logs its own arguments, with its own secrets; here they would stand without that care.
    const SECRET: &'static [&'static str] = &["steps"];
    const GROUP: Group = Group::Steps;
    type Output = Data<Ran>;

    fn effect(&self) -> Effect {
        // Steps that only look change nothing together either.
        let effects = self.steps.iter().filter_map(|step| super::find(&step.tool, Value::Null));
        effects.map(|(row, _)| row.effect).max().unwrap_or(Effect::Read)
    }

    fn patience(&self) -> Duration {
        let delay = self.delay_ms.map_or(Duration::ZERO, Ranged::milliseconds);
        let steps = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        // Each step has at least the time that it would have alone.
        (delay + Duration::from_secs(10)).saturating_mul(steps.min(20))
    }

    fn call(self, cx: &Context) -> Result<Data<Ran>> {
        if self.steps.is_empty() {
            return Err(Error::new(
                Code::MissingRequiredParameter,
                "steps is empty: there is nothing to do.",
            ));
        }
        if let Some(step) = self.steps.iter().find(|step| step.tool == Self::NAME) {
            return Err(Error::argument(format!("{} cannot be a step of itself.", step.tool)));
        }
        if let Some(step) = self.steps.iter().find(|step| super::find(&step.tool, Value::Null).is_none()) {
            return Err(crate::call::unknown_tool(&step.tool)
                .expected("tools that exist, in every step; nothing was done"));
        }
        let total = self.steps.len();
        let (mut outcomes, mut results) = (Vec::new(), Vec::<Value>::new());
        for (place, step) in self.steps.into_iter().enumerate() {
            if let (true, Some(delay)) = (0 < place, self.delay_ms) {
                cx.call.pause(delay.milliseconds(), "pausing between steps")?;
            }
            let started = Instant::now();
            let result = resolve(Value::Object(step.arguments), &results)
                .and_then(|arguments| cx.call_by_name(&step.tool, arguments, place));
            let ok = result.is_ok();
            let value = encode::json(&result);
            results.push(if ok { value.clone() } else { Value::Null });
            outcomes.push(Outcome {
                tool: step.tool,
                ok,
                result: ok.then(|| bounded(&value)),
                error: (!ok).then_some(value),
                duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            });
            if !ok && !self.continue_on_error {
                break;
            }
        }
        Ok(Data(Ran {
            succeeded: outcomes.iter().filter(|outcome| outcome.ok).count(),
            total,
            steps: outcomes,
        }))
    }
}

fn bounded(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= LONGEST_RESULT {
        return value.clone();
    }
    let text = value.as_str().map_or(text, str::to_owned);
    let end = text.char_indices().map(|(index, _)| index).take_while(|index| *index <= LONGEST_RESULT).last();
    Value::String(format!("{}… (cut; {} bytes in all)", &text[..end.unwrap_or(0)], text.len()))
}

/// Replaces `{"$from": path}` objects by what stands at the path in the earlier results.
pub fn resolve(value: Value, results: &[Value]) -> Result<Value> {
    Ok(match value {
        Value::Object(mut object) => {
            if object.len() == 1
                && let Some(Value::String(path)) = object.get("$from")
            {
                return look_up(path, results);
            }
            for member in object.values_mut() {
                *member = resolve(member.take(), results)?;
            }
            Value::Object(object)
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| resolve(item, results)).collect::<Result<_>>()?)
        }
        other => other,
    })
}

/// `prev.a.b[0]`, `steps[2].a`: a path into the earlier results.
fn look_up(path: &str, results: &[Value]) -> Result<Value> {
    let wrong = |what: &str| {
        Error::argument(format!("The reference {path:?} leads nowhere: {what}."))
            .expected("prev or steps[n], then .member and [index], as in prev.elements[0].ref")
    };
    let mut parts = path
        .split('.')
        .flat_map(|part| {
            let (name, indexes) = part.split_once('[').map_or((part, ""), |(name, rest)| (name, rest));
            let indexes = indexes.split('[').filter(|text| !text.is_empty());
            (!name.is_empty()).then_some(Part::Member(name)).into_iter().chain(
                indexes
                    .map(|text| text.trim_end_matches(']').parse().map_or(Part::Member(text), Part::Index)),
            )
        })
        .peekable();
    let mut value = match parts.next() {
        Some(Part::Member("prev" | "$prev")) => {
            results.last().ok_or_else(|| wrong("there is no step before the first"))?
        }
        Some(Part::Member("steps")) => match parts.next() {
            Some(Part::Index(index)) => {
                results.get(index).ok_or_else(|| wrong("that step has not run yet"))?
            }
            _ => return Err(wrong("steps needs a number in brackets")),
        },
        _ => return Err(wrong("it has to begin with prev or steps")),
    };
    for part in parts {
        value = match part {
            Part::Member(name) => value.get(name).ok_or_else(|| wrong(&format!("there is no {name}")))?,
            Part::Index(index) => {
                value.get(index).ok_or_else(|| wrong(&format!("there is no item {index}")))?
            }
        };
    }
    Ok(value.clone())
}

enum Part<'a> {
    Member(&'a str),
    Index(usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_resolved_at_any_depth_and_errors_say_where_they_end() {
        let results = [json!({"id": 7}), json!({"elements": [{"ref": "e3"}]})];
        let resolved = resolve(
            json!({"element": {"$from": "prev.elements[0].ref"}, "deep": [{"$from": "steps[0].id"}]}),
            &results,
        );
        assert_eq!(resolved.unwrap(), json!({"element": "e3", "deep": [7]}));
        for (path, why) in [
            ("prev.elements[4].ref", "there is no item 4"),
            ("prev.nothing", "there is no nothing"),
            ("steps[9].x", "has not run yet"),
            ("elements", "has to begin with"),
        ] {
            let error = resolve(json!({"$from": path}), &results).unwrap_err();
            assert!(error.message.contains(why), "{error}");
        }
    }
}
