//! What goes over the selection protocol for each form, and back.

use deskhand_core::clipboard::{Kind, Part};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One form as the protocol carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// The name of the target that it is asked for by.
    pub target: String,
    /// The name of its type.
    pub kind: String,
    /// Bits of a unit: 8, 16 or 32.
    pub width: u8,
    /// The bytes, in this machine's order.
    pub bytes: Arc<[u8]>,
}

/// Everything that is on offer, in the order in which it is told.
pub type Content = Arc<Vec<Form>>;

impl Form {
    fn new(target: &str, kind: &str, bytes: &Arc<[u8]>) -> Form {
        Form { target: target.to_owned(), kind: kind.to_owned(), width: 8, bytes: bytes.clone() }
    }
}

/// By this target password managers tell clipboard managers to look away; its value is then [`SECRET`].
pub const HINT: &str = "x-kde-passwordManagerHint";
/// The value of [`HINT`].
pub const SECRET: &[u8] = b"secret";

const HTML: &str = "text/html";
const PNG: &str = "image/png";
const URI_LIST: &str = "text/uri-list";
/// What GNOME's file managers and their relatives paste; the first line says whether to copy or to move.
const GNOME_FILES: &str = "x-special/gnome-copied-files";

/// The targets of text, the best one first.
const TEXTS: [&str; 6] =
    ["UTF8_STRING", "text/plain;charset=utf-8", "text/plain;charset=UTF-8", "text/plain", "STRING", "TEXT"];

/// Asking for these does something, or they say something of the selection instead of holding it.
const NO_CONTENT: [&str; 7] =
    ["TARGETS", "MULTIPLE", "TIMESTAMP", "SAVE_TARGETS", "DELETE", "INSERT_SELECTION", "INSERT_PROPERTY"];

/// Whether a target holds a form of what was copied.
pub fn is_content(target: &str) -> bool {
    !NO_CONTENT.contains(&target)
}

/// The target to ask for, of those that are offered.
pub fn target_of(kind: Kind, offered: &[String]) -> Option<&'static str> {
    let wanted: &[&'static str] = match kind {
        Kind::Text => &TEXTS,
        Kind::Html => &[HTML],
        Kind::Image => &[PNG],
        Kind::Files => &[URI_LIST, GNOME_FILES],
    };
    wanted.iter().copied().find(|wanted| offered.iter().any(|name| name == wanted))
}

/// What is offered for parts, without doubles: files are a text, too, unless there is another one.
pub fn of_parts(parts: &[Part]) -> Vec<Form> {
    let mut forms = Vec::new();
    let has_text = parts.iter().any(|part| part.kind() == Kind::Text);
    for part in parts {
        match part {
            Part::Text(text) => of_text(text, &mut forms),
            Part::Html(html) => forms.push(Form::new(HTML, HTML, &of_html(html).into())),
            Part::Image(png) => forms.push(Form::new(PNG, PNG, &Arc::from(&png[..]))),
            Part::Files(files) => {
                let list: String = files.iter().map(|file| uri(file) + "\r\n").collect();
                forms.push(Form::new(URI_LIST, URI_LIST, &Arc::from(list.as_bytes())));
                let lines: String = files.iter().map(|file| format!("\n{}", uri(file))).collect();
                let copied = format!("copy{lines}");
                forms.push(Form::new(GNOME_FILES, GNOME_FILES, &Arc::from(copied.as_bytes())));
                if !has_text {
                    let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
                    of_text(&names.join("\n"), &mut forms);
                }
            }
        }
    }
    forms
}

fn of_text(text: &str, forms: &mut Vec<Form>) {
    let bytes: Arc<[u8]> = Arc::from(text.as_bytes());
    forms.push(Form::new("UTF8_STRING", "UTF8_STRING", &bytes));
    forms.push(Form::new("text/plain;charset=utf-8", "text/plain;charset=utf-8", &bytes));
    forms.push(Form::new("text/plain", "text/plain", &bytes));
    forms.push(Form::new("TEXT", "UTF8_STRING", &bytes));
    // STRING is Latin 1 by the conventions (ICCCM 2.6.2): what is not is better not offered than spoilt.
    let latin = match text.is_ascii() {
        true => Some(bytes),
        false => text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect(),
    };
    if let Some(latin) = latin {
        forms.push(Form::new("STRING", "STRING", &latin));
    }
}

/// Says its encoding where that matters, as browsers do: LibreOffice would guess another one.
fn of_html(html: &str) -> Vec<u8> {
    if html.is_ascii() { html.as_bytes().to_vec() } else { [ENCODING.as_bytes(), html.as_bytes()].concat() }
}

const ENCODING: &str = "<meta http-equiv=\"content-type\" content=\"text/html; charset=utf-8\">";

/// The part that bytes are, perhaps no more than its beginning. Nothing when there is nothing in it.
pub fn to_part(kind: Kind, type_name: &str, bytes: Vec<u8>, cut: bool) -> Option<Part> {
    Some(match kind {
        Kind::Text => Part::Text(to_text(type_name, bytes, cut)),
        Kind::Html => {
            let text = to_text(type_name, bytes, cut);
            let head = text.get(..ENCODING.len()).unwrap_or_default();
            let plain = head.eq_ignore_ascii_case(ENCODING);
            Part::Html(if plain { text[ENCODING.len()..].to_owned() } else { text })
        }
        Kind::Image => Part::Image(bytes),
        Kind::Files => {
            let text = to_text(type_name, bytes, false);
            let mut lines: Vec<&str> = text.lines().collect();
            if cut {
                lines.pop();
            }
            let files: Vec<PathBuf> = lines.into_iter().filter_map(path).collect();
            if files.is_empty() && !cut {
                return None;
            }
            Part::Files(files)
        }
    })
}

