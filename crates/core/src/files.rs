//! The file manager: what it shows and what is selected in it.

use crate::call::Call;
use crate::error::Result;
use crate::window::WindowId;
use std::path::{Path, PathBuf};

/// A window of the file manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileView {
    /// The file manager.
    pub application: String,
    /// Its window.
    pub window: WindowId,
    /// The title of the window.
    pub title: String,
    /// The folder that it shows; absent where it does not say, or shows what is no folder (a search, a trash).
    pub folder: Option<PathBuf>,
    /// The selected files and folders, in the order in which they are shown.
    pub selected: Vec<PathBuf>,
    /// Why more may be selected than is listed, a sentence.
    pub unknown: Option<String>,
}

/// Which file manager shows what is revealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revealer {
    /// A process that runs.
    Running(u32),
    /// One of these programs, which is started for it.
    Starts(Vec<String>),
}

/// Works the file manager.
pub trait Files: Send + Sync {
    /// Which file manager `reveal` would ask.
    fn revealer(&self, call: &Call) -> Result<Revealer>;

    /// Has a file or folder shown in its folder, and selected. Returns the way: the service or the program.
    fn reveal(&self, call: &Call, path: &Path) -> Result<String>;

    /// The frontmost window of a file manager. Fails with `window_not_found` when there is none.
    fn front(&self, call: &Call) -> Result<FileView>;
}

/// The stand-in where there is no file manager to be worked.
pub struct NoFiles(pub crate::desktop::Missing);

impl Files for NoFiles {
    fn revealer(&self, _: &Call) -> Result<Revealer> {
        Err(self.0.error())
    }
    fn reveal(&self, _: &Call, _: &Path) -> Result<String> {
        Err(self.0.error())
    }
    fn front(&self, _: &Call) -> Result<FileView> {
        Err(self.0.error())
    }
}
