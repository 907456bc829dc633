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
        Served::with(Config::default(), change)
    }

    pub fn with(config: Config, change: impl FnOnce(&mut Options)) -> Served {
        log::silence();
        let (desktop, reached) = stand_in::desktop();
        let server = Server::new(desktop, config);
        let mut options =
            Options { port: 0, access: Access::Token(Some(token_file())), ..Options::default() };
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
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
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

/// Requests and answers of the JSON-RPC 2.0 specification, with tools of ours for its methods; `…` is a message.
#[test]
fn json_rpc_is_spoken_to_the_letter() {
    let served = Served::start(|_| {});
    let list = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"getProviders"},"id":"#;
    let providers = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":["at-spi"]}}"#);
    let error = |code: i32, id: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"…"}}}}"#)
    };
    let cases: Vec<(String, String)> = vec![
        (format!("{list}1}}"), if cfg!(target_os = "linux") { providers("1") } else { String::new() }),
        (format!("{list}\"a\"}}"), providers("\"a\"")),
        (format!("{list}null}}"), providers("null")),
        (format!("{list}1.5}}"), providers("1.5")),
        // A notification.
        (r#"{"jsonrpc":"2.0","method":"update","params":[1,2,3,4,5]}"#.into(), String::new()),
        (r#"{"jsonrpc":"2.0","method":"foobar"}"#.into(), String::new()),
        (r#"{"jsonrpc":"2.0","method":"foobar","id":"1"}"#.into(), error(-32601, "\"1\"")),
        (r#"{"jsonrpc":"2.0","method":"foobar, "params":"bar","baz]"#.into(), error(-32700, "null")),
        (r#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#.into(), error(-32600, "null")),
        (r#"{"jsonrpc":"2.0","method":"tools/list","id":{}}"#.into(), error(-32600, "null")),
        (r#"{"jsonrpc":"2.0","method":"tools/list","params":7,"id":1}"#.into(), error(-32600, "1")),
        (r#"{"jsonrpc":"1.0","method":"tools/list","id":1}"#.into(), error(-32600, "1")),
        (r#"{"method":"tools/list","id":1}"#.into(), error(-32600, "1")),
        (r#"[{"jsonrpc":"2.0","method":"sum","id":"1"},{"jsonrpc":"2.0","method"]"#.into(), error(-32700, "null")),
        ("".into(), error(-32700, "null")),
        ("[]".into(), error(-32600, "null")),
        ("[1]".into(), format!("[{}]", error(-32600, "null"))),
        ("[1,2,3]".into(), format!("[{0},{0},{0}]", error(-32600, "null"))),
        (
            format!(
                r#"[{list}"1"}},{{"jsonrpc":"2.0","method":"notify_hello","params":[7]}},{{"foo":"boo"}},{{"jsonrpc":"2.0","method":"foo.get","params":{{"name":"myself"}},"id":"5"}},{list}"9"}}]"#
            ),
            format!(
                "[{},{},{},{}]",
                providers("\"1\""),
                error(-32600, "null"),
                error(-32601, "\"5\""),
                providers("\"9\"")
            ),
        ),
        (
            r#"[{"jsonrpc":"2.0","method":"notify_sum","params":[1]},{"jsonrpc":"2.0","method":"notify_hello"}]"#
                .into(),
            String::new(),
        ),
        // Tools.
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}"#.into(), error(-32602, "1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#.into(), error(-32602, "1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["listWindows"]}"#.into(), error(-32602, "1")),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"listWindows","arguments":[]}}"#.into(),
            error(-32602, "1"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"launchProcess","arguments":{}}}"#.into(),
            error(-32602, "1"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"launchProcess","arguments":{"executable":"none"}}}"#
                .into(),
            error(-32603, "1"),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.into(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.into()),
        (
            // As its document shows it.
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{}}}"#
                .into(),
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"ai-ui-automation","version":"0.1.1"}}}"#
                .into(),
        ),
    ];
    let mut connection = served.open();
    for (request, wanted) in cases {
        let headers = format!("{}Content-Length: {}\r\n", served.headers(), request.len());
        connection.write(format!("POST / HTTP/1.1\r\n{headers}\r\n{request}").as_bytes());
        let answer = connection.answer();
        if wanted.is_empty() {
            assert_eq!((answer.status, answer.body.as_str()), (204, ""), "{request}");
            continue;
        }
        assert_eq!(answer.status, 200, "{request}: {answer:?}");
        let mut said = answer.json();
        let list = said.as_array_mut();
        let plain = |reply: &mut Value| {
            if let Some(error) = reply.get_mut("error").and_then(Value::as_object_mut) {
                assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
                error.insert("message".into(), json!("…"));
                error.remove("data");
            }
        };
        match list {
            Some(list) => list.iter_mut().for_each(plain),
            None => plain(&mut said),
        }
        assert_eq!(said, serde_json::from_str::<Value>(&wanted).unwrap(), "{request}");
    }
}

/// What a body is answered.
fn answered(body: &str) -> Value {
    let served = Served::start(|_| {});
    let answer = served.open().send("POST /", &served.headers(), body);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{answer:?}");
    answer.json()
}

#[track_caller]
fn refused_as(code: i32, body: &str) {
    let answer = answered(body);
    assert_eq!((&answer["jsonrpc"], &answer["error"]["code"]), (&json!("2.0"), &json!(code)), "{answer}");
    assert!(answer["error"]["message"].is_string() && answer.get("result").is_none(), "{answer}");
}

#[test]
fn jr_address_is_the_one_of_the_document_unless_another_is_named() {
    let usual = Options::default();
    assert_eq!((usual.host.as_str(), usual.port), ("127.0.0.1", 3457));
    // A free port is another one.
    let served = Served::start(|_| {});
    assert!(served.address.ip().is_loopback() && served.address.port() != 0);
    assert_eq!(served.call("listWindows", json!({}))["result"]["success"], true);
}

#[test]
fn jr_post_with_json_is_what_is_taken() {
    let served = Served::start(|_| {});
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (line, kind, status) in [
        ("POST /", "application/json", 200),
        ("POST /", "application/json; charset=utf-8", 200),
        ("POST /", "text/plain", 415),
        ("PUT /", "application/json", 405),
        ("PATCH /", "application/json", 405),
    ] {
        let headers = served.headers().replace("application/json", kind);
        assert_eq!(served.open().send(line, &headers, body).status, status, "{line} {kind}");
    }
}

#[test]
fn jr_response_has_the_id_and_the_bare_result() {
    let answer = answered(
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"listWindows","arguments":{}}}"#,
    );
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 4, "result": { "success": true, "windows": [] } }));
}

