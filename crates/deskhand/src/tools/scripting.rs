//! Running commands and scripts, where Deskhand was started to allow it. What they are given may hold secrets:
//! none of it is logged.

use crate::call::Context;
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::script::{Printed, Ran, Run};
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<ExecuteShellCommand>(),
    Row::of::<ValidateScript>(),
    Row::of::<ExecuteAppleScript>(),
    Row::of::<ExecuteJavascript>(),
];

/// Scripts have 30 s by default: this much more than other calls.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many bytes of each output are returned by default.
const MOST_OUTPUT: usize = 20_000;
/// The shells that may read a command line.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "fish"];

/// Run a program and return what it prints. `command` is the program and `args` its arguments; only with
/// `shell` is the command a line that a shell reads. The exit code is data, not an error. Everything that it
/// started ends with the time limit (timeout_ms, 30 s by default).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteShellCommand {
    /// The program; with `shell` the line.
    pub command: String,
    /// Its arguments, never interpreted.
    #[serde(default)]
    pub args: Vec<String>,
    /// The folder to run it in.
    #[serde(default)]
    pub working_directory: Option<String>,
    /// Variables to add to its environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// What it reads.
    #[serde(default)]
    pub stdin: String,
    /// The shell that reads the line: sh, bash, dash, zsh, ksh, fish; true is sh.
    #[serde(default)]
    pub shell: Option<String>,
    /// At most this many bytes of each output, the beginning and the end; 20000 by default.
    #[serde(default)]
    pub max_output_bytes: Option<Ranged<100, 1_000_000>>,
}

/// What a program printed and how it ended.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct CommandRan {
    /// 0 where all went well, by custom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it printed as errors.
    pub stderr: String,
    /// How many bytes of stdout were left out, in its middle.
    #[serde(skip_serializing_if = "is_zero")]
    pub stdout_cut_bytes: u64,
    /// How many bytes of stderr were left out, in its middle.
    #[serde(skip_serializing_if = "is_zero")]
    pub stderr_cut_bytes: u64,
    /// Something that it started goes on in the background.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left_running: bool,
    /// What it printed, where that is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// How long it took.
    pub duration_ms: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Tool for ExecuteShellCommand {
    const NAME: &'static str = "execute_shell_command";
    const EFFECT: Effect = Effect::Script;
    const ERRORS: &'static [Code] = &[
        Code::ApplicationNotFound,
        Code::PathNotFound,
        Code::PermissionDenied,
        Code::SecureDesktopActive,
        Code::Busy,
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("arguments", "args"),
        ("cwd", "working_directory"),
        ("directory", "working_directory"),
        ("env", "environment"),
        ("input", "stdin"),
    ];
    const SECRET: &'static [&'static str] = &["command", "args", "environment", "stdin"];
    const GROUP: Group = Group::Scripting;
    type Output = Data<CommandRan>;

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn call(self, cx: &Context) -> Result<Data<CommandRan>> {
        let shell = self.shell()?;
        let (program, arguments) = match shell {
            // The first argument after the line is the name that the shell goes by.
            Some(shell) => {
                let line = ["-c".to_owned(), self.command, shell.clone()];
                (shell, line.into_iter().chain(self.args).collect())
            }
            None => (self.command, self.args),
        };
        run(
            cx,
            Run {
                program,
                arguments,
                directory: self.working_directory.map(PathBuf::from),
                environment: self.environment.into_iter().map(|(name, value)| (name, Some(value))).collect(),
                input: self.stdin.into_bytes(),
                most_output: self.max_output_bytes.map_or(MOST_OUTPUT, |most| most.get() as usize),
            },
        )
        .map(Data)
    }
}

impl ExecuteShellCommand {
    fn shell(&self) -> Result<Option<String>> {
        let wanted = match self.shell.as_deref().map(str::trim) {
            None | Some("" | "false") => return Ok(None),
            Some("true") => "sh",
            Some(shell) => shell,
        };
        let name = wanted.rsplit('/').next().unwrap_or(wanted);
        if !SHELLS.contains(&name) {
            return Err(Error::argument(format!("{wanted:?} is no shell that is known here."))
                .expected(SHELLS.join(", "))
                .remedy("Run another interpreter as command, with args."));
        }
        Ok(Some(wanted.to_owned()))
    }
}

