//! Pictures as a client gets them.

use super::client::Client;
use serde_json::{Value, json};

/// A picture as it came: its kind, its size, and the text beside it.
pub struct Picture {
    pub mime: String,
    pub width: u32,
    pub height: u32,
    pub text: String,
    /// The file.
    pub bytes: Vec<u8>,
}

impl Picture {
    /// The color of each pixel of a PNG: red, green, blue.
    pub fn pixels(&self) -> Vec<[u8; 3]> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(&self.bytes));
        decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        let samples = frame.color_type.samples();
        assert!(3 <= samples, "{:?}", frame.color_type);
        pixels[..frame.buffer_size()].chunks(samples).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
    }
}

/// What a tool shows.
#[track_caller]
pub fn picture(client: &mut Client, tool: &str, arguments: Value) -> Picture {
    let result = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_ne!(result["isError"], true, "{result}");
    let block = |kind: &str| {
        let blocks = result["content"].as_array().into_iter().flatten();
        blocks.clone().find(|block| block["type"] == kind).cloned().unwrap_or_default()
    };
    let image = block("image");
    let bytes = base64_simd::STANDARD.decode_to_vec(image["data"].as_str().expect("a picture")).unwrap();
    let mime = image["mimeType"].as_str().unwrap().to_owned();
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    // By the PNG specification the first chunk begins with width and height; JPEG's are in its frame header.
    let (width, height) = match mime.as_str() {
        "image/png" => (number(16), number(20)),
        _ => {
            let frame =
                bytes.windows(2).position(|pair| pair == [0xff, 0xc0] || pair == [0xff, 0xc2]).unwrap();
            let short = |at: usize| u32::from(bytes[at]) << 8 | u32::from(bytes[at + 1]);
            (short(frame + 7), short(frame + 5))
        }
    };
    let text = block("text")["text"].as_str().unwrap_or_default().to_owned();
    Picture { mime, width, height, text, bytes }
}
