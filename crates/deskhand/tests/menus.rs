//! Menus of real applications through MCP: exported ones, closed menu bars, and menus behind buttons.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::{Value, json};
use stage::PrivateDesktop;
use stage::client::Client;
use stage::menu_item as item;
use stage::session::have;
use std::io::{BufRead, BufReader};
use std::time::Duration;

/// A desktop with this application on it; nothing where either is missing.
fn launch(program: &str, arguments: Value) -> Option<(Client, PrivateDesktop, Value)> {
    if !have(&["Xvfb", program]) {
        return None;
    }
    let desktop = PrivateDesktop::start(&[]);
    let mut client = Client::start(&desktop);
    let launched = client.call(
        "launch_app",
        json!({ "application": program, "arguments": arguments, "wait_ms": 60_000, "timeout_ms": 90_000 }),
    );
    let window = launched["window"]["id"].clone();
    assert!(window.is_u64(), "{program} has no window: {launched}");
    Some((client, desktop, window))
}

/// Waits until an element is there. An application that is just starting may not answer at first.
#[track_caller]
fn wait_for(client: &mut Client, window: &Value, selector: &str) {
    let there = json!({ "selector": selector, "window": window, "timeout_ms": 60_000 });
    let call = Call::with_timeout(Duration::from_secs(60));
    let came = call
        .until("waiting for an element", || Ok(client.try_call("wait_for", there.clone()).0.then_some(())));
    assert!(came.is_ok(), "{selector} never came");
}

#[track_caller]
fn state(client: &mut Client, window: &Value, path: &str) -> Value {
    client.call("get_menu_item_state", json!({ "window": window, "path": path, "timeout_ms": 20_000 }))
}

#[test]
fn mousepad_exports_its_menus() {
    let Some((mut client, desktop, window)) = launch("mousepad", json!([])) else { return };
    wait_for(&mut client, &window, "text_area");
    let menus = client.call("list_menu_items", json!({ "application": "mousepad" }));
    assert_eq!((&menus["via"], &menus["truncated"]), (&json!("exported"), &json!(false)), "{menus}");
    let save = item(&menus, &["File", "Save As..."]);
    assert_eq!(*save, json!({ "name": "Save As...", "shortcut": "Ctrl+Shift+S", "enabled": true }));
    assert_eq!(item(&menus, &["File", "Reload"])["enabled"], false);
    assert_eq!(item(&menus, &["View", "Line Numbers"])["checked"], false);
    assert_eq!(item(&menus, &["Edit", "Convert", "Transpose"])["shortcut"], "Ctrl+T");
    assert_eq!(item(&menus, &["Document", "Filetype"])["submenu"], true);

    // A check mark is read back, whatever the spelling.
    let clicked =
        client.confirmed("click_menu_item", json!({ "window": window, "path": "_view > line numbers…" }));
    assert_eq!(
        (&clicked["via"], &clicked["evidence"]),
        (&json!("exported"), &json!("checked false → true")),
        "{clicked}"
    );
    assert_eq!(state(&mut client, &window, "View > Line Numbers")["checked"], true);
    // A choice among several has a target.
    client.confirmed("click_menu_item", json!({ "window": window, "path": "Document > Tab Size > 4" }));
    assert_eq!(state(&mut client, &window, "Document > Tab Size > 4")["checked"], true);
    assert_eq!(state(&mut client, &window, "Document > Tab Size > 8")["checked"], false);

    // A dialog is the consequence, and its window is seen from outside too.
    client.confirmed(
        "click_menu_item",
        json!({ "window": window, "path": "File > Save As...", "settle_ms": 5000 }),
    );
    let titles = desktop.command("wmctrl").arg("-l").output().unwrap();
    assert!(String::from_utf8_lossy(&titles.stdout).contains("Save As"), "{titles:?}");
    client.call("press_key", json!({ "key": "escape" }));

    // What cannot be clicked is refused, with what there is instead.
    let refused = client.refused(
        "menu_item_not_found",
        "click_menu_item",
        json!({ "window": window, "path": "File > Sive" }),
    );
    assert!(refused["detail"]["found"].as_array().unwrap().contains(&json!("Save")), "{refused}");
    client.refused(
        "element_not_actionable",
        "click_menu_item",
        json!({ "window": window, "path": "File > Reload" }),
    );
    client.refused(
        "element_not_actionable",
        "click_menu_item",
        json!({ "window": window, "path": "Edit > Convert" }),
    );
    client.refused(
        "menu_item_not_found",
        "get_menu_item_state",
        json!({ "window": window, "path": "Tools > X" }),
    );

    // A page is a part that says so, and the parts make up the whole.
    let (mut names, mut token) = (0, Value::Null);
    let total = loop {
        let mut arguments = json!({ "window": window, "page_size": 50 });
        if token.is_string() {
            arguments["page_token"] = token;
        }
        let page = client.call("list_menu_items", arguments);
        names += count(&page["menus"]);
        token = page["next_page_token"].clone();
        if token.is_null() {
            break page["total"].as_u64().unwrap();
        }
    };
    assert!(total <= names && names < total + 30, "{names} of {total}");
    let top = client.call("get_menu_bar_structure", json!({ "process": "mousepad", "max_depth": 1 }));
    assert_eq!(top["total"], 6, "{top}");
}

