//! One connection, in this process, on the stand-in desktop: what calls do to each other.

use crate::stand_in::{self, Reached};
use deskhand::call::{Config, Server};
use deskhand::mcp::{self, Options};
use deskhand_core::Desktop;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub struct Connection {
    input: Option<WriteHalf<DuplexStream>>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    reached: Arc<Reached>,
    serving: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Connection {
    pub fn open(options: Options) -> Connection {
        Connection::with(options, Config::default())
    }

    fn with(options: Options, config: Config) -> Connection {
        let (desktop, reached) = stand_in::desktop();
        Connection::configured(desktop, reached, options, config)
    }

    fn before(desktop: Arc<Desktop>, reached: Arc<Reached>, options: Options) -> Connection {
        Connection::configured(desktop, reached, options, Config::default())
    }

    fn configured(
        desktop: Arc<Desktop>,
        reached: Arc<Reached>,
        options: Options,
        config: Config,
    ) -> Connection {
        deskhand::log::silence();
        let server = Server::new(desktop, config);
        let (near, far) = tokio::io::duplex(1024 * 1024);
        let (output, input) = tokio::io::split(near);
        let (far_input, far_output) = tokio::io::split(far);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let stop = async {
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            mcp::serve(&server, options, far_input, far_output, stop).await;
        });
        let output = BufReader::new(output).lines();
        Connection { input: Some(input), output, reached, serving, stop: Some(stop) }
    }

    pub async fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(
            &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string(),
        )
        .await;
    }

    pub async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(20), self.output.next_line()).await;
        let line = line.expect("a reply comes in time").unwrap().expect("the connection is open");
        serde_json::from_str(&line).unwrap()
    }

    /// Closes the input; the rest of the output, when serving has ended.
    async fn close(mut self) -> (Vec<Value>, Duration) {
        // Half of a duplex stream cannot be closed by dropping it.
        self.input.take().unwrap().shutdown().await.unwrap();
        self.rest().await
    }

    async fn rest(mut self) -> (Vec<Value>, Duration) {
        let started = Instant::now();
        let rest = async {
            let mut all = Vec::new();
            while let Ok(Some(line)) = self.output.next_line().await {
                all.push(serde_json::from_str(&line).unwrap());
            }
            all
        };
        let rest = tokio::time::timeout(Duration::from_secs(20), rest).await.expect("the output ends");
        tokio::time::timeout(Duration::from_secs(20), self.serving).await.expect("serving ends").unwrap();
        (rest, started.elapsed())
    }

    /// Waits until as many slow calls run.
    async fn slow(&self, count: u32) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.reached.waiting.load(Ordering::SeqCst) < count {
            assert!(Instant::now() < deadline, "the slow call starts");
            tokio::task::yield_now().await;
        }
    }
}

fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn the_displays_are_told_at_initialize_and_as_a_resource() {
    let mut connection = Connection::open(Options::default());
    connection.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
    let reply = connection.receive().await;
    let screens = json!([{
        "id": "DUMMY-1", "width": 1280, "height": 800, "pixel_density": 1.0, "origin_x": 0, "origin_y": 0,
    }]);
    assert_eq!(reply["result"]["screens"], screens);
    assert_eq!(reply["result"]["_meta"]["screens"], screens);
    let instructions = reply["result"]["instructions"].as_str().unwrap();
    assert!(instructions.ends_with("Displays (pixels): 0 DUMMY-1 is 1280x800 at (0, 0), primary."));
    let read = r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"deskhand://displays"}}"#;
    connection.send(read).await;
    let reply = connection.receive().await;
    let contents: Value =
        serde_json::from_str(reply["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(contents["screens"], screens);
    assert_eq!(contents["displays"][0]["name"], "A display");
}

/// A connection on which the person is asked before an application is started, by a client that can do so much.
async fn confirming(capabilities: &Value, patience: Duration) -> Connection {
    let mut config = Config { consent_patience: patience, ..Config::default() };
    config.policy.confirm = vec!["launch_app".to_owned()];
    let mut connection = Connection::with(Options::default(), config);
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    connection.send(&hello.to_string()).await;
    connection.receive().await;
    connection
}

async fn answer(connection: &mut Connection, question: &Value, result: Value) {
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
    connection.send(&answer.to_string()).await;
}

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn the_person_is_asked_through_the_client() {
    let mut connection = confirming(&json!({ "elicitation": {} }), LONG).await;
    for (id, result, said) in [
        // What the stand-in says of an application that it does not know: the call was made.
        (1, json!({ "action": "accept", "content": { "allow": true } }), "is no application"),
        (2, json!({ "action": "accept", "content": { "allow": false } }), "declined"),
        (3, json!({ "action": "accept", "content": {} }), "declined"),
        (4, json!({ "action": "decline" }), "declined"),
        (5, json!({ "action": "cancel" }), "dismissed"),
        (6, json!({ "action": "shrug" }), "dismissed"),
    ] {
        connection.call(id, "launch_app", json!({ "application": "other" })).await;
        let question = connection.receive().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.contains("launch_app") && message.contains("other"), "{message}");
        let schema = &question["params"]["requestedSchema"];
        assert_eq!(schema["properties"]["allow"]["type"], "boolean", "{question}");
        // Others go on meanwhile, and what answers nothing is dropped.
        connection.send(r#"{"jsonrpc":"2.0","id":"deskhand-99","result":{"action":"accept"}}"#).await;
        connection.send(r#"{"jsonrpc":"2.0","id":50,"method":"ping"}"#).await;
        assert_eq!(connection.receive().await["id"], 50);
        answer(&mut connection, &question, result).await;
        let reply = connection.receive().await;
        assert_eq!((&reply["id"], &reply["result"]["isError"]), (&json!(id), &json!(true)), "{reply}");
        assert!(text(&reply).contains(said), "{reply}");
        assert_eq!(text(&reply).contains("denied_by_policy"), 1 < id, "{reply}");
    }
    assert_eq!(*connection.reached.started.lock().unwrap(), ["other"]);
    connection.call(7, "launch_app", json!({ "application": "other" })).await;
    let question = connection.receive().await;
    let failed =
        json!({ "jsonrpc": "2.0", "id": question["id"], "error": { "code": -32601, "message": "What?" } });
    connection.send(&failed.to_string()).await;
    let reply = connection.receive().await;
    assert!(text(&reply).contains("could not be asked") && text(&reply).contains("What?"), "{reply}");
    connection.close().await;
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_refused() {
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } }), json!({ "elicitation": true })] {
        let mut connection = confirming(&capabilities, LONG).await;
        connection.call(1, "launch_app", json!({ "application": "other" })).await;
        let reply = connection.receive().await;
        assert!(text(&reply).contains("denied_by_policy") && text(&reply).contains("elicitation"), "{reply}");
        assert!(connection.reached.started.lock().unwrap().is_empty());
        connection.call(2, "cursor_position", json!({})).await;
        assert_eq!(connection.receive().await["result"]["isError"], json!(false));
    }
    let mut connection = confirming(&json!({ "elicitation": { "form": {}, "url": {} } }), LONG).await;
    connection.call(1, "launch_app", json!({ "application": "other" })).await;
    assert_eq!(connection.receive().await["method"], "elicitation/create");
    connection.close().await;
}

