//! Reading text from pixels and marking elements in pictures, through MCP, on real windows.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::{Value, json};
use stage::PrivateDesktop;
use stage::client::Client;
use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Words that are on every desktop; the test of 304 words goes through them several times.
const WORDS: &str = "time person year way day thing man world life hand part child eye woman place work week case \
    point government company number group problem fact window button open close file edit view search tools help \
    save document settings volume network system printer account calendar message contact address project history \
    folder picture music video download language keyboard display battery bluetooth privacy notification default \
    application browser bookmark password username security update install remove configure advanced general \
    appearance behavior performance memory processor storage device connection wireless ethernet firewall service \
    process thread terminal command option argument variable function library package version release change branch \
    commit merge request review comment";

/// A full-screen window of words, and where it drew each of them.
struct Page {
    process: Child,
    folder: PathBuf,
    places: Vec<Value>,
}

impl Page {
    fn show(desktop: &PrivateDesktop, words: &[&str]) -> Page {
        let folder =
            std::env::temp_dir().join(format!("deskhand-words-{}-{}", std::process::id(), words.len()));
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("words"), words.join("\n")).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stage/words.py");
        let process = desktop
            .command("/usr/bin/python3")
            .arg(script)
            .args([folder.join("words"), folder.join("log")])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut page = Page { process, folder, places: Vec::new() };
        page.wait(|event| event["event"] == "ready");
        page.places = page.events().into_iter().filter(|event| event["x"].is_number()).collect();
        page
    }

    fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn wait(&self, fits: impl Fn(&Value) -> bool) {
        let call = Call::with_timeout(Duration::from_secs(15));
        let came = call.until("waiting for the page", || Ok(self.events().iter().any(&fits).then_some(())));
        assert!(came.is_ok(), "{:?}", self.events().last());
    }

    /// How many of the words were read, and where they are.
    fn found(&self, answer: &Value) -> usize {
        let mut read: HashMap<String, Vec<Value>> = HashMap::new();
        for word in
            answer["lines"].as_array().unwrap().iter().flat_map(|line| line["words"].as_array().unwrap())
        {
            read.entry(word["text"].as_str().unwrap().to_owned()).or_default().push(word["bounds"].clone());
        }
        let missed: Vec<&Value> = self
            .places
            .iter()
            .filter(|place| {
                let bounds = read.get(place["word"].as_str().unwrap());
                !bounds.into_iter().flatten().any(|bounds| within(bounds, place))
            })
            .collect();
        eprintln!("not read where they are: {missed:?}");
        self.places.len() - missed.len()
    }
}

/// Whether a box that was read covers the word and little else.
fn within(bounds: &Value, place: &Value) -> bool {
    let of = |value: &Value, name: &str| value[name].as_f64().unwrap();
    let near = |one: f64, other: f64, most: f64| (one - other).abs() <= most;
    near(of(bounds, "x"), of(place, "x"), 5.0)
        && near(of(bounds, "width"), of(place, "width"), 8.0)
        && of(place, "y") - 2.0 <= of(bounds, "y")
        && of(bounds, "y") + of(bounds, "height") <= of(place, "y") + of(place, "height") + 2.0
}

impl Drop for Page {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

/// Whether what the tests need is there; loud where it is not.
fn have(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| !std::path::Path::new("/usr/bin").join(program).exists());
    if let Some(missing) = missing {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{missing} is missing");
        eprintln!("SKIPPED: {missing} is missing; REQUIRE_DESKTOP=x11 makes this fail.");
    }
    missing.is_none()
}

