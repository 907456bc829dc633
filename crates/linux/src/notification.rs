//! Notifications over the session bus: `org.freedesktop.Notifications`, whoever owns that name.
//!
//! Those of other programs are seen as a monitor of the bus sees them, and only while somebody watches: the
//! bus is asked for the messages of this one interface and their answers, nothing else.

use crate::atspi::bus::wait;
use deskhand_core::notification::{
    CloseReason, Delivered, Invoking, LONGEST_MESSAGE, LONGEST_TITLE, MOST_ACTIONS, Notification,
    NotificationAction, NotificationEvent, NotificationWatch, Notifications, Shower, Shown, Urgency, bounded,
};
use deskhand_core::{Call, Code, Error, Result};
use futures_lite::StreamExt;
use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;
use zbus::message::Type;
use zbus::zvariant::{DynamicDeserialize, DynamicType, OwnedValue, Value};
use zbus::{Connection, Message, MessageStream};

const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";
const BUS: &str = "org.freedesktop.DBus";
const BUS_PATH: &str = "/org/freedesktop/DBus";

/// The notifications of a session.
pub struct Daemon {
    /// Address of the session bus; `None` where there is none.
    address: Option<String>,
    /// Kept open: who shows notifications takes the buttons off those whose sender has gone.
    line: Mutex<Option<Connection>>,
}

impl Daemon {
    /// The notifications of the session with this bus.
    pub fn new(address: Option<String>) -> Daemon {
        Daemon { address, line: Mutex::default() }
    }

    fn line(&self) -> MutexGuard<'_, Option<Connection>> {
        self.line.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    async fn connect(&self) -> Result<Connection> {
        let Some(address) = &self.address else {
            return Err(
                Error::backend("There is no session bus, over which notifications go.").remedy(NO_BUS)
            );
        };
        let missing = |error: zbus::Error| {
            Error::backend("The session bus cannot be reached, over which notifications go.")
                .because(error)
                .remedy(NO_BUS)
        };
        zbus::connection::Builder::address(address.as_str()).map_err(missing)?.build().await.map_err(missing)
    }

    /// The connection, a new one if the bus has gone since.
    async fn connection(&self) -> Result<Connection> {
        let known = self.line().as_ref().filter(|line| !line.is_closed()).cloned();
        match known {
            Some(known) => Ok(known),
            None => {
                let fresh = self.connect().await?;
                *self.line() = Some(fresh.clone());
                Ok(fresh)
            }
        }
    }

    /// Waits for `work`, and says who was waited for when it takes too long.
    fn ask<T>(&self, call: &Call, doing: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        wait(call, doing, work).map_err(|error| match error.code {
            Code::Timeout => {
                // What was asked may still be answered: nobody listens any more.
                *self.line() = None;
                let who = "The notification daemon, or the session bus,";
                Error::new(Code::Timeout, format!("{who} did not answer in time while {doing}.")).remedy(
                    "Restart the daemon (dunst, xfce4-notifyd, the desktop shell); the next call finds the new one.",
                )
            }
            _ => error,
        })
    }
}

const NO_BUS: &str = "Run inside the desktop session, set DBUS_SESSION_BUS_ADDRESS to its bus, or start Deskhand with --virtual.";

fn absent() -> Error {
    Error::backend("No notification daemon runs in this session, and the session knows none to start.").remedy(
        "Start one on this desktop, `dunst` say (package dunst), or xfce4-notifyd, mako, or the desktop's own shell. \
         The next call finds it.",
    )
}

/// What a failed request means.
fn trouble(doing: &str, error: zbus::Error) -> Error {
    let zbus::Error::MethodError(name, said, _) = &error else {
        return Error::backend(format!("The session bus went away while {doing}."))
            .because(error)
            .remedy("The next call connects again.");
    };
    let said = said.clone().unwrap_or_else(|| name.to_string());
    match name.as_str().rsplit('.').next() {
        Some("ServiceUnknown" | "NameHasNoOwner") => absent().os(said),
        Some("NoReply" | "Disconnected") => {
            Error::backend(format!("The notification daemon went away while {doing}."))
                .os(said)
                .remedy("The next call finds the new one, as soon as it runs.")
        }
        _ if name.as_str().contains(".Spawn.") => {
            Error::backend("The session could not start its notification daemon.").os(said).remedy(
                "Start it by hand to see what is the matter, or another one: `dunst`, xfce4-notifyd, mako.",
            )
        }
        _ => Error::backend(format!("The notification daemon refused, while {doing}.")).os(said),
    }
}

