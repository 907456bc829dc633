//! What may be started without the permission to run commands.
//!
//! A hurdle against running commands by way of starting programs, no sandbox: a program that starts others
//! by itself still can. Desktop entries are what the machine's owner installed, so they may name what they
//! like, until arguments of the caller would make a command of it.

use super::entry::{Entry, base_name};
use deskhand_core::app::Launch;
use deskhand_core::{Code, Error, Result};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Programs that run what their arguments or their input say.
const INTERPRETERS: &[&str] = &[
    "ash",
    "at",
    "awk",
    "bash",
    "batch",
    "bun",
    "busybox",
    "chroot",
    "chrt",
    "cron",
    "crontab",
    "csh",
    "dash",
    "dbus-launch",
    "dbus-run-session",
    "deno",
    "doas",
    "docker",
    "ed",
    "emacs",
    "env",
    "ex",
    "expect",
    "find",
    "fish",
    "flatpak-spawn",
    "flock",
    "gawk",
    "gdb",
    "gjs",
    "guile",
    "i3-msg",
    "ionice",
    "ipython",
    "irb",
    "java",
    "jjs",
    "jrunscript",
    "ksh",
    "ltrace",
    "lua",
    "luajit",
    "make",
    "mawk",
    "mksh",
    "nawk",
    "nice",
    "node",
    "nodejs",
    "nohup",
    "npm",
    "npx",
    "nsenter",
    "nvim",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pkexec",
    "podman",
    "pwsh",
    "pypy",
    "python",
    "rbash",
    "rlwrap",
    "ruby",
    "runuser",
    "rvim",
    "screen",
    "script",
    "sed",
    "setarch",
    "setpriv",
    "setsid",
    "sg",
    "sh",
    "socat",
    "ssh",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "swaymsg",
    "systemd-run",
    "taskset",
    "tclsh",
    "tcsh",
    "time",
    "timeout",
    "tmux",
    "toybox",
    "unshare",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "watch",
    "wish",
    "xargs",
    "xdotool",
    "xinit",
    "xvfb-run",
    "yash",
    "zsh",
];

/// Terminals: a window with the person's shell in it is an application, a command line for it is not.
const TERMINALS: &[&str] = &[
    "alacritty",
    "aterm",
    "cool-retro-term",
    "eterm",
    "foot",
    "gnome-terminal",
    "guake",
    "kgx",
    "kitty",
    "koi8rxterm",
    "konsole",
    "lxterm",
    "lxterminal",
    "mate-terminal",
    "mlterm",
    "mrxvt",
    "ptyxis",
    "qterminal",
    "roxterm",
    "rxvt",
    "rxvt-unicode",
    "sakura",
    "st",
    "stterm",
    "terminator",
    "terminology",
    "tilda",
    "tilix",
    "urxvt",
    "uxterm",
    "wezterm",
    "x-terminal-emulator",
    "xfce4-terminal",
    "xterm",
    "yakuake",
];

/// Variables that load code into any program.
const LOADERS: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GIO_EXTRA_MODULES",
    "GTK_MODULES",
    "GTK_PATH",
    "NODE_OPTIONS",
    "PATH",
    "QML2_IMPORT_PATH",
    "QT_PLUGIN_PATH",
    "SHELL",
];
const LOADER_PREFIXES: &[&str] = &["LD_", "PERL", "PYTHON", "RUBY"];

/// Whether an entry may be started with these arguments.
pub(super) fn entry(launch: &Launch, entry: &Entry, program: &Path) -> Result<()> {
    if launch.allow_interpreters {
        return Ok(());
    }
    variables(launch)?;
    let named = names(program).iter().any(|name| is_in(INTERPRETERS, name) || is_in(TERMINALS, name));
    if named && !launch.arguments.is_empty() {
        return Err(denied(format!(
            "{:?} starts {}, for which arguments are commands.",
            entry.name,
            program.display()
        )));
    }
    Ok(())
}

/// Whether an executable may be started. `on_path` are the folders whose scripts count as programs: their
/// owner put them there to be run, while a script anywhere else may just have been written.
pub(super) fn executable(launch: &Launch, program: &Path, on_path: &[PathBuf]) -> Result<()> {
    if launch.allow_interpreters {
        return Ok(());
    }
    variables(launch)?;
    for name in names(program) {
        if is_in(INTERPRETERS, &name) {
            return Err(denied(format!("{} is {name}, which runs commands.", program.display())));
        }
        if is_in(TERMINALS, &name) && !launch.arguments.is_empty() {
            return Err(denied(format!("Arguments of the terminal {name} are commands.")));
        }
    }
    if let Some(interpreter) = interpreter_of(program)
        && !installed(program, on_path)
    {
        return Err(denied(format!(
            "{} is a script (for {interpreter}) outside the folders of programs.",
            program.display()
        )));
    }
    Ok(())
}

/// Whether a program runs what its arguments say.
pub(super) fn is_interpreter(name: &str) -> bool {
    is_in(INTERPRETERS, name)
}

fn variables(launch: &Launch) -> Result<()> {
    let loads =
        |name: &str| LOADERS.contains(&name) || LOADER_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    match launch.environment.iter().find(|(name, _)| loads(name)) {
        Some((name, _)) => Err(denied(format!("The variable {name} loads code into programs."))),
        None => Ok(()),
    }
}

fn denied(message: String) -> Error {
    Error::new(Code::DeniedByPolicy, message)
        .expected("a desktop entry, or an executable that is no shell and no interpreter")
        .remedy("Start Deskhand with `--allow shell`.")
}

/// The program's name, and the names of what it is a link to, one after the other: `sh` may be a link to
/// `busybox`, and `x-terminal-emulator` one to a link to `xterm`.
fn names(program: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = program.to_owned();
    for _ in 0..16 {
        found.push(base_name(&at.to_string_lossy()).to_owned());
        match std::fs::read_link(&at) {
            Ok(target) => at = at.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => break,
        }
    }
    found
}

/// Whether a name is in the list, its version left out: `python3.11` is python, `lua5.4-static` is not lua.
fn is_in(list: &[&str], name: &str) -> bool {
    let plain = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-'));
    let plain = plain.to_ascii_lowercase();
    list.contains(&name) || list.contains(&plain.as_str()) || name.starts_with("ld-linux") || name == "ld.so"
}

/// The interpreter that a script names in its first line; `None` for what is no script.
fn interpreter_of(program: &Path) -> Option<String> {
    let mut start = Vec::new();
    std::fs::File::open(program).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).trim().to_owned())
}

fn installed(program: &Path, on_path: &[PathBuf]) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let folder = program.parent().and_then(real);
    folder.is_some_and(|folder| on_path.iter().any(|place| real(place).as_deref() == Some(&folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_do_not_hide_an_interpreter() {
        for name in
            ["sh", "python3", "python3.11", "perl5.36.0", "lua5.4", "Ruby", "node", "ld-linux-x86-64.so.2"]
        {
            assert!(is_interpreter(name), "{name}");
        }
        for name in ["mousepad", "xterm", "pythonista", "shotwell", "env-editor", "gnome-calculator"] {
            assert!(!is_interpreter(name), "{name}");
        }
    }
}
