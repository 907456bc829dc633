//! Rings bells when files become readable: sockets with events, processes that have ended.
//!
//! One thread sleeps for everybody who waits, so that a wait without an end costs neither a thread of its
//! own nor the processor. It begins with the first who waits, and stays.

use deskhand_core::watch::Bell;
use deskhand_core::{Error, Result};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Rings its bell whenever there is something new to read, until it is dropped.
#[derive(Debug)]
pub struct Readiness {
    key: u64,
    /// A file descriptor of our own: the queue knows files by their descriptors.
    file: OwnedFd,
    sleeper: &'static Sleeper,
}

/// Rings `bell` whenever something new can be read from `file`, and at once if something can already.
pub fn ring(file: impl AsFd, bell: &Bell) -> Result<Readiness> {
    static SLEEPER: OnceLock<io::Result<Sleeper>> = OnceLock::new();
    let failed = |error: &dyn std::fmt::Display| {
        Error::backend("Events of the system cannot be waited for.").os(error)
    };
    let sleeper = SLEEPER.get_or_init(Sleeper::start).as_ref().map_err(|error| failed(error))?;
    sleeper.add(file, bell).map_err(|error| failed(&error))
}

#[derive(Debug)]
struct Sleeper {
    queue: OwnedFd,
    bells: Mutex<Bells>,
}

#[derive(Debug, Default)]
struct Bells {
    last: u64,
    all: HashMap<u64, Bell>,
}

impl Sleeper {
    fn start() -> io::Result<Sleeper> {
        let queue = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Sleeper { queue, bells: Mutex::default() })
    }

    fn bells(&self) -> MutexGuard<'_, Bells> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&'static self, file: impl AsFd, bell: &Bell) -> io::Result<Readiness> {
        let file = file.as_fd().try_clone_to_owned()?;
        let (key, first) = {
            let mut bells = self.bells();
            bells.last += 1;
            let key = bells.last;
            bells.all.insert(key, bell.clone());
            (key, key == 1)
        };
        if first {
            std::thread::Builder::new().name("readiness".to_owned()).spawn(move || self.sleep())?;
        }
        // Once for each arrival: whoever is woken reads everything there is.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        if let Err(error) = epoll::add(&self.queue, &file, epoll::EventData::new_u64(key), flags) {
            self.bells().all.remove(&key);
            return Err(error.into());
        }
        Ok(Readiness { key, file, sleeper: self })
    }

    fn sleep(&self) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(64);
        loop {
            events.clear();
            match epoll::wait(&self.queue, spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            let bells = self.bells();
            for event in &events {
                if let Some(bell) = bells.all.get(&event.data.u64()) {
                    bell.ring();
                }
            }
        }
    }
}

impl Drop for Readiness {
    fn drop(&mut self) {
        self.sleeper.bells().all.remove(&self.key);
        // A descriptor that is closed leaves the queue only with its last copy.
        let _ = epoll::delete(&self.sleeper.queue, &self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::{Duration, Instant};

    #[test]
    fn a_bell_rings_for_what_arrives_and_not_after_it_was_dropped() {
        let (reader, mut writer) = std::os::unix::net::UnixStream::pair().unwrap();
        let bell = Bell::default();
        let soon = || Some(Instant::now() + Duration::from_secs(10));
        let readiness = ring(&reader, &bell).unwrap();
        writer.write_all(b"a").unwrap();
        assert!(bell.wait(soon()));
        writer.write_all(b"b").unwrap();
        assert!(bell.wait(soon()));
        drop(readiness);
        writer.write_all(b"c").unwrap();
        let other = Bell::default();
        // What can be read already rings at once; by then the first one would have rung, too.
        let _again = ring(&reader, &other).unwrap();
        assert!(other.wait(soon()));
        assert!(!bell.wait(Some(Instant::now())));
    }
}
