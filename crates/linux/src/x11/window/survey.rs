//! Reads windows: who they are, where they lie, how they are shown.
//!
//! All questions about all windows go out before the first answer is read, so that a list costs two
//! round trips and not three hundred. A window that vanishes in between is left out.

use super::text;
use super::{Atoms, Session};
use crate::x11::link::{X, failed};
use deskhand_core::window::{Window, WindowId, WindowState};
use deskhand_core::{Point, Rect, Result};
use std::collections::HashMap;
use x11rb::connection::Connection;
use x11rb::cookie::Cookie;
use x11rb::errors::{ConnectionError, ReplyError};
use x11rb::protocol::res::{self, ConnectionExt as _};
use x11rb::protocol::shape::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, GetGeometryReply, GetInputFocusReply, GetPropertyReply,
    GetWindowAttributesReply, MapState, QueryTreeReply, TranslateCoordinatesReply, Window as Xid,
    WindowClass,
};
use x11rb::x11_utils::TryParse;

/// What the root window tells about the desktop.
pub(super) struct Root {
    /// Whether a window manager with EWMH is there and alive.
    pub managed: bool,
    /// Its clients or, without one, the windows that take part as if they were; topmost first.
    clients: Vec<Xid>,
    active: Option<Xid>,
    focus: Xid,
    workspace: Option<u32>,
}

/// A window with what only this provider needs to know.
pub(super) struct Described {
    pub window: Window,
    /// The X window itself in root coordinates: with the shadow that a toolkit paints into it.
    pub client: Rect,
    /// The corner that the window manager, or the server, puts it by.
    pub frame: Point,
    /// Whether this is furniture: the desktop or a panel.
    furniture: bool,
    /// The workspace that it is on, where that is not the one that shows.
    pub elsewhere: Option<u32>,
    /// `_NET_WM_STATE_FULLSCREEN` and both halves of maximized, also while it is minimized.
    pub flags: Flags,
}

/// What `_NET_WM_STATE` says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    pub fullscreen: bool,
    pub maximized: bool,
    hidden: bool,
    shaded: bool,
}

/// Every window that belongs into the list, topmost first.
pub(super) fn list(x: &X, root: Xid, session: &Session) -> Result<Vec<Window>> {
    let (about, asked) = Root::read(x, root, session, None)?;
    let described = finish(x, root, session, &about, asked)?;
    let focused = about.focused(x, &described)?;
    Ok(described
        .into_iter()
        .filter(|described| !described.furniture)
        .map(|described| Window { focused: Some(described.window.id) == focused, ..described.window })
        .collect())
}

/// One window; `None` when it is gone.
pub(super) fn one(x: &X, root: Xid, session: &Session, id: Xid) -> Result<Option<(Root, Described)>> {
    let (about, asked) = Root::read(x, root, session, Some(id))?;
    let Some(mut described) = finish(x, root, session, &about, asked)?.pop() else { return Ok(None) };
    described.window.focused = about.focused(x, std::slice::from_ref(&described))?.is_some();
    Ok(Some((about, described)))
}

/// These windows, as far as they are still there.
pub(super) fn these(x: &X, root: Xid, session: &Session, ids: &[Xid]) -> Result<Vec<Described>> {
    let (about, _) = Root::read(x, root, session, Some(root))?;
    let asked = AskedAll::send(x, root, session, ids)?;
    finish(x, root, session, &about, asked)
}

