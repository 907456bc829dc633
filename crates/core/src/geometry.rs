//! Points, rectangles and displays, and the only place where frames turn into screen pixels.
//!
//! Everything is in global physical pixels with the origin at the top left of the primary display; other
//! displays may lie at negative coordinates. A [`Frame`] is any other coordinate system: a display, a
//! window, or a picture that was scaled on its way to the caller.

use crate::error::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point in global physical pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Distance from the left edge of the primary display; negative to its left.
    pub x: i32,
    /// Distance from the top edge of the primary display; negative above it.
    pub y: i32,
}

/// A size in physical pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Size {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// A rectangle in global physical pixels. Its right and bottom edges are outside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Top edge.
    pub y: i32,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

impl Point {
    /// The point at `x`, `y`.
    pub const fn new(x: i32, y: i32) -> Point {
        Point { x, y }
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

impl std::fmt::Display for Rect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{} at ({}, {})", self.width, self.height, self.x, self.y)
    }
}

impl Rect {
    /// The rectangle with its top left corner at `x`, `y`.
    pub const fn new(x: i32, y: i32, width: u32, height: u32) -> Rect {
        Rect { x, y, width, height }
    }

    /// The top left corner.
    pub const fn origin(&self) -> Point {
        Point::new(self.x, self.y)
    }

    /// Width and height.
    pub const fn size(&self) -> Size {
        Size { width: self.width, height: self.height }
    }

    /// One past the last column.
    pub const fn right(&self) -> i64 {
        self.x as i64 + self.width as i64
    }

    /// One past the last row.
    pub const fn bottom(&self) -> i64 {
        self.y as i64 + self.height as i64
    }

    /// Whether it covers no pixel.
    pub const fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// Whether the pixel at `point` belongs to it.
    pub const fn contains(&self, point: Point) -> bool {
        self.x <= point.x
            && (point.x as i64) < self.right()
            && self.y <= point.y
            && (point.y as i64) < self.bottom()
    }

    /// The pixel in the middle; of an even number the right or lower one.
    pub const fn center(&self) -> Point {
        Point::new(
            clamp_to_i32(self.x as i64 + self.width as i64 / 2),
            clamp_to_i32(self.y as i64 + self.height as i64 / 2),
        )
    }

