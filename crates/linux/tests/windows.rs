//! Windows on real X servers, with real window managers and applications. What Deskhand says is compared
//! with what xdotool, xwininfo, xprop and wmctrl say.

mod own_desktop;

use deskhand_core::watch::Bell;
use deskhand_core::window::{Window, WindowId, WindowState, WindowWatch, Windows};
use deskhand_core::{Code, Point, Rect, Size};
use deskhand_linux::x11::window::XWindows;
use own_desktop::{OwnDesktop, call, until};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::protocol::shape::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    ClientMessageEvent, ConnectionExt as _, CreateWindowAux, EventMask, Window as Xid, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

const QT: &str = "import sys\nfrom PyQt5.QtWidgets import *\napp = QApplication(sys.argv)\n\
    w = QLineEdit('x')\nw.setWindowTitle('Qt Grüße 日本 😀')\nw.resize(300, 200)\nw.show()\napp.exec_()";

/// A window manager and its applications.
struct Stage {
    desktop: OwnDesktop,
    windows: XWindows,
}

impl Stage {
    fn new(manager: &[&str]) -> Option<Stage> {
        let desktop = OwnDesktop::start(manager)?;
        let windows = XWindows::new(&desktop.display);
        Some(Stage { desktop, windows })
    }

    /// Starts a program and waits until its window, whose title contains `title`, is there and drawn.
    fn open(&mut self, title: &str, program: &str, arguments: &[&str]) -> WindowId {
        self.desktop.spawn(program, arguments);
        let mut found = None;
        until(&format!("the window {title:?}"), || {
            found = self.list().into_iter().find(|w| w.title.contains(title)).map(|w| w.id);
            found.is_some()
        });
        let id = found.unwrap();
        until("the window to rest", || {
            let before = self.window(id).bounds;
            let settled = self.windows.settle(&call(), id, Duration::from_secs(9));
            settled.is_ok() && self.window(id).bounds == before
        });
        id
    }

    fn mousepad(&mut self) -> WindowId {
        self.open("Mousepad", "mousepad", &["--disable-server"])
    }

    fn xterm(&mut self, title: &str) -> WindowId {
        self.open(title, "xterm", &["-T", title])
    }

    fn qt(&mut self) -> WindowId {
        self.open("Qt Grüße 日本 😀", "/usr/bin/python3", &["-c", QT])
    }

    fn calculator(&mut self) -> WindowId {
        self.open("Calculator", "gnome-calculator", &[])
    }

    fn chromium(&mut self) -> WindowId {
        let data = format!("--user-data-dir={}", self.desktop.home.join("chromium").display());
        let flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", &data, "data:text/html,<title>Page"];
        self.open("Page", "chromium", &flags)
    }

    fn list(&self) -> Vec<Window> {
        self.windows.list(&call()).unwrap()
    }

    fn window(&self, id: WindowId) -> Window {
        self.list().into_iter().find(|window| window.id == id).expect("the window is in the list")
    }

    fn ask(&self, program: &str, arguments: &[&str]) -> String {
        self.desktop.run(program, arguments)
    }

