//! Observations: what is told of what happens, and what is not.

use crate::desk::{Desk, check, plain};
use deskhand::observations::{MOST_EVENTS, MOST_OBSERVATIONS};
use deskhand_core::element::{Role, State};
use deskhand_core::{Call, Code, Error, Rect};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Begins one and answers its name.
fn begin(desk: &Desk, arguments: Value) -> Value {
    desk.data("create_observation", arguments)["name"].clone()
}

/// What has been seen so far, as soon as there are so many events.
fn events(desk: &Desk, name: &Value, wanted: usize) -> Vec<Value> {
    let call = Call::with_timeout(Duration::from_secs(20));
    let read = || desk.data("get_observation", json!({ "name": name, "max_events": 1000 }));
    let come = call.until("waiting for events", || {
        let events = read()["events"].as_array().unwrap().clone();
        Ok((wanted <= events.len()).then_some(events))
    });
    come.unwrap_or_else(|_| panic!("{wanted} events were wanted: {:#}", read()))
}

/// One line for each event: kind, what, attribute, old → new.
fn lines(events: &[Value]) -> String {
    let mut text = String::new();
    for event in events {
        let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        text.push_str(&format!("{} {}", word("kind"), word("what")));
        for name in ["attribute", "reason"] {
            if event[name].is_string() {
                text.push_str(&format!(" [{}]", word(name)));
            }
        }
        if event["new"].is_string() || event["old"].is_string() {
            text.push_str(&format!(": {:?} → {:?}", word("old"), word("new")));
        }
        for name in ["masked", "below"] {
            if !event[name].is_null() {
                text.push_str(&format!(" {name} {}", event[name]));
            }
        }
        text.push('\n');
    }
    text
}

/// Observes, lets `happen`, and compares what is told.
fn observe(arguments: Value, wanted: usize, happen: impl FnOnce(&Desk), expect: Expect) {
    let desk = Desk::new();
    let name = begin(&desk, arguments);
    happen(&desk);
    expect.assert_eq(&lines(&events(&desk, &name, wanted)));
}

