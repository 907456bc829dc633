//! Text that is seen.

use crate::desk::{Desk, check, plain};
use deskhand_core::Error;
use expect_test::expect;
use serde_json::json;

#[test]
fn text_is_read_with_its_places() {
    check(
        plain,
        "extract_text",
        json!({ "x": 40, "y": 88, "width": 300, "height": 32 }),
        expect![[r#"
        text: "Save\nUndo\nWrap lines"
        lines:
          - text Save  bounds {x 48  y 92  width 32  height 16}  confidence 96
          - text Undo  bounds {x 136  y 92  width 32  height 16}  confidence 96
          - text "Wrap lines"  bounds {x 240  y 92  width 80  height 16}  confidence 96
        bounds: x 40  y 88  width 300  height 32
        truncated: false
    "#]],
    );
    check(
        plain,
        "ocr",
        json!({ "element": "save-button", "words": true, "language": ["eng"] }),
        expect![[r#"
            text: Save
            lines:
              - text Save  bounds {x 48  y 92  width 32  height 16}  confidence 96  words [text Save  bounds {x 48  y 92  width 32  height 16}  confidence 96]
            bounds: x 48  y 92  width 80  height 28
            truncated: false
        "#]],
    );
    check(
        plain,
        "extract_text",
        json!({ "window": "8", "page_size": 2 }),
        expect![[r#"
        text: "Result\n0"
        lines:
          - text Result  bounds {x 808  y 132  width 48  height 16}  confidence 96
          - text 0  bounds {x 808  y 132  width 8  height 16}  confidence 96
        bounds: x 800  y 100  width 260  height 344
        truncated: true
        next_page_token: p5a58
    "#]],
    );
    check(
        plain,
        "extract_text",
        json!({ "min_confidence": 99 }),
        expect![[r#"
        text: ""
        lines: 
        bounds: x 0  y 0  width 1280  height 800
        truncated: false
    "#]],
    );
    check(
        plain,
        "extract_text",
        json!({ "languages": ["deu"] }),
        expect![[r#"
        invalid_argument: The language "deu" cannot be read here.
          expected: the codes of installed languages
          found: eng
    "#]],
    );
}

#[test]
fn text_of_a_picture_has_places_in_it() {
    let desk = Desk::new();
    let arguments =
        json!({ "x": 40, "y": 40, "width": 640, "height": 80, "max_width": 320, "include_ocr": true });
    desk.check(
        "take_screenshot",
        arguments,
        expect![[r#"
        Scaled 0.50: pass image=i1 with coordinates from this picture. 320x40 of a region, 640x80 at (40, 40).
        Text seen, and where in this picture:
        File  [0,12 16x8]
        Save  [4,26 16x8]
        Undo  [48,26 16x8]
        Wrap lines  [100,26 40x8]
        Zoom  [170,26 16x8]
        100  [170,26 12x8]
    "#]],
    );
    desk.check("extract_text", json!({ "image": "i1", "page_size": 2 }), expect![[r#"
        text: "File\nSave"
        lines:
          - text File  bounds {x 40  y 64  width 32  height 16}  in_image {x 0  y 12  width 16  height 8}  confidence 96
          - text Save  bounds {x 48  y 92  width 32  height 16}  in_image {x 4  y 26  width 16  height 8}  confidence 96
        bounds: x 40  y 40  width 640  height 80
        truncated: true
        next_page_token: p5a58
    "#]]);
    desk.check(
        "extract_text",
        json!({ "image": "i1", "window": "8" }),
        expect![[r#"
        invalid_argument: The text is read where image was taken: pass nothing else beside it.
    "#]],
    );
    let arguments = json!({ "x": 0, "y": 790, "width": 5, "height": 5, "include_ocr": true });
    desk.check(
        "take_screenshot",
        arguments,
        expect![[r#"
        Pass image=i2 with coordinates from this picture. 5x5 of a region, 5x5 at (0, 790).
        No text is seen in it.
    "#]],
    );
}

#[test]
fn what_is_seen_is_found_clicked_and_waited_for() {
    let desk = Desk::new();
    let find = json!({ "text": "Wrap lines", "include_ocr": true });
    desk.check("find_elements", find, expect![[r#"
        elements:
          - ref e1  role check_box  name "Wrap lines"  states [checkable, enabled, focusable, visible]  bounds {x 240  y 92  width 120  height 28}  window 7  pid 101
        truncated: false
        seen:
          - text "Wrap lines"  bounds {x 240  y 92  width 80  height 16}  confidence 96
    "#]]);
    desk.check(
        "find_elements",
        json!({ "role": "slider", "include_ocr": true }),
        expect![[r#"
        missing_required_parameter: include_ocr looks for a text, and none is given.
          expected: text or title
    "#]],
    );
    desk.check(
        "click",
        json!({ "text": "Wrap lines" }),
        expect![[r#"
        effect: confirmed
        evidence: "an element became checked"
        via: ocr
        target: "text \"Wrap lines\" at 80x16 at (240, 92)"
        pointer: x 280  y 100  display 0
        window_title: "Untitled - Editor"
        > move 280,100
        > down left
        > up left
        < editor/wrap clicked
    "#]],
    );
    desk.check(
        "click",
        json!({ "text": "7", "window": "8" }),
        expect![[r#"
        effect: confirmed
        evidence: "a value changed to \"7\""
        via: ocr
        target: "text \"7\" at 8x16 at (808, 188)"
        pointer: x 812  y 196  display 0
        window_title: Calculator
        > move 812,196
        > down left
        > up left
        < calculator/7 clicked
    "#]],
    );
    desk.check("click", json!({ "text": "File" }), expect![[r#"
        ambiguous_target: The text "File" is seen at 13 places; one is needed.
          found: "File" 32x16 at (40, 64); "File" 32x16 at (448, 164); "File" 32x16 at (448, 192); "File" 32x16 at (448, 220); "File" 32x16 at (448, 248); "File" 32x16 at (448, 276); "File" 32x16 at (448, 304); "File" 32x16 at (448, 332); "File" 32x16 at (448, 360); "File" 32x16 at (448, 388); "File" 32x16 at (448, 416); "File" 32x16 at (448, 444); "File" 32x16 at (448, 472)
          remedy: Click by x and y, pass more of the text, or name the window.
    "#]]);
    desk.check(
        "click",
        json!({ "text": "Rain" }),
        expect![[r#"
        element_not_found: No text "Rain" is seen.
          remedy: Read what is seen with extract_text, or wait for it with wait_for.
    "#]],
    );
    desk.check(
        "click",
        json!({ "text": "7", "x": 5, "y": 5 }),
        expect![[r#"
        invalid_argument: Pass one of element, text, or x and y.
    "#]],
    );
    desk.check(
        "wait_for",
        json!({ "seen_text": "wrap" }),
        expect![[r#"
        condition: seen_text
        matches: 1
        seen:
          text: Wrap
          bounds: x 240  y 92  width 32  height 16
          confidence: 96
        waited_ms: …
    "#]],
    );
    desk.check(
        "wait_for",
        json!({ "seen_text": "rain", "timeout_ms": 50 }),
        expect![[r#"
        timeout: This did not come true in time: the seen text "rain".
          found: the text is seen at 0 places
          remedy: Look at the screen; pass a larger timeout_ms if it only needs longer.
    "#]],
    );
    desk.check(
        "wait_for",
        json!({ "seen_text": "rain", "gone": true }),
        expect![[r#"
        condition: seen_text
        matches: 0
        waited_ms: …
    "#]],
    );
}

#[test]
fn a_missing_reader_gives_its_remedy() {
    let desk = Desk::new();
    desk.control.fail_always("ocr", || Error::backend("There is none.").remedy("Install it."));
    for (tool, arguments) in [
        ("extract_text", json!({})),
        ("take_screenshot", json!({ "include_ocr": true })),
        ("find_elements", json!({ "text": "x", "include_ocr": true })),
        ("click", json!({ "text": "x" })),
        ("wait_for", json!({ "seen_text": "x" })),
    ] {
        let error = desk.error(tool, arguments);
        assert_eq!(error.detail.remedy.as_deref(), Some("Install it."), "{tool}: {error:?}");
    }
}
