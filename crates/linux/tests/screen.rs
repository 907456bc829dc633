//! The screen provider on a real X server with real windows.

use deskhand_core::geometry::Orientation::{Landscape, Portrait};
use deskhand_core::screen::{Bitmap, Screen, Source};
use deskhand_core::window::WindowId;
use deskhand_core::{Call, Code, Point, Rect};
use deskhand_linux::x11::screen::XScreen;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::*;
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

/// Programs that end with the test.
struct Running(Vec<Child>);

impl Running {
    fn start(&mut self, command: &mut Command) {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.0.push(child.unwrap_or_else(|error| panic!("{command:?} does not start: {error}")));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in self.0.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An X server of the test's own.
struct Stage {
    running: Running,
    display: String,
    screen: XScreen,
    x: RustConnection,
    root: Window,
}

/// Starts an X server; nothing where there is none to start and none is required.
fn stage(size: &str) -> Option<Stage> {
    stage_on(&[], size)
}

/// On a display of its own choice, or on the one that `number` names.
fn stage_on(number: &[&str], size: &str) -> Option<Stage> {
    let server = Command::new("Xvfb")
        .args(number)
        .args(["-displayfd", "1", "-screen", "0", size, "-nolisten", "tcp", "-noreset"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut server = match server {
        Ok(server) => server,
        Err(error) if std::env::var_os("REQUIRE_DESKTOP").is_none() => {
            eprintln!(
                "SKIPPED: Xvfb does not start ({error}). Install xvfb, or set REQUIRE_DESKTOP=x11 to fail."
            );
            return None;
        }
        Err(error) => panic!("Xvfb does not start: {error}"),
    };
    let mut number = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
    let display = format!(":{}", number.trim());
    let (x, screen) = x11rb::connect(Some(&display)).unwrap();
    let root = x.setup().roots[screen].root;
    Some(Stage { running: Running(vec![server]), screen: XScreen::new(&display), display, x, root })
}

fn call() -> Call {
    Call::with_timeout(Duration::from_secs(20))
}

impl Stage {
    fn capture(&self, rect: Rect) -> Arc<Bitmap> {
        self.screen.capture(&call(), Source::Screen(rect)).unwrap()
    }

    /// A window without a window manager's doing, filled by the server.
    fn window(&self, rect: Rect, color: u32) -> Window {
        let id = self.x.generate_id().unwrap();
        let aux = CreateWindowAux::new().background_pixel(color).override_redirect(1);
        self.x
            .create_window(
                24,
                id,
                self.root,
                rect.x as i16,
                rect.y as i16,
                rect.width as u16,
                rect.height as u16,
                0,
                WindowClass::INPUT_OUTPUT,
                0,
                &aux,
            )
            .unwrap();
        self.x.map_window(id).unwrap();
        self.x.sync().unwrap();
        id
    }

    fn fill(&self, window: Window, rect: Rect, color: u32) {
        let gc = self.x.generate_id().unwrap();
        self.x.create_gc(gc, window, &CreateGCAux::new().foreground(color)).unwrap();
        let rectangle = Rectangle {
            x: rect.x as i16,
            y: rect.y as i16,
            width: rect.width as u16,
            height: rect.height as u16,
        };
        self.x.poly_fill_rectangle(window, gc, &[rectangle]).unwrap();
        self.x.free_gc(gc).unwrap();
        self.x.sync().unwrap();
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let status = Command::new(program).args(arguments).env("DISPLAY", &self.display).status();
        assert!(status.unwrap().success(), "{program} failed");
    }
}

fn pixel(bitmap: &Bitmap, x: u32, y: u32) -> u32 {
    let at = (y * bitmap.width + x) as usize * 4;
    u32::from_le_bytes(bitmap.pixels[at..at + 4].try_into().unwrap()) & 0xff_ffff
}

#[test]
fn a_capture_shows_what_was_drawn() {
    let Some(stage) = stage("320x200x24") else { return };
    stage.window(Rect::new(50, 40, 100, 60), 0x336699);
    let all = stage.capture(Rect::new(0, 0, 320, 200));
    assert_eq!((all.width, all.height, all.pixels.len()), (320, 200, 320 * 200 * 4));
    assert_eq!(pixel(&all, 49, 40), 0);
    assert_eq!(pixel(&all, 50, 40), 0x336699);
    assert_eq!(pixel(&all, 149, 99), 0x336699);
    let part = stage.capture(Rect::new(140, 90, 20, 20));
    assert_eq!(part.shows, Rect::new(140, 90, 20, 20));
    assert_eq!((pixel(&part, 9, 9), pixel(&part, 10, 9)), (0x336699, 0));
    assert_eq!(stage.screen.pixel(&call(), Point::new(50, 40)).unwrap(), [0x33, 0x66, 0x99]);
}

#[test]
fn what_lies_off_the_screen_is_refused_with_the_bounds() {
    let Some(stage) = stage("320x200x24") else { return };
    for rect in [Rect::new(-1, 0, 10, 10), Rect::new(0, 0, 321, 10), Rect::new(i32::MAX, 0, u32::MAX, 1)] {
        let error = stage.screen.capture(&call(), Source::Screen(rect)).unwrap_err();
        assert_eq!(error.code, Code::CoordinatesOutOfBounds);
        assert!(error.detail.found[0].contains("320x200"), "{error:?}");
    }
    let error = stage.screen.pixel(&call(), Point::new(320, 0)).unwrap_err();
    assert_eq!(error.code, Code::CoordinatesOutOfBounds);
    let empty = stage.screen.capture(&call(), Source::Screen(Rect::new(0, 0, 0, 10))).unwrap_err();
    assert_eq!(empty.code, Code::InvalidArgument);
}

#[test]
fn an_unchanged_rectangle_is_the_same_bitmap() {
    let Some(stage) = stage("320x200x24") else { return };
    let window = stage.window(Rect::new(0, 0, 100, 100), 0x111111);
    let whole = Rect::new(0, 0, 320, 200);
    let before = stage.capture(whole);
    assert!(Arc::ptr_eq(&before, &stage.capture(whole)));

    stage.fill(window, Rect::new(10, 20, 5, 5), 0xffffff);
    let after = stage.capture(whole);
    assert_ne!(before.serial, after.serial);
    assert_eq!(
        (pixel(&after, 10, 20), pixel(&after, 15, 20), pixel(&after, 10, 25)),
        (0xffffff, 0x111111, 0x111111)
    );
    let differing = before.pixels.chunks(4).zip(after.pixels.chunks(4)).filter(|(a, b)| a != b).count();
    assert_eq!(differing, 25);

    let elsewhere = stage.capture(Rect::new(200, 0, 50, 50));
    stage.fill(window, Rect::new(50, 50, 5, 5), 0xff0000);
    assert!(Arc::ptr_eq(&elsewhere, &stage.capture(Rect::new(200, 0, 50, 50))));
    // Drawn over with the same color: damage, but no change.
    let now = stage.capture(whole);
    stage.fill(window, Rect::new(50, 50, 5, 5), 0xff0000);
    assert!(Arc::ptr_eq(&now, &stage.capture(whole)));
}

#[test]
fn a_bitmap_that_is_brought_up_to_date_shows_what_a_first_look_shows() {
    let Some(stage) = stage("320x200x24") else { return };
    let window = stage.window(Rect::new(0, 0, 320, 200), 0x111111);
    let whole = Rect::new(0, 0, 320, 200);
    let mut held = Vec::new();
    for n in 0..60u32 {
        // Here and there, sometimes twice between two looks, sometimes not at all.
        for part in 0..n % 3 {
            let place = ((n * 53 + part * 97) % 290) as i32;
            stage.fill(window, Rect::new(place, place * 3 % 180, 9, 7), n * 40_009);
        }
        let seen = stage.capture(whole);
        // A rectangle of another size is captured from the start and takes part in nothing.
        let first = stage.capture(Rect::new(0, 0, 320, 199 - n));
        assert!(seen.pixels.starts_with(&first.pixels), "look {n}");
        // A caller that still holds an older one keeps it as it was.
        if n % 7 == 0 {
            held.push((seen.clone(), seen.pixels.clone()));
        }
    }
    assert!(held.iter().all(|(bitmap, pixels)| bitmap.pixels == *pixels));
}

#[test]
fn changes_since_a_mark_are_told_by_area() {
    let Some(stage) = stage("320x200x24") else { return };
    let window = stage.window(Rect::new(0, 0, 100, 100), 0);
    let mark = stage.screen.mark(&call()).unwrap();
    let changed = |area| stage.screen.changed_since(&call(), mark, area).unwrap();
    assert!(!changed(Rect::new(0, 0, 320, 200)));
    stage.fill(window, Rect::new(10, 10, 10, 10), 0xff);
    assert!(changed(Rect::new(0, 0, 320, 200)));
    assert!(changed(Rect::new(19, 19, 1, 1)));
    assert!(!changed(Rect::new(20, 20, 100, 100)));
    let later = stage.screen.mark(&call()).unwrap();
    assert!(!stage.screen.changed_since(&call(), later, Rect::new(0, 0, 320, 200)).unwrap());
    assert!(stage.screen.changed_since(&call(), 0, Rect::new(300, 0, 1, 1)).unwrap());
}

#[test]
fn displays_are_monitors_in_order_and_follow_changes() {
    let Some(stage) = stage("2560x800x24") else { return };
    let only = stage.screen.displays(&call()).unwrap();
    assert_eq!(only.len(), 1);
    assert!(only[0].primary);
    assert_eq!(only[0].bounds, Rect::new(0, 0, 2560, 800));
    assert_eq!((only[0].refresh_hz, only[0].scale), (None, 1.0));

    stage.run("xrandr", &["--setmonitor", "L", "1280/300x800/190+0+0", "none"]);
    stage.run("xrandr", &["--setmonitor", "*R", "1280/300x800/190+1280+0", "screen"]);
    let cardinal = |name: &[u8], values: &[u32]| {
        let atom = stage.x.intern_atom(false, name).unwrap().reply().unwrap().atom;
        stage.x.change_property32(PropMode::REPLACE, stage.root, atom, AtomEnum::CARDINAL, values).unwrap();
        stage.x.sync().unwrap();
        atom
    };
    let panel = stage.window(Rect::new(1280, 770, 1280, 30), 0x222222);
    let strut = stage.x.intern_atom(false, b"_NET_WM_STRUT_PARTIAL").unwrap().reply().unwrap().atom;
    let values = [0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 1280, 2559];
    stage.x.change_property32(PropMode::REPLACE, panel, strut, AtomEnum::CARDINAL, &values).unwrap();
    cardinal(b"_NET_WORKAREA", &[0, 0, 2560, 770]);
    let clients = stage.x.intern_atom(false, b"_NET_CLIENT_LIST").unwrap().reply().unwrap().atom;
    stage.x.change_property32(PropMode::REPLACE, stage.root, clients, AtomEnum::WINDOW, &[panel]).unwrap();
    stage.x.sync().unwrap();

    let both = stage.screen.displays(&call()).unwrap();
    let shown: Vec<_> =
        both.iter().map(|display| (display.id.as_str(), display.bounds, display.work_area)).collect();
    assert_eq!(
        shown,
        [
            ("R", Rect::new(1280, 0, 1280, 800), Rect::new(1280, 0, 1280, 770)),
            ("L", Rect::new(0, 0, 1280, 800), Rect::new(0, 0, 1280, 800)),
        ]
    );

    stage.run("xrandr", &["--setmonitor", "P", "500/100x800/190+700+0", "none"]);
    let turned = stage.screen.displays(&call()).unwrap();
    let turned: Vec<_> = turned.iter().map(|display| (display.id.as_str(), display.orientation)).collect();
    assert_eq!(turned, [("R", Landscape), ("L", Landscape), ("P", Portrait)]);
}

#[test]
fn a_covered_window_is_captured_whole() {
    let Some(stage) = stage("400x300x24") else { return };
    // The server paints backgrounds itself: nobody has to answer.
    let below = stage.window(Rect::new(300, 50, 200, 100), 0x00aa00);
    stage.window(Rect::new(350, 60, 20, 20), 0xaa0000);
    let bitmap = stage.screen.capture(&call(), Source::Window(WindowId(below.into()))).unwrap();
    assert_eq!(bitmap.shows, Rect::new(300, 50, 200, 100));
    assert!(bitmap.pixels.chunks(4).all(|bgrx| bgrx[..3] == [0, 0xaa, 0]));
    let again = stage.screen.capture(&call(), Source::Window(WindowId(below.into()))).unwrap();
    assert!(Arc::ptr_eq(&bitmap, &again));
    stage.fill(below, Rect::new(150, 0, 1, 1), 0xffffff);
    let after = stage.screen.capture(&call(), Source::Window(WindowId(below.into()))).unwrap();
    assert_eq!(pixel(&after, 150, 0), 0xffffff, "what is drawn off the screen shows too");
}

#[test]
fn windows_without_pixels_say_why() {
    let Some(stage) = stage("320x200x24") else { return };
    let window = stage.window(Rect::new(0, 0, 50, 50), 0xff);
    stage.x.unmap_window(window).unwrap();
    stage.x.sync().unwrap();
    let capture = |id: u64| stage.screen.capture(&call(), Source::Window(WindowId(id))).unwrap_err();
    assert_eq!(capture(window.into()).code, Code::WindowMinimized);
    stage.x.destroy_window(window).unwrap();
    stage.x.sync().unwrap();
    assert_eq!(capture(window.into()).code, Code::WindowNotFound);
    assert_eq!(capture(1 << 40).code, Code::WindowNotFound);
}

#[test]
fn a_screen_of_16_bits_is_unsupported_and_says_so() {
    let Some(stage) = stage("320x200x16") else { return };
    let error = stage.screen.capture(&call(), Source::Screen(Rect::new(0, 0, 10, 10))).unwrap_err();
    assert_eq!(error.code, Code::Unsupported);
    assert!(error.message.contains("16 bits"), "{error:?}");
}

#[test]
fn the_pointer_has_a_picture_where_it_is() {
    let Some(stage) = stage("320x200x24") else { return };
    stage.x.warp_pointer(x11rb::NONE, stage.root, 0, 0, 0, 0, 100, 90).unwrap();
    stage.x.sync().unwrap();
    let Some(image) = stage.screen.pointer_image(&call()).unwrap() else { return };
    assert!(image.bounds.grown(1).contains(Point::new(100, 90)), "{:?}", image.bounds);
    assert_eq!(image.pixels.len() as u64, image.bounds.area() * 4);
}

#[test]
fn a_screen_that_comes_back_is_captured_again() {
    // Far from where servers look for a free number: nobody may take this one while it is free.
    let number = format!(":{}", 750 + std::process::id() % 150);
    let Some(mut stage) = stage_on(&[&number], "320x200x24") else { return };
    let whole = Rect::new(0, 0, 320, 200);
    let before = stage.capture(whole);
    let mark = stage.screen.mark(&call()).unwrap();
    stage.running = Running(Vec::new());
    let error = stage.screen.capture(&call(), Source::Screen(whole)).unwrap_err();
    assert_eq!(error.code, Code::Backend, "{error:?}");
    let number = stage.display.clone();
    stage.running.start(Command::new("Xvfb").args([
        &number,
        "-screen",
        "0",
        "320x200x24",
        "-nolisten",
        "tcp",
    ]));
    let after = call()
        .until("waiting for the new server", || Ok(stage.screen.capture(&call(), Source::Screen(whole)).ok()))
        .unwrap();
    assert_eq!(before.pixels, after.pixels);
    assert!(stage.screen.changed_since(&call(), mark, Rect::new(0, 0, 1, 1)).unwrap());
}

#[test]
fn many_threads_capture_at_once() {
    let Some(stage) = stage("1280x800x24") else { return };
    let window = stage.window(Rect::new(0, 0, 1280, 800), 0x010203);
    std::thread::scope(|scope| {
        for number in 0..4u32 {
            let stage = &stage;
            scope.spawn(move || {
                for round in 0..20 {
                    let rect = Rect::new(number as i32 * 100, 0, 300 + round, 700);
                    let bitmap = stage.capture(rect);
                    assert_eq!(bitmap.pixels.len() as u64, rect.area() * 4);
                    stage.capture(Rect::new(0, 0, 1280, 800));
                }
            });
        }
        for round in 0..50 {
            stage.fill(window, Rect::new(round * 20, 100, 10, 10), 0xffffff);
        }
    });
    let end = stage.capture(Rect::new(0, 0, 1280, 800));
    assert_eq!(pixel(&end, 985, 105), 0xffffff);
}

/// An application with a window that stands still: its name, its command, a part of its title.
const APPLICATIONS: &[(&str, &[&str], &str)] = &[
    ("GTK3", &["mousepad", "--disable-server"], "Mousepad"),
    ("GTK4", &["gnome-calculator"], "Calculator"),
    ("Qt5", &["kcalc"], "KCalc"),
    (
        "Chromium",
        &[
            "chromium",
            "--no-sandbox",
            "--no-first-run",
            "--disable-gpu",
            "--user-data-dir=HOME/chromium",
            "--window-size=700,500",
            "data:text/html,<title>Stage</title><body style='background:linear-gradient(red,blue)'><h1>Text</h1>",
        ],
        "Stage",
    ),
    ("Writer", &["libreoffice", "--norestore", "--nologo", "--writer"], "Writer"),
];

#[test]
fn applications_are_captured_whole_behind_others_and_off_the_screen() {
    let Some(mut stage) = stage("1280x800x24") else { return };
    let home = std::env::temp_dir().join(format!("deskhand-screen-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let home_name = home.to_str().unwrap().to_owned();
    let display = stage.display.clone();
    let command = |program: &str, arguments: &[String]| {
        let mut command = Command::new(program);
        command.args(arguments).env("DISPLAY", &display).env("HOME", &home_name);
        command.env("GDK_BACKEND", "x11").env("QT_QPA_PLATFORM", "xcb").env("LIBGL_ALWAYS_SOFTWARE", "1");
        command.env("XDG_RUNTIME_DIR", &home_name).env_remove("WAYLAND_DISPLAY");
        // A bus that is not there: nothing may reach the session of whoever runs this.
        command
            .env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={home_name}/none"))
            .env("NO_AT_BRIDGE", "1");
        command
    };
    stage.running.start(&mut command("openbox", &[]));
    for (toolkit, line, title) in APPLICATIONS {
        let arguments: Vec<_> = line[1..].iter().map(|word| word.replace("HOME", &home_name)).collect();
        if Command::new("sh")
            .args(["-c", &format!("command -v {}", line[0])])
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| !status.success())
        {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{} is not installed", line[0]);
            eprintln!("SKIPPED: {toolkit}, because {} is not installed.", line[0]);
            continue;
        }
        stage.running.start(&mut command(line[0], &arguments));
        let window = stage.wait_for_window(title);
        stage.make_small(window);
        stage.check_hidden_parts(toolkit, window);
        stage.x.kill_client(window).unwrap();
        stage.x.sync().unwrap();
    }
    drop(stage);
    let _ = std::fs::remove_dir_all(home);
}

#[test]
fn a_frozen_application_is_named_and_holds_up_nobody_else() {
    let Some(mut stage) = stage("640x480x24") else { return };
    let found = Command::new("sh").args(["-c", "command -v mousepad"]).stdout(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "mousepad is not installed");
        return eprintln!("SKIPPED: mousepad is not installed.");
    }
    let display = stage.display.clone();
    stage.running.start(Command::new("openbox").env("DISPLAY", &display));
    let mut command = Command::new("mousepad");
    command
        .arg("--disable-server")
        .env("DISPLAY", &display)
        .env("GDK_BACKEND", "x11")
        .env("NO_AT_BRIDGE", "1");
    command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent");
    stage.running.start(&mut command);
    let process = stage.running.0.last().unwrap().id().to_string();
    let window = stage.wait_for_window("Mousepad");
    let frame = stage.screen.capture(&call(), Source::Window(WindowId(window.into()))).unwrap().shows;
    let cover = stage.window(frame.grown(-20), 0xff00ff);

    assert!(Command::new("kill").args(["-STOP", &process]).status().unwrap().success());
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| stage.screen.capture(&call(), Source::Window(WindowId(window.into()))));
        let mut others = 0;
        while !hanging.is_finished() {
            stage.capture(Rect::new(0, 0, 100, 100 + others % 50));
            others += 1;
        }
        assert!(100 < others, "only {others} captures while one waited");
        let error = hanging.join().unwrap().unwrap_err();
        assert_eq!(error.code, Code::Timeout, "{error:?}");
        assert!(error.message.contains(&window.to_string()), "{error:?}");
    });
    assert!(Command::new("kill").args(["-CONT", &process]).status().unwrap().success());
    let woken = call()
        .until("the application to react again", || {
            Ok(stage.screen.capture(&call(), Source::Window(WindowId(window.into()))).ok())
        })
        .unwrap();
    assert_eq!(woken.pixels.chunks(4).filter(|pixel| pixel[..3] == [0xff, 0, 0xff]).count(), 0);
    stage.x.destroy_window(cover).unwrap();
}

impl Stage {
    fn property(&self, window: Window, name: &[u8], kind: AtomEnum) -> GetPropertyReply {
        let atom = self.x.intern_atom(false, name).unwrap().reply().unwrap().atom;
        self.x.get_property(false, window, atom, kind, 0, 1024).unwrap().reply().unwrap_or_default()
    }

