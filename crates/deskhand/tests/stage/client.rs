//! An MCP client of a server of its own, on a private desktop.

use super::PrivateDesktop;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Speaks MCP over the standard streams of `deskhand serve`, which ends with it.
pub struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    /// Starts `deskhand serve` there and says hello to it.
    pub fn start(desktop: &PrivateDesktop) -> Client {
        Client::on(|program| desktop.command(program))
    }

    /// The same, with a command of another environment.
    pub fn on(command: impl FnOnce(&str) -> Command) -> Client {
        Client::with_options(command, &[])
    }

    /// The same, started with these options besides.
    pub fn with_options(command: impl FnOnce(&str) -> Command, options: &[&str]) -> Client {
        Client::with_log(command, options, Stdio::null())
    }

    /// The same on no desktop at all.
    pub fn nowhere(options: &[&str]) -> Client {
        let command = |program: &str| {
            let mut command = Command::new(program);
            command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env("DESKHAND_FIND_SESSION", "never");
            command
        };
        Client::with_options(command, options)
    }

    /// The same, with a place for its log.
    pub fn with_log(command: impl FnOnce(&str) -> Command, options: &[&str], log: Stdio) -> Client {
        let profile: &[&str] = if options.contains(&"--profile") { &[] } else { &["--profile", "full"] };
        let mut server = command(env!("CARGO_BIN_EXE_deskhand"))
            .arg("serve")
            .args(profile)
            .args(options)
            // What the person has configured is nothing to a test.
            .env("DESKHAND_CONFIG", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let stdin = server.stdin.take();
        let stdout = BufReader::new(server.stdout.take().unwrap());
        let mut client = Client { server, stdin, stdout, last: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        client.request("initialize", hello);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Writes a message and does not wait.
    pub fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// The result of a request.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.exchange(method, params)["result"].clone()
    }

    /// The whole answer to a request.
    pub fn exchange(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.answer(id)
    }

    /// The whole answer to a request that was sent with this id.
    pub fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        loop {
            let mut line = String::new();
            assert!(0 < self.stdout.read_line(&mut line).unwrap(), "the server has ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// The answer as data or text, and whether the tool succeeded.
    pub fn try_call(&mut self, tool: &str, arguments: Value) -> (bool, Value) {
        let result = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        let texts = result["content"].as_array().into_iter().flatten();
        let text = texts.filter_map(|block| block["text"].as_str()).collect::<String>();
        (result["isError"] != true, serde_json::from_str(&text).unwrap_or(json!(text)))
    }

    /// A call that has to succeed.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let (ok, answer) = self.try_call(tool, arguments.clone());
        assert!(ok, "{tool} {arguments}: {answer}");
        answer
    }

    /// A call that has to be seen to have happened.
    #[track_caller]
    pub fn confirmed(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments.clone());
        assert_eq!(answer["effect"], "confirmed", "{tool} {arguments}: {answer}");
        answer
    }

    /// A call that has to be refused with a code.
    #[track_caller]
    pub fn refused(&mut self, code: &str, tool: &str, arguments: Value) -> Value {
        let (ok, answer) = self.try_call(tool, arguments.clone());
        assert!(!ok && answer["code"] == code, "{tool} {arguments}: {answer}");
        answer
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin.take();
        let _ = self.server.wait();
    }
}
