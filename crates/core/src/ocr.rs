//! Text that is nothing but pixels: pictures of text, canvases, applications that tell nothing of themselves.

use crate::call::Call;
use crate::error::Result;
use crate::geometry::Rect;
use crate::screen::Bitmap;

/// A word that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its letters, never empty and without spaces.
    pub text: String,
    /// Where it lies, in global pixels.
    pub bounds: Rect,
    /// How sure the reader is, 0 to 100.
    pub confidence: u8,
    /// The number of its line: words with the same one stand beside each other.
    pub line: u32,
}

/// Reads text from pixels.
pub trait Ocr: Send + Sync {
    /// The languages that can be read, by their ISO 639-2 codes (`eng`, `deu`).
    fn languages(&self, call: &Call) -> Result<Vec<String>>;

    /// Every word in a bitmap, line by line from the top. Without languages the usual one is read.
    fn read(&self, call: &Call, bitmap: &Bitmap, languages: &[String]) -> Result<Vec<Word>>;
}

/// The stand-in where nothing can read.
pub struct NoOcr(pub crate::desktop::Missing);

impl Ocr for NoOcr {
    fn languages(&self, _: &Call) -> Result<Vec<String>> {
        Err(self.0.error())
    }
    fn read(&self, _: &Call, _: &Bitmap, _: &[String]) -> Result<Vec<Word>> {
        Err(self.0.error())
    }
}
