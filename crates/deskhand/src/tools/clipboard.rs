//! The clipboard: what was copied, and copying.

use super::evidence::Acted;
use super::{Alias, same};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Picture, Ranged, Reply, Row, Tool};
use crate::{files, log};
use deskhand_core::clipboard::{Changes, Entry, Fetched, Kind, Offer, Owner, Part, Selection};
use deskhand_core::{Call, Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<GetClipboard>(),
    Row::of::<SetClipboard>(),
    Row::of::<ClearClipboard>(),
    Row::of::<GetClipboardHistory>(),
];

/// Other names.
pub static ALIASES: &[Alias] =
    &[same("write_clipboard", "set_clipboard"), same("read_clipboard", "get_clipboard")];

/// How much of a text is returned by default, in bytes.
const READABLE: u64 = 100_000;
/// The longest edge of a picture that models take without harm, in pixels, and what it may weigh.
const LONG_EDGE: u32 = 1568;
const WEIGHT: u64 = 525_000;
/// The largest file that is written or put there.
const LARGEST: usize = 200 << 20;
const SECRET: &str = "It is marked as secret, as password managers do: it is not handed out. press_key ctrl+v \
                      pastes it without reading it.";
/// How many formats are named.
const MOST_FORMATS: usize = 40;

/// What is on the clipboard: the types that are there, and the text (or the files, the HTML, the picture).
/// A long one is cut: pass file_path to save all of it.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct GetClipboard {
    /// By default the files, else the text, else what there is.
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
    /// clipboard, or primary: what is marked with the pointer.
    pub selection: Selection,
    /// At most this much of a text; 100000 by default.
    pub max_bytes: Option<Ranged<1, 10_000_000>>,
    /// Save all of it here instead of returning it.
    pub file_path: Option<String>,
    /// Replace a file that is there.
    pub overwrite: bool,
}

/// What is on the clipboard.
#[derive(Serialize, Default)]
struct Held {
    #[serde(skip_serializing_if = "is_clipboard")]
    selection: Selection,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    empty: bool,
    types: Vec<Kind>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    formats: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    secret: bool,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<PathBuf>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    /// All of it, in the form in which it is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_path: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

fn is_clipboard(selection: &Selection) -> bool {
    *selection == Selection::Clipboard
}

impl Held {
    fn of(offer: &Offer, selection: Selection) -> Held {
        let mut formats = offer.formats.clone();
        if MOST_FORMATS < formats.len() {
            let more = formats.len() - MOST_FORMATS;
            formats.truncate(MOST_FORMATS);
            formats.push(format!("{more} more"));
        }
        let (types, owner) = (offer.kinds.clone(), offer.owner.as_ref().map(Owner::to_string));
        Held { selection, types, formats, owner, secret: offer.secret, ..Held::default() }
    }

    fn reply(self) -> Reply {
        Reply::Data(serde_json::to_value(self).unwrap_or(Value::Null))
    }

    fn noting(self, note: impl Into<String>) -> Reply {
        Held { note: Some(note.into()), ..self }.reply()
    }
}

impl Tool for GetClipboard {
    const NAME: &'static str = "get_clipboard";
    const EFFECT: Effect = Effect::File;
    const ERRORS: &'static [Code] = &[Code::PathExists, Code::PathNotFound, Code::PermissionDenied];
    const ALIASES: &'static [(&'static str, &'static str)] = &[("path", "file_path"), ("format", "type")];
    const GROUP: Group = Group::Clipboard;
    type Output = Reply;

    fn effect(&self) -> Effect {
        if self.file_path.is_some() { Effect::File } else { Effect::Read }
    }

