//! The screen with the pixels of hidden applications masked.
//!
//! Where hidden windows show is asked before and after each capture: one that moves meanwhile is masked in both
//! places. Nothing but the parts that hide others for certain lets what is beneath be left alone.

use super::Guard;
use crate::call::Call;
use crate::error::Result;
use crate::geometry::{Display, Point, Rect};
use crate::screen::{Bitmap, PointerImage, Screen, Source};
use crate::window::WindowId;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Blue, green, red of what may not be seen.
const MASK: [u8; 4] = [128, 128, 128, 255];

/// Masked bitmaps that are kept, so that the same picture is known as the same.
const MOST_KEPT: usize = 4;

/// Serials of masked bitmaps: no provider counts that far.
static SERIALS: AtomicU64 = AtomicU64::new(1 << 63);

pub(super) struct Masked {
    inner: Arc<dyn Screen>,
    guard: Arc<Guard>,
    kept: Mutex<VecDeque<Kept>>,
}

/// A masked bitmap, and what it was made from.
struct Kept {
    source: Source,
    from: u64,
    parts: Vec<Rect>,
    bitmap: Arc<Bitmap>,
}

impl Masked {
    pub(super) fn new(inner: Arc<dyn Screen>, guard: Arc<Guard>) -> Masked {
        Masked { inner, guard, kept: Mutex::default() }
    }

    fn mask(&self, source: Source, plain: &Bitmap, parts: Vec<Rect>) -> Arc<Bitmap> {
        let mut kept = self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let last = kept.iter().position(|kept| kept.source == source).and_then(|place| kept.remove(place));
        let new = |last: Option<Kept>| {
            let pixels = masked(plain, &parts);
            match last {
                // Only what is masked has changed: to whoever looks, nothing has.
                Some(last) if last.bitmap.shows == plain.shows && last.bitmap.pixels == pixels => last.bitmap,
                _ => Arc::new(Bitmap {
                    width: plain.width,
                    height: plain.height,
                    pixels: pixels.into(),
                    shows: plain.shows,
                    serial: SERIALS.fetch_add(1, Ordering::Relaxed),
                    differs: None,
                }),
            }
        };
        let bitmap = match last {
            Some(last) if last.from == plain.serial && last.parts == parts => last.bitmap,
            last => new(last),
        };
        kept.push_front(Kept { source, from: plain.serial, parts, bitmap: bitmap.clone() });
        kept.truncate(MOST_KEPT);
        bitmap
    }
}

/// The pixels with these parts of the screen painted over.
fn masked(bitmap: &Bitmap, parts: &[Rect]) -> Vec<u8> {
    let mut pixels = bitmap.pixels.to_vec();
    let stride = bitmap.width as usize * 4;
    for part in parts {
        let row = MASK.repeat(part.width as usize);
        let left = (part.x - bitmap.shows.x) as usize * 4;
        let top = (part.y - bitmap.shows.y) as usize;
        for y in top..top + part.height as usize {
            pixels[y * stride + left..][..row.len()].copy_from_slice(&row);
        }
    }
    pixels
}

impl Screen for Masked {
    fn displays(&self, call: &Call) -> Result<Vec<Display>> {
        self.inner.displays(call)
    }

    fn capture(&self, call: &Call, source: Source) -> Result<Arc<Bitmap>> {
        // A picture of one window shows others only through its own holes: from beneath.
        let below: Option<WindowId> = match source {
            Source::Screen(_) => None,
            Source::Window(id) => {
                let windows = self.guard.windows.list(call)?;
                if let Some(window) = windows.iter().find(|window| window.id == id)
                    && self.guard.hides(call, window)?
                {
                    return Err(super::windows::gone(id));
                }
                Some(id)
            }
        };
        let before = self.guard.hidden(call, below)?;
        let plain = self.inner.capture(call, source)?;
        let after = self.guard.hidden(call, below)?;
        let moved = if after == before { Vec::new() } else { after };
        let parts: Vec<Rect> =
            before.iter().chain(&moved).filter_map(|part| part.intersection(&plain.shows)).collect();
        Ok(if parts.is_empty() { plain } else { self.mask(source, &plain, parts) })
    }

    fn pointer_image(&self, call: &Call) -> Result<Option<PointerImage>> {
        self.inner.pointer_image(call)
    }

    fn mark(&self, call: &Call) -> Result<u64> {
        self.inner.mark(call)
    }

    /// What is masked counts as unchanged.
    fn changed_since(&self, call: &Call, mark: u64, area: Rect) -> Result<bool> {
        let mut seen = vec![area];
        for part in self.guard.hidden(call, None)? {
            seen = seen.iter().flat_map(|rect| rect.without(&part)).collect();
        }
        for part in seen {
            if self.inner.changed_since(call, mark, part)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn pixel(&self, call: &Call, at: Point) -> Result<[u8; 3]> {
        let hides = |parts: Vec<Rect>| parts.iter().any(|part| part.contains(at));
        let before = hides(self.guard.hidden(call, None)?);
        let color = self.inner.pixel(call, at)?;
        let [blue, green, red, _] = MASK;
        Ok(if before || hides(self.guard.hidden(call, None)?) { [red, green, blue] } else { color })
    }
}
