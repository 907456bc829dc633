//! Pointer and keyboard: the capability, and [`Hands`], the only way to it.

use crate::call::Call;
use crate::error::{Code, Error, Result};
use crate::geometry::Point;
use crate::key::{Key, Modifier, NamedKey};
use crate::lane::ClientId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A button of the pointer.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Button {
    /// The main button.
    #[default]
    Left,
    /// The wheel button.
    Middle,
    /// The button of context menus.
    Right,
    /// The side button that goes back.
    Back,
    /// The side button that goes forward.
    Forward,
}

/// Down or up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// Pressed.
    Down,
    /// Let go.
    Up,
}

/// Something that can be held down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// A button of the pointer.
    Button(Button),
    /// A key.
    Key(Key),
}

/// What the pointer and the keyboard are like right now, whoever did it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputState {
    /// Where the pointer is.
    pub position: Point,
    /// Buttons that are down.
    pub buttons: Vec<Button>,
    /// Modifier keys that are down, left and right ones told apart as far as the system does.
    pub modifiers: Vec<NamedKey>,
}

/// Makes input. Implemented by a backend, called by [`Hands`] only.
///
/// Every method acts at once and does not wait for the application.
pub trait Input: Send + Sync {
    /// Keeps other processes on this display from making input while the guard lives, and refuses with
    /// `secure_desktop_active` when the session is locked.
    fn lock(&self, call: &Call) -> Result<Box<dyn Any + Send>>;

    /// Where the pointer is and what is held.
    fn state(&self, call: &Call) -> Result<InputState>;

    /// Puts the pointer somewhere. Where it is then: an application may confine it.
    fn move_to(&self, call: &Call, to: Point) -> Result<Point>;

    /// Presses or releases a button where the pointer is.
    fn button(&self, call: &Call, button: Button, press: Press) -> Result<()>;

    /// Presses a button and releases it at once.
    fn click(&self, call: &Call, button: Button) -> Result<()>;

    /// Turns the wheel: positive is right and down, in notches.
    fn wheel(&self, call: &Call, across: i32, down: i32) -> Result<()>;

    /// Presses or releases a key. `unknown_key` when the system has no such key.
    fn key(&self, call: &Call, key: Key, press: Press) -> Result<()>;

    /// Fails with `text_not_typeable`, naming every character that cannot be typed.
    fn check_text(&self, call: &Call, text: &str) -> Result<()>;

    /// Types text that has been checked; `delay` between keystrokes. `proceed` is asked before every few
    /// characters, with the number typed so far, and stops it by failing. Nothing stays pressed.
    fn type_text(
        &self,
        call: &Call,
        text: &str,
        delay: Duration,
        proceed: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()>;

    /// The longest time between two clicks that the system takes for a double click.
    fn double_click_time(&self, call: &Call) -> Result<Duration>;

    /// How long a button has to stay down so that the application of this process takes it for a click.
    fn press_time(&self, pid: u32) -> Duration;
}

/// The right to make input, for as long as it lives. What it pressed it lets go of when dropped: also
/// after an error, a panic or a cancellation. What the person already holds is left alone.
pub struct Hands<'d> {
    input: &'d dyn Input,
    call: &'d Call,
    holds: &'d Holds,
    clicks: &'d Clicks,
    pressed: Vec<Held>,
    before: InputState,
    /// Where the pointer was read or put last.
    place: Cell<Point>,
    press_time: Duration,
}

