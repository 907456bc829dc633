//! The command line: `serve`, `install`, `connect`, `call`, `tools`, `doctor`, `desktop`, `demo`, `completions`.

mod commands;
mod settings;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use deskhand::call::Config;
use deskhand::install::{CLIENTS, Client};
use deskhand::policy::Policy;
use deskhand::profiles::Profile;
use deskhand::terminal;
use deskhand_core::guard::{AppRules, Chord};
use deskhand_core::{Error, Guards, Size};
use std::process::ExitCode;
use std::time::Duration;

/// See and work a desktop: for assistants over MCP, for scripts and for people.
#[derive(Parser)]
#[command(
    name = "deskhand",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  deskhand serve                            what an MCP client starts: it speaks over stdin and stdout
  deskhand serve --virtual 1280x800         the same on a private desktop, apart from your own
  deskhand install claude-code              tell a client of it
  deskhand call list_windows                call one tool and read the answer
  deskhand call click x=200 y=150
  deskhand call type_text text='Grüße 🎉'
  deskhand call take_screenshot file_path=screen.png
  deskhand tools                            what there is to call
  deskhand tools click                      one tool with its parameters
  deskhand doctor                           what works here, and what to do about the rest

Exit codes: 0 done, 1 the tool says no, 2 the command line is wrong.";

#[derive(Subcommand)]
enum Command {
    Serve(ServeArguments),
    Install(InstallArguments),
    Connect(ConnectArguments),
    Call(CallArguments),
    Tools(ToolsArguments),
    Doctor(DoctorArguments),
    Desktop(DesktopArguments),
    Resume(ResumeArguments),
    Demo(DemoArguments),
    Completions(CompletionsArguments),
}

/// Serve MCP over standard input and output, or over HTTP.
///
/// An MCP client starts this command and speaks to it over stdin and stdout. With --http it serves many
/// clients instead, until it is stopped. The log goes to stderr, one JSON object a line.
#[derive(Args)]
#[command(after_help = "\
Examples:
  deskhand serve
  deskhand serve --virtual 1280x800 --profile full
  deskhand serve --display :1 --read-only
  deskhand serve --deny type_text --deny applications
  deskhand serve --http                     JSON-RPC and MCP at 127.0.0.1:3457, for who has the token
  deskhand serve --print-config             what holds, from options, variables and the configuration file

Every option can stand in ~/.config/deskhand/config.toml, as in: port = 4000. Options go before variables of the
environment, and these before the file.

In a client's configuration:
  {\"mcpServers\": {\"deskhand\": {\"command\": \"deskhand\", \"args\": [\"serve\"]}}}")]
struct ServeArguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Which tools are listed; every tool that is allowed can be called all the same.
    #[arg(long, value_enum, default_value_t, env = "DESKHAND_PROFILE", hide_env_values = true)]
    profile: ProfileName,
    #[command(flatten)]
    http: HttpArguments,
    #[command(flatten)]
    limits: LimitArguments,
    /// The longest request line in bytes; a longer one is answered with an error.
    #[arg(long, value_name = "BYTES", default_value_t = deskhand::mcp::lines::LONGEST_LINE,
        env = "DESKHAND_MAX_LINE_BYTES", hide_env_values = true, hide_short_help = true)]
    max_line_bytes: usize,
    /// The configuration file, instead of ~/.config/deskhand/config.toml; /dev/null for none.
    #[arg(long, value_name = "PATH", env = "DESKHAND_CONFIG", hide_env_values = true)]
    config: Option<std::path::PathBuf>,
    /// Print every setting and where it comes from, and serve nothing.
    #[arg(long)]
    print_config: bool,
}

/// Tell a client of Deskhand: put an entry into its configuration.
///
/// Nothing else in the file is touched, an entry of that name that says something else is shown and kept, and a second
/// run finds the work done.
#[derive(Args)]
#[command(after_help = "\
Examples:
  deskhand install --list                   which clients are known, and what stands in their files
  deskhand install claude-code              for all projects
  deskhand install vscode --scope project   for the folder that you are in
  deskhand install cursor --virtual         on a private desktop, apart from your own
  deskhand install zed -- --read-only --profile full
  deskhand install claude-desktop --print   what to put in by hand, and where
  deskhand install codex --remove