/// Runs it; meanwhile others may act.
fn run(cx: &Context, run: Run) -> Result<CommandRan> {
    let began = Instant::now();
    let Ran { exit_code, signal, output, errors, left_running } =
        cx.aside(|| cx.desktop.scripts.run(&cx.call, &run))?;
    let stdout = text(&output);
    Ok(CommandRan {
        exit_code,
        signal,
        result: structured(&stdout).filter(|_| output.cut == 0),
        stdout,
        stderr: text(&errors),
        stdout_cut_bytes: output.cut,
        stderr_cut_bytes: errors.cut,
        left_running,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

fn text(printed: &Printed) -> String {
    let begin = String::from_utf8_lossy(&printed.begin);
    if printed.cut == 0 {
        return begin.into_owned();
    }
    let end = String::from_utf8_lossy(&printed.end);
    format!("{begin}\n… {} bytes are left out here …\n{end}", printed.cut)
}

/// An output that is one JSON object or list.
fn structured(output: &str) -> Option<Value> {
    serde_json::from_str(output.trim()).ok().filter(|value: &Value| value.is_object() || value.is_array())
}

/// The languages of scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScriptType {
    /// For bash.
    #[default]
    Bash,
    /// For any shell.
    Shell,
    /// The same.
    Sh,
    /// JavaScript, for gjs here.
    Javascript,
    /// AppleScript.
    Applescript,
}

/// Check the syntax of a script without running any of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateScript {
    /// The script.
    pub script: String,
    /// Its language; bash by default.
    #[serde(default, rename = "type")]
    pub kind: ScriptType,
    /// No effect: nothing is ever run.
    #[serde(default)]
    #[schemars(skip)]
    pub compile_only: Option<bool>,
}

/// Whether a script can be read by its interpreter.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Validity {
    /// Whether it can.
    pub valid: bool,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
    /// What read it.
    pub checked_with: String,
}

/// A fault in a script.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fault {
    /// The line that it was noticed in, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What the interpreter says.
    pub message: String,
}

impl Tool for ValidateScript {
    const NAME: &'static str = "validate_script";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const ALIASES: &'static [(&'static str, &'static str)] = &[("language", "type"), ("script_type", "type")];
    const HIDDEN: &'static [&'static str] = &["compile_only"];
    const SECRET: &'static [&'static str] = &["script"];
    const GROUP: Group = Group::Scripting;
    type Output = Data<Validity>;

    fn call(self, cx: &Context) -> Result<Data<Validity>> {
        match self.kind {
            ScriptType::Shell | ScriptType::Sh => check_shell(cx, "sh", &self.script),
            ScriptType::Bash => check_shell(cx, "bash", &self.script),
            ScriptType::Javascript => check_javascript(cx, &self.script),
            ScriptType::Applescript => Err(no_apple_script()),
        }
        .map(Data)
    }
}

fn check_shell(cx: &Context, shell: &str, script: &str) -> Result<Validity> {
    let ran = cx.desktop.scripts.run(
        &cx.call,
        &Run {
            program: shell.to_owned(),
            arguments: vec!["-n".to_owned()],
            // Files that a shell reads before anything else, even with -n.
            environment: ["BASH_ENV", "ENV"].map(|name| (name.to_owned(), None)).to_vec(),
            input: script.as_bytes().to_vec(),
            most_output: MOST_OUTPUT,
            ..Run::default()
        },
    );
    let ran = ran.map_err(|error| absent(error, shell, shell))?;
    let said = text(&ran.errors);
    let errors: Vec<Fault> = said.lines().filter(|line| !line.trim().is_empty()).map(fault).collect();
    Ok(Validity { valid: ran.exit_code == Some(0), errors, checked_with: format!("{shell} -n") })
}

/// `bash: line 3: syntax error …` or `sh: 3: Syntax error: …`.
fn fault(line: &str) -> Fault {
    let rest = line.split_once(": ").map_or(line, |(_, rest)| rest);
    let numbered = rest.strip_prefix("line ").unwrap_or(rest).split_once(": ");
    match numbered.and_then(|(number, rest)| Some((number.parse().ok()?, rest))) {
        Some((number, rest)) => Fault { line: Some(number), message: rest.to_owned() },
        None => Fault { line: None, message: rest.to_owned() },
    }
}

/// A function is made of it and never called. The body is parsed by itself, so that nothing breaks out.
fn check_javascript(cx: &Context, script: &str) -> Result<Validity> {
    let source = Value::String(script.to_owned());
    let check = format!(
        "try {{ new Function({source}); }} catch (error) {{\n\
         printerr(`gjs: line ${{error.lineNumber}}: ${{error.message}}`); imports.system.exit(1); }}\n"
    );
    let ran = gjs(cx, check)?;
    let said = text(&ran.errors);
    let faults = said.lines().filter(|line| line.starts_with("gjs: ")).map(fault);
    // The function has a line of its own before the body.
    let errors = faults
        .map(|fault| Fault { line: fault.line.map(|line| line.saturating_sub(2).max(1)), ..fault })
        .collect();
    Ok(Validity { valid: ran.exit_code == Some(0), errors, checked_with: "gjs".to_owned() })
}

