//! Fingers: the stream that the kernel is given, checked against its protocol, and the same stream turned into
//! the touches of a real X server, as its input driver turns it.
//!
//! The kernel's own door to it is not there on every machine. Between the stream and the X server stands then
//! what libinput does: it is written here, and its touches go into Xorg through the inputtest driver.

use deskhand_core::touch::Touch;
use deskhand_core::{Call, Code, Point};
use deskhand_linux::x11::touch::Touchscreen;
use deskhand_linux::x11::touch::stream::Contacts;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xinput::{self, ConnectionExt as _, XIEventMask};
use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, WindowClass};
use x11rb::rust_connection::RustConnection;
use xorg::{Device, LAST, Xorg};

mod xorg;

/// What a reader of protocol B knows: the slot that is talked of, and each slot's touch.
#[derive(Default)]
struct Reader {
    slot: i32,
    touches: BTreeMap<i32, (i32, [i32; 2])>,
    touched: bool,
    single: [i32; 2],
    /// What happened since the last report.
    news: Vec<(Kind, i32, [i32; 2])>,
    ids: Vec<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Begin = 18,
    Update = 19,
    End = 20,
}

impl Reader {
    /// Takes whole events; says what each report amounts to.
    fn read(&mut self, bytes: &[u8]) -> Vec<Vec<(Kind, i32, [i32; 2])>> {
        let size = 2 * size_of::<usize>() + 8;
        assert_eq!(bytes.len() % size, 0, "events are whole");
        let mut reports = Vec::new();
        for event in bytes.chunks(size) {
            let event = &event[size - 8..];
            let kind = u16::from_ne_bytes([event[0], event[1]]);
            let code = u16::from_ne_bytes([event[2], event[3]]);
            let value = i32::from_ne_bytes([event[4], event[5], event[6], event[7]]);
            match (kind, code) {
                (0, 0) => {
                    assert_eq!(self.touched, !self.touches.is_empty(), "BTN_TOUCH goes with the fingers");
                    if let Some((_, first)) = self.touches.get(&0) {
                        assert_eq!(self.single, *first, "one finger is told to those that know one only");
                    }
                    reports.push(std::mem::take(&mut self.news));
                }
                (1, 0x14a) => self.touched = value == 1,
                (3, 0) => self.single[0] = value,
                (3, 1) => self.single[1] = value,
                (3, 0x2f) => {
                    assert!((0..10).contains(&value));
                    self.slot = value;
                }
                (3, 0x39) if value == -1 => {
                    let (_, at) = self.touches.remove(&self.slot).expect("a finger that was down");
                    self.news.push((Kind::End, self.slot, at));
                }
                (3, 0x39) => {
                    assert!(!self.ids.contains(&value), "a new touch has a new number");
                    self.ids.push(value);
                    let before = self.touches.insert(self.slot, (value, [0, 0]));
                    assert!(before.is_none(), "a finger comes down once");
                    self.news.push((Kind::Begin, self.slot, [0, 0]));
                }
                (3, 0x35 | 0x36) => {
                    let (_, at) = self.touches.get_mut(&self.slot).expect("a finger that is down");
                    at[usize::from(code - 0x35)] = value;
                    let at = *at;
                    match self.news.iter_mut().find(|news| news.1 == self.slot) {
                        Some(news) => news.2 = at,
                        None => self.news.push((Kind::Update, self.slot, at)),
                    }
                }
                other => panic!("{other:?} is no event of a touchscreen"),
            }
        }
        reports
    }
}

#[test]
fn the_stream_keeps_to_the_kernels_protocol() {
    let mut bytes = Vec::new();
    let mut contacts = Contacts::new(&mut bytes);
    contacts.place(&[(10, 20), (30, 40)]).unwrap();
    contacts.place(&[(11, 21), (31, 41)]).unwrap();
    contacts.lift().unwrap();
    contacts.lift().unwrap();
    contacts.place(&[(5, 6)]).unwrap();
    // Whoever lets go of it lifts what is down.
    drop(contacts);
    let mut reader = Reader::default();
    use Kind::{Begin, End, Update};
    assert_eq!(
        reader.read(&bytes),
        [
            vec![(Begin, 0, [10, 20]), (Begin, 1, [30, 40])],
            vec![(Update, 0, [11, 21]), (Update, 1, [31, 41])],
            vec![(End, 0, [11, 21]), (End, 1, [31, 41])],
            vec![(Begin, 0, [5, 6])],
            vec![(End, 0, [5, 6])],
        ]
    );
    assert!(reader.touches.is_empty() && !reader.touched);
}

/// Hands the stream to Xorg's inputtest driver, as libinput hands touches to its own.
struct Bridge {
    driver: Device,
    reader: Reader,
    range: [i32; 2],
}

impl Bridge {
    fn new(socket: &std::path::Path, range: [i32; 2]) -> Bridge {
        Bridge { driver: Device::take(socket), reader: Reader::default(), range }
    }

    fn touch(&mut self, kind: Kind, slot: i32, at: [i32; 2]) {
        let place = |axis: usize| (f64::from(at[axis]) * LAST / f64::from(self.range[axis])).round();
        let axes = xorg::axes(&[place(0), place(1)]);
        self.driver.send(&[1056, 6, slot.cast_unsigned(), kind as u32], &axes);
    }
}

