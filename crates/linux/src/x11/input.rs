//! Pointer and keyboard through the XTEST extension.
//!
//! Every method returns when the server has acted, not before: another connection, asked right after,
//! sees the result. What is held is written to the display's journal before it is pressed.

use super::keyboard::{self, CORE, Change, Keymap, LOCK, Spares, State, Stroke};
use super::link::{Link, X, failed, is_untrusted, untrusted};
use super::lock::{DisplayLock, Locks, Record};
use super::locker::{self, Topmost};
use crate::app::process;
use crate::session::Session;
use deskhand_core::input::{Button, Input, InputState, Press, not_typeable};
use deskhand_core::key::{Key, NamedKey};
use deskhand_core::{Call, Code, Error, Point, Result};
use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::{Duration, Instant};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::protocol::Event;
use x11rb::protocol::xkb::{ConnectionExt as _, EventType, Group, MapPart, SelectEventsAux};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask, KeyButMask,
    ModMask, QueryPointerReply, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;

/// Pointer and keyboard of an X display.
pub struct XInput {
    shared: Arc<Shared>,
    /// How long processes want a button held, by their numbers and when they started.
    presses: Mutex<VecDeque<(u32, Option<u64>, Duration)>>,
}

struct Shared {
    link: Link<Device>,
    lock: Arc<DisplayLock>,
    session: Arc<Session>,
    /// Wakes the thread that gives spare keycodes back.
    idle: (Mutex<Idle>, Condvar),
}

#[derive(Default)]
struct Idle {
    last_used: Option<Instant>,
    watched: bool,
    ended: bool,
}

/// After how long without use the spare keycodes are given back.
const IDLE: Duration = Duration::from_secs(5);

/// How many characters are typed between two looks at whether to go on.
const BATCH: usize = 32;

/// How long the pointer may take to be where it was sent.
const SETTLE: Duration = Duration::from_millis(100);

/// How long a window manager may hold a button's event back.
const HELD_BACK: Duration = Duration::from_secs(1);

/// How long LibreOffice Writer may gather characters before it inserts them.
const GATHERING: Duration = Duration::from_millis(300);

/// How long an application without `_NET_WM_PING` gets to take what was typed.
const PATIENCE: Duration = Duration::from_millis(150);

impl XInput {
    /// The input of `display` (the value of DISPLAY), not connected yet. `session` says when it is locked.
    pub fn new(display: &str, session: Arc<Session>) -> XInput {
        XInput {
            shared: Arc::new(Shared {
                link: Link::new(display, Device::open),
                lock: DisplayLock::new(display),
                session,
                idle: Default::default(),
            }),
            presses: Mutex::default(),
        }
    }
}

impl Drop for XInput {
    fn drop(&mut self) {
        let was_used = {
            let mut idle = self.shared.idle();
            idle.ended = true;
            idle.last_used.take().is_some()
        };
        self.shared.idle.1.notify_all();
        if was_used {
            let call = Call::with_timeout(Duration::from_millis(1500));
            // What this cannot do is in the journal, for the next start.
            let _ = self.shared.lock.take(&call).and_then(|_locked| self.shared.give_back(&call));
        }
    }
}

impl Input for XInput {
    fn lock(&self, call: &Call) -> Result<Box<dyn Any + Send>> {
        let locked = self.shared.lock.take(call)?;
        self.shared.session.check(call, self.shared.link.display())?;
        self.shared.with(call, |x, device| {
            if locked.others_were_here {
                device.let_go_for_the_dead(x, &self.shared.lock)?;
            }
            locker::check(x, device.root, &mut device.topmost)
        })?;
        Ok(Box::new(locked))
    }

    fn state(&self, call: &Call) -> Result<InputState> {
        self.shared.with(call, |x, device| device.state(x, &self.shared.lock))
    }

    fn move_to(&self, call: &Call, to: Point) -> Result<Point> {
        self.shared.with(call, |x, device| device.move_to(x, call, to))
    }

    fn button(&self, call: &Call, button: Button, press: Press) -> Result<()> {
        self.shared.with(call, |x, device| device.button(x, &self.shared.lock, call, button, press))
    }

    fn click(&self, call: &Call, button: Button) -> Result<()> {
        self.shared.with(call, |x, device| device.click(x, &self.shared.lock, call, button))
    }

    fn wheel(&self, call: &Call, across: i32, down: i32) -> Result<()> {
        self.shared.with(call, |x, device| device.wheel(x, call, across, down))
    }

    fn key(&self, call: &Call, key: Key, press: Press) -> Result<()> {
        self.shared.with(call, |x, device| match press {
            Press::Down => device.key_down(x, &self.shared, call, key),
            Press::Up => device.key_up(x, &self.shared, call, key),
        })
    }

    fn check_text(&self, call: &Call, text: &str) -> Result<()> {
        let mut refused: Vec<char> = Vec::new();
        let mut refuse = |c: char| {
            if !refused.contains(&c) {
                refused.push(c);
            }
        };
        text.chars().filter(|c| !keyboard::is_typeable(*c)).for_each(&mut refuse);
        if !text.is_ascii() {
            self.shared.with(call, |x, device| {
                let state = device.look(x, &self.shared.lock)?;
                if device.spares.room() == 0 {
                    let map = device.keymap()?;
                    let lacking = keys_of(text).filter_map(|wanted| match wanted {
                        Wanted::Char(c) if map.char(c, state).is_none() => Some(c),
                        Wanted::Char(_) | Wanted::Named(_) => None,
                    });
                    lacking.for_each(&mut refuse);
                }
                Ok(())
            })?;
        }
        if refused.is_empty() { Ok(()) } else { Err(not_typeable(&refused)) }
    }

    fn type_text(
        &self,
        call: &Call,
        text: &str,
        delay: Duration,
        proceed: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let wanted: Vec<Wanted> = keys_of(text).collect();
        let lengths = typed_after(text);
        let mut typing = Typing::begin(&self.shared, call)?;
        typing.overtakes = wanted.iter().any(|wanted| wanted.is_astral()) && typing.is_office()?;
        let batch = if delay.is_zero() { BATCH } else { 1 };
        let (mut at, mut ready, mut asked) = (0, 0, None);
        while at < wanted.len() {
            call.check("typing")?;
            if asked.is_none_or(|(place, time): (usize, Instant)| {
                at - place >= BATCH || time.elapsed() >= Duration::from_millis(10)
            }) || delay.is_zero()
            {
                proceed(lengths[at])?;
                asked = Some((at, Instant::now()));
            }
            if at >= ready {
                ready = typing.prepare(&wanted, at)?;
            }
            let mut end = ready.min(at + batch);
            if typing.overtakes {
                let overtaking =
                    |at: usize| wanted[at].is_astral() && (at == 0 || !wanted[at - 1].is_astral());
                if overtaking(at) {
                    typing.settle()?;
                }
                end = (at + 1..end).find(|next| overtaking(*next)).unwrap_or(end);
            }
            let done = typing.send(&wanted[at..end])?;
            at += done;
            if at < end {
                // The map changed under our hands: look again at what the rest needs.
                ready = at;
            }
            if !delay.is_zero() && at < wanted.len() {
                call.pause(delay, "typing")?;
            }
        }
        typing.end()
    }

