//! Accessibility elements: what an application says of its own parts.

use crate::call::Call;
use crate::error::Result;
use crate::geometry::{Point, Rect};
use crate::watch::Watch;
use crate::window::WindowId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What the backend needs to find an element again. Opaque outside the backend that made it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementId(pub Arc<str>);

macro_rules! vocabulary {
    ($(#[$meta:meta])* $type:ident { $($variant:ident $name:literal $doc:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $type { $(#[doc = $doc] $variant,)* }

        impl $type {
            /// Every word of the vocabulary.
            pub const ALL: &'static [$type] = &[$($type::$variant,)*];

            /// The word on the wire.
            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name,)* }
            }

            /// The word's meaning.
            pub const fn doc(self) -> &'static str {
                match self { $($type::$variant => $doc,)* }
            }

            /// The word in any case, with `_`, `-` and spaces alike.
            pub fn from_name(name: &str) -> Option<$type> {
                let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric())
                    .flat_map(char::to_lowercase).collect::<String>();
                let wanted = plain(name);
                $type::ALL.iter().copied().find(|word| plain(word.name()) == wanted)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

vocabulary! {
    /// What an element is. One vocabulary for all systems.
    Role {
        Alert "alert" "A message that wants attention.",
        Application "application" "An application.",
        Article "article" "A self-contained part of a document.",
        BlockQuote "block_quote" "A quotation.",
        Button "button" "A push button.",
        Calendar "calendar" "A calendar or date field.",
        Canvas "canvas" "An area that is drawn on.",
        Caption "caption" "The caption of a table or figure.",
        Cell "cell" "A cell of a table.",
        CheckBox "check_box" "A check box.",
        CheckMenuItem "check_menu_item" "A menu item with a check mark.",
        ColorChooser "color_chooser" "A chooser of colors.",
        ColumnHeader "column_header" "The header of a column.",
        ComboBox "combo_box" "A field with a list that opens.",
        Dialog "dialog" "A dialog.",
        Document "document" "A document: a web page, a text document.",
        Figure "figure" "A figure with its caption.",
        FileChooser "file_chooser" "A chooser of files.",
        Filler "filler" "A container without meaning of its own.",
        Form "form" "A form.",
        Grid "grid" "A table that can be worked in.",
        Group "group" "A group of elements.",
        Heading "heading" "A heading.",
        Icon "icon" "An icon.",
        Image "image" "A picture.",
        Label "label" "A text that labels something.",
        Link "link" "A link.",
        List "list" "A list.",
        ListBox "list_box" "A list to choose from.",
        ListItem "list_item" "An item of a list.",
        Log "log" "A log.",
        Math "math" "A formula.",
        Menu "menu" "A menu.",
        MenuBar "menu_bar" "A menu bar.",
        MenuItem "menu_item" "A menu item.",
        Notification "notification" "A notification.",
        Option "option" "An option of a list box or combo box.",
        Panel "panel" "A panel.",
        Paragraph "paragraph" "A paragraph.",
        PasswordField "password_field" "A field that hides what is typed.",
        ProgressBar "progress_bar" "A progress bar or meter.",
        RadioButton "radio_button" "A radio button.",
        RadioMenuItem "radio_menu_item" "A menu item of a group of which one is chosen.",
        Region "region" "A landmark of a page.",
        Row "row" "A row of a table or tree.",
        RowHeader "row_header" "The header of a row.",
        ScrollBar "scroll_bar" "A scroll bar.",
        ScrollPane "scroll_pane" "An area that scrolls.",
        Section "section" "A section of a document.",
        Separator "separator" "A separator.",
        Slider "slider" "A slider.",
        SpinButton "spin_button" "A field for a number with steps.",
        SplitPane "split_pane" "Two areas with a movable border.",
        Static "static" "A text in a document.",
        StatusBar "status_bar" "A status bar.",
        Switch "switch" "A switch that is on or off.",
        Tab "tab" "A tab.",
        TabList "tab_list" "A row of tabs.",
        Table "table" "A table.",
        Terminal "terminal" "A terminal.",
        TextField "text_field" "A field for one line of text.",
        TextArea "text_area" "A field for many lines of text.",
        Timer "timer" "A timer.",
        TitleBar "title_bar" "A title bar.",
        ToggleButton "toggle_button" "A button that stays pressed.",
        ToolBar "tool_bar" "A tool bar.",
        ToolTip "tool_tip" "A tool tip.",
        Tree "tree" "A tree.",
        TreeItem "tree_item" "An item of a tree.",
        Unknown "unknown" "Something the application does not name.",
        Video "video" "A video or sound.",
        Viewport "viewport" "The visible part of something larger.",
        Window "window" "A window.",
    }
}

