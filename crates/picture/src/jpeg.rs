//! JPEG from strips. Each strip is encoded as a picture of its own; their scans are joined with restart
//! markers, at which a decoder starts afresh, and stand behind one header.

use super::strips::{Kind, Pixels, Strip, compress};
use super::{Lately, Piece};
use deskhand_core::{Code, Error, Result};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use std::ops::Range;
use std::sync::Arc;

/// Strips have whole rows of blocks: 8 pixels, doubled where color has half the resolution.
const BLOCK_ROWS: usize = 16;
/// Rows are gathered into strips of about this many pixels.
const STRIP: usize = 64 * 1024;

/// Encodes.
pub(super) fn encode(lately: &Lately, pixels: &Pixels, quality: u8) -> Result<Vec<u8>> {
    let too_large = || {
        Error::argument(format!("{}x{} pixels are no JPEG picture.", pixels.width, pixels.height))
            .remedy("JPEG ends at 65535 pixels: pass max_width and max_height, or another format.")
    };
    let (width, height) = (
        u16::try_from(pixels.width).map_err(|_| too_large())?,
        u16::try_from(pixels.height).map_err(|_| too_large())?,
    );
    let rows = (STRIP / pixels.width as usize).next_multiple_of(BLOCK_ROWS);
    let make = |part: &[u8], range: Range<usize>| {
        // A strip that fails is empty, which is seen below.
        let bytes = whole(part, width, range.len() as u16, quality).unwrap_or_default();
        Strip { piece: Arc::new(Piece::new(bytes)), adler: 0 }
    };
    let strips = compress(lately, Kind::Jpeg { quality }, pixels, rows, usize::MAX, make).unwrap_or_default();
    let failed = || Error::new(Code::Internal, "The JPEG encoder wrote something that is no JPEG picture.");
    let strips: Vec<_> = strips.iter().map(|strip| &strip.piece.bytes[..]).collect();
    let first = *strips.first().ok_or_else(failed)?;
    let layout = Layout::of(first).ok_or_else(failed)?;

    let mut bytes = Vec::with_capacity(strips.iter().map(|strip| strip.len()).sum());
    bytes.extend_from_slice(&first[..layout.scan_header]);
    bytes[layout.height].copy_from_slice(&height.to_be_bytes());
    if 1 < strips.len() {
        let side = if quality_is_halved(quality) { 16 } else { 8 };
        let interval = usize::from(width).div_ceil(side) * (rows / side);
        let interval = u16::try_from(interval).map_err(|_| too_large())?;
        bytes.extend([0xff, 0xdd, 0, 4]);
        bytes.extend(interval.to_be_bytes());
    }
    bytes.extend_from_slice(&first[layout.scan_header..layout.scan.start]);
    for (index, strip) in strips.iter().enumerate() {
        if 0 < index {
            bytes.extend([0xff, 0xd0 + ((index - 1) % 8) as u8]);
        }
        let layout = Layout::of(strip).ok_or_else(failed)?;
        bytes.extend_from_slice(&strip[layout.scan]);
    }
    bytes.extend([0xff, 0xd9]);
    Ok(bytes)
}

/// Above this quality color keeps its full resolution.
fn quality_is_halved(quality: u8) -> bool {
    quality < 90
}

/// A strip as a picture of its own, with the tables of the standard, so that those of all strips are equal.
fn whole(part: &[u8], width: u16, height: u16, quality: u8) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(part.len() / 16 + 1024);
    let mut encoder = Encoder::new(&mut bytes, quality);
    let sampling = if quality_is_halved(quality) { SamplingFactor::R_4_2_0 } else { SamplingFactor::R_4_4_4 };
    encoder.set_sampling_factor(sampling);
    encoder.encode(part, width, height, ColorType::Bgra).ok()?;
    Some(bytes)
}

/// Where things are in a JPEG file.
struct Layout {
    height: Range<usize>,
    scan_header: usize,
    scan: Range<usize>,
}

impl Layout {
    fn of(bytes: &[u8]) -> Option<Layout> {
        let mut at = 2;
        let mut height = None;
        loop {
            let &[0xff, marker, high, low] = bytes.get(at..at + 4)? else { return None };
            let next = at + 2 + usize::from(u16::from_be_bytes([high, low]));
            match marker {
                // Baseline frame: length, precision, then the height.
                0xc0 => height = Some(at + 5..at + 7),
                // The scan: from behind its header to the marker of the end.
                0xda => {
                    let scan = next..bytes.len().checked_sub(2)?;
                    return (scan.start <= scan.end).then_some(Layout {
                        height: height?,
                        scan_header: at,
                        scan,
                    });
                }
                _ => {}
            }
            at = next;
        }
    }
}
