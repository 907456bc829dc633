//! Several calls in one.

use crate::call::Context;
use crate::steps::{Plan, Ran, Run, StepList};
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::{Code, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Map;
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<RunSteps>()];

/// Make several calls in one, in order; stops at the first error. A step is `{tool, arguments, optional}`,
/// `{wait: {…wait_for}}`, `{if: {value, equals|contains|exists|…}, then, else}`, `{repeat: {times} or
/// {until, at_most}, steps}` or `{assign: {name: value}}`. A value can be a reference:
/// `{"$from": "prev.elements[0].ref"}`, `"steps[0].window.id"`, `"vars.name"`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSteps {
    /// The steps.
    pub steps: StepList,
    /// Go on after an error.
    #[serde(default)]
    pub continue_on_error: bool,
    /// Between steps.
    #[serde(default)]
    pub delay_ms: Option<Ranged<0, 10_000>>,
}

impl Tool for RunSteps {
    const NAME: &'static str = "run_steps";
    const EFFECT: Effect = Effect::Input;
    const LEAST: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::SecureDesktopActive, Code::Busy, Code::SessionNotFound];
    // Each step logs its own arguments, with its own secrets; here they would stand without that care.
    const SECRET: &'static [&'static str] = &["steps"];
    const SESSION: bool = true;
    const GROUP: Group = Group::Steps;
    type Output = Data<Ran>;

    fn effect(&self) -> Effect {
        // Steps that only look change nothing together either.
        Plan::effect(&self.steps)
    }

    fn patience(&self) -> Duration {
        patience(self.steps.0.len(), self.delay_ms)
    }

    fn call(self, cx: &Context) -> Result<Data<Ran>> {
        let plan = Plan::parse(&self.steps, false)?;
        let mut run = Run::new(cx, Map::new(), Vec::new());
        run.delay = self.delay_ms;
        run.keep_going = self.continue_on_error;
        Ok(Data(run.all(&plan)))
    }
}

/// Each step has at least the time that it would have alone.
pub fn patience(steps: usize, delay: Option<Ranged<0, 10_000>>) -> Duration {
    let delay = delay.map_or(Duration::ZERO, Ranged::milliseconds);
    let steps = u32::try_from(steps).unwrap_or(u32::MAX);
    (delay + Duration::from_secs(10)).saturating_mul(steps.min(20))
}
