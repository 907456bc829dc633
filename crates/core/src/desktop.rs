//! A whole desktop: one provider for each capability, chosen once.

use crate::app::Apps;
use crate::audio::{Audio, NoAudio};
use crate::call::Call;
use crate::clipboard::{Clipboard, NoClipboard};
use crate::element::Elements;
use crate::error::{Code, Error, Result};
use crate::files::{Files, NoFiles};
use crate::guard::{Stop, Watcher};
use crate::input::{Clicks, Hands, Held, Holds, Input};
use crate::lane::{ClientId, Lane};
use crate::menu::{Menus, NoMenus};
use crate::notification::{NoNotifications, Notifications};
use crate::ocr::{NoOcr, Ocr};
use crate::person::{NoPerson, Person};
use crate::screen::Screen;
use crate::script::{NoScripts, Scripts};
use crate::status_item::{NoStatusItems, StatusItems};
use crate::system::{NoSystem, System};
use crate::touch::{Fingers, NoTouch, Touch};
use crate::window::Windows;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The capabilities of one desktop.
pub struct Desktop {
    /// Displays and pixels.
    pub screen: Arc<dyn Screen>,
    /// Accessibility elements.
    pub elements: Arc<dyn Elements>,
    /// Windows.
    pub windows: Arc<dyn Windows>,
    /// Applications.
    pub apps: Arc<dyn Apps>,
    /// Audio outputs.
    pub audio: Arc<dyn Audio>,
    /// The machine.
    pub system: Arc<dyn System>,
    /// The clipboard.
    pub clipboard: Arc<dyn Clipboard>,
    /// Notifications.
    pub notifications: Arc<dyn Notifications>,
    /// Text that is only pixels.
    pub ocr: Arc<dyn Ocr>,
    /// Programs that are run for what they print.
    pub scripts: Arc<dyn Scripts>,
    /// Menus.
    pub menus: Arc<dyn Menus>,
    /// The notification area.
    pub status_items: Arc<dyn StatusItems>,
    /// The file manager.
    pub files: Arc<dyn Files>,
    /// What happens at the input devices.
    pub person: Arc<dyn Person>,
    /// Which provider was chosen for each capability, and why.
    pub choices: Vec<Choice>,
    /// The order in which changes are made.
    pub lane: Lane,
    input: Arc<dyn Input>,
    touch: Arc<dyn Touch>,
    holds: Arc<Holds>,
    clicks: Arc<Clicks>,
    ending_holds: AtomicBool,
    pub(crate) stop: Arc<Stop>,
    chord: OnceLock<Watcher>,
}

/// What a session offers beside its windows. Only the file manager needs a display.
pub struct Services {
    /// Audio outputs.
    pub audio: Box<dyn Audio>,
    /// The machine.
    pub system: Box<dyn System>,
    /// The clipboard.
    pub clipboard: Box<dyn Clipboard>,
    /// Notifications.
    pub notifications: Box<dyn Notifications>,
    /// Text that is only pixels.
    pub ocr: Box<dyn Ocr>,
    /// Programs that are run for what they print.
    pub scripts: Box<dyn Scripts>,
    /// A touchscreen.
    pub touch: Box<dyn Touch>,
    /// Menus.
    pub menus: Box<dyn Menus>,
    /// The notification area.
    pub status_items: Box<dyn StatusItems>,
    /// The file manager.
    pub files: Box<dyn Files>,
    /// What happens at the input devices.
    pub person: Box<dyn Person>,
}

impl Services {
    /// None of it is there.
    pub fn none(missing: &Missing) -> Services {
        Services {
            audio: Box::new(NoAudio(missing.clone())),
            system: Box::new(NoSystem(missing.clone())),
            clipboard: Box::new(NoClipboard(missing.clone())),
            notifications: Box::new(NoNotifications(missing.clone())),
            ocr: Box::new(NoOcr(missing.clone())),
            scripts: Box::new(NoScripts(missing.clone())),
            touch: Box::new(NoTouch(missing.clone())),
            menus: Box::new(NoMenus(missing.clone())),
            status_items: Box::new(NoStatusItems(missing.clone())),
            files: Box::new(NoFiles(missing.clone())),
            person: Box::new(NoPerson(missing.clone())),
        }
    }
}

