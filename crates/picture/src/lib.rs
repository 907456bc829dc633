//! A bitmap as the bytes of a picture file: scaled, fitted, as PNG, JPEG or WebP, and fast.
//!
//! The encoder is nine tenths of a screenshot. Three things keep it short. Pictures are cut into horizontal
//! strips that are compressed on all cores and joined. The strips of the last pictures are kept with the
//! pixels that they were made from, and with their base64, so that a strip in which nothing has changed
//! costs a comparison. And the last results are kept whole, so that the same bitmap with the same options
//! costs nothing.
//!
//! WebP is lossless only: there is no lossy encoder in Rust under a permissive licence. Where few bytes
//! matter more than every pixel, JPEG is the format.

mod compact;
mod deflate;
mod jpeg;
mod marks;
mod png;
mod scale;
mod strips;

use deskhand_core::screen::{Bitmap, PointerImage};
use deskhand_core::{Error, Rect, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use strips::Pixels;

pub use marks::{Mark, marked};

/// The kinds of picture files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// PNG where it fits the limit of bytes, else JPEG.
    #[default]
    Auto,
    /// Lossless; text stays sharp.
    Png,
    /// Small; loses detail.
    #[serde(alias = "jpg")]
    Jpeg,
    /// Lossless WebP.
    Webp,
}

/// How much time goes into few bytes. The pixels are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Effort {
    /// As soon as possible.
    #[default]
    Fast,
    /// About two thirds of the bytes for about four times the time.
    Compact,
}

/// What is wanted of a picture.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// The kind of file.
    pub format: Format,
    /// Of JPEG, 1 to 100.
    pub quality: u8,
    /// Scaled down to this width; 0 is any.
    pub max_width: u32,
    /// Scaled down to this height; 0 is any.
    pub max_height: u32,
    /// At most this many bytes of base64.
    pub max_bytes: Option<usize>,
    /// Time against bytes, for PNG.
    pub effort: Effort,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            format: Format::Auto,
            quality: 80,
            max_width: 0,
            max_height: 0,
            max_bytes: None,
            effort: Effort::Fast,
        }
    }
}

/// A finished picture.
#[derive(Debug)]
pub struct Encoded {
    /// The file in pieces. All but the last have a length of whole threes, so that their base64 can be
    /// joined as it is.
    pieces: Vec<Arc<Piece>>,
    /// `image/png` and the like.
    pub mime: &'static str,
    /// The kind of file that came out; never [`Format::Auto`].
    pub format: Format,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Its pixels per pixel of the screen.
    pub scale: f64,
    /// Of JPEG, what was used: it may be lower than what was asked for, to fit the limit of bytes.
    pub quality: Option<u8>,
}

impl Encoded {
    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length());
        self.pieces.iter().for_each(|piece| bytes.extend_from_slice(&piece.bytes));
        bytes
    }

    /// How many bytes the file has.
    pub fn length(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.len()).sum()
    }

    /// The file in base64, in pieces that follow each other; made once, then shared.
    pub fn base64(&self) -> Vec<Arc<str>> {
        self.pieces.iter().map(|piece| piece.base64()).collect()
    }
}

/// A part of a file.
#[derive(Debug, Default)]
struct Piece {
    bytes: Vec<u8>,
    base64: OnceLock<Arc<str>>,
}

impl Piece {
    fn new(bytes: Vec<u8>) -> Piece {
        Piece { bytes, base64: OnceLock::new() }
    }

    fn base64(&self) -> Arc<str> {
        self.base64.get_or_init(|| base64(&self.bytes)).clone()
    }
}

/// The results and strips of one process. They only save time, so that one place for all servers is right.
static LATELY: Lately = Lately { results: Mutex::new(VecDeque::new()), strips: Mutex::new(VecDeque::new()) };

/// What was encoded lately.
struct Lately {
    results: Mutex<VecDeque<(u64, Options, Arc<Encoded>)>>,
    strips: Mutex<VecDeque<strips::Remembered>>,
}

/// Whole results that are kept, and how many bytes they may be together.
const MOST_RESULTS: usize = 4;
const MOST_RESULT_BYTES: usize = 12 << 20;

/// JPEG below this quality shows text that cannot be read: a smaller picture is better.
const LEAST_QUALITY: u8 = 50;

/// How many times smaller more effort may make a PNG.
const COMPACT_GAIN: usize = 2;

/// Encodes a bitmap.
pub fn encode(bitmap: &Arc<Bitmap>, options: &Options) -> Result<Arc<Encoded>> {
    if bitmap.width == 0
        || bitmap.height == 0
        || bitmap.pixels.len() as u64 != u64::from(bitmap.width) * u64::from(bitmap.height) * 4
    {
        return Err(Error::argument(format!(
            "A bitmap of {}x{} with {} bytes is no picture.",
            bitmap.width,
            bitmap.height,
            bitmap.pixels.len()
        )));
    }
    if let Some(known) = LATELY.result(bitmap.serial, options) {
        return Ok(known);
    }
    let encoded = Arc::new(fitted(bitmap, options)?);
    LATELY.keep_result(bitmap.serial, options, &encoded);
    Ok(encoded)
}

