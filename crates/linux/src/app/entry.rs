//! Desktop entries: the files that put programs into the menu of applications.
//!
//! <https://specifications.freedesktop.org/desktop-entry-spec/latest/>. Written out here because the format
//! is a page long, and what matters, the quoting and field codes of `Exec`, is what parsers leave out.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A desktop entry that can be started.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    /// The id without `.desktop`.
    pub id: String,
    /// The file it was read from.
    pub file: PathBuf,
    /// The name in the language of the session.
    pub name: String,
    /// The name without a language.
    pub plain_name: String,
    /// The command line, split into arguments; field codes still in it.
    pub exec: Vec<String>,
    /// A program that must be there for the entry to count.
    pub try_exec: Option<String>,
    pub icon: Option<String>,
    pub folder: Option<PathBuf>,
    pub window_class: Option<String>,
    /// Whether it runs in a terminal.
    pub terminal: bool,
    /// Whether it can be started by a message to the bus alone.
    pub bus_activated: bool,
    /// Whether menus leave it out.
    pub unlisted: bool,
}

impl Entry {
    /// Reads an entry; `None` for what is no application, is hidden, or is broken.
    pub fn parse(id: &str, file: &Path, text: &str, languages: &[String]) -> Option<Entry> {
        let keys = Keys::read(text);
        if keys.get("Type") != Some("Application") || keys.flag("Hidden") {
            return None;
        }
        let plain_name = keys.text("Name")?;
        let exec = match keys.text("Exec") {
            Some(line) => split(&line)?,
            None => Vec::new(),
        };
        Some(Entry {
            id: id.to_owned(),
            file: file.to_owned(),
            name: keys.localized("Name", languages).unwrap_or_else(|| plain_name.clone()),
            plain_name,
            exec,
            try_exec: keys.text("TryExec"),
            icon: keys.text("Icon").filter(|icon| !icon.is_empty()),
            folder: keys.text("Path").filter(|path| !path.is_empty()).map(PathBuf::from),
            window_class: keys.text("StartupWMClass").filter(|class| !class.is_empty()),
            terminal: keys.flag("Terminal"),
            bus_activated: keys.flag("DBusActivatable"),
            unlisted: keys.flag("NoDisplay"),
        })
    }

    /// The program, as the entry names it.
    pub fn program(&self) -> Option<&str> {
        self.exec.first().map(String::as_str)
    }

    /// The program that does the work: what comes after `env` and its variables.
    pub fn worker(&self) -> Option<&str> {
        let program = self.program()?;
        if base_name(program) != "env" {
            return Some(program);
        }
        let after = self.exec.iter().skip(1).find(|piece| !piece.contains('='))?;
        Some(if after.starts_with('-') { program } else { after })
    }

    /// The worker's own name, without folders.
    pub fn program_name(&self) -> Option<&str> {
        self.worker().map(base_name)
    }

    /// Whether the entry starts the program as it is, without arguments of its own.
    pub fn is_plain(&self) -> bool {
        self.exec.iter().skip(1).all(|piece| Field::whole(piece).is_some())
    }

    /// The command with its field codes filled in. `arguments` go where the entry wants files or
    /// addresses, all of them also where it wants one: they may be options that belong together. An
    /// entry that wants none gets them at the end. Codes inside quotes count too: the specification leaves
    /// that open, and entries that quote theirs mean them.
    pub fn command(&self, arguments: &[String]) -> Vec<String> {
        let mut command = Vec::new();
        let mut placed = false;
        for piece in &self.exec {
            match Field::whole(piece) {
                Some(Field::Arguments) if !placed => {
                    command.extend(arguments.iter().cloned());
                    placed = true;
                }
                Some(Field::Icon) => {
                    if let Some(icon) = &self.icon {
                        command.extend(["--icon".to_owned(), icon.clone()]);
                    }
                }
                Some(Field::Name) => command.push(self.name.clone()),
                Some(Field::File) => command.push(self.file.display().to_string()),
                Some(Field::Arguments | Field::Nothing) => {}
                None => {
                    let (text, took) = self.filled(piece, arguments);
                    placed |= took;
                    command.push(text);
                }
            }
        }
        if !placed {
            command.extend(arguments.iter().cloned());
        }
        command
    }

    /// An argument with codes inside it, like `--open=%f`; says whether an argument was put there.
    fn filled(&self, piece: &str, arguments: &[String]) -> (String, bool) {
        let mut text = String::new();
        let mut took = false;
        let mut rest = piece.chars();
        while let Some(letter) = rest.next() {
            if letter != '%' {
                text.push(letter);
                continue;
            }
            match rest.next().map(Field::of) {
                None => text.push('%'),
                Some(Err(literal)) => text.push_str(&literal),
                Some(Ok(Field::Name)) => text.push_str(&self.name),
                Some(Ok(Field::File)) => text.push_str(&self.file.display().to_string()),
                // Only a lone argument can be part of another one.
                Some(Ok(Field::Arguments)) if arguments.len() == 1 && !took => {
                    text.push_str(&arguments[0]);
                    took = true;
                }
                Some(Ok(Field::Arguments | Field::Icon | Field::Nothing)) => {}
            }
        }
        (text, took)
    }
}

