//! The guards: the person is asked, has the desktop first, stops everything, and keeps applications to themselves.

use crate::desk::{Desk, print};
use deskhand::call::Config;
use deskhand::consent::{Answer, Ask};
use deskhand::encode;
use deskhand::tool::Reply;
use deskhand_core::clipboard::{Kind, Part, Selection};
use deskhand_core::fake::Fake;
use deskhand_core::files::FileView;
use deskhand_core::guard::Chord;
use deskhand_core::input::{Button, Press};
use deskhand_core::key::{Key, NamedKey};
use deskhand_core::screen::Source;
use deskhand_core::window::WindowId;
use deskhand_core::{Call, Code, Error, Point, Rect, Result};
use expect_test::expect;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A person who answers all questions alike, or not at all.
struct Asked {
    answer: Result<Answer, Code>,
    questions: Mutex<Vec<String>>,
}

impl Ask for Asked {
    fn ask(&self, call: &Call, question: &str) -> Result<Answer> {
        self.questions.lock().unwrap().push(question.to_owned());
        match self.answer {
            Ok(answer) => Ok(answer),
            Err(Code::Timeout) => call.until("waiting", || Ok(None)),
            Err(code) => Err(Error::new(code, "It cannot be asked.")),
        }
    }
}

fn asking(rules: &[&str], answer: Result<Answer, Code>) -> (Desk, Arc<Asked>) {
    let desk = Desk::with(Fake::new(), |config| {
        config.policy.confirm = list(rules);
        config.policy.allow = list(&["shell"]);
        config.consent_patience = Duration::from_millis(60);
    });
    let asked = Arc::new(Asked { answer, questions: Mutex::default() });
    *desk.client.asker.lock().unwrap() = Some(asked.clone());
    (desk, asked)
}

impl Asked {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.questions.lock().unwrap())
    }
}

#[test]
fn the_person_is_asked_with_everything_that_counts() {
    let (desk, asked) = asking(&["click", "script"], Ok(Answer::Yes));
    desk.data("click", json!({ "x": 88, "y": 106 }));
    assert_eq!(asked.take(), ["Deskhand is asked to make input: click with {\"x\":88,\"y\":106}. Allow it?"]);
    // Other names and other tools that come to the same.
    desk.data("double_click", json!({ "x": 88, "y": 106 }));
    desk.data("mouse_control", json!({ "action": "click", "x": 88, "y": 106, "monitorIndex": 0 }));
    let asked_for: Vec<String> = asked.take();
    assert_eq!(asked_for.len(), 2, "{asked_for:?}");
    assert!(asked_for[1].contains("\"monitorIndex\":0"), "{asked_for:?}");
    desk.data("execute_shell_command", json!({ "command": "echo", "args": ["hello"] }));
    assert_eq!(asked.take().len(), 1);
    // What is not named is not asked about.
    desk.data("move_mouse", json!({ "x": 1, "y": 1 }));
    desk.data("list_windows", json!({}));
    assert!(asked.take().is_empty());
}

#[test]
fn each_step_is_asked_about_on_its_own() {
    let (desk, asked) = asking(&["input"], Ok(Answer::Yes));
    let steps = json!({ "steps": [
        { "tool": "click", "arguments": { "x": 88, "y": 106 } },
        { "tool": "list_windows" },
        { "tool": "press_key", "arguments": { "key": "a" } },
    ] });
    assert_eq!(desk.data("run_steps", steps.clone())["succeeded"], 3);
    let questions = asked.take();
    assert_eq!(questions.len(), 2, "{questions:?}");
    assert!(questions[1].contains("press_key"), "{questions:?}");
    let (desk, asked) = asking(&["run_steps"], Ok(Answer::No));
    let error = desk.error("run_steps", steps);
    assert_eq!(error.code, Code::DeniedByPolicy);
    assert_eq!(asked.take().len(), 1);
    assert!(desk.control.log().is_empty());
}

