//! Starting a stage and reading what reached it. The programs and their events are described in README.md.

#![allow(dead_code, reason = "every test program uses a part of it")]

pub mod client;
pub mod office;
pub mod picture;
pub mod scene;
pub mod session;
pub mod tray;

use deskhand_core::Call;
use serde_json::Value;
use std::fs;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Every toolkit that has a stage, by the name in its program's file name.
pub const TOOLKITS: [&str; 4] = ["gtk3", "gtk4", "qt5", "chromium"];

/// A private desktop for one test program. Tests that may act on the shared one need none.
pub struct PrivateDesktop {
    owner: Child,
    /// The environment of its programs.
    pub environment: Vec<(String, String)>,
}

impl PrivateDesktop {
    /// Starts a desktop with these options of `deskhand desktop`.
    pub fn start(options: &[&str]) -> PrivateDesktop {
        let mut owner = Command::new(env!("CARGO_BIN_EXE_deskhand"))
            .arg("desktop")
            .args(options)
            // The command lives as long as its standard input: until this value is dropped.
            .args(["--", "sh", "-c", "env -0; printf '\\0'; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was built for this test");
        let mut output = BufReader::new(owner.stdout.take().unwrap());
        let (mut text, mut byte) = (Vec::new(), [0]);
        while !text.ends_with(b"\0\0") {
            output.read_exact(&mut byte).expect("the desktop starts; if not, it says above why");
            text.push(byte[0]);
        }
        let text = String::from_utf8(text).unwrap();
        let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
        let environment = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        PrivateDesktop { owner, environment }
    }

    /// A command on this desktop.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment.iter().cloned());
        command
    }
}

impl Drop for PrivateDesktop {
    fn drop(&mut self) {
        drop(self.owner.stdin.take());
        let _ = self.owner.wait();
    }
}

/// A window that writes down what reaches it.
pub struct Stage {
    process: Child,
    log: PathBuf,
    /// The toolkit's name, one of [`TOOLKITS`].
    pub toolkit: String,
    /// The window's title.
    pub title: String,
}

impl Stage {
    /// Starts the stage of a toolkit, with `command` as in [`PrivateDesktop::command`] or
    /// [`Command::new`], and waits until it is shown.
    pub fn start(toolkit: &str, command: impl FnOnce(&str) -> Command) -> Stage {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stage");
        let log = std::env::temp_dir().join(format!("stage-{toolkit}-{}.jsonl", std::process::id()));
        let _ = fs::remove_file(&log);
        let process = command("/usr/bin/python3")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .arg(folder.join(format!("stage_{toolkit}.py")))
            .arg(&log)
            .stdin(Stdio::null())
            .spawn()
            .expect("the system has a Python");
        let stage = Stage { process, log, toolkit: toolkit.to_owned(), title: format!("Stage ({toolkit})") };
        stage.wait_for("ready", |event| event["event"] == "ready");
        stage
    }

    /// Everything that has reached it so far, oldest first.
    pub fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        // The last line may still be on its way.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits for an event, and fails with all that came instead.
    #[track_caller]
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.wait_since(0, what, wanted)
    }

    /// How many events there are: those after it are what a later step brought about.
    pub fn mark(&self) -> usize {
        self.events().len()
    }

    /// Waits for an event after a mark, and fails with all that came after it instead.
    #[track_caller]
    pub fn wait_since(&self, mark: usize, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let call = Call::with_timeout(Duration::from_secs(30));
        let since = || self.events().into_iter().skip(mark);
        let found = call.until("waiting for the stage", || Ok(since().find(&wanted)));
        found.unwrap_or_else(|_| {
            panic!("no {what} reached {}: {:#?}", self.title, since().collect::<Vec<_>>())
        })
    }

    /// The top left corner of a widget and its size, from the top left corner of the window's content.
    pub fn place(&self, widget: &str) -> (i64, i64, i64, i64) {
        let ready = self.wait_for("ready", |event| event["event"] == "ready");
        let place = &ready["widgets"][widget];
        let number = |name: &str| place[name].as_i64().unwrap_or_else(|| panic!("no {widget} in {ready}"));
        (number("x"), number("y"), number("width"), number("height"))
    }

    /// The middle of a widget, from the top left corner of the window's content.
    pub fn middle(&self, widget: &str) -> (i64, i64) {
        let (x, y, width, height) = self.place(widget);
        (x + width / 2, y + height / 2)
    }

    /// The process that shows the window.
    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_raw(self.process.id().cast_signed()).expect("it is running")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.pid(), rustix::process::Signal::TERM);
        // A test that failed may have left it stopped, and then it would never see the other signal.
        let _ = rustix::process::kill_process(self.pid(), rustix::process::Signal::CONT);
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.log);
    }
}

/// The item of listed menus at the end of a path of names.
#[track_caller]
pub fn menu_item<'a>(menus: &'a Value, path: &[&str]) -> &'a Value {
    let mut items = &menus["menus"];
    let mut found = &Value::Null;
    for name in path {
        found = items
            .as_array()
            .and_then(|items| items.iter().find(|item| item["name"] == *name))
            .unwrap_or_else(|| panic!("no {name:?} of {path:?} among {items:#}"));
        items = &found["items"];
    }
    found
}
