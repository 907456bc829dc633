//! Recording a person at the desktop in memory, and running what was recorded.

use crate::desk::Desk;
use deskhand_core::element::State;
use deskhand_core::fake::Fake;
use deskhand_core::input::{Button, Press};
use deskhand_core::key::{Key, NamedKey};
use deskhand_core::{Call, Code, Point, Rect};
use serde_json::{Value, json};
use std::time::Duration;

/// The middle of an element.
fn place(desk: &Desk, selector: &str, window: &str) -> Point {
    let found = desk.data("find_elements", json!({ "selector": selector, "window": window }));
    let bounds = &found["elements"][0]["bounds"];
    let at = |start: &str, size: &str| {
        i32::try_from(bounds[start].as_i64().unwrap() + bounds[size].as_i64().unwrap() / 2).unwrap()
    };
    Point::new(at("x", "width"), at("y", "height"))
}

/// Waits until what the person did so far has been looked at: people are slower than that.
fn seen(desk: &Desk, acts: usize) {
    let call = Call::with_timeout(Duration::from_secs(10));
    call.until("the recording to look", || {
        let state = desk.client.session.state();
        let progress = state.recording.as_ref().unwrap().progress();
        Ok((acts <= progress.acts && progress.waiting == 0).then_some(()))
    })
    .unwrap();
}

struct Person<'d> {
    desk: &'d Desk,
    acts: usize,
}

impl Person<'_> {
    fn click(&mut self, at: Point) {
        self.desk.control.person_points(at);
        self.button(Press::Down);
        self.button(Press::Up);
    }

    fn button(&mut self, press: Press) {
        self.desk.control.person_button(Button::Left, press);
        self.acts += 1;
        seen(self.desk, self.acts);
    }

    fn key(&mut self, key: Key) {
        self.desk.control.person_key(key, Press::Down);
        self.acts += 1;
        seen(self.desk, self.acts);
        self.desk.control.person_key(key, Press::Up);
    }

    fn types(&mut self, text: &str) {
        text.chars()
            .for_each(|c| self.key(if c == ' ' { Key::Named(NamedKey::Space) } else { Key::Char(c) }));
    }
}

fn recorded(desk: &Desk, act: impl FnOnce(&mut Person)) -> Value {
    desk.data("start_recording", json!({}));
    act(&mut Person { desk, acts: 0 });
    desk.data("stop_recording", json!({ "overwrite": true }))
}

#[test]
fn clicks_are_of_elements_and_run_again_where_the_window_is_now() {
    let desk = Desk::new();
    let recorded = recorded(&desk, |person| {
        for name in ["5", "+", "3", "="] {
            person.click(place(&desk, &format!("button[name=\"{name}\"]"), "8"));
        }
    });
    assert_eq!(desk.control.value("calculator/result"), "8");
    let step = |name: &str| json!({ "tool": "click_ui_element", "arguments": { "element": format!("button[name=\"{name}\"]"), "window": "Calculator" } });
    assert_eq!(recorded["macro"]["steps"], json!([step("5"), step("+"), step("3"), step("=")]), "{recorded}");
    desk.control.change(|world| world.set_text("calculator/result", "0"));
    desk.control.change(|world| world.place_window(8, Rect::new(300, 300, 260, 344)));
    let ran = desk.data("execute_macro", json!({ "name": "recorded" }));
    assert_eq!(ran["ok"], true, "{ran}");
}

#[test]
fn typing_is_folded_into_texts_and_what_is_no_text_into_keys() {
    let desk = Desk::new();
    let title = place(&desk, "text_field[name=\"Title\"]", "7");
    let recorded = recorded(&desk, |person| {
        person.click(title);
        person.types("Reportx");
        person.key(Key::Named(NamedKey::Backspace));
        person.types(" 2");
        person.key(Key::Named(NamedKey::Tab));
        desk.control.person_key(Key::Named(NamedKey::Ctrl), Press::Down);
        person.acts += 1;
        person.key(Key::Char('s'));
        desk.control.person_key(Key::Named(NamedKey::Ctrl), Press::Up);
        person.key(Key::Named(NamedKey::Left));
        person.key(Key::Named(NamedKey::Left));
    });
    let (title, window) = ("text_field[name=\"Title\"]", "Untitled - Editor");
    assert_eq!(
        recorded["macro"]["steps"],
        json!([
            { "tool": "click_ui_element", "arguments": { "element": title, "window": window } },
            { "tool": "type_text", "arguments": { "text": "Report 2", "element": title, "window": window } },
            { "tool": "press_key", "arguments": { "key": "tab", "window": window } },
            { "tool": "press_key", "arguments": { "key": "ctrl+s", "window": window } },
            { "tool": "press_key", "arguments": { "key": "left", "repeat": 2, "window": window } },
        ]),
        "{recorded}"
    );
}

