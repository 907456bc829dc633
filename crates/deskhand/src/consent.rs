//! Asking the person before a call is made, where Deskhand was started to.
//!
//! Who is asked depends on who calls: a client of the protocol shows the question to its user, the command line
//! asks on its terminal. Who cannot ask is refused: that nobody objected is no consent.

use crate::policy::Policy;
use crate::tool::{Effect, Row};
use deskhand_core::{Call, Code, Error, Result};
use serde_json::Value;
use std::time::Duration;

/// How long a person gets to answer, unless the configuration says otherwise. Some clients end a call after a
/// minute.
pub const PATIENCE: Duration = Duration::from_secs(50);

/// How much of the arguments a question shows, in characters.
const LONGEST: usize = 2000;

/// Asks a person.
pub trait Ask: Send + Sync {
    /// Puts a question that can be answered by yes or no. Fails with `timeout` or `cancelled` as the call does, and
    /// with another error where the question could not be put.
    fn ask(&self, call: &Call, question: &str) -> Result<Answer>;
}

/// What a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may be done.
    Yes,
    /// It may not.
    No,
    /// The question was dismissed.
    Dismissed,
}

/// Asks for consent to a call. `rule` is what `--confirm` says.
pub fn require(
    asker: Option<&dyn Ask>,
    call: &Call,
    row: &Row,
    effect: Effect,
    rule: &str,
    arguments: &Value,
    patience: Duration,
) -> Result<()> {
    let name = row.name;
    let denied = |message: String| Error::new(Code::DeniedByPolicy, message);
    let Some(asker) = asker else {
        return Err(denied(format!(
            "{name} needs the consent of the person (--confirm {rule}), and there is no way to ask them here."
        ))
        .remedy(format!(
            "Use a client that supports elicitation with forms, or a terminal; or start Deskhand without --confirm \
             {rule}."
        )));
    };
    let question = question(row, effect, arguments);
    match call.asking(patience, |own| asker.ask(own, &question)) {
        Ok(Answer::Yes) => Ok(()),
        Ok(Answer::No) => Err(denied(format!("The person declined: {name} was not called."))
            .remedy("Do not try it again in another way. Ask them what they want instead.")),
        Ok(Answer::Dismissed) => Err(denied(format!(
            "The person dismissed the question without an answer: {name} was not called."
        ))
        .remedy("Ask them whether they want it.")),
        Err(error) if error.code == Code::Timeout => Err(Error::new(
            Code::Timeout,
            format!("Nobody answered within {} s: {name} was not called.", patience.as_secs_f64()),
        )
        .remedy("Try again when the person is there to answer.")),
        Err(error) if matches!(error.code, Code::Cancelled | Code::PausedByUser) => Err(error),
        Err(error) => Err(Error {
            message: format!("The person could not be asked, so {name} was not called. {}", error.message),
            code: Code::DeniedByPolicy,
            ..error
        }),
    }
}

fn question(row: &Row, effect: Effect, arguments: &Value) -> String {
    let mut shown = match arguments {
        Value::Object(object) if object.is_empty() => String::new(),
        Value::Null => String::new(),
        other => format!(" with {}", visible(&other.to_string())),
    };
    let all = shown.chars().count();
    if LONGEST < all {
        shown = shown.chars().take(LONGEST).collect();
        shown.push_str(&format!("… ({} more characters)", all - LONGEST));
    }
    format!("Deskhand is asked to {}: {}{shown}. Allow it?", Policy::verb(effect), row.name)
}

/// Text in which nothing is there that cannot be seen: what turns the direction of writing, say.
fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if hidden(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// The terminal that this process was started on.
#[cfg(unix)]
pub struct Terminal(std::fs::File);

#[cfg(unix)]
impl Terminal {
    /// The terminal, if there is one.
    pub fn open() -> Option<Terminal> {
        std::fs::File::options().read(true).write(true).open("/dev/tty").ok().map(Terminal)
    }
}

#[cfg(unix)]
impl Ask for Terminal {
    fn ask(&self, call: &Call, question: &str) -> Result<Answer> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use std::io::{Read, Write};
        let failed = |error: std::io::Error| Error::backend("The terminal cannot be asked.").os(error);
        // What was typed before the question was seen is no answer to it.
        let _ = rustix::termios::tcflush(&self.0, rustix::termios::QueueSelector::IFlush);
        (&self.0).write_all(format!("{question} [y/N] ").as_bytes()).map_err(failed)?;
        call.until("waiting for an answer on the terminal", || {
            let mut waited = [PollFd::new(&self.0, PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            Ok(matches!(poll(&mut waited, Some(&now)), Ok(ready) if 0 < ready).then_some(()))
        })
        .inspect_err(|_| drop((&self.0).write_all(b"\n")))?;
        let mut line = [0; 256];
        let read = (&self.0).read(&mut line).map_err(failed)?;
        let line = String::from_utf8_lossy(&line[..read]).trim().to_lowercase();
        Ok(match line.as_str() {
            "y" | "yes" => Answer::Yes,
            _ if read == 0 => Answer::Dismissed,
            _ => Answer::No,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_shown() {
        assert_eq!(visible("rm \u{202e}txt.exe\u{7}"), "rm \\u{202e}txt.exe\\u{7}");
        assert_eq!(visible("Grüße 🎉"), "Grüße 🎉");
    }
}