#[test]
fn jr_initialize_answers_as_the_document_shows_it() {
    let answer = answered(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{}}}"#,
    );
    let result = json!({
        "protocolVersion": "2024-11-05",
        "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
        "serverInfo": { "name": "ai-ui-automation", "version": "0.1.1" },
    });
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 1, "result": result }));
}

#[test]
fn jr_list_gives_every_tool_with_its_schema() {
    let answer = answered(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    let required = |name: &str| {
        let tools = answer["result"]["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}"));
        assert!(tool["description"].as_str().is_some_and(|about| !about.is_empty()), "{tool}");
        let mut required = tool["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
        required.sort_by_key(Value::to_string);
        required
    };
    for (name, parameters) in [
        ("launchProcess", json!(["executable"])),
        ("listWindows", json!([])),
        ("queryTree", json!(["providerName", "targetId"])),
        ("setProperty", json!(["elementId", "propertyName", "providerName", "value"])),
        ("readProperty", json!(["elementId", "propertyName", "providerName"])),
        ("clickElement", json!(["elementId", "providerName"])),
        ("getProviders", json!([])),
    ] {
        assert_eq!(Value::Array(required(name)), parameters, "{name}");
    }
}

#[test]
fn jr_32700_is_what_is_no_json() {
    refused_as(-32700, "{");
}

#[test]
fn jr_32600_is_what_is_no_request() {
    refused_as(-32600, r#"{"id":1,"method":"tools/list"}"#);
    refused_as(-32600, "7");
}

#[test]
fn jr_32601_is_a_method_that_there_is_not() {
    refused_as(-32601, r#"{"jsonrpc":"2.0","id":1,"method":"tools/run"}"#);
}

#[test]
fn jr_32602_is_a_wrong_parameter_and_a_tool_that_there_is_not() {
    refused_as(-32602, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"noTool"}}"#);
    refused_as(
        -32602,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"launchProcess","arguments":{}}}"#,
    );
}

#[test]
fn jr_32603_is_a_tool_that_says_no() {
    refused_as(
        -32603,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"launchProcess","arguments":{"executable":"none"}}}"#,
    );
}

#[test]
fn the_seven_tools_are_listed_and_every_other_can_be_called() {
    let served = Served::start(|_| {});
    let tools =
        served.ask(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }))["result"]["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let seven = [
        "launchProcess",
        "listWindows",
        "queryTree",
        "setProperty",
        "readProperty",
        "clickElement",
        "getProviders",
    ];
    assert_eq!(names, seven);
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["inputSchema"]["type"] == "object"));
    let displays = served.call("list_displays", json!({}));
    assert_eq!(displays["result"]["displays"][0]["id"], "DUMMY-1", "{displays}");
}

