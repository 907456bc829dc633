//! How the person stops everything: by a key that they hold down for a while, and how they let it go on.
//!
//! That it is stopped is kept with the display and not in this process, so that every Deskhand on the display
//! heeds it and `deskhand resume` can end it from elsewhere.

use crate::call::{Call, Cancellation};
use crate::desktop::Desktop;
use crate::error::{Code, Error, Result};
use crate::input::Press;
use crate::key::{Key, NamedKey};
use crate::lane::Ticket;
use crate::person::{Act, Person, What};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// A key that is held down for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chord {
    /// The key.
    pub key: Key,
    /// For how long.
    pub hold: Duration,
}

impl Default for Chord {
    fn default() -> Chord {
        Chord { key: Key::Named(NamedKey::Escape), hold: Duration::from_secs(1) }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.key, self.hold.as_millis())
    }
}

impl FromStr for Chord {
    type Err = Error;

    /// `escape:1000`: a key and milliseconds; one second where none are given.
    fn from_str(text: &str) -> Result<Chord> {
        let (key, hold) = text.split_once(':').unwrap_or((text, "1000"));
        let ms = hold.trim().parse().ok().filter(|ms| (200..=10_000).contains(ms)).ok_or_else(|| {
            Error::argument(format!("{hold:?} is no time to hold a key down."))
                .expected("milliseconds from 200 to 10000, as in escape:1000")
        })?;
        Ok(Chord { key: key.trim().parse()?, hold: Duration::from_millis(ms) })
    }
}

/// Whether the desktop is stopped, and what runs that would have to end.
pub(crate) struct Stop {
    person: Arc<dyn Person>,
    running: Mutex<Vec<(Weak<Ticket>, Cancellation)>>,
}

impl Stop {
    pub(crate) fn new(person: Arc<dyn Person>) -> Arc<Stop> {
        Arc::new(Stop { person, running: Mutex::default() })
    }

    /// Lets a call change something, unless the person has stopped everything. It is called off when they do.
    pub(crate) fn enter(&self, call: &Call) -> Result<()> {
        if let Some(ticket) = call.ticket() {
            let mut running = self.running();
            running.retain(|(ticket, _)| 0 < ticket.strong_count());
            if !running.iter().any(|(other, _)| std::ptr::eq(other.as_ptr(), Arc::as_ptr(ticket))) {
                running.push((Arc::downgrade(ticket), call.cancellation().clone()));
            }
        }
        // After it is noted: whoever stops later calls it off.
        self.check()
    }

    /// Fails when the person has stopped everything.
    pub(crate) fn check(&self) -> Result<()> {
        match self.person.halted()? {
            Some(how) => Err(stopped(&how)),
            None => Ok(()),
        }
    }

    fn cancel_all(&self) {
        for (_, cancellation) in &*self.running() {
            cancellation.stop();
        }
    }

    fn running(&self) -> MutexGuard<'_, Vec<(Weak<Ticket>, Cancellation)>> {
        self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn stopped(how: &str) -> Error {
    Error::new(
        Code::PausedByUser,
        format!("The person at the desktop has stopped Deskhand ({how}): nothing is changed until they let it."),
    )
    .remedy(
        "Ask the person. They let it go on by holding the same key down again, by `deskhand resume`, or by starting \
         Deskhand anew.",
    )
}

/// Watches for the chord until the desktop is dropped.
pub(crate) struct Watcher(Arc<State>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.update(|now| now.ended = true);
    }
}

#[derive(Default)]
struct State {
    now: Mutex<Now>,
    moved: Condvar,
}

#[derive(Default)]
struct Now {
    /// Since when the key is down, with nothing else pressed meanwhile.
    since: Option<Instant>,
    /// The connection to the devices is gone.
    lost: bool,
    ended: bool,
}

