//! The clipboard through MCP and on the command line: applications copy and paste, and what they got is
//! asserted. The providers by themselves are tested beside them.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::{Value, json};
use stage::PrivateDesktop;
use stage::client::Client;
use stage::scene::Scene;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A desktop and a client of it; nothing where a program is missing and not required.
fn desktop(programs: &[&str]) -> Option<(Client, PrivateDesktop)> {
    for needed in [&["Xvfb"], programs].concat() {
        if !std::path::Path::new("/usr/bin").join(needed).exists() {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{needed} is missing");
            eprintln!("SKIPPED: {needed} is missing; REQUIRE_DESKTOP=x11 makes this fail.");
            return None;
        }
    }
    let desktop = PrivateDesktop::start(&[]);
    Some((Client::start(&desktop), desktop))
}

/// Ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn wait<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let call = Call::with_timeout(Duration::from_secs(30));
    call.until(what, || Ok(probe())).unwrap_or_else(|error| panic!("{what}: {error}"))
}

fn start(desktop: &PrivateDesktop, line: &[&str]) -> Program {
    let mut command = desktop.command(line[0]);
    command.args(&line[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Program(command.spawn().unwrap())
}

/// What a program of the desktop prints.
fn output(desktop: &PrivateDesktop, line: &[&str]) -> String {
    let output = desktop.command(line[0]).args(&line[1..]).stdin(Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn pasted(desktop: &PrivateDesktop, target: &str) -> String {
    output(desktop, &["xclip", "-o", "-selection", "clipboard", "-t", target])
}

/// xclip offers this for as long as it lives.
fn xclip(desktop: &PrivateDesktop, client: &mut Client, target: &str, text: &str) -> Program {
    let mut command = desktop.command("xclip");
    command.args(["-quiet", "-i", "-selection", "clipboard", "-t", target]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let owner = format!("xclip ({})", child.id());
    wait("xclip to own the clipboard", || {
        (client.call("get_clipboard", json!({}))["owner"] == *owner).then_some(())
    });
    Program(child)
}

/// The processes of this program that keep what was copied on this desktop.
fn keepers(desktop: &PrivateDesktop) -> Vec<PathBuf> {
    let display = desktop.environment.iter().find(|(name, _)| name == "DISPLAY").unwrap().1.clone();
    let keeps = |folder: &PathBuf| {
        let line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&&b"keep-clipboard-contents"[..]) && words.get(2) == Some(&display.as_bytes())
    };
    std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(keeps).collect()
}

const TEXT: &str = "Grüße, Жук, 世界 🎉\n\tsecond line";

/// What an element holds. It is named by its ref: the window that it is in gets another title meanwhile.
fn value(client: &mut Client, element: &Value) -> String {
    let answer = client.call("get_ui_element_value", json!({ "element": element }));
    answer["value"].as_str().unwrap_or_default().to_owned()
}

/// The element, as soon as it is there: an application has a window before it has a tree.
fn appears(client: &mut Client, window: &Value, selector: &str) -> Value {
    wait("its element", || {
        let (_, found) = client.try_call("find_elements", json!({ "selector": selector, "window": window }));
        found["elements"][0]["ref"].is_string().then(|| found["elements"][0]["ref"].clone())
    })
}

/// Starts an editor; pastes into it in every way, and copies from it.
fn edit(program: &str) {
    let Some((mut client, desktop)) = desktop(&[program, "xclip"]) else { return };
    let launch = json!({ "application": program, "wait_ms": 60_000, "timeout_ms": 90_000 });
    let window = client.call("launch_app", launch)["window"]["id"].clone();
    let area = appears(&mut client, &window, "text_area");
    client.confirmed("focus_window", json!({ "window": window }));

    // What was put there is pasted by the application itself.
    client.confirmed("set_clipboard", json!({ "text": TEXT }));
    client.call("press_key", json!({ "key": "ctrl+v", "element": area }));
    wait("the text in the editor", || (value(&mut client, &area) == TEXT).then_some(()));
    assert_eq!(pasted(&desktop, "UTF8_STRING"), TEXT);

    // What it copies is read, and its name is told.
    client.call("press_key", json!({ "key": "ctrl+a", "window": window }));
    client.call("press_key", json!({ "key": "ctrl+c", "window": window }));
    let copied = wait("the application to own the clipboard", || {
        let now = client.call("get_clipboard", json!({}));
        now["owner"].as_str()?.starts_with(&program[..8]).then_some(now)
    });
    assert_eq!(copied["text"], TEXT);

    // Pasting by type_text: the clipboard of the application itself comes back with all its forms.
    let typed =
        client.confirmed("type_text", json!({ "element": area, "text": "pasted\nover", "method": "paste" }));
    assert_eq!(typed["via"], "paste", "{typed}");
    let formats = typed["clipboard"].as_str().unwrap().to_owned();
    assert!(formats.starts_with("restored in "), "{typed}");
    let whole = value(&mut client, &area);
    assert!(whole == "pasted\nover" || whole == format!("{TEXT}pasted\nover"), "{whole:?}");
    assert_eq!(pasted(&desktop, "UTF8_STRING"), TEXT);
    let now = client.call("get_clipboard", json!({}));
    assert_eq!((&now["formats"], &now["owner"]), (&copied["formats"], &json!("Deskhand")), "{now}");
    let pid = client.call("get_window", json!({ "window": window }))["pid"].to_string();
    client.confirmed("quit_app", json!({ "application": pid, "force": true }));
}

#[test]
fn mousepad() {
    edit("mousepad");
}

#[test]
fn gnome_text_editor() {
    edit("gnome-text-editor");
}

/// Each toolkit pastes into its field, by the stage's own word, and the clipboard is as it was.
fn toolkit(name: &str) {
    let Some(mut scene) = Scene::open(name) else { return };
    let html = "<b>kept</b>";
    let _owner = xclip(&scene.desktop, &mut scene.client, "text/html", html);
    let field = json!("text_field[name=\"Name\"]");
    for (round, text) in ["Grüße, 世界 🎉", "again, and more of it"].into_iter().enumerate() {
        let mark = scene.stage.mark();
        let typed = scene.client.confirmed(
            "type_text",
            json!({ "element": field, "window": scene.window, "text": text, "method": "paste" }),
        );
        assert_eq!(typed["clipboard"], "restored in 1 formats", "{name} {round}: {typed}");
        scene.stage.wait_since(mark, "pasted text", |event| {
            event["widget"] == "entry" && event["text"].as_str().is_some_and(|now| now.contains(text))
        });
        assert_eq!(pasted(&scene.desktop, "text/html"), html);
        assert_eq!(pasted(&scene.desktop, "UTF8_STRING"), "");
    }
    if name == "gtk4" {
        // It gives the keyboard to text fields only.
        return;
    }
    // A button takes no text: this is seen, and the clipboard comes back all the same.
    let nothing = scene.client.call(
        "type_text",
        json!({ "element": "button[name=\"OK\"]", "window": scene.window, "text": "x", "method": "paste" }),
    );
    assert_eq!(nothing["effect"], "no_change_seen", "{nothing}");
    assert_eq!(pasted(&scene.desktop, "text/html"), html);
}

#[test]
fn gtk3_pastes() {
    toolkit("gtk3");
}

#[test]
fn gtk4_pastes() {
    toolkit("gtk4");
}

#[test]
fn qt5_pastes() {
    toolkit("qt5");
}

#[test]
fn chromium_pastes() {
    toolkit("chromium");
}

/// An application that hangs has to be given the time of the call and no more, and what was there comes back.
#[test]
fn a_paste_into_an_application_that_hangs_gives_the_clipboard_back() {
    let Some(mut scene) = Scene::open("gtk3") else { return };
    let _owner = xclip(&scene.desktop, &mut scene.client, "UTF8_STRING", "kept");
    let field = json!("text_field[name=\"Name\"]");
    let focus = json!({ "element": field, "window": scene.window });
    scene.client.call("focus_ui_element", focus);
    let pid = scene.stage.pid();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let begun = Instant::now();
    let (fine, answer) =
        scene.client.try_call("type_text", json!({ "text": "never", "method": "paste", "timeout_ms": 3000 }));
    assert!(begun.elapsed() < Duration::from_millis(4500), "{:?}: {answer}", begun.elapsed());
    assert!(!fine || answer["effect"] != "confirmed", "{answer}");
    assert_eq!(pasted(&scene.desktop, "UTF8_STRING"), "kept");
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
}

/// Called off half-way, it gives back as well.
#[test]
fn a_paste_that_is_called_off_gives_the_clipboard_back() {
    let Some(mut scene) = Scene::open("qt5") else { return };
    let _owner = xclip(&scene.desktop, &mut scene.client, "UTF8_STRING", "kept");
    let focus = json!({ "element": "text_field[name=\"Name\"]", "window": scene.window });
    scene.client.call("focus_ui_element", focus);
    // Nobody fetches it, so the call waits.
    let arguments =
        json!({ "text": "never", "method": "paste", "paste_keys": "ctrl+alt+f11", "timeout_ms": 20_000 });
    let mut other = Client::start(&scene.desktop);
    scene.client.send(&json!({
        "jsonrpc": "2.0", "id": 9001, "method": "tools/call", "params": { "name": "type_text", "arguments": arguments },
    }));
    wait("the clipboard to be lent", || {
        (other.call("get_clipboard", json!({}))["secret"] == true).then_some(())
    });
    scene.client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9001 },
    }));
    wait("the clipboard to be given back", || {
        (other.call("get_clipboard", json!({}))["text"] == "kept").then_some(())
    });
}

