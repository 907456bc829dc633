//! Windows through EWMH and ICCCM, with a window manager or without.
//!
//! The window manager decides what becomes of a request: a tiling one ignores most of them, size
//! increments round, a maximized window may stay where it is. Every method here asks and returns; what
//! came of it has to be read back. What the manager declares it cannot do is refused beforehand.
//!
//! `bounds` are the decorated window without the shadow that GTK paints into its own windows
//! (`_GTK_FRAME_EXTENTS`). `content` is the client's X window without that shadow: the origin of GTK 4's
//! window-relative coordinates and of Qt's. (GTK 3 counts from the corner of the shadow, but its screen
//! coordinates are right, so nobody needs the others.)

mod layers;
mod ping;
mod survey;
mod text;
mod watch;

use super::link::{Link, X, failed};
use deskhand_core::watch::Bell;
use deskhand_core::window::{Layer, Window, WindowId, WindowState, WindowWatch, Windows};
use deskhand_core::{Call, Code, Error, Point, Result, Size};
use std::cell::Cell;
use std::time::Duration;
use x11rb::connection::{Connection, RequestConnection};
use x11rb::protocol::res;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _, CreateWindowAux, EventMask,
    InputFocus, PropMode, StackMode, Window as Xid, WindowClass,
};
use x11rb::protocol::{Event, xproto::Timestamp};
use x11rb::wrapper::ConnectionExt as _;

/// The windows of one X display.
pub struct XWindows {
    link: Link<Session>,
    bells: ping::Bells,
}

impl XWindows {
    /// The windows of `display` (the value of DISPLAY). Connects when first used.
    pub fn new(display: &str) -> XWindows {
        XWindows { link: Link::new(display, Session::open), bells: ping::Bells::new(display) }
    }

    fn with<T>(&self, call: &Call, body: impl FnOnce(&X, Xid, &Session) -> Result<T>) -> Result<T> {
        self.link.with(call, |x, screen, session| {
            let root = x.setup().roots[screen].root;
            // Errors of requests without a reply arrive as events: unread, they would pile up.
            while x.poll_for_event().map_err(failed("reading events"))?.is_some() {}
            body(x, root, session)
        })
    }

    /// Runs `body` on a window that is there.
    fn on<T>(&self, call: &Call, id: WindowId, body: impl FnOnce(&Target<'_>) -> Result<T>) -> Result<T> {
        self.with(call, |x, root, session| {
            let known = match xid(id) {
                Some(id) => survey::one(x, root, session, id)?.map(|found| (id, found)),
                None => None,
            };
            let Some((id, (about, described))) = known else { return Err(gone(id)) };
            let manager = match about.managed {
                true => Some(Manager::read(x, root, session)?),
                false => None,
            };
            let listed = about.lists(id);
            body(&Target { x, root, session, id, described, manager, listed })
        })
    }
}

impl Windows for XWindows {
    fn list(&self, call: &Call) -> Result<Vec<Window>> {
        self.with(call, survey::list)
    }

    fn layers(&self, call: &Call) -> Result<Vec<Layer>> {
        self.with(call, layers::read)
    }

    fn at(&self, call: &Call, point: Point) -> Result<Option<Window>> {
        self.with(call, |x, root, session| survey::at(x, root, session, point))
    }

    fn focus(&self, call: &Call, id: WindowId) -> Result<()> {
        self.on(call, id, |target| target.focus())
    }

    fn place(&self, call: &Call, id: WindowId, origin: Option<Point>, size: Option<Size>) -> Result<()> {
        self.on(call, id, |target| target.place(origin, size))
    }

    fn set_state(&self, call: &Call, id: WindowId, state: WindowState) -> Result<()> {
        self.on(call, id, |target| target.set_state(state))
    }

    fn close(&self, call: &Call, id: WindowId) -> Result<()> {
        self.on(call, id, |target| target.close())
    }

    fn settle(&self, call: &Call, id: WindowId, patience: Duration) -> Result<bool> {
        self.bells.ring(call, id, patience)
    }

    fn watch(&self, call: &Call, bell: &Bell) -> Result<Box<dyn WindowWatch>> {
        Ok(Box::new(watch::XWindowWatch::open(call, self.link.display(), bell)?))
    }
}

/// A window that something is asked of.
struct Target<'x> {
    x: &'x X,
    root: Xid,
    session: &'x Session,
    id: Xid,
    described: survey::Described,
    manager: Option<Manager>,
    /// Whether the window manager takes care of it: menus and tooltips are nobody's but their program's.
    listed: bool,
}