Exit codes: 0 done, 1 something else is there under that name, or the file cannot be changed, 2 the command line is
wrong.")]
struct InstallArguments {
    /// The client.
    #[arg(value_enum, required_unless_present = "list")]
    client: Option<ClientName>,
    /// List the clients, their files, and what stands there.
    #[arg(long, conflicts_with_all = ["client", "remove", "print", "force", "file"])]
    list: bool,
    /// Take the entry out again.
    #[arg(long, conflicts_with = "print")]
    remove: bool,
    /// Change nothing: print what belongs into the file, and on stderr where it is and what else does the same.
    #[arg(long)]
    print: bool,
    /// Put it in place of an entry of that name that says something else; with --remove, remove any.
    #[arg(long)]
    force: bool,
    /// The name of the entry.
    #[arg(long, value_name = "NAME", default_value = "deskhand", value_parser = entry_name)]
    name: String,
    /// For all that you do, or for the folder that you are in.
    #[arg(long, value_enum, default_value_t)]
    scope: ScopeName,
    /// The file, where the client keeps it elsewhere.
    #[arg(long, value_name = "FILE", conflicts_with = "scope")]
    file: Option<std::path::PathBuf>,
    /// The program that the client starts, instead of this one by its full path.
    #[arg(long, value_name = "PROGRAM")]
    command: Option<String>,
    /// Let it work on a private desktop of this size: for machines without a display, and to stay apart from yours.
    #[arg(long, value_name = "WxH", num_args = 0..=1, default_missing_value = "1280x800", value_parser = size_text)]
    r#virtual: Option<String>,
    /// What `deskhand serve` is started with, after --.
    #[arg(last = true, value_name = "SERVE FLAGS")]
    flags: Vec<String>,
}

/// Bridge standard input and output to a server that runs already.
///
/// A client starts this command where it would start `serve`, and reaches the desktop of the session in which
/// the server runs.
#[derive(Args)]
#[command(after_help = "\
Examples:
  deskhand connect                          the server at 127.0.0.1:3457
  deskhand connect /run/user/1000/desk.sock one that was started with --unix")]
struct ConnectArguments {
    /// http://HOST:PORT, or the path of a Unix socket.
    #[arg(default_value = "http://127.0.0.1:3457")]
    target: String,
    /// The file that holds the server's token, where it is not the one that the server made by itself.
    #[arg(long, value_name = "FILE", env = "DESKHAND_TOKEN_FILE", hide_env_values = true)]
    token_file: Option<std::path::PathBuf>,
}

/// Call one tool and print its answer.
///
/// Parameters are given as key=value. A value is read as JSON where the tool's schema asks for something
/// other than text, so that numbers, lists and objects need no quoting beyond the shell's; lists may be
/// given as items with commas.
#[derive(Args)]
#[command(after_help = "\
Examples:
  deskhand call cursor_position
  deskhand call click x=200 y=150 modifiers=ctrl,shift
  deskhand call click_ui_element element='button[name=\"Save\"]' window=Editor
  deskhand call press_key --json '{\"key\": \"a\", \"modifiers\": [\"ctrl\"]}'
  deskhand call run_steps --json @steps.json
  echo '{\"x\": 1, \"y\": 2}' | deskhand call move_mouse --json -
  deskhand call take_screenshot file_path=screen.png
  deskhand call list_windows --output json

What a call presses and leaves down is let go of when the command ends: use run_steps to press, move and
release.
Exit codes: 0 done, 1 the tool says no, 2 the command line is wrong.")]
struct CallArguments {
    /// The tool; `deskhand tools` lists them.
    tool: String,
    /// Parameters, as key=value.
    #[arg(value_name = "KEY=VALUE")]
    parameters: Vec<String>,
    /// All parameters as one JSON object: the text itself, @FILE, or - for standard input.
    #[arg(long, value_name = "JSON")]
    json: Option<String>,
    /// How the answer is printed: text for people, or json for programs (pictures in base64).
    #[arg(long, short, value_enum, default_value_t)]
    output: OutputForm,
    /// Print the log line of the call on stderr.
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    limits: LimitArguments,
}

