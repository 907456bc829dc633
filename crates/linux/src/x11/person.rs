//! What happens at the input devices of an X server: the raw events of XInput 2, which are told to everybody
//! who asks whatever window they go to, and name the device that they come from.
//!
//! Raw events carry neither the place of the pointer nor the meaning of a key. The pointer is asked for as soon
//! as an event is read, so that is done on a thread that does nothing else. The keyboard's state is followed by
//! its own events, which come in one order with the raw ones: a key means what it meant when it was pressed,
//! however late it is read.

use super::keyboard::{self, Keymap, State};
use super::link::{Link, X, connect, failed};
use super::lock::StopMark;
use deskhand_core::input::{Button, Press};
use deskhand_core::key::Modifier;
use deskhand_core::person::{Act, Device, Each, Keystroke, Person, What};
use deskhand_core::{Call, Error, Point, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use std::any::Any;
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::protocol::Event;
use x11rb::protocol::sync::{self, ConnectionExt as _};
use x11rb::protocol::xinput::{self, ConnectionExt as _, DeviceType, XIEventMask};
use x11rb::protocol::xkb::{ConnectionExt as _, EventType, MapPart, SelectEventsAux};
use x11rb::protocol::xproto::ConnectionExt as _;

/// Listens to the devices of one display. Each watch has a connection of its own.
pub struct XPerson {
    display: String,
    mark: StopMark,
    /// Asked before each piece of input, so that its connection stays.
    clocks: Link<Clocks>,
}

const LISTENING: &str = "listening to the input devices";

/// Who watches for as long as this process lives needs a call that lasts as long.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl XPerson {
    /// On `display` (the value of DISPLAY); nothing is connected yet.
    pub fn new(display: &str) -> XPerson {
        XPerson {
            display: display.to_owned(),
            mark: StopMark::new(display),
            clocks: Link::new(display, Clocks::open),
        }
    }

    fn begin(&self, call: &Call, heed: Heed, each: Each) -> Result<Box<dyn Any + Send + Sync>> {
        let (x, screen) = open(call, &self.display)?;
        let ear = Ear::begin(x, screen, heed, each)?;
        let started = |error: std::io::Error| {
            Error::backend("The thread that listens to the input devices could not be started.").os(error)
        };
        let (ended, end) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| started(error.into()))?;
        // Waits for the server's answers end with the watch, however long the server takes.
        let forever = Call::with_timeout(FOREVER);
        let cancellation = forever.cancellation().clone();
        let body = move || ear.listen(&forever, &ended);
        let thread = std::thread::Builder::new().name("person".into()).spawn(body).map_err(started)?;
        Ok(Box::new(Watching { end: Some(end), cancellation, thread: Some(thread) }))
    }
}

impl Person for XPerson {
    fn devices(&self, call: &Call) -> Result<Vec<Device>> {
        let (x, _) = open(call, &self.display)?;
        Ok(devices(&x)?.into_iter().map(|(_, device)| device).collect())
    }

    fn watch(&self, call: &Call, each: Each) -> Result<Box<dyn Any + Send + Sync>> {
        self.begin(call, Heed::Everything, each)
    }

    fn keys(&self, call: &Call, each: Each) -> Result<Box<dyn Any + Send + Sync>> {
        self.begin(call, Heed::Keys, each)
    }

    fn quiet_for(&self, call: &Call) -> Result<Option<Duration>> {
        self.clocks.with(call, |x, _, clocks| {
            clocks.update(x)?;
            clocks.read(x)
        })
    }

    fn halted(&self) -> Result<Option<String>> {
        self.mark.read()
    }

    fn halt(&self, how: &str) -> Result<()> {
        self.mark.set(how)
    }

    fn resume(&self) -> Result<bool> {
        self.mark.clear()
    }
}

/// What a watch listens to.
#[derive(Clone, Copy)]
enum Heed {
    Everything,
    Keys,
}

/// How long ago each device was used: the server keeps a counter for each, which what XTEST makes does not touch.
struct Clocks {
    /// The counters of the devices that a person has in hand; `None` until they are asked for.
    counters: Option<Vec<sync::Counter>>,
}

const CLOCKS: &str = "asking when the input devices were last used";