impl<'d> Hands<'d> {
    /// Hands over an input whose lane the caller's ticket holds. Called by `Desktop::input` alone.
    pub(crate) fn new(
        input: &'d dyn Input,
        call: &'d Call,
        holds: &'d Holds,
        clicks: &'d Clicks,
    ) -> Result<Hands<'d>> {
        let before = input.state(call)?;
        let place = Cell::new(before.position);
        Ok(Hands {
            input,
            call,
            holds,
            clicks,
            pressed: Vec::new(),
            before,
            place,
            press_time: Duration::ZERO,
        })
    }

    /// Where the pointer is now, read back.
    pub fn position(&self) -> Result<Point> {
        let place = self.input.state(self.call)?.position;
        self.place.set(place);
        Ok(place)
    }

    /// What was held before these hands touched anything.
    pub fn before(&self) -> &InputState {
        &self.before
    }

    /// Puts the pointer somewhere. Where it is then, read back: an application may confine it.
    pub fn move_to(&mut self, to: Point) -> Result<Point> {
        self.call.check("moving the pointer")?;
        self.place.set(to);
        let place = self.input.move_to(self.call, to)?;
        self.place.set(place);
        Ok(place)
    }

    /// Moves the pointer along a straight line in about `time`, in steps of about 8 ms. Where it is then, as
    /// [`Hands::move_to`] says.
    pub fn glide_to(&mut self, to: Point, time: Duration) -> Result<Point> {
        if time.is_zero() {
            return self.move_to(to);
        }
        let from = self.position()?;
        let started = Instant::now();
        loop {
            let part = started.elapsed().as_secs_f64() / time.as_secs_f64();
            if part >= 1.0 {
                return self.move_to(to);
            }
            let along = |from: i32, to: i32| {
                (f64::from(from) + (f64::from(to) - f64::from(from)) * part).round() as i32
            };
            self.move_to(Point::new(along(from.x, to.x), along(from.y, to.y)))?;
            self.call.pause(Duration::from_millis(8), "moving the pointer")?;
        }
    }

    /// Presses a button, as the beginning of something new: two clicks of two calls are not a double click.
    pub fn press(&mut self, button: Button) -> Result<()> {
        self.clicks.part(self.input, self.call, button, self.place.get())?;
        self.down(Held::Button(button))
    }

    /// Lets go of a button.
    pub fn release(&mut self, button: Button) -> Result<()> {
        self.up(Held::Button(button))
    }

    /// Says whose window the clicks are for: some applications lose the shortest ones.
    pub fn click_for(&mut self, pid: Option<u32>) {
        self.press_time = pid.map_or(Duration::ZERO, |pid| self.input.press_time(pid));
    }

    /// The next click need not be kept apart from the last one: what is clicked knows no double click.
    pub fn click_at_once(&mut self) {
        self.clicks.forget();
    }

    /// Clicks `count` times where the pointer is.
    pub fn click(&mut self, button: Button, count: u32) -> Result<()> {
        self.clicks.part(self.input, self.call, button, self.place.get())?;
        for number in 0..count {
            if 0 < number {
                // Clicks within one tick of the server's clock are no row of clicks to every toolkit.
                self.call.pause(Duration::from_millis(10), "clicking")?;
            }
            if self.press_time.is_zero() {
                self.call.check("clicking")?;
                // As in `down`: when the system fails half way, it is let go of.
                self.pressed.push(Held::Button(button));
                self.input.click(self.call, button)?;
                self.pressed.pop();
            } else {
                self.down(Held::Button(button))?;
                self.call.pause(self.press_time, "clicking")?;
                self.up(Held::Button(button))?;
            }
        }
        self.clicks.note(button, self.place.get());
        Ok(())
    }

    /// Holds modifiers until these hands are dropped or release them. Those that the person holds
    /// already stay the person's.
    pub fn hold(&mut self, modifiers: &[Modifier]) -> Result<()> {
        for modifier in modifiers {
            let key = modifier.key();
            if !self.before.modifiers.contains(&key) && !self.pressed.contains(&Held::Key(Key::Named(key))) {
                self.down(Held::Key(Key::Named(key)))?;
            }
        }
        Ok(())
    }

    /// Presses a key or a button.
    pub fn down(&mut self, held: Held) -> Result<()> {
        self.call.check("pressing")?;
        // Remembered first: when the system fails half way, letting go once too often does no harm.
        self.pressed.push(held);
        self.make(self.call, held, Press::Down)
    }

    /// Lets go of a key or a button.
    pub fn up(&mut self, held: Held) -> Result<()> {
        self.make(self.call, held, Press::Up)?;
        if let Some(place) = self.pressed.iter().rposition(|pressed| *pressed == held) {
            self.pressed.remove(place);
        }
        Ok(())
    }

    /// Presses and releases a key.
    pub fn tap(&mut self, key: Key) -> Result<()> {
        self.down(Held::Key(key))?;
        self.up(Held::Key(key))
    }

    /// Turns the wheel: positive is right and down, in notches.
    pub fn wheel(&mut self, across: i32, down: i32) -> Result<()> {
        self.call.check("scrolling")?;
        self.input.wheel(self.call, across, down)
    }

    /// Types text, after checking all of it. See [`Input::type_text`].
    pub fn type_text(
        &mut self,
        text: &str,
        delay: Duration,
        proceed: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        self.input.check_text(self.call, text)?;
        self.input.type_text(self.call, text, delay, proceed)
    }

    /// Presses something and leaves it with the client. Called by `Desktop::hand_over` alone.
    pub(crate) fn hand_over(&mut self, client: ClientId, held: Held, limit: Duration) -> Result<()> {
        self.down(held)?;
        self.pressed.retain(|pressed| *pressed != held);
        self.holds.add(client, held, limit);
        Ok(())
    }

    /// Lets go of what was handed over to a client. `false` when nothing of the kind was held.
    pub fn take_back(&mut self, held: Held) -> Result<bool> {
        let was = self.holds.remove(held);
        if was {
            self.make(self.call, held, Press::Up)?;
        }
        Ok(was)
    }

    fn make(&self, call: &Call, held: Held, press: Press) -> Result<()> {
        match held {
            Held::Button(button) => self.input.button(call, button, press),
            Held::Key(key) => self.input.key(call, key, press),
        }
    }
}

