//! Elements: reading them and working them.

use crate::desk::{check, plain};
use expect_test::expect;
use serde_json::json;

#[test]
fn one_element() {
    check(
        plain,
        "get_element",
        json!({ "element": "save-button" }),
        expect![[r#"
        ref: e1
        role: button
        name: Save
        description: "Save the document"
        identifier: save-button
        states: enabled, focusable, visible
        bounds: x 48  y 92  width 80  height 28
        actions: click
        window: 7
        pid: 101
    "#]],
    );
    check(
        plain,
        "get_element",
        json!({ "selector": "text_field:read_only" }),
        expect![[r#"
        ref: e1
        role: text_field
        name: Result
        value: 0
        states: enabled, read_only, visible
        bounds: x 808  y 132  width 244  height 48
        window: 8
        pid: 102
    "#]],
    );
    check(
        plain,
        "get_element_actions",
        json!({ "element_id": "slider" }),
        expect![[r#"
        ref: e1
        actions:
    "#]],
    );
    check(
        plain,
        "get_ui_element_value",
        json!({ "element": "text_field[name=\"Title\"]" }),
        expect![[r#"
        ref: e1
        role: text_field
        name: Title
        value: Untitled
    "#]],
    );
    check(
        plain,
        "get_element_value",
        json!({ "element": "check_box[name=\"Show at start\"]" }),
        expect![[r#"
            ref: e1
            role: check_box
            name: "Show at start"
            checked: true
            reason: "it holds no text, number or choice"
        "#]],
    );
    check(
        plain,
        "get_ui_element_value",
        json!({ "element": "save-button" }),
        expect![[r#"
        ref: e1
        role: button
        name: Save
        reason: "it holds no text, number or choice"
    "#]],
    );
}

#[test]
fn finding_several() {
    check(
        plain,
        "find_elements",
        json!({ "role": "check_box" }),
        expect![[r#"
        elements:
          - ref e1  role check_box  name "Wrap lines"  states [checkable, enabled, focusable, visible]  bounds {x 240  y 92  width 120  height 28}  window 7  pid 101
          - ref e2  role check_box  name "Show at start"  states [checkable, checked, enabled, focusable, visible]  bounds {x -892  y 244  width 200  height 28}  window 9  pid 101
        truncated: false
    "#]],
    );
    check(
        plain,
        "find_elements",
        json!({ "title": "zoom", "application": "Editor" }),
        expect![[r#"
        elements:
          - ref e1  role slider  name Zoom  value 100  states [enabled, focusable, visible]  bounds {x 380  y 92  width 200  height 28}  window 7  pid 101
        truncated: false
    "#]],
    );
    check(
        plain,
        "find_elements",
        json!({ "identifier": "save-button" }),
        expect![[r#"
        elements:
          - ref e1  role button  name Save  description "Save the document"  identifier save-button  states [enabled, focusable, visible]  bounds {x 48  y 92  width 80  height 28}  window 7  pid 101
        truncated: false
    "#]],
    );
    check(
        plain,
        "find_elements",
        json!({ "text": "ctrl+s" }),
        expect![[r#"
        elements:
          - ref e1  role paragraph  name "Press Ctrl+S to save. Everything else follows from that."  states [enabled, visible]  bounds {x -892  y 168  width 480  height 28}  window 9  pid 101
        truncated: false
    "#]],
    );
    check(
        plain,
        "find_elements",
        json!({ "role": "menu_item" }),
        expect![[r#"
        elements: 
        truncated: false
    "#]],
    );
    check(
        plain,
        "find_elements",
        json!({ "role": "knob" }),
        expect![[r#"
        invalid_argument: No role is called "knob".
          found: alert; application; article; block_quote; button; calendar; canvas; caption; cell; check_box; check_menu_item; color_chooser; column_header; combo_box; dialog; document; figure; file_chooser; filler; form; 53 more
    "#]],
    );
    check(
        plain,
        "find_elements",
        json!({ "selector": "list_item", "page_size": 2 }),
        expect![[r#"
        elements:
          - ref e1  role list_item  name "File 1"  states [enabled, selectable, visible]  bounds {x 448  y 164  width 212  height 28}  window 7  pid 101
          - ref e2  role list_item  name "File 2"  states [enabled, selectable, visible]  bounds {x 448  y 192  width 212  height 28}  window 7  pid 101
        truncated: true
        next_page_token: p5a58
    "#]],
    );
    check(
        |desk| desk.control.change(|world| world.silence(102, true)),
        "find_elements",
        json!({ "selector": "slider" }),
        expect![[r#"
            elements:
              - ref e1  role slider  name Zoom  value 100  states [enabled, focusable, visible]  bounds {x 380  y 92  width 200  height 28}  window 7  pid 101
            truncated: true
            silent:
              - application Calculator  reason "It did not answer."
        "#]],
    );
}

#[test]
fn clicking_by_action_and_by_pointer() {
    check(
        plain,
        "click_ui_element",
        json!({ "element": "save-button" }),
        expect![[r#"
            effect: confirmed
            evidence: "a property changed (name) to \"Saved\""
            via: action
            target: "e1 button \"Save\""
            window_title: "Untitled - Editor"
            > perform editor/save click
        "#]],
    );
    check(
        plain,
        "click_element",
        json!({ "ref": "check_box[name=\"Show at start\"]" }),
        expect![[r#"
        effect: confirmed
        evidence: "became focused, no longer checked"
        via: pointer
        target: "e1 check_box \"Show at start\""
        pointer: x -792  y 258  display 1
        window_title: "Tips - Editor"
        > move -792,258
        > down left
        > up left
        < tips/show clicked
    "#]],
    );
    check(
        plain,
        "click_ui_element",
        json!({ "element": "save-button", "button": "right" }),
        expect![[r#"
        effect: confirmed
        evidence: "became focused"
        via: pointer
        target: "e1 button \"Save\""
        pointer: x 88  y 106  display 0
        window_title: "Untitled - Editor"
        > move 88,106
        > down right
        > up right
        < editor/save right clicked
    "#]],
    );
    check(
        plain,
        "click_ui_element",
        json!({ "element": "list_item[name=\"File 3\"]", "click_count": 2 }),
        expect![[r#"
            effect: confirmed
            evidence: "became selected"
            via: pointer
            target: "e1 list_item \"File 3\""
            pointer: x 554  y 234  display 0
            window_title: "Untitled - Editor"
            > move 554,234
            > down left
            > up left
            > down left
            > up left
            < editor/recent/3 clicked
            < editor/recent/3 double clicked
        "#]],
    );
    check(
        plain,
        "click_ui_element",
        json!({ "element": "text_field[name=\"Title\"]" }),
        expect![[r#"
        effect: confirmed
        evidence: "became focused"
        via: pointer
        target: "e1 text_field \"Title\""
        pointer: x 200  y 142  display 0
        window_title: "Untitled - Editor"
        > move 200,142
        > down left
        > up left
        < editor/title clicked
    "#]],
    );
    check(
        plain,
        "click_ui_element",
        json!({ "element": "button[name=\"Close\"]" }),
        expect![[r#"
        effect: confirmed
        evidence: "the element is gone"
        via: action
        target: "e1 button \"Close\""
        window_title: "Tips - Editor"
        > perform tips/close click
    "#]],
    );
}

#[test]
fn values_are_set_and_read_back() {
    check(
        plain,
        "set_ui_element_value",
        json!({ "element": "text_field[name=\"Title\"]", "value": "Report" }),
        expect![[r#"
            effect: confirmed
            evidence: "value \"Untitled\" → \"Report\""
            via: action
            target: "e1 text_field \"Title\""
            > set editor/title "Report"
            < editor/title got "Report"
        "#]],
    );
    check(
        plain,
        "set_ui_element_value",
        json!({ "element": "slider", "value": 150 }),
        expect![[r#"
        effect: confirmed
        evidence: "value \"100\" → \"150\""
        via: action
        target: "e1 slider \"Zoom\""
        > set editor/zoom "150"
    "#]],
    );
    check(
        plain,
        "set_ui_element_value",
        json!({ "element": "slider", "value": "153" }),
        expect![[r#"
        effect: unverified
        evidence: "value \"100\" → \"150\""
        reason: "It changed, but does not read back as what was set: its application corrected it."
        via: action
        target: "e1 slider \"Zoom\""
        > set editor/zoom "153"
    "#]],
    );
    check(
        plain,
        "set_ui_element_value",
        json!({ "element": "slider", "value": "wide" }),
        expect![[r#"
        invalid_argument: "wide" is no number.
          expected: a number from 50 to 200
    "#]],
    );
    check(
        plain,
        "set_ui_element_value",
        json!({ "element": "check_box[name=\"Wrap lines\"]", "value": true }),
        expect![[r#"
            effect: confirmed
            evidence: "became checked"
            via: action
            target: "e1 check_box \"Wrap lines\""
            window_title: "Untitled - Editor"
            > perform editor/wrap toggle
        "#]],
    );
    check(
        plain,
        "set_ui_element_value",
        json!({ "element": "check_box[name=\"Show at start\"]", "value": "on" }),
        expect![[r#"
            effect: confirmed
            evidence: "it was checked already"
            target: "e1 check_box \"Show at start\""
        "#]],
    );
    check(
        plain,
        "set_ui_element_value",
        json!({ "element": "check_box[name=\"Show at start\"]", "value": "off" }),
        expect![[r#"
            effect: confirmed
            evidence: "became focused, no longer checked"
            via: pointer
            target: "e1 check_box \"Show at start\""
            pointer: x -792  y 258  display 1
            window_title: "Tips - Editor"
            > move -792,258
            > down left
            > up left
            < tips/show clicked
        "#]],
    );
    check(
        plain,
        "set_ui_element_value",
        json!({ "element": "check_box[name=\"Show at start\"]", "value": "perhaps" }),
        expect![[r#"
            invalid_argument: A check_box is true or false, not "perhaps".
        "#]],
    );
    check(
        plain,
        "set_ui_element_value",
        json!({ "element": "text_field:read_only", "value": "5" }),
        expect![[r#"
            element_not_actionable: e1 text_field "Result" is read-only; it was not changed.
              remedy: Choose a field that can be edited.
        "#]],
    );
    check(
        plain,
        "set_ui_element_value",
        json!({ "element": "save-button", "value": "5" }),
        expect![[r#"
        element_not_actionable: The button "Save" takes no value.
    "#]],
    );
    check(
        plain,
        "write_element_value",
        json!({ "elementId": "password_field", "text": "hunter2" }),
        expect![[r#"
            effect: confirmed
            evidence: "it holds 7 characters now"
            via: action
            target: "e1 password_field \"Password\""
            > set editor/password "…"
            < editor/password got "hunter2"
        "#]],
    );
}

#[test]
fn actions_focus_and_scrolling() {
    check(
        plain,
        "perform_element_action",
        json!({ "element": "menu[name=\"File\"]", "action": "click" }),
        expect![[r#"
            effect: confirmed
            evidence: "became expanded"
            via: action
            target: "e1 menu \"File\""
            window_title: "Untitled - Editor"
            > perform editor/file click
        "#]],
    );
    check(
        plain,
        "perform_element_action",
        json!({ "element": "save-button", "action": "press" }),
        expect![[r#"
            element_not_actionable: The button "Save" declares no action "press".
              found: click
        "#]],
    );
    check(
        plain,
        "focus_element",
        json!({ "element": "text_field[name=\"Title\"]" }),
        expect![[r#"
        effect: confirmed
        evidence: "it has the keyboard now"
        via: action
        target: "e1 text_field \"Title\""
        > focus editor/title
    "#]],
    );
    check(
        plain,
        "focus_ui_element",
        json!({ "element": "text_area" }),
        expect![[r#"
        effect: confirmed
        evidence: "it had the keyboard already"
        target: "e1 text_area \"Document\""
    "#]],
    );
    check(
        plain,
        "focus_ui_element",
        json!({ "element": "button[name=\"=\"]" }),
        expect![[r#"
            effect: confirmed
            evidence: "keyboard focus \"Untitled - Editor\" → \"Calculator\"; in that window it has the keyboard"
            target: "e1 button \"=\""
            > focus 8
        "#]],
    );
    check(
        plain,
        "focus_ui_element",
        json!({ "element": "label[name=\"Ready\"]" }),
        expect![[r#"
        element_not_actionable: The label "Ready" cannot have the keyboard.
    "#]],
    );
    check(
        plain,
        "scroll_to_element",
        json!({ "element": "list_item[name=\"File 20\"]" }),
        expect![[r#"
        effect: confirmed
        evidence: "it shows now, 212x28 at (448, 456)"
        target: "e1 list_item \"File 20\""
        > reveal editor/recent/20
        < editor/files scrolled to 240
    "#]],
    );
    check(
        plain,
        "scroll_to_element",
        json!({ "element": "save-button" }),
        expect![[r#"
        effect: confirmed
        evidence: "it showed already"
        target: "e1 button \"Save\""
    "#]],
    );
}