vocabulary! {
    /// A state that an element is in.
    State {
        Active "active" "The active window.",
        Busy "busy" "Working.",
        Checkable "checkable" "Can be checked.",
        Checked "checked" "Checked, pressed or on.",
        Collapsed "collapsed" "Closed, and can be opened.",
        Defunct "defunct" "Gone.",
        Editable "editable" "Its text can be changed.",
        Enabled "enabled" "Reacts.",
        Expandable "expandable" "Can be opened and closed.",
        Expanded "expanded" "Open.",
        Focusable "focusable" "Can have the keyboard.",
        Focused "focused" "Has the keyboard.",
        HasPopup "has_popup" "Opens a menu or list.",
        Indeterminate "indeterminate" "Neither on nor off.",
        Invalid "invalid" "Holds an invalid value.",
        Modal "modal" "Keeps the rest of its application waiting.",
        Multiline "multiline" "Holds many lines.",
        Offscreen "offscreen" "Not on the screen now, scrolled away say.",
        Pressed "pressed" "Held down right now.",
        ReadOnly "read_only" "Its value cannot be changed.",
        Required "required" "Has to be filled in.",
        Selectable "selectable" "Can be selected.",
        Selected "selected" "Selected.",
        Visible "visible" "Shown as far as the application knows.",
        Visited "visited" "A link that was followed.",
    }
}

impl Role {
    /// Whether a person would click, type into or change it.
    pub const fn is_interactive(self) -> bool {
        matches!(
            self,
            Role::Button
                | Role::CheckBox
                | Role::CheckMenuItem
                | Role::ComboBox
                | Role::Link
                | Role::ListItem
                | Role::Menu
                | Role::MenuItem
                | Role::Option
                | Role::PasswordField
                | Role::RadioButton
                | Role::RadioMenuItem
                | Role::Slider
                | Role::SpinButton
                | Role::Switch
                | Role::Tab
                | Role::TextField
                | Role::TextArea
                | Role::ToggleButton
                | Role::TreeItem
                | Role::Terminal
        )
    }
}

/// A set of states.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct States(u32);

impl States {
    /// The set of these.
    pub fn of(states: impl IntoIterator<Item = State>) -> States {
        states.into_iter().fold(States::default(), States::with)
    }

    /// This set and one more.
    #[must_use]
    pub const fn with(self, state: State) -> States {
        States(self.0 | 1 << state as u32)
    }

    /// This set without one.
    #[must_use]
    pub const fn without(self, state: State) -> States {
        States(self.0 & !(1 << state as u32))
    }

    /// Whether it holds a state.
    pub const fn has(self, state: State) -> bool {
        self.0 & 1 << state as u32 != 0
    }

    /// Its states in the order of the vocabulary.
    pub fn iter(self) -> impl Iterator<Item = State> {
        State::ALL.iter().copied().filter(move |state| self.has(*state))
    }
}

impl std::fmt::Debug for States {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// One element as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// How the backend finds it again.
    pub id: ElementId,
    /// What it is.
    pub role: Role,
    /// What it is called: its label. Empty when it has none.
    pub name: String,
    /// What it holds: a text, a number, a choice. Never the value of a password field.
    pub value: Option<String>,
    /// What the application says besides its name.
    pub description: String,
    /// The application's own identifier for it (accessible id, `id` of a web element), if it gives one.
    pub identifier: Option<String>,
    /// Its states.
    pub states: States,
    /// Where it lies, in global pixels; absent when the application does not say or has not laid it out.
    pub bounds: Option<Rect>,
    /// The names of the actions it declares, as the application names them.
    pub actions: Vec<String>,
    /// The window it is in, where known.
    pub window: Option<WindowId>,
    /// The process it belongs to.
    pub pid: Option<u32>,
    /// How many children it declares.
    pub children: u32,
}

/// An element in a tree that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The element.
    pub element: Element,
    /// The index of its parent in the same tree; absent for roots.
    pub parent: Option<usize>,
    /// 0 for roots.
    pub depth: u32,
}

/// Elements in the order of a walk: every parent before its children, children in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// The elements.
    pub nodes: Vec<Node>,
    /// Whether `max_nodes` or the per-parent bound cut it.
    pub cut: bool,
    /// Applications that did not answer, and why.
    pub silent: Vec<Silent>,
}

/// An application whose elements could not be read.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Silent {
    /// Its name.
    pub application: String,
    /// Why it did not answer.
    pub reason: String,
}

/// Where to begin reading.
#[derive(Clone, Debug, PartialEq)]
pub enum Root {
    /// Every application.
    Desktop,
    /// The applications of this process.
    Process(u32),
    /// One window.
    Window(WindowId),
    /// One element and what is below it.
    Element(ElementId),
}

/// Which elements get their bounds read: it is the most expensive part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    /// None.
    No,
    /// Those that show on the screen.
    #[default]
    Showing,
    /// All.
    All,
}

/// What to read.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeQuery {
    /// Where to begin.
    pub root: Root,
    /// How deep: 0 is the roots alone.
    pub max_depth: u32,
    /// How many elements at the most.
    pub max_nodes: usize,
    /// Whose bounds to read.
    pub bounds: Bounds,
    /// Whether to read the values (texts, numbers) of the elements that show.
    pub values: bool,
    /// Whether to read the actions of the interactive elements.
    pub actions: bool,
}

