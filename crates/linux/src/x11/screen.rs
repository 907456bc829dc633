//! Seeing the displays and pixels of an X server.
//!
//! Pixels come through shared memory where the server takes a file descriptor for it (MIT-SHM 1.2 over a
//! local socket), else in the reply of GetImage: what the server declares decides, once for each
//! connection. The Damage extension tells what was drawn to since the last look, so that a rectangle in
//! which nothing happened costs one round trip and no pixels. A window that others cover is captured from
//! a pixmap of its own (Composite); see `window`.
//!
//! Only little-endian pixels of 32 bits in the order blue, green, red are understood, which is what every
//! X server in use shows at depth 24 and 32; anything else is `unsupported`. The fourth byte is left as it
//! is: where a window has an alpha channel its colours are premultiplied, so that to ignore the byte is to
//! show the window over black, as the server itself does without a compositor.

mod changes;
mod displays;
mod memory;
mod window;

use crate::x11::link::{Link, X, failed, untrusted};
use bytes::Bytes;
use changes::Changes;
use deskhand_core::screen::{Bitmap, Difference, PointerImage, Screen, Source};
use deskhand_core::{Call, Code, Display, Error, Point, Rect, Result};
use memory::{Filled, Grabbed, Lease, Memory};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use x11rb::NONE;
use x11rb::connection::{Connection, RequestConnection};
use x11rb::errors::ReplyError;
use x11rb::protocol::ErrorKind;
use x11rb::protocol::damage::{self, ConnectionExt as _, ReportLevel};
use x11rb::protocol::xfixes::ConnectionExt as _;
use x11rb::protocol::xproto::{self, ConnectionExt as _, ImageOrder};
use x11rb::protocol::{composite, randr, shm, xfixes};

/// The screen of an X server.
pub struct XScreen {
    inner: Arc<Inner>,
}

/// What the thread that ends redirections shares with the provider.
struct Inner {
    link: Link<Eyes>,
    kept: Mutex<Kept>,
}

/// What is known of one connection.
struct Eyes {
    root: xproto::Window,
    screen: usize,
    /// Where the whole screen lies: at the origin, as large as the root window.
    bounds: Rect,
    visuals: Vec<xproto::Visualid>,
    depth_problem: Option<String>,
    damage: Option<DamageOf>,
    has_randr: bool,
    has_composite: bool,
    memory: Memory,
    changes: Changes,
    displays: displays::Known,
    redirected: Vec<window::Redirected>,
}

/// A damage object with the region into which it is emptied.
#[derive(Clone, Copy)]
struct DamageOf {
    damage: damage::Damage,
    region: xfixes::Region,
}

/// The bitmaps that were handed out lately, and older ones that can be brought up to date.
#[derive(Default)]
struct Kept {
    bitmaps: VecDeque<KeptBitmap>,
    retired: Vec<KeptBitmap>,
}

#[derive(Clone)]
struct KeptBitmap {
    rect: Rect,
    bitmap: Arc<Bitmap>,
    /// The shared memory in which its pixels lie, if they do.
    filled: Option<Arc<Filled>>,
    /// The place in the stream of changes up to which it is known to be true.
    as_of: u64,
}

/// Bitmaps that are kept: a handful of sources are looked at in turn, more are not worth the memory.
const MOST_KEPT: usize = 4;
const MOST_KEPT_BYTES: usize = 24 << 20;

/// Numbers for bitmaps and for places in the stream of changes. They outlive connections, so that an old
/// number never means something new.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

fn next_number() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

impl XScreen {
    /// The screen of `display` (the value of DISPLAY), not yet connected.
    pub fn new(display: &str) -> XScreen {
        XScreen {
            inner: Arc::new(Inner {
                link: Link::new(display, Eyes::open),
                kept: Mutex::new(Kept::default()),
            }),
        }
    }
}

