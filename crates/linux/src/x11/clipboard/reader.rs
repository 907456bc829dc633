//! Asking the owner of a selection for what it offers (ICCCM section 2).
//!
//! The owner is another application, which may hang, go away in the middle, or offer more than anybody
//! wants. Every wait ends with the call; what is not wanted stays with the X server; and whoever sends a
//! large thing in pieces is let finish, because some programs do not survive a reader that goes away.

use super::forms::{self, Form};
use crate::x11::link::{Link, X, failed, is_x_error};
use deskhand_core::clipboard::{Fetched, Kind, Offer, Owner, Selection};
use deskhand_core::{Call, Code, Error, Result};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::protocol::Event;
use x11rb::protocol::res::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, CreateWindowAux, EventMask, Property,
    Window as Xid, WindowClass,
};

x11rb::atom_manager! {
    /// The names that the protocol itself uses.
    pub Atoms: AtomsCookie {
        CLIPBOARD,
        CLIPBOARD_MANAGER,
        SAVE_TARGETS,
        TARGETS,
        MULTIPLE,
        TIMESTAMP,
        ATOM_PAIR,
        INCR,
        DESKHAND_SELECTION,
        DESKHAND_TIME,
    }
}

impl Atoms {
    /// The name of a selection.
    pub fn selection(&self, selection: Selection) -> Atom {
        match selection {
            Selection::Clipboard => self.CLIPBOARD,
            Selection::Primary => AtomEnum::PRIMARY.into(),
        }
    }
}

/// Connections for reading. Each read has one of its own, so that an owner that hangs holds up nobody else.
pub struct Readers {
    display: String,
    idle: Mutex<Vec<Link<Reader>>>,
}

/// How many idle connections are kept.
const KEPT: usize = 3;
/// More than this is not taken from anybody.
pub const LARGEST: usize = 256 << 20;
/// More than this is not saved to be put back later.
const LARGEST_SAVED: usize = 64 << 20;
/// How many formats are looked at.
const MOST_FORMATS: usize = 200;

impl Readers {
    /// Readers of a display, not yet connected.
    pub fn new(display: &str) -> Readers {
        Readers { display: display.to_owned(), idle: Mutex::default() }
    }

    /// What is offered.
    pub fn offer(&self, call: &Call, selection: Selection) -> Result<Option<Offer>> {
        self.with(call, selection, |asking| asking.offer())
    }

    /// One form of it.
    pub fn fetch(
        &self,
        call: &Call,
        selection: Selection,
        kind: Kind,
        most: usize,
    ) -> Result<Option<Fetched>> {
        self.with(call, selection, |asking| {
            let Some(offer) = asking.offer()? else { return Ok(None) };
            if offer.secret {
                return Err(secret(asking.who().as_ref().map(Owner::to_string)));
            }
            asking.fetch(&offer.formats, kind, most)
        })
    }

    /// What is offered and its forms of these kinds, or the first of them that there is, in one go.
    pub fn fetch_all(
        &self,
        call: &Call,
        selection: Selection,
        kinds: &[(Kind, usize)],
    ) -> Result<Option<(Offer, Vec<Fetched>)>> {
        self.with(call, selection, |asking| {
            let Some(offer) = asking.offer()? else { return Ok(None) };
            let mut fetched = Vec::new();
            if !offer.secret {
                for (kind, most) in kinds {
                    fetched.extend(asking.fetch(&offer.formats, *kind, *most)?);
                }
            }
            Ok(Some((offer, fetched)))
        })
    }

    /// Everything in every form, to be put back later; nothing when it is empty.
    pub fn save(&self, call: &Call, selection: Selection) -> Result<Option<Vec<Form>>> {
        self.with(call, selection, |asking| asking.save())
    }

    /// Reads, and reads anew when somebody else has copied something meanwhile: half of the one and half of
    /// the other is nothing that anybody copied.
    fn with<T>(
        &self,
        call: &Call,
        selection: Selection,
        mut body: impl FnMut(&mut Asking<'_>) -> Result<T>,
    ) -> Result<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let link = idle.unwrap_or_else(|| Link::new(&*self.display, Reader::open));
        let result = link.with(call, |x, _, reader| {
            let mut asking = Asking { x, call, owner: 0, selection, reader };
            for _ in 0..2 {
                match body(&mut asking) {
                    Err(error) if error.code == Code::Backend && asking.changed_hands()? => {}
                    result => return result,
                }
            }
            body(&mut asking)
        });
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(link);
        }
        result
    }
}

