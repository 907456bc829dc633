//! Standard input and output as streams, without a thread in between where that is possible.

use std::io;
use std::pin::Pin;
use tokio::io::{AsyncRead, AsyncWrite};

/// Anything that is read.
pub type Input = Pin<Box<dyn AsyncRead + Send>>;
/// Anything that is written.
pub type Output = Pin<Box<dyn AsyncWrite + Send>>;

/// Standard input and output. Clients connect pipes (Python) or sockets (Node); what is neither, like a
/// file or a terminal, is read and written on threads.
pub fn open() -> (Input, Output) {
    #[cfg(unix)]
    if let Ok((input, output)) = sockets() {
        return (Box::pin(input), Box::pin(output));
    }
    #[cfg(target_os = "linux")]
    {
        // A picture of a megabyte through a pipe of 64 kB is sixteen turns of writing and reading. What is
        // no pipe, or may not grow, stays as it is.
        let _ = rustix::pipe::fcntl_setpipe_size(io::stdout(), 1024 * 1024);
    }
    let (input, output) = rmcp::transport::stdio_pipes();
    (Box::pin(input), Box::pin(output))
}

#[cfg(unix)]
fn sockets() -> io::Result<(tokio::net::UnixStream, tokio::net::UnixStream)> {
    Ok((socket(&io::stdin())?, socket(&io::stdout())?))
}

/// A standard stream as a socket, if it is one: a copy of the descriptor, so that the stream itself stays
/// open.
#[cfg(unix)]
fn socket(stream: &impl std::os::fd::AsFd) -> io::Result<tokio::net::UnixStream> {
    use std::os::unix::fs::FileTypeExt;
    let descriptor = stream.as_fd().try_clone_to_owned()?;
    let file = std::fs::File::from(descriptor);
    if !file.metadata()?.file_type().is_socket() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let socket = std::os::unix::net::UnixStream::from(std::os::fd::OwnedFd::from(file));
    socket.local_addr()?; // Fails when it is a socket of another family.
    socket.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(socket)
}
