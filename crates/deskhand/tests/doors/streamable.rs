//! MCP's Streamable HTTP, as bytes: sessions, streams, what happens when a connection breaks.

use crate::http::{Answer, Connection, Served};
use deskhand::call::Config;
use serde_json::{Value, json};
use std::io::{BufRead, Read};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const BOTH: &str = "Accept: application/json, text/event-stream\r\n";
const NEWEST_WITH_SESSIONS: &str = "2025-11-25";

struct Session<'a> {
    served: &'a Served,
    id: String,
    version: String,
}

fn hello(version: &str, capabilities: Value) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

impl Session<'_> {
    fn open<'a>(served: &'a Served, version: &str) -> Session<'a> {
        Session::with(served, version, json!({}))
    }

    fn with<'a>(served: &'a Served, version: &str, capabilities: Value) -> Session<'a> {
        let headers = format!("{}{BOTH}", served.headers());
        let answer = served.open().send("POST /mcp", &headers, &hello(version, capabilities).to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["result"]["protocolVersion"], version);
        let id = answer.header("mcp-session-id").unwrap().to_owned();
        assert!(32 <= id.len() && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
        let session = Session { served, id, version: version.to_owned() };
        let told = session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!((told.status, told.body.as_str()), (202, ""));
        session
    }

    fn headers(&self) -> String {
        let Session { id, version, .. } = self;
        format!("{}{BOTH}Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {version}\r\n", self.served.headers())
    }

    fn send(&self, message: &Value) -> Answer {
        self.served.open().send("POST /mcp", &self.headers(), &message.to_string())
    }

    /// Starts a call and returns its stream of events.
    fn call(&self, tool: &str, arguments: Value) -> Connection {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "p" } });
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string();
        let mut connection = self.served.open();
        let headers = format!("{}Content-Length: {}\r\n", self.headers(), body.len());
        connection.write(format!("POST /mcp HTTP/1.1\r\n{headers}\r\n{body}").as_bytes());
        streaming(&mut connection);
        connection
    }

    fn listen(&self, after: Option<&str>) -> Connection {
        let mut connection = self.served.open();
        let after = after.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        connection.write(format!("GET /mcp HTTP/1.1\r\n{}{after}\r\n", self.headers()).as_bytes());
        streaming(&mut connection);
        connection
    }
}

fn streaming(connection: &mut Connection) {
    let (status, head) = connection.head();
    assert_eq!(status, 200, "{head}");
    assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
}

/// The next event: its id and its data. `None` at the stream's end.
fn event(connection: &mut Connection) -> Option<(String, String)> {
    let (mut id, mut data, mut any) = (String::new(), String::new(), false);
    loop {
        let mut size = String::new();
        connection.0.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| 0 < *size)?;
        let mut chunk = vec![0; size + 2];
        connection.0.read_exact(&mut chunk).ok()?;
        let text = String::from_utf8_lossy(&chunk[..size]).into_owned();
        for line in text.split_inclusive('\n') {
            if let Some(value) = line.strip_prefix("id: ") {
                (id, any) = (value.trim().to_owned(), true);
            } else if let Some(value) = line.strip_prefix("data: ") {
                (data, any) = (value.trim_end().to_owned(), true);
            } else if line.trim().is_empty() && text.ends_with("\n\n") {
                if any {
                    return Some((id, data));
                }
            } else if !line.starts_with(':') && !line.trim().is_empty() {
                data.push_str(line);
            }
        }
        if text.ends_with("\n\n") && any {
            return Some((id, data));
        }
    }
}

fn messages(connection: &mut Connection) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    while let Some((id, data)) = event(connection) {
        if !data.is_empty() {
            all.push((id, serde_json::from_str(&data).unwrap_or_else(|_| panic!("{data:?}"))));
        }
    }
    all
}

