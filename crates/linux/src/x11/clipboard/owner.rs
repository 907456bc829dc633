//! Owning selections: serving whoever pastes, for as long as nobody else has copied something.
//!
//! A selection lives in its owner, not in the X server. So a thread with a connection of its own answers
//! requests while this process lives; when it ends, a clipboard manager is asked to take over, and where
//! there is none a small process does ([`super::keeper`]). The thread sleeps until something comes.

use super::forms::Content;
use super::reader::{Atoms, process_of};
use crate::x11::link::{X, connect, failed};
use deskhand_core::clipboard::Selection;
use deskhand_core::{Call, Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::protocol::Event;
use x11rb::protocol::res;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, CreateWindowAux, EventMask, PropMode,
    Property, SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, SelectionRequestEvent, Timestamp, Window as Xid,
    WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

/// Larger things are handed over in pieces of this size (ICCCM 2.5): a multiple of every unit. One that fits
/// goes in one piece, which costs two round trips less for each further one.
const PIECE: usize = 1 << 20;
/// A reader that takes no piece for so long has gone.
const FORSAKEN: Duration = Duration::from_secs(30);
/// How long the X server may take for one request of ours.
const PATIENCE: Duration = Duration::from_secs(3);

/// The thread that owns selections for this process. It is started when something is first put there.
pub struct Holder {
    display: String,
    shared: Arc<Shared>,
    running: Mutex<Option<Running>>,
}

struct Running {
    orders: Sender<Order>,
    wake: PipeWriter,
    thread: std::thread::JoinHandle<()>,
}

type Order = Box<dyn FnOnce(&mut Owner) + Send>;

/// What the thread tells the calls.
#[derive(Default)]
pub struct Shared {
    fetches: Mutex<Vec<Fetch>>,
    fetched: Condvar,
    /// When selections were taken for a loan or its return: these are no news to anybody.
    quiet: Mutex<VecDeque<Timestamp>>,
}

/// Somebody has asked for a form of what is lent.
#[derive(Clone, Debug)]
pub struct Fetch {
    requestor: Xid,
    property: Atom,
    /// Its process, where it is known.
    pub pid: Option<u32>,
    /// When it asked.
    pub asked: Instant,
    /// It has been handed over whole at this time.
    pub served: Option<Instant>,
    /// The reader has said that it has read it.
    pub taken: bool,
}

impl Shared {
    /// Who has asked for what is lent, so far.
    pub fn fetches(&self) -> MutexGuard<'_, Vec<Fetch>> {
        self.fetches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits a moment for that to change.
    pub fn wait<'s>(
        &'s self,
        fetches: MutexGuard<'s, Vec<Fetch>>,
        time: Duration,
    ) -> MutexGuard<'s, Vec<Fetch>> {
        self.fetched.wait_timeout(fetches, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Whether our taking a selection at this time is no news.
    pub fn is_quiet(&self, time: Timestamp) -> bool {
        self.quiet.lock().unwrap_or_else(PoisonError::into_inner).contains(&time)
    }

    fn be_quiet(&self, time: Timestamp) {
        let mut quiet = self.quiet.lock().unwrap_or_else(PoisonError::into_inner);
        quiet.push_back(time);
        if 64 < quiet.len() {
            quiet.pop_front();
        }
    }
}

impl Holder {
    /// Nothing is connected yet.
    pub fn new(display: &str) -> Holder {
        Holder { display: display.to_owned(), shared: Arc::default(), running: Mutex::default() }
    }

    /// What the thread tells.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether the thread runs: otherwise nothing is owned.
    pub fn runs(&self) -> bool {
        self.running().as_ref().is_some_and(|running| !running.thread.is_finished())
    }

    /// Does something on the thread, which is started first if need be.
    pub fn order<T: Send + 'static>(
        &self,
        call: &Call,
        doing: &str,
        body: impl FnOnce(&mut Owner) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = channel();
        self.send(call, Box::new(move |owner| drop(reply.send(body(owner)))))?;
        loop {
            let nap = call.remaining().min(Duration::from_millis(20));
            match answer.recv_timeout(nap) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => call.check(doing)?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::backend(
                        "The connection to the X server was lost, and with it what was copied.",
                    )
                    .remedy("The next call connects again, as soon as the server is back."));
                }
            }
        }
    }

    fn send(&self, call: &Call, order: Order) -> Result<()> {
        let mut guard = self.running();
        if guard.as_ref().is_some_and(|running| running.thread.is_finished()) {
            *guard = None;
        }
        let running = match &mut *guard {
            Some(running) => running,
            empty => empty.insert(self.start(call)?),
        };
        // When the thread has just ended the order is dropped, and whoever waits for its answer is told.
        let _ = running.orders.send(order);
        let _ = running.wake.write(&[0]);
        Ok(())
    }

    fn start(&self, call: &Call) -> Result<Running> {
        let fail =
            |error: std::io::Error| Error::backend("Could not begin to own the clipboard.").because(error);
        let mut owner = Owner::open(call, &self.display, self.shared.clone())?;
        let (woken, wake) = std::io::pipe().map_err(fail)?;
        let (orders, given) = channel();
        let thread = std::thread::Builder::new()
            .name("clipboard".into())
            .spawn(move || owner.serve(&given, woken))
            .map_err(fail)?;
        Ok(Running { orders, wake, thread })
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is offered by one selection.
struct Owned {
    content: Content,
    /// The target and the type of each form.
    names: Vec<(Atom, Atom)>,
    time: Timestamp,
    /// Which offer of this process it is.
    number: u64,
    /// Somebody waits for it to be fetched.
    lent: bool,
}

/// A large thing on its way to somebody, piece by piece.
struct Transfer {
    requestor: Xid,
    property: Atom,
    kind: Atom,
    width: u8,
    bytes: Arc<[u8]>,
    sent: usize,
    /// The empty piece that ends it was sent.
    ended: bool,
    moved: Instant,
}

/// How an offer came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was copied.
    Copied,
    /// It is there for a while, and somebody waits for it to be fetched.
    Lent,
    /// It was there before.
    Returned,
}

