//! What a screenshot costs, part by part: `cargo bench -p deskhand-picture --bench picture`.
//!
//! With DISPLAY set the pictures are of that screen, and the grab is timed too; without, they are drawn.
//! `full` is a picture of which nothing is known; `caret` one that differs from the last in two dozen
//! pixels; `same` the one that was asked for before.

use deskhand_core::screen::{Bitmap, Screen, Source};
use deskhand_core::{Call, Rect};
use deskhand_picture::{Effort, Format, Options, encode};
use divan::Bencher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

fn main() {
    let shown = picture();
    divan::main();
    let sizes = ALL.each_ref().map(|(name, options)| {
        let bytes = encode(&numbered(shown.pixels.to_vec()), options).map_or(0, |encoded| encoded.length());
        format!("{name} {bytes}")
    });
    eprintln!("{}x{}, bytes: {}", shown.width, shown.height, sizes.join(", "));
}

const PNG: Options = Options {
    format: Format::Png,
    quality: 80,
    max_width: 0,
    max_height: 0,
    max_bytes: None,
    effort: Effort::Fast,
};

const KINDS: [(&str, Options); 6] = [
    ("png", PNG),
    ("compact png", Options { effort: Effort::Compact, ..PNG }),
    ("jpeg", Options { format: Format::Jpeg, ..PNG }),
    ("webp", Options { format: Format::Webp, ..PNG }),
    ("png 1280 wide", Options { max_width: 1280, ..PNG }),
    (
        "default",
        Options { format: Format::Auto, max_width: 1568, max_height: 1568, max_bytes: Some(700_000), ..PNG },
    ),
];

static ALL: [(&str, Options); 6] = KINDS;

fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

fn options(name: &str) -> &'static Options {
    ALL.iter().find(|(own, _)| *own == name).map_or(&ALL[0].1, |(_, options)| options)
}

#[divan::bench(args = names())]
fn full(bencher: Bencher, name: &str) {
    // Every pixel differs from the picture before, and the content is as hard.
    let shown = picture();
    let other: Vec<u8> = shown.pixels.iter().map(|byte| byte ^ 1).collect();
    alternating(bencher, name, &shown.pixels, &other);
}

#[divan::bench(args = names())]
fn caret(bencher: Bencher, name: &str) {
    let shown = picture();
    let mut other = shown.pixels.to_vec();
    for row in 0..16 {
        let at = ((shown.height / 2 + row) * shown.width + shown.width / 3) as usize * 4;
        other[at..at + 8].iter_mut().for_each(|byte| *byte = !*byte);
    }
    alternating(bencher, name, &shown.pixels, &other);
}

#[divan::bench(args = names())]
fn same(bencher: Bencher, name: &str) {
    let shown = numbered(picture().pixels.to_vec());
    bencher.bench(|| encode(&shown, options(name)).map(|encoded| encoded.base64()));
}

#[divan::bench]
fn base64(bencher: Bencher) {
    bencher
        .with_inputs(|| encode(&numbered(picture().pixels.to_vec()), &PNG))
        .bench_values(|encoded| encoded.map(|encoded| encoded.base64()));
}

/// The first grab of a rectangle that another one has not shown before.
#[divan::bench]
fn grab(bencher: Bencher) {
    let Some(screen) = screen() else { return };
    let shown = picture().shows;
    let call = Call::with_timeout(Duration::from_secs(3600));
    // More rectangles than are kept, so that none is known.
    let next = AtomicU64::new(0);
    bencher.bench(|| {
        let inset = (next.fetch_add(1, Ordering::Relaxed) % 7) as u32;
        let rect = Rect::new(shown.x, shown.y, shown.width - inset, shown.height);
        screen.capture(&call, Source::Screen(rect))
    });
}

/// A grab of a screen on which nothing has happened.
#[divan::bench]
fn grab_unchanged(bencher: Bencher) {
    let Some(screen) = screen() else { return };
    let call = Call::with_timeout(Duration::from_secs(3600));
    bencher.bench(|| screen.capture(&call, Source::Screen(picture().shows)));
}

fn alternating(bencher: Bencher, name: &str, one: &[u8], other: &[u8]) {
    let next = AtomicU64::new(0);
    bencher
        .with_inputs(|| {
            let even = next.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
            numbered(if even { one } else { other }.to_vec())
        })
        .bench_values(|bitmap| encode(&bitmap, options(name)));
}

/// A bitmap that was never seen before, as far as its serial tells.
fn numbered(pixels: Vec<u8>) -> Arc<Bitmap> {
    static SERIALS: AtomicU64 = AtomicU64::new(1 << 62);
    let Bitmap { width, height, shows, .. } = **picture();
    Arc::new(Bitmap {
        width,
        height,
        pixels: pixels.into(),
        shows,
        serial: SERIALS.fetch_add(1, Ordering::Relaxed),
        differs: None,
    })
}

fn picture() -> &'static Arc<Bitmap> {
    static PICTURE: OnceLock<Arc<Bitmap>> = OnceLock::new();
    PICTURE.get_or_init(|| captured().unwrap_or_else(drawn))
}

#[cfg(target_os = "linux")]
fn screen() -> Option<&'static dyn Screen> {
    static SCREEN: OnceLock<Option<deskhand_linux::x11::screen::XScreen>> = OnceLock::new();
    let screen = SCREEN.get_or_init(|| {
        let display = std::env::var("DISPLAY").ok()?;
        Some(deskhand_linux::x11::screen::XScreen::new(&display))
    });
    screen.as_ref().map(|screen| screen as &dyn Screen)
}

#[cfg(not(target_os = "linux"))]
fn screen() -> Option<&'static dyn Screen> {
    None
}

fn captured() -> Option<Arc<Bitmap>> {
    let call = Call::with_timeout(Duration::from_secs(10));
    let screen = screen()?;
    let displays = screen.displays(&call).ok()?;
    screen.capture(&call, Source::Screen(displays.first()?.bounds)).ok()
}

/// Flat areas, frames, something like text and something like a photograph.
fn drawn() -> Arc<Bitmap> {
    let (width, height) = (1920u32, 1080u32);
    let mut noise = 1u32;
    let mut pixels = Vec::with_capacity((width * height * 4) as usize);
    for y in 0..height {
        for x in 0..width {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let grain = (noise >> 29) as u8;
            let pixel = match (x * 4 / width, y * 3 / height) {
                (3, 0) => [(x / 8) as u8 ^ grain, (y / 3) as u8 ^ grain, ((x + y) / 9) as u8 ^ grain, 0],
                (1 | 2, _) if y % 18 < 11 && (x / 2 * 7 + y * 5 + x * y / 11) % 5 < 2 => {
                    [0x30, 0x30, 0x30, 0]
                }
                (1 | 2, _) => [0xff, 0xff, 0xff, 0],
                (0, _) if x % 120 == 0 || y % 40 == 0 => [0xc0, 0xc0, 0xc8, 0],
                _ => [0xf4, 0xf5, 0xf6, 0],
            };
            pixels.extend(pixel);
        }
    }
    let shows = Rect::new(0, 0, width, height);
    Arc::new(Bitmap { width, height, pixels: pixels.into(), shows, serial: 1, differs: None })
}