fn to_text(type_name: &str, mut bytes: Vec<u8>, cut: bool) -> String {
    if type_name == "STRING" {
        return bytes.into_iter().map(char::from).collect::<String>().trim_end_matches('\0').to_owned();
    }
    // Firefox has offered its markup in UTF-16.
    if bytes.starts_with(&[0xff, 0xfe]) {
        let units: Vec<u16> =
            bytes[2..].chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
        return String::from_utf16_lossy(&units);
    }
    if cut
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        // The last character was cut in two.
        let whole = error.valid_up_to();
        bytes.truncate(whole);
    }
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if text.ends_with('\0') { text.trim_end_matches('\0').to_owned() } else { text }
}

/// A path as a `file:` URI (RFC 8089), with everything escaped that is not plain.
fn uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

/// The path of a `file:` URI on this machine; nothing for other lines (comments, `copy`, web addresses).
fn path(line: &str) -> Option<PathBuf> {
    let rest = line.trim_end().strip_prefix("file://")?;
    // Between the slashes stands the machine's name, as a rule none.
    let rest = &rest[rest.find('/')?..];
    let (rest, mut bytes, mut at) = (rest.as_bytes(), Vec::with_capacity(rest.len()), 0);
    while let Some(byte) = rest.get(at) {
        let digits = rest.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'%') {
            Some(escaped) => {
                bytes.push(escaped);
                at += 3;
            }
            None => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// Forms as bytes, for the process that keeps them.
pub fn write(forms: &[Form], out: &mut Vec<u8>) {
    let number = |out: &mut Vec<u8>, number: usize| out.extend((number as u64).to_le_bytes());
    number(out, forms.len());
    for form in forms {
        for bytes in [form.target.as_bytes(), form.kind.as_bytes(), &[form.width], &form.bytes] {
            number(out, bytes.len());
            out.extend(bytes);
        }
    }
}

/// Forms from such bytes; nothing when they are not whole.
pub fn read(input: &mut &[u8]) -> Option<Vec<Form>> {
    fn number(input: &mut &[u8]) -> Option<usize> {
        let (number, rest) = input.split_first_chunk()?;
        *input = rest;
        usize::try_from(u64::from_le_bytes(*number)).ok()
    }
    fn bytes<'i>(input: &mut &'i [u8]) -> Option<&'i [u8]> {
        let length = number(input)?;
        let (bytes, rest) = input.split_at_checked(length)?;
        *input = rest;
        Some(bytes)
    }
    let count = number(input)?;
    let mut forms = Vec::new();
    for _ in 0..count {
        forms.push(Form {
            target: String::from_utf8(bytes(input)?.to_vec()).ok()?,
            kind: String::from_utf8(bytes(input)?.to_vec()).ok()?,
            width: *bytes(input)?.first()?,
            bytes: Arc::from(bytes(input)?),
        });
    }
    Some(forms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_as_addresses() {
        for name in ["/tmp/a b", "/tmp/100%", "/tmp/%41", "/tmp/Grüße 世界", "/tmp/#?&", "/"] {
            assert_eq!(path(&uri(Path::new(name))), Some(PathBuf::from(name)), "{}", uri(Path::new(name)));
        }
        let odd = PathBuf::from(OsString::from_vec(b"/tmp/\xff".to_vec()));
        assert_eq!(path(&uri(&odd)), Some(odd));
        assert_eq!(path("file://host/etc/motd\r"), Some(PathBuf::from("/etc/motd")));
        assert_eq!(path("file:///a%2"), Some(PathBuf::from("/a%2")));
        assert_eq!(path("copy"), None);
        assert_eq!(path("https://example.org/a"), None);
    }

    #[test]
    fn a_text_that_is_cut_ends_with_a_whole_character() {
        let text = |bytes: &[u8], cut| to_part(Kind::Text, "UTF8_STRING", bytes.to_vec(), cut);
        assert_eq!(text("né".as_bytes().split_last().unwrap().1, true), Some(Part::Text("n".into())));
        assert_eq!(text(b"n\xff", true), Some(Part::Text("n\u{fffd}".into())));
        assert_eq!(text(b"plain\0", false), Some(Part::Text("plain".into())));
        let latin = to_part(Kind::Text, "STRING", b"n\xe9".to_vec(), false);
        assert_eq!(latin, Some(Part::Text("né".into())));
    }

    #[test]
    fn markup_says_its_encoding_to_others_and_not_to_us() {
        let forms = of_parts(&[Part::Html("<b>é</b>".into())]);
        assert!(forms[0].bytes.starts_with(b"<meta "));
        let back = to_part(Kind::Html, "text/html", forms[0].bytes.to_vec(), false);
        assert_eq!(back, Some(Part::Html("<b>é</b>".into())));
    }

    #[test]
    fn only_latin_text_is_offered_as_such() {
        let targets = |text: &str| {
            of_parts(&[Part::Text(text.into())]).into_iter().map(|form| form.target).collect::<Vec<_>>()
        };
        assert!(targets("né").contains(&"STRING".to_owned()));
        assert!(!targets("世").contains(&"STRING".to_owned()));
    }

    #[test]
    fn forms_survive_the_way_to_the_keeper() {
        let forms = of_parts(&[Part::Text("né".into()), Part::Files(vec!["/tmp/x".into()])]);
        let mut bytes = Vec::new();
        write(&forms, &mut bytes);
        assert_eq!(read(&mut &bytes[..]), Some(forms));
        assert_eq!(read(&mut &bytes[..bytes.len() - 1]), None);
    }
}