/// Our side of `_NET_…` requests: pagers and the like are obeyed where applications are held back.
const AS_PAGER: u32 = 2;
/// The coordinates of a move mean the corner of the frame. Static gravity would mean the client itself, but
/// managers differ in whether the border that a client once asked for (xterm's) counts.
const NORTH_WEST_GRAVITY: u32 = 1;

impl Target<'_> {
    /// A minimized window is restored by it, and the workspace of a hidden one is switched to.
    fn focus(&self) -> Result<()> {
        let doing = "asking for the focus";
        let time = self.session.now(self.x)?;
        if let Some(manager) = &self.manager
            && self.listed
        {
            let atom = self.session.atoms._NET_ACTIVE_WINDOW;
            manager.needs(atom, "activate a window")?;
            // Openbox does not follow a window to its workspace for a request: it only marks it urgent.
            let switch = self.session.atoms._NET_CURRENT_DESKTOP;
            if let Some(workspace) = self.described.elsewhere
                && manager.supports(switch)
            {
                self.ask(self.root, switch, [workspace, time, 0, 0, 0], doing)?;
            }
            return self.ask(self.id, atom, [AS_PAGER, time, 0, 0, 0], doing);
        }
        let above = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
        self.x.map_window(self.id).map_err(failed(doing))?.ignore_error();
        self.x.configure_window(self.id, &above).map_err(failed(doing))?.ignore_error();
        if self.protocols()?.contains(&self.session.atoms.WM_TAKE_FOCUS) {
            let data = [self.session.atoms.WM_TAKE_FOCUS, time, 0, 0, 0];
            self.tell(data, doing)?;
        }
        self.x
            .set_input_focus(InputFocus::PARENT, self.id, time)
            .map_err(failed(doing))?
            .check()
            .map_err(failed(doing))
    }

    /// Places the decorated window. The manager decides what that means for a maximized one: some move
    /// it and keep it maximized, some refuse.
    fn place(&self, origin: Option<Point>, size: Option<Size>) -> Result<()> {
        let doing = "asking for a place and a size";
        let (bounds, frame) = (self.described.window.bounds, self.described.frame);
        let corner = match origin {
            Some(to) => Some((along(to.x, frame.x, bounds.x)?, along(to.y, frame.y, bounds.y)?)),
            None => None,
        };
        let inner = size.map(|size| self.inner(size)).transpose()?;
        if let Some(manager) = &self.manager
            && self.listed
            && manager.supports(self.session.atoms._NET_MOVERESIZE_WINDOW)
        {
            let mut data = [NORTH_WEST_GRAVITY | AS_PAGER << 12, 0, 0, 0, 0];
            if let Some((left, top)) = corner {
                data[0] |= 0b0011 << 8;
                (data[1], data[2]) = (left.cast_unsigned(), top.cast_unsigned());
            }
            if let Some(inner) = inner {
                data[0] |= 0b1100 << 8;
                (data[3], data[4]) = (inner.width, inner.height);
            }
            return self.ask(self.id, self.session.atoms._NET_MOVERESIZE_WINDOW, data, doing);
        }
        // Without EWMH the request goes to the server, or to an old manager, and means the frame.
        let mut wish = ConfigureWindowAux::new();
        if let Some((left, top)) = corner {
            wish = wish.x(left).y(top);
        }
        if let Some(inner) = inner {
            wish = wish.width(inner.width).height(inner.height);
        }
        self.x.configure_window(self.id, &wish).map_err(failed(doing))?.check().map_err(failed(doing))
    }

    /// The size of the X window whose decorated bounds have `size`.
    fn inner(&self, size: Size) -> Result<Size> {
        let (bounds, client) = (self.described.window.bounds, self.described.client);
        let edge = |wanted: u32, decorated: u32, bare: u32| {
            let inner = i64::from(wanted) - (i64::from(decorated) - i64::from(bare));
            u32::try_from(inner).ok().filter(|inner| (1..=u32::from(u16::MAX >> 1)).contains(inner))
        };
        let width = edge(size.width, bounds.width, client.width);
        let height = edge(size.height, bounds.height, client.height);
        let (Some(width), Some(height)) = (width, height) else {
            return Err(Error::argument(format!(
                "A window cannot be {}x{} pixels large, decorations included.",
                size.width, size.height
            ))
            .expected(format!(
                "more than its decorations take ({}x{}), and at most 32767 pixels a side",
                bounds.width.saturating_sub(client.width),
                bounds.height.saturating_sub(client.height)
            )));
        };
        Ok(Size { width, height })
    }

    /// `Normal` restores: a minimized window to what it was before, another one to its own size.
    fn set_state(&self, state: WindowState) -> Result<()> {
        let minimized = self.described.window.state == WindowState::Minimized;
        let flags = self.described.flags;
        let manager = self.manager()?;
        let atoms = &self.session.atoms;
        match state {
            WindowState::Normal if minimized => self.deiconify(),
            WindowState::Normal => {
                if flags.fullscreen {
                    self.flag(manager, false, &[atoms._NET_WM_STATE_FULLSCREEN], "leave full screen")?;
                }
                // Some managers (openbox) do not tell that a fullscreen window is maximized beneath.
                let beneath =
                    flags.fullscreen && atoms.maximized().iter().all(|atom| manager.supports(*atom));
                if flags.maximized || beneath {
                    self.flag(manager, false, &atoms.maximized(), "un-maximize a window")?;
                }
                Ok(())
            }
            WindowState::Maximized => {
                if flags.fullscreen {
                    self.flag(manager, false, &[atoms._NET_WM_STATE_FULLSCREEN], "leave full screen")?;
                }
                self.flag(manager, true, &atoms.maximized(), "maximize a window")?;
                if minimized { self.deiconify() } else { Ok(()) }
            }
            WindowState::Fullscreen => {
                self.flag(manager, true, &[atoms._NET_WM_STATE_FULLSCREEN], "make a window fullscreen")?;
                if minimized { self.deiconify() } else { Ok(()) }
            }
            WindowState::Minimized => {
                self.ask(self.id, atoms.WM_CHANGE_STATE, [3, 0, 0, 0, 0], "asking to minimize")
            }
            WindowState::Hidden => Err(Error::argument("A window cannot be asked to be hidden.")
                .expected("normal, minimized, maximized or fullscreen")
                .remedy("Minimize it, or close it.")),
        }
    }

    fn close(&self) -> Result<()> {
        let doing = "asking a window to close";
        let atoms = &self.session.atoms;
        if let Some(manager) = &self.manager
            && self.listed
            && manager.supports(atoms._NET_CLOSE_WINDOW)
        {
            let time = self.session.now(self.x)?;
            return self.ask(self.id, atoms._NET_CLOSE_WINDOW, [time, AS_PAGER, 0, 0, 0], doing);
        }
        if self.protocols()?.contains(&atoms.WM_DELETE_WINDOW) {
            let time = self.session.now(self.x)?;
            return self.tell([atoms.WM_DELETE_WINDOW, time, 0, 0, 0], doing);
        }
        Err(Error::unsupported(format!(
            "The window {:?} cannot be asked to close: it does not take part in WM_DELETE_WINDOW.",
            self.described.window.title
        ))
        .remedy("Close it by its own menu or keys, or end its application with quit_app."))
    }

    /// ICCCM: mapping a window is how it is told to leave the iconic state.
    fn deiconify(&self) -> Result<()> {
        let doing = "restoring a window";
        self.x.map_window(self.id).map_err(failed(doing))?.check().map_err(failed(doing))
    }

    fn flag(&self, manager: &Manager, on: bool, which: &[Atom], what: &str) -> Result<()> {
        for atom in which {
            manager.needs(*atom, what)?;
        }
        let second = which.get(1).copied().unwrap_or_default();
        let data = [u32::from(on), which[0], second, AS_PAGER, 0];
        self.ask(self.id, self.session.atoms._NET_WM_STATE, data, "asking for a state of a window")
    }

    fn manager(&self) -> Result<&Manager> {
        match &self.manager {
            Some(manager) if self.listed => Ok(manager),
            Some(_) => Err(Error::unsupported(format!(
                "The window {:?} is not under the window manager: it is a menu, a tooltip or the like.",
                self.described.window.title
            ))
            .remedy("Pass a window of list_windows.")),
            None => {
                Err(Error::backend("No window manager runs on this display, so windows have no such state.")
                    .remedy("Start a window manager (openbox, say), or start Deskhand with --virtual."))
            }
        }
    }

    fn protocols(&self) -> Result<Vec<Atom>> {
        protocols(self.x, self.session.atoms.WM_PROTOCOLS, self.id)?
            .ok_or_else(|| gone(self.described.window.id))
    }

    /// Sends a request to the window manager, by way of the root.
    fn ask(&self, window: Xid, kind: Atom, data: [u32; 5], doing: &str) -> Result<()> {
        let event = ClientMessageEvent::new(32, window, kind, data);
        let mask = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
        let sent = self.x.send_event(false, self.root, mask, event);
        sent.map_err(failed(doing))?.check().map_err(failed(doing))
    }

    /// Sends a message of WM_PROTOCOLS to the window itself.
    fn tell(&self, data: [u32; 5], doing: &str) -> Result<()> {
        let event = ClientMessageEvent::new(32, self.id, self.session.atoms.WM_PROTOCOLS, data);
        let sent = self.x.send_event(false, self.id, EventMask::NO_EVENT, event);
        sent.map_err(failed(doing))?.check().map_err(failed(doing))
    }
}

