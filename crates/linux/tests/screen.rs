//! The screen provider on a real X server with real windows.

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
    let server = Command::new("Xvfb")
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
    let Some(mut stage) = stage("320x200x24") else { return };
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
