//! Text that is seen on the screen: read, found, clicked and waited for without any help of its application.

use super::evidence::{Acted, short};
use super::page::page;
use super::screen::TakeScreenshot;
use super::{Alias, pointer, same, target};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::geometry::desktop_bounds;
use deskhand_core::input::Button;
use deskhand_core::key::Modifier;
use deskhand_core::ocr::Word;
use deskhand_core::screen::{Bitmap, Source};
use deskhand_core::window::Window;
use deskhand_core::{Code, Error, Frame, Rect, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<ExtractText>()];

/// Other names.
pub static ALIASES: &[Alias] = &[same("ocr", "extract_text"), same("read_text", "extract_text")];

/// What reading takes at the most on a busy machine, beside the usual time limit.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Lines below this confidence on the average are icons and ornaments more often than text. Single words of
/// a good line are kept: a reader is never sure of names, addresses and code.
const CONFIDENCE: u32 = 40;
/// How many lines stand in the text of a screenshot, and how many bytes of them.
const MOST_LINES: usize = 400;
const MOST_BYTES: usize = 12_000;

/// Read the text of a display (the primary one by default), window, element, region or earlier screenshot
/// from its pixels (OCR): for pictures, canvases and applications that show no elements. Lines with their
/// places in global pixels.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ExtractText {
    /// This display (index or name).
    pub display: Option<String>,
    /// This window (id or title), also when others cover it.
    pub window: Option<String>,
    /// This element (ref or selector).
    pub element: Option<String>,
    /// A region: left edge, in global pixels or relative to `display`.
    pub x: Option<f64>,
    /// Top edge.
    pub y: Option<f64>,
    /// Width of the region.
    pub width: Option<Ranged<1, 65535>>,
    /// Height of the region.
    pub height: Option<Ranged<1, 65535>>,
    /// The place that this screenshot shows, as it is now; places are told in its pixels too.
    pub image: Option<String>,
    /// Codes such as eng, deu; eng by default.
    pub languages: Vec<String>,
    /// With the place of each word.
    pub words: bool,
    /// Leave out words that are less sure, in percent; lines of less than 40 on the average by default.
    pub min_confidence: Option<Ranged<0, 100>>,
    /// How many lines at the most; 500 by default.
    pub page_size: Option<Ranged<1, 5000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

/// Text that was seen.
#[derive(Serialize, JsonSchema)]
pub struct TextSeen {
    /// All of it, a line for each.
    pub text: String,
    /// The lines.
    pub lines: Vec<Seen>,
    /// What was read, in global pixels.
    pub bounds: Rect,
    /// Whether the list is cut.
    pub truncated: bool,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

/// A line, a word or a phrase that was seen.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Seen {
    /// What it says.
    pub text: String,
    /// Where it lies, in global pixels.
    pub bounds: Rect,
    /// The same in pixels of the screenshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_image: Option<Rect>,
    /// How sure its least sure word is, in percent.
    pub confidence: u8,
    /// Its words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<Seen>,
}

impl Tool for ExtractText {
    const NAME: &'static str = "extract_text";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[
        Code::DisplayNotFound,
        Code::WindowNotFound,
        Code::WindowMinimized,
        Code::ElementNotFound,
        Code::ElementStale,
        Code::InvalidSelector,
        Code::AmbiguousTarget,
        Code::CoordinatesOutOfBounds,
        Code::InvalidCoordinates,
        Code::PermissionDenied,
    ];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("language", "languages"), ("lang", "languages"), ("confidence", "min_confidence")];
    const GROUP: Group = Group::Screen;
    type Output = Data<TextSeen>;

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn call(self, cx: &Context) -> Result<Data<TextSeen>> {
        let (bitmap, frame) = self.look(cx)?;
        let least = self.min_confidence.map(|least| least.get() as u8);
        let words = words(cx, &bitmap, &self.languages, least)?;
        let size = self.page_size.map_or(500, Ranged::get);
        let (lines, next_page_token) = page(lines(&words), Some(size), self.page_token.as_deref())?;
        let told = |words: &[Word]| {
            let each = words
                .iter()
                .filter(|_| self.words)
                .map(|word| seen(std::slice::from_ref(word), frame.as_ref()));
            Seen { words: each.collect(), ..seen(words, frame.as_ref()) }
        };
        let lines: Vec<Seen> = lines.into_iter().map(told).collect();
        Ok(Data(TextSeen {
            text: lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n"),
            lines,
            bounds: bitmap.shows,
            truncated: next_page_token.is_some(),
            next_page_token,
        }))
    }
}