/// One request to whoever has a name.
async fn request<R>(
    line: &Connection,
    to: &str,
    path: &str,
    interface: &str,
    method: &str,
    body: &(impl serde::Serialize + DynamicType),
) -> zbus::Result<R>
where
    R: for<'d> DynamicDeserialize<'d>,
{
    line.call_method(Some(to), path, Some(interface), method, body).await?.body().deserialize()
}

/// Who shows notifications: its unique name on the bus, and what it says of itself.
struct Owner {
    unique: String,
    /// What it calls itself: `dunst`, `Xfce Notify Daemon`.
    name: String,
    shower: Shower,
}

impl Owner {
    /// Whoever has the name now, if anybody.
    async fn find(line: &Connection) -> Result<Option<Owner>> {
        let doing = "asking for the notification daemon";
        let unique: String = match request(line, BUS, BUS_PATH, BUS, "GetNameOwner", &NAME).await {
            Ok(unique) => unique,
            Err(zbus::Error::MethodError(name, ..)) if name.ends_with("NameHasNoOwner") => return Ok(None),
            Err(error) => return Err(trouble(doing, error)),
        };
        let pid = request(line, BUS, BUS_PATH, BUS, "GetConnectionUnixProcessID", &unique).await.ok();
        let (name, _, version, _): (String, String, String, String) =
            request(line, &unique, PATH, NAME, "GetServerInformation", &())
                .await
                .map_err(|error| trouble(doing, error))?;
        let shown = format!("{name} {version}").trim().to_owned();
        Ok(Some(Owner { unique, name, shower: Shower { name: shown, pid } }))
    }

    /// Whoever has the name, started if the session knows how.
    async fn start(line: &Connection) -> Result<Owner> {
        if let Some(owner) = Owner::find(line).await? {
            return Ok(owner);
        }
        let doing = "starting the notification daemon";
        let _: u32 = request(line, BUS, BUS_PATH, BUS, "StartServiceByName", &(NAME, 0u32))
            .await
            .map_err(|error| trouble(doing, error))?;
        Owner::find(line).await?.ok_or_else(absent)
    }

    async fn ask<R>(
        &self,
        line: &Connection,
        doing: &str,
        interface: &str,
        method: &str,
        body: &(impl serde::Serialize + DynamicType),
    ) -> Result<R>
    where
        R: for<'d> DynamicDeserialize<'d>,
    {
        request(line, &self.unique, PATH, interface, method, body)
            .await
            .map_err(|error| trouble(doing, error))
    }
}

impl Notifications for Daemon {
    fn shower(&self, call: &Call) -> Result<Shower> {
        self.ask(call, "asking for the notification daemon", async {
            let line = self.connection().await?;
            Ok(Owner::find(&line).await?.ok_or_else(absent)?.shower)
        })
    }

    fn send(&self, call: &Call, notification: &Notification) -> Result<Delivered> {
        let doing = "sending the notification";
        self.ask(call, doing, async {
            let line = self.connection().await?;
            let owner = Owner::start(&line).await?;
            let can: Vec<String> = owner.ask(&line, doing, NAME, "GetCapabilities", &()).await?;
            let can = |capability: &str| can.iter().any(|known| known == capability);
            let body = body(notification, can("body-markup"));
            let mut ignored = Vec::new();
            let mut hints: HashMap<&str, Value<'_>> = HashMap::new();
            hints.insert("urgency", Value::U8(urgency_number(notification.urgency)));
            match &notification.sound {
                Some(_) if !can("sound") => ignored.push("sound"),
                Some(sound) => {
                    let kind = if sound.starts_with('/') { "sound-file" } else { "sound-name" };
                    hints.insert(kind, Value::from(sound.as_str()));
                }
                None => {}
            }
            let mut actions: Vec<&str> = Vec::new();
            if can("actions") {
                // The label is the key: what is chosen is told as it was shown.
                actions =
                    notification.actions.iter().flat_map(|label| [label.as_str(), label.as_str()]).collect();
            } else if !notification.actions.is_empty() {
                ignored.push("actions");
            }
            let expires =
                notification.expires.map_or(-1, |time| i32::try_from(time.as_millis()).unwrap_or(i32::MAX));
            let title = notification.title.as_str();
            let whole = ("Deskhand", 0u32, "", title, body.as_str(), actions, hints, expires);
            let id = owner.ask(&line, doing, NAME, "Notify", &whole).await?;
            Ok(Delivered { id, by: owner.shower, ignored })
        })
    }

