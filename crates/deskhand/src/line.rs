//! A line on its way out. Pictures weigh megabytes and are already held elsewhere: a line shares them rather
//! than copies them, and they are written from where they lie.

use bytes::Bytes;
use std::io::{self, IoSlice};
use std::sync::Arc;
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Bytes in pieces.
#[derive(Default)]
pub struct Line(Vec<Piece>);

enum Piece {
    Own(Vec<u8>),
    Shared(Arc<str>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::Own(bytes) => bytes,
            Piece::Shared(text) => text.as_bytes(),
        }
    }
}

impl Line {
    /// Where more bytes of its own go.
    pub fn own(&mut self) -> &mut Vec<u8> {
        if !matches!(self.0.last(), Some(Piece::Own(_))) {
            self.0.push(Piece::Own(Vec::new()));
        }
        match self.0.last_mut() {
            Some(Piece::Own(bytes)) => bytes,
            Some(Piece::Shared(_)) | None => unreachable!("a piece of its own was just put there"),
        }
    }

    /// Adds text that others hold too.
    pub fn share(&mut self, text: Arc<str>) {
        self.0.push(Piece::Shared(text));
    }

    /// Adds another line.
    pub fn append(&mut self, other: Line) {
        for piece in other.0 {
            match piece {
                Piece::Own(bytes) if self.0.is_empty() => self.0.push(Piece::Own(bytes)),
                Piece::Own(bytes) => self.own().extend_from_slice(&bytes),
                Piece::Shared(_) => self.0.push(piece),
            }
        }
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.0.iter().map(|piece| piece.bytes().len()).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its bytes in one piece.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.iter().flat_map(Piece::bytes).copied().collect()
    }

    /// Its pieces, without a copy.
    pub fn into_pieces(self) -> impl Iterator<Item = Bytes> {
        struct Text(Arc<str>);
        impl AsRef<[u8]> for Text {
            fn as_ref(&self) -> &[u8] {
                self.0.as_bytes()
            }
        }
        self.0.into_iter().map(|piece| match piece {
            Piece::Own(bytes) => Bytes::from(bytes),
            Piece::Shared(text) => Bytes::from_owner(Text(text)),
        })
    }

    /// Writes all of it, in as few system calls as the output allows.
    pub async fn write_to(&self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut slices: Vec<_> = self.0.iter().map(|piece| IoSlice::new(piece.bytes())).collect();
        let mut rest = &mut slices[..];
        IoSlice::advance_slices(&mut rest, 0); // Passes over what is empty.
        while !rest.is_empty() {
            match output.write_vectored(rest).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => IoSlice::advance_slices(&mut rest, written),
            }
        }
        Ok(())
    }
}

impl From<String> for Line {
    fn from(text: String) -> Line {
        Line(vec![Piece::Own(text.into_bytes())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_are_written_in_order_however_little_is_taken_at_once() {
        let mut line = Line::default();
        line.own().extend_from_slice(b"a");
        line.share("bc".into());
        line.share("".into());
        line.own().extend_from_slice(b"de");
        let mut next = Line::default();
        next.own().extend_from_slice(b"f");
        next.share("g".into());
        line.append(next);
        assert_eq!((line.len(), line.is_empty()), (7, false));
        // A pipe of two bytes.
        let (mut near, mut far) = tokio::io::duplex(2);
        let writing = async {
            line.write_to(&mut near).await.unwrap();
            drop(near);
        };
        let mut read = Vec::new();
        let (_, count) = tokio::join!(writing, tokio::io::AsyncReadExt::read_to_end(&mut far, &mut read));
        assert_eq!((count.unwrap(), &read[..]), (7, &b"abcdefg"[..]));
        assert_eq!(line.into_bytes(), b"abcdefg");
    }
}
