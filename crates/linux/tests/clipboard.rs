//! The clipboard on a real X server: against xclip and xsel, and against owners and readers made up here,
//! which do what programs do wrong.

use deskhand_core::clipboard::{Clipboard, GivenBack, Kind, Part, Selection};
use deskhand_core::{Call, Code};
use deskhand_linux::x11::clipboard::XClipboard;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::*;
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

/// An X server of the test's own.
struct Stage {
    server: Child,
    display: String,
    clipboard: XClipboard,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.0.id().cast_signed()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

/// Starts an X server; nothing where it or another program is missing and none is required.
fn stage(programs: &[&str]) -> Option<Stage> {
    for needed in [&["Xvfb"], programs].concat() {
        if !std::path::Path::new("/usr/bin").join(needed).exists() {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{needed} is missing");
            eprintln!("SKIPPED: {needed} is missing; REQUIRE_DESKTOP=x11 makes this fail.");
            return None;
        }
    }
    let mut server = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "320x200x24", "-nolisten", "tcp", "-noreset"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut number = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut number).unwrap();
    let display = format!(":{}", number.trim());
    Some(Stage { server, clipboard: XClipboard::new(&display), display })
}

fn call() -> Call {
    Call::with_timeout(Duration::from_secs(20))
}

#[track_caller]
fn wait(what: &str, mut probe: impl FnMut() -> bool) {
    let done = call().until(what, || Ok(probe().then_some(())));
    done.unwrap_or_else(|error| panic!("{what}: {error}"));
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

impl Stage {
    fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).env("DISPLAY", &self.display).stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// What a program prints.
    fn output(&self, line: &[&str]) -> Vec<u8> {
        self.command(line).output().unwrap().stdout
    }

    /// A program that takes this and offers it for as long as it runs.
    fn feed(&self, line: &[&str], input: &[u8]) -> Program {
        let owner = self.owner();
        let mut child = self.command(line).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        wait("the program to own the clipboard", || {
            let now = self.owner();
            now != 0 && now != owner
        });
        Program(child)
    }

    /// xclip in the foreground.
    fn xclip(&self, target: &str, input: &[u8]) -> Program {
        self.feed(&["xclip", "-quiet", "-i", "-selection", "clipboard", "-t", target], input)
    }

    fn owner(&self) -> u32 {
        let (x, _) = x11rb::connect(Some(&self.display)).unwrap();
        let clipboard = x.intern_atom(false, b"CLIPBOARD").unwrap().reply().unwrap().atom;
        x.get_selection_owner(clipboard).unwrap().reply().unwrap().owner
    }

    fn put(&self, parts: Vec<Part>) {
        self.clipboard.put(&call(), Selection::Clipboard, parts).unwrap();
    }

    fn fetch(&self, kind: Kind) -> Option<Part> {
        let fetched = self.clipboard.fetch(&call(), Selection::Clipboard, kind, usize::MAX).unwrap();
        fetched.map(|fetched| fetched.part)
    }
}

/// `length` bytes that differ from place to place.
fn noise(length: usize) -> String {
    let mut state = 1u32;
    let letter = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + (state >> 24) as u8 % 26)
    };
    (0..length).map(letter).collect()
}

#[test]
fn others_get_what_is_put_there() {
    let Some(stage) = stage(&["xclip", "xsel"]) else { return };
    assert_eq!(stage.clipboard.offer(&call(), Selection::Clipboard).unwrap(), None);
    let folder = std::env::temp_dir().join("a folder, 100%");
    let picture = b"\x89PNG\r\n\x1a\nwhatever".to_vec();
    stage.put(vec![
        text("Grüße, 世界 🎉"),
        Part::Html("<b>Grüße</b>".into()),
        Part::Image(picture.clone()),
        Part::Files(vec![folder.clone()]),
    ]);
    let get = |target: &str| stage.output(&["xclip", "-o", "-selection", "clipboard", "-t", target]);
    assert_eq!(get("UTF8_STRING"), "Grüße, 世界 🎉".as_bytes());
    assert_eq!(get("text/plain;charset=utf-8"), "Grüße, 世界 🎉".as_bytes());
    assert!(get("text/html").ends_with("<b>Grüße</b>".as_bytes()));
    assert_eq!(get("image/png"), picture);
    let uri = format!("file://{}/a%20folder%2C%20100%25", std::env::temp_dir().display());
    assert_eq!(get("text/uri-list"), format!("{uri}\r\n").as_bytes());
    assert_eq!(get("x-special/gnome-copied-files"), format!("copy\n{uri}").as_bytes());
    assert_eq!(get("image/jpeg"), b"");
    assert_eq!(stage.output(&["xsel", "-b", "-o"]), "Grüße, 世界 🎉".as_bytes());
    // Our own reading takes the same way.
    assert_eq!(stage.fetch(Kind::Text), Some(text("Grüße, 世界 🎉")));
    assert_eq!(stage.fetch(Kind::Html), Some(Part::Html("<b>Grüße</b>".into())));
    assert_eq!(stage.fetch(Kind::Image), Some(Part::Image(picture)));
    assert_eq!(stage.fetch(Kind::Files), Some(Part::Files(vec![folder])));

    stage.clipboard.put(&call(), Selection::Primary, vec![text("marked")]).unwrap();
    assert_eq!(stage.output(&["xclip", "-o", "-selection", "primary"]), b"marked");
    assert_eq!(get("UTF8_STRING"), "Grüße, 世界 🎉".as_bytes());
    stage.clipboard.clear(&call(), Selection::Clipboard).unwrap();
    assert_eq!(stage.clipboard.offer(&call(), Selection::Clipboard).unwrap(), None);
    assert_eq!(get("UTF8_STRING"), b"");
    assert_eq!(stage.output(&["xsel", "-p", "-o"]), b"marked");
}