#[test]
fn without_consent_nothing_happens() {
    let click = || json!({ "x": 88, "y": 106 });
    for (answer, expected) in [
        (
            Ok(Answer::No),
            expect![[r#"
                denied_by_policy: The person declined: click was not called.
                  remedy: Do not try it again in another way. Ask them what they want instead.
            "#]],
        ),
        (
            Ok(Answer::Dismissed),
            expect![[r#"
                denied_by_policy: The person dismissed the question without an answer: click was not called.
                  remedy: Ask them whether they want it.
            "#]],
        ),
        (
            Err(Code::Timeout),
            expect![[r#"
                timeout: Nobody answered within 0.06 s: click was not called.
                  remedy: Try again when the person is there to answer.
            "#]],
        ),
        (
            Err(Code::Backend),
            expect![[r#"
                denied_by_policy: The person could not be asked, so click was not called. It cannot be asked.
            "#]],
        ),
    ] {
        let (desk, _) = asking(&["click"], answer);
        desk.check("click", click(), expected);
        assert!(desk.control.log().is_empty());
    }
    let (desk, _) = asking(&["pointer"], Ok(Answer::Yes));
    *desk.client.asker.lock().unwrap() = None;
    desk.check(
        "click",
        click(),
        expect![[r#"
            denied_by_policy: click needs the consent of the person (--confirm pointer), and there is no way to ask them here.
              remedy: Use a client that supports elicitation with forms, or a terminal; or start Deskhand without --confirm pointer.
        "#]],
    );
}

/// A person who takes their time to answer, while somebody else goes on.
struct Slow(Mutex<std::sync::mpsc::Receiver<()>>);

impl Ask for Slow {
    fn ask(&self, call: &Call, _: &str) -> Result<Answer> {
        call.until("waiting", || Ok(self.0.lock().unwrap().try_recv().ok()))?;
        Ok(Answer::Yes)
    }
}

#[test]
fn others_go_on_while_the_person_thinks_and_the_time_is_not_the_calls() {
    let desk = Desk::with(Fake::new(), |config| {
        config.policy.confirm = list(&["click"]);
        config.input_timeout = Duration::from_millis(150);
    });
    let (answer, wait) = std::sync::mpsc::channel();
    *desk.client.asker.lock().unwrap() = Some(Arc::new(Slow(Mutex::new(wait))));
    std::thread::scope(|scope| {
        let click = desk.prepare("click", json!({ "x": 88, "y": 106 }));
        let clicking = scope.spawn(|| desk.server.run(click));
        let other = desk.server.client("other");
        let moved = desk.server.run(desk.prepare_for(&other, "move_mouse", json!({ "x": 5, "y": 5 })));
        assert!(moved.is_ok(), "{}", print(&moved));
        // Longer than the call alone may take.
        Call::with_timeout(Duration::from_secs(9)).pause(Duration::from_millis(200), "thinking").unwrap();
        answer.send(()).unwrap();
        let clicked = clicking.join().unwrap();
        assert!(clicked.is_ok(), "{}", print(&clicked));
    });
}

fn guarded(change: impl FnOnce(&mut Config)) -> Desk {
    Desk::with(Fake::new(), change)
}

fn denied(desk: &Desk, tool: &str, arguments: Value) -> String {
    desk.control.take_log();
    let error = desk.error(tool, arguments.clone());
    assert_eq!(error.code, Code::DeniedByPolicy, "{tool} {arguments}: {error:?}");
    let log = desk.control.take_log();
    let harmless = |line: &String| line.starts_with("move ") || line.starts_with("focus 7");
    assert!(log.iter().all(harmless), "{tool} {arguments}: {log:?}");
    error.message
}

#[test]
fn a_denied_application_is_seen_and_not_worked() {
    let desk = guarded(|config| config.guards.apps.deny = list(&["Calculator"]));
    let (inside, window) = (json!({ "x": 830, "y": 200 }), json!({ "window": 8 }));
    assert_eq!(
        denied(&desk, "click", inside.clone()),
        "Not allowed on the window \"Calculator\" of Calculator: Deskhand was started with --deny-app Calculator."
    );
    for tool in ["double_click", "left_mouse_down"] {
        denied(&desk, tool, inside.clone());
    }
    denied(&desk, "scroll", json!({ "x": 830, "y": 200, "direction": "down" }));
    denied(&desk, "gesture", json!({ "gesture_type": "tap", "x": 830, "y": 200 }));
    denied(&desk, "mouse_control", json!({ "action": "click", "x": 830, "y": 200, "monitorIndex": 0 }));
    for tool in ["focus_window", "close_window", "minimize_window"] {
        denied(&desk, tool, window.clone());
    }
    denied(&desk, "move_window", json!({ "window": 8, "x": 1, "y": 40 }));
    denied(&desk, "launch_app", json!({ "application": "calculator", "wait_ms": 0 }));
    denied(&desk, "quit_app", json!({ "application": "Calculator" }));
    denied(&desk, "quit_app", json!({ "application": "Calculator", "force": true }));
    let one = desk.find("button[name=\"1\"]");
    denied(&desk, "click_ui_element", json!({ "element": one }));
    denied(&desk, "perform_element_action", json!({ "element": one, "action": "click" }));
    // The keyboard, once it has come there by the person's hand.
    desk.control.change(|world| world.activate_window(8));
    denied(&desk, "type_text", json!({ "text": "1" }));
    denied(&desk, "press_key", json!({ "key": "1" }));
    // What is dragged stays where it may be dropped, and is let go of there.
    desk.control.take_log();
    let over = json!({ "start_x": 480, "start_y": 106, "end_x": 830, "end_y": 200, "duration_ms": 0 });
    assert_eq!(desk.error("drag", over).code, Code::DeniedByPolicy);
    assert!(desk.control.held().is_empty());
    let log = desk.control.take_log();
    assert!(!log.iter().any(|line| line == "move 830,200"), "{log:?}");
    // It is seen, and everything else is worked.
    assert_eq!(desk.data("list_windows", json!({}))["windows"].as_array().unwrap().len(), 3);
    desk.data("click", json!({ "x": 88, "y": 106 }));
    desk.data("type_text", json!({ "text": "x" }));
}

#[test]
fn with_an_allow_list_nothing_else_is_worked() {
    let desk = guarded(|config| config.guards.apps.allow = list(&["editor"]));
    desk.data("click", json!({ "x": 88, "y": 106 }));
    desk.data("type_text", json!({ "text": "x" }));
    assert_eq!(
        denied(&desk, "click", json!({ "x": 830, "y": 200 })),
        "Not allowed on the window \"Calculator\" of Calculator: Deskhand was started with --allow-app editor."
    );
    // The bare desktop belongs to nobody.
    denied(&desk, "click", json!({ "x": 1200, "y": 700 }));
    denied(&desk, "launch_app", json!({ "application": "Viewer" }));
    let item = json!({ "item": "mixer" });
    denied(&desk, "click_status_bar_item", item);
}

#[test]
fn a_hidden_application_is_neither_seen_nor_worked() {
    let desk = guarded(|config| config.guards.apps.hide = list(&["calculator", "mixer"]));
    let windows = desk.data("list_windows", json!({}));
    assert!(!windows.to_string().contains("Calculator"), "{windows}");
    let error = desk.error("get_window", json!({ "window": 8 }));
    assert_eq!(error.code, Code::WindowNotFound);
    assert!(!format!("{error:?}").contains("Calculator"), "{error:?}");
    assert_eq!(desk.error("focus_window", json!({ "window": 8 })).code, Code::WindowNotFound);
    assert_eq!(desk.error("take_screenshot", json!({ "window": "8" })).code, Code::WindowNotFound);
    let running = desk.data("list_running_apps", json!({}));
    assert!(!running.to_string().to_lowercase().contains("calculator"), "{running}");
    let found = desk.data("find_elements", json!({ "text": "times" }));
    assert_eq!(found["elements"], json!([]));
    let found = desk.data("find_elements", json!({ "selector": "button", "include_hidden": true }));
    assert!(!found.to_string().contains("Calculator"), "{found}");
    let tree = desk.call("get_ui_elements", json!({})).unwrap();
    let Reply::Reading(tree) = tree else { panic!("a reading") };
    assert!(!tree.contains("Calculator") && tree.contains("Document"), "{tree}");
    let error = desk.error("wait_for", json!({ "window_title": "Calculator", "timeout_ms": 30 }));
    assert_eq!(error.code, Code::Timeout, "{error:?}");
    let items = desk.data("list_status_bar_items", json!({}));
    assert!(!items.to_string().contains("mixer"), "{items}");
    // Blind clicks and keys reach it no more than seeing ones.
    assert_eq!(
        denied(&desk, "click", json!({ "x": 830, "y": 200 })),
        "An application that Deskhand may not see is there: it was started with --hide-app calculator."
    );
    desk.control.change(|world| world.activate_window(8));
    denied(&desk, "type_text", json!({ "text": "1" }));
    let under = desk.data("cursor_position", json!({}));
    assert!(!under.to_string().contains("Calculator"), "{under}");
}

#[test]
fn menus_are_read_and_not_worked_where_denied_and_not_read_where_hidden() {
    let desk = guarded(|config| config.guards.apps.deny = list(&["editor"]));
    let menus = desk.data("list_menu_items", json!({ "window": 7 }));
    assert!(menus.to_string().contains("Save"), "{menus}");
    denied(&desk, "click_menu_item", json!({ "window": 7, "path": "File > Save" }));
    let desk = guarded(|config| config.guards.apps.hide = list(&["editor"]));
    for tool in ["list_menu_items", "click_menu_item", "get_menu_item_state"] {
        let error = desk.error(tool, json!({ "window": 7, "path": "File > Save" }));
        assert_eq!(error.code, Code::WindowNotFound, "{tool}: {error:?}");
        assert!(!format!("{error:?}").contains("Editor"), "{tool}: {error:?}");
    }
    // The capability itself, for a window that was seen before.
    let (call, plain) = (Call::with_timeout(Duration::from_secs(5)), Desk::new());
    let windows = plain.server.desktop.windows.list(&call).unwrap();
    let editor = windows.iter().find(|window| window.id.0 == 7).unwrap();
    let error = desk.server.desktop.menus.read(&call, editor).unwrap_err();
    assert_eq!(error.code, Code::WindowNotFound, "{error:?}");
}

#[test]
fn what_a_hidden_application_copied_is_not_handed_out() {
    // By the name of its process, and by another name of the application whose process it is.
    for name in ["editor", "org.example.Editor"] {
        let desk = guarded(|config| config.guards.apps.hide = list(&[name]));
        desk.data("get_clipboard_history", json!({ "watch": true }));
        desk.control.change(|world| world.person_copies(vec![Part::Text("hush".to_owned())], false));
        let held = desk.data("get_clipboard", json!({}));
        assert!(!held.to_string().contains("hush") && !held.to_string().contains("editor"), "{held}");
        assert_eq!(held["secret"], true, "{held}");
        let history = desk.data("get_clipboard_history", json!({}));
        assert!(!history.to_string().contains("hush"), "{history}");
        assert_eq!((&history["entries"], &history["withheld"]), (&json!([]), &json!(1)), "{history}");
        let call = Call::with_timeout(Duration::from_secs(5));
        let fetched = desk.server.desktop.clipboard.fetch(&call, Selection::Clipboard, Kind::Text, 100);
        assert_eq!(fetched.unwrap_err().code, Code::PermissionDenied);
        let wanted = json!({ "clipboard": "hush", "timeout_ms": 50 });
        assert_eq!(desk.error("wait_for", wanted).code, Code::Timeout);
        // What Deskhand itself puts there is nobody's secret.
        desk.data("set_clipboard", json!({ "text": "mine" }));
        assert_eq!(desk.data("get_clipboard", json!({}))["text"], "mine");
    }
    // Denied is not hidden.
    let desk = guarded(|config| config.guards.apps.deny = list(&["editor"]));
    desk.control.change(|world| world.person_copies(vec![Part::Text("plain".to_owned())], false));
    assert_eq!(desk.data("get_clipboard", json!({}))["text"], "plain");
}

#[test]
fn notifications_of_hidden_applications_are_left_out_and_those_of_denied_ones_not_worked() {
    let desk = guarded(|config| {
        config.guards.apps.hide = list(&["Mail"]);
        config.guards.apps.deny = list(&["Chat"]);
    });
    desk.data("list_notifications", json!({ "watch": true }));
    let shown = desk.control.change(|world| {
        world.notify("Mail", "From Ann", "secret", &["Open"]);
        world.notify("Chat", "Hello", "", &["Open"])
    });
    let call = Call::with_timeout(Duration::from_secs(10));
    let known = call.until("the notification", || {
        let known = desk.data("list_notifications", json!({})).to_string();
        Ok(known.contains("Hello").then_some(known))
    });
    assert!(!known.unwrap().contains("Ann"));
    denied(&desk, "act_on_notification", json!({ "id": shown, "action": "Open" }));
    let wanted = json!({ "notification": "Ann", "timeout_ms": 50 });
    desk.control.change(|world| world.notify("Mail", "From Ann", "again", &[]));
    assert_eq!(desk.error("wait_for", wanted).code, Code::Timeout);
}

#[test]
fn a_file_manager_that_may_not_be_worked_reveals_nothing_and_a_hidden_one_is_not_read() {
    let there = json!({ "path": "/usr/share" });
    let desk = guarded(|config| config.guards.apps.deny = list(&["files"]));
    denied(&desk, "reveal_in_finder", there.clone());
    let desk = guarded(|config| config.guards.apps.allow = list(&["editor"]));
    denied(&desk, "reveal_in_finder", there.clone());
    let desk = guarded(|config| config.guards.apps.allow = list(&["files"]));
    desk.data("reveal_in_finder", there.clone());
    assert!(desk.data("get_finder_window_path", json!({})).to_string().contains("/usr"));
    let desk = guarded(|config| config.guards.apps.hide = list(&["files"]));
    denied(&desk, "reveal_in_finder", there.clone());
    let view = FileView {
        application: "Files".to_owned(),
        window: WindowId(19),
        title: "Private".to_owned(),
        folder: Some("/home/private".into()),
        selected: vec!["/home/private/letter".into()],
        unknown: None,
    };
    desk.control.change(|world| world.set_file_view(Some(view)));
    for tool in ["get_finder_window_path", "get_selected_files"] {
        let error = desk.error(tool, json!({}));
        assert_eq!(error.code, Code::WindowNotFound, "{tool}: {error:?}");
        assert!(!format!("{error:?}").contains("rivate"), "{tool}: {error:?}");
    }
}

/// Whatever makes input is refused at windows of another user or an administrator, before anything happens.
#[test]
fn an_elevated_window_gets_no_input_of_any_kind() {
    let desk = Desk::new();
    let seven = desk.find("button[name=\"7\"]");
    desk.control.change(|world| world.elevate(102));
    let window = json!({ "window": 8 });
    let with = |more: Value| {
        let mut arguments = window.clone();
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let element = |more: Value| {
        let mut arguments = json!({ "element": seven });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let refused = |tool: &str, arguments: Value| {
        desk.control.take_log();
        let error = desk.error(tool, arguments.clone());
        assert_eq!(error.code, Code::ElevatedProcessTarget, "{tool} {arguments}: {error:?}");
        assert_eq!(desk.control.take_log(), [""; 0], "{tool} {arguments}");
    };
    for (tool, arguments) in [
        ("click", json!({ "x": 830, "y": 200 })),
        ("click", element(json!({}))),
        ("left_mouse_down", json!({ "x": 830, "y": 200 })),
        ("scroll", json!({ "x": 830, "y": 200, "direction": "down" })),
        ("drag", json!({ "start_x": 480, "start_y": 106, "end_x": 830, "end_y": 200 })),
        ("gesture", json!({ "gesture_type": "tap", "x": 830, "y": 200 })),
        ("click_ui_element", element(json!({}))),
        ("perform_element_action", element(json!({ "action": "click" }))),
        ("focus_ui_element", element(json!({}))),
        ("type_text", with(json!({ "text": "1" }))),
        ("type_text", with(json!({ "text": "1", "method": "paste" }))),
        ("type_text", json!({ "text": "1", "application": "Calculator" })),
        ("press_key", with(json!({ "key": "1" }))),
        ("press_key", element(json!({ "key": "1" }))),
        ("hold_key", with(json!({ "key": "shift" }))),
        ("click_menu_item", with(json!({ "path": "File > Quit" }))),
    ] {
        refused(tool, arguments);
    }
    // The keyboard, once it has come there by the person's hand.
    desk.control.change(|world| world.activate_window(8));
    refused("type_text", json!({ "text": "1" }));
    refused("press_key", json!({ "key": "enter" }));
    refused("hold_key", json!({ "key": "a" }));
    // To let go is never refused.
    desk.data("hold_key", json!({ "key": "a", "release": true }));
    desk.data("left_mouse_up", json!({ "x": 830, "y": 200 }));
}

#[test]
fn the_pixels_of_a_hidden_application_are_masked_and_those_above_it_stay() {
    let desk = guarded(|config| config.guards.apps.hide = list(&["calculator"]));
    let plain = Desk::new();
    let call = Call::with_timeout(Duration::from_secs(5));
    // The editor overlaps the left of the calculator (800 to 1060, 100 to 444), and is on top of it.
    for desk in [&desk, &plain] {
        desk.control.change(|world| world.place_window(7, Rect::new(300, 60, 640, 480)));
    }
    let area = Rect::new(280, 50, 900, 600);
    let seen = desk.server.desktop.screen.capture(&call, Source::Screen(area)).unwrap();
    let all = plain.server.desktop.screen.capture(&call, Source::Screen(area)).unwrap();
    let mut masked = 0;
    for (place, (seen, all)) in seen.pixels.chunks(4).zip(all.pixels.chunks(4)).enumerate() {
        let at = Point::new(area.x + (place % 900) as i32, area.y + (place / 900) as i32);
        let hidden = Rect::new(800, 100, 260, 344).contains(at) && !Rect::new(300, 60, 640, 480).contains(at);
        if hidden {
            assert_eq!(seen[..3], [128; 3], "{at}");
            masked += 1;
        } else {
            assert_eq!(seen[..3], all[..3], "{at}");
        }
    }
    assert_eq!(masked, 120 * 344);
    let screen = &desk.server.desktop.screen;
    assert_eq!(screen.pixel(&call, Point::new(1000, 200)).unwrap(), [128; 3]);
    assert_ne!(screen.pixel(&call, Point::new(820, 200)).unwrap(), [128; 3]);

    // What changes behind the mask has not changed for whoever looks.
    let picture = |desk: &Desk, more: Value| {
        let mut arguments = json!({ "x": 280, "y": 50, "width": 900, "height": 600 });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        encode::terminal(&desk.call("take_screenshot", arguments))
    };
    picture(&desk, json!({}));
    let mark = screen.mark(&call).unwrap();
    desk.control.change(|world| world.set_text("calculator/result", "secret"));
    assert!(picture(&desk, json!({ "unchanged_since": "i1" })).to_lowercase().contains("unchanged"));
    let behind = Rect::new(940, 100, 200, 400);
    assert!(!screen.changed_since(&call, mark, behind).unwrap());
    desk.control.change(|world| world.set_text("editor/title", "seen"));
    assert!(screen.changed_since(&call, mark, area).unwrap());
    assert!(!picture(&desk, json!({ "unchanged_since": "i1" })).to_lowercase().contains("unchanged"));
}

fn person(quiet: u64, chord: bool) -> Desk {
    guarded(|config| {
        config.guards.quiet = Duration::from_millis(quiet);
        config.guards.chord = chord.then(|| Chord { hold: Duration::from_millis(60), ..Chord::default() });
    })
}

#[test]
fn input_waits_until_the_person_is_quiet() {
    let desk = person(80, false);
    desk.data("click", json!({ "x": 88, "y": 106 }));
    desk.control.person_points(Point::new(500, 500));
    let began = Instant::now();
    desk.data("click", json!({ "x": 88, "y": 106 }));
    assert!(Duration::from_millis(70) < began.elapsed());
    // Looking does not wait.
    desk.control.person_points(Point::new(500, 500));
    let began = Instant::now();
    desk.data("cursor_position", json!({}));
    assert!(began.elapsed() < Duration::from_millis(70));
    desk.control.take_log();
    desk.check(
        "press_key",
        json!({ "key": "a", "timeout_ms": 20 }),
        expect![[r#"
            paused_by_user: The person at the desktop is using it: pressing waits for 80 ms of quiet, which did not come in its time.
              remedy: Look what the person did, then try again; a larger timeout_ms waits longer for them to be done.
        "#]],
    );
}

#[test]
fn typing_pauses_for_the_person_and_goes_on() {
    let desk = person(60, false);
    let typed = || desk.control.value("editor/text").matches('a').count();
    let before = typed();
    std::thread::scope(|scope| {
        let text = "a".repeat(60);
        let typing = desk.prepare("type_text", json!({ "text": text, "delay_ms": 5 }));
        let typing = scope.spawn(|| desk.server.run(typing));
        let call = Call::with_timeout(Duration::from_secs(9));
        call.until("typing to begin", || Ok((before + 8 < typed()).then_some(()))).unwrap();
        desk.control.person_points(Point::new(900, 700));
        // What is under way to the next question is typed, and then nothing.
        call.pause(Duration::from_millis(30), "it coming to a halt").unwrap();
        let halted = typed();
        desk.control.person_points(Point::new(901, 700));
        call.pause(Duration::from_millis(40), "the person being busy").unwrap();
        assert_eq!(typed(), halted);
        let done = typing.join().unwrap();
        assert!(done.is_ok(), "{}", print(&done));
        assert_eq!(typed(), before + 60);
    });
}

#[test]
fn a_drag_ends_when_the_person_takes_the_pointer() {
    let desk = person(60, false);
    std::thread::scope(|scope| {
        let drag = json!({ "start_x": 480, "start_y": 106, "end_x": 540, "end_y": 106, "duration_ms": 3000 });
        let dragging = desk.prepare("drag", drag);
        let dragging = scope.spawn(|| desk.server.run(dragging));
        let call = Call::with_timeout(Duration::from_secs(9));
        call.until("the drag to begin", || Ok((!desk.control.held().is_empty()).then_some(()))).unwrap();
        desk.control.person_points(Point::new(900, 700));
        let error = dragging.join().unwrap().err().unwrap();
        assert_eq!(error.code, Code::PausedByUser, "{error:?}");
        assert!(error.message.contains("let go of"), "{error:?}");
        assert!(desk.control.held().is_empty());
    });
    // What is held across calls is let go of, too.
    desk.data("left_mouse_down", json!({ "x": 88, "y": 106 }));
    desk.control.person_points(Point::new(90, 107));
    assert_eq!(desk.error("move_mouse", json!({ "x": 99, "y": 106 })).code, Code::PausedByUser);
    assert!(desk.control.held().is_empty());
}

const ESCAPE: Key = Key::Named(NamedKey::Escape);

fn hold_escape(desk: &Desk, stops: bool) {
    desk.control.person_key(ESCAPE, Press::Down);
    let call = Call::with_timeout(Duration::from_secs(9));
    let halted = || desk.server.desktop.person.halted().unwrap().is_some();
    call.until("the chord", || Ok((halted() == stops).then_some(()))).unwrap();
    desk.control.person_key(ESCAPE, Press::Up);
}

/// The watch begins on a thread of its own.
fn listening(desk: &Desk) {
    let call = Call::with_timeout(Duration::from_secs(9));
    call.until("somebody listening", || Ok(desk.control.is_heard().then_some(()))).unwrap();
}

#[test]
fn holding_the_chord_stops_everything_until_it_is_held_again() {
    let desk = person(0, true);
    listening(&desk);
    std::thread::scope(|scope| {
        let drag = json!({ "start_x": 480, "start_y": 106, "end_x": 540, "end_y": 106, "duration_ms": 4000 });
        let dragging = desk.prepare("drag", drag);
        let waiting = desk.prepare("click", json!({ "x": 88, "y": 106 }));
        let dragging = scope.spawn(|| desk.server.run(dragging));
        let call = Call::with_timeout(Duration::from_secs(9));
        call.until("the drag to begin", || Ok((!desk.control.held().is_empty()).then_some(()))).unwrap();
        let waiting = scope.spawn(|| desk.server.run(waiting));
        hold_escape(&desk, true);
        let error = dragging.join().unwrap().err().unwrap();
        assert_eq!(error.code, Code::PausedByUser, "{error:?}");
        assert_eq!(waiting.join().unwrap().err().unwrap().code, Code::PausedByUser);
        assert!(desk.control.held().is_empty());
    });
    desk.control.take_log();
    desk.check(
        "click",
        json!({ "x": 88, "y": 106 }),
        expect![[r#"
            paused_by_user: The person at the desktop has stopped Deskhand (escape was held for 60 ms): nothing is changed until they let it.
              remedy: Ask the person. They let it go on by holding the same key down again, by `deskhand resume`, or by starting Deskhand anew.
        "#]],
    );
    for (tool, arguments) in [
        ("press_key", json!({ "key": "a" })),
        ("close_window", json!({ "window": 8 })),
        ("launch_app", json!({ "application": "Viewer" })),
    ] {
        assert_eq!(desk.error(tool, arguments).code, Code::PausedByUser);
    }
    assert!(desk.control.take_log().is_empty());
    desk.data("list_windows", json!({}));
    hold_escape(&desk, false);
    desk.data("click", json!({ "x": 88, "y": 106 }));
    // `deskhand resume` of another process.
    hold_escape(&desk, true);
    assert!(desk.server.desktop.person.resume().unwrap());
    desk.data("click", json!({ "x": 88, "y": 106 }));
}

#[test]
fn only_the_key_alone_held_by_a_person_stops_anything() {
    let desk = person(0, true);
    listening(&desk);
    let call = Call::with_timeout(Duration::from_secs(9));
    let long = || call.pause(Duration::from_millis(150), "holding").unwrap();
    let going = || assert_eq!(desk.server.desktop.person.halted().unwrap(), None);
    // Deskhand itself holds it.
    desk.data("hold_key", json!({ "key": "escape", "duration_ms": 300 }));
    long();
    going();
    // It is let go of, or something else is pressed.
    desk.control.person_key(ESCAPE, Press::Down);
    desk.control.person_key(ESCAPE, Press::Up);
    long();
    going();
    desk.control.person_key(ESCAPE, Press::Down);
    desk.control.person_key(Key::Char('x'), Press::Down);
    long();
    going();
    desk.control.person_key(Key::Char('x'), Press::Up);
    desk.control.person_key(ESCAPE, Press::Up);
    desk.control.person_button(Button::Left, Press::Down);
    desk.control.person_button(Button::Left, Press::Up);
    // The devices were lost and came back.
    desk.control.lose_person();
    listening(&desk);
    hold_escape(&desk, true);
}