#[test]
fn every_version_has_its_session() {
    let served = Served::start(|_| {});
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST_WITH_SESSIONS] {
        let session = Session::open(&served, version);
        let tools = session.send(&json!({ "jsonrpc": "2.0", "id": "t", "method": "tools/list" })).json();
        assert_eq!(tools["id"], "t");
        assert!(tools["result"]["tools"].as_array().is_some_and(|tools| 20 < tools.len()));
        let answers = messages(&mut session.call("list_displays", json!({})));
        let [(_, answer)] = &answers[..] else { panic!("{answers:?}") };
        assert_eq!(answer["id"], 7);
        assert_eq!(answer["result"]["structuredContent"]["displays"][0]["id"], "DUMMY-1");
    }
    assert_eq!(served.server.clients(), 4);
}

#[test]
fn a_result_that_came_while_the_client_was_away_is_not_lost() {
    let served = Served::start(|_| {});
    let session = Session::open(&served, NEWEST_WITH_SESSIONS);
    let mut stream = session.call("launch_app", json!({ "application": "slow", "timeout_ms": 700 }));
    let (id, data) = event(&mut stream).unwrap();
    assert_eq!(data, "", "the first event tells only where to go on");
    // The connection breaks; the call goes on.
    drop(stream);
    let began = Instant::now();
    while served.reached.called_off.load(Ordering::SeqCst) == 0 {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::yield_now();
    }
    for _ in 0..2 {
        let found = messages(&mut session.listen(Some(&id)));
        let [(_, answer)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(7), &json!(true)));
    }
}

#[test]
fn progress_comes_in_the_stream_of_its_call() {
    let served = Served::start(|_| {});
    let session = Session::open(&served, NEWEST_WITH_SESSIONS);
    let steps = json!([{ "tool": "cursor_position" }, { "tool": "cursor_position" }]);
    let found = messages(&mut session.call("run_steps", json!({ "steps": steps })));
    let (_, last) = found.last().unwrap();
    assert_eq!(last["id"], 7, "{found:?}");
    for (_, told) in &found[..found.len() - 1] {
        assert_eq!(
            (&told["method"], &told["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p"))
        );
    }
}

#[test]
fn what_nobody_asked_for_comes_in_the_stream_of_the_session() {
    let served = Served::start(|_| {});
    let session = Session::open(&served, NEWEST_WITH_SESSIONS);
    let mut listening = session.listen(None);
    messages(&mut session.call("enable_tools", json!({ "groups": ["audio"] })));
    let (_, data) = event(&mut listening).unwrap();
    let told: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed");
    // Another one takes over.
    let mut second = session.listen(None);
    assert_eq!(event(&mut listening), None);
    messages(&mut session.call("enable_tools", json!({ "groups": ["system"] })));
    assert!(event(&mut second).is_some());
}

#[test]
fn a_call_is_called_off_by_its_id() {
    let served = Served::start(|_| {});
    let session = Session::open(&served, NEWEST_WITH_SESSIONS);
    let mut stream = session.call("launch_app", json!({ "application": "slow" }));
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    assert_eq!(session.send(&cancel).status, 202);
    assert_eq!(messages(&mut stream), [], "a call that was called off is not answered, and its stream ends");
}

#[test]
fn an_ended_session_is_gone_with_what_it_held() {
    let served = Served::start(|_| {});
    let session = Session::open(&served, NEWEST_WITH_SESSIONS);
    messages(&mut session.call("left_mouse_down", json!({})));
    assert_eq!(served.reached.down.load(Ordering::SeqCst), 1, "it outlives the connection");
    let mut listening = session.listen(None);
    let ended = served.open().send("DELETE /mcp", &session.headers(), "");
    assert_eq!(ended.status, 204);
    assert_eq!(event(&mut listening), None);
    let began = Instant::now();
    while served.reached.down.load(Ordering::SeqCst) != 0 || served.server.clients() != 0 {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::yield_now();
    }
    let again = session.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    assert_eq!(again.status, 404);
    assert_eq!(served.open().send("DELETE /mcp", &session.headers(), "").status, 404);
}

