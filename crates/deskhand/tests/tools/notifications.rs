//! Notifications: sent, seen, answered, dismissed.

use crate::desk::{Desk, check, plain};
use deskhand::notices::MOST;
use deskhand_core::notification::CloseReason;
use deskhand_core::{Call, Code, Error};
use expect_test::expect;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn sending() {
    check(
        plain,
        "send_notification",
        json!({ "title": "Tea", "subtitle": "Kitchen", "message": "It is ready.", "urgency": "critical" }),
        expect![[r#"
            effect: confirmed
            evidence: "fake 1.0 took it as notification 1"
            id: 1
            shown_by: "fake 1.0"
            > notify "Tea" "It is ready."
        "#]],
    );
    check(
        plain,
        "send_notification",
        json!({ "summary": "Tea", "body": "Ready", "sound": "bell", "actions": ["Drink"], "expire_ms": 0 }),
        expect![[r#"
            effect: confirmed
            evidence: "fake 1.0 took it as notification 1"
            ignored: sound
            id: 1
            shown_by: "fake 1.0"
            > notify "Tea" "Ready"
        "#]],
    );
    check(
        plain,
        "send_notification",
        json!({ "title": " ", "message": "" }),
        expect![[r#"
        invalid_argument: A notification needs a title, and this one is empty.
    "#]],
    );
    check(
        plain,
        "send_notification",
        json!({ "title": "Tea" }),
        expect![[r#"
        missing_required_parameter: The arguments do not fit: message (a string) is required.
          expected: title: a string, message: a string, subtitle?: a string, sound?: a string, urgency?: one of low, normal, critical, actions?: an array of string, expire_ms?: an integer from 0 to 86400000
    "#]],
    );
    let many: Vec<String> = (0..17).map(|number| number.to_string()).collect();
    let many = json!({ "title": "Tea", "message": "", "actions": many });
    check(
        plain,
        "send_notification",
        many,
        expect![[r#"
        invalid_argument: A notification has at most 16 actions.
          found: 17
    "#]],
    );
}

#[track_caller]
fn until(desk: &Desk, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let call = Call::with_timeout(Duration::from_secs(10));
    let look = || {
        let list = desk.data("list_notifications", json!({}));
        Ok(wanted(&list).then_some(list))
    };
    call.until(what, look).unwrap_or_else(|error| panic!("{what}: {error}"))
}

#[test]
fn only_who_asked_to_watch_sees_those_of_others() {
    let desk = Desk::new();
    desk.control.change(|world| world.notify("Mail", "New message", "From Ann", &["Open"]));
    desk.check(
        "list_notifications",
        json!({}),
        expect![[r#"
        notifications: 
        watching: false
        reason: "Other programs' notifications are seen while watch is true only."
    "#]],
    );
    desk.data("list_notifications", json!({ "watch": true }));
    desk.control.change(|world| world.notify("Mail", "Another message", "From Bea", &["Open", "default"]));
    until(&desk, "the message", |list| list["notifications"].as_array().unwrap().len() == 1);
    desk.control.change(|world| world.close_notification(2, CloseReason::Dismissed));
    until(&desk, "the end", |list| list["notifications"][0]["state"] == "closed");
    desk.control.change(|world| world.notify("Chat", "Hello", "", &[]));
    until(&desk, "the greeting", |list| list["notifications"].as_array().unwrap().len() == 2);
    let known = desk.data("list_notifications", json!({ "page_size": 1 }));
    assert_eq!((&known["notifications"][0]["title"], &known["watching"]), (&json!("Hello"), &json!(true)));
    let rest = desk.data("list_notifications", json!({ "page_token": known["next_page_token"] }));
    assert_eq!(rest["notifications"][0]["closed"], "dismissed", "{rest}");

    desk.check(
        "list_notifications",
        json!({ "watch": false }),
        expect![[r#"
        notifications: 
        watching: false
        reason: "Other programs' notifications are seen while watch is true only."
    "#]],
    );
    desk.control.change(|world| world.notify("Chat", "Unseen", "", &[]));
    assert_eq!(desk.data("list_notifications", json!({}))["notifications"], json!([]));
}

#[test]
fn watching_ends_by_itself_and_when_it_breaks() {
    let desk = Desk::new();
    desk.data("list_notifications", json!({ "watch": true, "watch_ms": 1 }));
    until(&desk, "the end of the watching", |list| list["watching"] == false);
    desk.data("list_notifications", json!({ "watch": true }));
    desk.data("list_notifications", json!({ "watch": true, "watch_ms": 5000 }));
    let left = desk.data("list_notifications", json!({}))["watching_for_s"].as_u64().unwrap();
    assert!(left < 6, "{left}");
    desk.control.fail_next("notifications.next", Error::backend("The bus went away."));
    let ended = until(&desk, "the end of the watching", |list| list["watching"] == false);
    assert_eq!(ended["reason"], "The bus went away.");
    for wrong in [json!({ "watch_ms": 5 }), json!({ "watch": false, "watch_ms": 5 })] {
        assert_eq!(desk.error("list_notifications", wrong).code, Code::InvalidArgument);
    }
}

#[test]
fn what_is_kept_is_bounded() {
    let desk = Desk::new();
    desk.data("list_notifications", json!({ "watch": true }));
    for number in 0..MOST + 20 {
        desk.control.change(|world| world.notify("Flood", &number.to_string(), &"x".repeat(10), &[]));
    }
    let last = json!((MOST + 19).to_string());
    let list = until(&desk, "the last one", |list| list["notifications"][0]["title"] == last);
    assert_eq!(list["notifications"].as_array().unwrap().len(), MOST);
}

fn tea(desk: &Desk) -> Value {
    desk.data(
        "send_notification",
        json!({ "title": "Tea", "message": "Ready", "actions": ["Drink", "Later"] }),
    )
}

#[test]
fn acting() {
    check(
        |desk| drop(tea(desk)),
        "act_on_notification",
        json!({ "id": 1, "action": "later" }),
        expect![[r#"
            effect: confirmed
            evidence: "\"Deskhand\" was told of \"Later\""
            via: daemon
            id: 1
            > invoke 1 Later
        "#]],
    );
    check(
        |desk| drop(tea(desk)),
        "act_on_notification",
        json!({ "id": 1, "action": "Eat" }),
        expect![[r#"
            invalid_argument: The notification 1 has no action "Eat".
              expected: one of its actions
              found: Drink; Later
        "#]],
    );
    check(
        |desk| drop(tea(desk)),
        "act_on_notification",
        json!({ "id": 1 }),
        expect![[r#"
        invalid_argument: Which action of the notification 1? It has no default one.
          expected: one of its actions
          found: Drink; Later
    "#]],
    );
    check(
        |desk| drop(tea(desk)),
        "act_on_notification",
        json!({ "id": 7, "action": "Drink" }),
        expect![[r#"
            invalid_argument: No notification 7 is known here.
              found: 1 "Tea"
              remedy: List them with list_notifications, with watch: true for those of other programs.
        "#]],
    );
    let desk = Desk::new();
    tea(&desk);
    desk.data("act_on_notification", json!({ "id": 1, "action": "Drink" }));
    desk.check("list_notifications", json!({}), expect![[r#"
        notifications:
          - id 1  application Deskhand  title Tea  message Ready  urgency normal  actions [Drink, Later]  state closed  closed withdrawn  chosen Drink  age_ms …
        watching: false
        reason: "Other programs' notifications are seen while watch is true only."
    "#]]);
}

#[test]
fn dismissing() {
    check(
        |desk| drop(tea(desk)),
        "dismiss_notification",
        json!({ "id": 1 }),
        expect![[r#"
        effect: confirmed
        evidence: "the notification 1 was closed"
        id: 1
        > close notification 1
    "#]],
    );
    let desk = Desk::new();
    tea(&desk);
    desk.data("dismiss_notification", json!({ "id": 1 }));
    let error = desk.error("act_on_notification", json!({ "id": 1, "action": "Drink" }));
    assert_eq!(error.code, Code::TargetChanged);
    let closed = desk.data("list_notifications", json!({}))["notifications"][0].clone();
    assert_eq!((&closed["state"], &closed["closed"]), (&json!("closed"), &json!("withdrawn")));
}

#[test]
fn an_order_without_effect_is_told() {
    let deaf = |desk: &Desk| {
        tea(desk);
        desk.control.change(|world| world.ignore_notification_orders(true));
    };
    check(
        deaf,
        "dismiss_notification",
        json!({ "id": 1 }),
        expect![[r#"
            effect: no_change_seen
            reason: "Nothing was closed within 2000 ms: most likely no notification 1 is open."
            id: 1
            > close notification 1
        "#]],
    );
    check(
        deaf,
        "act_on_notification",
        json!({ "id": 1, "action": "Drink" }),
        expect![[r#"
            effect: no_change_seen
            reason: "No action was invoked within 2000 ms: the notification may be gone."
            via: daemon
            id: 1
            > invoke 1 Drink
        "#]],
    );
    let unseen = |desk: &Desk| {
        tea(desk);
        let none = || Error::new(Code::PermissionDenied, "The session bus does not let itself be watched.");
        desk.control.fail_always("notifications.watch", none);
    };
    check(
        unseen,
        "dismiss_notification",
        json!({ "id": 1 }),
        expect![[r#"
        effect: unverified
        reason: "The session bus does not let itself be watched."
        id: 1
        > close notification 1
    "#]],
    );
}

#[test]
fn waiting_for_one() {
    let desk = Desk::new();
    desk.control.later(Duration::from_millis(30), |world| {
        world.notify("Chat", "Nothing of interest", "", &[]);
    });
    desk.control.later(Duration::from_millis(60), |world| {
        world.notify("Mail", "New message", "From Ann", &["Open"]);
    });
    desk.check(
        "wait_for",
        json!({ "notification": "ANN", "timeout_ms": 5000 }),
        expect![[r#"
        condition: notification
        notification:
          id: 2
          application: Mail
          title: "New message"
          message: "From Ann"
          urgency: normal
          actions: Open
          state: open
          age_ms: …
        waited_ms: …
    "#]],
    );
    desk.control.later(Duration::from_millis(30), |world| world.retitle_window(8, "Adding machine"));
    let either = json!({ "notification": "never", "window_title": "Adding", "timeout_ms": 5000 });
    assert_eq!(desk.data("wait_for", either)["condition"], "window_title");
    let begun = Instant::now();
    let error = desk.error("wait_for", json!({ "notification": "rain", "timeout_ms": 80 }));
    assert_eq!(error.code, Code::Timeout);
    assert!(error.message.contains("a notification with \"rain\""), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(2));
}
