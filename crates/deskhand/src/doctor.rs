//! What works here and what does not: each capability's provider, why it was chosen, and whether it
//! answers now.

use deskhand_core::clipboard::Selection;
use deskhand_core::lane::ClientId;
use deskhand_core::{Call, Choice, Desktop, Error, Result};
use serde::Serialize;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One capability, examined.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The capability.
    pub capability: &'static str,
    /// Whether it answers.
    pub works: bool,
    /// The provider, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<&'static str>,
    /// Why this provider, or why none.
    pub reason: String,
    /// What it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What is the matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// How long the answer took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
}

/// Asks every capability something harmless.
pub fn examine(desktop: &Arc<Desktop>) -> Vec<Finding> {
    desktop.choices.iter().map(|choice| examine_one(desktop, choice)).collect()
}

fn examine_one(desktop: &Arc<Desktop>, choice: &Choice) -> Finding {
    let mut finding = Finding {
        capability: choice.capability,
        works: false,
        provider: None,
        reason: choice.reason.clone(),
        found: None,
        problem: None,
        remedy: None,
        duration_ms: None,
    };
    match &choice.provider {
        Err(missing) => {
            finding.problem = Some(missing.reason.clone());
            finding.remedy = Some(missing.remedy.clone());
            return finding;
        }
        Ok(provider) => finding.provider = Some(provider),
    }
    let started = Instant::now();
    let answer = probe(desktop, choice.capability);
    finding.duration_ms = Some((started.elapsed().as_secs_f64() * 10_000.0).round() / 10.0);
    match answer {
        Ok(found) => {
            finding.works = true;
            finding.found = Some(found);
        }
        Err(error) => {
            finding.problem = Some(match &error.detail.os {
                Some(os) => format!("{} ({os})", error.message),
                None => error.message.clone(),
            });
            finding.remedy = error.detail.remedy;
        }
    }
    finding
}

fn probe(desktop: &Arc<Desktop>, capability: &str) -> Result<String> {
    let call = Call::with_timeout(Duration::from_secs(3));
    match capability {
        "input" => {
            // Taking the lane is what finds a locked session and another Deskhand; nothing is pressed.
            let call = call.with_ticket(desktop.lane.draw(ClientId::MAX));
            let at = desktop.input(&call)?.position()?;
            Ok(format!("the pointer is at {at}"))
        }
        "screen" => {
            let displays = desktop.screen.displays(&call)?;
            let sizes: Vec<String> =
                displays.iter().map(|display| format!("{} {}", display.name, display.bounds)).collect();
            Ok(format!("{} display(s): {}", displays.len(), sizes.join(", ")))
        }
        "elements" => {
            let apps = desktop.elements.applications(&call)?;
            let names: Vec<&str> = apps.iter().map(|app| app.name.as_str()).take(8).collect();
            Ok(format!("{} application(s) have a tree: {}", apps.len(), names.join(", ")))
        }
        "windows" => Ok(format!("{} window(s)", desktop.windows.list(&call)?.len())),
        "applications" => Ok(format!(
            "{} installed, {} running",
            desktop.apps.installed(&call)?.len(),
            desktop.apps.running(&call)?.len()
        )),
        "audio" => {
            let outputs = desktop.audio.outputs(&call)?;
            let names: Vec<String> = outputs
                .iter()
                .map(|output| format!("{}{}", output.name, if output.default { " (default)" } else { "" }))
                .take(8)
                .collect();
            Ok(format!("{} output(s): {}", outputs.len(), names.join(", ")))
        }
        "scripts" => {
            let there = ["sh", "bash", "gjs"].into_iter().filter(|program| desktop.scripts.has(program));
            Ok(format!("installed: {}", there.collect::<Vec<_>>().join(", ")))
        }
        "files" => match desktop.files.front(&call) {
            Ok(view) => Ok(format!("{} shows {:?}", view.application, view.title)),
            Err(error) if error.code == deskhand_core::Code::WindowNotFound => {
                Ok("no window is open".to_owned())
            }
            Err(error) => Err(error),
        },
        "ocr" => Ok(format!("reads {}", desktop.ocr.languages(&call)?.join(", "))),
        "system" => {
            let (info, power) = (desktop.system.info(&call)?, desktop.system.power(&call)?);
            let batteries = power.batteries.len();
            Ok(format!(
                "{} on {}; {batteries} battery(ies), says {}",
                info.os, info.architecture, power.source
            ))
        }
        "clipboard" => Ok(match desktop.clipboard.offer(&call, Selection::Clipboard)? {
            None => "it is empty".to_owned(),
            Some(offer) => {
                let kinds: Vec<&str> = offer.kinds.iter().map(|kind| kind.name()).collect();
                let what = if offer.secret { "something secret".to_owned() } else { kinds.join(", ") };
                format!(
                    "{what}, offered by {}",
                    offer.owner.map_or_else(|| "somebody".to_owned(), |owner| owner.to_string())
                )
            }
        }),
        "notifications" => Ok(format!("{} shows them", desktop.notifications.shower(&call)?.name)),
        "touch" => desktop.touch_surface(&call),
        "person" => {
            let devices = desktop.person.devices(&call)?;
            let theirs = devices.iter().filter(|device| device.from_person);
            let names: Vec<&str> = theirs.map(|device| device.name.as_str()).take(8).collect();
            Ok(match names.as_slice() {
                [] => "no device that a person has in hand: a display without any".to_owned(),
                names => format!("listens to {}", names.join(", ")),
            })
        }
        "menus" => {
            let windows = desktop.windows.list(&call)?;
            let Some(window) = windows.iter().find(|window| window.focused) else {
                return Ok("no window has the keyboard, so there is none to ask".to_owned());
            };
            let bar = desktop.menus.read(&call, window)?;
            Ok(format!("{} menu(s) of {:?}, by {}", bar.menus.len(), window.title, bar.via.name()))
        }
        "status items" | "status_items" => {
            let area = desktop.status_items.list(&call)?;
            let names: Vec<&str> = area.items.iter().map(|item| item.name.as_str()).take(8).collect();
            Ok(format!(
                "{} item(s), kept by {}: {}",
                area.items.len(),
                area.keepers.join(" and "),
                names.join(", ")
            ))
        }
        other => Err(Error::unsupported(format!("There is no probe for {other}."))),
    }
}

