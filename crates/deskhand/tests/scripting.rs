//! Commands and scripts through MCP, run by the real interpreters.

#![cfg(target_os = "linux")]

mod stage;

use deskhand_core::Call;
use serde_json::json;
use stage::client::Client;
use std::process::Command;
use std::time::{Duration, Instant};

/// A server that may run code, on no desktop at all: that needs none.
fn allowed(rules: &[&str]) -> Client {
    Client::with_options(
        |program| {
            let mut command = Command::new(program);
            command
                .env_remove("DISPLAY")
                .env_remove("WAYLAND_DISPLAY")
                .env("DESKHAND_FIND_SESSION", "never")
                .env("DESKHAND_TEST", "inherited");
            command
        },
        rules,
    )
}

#[test]
fn commands_run_as_they_are_told() {
    let mut client = allowed(&["--allow", "shell"]);
    let ran = client.call(
        "execute_shell_command",
        json!({
            "command": "printf", "args": ["%s|", "a b", "$HOME", "it's", "ü"], "working_directory": "/tmp",
        }),
    );
    assert_eq!((&ran["stdout"], &ran["exit_code"]), (&json!("a b|$HOME|it's|ü|"), &json!(0)), "{ran}");
    let ran = client.call(
        "execute_shell_command",
        json!({
            "command": "pwd; echo $DESKHAND_TEST $MORE; cat; echo oops >&2; exit 7", "shell": "bash",
            "working_directory": "/usr", "environment": { "MORE": "added" }, "stdin": "typed in",
        }),
    );
    assert_eq!(ran["stdout"], "/usr\ninherited added\ntyped in", "{ran}");
    assert_eq!((&ran["stderr"], &ran["exit_code"]), (&json!("oops\n"), &json!(7)), "{ran}");
    let endless = json!({ "command": "yes", "max_output_bytes": 1000, "timeout_ms": 300 });
    client.refused("timeout", "execute_shell_command", endless);
}

#[test]
fn time_limits_end_everything_and_cut_outputs_say_so() {
    let mut client = allowed(&["--allow", "shell"]);
    let mark = format!("77{}", std::process::id());
    let began = Instant::now();
    let line = format!("echo begun; sleep {mark} & sleep {mark}");
    let refused = client.refused(
        "timeout",
        "execute_shell_command",
        json!({ "command": line, "shell": true, "timeout": 0.5 }),
    );
    assert!(refused["detail"]["found"][0].as_str().unwrap().contains("begun"), "{refused}");
    assert!(began.elapsed() < Duration::from_secs(5));
    let left =
        || Command::new("pgrep").args(["-fx", &format!("sleep {mark}")]).output().unwrap().stdout.is_empty();
    Call::with_timeout(Duration::from_secs(5)).until("they ended", || Ok(left().then_some(()))).unwrap();
    let ran = client.call(
        "execute_shell_command",
        json!({
            "command": "seq 100000; echo the end", "shell": true, "max_output_bytes": 1000,
        }),
    );
    let text = ran["stdout"].as_str().unwrap();
    assert!(text.starts_with("1\n2\n") && text.ends_with("the end\n") && text.len() < 1100, "{text}");
    assert!(500_000 < ran["stdout_cut_bytes"].as_u64().unwrap(), "{ran}");
    client.refused("application_not_found", "execute_shell_command", json!({ "command": "no-such-program" }));
    client.refused(
        "path_not_found",
        "execute_shell_command",
        json!({ "command": "true", "working_directory": "/no/such" }),
    );
}

#[test]
fn scripts_are_checked_without_running_them() {
    let mut client = allowed(&[]);
    client.refused("denied_by_policy", "execute_shell_command", json!({ "command": "true" }));
    let trace = std::env::temp_dir().join(format!("deskhand-never-{}", std::process::id()));
    let script = format!("touch {}\nif true; then\necho\n", trace.display());
    for kind in ["sh", "bash"] {
        let checked = client.call("validate_script", json!({ "script": script, "type": kind }));
        assert_eq!(checked["valid"], false, "{checked}");
        assert!(3 <= checked["errors"][0]["line"].as_u64().unwrap(), "{checked}");
        let checked =
            client.call("validate_script", json!({ "script": format!("{script}fi"), "type": kind }));
        assert_eq!(checked["valid"], true, "{checked}");
    }
    assert!(!trace.exists());
    client.refused("unsupported", "execute_apple_script", json!({ "script": "beep" }));
}

#[test]
fn javascript_runs_where_it_is_allowed() {
    if !std::path::Path::new("/usr/bin/gjs").exists() {
        assert!(std::env::var_os("REQUIRE_DESKTOP").is_none(), "gjs is missing");
        eprintln!("SKIPPED: gjs is missing; REQUIRE_DESKTOP=x11 makes this fail.");
        return;
    }
    let mut client = allowed(&["--allow", "execute_javascript"]);
    let ran = client.call("execute_javascript", json!({ "script": "print(JSON.stringify({ sum: 1 + 1 }))" }));
    assert_eq!(ran["result"]["sum"], 2, "{ran}");
    let failed =
        client.refused("script_failed", "execute_javascript", json!({ "script": "throw new Error('mine')" }));
    assert!(failed["detail"]["found"].to_string().contains("mine"), "{failed}");
    client.refused("timeout", "execute_javascript", json!({ "script": "for (;;) {}", "timeout_ms": 700 }));
    client.refused(
        "script_failed",
        "execute_javascript",
        json!({ "script": "let = ", "compile_only": true }),
    );
    let checked =
        client.call("validate_script", json!({ "script": "let x = 1;\nlet y = ;\n", "type": "javascript" }));
    assert_eq!((&checked["valid"], &checked["errors"][0]["line"]), (&json!(false), &json!(2)), "{checked}");
    let trick = json!({ "script": "}); print('out'); (function() {", "type": "javascript" });
    assert_eq!(client.call("validate_script", trick)["valid"], false);
    client.refused("denied_by_policy", "execute_shell_command", json!({ "command": "true" }));
}
