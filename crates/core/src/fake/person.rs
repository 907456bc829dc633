//! A person at the fake desktop: what they do reaches the applications, and whoever listens is told first,
//! as on a real display. What Deskhand itself does is told too, as not from a person.

use super::{Control, Provider};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::geometry::Point;
use crate::input::{Button, Held, Press};
use crate::key::{Key, Modifier, NamedKey};
use crate::person::{Act, Device, Each, Keystroke, Person, What};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Somebody who is told, as long as they care to be.
pub(super) type Listener = Weak<Mutex<Each>>;

impl Person for Provider {
    fn devices(&self, call: &Call) -> Result<Vec<Device>> {
        drop(self.enter(call, "person.devices")?);
        let device = |name: &str, from_person| Device { name: name.to_owned(), from_person };
        Ok(vec![device("fake mouse", true), device("fake keyboard", true), device("fake test device", false)])
    }

    fn watch(&self, call: &Call, each: Each) -> Result<Box<dyn Any + Send + Sync>> {
        drop(self.enter(call, "person.watch")?);
        let each = Arc::new(Mutex::new(each));
        self.listeners().push(Arc::downgrade(&each));
        Ok(Box::new(each))
    }

    fn keys(&self, call: &Call, mut each: Each) -> Result<Box<dyn Any + Send + Sync>> {
        self.watch(
            call,
            Box::new(move |act| match act {
                Ok(Act { what: What::Key(..), .. }) | Err(_) => each(act),
                Ok(_) => {}
            }),
        )
    }

    fn quiet_for(&self, call: &Call) -> Result<Option<Duration>> {
        drop(self.enter(call, "person.quiet_for")?);
        Ok(self.presence().acted.map(|acted| acted.elapsed()))
    }

    fn halted(&self) -> Result<Option<String>> {
        Ok(self.presence().halted.clone())
    }

    fn halt(&self, how: &str) -> Result<()> {
        self.presence().halted = Some(how.to_owned());
        Ok(())
    }

    fn resume(&self) -> Result<bool> {
        Ok(self.presence().halted.take().is_some())
    }
}

/// What is known of the person.
#[derive(Default)]
pub(super) struct Presence {
    /// When they last did something.
    acted: Option<Instant>,
    /// They have stopped everything.
    halted: Option<String>,
}

impl Provider {
    fn listeners(&self) -> std::sync::MutexGuard<'_, Vec<Listener>> {
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn presence(&self) -> std::sync::MutexGuard<'_, Presence> {
        self.0.presence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody who listens what was just done, or is about to reach the applications.
    pub(super) fn tell(&self, from_person: bool, what: What) {
        if from_person {
            self.presence().acted = Some(Instant::now());
        }
        let listeners = self.listeners().clone();
        if listeners.is_empty() {
            return;
        }
        let (at, modifiers) = {
            let world = self.world();
            let down = |keys: [NamedKey; 2]| {
                keys.into_iter().any(|key| world.held.contains(&Held::Key(Key::Named(key))))
            };
            let modifiers = [
                (Modifier::Ctrl, [NamedKey::Ctrl, NamedKey::CtrlRight]),
                (Modifier::Shift, [NamedKey::Shift, NamedKey::ShiftRight]),
                (Modifier::Alt, [NamedKey::Alt, NamedKey::AltRight]),
                (Modifier::Meta, [NamedKey::Meta, NamedKey::MetaRight]),
            ];
            let held = modifiers.into_iter().filter(|(_, keys)| down(*keys));
            (world.pointer, held.map(|(modifier, _)| modifier).collect::<Vec<_>>())
        };
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            let act = Act {
                time: Instant::now(),
                from_person,
                what: what.clone(),
                at,
                modifiers: modifiers.clone(),
            };
            listener.lock().unwrap_or_else(PoisonError::into_inner)(Ok(act));
        }
        self.listeners().retain(|listener| 0 < listener.strong_count());
    }
}

impl Control {
    /// Whether anybody listens to the devices.
    pub fn is_heard(&self) -> bool {
        self.0.listeners().iter().any(|listener| 0 < listener.strong_count())
    }

    /// A person moves the pointer.
    pub fn person_points(&self, to: Point) {
        self.0.world().move_pointer(to);
        self.0.tell(true, What::Moved);
    }

    /// A person presses or lets go of a button.
    pub fn person_button(&self, button: Button, press: Press) {
        self.0.tell(true, What::Button(button, press));
        let mut world = self.0.world();
        world.hold(Held::Button(button), press == Press::Down);
        match press {
            Press::Down => world.press(button),
            Press::Up => world.release(button),
        }
    }

    /// A person clicks somewhere.
    pub fn person_clicks(&self, at: Point) {
        self.person_points(at);
        // Two of these are two clicks and no double click.
        self.0.world().clicks = None;
        self.person_button(Button::Left, Press::Down);
        self.person_button(Button::Left, Press::Up);
    }

    /// A person turns the wheel where the pointer is.
    pub fn person_turns(&self, across: i32, down: i32) {
        self.0.tell(true, What::Wheel { across, down });
        self.0.world().wheel(across, down);
    }

    /// A person presses or lets go of a key.
    pub fn person_key(&self, key: Key, press: Press) {
        let shortcut = self.0.world().held.iter().any(|held| {
            let Held::Key(Key::Named(key)) = held else { return false };
            key.is_modifier() && !matches!(key, NamedKey::Shift | NamedKey::ShiftRight)
        });
        let (by_itself, text) = match key {
            Key::Char(c) => (Key::Char(c.to_lowercase().next().unwrap_or(c)), Some(c)),
            Key::Named(NamedKey::Space) => (key, Some(' ')),
            Key::Named(_) => (key, None),
        };
        let stroke = Keystroke { key: Some(by_itself), text: text.filter(|_| !shortcut) };
        self.0.tell(true, What::Key(stroke, press));
        let mut world = self.0.world();
        world.hold(Held::Key(key), press == Press::Down);
        if press == Press::Down {
            world.key_down(key);
        }
    }

    /// A person types.
    pub fn person_types(&self, text: &str) {
        for c in text.chars() {
            let key = match c {
                '\n' => Key::Named(NamedKey::Enter),
                '\t' => Key::Named(NamedKey::Tab),
                ' ' => Key::Named(NamedKey::Space),
                c => Key::Char(c),
            };
            self.person_key(key, Press::Down);
            self.person_key(key, Press::Up);
        }
    }

    /// The display goes away under everybody who listens.
    pub fn lose_person(&self) {
        for listener in std::mem::take(&mut *self.0.listeners()).iter().filter_map(Weak::upgrade) {
            let lost = Error::backend("The input devices of the fake desktop are gone.");
            listener.lock().unwrap_or_else(PoisonError::into_inner)(Err(lost));
        }
    }
}
