//! The documented walk of plain JSON-RPC clients on a real desktop, with curl: launch a calculator, type
//! `25+17=`, read what it shows.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::{Value, json};
use stage::session::have;
use stage::{PrivateDesktop, Stage};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

struct Server {
    process: Child,
    url: String,
    token: Option<String>,
}

impl Server {
    fn start(desktop: &PrivateDesktop, options: &[&str]) -> Server {
        Server::at(desktop, "0", options)
    }

    fn at(desktop: &PrivateDesktop, port: &str, options: &[&str]) -> Server {
        let port = if port.is_empty() { Vec::new() } else { vec!["--port", port] };
        let mut process = desktop
            .command(env!("CARGO_BIN_EXE_deskhand"))
            .args(["serve", "--http"])
            .args(port)
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let line: Value = loop {
            let mut line = String::new();
            assert!(0 < log.read_line(&mut line).unwrap(), "it serves");
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["event"] == "http" {
                break line;
            }
        };
        // Its log is read to the end, so that it never waits for its reader.
        std::thread::spawn(move || log.read_to_end(&mut Vec::new()));
        let token = line["token_file"].as_str().map(|path| std::fs::read_to_string(path).unwrap());
        let token = token.map(|token| token.trim().to_owned());
        Server { process, url: line["url"].as_str().unwrap().to_owned(), token }
    }

    /// Posts a body as the document's own example does.
    fn post(&self, body: &str) -> Value {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", "-H", "Content-Type: application/json"]);
        if let Some(token) = &self.token {
            curl.args(["-H", &format!("Authorization: Bearer {token}")]);
        }
        let output = curl.args(["--data-binary", body, &self.url]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{body}: {said}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{body}: {said}"))
    }

    fn request(&self, id: u32, method: &str, params: Value) -> Value {
        let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            request["params"] = params;
        }
        let answer = self.post(&request.to_string());
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)));
        answer
    }

    fn call(&self, id: u32, tool: &str, arguments: Value) -> Value {
        let answer = self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer.get("error").is_none(), "{tool}: {answer}");
        answer["result"].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.process);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        assert!(self.process.wait().unwrap().success());
    }
}

