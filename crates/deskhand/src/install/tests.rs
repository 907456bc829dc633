//! What becomes of files that people wrote, case by case, and at random.

use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn entry() -> Entry {
    Entry { name: "deskhand".into(), command: "/usr/bin/deskhand".into(), arguments: vec!["serve".into()] }
}

fn client(id: &str) -> &'static Client {
    Client::find(id).unwrap()
}

/// One file as it is, and as it becomes: `·` is a tab, `¶` a carriage return.
fn check(id: &str, text: &str, expected: Expect) {
    check_with(id, text, false, expected);
}

fn check_with(id: &str, text: &str, force: bool, expected: Expect) {
    let (client, text) = (client(id), text.replace('·', "\t").replace('¶', "\r"));
    let seen = match put(client, &text, &entry(), force) {
        Err(fault) => refused(Path::new("file"), &text, &fault).message,
        Ok((outcome, None)) => format!("{outcome:?}"),
        Ok((outcome, Some(new))) => {
            let (again, nothing) = put(client, &new, &entry(), force).unwrap();
            assert_eq!((again, nothing), (Outcome::AlreadyThere { off: false }, None), "{new}");
            if outcome == Outcome::Added {
                let (removed, back) = take(client, &new, &entry(), false).unwrap();
                assert_eq!(removed, Outcome::Removed);
                assert_eq!(client.look(&back.unwrap(), "deskhand").unwrap(), None);
                new
            } else {
                format!("{outcome:?}\n{new}")
            }
        }
    };
    expected.assert_eq(&seen.replace('\t', "·").replace('\r', "¶").replace('\u{feff}', "<mark>"));
}

