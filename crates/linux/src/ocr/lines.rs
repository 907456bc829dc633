//! Where the text of a screen may be, line by line, as black on white.
//!
//! Screens are not paper: there is no noise, and what lies behind letters is flat or a gentle gradient. So
//! areas of one color that are large and not shaped like letters are background, and everything else is
//! ink, as dark as it differs from the background beside it. That treats light on dark, colors and pale text
//! alike. Pieces of ink that stand beside each other and are of about one height make a line.

use deskhand_core::Rect;
use deskhand_core::screen::Bitmap;

/// What may be a line of text.
pub(super) struct Line {
    /// Where it lies in the bitmap.
    pub(super) bounds: Rect,
    /// A byte for each pixel of it: 0 is ink, 255 is not.
    pub(super) ink: Vec<u8>,
}

/// Colors this near, in each channel, are one color: gradients go on.
const ALIKE: u8 = 2;
/// Rows this long are one background when their colors are this near.
const LONG: u32 = 24;
const STEEP: u8 = 14;
/// What differs less than this from its background is none of it, and no ink either.
const FAINT: u8 = 28;
/// The lowest and the highest letters that are read.
const LOWEST: i32 = 5;
const HIGHEST: i32 = 90;
/// One line of letters is at the most so much higher than another that belongs to it.
const UNLIKE: f32 = 2.3;

/// The lines of a bitmap from its top.
pub(super) fn find(bitmap: &Bitmap) -> Vec<Line> {
    let (width, height) = (bitmap.width as usize, bitmap.height as usize);
    let pixels = bitmap.pixels.as_chunks::<4>().0;
    if width == 0 || pixels.len() < width * height {
        return Vec::new();
    }
    let ink = ink(&pixels[..width * height], width);
    let mut lines = grouped(blobs(&ink, width), &Walls { ink: &ink, width });
    lines.retain(|line| {
        let (across, down) = (line.right - line.left, line.bottom - line.top);
        3 <= across && (LOWEST..=HIGHEST).contains(&down)
    });
    lines.sort_unstable_by_key(|line| (line.top + line.bottom, line.left));
    lines.iter().map(|line| cut_out(&ink, width, line)).collect()
}

/// A row's worth of neighbors that belong together.
struct Run {
    row: u32,
    start: u32,
    end: u32,
}

/// Runs joined to areas: which run stands for each.
struct Areas(Vec<u32>);

impl Areas {
    fn of(&mut self, run: usize) -> usize {
        let mut run = run;
        while self.0[run] as usize != run {
            // Halving the way keeps it short for those who come later.
            self.0[run] = self.0[self.0[run] as usize];
            run = self.0[run] as usize;
        }
        run
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        let (first, last) = (one.min(other), one.max(other));
        self.0[last] = first as u32;
    }
}

/// The place and the size of an area.
#[derive(Clone, Copy)]
struct Piece {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
    pixels: u32,
}

impl Piece {
    fn of(run: &Run) -> Piece {
        let (left, right, row) = (run.start as i32, run.end as i32, run.row as i32);
        Piece { left, top: row, right, bottom: row + 1, pixels: run.end - run.start }
    }

    fn with(self, other: Piece) -> Piece {
        Piece {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
            pixels: self.pixels + other.pixels,
        }
    }

    fn width(&self) -> i32 {
        self.right - self.left
    }

    fn height(&self) -> i32 {
        self.bottom - self.top
    }
}

/// Joins the runs of neighboring rows that touch, `reach` pixels aslant, and fit each other.
fn areas(runs: &[Run], reach: u32, fits: impl Fn(&Run, &Run) -> bool) -> Areas {
    let mut areas = Areas((0..runs.len() as u32).collect());
    let mut above = 0;
    for (index, run) in runs.iter().enumerate() {
        // The first run of the row above that does not end before this one begins.
        while above < index && (runs[above].row + 1 < run.row || is_before(&runs[above], run, reach)) {
            above += 1;
        }
        let touching = runs[above..index]
            .iter()
            .take_while(|other| other.row + 1 == run.row && other.start < run.end + reach);
        for (offset, other) in touching.enumerate() {
            if fits(other, run) {
                areas.join(above + offset, index);
            }
        }
    }
    areas
}

