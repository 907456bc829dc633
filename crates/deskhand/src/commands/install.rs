//! `deskhand install`: from the command line to a client's file, and what is said about it.

use super::super::*;
use deskhand::install::{self, Entry, Outcome, Scope, Surroundings};
use deskhand_core::Result;
use std::path::{Path, PathBuf};

/// `deskhand install`.
pub fn install(arguments: &InstallArguments) -> Result<ExitCode, Failure> {
    let entry = entry(arguments)?;
    let Some(ClientName(client)) = arguments.client else { return list(&entry) };
    let scope = match arguments.scope {
        ScopeName::User => Scope::User,
        ScopeName::Project => Scope::Project,
    };
    let path = file(client, scope, arguments)?;
    if arguments.print {
        return Ok(print(client, scope, &path, &entry));
    }
    let is_unknown = scope == Scope::User
        && arguments.file.is_none()
        && Surroundings::here().is_some_and(|surroundings| !client.has_been_here(&surroundings));
    let outcome = if arguments.remove {
        install::remove(client, &path, &entry, arguments.force)
    } else {
        install::install(client, &path, &entry, arguments.force)
    };
    let outcome = outcome.map_err(Failure::Refused)?;
    let (mut text, code) = told(&outcome, client, &path, &entry);
    if is_unknown && outcome == Outcome::Added {
        text.push_str(&format!(
            "\nNothing of {} was there before. If it is installed, it may keep its configuration elsewhere: name that \
             file with --file.",
            client.title
        ));
    }
    match code {
        Told::Done => terminal::say(&text),
        Told::Refused => terminal::complain(&text),
    }
    Ok(match code {
        Told::Done => ExitCode::SUCCESS,
        Told::Refused => ExitCode::FAILURE,
    })
}

enum Told {
    Done,
    Refused,
}

/// What the client is to start. The flags are tried here, since few clients show why a server did not start.
fn entry(arguments: &InstallArguments) -> Result<Entry, Failure> {
    let mut words = vec!["serve".to_owned()];
    if let Some(sizes) = &arguments.r#virtual {
        words.extend(["--virtual".to_owned(), sizes.clone()]);
    }
    words.extend(arguments.flags.iter().cloned());
    let line = std::iter::once("deskhand").chain(words.iter().map(String::as_str));
    if let Err(error) = Cli::try_parse_from(line) {
        let said = error.to_string();
        let first = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
        return Err(Failure::Usage(
            Error::argument("`deskhand serve` does not take these flags.")
                .found([first])
                .remedy("deskhand serve --help tells which it takes."),
        ));
    }
    let door = |flag: &&String| ["--http", "--unix"].contains(&flag.split('=').next().unwrap_or_default());
    if let Some(flag) = arguments.flags.iter().find(door)
        && !arguments.flags.iter().any(|flag| flag == "--stdio")
    {
        return Err(Failure::Usage(
            Error::argument(format!(
                "With {flag}, the server would not speak to the client that starts it: it leaves its standard input \
                 and output alone."
            ))
            .remedy("Add --stdio, or leave it out."),
        ));
    }
    let command = match &arguments.command {
        Some(command) => command.clone(),
        None => {
            let path = install::own_path().map_err(Failure::Refused)?;
            let text = path.to_str().map(str::to_owned);
            text.ok_or_else(|| {
                Failure::Refused(
                    Error::argument(format!("The path {} is not UTF-8.", path.display()))
                        .remedy("Say the program with --command."),
                )
            })?
        }
    };
    Ok(Entry { name: arguments.name.clone(), command, arguments: words })
}

/// The file to change: the one that is named, or the client's own.
fn file(client: &Client, scope: Scope, arguments: &InstallArguments) -> Result<PathBuf, Failure> {
    if let Some(path) = &arguments.file {
        return Ok(path.clone());
    }
    let surroundings = surroundings()?;
    client.file(scope, &arguments.name, &surroundings).ok_or_else(|| {
        Failure::Usage(
            Error::argument(format!("{} has no configuration of a project.", client.title))
                .remedy("Leave --scope out to configure it for all that you do."),
        )
    })
}

fn surroundings() -> Result<Surroundings, Failure> {
    Surroundings::here().ok_or_else(|| {
        Failure::Refused(
            Error::backend("Your home folder is not known: HOME is not set.")
                .remedy("Name the file with --file."),
        )
    })
}

/// What belongs into the file on standard output, everything else on standard error.
fn print(client: &Client, scope: Scope, path: &Path, entry: &Entry) -> ExitCode {
    terminal::complain(&format!("In {}:", path.display()));
    terminal::say(&install::snippet(client, entry));
    if let Some(command) = client.own_command(scope, entry) {
        terminal::complain(&format!("The same, by the client itself:\n{command}"));
    }
    ExitCode::SUCCESS
}

fn told(outcome: &Outcome, client: &Client, path: &Path, entry: &Entry) -> (String, Told) {
    let (name, title, path) = (&entry.name, client.title, path.display());
    let line = || [&entry.command].into_iter().chain(&entry.arguments).cloned().collect::<Vec<_>>().join(" ");
    match outcome {
        Outcome::Added => {
            (format!("{title} has {name} now, in {path}:\n  {}\n{}", line(), client.next), Told::Done)
        }
        Outcome::AlreadyThere { off: false } => {
            (format!("{title} has {name} already, in {path}: nothing was changed."), Told::Done)
        }
        Outcome::AlreadyThere { off: true } => (
            format!(
                "{title} has {name} already, in {path}, and it is switched off there. Nothing was changed: switch it \
                 on in {title}."
            ),
            Told::Done,
        ),
        Outcome::Replaced(lines) => (
            format!(
                "{title} has {name} now, in {path}, in place of what was there:\n{}\n{}",
                indented(lines),
                client.next
            ),
            Told::Done,
        ),
        Outcome::Kept(lines) => (
            format!(
                "{title} has something else under the name {name}, in {path}. It was kept.\n{}\n  remedy: --force puts \
                 this in its place (or removes it, with --remove), --name takes another name.",
                indented(lines)
            ),
            Told::Refused,
        ),
        Outcome::Removed => (format!("{title} has no {name} any more, in {path}."), Told::Done),
        Outcome::NotThere => (format!("{title} has no {name}, in {path}: nothing was changed."), Told::Done),
    }
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// Every client with its files, and what stands there.
fn list(entry: &Entry) -> Result<ExitCode, Failure> {
    let surroundings = surroundings()?;
    let mut rows = vec![["CLIENT", "SCOPE", "THERE", "FILE"].map(str::to_owned).to_vec()];
    for client in CLIENTS {
        for (scope, word) in [(Scope::User, "user"), (Scope::Project, "project")] {
            let Some(path) = client.file(scope, &entry.name, &surroundings) else { continue };
            let there = match install::examine(client, &path, entry) {
                Ok(Outcome::AlreadyThere { off: false }) => "yes",
                Ok(Outcome::AlreadyThere { off: true }) => "switched off",
                Ok(Outcome::Kept(_)) => "something else",
                Ok(Outcome::NotThere | Outcome::Added | Outcome::Replaced(_) | Outcome::Removed) => "no",
                Err(_) => "cannot be read",
            };
            rows.push([client.id, word, there, &path.display().to_string()].map(str::to_owned).to_vec());
        }
    }
    terminal::say(&terminal::columns(&rows));
    Ok(ExitCode::SUCCESS)
}
