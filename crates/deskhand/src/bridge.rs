//! `deskhand connect`: standard input and output on one side, a server that runs already on the other, so that a
//! client reaches a desktop in whose session it was not started.
//!
//! It only carries bytes. Over HTTP the connection becomes one of lines by an upgrade; at a Unix socket it is one
//! from the start.

use crate::http::mcp::LINES;
use crate::http::token::Token;
use crate::mcp::{self, stdio};
use deskhand_core::{Code, Error, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::TcpStream;

/// How long the server may take to let us in.
const PATIENCE: Duration = Duration::from_secs(10);

/// A head of an answer is not longer.
const LONGEST_HEAD: usize = 16 * 1024;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// At an address, with its host as it is named there.
    Http {
        /// A name or an address.
        host: String,
        /// Its port.
        port: u16,
    },
    /// At a Unix socket.
    Unix(PathBuf),
}

impl Target {
    /// `http://127.0.0.1:3457`, or the path of a socket.
    pub fn parse(text: &str) -> Result<Target> {
        if let Some(rest) = text.strip_prefix("http://") {
            let authority = rest.split('/').next().unwrap_or_default();
            let (host, port) = match authority.rsplit_once(':') {
                Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
                _ => (authority, Some(80)),
            };
            let host = host.trim_start_matches('[').trim_end_matches(']');
            return match port {
                Some(port) if !host.is_empty() => Ok(Target::Http { host: host.to_owned(), port }),
                _ => Err(wrong(text)),
            };
        }
        if text.starts_with("https://") {
            return Err(wrong(text).remedy(
                "This bridge speaks no TLS. Run it on the machine of the server (ssh MACHINE deskhand connect), or \
                 let the client speak to the server itself.",
            ));
        }
        let path = text.strip_prefix("unix:").unwrap_or(text);
        if path.contains("://") || path.is_empty() { Err(wrong(text)) } else { Ok(Target::Unix(path.into())) }
    }
}

fn wrong(text: &str) -> Error {
    Error::argument(format!("{text:?} is no place of a server."))
        .expected("http://127.0.0.1:3457, or the path of a Unix socket")
}

/// Carries lines until the client or the server ends.
pub fn run(target: &Target, token_file: Option<PathBuf>) -> Result<()> {
    let failed = |error| Error::backend("The connection cannot be served.").because(error);
    let runtime = mcp::runtime().map_err(failed)?;
    let done = runtime.block_on(async {
        match target {
            Target::Http { host, port } => {
                let token = Token::of_server(token_file, *port)?;
                let stream = reach(host, *port, token.as_ref().map(Token::text)).await?;
                carry(stream).await;
                Ok(())
            }
            Target::Unix(path) => unix(path).await,
        }
    });
    runtime.shutdown_background();
    done
}

#[cfg(unix)]
async fn unix(path: &Path) -> Result<()> {
    let stream = tokio::net::UnixStream::connect(path).await.map_err(|error| {
        Error::backend(format!("No server answers at {}.", path.display()))
            .because(error)
            .remedy("Start one: deskhand serve --unix PATH.")
    })?;
    carry(stream).await;
    Ok(())
}

#[cfg(not(unix))]
async fn unix(path: &Path) -> Result<()> {
    Err(Error::unsupported(format!("There are no Unix sockets here, so {} is none.", path.display())))
}

/// Opens a connection of lines.
async fn reach(host: &str, port: u16, token: Option<&str>) -> Result<TcpStream> {
    let reaching = async {
        let mut stream = TcpStream::connect((host, port)).await.map_err(|error| {
            Error::backend(format!("No server answers at {host}:{port}."))
                .because(error)
                .remedy("Start one: deskhand serve --http.")
        })?;
        let _ = stream.set_nodelay(true);
        let named = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let token = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
        let head = format!(
            "GET /mcp HTTP/1.1\r\nHost: {named}:{port}\r\nConnection: Upgrade\r\nUpgrade: {LINES}\r\n{token}\r\n"
        );
        let broken = |error| Error::backend("The connection to the server broke.").because(error);
        stream.write_all(head.as_bytes()).await.map_err(broken)?;
        let mut answer = Vec::new();
        // One byte at a time: what follows the head are lines already.
        while !answer.ends_with(b"\r\n\r\n") && answer.len() < LONGEST_HEAD {
            match stream.read_u8().await {
                Ok(byte) => answer.push(byte),
                Err(_) => break,
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        match answer.split(' ').nth(1) {
            Some("101") => Ok(stream),
            Some("401") => Err(Error::new(Code::PermissionDenied, "The server asks for another token.")
                .remedy("Name the file that holds it: --token-file FILE; the server's log says which.")),
            _ => {
                let line = answer.lines().next().unwrap_or_default();
                Err(Error::backend(format!("What answers at {host}:{port} is no Deskhand.")).os(line))
            }
        }
    };
    tokio::time::timeout(PATIENCE, reaching).await.unwrap_or_else(|_| {
        Err(Error::new(Code::Timeout, format!("The server at {host}:{port} did not let us in in time.")))
    })
}

/// Carries bytes both ways. When the client has ended, what the server still says is waited for.
async fn carry(stream: impl AsyncRead + AsyncWrite) {
    let (mut from_server, mut to_server) = split(stream);
    let (mut input, mut output) = stdio::open();
    let up = async {
        let _ = tokio::io::copy(&mut input, &mut to_server).await;
        let _ = to_server.shutdown().await;
        // The server ends the connection when everything is answered.
        std::future::pending::<()>().await;
    };
    let down = async {
        let _ = tokio::io::copy(&mut from_server, &mut output).await;
        let _ = output.flush().await;
    };
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_servers() {
        let http = |host: &str, port| Target::Http { host: host.to_owned(), port };
        assert_eq!(Target::parse("http://127.0.0.1:3457").unwrap(), http("127.0.0.1", 3457));
        assert_eq!(Target::parse("http://[::1]:9/mcp").unwrap(), http("::1", 9));
        assert_eq!(Target::parse("http://localhost").unwrap(), http("localhost", 80));
        assert_eq!(Target::parse("/run/desk.sock").unwrap(), Target::Unix("/run/desk.sock".into()));
        assert_eq!(Target::parse("unix:desk.sock").unwrap(), Target::Unix("desk.sock".into()));
        for wrong in ["", "https://x:1", "http://", "http://x:y"] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }
}
