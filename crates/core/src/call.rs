//! One call's deadline and cancellation: what every blocking method takes and every loop checks.

use crate::error::{Code, Error, Result};
use crate::lane::Ticket;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A call in progress. Clones share the cancellation and the place in the lane.
#[derive(Clone, Debug)]
pub struct Call {
    deadline: Instant,
    /// Milliseconds that were spent on asking the person, which are nobody's fault.
    asking: Arc<AtomicU64>,
    cancellation: Cancellation,
    ticket: Option<Arc<Ticket>>,
}

/// Calls something off from another thread. Once cancelled, always cancelled.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<(Mutex<Option<By>>, Condvar)>);

/// Who called it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Client,
    Person,
}

impl Cancellation {
    /// Calls it off; whoever pauses on it wakes at once.
    pub fn cancel(&self) {
        self.end(By::Client);
    }

    /// Calls it off because the person at the desktop wants it so.
    pub fn stop(&self) {
        self.end(By::Person);
    }

    fn end(&self, by: By) {
        self.by().get_or_insert(by);
        self.0.1.notify_all();
    }

    /// Whether it was called off.
    pub fn is_cancelled(&self) -> bool {
        self.by().is_some()
    }

    /// Whether it was the person at the desktop who called it off.
    pub fn is_stopped(&self) -> bool {
        *self.by() == Some(By::Person)
    }

    fn by(&self) -> MutexGuard<'_, Option<By>> {
        self.0.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until `time` or until it is called off; says whether it was.
    fn wait_until(&self, time: Instant) -> bool {
        let mut cancelled = self.by();
        loop {
            let left = time.saturating_duration_since(Instant::now());
            if cancelled.is_some() || left.is_zero() {
                return cancelled.is_some();
            }
            cancelled =
                self.0.1.wait_timeout(cancelled, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }
}

impl Call {
    /// A call that may take this long from now on.
    pub fn with_timeout(timeout: Duration) -> Call {
        Call {
            deadline: Instant::now() + timeout,
            asking: Arc::default(),
            cancellation: Cancellation::default(),
            ticket: None,
        }
    }

    /// The same call with a place in the lane.
    pub fn with_ticket(mut self, ticket: Arc<Ticket>) -> Call {
        self.ticket = Some(ticket);
        self
    }

    /// The same call, which `cancellation` can call off.
    pub fn with_cancellation(mut self, cancellation: Cancellation) -> Call {
        self.cancellation = cancellation;
        self
    }

    /// The same call with a deadline `timeout` from now, if that is earlier than its own.
    pub fn within(&self, timeout: Duration) -> Call {
        // The deadline moves with the time that is spent on asking, so that is taken off here.
        let asked = self.asked();
        let own = (Instant::now() + timeout).checked_sub(asked).unwrap_or(self.deadline);
        Call { deadline: self.deadline.min(own), ..self.clone() }
    }

    /// Asks the person something, which may take until their own time limit: the call's clock stands still.
    pub fn asking<T>(&self, patience: Duration, ask: impl FnOnce(&Call) -> T) -> T {
        let began = Instant::now();
        let own = Call::with_timeout(patience).with_cancellation(self.cancellation.clone());
        let answer = ask(&own);
        let spent = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.asking.fetch_add(spent, Ordering::Relaxed);
        answer
    }

    fn asked(&self) -> Duration {
        Duration::from_millis(self.asking.load(Ordering::Relaxed))
    }

    /// A short time of grace for cleaning up, which neither the deadline nor a cancellation ends.
    pub fn grace(&self) -> Call {
        Call {
            deadline: Instant::now() + Duration::from_millis(500),
            asking: Arc::default(),
            cancellation: Cancellation::default(),
            ticket: self.ticket.clone(),
        }
    }

    /// The place in the lane, for calls that change something.
    pub fn ticket(&self) -> Option<&Arc<Ticket>> {
        self.ticket.as_ref()
    }

    /// What calls this call off.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// When the time is up.
    pub fn deadline(&self) -> Instant {
        self.deadline + self.asked()
    }

    /// The time left; zero when it is up.
    pub fn remaining(&self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }

    /// Fails with `timeout` or `cancelled` when the call should end; `doing` completes the sentence
    /// "The deadline passed while …".
    pub fn check(&self, doing: &str) -> Result<()> {
        if self.cancellation.is_stopped() {
            return Err(self.stopped(doing));
        }
        if self.cancellation.is_cancelled() {
            return Err(Error::new(Code::Cancelled, format!("The call was cancelled while {doing}.")));
        }
        if Instant::now() >= self.deadline() {
            return Err(Error::new(Code::Timeout, format!("The deadline passed while {doing}."))
                .remedy("Pass a larger timeout_ms, or look at what is holding it up."));
        }
        Ok(())
    }

    /// The error of a call that the person at the desktop has stopped.
    pub fn stopped(&self, doing: &str) -> Error {
        let message =
            format!("The person at the desktop stopped Deskhand while {doing}; what was held was let go of.");
        Error::new(Code::PausedByUser, message).remedy(
            "Ask the person. They let it go on by holding the same key down again, by `deskhand resume`, or by \
             starting Deskhand anew.",
        )
    }

    /// Asks `probe` until it has an answer: at first often, then every 20 ms. Fails when the call ends.
    pub fn until<T>(&self, doing: &str, mut probe: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        let mut gap = Duration::from_micros(200);
        loop {
            if let Some(answer) = probe()? {
                return Ok(answer);
            }
            self.check(doing)?;
            self.rest(gap);
            gap = (gap * 3 / 2).min(Duration::from_millis(20));
        }
    }

    /// Like [`Call::until`], but gives up without an error after `patience`.
    pub fn until_within<T>(
        &self,
        patience: Duration,
        doing: &str,
        mut probe: impl FnMut() -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let give_up = Instant::now() + patience;
        self.until(doing, || match probe()? {
            Some(answer) => Ok(Some(Some(answer))),
            None if Instant::now() >= give_up => Ok(Some(None)),
            None => Ok(None),
        })
    }

    /// Waits for a time that the caller asked for (a delay, a hold). Fails when the call ends first.
    pub fn pause(&self, time: Duration, doing: &str) -> Result<()> {
        self.rest(time);
        if self.cancellation.is_cancelled() || Instant::now() >= self.deadline() {
            self.check(doing)?;
        }
        Ok(())
    }

    /// Rests at most `time`, at most until the deadline, and wakes on cancellation.
    fn rest(&self, time: Duration) {
        self.cancellation.wait_until(self.deadline().min(Instant::now() + time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellation_wakes_a_pause_at_once() {
        let call = Call::with_timeout(Duration::from_secs(60));
        let cancellation = call.cancellation().clone();
        let started = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| cancellation.cancel());
            let error = call.pause(Duration::from_secs(30), "pausing").unwrap_err();
            assert_eq!(error.code, Code::Cancelled);
        });
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn until_ends_with_the_deadline_and_says_what_was_awaited() {
        let call = Call::with_timeout(Duration::from_millis(5));
        let error = call.until("waiting for rain", || Ok(None::<()>)).unwrap_err();
        assert_eq!(error.code, Code::Timeout);
        assert!(error.message.contains("waiting for rain"));
    }

    #[test]
    fn grace_outlives_a_cancelled_call() {
        let call = Call::with_timeout(Duration::ZERO);
        call.cancellation().cancel();
        assert!(call.grace().check("letting go").is_ok());
    }
}