/// The owner's side of selections.
pub struct Owner {
    x: X,
    shared: Arc<Shared>,
    atoms: Atoms,
    window: Xid,
    knows_owners: bool,
    /// The most that goes in one piece here.
    piece: usize,
    owned: [Option<Owned>; 2],
    transfers: Vec<Transfer>,
    last_number: u64,
    /// The time that the server told last.
    told: Option<Timestamp>,
    /// How often somebody has asked.
    requests: u64,
    /// The clipboard manager's answer: whether it has taken over.
    saved: Option<bool>,
}

const OWNING: &str = "offering something on the clipboard";

fn place(selection: Selection) -> usize {
    match selection {
        Selection::Clipboard => 0,
        Selection::Primary => 1,
    }
}

impl Owner {
    /// Connects.
    pub fn open(call: &Call, display: &str, shared: Arc<Shared>) -> Result<Owner> {
        let (x, screen) = connect(call, display)?;
        x.stream().bind(call);
        x.prefetch_extension_information(res::X11_EXTENSION_NAME).map_err(failed(OWNING))?;
        x.prefetch_maximum_request_bytes();
        let atoms = Atoms::new(&x).map_err(failed(OWNING))?.reply().map_err(failed(OWNING))?;
        let piece = PIECE.min(x.maximum_request_bytes().saturating_sub(1024)) & !3;
        let knows_owners =
            x.extension_information(res::X11_EXTENSION_NAME).map_err(failed(OWNING))?.is_some();
        let window = x.generate_id().map_err(failed(OWNING))?;
        let listen = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        let root = x.setup().roots[screen].root;
        x.create_window(0, window, root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &listen)
            .map_err(failed(OWNING))?;
        x.change_property8(
            PropMode::REPLACE,
            window,
            AtomEnum::WM_NAME,
            AtomEnum::STRING,
            b"Deskhand clipboard",
        )
        .map_err(failed(OWNING))?;
        x.flush().map_err(failed(OWNING))?;
        Ok(Owner {
            x,
            shared,
            atoms,
            window,
            knows_owners,
            piece,
            owned: [None, None],
            transfers: Vec::new(),
            last_number: 0,
            told: None,
            requests: 0,
            saved: None,
        })
    }