    fn double_click_time(&self, call: &Call) -> Result<Duration> {
        let set = self.shared.with(call, |x, device| double_click_setting(x, device.screen))?;
        // 400 is what GTK and Qt take without a settings daemon; Chromium takes 500 whatever is set.
        Ok(Duration::from_millis(set.map_or(400, u64::from).max(500)))
    }

    /// GTK 4 makes up a motion with each new frame from where the pointer is and what is down by then. When
    /// that says that the button is up before the release was read, the click is given up (seen in every
    /// second run with 4.8): the button stays down for longer than a frame.
    fn press_time(&self, pid: u32) -> Duration {
        let started = process::started(pid);
        let mut known = self.presses.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, _, time)) = known.iter().find(|(of, since, _)| (*of, *since) == (pid, started)) {
            return *time;
        }
        // The kernel needs a millisecond to write this down.
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        let gtk4 = maps.windows(9).any(|name| name == b"libgtk-4.");
        let time = Duration::from_millis(if gtk4 { 30 } else { 0 });
        known.push_front((pid, started, time));
        known.truncate(16);
        time
    }
}

impl Shared {
    fn with<T>(&self, call: &Call, body: impl FnOnce(&X, &mut Device) -> Result<T>) -> Result<T> {
        self.link.with(call, |x, _, device| {
            if std::mem::take(&mut device.fresh) {
                // The connection before this one was lost; what was held through it still is.
                device.let_go(x, &self.lock, &self.lock.last())?;
                device.write_journal(&self.lock)?;
            }
            body(x, device)
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Notes that spare keycodes are in use, and has them given back once they no longer are.
    fn spares_used(self: &Arc<Shared>) {
        let mut idle = self.idle();
        idle.last_used = Some(Instant::now());
        if idle.watched || idle.ended {
            return;
        }
        let weak = Arc::downgrade(self);
        let thread = std::thread::Builder::new().name("spare keys".into()).spawn(move || watch_idle(&weak));
        // Without the thread they are given back at the end, or by the next start.
        idle.watched = thread.is_ok();
    }

    /// Takes the symbols from the spare keycodes again, once the applications have taken what was typed.
    fn give_back(&self, call: &Call) -> Result<()> {
        self.with(call, |x, device| {
            device.await_consumption(x, call)?;
            device.give_back(x, &self.lock)
        })
    }
}

/// Waits until spare keycodes have been idle, and gives them back.
fn watch_idle(weak: &Weak<Shared>) {
    while let Some(shared) = weak.upgrade() {
        let idle = shared.idle();
        let Some(last_used) = idle.last_used.filter(|_| !idle.ended) else {
            return;
        };
        let left = (last_used + IDLE).saturating_duration_since(Instant::now());
        if !left.is_zero() {
            // The provider's own end wakes this; while it waits it keeps the provider's parts alive.
            drop(shared.idle.1.wait_timeout(idle, left));
            continue;
        }
        drop(idle);
        let call = Call::with_timeout(Duration::from_secs(1));
        let done = match shared.lock.try_take() {
            Ok(Some(_locked)) => shared.give_back(&call).is_ok(),
            Ok(None) | Err(_) => false,
        };
        let mut idle = shared.idle();
        if done && idle.last_used == Some(last_used) {
            idle.last_used = None;
            idle.watched = false;
            return;
        }
        // Somebody is typing, or an application hangs: later.
        if !done {
            idle.last_used = Some(Instant::now());
        }
    }
}

/// What is known of the display's input devices for as long as a connection lasts.
struct Device {
    /// Nothing was done with this connection yet.
    fresh: bool,
    root: Window,
    screen: usize,
    atoms: Atoms,
    /// `None` until it is read, and again when the server says that it has changed.
    keymap: Option<Keymap>,
    pointer_map: Option<Vec<u8>>,
    spares: Spares,
    held: Vec<HeldKey>,
    buttons: Vec<u8>,
    /// Locked modifiers and group as they were before they were changed for a while.
    borrowed: Option<Locks>,
    /// Windows that were typed into by spare keycodes and have not confirmed it.
    typed_into: Vec<Option<Window>>,
    /// What the last look for a screen locker saw.
    topmost: Topmost,
}

struct Atoms {
    protocols: u32,
    ping: u32,
}

struct HeldKey {
    key: Key,
    keycode: u8,
    /// Level keys that were pressed with it.
    with: Vec<u8>,
    /// It needs the group or the locks that were borrowed.
    borrows: bool,
}

const KEY_PRESS: u8 = 2;
const KEY_RELEASE: u8 = 3;
const BUTTON_PRESS: u8 = 4;
const BUTTON_RELEASE: u8 = 5;
const MOTION: u8 = 6;

impl Device {
    fn open(_: &Call, x: &X, screen: usize) -> Result<Device> {
        let opening = "opening the input devices";
        for name in ["XTEST", "XKEYBOARD"] {
            if x.extension_information(name).map_err(failed(opening))?.is_none() {
                if is_untrusted(x)? {
                    return Err(untrusted());
                }
                return Err(Error::unsupported(format!("The X server lacks its {name} extension."))
                    .remedy("Use a server that has it: Xorg, Xvfb, Xephyr and Xvnc do."));
            }
        }
        let root = x.setup().roots.get(screen).map(|screen| screen.root).ok_or_else(|| {
            Error::argument(format!("The X server has no screen {screen}."))
                .remedy("Leave the screen out of the display's name.")
        })?;
        let xkb = x.xkb_use_extension(1, 0).map_err(failed(opening))?;
        let protocols = x.intern_atom(false, b"WM_PROTOCOLS").map_err(failed(opening))?;
        let ping = x.intern_atom(false, b"_NET_WM_PING").map_err(failed(opening))?;
        xkb.reply().map_err(failed(opening))?;
        let events = EventType::NEW_KEYBOARD_NOTIFY | EventType::MAP_NOTIFY;
        let parts = MapPart::KEY_TYPES | MapPart::KEY_SYMS | MapPart::MODIFIER_MAP;
        x.xkb_select_events(CORE, EventType::default(), events, parts, parts, &SelectEventsAux::new())
            .map_err(failed(opening))?;
        Ok(Device {
            fresh: true,
            root,
            screen,
            atoms: Atoms {
                protocols: protocols.reply().map_err(failed(opening))?.atom,
                ping: ping.reply().map_err(failed(opening))?.atom,
            },
            keymap: None,
            pointer_map: None,
            spares: Spares::default(),
            held: Vec::new(),
            buttons: Vec::new(),
            borrowed: None,
            typed_into: Vec::new(),
            topmost: Topmost::default(),
        })
    }

    fn state(&mut self, x: &X, lock: &DisplayLock) -> Result<InputState> {
        let asking = "asking what is held";
        self.drain(x)?;
        let pointer = x.query_pointer(self.root).map_err(failed(asking))?;
        let keys = x.query_keymap().map_err(failed(asking))?;
        if self.keymap.is_none() {
            self.read_keymap(x, lock)?;
        }
        let pointer = pointer.reply().map_err(failed(asking))?;
        let keys = keys.reply().map_err(failed(asking))?.keys;
        let map = self.keymap()?;
        let mut modifiers: Vec<NamedKey> = Vec::new();
        let mut add = |key: NamedKey| {
            if !modifiers.contains(&key) {
                modifiers.push(key);
            }
        };
        let mut explained = 0;
        for keycode in map.keycodes().filter(|code| keys[usize::from(code / 8)] & (1 << (code % 8)) != 0) {
            if let Some(key) = map.modifier_key(keycode) {
                explained |= map.sets(keycode);
                add(key);
            }
        }
        // A modifier without a key that is down is latched or locked: it is in effect all the same.
        let mask = u16::from(pointer.mask) & !u16::from(explained);
        for (bit, key) in [
            (KeyButMask::SHIFT, NamedKey::Shift),
            (KeyButMask::CONTROL, NamedKey::Ctrl),
            (KeyButMask::MOD1, NamedKey::Alt),
            (KeyButMask::MOD4, NamedKey::Meta),
        ] {
            if mask & u16::from(bit) != 0 {
                add(key);
            }
        }
        let mut buttons = Vec::new();
        for (bit, button) in [
            (KeyButMask::BUTTON1, Button::Left),
            (KeyButMask::BUTTON2, Button::Middle),
            (KeyButMask::BUTTON3, Button::Right),
        ] {
            if u16::from(pointer.mask) & u16::from(bit) != 0 {
                buttons.push(button);
            }
        }
        // The server reports no state of the side buttons; what we hold ourselves we know.
        for button in [Button::Back, Button::Forward] {
            if self.buttons.contains(&number(button)) {
                buttons.push(button);
            }
        }
        Ok(InputState {
            position: Point::new(pointer.root_x.into(), pointer.root_y.into()),
            buttons,
            modifiers,
        })
    }

    fn move_to(&mut self, x: &X, call: &Call, to: Point) -> Result<Point> {
        let moving = "moving the pointer";
        let (Ok(left), Ok(top)) = (i16::try_from(to.x), i16::try_from(to.y)) else {
            return Err(self.off_screen(x, to)?.unwrap_or_else(|| out_of_bounds(to, "32767x32767")));
        };
        self.fake_motion(x, left, top)?;
        // The answer costs what a bare wait for the server would, and shows where the pointer went. While
        // a window manager holds events back to look at a click it shows the old place, and what comes in
        // the meantime is moved to the new one: a click would be torn apart.
        let seen = Cell::new(to);
        let there = self.pointer_until(x, call, SETTLE, moving, |pointer| {
            seen.set(Point::new(pointer.root_x.into(), pointer.root_y.into()));
            seen.get() == to
        })?;
        if there {
            return Ok(to);
        }
        // Inside the screen somebody else moved it, or a grab confines it.
        self.off_screen(x, to)?.map_or(Ok(seen.get()), Err)
    }

    fn off_screen(&self, x: &X, point: Point) -> Result<Option<Error>> {
        let asking = "asking for the size of the screen";
        let screen = x.get_geometry(self.root).map_err(failed(asking))?.reply().map_err(failed(asking))?;
        let inside = (0..i32::from(screen.width)).contains(&point.x)
            && (0..i32::from(screen.height)).contains(&point.y);
        let size = format!("{}x{}", screen.width, screen.height);
        Ok((!inside).then(|| out_of_bounds(point, &size)))
    }

    fn fake_motion(&self, x: &X, left: i16, top: i16) -> Result<()> {
        x.xtest_fake_input(MOTION, 0, x11rb::CURRENT_TIME, self.root, left, top, 0)
            .map_err(failed("moving the pointer"))?;
        Ok(())
    }

    fn button(&mut self, x: &X, lock: &DisplayLock, call: &Call, button: Button, press: Press) -> Result<()> {
        let physical = self.physical_button(x, number(button))?;
        match press {
            Press::Down => {
                self.note_down(lock, button)?;
                fake(x, BUTTON_PRESS, physical)?;
                self.await_button(x, call, button, press)
            }
            Press::Up => {
                fake(x, BUTTON_RELEASE, physical)?;
                self.await_button(x, call, button, press)?;
                self.note_up(lock, button)
            }
        }
    }

    /// Both in one go: a window manager that looks at the press is waited for once.
    fn click(&mut self, x: &X, lock: &DisplayLock, call: &Call, button: Button) -> Result<()> {
        let physical = self.physical_button(x, number(button))?;
        self.note_down(lock, button)?;
        fake(x, BUTTON_PRESS, physical)?;
        fake(x, BUTTON_RELEASE, physical)?;
        self.await_button(x, call, button, Press::Up)?;
        self.note_up(lock, button)
    }

    fn note_down(&mut self, lock: &DisplayLock, button: Button) -> Result<()> {
        self.buttons.push(number(button));
        self.write_journal(lock)
    }

    fn note_up(&mut self, lock: &DisplayLock, button: Button) -> Result<()> {
        if let Some(place) = self.buttons.iter().rposition(|held| *held == number(button)) {
            self.buttons.remove(place);
        }
        self.write_journal(lock)
    }

    /// Asks for the pointer until it is as wanted: at once as a rule, within a few round trips when a
    /// window manager looks at a click first. `false` when `patience` is over.
    fn pointer_until(
        &self,
        x: &X,
        call: &Call,
        patience: Duration,
        doing: &str,
        wanted: impl Fn(&QueryPointerReply) -> bool,
    ) -> Result<bool> {
        let look = || {
            let seen = x.query_pointer(self.root).map_err(failed(doing))?.reply().map_err(failed(doing))?;
            Ok(wanted(&seen).then_some(()))
        };
        for _ in 0..8 {
            if look()?.is_some() {
                return Ok(true);
            }
        }
        Ok(call.until_within(patience, doing, look)?.is_some())
    }

    /// Waits until the button's state has changed: a window manager may hold events back for a moment.
    fn await_button(&self, x: &X, call: &Call, button: Button, press: Press) -> Result<()> {
        let doing = "pressing a button";
        let bit = match button {
            Button::Left => KeyButMask::BUTTON1,
            Button::Middle => KeyButMask::BUTTON2,
            Button::Right => KeyButMask::BUTTON3,
            // The server shows no state of these.
            Button::Back | Button::Forward => return reached(x, doing),
        };
        let done = self.pointer_until(x, call, HELD_BACK, doing, |pointer| {
            pointer.mask.contains(bit) == (press == Press::Down)
        })?;
        if done {
            return Ok(());
        }
        let (wanted, is) = match press {
            Press::Down => ("down", "up"),
            Press::Up => ("up", "down"),
        };
        Err(Error::new(Code::Busy, format!("The {button:?} button was sent {wanted}, but is still {is}."))
            .remedy(
                "The person holds it, or a program holds back the pointer's events: look, and try again.",
            ))
    }

    /// Buttons may be swapped, for the left hand say: the one that has to be pressed for `number`.
    fn physical_button(&mut self, x: &X, number: u8) -> Result<u8> {
        self.drain(x)?;
        if self.pointer_map.is_none() {
            let asking = "asking how the buttons are mapped";
            self.pointer_map =
                Some(x.get_pointer_mapping().map_err(failed(asking))?.reply().map_err(failed(asking))?.map);
        }
        let map = self.pointer_map.as_deref().unwrap_or_default();
        let physical = map.iter().position(|logical| *logical == number).map(|index| index as u8 + 1);
        physical.ok_or_else(|| {
            Error::unsupported(format!("No button of this display's pointer stands for button {number}."))
                .expected(format!("button {number} in the pointer's button map"))
                .found([format!("{map:?}")])
                .remedy("Look at `xmodmap -pp`: a button may have been switched off there.")
        })
    }

    fn wheel(&mut self, x: &X, call: &Call, across: i32, down: i32) -> Result<()> {
        for (notches, back, on) in [(down, 4, 5), (across, 6, 7)] {
            let wheel = self.physical_button(x, if notches < 0 { back } else { on })?;
            for notch in 0..notches.unsigned_abs() {
                fake(x, BUTTON_PRESS, wheel)?;
                fake(x, BUTTON_RELEASE, wheel)?;
                if notch % 100 == 99 {
                    reached(x, "turning the wheel")?;
                    call.check("turning the wheel")?;
                }
            }
        }
        reached(x, "turning the wheel")
    }

    fn key_down(&mut self, x: &X, shared: &Arc<Shared>, call: &Call, key: Key) -> Result<()> {
        let state = self.look(x, &shared.lock)?;
        let stroke = match self.stroke(key, state)? {
            Some(stroke) => stroke,
            None => self.spare_stroke(x, shared, call, key)?,
        };
        let caps = matches!(key, Key::Char(c) if c.is_alphabetic()) && state.modifiers & LOCK != 0;
        let borrows = caps || stroke.group.is_some() || stroke.num_lock;
        let map = self.keymap()?;
        let with: Vec<u8> =
            stroke.with.into_iter().filter(|code| map.sets(*code) & state.modifiers == 0).collect();
        let num_lock = map.num_lock();
        self.held.push(HeldKey { key, keycode: stroke.keycode, with: with.clone(), borrows });
        if borrows {
            self.borrow(x)?;
        }
        self.write_journal(&shared.lock)?;
        if borrows {
            let off = if caps { LOCK } else { 0 };
            let on = if stroke.num_lock { num_lock } else { 0 };
            lock_state(x, off | on, on, stroke.group)?;
        }
        for code in with {
            fake(x, KEY_PRESS, code)?;
        }
        fake(x, KEY_PRESS, stroke.keycode)?;
        reached(x, "pressing a key")
    }

    fn key_up(&mut self, x: &X, shared: &Arc<Shared>, call: &Call, key: Key) -> Result<()> {
        let place = self.held.iter().rposition(|held| held.key == key);
        let held = match place {
            Some(place) => self.held.remove(place),
            None => {
                // Not pressed by us, or on a connection that was lost: let go of where it lies now.
                let state = self.look(x, &shared.lock)?;
                let stroke = match self.stroke(key, state)? {
                    Some(stroke) => stroke,
                    None => self.spare_stroke(x, shared, call, key)?,
                };
                HeldKey { key, keycode: stroke.keycode, with: Vec::new(), borrows: false }
            }
        };
        let still =
            |code: u8| self.held.iter().any(|other| other.keycode == code || other.with.contains(&code));
        for code in std::iter::once(held.keycode).chain(held.with.into_iter().rev()) {
            if !still(code) {
                fake(x, KEY_RELEASE, code)?;
            }
        }
        if held.borrows && !self.held.iter().any(|other| other.borrows) {
            self.return_borrowed(x)?;
        }
        reached(x, "letting go of a key")?;
        if self.spares.in_use().iter().any(|(code, _)| *code == held.keycode) {
            let target = self.target(x)?;
            self.typed_into(target);
            shared.spares_used();
        }
        self.write_journal(&shared.lock)
    }

    /// How to make a key with the layout as it is; `None` when only a spare keycode can.
    fn stroke(&mut self, key: Key, state: State) -> Result<Option<Stroke>> {
        let map = self.keymap()?;
        match key {
            Key::Char(c) => match wanted(c) {
                Wanted::Named(named) => self.stroke(Key::Named(named), state),
                Wanted::Char(c) => Ok(map.char(c, state)),
            },
            Key::Named(named) => {
                let symbols = keyboard::symbols_of(named);
                // The plain key first: a symbol may also lie on a level of another one.
                let bare = State { modifiers: state.modifiers & map.num_lock(), ..state };
                let stroke = symbols.iter().find_map(|symbol| map.symbol_stroke(*symbol, bare));
                if stroke.is_none() && named.is_modifier() {
                    return Err(no_key(key, "no key of this keyboard layout is that modifier"));
                }
                Ok(stroke)
            }
        }
    }

    /// Gives the key a spare keycode.
    fn spare_stroke(&mut self, x: &X, shared: &Arc<Shared>, call: &Call, key: Key) -> Result<Stroke> {
        let symbol = match key {
            Key::Char(c) if keyboard::is_typeable(c) => keyboard::symbol_of(c),
            Key::Char(_) => return Err(no_key(key, "it is a control character")),
            Key::Named(named) => keyboard::symbols_of(named)[0],
        };
        let plan = self.spares.plan(&[symbol], true);
        let plan = plan.ok_or_else(|| no_key(key, "the layout lacks it and no keycode is spare"))?;
        self.change_spares(x, shared, call, &plan)?;
        let (keycode, _) = self.spares.place(symbol).ok_or_else(map_gone)?;
        Ok(Stroke { keycode, with: Vec::new(), group: None, num_lock: false })
    }

    /// Changes what spare keycodes mean; where a meaning goes, the applications take what was typed first.
    fn change_spares(&mut self, x: &X, shared: &Arc<Shared>, call: &Call, change: &Change) -> Result<()> {
        shared.spares_used();
        if change.keycodes.is_empty() {
            return Ok(());
        }
        if change.replaces {
            self.await_consumption(x, call)?;
        }
        // Until it has happened either meaning may be the one that a next start finds.
        let mut record = self.record();
        record.spares.extend(change.keycodes.iter().map(|(code, _, new)| (*code, *new)));
        shared.lock.write(&record)?;
        let now: Vec<_> = change.keycodes.iter().map(|(code, _, new)| (*code, *new)).collect();
        keyboard::map_keycodes(x, &now)?;
        self.spares.changed(change);
        self.write_journal(&shared.lock)
    }

    fn give_back(&mut self, x: &X, lock: &DisplayLock) -> Result<()> {
        if self.held.iter().any(|held| self.spares.in_use().iter().any(|(code, _)| *code == held.keycode)) {
            return Err(Error::new(Code::Busy, "A key on a spare keycode is still held."));
        }
        self.unmap(x, lock, &self.spares.in_use())?;
        self.spares.forget();
        self.keymap = None;
        self.write_journal(lock)
    }

    /// Takes away the symbols that still stand on these keycodes and that no other process lives by.
    fn unmap(&self, x: &X, lock: &DisplayLock, spares: &[(u8, [u32; 2])]) -> Result<()> {
        let others = lock.others()?;
        let map = Keymap::read(x, &[])?;
        let mut bare: Vec<(u8, [u32; 2])> = Vec::new();
        for (code, symbols) in spares {
            let wanted = others.iter().any(|record| record.spares.iter().any(|(other, _)| other == code));
            if !wanted && map.still_has(*code, *symbols) {
                bare.push((*code, [0, 0]));
            }
        }
        keyboard::map_keycodes(x, &bare)
    }

    /// Lets go of what processes held that were killed.
    fn let_go_for_the_dead(&mut self, x: &X, lock: &DisplayLock) -> Result<()> {
        lock.recover(|record| self.let_go(x, lock, record))
    }

    fn let_go(&mut self, x: &X, lock: &DisplayLock, record: &Record) -> Result<()> {
        if *record == Record::default() {
            return Ok(());
        }
        for button in &record.buttons {
            let physical = self.physical_button(x, *button)?;
            fake(x, BUTTON_RELEASE, physical)?;
        }
        for key in &record.keys {
            fake(x, KEY_RELEASE, *key)?;
        }
        if let Some(locks) = record.borrowed {
            lock_state(x, 0xff, locks.modifiers, Some(locks.group))?;
        }
        self.unmap(x, lock, &record.spares)?;
        self.keymap = None;
        reached(x, "letting go of what was left held")
    }

    fn record(&self) -> Record {
        let keys = self.held.iter().flat_map(|held| held.with.iter().copied().chain([held.keycode]));
        Record {
            keys: keys.collect(),
            buttons: self.buttons.clone(),
            spares: self.spares.in_use(),
            borrowed: self.borrowed,
        }
    }

    fn write_journal(&self, lock: &DisplayLock) -> Result<()> {
        lock.write(&self.record())
    }

    fn keymap(&self) -> Result<&Keymap> {
        self.keymap.as_ref().ok_or_else(map_gone)
    }

    /// What the keyboard is like now, with the map that fits it.
    fn look(&mut self, x: &X, lock: &DisplayLock) -> Result<State> {
        let asking = "asking for the state of the keyboard";
        // XTEST's keyboard may have another map than the one that was used last: a key that is up, let go
        // of once more, makes it the current one and reaches nobody.
        let idle = x.setup().max_keycode;
        if !self.held.iter().any(|held| held.keycode == idle) {
            fake(x, KEY_RELEASE, idle)?;
        }
        let state = x.xkb_get_state(CORE).map_err(failed(asking))?.reply().map_err(failed(asking))?;
        self.drain(x)?;
        if self.keymap.is_none() {
            self.read_keymap(x, lock)?;
        }
        Ok(State::from(&state))
    }

    fn read_keymap(&mut self, x: &X, lock: &DisplayLock) -> Result<()> {
        let foreign: Vec<u8> =
            lock.others()?.iter().flat_map(|record| record.spares.iter().map(|(code, _)| *code)).collect();
        let own = self.spares.in_use().into_iter().map(|(code, _)| code);
        let apart: Vec<u8> = own.chain(foreign.iter().copied()).collect();
        let map = Keymap::read(x, &apart)?;
        self.spares.look_at(&map);
        if self.spares.room() == 0 {
            self.spares.take_over(&map, foreign.into_iter());
            // Whom the other process typed into is not known: time is what there is to give.
            self.typed_into(None);
        }
        self.keymap = Some(map);
        Ok(())
    }

    /// Looks at the events that have come: they say when a map has changed.
    fn drain(&mut self, x: &X) -> Result<()> {
        while let Some(event) = x.poll_for_event().map_err(failed("reading events"))? {
            self.note(&event);
        }
        Ok(())
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::XkbMapNotify(_) | Event::XkbNewKeyboardNotify(_) => self.keymap = None,
            Event::MappingNotify(_) => {
                self.keymap = None;
                self.pointer_map = None;
            }
            _ => {}
        }
    }

    /// Remembers the locks and the group, to be put back later.
    fn borrow(&mut self, x: &X) -> Result<()> {
        if self.borrowed.is_none() {
            let asking = "asking which locks are on";
            let state = x.xkb_get_state(CORE).map_err(failed(asking))?.reply().map_err(failed(asking))?;
            self.borrowed = Some(Locks {
                modifiers: u16::from(state.locked_mods) as u8,
                group: u8::from(state.locked_group),
            });
        }
        Ok(())
    }

    fn return_borrowed(&mut self, x: &X) -> Result<()> {
        match self.borrowed.take() {
            Some(locks) => lock_state(x, 0xff, locks.modifiers, Some(locks.group)),
            None => Ok(()),
        }
    }

    /// The toplevel window that keys go to, if it can say when it has taken them.
    fn target(&self, x: &X) -> Result<Option<Window>> {
        let asking = "asking which window has the keyboard";
        let mut window = x.get_input_focus().map_err(failed(asking))?.reply().map_err(failed(asking))?.focus;
        // None and PointerRoot are no windows.
        while window > 1 && window != self.root {
            let protocols = x
                .get_property(false, window, self.atoms.protocols, AtomEnum::ATOM, 0, 32)
                .map_err(failed(asking))?;
            let tree = x.query_tree(window).map_err(failed(asking))?;
            let (Ok(protocols), Ok(tree)) = (protocols.reply(), tree.reply()) else {
                return Ok(None);
            };
            if protocols.value32().is_some_and(|mut atoms| atoms.any(|atom| atom == self.atoms.ping)) {
                return Ok(Some(window));
            }
            window = tree.parent;
        }
        Ok(None)
    }

    fn typed_into(&mut self, target: Option<Window>) {
        if !self.typed_into.contains(&target) {
            self.typed_into.push(target);
        }
    }

    /// Waits until the windows that were typed into by spare keycodes have read all of it.
    fn await_consumption(&mut self, x: &X, call: &Call) -> Result<()> {
        let windows = std::mem::take(&mut self.typed_into);
        for (index, window) in windows.iter().enumerate() {
            let waited = match window {
                Some(window) => self.ping(x, call, *window),
                None => call.pause(PATIENCE, "giving the application time to take what was typed"),
            };
            if let Err(error) = waited {
                self.typed_into.extend(&windows[index..]);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Asks the window to answer: it does so after everything that came before.
    fn ping(&mut self, x: &X, call: &Call, window: Window) -> Result<()> {
        let pinging = "asking the application whether it has taken what was typed";
        let (root, protocols) = (self.root, self.atoms.protocols);
        let listen = |mask: EventMask| {
            x.change_window_attributes(root, &ChangeWindowAttributesAux::new().event_mask(mask))
                .map(drop)
                .map_err(failed(pinging))
        };
        // The answer goes to the root window; Qt 5 sends it to those that watch the root's own structure.
        listen(EventMask::SUBSTRUCTURE_NOTIFY | EventMask::STRUCTURE_NOTIFY)?;
        let stamp = unique();
        let data = [self.atoms.ping, stamp, window, 0, 0];
        let message = ClientMessageEvent::new(32, window, protocols, data);
        let sent =
            x.send_event(false, window, EventMask::NO_EVENT, message).map_err(failed(pinging))?.check();
        let answered = match sent {
            // The window has gone, and what was typed into it with it.
            Err(error) if super::link::is_x_error(&error) => Ok(()),
            Err(error) => Err(failed(pinging)(error)),
            Ok(()) => call.until("waiting for the application to take what was typed", || {
                let mut answered = None;
                while let Some(event) = x.poll_for_event().map_err(failed("reading events"))? {
                    let ours = matches!(&event, Event::ClientMessage(reply)
                        if reply.type_ == protocols && reply.data.as_data32()[..2] == data[..2]);
                    let gone = matches!(&event, Event::DestroyNotify(gone) if gone.window == window);
                    if ours || gone {
                        answered = Some(());
                    }
                    self.note(&event);
                }
                Ok(answered)
            }),
        };
        listen(EventMask::NO_EVENT)?;
        answered
    }
}

/// One text on its way: what was put aside for it, to be put back.
struct Typing<'a> {
    shared: &'a Arc<Shared>,
    call: &'a Call,
    /// Modifier keys that were held and that were let go of for the time of typing.
    aside: Vec<u8>,
    state: State,
    /// The application shows characters beyond U+FFFF ahead of others that it has not shown yet.
    overtakes: bool,
    ended: bool,
}

impl<'a> Typing<'a> {
    /// Puts aside what would change the text: held modifiers and locks other than Num Lock.
    fn begin(shared: &'a Arc<Shared>, call: &'a Call) -> Result<Typing<'a>> {
        let mut typing = Typing {
            shared,
            call,
            aside: Vec::new(),
            state: State { modifiers: 0, group: 0 },
            overtakes: false,
            ended: false,
        };
        shared.with(call, |x, device| {
            let asking = "asking what is held";
            let held = x.query_keymap().map_err(failed(asking))?;
            device.look(x, &shared.lock)?;
            let held = held.reply().map_err(failed(asking))?.keys;
            let map = device.keymap()?;
            let harmless = map.num_lock();
            typing.aside = map
                .keycodes()
                .filter(|code| held[usize::from(code / 8)] & (1 << (code % 8)) != 0)
                .filter(|code| map.sets(*code) & !(harmless | LOCK) != 0)
                .collect();
            for code in &typing.aside {
                fake(x, KEY_RELEASE, *code)?;
            }
            let mut state = x.xkb_get_state(CORE).map_err(failed(asking))?.reply().map_err(failed(asking))?;
            if u16::from(state.locked_mods | state.latched_mods) as u8 & !harmless != 0 {
                device.borrow(x)?;
                device.write_journal(&shared.lock)?;
                lock_state(x, !harmless, 0, None)?;
                state = x.xkb_get_state(CORE).map_err(failed(asking))?.reply().map_err(failed(asking))?;
            }
            typing.state = State::from(&state);
            if typing.state.modifiers & !harmless != 0 {
                return Err(Error::new(
                    Code::Busy,
                    "A modifier key is held on the keyboard and would change the text; nothing was typed.",
                )
                .found([format!("modifier mask {:#04x}", typing.state.modifiers)])
                .remedy("Let go of Shift, Ctrl, Alt and the like, and try again."));
            }
            Ok(())
        })?;
        Ok(typing)
    }

    /// Whether LibreOffice has the keyboard. Its Writer gathers what is typed fast and inserts it a moment
    /// later, but inserts what lies beyond U+FFFF at once: in front of what came before it.
    fn is_office(&self) -> Result<bool> {
        self.shared.with(self.call, |x, device| {
            let Some(window) = device.target(x)? else { return Ok(false) };
            let asking = "asking which application has the keyboard";
            let class = x.get_property(false, window, AtomEnum::WM_CLASS, AtomEnum::STRING, 0, 64);
            match class.map_err(failed(asking))?.reply() {
                Ok(reply) => {
                    let class = String::from_utf8_lossy(&reply.value).to_lowercase();
                    Ok(["libreoffice", "soffice"].iter().any(|name| class.contains(name)))
                }
                Err(error) if super::link::is_x_error(&error) => Ok(false),
                Err(error) => Err(failed(asking)(error)),
            }
        })
    }

    /// Gives the application the time to insert what it has gathered.
    fn settle(&self) -> Result<()> {
        self.shared.with(self.call, |x, device| match device.target(x)? {
            Some(window) => device.ping(x, self.call, window),
            None => Ok(()),
        })?;
        self.call.pause(GATHERING, "letting the application insert what was typed")
    }

    /// Gives spare keycodes the symbols that the text needs from `from` on. Returns how far they reach.
    fn prepare(&mut self, wanted: &[Wanted], from: usize) -> Result<usize> {
        let (shared, state) = (self.shared, self.state);
        shared.with(self.call, |x, device| {
            device.drain(x)?;
            if device.keymap.is_none() {
                device.read_keymap(x, &shared.lock)?;
            }
            let mut extras: Vec<u32> = Vec::new();
            let mut end = wanted.len();
            for (index, wanted) in wanted.iter().enumerate().skip(from) {
                let Some(symbol) = device.extra(*wanted, state)? else { continue };
                if extras.contains(&symbol) {
                    continue;
                }
                if extras.len() == device.spares.room() {
                    end = index;
                    break;
                }
                extras.push(symbol);
            }
            if extras.is_empty() && end == wanted.len() {
                return Ok(end);
            }
            let plan = device.spares.plan(&extras, false).filter(|_| end > from).ok_or_else(|| {
                Error::backend(
                    "The keyboard has no spare keycode left for the characters that its layout lacks.",
                )
                .remedy("Put the text on the clipboard and paste it.")
            })?;
            let changes = !plan.keycodes.is_empty();
            device.change_spares(x, shared, self.call, &plan)?;
            let target = device.target(x)?;
            if let (true, Some(window)) = (changes, target) {
                // Chromium reads the new map in a task of its own after it has seen that there is one, and
                // drops a key that comes in between. Its second answer comes after that task.
                device.ping(x, self.call, window)?;
                device.ping(x, self.call, window)?;
            }
            device.typed_into(target);
            Ok(end)
        })
    }

    /// Types these characters without a gap. Returns how many; fewer when the map has changed.
    fn send(&mut self, wanted: &[Wanted]) -> Result<usize> {
        let (shared, state) = (self.shared, self.state);
        shared.with(self.call, |x, device| {
            device.drain(x)?;
            if device.keymap.is_none() {
                device.read_keymap(x, &shared.lock)?;
            }
            let mut strokes = Vec::with_capacity(wanted.len());
            for wanted in wanted {
                match device.text_stroke(*wanted, state)? {
                    Some(stroke) => strokes.push(stroke),
                    None => break,
                }
            }
            if strokes.iter().any(|stroke| stroke.group.is_some() || stroke.num_lock) {
                device.borrow(x)?;
            }
            let result = device.send(x, &shared.lock, &strokes, state);
            let reached = reached(x, "typing");
            result.and(reached)?;
            Ok(strokes.len())
        })
    }

    fn end(mut self) -> Result<()> {
        self.ended = true;
        self.put_back(self.call)
    }

    fn put_back(&self, call: &Call) -> Result<()> {
        self.shared.with(call, |x, device| {
            device.return_borrowed(x)?;
            for code in &self.aside {
                fake(x, KEY_PRESS, *code)?;
            }
            reached(x, "putting back what was held")?;
            device.write_journal(&self.shared.lock)
        })
    }
}

impl Drop for Typing<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // The failure that led here is the one to tell.
            let _ = self.put_back(&self.call.grace());
        }
    }
}

