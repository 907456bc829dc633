//! Which displays there are, told before the first picture: at `initialize` and as a resource.

use crate::call::Server;
use deskhand_core::{Call, Display, Result};
use serde::Serialize;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// The resource's address.
pub const URI: &str = "deskhand://displays";

/// How long `initialize` waits for the displays. Longer, and a client takes the server for dead.
const PATIENCE: Duration = Duration::from_millis(50);

/// A display in the form that computer-use clients know.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Screen {
    /// The display's id.
    pub id: String,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Physical pixels per logical one.
    pub pixel_density: f64,
    /// Its left edge in the coordinates of the whole desktop.
    pub origin_x: i32,
    /// Its top edge.
    pub origin_y: i32,
}

impl Screen {
    /// A display in this form.
    pub fn of(display: &Display) -> Screen {
        Screen {
            id: display.id.clone(),
            width: display.bounds.width,
            height: display.bounds.height,
            pixel_density: display.scale,
            origin_x: display.bounds.x,
            origin_y: display.bounds.y,
        }
    }
}

/// Asks for the displays without holding up whoever wants to know.
pub struct Grounding {
    server: Arc<Server>,
    asked: Mutex<Option<JoinHandle<Result<Vec<Display>>>>>,
}

impl Grounding {
    /// Asks at once, so that the answer is there when the client says hello.
    pub fn new(server: Arc<Server>) -> Grounding {
        let asked = Mutex::new(Some(ask(server.clone())));
        Grounding { server, asked }
    }

    /// The displays, if they are known soon.
    pub async fn displays(&self) -> Option<Vec<Display>> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        let asked = asked.unwrap_or_else(|| ask(self.server.clone()));
        tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()?.ok()
    }

    /// The displays, or why they are not known.
    pub async fn look(&self) -> Result<Vec<Display>> {
        ask(self.server.clone()).await.unwrap_or_else(|error| {
            Err(deskhand_core::Error::new(
                deskhand_core::Code::Internal,
                "The displays could not be asked for.",
            )
            .os(error))
        })
    }
}

fn ask(server: Arc<Server>) -> JoinHandle<Result<Vec<Display>>> {
    tokio::task::spawn_blocking(move || {
        server.desktop.screen.displays(&Call::with_timeout(Duration::from_secs(2)))
    })
}

/// The displays in a sentence.
pub fn sentence(displays: &[Display]) -> String {
    let mut text = String::from("Displays (pixels):");
    for display in displays {
        let _ = write!(text, " {} {} is {}", display.index, display.id, display.bounds);
        if display.primary {
            text.push_str(", primary");
        }
        if (display.scale - 1.0).abs() > f64::EPSILON {
            let _ = write!(text, ", scale {}", display.scale);
        }
        text.push(';');
    }
    text.pop();
    text.push('.');
    text
}
