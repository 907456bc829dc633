//! Notifications: sending them, seeing those of others while somebody asks for it, answering them.

use crate::call::Call;
use crate::error::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How long a title may be that is kept and shown, in characters.
pub const LONGEST_TITLE: usize = 200;
/// The same for a message.
pub const LONGEST_MESSAGE: usize = 2000;
/// How many actions of a notification are kept.
pub const MOST_ACTIONS: usize = 16;

/// A notification to be shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notification {
    /// What stands at its top.
    pub title: String,
    /// What stands between title and message.
    pub subtitle: Option<String>,
    /// What it says. Plain text: nothing in it is markup.
    pub message: String,
    /// How pressing it is.
    pub urgency: Urgency,
    /// The sound that goes with it: a name of the sound theme, or the path of a file.
    pub sound: Option<String>,
    /// Buttons, by what stands on them.
    pub actions: Vec<String>,
    /// How long it is shown; zero is until it is dismissed. Whoever shows it decides where this is absent.
    pub expires: Option<Duration>,
}

/// How pressing a notification is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// It can wait.
    Low,
    /// As usual.
    #[default]
    Normal,
    /// It stays until it is seen.
    Critical,
}

/// Who shows notifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shower {
    /// Its name and version.
    pub name: String,
    /// Its process, where known.
    pub pid: Option<u32>,
}

/// What became of a notification that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The number by which it is known from now on.
    pub id: u32,
    /// Who shows it.
    pub by: Shower,
    /// What it cannot show of it: `sound`, `actions`.
    pub ignored: Vec<&'static str>,
}

/// A button of a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotificationAction {
    /// How its application knows it; `default` is a click on the notification itself.
    pub key: String,
    /// What stands on it.
    pub label: String,
}

/// A notification as it is seen. Texts are cut to what is worth keeping.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Its number.
    pub id: u32,
    /// Who sent it, by its own word.
    pub application: String,
    /// What stands at its top.
    pub title: String,
    /// What it says, as it was sent: with markup, if there was any.
    pub message: String,
    /// How pressing it is.
    pub urgency: Urgency,
    /// Its buttons.
    pub actions: Vec<NotificationAction>,
}

/// What happens to notifications.
#[derive(Clone, Debug, PartialEq)]
pub enum NotificationEvent {
    /// One is shown, or shows something else now.
    Shown(Shown),
    /// One is gone.
    Closed {
        /// Its number.
        id: u32,
        /// Why.
        reason: CloseReason,
    },
    /// An action was chosen.
    Acted {
        /// The notification's number.
        id: u32,
        /// The action's key.
        key: String,
    },
}

/// Why a notification is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// Its time was up.
    Expired,
    /// The person dismissed it.
    Dismissed,
    /// A program asked for it.
    Withdrawn,
    /// It is not known.
    Unknown,
}

/// How an action comes to be invoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invoking {
    /// Who shows the notification was asked to.
    Asked,
    /// Who shows it takes no such orders: its button has to be pressed.
    ByButton,
}

/// Shows notifications, and sees them.
pub trait Notifications: Send + Sync {
    /// Who shows notifications now. Never starts anybody.
    fn shower(&self, call: &Call) -> Result<Shower>;

    /// Shows a notification. Who shows them is started where the session knows how.
    fn send(&self, call: &Call, notification: &Notification) -> Result<Delivered>;

    /// Asks for a notification to be taken away. Whether one of this number was there is not told.
    fn close(&self, call: &Call, id: u32) -> Result<()>;

    /// Invokes an action of `target`. `open` are the other notifications that are known to be there.
    fn invoke(&self, call: &Call, target: &Shown, key: &str, open: &[Shown]) -> Result<Invoking>;

    /// Everything that happens to notifications from now on. `permission_denied` where the session does
    /// not let itself be watched.
    fn watch(&self, call: &Call) -> Result<Box<dyn NotificationWatch>>;
}

/// A place in the stream of what happens to notifications.
pub trait NotificationWatch: Send {
    /// What happens next, or nothing by `until`.
    fn next(&mut self, call: &Call, until: Instant) -> Result<Option<NotificationEvent>>;
}

/// At most so many characters of a text, and a sign where it was cut.
pub fn bounded(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The stand-in where there are no notifications.
pub struct NoNotifications(pub crate::desktop::Missing);

impl Notifications for NoNotifications {
    fn shower(&self, _: &Call) -> Result<Shower> {
        Err(self.0.error())
    }
    fn send(&self, _: &Call, _: &Notification) -> Result<Delivered> {
        Err(self.0.error())
    }
    fn close(&self, _: &Call, _: u32) -> Result<()> {
        Err(self.0.error())
    }
    fn invoke(&self, _: &Call, _: &Shown, _: &str, _: &[Shown]) -> Result<Invoking> {
        Err(self.0.error())
    }
    fn watch(&self, _: &Call) -> Result<Box<dyn NotificationWatch>> {
        Err(self.0.error())
    }
}

#[cfg(test)]
mod tests {
    use super::bounded;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(bounded("世界", 2), "世界");
        assert_eq!(bounded("世界!", 2), "世界…");
        assert_eq!(bounded("", 0), "");
    }
}
