//! A whole window, also where others cover it or where it lies off the screen.
//!
//! A window that shows completely is a part of the screen like any other. One that does not is redirected
//! (Composite, automatic): the server gives it a pixmap of its own. What was covered holds nothing at
//! first; the server sends the application Expose events for it and the application paints when it comes to
//! it. The capture waits for that paint: until the damage covers all that was hidden, or until the
//! application has answered a ping and draws no more. The redirection stays for a few seconds, so that the
//! next look at the window is as cheap as a look at the screen, and is then taken back.

use super::{DamageOf, Eyes, Inner, fresh, rect_of};
use crate::x11::link::{X, failed, is_x_error};
use deskhand_core::screen::Bitmap;
use deskhand_core::window::WindowId;
use deskhand_core::{Call, Code, Error, Rect, Result};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::errors::ReplyError;
use x11rb::protocol::Event;
use x11rb::protocol::composite::{ConnectionExt as _, Redirect};
use x11rb::protocol::xproto::{
    self, AtomEnum, ChangeWindowAttributesAux, ClientMessageData, ClientMessageEvent, ConnectionExt as _,
    EventMask, MapState, WindowClass,
};

/// After the last paint, and after the ping was answered, nothing more is expected when it was quiet for
/// this long: two frames of a toolkit.
const QUIET: Duration = Duration::from_millis(35);
/// An application that paints nothing of what was covered (a plain background is painted by the server)
/// is waited for this long.
const NO_PAINT: Duration = Duration::from_millis(150);
/// An application that can be pinged and does not answer by then hangs.
const NO_ANSWER: Duration = Duration::from_secs(2);
/// How long a window stays redirected after it was last looked at.
const IDLE: Duration = Duration::from_secs(4);

/// A window with a pixmap of its own.
pub(super) struct Redirected {
    frame: xproto::Window,
    damage: DamageOf,
    /// The parts that the application has yet to paint, relative to the frame.
    unpainted: Vec<Rect>,
    last_paint: Option<Instant>,
    began: Instant,
    ping: Ping,
    used: Instant,
    bitmap: Option<Arc<Bitmap>>,
    as_of: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Ping {
    /// The application does not take part in `_NET_WM_PING`.
    Impossible,
    Sent {
        number: u32,
        client: xproto::Window,
    },
    Answered,
}

/// Where a window is, and whether all of it shows.
struct Place {
    client: xproto::Window,
    frame: xproto::Window,
    /// The frame with its border, on the screen.
    outer: Rect,
    border: u32,
    /// The client's own area, on the screen.
    content: Rect,
    /// What a person sees as the window: without the invisible margins in which a toolkit draws shadows.
    shown: Rect,
    /// What others cover or the screen does not reach.
    hidden: Vec<Rect>,
}

/// Captures the window `id`.
pub(super) fn capture(inner: &Arc<Inner>, call: &Call, id: WindowId) -> Result<Arc<Bitmap>> {
    let place = inner.link.with(call, |x, _, eyes| {
        eyes.look(x)?;
        eyes.place(x, id)
    })?;
    if place.hidden.is_empty() {
        return inner.capture_screen(call, place.shown);
    }
    inner.link.with(call, |x, _, eyes| {
        let watched = !eyes.redirected.is_empty();
        let result = eyes.redirect(x, &place);
        if !watched && !eyes.redirected.is_empty() {
            end_when_idle(Arc::downgrade(inner));
        }
        result
    })?;
    let gone = || not_found(id);
    call.until("waiting until the window has painted what was covered", || {
        inner.link.with(call, |x, _, eyes| {
            eyes.read_events(x)?;
            let redirected = eyes.redirected(place.frame).ok_or_else(gone)?;
            redirected.painted(x, id)
        })
    })?;
    copy(inner, call, id, &place)
}

/// Copies the pixmap of a redirected window that has painted itself.
fn copy(inner: &Arc<Inner>, call: &Call, id: WindowId, place: &Place) -> Result<Arc<Bitmap>> {
    let (pixels, shows, as_of) = {
        let answer = inner.link.with(call, |x, _, eyes| {
            let geometry = geometry(x, place.frame).map_err(gone_or(id, "asking where a window is"))?;
            let shows = place.shown.translated(geometry.x - place.outer.x, geometry.y - place.outer.y);
            let number = super::next_number();
            let redirected = eyes.redirected(place.frame).ok_or_else(|| not_found(id))?;
            redirected.used = Instant::now();
            let drawn = redirected.damage.take(x)?;
            if drawn.is_empty()
                && let Some(bitmap) = &redirected.bitmap
                && bitmap.shows == shows
            {
                return Ok(Err(bitmap.clone()));
            }
            // Nobody may take the old one for the present until the new one is there.
            redirected.bitmap = None;
            redirected.as_of = number;
            let part = shows.translated(-geometry.x, -geometry.y);
            Ok(Ok((eyes.grab_pixmap(x, place.frame, &part, id)?, shows, number)))
        })?;
        match answer {
            Ok(new) => new,
            Err(same) => return Ok(same),
        }
    };
    let bitmap = Arc::new(fresh(pixels.into_bytes().0, shows));
    inner.link.with(call, |_, _, eyes| {
        if let Some(redirected) = eyes.redirected(place.frame)
            && redirected.as_of == as_of
        {
            redirected.bitmap = Some(bitmap.clone());
        }
        Ok(())
    })?;
    Ok(bitmap)
}

/// Takes redirections back when nobody has looked at the window for a while, on a thread that lives as long
/// as there are any. Were the process to end before, the server would do the same.
fn end_when_idle(inner: Weak<Inner>) {
    let look = move || {
        let patience = Call::with_timeout(Duration::from_secs(24 * 3600));
        while patience.pause(IDLE / 4, "keeping windows redirected").is_ok() {
            let Some(inner) = inner.upgrade() else { return };
            let call = Call::with_timeout(Duration::from_secs(2));
            let left = inner.link.with(&call, |x, _, eyes| {
                eyes.end_idle(x)?;
                Ok(eyes.redirected.len())
            });
            match left {
                Ok(0) => return,
                Ok(_) => {}
                // Another call has the connection; the next round sees to it.
                Err(error) if error.code == Code::Timeout => {}
                // The connection is gone, and the redirections with it.
                Err(_) => return,
            }
        }
    };
    // Without the thread the redirections last as long as the connection, which is harmless.
    let _ = std::thread::Builder::new().name("redirections".into()).spawn(look);
}

impl Eyes {
    fn redirected(&mut self, frame: xproto::Window) -> Option<&mut Redirected> {
        self.redirected.iter_mut().find(|redirected| redirected.frame == frame)
    }

