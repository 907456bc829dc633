//! The configuration file of `deskhand serve`.

use crate::process::program;
use std::path::PathBuf;

/// A folder for a file, as XDG_CONFIG_HOME.
struct Home(PathBuf);

impl Home {
    fn with(name: &str, text: &str) -> Home {
        let folder = std::env::temp_dir().join(format!("deskhand-settings-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("deskhand")).unwrap();
        std::fs::write(folder.join("deskhand/config.toml"), text).unwrap();
        Home(folder)
    }

    /// What --print-config says, or what is said against it.
    fn print(&self, more: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
        let mut command = program(&["serve", "--print-config"]);
        command.args(more).env("XDG_CONFIG_HOME", &self.0).envs(variables.iter().copied());
        command.env_remove("DESKHAND_FIND_SESSION");
        let output = command.output().unwrap();
        let text = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.code(), String::from_utf8(text).unwrap())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_option_goes_before_a_variable_and_that_before_the_file() {
    let home = Home::with(
        "order",
        "port = 4001\nhost = \"localhost\"\nprofile = \"full\"\nhttp = true\nallow = [\"shell\", \"script\"]\n",
    );
    let (code, text) = home.print(
        &["--port", "4003", "--deny", "click"],
        &[("DESKHAND_PORT", "4002"), ("DESKHAND_PROFILE", "catalogue"), ("MCP_MOUSE_TIMEOUT_MS", "700")],
    );
    assert_eq!(code, Some(0), "{text}");
    for line in [
        "port = 4003  # --port",
        "profile = \"catalogue\"  # DESKHAND_PROFILE",
        "host = \"localhost\"  # file, line 2",
        "http = true  # file, line 4",
        "allow = [\"shell\",\"script\"]  # file, line 5",
        "deny = [\"click\"]  # --deny",
        "input-timeout-ms = 700  # MCP_MOUSE_TIMEOUT_MS",
        "stdio = false  # default",
        "# unix is not set",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} is missing:\n{text}");
    }
    assert!(text.contains(&format!("{}/deskhand/config.toml", home.0.display())), "{text}");
    // What it prints is a file that says the same.
    let again = Home::with("again", &text);
    let (code, same) = again.print(&[], &[]);
    assert_eq!(code, Some(0), "{same}");
    let values = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split("  #").next().unwrap().to_owned()).collect()
    };
    assert_eq!(values(&text), values(&same));
    let (_, none) = home.print(&["--config", "/dev/null"], &[]);
    assert!(none.lines().any(|line| line == "port = 3457  # default"), "{none}");
}

#[test]
fn an_option_takes_the_place_of_what_it_cannot_be_with() {
    let home = Home::with("conflict", "virtual = \"800x600\"\nno-auth = true\n");
    let (code, text) = home.print(&["--display", ":7", "--token-file", "/tmp/t"], &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("# virtual is not set") && text.contains("no-auth = false  # default"), "{text}");
    let off = Home::with("off", "token-file = \"/tmp/t\"\n");
    let (_, text) = off.print(&[], &[("DESKHAND_NO_AUTH", "0")]);
    assert!(
        text.contains("token-file = \"/tmp/t\"  # file, line 1"),
        "a switch that is off is in nothing's way: {text}"
    );
    let both = Home::with("both", "display = \":1\"\nvirtual = true\n");
    let (code, text) = both.print(&[], &[]);
    assert_eq!(code, Some(2));
    assert!(text.contains("cannot be used with") && text.contains("line 1"), "{text}");
}

#[test]
fn a_wrong_file_starts_nothing() {
    let home = Home::with("wrong", "http = true\nprot = 4001\n");
    let (code, text) = home.print(&[], &[]);
    assert_eq!(code, Some(2));
    assert!(text.contains("config.toml:2") && text.contains("found: port"), "{text}");
    let (code, text) = home.print(&["--config", "/nonexistent/desk.toml"], &[]);
    assert_eq!((code, text.contains("/nonexistent/desk.toml cannot be read")), (Some(2), true), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let file = home.0.join("deskhand/config.toml");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(home.print(&[], &[]).1.contains("others can write it"));
    }
}

#[test]
fn what_the_file_says_holds_for_the_server() {
    let home = Home::with("holds", "read-only = true\ndeny = [\"list_windows\"]\n");
    let file = home.0.join("deskhand/config.toml");
    let output = program(&["serve", "--config"]).arg(&file).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("\"read_only\":true") && log.contains("\"event\":\"config\""), "{log}");
}