fn is_before(other: &Run, run: &Run, reach: u32) -> bool {
    other.row + 1 == run.row && other.end + reach <= run.start
}

/// What differs from its background, and by how much: a byte for each pixel.
fn ink(pixels: &[[u8; 4]], width: usize) -> Vec<u8> {
    let runs = runs_of_color(pixels, width);
    let mut areas = areas(&runs, 0, |above, below| {
        let x = above.start.max(below.start) as usize;
        let step =
            difference(&pixels[above.row as usize * width + x], &pixels[below.row as usize * width + x]);
        // The rows of a title bar's gradient differ more, and letters have no runs as long.
        let long = LONG <= (above.end - above.start).min(below.end - below.start);
        step <= if long { STEEP } else { ALIKE }
    });
    let mut pieces: Vec<Option<Piece>> = vec![None; runs.len()];
    for (index, run) in runs.iter().enumerate() {
        let area = areas.of(index);
        let piece = Piece::of(run);
        pieces[area] = Some(pieces[area].map_or(piece, |all| all.with(piece)));
    }
    let mut is_ground = |index: usize| pieces[areas.of(index)].as_ref().is_some_and(is_background);
    let mut ink = vec![0; pixels.len()];
    let mut next = 0;
    while next < runs.len() {
        let row = runs[next].row;
        let end = next + runs[next..].iter().take_while(|run| run.row == row).count();
        let ground: Vec<&Run> =
            (next..end).filter(|index| is_ground(*index)).map(|index| &runs[index]).collect();
        let start = row as usize * width;
        ink_of_row(&pixels[start..start + width], &ground, &mut ink[start..start + width]);
        next = end;
    }
    ink
}

fn runs_of_color(pixels: &[[u8; 4]], width: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    for (row, pixels) in pixels.chunks_exact(width).enumerate() {
        let mut start = 0;
        for x in 1..=width {
            if x == width || !alike(&pixels[x - 1], &pixels[x]) {
                runs.push(Run { row: row as u32, start: start as u32, end: x as u32 });
                start = x;
            }
        }
    }
    runs
}

fn alike(one: &[u8; 4], other: &[u8; 4]) -> bool {
    one[..3] == other[..3] || difference(one, other) <= ALIKE
}

/// How far two colors are apart in the channel where they are farthest: red on green of the same
/// brightness can be read by people too.
fn difference(one: &[u8; 4], other: &[u8; 4]) -> u8 {
    let [blue, green, red] = [0, 1, 2].map(|channel| one[channel].abs_diff(other[channel]));
    blue.max(green).max(red)
}

/// Large areas are background, and so are smaller ones that are wider than letters and mostly full: the
/// faces of buttons.
fn is_background(piece: &Piece) -> bool {
    let (width, height) = (piece.width(), piece.height());
    let full = i64::from(width) * i64::from(height) <= i64::from(piece.pixels) * 2;
    2500 <= piece.pixels || (20 <= width && 12 <= height && height * 6 <= width * 5 && full)
}

/// One row: each pixel against the background that is nearest in it.
fn ink_of_row(pixels: &[[u8; 4]], ground: &[&Run], ink: &mut [u8]) {
    let mut left: Option<usize> = None;
    let mut begin = 0;
    let ends = ground.iter().map(|run| (run.start as usize, run.end as usize));
    for (start, end) in ends.chain([(pixels.len(), pixels.len() + 1)]) {
        let right = (start < pixels.len()).then_some(start);
        for x in begin..start {
            let near = match (left, right) {
                (Some(left), Some(right)) if right - x < x - left => Some(right),
                (Some(left), _) => Some(left),
                (None, right) => right,
            };
            if let Some(near) = near {
                let difference = difference(&pixels[x], &pixels[near]);
                ink[x] = if difference < FAINT / 4 { 0 } else { difference };
            }
        }
        begin = end;
        left = Some(end.saturating_sub(1));
    }
}

/// The edges of frames, rules and windows: what stands on both sides of one does not belong together.
struct Walls<'i> {
    ink: &'i [u8],
    width: usize,
}

