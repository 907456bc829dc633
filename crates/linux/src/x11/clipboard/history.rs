//! Remembering what is copied, while somebody asked for it and no longer, in memory and nowhere else.

use super::changes::listen;
use super::owner::Shared;
use super::reader::Readers;
use crate::x11::link::X;
use deskhand_core::clipboard::{Entry, Fetched, History, Kind, Part, Selection};
use deskhand_core::{Call, Error, Result};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::VecDeque;
use std::io::{PipeReader, PipeWriter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xfixes::{SelectionEventMask, SelectionNotifyEvent};

/// How many entries are kept.
const MOST: usize = 100;
/// How much of a text is kept, in bytes.
const LONGEST: usize = 64 << 10;
/// How long an application may take to hand over what was copied, before it is left out.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was copied since watching began. Watching ends, and all of it is forgotten, with this value.
pub struct Watcher {
    kept: Arc<Mutex<Kept>>,
    thread: std::thread::JoinHandle<()>,
    _stop: PipeWriter,
}

#[derive(Default)]
struct Kept {
    entries: VecDeque<Entry>,
    last: u64,
    withheld: u64,
}

impl Watcher {
    /// Begins to watch.
    pub fn start(call: &Call, display: &str, readers: Arc<Readers>, shared: Arc<Shared>) -> Result<Watcher> {
        let x = listen(call, display, SelectionEventMask::SET_SELECTION_OWNER)?;
        let fail =
            |error: std::io::Error| Error::backend("Could not begin to watch the clipboard.").because(error);
        let (stopped, stop) = std::io::pipe().map_err(fail)?;
        let kept = Arc::<Mutex<Kept>>::default();
        let watch = Watch { x, readers, shared, kept: kept.clone() };
        let thread = std::thread::Builder::new()
            .name("clipboard history".into())
            .spawn(move || watch.run(&stopped))
            .map_err(fail)?;
        Ok(Watcher { kept, thread, _stop: stop })
    }

    /// What is remembered.
    pub fn history(&self) -> History {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        History {
            watching: self.watches(),
            entries: kept.entries.iter().rev().cloned().collect(),
            withheld: kept.withheld,
        }
    }

    /// Whether it goes on: it ends with the X server.
    pub fn watches(&self) -> bool {
        !self.thread.is_finished()
    }
}

struct Watch {
    x: X,
    readers: Arc<Readers>,
    shared: Arc<Shared>,
    kept: Arc<Mutex<Kept>>,
}

impl Watch {
    fn run(&self, stopped: &PipeReader) {
        loop {
            let mut news = None;
            self.x.stream().bind(&Call::with_timeout(PATIENCE));
            loop {
                match self.x.poll_for_event() {
                    Ok(Some(Event::XfixesSelectionNotify(event))) => news = Some(event),
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => return,
                }
            }
            if let Some(event) = news {
                self.note(&event);
                continue;
            }
            let mut fds = [PollFd::new(self.x.stream(), PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
            if poll(&mut fds, None).is_err_and(|error| error != rustix::io::Errno::INTR) {
                return;
            }
            let [server, stop] = fds.map(|fd| fd.revents());
            if !stop.is_empty() || server.intersects(PollFlags::HUP) && !server.contains(PollFlags::IN) {
                return;
            }
        }
    }

    fn note(&self, event: &SelectionNotifyEvent) {
        if event.owner == x11rb::NONE || self.shared.is_quiet(event.selection_timestamp) {
            return;
        }
        let call = Call::with_timeout(PATIENCE);
        // An application that does not hand it over has copied something all the same.
        let wanted = [(Kind::Text, LONGEST), (Kind::Files, LONGEST)];
        let Ok(Some((offer, fetched))) = self.readers.fetch_all(&call, Selection::Clipboard, &wanted) else {
            return;
        };
        let mut kept = self.kept();
        if offer.secret {
            kept.withheld += 1;
            return;
        }
        kept.last += 1;
        let mut entry = Entry {
            number: kept.last,
            time: SystemTime::now(),
            kinds: offer.kinds,
            owner: offer.owner,
            text: None,
            cut: false,
            files: Vec::new(),
        };
        for Fetched { part, cut, .. } in fetched {
            match part {
                Part::Text(text) => entry.text = Some(text),
                Part::Files(files) => entry.files = files,
                Part::Html(_) | Part::Image(_) => {}
            }
            entry.cut |= cut;
        }
        kept.entries.push_back(entry);
        if MOST < kept.entries.len() {
            kept.entries.pop_front();
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
