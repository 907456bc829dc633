//! The token: what tells this user's programs from everybody else's.

use crate::log;
use deskhand_core::{Error, Result};
use serde_json::json;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A token and the file that holds it.
pub struct Token {
    text: String,
    path: PathBuf,
    /// Made for this start, and removed with it.
    passing: bool,
}

/// Bytes of chance in a token.
const BYTES: usize = 32;

impl Token {
    /// The token in a file, made where there is none; without a file, a new one among the session's.
    pub fn open(kept: Option<PathBuf>, port: u16) -> Result<Token> {
        match kept {
            Some(path) => match File::open(&path) {
                Ok(file) => Token::read(file, path),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Token::make(path, false),
                Err(error) => Err(unreadable(&path).because(error)),
            },
            None => {
                let path = place(port).ok_or_else(|| {
                    Error::backend(
                        "There is no folder to keep the token in: neither XDG_RUNTIME_DIR nor HOME is set.",
                    )
                    .remedy("Name a file with --token-file.")
                })?;
                // What an earlier start left behind has no meaning any more.
                let _ = std::fs::remove_file(&path);
                Token::make(path, true)
            }
        }
    }

    /// The token that a running server at this port made, for clients of the same user.
    pub fn of_server(kept: Option<PathBuf>, port: u16) -> Result<Option<Token>> {
        let Some(path) = kept.or_else(|| place(port)) else { return Ok(None) };
        match File::open(&path) {
            Ok(file) => Token::read(file, path).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(&path).because(error)),
        }
    }

    /// A token without a file.
    #[cfg(test)]
    pub fn of(text: &str) -> Token {
        Token { text: text.to_owned(), path: PathBuf::new(), passing: false }
    }

    fn read(file: File, path: PathBuf) -> Result<Token> {
        require_private(&file, &path)?;
        let mut text = String::new();
        file.take(4096).read_to_string(&mut text).map_err(|error| unreadable(&path).because(error))?;
        let text = text.trim().to_owned();
        if text.len() < 16 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::argument(format!("The file {} holds no token.", path.display()))
                .expected("one line of at least 16 printable characters")
                .remedy("Remove it, and Deskhand makes one there."));
        }
        Ok(Token { text, path, passing: false })
    }

    fn make(path: PathBuf, passing: bool) -> Result<Token> {
        let failed = |error: std::io::Error| {
            Error::backend(format!("The token cannot be kept in {}.", path.display()))
                .because(error)
                .remedy("Name another file with --token-file.")
        };
        let text = random(BYTES).map_err(failed)?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_folder(folder).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        // Never into a file that was there, nor through a link.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(failed)?;
        file.write_all(format!("{text}\n").as_bytes()).map_err(failed)?;
        Ok(Token { text, path, passing })
    }

    /// What clients send.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file that holds it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether somebody who sent this knows it. Takes the same time whatever is wrong with it.
    pub fn is(&self, sent: &[u8]) -> bool {
        let own = self.text.as_bytes();
        let mut difference = own.len() ^ sent.len();
        for (index, byte) in own.iter().enumerate() {
            difference |= usize::from(byte ^ sent.get(index).copied().unwrap_or(0));
        }
        std::hint::black_box(difference) == 0
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if self.passing
            && let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            log::line("warn", "token_left", json!({ "os": error.to_string() }));
        }
    }
}

/// Random bytes in hexadecimal.
pub fn random(count: usize) -> std::io::Result<String> {
    let mut bytes = vec![0_u8; count];
    let mut filled = 0;
    while filled < count {
        #[cfg(unix)]
        {
            filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
        }
        #[cfg(not(unix))]
        return Err(std::io::ErrorKind::Unsupported.into());
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The file of the token of a server at this port.
pub fn place(port: u16) -> Option<PathBuf> {
    folder().map(|folder| folder.join(format!("http-{port}.token")))
}

/// This user's folder for what a running server leaves for its clients.
pub fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let runtime = absolute("XDG_RUNTIME_DIR").filter(|path| path.is_dir());
    let state = || absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Some(runtime.or_else(state)?.join("deskhand"))
}

/// Makes a folder that only this user can enter. One that is there stays as it is.
pub fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn unreadable(path: &Path) -> Error {
    Error::argument(format!("The token file {} cannot be read.", path.display()))
}

/// A token that others can read, or that others put there, protects nothing.
fn require_private(file: &File, path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let about = file.metadata().map_err(|error| unreadable(path).because(error))?;
        let mode = about.mode() & 0o777;
        if mode & 0o077 != 0 || about.uid() != rustix::process::getuid().as_raw() {
            return Err(Error::argument(format!(
                "The token file {} is not private: its mode is {mode:03o} and its owner {}.",
                path.display(),
                about.uid()
            ))
            .remedy(format!("chmod 600 {}, or remove it.", path.display())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::of("0123456789abcdef");
        assert!(token.is(b"0123456789abcdef"));
        for wrong in ["", "0", "0123456789abcdeF", "0123456789abcdef0", "x123456789abcdef"] {
            assert!(!token.is(wrong.as_bytes()), "{wrong}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_token_is_made_once_and_only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("deskhand-token-{}", std::process::id()));
        let path = folder.join("kept");
        let made = Token::open(Some(path.clone()), 0).unwrap();
        assert_eq!(made.text().len(), 2 * BYTES);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Token::open(Some(path.clone()), 0).unwrap();
        assert_eq!(again.text(), made.text());
        drop((made, again));
        assert!(path.is_file(), "it was named, so it stays");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let error = Token::open(Some(path), 0).err().unwrap();
        assert!(error.message.contains("not private"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
