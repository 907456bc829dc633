//! The clipboard: what was copied, in one form or in several, for whoever pastes it.
//!
//! Applications offer one thing in many forms, and only hand over the one that somebody asks for. So looking
//! at what is offered fetches none of it, and whatever is fetched is bounded by whoever asks.

use crate::call::Call;
use crate::desktop::Missing;
use crate::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

/// Which of the system's selections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// What was copied.
    #[default]
    Clipboard,
    /// What is marked with the pointer, pasted with the middle button; X11 and Wayland only.
    Primary,
}

/// A form that is understood here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Plain text.
    Text,
    /// Text with its markup.
    Html,
    /// A picture.
    Image,
    /// Files and folders, as file managers copy them.
    Files,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 4] = [Kind::Text, Kind::Html, Kind::Image, Kind::Files];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Html => "html",
            Kind::Image => "image",
            Kind::Files => "files",
        }
    }
}

/// One form of what is copied.
#[derive(Clone, PartialEq, Eq)]
pub enum Part {
    /// Plain text.
    Text(String),
    /// Text with its markup.
    Html(String),
    /// A picture as a PNG file.
    Image(Vec<u8>),
    /// Absolute paths.
    Files(Vec<PathBuf>),
}

impl Part {
    /// Which form it is.
    pub const fn kind(&self) -> Kind {
        match self {
            Part::Text(_) => Kind::Text,
            Part::Html(_) => Kind::Html,
            Part::Image(_) => Kind::Image,
            Part::Files(_) => Kind::Files,
        }
    }
}

/// What people copy is nobody's business: only its size is shown.
impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = match self {
            Part::Text(text) | Part::Html(text) => text.len(),
            Part::Image(bytes) => bytes.len(),
            Part::Files(files) => files.len(),
        };
        write!(f, "{}({size})", self.kind().name())
    }
}

/// The application that offers something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// What the system calls its process.
    pub name: String,
    /// Its process; none for Deskhand itself.
    pub pid: Option<u32>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "{} ({pid})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// What is offered, without any of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offer {
    /// The forms that are understood here.
    pub kinds: Vec<Kind>,
    /// All forms, as the system names them.
    pub formats: Vec<String>,
    /// The application that offers it, as far as it can be told.
    pub owner: Option<Owner>,
    /// A password manager marks it as secret: it is not handed out.
    pub secret: bool,
}

/// What was fetched of one form.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetched {
    /// As much of it as was asked for.
    pub part: Part,
    /// How many bytes all of it has, in the form in which it is offered.
    pub bytes: u64,
    /// There is more than was asked for.
    pub cut: bool,
}

/// Something that was copied while somebody watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Counts from 1 on since watching began.
    pub number: u64,
    /// When.
    pub time: SystemTime,
    /// The forms that were offered.
    pub kinds: Vec<Kind>,
    /// The application that offered it, as far as it can be told.
    pub owner: Option<Owner>,
    /// The text, as much as is kept of one.
    pub text: Option<String>,
    /// The text was longer.
    pub cut: bool,
    /// The files.
    pub files: Vec<PathBuf>,
}

/// What was copied while somebody watched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Whether it goes on.
    pub watching: bool,
    /// The newest first.
    pub entries: Vec<Entry>,
    /// How often something secret was copied, of which nothing is kept.
    pub withheld: u64,
}

/// What became of the clipboard after a loan.
#[derive(Clone, Debug, PartialEq)]
pub enum GivenBack {
    /// It holds what it held before, in these forms.
    Restored(Vec<String>),
    /// It is empty, as it was.
    Empty,
    /// Somebody copied something meanwhile, and that was left alone.
    Superseded,
}

/// The clipboard with something else on it for a while. Dropping it puts back what was there.
pub trait Loan: Send {
    /// Waits until the process `reader` (anybody where it is not known) has fetched what was put there.
    /// `false` when it has not by `until`.
    fn fetched(&mut self, call: &Call, reader: Option<u32>, until: Instant) -> Result<bool>;

    /// Puts back what was there, and says what that is.
    fn give_back(self: Box<Self>, call: &Call) -> Result<GivenBack>;
}

/// News of the clipboard from the moment on that it was asked for.
pub trait Changes: Send {
    /// Waits for a change, no longer than `until`; whether there was one since the last time. What is lent for
    /// a moment is none.
    fn next(&mut self, call: &Call, until: Instant) -> Result<bool>;
}

/// Reads and changes the clipboard.
pub trait Clipboard: Send + Sync {
    /// What is offered now; nothing when it is empty.
    fn offer(&self, call: &Call, selection: Selection) -> Result<Option<Offer>>;

    /// Fetches at most `most` bytes of one form; nothing when it is not offered. What is marked as secret is
    /// refused with `permission_denied`.
    fn fetch(&self, call: &Call, selection: Selection, kind: Kind, most: usize) -> Result<Option<Fetched>>;

    /// Offers something in one or several forms, at the most one part of each kind.
    fn put(&self, call: &Call, selection: Selection, parts: Vec<Part>) -> Result<()>;

    /// Empties it.
    fn clear(&self, call: &Call, selection: Selection) -> Result<()>;

    /// Saves all that is there, in every form, and puts something else there for a while.
    fn lend(&self, call: &Call, parts: Vec<Part>) -> Result<Box<dyn Loan>>;

    /// Tells when something is copied, or when the clipboard is emptied.
    fn changes(&self, call: &Call) -> Result<Box<dyn Changes>>;

    /// Begins to remember what is copied, or ends it and forgets everything.
    fn watch(&self, call: &Call, on: bool) -> Result<()>;

    /// What is remembered.
    fn history(&self, call: &Call) -> Result<History>;

    /// The program ends: what it offers stays on offer without it, where the system lets it.
    fn leave(&self, call: &Call) -> Result<()>;
}

/// The stand-in where there is no clipboard.
pub struct NoClipboard(pub Missing);

impl Clipboard for NoClipboard {
    fn offer(&self, _: &Call, _: Selection) -> Result<Option<Offer>> {
        Err(self.0.error())
    }
    fn fetch(&self, _: &Call, _: Selection, _: Kind, _: usize) -> Result<Option<Fetched>> {
        Err(self.0.error())
    }
    fn put(&self, _: &Call, _: Selection, _: Vec<Part>) -> Result<()> {
        Err(self.0.error())
    }
    fn clear(&self, _: &Call, _: Selection) -> Result<()> {
        Err(self.0.error())
    }
    fn lend(&self, _: &Call, _: Vec<Part>) -> Result<Box<dyn Loan>> {
        Err(self.0.error())
    }
    fn changes(&self, _: &Call) -> Result<Box<dyn Changes>> {
        Err(self.0.error())
    }
    fn watch(&self, _: &Call, _: bool) -> Result<()> {
        Err(self.0.error())
    }
    fn history(&self, _: &Call) -> Result<History> {
        Err(self.0.error())
    }
    fn leave(&self, _: &Call) -> Result<()> {
        // Nothing is on offer, so nothing is lost.
        Ok(())
    }
}