fn gjs(cx: &Context, source: String) -> Result<Ran> {
    let run = Run {
        program: "gjs".to_owned(),
        arguments: vec!["/dev/stdin".to_owned()],
        input: source.into_bytes(),
        most_output: MOST_OUTPUT,
        ..Run::default()
    };
    cx.desktop.scripts.run(&cx.call, &run).map_err(|error| absent(error, "gjs", "gjs"))
}

/// An interpreter that is not installed is something that this system cannot do.
fn absent(error: Error, program: &str, package: &str) -> Error {
    match error.code {
        Code::ApplicationNotFound => {
            Error::unsupported(format!("{program} reads such scripts here, and it is not installed."))
                .remedy(format!("Install it: apt install {package}"))
        }
        _ => error,
    }
}

fn no_apple_script() -> Error {
    Error::unsupported("AppleScript is a part of macOS: there is nothing on this system that runs it.")
        .remedy(
            "Use the tools for windows, elements and menus; or execute_shell_command where it is allowed.",
        )
}

/// Run AppleScript: on macOS only.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteAppleScript {
    /// The script.
    pub script: String,
    /// Only check its syntax.
    #[serde(default)]
    pub compile_only: bool,
}

impl Tool for ExecuteAppleScript {
    const NAME: &'static str = "execute_apple_script";
    // It does nothing but say so.
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const SECRET: &'static [&'static str] = &["script"];
    const GROUP: Group = Group::Scripting;
    type Output = Data<CommandRan>;

    fn call(self, _: &Context) -> Result<Data<CommandRan>> {
        Err(no_apple_script())
    }
}

/// Run JavaScript and return what it prints and what it comes to: with gjs on Linux. JavaScript for Automation, which works
/// applications, is a part of macOS.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteJavascript {
    /// The script.
    pub script: String,
    /// Only check its syntax.
    #[serde(default)]
    pub compile_only: bool,
}

impl Tool for ExecuteJavascript {
    const NAME: &'static str = "execute_javascript";
    const EFFECT: Effect = Effect::Script;
    const ERRORS: &'static [Code] = &[Code::ScriptFailed, Code::SecureDesktopActive, Code::Busy];
    const SECRET: &'static [&'static str] = &["script"];
    const GROUP: Group = Group::Scripting;
    type Output = Data<CommandRan>;

    fn effect(&self) -> Effect {
        if self.compile_only { Effect::Read } else { Effect::Script }
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn call(self, cx: &Context) -> Result<Data<CommandRan>> {
        if self.compile_only {
            let validity = check_javascript(cx, &self.script)?;
            let said = validity.errors.iter().map(|fault| fault.message.clone());
            return match validity.valid {
                true => Ok(Data(CommandRan { exit_code: Some(0), ..CommandRan::default() })),
                false => Err(Error::new(Code::ScriptFailed, "The script cannot be read.").found(said)),
            };
        }
        let began = Instant::now();
        // What a script comes to would be gjs's exit code, where it is a number.
        let source = Value::String(self.script);
        let script = format!(
            "const came = (0, eval)({source});\n\
             if (came !== undefined) print(typeof came === 'string' ? came : JSON.stringify(came) ?? String(came));\n"
        );
        let ran = cx.aside(|| gjs(cx, script))?;
        let (stdout, stderr) = (text(&ran.output), text(&ran.errors));
        if ran.exit_code != Some(0) {
            let said = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned);
            return Err(Error::new(Code::ScriptFailed, "The script ended with an error.").found(said));
        }
        Ok(Data(CommandRan {
            exit_code: ran.exit_code,
            signal: ran.signal,
            result: structured(&stdout).filter(|_| ran.output.cut == 0),
            stdout,
            stderr,
            stdout_cut_bytes: ran.output.cut,
            stderr_cut_bytes: ran.errors.cut,
            left_running: ran.left_running,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_their_line() {
        let of = |line: &str| (fault(line).line, fault(line).message);
        assert_eq!(of("bash: line 3: syntax error: x"), (Some(3), "syntax error: x".to_owned()));
        assert_eq!(of("sh: 7: Syntax error: end of file"), (Some(7), "Syntax error: end of file".to_owned()));
        assert_eq!(of("bash: syntax error: x"), (None, "syntax error: x".to_owned()));
    }
}
