use super::*;
use deskhand_core::screen::Difference;
use proptest::prelude::*;
use std::io::Cursor;
use std::sync::atomic::{AtomicU64, Ordering};

static SERIALS: AtomicU64 = AtomicU64::new(1);

fn bitmap(width: u32, height: u32, pixels: Vec<u8>) -> Arc<Bitmap> {
    let serial = SERIALS.fetch_add(1, Ordering::Relaxed);
    let pixels = pixels.into();
    Arc::new(Bitmap { width, height, pixels, shows: Rect::new(0, 0, width, height), serial, differs: None })
}

/// Like a screen: flat areas, frames, text-like dots and a gradient.
fn screen(width: u32, height: u32, seed: u32) -> Arc<Bitmap> {
    let mut pixels = Vec::with_capacity((width * height * 4) as usize);
    for y in 0..height {
        for x in 0..width {
            let pixel = match (x / 64 + y / 48 + seed) % 4 {
                0 => [0xf6, 0xf5, 0xf4, 0xff],
                1 => [(x + seed) as u8, (y * 2) as u8, (x ^ y) as u8, 0xff],
                2 if (x * 7 + y * 13 + x * y) % 5 == 0 => [0x20, 0x20, 0x20, 0xff],
                2 => [0xff, 0xff, 0xff, 0xff],
                _ => [(x % 64 * 4) as u8, 0x80, 0x40, 0xff],
            };
            pixels.extend(pixel);
        }
    }
    bitmap(width, height, pixels)
}

fn options(format: Format, effort: Effort) -> Options {
    Options { format, effort, ..Options::default() }
}

fn rgb(bitmap: &Bitmap) -> Vec<u8> {
    bitmap.pixels.as_chunks::<4>().0.iter().flat_map(|[blue, green, red, _]| [*red, *green, *blue]).collect()
}

fn decoded(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = ::png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    reader.finish().unwrap();
    (info.width, info.height, pixels)
}

fn assert_same(bitmap: &Arc<Bitmap>, effort: Effort) {
    let encoded = encode(bitmap, &options(Format::Png, effort)).unwrap();
    assert_eq!(encoded.base64().concat(), *base64(&encoded.bytes()));
    let (width, height, pixels) = decoded(&encoded.bytes());
    assert_eq!((width, height), (bitmap.width, bitmap.height));
    assert!(pixels == rgb(bitmap), "{width}x{height} {effort:?} differs");
}

fn bitmaps() -> impl Strategy<Value = Arc<Bitmap>> {
    let size = prop_oneof![
        (1..4u32, 1..4u32),
        (1..700u32, 1..300u32),
        (1..4000u32, 1..20u32),
        (1..9u32, 1..3000u32)
    ];
    size.prop_flat_map(|(width, height)| {
        let bytes = (width * height * 4) as usize;
        prop_oneof![
            any::<[u8; 4]>().prop_map(move |flat| flat.repeat(bytes / 4)),
            prop::collection::vec(any::<u8>(), 64).prop_map(move |some| some
                .into_iter()
                .cycle()
                .take(bytes)
                .collect()),
            any::<u64>().prop_map(move |seed| noise(seed, bytes)),
            any::<u32>().prop_map(move |seed| screen(width, height, seed % 1000).pixels.to_vec()),
        ]
        .prop_map(move |pixels| bitmap(width, height, pixels))
    })
}

fn noise(mut seed: u64, bytes: usize) -> Vec<u8> {
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn png_decodes_to_exactly_the_input(bitmap in bitmaps()) {
        assert_same(&bitmap, Effort::Fast);
        assert_same(&bitmap, Effort::Compact);
    }

    #[test]
    fn strips_that_are_used_again_give_the_same_bytes(
        seed in 0..50u32, x in 0..300u32, y in 0..200u32, color in any::<[u8; 4]>(),
    ) {
        for (format, effort) in
            [(Format::Png, Effort::Fast), (Format::Png, Effort::Compact), (Format::Jpeg, Effort::Fast)]
        {
            let options = options(format, effort);
            let before = screen(301, 201, seed);
            encode(&before, &options).unwrap();
            let mut pixels = before.pixels.to_vec();
            pixels[((y * 301 + x) * 4) as usize..][..4].copy_from_slice(&color);
            let after = bitmap(301, 201, pixels);
            let again = encode(&after, &options).unwrap();
            // Of another size in between, so that nothing is remembered.
            for width in [3, 4, 5] {
                encode(&screen(width, 5, 0), &options).unwrap();
            }
            let fresh = bitmap(301, 201, after.pixels.to_vec());
            let fresh = encode(&fresh, &options).unwrap();
            prop_assert!(again.bytes() == fresh.bytes(), "{:?}", options);
        }
    }
}

#[test]
fn rows_that_are_said_to_be_the_same_are_taken_from_the_picture_before() {
    let options = options(Format::Png, Effort::Fast);
    let before = screen(700, 500, 3);
    encode(&before, &options).unwrap();
    let mut pixels = before.pixels.to_vec();
    pixels[(300 * 700 + 9) * 4..][..40].fill(0x77);
    let differs = Some(Difference { from: before.serial, first: 300, end: 301 });
    let told = Bitmap { differs, ..Arc::into_inner(bitmap(700, 500, pixels.clone())).unwrap() };
    let told = encode(&Arc::new(told), &options).unwrap();
    // Of another size in between, so that nothing is remembered.
    for width in [3, 4, 5] {
        encode(&screen(width, 5, 0), &options).unwrap();
    }
    assert!(told.bytes() == encode(&bitmap(700, 500, pixels), &options).unwrap().bytes());
}