/// Encodes so that the limits hold: PNG first where any format will do, with more effort where that may be
/// enough, then JPEG, then lower quality, then fewer pixels.
fn fitted(bitmap: &Arc<Bitmap>, options: &Options) -> Result<Encoded> {
    let limit = options.max_bytes.map_or(usize::MAX, |bytes| bytes / 4 * 3);
    let mut size = scale::fit(bitmap.width, bitmap.height, options.max_width, options.max_height);
    let mut pixels = scale::scaled(bitmap, size)?;
    let (mut quality, mut effort) = (options.quality.clamp(1, 100), options.effort);
    let mut format = match options.format {
        Format::Auto => Format::Png,
        format @ (Format::Png | Format::Jpeg | Format::Webp) => format,
    };
    loop {
        // Where JPEG comes next, a PNG that is hopelessly over the limit need not be finished.
        let hopeless = match options.format {
            Format::Auto => limit.saturating_mul(COMPACT_GAIN),
            Format::Png | Format::Jpeg | Format::Webp => usize::MAX,
        };
        let is = match pieces_of(&pixels, format, quality, effort, hopeless)? {
            Some(pieces) => {
                let encoded = finished(pieces, format, size, bitmap, quality);
                if encoded.length() <= limit {
                    return Ok(encoded);
                }
                encoded.length()
            }
            None => usize::MAX,
        };
        if format == Format::Png && effort == Effort::Fast && is <= limit.saturating_mul(COMPACT_GAIN) {
            effort = Effort::Compact;
        } else if options.format == Format::Auto && format == Format::Png {
            format = Format::Jpeg;
        } else if format == Format::Jpeg && LEAST_QUALITY < quality {
            quality = quality.saturating_sub(15).max(LEAST_QUALITY);
        } else if let Some(smaller) = scale::smaller(size, is, limit) {
            size = smaller;
            pixels = scale::scaled(bitmap, size)?;
        } else {
            return Err(Error::argument(format!(
                "Not even a single pixel fits into {} bytes of base64.",
                options.max_bytes.unwrap_or_default()
            ))
            .remedy("Allow more bytes (max_bytes)."));
        }
    }
}

/// The file; nothing when it is a PNG of more than `hopeless` bytes.
fn pieces_of(
    pixels: &Pixels,
    format: Format,
    quality: u8,
    effort: Effort,
    hopeless: usize,
) -> Result<Option<Vec<Arc<Piece>>>> {
    let whole = |bytes| Some(vec![Arc::new(Piece::new(bytes))]);
    match format {
        Format::Auto | Format::Png => Ok(png::encode(&LATELY, pixels, effort, hopeless)),
        Format::Jpeg => jpeg::encode(&LATELY, pixels, quality).map(whole),
        Format::Webp => webp(pixels).map(whole),
    }
}

fn finished(
    pieces: Vec<Arc<Piece>>,
    format: Format,
    (width, height): (u32, u32),
    bitmap: &Bitmap,
    quality: u8,
) -> Encoded {
    Encoded {
        pieces,
        mime: format.mime(),
        format,
        width,
        height,
        // A bitmap may have been scaled before it came here.
        scale: f64::from(width) / f64::from(bitmap.shows.width.max(1)),
        quality: (format == Format::Jpeg).then_some(quality),
    }
}

impl Format {
    /// The kind that the ending of a file name asks for.
    pub fn of_path(path: &Path) -> Option<Format> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "png" => Some(Format::Png),
            "jpg" | "jpeg" => Some(Format::Jpeg),
            "webp" => Some(Format::Webp),
            _ => None,
        }
    }

    fn mime(self) -> &'static str {
        match self {
            Format::Auto | Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::Webp => "image/webp",
        }
    }
}

fn webp(pixels: &Pixels) -> Result<Vec<u8>> {
    let mut rgb = Vec::with_capacity(pixels.bytes().len() / 4 * 3);
    for &[blue, green, red, _] in pixels.bytes().as_chunks::<4>().0 {
        rgb.extend_from_slice(&[red, green, blue]);
    }
    let mut bytes = Vec::with_capacity(rgb.len() / 4);
    image_webp::WebPEncoder::new(&mut bytes)
        .encode(&rgb, pixels.width, pixels.height, image_webp::ColorType::Rgb8)
        .map_err(|error| {
            Error::argument(format!("{}x{} pixels are no WebP picture.", pixels.width, pixels.height))
                .os(error)
                .remedy("WebP ends at 16384 pixels: pass max_width and max_height, or another format.")
        })?;
    Ok(bytes)
}