/// Moves the point that the request names as far as the corner of the bounds has to go.
fn along(wanted: i32, named: i32, corner: i32) -> Result<i32> {
    let to = i64::from(wanted) + i64::from(named) - i64::from(corner);
    i16::try_from(to).map(i32::from).map_err(|_| {
        Error::new(Code::InvalidCoordinates, format!("No window can be placed at {wanted}."))
            .expected("a position between -32768 and 32767")
    })
}

/// The EWMH window manager, alive.
struct Manager {
    name: String,
    supported: Vec<Atom>,
}

impl Manager {
    fn read(x: &X, root: Xid, session: &Session) -> Result<Manager> {
        let doing = "asking what the window manager can do";
        let atoms = &session.atoms;
        let ask = |id, atom| survey::property(x, id, atom, 4096).map_err(failed(doing));
        let supported = ask(root, atoms._NET_SUPPORTED)?;
        let check = ask(root, atoms._NET_SUPPORTING_WM_CHECK)?;
        let supported = survey::values(&supported.reply().map_err(failed(doing))?);
        let check = survey::values(&check.reply().map_err(failed(doing))?);
        let name = match check.first() {
            Some(check) => survey::present(ask(*check, atoms._NET_WM_NAME)?.reply(), doing)?,
            None => None,
        };
        let name = name.map_or_else(String::new, |reply| text::decode(&reply.value));
        Ok(Manager { name, supported })
    }

