//! What the fake desktop promises, so that the tests of tools can rely on it.

use super::*;
use crate::app::Launch;
use crate::element::{Bounds, Element, Role, Root, State, Tree, TreeQuery};
use crate::error::Code;
use crate::geometry::{Point, Rect, Size};
use crate::input::Button;
use crate::key::{Key, Modifier, NamedKey};
use crate::screen::Source;
use crate::watch::Kind;
use crate::window::WindowState;
use crate::{Call, Desktop};
use std::time::Instant;

fn call(desktop: &Desktop) -> Call {
    Call::with_timeout(Duration::from_secs(10)).with_ticket(desktop.lane.draw(1))
}

fn id(text: &str) -> ElementId {
    ElementId(text.into())
}

fn element(desktop: &Desktop, name: &str) -> Element {
    desktop.elements.element(&call(desktop), &id(name)).unwrap()
}

fn click(desktop: &Desktop, name: &str) {
    click_times(desktop, name, Button::Left, 1);
}

fn click_times(desktop: &Desktop, name: &str, button: Button, times: u32) {
    let point = element(desktop, name).bounds.unwrap().center();
    let call = call(desktop);
    let mut hands = desktop.input(&call).unwrap();
    hands.move_to(point).unwrap();
    hands.click(button, times).unwrap();
}

fn type_text(desktop: &Desktop, text: &str) -> Result<()> {
    let call = call(desktop);
    desktop.input(&call)?.type_text(text, Duration::ZERO, &mut |_| Ok(()))
}

fn tree(desktop: &Desktop, root: Root) -> Tree {
    desktop.elements.tree(&call(desktop), &TreeQuery::new(root)).unwrap()
}

#[test]
fn a_sum_by_clicks_and_a_sum_by_keys() {
    let (desktop, control) = Fake::new().build();
    for key in ["5", "plus", "3", "equals"] {
        click(&desktop, &format!("calculator/{key}"));
    }
    assert_eq!(control.value("calculator/result"), "8");
    assert!(control.window(8).unwrap().focused);
    assert_eq!(
        control.received()[..2],
        ["calculator/5 clicked".to_owned(), "calculator/plus clicked".to_owned()]
    );
    click(&desktop, "calculator/clear");
    type_text(&desktop, "2*21=").unwrap();
    assert_eq!(control.value("calculator/result"), "42");
    assert_eq!(element(&desktop, "calculator/result").value.as_deref(), Some("42"));
}

#[test]
fn the_log_holds_what_reached_the_desktop_and_hands_let_go() {
    let (desktop, control) = Fake::new().build();
    {
        let call = call(&desktop);
        let mut hands = desktop.input(&call).unwrap();
        hands.move_to(Point::new(10, 20)).unwrap();
        hands.hold(&[Modifier::Ctrl]).unwrap();
        hands.press(Button::Right).unwrap();
        hands.wheel(0, 3).unwrap();
        hands.tap(Key::Char('a')).unwrap();
        assert_eq!(control.held().len(), 2);
    }
    assert_eq!(
        control.take_log(),
        [
            "move 10,20",
            "key ctrl down",
            "down right",
            "wheel 0,3",
            "key a down",
            "key a up",
            "up right",
            "key ctrl up"
        ]
    );
    assert!(control.held().is_empty() && control.log().is_empty());
    control.change(|world| world.person_holds(Held::Key(Key::Named(NamedKey::Shift)), true));
    assert_eq!(desktop.input_state(&call(&desktop)).unwrap().modifiers, [NamedKey::Shift]);
}

#[test]
fn clicks_reach_the_topmost_window_and_what_lies_there() {
    let (desktop, control) = Fake::new().build();
    let before = element(&desktop, "editor/wrap");
    assert!(before.states.has(State::Checkable) && !before.states.has(State::Checked));
    click(&desktop, "editor/wrap");
    assert!(element(&desktop, "editor/wrap").states.has(State::Checked));
    click(&desktop, "editor/undo");
    assert_eq!(control.received(), ["editor/wrap clicked"]);
    let cover = control.change(|world| world.open_window(102, "Cover", Rect::new(0, 0, 900, 700), false));
    click(&desktop, "editor/wrap");
    assert!(element(&desktop, "editor/wrap").states.has(State::Checked));
    assert!(control.window(cover).unwrap().focused);
    let at = |x, y| desktop.windows.at(&call(&desktop), Point::new(x, y)).unwrap().map(|window| window.id.0);
    assert_eq!((at(50, 50), at(1000, 200), at(1270, 790)), (Some(cover), Some(8), None));
    let there = desktop.elements.at(&call(&desktop), WindowId(7), before.bounds.unwrap().center()).unwrap();
    assert_eq!(there.unwrap().id, id("editor/wrap"));
}

