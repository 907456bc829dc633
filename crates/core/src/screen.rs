//! Displays and pixels.

use crate::call::Call;
use crate::error::Result;
use crate::geometry::{Display, Point, Rect};
use crate::window::WindowId;
use std::sync::Arc;

/// What to capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A part of the screen as it is shown, in global pixels.
    Screen(Rect),
    /// A whole window with its decorations, also where others cover it.
    Window(WindowId),
}

/// Pixels as they were at one moment: rows of 4 bytes a pixel in the order blue, green, red, unused.
#[derive(Debug)]
pub struct Bitmap {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// `width * height * 4` bytes.
    pub pixels: bytes::Bytes,
    /// The screen pixels that it shows.
    pub shows: Rect,
    /// A number that is new whenever the pixels may have changed: two bitmaps of one process with the same
    /// serial are equal, whatever they show.
    pub serial: u64,
    /// What is known of an earlier bitmap of the same size, so that nobody compares what cannot differ.
    pub differs: Option<Difference>,
}

/// In which rows a bitmap may differ from an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The serial of the earlier one.
    pub from: u64,
    /// The first row that may differ.
    pub first: u32,
    /// The row after the last that may.
    pub end: u32,
}

/// The picture of the pointer: premultiplied blue, green, red, alpha.
#[derive(Clone, Debug)]
pub struct PointerImage {
    /// Where its top left pixel lies on the screen.
    pub bounds: Rect,
    /// `width * height * 4` bytes.
    pub pixels: Vec<u8>,
}

/// Sees displays and pixels.
pub trait Screen: Send + Sync {
    /// The displays, numbered as [`crate::geometry::number_displays`] does.
    fn displays(&self, call: &Call) -> Result<Vec<Display>>;

    /// Captures pixels. The bitmap may be one that an earlier call returned, when nothing has changed.
    fn capture(&self, call: &Call, source: Source) -> Result<Arc<Bitmap>>;

    /// What the pointer looks like and where, or nothing when it is hidden.
    fn pointer_image(&self, call: &Call) -> Result<Option<PointerImage>>;

    /// A mark in the stream of changes of the screen, for [`Screen::changed_since`].
    fn mark(&self, call: &Call) -> Result<u64>;

    /// Whether any pixel of `area` was drawn to since `mark`.
    fn changed_since(&self, call: &Call, mark: u64, area: Rect) -> Result<bool>;

    /// The colour of one pixel as red, green, blue.
    fn pixel(&self, call: &Call, at: Point) -> Result<[u8; 3]>;
}

/// The stand-in where there is no way to see the screen.
pub struct NoScreen(pub crate::desktop::Missing);

impl Screen for NoScreen {
    fn displays(&self, _: &Call) -> Result<Vec<Display>> {
        Err(self.0.error())
    }
    fn capture(&self, _: &Call, _: Source) -> Result<Arc<Bitmap>> {
        Err(self.0.error())
    }
    fn pointer_image(&self, _: &Call) -> Result<Option<PointerImage>> {
        Err(self.0.error())
    }
    fn mark(&self, _: &Call) -> Result<u64> {
        Err(self.0.error())
    }
    fn changed_since(&self, _: &Call, _: u64, _: Rect) -> Result<bool> {
        Err(self.0.error())
    }
    fn pixel(&self, _: &Call, _: Point) -> Result<[u8; 3]> {
        Err(self.0.error())
    }
}
