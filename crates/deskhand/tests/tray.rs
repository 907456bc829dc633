//! The notification area through MCP: items of our own that fill themselves late, and those of real programs.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::json;
use stage::PrivateDesktop;
use stage::client::Client;
use stage::session::have;
use stage::tray::{Program, item};
use std::time::Duration;

/// A desktop with a server on it, where these programs are installed.
fn desktop(needed: &[&str]) -> Option<(PrivateDesktop, Client)> {
    if !have(&[&["Xvfb"], needed].concat()) {
        return None;
    }
    let desktop = PrivateDesktop::start(&[]);
    let client = Client::start(&desktop);
    Some((desktop, client))
}

#[test]
fn an_item_that_fills_its_menu_late() {
    let Some((desktop, mut client)) = desktop(&[]) else { return };
    let late = Program::python(&desktop, "tray_item.py", &[], &["300"]);
    let shown = item(&mut client, "late");
    assert_eq!(
        (&shown["description"], &shown["menu"], &shown["pid"]),
        (&json!("Late item"), &json!(true), &json!(late.process.id())),
        "{shown}"
    );
    assert!(shown["position_reason"].as_str().unwrap().contains("draws no icons"), "{shown}");

    client.call("click_status_bar_item", json!({ "item": "late" }));
    late.wait_for(&json!({ "event": "Activate" }));
    client.call("click_status_bar_item", json!({ "description": "Late item", "button": "right" }));
    late.wait_for(&json!({ "event": "ContextMenu" }));

    // Empty until it is announced, and filled 300 ms later; the submenu by an announcement of its own.
    let clicked = client.confirmed("click_status_bar_menu_item", json!({ "item": "late", "path": "ready" }));
    assert_eq!(clicked["evidence"], "checked false → true", "{clicked}");
    client.call("click_status_bar_menu_item", json!({ "item": "late", "path": "More > Later..." }));
    late.wait_for(&json!({ "event": "Event", "arguments": ["21", "clicked", "0", "0"] }));

    let refused = client.refused(
        "menu_item_not_found",
        "click_status_bar_menu_item",
        json!({ "item": "late", "path": "Gone" }),
    );
    assert_eq!(refused["detail"]["found"], json!(["Ready", "More >", "Never (disabled)"]));
    client.refused(
        "element_not_actionable",
        "click_status_bar_menu_item",
        json!({ "item": "late", "path": "Never" }),
    );
    client.refused(
        "element_not_actionable",
        "click_status_bar_menu_item",
        json!({ "item": "late", "path": "More" }),
    );
    let refused =
        client.refused("status_item_not_found", "click_status_bar_item", json!({ "item": "nobody" }));
    assert!(refused["detail"]["found"][0].as_str().unwrap().contains("late"), "{refused}");
}

#[test]
fn a_hung_item_costs_its_own_time_and_a_dead_one_is_gone() {
    let Some((desktop, mut client)) = desktop(&[]) else { return };
    let late = Program::python(&desktop, "tray_item.py", &[], &["0"]);
    let indicator = Program::python(&desktop, "tray_icons.py", &["indicator"], &[]);
    item(&mut client, "late");
    item(&mut client, "deskhand-indicator");
    late.signal(rustix::process::Signal::STOP);
    let started = std::time::Instant::now();
    let list = client.call("list_status_bar_items", json!({}));
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    let hung =
        list["items"].as_array().unwrap().iter().find(|item| item["pid"] == late.process.id()).unwrap();
    assert!(hung["problem"].as_str().unwrap().contains("did not answer"), "{list}");
    let pid = late.process.id();
    client.refused(
        "timeout",
        "click_status_bar_menu_item",
        json!({ "item": pid, "path": "Ready", "timeout_ms": 700 }),
    );
    late.signal(rustix::process::Signal::CONT);
    item(&mut client, "late");
    client.confirmed("click_status_bar_menu_item", json!({ "item": "late", "path": "Ready" }));
    drop(late);
    let list = client.call("list_status_bar_items", json!({}));
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
    drop(indicator);
}

