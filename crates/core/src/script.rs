//! Running programs to their end, for what they print.

use crate::call::Call;
use crate::error::Result;
use std::path::PathBuf;

/// What to run. Nothing of it is interpreted by a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// An executable's name or path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder to run it in.
    pub directory: Option<PathBuf>,
    /// Variables to add to its environment, or to take away from it.
    pub environment: Vec<(String, Option<String>)>,
    /// What it reads.
    pub input: Vec<u8>,
    /// How many bytes of each of its outputs are kept.
    pub most_output: usize,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// What it ended with, unless a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it printed.
    pub output: Printed,
    /// What it printed as errors.
    pub errors: Printed,
    /// Whether something that it started goes on and holds its outputs open.
    pub left_running: bool,
}

/// One of its outputs: the beginning and the end where the middle is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The beginning.
    pub begin: Vec<u8>,
    /// The end, where something is left out before it.
    pub end: Vec<u8>,
    /// How many bytes are left out between them.
    pub cut: u64,
}

/// Runs programs.
pub trait Scripts: Send + Sync {
    /// Whether an executable of this name is installed.
    fn has(&self, program: &str) -> bool;

    /// Runs a program to its end. When the call ends first, the program ends with everything that it has
    /// started, and the error holds what it had printed. `application_not_found` when there is no such
    /// program, `path_not_found` when the folder is not there.
    fn run(&self, call: &Call, run: &Run) -> Result<Ran>;
}

/// The stand-in where programs cannot be run.
pub struct NoScripts(pub crate::desktop::Missing);

impl Scripts for NoScripts {
    fn has(&self, _: &str) -> bool {
        false
    }
    fn run(&self, _: &Call, _: &Run) -> Result<Ran> {
        Err(self.0.error())
    }
}
