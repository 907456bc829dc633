//! The configuration file of `deskhand serve`. Its keys are the long options and its values are read as theirs are:
//! all of that comes from the one definition of the command line, and a file only gives other defaults. So an option
//! goes before a variable of the environment, that before the file, and the file before what is usual.

use super::{Cli, Failure};
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches};
use deskhand::log;
use deskhand_core::{Error, near};
use serde_json::json;
use std::any::TypeId;
use std::error::Error as _;
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The options that say which file, and are in none.
const NOT_IN_FILES: [&str; 2] = ["config", "print_config"];

/// A file is not longer.
const LONGEST: u64 = 1024 * 1024;

/// What a configuration file says.
#[derive(Default)]
struct Settings {
    path: Option<PathBuf>,
    all: Vec<Setting>,
}

/// One key of a file.
struct Setting {
    /// The option's.
    id: String,
    key: String,
    line: usize,
    /// As they would stand on the command line.
    values: Vec<String>,
}

/// The command line with what the configuration file adds to it, and the report of `--print-config`.
pub fn read() -> Result<(Cli, Report), Failure> {
    let command = Cli::command();
    let given = command.clone().get_matches();
    let (command, settings) = match given.subcommand() {
        Some(("serve", serve)) => {
            let settings = find(serve)?;
            (settings.as_defaults(command), settings)
        }
        _ => (command, Settings::default()),
    };
    // Without a file there is nothing that could be read otherwise the second time.
    let given = if settings.all.is_empty() { given } else { command.clone().get_matches() };
    let cli = Cli::from_arg_matches(&given).unwrap_or_else(|error| error.exit());
    Ok((cli, Report { command, given, settings }))
}

/// The settings of the file that is named, or of the usual one where there is one.
fn find(given: &ArgMatches) -> Result<Settings, Failure> {
    let named = given.get_one::<PathBuf>("config").cloned();
    let Some(path) = named.clone().or_else(usual_place) else { return Ok(Settings::default()) };
    let text = match text_of(&path) {
        Ok(text) => text,
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Settings::default());
        }
        Err(error) => {
            return Err(Failure::Usage(
                Error::argument(format!("The configuration file {} cannot be read.", path.display()))
                    .because(error),
            ));
        }
    };
    let settings = Settings::parse(path, &text).and_then(|settings| settings.beside(given));
    let settings = settings.map_err(Failure::Usage)?;
    log::line(
        "info",
        "config",
        json!({
            "file": settings.path.as_ref().map(|path| path.display().to_string()),
            "keys": settings.all.iter().map(|setting| &setting.key).collect::<Vec<_>>(),
        }),
    );
    Ok(settings)
}

fn usual_place() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("deskhand/config.toml"))
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let file = std::fs::File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let about = file.metadata()?;
        let own = [0, rustix::process::getuid().as_raw()].contains(&about.uid());
        // It may allow anything, so that nobody else may write it.
        if about.is_file() && (!own || about.mode() & 0o002 != 0) {
            return Err(std::io::Error::other("others can write it; make it yours: chown, chmod o-w"));
        }
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// The command `serve`, as it is declared.
fn serve() -> clap::Command {
    let command = Cli::command();
    command.find_subcommand("serve").cloned().unwrap_or(command)
}

/// The options that a file may name.
fn options(serve: &clap::Command) -> impl Iterator<Item = (&Arg, &str)> {
    let named = serve.get_arguments().filter_map(|arg| Some((arg, arg.get_long()?)));
    named.filter(|(arg, _)| !NOT_IN_FILES.contains(&arg.get_id().as_str()))
}

