//! Notifications: sending, seeing, answering, dismissing.

use super::evidence::{Acted, short};
use super::page::page;
use crate::call::Context;
use crate::notices::{Fate, Notice};
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::element::{Bounds, Element, Node, Role, Root, Tree, TreeQuery};
use deskhand_core::notification::{
    CloseReason, Invoking, LONGEST_MESSAGE, LONGEST_TITLE, MOST_ACTIONS, Notification, NotificationAction,
    NotificationEvent, NotificationWatch, Shown, Urgency, bounded,
};
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<SendNotification>(),
    Row::of::<ListNotifications>(),
    Row::of::<ActOnNotification>(),
    Row::of::<DismissNotification>(),
];

/// How long whoever shows notifications gets to do what it was asked.
const PATIENCE: Duration = Duration::from_secs(2);

/// Show a notification to the person at the desktop. It is delivered when it has an id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendNotification {
    /// What stands at its top.
    pub title: String,
    /// What it says: plain text.
    pub message: String,
    /// A line between title and message.
    #[serde(default)]
    pub subtitle: Option<String>,
    /// A name of the sound theme (message-new-instant) or a file.
    #[serde(default)]
    pub sound: Option<String>,
    /// critical stays until it is seen.
    #[serde(default)]
    pub urgency: Urgency,
    /// Buttons; list_notifications, while it watches, tells which is chosen.
    #[serde(default)]
    pub actions: Vec<String>,
    /// How long to show it; 0: until it is dismissed.
    #[serde(default)]
    pub expire_ms: Option<Ranged<0, 86_400_000>>,
}

/// A notification that was sent.
#[derive(Serialize, JsonSchema)]
pub struct SentInfo {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// Its number.
    pub id: u32,
    /// Who shows it.
    pub shown_by: String,
}

impl Tool for SendNotification {
    const NAME: &'static str = "send_notification";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = &[Code::SecureDesktopActive, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("summary", "title"), ("body", "message"), ("text", "message"), ("sound_name", "sound")];
    const GROUP: Group = Group::Notifications;
    type Output = Data<SentInfo>;

    fn call(self, cx: &Context) -> Result<Data<SentInfo>> {
        if self.title.trim().is_empty() {
            return Err(Error::argument("A notification needs a title, and this one is empty."));
        }
        if MOST_ACTIONS < self.actions.len() {
            return Err(Error::argument(format!("A notification has at most {MOST_ACTIONS} actions."))
                .found([self.actions.len().to_string()]));
        }
        let notification = Notification {
            title: self.title,
            subtitle: self.subtitle,
            message: self.message,
            urgency: self.urgency,
            sound: self.sound,
            actions: self.actions,
            expires: self.expire_ms.map(Ranged::milliseconds),
        };
        let delivered = cx.desktop.notifications.send(&cx.call, &notification)?;
        let action = |label: &String| NotificationAction { key: label.clone(), label: label.clone() };
        cx.server.notices.sent(Shown {
            id: delivered.id,
            application: "Deskhand".to_owned(),
            title: bounded(&notification.title, LONGEST_TITLE),
            message: bounded(&notification.message, LONGEST_MESSAGE),
            urgency: notification.urgency,
            actions: notification.actions.iter().map(action).collect(),
        });
        let evidence = format!("{} took it as notification {}", delivered.by.name, delivered.id);
        let acted = Acted { ignored: delivered.ignored, ..Acted::confirmed(evidence) };
        Ok(Data(SentInfo { acted, id: delivered.id, shown_by: delivered.by.name }))
    }
}

/// A notification as it is shown to callers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NotificationInfo {
    /// Its number.
    pub id: u32,
    /// Who sent it, by its own word.
    pub application: String,
    /// What stands at its top.
    pub title: String,
    /// What it says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How pressing it is.
    pub urgency: Urgency,
    /// What can be chosen; `default` is a click on the notification itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Whether it is open, closed, or not known because nobody watched.
    pub state: NotificationState,
    /// Why it is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<CloseReason>,
    /// The action that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// How long ago it came.
    pub age_ms: u64,
}

/// Whether a notification is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotificationState {
    /// It is there.
    Open,
    /// It is gone.
    Closed,
    /// Nobody has watched since it came.
    Unknown,
}