    fn call(self, cx: &Context) -> Result<Reply> {
        let path =
            self.file_path.as_ref().map(|path| files::writable(cx, path, self.overwrite)).transpose()?;
        let Some(offer) = cx.desktop.clipboard.offer(&cx.call, self.selection)? else {
            let held = Held { empty: true, selection: self.selection, ..Held::default() };
            return Ok(match path {
                Some(_) => held.noting("Nothing was written."),
                None => held.reply(),
            });
        };
        let held = Held::of(&offer, self.selection);
        if offer.secret {
            return Ok(held.noting(SECRET));
        }
        let fetched = match self.fetch(cx, &offer, path.is_some()) {
            // Copied since we looked.
            Err(error) if error.code == Code::PermissionDenied => {
                return Ok(Held { secret: true, formats: Vec::new(), owner: None, ..held }.noting(SECRET));
            }
            result => result?,
        };
        let Some(fetched) = fetched else {
            return Ok(held.noting(match (self.kind, other_pictures(&offer)) {
                (None | Some(Kind::Image), Some(formats)) => format!(
                    "There is a picture, but as {formats} and not as PNG, which alone is read. press_key ctrl+v \
                     pastes it all the same; take_screenshot sees it where it shows."
                ),
                (Some(kind), _) => format!("Nothing of the type {} is offered.", kind.name()),
                (None, None) => "None of the formats is a text, HTML, PNG or files.".to_owned(),
            }));
        };
        let held = Held { kind: Some(fetched.part.kind()), bytes: Some(fetched.bytes), ..held };
        match path {
            Some(path) => self.save(held, fetched, path),
            None => Ok(self.show(held, fetched)),
        }
    }
}

impl GetClipboard {
    fn fetch(&self, cx: &Context, offer: &Offer, whole: bool) -> Result<Option<Fetched>> {
        let wanted = match self.kind {
            Some(kind) => vec![kind],
            None => vec![Kind::Files, Kind::Text, Kind::Html, Kind::Image],
        };
        let most = match self.max_bytes {
            _ if whole => LARGEST,
            Some(bytes) => bytes.unsigned() as usize,
            None => READABLE as usize,
        };
        for kind in wanted.into_iter().filter(|kind| offer.kinds.contains(kind)) {
            // Of a picture that nobody asked for, its head says how large it is.
            let most = match kind {
                Kind::Image if !whole && self.kind.is_none() => 64,
                Kind::Image if !whole => WEIGHT as usize,
                Kind::Text | Kind::Html | Kind::Image | Kind::Files => most,
            };
            let fetched = cx.desktop.clipboard.fetch(&cx.call, self.selection, kind, most)?;
            if fetched.is_some() {
                return Ok(fetched);
            }
        }
        Ok(None)
    }

    fn save(&self, held: Held, fetched: Fetched, path: PathBuf) -> Result<Reply> {
        if fetched.cut {
            return Err(Error::backend(format!(
                "What is on the clipboard is larger than {} MB: nothing was written.",
                LARGEST >> 20
            )));
        }
        let bytes = match fetched.part {
            Part::Text(text) | Part::Html(text) => text.into_bytes(),
            Part::Image(png) => png,
            Part::Files(files) => {
                files.iter().flat_map(|file| [file.as_os_str().as_encoded_bytes(), b"\n"].concat()).collect()
            }
        };
        files::write(&path, &bytes, self.overwrite)?;
        Ok(Held { file_path: Some(path), bytes: Some(bytes.len() as u64), ..held }.reply())
    }