impl Write for Bridge {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for (kind, slot, at) in self.reader.read(bytes).concat() {
            self.touch(kind, slot, at);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const NAME: &str = "touched";

fn start(test: &str) -> Option<Xorg> {
    Xorg::start(test, &[(NAME, xorg::Kind::Touch)])
}

fn screen(xorg: &Xorg, name: &str) -> Touchscreen {
    let socket = xorg.socket(NAME);
    Touchscreen::with(
        &xorg.display,
        name,
        Box::new(move |_, width, height| Ok(Box::new(Bridge::new(&socket, [width, height])))),
    )
}

fn call() -> Call {
    Call::with_timeout(Duration::from_secs(20))
}

/// A window over the whole screen that takes touches, as an application does.
fn application(xorg: &Xorg) -> RustConnection {
    let (x, screen) = x11rb::connect(Some(&xorg.display)).unwrap();
    x.xinput_xi_query_version(2, 2).unwrap().reply().unwrap();
    let root = x.setup().roots[screen].root;
    let window = x.generate_id().unwrap();
    let aux = CreateWindowAux::new();
    x.create_window(0, window, root, 0, 0, 1280, 1024, 0, WindowClass::INPUT_OUTPUT, 0, &aux).unwrap();
    let mask = XIEventMask::TOUCH_BEGIN | XIEventMask::TOUCH_UPDATE | XIEventMask::TOUCH_END;
    let all = u16::from(xinput::Device::ALL_MASTER);
    x.xinput_xi_select_events(window, &[xinput::EventMask { deviceid: all, mask: vec![mask] }]).unwrap();
    x.map_window(window).unwrap();
    x.get_input_focus().unwrap().reply().unwrap();
    x
}

/// What the application got, in the order of time: the kind, the touch, the pixel.
fn got(x: &RustConnection, ends: usize) -> Vec<(Kind, u32, [i32; 2])> {
    let mut all = Vec::new();
    let pixel = |x: i32, y: i32| [x >> 16, y >> 16];
    let done = call().until("the touches to arrive", || {
        while let Some(event) = x.poll_for_event().unwrap() {
            match event {
                Event::XinputTouchBegin(e) => all.push((Kind::Begin, e.detail, pixel(e.root_x, e.root_y))),
                Event::XinputTouchUpdate(e) => all.push((Kind::Update, e.detail, pixel(e.root_x, e.root_y))),
                Event::XinputTouchEnd(e) => all.push((Kind::End, e.detail, pixel(e.root_x, e.root_y))),
                _ => {}
            }
        }
        let ended = all.iter().filter(|(kind, ..)| *kind == Kind::End).count();
        Ok((ends <= ended).then_some(()))
    });
    done.unwrap_or_else(|error| panic!("{error}: {all:?}"));
    all
}

#[test]
fn an_application_of_a_real_server_gets_the_touches_pixel_by_pixel() {
    let Some(xorg) = start("touches") else { return };
    let x = application(&xorg);
    let screen = screen(&xorg, NAME);
    let mut fingers = screen.fingers(&call()).unwrap();
    let places = [[(0, 0), (1279, 1023)], [(600, 500), (641, 503)], [(7, 1001), (1278, 3)]];
    for place in places {
        fingers.place(&call(), &place.map(|(x, y)| Point::new(x, y))).unwrap();
    }
    assert_eq!(fingers.lift(&call()).unwrap(), 2, "the display has seen two touches begin and end");
    let all = got(&x, 2);
    let mut touches: Vec<u32> = all.iter().map(|touch| touch.1).collect();
    touches.sort_unstable();
    touches.dedup();
    assert_eq!(touches.len(), 2, "{all:?}");
    for (finger, touch) in touches.iter().enumerate() {
        let went: Vec<_> = all.iter().filter(|one| one.1 == *touch).map(|one| (one.0, one.2)).collect();
        let at = |place: usize| [places[place][finger].0, places[place][finger].1];
        assert_eq!(
            (went[0], went[1], went[2]),
            ((Kind::Begin, at(0)), (Kind::Update, at(1)), (Kind::Update, at(2)),)
        );
        assert_eq!(went.last().unwrap(), &(Kind::End, at(2)));
    }
    // A finger that is down when everything is let go of comes up.
    fingers.place(&call(), &[Point::new(100, 100)]).unwrap();
    drop(fingers);
    assert_eq!(got(&x, 1).last().unwrap().0, Kind::End);
}

#[test]
fn nothing_is_touched_on_a_display_that_does_not_take_the_device() {
    let Some(xorg) = start("elsewhere") else { return };
    let written = Arc::new(Mutex::new(Vec::new()));
    struct Elsewhere(Arc<Mutex<Vec<u8>>>);
    impl Write for Elsewhere {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let sink = written.clone();
    let make = Box::new(move |_: &str, _, _| Ok(Box::new(Elsewhere(sink.clone())) as _));
    let screen = Touchscreen::with(&xorg.display, "another", make);
    let Err(error) = screen.fingers(&call()) else { panic!("it was taken") };
    assert_eq!(error.code, Code::Unsupported, "{error:?}");
    assert!(error.message.contains("did not take it"), "{error:?}");
    assert!(written.lock().unwrap().is_empty());
}

#[test]
fn without_the_kernels_door_it_says_so_and_what_to_do() {
    if std::fs::File::options().write(true).open("/dev/uinput").is_ok() {
        eprintln!("SKIPPED: /dev/uinput may be opened here.");
        return;
    }
    let screen = Touchscreen::new(":0");
    for result in [screen.surface(&call()).map(drop), screen.fingers(&call()).map(drop)] {
        let error = result.unwrap_err();
        assert_eq!(error.code, Code::Unsupported);
        assert!(error.message.contains("/dev/uinput"), "{error:?}");
        assert!(error.detail.remedy.is_some() && error.detail.os.is_some(), "{error:?}");
    }
}
