//! Notices that windows change: on a connection of its own, with nothing but ears.
//!
//! It selects events on the root and on the windows there are. Which of them mean something is decided
//! here; what they mean is read from the list of windows, which is compared by whoever watches.

use super::Atoms;
use super::survey;
use crate::ready::{self, Readiness};
use crate::x11::link::{X, connect, failed};
use deskhand_core::watch::Bell;
use deskhand_core::window::WindowWatch;
use deskhand_core::{Call, Error, Result};
use std::collections::HashSet;
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::errors::ConnectionError;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, ChangeWindowAttributesAux, ConnectionExt as _, EventMask, Window as Xid,
};

/// How many windows are listened to; a screen has a few dozen.
const MOST: usize = 2000;

/// How long the server may take to answer when new windows are listened to.
const PATIENCE: Duration = Duration::from_secs(2);

/// Listens until it is dropped.
pub struct XWindowWatch {
    // Dropped before the connection that it listens to.
    _readiness: Readiness,
    x: X,
    display: String,
    root: Xid,
    atoms: Atoms,
    heard: HashSet<Xid>,
}

impl XWindowWatch {
    /// Listens from now on.
    pub fn open(call: &Call, display: &str, bell: &Bell) -> Result<XWindowWatch> {
        let (x, screen) = connect(call, display)?;
        let doing = "preparing to watch windows";
        let root = x.setup().roots[screen].root;
        let atoms = Atoms::new(&x).map_err(failed(doing))?.reply().map_err(failed(doing))?;
        let mask = EventMask::PROPERTY_CHANGE | EventMask::SUBSTRUCTURE_NOTIFY | EventMask::FOCUS_CHANGE;
        let aux = ChangeWindowAttributesAux::new().event_mask(mask);
        x.change_window_attributes(root, &aux).map_err(failed(doing))?.check().map_err(failed(doing))?;
        let readiness = ready::ring(x.stream(), bell)?;
        let mut watch = XWindowWatch {
            _readiness: readiness,
            x,
            display: display.to_owned(),
            root,
            atoms,
            heard: HashSet::new(),
        };
        watch.hear_more(&[])?;
        // What arrived together with the answers does not ring again.
        bell.ring();
        Ok(watch)
    }

    /// Listens to the windows of the list, to those on the root and to `more`.
    fn hear_more(&mut self, more: &[Xid]) -> Result<()> {
        let doing = "listening to windows";
        let x = &self.x;
        let list =
            survey::property(x, self.root, self.atoms._NET_CLIENT_LIST, 4096).map_err(failed(doing))?;
        let tree = x.query_tree(self.root).map_err(failed(doing))?;
        let list = survey::values(&list.reply().map_err(failed(doing))?);
        let tree = tree.reply().map_err(failed(doing))?;
        let there: HashSet<Xid> = list.into_iter().chain(tree.children).chain(more.iter().copied()).collect();
        self.heard.retain(|id| there.contains(id));
        let mask = EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY | EventMask::FOCUS_CHANGE;
        let aux = ChangeWindowAttributesAux::new().event_mask(mask);
        for id in there {
            if MOST <= self.heard.len() {
                break;
            }
            if self.heard.insert(id) {
                // One that has gone meanwhile is no fault.
                x.change_window_attributes(id, &aux).map_err(failed(doing))?.ignore_error();
            }
        }
        // Whoever looks at the windows next, on another connection, sees what happened before this.
        x.get_input_focus().map_err(failed(doing))?.reply().map_err(failed(doing))?;
        Ok(())
    }

    fn lost(&self, error: ConnectionError) -> Error {
        Error::backend(format!("The connection to the X server {} was lost.", self.display))
            .because(error)
            .remedy("Begin anew as soon as the server is back.")
    }

    fn means_something(&self, atom: Atom) -> bool {
        let atoms = &self.atoms;
        [
            atoms._NET_CLIENT_LIST,
            atoms._NET_ACTIVE_WINDOW,
            atoms._NET_CURRENT_DESKTOP,
            atoms._NET_SUPPORTING_WM_CHECK,
            atoms._NET_WM_NAME,
            atoms._NET_WM_STATE,
            atoms._NET_WM_DESKTOP,
            atoms._NET_FRAME_EXTENTS,
            atoms._GTK_FRAME_EXTENTS,
            atoms.WM_STATE,
            Atom::from(x11rb::protocol::xproto::AtomEnum::WM_NAME),
        ]
        .contains(&atom)
    }

    /// Whether an event may change the list of windows, and whether there may be new ones.
    fn weigh(&self, event: &Event, new: &mut Vec<Xid>) -> bool {
        let lists = [self.atoms._NET_CLIENT_LIST, self.atoms._NET_SUPPORTING_WM_CHECK];
        match event {
            Event::PropertyNotify(event) => {
                if lists.contains(&event.atom) {
                    new.push(event.window);
                }
                self.means_something(event.atom)
            }
            Event::MapNotify(event) if !event.override_redirect => {
                new.push(event.window);
                true
            }
            Event::ConfigureNotify(event) => !event.override_redirect,
            Event::UnmapNotify(event) => self.heard.contains(&event.window),
            Event::DestroyNotify(event) => self.heard.contains(&event.window),
            Event::FocusIn(_) | Event::FocusOut(_) | Event::ReparentNotify(_) => true,
            _ => false,
        }
    }
}

impl WindowWatch for XWindowWatch {
    fn changed(&mut self, call: &Call) -> Result<bool> {
        self.x.stream().bind(&call.within(PATIENCE));
        let (mut changed, mut new) = (false, Vec::new());
        loop {
            while let Some(event) = self.x.poll_for_event().map_err(|error| self.lost(error))? {
                changed |= self.weigh(&event, &mut new);
            }
            if new.is_empty() {
                return Ok(changed);
            }
            // The answers may bring more events with them, which would not ring.
            let more = std::mem::take(&mut new);
            self.hear_more(&more)?;
        }
    }
}
