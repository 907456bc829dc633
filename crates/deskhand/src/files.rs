//! Writing files: only where it is allowed, never over one that is there unless asked, never half.

use crate::call::Context;
use deskhand_core::{Code, Error, Result};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The absolute path of a file that may be written, with everything checked that can be beforehand.
pub fn writable(cx: &Context, path: &str, overwrite: bool) -> Result<PathBuf> {
    let given = PathBuf::from(path);
    let name = given.file_name().ok_or_else(|| {
        Error::argument(format!("{path:?} names no file.")).expected("the path of a file to write")
    })?;
    let folder = match given.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    // Resolved first, so that neither `..` nor a link leads out of the allowed folders.
    let folder = folder.canonicalize().map_err(|error| {
        Error::new(Code::PathNotFound, format!("The folder {} cannot be written to.", folder.display()))
            .because(error)
            .remedy("Name a folder that exists.")
    })?;
    let full = folder.join(name);
    let target = match full.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => full.canonicalize().unwrap_or_else(|_| full.clone()),
        _ => full.clone(),
    };
    let allowed = &cx.server.config.write_folders;
    let inside = allowed
        .iter()
        .filter_map(|allowed| allowed.canonicalize().ok())
        .any(|allowed| target.starts_with(allowed));
    if !inside {
        return Err(Error::new(
            Code::DeniedByPolicy,
            format!("{} lies outside the folders that may be written to.", full.display()),
        )
        .expected("a path in one of the allowed folders")
        .found(allowed.iter().map(|folder| folder.display().to_string()))
        .remedy("Choose one of those folders, or start Deskhand with --write-folder."));
    }
    if full.is_dir() {
        return Err(Error::new(Code::PathExists, format!("{} is a folder.", full.display())));
    }
    if full.exists() && !overwrite {
        return Err(exists(&full));
    }
    Ok(full)
}

/// The text of a file in one of the folders that may be written to: what Deskhand wrote, or a person put there.
pub fn read(cx: &Context, path: &str, most: u64) -> Result<String> {
    let missing = |error: &std::io::Error| {
        Error::new(Code::PathNotFound, format!("The file {path} cannot be read.")).os(error)
    };
    // Resolved first, so that neither `..` nor a link leads out of the allowed folders.
    let full = Path::new(path).canonicalize().map_err(|error| missing(&error))?;
    let allowed = &cx.server.config.write_folders;
    let mut folders = allowed.iter().filter_map(|folder| folder.canonicalize().ok());
    if !folders.any(|folder| full.starts_with(folder)) {
        return Err(Error::new(
            Code::DeniedByPolicy,
            format!("{} lies outside the folders that Deskhand keeps files in.", full.display()),
        )
        .found(allowed.iter().map(|folder| folder.display().to_string()))
        .remedy("Put it into one of those folders, or start Deskhand with --write-folder."));
    }
    let meta = full.metadata().map_err(|error| missing(&error))?;
    if !meta.is_file() || most < meta.len() {
        return Err(Error::argument(format!("{} is no file of at most {most} bytes.", full.display())));
    }
    fs::read_to_string(&full).map_err(|error| missing(&error))
}

/// Writes a whole file: beside it first, then in its place, so that nobody sees half of one.
pub fn write(path: &Path, bytes: &[u8], overwrite: bool) -> Result<()> {
    let failed = |error: std::io::Error| {
        let code = match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Code::PermissionDenied,
            _ => Code::Backend,
        };
        Error::new(code, format!("{} could not be written.", path.display())).because(error)
    };
    let part = path.with_file_name(format!(
        ".{}.{}.part",
        path.file_name().unwrap_or_default().to_string_lossy(),
        std::process::id()
    ));
    let result = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&part)?;
        file.write_all(bytes)?;
        if overwrite {
            return fs::rename(&part, path);
        }
        // Unlike a rename, a link never replaces a file that came up meanwhile.
        fs::hard_link(&part, path)?;
        fs::remove_file(&part)
    })();
    result.map_err(|error| {
        let _ = fs::remove_file(&part);
        if error.kind() == ErrorKind::AlreadyExists && !overwrite { exists(path) } else { failed(error) }
    })
}

fn exists(path: &Path) -> Error {
    Error::new(Code::PathExists, format!("{} is there already; nothing was written.", path.display()))
        .remedy("Choose another name, or pass overwrite: true.")
}