impl Device {
    /// The symbol that a spare keycode has to have for this, if the layout lacks it.
    fn extra(&self, wanted: Wanted, state: State) -> Result<Option<u32>> {
        let map = self.keymap()?;
        Ok(match wanted {
            Wanted::Char(c) => map.char(c, state).is_none().then(|| keyboard::symbol_of(c)),
            Wanted::Named(named) => {
                let symbol = keyboard::symbols_of(named)[0];
                map.symbol_stroke(symbol, state).is_none().then_some(symbol)
            }
        })
    }

    fn text_stroke(&mut self, wanted: Wanted, state: State) -> Result<Option<Stroke>> {
        let map = self.keymap()?;
        let (own, symbol) = match wanted {
            Wanted::Char(c) => (map.char(c, state), keyboard::symbol_of(c)),
            Wanted::Named(named) => {
                let symbol = keyboard::symbols_of(named)[0];
                (map.symbol_stroke(symbol, state), symbol)
            }
        };
        if own.is_some() {
            return Ok(own);
        }
        let shift = self.level_shift();
        let placed = self.spares.place(symbol);
        Ok(placed.and_then(|(keycode, shifted)| {
            let with = if shifted { vec![shift?] } else { Vec::new() };
            Some(Stroke { keycode, with, group: None, num_lock: false })
        }))
    }