#[test]
fn what_the_specification_forbids_is_refused() {
    let served = Served::start(|_| {});
    let session = Session::open(&served, NEWEST_WITH_SESSIONS);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let plain = format!("{}{BOTH}", served.headers());
    let good = session.headers();
    let cases: &[(&str, String, &str, u16)] = &[
        ("POST /mcp", good.clone(), ping, 200),
        ("POST /mcp", plain.clone(), ping, 400),
        ("POST /mcp", format!("{plain}Mcp-Session-Id: nobody\r\n"), ping, 404),
        ("GET /mcp", plain.clone(), "", 400),
        ("DELETE /mcp", plain.clone(), "", 400),
        ("PUT /mcp", good.clone(), ping, 405),
        ("POST /mcp", good.replace(NEWEST_WITH_SESSIONS, "1999-01-01"), ping, 400),
        ("POST /mcp", good.replace(BOTH, "Accept: text/html\r\n"), ping, 406),
        ("GET /mcp", good.replace(BOTH, "Accept: application/json\r\n"), "", 406),
        ("POST /mcp", good.replace("Content-Type: application/json", "Content-Type: text/plain"), ping, 415),
        ("POST /mcp", good.clone(), "{", 400),
        ("POST /mcp", good.clone(), "[]", 400),
        ("POST /mcp", format!("{good}Mcp-Method: tools/list\r\n"), ping, 400),
        ("POST /mcp", format!("{good}Mcp-Method: ping\r\n"), ping, 200),
        ("POST /mcp", format!("{good}Origin: https://evil.example\r\n"), ping, 403),
    ];
    for (line, headers, body, status) in cases {
        let answer = served.open().send(line, headers, body);
        assert_eq!(answer.status, *status, "{line} {headers} {body}: {answer:?}");
    }
}

#[test]
fn without_sessions_every_request_stands_for_itself() {
    let served = Served::start(|options| options.stateless = true);
    let call =
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "list_displays" } });
    let json_only = format!("{}Accept: application/json\r\n", served.headers());
    let answer = served.open().send("POST /mcp", &json_only, &call.to_string());
    assert_eq!(answer.header("mcp-session-id"), None);
    assert_eq!(answer.json()["result"]["structuredContent"]["displays"][0]["id"], "DUMMY-1");
    let answer = served.open().send("POST /mcp", &json_only, &hello("2025-06-18", json!({})).to_string());
    assert_eq!((answer.status, answer.header("mcp-session-id")), (200, None));
    assert_eq!(served.open().send("GET /mcp", &format!("{}{BOTH}", served.headers()), "").status, 405);
}

#[test]
fn the_newest_version_has_no_sessions_at_all() {
    let served = Served::start(|_| {});
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "list_displays", "arguments": {}, "_meta": meta });
    let call = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params }).to_string();
    let headers = format!(
        "{}Accept: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: list_displays\r\n",
        served.headers()
    );
    let answer = served.open().send("POST /mcp", &headers, &call);
    assert_eq!(answer.json()["result"]["resultType"], "complete", "{answer:?}");
    let other = headers.replace("Mcp-Name: list_displays", "Mcp-Name: list_windows");
    let answer = served.open().send("POST /mcp", &other, &call);
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32020)));
}

#[test]
fn a_connection_can_become_one_of_lines() {
    let served = Served::start(|_| {});
    let mut connection = served.open();
    let headers = format!("{}Connection: Upgrade\r\nUpgrade: mcp-lines\r\n", served.headers());
    connection.write(format!("GET /mcp HTTP/1.1\r\n{headers}\r\n").as_bytes());
    let (status, head) = connection.head();
    assert_eq!(status, 101, "{head}");
    connection.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    let mut line = String::new();
    connection.0.read_line(&mut line).unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}

/// A request of the version in which each stands for itself.
fn by_itself(served: &Served, method: &str, name: Option<&str>, mut params: Value) -> (String, String) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = name.map_or(String::new(), |name| format!("Mcp-Name: {name}\r\n"));
    let headers = format!(
        "{}{BOTH}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}",
        served.headers()
    );
    (headers, json!({ "jsonrpc": "2.0", "id": "i", "method": method, "params": params }).to_string())
}