    fn close(&self, call: &Call, id: u32) -> Result<()> {
        let doing = "dismissing the notification";
        self.ask(call, doing, async {
            let line = self.connection().await?;
            let owner = Owner::find(&line).await?.ok_or_else(absent)?;
            match request(&line, &owner.unique, PATH, NAME, "CloseNotification", &id).await {
                Ok(()) => Ok(()),
                // Some say so when there is none of this number; the caller sees that nothing was closed.
                Err(zbus::Error::MethodError(name, ..)) if !is_gone(name.as_str()) => Ok(()),
                Err(error) => Err(trouble(doing, error)),
            }
        })
    }

    fn invoke(&self, call: &Call, target: &Shown, key: &str, open: &[Shown]) -> Result<Invoking> {
        self.ask(call, "invoking the action", async {
            let line = self.connection().await?;
            let owner = Owner::find(&line).await?.ok_or_else(absent)?;
            if owner.name != "dunst" {
                return Ok(Invoking::ByButton);
            }
            ask_dunst(&line, &owner, target, key, open).await?;
            Ok(Invoking::Asked)
        })
    }

    fn watch(&self, call: &Call) -> Result<Box<dyn NotificationWatch>> {
        self.ask(call, "beginning to watch the notifications", async {
            let line = self.connect().await?;
            let stream = MessageStream::from(&line);
            // Answers carry no interface: those of whoever has the name are taken, and told apart by what
            // they answer.
            let rules = [
                format!("type='method_call',interface='{NAME}',member='Notify'"),
                format!("type='method_return',sender='{NAME}'"),
                format!("type='signal',interface='{NAME}'"),
            ];
            let monitoring = "org.freedesktop.DBus.Monitoring";
            let _: () = request(&line, BUS, BUS_PATH, monitoring, "BecomeMonitor", &(&rules[..], 0u32))
                .await
                .map_err(|error| {
                    Error::new(Code::PermissionDenied, "The session bus does not let itself be watched.")
                        .because(error)
                        .remedy(
                            "Allow monitors in the configuration of the session bus, or work with what \
                             send_notification returns.",
                        )
                })?;
            Ok(Box::new(Monitor { stream, _line: line, pending: VecDeque::new() })
                as Box<dyn NotificationWatch>)
        })
    }
}

fn is_gone(error: &str) -> bool {
    matches!(error.rsplit('.').next(), Some("ServiceUnknown" | "NameHasNoOwner" | "NoReply" | "Disconnected"))
}

const DUNST: &str = "org.dunstproject.cmd0";

