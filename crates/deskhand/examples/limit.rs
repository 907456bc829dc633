//! What a screenshot costs when nothing stands around it: grab, encode, base64 and one line down a pipe,
//! on one thread, without protocol, windows, log or memory of pictures. `./bench` compares with it.
//!
//! Reads a line for each picture: its format and the width to scale it to (`png 0`, `jpeg 1280`).

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use deskhand_core::Call;
    use deskhand_core::screen::{Screen, Source};
    use deskhand_picture::{Effort, Format, Options, encode};
    use std::io::{BufRead, Write};
    use std::time::Duration;

    let screen = deskhand_linux::x11::screen::XScreen::new(&std::env::var("DISPLAY")?);
    let call = || Call::with_timeout(Duration::from_secs(10));
    let bounds = screen.displays(&call())?.first().ok_or("there is no display")?.bounds;
    let mut out = std::io::stdout().lock();
    let mut line = String::new();
    for order in std::io::stdin().lock().lines() {
        let order = order?;
        let (format, width) = order.split_once(' ').unwrap_or((&order, "0"));
        let options = Options {
            format: if format == "jpeg" { Format::Jpeg } else { Format::Png },
            quality: 80,
            max_width: width.parse()?,
            max_height: 0,
            max_bytes: None,
            effort: Effort::Fast,
        };
        let picture = encode(&screen.capture(&call(), Source::Screen(bounds))?, &options)?;
        line.clear();
        picture.base64().iter().for_each(|piece| line.push_str(piece));
        line.push('\n');
        out.write_all(line.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