impl ExtractText {
    /// The pixels to read, and the frame of the screenshot that was named.
    fn look(&self, cx: &Context) -> Result<(Arc<Bitmap>, Option<Frame>)> {
        let Some(image) = &self.image else {
            let shot = TakeScreenshot {
                display: self.display.clone(),
                window: self.window.clone(),
                element: self.element.clone(),
                x: self.x,
                y: self.y,
                width: self.width,
                height: self.height,
                ..TakeScreenshot::default()
            };
            return Ok((shot.capture(cx)?.bitmap, None));
        };
        let others = [&self.display, &self.window, &self.element];
        if others.iter().any(|other| other.is_some()) || self.x.is_some() || self.width.is_some() {
            return Err(Error::argument(
                "The text is read where image was taken: pass nothing else beside it.",
            ));
        }
        let frame = cx.server.images.get(image)?.frame;
        let bitmap = cx.desktop.screen.capture(&cx.call, Source::Screen(frame.shows))?;
        Ok((bitmap, Some(frame)))
    }
}

/// The words in a bitmap that are sure enough, or whose lines are.
fn words(cx: &Context, bitmap: &Bitmap, languages: &[String], least: Option<u8>) -> Result<Vec<Word>> {
    let languages: Vec<String> = languages
        .iter()
        .flat_map(|codes| codes.split(['+', ',']))
        .map(|code| code.trim().to_owned())
        .collect();
    let mut words = cx.desktop.ocr.read(&cx.call, bitmap, &languages)?;
    let Some(least) = least else {
        let sure = |line: &&[Word]| {
            CONFIDENCE * line.len() as u32 <= line.iter().map(|word| u32::from(word.confidence)).sum::<u32>()
        };
        return Ok(lines(&words).into_iter().filter(sure).flatten().cloned().collect());
    };
    words.retain(|word| least <= word.confidence);
    Ok(words)
}

/// Words line by line.
fn lines(words: &[Word]) -> Vec<&[Word]> {
    words.chunk_by(|one, other| one.line == other.line).collect()
}

fn seen(words: &[Word], frame: Option<&Frame>) -> Seen {
    let bounds = words.iter().fold(Rect::default(), |all, word| all.union(&word.bounds));
    Seen {
        text: text(words),
        bounds,
        in_image: frame.and_then(|frame| frame.rect_from_screen(bounds)),
        confidence: words.iter().map(|word| word.confidence).min().unwrap_or(0),
        words: Vec::new(),
    }
}