impl State {
    fn update(&self, change: impl FnOnce(&mut Now)) {
        change(&mut self.now.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        self.moved.notify_all();
    }

    /// Waits until `done`, at most so long; whether it is.
    fn wait(&self, most: Option<Duration>, mut done: impl FnMut(&Now) -> bool) -> bool {
        let now = self.now.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match most {
            None => drop(
                self.moved.wait_while(now, |now| !done(now)).unwrap_or_else(|poisoned| poisoned.into_inner()),
            ),
            Some(most) => {
                let waited = self.moved.wait_timeout_while(now, most, |now| !done(now));
                return !waited.unwrap_or_else(|poisoned| poisoned.into_inner()).1.timed_out();
            }
        }
        true
    }

    fn hear(&self, chord: Chord, act: Result<Act>) {
        let Ok(act) = act else { return self.update(|now| now.lost = true) };
        let What::Key(stroke, press) = act.what else { return };
        // What Deskhand itself presses neither begins nor ends it.
        if !act.from_person {
            return;
        }
        let held = stroke.key == Some(chord.key) && press == Press::Down && act.modifiers.is_empty();
        self.update(|now| now.since = held.then_some(act.time));
    }
}

/// How soon the devices are asked for again after they were lost.
const AGAIN: Duration = Duration::from_secs(2);

/// Begins to watch for the chord, on a thread that ends with the desktop.
pub(crate) fn begin(desktop: &Arc<Desktop>, chord: Chord) {
    let state = Arc::new(State::default());
    let (weak, shared) = (Arc::downgrade(desktop), state.clone());
    let body = move || {
        while let Some(desktop) = weak.upgrade() {
            let heard = shared.clone();
            let each = Box::new(move |act| heard.hear(chord, act));
            let watching = desktop.person.keys(&Call::with_timeout(Duration::from_secs(5)), each);
            drop(desktop);
            match watching {
                // Nobody can ever listen here; `deskhand doctor` says so.
                Err(error) if error.code == Code::Unsupported => return,
                Err(_) => {}
                Ok(_watching) => follow(&weak, &shared, chord),
            }
            if shared.wait(Some(AGAIN), |now| now.ended) {
                return;
            }
            shared.update(|now| (now.lost, now.since) = (false, None));
        }
    };
    // Without the thread there is no chord; the person can still end the process.
    if std::thread::Builder::new().name("stop chord".into()).spawn(body).is_ok() {
        desktop.watch_chord(Watcher(state));
    }
}

/// Follows the key until the devices are lost or the desktop has gone.
fn follow(desktop: &Weak<Desktop>, state: &State, chord: Chord) {
    loop {
        state.wait(None, |now| now.since.is_some() || now.lost || now.ended);
        let Some(since) = ({
            let now = state.now.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if now.lost || now.ended {
                return;
            }
            now.since
        }) else {
            continue;
        };
        // What it means is settled when it begins: several servers hear the same key, and must agree.
        let Some(was) = desktop.upgrade().map(|desktop| matches!(desktop.person.halted(), Ok(Some(_))))
        else {
            return;
        };
        let left = (since + chord.hold).saturating_duration_since(Instant::now());
        if state.wait(Some(left), |now| now.since != Some(since) || now.lost || now.ended) {
            continue;
        }
        let Some(desktop) = desktop.upgrade() else { return };
        desktop.chord_held(chord, !was);
        drop(desktop);
        state.wait(None, |now| now.since != Some(since) || now.lost || now.ended);
    }
}

impl Desktop {
    /// The person has held the chord down: stops everything, or lets it go on.
    fn chord_held(&self, chord: Chord, stop: bool) {
        if !stop {
            // What cannot be taken back stays, and every refusal says so.
            let _ = self.person.resume();
            return;
        }
        let noted = self.person.halt(&format!("{} was held for {} ms", chord.key, chord.hold.as_millis()));
        self.stop.cancel_all();
        self.release_all();
        // Where it could not be kept with the display at least what runs has ended.
        drop(noted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chords_are_a_key_and_a_time() {
        assert_eq!("escape:1000".parse::<Chord>().unwrap(), Chord::default());
        assert_eq!("Escape".parse::<Chord>().unwrap(), Chord::default());
        assert_eq!("pause:500".parse::<Chord>().unwrap().to_string(), "pause:500");
        for wrong in ["escape:", "escape:5", "escape:1h", "nokey:1000", ""] {
            assert!(wrong.parse::<Chord>().is_err(), "{wrong}");
        }
    }
}
