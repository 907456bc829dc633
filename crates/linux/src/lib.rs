//! Deskhand on Linux: one provider for each capability, chosen once.

pub mod app;
pub mod atspi;
pub mod audio;
pub mod files;
pub mod menu;
pub mod notification;
pub mod ocr;
mod ready;
pub mod script;
pub mod session;
pub mod status_item;
pub mod system;
pub mod x11;

use deskhand_core::app::{Apps, NoApps};
use deskhand_core::clipboard::{Clipboard, NoClipboard};
use deskhand_core::desktop::{Choice, Desktop, Missing, Services};
use deskhand_core::element::{Elements, NoElements};
use deskhand_core::files::{Files, NoFiles};
use deskhand_core::input::{Input, NoInput};
use deskhand_core::menu::{Menus, NoMenus};
use deskhand_core::person::{NoPerson, Person};
use deskhand_core::screen::{NoScreen, Screen};
use deskhand_core::touch::{NoTouch, Touch};
use deskhand_core::window::{NoWindows, Windows};
use deskhand_core::{Call, Code, Result};
use std::sync::Arc;

/// Which desktop to connect to. What is `None` is not there.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The X display, as DISPLAY names it.
    pub display: Option<String>,
    /// The Wayland display, as WAYLAND_DISPLAY names it.
    pub wayland: Option<String>,
    /// Why there is no X display, where more is known than that there is none.
    pub missing: Option<Missing>,
    /// The buses of the session.
    pub buses: session::Buses,
    /// The audio server of the session.
    pub audio: audio::Server,
    /// The bus of the machine's services, which no session's lock concerns.
    pub machine_bus: Option<String>,
    /// What is known of the session without asking.
    pub facts: system::SessionFacts,
    /// Whether to keep the notification area where nobody else does; always done on a private desktop.
    pub tray_host: bool,
    /// Variables that applications are started with, besides those of this process.
    pub environment: Vec<(String, String)>,
}

/// The provider of the notification area that keeps it itself: it has to be connected before it is asked, so that
/// applications find it.
pub const TRAY_HOST: &str = "tray-host";

/// Set in the environment of everything on a private desktop, so that nobody takes it for the person's.
pub const PRIVATE_MARK: &str = "DESKHAND_PRIVATE_DESKTOP";

impl Place {
    /// The desktop that this process was started in.
    pub fn from_environment() -> Place {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut buses = session::Buses::from_environment();
        let machine_bus = buses.system.clone();
        let private = variable(PRIVATE_MARK).is_some();
        if private {
            // The lock of the person's session does not concern a desktop of Deskhand's own.
            buses.system = None;
        }
        let (display, wayland) = (variable("DISPLAY"), variable("WAYLAND_DISPLAY"));
        let inferred = match (&wayland, &display) {
            (Some(_), _) => Some("wayland".to_owned()),
            (None, Some(_)) => Some("x11".to_owned()),
            (None, None) => None,
        };
        let facts = system::SessionFacts {
            kind: variable("XDG_SESSION_TYPE").or(inferred),
            desktop: variable("XDG_CURRENT_DESKTOP"),
            private,
        };
        Place {
            display,
            wayland,
            missing: None,
            buses,
            audio: audio::Server::from_environment(),
            machine_bus,
            facts,
            tray_host: false,
            environment: Vec::new(),
        }
    }
}

/// Puts the desktop together: chooses a provider for each capability by what kind of session it is, and
/// says why. Nothing is connected yet; each provider connects when it is first used.
pub fn connect(place: &Place) -> Arc<Desktop> {
    let mut choices = Vec::new();
    let mut choose = |capability: &'static str, provider: Result<&'static str, Missing>, reason: &str| {
        choices.push(Choice { capability, provider, reason: reason.to_owned() });
    };
    let missing = place.missing.clone().unwrap_or_else(|| no_display(place));
    let Some(display) = &place.display else {
        let windowed = [
            "input",
            "screen",
            "elements",
            "windows",
            "applications",
            "clipboard",
            "touch",
            "menus",
            "files",
            "person",
        ];
        for capability in windowed {
            choose(capability, Err(missing.clone()), "there is no X display");
        }
        choices.extend(service_choices(place));
        return Desktop::new(
            Box::new(NoScreen(missing.clone())),
            Box::new(NoInput(missing.clone())),
            Box::new(NoElements(missing.clone())),
            Box::new(NoWindows(missing.clone())),
            Box::new(NoApps(missing.clone())),
            services(
                place,
                Box::new(NoClipboard(missing.clone())),
                Box::new(NoTouch(missing.clone())),
                Box::new(NoMenus(missing.clone())),
                Box::new(NoFiles(missing.clone())),
                Box::new(NoPerson(missing)),
                None,
            ),
            choices,
        );
    };
    let why = match &place.wayland {
        Some(_) => format!("DISPLAY is {display}; through Xwayland, X11 windows alone can be worked"),
        None => format!("DISPLAY is {display}"),
    };
    choose("input", Ok("xtest"), &why);
    choose("screen", Ok("x11"), &why);
    choose("windows", Ok("ewmh"), &why);
    choose("elements", Ok("at-spi"), "the accessibility bus of the session");
    choose("applications", Ok("linux"), "desktop entries and /proc");
    choose("clipboard", Ok("x11"), &why);
    let touch: Box<dyn Touch> = match no_touch(place) {
        Some(missing) => {
            choose("touch", Err(missing.clone()), "it is a private desktop");
            Box::new(NoTouch(missing))
        }
        None => {
            choose(
                "touch",
                Ok("uinput"),
                "a touchscreen made through /dev/uinput, as far as this X server takes it",
            );
            Box::new(x11::touch::Touchscreen::new(display))
        }
    };
    choose(
        "menus",
        Ok("linux"),
        "exported on the session bus where a window says so, else its accessibility tree",
    );
    choose(
        "files",
        Ok("file-manager1"),
        "org.freedesktop.FileManager1 on the session bus, and the elements of file managers",
    );
    choose("person", Ok("xinput2"), "the raw events of the input devices; what XTEST makes is no person's");
    choices.extend(service_choices(place));

    let session = session::Session::on(place.buses.clone());
    let windows = Arc::new(x11::window::XWindows::new(display));
    let list = |windows: &Arc<x11::window::XWindows>| -> atspi::WindowList {
        let windows = windows.clone();
        Box::new(move |call| windows.list(call))
    };
    let screen: Box<dyn Screen> = Box::new(x11::screen::XScreen::new(display));
    let input: Box<dyn Input> = Box::new(x11::input::XInput::new(display, session));
    let bus = atspi::Session { display: display.clone(), bus: place.buses.session.clone() };
    let atspi = atspi::Atspi::new(bus.clone(), list(&windows));
    let menus = menu::LinuxMenus::new(display, place.buses.session.clone(), atspi.clone());
    let programs = script::Programs { environment: place.environment.clone() };
    let files = files::FileManagers::new(bus, list(&windows), atspi.clone(), programs);
    let elements: Box<dyn Elements> = Box::new(atspi.clone());
    let apps: Box<dyn Apps> = Box::new(app::LinuxApps::new(place.environment.clone(), list(&windows)));
    let clipboard = Box::new(x11::clipboard::XClipboard::new(display));
    let person = Box::new(x11::person::XPerson::new(display));
    Desktop::new(
        screen,
        input,
        elements,
        Box::new(windows),
        apps,
        services(place, clipboard, touch, Box::new(menus), Box::new(files), person, Some(atspi)),
        choices,
    )
}