    fn level_shift(&self) -> Option<u8> {
        let map = self.keymap.as_ref()?;
        map.symbol_stroke(keyboard::symbols_of(NamedKey::Shift)[0], State { modifiers: 0, group: 0 })
            .map(|stroke| stroke.keycode)
    }

    fn send(&mut self, x: &X, lock: &DisplayLock, strokes: &[Stroke], state: State) -> Result<()> {
        let level_keys: Vec<u8> = {
            let mut all: Vec<u8> = strokes.iter().flat_map(|stroke| stroke.with.iter().copied()).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        // Killed in the middle, the level keys are what may stay down: the others are up again at once.
        if !level_keys.is_empty() || self.borrowed.is_some() {
            let mut record = self.record();
            record.keys.extend(&level_keys);
            lock.write(&record)?;
        }
        let num_lock = self.keymap()?.num_lock();
        let mut down: Vec<u8> = Vec::new();
        let (mut group, mut num) = (state.group, false);
        for stroke in strokes {
            let wanted = stroke.group.unwrap_or(state.group);
            if wanted != group {
                lock_state(x, 0, 0, Some(wanted))?;
                group = wanted;
            }
            if stroke.num_lock != num {
                lock_state(x, num_lock, if stroke.num_lock { num_lock } else { 0 }, None)?;
                num = stroke.num_lock;
            }
            for code in down.iter().filter(|code| !stroke.with.contains(code)) {
                fake(x, KEY_RELEASE, *code)?;
            }
            for code in stroke.with.iter().filter(|code| !down.contains(code)) {
                fake(x, KEY_PRESS, *code)?;
            }
            down.clone_from(&stroke.with);
            fake(x, KEY_PRESS, stroke.keycode)?;
            fake(x, KEY_RELEASE, stroke.keycode)?;
        }
        for code in down {
            fake(x, KEY_RELEASE, code)?;
        }
        if group != state.group {
            lock_state(x, 0, 0, Some(state.group))?;
        }
        if num {
            lock_state(x, num_lock, 0, None)?;
        }
        Ok(())
    }
}

/// One thing to type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Char(char),
    Named(NamedKey),
}