    /// What is left of it without another rectangle: at most four parts, which do not overlap.
    pub fn without(&self, other: &Rect) -> Vec<Rect> {
        let Some(hole) = self.intersection(other) else { return vec![*self] };
        let across = |from: i64, to: i64| u32::try_from(to - from).unwrap_or(0);
        let (top, bottom) = (i64::from(hole.y), hole.bottom());
        let parts = [
            Rect { height: across(self.y.into(), top), ..*self },
            Rect { y: hole.y, height: hole.height, width: across(self.x.into(), hole.x.into()), ..*self },
            Rect {
                x: i32::try_from(hole.right()).unwrap_or(i32::MAX),
                y: hole.y,
                width: across(hole.right(), self.right()),
                height: hole.height,
            },
            Rect {
                y: i32::try_from(bottom).unwrap_or(i32::MAX),
                height: across(bottom, self.bottom()),
                ..*self
            },
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect()
    }

    /// What both cover, if anything.
    pub fn intersection(&self, other: &Rect) -> Option<Rect> {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let width = self.right().min(other.right()) - i64::from(x);
        let height = self.bottom().min(other.bottom()) - i64::from(y);
        if width <= 0 || height <= 0 {
            return None;
        }
        Some(Rect::new(x, y, u32::try_from(width).ok()?, u32::try_from(height).ok()?))
    }

    /// The smallest rectangle around both.
    pub fn union(&self, other: &Rect) -> Rect {
        if self.is_empty() {
            return *other;
        }
        if other.is_empty() {
            return *self;
        }
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        let width = self.right().max(other.right()) - i64::from(x);
        let height = self.bottom().max(other.bottom()) - i64::from(y);
        Rect::new(x, y, clamp_to_u32(width), clamp_to_u32(height))
    }

    /// The same size, moved.
    pub const fn translated(&self, dx: i32, dy: i32) -> Rect {
        Rect::new(self.x.saturating_add(dx), self.y.saturating_add(dy), self.width, self.height)
    }

    /// Grown by `by` pixels on every side (shrunk where `by` is negative).
    pub fn grown(&self, by: i32) -> Rect {
        Rect::new(
            self.x.saturating_sub(by),
            self.y.saturating_sub(by),
            clamp_to_u32(i64::from(self.width) + 2 * i64::from(by)),
            clamp_to_u32(i64::from(self.height) + 2 * i64::from(by)),
        )
    }

    /// Pixels in it.
    pub const fn area(&self) -> u64 {
        self.width as u64 * self.height as u64
    }
}

const fn clamp_to_i32(value: i64) -> i32 {
    if value < i32::MIN as i64 {
        i32::MIN
    } else if value > i32::MAX as i64 {
        i32::MAX
    } else {
        value as i32
    }
}

const fn clamp_to_u32(value: i64) -> u32 {
    if value < 0 {
        0
    } else if value > u32::MAX as i64 {
        u32::MAX
    } else {
        value as u32
    }
}

/// A display (a monitor, a virtual output).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Display {
    /// 0 is the primary display; the rest follow by left edge, then top.
    pub index: u32,
    /// The system's own name for it, stable while it is plugged in.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// Where it lies.
    pub bounds: Rect,
    /// What panels and docks leave free.
    pub work_area: Rect,
    /// Physical pixels per logical one.
    pub scale: f64,
    /// Frames a second, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_hz: Option<f64>,
    /// Whether it is the primary display.
    pub primary: bool,
    /// Which way it is turned.
    pub orientation: Orientation,
}

/// Which way a display is turned: whether it is wider than high, and whether its picture stands on its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Orientation {
    /// At least as wide as high.
    Landscape,
    /// Higher than wide.
    Portrait,
    /// Landscape, turned by half a turn.
    LandscapeFlipped,
    /// Portrait, turned to the right instead of to the left.
    PortraitFlipped,
}

impl Orientation {
    /// Of a display that shows so much.
    pub const fn of(bounds: Rect, flipped: bool) -> Orientation {
        match (bounds.height <= bounds.width, flipped) {
            (true, false) => Orientation::Landscape,
            (false, false) => Orientation::Portrait,
            (true, true) => Orientation::LandscapeFlipped,
            (false, true) => Orientation::PortraitFlipped,
        }
    }
}

/// Puts displays into the order in which they are counted: the primary one, then by left edge, then top.
pub fn number_displays(displays: &mut [Display]) {
    displays.sort_by_key(|display| (!display.primary, display.bounds.x, display.bounds.y));
    for (index, display) in displays.iter_mut().enumerate() {
        display.index = u32::try_from(index).unwrap_or(u32::MAX);
    }
}

/// The display at a point.
pub fn display_at(displays: &[Display], point: Point) -> Option<&Display> {
    displays.iter().find(|display| display.bounds.contains(point))
}

/// The display that shows the most of a rectangle.
pub fn display_of<'a>(displays: &'a [Display], rect: &Rect) -> Option<&'a Display> {
    displays
        .iter()
        .filter_map(|display| Some((display.bounds.intersection(rect)?.area(), display)))
        .max_by_key(|(area, display)| (*area, std::cmp::Reverse(display.index)))
        .map(|(_, display)| display)
}

/// Everything that all displays cover together.
pub fn desktop_bounds(displays: &[Display]) -> Rect {
    displays.iter().fold(Rect::default(), |all, display| all.union(&display.bounds))
}

/// Refuses a point that no display shows, naming what would be valid.
pub fn require_on_screen(displays: &[Display], point: Point) -> Result<&Display> {
    display_at(displays, point).ok_or_else(|| {
        Error::new(Code::CoordinatesOutOfBounds, format!("The point {point} lies on no display."))
            .expected("a point inside one of the displays")
            .found(displays.iter().map(|display| format!("display {}: {}", display.index, display.bounds)))
    })
}