#[test]
fn what_others_copy_is_read() {
    let Some(stage) = stage(&["xclip", "xsel"]) else { return };
    {
        let _owner = stage.xclip("UTF8_STRING", "Жук".as_bytes());
        assert_eq!(stage.fetch(Kind::Text), Some(text("Жук")));
        let offer = stage.clipboard.offer(&call(), Selection::Clipboard).unwrap().unwrap();
        assert_eq!(offer.kinds, [Kind::Text]);
        assert!(offer.owner.unwrap().to_string().starts_with("xclip ("));
        // The last one wins, whoever it is.
        stage.put(vec![text("ours")]);
        assert_eq!(stage.fetch(Kind::Text), Some(text("ours")));
    }
    for (target, bytes, kind, part) in [
        ("text/html", &b"<i>x</i>"[..], Kind::Html, Part::Html("<i>x</i>".into())),
        ("text/html", b"\xff\xfe<\0i\0>\0", Kind::Html, Part::Html("<i>".into())),
        ("image/png", b"\x89PNG", Kind::Image, Part::Image(b"\x89PNG".to_vec())),
        ("text/uri-list", b"file:///tmp/a%20b\r\n", Kind::Files, Part::Files(vec!["/tmp/a b".into()])),
        (
            "x-special/gnome-copied-files",
            b"cut\nfile:///tmp/c",
            Kind::Files,
            Part::Files(vec!["/tmp/c".into()]),
        ),
    ] {
        let _owner = stage.xclip(target, bytes);
        assert_eq!(stage.fetch(kind), Some(part), "{target}");
        assert_eq!(stage.fetch(if kind == Kind::Text { Kind::Html } else { Kind::Text }), None);
    }
    let _owner = stage.feed(&["xsel", "-n", "-b", "-i"], b"from xsel");
    assert_eq!(stage.fetch(Kind::Text), Some(text("from xsel")));
}

#[test]
fn twenty_megabytes_go_both_ways_and_a_part_of_them_when_no_more_is_wanted() {
    let Some(stage) = stage(&["xclip"]) else { return };
    let all = noise(20 << 20);
    {
        let _owner = stage.xclip("UTF8_STRING", all.as_bytes());
        let begun = Instant::now();
        assert!(stage.fetch(Kind::Text) == Some(text(&all)));
        eprintln!("20 MB from xclip: {:?}", begun.elapsed());
        let part = stage.clipboard.fetch(&call(), Selection::Clipboard, Kind::Text, 1000).unwrap().unwrap();
        assert_eq!((part.part, part.bytes, part.cut), (text(&all[..1000]), 20 << 20, true));
        // Its owner has survived that.
        assert!(stage.fetch(Kind::Text) == Some(text(&all)));
    }
    stage.put(vec![text(&all)]);
    let begun = Instant::now();
    assert!(stage.output(&["xclip", "-o", "-selection", "clipboard"]) == all.as_bytes());
    eprintln!("20 MB to xclip: {:?}", begun.elapsed());
    let part = stage.clipboard.fetch(&call(), Selection::Clipboard, Kind::Text, 1000).unwrap().unwrap();
    assert_eq!((part.part, part.bytes, part.cut), (text(&all[..1000]), 20 << 20, true));
    assert!(stage.fetch(Kind::Text) == Some(text(&all)));
    // Two at once, one of them slow.
    let mut slow =
        stage.command(&["xclip", "-o", "-selection", "clipboard"]).stdout(Stdio::piped()).spawn().unwrap();
    assert!(stage.output(&["xclip", "-o", "-selection", "clipboard"]) == all.as_bytes());
    let mut got = Vec::new();
    std::io::Read::read_to_end(&mut slow.stdout.take().unwrap(), &mut got).unwrap();
    slow.wait().unwrap();
    assert!(got == all.as_bytes());
}