/// List the tools, or show one with its parameters.
#[derive(Args)]
struct ToolsArguments {
    /// The tool to show.
    tool: Option<String>,
    /// Which set to list.
    #[arg(long, value_enum, default_value_t, env = "DESKHAND_PROFILE", hide_env_values = true)]
    profile: ProfileName,
    /// How the list is printed: a table for people, or what MCP clients are shown as json.
    #[arg(long, short, value_enum, default_value_t)]
    output: OutputForm,
}

/// Examine what works here, and say what to do about what does not.
///
/// Asks every capability something harmless. The exit code is 1 when one does not answer.
#[derive(Args)]
struct DoctorArguments {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    limits: LimitArguments,
    /// Mend what can be mended: switches accessibility on in the session.
    #[arg(long)]
    fix: bool,
    /// How the findings are printed.
    #[arg(long, short, value_enum, default_value_t)]
    output: OutputForm,
}

/// Let Deskhand go on after it was stopped at the desktop by holding a key down (Escape).
///
/// Every Deskhand on the display goes on. Holding the key down once more does the same.
#[derive(Args)]
struct ResumeArguments {
    #[command(flatten)]
    place: PlaceArguments,
}

/// Watch Deskhand work real applications on a private desktop, step by step.
#[derive(Args)]
struct DemoArguments {
    /// Where the last picture is saved.
    #[arg(default_value = "demo.png", value_name = "FILE")]
    picture: String,
}

/// Run a command on a private desktop that lives as long as the command.
#[derive(Args)]
#[command(after_help = "\
Examples:
  deskhand desktop -- ./run-my-gui-tests
  deskhand desktop --size 1920x1080 -- bash -c 'mousepad & deskhand call take_screenshot file_path=a.png'")]
struct DesktopArguments {
    /// Its size in pixels; several, with commas, are displays from left to right.
    #[arg(long, visible_alias = "displays", value_name = "WxH", default_value = "1280x800",
        value_parser = sizes)]
    size: Sizes,
    /// The window manager, or none.
    #[arg(long, value_name = "NAME")]
    window_manager: Option<String>,
    /// The command and its arguments, after --.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<std::ffi::OsString>,
}

/// Print completions for a shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  deskhand completions bash > ~/.local/share/bash-completion/completions/deskhand
  deskhand completions zsh > ~/.zfunc/_deskhand
  deskhand completions fish > ~/.config/fish/completions/deskhand.fish")]
struct CompletionsArguments {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Which desktop.
#[derive(Args)]
#[command(next_help_heading = "Which desktop")]
struct PlaceArguments {
    /// The X display to work on, instead of the one in DISPLAY.
    #[arg(long, value_name = "DISPLAY", env = "DESKHAND_DISPLAY", hide_env_values = true)]
    display: Option<String>,
    /// Start a private desktop of this size and work there; it ends with Deskhand.
    #[arg(long, value_name = "WxH", num_args = 0..=1, default_missing_value = "1280x800", value_parser = sizes,
        conflicts_with = "display", env = "DESKHAND_VIRTUAL", hide_env_values = true)]
    r#virtual: Option<Sizes>,
    /// Whether to look for your running session when DISPLAY is not set.
    #[arg(long, value_enum, default_value_t, env = "DESKHAND_FIND_SESSION", hide_env_values = true)]
    find_session: FindSession,
    /// Keep the notification area where no panel does. Applications then put their items where only Deskhand
    /// sees them; always done on a private desktop.
    #[arg(long, env = "DESKHAND_TRAY_HOST", hide_env_values = true, value_parser = FalseyValueParser::new())]
    tray_host: bool,
}