/// dunst invokes the default action, or the only one, of the notification at a place in its list. It does
/// not tell the list: the place is known when everything in it is.
async fn ask_dunst(
    line: &Connection,
    owner: &Owner,
    target: &Shown,
    key: &str,
    open: &[Shown],
) -> Result<()> {
    let doing = "asking dunst to invoke the action";
    if key != "default" && (target.actions.len() != 1 || target.actions[0].key != key) {
        return Err(Error::unsupported(
            "dunst invokes by itself only the default action of a notification, or its only one.",
        )
        .found(target.actions.iter().map(|action| action.label.clone()))
        .remedy("Let the person choose, or send notifications with one action each."));
    }
    let count = async |name: &str| -> Result<usize> {
        let body = (DUNST, name);
        let value: OwnedValue =
            owner.ask(line, doing, "org.freedesktop.DBus.Properties", "Get", &body).await?;
        Ok(u32::try_from(&value).map_or(0, |count| count as usize))
    };
    let (shown, waiting) = (count("displayedLength").await?, count("waitingLength").await?);
    let history: Vec<HashMap<String, OwnedValue>> =
        owner.ask(line, doing, DUNST, "NotificationListHistory", &()).await?;
    let past = |id: u32| {
        history.iter().any(|entry| {
            entry.get("id").and_then(|value| i32::try_from(value).ok()) == Some(id.cast_signed())
        })
    };
    if past(target.id) {
        return Err(Error::new(
            Code::TargetChanged,
            format!("The notification {} is no longer shown.", target.id),
        )
        .remedy("List the notifications that are open: list_notifications."));
    }
    let mut known: Vec<&Shown> =
        open.iter().filter(|other| other.id != target.id && !past(other.id)).collect();
    known.push(target);
    if known.len() != shown || waiting != 0 {
        return Err(Error::new(
            Code::ElementNotActionable,
            format!("dunst shows {shown} notification(s) and keeps {waiting} waiting, of which {} are known here.", known.len()),
        )
        .expected("every notification that is shown to be known, since dunst goes by their places")
        .remedy("Watch from the start (list_notifications with watch), or dismiss the others first."));
    }
    let urgent = |urgency| known.iter().filter(|other| other.urgency == urgency).count();
    if ![Urgency::Low, Urgency::Normal, Urgency::Critical]
        .iter()
        .any(|urgency| urgent(*urgency) == known.len())
    {
        return Err(Error::new(
            Code::ElementNotActionable,
            "dunst shows notifications of several urgencies, and its settings decide on their order.",
        )
        .remedy("Dismiss the others first (dismiss_notification)."));
    }
    known.sort_by_key(|other| other.id);
    let place = known.iter().position(|other| other.id == target.id).unwrap_or(0);
    let place = u32::try_from(place).unwrap_or(u32::MAX);
    match request(line, &owner.unique, PATH, DUNST, "NotificationAction", &place).await {
        Ok(()) => {}
        // Some versions compare the place with how many are waiting, and so know the first alone.
        Err(zbus::Error::MethodError(name, said, _)) if 0 < place && !is_gone(name.as_str()) => {
            let message = "This version of dunst invokes the actions of the notification at the top alone.";
            return Err(Error::new(Code::ElementNotActionable, message)
                .os(said.unwrap_or_default())
                .remedy("Dismiss or answer those above it first."));
        }
        Err(error) => return Err(trouble(doing, error)),
    }
    // A click would close it as well; this order does not.
    owner.ask(line, doing, NAME, "CloseNotification", &target.id).await
}

fn urgency_number(urgency: Urgency) -> u8 {
    match urgency {
        Urgency::Low => 0,
        Urgency::Normal => 1,
        Urgency::Critical => 2,
    }
}

