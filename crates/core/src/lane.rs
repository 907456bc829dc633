//! The one lane for changes: tickets in arrival order, one holder at a time.
//!
//! A ticket is drawn when a request is parsed, so that the order of arrival is the order of acting,
//! whatever the threads do afterwards. It is entered before the first change, left while a call merely
//! waits, and given up when the call ends.

use crate::call::Call;
use crate::error::{Code, Error, Result};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// The queue of one desktop.
#[derive(Clone, Debug, Default)]
pub struct Lane(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    next: u64,
    /// Tickets that have not been given up, and the client of each.
    open: BTreeMap<u64, ClientId>,
    /// Tickets that stepped aside: they do not hold up later ones.
    aside: Vec<u64>,
    holder: Option<u64>,
}

/// One client of the program (a connection, a command line), for the order of its own calls.
pub type ClientId = u64;

/// A place in the lane. Dropping it gives the place up.
pub struct Ticket {
    lane: Lane,
    number: u64,
    /// Kept while the ticket holds the lane: what keeps other processes out.
    guard: Mutex<Option<Box<dyn Any + Send>>>,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ticket({})", self.number)
    }
}

impl Lane {
    /// Draws the next ticket for `client`.
    pub fn draw(&self, client: ClientId) -> Arc<Ticket> {
        let mut queue = self.queue();
        let number = queue.next;
        queue.next += 1;
        queue.open.insert(number, client);
        Arc::new(Ticket { lane: self.clone(), number, guard: Mutex::new(None) })
    }

    /// The last unfinished change of `client`, which its next read has to follow.
    pub fn last_of(&self, client: ClientId) -> Option<u64> {
        self.queue().open.iter().rev().find(|(_, owner)| **owner == client).map(|(number, _)| *number)
    }

    /// Waits until every ticket of `client` up to `number` is given up.
    pub fn follow(&self, call: &Call, client: ClientId, number: u64) -> Result<()> {
        self.wait(call, "waiting for the client's own earlier change", |queue| {
            !queue.open.range(..=number).any(|(_, owner)| *owner == client)
        })
        .map(drop)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn wait(
        &self,
        call: &Call,
        doing: &str,
        mut ready: impl FnMut(&mut Queue) -> bool,
    ) -> Result<MutexGuard<'_, Queue>> {
        let mut queue = self.queue();
        while !ready(&mut queue) {
            call.check(doing).map_err(|error| match error.code {
                Code::Timeout => Error::new(Code::Busy, format!("The time was up {doing}."))
                    .remedy("Another call was acting on the desktop all the while: try again, or pass a larger timeout_ms."),
                _ => error,
            })?;
            // A cancellation does not signal this condition, so look at it now and then.
            let nap = call.remaining().min(Duration::from_millis(20));
            queue = self.0.moved.wait_timeout(queue, nap).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        Ok(queue)
    }
}

impl Ticket {
    /// Waits for this ticket's turn and takes the lane; a ticket that holds it already goes on at once.
    /// `lock` keeps other processes out and is taken once the turn has come.
    pub fn enter(&self, call: &Call, lock: impl FnOnce() -> Result<Box<dyn Any + Send>>) -> Result<()> {
        let number = self.number;
        let mut queue = self.lane.wait(call, "waiting for its turn at the desktop", |queue| {
            if queue.holder == Some(number) {
                return true;
            }
            let first = queue.open.keys().find(|open| **open == number || !queue.aside.contains(open));
            queue.holder.is_none() && first == Some(&number)
        })?;
        if queue.holder == Some(number) {
            return Ok(());
        }
        queue.holder = Some(number);
        queue.aside.retain(|aside| *aside != number);
        drop(queue);
        match lock() {
            Ok(guard) => *self.guard() = Some(guard),
            Err(error) => {
                self.step_aside();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Lets later tickets pass while this call merely waits. [`Ticket::enter`] takes the lane again.
    pub fn step_aside(&self) {
        self.guard().take();
        let mut queue = self.lane.queue();
        if queue.holder == Some(self.number) {
            queue.holder = None;
        }
        if !queue.aside.contains(&self.number) {
            queue.aside.push(self.number);
        }
        drop(queue);
        self.lane.0.moved.notify_all();
    }

    fn guard(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        self.guard.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.guard().take();
        let mut queue = self.lane.queue();
        queue.open.remove(&self.number);
        queue.aside.retain(|aside| *aside != self.number);
        if queue.holder == Some(self.number) {
            queue.holder = None;
        }
        drop(queue);
        self.lane.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn free() -> Result<Box<dyn Any + Send>> {
        Ok(Box::new(()))
    }

    fn call() -> Call {
        Call::with_timeout(Duration::from_secs(10))
    }

    #[test]
    fn tickets_are_served_in_the_order_in_which_they_were_drawn() {
        let lane = Lane::default();
        let tickets: Vec<_> = (0..20).map(|client| lane.draw(client)).collect();
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for (number, ticket) in tickets.into_iter().enumerate().rev() {
                let sender = sender.clone();
                scope.spawn(move || {
                    ticket.enter(&call(), free).unwrap();
                    sender.send(number).unwrap();
                });
            }
        });
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_call_that_merely_waits_lets_others_pass_and_comes_back() {
        let lane = Lane::default();
        let (first, second) = (lane.draw(1), lane.draw(2));
        first.enter(&call(), free).unwrap();
        first.step_aside();
        second.enter(&call(), free).unwrap();
        drop(second);
        first.enter(&call(), free).unwrap();
    }

    #[test]
    fn a_turn_that_does_not_come_is_busy() {
        let lane = Lane::default();
        let (first, second) = (lane.draw(1), lane.draw(2));
        first.enter(&call(), free).unwrap();
        let short = Call::with_timeout(Duration::from_millis(5));
        assert_eq!(second.enter(&short, free).unwrap_err().code, Code::Busy);
    }

    #[test]
    fn a_read_follows_its_own_clients_change_only() {
        let lane = Lane::default();
        let own = lane.draw(1);
        let _other = lane.draw(2);
        let number = lane.last_of(1).unwrap();
        assert_eq!(
            lane.follow(&Call::with_timeout(Duration::from_millis(5)), 1, number).unwrap_err().code,
            Code::Busy
        );
        drop(own);
        lane.follow(&call(), 1, number).unwrap();
        assert_eq!(lane.last_of(1), None);
    }

    #[test]
    fn a_lock_that_fails_leaves_the_lane_free() {
        let lane = Lane::default();
        let first = lane.draw(1);
        first.enter(&call(), || Err(Error::backend("no lock"))).unwrap_err();
        lane.draw(2).enter(&call(), free).unwrap();
    }
}