impl Screen for XScreen {
    fn displays(&self, call: &Call) -> Result<Vec<Display>> {
        self.inner.link.with(call, |x, _, eyes| {
            eyes.read_events(x)?;
            eyes.displays(x)
        })
    }

    fn capture(&self, call: &Call, source: Source) -> Result<Arc<Bitmap>> {
        match source {
            Source::Screen(rect) => self.inner.capture_screen(call, rect),
            Source::Window(id) => window::capture(&self.inner, call, id),
        }
    }

    fn pointer_image(&self, call: &Call) -> Result<Option<PointerImage>> {
        self.inner.link.with(call, |x, _, _| {
            let doing = "asking for the picture of the pointer";
            let image = x.xfixes_get_cursor_image().map_err(failed(doing))?.reply().map_err(failed(doing))?;
            if image.cursor_image.iter().all(|argb| argb >> 24 == 0) {
                return Ok(None);
            }
            let (left, top) = (i32::from(image.x), i32::from(image.y));
            let bounds = Rect::new(
                left - i32::from(image.xhot),
                top - i32::from(image.yhot),
                u32::from(image.width),
                u32::from(image.height),
            );
            let pixels = image.cursor_image.iter().flat_map(|argb| argb.to_le_bytes()).collect();
            Ok(Some(PointerImage { bounds, pixels }))
        })
    }

    fn mark(&self, call: &Call) -> Result<u64> {
        self.inner.link.with(call, |x, _, eyes| {
            eyes.require_damage()?;
            eyes.look(x)
        })
    }

    fn changed_since(&self, call: &Call, mark: u64, area: Rect) -> Result<bool> {
        self.inner.link.with(call, |x, _, eyes| {
            eyes.require_damage()?;
            eyes.look(x)?;
            Ok(eyes.changes.since(mark, &area).is_some())
        })
    }

    fn pixel(&self, call: &Call, at: Point) -> Result<[u8; 3]> {
        self.inner.link.with(call, |x, _, eyes| {
            let rect = Rect::new(at.x, at.y, 1, 1);
            eyes.look(x)?;
            eyes.require_inside(&rect)?;
            // For one pixel the reply itself is cheaper than shared memory.
            let bgrx = eyes.grab_by_reply(x, eyes.root, &rect)?;
            match bgrx[..] {
                [blue, green, red, ..] => Ok([red, green, blue]),
                _ => Err(Error::backend("The X server sent no pixel.")),
            }
        })
    }
}

