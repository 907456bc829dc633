//! The clients: where each keeps its servers, and how an entry looks there. The table is all that is known of them.

use super::{Entry, Format};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// One client.
pub struct Client {
    /// Its name on the command line.
    pub id: &'static str,
    /// Its name.
    pub title: &'static str,
    /// How its file is written.
    pub(super) format: Format,
    /// The member under which the servers stand.
    pub under: &'static str,
    /// Whether an entry tells the kind of its transport.
    pub(super) typed: bool,
    /// The file for all of a person's projects, with the name of the entry.
    user: fn(&Surroundings, &str) -> PathBuf,
    /// The file in a project's folder, where there is one.
    project: Option<fn(&str) -> PathBuf>,
    /// The command line of its own that does the same, as words, where there is one.
    own: fn(Scope, &Entry) -> Option<Vec<String>>,
    /// What a person does next.
    pub next: &'static str,
}

/// For whom a client is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Scope {
    /// For all that the person does.
    #[default]
    User,
    /// For one project: everybody who works in this folder.
    Project,
}

/// The systems on which clients keep their files in different places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Platform {
    /// Linux, and what is like it.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Platform {
    /// All of them.
    pub const ALL: [Platform; 3] = [Platform::Linux, Platform::MacOs, Platform::Windows];

    /// The one that this program was built for.
    pub const fn here() -> Platform {
        if cfg!(target_os = "macos") {
            Platform::MacOs
        } else if cfg!(windows) {
            Platform::Windows
        } else {
            Platform::Linux
        }
    }
}

/// Where files are looked for.
#[derive(Clone, Debug)]
pub struct Surroundings {
    platform: Platform,
    home: PathBuf,
    /// `~/.config`, `~/Library/Application Support` or `%APPDATA%`.
    config: PathBuf,
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
}

impl Surroundings {
    /// Those of this process; none where nobody says whose home it is.
    pub fn here() -> Option<Surroundings> {
        let home = std::env::home_dir().filter(|home| home.is_absolute())?;
        Some(Surroundings::new(Platform::here(), &home, |name| std::env::var_os(name)))
    }

