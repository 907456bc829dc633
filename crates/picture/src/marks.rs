//! Numbered boxes over what can be worked: bright with a dark edge, so that they show on light and dark.

use deskhand_core::Rect;
use deskhand_core::screen::Bitmap;

/// Something to mark.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// What its label says.
    pub number: u64,
    /// Where it lies, in pixels of the bitmap.
    pub bounds: Rect,
}

/// Blue, green, red.
type Color = [u8; 3];

const BRIGHT: Color = [0, 221, 255];
const DARK: Color = [0, 0, 0];

/// Digits of 6x9 pixels with thick strokes, a bit for each pixel.
const DIGITS: [[u8; 9]; 10] = [
    [0b011110, 0b110011, 0b110011, 0b110011, 0b110011, 0b110011, 0b110011, 0b110011, 0b011110],
    [0b001100, 0b011100, 0b111100, 0b001100, 0b001100, 0b001100, 0b001100, 0b001100, 0b111111],
    [0b011110, 0b110011, 0b000011, 0b000011, 0b000110, 0b001100, 0b011000, 0b110000, 0b111111],
    [0b011110, 0b110011, 0b000011, 0b000011, 0b001110, 0b000011, 0b000011, 0b110011, 0b011110],
    [0b000110, 0b001110, 0b011110, 0b010110, 0b110110, 0b111111, 0b000110, 0b000110, 0b000110],
    [0b111111, 0b110000, 0b110000, 0b111110, 0b000011, 0b000011, 0b000011, 0b110011, 0b011110],
    [0b001110, 0b011000, 0b110000, 0b111110, 0b110011, 0b110011, 0b110011, 0b110011, 0b011110],
    [0b111111, 0b000011, 0b000011, 0b000110, 0b000110, 0b001100, 0b001100, 0b011000, 0b011000],
    [0b011110, 0b110011, 0b110011, 0b110011, 0b011110, 0b110011, 0b110011, 0b110011, 0b011110],
    [0b011110, 0b110011, 0b110011, 0b110011, 0b011111, 0b000011, 0b000011, 0b000110, 0b011100],
];
const DIGIT: (i32, i32) = (6, 9);
/// The edge of a label and the room inside it.
const ROOM: i32 = 2;

/// The bitmap with all of this marked.
pub fn marked(bitmap: &Bitmap, marks: &[Mark]) -> Bitmap {
    let mut canvas =
        Canvas { width: bitmap.width as i32, height: bitmap.height as i32, pixels: bitmap.pixels.to_vec() };
    for mark in marks {
        canvas.ring(mark.bounds.grown(2), DARK);
        canvas.ring(mark.bounds.grown(1), BRIGHT);
    }
    for (place, mark) in labels(marks, canvas.width, canvas.height).into_iter().zip(marks) {
        canvas.label(place, mark.number);
    }
    Bitmap {
        width: bitmap.width,
        height: bitmap.height,
        pixels: canvas.pixels.into(),
        shows: bitmap.shows,
        serial: super::derived(&(
            bitmap.serial,
            marks.iter().map(|mark| (mark.number, mark.bounds)).collect::<Vec<_>>(),
        )),
        differs: None,
    }
}

/// Where each label goes: beside its box, where it covers the least of other boxes and no other label.
fn labels(marks: &[Mark], width: i32, height: i32) -> Vec<Rect> {
    let mut placed: Vec<Rect> = Vec::with_capacity(marks.len());
    for (own, mark) in marks.iter().enumerate() {
        let cost = |place: &Rect| {
            let boxes = marks.iter().enumerate().map(|(index, other)| {
                let weight = if index == own { 2.0 } else { 1.0 };
                weight * share(place, &other.bounds)
            });
            boxes.sum::<f64>() + placed.iter().map(|label| 4.0 * share(place, label)).sum::<f64>()
        };
        let places = places(mark, width, height);
        let best =
            places.iter().map(|place| (cost(place), *place)).min_by(|one, other| one.0.total_cmp(&other.0));
        placed.push(best.map_or(Rect::default(), |(_, place)| place));
    }
    placed
}

/// How much of `covered` a label covers: all of it is 1.
fn share(label: &Rect, covered: &Rect) -> f64 {
    let common = label.intersection(covered).map_or(0, |common| common.area());
    common as f64 / covered.area().max(1) as f64
}