fn text(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// What a screenshot says, for its caption and for its data.
pub fn of_picture(
    cx: &Context,
    bitmap: &Bitmap,
    frame: &Frame,
    languages: &[String],
) -> Result<(String, Vec<Seen>)> {
    let words = words(cx, bitmap, languages, None)?;
    let lines = lines(&words);
    let seen: Vec<Seen> = lines.iter().take(MOST_LINES).map(|words| seen(words, Some(frame))).collect();
    if seen.is_empty() {
        return Ok(("No text is seen in it.".to_owned(), seen));
    }
    let mut told = "Text seen, and where in this picture:".to_owned();
    let mut count = 0;
    for line in &seen {
        let at = line
            .in_image
            .map_or_else(String::new, |at| format!("  [{},{} {}x{}]", at.x, at.y, at.width, at.height));
        if MOST_BYTES < told.len() + line.text.len() + at.len() {
            break;
        }
        told.push_str(&format!("\n{}{at}", line.text));
        count += 1;
    }
    if count < lines.len() {
        told.push_str(&format!("\n… {} more lines: extract_text has them.", lines.len() - count));
    }
    Ok((told, seen))
}

/// Every place where a text is seen: whole words where there are such, else parts of words.
pub fn places(words: &[Word], wanted: &str) -> Vec<Seen> {
    let wanted = plain(wanted);
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut whole = Vec::new();
    let mut parts = Vec::new();
    for line in lines(words) {
        // Where each word begins and ends in the text of the line.
        let mut spans = Vec::new();
        let mut all = String::new();
        for word in line {
            if !all.is_empty() {
                all.push(' ');
            }
            let begin = all.len();
            all.push_str(&plain(&word.text));
            spans.push(begin..all.len());
        }
        for (begin, _) in all.match_indices(&wanted) {
            let end = begin + wanted.len();
            let touched: Vec<usize> = (0..spans.len())
                .filter(|index| spans[*index].start < end && begin < spans[*index].end)
                .collect();
            let (Some(first), Some(last)) = (touched.first(), touched.last()) else { continue };
            let (span, found) = (spans[*first].start..spans[*last].end, seen(&line[*first..=*last], None));
            // "Save" is "Save…" and "Save:" too.
            let rest = |text: &str| text.chars().all(|c| !c.is_alphanumeric());
            if rest(&all[span.start..begin]) && rest(&all[end..span.end]) {
                whole.push(found)
            } else {
                parts.push(found)
            }
        }
    }
    if whole.is_empty() { parts } else { whole }
}

/// Readers are not sure of case and of signs that look alike.
fn plain(text: &str) -> String {
    let mut plain = text.to_lowercase();
    for (sign, other) in
        [("’", "'"), ("‘", "'"), ("“", "\""), ("”", "\""), ("—", "-"), ("–", "-"), ("…", "...")]
    {
        plain = plain.replace(sign, other);
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The places of a text on the whole desktop, or in a window even where others cover it.
pub fn look_for(cx: &Context, wanted: &str, window: Option<&Window>) -> Result<Vec<Seen>> {
    let source = match window {
        Some(window) => Source::Window(target::shown(window.clone())?.id),
        None => Source::Screen(desktop_bounds(&cx.desktop.screen.displays(&cx.call)?)),
    };
    let bitmap = cx.desktop.screen.capture(&cx.call, source)?;
    Ok(places(&words(cx, &bitmap, &[], None)?, wanted))
}

/// Clicks the middle of the one place where a text is seen.
pub fn click(
    cx: &Context,
    wanted: &str,
    window: Option<&str>,
    button: Button,
    count: u32,
    modifiers: &[Modifier],
    settle: Duration,
) -> Result<Acted> {
    let window = window.map(|name| target::window(cx, name)).transpose()?;
    let places = look_for(cx, wanted, window.as_ref())?;
    let place = match &places[..] {
        [only] => only,
        [] => {
            return Err(Error::new(Code::ElementNotFound, format!("No text {} is seen.", short(wanted)))
                .remedy("Read what is seen with extract_text, or wait for it with wait_for."));
        }
        several => {
            return Err(Error::new(
                Code::AmbiguousTarget,
                format!("The text {} is seen at {} places; one is needed.", short(wanted), several.len()),
            )
            .found(several.iter().map(|place| format!("{:?} {}", place.text, place.bounds)))
            .remedy("Click by x and y, pass more of the text, or name the window."));
        }
    };
    let middle = place.bounds.center();
    let top = cx.desktop.windows.at(&cx.call, middle)?;
    if let (Some(window), Some(top)) = (&window, &top)
        && window.id != top.id
        && window.pid != top.pid
    {
        return Err(Error::new(
            Code::ElementNotActionable,
            format!("The text {:?} is covered by the window {:?}.", place.text, top.title),
        )
        .remedy("Bring its window to the front with focus_window first."));
    }
    deskhand_core::geometry::require_on_screen(&cx.desktop.screen.displays(&cx.call)?, middle)?;
    let acted = pointer::click_at(cx, Some(middle), button, count, modifiers, settle)?;
    Ok(Acted {
        via: Some("ocr"),
        target: Some(format!("text {} at {}", short(&place.text), place.bounds)),
        ..acted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(lines: &[&str]) -> Vec<Word> {
        let line = |(line, text): (usize, &&str)| {
            let words = text.split(' ').enumerate().map(move |(place, word)| Word {
                text: word.to_owned(),
                bounds: Rect::new(place as i32 * 50, line as i32 * 20, 40, 10),
                confidence: 90,
                line: line as u32,
            });
            words.collect::<Vec<_>>()
        };
        lines.iter().enumerate().flat_map(line).collect()
    }

    #[test]
    fn phrases_are_found_across_words_and_whole_ones_go_first() {
        let words = words(&["Save as… Saved", "Do not save", "Unsaved"]);
        let found = |wanted| places(&words, wanted).into_iter().map(|seen| seen.text).collect::<Vec<_>>();
        assert_eq!(found("save"), ["Save", "save"]);
        assert_eq!(found("SAVE AS"), ["Save as…"]);
        assert_eq!(found("not save"), ["not save"]);
        assert_eq!(found("nsave"), ["Unsaved"]);
        assert_eq!(found("nothing"), [""; 0]);
        assert_eq!(found(" "), [""; 0]);
        assert_eq!(places(&words, "save as")[0].bounds, Rect::new(0, 0, 90, 10));
    }
}