#[test]
fn typing_goes_to_what_has_the_keyboard() {
    let (desktop, control) = Fake::new().build();
    type_text(&desktop, "Grüße 🎉\n\tend").unwrap();
    assert_eq!(control.value("editor/text"), "Grüße 🎉\n\tend");
    assert_eq!(control.take_log(), ["type \"Grüße 🎉\\n\\tend\""]);
    assert_eq!(control.received(), ["editor/text got \"Grüße 🎉\\n\\tend\""]);
    click(&desktop, "editor/password");
    type_text(&desktop, "secret").unwrap();
    assert_eq!(control.value("editor/password"), "secret");
    assert_eq!(element(&desktop, "editor/password").value, None);
    let text = desktop.elements.text(&call(&desktop), &id("editor/password"), 100).unwrap().unwrap();
    assert_eq!((text.text.as_str(), text.characters), ("", 6));
    assert_eq!(control.focused(), Some(id("editor/password")));
    assert_eq!(desktop.elements.focused(&call(&desktop)).unwrap().unwrap().id, id("editor/password"));
    control.change(|world| world.forbid_characters(&['ß']));
    assert_eq!(type_text(&desktop, "aß").unwrap_err().code, Code::TextNotTypeable);
    assert_eq!(type_text(&desktop, "a\u{1}").unwrap_err().code, Code::TextNotTypeable);
    control.change(|world| world.ignore_keys(true));
    type_text(&desktop, "x").unwrap();
    assert_eq!(control.value("editor/password"), "secret");
}

#[test]
fn keys_edit_select_move_on_and_save() {
    let (desktop, control) = Fake::new().build();
    let tap = |modifiers: &[Modifier], key: Key| {
        let call = call(&desktop);
        let mut hands = desktop.input(&call).unwrap();
        hands.hold(modifiers).unwrap();
        hands.tap(key).unwrap();
    };
    type_text(&desktop, "one two").unwrap();
    tap(&[], Key::Named(NamedKey::Backspace));
    tap(&[Modifier::Shift], Key::Char('x'));
    assert_eq!(control.value("editor/text"), "one twX");
    tap(&[Modifier::Ctrl], Key::Char('a'));
    let text = desktop.elements.text(&call(&desktop), &id("editor/text"), 3).unwrap().unwrap();
    assert_eq!((text.text.as_str(), text.selection), ("one", Some((0, 7))));
    tap(&[], Key::Char('z'));
    assert_eq!(control.value("editor/text"), "z");
    tap(&[Modifier::Ctrl], Key::Char('s'));
    assert_eq!(element(&desktop, "editor/status").name, "Saved");
    assert!(control.received().contains(&"editor got ctrl+s".to_owned()));
    click(&desktop, "editor/title");
    tap(&[], Key::Named(NamedKey::Tab));
    assert_eq!(control.focused(), Some(id("editor/password")));
    tap(&[Modifier::Shift], Key::Named(NamedKey::Tab));
    assert_eq!(control.focused(), Some(id("editor/title")));
}

#[test]
fn several_clicks_select_words_and_drags_select_text() {
    let (desktop, control) = Fake::new().build();
    control.change(|world| world.set_text("editor/title", "alpha beta gamma delta epsilon zeta"));
    let selected = || {
        let text = desktop.elements.text(&call(&desktop), &id("editor/title"), 99).unwrap().unwrap();
        text.selection.map(|(start, end)| text.text[start as usize..end as usize].to_owned())
    };
    click_times(&desktop, "editor/title", Button::Left, 2);
    assert_eq!(selected().as_deref(), Some("delta"));
    click(&desktop, "editor/title");
    assert_eq!(selected(), None, "another call is another click");
    click_times(&desktop, "editor/title", Button::Left, 3);
    assert_eq!(selected().as_deref(), Some("alpha beta gamma delta epsilon zeta"));
    assert_eq!(control.received()[1], "editor/title double clicked");
    let bounds = element(&desktop, "editor/title").bounds.unwrap();
    let call = call(&desktop);
    let mut hands = desktop.input(&call).unwrap();
    hands.move_to(Point::new(bounds.x, bounds.y + 5)).unwrap();
    hands.press(Button::Left).unwrap();
    hands.move_to(Point::new(bounds.x + 5 * 8, bounds.y + 5)).unwrap();
    hands.release(Button::Left).unwrap();
    drop(hands);
    assert_eq!(selected().as_deref(), Some("alpha"));
}

