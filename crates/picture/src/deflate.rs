//! A deflate encoder for pixels of screens, made for speed.
//!
//! It works on whole pixels, never on bytes. The only match it knows is "the pixel before, once more"
//! (distance 3), which is what most of a screen is after each row was subtracted from the one above it.
//! Everything else is three literals, with a Huffman code of each strip's own, made from a sample of its
//! rows. Filtering and the checksum are plain loops over rows that the compiler turns into vectors.

use super::png::{ADLER, Deflated, HEAD};

/// Symbols: 256 literals, the end of the block, 29 lengths.
const SYMBOLS: usize = 286;
const END: usize = 256;
/// Longest code. Three literals and what is left of a byte must fit a 64-bit word with room to spare.
const LONGEST_CODE: usize = 14;
/// The longest match of deflate, 258 bytes, in pixels.
const LONGEST_RUN: usize = 86;
/// One row in so many is looked at to make the code.
const SAMPLE: usize = 6;

/// Filter types of PNG, which stand before each row.
const SUB: u8 = 1;
const UP: u8 = 2;

/// Compresses rows of pixels.
pub(super) fn strip(pixels: &[u8], width: usize) -> Deflated {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn with_avx2(pixels: &[u8], width: usize) -> Deflated {
            compressed(pixels, width)
        }
        // SAFETY: the processor has these instructions.
        return unsafe { with_avx2(pixels, width) };
    }
    compressed(pixels, width)
}

/// The same code for every processor; the compiler makes wider vectors of it where it may.
#[inline(always)]
fn compressed(pixels: &[u8], width: usize) -> Deflated {
    let stride = width * 4;
    let mut row = vec![0; width];
    let mut sample = Histogram::default();
    let mut checksum = Checksum::default();
    let rows = pixels.len() / stride;
    let longest_row = width * 6 + 64;
    for index in (0..rows).step_by(SAMPLE) {
        let filter = filter(pixels, stride, index, &mut row);
        sample.literal(filter);
        runs(&row, &mut sample);
    }
    let frequencies = sample.finished();
    let code = Code::for_frequencies(&frequencies);
    let mut bits = Bits::behind(HEAD, code.bytes_for(&frequencies) + longest_row);
    code.write_header(&mut bits);
    for index in 0..rows {
        let filter = filter(pixels, stride, index, &mut row);
        checksum.row(filter, &row);
        bits.reserve(longest_row);
        let mut out = Writer { code: &code, bits: &mut bits };
        out.literal(filter);
        runs(&row, &mut out);
    }
    bits.put(code.symbols[END]);
    bits.end_on_byte();
    Deflated { bytes: bits.bytes, adler: checksum.finished() }
}

/// Subtracts from a row the one above it, or from the first row of a strip the pixel before: a strip must
/// not depend on another. Leaves the pixels as red, green and blue from bit 16 down.
#[inline(always)]
fn filter(pixels: &[u8], stride: usize, index: usize, row: &mut [u32]) -> u8 {
    let own = pixels[index * stride..][..stride].as_chunks::<4>().0;
    if index == 0 {
        let mut before = [0; 4];
        for (out, pixel) in row.iter_mut().zip(own) {
            *out = minus(pixel, &before);
            before = *pixel;
        }
        return SUB;
    }
    let above = pixels[(index - 1) * stride..][..stride].as_chunks::<4>().0;
    for ((out, pixel), above) in row.iter_mut().zip(own).zip(above) {
        *out = minus(pixel, above);
    }
    UP
}

/// Byte by byte, without the unused one.
#[inline(always)]
fn minus(pixel: &[u8; 4], from: &[u8; 4]) -> u32 {
    let (a, b) = (u32::from_le_bytes(*pixel), u32::from_le_bytes(*from));
    // Four subtractions in one: the top bits are set so that nothing is borrowed, then put right.
    (((a | 0x8080_8080) - (b & 0x7f7f_7f7f)) ^ ((a ^ !b) & 0x8080_8080)) & 0x00ff_ffff
}