    /// Does what is ordered and serves who asks, until nobody can order any more or the server is gone.
    fn serve(&mut self, orders: &Receiver<Order>, mut woken: PipeReader) {
        loop {
            while let Ok(order) = orders.try_recv() {
                self.rebind();
                order(self);
            }
            if self.handle_all().is_err() {
                return;
            }
            let mut fds = [PollFd::new(self.x.stream(), PollFlags::IN), PollFd::new(&woken, PollFlags::IN)];
            if poll(&mut fds, self.tick().as_ref()).is_err_and(|error| error != rustix::io::Errno::INTR) {
                return;
            }
            let [server, wake] = fds.map(|fd| fd.revents());
            if server.intersects(PollFlags::HUP | PollFlags::ERR) && !server.contains(PollFlags::IN) {
                return;
            }
            // The other end is closed with the holder.
            if !wake.is_empty() && woken.read(&mut [0; 64]).is_ok_and(|read| read == 0) {
                return;
            }
        }
    }

    /// Serves who asks for as long as anything is owned, and for as long as somebody is taking it.
    pub fn serve_out(&mut self) {
        while self.handle_all().is_ok() {
            let idle = self.owned.iter().all(Option::is_none) && self.transfers.is_empty();
            if idle || self.sleep(self.tick()).is_err() {
                return;
            }
        }
    }

    /// How long to sleep at the most: only transfers have to be looked after.
    fn tick(&self) -> Option<Timespec> {
        (!self.transfers.is_empty()).then_some(Timespec { tv_sec: 5, tv_nsec: 0 })
    }