#[test]
fn the_session_bus_may_be_asked_by_many_and_a_desktops_own_keeper_takes_over() {
    let Some((desktop, mut client)) = desktop(&[]) else { return };
    let _late = Program::python(&desktop, "tray_item.py", &[], &["0"]);
    item(&mut client, "late");
    assert_eq!(client.call("list_status_bar_items", json!({}))["kept_by"], json!(["deskhand"]));
    // A second server asks the first one.
    let mut second = Client::start(&desktop);
    item(&mut second, "late");
    let _keeper = Program::python(&desktop, "tray_watcher.py", &[], &[]);
    let call = Call::with_timeout(Duration::from_secs(20));
    let taken = call.until("waiting for the keeper", || {
        let list = client.call("list_status_bar_items", json!({}));
        Ok((list["kept_by"][0] == "python3" && list["items"][0]["name"] == "late").then_some(()))
    });
    assert!(taken.is_ok(), "{}", client.call("list_status_bar_items", json!({})));
    // Its panel tells in its accessibility tree where it shows the item: as a button of the item's name.
    let placed = call.until("waiting for the panel", || {
        let list = client.call("list_status_bar_items", json!({}));
        Ok((0 < list["items"][0]["position"]["width"].as_i64().unwrap_or(0)).then_some(()))
    });
    assert!(placed.is_ok(), "{}", client.call("list_status_bar_items", json!({})));
    client.confirmed("click_status_bar_menu_item", json!({ "item": "late", "path": "Ready" }));
}

#[test]
fn an_indicator_answers_with_its_menu() {
    let Some((desktop, mut client)) = desktop(&[]) else { return };
    let indicator = Program::python(&desktop, "tray_icons.py", &["indicator"], &[]);
    item(&mut client, "deskhand-indicator");
    let clicked = client.confirmed("click_status_bar_item", json!({ "item": "An indicator" }));
    assert_eq!(clicked["menu"][0]["name"], "Alpha", "{clicked}");
    client.call("click_status_bar_menu_item", json!({ "item": "deskhand-indicator", "path": "Beta" }));
    indicator.wait_for(&json!({ "event": "clicked", "item": "Beta" }));
    client.call("click_status_bar_menu_item", json!({ "item": "deskhand-indicator", "path": "More > Deep" }));
    indicator.wait_for(&json!({ "event": "clicked", "item": "Deep" }));
}

#[test]
fn an_embedded_icon_is_listed_and_clicked() {
    let Some((desktop, mut client)) = desktop(&["trayer"]) else { return };
    let _panel = Program::start(desktop.command("trayer"));
    let icon = Program::python(&desktop, "tray_icons.py", &["embedded"], &[]);
    let call = Call::with_timeout(Duration::from_secs(20));
    let shown = call.until("waiting for the icon", || {
        let list = client.call("list_status_bar_items", json!({}));
        Ok(list["items"].as_array().unwrap().iter().find(|item| item["pid"] == icon.process.id()).cloned())
    });
    let shown = shown.unwrap_or_else(|_| panic!("{}", client.call("list_status_bar_items", json!({}))));
    assert!(0 < shown["position"]["width"].as_i64().unwrap(), "{shown}");
    client.call("click_status_bar_item", json!({ "item": shown["id"] }));
    icon.wait_for(&json!({ "event": "activated" }));
    client.call("click_status_bar_item", json!({ "item": icon.process.id(), "button": "right" }));
    icon.wait_for(&json!({ "event": "menu", "button": 3 }));
    client.refused(
        "unsupported",
        "click_status_bar_menu_item",
        json!({ "item": shown["id"], "path": "Alpha" }),
    );
}

#[test]
fn programs_that_people_use() {
    let Some((desktop, mut client)) = desktop(&["pasystray", "copyq", "nm-applet"]) else { return };
    let mut network = desktop.command("nm-applet");
    network.arg("--indicator");
    let _network = Program::start(network);
    let _mixer = Program::start(desktop.command("pasystray"));
    let home = std::env::temp_dir().join(format!("deskhand-copyq-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let mut clips = desktop.command("copyq");
    clips.env("HOME", &home).env("COPYQ_SETTINGS_PATH", &home);
    let _clips = Program::start(clips);
    for name in ["nm-applet", "pasystray", "copyq"] {
        let call = Call::with_timeout(Duration::from_secs(30));
        let there = call.until("waiting for a program", || {
            let list = client.call("list_status_bar_items", json!({}));
            let text = list.to_string().to_lowercase();
            Ok((text.contains(name)).then_some(list))
        });
        let list =
            there.unwrap_or_else(|_| panic!("{name}: {}", client.call("list_status_bar_items", json!({}))));
        eprintln!("{list:#}");
    }
    let started = std::time::Instant::now();
    client.call("list_status_bar_items", json!({}));
    eprintln!("listed in {:?}", started.elapsed());
    let menu = client.confirmed("click_status_bar_item", json!({ "item": "pasystray" }))["menu"].clone();
    eprintln!("{menu}");
    let clicked = client.confirmed(
        "click_status_bar_menu_item",
        json!({ "item": "copyq", "path": "Show/Hide", "settle_ms": 8000 }),
    );
    assert!(clicked["evidence"].as_str().unwrap().contains("window opened"), "{clicked}");
    drop(_clips);
    std::fs::remove_dir_all(&home).ok();
}
