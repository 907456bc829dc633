//! The documented walk of plain JSON-RPC clients on a real desktop, with curl: launch a calculator, type
//! `25+17=`, read what it shows.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::{Value, json};
use stage::PrivateDesktop;
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

fn walk(options: &[&str]) {
    for needed in ["/usr/bin/Xvfb", "/usr/bin/galculator", "/usr/bin/curl"] {
        if !std::path::Path::new(needed).exists() {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{needed} is missing");
            eprintln!("SKIPPED: {needed} is missing; REQUIRE_DESKTOP=x11 makes this fail.");
            return;
        }
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
