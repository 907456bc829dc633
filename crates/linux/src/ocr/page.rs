//! Lines as Tesseract takes them: enlarged, on one page each of a TIFF file, which goes through a pipe.

use super::lines::Line;

/// White around a line; without it the first and last letters suffer.
const MARGIN: usize = 4;
/// The height of letters that Tesseract's network was made for, roughly.
const HEIGHT: f32 = 32.0;

/// A line that was enlarged.
pub(super) struct Page {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
    /// Pixels of the page per pixel of the line.
    scale: f32,
}

impl Page {
    pub(super) fn of(line: &Line) -> Page {
        let (width, height) = (line.bounds.width as usize, line.bounds.height as usize);
        let scale = (HEIGHT / height as f32).clamp(1.0, 4.0);
        let padded = (width + 2 * MARGIN, height + 2 * MARGIN);
        let mut pixels = vec![255; padded.0 * padded.1];
        for (row, ink) in line.ink.chunks_exact(width).enumerate() {
            pixels[(row + MARGIN) * padded.0 + MARGIN..][..width].copy_from_slice(ink);
        }
        let size = |length: usize| (length as f32 * scale).round() as usize;
        let across = stretched(&pixels, padded, size(padded.0));
        // Turned twice, so that one direction is enough.
        let turned = turned(&across, (size(padded.0), padded.1));
        let down = stretched(&turned, (padded.1, size(padded.0)), size(padded.1));
        let (width, height) = (size(padded.0), size(padded.1));
        Page { pixels: self::turned(&down, (height, width)), width, height, scale }
    }

    /// From the page back to the line.
    pub(super) fn to_line(&self, at: f32) -> i32 {
        (at / self.scale).round() as i32 - MARGIN as i32
    }
}

/// Rows of `size` as rows of another width, by cubic interpolation: a linear one costs a tenth of all words.
fn stretched(pixels: &[u8], size: (usize, usize), width: usize) -> Vec<u8> {
    let ratio = size.0 as f32 / width as f32;
    let taps: Vec<(usize, [f32; 4])> = (0..width)
        .map(|x| {
            let at = (x as f32 + 0.5) * ratio - 0.5;
            let first = at.floor();
            (first.max(0.0) as usize, [-1.0, 0.0, 1.0, 2.0].map(|tap| cubic(at - first - tap)))
        })
        .collect();
    let mut result = Vec::with_capacity(width * size.1);
    for row in pixels.chunks_exact(size.0) {
        let last = size.0 - 1;
        result.extend(taps.iter().map(|(first, weights)| {
            let near = [first.saturating_sub(1), *first, (first + 1).min(last), (first + 2).min(last)];
            let sum: f32 = near.iter().zip(weights).map(|(x, weight)| f32::from(row[*x]) * weight).sum();
            sum.round().clamp(0.0, 255.0) as u8
        }));
    }
    result
}

/// The kernel of Keys with a = -1/2.
fn cubic(x: f32) -> f32 {
    let x = x.abs();
    if x <= 1.0 {
        (1.5 * x - 2.5) * x * x + 1.0
    } else if x < 2.0 {
        ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    } else {
        0.0
    }
}

/// Columns as rows.
fn turned(pixels: &[u8], (width, height): (usize, usize)) -> Vec<u8> {
    let mut turned = vec![0; pixels.len()];
    for (y, row) in pixels.chunks_exact(width).enumerate() {
        for (x, pixel) in row.iter().enumerate() {
            turned[x * height + y] = *pixel;
        }
    }
    turned
}

/// All pages as one TIFF file, by the TIFF 6.0 specification: gray, not compressed.
pub(super) fn tiff(pages: &[Page]) -> Vec<u8> {
    let mut file = b"II\x2a\0".to_vec();
    // Where the offset of the next directory has to be written.
    let mut link = file.len();
    file.extend([0; 4]);
    for page in pages {
        let data = file.len();
        file.extend(&page.pixels);
        file.resize(file.len().next_multiple_of(2), 0);
        let here = (file.len() as u32).to_le_bytes();
        file[link..link + 4].copy_from_slice(&here);
        let entries: [(u16, u32); 9] = [
            (256, page.width as u32),
            (257, page.height as u32),
            (258, 8), // bits of a sample
            (259, 1), // not compressed
            (262, 1), // 0 is black
            (273, data as u32),
            (277, 1), // one sample a pixel
            (278, page.height as u32),
            (279, page.pixels.len() as u32),
        ];
        file.extend((entries.len() as u16).to_le_bytes());
        for (tag, value) in entries {
            file.extend(tag.to_le_bytes());
            file.extend(4u16.to_le_bytes()); // LONG
            file.extend(1u32.to_le_bytes());
            file.extend(value.to_le_bytes());
        }
        link = file.len();
        file.extend([0; 4]);
    }
    file
}
