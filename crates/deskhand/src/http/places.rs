//! Places for connections. There are so many and no more, and somebody who has not shown the token yet keeps
//! nobody out: the one who has been there longest without it makes place for who comes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How long somebody who was asked to leave may take.
const LEAVING: Duration = Duration::from_secs(1);

/// All of them.
pub struct Places {
    free: Arc<Semaphore>,
    strangers: Mutex<Strangers>,
}

#[derive(Default)]
struct Strangers {
    last: u64,
    /// Who has not shown the token yet, in the order of coming.
    here: BTreeMap<u64, Arc<Notify>>,
}

/// One of them, until it is dropped.
pub struct Place {
    places: Arc<Places>,
    number: u64,
    leave: Arc<Notify>,
    _free: OwnedSemaphorePermit,
}

impl Places {
    /// So many.
    pub fn new(count: usize) -> Arc<Places> {
        Arc::new(Places { free: Arc::new(Semaphore::new(count)), strangers: Mutex::default() })
    }

    /// A place for a stranger, for whom another may have to go.
    pub async fn enter(self: &Arc<Places>) -> Option<Place> {
        let free = match self.free.clone().try_acquire_owned() {
            Ok(free) => free,
            Err(_) => {
                let (_, oldest) = self.strangers().here.pop_first()?;
                oldest.notify_one();
                tokio::time::timeout(LEAVING, self.free.clone().acquire_owned()).await.ok()?.ok()?
            }
        };
        let mut strangers = self.strangers();
        strangers.last += 1;
        let (number, leave) = (strangers.last, Arc::new(Notify::new()));
        strangers.here.insert(number, leave.clone());
        drop(strangers);
        Some(Place { places: self.clone(), number, leave, _free: free })
    }

    fn strangers(&self) -> MutexGuard<'_, Strangers> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Whoever is here has shown the token, and stays.
    pub fn is_known(&self) {
        self.places.strangers().here.remove(&self.number);
    }

    /// Waits until somebody else needs the place.
    pub async fn asked_to_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.is_known();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn strangers_make_place_and_who_is_known_stays() {
        let places = Places::new(2);
        let first = places.enter().await.unwrap();
        let second = places.enter().await.unwrap();
        first.is_known();
        let leaving = async {
            second.asked_to_leave().await;
            drop(second);
        };
        let (third, ()) = tokio::join!(places.enter(), leaving);
        let third = third.unwrap();
        third.is_known();
        assert!(places.enter().await.is_none(), "both are known");
        drop(first);
        assert!(places.enter().await.is_some());
    }
}
