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
    desk.check("take_screenshot", arguments, expect![[r#"
        Scaled 0.50: pass image=i1 with coordinates from this picture. 320x40 of a region, 640x80 at (40, 40).
        Text seen, and where in this picture:
        File  [0,12 16x8]
        Save  [4,26 16x8]
        Undo  [48,26 16x8]
        Wrap lines  [100,26 40x8]
        Zoom  [170,26 16x8]
        100  [170,26 12x8]
    "#]]);
    desk.check("extract_text", json!({ "image": "i1", "page_size": 2 }), expect![[r#"
        text: "File\nSave"
        lines:
          - text File  bounds {x 40  y 64  width 32  height 16}  in_image {x 0  y 12  width 16  height 8}  confidence 96
          - text Save  bounds {x 48  y 92  width 32  height 16}  in_image {x 4  y 26  width 16  height 8}  confidence 96
        bounds: x 40  y 40  width 640  height 80
        truncated: true
        next_page_token: p5a58
    "#]]);
    desk.check("extract_text", json!({ "image": "i1", "window": "8" }), expect![[r#"
        invalid_argument: The text is read where image was taken: pass nothing else beside it.
    "#]]);
    let arguments = json!({ "x": 0, "y": 790, "width": 5, "height": 5, "include_ocr": true });
    desk.check("take_screenshot", arguments, expect![[r#"
        Pass image=i2 with coordinates from this picture. 5x5 of a region, 5x5 at (0, 790).
        No text is seen in it.
    "#]]);
}

#[test]
fn what_is_seen_is_found_clicked_and_waited_for() {
    let desk = Desk::new();
    let find = json!({ "text": "Wrap lines", "include_ocr": true });
    desk.check("find_elements", find, expect![[""]]);
    desk.check("find_elements", json!({ "role": "slider", "include_ocr": true }), expect![[""]]);
    desk.check("click", json!({ "text": "Wrap lines" }), expect![[""]]);
    desk.check("click", json!({ "text": "7", "window": "8" }), expect![[""]]);
    desk.check("click", json!({ "text": "File" }), expect![[""]]);
    desk.check("click", json!({ "text": "Rain" }), expect![[""]]);
    desk.check("click", json!({ "text": "7", "x": 5, "y": 5 }), expect![[""]]);
    desk.check("wait_for", json!({ "seen_text": "wrap" }), expect![[""]]);
    desk.check("wait_for", json!({ "seen_text": "rain", "timeout_ms": 50 }), expect![[""]]);
    desk.check("wait_for", json!({ "seen_text": "rain", "gone": true }), expect![[""]]);
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