/// What is kept for a connection.
pub struct Reader {
    atoms: Atoms,
    knows_owners: bool,
    root: Xid,
    names: HashMap<Atom, String>,
    known: HashMap<String, Atom>,
    /// Windows of reads that were given up. An owner that wakes up and finds its reader's window gone may
    /// die of it (xclip does), so they stay for a while.
    left: VecDeque<Xid>,
}

impl Reader {
    fn open(_: &Call, x: &X, screen: usize) -> Result<Reader> {
        let doing = "preparing to read the clipboard";
        x.prefetch_extension_information(res::X11_EXTENSION_NAME).map_err(failed(doing))?;
        let atoms = Atoms::new(x).map_err(failed(doing))?.reply().map_err(failed(doing))?;
        let knows_owners = x.extension_information(res::X11_EXTENSION_NAME).map_err(failed(doing))?.is_some();
        let root = x.setup().roots[screen].root;
        Ok(Reader {
            atoms,
            knows_owners,
            root,
            names: HashMap::new(),
            known: HashMap::new(),
            left: VecDeque::new(),
        })
    }

    fn names(&mut self, x: &X, atoms: &[Atom]) -> Result<Vec<String>> {
        let doing = "reading the names of formats";
        let mut asked = Vec::new();
        for atom in atoms {
            if !self.names.contains_key(atom) && *atom != 0 {
                asked.push((*atom, x.get_atom_name(*atom).map_err(failed(doing))?));
            }
        }
        for (atom, cookie) in asked {
            match cookie.reply() {
                Ok(reply) => drop(self.names.insert(atom, String::from_utf8_lossy(&reply.name).into_owned())),
                // An owner may name what is no atom at all.
                Err(error) if is_x_error(&error) => {}
                Err(error) => return Err(failed(doing)(error)),
            }
        }
        Ok(atoms.iter().filter_map(|atom| self.names.get(atom).cloned()).collect())
    }

    fn atom(&mut self, x: &X, name: &str) -> Result<Atom> {
        if let Some(atom) = self.known.get(name) {
            return Ok(*atom);
        }
        let doing = "naming a format";
        let atom = x
            .intern_atom(false, name.as_bytes())
            .map_err(failed(doing))?
            .reply()
            .map_err(failed(doing))?
            .atom;
        self.known.insert(name.to_owned(), atom);
        Ok(atom)
    }
}

/// One read: a selection, who owns it, and the connection for it.
struct Asking<'x> {
    x: &'x X,
    call: &'x Call,
    selection: Selection,
    owner: Xid,
    reader: &'x mut Reader,
}

/// What came of one conversion.
struct Raw {
    kind: Atom,
    width: u8,
    bytes: Vec<u8>,
    total: u64,
}

const READING: &str = "reading the clipboard";