/// What a row is made of.
trait Sink {
    /// One byte: the filter.
    fn literal(&mut self, byte: u8);
    /// One pixel.
    fn pixel(&mut self, pixel: u32);
    /// The pixel before, `times` (1 to 86) more.
    fn repeat(&mut self, times: usize);
}

/// Cuts a row into pixels and runs.
#[inline(always)]
fn runs(row: &[u32], sink: &mut impl Sink) {
    let mut at = 0;
    while let Some(&pixel) = row.get(at) {
        sink.pixel(pixel);
        at += 1;
        let mut left = run(&row[at..], pixel);
        at += left;
        while left != 0 {
            let now = left.min(LONGEST_RUN);
            sink.repeat(now);
            left -= now;
        }
    }
}

/// How many pixels at the start are `pixel`.
#[inline(always)]
fn run(row: &[u32], pixel: u32) -> usize {
    if row.first() != Some(&pixel) {
        return 0;
    }
    let (eights, _) = row.as_chunks::<8>();
    let same = eights.iter().take_while(|eight| eight.iter().fold(0, |all, one| all | (one ^ pixel)) == 0);
    let at = same.count() * 8;
    at + row[at..].iter().take_while(|one| **one == pixel).count()
}

/// How often each symbol occurs in a sample.
struct Histogram([u32; SYMBOLS]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([0; SYMBOLS])
    }
}

impl Histogram {
    /// Every symbol that may occur gets a code, however long.
    fn finished(mut self) -> [u32; SYMBOLS] {
        for (symbol, count) in self.0.iter_mut().enumerate() {
            *count = *count * SAMPLE as u32 + 1;
            if symbol == END {
                *count = 1;
            }
        }
        self.0
    }
}

impl Sink for Histogram {
    fn literal(&mut self, byte: u8) {
        self.0[byte as usize] += 1;
    }
    #[inline(always)]
    fn pixel(&mut self, pixel: u32) {
        let [blue, green, red, _] = pixel.to_le_bytes();
        self.0[red as usize] += 1;
        self.0[green as usize] += 1;
        self.0[blue as usize] += 1;
    }
    #[inline(always)]
    fn repeat(&mut self, times: usize) {
        self.0[usize::from(LENGTHS[times].symbol)] += 1;
    }
}

/// A run as deflate writes its length: symbol, extra bits and how many.
#[derive(Clone, Copy)]
struct Length {
    symbol: u16,
    extra: u16,
    extra_bits: u8,
}

/// Lengths of runs by their pixels.
const LENGTHS: [Length; LONGEST_RUN + 1] = {
    // RFC 1951, 3.2.5: the first length of each symbol and its extra bits.
    const FIRST: [u16; 29] = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163,
        195, 227, 258,
    ];
    const EXTRA: [u8; 29] =
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
    let mut lengths = [Length { symbol: 0, extra: 0, extra_bits: 0 }; LONGEST_RUN + 1];
    let mut times = 1;
    while times <= LONGEST_RUN {
        let bytes = 3 * times as u16;
        let mut symbol = 28;
        while bytes < FIRST[symbol] {
            symbol -= 1;
        }
        lengths[times] =
            Length { symbol: 257 + symbol as u16, extra: bytes - FIRST[symbol], extra_bits: EXTRA[symbol] };
        times += 1;
    }
    lengths
};

/// Some bits, the first one lowest.
#[derive(Clone, Copy, Default)]
struct Run {
    bits: u32,
    count: u32,
}

/// A Huffman code, and what each run of pixels looks like in it.
struct Code {
    lengths: [u8; SYMBOLS],
    symbols: [Run; SYMBOLS],
    repeats: [Run; LONGEST_RUN + 1],
}

/// Writes what a row is made of.
struct Writer<'w> {
    code: &'w Code,
    bits: &'w mut Bits,
}

impl Sink for Writer<'_> {
    fn literal(&mut self, byte: u8) {
        self.bits.put(self.code.symbols[byte as usize]);
    }
    #[inline(always)]
    fn pixel(&mut self, pixel: u32) {
        let [blue, green, red, _] = pixel.to_le_bytes();
        let of = |byte: u8| self.code.symbols[byte as usize];
        let (red, green, blue) = (of(red), of(green), of(blue));
        let bits = u64::from(red.bits)
            | u64::from(green.bits) << red.count
            | u64::from(blue.bits) << (red.count + green.count);
        self.bits.put_many(bits, red.count + green.count + blue.count);
    }
    #[inline(always)]
    fn repeat(&mut self, times: usize) {
        self.bits.put(self.code.repeats[times]);
    }
}