#[test]
fn a_megabyte_and_back_is_quick() {
    let Some(stage) = stage(&[]) else { return };
    let all = noise(1 << 20);
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let begun = Instant::now();
            stage.put(vec![text(&all)]);
            assert!(stage.fetch(Kind::Text) == Some(text(&all)));
            begun.elapsed()
        })
        .collect();
    times.sort();
    eprintln!("1 MB there and back: {:?}", times[4]);
    assert!(times[4] < Duration::from_millis(100), "{times:?}");
}

/// A client that does what it is told.
struct Raw {
    x: RustConnection,
    window: Window,
    clipboard: Atom,
}

impl Raw {
    fn new(display: &str) -> Raw {
        let (x, screen) = x11rb::connect(Some(display)).unwrap();
        let window = x.generate_id().unwrap();
        let listen = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        let root = x.setup().roots[screen].root;
        x.create_window(0, window, root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &listen).unwrap();
        let clipboard = x.intern_atom(false, b"CLIPBOARD").unwrap().reply().unwrap().atom;
        Raw { x, window, clipboard }
    }

    fn atom(&self, name: &str) -> Atom {
        self.x.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom
    }

    fn ask(&self, target: &str, property: Atom) -> Option<GetPropertyReply> {
        self.x
            .convert_selection(self.window, self.clipboard, self.atom(target), property, x11rb::CURRENT_TIME)
            .unwrap();
        self.x.flush().unwrap();
        loop {
            if let Event::SelectionNotify(event) = self.x.wait_for_event().unwrap() {
                let read = || self.x.get_property(false, self.window, property, AtomEnum::ANY, 0, 1 << 20);
                return (event.property != 0).then(|| read().unwrap().reply().unwrap());
            }
        }
    }
}

#[test]
fn targets_time_and_several_at_once_are_answered_as_the_conventions_say() {
    let Some(stage) = stage(&[]) else { return };
    stage.put(vec![text("né"), Part::Html("<b>".into())]);
    let raw = Raw::new(&stage.display);
    let property = raw.atom("ANSWER");
    let targets = raw.ask("TARGETS", property).unwrap();
    assert_eq!((targets.type_, targets.format), (AtomEnum::ATOM.into(), 32));
    let names: Vec<String> = targets
        .value32()
        .unwrap()
        .map(|atom| String::from_utf8(raw.x.get_atom_name(atom).unwrap().reply().unwrap().name).unwrap())
        .collect();
    for name in ["TARGETS", "MULTIPLE", "TIMESTAMP", "UTF8_STRING", "STRING", "text/html"] {
        assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
    }
    let time = raw.ask("TIMESTAMP", property).unwrap();
    assert_eq!((time.type_, time.format, time.value32().unwrap().count()), (AtomEnum::INTEGER.into(), 32, 1));
    assert_ne!(time.value32().unwrap().next(), Some(0));
    assert!(raw.ask("image/png", property).is_none());
    assert_eq!(raw.ask("STRING", property).unwrap().value, b"n\xe9");

    // The property of a request for several says what is asked for, and after it what could not be had.
    let pairs = [
        (raw.atom("UTF8_STRING"), raw.atom("FIRST")),
        (raw.atom("image/png"), raw.atom("SECOND")),
        (raw.atom("text/html"), raw.atom("THIRD")),
    ];
    let flat: Vec<Atom> = pairs.iter().flat_map(|(target, place)| [*target, *place]).collect();
    raw.x.change_property32(PropMode::REPLACE, raw.window, property, raw.atom("ATOM_PAIR"), &flat).unwrap();
    let answer = raw.ask("MULTIPLE", property).unwrap();
    let answer: Vec<Atom> = answer.value32().unwrap().collect();
    assert_eq!(answer, [flat[0], flat[1], flat[2], 0, flat[4], flat[5]]);
    let value = |place: Atom| {
        raw.x.get_property(false, raw.window, place, AtomEnum::ANY, 0, 100).unwrap().reply().unwrap().value
    };
    assert_eq!((value(flat[1]), value(flat[5])), ("né".as_bytes().to_vec(), b"<b>".to_vec()));

    // Clients of long ago leave it to the owner where to put the answer.
    raw.x
        .convert_selection(
            raw.window,
            raw.clipboard,
            raw.atom("UTF8_STRING"),
            x11rb::NONE,
            x11rb::CURRENT_TIME,
        )
        .unwrap();
    raw.x.flush().unwrap();
    wait("an answer", || match raw.x.poll_for_event().unwrap() {
        Some(Event::SelectionNotify(event)) => event.property == raw.atom("UTF8_STRING"),
        _ => false,
    });
}

/// An owner of the clipboard that answers by a function: whether the property was written.
struct Owner {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Owner {
    fn start(
        display: &str,
        answer: impl FnMut(&Raw, &SelectionRequestEvent, &str) -> Option<bool> + Send + 'static,
    ) -> Owner {
        Owner::of("CLIPBOARD", display, answer)
    }

