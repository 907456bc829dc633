//! Which applications may be worked and seen, by the names that they go by.

use crate::app::Apps;
use crate::call::Call;
use crate::error::{Code, Error, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Which applications may be worked and seen: names as `application` parameters take them, a desktop entry's id
/// or name, a window class, or a process's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppRules {
    /// If there are any, only these may be worked.
    pub allow: Vec<String>,
    /// These may not be worked.
    pub deny: Vec<String>,
    /// These may neither be worked nor seen.
    pub hide: Vec<String>,
}

/// What the rules say of an application, with the option that says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Free,
    Denied(String),
    Hidden(String),
}

impl Verdict {
    /// Refuses to work what the rules keep from it. The name of what is hidden is not told.
    pub(super) fn require(self, what: &str) -> Result<()> {
        let (message, rule) = match self {
            Verdict::Free => return Ok(()),
            Verdict::Denied(rule) => {
                (format!("Not allowed on {what}: Deskhand was started with {rule}."), rule)
            }
            Verdict::Hidden(rule) => (
                format!("An application that Deskhand may not see is there: it was started with {rule}."),
                rule,
            ),
        };
        Err(Error::new(Code::DeniedByPolicy, message)
            .remedy(format!("Leave it to the person, or ask them to start Deskhand without {rule}.")))
    }
}

impl AppRules {
    /// What the rules say of an application that goes by these names. Hiding outweighs denying, and denying
    /// allowing.
    pub(super) fn verdict(&self, names: &[&str]) -> Verdict {
        let rule = |list: &[String]| {
            list.iter().find(|rule| names.iter().any(|name| is_called(name, rule))).cloned()
        };
        if let Some(rule) = rule(&self.hide) {
            return Verdict::Hidden(format!("--hide-app {rule}"));
        }
        if let Some(rule) = rule(&self.deny) {
            return Verdict::Denied(format!("--deny-app {rule}"));
        }
        if self.allow.is_empty() || rule(&self.allow).is_some() {
            return Verdict::Free;
        }
        Verdict::Denied(self.allowed())
    }

    pub(super) fn hides_any(&self) -> bool {
        !self.hide.is_empty()
    }

    /// Refuses what belongs to no application, where only some applications may be worked.
    pub(super) fn require_nobody(&self, what: &str) -> Result<()> {
        if self.allow.is_empty() { Ok(()) } else { Verdict::Denied(self.allowed()).require(what) }
    }

    fn allowed(&self) -> String {
        let rules: Vec<String> = self.allow.iter().map(|name| format!("--allow-app {name}")).collect();
        rules.join(" ")
    }

    /// The rules as options, for logs and messages.
    pub fn options(&self) -> Vec<String> {
        let lists = [("--allow-app", &self.allow), ("--deny-app", &self.deny), ("--hide-app", &self.hide)];
        lists
            .iter()
            .flat_map(|(option, names)| names.iter().map(move |name| format!("{option} {name}")))
            .collect()
    }
}

/// Whether a name of an application is the one that a rule means, in any case: the whole of it, or its last part
/// where it is a path or a name turned round like a domain.
pub fn is_called(name: &str, rule: &str) -> bool {
    let plain = |text: &str| {
        let lower = text.trim().to_lowercase();
        lower.strip_suffix(".desktop").map_or(lower.clone(), str::to_owned)
    };
    let (name, rule) = (plain(name), plain(rule));
    let last = |c| name.rsplit(c).next().is_some_and(|last| last == rule);
    !rule.is_empty() && (name == rule || last('/') || (name.matches('.').count() >= 2 && last('.')))
}

/// Knows the names of processes.
pub(super) struct Roster {
    pub(super) rules: AppRules,
    pub(super) apps: Arc<dyn Apps>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    names: HashMap<u32, Arc<[String]>>,
    asked: Option<Instant>,
}

/// How long a process number is taken to mean the same program: it may become another one by `exec`.
const KNOWN_FOR: Duration = Duration::from_millis(500);
/// A process that is not known is asked for again this soon.
const UNKNOWN_FOR: Duration = Duration::from_millis(100);

impl Roster {
    pub(super) fn new(rules: AppRules, apps: Arc<dyn Apps>) -> Roster {
        Roster { rules, apps, known: Mutex::default() }
    }

    /// What the rules say of a process that goes by these names besides its own.
    pub(super) fn verdict(&self, call: &Call, pid: Option<u32>, names: &[&str]) -> Result<Verdict> {
        let own = pid.map(|pid| self.names(call, pid)).transpose()?.flatten();
        let own = own.iter().flat_map(|own| own.iter().map(String::as_str));
        let names: Vec<&str> = names.iter().copied().chain(own).filter(|name| !name.is_empty()).collect();
        Ok(self.rules.verdict(&names))
    }

    /// The names that a process goes by; none when it is no application that is known.
    fn names(&self, call: &Call, pid: u32) -> Result<Option<Arc<[String]>>> {
        let known = || self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        {
            let known = known();
            let age = known.asked.map(|asked| asked.elapsed());
            let names = known.names.get(&pid).cloned();
            let good = if names.is_some() { KNOWN_FOR } else { UNKNOWN_FOR };
            if age.is_some_and(|age| age < good) {
                return Ok(names);
            }
        }
        let running = self.apps.running(call)?;
        let mut known = known();
        known.asked = Some(Instant::now());
        known.names = running
            .into_iter()
            .map(|app| (app.pid, [Some(app.name), app.id, Some(app.process)].into_iter().flatten().collect()))
            .collect();
        Ok(known.names.get(&pid).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applications_go_by_several_names() {
        for (name, rule, same) in [
            ("Firefox", "firefox", true),
            ("org.gnome.Calculator", "calculator", true),
            ("org.gnome.Calculator.desktop", "org.gnome.calculator", true),
            ("/usr/bin/kcalc", "kcalc", true),
            ("kcalc2", "kcalc", false),
            ("notes.txt", "txt", false),
            ("anything", "", false),
            ("", "kcalc", false),
        ] {
            assert_eq!(is_called(name, rule), same, "{name} {rule}");
        }
    }

    #[test]
    fn hiding_outweighs_denying_and_denying_allowing() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let rules = AppRules { allow: list(&["a", "b"]), deny: list(&["b", "c"]), hide: list(&["c"]) };
        assert_eq!(rules.verdict(&["a"]), Verdict::Free);
        assert_eq!(rules.verdict(&["b"]), Verdict::Denied("--deny-app b".into()));
        assert_eq!(rules.verdict(&["c"]), Verdict::Hidden("--hide-app c".into()));
        assert_eq!(rules.verdict(&["d"]), Verdict::Denied("--allow-app a --allow-app b".into()));
        assert_eq!(rules.verdict(&[]), Verdict::Denied("--allow-app a --allow-app b".into()));
        assert_eq!(AppRules::default().verdict(&[]), Verdict::Free);
    }
}
