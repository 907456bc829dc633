//! Recording a person: what they do with mouse and keyboard becomes steps, which say what was meant (this
//! button, this text) and not where the pointer was.
//!
//! The acts come on a thread of their provider's, which must not be held up, into a queue; a thread of the
//! recording looks at the desktop for each: as soon as something is pressed, because a click changes what is
//! there. Only what a person does is recorded, never what Deskhand itself does meanwhile.

mod address;
mod writer;

use deskhand_core::input::Press;
use deskhand_core::person::{Act, What};
use deskhand_core::{Call, Desktop, Error, Result};
use schemars::JsonSchema;
use serde::Serialize;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
pub use writer::Recorded;
use writer::Writer;

/// How many acts may wait to be looked at. Past that the recording ends there, and says so.
const MOST_WAITING: usize = 20_000;

/// A person being recorded. Dropping it ends and forgets the recording.
pub struct Recording {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    came: Condvar,
    /// Listens as long as it is here.
    listening: Mutex<Option<Box<dyn Any + Send + Sync>>>,
}

#[derive(Default)]
struct Queue {
    acts: VecDeque<Act>,
    /// Nothing more is taken.
    closed: bool,
    /// Why it ended by itself, a sentence.
    ended: Option<String>,
    /// How many acts of a person were seen.
    seen: usize,
    /// Whether one is being looked at.
    looking: bool,
    /// How many steps stand so far.
    steps: usize,
    done: Option<Recorded>,
    abandoned: bool,
}

/// How a recording is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Progress {
    /// How many acts of a person were seen.
    pub acts: usize,
    /// How many steps they made so far.
    pub steps: usize,
    /// How many were not looked at yet.
    pub waiting: usize,
    /// Whether it still listens.
    pub listening: bool,
}

impl Recording {
    /// Begins to record, for at most `limit`.
    pub fn begin(call: &Call, desktop: &Arc<Desktop>, limit: Duration) -> Result<Recording> {
        let shared = Arc::new(Shared::default());
        let ear = shared.clone();
        let listening = desktop.person.watch(call, Box::new(move |act| ear.heard(act)))?;
        *shared.listening() = Some(listening);
        let writer = Writer::begin(call, desktop.clone())?;
        let (own, until) = (shared.clone(), Instant::now() + limit);
        let body = move || own.write(writer, until);
        std::thread::Builder::new()
            .name("recording".into())
            .spawn(body)
            .map_err(|error| Error::backend("The thread that records could not be started.").os(error))?;
        Ok(Recording { shared })
    }

    /// How it is doing.
    pub fn progress(&self) -> Progress {
        let queue = self.shared.queue();
        let waiting = queue.acts.len() + usize::from(queue.looking);
        Progress { acts: queue.seen, steps: queue.steps, waiting, listening: !queue.closed }
    }

    /// What ends the recording and waits until all acts have become steps, bounded by the call. When that
    /// fails it can be called again: nothing is lost.
    pub fn finish(&self) -> impl Fn(&Call) -> Result<Recorded> + use<> {
        let shared = self.shared.clone();
        move |call| {
            shared.close(None);
            call.until("waiting until all that was recorded has been looked at", || {
                Ok(shared.queue().done.clone())
            })
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.shared.queue().abandoned = true;
        self.shared.close(None);
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listening(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send + Sync>>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an act; must not block.
    fn heard(&self, act: Result<Act>) {
        let mut queue = self.queue();
        if queue.closed {
            return;
        }
        match act {
            Ok(act) if act.from_person => {
                queue.seen += usize::from(!matches!(act.what, What::Moved | What::Key(_, Press::Up)));
                queue.acts.push_back(act);
                if MOST_WAITING <= queue.acts.len() {
                    queue.closed = true;
                    queue.ended = Some("Too much happened at once: it ended there.".to_owned());
                }
            }
            Ok(_) => return,
            Err(error) => {
                queue.closed = true;
                queue.ended = Some(format!("It ended early: {}", error.message));
            }
        }
        self.came.notify_all();
    }

    /// Listens no longer.
    fn close(&self, why: Option<&str>) {
        let mut queue = self.queue();
        if !queue.closed {
            queue.closed = true;
            queue.ended = why.map(str::to_owned);
        }
        drop(queue);
        self.came.notify_all();
        let listening = self.listening().take();
        drop(listening);
    }

    /// Makes steps of acts until there are no more.
    fn write(&self, mut writer: Writer, until: Instant) {
        loop {
            let mut queue = self.queue();
            queue.steps = writer.steps();
            queue.looking = false;
            if queue.abandoned {
                return;
            }
            if let Some(act) = queue.acts.pop_front() {
                queue.looking = true;
                drop(queue);
                writer.take(&act);
                continue;
            }
            if queue.closed {
                let ended = queue.ended.take();
                drop(queue);
                let recorded = writer.end(ended);
                self.queue().done = Some(recorded);
                self.close(None);
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(queue);
                self.close(Some("Its time was up."));
                continue;
            }
            // A pause in what the person does ends what they were typing: then is the time to look.
            drop(self.came.wait_timeout(queue, left));
        }
    }
}