impl Inner {
    /// Captures what the screen shows in `rect`. The pixels stay where the server put them. When only some
    /// rows were drawn to, it puts these into an earlier picture that nobody holds any more.
    fn capture_screen(&self, call: &Call, rect: Rect) -> Result<Arc<Bitmap>> {
        if rect.is_empty() {
            return Err(Error::argument(format!("A rectangle of {rect} holds no pixel to capture.")));
        }
        let (kept, spare) = {
            let mut known = self.kept();
            let kept = known.find(&rect);
            let spare = kept.as_ref().and_then(|kept| known.spare(&kept.rect));
            (kept, spare)
        };
        enum Look {
            Same,
            New { pixels: Grabbed, rows: Rect },
        }
        let old = kept.as_ref();
        let (look, as_of) = self.link.with(call, |x, _, eyes| {
            let now = eyes.look(x)?;
            eyes.require_inside(&rect)?;
            if let Some(old) = old.filter(|_| eyes.damage.is_some()) {
                let Some(drawn) = eyes.changes.since(old.as_of, &rect) else {
                    // What was set aside to be written to stays there.
                    spare.into_iter().for_each(|spare| self.kept().retire(spare));
                    return Ok((Look::Same, now));
                };
                if let Some((lacking, lease)) = spare.and_then(|spare| eyes.reuse(spare, &rect)) {
                    // Whole rows lie in one piece, in the bitmap as in the server's answer.
                    let rows = Rect { x: rect.x, width: rect.width, ..drawn.union(&lacking) };
                    return Ok((Look::New { pixels: eyes.grab_rows(x, lease, &rows, &rect)?, rows }, now));
                }
            }
            Ok((Look::New { pixels: eyes.grab(x, eyes.root, &rect)?, rows: rect }, now))
        })?;
        let new = match (look, kept) {
            (Look::Same, Some(kept)) => KeptBitmap { as_of, ..kept },
            (Look::New { pixels, rows }, kept) => {
                let new = KeptBitmap::new(pixels, rect, rect, as_of);
                match kept {
                    Some(kept) if kept.has_the_same(&new, &rows) => {
                        // A caret drawn over itself, say.
                        self.kept().retire(new);
                        KeptBitmap { as_of, ..kept }
                    }
                    kept => new.differing(kept, &rows),
                }
            }
            (Look::Same, None) => {
                return Err(Error::new(Code::Internal, "Nothing is the same as no picture at all."));
            }
        };
        let bitmap = new.bitmap.clone();
        self.kept().keep(new);
        Ok(bitmap)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A bitmap of pixels that are all new.
fn fresh(pixels: Bytes, shows: Rect) -> Bitmap {
    Bitmap { width: shows.width, height: shows.height, pixels, shows, serial: next_number(), differs: None }
}

impl KeptBitmap {
    fn new(pixels: Grabbed, rect: Rect, shows: Rect, as_of: u64) -> KeptBitmap {
        let (pixels, filled) = pixels.into_bytes();
        KeptBitmap { rect, bitmap: Arc::new(fresh(pixels, shows)), filled, as_of }
    }

    /// The bytes of these rows.
    fn rows(&self, rows: &Rect) -> &[u8] {
        let stride = self.bitmap.width as usize * 4;
        let first = (i64::from(rows.y) - i64::from(self.rect.y)).max(0) as usize * stride;
        self.bitmap.pixels.get(first..first + rows.height as usize * stride).unwrap_or_default()
    }

    fn has_the_same(&self, other: &KeptBitmap, rows: &Rect) -> bool {
        self.rows(rows) == other.rows(rows)
    }

    /// Tells how it differs from an earlier one.
    fn differing(mut self, from: Option<KeptBitmap>, rows: &Rect) -> KeptBitmap {
        let first = (i64::from(rows.y) - i64::from(self.rect.y)).max(0) as u32;
        if let (Some(from), Some(own)) = (from, Arc::get_mut(&mut self.bitmap)) {
            let from = from.bitmap.serial;
            own.differs = Some(Difference { from, first, end: first + rows.height });
        }
        self
    }
}

impl Kept {
    fn find(&self, rect: &Rect) -> Option<KeptBitmap> {
        self.bitmaps.iter().find(|kept| kept.rect == *rect).cloned()
    }

    /// A bitmap of this rectangle that nobody else holds: an older reading, to be brought up to date.
    fn spare(&mut self, rect: &Rect) -> Option<KeptBitmap> {
        let place = self
            .retired
            .iter()
            .position(|retired| retired.rect == *rect && Arc::strong_count(&retired.bitmap) == 1)?;
        Some(self.retired.remove(place))
    }

    /// Keeps a bitmap in place of an older one of the same rectangle. Of two calls that captured at the
    /// same time the later look wins.
    fn keep(&mut self, new: KeptBitmap) {
        if let Some(place) = self.bitmaps.iter().position(|kept| kept.rect == new.rect) {
            if self.bitmaps[place].as_of > new.as_of {
                return;
            }
            if let Some(old) = self.bitmaps.remove(place) {
                // Only another bitmap leaves the place empty; the same one was merely seen again.
                if !Arc::ptr_eq(&old.bitmap, &new.bitmap) {
                    self.retire(old);
                }
            }
        }
        self.bitmaps.push_front(new);
        let mut bytes = 0;
        let mut within = |kept: &KeptBitmap| {
            bytes += kept.bitmap.pixels.len();
            bytes <= MOST_KEPT_BYTES
        };
        let fitting = self.bitmaps.iter().map_while(|kept| within(kept).then_some(())).count();
        self.bitmaps.truncate(MOST_KEPT.min(fitting.max(1)));
    }

    /// Sets a bitmap aside that can be brought up to date once nobody else holds it. Fresh pages for a
    /// large one cost more than the pixels themselves.
    fn retire(&mut self, old: KeptBitmap) {
        if old.filled.is_none() {
            return;
        }
        self.retired.insert(0, old);
        let bytes = self.retired.iter().map(|retired| retired.bitmap.pixels.len()).sum::<usize>();
        let large = bytes > MOST_KEPT_BYTES;
        self.retired.truncate(if large { 1 } else { 2 });
    }
}

impl Eyes {
    fn open(_: &Call, x: &X, screen: usize) -> Result<Eyes> {
        let doing = "opening the screen";
        let setup = x.setup();
        let root = setup.roots.get(screen).ok_or_else(|| {
            Error::argument(format!("The X server has no screen {screen}."))
                .expected(format!("a screen below {}", setup.roots.len()))
        })?;
        for name in [
            damage::X11_EXTENSION_NAME,
            xfixes::X11_EXTENSION_NAME,
            composite::X11_EXTENSION_NAME,
            randr::X11_EXTENSION_NAME,
            shm::X11_EXTENSION_NAME,
        ] {
            x.prefetch_extension_information(name).map_err(failed(doing))?;
        }
        let has = |name| Ok(x.extension_information(name).map_err(failed(doing))?.is_some());
        let has_fixes = has(xfixes::X11_EXTENSION_NAME)?;
        let has_damage = has_fixes && has(damage::X11_EXTENSION_NAME)?;
        let has_composite = has_fixes && has(composite::X11_EXTENSION_NAME)?;
        let has_randr = has(randr::X11_EXTENSION_NAME)?;
        // A version has to be negotiated before anything else is asked of these.
        if has_fixes {
            xfixes::query_version(x, 5, 0).map_err(failed(doing))?.reply().map_err(failed(doing))?;
        }
        if has_composite {
            composite::query_version(x, 0, 4).map_err(failed(doing))?.reply().map_err(failed(doing))?;
        }
        let bounds = Rect::new(0, 0, root.width_in_pixels.into(), root.height_in_pixels.into());
        let mut eyes = Eyes {
            root: root.root,
            screen,
            bounds,
            visuals: visuals_of_32_bits(x, screen),
            depth_problem: depth_problem(x, screen),
            damage: None,
            has_randr,
            has_composite,
            memory: Memory::open(x, has(shm::X11_EXTENSION_NAME)?)?,
            changes: Changes::starting_at(next_number()),
            displays: displays::Known::open(x, root.root, screen, has_randr)?,
            redirected: Vec::new(),
        };
        if has_damage {
            damage::query_version(x, 1, 1).map_err(failed(doing))?.reply().map_err(failed(doing))?;
            eyes.damage = Some(DamageOf::create(x, root.root)?);
        }
        Ok(eyes)
    }

    /// Learns what was drawn to since the last look, and answers this place in the stream of changes.
    fn look(&mut self, x: &X) -> Result<u64> {
        let doing = "asking what has changed on the screen";
        let geometry = x.get_geometry(self.root).map_err(failed(doing))?;
        let drawn = self.damage.map(|damage| damage.take(x)).transpose()?;
        let geometry = geometry.reply().map_err(failed(doing))?;
        let bounds = Rect::new(0, 0, geometry.width.into(), geometry.height.into());
        if bounds != self.bounds {
            self.bounds = bounds;
            self.changes.everything(next_number());
            self.displays.forget();
        }
        match drawn {
            Some(drawn) if !drawn.is_empty() => self.changes.add(next_number(), &drawn),
            Some(_) => {}
            None => self.changes.everything(next_number()),
        }
        self.read_events(x)?;
        Ok(self.changes.newest())
    }

    /// Takes the events that have arrived. Damage is asked for by [`Eyes::look`], so that its events only
    /// have to be thrown away; the others may mean that the displays have changed.
    fn read_events(&mut self, x: &X) -> Result<()> {
        while let Some(event) = x.poll_for_event().map_err(failed("reading events"))? {
            self.displays.note(&event);
            for redirected in &mut self.redirected {
                redirected.note(&event);
            }
        }
        Ok(())
    }

    fn require_damage(&self) -> Result<()> {
        match self.damage {
            Some(_) => Ok(()),
            None => Err(Error::unsupported(
                "This X server has no Damage extension, so that changes of the screen cannot be seen.",
            )
            .remedy("Compare two screenshots instead.")),
        }
    }

    fn require_inside(&self, rect: &Rect) -> Result<()> {
        if self.bounds.intersection(rect) == Some(*rect) {
            return Ok(());
        }
        Err(Error::new(Code::CoordinatesOutOfBounds, format!("The area {rect} is not all on the screen."))
            .expected("an area inside the screen")
            .found([format!("the screen: {}", self.bounds)])
            .remedy("Pass an area that lies within the displays."))
    }

    /// The pixels of a part of a window or pixmap, without waiting for anything but the server.
    fn grab(&self, x: &X, drawable: xproto::Drawable, rect: &Rect) -> Result<Grabbed> {
        self.require_depth()?;
        match self.memory.take(x, rect.area() as usize * 4)? {
            Some(lease) => self.grab_into(x, drawable, lease, rect, rect),
            None => Ok(Grabbed::Own(self.grab_by_reply(x, drawable, rect)?)),
        }
    }

    /// What an earlier bitmap of `rect` lacks, with its memory; nothing when somebody holds it.
    fn reuse(&self, spare: KeptBitmap, rect: &Rect) -> Option<(Rect, Lease)> {
        let lacking = self.changes.since(spare.as_of, rect)?;
        drop(Arc::into_inner(spare.bitmap)?);
        Some((lacking, self.memory.again(spare.filled?)?))
    }

    /// Some rows of the screen, to their place in a picture of `rect` that the memory holds already.
    fn grab_rows(&self, x: &X, lease: Lease, rows: &Rect, rect: &Rect) -> Result<Grabbed> {
        self.grab_into(x, self.root, lease, rows, rect)
    }

    fn grab_into(
        &self,
        x: &X,
        drawable: xproto::Drawable,
        lease: Lease,
        rows: &Rect,
        rect: &Rect,
    ) -> Result<Grabbed> {
        let doing = "copying pixels into shared memory";
        let (left, top, width, height) = wire(rows);
        let offset = (i64::from(rows.y) - i64::from(rect.y)) as u32 * rect.width * 4;
        shm::get_image(x, drawable, left, top, width, height, !0, ZPIXMAP, lease.id(), offset)
            .map_err(failed(doing))?
            .reply()
            .map_err(failed(doing))?;
        Ok(lease.filled(rect.area() as usize * 4))
    }

    fn grab_by_reply(&self, x: &X, drawable: xproto::Drawable, rect: &Rect) -> Result<Vec<u8>> {
        self.require_depth()?;
        let doing = "reading pixels";
        let (left, top, width, height) = wire(rect);
        let reply = x
            .get_image(xproto::ImageFormat::Z_PIXMAP, drawable, left, top, width, height, !0)
            .map_err(failed(doing))?
            .reply()
            .map_err(|error| match &error {
                ReplyError::X11Error(x) if x.error_kind == ErrorKind::Access => untrusted(),
                _ => failed(doing)(error),
            })?;
        if reply.data.len() as u64 != rect.area() * 4 {
            return Err(Error::backend(format!(
                "The X server sent {} bytes for {rect}, where {} belong.",
                reply.data.len(),
                rect.area() * 4
            )));
        }
        Ok(reply.data)
    }

    fn require_depth(&self) -> Result<()> {
        match &self.depth_problem {
            None => Ok(()),
            Some(problem) => Err(Error::unsupported(problem.clone())
                .remedy("Run the X server with a depth of 24 bits (Xvfb: -screen 0 1280x800x24).")),
        }
    }
}

/// `ImageFormat::Z_PIXMAP` where the protocol wants a plain byte.
const ZPIXMAP: u8 = 2;

/// A rectangle as requests carry it. Only called with rectangles that lie within a drawable.
fn wire(rect: &Rect) -> (i16, i16, u16, u16) {
    (rect.x as i16, rect.y as i16, rect.width as u16, rect.height as u16)
}

fn rect_of(x: i16, y: i16, width: u16, height: u16) -> Rect {
    Rect::new(x.into(), y.into(), width.into(), height.into())
}

impl DamageOf {
    /// Watches a window and all in it. One event tells that it is no longer clean; the rectangles are
    /// asked for. Thus a process that looks away for hours does not make events pile up in the server.
    fn create(x: &X, window: xproto::Window) -> Result<DamageOf> {
        let doing = "watching for changes";
        let damage = x.generate_id().map_err(failed(doing))?;
        let region = x.generate_id().map_err(failed(doing))?;
        x.xfixes_create_region(region, &[]).map_err(failed(doing))?;
        x.damage_create(damage, window, ReportLevel::NON_EMPTY)
            .map_err(failed(doing))?
            .check()
            .map_err(failed(doing))?;
        Ok(DamageOf { damage, region })
    }

    /// Empties it and answers what was in it.
    fn take(self, x: &X) -> Result<Vec<Rect>> {
        let doing = "asking what was drawn";
        x.damage_subtract(self.damage, NONE, self.region).map_err(failed(doing))?.ignore_error();
        let reply = x.xfixes_fetch_region(self.region).map_err(failed(doing))?;
        let reply = reply.reply().map_err(failed(doing))?;
        Ok(reply.rectangles.iter().map(|part| rect_of(part.x, part.y, part.width, part.height)).collect())
    }

    fn destroy(self, x: &X) -> Result<()> {
        let doing = "ending a watch";
        // The window may have gone and taken the damage with it.
        x.damage_destroy(self.damage).map_err(failed(doing))?.ignore_error();
        x.xfixes_destroy_region(self.region).map_err(failed(doing))?.ignore_error();
        Ok(())
    }
}

/// Why the pixels of this screen cannot be understood, if so.
fn depth_problem(x: &X, screen: usize) -> Option<String> {
    let root = x.setup().roots.get(screen)?;
    if x.setup().image_byte_order != ImageOrder::LSB_FIRST {
        return Some("This X server sends pixels with the most significant byte first.".into());
    }
    if visuals_of_32_bits(x, screen).contains(&root.root_visual) {
        return None;
    }
    Some(format!(
        "This X screen has a depth of {} bits; only 24 and 32 with 8 bits each for red, green and blue are \
         understood.",
        root.root_depth
    ))
}

/// The visuals whose pixels are blue, green, red and a fourth byte.
fn visuals_of_32_bits(x: &X, screen: usize) -> Vec<xproto::Visualid> {
    let setup = x.setup();
    let four_bytes = |depth: u8| {
        setup.pixmap_formats.iter().any(|format| format.depth == depth && format.bits_per_pixel == 32)
    };
    let Some(root) = setup.roots.get(screen) else { return Vec::new() };
    root.allowed_depths
        .iter()
        .filter(|depth| matches!(depth.depth, 24 | 32) && four_bytes(depth.depth))
        .flat_map(|depth| &depth.visuals)
        .filter(|visual| (visual.red_mask, visual.green_mask, visual.blue_mask) == (0xff0000, 0xff00, 0xff))
        .map(|visual| visual.visual_id)
        .collect()
}