#[test]
fn drags_move_sliders_and_windows() {
    let (desktop, control) = Fake::new().build();
    let drag = |from: Point, to: Point| {
        let call = call(&desktop);
        let mut hands = desktop.input(&call).unwrap();
        hands.move_to(from).unwrap();
        hands.press(Button::Left).unwrap();
        hands.move_to(to).unwrap();
        hands.release(Button::Left).unwrap();
    };
    let zoom = element(&desktop, "editor/zoom").bounds.unwrap();
    drag(zoom.center(), Point::new(zoom.x + 199, zoom.y + 5));
    assert_eq!(control.value("editor/zoom"), "200");
    drag(Point::new(60, 50), Point::new(160, 150));
    assert_eq!(control.window(7).unwrap().bounds, Rect::new(140, 140, 640, 480));
}

#[test]
fn the_wheel_scrolls_and_hidden_rows_can_be_revealed() {
    let (desktop, control) = Fake::new().build();
    let last = || element(&desktop, "editor/recent/20");
    assert!(last().states.has(State::Offscreen));
    desktop.elements.scroll_into_view(&call(&desktop), &id("editor/recent/20")).unwrap();
    assert!(!last().states.has(State::Offscreen));
    assert!(element(&desktop, "editor/recent/1").states.has(State::Offscreen));
    let files = element(&desktop, "editor/files").bounds.unwrap();
    let call = call(&desktop);
    let mut hands = desktop.input(&call).unwrap();
    hands.move_to(files.center()).unwrap();
    hands.wheel(0, -100).unwrap();
    assert!(last().states.has(State::Offscreen));
    hands.wheel(0, 1).unwrap();
    assert_eq!(control.received().last().unwrap(), "editor/files scrolled to 40");
    let bar = element(&desktop, "editor/files/bar");
    assert_eq!((bar.value.as_deref(), bar.bounds), (Some("40"), Some(Rect::new(660, 164, 12, 320))));
    hands.click(Button::Left, 1).unwrap();
    let chosen = |row: u32| element(&desktop, &format!("editor/recent/{row}")).states.has(State::Selected);
    assert_eq!((1..=20).filter(|row| chosen(*row)).collect::<Vec<_>>(), [8]);
    desktop.elements.set_value(&call, &bar.id, "9999").unwrap();
    assert_eq!(control.value("editor/files/bar"), "240");
    let zoom = element(&desktop, "editor/zoom").bounds.unwrap();
    hands.move_to(zoom.center()).unwrap();
    hands.wheel(0, -2).unwrap();
    assert_eq!(control.value("editor/zoom"), "120");
}

#[test]
fn windows_do_what_they_are_asked() {
    let (desktop, control) = Fake::new().build();
    let (windows, call) = (&desktop.windows, call(&desktop));
    let order = || windows.list(&call).unwrap().iter().map(|window| window.id.0).collect::<Vec<_>>();
    assert_eq!(order(), [7, 8, 9]);
    windows.focus(&call, WindowId(9)).unwrap();
    assert_eq!(order(), [9, 7, 8]);
    windows
        .place(&call, WindowId(8), Some(Point::new(5, 50)), Some(Size { width: 10, height: 500 }))
        .unwrap();
    assert_eq!(control.window(8).unwrap().bounds, Rect::new(5, 50, 100, 500));
    let state = |state| {
        windows.set_state(&call, WindowId(8), state).unwrap();
        let window = control.window(8).unwrap();
        assert_eq!(window.state, state);
        (window.bounds, window.content)
    };
    let area = Rect::new(0, 32, 1280, 768);
    assert_eq!(state(WindowState::Maximized), (area, Rect::new(0, 56, 1280, 744)));
    let all = Rect::new(0, 0, 1280, 800);
    assert_eq!(state(WindowState::Fullscreen), (all, all));
    assert_eq!(state(WindowState::Normal).0, Rect::new(5, 50, 100, 500));
    state(WindowState::Minimized);
    assert!(!element(&desktop, "calculator/5").states.has(State::Visible));
    windows.close(&call, WindowId(8)).unwrap();
    assert_eq!(windows.focus(&call, WindowId(8)).unwrap_err().code, Code::WindowNotFound);
    assert!(!desktop.apps.alive(102) && desktop.apps.alive(101));
    control.change(|world| world.refuse_window_requests(true));
    windows.set_state(&call, WindowId(7), WindowState::Minimized).unwrap();
    assert_eq!(control.window(7).unwrap().state, WindowState::Normal);
    assert_eq!(control.take_log()[..3].join(", "), "focus 9, place 8 10x500 at 5,50, state 8 maximized");
}

