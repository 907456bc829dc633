//! What stands between Deskhand and the desktop of a person: which applications it may work and see, when it
//! makes way for the person, and how the person stops it.
//!
//! Everything here wraps the capabilities of a [`Desktop`], so that no tool can go round it and none has to
//! think of it. A guard that was not asked for wraps nothing and costs nothing.

mod apps;
mod elements;
mod input;
mod rules;
mod screen;
mod services;
mod stop;
mod windows;

pub use rules::{AppRules, is_called};
pub use stop::Chord;

use crate::call::Call;
use crate::desktop::Desktop;
use crate::error::{Code, Error, Result};
use crate::person::Person;
use crate::window::{Layer, Window, Windows};
use rules::{Roster, Verdict};
use std::sync::Arc;
use std::time::Duration;
pub(crate) use stop::{Stop, Watcher};

/// Which guards are on. The default is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guards {
    /// Which applications may be worked and seen.
    pub apps: AppRules,
    /// Input is made only when the person has been quiet for so long; zero does not look at the person.
    pub quiet: Duration,
    /// What the person holds down to stop everything.
    pub chord: Option<Chord>,
}

impl Desktop {
    /// This desktop behind guards. Whoever is to be guarded gets this one; both are the same desktop otherwise.
    pub fn guarded(self: &Arc<Desktop>, guards: &Guards) -> Arc<Desktop> {
        let mut desktop = self.again();
        if guards.apps != AppRules::default() {
            let guard = Arc::new(Guard {
                roster: Roster::new(guards.apps.clone(), self.apps.clone()),
                windows: self.windows.clone(),
            });
            desktop.windows =
                Arc::new(windows::Guarded { inner: self.windows.clone(), guard: guard.clone() });
            desktop.elements =
                Arc::new(elements::Guarded { inner: self.elements.clone(), guard: guard.clone() });
            desktop.apps = Arc::new(apps::Guarded { inner: self.apps.clone(), guard: guard.clone() });
            desktop.menus = Arc::new(services::Menus { inner: self.menus.clone(), guard: guard.clone() });
            desktop.files = Arc::new(services::Files { inner: self.files.clone(), guard: guard.clone() });
            desktop.status_items =
                Arc::new(services::StatusItems { inner: self.status_items.clone(), guard: guard.clone() });
            desktop.notifications =
                Arc::new(services::Notifications { inner: self.notifications.clone(), guard: guard.clone() });
            desktop.clipboard =
                Arc::new(services::Clipboard { inner: self.clipboard.clone(), guard: guard.clone() });
            if !guards.apps.hide.is_empty() {
                desktop.screen = Arc::new(screen::Masked::new(self.screen.clone(), guard.clone()));
                desktop.person =
                    Arc::new(services::Person { inner: self.person.clone(), rules: guards.apps.options() });
            }
            desktop.wrap_input(|input| Arc::new(input::Within::new(input, guard.clone())));
            desktop.wrap_touch(|touch| Arc::new(input::Touching { inner: touch, leave: guard }));
        }
        if !guards.quiet.is_zero() || guards.chord.is_some() {
            let way =
                Arc::new(Way { person: self.person.clone(), quiet: guards.quiet, stop: self.stop.clone() });
            desktop.wrap_input(|input| Arc::new(input::MakingWay::new(input, way.clone())));
            desktop.wrap_touch(|touch| Arc::new(input::Touching { inner: touch, leave: way }));
        }
        let desktop = Arc::new(desktop);
        if let Some(chord) = guards.chord {
            stop::begin(&desktop, chord);
        }
        desktop
    }
}

/// What may be done to whose windows.
struct Guard {
    roster: Roster,
    windows: Arc<dyn Windows>,
}

impl Guard {
    /// Whether a window may not be seen.
    fn hides(&self, call: &Call, window: &Window) -> Result<bool> {
        Ok(matches!(self.verdict(call, window)?, Verdict::Hidden(_)))
    }

    fn verdict(&self, call: &Call, window: &Window) -> Result<Verdict> {
        self.roster.verdict(call, window.pid, &[&window.application])
    }

    /// Whether something of a process may not be seen.
    fn hides_process(&self, call: &Call, pid: Option<u32>) -> Result<bool> {
        Ok(self.roster.rules.hides_any()
            && matches!(self.roster.verdict(call, pid, &[])?, Verdict::Hidden(_)))
    }

    /// Whether an application that calls itself this may not be seen.
    fn hides_name(&self, name: &str) -> bool {
        matches!(self.roster.rules.verdict(&[name]), Verdict::Hidden(_))
    }

