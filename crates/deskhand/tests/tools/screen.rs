//! Displays and screenshots.

use crate::desk::{Desk, check, plain};
use expect_test::expect;
use serde_json::json;

#[test]
fn displays() {
    check(
        plain,
        "list_displays",
        json!({}),
        expect![[r#"
            displays:
              - index 0  id FAKE-1  name "Built-in display"  bounds {x 0  y 0  width 1280  height 800}  work_area {x 0  y 32  width 1280  height 768}  scale 1.0  refresh_hz 60.0  primary true  orientation landscape  resource displays/0
              - index 1  id FAKE-2  name "Second display"  bounds {x -1024  y 0  width 1024  height 768}  work_area {x -1024  y 0  width 1024  height 768}  scale 1.0  refresh_hz 60.0  primary false  orientation landscape  resource displays/1
        "#]],
    );
    check(
        plain,
        "get_display_info",
        json!({ "page_size": 1 }),
        expect![[r#"
            displays:
              - index 0  id FAKE-1  name "Built-in display"  bounds {x 0  y 0  width 1280  height 800}  work_area {x 0  y 32  width 1280  height 768}  scale 1.0  refresh_hz 60.0  primary true  orientation landscape  resource displays/0
            next_page_token: p5a5b
        "#]],
    );
    check(
        plain,
        "get_display",
        json!({ "display": "displays/1" }),
        expect![[r#"
            index: 1
            id: FAKE-2
            name: "Second display"
            bounds: x -1024  y 0  width 1024  height 768
            work_area: x -1024  y 0  width 1024  height 768
            scale: 1.0
            refresh_hz: 60.0
            primary: false
            orientation: landscape
            resource: displays/1
        "#]],
    );
    check(
        plain,
        "get_display",
        json!({ "name": "second display" }),
        expect![[r#"
            index: 1
            id: FAKE-2
            name: "Second display"
            bounds: x -1024  y 0  width 1024  height 768
            work_area: x -1024  y 0  width 1024  height 768
            scale: 1.0
            refresh_hz: 60.0
            primary: false
            orientation: landscape
            resource: displays/1
        "#]],
    );
}

#[test]
fn pictures_say_how_to_use_them() {
    check(
        plain,
        "take_screenshot",
        json!({}),
        expect![[r#"
            Pass image=i1 with coordinates from this picture. 1280x800 of display 0, 1280x800 at (0, 0).
        "#]],
    );
    check(
        plain,
        "take_screenshot",
        json!({ "display": 1, "max_width": 512 }),
        expect![[r#"
        Scaled 0.50: pass image=i1 with coordinates from this picture. 512x384 of display 1, 1024x768 at (-1024, 0).
    "#]],
    );
    check(
        plain,
        "screenshot",
        json!({ "window": "Tips" }),
        expect![[r#"
        Pass image=i1 with coordinates from this picture. 500x400 of window 9 "Tips - Editor", 500x400 at (-900, 100).
    "#]],
    );
    check(
        plain,
        "take_screenshot",
        json!({ "element": "save-button", "format": "webp" }),
        expect![[r#"
        Pass image=i1 with coordinates from this picture. 80x28 of e1 button "Save", 80x28 at (48, 92).
    "#]],
    );
    check(
        plain,
        "take_screenshot",
        json!({ "x": 0, "y": 0, "width": 100, "height": 50, "display": 1 }),
        expect![[r#"
            Pass image=i1 with coordinates from this picture. 100x50 of a region, 100x50 at (-1024, 0).
        "#]],
    );
    check(
        plain,
        "take_screenshot",
        json!({ "x": 1270, "y": 0, "width": 100, "height": 50 }),
        expect![[r#"
        coordinates_out_of_bounds: The region 100x50 at (1270, 0) is not all on the screen.
          expected: a region within 2304x800 at (-1024, 0)
          found: display 0: 1280x800 at (0, 0); display 1: 1024x768 at (-1024, 0)
    "#]],
    );
    check(
        plain,
        "take_screenshot",
        json!({ "window": 7, "element": "save-button" }),
        expect![[r#"
        invalid_argument: A screenshot is of a window, of an element or of a region: pass one of them.
    "#]],
    );
    check(
        plain,
        "capture_screenshot",
        json!({ "include_shadow": true }),
        expect![[r#"
            Pass image=i1 with coordinates from this picture. 1280x800 of display 0, 1280x800 at (0, 0). include_shadow has no effect here.
        "#]],
    );
    check(
        plain,
        "capture_region_screenshot",
        json!({ "region_x": 0, "region_y": 0, "width": 10, "height": 10 }),
        expect![[r#"
            Pass image=i1 with coordinates from this picture. 10x10 of a region, 10x10 at (0, 0).
        "#]],
    );
    check(
        plain,
        "capture_window_screenshot",
        json!({ "window_id": 8 }),
        expect![[r#"
            Pass image=i1 with coordinates from this picture. 260x344 of window 8 "Calculator", 260x344 at (800, 100).
        "#]],
    );
    check(
        plain,
        "zoom",
        json!({ "x": 5, "y": 5 }),
        expect![[r#"
            Pass image=i1 with coordinates from this picture. 640x400 of a region, 640x400 at (0, 0).
        "#]],
    );
    check(
        plain,
        "zoom",
        json!({ "coordinate": [640, 400], "scale": 4 }),
        expect![[r#"
            Pass image=i1 with coordinates from this picture. 320x200 of a region, 320x200 at (480, 300).
        "#]],
    );
    check(
        plain,
        "zoom",
        json!({ "coordinate": [640, 400], "scale": 0.5 }),
        expect![[r#"
        invalid_argument: scale has to be from 1 to 64, not 0.5.
    "#]],
    );
    check(
        plain,
        "take_screenshot",
        json!({ "file_path": "/etc/passwd.png" }),
        expect![[r#"
            denied_by_policy: /etc/passwd.png lies outside the folders that may be written to.
              expected: a path in one of the allowed folders
              found: TMP
              remedy: Choose one of those folders, or start Deskhand with --write-folder.
        "#]],
    );
}

#[test]
fn an_unchanged_screen_is_said_in_a_few_words() {
    let desk = Desk::new();
    desk.check(
        "take_screenshot",
        json!({}),
        expect![[r#"
            Pass image=i1 with coordinates from this picture. 1280x800 of display 0, 1280x800 at (0, 0).
        "#]],
    );
    desk.check(
        "take_screenshot",
        json!({ "unchanged_since": "i1" }),
        expect![[r#"
        Unchanged since i1: use that picture and its image id.
    "#]],
    );
    desk.data("type_text", json!({ "text": "x" }));
    desk.check(
        "take_screenshot",
        json!({ "unchanged_since": "i1" }),
        expect![[r#"
            Pass image=i2 with coordinates from this picture. 1280x800 of display 0, 1280x800 at (0, 0).
        "#]],
    );
}

#[test]
fn marks_carry_the_refs_of_what_can_be_worked() {
    let desk = Desk::new();
    let save = desk.find("button[name=\"Save\"]");
    desk.check("take_screenshot", json!({ "window": "8", "annotate": true }), expect![[r#"
        Pass image=i1 with coordinates from this picture. 260x344 of window 8 "Calculator", 260x344 at (800, 100).
        Marks (2 is e2), with places in global pixels:
        e2 text_field "Result" 244x48 at (808, 132)
        e3 button "7" 58x46 at (808, 188)
        e4 button "8" 58x46 at (869, 188)
        e5 button "9" 58x46 at (930, 188)
        e6 button "÷" 58x46 at (991, 188)
        e7 button "4" 58x46 at (808, 238)
        e8 button "5" 58x46 at (869, 238)
        e9 button "6" 58x46 at (930, 238)
        e10 button "×" 58x46 at (991, 238)
        e11 button "1" 58x46 at (808, 288)
        e12 button "2" 58x46 at (869, 288)
        e13 button "3" 58x46 at (930, 288)
        e14 button "-" 58x46 at (991, 288)
        e15 button "0" 58x46 at (808, 338)
        e16 button "." 58x46 at (869, 338)
        e17 button "=" 58x46 at (930, 338)
        e18 button "+" 58x46 at (991, 338)
        e19 button "C" 58x46 at (808, 388)
    "#]]);
    let answer = desk.data("take_screenshot", json!({ "annotate": true, "max_width": 640 }));
    let marks = answer["marks"].as_array().unwrap();
    let mark = marks.iter().find(|mark| mark["ref"] == json!(save)).unwrap();
    assert_eq!(mark["name"], "Save");
    assert_eq!(format!("e{}", mark["number"]), save);
    desk.data("click_ui_element", json!({ "element": mark["ref"] }));
    // What a window covers is not marked.
    desk.control.change(|world| world.place_window(8, deskhand_core::Rect::new(40, 40, 640, 480)));
    desk.control.change(|world| world.raise_window(8));
    let answer = desk.data("take_screenshot", json!({ "annotate": true }));
    assert!(!answer["marks"].to_string().contains("Save"), "{answer}");
    let arguments = json!({ "x": 0, "y": 790, "width": 5, "height": 5, "annotate": true });
    desk.check(
        "take_screenshot",
        arguments,
        expect![[r#"
        Pass image=i4 with coordinates from this picture. 5x5 of a region, 5x5 at (0, 790).
        Nothing in it is marked.
    "#]],
    );
}
