//! What is mapped on the display beside the windows of the list: menus, pop-overs, lists of combo boxes.
//!
//! Toolkits say of a closed one that it is visible, and GTK 4 counts its coordinates from an odd place. What
//! the X server has mapped tells both apart.

use crate::x11::link::{Link, X, failed};
use deskhand_core::geometry::Rect;
use deskhand_core::{Call, Result};
use x11rb::connection::Connection as _;
use x11rb::errors::ReplyError;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _, MapState, WindowClass};

/// The link's state: what the display needs to be asked only once.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    pid: Atom,
    bus: Atom,
}

/// A child of the root window that is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surface {
    /// The process that says it owns it.
    pub pid: Option<u32>,
    /// Where it lies, invisible borders included.
    pub bounds: Rect,
}

const DOING: &str = "asking what is mapped on the display";

/// A link for the questions that elements have to the X server.
pub fn link(display: &str) -> Link<Names> {
    Link::new(display, |_, x, _| {
        let atom = |name: &[u8]| x.intern_atom(false, name).map_err(failed(DOING));
        let (pid, bus) = (atom(b"_NET_WM_PID")?, atom(b"AT_SPI_BUS")?);
        Ok(Names {
            pid: pid.reply().map_err(failed(DOING))?.atom,
            bus: bus.reply().map_err(failed(DOING))?.atom,
        })
    })
}

/// The mapped children of the root window: two round trips, however many there are.
pub fn mapped(call: &Call, link: &Link<Names>) -> Result<Vec<Surface>> {
    link.with(call, |x, screen, names| read(x, screen, *names))
}

fn read(x: &X, screen: usize, names: Names) -> Result<Vec<Surface>> {
    let root = x.setup().roots[screen].root;
    let children = x.query_tree(root).map_err(failed(DOING))?.reply().map_err(failed(DOING))?.children;
    let mut cookies = Vec::with_capacity(children.len());
    for child in children {
        cookies.push((
            x.get_window_attributes(child).map_err(failed(DOING))?,
            x.get_geometry(child).map_err(failed(DOING))?,
            x.get_property(false, child, names.pid, AtomEnum::CARDINAL, 0, 1).map_err(failed(DOING))?,
        ));
    }
    let mut surfaces = Vec::new();
    for (attributes, geometry, pid) in cookies {
        let (attributes, geometry, pid) = (attributes.reply(), geometry.reply(), pid.reply());
        let (attributes, geometry, pid) = match (attributes, geometry, pid) {
            (Ok(attributes), Ok(geometry), Ok(pid)) => (attributes, geometry, pid),
            // It was closed since the list was read.
            (Err(ReplyError::X11Error(_)), ..)
            | (_, Err(ReplyError::X11Error(_)), _)
            | (.., Err(ReplyError::X11Error(_))) => continue,
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => return Err(failed(DOING)(error)),
        };
        if attributes.map_state == MapState::VIEWABLE && attributes.class == WindowClass::INPUT_OUTPUT {
            surfaces.push(Surface {
                pid: pid.value32().and_then(|mut words| words.next()),
                bounds: Rect::new(
                    geometry.x.into(),
                    geometry.y.into(),
                    geometry.width.into(),
                    geometry.height.into(),
                ),
            });
        }
    }
    Ok(surfaces)
}

/// The address that the accessibility launcher left on the root window.
pub fn bus_address(call: &Call, link: &Link<Names>) -> Result<Option<String>> {
    link.with(call, |x, screen, names| {
        let root = x.setup().roots[screen].root;
        let cookie = x.get_property(false, root, names.bus, AtomEnum::ANY, 0, 256).map_err(failed(DOING))?;
        let value = cookie.reply().map_err(failed(DOING))?.value;
        Ok(String::from_utf8(value).ok().filter(|text| !text.is_empty()))
    })
}