    /// Those of a home folder and an environment.
    pub fn new(platform: Platform, home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Surroundings {
        // A relative path in these variables means nothing, by the XDG specification.
        let folder = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let config = match platform {
            Platform::Linux => folder("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            Platform::MacOs => home.join("Library/Application Support"),
            Platform::Windows => {
                variable("APPDATA").map_or_else(|| home.join("AppData/Roaming"), PathBuf::from)
            }
        };
        Surroundings {
            platform,
            home: home.to_owned(),
            config,
            claude: folder("CLAUDE_CONFIG_DIR"),
            codex: folder("CODEX_HOME"),
        }
    }
}

impl Client {
    /// The client of that name.
    pub fn find(id: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.id == id)
    }

    /// The file that holds an entry of that name; a project's is relative to its folder. None where the client has no
    /// such scope.
    pub fn file(&self, scope: Scope, name: &str, surroundings: &Surroundings) -> Option<PathBuf> {
        match scope {
            Scope::User => Some((self.user)(surroundings, name)),
            Scope::Project => self.project.map(|project| project(name)),
        }
    }

    /// Whether it has a file in a project's folder.
    pub fn knows_projects(&self) -> bool {
        self.project.is_some()
    }

    /// Whether the client has ever written anything here, as far as its own folder or file tells.
    pub fn has_been_here(&self, surroundings: &Surroundings) -> bool {
        let path = (self.user)(surroundings, "");
        let first = [&surroundings.config, &surroundings.home].into_iter().find_map(|base| {
            let below = path.strip_prefix(base).ok()?;
            Some(base.join(below.components().next()?))
        });
        first.is_none_or(|path| path.exists())
    }

    /// The command of its own that makes the same entry, for a shell.
    pub fn own_command(&self, scope: Scope, entry: &Entry) -> Option<String> {
        let words = (self.own)(scope, entry)?;
        Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
    }
}

/// Every client that is known, by name.
pub const CLIENTS: &[Client] = &[
    // https://code.claude.com/docs/en/mcp
    Client {
        id: "claude-code",
        title: "Claude Code",
        format: Format::Json,
        under: "mcpServers",
        typed: true,
        user: |at, _| at.claude.as_ref().unwrap_or(&at.home).join(".claude.json"),
        project: Some(|_| ".mcp.json".into()),
        own: |scope, entry| Some(with_words(&["claude", "mcp", "add", "--scope"], scope, &["--"], entry)),
        next: "Start Claude Code anew; /mcp lists its servers. It asks before it uses one of a project.",
    },
    // https://modelcontextprotocol.io/docs/develop/connect-local-servers
    Client {
        id: "claude-desktop",
        title: "Claude Desktop",
        format: Format::Json,
        under: "mcpServers",
        typed: false,
        user: |at, _| at.config.join("Claude/claude_desktop_config.json"),
        project: None,
        own: |_, _| None,
        next: "Quit Claude Desktop and start it again.",
    },
    // https://docs.cline.bot/getting-started/config
    Client {
        id: "cline",
        title: "Cline",
        format: Format::Json,
        under: "mcpServers",
        typed: false,
        user: |at, _| at.home.join(".cline/data/settings/cline_mcp_settings.json"),
        project: None,
        own: |_, _| None,
        next: "Cline reads the file at once. Older versions keep it in the editor's globalStorage: name that one with --file.",
    },
    // https://developers.openai.com/codex/mcp
    Client {
        id: "codex",
        title: "Codex",
        format: Format::Toml,
        under: "mcp_servers",
        typed: false,
        user: |at, _| match &at.codex {
            Some(folder) => folder.join("config.toml"),
            None => at.home.join(".codex/config.toml"),
        },
        project: Some(|_| ".codex/config.toml".into()),
        own: |scope, entry| match scope {
            Scope::User => Some(words(&["codex", "mcp", "add", &entry.name, "--"], entry)),
            Scope::Project => None,
        },
        next: "Start Codex anew; /mcp lists its servers.",
    },
    // https://docs.continue.dev/customize/deep-dives/mcp: files of Claude's form, in a folder for them
    Client {
        id: "continue",
        title: "Continue",
        format: Format::Json,
        under: "mcpServers",
        typed: false,
        user: |at, name| at.home.join(format!(".continue/mcpServers/{name}.json")),
        project: Some(|name| format!(".continue/mcpServers/{name}.json").into()),
        own: |_, _| None,
        next: "Continue offers tools in its agent mode.",
    },
    // https://cursor.com/docs/mcp
    Client {
        id: "cursor",
        title: "Cursor",
        format: Format::Json,
        under: "mcpServers",
        typed: false,
        user: |at, _| at.home.join(".cursor/mcp.json"),
        project: Some(|_| ".cursor/mcp.json".into()),
        own: |_, _| None,
        next: "Cursor lists its servers in its settings: see that it is switched on there.",
    },
    // https://geminicli.com/docs/tools/mcp-server
    Client {
        id: "gemini-cli",
        title: "Gemini CLI",
        format: Format::Json,
        under: "mcpServers",
        typed: false,
        user: |at, _| at.home.join(".gemini/settings.json"),
        project: Some(|_| ".gemini/settings.json".into()),
        own: |scope, entry| Some(with_words(&["gemini", "mcp", "add", "--scope"], scope, &[], entry)),
        next: "Start Gemini CLI anew; /mcp lists its servers.",
    },
    // https://code.visualstudio.com/docs/copilot/customization/mcp-servers
    Client {
        id: "vscode",
        title: "VS Code",
        format: Format::Json,
        under: "servers",
        typed: true,
        user: |at, _| at.config.join("Code/User/mcp.json"),
        project: Some(|_| ".vscode/mcp.json".into()),
        own: |scope, entry| match scope {
            Scope::User => Some(vec!["code".into(), "--add-mcp".into(), for_code(entry)]),
            Scope::Project => None,
        },
        next: "VS Code asks before it starts a new server: MCP: List Servers, in the command palette.",
    },
    // https://docs.windsurf.com/windsurf/cascade/mcp
    Client {
        id: "windsurf",
        title: "Windsurf",
        format: Format::Json,
        under: "mcpServers",
        typed: false,
        user: |at, _| at.home.join(".codeium/windsurf/mcp_config.json"),
        project: None,
        own: |_, _| None,
        next: "Press the refresh button of Cascade's MCP servers.",
    },
    // https://zed.dev/docs/ai/mcp
    Client {
        id: "zed",
        title: "Zed",
        format: Format::Json,
        under: "context_servers",
        typed: false,
        user: |at, _| match at.platform {
            Platform::Linux => at.config.join("zed/settings.json"),
            Platform::MacOs => at.home.join(".config/zed/settings.json"),
            Platform::Windows => at.config.join("Zed/settings.json"),
        },
        project: Some(|_| ".zed/settings.json".into()),
        own: |_, _| None,
        next: "Zed reads the file at once; its agent panel lists the servers.",
    },
];

/// `claude mcp add --scope user NAME -- COMMAND ARGUMENTS…`
fn with_words(before: &[&str], scope: Scope, between: &[&str], entry: &Entry) -> Vec<String> {
    let scope = match scope {
        Scope::User => "user",
        Scope::Project => "project",
    };
    let middle = [scope, &entry.name];
    words(&[before, &middle, between].concat(), entry)
}

fn words(before: &[&str], entry: &Entry) -> Vec<String> {
    let before = before.iter().map(|word| (*word).to_owned());
    before.chain([entry.command.clone()]).chain(entry.arguments.iter().cloned()).collect()
}

fn for_code(entry: &Entry) -> String {
    serde_json::json!({ "name": entry.name, "command": entry.command, "args": entry.arguments }).to_string()
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=,@%+".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