/// What nobody sees or works a desktop without. The rest may be missing: a machine without sound is well.
const ESSENTIAL: &[&str] = &["input", "screen", "elements", "windows", "applications"];

/// Whether this desktop can be seen and worked.
pub fn is_well(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.works || !ESSENTIAL.contains(&finding.capability))
}

/// Findings as text for a person.
pub fn report(findings: &[Finding]) -> String {
    let width =
        findings.iter().filter_map(|finding| finding.provider).map(str::len).max().unwrap_or_default();
    let indent = 19 + width;
    let mut text = String::new();
    for (index, finding) in findings.iter().enumerate() {
        let mark = if finding.works { "ok" } else { "--" };
        let provider = finding.provider.unwrap_or("none");
        let _ = writeln!(text, "{mark}  {:<13} {provider:<width$} {}", finding.capability, finding.reason);
        if let Some(found) = &finding.found {
            let time = finding.duration_ms.unwrap_or_default();
            let _ = writeln!(text, "{:indent$}{found} ({time} ms)", "");
        }
        // One cause often takes several capabilities with it, and is told once.
        let same = |next: &Finding| next.problem == finding.problem && next.remedy == finding.remedy;
        if findings.get(index + 1).is_some_and(same) {
            continue;
        }
        if let Some(problem) = &finding.problem {
            let _ = writeln!(text, "{:indent$}{problem}", "");
        }
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(text, "{:indent$}What to do: {remedy}", "");
        }
    }
    let missing = findings.iter().filter(|finding| !finding.works).count();
    let _ = match (is_well(findings), missing) {
        (true, 0) => writeln!(text, "\nThis desktop can be seen and worked, with all that Deskhand can do."),
        (true, _) => {
            writeln!(text, "\nThis desktop can be seen and worked; {missing} of its services are not there.")
        }
        (false, _) => writeln!(text, "\nThis desktop cannot be seen and worked: see what to do above."),
    };
    text
}