impl Code {
    fn for_frequencies(frequencies: &[u32; SYMBOLS]) -> Code {
        let lengths = code_lengths(frequencies, LONGEST_CODE);
        let mut own = [0; SYMBOLS];
        own.copy_from_slice(&lengths);
        let mut symbols = [Run::default(); SYMBOLS];
        for (symbol, run) in symbols.iter_mut().zip(codes(&lengths)) {
            *symbol = run;
        }
        let mut repeats = [Run::default(); LONGEST_RUN + 1];
        for (repeat, length) in repeats.iter_mut().zip(LENGTHS).skip(1) {
            let symbol = symbols[usize::from(length.symbol)];
            // The only distance has the code 0, of one bit.
            *repeat = Run {
                bits: symbol.bits | u32::from(length.extra) << symbol.count,
                count: symbol.count + u32::from(length.extra_bits) + 1,
            };
        }
        Code { lengths: own, symbols, repeats }
    }

    /// About how many bytes symbols take that occur so often.
    fn bytes_for(&self, frequencies: &[u32; SYMBOLS]) -> usize {
        let bits = |(frequency, length): (&u32, &u8)| *frequency as usize * usize::from(*length);
        frequencies.iter().zip(&self.lengths).map(bits).sum::<usize>() / 8
    }

    /// The header of a block with this code (RFC 1951, 3.2.7). Not the last block.
    fn write_header(&self, bits: &mut Bits) {
        const DISTANCES: [u8; 3] = [0, 0, 1];
        let all: Vec<u8> = self.lengths.iter().chain(&DISTANCES).copied().collect();
        let written = lengths_in_short(&all);
        let mut frequencies = [0; 19];
        for (symbol, _, _) in &written {
            frequencies[usize::from(*symbol)] += 1;
        }
        let lengths = code_lengths(&frequencies, 7);
        let symbols = codes(&lengths);
        const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
        let used = 1 + ORDER.iter().rposition(|symbol| lengths[*symbol] != 0).unwrap_or(0).max(3);
        bits.reserve(400);
        let mut put = |value: usize, count: u32| bits.put(Run { bits: value as u32, count });
        put(0, 1);
        put(2, 2);
        put(SYMBOLS - 257, 5);
        put(DISTANCES.len() - 1, 5);
        put(used - 4, 4);
        for symbol in &ORDER[..used] {
            put(usize::from(lengths[*symbol]), 3);
        }
        for (symbol, extra, count) in written {
            bits.put(symbols[usize::from(symbol)]);
            bits.put(Run { bits: u32::from(extra), count: u32::from(count) });
        }
    }
}

/// Code lengths with their repetitions in short: symbol, extra bits and how many.
fn lengths_in_short(lengths: &[u8]) -> Vec<(u8, u8, u8)> {
    let mut written = Vec::new();
    for same in lengths.chunk_by(|a, b| a == b) {
        let (length, mut left) = (same[0], same.len());
        if length != 0 {
            written.push((length, 0, 0));
            left -= 1;
        }
        while left != 0 {
            let now = match (length, left) {
                (0, 11..) => {
                    let now = left.min(138);
                    written.push((18, (now - 11) as u8, 7));
                    now
                }
                (0, 3..) => {
                    written.push((17, (left - 3) as u8, 3));
                    left
                }
                (_, 3..) => {
                    let now = left.min(6);
                    written.push((16, (now - 3) as u8, 2));
                    now
                }
                (length, _) => {
                    written.push((length, 0, 0));
                    1
                }
            };
            left -= now;
        }
    }
    written
}

