//! A whole desktop in memory, with a log of what reached it.
//!
//! It behaves as a desktop does where tools can tell: a click reaches the topmost window at its point and
//! the element there, keys go to what has the keyboard, windows come forward, applications open and close
//! them, elements say what changed. It deliberately knows nothing of real time: everything happens at
//! once, except where a test asks for a delay, and clicks of one call at one place are a multiple click
//! however long they take.
//!
//! # What is there
//!
//! Display 0 (`FAKE-1`, primary) is 1280x800 at (0, 0) with a panel of 32 pixels at its top, display 1
//! (`FAKE-2`) is 1024x768 at (-1024, 0). Windows have a title bar of 24 pixels and no borders.
//!
//! | window | title | process | bounds |
//! |---|---|---|---|
//! | 7, active | `Untitled - Editor` | 101 `editor` | 640x480 at (40, 40) |
//! | 8 | `Calculator` | 102 `calculator` | 260x344 at (800, 100) |
//! | 9 | `Tips - Editor` | 101 `editor` | 500x400 at (-900, 100) |
//!
//! New windows are numbered from 20, new processes from 201. Elements have fixed ids, and their bounds are
//! those of the content plus these places:
//!
//! | element | what | place in the content |
//! |---|---|---|
//! | `editor/file`, `editor/file/new`, `…/save`, `…/quit` | menu and its items | 48x24 at (0, 0) |
//! | `editor/save` | button "Save", identifier `save-button` | 80x28 at (8, 28) |
//! | `editor/undo` | disabled button "Undo" | 80x28 at (96, 28) |
//! | `editor/wrap` | check box "Wrap lines" | 120x28 at (200, 28) |
//! | `editor/zoom` | slider "Zoom", 100 of 50 to 200 in steps of 10 | 200x28 at (340, 28) |
//! | `editor/title` | text field "Title", `Untitled` | 304x28 at (8, 64) |
//! | `editor/password` | password field "Password" | 312x28 at (320, 64) |
//! | `editor/text` | text area "Document", has the keyboard | 400x320 at (0, 100) |
//! | `editor/files` | scroll pane "Files" | 224x320 at (408, 100) |
//! | `editor/recent`, `editor/recent/1` … `/20` | list "Recent files", items "File 1" … | 28 high each |
//! | `editor/files/bar` | its scroll bar, in pixels | 12x320 at (620, 100) |
//! | `editor/status` | label "Ready", "Saved" after saving | 640x28 at (0, 428) |
//! | `calculator/result` | read-only text field "Result", `0` | 244x48 at (8, 8) |
//! | `calculator/0` … `9`, `plus`, `minus`, `times`, `divide`, `point`, `equals`, `clear` | buttons | 58x46 |
//! | `tips/text`, `tips/more` | paragraph, link "More tips" | |
//! | `tips/show` | check box "Show at start" that declares no action | 200x28 at (8, 120) |
//! | `tips/close` | button "Close" | 80x28 at (8, 160) |
//!
//! Installed are Editor (one process for all windows: a second start hands over and ends), Calculator (a
//! process for each), Viewer (with a menu behind its button "Options"), and the executables `ghost`, which
//! never shows a window and ends, and `sh`, an interpreter. The clipboard is empty; Ctrl+V pastes its text where
//! text can be edited.
//!
//! One finger on the touchscreen is taken for the pointer.
//!
//! In the notification area are `mixer` ("Volume 60 %", process 301, a menu with "Mute" and "Outputs"), `clips`
//! ("Clipboard", process 302, without a menu) and `old` ("Old icon", a window at (1240, 4)).
//!
//! Sound comes out of `speakers` ("Built-in speakers", the default, at 60 %) and `headset`
//! ("USB headset", at 100 %, muted). It runs on a battery that is 80 % full. What elements show as their name
//! and text can be read from its pixels, in English.

mod apps;
mod audio;
mod clipboard;
mod elements;
mod files;
mod input;
mod menus;
mod notification;
mod ocr;
mod person;
mod scene;
mod screen;
mod script;
mod status_items;
mod system;
mod touch;
mod windows;
mod world;

#[cfg(test)]
mod tests;

pub use world::World;

