//! MCP messages that come by themselves, each with the number of the way that it came by: the other transport
//! beside [`super::lines`], for HTTP. The handling of messages is the same.

use super::lines::{End, Exchanges, Intake, Out, Place, Wire};
use super::{Mcp, Options};
use crate::call::{Client, Server};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::serve_directly;
use rmcp::transport::Transport;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The reading end: a transport for rmcp.
struct Posts {
    inbox: mpsc::UnboundedReceiver<(Value, u64)>,
    intake: Intake,
    wire: Arc<Wire>,
}

/// A client whose messages come one by one. It goes when this is dropped, or when it says `exit`.
pub struct Posted {
    inbox: mpsc::UnboundedSender<(Value, u64)>,
    wire: Arc<Wire>,
    /// The client.
    pub client: Arc<Client>,
}

impl Posted {
    /// A new client; `exchanges` takes what it is told. Needs the runtime.
    pub fn open(
        server: &Arc<Server>,
        options: &Options,
        name: &str,
        exchanges: Arc<dyn Exchanges>,
    ) -> Posted {
        let client = server.client(name);
        let wire = Wire::new(Out::Exchanges(exchanges));
        client.reach(wire.clone());
        let (sender, inbox) = mpsc::unbounded_channel();
        let intake = Intake::new(options, wire.clone(), server.clone(), client.clone());
        let handler = Mcp::new(server.clone(), client.clone(), options.clone());
        let posts = Posts { inbox, intake, wire: wire.clone() };
        let leaving = client.clone();
        tokio::spawn(async move {
            let _ = serve_directly(handler.wrapped(), posts, None).waiting().await;
            let _ = tokio::task::spawn_blocking(move || leaving.leave()).await;
        });
        Posted { inbox: sender, wire, client }
    }

    /// Takes a message that came by a way.
    pub fn take(&self, message: Value, exchange: u64) {
        let _ = self.inbox.send((message, exchange));
    }

    /// Whether everything is answered.
    pub fn is_idle(&self) -> bool {
        self.wire.is_idle()
    }

    /// Tells those who listen that nothing more comes.
    pub fn end_listening(&self) {
        self.wire.end_listening();
    }

    /// Waits until the client has said that it goes.
    pub async fn ended(&self) {
        self.wire.ended().await;
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        self.wire.stop();
    }
}

impl Transport<RoleServer> for Posts {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.wire.send(message);
        std::future::ready(Ok(()))
    }

    /// The next message. May be dropped at any await and called again: nothing is lost.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let next = if self.wire.room().await == End::Not {
                tokio::select! {
                    next = self.inbox.recv() => next,
                    () = self.wire.ended() => None,
                }
            } else {
                None
            };
            let Some((value, exchange)) = next else {
                self.wire.cancel_all();
                return None;
            };
            if let Some(message) = self.intake.message(value, Place::of(exchange)) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
