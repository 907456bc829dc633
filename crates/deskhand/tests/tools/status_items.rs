//! The notification area.

use crate::desk::{Desk, check, plain};
use expect_test::expect;
use serde_json::json;

#[test]
fn looking() {
    check(
        plain,
        "list_status_bar_items",
        json!({}),
        expect![[r#"
        items:
          - id fake/mixer  name mixer  description "Volume 60 %"  process mixer  pid 301  status active  menu true  position_reason "Nobody draws it."
          - id fake/clips  name clips  description Clipboard  process clips  pid 302  status active  menu false  position_reason "Nobody draws it."
          - id fake/old  name old  description "Old icon"  process old  pid 303  status active  menu false  position {x 1240  y 4  width 24  height 24}
        kept_by: fake
    "#]],
    );
    let empty = |desk: &Desk| desk.control.change(|world| world.set_status_items(Vec::new()));
    check(
        empty,
        "list_status_bar_items",
        json!({}),
        expect![[r#"
        items: 
        kept_by: fake
    "#]],
    );
}

#[test]
fn clicking() {
    check(
        plain,
        "click_status_bar_item",
        json!({ "item": "mixer" }),
        expect![[r#"
            effect: confirmed
            evidence: "its menu was filled: \"Mute, Outputs\""
            reason: "A click on this item only opens its menu, which was read without being shown. Work it with click_status_bar_menu_item."
            via: menu
            target: "status item mixer \"Volume 60 %\" of mixer"
            menu:
              - name Mute  enabled true  checked false
              - name Outputs  enabled true  submenu true  items [name Speakers  enabled true  checked true, name Headset  enabled false  checked false]
        "#]],
    );
    check(
        plain,
        "click_status_bar_item",
        json!({ "process_name": "clips", "settle_ms": 20 }),
        expect![[r#"
            effect: no_change_seen
            reason: "No window, content or state changed within 20 ms. It may react later, or do something that does not show."
            via: call
            target: "status item clips \"Clipboard\" of clips"
            > activate clips left 0,0
        "#]],
    );
    check(
        plain,
        "click_status_bar_item",
        json!({ "description": "clipboard", "button": "right", "settle_ms": 0 }),
        expect![[r#"
            effect: unverified
            reason: "settle_ms is 0, so nothing was looked for."
            via: call
            target: "status item clips \"Clipboard\" of clips"
            > activate clips right 0,0
        "#]],
    );
    check(
        plain,
        "click_status_bar_item",
        json!({ "item": "Old icon", "button": "right", "settle_ms": 0 }),
        expect![[r#"
            effect: unverified
            reason: "settle_ms is 0, so nothing was looked for."
            via: pointer
            target: "status item old \"Old icon\" of old"
            pointer: x 1252  y 16  display 0
            > move 1252,16
            > down right
            > up right
        "#]],
    );
    check(
        plain,
        "click_status_bar_item",
        json!({ "item": "network" }),
        expect![[r#"
        status_item_not_found: The notification area has no item "network".
          expected: an item's id, name or description, or its process
          found: mixer "Volume 60 %" of mixer; clips "Clipboard" of clips; old "Old icon" of old
          remedy: List them with list_status_bar_items; an application may take a moment to add its item.
    "#]],
    );
    check(
        plain,
        "click_status_bar_item",
        json!({ "item": "cli" }),
        expect![[r#"
            effect: no_change_seen
            reason: "No window, content or state changed within 600 ms. It may react later, or do something that does not show."
            via: call
            target: "status item clips \"Clipboard\" of clips"
            > activate clips left 0,0
        "#]],
    );
}

#[test]
fn clicking_in_a_menu() {
    check(
        plain,
        "click_status_bar_menu_item",
        json!({ "item": "Volume 60 %", "path": "mute" }),
        expect![[r#"
            effect: confirmed
            evidence: "checked false → true"
            via: call
            target: "menu item \"Mute\" of status item mixer \"Volume 60 %\" of mixer"
            > menu mixer/Mute
        "#]],
    );
    let ignoring = |desk: &Desk| desk.control.change(|world| world.ignore_clicks(true));
    check(
        ignoring,
        "click_status_bar_menu_item",
        json!({ "item": "301", "path": "Mute", "settle_ms": 30 }),
        expect![[r#"
            effect: no_change_seen
            reason: "Its check mark is as it was within 30 ms."
            via: call
            target: "menu item \"Mute\" of status item mixer \"Volume 60 %\" of mixer"
            > menu mixer/Mute
        "#]],
    );
    check(
        plain,
        "click_status_bar_menu_item",
        json!({ "item": "mixer", "menu_path": "Outputs > Headset" }),
        expect![[r#"
        element_not_actionable: The menu item "Outputs > Headset" is disabled.
          remedy: Do first what enables it: select something, say, or open a document.
    "#]],
    );
    check(
        plain,
        "click_status_bar_menu_item",
        json!({ "item": "mixer", "path": "Outputs > Radio" }),
        expect![[r#"
        menu_item_not_found: The menu "Outputs" has no item "Radio".
          expected: a name of this level
          found: Speakers; Headset (disabled)
          remedy: Use one of these names; those on a path are parted by >.
    "#]],
    );
    check(
        plain,
        "click_status_bar_menu_item",
        json!({ "item": "old", "path": "Quit" }),
        expect![[r#"
        unsupported: The icon "old" exports no menu: it is a window inside the panel.
          remedy: Click it with the right button (click_status_bar_item), then its menu by its elements or a screenshot.
    "#]],
    );
    check(
        plain,
        "click_status_bar_menu_item",
        json!({ "item": "clips", "path": "Quit" }),
        expect![[r#"
        unsupported: It has no menu.
    "#]],
    );
}