    /// Finds the window's frame (its ancestor right under the root), where it is, and what covers it.
    fn place(&self, x: &X, id: WindowId) -> Result<Place> {
        let doing = "asking where a window is";
        let client = u32::try_from(id.0).map_err(|_| not_found(id))?;
        let gone = gone_or(id, doing);
        let attributes = x.get_window_attributes(client).map_err(failed(doing))?.reply().map_err(&gone)?;
        if attributes.map_state != MapState::VIEWABLE {
            return Err(Error::new(
                Code::WindowMinimized,
                format!("The window {id} is minimized or on another workspace, so that it has no pixels."),
            )
            .remedy("Restore it with restore_window or focus_window, then capture it."));
        }
        if !self.visuals.contains(&attributes.visual) {
            return Err(Error::unsupported(format!(
                "The window {id} has a visual other than 24 or 32 bits with 8 for each color."
            )));
        }
        let mut frame = client;
        let siblings = loop {
            let tree = x.query_tree(frame).map_err(failed(doing))?.reply().map_err(&gone)?;
            if tree.parent == self.root || tree.parent == x11rb::NONE {
                break x.query_tree(self.root).map_err(failed(doing))?;
            }
            frame = tree.parent;
        };
        let extents = x
            .get_property(false, client, self.displays.atoms._GTK_FRAME_EXTENTS, AtomEnum::CARDINAL, 0, 4)
            .map_err(failed(doing))?;
        let origin = x.translate_coordinates(client, self.root, 0, 0).map_err(failed(doing))?;
        let size = x.get_geometry(client).map_err(failed(doing))?;
        let outer = geometry(x, frame).map_err(&gone)?;
        let border = border(x, frame).map_err(&gone)?;
        let siblings = siblings.reply().map_err(failed(doing))?.children;
        let extents = extents.reply().map_err(&gone)?.value32().map_or_else(Vec::new, Iterator::collect);
        let origin = origin.reply().map_err(&gone)?;
        let size = size.reply().map_err(&gone)?;
        let content = rect_of(origin.dst_x, origin.dst_y, size.width, size.height);
        let shown = without_margins(outer, &content, &extents);

        let above = siblings.iter().skip_while(|&&sibling| sibling != frame).skip(1);
        let covering = covering(x, above)?;
        let mut hidden = vec![shown];
        if let Some(on_screen) = shown.intersection(&self.bounds) {
            hidden = minus(&hidden, &on_screen);
            hidden.extend(covering.iter().filter_map(|cover| cover.intersection(&on_screen)));
        }
        Ok(Place { client, frame, outer, border, content, shown, hidden })
    }

