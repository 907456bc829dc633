//! One table of error codes, and the one error type.
//!
//! An error says what was wanted, what was there and what to do. There is no variant per dependency and
//! no blanket conversion from `io::Error`: the place that fails knows the sentence, a conversion does not.

use serde::{Serialize, Serializer};
use std::fmt;

/// The result of everything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whether trying again helps, and what has to happen first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The arguments are wrong: no retry helps until they change.
    Argument,
    /// What was named is not there: look again.
    NotFound,
    /// The target is in a state that does not allow it now: a retry helps after a change.
    State,
    /// The person at the desktop has to act.
    Permission,
    /// Never here.
    Unsupported,
    /// It took too long, or was called off: a retry may help.
    Timeout,
    /// Something underneath failed: a retry may help.
    Backend,
}

macro_rules! codes {
    ($($class:ident { $($variant:ident $name:literal $doc:literal,)* })*) => {
        /// What went wrong, as a program reads it. On the wire a `snake_case` string.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[doc = $doc] $variant,)*)* }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[$($(Code::$variant,)*)*];

            /// The name on the wire.
            pub const fn name(self) -> &'static str {
                match self { $($(Code::$variant => $name,)*)* }
            }

            /// The class, which says whether a retry helps.
            pub const fn class(self) -> Class {
                match self { $($(Code::$variant => Class::$class,)*)* }
            }

            /// One sentence for the documentation.
            pub const fn doc(self) -> &'static str {
                match self { $($(Code::$variant => $doc,)*)* }
            }
        }
    };
}

codes! {
    Argument {
        InvalidArgument "invalid_argument" "An argument has a wrong type or value.",
        MissingRequiredParameter "missing_required_parameter" "A parameter that this call needs is absent.",
        InvalidCoordinates "invalid_coordinates" "The coordinates or their frame make no sense.",
        CoordinatesOutOfBounds "coordinates_out_of_bounds" "The point lies outside every display, or outside its frame.",
        InvalidSelector "invalid_selector" "The selector cannot be parsed.",
        UnknownKey "unknown_key" "No key has this name.",
        TextNotTypeable "text_not_typeable" "The text holds characters that cannot be typed here.",
    }
    NotFound {
        ApplicationNotFound "application_not_found" "No such application is running or installed.",
        WindowNotFound "window_not_found" "No such window.",
        ElementNotFound "element_not_found" "No such element.",
        DisplayNotFound "display_not_found" "No such display.",
        MenuItemNotFound "menu_item_not_found" "No such menu item.",
        StatusItemNotFound "status_item_not_found" "No such item in the notification area.",
        PathNotFound "path_not_found" "No such file or folder.",
        SessionNotFound "session_not_found" "No such session.",
        MacroNotFound "macro_not_found" "No such macro.",
        ObservationNotFound "observation_not_found" "No such observation.",
    }
    State {
        ElementStale "element_stale" "The element behind this ref is gone.",
        ElementNotActionable "element_not_actionable" "The element is disabled, hidden, covered or read-only.",
        AmbiguousTarget "ambiguous_target" "Several things match where one is needed.",
        NotScrollable "not_scrollable" "The area does not scroll in this direction.",
        TargetChanged "target_changed" "The target is no longer what was shown.",
        WindowMinimized "window_minimized" "The window is minimized.",
        PathExists "path_exists" "The file is already there.",
        Busy "busy" "Too many calls are running, or another one holds what this one needs.",
        PausedByUser "paused_by_user" "The person at the desktop has paused synthetic input.",
    }
    Permission {
        PermissionDenied "permission_denied" "The system or the application does not allow it.",
        ElevatedProcessTarget "elevated_process_target" "The target runs with more rights than Deskhand.",
        SecureDesktopActive "secure_desktop_active" "The session is locked, or belongs to somebody else now.",
        DeniedByPolicy "denied_by_policy" "Deskhand was started without permission for this.",
    }
    Unsupported {
        Unsupported "unsupported" "This system cannot do it.",
    }
    Timeout {
        Timeout "timeout" "The deadline passed.",
        Cancelled "cancelled" "The client called it off.",
    }
    Backend {
        Backend "backend" "A service underneath failed or is absent.",
        ScriptFailed "script_failed" "The script ended with an error.",
        Internal "internal" "A defect in Deskhand.",
    }
}