#[test]
fn without_a_token_only_what_was_said_to_be_open_is_open() {
    let served = Served::start(|options| options.access = Access::Anybody);
    assert!(served.token.is_none());
    assert_eq!(served.call("listWindows", json!({}))["result"]["success"], true);
    let elsewhere = Options { host: "0.0.0.0".into(), port: 0, ..Options::default() };
    let (_, stop) = watch::channel(false);
    let error = Doors::open(served.server.clone(), elsewhere, stop).err().unwrap();
    assert!(error.message.contains("not encrypted"), "{error}");
    let remedy = error.detail.remedy.unwrap();
    assert!(remedy.contains("--tls-cert") && remedy.contains("ssh -L"), "{remedy}");
}

#[test]
fn a_person_and_a_monitor_find_what_they_look_for() {
    let served = Served::start(|_| {});
    let host = format!("Host: {}\r\n", served.address);
    let page = served.open().send("GET /", &host, "");
    assert_eq!(page.status, 200);
    assert!(
        page.body.contains("<code>launchProcess</code>") && page.body.contains("/health"),
        "{}",
        page.body
    );
    assert!(!page.body.contains(served.token.as_deref().unwrap()));
    let health = served.open().send("GET /health", &host, "").json();
    assert_eq!(health["status"], "ok");
    served.call("listWindows", json!({}));
    let metrics = served.open().send("GET /metrics", &served.headers(), "").body;
    assert!(metrics.contains("deskhand_calls_total{tool=\"listWindows\",outcome=\"ok\"} 1"), "{metrics}");
    assert!(metrics.contains("process_resident_memory_bytes"), "{metrics}");
    assert_eq!(served.open().send("GET /metrics", &host, "").status, 401);
    for (line, status) in [("DELETE /", 405), ("PUT /health", 405), ("GET /nothing", 404), ("OPTIONS /", 204)]
    {
        let answer = served.open().send(line, &served.headers(), "");
        assert_eq!(answer.status, status, "{line}");
        assert_eq!(answer.header("allow").is_some(), status == 405, "{line}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{line}");
    }
}

#[test]
fn only_named_pages_are_let_read() {
    let served = Served::start(|options| options.origins = vec!["https://app.example".into()]);
    let page = format!("{}Origin: https://app.example\r\n", served.headers());
    let answer = served.open().send("OPTIONS /", &page, "");
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    let other = format!("{}Origin: https://other.example\r\n", served.headers());
    let answer = served.open().send("OPTIONS /", &other, "");
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (403, None));
}

#[test]
fn what_is_too_much_is_refused() {
    let served = Served::start(|options| {
        options.limits = Limits {
            body: 1000,
            head: Duration::from_millis(500),
            read: Duration::from_millis(500),
            ..options.limits.clone()
        };
    });
    let long = format!("{}Content-Length: 1001\r\n\r\n", served.headers());
    let mut connection = served.open();
    connection.write(format!("POST / HTTP/1.1\r\n{long}").as_bytes());
    assert_eq!(connection.answer().status, 413);
    assert!(connection.is_closed());
    // Without saying how long it is.
    let mut connection = served.open();
    let chunked = format!("POST / HTTP/1.1\r\n{}Transfer-Encoding: chunked\r\n\r\n", served.headers());
    connection.write(chunked.as_bytes());
    connection.write(format!("7d0\r\n{}\r\n", "x".repeat(2000)).as_bytes());
    assert_eq!(connection.answer().status, 413);
    // Too many headers, and too long ones.
    let many: String = (0..100).map(|number| format!("X-{number}: y\r\n")).collect();
    assert_eq!(served.open().send("GET /health", &format!("{}{many}", served.headers()), "").status, 431);
    let wide = format!("{}X: {}\r\n", served.headers(), "y".repeat(40_000));
    assert_eq!(served.open().send("GET /health", &wide, "").status, 431);
    // What is no HTTP.
    let mut connection = served.open();
    connection.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n");
    assert_eq!(connection.answer().status, 400);
    // Nothing, half a head, half a body: none is waited for much longer than is allowed.
    let began = Instant::now();
    let half = format!("POST / HTTP/1.1\r\n{}Content-Length: 10\r\n\r\n{{", served.headers());
    let mut slow: Vec<Connection> = ["", "POST / HT", &half]
        .iter()
        .map(|start| {
            let mut connection = served.open();
            connection.write(start.as_bytes());
            connection
        })
        .collect();
    assert_eq!(slow[2].answer().status, 408);
    assert!(slow.iter_mut().all(Connection::is_closed));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(served.call("listWindows", json!({}))["result"]["success"], true);
}

