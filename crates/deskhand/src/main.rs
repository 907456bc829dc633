//! The command line.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use deskhand::virtual_desktop;
    use std::ffi::OsString;

    if let Some(code) = virtual_desktop::keep_if_asked() {
        return code;
    }
    let usage = "usage: deskhand desktop [--size 1280x800[,…]] [--window-manager NAME] -- COMMAND…";
    let mut arguments = std::env::args_os().skip(1);
    let mut options = virtual_desktop::Options::default();
    if arguments.next().is_none_or(|first| first != "desktop") {
        eprintln!("{usage}");
        return ExitCode::from(2);
    }
    let parsed = loop {
        match arguments.next().as_ref().and_then(|argument| argument.to_str()) {
            Some("--size" | "--displays") => {
                let value = arguments.next().unwrap_or_default();
                match virtual_desktop::parse_sizes(&value.to_string_lossy()) {
                    Ok(sizes) => options.displays = sizes,
                    Err(error) => break Err(error.to_string()),
                }
            }
            Some("--window-manager") => {
                options.window_manager = arguments.next().map(|value| value.to_string_lossy().into_owned());
            }
            Some("--") => break Ok(arguments.collect::<Vec<OsString>>()),
            _ => break Err(usage.to_owned()),
        }
    };
    let command = match parsed {
        Ok(command) => command,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match virtual_desktop::run_inside(&options, &command) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            eprintln!(
                "deskhand: {error}{}",
                error.detail.os.as_deref().map_or(String::new(), |os| format!(" ({os})"))
            );
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