#[test]
fn a_request_by_itself_is_answered_with_a_status() {
    let served = Served::start(|_| {});
    let ask = |method: &str, name: Option<&str>, params: Value, change: &dyn Fn(String) -> String| {
        let (headers, body) = by_itself(&served, method, name, params);
        let answer = served.open().send("POST /mcp", &change(headers), &body);
        let code = answer.json()["error"]["code"].as_i64().unwrap_or_default();
        assert_eq!(answer.json()["id"], "i");
        (answer.status, code)
    };
    let same = |headers: String| headers;
    let click = json!({ "name": "cursor_position" });
    assert_eq!(ask("tools/list", None, json!({}), &same), (200, 0));
    assert_eq!(ask("tools/call", Some("cursor_position"), click.clone(), &same), (200, 0));
    assert_eq!(ask("tools/call", None, click.clone(), &same), (400, -32020));
    assert_eq!(ask("tools/call", Some("=?base64?Y3Vyc29yX3Bvc2l0aW9u?="), click.clone(), &same), (200, 0));
    for gone in ["initialize", "ping", "resources/subscribe", "no/such", "prompts/list"] {
        assert_eq!(ask(gone, None, json!({}), &same), (404, -32601), "{gone}");
    }
    let older = |headers: String| headers.replace("2026-07-28", "2025-11-25");
    assert_eq!(ask("tools/list", None, json!({}), &older), (400, -32020));
    let stray = |headers: String| format!("{headers}Mcp-Session-Id: nobody\r\n");
    assert_eq!(ask("tools/list", None, json!({}), &stray), (200, 0));
    let (headers, body) = by_itself(&served, "tools/list", None, json!({}));
    let batch = served.open().send("POST /mcp", &headers, &format!("[{body}]"));
    assert_eq!((batch.status, &batch.json()["error"]["code"]), (400, &json!(-32600)));
    let unknown = headers.replace("2026-07-28", "2099-01-01");
    let answer = served.open().send("POST /mcp", &unknown, &body.replace("2026-07-28", "2099-01-01"));
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32022)));
    assert_eq!(answer.json()["error"]["data"]["requested"], "2099-01-01");
    for method in ["GET", "DELETE"] {
        assert_eq!(served.open().send(&format!("{method} /mcp"), &headers, "").status, 405);
    }
}

#[test]
fn who_listens_has_a_stream_that_ends_with_the_server() {
    let served = Served::start(|_| {});
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let (headers, body) = by_itself(&served, "subscriptions/listen", None, wanted);
    let mut connection = served.open();
    let head = format!("POST /mcp HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    connection.write(format!("{head}{body}").as_bytes());
    streaming(&mut connection);
    let mine = json!({ "io.modelcontextprotocol/subscriptionId": "i" });
    let heard: Value = serde_json::from_str(&event(&mut connection).unwrap().1).unwrap();
    assert_eq!(heard["params"], json!({ "notifications": { "toolsListChanged": true }, "_meta": mine }));
    let stopping = std::thread::spawn(move || served.stop());
    let last: Value = serde_json::from_str(&event(&mut connection).unwrap().1).unwrap();
    assert_eq!((&last["id"], &last["result"]["_meta"]), (&json!("i"), &mine));
    assert_eq!(event(&mut connection), None);
    stopping.join().unwrap();
}

#[test]
fn later_versions_have_no_batches() {
    let served = Served::start(|_| {});
    let ping = json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }]);
    for (version, status) in [("2025-03-26", 200), ("2025-06-18", 400), (NEWEST_WITH_SESSIONS, 400)] {
        assert_eq!(Session::open(&served, version).send(&ping).status, status, "{version}");
    }
}

/// A server that asks the person before it starts an application, and how long they get to answer.
fn asking(patience: Duration) -> Served {
    let mut config = Config { consent_patience: patience, ..Config::default() };
    config.policy.confirm = vec!["launch_app".to_owned()];
    Served::with(config, |_| {})
}

fn parsed(event: Option<(String, String)>) -> Value {
    let (_, data) = event.expect("an event");
    serde_json::from_str(&data).unwrap_or_else(|_| panic!("{data:?}"))
}

/// The next message of a stream, past the event that only tells where to go on.
fn message(stream: &mut Connection) -> Value {
    loop {
        let (id, data) = event(stream).expect("an event");
        if !data.is_empty() {
            return parsed(Some((id, data)));
        }
    }
}