#[test]
fn unused_bytes_do_not_matter() {
    let pixels: Vec<u8> = screen(100, 100, 1)
        .pixels
        .as_chunks::<4>()
        .0
        .iter()
        .enumerate()
        .flat_map(|(index, [blue, green, red, _])| [*blue, *green, *red, index as u8])
        .collect();
    assert_same(&bitmap(100, 100, pixels), Effort::Fast);
}

#[test]
fn a_large_picture_of_noise_comes_through() {
    let noisy = bitmap(1920, 300, noise(7, 1920 * 300 * 4));
    assert_same(&noisy, Effort::Fast);
    assert_same(&noisy, Effort::Compact);
}

#[test]
fn the_same_bitmap_and_options_are_the_same_result() {
    let shown = screen(300, 200, 3);
    let one = encode(&shown, &Options::default()).unwrap();
    assert!(Arc::ptr_eq(&one, &encode(&shown, &Options::default()).unwrap()));
    assert!(one.base64().iter().zip(one.base64()).all(|(one, again)| Arc::ptr_eq(one, &again)));
    let other = encode(&shown, &Options { max_width: 100, ..Options::default() }).unwrap();
    assert_eq!((other.width, other.height), (100, 67));
}

#[test]
fn base64_is_that_of_the_standard() {
    assert_eq!(&*base64(b"Deskhand"), "RGVza2hhbmQ=");
    assert_eq!(&*base64(b""), "");
    assert_eq!(&*base64(&[0xfb, 0xff]), "+/8=");
}

#[test]
fn jpeg_joins_its_strips() {
    let shown = screen(1283, 807, 5);
    for quality in [20, 80, 95] {
        let encoded =
            encode(&shown, &Options { format: Format::Jpeg, quality, ..Options::default() }).unwrap();
        assert_eq!((encoded.mime, encoded.quality), ("image/jpeg", Some(quality)));
        let mut decoder = zune_jpeg::JpegDecoder::new(Cursor::new(encoded.bytes()));
        let pixels = decoder.decode().unwrap();
        let wanted = rgb(&shown);
        assert_eq!(pixels.len(), wanted.len());
        let error: u64 = pixels.iter().zip(&wanted).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        let mean = error as f64 / pixels.len() as f64;
        assert!(
            mean < [40.0, 25.0, 8.0][usize::from(20 < quality) + usize::from(80 < quality)],
            "{quality}: {mean}"
        );
    }
}

#[test]
fn webp_is_lossless() {
    let shown = screen(123, 77, 5);
    let encoded = encode(&shown, &options(Format::Webp, Effort::Fast)).unwrap();
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(encoded.bytes())).unwrap();
    let mut pixels = vec![0; decoder.output_buffer_size().unwrap()];
    decoder.read_image(&mut pixels).unwrap();
    assert!(pixels == rgb(&shown));
}

#[test]
fn auto_is_png_where_it_fits_else_jpeg_within_the_limit() {
    let noisy = bitmap(640, 480, noise(1, 640 * 480 * 4));
    let png = encode(&noisy, &Options { max_bytes: Some(2_000_000), ..Options::default() }).unwrap();
    assert_eq!((png.format, png.scale), (Format::Png, 1.0));
    for most in [700_000, 200_000, 50_000, 5_000] {
        let jpeg = encode(&noisy, &Options { max_bytes: Some(most), ..Options::default() }).unwrap();
        assert_eq!(jpeg.format, Format::Jpeg);
        assert!(jpeg.base64().len() <= most, "{} of {most}", jpeg.base64().len());
        assert_eq!(jpeg.scale, f64::from(jpeg.width) / 640.0);
    }
    for format in [Format::Png, Format::Webp] {
        let options = Options { max_bytes: Some(100_000), ..options(format, Effort::Fast) };
        let small = encode(&noisy, &options).unwrap();
        assert_eq!(small.format, format);
        assert!(small.base64().len() <= 100_000 && small.scale < 1.0);
    }
    assert!(encode(&noisy, &Options { max_bytes: Some(8), ..Options::default() }).is_err());
}

#[test]
fn the_pointer_is_drawn_over_and_clipped() {
    let white = bitmap(10, 10, vec![255; 400]);
    let pointer = PointerImage { bounds: Rect::new(8, 9, 4, 2), pixels: [0, 0, 255, 255].repeat(8) };
    let drawn = with_pointer(&white, &pointer);
    let red = drawn.pixels.as_chunks::<4>().0.iter().filter(|pixel| pixel[..3] == [0, 0, 255]).count();
    assert_eq!(red, 2);
    assert_eq!(drawn.serial, with_pointer(&white, &pointer).serial);
    let elsewhere = PointerImage { bounds: Rect::new(-100, 0, 4, 2), ..pointer.clone() };
    assert_eq!(with_pointer(&white, &elsewhere).pixels, white.pixels);
    assert_ne!(drawn.serial, with_pointer(&white, &elsewhere).serial);
    let half = PointerImage { bounds: Rect::new(0, 0, 1, 1), pixels: vec![0, 0, 0, 128] };
    assert_eq!(with_pointer(&white, &half).pixels[..3], [127; 3]);
}

#[test]
fn a_crop_is_what_lies_there() {
    let shown = screen(50, 40, 2);
    let part = crop(&shown, Rect::new(10, 20, 5, 3)).unwrap();
    assert_eq!(part.pixels[..4], shown.pixels[(20 * 50 + 10) * 4..][..4]);
    assert_eq!(part.pixels.len(), 60);
    assert!(crop(&shown, Rect::new(48, 0, 5, 3)).is_none());
}