/// How it is reached.
#[derive(Args)]
#[command(next_help_heading = "How it is reached")]
struct HttpArguments {
    /// Serve over HTTP: JSON-RPC at / and MCP at /mcp. Standard input and output are left alone then.
    #[arg(long, env = "DESKHAND_HTTP", hide_env_values = true, value_parser = FalseyValueParser::new())]
    http: bool,
    /// Serve at this Unix socket, which only you can reach: for `deskhand connect`, and for HTTP.
    #[arg(long, value_name = "PATH", env = "DESKHAND_UNIX", hide_env_values = true)]
    unix: Option<std::path::PathBuf>,
    /// Serve standard input and output as well.
    #[arg(long, env = "DESKHAND_STDIO", hide_env_values = true, value_parser = FalseyValueParser::new())]
    stdio: bool,
    /// The name or address to listen at.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "127.0.0.1",
        env = "DESKHAND_HOST",
        hide_env_values = true
    )]
    host: String,
    /// The port; 0 is any that is free.
    #[arg(long, value_name = "N", default_value_t = deskhand::http::PORT, env = "DESKHAND_PORT",
        hide_env_values = true)]
    port: u16,
    /// Keep the token in this file from start to start, instead of making a new one each time.
    #[arg(
        long,
        value_name = "FILE",
        env = "DESKHAND_TOKEN_FILE",
        hide_env_values = true,
        conflicts_with = "no_auth"
    )]
    token_file: Option<std::path::PathBuf>,
    /// The certificate, in PEM, to serve HTTPS with; together with a token it lets other machines in.
    #[arg(long, value_name = "PATH", env = "DESKHAND_TLS_CERT", hide_env_values = true)]
    tls_cert: Option<std::path::PathBuf>,
    /// The private key of the certificate, in PEM.
    #[arg(long, value_name = "PATH", env = "DESKHAND_TLS_KEY", hide_env_values = true)]
    tls_key: Option<std::path::PathBuf>,
    /// Ask for no token: every program of every user of this machine can then work the desktop.
    #[arg(long, env = "DESKHAND_NO_AUTH", hide_env_values = true, value_parser = FalseyValueParser::new())]
    no_auth: bool,
    /// Another name that clients reach this server by (in Host); may be repeated.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        env = "DESKHAND_ALLOW_HOST",
        hide_env_values = true
    )]
    allow_host: Vec<String>,
    /// Let web pages of this origin (https://example.org) call; may be repeated.
    #[arg(
        long,
        value_name = "ORIGIN",
        value_delimiter = ',',
        env = "DESKHAND_ALLOW_ORIGIN",
        hide_env_values = true
    )]
    allow_origin: Vec<String>,
    /// MCP without sessions: every request stands for itself.
    #[arg(long, env = "DESKHAND_STATELESS", hide_env_values = true, hide_short_help = true,
        value_parser = FalseyValueParser::new())]
    stateless: bool,
    /// The longest body of a request in bytes.
    #[arg(
        long,
        value_name = "BYTES",
        env = "DESKHAND_MAX_BODY_BYTES",
        hide_env_values = true,
        hide_short_help = true
    )]
    max_body_bytes: Option<usize>,
    /// How many connections may be open at once.
    #[arg(
        long,
        value_name = "N",
        env = "DESKHAND_MAX_CONNECTIONS",
        hide_env_values = true,
        hide_short_help = true
    )]
    max_connections: Option<usize>,
    /// How many requests a second are answered: of all clients with the token together, of each address without.
    #[arg(long, value_name = "N", env = "DESKHAND_RATE_LIMIT", hide_env_values = true, hide_short_help = true,
        value_parser = clap::value_parser!(u32).range(1..))]
    rate_limit: Option<u32>,
}