/// The lengths of a Huffman code in which none is longer than `limit`; 0 for what never occurs.
fn code_lengths(frequencies: &[u32], limit: usize) -> Vec<u8> {
    let mut lengths = vec![0; frequencies.len()];
    let mut symbols: Vec<usize> = (0..frequencies.len()).filter(|symbol| frequencies[*symbol] != 0).collect();
    symbols.sort_by_key(|symbol| frequencies[*symbol]);
    if symbols.len() < 3 {
        for symbol in symbols {
            lengths[symbol] = 1;
        }
        return lengths;
    }
    let mut counts =
        depths(&symbols.iter().map(|symbol| u64::from(frequencies[*symbol])).collect::<Vec<_>>());
    // What lies too deep moves up to the limit; then codes of other depths move down until all fit again.
    let too_deep: usize = counts.iter().skip(limit + 1).sum();
    counts.resize(limit + 1, 0);
    counts[limit] += too_deep;
    let mut room = (1..=limit).map(|depth| counts[depth] << (limit - depth)).sum::<usize>();
    while 1 << limit < room {
        counts[limit] -= 1;
        if let Some(depth) = (1..limit).rev().find(|depth| counts[*depth] != 0) {
            counts[depth] -= 1;
            counts[depth + 1] += 2;
        }
        room -= 1;
    }
    let by_depth =
        counts.iter().enumerate().rev().flat_map(|(depth, count)| std::iter::repeat_n(depth, *count));
    for (symbol, depth) in symbols.into_iter().zip(by_depth) {
        lengths[symbol] = depth as u8;
    }
    lengths
}

/// How many leaves lie at each depth of the Huffman tree over `weights`, which ascend.
fn depths(weights: &[u64]) -> Vec<usize> {
    let leaves = weights.len();
    let mut weight = weights.to_vec();
    let mut parent = vec![0; 2 * leaves - 1];
    let (mut leaf, mut inner) = (0, leaves);
    for node in leaves..2 * leaves - 1 {
        let mut lightest = || {
            let take_leaf = leaf < leaves && (inner == node || weights[leaf] <= weight[inner]);
            let place = if take_leaf { &mut leaf } else { &mut inner };
            *place += 1;
            *place - 1
        };
        let (one, other) = (lightest(), lightest());
        (parent[one], parent[other]) = (node, node);
        weight.push(weight[one] + weight[other]);
    }
    let mut depth = vec![0; 2 * leaves - 1];
    let mut counts = vec![0; leaves + 1];
    for node in (0..2 * leaves - 2).rev() {
        depth[node] = depth[parent[node]] + 1;
        if node < leaves {
            counts[depth[node]] += 1;
        }
    }
    counts
}

/// The codes that belong to their lengths (RFC 1951, 3.2.2), with the first bit lowest.
fn codes(lengths: &[u8]) -> Vec<Run> {
    let mut counts = [0u32; 16];
    for length in lengths.iter().filter(|length| **length != 0) {
        counts[usize::from(*length)] += 1;
    }
    let mut next = [0u32; 16];
    for length in 1..16 {
        next[length] = (next[length - 1] + counts[length - 1]) << 1;
    }
    let code = |length: &u8| {
        let count = u32::from(*length);
        if count == 0 {
            return Run::default();
        }
        let next = &mut next[usize::from(*length)];
        *next += 1;
        Run { bits: (*next - 1).reverse_bits() >> (32 - count), count }
    };
    lengths.iter().map(code).collect()
}

/// Bits on their way into bytes.
struct Bits {
    bytes: Vec<u8>,
    /// Where the next bits go; what lies behind is room.
    at: usize,
    waiting: u64,
    count: u32,
}

impl Bits {
    /// Bits that begin at a byte, with room for about so many bytes.
    fn behind(at: usize, bytes: usize) -> Bits {
        // A sixteenth more than a sample promised is nearly always enough.
        Bits { bytes: vec![0; at + bytes + bytes / 16 + 512], at, waiting: 0, count: 0 }
    }

    /// Makes room for `bytes` more.
    fn reserve(&mut self, bytes: usize) {
        if self.bytes.len() < self.at + bytes {
            self.bytes.resize((self.at + bytes) * 2, 0);
        }
    }

    #[inline(always)]
    fn put(&mut self, run: Run) {
        self.put_many(run.bits.into(), run.count);
    }

