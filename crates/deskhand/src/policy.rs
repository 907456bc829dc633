//! The gate: what a call would do against what Deskhand was started to allow.

use crate::tool::{Effect, Group, Row};
use deskhand_core::{Code, Error, Result};

/// What may be listed and called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// Nothing but looking.
    pub read_only: bool,
    /// Tools, groups or effects that are allowed although they are off by default.
    pub allow: Vec<String>,
    /// Tools, groups or effects that are off.
    pub deny: Vec<String>,
    /// Tools, groups or effects that the person is asked about before each call.
    pub confirm: Vec<String>,
}

impl Policy {
    /// Whether a tool may be used for something with this effect.
    pub fn check(&self, row: &Row, effect: Effect) -> Result<()> {
        let denied = |message: String, remedy: &str| {
            Err(Error::new(Code::DeniedByPolicy, message).remedy(remedy.to_owned()))
        };
        if self.read_only && effect != Effect::Read {
            return denied(
                format!(
                    "{} would {}, and Deskhand was started with --read-only.",
                    row.name,
                    Policy::verb(effect)
                ),
                match row.least {
                    Effect::Read => "Leave out or turn off the parameter that makes it more than looking.",
                    _ => "Start it without --read-only to allow this.",
                },
            );
        }
        if let Some(rule) = self.deny.iter().find(|rule| names(rule, row, effect)) {
            return denied(
                format!("{} is off: Deskhand was started with --deny {rule}.", row.name),
                "Start it without that option to allow this.",
            );
        }
        if effect == Effect::Script && !self.allow.iter().any(|rule| names(rule, row, effect)) {
            return denied(
                format!("{} runs code, which is off by default.", row.name),
                &match row.name {
                    "execute_shell_command" => "Start Deskhand with --allow shell to allow this.".to_owned(),
                    name => {
                        format!(
                            "Start Deskhand with --allow {name} to allow this, or --allow shell for any code."
                        )
                    }
                },
            );
        }
        Ok(())
    }

    /// The rule by which the person is asked before such a call. A call that is made of others is asked about only
    /// by its own name or group: each of its parts is asked about on its own.
    pub fn asks(&self, row: &Row, effect: Effect) -> Option<&str> {
        let of_others = row.group == Group::Steps && effect.takes_lane();
        let by_effect =
            |rule: &str| rule == "shell" || Effect::ALL.iter().any(|effect| effect.name() == rule);
        let concerns = |rule: &&String| {
            let plain = rule.trim().to_ascii_lowercase();
            names(rule, row, effect) && !(of_others && by_effect(&plain))
        };
        self.confirm.iter().find(concerns).map(String::as_str)
    }

    /// Whether a tool is listed: whether anything that it does is allowed.
    pub fn lists(&self, row: &Row) -> bool {
        self.check(row, row.least).is_ok()
    }

    /// What a call with this effect does, in a sentence.
    pub const fn verb(effect: Effect) -> &'static str {
        match effect {
            Effect::Read => "look",
            Effect::File => "write a file",
            Effect::Change => "change the desktop",
            Effect::Input => "make input",
            Effect::Script => "run code",
        }
    }

    /// Whether programs that interpret code (shells, Python …) may be started.
    pub fn allows_shell(&self) -> bool {
        self.allow.iter().any(|rule| rule == "shell" || rule == "script")
    }
}

/// Whether a name means anything in `--allow` or `--deny`.
pub fn is_rule(name: &str) -> bool {
    crate::tools::all().any(|row| row.name.eq_ignore_ascii_case(name))
        || rules().iter().any(|rule| rule == name)
}

/// The names of groups and effects that rules can have, besides those of tools.
pub fn rules() -> Vec<String> {
    let mut rules: Vec<String> =
        crate::tools::rows().map(|row| format!("{:?}", row.group).to_ascii_lowercase()).collect();
    rules.extend(Effect::ALL.map(|effect| effect.name().to_owned()));
    rules.push("shell".to_owned());
    rules.sort();
    rules.dedup();
    rules
}

/// Whether a rule names this tool, its group or its effect.
fn names(rule: &str, row: &Row, effect: Effect) -> bool {
    let rule = rule.trim().to_ascii_lowercase();
    rule == row.name.to_ascii_lowercase()
        || rule == effect.name()
        || rule == format!("{:?}", row.group).to_ascii_lowercase()
        || (rule == "shell" && effect == Effect::Script)
}
