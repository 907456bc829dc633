//! Everything that shows on the screen in its stacking order, and what each window surely hides.
//!
//! This is what decides which pixels belong to whom, so that what is not known to be opaque counts as seen through:
//! windows with an alpha channel (but for the part that they declare opaque), translucent ones, shapes, and windows
//! that belong to nobody, like the overlay of a compositor.

use super::Session;
use super::survey::{self, Described, present, property, values};
use crate::x11::link::{X, failed};
use deskhand_core::window::Layer;
use deskhand_core::{Point, Rect, Result};
use x11rb::errors::ConnectionError;
use x11rb::protocol::shape::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{ConnectionExt as _, MapState, Window as Xid, WindowClass};

const DOING: &str = "asking what shows on the screen";

/// A window on the root that shows.
struct Top {
    id: Xid,
    bounds: Rect,
    /// Where its own corner lies: shapes count from there.
    corner: Point,
    has_alpha: bool,
}

pub(super) fn read(x: &X, root: Xid, session: &Session) -> Result<Vec<Layer>> {
    // The stack is read before and after: a window that came up meanwhile would be missed.
    for _ in 0..4 {
        let tops = tops(x, root)?;
        let ids: Vec<Xid> = tops.iter().map(|top| top.id).collect();
        let clients = survey::client_in(x, session, &ids)?;
        let shown: Vec<Xid> = ids.iter().zip(&clients).map(|(top, client)| client.unwrap_or(*top)).collect();
        let described = survey::these(x, root, session, &shown)?;
        let mut layers = Vec::with_capacity(tops.len());
        for (top, shown) in tops.iter().zip(&shown) {
            let found = described.iter().find(|described| described.window.id.0 == u64::from(*shown));
            if let Some(described) = found {
                layers.push(layer(x, session, top, *shown, described)?);
            }
        }
        if ids == self::tops(x, root)?.iter().map(|top| top.id).collect::<Vec<_>>() {
            return Ok(layers);
        }
    }
    Err(deskhand_core::Error::backend(
        "The windows on the screen changed faster than they could be looked at.",
    )
    .remedy("Try again when the screen is quieter."))
}

/// The windows on the root that show, topmost first.
fn tops(x: &X, root: Xid) -> Result<Vec<Top>> {
    let tree = x.query_tree(root).map_err(failed(DOING))?.reply().map_err(failed(DOING))?;
    let mut asked = Vec::with_capacity(tree.children.len());
    for id in tree.children.into_iter().rev() {
        let attributes = x.get_window_attributes(id).map_err(failed(DOING))?;
        asked.push((id, attributes, x.get_geometry(id).map_err(failed(DOING))?));
    }
    let mut tops = Vec::new();
    for (id, attributes, geometry) in asked {
        let (attributes, geometry) = (present(attributes.reply(), DOING)?, present(geometry.reply(), DOING)?);
        let (Some(attributes), Some(geometry)) = (attributes, geometry) else { continue };
        if attributes.map_state != MapState::VIEWABLE || attributes.class != WindowClass::INPUT_OUTPUT {
            continue;
        }
        let border = i32::from(geometry.border_width);
        tops.push(Top {
            id,
            bounds: survey::outer(&geometry),
            corner: Point::new(i32::from(geometry.x) + border, i32::from(geometry.y) + border),
            has_alpha: geometry.depth == 32,
        });
    }
    Ok(tops)
}

fn layer(x: &X, session: &Session, top: &Top, shown: Xid, described: &Described) -> Result<Layer> {
    Ok(Layer { window: described.window.clone(), covers: covers(x, session, top, shown, described)? })
}

/// What the window surely hides.
fn covers(x: &X, session: &Session, top: &Top, shown: Xid, described: &Described) -> Result<Vec<Rect>> {
    let atoms = &session.atoms;
    let ask = |id, atom, length| property(x, id, atom, length).map_err(failed(DOING));
    let opaque = ask(shown, atoms._NET_WM_OPAQUE_REGION, 4 * 256)?;
    let faded = [ask(shown, atoms._NET_WM_WINDOW_OPACITY, 1)?, ask(top.id, atoms._NET_WM_WINDOW_OPACITY, 1)?];
    let depth = x.get_geometry(shown).map_err(failed(DOING))?;
    let shape = match x.shape_get_rectangles(top.id, shape::SK::BOUNDING) {
        // A server without the extension has no shapes.
        Err(ConnectionError::UnsupportedExtension) => None,
        other => Some(other.map_err(failed(DOING))?),
    };
    let opaque = present(opaque.reply(), DOING)?.map_or_else(Vec::new, |reply| values(&reply));
    let mut translucent = false;
    for faded in faded {
        let opacity = present(faded.reply(), DOING)?.and_then(|reply| values(&reply).first().copied());
        translucent |= opacity.is_some_and(|opacity| opacity != u32::MAX);
    }
    let has_alpha =
        top.has_alpha || present(depth.reply(), DOING)?.is_none_or(|geometry| geometry.depth == 32);
    let shape: Vec<Rect> = match shape {
        None => vec![top.bounds],
        Some(cookie) => present(cookie.reply(), DOING)?.map_or_else(Vec::new, |reply| {
            let part = |part: &x11rb::protocol::xproto::Rectangle| {
                Rect::new(
                    top.corner.x + i32::from(part.x),
                    top.corner.y + i32::from(part.y),
                    u32::from(part.width),
                    u32::from(part.height),
                )
            };
            reply.rectangles.iter().map(part).collect()
        }),
    };
    if translucent || described.window.application.is_empty() {
        return Ok(Vec::new());
    }
    if !has_alpha {
        return Ok(shape);
    }
    let solid: Vec<Rect> = opaque
        .chunks_exact(4)
        .filter_map(|part| {
            let [left, top, width, height] = part.try_into().ok()?;
            let (dx, dy) = (described.client.x, described.client.y);
            Some(
                Rect::new(i32::try_from(left).ok()?, i32::try_from(top).ok()?, width, height)
                    .translated(dx, dy),
            )
        })
        .collect();
    Ok(shape.iter().flat_map(|part| solid.iter().filter_map(|solid| solid.intersection(part))).collect())
}
