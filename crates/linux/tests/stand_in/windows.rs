//! A window list that is just good enough for these tests, so that they depend on no other provider.

use deskhand_core::geometry::Rect;
use deskhand_core::window::{Window, WindowId, WindowState};
use deskhand_core::{Call, Error, Result};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt};

/// The windows of a display, asked anew each time.
pub fn list(display: &str) -> impl Fn(&Call) -> Result<Vec<Window>> + Send + Sync + use<> {
    let (x, screen) = x11rb::connect(Some(display)).expect("an X server for the window list");
    let root = x.setup().roots[screen].root;
    move |_| read(&x, root).map_err(|error| Error::backend(format!("No window list: {error}")))
}

fn read<X: Connection>(x: &X, root: u32) -> std::result::Result<Vec<Window>, Box<dyn std::error::Error>> {
    let atom = |name: &str| -> std::result::Result<u32, Box<dyn std::error::Error>> {
        Ok(x.intern_atom(false, name.as_bytes())?.reply()?.atom)
    };
    let words = |window: u32, name: &str| -> std::result::Result<Vec<u32>, Box<dyn std::error::Error>> {
        let reply = x.get_property(false, window, atom(name)?, AtomEnum::ANY, 0, 1024)?.reply()?;
        Ok(reply.value32().map(Iterator::collect).unwrap_or_default())
    };
    let active = words(root, "_NET_ACTIVE_WINDOW")?.first().copied();
    let mut windows = Vec::new();
    for id in words(root, "_NET_CLIENT_LIST_STACKING")?.into_iter().rev() {
        let Ok(geometry) = x.get_geometry(id)?.reply() else { continue };
        let origin = x.translate_coordinates(id, root, 0, 0)?.reply()?;
        let title = x.get_property(false, id, atom("_NET_WM_NAME")?, AtomEnum::ANY, 0, 1024)?.reply()?;
        let class = x.get_property(false, id, AtomEnum::WM_CLASS, AtomEnum::ANY, 0, 1024)?.reply()?;
        let frame = words(id, "_NET_FRAME_EXTENTS")?;
        let shadow = words(id, "_GTK_FRAME_EXTENTS")?;
        let hidden = words(id, "_NET_WM_STATE")?.contains(&atom("_NET_WM_STATE_HIDDEN")?);
        let edge = |edges: &[u32], at: usize| edges.get(at).copied().unwrap_or(0) as i32;
        let shrunk = |rect: Rect, e: &[u32], by: i32| {
            let (left, right, top, bottom) = (edge(e, 0), edge(e, 1), edge(e, 2), edge(e, 3));
            Rect::new(
                rect.x + by * left,
                rect.y + by * top,
                (rect.width as i32 - by * (left + right)) as u32,
                (rect.height as i32 - by * (top + bottom)) as u32,
            )
        };
        let (width, height) = (u32::from(geometry.width), u32::from(geometry.height));
        let whole = Rect::new(i32::from(origin.dst_x), i32::from(origin.dst_y), width, height);
        let content = shrunk(whole, &shadow, 1);
        windows.push(Window {
            id: WindowId(u64::from(id)),
            title: String::from_utf8_lossy(&title.value).into_owned(),
            application: String::from_utf8_lossy(&class.value).split('\0').nth(1).unwrap_or("").to_owned(),
            pid: words(id, "_NET_WM_PID")?.first().copied(),
            bounds: shrunk(content, &frame, -1),
            content,
            state: if hidden { WindowState::Minimized } else { WindowState::Normal },
            focused: active == Some(id),
            transient: false,
            elevated: false,
        });
    }
    Ok(windows)
}