use crate::app::NoApps;
use crate::audio::NoAudio;
use crate::call::Call;
use crate::clipboard::NoClipboard;
use crate::desktop::{Choice, Desktop, Missing, Services};
use crate::element::{ElementId, NoElements};
use crate::error::{Code, Error, Result};
use crate::files::NoFiles;
use crate::geometry::Display;
use crate::input::{Held, NoInput};
use crate::menu::NoMenus;
use crate::notification::NoNotifications;
use crate::ocr::NoOcr;
use crate::person::NoPerson;
use crate::screen::NoScreen;
use crate::script::NoScripts;
use crate::status_item::NoStatusItems;
use crate::system::NoSystem;
use crate::touch::NoTouch;
use crate::window::{NoWindows, Window, WindowId};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Makes a fake desktop, the usual one or one that differs.
#[derive(Debug, Default)]
pub struct Fake {
    displays: Option<Vec<Display>>,
    missing: Vec<&'static str>,
    empty: bool,
}

/// Looks behind the scene and pulls its strings.
pub struct Control(Provider);

/// All capabilities of a fake desktop.
#[derive(Clone)]
pub(crate) struct Provider(Arc<Shared>);

struct Shared {
    world: Mutex<World>,
    /// Signaled whenever anybody may have changed the world.
    moved: Condvar,
    faults: Mutex<Vec<(String, Fault)>>,
    listeners: Mutex<Vec<person::Listener>>,
    presence: Mutex<person::Presence>,
}

/// What happens to a call instead of what it asks for.
enum Fault {
    Fail(Error),
    FailAlways(Box<dyn Fn() -> Error + Send>),
    Hang,
}

impl Fake {
    /// The usual desktop.
    pub fn new() -> Fake {
        Fake::default()
    }

    /// With these displays instead.
    pub fn displays(mut self, displays: Vec<Display>) -> Fake {
        self.displays = Some(displays);
        self
    }

    /// Without a capability: `screen`, `input`, `elements`, `windows`, `apps`, `audio`, `system`, `clipboard`,
    /// `notifications`, `ocr`, `scripts`, `touch`, `menus`, `status_items`, `files` or
    /// `person`.
    pub fn without(mut self, capability: &'static str) -> Fake {
        self.missing.push(capability);
        self
    }

    /// Without any application.
    pub fn empty(mut self) -> Fake {
        self.empty = true;
        self
    }

    /// Makes it.
    pub fn build(self) -> (Arc<Desktop>, Arc<Control>) {
        let mut world = World::new(self.displays.unwrap_or_else(scene::displays));
        if !self.empty {
            scene::set(&mut world);
        }
        let provider = Provider(Arc::new(Shared {
            world: Mutex::new(world),
            moved: Condvar::new(),
            faults: Mutex::default(),
            listeners: Mutex::default(),
            presence: Mutex::default(),
        }));
        let missing = |capability: &str| {
            self.missing.contains(&capability).then(|| Missing {
                code: Code::Unsupported,
                reason: format!("This fake desktop has no {capability}."),
                remedy: "Build it with one.".to_owned(),
            })
        };
        let choices = [
            "screen",
            "input",
            "elements",
            "windows",
            "apps",
            "audio",
            "system",
            "clipboard",
            "notifications",
            "ocr",
            "scripts",
            "touch",
            "menus",
            "status_items",
            "files",
            "person",
        ]
        .map(|capability| Choice {
            capability,
            provider: missing(capability).map_or(Ok("fake"), Err),
            reason: "It is a fake desktop.".to_owned(),
        });
        // The provider, or the stand-in where the capability is missing.
        macro_rules! part {
            ($capability:literal, $stand_in:expr) => {
                match missing($capability) {
                    None => Box::new(provider.clone()),
                    Some(none) => Box::new($stand_in(none)),
                }
            };
        }
        let desktop = Desktop::new(
            part!("screen", NoScreen),
            part!("input", NoInput),
            part!("elements", NoElements),
            part!("windows", NoWindows),
            part!("apps", NoApps),
            Services {
                audio: part!("audio", NoAudio),
                system: part!("system", NoSystem),
                clipboard: part!("clipboard", NoClipboard),
                notifications: part!("notifications", NoNotifications),
                ocr: part!("ocr", NoOcr),
                scripts: part!("scripts", NoScripts),
                touch: part!("touch", NoTouch),
                menus: part!("menus", NoMenus),
                status_items: part!("status_items", NoStatusItems),
                files: part!("files", NoFiles),
                person: part!("person", NoPerson),
            },
            choices.to_vec(),
        );
        (desktop, Arc::new(Control(provider)))
    }
}

