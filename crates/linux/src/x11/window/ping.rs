//! Whether an application has worked through what it was sent.
//!
//! `_NET_WM_PING` is the window managers' way to tell a hung application: a message to the window, which
//! the toolkit sends on to the root when it comes to it. The server delivers in order, so the answer means
//! that everything sent before was taken from the queue. Toolkits with a process of their own for the
//! content (Chromium) answer from the one that owns the window: what the content made of it is not known.
//!
//! Window managers ping too. Ours are told from theirs by a number made of our connection's own range of
//! ids, which stands in place of the time, and once more in a field that toolkits hand back untouched.

use super::{gone, protocols, xid};
use crate::x11::link::{Link, X, failed};
use deskhand_core::window::WindowId;
use deskhand_core::{Call, Code, Error, Result};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask, Window as Xid,
};

/// Connections for pings. Each waits on one of its own, so that a hung application holds up nobody else,
/// and the events that waiting needs do not reach the connection that lists windows.
pub(super) struct Bells {
    display: String,
    idle: Mutex<Vec<Link<Bell>>>,
}

/// How many idle connections are kept.
const KEPT: usize = 4;

impl Bells {
    pub fn new(display: &str) -> Bells {
        Bells { display: display.to_owned(), idle: Mutex::new(Vec::new()) }
    }

    /// Sends a ping and waits for the answer; `false` when the window cannot be asked.
    pub fn ring(&self, call: &Call, id: WindowId, patience: Duration) -> Result<bool> {
        let Some(window) = xid(id) else { return Err(gone(id)) };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let link = idle.unwrap_or_else(|| Link::new(&self.display, Bell::open));
        let result = link.with(&call.within(patience), |x, screen, bell| {
            let root = x.setup().roots[screen].root;
            let answer = bell.ring(x, root, window)?;
            bell.hush(x, root, window)?;
            Ok(answer)
        });
        match result {
            // The connection goes with the error: it may still be listening to everybody's windows, and
            // after its deadline it can no longer be told to stop.
            Err(error) if error.code == Code::Timeout => Err(silent(id, patience).because(error)),
            Err(error) => Err(error),
            Ok(answered) => {
                let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
                if idle.len() < KEPT {
                    idle.push(link);
                }
                Ok(answered)
            }
        }
    }
}

fn silent(id: WindowId, patience: Duration) -> Error {
    Error::new(
        Code::Timeout,
        format!("The application of window {id} did not answer within {} ms.", patience.as_millis()),
    )
    .expected("an answer to _NET_WM_PING, which the window says it gives")
    .remedy("It is busy or hangs: wait and look again, or end it with quit_app.")
}

/// What lasts as long as a connection.
struct Bell {
    wm_protocols: Atom,
    ping: Atom,
    rung: u32,
}

impl Bell {
    fn open(_: &Call, x: &X, _: usize) -> Result<Bell> {
        let doing = "preparing to ask an application for an answer";
        let wm_protocols = x.intern_atom(false, b"WM_PROTOCOLS").map_err(failed(doing))?;
        let ping = x.intern_atom(false, b"_NET_WM_PING").map_err(failed(doing))?;
        Ok(Bell {
            wm_protocols: wm_protocols.reply().map_err(failed(doing))?.atom,
            ping: ping.reply().map_err(failed(doing))?.atom,
            rung: 0,
        })
    }

    fn ring(&mut self, x: &X, root: Xid, window: Xid) -> Result<bool> {
        let doing = "waiting for an application to answer";
        // An earlier ping of this connection may be answered late.
        while x.poll_for_event().map_err(failed(doing))?.is_some() {}
        let listen = ChangeWindowAttributesAux::new();
        // The answer is for those who watch the children of the root; Qt 5 sends it to those who
        // watch the root itself.
        let answers = listen.event_mask(EventMask::SUBSTRUCTURE_NOTIFY | EventMask::STRUCTURE_NOTIFY);
        x.change_window_attributes(root, &answers).map_err(failed(doing))?.ignore_error();
        let end = listen.event_mask(EventMask::STRUCTURE_NOTIFY);
        x.change_window_attributes(window, &end).map_err(failed(doing))?.ignore_error();
        let Some(protocols) = protocols(x, self.wm_protocols, window)? else {
            return Err(gone(WindowId(u64::from(window))));
        };
        if !protocols.contains(&self.ping) {
            return Ok(false);
        }
        let number = self.number(x);
        let message =
            ClientMessageEvent::new(32, window, self.wm_protocols, [self.ping, number, window, number, 0]);
        x.send_event(false, window, EventMask::NO_EVENT, message).map_err(failed(doing))?.ignore_error();
        x.flush().map_err(failed(doing))?;
        loop {
            match x.wait_for_event().map_err(failed(doing))? {
                Event::ClientMessage(event) if event.type_ == self.wm_protocols && event.format == 32 => {
                    let [what, time, which, echo, _] = event.data.as_data32();
                    // A toolkit that writes its answer anew leaves the echo empty.
                    let ours = time == number && (echo == number || echo == 0);
                    if what == self.ping && which == window && ours {
                        return Ok(true);
                    }
                }
                Event::DestroyNotify(event) if event.window == window => {
                    return Err(gone(WindowId(u64::from(window))));
                }
                _ => {}
            }
        }
    }

    /// The next number: never zero, which window managers hold for "no ping out".
    fn number(&mut self, x: &X) -> u32 {
        let setup = x.setup();
        self.rung = (self.rung + 1) & setup.resource_id_mask;
        setup.resource_id_base | self.rung
    }

    /// The events of everybody's windows must not keep coming.
    fn hush(&self, x: &X, root: Xid, window: Xid) -> Result<()> {
        let doing = "ending the wait for an application";
        let nothing = ChangeWindowAttributesAux::new().event_mask(EventMask::NO_EVENT);
        x.change_window_attributes(root, &nothing).map_err(failed(doing))?.ignore_error();
        x.change_window_attributes(window, &nothing).map_err(failed(doing))?.ignore_error();
        x.flush().map_err(failed(doing))
    }
}