impl Walls<'_> {
    /// Whether one stands in the gap: a column of ink that is higher than both.
    fn part(&self, left: &Growing, right: &Growing) -> bool {
        let (left, right) = (&left.piece, &right.piece);
        let rows = left.top.min(right.top) - 2..left.bottom.max(right.bottom) + 2;
        let is_ink = |x: i32, y: i32| {
            let at = usize::try_from(y).ok().map(|y| y * self.width + x.unsigned_abs() as usize);
            // What stands at the edge of the picture goes on beyond it.
            at.and_then(|at| self.ink.get(at)).is_none_or(|ink| FAINT <= *ink)
        };
        (left.right..right.left).any(|x| rows.clone().all(|y| is_ink(x, y)))
    }
}

/// The pieces of ink that hang together, without those that are no letters: frames, rules, pictures.
fn blobs(ink: &[u8], width: usize) -> Vec<Piece> {
    let mut runs = Vec::new();
    for (row, ink) in ink.chunks_exact(width).enumerate() {
        let mut x = 0;
        while let Some(start) = ink[x..].iter().position(|ink| FAINT <= *ink) {
            let start = x + start;
            let end = ink[start..].iter().position(|ink| *ink < FAINT).map_or(width, |more| start + more);
            runs.push(Run { row: row as u32, start: start as u32, end: end as u32 });
            x = end;
        }
    }
    let mut areas = areas(&runs, 1, |_, _| true);
    let mut pieces: Vec<Option<Piece>> = vec![None; runs.len()];
    for (index, run) in runs.iter().enumerate() {
        let area = areas.of(index);
        let piece = Piece::of(run);
        pieces[area] = Some(pieces[area].map_or(piece, |all| all.with(piece)));
    }
    // How much of its first and of its last row is ink tells a frame from letters.
    let mut edges = vec![(0, 0); runs.len()];
    for (index, run) in runs.iter().enumerate() {
        let area = areas.of(index);
        let Some(piece) = &pieces[area] else { continue };
        let length = run.end - run.start;
        edges[area].0 += if run.row as i32 == piece.top { length } else { 0 };
        edges[area].1 += if run.row as i32 == piece.bottom - 1 { length } else { 0 };
    }
    let letters = pieces.into_iter().zip(edges).filter_map(|(piece, edges)| Some((piece?, edges)));
    letters.filter(|(piece, edges)| may_be_letters(piece, *edges)).map(|(piece, _)| piece).collect()
}

fn may_be_letters(piece: &Piece, (first, last): (u32, u32)) -> bool {
    let (width, height) = (piece.width(), piece.height());
    let is_rule = (height <= 2 && 24 <= width) || (width <= 2 && 34 <= height);
    let most = width.unsigned_abs() * 3 / 5;
    let is_thin = piece.pixels <= 4 * (width + height).unsigned_abs();
    let is_frame = 24 <= width && 12 <= height && most <= first && most <= last && is_thin;
    !is_rule && !is_frame && height <= HIGHEST
}

/// A line while it grows.
#[derive(Clone, Copy)]
struct Growing {
    piece: Piece,
    /// The heights of its pieces together, and how many there are, without dots.
    heights: i32,
    count: i32,
}

impl Growing {
    fn new(piece: Piece) -> Growing {
        let counts = i32::from(LOWEST <= piece.height());
        Growing { piece, heights: piece.height() * counts, count: counts }
    }

    /// The height of its letters on the average.
    fn usual(&self) -> f32 {
        if self.count == 0 { self.piece.height() as f32 } else { self.heights as f32 / self.count as f32 }
    }

    /// The widest gap that does not end it.
    fn reach(&self) -> i32 {
        8.max((self.usual() * 1.6) as i32)
    }

    /// Whether both are of one line, if the gap between them is small enough.
    fn suits(&self, other: &Growing) -> bool {
        let (one, two) = (&self.piece, &other.piece);
        let common = one.bottom.min(two.bottom) - one.top.max(two.top);
        let lower = one.height().min(two.height());
        if common * 2 < lower {
            return false;
        }
        // Dots, dashes and quotes go with every line that they are level with.
        self.count == 0 || other.count == 0 || {
            let ratio = self.usual() / other.usual();
            (1.0 / UNLIKE..UNLIKE).contains(&ratio)
        }
    }

    fn with(&self, other: &Growing) -> Growing {
        Growing {
            piece: self.piece.with(other.piece),
            heights: self.heights + other.heights,
            count: self.count + other.count,
        }
    }
}

