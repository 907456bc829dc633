//! Strips for PNG with few bytes: each row with the filter that suits it, then real deflate.

use super::png::{ADLER, Deflated, HEAD};
use flate2::{Compress, Compression, FlushCompress};

/// Of zlib: past this, time grows much faster than bytes shrink.
const LEVEL: u32 = 3;

/// Filter types of PNG, which stand before each row.
const NONE: u8 = 0;
const SUB: u8 = 1;
const UP: u8 = 2;
const PAETH: u8 = 4;

/// Compresses rows of pixels.
pub(super) fn strip(pixels: &[u8], width: usize) -> Deflated {
    let raw = filtered(pixels, width);
    let mut deflate = Compress::new(Compression::new(LEVEL), false);
    let mut bytes = Vec::with_capacity(raw.len() / 4 + 1024);
    bytes.resize(HEAD, 0);
    loop {
        let taken = deflate.total_in() as usize;
        // Writing to memory fails only for states that cannot occur here; progress is checked below.
        let outcome = deflate.compress_vec(&raw[taken..], &mut bytes, FlushCompress::Sync);
        debug_assert!(outcome.is_ok(), "{outcome:?}");
        // A flush is complete when room is left over.
        if deflate.total_in() as usize == raw.len() && bytes.len() < bytes.capacity() {
            break;
        }
        bytes.reserve(bytes.capacity());
    }
    bytes.shrink_to_fit();
    Deflated { bytes, adler: adler(&raw) }
}

/// The rows as red, green and blue, each behind its filter type and filtered.
fn filtered(pixels: &[u8], width: usize) -> Vec<u8> {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2")]
        fn with_avx2(pixels: &[u8], width: usize) -> Vec<u8> {
            rows(pixels, width)
        }
        // SAFETY: the processor has these instructions.
        return unsafe { with_avx2(pixels, width) };
    }
    rows(pixels, width)
}

/// The same code for every processor; the compiler makes wider vectors of it where it may.
#[inline(always)]
fn rows(pixels: &[u8], width: usize) -> Vec<u8> {
    let length = 3 * width;
    let rows = pixels.len() / (4 * width);
    let mut raw = Vec::with_capacity(rows * (length + 1));
    // Both with a black pixel in front, so that the first column is no special case.
    let (mut above, mut own) = (vec![0; length + 3], vec![0; length + 3]);
    let mut tried = vec![0; length];
    for index in 0..rows {
        let row = pixels[index * 4 * width..][..4 * width].as_chunks::<4>().0;
        for (rgb, [blue, green, red, _]) in own[3..].as_chunks_mut::<3>().0.iter_mut().zip(row) {
            *rgb = [*red, *green, *blue];
        }
        let start = raw.len();
        raw.push(NONE);
        raw.resize(start + 1 + length, 0);
        let mut best = u64::MAX;
        // A strip must not depend on another: its first row may not look at the one above.
        let filters: &[u8] = if index == 0 { &[SUB] } else { &[UP, SUB, PAETH] };
        for &kind in filters {
            filter(kind, &own, &above, &mut tried);
            let cost = cost(&tried);
            if cost < best {
                best = cost;
                raw[start] = kind;
                raw[start + 1..].copy_from_slice(&tried);
            }
            if best == 0 {
                break;
            }
        }
        std::mem::swap(&mut above, &mut own);
    }
    raw
}

#[inline(always)]
fn filter(kind: u8, own: &[u8], above: &[u8], out: &mut [u8]) {
    let (here, left, up, corner) = (&own[3..], own, &above[3..], above);
    let all = out.iter_mut().zip(here).zip(left.iter().zip(up).zip(corner));
    match kind {
        SUB => all.for_each(|((out, here), ((left, _), _))| *out = here.wrapping_sub(*left)),
        UP => all.for_each(|((out, here), ((_, up), _))| *out = here.wrapping_sub(*up)),
        PAETH => all.for_each(|((out, here), ((left, up), corner))| {
            *out = here.wrapping_sub(paeth(*left, *up, *corner));
        }),
        _ => out.copy_from_slice(here),
    }
}

/// Whichever of the three is nearest to left + up - corner.
#[inline(always)]
fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let (a, b, c) = (i16::from(left), i16::from(up), i16::from(corner));
    let (to_a, to_b, to_c) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
    let nearer = if to_b <= to_c { up } else { corner };
    if to_a <= to_b && to_a <= to_c { left } else { nearer }
}

/// What a filtered row is likely to cost: small differences are cheap, none at all cheaper still.
#[inline(always)]
fn cost(row: &[u8]) -> u64 {
    row.iter().map(|byte| u64::from((*byte as i8).unsigned_abs()) + u64::from(*byte != 0) * 8).sum()
}

/// Adler-32. The sums of a block cannot overflow 32 bits: 4096 * 4095 / 2 * 255 < 2^32.
fn adler(raw: &[u8]) -> u32 {
    let (mut a, mut b) = (1u64, 0u64);
    for block in raw.chunks(4096) {
        let (mut sum, mut placed) = (0u32, 0u32);
        for (place, byte) in block.iter().enumerate() {
            sum += u32::from(*byte);
            placed += place as u32 * u32::from(*byte);
        }
        let (length, sum) = (block.len() as u64, u64::from(sum));
        b = (b + a * length + length * sum - u64::from(placed)) % ADLER;
        a = (a + sum) % ADLER;
    }
    (b << 16 | a) as u32
}
