//! File managers through MCP: showing files, and what is selected in them.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::json;
use stage::client::Client;
use stage::office::{Office, names};
use std::time::{Duration, Instant};

/// Shows a file of an odd name and another, and compares what is read of it.
fn reveal(office: &Office, client: &mut Client) {
    for name in ["50%25 #ü.txt", "third one.md", "a folder"] {
        let path = office.folder.join(name);
        let shown = client.confirmed("reveal_in_finder", json!({ "path": path, "timeout_ms": 40_000 }));
        assert_eq!(shown["path"], json!(path), "{shown}");
        let selected = client.call("get_selected_files", json!({}));
        assert_eq!(names(&selected), [name], "{selected}");
        assert_eq!(selected["files"][0]["path"], json!(path), "{selected}");
        let shows = client.call("get_finder_window_path", json!({}));
        assert_eq!(shows["path"], json!(office.folder), "{shows}");
    }
    let missing = office.folder.join("50%25 #u.txt");
    let refused = client.refused("path_not_found", "reveal_in_finder", json!({ "path": missing }));
    assert!(refused["detail"]["found"].to_string().contains("50%25 #ü.txt"), "{refused}");
}

#[test]
fn nautilus() {
    let Some(mut office) = Office::open("nautilus") else { return };
    office.serve("nautilus", &["--gapplication-service"]);
    let mut client = office.client(&[]);
    client.refused("window_not_found", "get_selected_files", json!({}));
    reveal(&office, &mut client);
    let window = client.call("get_finder_window_path", json!({}))["window"].clone();
    client.call("press_key", json!({ "key": "ctrl+a", "window": window }));
    let call = Call::with_timeout(Duration::from_secs(10));
    let all = call.until("selecting all", || {
        let selected = client.call("get_selected_files", json!({}));
        Ok((selected["count"] == 4).then_some(selected))
    });
    assert!(names(&all.unwrap()).contains(&"plain.txt"));
}

#[test]
fn thunar() {
    let Some(mut office) = Office::open("thunar") else { return };
    office.serve("thunar", &["--daemon"]);
    let mut client = office.client(&[]);
    reveal(&office, &mut client);
    // Its icon view does not tell which files of several are selected, and says so; its list view does.
    let window = client.call("get_finder_window_path", json!({}))["window"].clone();
    client.call("press_key", json!({ "key": "ctrl+a", "window": window }));
    let call = Call::with_timeout(Duration::from_secs(10));
    let told = call.until("selecting all", || {
        let selected = client.call("get_selected_files", json!({}));
        Ok((selected["count"] == 0).then_some(selected))
    });
    assert!(told.unwrap()["unknown"].as_str().unwrap().contains("list view"));
    client.call("press_key", json!({ "key": "ctrl+2", "window": window }));
    client.call("press_key", json!({ "key": "ctrl+a", "window": window }));
    let all = call.until("selecting all", || {
        let selected = client.call("get_selected_files", json!({}));
        Ok((selected["count"] == 4).then_some(selected))
    });
    assert!(names(&all.unwrap()).contains(&"plain.txt"));

    // One that hangs costs the deadline, and is there again when it goes on.
    let pid = rustix::process::Pid::from_child(office.service.as_ref().unwrap());
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let began = Instant::now();
    let path = office.folder.join("plain.txt");
    client.refused("timeout", "reveal_in_finder", json!({ "path": path, "timeout_ms": 1500 }));
    client.refused("timeout", "get_selected_files", json!({ "timeout_ms": 1500 }));
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    client.confirmed("reveal_in_finder", json!({ "path": path, "timeout_ms": 20_000 }));
}

#[test]
fn pcmanfm() {
    let Some(mut office) = Office::open("pcmanfm") else { return };
    // It does not answer for the service that the others have: it is started, and its item is selected.
    office.without_service();
    let mut client = office.client(&[]);
    reveal(&office, &mut client);
    let shown = client.call("get_finder_window_path", json!({}));
    let window = shown["window"].clone();
    let call = Call::with_timeout(Duration::from_secs(40));
    let wait = |client: &mut Client, wanted: usize| {
        call.until("selecting", || {
            let selected = client.call("get_selected_files", json!({}));
            Ok((selected["count"] == wanted).then_some(selected))
        })
    };
    client.call("press_key", json!({ "key": "ctrl+a", "window": window }));
    let all = wait(&mut client, 4).unwrap();
    assert!(names(&all).contains(&"50%25 #ü.txt"), "{all}");
    client.confirmed("quit_app", json!({ "application": "pcmanfm", "force": true }));
    // The window manager may take a moment to see that the window has gone with its process.
    let gone = call.until("the window going", || {
        let (_, answer) = client.try_call("get_finder_window_path", json!({}));
        Ok((answer["code"] == "window_not_found").then_some(()))
    });
    gone.unwrap();
}
