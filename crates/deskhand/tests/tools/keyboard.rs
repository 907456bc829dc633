//! The keyboard: typing, pressing, holding.

use crate::desk::{Desk, check, plain};
use expect_test::expect;
use serde_json::json;

#[test]
fn text_is_read_back() {
    check(
        plain,
        "type_text",
        json!({ "text": "Grüße, 世界 🎉\n\tdone" }),
        expect![[r#"
        effect: confirmed
        evidence: "reads back exactly, 17 characters at the caret"
        target: "e1 text_area \"Document\""
        window_title: "Untitled - Editor"
        characters: 17
        > type "Grüße, 世界 🎉\n\tdone"
        < editor/text got "Grüße, 世界 🎉\n\tdone"
    "#]],
    );
    check(
        plain,
        "type_text",
        json!({ "text": "Report", "element": "text_field[name=\"Title\"]" }),
        expect![[r#"
            effect: confirmed
            evidence: "reads back exactly, 6 characters at the caret"
            target: "e1 text_field \"Title\""
            window_title: "Untitled - Editor"
            characters: 6
            > focus editor/title
            > type "Report"
            < editor/title got "Report"
        "#]],
    );
    check(
        plain,
        "type_text",
        json!({ "text": "5+3=", "application": "Calculator" }),
        expect![[r#"
        effect: unverified
        reason: "What has the keyboard holds no text that can be read."
        target: "e1 button \"=\""
        window_title: Calculator
        characters: 4
        > focus 8
        > type "5+3="
    "#]],
    );
    check(
        plain,
        "type_text",
        json!({ "text": "s", "modifiers": ["ctrl"] }),
        expect![[r#"
        effect: unverified
        reason: "What has the keyboard holds no text that can be read."
        target: "e1 text_area \"Document\""
        window_title: "Untitled - Editor"
        characters: 1
        > key ctrl down
        > key s down
        > key s up
        > key ctrl up
        < editor got ctrl+s
    "#]],
    );
    check(
        plain,
        "type_text",
        json!({ "text": "" }),
        expect![[r#"
        effect: confirmed
        evidence: "reads back exactly, 0 characters at the caret"
        target: "e1 text_area \"Document\""
        window_title: "Untitled - Editor"
        characters: 0
        > type ""
    "#]],
    );
}

#[test]
fn text_that_does_not_arrive_is_not_confirmed() {
    check(
        |desk| desk.control.change(|world| world.ignore_keys(true)),
        "type_text",
        json!({ "text": "Hello" }),
        expect![[r#"
            effect: no_change_seen
            reason: "The field holds what it held before: its application did not take the text."
            target: "e1 text_area \"Document\""
            window_title: "Untitled - Editor"
            characters: 5
            > type "Hello"
        "#]],
    );
    check(
        plain,
        "type_text",
        json!({ "text": "5", "element": "text_field[name=\"Result\"]" }),
        expect![[r#"
            element_not_actionable: e1 text_field "Result" is read-only; nothing was typed.
              remedy: Choose a field that can be edited.
        "#]],
    );
    check(
        plain,
        "type_text",
        json!({ "text": "5", "element": "button[name=\"Undo\"]" }),
        expect![[r#"
        element_not_actionable: e1 button "Undo" is disabled.
          remedy: Wait until it is enabled (wait_for with :enabled), or do first what enables it.
    "#]],
    );
    check(
        plain,
        "type_text",
        json!({ "text": "a\nb", "element": "text_field[name=\"Title\"]" }),
        expect![[r#"
            effect: unverified
            evidence: "it holds \"Untitledab\" now"
            reason: "The field changed, but does not read back as what was typed."
            target: "e1 text_field \"Title\""
            window_title: "Untitled - Editor"
            characters: 3
            > focus editor/title
            > type "a\nb"
            < editor/title got "a"
            < editor/title got key enter
            < editor/title got "b"
        "#]],
    );
}

#[test]
fn what_cannot_be_typed_whole_is_not_typed_at_all() {
    check(
        |desk| desk.control.change(|world| world.forbid_characters(&['€', '→'])),
        "type_text",
        json!({ "text": "5 € → 6 €", "window": "Calculator" }),
        expect![[r#"
            text_not_typeable: The text holds 2 character(s) that cannot be typed; nothing was typed.
              found: '€' (U+20AC); '→' (U+2192)
              remedy: Leave them out, or put the text on the clipboard and paste it.
        "#]],
    );
}

#[test]
fn stolen_focus_stops_the_typing_and_says_how_much_was_typed() {
    check(
        |desk| desk.control.change(|world| world.steal_focus_after(5, 8)),
        "type_text",
        json!({ "text": "Hello, wonderful world" }),
        expect![[r#"
            target_changed: The keyboard focus went elsewhere while typing: 8 characters were typed, the last of them perhaps there; the rest was not.
              expected: 7 "Untitled - Editor" of Editor
              found: 8 "Calculator" of Calculator
              remedy: Look at what came up, then type the rest.
            > type "Hello, w"
            < editor/text got "Hello"
        "#]],
    );
}

#[test]
fn keys_and_combinations() {
    check(
        plain,
        "press_key",
        json!({ "key": "x" }),
        expect![[r#"
        effect: confirmed
        evidence: "a text changed (insert)"
        window_title: "Untitled - Editor"
        > key x down
        > key x up
        < editor/text got "x"
    "#]],
    );
    check(
        plain,
        "press_key",
        json!({ "key": "Ctrl+S" }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            window_title: "Untitled - Editor"
            > key ctrl down
            > key s down
            > key s up
            > key ctrl up
            < editor got ctrl+s
        "#]],
    );
    check(
        plain,
        "press_key",
        json!({ "key": "a", "modifiers": ["control"] }),
        expect![[r#"
        effect: no_change_seen
        reason: "Within 20 ms the application reported no change and drew nothing."
        window_title: "Untitled - Editor"
        > key ctrl down
        > key a down
        > key a up
        > key ctrl up
        < editor got ctrl+a
    "#]],
    );
    check(
        plain,
        "key_combination",
        json!({ "keys": ["ctrl", "a"] }),
        expect![[r#"
        effect: no_change_seen
        reason: "Within 20 ms the application reported no change and drew nothing."
        window_title: "Untitled - Editor"
        > key ctrl down
        > key a down
        > key a up
        > key ctrl up
        < editor got ctrl+a
    "#]],
    );
    check(
        plain,
        "hotkey",
        json!({ "combination": "alt+F4", "window": "Calculator" }),
        expect![[r#"
        effect: confirmed
        evidence: "a window changed (destroy)"
        window_title: Calculator
        > focus 8
        > key alt down
        > key f4 down
        > key f4 up
        > key alt up
        < calculator got alt+f4
    "#]],
    );
    check(
        plain,
        "press_key",
        json!({ "key": "x", "repeat": 3, "element": "text_field[name=\"Title\"]" }),
        expect![[r#"
            effect: confirmed
            evidence: "a text changed (insert)"
            target: "e1 text_field \"Title\""
            window_title: "Untitled - Editor"
            > focus editor/title
            > key x down
            > key x up
            > key x down
            > key x up
            > key x down
            > key x up
            < editor/title got "xxx"
        "#]],
    );
    check(
        |desk| desk.control.change(|world| world.ignore_keys(true)),
        "press_key",
        json!({ "key": "x" }),
        expect![[r#"
            effect: no_change_seen
            reason: "Within 20 ms the application reported no change and drew nothing."
            window_title: "Untitled - Editor"
            > key x down
            > key x up
        "#]],
    );
    check(
        plain,
        "press_key",
        json!({ "key": "brightness_up" }),
        expect![[r#"
        unknown_key: This keyboard has no key brightness_up.
    "#]],
    );
    check(
        plain,
        "press_key",
        json!({ "key": "Returm" }),
        expect![[r#"
        unknown_key: No key is called "Returm".
          expected: one character, or a name such as enter, escape, tab, page_down, f5, numpad_7
    "#]],
    );
    check(
        plain,
        "press_key",
        json!({ "key": "a+b" }),
        expect![[r#"
        invalid_argument: a cannot be held in the combination "a+b".
          expected: modifiers (ctrl, shift, alt, meta), then one key, joined by +
    "#]],
    );
    check(
        plain,
        "press_key",
        json!({ "key": "x", "settle_ms": 0 }),
        expect![[r#"
        effect: unverified
        reason: "settle_ms is 0, so nothing was looked for."
        window_title: "Untitled - Editor"
        > key x down
        > key x up
        < editor/text got "x"
    "#]],
    );
}

#[test]
fn holding_is_confirmed_where_the_system_tells() {
    let desk = Desk::new();
    desk.check(
        "hold_key",
        json!({ "key": "shift" }),
        expect![[r#"
        effect: confirmed
        evidence: "shift is down"
        window_title: "Untitled - Editor"
        held: shift
        > key shift down
    "#]],
    );
    desk.check(
        "hold_key",
        json!({ "key": "x", "duration_ms": 30000 }),
        expect![[r#"
        effect: unverified
        reason: "x was sent down; the system tells the state of modifiers only."
        window_title: "Untitled - Editor"
        held: shift, x
        > key x down
        < editor/text got "X"
    "#]],
    );
    desk.check(
        "hold_key",
        json!({ "key": "shift", "release": true }),
        expect![[r#"
        effect: confirmed
        evidence: "shift is up"
        held: x
        > key shift up
    "#]],
    );
    desk.check(
        "hold_key",
        json!({ "key": "ctrl", "release": true }),
        expect![[r#"
        effect: no_change_seen
        reason: "No client held ctrl."
        held: x
    "#]],
    );
}