fn walk(options: &[&str]) {
    if !have(&["Xvfb", "galculator", "curl"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let server = Server::start(&desktop, options);
    assert_eq!(server.token.is_none(), options.contains(&"--no-auth"));

    let launched = server.call(1, "launchProcess", json!({ "executable": "galculator" }));
    assert_eq!(launched["success"], true);
    assert_eq!(launched["executable"], "galculator");
    assert_eq!(launched["message"], "Launched galculator");
    let pid = launched["pid"].as_u64().unwrap();

    let windows = server.call(4, "listWindows", json!({}));
    let window = windows["windows"].as_array().unwrap().iter().find(|window| window["pid"] == pid).unwrap();
    assert_eq!(window["title"], "galculator");
    let handle = window["handle"].to_string();

    let theirs = |more: Value| {
        let mut all = json!({ "providerName": "windows-forms", "elementId": "galculator" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let keys = |keys: &str| theirs(json!({ "propertyName": "keys", "value": keys }));
    let text = theirs(json!({ "propertyName": "text" }));
    let shows = |wanted: &str| {
        let call = Call::with_timeout(Duration::from_secs(20));
        let mut last = Value::Null;
        let seen = call.until("reading the display", || {
            last = server.call(3, "readProperty", text.clone());
            Ok((last["value"] == wanted).then_some(()))
        });
        assert!(seen.is_ok(), "the display shows {last}, not {wanted}");
        assert_eq!(last, json!({ "success": true, "value": wanted }));
    };
    // A button that a key has activated takes the next press only after 250 ms (GTK 3): a second sum waits.
    let rest =
        || Call::with_timeout(Duration::from_secs(5)).pause(Duration::from_millis(300), "resting").unwrap();
    // The walk: the answer of each step is there when the step is answered, so that nothing has to wait.
    assert_eq!(server.call(2, "setProperty", keys("25+17="))["success"], true);
    shows("42");
    rest();
    assert_eq!(server.call(6, "setProperty", keys("{ESC}5+3="))["success"], true);
    shows("8");
    rest();
    // The same keys several times in one sum.
    assert_eq!(server.call(6, "setProperty", keys("{ESC}11+11+11="))["success"], true);
    shows("33");

    let tree = server.call(
        5,
        "queryTree",
        json!({ "providerName": "windows-forms", "targetId": handle, "options": { "depth": 30 } }),
    );
    assert_eq!((&tree["type"], &tree["name"]), (&json!("ControlType.Window"), &json!("galculator")));
    for (member, kind) in [("x", "position"), ("width", "position"), ("isEnabled", "properties")] {
        assert!(!tree[kind][member].is_null(), "{tree}");
    }
    assert!(tree["id"].is_string() && tree["actions"].is_array() && tree["children"].is_array());
    let shallow = server.call(
        5,
        "queryTree",
        json!({ "providerName": "at-spi", "targetId": "galculator", "options": { "depth": 1 } }),
    );
    assert!(shallow.to_string().len() < tree.to_string().len());

    // Buttons by their ids, as a client finds them in the tree.
    rest();
    server.call(6, "setProperty", keys("{ESC}"));
    for name in ["7", "*", "6", "="] {
        let id = button(&tree, name).unwrap_or_else(|| panic!("no {name} in {tree}"));
        let clicked =
            server.call(8, "clickElement", json!({ "providerName": "windows-forms", "elementId": id }));
        assert_eq!(clicked["success"], true);
    }
    shows("42");
    assert_eq!(server.call(9, "getProviders", json!({})), json!(["at-spi"]));

    // A document's name that nothing here has: what there is instead is told.
    let gone = json!({ "name": "clickElement", "arguments": { "providerName": "windows-forms", "elementId": "btn_submit" } });
    let answer = server
        .post(&json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": gone }).to_string());
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert_eq!(answer["error"]["data"]["code"], "element_not_found", "{answer}");
}

/// The id of a button of this name.
fn button(tree: &Value, name: &str) -> Option<String> {
    if tree["type"] == "ControlType.Button" && tree["name"] == name {
        return tree["id"].as_str().map(str::to_owned);
    }
    tree["children"].as_array()?.iter().find_map(|child| button(child, name))
}

#[test]
fn the_walk_with_the_token() {
    walk(&[]);
}

#[test]
fn the_walk_as_it_is_documented() {
    walk(&["--no-auth"]);
}

/// A server as the document has it, without a token, and the stage beside it.
struct Place {
    server: Server,
    stage: Stage,
    _desktop: PrivateDesktop,
}

impl Place {
    fn open() -> Option<Place> {
        if !have(&["Xvfb", "curl"]) {
            return None;
        }
        let desktop = PrivateDesktop::start(&[]);
        let stage = Stage::start("gtk3", |program| desktop.command(program));
        let server = Server::start(&desktop, &["--no-auth"]);
        let place = Place { server, stage, _desktop: desktop };
        let call = Call::with_timeout(Duration::from_secs(20));
        let there = || Ok(place.try_tree(20).is_some_and(|tree| button(&tree, "OK").is_some()).then_some(()));
        call.until("the stage's elements", there).unwrap();
        Some(place)
    }

    fn try_tree(&self, depth: u32) -> Option<Value> {
        let asked = json!({
            "providerName": "windows-forms", "targetId": self.stage.title, "options": { "depth": depth },
        });
        let answer = self.server.request(5, "tools/call", json!({ "name": "queryTree", "arguments": asked }));
        answer.get("result").cloned()
    }

    /// An element of the tree by its name.
    fn named(&self, name: &str) -> Value {
        fn find(tree: &Value, name: &str) -> Option<Value> {
            if tree["name"] == name {
                return Some(tree.clone());
            }
            tree["children"].as_array()?.iter().find_map(|child| find(child, name))
        }
        let tree = self.try_tree(20).expect("a tree");
        find(&tree, name).unwrap_or_else(|| panic!("no {name} in {tree}"))
    }

    fn of(element: &Value, more: Value) -> Value {
        let mut arguments = json!({ "providerName": "windows-forms", "elementId": element["id"] });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    }
}

/// At its own address, without being told where. Where something else is there already this cannot be shown.
#[test]
fn jr_http_posts_to_port_3457_are_answered() {
    if !have(&["Xvfb", "curl"]) || std::net::TcpListener::bind("127.0.0.1:3457").is_err() {
        return;
    }
    let desktop = PrivateDesktop::start(&[]);
    let mut server = Server::at(&desktop, "", &["--no-auth"]);
    server.url = "http://127.0.0.1:3457".to_owned();
    assert_eq!(server.call(9, "getProviders", json!({})), json!(["at-spi"]));
}

/// To the letter.
#[test]
fn jr_initialize_answers_as_its_clients_know_it() {
    let Some(place) = Place::open() else { return };
    let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {} });
    let answer = place.server.request(1, "initialize", hello);
    let expected = json!({
        "protocolVersion": "2024-11-05",
        "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
        "serverInfo": { "name": "ai-ui-automation", "version": "0.1.1" },
    });
    assert_eq!(answer["result"], expected);
}

/// All seven with what each has to be given.
#[test]
fn jr_tools_list_has_the_seven_with_their_schemas() {
    let Some(place) = Place::open() else { return };
    let listed = place.server.request(2, "tools/list", Value::Null)["result"]["tools"].clone();
    let mut tools: Vec<(String, Vec<String>)> = Vec::new();
    for tool in listed.as_array().unwrap() {
        let words = |list: &Value| {
            list.as_array().into_iter().flatten().map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        tools.push((tool["name"].as_str().unwrap().to_owned(), words(&tool["inputSchema"]["required"])));
    }
    tools.sort();
    let plain: Vec<(&str, Vec<&str>)> = tools
        .iter()
        .map(|(name, needs)| (name.as_str(), needs.iter().map(String::as_str).collect()))
        .collect();
    let element = ["providerName", "elementId"];
    let expected = [
        ("clickElement", element.to_vec()),
        ("getProviders", vec![]),
        ("launchProcess", vec!["executable"]),
        ("listWindows", vec![]),
        ("queryTree", vec!["providerName", "targetId"]),
        ("readProperty", [&element[..], &["propertyName"]].concat()),
        ("setProperty", [&element[..], &["propertyName", "value"]].concat()),
    ];
    assert_eq!(plain, expected);
}

/// With its arguments, and the process is the one that is told.
#[test]
fn jr_launch_process_starts_it_with_its_arguments() {
    let Some(place) = Place::open().filter(|_| have(&["mousepad"])) else { return };
    let args = ["--disable-server", "/etc/hostname"];
    let launched = place.server.call(3, "launchProcess", json!({ "executable": "mousepad", "args": args }));
    assert_eq!((&launched["success"], &launched["executable"]), (&json!(true), &json!("mousepad")));
    assert_eq!(launched["message"], "Launched mousepad");
    let pid = launched["pid"].as_u64().unwrap();
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    let line = String::from_utf8_lossy(&line);
    assert!(line.contains("mousepad") && args.iter().all(|arg| line.contains(arg)), "{line}");
}

/// By handle, title and process.
#[test]
fn jr_list_windows_lists_what_is_visible() {
    let Some(place) = Place::open() else { return };
    let listed = place.server.call(4, "listWindows", json!({}));
    let own = &listed["windows"][0];
    assert_eq!((&listed["success"], &own["title"]), (&json!(true), &json!(place.stage.title)), "{listed}");
    assert_eq!(own["pid"], place.stage.pid().as_raw_nonzero().get(), "{listed}");
    assert!(own["handle"].is_u64(), "{listed}");
}

/// As deep as was asked for, each element with its type, place, state and actions.
#[test]
fn jr_query_tree_reads_elements_to_the_depth() {
    let Some(place) = Place::open() else { return };
    let tree = place.try_tree(20).unwrap();
    assert_eq!((&tree["type"], &tree["name"]), (&json!("ControlType.Window"), &json!(place.stage.title)));
    let ok = place.named("OK");
    let size = place.stage.place("ok");
    assert_eq!(json!([ok["position"]["width"], ok["position"]["height"]]), json!([size.2, size.3]), "{ok}");
    assert_eq!(json!([ok["properties"]["isEnabled"], ok["properties"]["isOffscreen"]]), json!([true, false]));
    assert_eq!(ok["actions"], json!(["click"]), "{ok}");
    assert_eq!(place.named("Disabled")["properties"]["isEnabled"], false);
    fn depth(tree: &Value) -> u64 {
        let children = tree["children"].as_array().into_iter().flatten();
        children.map(|child| 1 + depth(child)).max().unwrap_or(0)
    }
    assert!(depth(&place.try_tree(2).unwrap()) <= 2 && 2 < depth(&tree));
}

/// Each of the three properties, as the application sees it.
#[test]
fn jr_set_property_sends_keys_and_sets_text_and_value() {
    let Some(place) = Place::open() else { return };
    let set = |element: &Value, property: &str, value: Value| {
        let arguments = Place::of(element, json!({ "propertyName": property, "value": value }));
        assert_eq!(place.server.call(6, "setProperty", arguments)["success"], true, "{property}");
    };
    let holds = |widget: &str, text: &str| {
        place.stage.wait_for(text, |event| event["widget"] == widget && event["text"] == text);
    };
    let entry = place.named("Name");
    set(&entry, "text", json!("oolong"));
    holds("entry", "oolong");
    set(&entry, "keys", json!("{END}+tea"));
    holds("entry", "oolongTea");
    set(&place.named("Volume"), "value", json!(73));
    place.stage.wait_for("73", |event| event["event"] == "value" && event["value"] == 73.0);
}

/// What a person typed.
#[test]
fn jr_read_property_reads_what_it_shows() {
    let Some(place) = Place::open() else { return };
    for (name, property, shown) in [("Name", "text", json!("")), ("Volume", "value", json!("50"))] {
        let arguments = Place::of(&place.named(name), json!({ "propertyName": property }));
        let read = place.server.call(7, "readProperty", arguments);
        assert_eq!(read, json!({ "success": true, "value": shown }), "{name}");
    }
}

/// The application sees it; what is disabled is an error.
#[test]
fn jr_click_element_clicks_it() {
    let Some(place) = Place::open() else { return };
    let clicked = place.server.call(8, "clickElement", Place::of(&place.named("OK"), json!({})));
    assert_eq!(clicked["success"], true, "{clicked}");
    place.stage.wait_for("the click", |event| event["event"] == "click" && event["widget"] == "ok");
    let disabled = Place::of(&place.named("Disabled"), json!({}));
    let disabled = json!({ "name": "clickElement", "arguments": disabled });
    let refused = place.server.request(8, "tools/call", disabled);
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
}

/// The one that there is.
#[test]
fn jr_get_providers_names_them() {
    let Some(place) = Place::open() else { return };
    assert_eq!(place.server.call(9, "getProviders", json!({})), json!(["at-spi"]));
}

/// Each of the five.
#[test]
fn jr_errors_have_their_codes() {
    let Some(place) = Place::open() else { return };
    let wrong = json!({ "providerName": "windows-forms", "elementId": "nothing-of-this-name" });
    let call = |name: &str, arguments: Value| {
        json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments },
        })
        .to_string()
    };
    for (body, code) in [
        ("{ this is no JSON".to_owned(), -32700),
        (json!({ "jsonrpc": "2.0", "id": 1, "params": {} }).to_string(), -32600),
        (json!({ "jsonrpc": "2.0", "id": 1, "method": "boil" }).to_string(), -32601),
        (call("boilWater", json!({})), -32602),
        (call("clickElement", wrong), -32603),
    ] {
        let answer = place.server.post(&body);
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
    }
}