const FORMS: &str = r#"{ "elicitation": {} }"#;
const LONG: Duration = Duration::from_secs(20);

impl Session<'_> {
    fn with_forms(served: &Served) -> Session<'_> {
        Session::with(served, NEWEST_WITH_SESSIONS, serde_json::from_str(FORMS).unwrap())
    }

    fn launch(&self) -> Connection {
        self.call("launch_app", json!({ "application": "other" }))
    }

    fn answer(&self, question: &Value, result: Value) {
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        assert_eq!(self.send(&answer).status, 202);
    }
}

fn allow() -> Value {
    json!({ "action": "accept", "content": { "allow": true } })
}

#[test]
fn the_person_is_asked_in_the_stream_of_the_call() {
    let served = asking(LONG);
    let session = Session::with_forms(&served);
    // The stream of everything else stays silent.
    let mut general = session.listen(None);
    for (result, said) in [
        (allow(), "is no application"),
        (json!({ "action": "accept", "content": { "allow": false } }), "declined"),
        (json!({ "action": "decline" }), "declined"),
        (json!({ "action": "cancel" }), "dismissed"),
    ] {
        let mut stream = session.launch();
        let question = message(&mut stream);
        assert!(question["params"]["message"].as_str().unwrap().contains("launch_app"), "{question}");
        // Another session cannot answer, and one that has gone neither.
        let other = Session::with_forms(&served);
        other.answer(&question, allow());
        session.answer(&question, result);
        let reply = message(&mut stream);
        assert_eq!(reply["id"], 7, "{reply}");
        assert!(reply["result"]["content"][0]["text"].as_str().unwrap().contains(said), "{reply}");
        assert_eq!(event(&mut stream), None);
    }
    assert_eq!(*served.reached.started.lock().unwrap(), ["other"]);
    // Steps are asked about in the stream of the call that has them.
    let steps = json!([{ "tool": "launch_app", "arguments": { "application": "step" } }]);
    let mut stream = session.call("run_steps", json!({ "steps": steps }));
    let question = loop {
        let next = message(&mut stream);
        if next["method"] != "notifications/progress" {
            break next;
        }
    };
    session.answer(&question, allow());
    assert!(messages(&mut stream).last().unwrap().1["result"].is_object());
    assert_eq!(*served.reached.started.lock().unwrap(), ["other", "step"]);
    messages(&mut session.call("enable_tools", json!({ "groups": ["audio"] })));
    assert_eq!(message(&mut general)["method"], "notifications/tools/list_changed");
}

#[test]
fn without_a_stream_of_its_own_a_call_is_asked_about_in_the_general_one() {
    let served = asking(LONG);
    let session = Session::with_forms(&served);
    let mut general = session.listen(None);
    let json_only = session.headers().replace(BOTH, "Accept: application/json\r\n");
    let params = json!({ "name": "launch_app", "arguments": { "application": "other" } });
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string();
    let mut connection = served.open();
    let headers = format!("{json_only}Content-Length: {}\r\n", body.len());
    connection.write(format!("POST /mcp HTTP/1.1\r\n{headers}\r\n{body}").as_bytes());
    session.answer(&message(&mut general), allow());
    let reply = connection.answer().json();
    assert!(reply.to_string().contains("is no application"), "{reply}");
}

#[test]
fn a_client_that_went_while_it_was_asked_can_come_back_and_answer() {
    let served = asking(LONG);
    let session = Session::with_forms(&served);
    let mut stream = session.launch();
    let (first, _) = event(&mut stream).unwrap();
    let question = message(&mut stream);
    drop(stream);
    let mut again = session.listen(Some(&first));
    assert_eq!(message(&mut again)["id"], question["id"]);
    session.answer(&question, allow());
    assert_eq!(message(&mut again)["id"], 7);
    assert_eq!(*served.reached.started.lock().unwrap(), ["other"]);
}