/// How many items there are; a page repeats those above its own.
fn count(items: &Value) -> u64 {
    let below = |item: &Value| 1 + count(&item["items"]);
    items.as_array().into_iter().flatten().map(below).sum()
}

#[test]
fn gtk3_demo_has_choices_and_check_marks() {
    let Some((mut client, _desktop, window)) = launch("gtk3-demo-application", json!([])) else { return };
    let menus = client.call("list_menu_items", json!({ "window": window }));
    assert_eq!(item(&menus, &["Preferences", "Color", "Red"])["checked"], true, "{menus:#}");
    assert_eq!(item(&menus, &["Preferences", "Color", "Blue"])["checked"], false);
    client.confirmed("click_menu_item", json!({ "window": window, "path": "Preferences > Color > Blue" }));
    assert_eq!(state(&mut client, &window, "Preferences > Color > Red")["checked"], false);
    client.confirmed("click_menu_item", json!({ "window": window, "path": "Preferences > Bold" }));
    assert_eq!(state(&mut client, &window, "preferences>bold")["checked"], true);
}

#[test]
fn kcalc_is_worked_with_its_menus_closed() {
    let Some((mut client, _desktop, window)) = launch("kcalc", json!([])) else { return };
    wait_for(&mut client, &window, "menu_bar");
    let menus = client.call("list_menu_items", json!({ "window": window }));
    assert_eq!(menus["via"], "elements", "{menus}");
    assert_eq!(item(&menus, &["Edit", "Undo"])["shortcut"], "Ctrl+Z");
    assert_eq!(item(&menus, &["Settings", "Simple Mode"])["checked"], true);
    assert_eq!(item(&menus, &["Settings", "Constants Buttons"])["enabled"], false);
    let before = client.call("get_window", json!({ "window": window }))["bounds"].clone();
    client.confirmed("click_menu_item", json!({ "window": window, "path": "Settings > Science Mode" }));
    assert_eq!(state(&mut client, &window, "Settings > Science Mode")["checked"], true);
    let after = client.call("get_window", json!({ "window": window }))["bounds"].clone();
    assert_ne!(before, after, "the science mode is wider");
}