impl Wanted {
    fn is_astral(self) -> bool {
        matches!(self, Wanted::Char('\u{10000}'..))
    }
}

fn wanted(c: char) -> Wanted {
    match c {
        '\n' | '\r' => Wanted::Named(NamedKey::Enter),
        '\t' => Wanted::Named(NamedKey::Tab),
        other => Wanted::Char(other),
    }
}

/// The keys of a text; `\r\n` is one.
fn keys_of(text: &str) -> impl Iterator<Item = Wanted> {
    let mut before = '\0';
    text.chars().filter_map(move |c| {
        let second_half = c == '\n' && before == '\r';
        before = c;
        (!second_half).then(|| wanted(c))
    })
}

/// How many characters of the text are typed before each of its keys.
fn typed_after(text: &str) -> Vec<usize> {
    let mut before = '\0';
    let mut starts = Vec::with_capacity(text.len());
    for (index, c) in text.chars().enumerate() {
        if !(c == '\n' && before == '\r') {
            starts.push(index);
        }
        before = c;
    }
    starts
}

fn fake(x: &X, kind: u8, detail: u8) -> Result<()> {
    x.xtest_fake_input(kind, detail, x11rb::CURRENT_TIME, x11rb::NONE, 0, 0, 0)
        .map_err(failed("making input"))?;
    Ok(())
}