impl Clocks {
    fn open(_: &Call, x: &X, screen: usize) -> Result<Clocks> {
        let too_old = || {
            Error::unsupported("This X server does not tell when its input devices were last used.")
                .remedy("Use a server with the SYNC extension and XInput 2: every one since 2012 has them.")
        };
        if x.extension_information(sync::X11_EXTENSION_NAME).map_err(failed(CLOCKS))?.is_none()
            || x.extension_information(xinput::X11_EXTENSION_NAME).map_err(failed(CLOCKS))?.is_none()
        {
            return Err(too_old());
        }
        x.sync_initialize(3, 1).map_err(failed(CLOCKS))?.reply().map_err(failed(CLOCKS))?;
        x.xinput_xi_query_version(2, 2).map_err(failed(CLOCKS))?.reply().map_err(failed(CLOCKS))?;
        let root = x.setup().roots.get(screen).map(|screen| screen.root).unwrap_or_default();
        let all = xinput::Device::ALL.into();
        let mask = xinput::EventMask { deviceid: all, mask: vec![XIEventMask::HIERARCHY] };
        x.xinput_xi_select_events(root, &[mask]).map_err(failed(CLOCKS))?.check().map_err(failed(CLOCKS))?;
        let clocks = Clocks { counters: None };
        let named = x.sync_list_system_counters().map_err(failed(CLOCKS))?.reply().map_err(failed(CLOCKS))?;
        let per_device = named.counters.iter().any(|counter| counter.name.starts_with(PER_DEVICE));
        if per_device { Ok(clocks) } else { Err(too_old()) }
    }

    /// Forgets the counters when devices have come or gone.
    fn update(&mut self, x: &X) -> Result<()> {
        while let Some(event) = x.poll_for_event().map_err(failed(CLOCKS))? {
            if let Event::XinputHierarchy(_) = event {
                self.counters = None;
            }
        }
        if self.counters.is_none() {
            let theirs: Vec<Vec<u8>> = devices(x)?
                .into_iter()
                .filter(|(_, device)| device.from_person)
                .map(|(number, _)| [PER_DEVICE, number.to_string().as_bytes()].concat())
                .collect();
            let named = x.sync_list_system_counters().map_err(failed(CLOCKS))?;
            let named = named.reply().map_err(failed(CLOCKS))?.counters;
            let known = named.into_iter().filter(|counter| theirs.contains(&counter.name));
            self.counters = Some(known.map(|counter| counter.counter).collect());
        }
        Ok(())
    }

    /// The time since the last use of any of them, in one round trip.
    fn read(&mut self, x: &X) -> Result<Option<Duration>> {
        let counters = self.counters.iter().flatten();
        let asked: Vec<_> = counters
            .map(|counter| x.sync_query_counter(*counter).map_err(failed(CLOCKS)))
            .collect::<Result<_>>()?;
        let mut least: Option<Duration> = None;
        for cookie in asked {
            let Ok(reply) = cookie.reply() else {
                // The device has just been taken away: the next look asks which are left.
                self.counters = None;
                continue;
            };
            let value = i64::from(reply.counter_value.hi) << 32 | i64::from(reply.counter_value.lo);
            let quiet = Duration::from_millis(u64::try_from(value).unwrap_or(0));
            least = Some(least.map_or(quiet, |least| least.min(quiet)));
        }
        Ok(least)
    }
}

/// The counters of the single devices are called this and the device's number.
const PER_DEVICE: &[u8] = b"DEVICEIDLETIME ";

/// Ends the watch when it is dropped.
struct Watching {
    end: Option<OwnedFd>,
    cancellation: deskhand_core::call::Cancellation,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.cancellation.cancel();
        drop(self.end.take());
        // Dropped by who is being told: that thread ends when it returns from telling.
        let thread = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id());
        if let Some(thread) = thread {
            // A panic in it was the listener's own, and has been reported.
            let _ = thread.join();
        }
    }
}

fn open(call: &Call, display: &str) -> Result<(X, usize)> {
    let (x, screen) = connect(call, display)?;
    x.stream().bind(call);
    let version = x.xinput_xi_query_version(2, 2).map_err(failed(LISTENING))?;
    let version = version.reply().map_err(failed(LISTENING))?;
    // Since 2.1 raw events are told while somebody grabs the device (an open menu), and name their source.
    if (version.major_version, version.minor_version) < (2, 1) {
        return Err(Error::unsupported("This X server is too old to tell of its input devices.")
            .remedy("Use a server with XInput 2.1 or later: every one since 2012 has it."));
    }
    Ok((x, screen))
}

/// The devices behind the pointer and the keyboard, with their numbers.
fn devices(x: &X) -> Result<Vec<(u16, Device)>> {
    let all = x.xinput_xi_query_device(xinput::Device::ALL).map_err(failed(LISTENING))?;
    let all = all.reply().map_err(failed(LISTENING))?.infos;
    let mark = x.intern_atom(false, b"XTEST Device").map_err(failed(LISTENING))?;
    let mark = mark.reply().map_err(failed(LISTENING))?.atom;
    let slaves = [DeviceType::SLAVE_POINTER, DeviceType::SLAVE_KEYBOARD];
    let mut known = Vec::new();
    for info in all.into_iter().filter(|info| slaves.contains(&info.type_)) {
        let made =
            x.xinput_xi_get_property(info.deviceid, false, mark, 0, 0, 1).map_err(failed(LISTENING))?;
        let name = String::from_utf8_lossy(&info.name).into_owned();
        // A device that has gone meanwhile has no properties and does nothing any more.
        let by_program =
            made.reply().is_ok_and(|made| 0 < made.num_items) || name.starts_with(super::touch::NAME);
        known.push((info.deviceid, Device { name, from_person: !by_program }));
    }
    Ok(known)
}

