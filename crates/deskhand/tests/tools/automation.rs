//! The tools of plain JSON-RPC clients, on the desktop in memory: what they answer and what reaches it.

use crate::desk::{Desk, check, plain};
use deskhand_core::Code;
use expect_test::expect;
use serde_json::{Value, json};

fn keys(target: &str, keys: &str) -> Value {
    json!({ "providerName": "at-spi", "elementId": target, "propertyName": "keys", "value": keys })
}

#[test]
fn keys_go_where_they_are_sent_and_are_read_back() {
    let desk = Desk::new();
    let sent = desk.data("setProperty", keys("Editor", "25+17="));
    assert_eq!(sent["success"], true, "{sent}");
    let error = desk.error("setProperty", keys("Editor", "25^"));
    assert_eq!(error.code, Code::InvalidArgument);
    check(
        plain,
        "setProperty",
        keys("8", "12+3{ENTER}^a+{TAB 2}"),
        expect![[r#"
        success: true
        effect: no_change_seen
        reason: "Within 20 ms the application reported no change and drew nothing."
        > focus 8
        > type "12+3"
        > key enter down
        > key enter up
        > key ctrl down
        > key a down
        > key a up
        > key ctrl up
        > key shift down
        > key tab down
        > key tab up
        > key tab down
        > key tab up
        > key shift up
        < calculator/equals got key enter
        < calculator got ctrl+a
    "#]],
    );
}

#[test]
fn trees_have_the_shape_that_their_clients_know() {
    let desk = Desk::new();
    let options = json!({ "depth": 2 });
    let tree = desk
        .data("queryTree", json!({ "providerName": "windows-forms", "targetId": "8", "options": options }));
    assert_eq!(tree["type"], "ControlType.Window");
    for member in ["id", "name", "position", "properties", "actions", "children"] {
        assert!(!tree[member].is_null(), "{member} is missing in {tree}");
    }
    // Below an element of it, by its id.
    let child = tree["children"][0]["id"].clone();
    let below = desk.data("queryTree", json!({ "providerName": "at-spi", "targetId": child }));
    assert_eq!(below["id"], child);
    let whole = desk.data("queryTree", json!({ "providerName": "at-spi", "targetId": "Calculator" }));
    assert_eq!(whole["name"], tree["name"]);
}

#[test]
fn properties_are_read_and_set() {
    let desk = Desk::new();
    let title = "text_field[name=\"Title\"]";
    let set =
        json!({ "providerName": "at-spi", "elementId": title, "propertyName": "text", "value": "Report" });
    assert_eq!(desk.data("setProperty", set)["effect"], "confirmed");
    let read = |property: &str, element: &str| {
        let arguments = json!({ "providerName": "at-spi", "elementId": element, "propertyName": property });
        desk.data("readProperty", arguments)["value"].clone()
    };
    assert_eq!(read("text", title), "Report");
    assert_eq!(read("value", title), "Report");
    assert_eq!(read("name", title), "Title");
    assert_eq!(read("type", title), "ControlType.Edit");
    assert_eq!(read("isEnabled", title), true);
    assert!(read("position", title)["width"].is_u64());
    assert_eq!(read("type", "8"), "ControlType.Window");
    assert_eq!(read("name", "save-button"), "Save");
}

#[test]
fn what_is_not_there_is_told() {
    let desk = Desk::new();
    let provider = json!({ "providerName": "java", "elementId": "save-button" });
    assert!(desk.error("clickElement", provider).detail.expected.unwrap().contains("windows-forms"));
    let none = json!({ "providerName": "at-spi", "elementId": "btn_submit" });
    assert_eq!(desk.error("clickElement", none).code, Code::ElementNotFound);
    let nowhere = json!({ "providerName": "at-spi", "targetId": "ApplicationFrameHost" });
    let error = desk.error("queryTree", nowhere);
    assert!(error.code == Code::WindowNotFound && !error.detail.found.is_empty(), "{error:?}");
    let value =
        json!({ "providerName": "at-spi", "elementId": "8", "propertyName": "color", "value": "red" });
    assert_eq!(desk.error("setProperty", value).code, Code::InvalidArgument);
}

#[test]
fn what_is_denied_stays_denied_under_these_names() {
    let desk =
        Desk::with(deskhand_core::fake::Fake::new(), |config| config.policy.deny.push("launch_app".into()));
    let error = desk.error("launchProcess", json!({ "executable": "Viewer" }));
    assert_eq!(error.code, Code::DeniedByPolicy);
}
