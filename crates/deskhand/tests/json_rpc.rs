//! The documented examples of plain JSON-RPC clients on a real desktop, with curl, one test for each criterion: the
//! requests are those of the document, with a calculator that there is and its name.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::{Value, json};
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
        let mut process = desktop
            .command(env!("CARGO_BIN_EXE_deskhand"))
            .args(["serve", "--http", "--port", "0"])
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

    fn call(&self, id: u32, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let answer = self.post(&request.to_string());
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)));
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

/// A server of a desktop with nothing on it; nothing where a program is missing.
fn bare(options: &[&str]) -> Option<(Server, PrivateDesktop)> {
    if !stage::session::have(&["Xvfb", "galculator", "mousepad", "curl"]) {
        return None;
    }
    let desktop = PrivateDesktop::start(&[]);
    Some((Server::start(&desktop, options), desktop))
}

/// The same with a calculator, started as the document starts it.
struct Calculator {
    server: Server,
    launched: Value,
    _desktop: PrivateDesktop,
}

impl Calculator {
    fn open() -> Option<Calculator> {
        let (server, desktop) = bare(&[])?;
        let launched = server.call(3, "launchProcess", json!({ "executable": "galculator" }));
        Some(Calculator { server, launched, _desktop: desktop })
    }

    fn keys(&self, keys: &str) -> Value {
        // A button that a key has activated takes the next press only after 250 ms (GTK 3): a second sum waits.
        let rest = Call::with_timeout(Duration::from_secs(5));
        rest.pause(Duration::from_millis(300), "resting").unwrap();
        let arguments = of_calculator(&[("propertyName", json!("keys")), ("value", json!(keys))]);
        self.server.call(6, "setProperty", arguments)
    }

    fn text(&self) -> Value {
        self.server.call(7, "readProperty", of_calculator(&[("propertyName", json!("text"))]))
    }

    /// Waits until the display shows it.
    #[track_caller]
    fn shows(&self, wanted: &str) {
        let call = Call::with_timeout(Duration::from_secs(20));
        let mut last = Value::Null;
        let seen = call.until("reading the display", || {
            last = self.text();
            Ok((last["value"] == wanted).then_some(()))
        });
        assert!(seen.is_ok(), "the display shows {last}, not {wanted}");
        assert_eq!(last, json!({ "success": true, "value": wanted }));
    }

    fn tree(&self, options: Value) -> Value {
        let arguments =
            json!({ "providerName": "windows-forms", "targetId": "galculator", "options": options });
        self.server.call(5, "queryTree", arguments)
    }
}

fn of_calculator(more: &[(&str, Value)]) -> Value {
    let mut all = json!({ "providerName": "windows-forms", "elementId": "galculator" });
    for (name, value) in more {
        all[*name] = value.clone();
    }
    all
}

/// How many levels a tree has.
fn depth(tree: &Value) -> usize {
    1 + tree["children"].as_array().unwrap().iter().map(depth).max().unwrap_or(0)
}

/// Everything in a tree of this type.
fn of_type<'a>(tree: &'a Value, kind: &str) -> Vec<&'a Value> {
    let own = (tree["type"] == kind).then_some(tree);
    let below = tree["children"].as_array().unwrap().iter().flat_map(|child| of_type(child, kind));
    own.into_iter().chain(below).collect()
}

/// The three requests of the document's walk, to the letter but for the calculator's names.
fn walk(options: &[&str]) {
    let Some((server, _desktop)) = bare(options) else { return };
    assert_eq!(server.token.is_none(), options.contains(&"--no-auth"));
    let launched = server.post(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"launchProcess","arguments":{"executable":"galculator"}}}"#,
    );
    assert_eq!(launched["result"]["success"], true, "{launched}");
    // The walk waits three seconds here. Nothing has to: the answer came when the window was there.
    let sent = server.post(
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"setProperty","arguments":{"providerName":"windows-forms","elementId":"galculator","propertyName":"keys","value":"25+17="}}}"#,
    );
    assert_eq!((&sent["id"], &sent["result"]["success"]), (&json!(2), &json!(true)), "{sent}");
    let read = || {
        server.post(
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"readProperty","arguments":{"providerName":"windows-forms","elementId":"galculator","propertyName":"text"}}}"#,
        )
    };
    let call = Call::with_timeout(Duration::from_secs(20));
    let shown =
        call.until("reading the display", || Ok(Some(read()).filter(|it| it["result"]["value"] == "42")));
    let shown = shown.unwrap_or_else(|_| panic!("the display shows {}", read()));
    assert_eq!(shown, json!({ "jsonrpc": "2.0", "id": 3, "result": { "success": true, "value": "42" } }));
}