    fn sleep(&self, time: Option<Timespec>) -> Result<()> {
        let mut fds = [PollFd::new(self.x.stream(), PollFlags::IN)];
        match poll(&mut fds, time.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::backend("The X server could not be waited for.").os(error)),
        }
        if fds[0].revents().intersects(PollFlags::HUP) && !fds[0].revents().contains(PollFlags::IN) {
            return Err(Error::backend("The X server has gone."));
        }
        Ok(())
    }

    /// Serves who asks until `done` or `until`; says whether it is done.
    fn serve_until(&mut self, until: Instant, mut done: impl FnMut(&Owner) -> bool) -> Result<bool> {
        loop {
            self.handle_all()?;
            if done(self) {
                return Ok(true);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let time = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            self.sleep(Some(time))?;
        }
    }

    /// Offers content by a selection; returns the number of the offer. `only_over`: not unless that offer of
    /// ours is still there.
    pub fn own(
        &mut self,
        selection: Selection,
        content: Content,
        why: Why,
        only_over: Option<u64>,
    ) -> Result<Option<u64>> {
        self.handle_all()?;
        if only_over.is_some() && self.number(selection) != only_over {
            return Ok(None);
        }
        let names = self.names(&content)?;
        let time = self.now()?;
        match why {
            Why::Copied => {}
            Why::Lent | Why::Returned => self.shared.be_quiet(time),
        }
        self.last_number += 1;
        let number = self.last_number;
        self.shared.fetches().clear();
        let before = self.owned[place(selection)].take();
        self.owned[place(selection)] = Some(Owned { content, names, time, number, lent: why == Why::Lent });
        let atom = self.atoms.selection(selection);
        self.x.set_selection_owner(self.window, atom, time).map_err(failed(OWNING))?;
        let owner =
            self.x.get_selection_owner(atom).map_err(failed(OWNING))?.reply().map_err(failed(OWNING))?.owner;
        if owner != self.window {
            self.owned[place(selection)] = before;
            return Err(Error::backend(
                "The X server gave the clipboard to somebody else at the same moment.",
            )
            .remedy("Try again."));
        }
        Ok(Some(number))
    }

    /// Empties a selection, whoever owns it. `only_over`: not unless that offer of ours is still there.
    pub fn disown(&mut self, selection: Selection, only_over: Option<u64>) -> Result<bool> {
        self.handle_all()?;
        if only_over.is_some() && self.number(selection) != only_over {
            return Ok(false);
        }
        let time = self.now()?;
        if only_over.is_some() {
            self.shared.be_quiet(time);
        }
        self.owned[place(selection)] = None;
        let atom = self.atoms.selection(selection);
        self.x.set_selection_owner(x11rb::NONE, atom, time).map_err(failed(OWNING))?;
        // A round trip, so that the news of it does not meet the next offer.
        self.x.sync().map_err(failed(OWNING))?;
        self.handle_all()?;
        Ok(true)
    }

    /// What is offered now, if it is ours.
    pub fn content(&mut self, selection: Selection) -> Result<Option<Content>> {
        self.x.sync().map_err(failed(OWNING))?;
        self.handle_all()?;
        Ok(self.owned[place(selection)].as_ref().map(|owned| owned.content.clone()))
    }

    /// The number of what is lent now, if it is this loan or if nobody knows its number.
    pub fn lent(&self, number: Option<u64>) -> Option<u64> {
        let owned = self.owned[place(Selection::Clipboard)].as_ref().filter(|owned| owned.lent)?;
        number.is_none_or(|number| number == owned.number).then_some(owned.number)
    }

    fn number(&self, selection: Selection) -> Option<u64> {
        self.owned[place(selection)].as_ref().map(|owned| owned.number)
    }

    /// Lets who is taking something finish, asks a clipboard manager to take over, and returns what nobody
    /// keeps then.
    pub fn let_go(&mut self) -> Result<Vec<(Selection, Content)>> {
        self.serve_until(Instant::now() + Duration::from_secs(1), |owner| owner.transfers.is_empty())?;
        if self.owned[0].is_some() && self.save()? {
            self.owned[0] = None;
        }
        let rest = [Selection::Clipboard, Selection::Primary].into_iter();
        Ok(rest
            .filter_map(|which| Some((which, self.owned[place(which)].as_ref()?.content.clone())))
            .collect())
    }

    /// Asks a clipboard manager to take over, by the protocol of freedesktop.org's ClipboardManager
    /// specification. `false` when there is none or it does not.
    fn save(&mut self) -> Result<bool> {
        let manager = self.x.get_selection_owner(self.atoms.CLIPBOARD_MANAGER).map_err(failed(OWNING))?;
        if manager.reply().map_err(failed(OWNING))?.owner == x11rb::NONE {
            return Ok(false);
        }
        let targets: Vec<Atom> =
            self.owned[0].iter().flat_map(|owned| owned.names.iter().map(|(target, _)| *target)).collect();
        let property = self.atoms.DESKHAND_SELECTION;
        self.x
            .change_property32(PropMode::REPLACE, self.window, property, AtomEnum::ATOM, &targets)
            .map_err(failed(OWNING))?;
        let time = self.now()?;
        self.saved = None;
        self.x
            .convert_selection(
                self.window,
                self.atoms.CLIPBOARD_MANAGER,
                self.atoms.SAVE_TARGETS,
                property,
                time,
            )
            .map_err(failed(OWNING))?;
        self.x.flush().map_err(failed(OWNING))?;
        // One that takes over asks for everything at once. Some hold the name and never answer (xfce4-clipman).
        let asked = self.requests;
        let begun = Instant::now() + Duration::from_millis(250);
        if self.serve_until(begun, |owner| owner.saved.is_some() || owner.requests != asked)? {
            self.serve_until(Instant::now() + Duration::from_secs(1), |owner| owner.saved.is_some())?;
        }
        Ok(self.saved == Some(true))
    }

    /// The names of forms as the server numbers them.
    fn names(&self, content: &Content) -> Result<Vec<(Atom, Atom)>> {
        let ask = |name: &str| self.x.intern_atom(false, name.as_bytes()).map_err(failed(OWNING));
        let asked: Vec<_> =
            content.iter().map(|form| Ok((ask(&form.target)?, ask(&form.kind)?))).collect::<Result<_>>()?;
        let told = |cookie: x11rb::cookie::Cookie<'_, X, _>| -> Result<Atom> {
            let reply: x11rb::protocol::xproto::InternAtomReply = cookie.reply().map_err(failed(OWNING))?;
            Ok(reply.atom)
        };
        asked.into_iter().map(|(target, kind)| Ok((told(target)?, told(kind)?))).collect()
    }

    /// The server's time, which ownership has to carry.
    fn now(&mut self) -> Result<Timestamp> {
        self.told = None;
        self.x
            .change_property8(PropMode::APPEND, self.window, self.atoms.DESKHAND_TIME, AtomEnum::STRING, &[])
            .map_err(failed(OWNING))?;
        self.x.flush().map_err(failed(OWNING))?;
        self.serve_until(Instant::now() + PATIENCE, |owner| owner.told.is_some())?;
        self.told.ok_or_else(|| Error::backend("The X server did not tell its time."))
    }

    fn rebind(&self) {
        self.x.stream().bind(&Call::with_timeout(PATIENCE));
    }

    /// Handles what has come, without waiting.
    fn handle_all(&mut self) -> Result<()> {
        self.rebind();
        while let Some(event) = self.x.poll_for_event().map_err(failed(OWNING))? {
            self.handle(event)?;
        }
        self.transfers.retain(|transfer| transfer.moved.elapsed() < FORSAKEN);
        self.x.flush().map_err(failed(OWNING))
    }

    fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            Event::SelectionRequest(request) => self.answer(&request)?,
            Event::SelectionClear(event) if event.owner == self.window => {
                for which in [Selection::Clipboard, Selection::Primary] {
                    let lost = self.atoms.selection(which) == event.selection;
                    let owned = &mut self.owned[place(which)];
                    // News of an earlier offer may come late. The server's clock starts anew after 49 days.
                    let since = owned.as_ref().map_or(0, |owned| event.time.wrapping_sub(owned.time));
                    if lost && since < u32::MAX / 2 {
                        *owned = None;
                    }
                }
            }
            Event::SelectionNotify(event) if event.target == self.atoms.SAVE_TARGETS => {
                self.saved = Some(event.property != x11rb::NONE);
            }
            Event::PropertyNotify(event)
                if event.window == self.window && event.atom == self.atoms.DESKHAND_TIME =>
            {
                self.told = Some(event.time);
            }
            Event::PropertyNotify(event) if event.window == self.window => {}
            Event::PropertyNotify(event) if event.state == Property::DELETE => {
                self.taken(event.window, event.atom)?;
            }
            Event::DestroyNotify(event) => {
                self.transfers.retain(|transfer| transfer.requestor != event.window);
            }
            // Requests without a reply fail where a reader has gone, which is its own affair.
            _ => {}
        }
        Ok(())
    }

    fn answer(&mut self, request: &SelectionRequestEvent) -> Result<()> {
        self.requests += 1;
        // Clients from before 1989 leave the property open.
        let property = if request.property == x11rb::NONE { request.target } else { request.property };
        let done = if request.target == self.atoms.MULTIPLE {
            self.convert_several(request, property)?
        } else {
            self.convert(request.selection, request.requestor, request.target, property)?
        };
        let event = SelectionNotifyEvent {
            response_type: SELECTION_NOTIFY_EVENT,
            sequence: 0,
            time: request.time,
            requestor: request.requestor,
            selection: request.selection,
            target: request.target,
            property: if done { property } else { x11rb::NONE },
        };
        self.x
            .send_event(false, request.requestor, EventMask::NO_EVENT, event)
            .map_err(failed(OWNING))?
            .ignore_error();
        Ok(())
    }

    /// Several conversions by one request; those that fail are struck from its list.
    fn convert_several(&mut self, request: &SelectionRequestEvent, property: Atom) -> Result<bool> {
        let list = self
            .x
            .get_property(false, request.requestor, property, self.atoms.ATOM_PAIR, 0, 1024)
            .map_err(failed(OWNING))?;
        let Ok(list) = list.reply() else { return Ok(false) };
        let Some(values) = list.value32() else { return Ok(false) };
        let mut values: Vec<Atom> = values.collect();
        for pair in values.chunks_exact_mut(2) {
            if !self.convert(request.selection, request.requestor, pair[0], pair[1])? {
                pair[1] = x11rb::NONE;
            }
        }
        self.x
            .change_property32(PropMode::REPLACE, request.requestor, property, self.atoms.ATOM_PAIR, &values)
            .map_err(failed(OWNING))?
            .ignore_error();
        Ok(true)
    }

    /// Puts one form where the reader wants it; `false` when it is not offered.
    fn convert(&mut self, selection: Atom, requestor: Xid, target: Atom, property: Atom) -> Result<bool> {
        let which = [Selection::Clipboard, Selection::Primary]
            .into_iter()
            .find(|which| self.atoms.selection(*which) == selection);
        let Some(owned) = which.and_then(|which| self.owned[place(which)].as_ref()) else { return Ok(false) };
        let put = |kind: Atom, values: &[u32]| -> Result<bool> {
            self.x
                .change_property32(PropMode::REPLACE, requestor, property, kind, values)
                .map_err(failed(OWNING))?
                .ignore_error();
            Ok(true)
        };
        if target == self.atoms.TARGETS {
            let own = [self.atoms.TARGETS, self.atoms.TIMESTAMP, self.atoms.MULTIPLE];
            let all: Vec<Atom> =
                own.into_iter().chain(owned.names.iter().map(|(target, _)| *target)).collect();
            return put(AtomEnum::ATOM.into(), &all);
        }
        if target == self.atoms.TIMESTAMP {
            return put(AtomEnum::INTEGER.into(), &[owned.time]);
        }
        let Some(index) = owned.names.iter().position(|(name, _)| *name == target) else { return Ok(false) };
        let (form, kind) = (&owned.content[index], owned.names[index].1);
        let (width, bytes) = (form.width, form.bytes.clone());
        let counts = owned.lent && form.target != super::forms::HINT;
        let whole = bytes.len() <= self.piece;
        if counts || !whole {
            // Before anything is put there: the reader may be quick to take it away.
            let listen = ChangeWindowAttributesAux::new()
                .event_mask(EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY);
            self.x.change_window_attributes(requestor, &listen).map_err(failed(OWNING))?.ignore_error();
        }
        if counts {
            self.note_fetch(requestor, property, whole);
        }
        if whole {
            return self.write(requestor, property, kind, width, &bytes);
        }
        let size = [u32::try_from(bytes.len()).unwrap_or(u32::MAX)];
        put(self.atoms.INCR, &size)?;
        self.transfers.retain(|other| (other.requestor, other.property) != (requestor, property));
        self.transfers.push(Transfer {
            requestor,
            property,
            kind,
            width,
            bytes,
            sent: 0,
            ended: false,
            moved: Instant::now(),
        });
        Ok(true)
    }

    fn write(&self, requestor: Xid, property: Atom, kind: Atom, width: u8, bytes: &[u8]) -> Result<bool> {
        let units = u32::try_from(bytes.len() / (usize::from(width) / 8).max(1)).unwrap_or(0);
        self.x
            .change_property(PropMode::REPLACE, requestor, property, kind, width, units, bytes)
            .map_err(failed(OWNING))?
            .ignore_error();
        Ok(true)
    }

    /// A reader has taken a property away: what it held has arrived, and the next piece may come.
    fn taken(&mut self, requestor: Xid, property: Atom) -> Result<()> {
        let is_this = |transfer: &Transfer| (transfer.requestor, transfer.property) == (requestor, property);
        let Some(index) = self.transfers.iter().position(is_this) else {
            self.note_taken(requestor, property);
            return self.stop_listening(requestor);
        };
        if self.transfers[index].ended {
            self.transfers.remove(index);
            self.note_taken(requestor, property);
            return self.stop_listening(requestor);
        }
        let piece = self.piece;
        let transfer = &mut self.transfers[index];
        let from = transfer.sent;
        transfer.sent = (from + piece).min(transfer.bytes.len());
        transfer.ended = from == transfer.bytes.len();
        transfer.moved = Instant::now();
        let (kind, width, bytes, to) = (transfer.kind, transfer.width, transfer.bytes.clone(), transfer.sent);
        self.write(requestor, property, kind, width, &bytes[from..to])?;
        Ok(())
    }

    fn stop_listening(&self, requestor: Xid) -> Result<()> {
        let waits = self.transfers.iter().any(|transfer| transfer.requestor == requestor)
            || self.shared.fetches().iter().any(|fetch| fetch.requestor == requestor && !fetch.taken);
        if !waits {
            let deaf = ChangeWindowAttributesAux::new().event_mask(EventMask::NO_EVENT);
            self.x.change_window_attributes(requestor, &deaf).map_err(failed(OWNING))?.ignore_error();
        }
        Ok(())
    }

    fn note_fetch(&self, requestor: Xid, property: Atom, whole: bool) {
        let pid = if self.knows_owners { process_of(&self.x, requestor) } else { None };
        let asked = Instant::now();
        let served = whole.then_some(asked);
        self.shared.fetches().push(Fetch { requestor, property, pid, asked, served, taken: false });
        self.shared.fetched.notify_all();
    }

    fn note_taken(&self, requestor: Xid, property: Atom) {
        let mut fetches = self.shared.fetches();
        for fetch in fetches.iter_mut() {
            if (fetch.requestor, fetch.property) == (requestor, property) {
                fetch.taken = true;
            }
        }
        drop(fetches);
        self.shared.fetched.notify_all();
    }
}
