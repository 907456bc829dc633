//! HTTP as clients meet it: a running server on a port of its own, and bytes.

use crate::stand_in;
use deskhand::call::{Config, Server};
use deskhand::http::{Access, Doors, Limits, Options};
use deskhand::log;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A server before the small desktop, with its own thread.
pub struct Served {
    pub address: SocketAddr,
    pub token: Option<String>,
    pub server: Arc<Server>,
    pub reached: Arc<stand_in::Reached>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// Where a token may be kept.
fn token_file() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("deskhand-doors-{}-{number}.token", std::process::id()))
}

impl Served {
    pub fn start(change: impl FnOnce(&mut Options)) -> Served {
        log::silence();
        let (desktop, reached) = stand_in::desktop();
        let server = Server::new(desktop, Config::default());
        let mut options = Options { port: 0, access: Access::Token(Some(token_file())), ..Options::default() };
        change(&mut options);
        let (stop, stopped) = watch::channel(false);
        let doors = Doors::open(server.clone(), options, stopped).unwrap();
        let (address, token) = (doors.address(), doors.token().map(str::to_owned));
        let thread = std::thread::spawn(move || {
            let runtime = deskhand::mcp::runtime().unwrap();
            runtime.block_on(doors.serve()).unwrap();
            runtime.shutdown_background();
        });
        Served { address, token, server, reached, stop, thread: Some(thread) }
    }

    pub fn open(&self) -> Connection {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Connection(BufReader::new(stream))
    }

    /// The headers of a good request.
    pub fn headers(&self) -> String {
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
        format!("Host: {}\r\nContent-Type: application/json\r\n{}", self.address, token.unwrap_or_default())
    }

    /// What a JSON-RPC request is answered.
    pub fn ask(&self, request: &Value) -> Value {
        let answer = self.open().send("POST /", &self.headers(), &request.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
    }

    pub fn stop(mut self) -> Duration {
        let began = Instant::now();
        self.stop.send_replace(true);
        self.thread.take().unwrap().join().unwrap();
        began.elapsed()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub struct Connection(pub BufReader<TcpStream>);

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Connection {
    pub fn write(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    pub fn send(&mut self, line: &str, headers: &str, body: &str) -> Answer {
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        self.write(format!("{line} HTTP/1.1\r\n{headers}{length}\r\n{body}").as_bytes());
        self.answer()
    }

    pub fn head(&mut self) -> (u16, String) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).unwrap_or(0) == 0 {
                return (0, head);
            }
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, head)
    }

    pub fn answer(&mut self) -> Answer {
        let (status, head) = self.head();
        let mut answer = Answer { status, head, body: String::new() };
        if let Some(length) = answer.header("content-length").and_then(|length| length.parse().ok()) {
            let mut body = vec![0; length];
            self.0.read_exact(&mut body).unwrap();
            answer.body = String::from_utf8(body).unwrap();
        }
        answer
    }

    /// Whether the server has closed it, which it has to do soon.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).is_ok()
    }
}

#[test]
fn windows_are_listed_for_who_has_the_token() {
    let served = Served::start(|_| {});
    let answer = served.call("listWindows", json!({}));
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 1, "result": { "success": true, "windows": [] } }));
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let kind = "Content-Type: application/json\r\n";
    let host = format!("Host: {}\r\n{kind}", served.address);
    let refused = served.open().send("POST /", &host, request);
    assert_eq!(refused.status, 401);
    assert!(refused.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")));
    let wrong = format!("{host}Authorization: Bearer {}\r\n", "0".repeat(64));
    assert_eq!(served.open().send("POST /", &wrong, request).status, 401);
    // Another name that a web page can make point here.
    let rebound = served.headers().replace(&served.address.to_string(), "evil.example");
    assert_eq!(served.open().send("POST /", &rebound, request).status, 403);
    let page = format!("{}Origin: https://evil.example\r\n", served.headers());
    assert_eq!(served.open().send("POST /", &page, request).status, 403);
    let form = served.headers().replace("application/json", "text/plain");
    assert_eq!(served.open().send("POST /", &form, request).status, 415);
}
