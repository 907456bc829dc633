//! What is known of notifications: those that were sent from here, and while somebody asked to watch, those
//! of other programs. In memory only, bounded, and forgotten when the watching is called off.

use deskhand_core::call::Cancellation;
use deskhand_core::notification::{CloseReason, NotificationEvent, NotificationWatch, Shown};
use deskhand_core::{Call, Desktop, Error, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// How many notifications are kept; the oldest go first.
pub const MOST: usize = 100;

/// The notifications that are known.
#[derive(Default)]
pub struct Notices(Arc<Mutex<Kept>>);

/// One that is known.
#[derive(Clone, Debug)]
pub struct Notice {
    /// What it shows.
    pub shown: Shown,
    /// When it came.
    pub came: Instant,
    /// What became of it.
    pub fate: Fate,
    /// The key of the action that was chosen.
    pub acted: Option<String>,
}

/// What became of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is shown: nothing else was seen since it came.
    Open,
    /// It was shown, and nobody watched since.
    Unknown,
    /// It is gone.
    Closed(CloseReason),
}

#[derive(Default)]
struct Kept {
    notices: VecDeque<Notice>,
    watching: Option<Watching>,
    /// Why the last watching ended by itself.
    ended: Option<String>,
}

struct Watching {
    until: Instant,
    stop: Cancellation,
    number: u64,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// What is known, for a caller.
pub struct Known {
    /// The newest first.
    pub notices: Vec<Notice>,
    /// For how long it is still watched.
    pub watching: Option<Duration>,
    /// Why the last watching ended by itself.
    pub ended: Option<String>,
}

impl Notices {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.0)
    }

    /// What is known now.
    pub fn known(&self) -> Known {
        let kept = self.kept();
        let watching =
            kept.watching.as_ref().map(|watching| watching.until.saturating_duration_since(Instant::now()));
        Known { notices: kept.notices.iter().rev().cloned().collect(), watching, ended: kept.ended.clone() }
    }

    /// The one of this number, the newest where numbers were used again.
    pub fn get(&self, id: u32) -> Option<Notice> {
        self.kept().notices.iter().rev().find(|notice| notice.shown.id == id).cloned()
    }

    /// Keeps what was sent from here.
    pub fn sent(&self, shown: Shown) {
        let mut kept = self.kept();
        // Who watches has seen it, perhaps already.
        if kept.watching.is_none() {
            kept.add(shown, Fate::Unknown);
        } else if !kept.notices.iter().any(|notice| notice.shown.id == shown.id && notice.fate == Fate::Open)
        {
            kept.add(shown, Fate::Open);
        }
    }

    /// Takes note of something that was seen.
    pub fn note(&self, event: NotificationEvent) {
        let mut kept = self.kept();
        let watched = kept.watching.is_some();
        kept.note(event, watched);
    }

    /// Watches from now on for so long, also when it is watched already.
    pub fn watch(&self, desktop: &Desktop, call: &Call, time: Duration) -> Result<()> {
        if let Some(watching) = &mut self.kept().watching {
            watching.until = Instant::now() + time;
            return Ok(());
        }
        let watch = desktop.notifications.watch(call)?;
        let stop = Cancellation::default();
        let mut kept = self.kept();
        let number = NUMBERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        kept.watching = Some(Watching { until: Instant::now() + time, stop: stop.clone(), number });
        kept.ended = None;
        drop(kept);
        let weak = Arc::downgrade(&self.0);
        let thread = std::thread::Builder::new()
            .name("notices".into())
            .spawn(move || follow(&weak, watch, stop, number));
        thread.map(drop).map_err(|error| {
            self.kept().watching = None;
            Error::backend("The thread that watches the notifications cannot be started.").because(error)
        })
    }

    /// Watches no longer, and forgets what was seen.
    pub fn forget(&self) {
        *self.kept() = Kept::default();
    }
}

/// Tells one watching from the next.
static NUMBERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

impl Kept {
    fn add(&mut self, shown: Shown, fate: Fate) {
        if MOST <= self.notices.len() {
            self.notices.pop_front();
        }
        self.notices.push_back(Notice { shown, came: Instant::now(), fate, acted: None });
    }

    fn note(&mut self, event: NotificationEvent, watched: bool) {
        let latest = |notices: &mut VecDeque<Notice>, id| {
            notices
                .iter()
                .rposition(|notice| notice.shown.id == id && !matches!(notice.fate, Fate::Closed(_)))
        };
        match event {
            NotificationEvent::Shown(shown) => {
                let fate = if watched { Fate::Open } else { Fate::Unknown };
                // One that shows something else now is the same one.
                if let Some(place) = latest(&mut self.notices, shown.id) {
                    self.notices.remove(place);
                }
                self.add(shown, fate);
            }
            NotificationEvent::Closed { id, reason } => {
                if let Some(place) = latest(&mut self.notices, id) {
                    self.notices[place].fate = Fate::Closed(reason);
                }
            }
            NotificationEvent::Acted { id, key } => {
                if let Some(notice) = self.notices.iter_mut().rev().find(|notice| notice.shown.id == id) {
                    notice.acted = Some(key);
                }
            }
        }
    }

    /// Nobody watches any more: what is open may be closed without being seen.
    fn end(&mut self, why: Option<String>) {
        self.watching = None;
        self.ended = why;
        for notice in &mut self.notices {
            if notice.fate == Fate::Open {
                notice.fate = Fate::Unknown;
            }
        }
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Keeps what is seen, until the time is up, it is called off, or the watch breaks.
fn follow(kept: &Weak<Mutex<Kept>>, mut watch: Box<dyn NotificationWatch>, stop: Cancellation, number: u64) {
    // Its end is moved when somebody asks for more time: the time limit is that of the loop.
    let call = Call::with_timeout(Duration::from_secs(24 * 3600)).with_cancellation(stop);
    loop {
        let Some(until) = kept.upgrade().and_then(|kept| lock(&kept).until(number)) else { return };
        let seen = watch.next(&call, until.min(Instant::now() + Duration::from_secs(1)));
        let Some(kept) = kept.upgrade() else { return };
        let mut kept = lock(&kept);
        // Somebody may have called it off, and begun anew, meanwhile.
        let Some(until) = kept.until(number) else { return };
        match seen {
            Ok(Some(event)) => kept.note(event, true),
            Ok(None) if Instant::now() < until => {}
            Ok(None) => return kept.end(None),
            Err(error) => return kept.end(Some(error.message)),
        }
    }
}

impl Kept {
    fn until(&self, number: u64) -> Option<Instant> {
        self.watching.as_ref().filter(|watching| watching.number == number).map(|watching| watching.until)
    }
}