    fn require_window(&self, call: &Call, window: &Window) -> Result<()> {
        self.verdict(call, window)?
            .require(&format!("the window {:?} of {}", window.title, window.application))
    }

    fn require_process(&self, call: &Call, pid: Option<u32>, names: &[&str]) -> Result<()> {
        let what = names.first().map_or_else(
            || pid.map_or("an application that is not known".to_owned(), |pid| format!("the process {pid}")),
            |name| (*name).to_owned(),
        );
        self.roster.verdict(call, pid, names)?.require(&what)
    }

    /// Refuses to start what may not be worked. It is asked for under any of its names, and all of them count.
    fn require_start(&self, call: &Call, wanted: &str) -> Result<()> {
        let installed = self.roster.apps.installed(call)?;
        let mut names = vec![wanted];
        for entry in &installed {
            let own: Vec<&str> = [
                Some(entry.name.as_str()),
                Some(entry.id.as_str()),
                entry.executable.as_deref(),
                entry.window_class.as_deref(),
            ]
            .into_iter()
            .flatten()
            .collect();
            if own.iter().any(|name| is_called(name, wanted) || is_called(wanted, name)) {
                names.extend(own);
            }
        }
        self.require_process(call, None, &names)
    }

    /// Refuses a point at which a window shows that may not be worked.
    fn require_point(&self, call: &Call, at: crate::Point) -> Result<()> {
        match self.windows.at(call, at)? {
            Some(window) => self.require_window(call, &window),
            None => self.roster.rules.require_nobody(&format!("what lies at {at}")),
        }
    }

    /// Refuses the keyboard while a window has it that may not be worked.
    fn require_keyboard(&self, call: &Call) -> Result<()> {
        match self.windows.list(call)?.into_iter().find(|window| window.focused) {
            Some(window) => self.require_window(call, &window),
            None => self.roster.rules.require_nobody("what has the keyboard"),
        }
    }

    /// The parts of the screen where hidden applications show; only of those that lie below a window, if one is
    /// named.
    fn hidden(&self, call: &Call, below: Option<crate::window::WindowId>) -> Result<Vec<crate::Rect>> {
        let mut covered: Vec<crate::Rect> = Vec::new();
        let mut hidden = Vec::new();
        let mut counts = below.is_none();
        for Layer { window, covers } in self.windows.layers(call)? {
            counts |= below == Some(window.id);
            if !self.hides(call, &window)? {
                covered.extend(covers);
                continue;
            }
            if !counts {
                continue;
            }
            let mut parts = vec![window.bounds];
            for cover in &covered {
                parts = parts.iter().flat_map(|part| part.without(cover)).collect();
            }
            hidden.extend(parts);
        }
        Ok(hidden)
    }
}

/// Makes way for the person.
struct Way {
    person: Arc<dyn Person>,
    quiet: Duration,
    stop: Arc<Stop>,
}

impl Way {
    /// Waits until the person has been quiet for long enough, as long as the call allows. Who holds something
    /// down does not wait: a person who takes the pointer must not drag what Deskhand has taken hold of.
    fn give(&self, call: &Call, holding: bool, doing: &str) -> Result<()> {
        self.stop.check()?;
        if self.quiet.is_zero() {
            return Ok(());
        }
        loop {
            let quiet = match self.person.quiet_for(call) {
                Ok(quiet) => quiet,
                // Where it cannot be known `deskhand doctor` says so; nothing could ever be done otherwise.
                Err(error) if error.code == Code::Unsupported => return Ok(()),
                Err(error) => return Err(error),
            };
            let Some(left) =
                quiet.and_then(|quiet| self.quiet.checked_sub(quiet)).filter(|left| !left.is_zero())
            else {
                return Ok(());
            };
            if holding || call.remaining() < left {
                return Err(self.busy(holding, doing));
            }
            call.pause(left, "waiting for the person to be quiet")?;
            self.stop.check()?;
        }
    }

    fn busy(&self, holding: bool, doing: &str) -> Error {
        let quiet = self.quiet.as_millis();
        let message = if holding {
            format!("The person at the desktop began to use it during {doing}: what was held was let go of.")
        } else {
            format!(
                "The person at the desktop is using it: {doing} waits for {quiet} ms of quiet, which did not come in \
                 its time."
            )
        };
        Error::new(Code::PausedByUser, message).remedy(
            "Look what the person did, then try again; a larger timeout_ms waits longer for them to be done.",
        )
    }
}
