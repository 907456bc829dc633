//! Screen lockers that tell nobody: i3lock, xtrlock, xscreensaver and the like.
//!
//! Such a program covers the screen with a window that no window manager touches and grabs the
//! keyboard. Looking at the topmost windows costs a round trip or two; a grab is only tried when one of
//! them covers the screen.

use super::link::{X, failed};
use deskhand_core::{Code, Error, Result};
use x11rb::connection::Connection;
use x11rb::cookie::Cookie;
use x11rb::protocol::randr::ConnectionExt as _;
use x11rb::protocol::xproto::{
    ConnectionExt as _, GetGeometryReply, GetWindowAttributesReply, GrabMode, GrabStatus, MapState, Window,
};

/// How many windows are asked about in one round trip. As a rule the first of them that shows is an
/// ordinary one, and that is the end of it; window managers keep a few small ones of their own on top.
const AT_ONCE: usize = 12;

/// The topmost windows of the last look, from the top: as a rule they are the topmost ones of the next look
/// too, which then costs one round trip.
#[derive(Default)]
pub struct Topmost(Vec<Window>);

/// Fails with `secure_desktop_active` when a locker covers the screen and has the keyboard.
pub fn check(x: &X, root: Window, last: &mut Topmost) -> Result<()> {
    let looking = "looking for a screen locker";
    let tree = x.query_tree(root).map_err(failed(looking))?;
    let asked = last.0.iter().map(|window| ask(x, *window)).collect::<Result<Vec<_>>>()?;
    let tree = tree.reply().map_err(failed(looking))?;
    let from_top: Vec<Window> = tree.children.iter().rev().copied().collect();
    let mut asked = if from_top.starts_with(&last.0) { asked } else { Vec::new() };
    last.0.clear();
    let covers = on_top(x, &from_top, &mut asked, &mut last.0)?;
    if covers.is_empty() || !whole_screen(x, root, &covers)? {
        return Ok(());
    }
    let grab = x
        .grab_keyboard(false, root, x11rb::CURRENT_TIME, GrabMode::ASYNC, GrabMode::ASYNC)
        .map_err(failed(looking))?
        .reply()
        .map_err(failed(looking))?;
    if grab.status == GrabStatus::SUCCESS {
        x.ungrab_keyboard(x11rb::CURRENT_TIME).map_err(failed(looking))?;
        x.flush().map_err(failed(looking))?;
        return Ok(());
    }
    let class = x
        .get_property(false, covers[0].0, x11rb::protocol::xproto::AtomEnum::WM_CLASS, 0u32, 0, 64)
        .ok()
        .and_then(|cookie| cookie.reply().ok())
        .map(|reply| String::from_utf8_lossy(&reply.value).replace('\0', " ").trim().to_owned())
        .filter(|class| !class.is_empty());
    Err(Error::new(
        Code::SecureDesktopActive,
        "A screen locker covers the screen and has the keyboard; no input was made.",
    )
    .found([format!(
        "{} on top of all windows",
        class.unwrap_or_else(|| format!("window {:#x}", covers[0].0))
    )])
    .remedy("Let the person at the desktop unlock it."))
}

type Asked<'x> = (Window, Cookie<'x, X, GetWindowAttributesReply>, Cookie<'x, X, GetGeometryReply>);

fn ask(x: &X, window: Window) -> Result<Asked<'_>> {
    let looking = "looking for a screen locker";
    Ok((
        window,
        x.get_window_attributes(window).map_err(failed(looking))?,
        x.get_geometry(window).map_err(failed(looking))?,
    ))
}

/// The unmanaged windows that lie above everything else and are large, from the top. The first ones have been
/// `asked` about; all that were looked at are put into `looked_at`.
fn on_top<'x>(
    x: &'x X,
    from_top: &[Window],
    asked: &mut Vec<Asked<'x>>,
    looked_at: &mut Vec<Window>,
) -> Result<Vec<(Window, GetGeometryReply)>> {
    let mut covers = Vec::new();
    let known = asked.len();
    let further = from_top[known..].chunks(AT_ONCE).map(|windows| {
        let all = windows.iter().map(|window| ask(x, *window));
        all.collect::<Result<Vec<_>>>()
    });
    for asked in std::iter::once(Ok(std::mem::take(asked))).chain(further) {
        for (window, attributes, geometry) in asked? {
            looked_at.push(window);
            // Windows go while one looks at them.
            let (Ok(attributes), Ok(geometry)) = (attributes.reply(), geometry.reply()) else { continue };
            if attributes.map_state != MapState::VIEWABLE {
                continue;
            }
            if !attributes.override_redirect {
                return Ok(covers);
            }
            if geometry.width >= 320 && geometry.height >= 200 {
                covers.push((window, geometry));
            }
        }
    }
    Ok(covers)
}

/// Whether the windows hide the screen: one all of it, or each monitor one.
fn whole_screen(x: &X, root: Window, covers: &[(Window, GetGeometryReply)]) -> Result<bool> {
    let looking = "looking for a screen locker";
    let monitors = x.randr_get_monitors(root, true).map_err(failed(looking))?;
    let screen = x.get_geometry(root).map_err(failed(looking))?.reply().map_err(failed(looking))?;
    let hidden = |left: i32, top: i32, width: u16, height: u16| {
        covers.iter().any(|(_, window)| {
            i32::from(window.x) <= left
                && i32::from(window.y) <= top
                && left + i32::from(width) <= i32::from(window.x) + i32::from(window.width)
                && top + i32::from(height) <= i32::from(window.y) + i32::from(window.height)
        })
    };
    if hidden(0, 0, screen.width, screen.height) {
        return Ok(true);
    }
    let monitors = match monitors.reply() {
        Ok(reply) => reply.monitors,
        Err(error) if super::link::is_x_error(&error) => Vec::new(),
        Err(error) => return Err(failed(looking)(error)),
    };
    Ok(!monitors.is_empty()
        && monitors
            .iter()
            .all(|monitor| hidden(monitor.x.into(), monitor.y.into(), monitor.width, monitor.height)))
}