    /// At most 56 bits. Whole bytes go out at once.
    #[inline(always)]
    fn put_many(&mut self, bits: u64, count: u32) {
        self.waiting |= bits << self.count;
        self.count += count;
        if let Some(room) = self.bytes.get_mut(self.at..self.at + 8) {
            room.copy_from_slice(&self.waiting.to_le_bytes());
        }
        self.at += (self.count / 8) as usize;
        self.waiting >>= self.count & 56;
        self.count &= 7;
    }

    /// An empty stored block, which ends on a byte.
    fn end_on_byte(&mut self) {
        self.reserve(16);
        self.put(Run { bits: 0, count: 3 });
        if self.count != 0 {
            self.put(Run { bits: 0, count: 8 - self.count });
        }
        self.put_many(0xffff_0000, 32);
        self.bytes.truncate(self.at);
    }
}

/// Adler-32 of filtered rows, from pixels that were never laid out as bytes.
struct Checksum {
    a: u64,
    b: u64,
}

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum { a: 1, b: 0 }
    }
}

/// Pixels for which sums of 32 bits cannot overflow: 1024 * 1023 / 2 * 765 < 2^32.
const BLOCK: usize = 1024;

impl Checksum {
    /// Adds a row: one byte of filter, then red, green, blue of each pixel. A byte counts in `b` as often as
    /// there are bytes from it to the end.
    #[inline(always)]
    fn row(&mut self, filter: u8, row: &[u32]) {
        let length = 1 + 3 * row.len() as u64;
        let (mut sum, mut weighted) = (u64::from(filter), u64::from(filter) * length);
        for (index, block) in row.chunks(BLOCK).enumerate() {
            let (mut red, mut green, mut blue, mut placed) = (0u32, 0u32, 0u32, 0u32);
            for (place, pixel) in block.iter().enumerate() {
                let (r, g, b) = (pixel >> 16, pixel >> 8 & 0xff, pixel & 0xff);
                red += r;
                green += g;
                blue += b;
                placed += place as u32 * (r + g + b);
            }
            let after = length - 1 - 3 * (index * BLOCK) as u64;
            let (red, green, blue) = (u64::from(red), u64::from(green), u64::from(blue));
            sum += red + green + blue;
            weighted += red * after + green * (after - 1) + blue * (after - 2) - 3 * u64::from(placed);
        }
        self.b = (self.b + self.a * length + weighted) % ADLER;
        self.a = (self.a + sum) % ADLER;
    }

    fn finished(&self) -> u32 {
        (self.b << 16 | self.a) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_is_longer_than_the_limit_and_all_codes_fit() {
        let fibonacci: Vec<u32> = (0..40)
            .scan((1, 1), |(a, b), _| {
                (*a, *b) = (*b, *a + *b);
                Some(*a)
            })
            .collect();
        for (frequencies, limit) in
            [(&fibonacci[..], 14), (&fibonacci, 7), (&[1; 286], 14), (&[1; 19], 7), (&[5, 0, 9], 7)]
        {
            let lengths = code_lengths(frequencies, limit);
            assert!(lengths.iter().all(|length| usize::from(*length) <= limit));
            let room: usize = lengths
                .iter()
                .filter(|length| **length != 0)
                .map(|length| 1 << (limit - usize::from(*length)))
                .sum();
            assert_eq!(room, 1 << limit);
        }
    }

    #[test]
    fn common_symbols_have_short_codes() {
        let lengths = code_lengths(&[1000, 1, 1, 500, 1, 0], 7);
        assert_eq!((lengths[0], lengths[3], lengths[5]), (1, 2, 0));
    }

    #[test]
    fn the_checksum_of_long_rows_does_not_overflow() {
        let row = vec![0x00ff_ffff; 40_000];
        let mut checksum = Checksum::default();
        checksum.row(UP, &row);
        let (a, b) =
            std::iter::once(UP).chain(std::iter::repeat_n(0xff, 120_000)).fold((1, 0), |(a, b), byte| {
                let a = (a + u64::from(byte)) % ADLER;
                (a, (b + a) % ADLER)
            });
        assert_eq!(u64::from(checksum.finished()), b << 16 | a);
    }
}