/// Which provider does a capability, or why none does.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The capability: `input`, `screen`, `elements` …
    pub capability: &'static str,
    /// The provider's name, or what is missing.
    pub provider: Result<&'static str, Missing>,
    /// Why this one.
    pub reason: String,
}

/// A capability that this desktop does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// `unsupported` where there never is such a thing, `backend` where it is absent now.
    pub code: Code,
    /// Why not, a sentence.
    pub reason: String,
    /// What to do, a sentence.
    pub remedy: String,
}

impl Missing {
    /// The error that every call of the stand-in answers.
    pub fn error(&self) -> Error {
        Error::new(self.code, &*self.reason).remedy(&self.remedy)
    }
}

impl Desktop {
    /// Puts a desktop together.
    pub fn new(
        screen: Box<dyn Screen>,
        input: Box<dyn Input>,
        elements: Box<dyn Elements>,
        windows: Box<dyn Windows>,
        apps: Box<dyn Apps>,
        services: Services,
        choices: Vec<Choice>,
    ) -> Arc<Desktop> {
        let person: Arc<dyn Person> = services.person.into();
        Arc::new(Desktop {
            screen: screen.into(),
            elements: elements.into(),
            windows: windows.into(),
            apps: apps.into(),
            audio: services.audio.into(),
            system: services.system.into(),
            clipboard: services.clipboard.into(),
            notifications: services.notifications.into(),
            ocr: services.ocr.into(),
            scripts: services.scripts.into(),
            menus: services.menus.into(),
            status_items: services.status_items.into(),
            files: services.files.into(),
            stop: Stop::new(person.clone()),
            person,
            choices,
            lane: Lane::default(),
            input: input.into(),
            touch: services.touch.into(),
            holds: Arc::default(),
            clicks: Arc::default(),
            ending_holds: AtomicBool::new(false),
            chord: OnceLock::new(),
        })
    }

    /// The same desktop once more, with the same lane: to be put behind guards.
    pub(crate) fn again(&self) -> Desktop {
        Desktop {
            screen: self.screen.clone(),
            elements: self.elements.clone(),
            windows: self.windows.clone(),
            apps: self.apps.clone(),
            audio: self.audio.clone(),
            system: self.system.clone(),
            clipboard: self.clipboard.clone(),
            notifications: self.notifications.clone(),
            ocr: self.ocr.clone(),
            scripts: self.scripts.clone(),
            menus: self.menus.clone(),
            status_items: self.status_items.clone(),
            files: self.files.clone(),
            person: self.person.clone(),
            choices: self.choices.clone(),
            lane: self.lane.clone(),
            input: self.input.clone(),
            touch: self.touch.clone(),
            holds: self.holds.clone(),
            clicks: self.clicks.clone(),
            ending_holds: AtomicBool::new(false),
            stop: self.stop.clone(),
            chord: OnceLock::new(),
        }
    }

    pub(crate) fn wrap_input(&mut self, wrap: impl FnOnce(Arc<dyn Input>) -> Arc<dyn Input>) {
        self.input = wrap(self.input.clone());
    }

    pub(crate) fn wrap_touch(&mut self, wrap: impl FnOnce(Arc<dyn Touch>) -> Arc<dyn Touch>) {
        self.touch = wrap(self.touch.clone());
    }

    pub(crate) fn watch_chord(&self, watcher: Watcher) {
        // There is one desktop for each set of guards, and it is put behind them once.
        let _ = self.chord.set(watcher);
    }

    /// Takes the lane for a change that is not input. A call without a ticket cannot change anything, and none can
    /// while the person has stopped everything.
    pub fn enter(&self, call: &Call) -> Result<()> {
        self.stop.enter(call)?;
        self.take_lane(call)
    }

    fn take_lane(&self, call: &Call) -> Result<()> {
        let ticket = call.ticket().ok_or_else(|| {
            Error::new(crate::Code::Internal, "A call without a place in the lane tried to change something.")
        })?;
        ticket.enter(call, || self.input.lock(call))
    }