/// Opens an application that takes HTML, pastes some, and returns what it copies of it again.
fn html_there_and_back(program: &str, arguments: Value, text: &str) -> Option<String> {
    let (mut client, _desktop) = desktop(&[program])?;
    let launch = json!({
        "application": program, "arguments": arguments, "wait_ms": 60_000, "timeout_ms": 90_000,
    });
    let window = client.call("launch_app", launch)["window"]["id"].clone();
    let place = appears(&mut client, &window, text);
    client.confirmed("focus_window", json!({ "window": window }));
    client.call("click_ui_element", json!({ "element": place }));
    let html = "<b>fett</b> und <i>schräg 世界</i>";
    client.confirmed("set_clipboard", json!({ "html": html, "text": "fett und schräg 世界" }));
    client.call("press_key", json!({ "key": "ctrl+v", "window": window }));
    let shown = json!({ "text": "schräg 世界", "window": window, "timeout_ms": 20_000 });
    client.call("wait_for", shown);
    client.call("press_key", json!({ "key": "ctrl+a", "window": window }));
    client.call("press_key", json!({ "key": "ctrl+c", "window": window }));
    let copied = wait("the application to own the clipboard", || {
        let now = client.call("get_clipboard", json!({ "type": "html" }));
        (now["owner"] != "Deskhand" && now["html"].is_string()).then_some(now)
    });
    let plain = client.call("get_clipboard", json!({ "type": "text" }));
    assert_eq!(plain["text"].as_str().unwrap().trim_end(), "fett und schräg 世界", "{plain}");
    let pid = client.call("get_window", json!({ "window": window }))["pid"].to_string();
    client.confirmed("quit_app", json!({ "application": pid, "force": true }));
    Some(copied["html"].as_str().unwrap().to_owned())
}