    fn supports(&self, atom: Atom) -> bool {
        self.supported.contains(&atom)
    }

    fn needs(&self, atom: Atom, what: &str) -> Result<()> {
        if self.supports(atom) {
            return Ok(());
        }
        let name = if self.name.is_empty() { "The window manager" } else { &self.name };
        Err(Error::unsupported(format!("{name} does not declare that it can {what}."))
            .remedy("Use the window manager's own keys, or another window manager."))
    }
}

/// What lasts as long as the connection.
struct Session {
    atoms: Atoms,
    /// An unmapped window of ours, whose property changes tell the server's time.
    clock: Xid,
    /// Whether the server tells which process owns a window.
    knows_owners: bool,
    /// A window on the root and the client that was found in it last. Never believed, only asked about first.
    framed: Cell<Option<(Xid, Xid)>>,
}

impl Session {
    fn open(_: &Call, x: &X, screen: usize) -> Result<Session> {
        let doing = "preparing to look at windows";
        let clock = x.generate_id().map_err(failed(doing))?;
        let aux = CreateWindowAux::new().override_redirect(1).event_mask(EventMask::PROPERTY_CHANGE);
        let root = x.setup().roots[screen].root;
        x.create_window(0, clock, root, -1, -1, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &aux)
            .map_err(failed(doing))?
            .ignore_error();
        x.prefetch_extension_information(res::X11_EXTENSION_NAME).map_err(failed(doing))?;
        let atoms = Atoms::new(x).map_err(failed(doing))?.reply().map_err(failed(doing))?;
        let knows_owners = x.extension_information(res::X11_EXTENSION_NAME).map_err(failed(doing))?.is_some();
        Ok(Session { atoms, clock, knows_owners, framed: Cell::default() })
    }