    fn show(&self, mut held: Held, fetched: Fetched) -> Reply {
        held.truncated = fetched.cut && fetched.part.kind() != Kind::Image;
        if held.truncated {
            held.note = Some(format!(
                "It has {} bytes in all: pass a larger max_bytes, or file_path to save it.",
                fetched.bytes
            ));
        }
        match fetched.part {
            Part::Text(text) => held.text = Some(text),
            Part::Html(html) => held.html = Some(html),
            Part::Files(files) => held.files = Some(files),
            Part::Image(png) => return show_picture(held, &png, fetched.cut, self.kind.is_some()),
        }
        held.reply()
    }
}

fn show_picture(mut held: Held, png: &[u8], cut: bool, asked: bool) -> Reply {
    let size = size_of(png);
    (held.width, held.height) = size.unzip();
    let large = cut || size.is_none_or(|(width, height)| LONG_EDGE < width.max(height));
    if !asked {
        return held.noting("Pass type: image to see the picture, or file_path as well to save it.");
    }
    if large {
        return held.noting("The picture is too large to be shown: pass file_path to save it.");
    }
    let (width, height) = size.unwrap_or_default();
    Reply::Picture(Picture {
        base64: vec![base64_simd::STANDARD.encode_to_string(png).into()],
        mime: "image/png",
        text: format!("{width}x{height}, on the clipboard."),
        data: serde_json::to_value(held).unwrap_or(Value::Null),
    })
}

/// In which formats pictures are offered, if in any; asked where none of them is PNG.
fn other_pictures(offer: &Offer) -> Option<String> {
    let pictures: Vec<&str> =
        offer.formats.iter().map(String::as_str).filter(|name| name.starts_with("image/")).collect();
    (!pictures.is_empty()).then(|| pictures.join(", "))
}

/// The size of a PNG, from its first chunk; nothing when it is none.
fn size_of(png: &[u8]) -> Option<(u32, u32)> {
    let rest = png.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let rest = rest.get(4..)?.strip_prefix(b"IHDR")?;
    let number = |from: usize| Some(u32::from_be_bytes(*rest.get(from..)?.first_chunk()?));
    Some((number(0)?, number(4)?))
}

/// What was found on the clipboard by somebody who waited for it.
#[derive(Serialize, JsonSchema, Default)]
pub struct CopiedInfo {
    /// The types that are there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    types: Vec<Kind>,
    /// The application that offers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// It is marked as secret, and not handed out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    secret: bool,
    /// The text, or its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The text is longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Why there is no more to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The clipboard as it changes, for somebody who waits for something on it.
pub struct Copies {
    changes: Box<dyn Changes>,
    /// In small letters; empty for whatever is copied next.
    text: String,
    gone: bool,
    /// It has changed since it was looked at.
    news: bool,
}

/// How long an application may take to hand over what it offers, before something else is looked at.
const PATIENCE: Duration = Duration::from_millis(500);
/// How much of a text is searched, and how much of it is shown.
const SEARCHED: usize = 4 << 20;
const QUOTED: usize = 2000;

impl Copies {
    /// Waits for this text, for anything new (where it is empty), or for the end of it.
    pub fn begin(cx: &Context, text: &str, gone: bool) -> Result<Copies> {
        // Whoever may not read the clipboard may not find out about it here either.
        cx.server.config.policy.check(&TOOLS[0], Effect::Read)?;
        let changes = cx.desktop.clipboard.changes(&cx.call)?;
        Ok(Copies { changes, text: text.to_lowercase(), gone, news: gone || !text.is_empty() })
    }

    /// Waits for news, no longer than `until`.
    pub fn wait(&mut self, cx: &Context, until: Instant) -> Result<()> {
        self.news |= self.changes.next(&cx.call, until)?;
        Ok(())
    }

    /// What was waited for, if it is there. Nobody is asked again unless something has changed.
    pub fn look(&mut self, cx: &Context, seen: &mut String) -> Result<Option<CopiedInfo>> {
        self.wait(cx, Instant::now())?;
        if !std::mem::take(&mut self.news) {
            return Ok(None);
        }
        match self.read(&cx.call.within(PATIENCE), cx, seen) {
            // An application that is busy may answer the next time.
            Err(error) if matches!(error.code, Code::Timeout | Code::Backend) => {
                if self.text.is_empty() && !self.gone {
                    return Ok(Some(CopiedInfo { note: Some(error.message), ..CopiedInfo::default() }));
                }
                self.news = true;
                *seen = error.message;
                Ok(None)
            }
            result => result,
        }
    }

