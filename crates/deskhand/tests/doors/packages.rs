//! The packages: that they can be made, that what is inside them runs, and that one version stands everywhere.

use crate::process::program;
use deskhand::profiles::Profile;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn json_at(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn one_version_stands_everywhere() {
    for (file, places) in [
        ("packaging/server.json", &["/version", "/packages/0/version"][..]),
        ("packaging/mcpb/manifest.json", &["/version"]),
        ("editors/vscode/package.json", &["/version"]),
        ("editors/vscode/package-lock.json", &["/version", "/packages//version"]),
    ] {
        let value = json_at(&root().join(file));
        for place in places {
            assert_eq!(value.pointer(place), Some(&json!(VERSION)), "{place} of {file}");
        }
    }
    let server = json_at(&root().join("packaging/server.json"));
    let identifier = server["packages"][0]["identifier"].as_str().unwrap();
    assert!(identifier.contains(&format!("/v{VERSION}/deskhand-{VERSION}-")), "{identifier}");
}

/// What the registry's schema and its rules ask beyond JSON.
#[test]
fn the_entry_of_the_registry_is_within_its_bounds() {
    let server = json_at(&root().join("packaging/server.json"));
    let (space, name) = server["name"].as_str().unwrap().split_once('/').unwrap();
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c));
    assert!(plain(space) && plain(name) && space.contains('.'));
    assert!((1..=100).contains(&server["description"].as_str().unwrap().len()));
    assert_eq!(server["packages"][0]["transport"]["type"], "stdio");
}

#[test]
fn profiles_that_can_be_chosen_are_those_that_there_are() {
    let mut profiles: Vec<&str> = Profile::ALL.iter().map(|profile| profile.name()).collect();
    // Its seven tools are for plain JSON-RPC, and no client of these chooses it.
    profiles.retain(|profile| *profile != "json-rpc");
    let extension = json_at(&root().join("editors/vscode/package.json"));
    let setting = &extension["contributes"]["configuration"]["properties"]["deskhand.profile"];
    assert_eq!(setting["enum"], json!(profiles));
    let server = json_at(&root().join("packaging/server.json"));
    assert_eq!(server["packages"][0]["environmentVariables"][1]["choices"], json!(profiles));
}

/// A folder of packages that ends with the test.
struct Made(PathBuf);

impl Made {
    /// None where this is no system that makes them.
    fn new(kind: &str, tools: &[&str]) -> Option<Made> {
        let has = |tool: &&&str| {
            std::env::split_paths(&std::env::var_os("PATH").unwrap())
                .any(|folder| folder.join(tool).is_file())
        };
        if let Some(missing) = tools.iter().find(|tool| !has(tool)) {
            assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "{missing} is needed");
            eprintln!("skipped: {missing} is not installed");
            return None;
        }
        let path = std::env::temp_dir().join(format!("deskhand-packages-{kind}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let made = Made(path);
        // The program that is tested stands in for one that was built for release.
        let output = Command::new(root().join("packaging/build"))
            .args(["--binary", env!("CARGO_BIN_EXE_deskhand"), "--quick", "--only", kind, "--out"])
            .arg(&made.0)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(made)
    }

    fn file(&self, ending: &str) -> PathBuf {
        let files = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.to_string_lossy().ends_with(ending)).unwrap()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text_of(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Starts a server as a client does, and gives its answer to initialize.
fn initialize(file: &Path, arguments: &[String], environment: &[(String, String)]) -> Value {
    let mut child = Command::new(file)
        .args(arguments)
        .env_clear()
        .envs(program(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))))
        .envs(environment.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } },
    });
    // The end of the input ends the server, after its answer.
    child.stdin.take().unwrap().write_all(format!("{request}\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(line.lines().next().unwrap_or_default())
        .unwrap_or_else(|_| panic!("no answer: {line:?}"))
}

#[test]
fn the_debian_package_holds_a_program_that_runs() {
    let Some(made) = Made::new("deb", &["dpkg-deb", "dpkg-shlibdeps", "help2man", "strip"]) else { return };
    let package = made.file(".deb");
    let field = |name: &str| text_of(Command::new("dpkg-deb").arg("-f").arg(&package).arg(name));
    assert_eq!(field("Version").trim(), format!("{VERSION}-1"));
    assert!(field("Depends").contains("libc6 (>= "), "{}", field("Depends"));
    let recommended = field("Recommends");
    for package in ["at-spi2-core", "tesseract-ocr", "xvfb", "openbox", "dbus"] {
        assert!(recommended.contains(package), "{recommended}");
    }
    let inside = made.0.join("inside");
    text_of(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&inside));
    let file = inside.join("usr/bin/deskhand");
    assert_eq!(text_of(Command::new(&file).arg("--version")).trim(), format!("deskhand {VERSION}"));
    let answer = initialize(&file, &["serve".into()], &[]);
    assert_eq!(answer["result"]["serverInfo"]["version"], VERSION, "{answer}");

    let read = |path: &str| fs::read_to_string(inside.join("usr/share").join(path)).unwrap();
    assert!(read("bash-completion/completions/deskhand").contains("complete -F"));
    assert!(read("zsh/vendor-completions/_deskhand").starts_with("#compdef deskhand"));
    assert!(read("fish/vendor_completions.d/deskhand.fish").contains("complete -c deskhand"));
    let page = |name: &str| text_of(Command::new("gzip").arg("-dc").arg(inside.join("usr/share").join(name)));
    assert!(page("man/man1/deskhand.1.gz").contains(".SH NAME"));
    assert!(page("man/man1/deskhand-install.1.gz").contains("claude"));
    let licenses = page("doc/deskhand/third-party-licenses.gz");
    assert!(["tokio ", "x11rb ", "jpeg-encoder "].iter().all(|name| licenses.contains(name)));
}

