//! Programs with an item in the notification area.

use super::PrivateDesktop;
use super::client::Client;
use deskhand_core::Call;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A program that ends with the test.
pub struct Program {
    pub process: Child,
    log: PathBuf,
}

impl Program {
    pub fn start(mut command: Command) -> Program {
        Program {
            process: command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(),
            log: PathBuf::new(),
        }
    }

    /// A Python program of the stage, with a log of its own.
    pub fn python(desktop: &PrivateDesktop, program: &str, before: &[&str], after: &[&str]) -> Program {
        static LAST: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = LAST.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let log = std::env::temp_dir().join(format!("tray-{}-{number}.jsonl", std::process::id()));
        let _ = std::fs::remove_file(&log);
        let mut command = desktop.command("/usr/bin/python3");
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stage").join(program));
        command.args(before).arg(&log).args(after);
        let mut program = Program::start(command);
        program.log = log;
        program
    }

    fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_raw(self.process.id().cast_signed()).unwrap()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    #[track_caller]
    pub fn wait_for(&self, wanted: &Value) {
        let call = Call::with_timeout(Duration::from_secs(20));
        let read = || std::fs::read_to_string(&self.log).unwrap_or_default();
        let fits = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap_or_default();
            wanted.as_object().unwrap().iter().all(|(name, value)| event[name] == *value)
        };
        let came = call.until("waiting for an event", || Ok(read().lines().any(fits).then_some(())));
        assert!(came.is_ok(), "no {wanted} in {}", read());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.log);
    }
}

/// The item of this name, as soon as it is there.
#[track_caller]
pub fn item(client: &mut Client, name: &str) -> Value {
    let call = Call::with_timeout(Duration::from_secs(30));
    let mut last = Value::Null;
    let found = call.until("waiting for an item", || {
        last = client.try_call("list_status_bar_items", json!({})).1;
        Ok(last["items"].as_array().and_then(|items| items.iter().find(|item| item["name"] == name).cloned()))
    });
    found.unwrap_or_else(|_| panic!("no item {name}: {last:#}"))
}
