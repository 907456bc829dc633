//! Reading text from pixels, with Tesseract as a process of its own: it is not linked, so that nothing needs
//! it but this; a hang costs a deadline and a crash costs one call; and it runs on every core.
//!
//! Tesseract was made for scanned paper. On screens it stumbles over light text on dark, pale text, small
//! text, panels and icons. So the screen is taken apart before it is asked: `lines` finds what is flat
//! background, turns everything else into black on white line by line, and `page` enlarges each line to the
//! height that Tesseract reads best. It is then asked for single lines, which needs no analysis of a page.
//! Lines that were read before are remembered by their pixels, wherever they have moved to.

mod engine;
mod lines;
mod page;

use deskhand_core::ocr::{Ocr, Word};
use deskhand_core::screen::Bitmap;
use deskhand_core::{Call, Error, Rect, Result};
use lines::Line;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tesseract.
pub struct Tesseract {
    program: PathBuf,
    languages: Mutex<Vec<String>>,
    known: Mutex<Known>,
}

/// A word within its line.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    text: String,
    /// Relative to the line's corner.
    bounds: Rect,
    confidence: u8,
}

/// Lines that were read lately, by their pixels.
#[derive(Default)]
struct Known {
    words: HashMap<Key, (u64, Arc<[Seen]>)>,
    age: u64,
}

type Key = (u64, u64);

/// How many lines are remembered: several full screens.
const MOST_LINES: usize = 8000;

impl Tesseract {
    /// The Tesseract of this name on PATH, or at this path. It is looked for when it is first used.
    pub fn new(program: impl Into<PathBuf>) -> Tesseract {
        Tesseract { program: program.into(), languages: Mutex::default(), known: Mutex::default() }
    }

    /// The languages to read as Tesseract takes them. It goes on without one that it lacks, so that they are
    /// compared beforehand.
    fn chosen(&self, call: &Call, languages: &[String]) -> Result<String> {
        let mut installed = lock(&self.languages).clone();
        if installed.is_empty() || languages.iter().any(|language| !installed.contains(language)) {
            installed = self.languages(call)?;
        }
        if languages.is_empty() {
            let usual = installed.iter().find(|language| *language == "eng").or(installed.first());
            return usual.cloned().ok_or_else(|| {
                Error::backend("Tesseract is installed without any language.")
                    .remedy("Install one: apt install tesseract-ocr-eng")
            });
        }
        match languages.iter().find(|language| !installed.contains(language)) {
            None => Ok(languages.join("+")),
            Some(missing) => {
                let package = missing.to_lowercase().replace('_', "-");
                Err(Error::argument(format!("Tesseract cannot read the language {missing:?} here."))
                    .expected("the codes of installed languages")
                    .found(installed)
                    .remedy(format!("Install it: apt install tesseract-ocr-{package}")))
            }
        }
    }
}

impl Ocr for Tesseract {
    fn languages(&self, call: &Call) -> Result<Vec<String>> {
        let languages = engine::languages(call, &self.program)?;
        lock(&self.languages).clone_from(&languages);
        Ok(languages)
    }

    fn read(&self, call: &Call, bitmap: &Bitmap, languages: &[String]) -> Result<Vec<Word>> {
        let languages = self.chosen(call, languages)?;
        let lines = lines::find(bitmap);
        call.check("looking for lines of text")?;
        let keys: Vec<Key> = lines.iter().map(|line| key(line, &languages)).collect();
        let mut read: Vec<Option<Arc<[Seen]>>> = lock(&self.known).recall(&keys);
        let fresh: Vec<usize> = (0..lines.len()).filter(|index| read[*index].is_none()).collect();
        let found = engine::read(call, &self.program, &languages, &lines, &fresh)?;
        let mut known = lock(&self.known);
        for (index, words) in fresh.into_iter().zip(found) {
            let words: Arc<[Seen]> = words.into();
            known.remember(keys[index], words.clone());
            read[index] = Some(words);
        }
        drop(known);
        Ok(placed(bitmap, &lines, &read))
    }
}

/// The words of all lines where they lie on the screen.
fn placed(bitmap: &Bitmap, lines: &[Line], read: &[Option<Arc<[Seen]>>]) -> Vec<Word> {
    let mut words = Vec::new();
    let mut number = 0;
    for (line, seen) in lines.iter().zip(read) {
        let (x, y) = (bitmap.shows.x + line.bounds.x, bitmap.shows.y + line.bounds.y);
        let seen = seen.iter().flat_map(|seen| seen.iter());
        let before = words.len();
        words.extend(seen.map(|seen| Word {
            text: seen.text.clone(),
            bounds: seen.bounds.translated(x, y),
            confidence: seen.confidence,
            line: number,
        }));
        number += u32::from(before < words.len());
    }
    words
}

/// Two hashes, so that different lines are told apart for all practical purposes.
fn key(line: &Line, languages: &str) -> Key {
    let hash = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        (seed, line.bounds.width, languages, &line.ink).hash(&mut hasher);
        hasher.finish()
    };
    (hash(0), hash(1))
}

impl Known {
    fn recall(&mut self, keys: &[Key]) -> Vec<Option<Arc<[Seen]>>> {
        self.age += 1;
        let age = self.age;
        let recall = |key| {
            let (used, words) = self.words.get_mut(key)?;
            *used = age;
            Some(words.clone())
        };
        keys.iter().map(recall).collect()
    }

    fn remember(&mut self, key: Key, words: Arc<[Seen]>) {
        if MOST_LINES <= self.words.len() {
            let mut ages: Vec<u64> = self.words.values().map(|(used, _)| *used).collect();
            let middle = ages.len() / 2;
            let limit = *ages.select_nth_unstable(middle).1;
            self.words.retain(|_, (used, _)| limit < *used);
        }
        self.words.insert(key, (self.age, words));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
