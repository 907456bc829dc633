//! The clipboard of an X display: reading what others own, and owning what is put there.
//!
//! Written against the protocol itself. The crates for it (arboard, x11-clipboard) read and offer a fixed
//! set of forms, wait for times of their own choice, do not tell who has fetched what, and end with the
//! process: none of saving every form, bounding a read by a call, or handing over could be built on them.

mod changes;
mod forms;
mod history;
mod keeper;
mod owner;
mod reader;

pub use keeper::keep_if_asked;

use deskhand_core::clipboard::{
    Changes, Clipboard, Fetched, GivenBack, History, Kind, Loan, Offer, Part, Selection,
};
use deskhand_core::{Call, Result};
use forms::{Content, Form};
use owner::{Holder, Why};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The clipboard of one X display. Connects when first used.
pub struct XClipboard {
    inner: Arc<Inner>,
    watcher: Mutex<Option<history::Watcher>>,
}

struct Inner {
    display: String,
    readers: Arc<reader::Readers>,
    holder: Holder,
}

const PUTTING: &str = "putting something on the clipboard";

impl XClipboard {
    /// The clipboard of `display` (the value of DISPLAY).
    pub fn new(display: &str) -> XClipboard {
        let inner = Inner {
            display: display.to_owned(),
            readers: Arc::new(reader::Readers::new(display)),
            holder: Holder::new(display),
        };
        XClipboard { inner: Arc::new(inner), watcher: Mutex::default() }
    }

    fn watcher(&self) -> MutexGuard<'_, Option<history::Watcher>> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clipboard for XClipboard {
    fn offer(&self, call: &Call, selection: Selection) -> Result<Option<Offer>> {
        self.inner.readers.offer(call, selection)
    }

    fn fetch(&self, call: &Call, selection: Selection, kind: Kind, most: usize) -> Result<Option<Fetched>> {
        self.inner.readers.fetch(call, selection, kind, most)
    }

    fn put(&self, call: &Call, selection: Selection, parts: Vec<Part>) -> Result<()> {
        let content: Content = Arc::new(forms::of_parts(&parts));
        self.inner
            .holder
            .order(call, PUTTING, move |owner| owner.own(selection, content, Why::Copied, None))
            .map(drop)
    }

    fn clear(&self, call: &Call, selection: Selection) -> Result<()> {
        self.inner
            .holder
            .order(call, "emptying the clipboard", move |owner| owner.disown(selection, None))
            .map(drop)
    }

    fn lend(&self, call: &Call, parts: Vec<Part>) -> Result<Box<dyn Loan>> {
        let saving = "saving what is on the clipboard";
        let own = match self.inner.holder.runs() {
            true => self.inner.holder.order(call, saving, |owner| owner.content(Selection::Clipboard))?,
            false => None,
        };
        let before = match own {
            Some(content) => Some(content),
            None => self.inner.readers.save(call, Selection::Clipboard)?.map(Arc::new),
        };
        let mut lent = forms::of_parts(&parts);
        // Clipboard managers that know the mark do not remember what is there for a moment only.
        let mark = Form {
            target: forms::HINT.into(),
            kind: forms::HINT.into(),
            width: 8,
            bytes: forms::SECRET.into(),
        };
        lent.push(mark);
        let content = Arc::new(lent);
        let number = self
            .inner
            .holder
            .order(call, PUTTING, move |owner| owner.own(Selection::Clipboard, content, Why::Lent, None));
        // Offered perhaps although the call ended first: then it is put back as after any other failure.
        let mut loan =
            XLoan { inner: self.inner.clone(), call: call.clone(), before, number: None, over: false };
        match number {
            Ok(number) => loan.number = number,
            Err(error) => {
                let _ = loan.put_back(&call.grace());
                return Err(error);
            }
        }
        Ok(Box::new(loan))
    }

    fn changes(&self, call: &Call) -> Result<Box<dyn Changes>> {
        let shared = self.inner.holder.shared().clone();
        Ok(Box::new(changes::XChanges::begin(call, &self.inner.display, shared)?))
    }