impl TreeQuery {
    /// All there is below `root`, with bounds and values of what shows, within generous limits.
    pub fn new(root: Root) -> TreeQuery {
        TreeQuery {
            root,
            max_depth: 64,
            max_nodes: 20_000,
            bounds: Bounds::Showing,
            values: true,
            actions: false,
        }
    }
}

/// An application as accessibility knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessibleApp {
    /// Its root element.
    pub id: ElementId,
    /// Its name.
    pub name: String,
    /// Its process, where known.
    pub pid: Option<u32>,
    /// Its toolkit and version: `gtk 3.24.38`, `Qt 5.15.8`, `Chromium 120`.
    pub toolkit: String,
}

/// An editable or readable text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextContent {
    /// The whole text (bounded by the caller's limit), empty for a password field.
    pub text: String,
    /// How many characters it has in all.
    pub characters: u32,
    /// The caret, in characters.
    pub caret: Option<u32>,
    /// The selection, in characters, end exclusive.
    pub selection: Option<(u32, u32)>,
}

/// What applications tell of their changes by themselves. Names, texts and states all of them do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// That an element moved or changed its size.
    pub bounds: bool,
    /// That elements came or went.
    pub structure: bool,
    /// That a number changed: of a slider, of a progress bar.
    pub numbers: bool,
}

/// Reads and works accessibility elements.
pub trait Elements: Send + Sync {
    /// The applications that have a tree.
    fn applications(&self, call: &Call) -> Result<Vec<AccessibleApp>>;

    /// Reads a tree. A hung application costs its own deadline and is named in `silent`.
    fn tree(&self, call: &Call, query: &TreeQuery) -> Result<Tree>;

    /// Reads one element afresh, with bounds, value and actions. `element_stale` when it is gone.
    fn element(&self, call: &Call, id: &ElementId) -> Result<Element>;

    /// The innermost element that shows at a point of a window.
    fn at(&self, call: &Call, window: WindowId, point: Point) -> Result<Option<Element>>;

    /// The element that has the keyboard, as far as its application says so.
    fn focused(&self, call: &Call) -> Result<Option<Element>>;

    /// Performs one of the actions that the element declares.
    fn perform(&self, call: &Call, id: &ElementId, action: &str) -> Result<()>;

    /// Sets what the element holds: replaces a text, sets a number. `element_not_actionable` when it does
    /// not take one.
    fn set_value(&self, call: &Call, id: &ElementId, value: &str) -> Result<()>;

    /// Gives it the keyboard.
    fn focus(&self, call: &Call, id: &ElementId) -> Result<()>;

    /// Asks its application to scroll until it shows.
    fn scroll_into_view(&self, call: &Call, id: &ElementId) -> Result<()>;

    /// Its text, at most `limit` characters from the start; nothing when it has no text interface.
    fn text(&self, call: &Call, id: &ElementId, limit: u32) -> Result<Option<TextContent>>;

    /// Puts the caret into its text, in characters from the start; nothing is selected then.
    fn place_caret(&self, call: &Call, id: &ElementId, at: u32) -> Result<()>;

    /// The changes from now on.
    fn watch(&self, call: &Call) -> Result<Box<dyn Watch>>;

    /// What all of these processes tell of their changes, by what they are built with. What one does not,
    /// somebody who wants to know has to look for now and then.
    fn tells(&self, call: &Call, pids: &[u32]) -> Result<Told>;
}

/// The stand-in where elements cannot be seen.
pub struct NoElements(pub crate::desktop::Missing);

impl Elements for NoElements {
    fn applications(&self, _: &Call) -> Result<Vec<AccessibleApp>> {
        Err(self.0.error())
    }
    fn tree(&self, _: &Call, _: &TreeQuery) -> Result<Tree> {
        Err(self.0.error())
    }
    fn element(&self, _: &Call, _: &ElementId) -> Result<Element> {
        Err(self.0.error())
    }
    fn at(&self, _: &Call, _: WindowId, _: Point) -> Result<Option<Element>> {
        Err(self.0.error())
    }
    fn focused(&self, _: &Call) -> Result<Option<Element>> {
        Err(self.0.error())
    }
    fn perform(&self, _: &Call, _: &ElementId, _: &str) -> Result<()> {
        Err(self.0.error())
    }
    fn set_value(&self, _: &Call, _: &ElementId, _: &str) -> Result<()> {
        Err(self.0.error())
    }
    fn focus(&self, _: &Call, _: &ElementId) -> Result<()> {
        Err(self.0.error())
    }
    fn scroll_into_view(&self, _: &Call, _: &ElementId) -> Result<()> {
        Err(self.0.error())
    }
    fn text(&self, _: &Call, _: &ElementId, _: u32) -> Result<Option<TextContent>> {
        Err(self.0.error())
    }
    fn place_caret(&self, _: &Call, _: &ElementId, _: u32) -> Result<()> {
        Err(self.0.error())
    }
    fn watch(&self, _: &Call) -> Result<Box<dyn Watch>> {
        Err(self.0.error())
    }
    fn tells(&self, _: &Call, _: &[u32]) -> Result<Told> {
        Err(self.0.error())
    }
}
