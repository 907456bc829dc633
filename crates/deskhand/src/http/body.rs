//! Bodies: reading a request's within its limits, sending an answer's without a copy, and streams that do not
//! wait for ever for a peer that reads nothing.

use super::Limits;
use super::guard::Refusal;
use crate::line::Line;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::CONTENT_LENGTH;
use hyper::{Request, StatusCode};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, Sleep};

/// The body of an answer.
pub enum Content {
    /// All of it.
    Whole(VecDeque<Bytes>),
    /// What comes, until the sender ends.
    Coming(mpsc::Receiver<Bytes>),
}

impl Default for Content {
    fn default() -> Content {
        Content::Whole(VecDeque::new())
    }
}

impl From<Line> for Content {
    fn from(line: Line) -> Content {
        Content::Whole(line.into_pieces().filter(|piece| !piece.is_empty()).collect())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Content {
        Line::from(text).into()
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match self.get_mut() {
            Content::Whole(pieces) => pieces.pop_front(),
            Content::Coming(pieces) => ready!(pieces.poll_recv(cx)),
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Content::Whole(pieces) if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Content::Whole(pieces) => {
                SizeHint::with_exact(pieces.iter().map(|piece| piece.len() as u64).sum())
            }
            Content::Coming(_) => SizeHint::default(),
        }
    }
}

/// Reads the body of a request. `room` bounds, in kilobytes, what all clients together may have under way.
pub async fn read(request: Request<Incoming>, limits: &Limits, room: &Semaphore) -> Result<Vec<u8>, Refusal> {
    let too_long = || {
        let message = format!("The body is longer than {} bytes, the most that is taken.", limits.body);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    let length = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| limits.body < length) {
        return Err(too_long());
    }
    let kilobytes = u32::try_from(length.unwrap_or(limits.body).div_ceil(1024)).unwrap_or(u32::MAX);
    let reading = async {
        let _room = room.acquire_many(kilobytes).await;
        let mut body = request.into_body();
        let mut whole = Vec::with_capacity(length.unwrap_or(0));
        while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            let frame = frame.map_err(|error| {
                let message = format!("The body could not be read: {error}.");
                Refusal::new(StatusCode::BAD_REQUEST, message)
            })?;
            let Ok(data) = frame.into_data() else { continue };
            if limits.body < whole.len() + data.len() {
                return Err(too_long());
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole)
    };
    tokio::time::timeout(limits.read, reading).await.unwrap_or_else(|_| {
        let message = format!("The body did not come within {} s.", limits.read.as_secs());
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, message))
    })
}

/// Says that there is no place for another connection.
pub async fn turn_away(mut stream: impl AsyncWrite + Unpin, patience: Duration) {
    const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
        Content-Type: text/plain\r\nContent-Length: 37\r\n\r\nToo many connections are open; try again.";
    let _ = tokio::time::timeout(patience.min(Duration::from_secs(1)), async {
        let _ = stream.write_all(FULL).await;
        let _ = stream.shutdown().await;
    })
    .await;
}

/// A stream that gives up on a peer that takes nothing for too long.
pub struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Runs while the peer takes nothing.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    /// Waits so long at the most.
    pub fn new(stream: S, patience: Duration) -> Patient<S> {
        Patient { stream, patience, waiting: None }
    }

    fn bounded<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.waiting = None;
            return poll;
        }
        let until = Instant::now() + self.patience;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.bounded(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.bounded(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(cx);
        self.bounded(cx, poll)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.bounded(cx, poll)
    }
}