    fn of(
        selection: &'static str,
        display: &str,
        mut answer: impl FnMut(&Raw, &SelectionRequestEvent, &str) -> Option<bool> + Send + 'static,
    ) -> Owner {
        let (stop, display) = (Arc::new(AtomicBool::new(false)), display.to_owned());
        let (ready, is_ready) = mpsc::channel();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let raw = Raw::new(&display);
            raw.x.set_selection_owner(raw.window, raw.atom(selection), x11rb::CURRENT_TIME).unwrap();
            raw.x.sync().unwrap();
            ready.send(()).unwrap();
            let patience = Call::with_timeout(Duration::from_secs(60));
            let _ = patience.until("serving", || {
                while let Ok(Some(event)) = raw.x.poll_for_event() {
                    let Event::SelectionRequest(request) = event else { continue };
                    let name = raw.x.get_atom_name(request.target).unwrap().reply().unwrap().name;
                    let name = String::from_utf8(name).unwrap();
                    let Some(done) = answer(&raw, &request, &name) else { continue };
                    let event = SelectionNotifyEvent {
                        response_type: SELECTION_NOTIFY_EVENT,
                        sequence: 0,
                        time: request.time,
                        requestor: request.requestor,
                        selection: request.selection,
                        target: request.target,
                        property: if done { request.property } else { x11rb::NONE },
                    };
                    raw.x.send_event(false, request.requestor, EventMask::NO_EVENT, event).unwrap();
                    raw.x.flush().unwrap();
                }
                Ok(stopped.load(Ordering::Relaxed).then_some(()))
            });
        });
        is_ready.recv().unwrap();
        Owner { stop, thread: Some(thread) }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

fn write(raw: &Raw, request: &SelectionRequestEvent, kind: &str, bytes: &[u8]) -> Option<bool> {
    let kind = raw.atom(kind);
    raw.x.change_property8(PropMode::REPLACE, request.requestor, request.property, kind, bytes).unwrap();
    Some(true)
}

fn write_targets(raw: &Raw, request: &SelectionRequestEvent, names: &[&str]) -> Option<bool> {
    let atoms: Vec<Atom> = names.iter().map(|name| raw.atom(name)).collect();
    raw.x
        .change_property32(PropMode::REPLACE, request.requestor, request.property, AtomEnum::ATOM, &atoms)
        .unwrap();
    Some(true)
}

#[test]
fn an_owner_that_hangs_costs_one_clear_error_and_nobody_else_waits() {
    let Some(stage) = stage(&["xclip"]) else { return };
    let owner = stage.xclip("UTF8_STRING", b"slow");
    assert_eq!(stage.fetch(Kind::Text), Some(text("slow")));
    owner.signal(rustix::process::Signal::STOP);
    std::thread::scope(|scope| {
        let hung = scope.spawn(|| {
            let begun = Instant::now();
            let short = Call::with_timeout(Duration::from_millis(700));
            let error = stage.clipboard.offer(&short, Selection::Clipboard).unwrap_err();
            (error, begun.elapsed())
        });
        // The other selection works meanwhile.
        stage.clipboard.put(&call(), Selection::Primary, vec![text("quick")]).unwrap();
        let begun = Instant::now();
        let quick = stage.clipboard.fetch(&call(), Selection::Primary, Kind::Text, 100).unwrap().unwrap();
        assert_eq!(quick.part, text("quick"));
        assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
        let (error, took) = hung.join().unwrap();
        assert_eq!(error.code, Code::Timeout);
        assert!(error.message.contains("xclip ("), "{error}");
        assert!(Duration::from_millis(600) < took && took < Duration::from_millis(1500), "{took:?}");
    });
    // A loan fails before anything is changed.
    let short = Call::with_timeout(Duration::from_millis(300));
    assert_eq!(stage.clipboard.lend(&short, vec![text("x")]).err().unwrap().code, Code::Timeout);
    // It comes back with the owner, which has survived that its reader gave up.
    owner.signal(rustix::process::Signal::CONT);
    assert_eq!(stage.fetch(Kind::Text), Some(text("slow")));
    // What hangs can be replaced.
    owner.signal(rustix::process::Signal::STOP);
    stage.put(vec![text("ours")]);
    assert_eq!(stage.fetch(Kind::Text), Some(text("ours")));
    owner.signal(rustix::process::Signal::CONT);
}

#[test]
fn owners_that_do_wrong_are_told_apart() {
    let Some(stage) = stage(&[]) else { return };
    // One that offers and does not hand over.
    let owner = Owner::start(&stage.display, |raw, request, name| match name {
        "TARGETS" => write_targets(raw, request, &["UTF8_STRING", "TARGETS"]),
        _ => Some(false),
    });
    let error = stage.clipboard.fetch(&call(), Selection::Clipboard, Kind::Text, 100).unwrap_err();
    assert_eq!(error.code, Code::Backend);
    assert!(error.message.contains("did not hand it over"), "{error}");
    drop(owner);

    // One that says no atoms at all, and one that knows nothing.
    for targets in [true, false] {
        let owner = Owner::start(&stage.display, move |raw, request, name| match name {
            "TARGETS" if targets => {
                let nonsense = [0, 0xffff_ffff, 0x1fff_0000];
                raw.x
                    .change_property32(
                        PropMode::REPLACE,
                        request.requestor,
                        request.property,
                        AtomEnum::ATOM,
                        &nonsense,
                    )
                    .unwrap();
                Some(true)
            }
            _ => Some(false),
        });
        let offer = stage.clipboard.offer(&call(), Selection::Clipboard).unwrap().unwrap();
        assert_eq!((offer.kinds.len(), offer.formats.len()), (0, 0));
        drop(owner);
    }

    // One that goes away in the middle is not waited for.
    let (asked, is_asked) = mpsc::channel();
    let owner = Owner::start(&stage.display, move |raw, request, name| match name {
        "TARGETS" => write_targets(raw, request, &["UTF8_STRING"]),
        _ => {
            raw.x.destroy_window(raw.window).unwrap();
            raw.x.flush().unwrap();
            asked.send(()).unwrap();
            None
        }
    });
    let begun = Instant::now();
    assert_eq!(stage.fetch(Kind::Text), None);
    is_asked.recv().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5));
    drop(owner);

    // One that begins a long transfer and never goes on.
    let owner = Owner::start(&stage.display, |raw, request, name| match name {
        "TARGETS" => write_targets(raw, request, &["UTF8_STRING"]),
        _ => {
            let incr = raw.atom("INCR");
            raw.x
                .change_property32(PropMode::REPLACE, request.requestor, request.property, incr, &[1 << 20])
                .unwrap();
            Some(true)
        }
    });
    let short = Call::with_timeout(Duration::from_millis(300));
    let error = stage.clipboard.fetch(&short, Selection::Clipboard, Kind::Text, 100).unwrap_err();
    assert_eq!(error.code, Code::Timeout);
    drop(owner);
    // And all that is over when somebody else copies something.
    stage.put(vec![text("well")]);
    assert_eq!(stage.fetch(Kind::Text), Some(text("well")));
}