impl HttpArguments {
    fn options(&self, mcp: deskhand::mcp::Options) -> Result<deskhand::http::Options, Failure> {
        use deskhand::http::tls::Identity;
        use deskhand::http::{Access, Limits, Options};
        let limits = Limits::default();
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                Some(Identity { certificate: certificate.clone(), key: key.clone() })
            }
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err(Failure::Usage(
                    Error::argument("TLS needs a certificate and its key.")
                        .expected("both --tls-cert and --tls-key"),
                ));
            }
        };
        Ok(Options {
            host: self.host.clone(),
            port: self.port,
            access: if self.no_auth { Access::Anybody } else { Access::Token(self.token_file.clone()) },
            hosts: self.allow_host.clone(),
            origins: self.allow_origin.clone(),
            tls,
            limits: Limits {
                body: self.max_body_bytes.unwrap_or(limits.body),
                bodies: limits.bodies.max(self.max_body_bytes.unwrap_or(0)),
                connections: self.max_connections.unwrap_or(limits.connections),
                rate: self.rate_limit,
                ..limits
            },
            mcp,
            stateless: self.stateless,
            tcp: self.http,
            unix: self.unix.clone(),
        })
    }
}

/// What may be done.
#[derive(Args)]
#[command(next_help_heading = "What may be done")]
struct LimitArguments {
    /// Only look: no input, no changes.
    #[arg(long, env = "DESKHAND_READ_ONLY", hide_env_values = true, value_parser = FalseyValueParser::new())]
    read_only: bool,
    /// Allow a tool, a group or an effect that is off by default (shell); may be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',', env = "DESKHAND_ALLOW", hide_env_values = true,
        value_parser = rule)]
    allow: Vec<String>,
    /// Forbid a tool, a group (keyboard) or an effect (input); may be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',', env = "DESKHAND_DENY", hide_env_values = true,
        value_parser = rule)]
    deny: Vec<String>,
    /// Ask the person before each call of a tool, a group or an effect (script); may be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',', env = "DESKHAND_CONFIRM", hide_env_values = true,
        value_parser = rule)]
    confirm: Vec<String>,
    /// Work only this application (desktop entry, window class or process); may be repeated.
    #[arg(long, value_name = "APP", value_delimiter = ',', env = "DESKHAND_ALLOW_APP", hide_env_values = true,
        value_parser = application)]
    allow_app: Vec<String>,
    /// Do not work this application; it can still be seen. May be repeated.
    #[arg(long, value_name = "APP", value_delimiter = ',', env = "DESKHAND_DENY_APP", hide_env_values = true,
        value_parser = application)]
    deny_app: Vec<String>,
    /// Neither work nor see this application: its windows are not listed and masked in pictures. May be repeated.
    #[arg(long, value_name = "APP", value_delimiter = ',', env = "DESKHAND_HIDE_APP", hide_env_values = true,
        value_parser = application)]
    hide_app: Vec<String>,
    /// Make input only after the person has been quiet for so long, 0 for at once; 1000 by default on your own
    /// desktop, 0 on a private one.
    #[arg(long, value_name = "N", env = "DESKHAND_YIELD_MS", hide_env_values = true,
        value_parser = clap::value_parser!(u64).range(..=60_000))]
    yield_ms: Option<u64>,
    /// The key that stops everything when you hold it down for so many milliseconds, or off; escape:1000 by default
    /// on your own desktop, off on a private one.
    #[arg(long, value_name = "KEY:MS", env = "DESKHAND_STOP_CHORD", hide_env_values = true, value_parser = chord)]
    stop_chord: Option<ChordOrOff>,
    /// How long you get to answer when you are asked, in milliseconds.
    #[arg(long, value_name = "N", env = "DESKHAND_CONFIRM_TIMEOUT_MS", hide_env_values = true,
        hide_short_help = true, value_parser = clap::value_parser!(u64).range(100..=3_600_000))]
    confirm_timeout_ms: Option<u64>,
    /// The time limit of calls that name none, in milliseconds.
    #[arg(long, value_name = "N", env = "DESKHAND_TIMEOUT_MS", hide_env_values = true,
        value_parser = clap::value_parser!(u64).range(1..))]
    timeout_ms: Option<u64>,
    /// The same for pointer and keyboard; 5000 by default.
    #[arg(long, value_name = "N", env = "MCP_MOUSE_TIMEOUT_MS", hide_env_values = true,
        value_parser = input_timeout)]
    input_timeout_ms: Option<u64>,
}

