//! A server before a desktop in memory, and the one check of this suite.

use deskhand::call::{Client, Config, Prepared, Server};
use deskhand::encode;
use deskhand::tool::{COMMON_ERRORS, Reply};
use deskhand::tools;
use deskhand_core::fake::{Control, Fake};
use deskhand_core::{Error, Result};
use expect_test::Expect;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::{Arc, Once};
use std::time::Duration;

/// A server, one client of it, and the strings behind its desktop.
pub struct Desk {
    pub server: Arc<Server>,
    pub client: Arc<Client>,
    pub control: Arc<Control>,
}

impl Desk {
    /// The usual desktop, as `deskhand_core::fake` describes it.
    pub fn new() -> Desk {
        Desk::with(Fake::new(), |_| {})
    }

    /// Another desktop, or a server that was started otherwise.
    pub fn with(fake: Fake, change: impl FnOnce(&mut Config)) -> Desk {
        if std::env::var_os("TOOLS_LOG").is_none() {
            deskhand::log::silence();
        }
        let (desktop, control) = fake.build();
        // Nothing here takes its time, so a consequence is there at once or never.
        let mut config = Config {
            settle: Duration::from_millis(20),
            window_patience: Duration::from_millis(200),
            ..Config::default()
        };
        config.write_folders = vec![std::env::temp_dir()];
        change(&mut config);
        let server = Server::new(desktop, config);
        let client = server.client("test");
        Desk { server, client, control }
    }

    /// Fixes the place of a call in the order.
    pub fn prepare(&self, tool: &str, arguments: Value) -> Prepared {
        self.prepare_for(&self.client, tool, arguments)
    }

    /// The same for another client.
    pub fn prepare_for(&self, client: &Arc<Client>, tool: &str, arguments: Value) -> Prepared {
        self.server.prepare(client, tool, arguments, None).unwrap_or_else(|| panic!("no tool {tool}"))
    }

    /// Makes a call. An error has to be one that the tool's row names.
    pub fn call(&self, tool: &str, arguments: Value) -> Result<Reply> {
        let result = self.server.run(self.prepare(tool, arguments));
        if let Err(error) = &result {
            assert_documented(tool, error);
        }
        result
    }

    /// The data that a call answers, which has to succeed.
    pub fn data(&self, tool: &str, arguments: Value) -> Value {
        match self.call(tool, arguments) {
            Ok(reply) => encode::json(&Ok(reply)),
            Err(error) => panic!("{tool}: {error:?}"),
        }
    }

    /// The error that a call answers, which has to fail.
    pub fn error(&self, tool: &str, arguments: Value) -> Error {
        match self.call(tool, arguments) {
            Ok(reply) => panic!("{tool} answered {}", print(&Ok(reply))),
            Err(error) => error,
        }
    }

    /// The ref of the one element that fits a selector.
    pub fn find(&self, selector: &str) -> String {
        let found = self.data("find_elements", json!({ "selector": selector, "include_hidden": true }));
        let elements = found["elements"].as_array().unwrap();
        assert_eq!(elements.len(), 1, "{selector}: {found}");
        elements[0]["ref"].as_str().unwrap().to_owned()
    }

    /// A call as text: its reply, `>` what reached the desktop, `<` what the applications got of it.
    pub fn show(&self, tool: &str, arguments: Value) -> String {
        self.control.take_log();
        let received = self.control.received().len();
        let result = self.call(tool, arguments);
        let mut text = print(&result);
        text.push('\n');
        for line in self.control.log() {
            let _ = writeln!(text, "> {line}");
        }
        for line in self.control.received().iter().skip(received) {
            let _ = writeln!(text, "< {line}");
        }
        text
    }

    /// Makes a call and compares.
    pub fn check(&self, tool: &str, arguments: Value, expect: Expect) {
        expect.assert_eq(&self.show(tool, arguments));
    }
}

/// Makes one call on a fresh desktop that `setup` has prepared, and compares.
pub fn check(setup: impl FnOnce(&Desk), tool: &str, arguments: Value, expect: Expect) {
    let desk = Desk::new();
    setup(&desk);
    desk.check(tool, arguments, expect);
}

/// No preparation.
pub fn plain(_: &Desk) {}

/// An error that a row does not name is news to whoever reads the documentation.
pub fn assert_documented(tool: &str, error: &Error) {
    let (row, _) = tools::find(tool, Value::Null).unwrap_or_else(|| panic!("no tool {tool}"));
    let known = row.errors.contains(&error.code) || COMMON_ERRORS.contains(&error.code);
    assert!(known, "{tool} does not name {} among its errors: {error:?}", error.code);
}

/// A reply as a person reads it, without what differs from run to run.
pub fn print(result: &Result<Reply>) -> String {
    match result {
        Ok(Reply::Data(data)) => {
            let mut data = data.clone();
            steady(&mut data);
            encode::terminal(&Ok(Reply::Data(data)))
        }
        other => encode::terminal(other).replace(&std::env::temp_dir().display().to_string(), "TMP"),
    }
}

fn steady(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (name, member) in object.iter_mut() {
                if matches!(name.as_str(), "duration_ms" | "waited_ms" | "time" | "age_ms" | "created") {
                    *member = json!("…");
                }
                steady(member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(steady),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What a panic says that a test makes happen inside a call.
pub const DEFECT: &str = "a test of what a defect does";

/// Panics that are meant to be caught are not told: their message would only confuse.
pub fn quiet_defects() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if deskhand::log::panic_text(panic.payload()) != DEFECT {
                usual(panic);
            }
        }));
    });
}
