//! Reading and writing files that are not ours: through links, whole or not at all, and never over what somebody else
//! wrote meanwhile.

use deskhand_core::{Code, Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many links lead to a file at most, as on Linux.
const MOST_LINKS: usize = 40;

/// Where a path leads: links are followed, also to a file that is not there yet.
pub fn resolve(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(Error::argument(format!("{} leads from link to link, and to no file.", path.display())))
}

/// The text of a file; none where there is no file.
pub fn read(path: &Path) -> Result<Option<String>> {
    let unreadable = |error: io::Error| failed(path, "read", error);
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Err(Error::argument(format!("{} is no file.", path.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    }
    match String::from_utf8(fs::read(path).map_err(unreadable)?) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(Error::argument(format!(
            "{} is not UTF-8: byte {} is none of a character.",
            path.display(),
            error.utf8_error().valid_up_to() + 1
        ))
        .remedy("Nothing was changed. Save the file as UTF-8.")),
    }
}

/// Writes a file whole: beside it first, then in its place, with the mode and the owner that it had. `was` is what it
/// held when it was read.
pub fn write(path: &Path, was: Option<&str>, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() {
        fs::create_dir_all(folder).map_err(|error| failed(folder, "made", error))?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = write_beside(path, &part, text).map_err(|error| failed(path, "written", error));
    let done = written.and_then(|()| {
        // The client writes in some of these files at any time.
        if read(path)?.as_deref() != was {
            return Err(Error::new(
                Code::TargetChanged,
                format!("{} was written by somebody else at the same time.", path.display()),
            )
            .remedy("Nothing was changed. Try again."));
        }
        fs::rename(&part, path).map_err(|error| failed(path, "written", error))
    });
    if done.is_err() {
        let _ = fs::remove_file(&part);
    }
    done
}

fn write_beside(path: &Path, part: &Path, text: &str) -> io::Result<()> {
    let meta = match fs::metadata(path) {
        Ok(meta) => Some(meta),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if meta.as_ref().is_some_and(|meta| meta.permissions().readonly()) {
        // Renaming over it would work, and go round what the person wanted.
        return Err(io::Error::new(ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(part)?;
    if let Some(meta) = meta {
        give_away(&file, &meta)?;
        file.set_permissions(meta.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Gives the file the owner of the one that it replaces: `sudo` must not take a person's file away.
#[cfg(unix)]
fn give_away(file: &File, meta: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (meta.uid(), meta.gid()) {
        return Ok(());
    }
    fchown(file, Some(meta.uid()), Some(meta.gid()))
}

#[cfg(not(unix))]
fn give_away(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

fn failed(path: &Path, what: &str, error: io::Error) -> Error {
    let code = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Code::PermissionDenied,
        _ => Code::Backend,
    };
    Error::new(code, format!("{} could not be {what}.", path.display()))
        .because(error)
        .remedy("Nothing was changed. --print shows what to put in by hand.")
}