#[test]
fn an_unsaved_text_can_ask_before_its_window_closes() {
    let (desktop, control) = Fake::new().build();
    control.change(|world| world.ask_before_closing(true));
    type_text(&desktop, "draft").unwrap();
    desktop.windows.close(&call(&desktop), WindowId(7)).unwrap();
    let dialog = control.window(20).unwrap();
    assert!(dialog.transient && dialog.focused);
    click(&desktop, "closing/cancel");
    assert!(control.window(20).is_none() && control.window(7).is_some());
    desktop.windows.close(&call(&desktop), WindowId(7)).unwrap();
    click(&desktop, "closing2/discard");
    assert!(control.window(21).is_none() && control.window(7).is_none());
}

#[test]
fn menus_open_and_close() {
    let (desktop, control) = Fake::new().build();
    let shows = |name: &str| element(&desktop, name).states.has(State::Visible);
    assert!(!shows("editor/file/save"));
    click(&desktop, "editor/file");
    assert!(shows("editor/file/save"));
    click(&desktop, "editor/file/save");
    assert!(!shows("editor/file/save"));
    assert_eq!(element(&desktop, "editor/status").name, "Saved");
    type_text(&desktop, "abc").unwrap();
    click_times(&desktop, "editor/text", Button::Right, 1);
    assert_eq!(desktop.windows.list(&call(&desktop)).unwrap().len(), 3);
    click(&desktop, "popup/all");
    assert_eq!(control.change(|world| world.item("editor/text").selection), Some((0, 3)));
    assert!(control.window(20).is_none());
}

#[test]
fn actions_values_and_focus() {
    let (desktop, control) = Fake::new().build();
    let (elements, call) = (&desktop.elements, call(&desktop));
    elements.perform(&call, &id("editor/save"), "click").unwrap();
    assert_eq!(element(&desktop, "editor/status").name, "Saved");
    let code = |result: Result<()>| result.unwrap_err().code;
    assert_eq!(code(elements.perform(&call, &id("tips/show"), "toggle")), Code::ElementNotActionable);
    elements.set_value(&call, &id("editor/text"), "new").unwrap();
    elements.set_value(&call, &id("editor/zoom"), "77").unwrap();
    assert_eq!((control.value("editor/text"), control.value("editor/zoom")), ("new".into(), "80".into()));
    assert_eq!(code(elements.set_value(&call, &id("editor/zoom"), "big")), Code::InvalidArgument);
    assert_eq!(code(elements.set_value(&call, &id("calculator/result"), "1")), Code::ElementNotActionable);
    assert_eq!(code(elements.set_value(&call, &id("editor/save"), "1")), Code::ElementNotActionable);
    elements.focus(&call, &id("calculator/5")).unwrap();
    assert!(!element(&desktop, "calculator/5").states.has(State::Focused), "its window is not active");
    desktop.windows.focus(&call, WindowId(8)).unwrap();
    assert!(element(&desktop, "calculator/5").states.has(State::Focused));
    assert_eq!(code(elements.focus(&call, &id("editor/undo"))), Code::ElementNotActionable);
}