impl From<&Notice> for NotificationInfo {
    fn from(notice: &Notice) -> NotificationInfo {
        let shown = &notice.shown;
        let (state, closed) = match notice.fate {
            Fate::Open => (NotificationState::Open, None),
            Fate::Unknown => (NotificationState::Unknown, None),
            Fate::Closed(reason) => (NotificationState::Closed, Some(reason)),
        };
        let chosen = notice.acted.as_ref().map(|key| {
            let action = shown.actions.iter().find(|action| action.key == *key);
            action.map_or_else(|| key.clone(), offered)
        });
        NotificationInfo {
            id: shown.id,
            application: shown.application.clone(),
            title: shown.title.clone(),
            message: shown.message.clone(),
            urgency: shown.urgency,
            actions: shown.actions.iter().map(offered).collect(),
            state,
            closed,
            chosen,
            age_ms: u64::try_from(notice.came.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl NotificationInfo {
    /// One that has just come.
    pub fn of(shown: Shown) -> NotificationInfo {
        (&Notice { shown, came: Instant::now(), fate: Fate::Open, acted: None }).into()
    }
}

/// What an action is called here: what stands on its button, if it has one.
fn offered(action: &NotificationAction) -> String {
    if action.key == "default" || action.label.is_empty() { action.key.clone() } else { action.label.clone() }
}

/// List the notifications that were sent from here and, while it watches, those of other programs. Nothing
/// is watched unless watch is true; what is seen stays in memory and is forgotten with watch: false.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListNotifications {
    /// true begins to watch, false ends it and forgets what was seen.
    pub watch: Option<bool>,
    /// How long to watch; 10 minutes by default.
    pub watch_ms: Option<Ranged<1, 86_400_000>>,
    /// How many at the most.
    pub page_size: Option<Ranged<1, 1000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

/// Notifications.
#[derive(Serialize, JsonSchema)]
pub struct NotificationList {
    /// The notifications, the newest first.
    pub notifications: Vec<NotificationInfo>,
    /// Whether those of other programs are watched.
    pub watching: bool,
    /// For how long still.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watching_for_s: Option<u64>,
    /// Why it is not watched any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

impl Tool for ListNotifications {
    const NAME: &'static str = "list_notifications";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::PermissionDenied];
    const GROUP: Group = Group::Notifications;
    type Output = Data<NotificationList>;

    fn call(self, cx: &Context) -> Result<Data<NotificationList>> {
        let notices = &cx.server.notices;
        let time = self.watch_ms.map_or(Duration::from_secs(600), Ranged::milliseconds);
        match (self.watch, self.watch_ms) {
            (Some(true), _) => notices.watch(cx.desktop, &cx.call, time)?,
            (Some(false), Some(_)) => {
                return Err(Error::argument("watch_ms is how long to watch, and watch is false."));
            }
            (Some(false), None) => notices.forget(),
            (None, Some(_)) => {
                return Err(Error::argument("watch_ms is how long to watch: pass watch: true with it."));
            }
            (None, None) => {}
        }
        let known = notices.known();
        let infos = known.notices.iter().map(NotificationInfo::from).collect();
        let (notifications, next_page_token) =
            page(infos, self.page_size.map(Ranged::get), self.page_token.as_deref())?;
        let reason = match (&known.watching, known.ended) {
            (Some(_), _) => None,
            (None, Some(ended)) => Some(ended),
            (None, None) => {
                Some("Other programs' notifications are seen while watch is true only.".to_owned())
            }
        };
        Ok(Data(NotificationList {
            notifications,
            watching: known.watching.is_some(),
            watching_for_s: known.watching.map(|left| left.as_secs()),
            reason,
            next_page_token,
        }))
    }
}

/// What was done to a notification.
#[derive(Serialize, JsonSchema)]
pub struct NotificationActed {
    /// What was seen of it.
    #[serde(flatten)]
    pub acted: Acted,
    /// Its number.
    pub id: u32,
}

/// Sees what happens to notifications, where the session lets itself be watched; else says why not.
fn onlooker(cx: &Context) -> Result<Result<Box<dyn NotificationWatch>, String>> {
    match cx.desktop.notifications.watch(&cx.call) {
        Ok(watch) => Ok(Ok(watch)),
        Err(error) if error.code == Code::PermissionDenied => Ok(Err(error.message)),
        Err(error) => Err(error),
    }
}

/// Waits for an event that `wanted` takes. Everything that is seen is noted.
fn await_event<T>(
    cx: &Context,
    watch: &mut dyn NotificationWatch,
    wanted: impl Fn(&NotificationEvent) -> Option<T>,
) -> Result<Option<T>> {
    let until = (Instant::now() + PATIENCE).min(cx.call.deadline());
    while let Some(event) = watch.next(&cx.call, until)? {
        let found = wanted(&event);
        cx.server.notices.note(event);
        if found.is_some() {
            // What comes of it often is here already: a chosen notification closes.
            while let Some(event) = watch.next(&cx.call, Instant::now())? {
                cx.server.notices.note(event);
            }
            return Ok(found);
        }
    }
    Ok(None)
}

/// Dismiss a notification: take it off the screen.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DismissNotification {
    /// Its number, from send_notification or list_notifications.
    pub id: Ranged<0, 4_294_967_295>,
}

impl Tool for DismissNotification {
    const NAME: &'static str = "dismiss_notification";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = &[Code::SecureDesktopActive, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("notification", "id"), ("notification_id", "id")];
    const GROUP: Group = Group::Notifications;
    type Output = Data<NotificationActed>;

    fn call(self, cx: &Context) -> Result<Data<NotificationActed>> {
        let id = self.id.get() as u32;
        let watch = onlooker(cx)?;
        cx.desktop.notifications.close(&cx.call, id)?;
        let closed = |event: &NotificationEvent| match event {
            NotificationEvent::Closed { id: other, .. } => (*other == id).then_some(()),
            NotificationEvent::Shown(_) | NotificationEvent::Acted { .. } => None,
        };
        let acted = match watch {
            Err(why) => Acted::unverified(why),
            Ok(mut watch) => match cx.aside(|| await_event(cx, watch.as_mut(), closed))? {
                Some(()) => Acted::confirmed(format!("the notification {id} was closed")),
                None => Acted::no_change(format!(
                    "Nothing was closed within {} ms: most likely no notification {id} is open.",
                    PATIENCE.as_millis()
                )),
            },
        };
        Ok(Data(NotificationActed { acted, id }))
    }
}

/// Choose an action of a notification, as a click on its button would.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActOnNotification {
    /// Its number, from send_notification or list_notifications.
    pub id: Ranged<0, 4_294_967_295>,
    /// What stands on the button, or `default`, which is a click on the notification itself.
    #[serde(default)]
    pub action: Option<String>,
}

impl Tool for ActOnNotification {
    const NAME: &'static str = "act_on_notification";
    const EFFECT: Effect = Effect::Change;
    const ERRORS: &'static [Code] = &[
        Code::TargetChanged,
        Code::ElementNotActionable,
        Code::AmbiguousTarget,
        Code::PermissionDenied,
        Code::SecureDesktopActive,
        Code::Busy,
    ];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("notification", "id"), ("notification_id", "id"), ("key", "action"), ("button", "action")];
    const GROUP: Group = Group::Notifications;
    type Output = Data<NotificationActed>;

    fn call(self, cx: &Context) -> Result<Data<NotificationActed>> {
        let id = self.id.get() as u32;
        let target = known(cx, id)?;
        let action = chosen(&target, self.action.as_deref())?;
        let watch = onlooker(cx)?;
        let others = cx.server.notices.known().notices.into_iter();
        let open: Vec<Shown> = others
            .filter(|notice| !matches!(notice.fate, Fate::Closed(_)) && notice.shown.id != id)
            .map(|notice| notice.shown)
            .collect();
        let via = match cx.desktop.notifications.invoke(&cx.call, &target, &action.key, &open)? {
            Invoking::Asked => "daemon",
            Invoking::ByButton => {
                press(cx, &target, &action)?;
                "action"
            }
        };
        let invoked = |event: &NotificationEvent| match event {
            NotificationEvent::Acted { id, key } => Some((*id, key.clone())),
            NotificationEvent::Shown(_) | NotificationEvent::Closed { .. } => None,
        };
        let acted = match watch {
            Err(why) => Acted::unverified(why),
            Ok(mut watch) => match cx.aside(|| await_event(cx, watch.as_mut(), invoked))? {
                Some((other, key)) if other == id && key == action.key => Acted::confirmed(format!(
                    "{} was told of {}",
                    short(&target.application),
                    short(&offered(&action))
                )),
                Some((other, key)) => {
                    return Err(Error::new(
                        Code::TargetChanged,
                        format!("Another action was invoked instead: {key:?} of the notification {other}."),
                    )
                    .expected(format!("{:?} of the notification {id}", action.key)));
                }
                None => Acted::no_change(format!(
                    "No action was invoked within {} ms: the notification may be gone.",
                    PATIENCE.as_millis()
                )),
            },
        };
        Ok(Data(NotificationActed { acted: Acted { via: Some(via), ..acted }, id }))
    }
}

/// A notification that can still be there.
fn known(cx: &Context, id: u32) -> Result<Shown> {
    let again = "List them with list_notifications, with watch: true for those of other programs.";
    let Some(notice) = cx.server.notices.get(id) else {
        let all = cx.server.notices.known().notices;
        return Err(Error::argument(format!("No notification {id} is known here."))
            .found(all.iter().map(|notice| format!("{} {}", notice.shown.id, short(&notice.shown.title))))
            .remedy(again));
    };
    match notice.fate {
        Fate::Open | Fate::Unknown => Ok(notice.shown),
        Fate::Closed(_) => Err(Error::new(
            Code::TargetChanged,
            format!("The notification {id} {} is closed.", short(&notice.shown.title)),
        )
        .remedy(again)),
    }
}

/// The action that a caller means: by its label or key, or the only one.
fn chosen(target: &Shown, name: Option<&str>) -> Result<NotificationAction> {
    let all = &target.actions;
    let found = match (name, &all[..]) {
        (Some(name), all) => all
            .iter()
            .find(|action| action.key == name)
            .or_else(|| all.iter().find(|action| action.label.eq_ignore_ascii_case(name))),
        (None, [only]) => Some(only),
        (None, all) => all.iter().find(|action| action.key == "default"),
    };
    found.cloned().ok_or_else(|| {
        let message = match name {
            Some(name) => format!("The notification {} has no action {name:?}.", target.id),
            None => format!("Which action of the notification {}? It has no default one.", target.id),
        };
        Error::argument(message).expected("one of its actions").found(all.iter().map(offered))
    })
}

/// Presses the button of a popup as accessibility knows it: where whoever shows it takes no orders.
fn press(cx: &Context, target: &Shown, action: &NotificationAction) -> Result<()> {
    let shower = cx.desktop.notifications.shower(&cx.call)?;
    let pid = shower.pid.ok_or_else(|| {
        Error::unsupported(format!("{} takes no orders, and its process is not known.", shower.name))
    })?;
    if action.key == "default" {
        return Err(Error::unsupported(format!(
            "{} takes no orders, and the default action has no button.",
            shower.name
        ))
        .remedy("Click the notification where it shows: take_screenshot, then click."));
    }
    let query = TreeQuery { bounds: Bounds::No, actions: true, ..TreeQuery::new(Root::Process(pid)) };
    let tree = cx.desktop.elements.tree(&cx.call, &query)?;
    let buttons = buttons_of(&tree, target, &action.label);
    let [button] = buttons[..] else {
        let found = tree.nodes.iter().filter(|node| node.element.role == Role::Button);
        let (code, how_many) = match buttons.len() {
            0 => (Code::ElementNotActionable, "no popup"),
            _ => (Code::AmbiguousTarget, "several popups"),
        };
        return Err(Error::new(
            code,
            format!(
                "{} shows {how_many} titled {} with the button {}.",
                shower.name,
                short(&target.title),
                short(&action.label)
            ),
        )
        .found(found.map(|node| format!("button {}", short(&node.element.name))))
        .remedy("It may be closed: list_notifications. Else click it where it shows."));
    };
    let act = button.actions.first().map_or("click", String::as_str);
    cx.desktop.elements.perform(&cx.call, &button.id, act)
}

/// The buttons of this label in popups that show the title.
fn buttons_of<'t>(tree: &'t Tree, target: &Shown, label: &str) -> Vec<&'t Element> {
    let tops: Vec<usize> = (0..tree.nodes.len()).map(|index| top(&tree.nodes, index)).collect();
    let says = |node: &Node| {
        node.element.name.trim() == target.title.trim()
            || node.element.value.as_deref() == Some(target.title.as_str())
    };
    let popups: Vec<usize> =
        tree.nodes.iter().enumerate().filter(|(_, node)| says(node)).map(|(index, _)| tops[index]).collect();
    let fits = |(index, node): (usize, &'t Node)| {
        let fits =
            node.element.role == Role::Button && node.element.name == label && popups.contains(&tops[index]);
        fits.then_some(&node.element)
    };
    tree.nodes.iter().enumerate().filter_map(fits).collect()
}

/// The popup that an element is in: the outermost element of its application but one.
fn top(nodes: &[Node], mut index: usize) -> usize {
    while let Some(parent) = nodes[index].parent {
        if nodes[parent].parent.is_none() && nodes[parent].element.role == Role::Application {
            return index;
        }
        index = parent;
    }
    index
}