/// The places beside a box, the usual one first, and in its corner at last; all within the picture.
fn places(mark: &Mark, width: i32, height: i32) -> Vec<Rect> {
    let (wide, high) = label_size(mark.number);
    let edge = mark.bounds.grown(2);
    let (left, top) = (edge.x, edge.y);
    let (right, bottom) = (edge.right() as i32, edge.bottom() as i32);
    let middle = top + (bottom - top - high) / 2;
    [
        (left, top - high + 1),
        (right - wide, top - high + 1),
        (left, bottom - 1),
        (right - wide, bottom - 1),
        (left - wide + 1, middle),
        (right - 1, middle),
        (right - wide, top),
        (left, top),
    ]
    .map(|(x, y)| {
        let (x, y) = (x.min(width - wide).max(0), y.min(height - high).max(0));
        Rect::new(x, y, wide.unsigned_abs(), high.unsigned_abs())
    })
    .to_vec()
}

fn label_size(number: u64) -> (i32, i32) {
    let digits = number.checked_ilog10().unwrap_or(0) as i32 + 1;
    (digits * (DIGIT.0 + 1) - 1 + 2 * ROOM, DIGIT.1 + 2 * ROOM)
}

struct Canvas {
    width: i32,
    height: i32,
    pixels: Vec<u8>,
}

impl Canvas {
    fn set(&mut self, x: i32, y: i32, color: Color) {
        if (0..self.width).contains(&x) && (0..self.height).contains(&y) {
            let at = (y as usize * self.width as usize + x as usize) * 4;
            self.pixels[at..at + 3].copy_from_slice(&color);
        }
    }

    fn fill(&mut self, area: Rect, color: Color) {
        for y in area.y..area.bottom() as i32 {
            for x in area.x..area.right() as i32 {
                self.set(x, y, color);
            }
        }
    }

    fn ring(&mut self, area: Rect, color: Color) {
        let (right, bottom) = (area.right() as i32 - 1, area.bottom() as i32 - 1);
        let thin = |x, y, width, height| Rect::new(x, y, width, height);
        self.fill(thin(area.x, area.y, area.width, 1), color);
        self.fill(thin(area.x, bottom, area.width, 1), color);
        self.fill(thin(area.x, area.y, 1, area.height), color);
        self.fill(thin(right, area.y, 1, area.height), color);
    }

    fn label(&mut self, place: Rect, number: u64) {
        self.fill(place, DARK);
        self.fill(place.grown(-1), BRIGHT);
        for (index, digit) in number.to_string().bytes().enumerate() {
            let left = place.x + ROOM + index as i32 * (DIGIT.0 + 1);
            for (row, bits) in DIGITS[usize::from(digit - b'0')].iter().enumerate() {
                for column in (0..DIGIT.0).filter(|column| bits >> (DIGIT.0 - 1 - column) & 1 == 1) {
                    self.set(left + column, place.y + ROOM + row as i32, DARK);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_off_other_controls_and_each_other() {
        // Two rows of small buttons with just enough room between the rows.
        let mark = |n: i32| Mark {
            number: n as u64 + 8,
            bounds: Rect::new(20 + n % 5 * 26, 30 + n / 5 * 60, 24, 24),
        };
        let marks: Vec<Mark> = (0..10).map(mark).collect();
        let labels = labels(&marks, 400, 300);
        for (index, label) in labels.iter().enumerate() {
            for other in &marks {
                assert!(share(label, &other.bounds) < 0.1, "{label} covers {}", other.bounds);
            }
            for other in &labels[..index] {
                assert_eq!(label.intersection(other), None);
            }
        }
    }

    #[test]
    fn marks_at_the_edges_stay_inside() {
        let bitmap = Bitmap {
            width: 40,
            height: 30,
            pixels: vec![128; 40 * 30 * 4].into(),
            shows: Rect::new(0, 0, 40, 30),
            serial: 1,
            differs: None,
        };
        let marks = [
            (1, Rect::new(0, 0, 40, 30)),
            (u64::MAX, Rect::new(-5, -5, 10, 10)),
            (3, Rect::new(39, 29, 1, 1)),
        ];
        let marked = marked(&bitmap, &marks.map(|(number, bounds)| Mark { number, bounds }));
        assert_eq!(marked.pixels.len(), bitmap.pixels.len());
        assert!(marked.pixels != bitmap.pixels && marked.serial != bitmap.serial);
    }
}
