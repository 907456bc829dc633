//! Pictures in horizontal strips: compressed on all cores, and not again when their pixels are the same.

use super::{Effort, Lately, Piece, lock};
use deskhand_core::screen::Bitmap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Pixels in rows of blue, green, red and an unused byte.
#[derive(Clone)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
    held: Held,
}

#[derive(Clone)]
enum Held {
    Bitmap(Arc<Bitmap>),
    Own(Arc<Vec<u8>>),
}

impl Pixels {
    pub(super) fn of(bitmap: &Arc<Bitmap>) -> Pixels {
        Pixels { width: bitmap.width, height: bitmap.height, held: Held::Bitmap(bitmap.clone()) }
    }

    pub(super) fn own(pixels: Vec<u8>, width: u32, height: u32) -> Pixels {
        Pixels { width, height, held: Held::Own(Arc::new(pixels)) }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.held {
            Held::Bitmap(bitmap) => &bitmap.pixels,
            Held::Own(pixels) => pixels,
        }
    }

    /// Whether these rows are known to be the same as in `last`, without looking at them.
    fn cannot_differ(&self, last: &Pixels, rows: &Range<usize>) -> bool {
        match (&self.held, &last.held) {
            (Held::Bitmap(own), Held::Bitmap(last)) if own.serial == last.serial => true,
            (Held::Bitmap(own), Held::Bitmap(last)) => own.differs.is_some_and(|differs| {
                differs.from == last.serial
                    && (rows.end <= differs.first as usize || differs.end as usize <= rows.start)
            }),
            (Held::Own(_), _) | (_, Held::Own(_)) => false,
        }
    }

    pub(super) fn rows(&self, rows: &Range<usize>) -> &[u8] {
        let stride = self.width as usize * 4;
        &self.bytes()[rows.start * stride..rows.end * stride]
    }
}

/// What decides how a strip is compressed, apart from its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Png(Effort),
    Jpeg { quality: u8 },
}

/// A compressed strip.
pub(super) struct Strip {
    pub(super) piece: Arc<Piece>,
    /// Of the uncompressed bytes, for PNG.
    pub(super) adler: u32,
}

/// The strips of a picture, with the pixels that they were made from.
pub(super) struct Remembered {
    kind: Kind,
    pixels: Pixels,
    strips: Vec<Arc<Strip>>,
}

/// Pictures whose strips are kept: native size and scaled, in turn.
const MOST_REMEMBERED: usize = 2;

/// Threads are worth starting from about this many pixels on.
const PIXELS_PER_WORKER: usize = 100_000;

/// How many threads to share `pixels` among.
pub(super) fn workers(pixels: usize) -> usize {
    // Counting them reads files of the control group.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
    (pixels / PIXELS_PER_WORKER).clamp(1, cores.min(8))
}

/// Compresses a picture in strips of `rows` rows, those that changed since the last picture of the same
/// kind and size. Stops with nothing when the strips together exceed `most` bytes.
pub(super) fn compress(
    lately: &Lately,
    kind: Kind,
    pixels: &Pixels,
    rows: usize,
    most: usize,
    make: impl Fn(&[u8], Range<usize>) -> Strip + Sync,
) -> Option<Vec<Arc<Strip>>> {
    let height = pixels.height as usize;
    let ranges: Vec<_> = (0..height).step_by(rows).map(|first| first..(first + rows).min(height)).collect();
    let last = lately.take(kind, pixels);
    let (next, total) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let done: Mutex<Vec<(usize, Arc<Strip>)>> = Mutex::new(Vec::with_capacity(ranges.len()));
    let work = || {
        let mut mine = Vec::new();
        while total.load(Ordering::Relaxed) <= most {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = ranges.get(index) else { break };
            let own = pixels.rows(range);
            let kept = last
                .as_ref()
                .filter(|last| pixels.cannot_differ(&last.pixels, range) || last.pixels.rows(range) == own)
                .and_then(|last| last.strips.get(index).cloned());
            let strip = kept.unwrap_or_else(|| Arc::new(make(own, range.clone())));
            total.fetch_add(strip.piece.bytes.len(), Ordering::Relaxed);
            mine.push((index, strip));
        }
        lock(&done).append(&mut mine);
    };
    std::thread::scope(|scope| {
        for _ in 1..workers(pixels.bytes().len() / 4).min(ranges.len()) {
            // When there is no thread to be had, this one does it all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    if done.len() < ranges.len() || most < total.into_inner() {
        return None;
    }
    done.sort_unstable_by_key(|(index, _)| *index);
    let strips: Vec<_> = done.into_iter().map(|(_, strip)| strip).collect();
    lately.remember(Remembered { kind, pixels: pixels.clone(), strips: strips.clone() });
    Some(strips)
}

impl Lately {
    /// Takes the strips of the last picture of this kind and size. Another call that wants them meanwhile
    /// does without.
    fn take(&self, kind: Kind, pixels: &Pixels) -> Option<Remembered> {
        let mut strips = lock(&self.strips);
        let place = strips.iter().position(|last| {
            last.kind == kind && (last.pixels.width, last.pixels.height) == (pixels.width, pixels.height)
        })?;
        strips.remove(place)
    }

    fn remember(&self, remembered: Remembered) {
        let mut strips = lock(&self.strips);
        strips.push_front(remembered);
        strips.truncate(MOST_REMEMBERED);
    }
}