impl Asking<'_> {
    fn offer(&mut self) -> Result<Option<Offer>> {
        // Events of an earlier read that was given up.
        while self.x.poll_for_event().map_err(failed(READING))?.is_some() {}
        let selection = self.reader.atoms.selection(self.selection);
        let owner = self.x.get_selection_owner(selection).map_err(failed(READING))?;
        self.owner = owner.reply().map_err(failed(READING))?.owner;
        if self.owner == 0 {
            return Ok(None);
        }
        // That the owner goes away in the middle is told by the end of its window only.
        let ends = ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
        self.x.change_window_attributes(self.owner, &ends).map_err(failed(READING))?.ignore_error();
        let targets = self.convert(self.reader.atoms.TARGETS, 4 * MOST_FORMATS)?;
        let atoms: Vec<Atom> = match &targets {
            Some(raw) if raw.width == 32 => raw
                .bytes
                .chunks_exact(4)
                .map(|four| Atom::from_ne_bytes([four[0], four[1], four[2], four[3]]))
                .collect(),
            _ => Vec::new(),
        };
        let mut formats = self.reader.names(self.x, &atoms)?;
        formats.retain(|name| forms::is_content(name));
        let secret = match formats.iter().any(|name| name == forms::HINT) {
            true => {
                let hint = self.reader.atom(self.x, forms::HINT)?;
                // One that marks it and does not say how is taken at its word.
                self.convert(hint, 64)?.is_none_or(|raw| raw.bytes.starts_with(forms::SECRET))
            }
            false => false,
        };
        let kinds =
            Kind::ALL.into_iter().filter(|kind| forms::target_of(*kind, &formats).is_some()).collect();
        Ok(Some(Offer { kinds, formats, owner: self.who(), secret }))
    }

    /// Whether it belongs to somebody else than was asked.
    fn changed_hands(&self) -> Result<bool> {
        let selection = self.reader.atoms.selection(self.selection);
        let owner = self.x.get_selection_owner(selection).map_err(failed(READING))?;
        Ok(owner.reply().map_err(failed(READING))?.owner != self.owner)
    }

    fn fetch(&mut self, formats: &[String], kind: Kind, most: usize) -> Result<Option<Fetched>> {
        let Some(name) = forms::target_of(kind, formats) else { return Ok(None) };
        let target = self.reader.atom(self.x, name)?;
        let raw = self.convert(target, most)?.ok_or_else(|| {
            Error::backend(format!("{} offers {name} and did not hand it over.", self.title()))
                .remedy("Copy it again, or ask for another type.")
        })?;
        let cut = (raw.bytes.len() as u64) < raw.total;
        let kind_name = self.reader.names(self.x, &[raw.kind])?.pop().unwrap_or_default();
        let part = forms::to_part(kind, &kind_name, raw.bytes, cut);
        Ok(part.map(|part| Fetched { part, bytes: raw.total, cut }))
    }

    fn save(&mut self) -> Result<Option<Vec<Form>>> {
        let Some(offer) = self.offer()? else { return Ok(None) };
        let (mut saved, mut room) = (Vec::new(), LARGEST_SAVED);
        for name in offer.formats {
            let target = self.reader.atom(self.x, &name)?;
            // Not everything that is told is handed over.
            let Some(raw) = self.convert(target, room)? else { continue };
            if (raw.bytes.len() as u64) < raw.total {
                return Err(Error::backend(format!(
                    "What is on the clipboard is too large to be put back afterwards ({name} alone has {} bytes), so it was left alone.",
                    raw.total
                ))
                .expected(format!("at most {} MB in all its formats", LARGEST_SAVED >> 20))
                .remedy("Type with keys (method: keys), or clear the clipboard first."));
            }
            room -= raw.bytes.len();
            let kind = self.reader.names(self.x, &[raw.kind])?.pop().unwrap_or_else(|| name.clone());
            saved.push(Form { target: name, kind, width: raw.width, bytes: raw.bytes.into() });
        }
        Ok(Some(saved))
    }

    /// Asks the owner for one target; nothing when it refuses. At most `most` bytes leave the X server.
    fn convert(&mut self, target: Atom, most: usize) -> Result<Option<Raw>> {
        let window = self.x.generate_id().map_err(failed(READING))?;
        let listen = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        self.x
            .create_window(0, window, self.reader.root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &listen)
            .map_err(failed(READING))?;
        let result = self.convert_into(window, target, most.min(LARGEST));
        match &result {
            Ok(_) => drop(self.x.destroy_window(window).map_err(failed(READING))?),
            Err(_) => {
                self.reader.left.push_back(window);
                if 16 < self.reader.left.len()
                    && let Some(oldest) = self.reader.left.pop_front()
                {
                    drop(self.x.destroy_window(oldest).map_err(failed(READING))?);
                }
            }
        }
        result.map_err(|error| match error.code {
            Code::Timeout => self.silent(&error),
            _ => error,
        })
    }

    fn convert_into(&mut self, window: Xid, target: Atom, most: usize) -> Result<Option<Raw>> {
        let property = self.reader.atoms.DESKHAND_SELECTION;
        let selection = self.reader.atoms.selection(self.selection);
        self.x
            .convert_selection(window, selection, target, property, x11rb::CURRENT_TIME)
            .map_err(failed(READING))?;
        self.x.flush().map_err(failed(READING))?;
        let came = self.wait(|event| match event {
            Event::SelectionNotify(event) if event.requestor == window => Some(event.property),
            _ => None,
        })?;
        if came == 0 {
            return Ok(None);
        }
        let units = u32::try_from(most.div_ceil(4)).unwrap_or(u32::MAX);
        let first = self.property(window, units)?;
        if first.kind == self.reader.atoms.INCR {
            return self.pieces(window, most).map(Some);
        }
        // Read and gone: the owner may take it for the end of the transfer.
        self.x.delete_property(window, property).map_err(failed(READING))?;
        Ok(Some(Raw { bytes: cut_to(first.bytes, most), ..first }))
    }

    /// Takes what comes piece by piece (ICCCM 2.7.2). What is past `most` is let come and not fetched.
    fn pieces(&mut self, window: Xid, most: usize) -> Result<Raw> {
        let property = self.reader.atoms.DESKHAND_SELECTION;
        let mut all = Raw { kind: 0, width: 8, bytes: Vec::new(), total: 0 };
        loop {
            self.x.delete_property(window, property).map_err(failed(READING))?;
            self.x.flush().map_err(failed(READING))?;
            let piece = loop {
                self.wait(|event| match event {
                    Event::PropertyNotify(event)
                        if event.window == window
                            && event.atom == property
                            && event.state == Property::NEW_VALUE =>
                    {
                        Some(())
                    }
                    _ => None,
                })?;
                let room = most - all.bytes.len();
                let piece = self.property(window, u32::try_from(room.div_ceil(4)).unwrap_or(u32::MAX))?;
                // The news may be older than the deletion.
                if piece.kind != 0 {
                    break piece;
                }
            };
            if piece.total == 0 {
                // The last piece is empty, and its deletion is what the owner waits for.
                self.x.delete_property(window, property).map_err(failed(READING))?;
                if all.kind == 0 {
                    (all.kind, all.width) = (piece.kind, piece.width);
                }
                return Ok(all);
            }
            (all.kind, all.width) = (piece.kind, piece.width);
            all.total += piece.total;
            if (LARGEST as u64) < all.total {
                return Err(Error::backend(format!(
                    "{} sends more than {} MB, which is not taken.",
                    self.title(),
                    LARGEST >> 20
                )));
            }
            if all.bytes.is_empty() {
                all.bytes = cut_to(piece.bytes, most);
            } else {
                let room = most - all.bytes.len();
                all.bytes.extend_from_slice(&piece.bytes[..piece.bytes.len().min(room)]);
            }
        }
    }

    fn property(&self, window: Xid, units: u32) -> Result<Raw> {
        let property = self.reader.atoms.DESKHAND_SELECTION;
        let reply = self
            .x
            .get_property(false, window, property, AtomEnum::ANY, 0, units)
            .map_err(failed(READING))?
            .reply()
            .map_err(failed(READING))?;
        let total = reply.value.len() as u64 + u64::from(reply.bytes_after);
        Ok(Raw { kind: reply.type_, width: reply.format, bytes: reply.value, total })
    }

    /// Waits for an event, unless the owner goes away.
    fn wait<T>(&self, mut wanted: impl FnMut(&Event) -> Option<T>) -> Result<T> {
        loop {
            self.call.check(READING)?;
            let event = self.x.wait_for_event().map_err(failed(READING))?;
            if let Some(found) = wanted(&event) {
                return Ok(found);
            }
            if let Event::DestroyNotify(event) = event
                && event.window == self.owner
            {
                return Err(Error::backend(
                    "The application that offered the clipboard went away while it was read.",
                )
                .remedy("Look again: what it offered is gone, or a clipboard manager has it."));
            }
        }
    }

    /// The owner as people know it: the program's name and number.
    fn who(&self) -> Option<Owner> {
        if !self.reader.knows_owners || self.owner == 0 {
            return None;
        }
        let pid = process_of(self.x, self.owner)?;
        if pid == std::process::id() {
            return Some(Owner { name: "Deskhand".to_owned(), pid: None });
        }
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(Owner { name: name.trim().to_owned(), pid: Some(pid) })
    }

    fn title(&self) -> String {
        self.who().map_or_else(|| "The application that owns the clipboard".to_owned(), |who| who.to_string())
    }

    fn silent(&self, error: &Error) -> Error {
        // The call's own time is up: a moment more to name who took it.
        self.x.stream().bind(&self.call.grace());
        Error::new(
            Code::Timeout,
            format!("{} owns the clipboard and did not hand it over in time.", self.title()),
        )
        .os(&error.message)
        .remedy("It hangs or is busy: wait, end it, or put something else on the clipboard (set_clipboard).")
    }
}

/// The process of this machine that made a window.
pub fn process_of(x: &X, window: Xid) -> Option<u32> {
    let client = window & !x.setup().resource_id_mask;
    let spec = res::ClientIdSpec { client, mask: res::ClientIdMask::LOCAL_CLIENT_PID };
    let reply = x.res_query_client_ids(&[spec]).ok()?.reply().ok()?;
    reply.ids.first()?.value.first().copied().filter(|pid| 0 < *pid)
}

fn cut_to(mut bytes: Vec<u8>, most: usize) -> Vec<u8> {
    bytes.truncate(most);
    bytes
}

fn secret(who: Option<String>) -> Error {
    let who = who.map(|who| format!(" by {who}")).unwrap_or_default();
    Error::new(
        Code::PermissionDenied,
        format!("What is on the clipboard is marked as secret{who}, as password managers do: it is not handed out."),
    )
    .remedy("Let the person paste it where it belongs (press_key ctrl+v pastes without reading it).")
}