    /// The only way to pointer and keyboard: waits for the call's turn, bounded by its deadline.
    pub fn input<'d>(&'d self, call: &'d Call) -> Result<Hands<'d>> {
        self.enter(call)?;
        Hands::new(&*self.input, call, &self.holds, &self.clicks)
    }

    /// The only way to a touchscreen: waits for the call's turn like [`Desktop::input`].
    pub fn fingers(&self, call: &Call) -> Result<Box<dyn Fingers>> {
        self.enter(call)?;
        self.touch.fingers(call)
    }

    /// What fingers would touch; fails where there is nothing.
    pub fn touch_surface(&self, call: &Call) -> Result<String> {
        self.touch.surface(call)
    }

    /// Fails when the text cannot be typed. Needs no turn, so that it can be asked before anything moves.
    pub fn check_text(&self, call: &Call, text: &str) -> Result<()> {
        self.input.check_text(call, text)
    }

    /// Where the pointer is and what is held.
    pub fn input_state(&self, call: &Call) -> Result<crate::input::InputState> {
        self.input.state(call)
    }

    /// The longest time between two clicks that the system takes for a double click.
    pub fn double_click_time(&self, call: &Call) -> Result<Duration> {
        self.input.double_click_time(call)
    }

    /// What clients hold across calls.
    pub fn holds(&self) -> &Holds {
        &self.holds
    }

    /// Lets go of everything that a client holds: it has gone.
    pub fn release_client(&self, client: ClientId) {
        self.release(&self.holds.of(client));
    }

    /// Lets go of everything that any client holds: the program ends.
    pub fn release_all(&self) {
        self.release(&self.holds.all());
    }

    /// The program ends: what was copied through it outlives it.
    pub fn leave(&self) -> Result<()> {
        self.clipboard.leave(&Call::with_timeout(Duration::from_secs(3)))
    }

    fn release(&self, held: &[Held]) {
        if held.is_empty() {
            return;
        }
        let call = Call::with_timeout(Duration::from_secs(2)).with_ticket(self.lane.draw(ClientId::MAX));
        // The lane may be taken by a call that hangs; then its own deadline frees it.
        let hands = || {
            self.take_lane(&call)?;
            Hands::new(&*self.input, &call, &self.holds, &self.clicks)
        };
        if let Ok(mut hands) = hands() {
            for held in held.iter().rev() {
                let _ = hands.take_back(*held);
            }
        }
    }

    /// Presses something and leaves it down with the client: until the matching up, until the client
    /// goes, or until `limit` has passed.
    pub fn hand_over(
        self: &Arc<Desktop>,
        call: &Call,
        client: ClientId,
        held: Held,
        limit: Duration,
    ) -> Result<()> {
        self.input(call)?.hand_over(client, held, limit)?;
        self.end_holds_in_time();
        Ok(())
    }

    /// Ends holds at their time limit, on a thread that lives as long as anything is held.
    fn end_holds_in_time(self: &Arc<Desktop>) {
        if self.ending_holds.swap(true, Ordering::SeqCst) {
            return;
        }
        let weak = Arc::downgrade(self);
        let patience = Call::with_timeout(Duration::from_secs(24 * 3600));
        let thread = std::thread::Builder::new().name("holds".into()).spawn(move || {
            while let Some(desktop) = weak.upgrade() {
                desktop.release(&desktop.holds.ended(Instant::now()));
                if desktop.holds.all().is_empty() {
                    desktop.ending_holds.store(false, Ordering::SeqCst);
                    // A hold that came in between saw the thread running and started none.
                    if desktop.holds.all().is_empty() || desktop.ending_holds.swap(true, Ordering::SeqCst) {
                        return;
                    }
                }
                drop(desktop);
                if patience.pause(Duration::from_millis(20), "holding").is_err() {
                    return;
                }
            }
        });
        if thread.is_err() {
            // Without the thread a hold ends with its client only.
            self.ending_holds.store(false, Ordering::SeqCst);
        }
    }
}