/// A coordinate system other than the screen's: where its origin lies and how large its pixels are.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What it is, for messages: `display 1`, `window 7`, `image i3`.
    pub name: String,
    /// The screen pixels that it shows.
    pub shows: Rect,
    /// Its own size in its own pixels.
    pub size: Size,
}

impl Frame {
    /// A frame whose pixels are screen pixels.
    pub fn unscaled(name: impl Into<String>, shows: Rect) -> Frame {
        Frame { name: name.into(), shows, size: shows.size() }
    }

    /// The screen pixel under a point of this frame. Fractions are truncated after scaling; a point of a
    /// reduced picture means the middle of the screen pixels that it stands for.
    pub fn to_screen(&self, x: f64, y: f64) -> Result<Point> {
        let (width, height) = (f64::from(self.size.width), f64::from(self.size.height));
        if !(x.is_finite() && y.is_finite()) || x < 0.0 || y < 0.0 || x >= width || y >= height {
            return Err(Error::new(
                Code::CoordinatesOutOfBounds,
                format!("The point ({x}, {y}) lies outside {}.", self.name),
            )
            .expected(format!(
                "0 <= x < {} and 0 <= y < {}, relative to {}",
                self.size.width, self.size.height, self.name
            )));
        }
        let along = |value: f64, own: u32, screen: u32| {
            if own == screen {
                return value.trunc();
            }
            let ratio = f64::from(screen) / f64::from(own);
            let middle = if ratio > 1.0 { 0.5 } else { 0.0 };
            ((value.trunc() + middle) * ratio).floor().min(f64::from(screen) - 1.0)
        };
        Ok(Point::new(
            clamp_to_i32(i64::from(self.shows.x) + along(x, self.size.width, self.shows.width) as i64),
            clamp_to_i32(i64::from(self.shows.y) + along(y, self.size.height, self.shows.height) as i64),
        ))
    }

    /// Where a screen pixel lies in this frame, if it is shown there.
    pub fn from_screen(&self, point: Point) -> Option<(u32, u32)> {
        if !self.shows.contains(point) {
            return None;
        }
        let along = |distance: i64, own: u32, screen: u32| {
            u32::try_from(distance * i64::from(own) / i64::from(screen)).unwrap_or(0)
        };
        Some((
            along(i64::from(point.x) - i64::from(self.shows.x), self.size.width, self.shows.width),
            along(i64::from(point.y) - i64::from(self.shows.y), self.size.height, self.shows.height),
        ))
    }

    /// Where the part of a rectangle that it shows lies in this frame, to whole pixels outward.
    pub fn rect_from_screen(&self, rect: Rect) -> Option<Rect> {
        let seen = self.shows.intersection(&rect)?;
        let along = |distance: i64, own: u32, screen: u32| distance * i64::from(own) / i64::from(screen);
        let up = |distance: i64, own: u32, screen: u32| {
            (distance * i64::from(own) + i64::from(screen) - 1) / i64::from(screen)
        };
        let (left, top) = (i64::from(self.shows.x), i64::from(self.shows.y));
        let (size, shows) = (self.size, self.shows);
        let x = along(i64::from(seen.x) - left, size.width, shows.width);
        let y = along(i64::from(seen.y) - top, size.height, shows.height);
        let width = up(seen.right() - left, size.width, shows.width) - x;
        let height = up(seen.bottom() - top, size.height, shows.height) - y;
        Some(Rect::new(clamp_to_i32(x), clamp_to_i32(y), clamp_to_u32(width), clamp_to_u32(height)))
    }