/// A clear word about a wrong variable: the option of its name may be nowhere on the command line.
fn input_timeout(text: &str) -> Result<u64, String> {
    const LONGEST: u64 = 3_600_000;
    let wrong = || {
        format!(
            "MCP_MOUSE_TIMEOUT_MS (or --input-timeout-ms) has to be a whole number of milliseconds from 1 to \
             {LONGEST}, such as 5000"
        )
    };
    text.trim().parse().ok().filter(|ms| (1..=LONGEST).contains(ms)).ok_or_else(wrong)
}

#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
enum OutputForm {
    #[default]
    Text,
    Json,
}

#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
enum FindSession {
    /// Take it if there is just one.
    #[default]
    Auto,
    /// Work only where the environment or --display says.
    Never,
}

/// A profile by its name: the list is the library's.
#[derive(Clone, Copy, Default)]
struct ProfileName(Profile);

impl ValueEnum for ProfileName {
    fn value_variants<'a>() -> &'a [ProfileName] {
        static ALL: std::sync::LazyLock<Vec<ProfileName>> =
            std::sync::LazyLock::new(|| Profile::ALL.iter().copied().map(ProfileName).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()))
    }
}

/// A client by its name: the list is the library's.
#[derive(Clone, Copy)]
struct ClientName(&'static Client);

impl ValueEnum for ClientName {
    fn value_variants<'a>() -> &'a [ClientName] {
        static ALL: std::sync::LazyLock<Vec<ClientName>> =
            std::sync::LazyLock::new(|| CLIENTS.iter().map(ClientName).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.id))
    }
}

#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
enum ScopeName {
    /// All that you do.
    #[default]
    User,
    /// The folder that you are in.
    Project,
}

/// A chord, or none.
#[derive(Clone, Copy, Debug)]
struct ChordOrOff(Option<Chord>);

fn chord(text: &str) -> Result<ChordOrOff, String> {
    if text.trim().eq_ignore_ascii_case("off") {
        return Ok(ChordOrOff(None));
    }
    text.parse().map(|chord| ChordOrOff(Some(chord))).map_err(|error: Error| match error.detail.expected {
        Some(expected) => format!("{} Expected: {expected}, or off", error.message),
        None => format!("{} Expected: a key and milliseconds, as in escape:1000, or off", error.message),
    })
}

/// An empty name would mean nobody.
fn application(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() { Err("an application's name is empty".to_owned()) } else { Ok(name.to_owned()) }
}

/// How long a person has to be quiet on their own desktop before input is made: longer than the pauses of somebody
/// who types, and a fifth of the time limit of input.
const QUIET: Duration = Duration::from_secs(1);

impl LimitArguments {
    /// A desktop of nobody's but Deskhand's has no person to make way for.
    fn config(self, private: bool) -> Config {
        let usual_quiet = if private { Duration::ZERO } else { QUIET };
        let usual_chord = (!private).then(Chord::default);
        let mut config = Config {
            policy: Policy {
                read_only: self.read_only,
                allow: self.allow,
                deny: self.deny,
                confirm: self.confirm,
            },
            guards: Guards {
                apps: AppRules { allow: self.allow_app, deny: self.deny_app, hide: self.hide_app },
                quiet: self.yield_ms.map_or(usual_quiet, Duration::from_millis),
                chord: self.stop_chord.map_or(usual_chord, |chord| chord.0),
            },
            ..Config::default()
        };
        if let Some(ms) = self.confirm_timeout_ms {
            config.consent_patience = Duration::from_millis(ms);
        }
        if let Some(ms) = self.timeout_ms {
            config.timeout = Duration::from_millis(ms);
            config.input_timeout = config.timeout;
        }
        if let Some(ms) = self.input_timeout_ms {
            // It is about pointer and keyboard alone, so it counts more for these.
            config.input_timeout = Duration::from_millis(ms);
        }
        config
    }
}