    /// The server's time: managers hold back requests that are older than the last thing the person did.
    fn now(&self, x: &X) -> Result<Timestamp> {
        let doing = "asking the X server for its time";
        x.change_property8(PropMode::APPEND, self.clock, AtomEnum::WM_NAME, AtomEnum::STRING, &[])
            .map_err(failed(doing))?
            .ignore_error();
        x.flush().map_err(failed(doing))?;
        loop {
            if let Event::PropertyNotify(event) = x.wait_for_event().map_err(failed(doing))?
                && event.window == self.clock
            {
                return Ok(event.time);
            }
        }
    }
}

/// What a window takes part in; `None` when it is gone.
fn protocols(x: &X, wm_protocols: Atom, id: Xid) -> Result<Option<Vec<Atom>>> {
    let doing = "asking what a window takes part in";
    let reply = survey::property(x, id, wm_protocols, 64).map_err(failed(doing))?.reply();
    Ok(survey::present(reply, doing)?.map(|reply| survey::values(&reply)))
}

fn xid(id: WindowId) -> Option<Xid> {
    Xid::try_from(id.0).ok().filter(|id| *id != 0)
}

fn gone(id: WindowId) -> Error {
    Error::new(Code::WindowNotFound, format!("No window has the number {id}."))
        .remedy("It was closed, or never was: look at list_windows.")
}

x11rb::atom_manager! {
    /// The names that windows and managers speak with, as numbers of this server.
    Atoms: AtomsCookie {
        WM_CHANGE_STATE,
        WM_DELETE_WINDOW,
        WM_PROTOCOLS,
        WM_STATE,
        WM_TAKE_FOCUS,
        _GTK_FRAME_EXTENTS,
        _NET_ACTIVE_WINDOW,
        _NET_CLIENT_LIST,
        _NET_CLIENT_LIST_STACKING,
        _NET_CLOSE_WINDOW,
        _NET_CURRENT_DESKTOP,
        _NET_FRAME_EXTENTS,
        _NET_MOVERESIZE_WINDOW,
        _NET_SUPPORTED,
        _NET_SUPPORTING_WM_CHECK,
        _NET_WM_DESKTOP,
        _NET_WM_NAME,
        _NET_WM_PID,
        _NET_WM_STATE,
        _NET_WM_STATE_FULLSCREEN,
        _NET_WM_STATE_HIDDEN,
        _NET_WM_STATE_MAXIMIZED_HORZ,
        _NET_WM_STATE_MAXIMIZED_VERT,
        _NET_WM_STATE_SHADED,
        _NET_WM_OPAQUE_REGION,
        _NET_WM_WINDOW_OPACITY,
        _NET_WM_WINDOW_TYPE,
        _NET_WM_WINDOW_TYPE_COMBO,
        _NET_WM_WINDOW_TYPE_DESKTOP,
        _NET_WM_WINDOW_TYPE_DIALOG,
        _NET_WM_WINDOW_TYPE_DND,
        _NET_WM_WINDOW_TYPE_DOCK,
        _NET_WM_WINDOW_TYPE_DROPDOWN_MENU,
        _NET_WM_WINDOW_TYPE_MENU,
        _NET_WM_WINDOW_TYPE_NOTIFICATION,
        _NET_WM_WINDOW_TYPE_POPUP_MENU,
        _NET_WM_WINDOW_TYPE_SPLASH,
        _NET_WM_WINDOW_TYPE_TOOLTIP,
        _NET_WM_WINDOW_TYPE_UTILITY,
    }
}

impl Atoms {
    fn maximized(&self) -> [Atom; 2] {
        [self._NET_WM_STATE_MAXIMIZED_VERT, self._NET_WM_STATE_MAXIMIZED_HORZ]
    }

    /// The types of windows that come and go with what another one does.
    fn passing(&self) -> [Atom; 10] {
        [
            self._NET_WM_WINDOW_TYPE_COMBO,
            self._NET_WM_WINDOW_TYPE_DIALOG,
            self._NET_WM_WINDOW_TYPE_DND,
            self._NET_WM_WINDOW_TYPE_DROPDOWN_MENU,
            self._NET_WM_WINDOW_TYPE_MENU,
            self._NET_WM_WINDOW_TYPE_NOTIFICATION,
            self._NET_WM_WINDOW_TYPE_POPUP_MENU,
            self._NET_WM_WINDOW_TYPE_SPLASH,
            self._NET_WM_WINDOW_TYPE_TOOLTIP,
            self._NET_WM_WINDOW_TYPE_UTILITY,
        ]
    }
}