#[test]
fn a_file_that_is_not_there() {
    for (id, expected) in [
        (
            "claude-code",
            expect![[r#"
                {
                  "mcpServers": {
                    "deskhand": {
                      "type": "stdio",
                      "command": "/usr/bin/deskhand",
                      "args": ["serve"]
                    }
                  }
                }
            "#]],
        ),
        (
            "cursor",
            expect![[r#"
            {
              "mcpServers": {
                "deskhand": {
                  "command": "/usr/bin/deskhand",
                  "args": ["serve"]
                }
              }
            }
        "#]],
        ),
        (
            "vscode",
            expect![[r#"
            {
              "servers": {
                "deskhand": {
                  "type": "stdio",
                  "command": "/usr/bin/deskhand",
                  "args": ["serve"]
                }
              }
            }
        "#]],
        ),
        (
            "zed",
            expect![[r#"
            {
              "context_servers": {
                "deskhand": {
                  "command": "/usr/bin/deskhand",
                  "args": ["serve"]
                }
              }
            }
        "#]],
        ),
        (
            "codex",
            expect![[r#"
            [mcp_servers.deskhand]
            command = "/usr/bin/deskhand"
            args = ["serve"]
        "#]],
        ),
    ] {
        check(id, "", expected);
    }
}

#[test]
fn other_servers_and_settings_stay() {
    check(
        "cursor",
        "{\n    \"mcpServers\": {\n        \"other\": {\n            \"command\": \"npx\",\n            \"args\": [\n                \"x\"\n            ]\n        }\n    },\n    \"theme\": \"dark\"\n}\n",
        expect![[r#"
            {
                "mcpServers": {
                    "other": {
                        "command": "npx",
                        "args": [
                            "x"
                        ]
                    },
                    "deskhand": {
                        "command": "/usr/bin/deskhand",
                        "args": ["serve"]
                    }
                },
                "theme": "dark"
            }
        "#]],
    );
}

#[test]
fn comments_tabs_and_trailing_commas_stay() {
    check(
        "zed",
        "// Zed settings\n{\n·\"theme\": \"One Dark\", // dark\n·/* servers */\n·\"context_servers\": {\n··// mine\n··\"other\": { \"command\": \"a\", \"args\": [], }, // keep\n··// the end\n·},\n}\n",
        expect![[r#"
            // Zed settings
            {
            ·"theme": "One Dark", // dark
            ·/* servers */
            ·"context_servers": {
            ··// mine
            ··"other": { "command": "a", "args": [], }, // keep
            ··"deskhand": {
            ···"command": "/usr/bin/deskhand",
            ···"args": ["serve"]
            ··},
            ··// the end
            ·},
            }
        "#]],
    );
    check(
        "zed",
        "// nothing yet\n",
        expect![[r#"
        // nothing yet
        {
          "context_servers": {
            "deskhand": {
              "command": "/usr/bin/deskhand",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
    check(
        "vscode",
        "{\n  // no servers yet\n  \"servers\": {\n    // none\n  },\n  \"inputs\": []\n}",
        expect![[r#"
            {
              // no servers yet
              "servers": {
                // none
                "deskhand": {
                  "type": "stdio",
                  "command": "/usr/bin/deskhand",
                  "args": ["serve"]
                }
              },
              "inputs": []
            }"#]],
    );
    check(
        "vscode",
        "{\n  \"inputs\": [] // none\n}\n",
        expect![[r#"
        {
          "inputs": [], // none
          "servers": {
            "deskhand": {
              "type": "stdio",
              "command": "/usr/bin/deskhand",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
}

#[test]
fn lines_of_windows_stay() {
    check(
        "vscode",
        "{¶\n  \"servers\": {¶\n    \"a\": {} // b¶\n  }¶\n}¶\n",
        expect![[r#"
        {¶
          "servers": {¶
            "a": {}, // b¶
            "deskhand": {¶
              "type": "stdio",¶
              "command": "/usr/bin/deskhand",¶
              "args": ["serve"]¶
            }¶
          }¶
        }¶
    "#]],
    );
    check(
        "codex",
        "model = \"o3\"¶\n",
        expect![[r#"
        model = "o3"¶
        ¶
        [mcp_servers.deskhand]¶
        command = "/usr/bin/deskhand"¶
        args = ["serve"]¶
    "#]],
    );
}

#[test]
fn a_file_on_one_line_stays_on_it() {
    check(
        "claude-code",
        r#"{"a":1,"mcpServers":{"b":{"command":"c"}},"d":[]}"#,
        expect![[
            r#"{"a":1,"mcpServers":{"b":{"command":"c"},"deskhand":{"type":"stdio","command":"/usr/bin/deskhand","args":["serve"]}},"d":[]}"#
        ]],
    );
    check(
        "claude-code",
        r#"{ "mcpServers": {} }"#,
        expect![[
            r#"{ "mcpServers": {"deskhand": {"type": "stdio", "command": "/usr/bin/deskhand", "args": ["serve"]}} }"#
        ]],
    );
    check(
        "cursor",
        "{}",
        expect![[r#"
        {
          "mcpServers": {
            "deskhand": {
              "command": "/usr/bin/deskhand",
              "args": ["serve"]
            }
          }
        }"#]],
    );
    check(
        "cursor",
        "{}\n",
        expect![[r#"
        {
          "mcpServers": {
            "deskhand": {
              "command": "/usr/bin/deskhand",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
    check(
        "cursor",
        "\u{feff}{ \"a\": 1 }\n",
        expect![[r#"
        <mark>{ "a": 1, "mcpServers": {"deskhand": {"command": "/usr/bin/deskhand", "args": ["serve"]}} }
    "#]],
    );
}

#[test]
fn toml_around_it_stays() {
    check(
        "codex",
        "# mine\nmodel = \"o3\" # fast\n\n[mcp_servers.other]\ncommand = \"npx\"\nargs = [\n  \"x\",\n]\n\n[mcp_servers.other.env]\nA = \"1\"\n\n[profiles.a]\nmodel = \"b\"",
        expect![[r##"
            # mine
            model = "o3" # fast

            [mcp_servers.other]
            command = "npx"
            args = [
              "x",
            ]

            [mcp_servers.other.env]
            A = "1"

            [profiles.a]
            model = "b"

            [mcp_servers.deskhand]
            command = "/usr/bin/deskhand"
            args = ["serve"]
        "##]],
    );
    check(
        "codex",
        "mcp_servers.other.command = \"a\"\n",
        expect![[r#"
        mcp_servers.other.command = "a"

        [mcp_servers.deskhand]
        command = "/usr/bin/deskhand"
        args = ["serve"]
    "#]],
    );
}

#[test]
fn what_is_there_already_is_left_alone() {
    check(
        "cursor",
        r#"{"mcpServers": {"deskhand": {"args": ["serve"], "command": "/usr/bin/deskhand", "env": {"A": "b"}}}}"#,
        expect!["AlreadyThere { off: false }"],
    );
    check(
        "windsurf",
        r#"{"mcpServers": {"deskhand": {"command": "/usr/bin/deskhand", "args": ["serve"], "disabled": true}}}"#,
        expect!["AlreadyThere { off: true }"],
    );
    check(
        "codex",
        "[mcp_servers.deskhand]\ncommand = '/usr/bin/deskhand'\nargs = ['serve']\nenabled = false\n",
        expect!["AlreadyThere { off: true }"],
    );
}

#[test]
fn something_else_of_that_name_is_shown_and_kept() {
    let other = "{\n  \"mcpServers\": {\n    // by hand\n    \"deskhand\": {\n      \"command\": \"npx\", // old\n      \"env\": { \"KEY\": \"secret\" },\n      \"url\": \"http://a\",\n      \"headers\": { \"Authorization\": \"secret\" }\n    },\n    \"b\": {}\n  }\n}\n";
    check(
        "cursor",
        other,
        expect![[
            r#"Kept(["- command: \"npx\"", "+ command: \"/usr/bin/deskhand\"", "+ args: [\"serve\"]", "- url: \"http://a\"", "- headers"])"#
        ]],
    );
    check_with(
        "cursor",
        other,
        true,
        expect![[r#"
        Replaced(["- command: \"npx\"", "+ command: \"/usr/bin/deskhand\"", "+ args: [\"serve\"]", "- url: \"http://a\"", "- headers"])
        {
          "mcpServers": {
            // by hand
            "deskhand": {
              "command": "/usr/bin/deskhand", // old
              "env": { "KEY": "secret" },
              "args": ["serve"]
            },
            "b": {}
          }
        }
    "#]],
    );
    check_with(
        "cursor",
        r#"{"mcpServers": {"deskhand": null}}"#,
        true,
        expect![[r#"
        Replaced(["- null", "+ {\"command\":\"/usr/bin/deskhand\",\"args\":[\"serve\"]}"])
        {"mcpServers": {"deskhand": {"command": "/usr/bin/deskhand", "args": ["serve"]}}}"#]],
    );
    let toml = "[mcp_servers.deskhand]\n# by hand\nurl = \"http://a\"\nargs = [] # none\nenv = { A = \"1\" }\n\n[z]\n";
    check(
        "codex",
        toml,
        expect![[
            r#"Kept(["+ command: \"/usr/bin/deskhand\"", "- args: []", "+ args: [\"serve\"]", "- url: \"http://a\""])"#
        ]],
    );
    check_with(
        "codex",
        toml,
        true,
        expect![[r#"
            Replaced(["+ command: \"/usr/bin/deskhand\"", "- args: []", "+ args: [\"serve\"]", "- url: \"http://a\""])
            [mcp_servers.deskhand]
            # by hand
            command = "/usr/bin/deskhand"
            args = ["serve"] # none
            env = { A = "1" }

            [z]
        "#]],
    );
    check_with(
        "codex",
        "[mcp_servers]¶\ndeskhand = 1 # one¶\n",
        true,
        expect![[r#"
            Replaced(["- 1", "+ {\"command\":\"/usr/bin/deskhand\",\"args\":[\"serve\"]}"])
            [mcp_servers]¶
            deskhand = { command = "/usr/bin/deskhand", args = ["serve"] } # one¶
        "#]],
    );
}

#[test]
fn toml_is_overwritten_in_its_own_manner() {
    check_with(
        "codex",
        "mcp_servers.deskhand.url = \"http://a\" # web\nmcp_servers.deskhand.enabled = true\nx = 1\n",
        true,
        expect![[r#"
            Replaced(["+ command: \"/usr/bin/deskhand\"", "+ args: [\"serve\"]", "- url: \"http://a\""])
            mcp_servers.deskhand.command = "/usr/bin/deskhand"
            mcp_servers.deskhand.args = ["serve"]
            mcp_servers.deskhand.enabled = true
            x = 1
        "#]],
    );
    check_with(
        "codex",
        "[mcp_servers]\n  deskhand = { url = \"a\", env = { \"A B\" = 'c' }, n = 1_000 } # mine\nb = {}\n",
        true,
        expect![[r#"
            Replaced(["+ command: \"/usr/bin/deskhand\"", "+ args: [\"serve\"]", "- url: \"a\""])
            [mcp_servers]
              deskhand = { command = "/usr/bin/deskhand", args = ["serve"], env = { "A B" = 'c' }, n = 1_000 } # mine
            b = {}
        "#]],
    );
    check_with(
        "codex",
        "[mcp_servers.deskhand]\nurl = 'a'\n[mcp_servers.deskhand.headers]\nA = 'b'\n\n# next\n[z]\n",
        true,
        expect![[r#"
            Replaced(["+ command: \"/usr/bin/deskhand\"", "+ args: [\"serve\"]", "- url: \"a\"", "- headers"])
            [mcp_servers.deskhand]
            command = "/usr/bin/deskhand"
            args = ["serve"]

            # next
            [z]
        "#]],
    );
    check_with(
        "codex",
        "[mcp_servers.deskhand]",
        true,
        expect![[r#"
            Replaced(["+ command: \"/usr/bin/deskhand\"", "+ args: [\"serve\"]"])
            [mcp_servers.deskhand]
            command = "/usr/bin/deskhand"
            args = ["serve"]
        "#]],
    );
}

#[test]
fn a_file_that_cannot_be_understood_is_refused() {
    for (id, text, expected) in [
        (
            "cursor",
            "{\n  \"mcpServers\": {\n    \"a\": }\n}",
            expect!["file:3:10: this is not JSON: Unexpected close brace."],
        ),
        ("cursor", "{\n  \"a\": 1\n  \"b\": 2\n}", expect!["file:2:9: this is not JSON: Expected comma."]),
        (
            "cursor",
            "{ 'a': 1 }",
            expect!["file:1:3: this is not JSON: Single-quoted strings are not allowed."],
        ),
        (
            "cursor",
            "{ \"é\": \"ü\", b: 1 }",
            expect!["file:1:13: this is not JSON: Expected string for object property."],
        ),
        ("cursor", "[]", expect!["file:1:1: the file is a list, where an object is expected."]),
        (
            "cursor",
            "{\n  \"mcpServers\": [\n  ]\n}",
            expect![[r#"file:2:17: "mcpServers" is a list, where an object is expected."#]],
        ),
        (
            "cursor",
            "{\"mcpServers\": null}",
            expect![[r#"file:1:16: "mcpServers" is null, where an object is expected."#]],
        ),
        (
            "cursor",
            "{\"mcpServers\": {},\n \"mcpServers\": {}}",
            expect![[r#"file:2:2: "mcpServers" stands there twice."#]],
        ),
        (
            "cursor",
            "{\"mcpServers\": {\"deskhand\": {}, \"deskhand\": {}}}",
            expect![[r#"file:1:33: "deskhand" stands there twice."#]],
        ),
        (
            "cursor",
            "{} {}",
            expect!["file:1:4: this is not JSON: Text cannot contain more than one JSON value."],
        ),
        ("codex", "a = 1\nb = = 2\n", expect!["file:2:5: this is not TOML: extra `=`."]),
        ("codex", "a = 1\na = 2\n", expect!["file:2:1: this is not TOML: a is said twice."]),
        ("codex", "[a]\nb = 1\n[a]\n", expect!["file:3:1: this is not TOML: a is said twice."]),
        ("codex", "a = 'b\n", expect!["file:1:7: this is not TOML: invalid literal string."]),
        (
            "codex",
            "[[mcp_servers]]\n",
            expect!["file:1:1: mcp_servers is a list, where a table is expected."],
        ),
        ("codex", "mcp_servers = 3\n", expect!["file:1:1: mcp_servers is 3, where a table is expected."]),
        (
            "codex",
            "mcp_servers = { a = { command = \"b\" } }\n",
            expect![
                "file:1:15: mcp_servers is written within braces, and nothing can be added to it from elsewhere."
            ],
        ),
    ] {
        check(id, text, expected);
    }
}

#[test]
fn removing_leaves_the_rest() {
    for (id, text, expected) in [
        (
            "codex",
            "[mcp_servers]\na = {}\ndeskhand.command = 'deskhand' # ours\n",
            expect![[r#"
            [mcp_servers]
            a = {}
        "#]],
        ),
        (
            "codex",
            "mcp_servers = { a = { x = [1, 2.5, 1979-05-27] }, deskhand = { command = 'deskhand' } }\n",
            expect![[r#"
                mcp_servers = { a = { x = [1, 2.5, 1979-05-27] } }
            "#]],
        ),
        (
            "codex",
            "# mine\n\n[a]\nb = 1\n\n[mcp_servers.deskhand]\ncommand = 'deskhand'\n# the end\n",
            expect![[r#"
                # mine

                [a]
                b = 1

                # the end
            "#]],
        ),
        (
            "cursor",
            r#"{"mcpServers": {"deskhand": {"command": "deskhand"}, "b": {}}}"#,
            expect![[r#"{"mcpServers": {"b": {}}}"#]],
        ),
        (
            "cursor",
            r#"{"mcpServers": {"b": {}, "deskhand": {"command": "deskhand"}}}"#,
            expect![[r#"{"mcpServers": {"b": {}}}"#]],
        ),
        (
            "cursor",
            "{\n  \"mcpServers\": {\n    \"a\": {}, // a\n    // ours\n    \"deskhand\": {\n      \"command\": \"/old/deskhand\"\n    }\n  }\n}\n",
            expect![[r#"
            {
              "mcpServers": {
                "a": {} // a
                // ours
              }
            }
        "#]],
        ),
        (
            "zed",
            "{\n  \"context_servers\": {\n    \"deskhand\": { \"command\": \"deskhand\" },\n  },\n}\n",
            expect![[r#"
            {
              "context_servers": {},
            }
        "#]],
        ),
        (
            "cursor",
            r#"{"mcpServers": {"deskhand": {"command": "npx"}}}"#,
            expect![[
                r#"Kept(["- command: \"npx\"", "+ command: \"/usr/bin/deskhand\"", "+ args: [\"serve\"]"])"#
            ]],
        ),
        (
            "codex",
            "a = 1\n\n[mcp_servers.deskhand]\ncommand = \"deskhand\"\n\n[mcp_servers.deskhand.env]\nA = \"1\"\n\n[z]\nb = 2 # c\n",
            expect![[r#"
            a = 1

            [z]
            b = 2 # c
        "#]],
        ),
    ] {
        let (outcome, new) = take(client(id), text, &entry(), false).unwrap();
        expected.assert_eq(&new.unwrap_or_else(|| format!("{outcome:?}")));
    }
}

#[test]
fn every_client_on_every_system() {
    let mut lines = String::new();
    for platform in Platform::ALL {
        let at = Surroundings::new(platform, Path::new("/home/me"), |_| None);
        for client in CLIENTS {
            for scope in [Scope::User, Scope::Project] {
                if let Some(path) = client.file(scope, "deskhand", &at) {
                    lines.push_str(&format!("{platform:?} {} {}\n", client.id, path.display()));
                }
            }
        }
    }
    expect![[r#"
        Linux claude-code /home/me/.claude.json
        Linux claude-code .mcp.json
        Linux claude-desktop /home/me/.config/Claude/claude_desktop_config.json
        Linux cline /home/me/.cline/data/settings/cline_mcp_settings.json
        Linux codex /home/me/.codex/config.toml
        Linux codex .codex/config.toml
        Linux continue /home/me/.continue/mcpServers/deskhand.json
        Linux continue .continue/mcpServers/deskhand.json
        Linux cursor /home/me/.cursor/mcp.json
        Linux cursor .cursor/mcp.json
        Linux gemini-cli /home/me/.gemini/settings.json
        Linux gemini-cli .gemini/settings.json
        Linux vscode /home/me/.config/Code/User/mcp.json
        Linux vscode .vscode/mcp.json
        Linux windsurf /home/me/.codeium/windsurf/mcp_config.json
        Linux zed /home/me/.config/zed/settings.json
        Linux zed .zed/settings.json
        MacOs claude-code /home/me/.claude.json
        MacOs claude-code .mcp.json
        MacOs claude-desktop /home/me/Library/Application Support/Claude/claude_desktop_config.json
        MacOs cline /home/me/.cline/data/settings/cline_mcp_settings.json
        MacOs codex /home/me/.codex/config.toml
        MacOs codex .codex/config.toml
        MacOs continue /home/me/.continue/mcpServers/deskhand.json
        MacOs continue .continue/mcpServers/deskhand.json
        MacOs cursor /home/me/.cursor/mcp.json
        MacOs cursor .cursor/mcp.json
        MacOs gemini-cli /home/me/.gemini/settings.json
        MacOs gemini-cli .gemini/settings.json
        MacOs vscode /home/me/Library/Application Support/Code/User/mcp.json
        MacOs vscode .vscode/mcp.json
        MacOs windsurf /home/me/.codeium/windsurf/mcp_config.json
        MacOs zed /home/me/.config/zed/settings.json
        MacOs zed .zed/settings.json
        Windows claude-code /home/me/.claude.json
        Windows claude-code .mcp.json
        Windows claude-desktop /home/me/AppData/Roaming/Claude/claude_desktop_config.json
        Windows cline /home/me/.cline/data/settings/cline_mcp_settings.json
        Windows codex /home/me/.codex/config.toml
        Windows codex .codex/config.toml
        Windows continue /home/me/.continue/mcpServers/deskhand.json
        Windows continue .continue/mcpServers/deskhand.json
        Windows cursor /home/me/.cursor/mcp.json
        Windows cursor .cursor/mcp.json
        Windows gemini-cli /home/me/.gemini/settings.json
        Windows gemini-cli .gemini/settings.json
        Windows vscode /home/me/AppData/Roaming/Code/User/mcp.json
        Windows vscode .vscode/mcp.json
        Windows windsurf /home/me/.codeium/windsurf/mcp_config.json
        Windows zed /home/me/AppData/Roaming/Zed/settings.json
        Windows zed .zed/settings.json
    "#]]
    .assert_eq(&lines);
}

#[test]
fn variables_that_move_files() {
    let elsewhere = |name: &str| match name {
        "XDG_CONFIG_HOME" => Some("/config".into()),
        "CLAUDE_CONFIG_DIR" => Some("/claude".into()),
        "CODEX_HOME" => Some("/codex".into()),
        _ => None,
    };
    let at = Surroundings::new(Platform::Linux, Path::new("/home/me"), elsewhere);
    let files: Vec<PathBuf> = ["vscode", "zed", "claude-code", "codex"]
        .iter()
        .filter_map(|id| client(id).file(Scope::User, "deskhand", &at))
        .collect();
    assert_eq!(
        files,
        [
            "/config/Code/User/mcp.json",
            "/config/zed/settings.json",
            "/claude/.claude.json",
            "/codex/config.toml"
        ]
        .map(PathBuf::from)
    );
    let relative = Surroundings::new(Platform::Linux, Path::new("/home/me"), |_| Some("relative".into()));
    assert_eq!(
        client("vscode").file(Scope::User, "deskhand", &relative),
        Some("/home/me/.config/Code/User/mcp.json".into())
    );
}

#[test]
fn commands_of_clients_are_for_a_shell() {
    let entry = Entry {
        name: "deskhand".into(),
        command: "/home/it's me/deskhand".into(),
        arguments: vec!["serve".into(), "--virtual".into(), "1280x800".into()],
    };
    let lines: Vec<String> =
        CLIENTS.iter().filter_map(|client| client.own_command(Scope::User, &entry)).collect();
    expect![[r#"
        claude mcp add --scope user deskhand -- '/home/it'\''s me/deskhand' serve --virtual 1280x800
        codex mcp add deskhand -- '/home/it'\''s me/deskhand' serve --virtual 1280x800
        gemini mcp add --scope user deskhand '/home/it'\''s me/deskhand' serve --virtual 1280x800
        code --add-mcp '{"name":"deskhand","command":"/home/it'\''s me/deskhand","args":["serve","--virtual","1280x800"]}'"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn the_table_is_sound() {
    let mut ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids, CLIENTS.iter().map(|client| client.id).collect::<Vec<_>>(), "each once, by name");
    for client in CLIENTS {
        assert!(client.next.ends_with('.') && !client.title.is_empty(), "{}", client.id);
        let text = snippet(client, &entry());
        assert_eq!(difference(client, &client.look(&text, "deskhand").unwrap().unwrap(), &entry()), [""; 0]);
    }
}

mod files {
    use super::*;
    use std::fs;

    /// A folder that ends with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("deskhand-install-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path.canonicalize().unwrap())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn folders_are_made_and_nothing_is_left_over() {
        let folder = Folder::new("made");
        let path = folder.0.join("a/b/mcp.json");
        assert_eq!(install(client("cursor"), &path, &entry(), false).unwrap(), Outcome::Added);
        let again = install(client("cursor"), &path, &entry(), false).unwrap();
        assert_eq!(again, Outcome::AlreadyThere { off: false });
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert_eq!(remove(client("cursor"), &path, &entry(), false).unwrap(), Outcome::Removed);
        assert_eq!(remove(client("cursor"), &path, &entry(), false).unwrap(), Outcome::NotThere);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_the_mode_is_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("links");
        let (real, link) = (folder.0.join("real.json"), folder.0.join("mcp.json"));
        fs::write(&real, "{}").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("real.json", &link).unwrap();
        install(client("cursor"), &link, &entry(), false).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(&real).unwrap().contains("deskhand"));
        // One that leads nowhere yet, as dotfiles do before their first use.
        let (real, link) = (folder.0.join("dotfiles/later.json"), folder.0.join("later.json"));
        symlink(&real, &link).unwrap();
        install(client("cursor"), &link, &entry(), false).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && real.is_file());
        // One that leads to itself.
        let round = folder.0.join("round.json");
        symlink("round.json", &round).unwrap();
        assert!(install(client("cursor"), &round, &entry(), false).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_changed_stays_as_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("kept");
        let path = folder.0.join("mcp.json");
        for (bytes, mode, said) in [
            (&b"{\"a\": \xff}"[..], 0o644, "is not UTF-8: byte 7"),
            (b"{", 0o644, ":1:1: this is not JSON"),
            (b"{}", 0o444, "could not be written"),
        ] {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = install(client("cursor"), &path, &entry(), false).unwrap_err();
            assert!(error.message.contains(said), "{}", error.message);
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
            fs::remove_file(&path).unwrap();
        }
        assert!(install(client("cursor"), &folder.0, &entry(), false).is_err(), "a folder");
    }

    #[test]
    fn what_somebody_else_writes_meanwhile_is_not_lost() {
        let folder = Folder::new("meanwhile");
        let path = folder.0.join("mcp.json");
        fs::write(&path, "{\"new\": 1}").unwrap();
        let error = file::write(&path, Some("{}"), "{\"ours\": 1}").unwrap_err();
        assert_eq!(error.code, Code::TargetChanged);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"new\": 1}");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }
}

/// White space and comments, as people leave them between things.
fn between() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n".to_owned()),
        1 => Just("\n\t".to_owned()),
        1 => Just("\r\n  ".to_owned()),
        1 => Just(" /* , } */ ".to_owned()),
        1 => Just(" // , {\n".to_owned()),
    ]
}

/// An object of JSON with comments whose members have these names.
fn object_of(members: Vec<(String, String)>) -> BoxedStrategy<String> {
    let count = members.len();
    (prop::collection::vec(between(), count * 4 + 1), any::<bool>())
        .prop_map(move |(gaps, trailing)| {
            let mut text = format!("{{{}", gaps[0]);
            for (index, (key, value)) in members.iter().enumerate() {
                let gap = |which: usize| &gaps[index * 4 + which + 1];
                text.push_str(&format!("{key:?}{}:{}{value}{}", gap(0), gap(1), gap(2)));
                if index + 1 < count || trailing {
                    text.push_str(&format!(",{}", gap(3)));
                }
            }
            text.push('}');
            text
        })
        .boxed()
}

fn file() -> impl Strategy<Value = String> {
    let values =
        || prop::sample::select(vec!["1", "\"}, \\\" {\"", "[ 1, {} ]", "{ \"deskhand\": 1 }", "null"]);
    let servers = prop::collection::vec(values(), 0..4).prop_flat_map(|values| {
        object_of(values.iter().enumerate().map(|(i, v)| (format!("s{i}"), (*v).to_owned())).collect())
    });
    (servers, prop::collection::vec(values(), 0..3), 0..4usize, between(), between()).prop_flat_map(
        |(servers, others, place, before, after)| {
            let mut members: Vec<(String, String)> =
                others.iter().enumerate().map(|(i, v)| (format!("m{i}"), (*v).to_owned())).collect();
            if place <= members.len() {
                members.insert(place, ("mcpServers".to_owned(), servers));
            }
            object_of(members).prop_map(move |object| format!("{before}{object}{after}"))
        },
    )
}

fn toml_file() -> impl Strategy<Value = String> {
    let lines = prop::sample::select(vec![
        "",
        "# note",
        "\t",
        "[a]",
        "[a.b] # c",
        "[[list]]",
        "[mcp_servers.other]",
        "[mcp_servers.other.env]",
        "[\"mcp_servers\".'x y']",
    ]);
    let members = prop::sample::select(vec![
        "",
        "k = 1",
        "'k' = [ 1, # one\n  2 ]",
        "k = \"\"\"\n[deskhand]\n\"\"\"",
        "k.l = {}",
    ]);
    let ends = prop::sample::select(vec!["\n", "\r\n"]);
    (prop::collection::vec((lines, members), 0..6), ends, any::<bool>()).prop_map(|(lines, end, last)| {
        let mut seen = Vec::new();
        let mut text = String::new();
        for (line, member) in lines {
            let is_head = line.starts_with('[');
            // A head may stand once, and a member once below each.
            if is_head && (seen.contains(&line) && !line.starts_with("[["))
                || (!is_head && !member.is_empty())
            {
                continue;
            }
            seen.push(line);
            text.push_str(&format!("{line}{end}{member}{end}"));
        }
        if last { text } else { text.trim_end().to_owned() }
    })
}

/// A file as a value, without its comments.
fn value(text: &str) -> Value {
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &Default::default()).unwrap();
    fn plain(node: &jsonc_parser::ast::Value) -> Value {
        use jsonc_parser::ast::Value as Node;
        match node {
            Node::Object(object) => {
                object.properties.iter().map(|m| (m.name.as_str().to_owned(), plain(&m.value))).collect()
            }
            Node::Array(list) => list.elements.iter().map(plain).collect(),
            Node::StringLit(text) => text.value.as_ref().into(),
            Node::NumberLit(number) => number.value.into(),
            Node::BooleanLit(flag) => flag.value.into(),
            Node::NullKeyword(_) => Value::Null,
        }
    }
    plain(parsed.value.as_ref().unwrap())
}

proptest! {
    #[test]
    fn any_toml_keeps_every_byte_but_the_new_ones(text in toml_file()) {
        let client = client("codex");
        let (outcome, new) = put(client, &text, &entry(), false).unwrap();
        prop_assert_eq!(outcome, Outcome::Added);
        let new = new.unwrap();
        prop_assert!(new.starts_with(&text), "{}", new);
        let (_, back) = take(client, &new, &entry(), false).unwrap();
        let back = back.unwrap();
        prop_assert_eq!(back.trim_end(), text.trim_end());
    }

    #[test]
    fn any_file_keeps_every_byte_but_the_new_ones(text in file()) {
        let client = client("cursor");
        let (outcome, new) = put(client, &text, &entry(), false).unwrap();
        prop_assert_eq!(outcome, Outcome::Added);
        let new = new.unwrap();
        // What was there is there, in its order.
        let mut rest = new.chars();
        let kept = text.chars().filter(|c| !c.is_whitespace()).all(|wanted| rest.any(|seen| seen == wanted));
        prop_assert!(kept, "{}\n{}", text, new);
        let mut wanted = value(&text);
        let ours = serde_json::json!({ "command": "/usr/bin/deskhand", "args": ["serve"] });
        match wanted.get_mut("mcpServers") {
            Some(servers) => servers["deskhand"] = ours,
            None => wanted["mcpServers"] = serde_json::json!({ "deskhand": ours }),
        }
        prop_assert_eq!(value(&new), wanted);
        // And what was put in comes out again.
        let (_, back) = take(client, &new, &entry(), false).unwrap();
        let mut without = value(&text);
        if without.get("mcpServers").is_none() {
            without["mcpServers"] = serde_json::json!({});
        }
        prop_assert_eq!(value(&back.unwrap()), without);
    }
}