    /// Waits until the window with this title is there and draws no more.
    fn wait_for_window(&self, title: &str) -> Window {
        let patience = Call::with_timeout(Duration::from_secs(90));
        let window = patience
            .until("waiting for the application's window", || {
                let clients = self.property(self.root, b"_NET_CLIENT_LIST", AtomEnum::WINDOW);
                let mut clients: Vec<u32> = clients.value32().map(Iterator::collect).unwrap_or_default();
                clients.retain(|client| {
                    let name = self.property(*client, b"_NET_WM_NAME", AtomEnum::ANY).value;
                    String::from_utf8_lossy(&name).contains(title)
                });
                Ok(clients.pop())
            })
            .unwrap_or_else(|error| panic!("{title}: {error}"));
        self.wait_for_stillness();
        window
    }

    /// A window that can be moved: neither maximized nor as large as the screen.
    fn make_small(&self, window: Window) {
        let atom = |name: &[u8]| self.x.intern_atom(false, name).unwrap().reply().unwrap().atom;
        let (vertically, horizontally) =
            (atom(b"_NET_WM_STATE_MAXIMIZED_VERT"), atom(b"_NET_WM_STATE_MAXIMIZED_HORZ"));
        let remove = [0, vertically, horizontally, 1, 0];
        let message = ClientMessageEvent::new(32, window, atom(b"_NET_WM_STATE"), remove);
        let mask = EventMask::SUBSTRUCTURE_NOTIFY | EventMask::SUBSTRUCTURE_REDIRECT;
        self.x.send_event(false, self.root, mask, message).unwrap();
        let size = self.x.get_geometry(window).unwrap().reply().unwrap();
        let aux = ConfigureWindowAux::new().x(40).y(40);
        let aux = aux.width(u32::from(size.width).min(800)).height(u32::from(size.height).min(600));
        self.x.configure_window(window, &aux).unwrap();
        self.x.sync().unwrap();
        self.wait_for_stillness();
    }