/// The topmost window that shows at a point. Two round trips as a rule: the client that was in the frame there
/// last is asked about at once, together with whether it still is.
pub(super) fn at(x: &X, root: Xid, session: &Session, point: Point) -> Result<Option<Window>> {
    let doing = "asking what lies at a point";
    // A window may go between the question and the next: then what lay beneath it is the answer.
    for _ in 0..4 {
        let about = AskedRoot::send(x, root, session)?;
        let Some(top) = child_at(x, root, point)? else { return Ok(None) };
        let guess = session.framed.get().filter(|(frame, _)| *frame == top).map_or(top, |(_, client)| client);
        let attributes = x.get_window_attributes(top).map_err(failed(doing))?;
        let state = property(x, guess, session.atoms.WM_STATE, 2).map_err(failed(doing))?;
        let tree = x.query_tree(guess).map_err(failed(doing))?;
        let (about, asked) = about.read(x, root, session, Some(guess))?;
        let shows = present(attributes.reply(), doing)?.is_some_and(|a| a.class != WindowClass::INPUT_ONLY);
        let is_client = present(state.reply(), doing)?.is_some_and(|state| state.type_ != 0);
        let is_there = present(tree.reply(), doing)?.is_some_and(|tree| guess == top || tree.parent == top);
        let described = finish(x, root, session, &about, asked)?.pop();
        if let (true, true, true, Some(mut described)) = (shows, is_client, is_there, described) {
            described.window.focused = about.focused(x, std::slice::from_ref(&described))?.is_some();
            return Ok(Some(described.window));
        }
        let top = if shows { Some(top) } else { walk(x, root, point)? };
        let Some(top) = top else { return Ok(None) };
        let client = client_in(x, session, &[top])?.pop().flatten().unwrap_or(top);
        session.framed.set(Some((top, client)));
        if let Some((_, described)) = one(x, root, session, client)? {
            return Ok(Some(described.window));
        }
    }
    Ok(None)
}

/// The questions about the root, sent and not yet answered.
struct AskedRoot<'x> {
    stacking: Asked<'x, GetPropertyReply>,
    mapping: Asked<'x, GetPropertyReply>,
    active: Asked<'x, GetPropertyReply>,
    check: Asked<'x, GetPropertyReply>,
    workspace: Asked<'x, GetPropertyReply>,
    focus: Asked<'x, GetInputFocusReply>,
    tree: Asked<'x, QueryTreeReply>,
}

impl<'x> AskedRoot<'x> {
    fn send(x: &'x X, root: Xid, session: &Session) -> Result<AskedRoot<'x>> {
        let doing = "asking for the list of windows";
        let atoms = &session.atoms;
        let ask = |atom, length| property(x, root, atom, length).map_err(failed(doing));
        Ok(AskedRoot {
            stacking: ask(atoms._NET_CLIENT_LIST_STACKING, MANY)?,
            mapping: ask(atoms._NET_CLIENT_LIST, MANY)?,
            active: ask(atoms._NET_ACTIVE_WINDOW, 1)?,
            check: ask(atoms._NET_SUPPORTING_WM_CHECK, 1)?,
            workspace: ask(atoms._NET_CURRENT_DESKTOP, 1)?,
            focus: x.get_input_focus().map_err(failed(doing))?,
            tree: x.query_tree(root).map_err(failed(doing))?,
        })
    }

    /// Reads the answers, and already asks about each client, or about `only` one window.
    fn read(self, x: &'x X, root: Xid, session: &Session, only: Option<Xid>) -> Result<(Root, AskedAll<'x>)> {
        let doing = "asking for the list of windows";
        let atoms = &session.atoms;
        let numbers = |cookie: Asked<'_, GetPropertyReply>| cookie.reply().map(|reply| values(&reply));
        let stacking = numbers(self.stacking).map_err(failed(doing))?;
        let mapping = numbers(self.mapping).map_err(failed(doing))?;
        let active = numbers(self.active).map_err(failed(doing))?.first().copied();
        let check = numbers(self.check).map_err(failed(doing))?.first().copied();
        let workspace = numbers(self.workspace).map_err(failed(doing))?.first().copied();
        let focus = self.focus.reply().map_err(failed(doing))?;
        let tree = self.tree.reply().map_err(failed(doing))?;

        let answer = check.map(|check| (check, property(x, check, atoms._NET_SUPPORTING_WM_CHECK, 1)));
        let stacked = !stacking.is_empty();
        let mut clients = if stacked { stacking } else { mapping };
        clients.reverse();
        let mut asked = match &only {
            Some(id) => AskedAll::send(x, root, session, std::slice::from_ref(id))?,
            None => AskedAll::send(x, root, session, &clients)?,
        };
        let managed = match answer {
            None => false,
            Some((check, cookie)) => {
                let reply = present(cookie.map_err(failed(doing))?.reply(), doing)?;
                reply.is_some_and(|reply| values(&reply).first() == Some(&check))
            }
        };
        if !managed {
            // What a dead manager left on the root is as stale as its check window.
            clients = unmanaged(x, session, &tree.children)?;
            if only.is_none() {
                asked = AskedAll::send(x, root, session, &clients)?;
            }
        } else if !stacked {
            asked.probes.sort_by_key(|probe| {
                std::cmp::Reverse(tree.children.iter().position(|child| *child == probe.id))
            });
        }
        let active = if managed { active } else { None };
        let workspace = if managed { workspace } else { None };
        Ok((Root { managed, clients, active, focus: focus.focus, workspace }, asked))
    }
}

impl Root {
    /// Reads the root and already asks about each client, or about `only` one window.
    fn read<'x>(x: &'x X, root: Xid, session: &Session, only: Option<Xid>) -> Result<(Root, AskedAll<'x>)> {
        AskedRoot::send(x, root, session)?.read(x, root, session, only)
    }