    /// Gives a window a pixmap of its own, unless it has one already.
    fn redirect(&mut self, x: &X, place: &Place) -> Result<()> {
        if let Some(redirected) = self.redirected(place.frame) {
            redirected.used = Instant::now();
            return Ok(());
        }
        if !self.has_composite || self.damage.is_none() {
            return Err(Error::unsupported(
                "This X server has no Composite extension, so that covered windows cannot be captured.",
            )
            .remedy("Bring the window to the front with focus_window, then capture it."));
        }
        let doing = "giving a window a pixmap of its own";
        let (damage, composited) = self.begin_redirection(x, place)?;
        let number = super::next_number() as u32;
        let ping = if composited { Ping::Answered } else { self.ping(x, place, number)? };
        // A compositor has redirected every window before: nothing was exposed, all is painted.
        let unpainted = if composited { Vec::new() } else { place.unpainted() };
        x.flush().map_err(failed(doing))?;
        let now = Instant::now();
        self.redirected.push(Redirected {
            frame: place.frame,
            damage,
            unpainted,
            last_paint: None,
            began: now,
            ping,
            used: now,
            bitmap: None,
            as_of: 0,
        });
        Ok(())
    }

    fn begin_redirection(&self, x: &X, place: &Place) -> Result<(DamageOf, bool)> {
        let doing = "giving a window a pixmap of its own";
        let compositor = format!("_NET_WM_CM_S{}", self.screen);
        let compositor = x
            .intern_atom(false, compositor.as_bytes())
            .map_err(failed(doing))?
            .reply()
            .map_err(failed(doing))?;
        let compositor = x.get_selection_owner(compositor.atom).map_err(failed(doing))?;
        let composited = compositor.reply().map_err(failed(doing))?.owner != x11rb::NONE;
        let damage = DamageOf::create(x, place.frame)?;
        let redirected = x.composite_redirect_window(place.frame, Redirect::AUTOMATIC);
        let redirected = redirected.map_err(failed(doing))?;
        // What the server itself paints, the backgrounds, it has painted by now: what comes after this is
        // the application.
        damage.take(x)?;
        if let Err(error) = redirected.check() {
            damage.destroy(x)?;
            return Err(failed(doing)(error));
        }
        Ok((damage, composited))
    }

    /// Asks the application for a sign of life. It answers to the root window, in front of everybody who
    /// selected for that: this connection does as long as it waits.
    fn ping(&self, x: &X, place: &Place, number: u32) -> Result<Ping> {
        let doing = "pinging an application";
        let atoms = &self.displays.atoms;
        let protocols = x
            .get_property(false, place.client, atoms.WM_PROTOCOLS, AtomEnum::ATOM, 0, 64)
            .map_err(failed(doing))?;
        let takes_part = protocols
            .reply()
            .ok()
            .and_then(|reply| Some(reply.value32()?.any(|atom| atom == atoms._NET_WM_PING)))
            .unwrap_or(false);
        if !takes_part {
            return Ok(Ping::Impossible);
        }
        self.select(x, EventMask::SUBSTRUCTURE_NOTIFY)?;
        let message = ClientMessageEvent::new(
            32,
            place.client,
            atoms.WM_PROTOCOLS,
            ClientMessageData::from([atoms._NET_WM_PING, number, place.client, 0, 0]),
        );
        x.send_event(false, place.client, EventMask::NO_EVENT, message)
            .map_err(failed(doing))?
            .ignore_error();
        Ok(Ping::Sent { number, client: place.client })
    }

