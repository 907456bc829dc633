//! Fingers on a touchscreen.

use crate::call::Call;
use crate::desktop::Missing;
use crate::error::Result;
use crate::geometry::Point;

/// How many fingers there are at most.
pub const MOST_FINGERS: usize = 10;

/// Has fingers. Called by `Desktop` only, which takes the lane first.
pub trait Touch: Send + Sync {
    /// What is touched. Fails where nothing can be, and says why. Touches nothing.
    fn surface(&self, call: &Call) -> Result<String>;

    /// Fingers, none of them down yet.
    fn fingers(&self, call: &Call) -> Result<Box<dyn Fingers>>;
}

/// Fingers. They are lifted when dropped: also after an error, a panic or a cancellation.
pub trait Fingers: Send {
    /// Where each finger is now. Those that are up come down.
    fn place(&mut self, call: &Call, at: &[Point]) -> Result<()>;

    /// Lifts them all and waits until the display has seen it. How many touches it has seen begin and end since
    /// these fingers were asked for.
    fn lift(&mut self, call: &Call) -> Result<usize>;
}

/// The stand-in where nothing can be touched.
pub struct NoTouch(pub Missing);

impl Touch for NoTouch {
    fn surface(&self, _: &Call) -> Result<String> {
        Err(self.0.error())
    }
    fn fingers(&self, _: &Call) -> Result<Box<dyn Fingers>> {
        Err(self.0.error())
    }
}