/// Pieces that stand beside each other, as lines.
fn grouped(mut pieces: Vec<Piece>, walls: &Walls) -> Vec<Piece> {
    pieces.sort_unstable_by_key(|piece| (piece.left, piece.top));
    let mut lines: Vec<Growing> = Vec::new();
    // Those that may still grow: pieces come from the left to the right.
    let mut open: Vec<usize> = Vec::new();
    for piece in pieces {
        let piece = Growing::new(piece);
        open.retain(|index| piece.piece.left <= lines[*index].piece.right + HIGHEST * 2);
        let near = open.iter().copied().filter(|index| {
            let line = &lines[*index];
            let gap = piece.piece.left - line.piece.right;
            gap <= line.reach().max(piece.reach()) && line.suits(&piece) && !walls.part(line, &piece)
        });
        match near.max_by_key(|index| lines[*index].piece.right) {
            Some(index) => lines[index] = lines[index].with(&piece),
            None => {
                open.push(lines.len());
                lines.push(piece);
            }
        }
    }
    with_accents(joined(lines, walls))
}

/// What grew apart because a dash or an accent came first.
fn joined(mut lines: Vec<Growing>, walls: &Walls) -> Vec<Growing> {
    for _ in 0..3 {
        let before = lines.len();
        let mut whole: Vec<Growing> = Vec::with_capacity(before);
        lines.sort_unstable_by_key(|line| line.piece.left);
        for line in lines {
            let near = whole.iter_mut().find(|other| {
                let gap = line.piece.left - other.piece.right;
                gap <= other.reach().min(line.reach()) && other.suits(&line) && !walls.part(other, &line)
            });
            match near {
                Some(other) => *other = other.with(&line),
                None => whole.push(line),
            }
        }
        lines = whole;
        if lines.len() == before {
            break;
        }
    }
    lines
}

/// Dots and accents stand above their letters, and cedillas below: level with no letter, but with a line.
fn with_accents(lines: Vec<Growing>) -> Vec<Piece> {
    let (small, mut lines): (Vec<_>, Vec<_>) =
        lines.into_iter().partition(|line| line.piece.height() < 6 && line.piece.width() < 40);
    let mut alone = Vec::new();
    for accent in small {
        let distance = |line: &Growing| {
            let (line, accent) = (&line.piece, &accent.piece);
            (line.top - accent.bottom).max(accent.top - line.bottom)
        };
        let host = lines.iter_mut().filter(|line| {
            let (piece, accent) = (&line.piece, &accent.piece);
            let within = piece.left - 2 <= accent.left && accent.right <= piece.right + 2;
            within && distance(line) as f32 <= line.usual() / 2.0
        });
        match host.min_by_key(|line| distance(line)) {
            Some(line) => line.piece = line.piece.with(accent.piece),
            None => alone.push(accent),
        }
    }
    lines.extend(alone);
    lines.into_iter().map(|line| line.piece).collect()
}