/// What is shown below the title. There is no place for a subtitle: it is the first line.
fn body(notification: &Notification, markup: bool) -> String {
    let whole = match notification.subtitle.as_deref().filter(|subtitle| !subtitle.is_empty()) {
        Some(subtitle) if notification.message.is_empty() => subtitle.to_owned(),
        Some(subtitle) => format!("{subtitle}\n{}", notification.message),
        None => notification.message.clone(),
    };
    // Who understands markup would take a text with < in it for some, or for a broken one.
    if markup { whole.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;") } else { whole }
}

/// How many notifications may wait for the answer with their number.
const PENDING: usize = 64;

/// Sees what goes over the bus.
struct Monitor {
    stream: MessageStream,
    /// Closed when nobody watches any more.
    _line: Connection,
    /// Sent and not answered yet: sender, serial, what was sent.
    pending: VecDeque<(String, NonZeroU32, Shown)>,
}

impl NotificationWatch for Monitor {
    fn next(&mut self, call: &Call, until: Instant) -> Result<Option<NotificationEvent>> {
        let doing = "watching the notifications";
        wait(call, doing, async {
            let late = async {
                async_io::Timer::at(until).await;
                None
            };
            let coming = async {
                loop {
                    match self.stream.next().await {
                        Some(Ok(message)) => {
                            if let Some(event) = self.read(&message) {
                                return Some(Ok(event));
                            }
                        }
                        Some(Err(error)) => return Some(Err(trouble(doing, error))),
                        None => {
                            return Some(Err(Error::backend(
                                "The session bus went away while it was watched.",
                            )
                            .remedy("The next call connects again.")));
                        }
                    }
                }
            };
            futures_lite::future::or(coming, late).await.transpose()
        })
    }
}

impl Monitor {
    fn read(&mut self, message: &Message) -> Option<NotificationEvent> {
        let header = message.header();
        match message.message_type() {
            Type::MethodCall => {
                let shown = notify(message)?;
                if PENDING <= self.pending.len() {
                    self.pending.pop_front();
                }
                let sender = header.sender()?.to_string();
                self.pending.push_back((sender, message.primary_header().serial_num(), shown));
                None
            }
            Type::MethodReturn => {
                let (to, serial) = (header.destination()?, header.reply_serial()?);
                let answered = |(sender, sent, _): &(String, NonZeroU32, Shown)| {
                    *sent == serial && to.as_str() == sender
                };
                let place = self.pending.iter().position(answered)?;
                let (_, _, shown) = self.pending.remove(place)?;
                let id = message.body().deserialize().ok()?;
                Some(NotificationEvent::Shown(Shown { id, ..shown }))
            }
            Type::Signal => signal(header.member()?.as_str(), message),
            Type::Error => None,
        }
    }
}

fn signal(member: &str, message: &Message) -> Option<NotificationEvent> {
    let body = message.body();
    match member {
        "NotificationClosed" => {
            let (id, reason): (u32, u32) = body.deserialize().ok()?;
            let reason = match reason {
                1 => CloseReason::Expired,
                2 => CloseReason::Dismissed,
                3 => CloseReason::Withdrawn,
                _ => CloseReason::Unknown,
            };
            Some(NotificationEvent::Closed { id, reason })
        }
        "ActionInvoked" => {
            let (id, key): (u32, String) = body.deserialize().ok()?;
            Some(NotificationEvent::Acted { id, key: bounded(&key, LONGEST_TITLE) })
        }
        _ => None,
    }
}

/// What a program asks to be shown.
fn notify(message: &Message) -> Option<Shown> {
    type Notify<'m> =
        (&'m str, u32, &'m str, &'m str, &'m str, Vec<&'m str>, HashMap<&'m str, Value<'m>>, i32);
    let body = message.body();
    let (application, _, _, title, text, actions, hints, _): Notify<'_> = body.deserialize().ok()?;
    let urgency = match hints.get("urgency") {
        Some(Value::U8(0)) => Urgency::Low,
        Some(Value::U8(2)) => Urgency::Critical,
        _ => Urgency::Normal,
    };
    let pairs = actions.chunks_exact(2).take(MOST_ACTIONS);
    let actions = pairs.map(|pair| NotificationAction {
        key: bounded(pair[0], LONGEST_TITLE),
        label: bounded(pair[1], LONGEST_TITLE),
    });
    Some(Shown {
        id: 0,
        application: bounded(application, LONGEST_TITLE),
        title: bounded(title, LONGEST_TITLE),
        message: bounded(text, LONGEST_MESSAGE),
        urgency,
        actions: actions.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_plain_where_markup_is_understood() {
        let notification = Notification {
            message: "a < b & <b>c</b>".to_owned(),
            subtitle: Some("Sub".to_owned()),
            ..Notification::default()
        };
        assert_eq!(body(&notification, false), "Sub\na < b & <b>c</b>");
        assert_eq!(body(&notification, true), "Sub\na &lt; b &amp; &lt;b&gt;c&lt;/b&gt;");
        assert_eq!(
            body(&Notification { subtitle: Some("Sub".into()), ..Notification::default() }, true),
            "Sub"
        );
    }
}