/// What a field code stands for.
enum Field {
    Arguments,
    Icon,
    Name,
    File,
    /// Codes of old, which mean nothing any more.
    Nothing,
}

impl Field {
    /// The code of this letter, or the text that it stands for otherwise.
    fn of(letter: char) -> Result<Field, String> {
        match letter {
            'f' | 'F' | 'u' | 'U' => Ok(Field::Arguments),
            'i' => Ok(Field::Icon),
            'c' => Ok(Field::Name),
            'k' => Ok(Field::File),
            'd' | 'D' | 'n' | 'N' | 'v' | 'm' => Ok(Field::Nothing),
            '%' => Err("%".to_owned()),
            other => Err(format!("%{other}")),
        }
    }

    /// The code that is all of `text`.
    fn whole(text: &str) -> Option<Field> {
        let mut letters = text.strip_prefix('%')?.chars();
        let field = Field::of(letters.next()?).ok()?;
        letters.next().is_none().then_some(field)
    }
}

/// Splits a command line as the specification says: blanks part arguments, double quotes hold them
/// together, and inside quotes a backslash guards `"`, `` ` ``, `$` and itself. `None` when a quote is open.
fn split(line: &str) -> Option<Vec<String>> {
    let mut pieces = Vec::new();
    let mut piece: Option<String> = None;
    let mut letters = line.chars();
    let mut inside = false;
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                inside = !inside;
                piece.get_or_insert_default();
            }
            '\\' => {
                // Outside quotes the specification forbids it; other implementations take the next letter.
                piece.get_or_insert_default().push(letters.next()?);
            }
            ' ' | '\t' | '\n' if !inside => pieces.extend(piece.take()),
            other => piece.get_or_insert_default().push(other),
        }
    }
    pieces.extend(piece);
    (!inside).then_some(pieces)
}

/// The keys of the group `[Desktop Entry]`.
struct Keys<'t>(HashMap<&'t str, &'t str>);

impl<'t> Keys<'t> {
    fn read(text: &'t str) -> Keys<'t> {
        let mut keys = HashMap::new();
        let mut ours = false;
        for line in text.lines().map(str::trim) {
            if let Some(group) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                ours = group == "Desktop Entry";
            } else if ours
                && !line.starts_with('#')
                && let Some((key, value)) = line.split_once('=')
            {
                keys.entry(key.trim_end()).or_insert(value.trim_start());
            }
        }
        Keys(keys)
    }

    fn get(&self, key: &str) -> Option<&'t str> {
        self.0.get(key).copied()
    }

    fn flag(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(unescape)
    }

    fn localized(&self, key: &str, languages: &[String]) -> Option<String> {
        languages.iter().find_map(|language| self.text(&format!("{key}[{language}]")))
    }
}

fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('s') => text.push(' '),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('\\') => text.push('\\'),
            // Not ours: the quoting of Exec has escapes of its own.
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

/// The languages to look for, best first: `de_AT.UTF-8@x` gives `de_AT@x`, `de_AT`, `de@x`, `de`.
pub(super) fn languages(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()))
        .unwrap_or_default();
    let (place, modifier) = match locale.split_once('@') {
        Some((place, modifier)) => (place.to_owned(), Some(modifier)),
        None => (locale.clone(), None),
    };
    let place = place.split('.').next().unwrap_or_default();
    if matches!(place, "" | "C" | "POSIX") {
        return Vec::new();
    }
    let language = place.split('_').next().unwrap_or_default();
    let mut found = Vec::new();
    for base in [place, language] {
        found.extend(modifier.map(|modifier| format!("{base}@{modifier}")));
        found.push(base.to_owned());
    }
    found
}

/// All entries, read again only when a folder has changed.
#[derive(Default)]
pub(super) struct Catalog {
    folders: Vec<(PathBuf, Option<SystemTime>)>,
    entries: Vec<Entry>,
}

impl Catalog {
    /// The entries under these `applications` folders, the most important first; an id counts once.
    pub fn entries(&mut self, roots: &[PathBuf], languages: &[String]) -> &[Entry] {
        let fresh = !self.folders.is_empty()
            && roots.iter().all(|root| self.folders.iter().any(|(folder, _)| folder == root))
            && self.folders.iter().all(|(folder, time)| changed(folder) == *time);
        if !fresh {
            self.folders.clear();
            self.entries.clear();
            let mut seen = HashMap::new();
            for root in roots {
                self.read(root, "", languages, &mut seen, 0);
            }
        }
        &self.entries
    }

