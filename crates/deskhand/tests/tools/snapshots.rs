//! Readings of elements: compact, bounded, with differences and continuations.

use crate::desk::{Desk, check, plain};
use deskhand_core::Rect;
use deskhand_core::element::Role;
use expect_test::expect;
use serde_json::json;

#[test]
fn a_reading_is_one_line_an_element() {
    check(
        plain,
        "get_ui_elements",
        json!({}),
        expect![[r#"
            window 7 "Untitled - Editor" of Editor (snapshot s1: 24 of 38 elements)
            e1 window "Untitled - Editor" active
             e3 menu "File"
             e8 button "Save"
             e9 button "Undo" disabled
             e10 check_box "Wrap lines"
             e11 slider "Zoom" = "100"
             e12 text_field "Title" = "Untitled"
             e13 password_field "Password"
             e14 text_area "Document" = "" focused
             e15 scroll_pane "Files"
              e16 list_box "Recent files"
               e17 list_item "File 1"
               e18 list_item "File 2"
               e19 list_item "File 3"
               e20 list_item "File 4"
               e21 list_item "File 5"
               e22 list_item "File 6"
               e23 list_item "File 7"
               e24 list_item "File 8"
               e25 list_item "File 9"
               e26 list_item "File 10"
               e27 list_item "File 11"
               e28 list_item "File 12"
             e38 label "Ready"

        "#]],
    );
    check(
        plain,
        "get_ui_elements",
        json!({ "window": "Tips", "include_bounds": true }),
        expect![[r#"
        window "Tips" (snapshot s1: 6 of 6 elements)
        e1 window "Tips - Editor" @-900,124 500x376
         e2 heading "Tips" @-892,132 480x28
         e3 paragraph "Press Ctrl+S to save. Everything else follows from that." @-892,168 480x28
         e4 link "More tips" @-892,204 120x28
         e5 check_box "Show at start" checked @-892,244 200x28
         e6 button "Close" @-892,284 80x28

    "#]],
    );
    check(
        plain,
        "get_ui_elements",
        json!({ "application": "Calculator", "interactive_only": true, "max_depth": 2 }),
        expect![[r#"
            application "Calculator" (snapshot s1: 18 of 20 elements)
            e3 text_field "Result" = "0" read_only
            e4 button "7"
            e5 button "8"
            e6 button "9"
            e7 button "÷"
            e8 button "4"
            e9 button "5"
            e10 button "6"
            e11 button "×"
            e12 button "1"
            e13 button "2"
            e14 button "3"
            e15 button "-"
            e16 button "0"
            e17 button "."
            e18 button "="
            e19 button "+"
            e20 button "C"

        "#]],
    );
    check(
        plain,
        "get_ui_elements",
        json!({ "window": 7, "roles": ["check_box", "slider"] }),
        expect![[r#"
        window "7" (snapshot s1: 2 of 38 elements)
        e10 check_box "Wrap lines"
        e11 slider "Zoom" = "100"

    "#]],
    );
    check(
        plain,
        "get_ui_elements",
        json!({ "element": "menu", "include_hidden": true }),
        expect![[r#"
        e1 menu "File" (snapshot s1: 4 of 4 elements)
        e1 menu "File"
         e2 menu_item "New"
         e3 menu_item "Save"
         e4 menu_item "Quit"

    "#]],
    );
    check(
        plain,
        "get_ui_elements",
        json!({ "element": "tool_bar", "include_containers": true }),
        expect![[r#"
            e1 tool_bar (snapshot s1: 5 of 5 elements)
            e1 tool_bar
             e2 button "Save"
             e3 button "Undo" disabled
             e4 check_box "Wrap lines"
             e5 slider "Zoom" = "100"

        "#]],
    );
    check(
        plain,
        "get_ui_elements",
        json!({ "window": 9, "format": "json", "roles": ["link"] }),
        expect![[r#"
            {"elements":[{"ref":"e4","role":"link","name":"More tips","states":["enabled","focusable","visible"],"bounds":{"x":-892,"y":204,"width":120,"height":28},"window":9,"pid":101}],"truncated":false}
        "#]],
    );
    check(
        plain,
        "get_ui_elements",
        json!({ "window": 9, "format": "json", "max_bytes": 900 }),
        expect![[r#"
            {"elements":[{"ref":"e1","role":"window","name":"Tips - Editor","states":["enabled","visible"],"bounds":{"x":-900,"y":124,"width":500,"height":376},"window":9,"pid":101,"children_cut":1,"children":[{"ref":"e2","role":"heading","name":"Tips","states":["enabled","visible"],"bounds":{"x":-892,"y":132,"width":480,"height":28},"window":9,"pid":101},{"ref":"e3","role":"paragraph","name":"Press Ctrl+S to save. Everything else follows from that.","states":["enabled","visible"],"bounds":{"x":-892,"y":168,"width":480,"height":28},"window":9,"pid":101},{"ref":"e4","role":"link","name":"More tips","states":["enabled","focusable","visible"],"bounds":{"x":-892,"y":204,"width":120,"height":28},"window":9,"pid":101},{"ref":"e5","role":"check_box","name":"Show at start","states":["checkable","checked","enabled","focusable","visible"],"bounds":{"x":-892,"y":244,"width":200,"height":28},"window":9,"pid":101}]}],"truncated":true}
        "#]],
    );
    check(
        |desk| desk.control.change(|world| world.silence(102, true)),
        "get_ui_elements",
        json!({ "window": 8 }),
        expect![[r#"
            window "8" (snapshot s1: 0 of 0 elements)
            ! Calculator does not answer: It did not answer.

        "#]],
    );
}

#[test]
fn a_cut_reading_goes_on() {
    let desk = Desk::new();
    desk.check(
        "get_ui_elements",
        json!({ "max_bytes": 400 }),
        expect![[r#"
            window 7 "Untitled - Editor" of Editor (snapshot s1: 24 of 38 elements)
            e1 window "Untitled - Editor" active
             e3 menu "File"
             e8 button "Save"
             e9 button "Undo" disabled
             e10 check_box "Wrap lines"
             e11 slider "Zoom" = "100"
             e12 text_field "Title" = "Untitled"
             e13 password_field "Password"
             e14 text_area "Document" = "" focused
             e15 scroll_pane "Files"
              e16 list_box "Recent files"
               e17 list_item "File 1"
               e18 list_item "File 2"
               e19 list_item "File 3"
            … 10 more lines: pass page_token=s1-14 for them.

        "#]],
    );
    desk.check(
        "get_ui_elements",
        json!({ "page_token": "s1-9", "max_bytes": 400 }),
        expect![[r#"
            snapshot s1, from line 10 of 24
             e15 scroll_pane "Files"
              e16 list_box "Recent files"
               e17 list_item "File 1"
               e18 list_item "File 2"
               e19 list_item "File 3"
               e20 list_item "File 4"
               e21 list_item "File 5"
               e22 list_item "File 6"
               e23 list_item "File 7"
               e24 list_item "File 8"
               e25 list_item "File 9"
               e26 list_item "File 10"
               e27 list_item "File 11"
               e28 list_item "File 12"
             e38 label "Ready"

        "#]],
    );
    desk.check(
        "get_ui_elements",
        json!({ "page_token": "s7-9" }),
        expect![[r#"
        invalid_argument: The page token "s7-9" is unknown or too old.
          remedy: Read again without page_token.
    "#]],
    );
    desk.check(
        "get_ui_elements",
        json!({ "page_token": "s1-999999" }),
        expect![[r#"
            invalid_argument: The page token "s1-999999" is unknown or too old.
              remedy: Read again without page_token.
        "#]],
    );
}

#[test]
fn a_difference_says_what_is_new_gone_and_changed() {
    let desk = Desk::new();
    desk.check(
        "get_ui_elements",
        json!({ "element": "tool_bar" }),
        expect![[r#"
        e1 tool_bar (snapshot s1: 4 of 5 elements)
        e2 button "Save"
        e3 button "Undo" disabled
        e4 check_box "Wrap lines"
        e5 slider "Zoom" = "100"

    "#]],
    );
    desk.check(
        "get_ui_elements",
        json!({ "element": "tool_bar", "since": "s1" }),
        expect![[r#"
        e1 tool_bar (snapshot s2: 4 of 5 elements)
        Nothing changed since s1.

    "#]],
    );
    desk.control.change(|world| {
        world.remove("editor/undo");
        world.set_text("editor/zoom", "120");
        world.add("editor/tools", "editor/redo", Role::Button, "Redo", Rect::new(600, 28, 30, 28));
    });
    desk.check(
        "get_ui_elements",
        json!({ "element": "tool_bar", "since": "s1" }),
        expect![[r#"
        e1 tool_bar (snapshot s3: 4 of 5 elements)
        Since s1: + new, - gone, ~ changed
        ~ e5 slider "Zoom" = "120"   (was slider "Zoom" = "100")
        + e6 button "Redo"
        - e3 button "Undo" disabled

    "#]],
    );
    desk.check(
        "get_ui_elements",
        json!({ "since": "s99" }),
        expect![[r#"
        invalid_argument: No snapshot "s99" is remembered.
          remedy: Read without since, and use the snapshot name of that reading.
    "#]],
    );
    desk.check(
        "get_ui_elements",
        json!({ "since": "s1", "max_bytes": 200 }),
        expect![[r#"
            window 7 "Untitled - Editor" of Editor (snapshot s4: 24 of 38 elements)
            Since s1: + new, - gone, ~ changed
            + e7 window "Untitled - Editor" active
            + e9 menu "File"
            ~ e5 slider "Zoom" = "120"   (was slider "Zoom" = "100")
            + e6 button "Redo"
            + e13 text_field "Title" = "Untitled"
            … 18 more: read again without since, or with a larger max_bytes.

        "#]],
    );
}