    fn read(&self, call: &Call, cx: &Context, seen: &mut String) -> Result<Option<CopiedInfo>> {
        let clipboard = &cx.desktop.clipboard;
        let Some(offer) = clipboard.offer(call, Selection::Clipboard)? else {
            *seen = "The clipboard is empty.".to_owned();
            return Ok(self.gone.then(CopiedInfo::default));
        };
        let mut copied = CopiedInfo { types: offer.kinds, secret: offer.secret, ..CopiedInfo::default() };
        copied.owner = offer.owner.as_ref().map(Owner::to_string);
        let mut fetched = None;
        if !copied.secret && copied.types.contains(&Kind::Text) {
            match clipboard.fetch(call, Selection::Clipboard, Kind::Text, SEARCHED) {
                // Copied since we looked.
                Err(error) if error.code == Code::PermissionDenied => copied.secret = true,
                result => fetched = result?,
            }
        }
        let (text, cut) = match fetched {
            Some(Fetched { part: Part::Text(text), cut, .. }) => (Some(text), cut),
            _ => (None, false),
        };
        let holds = text.as_ref().is_some_and(|text| text.to_lowercase().contains(&self.text));
        // What is not read cannot be said to be gone.
        let unknown = copied.secret || cut && !holds;
        *seen = match (copied.secret, &text) {
            (true, _) => "What is on the clipboard is marked as secret, and is not read.".to_owned(),
            (false, Some(text)) => {
                format!("A text of {} characters is on the clipboard.", text.chars().count())
            }
            (false, None) => "What is on the clipboard is no text.".to_owned(),
        };
        let came = match (self.text.is_empty(), self.gone) {
            (true, gone) => !gone,
            (false, false) => holds,
            (false, true) => !holds && !unknown,
        };
        if let Some(text) = text {
            let end = text.floor_char_boundary(QUOTED);
            copied.truncated = cut || end < text.len();
            copied.text = Some(text[..end].to_owned());
        }
        Ok(came.then_some(copied))
    }
}

/// Put something on the clipboard: a text, HTML, a picture or files; several together are forms of one thing,
/// of which an application takes what it can.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct SetClipboard {
    /// A plain text.
    pub text: Option<String>,
    /// HTML; pass text as well, for plain text fields.
    pub html: Option<String>,
    /// A picture: the path of a PNG file.
    pub image_path: Option<String>,
    /// A picture: a PNG in base64.
    pub image_base64: Option<String>,
    /// Files and folders, as if copied in a file manager.
    pub files: Vec<String>,
    /// What `text` is: text, html, image (base64) or files (a path a line).
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
    /// clipboard, or primary: what the middle button pastes.
    pub selection: Selection,
}

/// What was put there, and what was seen of it.
#[derive(Serialize, JsonSchema)]
pub struct Put {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// The types that are there now.
    pub types: Vec<Kind>,
}

impl Tool for SetClipboard {
    const NAME: &'static str = "set_clipboard";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = &[Code::PathNotFound, Code::SecureDesktopActive, Code::Busy];
    const SECRET: &'static [&'static str] = &["text", "html", "image_base64"];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("content", "text"), ("image", "image_path"), ("paths", "files")];
    const GROUP: Group = Group::Clipboard;
    type Output = Data<Put>;

    fn call(self, cx: &Context) -> Result<Data<Put>> {
        let selection = self.selection;
        let parts = self.parts()?;
        cx.desktop.clipboard.put(&cx.call, selection, parts.clone())?;
        let (mut seen, mut missing) = (Vec::new(), None);
        for part in &parts {
            let (size, unit) = size_of_part(part);
            let fetched = cx.desktop.clipboard.fetch(&cx.call, selection, part.kind(), usize::MAX);
            match fetched {
                Ok(Some(fetched)) if fetched.part == *part => {
                    seen.push(format!("{} ({size} {unit})", part.kind().name()));
                }
                Ok(_) => missing = Some(part.kind()),
                // Somebody else's secret is there already.
                Err(error) if error.code == Code::PermissionDenied => missing = Some(part.kind()),
                Err(error) => return Err(error),
            }
        }
        let now = cx.desktop.clipboard.offer(&cx.call, selection)?.unwrap_or_default();
        let acted = match missing {
            None => Acted::confirmed(format!("reads back exactly: {}", seen.join(", "))),
            Some(kind) => Acted::no_change(format!(
                "The {} does not read back: {} has put something else there.",
                kind.name(),
                now.owner.map_or_else(|| "somebody".to_owned(), |owner| owner.to_string())
            )),
        };
        Ok(Data(Put { acted, types: now.kinds }))
    }
}

