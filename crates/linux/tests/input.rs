//! Pointer, keys and text on a real X server, judged by what windows and applications got.
//!
//! Every test starts a display of its own. A missing Xvfb fails: input that nobody checked is worthless.

use deskhand_core::input::{Button, Input, Press};
use deskhand_core::key::{Key, NamedKey};
use deskhand_core::{Call, Code, Point};
use deskhand_linux::session::{Buses, Session};
use deskhand_linux::x11::input::XInput;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateWindowAux, EventMask, InputFocus, KeyButMask, PropMode, WindowClass,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

const PLENTY: Duration = Duration::from_secs(20);

fn call() -> Call {
    Call::with_timeout(PLENTY)
}

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An X server and a window manager.
struct Desk {
    display: String,
    folder: PathBuf,
    _processes: Vec<Process>,
}

impl Desk {
    fn start() -> Desk {
        let (reader, writer) = std::io::pipe().unwrap();
        // The number is written to a descriptor that the server inherits: its standard output here.
        let server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"])
            .stdout(writer)
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb is needed for these tests (package xvfb)");
        let mut line = String::new();
        BufReader::new(reader).read_line(&mut line).unwrap();
        let display = format!(":{}", line.trim());
        assert!(display.len() > 1, "Xvfb did not start");
        let mut desk = Desk { folder: folder(&display), display, _processes: vec![Process(server)] };
        // Without bindings of its own the window manager keeps no click and no key to itself.
        let config = desk.folder.join("rc.xml");
        fs::write(&config, r#"<openbox_config xmlns="http://openbox.org/3.4/rc"/>"#).unwrap();
        desk.run("openbox", &["--config-file", config.to_str().unwrap()]);
        let (x, screen) = desk.connect();
        let root = x.setup().roots[screen].root;
        // openbox says that it is there before it listens: a window mapped in between stays unmapped.
        let list = x.intern_atom(false, b"_NET_CLIENT_LIST").unwrap().reply().unwrap().atom;
        wait("a window manager", || {
            let reply = x.get_property(false, root, list, x11rb::NONE, 0, 1).unwrap().reply().unwrap();
            (reply.type_ != x11rb::NONE).then_some(())
        });
        desk
    }

    fn connect(&self) -> (RustConnection, usize) {
        x11rb::connect(Some(&self.display)).unwrap()
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("DISPLAY", &self.display)
            .env("HOME", &self.folder)
            .env("GDK_BACKEND", "x11")
            .env("QT_QPA_PLATFORM", "xcb")
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .env("GSK_RENDERER", "cairo")
            .env("NO_AT_BRIDGE", "1")
            .env("GTK_A11Y", "none")
            .env("GTK_USE_PORTAL", "0")
            .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
            .env_remove("WAYLAND_DISPLAY")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn run(&mut self, program: &str, arguments: &[&str]) -> u32 {
        let child = self.command(program, arguments).spawn();
        let child = child.unwrap_or_else(|error| panic!("{program} is needed for these tests: {error}"));
        let pid = child.id();
        self._processes.push(Process(child));
        pid
    }

    fn tell(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program, arguments).stdout(Stdio::piped()).output();
        let output = output.unwrap_or_else(|error| panic!("{program} is needed for these tests: {error}"));
        assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn input(&self) -> XInput {
        XInput::new(&self.display, Session::none())
    }

    /// Starts a text field and returns the file that holds what it holds.
    fn editor(&mut self, toolkit: &str) -> PathBuf {
        let log = self.folder.join(format!("{toolkit}.log"));
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/input/editor.py");
        self.run("/usr/bin/python3", &[script, toolkit, log.to_str().unwrap()]);
        wait(&format!("the {toolkit} editor"), || log.exists().then_some(()));
        log
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // The window manager first, so that it does not complain about the server.
        while let Some(process) = self._processes.pop() {
            drop(process);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn folder(display: &str) -> PathBuf {
    let name = format!("deskhand-test-{}-{}", std::process::id(), display.trim_start_matches(':'));
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[track_caller]
fn wait<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    call().until(what, || Ok(probe())).unwrap_or_else(|error| panic!("{error}"))
}

/// Types a text, waits until the log holds it and shows what it holds instead when it never does.
#[track_caller]
fn type_into(input: &XInput, log: &Path, text: &str) -> Duration {
    let before = fs::read_to_string(log).unwrap();
    let guard = input.lock(&call()).unwrap();
    input.check_text(&call(), text).unwrap();
    let started = Instant::now();
    input.type_text(&call(), text, Duration::ZERO, &mut |_| Ok(())).unwrap();
    drop(guard);
    let expected = format!("{before}{}", text.replace("\r\n", "\n"));
    shows(log, &expected);
    started.elapsed()
}

/// Waits until the application shows the text, and shows what it has instead when it never does.
#[track_caller]
fn shows(log: &Path, expected: &str) {
    let mut last = String::new();
    let seen = Call::with_timeout(Duration::from_secs(5)).until("the text", || {
        last = fs::read_to_string(log).unwrap();
        Ok((last == expected).then_some(()))
    });
    if seen.is_err() {
        let same = last.chars().zip(expected.chars()).take_while(|(a, b)| a == b).count();
        let part = |text: &str| text.chars().skip(same.saturating_sub(5)).take(60).collect::<String>();
        panic!("wrong from character {same} on:\ntyped {:?}\ngot   {:?}", part(expected), part(&last));
    }
}

/// A window that logs the events that it gets.
struct Stage {
    x: RustConnection,
    root: u32,
    log: Vec<Event>,
}

impl Stage {
    fn open(desk: &Desk) -> Stage {
        let (x, screen) = desk.connect();
        let root = x.setup().roots[screen].root;
        let window = x.generate_id().unwrap();
        let events = EventMask::KEY_PRESS
            | EventMask::KEY_RELEASE
            | EventMask::BUTTON_PRESS
            | EventMask::BUTTON_RELEASE
            | EventMask::FOCUS_CHANGE;
        let aux = CreateWindowAux::new().event_mask(events);
        x.create_window(0, window, root, 0, 0, 1000, 700, 0, WindowClass::INPUT_OUTPUT, 0, &aux).unwrap();
        // The window manager keeps to a place that the person chose.
        let mut hints = x11rb::properties::WmSizeHints::new();
        hints.position = Some((x11rb::properties::WmSizeHintsSpecification::UserSpecified, 0, 0));
        hints.set_normal_hints(&x, window).unwrap();
        let title = x11rb::protocol::xproto::AtomEnum::WM_NAME;
        let string = x11rb::protocol::xproto::AtomEnum::STRING;
        x.change_property8(PropMode::REPLACE, window, title, string, b"stage").unwrap();
        x.map_window(window).unwrap();
        x.flush().unwrap();
        let mut stage = Stage { x, root, log: Vec::new() };
        wait("the stage to be focused", || {
            stage.read();
            stage.x.map_window(window).unwrap();
            stage.x.set_input_focus(InputFocus::PARENT, window, x11rb::CURRENT_TIME).unwrap();
            stage.log.iter().any(|event| matches!(event, Event::FocusIn(_))).then_some(())
        });
        stage.log.clear();
        stage
    }

    fn read(&mut self) {
        self.x.sync().unwrap();
        while let Some(event) = self.x.poll_for_event().unwrap() {
            self.log.push(event);
        }
    }

    /// What has come since the last look, in short: `+b1@10,20`, `-k38 shift`.
    fn take(&mut self) -> Vec<String> {
        self.read();
        let held = |state: KeyButMask| {
            let names = [
                (KeyButMask::SHIFT, "shift"),
                (KeyButMask::LOCK, "lock"),
                (KeyButMask::CONTROL, "ctrl"),
                (KeyButMask::MOD1, "alt"),
                (KeyButMask::MOD2, "num"),
            ];
            let held: Vec<_> =
                names.iter().filter(|(bit, _)| state.contains(*bit)).map(|(_, name)| *name).collect();
            if held.is_empty() { String::new() } else { format!(" {}", held.join("+")) }
        };
        self.log
            .drain(..)
            .filter_map(|event| match event {
                Event::KeyPress(e) => Some(format!("+k{}{}", e.detail, held(e.state))),
                Event::KeyRelease(e) => Some(format!("-k{}{}", e.detail, held(e.state))),
                Event::ButtonPress(e) => {
                    Some(format!("+b{}@{},{}{}", e.detail, e.root_x, e.root_y, held(e.state)))
                }
                Event::ButtonRelease(e) => {
                    Some(format!("-b{}@{},{}{}", e.detail, e.root_x, e.root_y, held(e.state)))
                }
                _ => None,
            })
            .collect()
    }

    /// Keys that are down, whoever pressed them.
    fn down(&self) -> Vec<u8> {
        let keys = self.x.query_keymap().unwrap().reply().unwrap().keys;
        (0..=255).filter(|code| keys[usize::from(code / 8)] & (1 << (code % 8)) != 0).collect()
    }

    fn buttons(&self) -> u16 {
        u16::from(self.x.query_pointer(self.root).unwrap().reply().unwrap().mask) & 0x1f00
    }

    /// Somebody else's key.
    fn press(&self, keycode: u8, down: bool) {
        self.x.xtest_fake_input(if down { 2 } else { 3 }, keycode, 0, x11rb::NONE, 0, 0, 0).unwrap();
        self.x.sync().unwrap();
    }
}

#[test]
fn the_pointer_goes_to_the_pixel_and_every_button_and_notch_arrives() {
    let desk = Desk::start();
    let mut stage = Stage::open(&desk);
    let input = desk.input();
    let call = call();
    let _lock = input.lock(&call).unwrap();
    for point in [Point::new(200, 300), Point::new(0, 0), Point::new(1279, 799), Point::new(401, 333)] {
        input.move_to(&call, point).unwrap();
        assert_eq!(input.state(&call).unwrap().position, point);
    }
    for button in [Button::Left, Button::Middle, Button::Right, Button::Back, Button::Forward] {
        input.button(&call, button, Press::Down).unwrap();
        assert_eq!(input.state(&call).unwrap().buttons, [button]);
        input.button(&call, button, Press::Up).unwrap();
    }
    let clicks = [1, 2, 3, 8, 9].map(|n| [format!("+b{n}@401,333"), format!("-b{n}@401,333")]);
    assert_eq!(stage.take(), clicks.concat());
    input.wheel(&call, 0, 2).unwrap();
    input.wheel(&call, -1, -1).unwrap();
    input.wheel(&call, 1, 0).unwrap();
    let notches = [5, 5, 4, 6, 7].map(|n| [format!("+b{n}@401,333"), format!("-b{n}@401,333")]);
    assert_eq!(stage.take(), notches.concat());
    for outside in [Point::new(1280, 5), Point::new(5, -1), Point::new(70_000, 5)] {
        let error = input.move_to(&call, outside).unwrap_err();
        assert_eq!(error.code, Code::CoordinatesOutOfBounds, "{error}");
    }
}

#[test]
fn swapped_buttons_still_mean_what_they_say() {
    let desk = Desk::start();
    let mut stage = Stage::open(&desk);
    let input = desk.input();
    let call = call();
    input.move_to(&call, Point::new(300, 300)).unwrap();
    input.button(&call, Button::Left, Press::Down).unwrap();
    input.button(&call, Button::Left, Press::Up).unwrap();
    let mut map = stage.x.get_pointer_mapping().unwrap().reply().unwrap().map;
    map.swap(0, 2);
    stage.x.set_pointer_mapping(&map).unwrap().reply().unwrap();
    input.button(&call, Button::Left, Press::Down).unwrap();
    input.button(&call, Button::Left, Press::Up).unwrap();
    assert_eq!(stage.take(), ["+b1@300,300", "-b1@300,300", "+b1@300,300", "-b1@300,300"]);
}

#[test]
fn five_hundred_clicks_arrive_once_each_and_fast() {
    let desk = Desk::start();
    let mut stage = Stage::open(&desk);
    let input = desk.input();
    let call = call();
    let mut times = Vec::new();
    let mut expected = Vec::new();
    for n in 0..500 {
        let (x, y) = (100 + n % 700, 100 + n % 400);
        let started = Instant::now();
        let lock = input.lock(&call).unwrap();
        input.state(&call).unwrap();
        input.move_to(&call, Point::new(x, y)).unwrap();
        input.button(&call, Button::Left, Press::Down).unwrap();
        input.button(&call, Button::Left, Press::Up).unwrap();
        drop(lock);
        times.push(started.elapsed());
        expected.extend([format!("+b1@{x},{y}"), format!("-b1@{x},{y}")]);
    }
    let seen = stage.take();
    let wrong = seen.iter().zip(&expected).position(|(seen, expected)| seen != expected);
    assert_eq!(
        (wrong, seen.len()),
        (None, expected.len()),
        "{:?}",
        wrong.map(|at| &seen[at..(at + 4).min(seen.len())])
    );
    assert_eq!(stage.buttons(), 0);
    times.sort();
    eprintln!("lock, state, move and click: median {:?}, p95 {:?}", times[250], times[475]);
}

#[test]
fn every_named_key_arrives_and_leaves_nothing_down() {
    let desk = Desk::start();
    let mut stage = Stage::open(&desk);
    let input = desk.input();
    let call = call();
    let _lock = input.lock(&call).unwrap();
    for key in NamedKey::ALL {
        input.key(&call, Key::Named(*key), Press::Down).unwrap_or_else(|error| panic!("{error}"));
        input.key(&call, Key::Named(*key), Press::Up).unwrap();
        let seen = stage.take();
        assert!(
            seen.len() == 2 && seen[0].starts_with("+k") && seen[1].starts_with("-k"),
            "{key:?}: {seen:?}"
        );
        // Caps Lock and Num Lock stay on: off again.
        if matches!(key, NamedKey::CapsLock | NamedKey::NumLock) {
            input.key(&call, Key::Named(*key), Press::Down).unwrap();
            input.key(&call, Key::Named(*key), Press::Up).unwrap();
            stage.take();
        }
    }
    assert_eq!(stage.down(), [0; 0]);
    input.key(&call, Key::Named(NamedKey::Numpad7), Press::Down).unwrap();
    input.key(&call, Key::Named(NamedKey::Numpad7), Press::Up).unwrap();
    input.key(&call, Key::Named(NamedKey::Home), Press::Down).unwrap();
    input.key(&call, Key::Named(NamedKey::Home), Press::Up).unwrap();
    assert_eq!(stage.take(), ["+k79 num", "-k79 num", "+k110", "-k110"]);
}

const MIXED: &str =
    "Grüße, Žluťoučký! Привет мир — 漢字かな交じり文 😀🎉👩‍💻 €µ÷ ñ Ñ ß ẞ “quoted” … {[|]}~^`\\ @";

/// A line of 200 characters with at most 38 that the us layout lacks.
fn few_extras() -> String {
    let extras: Vec<char> = "äöüßÄÖÜéèñабвгдежзийклмн漢字仮名交文章😀🎉🚀".chars().collect();
    (0..200).map(|n| if n % 2 == 0 { extras[n / 2 % extras.len()] } else { 'a' }).collect()
}

/// 200 characters that the us layout lacks, 150 of them distinct.
fn many_extras() -> String {
    (0..200).map(|n| char::from_u32(0x4e00 + (n * 37 % 150) * 3).unwrap()).collect()
}

fn ascii() -> String {
    (0..200).map(|n| char::from(33 + (n * 7 % 94) as u8)).collect()
}

fn types_everything_exactly(toolkit: &str) {
    let mut desk = Desk::start();
    let log = desk.editor(toolkit);
    let input = desk.input();
    type_into(&input, &log, "warm up\n");
    let (ascii, few, many) = (ascii(), few_extras(), many_extras());
    let times = [
        type_into(&input, &log, &ascii),
        type_into(&input, &log, &few),
        type_into(&input, &log, &many),
        type_into(&input, &log, MIXED),
    ];
    eprintln!(
        "{toolkit}: ascii {:?}, few {:?}, many {:?}, mixed {:?}",
        times[0], times[1], times[2], times[3]
    );
    type_into(&input, &log, "a\r\nb\n\tc\n");
    // Two hundred texts one after the other, without a pause and with the symbols of spare keys changing.
    let mut expected = fs::read_to_string(&log).unwrap();
    for line in 0..200 {
        let text = format!("line {line}: ä漢{}\n", char::from_u32(0x430 + line % 64).unwrap());
        input.type_text(&call(), &text, Duration::ZERO, &mut |_| Ok(())).unwrap();
        expected.push_str(&text);
    }
    shows(&log, &expected);
}

#[test]
fn gtk3_gets_every_character() {
    types_everything_exactly("gtk3");
}

#[test]
fn gtk4_gets_every_character() {
    types_everything_exactly("gtk4");
}

#[test]
fn qt5_gets_every_character() {
    types_everything_exactly("qt5");
}

/// Sets the layout and waits until the server has it.
fn layout(desk: &Desk, arguments: &[&str]) {
    desk.tell("setxkbmap", arguments);
}

fn locks(desk: &Desk, modifiers: u8, group: Option<u8>) {
    use x11rb::protocol::xkb::ConnectionExt as _;
    let (x, _) = desk.connect();
    x.xkb_use_extension(1, 0).unwrap().reply().unwrap();
    let all = x11rb::protocol::xproto::ModMask::from(0xffu16);
    let on = x11rb::protocol::xproto::ModMask::from(u16::from(modifiers));
    x.xkb_latch_lock_state(0x100, all, on, group.is_some(), group.unwrap_or(0).into(), all, false, 0)
        .unwrap();
    x.sync().unwrap();
}

/// The locked modifiers and the locked group.
fn locked(desk: &Desk) -> (u16, u8) {
    use x11rb::protocol::xkb::ConnectionExt as _;
    let (x, _) = desk.connect();
    x.xkb_use_extension(1, 0).unwrap().reply().unwrap();
    let state = x.xkb_get_state(0x100).unwrap().reply().unwrap();
    (state.locked_mods.into(), state.locked_group.into())
}

const LAYOUT_TEXT: &str =
    "Hello, World! z y Z Y @ € { } [ ] \\ | ~ äöüÄÖÜß ÷ Привет, Мир! ёЁ №5 漢字 😀 a7:/?'\"-_=+\n";

fn types_in_every_layout(toolkit: &str) {
    let mut desk = Desk::start();
    let log = desk.editor(toolkit);
    let input = desk.input();
    type_into(&input, &log, LAYOUT_TEXT);
    layout(&desk, &["de"]);
    type_into(&input, &log, LAYOUT_TEXT);
    locks(&desk, 2 | 16, None);
    type_into(&input, &log, LAYOUT_TEXT);
    assert_eq!(locked(&desk), (2 | 16, 0), "Caps Lock and Num Lock are on again");
    locks(&desk, 0, None);
    layout(&desk, &["us,ru"]);
    for group in [0, 1] {
        locks(&desk, 2, Some(group));
        type_into(&input, &log, LAYOUT_TEXT);
        assert_eq!(locked(&desk), (2, group), "the group is as it was");
        locks(&desk, 0, Some(group));
        type_into(&input, &log, LAYOUT_TEXT);
    }
    layout(&desk, &["-option", "", "de", "neo"]);
    type_into(&input, &log, LAYOUT_TEXT);
}

#[test]
fn gtk3_gets_the_same_in_every_layout() {
    types_in_every_layout("gtk3");
}

#[test]
fn gtk4_gets_the_same_in_every_layout() {
    types_in_every_layout("gtk4");
}

#[test]
fn qt5_gets_the_same_in_every_layout() {
    types_in_every_layout("qt5");
}