#[test]
fn connections_and_requests_are_counted() {
    let served = Served::start(|options| options.limits.connections = 2);
    let mut first = served.open();
    let mut second = served.open();
    for connection in [&mut first, &mut second] {
        assert_eq!(connection.send("GET /health", &served.headers(), "").status, 200);
    }
    let mut third = served.open();
    let refused = third.answer();
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    drop(first);
    let again = Instant::now();
    while served.open().send("GET /health", &served.headers(), "").status != 200 {
        assert!(again.elapsed() < Duration::from_secs(10), "the place of the first is free");
    }
    let served = Served::start(|options| options.limits.rate = Some(5));
    let statuses: Vec<u16> =
        (0..20).map(|_| served.open().send("GET /health", &served.headers(), "").status).collect();
    assert!(statuses.starts_with(&[200, 200, 200]) && statuses.contains(&429), "{statuses:?}");
}

#[test]
fn who_has_no_token_keeps_nobody_out() {
    let served = Served::start(|options| options.limits.connections = 8);
    let host = format!("Host: {}\r\nContent-Type: application/json\r\n", served.address);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    // Idle ones, and one that is known.
    let mut strangers: Vec<Connection> = (0..7).map(|_| served.open()).collect();
    assert_eq!(strangers[1].send("GET /health", &host, "").status, 200);
    let mut known = served.open();
    assert_eq!(known.send("POST /", &served.headers(), body).status, 200);
    for _ in 0..5 {
        let mut other = served.open();
        assert_eq!(other.send("POST /", &served.headers(), body).status, 200);
    }
    assert!(strangers[0].is_closed(), "the oldest made place");
    assert_eq!(known.send("POST /", &served.headers(), body).status, 200);
    // Tokens are tried, and the answers come slowly; who has the right one notices nothing.
    let wrong = format!("{host}Authorization: Bearer {}\r\n", "0".repeat(64));
    for _ in 0..10 {
        assert_eq!(served.open().send("POST /", &wrong, body).status, 401);
    }
    let began = Instant::now();
    let mut trying = served.open();
    trying
        .write(format!("POST / HTTP/1.1\r\n{wrong}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    for _ in 0..20 {
        assert_eq!(known.send("POST /", &served.headers(), body).status, 200);
    }
    let good = began.elapsed();
    let refused = trying.answer();
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{refused:?}");
    assert!(good < began.elapsed() && Duration::from_millis(900) < began.elapsed(), "{good:?}");
}

#[test]
fn what_a_connection_holds_and_runs_ends_with_it() {
    let served = Served::start(|_| {});
    let mut connection = served.open();
    let call = |tool: &str, arguments: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
            .to_string()
    };
    let answer = connection.send("POST /", &served.headers(), &call("left_mouse_down", json!({})));
    assert_eq!(answer.json()["result"]["held"], json!(["left button"]), "{answer:?}");
    assert_eq!(served.reached.down.load(Ordering::SeqCst), 1);
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !done() {
            assert!(began.elapsed() < Duration::from_secs(10), "{what}");
            std::thread::yield_now();
        }
    };
    drop(connection);
    wait("the button is let go of", &|| served.reached.down.load(Ordering::SeqCst) == 0);
    let mut connection = served.open();
    let body = call("launch_app", json!({ "application": "slow" }));
    let headers = format!("{}Content-Length: {}\r\n", served.headers(), body.len());
    connection.write(format!("POST / HTTP/1.1\r\n{headers}\r\n{body}").as_bytes());
    wait("the call runs", &|| served.reached.waiting.load(Ordering::SeqCst) == 1);
    drop(connection);
    wait("the call is called off", &|| served.reached.called_off.load(Ordering::SeqCst) == 1);
    wait("no client is left", &|| served.server.clients() == 0);
}

#[test]
fn told_to_stop_it_answers_what_it_can_and_ends() {
    let served = Served::start(|_| {});
    let mut held = served.open();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"left_mouse_down"}}"#;
    assert_eq!(held.send("POST /", &served.headers(), body).status, 200);
    let _idle = served.open();
    let reached = served.reached.clone();
    let took = served.stop();
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(reached.down.load(Ordering::SeqCst), 0);
}

#[test]
fn a_thousand_clients_at_once_are_all_answered() {
    let served = Served::start(|_| {});
    // The test's own end takes as many files.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = limit.maximum.unwrap_or(4096).min(4096);
    let wanted = rustix::process::Rlimit { current: Some(most), ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, wanted).unwrap();
    let count = if most < 2200 { usize::try_from(most / 2).unwrap() - 100 } else { 1000 };
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"listWindows"}}"#;
    let mut all: Vec<Connection> = (0..count).map(|_| served.open()).collect();
    let request =
        format!("POST / HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{body}", served.headers(), body.len());
    all.iter_mut().for_each(|connection| connection.write(request.as_bytes()));
    for connection in &mut all {
        let answer = connection.answer();
        assert_eq!((answer.status, &answer.json()["result"]["success"]), (200, &json!(true)));
    }
}
