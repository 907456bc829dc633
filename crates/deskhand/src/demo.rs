//! `deskhand demo`: the main job on real applications, through MCP, as any client would do it.
//!
//! Starts this same program as a server with a desktop of its own and speaks to it over its stdin and
//! stdout. Every step prints what was asked, what was seen, and how long it took.

use deskhand_core::{Code, Error, Result};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Text of many scripts: what keyboards cannot type by themselves.
const UNICODE: &str = "Grüße, мир, 世界, ελλάδα 👋 – typed by Deskhand.";

/// Plays the job and leaves a picture at `picture`. Fails when any step does not do what it should.
pub fn run(picture: &str, out: &mut dyn Write) -> Result<()> {
    let mut demo = Demo::start(out)?;
    demo.play(picture)?;
    demo.say("\nDone: every step was confirmed by what the applications show.")?;
    demo.stop()
}

struct Demo<'o> {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last: u64,
    out: &'o mut dyn Write,
}

impl Demo<'_> {
    fn start(out: &mut dyn Write) -> Result<Demo<'_>> {
        let program = std::env::current_exe()
            .map_err(|error| Error::backend("The program cannot find itself.").because(error))?;
        let started = Instant::now();
        let mut child = Command::new(program)
            .args(["serve", "--virtual", "1280x800", "--profile", "full"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Error::backend("The server cannot be started.").because(error))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::backend("The server has no stdin or stdout."));
        };
        let mut demo = Demo { child, stdin: Some(stdin), stdout: BufReader::new(stdout), last: 0, out };
        let server = demo.request(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "deskhand-demo", "version": env!("CARGO_PKG_VERSION") },
            }),
        )?;
        demo.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        let name = server["serverInfo"]["name"].as_str().unwrap_or("a server").to_owned();
        demo.say(&format!(
            "{name} answers, with a desktop of its own, after {} ms\n",
            started.elapsed().as_millis()
        ))?;
        Ok(demo)
    }

    fn play(&mut self, picture: &str) -> Result<()> {
        let calculator = self.launch("galculator")?;
        self.step(
            "read its elements",
            "get_ui_elements",
            json!({ "window": calculator, "interactive_only": true, "max_bytes": 600 }),
        )?;
        for key in ["5", "+", "3", "="] {
            self.confirmed(
                &format!("press {key}"),
                "click_ui_element",
                json!({ "element": format!("[name=\"{key}\"]"), "window": calculator }),
            )?;
        }
        let shown = self.step(
            "read the display",
            "wait_for",
            json!({ "window": calculator, "selector": "[value=\"8\"], [name=\"8\"]:not(:focusable)", "timeout_ms": 5000 }),
        )?;
        expect(shown["matches"].as_u64().unwrap_or(0) > 0, "the calculator shows 8", &shown)?;

        let editor = self.launch("mousepad")?;
        self.confirmed(
            "type many scripts",
            "type_text",
            json!({ "text": UNICODE, "window": editor.clone() }),
        )?;
        let read = self.step(
            "read it back",
            "get_ui_element_value",
            json!({ "element": "text_area:focused, text_area", "window": editor }),
        )?;
        expect(read["value"].as_str() == Some(UNICODE), "the editor holds exactly what was typed", &read)?;
        self.confirmed(
            "work a menu",
            "click_menu_item",
            json!({ "window": editor.clone(), "path": "Document > Word Wrap" }),
        )?;
        let seen = self.step("read the pixels", "extract_text", json!({ "window": editor.clone() }))?;
        expect(seen.to_string().contains("typed by Deskhand"), "what is drawn can be read", &seen)?;
        self.around_the_windows()?;
        for (window, x, y) in [(calculator, 80, 120), (editor, 480, 120)] {
            self.confirmed(
                "put the windows side by side",
                "set_window",
                json!({ "window": window, "x": x, "y": y }),
            )?;
        }
        self.step("wait for the screen to rest", "wait_for", json!({ "still_ms": 300, "timeout_ms": 5000 }))?;
        self.step("take a picture", "take_screenshot", json!({ "file_path": picture, "overwrite": true }))?;
        Ok(())
    }

    /// What a desktop has beside its windows.
    fn around_the_windows(&mut self) -> Result<()> {
        self.confirmed("copy a text", "set_clipboard", json!({ "text": UNICODE }))?;
        let copied = self.step("read the clipboard", "get_clipboard", json!({}))?;
        expect(copied["text"].as_str() == Some(UNICODE), "the clipboard holds what was copied", &copied)?;
        self.confirmed(
            "notify the person",
            "send_notification",
            json!({ "title": "Deskhand", "message": "The calculator says 8." }),
        )?;
        let sound = ["-n", "--exit-idle-time=-1", "-Lmodule-native-protocol-unix", "-Lmodule-null-sink"];
        self.step(
            "start an audio server",
            "launch_app",
            json!({ "application": "pulseaudio", "arguments": sound, "wait_ms": 0 }),
        )?;
        let patience = deskhand_core::Call::with_timeout(Duration::from_secs(10));
        patience.until("waiting for the audio server", || {
            let asked = self.request("tools/call", json!({ "name": "get_volume", "arguments": {} }))?;
            Ok((asked["isError"] != true).then_some(()))
        })?;
        self.confirmed("set the volume", "set_volume", json!({ "volume": 40 }))?;
        self.tray()
    }

    /// An item of the notification area, which Deskhand keeps on a desktop of its own.
    fn tray(&mut self) -> Result<()> {
        let item = "pasystray";
        self.step(
            "start a tray program",
            "launch_app",
            json!({ "application": item, "arguments": ["--notify=none"], "wait_ms": 0 }),
        )?;
        let patience = deskhand_core::Call::with_timeout(Duration::from_secs(10));
        patience.until("waiting for the tray item", || {
            let asked =
                self.request("tools/call", json!({ "name": "list_status_bar_items", "arguments": {} }))?;
            Ok(asked.to_string().contains(item).then_some(()))
        })?;
        self.step("list the tray", "list_status_bar_items", json!({}))?;
        self.confirmed(
            "work the menu of a tray item",
            "click_status_bar_menu_item",
            json!({ "item": item, "path": "About" }),
        )?;
        let about =
            self.step("see its window", "wait_for", json!({ "window_title": "About", "timeout_ms": 5000 }))?;
        self.confirmed("close it", "close_window", json!({ "window": about["window"]["id"] }))?;
        Ok(())
    }

    fn launch(&mut self, name: &str) -> Result<Value> {
        let launched = self.confirmed(
            &format!("launch {name}"),
            "launch_app",
            json!({ "application": name, "wait_ms": 20_000, "timeout_ms": 30_000 }),
        )?;
        Ok(launched["window"]["id"].clone())
    }

    fn confirmed(&mut self, what: &str, tool: &str, arguments: Value) -> Result<Value> {
        let answer = self.step(what, tool, arguments)?;
        expect(answer["effect"] == "confirmed", what, &answer)?;
        Ok(answer)
    }

    /// One call, told on one line.
    fn step(&mut self, what: &str, tool: &str, arguments: Value) -> Result<Value> {
        let started = Instant::now();
        let result = self.request("tools/call", json!({ "name": tool, "arguments": arguments }))?;
        let time = started.elapsed().as_secs_f64() * 1000.0;
        let text = result["content"]
            .as_array()
            .into_iter()
            .flatten()
            .find_map(|block| block["text"].as_str())
            .unwrap_or_default()
            .to_owned();
        if result["isError"] == true {
            self.say(&format!("  {what:<30} {time:>8.1} ms  FAILED {text}"))?;
            return Err(Error::backend(format!("The step {what:?} failed.")).os(text));
        }
        let answer: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let seen = match answer["evidence"].as_str() {
            Some(evidence) => evidence.to_owned(),
            None => first_line(&text),
        };
        self.say(&format!("  {what:<30} {time:>8.1} ms  {seen}"))?;
        Ok(if answer.is_null() { json!(text) } else { answer })
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line);
            if !matches!(read, Ok(1..)) {
                return Err(Error::backend("The server ended in the middle of it.")
                    .remedy("Run `deskhand serve --virtual 1280x800` by hand and look at what it says."));
            }
            let answer: Value = serde_json::from_str(&line)
                .map_err(|error| Error::backend("The server wrote a line that is no JSON.").because(error))?;
            if answer["id"] != id {
                continue;
            }
            return match answer.get("result") {
                Some(result) => Ok(result.clone()),
                None => Err(Error::backend(format!("{method} was refused.")).os(&answer["error"])),
            };
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().ok_or_else(|| Error::backend("The server is being stopped."))?;
        writeln!(stdin, "{message}")
            .and_then(|()| stdin.flush())
            .map_err(|error| Error::backend("The server does not read.").because(error))
    }

    fn say(&mut self, text: &str) -> Result<()> {
        writeln!(self.out, "{text}")
            .and_then(|()| self.out.flush())
            .map_err(|error| Error::backend("The terminal cannot be written to.").because(error))
    }

    /// Ends the server as clients do: by closing its stdin.
    fn stop(mut self) -> Result<()> {
        self.stdin.take();
        let deadline = deskhand_core::Call::with_timeout(Duration::from_secs(10));
        deadline.until("waiting for the server to end", || {
            self.child
                .try_wait()
                .map_err(|error| Error::backend("The server cannot be waited for.").because(error))
        })?;
        Ok(())
    }
}

impl Drop for Demo<'_> {
    fn drop(&mut self) {
        self.stdin.take();
        // A demo that failed half way leaves nothing behind.
        let grace = deskhand_core::Call::with_timeout(Duration::from_secs(5));
        let ended = grace.until("waiting for the server to end", || {
            self.child.try_wait().map_err(|error| Error::backend("waiting").because(error))
        });
        if ended.is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn expect(holds: bool, what: &str, answer: &Value) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::new(Code::Backend, format!("It was expected that this holds: {what}."))
        .found([answer.to_string()]))
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(110).collect()
}
