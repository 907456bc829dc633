//! Applications that people use, from launching to quitting, through MCP.

#![cfg(target_os = "linux")]

mod stage;

use serde_json::{Value, json};
use stage::PrivateDesktop;
use stage::client::Client;

/// A desktop with this application on it; nothing where either is missing.
fn launch(program: &str, arguments: Value) -> Option<(Client, PrivateDesktop, Value)> {
    for needed in ["Xvfb", program] {
        if !std::path::Path::new("/usr/bin").join(needed).exists() {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{needed} is missing");
            eprintln!("SKIPPED: {needed} is missing; REQUIRE_DESKTOP=x11 makes this fail.");
            return None;
        }
    }
    let desktop = PrivateDesktop::start(&[]);
    let mut client = Client::start(&desktop);
    let launched = client.call(
        "launch_app",
        json!({ "application": program, "arguments": arguments, "wait_ms": 60_000, "timeout_ms": 90_000 }),
    );
    let window = launched["window"]["id"].clone();
    assert!(window.is_u64(), "{program} has no window: {launched}");
    let running = client.call("list_running_apps", json!({})).to_string();
    assert!(running.contains(&launched["pid"].to_string()), "{launched} is not in {running}");
    Some((client, desktop, window))
}

/// Letters, accents, another alphabet, Han.
const TEXT: &str = "Deskhand: naïve, Жук, 世界!";

/// The text of the one element that a selector finds in a window.
fn value(client: &mut Client, window: &Value, selector: &str) -> String {
    let answer = client.call("get_ui_element_value", json!({ "element": selector, "window": window }));
    answer["value"].as_str().unwrap_or_default().to_owned()
}

/// Types into an editor, chooses all and replaces it; closes, and the question about unsaved work is seen.
fn edit(program: &str, selector: &str) {
    let Some((mut client, _desktop, window)) = launch(program, json!([])) else { return };
    let there = json!({ "selector": selector, "window": window, "timeout_ms": 20_000 });
    let text = client.call("wait_for", there)["element"]["ref"].clone();
    client.confirmed("type_text", json!({ "element": text, "text": TEXT }));
    assert_eq!(value(&mut client, &window, selector), TEXT);
    client.call("press_key", json!({ "key": "ctrl+a", "window": window }));
    client.confirmed("type_text", json!({ "element": text, "text": "one\ntwo" }));
    assert_eq!(value(&mut client, &window, selector), "one\ntwo");
    let closed = client.call("close_window", json!({ "window": window }));
    assert_ne!(closed["effect"], "confirmed", "unsaved work was thrown away: {closed}");
    let windows = client.call("list_windows", json!({})).to_string();
    assert!(windows.contains(&window.to_string()), "{windows}");
    let application = client.call("get_window", json!({ "window": window }))["pid"].to_string();
    client.confirmed("quit_app", json!({ "application": application, "force": true }));
    client.refused("application_not_found", "activate_app", json!({ "application": application }));
}

#[test]
fn mousepad() {
    edit("mousepad", "text_area");
}

#[test]
fn gnome_text_editor() {
    edit("gnome-text-editor", "text_area");
}

#[test]
fn kcalc_adds() {
    let Some((mut client, _desktop, window)) = launch("kcalc", json!([])) else { return };
    for key in ["5", "+", "3", "="] {
        let button = json!({ "element": format!("button[name=\"{key}\"]"), "window": window });
        client.call("click_ui_element", button);
    }
    let shows = json!({ "selector": "panel[name=\"8\"]", "window": window, "timeout_ms": 10_000 });
    client.call("wait_for", shows);
    client.confirmed("close_window", json!({ "window": window }));
}

#[test]
fn libreoffice_writer() {
    let profile = std::env::temp_dir().join(format!("deskhand-office-{}", std::process::id()));
    let arguments = json!([
        format!("-env:UserInstallation=file://{}", profile.display()),
        "--writer",
        "--norestore",
        "--nologo",
        "--nofirststartwizard",
    ]);
    let Some((mut client, _desktop, window)) = launch("libreoffice", arguments) else { return };
    let there = json!({ "selector": "document paragraph", "window": window, "timeout_ms": 60_000 });
    let paragraph = client.call("wait_for", there)["element"]["ref"].clone();

    // Its tree is large: a reading is cut where it was asked to be, and goes on.
    let cut = client.call("get_ui_elements", json!({ "window": window, "max_bytes": 2000 }));
    let cut = cut.as_str().unwrap();
    assert!(cut.len() < 2500, "{} bytes: {cut}", cut.len());
    let token = cut.split_once("page_token=").map(|(_, rest)| rest.split(' ').next().unwrap());
    let further = client.call("get_ui_elements", json!({ "page_token": token, "max_bytes": 2000 }));
    assert!(further.as_str().unwrap().starts_with("snapshot "), "{further}");

    let typed = client.confirmed("type_text", json!({ "element": paragraph, "text": TEXT }));
    assert_eq!(value(&mut client, &window, "document paragraph"), TEXT, "{typed}");
    client.call("press_key", json!({ "key": "ctrl+a", "window": window }));
    let bold = json!({ "element": "[name=\"Bold\"]", "window": window });
    client.call("click_ui_element", bold.clone());
    let is_bold = json!({ "selector": "[name=\"Bold\"]:checked", "window": window, "timeout_ms": 10_000 });
    client.call("wait_for", is_bold);
    let picture = client.call("take_screenshot", json!({ "window": window }));
    assert!(picture.as_str().unwrap().contains("image="), "{picture}");

    let closed = client.call("close_window", json!({ "window": window, "timeout_ms": 20_000 }));
    assert_ne!(closed["effect"], "confirmed", "unsaved work was thrown away: {closed}");
    let pid = client.call("get_window", json!({ "window": window }))["pid"].to_string();
    client.confirmed("quit_app", json!({ "application": pid, "force": true }));
    std::fs::remove_dir_all(&profile).ok();
}
