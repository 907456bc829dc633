//! Titles in the encodings that X11 clients still use.

/// Decodes a text property: UTF-8 where it is, else compound text, else Latin-1.
///
/// ICCCM says that STRING is Latin-1, but many programs put UTF-8 there. Latin-1 text with a letter beyond
/// ASCII is practically never valid UTF-8, so the bytes themselves tell.
pub(super) fn decode(bytes: &[u8]) -> String {
    // Some programs end the text with a zero, or put several texts into one property: the first counts.
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    if bytes.contains(&ESCAPE) {
        return compound(bytes);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => latin1(bytes),
    }
}

const ESCAPE: u8 = 0x1b;

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// COMPOUND_TEXT: Latin-1 with escape sequences that switch the encoding. UTF-8 segments and Latin-1 are
/// decoded; each segment in another set becomes one replacement character, since the tables for a dozen
/// dead encodings are not worth their weight: programs that use them set `_NET_WM_NAME` too.
fn compound(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    let mut known = true;
    while !rest.is_empty() {
        if rest[0] == ESCAPE {
            let (set, after) = escape(rest);
            rest = after;
            match set {
                Set::Utf8 => {
                    let end = find(rest, b"\x1b%@").unwrap_or(rest.len());
                    text.push_str(&String::from_utf8_lossy(&rest[..end]));
                    rest = &rest[end..];
                }
                Set::Latin1 => known = true,
                Set::Other => known = false,
            }
            continue;
        }
        let end = rest.iter().position(|byte| *byte == ESCAPE).unwrap_or(rest.len());
        match known {
            true => text.push_str(&latin1(&rest[..end])),
            false => text.push(char::REPLACEMENT_CHARACTER),
        }
        rest = &rest[end..];
    }
    text
}

enum Set {
    Utf8,
    Latin1,
    Other,
}

/// Reads one escape sequence: intermediate bytes 0x20–0x2f, then one final byte.
fn escape(bytes: &[u8]) -> (Set, &[u8]) {
    let end = bytes[1..].iter().position(|byte| !(0x20..=0x2f).contains(byte)).map_or(bytes.len(), |n| n + 2);
    let set = match &bytes[1..end] {
        b"%G" => Set::Utf8,
        // `ESC % @` leaves UTF-8, `ESC ( B` is ASCII, `ESC - A` the right half of Latin-1.
        b"%@" | b"(B" | b"-A" => Set::Latin1,
        _ => Set::Other,
    };
    (set, &bytes[end..])
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_read_in_every_encoding() {
        let cases: [(&[u8], &str); 9] = [
            ("Grüße 日本 😀".as_bytes(), "Grüße 日本 😀"),
            (b"Gr\xfc\xdfe", "Grüße"),
            (b"plain", "plain"),
            (b"ended\0", "ended"),
            (b"", ""),
            (b"a\x1b%G\xe6\x97\xa5\x1b%@b", "a日b"),
            (b"Gr\x1b-A\xfc\xdfe", "Grüße"),
            (b"a\x1b$)A\xd6\xd0\x1b(Bb", "a\u{fffd}b"),
            (b"\x1b", ""),
        ];
        for (bytes, expected) in cases {
            assert_eq!(decode(bytes), expected, "{bytes:?}");
        }
    }
}
