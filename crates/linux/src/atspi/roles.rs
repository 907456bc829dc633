//! AT-SPI's words in ours: roles and states.
//!
//! The match on roles has no `_` arm: a role that AT-SPI gains is a compile error here, not a silent
//! `unknown`.

use atspi_common::{Role as Spi, State as SpiState};
use deskhand_core::element::{Role, State, States};
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use std::fmt;
use zbus::zvariant::{Signature, Type};

/// The states of an element as AT-SPI sends them: two words of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits(pub u64);

impl Bits {
    /// Whether the element is in this state.
    pub fn has(self, state: SpiState) -> bool {
        self.0 & state as u64 != 0
    }
}

/// The interfaces that an element offers, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers(u16);

impl Offers {
    /// Actions by index.
    pub const ACTION: Offers = Offers(1);
    /// A place on the screen.
    pub const COMPONENT: Offers = Offers(2);
    /// A text that can be replaced.
    pub const EDITABLE_TEXT: Offers = Offers(4);
    /// Children of which some are selected.
    pub const SELECTION: Offers = Offers(8);
    /// A text.
    pub const TEXT: Offers = Offers(16);
    /// A number.
    pub const VALUE: Offers = Offers(32);
    /// Rows and columns.
    pub const TABLE: Offers = Offers(64);

    /// Whether all of `wanted` are offered.
    pub fn has(self, wanted: Offers) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    fn of(interface: &str) -> Offers {
        match interface.rsplit('.').next() {
            Some("Action") => Offers::ACTION,
            Some("Component") => Offers::COMPONENT,
            Some("EditableText") => Offers::EDITABLE_TEXT,
            Some("Selection") => Offers::SELECTION,
            Some("Text") => Offers::TEXT,
            Some("Value") => Offers::VALUE,
            Some("Table") => Offers::TABLE,
            Some(_) | None => Offers(0),
        }
    }
}

impl Type for Bits {
    const SIGNATURE: &'static Signature = <Vec<u32> as Type>::SIGNATURE;
}

impl Type for Offers {
    const SIGNATURE: &'static Signature = <Vec<&str> as Type>::SIGNATURE;
}

impl<'de> Deserialize<'de> for Bits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bits, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Bits;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of state words")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut words: A) -> Result<Bits, A::Error> {
                let mut bits = 0;
                let mut shift = 0;
                while let Some(word) = words.next_element::<u32>()? {
                    // A third word would be states that nobody has defined yet.
                    if shift < 64 {
                        bits |= u64::from(word) << shift;
                    }
                    shift += 32;
                }
                Ok(Bits(bits))
            }
        }
        deserializer.deserialize_seq(Words)
    }
}

impl<'de> Deserialize<'de> for Offers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Offers, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Offers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of interface names")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Offers, A::Error> {
                let mut all = 0;
                while let Some(name) = names.next_element::<&str>()? {
                    all |= Offers::of(name).0;
                }
                Ok(Offers(all))
            }
        }
        deserializer.deserialize_seq(Names)
    }
}

/// The role behind the number on the wire. Numbers past the ones we know are newer than this program.
pub fn role(number: u32, bits: Bits) -> Role {
    match Spi::try_from(number) {
        Ok(known) => known_role(known, bits),
        // ATSPI_ROLE_SWITCH, of 2.56.
        Err(_) if number == 130 => Role::Switch,
        Err(_) => Role::Unknown,
    }
}

/// Whether a field of this name holds a password, in the languages whose word for it is known here.
pub fn sounds_secret(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "password",
        "passphrase",
        "passcode",
        "passwort",
        "kennwort",
        "mot de passe",
        "contraseña",
        "senha",
        "wachtwoord",
        "lösenord",
        "hasło",
        "пароль",
        "密码",
        "密碼",
        "パスワード",
        "비밀번호",
    ];
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