#[tokio::test]
async fn an_answer_that_comes_too_late_allows_nothing() {
    let mut connection = confirming(&json!({ "elicitation": {} }), Duration::from_millis(100)).await;
    connection.call(1, "launch_app", json!({ "application": "other" })).await;
    let question = connection.receive().await;
    let given_up = connection.receive().await;
    assert_eq!(given_up["method"], "notifications/cancelled", "{given_up}");
    assert_eq!(given_up["params"]["requestId"], question["id"]);
    let reply = connection.receive().await;
    assert!(text(&reply).contains("\"code\":\"timeout\""), "{reply}");
    answer(&mut connection, &question, json!({ "action": "accept", "content": { "allow": true } })).await;
    // The client calls the next one off, and goes during the last.
    connection.call(2, "launch_app", json!({ "application": "other" })).await;
    connection.receive().await;
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    connection.send(&cancel.to_string()).await;
    assert_eq!(connection.receive().await["method"], "notifications/cancelled");
    let reached = connection.reached.clone();
    connection.call(3, "launch_app", json!({ "application": "other" })).await;
    connection.receive().await;
    connection.close().await;
    assert!(reached.started.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_tool_that_panics_is_one_failed_call() {
    let mut connection = Connection::open(Options::default());
    connection.call(1, "launch_app", json!({ "application": "panic" })).await;
    let reply = connection.receive().await;
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    assert!(text(&reply).contains("\"code\":\"internal\""), "{reply}");
    connection.call(2, "cursor_position", json!({})).await;
    assert_eq!(connection.receive().await["result"]["structuredContent"]["x"], 3);
}

#[tokio::test]
async fn a_cancelled_call_ends_and_is_not_answered() {
    let mut connection = Connection::open(Options::default());
    connection.call(1, "launch_app", json!({ "application": "slow" })).await;
    connection.slow(1).await;
    connection
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"?"}}"#)
        .await;
    // The lane is free again: the next change is done.
    connection.call(2, "launch_app", json!({ "application": "other" })).await;
    assert_eq!(connection.receive().await["id"], 2);
    assert_eq!(connection.reached.called_off.load(Ordering::SeqCst), 1);
    let (rest, _) = connection.close().await;
    assert_eq!(rest, Vec::<Value>::new());
}

#[tokio::test]
async fn reads_pass_a_change_of_another_kind_and_changes_keep_their_order() {
    let mut connection = Connection::open(Options::default());
    for id in 0..20 {
        connection.call(id, "launch_app", json!({ "application": format!("a{id}") })).await;
    }
    for _ in 0..20 {
        connection.receive().await;
    }
    let expected: Vec<String> = (0..20).map(|id| format!("a{id}")).collect();
    assert_eq!(*connection.reached.started.lock().unwrap(), expected);
}

