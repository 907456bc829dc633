//! A connection to the session bus that is made when it is first needed, and again when it was lost.

use crate::atspi::bus::{wait, within};
use deskhand_core::{Call, Code, Error, Result};
use std::sync::{Mutex, TryLockError};
use std::time::Duration;
use zbus::Connection;
use zbus::zvariant::DynamicType;

/// The session bus, for questions to applications.
pub struct Line {
    address: Option<String>,
    live: Mutex<Option<Connection>>,
}

/// What may be missing on the way to an answer.
#[derive(Debug)]
pub enum Fault {
    /// There is no such object, interface or method, or nobody of that name: a value for some.
    Absent(String),
    /// Any other refusal.
    Refused(String),
    /// The bus itself.
    Lost(zbus::Error),
}

impl From<zbus::Error> for Fault {
    fn from(error: zbus::Error) -> Fault {
        let zbus::Error::MethodError(name, text, _) = &error else { return Fault::Lost(error) };
        let said =
            text.as_ref().map_or_else(|| name.to_string(), |text| format!("{}: {text}", name.as_str()));
        match name.as_str().rsplit('.').next() {
            Some(
                "UnknownObject" | "ServiceUnknown" | "NameHasNoOwner" | "UnknownMethod" | "UnknownInterface"
                | "UnknownProperty" | "Disconnected",
            ) => Fault::Absent(said),
            _ => Fault::Refused(said),
        }
    }
}

impl Fault {
    /// What it means for somebody who asked `whom`.
    pub fn error(self, whom: &str) -> Error {
        match self {
            Fault::Absent(said) => Error::backend(format!("{whom} is not there any more."))
                .os(said)
                .remedy("It may have been closed or have ended: look again what there is."),
            Fault::Refused(said) => Error::backend(format!("{whom} refused the request.")).os(said),
            Fault::Lost(error) => {
                Error::backend("The session bus was lost.").because(error).remedy("Try again.")
            }
        }
    }
}

/// Asks one thing.
pub async fn ask<B>(
    bus: &Connection,
    name: &str,
    path: &str,
    interface: &str,
    method: &str,
    body: &B,
) -> std::result::Result<zbus::Message, Fault>
where
    B: serde::Serialize + DynamicType,
{
    Ok(bus.call_method(Some(name), path, Some(interface), method, body).await?)
}

impl Line {
    /// The session bus at this address, or the environment's. Nothing is connected yet.
    pub fn new(address: Option<String>) -> Line {
        Line { address, live: Mutex::new(None) }
    }

    /// Runs `work` with the connection. Its wait ends with the call; `doing` says what was waited for.
    pub fn with<T>(
        &self,
        call: &Call,
        doing: &str,
        work: impl AsyncFnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let bus = self.connection(call)?;
        wait(call, doing, work(&bus)).map_err(|error| match error.code {
            Code::Timeout => {
                Error { message: format!("There was no answer in time. {}", error.message), ..error }
                    .remedy("The application may hang: look at a screenshot, try again later, or end it.")
            }
            _ => error,
        })
    }

    /// The connection, made if there is none.
    pub fn connection(&self, call: &Call) -> Result<Connection> {
        let mut guard = call.until("waiting for the session bus", || match self.live.try_lock() {
            Ok(guard) => Ok(Some(guard)),
            Err(TryLockError::Poisoned(poisoned)) => Ok(Some(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => Ok(None),
        })?;
        if let Some(live) = guard.as_ref().filter(|live| !live.is_closed()) {
            return Ok(live.clone());
        }
        *guard = None;
        let bus = wait(call, "connecting to the session bus", async {
            let missing = |error: zbus::Error| {
                Error::backend("The session bus cannot be reached.").because(error).remedy(
                    "Run inside the desktop session, set DBUS_SESSION_BUS_ADDRESS to its bus, or start Deskhand with --virtual.",
                )
            };
            let builder = match &self.address {
                Some(address) => zbus::connection::Builder::address(address.as_str()),
                None => zbus::connection::Builder::session(),
            };
            builder.map_err(missing)?.build().await.map_err(missing)
        })?;
        Ok(guard.insert(bus).clone())
    }
}

/// `work`'s answer, or a refusal when it takes longer than `time`.
pub async fn patiently<T>(
    time: Duration,
    work: impl Future<Output = std::result::Result<T, Fault>>,
) -> std::result::Result<T, Fault> {
    let late = || Fault::Refused(format!("There was no answer within {} ms.", time.as_millis()));
    within(time, work).await.unwrap_or_else(|| Err(late()))
}
