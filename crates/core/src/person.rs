//! What happens at the input devices, and whether a person did it.
//!
//! One stream serves everybody who has to tell the person's hands from Deskhand's own: a recording, which
//! turns them into steps, and whoever makes way for the person or stops at a chord of theirs. It tells what
//! happened and deliberately not what it means: no element, no window, no gesture.

use crate::call::Call;
use crate::desktop::Missing;
use crate::error::Result;
use crate::geometry::Point;
use crate::input::{Button, Press};
use crate::key::{Key, Modifier};
use std::any::Any;
use std::time::{Duration, Instant};

/// One thing that was done with an input device.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    /// When it was heard of, within a millisecond or so.
    pub time: Instant,
    /// A device did it that a person has in hand, and no program: what is made through the test devices of
    /// the display (Deskhand's own input, too) did not come from a person.
    pub from_person: bool,
    /// What was done.
    pub what: What,
    /// Where the pointer was just after it.
    pub at: Point,
    /// The modifiers that were in effect just before it, whichever keys they come from. Those that choose a
    /// character (AltGr) or a lock are not among them.
    pub modifiers: Vec<Modifier>,
}

/// What was done with a device.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The pointer moved. Several moves that were not yet told of are told as one.
    Moved,
    /// A button went down or up.
    Button(Button, Press),
    /// The wheel was turned: positive is right and down, in notches.
    Wheel {
        /// Notches to the right.
        across: i32,
        /// Notches down.
        down: i32,
    },
    /// A key went down or up. The repeats of a key that stays down are not told.
    Key(Keystroke, Press),
    /// A finger came down on a touchscreen, or was lifted.
    Touch(Press),
}

/// A key as the layout in effect has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keystroke {
    /// The key by itself, as a combination names it: `s` also where Shift makes it `S`. Absent for keys
    /// without a name, dead keys say.
    pub key: Option<Key>,
    /// The character that it types with what is held. Absent for keys that type none and in shortcuts.
    pub text: Option<char>,
}

/// A device that is listened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// What it calls itself.
    pub name: String,
    /// Whether a person has it in hand.
    pub from_person: bool,
}

/// Is told of each act, in their order, on a thread of the provider's: it must not block. After an error
/// nothing more comes: the connection was lost, and who still wants to know has to ask again.
pub type Each = Box<dyn FnMut(Result<Act>) + Send>;

/// Listens to the input devices of the display. Takes nothing away from anybody: every act reaches the
/// applications as ever.
pub trait Person: Send + Sync {
    /// The devices that are listened to, as they are now.
    fn devices(&self, call: &Call) -> Result<Vec<Device>>;

    /// Tells `each` of every act from now on, until what this gives is dropped. Nothing is told after that.
    fn watch(&self, call: &Call, each: Each) -> Result<Box<dyn Any + Send + Sync>>;

    /// The same of keys alone: costs nothing while only the pointer moves.
    fn keys(&self, call: &Call, each: Each) -> Result<Box<dyn Any + Send + Sync>>;

    /// How long ago a person last did something with a device; nothing where none has been used, or there is
    /// none. `unsupported` where it cannot be known.
    fn quiet_for(&self, call: &Call) -> Result<Option<Duration>>;

    /// Whether the person has stopped every Deskhand on this display, and how. Asks no display.
    fn halted(&self) -> Result<Option<String>>;

    /// Stops every Deskhand on this display until [`Person::resume`].
    fn halt(&self, how: &str) -> Result<()>;

    /// Lets them go on. Whether they were stopped.
    fn resume(&self) -> Result<bool>;
}

/// The stand-in where nobody can listen.
pub struct NoPerson(pub Missing);

impl Person for NoPerson {
    fn devices(&self, _: &Call) -> Result<Vec<Device>> {
        Err(self.0.error())
    }
    fn watch(&self, _: &Call, _: Each) -> Result<Box<dyn Any + Send + Sync>> {
        Err(self.0.error())
    }
    fn keys(&self, _: &Call, _: Each) -> Result<Box<dyn Any + Send + Sync>> {
        Err(self.0.error())
    }
    fn quiet_for(&self, _: &Call) -> Result<Option<Duration>> {
        Err(self.0.error())
    }
    fn halted(&self) -> Result<Option<String>> {
        // Nobody is there who could have stopped anything.
        Ok(None)
    }
    fn halt(&self, _: &str) -> Result<()> {
        Err(self.0.error())
    }
    fn resume(&self) -> Result<bool> {
        Ok(false)
    }
}
