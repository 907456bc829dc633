//! `deskhand install` from the outside, and that the documentation shows what it writes.

use crate::process::program;
use deskhand::install::{CLIENTS, Client, Entry, Platform, Scope, Surroundings, snippet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A home of its own, which ends with the test.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Home {
        let path = std::env::temp_dir().join(format!("deskhand-home-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Home(path.canonicalize().unwrap())
    }

    fn install(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = program(&[&["install"], arguments].concat());
        for name in ["XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "APPDATA"] {
            command.env_remove(name);
        }
        let Output { status, stdout, stderr } =
            command.env("HOME", &self.0).current_dir(&self.0).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(self.0.to_str().unwrap(), "~");
        (status.code(), text(stdout), text(stderr))
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_client_is_told_found_and_forgotten() {
    let home = Home::new("every");
    for client in CLIENTS {
        let id = client.id;
        let (code, said, _) = home.install(&[id]);
        assert!(code == Some(0) && said.contains("has deskhand now, in ~/"), "{id}: {said}");
        assert!(said.contains("Nothing of ") && said.contains("--file"), "{id} has never been here: {said}");
        let (code, said, _) = home.install(&[id]);
        assert!(code == Some(0) && said.contains("already"), "{id}: {said}");
        let (code, said, complained) = home.install(&[id, "--virtual", "--", "--read-only"]);
        assert!(code == Some(1) && said.is_empty(), "{id}: {said}");
        assert!(
            complained.contains(r#"+ args: ["serve","--virtual","1280x800","--read-only"]"#),
            "{complained}"
        );
        let (code, said, _) = home.install(&[id, "--force", "--", "--profile", "full"]);
        assert!(code == Some(0) && said.contains(r#"- args: ["serve"]"#), "{id}: {said}");
    }
    let (code, list, _) = home.install(&["--list"]);
    assert_eq!(code, Some(0));
    let there =
        list.lines().filter(|line| line.contains(" user ") && line.contains("something else")).count();
    assert_eq!(there, CLIENTS.len(), "{list}");
    for client in CLIENTS {
        let (code, said, _) = home.install(&[client.id, "--remove"]);
        assert!(code == Some(0) && said.contains("no deskhand any more"), "{said}");
    }
}

#[test]
fn the_program_is_named_by_its_full_path() {
    let home = Home::new("path");
    home.install(&["cursor"]);
    let written = home.read(".cursor/mcp.json");
    assert!(written.contains(&format!("\"command\": {:?}", env!("CARGO_BIN_EXE_deskhand"))), "{written}");
}

#[test]
fn a_project_has_files_of_its_own() {
    let home = Home::new("project");
    for client in CLIENTS {
        let (code, said, complained) =
            home.install(&[client.id, "--scope", "project", "--command", "deskhand"]);
        match client.knows_projects() {
            true => assert_eq!(code, Some(0), "{complained}"),
            false => {
                assert!(code == Some(2) && complained.contains("no configuration of a project"), "{said}");
            }
        }
    }
    assert!(home.read(".mcp.json").contains("\"command\": \"deskhand\""));
}

#[test]
fn printing_changes_nothing() {
    let home = Home::new("print");
    let (code, said, complained) = home.install(&["vscode", "--print", "--name", "desk"]);
    assert!(code == Some(0) && said.starts_with("{\n  \"servers\": {\n    \"desk\": {"), "{said}");
    assert!(
        complained.contains("Code/User/mcp.json") && complained.contains("code --add-mcp"),
        "{complained}"
    );
    assert_eq!(fs::read_dir(&home.0).unwrap().count(), 0);
}

#[test]
fn what_would_not_serve_the_client_is_refused_here() {
    let home = Home::new("refused");
    for (arguments, said) in [
        (&["cursor", "--", "--profle", "full"][..], "--profle"),
        (&["cursor", "--", "--deny", "nothing"], "nothing"),
        (&["cursor", "--", "--http"], "--stdio"),
        (&["cursor", "--name", "my desk"], "letters"),
        (&["cursor", "--virtual", "big"], "big"),
        (&["emacs"], "emacs"),
        (&[], "CLIENT"),
    ] {
        let (code, _, complained) = home.install(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {complained}");
        assert!(complained.contains(said), "{arguments:?}: {complained}");
    }
    assert_eq!(home.install(&["cursor", "--", "--http", "--stdio"]).0, Some(0));
}

#[test]
fn a_broken_file_is_left_alone() {
    let home = Home::new("broken");
    fs::create_dir(home.0.join(".cursor")).unwrap();
    fs::write(home.0.join(".cursor/mcp.json"), "{\n  \"mcpServers\": {,}\n}").unwrap();
    let (code, _, complained) = home.install(&["cursor"]);
    assert!(code == Some(1) && complained.contains("mcp.json:2:18: this is not JSON"), "{complained}");
    assert_eq!(home.read(".cursor/mcp.json"), "{\n  \"mcpServers\": {,}\n}");
    assert!(home.install(&["--list"]).1.contains("cannot be read"));
}

/// What the documentation shows: the program as it is found in PATH.
fn shown() -> Entry {
    Entry { name: "deskhand".into(), command: "deskhand".into(), arguments: vec!["serve".into()] }
}

fn file(client: &Client, scope: Scope, platform: Platform) -> Option<String> {
    let home = match platform {
        Platform::Windows => "%USERPROFILE%",
        Platform::Linux | Platform::MacOs => "~",
    };
    let appdata = |name: &str| (name == "APPDATA").then(|| "%APPDATA%".into());
    let at = Surroundings::new(platform, Path::new(home), appdata);
    let path = client.file(scope, "deskhand", &at)?.display().to_string();
    Some(if platform == Platform::Windows { path.replace('/', "\\") } else { path })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_readme_shows_every_client() {
    let mut table =
        String::from("| client | copy and paste | the file it changes (Linux) |\n|---|---|---|\n");
    for client in CLIENTS {
        let path = file(client, Scope::User, Platform::Linux).unwrap();
        table.push_str(&format!("| {} | `deskhand install {}` | `{path}` |\n", client.title, client.id));
    }
    let (from, to) = ("<!-- made by a test from `deskhand install` -->\n", "<!-- until here -->");
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(from).expect("the README has the mark");
    let (is, after) = rest.split_once(to).expect("the README has the end mark");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{before}{from}{table}{to}{after}")).unwrap();
    } else {
        assert_eq!(is, table, "UPDATE_EXPECT=1 rewrites it");
    }
}

#[test]
fn the_page_of_clients_is_fresh() {
    let mut page = String::from(
        "# Clients\n\n\
         What `deskhand install CLIENT` writes, to put in by hand where you would rather do that. It writes the full path \
         of\nthe program instead of `deskhand`, since few clients have your shell's PATH. This page is made by a test \
         from the same\ntable; `deskhand install CLIENT --print` shows yours.\n",
    );
    for client in CLIENTS {
        page.push_str(&format!("\n## {}\n\n```sh\ndeskhand install {}\n```\n", client.title, client.id));
        if let Some(command) = client.own_command(Scope::User, &shown()) {
            page.push_str(&format!("\nBy its own command:\n\n```sh\n{command}\n```\n"));
        }
        let language = if client.under == "mcp_servers" { "toml" } else { "json" };
        page.push_str(&format!("\nBy hand:\n\n```{language}\n{}```\n\n", snippet(client, &shown())));
        let files = Platform::ALL.map(|platform| file(client, Scope::User, platform).unwrap());
        let [linux, mac, windows] = &files;
        let project = match file(client, Scope::Project, Platform::Linux) {
            Some(path) => format!("- `--scope project`: `{path}`\n"),
            None => String::new(),
        };
        page.push_str(&format!(
            "- Linux: `{linux}`\n- macOS: `{mac}`\n- Windows: `{windows}`\n{project}\n{}\n",
            client.next
        ));
    }
    expect_test::expect_file![root().join("docs/clients.md")].assert_eq(&page);
}