/// Waits until the server has done everything so far, and tells of an error that it met.
fn reached(x: &X, doing: &str) -> Result<()> {
    x.get_input_focus().map_err(failed(doing))?.reply().map_err(failed(doing))?;
    Ok(())
}

/// Locks and unlocks modifiers, ends latches, and locks a group.
fn lock_state(x: &X, affect: u8, on: u8, group: Option<u8>) -> Result<()> {
    let mask = |bits: u8| ModMask::from(u16::from(bits));
    let locked = Group::from(group.unwrap_or(0));
    x.xkb_latch_lock_state(CORE, mask(affect), mask(on), group.is_some(), locked, mask(affect), false, 0)
        .map_err(failed("switching the keyboard's locks"))?;
    Ok(())
}

fn number(button: Button) -> u8 {
    match button {
        Button::Left => 1,
        Button::Middle => 2,
        Button::Right => 3,
        Button::Back => 8,
        Button::Forward => 9,
    }
}

fn out_of_bounds(point: Point, size: &str) -> Error {
    Error::new(Code::CoordinatesOutOfBounds, format!("The point {point} is outside the screen."))
        .expected(format!("a point inside {size} at (0, 0)"))
}

fn no_key(key: Key, why: &str) -> Error {
    Error::new(Code::UnknownKey, format!("The key {key} cannot be pressed here: {why}."))
        .remedy("Use another key, or a keyboard layout that has it.")
}