#[test]
fn chromium_takes_and_gives_html() {
    let profile = std::env::temp_dir().join(format!("deskhand-clipboard-chromium-{}", std::process::id()));
    let page =
        "data:text/html,<title>Rich</title><div contenteditable role=textbox aria-label=Rich>%0A</div>";
    let user = format!("--user-data-dir={}", profile.display());
    let arguments = json!([
        format!("--app={page}"),
        user,
        "--no-first-run",
        "--no-default-browser-check",
        "--password-store=basic",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--force-renderer-accessibility",
        "--no-sandbox",
        "--test-type",
    ]);
    let html = html_there_and_back("chromium", arguments, "[name=\"Rich\"]:editable");
    std::fs::remove_dir_all(&profile).ok();
    let Some(html) = html else { return };
    assert!(html.contains("<b") && html.contains("<i") && html.contains("schräg 世界"), "{html}");
}

#[test]
fn libreoffice_takes_and_gives_html() {
    let profile = std::env::temp_dir().join(format!("deskhand-clipboard-office-{}", std::process::id()));
    let installation = format!("-env:UserInstallation=file://{}", profile.display());
    let arguments = json!([installation, "--writer", "--norestore", "--nologo", "--nofirststartwizard"]);
    let html = html_there_and_back("libreoffice", arguments, "document paragraph");
    std::fs::remove_dir_all(&profile).ok();
    let Some(html) = html else { return };
    assert!(html.contains("<b>fett</b>") && html.contains("<i>"), "{html}");
}

