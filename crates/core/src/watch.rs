//! Changes as they happen: what an application said of its elements.

use crate::call::Call;
use crate::element::ElementId;
use crate::error::Result;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// What somebody sleeps on who waits for several sources at once: each rings it when something has come.
/// Clones are the same bell.
#[derive(Clone, Debug, Default)]
pub struct Bell(Arc<(Mutex<bool>, Condvar)>);

impl Bell {
    /// Wakes whoever sleeps on it, or whoever comes to sleep next.
    pub fn ring(&self) {
        *self.0.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = true;
        self.0.1.notify_all();
    }

    /// Sleeps until it has been rung since this last returned, at most until `until`; without a time it uses
    /// no processor until it is rung. Says whether it was.
    pub fn wait(&self, until: Option<Instant>) -> bool {
        let mut rung = self.0.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while !*rung {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            rung = match left {
                Some(Duration::ZERO) => return false,
                Some(left) => {
                    self.0.1.wait_timeout(rung, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
                }
                None => self.0.1.wait(rung).unwrap_or_else(|poisoned| poisoned.into_inner()),
            };
        }
        *rung = false;
        true
    }
}

/// What kind of change it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A state went on or off.
    State,
    /// The keyboard focus moved to the element.
    Focused,
    /// A text changed.
    Text,
    /// The caret or the selection moved.
    Caret,
    /// A value changed.
    Value,
    /// A name, description or another property changed.
    Property,
    /// Elements came or went.
    Children,
    /// It moved, or its size changed.
    Bounds,
    /// The selected items changed.
    Selection,
    /// A window opened, closed, was activated or moved.
    Window,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What kind.
    pub kind: Kind,
    /// Where.
    pub element: ElementId,
    /// The process that it happened in, where known.
    pub pid: Option<u32>,
    /// The particular of the kind: the state's name, `insert`, `delete`, the property's name.
    pub detail: String,
    /// The state is on, the child was added.
    pub on: bool,
    /// What was inserted, deleted or set, where the application tells.
    pub text: Option<String>,
}

/// A place in the stream of changes. Bounded: when the reader is slow the oldest are dropped and counted.
pub trait Watch: Send {
    /// The next change, or nothing by `until`.
    fn next(&mut self, call: &Call, until: Instant) -> Result<Option<Change>>;

    /// How many changes were dropped since the watch began.
    fn dropped(&self) -> u64;

    /// From now on keeps only changes in these processes (in any, when there are none), and rings the bell
    /// whenever one has come.
    fn listen(&mut self, bell: &Bell, pids: &[u32]);

    /// All that has come, without waiting and without asking anybody: texts are left out, since whether
    /// they may be told would have to be asked.
    fn drain(&mut self) -> Result<Vec<Change>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_wakes_who_sleeps_and_who_comes_later() {
        let bell = Bell::default();
        bell.ring();
        assert!(bell.wait(None));
        assert!(!bell.wait(Some(Instant::now())));
        let other = bell.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || other.ring());
            assert!(bell.wait(Some(Instant::now() + Duration::from_secs(20))));
        });
    }
}
