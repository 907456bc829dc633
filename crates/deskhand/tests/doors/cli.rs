//! The command line: what it prints where, and its exit codes.

use crate::process::program;
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(arguments: &[&str]) -> Outcome {
    run_with(arguments, "")
}

fn run_with(arguments: &[&str], input: &str) -> Outcome {
    let mut child = program(arguments).stdin(Stdio::piped()).spawn().unwrap();
    // A command that reads nothing may have gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_tool_that_says_no_is_one() {
    let outcome = run(&["call", "list_windows"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
    assert!(outcome.stderr.contains("DISPLAY is not set"), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("--virtual") && outcome.stderr.contains("--display"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_program_reads_failures_on_standard_output() {
    let outcome = run(&["call", "list_windows", "--output", "json"]);
    assert_eq!(outcome.code, Some(1));
    let failure: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(failure["code"].is_string() && failure["message"].is_string(), "{failure}");
    assert_eq!(outcome.stderr, "");
}

#[test]
fn a_wrong_command_line_is_two() {
    for (arguments, said) in [
        (&["call", "clik"][..], "no tool called \"clik\""),
        (&["call", "click", "x"], "\"x\" is no parameter"),
        (&["call", "click", "x=left"], "x has to be a number"),
        (&["call", "click", "click_count=7"], "integer from 1 to 3"),
        (&["call", "click", "--json", "[1]"], "no JSON object"),
        (&["call", "click", "--json", "{"], "not JSON"),
        (&["call", "click", "--json", "@/nonexistent"], "cannot be read"),
        (&["call", "click", "x=1", "x=2"], "given twice"),
        (&["serve", "--deny", "clik"], "is no tool, group or effect"),
        (&["serve", "--deny", "mouse_move"], "another name of move_mouse"),
        (&["serve", "--virtual", "big"], "big"),
        (&["serve", "--virtual", "800x600", "--display", ":1"], "cannot be used with"),
        (&["serve", "--profile", "none"], "standard"),
        (&["serve", "--timeout-ms", "0"], "0"),
        (&["serve", "--http", "--tls-cert", "cert.pem"], "--tls-key"),
        (&["serve", "--config", "/nonexistent"], "cannot be read"),
        (&["connect", "https://127.0.0.1:3457"], "speaks no TLS"),
        (&["tools", "clik"], "no tool called"),
        (&["no-such-command"], "unrecognized subcommand"),
        (&[], "Usage"),
    ] {
        let outcome = run(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
    }
}

#[test]
fn parameters_come_in_every_form() {
    // All of them are understood, so that the tool itself gets to say that there is no display.
    let file = std::env::temp_dir().join(format!("deskhand-cli-{}.json", std::process::id()));
    std::fs::write(&file, r#"{"x": 1, "y": 2}"#).unwrap();
    let from_file = format!("@{}", file.display());
    for arguments in [
        &["call", "click", "x=1", "y=2", "modifiers=ctrl,shift"][..],
        &["call", "click", "x=1", "y=2", "modifiers=[\"ctrl\"]"],
        &["call", "click", "--json", r#"{"x":1,"y":2}"#],
        &["call", "click", "--json", r#"{"x":1}"#, "y=2"],
        &["call", "click", "--json", &from_file],
        &["call", "click", "--json", "-"],
        &["call", "mouse_move", "x=1", "y=2", "timeout_ms=500"],
        &["call", "press_key", "key=1"],
        &["call", "focus_window", "window=7"],
    ] {
        let outcome = run_with(arguments, r#"{"x": 1, "y": 2}"#);
        assert_eq!(outcome.code, Some(1), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("DISPLAY is not set"), "{arguments:?}: {}", outcome.stderr);
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn policy_holds_on_the_command_line() {
    let outcome = run(&["call", "click", "x=1", "y=1", "--read-only"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("denied_by_policy"), "{}", outcome.stderr);
    let mut command = program(&["call", "click", "x=1", "y=1"]);
    let output = command.env("DESKHAND_DENY", "keyboard,pointer").output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("denied_by_policy"));
}

/// A terminal of its own for a command: types the answer once it has been asked.
#[cfg(target_os = "linux")]
const ON_A_TERMINAL: &str = r#"
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
try:
    while True:
        part = os.read(fd, 4096)
        if not part: break
        if b"[y/N]" in seen + part and b"[y/N]" not in seen:
            os.write(fd, sys.argv[1].encode() + b"\n")
        seen += part
except OSError: pass
sys.stdout.write(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[cfg(target_os = "linux")]
#[test]
fn a_person_is_asked_on_the_terminal_and_nowhere_else() {
    let call = ["call", "click", "x=1", "y=1", "--confirm", "pointer", "--confirm-timeout-ms", "5000"];
    let like = |other: &str, arguments: &[&str]| {
        let program = program(&[]);
        let mut command = std::process::Command::new(other);
        command
            .args(arguments)
            .arg(program.get_program())
            .args(call)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        program.get_envs().for_each(|(name, value)| {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        });
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let (code, said) = like("setsid", &["-w"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("denied_by_policy") && said.contains("a terminal"), "{said}");
    for (typed, expected) in
        [("y", "DISPLAY is not set"), ("n", "declined"), ("", "declined"), ("yup", "declined")]
    {
        let (code, said) = like("/usr/bin/python3", &["-c", ON_A_TERMINAL, typed]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("asked to make input: click with {\"x\":1,\"y\":1}"), "{said}");
        assert!(said.contains(expected), "{typed}: {said}");
    }
}

#[test]
fn guards_are_checked_and_told() {
    for (arguments, said) in [
        (&["serve", "--confirm", "clik"][..], "is no tool, group or effect"),
        (&["serve", "--stop-chord", "escape:5"], "escape:1000, or off"),
        (&["serve", "--stop-chord", "nokey"], "nokey"),
        (&["serve", "--hide-app", " "], "empty"),
        (&["serve", "--yield-ms", "soon"], "soon"),
    ] {
        let outcome = run(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{arguments:?}: {}", outcome.stderr);
    }
    let outcome = run(&["serve", "--confirm", "script", "--hide-app", "keepassxc", "--yield-ms", "700"]);
    let start = outcome.stderr.lines().find(|line| line.contains("\"event\":\"start\"")).unwrap();
    let start: Value = serde_json::from_str(start).unwrap();
    let guards = serde_json::json!({
        "confirm": ["script"], "apps": ["--hide-app keepassxc"], "yield_ms": 700, "stop_chord": "escape:1000",
    });
    assert_eq!(start["guards"], guards, "{start}");
    let outcome = run(&["doctor", "--confirm", "script", "--deny-app", "keepassxc"]);
    assert!(outcome.stdout.contains("The person is asked before: script."), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("--deny-app keepassxc"), "{}", outcome.stdout);
    let outcome = run(&["resume"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("DISPLAY is not set"), "{}", outcome.stderr);
}

#[test]
fn tools_are_shown_to_people_and_programs() {
    let outcome = run(&["tools"]);
    assert_eq!(outcome.code, Some(0));
    assert!(outcome.stdout.contains("Pointer\n  click "), "{}", outcome.stdout);
    let outcome = run(&["tools", "click"]);
    assert!(outcome.stdout.contains("click_count: an integer from 1 to 3"), "{}", outcome.stdout);
    let outcome = run(&["tools", "--profile", "full", "--output", "json"]);
    let tools: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(tools.as_array().unwrap().len(), deskhand::tools::rows().count());
    let outcome = run(&["tools", "mouse_move", "--output", "json"]);
    let tool: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(tool["name"], "move_mouse");
}

#[test]
fn help_version_and_completions_are_there() {
    for (arguments, said) in [
        (&["--help"][..], "Examples:"),
        (&["serve", "--help"], "mcpServers"),
        (&["call", "--help"], "KEY=VALUE"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
        (&["completions", "bash"], "_deskhand"),
        (&["completions", "zsh"], "#compdef deskhand"),
        (&["completions", "fish"], "complete -c deskhand"),
    ] {
        let outcome = run(arguments);
        assert_eq!(outcome.code, Some(0), "{arguments:?}");
        assert!(outcome.stdout.contains(said), "{arguments:?}: {}", outcome.stdout);
    }
}

#[test]
fn the_doctor_names_what_is_missing() {
    let outcome = run(&["doctor", "--output", "json"]);
    assert_eq!(outcome.code, Some(1));
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let works = |capability: &str| {
        let mut findings = report["findings"].as_array().unwrap().iter();
        findings.find(|finding| finding["capability"] == capability).unwrap()["works"].as_bool().unwrap()
    };
    for capability in
        ["input", "screen", "elements", "windows", "applications", "clipboard", "audio", "notifications"]
    {
        assert!(!works(capability), "{capability}: {report}");
    }
    assert!(works("system"), "what needs nothing is there: {report}");
}