    /// The X window's own place, as xwininfo sees it.
    fn client(&self, id: WindowId) -> Rect {
        let text = self.ask("xwininfo", &["-id", &id.to_string()]);
        let number = |key: &str| -> i64 {
            let line = text.lines().find(|line| line.trim().starts_with(key)).unwrap_or_default();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        // It tells the corner of the border, and the size without it.
        let border = number("Border width") as i32;
        Rect::new(
            number("Absolute upper-left X") as i32 + border,
            number("Absolute upper-left Y") as i32 + border,
            number("Width") as u32,
            number("Height") as u32,
        )
    }

    /// The decorated place, put together from xwininfo and xprop.
    fn decorated(&self, id: WindowId) -> Rect {
        let mut rect = self.client(id);
        let mut grow = |property: &str, sign: i32| {
            let text = self.ask("xprop", &["-id", &id.to_string(), property]);
            let Some((_, numbers)) = text.split_once('=') else { return };
            let edges: Vec<i32> = numbers.split(',').map(|n| n.trim().parse().unwrap()).collect();
            let [left, right, top, bottom] = edges[..] else { panic!("{text}") };
            rect = Rect::new(
                rect.x - sign * left,
                rect.y - sign * top,
                (rect.width as i32 + sign * (left + right)) as u32,
                (rect.height as i32 + sign * (top + bottom)) as u32,
            );
        };
        grow("_NET_FRAME_EXTENTS", 1);
        grow("_GTK_FRAME_EXTENTS", -1);
        rect
    }

    fn property(&self, id: WindowId, property: &str) -> String {
        self.ask("xprop", &["-id", &id.to_string(), property])
    }

    /// Asks for a state and waits until both Deskhand and xprop see it.
    fn reach(&self, id: WindowId, asked: WindowState, expected: WindowState) {
        self.windows.set_state(&call(), id, asked).unwrap();
        until(&format!("{expected:?} after asking for {asked:?}"), || self.window(id).state == expected);
        let flags = self.property(id, "_NET_WM_STATE");
        let iconic = self.property(id, "WM_STATE").contains("Iconic");
        assert_eq!(iconic, expected == WindowState::Minimized, "{flags} {:?} {asked:?}", self.window(id));
        assert_eq!(flags.contains("_NET_WM_STATE_FULLSCREEN"), expected == WindowState::Fullscreen);
        // A fullscreen window may be maximized beneath.
        if !iconic && expected != WindowState::Fullscreen {
            assert_eq!(flags.contains("_NET_WM_STATE_MAXIMIZED_VERT"), expected == WindowState::Maximized);
        }
    }

    fn active(&self) -> String {
        self.ask("xdotool", &["getactivewindow"]).trim().to_owned()
    }
}

/// Everything that a manager with all of EWMH does, on one window of each toolkit.
fn works_with(manager: &[&str]) {
    let Some(mut stage) = Stage::new(manager) else { return };
    let mousepad = stage.mousepad();
    let xterm = stage.xterm("Terminal");
    let qt = stage.qt();
    let calculator = stage.calculator();
    let chromium = stage.chromium();
    let all = [mousepad, xterm, qt, calculator, chromium];
    the_list_agrees(&stage, &all);
    for id in all {
        windows_land_where_asked(&stage, id, id != xterm);
        states_come_and_go(&stage, id);
        let answers = stage.windows.settle(&call(), id, Duration::from_secs(5)).unwrap();
        assert_eq!(answers, id != xterm, "xterm alone takes no part in _NET_WM_PING");
    }
    for id in all {
        closing_ends_it(&stage, id);
    }
    assert!(stage.list().is_empty(), "{:?}", stage.list());
}

fn the_list_agrees(stage: &Stage, all: &[WindowId]) {
    // Some programs take the focus a while after their window is there.
    let last = all[all.len() - 1];
    stage.windows.focus(&call(), last).unwrap();
    until("the focus", || stage.window(last).focused && stage.active() == last.to_string());
    let listed = stage.list();
    let mut ids: Vec<WindowId> = listed.iter().map(|window| window.id).collect();
    ids.sort();
    let mut expected = all.to_vec();
    expected.sort();
    assert_eq!(ids, expected);
    for window in &listed {
        let id = window.id.to_string();
        assert_eq!(window.title, stage.ask("xdotool", &["getwindowname", &id]).trim());
        assert_eq!(window.pid.unwrap().to_string(), stage.ask("xdotool", &["getwindowpid", &id]).trim());
        let class = stage.ask("xprop", &["-id", &id, "WM_CLASS"]);
        assert!(class.trim().ends_with(&format!("{:?}", window.application)), "{class} {window:?}");
        assert_eq!(window.bounds, stage.decorated(window.id), "{window:?}");
        assert_eq!(window.focused, stage.active() == id);
        assert!(!window.transient);
        assert_eq!(window.state, WindowState::Normal);
    }
    let stacking = stage.ask("xprop", &["-root", "_NET_CLIENT_LIST_STACKING"]);
    let from_the_top: Vec<u64> = stacking
        .rsplit('#')
        .next()
        .unwrap()
        .split(',')
        .rev()
        .map(|id| u64::from_str_radix(id.trim().trim_start_matches("0x"), 16).unwrap())
        .collect();
    assert_eq!(listed.iter().map(|window| window.id.0).collect::<Vec<_>>(), from_the_top);
}

fn windows_land_where_asked(stage: &Stage, id: WindowId, exact: bool) {
    let title = stage.window(id).title;
    for (origin, size) in [
        (Some(Point::new(100, 120)), Some(Size { width: 640, height: 600 })),
        (Some(Point::new(301, 77)), None),
        (None, Some(Size { width: 701, height: 611 })),
    ] {
        let before = stage.window(id).bounds;
        let (place, extent) = (origin.unwrap_or(before.origin()), size.unwrap_or(before.size()));
        let wanted = Rect::new(place.x, place.y, extent.width, extent.height);
        stage.windows.place(&call(), id, origin, size).unwrap();
        let close = |is: Rect| {
            // xterm rounds down to whole characters, 6x13 pixels.
            is.origin() == wanted.origin()
                && is.width.abs_diff(wanted.width) < if exact { 1 } else { 6 }
                && is.height.abs_diff(wanted.height) < if exact { 1 } else { 13 }
        };
        until(&format!("{title} to lie at {wanted} (is {})", stage.window(id).bounds), || {
            close(stage.window(id).bounds)
        });
        until(&format!("xwininfo to see {title} at {wanted}"), || close(stage.decorated(id)));
    }
}

fn states_come_and_go(stage: &Stage, id: WindowId) {
    use WindowState::{Fullscreen, Maximized, Minimized, Normal};
    for (asked, expected) in [
        (Minimized, Minimized),
        (Normal, Normal),
        (Maximized, Maximized),
        (Minimized, Minimized),
        // Restoring gives back what was minimized.
        (Normal, Maximized),
        (Fullscreen, Fullscreen),
        (Maximized, Maximized),
        (Normal, Normal),
        (Minimized, Minimized),
    ] {
        stage.reach(id, asked, expected);
    }
    stage.windows.focus(&call(), id).unwrap();
    until("the minimized window to come back with the focus", || {
        let window = stage.window(id);
        window.focused && window.state == Normal && stage.active() == id.to_string()
    });
    assert_eq!(stage.list()[0].id, id, "the focused window is on top");
    assert_eq!(
        stage.windows.set_state(&call(), id, WindowState::Hidden).unwrap_err().code,
        Code::InvalidArgument
    );
}

fn closing_ends_it(stage: &Stage, id: WindowId) {
    stage.windows.close(&call(), id).unwrap();
    until("the window to close", || stage.list().iter().all(|window| window.id != id));
    let listed = stage.ask("wmctrl", &["-l"]);
    assert!(!listed.contains(&format!("0x{:08x}", id.0)), "{listed}");
    until("the window to be destroyed", || {
        let refused = stage.windows.focus(&call(), id);
        refused.is_err_and(|error| error.code == Code::WindowNotFound)
    });
    let windows = &stage.windows;
    for result in [
        windows.place(&call(), id, Some(Point::new(1, 1)), None),
        windows.set_state(&call(), id, WindowState::Normal),
        windows.close(&call(), id),
        windows.settle(&call(), id, Duration::from_secs(1)).map(drop),
    ] {
        assert_eq!(result.unwrap_err().code, Code::WindowNotFound);
    }
}

#[test]
fn everything_works_with_openbox() {
    works_with(&["openbox"]);
}

/// With its compositor, so that GTK paints shadows into its windows.
#[test]
fn everything_works_with_xfwm4() {
    works_with(&["xfwm4"]);
}

#[test]
fn a_tiling_manager_ignores_much_and_nothing_lies() {
    let Some(mut stage) = Stage::new(&["i3", "-c", "/dev/null"]) else { return };
    let mousepad = stage.mousepad();
    let xterm = stage.xterm("Terminal");
    let before = stage.window(mousepad);
    stage
        .windows
        .place(&call(), mousepad, Some(Point::new(9, 9)), Some(Size { width: 300, height: 300 }))
        .unwrap();
    stage.windows.set_state(&call(), mousepad, WindowState::Minimized).unwrap();
    stage.windows.settle(&call(), mousepad, Duration::from_secs(5)).unwrap();
    assert_eq!(stage.window(mousepad).bounds, before.bounds);
    assert_eq!(stage.window(mousepad).state, WindowState::Normal);
    let client = stage.client(mousepad);
    assert_eq!(stage.window(mousepad).content, client);
    assert!(before.bounds.union(&client) == before.bounds, "the frame holds the client");
    let refused = stage.windows.set_state(&call(), mousepad, WindowState::Maximized).unwrap_err();
    assert_eq!(refused.code, Code::Unsupported);
    assert!(refused.message.starts_with("i3 "), "{}", refused.message);
    for id in [mousepad, xterm] {
        stage.windows.focus(&call(), id).unwrap();
        until("the focus", || stage.window(id).focused && stage.active() == id.to_string());
    }
    stage.reach(mousepad, WindowState::Fullscreen, WindowState::Fullscreen);
    stage.reach(mousepad, WindowState::Normal, WindowState::Normal);
    closing_ends_it(&stage, mousepad);
}

#[test]
fn windows_of_another_workspace_are_hidden() {
    let Some(mut stage) = Stage::new(&["openbox"]) else { return };
    let here = stage.xterm("Here");
    let there = stage.xterm("There");
    stage.ask("wmctrl", &["-r", "There", "-t", "1"]);
    until("the window to leave", || stage.window(there).state == WindowState::Hidden);
    assert_eq!(stage.window(here).state, WindowState::Normal);
    stage.windows.focus(&call(), there).unwrap();
    until("the workspace to change", || {
        let (here, there) = (stage.window(here), stage.window(there));
        let workspace = stage.ask("xprop", &["-root", "_NET_CURRENT_DESKTOP"]);
        there.focused
            && there.state == WindowState::Normal
            && here.state == WindowState::Hidden
            && workspace.trim().ends_with("= 1")
    });
}

/// What can be done without a window manager is done, the rest refused.
fn works_alone(stage: &Stage, mousepad: WindowId, xterm: WindowId) {
    let mut ids: Vec<WindowId> = stage.list().iter().map(|window| window.id).collect();
    ids.sort();
    let mut expected = vec![mousepad, xterm];
    expected.sort();
    assert_eq!(ids, expected);
    for id in [mousepad, xterm] {
        assert_eq!(stage.window(id).state, WindowState::Normal);
        stage.windows.focus(&call(), id).unwrap();
        until("the input focus", || stage.window(id).focused);
        assert_eq!(stage.list()[0].id, id);
        let focus: u64 = stage.ask("xdotool", &["getwindowfocus"]).trim().parse().unwrap();
        assert_eq!(focus >> 8, id.0 >> 8, "the focus is in a window of the same program");
        let (origin, size) = (Point::new(200, 100), Size { width: 500, height: 400 });
        stage.windows.place(&call(), id, Some(origin), Some(size)).unwrap();
        let wanted = Rect::new(200, 100, 500, 400);
        until("the window to be placed", || stage.window(id).bounds == wanted);
        let client = stage.client(id);
        assert_eq!(stage.window(id).content, client);
        let error = stage.windows.set_state(&call(), id, WindowState::Maximized).unwrap_err();
        assert_eq!(error.code, Code::Backend);
        assert!(error.message.contains("No window manager"), "{}", error.message);
    }
    assert_eq!(stage.windows.at(&call(), Point::new(300, 200)).unwrap().unwrap().id, xterm);
    stage.windows.close(&call(), mousepad).unwrap();
    until("the window to close", || stage.list().len() == 1);
}

#[test]
fn windows_are_seen_and_placed_without_a_manager() {
    let Some(mut stage) = Stage::new(&[]) else { return };
    let mousepad = stage.mousepad();
    let xterm = stage.xterm("Terminal");
    works_alone(&stage, mousepad, xterm);
}

#[test]
fn what_a_dead_manager_left_behind_is_not_believed() {
    let Some(mut stage) = Stage::new(&[]) else { return };
    let manager = stage.desktop.spawn("openbox", &[]);
    until("the manager", || stage.ask("wmctrl", &["-m"]).contains("Openbox"));
    let mousepad = stage.mousepad();
    let xterm = stage.xterm("Terminal");
    stage.reach(mousepad, WindowState::Maximized, WindowState::Maximized);
    stage.desktop.kill(manager);
    until("the windows to come out of their frames", || stage.list().len() == 2);
    assert!(stage.ask("xprop", &["-root", "_NET_SUPPORTING_WM_CHECK"]).contains("window id"));
    works_alone(&stage, mousepad, xterm);
}

#[test]
fn the_window_at_a_point_is_the_one_that_takes_the_click() {
    let Some(mut stage) = Stage::new(&["openbox"]) else { return };
    let xterm = stage.xterm("Terminal");
    let mousepad = stage.mousepad();
    let at = |x, y| stage.windows.at(&call(), Point::new(x, y)).unwrap();
    for (id, origin) in [(xterm, Point::new(700, 100)), (mousepad, Point::new(100, 100))] {
        stage.windows.place(&call(), id, Some(origin), Some(Size { width: 500, height: 400 })).unwrap();
        until("the window to be placed", || stage.window(id).bounds.origin() == origin);
    }
    assert_eq!(at(900, 300).unwrap().id, xterm);
    assert_eq!(at(110, 105).unwrap().id, mousepad, "the title bar belongs to the window");
    assert_eq!(at(100, 100).unwrap(), stage.window(mousepad), "the same as in the list");
    assert_eq!(at(40, 780), None);
    assert_eq!(at(-5, 100_000), None);

    stage.windows.focus(&call(), mousepad).unwrap();
    until("the focus", || stage.window(mousepad).focused);
    stage.ask("xdotool", &["key", "alt+f"]);
    let content = stage.window(mousepad).content;
    let (x, y) = (content.x + 20, content.y + 60);
    until("the menu", || at(x, y).is_some_and(|window| window.id != mousepad));
    let menu = at(x, y).unwrap();
    assert!(menu.transient);
    assert_eq!((menu.application.as_str(), menu.pid), ("Mousepad", stage.window(mousepad).pid));
    assert!(stage.list().iter().all(|window| window.id != menu.id));
    stage.ask("xdotool", &["key", "Escape", "Escape"]);
    until("the menu to close", || at(x, y).is_some_and(|window| window.id == mousepad));

    let (x11, screen) = x11rb::connect(Some(&stage.desktop.display)).unwrap();
    let root = x11.setup().roots[screen].root;
    let cover = |class: WindowClass, shaped: bool| -> Xid {
        let id = x11.generate_id().unwrap();
        let aux = CreateWindowAux::new().override_redirect(1);
        x11.create_window(0, id, root, 100, 100, 500, 400, 0, class, 0, &aux).unwrap();
        if shaped {
            let (set, unsorted) = (shape::SO::SET, x11rb::protocol::xproto::ClipOrdering::UNSORTED);
            x11.shape_rectangles(set, shape::SK::INPUT, unsorted, id, 0, 0, &[]).unwrap();
        }
        x11.map_window(id).unwrap();
        x11.sync().unwrap();
        id
    };
    let clear = cover(WindowClass::INPUT_ONLY, false);
    assert_eq!(at(300, 300).unwrap().id, mousepad, "a window that shows nothing is seen through");
    let ghost = cover(WindowClass::INPUT_OUTPUT, true);
    assert_eq!(at(300, 300).unwrap().id, mousepad, "a window that takes no input is seen through");
    let solid = cover(WindowClass::INPUT_OUTPUT, false);
    assert_eq!(at(300, 300).unwrap().id, WindowId(u64::from(solid)));
    for id in [clear, ghost, solid] {
        x11.destroy_window(id).unwrap();
    }
    x11.sync().unwrap();
    assert_eq!(at(300, 300).unwrap().id, mousepad);
}

#[test]
fn a_frozen_application_costs_only_its_own_patience() {
    let Some(mut stage) = Stage::new(&["openbox"]) else { return };
    let mousepad = stage.mousepad();
    let qt = stage.qt();
    let pid = Pid::from_raw(stage.window(mousepad).pid.unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let started = Instant::now();
    std::thread::scope(|scope| {
        let frozen = scope.spawn(|| stage.windows.settle(&call(), mousepad, Duration::from_millis(700)));
        // Other windows, the list and forged answers go on meanwhile.
        let (x11, screen) = x11rb::connect(Some(&stage.desktop.display)).unwrap();
        let root = x11.setup().roots[screen].root;
        let intern = |name: &[u8]| x11.intern_atom(false, name).unwrap().reply().unwrap().atom;
        let (protocols, ping) = (intern(b"WM_PROTOCOLS"), intern(b"_NET_WM_PING"));
        let forged = [ping, 12345, mousepad.0 as u32, 0, 0];
        let mask = EventMask::SUBSTRUCTURE_NOTIFY | EventMask::SUBSTRUCTURE_REDIRECT;
        while !frozen.is_finished() {
            let event = ClientMessageEvent::new(32, root, protocols, forged);
            x11.send_event(false, root, mask, event).unwrap().check().unwrap();
            assert!(stage.windows.settle(&call(), qt, Duration::from_secs(5)).unwrap());
            assert_eq!(stage.list().len(), 2);
        }
        let error = frozen.join().unwrap().unwrap_err();
        assert_eq!(error.code, Code::Timeout);
        assert!(error.message.contains("did not answer within 700 ms"), "{}", error.message);
    });
    assert!(Duration::from_millis(700) <= started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(3));
    let short = deskhand_core::Call::with_timeout(Duration::from_millis(100));
    let cut = stage.windows.settle(&short, mousepad, Duration::from_secs(60)).unwrap_err();
    assert_eq!(cut.code, Code::Timeout, "the call's own deadline counts too");
    kill_process(pid, Signal::CONT).unwrap();
    assert!(stage.windows.settle(&call(), mousepad, Duration::from_secs(5)).unwrap());
}

#[test]
fn windows_that_come_and_go_do_not_break_the_list() {
    let Some(stage) = Stage::new(&["openbox"]) else { return };
    let display = stage.desktop.display.clone();
    std::thread::scope(|scope| {
        let flicker = scope.spawn(|| {
            let (x11, screen) = x11rb::connect(Some(&display)).unwrap();
            let root = x11.setup().roots[screen].root;
            for _ in 0..200 {
                let ids: Vec<Xid> = (0..5).map(|_| x11.generate_id().unwrap()).collect();
                for id in &ids {
                    let aux = CreateWindowAux::new();
                    x11.create_window(0, *id, root, 0, 0, 90, 90, 0, WindowClass::INPUT_OUTPUT, 0, &aux)
                        .unwrap();
                    x11.map_window(*id).unwrap();
                }
                x11.sync().unwrap();
                call().pause(Duration::from_millis(3), "letting the manager see them").unwrap();
                for id in &ids {
                    x11.destroy_window(*id).unwrap();
                }
                x11.sync().unwrap();
            }
        });
        let mut most = 0;
        while !flicker.is_finished() {
            most = most.max(stage.list().len());
            stage.windows.at(&call(), Point::new(40, 40)).unwrap();
        }
        flicker.join().unwrap();
        assert!(0 < most, "some of them were seen");
    });
    until("all to be gone", || stage.list().is_empty());
}

#[test]
fn twenty_windows_are_listed_in_a_blink() {
    let Some(mut stage) = Stage::new(&["openbox"]) else { return };
    for n in 0..20 {
        stage.desktop.spawn("xterm", &["-T", &format!("Terminal {n}")]);
    }
    until("twenty windows", || stage.list().len() == 20);
    let mut times: Vec<Duration> = (0..50)
        .map(|_| {
            let started = Instant::now();
            assert_eq!(stage.list().len(), 20);
            started.elapsed()
        })
        .collect();
    times.sort();
    eprintln!("20 windows: median {:?}, fastest {:?}", times[25], times[0]);
    // A millisecond is the aim; without optimization, on a busy machine, the fastest shows no round trip
    // for each property: 20 windows have 320.
    assert!(times[0] < Duration::from_millis(8), "{times:?}");
}

/// Waits until a watch that was rung says that something changed.
fn rung(watch: &mut Box<dyn WindowWatch>, bell: &Bell) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        assert!(bell.wait(Some(end)), "the bell rings");
        if watch.changed(&call()).unwrap() {
            return;
        }
    }
}