impl Drop for Hands<'_> {
    fn drop(&mut self) {
        let grace = self.call.grace();
        while let Some(held) = self.pressed.pop() {
            // Nothing is left to tell it to: the next start lets go of what even this could not.
            let _ = self.make(&grace, held, Press::Up);
        }
    }
}

/// The last click, which must not become the half of a double click that nobody asked for.
#[derive(Default)]
pub(crate) struct Clicks(Mutex<Option<(Button, Point, Instant)>>);

impl Clicks {
    /// Waits until a press here begins a new click: only after one of the same button at about this place.
    fn part(&self, input: &dyn Input, call: &Call, button: Button, place: Point) -> Result<()> {
        let last = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        let Some((_, last, time)) = last.filter(|(last, ..)| *last == button) else { return Ok(()) };
        if SAME_PLACE < (place.x - last.x).abs().max((place.y - last.y).abs()) {
            return Ok(());
        }
        let left = (input.double_click_time(call)? + MARGIN).saturating_sub(time.elapsed());
        if left.is_zero() { Ok(()) } else { call.pause(left, "keeping two clicks apart") }
    }

    fn forget(&self) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
    }

    fn note(&self, button: Button, place: Point) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) =
            Some((button, place, Instant::now()));
    }
}

/// Events get their times from the system, a little after or before ours.
const MARGIN: Duration = Duration::from_millis(30);

/// Toolkits take clicks for one double click up to 4 or 5 pixels apart.
const SAME_PLACE: i32 = 8;

/// What clients hold across calls.
#[derive(Default)]
pub struct Holds(Mutex<Vec<Hold>>);

struct Hold {
    client: ClientId,
    held: Held,
    until: Instant,
}

impl Holds {
    /// What a client holds, in the order of pressing.
    pub fn of(&self, client: ClientId) -> Vec<Held> {
        self.locked().iter().filter(|hold| hold.client == client).map(|hold| hold.held).collect()
    }

    /// Everything that clients hold.
    pub fn all(&self) -> Vec<Held> {
        self.locked().iter().map(|hold| hold.held).collect()
    }

    /// What has to be let go of by `now`.
    pub fn ended(&self, now: Instant) -> Vec<Held> {
        self.locked().iter().filter(|hold| hold.until <= now).map(|hold| hold.held).collect()
    }

    fn add(&self, client: ClientId, held: Held, limit: Duration) {
        let mut holds = self.locked();
        holds.retain(|hold| hold.held != held);
        holds.push(Hold { client, held, until: Instant::now() + limit });
    }

    fn remove(&self, held: Held) -> bool {
        let mut holds = self.locked();
        let before = holds.len();
        holds.retain(|hold| hold.held != held);
        holds.len() < before
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Hold>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The stand-in where there is no way to make input.
pub struct NoInput(pub crate::desktop::Missing);

impl Input for NoInput {
    /// Without a display there is nobody to take turns with: what needs none can still be changed.
    fn lock(&self, _: &Call) -> Result<Box<dyn Any + Send>> {
        Ok(Box::new(()))
    }
    fn state(&self, _: &Call) -> Result<InputState> {
        Err(self.0.error())
    }
    fn move_to(&self, _: &Call, _: Point) -> Result<Point> {
        Err(self.0.error())
    }
    fn button(&self, _: &Call, _: Button, _: Press) -> Result<()> {
        Err(self.0.error())
    }
    fn click(&self, _: &Call, _: Button) -> Result<()> {
        Err(self.0.error())
    }
    fn wheel(&self, _: &Call, _: i32, _: i32) -> Result<()> {
        Err(self.0.error())
    }
    fn key(&self, _: &Call, _: Key, _: Press) -> Result<()> {
        Err(self.0.error())
    }
    fn check_text(&self, _: &Call, _: &str) -> Result<()> {
        Err(self.0.error())
    }
    fn type_text(
        &self,
        _: &Call,
        _: &str,
        _: Duration,
        _: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        Err(self.0.error())
    }
    fn double_click_time(&self, _: &Call) -> Result<Duration> {
        Err(self.0.error())
    }
    fn press_time(&self, _: u32) -> Duration {
        Duration::ZERO
    }
}

/// Names every character that cannot be typed, for the one message that all backends give.
pub fn not_typeable(characters: &[char]) -> Error {
    Error::new(
        Code::TextNotTypeable,
        format!("The text holds {} character(s) that cannot be typed; nothing was typed.", characters.len()),
    )
    .found(characters.iter().map(|c| format!("{:?} (U+{:04X})", c, u32::from(*c))))
    .remedy("Leave them out, or put the text on the clipboard and paste it.")
}
