//! PNG from strips. Each strip is a deflate block (or several) that ends on a byte, in a chunk of its own,
//! so that joining strips is copying them.

use super::strips::{Kind, Pixels, Strip, compress};
use super::{Effort, Lately, compact, deflate};

/// Rows are gathered into strips of about this many pixels: small enough that a caret costs little, large
/// enough that the tables of a strip (about 100 bytes) do not count.
const FAST_STRIP: usize = 64 * 1024;
/// With matches over longer distances a larger strip is a smaller file.
const COMPACT_STRIP: usize = 256 * 1024;

/// Encodes; gives up when there would be more than `most` bytes.
pub(super) fn encode(lately: &Lately, pixels: &Pixels, effort: Effort, most: usize) -> Option<Vec<u8>> {
    let (strip, make): (usize, fn(&[u8], usize) -> Strip) = match effort {
        Effort::Fast => (FAST_STRIP, deflate::strip),
        Effort::Compact => (COMPACT_STRIP, compact::strip),
    };
    let width = pixels.width as usize;
    let rows = (strip / width).max(1);
    let strips = compress(lately, Kind::Png(effort), pixels, rows, most, |part, _| {
        let mut strip = make(part, width);
        strip.bytes = chunk(b"IDAT", &strip.bytes);
        strip
    })?;
    let mut header = Vec::with_capacity(13);
    header.extend(pixels.width.to_be_bytes());
    header.extend(pixels.height.to_be_bytes());
    // 8 bits for each of red, green and blue; the one compression, the one filter method, no interlacing.
    header.extend([8, 2, 0, 0, 0]);
    let raw_row = 1 + 3 * width as u64;
    let adler = strips.iter().enumerate().fold(1, |adler, (index, strip)| {
        let rows = rows.min(pixels.height as usize - index * rows) as u64;
        join_adler(adler, strip.adler, rows * raw_row)
    });
    // An empty stored block is the last one, then comes the checksum.
    let mut end = vec![1, 0, 0, 0xff, 0xff];
    end.extend(adler.to_be_bytes());

    let mut bytes = Vec::with_capacity(strips.iter().map(|strip| strip.bytes.len()).sum::<usize>() + 128);
    bytes.extend_from_slice(b"\x89PNG\r\n\x1a\n");
    bytes.extend(chunk(b"IHDR", &header));
    // Deflate with a window of 32 kB, made fast; the check bits make it a multiple of 31.
    bytes.extend(chunk(b"IDAT", &[0x78, 0x01]));
    for strip in &strips {
        bytes.extend_from_slice(&strip.bytes);
    }
    bytes.extend(chunk(b"IDAT", &end));
    bytes.extend(chunk(b"IEND", &[]));
    Some(bytes)
}

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(data.len() + 12);
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(kind);
    bytes.extend_from_slice(data);
    let checksum = crc32fast::hash(&bytes[4..]);
    bytes.extend(checksum.to_be_bytes());
    bytes
}

pub(super) const ADLER: u64 = 65521;

/// The checksum of two pieces one after the other, from those of the pieces and the length of the second.
fn join_adler(first: u32, second: u32, length: u64) -> u32 {
    let (a1, b1) = (u64::from(first & 0xffff), u64::from(first >> 16));
    let (a2, b2) = (u64::from(second & 0xffff), u64::from(second >> 16));
    let a = (a1 + a2 + ADLER - 1) % ADLER;
    let b = (b1 + b2 + (length % ADLER) * (a1 + ADLER - 1)) % ADLER;
    (b << 16 | a) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adler(bytes: &[u8]) -> u32 {
        let (a, b) = bytes.iter().fold((1u32, 0u32), |(a, b), byte| {
            let a = (a + u32::from(*byte)) % 65521;
            (a, (b + a) % 65521)
        });
        b << 16 | a
    }

    #[test]
    fn checksums_join() {
        let bytes: Vec<u8> = (0..10_000u32).map(|n| (n * n / 7) as u8).collect();
        for at in [0, 1, 17, 5000, 9999, 10_000] {
            let (first, second) = bytes.split_at(at);
            assert_eq!(join_adler(adler(first), adler(second), second.len() as u64), adler(&bytes));
        }
    }
}