#[test]
fn beginning() {
    check(
        plain,
        "create_observation",
        json!({ "type": "attribute", "element": "slider", "attributes": ["AXValue", "enabled"] }),
        expect![[r#"
            name: observations/o1
            type: attribute
            target: "e1 slider \"Zoom\""
            state: active
            via: events
            watched: 1
            events: 0
            last_sequence: 0
            dropped: 0
            attributes: value, enabled
            created: …
            uri: deskhand://observations/o1
        "#]],
    );
    check(
        plain,
        "create_observation",
        json!({ "type": "tree", "parent": "applications/101/windows/7", "roles": ["button"],
                "attributes": ["value"], "visible_only": true, "poll_interval_ms": 500 }),
        expect![[r#"
            name: observations/o1
            type: tree
            target: "window 7 \"Untitled - Editor\" of Editor"
            state: active
            via: events
            watched: 38
            events: 0
            last_sequence: 0
            dropped: 0
            roles: button
            visible_only: true
            created: …
            uri: deskhand://observations/o1
            ignored: attributes, poll_interval_ms
        "#]],
    );
    check(
        plain,
        "create_observation",
        json!({ "type": "attribute", "element": "slider", "attributes": ["bounds"], "poll_interval_ms": 500 }),
        expect![[r#"
            name: observations/o1
            type: attribute
            target: "e1 slider \"Zoom\""
            state: active
            via: polling
            polled: bounds
            poll_interval_ms: 500
            watched: 1
            events: 0
            last_sequence: 0
            dropped: 0
            attributes: bounds
            created: …
            uri: deskhand://observations/o1
        "#]],
    );
    check(
        |desk| desk.control.change(|world| world.set_toolkit(101, "gtk 4.8")),
        "create_observation",
        json!({ "type": "element", "window": "7" }),
        expect![[r#"
            name: observations/o1
            type: element
            target: "window 7 \"Untitled - Editor\" of Editor"
            state: active
            via: polling
            polled: structure, numbers
            poll_interval_ms: 1000
            watched: 38
            events: 0
            last_sequence: 0
            dropped: 0
            created: …
            uri: deskhand://observations/o1
        "#]],
    );
    check(
        plain,
        "create_observation",
        json!({ "type": "window", "roles": ["button"] }),
        expect![[r#"
        name: observations/o1
        type: window
        target: "all windows"
        state: active
        via: events
        watched: 3
        events: 0
        last_sequence: 0
        dropped: 0
        created: …
        uri: deskhand://observations/o1
        ignored: roles
    "#]],
    );
    check(
        plain,
        "create_observation",
        json!({ "type": "application", "parent": "applications/102" }),
        expect![[r#"
            name: observations/o1
            type: application
            target: "application applications/102"
            state: active
            via: events
            watched: 1
            events: 0
            last_sequence: 0
            dropped: 0
            created: …
            uri: deskhand://observations/o1
        "#]],
    );
}

#[test]
fn what_cannot_be_observed_is_refused() {
    check(
        plain,
        "create_observation",
        json!({ "type": "element" }),
        expect![[r#"
        missing_required_parameter: Nothing says whose elements to observe.
          expected: one of element, window, application (or parent, a resource name)
    "#]],
    );
    check(
        plain,
        "create_observation",
        json!({ "type": "tree", "window": "7", "roles": ["knob"] }),
        expect![[r#"
            invalid_argument: No role is called "knob".
              expected: roles as get_ui_elements shows them: button, text_field, check_box …
        "#]],
    );
    check(
        plain,
        "create_observation",
        json!({ "type": "attribute", "window": "7", "attributes": ["color"] }),
        expect![[r#"
            invalid_argument: "color" is no attribute that can be observed here.
              expected: name, value, description, states, bounds, or a state: checked, enabled, focused, selected, expanded …
        "#]],
    );
    check(
        plain,
        "create_observation",
        json!({ "type": "window", "attributes": ["value"] }),
        expect![[r#"
        invalid_argument: "value" is no attribute that can be observed here.
          expected: title, position, size, bounds, state, focused
    "#]],
    );
    check(
        plain,
        "create_observation",
        json!({ "type": "window", "element": "slider" }),
        expect![[r#"
        invalid_argument: A window observation is of a window, an application or all windows.
          remedy: Pass window or application instead of element.
    "#]],
    );
    check(
        plain,
        "create_observation",
        json!({ "type": "pixels" }),
        expect![[r#"
            invalid_argument: The arguments do not fit: type has to be one of element, window, application, attribute, tree, not the string "pixels".
              expected: type: one of element, window, application, attribute, tree, element?: a string, window?: a string, application?: a string, roles?: an array of string, attributes?: an array of string, visible_only?: true or false, poll_interval_ms?: an integer from 50 to 600000, session?: a string
        "#]],
    );
    check(
        plain,
        "get_observation",
        json!({ "name": "o1" }),
        expect![[r#"
        observation_not_found: There is no observation "o1".
          expected: the name of one of your observations, observations/o1 say
          remedy: List them with list_observations, or begin one with create_observation.
    "#]],
    );
    check(
        plain,
        "stream_observations",
        json!({}),
        expect![[r#"
        missing_required_parameter: Nothing says what to follow.
          expected: names of observations, or types (and of what: element, window, application)
    "#]],
    );
    check(
        |desk| desk.control.change(|world| world.silence(101, true)),
        "create_observation",
        json!({ "type": "element", "application": "101" }),
        expect![[r#"
            timeout: Editor does not answer.
              system: It did not answer.
              remedy: It hangs or is stopped: wait, or quit it by force (quit_app).
        "#]],
    );
}

#[test]
fn values_names_and_states_of_one_element() {
    observe(
        json!({ "type": "attribute", "element": "text_field[name=\"Title\"]" }),
        3,
        |desk| {
            desk.control.change(|world| {
                world.set_text("editor/title", "Report");
                world.set_name("editor/title", "Heading");
                world.set_state("editor/title", State::Enabled, false);
                // Of another element nothing is told.
                world.set_name("editor/save", "Store");
            });
        },
        expect![[r#"
            name_changed e1 text_field "Heading": "Title" → "Heading"
            value_changed e1 text_field "Heading": "Untitled" → "Report"
            state_changed e1 text_field "Heading" [enabled]: "true" → "false"
        "#]],
    );
}

#[test]
fn only_the_attributes_that_were_asked_for() {
    observe(
        json!({ "type": "attribute", "window": "7", "attributes": ["checked", "name"] }),
        2,
        |desk| {
            desk.control.change(|world| {
                world.set_text("editor/title", "Report");
                world.set_state("editor/wrap", State::Checked, true);
                world.set_state("editor/wrap", State::Enabled, false);
                world.set_name("editor/wrap", "Wrap");
            });
        },
        expect![[r#"
            name_changed e10 check_box "Wrap": "Wrap lines" → "Wrap"
            state_changed e10 check_box "Wrap" [checked]: "false" → "true"
        "#]],
    );
}

#[test]
fn elements_that_come_and_go_are_told_by_the_topmost() {
    observe(
        json!({ "type": "element", "window": "7" }),
        2,
        |desk| {
            desk.control.change(|world| {
                world.add("editor/files", "editor/box", Role::Group, "Box", Rect::new(0, 0, 50, 50));
                world.add("editor/box", "editor/box/a", Role::Button, "A", Rect::new(0, 0, 20, 20));
                world.add("editor/box", "editor/box/b", Role::Button, "B", Rect::new(20, 0, 20, 20));
                world.set_text("editor/title", "x");
            });
        },
        expect![[r#"
            value_changed e12 text_field "Title": "Untitled" → "x"
            element_added e39 group "Box" below 2
        "#]],
    );
    observe(
        json!({ "type": "tree", "window": "7", "roles": ["list_item"] }),
        1,
        |desk| {
            desk.control.change(|world| {
                world.set_name("editor/recent/2", "Not told");
                world.remove("editor/recent/3");
            });
        },
        expect![[r#"
            element_removed e19 list_item "File 3"
        "#]],
    );
    observe(
        json!({ "type": "tree", "window": "7" }),
        1,
        |desk| desk.control.change(|world| world.remove("editor/recent")),
        expect![[r#"
            element_removed e16 list_box "Recent files" below 20
        "#]],
    );
}

#[test]
fn what_is_hidden_is_removed_and_what_shows_is_added_when_only_that_counts() {
    observe(
        json!({ "type": "element", "window": "7", "roles": ["check_box"], "visible_only": true }),
        2,
        |desk| {
            let name = json!("observations/o1");
            desk.control.change(|world| world.set_state("editor/wrap", State::Visible, false));
            events(desk, &name, 1);
            desk.control.change(|world| {
                world.set_state("editor/wrap", State::Checked, true);
                world.set_state("editor/wrap", State::Visible, true);
            });
        },
        expect![[r#"
            element_removed e10 check_box "Wrap lines"
            element_added e10 check_box "Wrap lines"
        "#]],
    );
}

#[test]
fn a_password_is_never_told() {
    let desk = Desk::new();
    let name = begin(&desk, json!({ "type": "element", "window": "7", "attributes": ["value"] }));
    desk.control.change(|world| world.set_text("editor/password", "hunter2"));
    let seen = events(&desk, &name, 1);
    expect![[r#"
        value_changed e13 password_field "Password" masked true
    "#]]
    .assert_eq(&lines(&seen));
    let whole = desk.data("get_observation", json!({ "name": name })).to_string();
    assert!(!whole.contains("hunter2"), "{whole}");
}

#[test]
fn windows_that_open_move_and_close() {
    observe(
        json!({ "type": "window" }),
        8,
        |desk| {
            let name = json!("observations/o1");
            let window = desk
                .control
                .change(|world| world.open_window(101, "Extra", Rect::new(100, 100, 300, 200), true));
            events(desk, &name, 3);
            desk.control.change(|world| world.place_window(window, Rect::new(120, 100, 320, 200)));
            events(desk, &name, 5);
            desk.control.change(|world| world.retitle_window(window, "More"));
            events(desk, &name, 6);
            desk.control.change(|world| world.close_window(window));
        },
        expect![[r#"
            window_opened 20 "Extra" of Editor: "" → "300x200 at (100, 100)"
            window_focus_changed 7 "Untitled - Editor" of Editor: "true" → "false"
            window_focus_changed 20 "Extra" of Editor: "" → "true"
            window_moved 20 "Extra" of Editor: "(100, 100)" → "(120, 100)"
            window_resized 20 "Extra" of Editor: "300x200" → "320x200"
            window_title_changed 20 "More" of Editor: "Extra" → "More"
            window_closed 20 "More" of Editor
            window_focus_changed 7 "Untitled - Editor" of Editor: "false" → "true"
        "#]],
    );
    observe(
        json!({ "type": "window", "window": "8", "attributes": ["state"] }),
        1,
        |desk| {
            desk.control.change(|world| world.retitle_window(8, "Not told"));
            desk.data("minimize_window", json!({ "window": "8" }));
        },
        expect![[r#"
            window_state_changed 8 "Not told" of Calculator: "normal" → "minimized"
        "#]],
    );
}

#[test]
fn an_observation_of_a_window_ends_with_it_and_stays_readable() {
    let desk = Desk::new();
    let windows = begin(&desk, json!({ "type": "window", "window": "8" }));
    let elements = begin(&desk, json!({ "type": "element", "window": "8" }));
    let whole = begin(&desk, json!({ "type": "window", "application": "102" }));
    desk.control.change(|world| world.close_window(8));
    expect![[r#"
        window_closed 8 "Calculator" of Calculator
        ended window 8 "Calculator" of Calculator [The window has closed.]
    "#]]
    .assert_eq(&lines(&events(&desk, &windows, 2)));
    expect![[r#"
        ended window 8 "Calculator" of Calculator [The application has quit.]
    "#]]
    .assert_eq(&lines(&events(&desk, &elements, 1)));
    // Its application runs on.
    expect![[r#"
        window_closed 8 "Calculator" of Calculator
        ended windows of 102 [The application 102 has quit.]
    "#]]
    .assert_eq(&lines(&events(&desk, &whole, 1)));
    let read = desk.data("get_observation", json!({ "name": windows }));
    assert_eq!(read["observation"]["state"], "ended", "{read}");
    assert_eq!(read["observation"]["reason"], "The window has closed.", "{read}");
}

#[test]
fn applications_that_start_and_quit() {
    let desk = Desk::new();
    let all = begin(&desk, json!({ "type": "application" }));
    let one = begin(&desk, json!({ "type": "application", "application": "Calculator" }));
    let field = begin(&desk, json!({ "type": "attribute", "element": "text_field[name=\"Result\"]" }));
    desk.data("launch_app", json!({ "application": "Viewer" }));
    expect![[r#"
        application_started Viewer (201)
        application_activated Viewer (201): "Editor" → "Viewer"
    "#]]
    .assert_eq(&lines(&events(&desk, &all, 2)));
    desk.control.change(|world| world.crash(102));
    expect![[r#"
        application_quit Calculator (102)
        ended application Calculator [The application has quit.]
    "#]]
    .assert_eq(&lines(&events(&desk, &one, 2)));
    expect![[r#"
        ended e1 text_field "Result" [The application has quit.]
    "#]]
    .assert_eq(&lines(&events(&desk, &field, 1)));
}

#[test]
fn an_element_that_goes_ends_its_observation() {
    observe(
        json!({ "type": "attribute", "element": "save-button" }),
        1,
        |desk| desk.control.change(|world| world.remove("editor/save")),
        expect![[r#"
            ended e1 button "Save" [The element is gone. The element is gone.]
        "#]],
    );
    observe(
        json!({ "type": "element", "element": "list_box[name=\"Recent files\"]" }),
        1,
        |desk| desk.control.change(|world| world.remove("editor/recent")),
        expect![[r#"
            ended e1 list_box "Recent files" [The element is gone. The element is gone.]
        "#]],
    );
}

#[test]
fn events_go_on_after_a_number_and_are_counted_when_dropped() {
    let desk = Desk::new();
    let name = begin(&desk, json!({ "type": "window", "window": "8", "attributes": ["title"] }));
    for number in 1..=3_usize {
        desk.control.change(|world| world.retitle_window(8, &number.to_string()));
        events(&desk, &name, number);
    }
    let read = desk.data("get_observation", json!({ "name": name, "after": 1, "max_events": 1 }));
    assert_eq!(read["events"][0]["sequence"], 2, "{read}");
    assert_eq!(read["more"], true, "{read}");
    let read = desk.data("get_observation", json!({ "name": name, "after": 3 }));
    assert_eq!((&read["events"], &read["more"]), (&json!([]), &Value::Null));
}

#[test]
fn a_storm_is_told_together_and_memory_is_bounded() {
    let desk = Desk::new();
    let name = begin(&desk, json!({ "type": "attribute", "element": "slider" }));
    for number in 0..1000 {
        desk.control.change(|world| world.set_text("editor/zoom", &(50 + number % 100).to_string()));
    }
    desk.control.change(|world| world.set_text("editor/zoom", "199"));
    let call = Call::with_timeout(Duration::from_secs(20));
    let last = call.until("waiting for the last value", || {
        let read = desk.data("get_observation", json!({ "name": name, "max_events": 1000 }));
        Ok(read["events"].as_array().unwrap().last().filter(|event| event["new"] == "199").cloned())
    });
    let seen = events(&desk, &name, 1);
    assert!(last.is_ok() && seen.len() < 100, "{} events", seen.len());

    // As many elements at once as are kept, and more.
    let all = begin(&desk, json!({ "type": "attribute", "window": "7", "attributes": ["name"] }));
    for number in 0..MOST_EVENTS + 200 {
        let id = format!("editor/extra/{number}");
        desk.control
            .change(|world| world.add("editor/files", &id, Role::Label, "old", Rect::new(0, 0, 9, 9)));
    }
    let grown = |read: &Value| MOST_EVENTS as u64 <= read["observation"]["watched"].as_u64().unwrap();
    let read = || desk.data("get_observation", json!({ "name": all, "max_events": 1000 }));
    call.until("waiting for the elements", || Ok(grown(&read()).then_some(()))).unwrap();
    desk.control.change(|world| {
        for number in 0..MOST_EVENTS + 200 {
            world.set_name(&format!("editor/extra/{number}"), "new");
        }
    });
    let dropped = |read: &Value| read["observation"]["dropped"].as_u64().unwrap();
    call.until("waiting for what is dropped", || Ok((200 <= dropped(&read())).then_some(()))).unwrap();
    let read = read();
    assert_eq!(
        (dropped(&read), &read["events"][0]["sequence"]),
        (200, &json!(201)),
        "{}",
        read["observation"]
    );
    assert_eq!(read["events"].as_array().unwrap().len(), MOST_EVENTS);
}

#[test]
fn an_application_that_does_not_answer_is_told_and_what_changed_comes_later() {
    let desk = Desk::new();
    let name = begin(&desk, json!({ "type": "attribute", "element": "text_field[name=\"Title\"]" }));
    desk.control.fail_next("elements.element", Error::new(Code::Timeout, "editor does not answer."));
    desk.control.change(|world| world.set_text("editor/title", "later"));
    expect![[r#"
        not_responding editor does not answer.
        responding The application answers again.
        value_changed e1 text_field "Title": "Untitled" → "later"
    "#]]
    .assert_eq(&lines(&events(&desk, &name, 3)));
}

/// While a window changes its title, its application may call it otherwise, and then its tree is not found.
#[test]
fn a_window_whose_tree_is_not_found_for_a_moment_is_not_given_up() {
    let desk = Desk::new();
    let name = begin(&desk, json!({ "type": "element", "window": "7" }));
    let nothing = Error::new(Code::PermissionDenied, "\"editor\" shows no accessibility tree.");
    desk.control.fail_next("elements.tree", nothing);
    desk.control.change(|world| {
        world.add("editor/tools", "editor/tools/new", Role::Button, "New", Rect::new(0, 0, 20, 20));
        world.set_text("editor/title", "later");
    });
    let told = lines(&events(&desk, &name, 4));
    for line in ["not_responding", "responding", "element_added", "\"Untitled\" → \"later\""] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(!told.contains("ended") && !told.contains("removed"), "{told}");
}

#[test]
fn what_is_not_told_is_looked_for() {
    let desk = Desk::new();
    let moves = json!({ "type": "attribute", "element": "save-button", "attributes": ["bounds"],
                        "poll_interval_ms": 50 });
    let name = begin(&desk, moves);
    desk.control.change(|world| world.place_window(7, Rect::new(50, 60, 640, 480)));
    expect![[r#"
        bounds_changed e1 button "Save": "80x28 at (48, 92)" → "80x28 at (58, 112)"
    "#]]
    .assert_eq(&lines(&events(&desk, &name, 1)));
}

#[test]
fn a_reading_again_finds_nothing_where_nothing_changed() {
    let desk = Desk::new();
    desk.control.change(|world| world.set_toolkit(101, "gtk 4.8"));
    let every = json!({ "type": "element", "window": "7", "poll_interval_ms": 50 });
    let name = begin(&desk, every);
    let call = Call::with_timeout(Duration::from_secs(20));
    call.pause(Duration::from_millis(400), "letting it look several times").unwrap();
    desk.control.change(|world| world.set_name("editor/save", "Store"));
    assert_eq!(events(&desk, &name, 1).len(), 1);
}

#[test]
fn when_the_source_breaks_it_ends_with_the_reason() {
    let desk = Desk::new();
    let name = begin(&desk, json!({ "type": "element", "window": "7" }));
    desk.control.fail_next("watch.drain", Error::backend("The accessibility bus has gone."));
    desk.control.change(|world| world.set_name("editor/save", "Store"));
    expect![[r#"
        ended window 7 "Untitled - Editor" of Editor [The accessibility bus has gone.]
    "#]]
    .assert_eq(&lines(&events(&desk, &name, 1)));
    let panicky = begin(&desk, json!({ "type": "window" }));
    crate::desk::quiet_defects();
    desk.control.fail_always("windows.list", || panic!("{}", crate::desk::DEFECT));
    desk.control.change(|world| world.retitle_window(8, "x"));
    let seen = events(&desk, &panicky, 1);
    assert_eq!(seen[0]["kind"], "ended", "{seen:?}");
}

#[test]
fn listing_and_cancelling() {
    let desk = Desk::new();
    let first = begin(&desk, json!({ "type": "window" }));
    let second = begin(&desk, json!({ "type": "element", "window": "8" }));
    let third = begin(&desk, json!({ "type": "attribute", "element": "slider" }));
    let names = |arguments: Value| -> (Vec<Value>, Value) {
        let list = desk.data("list_observations", arguments);
        let names = list["observations"].as_array().unwrap().iter().map(|one| one["name"].clone());
        (names.collect(), list["next_page_token"].clone())
    };
    let (page, token) = names(json!({ "page_size": 2 }));
    assert_eq!(page, [first.clone(), second.clone()]);
    assert_eq!(names(json!({ "page_size": 2, "page_token": token })), (vec![third.clone()], Value::Null));
    for (parent, own) in
        [("applications/102", &second), ("applications/102/windows/8", &second), ("applications/101", &third)]
    {
        assert_eq!(names(json!({ "parent": parent })).0, std::slice::from_ref(own), "{parent}");
    }
    assert_eq!(names(json!({ "parent": "applications/10" })).0, Vec::<Value>::new());

    let cancelled = desk.data("cancel_observation", json!({ "observation_id": second }));
    assert_eq!((&cancelled["state"], &cancelled["reason"]), (&json!("ended"), &json!("It was cancelled.")));
    desk.error("get_observation", json!({ "name": second }));
    assert_eq!(names(json!({})).0, [first, third]);
}

#[test]
fn each_client_has_its_own_and_takes_them_along() {
    let desk = Desk::new();
    let name = begin(&desk, json!({ "type": "window" }));
    let other = desk.server.client("other");
    let theirs = desk.server.run(desk.prepare_for(&other, "get_observation", json!({ "name": name })));
    assert_eq!(theirs.err().unwrap().code, Code::ObservationNotFound);
    let begun = desk.prepare_for(&other, "create_observation", json!({ "type": "window" }));
    assert!(desk.server.run(begun).is_ok());
    let owner = deskhand::observations::Owner::Client(other.id);
    assert_eq!(desk.server.observations.of(owner).len(), 1);
    drop(other);
    assert_eq!(desk.server.observations.of(owner).len(), 0);
    assert_eq!(desk.data("list_observations", json!({}))["observations"].as_array().unwrap().len(), 1);
}

#[test]
fn what_has_ended_makes_room() {
    let desk = Desk::new();
    let first = begin(&desk, json!({ "type": "window", "window": "8" }));
    for _ in 1..MOST_OBSERVATIONS {
        begin(&desk, json!({ "type": "window" }));
    }
    let error = desk.error("create_observation", json!({ "type": "window" }));
    assert_eq!(error.code, Code::Busy);
    desk.control.change(|world| world.close_window(8));
    events(&desk, &first, 2);
    begin(&desk, json!({ "type": "window" }));
    desk.error("get_observation", json!({ "name": first }));
}

#[test]
fn following_for_a_while() {
    let desk = Desk::new();
    let name = begin(&desk, json!({ "type": "window", "window": "8", "attributes": ["title"] }));
    desk.control.change(|world| world.retitle_window(8, "before"));
    events(&desk, &name, 1);
    std::thread::scope(|scope| {
        let following = scope.spawn(|| {
            desk.data(
                "stream_observations",
                json!({ "names": [name], "max_events": 1, "duration_ms": 20_000 }),
            )
        });
        // Whether it follows already cannot be seen from here: something happens until it has ended.
        let mut number = 0;
        while !following.is_finished() {
            number += 1;
            desk.control.change(|world| world.retitle_window(8, &format!("after {number}")));
            Call::with_timeout(Duration::from_secs(1)).pause(Duration::from_millis(10), "waiting").unwrap();
        }
        let seen = following.join().unwrap();
        assert_eq!(seen["until"], "max_events", "{seen}");
        assert!(seen["events"][0]["new"].as_str().unwrap().starts_with("after"), "{seen}");
        assert_eq!(seen["events"][0]["observation"], name, "{seen}");
    });
    let all = desk.data("stream_observations", json!({ "names": [name], "after": 0, "duration_ms": 1 }));
    assert_eq!(all["events"][0]["new"], "before", "{all}");
    assert_eq!(all["until"], "duration", "{all}");

    let began = Instant::now();
    let late = json!({ "types": ["window"], "duration_ms": 20_000, "timeout_ms": 100 });
    assert_eq!(desk.data("stream_observations", late)["until"], "timeout");
    assert!(began.elapsed() < Duration::from_secs(10));
    // What it began for itself is gone again.
    assert_eq!(desk.data("list_observations", json!({}))["observations"].as_array().unwrap().len(), 1);

    desk.control.change(|world| world.close_window(8));
    let ended = desk.data("stream_observations", json!({ "names": [name], "duration_ms": 20_000 }));
    assert_eq!(ended["until"], "ended", "{ended}");
    desk.error("stream_observations", json!({ "names": ["o1", "o99"] }));
    let several = json!({ "names": ["o1", "o1"], "after": 1 });
    assert_eq!(desk.error("stream_observations", several).code, Code::InvalidArgument);
}
