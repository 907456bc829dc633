//! What a person does with mouse and keyboard, told apart from what Deskhand does: on a real X server, the
//! person's part played through its inputtest driver.

use deskhand_core::call::Call;
use deskhand_core::input::{Button, Input, Press};
use deskhand_core::key::{Key, Modifier, NamedKey};
use deskhand_core::person::{Act, Person, What};
use deskhand_core::{Code, Point, Result};
use deskhand_linux::session::Session;
use deskhand_linux::x11::input::XInput;
use deskhand_linux::x11::person::XPerson;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use x11rb::protocol::xproto::ConnectionExt as _;
use xorg::{CTRL, ESCAPE, Hand, SHIFT, Xorg, mouse_and_keyboard};

mod xorg;

fn call() -> Call {
    Call::with_timeout(Duration::from_secs(20))
}

fn watch(xorg: &Xorg) -> (Receiver<Result<Act>>, Box<dyn std::any::Any + Send + Sync>) {
    let (tell, told) = channel();
    let watch =
        XPerson::new(&xorg.display).watch(&call(), Box::new(move |act| drop(tell.send(act)))).unwrap();
    (told, watch)
}

fn next(told: &Receiver<Result<Act>>) -> Act {
    told.recv_timeout(Duration::from_secs(10)).expect("an act").expect("no error")
}

fn buttons(told: &Receiver<Result<Act>>) -> (Button, Press, Point, bool) {
    loop {
        let act = next(told);
        if let What::Button(button, press) = act.what {
            return (button, press, act.at, act.from_person);
        }
    }
}

#[test]
fn a_persons_hands_are_told_as_they_are_and_apart_from_our_own() {
    let Some(xorg) = Xorg::start("person", &mouse_and_keyboard()) else { return };
    let mut hand = Hand::at(&xorg);
    let person = XPerson::new(&xorg.display);
    let devices = person.devices(&call()).unwrap();
    let theirs: Vec<_> =
        devices.iter().filter(|device| device.from_person).map(|device| &*device.name).collect();
    assert_eq!(theirs, ["mouse", "keyboard"], "{devices:?}");
    assert!(devices.iter().any(|device| !device.from_person), "XTEST has devices of its own: {devices:?}");

    let (told, watching) = watch(&xorg);
    hand.click(300, 400);
    let moved = next(&told);
    assert_eq!((moved.what, moved.at, moved.from_person), (What::Moved, Point::new(300, 400), true));
    for press in [Press::Down, Press::Up] {
        assert_eq!(buttons(&told), (Button::Left, press, Point::new(300, 400), true));
    }
    hand.press(5);
    assert_eq!(next(&told).what, What::Wheel { across: 0, down: 1 });
    hand.press(3);
    assert_eq!(buttons(&told).0, Button::Right);
    assert_eq!(buttons(&told).1, Press::Up);

    // Keys: what they are by themselves, what they type, and the modifiers that were held.
    let key = |told: &Receiver<Result<Act>>| {
        let act = next(told);
        let What::Key(stroke, press) = act.what else { panic!("{act:?}") };
        assert!(act.from_person);
        (stroke.key, stroke.text, press, act.modifiers)
    };
    hand.types("aA ");
    let (a, shift) = (Some(Key::Char('a')), Some(Key::Named(NamedKey::Shift)));
    assert_eq!(key(&told), (a, Some('a'), Press::Down, vec![]));
    assert_eq!(key(&told), (a, Some('a'), Press::Up, vec![]));
    assert_eq!(key(&told), (shift, None, Press::Down, vec![]));
    assert_eq!(key(&told), (a, Some('A'), Press::Down, vec![Modifier::Shift]));
    assert_eq!(key(&told), (a, Some('A'), Press::Up, vec![Modifier::Shift]));
    assert_eq!(key(&told), (shift, None, Press::Up, vec![Modifier::Shift]));
    let space = Some(Key::Named(NamedKey::Space));
    assert_eq!(key(&told), (space, Some(' '), Press::Down, vec![]));
    assert_eq!(key(&told).2, Press::Up);
    hand.key(CTRL, true);
    hand.key(SHIFT, true);
    hand.tap(xorg::key_of('s').0);
    hand.key(SHIFT, false);
    hand.key(CTRL, false);
    hand.tap(ESCAPE);
    let keys: Vec<_> = (0..8).map(|_| key(&told)).collect();
    let both = vec![Modifier::Ctrl, Modifier::Shift];
    assert_eq!(keys[2], (Some(Key::Char('s')), None, Press::Down, both), "{keys:?}");
    assert_eq!(keys[6], (Some(Key::Named(NamedKey::Escape)), None, Press::Down, vec![]), "{keys:?}");

    // Our own input, through XTEST, is told as nobody's, also while a person is at work.
    let input = XInput::new(&xorg.display, Session::none());
    let locked = input.lock(&call()).unwrap();
    input.move_to(&call(), Point::new(700, 600)).unwrap();
    input.click(&call(), Button::Left).unwrap();
    for press in [Press::Down, Press::Up] {
        assert_eq!(buttons(&told), (Button::Left, press, Point::new(700, 600), false));
    }
    input.key(&call(), Key::Char('x'), Press::Down).unwrap();
    hand.tap(ESCAPE);
    input.key(&call(), Key::Char('x'), Press::Up).unwrap();
    let escape_or_x = |act: &Act| matches!(&act.what, What::Key(stroke, _) if stroke.key.is_some());
    let acts = std::iter::repeat_with(|| next(&told)).filter(escape_or_x);
    let mine: Vec<Act> = acts.take(4).collect();
    let from_person: Vec<bool> = mine.iter().map(|act| act.from_person).collect();
    assert_eq!(from_person, [false, true, true, false], "{mine:?}");
    drop(locked);

    // A mouse for the left hand: what counts is what the buttons do.
    let (x, _) = x11rb::connect(Some(&xorg.display)).unwrap();
    let map = x.get_pointer_mapping().unwrap().reply().unwrap().map;
    let mut swapped = map.clone();
    swapped.swap(0, 2);
    x.set_pointer_mapping(&swapped).unwrap().reply().unwrap();
    hand.press(1);
    assert_eq!(buttons(&told).0, Button::Right);
    assert_eq!(buttons(&told).1, Press::Up);
    x.set_pointer_mapping(&map).unwrap().reply().unwrap();

    // Nobody is told any more once the watch is dropped, and another can begin.
    drop(watching);
    hand.click(10, 10);
    assert!(told.try_iter().next().is_none());
    let (again, _watching) = watch(&xorg);
    hand.press(8);
    assert_eq!(buttons(&again).0, Button::Back);
}

