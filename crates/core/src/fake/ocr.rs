//! What can be read from the pixels of the fake desktop: the names and texts of its elements, as if they
//! were written there, eight pixels a character.

use super::{Provider, World};
use crate::call::Call;
use crate::element::Role;
use crate::error::{Error, Result};
use crate::geometry::Rect;
use crate::ocr::{Ocr, Word};
use crate::screen::Bitmap;

/// Pixels for a character of a text, and for a line.
const CHARACTER: (u32, u32) = (8, 16);

impl Ocr for Provider {
    fn languages(&self, call: &Call) -> Result<Vec<String>> {
        drop(self.enter(call, "ocr.languages")?);
        Ok(vec!["eng".to_owned()])
    }

    fn read(&self, call: &Call, bitmap: &Bitmap, languages: &[String]) -> Result<Vec<Word>> {
        let world = self.enter(call, "ocr.read")?;
        if let Some(other) = languages.iter().find(|language| *language != "eng") {
            return Err(Error::argument(format!("The language {other:?} cannot be read here."))
                .expected("the codes of installed languages")
                .found(["eng"]));
        }
        Ok(world.written(bitmap.shows))
    }
}

impl World {
    /// The words on what shows in `area`, the topmost window first.
    fn written(&self, area: Rect) -> Vec<Word> {
        let mut words = Vec::new();
        let mut line = 0;
        for window in self.windows.iter().filter(|window| window.shows()) {
            let mut below = vec![&window.root];
            while let Some(id) = below.pop() {
                let Some(item) = self.items.get(id).filter(|item| self.shows(item)) else { continue };
                below.extend(item.children.iter().rev());
                let covered =
                    |at| self.windows.iter().find(|other| other.shows() && other.bounds.contains(at));
                let Some(bounds) = self.bounds(item).and_then(|bounds| bounds.intersection(&area)) else {
                    continue;
                };
                if item.role == Role::Window || covered(bounds.center()).map(|top| top.id) != Some(window.id)
                {
                    continue;
                }
                let secret = item.role == Role::PasswordField;
                for text in [item.name.as_str(), if secret { "" } else { item.text.as_str() }] {
                    words.extend(set(text, bounds, line));
                    line += 1;
                }
            }
        }
        words
    }
}

/// The words of a text, set from the left edge of `bounds`.
fn set(text: &str, bounds: Rect, line: u32) -> Vec<Word> {
    let mut at = 0;
    let words = text.split(' ').map(|word| {
        let length = word.chars().count() as u32;
        let left = bounds.x.saturating_add_unsigned(at * CHARACTER.0);
        let place =
            Rect::new(left, bounds.y, (length * CHARACTER.0).max(1), CHARACTER.1.min(bounds.height.max(1)));
        at += length + 1;
        Word { text: word.trim().to_owned(), bounds: place, confidence: 96, line }
    });
    words.filter(|word| !word.text.is_empty()).collect()
}