/// What a session offers beside its windows; all but the clipboard, touch and menus needs no display.
fn services(
    place: &Place,
    clipboard: Box<dyn Clipboard>,
    touch: Box<dyn Touch>,
    menus: Box<dyn Menus>,
    files: Box<dyn Files>,
    person: Box<dyn Person>,
    atspi: Option<atspi::Atspi>,
) -> Services {
    let (bus, display) = (place.buses.session.clone(), place.display.as_deref());
    Services {
        clipboard,
        menus,
        files,
        person,
        status_items: Box::new(status_item::LinuxStatusItems::new(bus, keeps_tray(place), display, atspi)),
        ocr: Box::new(ocr::Tesseract::new("tesseract")),
        scripts: Box::new(script::Programs { environment: place.environment.clone() }),
        touch,
        audio: Box::new(audio::PulseAudio::new(place.audio.clone())),
        system: Box::new(system::Machine {
            root: "/".into(),
            bus: place.machine_bus.clone(),
            session: place.facts.clone(),
        }),
        notifications: Box::new(notification::Daemon::new(place.buses.session.clone())),
    }
}

/// Why a private desktop has no touchscreen.
fn no_touch(place: &Place) -> Option<Missing> {
    // A device made through the kernel would belong to the person's own session instead.
    place.facts.private.then(|| Missing {
        code: Code::Unsupported,
        reason: "A private desktop has no input devices, so it cannot be touched.".into(),
        remedy: "Use the pointer (click, drag, scroll), or a desktop that runs on a real screen.".into(),
    })
}

fn service_choices(place: &Place) -> [Choice; 6] {
    let area = match keeps_tray(place) {
        true => (TRAY_HOST, "kept by Deskhand itself until somebody else wants to, and icons inside panels"),
        false => ("status-notifier", "what a panel keeps on the session bus, and icons inside panels"),
    };
    [
        ("status items", area.0, area.1),
        ("audio", "pulse", "the native protocol of PulseAudio, which PipeWire speaks too"),
        ("system", "linux", "/proc and /sys, and UPower where it runs"),
        ("ocr", "tesseract", "tesseract on PATH, as a process for each reading"),
        ("scripts", "processes", "processes in sessions of their own"),
        ("notifications", "dbus", "org.freedesktop.Notifications on the session bus, whoever has it"),
    ]
    .map(|(capability, provider, reason)| Choice {
        capability,
        provider: Ok(provider),
        reason: reason.to_owned(),
    })
}

/// Whether Deskhand keeps the notification area where nobody else does. Elsewhere applications would hide into an
/// area that nobody sees.
fn keeps_tray(place: &Place) -> bool {
    place.tray_host || place.facts.private
}

/// Switches accessibility on in the session: what `deskhand doctor --fix` does. Applications that run
/// already may have to be started again before they have a tree.
pub fn enable_accessibility(call: &Call, place: &Place) -> Result<()> {
    let display = place.display.clone().ok_or_else(|| no_display(place).error())?;
    let session = atspi::Session { display, bus: place.buses.session.clone() };
    atspi::Atspi::new(session, Box::new(|_| Ok(Vec::new()))).enable(call)
}

fn no_display(place: &Place) -> Missing {
    let (code, reason) = match &place.wayland {
        Some(wayland) => (
            Code::Unsupported,
            format!(
                "This is a Wayland session ({wayland}) without an X display, which this version cannot see or work."
            ),
        ),
        None => (Code::Backend, "There is no desktop to see or work: DISPLAY is not set.".to_owned()),
    };
    Missing {
        code,
        reason,
        remedy:
            "Start Deskhand with --virtual 1280x800 for a desktop of its own, with --display :0 for one that \
                 runs, or from a terminal on the desktop."
                .to_owned(),
    }
}
