//! The guards that are on, in words: for the log, `deskhand doctor` and the model.

use crate::call::Config;
use deskhand_core::{Call, Code, Desktop};
use serde_json::{Value, json};
use std::time::Duration;

/// The guards as fields of the log line at the start. What is off is absent.
pub fn fields(config: &Config) -> Value {
    let guards = &config.guards;
    let apps = guards.apps.options();
    json!({
        "confirm": (!config.policy.confirm.is_empty()).then_some(&config.policy.confirm),
        "apps": (!apps.is_empty()).then_some(apps),
        "yield_ms": (!guards.quiet.is_zero()).then_some(guards.quiet.as_millis()),
        "stop_chord": guards.chord.map(|chord| chord.to_string()),
    })
}

/// The guards in sentences, with what is the matter with them.
pub fn sentences(desktop: &Desktop, config: &Config) -> Vec<String> {
    let guards = &config.guards;
    let mut told = Vec::new();
    if !config.policy.confirm.is_empty() {
        told.push(format!("The person is asked before: {}.", config.policy.confirm.join(", ")));
    }
    let call = Call::with_timeout(Duration::from_secs(3));
    for rule in guards.apps.options() {
        let known = known(desktop, &call, rule.split_once(' ').map_or("", |(_, name)| name));
        told.push(match known {
            Some(false) => format!("{rule}: no application of this name is installed or running."),
            Some(true) | None => format!("{rule}."),
        });
    }
    if !guards.quiet.is_zero() {
        let ms = guards.quiet.as_millis();
        told.push(match desktop.person.quiet_for(&call) {
            Ok(_) => format!("Input waits until the person has been quiet for {ms} ms."),
            Err(error) if error.code == Code::Unsupported => {
                format!("Input does not wait for the person: {}", error.message)
            }
            Err(error) => format!("Input waits for the person, who cannot be seen now: {}", error.message),
        });
    }
    if let Some(chord) = guards.chord {
        let (key, ms) = (chord.key, chord.hold.as_millis());
        told.push(match desktop.person.devices(&call) {
            Ok(_) => format!("Holding {key} for {ms} ms stops everything, and lets it go on."),
            Err(error) => format!("Holding {key} does not stop anything: {}", error.message),
        });
    }
    match desktop.person.halted() {
        Ok(None) => {}
        Ok(Some(how)) => {
            told.push(format!("STOPPED by the person: {how}. `deskhand resume` lets it go on."));
        }
        Err(error) => {
            told.push(format!("Whether the person has stopped Deskhand is not known: {}", error.message))
        }
    }
    told
}

/// Whether there is an application of this name, as far as it can be known.
fn known(desktop: &Desktop, call: &Call, rule: &str) -> Option<bool> {
    use deskhand_core::guard::is_called;
    let installed = desktop.apps.installed(call).ok()?;
    let running = desktop.apps.running(call).ok()?;
    let called = |name: &String| is_called(name, rule);
    Some(
        installed.iter().any(|app| {
            [Some(&app.id), Some(&app.name), app.executable.as_ref(), app.window_class.as_ref()]
                .into_iter()
                .flatten()
                .any(called)
        }) || running.iter().any(|app| {
            [Some(&app.name), app.id.as_ref(), Some(&app.process)].into_iter().flatten().any(called)
        }),
    )
}