#[test]
fn trees_are_read_as_asked() {
    let (desktop, control) = Fake::new().build();
    let all = tree(&desktop, Root::Desktop);
    assert!(!all.cut && all.silent.is_empty());
    let roots = all.nodes.iter().filter(|node| node.parent.is_none());
    assert_eq!(roots.map(|node| node.element.role).collect::<Vec<_>>(), [Role::Application; 2]);
    let of = |name: &str| all.nodes.iter().find(|node| &*node.element.id.0 == name).unwrap();
    assert!(
        of("editor/recent/20").element.bounds.is_none() && of("editor/recent/1").element.bounds.is_some()
    );
    assert_eq!(of("editor/title").element.value.as_deref(), Some("Untitled"));
    assert!(of("editor/save").element.actions.is_empty());
    let mut query = TreeQuery::new(Root::Window(WindowId(8)));
    (query.max_nodes, query.actions, query.values, query.bounds) = (4, true, false, Bounds::No);
    let part = desktop.elements.tree(&call(&desktop), &query).unwrap();
    assert!(part.cut && part.nodes.len() == 4);
    assert!(part.nodes[1].element.value.is_none() && part.nodes[2].element.actions == ["click"]);
    (query.max_nodes, query.max_depth) = (100, 0);
    let part = desktop.elements.tree(&call(&desktop), &query).unwrap();
    assert_eq!((part.nodes.len(), part.nodes[0].element.role, part.cut), (1, Role::Window, false));
    control.change(|world| world.silence(101, true));
    let part = tree(&desktop, Root::Desktop);
    assert_eq!(part.silent[0].application, "Editor");
    assert!(part.nodes.iter().all(|node| node.element.pid == Some(102)));
    let error = desktop.elements.element(&call(&desktop), &id("editor/save")).unwrap_err();
    assert_eq!(error.code, Code::Timeout);
    let settled = desktop.windows.settle(&call(&desktop), WindowId(7), Duration::from_millis(5));
    assert_eq!(settled.unwrap_err().code, Code::Timeout);
    click(&desktop, "calculator/5");
    assert_eq!(control.value("calculator/result"), "5");
}

