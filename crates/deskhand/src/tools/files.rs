//! The file manager: showing files in it, and what is selected there.

use super::evidence::{Acted, Seen};
use super::{Alias, same};
use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::files::FileView;
use deskhand_core::near::near;
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] =
    &[Row::of::<RevealInFinder>(), Row::of::<GetSelectedFiles>(), Row::of::<GetFinderWindowPath>()];

/// Other names.
pub static ALIASES: &[Alias] = &[
    same("reveal_in_file_manager", "reveal_in_finder"),
    same("get_file_manager_path", "get_finder_window_path"),
];

/// How long a file manager gets to start and show a file.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many selected files are listed by default.
const MOST: i64 = 500;

/// Show a file or folder in the file manager, selected in the folder that it is in. Confirmed when its window
/// says so.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevealInFinder {
    /// Its path; `~/` is the home folder.
    pub path: String,
}

/// What was shown.
#[derive(Serialize, JsonSchema)]
pub struct Revealed {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// The file.
    pub path: String,
    /// Who showed it.
    pub shown_by: String,
    /// The window that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

impl Tool for RevealInFinder {
    const NAME: &'static str = "reveal_in_finder";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] =
        &[Code::PathNotFound, Code::PermissionDenied, Code::SecureDesktopActive, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("file_path", "path"), ("file", "path"), ("filePath", "path")];
    const GROUP: Group = Group::Files;
    type Output = Data<Revealed>;

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn call(self, cx: &Context) -> Result<Data<Revealed>> {
        let path = absolute(&self.path)?;
        let shown_by = cx.desktop.files.reveal(&cx.call, &path)?;
        let (acted, window) = cx.aside(|| witness(cx, &path))?;
        Ok(Data(Revealed { acted, path: path.display().to_string(), shown_by, window }))
    }
}

/// Waits until the file manager shows the file.
fn witness(cx: &Context, path: &Path) -> Result<(Acted, Option<u64>)> {
    let folder = path.parent();
    let mut last: Option<Result<FileView>> = None;
    let seen = cx.call.until_within(
        PATIENCE.min(cx.call.remaining() * 4 / 5),
        "waiting for the file manager",
        || {
            let view = cx.desktop.files.front(&cx.call);
            let there = view.as_ref().is_ok_and(|view| view.selected.iter().any(|selected| selected == path));
            last = Some(view);
            Ok(there.then_some(()))
        },
    )?;
    let view = match last {
        Some(Ok(view)) => view,
        Some(Err(error)) => {
            return Ok((
                Acted::unverified(format!("What the file manager shows cannot be read: {}", error.message)),
                None,
            ));
        }
        None => return Ok((Acted::unverified("There was no time to look."), None)),
    };
    let window = Some(view.window.0);
    let title = Some(view.title.clone());
    let shows = view.folder.as_deref().is_some_and(|shown| Some(shown) == folder);
    let acted = match (seen, shows) {
        (Some(()), _) => Acted::confirmed(format!("it is selected in {:?}", view.title)),
        (None, true) => Acted {
            evidence: Some(format!("its folder is shown in {:?}", view.title)),
            ..Acted::unverified(view.unknown.unwrap_or_else(|| "The file is not selected there.".to_owned()))
        },
        (None, false) => Acted::no_change(format!("The frontmost file manager shows {:?}.", view.title)),
    };
    debug_assert!(acted.effect != Seen::Confirmed || window.is_some());
    Ok((Acted { window_title: title, ..acted }, window))
}

/// The absolute path of something that is there. A link is not followed: it is what is to be shown.
fn absolute(text: &str) -> Result<PathBuf> {
    let given = match text.strip_prefix("~/") {
        Some(rest) => Path::new(&std::env::var_os("HOME").unwrap_or_else(|| "/".into())).join(rest),
        None => PathBuf::from(text),
    };
    let path = std::path::absolute(&given).map_err(|error| {
        Error::new(Code::PathNotFound, format!("{text:?} is no path."))
            .because(error)
            .expected("the path of a file or folder")
    })?;
    let path: PathBuf = match (path.parent().and_then(|folder| folder.canonicalize().ok()), path.file_name())
    {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    };
    if path.symlink_metadata().is_ok() {
        return Ok(path);
    }
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let wanted = path.strip_prefix(folder).ok().and_then(|rest| rest.components().next());
    let wanted = wanted.map_or_else(String::new, |part| part.as_os_str().to_string_lossy().into_owned());
    Err(Error::new(Code::PathNotFound, format!("There is no {}.", path.display()))
        .expected(format!("something in {}", folder.display()))
        .found(near(&wanted, names.iter().map(String::as_str)))
        .remedy("Pass the path of a file or folder that is there."))
}

/// List the files that are selected in the frontmost window of the file manager.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct GetSelectedFiles {
    /// How many at the most; 500 by default.
    pub page_size: Option<Ranged<1, 1000>>,
}