#[test]
fn jr_walk_with_the_token() {
    walk(&[]);
}

#[test]
fn jr_walk_as_it_is_documented() {
    walk(&["--no-auth"]);
}

#[test]
fn jr_launch_answers_with_the_process_and_takes_arguments() {
    let Some((server, _desktop)) = bare(&[]) else { return };
    let file = std::env::temp_dir().join(format!("deskhand jr {}.txt", std::process::id()));
    std::fs::write(&file, "kept").unwrap();
    let arguments = json!({ "executable": "mousepad", "args": [file.display().to_string()] });
    let launched = server.call(3, "launchProcess", arguments);
    let pid = launched["pid"].as_u64().unwrap();
    for (member, wanted) in
        [("success", json!(true)), ("executable", json!("mousepad")), ("message", json!("Launched mousepad"))]
    {
        assert_eq!(launched[member], wanted, "{launched}");
    }
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    let found = Call::with_timeout(Duration::from_secs(20)).until("listing the window", || {
        let windows = server.call(4, "listWindows", json!({}))["windows"].clone();
        let of_file = |window: &&Value| window["title"].as_str().is_some_and(|title| title.contains(&name));
        Ok(windows.as_array().unwrap().iter().find(of_file).cloned())
    });
    assert_eq!(found.unwrap()["pid"], pid, "one argument, although a space is in it");
    std::fs::remove_file(file).unwrap();
    let none = json!({ "name": "launchProcess", "arguments": { "executable": "no such program" } });
    let answer = server
        .post(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": none }).to_string());
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
}

#[test]
fn jr_windows_are_listed_with_handle_title_and_process() {
    let Some(calculator) = Calculator::open() else { return };
    let listed = calculator.server.call(4, "listWindows", json!({}));
    assert_eq!(listed["success"], true);
    let pid = &calculator.launched["pid"];
    let window = listed["windows"].as_array().unwrap().iter().find(|window| window["pid"] == *pid).unwrap();
    let keys: Vec<&String> = window.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["handle", "title", "pid"], "{window}");
    assert!(window["handle"].is_u64() && window["title"] == "galculator", "{window}");
}

#[test]
fn jr_tree_is_found_by_process_title_and_handle() {
    let Some(calculator) = Calculator::open() else { return };
    let windows = calculator.server.call(4, "listWindows", json!({}))["windows"].clone();
    let handle = windows[0]["handle"].to_string();
    for target in ["galculator", handle.as_str()] {
        let arguments =
            json!({ "providerName": "windows-forms", "targetId": target, "options": { "depth": 3 } });
        let tree = calculator.server.call(5, "queryTree", arguments);
        assert_eq!((&tree["type"], &tree["name"]), (&json!("ControlType.Window"), &json!("galculator")));
        let number = |member: &str| tree["position"][member].as_i64();
        assert!(["x", "y", "width", "height"].into_iter().all(|member| number(member).is_some()), "{tree}");
        assert_eq!(tree["properties"]["isEnabled"], true);
        assert_eq!(tree["properties"]["isOffscreen"], false);
        assert!(tree["id"].is_string() && tree["actions"].is_array() && tree["children"].is_array());
        let whole = calculator.tree(json!({ "depth": 30 }));
        let buttons = of_type(&whole, "ControlType.Button");
        assert!(buttons.iter().any(|button| button["actions"] != json!([])), "what a button does is told");
    }
}

#[test]
fn jr_tree_depth_is_three_unless_it_is_named() {
    let Some(calculator) = Calculator::open() else { return };
    let levels = |options| depth(&calculator.tree(options));
    let (one, three, usual, all) = (
        levels(json!({ "depth": 1 })),
        levels(json!({ "depth": 3 })),
        levels(json!({})),
        levels(json!({ "depth": 30 })),
    );
    assert!(one < three && three == usual && usual < all, "{one} {three} {usual} {all}");
}

