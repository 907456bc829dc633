//! The clipboard: reading it, putting something there, what was copied, and pasting.

use crate::desk::{Desk, check, plain};
use deskhand_core::clipboard::{Part, Selection};
use deskhand_core::fake::Fake;
use deskhand_core::{Code, Error};
use expect_test::expect;
use serde_json::json;
use std::time::Duration;

/// The first bytes of a PNG of 3x2, as far as anybody looks.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x02\0\0\0rest";

fn holds(desk: &Desk, parts: Vec<Part>) {
    desk.control.change(|world| world.person_copies(parts, false));
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

#[test]
fn what_is_there_is_told_with_its_types() {
    check(
        plain,
        "get_clipboard",
        json!({}),
        expect![[r#"
        empty: true
        types:
    "#]],
    );
    check(
        |desk| holds(desk, vec![text("Grüße"), Part::Html("<b>Grüße</b>".into())]),
        "get_clipboard",
        json!({}),
        expect![[r#"
            types: text, html
            formats: fake/text, fake/html
            owner: "editor (101)"
            type: text
            text: Grüße
            bytes: 7
        "#]],
    );
    check(
        |desk| holds(desk, vec![text("Grüße"), Part::Html("<b>Grüße</b>".into())]),
        "get_clipboard",
        json!({ "type": "html" }),
        expect![[r#"
            types: text, html
            formats: fake/text, fake/html
            owner: "editor (101)"
            type: html
            html: <b>Grüße</b>
            bytes: 14
        "#]],
    );
    check(
        |desk| holds(desk, vec![text("/tmp/a"), Part::Files(vec!["/tmp/a".into()])]),
        "get_clipboard",
        json!({}),
        expect![[r#"
            types: text, files
            formats: fake/text, fake/files
            owner: "editor (101)"
            type: files
            files: /tmp/a
            bytes: 1
        "#]],
    );
    check(
        |desk| holds(desk, vec![text("x")]),
        "get_clipboard",
        json!({ "type": "image" }),
        expect![[r#"
        types: text
        formats: fake/text
        owner: "editor (101)"
        note: "Nothing of the type image is offered."
    "#]],
    );
    check(
        |desk| holds(desk, vec![text("x")]),
        "get_clipboard",
        json!({ "selection": "primary" }),
        expect![[r#"
            selection: primary
            empty: true
            types:
        "#]],
    );
}

#[test]
fn a_long_text_is_cut_and_says_so() {
    check(
        |desk| holds(desk, vec![text("äöü-and-so-on")]),
        "get_clipboard",
        json!({ "max_bytes": 5 }),
        expect![[r#"
            types: text
            formats: fake/text
            owner: "editor (101)"
            type: text
            text: äö
            bytes: 16
            truncated: true
            note: "It has 16 bytes in all: pass a larger max_bytes, or file_path to save it."
        "#]],
    );
}

#[test]
fn a_picture_is_described_and_shown_when_asked_for() {
    let desk = Desk::new();
    holds(&desk, vec![Part::Image(PNG.to_vec())]);
    desk.check(
        "get_clipboard",
        json!({}),
        expect![[r#"
        types: image
        formats: fake/image
        owner: "editor (101)"
        type: image
        width: 3
        height: 2
        bytes: 33
        note: "Pass type: image to see the picture, or file_path as well to save it."
    "#]],
    );
    desk.check(
        "get_clipboard",
        json!({ "type": "image" }),
        expect![[r#"
        3x2, on the clipboard.
    "#]],
    );
    holds(&desk, vec![Part::Image([PNG, &vec![0; 600_000]].concat())]);
    desk.check(
        "get_clipboard",
        json!({ "type": "image" }),
        expect![[r#"
        types: image
        formats: fake/image
        owner: "editor (101)"
        type: image
        width: 3
        height: 2
        bytes: 600033
        note: "The picture is too large to be shown: pass file_path to save it."
    "#]],
    );
}

#[test]
fn all_of_it_goes_into_a_file() {
    let desk = Desk::new();
    let path = std::env::temp_dir().join(format!("deskhand-clipboard-{}.txt", std::process::id()));
    let long = "long ".repeat(100_000);
    holds(&desk, vec![text(&long)]);
    let reply = desk.data("get_clipboard", json!({ "file_path": path }));
    assert_eq!((&reply["bytes"], &reply["text"]), (&json!(500_000), &json!(null)));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), long);
    assert_eq!(desk.error("get_clipboard", json!({ "file_path": path })).code, Code::PathExists);
    holds(&desk, vec![Part::Image(PNG.to_vec())]);
    desk.data("get_clipboard", json!({ "file_path": path, "overwrite": true }));
    assert_eq!(std::fs::read(&path).unwrap(), PNG);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_secret_is_said_to_be_there_and_not_told() {
    let desk = Desk::new();
    desk.data("get_clipboard_history", json!({ "watch": true }));
    desk.control.change(|world| world.person_copies(vec![text("hunter2")], true));
    desk.check("get_clipboard", json!({}), expect![[r#"
        types: text
        formats: fake/text
        owner: "editor (101)"
        secret: true
        note: "It is marked as secret, as password managers do: it is not handed out. press_key ctrl+v pastes it without reading it."
    "#]]);
    desk.check(
        "get_clipboard_history",
        json!({}),
        expect![[r#"
        watching: true
        entries: 
        total: 0
        withheld: 1
    "#]],
    );
}

#[test]
fn what_is_put_there_is_read_back() {
    check(
        plain,
        "set_clipboard",
        json!({ "text": "Grüße" }),
        expect![[r#"
        effect: confirmed
        evidence: "reads back exactly: text (5 characters)"
        types: text
        > copy to clipboard: [text(7)]
    "#]],
    );
    check(
        plain,
        "write_clipboard",
        json!({ "text": "<i>x</i>", "type": "html" }),
        expect![[r#"
        effect: confirmed
        evidence: "reads back exactly: html (8 characters)"
        types: html
        > copy to clipboard: [html(8)]
    "#]],
    );
    check(
        plain,
        "set_clipboard",
        json!({ "text": "x", "html": "<i>x</i>", "selection": "primary" }),
        expect![[r#"
            effect: confirmed
            evidence: "reads back exactly: text (1 characters), html (8 characters)"
            types: text, html
            > copy to primary: [text(1), html(8)]
        "#]],
    );
    check(
        plain,
        "set_clipboard",
        json!({ "files": ["/tmp", "/"] }),
        expect![[r#"
        effect: confirmed
        evidence: "reads back exactly: files (2 files)"
        types: files
        > copy to clipboard: [files(2)]
    "#]],
    );
    check(
        plain,
        "set_clipboard",
        json!({ "text": "/tmp\n/\n", "type": "files" }),
        expect![[r#"
        effect: confirmed
        evidence: "reads back exactly: files (2 files)"
        types: files
        > copy to clipboard: [files(2)]
    "#]],
    );
    check(
        plain,
        "set_clipboard",
        json!({ "image_base64": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAA=" }),
        expect![[r#"
            effect: confirmed
            evidence: "reads back exactly: image (29 bytes)"
            types: image
            > copy to clipboard: [image(29)]
        "#]],
    );
    check(
        plain,
        "clear_clipboard",
        json!({}),
        expect![[r#"
        effect: confirmed
        evidence: "it is empty"
        > clear clipboard
    "#]],
    );
    check(
        |desk| {
            desk.control.change(|world| {
                world.person_copies(vec![text("x")], false);
                world.cling_to_clipboard(true);
            })
        },
        "clear_clipboard",
        json!({}),
        expect![[r#"
            effect: no_change_seen
            reason: "editor (101) has put something there again."
            > clear clipboard
        "#]],
    );
}

#[test]
fn what_cannot_be_put_there_is_refused_before_anything_changes() {
    let desk = Desk::new();
    holds(&desk, vec![text("kept")]);
    desk.check(
        "set_clipboard",
        json!({}),
        expect![[r#"
        missing_required_parameter: Nothing says what to put on the clipboard.
          expected: at least one of text, html, image_path, image_base64, files
          remedy: To empty it, call clear_clipboard.
    "#]],
    );
    desk.check(
        "set_clipboard",
        json!({ "image_base64": "aGVsbG8=" }),
        expect![[r#"
        invalid_argument: The picture is no PNG, which is what applications paste.
          expected: a PNG
          remedy: Convert it to PNG first.
    "#]],
    );
    desk.check(
        "set_clipboard",
        json!({ "image_base64": "!" }),
        expect![[r#"
            invalid_argument: The picture is not base64.
              expected: a PNG in base64
        "#]],
    );
    desk.check(
        "set_clipboard",
        json!({ "image_path": "/nowhere.png" }),
        expect![[r#"
        path_not_found: The picture "/nowhere.png" cannot be read.
          system: No such file or directory (os error 2)
    "#]],
    );
    desk.check(
        "set_clipboard",
        json!({ "text": "a", "html": "b", "type": "html" }),
        expect![[r#"
        invalid_argument: type says that text is html, and html is given besides.
          remedy: Leave type out, and pass each form under its own name.
    "#]],
    );
    desk.check(
        "set_clipboard",
        json!({ "files": ["/tmp", "/nowhere/x"] }),
        expect![[r#"
            path_not_found: There is no "/nowhere/x" to be copied.
              system: No such file or directory (os error 2)
              remedy: Name files and folders that exist.
        "#]],
    );
    assert_eq!(desk.control.change(|world| world.copied(Selection::Clipboard)), [text("kept")]);
}

#[test]
fn history_is_kept_while_somebody_asked_for_it() {
    let desk = Desk::new();
    holds(&desk, vec![text("before")]);
    desk.check(
        "get_clipboard_history",
        json!({}),
        expect![[r#"
        watching: false
        entries: 
        total: 0
        note: "Nothing is remembered: pass watch: true to begin. It lasts as long as the server runs."
    "#]],
    );
    desk.data("get_clipboard_history", json!({ "watch": true }));
    holds(&desk, vec![text("first")]);
    holds(&desk, vec![text(&"second ".repeat(500)), Part::Html("x".into())]);
    desk.data("set_clipboard", json!({ "text": "third" }));
    let all = desk.data("get_clipboard_history", json!({ "limit": 2, "offset": 1 }));
    assert_eq!(all["total"], 3);
    assert_eq!(all["entries"][0]["truncated"], true);
    assert_eq!(all["entries"][1]["text"], "first");
    desk.check(
        "get_clipboard_history",
        json!({ "limit": 1 }),
        expect![[r#"
        watching: true
        entries:
          - number 3  time …  types [text]  application Deskhand  text third
        total: 3
    "#]],
    );
    desk.check(
        "get_clipboard_history",
        json!({ "watch": false }),
        expect![[r#"
        watching: false
        entries: 
        total: 0
        note: "Nothing is remembered: pass watch: true to begin. It lasts as long as the server runs."
    "#]],
    );
}

#[test]
fn pasting_gives_the_clipboard_back() {
    let desk = Desk::new();
    let before = vec![text("kept"), Part::Html("<b>kept</b>".into())];
    holds(&desk, before.clone());
    desk.data("get_clipboard_history", json!({ "watch": true }));
    desk.check(
        "type_text",
        json!({ "text": "Grüße, 世界\n🎉", "method": "paste" }),
        expect![[r#"
        effect: confirmed
        evidence: "reads back exactly, 11 characters at the caret"
        via: paste
        target: "e1 text_area \"Document\""
        window_title: "Untitled - Editor"
        characters: 11
        clipboard: "restored in 2 formats"
        > lend: [text(20)]
        > key ctrl down
        > key v down
        > key v up
        > key ctrl up
        > give back
        < editor got ctrl+v
        < editor/text got "Grüße, 世界\n🎉"
    "#]],
    );
    desk.check(
        "type_text",
        json!({ "text": "x", "method": "paste", "paste_keys": "ctrl+b" }),
        expect![[r#"
            effect: no_change_seen
            reason: "The application did not fetch the text: it does not paste on ctrl+b, or not here."
            via: paste
            target: "e1 text_area \"Document\""
            window_title: "Untitled - Editor"
            characters: 1
            clipboard: "restored in 2 formats"
            > lend: [text(1)]
            > key ctrl down
            > key b down
            > key b up
            > key ctrl up
            > give back
            < editor got ctrl+b
        "#]],
    );
    desk.check(
        "type_text",
        json!({ "text": "12", "method": "paste", "application": "Calculator" }),
        expect![[r#"
            effect: no_change_seen
            reason: "The application did not fetch the text: it does not paste on ctrl+v, or not here."
            via: paste
            target: "e2 button \"=\""
            window_title: Calculator
            characters: 2
            clipboard: "restored in 2 formats"
            > focus 8
            > lend: [text(2)]
            > key ctrl down
            > key v down
            > key v up
            > key ctrl up
            > give back
            < calculator got ctrl+v
        "#]],
    );
    assert_eq!(desk.control.change(|world| world.copied(Selection::Clipboard)), before);
    assert_eq!(desk.data("get_clipboard_history", json!({}))["total"], 0);
}

#[test]
fn a_paste_that_fails_gives_the_clipboard_back_too() {
    for what in ["input.key", "clipboard.fetched", "windows.list"] {
        let desk = Desk::new();
        holds(&desk, vec![text("kept")]);
        desk.control.fail_always(what, || Error::backend("It is out of order."));
        assert_eq!(desk.error("type_text", json!({ "text": "x", "method": "paste" })).code, Code::Backend);
        assert_eq!(desk.control.change(|world| world.copied(Selection::Clipboard)), [text("kept")], "{what}");
        assert_eq!(desk.control.held(), []);
    }
    let desk = Desk::new();
    holds(&desk, vec![text("kept")]);
    desk.control.hang_next("clipboard.fetched");
    let error = desk.error("type_text", json!({ "text": "x", "method": "paste", "timeout_ms": 50 }));
    assert_eq!(error.code, Code::Timeout);
    assert_eq!(desk.control.change(|world| world.copied(Selection::Clipboard)), [text("kept")]);
    desk.check(
        "type_text",
        json!({ "text": "x", "method": "paste", "modifiers": ["ctrl"] }),
        expect![[r#"
            invalid_argument: What is pasted comes at once: modifiers and delay_ms are for method: keys.
              remedy: Leave them out, or leave method out.
        "#]],
    );
    desk.check(
        "type_text",
        json!({ "text": "x", "paste_keys": "ctrl+v" }),
        expect![[r#"
        invalid_argument: paste_keys is for method: paste.
          remedy: Pass method: paste, too.
    "#]],
    );
}

#[test]
fn waiting_for_what_is_copied() {
    let desk = Desk::new();
    holds(&desk, vec![text("Invoice 17")]);
    // What is there already is there, whatever its case.
    desk.check(
        "wait_for",
        json!({ "clipboard": "INVOICE" }),
        expect![[r#"
            condition: clipboard
            clipboard:
              types: text
              owner: "editor (101)"
              text: "Invoice 17"
            waited_ms: …
        "#]],
    );
    desk.control.later(Duration::from_millis(30), |world| {
        world.person_copies(vec![Part::Files(vec!["/tmp/a".into()])], false);
    });
    let new = desk.data("wait_for", json!({ "clipboard": "", "timeout_ms": 5000 }));
    assert_eq!(new["clipboard"], json!({ "types": ["files"], "owner": "editor (101)" }));
    desk.control.later(Duration::from_millis(30), |world| {
        world.person_copies(vec![text(&"long ".repeat(1000))], false);
    });
    let found = desk.data("wait_for", json!({ "clipboard": "long", "timeout_ms": 5000 }));
    assert_eq!(found["clipboard"]["text"].as_str().unwrap().len(), 2000);
    assert_eq!(found["clipboard"]["truncated"], true);
    // Beside others, and until it is gone.
    let either = json!({ "clipboard": "never", "window_title": "Adding", "timeout_ms": 5000 });
    desk.control.later(Duration::from_millis(30), |world| world.retitle_window(8, "Adding machine"));
    assert_eq!(desk.data("wait_for", either)["condition"], "window_title");
    desk.control.later(Duration::from_millis(30), |world| world.person_copies(vec![text("other")], false));
    let gone = desk.data("wait_for", json!({ "clipboard": "long", "gone": true, "timeout_ms": 5000 }));
    assert_eq!(gone["clipboard"]["text"], "other");
    desk.data("clear_clipboard", json!({}));
    assert!(desk.data("wait_for", json!({ "clipboard": "", "gone": true }))["clipboard"]["types"].is_null());
    // A paste that borrows the clipboard copies nothing.
    desk.data("type_text", json!({ "text": "x", "method": "paste", "element": "text_area" }));
    assert_eq!(desk.error("wait_for", json!({ "clipboard": "", "timeout_ms": 50 })).code, Code::Timeout);
}

#[test]
fn waiting_neither_tells_nor_searches_secrets() {
    let desk = Desk::new();
    let secret = |world: &mut deskhand_core::fake::World| world.person_copies(vec![text("hunter2")], true);
    desk.control.later(Duration::from_millis(30), secret);
    desk.check(
        "wait_for",
        json!({ "clipboard": "", "timeout_ms": 5000 }),
        expect![[r#"
            condition: clipboard
            clipboard:
              types: text
              owner: "editor (101)"
              secret: true
            waited_ms: …
        "#]],
    );
    desk.check(
        "wait_for",
        json!({ "clipboard": "hunter2", "timeout_ms": 30 }),
        expect![[r#"
            timeout: This did not come true in time: the given text (7 characters) on the clipboard.
              found: What is on the clipboard is marked as secret, and is not read.
              remedy: Look at the screen; pass a larger timeout_ms if it only needs longer.
        "#]],
    );
    let gone = json!({ "clipboard": "hunter3", "gone": true, "timeout_ms": 30 });
    assert_eq!(desk.error("wait_for", gone).code, Code::Timeout);
    for rule in ["get_clipboard", "clipboard"] {
        let desk = Desk::with(Fake::new(), |config| config.policy.deny.push(rule.to_owned()));
        assert_eq!(desk.error("wait_for", json!({ "clipboard": "" })).code, Code::DeniedByPolicy);
    }
}

#[test]
fn waiting_outlasts_an_owner_that_hangs_and_says_what_fails() {
    let desk = Desk::new();
    holds(&desk, vec![text("kept")]);
    desk.control.hang_next("clipboard.offer");
    assert_eq!(desk.data("wait_for", json!({ "clipboard": "kept" }))["condition"], "clipboard");
    desk.control.hang_next("clipboard.fetch");
    let error = desk.error("wait_for", json!({ "clipboard": "kept", "timeout_ms": 50 }));
    assert_eq!(error.code, Code::Timeout);
    desk.control.fail_next("clipboard.next", Error::backend("The display is gone."));
    assert_eq!(desk.error("wait_for", json!({ "clipboard": "" })).code, Code::Backend);
    let prepared = desk.prepare("wait_for", json!({ "clipboard": "never" }));
    let cancellation = prepared.cancellation().clone();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| desk.server.run(prepared));
        cancellation.cancel();
        let ended = waiting.join().unwrap();
        assert!(ended.is_err_and(|error| error.code == Code::Cancelled));
    });
    let desk = Desk::with(Fake::new().without("clipboard"), |_| {});
    assert_eq!(desk.error("wait_for", json!({ "clipboard": "" })).code, Code::Unsupported);
}