/// The command ends, and what it copied does not; it is gone from memory when somebody copies anew.
#[test]
fn what_a_command_copies_outlives_it_and_not_the_next_copy() {
    let Some((mut client, desktop)) = desktop(&["xclip"]) else { return };
    let deskhand = env!("CARGO_BIN_EXE_deskhand");
    // As in $(…): the reader of its output waits until nobody holds the other end any more.
    let begun = Instant::now();
    let said = output(&desktop, &[deskhand, "call", "set_clipboard", "text=Grüße, 世界"]);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(said.contains("effect: confirmed"), "{said}");
    assert_eq!(keepers(&desktop).len(), 1);
    for _ in 0..3 {
        assert_eq!(pasted(&desktop, "UTF8_STRING"), "Grüße, 世界");
    }
    assert_eq!(client.call("get_clipboard", json!({}))["text"], "Grüße, 世界");
    // Large and with several forms, and the other selection beside it.
    let long = "0123456789".repeat(300_000);
    let file = std::env::temp_dir().join(format!("deskhand-long-{}.json", std::process::id()));
    std::fs::write(&file, json!({ "text": long, "html": "<b>x</b>" }).to_string()).unwrap();
    output(&desktop, &[deskhand, "call", "set_clipboard", "--json", &format!("@{}", file.display())]);
    std::fs::remove_file(&file).unwrap();
    wait("the first keeper to end", || (keepers(&desktop).len() == 1).then_some(()));
    output(&desktop, &[deskhand, "call", "set_clipboard", "text=marked", "selection=primary"]);
    assert_eq!(keepers(&desktop).len(), 2);
    assert!(pasted(&desktop, "UTF8_STRING") == long);
    assert!(pasted(&desktop, "text/html").contains("<b>x</b>"));
    assert_eq!(output(&desktop, &["xclip", "-o", "-selection", "primary"]), "marked");
    // Somebody else copies.
    let _owner = xclip(&desktop, &mut client, "UTF8_STRING", "theirs");
    wait("the keeper to end", || (keepers(&desktop).len() == 1).then_some(()));
    client.confirmed("clear_clipboard", json!({ "selection": "primary" }));
    wait("the other keeper to end", || keepers(&desktop).is_empty().then_some(()));
    // A keeper does not outlive its display.
    output(&desktop, &[deskhand, "call", "set_clipboard", "text=last"]);
    let keeper = keepers(&desktop).pop().unwrap();
    drop(client);
    drop(desktop);
    wait("the keeper to end with the display", || (!keeper.exists()).then_some(()));
}

/// The server owns what it was told to copy, and hands it over when it ends.
#[test]
fn what_a_server_copies_outlives_it() {
    let Some((mut client, desktop)) = desktop(&["xclip"]) else { return };
    client.confirmed("set_clipboard", json!({ "text": "from the server" }));
    assert_eq!(keepers(&desktop).len(), 0);
    drop(client);
    assert_eq!(keepers(&desktop).len(), 1);
    assert_eq!(pasted(&desktop, "UTF8_STRING"), "from the server");
    // Nothing is handed over of what is somebody else's by now.
    let mut client = Client::start(&desktop);
    client.confirmed("set_clipboard", json!({ "text": "again" }));
    let _owner = xclip(&desktop, &mut client, "UTF8_STRING", "theirs");
    drop(client);
    assert_eq!(keepers(&desktop).len(), 0);
    assert_eq!(pasted(&desktop, "UTF8_STRING"), "theirs");
}

