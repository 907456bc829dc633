//! Programs of the fake desktop: `echo`, `cat`, `false`, `flood`, which prints 100,000 bytes, `bash` and `sh`,
//! which find fault with a script that says `if` and not `fi`, and `gjs`, which fails when it is told to throw.

use super::Provider;
use crate::call::Call;
use crate::error::{Code, Error, Result};
use crate::script::{Printed, Ran, Run, Scripts};

const PROGRAMS: [&str; 7] = ["echo", "cat", "false", "flood", "bash", "sh", "gjs"];

impl Scripts for Provider {
    fn has(&self, program: &str) -> bool {
        PROGRAMS.contains(&program)
    }

    fn run(&self, call: &Call, run: &Run) -> Result<Ran> {
        let mut world = self.enter(call, "scripts.run")?;
        if !self.has(&run.program) {
            return Err(Error::new(
                Code::ApplicationNotFound,
                format!("There is no program {:?}.", run.program),
            ));
        }
        if let Some(folder) = run.directory.as_ref().filter(|folder| folder.starts_with("/nowhere")) {
            return Err(Error::new(Code::PathNotFound, format!("There is no folder {}.", folder.display())));
        }
        world.log.push(format!("run {} {:?}", run.program, run.arguments));
        let input = String::from_utf8_lossy(&run.input).into_owned();
        let (code, output, errors) = match run.program.as_str() {
            "echo" => (0, run.arguments.join(" ") + "\n", ""),
            "cat" => (0, input, ""),
            "false" => (1, String::new(), ""),
            "flood" => (0, "x".repeat(100_000), ""),
            "gjs" if input.contains("throw") => (1, String::new(), "JS ERROR: Error: thrown"),
            "gjs" => (0, "{\"sum\":2}\n".to_owned(), ""),
            _ if input.contains("if") && !input.contains("fi") => {
                (2, String::new(), "bash: line 3: syntax error: unexpected end of file\n")
            }
            _ => (0, String::new(), ""),
        };
        let printed = |text: &[u8]| {
            let begin = &text[..text.len().min(run.most_output)];
            Printed { begin: begin.to_vec(), end: Vec::new(), cut: (text.len() - begin.len()) as u64 }
        };
        Ok(Ran {
            exit_code: Some(code),
            output: printed(output.as_bytes()),
            errors: printed(errors.as_bytes()),
            ..Ran::default()
        })
    }
}