impl Code {
    /// Whether the same call may succeed later without other arguments.
    pub const fn retry(self) -> bool {
        match self.class() {
            Class::Argument | Class::Permission | Class::Unsupported => false,
            Class::NotFound | Class::State | Class::Timeout | Class::Backend => true,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A failure, with its own diagnosis. Serializes as `{code, message, detail?, retry}`.
pub struct Error {
    /// What a program reads.
    pub code: Code,
    /// What a person or a model reads: one sentence, complete in itself.
    pub message: String,
    /// What was wanted, what was there, what to do.
    pub detail: Detail,
    /// The failure underneath, for the log.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The parts of a diagnosis. Absent parts are left out on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Detail {
    /// What was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was there instead: at most [`Error::MOST_FOUND`] entries, then "n more".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// What the system itself said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
}

impl Error {
    /// How many entries `found` holds before the rest is counted.
    pub const MOST_FOUND: usize = 20;

    /// A failure with its sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), detail: Detail::default(), source: None }
    }

    /// Adds what was wanted.
    pub fn expected(mut self, expected: impl Into<String>) -> Error {
        self.detail.expected = Some(expected.into());
        self
    }

    /// Adds what was there; past [`Error::MOST_FOUND`] entries the rest is counted.
    pub fn found<S: Into<String>>(mut self, found: impl IntoIterator<Item = S>) -> Error {
        let mut all: Vec<String> = found.into_iter().map(Into::into).collect();
        if all.len() > Error::MOST_FOUND {
            let more = all.len() - Error::MOST_FOUND;
            all.truncate(Error::MOST_FOUND);
            all.push(format!("{more} more"));
        }
        self.detail.found = all;
        self
    }

    /// Adds what to do.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Error {
        self.detail.remedy = Some(remedy.into());
        self
    }

    /// Adds what the system itself said.
    pub fn os(mut self, os: impl fmt::Display) -> Error {
        self.detail.os = Some(os.to_string());
        self
    }

    /// Adds the failure underneath; its text stands in the detail too.
    pub fn because(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        if self.detail.os.is_none() {
            self.detail.os = Some(source.to_string());
        }
        self.source = Some(Box::new(source));
        self
    }

    /// A service underneath failed or is absent.
    pub fn backend(message: impl Into<String>) -> Error {
        Error::new(Code::Backend, message)
    }

    /// This system cannot do it, for `reason`.
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error::new(Code::Unsupported, message)
    }

    /// An argument is wrong.
    pub fn argument(message: impl Into<String>) -> Error {
        Error::new(Code::InvalidArgument, message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if let Some(remedy) = &self.detail.remedy {
            write!(f, " {remedy}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} {:?}", self.detail)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", &self.code)?;
        map.serialize_entry("message", &self.message)?;
        if self.detail != Detail::default() {
            map.serialize_entry("detail", &self.detail)?;
        }
        map.serialize_entry("retry", &self.code.retry())?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_snake_case() {
        let mut seen = HashSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.name()), "{code} twice");
            assert!(code.name().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{code}");
            assert!(code.doc().ends_with('.'), "{code} has no sentence");
        }
    }

    #[test]
    fn found_is_bounded_and_says_how_much_is_left_out() {
        let error = Error::new(Code::WindowNotFound, "x").found((0..23).map(|n| n.to_string()));
        assert_eq!(error.detail.found.len(), 21);
        assert_eq!(error.detail.found[20], "3 more");
    }

    #[test]
    fn absent_parts_are_left_out_on_the_wire() {
        let error = Error::new(Code::Timeout, "No window came.").remedy("Wait longer.");
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"code":"timeout","message":"No window came.","detail":{"remedy":"Wait longer."},"retry":true}"#
        );
    }
}