/// Whether anything is told within a moment.
fn is_quiet(watch: &mut Box<dyn WindowWatch>, bell: &Bell) -> bool {
    while bell.wait(Some(Instant::now() + Duration::from_millis(500))) {
        if watch.changed(&call()).unwrap() {
            return false;
        }
    }
    true
}

fn watches(manager: &[&str]) {
    let Some(mut stage) = Stage::new(manager) else { return };
    let bell = Bell::default();
    let mut watch = stage.windows.watch(&call(), &bell).unwrap();
    let xterm = stage.xterm("watched");
    rung(&mut watch, &bell);
    until("the new window to be drawn", || is_quiet(&mut watch, &bell));
    let id = xterm.to_string();
    for change in [
        vec!["windowmove", &id, "60", "70"],
        vec!["windowsize", &id, "300", "200"],
        vec!["set_window", "--name", "renamed", &id],
        vec!["windowunmap", &id],
        vec!["windowmap", &id],
    ] {
        stage.desktop.run("xdotool", &change);
        rung(&mut watch, &bell);
        until("the change to be over", || is_quiet(&mut watch, &bell));
    }
    // The pointer over a window, and keys into it, change nothing about windows.
    stage.desktop.run("xdotool", &["mousemove", "100", "100", "key", "a"]);
    assert!(is_quiet(&mut watch, &bell));
    stage.desktop.run("xdotool", &["windowkill", &id]);
    rung(&mut watch, &bell);
}

#[test]
fn changes_of_windows_ring_with_a_manager() {
    watches(&["openbox"]);
}

#[test]
fn changes_of_windows_ring_without_a_manager() {
    watches(&[]);
}

#[test]
fn a_watch_on_a_server_that_dies_says_so() {
    let Some(stage) = Stage::new(&["openbox"]) else { return };
    let bell = Bell::default();
    let mut watch = stage.windows.watch(&call(), &bell).unwrap();
    until("the desktop to rest", || is_quiet(&mut watch, &bell));
    drop(stage);
    assert!(bell.wait(Some(Instant::now() + Duration::from_secs(20))));
    let end = Instant::now() + Duration::from_secs(20);
    let error = loop {
        match watch.changed(&call()) {
            Err(error) => break error,
            Ok(_) => assert!(bell.wait(Some(end)), "the end is told"),
        }
    };
    assert!(error.code == Code::Backend && error.message.contains("was lost"), "{error:?}");
}

#[test]
fn no_display_is_an_error_with_a_remedy() {
    let windows = XWindows::new(":4999");
    let error = windows.list(&call()).unwrap_err();
    assert_eq!(error.code, Code::Backend);
    assert!(error.detail.remedy.is_some());
}