#[test]
fn a_clipboard_that_changes_hands_while_it_is_read_is_read_anew() {
    let Some(stage) = stage(&[]) else { return };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Two owners take it from each other, and each goes away as soon as it has lost it.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for word in ["one", "two"] {
                    let owner = Owner::start(&stage.display, move |raw, request, name| match name {
                        "TARGETS" => {
                            write_targets(raw, request, &[if word == "one" { "UTF8_STRING" } else { "TEXT" }])
                        }
                        "UTF8_STRING" if word == "one" => write(raw, request, "UTF8_STRING", b"one"),
                        "TEXT" if word == "two" => write(raw, request, "UTF8_STRING", b"two"),
                        _ => Some(false),
                    });
                    drop(owner);
                }
            }
        });
        for _ in 0..200 {
            let fetched = stage.clipboard.fetch(&call(), Selection::Clipboard, Kind::Text, 100);
            match fetched {
                Ok(Some(fetched)) => {
                    assert!(fetched.part == text("one") || fetched.part == text("two"), "{fetched:?}");
                }
                Ok(None) => {}
                Err(error) => assert_eq!(error.code, Code::Backend, "{error}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// What a password manager offers.
fn password(display: &str, mark: &'static [u8]) -> Owner {
    Owner::start(display, move |raw, request, name| match name {
        "TARGETS" => write_targets(raw, request, &["UTF8_STRING", "x-kde-passwordManagerHint", "TARGETS"]),
        "x-kde-passwordManagerHint" => write(raw, request, "x-kde-passwordManagerHint", mark),
        "UTF8_STRING" => write(raw, request, "UTF8_STRING", b"hunter2"),
        _ => Some(false),
    })
}

#[test]
fn secrets_are_neither_handed_out_nor_remembered_and_a_loan_gives_them_back() {
    let Some(stage) = stage(&["xclip"]) else { return };
    stage.clipboard.watch(&call(), true).unwrap();
    let _owner = password(&stage.display, b"secret");
    let offer = stage.clipboard.offer(&call(), Selection::Clipboard).unwrap().unwrap();
    assert!(offer.secret);
    assert_eq!(offer.kinds, [Kind::Text]);
    let error = stage.clipboard.fetch(&call(), Selection::Clipboard, Kind::Text, 100).unwrap_err();
    assert_eq!(error.code, Code::PermissionDenied);
    wait("the history to see it", || stage.clipboard.history(&call()).unwrap().withheld == 1);
    assert_eq!(stage.clipboard.history(&call()).unwrap().entries, []);
    let loan = stage.clipboard.lend(&call(), vec![text("x")]).unwrap();
    loan.give_back(&call()).unwrap();
    let get = |target: &str| stage.output(&["xclip", "-o", "-selection", "clipboard", "-t", target]);
    assert_eq!(get("UTF8_STRING"), b"hunter2");
    assert!(stage.clipboard.offer(&call(), Selection::Clipboard).unwrap().unwrap().secret);
    assert_eq!(stage.clipboard.history(&call()).unwrap().withheld, 1);
    // Another value of the mark says that it is none.
    let _owner = password(&stage.display, b"public");
    assert_eq!(stage.fetch(Kind::Text), Some(text("hunter2")));
}

#[test]
fn history_is_what_was_copied_while_somebody_watched() {
    let Some(stage) = stage(&["xclip"]) else { return };
    stage.put(vec![text("before")]);
    assert!(!stage.clipboard.history(&call()).unwrap().watching);
    stage.clipboard.watch(&call(), true).unwrap();
    let _owner = stage.xclip("UTF8_STRING", b"theirs");
    let count = || stage.clipboard.history(&call()).unwrap().entries.len();
    wait("the first entry", || count() == 1);
    stage.put(vec![text("ours")]);
    wait("the second entry", || count() == 2);
    let entries = stage.clipboard.history(&call()).unwrap().entries;
    assert_eq!((entries[0].text.as_deref(), entries[0].number), (Some("ours"), 2));
    assert_eq!(entries[1].text.as_deref(), Some("theirs"));
    assert!(entries[1].owner.as_ref().unwrap().to_string().starts_with("xclip ("));
    // What is there for a paste only is no news, nor is its end.
    let loan = stage.clipboard.lend(&call(), vec![text("lent")]).unwrap();
    drop(loan);
    let long = noise(100_000);
    stage.put(vec![text(&long)]);
    wait("the third entry", || 2 < count());
    let entries = stage.clipboard.history(&call()).unwrap().entries;
    assert_eq!((entries.len(), entries[0].cut), (3, true));
    assert!(long.starts_with(entries[0].text.as_ref().unwrap()));
    for number in 0..120 {
        stage.put(vec![text(&number.to_string())]);
        wait("each entry", || {
            stage.clipboard.history(&call()).unwrap().entries[0].text == Some(number.to_string())
        });
    }
    assert_eq!(count(), 100);
    stage.clipboard.watch(&call(), false).unwrap();
    assert_eq!((count(), stage.clipboard.history(&call()).unwrap().watching), (0, false));
}

#[test]
fn a_loan_gives_back_every_form_as_it_was() {
    let Some(stage) = stage(&["xclip"]) else { return };
    let large = noise(3 << 20);
    let numbers: Vec<u32> = vec![1, 0xdead_beef, 3];
    let (offered, given) = (large.clone(), numbers.clone());
    let owner = Owner::start(&stage.display, move |raw, request, name| match name {
        "TARGETS" => write_targets(
            raw,
            request,
            &[
                "TARGETS",
                "DELETE",
                "UTF8_STRING",
                "application/x-own",
                "application/x-empty",
                "application/x-large",
                "application/x-refused",
            ],
        ),
        "UTF8_STRING" => write(raw, request, "UTF8_STRING", b"kept"),
        "application/x-own" => {
            let kind = raw.atom("OWN_TYPE");
            raw.x
                .change_property32(PropMode::REPLACE, request.requestor, request.property, kind, &given)
                .unwrap();
            Some(true)
        }
        "application/x-empty" => write(raw, request, "application/x-empty", b""),
        "application/x-large" => write(raw, request, "application/x-large", offered.as_bytes()),
        "DELETE" => panic!("asking for this deletes"),
        _ => Some(false),
    });
    let mut loan = stage.clipboard.lend(&call(), vec![text("lent")]).unwrap();
    assert!(!loan.fetched(&call(), None, Instant::now()).unwrap());
    let offer = stage.clipboard.offer(&call(), Selection::Clipboard).unwrap().unwrap();
    assert!(offer.secret, "clipboard managers are told to look away");
    drop(owner);
    let reader =
        stage.command(&["xclip", "-o", "-selection", "clipboard"]).stdout(Stdio::piped()).spawn().unwrap();
    let pid = reader.id();
    let soon = || Instant::now() + Duration::from_secs(10);
    assert!(loan.fetched(&call(), Some(pid), soon()).unwrap());
    assert_eq!(reader.wait_with_output().unwrap().stdout, b"lent");
    // Nobody else has.
    assert!(!loan.fetched(&call(), Some(1), Instant::now() + Duration::from_millis(100)).unwrap());
    let back = loan.give_back(&call()).unwrap();
    let kept = ["UTF8_STRING", "application/x-own", "application/x-empty", "application/x-large"];
    assert_eq!(back, GivenBack::Restored(kept.map(str::to_owned).to_vec()));
    let raw = Raw::new(&stage.display);
    let property = raw.atom("ANSWER");
    let own = raw.ask("application/x-own", property).unwrap();
    assert_eq!((own.type_, own.format), (raw.atom("OWN_TYPE"), 32));
    assert_eq!(own.value32().unwrap().collect::<Vec<_>>(), numbers);
    assert_eq!(raw.ask("application/x-empty", property).unwrap().value, b"");
    let get = |target: &str| stage.output(&["xclip", "-o", "-selection", "clipboard", "-t", target]);
    assert_eq!(get("UTF8_STRING"), b"kept");
    assert!(get("application/x-large") == large.as_bytes());
    assert!(!stage.clipboard.offer(&call(), Selection::Clipboard).unwrap().unwrap().secret);
}

#[test]
fn a_loan_leaves_alone_what_somebody_copied_meanwhile_and_empties_what_was_empty() {
    let Some(stage) = stage(&["xclip"]) else { return };
    let loan = stage.clipboard.lend(&call(), vec![text("lent")]).unwrap();
    assert_eq!(loan.give_back(&call()).unwrap(), GivenBack::Empty);
    assert_eq!(stage.clipboard.offer(&call(), Selection::Clipboard).unwrap(), None);
    let loan = stage.clipboard.lend(&call(), vec![text("lent")]).unwrap();
    let _owner = stage.xclip("UTF8_STRING", b"theirs");
    assert_eq!(loan.give_back(&call()).unwrap(), GivenBack::Superseded);
    assert_eq!(stage.fetch(Kind::Text), Some(text("theirs")));
    // Dropping it is enough, and what was ours is ours again.
    stage.put(vec![text("ours")]);
    drop(stage.clipboard.lend(&call(), vec![text("lent")]).unwrap());
    assert_eq!(stage.fetch(Kind::Text), Some(text("ours")));
    // A call that is called off while it waits gives back as well.
    let mut loan = stage.clipboard.lend(&call(), vec![text("lent")]).unwrap();
    let waiting = call();
    waiting.cancellation().cancel();
    let error = loan.fetched(&waiting, None, Instant::now() + Duration::from_secs(5)).unwrap_err();
    assert_eq!(error.code, Code::Cancelled);
    drop(loan);
    assert_eq!(stage.fetch(Kind::Text), Some(text("ours")));
}

#[test]
fn what_is_too_large_to_be_given_back_is_not_borrowed() {
    let Some(stage) = stage(&["xclip"]) else { return };
    let _owner = stage.xclip("UTF8_STRING", noise(70 << 20).as_bytes());
    let error = stage.clipboard.lend(&call(), vec![text("x")]).err().unwrap();
    assert_eq!(error.code, Code::Backend);
    assert!(error.message.contains("too large"), "{error}");
    let offer = stage.clipboard.offer(&call(), Selection::Clipboard).unwrap().unwrap();
    assert!(offer.owner.unwrap().to_string().starts_with("xclip ("));
}

/// What gnome-settings-daemon and its relatives do when they are asked to keep something: everything is
/// fetched by one request, and then it is theirs.
fn manager(display: &str) -> Owner {
    let display = display.to_owned();
    Owner::of("CLIPBOARD_MANAGER", &display.clone(), move |raw, request, name| {
        assert_eq!(name, "SAVE_TARGETS");
        let list = raw.x.get_property(false, request.requestor, request.property, AtomEnum::ATOM, 0, 100);
        let targets: Vec<Atom> = list.unwrap().reply().unwrap().value32().unwrap().collect();
        let keeper = Raw::new(&display);
        let places: Vec<Atom> =
            (0..targets.len()).map(|number| keeper.atom(&format!("PLACE_{number}"))).collect();
        let pairs: Vec<Atom> =
            targets.iter().zip(&places).flat_map(|(target, place)| [*target, *place]).collect();
        let property = keeper.atom("LIST");
        let kind = keeper.atom("ATOM_PAIR");
        keeper.x.change_property32(PropMode::REPLACE, keeper.window, property, kind, &pairs).unwrap();
        let answer: Vec<Atom> = keeper.ask("MULTIPLE", property).unwrap().value32().unwrap().collect();
        assert_eq!(answer, pairs);
        let kept: Vec<(Atom, Vec<u8>)> = targets
            .into_iter()
            .zip(places)
            .map(|(target, place)| {
                let read =
                    keeper.x.get_property(false, keeper.window, place, AtomEnum::ANY, 0, 1 << 20).unwrap();
                (target, read.reply().unwrap().value)
            })
            .collect();
        // From now on this window answers for the clipboard, too.
        KEPT.lock().unwrap().extend(kept);
        raw.x.set_selection_owner(raw.window, raw.clipboard, x11rb::CURRENT_TIME).unwrap();
        Some(true)
    })
}

static KEPT: std::sync::Mutex<Vec<(Atom, Vec<u8>)>> = std::sync::Mutex::new(Vec::new());

#[test]
fn a_clipboard_manager_takes_over_what_is_left() {
    let Some(stage) = stage(&[]) else { return };
    // Nothing is on offer, so nothing has to be handed over.
    stage.clipboard.leave(&call()).unwrap();
    let _manager = manager(&stage.display);
    stage.put(vec![text("left behind"), Part::Html("<b>left behind</b>".into())]);
    let begun = Instant::now();
    stage.clipboard.leave(&call()).unwrap();
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    let raw = Raw::new(&stage.display);
    let kept = KEPT.lock().unwrap().clone();
    let of = |name: &str| {
        kept.iter().find(|(target, _)| *target == raw.atom(name)).map(|(_, bytes)| bytes.clone())
    };
    assert_eq!(of("UTF8_STRING").unwrap(), b"left behind");
    assert_eq!(of("text/html").unwrap(), b"<b>left behind</b>");
}

#[test]
fn a_server_that_dies_is_an_error_and_a_new_one_is_used() {
    let Some(mut stage) = stage(&[]) else { return };
    stage.put(vec![text("x")]);
    stage.clipboard.watch(&call(), true).unwrap();
    stage.server.kill().unwrap();
    stage.server.wait().unwrap();
    let short = || Call::with_timeout(Duration::from_secs(2));
    assert_eq!(stage.clipboard.offer(&short(), Selection::Clipboard).unwrap_err().code, Code::Backend);
    wait("the holder to notice", || {
        stage
            .clipboard
            .put(&short(), Selection::Clipboard, vec![text("y")])
            .is_err_and(|error| error.code == Code::Backend)
    });
    wait("the watch to end", || !stage.clipboard.history(&short()).unwrap().watching);
    stage.server = Command::new("Xvfb")
        .args([stage.display.as_str(), "-screen", "0", "320x200x24", "-nolisten", "tcp", "-noreset"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait("the new server", || stage.clipboard.put(&short(), Selection::Clipboard, vec![text("z")]).is_ok());
    assert_eq!(stage.fetch(Kind::Text), Some(text("z")));
}

#[test]
fn owning_costs_nothing_while_nobody_asks() {
    let Some(stage) = stage(&[]) else { return };
    stage.put(vec![text("x")]);
    stage.clipboard.watch(&call(), true).unwrap();
    let threads = || -> u64 {
        let all = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        all.filter(|task| std::fs::read_to_string(task.path().join("comm")).unwrap().starts_with("clipboard"))
            .map(|task| {
                let status = std::fs::read_to_string(task.path().join("status")).unwrap();
                let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
                line.unwrap().trim().parse::<u64>().unwrap()
            })
            .sum()
    };
    assert_eq!(stage.fetch(Kind::Text), Some(text("x")));
    let _ = call().until_within(Duration::from_millis(300), "settling", || Ok(None::<()>));
    let before = threads();
    let _ = call().until_within(Duration::from_millis(700), "doing nothing", || Ok(None::<()>));
    assert!(threads() <= before + 1, "{before} → {} wake-ups", threads());
}

#[test]
fn changes_are_heard_at_once_and_loans_are_none() {
    let Some(stage) = stage(&["xclip"]) else { return };
    let mut changes = stage.clipboard.changes(&call()).unwrap();
    let mut heard = |within: u64| {
        let began = Instant::now();
        let heard = changes.next(&call(), began + Duration::from_millis(within)).unwrap();
        (heard, began.elapsed())
    };
    assert!(!heard(30).0);
    let program = stage.xclip("UTF8_STRING", b"one");
    assert!(heard(5000).0);
    assert!(!heard(30).0);
    // Lent and given back: nothing was copied.
    let loan = stage.clipboard.lend(&call(), vec![text("lent")]).unwrap();
    loan.give_back(&call()).unwrap();
    assert!(!heard(30).0);
    drop(program);
    stage.put(vec![text("two")]);
    assert!(heard(5000).0);
    stage.clipboard.clear(&call(), Selection::Clipboard).unwrap();
    assert!(heard(5000).0);
    let program = stage.xclip("UTF8_STRING", b"three");
    assert!(heard(5000).0);
    drop(program);
    assert!(heard(5000).0, "an owner that ends leaves it empty");
    assert!(!heard(0).0);
    // From the copying to the hearing it takes no polling.
    std::thread::scope(|scope| {
        scope.spawn(|| stage.put(vec![text("four")]));
        let (heard, took) = heard(5000);
        assert!(heard && took < Duration::from_millis(500), "{took:?}");
    });
    let cancelled = call();
    cancelled.cancellation().cancel();
    let error = changes.next(&cancelled, Instant::now() + Duration::from_secs(5)).unwrap_err();
    assert_eq!(error.code, Code::Cancelled);
}

#[test]
fn waiting_for_a_change_ends_with_the_server() {
    let Some(mut stage) = stage(&[]) else { return };
    let mut changes = stage.clipboard.changes(&call()).unwrap();
    stage.server.kill().unwrap();
    stage.server.wait().unwrap();
    let began = Instant::now();
    let error = changes.next(&call(), began + Duration::from_secs(10)).unwrap_err();
    assert_eq!(error.code, Code::Backend);
    assert!(began.elapsed() < Duration::from_secs(5));
}
