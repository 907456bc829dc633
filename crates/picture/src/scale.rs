//! Fewer pixels.

use super::strips::Pixels;
use deskhand_core::screen::Bitmap;
use deskhand_core::{Error, Result};
use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use std::sync::Arc;

/// The size of a picture within the limits (0 is none), in proportion. Pictures are never enlarged.
pub(super) fn fit(width: u32, height: u32, max_width: u32, max_height: u32) -> (u32, u32) {
    let ratio = |max: u32, own: u32| if max == 0 { 1.0 } else { f64::from(max) / f64::from(own) };
    let ratio = ratio(max_width, width).min(ratio(max_height, height));
    if 1.0 <= ratio {
        return (width, height);
    }
    let scaled = |own: u32| ((f64::from(own) * ratio).round() as u32).max(1);
    (scaled(width), scaled(height))
}

/// The next size to try when a picture has `is` bytes where `limit` are allowed; nothing when there is none.
pub(super) fn smaller((width, height): (u32, u32), is: usize, limit: usize) -> Option<(u32, u32)> {
    if width == 1 && height == 1 {
        return None;
    }
    // Bytes grow a little slower than pixels, hence the margin; at most a half at once, at least a tenth.
    let ratio = ((limit as f64 / is as f64).sqrt() * 0.95).clamp(0.5, 0.9);
    let scaled = |own: u32| ((f64::from(own) * ratio) as u32).max(1);
    Some((scaled(width), scaled(height)))
}

/// The pixels of a bitmap at another size; the bitmap itself where the size is its own.
pub(super) fn scaled(bitmap: &Arc<Bitmap>, (width, height): (u32, u32)) -> Result<Pixels> {
    if (width, height) == (bitmap.width, bitmap.height) {
        return Ok(Pixels::of(bitmap));
    }
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(deskhand_core::Code::Internal, "The picture could not be scaled.").os(error)
    };
    let from = ImageRef::new(bitmap.width, bitmap.height, &bitmap.pixels, PixelType::U8x4)
        .map_err(|error| failed(&error))?;
    let stride = width as usize * 4;
    let mut pixels = vec![0; stride * height as usize];
    // Bands of rows on all cores. A band takes its rows from the whole source, so that there are no seams.
    let bands = super::strips::workers(bitmap.pixels.len() / 4).min(height as usize);
    let rows = (height as usize).div_ceil(bands);
    let ratio = f64::from(bitmap.height) / f64::from(height);
    let outcome = std::thread::scope(|scope| {
        let band = |index: usize, band: &mut [u8]| {
            let lines = band.len() / stride;
            let top = (index * rows) as f64 * ratio;
            // Rounding must not reach beyond the last row.
            let taken = (lines as f64 * ratio).min(f64::from(bitmap.height) - top);
            let options = ResizeOptions::new()
                .resize_alg(ResizeAlg::Convolution(FilterType::Hamming))
                .use_alpha(false)
                .crop(0.0, top, f64::from(bitmap.width), taken);
            let mut into = Image::from_slice_u8(width, lines as u32, band, PixelType::U8x4)
                .map_err(|error| failed(&error))?;
            Resizer::new().resize(&from, &mut into, &options).map_err(|error| failed(&error))
        };
        let mut parts = pixels.chunks_mut(rows * stride).enumerate();
        let first = parts.next();
        let others: Vec<_> = parts.map(|(index, part)| scope.spawn(move || band(index, part))).collect();
        let mut outcome = first.map_or(Ok(()), |(index, part)| band(index, part));
        for other in others {
            let other = other.join().unwrap_or_else(|_| Err(failed(&"a thread panicked")));
            outcome = outcome.and(other);
        }
        outcome
    });
    outcome?;
    Ok(Pixels::own(pixels, width, height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fit_in_proportion_and_never_grow() {
        assert_eq!(fit(1920, 1080, 0, 0), (1920, 1080));
        assert_eq!(fit(1920, 1080, 1568, 1568), (1568, 882));
        assert_eq!(fit(1080, 1920, 1568, 1568), (882, 1568));
        assert_eq!(fit(100, 50, 1568, 0), (100, 50));
        assert_eq!(fit(10_000, 1, 100, 0), (100, 1));
    }

    #[test]
    fn shrinking_ends_at_one_pixel() {
        let mut size = (4000, 3);
        let mut steps = 0;
        while let Some(next) = smaller(size, 1000, 10) {
            size = next;
            steps += 1;
        }
        assert_eq!(size, (1, 1));
        assert!(steps < 20);
    }

    #[test]
    fn bands_leave_no_seams() {
        let (width, height) = (1601, 1203);
        let pixels: Vec<u8> =
            (0..width * height * 4).map(|n: u32| (n / 4 % width / 7 * 3 + n / 4 / width / 5) as u8).collect();
        let bitmap = Arc::new(Bitmap {
            width,
            height,
            pixels: pixels.into(),
            shows: deskhand_core::Rect::new(0, 0, width, height),
            serial: 1,
            differs: None,
        });
        let scaled = scaled(&bitmap, (801, 601)).unwrap();
        let mut whole = Image::new(801, 601, PixelType::U8x4);
        let from = ImageRef::new(width, height, &bitmap.pixels, PixelType::U8x4).unwrap();
        let options =
            ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Hamming)).use_alpha(false);
        Resizer::new().resize(&from, &mut whole, &options).unwrap();
        let worst = scaled.bytes().iter().zip(whole.buffer()).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(worst <= Some(1), "{worst:?}");
    }
}