fn map_gone() -> Error {
    Error::new(Code::Internal, "The keyboard map was used before it was read.")
}

/// A time stamp that no other ping of this process has, and hardly one of another's.
fn unique() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(0x9e37_79b9) | 1;
    start.wrapping_add(NEXT.fetch_add(2, Ordering::Relaxed)).max(1)
}

/// `Net/DoubleClickTime` of the settings daemon, if there is one.
fn double_click_setting(x: &X, screen: usize) -> Result<Option<u32>> {
    let asking = "asking for the double-click time";
    let selection =
        x.intern_atom(false, format!("_XSETTINGS_S{screen}").as_bytes()).map_err(failed(asking))?;
    let property = x.intern_atom(false, b"_XSETTINGS_SETTINGS").map_err(failed(asking))?;
    let selection = selection.reply().map_err(failed(asking))?.atom;
    let property = property.reply().map_err(failed(asking))?.atom;
    let owner =
        x.get_selection_owner(selection).map_err(failed(asking))?.reply().map_err(failed(asking))?.owner;
    if owner == x11rb::NONE {
        return Ok(None);
    }
    match x.get_property(false, owner, property, property, 0, 1 << 20).map_err(failed(asking))?.reply() {
        Ok(reply) => Ok(setting(&reply.value, "Net/DoubleClickTime")),
        // The daemon went while we looked.
        Err(error) if super::link::is_x_error(&error) => Ok(None),
        Err(error) => Err(failed(asking)(error)),
    }
}