/// Reads the events of one watch.
struct Ear {
    x: X,
    root: u32,
    each: Each,
    devices: Vec<(u16, Device)>,
    /// `None` until it is read, and again when the server says that it has changed.
    keymap: Option<Keymap>,
    state: State,
    buttons: Vec<u8>,
    /// The pointer moved, by a person or not, and nobody has been told yet.
    moved: Option<bool>,
}

impl Ear {
    fn begin(x: X, screen: usize, heed: Heed, each: Each) -> Result<Ear> {
        let root = x.setup().roots.get(screen).map(|screen| screen.root).ok_or_else(|| {
            Error::argument(format!("The X server has no screen {screen}."))
                .remedy("Leave the screen out of the display's name.")
        })?;
        let keys = XIEventMask::RAW_KEY_PRESS | XIEventMask::RAW_KEY_RELEASE;
        let raw = match heed {
            Heed::Keys => keys,
            Heed::Everything => {
                keys | XIEventMask::RAW_BUTTON_PRESS
                    | XIEventMask::RAW_BUTTON_RELEASE
                    | XIEventMask::RAW_MOTION
                    | XIEventMask::RAW_TOUCH_BEGIN
                    | XIEventMask::RAW_TOUCH_END
            }
        };
        let masks = [
            xinput::EventMask { deviceid: xinput::Device::ALL_MASTER.into(), mask: vec![raw] },
            xinput::EventMask { deviceid: xinput::Device::ALL.into(), mask: vec![XIEventMask::HIERARCHY] },
        ];
        x.xkb_use_extension(1, 0).map_err(failed(LISTENING))?.reply().map_err(failed(LISTENING))?;
        let events = EventType::NEW_KEYBOARD_NOTIFY | EventType::MAP_NOTIFY | EventType::STATE_NOTIFY;
        let parts = MapPart::KEY_TYPES | MapPart::KEY_SYMS | MapPart::MODIFIER_MAP;
        x.xkb_select_events(
            keyboard::CORE,
            EventType::default(),
            events,
            parts,
            parts,
            &SelectEventsAux::new(),
        )
        .map_err(failed(LISTENING))?;
        x.xinput_xi_select_events(root, &masks)
            .map_err(failed(LISTENING))?
            .check()
            .map_err(failed(LISTENING))?;
        // Asked after selecting: what changes in between is told, and told twice does no harm.
        let state = x.xkb_get_state(keyboard::CORE).map_err(failed(LISTENING))?;
        let state = State::from(&state.reply().map_err(failed(LISTENING))?);
        let devices = devices(&x)?;
        let buttons = pointer_map(&x)?;
        let keymap = Some(Keymap::read(&x, &[])?);
        Ok(Ear { x, root, each, devices, keymap, state, buttons, moved: None })
    }