    fn read(
        &mut self,
        folder: &Path,
        prefix: &str,
        languages: &[String],
        seen: &mut HashMap<String, ()>,
        depth: usize,
    ) {
        self.folders.push((folder.to_owned(), changed(folder)));
        let Ok(listing) = std::fs::read_dir(folder) else { return };
        let mut files: Vec<PathBuf> = listing.flatten().map(|file| file.path()).collect();
        files.sort();
        for file in files {
            let Some(name) = file.file_name().and_then(|name| name.to_str()) else { continue };
            if let Some(stem) = name.strip_suffix(".desktop") {
                let id = format!("{prefix}{stem}");
                // A file of a more important folder stands for the id even when it hides it.
                if seen.insert(id.clone(), ()).is_none()
                    && let Ok(bytes) = std::fs::read(&file)
                {
                    let text = String::from_utf8_lossy(&bytes);
                    self.entries.extend(Entry::parse(&id, &file, &text, languages));
                }
            } else if depth < 4 && file.is_dir() {
                self.read(&file, &format!("{prefix}{name}-"), languages, seen, depth + 1);
            }
        }
    }
}

fn changed(folder: &Path) -> Option<SystemTime> {
    std::fs::metadata(folder).and_then(|data| data.modified()).ok()
}

/// The last part of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(exec: &str) -> Entry {
        let text = format!(
            "# first\n[Desktop Entry]\nType=Application\nName=Paper\nName[de]=Papier\nIcon=pen\nExec={exec}\n\
             [Desktop Action New]\nName=New\nExec=other"
        );
        Entry::parse("org.x.Paper", Path::new("/a/org.x.Paper.desktop"), &text, &["de".to_owned()]).unwrap()
    }

    #[test]
    fn field_codes_and_quotes_become_arguments() {
        let cases: [(&str, &[&str], &[&str]); 15] = [
            ("paper", &[], &["paper"]),
            ("paper %F", &[], &["paper"]),
            ("paper %U --last", &["a b", "ü"], &["paper", "a b", "ü", "--last"]),
            ("paper %f", &["a", "b"], &["paper", "a", "b"]),
            ("paper", &["100 %", "%u"], &["paper", "100 %", "%u"]),
            ("paper --open=%f", &["x y"], &["paper", "--open=x y"]),
            ("paper --open=%f", &[], &["paper", "--open="]),
            (r#"paper "%u""#, &["a b"], &["paper", "a b"]),
            ("paper %i %c %k", &[], &["paper", "--icon", "pen", "Papier", "/a/org.x.Paper.desktop"]),
            ("paper %d %m 50%%", &[], &["paper", "50%"]),
            (r#""/opt/my paper/run" "a\\"b" "#, &[], &["/opt/my paper/run", "a\"b"]),
            (r#"paper "" x"#, &[], &["paper", "", "x"]),
            (r#"paper "$HOME""#, &[], &["paper", "$HOME"]),
            (r#"sh -c "echo \\$HOME""#, &[], &["sh", "-c", "echo $HOME"]),
            ("env A=b paper %u", &["c"], &["env", "A=b", "paper", "c"]),
        ];
        for (exec, arguments, expected) in cases {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            assert_eq!(entry(exec).command(&arguments), expected, "{exec}");
        }
    }

    #[test]
    fn variables_before_the_program_are_passed_over() {
        assert_eq!(entry("env A=b /opt/paper %u").program_name(), Some("paper"));
        assert_eq!(entry("env -S sh").program_name(), Some("env"));
        assert_eq!(entry("/opt/paper A=b").program_name(), Some("paper"));
    }

    #[test]
    fn names_come_in_the_session_language() {
        let paper = entry("paper");
        assert_eq!((paper.name.as_str(), paper.plain_name.as_str()), ("Papier", "Paper"));
        let set = |value: &'static str| languages(move |name| (name == "LANG").then(|| value.to_owned()));
        assert_eq!(set("de_AT.UTF-8@euro"), ["de_AT@euro", "de_AT", "de@euro", "de"]);
        assert!(set("C.UTF-8").is_empty());
    }

    #[test]
    fn hidden_and_broken_entries_do_not_count() {
        let parse = |text: &str| Entry::parse("x", Path::new("/x"), text, &[]);
        assert!(parse("[Desktop Entry]\nType=Application\nName=A\nExec=a\nHidden=true").is_none());
        assert!(parse("[Desktop Entry]\nType=Link\nName=A\nURL=a").is_none());
        assert!(parse("[Desktop Entry]\nType=Application\nName=A\nExec=\"a").is_none());
        assert!(parse("").is_none());
        let unlisted = parse("[Desktop Entry]\nType=Application\nName=A\nExec=a\nNoDisplay=true");
        assert!(unlisted.unwrap().unlisted);
    }
}
