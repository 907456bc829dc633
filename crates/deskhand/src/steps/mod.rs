//! Steps: calls of tools with references to what came before, conditions and rounds. One language and one
//! engine, for `run_steps` and for macros (docs/steps.md).

mod plan;
mod reference;
mod run;

pub use plan::{Condition, LOOP_ROUNDS, MOST_DEPTH, MOST_STEPS, Plan, Rounds, Step, StepList, Test};
pub use reference::{Scope, resolve};
pub use run::{MOST_CALLS, Outcome, Ran, Run};
