//! TLS, for doors that other machines can reach.
//!
//! The certificate is the person's: nothing here makes one, and none is trusted by itself. It is read once, at the
//! start.

use super::LONGEST_HEAD;
use deskhand_core::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, version};
use tokio_rustls::server::TlsStream;

/// What the server shows of itself, and proves it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate and those that vouch for it, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// The first byte of a client that speaks TLS: the kind of record that a handshake is.
const HANDSHAKE: u8 = 0x16;

impl Identity {
    /// Reads it.
    pub fn acceptor(&self) -> Result<TlsAcceptor> {
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
            .map_err(|error| unreadable("certificate", &self.certificate, &error))?;
        if chain.is_empty() {
            return Err(unreadable("certificate", &self.certificate, &pem::Error::NoItemsFound));
        }
        let key =
            PrivateKeyDer::from_pem_file(&self.key).map_err(|error| unreadable("key", &self.key, &error))?;
        let refused = |error: tokio_rustls::rustls::Error| {
            Error::argument(format!(
                "The certificate in {} and the key in {} cannot be used together.",
                self.certificate.display(),
                self.key.display()
            ))
            .expected("a certificate, the ones that vouch for it after it, and its own private key")
            .os(error)
        };
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&version::TLS13])
            .map_err(refused)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(refused)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn unreadable(what: &str, path: &Path, error: &pem::Error) -> Error {
    let message = match error {
        pem::Error::Io(_) => format!("The {what} {} cannot be read.", path.display()),
        _ => format!("The file {} holds no {what} in PEM.", path.display()),
    };
    let begins = if what == "key" { "PRIVATE KEY" } else { "CERTIFICATE" };
    Error::argument(message).expected(format!("a file with -----BEGIN {begins}-----")).os(error)
}

/// Makes a connection one of TLS; nothing where the client does not get there in time. One that speaks plain HTTP
/// is told so, since all that it would see else is a connection that closes.
pub async fn accept(
    acceptor: &TlsAcceptor,
    mut stream: TcpStream,
    patience: Duration,
) -> Option<TlsStream<TcpStream>> {
    let shaking = async {
        let mut first = [0];
        if stream.peek(&mut first).await.ok()? == 0 {
            return None;
        }
        if first == [HANDSHAKE] {
            return acceptor.accept(stream).await.ok();
        }
        // What is left unread when a connection closes takes back what was written last.
        let _ = stream.try_read(&mut vec![0; LONGEST_HEAD]);
        let _ = stream.write_all(PLAIN).await;
        let _ = stream.shutdown().await;
        None
    };
    tokio::time::timeout(patience, shaking).await.ok()?
}

const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n\
    Content-Length: 64\r\n\r\nThis server speaks HTTPS only: use https:// in front of its name";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_answer_is_as_long_as_it_says() {
        let text = std::str::from_utf8(PLAIN).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{}", body.len());
    }

    #[test]
    fn what_is_no_certificate_is_named() {
        let file = std::env::temp_dir().join(format!("deskhand-tls-{}", std::process::id()));
        std::fs::write(&file, "no certificate").unwrap();
        let of = |certificate: &Path| {
            let identity = Identity { certificate: certificate.to_owned(), key: file.clone() };
            identity.acceptor().err().unwrap().message
        };
        assert!(of(Path::new("/nonexistent/cert.pem")).contains("/nonexistent/cert.pem cannot be read"));
        assert!(of(&file).contains("holds no certificate"), "{}", of(&file));
        std::fs::remove_file(file).unwrap();
    }
}
