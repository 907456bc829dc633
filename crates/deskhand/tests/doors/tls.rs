//! HTTPS, with a certificate that OpenSSL has made and curl as the client.

use crate::http::Served;
use deskhand::http::tls::Identity;
use deskhand::http::{Access, Doors, Options};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A certificate for this machine, and its key, in a folder of their own.
struct Made(PathBuf);

impl Made {
    fn new(name: &str) -> Made {
        let folder = std::env::temp_dir().join(format!("deskhand-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let made = Made(folder);
        let Identity { certificate, key } = made.identity();
        let output = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
            .args(["-days", "2", "-subj", "/CN=desk", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
            .arg("-out")
            .arg(certificate)
            .arg("-keyout")
            .arg(key)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        made
    }

    fn identity(&self) -> Identity {
        Identity { certificate: self.0.join("cert.pem"), key: self.0.join("key.pem") }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn curl(authority: &Path, more: &[&str]) -> Output {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--max-time", "20", "--cacert"]).arg(authority);
    curl.args(["-H", "Content-Type: application/json"]).args(more).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[test]
fn other_machines_come_in_by_tls_and_the_token() {
    let made = Made::new("tls");
    let identity = made.identity();
    let served = Served::start(|options| {
        options.host = "0.0.0.0".into();
        options.tls = Some(identity.clone());
        options.limits.head = Duration::from_secs(2);
    });
    let port = served.address.port();
    let auth = format!("Authorization: Bearer {}", served.token.as_deref().unwrap());
    let at = |host: &str| format!("https://{host}:{port}/");
    for host in ["127.0.0.1", "localhost"] {
        let output = curl(&identity.certificate, &["-H", &auth, "--data", LIST, &at(host)]);
        let answer: Value = serde_json::from_str(&said(&output)).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(answer["result"]["tools"][0]["name"], "launchProcess");
    }
    let without = curl(&identity.certificate, &["--data", LIST, &at("localhost")]);
    assert!(said(&without).contains("The token is missing or wrong"), "{without:?}");
    // A name that points here and is not named.
    let renamed = ["--connect-to", &format!("evil.example:{port}:127.0.0.1:{port}"), "--insecure"];
    let renamed = curl(
        &identity.certificate,
        &[&renamed[..], &["-H", &auth, "--data", LIST, &at("evil.example")]].concat(),
    );
    assert!(said(&renamed).contains("--allow-host"), "{renamed:?}");
    // Many requests on one connection, as keep-alive.
    let (one, two) = (at("localhost"), at("localhost"));
    let output =
        curl(&identity.certificate, &["-w", "%{num_connects};", "-H", &auth, "--data", LIST, &one, &two]);
    assert!(said(&output).ends_with("0;"), "{output:?}");
    let old = curl(&identity.certificate, &["--tls-max", "1.2", &at("localhost")]);
    assert!(!old.status.success(), "only TLS 1.3 is spoken");

    // Plain HTTP is told where to go.
    let plain = curl(&identity.certificate, &["-i", &format!("http://127.0.0.1:{port}/health")]);
    assert!(said(&plain).contains("400 Bad Request") && said(&plain).contains("https://"), "{plain:?}");
    // Half a handshake, and silence: neither is waited for longer than a head is.
    let began = Instant::now();
    let mut slow: Vec<TcpStream> = [&b"\x16\x03\x01"[..], b""]
        .into_iter()
        .map(|start| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream.write_all(start).unwrap();
            stream
        })
        .collect();
    assert!(slow.iter_mut().all(|stream| stream.read_to_end(&mut Vec::new()).is_ok()));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let output = curl(&identity.certificate, &["-H", &auth, "--data", LIST, &at("localhost")]);
    assert!(said(&output).contains("launchProcess"), "{output:?}");
}

#[test]
fn tls_alone_or_a_token_alone_let_nobody_in_from_elsewhere() {
    let made = Made::new("tls-alone");
    let served = Served::start(|_| {});
    let refusal = |change: &dyn Fn(&mut Options)| {
        let mut options = Options { host: "0.0.0.0".into(), port: 0, ..Options::default() };
        change(&mut options);
        let (_, stop) = tokio::sync::watch::channel(false);
        Doors::open(served.server.clone(), options, stop).err().unwrap()
    };
    let without = refusal(&|options| {
        options.tls = Some(made.identity());
        options.access = Access::Anybody;
    });
    assert!(without.message.contains("without a token"), "{without}");
    assert!(without.detail.remedy.unwrap().contains("--no-auth"));
    let other = Made::new("tls-other");
    let mixed = refusal(&|options| {
        let key = other.identity().key;
        options.tls = Some(Identity { key, ..made.identity() });
    });
    assert!(mixed.message.contains("cannot be used together"), "{mixed}");
    let swapped = refusal(&|options| {
        let Identity { certificate, key } = made.identity();
        options.tls = Some(Identity { certificate: key, key: certificate });
    });
    assert!(swapped.message.contains("holds no certificate"), "{swapped}");
}