    fn watch(&self, call: &Call, on: bool) -> Result<()> {
        let mut watcher = self.watcher();
        if !on {
            *watcher = None;
        } else if !watcher.as_ref().is_some_and(history::Watcher::watches) {
            let (readers, shared) = (self.inner.readers.clone(), self.inner.holder.shared().clone());
            *watcher = Some(history::Watcher::start(call, &self.inner.display, readers, shared)?);
        }
        Ok(())
    }

    fn history(&self, _: &Call) -> Result<History> {
        Ok(self.watcher().as_ref().map(history::Watcher::history).unwrap_or_default())
    }

    fn leave(&self, call: &Call) -> Result<()> {
        if !self.inner.holder.runs() {
            return Ok(());
        }
        // Whoever borrowed it gives it back first, if it still can.
        let patience = Duration::from_secs(1);
        call.until_within(patience, "waiting for the clipboard to be given back", || {
            let lent = self.inner.holder.order(call, PUTTING, |owner| Ok(owner.lent(None).is_some()))?;
            Ok((!lent).then_some(()))
        })?;
        let rest = self.inner.holder.order(call, "handing over the clipboard", owner::Owner::let_go)?;
        if rest.is_empty() { Ok(()) } else { keeper::hand_over(call, &self.inner.display, &rest) }
    }
}

/// What was put there for a while, and what was there before.
struct XLoan {
    inner: Arc<Inner>,
    call: Call,
    before: Option<Content>,
    number: Option<u64>,
    over: bool,
}

/// A reader that does not say that it has read takes no longer than this.
const READ_BY_THEN: Duration = Duration::from_millis(300);
/// Some readers ask more than once for one paste; one that has asked for nothing for so long has all it wants.
const ASKED_ALL: Duration = Duration::from_millis(50);

impl Loan for XLoan {
    fn fetched(&mut self, call: &Call, reader: Option<u32>, until: Instant) -> Result<bool> {
        let shared = self.inner.holder.shared();
        let mut fetches = shared.fetches();
        loop {
            let quiet = fetches.iter().all(|fetch| ASKED_ALL <= fetch.asked.elapsed());
            let done = quiet
                && fetches.iter().any(|fetch| {
                    let is_reader = match (reader, fetch.pid) {
                        (Some(reader), Some(pid)) => reader == pid,
                        (None, _) | (_, None) => true,
                    };
                    let read =
                        fetch.taken || fetch.served.is_some_and(|served| READ_BY_THEN <= served.elapsed());
                    is_reader && read
                });
            if done || until <= Instant::now() {
                return Ok(done);
            }
            call.check("waiting for the application to paste")?;
            fetches = shared.wait(fetches, Duration::from_millis(20));
        }
    }

    fn give_back(mut self: Box<Self>, call: &Call) -> Result<GivenBack> {
        self.put_back(call)
    }
}

impl XLoan {
    fn put_back(&mut self, call: &Call) -> Result<GivenBack> {
        self.over = true;
        let (number, before) = (self.number, self.before.clone());
        let doing = "putting back what was on the clipboard";
        let Some(content) = before else {
            let empty = self.inner.holder.order(call, doing, move |owner| match owner.lent(number) {
                Some(number) => owner.disown(Selection::Clipboard, Some(number)),
                None => Ok(false),
            })?;
            return Ok(if empty { GivenBack::Empty } else { GivenBack::Superseded });
        };
        let names = content.iter().map(|form| form.target.clone()).collect();
        let back = self.inner.holder.order(call, doing, move |owner| match owner.lent(number) {
            Some(number) => owner.own(Selection::Clipboard, content, Why::Returned, Some(number)),
            None => Ok(None),
        })?;
        Ok(if back.is_some() { GivenBack::Restored(names) } else { GivenBack::Superseded })
    }
}

impl Drop for XLoan {
    fn drop(&mut self) {
        if !self.over {
            // Nothing is left to tell it to.
            let _ = self.put_back(&self.call.grace());
        }
    }
}