impl Settings {
    fn parse(path: PathBuf, text: &str) -> Result<Settings, Error> {
        let line_of = |offset: usize| 1 + text[..offset.min(text.len())].matches('\n').count();
        let at = |line: usize| format!("{}:{line}", path.display());
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(span.start));
            Error::argument(format!("{}: this is no TOML: {}.", at(line), error.message()))
        })?;
        let serve = serve();
        let mut all = Vec::new();
        for (key, value) in table.get_ref() {
            let line = line_of(key.span().start);
            let key = key.get_ref().as_ref();
            let Some((arg, _)) = options(&serve).find(|(_, long)| *long == key) else {
                return Err(Error::argument(format!("{}: there is no option {key:?}.", at(line)))
                    .found(near::near(key, options(&serve).map(|(_, long)| long)))
                    .remedy("The keys are the long options of `deskhand serve`, without the dashes."));
            };
            let values = Kind::of(arg).values(&serve, arg, key, value.get_ref()).map_err(|fault| {
                let error = Error::argument(format!("{}: {key} {}.", at(line), fault.message));
                match fault.expected {
                    Some(expected) => error.expected(expected),
                    None => error,
                }
            })?;
            all.push(Setting { id: arg.get_id().to_string(), key: key.to_owned(), line, values });
        }
        all.sort_by_key(|setting| setting.line);
        Ok(Settings { path: Some(path), all })
    }

    /// Without what cannot be together with the options and variables that were given: these go before the file.
    fn beside(mut self, given: &ArgMatches) -> Result<Settings, Error> {
        let serve = serve();
        let is_given = |id: &str| {
            let named =
                matches!(given.value_source(id), Some(ValueSource::CommandLine | ValueSource::EnvVariable));
            // A variable may say that a switch is off, which is in nothing's way.
            named && !matches!(given.try_get_one::<bool>(id), Ok(Some(false)))
        };
        for (arg, long) in options(&serve) {
            for other in serve.get_arg_conflicts_with(arg) {
                let (id, other_id) = (arg.get_id().as_str(), other.get_id().as_str());
                let line = |id: &str| Some(self.all.iter().find(|setting| setting.id == id)?.line);
                if is_given(id) {
                    self.all.retain(|setting| setting.id != other_id);
                } else if is_given(other_id) {
                    self.all.retain(|setting| setting.id != id);
                } else if let (Some(line), Some(other_line)) = (line(id), line(other_id)) {
                    let path = self.path.unwrap_or_default();
                    let other = other.get_long().unwrap_or_default();
                    return Err(Error::argument(format!(
                        "{}:{line}: {long} cannot be used with {other} (line {other_line}).",
                        path.display()
                    )));
                }
            }
        }
        Ok(self)
    }

    /// A command whose defaults these are.
    fn as_defaults(&self, command: clap::Command) -> clap::Command {
        command.mut_subcommand("serve", |serve| {
            self.all.iter().fold(serve, |serve, setting| {
                // clap keeps defaults for as long as the program runs, and this happens once.
                let values = setting.values.iter().map(|value| &*value.clone().leak());
                let values: Vec<&'static str> = values.collect();
                serve.mut_arg(&setting.id, |arg| arg.default_values(values))
            })
        })
    }

    fn line_of(&self, id: &str) -> Option<usize> {
        self.all.iter().find(|setting| setting.id == id).map(|setting| setting.line)
    }
}

/// What kind of value an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Switch,
    Number,
    Text,
    /// Text, or just that it is on.
    TextOrOn,
    List,
}

/// What is wrong with a value.
struct Fault {
    message: String,
    expected: Option<String>,
}

impl Kind {
    fn of(arg: &Arg) -> Kind {
        let numbers = [TypeId::of::<u16>(), TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<usize>()];
        let optional = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
        match arg.get_action() {
            ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count => Kind::Switch,
            ArgAction::Append => Kind::List,
            _ if numbers.iter().any(|number| arg.get_value_parser().type_id() == *number) => Kind::Number,
            _ if optional => Kind::TextOrOn,
            _ => Kind::Text,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Switch => "true or false",
            Kind::Number => "a whole number",
            Kind::Text => "text in quotes",
            Kind::TextOrOn => "text in quotes, or true",
            Kind::List => "a list of texts, as in [\"one\", \"two\"]",
        }
    }

    /// A value of the file as it would stand on the command line. The command line reads it once, so that its own
    /// checks say what is wrong with it.
    fn values(
        self,
        serve: &clap::Command,
        arg: &Arg,
        key: &str,
        value: &DeValue<'_>,
    ) -> Result<Vec<String>, Fault> {
        let wrong = || Fault {
            message: format!("cannot be {}", kind_of(value)),
            expected: Some(self.name().to_owned()),
        };
        let with = |value: &dyn std::fmt::Display| format!("--{key}={value}");
        let words = match (self, value) {
            (Kind::Switch, DeValue::Boolean(true)) => vec![format!("--{key}")],
            (Kind::Switch, DeValue::Boolean(false)) => return Ok(vec!["false".to_owned()]),
            (Kind::TextOrOn, DeValue::Boolean(true)) => vec![format!("--{key}")],
            (Kind::Number, DeValue::Integer(number)) => vec![with(number)],
            (Kind::Text | Kind::TextOrOn, DeValue::String(text)) => vec![with(text)],
            (Kind::List, DeValue::String(text)) => vec![with(text)],
            (Kind::List, DeValue::Array(items)) => {
                let texts = items.iter().map(|item| item.get_ref().as_str().map(|text| with(&text)));
                texts.collect::<Option<_>>().ok_or_else(wrong)?
            }
            _ => return Err(wrong()),
        };
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let alone = serve.clone().no_binary_name(true).mut_args(|arg| arg.env(Resettable::Reset));
        let read = alone.try_get_matches_from(words).map_err(|error| fault(&error))?;
        let raw = read.get_raw(arg.get_id().as_str()).into_iter().flatten();
        Ok(raw.map(|value| value.to_string_lossy().into_owned()).collect())
    }
}