#[test]
fn of_a_password_nothing_is_kept() {
    let desk = Desk::new();
    let field = place(&desk, "password_field", "7");
    let recorded = recorded(&desk, |person| {
        person.click(field);
        person.types("hunter2");
        person.key(Key::Named(NamedKey::Tab));
        person.types("x");
    });
    assert_eq!(desk.control.value("editor/password"), "hunter2");
    assert!(!recorded.to_string().contains("hunter"), "{recorded}");
    let step = &recorded["macro"]["steps"][1];
    assert_eq!(step["arguments"]["text"], json!({ "$from": "params.password" }), "{recorded}");
    assert_eq!(recorded["macro"]["parameters"][0]["secret"], true);
    // Run again it has to be given, and no reply shows it.
    assert_eq!(
        desk.error("execute_macro", json!({ "name": "recorded" })).code,
        Code::MissingRequiredParameter
    );
    let ran =
        desk.data("execute_macro", json!({ "name": "recorded", "parameters": { "password": "swordfish" } }));
    assert_eq!(ran["ok"], true, "{ran}");
    assert!(!ran.to_string().contains("swordfish"), "{ran}");
    assert!(desk.control.value("editor/password").contains("swordfish"));
}

#[test]
fn what_only_a_place_can_tell_is_relative_to_its_window() {
    let desk = Desk::new();
    let recorded = recorded(&desk, |person| {
        // A slider's places are its values; a label is nothing to click.
        let slider = place(&desk, "slider", "7");
        desk.control.person_points(slider);
        person.button(Press::Down);
        for x in [10, 20, 30] {
            desk.control.person_points(Point::new(slider.x + x, slider.y));
        }
        person.button(Press::Up);
        // The wheel over a list, in three notches.
        let list = place(&desk, "list_box[name=\"Recent files\"]", "7");
        desk.control.person_points(list);
        for _ in 0..3 {
            desk.control.person_turns(0, 1);
            person.acts += 1;
            seen(&desk, person.acts);
        }
    });
    let steps = recorded["macro"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2, "{recorded}");
    let drag = &steps[0]["arguments"];
    assert_eq!((&steps[0]["tool"], &drag["window"]), (&json!("drag"), &json!("Untitled - Editor")));
    assert_eq!(drag["end_x"].as_i64().unwrap() - drag["start_x"].as_i64().unwrap(), 30, "{drag}");
    assert_eq!(steps[1]["tool"], "scroll");
    assert_eq!(
        (&steps[1]["arguments"]["direction"], &steps[1]["arguments"]["notches"]),
        (&json!("down"), &json!(3))
    );
    assert!(steps[1]["arguments"]["element"].as_str().unwrap().starts_with("list"), "{recorded}");
}

#[test]
fn a_double_click_is_one_step_and_a_menu_is_its_path() {
    let desk = Desk::new();
    let item = place(&desk, "list_item[name=\"File 1\"]", "7");
    let menu = place(&desk, "menu[name=\"File\"]", "7");
    let recorded = recorded(&desk, |person| {
        person.click(item);
        person.click(item);
        person.click(menu);
        person.click(place(&desk, "menu_item[name=\"Save\"]", "7"));
    });
    let steps = recorded["macro"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2, "{recorded}");
    assert_eq!(steps[0]["arguments"]["click_count"], 2, "{recorded}");
    assert_eq!(
        (&steps[1]["tool"], &steps[1]["arguments"]["path"]),
        (&json!("click_menu_item"), &json!("File > Save"))
    );
}

#[test]
fn a_window_that_appears_in_between_is_waited_for() {
    let desk = Desk::new();
    let recorded = recorded(&desk, |person| {
        person.click(place(&desk, "button[name=\"7\"]", "8"));
        desk.control.change(|world| {
            let window = world.open_window(102, "Settings", Rect::new(100, 560, 200, 120), true);
            world.add(
                &format!("window{window}"),
                "settings/ok",
                deskhand_core::element::Role::Button,
                "OK",
                Rect::new(10, 10, 60, 30),
            );
            world.set_state("settings/ok", State::Enabled, true);
        });
        person.click(Point::new(140, 610));
    });
    let steps = recorded["macro"]["steps"].as_array().unwrap();
    assert_eq!(steps[1], json!({ "wait": { "window_title": "Settings" } }), "{recorded}");
    assert_eq!(steps[2]["arguments"]["window"], "Settings", "{recorded}");
}