/// An integer out of the XSETTINGS property: <https://specifications.freedesktop.org/xsettings-spec/>.
fn setting(bytes: &[u8], wanted: &str) -> Option<u32> {
    let big = *bytes.first()? == 1;
    let short = |at: usize| {
        let raw = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(usize::from(if big { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) }))
    };
    let long = |at: usize| {
        let raw = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
    };
    let mut at = 12;
    for _ in 0..long(8)? {
        let kind = *bytes.get(at)?;
        let length = short(at + 2)?;
        let name = bytes.get(at + 4..at + 4 + length)?;
        // Name, padding, serial number.
        let value = at + 4 + length.next_multiple_of(4) + 4;
        at = match kind {
            0 if name == wanted.as_bytes() => return long(value),
            0 => value + 4,
            1 => value + 4 + (long(value)? as usize).next_multiple_of(4),
            2 => value + 8,
            _ => return None,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_are_one_key_and_are_counted_as_characters() {
        let enter = Wanted::Named(NamedKey::Enter);
        let keys: Vec<_> = keys_of("a\r\nb\n\rc\t").collect();
        let tab = Wanted::Named(NamedKey::Tab);
        let expected = [Wanted::Char('a'), enter, Wanted::Char('b'), enter, enter, Wanted::Char('c'), tab];
        assert_eq!(keys, expected);
        assert_eq!(typed_after("a\r\nb\n\rc\t"), [0, 1, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_setting_is_found_among_others_and_garbage_is_none() {
        let mut bytes = vec![0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0];
        bytes.extend([1, 0, 3, 0]);
        bytes.extend(b"A/B\0\x01\0\0\0\x05\0\0\0hello\0\0\0");
        bytes.extend([2, 0, 1, 0]);
        bytes.extend(b"C\0\0\0\x01\0\0\0\x01\0\x02\0\x03\0\x04\0");
        bytes.extend([0, 0, 19, 0]);
        bytes.extend(b"Net/DoubleClickTime\0\x01\0\0\0\xfa\0\0\0");
        assert_eq!(setting(&bytes, "Net/DoubleClickTime"), Some(250));
        assert_eq!(setting(&bytes, "Net/Other"), None);
        for end in 0..bytes.len() {
            assert_eq!(setting(&bytes[..end], "Net/DoubleClickTime"), None);
        }
    }
}