    /// Selects what this connection wants to hear of the root window, and `more`.
    fn select(&self, x: &X, more: EventMask) -> Result<()> {
        let mask = EventMask::PROPERTY_CHANGE | EventMask::STRUCTURE_NOTIFY | more;
        x.change_window_attributes(self.root, &ChangeWindowAttributesAux::new().event_mask(mask))
            .map_err(failed("choosing events"))?
            .ignore_error();
        Ok(())
    }

    /// A part of the pixmap of a redirected window; `part` is relative to the frame with its border.
    fn grab_pixmap(&self, x: &X, frame: xproto::Window, part: &Rect, id: WindowId) -> Result<super::Grabbed> {
        let doing = "reading the pixmap of a window";
        let pixmap = x.generate_id().map_err(failed(doing))?;
        x.composite_name_window_pixmap(frame, pixmap)
            .map_err(failed(doing))?
            .check()
            .map_err(gone_or(id, doing))?;
        let pixels = self.grab(x, pixmap, part);
        x.free_pixmap(pixmap).map_err(failed(doing))?.ignore_error();
        pixels
    }

    fn end_idle(&mut self, x: &X) -> Result<()> {
        self.read_events(x)?;
        let now = Instant::now();
        let (idle, used) = std::mem::take(&mut self.redirected)
            .into_iter()
            .partition(|redirected| IDLE <= now.duration_since(redirected.used));
        self.redirected = used;
        let doing = "taking a redirection back";
        let idle: Vec<Redirected> = idle;
        for redirected in idle {
            redirected.damage.destroy(x)?;
            // The window may have gone, and its redirection with it.
            x.composite_unredirect_window(redirected.frame, Redirect::AUTOMATIC)
                .map_err(failed(doing))?
                .ignore_error();
        }
        if self.redirected.is_empty() {
            self.select(x, EventMask::NO_EVENT)?;
        }
        x.flush().map_err(failed(doing))
    }
}

impl Redirected {
    /// Takes the answer to a ping.
    pub(super) fn note(&mut self, event: &Event) {
        if let (Event::ClientMessage(message), Ping::Sent { number, client }) = (event, self.ping)
            && message.format == 32
            && message.data.as_data32()[1..3] == [number, client]
        {
            self.ping = Ping::Answered;
            // An application that hung has painted nothing yet: its time for that begins now.
            self.began = Instant::now();
        }
    }

    /// Whether everything that was hidden has been painted, as far as can be known.
    fn painted(&mut self, x: &X, id: WindowId) -> Result<Option<()>> {
        if self.unpainted.is_empty() {
            return Ok(Some(()));
        }
        let drawn = self.damage.take(x)?;
        if !drawn.is_empty() {
            self.last_paint = Some(Instant::now());
            self.bitmap = None;
            self.as_of = 0;
            for rect in &drawn {
                self.unpainted = minus(&self.unpainted, rect);
            }
        }
        let waited = self.began.elapsed();
        let quiet = self.last_paint.is_some_and(|paint| QUIET <= paint.elapsed()) || NO_PAINT <= waited;
        match self.ping {
            Ping::Answered | Ping::Impossible if quiet => self.unpainted.clear(),
            Ping::Sent { .. } if NO_ANSWER <= waited => {
                return Err(Error::new(
                    Code::Timeout,
                    format!("The application of window {id} does not paint what others cover of it."),
                )
                .found(["no answer to a ping within 2 s: the application hangs".to_owned()])
                .remedy("Capture the part of the screen that shows, or wait until the application reacts."));
            }
            Ping::Answered | Ping::Impossible | Ping::Sent { .. } => {}
        }
        Ok(self.unpainted.is_empty().then_some(()))
    }
}

impl Place {
    /// What the application has to paint once nothing covers it any more, relative to the frame. The
    /// decorations are left out: window managers let the server paint them.
    fn unpainted(&self) -> Vec<Rect> {
        let border = self.border as i32;
        self.hidden
            .iter()
            .filter_map(|hidden| hidden.intersection(&self.content))
            .map(|hidden| hidden.translated(-self.outer.x - border, -self.outer.y - border))
            .collect()
    }
}

/// A frame with its border, on the screen.
fn geometry(x: &X, frame: xproto::Window) -> Result<Rect, ReplyError> {
    let reply = x.get_geometry(frame)?.reply()?;
    Ok(with_border(&reply))
}

fn border(x: &X, frame: xproto::Window) -> Result<u32, ReplyError> {
    Ok(x.get_geometry(frame)?.reply()?.border_width.into())
}

fn with_border(geometry: &xproto::GetGeometryReply) -> Rect {
    let border = 2 * u32::from(geometry.border_width);
    Rect::new(
        geometry.x.into(),
        geometry.y.into(),
        u32::from(geometry.width) + border,
        u32::from(geometry.height) + border,
    )
}

/// The mapped windows with pixels among `windows`, with their borders.
fn covering<'w>(x: &X, windows: impl Iterator<Item = &'w xproto::Window>) -> Result<Vec<Rect>> {
    let doing = "asking what covers a window";
    let mut asked = Vec::new();
    for &window in windows {
        let attributes = x.get_window_attributes(window).map_err(failed(doing))?;
        asked.push((attributes, x.get_geometry(window).map_err(failed(doing))?));
    }
    let mut covering = Vec::new();
    for (attributes, geometry) in asked {
        // A window that closes in between covers nothing.
        if let (Ok(attributes), Ok(geometry)) = (attributes.reply(), geometry.reply())
            && attributes.map_state == MapState::VIEWABLE
            && attributes.class == WindowClass::INPUT_OUTPUT
        {
            covering.push(with_border(&geometry));
        }
    }
    Ok(covering)
}

