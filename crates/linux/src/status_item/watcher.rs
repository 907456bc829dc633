//! The list of items, where Deskhand keeps it: `org.kde.StatusNotifierWatcher`.
//!
//! Applications look for that name, register with whoever owns it, and register anew when the owner changes.
//! Deskhand lets itself be replaced, and gives the name up when somebody else waits for it.

use crate::atspi::bus::within;
use crate::menu::line::{Fault, ask};
use deskhand_core::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use zbus::fdo::{RequestNameFlags, RequestNameReply};
use zbus::message::Header;
use zbus::object_server::SignalEmitter;
use zbus::{Connection, interface};

/// The name, which is the interface's too.
pub const NAME: &str = "org.kde.StatusNotifierWatcher";
/// Where it is.
pub const PATH: &str = "/StatusNotifierWatcher";

const DAEMON: &str = "org.freedesktop.DBus";

/// After the name was taken, running applications register within this time.
const GATHERING: Duration = Duration::from_millis(600);

/// When none of them has come for so long, the rest is not waited for.
const QUIET: Duration = Duration::from_millis(200);

/// A list of items that Deskhand keeps.
#[derive(Default)]
pub struct Watcher {
    shared: Arc<Shared>,
    /// The connection that it is kept on, by its unique name.
    on: Mutex<Option<String>>,
}

#[derive(Default)]
struct Shared {
    items: Mutex<Vec<String>>,
}

impl Shared {
    fn items(&self) -> MutexGuard<'_, Vec<String>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher {
    /// What is registered, if Deskhand keeps the list: it takes it where nobody does, and gives it up where
    /// somebody waits for it.
    pub async fn items(&self, bus: &Connection) -> Result<Option<Vec<String>>> {
        let failed = |fault: Fault| fault.error("The session bus");
        let unique = bus.unique_name().map(ToString::to_string);
        let mut owner = owner(bus).await.map_err(failed)?;
        if owner.is_none() {
            self.take(bus).await?;
            owner = self::owner(bus).await.map_err(failed)?;
        }
        if owner.is_none() || owner != unique {
            return Ok(None);
        }
        let waiting = ask(bus, DAEMON, "/org/freedesktop/DBus", DAEMON, "ListQueuedOwners", &NAME).await;
        let waiting = waiting.ok().and_then(|reply| reply.body().deserialize::<Vec<String>>().ok());
        if waiting.is_some_and(|waiting| waiting.iter().any(|name| Some(name) != unique.as_ref())) {
            // A desktop has brought its own: its panel is what the person sees.
            drop(bus.release_name(NAME).await);
            self.shared.items().clear();
            return Ok(None);
        }
        Ok(Some(self.shared.items().clone()))
    }

    /// Takes the name, and gives running applications the time to register.
    async fn take(&self, bus: &Connection) -> Result<()> {
        let refused = |error: zbus::Error| {
            Error::backend("The list of items of the notification area could not be kept.").because(error)
        };
        let unique = bus.unique_name().map(ToString::to_string);
        let fresh = {
            let mut on = self.on.lock().unwrap_or_else(PoisonError::into_inner);
            let fresh = *on != unique;
            *on = unique;
            fresh
        };
        if fresh {
            let keeper = Keeper { shared: self.shared.clone() };
            bus.object_server().at(PATH, keeper).await.map_err(refused)?;
        }
        self.shared.items().clear();
        let flags = RequestNameFlags::AllowReplacement | RequestNameFlags::DoNotQueue;
        match bus.request_name_with_flags(NAME, flags).await {
            Ok(RequestNameReply::PrimaryOwner | RequestNameReply::AlreadyOwner) => {}
            // Somebody was faster: that one is asked.
            Ok(RequestNameReply::Exists | RequestNameReply::InQueue) | Err(zbus::Error::NameTaken) => {
                return Ok(());
            }
            Err(error) => return Err(refused(error)),
        }
        let until = Instant::now() + GATHERING;
        let (mut seen, mut calm) = (0, Instant::now());
        while Instant::now() < until && (Instant::now() < calm + QUIET) {
            async_io::Timer::after(Duration::from_millis(10)).await;
            let now = self.shared.items().len();
            if now != seen {
                (seen, calm) = (now, Instant::now());
            }
        }
        Ok(())
    }
}

async fn owner(bus: &Connection) -> std::result::Result<Option<String>, Fault> {
    let asked = ask(bus, DAEMON, "/org/freedesktop/DBus", DAEMON, "GetNameOwner", &NAME);
    match within(Duration::from_secs(2), asked).await {
        Some(Ok(reply)) => Ok(reply.body().deserialize::<String>().ok()),
        Some(Err(Fault::Absent(_))) => Ok(None),
        Some(Err(fault)) => Err(fault),
        None => Err(Fault::Refused("There was no answer within 2 s.".to_owned())),
    }
}

/// The object that applications register with.
struct Keeper {
    shared: Arc<Shared>,
}

#[interface(name = "org.kde.StatusNotifierWatcher")]
impl Keeper {
    /// An application adds an item: by its bus name, or by a path of its own (Ayatana).
    async fn register_status_notifier_item(
        &self,
        service: String,
        #[zbus(header)] header: Header<'_>,
        #[zbus(signal_emitter)] emitter: SignalEmitter<'_>,
    ) {
        let sender = header.sender().map(ToString::to_string).unwrap_or_default();
        let item = if service.starts_with('/') {
            format!("{sender}{service}")
        } else {
            format!("{service}/StatusNotifierItem")
        };
        let new = {
            let mut items = self.shared.items();
            let new = !items.contains(&item);
            if new {
                items.push(item.clone());
            }
            new
        };
        if new {
            drop(Keeper::status_notifier_item_registered(&emitter, &item).await);
        }
    }

    /// Another host wants to be told: it may listen, the list is one.
    async fn register_status_notifier_host(&self, _service: String) {}

    #[zbus(property)]
    fn registered_status_notifier_items(&self) -> Vec<String> {
        self.shared.items().clone()
    }

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }

    #[zbus(signal)]
    async fn status_notifier_item_registered(emitter: &SignalEmitter<'_>, item: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn status_notifier_item_unregistered(emitter: &SignalEmitter<'_>, item: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn status_notifier_host_registered(emitter: &SignalEmitter<'_>) -> zbus::Result<()>;
}
