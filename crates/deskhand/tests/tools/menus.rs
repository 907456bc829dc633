//! Menus by path: those of a menu bar, and those behind a button.

use crate::desk::{Desk, check, plain};
use deskhand_core::Code;
use expect_test::expect;
use serde_json::{Value, json};

fn viewer(desk: &Desk) -> Value {
    desk.data("launch_app", json!({ "application": "Viewer" }))["window"]["id"].clone()
}

#[test]
fn reading_a_menu_bar_touches_nothing() {
    check(
        plain,
        "list_menu_items",
        json!({}),
        expect![[r#"
        via: elements
        window: 7
        window_title: "Untitled - Editor"
        menus:
          - name File  enabled true  submenu true  items [name New  enabled true, name Save  enabled true, name Quit  enabled true]
        total: 4
        truncated: false
    "#]],
    );
    check(
        plain,
        "get_menu_bar_structure",
        json!({ "process_name": "editor", "max_depth": 1 }),
        expect![[r#"
        via: elements
        window: 7
        window_title: "Untitled - Editor"
        menus:
          - name File  enabled true  submenu true
        total: 1
        truncated: false
    "#]],
    );
    check(
        plain,
        "list_menu_items",
        json!({ "path": "file > quit", "application": "Editor" }),
        expect![[r#"
        via: elements
        window: 7
        window_title: "Untitled - Editor"
        menus:
          - name Quit  enabled true
        total: 1
        truncated: false
    "#]],
    );
    check(
        plain,
        "get_menu_item_state",
        json!({ "path": "File" }),
        expect![[r#"
        path: File
        name: File
        enabled: true
        submenu: true
        items: New, Save, Quit
        via: elements
        window_title: "Untitled - Editor"
    "#]],
    );
    check(
        plain,
        "list_menu_items",
        json!({ "page_size": 2, "page_token": "p5a58" }),
        expect![[r#"
        via: elements
        window: 7
        window_title: "Untitled - Editor"
        menus:
          - name File  enabled true  submenu true  items [name Save  enabled true, name Quit  enabled true]
        total: 4
        truncated: true
    "#]],
    );
}

#[test]
fn clicking_by_path() {
    check(
        plain,
        "click_menu_item",
        json!({ "path": "_file > SAVE..." }),
        expect![[r#"
        effect: confirmed
        evidence: "a property changed (name) to \"Saved\""
        via: elements
        target: "menu item \"File > Save\""
        window_title: "Untitled - Editor"
        > perform editor/file/save click
    "#]],
    );
    check(
        plain,
        "click_menu_item",
        json!({ "menu_path": "File → Quit" }),
        expect![[r#"
        effect: confirmed
        evidence: "the window \"Untitled - Editor\" closed"
        via: elements
        target: "menu item \"File > Quit\""
        window_title: "Untitled - Editor"
        > perform editor/file/quit click
    "#]],
    );
    check(
        plain,
        "click_menu_item",
        json!({ "path": "File" }),
        expect![[r#"
        element_not_actionable: "File" is a submenu; nothing was clicked.
          expected: the path of an item in it
          found: New; Save; Quit
    "#]],
    );
    check(
        plain,
        "click_menu_item",
        json!({ "path": "File > Sive" }),
        expect![[r#"
        menu_item_not_found: The menu "File" has no item "Sive".
          expected: a name of this level
          found: New; Save; Quit
          remedy: Use one of these names; those on a path are parted by >.
    "#]],
    );
    check(
        plain,
        "click_menu_item",
        json!({ "path": "Edit > Copy" }),
        expect![[r#"
        menu_item_not_found: The window "Untitled - Editor" has no item "Edit".
          expected: a name of this level
          found: File >
          remedy: Use one of these names; those on a path are parted by >.
    "#]],
    );
    check(
        plain,
        "click_menu_item",
        json!({ "path": " > " }),
        expect![[r#"
        invalid_argument: " > " names no menu item.
          expected: the names on the way to it, such as File > Save As...
    "#]],
    );
    check(
        plain,
        "list_menu_items",
        json!({ "application": "Calculator" }),
        expect![[r#"
        menu_item_not_found: The window "Calculator" has no menu bar and no button that opens a menu.
          remedy: Work what it shows: get_ui_elements, click_ui_element.
    "#]],
    );
}

#[test]
fn menus_behind_a_button_are_opened_and_closed() {
    let desk = Desk::new();
    let window = viewer(&desk);
    desk.check(
        "list_menu_items",
        json!({ "window": window, "open_menus": false }),
        expect![[r#"
        via: buttons
        window: 20
        window_title: Viewer
        menus:
          - name Options  enabled true  submenu true
        total: 1
        truncated: false
        note: "Its menus can be read only while they are open: leave open_menus out to open and close them."
    "#]],
    );
    desk.check("list_menu_items", json!({ "window": window }), expect![[r#"
        via: opened
        window: 20
        window_title: Viewer
        menus:
          - name Options  enabled true  submenu true  items [name "Rotate left…"  shortcut Ctrl+L  enabled false, name Close  enabled true]
        total: 3
        truncated: false
        note: "Input was made: \"Viewer\" got the keyboard, and its menus (Options) were opened and closed again."
        > perform viewer/options open
        > key escape down
        > key escape up
    "#]]);
    desk.check("get_menu_item_state", json!({ "window": window, "path": "Options > rotate left" }), expect![[r#"
        path: "Options > Rotate left…"
        name: "Rotate left…"
        shortcut: Ctrl+L
        enabled: false
        submenu: false
        via: opened
        window_title: Viewer
        note: "Input was made: \"Viewer\" got the keyboard, and its menus (Options) were opened and closed again."
        > perform viewer/options open
        > key escape down
        > key escape up
    "#]]);
    desk.check(
        "click_menu_item",
        json!({ "window": window, "path": "Options > Rotate left" }),
        expect![[r#"
        element_not_actionable: The menu item "Options > Rotate left…" is disabled.
          remedy: Do first what enables it: select something, say, or open a document.
        > perform viewer/options open
        > key escape down
        > key escape up
    "#]],
    );
    let left = desk.data("find_elements", json!({ "selector": "menu", "window": window }));
    assert_eq!(left["elements"], json!([]), "the menu is open still");
    desk.check(
        "click_menu_item",
        json!({ "window": window, "path": "Options > Close" }),
        expect![[r#"
        effect: confirmed
        evidence: "the window \"Viewer\" closed"
        via: opened
        target: "menu item \"Options > Close\""
        window_title: Viewer
        > perform viewer/options open
        > perform viewer/options/menu/close click
    "#]],
    );
}

#[test]
fn what_may_not_make_input_may_still_read() {
    let desk = Desk::with(deskhand_core::fake::Fake::new(), |config| config.policy.read_only = true);
    assert_eq!(desk.error("list_menu_items", json!({})).code, Code::DeniedByPolicy);
    let list = desk.data("list_menu_items", json!({ "open_menus": false }));
    assert_eq!(list["menus"][0]["name"], "File");
}