fn kind_of(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {text:?}"),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "this list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// What the command line says against a value.
fn fault(error: &clap::Error) -> Fault {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    let why = error.source().map_or(String::new(), |why| format!(": {why}"));
    Fault { message: format!("cannot be {value:?}{why}"), expected: text(ContextKind::ValidValue) }
}

/// What holds, and where it comes from.
pub struct Report {
    command: clap::Command,
    given: ArgMatches,
    settings: Settings,
}

impl Report {
    /// As a configuration file that says the same.
    pub fn text(&self) -> String {
        let mut text = String::from("# What holds for `deskhand serve`, and where it comes from.\n");
        let _ = match &self.settings.path {
            Some(path) => writeln!(text, "# The configuration file is {}.", path.display()),
            None => writeln!(text, "# There is no configuration file."),
        };
        let (Some(serve), Some((_, given))) =
            (self.command.find_subcommand("serve"), self.given.subcommand())
        else {
            return text;
        };
        for (arg, long) in options(serve) {
            let id = arg.get_id().as_str();
            let line = self.settings.line_of(id);
            let variable = || arg.get_env().unwrap_or_default().to_string_lossy().into_owned();
            let source = match given.value_source(id) {
                Some(ValueSource::CommandLine) => format!("--{long}"),
                Some(ValueSource::EnvVariable) => variable(),
                _ => line.map_or_else(|| "default".to_owned(), |line| format!("file, line {line}")),
            };
            let _ = match shown(Kind::of(arg), id, given) {
                Some(value) => writeln!(text, "{long} = {value}  # {source}"),
                None => writeln!(text, "# {long} is not set"),
            };
        }
        text
    }
}

/// A value as a file has it; nothing where there is none.
fn shown(kind: Kind, id: &str, given: &ArgMatches) -> Option<String> {
    if kind == Kind::Switch {
        return Some(given.get_flag(id).to_string());
    }
    let raw: Vec<String> =
        given.get_raw(id).into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect();
    match kind {
        Kind::List if raw.is_empty() => None,
        Kind::List => Some(json!(raw).to_string()),
        Kind::Number => raw.first().cloned(),
        Kind::Switch | Kind::Text | Kind::TextOrOn => Some(json!(raw.first()?).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<(String, Vec<String>)>, String> {
        match Settings::parse("desk.toml".into(), text) {
            Ok(settings) => {
                Ok(settings.all.into_iter().map(|setting| (setting.key, setting.values)).collect())
            }
            Err(error) => Err(format!("{error}; {:?}; {:?}", error.detail.expected, error.detail.found)),
        }
    }

    #[test]
    fn values_are_read_as_the_command_line_reads_them() {
        let text = "# comment\nhttp = true\nstdio = false\nport = 4_000\nprofile = 'full'\n\
            virtual = true\nallow = [\"shell\"]\nallow-host = \"a,b\"\nread-only = true\n";
        let expected: [(&str, &[&str]); 8] = [
            ("http", &["true"]),
            ("stdio", &["false"]),
            ("port", &["4000"]),
            ("profile", &["full"]),
            ("virtual", &["1280x800"]),
            ("allow", &["shell"]),
            ("allow-host", &["a", "b"]),
            ("read-only", &["true"]),
        ];
        let expected = expected.map(|(key, values)| {
            (key.to_owned(), values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
        });
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_what_was_meant() {
        for (text, said) in [
            ("\nprot = 1", &["desk.toml:2", "\"prot\"", "\"port\""][..]),
            ("max_body_bytes = 1", &["\"max_body_bytes\"", "\"max-body-bytes\""]),
            ("config = 'x'", &["\"config\""]),
            ("port = \"3457\"", &["desk.toml:1", "port cannot be the text \"3457\"", "a whole number"]),
            ("http = true\nport = 99999", &["desk.toml:2", "port", "99999", "65535"]),
            ("http = 1", &["http cannot be the number 1", "true or false"]),
            ("host = 1", &["host", "text in quotes"]),
            ("deny = ['clik']", &["deny", "clik", "no tool, group or effect"]),
            ("deny = [1]", &["deny", "a list of texts"]),
            ("profile = 'fulll'", &["profile", "fulll", "standard"]),
            ("[serve]\nport = 1", &["desk.toml:1", "\"serve\""]),
            ("port = 1\nport = 2", &["desk.toml:2", "no TOML"]),
            ("host = 'x", &["desk.toml:1", "no TOML"]),
        ] {
            let error = parse(text).unwrap_err();
            assert!(said.iter().all(|said| error.contains(said)), "{text}: {error}");
        }
    }

    #[test]
    fn every_option_but_those_about_files_can_stand_in_one() {
        let serve = serve();
        let left_out: Vec<&str> = serve
            .get_arguments()
            .filter(|arg| options(&serve).all(|(other, _)| other.get_id() != arg.get_id()))
            .map(|arg| arg.get_id().as_str())
            .collect();
        assert_eq!(left_out, NOT_IN_FILES);
    }
}