/// Selected files.
#[derive(Serialize, JsonSchema)]
pub struct SelectedFiles {
    /// The files, in the order in which they are shown.
    pub files: Vec<FileInfo>,
    /// How many are selected.
    pub count: usize,
    /// The folder that they are in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The file manager.
    pub application: String,
    /// Its window.
    pub window: u64,
    /// Why more may be selected than is listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// Whether the list is cut.
    pub truncated: bool,
}

/// A file.
#[derive(Serialize, JsonSchema)]
pub struct FileInfo {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: String,
    /// file, folder, link or other.
    pub kind: &'static str,
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

impl FileInfo {
    fn of(path: &Path) -> FileInfo {
        let data = path.symlink_metadata().ok();
        let kind = match data.as_ref().map(std::fs::Metadata::file_type) {
            Some(kind) if kind.is_dir() => "folder",
            Some(kind) if kind.is_file() => "file",
            Some(kind) if kind.is_symlink() => "link",
            Some(_) | None => "other",
        };
        FileInfo {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            path: path.display().to_string(),
            kind,
            size: data.filter(|_| kind == "file").map(|data| data.len()),
        }
    }
}

impl Tool for GetSelectedFiles {
    const NAME: &'static str = "get_selected_files";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::WindowNotFound, Code::PermissionDenied];
    const GROUP: Group = Group::Files;
    type Output = Data<SelectedFiles>;

    fn call(self, cx: &Context) -> Result<Data<SelectedFiles>> {
        let view = cx.desktop.files.front(&cx.call)?;
        let most = usize::try_from(self.page_size.map_or(MOST, Ranged::get)).unwrap_or(usize::MAX);
        Ok(Data(SelectedFiles {
            count: view.selected.len(),
            truncated: most < view.selected.len(),
            files: view.selected.iter().take(most).map(|path| FileInfo::of(path)).collect(),
            folder: view.folder.map(|folder| folder.display().to_string()),
            application: view.application,
            window: view.window.0,
            unknown: view.unknown,
        }))
    }
}

/// Tell which folder the frontmost window of the file manager shows.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct GetFinderWindowPath {}

/// A folder that is shown.
#[derive(Serialize, JsonSchema)]
pub struct WindowPath {
    /// The folder; absent where the window shows none (a search, a trash) or does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The file manager.
    pub application: String,
    /// Its window.
    pub window: u64,
    /// The window's title.
    pub title: String,
    /// Why there is no path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Tool for GetFinderWindowPath {
    const NAME: &'static str = "get_finder_window_path";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::WindowNotFound, Code::PermissionDenied];
    const GROUP: Group = Group::Files;
    type Output = Data<WindowPath>;

    fn call(self, cx: &Context) -> Result<Data<WindowPath>> {
        let view = cx.desktop.files.front(&cx.call)?;
        Ok(Data(WindowPath {
            reason: view.unknown.filter(|_| view.folder.is_none()),
            path: view.folder.map(|folder| folder.display().to_string()),
            application: view.application,
            window: view.window.0,
            title: view.title,
        }))
    }
}