fn size_of_part(part: &Part) -> (usize, &'static str) {
    match part {
        Part::Text(text) | Part::Html(text) => (text.chars().count(), "characters"),
        Part::Image(png) => (png.len(), "bytes"),
        Part::Files(files) => (files.len(), if files.len() == 1 { "file" } else { "files" }),
    }
}

impl SetClipboard {
    fn parts(mut self) -> Result<Vec<Part>> {
        match (self.kind, self.text.take()) {
            (None | Some(Kind::Text), text) => self.text = text,
            (Some(Kind::Html), Some(text)) if self.html.is_none() => self.html = Some(text),
            (Some(Kind::Image), Some(text)) if self.image_base64.is_none() => self.image_base64 = Some(text),
            (Some(Kind::Files), Some(text)) if self.files.is_empty() => {
                self.files = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
            }
            (Some(Kind::Html | Kind::Image | Kind::Files), None) => {}
            (Some(kind), Some(_)) => {
                return Err(Error::argument(format!(
                    "type says that text is {0}, and {0} is given besides.",
                    kind.name()
                ))
                .remedy("Leave type out, and pass each form under its own name."));
            }
        }
        let image = match (self.image_path, self.image_base64) {
            (Some(_), Some(_)) => {
                return Err(Error::argument("There can be one picture: pass image_path or image_base64."));
            }
            (Some(path), None) => Some(read_picture(&path)?),
            (None, Some(text)) => Some(decode_picture(&text)?),
            (None, None) => None,
        };
        let files = self.files.iter().map(|file| absolute(file)).collect::<Result<Vec<_>>>()?;
        let mut parts = Vec::new();
        parts.extend(self.text.map(Part::Text));
        parts.extend(self.html.map(Part::Html));
        parts.extend(image.map(Part::Image));
        if !files.is_empty() {
            parts.push(Part::Files(files));
        }
        if parts.is_empty() {
            return Err(Error::new(
                Code::MissingRequiredParameter,
                "Nothing says what to put on the clipboard.",
            )
            .expected("at least one of text, html, image_path, image_base64, files")
            .remedy("To empty it, call clear_clipboard."));
        }
        Ok(parts)
    }
}

fn read_picture(path: &str) -> Result<Vec<u8>> {
    let not_read = |error: std::io::Error| {
        Error::new(Code::PathNotFound, format!("The picture {path:?} cannot be read.")).because(error)
    };
    let size = std::fs::metadata(path).map_err(not_read)?.len();
    if LARGEST as u64 <= size {
        return Err(Error::argument(format!("The picture {path:?} has {size} bytes, which is too many.")));
    }
    picture(std::fs::read(path).map_err(not_read)?)
}

fn decode_picture(text: &str) -> Result<Vec<u8>> {
    // `data:image/png;base64,` stands before it in web pages.
    let text = text.rsplit_once("base64,").map_or(text, |(_, rest)| rest);
    let plain: String = text.split_whitespace().collect();
    let bytes = base64_simd::STANDARD.decode_to_vec(plain);
    picture(bytes.map_err(|_| Error::argument("The picture is not base64.").expected("a PNG in base64"))?)
}

fn picture(bytes: Vec<u8>) -> Result<Vec<u8>> {
    match size_of(&bytes) {
        Some(_) => Ok(bytes),
        None => Err(Error::argument("The picture is no PNG, which is what applications paste.")
            .expected("a PNG")
            .remedy("Convert it to PNG first.")),
    }
}

fn absolute(file: &str) -> Result<PathBuf> {
    let missing = |error: std::io::Error| {
        Error::new(Code::PathNotFound, format!("There is no {file:?} to be copied."))
            .because(error)
            .remedy("Name files and folders that exist.")
    };
    let path = std::path::absolute(Path::new(file)).map_err(missing)?;
    // A link is copied as a link, wherever it leads.
    path.symlink_metadata().map_err(missing)?;
    Ok(path)
}