fn known_role(role: Spi, bits: Bits) -> Role {
    match role {
        Spi::Invalid | Spi::Unknown | Spi::Extended | Spi::RedundantObject => Role::Unknown,
        Spi::Alert | Spi::InfoBar => Role::Alert,
        Spi::Animation | Spi::Arrow | Spi::Image | Spi::ImageMap => Role::Image,
        Spi::Calendar | Spi::DateEditor => Role::Calendar,
        Spi::Canvas | Spi::DrawingArea | Spi::GlassPane | Spi::Ruler => Role::Canvas,
        Spi::CheckBox => Role::CheckBox,
        Spi::CheckMenuItem => Role::CheckMenuItem,
        Spi::ColorChooser => Role::ColorChooser,
        Spi::ColumnHeader | Spi::TableColumnHeader => Role::ColumnHeader,
        Spi::RowHeader | Spi::TableRowHeader => Role::RowHeader,
        Spi::ComboBox => Role::ComboBox,
        Spi::DesktopIcon | Spi::Icon => Role::Icon,
        Spi::DesktopFrame | Spi::Frame | Spi::Window | Spi::InputMethodWindow => Role::Window,
        Spi::Dial | Spi::Slider | Spi::Rating => Role::Slider,
        Spi::Dialog | Spi::FontChooser | Spi::OptionPane => Role::Dialog,
        Spi::FileChooser | Spi::DirectoryPane => Role::FileChooser,
        Spi::Filler | Spi::FocusTraversable => Role::Filler,
        Spi::HTMLContainer
        | Spi::DocumentFrame
        | Spi::DocumentSpreadsheet
        | Spi::DocumentPresentation
        | Spi::DocumentText
        | Spi::DocumentWeb
        | Spi::DocumentEmail
        | Spi::Page => Role::Document,
        Spi::InternalFrame | Spi::LayeredPane | Spi::RootPane | Spi::Panel | Spi::Embedded | Spi::Marquee => {
            Role::Panel
        }
        Spi::Label | Spi::AcceleratorLabel => Role::Label,
        Spi::List | Spi::DescriptionList => Role::List,
        Spi::ListBox | Spi::Autocomplete => Role::ListBox,
        Spi::ListItem => Role::ListItem,
        Spi::Menu | Spi::PopupMenu => Role::Menu,
        Spi::MenuBar => Role::MenuBar,
        Spi::MenuItem | Spi::TearoffMenuItem => Role::MenuItem,
        Spi::PageTab => Role::Tab,
        Spi::PageTabList => Role::TabList,
        Spi::PasswordText => Role::PasswordField,
        Spi::ProgressBar | Spi::LevelBar => Role::ProgressBar,
        Spi::Button | Spi::PushButtonMenu => Role::Button,
        Spi::RadioButton => Role::RadioButton,
        Spi::RadioMenuItem => Role::RadioMenuItem,
        Spi::ScrollBar => Role::ScrollBar,
        Spi::ScrollPane => Role::ScrollPane,
        Spi::Separator => Role::Separator,
        Spi::SpinButton => Role::SpinButton,
        Spi::SplitPane => Role::SplitPane,
        Spi::StatusBar => Role::StatusBar,
        Spi::Table | Spi::TreeTable => Role::Table,
        Spi::TableCell => Role::Cell,
        Spi::TableRow => Role::Row,
        Spi::Terminal => Role::Terminal,
        // GTK calls every entry `text`; the states say how many lines it has.
        Spi::Text | Spi::Entry | Spi::Editbar => {
            if bits.has(SpiState::MultiLine) {
                Role::TextArea
            } else {
                Role::TextField
            }
        }
        Spi::ToggleButton => Role::ToggleButton,
        Spi::ToolBar => Role::ToolBar,
        Spi::ToolTip => Role::ToolTip,
        Spi::Tree => Role::Tree,
        Spi::TreeItem => Role::TreeItem,
        Spi::Viewport => Role::Viewport,
        Spi::Header
        | Spi::Footer
        | Spi::Section
        | Spi::Footnote
        | Spi::Comment
        | Spi::ContentDeletion
        | Spi::ContentInsertion
        | Spi::Suggestion => Role::Section,
        Spi::Landmark => Role::Region,
        Spi::Paragraph => Role::Paragraph,
        Spi::Application => Role::Application,
        Spi::CHART => Role::Figure,
        Spi::Caption => Role::Caption,
        Spi::Heading => Role::Heading,
        Spi::Form => Role::Form,
        Spi::Link => Role::Link,
        Spi::Grouping => Role::Group,
        Spi::Notification => Role::Notification,
        Spi::TitleBar => Role::TitleBar,
        Spi::BlockQuote => Role::BlockQuote,
        Spi::Audio | Spi::Video => Role::Video,
        Spi::Definition
        | Spi::DescriptionTerm
        | Spi::DescriptionValue
        | Spi::Static
        | Spi::Subscript
        | Spi::Superscript
        | Spi::Mark => Role::Static,
        Spi::Article => Role::Article,
        Spi::Log => Role::Log,
        Spi::Math | Spi::MathFraction | Spi::MathRoot => Role::Math,
        Spi::Timer => Role::Timer,
    }
}

/// Whether AT-SPI calls it a document that is filled over time: a web page.
pub fn is_page(number: u32) -> bool {
    matches!(Spi::try_from(number), Ok(Spi::DocumentWeb | Spi::DocumentFrame))
}

