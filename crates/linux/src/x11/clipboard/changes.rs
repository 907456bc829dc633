//! Hearing from the X server (XFixes) that a selection changed hands, without asking again and again.

use super::owner::Shared;
use crate::x11::link::{X, connect, failed};
use deskhand_core::clipboard::Changes;
use deskhand_core::{Call, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::Arc;
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xfixes::{ConnectionExt as _, SelectionEventMask};
use x11rb::protocol::xproto::ConnectionExt as _;

/// A connection of its own that is told of these changes of the clipboard.
pub fn listen(call: &Call, display: &str, to: SelectionEventMask) -> Result<X> {
    let doing = "beginning to watch the clipboard";
    let (x, screen) = connect(call, display)?;
    x.stream().bind(call);
    x.xfixes_query_version(5, 0).map_err(failed(doing))?.reply().map_err(failed(doing))?;
    let clipboard =
        x.intern_atom(false, b"CLIPBOARD").map_err(failed(doing))?.reply().map_err(failed(doing))?;
    let root = x.setup().roots[screen].root;
    x.xfixes_select_selection_input(root, clipboard.atom, to)
        .map_err(failed(doing))?
        .check()
        .map_err(failed(doing))?;
    Ok(x)
}

/// Somebody who waits for the clipboard to change.
pub struct XChanges {
    x: X,
    shared: Arc<Shared>,
}

impl XChanges {
    /// News from now on.
    pub fn begin(call: &Call, display: &str, shared: Arc<Shared>) -> Result<XChanges> {
        // An owner that ends without a word leaves it empty: that is told by its window or its connection.
        let to = SelectionEventMask::SET_SELECTION_OWNER
            | SelectionEventMask::SELECTION_WINDOW_DESTROY
            | SelectionEventMask::SELECTION_CLIENT_CLOSE;
        Ok(XChanges { x: listen(call, display, to)?, shared })
    }
}

impl Changes for XChanges {
    fn next(&mut self, call: &Call, until: Instant) -> Result<bool> {
        let doing = "waiting for the clipboard to change";
        loop {
            self.x.stream().bind(call);
            let mut changed = false;
            while let Some(event) = self.x.poll_for_event().map_err(failed(doing))? {
                if let Event::XfixesSelectionNotify(event) = event {
                    changed |= !self.shared.is_quiet(event.selection_timestamp);
                }
            }
            let now = Instant::now();
            if changed || until <= now {
                return Ok(changed);
            }
            call.check(doing)?;
            // Waking now and then is how a cancellation is seen; the news itself wakes it at once.
            let nap = (until - now).min(call.remaining()).min(Duration::from_millis(50));
            let nap = Timespec { tv_sec: 0, tv_nsec: i64::from(nap.subsec_nanos()) };
            // Whatever goes wrong with the connection is told when it is read next.
            let _ = poll(&mut [PollFd::new(self.x.stream(), PollFlags::IN)], Some(&nap));
        }
    }
}