fn base64(bytes: &[u8]) -> Arc<str> {
    let base64 = base64_simd::STANDARD;
    let mut text = Arc::<[u8]>::new_uninit_slice(base64.encoded_length(bytes.len()));
    if let Some(room) = Arc::get_mut(&mut text) {
        let written = base64.encode_as_str(bytes, base64_simd::Out::from_uninit_slice(room)).len();
        debug_assert_eq!(written, room.len());
    }
    // SAFETY: the Arc was not shared, so that `get_mut` succeeded, and the encoder writes exactly
    // `encoded_length` bytes of ASCII, which is all of them.
    unsafe {
        let text: Arc<[u8]> = text.assume_init();
        Arc::from_raw(Arc::into_raw(text) as *const str)
    }
}

impl Lately {
    fn result(&self, serial: u64, options: &Options) -> Option<Arc<Encoded>> {
        let results = lock(&self.results);
        let known = results.iter().find(|(of, with, _)| *of == serial && with == options)?;
        Some(known.2.clone())
    }

    fn keep_result(&self, serial: u64, options: &Options, encoded: &Arc<Encoded>) {
        let mut results = lock(&self.results);
        results.retain(|(of, with, _)| !(*of == serial && with == options));
        results.push_front((serial, options.clone(), encoded.clone()));
        let mut bytes = 0;
        // The text is a third longer than the file, and there may be both.
        results.retain(|(_, _, encoded)| {
            bytes += encoded.length() / 3 * 7;
            bytes <= MOST_RESULT_BYTES
        });
        results.truncate(MOST_RESULTS);
    }
}

/// Whether the processor has the wider vectors that most have had for ten years.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The bitmap with the pointer drawn over it.
pub fn with_pointer(bitmap: &Bitmap, pointer: &PointerImage) -> Bitmap {
    let mut pixels = bitmap.pixels.to_vec();
    if let Some(seen) = pointer.bounds.intersection(&bitmap.shows)
        && pointer.pixels.len() as u64 == pointer.bounds.area() * 4
    {
        for row in 0..seen.height {
            let over = span(&pointer.bounds, &seen, row);
            let under = span(&bitmap.shows, &seen, row);
            let over = pointer.pixels[over].as_chunks::<4>().0;
            for (over, under) in over.iter().zip(pixels[under].as_chunks_mut::<4>().0) {
                blend(over, under);
            }
        }
    }
    Bitmap {
        width: bitmap.width,
        height: bitmap.height,
        pixels: pixels.into(),
        shows: bitmap.shows,
        serial: derived(&(bitmap.serial, pointer.bounds, &pointer.pixels)),
        differs: None,
    }
}

/// The bitmap within limits (0 is none), in proportion: what is drawn on it afterwards is not scaled.
pub fn scaled_down(bitmap: &Arc<Bitmap>, max_width: u32, max_height: u32) -> Result<Arc<Bitmap>> {
    let (width, height) = scale::fit(bitmap.width, bitmap.height, max_width, max_height);
    if (width, height) == (bitmap.width, bitmap.height) {
        return Ok(bitmap.clone());
    }
    let pixels = scale::scaled(bitmap, (width, height))?.bytes().to_vec();
    let serial = derived(&(bitmap.serial, width, height));
    Ok(Arc::new(Bitmap { width, height, pixels: pixels.into(), shows: bitmap.shows, serial, differs: None }))
}

/// The part of a bitmap that shows `rect`, or nothing when it does not show all of it.
pub fn crop(bitmap: &Bitmap, rect: Rect) -> Option<Bitmap> {
    if rect.is_empty() || bitmap.shows.intersection(&rect) != Some(rect) {
        return None;
    }
    let pixels =
        (0..rect.height).flat_map(|row| bitmap.pixels[span(&bitmap.shows, &rect, row)].iter().copied());
    Some(Bitmap {
        width: rect.width,
        height: rect.height,
        pixels: pixels.collect(),
        shows: rect,
        serial: derived(&(bitmap.serial, rect)),
        differs: None,
    })
}

/// The bytes of one row of `part` within pixels that show `whole`.
fn span(whole: &Rect, part: &Rect, row: u32) -> std::ops::Range<usize> {
    let down = (i64::from(part.y) - i64::from(whole.y)) as usize + row as usize;
    let along = (i64::from(part.x) - i64::from(whole.x)) as usize;
    let first = (down * whole.width as usize + along) * 4;
    first..first + part.width as usize * 4
}

/// Premultiplied over opaque.
fn blend(over: &[u8; 4], under: &mut [u8; 4]) {
    let clear = 255 - u32::from(over[3]);
    for (over, under) in over.iter().zip(under.iter_mut()).take(3) {
        let through = (u32::from(*under) * clear + 127) / 255;
        *under = (u32::from(*over) + through).min(255) as u8;
    }
}

/// A serial for pixels that were made from others: the same for the same. The top bit keeps it apart from
/// those of captures, which count from one.
fn derived(from: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    from.hash(&mut hasher);
    hasher.finish() | 1 << 63
}

#[cfg(test)]
mod tests;