/// The ink of a line, stretched so that its darkest pixel is black.
fn cut_out(ink: &[u8], width: usize, line: &Piece) -> Line {
    let (left, right) = (line.left as usize, line.right as usize);
    let rows =
        || (line.top as usize..line.bottom as usize).map(|row| &ink[row * width + left..row * width + right]);
    let darkest = rows().flatten().copied().max().unwrap_or(255).max(1);
    let black = |ink: &u8| 255 - (u16::from(*ink) * 255 / u16::from(darkest)).min(255) as u8;
    Line {
        bounds: Rect::new(line.left, line.top, (right - left) as u32, line.height().unsigned_abs()),
        ink: rows().flatten().map(black).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A screen of one color.
    fn screen(width: u32, height: u32, color: [u8; 3]) -> Vec<[u8; 4]> {
        vec![[color[0], color[1], color[2], 0]; (width * height) as usize]
    }

    fn fill(pixels: &mut [[u8; 4]], width: usize, area: Rect, color: [u8; 3]) {
        for y in area.y as usize..area.bottom() as usize {
            for x in area.x as usize..area.right() as usize {
                pixels[y * width + x] = [color[0], color[1], color[2], 0];
            }
        }
    }

    /// Something like letters, 8 high, one in 8 pixels.
    fn letters(pixels: &mut [[u8; 4]], width: usize, (x, y): (i32, i32), count: i32, color: [u8; 3]) {
        for n in 0..count {
            fill(pixels, width, Rect::new(x + n * 8, y, 2, 8), color);
            fill(pixels, width, Rect::new(x + n * 8, y + 3, 6, 2), color);
        }
    }

    fn found(pixels: &[[u8; 4]], width: u32) -> Vec<Line> {
        let height = pixels.len() as u32 / width;
        find(&Bitmap {
            width,
            height,
            pixels: pixels.concat().into(),
            shows: Rect::new(0, 0, width, height),
            serial: 1,
            differs: None,
        })
    }

    #[test]
    fn light_on_dark_and_pale_text_are_black_on_white() {
        for (ground, color) in
            [([255; 3], [0; 3]), ([20; 3], [230; 3]), ([240; 3], [200; 3]), ([0, 0, 200], [0, 150, 0])]
        {
            let mut pixels = screen(300, 60, ground);
            letters(&mut pixels, 300, (40, 20), 10, color);
            let lines = found(&pixels, 300);
            assert_eq!(lines.iter().map(|line| line.bounds).collect::<Vec<_>>(), [Rect::new(40, 20, 78, 8)]);
            assert!(lines[0].ink.contains(&0) && lines[0].ink.contains(&255));
        }
    }

    #[test]
    fn frames_and_rules_are_no_text_and_what_is_in_them_is() {
        let mut pixels = screen(400, 100, [255; 3]);
        fill(&mut pixels, 400, Rect::new(10, 10, 200, 30), [90; 3]);
        fill(&mut pixels, 400, Rect::new(11, 11, 198, 28), [235; 3]);
        letters(&mut pixels, 400, (20, 20), 6, [0; 3]);
        fill(&mut pixels, 400, Rect::new(0, 60, 400, 1), [0; 3]);
        letters(&mut pixels, 400, (20, 70), 6, [0; 3]);
        let bounds: Vec<Rect> = found(&pixels, 400).iter().map(|line| line.bounds).collect();
        assert_eq!(bounds, [Rect::new(20, 20, 46, 8), Rect::new(20, 70, 46, 8)]);
    }

    #[test]
    fn columns_are_apart_and_words_are_not() {
        let mut pixels = screen(600, 40, [255; 3]);
        letters(&mut pixels, 600, (10, 10), 5, [0; 3]);
        letters(&mut pixels, 600, (56, 10), 5, [0; 3]);
        letters(&mut pixels, 600, (300, 10), 5, [0; 3]);
        let bounds: Vec<Rect> = found(&pixels, 600).iter().map(|line| line.bounds).collect();
        assert_eq!(bounds, [Rect::new(10, 10, 84, 8), Rect::new(300, 10, 38, 8)]);
    }

    #[test]
    fn windows_side_by_side_are_read_by_themselves() {
        let mut pixels = screen(300, 120, [255; 3]);
        fill(&mut pixels, 300, Rect::new(60, 0, 1, 120), [60; 3]);
        letters(&mut pixels, 300, (10, 50), 6, [0; 3]);
        letters(&mut pixels, 300, (63, 50), 6, [0; 3]);
        let bounds: Vec<Rect> = found(&pixels, 300).iter().map(|line| line.bounds).collect();
        assert_eq!(bounds, [Rect::new(10, 50, 46, 8), Rect::new(63, 50, 46, 8)]);
    }

    #[test]
    fn gradients_are_background() {
        let mut pixels = screen(300, 24, [0; 3]);
        for y in 0..24 {
            fill(&mut pixels, 300, Rect::new(0, y, 300, 1), [200 - y as u8 * 5, 160 - y as u8 * 5, 120]);
        }
        letters(&mut pixels, 300, (100, 8), 10, [255; 3]);
        let bounds: Vec<Rect> = found(&pixels, 300).iter().map(|line| line.bounds).collect();
        assert_eq!(bounds, [Rect::new(100, 8, 78, 8)]);
    }

    #[test]
    fn odd_bitmaps_have_no_lines_and_break_nothing() {
        assert!(found(&screen(1, 1, [3; 3]), 1).is_empty());
        assert!(found(&screen(50, 50, [3; 3]), 50).is_empty());
        let noise: Vec<[u8; 4]> =
            (0..90_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 3).to_le_bytes()).collect();
        found(&noise, 300);
    }
}