impl Control {
    /// What reached the desktop, a line for each: `move 10,20`, `down left`, `wheel 0,3`,
    /// `key ctrl down`, `type "abc"`, `focus 7`, `perform editor/save click` …
    pub fn log(&self) -> Vec<String> {
        self.0.world().log.clone()
    }

    /// The log so far, which begins anew.
    pub fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.0.world().log)
    }

    /// What the applications got of it, a line for each: `editor/save clicked`,
    /// `editor/text double clicked`, `editor/text got "abc"`, `editor got ctrl+s`.
    pub fn received(&self) -> Vec<String> {
        self.0.world().received.clone()
    }

    /// What is held down, in the order of pressing.
    pub fn held(&self) -> Vec<Held> {
        self.0.world().held.clone()
    }

    /// What an element holds, passwords too: the text, the number. Panics when there is no such element.
    pub fn value(&self, id: &str) -> String {
        self.0.world().item(id).text.clone()
    }

    /// A window as it is, if it is there.
    pub fn window(&self, id: u64) -> Option<Window> {
        self.0.world().described(WindowId(id))
    }

    /// The element that has the keyboard.
    pub fn focused(&self) -> Option<ElementId> {
        self.0.world().focused()
    }

    /// Changes the world from behind: what an application or a person does, or how the world behaves.
    pub fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.0.world())
    }

    /// The same after a while.
    pub fn later(&self, delay: Duration, change: impl FnOnce(&mut World) + Send + 'static) {
        self.0.world().after(delay, change);
    }

    /// Makes the next call of a method or of a whole capability fail: `windows.focus`, `windows`.
    pub fn fail_next(&self, what: &str, error: Error) {
        self.0.faults().push((what.to_owned(), Fault::Fail(error)));
    }

    /// Makes every call fail until [`Control::recover`].
    pub fn fail_always(&self, what: &str, error: impl Fn() -> Error + Send + 'static) {
        self.0.faults().push((what.to_owned(), Fault::FailAlways(Box::new(error))));
    }

    /// Makes the next call hang until its deadline or until it is cancelled.
    pub fn hang_next(&self, what: &str) {
        self.0.faults().push((what.to_owned(), Fault::Hang));
    }

    /// Takes all faults away.
    pub fn recover(&self) {
        self.0.faults().clear();
    }
}

/// The world while somebody has it; whoever waits for a change looks again afterwards.
///
/// Bells are rung only when something did change: whoever sleeps on one looks at the world in turn.
pub(crate) struct Turn<'p> {
    // Dropped in this order: first the lock, then the others are woken.
    world: MutexGuard<'p, World>,
    _wake: Wake<'p>,
}

struct Wake<'p>(&'p Condvar);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.world.ring_bells();
    }
}

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        self.0.notify_all();
    }
}

impl Deref for Turn<'_> {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

impl Provider {
    /// The world as it is by now.
    fn world(&self) -> Turn<'_> {
        let mut world = self.0.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        world.catch_up();
        Turn { world, _wake: Wake(&self.0.moved) }
    }

    fn faults(&self) -> MutexGuard<'_, Vec<(String, Fault)>> {
        self.0.faults.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The world for a call of `method` (`windows.focus`), unless something else is to happen to it.
    fn enter(&self, call: &Call, method: &str) -> Result<Turn<'_>> {
        call.check(&format!("calling {method}"))?;
        self.suffer(call, method)?;
        Ok(self.world())
    }

    fn suffer(&self, call: &Call, method: &str) -> Result<()> {
        let mut faults = self.faults();
        let hit = |what: &str| {
            method.strip_prefix(what).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let Some(place) = faults.iter().position(|(what, _)| hit(what)) else { return Ok(()) };
        if let Fault::FailAlways(error) = &faults[place].1 {
            return Err(error());
        }
        match faults.remove(place).1 {
            Fault::Fail(error) => Err(error),
            Fault::FailAlways(error) => Err(error()),
            Fault::Hang => {
                drop(faults);
                call.pause(call.remaining(), &format!("{method} did not answer"))?;
                call.check(&format!("{method} did not answer"))
            }
        }
    }
}