    /// Waits until nothing larger than a caret was drawn for a while.
    fn wait_for_stillness(&self) {
        let patience = Call::with_timeout(Duration::from_secs(60));
        let size = self.x.get_geometry(self.root).unwrap().reply().unwrap();
        let whole = Rect::new(0, 0, size.width.into(), size.height.into());
        let mut last = self.capture(whole);
        let mut since = std::time::Instant::now();
        patience
            .until("waiting until the application stands still", || {
                let now = self.capture(whole);
                if different(&last, &now) > 200 {
                    since = std::time::Instant::now();
                    last = now;
                }
                Ok((since.elapsed() > Duration::from_millis(1500)).then_some(()))
            })
            .unwrap();
    }

    fn check_hidden_parts(&self, toolkit: &str, window: Window) {
        let capture = || {
            let started = std::time::Instant::now();
            let bitmap = self.screen.capture(&call(), Source::Window(WindowId(window.into()))).unwrap();
            (bitmap, started.elapsed())
        };
        let (shown, _) = capture();
        assert!(
            Rect::new(0, 0, 1280, 800).intersection(&shown.shows) == Some(shown.shows),
            "{:?}",
            shown.shows
        );

        let covers = [
            Rect::new(shown.shows.x + 30, shown.shows.y + 10, shown.width / 2, shown.height - 40),
            Rect::new(shown.shows.x - 10, shown.shows.y + 60, shown.width, 50),
        ]
        .map(|rect| self.window(rect, 0xff00ff));
        let focus = self.x.get_input_focus().unwrap().reply().unwrap().focus;
        let (behind, first) = capture();
        assert_eq!(
            self.x.get_input_focus().unwrap().reply().unwrap().focus,
            focus,
            "{toolkit} lost the focus"
        );
        let wrong = different(&shown, &behind);
        let (_, second) = capture();
        eprintln!("{toolkit}: {wrong} pixels differ behind others; {first:?}, then {second:?}");
        assert!(wrong < 400, "{toolkit}: {wrong} of {} pixels differ when covered", shown.shows.area());
        for cover in covers {
            self.x.destroy_window(cover).unwrap();
        }
        self.x.sync().unwrap();

        // Half of it beyond the right edge.
        let left = 1280 - shown.width as i32 / 2;
        self.x.configure_window(window, &ConfigureWindowAux::new().x(left).y(120)).unwrap();
        self.x.sync().unwrap();
        self.wait_for_stillness();
        let (outside, first) = capture();
        assert!(1280 < outside.shows.right(), "{toolkit} did not move: {}", outside.shows);
        assert_eq!(
            self.x.get_input_focus().unwrap().reply().unwrap().focus,
            focus,
            "{toolkit} lost the focus"
        );
        let wrong = different(&shown, &outside);
        eprintln!("{toolkit}: {wrong} pixels differ off the screen; {first:?}");
        assert!(wrong < 400, "{toolkit}: {wrong} pixels differ when half of it is off the screen");
    }
}

/// Pixels that differ visibly.
fn different(one: &Bitmap, other: &Bitmap) -> usize {
    if one.pixels.len() != other.pixels.len() {
        return usize::MAX;
    }
    let pairs = one.pixels.chunks(4).zip(other.pixels.chunks(4));
    pairs.filter(|(a, b)| a[..3].iter().zip(&b[..3]).any(|(a, b)| a.abs_diff(*b) > 8)).count()
}
