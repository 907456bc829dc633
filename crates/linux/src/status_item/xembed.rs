//! Icons that are windows inside a panel: the notification area of before the session bus.
//!
//! The panel owns the selection `_NET_SYSTEM_TRAY_S0`. What another program has put inside one of the panel's
//! windows is an icon of that program.

use crate::atspi::bus::command;
use crate::x11::link::{Link, X, failed};
use deskhand_core::geometry::Rect;
use deskhand_core::status_item::{StatusItem, StatusItemId, Way};
use deskhand_core::{Call, Result};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _, MapState, Window as XWindow};

const DOING: &str = "looking for icons inside a panel";

/// How deep a panel nests its icons.
const MOST_LEVELS: usize = 8;

/// Icons inside a panel on a display.
pub struct Embedded {
    link: Link<Names>,
}

struct Names {
    tray: Atom,
    name: Atom,
    utf8: Atom,
    pid: Atom,
}

impl Embedded {
    /// On this display. Nothing is connected yet.
    pub fn new(display: &str) -> Embedded {
        let link = Link::new(display, |_, x: &X, screen| {
            let atom = |name: &str| x.intern_atom(false, name.as_bytes()).map_err(failed(DOING));
            let tray = atom(&format!("_NET_SYSTEM_TRAY_S{screen}"))?;
            let (name, utf8, pid) = (atom("_NET_WM_NAME")?, atom("UTF8_STRING")?, atom("_NET_WM_PID")?);
            Ok(Names {
                tray: tray.reply().map_err(failed(DOING))?.atom,
                name: name.reply().map_err(failed(DOING))?.atom,
                utf8: utf8.reply().map_err(failed(DOING))?.atom,
                pid: pid.reply().map_err(failed(DOING))?.atom,
            })
        });
        Embedded { link }
    }

    /// The panel's name and its icons; nothing where no panel takes any.
    pub fn list(&self, call: &Call) -> Result<Option<(String, Vec<StatusItem>)>> {
        self.link.with(call, |x, screen, names| read(x, screen, names))
    }
}

fn read(x: &X, screen: usize, names: &Names) -> Result<Option<(String, Vec<StatusItem>)>> {
    let owner = x.get_selection_owner(names.tray).map_err(failed(DOING))?;
    let owner = owner.reply().map_err(failed(DOING))?.owner;
    if owner == x11rb::NONE {
        return Ok(None);
    }
    // The resources of a client share the upper bits of their numbers.
    let mask = x.setup().resource_id_mask;
    let of_panel = |window: XWindow| window & !mask == owner & !mask;
    let root = x.setup().roots[screen].root;
    let mut level = vec![(root, false)];
    let mut icons = Vec::new();
    for _ in 0..MOST_LEVELS {
        let mut cookies = Vec::with_capacity(level.len());
        for (window, inside) in level.drain(..) {
            cookies.push((inside, x.query_tree(window).map_err(failed(DOING))?));
        }
        let mut next = Vec::new();
        for (inside, cookie) in cookies {
            // It may have closed meanwhile.
            let Ok(reply) = cookie.reply() else { continue };
            for child in reply.children {
                match (inside, of_panel(child)) {
                    (true, false) => icons.push(child),
                    // Panels lie inside the frames of window managers.
                    (inside, own) => next.push((child, inside || own)),
                }
            }
        }
        level = next;
    }
    let keeper = text(x, owner, names)
        .filter(|name| !name.is_empty())
        .or_else(|| pid(x, owner, names).map(command))
        .unwrap_or_else(|| "a panel".to_owned());
    Ok(Some((keeper, icons.into_iter().filter_map(|icon| describe(x, root, icon, names)).collect())))
}

/// An icon that shows.
fn describe(x: &X, root: XWindow, icon: XWindow, names: &Names) -> Option<StatusItem> {
    let attributes = x.get_window_attributes(icon).ok()?.reply().ok()?;
    let geometry = x.get_geometry(icon).ok()?.reply().ok()?;
    if attributes.map_state != MapState::VIEWABLE || geometry.width < 2 || geometry.height < 2 {
        return None;
    }
    let corner = x.translate_coordinates(icon, root, 0, 0).ok()?.reply().ok()?;
    let pid = pid(x, icon, names);
    let process = pid.map(command).unwrap_or_default();
    let class = x.get_property(false, icon, AtomEnum::WM_CLASS, AtomEnum::ANY, 0, 256).ok()?.reply().ok()?;
    let class =
        class.value.split(|byte| *byte == 0).next().map(|name| String::from_utf8_lossy(name).into_owned());
    let title = text(x, icon, names).unwrap_or_default();
    Some(StatusItem {
        id: StatusItemId(format!("x{icon}").into()),
        name: class.filter(|name| !name.is_empty()).unwrap_or_else(|| process.clone()),
        description: title,
        pid,
        process,
        status: "active".to_owned(),
        way: Way::Pointed,
        place: Ok(Rect::new(
            corner.dst_x.into(),
            corner.dst_y.into(),
            geometry.width.into(),
            geometry.height.into(),
        )),
        problem: None,
    })
}

fn text(x: &X, window: XWindow, names: &Names) -> Option<String> {
    for (name, kind) in [(names.name, names.utf8), (AtomEnum::WM_NAME.into(), AtomEnum::ANY.into())] {
        let reply = x.get_property(false, window, name, kind, 0, 256).ok()?.reply().ok()?;
        if !reply.value.is_empty() {
            return Some(String::from_utf8_lossy(&reply.value).trim_end_matches('\0').to_owned());
        }
    }
    None
}

fn pid(x: &X, window: XWindow, names: &Names) -> Option<u32> {
    let reply = x.get_property(false, window, names.pid, AtomEnum::CARDINAL, 0, 1).ok()?.reply().ok()?;
    reply.value32().and_then(|mut words| words.next())
}
