//! The fixture that the protocol's conformance suite is run against: the tools, prompts and resources that the suite
//! asks for, served by Deskhand's own transports, beside the tools of a desktop in memory.
//!
//! usage: conformance [PORT]   serves at http://127.0.0.1:PORT/mcp without a token; any free port without one
//!
//! Nothing of a transport is here. Four of the tools are rows as Deskhand's own are and take the whole path of a call;
//! what Deskhand has no use for (sampling, prompts, audio) is answered by a handler around the table's.

mod asking;
mod content;
mod handler;
mod rows;

use deskhand::call::{Client, Config, Server};
use deskhand::http::{self, Access};
use deskhand::mcp::{self, Around};
use handler::Fixture;
use rmcp::service::ServiceExt;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Everybody who is served, to be told when the lists change.
#[derive(Clone, Default)]
struct Everybody(Arc<Mutex<Vec<Weak<Client>>>>);

impl Everybody {
    fn add(&self, client: &Arc<Client>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|client| 0 < client.strong_count());
        all.push(Arc::downgrade(client));
    }

    fn tell(&self, method: &str) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for client in all.iter().filter_map(Weak::upgrade) {
            client.tell(method, serde_json::json!({}));
        }
    }
}

fn main() -> ExitCode {
    let port = std::env::args().nth(1).map_or(Ok(0), |port| port.parse());
    let Ok(port) = port else {
        deskhand::terminal::complain("usage: conformance [PORT]");
        return ExitCode::from(2);
    };
    let (desktop, _control) = deskhand_core::fake::Fake::new().build();
    let server = Server::new(desktop, Config { tools: rows::TOOLS, ..Config::default() });
    let everybody = Everybody::default();
    let around = Around(Arc::new(move |table| {
        everybody.add(table.client());
        Fixture::new(table, everybody.clone()).into_dyn()
    }));
    let mcp = mcp::Options { around: Some(around), ..mcp::Options::default() };
    let options = http::Options { port, access: Access::Anybody, mcp, ..http::Options::default() };
    match http::run(&server, options, None) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            deskhand::terminal::complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}