/// Empty the clipboard.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ClearClipboard {
    /// clipboard, or primary: what the middle button pastes.
    pub selection: Selection,
}

impl Tool for ClearClipboard {
    const NAME: &'static str = "clear_clipboard";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = &[Code::SecureDesktopActive, Code::Busy];
    const GROUP: Group = Group::Clipboard;
    type Output = Data<Acted>;

    fn call(self, cx: &Context) -> Result<Data<Acted>> {
        cx.desktop.clipboard.clear(&cx.call, self.selection)?;
        // Some clipboard managers put back at once what was there.
        let settle = cx.server.config.settle;
        let back = cx.call.until_within(settle, "seeing whether it stays empty", || {
            cx.desktop.clipboard.offer(&cx.call, self.selection)
        })?;
        Ok(Data(match back {
            None => Acted::confirmed("it is empty"),
            Some(offer) => Acted::no_change(format!(
                "{} has put something there again.",
                offer.owner.map_or_else(|| "A clipboard manager".to_owned(), |owner| owner.to_string())
            )),
        }))
    }
}

/// What was copied since watching began, the newest first. Nothing is remembered before watch: true is passed,
/// nothing is written to disk, and what password managers copy is left out.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct GetClipboardHistory {
    /// true begins to watch, false ends it and forgets everything.
    pub watch: Option<bool>,
    /// How many at the most; 20 by default.
    pub limit: Option<Ranged<1, 100>>,
    /// Leave out so many of the newest.
    pub offset: Option<Ranged<0, 1000>>,
}

/// Something that was copied.
#[derive(Serialize, JsonSchema)]
pub struct Copied {
    /// Counts from 1 on since watching began.
    pub number: u64,
    /// When.
    pub time: String,
    /// The types that were there.
    pub types: Vec<Kind>,
    /// Who copied it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// The text is longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// What was copied.
#[derive(Serialize, JsonSchema)]
pub struct CopiedList {
    /// Whether watching goes on.
    pub watching: bool,
    /// The newest first.
    pub entries: Vec<Copied>,
    /// How many are remembered.
    pub total: usize,
    /// How often something secret was copied, of which nothing is kept.
    #[serde(skip_serializing_if = "is_zero")]
    pub withheld: u64,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How many characters of a text the history shows.
const SHOWN: usize = 2000;

impl From<Entry> for Copied {
    fn from(entry: Entry) -> Copied {
        let text = entry.text.as_ref().map(|text| text.chars().take(SHOWN).collect::<String>());
        let shortened = text.as_ref().map(String::len) != entry.text.as_ref().map(String::len);
        Copied {
            number: entry.number,
            time: log::rfc3339(entry.time),
            types: entry.kinds,
            application: entry.owner.as_ref().map(Owner::to_string),
            text,
            files: entry.files.into_iter().take(100).collect(),
            truncated: entry.cut || shortened,
        }
    }
}

impl Tool for GetClipboardHistory {
    const NAME: &'static str = "get_clipboard_history";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::Clipboard;
    type Output = Data<CopiedList>;

    fn call(self, cx: &Context) -> Result<Data<CopiedList>> {
        if let Some(on) = self.watch {
            cx.desktop.clipboard.watch(&cx.call, on)?;
        }
        let history = cx.desktop.clipboard.history(&cx.call)?;
        let (skip, take) = (self.offset.map_or(0, Ranged::unsigned), self.limit.map_or(20, Ranged::unsigned));
        Ok(Data(CopiedList {
            watching: history.watching,
            total: history.entries.len(),
            withheld: history.withheld,
            note: (!history.watching).then_some(
                "Nothing is remembered: pass watch: true to begin. It lasts as long as the server runs.",
            ),
            entries: history
                .entries
                .into_iter()
                .skip(usize::try_from(skip).unwrap_or(usize::MAX))
                .take(usize::try_from(take).unwrap_or(usize::MAX))
                .map(Copied::from)
                .collect(),
        }))
    }
}