    /// Which of these has the keyboard: what the manager says, else the one that holds the input focus.
    fn focused(&self, x: &X, among: &[Described]) -> Result<Option<WindowId>> {
        let known = |id: Xid| among.iter().map(|one| one.window.id).find(|known| known.0 == u64::from(id));
        if let Some(active) = self.active {
            return Ok(known(active));
        }
        let doing = "asking which window has the input focus";
        let mut at = self.focus;
        // 0 and 1 are no window: nobody, and whatever lies under the pointer.
        for _ in 0..16 {
            if at <= 1 {
                return Ok(None);
            }
            if let Some(id) = known(at) {
                return Ok(Some(id));
            }
            let tree = x.query_tree(at).map_err(failed(doing))?.reply();
            at = present(tree, doing)?.map_or(0, |tree| tree.parent);
        }
        Ok(None)
    }

    /// Whether the manager, or the lack of one, counts this window among the clients.
    pub fn lists(&self, id: Xid) -> bool {
        self.clients.contains(&id)
    }
}

/// How many 32-bit values of a list are read: far more than anybody has windows.
const MANY: u32 = 16 * 1024;
/// How many 32-bit units of a title are read.
const TITLE: u32 = 1024;

type Asked<'x, R> = Cookie<'x, X, R>;

/// The questions about one window, sent and not yet answered.
struct Probe<'x> {
    id: Xid,
    attributes: Asked<'x, GetWindowAttributesReply>,
    geometry: Asked<'x, GetGeometryReply>,
    position: Asked<'x, TranslateCoordinatesReply>,
    name: Asked<'x, GetPropertyReply>,
    class: Asked<'x, GetPropertyReply>,
    pid: Asked<'x, GetPropertyReply>,
    extents: Asked<'x, GetPropertyReply>,
    shadow: Asked<'x, GetPropertyReply>,
    state: Asked<'x, GetPropertyReply>,
    old_state: Asked<'x, GetPropertyReply>,
    workspace: Asked<'x, GetPropertyReply>,
    kind: Asked<'x, GetPropertyReply>,
    transient_for: Asked<'x, GetPropertyReply>,
}

/// The questions about several windows.
struct AskedAll<'x> {
    probes: Vec<Probe<'x>>,
    owners: Owners<'x>,
}