#[test]
fn jr_tree_hidden_elements_come_when_they_are_asked_for() {
    let Some(calculator) = Calculator::open() else { return };
    let count = |hidden: bool| {
        let tree = calculator.tree(json!({ "depth": 30, "includeHidden": hidden }));
        of_type(&tree, "ControlType.MenuItem").len()
    };
    let (shown, all) = (count(false), count(true));
    assert!(shown < all, "the items of closed menus: {shown} of {all}");
}

#[test]
fn jr_keys_are_sent_to_an_application() {
    let Some(calculator) = Calculator::open() else { return };
    assert_eq!(calculator.keys("5+3=")["success"], true);
    calculator.shows("8");
    // The same keys several times in one sum.
    assert_eq!(calculator.keys("{ESC}11+11+11=")["success"], true);
    calculator.shows("33");
}

#[test]
fn jr_text_and_value_are_set() {
    let Some((server, desktop)) = bare(&[]) else { return };
    let stage = Stage::start("gtk3", |program| desktop.command(program));
    let tree =
        json!({ "providerName": "windows-forms", "targetId": stage.title, "options": { "depth": 30 } });
    let tree = server.call(5, "queryTree", tree);
    let id = |kind: &str, name: &str| {
        let all = of_type(&tree, kind);
        let found = all.iter().find(|it| it["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {tree}"))["id"].clone()
    };
    let name = id("ControlType.Edit", "Name");
    for (number, property) in (0..).zip(["text", "value"]) {
        let value = format!("Grüße {number}");
        let arguments = json!({
            "providerName": "windows-forms", "elementId": name, "propertyName": property, "value": value,
        });
        assert_eq!(server.call(6, "setProperty", arguments)["success"], true);
        stage.wait_for("text", |event| event["widget"] == "entry" && event["text"] == value);
    }
    let slider = json!({
        "providerName": "windows-forms", "elementId": id("ControlType.Slider", "Volume"),
        "propertyName": "value", "value": 70,
    });
    assert_eq!(server.call(6, "setProperty", slider)["success"], true);
    stage.wait_for("value", |event| event["widget"] == "slider" && event["value"] == 70.0);
}

#[test]
fn jr_read_gives_what_an_element_shows() {
    let Some(calculator) = Calculator::open() else { return };
    calculator.keys("5+3=");
    calculator.shows("8");
    let tree = calculator.tree(json!({ "depth": 30 }));
    let seven = button(&tree, "7").unwrap();
    let read = |property: &str| {
        let arguments = json!({ "providerName": "at-spi", "elementId": seven, "propertyName": property });
        calculator.server.call(7, "readProperty", arguments)
    };
    assert_eq!(read("name"), json!({ "success": true, "value": "7" }));
    assert_eq!(read("text")["value"], "7");
    assert_eq!(read("type")["value"], "ControlType.Button");
    assert_eq!(read("isEnabled")["value"], true);
}

#[test]
fn jr_click_works_elements_of_the_tree() {
    let Some(calculator) = Calculator::open() else { return };
    let tree = calculator.tree(json!({ "depth": 30 }));
    for name in ["7", "*", "6", "="] {
        let id = button(&tree, name).unwrap_or_else(|| panic!("no {name} in {tree}"));
        let arguments = json!({ "providerName": "windows-forms", "elementId": id });
        assert_eq!(calculator.server.call(8, "clickElement", arguments)["success"], true);
    }
    calculator.shows("42");
    // The document's own name, which nothing here has: what there is instead is told.
    let gone = r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"clickElement","arguments":{"providerName":"windows-forms","elementId":"btn_submit"}}}"#;
    let answer = calculator.server.post(gone);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert_eq!(answer["error"]["data"]["code"], "element_not_found", "{answer}");
}

#[test]
fn jr_providers_are_listed() {
    let Some((server, _desktop)) = bare(&[]) else { return };
    let answer = server.post(
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"getProviders","arguments":{}}}"#,
    );
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 9, "result": ["at-spi"] }));
}

/// The id of a button of this name.
fn button(tree: &Value, name: &str) -> Option<String> {
    let buttons = of_type(tree, "ControlType.Button");
    buttons.iter().find(|it| it["name"] == name)?["id"].as_str().map(str::to_owned)
}