#[test]
fn listening_costs_nothing_at_rest_and_says_when_the_server_has_gone() {
    let Some(xorg) = Xorg::start("person-lost", &mouse_and_keyboard()) else { return };
    let mut hand = Hand::at(&xorg);
    let (told, _watching) = watch(&xorg);
    let started = Instant::now();
    hand.point(100, 100);
    next(&told);
    eprintln!("told of a move after {:?}", started.elapsed());

    // A hung server holds nobody up: asking ends with its call, and dropping a watch at once.
    let (_, other) = watch(&xorg);
    rustix::process::kill_process(xorg.pid(), rustix::process::Signal::STOP).unwrap();
    let short = Call::with_timeout(Duration::from_millis(300));
    let started = Instant::now();
    let error = XPerson::new(&xorg.display).watch(&short, Box::new(drop)).err().unwrap();
    assert!(matches!(error.code, Code::Timeout | Code::Backend), "{error:?}");
    drop(other);
    assert!(started.elapsed() < Duration::from_secs(2));
    rustix::process::kill_process(xorg.pid(), rustix::process::Signal::CONT).unwrap();
    hand.point(200, 200);
    assert_eq!(next(&told).at, Point::new(200, 200));

    let display = xorg.display.clone();
    drop(xorg);
    let lost = told.recv_timeout(Duration::from_secs(10)).unwrap().unwrap_err();
    assert_eq!(lost.code, Code::Backend, "{lost:?}");
    assert!(lost.detail.remedy.is_some());
    assert!(told.recv_timeout(Duration::from_secs(1)).is_err(), "nothing comes after an error");
    let error = XPerson::new(&display).devices(&call()).unwrap_err();
    assert_eq!(error.code, Code::Backend, "{error:?}");
}

#[test]
fn how_long_a_person_has_been_quiet_is_told_apart_from_our_own_input() {
    let Some(xorg) = Xorg::start("person-quiet", &mouse_and_keyboard()) else { return };
    let mut hand = Hand::at(&xorg);
    let person = XPerson::new(&xorg.display);
    hand.tap(ESCAPE);
    let quiet = |person: &XPerson| person.quiet_for(&call()).unwrap().expect("a device was used");
    assert!(quiet(&person) < Duration::from_millis(500));
    call()
        .until("a person being quiet", || Ok((Duration::from_millis(400) < quiet(&person)).then_some(())))
        .unwrap();
    // Ours counts as nothing.
    let before = quiet(&person);
    let input = XInput::new(&xorg.display, Session::none());
    let locked = input.lock(&call()).unwrap();
    input.move_to(&call(), Point::new(700, 600)).unwrap();
    input.click(&call(), Button::Left).unwrap();
    input.key(&call(), Key::Char('x'), Press::Down).unwrap();
    input.key(&call(), Key::Char('x'), Press::Up).unwrap();
    drop(locked);
    assert!(before <= quiet(&person));
    for act in [
        (|hand: &mut Hand| hand.point(50, 60)) as fn(&mut Hand),
        |hand| hand.press(5),
        |hand| hand.tap(ESCAPE),
    ] {
        let long = Duration::from_millis(150);
        call().until("a person being quiet", || Ok((long < quiet(&person)).then_some(()))).unwrap();
        act(&mut hand);
        assert!(quiet(&person) < long);
    }
    let started = Instant::now();
    for _ in 0..100 {
        quiet(&person);
    }
    eprintln!("asking costs {:?}", started.elapsed() / 100);

    // Keys alone.
    let (tell, told) = std::sync::mpsc::channel();
    let watching = person.keys(&call(), Box::new(move |act| drop(tell.send(act)))).unwrap();
    hand.click(300, 300);
    hand.tap(ESCAPE);
    for press in [Press::Down, Press::Up] {
        let What::Key(stroke, pressed) = next(&told).what else { panic!("a key is told first") };
        assert_eq!((stroke.key, pressed), (Some(Key::Named(NamedKey::Escape)), press));
    }
    drop(watching);
}

#[test]
fn that_a_person_has_stopped_everything_is_kept_with_the_display() {
    let (one, other) = (XPerson::new(":196"), XPerson::new("unix:196.0"));
    let elsewhere = XPerson::new(":197");
    one.resume().unwrap();
    assert_eq!(one.halted().unwrap(), None);
    one.halt("escape was held for 1000 ms").unwrap();
    one.halt("escape was held").unwrap();
    assert_eq!(XPerson::new(":196").halted().unwrap().as_deref(), Some("escape was held"));
    assert_eq!(elsewhere.halted().unwrap(), None);
    drop(other);
    assert!(XPerson::new(":196").resume().unwrap());
    assert!(!one.resume().unwrap());
    assert_eq!(one.halted().unwrap(), None);
}