#[test]
fn libreoffice_exports_hundreds_of_items() {
    let profile = std::env::temp_dir().join(format!("deskhand-office-menus-{}", std::process::id()));
    let arguments = json!([
        format!("-env:UserInstallation=file://{}", profile.display()),
        "--writer",
        "--norestore",
        "--nologo",
        "--nofirststartwizard",
    ]);
    let Some((mut client, _desktop, window)) = launch("libreoffice", arguments) else { return };
    wait_for(&mut client, &window, "document paragraph");
    let started = std::time::Instant::now();
    let menus = client.call("list_menu_items", json!({ "window": window, "page_size": 2000 }));
    eprintln!("{} items in {:?}", menus["total"], started.elapsed());
    assert!(400 < menus["total"].as_u64().unwrap(), "{}", menus["total"]);
    assert_eq!(item(&menus, &["File", "Save As..."])["shortcut"], "Ctrl+Shift+S");
    assert_eq!(item(&menus, &["File", "New", "Text Document"])["enabled"], true);
    assert_eq!(item(&menus, &["Edit", "Undo"])["enabled"], false);
    // Too many for one reply by default: it is cut, and says so.
    assert_eq!(client.call("list_menu_items", json!({ "window": window }))["truncated"], true);

    let ruler = state(&mut client, &window, "View > Rulers > Rulers");
    client.confirmed(
        "click_menu_item",
        json!({ "window": window, "path": "View > Rulers > Rulers", "settle_ms": 3000 }),
    );
    assert_ne!(state(&mut client, &window, "View > Rulers > Rulers")["checked"], ruler["checked"], "{ruler}");
    client.confirmed(
        "click_menu_item",
        json!({ "window": window, "path": "Tools > Word Count", "settle_ms": 8000 }),
    );
    let pid = client.call("get_window", json!({ "window": window }))["pid"].to_string();
    client.confirmed("quit_app", json!({ "application": pid, "force": true }));
    std::fs::remove_dir_all(&profile).ok();
}

#[test]
fn gtk4_menus_are_opened_and_closed() {
    let Some((mut client, _desktop, window)) = launch("gnome-text-editor", json!([])) else { return };
    wait_for(&mut client, &window, "button[name=\"Menu\"]:nth(1)");
    let closed = client.call("list_menu_items", json!({ "window": window, "open_menus": false }));
    assert_eq!(closed["via"], "buttons", "{closed}");
    let menus = client.call("list_menu_items", json!({ "window": window, "timeout_ms": 30_000 }));
    assert_eq!(menus["via"], "opened", "{menus}");
    assert!(menus["note"].as_str().unwrap().contains("Input was made"), "{menus}");
    eprintln!("{menus:#}");
    item(&menus, &["Menu", "Save As…"]);
    assert_eq!(item(&menus, &["View", "Line Numbers"])["checked"], false);
    let left = client.call("find_elements", json!({ "selector": "menu:visible", "window": window }));
    assert_eq!(left["elements"], json!([]), "a menu is open still");
    client.call(
        "click_menu_item",
        json!({ "window": window, "path": "View > Line Numbers", "timeout_ms": 30_000 }),
    );
    assert_eq!(state(&mut client, &window, "View > Line Numbers")["checked"], true);
    let refused = client.refused(
        "menu_item_not_found",
        "click_menu_item",
        json!({ "window": window, "path": "Menu > Nothing" }),
    );
    assert!(refused["detail"]["found"].to_string().contains("Save As"), "{refused}");
    client.confirmed(
        "click_menu_item",
        json!({ "window": window, "path": "Menu > New Window", "settle_ms": 5000 }),
    );
}