/// What the element's states say. `Offscreen` is not among them: that takes its bounds.
pub fn states(role: Role, bits: Bits, shows: bool) -> States {
    // Sensitive is what the toolkits agree on; Qt and Chromium set both, LibreOffice at times only the other.
    let enabled = bits.has(SpiState::Sensitive) || bits.has(SpiState::Enabled);
    let toggles =
        matches!(role, Role::ToggleButton | Role::Switch | Role::CheckBox | Role::RadioButton | Role::Tab);
    let checks = matches!(
        role,
        Role::CheckBox
            | Role::CheckMenuItem
            | Role::RadioButton
            | Role::RadioMenuItem
            | Role::Switch
            | Role::ToggleButton
    );
    // Not spin buttons: Qt's are set by their number, and do not call themselves editable.
    let field = matches!(role, Role::TextField | Role::TextArea | Role::PasswordField);
    let on = bits.has(SpiState::Checked) || toggles && bits.has(SpiState::Pressed);
    let plain = [
        (State::Active, SpiState::Active),
        (State::Busy, SpiState::Busy),
        (State::Collapsed, SpiState::Collapsed),
        (State::Defunct, SpiState::Defunct),
        (State::Expandable, SpiState::Expandable),
        (State::Expanded, SpiState::Expanded),
        (State::Focusable, SpiState::Focusable),
        (State::Focused, SpiState::Focused),
        (State::HasPopup, SpiState::HasPopup),
        (State::Indeterminate, SpiState::Indeterminate),
        (State::Invalid, SpiState::InvalidEntry),
        (State::Modal, SpiState::Modal),
        (State::Multiline, SpiState::MultiLine),
        (State::Required, SpiState::Required),
        (State::Selectable, SpiState::Selectable),
        (State::Selected, SpiState::Selected),
        (State::Visited, SpiState::Visited),
    ];
    let derived = [
        (State::Checkable, checks || bits.has(SpiState::Checkable)),
        (State::Checked, on),
        // Qt 5 says both of a line that is read-only.
        (State::Editable, bits.has(SpiState::Editable) && !bits.has(SpiState::ReadOnly)),
        (State::Enabled, enabled),
        (State::Pressed, !toggles && bits.has(SpiState::Pressed)),
        (State::ReadOnly, bits.has(SpiState::ReadOnly) || field && !bits.has(SpiState::Editable)),
        (State::Visible, shows),
    ];
    let told = plain.into_iter().filter(|(_, spi)| bits.has(*spi)).map(|(state, _)| state);
    States::of(told.chain(derived.into_iter().filter(|(_, holds)| *holds).map(|(state, _)| state)))
}

/// The word for a state in an event, as AT-SPI names it, in our vocabulary where we have it.
pub fn state_word(name: &str) -> &str {
    match name {
        "sensitive" => State::Enabled.name(),
        "showing" => State::Visible.name(),
        "multi-line" => State::Multiline.name(),
        "has-popup" => State::HasPopup.name(),
        "read-only" => State::ReadOnly.name(),
        "invalid-entry" => State::Invalid.name(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(states: &[SpiState]) -> Bits {
        Bits(states.iter().fold(0, |bits, state| bits | *state as u64))
    }

    #[test]
    fn every_role_of_at_spi_has_a_word() {
        let nameless = [Spi::Invalid, Spi::Unknown, Spi::Extended, Spi::RedundantObject];
        for number in 0..=129 {
            let spi = Spi::try_from(number).expect("AT-SPI numbers its roles without gaps");
            let ours = role(number, Bits::default());
            assert_eq!(ours == Role::Unknown, nameless.contains(&spi), "{spi:?} became {ours}");
        }
        assert_eq!(role(130, Bits::default()), Role::Switch);
        assert_eq!(role(9999, Bits::default()), Role::Unknown);
    }

    #[test]
    fn a_text_is_a_field_or_an_area_by_its_lines() {
        assert_eq!(role(Spi::Text as u32, bits(&[SpiState::SingleLine])), Role::TextField);
        assert_eq!(role(Spi::Entry as u32, bits(&[SpiState::MultiLine])), Role::TextArea);
    }

    #[test]
    fn a_toggle_that_is_down_is_checked_and_not_held() {
        let states = states(Role::ToggleButton, bits(&[SpiState::Pressed, SpiState::Sensitive]), true);
        assert!(states.has(State::Checked) && states.has(State::Enabled) && !states.has(State::Pressed));
    }

    #[test]
    fn a_field_without_the_editable_state_is_read_only() {
        assert!(states(Role::TextField, bits(&[]), true).has(State::ReadOnly));
        assert!(!states(Role::TextField, bits(&[SpiState::Editable]), true).has(State::ReadOnly));
        assert!(!states(Role::Label, bits(&[]), true).has(State::ReadOnly));
    }

    #[test]
    fn state_words_of_both_words_arrive() {
        assert!(bits(&[SpiState::ReadOnly]).has(SpiState::ReadOnly));
        assert!(SpiState::ReadOnly as u64 > u64::from(u32::MAX));
    }
}
