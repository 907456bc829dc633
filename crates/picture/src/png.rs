//! PNG from strips. Each strip is a deflate block (or several) that ends on a byte, in a chunk of its own,
//! so that joining strips is copying them.

use super::strips::{Kind, Pixels, Strip, compress};
use super::{Effort, Lately, Piece, compact, deflate};
use std::sync::Arc;

/// Rows are gathered into strips of about this many pixels: small enough that a caret costs little, large
/// enough that the tables of a strip (about 100 bytes) do not count.
const FAST_STRIP: usize = 64 * 1024;
/// With matches over longer distances a larger strip is a smaller file.
const COMPACT_STRIP: usize = 256 * 1024;

/// What stands before the data of a chunk: its length and its kind.
pub(super) const HEAD: usize = 8;

/// A block of deflate that holds nothing and begins and ends on a byte (RFC 1951, 3.2.4).
const EMPTY_BLOCK: [u8; 5] = [0, 0, 0, 0xff, 0xff];

/// Rows as deflate blocks that end on a byte, behind room for the head of a chunk.
pub(super) struct Deflated {
    pub(super) bytes: Vec<u8>,
    /// Of the uncompressed bytes.
    pub(super) adler: u32,
}

/// Encodes; gives up when there would be more than `most` bytes.
pub(super) fn encode(
    lately: &Lately,
    pixels: &Pixels,
    effort: Effort,
    most: usize,
) -> Option<Vec<Arc<Piece>>> {
    let (strip, make): (usize, fn(&[u8], usize) -> Deflated) = match effort {
        Effort::Fast => (FAST_STRIP, deflate::strip),
        Effort::Compact => (COMPACT_STRIP, compact::strip),
    };
    let width = pixels.width as usize;
    let rows = (strip / width).max(1);
    let strips = compress(lately, Kind::Png(effort), pixels, rows, most, |part, _| {
        let Deflated { bytes, adler } = make(part, width);
        let piece = Piece::new(data_chunk(bytes));
        // Here, on all cores and while it is in their caches.
        piece.base64();
        Strip { piece: Arc::new(piece), adler }
    })?;
    let mut header = vec![0; HEAD];
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
    let mut end = vec![0; HEAD];
    end.extend([1, 0, 0, 0xff, 0xff]);
    end.extend(adler.to_be_bytes());
    let mut end = sealed(b"IDAT", end);
    end.extend(sealed(b"IEND", vec![0; HEAD]));

    let mut begin = b"\x89PNG\r\n\x1a\n".to_vec();
    begin.extend(sealed(b"IHDR", header));
    // Deflate with a window of 32 kB, made fast; the check bits make it a multiple of 31. Two empty blocks
    // make the length of all this one of whole threes.
    let mut zlib = vec![0; HEAD];
    zlib.extend([0x78, 0x01]);
    zlib.extend([EMPTY_BLOCK; 2].as_flattened());
    begin.extend(sealed(b"IDAT", zlib));

    let mut pieces = vec![Arc::new(Piece::new(begin))];
    pieces.extend(strips.iter().map(|strip| strip.piece.clone()));
    pieces.push(Arc::new(Piece::new(end)));
    Some(pieces)
}

/// A chunk of deflate blocks whose length is one of whole threes.
fn data_chunk(mut blocks: Vec<u8>) -> Vec<u8> {
    while !(blocks.len() + 4).is_multiple_of(3) {
        blocks.extend(EMPTY_BLOCK);
    }
    sealed(b"IDAT", blocks)
}

/// A chunk from its data, behind room for its head.
fn sealed(kind: &[u8; 4], mut chunk: Vec<u8>) -> Vec<u8> {
    let length = (chunk.len() - HEAD) as u32;
    chunk[..4].copy_from_slice(&length.to_be_bytes());
    chunk[4..HEAD].copy_from_slice(kind);
    let checksum = crc32fast::hash(&chunk[4..]);
    chunk.extend(checksum.to_be_bytes());
    chunk
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
