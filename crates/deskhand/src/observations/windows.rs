//! Windows that open, close, move and change.

use super::{Event, EventKind, SPACING, Size, Source};
use crate::tools::target;
use deskhand_core::call::Call;
use deskhand_core::watch::Bell;
use deskhand_core::window::{Window, WindowId, WindowWatch};
use deskhand_core::{Code, Desktop, Error, Rect, Result};
use std::sync::Arc;
use std::time::Instant;

/// Which windows.
#[derive(Clone, Debug)]
pub enum Within {
    /// Every window.
    All,
    /// Those of an application.
    Application {
        /// What it is called, for messages.
        name: String,
        /// Its processes.
        pids: Vec<u32>,
        /// The class of its windows, in small letters, where it was named by that.
        class: Option<String>,
    },
    /// One.
    One(WindowId),
}

/// What can change of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The title.
    Title,
    /// Where it lies.
    Position,
    /// How large it is.
    Size,
    /// Minimized, maximized …
    State,
    /// Whether it has the keyboard.
    Focused,
}

impl Aspect {
    /// Every one.
    pub const ALL: [Aspect; 5] =
        [Aspect::Title, Aspect::Position, Aspect::Size, Aspect::State, Aspect::Focused];

    /// The name that callers use.
    pub const fn name(self) -> &'static str {
        match self {
            Aspect::Title => "title",
            Aspect::Position => "position",
            Aspect::Size => "size",
            Aspect::State => "state",
            Aspect::Focused => "focused",
        }
    }
}

/// Compares the list of windows whenever the system says that something about them changed.
pub struct Windows {
    desktop: Arc<Desktop>,
    watch: Box<dyn WindowWatch>,
    within: Within,
    aspects: Vec<Aspect>,
    known: Vec<Window>,
    pending: bool,
    rested: Instant,
    _ends: Vec<Box<dyn Send>>,
}

impl Windows {
    /// Begins with the windows that there are.
    pub fn begin(
        desktop: &Arc<Desktop>,
        call: &Call,
        bell: &Bell,
        within: Within,
        aspects: Vec<Aspect>,
    ) -> Result<Windows> {
        let watch = desktop.windows.watch(call, bell)?;
        let ends = match &within {
            Within::Application { pids, .. } => {
                pids.iter().map(|pid| desktop.apps.watch_end(*pid, bell)).collect::<Result<_>>()?
            }
            Within::All | Within::One(_) => Vec::new(),
        };
        let mut windows = Windows {
            desktop: desktop.clone(),
            watch,
            within,
            aspects,
            known: Vec::new(),
            pending: false,
            rested: Instant::now(),
            _ends: ends,
        };
        windows.known = windows.list(call)?;
        Ok(windows)
    }

    fn list(&self, call: &Call) -> Result<Vec<Window>> {
        let mut list = self.desktop.windows.list(call)?;
        list.retain(|window| match &self.within {
            Within::All => true,
            Within::Application { pids, class, .. } => {
                window.pid.is_some_and(|pid| pids.contains(&pid))
                    || class.as_ref().is_some_and(|class| window.application.to_lowercase() == *class)
            }
            Within::One(id) => window.id == *id,
        });
        Ok(list)
    }

    fn compare(&mut self, now: Vec<Window>, found: &mut Vec<Event>) {
        let before = std::mem::take(&mut self.known);
        for gone in before.iter().filter(|known| now.iter().all(|window| window.id != known.id)) {
            found.push(event(EventKind::WindowClosed, gone));
        }
        let mut focus = Vec::new();
        for window in &now {
            match before.iter().find(|known| known.id == window.id) {
                None => {
                    let new = Some(window.bounds.to_string());
                    found.push(Event { new, ..event(EventKind::WindowOpened, window) });
                    if window.focused && self.aspects.contains(&Aspect::Focused) {
                        focus.push(
                            event(EventKind::WindowFocusChanged, window).with_values(None, Some("true")),
                        );
                    }
                }
                Some(known) => {
                    for aspect in &self.aspects {
                        let list = if *aspect == Aspect::Focused { &mut focus } else { &mut *found };
                        list.extend(difference(known, window, *aspect));
                    }
                }
            }
        }
        // Who lost the keyboard comes before who got it.
        focus.sort_by_key(|event| event.new.as_deref() == Some("true"));
        found.append(&mut focus);
        self.known = now;
    }

    fn ended(&self) -> Option<Error> {
        match &self.within {
            Within::All => None,
            Within::One(id) => self
                .known
                .iter()
                .all(|known| known.id != *id)
                .then(|| Error::new(Code::WindowNotFound, "The window has closed.")),
            Within::Application { name, pids, .. } => {
                let gone = pids.iter().all(|pid| !self.desktop.apps.alive(*pid));
                (gone && self.known.is_empty()).then(|| {
                    Error::new(Code::ApplicationNotFound, format!("The application {name} has quit."))
                })
            }
        }
    }
}

impl Source for Windows {
    fn look(&mut self, call: &Call, found: &mut Vec<Event>) -> Result<Option<Instant>> {
        self.pending |= self.watch.changed(call)?;
        if self.pending && self.rested <= Instant::now() {
            match self.list(call) {
                Ok(now) => {
                    self.pending = false;
                    self.compare(now, found);
                }
                // The X server is busy: the next look may do.
                Err(error) if error.code == Code::Timeout => {}
                Err(error) => return Err(error),
            }
            self.rested = Instant::now() + SPACING;
        }
        match self.ended() {
            Some(end) => Err(end),
            None => Ok(self.pending.then_some(self.rested)),
        }
    }

    fn size(&self) -> Size {
        Size { watched: self.known.len(), ..Size::default() }
    }
}

fn event(kind: EventKind, window: &Window) -> Event {
    Event { window: Some(window.id.0), pid: window.pid, ..Event::new(kind, target::line(window)) }
}

fn difference(old: &Window, new: &Window, aspect: Aspect) -> Option<Event> {
    let place = |bounds: &Rect| bounds.origin().to_string();
    let size = |bounds: &Rect| format!("{}x{}", bounds.width, bounds.height);
    let (kind, was, is) = match aspect {
        Aspect::Title => (EventKind::WindowTitleChanged, old.title.clone(), new.title.clone()),
        Aspect::Position => (EventKind::WindowMoved, place(&old.bounds), place(&new.bounds)),
        Aspect::Size => (EventKind::WindowResized, size(&old.bounds), size(&new.bounds)),
        Aspect::State => (EventKind::WindowStateChanged, state(old), state(new)),
        Aspect::Focused => (EventKind::WindowFocusChanged, old.focused.to_string(), new.focused.to_string()),
    };
    (was != is).then(|| event(kind, new).with_values(Some(&was), Some(&is)))
}

fn state(window: &Window) -> String {
    serde_json::to_value(window.state)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}
