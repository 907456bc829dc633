//! The notifications of the fake desktop. Whoever shows them does what it is told at once.

use super::{Provider, World};
use crate::call::Call;
use crate::error::Result;
use crate::notification::{
    CloseReason, Delivered, Invoking, Notification, NotificationAction, NotificationEvent, NotificationWatch,
    Notifications, Shower, Shown, Urgency,
};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What is shown, and what happened so far.
#[derive(Default)]
pub(super) struct Notices {
    pub open: Vec<Shown>,
    pub events: VecDeque<NotificationEvent>,
    last: u32,
    pub deaf: bool,
}

impl World {
    /// An application shows a notification with these buttons; says its number.
    pub fn notify(&mut self, application: &str, title: &str, message: &str, actions: &[&str]) -> u32 {
        let actions = actions.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>();
        self.show_notification(application, title, message, Urgency::Normal, &actions)
    }

    /// The person dismisses a notification, or its time is up.
    pub fn close_notification(&mut self, id: u32, reason: CloseReason) {
        if let Some(place) = self.notices.open.iter().position(|shown| shown.id == id) {
            self.notices.open.remove(place);
            self.notices.events.push_back(NotificationEvent::Closed { id, reason });
        }
    }

    /// Who shows notifications takes orders and does nothing.
    pub fn ignore_notification_orders(&mut self, ignored: bool) {
        self.notices.deaf = ignored;
    }

    fn show_notification(
        &mut self,
        application: &str,
        title: &str,
        message: &str,
        urgency: Urgency,
        actions: &[String],
    ) -> u32 {
        self.notices.last += 1;
        let action = |label: &String| NotificationAction { key: label.clone(), label: label.clone() };
        let shown = Shown {
            id: self.notices.last,
            application: application.to_owned(),
            title: title.to_owned(),
            message: message.to_owned(),
            urgency,
            actions: actions.iter().map(action).collect(),
        };
        self.notices.open.push(shown.clone());
        self.notices.events.push_back(NotificationEvent::Shown(shown));
        self.notices.last
    }
}

fn shower() -> Shower {
    Shower { name: "fake 1.0".to_owned(), pid: None }
}

impl Notifications for Provider {
    fn shower(&self, call: &Call) -> Result<Shower> {
        drop(self.enter(call, "notifications.shower")?);
        Ok(shower())
    }

    fn send(&self, call: &Call, notification: &Notification) -> Result<Delivered> {
        let mut world = self.enter(call, "notifications.send")?;
        world.log.push(format!("notify {:?} {:?}", notification.title, notification.message));
        let message = match &notification.subtitle {
            Some(subtitle) => format!("{subtitle}\n{}", notification.message),
            None => notification.message.clone(),
        };
        let (title, actions) = (&notification.title, &notification.actions);
        let id = world.show_notification("Deskhand", title, &message, notification.urgency, actions);
        let ignored = if notification.sound.is_some() { vec!["sound"] } else { Vec::new() };
        Ok(Delivered { id, by: shower(), ignored })
    }

    fn close(&self, call: &Call, id: u32) -> Result<()> {
        let mut world = self.enter(call, "notifications.close")?;
        world.log.push(format!("close notification {id}"));
        if !world.notices.deaf {
            world.close_notification(id, CloseReason::Withdrawn);
        }
        Ok(())
    }

    fn invoke(&self, call: &Call, target: &Shown, key: &str, _: &[Shown]) -> Result<Invoking> {
        let mut world = self.enter(call, "notifications.invoke")?;
        let id = target.id;
        world.log.push(format!("invoke {id} {key}"));
        if !world.notices.deaf && world.notices.open.iter().any(|shown| shown.id == id) {
            world.notices.events.push_back(NotificationEvent::Acted { id, key: key.to_owned() });
            world.close_notification(id, CloseReason::Withdrawn);
        }
        Ok(Invoking::Asked)
    }

    fn watch(&self, call: &Call) -> Result<Box<dyn NotificationWatch>> {
        let next = self.enter(call, "notifications.watch")?.notices.events.len();
        Ok(Box::new(Onlooker { provider: self.clone(), next }))
    }
}

/// A reader of what happens.
struct Onlooker {
    provider: Provider,
    next: usize,
}

impl NotificationWatch for Onlooker {
    fn next(&mut self, call: &Call, until: Instant) -> Result<Option<NotificationEvent>> {
        loop {
            self.provider.suffer(call, "notifications.next")?;
            let shared = &self.provider.0;
            let mut world = shared.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            world.catch_up();
            if let Some(event) = world.notices.events.get(self.next) {
                self.next += 1;
                return Ok(Some(event.clone()));
            }
            let now = Instant::now();
            if until <= now {
                return Ok(None);
            }
            call.check("waiting for a notification")?;
            // A cancellation does not signal this condition, so look at it now and then.
            let nap = (until - now).min(call.remaining()).min(Duration::from_millis(10));
            drop(shared.moved.wait_timeout(world, nap));
        }
    }
}