#[test]
fn chromiums_menu_button() {
    let profile = std::env::temp_dir().join(format!("deskhand-chromium-menus-{}", std::process::id()));
    let arguments = json!([
        "--no-sandbox",
        "--force-renderer-accessibility",
        "--no-first-run",
        format!("--user-data-dir={}", profile.display()),
        "about:blank",
    ]);
    let Some((mut client, _desktop, window)) = launch("chromium", arguments) else { return };
    wait_for(&mut client, &window, "button[name=\"Chromium\"]");
    let menus = client.call("list_menu_items", json!({ "window": window, "timeout_ms": 40_000 }));
    eprintln!("{menus:#}");
    assert_eq!(item(&menus, &["Chromium", "New tab"])["shortcut"], "Ctrl+T");
    item(&menus, &["Chromium", "More tools", "Developer tools"]);
    let left = client.call("find_elements", json!({ "selector": "menu_item:visible", "window": window }));
    assert_eq!(left["elements"], json!([]), "a menu is open still");
    client.confirmed(
        "click_menu_item",
        json!({ "window": window, "path": "Chromium > New window", "timeout_ms": 30_000, "settle_ms": 5000 }),
    );
    let tools = client.call(
        "get_menu_item_state",
        json!({ "window": window, "path": "Chromium > more tools > task manager", "timeout_ms": 30_000 }),
    );
    assert_eq!(tools["enabled"], true, "{tools}");
    let pid = client.call("get_window", json!({ "window": window }))["pid"].to_string();
    client.confirmed("quit_app", json!({ "application": pid, "force": true }));
    std::fs::remove_dir_all(&profile).ok();
}

#[test]
fn qt_exports_its_menus_where_a_registrar_asks_for_them() {
    for needed in ["Xvfb", "kcalc"] {
        if !std::path::Path::new("/usr/bin").join(needed).exists() {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{needed} is missing");
            eprintln!("SKIPPED: {needed} is missing; REQUIRE_DESKTOP=x11 makes this fail.");
            return;
        }
    }
    let desktop = PrivateDesktop::start(&[]);
    let program = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stage/menu_registrar.py");
    let mut registrar = desktop
        .command("/usr/bin/python3")
        .arg(program)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(registrar.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let mut client = Client::start(&desktop);
    let launch = json!({ "application": "kcalc", "wait_ms": 60_000, "timeout_ms": 90_000 });
    let window = client.call("launch_app", launch)["window"]["id"].clone();
    let call = Call::with_timeout(Duration::from_secs(30));
    let mut last = Value::Null;
    let menus = call.until("waiting for the export", || {
        last = client.try_call("list_menu_items", json!({ "window": window })).1;
        Ok((last["via"] == "exported").then(|| last.clone()))
    });
    let menus = menus.unwrap_or_else(|_| panic!("{last:#}"));
    assert_eq!(item(&menus, &["Edit", "Undo"])["shortcut"], "Ctrl+Z", "{menus:#}");
    assert_eq!(item(&menus, &["Settings", "Simple Mode"])["checked"], true);
    assert_eq!(item(&menus, &["Settings", "Constants Buttons"])["enabled"], false);
    client.confirmed("click_menu_item", json!({ "window": window, "path": "Settings > Science Mode" }));
    assert_eq!(state(&mut client, &window, "Settings > Science Mode")["checked"], true);
    // Without the registrar the window says nothing of exported menus: the elements are read.
    registrar.kill().unwrap();
    registrar.wait().unwrap();
    assert_eq!(client.call("list_menu_items", json!({ "window": window }))["via"], "elements");
}

#[test]
fn a_hung_application_costs_its_deadline_and_comes_back() {
    for (program, selector) in [("mousepad", "text_area"), ("kcalc", "menu_bar")] {
        let Some((mut client, _desktop, window)) = launch(program, json!([])) else { return };
        wait_for(&mut client, &window, selector);
        client.call("list_menu_items", json!({ "window": window }));
        let pid = client.call("get_window", json!({ "window": window }))["pid"].as_i64().unwrap();
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        let started = std::time::Instant::now();
        let error =
            client.refused("timeout", "list_menu_items", json!({ "window": window, "timeout_ms": 1200 }));
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}: {error}", started.elapsed());
        eprintln!("{error}");
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        client.call("list_menu_items", json!({ "window": window, "timeout_ms": 20_000 }));
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let call = Call::with_timeout(Duration::from_secs(10));
        let gone = call.until("waiting for the end", || {
            Ok((client.try_call("list_menu_items", json!({ "window": window })).1["code"]
                == "window_not_found")
                .then_some(()))
        });
        assert!(gone.is_ok());
    }
}