    fn listen(mut self, forever: &Call, ended: &OwnedFd) {
        self.x.stream().bind(forever);
        loop {
            if let Err(error) = self.hear() {
                if !forever.cancellation().is_cancelled() {
                    (self.each)(Err(error.remedy("Begin anew, once the X server is back.")));
                }
                return;
            }
            let mut waited = [PollFd::new(self.x.stream(), PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
            // Interrupted or not: what there is to read is looked at next.
            let _ = poll(&mut waited, None);
            if forever.cancellation().is_cancelled() {
                return;
            }
        }
    }

    /// Reads what has come.
    fn hear(&mut self) -> Result<()> {
        loop {
            while let Some(event) = self.x.poll_for_event().map_err(failed(LISTENING))? {
                self.take(event)?;
            }
            if self.moved.is_none() {
                return Ok(());
            }
            // Asking for the pointer may read events besides the answer: nothing on the wire tells of those.
            self.tell_moved()?;
        }
    }

    fn take(&mut self, event: Event) -> Result<()> {
        match event {
            // A wheel is an axis, too: only the first two are the pointer's place.
            Event::XinputRawMotion(event) if event.valuator_mask.first().is_none_or(|mask| mask & 3 == 0) => {
                Ok(())
            }
            Event::XinputRawMotion(event) => {
                let from_person = self.in_hand(event.sourceid)?;
                if self.moved.is_some_and(|before| before != from_person) {
                    self.tell_moved()?;
                }
                self.moved = Some(from_person);
                Ok(())
            }
            Event::XinputRawButtonPress(event) => self.button(event.sourceid, event.detail, Press::Down),
            Event::XinputRawButtonRelease(event) => self.button(event.sourceid, event.detail, Press::Up),
            Event::XinputRawKeyPress(event) => self.key(event.sourceid, event.detail, Press::Down),
            Event::XinputRawKeyRelease(event) => self.key(event.sourceid, event.detail, Press::Up),
            Event::XinputRawTouchBegin(event) => self.tell(event.sourceid, What::Touch(Press::Down)),
            Event::XinputRawTouchEnd(event) => self.tell(event.sourceid, What::Touch(Press::Up)),
            Event::XkbStateNotify(event) => {
                self.state = State { modifiers: u16::from(event.mods) as u8, group: u8::from(event.group) };
                Ok(())
            }
            Event::XkbMapNotify(_) | Event::XkbNewKeyboardNotify(_) => {
                self.keymap = None;
                Ok(())
            }
            Event::MappingNotify(_) => {
                self.buttons = pointer_map(&self.x)?;
                Ok(())
            }
            Event::XinputHierarchy(_) => {
                self.devices = devices(&self.x)?;
                Ok(())
            }
            // Answers to requests of ours that failed, and what nobody asked for.
            _ => Ok(()),
        }
    }

    fn button(&mut self, source: u16, detail: u32, press: Press) -> Result<()> {
        let place = usize::try_from(detail).ok().and_then(|number| number.checked_sub(1));
        let button = place.and_then(|place| self.buttons.get(place)).copied().unwrap_or(0);
        let turned = |across, down| What::Wheel { across, down };
        let what = match (button, press) {
            (1, _) => What::Button(Button::Left, press),
            (2, _) => What::Button(Button::Middle, press),
            (3, _) => What::Button(Button::Right, press),
            (8, _) => What::Button(Button::Back, press),
            (9, _) => What::Button(Button::Forward, press),
            (4, Press::Down) => turned(0, -1),
            (5, Press::Down) => turned(0, 1),
            (6, Press::Down) => turned(-1, 0),
            (7, Press::Down) => turned(1, 0),
            // The other half of a notch, and buttons that have no name.
            _ => return Ok(()),
        };
        self.tell(source, what)
    }

    fn key(&mut self, source: u16, detail: u32, press: Press) -> Result<()> {
        let keymap = match self.keymap.take() {
            Some(keymap) => keymap,
            None => Keymap::read(&self.x, &[])?,
        };
        let keycode = u8::try_from(detail).unwrap_or(0);
        let (key, text) = self.keymap.insert(keymap).meaning(keycode, self.state);
        self.tell(source, What::Key(Keystroke { key, text }, press))
    }

    fn tell(&mut self, source: u16, what: What) -> Result<()> {
        self.tell_moved()?;
        let from_person = self.in_hand(source)?;
        self.tell_of(from_person, what)
    }

    fn tell_moved(&mut self) -> Result<()> {
        match self.moved.take() {
            Some(from_person) => self.tell_of(from_person, What::Moved),
            None => Ok(()),
        }
    }

    fn tell_of(&mut self, from_person: bool, what: What) -> Result<()> {
        let time = Instant::now();
        let place = self.x.query_pointer(self.root).map_err(failed(LISTENING))?;
        let place = place.reply().map_err(failed(LISTENING))?;
        let at = Point::new(i32::from(place.root_x), i32::from(place.root_y));
        (self.each)(Ok(Act { time, from_person, what, at, modifiers: modifiers(self.state) }));
        Ok(())
    }

    /// Whether a person has the device in hand. One that is not known yet came a moment ago.
    fn in_hand(&mut self, source: u16) -> Result<bool> {
        if !self.devices.iter().any(|(number, _)| *number == source) {
            self.devices = devices(&self.x)?;
        }
        let device = self.devices.iter().find(|(number, _)| *number == source);
        Ok(device.is_some_and(|(_, device)| device.from_person))
    }
}

fn pointer_map(x: &X) -> Result<Vec<u8>> {
    let map = x.get_pointer_mapping().map_err(failed(LISTENING))?;
    Ok(map.reply().map_err(failed(LISTENING))?.map)
}

fn modifiers(state: State) -> Vec<Modifier> {
    let held = [
        (keyboard::CONTROL, Modifier::Ctrl),
        (keyboard::SHIFT, Modifier::Shift),
        (keyboard::ALT, Modifier::Alt),
        (keyboard::META, Modifier::Meta),
    ];
    held.into_iter().filter(|(bit, _)| state.modifiers & bit != 0).map(|(_, modifier)| modifier).collect()
}
