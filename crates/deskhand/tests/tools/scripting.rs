//! Commands and scripts.

use crate::desk::Desk;
use deskhand::profiles::Profile;
use deskhand_core::fake::Fake;
use expect_test::expect;
use serde_json::json;

fn allowed(rule: &str) -> Desk {
    Desk::with(Fake::new(), |config| config.policy.allow.push(rule.to_owned()))
}

#[test]
fn code_is_off_by_default_and_allowed_by_name() {
    let desk = Desk::new();
    desk.check(
        "execute_shell_command",
        json!({ "command": "echo" }),
        expect![[r#"
        denied_by_policy: execute_shell_command runs code, which is off by default.
          remedy: Start Deskhand with --allow shell to allow this.
    "#]],
    );
    desk.check(
        "execute_javascript",
        json!({ "script": "print(2)" }),
        expect![[r#"
        denied_by_policy: execute_javascript runs code, which is off by default.
          remedy: Start Deskhand with --allow execute_javascript to allow this, or --allow shell for any code.
    "#]],
    );
    let listed = |desk: &Desk| {
        Profile::Full
            .list(&desk.server, &Default::default())
            .iter()
            .any(|tool| tool.name == "execute_shell_command")
    };
    assert!(!listed(&desk));
    assert!(desk.control.log().is_empty());
    assert!(listed(&allowed("shell")));
    // Leave for one is no leave for the other.
    let desk = allowed("execute_javascript");
    desk.data("execute_javascript", json!({ "script": "print(2)" }));
    desk.error("execute_shell_command", json!({ "command": "echo" }));
}

#[test]
fn commands() {
    let desk = allowed("shell");
    let echo = json!({ "command": "echo", "args": ["a b", "$HOME"], "cwd": "/tmp" });
    desk.check(
        "execute_shell_command",
        echo,
        expect![[r#"
        exit_code: 0
        stdout: "a b $HOME\n"
        stderr: ""
        duration_ms: …
        > run echo ["a b", "$HOME"]
    "#]],
    );
    desk.check(
        "execute_shell_command",
        json!({ "command": "echo $HOME", "shell": true }),
        expect![[r#"
        exit_code: 0
        stdout: ""
        stderr: ""
        duration_ms: …
        > run sh ["-c", "echo $HOME", "sh"]
    "#]],
    );
    desk.check(
        "execute_shell_command",
        json!({ "command": "echo", "shell": "perl" }),
        expect![[r#"
        invalid_argument: "perl" is no shell that is known here.
          expected: sh, bash, dash, zsh, ksh, fish
          remedy: Run another interpreter as command, with args.
    "#]],
    );
    desk.check(
        "execute_shell_command",
        json!({ "command": "cat", "stdin": "{\"a\": [1]}" }),
        expect![[r#"
        exit_code: 0
        stdout: "{\"a\": [1]}"
        stderr: ""
        result:
          a: 1
        duration_ms: …
        > run cat []
    "#]],
    );
    desk.check(
        "execute_shell_command",
        json!({ "command": "false" }),
        expect![[r#"
        exit_code: 1
        stdout: ""
        stderr: ""
        duration_ms: …
        > run false []
    "#]],
    );
    desk.check(
        "execute_shell_command",
        json!({ "command": "flood", "max_output_bytes": 100 }),
        expect![[r#"
            exit_code: 0
            stdout: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n… 99900 bytes are left out here …\n"
            stderr: ""
            stdout_cut_bytes: 99900
            duration_ms: …
            > run flood []
        "#]],
    );
}

#[test]
fn scripts_are_checked_and_not_run() {
    let desk = Desk::new();
    desk.check(
        "validate_script",
        json!({ "script": "echo hello", "type": "sh" }),
        expect![[r#"
        valid: true
        checked_with: "sh -n"
        > run sh ["-n"]
    "#]],
    );
    desk.check(
        "validate_script",
        json!({ "script": "if true" }),
        expect![[r#"
        valid: false
        errors:
          - line 3  message "syntax error: unexpected end of file"
        checked_with: "bash -n"
        > run bash ["-n"]
    "#]],
    );
    desk.check(
        "validate_script",
        json!({ "script": "1 + 1", "type": "javascript" }),
        expect![[r#"
        valid: true
        checked_with: gjs
        > run gjs ["/dev/stdin"]
    "#]],
    );
    desk.check(
        "validate_script",
        json!({ "script": "beep", "type": "applescript" }),
        expect![[r#"
        unsupported: AppleScript is a part of macOS: there is nothing on this system that runs it.
          remedy: Use the tools for windows, elements and menus; or execute_shell_command where it is allowed.
    "#]],
    );
    desk.check(
        "execute_apple_script",
        json!({ "script": "beep" }),
        expect![[r#"
        unsupported: AppleScript is a part of macOS: there is nothing on this system that runs it.
          remedy: Use the tools for windows, elements and menus; or execute_shell_command where it is allowed.
    "#]],
    );
    desk.check(
        "execute_javascript",
        json!({ "script": "1", "compile_only": true }),
        expect![[r#"
        exit_code: 0
        stdout: ""
        stderr: ""
        duration_ms: …
        > run gjs ["/dev/stdin"]
    "#]],
    );
}

#[test]
fn a_script_that_fails() {
    let desk = allowed("script");
    desk.check(
        "execute_javascript",
        json!({ "script": "throw 1" }),
        expect![[r#"
        script_failed: The script ended with an error.
          found: JS ERROR: Error: thrown
        > run gjs ["/dev/stdin"]
    "#]],
    );
    desk.check(
        "execute_javascript",
        json!({ "script": "print(1)" }),
        expect![[r#"
        exit_code: 0
        stdout: "{\"sum\":2}\n"
        stderr: ""
        result: sum 2
        duration_ms: …
        > run gjs ["/dev/stdin"]
    "#]],
    );
}