/// The sizes of displays from left to right.
#[derive(Clone, Debug)]
struct Sizes(Vec<Size>);

/// `1280x800` or `1280x800,1920x1080` as sizes.
fn sizes(text: &str) -> Result<Sizes, String> {
    #[cfg(target_os = "linux")]
    return deskhand::virtual_desktop::parse_sizes(text).map(Sizes).map_err(|error| {
        match &error.detail.expected {
            Some(expected) => format!("{} Expected: {expected}", error.message),
            None => error.message,
        }
    });
    #[cfg(not(target_os = "linux"))]
    Err(format!("There are no private desktops on this system, so {text:?} cannot be had."))
}

/// Sizes that stay text.
fn size_text(text: &str) -> Result<String, String> {
    sizes(text).map(|_| text.trim().to_owned())
}

/// A name that every client takes: some make names of tools from it.
fn entry_name(text: &str) -> Result<String, String> {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    if (1..=64).contains(&text.len()) && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    Err("a name has 1 to 64 letters, digits, - and _".to_owned())
}

/// The name in --allow or --deny. A wrong one must not pass: it would forbid nothing.
fn rule(text: &str) -> Result<String, String> {
    let name = text.trim().to_ascii_lowercase();
    if deskhand::policy::is_rule(&name) {
        return Ok(name);
    }
    match deskhand::tools::aliases().find(|alias| alias.name == name) {
        Some(alias) => Err(format!("{name} is another name of {}: use that", alias.tool)),
        None => Err(format!(
            "{name:?} is no tool, group or effect. Groups and effects: {}",
            deskhand::policy::rules().join(", ")
        )),
    }
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = deskhand::virtual_desktop::keep_if_asked() {
        return code;
    }
    #[cfg(target_os = "linux")]
    if let Some(code) = deskhand_linux::x11::clipboard::keep_if_asked() {
        return code;
    }
    run().unwrap_or_else(|failure| {
        terminal::complain(&failure.to_string());
        failure.code()
    })
}

fn run() -> Result<ExitCode, Failure> {
    let (cli, report) = settings::read()?;
    match cli.command {
        Command::Serve(arguments) if arguments.print_config => {
            terminal::say(report.text().trim_end());
            Ok(ExitCode::SUCCESS)
        }
        Command::Serve(arguments) => commands::serve(arguments),
        Command::Install(arguments) => commands::install(&arguments),
        Command::Connect(arguments) => commands::connect_to(arguments),
        Command::Call(arguments) => commands::call(arguments),
        Command::Tools(arguments) => commands::tools(&arguments),
        Command::Doctor(arguments) => commands::doctor(arguments),
        Command::Desktop(arguments) => commands::desktop(arguments),
        Command::Resume(arguments) => commands::resume(&arguments),
        Command::Demo(arguments) => commands::demo(&arguments),
        Command::Completions(arguments) => {
            let mut script = Vec::new();
            let mut command = <Cli as clap::CommandFactory>::command();
            clap_complete::generate(arguments.shell, &mut command, "deskhand", &mut script);
            terminal::say(&String::from_utf8_lossy(&script));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Why a command ends.
enum Failure {
    /// The command line is wrong.
    Usage(Error),
    /// It could not be done.
    Refused(Error),
}

impl Failure {
    fn code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Refused(_) => ExitCode::FAILURE,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Failure::Usage(error) | Failure::Refused(error)) = self;
        write!(f, "{}", error.message)?;
        if let Some(expected) = &error.detail.expected {
            write!(f, "\n  expected: {expected}")?;
        }
        if !error.detail.found.is_empty() {
            write!(f, "\n  found: {}", error.detail.found.join("; "))?;
        }
        if let Some(os) = &error.detail.os {
            write!(f, "\n  system: {os}")?;
        }
        if let Some(remedy) = &error.detail.remedy {
            write!(f, "\n  remedy: {remedy}")?;
        }
        Ok(())
    }
}
