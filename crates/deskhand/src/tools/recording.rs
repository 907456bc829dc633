//! Recording what a person does, as a macro.

use super::macros::{MacroInfo, keep};
use crate::call::Context;
use crate::files;
use crate::macros::Macro;
use crate::recording::Recording;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<StartRecording>(), Row::of::<StopRecording>()];

/// How long a recording lasts when nobody says.
const USUAL: Duration = Duration::from_secs(600);

/// Record what the person does with mouse and keyboard until stop_recording, as steps that name elements. What
/// is typed into password fields is not kept. Deskhand's own input is not recorded.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct StartRecording {
    /// Ends by itself after this long, and is kept; 10 minutes by default.
    pub duration_ms: Option<Ranged<100, 3_600_000>>,
}

/// A recording that has begun.
#[derive(Serialize, JsonSchema)]
pub struct Started {
    /// The devices of the person that are listened to.
    pub devices: Vec<String>,
    /// When it ends by itself.
    pub ends_in_ms: u64,
}

impl Tool for StartRecording {
    const NAME: &'static str = "start_recording";
    // It changes nothing, and sees what a person types: that is not for everybody who may look.
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] = &[Code::SessionNotFound, Code::SecureDesktopActive, Code::Busy];
    const SESSION: bool = true;
    const GROUP: Group = Group::Steps;
    type Output = Data<Started>;

    fn call(self, cx: &Context) -> Result<Data<Started>> {
        let running = || {
            Error::new(Code::Busy, format!("The session {} is recording already.", cx.session.name))
                .remedy("End that recording with stop_recording first.")
        };
        if cx.session.state().recording.is_some() {
            return Err(running());
        }
        let devices = cx.desktop.person.devices(&cx.call)?;
        let limit = self.duration_ms.map_or(USUAL, Ranged::milliseconds);
        let recording = Recording::begin(&cx.call, cx.desktop, limit)?;
        let mut state = cx.session.state();
        if state.recording.is_some() {
            drop(state);
            return Err(running());
        }
        state.recording = Some(recording);
        let theirs = devices.into_iter().filter(|device| device.from_person);
        Ok(Data(Started {
            devices: theirs.map(|device| device.name).collect(),
            ends_in_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
        }))
    }
}

/// End the recording and make a macro of it, for execute_macro.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct StopRecording {
    /// The macro's name: letters, digits, _ and -. `recorded` by default.
    pub name: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// A JSON file to save it in.
    pub file_path: Option<String>,
    /// Replace a macro of this name, and the file.
    pub overwrite: bool,
    /// Forget what was recorded instead.
    pub discard: bool,
}

/// What was recorded.
#[derive(Serialize, JsonSchema)]
pub struct Stopped {
    /// The macro, with its steps. Absent when there is none.
    #[serde(rename = "macro", skip_serializing_if = "Option::is_none")]
    pub made: Option<MacroInfo>,
    /// How many presses, turns and keys of the person were seen.
    pub acts: usize,
    /// What could not be recorded as it was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Tool for StopRecording {
    const NAME: &'static str = "stop_recording";
    const EFFECT: Effect = Effect::File;
    const ERRORS: &'static [Code] =
        &[Code::SessionNotFound, Code::PathNotFound, Code::PathExists, Code::PermissionDenied, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("macro", "name"), ("macro_name", "name"), ("path", "file_path")];
    const SESSION: bool = true;
    const GROUP: Group = Group::Steps;
    type Output = Data<Stopped>;

    fn effect(&self) -> Effect {
        if self.file_path.is_some() { Effect::File } else { Effect::Read }
    }

    fn call(self, cx: &Context) -> Result<Data<Stopped>> {
        let (finish, acts) = {
            let state = cx.session.state();
            let recording = state.recording.as_ref().ok_or_else(|| {
                Error::argument(format!("The session {} records nothing.", cx.session.name))
                    .remedy("Begin with start_recording, in the same session.")
            })?;
            (recording.finish(), recording.progress().acts)
        };
        if self.discard {
            let recording = cx.session.state().recording.take();
            drop(recording);
            return Ok(Data(Stopped { made: None, acts, notes: vec!["It was discarded.".to_owned()] }));
        }
        let name = self.name.unwrap_or_else(|| "recorded".to_owned());
        // What stands in the way is told while the recording can still be ended otherwise.
        cx.server.macros.check(&name, self.overwrite)?;
        if let Some(path) = &self.file_path {
            files::writable(cx, path, self.overwrite)?;
        }
        let recorded = finish(&cx.call)?;
        if recorded.steps.0.is_empty() {
            cx.session.state().recording = None;
            let mut notes = recorded.notes;
            notes.push("Nothing was recorded: no macro was made.".to_owned());
            return Ok(Data(Stopped { made: None, acts, notes }));
        }
        let steps: Value = json!(recorded.steps);
        let made = Macro {
            name,
            description: self.description.unwrap_or_default(),
            parameters: recorded.parameters,
            steps: recorded.steps,
        };
        made.plan()?;
        let info = keep(cx, made, self.file_path.as_deref(), self.overwrite)?;
        let recording = cx.session.state().recording.take();
        drop(recording);
        Ok(Data(Stopped {
            made: Some(MacroInfo { steps: Some(steps), ..info }),
            acts,
            notes: recorded.notes,
        }))
    }
}