impl<'x> AskedAll<'x> {
    fn send(x: &'x X, root: Xid, session: &Session, ids: &[Xid]) -> Result<AskedAll<'x>> {
        let probe = |id: &Xid| Probe::send(x, root, session, *id).map_err(failed("asking about the windows"));
        let probes = ids.iter().map(probe).collect::<Result<_>>()?;
        Ok(AskedAll { probes, owners: Owners::ask(x, session, ids)? })
    }
}

impl<'x> Probe<'x> {
    fn send(x: &'x X, root: Xid, session: &Session, id: Xid) -> Result<Probe<'x>, ConnectionError> {
        let atoms = &session.atoms;
        let ask = |atom: Atom, length| property(x, id, atom, length);
        Ok(Probe {
            id,
            attributes: x.get_window_attributes(id)?,
            geometry: x.get_geometry(id)?,
            position: x.translate_coordinates(id, root, 0, 0)?,
            name: ask(atoms._NET_WM_NAME, TITLE)?,
            class: ask(AtomEnum::WM_CLASS.into(), TITLE)?,
            pid: ask(atoms._NET_WM_PID, 1)?,
            extents: ask(atoms._NET_FRAME_EXTENTS, 4)?,
            shadow: ask(atoms._GTK_FRAME_EXTENTS, 4)?,
            state: ask(atoms._NET_WM_STATE, 64)?,
            old_state: ask(atoms.WM_STATE, 2)?,
            workspace: ask(atoms._NET_WM_DESKTOP, 1)?,
            kind: ask(atoms._NET_WM_WINDOW_TYPE, 16)?,
            transient_for: ask(AtomEnum::WM_TRANSIENT_FOR.into(), 1)?,
        })
    }

    /// Reads the answers; `None` when the window has gone meanwhile.
    fn read(self, atoms: &Atoms, about: &Root) -> Result<Option<Read>> {
        let doing = "reading about the windows";
        let attributes = present(self.attributes.reply(), doing)?;
        let geometry = present(self.geometry.reply(), doing)?;
        let position = present(self.position.reply(), doing)?;
        let read = |cookie: Asked<'_, GetPropertyReply>| present(cookie.reply(), doing);
        let title = read(self.name)?.map_or_else(Vec::new, |reply| reply.value);
        let class = read(self.class)?.map_or_else(Vec::new, |reply| reply.value);
        let list = |cookie| Ok(read(cookie)?.map_or_else(Vec::new, |reply| values(&reply)));
        let claimed = list(self.pid)?.first().copied();
        let extents = Margins::read(&list(self.extents)?);
        let shadow = Margins::read(&list(self.shadow)?);
        let flags = Flags::read(atoms, &list(self.state)?);
        let iconic = list(self.old_state)?.first() == Some(&ICONIC);
        let workspace = list(self.workspace)?.first().copied();
        let kinds = list(self.kind)?;
        let transient_for = list(self.transient_for)?.first().copied();

        let (Some(attributes), Some(geometry), Some(position)) = (attributes, geometry, position) else {
            return Ok(None);
        };
        let elsewhere = match (workspace, about.workspace) {
            (Some(own), Some(current)) => Some(own).filter(|own| *own != ALL_WORKSPACES && *own != current),
            (None, _) | (_, None) => None,
        };
        let viewable = attributes.map_state == MapState::VIEWABLE;
        let kind = kinds.first().copied().unwrap_or_default();
        let client = Rect::new(
            i32::from(position.dst_x),
            i32::from(position.dst_y),
            u32::from(geometry.width),
            u32::from(geometry.height),
        );
        Ok(Some(Read {
            window: Window {
                id: WindowId(u64::from(self.id)),
                title: text::decode(&title),
                application: application(&class),
                pid: claimed,
                bounds: client,
                content: client,
                state: match about.managed {
                    true => flags.state(iconic, elsewhere.is_some(), viewable),
                    false if viewable => WindowState::Normal,
                    false => WindowState::Hidden,
                },
                focused: false,
                transient: attributes.override_redirect
                    || transient_for.is_some_and(|other| other != 0)
                    || kinds.first().is_some_and(|kind| atoms.passing().contains(kind)),
                elevated: false,
            },
            client,
            id: self.id,
            extents: extents.filter(|_| about.managed),
            shadow: shadow.unwrap_or_default(),
            elsewhere,
            furniture: kind == atoms._NET_WM_WINDOW_TYPE_DESKTOP || kind == atoms._NET_WM_WINDOW_TYPE_DOCK,
            flags,
        }))
    }
}

const ICONIC: u32 = 3;
const ALL_WORKSPACES: u32 = u32::MAX;

/// The answers about one window; its decorations are not yet known.
struct Read {
    window: Window,
    client: Rect,
    id: Xid,
    extents: Option<Margins>,
    shadow: Margins,
    elsewhere: Option<u32>,
    furniture: bool,
    flags: Flags,
}

/// Reads the probes, and asks for what only some windows need: old titles, and frames whose manager does not
/// tell the width of its decorations.
fn finish(
    x: &X,
    root: Xid,
    session: &Session,
    about: &Root,
    AskedAll { probes, owners }: AskedAll<'_>,
) -> Result<Vec<Described>> {
    let mut reads = Vec::with_capacity(probes.len());
    for probe in probes {
        reads.extend(probe.read(&session.atoms, about)?);
    }
    let owners = owners.read()?;
    for read in &mut reads {
        read.window.pid = process(read.window.pid, owners.get(&(read.id & !owners_mask(x))).copied());
        read.window.elevated = read.window.pid.is_some_and(is_elevated);
    }
    old_titles(x, &mut reads)?;
    let frames = frames(x, root, &reads)?;
    Ok(reads.into_iter().zip(frames).map(|(read, frame)| read.framed(frame)).collect())
}

/// Titles of windows without `_NET_WM_NAME`.
fn old_titles(x: &X, reads: &mut [Read]) -> Result<()> {
    let doing = "asking for old titles";
    let mut asked = Vec::new();
    for (n, read) in reads.iter().enumerate().filter(|(_, read)| read.window.title.is_empty()) {
        asked.push((n, property(x, read.id, AtomEnum::WM_NAME.into(), TITLE).map_err(failed(doing))?));
    }
    for (n, cookie) in asked {
        if let Some(reply) = present(cookie.reply(), doing)? {
            reads[n].window.title = text::decode(&reply.value);
        }
    }
    Ok(())
}

/// For each window whose decorations nobody tells, the window on the root that it lies in: its frame, or
/// itself.
fn frames(x: &X, root: Xid, reads: &[Read]) -> Result<Vec<Option<Rect>>> {
    let doing = "asking about the frames of the windows";
    let mut found: Vec<Option<Rect>> = vec![None; reads.len()];
    let mut level: Vec<(usize, Xid)> = reads
        .iter()
        .enumerate()
        .filter(|(_, read)| read.extents.is_none())
        .map(|(n, read)| (n, read.id))
        .collect();
    // Frames lie a few windows deep at most; the bound is against a tree that changes under our feet.
    for _ in 0..8 {
        let mut asked = Vec::with_capacity(level.len());
        for (n, id) in level {
            let tree = x.query_tree(id).map_err(failed(doing))?;
            asked.push((n, tree, x.get_geometry(id).map_err(failed(doing))?));
        }
        level = Vec::new();
        for (n, tree, geometry) in asked {
            let (tree, geometry) = (present(tree.reply(), doing)?, present(geometry.reply(), doing)?);
            match (tree, geometry) {
                (Some(tree), Some(geometry)) if tree.parent == root => found[n] = Some(outer(&geometry)),
                (Some(tree), Some(_)) => level.push((n, tree.parent)),
                (None, _) | (_, None) => {}
            }
        }
        if level.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// Which process holds the connection that made a window, by the part of the ids that the connection owns.
struct Owners<'x>(Option<Asked<'x, res::QueryClientIdsReply>>);

impl<'x> Owners<'x> {
    /// One request for all of them.
    fn ask(x: &'x X, session: &Session, ids: &[Xid]) -> Result<Owners<'x>> {
        if !session.knows_owners {
            return Ok(Owners(None));
        }
        let mut clients: Vec<Xid> = ids.iter().map(|id| id & !owners_mask(x)).collect();
        clients.sort_unstable();
        clients.dedup();
        let mask = res::ClientIdMask::LOCAL_CLIENT_PID;
        let specs: Vec<_> = clients.into_iter().map(|client| res::ClientIdSpec { client, mask }).collect();
        let cookie = x.res_query_client_ids(&specs).map_err(failed("asking who owns the windows"))?;
        Ok(Owners(Some(cookie)))
    }

    fn read(self) -> Result<HashMap<Xid, u32>> {
        let Some(cookie) = self.0 else { return Ok(HashMap::new()) };
        let reply = present(cookie.reply(), "reading who owns the windows")?;
        let ids = reply.into_iter().flat_map(|reply| reply.ids);
        let pid = |id: res::ClientIdValue| Some((id.spec.client, *id.value.first()?));
        Ok(ids.filter_map(pid).filter(|(_, pid)| 0 < *pid).collect())
    }
}

/// The part of an id that a connection gives out itself.
fn owners_mask(x: &X) -> u32 {
    x.setup().resource_id_mask
}

impl Read {
    fn framed(self, frame: Option<Rect>) -> Described {
        let told = self.extents.map(|extents| extents.around(self.client));
        let outer = told.or(frame).unwrap_or(self.client);
        let mut window = self.window;
        window.bounds = self.shadow.within(outer);
        window.content = self.shadow.within(self.client);
        Described {
            window,
            client: self.client,
            frame: outer.origin(),
            elsewhere: self.elsewhere,
            furniture: self.furniture,
            flags: self.flags,
        }
    }
}

pub(super) fn outer(geometry: &GetGeometryReply) -> Rect {
    let border = 2 * u32::from(geometry.border_width);
    Rect::new(
        i32::from(geometry.x),
        i32::from(geometry.y),
        u32::from(geometry.width) + border,
        u32::from(geometry.height) + border,
    )
}

/// Widths at the four edges.
#[derive(Clone, Copy, Debug, Default)]
struct Margins {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl Margins {
    /// `None` when the property is absent, or holds what no edge can be.
    fn read(values: &[u32]) -> Option<Margins> {
        let edge = |n: usize| values.get(n).filter(|width| **width <= 4096).map(|width| *width as i32);
        Some(Margins { left: edge(0)?, right: edge(1)?, top: edge(2)?, bottom: edge(3)? })
    }

    fn around(self, rect: Rect) -> Rect {
        Margins { left: -self.left, right: -self.right, top: -self.top, bottom: -self.bottom }.within(rect)
    }

    fn within(self, rect: Rect) -> Rect {
        let shrunk =
            |size: u32, by: i32| u32::try_from((i64::from(size) - i64::from(by)).max(0)).unwrap_or(u32::MAX);
        Rect::new(
            rect.x.saturating_add(self.left),
            rect.y.saturating_add(self.top),
            shrunk(rect.width, self.left + self.right),
            shrunk(rect.height, self.top + self.bottom),
        )
    }
}

impl Flags {
    fn read(atoms: &Atoms, state: &[Atom]) -> Flags {
        Flags {
            fullscreen: state.contains(&atoms._NET_WM_STATE_FULLSCREEN),
            maximized: state.contains(&atoms._NET_WM_STATE_MAXIMIZED_VERT)
                && state.contains(&atoms._NET_WM_STATE_MAXIMIZED_HORZ),
            hidden: state.contains(&atoms._NET_WM_STATE_HIDDEN),
            shaded: state.contains(&atoms._NET_WM_STATE_SHADED),
        }
    }

    /// Openbox calls a window iconic also when it is shaded or on another workspace, and i3 hides the
    /// covered tabs of a container without iconifying them: only together do the two properties tell.
    fn state(self, iconic: bool, elsewhere: bool, viewable: bool) -> WindowState {
        if iconic && !self.shaded && (self.hidden || !elsewhere) {
            return WindowState::Minimized;
        }
        if elsewhere || (!self.shaded && (self.hidden || !viewable)) {
            return WindowState::Hidden;
        }
        if self.fullscreen {
            return WindowState::Fullscreen;
        }
        if self.maximized { WindowState::Maximized } else { WindowState::Normal }
    }
}

/// The second part of WM_CLASS, else the first.
fn application(class: &[u8]) -> String {
    let mut parts = class.split(|byte| *byte == 0);
    let instance = parts.next().unwrap_or_default();
    let class = parts.next().filter(|class| !class.is_empty()).unwrap_or(instance);
    text::decode(class)
}

/// The server knows which process holds the connection; the window only claims one, which in a sandbox is
/// a number of the sandbox, and over the network one of another machine. The claim counts when the
/// server's number means nothing here (the server may run in another container than we do).
fn process(claimed: Option<u32>, owner: Option<u32>) -> Option<u32> {
    let claimed = claimed.filter(|pid| 0 < *pid);
    match (claimed, owner) {
        (Some(claimed), Some(owner)) if claimed != owner => {
            let here = std::path::Path::new("/proc").join(owner.to_string()).exists();
            Some(if here { owner } else { claimed })
        }
        (claimed, owner) => claimed.or(owner),
    }
}

/// Whether a process is another user's. X11 would let input through to it; who may not signal a process has no
/// business clicking its buttons either. Root may do anything, so to root nothing is elevated.
fn is_elevated(pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid();
    if user.is_root() {
        return false;
    }
    // The folder shows the user that the process acts as, also of processes that hide the rest of themselves.
    match std::fs::metadata(std::path::Path::new("/proc").join(pid.to_string())) {
        Ok(folder) => folder.uid() != user.as_raw(),
        // Mounted with hidepid, /proc does not even show the processes of others.
        Err(_) => i32::try_from(pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw)
            .is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::PERM)),
    }
}

/// Without a window manager: every mapped window on the root that does not stand outside management. A
/// manager without EWMH may have framed them: then it is the client inside that counts.
fn unmanaged(x: &X, session: &Session, children: &[Xid]) -> Result<Vec<Xid>> {
    let doing = "asking about the windows on the root";
    let asked: Vec<_> = children
        .iter()
        .rev()
        .map(|id| Ok((*id, x.get_window_attributes(*id).map_err(failed(doing))?)))
        .collect::<Result<_>>()?;
    let mut tops = Vec::new();
    for (id, attributes) in asked {
        let Some(attributes) = present(attributes.reply(), doing)? else { continue };
        if attributes.map_state == MapState::VIEWABLE
            && !attributes.override_redirect
            && attributes.class == WindowClass::INPUT_OUTPUT
        {
            tops.push(id);
        }
    }
    let clients = client_in(x, session, &tops)?;
    Ok(tops.into_iter().zip(clients).map(|(top, client)| client.unwrap_or(top)).collect())
}

/// For each window on the root the client in it: the first window with WM_STATE, which every window
/// manager sets on the windows it takes care of.
pub(super) fn client_in(x: &X, session: &Session, tops: &[Xid]) -> Result<Vec<Option<Xid>>> {
    let doing = "looking for the client in a frame";
    let mut found = vec![None; tops.len()];
    let mut level: Vec<(usize, Xid)> = tops.iter().copied().enumerate().collect();
    for _ in 0..4 {
        let mut asked = Vec::with_capacity(level.len());
        for (n, id) in level {
            let state = property(x, id, session.atoms.WM_STATE, 2).map_err(failed(doing))?;
            asked.push((n, id, state, x.query_tree(id).map_err(failed(doing))?));
        }
        level = Vec::new();
        for (n, id, state, tree) in asked {
            let state = present(state.reply(), doing)?;
            let tree = present(tree.reply(), doing)?;
            if found[n].is_none() && state.is_some_and(|state| state.type_ != 0) {
                found[n] = Some(id);
            }
            level.extend(tree.into_iter().flat_map(|tree| tree.children).map(|child| (n, child)));
        }
        level.retain(|(n, _)| found[*n].is_none());
        if level.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// The window on the root that takes what happens at a point. The server looks at shapes and input shapes by
/// itself, but also at windows that show nothing.
fn child_at(x: &X, root: Xid, point: Point) -> Result<Option<Xid>> {
    let doing = "asking what lies at a point";
    let (Ok(px), Ok(py)) = (i16::try_from(point.x), i16::try_from(point.y)) else { return Ok(None) };
    let place = x.translate_coordinates(root, root, px, py).map_err(failed(doing))?;
    let child = place.reply().map_err(failed(doing))?.child;
    Ok((child != 0).then_some(child))
}

/// The same by going down the stack: slower, and able to see through windows that show nothing.
fn walk(x: &X, root: Xid, point: Point) -> Result<Option<Xid>> {
    let doing = "looking through the windows at a point";
    let tree = x.query_tree(root).map_err(failed(doing))?.reply().map_err(failed(doing))?;
    let mut asked = Vec::with_capacity(tree.children.len());
    for id in tree.children.into_iter().rev() {
        let attributes = x.get_window_attributes(id).map_err(failed(doing))?;
        asked.push((id, attributes, x.get_geometry(id).map_err(failed(doing))?));
    }
    let mut under = Vec::new();
    for (id, attributes, geometry) in asked {
        let attributes = present(attributes.reply(), doing)?;
        let geometry = present(geometry.reply(), doing)?;
        if let (Some(attributes), Some(geometry)) = (attributes, geometry)
            && attributes.map_state == MapState::VIEWABLE
            && attributes.class == WindowClass::INPUT_OUTPUT
            && outer(&geometry).contains(point)
        {
            under.push((id, geometry));
        }
    }
    for (id, geometry) in under {
        let inner = Point::new(
            point.x - i32::from(geometry.x) - i32::from(geometry.border_width),
            point.y - i32::from(geometry.y) - i32::from(geometry.border_width),
        );
        if shape_holds(x, id, shape::SK::BOUNDING, inner)? && shape_holds(x, id, shape::SK::INPUT, inner)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn shape_holds(x: &X, id: Xid, kind: shape::SK, inner: Point) -> Result<bool> {
    let doing = "asking for the shape of a window";
    let cookie = match x.shape_get_rectangles(id, kind) {
        // A server without the extension has no shapes.
        Err(ConnectionError::UnsupportedExtension) => return Ok(true),
        other => other.map_err(failed(doing))?,
    };
    Ok(present(cookie.reply(), doing)?.is_some_and(|reply| {
        reply.rectangles.iter().any(|part| {
            Rect::new(i32::from(part.x), i32::from(part.y), u32::from(part.width), u32::from(part.height))
                .contains(inner)
        })
    }))
}

/// Asks for a property of any type, `length` 32-bit units of it.
pub(super) fn property(
    x: &X,
    id: Xid,
    atom: Atom,
    length: u32,
) -> Result<Cookie<'_, X, GetPropertyReply>, ConnectionError> {
    x.get_property(false, id, atom, AtomEnum::ANY, 0, length)
}

/// The numbers of a 32-bit property; none when it is absent or something else.
pub(super) fn values(reply: &GetPropertyReply) -> Vec<u32> {
    reply.value32().map_or_else(Vec::new, Iterator::collect)
}

/// An answer, or `None` when the server says that there is no such window (any more).
pub(super) fn present<R: TryParse>(reply: Result<R, ReplyError>, doing: &str) -> Result<Option<R>> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(error) if crate::x11::link::is_x_error(&error) => Ok(None),
        Err(error) => Err(failed(doing)(error)),
    }
}