#[test]
fn selectors_find_their_way_about() {
    let (desktop, _control) = Fake::new().build();
    let all = tree(&desktop, Root::Desktop);
    let find = |selector: &str| {
        let found = crate::selector::Selector::parse(selector).unwrap().select(&all);
        found.iter().map(|node| all.nodes[*node].element.id.0.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(find("window[name^=Calc] > button[name='5']"), "calculator/5");
    assert_eq!(find("[id=save-button]"), "editor/save");
    assert_eq!(find("list_box > list_item:nth(3)"), "editor/recent/3");
    assert_eq!(find("button:disabled, check_box:checked"), "editor/undo tips/show");
    assert_eq!(find(":focused"), "editor/text");
    assert_eq!(find("textbox:read_only"), "calculator/result");
}

#[test]
fn a_watch_tells_what_changed_and_drops_the_oldest() {
    let (desktop, control) = Fake::new().build();
    let call = Call::with_timeout(Duration::from_secs(10));
    let mut watch = desktop.elements.watch(&call).unwrap();
    let mut next = |wait| watch.next(&call, Instant::now() + Duration::from_millis(wait)).unwrap();
    assert_eq!(next(0), None);
    control.later(Duration::from_millis(5), |world| world.set_state("editor/wrap", State::Checked, true));
    let change = next(5000).unwrap();
    assert_eq!(
        (change.kind, change.detail.as_str(), change.on, change.pid),
        (Kind::State, "checked", true, Some(101))
    );
    type_text(&desktop, "ab").unwrap();
    let texts: Vec<_> = std::iter::from_fn(|| next(0)).filter(|change| change.kind == Kind::Text).collect();
    assert_eq!(texts.len(), 2);
    assert_eq!(texts[1].text.as_deref(), Some("b"));
    control.change(|world| (0..1500).for_each(|n| world.set_name("editor/status", &n.to_string())));
    assert_eq!(next(0).unwrap().text.as_deref(), Some("500"));
    assert_eq!(watch.dropped(), 500);
}

#[test]
fn pixels_follow_what_shows() {
    let (desktop, control) = Fake::new().build();
    let (screen, call) = (&desktop.screen, call(&desktop));
    let displays = screen.displays(&call).unwrap();
    assert_eq!(displays.iter().map(|display| display.bounds.x).collect::<Vec<_>>(), [0, -1024]);
    let shot = |source| screen.capture(&call, source).unwrap();
    let all = Source::Screen(Rect::new(-1024, 0, 2304, 800));
    let (first, second) = (shot(all), shot(all));
    assert_eq!((first.width, first.pixels.len()), (2304, 2304 * 800 * 4));
    assert!(first.serial == second.serial && first.pixels == second.pixels);
    let area = element(&desktop, "editor/wrap").bounds.unwrap();
    let mark = screen.mark(&call).unwrap();
    assert!(!screen.changed_since(&call, mark, area).unwrap());
    let before = screen.pixel(&call, area.center()).unwrap();
    control.change(|world| world.set_state("editor/wrap", State::Checked, true));
    assert!(screen.changed_since(&call, mark, area).unwrap());
    assert!(!screen.changed_since(&call, mark, Rect::new(-500, 0, 100, 50)).unwrap());
    assert_ne!(screen.pixel(&call, area.center()).unwrap(), before);
    assert_ne!(shot(all).serial, first.serial);
    control.change(|world| world.open_window(102, "Cover", Rect::new(0, 0, 900, 700), false));
    let window = shot(Source::Window(WindowId(7)));
    assert_eq!((window.width, window.height), (640, 480));
    let code = |source| screen.capture(&call, source).unwrap_err().code;
    assert_eq!(code(Source::Screen(Rect::new(5000, 0, 10, 10))), Code::CoordinatesOutOfBounds);
    assert_eq!(code(Source::Window(WindowId(99))), Code::WindowNotFound);
    desktop.windows.set_state(&call, WindowId(7), WindowState::Minimized).unwrap();
    assert_eq!(code(Source::Window(WindowId(7))), Code::WindowMinimized);
    assert!(screen.pointer_image(&call).unwrap().is_some());
}

#[test]
fn applications_start_and_end() {
    let (desktop, control) = Fake::new().build();
    let (apps, call) = (&desktop.apps, call(&desktop));
    let launch =
        |name: &str| apps.launch(&call, &Launch { application: name.to_owned(), ..Launch::default() });
    let first = launch("viewer").unwrap();
    assert_eq!((first.pid, first.id.as_deref()), (201, Some("org.example.Viewer")));
    assert!(control.window(20).is_none());
    call.until("waiting for the window", || Ok(control.window(20))).unwrap();
    assert!(control.window(20).unwrap().focused);
    let second = launch("org.example.Editor").unwrap();
    call.until("waiting for the window", || Ok(control.window(21))).unwrap();
    assert_eq!(control.window(21).unwrap().pid, Some(101));
    assert!(!apps.alive(second.pid));
    let ghost = launch("/usr/bin/ghost").unwrap();
    call.until("waiting for its end", || Ok((!apps.alive(ghost.pid)).then_some(()))).unwrap();
    assert_eq!(launch("sh").unwrap_err().code, Code::DeniedByPolicy);
    assert_eq!(launch("nothing").unwrap_err().code, Code::ApplicationNotFound);
    control.change(|world| world.make_stubborn(102));
    apps.terminate(&call, 102, false).unwrap();
    assert!(apps.alive(102));
    apps.terminate(&call, 102, true).unwrap();
    assert!(!apps.alive(102) && control.window(8).is_none());
    let running: Vec<_> =
        apps.running(&call).unwrap().into_iter().map(|app| (app.name, app.windows)).collect();
    assert_eq!(running, [("Editor".to_owned(), 3), ("Viewer".to_owned(), 1)]);
    assert_eq!(apps.installed(&call).unwrap().len(), 3);
    assert_eq!(apps.terminate(&call, 102, true).unwrap_err().code, Code::ApplicationNotFound);
}

#[test]
fn faults_hit_the_next_call_only_and_hanging_ends_with_the_call() {
    let (desktop, control) = Fake::new().build();
    control.fail_next("windows.list", Error::backend("gone"));
    assert!(desktop.windows.at(&call(&desktop), Point::new(0, 0)).is_ok());
    assert_eq!(desktop.windows.list(&call(&desktop)).unwrap_err().code, Code::Backend);
    assert!(desktop.windows.list(&call(&desktop)).is_ok());
    control.hang_next("elements");
    let short = Call::with_timeout(Duration::from_millis(5));
    assert_eq!(desktop.elements.focused(&short).unwrap_err().code, Code::Timeout);
    control.hang_next("elements");
    let long = Call::with_timeout(Duration::from_secs(60));
    std::thread::scope(|scope| {
        scope.spawn(|| long.cancellation().cancel());
        assert_eq!(desktop.elements.focused(&long).unwrap_err().code, Code::Cancelled);
    });
    control.fail_always("screen", || Error::backend("dark"));
    assert!(
        desktop.screen.displays(&call(&desktop)).is_err() && desktop.screen.mark(&call(&desktop)).is_err()
    );
    control.recover();
    assert!(desktop.screen.displays(&call(&desktop)).is_ok());
    control.change(|world| world.lock_session(true));
    assert_eq!(type_text(&desktop, "x").unwrap_err().code, Code::SecureDesktopActive);
    let (desktop, _control) = Fake::new().without("screen").build();
    assert_eq!(desktop.screen.mark(&call(&desktop)).unwrap_err().code, Code::Unsupported);
}

#[test]
fn what_is_unkind_about_real_desktops() {
    let (desktop, control) = Fake::new().build();
    control.change(|world| world.confine_pointer(Some(Rect::new(0, 0, 100, 100))));
    {
        let call = call(&desktop);
        let mut hands = desktop.input(&call).unwrap();
        hands.move_to(Point::new(500, 50)).unwrap();
        assert_eq!(hands.position().unwrap(), Point::new(99, 50));
    }
    control.change(|world| world.confine_pointer(None));
    control.change(|world| world.steal_focus_after(3, 9));
    type_text(&desktop, "abcdef").unwrap();
    assert_eq!(control.value("editor/text"), "abc");
    control.change(|world| world.activate_window(7));
    control.change(|world| world.steal_focus_after(3, 9));
    let stopped = {
        let call = call(&desktop);
        desktop.input(&call).unwrap().type_text("ghijkl", Duration::ZERO, &mut |typed| match control
            .window(7)
            .is_some_and(|window| window.focused)
        {
            true => Ok(()),
            false => Err(Error::new(Code::TargetChanged, format!("after {typed}"))),
        })
    };
    assert_eq!(stopped.unwrap_err().message, "after 4");
    assert_eq!(control.log().last().unwrap(), "type \"ghij\"");
    assert_eq!(control.value("editor/text"), "abcghi");
    let new = control.change(|world| world.recreate("editor/save"));
    assert_eq!(new, id("editor/save#2"));
    let stale = desktop.elements.element(&call(&desktop), &id("editor/save")).unwrap_err();
    assert_eq!(stale.code, Code::ElementStale);
    assert_eq!(element(&desktop, "editor/save#2").name, "Save");
    control.change(|world| world.reverse("editor/recent"));
    assert_eq!(element(&desktop, "editor/recent/1").name, "File 20");
    control.change(|world| world.remove("editor/recent"));
    assert!(desktop.elements.element(&call(&desktop), &id("editor/recent/1")).is_err());
    control.change(|world| world.add("editor", "editor/new", Role::Button, "New", Rect::new(0, 0, 10, 10)));
    assert_eq!(element(&desktop, "editor/new").window, Some(WindowId(7)));
    control.change(|world| world.ignore_clicks(true));
    click(&desktop, "editor/wrap");
    assert!(!element(&desktop, "editor/wrap").states.has(State::Checked));
    control.change(|world| world.crash(101));
    assert!(control.window(7).is_none() && control.window(9).is_none());
}

#[test]
fn whoever_listens_hears_a_person_apart_from_deskhand() {
    use crate::input::Press;
    use crate::person::What;
    let (desktop, control) = Fake::new().build();
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let ear = heard.clone();
    let each = Box::new(move |act: Result<crate::person::Act>| {
        let line = act.map(|act| (act.from_person, act.what, act.at));
        ear.lock().unwrap().push(line.map_err(|error| error.code));
    });
    let call = call(&desktop);
    let watching = desktop.person.watch(&call, each).unwrap();
    let save = Point::new(60, 100);
    control.person_clicks(save);
    let button = |press| What::Button(Button::Left, press);
    let person = |what| Ok((true, what, save));
    let told = [person(What::Moved), person(button(Press::Down)), person(button(Press::Up))];
    assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), told);
    assert_eq!(control.received(), ["editor/save clicked"]);
    desktop.input(&call).unwrap().move_to(Point::new(5, 50)).unwrap();
    assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), [Ok((false, What::Moved, Point::new(5, 50)))]);
    control.lose_person();
    assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), [Err(Code::Backend)]);
    drop(watching);
    control.person_clicks(save);
    assert!(heard.lock().unwrap().is_empty());
}