    /// Its pixels per screen pixel, horizontally.
    pub fn scale(&self) -> f64 {
        if self.shows.width == 0 { 1.0 } else { f64::from(self.size.width) / f64::from(self.shows.width) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn display(bounds: Rect, primary: bool) -> Display {
        Display {
            index: 0,
            id: String::new(),
            name: String::new(),
            bounds,
            work_area: bounds,
            scale: 1.0,
            refresh_hz: None,
            primary,
            orientation: Orientation::of(bounds, false),
        }
    }

    #[test]
    fn a_display_is_turned_as_it_shows() {
        let (wide, high, square) = (Rect::new(0, 0, 4, 3), Rect::new(0, 0, 3, 4), Rect::new(0, 0, 3, 3));
        assert_eq!(Orientation::of(wide, false), Orientation::Landscape);
        assert_eq!(Orientation::of(square, false), Orientation::Landscape);
        assert_eq!(Orientation::of(high, false), Orientation::Portrait);
        assert_eq!(Orientation::of(wide, true), Orientation::LandscapeFlipped);
        assert_eq!(Orientation::of(high, true), Orientation::PortraitFlipped);
    }

    #[test]
    fn the_primary_display_comes_first_then_from_left_to_right() {
        let mut displays = [
            display(Rect::new(2560, 0, 1920, 1080), false),
            display(Rect::new(-1080, -200, 1080, 1920), false),
            display(Rect::new(0, 0, 2560, 1440), true),
        ];
        number_displays(&mut displays);
        let lefts: Vec<_> = displays.iter().map(|display| display.bounds.x).collect();
        assert_eq!(lefts, [0, -1080, 2560]);
        assert_eq!(require_on_screen(&displays, Point::new(-1, 0)).unwrap().index, 1);
    }

    #[test]
    fn a_point_between_displays_is_refused_with_the_valid_bounds() {
        let displays =
            [display(Rect::new(0, 0, 100, 100), true), display(Rect::new(100, 50, 100, 100), false)];
        let error = require_on_screen(&displays, Point::new(150, 10)).unwrap_err();
        assert_eq!(error.code, Code::CoordinatesOutOfBounds);
        assert_eq!(error.detail.found.len(), 2);
    }

    #[test]
    fn fractions_are_truncated() {
        let frame = Frame::unscaled("display 0", Rect::new(-100, 0, 100, 100));
        assert_eq!(frame.to_screen(10.9, 0.2).unwrap(), Point::new(-90, 0));
        assert!(frame.to_screen(-0.5, 0.0).is_err());
        assert!(frame.to_screen(f64::NAN, 0.0).is_err());
    }

    fn rects() -> impl Strategy<Value = Rect> {
        (any::<i32>(), any::<i32>(), any::<u32>(), any::<u32>())
            .prop_map(|(x, y, width, height)| Rect::new(x, y, width, height))
    }

    proptest! {
        #[test]
        fn nothing_overflows(a in rects(), b in rects(), by in any::<i32>()) {
            let _ = (a.union(&b), a.grown(by), a.center(), a.translated(by, by), a.area());
            if let Some(both) = a.intersection(&b) {
                prop_assert!(!both.is_empty());
                prop_assert!(a.contains(both.origin()) && b.contains(both.origin()));
            }
        }

        #[test]
        fn a_frames_point_maps_back_to_itself(
            x in -5000..5000i32, y in -5000..5000i32,
            width in 1..4000u32, height in 1..4000u32, percent in 10..100u32,
            along in 0.0..1.0f64, down in 0.0..1.0f64,
        ) {
            let shows = Rect::new(x, y, width, height);
            let size = Size { width: (width * percent / 100).max(1), height: (height * percent / 100).max(1) };
            let frame = Frame { name: "image i1".into(), shows, size };
            let (fx, fy) = ((along * f64::from(size.width)).trunc(), (down * f64::from(size.height)).trunc());
            let point = frame.to_screen(fx, fy).unwrap();
            prop_assert!(shows.contains(point));
            let (bx, by) = frame.from_screen(point).unwrap();
            prop_assert!((f64::from(bx) - fx).abs() <= 1.0 && (f64::from(by) - fy).abs() <= 1.0);
        }
    }
}