#[test]
fn three_hundred_words_of_a_full_screen() {
    if !have(&["Xvfb", "tesseract"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&["--size", "1920x1080"]);
    let known: Vec<&str> = WORDS.split_whitespace().collect();
    let words: Vec<&str> = (0..304).map(|n| known[n * 37 % known.len()]).collect();
    let page = Page::show(&desktop, &words);
    assert_eq!(page.places.len(), 304);
    let mut client = Client::start(&desktop);
    let began = Instant::now();
    let answer = client.call("extract_text", json!({ "words": true }));
    eprintln!("read in {:?}", began.elapsed());
    let found = page.found(&answer);
    assert!(301 <= found, "{found} of 304: {}", answer["text"]);

    // What has not changed is not read again, and a part of it neither.
    let began = Instant::now();
    assert_eq!(client.call("extract_text", json!({ "words": true })), answer);
    let again = began.elapsed();
    eprintln!("read again in {again:?}");
    let line = &answer["lines"][3];
    let region = &line["bounds"];
    let number = |name: &str| region[name].as_i64().unwrap();
    let part = json!({
        "x": number("x") - 10, "y": number("y") - 5,
        "width": number("width") + 20, "height": number("height") + 10,
    });
    assert_eq!(client.call("extract_text", part)["text"], line["text"]);
}

#[test]
fn text_in_a_picture_and_text_to_act_on() {
    if !have(&["Xvfb", "tesseract"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&["--size", "1920x1080"]);
    let mut words: Vec<&str> = WORDS.split_whitespace().take(80).collect();
    words[70] = "Frobnicate";
    let page = Page::show(&desktop, &words);
    let place = &page.places[70];
    let mut client = Client::start(&desktop);

    let picture = client.call("take_screenshot", json!({ "include_ocr": true, "max_width": 960 }));
    let told = picture.as_str().unwrap();
    let line = told.lines().find(|line| line.contains("Frobnicate")).expect(told);
    let at: Vec<i64> = line[line.rfind('[').unwrap() + 1..line.len() - 1]
        .split([',', ' ', 'x'])
        .map(|number| number.parse().unwrap())
        .collect();
    let half = |name: &str| place[name].as_i64().unwrap() / 2;
    assert!(at[0] <= half("x") + 1 && half("x") + half("width") <= at[0] + at[2] + 1, "{line} {place}");
    assert!((half("y")..=half("y") + half("height")).contains(&(at[1] + at[3] / 2)), "{line} {place}");
    let image = told.split("image=").nth(1).unwrap().split(' ').next().unwrap();
    let again = client.call("extract_text", json!({ "image": image }));
    assert!(again["lines"][0]["in_image"].is_object(), "{again}");

    let found = client.call("find_elements", json!({ "text": "Frobnicate", "include_ocr": true }));
    assert_eq!(found["elements"], json!([]), "its application says so: {found}");
    assert!(within(&found["seen"][0]["bounds"], place), "{found} {place}");
    let clicked = client.confirmed("click", json!({ "text": "frobnicate" }));
    assert_eq!(clicked["via"], "ocr", "{clicked}");
    page.wait(|event| event["word"] == "Frobnicate" && event["event"] == "clicked");
    let waited = client.call("wait_for", json!({ "seen_text": "Clicked: Frobnicate", "timeout_ms": 30_000 }));
    assert_eq!(waited["condition"], "seen_text", "{waited}");
    client.refused("ambiguous_target", "click", json!({ "text": "Frobnicate" }));
    client.refused("element_not_found", "click", json!({ "text": "Zzyzx" }));
    client.refused("timeout", "wait_for", json!({ "seen_text": "Zzyzx", "timeout_ms": 3000 }));
    client.call("wait_for", json!({ "seen_text": "Zzyzx", "gone": true }));
}

#[test]
fn other_languages_and_a_missing_one() {
    if !have(&["Xvfb", "tesseract"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&["--size", "1920x1080"]);
    let words = ["Größe", "ändern", "Schließen", "Übersicht", "löschen", "Straße", "Zurück", "Wörterbuch"];
    let page = Page::show(&desktop, &words);
    let mut client = Client::start(&desktop);
    let answer = client.call("extract_text", json!({ "languages": ["deu"], "words": true }));
    assert_eq!(page.found(&answer), words.len(), "{answer}");
    let refused = client.refused("invalid_argument", "extract_text", json!({ "languages": ["eng", "kat"] }));
    assert!(
        refused["detail"]["remedy"].as_str().unwrap().contains("apt install tesseract-ocr-kat"),
        "{refused}"
    );
    assert!(refused["detail"]["found"].as_array().unwrap().contains(&json!("deu")), "{refused}");
}

#[test]
fn an_engine_that_is_absent_hangs_or_dies_costs_one_clear_error() {
    if !have(&["Xvfb", "tesseract"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&["--size", "800x600"]);
    let page = Page::show(&desktop, &["Largest", "words", "here"]);
    let folder = page.folder.join("bin");
    std::fs::create_dir(&folder).unwrap();
    let program = folder.join("tesseract");
    let path = folder.display().to_string();
    let mut client = Client::on(|program| {
        let mut command = desktop.command(program);
        command.env("PATH", &path);
        command
    });
    let absent = client.refused("backend", "extract_text", json!({}));
    assert_eq!(
        absent["detail"]["remedy"], "Install it: apt install tesseract-ocr tesseract-ocr-eng",
        "{absent}"
    );
    let became = |script: &str| {
        // A program that runs cannot be written to.
        std::fs::write(folder.join("new"), format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(folder.join("new"), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::rename(folder.join("new"), &program).unwrap();
    };
    let lists = "[ $1 = --list-langs ] && exec /usr/bin/tesseract --list-langs";
    became(&format!("{lists}\nkill -STOP $$"));
    let began = Instant::now();
    client.refused("timeout", "extract_text", json!({ "timeout_ms": 1500 }));
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    became(&format!("{lists}\nkill -KILL $$"));
    client.refused("backend", "extract_text", json!({}));
    became("exec /usr/bin/tesseract \"$@\"");
    let answer = client.call("extract_text", json!({}));
    assert!(answer["text"].as_str().unwrap().contains("Largest words here"), "{answer}");
}

#[test]
fn marks_in_a_picture_are_the_elements() {
    if !have(&["Xvfb", "gtk3-widget-factory"]) {
        return;
    }
    let desktop = PrivateDesktop::start(&["--size", "1280x800"]);
    let mut client = Client::start(&desktop);
    let launched =
        client.call("launch_app", json!({ "application": "gtk3-widget-factory", "wait_ms": 30_000 }));
    let window = launched["window"]["id"].clone();
    let there = json!({ "selector": "check_box", "window": window, "timeout_ms": 20_000 });
    client.call("wait_for", there);
    let told = client.call("take_screenshot", json!({ "annotate": true, "max_width": 900 }));
    let told = told.as_str().unwrap();
    let marks: Vec<&str> = told.lines().filter(|line| line.starts_with('e')).collect();
    assert!(30 <= marks.len(), "{told}");
    // Each is the element of that ref, where it is said to be.
    for mark in marks.iter().step_by(7) {
        let name = mark.split(' ').next().unwrap();
        let element = client.call("get_element", json!({ "element": name }));
        assert!(mark.contains(element["role"].as_str().unwrap()), "{mark} {element}");
        let bounds = &element["bounds"];
        assert!(mark.contains(&format!("({}, {})", bounds["x"], bounds["y"])), "{mark} {element}");
    }
    let box_of =
        marks.iter().find(|mark| mark.contains(" check_box ") && !mark.contains("disabled")).expect(told);
    let name = box_of.split(' ').next().unwrap();
    client.confirmed("click", json!({ "element": name }));
    if let Some(folder) = std::env::var_os("SEEING_PICTURES") {
        let path = PathBuf::from(folder).join("marks.png");
        client.call("take_screenshot", json!({ "annotate": true, "file_path": path, "overwrite": true }));
    }
}