#[test]
fn nobody_answers_and_nothing_is_done() {
    let served = asking(Duration::from_millis(200));
    let session = Session::with_forms(&served);
    let mut stream = session.launch();
    let question = message(&mut stream);
    let given_up = message(&mut stream);
    assert_eq!(given_up["method"], "notifications/cancelled", "{given_up}");
    assert_eq!(given_up["params"]["requestId"], question["id"]);
    let reply = message(&mut stream);
    assert!(reply.to_string().contains("Nobody answered"), "{reply}");
    session.answer(&question, allow());
    // The session ends while the person is asked.
    let served_long = asking(LONG);
    let session = Session::with_forms(&served_long);
    let mut stream = session.launch();
    message(&mut stream);
    assert_eq!(served_long.open().send("DELETE /mcp", &session.headers(), "").status, 204);
    assert_eq!(event(&mut stream), None);
    let began = Instant::now();
    while served_long.server.clients() != 0 {
        assert!(began.elapsed() < Duration::from_secs(10), "the call has ended with its session");
        std::thread::yield_now();
    }
    for served in [&served, &served_long] {
        assert!(served.reached.started.lock().unwrap().is_empty());
    }
}

#[test]
fn who_cannot_be_asked_is_refused_over_http_too() {
    let served = asking(LONG);
    let session = Session::open(&served, NEWEST_WITH_SESSIONS);
    let reply = message(&mut session.launch());
    assert!(reply.to_string().contains("denied_by_policy"), "{reply}");
    // Nor can clients of plain JSON-RPC, and those without a session.
    let answer = served.call("launch_app", json!({ "application": "other" }));
    assert_eq!(answer["error"]["data"]["code"], "denied_by_policy", "{answer}");
    let params = json!({ "name": "launch_app", "arguments": { "application": "other" } });
    let (headers, call) = by_itself(&served, "tools/call", Some("launch_app"), params);
    let answer = served.open().send("POST /mcp", &headers, &call);
    assert!(answer.body.contains("denied_by_policy"), "{answer:?}");
    assert!(served.reached.started.lock().unwrap().is_empty());
}

#[test]
fn an_answer_that_is_not_kept_any_more_is_said_to_be_lost() {
    let served = Served::start(|options| options.limits.events = 4);
    let (first, second) =
        (Session::open(&served, NEWEST_WITH_SESSIONS), Session::open(&served, NEWEST_WITH_SESSIONS));
    let mut stream = first.call("list_displays", json!({}));
    let (start, _) = event(&mut stream).unwrap();
    let (end, _) = event(&mut stream).unwrap();
    let go_on = |session: &Session, seen: &str| {
        let headers = format!("{}Last-Event-ID: {seen}\r\n", session.headers());
        let mut connection = served.open();
        connection.write(format!("GET /mcp HTTP/1.1\r\n{headers}\r\n").as_bytes());
        let (status, head) = connection.head();
        let length = head
            .to_lowercase()
            .split("content-length: ")
            .nth(1)
            .map(|rest| rest.split("\r\n").next().unwrap().parse().unwrap());
        let mut body = vec![0; length.unwrap_or(0)];
        connection.0.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    };
    assert_eq!(go_on(&first, &start).0, 200);
    // Another client's answers drive it out.
    for _ in 0..4 {
        messages(&mut second.call("list_displays", json!({})));
    }
    let (status, body) = go_on(&first, &start);
    assert_eq!(status, 410, "{body}");
    assert!(body.contains(&format!("the event {start} is not kept")), "{body}");
    // Who has seen all of it has lost nothing.
    assert_eq!(go_on(&first, &end).0, 200);
    for unknown in ["99-1", "0-99", "x", "1", "-1-1"] {
        assert_eq!(go_on(&first, unknown).0, 400, "{unknown}");
    }
    // What belongs to no request goes on with what is there, and shows the gap.
    for group in ["audio", "system", "clipboard", "notifications", "menus", "files"] {
        messages(&mut first.call("enable_tools", json!({ "groups": [group] })));
        messages(&mut second.call("list_displays", json!({})));
    }
    let mut general = first.listen(Some("0-1"));
    let mut text = String::new();
    while !text.contains("list_changed") {
        let mut line = String::new();
        assert!(0 < general.0.read_line(&mut line).unwrap(), "{text}");
        text.push_str(&line);
    }
    assert!(text.contains(": the events 2 to "), "{text}");
}