/// What a server copies outlives it beside a clipboard manager, also beside one that hangs.
#[test]
fn a_clipboard_manager_is_no_obstacle() {
    let Some((mut client, desktop)) = desktop(&["xclip", "xfce4-clipman"]) else { return };
    let manager = start(&desktop, &["xfce4-clipman"]);
    let owned = || output(&desktop, &["/usr/bin/python3", "-c", MANAGER]).trim() == "True";
    wait("the manager to offer its service", || owned().then_some(()));
    client.confirmed("set_clipboard", json!({ "text": "handed over", "html": "<b>handed over</b>" }));
    drop(client);
    wait("it to be on offer", || (pasted(&desktop, "UTF8_STRING") == "handed over").then_some(()));
    // One that hangs costs a moment.
    let mut client = Client::start(&desktop);
    client.confirmed("set_clipboard", json!({ "text": "kept by us" }));
    let pid = rustix::process::Pid::from_raw(manager.0.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let begun = Instant::now();
    drop(client);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(pasted(&desktop, "UTF8_STRING"), "kept by us");
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
}

/// Whether anybody offers to keep what applications copied that end.
const MANAGER: &str = "
import gi
gi.require_version('Gdk', '3.0')
from gi.repository import Gdk
print(Gdk.Display.get_default().supports_clipboard_persistence())
";

/// Managers that copy everything at once are nobody who pastes, and what is pasted for a moment is none of
/// their business where they know the mark.
#[test]
fn a_clipboard_manager_that_looks_at_everything_does_not_disturb_a_paste() {
    for manager in ["parcellite", "copyq"] {
        let Some(mut scene) = Scene::open("gtk3") else { return };
        if !std::path::Path::new("/usr/bin").join(manager).exists() {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{manager} is missing");
            continue;
        }
        // Its settings and what it remembers are nobody else's.
        let home = std::env::temp_dir().join(format!("deskhand-{manager}-{}", std::process::id()));
        let at = |name: &str| format!("{name}={}", home.display());
        let environment =
            ["env".to_owned(), at("XDG_CONFIG_HOME"), at("XDG_DATA_HOME"), at("XDG_CACHE_HOME")];
        let line = |words: &[&'static str]| -> Vec<String> {
            environment.iter().cloned().chain(words.iter().map(|word| (*word).to_owned())).collect()
        };
        let words = line(&[manager]);
        let _manager = start(&scene.desktop, &words.iter().map(String::as_str).collect::<Vec<_>>());
        if manager == "copyq" {
            let words = line(&["copyq", "read", "0"]);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut number = 0;
            // It begins to look some time after it has started.
            wait("the manager to remember something", || {
                number += 1;
                let text = format!("number {number}");
                scene.client.confirmed("set_clipboard", json!({ "text": text }));
                let _ =
                    Call::with_timeout(Duration::from_secs(1)).pause(Duration::from_millis(100), "looking");
                (output(&scene.desktop, &words) == text).then_some(())
            });
        }
        scene.client.confirmed("set_clipboard", json!({ "text": "kept" }));
        let mark = scene.stage.mark();
        let field = json!("text_field[name=\"Name\"]");
        for round in 1..=3 {
            let text = format!("pasted {round};");
            let typed = scene.client.call(
                "type_text",
                json!({ "element": field, "window": scene.window, "text": text, "method": "paste" }),
            );
            assert_eq!(typed["effect"], "confirmed", "{manager}: {typed}");
            scene.stage.wait_since(mark, "pasted text", |event| {
                event["text"].as_str().is_some_and(|now| now.contains(&text))
            });
        }
        wait("the clipboard to hold what it held", || {
            (pasted(&scene.desktop, "UTF8_STRING") == "kept").then_some(())
        });
        std::fs::remove_dir_all(&home).ok();
    }
}

#[test]
fn files_pictures_and_history() {
    let Some((mut client, desktop)) = desktop(&["xclip"]) else { return };
    let folder = std::env::temp_dir().join(format!("deskhand clipboard {}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let picture = folder.join("shot 100%.png");
    client
        .call("take_screenshot", json!({ "file_path": picture, "width": 64, "height": 48, "x": 0, "y": 0 }));
    client.call("get_clipboard_history", json!({ "watch": true }));
    let put = client.confirmed("set_clipboard", json!({ "image_path": picture }));
    assert_eq!(put["types"], json!(["image"]));
    let saved = folder.join("saved.png");
    let with_xclip = format!("xclip -o -selection clipboard -t image/png > '{}'", saved.display());
    output(&desktop, &["sh", "-c", &with_xclip]);
    assert_eq!(std::fs::read(&saved).unwrap(), std::fs::read(&picture).unwrap());
    let seen = client.call("get_clipboard", json!({}));
    assert_eq!((&seen["width"], &seen["height"]), (&json!(64), &json!(48)), "{seen}");
    let shown =
        client.request("tools/call", json!({ "name": "get_clipboard", "arguments": { "type": "image" } }));
    assert_eq!(shown["content"][0]["mimeType"], "image/png", "{shown}");
    client.call("get_clipboard", json!({ "file_path": saved, "overwrite": true }));
    assert_eq!(std::fs::read(&saved).unwrap(), std::fs::read(&picture).unwrap());

    client.confirmed("set_clipboard", json!({ "files": [picture, folder] }));
    let list = pasted(&desktop, "text/uri-list");
    assert!(list.contains("/shot%20100%25.png\r\n"), "{list:?}");
    assert_eq!(client.call("get_clipboard", json!({}))["files"], json!([picture, folder]));
    let _owner = xclip(&desktop, &mut client, "UTF8_STRING", "theirs");
    let history = wait("the history", || {
        let history = client.call("get_clipboard_history", json!({}));
        (history["total"] == 3).then_some(history)
    });
    assert_eq!(history["entries"][0]["text"], "theirs");
    assert_eq!(history["entries"][1]["files"], json!([picture, folder]));
    assert_eq!(history["entries"][2]["types"], json!(["image"]));
    // Nothing of it outlives the watch.
    assert_eq!(client.call("get_clipboard_history", json!({ "watch": false }))["total"], 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn waiting_for_what_others_copy() {
    let Some((mut client, desktop)) = desktop(&["xclip"]) else { return };
    let copy = |text: &str| {
        let mut command = desktop.command("sh");
        command.args(["-c", "printf %s \"$0\" | xclip -i -selection clipboard", text]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    // Copies again and again, so that one of them comes after the waiting has begun.
    let done = std::sync::atomic::AtomicBool::new(false);
    let (ordinary, other) = (copy("Grüße 1"), copy("Grüße 2"));
    std::thread::scope(|scope| {
        let done = &done;
        scope.spawn(move || {
            let mut commands = [ordinary, other];
            let call = Call::with_timeout(Duration::from_secs(30));
            for round in 0.. {
                if done.load(std::sync::atomic::Ordering::SeqCst) || 200 < round {
                    return;
                }
                commands[round % 2].status().unwrap();
                call.pause(Duration::from_millis(100), "copying").unwrap();
            }
        });
        let new = client.try_call("wait_for", json!({ "clipboard": "", "timeout_ms": 20_000 }));
        let second = client.try_call("wait_for", json!({ "clipboard": "GRÜßE 2", "timeout_ms": 20_000 }));
        done.store(true, std::sync::atomic::Ordering::SeqCst);
        let begins = |answer: &Value| answer.as_str().is_some_and(|text| text.starts_with("Grüße"));
        assert!(new.0 && begins(&new.1["clipboard"]["text"]), "{new:?}");
        assert!(second.0 && second.1["clipboard"]["text"] == "Grüße 2", "{second:?}");
    });
    // What a password manager marks is seen to come, and no more.
    let secret = xclip(&desktop, &mut client, "x-kde-passwordManagerHint", "secret");
    let late = client.refused("timeout", "wait_for", json!({ "clipboard": "secret", "timeout_ms": 200 }));
    assert!(late.to_string().contains("marked as secret"), "{late}");
    drop(secret);
    client.call("wait_for", json!({ "clipboard": "", "gone": true, "timeout_ms": 5000 }));
}

#[test]
fn a_picture_that_is_no_png_is_named_for_what_it_is() {
    let Some((mut client, desktop)) = desktop(&["xclip"]) else { return };
    let _owner = xclip(&desktop, &mut client, "image/bmp", "BM");
    for arguments in [json!({}), json!({ "type": "image" })] {
        let answer = client.call("get_clipboard", arguments);
        assert!(answer["note"].as_str().unwrap().contains("as image/bmp and not as PNG"), "{answer}");
    }
    let answer = client.call("get_clipboard", json!({ "type": "text" }));
    assert_eq!(answer["note"], "Nothing of the type text is offered.");
}