#[tokio::test]
async fn more_calls_than_places_are_all_answered() {
    let mut connection = Connection::open(Options::default());
    let many = 3 * u64::try_from(deskhand::call::MOST_AT_ONCE).unwrap();
    for id in 0..many {
        connection.call(id, "cursor_position", json!({})).await;
    }
    let mut ids = Vec::new();
    for _ in 0..many {
        ids.push(connection.receive().await["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..many).collect::<Vec<_>>());
}

#[tokio::test]
async fn quick_calls_are_answered_after_the_client_closed_its_end() {
    let mut connection = Connection::open(Options::default());
    for id in 0..10 {
        connection.call(id, "cursor_position", json!({})).await;
    }
    let (rest, time) = connection.close().await;
    assert_eq!(rest.len(), 10);
    assert!(time < Duration::from_secs(2), "{time:?}");
}

#[tokio::test]
async fn what_runs_when_the_client_goes_is_called_off_and_answered() {
    let mut connection = Connection::open(Options::default());
    connection.call(1, "launch_app", json!({ "application": "slow" })).await;
    connection.slow(1).await;
    let (rest, time) = connection.close().await;
    assert!(text(&rest[0]).contains("\"code\":\"cancelled\""), "{rest:?}");
    assert!(time < Duration::from_secs(3), "{time:?}");
}

#[tokio::test]
async fn a_call_that_heeds_nothing_does_not_keep_the_program() {
    let mut connection = Connection::open(Options::default());
    connection.call(1, "launch_app", json!({ "application": "deaf" })).await;
    connection.slow(1).await;
    let (rest, time) = connection.close().await;
    assert_eq!(rest, Vec::<Value>::new());
    assert!(time < Duration::from_secs(4), "{time:?}");
}

#[tokio::test]
async fn being_told_to_stop_ends_it_soon() {
    let mut connection = Connection::open(Options::default());
    connection.call(1, "launch_app", json!({ "application": "slow" })).await;
    connection.slow(1).await;
    connection.stop.take().unwrap().send(()).unwrap();
    let (rest, time) = connection.rest().await;
    assert_eq!(rest.len(), 1);
    assert!(time < Duration::from_secs(2), "{time:?}");
}

#[tokio::test]
async fn what_the_client_held_is_let_go_of() {
    let mut connection = Connection::open(Options::default());
    connection.call(1, "left_mouse_down", json!({})).await;
    assert_eq!(connection.receive().await["result"]["isError"], false);
    assert_eq!(connection.reached.down.load(Ordering::SeqCst), 1);
    let reached = connection.reached.clone();
    connection.close().await;
    assert_eq!(reached.down.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn exit_ends_it_after_what_was_asked_before_is_answered() {
    let mut connection = Connection::open(Options::default());
    connection.call(1, "cursor_position", json!({})).await;
    connection.send(r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#).await;
    connection.send(r#"{"jsonrpc":"2.0","id":3,"method":"exit"}"#).await;
    let (mut rest, _) = connection.rest().await;
    rest.sort_by_key(|reply| reply["id"].as_u64());
    let ids: Vec<_> = rest.iter().map(|reply| reply["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(rest[1]["result"], json!({}));
}

#[tokio::test]
async fn tools_are_listed_in_pages_that_go_on_where_the_last_one_ended() {
    let mut connection = Connection::open(Options { page: 5, ..Options::default() });
    let mut names = Vec::new();
    let mut cursor = None;
    loop {
        let params = cursor.as_ref().map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
        connection.send(&request.to_string()).await;
        let reply = connection.receive().await;
        let page = reply["result"]["tools"].as_array().unwrap().clone();
        assert!(page.len() <= 5);
        names.extend(page.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        match reply["result"].get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    let listed: Vec<_> =
        deskhand::profiles::Profile::Standard.shown().iter().map(|shown| shown.name).collect();
    assert_eq!(names, listed);
}

#[tokio::test]
async fn more_tools_are_listed_when_they_are_asked_for() {
    let mut connection = Connection::open(Options::default());
    let list = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list" }).to_string();
    connection.call(1, "enable_tools", json!({ "groups": ["audio"] })).await;
    let told = connection.receive().await;
    assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
    let enabled = connection.receive().await["result"]["structuredContent"]["tools"].clone();
    assert_eq!(enabled[1]["call"], "set_volume(volume, output?)", "{enabled}");
    connection.send(&list).await;
    let listed = connection.receive().await["result"]["tools"].as_array().unwrap().clone();
    let added: Vec<_> = listed.iter().skip(30).map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        added,
        ["get_volume", "set_volume", "get_mute_status", "set_mute", "list_audio_outputs", "set_audio_output"]
    );
    // Nothing more than before: nothing to tell of.
    connection.call(2, "enable_tools", json!({ "groups": ["audio"] })).await;
    assert_eq!(connection.receive().await["id"], 2);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_answered_with_its_id() {
    let mut connection = Connection::open(Options { longest_line: 200, ..Options::default() });
    let long = "x".repeat(100_000);
    connection
        .send(&format!(r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"{long}"}}}}"#))
        .await;
    let reply = connection.receive().await;
    assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!("a"), &json!(-32600)));
    connection.send(&format!(r#"{{"x":"{long}","id":7}}"#)).await;
    assert_eq!(connection.receive().await["id"], Value::Null);
    connection.send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#).await;
    assert_eq!(connection.receive().await, json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
}

/// One step of a client that may do anything.
#[derive(Clone, Debug)]
enum Step {
    Read,
    Change,
    Slow,
    Panic,
    Ping,
    List,
    UnknownMethod,
    UnknownTool,
    Garbage,
    Initialized,
    Initialize,
    CancelBefore(usize),
    Batch(Vec<Step>),
}

fn step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        6 => Just(Step::Read),
        4 => Just(Step::Change),
        1 => Just(Step::Slow),
        1 => Just(Step::Panic),
        2 => Just(Step::Ping),
        1 => Just(Step::List),
        1 => Just(Step::UnknownMethod),
        1 => Just(Step::UnknownTool),
        1 => Just(Step::Garbage),
        1 => Just(Step::Initialized),
        1 => Just(Step::Initialize),
        2 => (1usize..6).prop_map(Step::CancelBefore),
    ];
    leaf.prop_recursive(1, 8, 5, |inner| prop::collection::vec(inner, 1..5).prop_map(Step::Batch))
}

struct Script {
    next: u64,
    /// Each id with whether it must be answered.
    ids: BTreeMap<u64, bool>,
    slow: Vec<u64>,
    garbage: usize,
}

impl Script {
    fn message(&mut self, step: &Step) -> Value {
        let mut request = |method: &str, params: Value| {
            self.next += 1;
            self.ids.insert(self.next, true);
            json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params })
        };
        let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
        match step {
            Step::Read => request("tools/call", call("cursor_position", json!({}))),
            Step::Change => request("tools/call", call("launch_app", json!({ "application": "x" }))),
            Step::Slow => {
                let message = request("tools/call", call("launch_app", json!({ "application": "slow" })));
                self.slow.push(self.next);
                message
            }
            Step::Panic => request("tools/call", call("launch_app", json!({ "application": "panic" }))),
            Step::Ping => request("ping", json!({})),
            Step::List => request("tools/list", json!({})),
            Step::UnknownMethod => request("no/such", json!({})),
            Step::UnknownTool => request("tools/call", call("no_such", json!({}))),
            Step::Garbage => {
                self.garbage += 1;
                json!(17)
            }
            Step::Initialized => json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            Step::Initialize => request("initialize", json!({ "protocolVersion": "2025-03-26" })),
            Step::CancelBefore(back) => {
                let id = self.next.saturating_sub(*back as u64 - 1);
                self.cancel(id)
            }
            Step::Batch(steps) => steps.iter().map(|step| self.message(step)).collect(),
        }
    }

    fn cancel(&mut self, id: u64) -> Value {
        if let Some(must) = self.ids.get_mut(&id) {
            *must = false;
        }
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_answered_once_whatever_happens(steps in prop::collection::vec(step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = Connection::open(Options::default());
            let mut script = Script { next: 0, ids: BTreeMap::new(), slow: Vec::new(), garbage: 0 };
            for step in &steps {
                let message = script.message(step);
                connection.send(&message.to_string()).await;
            }
            // Slow calls hold up the lane until they are called off.
            for id in script.slow.clone() {
                let message = script.cancel(id);
                connection.send(&message.to_string()).await;
            }
            let (rest, _) = connection.close().await;
            let replies: Vec<Value> =
                rest.into_iter().flat_map(|reply| match reply { Value::Array(all) => all, one => vec![one] }).collect();
            let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
            let mut nameless = 0;
            for reply in &replies {
                assert_eq!(reply["jsonrpc"], "2.0");
                assert!(reply.get("result").is_some() != reply.get("error").is_some(), "{reply}");
                match reply["id"].as_u64() {
                    Some(id) => *seen.entry(id).or_default() += 1,
                    None => nameless += 1,
                }
            }
            assert_eq!(nameless, script.garbage);
            assert!(seen.values().all(|count| *count == 1), "{seen:?}");
            for (id, must) in &script.ids {
                assert!(!must || seen.contains_key(id), "{id} is not answered: {replies:?}");
            }
            assert!(seen.keys().all(|id| script.ids.contains_key(id)));
        });
        runtime.shutdown_background();
    }
}

/// The usual desktop in memory behind a connection, and its strings.
async fn watching() -> (Connection, Arc<deskhand_core::fake::Control>) {
    let (desktop, control) = deskhand_core::fake::Fake::new().build();
    (Connection::before(desktop, Arc::default(), Options::default()), control)
}

/// The next message that is no answer.
async fn notification(connection: &mut Connection) -> Value {
    loop {
        let message = connection.receive().await;
        if message.get("id").is_none() {
            return message;
        }
    }
}

#[tokio::test]
async fn a_subscription_tells_of_events_and_the_resource_has_them() {
    let (mut connection, control) = watching().await;
    connection
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#)
        .await;
    connection.receive().await;
    connection.call(2, "create_observation", json!({ "type": "window", "window": "8" })).await;
    let uri = connection.receive().await["result"]["structuredContent"]["uri"].clone();
    let request = |id: u64, method: &str, uri: &Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "uri": uri } }).to_string()
    };
    connection.send(&request(3, "resources/subscribe", &uri)).await;
    assert_eq!(connection.receive().await["result"], json!({}));
    control.change(|world| world.retitle_window(8, "Sums"));
    let told = notification(&mut connection).await;
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"], json!({ "uri": uri }));
    connection.send(&request(4, "resources/read", &uri)).await;
    let contents = connection.receive().await["result"]["contents"][0].clone();
    let read: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!((&contents["uri"], &read["events"][0]["new"]), (&uri, &json!("Sums")), "{read}");
    let later = json!(format!("{}?after=1", uri.as_str().unwrap()));
    connection.send(&request(5, "resources/read", &later)).await;
    let contents = connection.receive().await["result"]["contents"][0].clone();
    let read: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!(read["events"], json!([]));
    connection.send(r#"{"jsonrpc":"2.0","id":6,"method":"resources/list"}"#).await;
    assert_eq!(connection.receive().await["result"]["resources"][1]["uri"], uri);

    connection.send(&request(7, "resources/unsubscribe", &uri)).await;
    connection.receive().await;
    control.change(|world| world.close_window(8));
    // Its last event is there, and nobody was told.
    for id in 8.. {
        connection.call(id, "get_observation", json!({ "name": "o1" })).await;
        let reply = connection.receive().await;
        assert_eq!(reply["id"], id, "{reply}");
        if reply["result"]["structuredContent"]["observation"]["state"] == "ended" {
            break;
        }
    }
    connection.call(1000, "cancel_observation", json!({ "name": "o1" })).await;
    connection.receive().await;
    connection.send(&request(1001, "resources/read", &uri)).await;
    assert_eq!(connection.receive().await["error"]["code"], -32002);
}

#[tokio::test]
async fn progress_is_told_before_the_reply_to_those_who_ask_for_it() {
    let (mut connection, control) = watching().await;
    let stream = json!({ "types": ["window"], "window": "8", "max_events": 2, "duration_ms": 20_000 });
    let stream = |id: u64, token: Value| {
        let params = json!({ "name": "stream_observations", "arguments": stream,
                             "_meta": { "progressToken": token } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
    };
    connection.send(&stream(1, json!("mine"))).await;
    let mut number = 0;
    let mut told: Vec<Value> = Vec::new();
    loop {
        number += 1;
        control.change(|world| world.retitle_window(8, &format!("title {number}")));
        let Ok(message) = tokio::time::timeout(Duration::from_millis(100), connection.receive()).await else {
            continue;
        };
        if message["id"] == 1 {
            let events = message["result"]["structuredContent"]["events"].as_array().unwrap().clone();
            assert_eq!(events.len(), 2, "{message}");
            break;
        }
        told.push(message);
    }
    assert!(!told.is_empty());
    for message in &told {
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "mine", "{message}");
        assert!(message["params"]["message"].as_str().unwrap().contains("window_title_changed"), "{message}");
    }
    let steps: Vec<u64> = told.iter().map(|one| one["params"]["progress"].as_u64().unwrap()).collect();
    assert!(steps.is_sorted_by(|one, next| one < next), "{steps:?}");

    // What it began for itself ends with it, also when it is called off.
    connection.send(&stream(2, json!(7))).await;
    connection.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#).await;
    for id in 3.. {
        connection.call(id, "list_observations", json!({})).await;
        let reply = connection.receive().await;
        if reply["id"] == id && reply["result"]["structuredContent"]["observations"] == json!([]) {
            break;
        }
    }
}

#[tokio::test]
async fn observations_end_with_the_connection() {
    let (desktop, control) = deskhand_core::fake::Fake::new().build();
    let server = Server::new(desktop, Config::default());
    deskhand::log::silence();
    let (near, far) = tokio::io::duplex(1024 * 1024);
    let (mut output, mut input) = tokio::io::split(near);
    let (far_input, far_output) = tokio::io::split(far);
    let create = json!({ "name": "create_observation", "arguments": { "type": "window" } });
    let create = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": create });
    input.write_all(format!("{create}\n").as_bytes()).await.unwrap();
    input.shutdown().await.unwrap();
    mcp::serve(&server, Options::default(), far_input, far_output, std::future::pending()).await;
    let mut all = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut output, &mut all).await.unwrap();
    assert!(all.contains("observations/o1"), "{all}");
    let first = deskhand::observations::Owner::Client(1);
    assert!(server.observations.of(first).is_empty());
    drop(control);
}

/// Since 2026-07-28 a client is told of changes only where it listens, by the id of its request.
#[tokio::test]
async fn who_listens_is_told_of_changes_until_it_calls_that_off() {
    let (mut connection, control) = watching().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = |id: Value, method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let call = |id: u64, tool: &str, arguments: Value| {
        request(json!(id), "tools/call", json!({ "name": tool, "arguments": arguments }))
    };
    connection.send(&call(1, "create_observation", json!({ "type": "window", "window": "8" }))).await;
    let uri = connection.receive().await["result"]["structuredContent"]["uri"].clone();
    // Who does not listen is told nothing.
    connection.send(&call(2, "enable_tools", json!({ "groups": ["audio"] }))).await;
    assert_eq!(connection.receive().await["id"], 2);

    let wanted = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourceSubscriptions": [uri, "deskhand://observations/o99", "file:///etc/passwd"],
    });
    let listen = request(json!("mine"), "subscriptions/listen", json!({ "notifications": wanted }));
    connection.send(&listen).await;
    let mine = json!({ "io.modelcontextprotocol/subscriptionId": "mine" });
    let heard = connection.receive().await;
    assert_eq!(heard["method"], "notifications/subscriptions/acknowledged");
    let accepted = json!({ "toolsListChanged": true, "resourceSubscriptions": [uri] });
    assert_eq!(heard["params"], json!({ "notifications": accepted, "_meta": mine }));

    control.change(|world| world.retitle_window(8, "Sums"));
    let told = connection.receive().await;
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"], json!({ "uri": uri, "_meta": mine }));
    connection.send(&call(3, "enable_tools", json!({ "groups": ["system"] }))).await;
    let both = [connection.receive().await, connection.receive().await];
    let told = both.iter().find(|message| message["method"] == "notifications/tools/list_changed").unwrap();
    assert_eq!(told["params"]["_meta"], mine);

    let cancel = json!({ "requestId": "mine" });
    connection
        .send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }).to_string())
        .await;
    connection.send(&call(4, "enable_tools", json!({ "groups": ["files"] }))).await;
    assert_eq!(connection.receive().await["id"], 4);

    // What is still listened to when the client goes ends with an answer, and holds nothing up.
    connection.send(&request(json!(5), "subscriptions/listen", json!({ "notifications": {} }))).await;
    assert_eq!(connection.receive().await["params"]["notifications"], json!({}));
    let (rest, time) = connection.close().await;
    let mine = json!({ "io.modelcontextprotocol/subscriptionId": 5 });
    assert_eq!(
        rest,
        [json!({ "jsonrpc": "2.0", "id": 5, "result": { "resultType": "complete", "_meta": mine } })]
    );
    assert!(time < Duration::from_millis(700), "{time:?}");
}
