//! The official Python SDK as a client of the built program.

use crate::process::program;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter of a virtual environment with the SDK in it, made when it is not there yet.
fn interpreter() -> PathBuf {
    // Two tests must not make it at once: under nextest they are two processes, so that it takes a file.
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    std::fs::create_dir_all(&tools).unwrap();
    let lock = std::fs::File::create(tools.join("mcp-venv.lock")).unwrap();
    lock.lock().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/mcp-venv");
    let (python, done) = (folder.join("bin/python"), folder.join("installed"));
    let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/requirements.txt");
    let requirements = std::fs::read_to_string(&wanted).unwrap();
    if std::fs::read_to_string(&done).ok().as_deref() != Some(requirements.as_str()) {
        let run = |command: &mut Command| {
            let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command:?}: {said}");
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&wanted));
        std::fs::write(&done, requirements).unwrap();
    }
    python
}

fn check(place: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/client.py");
    // The script hands this environment on to the server.
    let server = program(&[]);
    let mut command = Command::new(interpreter());
    command.arg(script).arg(env!("CARGO_BIN_EXE_deskhand")).args(place);
    for (name, value) in server.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().unwrap();
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.ends_with("all is well\n"), "{said}");
}

#[test]
fn the_official_python_sdk_gets_on_with_it() {
    check(&[]);
}

#[test]
fn on_desktop_the_official_python_sdk_finds_every_answer_as_announced() {
    match std::env::var("DISPLAY") {
        Ok(display) => check(&["--display", &display]),
        Err(_) if std::env::var_os("REQUIRE_DESKTOP").is_some() => panic!("There is no display."),
        Err(_) => deskhand::terminal::complain("Skipped: there is no display."),
    }
}

#[test]
fn the_official_python_sdk_gets_on_with_it_over_http() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/http_client.py");
    let interpreter = interpreter();
    let token_file = std::env::temp_dir().join(format!("deskhand-sdk-{}.token", std::process::id()));
    let mut server =
        program(&["serve", "--http", "--port", "0", "--token-file"]).arg(&token_file).spawn().unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap());
    let url = loop {
        let mut line = String::new();
        assert!(0 < log.read_line(&mut line).unwrap(), "it serves");
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        if line["event"] == "http" {
            break format!("{}mcp", line["url"].as_str().unwrap());
        }
    };
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    let token = std::fs::read_to_string(&token_file).unwrap();
    let output = Command::new(interpreter).arg(script).arg(url).arg(token.trim()).output().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_child(&server), rustix::process::Signal::TERM)
        .unwrap();
    assert!(server.wait().unwrap().success());
    std::fs::remove_file(&token_file).unwrap();
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(said.ends_with("all is well\n"), "{said}");
}