#[test]
fn the_bundle_starts_as_its_manifest_says() {
    let Some(made) = Made::new("mcpb", &["python3", "strip"]) else { return };
    let (bundle, inside) = (made.file(".mcpb"), made.0.join("inside"));
    // As clients unpack it, modes and all.
    let unpack = "import os, sys, zipfile\n\
                  z = zipfile.ZipFile(sys.argv[1])\n\
                  for i in z.infolist():\n    p = z.extract(i, sys.argv[2]); os.chmod(p, i.external_attr >> 16)\n";
    text_of(Command::new("python3").args(["-c", unpack]).arg(&bundle).arg(&inside));
    let manifest = json_at(&inside.join("manifest.json"));
    assert_eq!(manifest["version"], VERSION);
    assert!(manifest["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "take_screenshot"));
    assert!(inside.join("LICENSE-MIT").is_file() && inside.join("third-party-licenses").is_file());

    // A client puts in the folder, and what the person chose, or else the defaults.
    let filled = |text: &Value| {
        let mut text = text.as_str().unwrap().replace("${__dirname}", inside.to_str().unwrap());
        for (name, option) in manifest["user_config"].as_object().unwrap() {
            let default =
                option["default"].as_str().map_or_else(|| option["default"].to_string(), str::to_owned);
            text = text.replace(&format!("${{user_config.{name}}}"), &default);
        }
        assert!(!text.contains("${"), "{text}");
        text
    };
    let start = &manifest["server"]["mcp_config"];
    let arguments: Vec<String> = start["args"].as_array().unwrap().iter().map(filled).collect();
    let environment: Vec<(String, String)> =
        start["env"].as_object().unwrap().iter().map(|(name, value)| (name.clone(), filled(value))).collect();
    assert!(environment.contains(&("DESKHAND_READ_ONLY".into(), "false".into())));
    let answer = initialize(Path::new(&filled(&start["command"])), &arguments, &environment);
    assert_eq!(answer["result"]["serverInfo"]["version"], VERSION, "{answer}");

    let entry = json_at(&made.file("server.json"));
    let sum = text_of(Command::new("sha256sum").arg(&bundle));
    let stated = &entry["packages"][0];
    let is_for_this_machine =
        stated["identifier"].as_str().unwrap().ends_with(bundle.file_name().unwrap().to_str().unwrap());
    if is_for_this_machine {
        assert_eq!(stated["fileSha256"].as_str(), sum.split(' ').next());
    }
}