/// What is left of a frame without the margins for shadows that `_GTK_FRAME_EXTENTS` (left, right, top,
/// bottom) declares around the content.
fn without_margins(frame: Rect, content: &Rect, extents: &[u32]) -> Rect {
    let &[left, right, top, bottom] = extents else { return frame };
    if left + right + top + bottom == 0 {
        return frame;
    }
    let shown = Rect::new(
        content.x.saturating_add_unsigned(left),
        content.y.saturating_add_unsigned(top),
        content.width.saturating_sub(left.saturating_add(right)),
        content.height.saturating_sub(top.saturating_add(bottom)),
    );
    frame.intersection(&shown).unwrap_or(frame)
}

/// Rectangles without what `cut` covers.
fn minus(rects: &[Rect], cut: &Rect) -> Vec<Rect> {
    let mut left = Vec::new();
    for rect in rects {
        let Some(hit) = rect.intersection(cut) else {
            left.push(*rect);
            continue;
        };
        let above = (hit.y - rect.y) as u32;
        let below = (rect.bottom() - hit.bottom()) as u32;
        let before = (hit.x - rect.x) as u32;
        let after = (rect.right() - hit.right()) as u32;
        left.extend(
            [
                Rect::new(rect.x, rect.y, rect.width, above),
                Rect::new(rect.x, hit.bottom() as i32, rect.width, below),
                Rect::new(rect.x, hit.y, before, hit.height),
                Rect::new(hit.right() as i32, hit.y, after, hit.height),
            ]
            .into_iter()
            .filter(|piece| !piece.is_empty()),
        );
    }
    left
}

fn not_found(id: WindowId) -> Error {
    Error::new(Code::WindowNotFound, format!("There is no window {id}."))
        .remedy("Look at list_windows for the windows that are open now.")
}

/// An error that the server itself answers means that the window has gone.
fn gone_or(id: WindowId, doing: &str) -> impl Fn(ReplyError) -> Error {
    move |error| if is_x_error(&error) { not_found(id) } else { failed(doing)(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deskhand_core::Point;

    #[test]
    fn cutting_leaves_exactly_what_was_not_covered() {
        let all = [Rect::new(0, 0, 10, 10)];
        for cut in [Rect::new(3, 3, 4, 4), Rect::new(-5, -5, 8, 20), Rect::new(20, 0, 5, 5), all[0]] {
            let left = minus(&all, &cut);
            for (x, y) in (0..10).flat_map(|x| (0..10).map(move |y| (x, y))) {
                let point = Point::new(x, y);
                let pieces = left.iter().filter(|piece| piece.contains(point)).count();
                assert_eq!(pieces, usize::from(!cut.contains(point)), "{point} without {cut}");
            }
        }
    }

    #[test]
    fn margins_for_shadows_are_left_out() {
        let window = Rect::new(100, 100, 300, 200);
        assert_eq!(without_margins(window, &window, &[10, 20, 5, 15]), Rect::new(110, 105, 270, 180));
        assert_eq!(without_margins(window, &window, &[0; 4]), window);
        assert_eq!(without_margins(window, &window, &[]), window);
    }
}