#[test]
fn deskhands_own_input_is_not_recorded() {
    let desk = Desk::new();
    let recorded = recorded(&desk, |person| {
        desk.data("click", json!({ "x": 88, "y": 106 }));
        desk.data("type_text", json!({ "text": "mine" }));
        person.click(place(&desk, "button[name=\"7\"]", "8"));
        desk.data("scroll", json!({ "direction": "down", "x": 500, "y": 300 }));
    });
    assert_eq!(recorded["macro"]["steps"].as_array().unwrap().len(), 1, "{recorded}");
    assert_eq!(recorded["acts"], 2);
}

#[test]
fn a_recording_is_one_at_a_time_and_ends_as_it_should() {
    let desk = Desk::new();
    assert!(desk.error("stop_recording", json!({})).message.contains("records nothing"));
    assert_eq!(desk.data("start_recording", json!({}))["devices"], json!(["fake mouse", "fake keyboard"]));
    assert_eq!(desk.error("start_recording", json!({})).code, Code::Busy);
    let progress = json!({ "acts": 0, "steps": 0, "waiting": 0, "listening": true });
    assert_eq!(desk.data("get_session", json!({}))["recording"], progress);
    // Nothing happened: nothing is made.
    let stopped = desk.data("stop_recording", json!({}));
    assert!(stopped.get("macro").is_none(), "{stopped}");
    // A name that is taken costs nothing of what was recorded.
    desk.data("create_macro", json!({ "name": "taken", "steps": [{ "tool": "cursor_position" }] }));
    desk.data("start_recording", json!({}));
    desk.control.person_clicks(Point::new(88, 106));
    assert_eq!(desk.error("stop_recording", json!({ "name": "taken" })).code, Code::InvalidArgument);
    assert_eq!(desk.data("stop_recording", json!({ "name": "free" }))["macro"]["step_count"], 1);
    // Discarded.
    desk.data("start_recording", json!({}));
    desk.control.person_clicks(Point::new(88, 106));
    assert!(desk.data("stop_recording", json!({ "discard": true })).get("macro").is_none());
    // Lost in the middle: what came before is kept, and the reply says so.
    desk.data("start_recording", json!({}));
    desk.control.person_clicks(Point::new(88, 106));
    desk.control.lose_person();
    desk.control.person_clicks(Point::new(88, 106));
    let stopped = desk.data("stop_recording", json!({ "name": "lost" }));
    assert_eq!(stopped["macro"]["step_count"], 1, "{stopped}");
    assert!(stopped["notes"][0].as_str().unwrap().starts_with("It ended early"), "{stopped}");
    // Its time is up.
    desk.data("start_recording", json!({ "duration_ms": 100 }));
    let call = Call::with_timeout(Duration::from_secs(10));
    let over =
        || Ok((!desk.client.session.state().recording.as_ref().unwrap().progress().listening).then_some(()));
    call.until("its time to be up", over).unwrap();
    desk.control.person_clicks(Point::new(88, 106));
    let stopped = desk.data("stop_recording", json!({}));
    assert!(stopped["notes"][0].as_str().unwrap().contains("time was up"), "{stopped}");
    assert_eq!(stopped["acts"], 0);
}

#[test]
fn what_does_not_answer_is_recorded_by_its_place_and_is_no_reason_to_wait() {
    let desk = Desk::with(Fake::new().without("elements"), |_| {});
    desk.data("start_recording", json!({}));
    desk.control.person_clicks(Point::new(88, 106));
    desk.control.person_types("hi");
    let stopped = desk.data("stop_recording", json!({}));
    let steps = &stopped["macro"]["steps"];
    assert_eq!(steps[0]["tool"], "click", "{stopped}");
    assert_eq!((&steps[0]["arguments"]["x"], &steps[0]["arguments"]["y"]), (&json!(48), &json!(66)));
    // Nobody can say that it was no password.
    assert_eq!(steps[1]["arguments"]["text"], json!({ "$from": "params.text" }), "{stopped}");
    assert!(!stopped.to_string().contains("\"hi\""), "{stopped}");
}
