//! The selector language: which elements of a tree are meant. Documented in `docs/selectors.md`.
//!
//! A selector is parsed once and matched in one pass over the tree, parents before children, so that the
//! time grows with the number of elements and never with the number of ways to read the selector.

use crate::element::{Element, Role, State, Tree};
use crate::error::{Code, Error, Result};
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A parsed selector. Its text, as [`fmt::Display`] gives it, parses to the same selector again.
#[derive(Clone, Debug, PartialEq)]
pub struct Selector {
    /// Any of these.
    paths: Vec<Path>,
}

/// A step for the element itself, before it steps for those that contain it.
#[derive(Clone, Debug, PartialEq)]
struct Path {
    /// Outermost first. How the first one is linked means nothing.
    steps: Vec<(Link, Step)>,
    /// Only this match, counted from 1 in document order.
    nth: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Link {
    Descendant,
    Child,
}

/// What one element has to be like.
#[derive(Clone, Debug, Default, PartialEq)]
struct Step {
    role: Option<RoleTest>,
    conditions: Vec<Condition>,
}

/// A role, or a word that stands for several.
#[derive(Clone, Debug, PartialEq)]
struct RoleTest {
    word: &'static str,
    roles: Vec<Role>,
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    Text { attribute: Attribute, test: TextTest },
    State { state: State, on: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attribute {
    Name,
    Value,
    Identifier,
    Description,
    /// Name, value or description.
    Text,
}

/// How a text is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextMatch {
    /// The same text; white space around it does not count.
    #[default]
    Exact,
    /// Contains it, in any case.
    Contains,
    /// Begins with it.
    Prefix,
    /// A regular expression matches somewhere in it.
    Regex,
}

/// A comparison that is ready to run.
#[derive(Clone, Debug)]
struct TextTest {
    how: TextMatch,
    /// As it was written.
    wanted: String,
    /// In lower case, for [`TextMatch::Contains`].
    lower: String,
    /// For [`TextMatch::Regex`].
    regex: Option<Regex>,
}

impl PartialEq for TextTest {
    fn eq(&self, other: &TextTest) -> bool {
        self.how == other.how && self.wanted == other.wanted
    }
}

/// Other words for roles, beside the names of the vocabulary. The first word of a row is the one shown,
/// where a row stands for several roles.
const SYNONYMS: &[(&[&str], &[Role])] = &[
    (
        &["textbox", "text", "entry", "edit", "input", "text_input", "editable_text"],
        &[Role::TextField, Role::TextArea, Role::PasswordField],
    ),
    (&["static_text", "text_block"], &[Role::Static, Role::Label]),
    (&["toggle"], &[Role::ToggleButton, Role::Switch]),
    (&["push_button"], &[Role::Button]),
    (&["radio"], &[Role::RadioButton]),
    (&["check"], &[Role::CheckBox]),
    (&["dropdown", "drop_down", "select", "popup_button"], &[Role::ComboBox]),
    (&["search_box"], &[Role::TextField]),
    (&["password", "password_text"], &[Role::PasswordField]),
    (&["spinner", "spin_box"], &[Role::SpinButton]),
    (&["hyperlink"], &[Role::Link]),
    (&["img", "picture", "graphic"], &[Role::Image]),
    (&["progress"], &[Role::ProgressBar]),
    (&["scroll_area"], &[Role::ScrollPane]),
    (&["frame"], &[Role::Window]),
    (&["pane"], &[Role::Panel]),
    (&["group_box", "grouping"], &[Role::Group]),
    (&["page_tab", "tab_item"], &[Role::Tab]),
    (&["page_tab_list"], &[Role::TabList]),
    (&["popup_menu", "context_menu"], &[Role::Menu]),
    (&["menu_item_checkbox"], &[Role::CheckMenuItem]),
    (&["menu_item_radio"], &[Role::RadioMenuItem]),
    (&["table_cell", "grid_cell"], &[Role::Cell]),
    (&["table_row"], &[Role::Row]),
    (&["table_column_header"], &[Role::ColumnHeader]),
    (&["tree_view", "outline"], &[Role::Tree]),
    (&["landmark"], &[Role::Region]),
    (&["document_web", "document_frame", "document_text", "web_area"], &[Role::Document]),
];

impl RoleTest {
    /// The role, or the roles, of a word in any case, with `_`, `-` and spaces alike.
    fn from_name(name: &str) -> Option<RoleTest> {
        if let Some(role) = Role::from_name(name) {
            return Some(RoleTest { word: role.name(), roles: vec![role] });
        }
        let wanted = plain(name);
        let row = |words: &&[&str]| words.iter().any(|word| plain(word) == wanted);
        let (words, roles) = SYNONYMS.iter().find(|(words, _)| row(words))?;
        match roles {
            [role] => Some(RoleTest { word: role.name(), roles: vec![*role] }),
            _ => Some(RoleTest { word: words.first()?, roles: roles.to_vec() }),
        }
    }

    /// Words that look like `name`, for the message that there is no such role.
    fn near(name: &str) -> Vec<&'static str> {
        let mut all: Vec<_> = Role::ALL.iter().map(|role| role.name()).collect();
        all.extend(SYNONYMS.iter().flat_map(|(words, _)| words.iter()));
        let mut near: Vec<_> = all.into_iter().map(|word| (likeness(name, word), word)).collect();
        near.retain(|(likeness, _)| 40 <= *likeness);
        near.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness));
        near.into_iter().map(|(_, word)| word).take(5).collect()
    }
}

/// Letters and digits in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// How alike two texts are, from 0 to 100: the share of common pairs of characters.
fn likeness(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (plain(one).chars().collect(), plain(other).chars().collect());
    if one == other {
        return 100;
    }
    let pairs = |text: &[char]| text.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>();
    let (one, mut other) = (pairs(&one), pairs(&other));
    let all = one.len() + other.len();
    if all == 0 {
        return 0;
    }
    let mut common = 0;
    for pair in one {
        if let Some(place) = other.iter().position(|other| *other == pair) {
            other.swap_remove(place);
            common += 2;
        }
    }
    common * 99 / all
}

impl TextMatch {
    /// The operator of the language.
    pub const fn operator(self) -> &'static str {
        match self {
            TextMatch::Exact => "=",
            TextMatch::Contains => "~=",
            TextMatch::Prefix => "^=",
            TextMatch::Regex => "/=",
        }
    }
}

impl TextTest {
    /// A compiled expression takes at most this much memory: a few kilobytes of pattern can ask for
    /// gigabytes (`(a{1000}){1000}`).
    const LARGEST_REGEX: usize = 1 << 20;

    fn new(how: TextMatch, wanted: &str) -> Result<TextTest> {
        let regex = match how {
            TextMatch::Regex => {
                let built = RegexBuilder::new(wanted)
                    .size_limit(TextTest::LARGEST_REGEX)
                    .dfa_size_limit(TextTest::LARGEST_REGEX)
                    .build();
                Some(built.map_err(|error| {
                    Error::new(Code::InvalidSelector, format!("{wanted:?} is no regular expression."))
                        .expected("a regular expression without look-around and back-references")
                        .os(error)
                        .remedy("Use ~= to look for a text as it stands.")
                })?)
            }
            TextMatch::Exact | TextMatch::Contains | TextMatch::Prefix => None,
        };
        Ok(TextTest { how, wanted: wanted.to_owned(), lower: wanted.to_lowercase(), regex })
    }

    fn matches(&self, text: &str) -> bool {
        match self.how {
            TextMatch::Exact => text.trim() == self.wanted.trim(),
            TextMatch::Contains => text.contains(&self.wanted) || text.to_lowercase().contains(&self.lower),
            TextMatch::Prefix => text.trim_start().starts_with(self.wanted.trim_start()),
            TextMatch::Regex => self.regex.as_ref().is_some_and(|regex| regex.is_match(text)),
        }
    }
}

impl Attribute {
    const ALL: [Attribute; 5] =
        [Attribute::Name, Attribute::Value, Attribute::Identifier, Attribute::Description, Attribute::Text];

    const fn name(self) -> &'static str {
        match self {
            Attribute::Name => "name",
            Attribute::Value => "value",
            Attribute::Identifier => "id",
            Attribute::Description => "description",
            Attribute::Text => "text",
        }
    }

    fn from_name(name: &str) -> Option<Attribute> {
        match name.to_ascii_lowercase().as_str() {
            "title" | "label" => Some(Attribute::Name),
            "identifier" => Some(Attribute::Identifier),
            name => Attribute::ALL.into_iter().find(|attribute| attribute.name() == name),
        }
    }

    /// The texts that it stands for. What an element does not have at all matches nothing, not even "".
    fn of(self, element: &Element) -> impl Iterator<Item = &str> {
        let name = Some(element.name.as_str());
        let value = element.value.as_deref();
        let description = Some(element.description.as_str());
        match self {
            Attribute::Name => [name, None, None],
            Attribute::Value => [value, None, None],
            Attribute::Identifier => [element.identifier.as_deref(), None, None],
            Attribute::Description => [description, None, None],
            Attribute::Text => [name, value, description],
        }
        .into_iter()
        .flatten()
    }
}

impl Condition {
    fn matches(&self, element: &Element) -> bool {
        match self {
            Condition::Text { attribute, test } => attribute.of(element).any(|text| test.matches(text)),
            Condition::State { state, on } => element.states.has(*state) == *on,
        }
    }
}

impl Step {
    fn has_role(&self, element: &Element) -> bool {
        self.role.as_ref().is_none_or(|test| test.roles.contains(&element.role))
    }

    fn matches(&self, element: &Element) -> bool {
        self.has_role(element) && self.conditions.iter().all(|condition| condition.matches(element))
    }
}

/// Which steps of a path a node fulfills, and which of them its ancestors do.
#[derive(Clone, Copy, Default)]
struct Reached {
    own: u64,
    above: u64,
}

impl Path {
    /// Steps are counted in the bits of one word.
    const MOST_STEPS: usize = 64;

    /// Whether the steps before `step` lead to a node whose parent reached this much.
    fn leads_to(&self, step: usize, parent: Reached) -> bool {
        if step == 0 {
            return true;
        }
        match self.steps[step].0 {
            Link::Child => parent.own >> (step - 1) & 1 != 0,
            Link::Descendant => (parent.own | parent.above) >> (step - 1) & 1 != 0,
        }
    }

    /// Goes through the tree once. `visit` learns of each node whether what lies above it leads to the
    /// last step. Nothing steps on from the last step, so whether a node fulfills it is not remembered.
    fn walk(&self, tree: &Tree, mut visit: impl FnMut(usize, bool)) {
        let last = self.steps.len() - 1;
        let mut reached: Vec<Reached> = Vec::with_capacity(tree.nodes.len());
        for (index, node) in tree.nodes.iter().enumerate() {
            let parent = node.parent.and_then(|parent| reached.get(parent)).copied().unwrap_or_default();
            let mut own = 0;
            for (step, (_, wanted)) in self.steps[..last].iter().enumerate() {
                if self.leads_to(step, parent) && wanted.matches(&node.element) {
                    own |= 1 << step;
                }
            }
            reached.push(Reached { own, above: parent.own | parent.above });
            visit(index, self.leads_to(last, parent));
        }
    }

    fn select(&self, tree: &Tree) -> Vec<usize> {
        let Some((_, last)) = self.steps.last() else { return Vec::new() };
        let mut found = Vec::new();
        self.walk(tree, |index, led| {
            if led && last.matches(&tree.nodes[index].element) {
                found.push(index);
            }
        });
        match self.nth {
            None => found,
            Some(nth) => found.into_iter().skip(nth as usize - 1).take(1).collect(),
        }
    }

    /// The nodes that miss the last step by one condition, with how near they are (0 is nearest).
    fn near(&self, tree: &Tree) -> Vec<(u32, usize)> {
        let Some((_, last)) = self.steps.last() else { return Vec::new() };
        let conditions =
            last.conditions.len() + usize::from(last.role.is_some()) + usize::from(self.steps.len() > 1);
        let mut near = Vec::new();
        self.walk(tree, |index, led| {
            let element = &tree.nodes[index].element;
            let role = last.has_role(element);
            let mut missed = last.conditions.iter().filter(|condition| !condition.matches(element));
            let distance = match (led, role, missed.next(), missed.next()) {
                // Only `:nth` was too large: nothing is nearer than that.
                (true, true, None, _) => 0,
                (false, true, None, _) => 30,
                (true, false, None, _) => 40,
                (true, true, Some(condition), None) => miss(condition, element),
                _ => return,
            };
            // Where there is but one condition everything misses by one: only what looks alike counts.
            let alike = distance == 0 || distance < 60 && last.role.is_none() && distance != STATE_MISSED;
            if 1 < conditions || alike {
                near.push((distance, index));
            }
        });
        near
    }
}

/// How far an element is that only misses a state.
const STATE_MISSED: u32 = 20;

/// How far an element is from a condition that it misses: 10 to 99.
fn miss(condition: &Condition, element: &Element) -> u32 {
    match condition {
        Condition::State { .. } => STATE_MISSED,
        Condition::Text { attribute, test } => {
            let (wanted, own) = (plain(&test.wanted), attribute.of(element).map(plain).collect::<Vec<_>>());
            let within = |own: &String| !own.is_empty() && (own.contains(&wanted) || wanted.contains(own));
            if own.contains(&wanted) {
                return 10;
            }
            if !wanted.is_empty() && own.iter().any(within) {
                return 15;
            }
            let best = own.iter().map(|own| likeness(own, &wanted)).max().unwrap_or(0);
            99 - u32::try_from(best).unwrap_or(0).min(89)
        }
    }
}

impl Selector {
    /// How many characters a selector may have.
    pub const LONGEST: usize = 4096;
    /// How many nodes [`Selector::explain`] names at most.
    pub const MOST_NEAR: usize = 20;

    /// Reads a selector. `invalid_selector` says where it went wrong, what was expected and what was there.
    pub fn parse(text: &str) -> Result<Selector> {
        Parser::new(text)?.selector()
    }

    /// The selector of tools that take a role, a title and an identifier instead of one.
    pub fn from_parts(
        role: Option<&str>,
        title: Option<(TextMatch, &str)>,
        identifier: Option<&str>,
    ) -> Result<Selector> {
        let mut step = Step::default();
        if let Some(name) = role.map(str::trim).filter(|name| !name.is_empty() && *name != "*") {
            step.role = Some(RoleTest::from_name(name).ok_or_else(|| unknown_role(name, None))?);
        }
        let selector = Selector { paths: vec![Path { steps: vec![(Link::Descendant, step)], nth: None }] };
        let selector = match title {
            Some((how, title)) => selector.with(Attribute::Name, how, title)?,
            None => selector,
        };
        match identifier {
            Some(identifier) => selector.with(Attribute::Identifier, TextMatch::Exact, identifier),
            None => Ok(selector),
        }
    }

    /// The same, and the value has to match.
    pub fn with_value(self, how: TextMatch, value: &str) -> Result<Selector> {
        self.with(Attribute::Value, how, value)
    }

    /// The same, and the name, the value or the description has to match.
    pub fn with_text(self, how: TextMatch, text: &str) -> Result<Selector> {
        self.with(Attribute::Text, how, text)
    }

    /// The same, and the description has to match.
    pub fn with_description(self, how: TextMatch, description: &str) -> Result<Selector> {
        self.with(Attribute::Description, how, description)
    }

    /// The same, and the state has to be on or off.
    #[must_use]
    pub fn with_state(mut self, state: State, on: bool) -> Selector {
        for step in self.last_steps() {
            step.conditions.push(Condition::State { state, on });
        }
        self
    }

    fn with(mut self, attribute: Attribute, how: TextMatch, wanted: &str) -> Result<Selector> {
        let test = TextTest::new(how, wanted)?;
        for step in self.last_steps() {
            step.conditions.push(Condition::Text { attribute, test: test.clone() });
        }
        Ok(self)
    }

    fn last_steps(&mut self) -> impl Iterator<Item = &mut Step> {
        self.paths.iter_mut().filter_map(|path| path.steps.last_mut().map(|(_, step)| step))
    }

    /// The indices of the nodes that match, in document order.
    pub fn select(&self, tree: &Tree) -> Vec<usize> {
        let mut found: Vec<usize> = self.paths.iter().flat_map(|path| path.select(tree)).collect();
        if self.paths.len() > 1 {
            found.sort_unstable();
            found.dedup();
        }
        found
    }

    /// Near misses, the nearest first and at most [`Selector::MOST_NEAR`]: the nodes that fulfill all
    /// conditions of the last step but one, where what lies above it counts as one condition.
    pub fn explain(&self, tree: &Tree) -> Vec<usize> {
        let mut near: Vec<_> = self.paths.iter().flat_map(|path| path.near(tree)).collect();
        near.sort_unstable();
        let mut nodes: Vec<usize> = Vec::new();
        for (_, node) in near {
            if !nodes.contains(&node) {
                nodes.push(node);
            }
            if nodes.len() == Selector::MOST_NEAR {
                break;
            }
        }
        nodes
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Selector> {
        Selector::parse(text)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, path) in self.paths.iter().enumerate() {
            if number > 0 {
                f.write_str(", ")?;
            }
            path.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (link, step)) in self.steps.iter().enumerate() {
            if number > 0 {
                f.write_str(match link {
                    Link::Descendant => " ",
                    Link::Child => " > ",
                })?;
            }
            step.fmt(f)?;
        }
        match self.nth {
            Some(nth) => write!(f, ":nth({nth})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.role {
            Some(test) => f.write_str(test.word)?,
            None if self.conditions.is_empty() => f.write_str("*")?,
            None => {}
        }
        self.conditions.iter().try_for_each(|condition| condition.fmt(f))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::State { state: State::Enabled, on: false } => f.write_str(":disabled"),
            Condition::State { state, on: true } => write!(f, ":{state}"),
            Condition::State { state, on: false } => write!(f, ":not(:{state})"),
            Condition::Text { attribute, test } => {
                write!(f, "[{}{}\"", attribute.name(), test.how.operator())?;
                for c in test.wanted.chars() {
                    match c {
                        '"' => f.write_str("\\\"")?,
                        '\\' => f.write_str("\\\\")?,
                        '\n' => f.write_str("\\n")?,
                        '\t' => f.write_str("\\t")?,
                        c => write!(f, "{c}")?,
                    }
                }
                f.write_str("\"]")
            }
        }
    }
}

/// Reads a selector character by character; positions are counted in characters from 1.
struct Parser {
    text: Vec<char>,
    at: usize,
}

impl Parser {
    fn new(text: &str) -> Result<Parser> {
        let text: Vec<char> = text.chars().take(Selector::LONGEST + 1).collect();
        if Selector::LONGEST < text.len() {
            return Err(Error::new(Code::InvalidSelector, "The selector is too long.")
                .expected(format!("at most {} characters", Selector::LONGEST)));
        }
        Ok(Parser { text, at: 0 })
    }

    fn selector(mut self) -> Result<Selector> {
        let mut paths = vec![self.path()?];
        while self.eat(',') {
            paths.push(self.path()?);
        }
        match self.peek() {
            None => Ok(Selector { paths }),
            Some(_) => Err(self.unexpected("an element, `>`, `,` or the end")),
        }
    }

    fn path(&mut self) -> Result<Path> {
        self.space();
        let mut path = Path { steps: Vec::new(), nth: None };
        let mut link = Link::Descendant;
        loop {
            let (step, nth) = self.step()?;
            path.steps.push((link, step));
            if Path::MOST_STEPS < path.steps.len() {
                return Err(Error::new(Code::InvalidSelector, "The selector has too many steps.")
                    .expected(format!("at most {} steps", Path::MOST_STEPS)));
            }
            let spaced = self.space();
            path.nth = nth;
            match self.peek() {
                None | Some(',') => return Ok(path),
                Some(_) if nth.is_some() => {
                    return Err(self.unexpected("`,` or the end, as `:nth()` stands at the very end"));
                }
                Some('>') => {
                    self.at += 1;
                    self.space();
                    link = Link::Child;
                }
                Some(_) if spaced => link = Link::Descendant,
                Some(_) => return Err(self.unexpected("`[`, `:`, a space, `>`, `,` or the end")),
            }
        }
    }

    fn step(&mut self) -> Result<(Step, Option<u32>)> {
        let started = self.at;
        let mut step = Step::default();
        if !self.eat('*') {
            step.role = self.role()?;
        }
        loop {
            match self.peek() {
                Some('[') => step.conditions.push(self.bracket()?),
                Some(':') => {
                    self.at += 1;
                    match self.state_or_nth()? {
                        StateOrNth::State(condition) => step.conditions.push(condition),
                        StateOrNth::Nth(nth) => return Ok((step, Some(nth))),
                    }
                }
                _ if self.at == started => {
                    return Err(self.unexpected("a role, `*`, `[attribute=\"value\"]` or `:state`"));
                }
                _ => return Ok((step, None)),
            }
        }
    }

    /// A role of one to three words: `push button` is one role unless each of its words is one.
    fn role(&mut self) -> Result<Option<RoleTest>> {
        let started = self.at;
        let mut words: Vec<(String, usize)> = Vec::new();
        while words.len() < 3 {
            let word = self.word();
            if word.is_empty() {
                break;
            }
            words.push((word, self.at));
            self.space();
        }
        let Some((first, first_end)) = words.first().cloned() else {
            self.at = started;
            return Ok(None);
        };
        for count in (2..=words.len()).rev() {
            let run = &words[..count];
            let joined = run.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>().join(" ");
            let all_roles = run.iter().all(|(word, _)| Role::from_name(word).is_some());
            if !all_roles && let Some(test) = RoleTest::from_name(&joined) {
                self.at = run[count - 1].1;
                return Ok(Some(test));
            }
        }
        self.at = first_end;
        match RoleTest::from_name(&first) {
            Some(test) => Ok(Some(test)),
            None => Err(unknown_role(&first, Some(started + 1))),
        }
    }

    fn bracket(&mut self) -> Result<Condition> {
        self.at += 1;
        self.space();
        let started = self.at;
        let word = self.word();
        let Some(attribute) = Attribute::from_name(&word) else {
            self.at = started;
            return Err(self.unexpected("an attribute: name, value, id, description or text"));
        };
        self.space();
        let how = match (self.peek(), self.text.get(self.at + 1)) {
            (Some('='), _) => TextMatch::Exact,
            (Some('~'), Some('=')) => TextMatch::Contains,
            (Some('^'), Some('=')) => TextMatch::Prefix,
            (Some('/'), Some('=')) => TextMatch::Regex,
            _ => {
                return Err(
                    self.unexpected("`=` exact, `~=` contains, `^=` prefix or `/=` regular expression")
                );
            }
        };
        self.at += how.operator().len();
        self.space();
        let started = self.at;
        let wanted = match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
            _ => self.unquoted()?,
        };
        self.space();
        if !self.eat(']') {
            return Err(self.unexpected("`]`"));
        }
        let test = TextTest::new(how, &wanted).map_err(|mut error| {
            error.message = format!("{} It stands at character {}.", error.message, started + 1);
            error
        })?;
        Ok(Condition::Text { attribute, test })
    }

    /// A backslash before a quote or a backslash takes its meaning away, `\n` and `\t` are a line end and
    /// a tab; before anything else it stays, so that `"\d+"` can be written as it is meant.
    fn quoted(&mut self, quote: char) -> Result<String> {
        let started = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.next() {
                None => {
                    self.at = started;
                    return Err(self.unexpected(&format!("a text that ends with {quote}")));
                }
                Some(c) if c == quote => return Ok(text),
                Some('\\') => match self.next() {
                    Some(c @ ('"' | '\'' | '\\')) => text.push(c),
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(c) => text.extend(['\\', c]),
                    None => text.push('\\'),
                },
                Some(c) => text.push(c),
            }
        }
    }

    /// Words without quotes, up to the bracket.
    fn unquoted(&mut self) -> Result<String> {
        let mut text = String::new();
        while let Some(c) = self.peek() {
            match c {
                ']' => break,
                '"' | '\'' | '\\' | '[' | '=' => {
                    return Err(self.unexpected("`]`; a value with such characters needs quotes around it"));
                }
                c => text.push(c),
            }
            self.at += 1;
        }
        match text.trim() {
            "" => Err(self.unexpected("a value, such as \"Save\"")),
            text => Ok(text.to_owned()),
        }
    }

    fn state_or_nth(&mut self) -> Result<StateOrNth> {
        let started = self.at;
        let word = self.word();
        match plain(&word).as_str() {
            "nth" => self.nth().map(StateOrNth::Nth),
            "not" => {
                self.open()?;
                if !self.eat(':') {
                    return Err(self.unexpected("one state, as in `:not(:checked)`"));
                }
                let condition = self.state(true)?;
                self.close()?;
                Ok(StateOrNth::State(condition))
            }
            _ => {
                self.at = started;
                self.state(false).map(StateOrNth::State)
            }
        }
    }

    fn state(&mut self, negated: bool) -> Result<Condition> {
        let started = self.at;
        let word = self.word();
        let (state, on) = match plain(&word).as_str() {
            "disabled" => (Some(State::Enabled), false),
            "unchecked" => (Some(State::Checked), false),
            "hidden" => (Some(State::Visible), false),
            name => (State::from_name(name), true),
        };
        match state {
            Some(state) if !word.is_empty() => Ok(Condition::State { state, on: on != negated }),
            _ => {
                self.at = started;
                let names = State::ALL.iter().map(|state| state.name()).collect::<Vec<_>>().join(", ");
                Err(self.unexpected(&format!(
                    "a state, `not(:state)` or `nth(2)`; the states are disabled, {names}"
                )))
            }
        }
    }

    fn nth(&mut self) -> Result<u32> {
        self.open()?;
        let started = self.at;
        let word = self.word();
        match word.parse::<u32>() {
            Ok(nth) if 0 < nth => {
                self.close()?;
                Ok(nth)
            }
            _ => {
                self.at = started;
                Err(self.unexpected("a number that counts from 1"))
            }
        }
    }

    fn open(&mut self) -> Result<()> {
        if !self.eat('(') {
            return Err(self.unexpected("`(`"));
        }
        self.space();
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.space();
        if self.eat(')') { Ok(()) } else { Err(self.unexpected("`)`")) }
    }

    fn word(&mut self) -> String {
        let rest = &self.text[self.at..];
        let word: String =
            rest.iter().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect();
        self.at += word.chars().count();
        word
    }

    fn space(&mut self) -> bool {
        let started = self.at;
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        started < self.at
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    fn eat(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    fn unexpected(&self, expected: &str) -> Error {
        let rest: String = self.text[self.at..].iter().take(20).collect();
        let found = if rest.is_empty() { "the end".to_owned() } else { format!("`{rest}`") };
        Error::new(
            Code::InvalidSelector,
            format!(
                "The selector cannot be read at character {}: expected {expected}, found {found}.",
                self.at + 1
            ),
        )
        .expected(expected)
        .found([found])
        .remedy("A selector looks like this: window[name~=\"Editor\"] button[name=\"Save\"]:enabled")
    }
}

enum StateOrNth {
    State(Condition),
    Nth(u32),
}

fn unknown_role(name: &str, at: Option<usize>) -> Error {
    let place = at.map(|at| format!(" at character {at}")).unwrap_or_default();
    let error = Error::new(Code::InvalidSelector, format!("There is no role {name:?}{place}."))
        .expected("a role such as button, check_box, text_field, menu_item, list_item, or * for any");
    let near = RoleTest::near(name);
    let remedy = match near.first() {
        Some(nearest) => format!("Did you mean {nearest}?"),
        None => format!("To look for a name, write [name=\"{name}\"]."),
    };
    error.found(near).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{ElementId, Node, States};
    use proptest::prelude::*;

    fn element(role: Role, name: &str) -> Element {
        Element {
            id: ElementId(name.into()),
            role,
            name: name.to_owned(),
            value: None,
            description: String::new(),
            identifier: None,
            states: States::of([State::Enabled, State::Visible]),
            bounds: None,
            actions: Vec::new(),
            window: None,
            pid: None,
            children: 0,
        }
    }

    fn tree(elements: Vec<(Option<usize>, Element)>) -> Tree {
        let nodes =
            elements.into_iter().map(|(parent, element)| Node { element, parent, depth: 0 }).collect();
        Tree { nodes, ..Tree::default() }
    }

    /// A window with a tool bar (Save, Undo), a group (check box, text field) and a second window.
    fn sample() -> Tree {
        let mut undo = element(Role::Button, "Undo");
        undo.states = undo.states.without(State::Enabled);
        let mut wrap = element(Role::CheckBox, "Wrap lines");
        wrap.states = wrap.states.with(State::Checked);
        let mut title = element(Role::TextField, " Title ");
        title.value = Some("Grüße 2024".to_owned());
        title.identifier = Some("title-entry".to_owned());
        tree(vec![
            (None, element(Role::Window, "Notes - Editor")),
            (Some(0), element(Role::ToolBar, "")),
            (Some(1), element(Role::Button, "Save")),
            (Some(1), undo),
            (Some(0), element(Role::Group, "Options")),
            (Some(4), wrap),
            (Some(4), title),
            (None, element(Role::Window, "Save \"as\"")),
            (Some(7), element(Role::Button, "Save")),
        ])
    }

    #[test]
    fn what_selectors_select() {
        let tree = sample();
        let check = |selector: &str, expected: &[usize]| {
            assert_eq!(Selector::parse(selector).unwrap().select(&tree), expected, "{selector}");
        };
        check("button", &[2, 3, 8]);
        check("*", &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        check("button[name=\"Save\"]", &[2, 8]);
        check("button[name='Save']", &[2, 8]);
        check("button[name=Save]", &[2, 8]);
        check("[name=Wrap lines]", &[5]);
        check("button[name=\"save\"]", &[]);
        check("button[name~=\"SAV\"]", &[2, 8]);
        check("[name^=Save]", &[2, 7, 8]);
        check("[name^=ave]", &[]);
        check("[name=\"Title\"]", &[6]);
        check("[name='Save \"as\"']", &[7]);
        check("[name=\"Save \\\"as\\\"\"]", &[7]);
        check("[value/=\"\\d{4}$\"]", &[6]);
        check("[value/='^grüße(?i)']", &[]);
        check("[value/='(?i)^GRÜSSE|^GRÜßE']", &[6]);
        check("[text~=grüße]", &[6]);
        check("[id=title-entry][value~=\"2024\"]", &[6]);
        check("[identifier=title-entry]", &[6]);
        check("[value=\"\"]", &[]);
        check("[description=\"\"]:disabled", &[3]);
        check("button:enabled", &[2, 8]);
        check("button:disabled", &[3]);
        check("button:not(:enabled)", &[3]);
        check("button:not( :disabled )", &[2, 8]);
        check(":checked", &[5]);
        check("check_box:unchecked", &[]);
        check("button:nth(3)", &[8]);
        check("button:nth(4)", &[]);
        check("button:enabled:nth(2), button:nth(1)", &[2, 8]);
        check("window button", &[2, 3, 8]);
        check("window > button", &[8]);
        check("window>tool_bar>button", &[2, 3]);
        check("window[name~=editor] button:nth(1)", &[2]);
        check("group *", &[5, 6]);
        check("window group > *", &[5, 6]);
        check("button button", &[]);
        check("tool_bar, group", &[1, 4]);
        check("button, *", &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        check("textbox", &[6]);
        check("EDIT", &[6]);
        check("push button", &[2, 3, 8]);
        check("Push-Button, tool bar", &[1, 2, 3, 8]);
        check("checkbox", &[5]);
        check("  frame   push button  ", &[2, 3, 8]);
    }

    #[test]
    fn two_roles_in_a_row_are_a_descent_and_other_words_are_one_role() {
        let show = |text: &str| Selector::parse(text).unwrap().to_string();
        assert_eq!(show("tab list"), "tab list");
        assert_eq!(show("tab_list"), "tab_list");
        assert_eq!(show("page tab list"), "tab_list");
        assert_eq!(show("check menu item"), "check_menu_item");
        assert_eq!(show("menu menu item"), "menu menu_item");
        assert_eq!(show("table table_cell"), "table cell");
        assert_eq!(show("radio button:checked"), "radio_button:checked");
        assert_eq!(show("button:not(:disabled)"), "button:enabled");
    }

    #[test]
    fn faults_say_where_and_what() {
        let check = |selector: &str, part: &str| {
            let error = Selector::parse(selector).unwrap_err();
            assert_eq!(error.code, Code::InvalidSelector, "{selector}");
            assert!(error.message.contains(part), "{selector}: {error}");
        };
        check("", "at character 1: expected a role");
        check("button[", "at character 8: expected an attribute");
        check("button[name", "at character 12: expected `=` exact");
        check("button[name=]", "at character 13: expected a value, such as \"Save\", found `]`");
        check("button[name=\"Save]", "at character 13: expected a text that ends with \"");
        check("button[name=\"Save\"", "expected `]`, found the end");
        check("button[colour=red]", "at character 8: expected an attribute: name");
        check("button,", "at character 8: expected a role");
        check("button >", "at character 9");
        check("> button", "at character 1");
        check("button:nth(0)", "a number that counts from 1");
        check("button:nth(1):enabled", "stands at the very end");
        check("button:nth(1) > list", "stands at the very end");
        check("button:shiny", "the states are disabled, active");
        check("button:not(checked)", "one state");
        check("buton", "There is no role \"buton\" at character 1");
        check("window > frob", "\"frob\" at character 10");
        check("button[name/=\"(\"]", "no regular expression. It stands at character 14");
        check("[name/='(?:a{1000}){1000}']", "no regular expression");
        check("button]", "expected `[`, `:`, a space");
        check("[name=a=b]", "quotes around it");
        check(&"*".repeat(5000), "too long");
        check(&"* ".repeat(70), "too many steps");
        assert_eq!(Selector::parse("buton").unwrap_err().detail.remedy.unwrap(), "Did you mean button?");
    }

    #[test]
    fn parts_make_the_same_selector_as_text() {
        let parts = |role, title, identifier| Selector::from_parts(role, title, identifier).unwrap();
        assert_eq!(
            parts(Some("Push Button"), Some((TextMatch::Contains, "a \"b\"")), Some("x")).to_string(),
            "button[name~=\"a \\\"b\\\"\"][id=\"x\"]"
        );
        assert_eq!(parts(None, None, None).to_string(), "*");
        let more = parts(Some("edit"), None, None).with_value(TextMatch::Prefix, "1").unwrap();
        assert_eq!(
            more.with_state(State::Editable, false).to_string(),
            "textbox[value^=\"1\"]:not(:editable)"
        );
        assert_eq!(Selector::from_parts(Some("knob"), None, None).unwrap_err().code, Code::InvalidSelector);
    }

    #[test]
    fn near_misses_come_nearest_first() {
        let tree = sample();
        let near = |selector: &str| Selector::parse(selector).unwrap().explain(&tree);
        // The case differs; then the two that are buttons.
        assert_eq!(near("button[name=save]"), [2, 8, 3]);
        assert_eq!(near("button[name=Undo]:enabled"), [3, 2, 8]);
        assert_eq!(near("group button[name=Save]"), [2, 8]);
        assert_eq!(near("check_box[name=Title]"), [6, 5]);
        assert_eq!(near("[name=Sav]"), [2, 7, 8]);
        assert_eq!(near("button:nth(9)"), [2, 3, 8]);
        assert_eq!(near("slider"), [] as [usize; 0]);
        assert_eq!(near(":modal"), [] as [usize; 0]);
        assert!(near("*:nth(99)").len() <= Selector::MOST_NEAR);
    }

    #[test]
    fn time_grows_with_the_tree_and_not_with_the_ways_to_match() {
        // 20,000 nodes, one below the other in chains of 2,000: every step fits everywhere.
        let chain = (0..20_000).map(|n| {
            let parent = (n % 2000 != 0).then(|| n - 1);
            (parent, element(Role::Panel, "x"))
        });
        let tree = tree(chain.collect());
        let selector = Selector::parse(&format!("{}button", "panel[name=x] > panel ".repeat(30))).unwrap();
        let started = std::time::Instant::now();
        assert!(selector.select(&tree).is_empty());
        assert_eq!(selector.explain(&tree).len(), Selector::MOST_NEAR);
        // Unoptimized and on a busy machine; what this guards against takes longer than the universe.
        assert!(started.elapsed() < std::time::Duration::from_secs(10));
    }

    /// Matches the obvious way: every step tried on every ancestor.
    fn naive(path: &Path, tree: &Tree, node: usize, step: usize) -> bool {
        let (link, wanted) = &path.steps[step];
        if !wanted.matches(&tree.nodes[node].element) {
            return false;
        }
        if step == 0 {
            return true;
        }
        let mut above = tree.nodes[node].parent;
        while let Some(ancestor) = above {
            if naive(path, tree, ancestor, step - 1) {
                return true;
            }
            if *link == Link::Child {
                return false;
            }
            above = tree.nodes[ancestor].parent;
        }
        false
    }

    fn naive_select(selector: &Selector, tree: &Tree) -> Vec<usize> {
        (0..tree.nodes.len())
            .filter(|node| {
                selector.paths.iter().any(|path| {
                    let last = path.steps.len() - 1;
                    let matching = |node: &usize| naive(path, tree, *node, last);
                    match path.nth {
                        None => matching(node),
                        Some(nth) => {
                            (0..tree.nodes.len()).filter(matching).nth(nth as usize - 1) == Some(*node)
                        }
                    }
                })
            })
            .collect()
    }

    fn step_text() -> impl Strategy<Value = String> {
        let condition = prop_oneof![
            Just(":enabled".to_owned()),
            Just(":disabled".to_owned()),
            Just(":not(:checked)".to_owned()),
            Just("[name=a]".to_owned()),
            Just("[name~='B']".to_owned()),
            Just("[value^=\"a\"]".to_owned()),
            Just("[text/=\"[ab]+$\"]".to_owned()),
            "\\PC{0,6}"
                .prop_map(|text| { format!("[id=\"{}\"]", text.replace('\\', "\\\\").replace('"', "\\\"")) }),
        ];
        let role = prop_oneof![
            Just("*"),
            Just("button"),
            Just("panel"),
            Just("check box"),
            Just("textbox"),
            Just("Push-Button"),
        ];
        (role, prop::collection::vec(condition, 0..3))
            .prop_map(|(role, conditions)| format!("{role}{}", conditions.concat()))
    }

    fn selector_text() -> impl Strategy<Value = String> {
        let link = prop_oneof![Just(" "), Just(" > "), Just(">")];
        let nth = prop_oneof![Just(String::new()), (1..4u32).prop_map(|nth| format!(":nth({nth})"))];
        let path = (prop::collection::vec((step_text(), link), 1..5), nth).prop_map(|(steps, nth)| {
            let last = steps.len() - 1;
            let mut text = String::new();
            for (number, (step, link)) in steps.into_iter().enumerate() {
                text += &step;
                if number < last {
                    text += link;
                }
            }
            text + &nth
        });
        prop::collection::vec(path, 1..4).prop_map(|paths| paths.join(" , "))
    }

    fn random_tree() -> impl Strategy<Value = Tree> {
        let node = (any::<prop::sample::Index>(), 0..4usize, 0..5usize, any::<[bool; 3]>());
        prop::collection::vec(node, 0..25).prop_map(|nodes| {
            let roles = [Role::Button, Role::Panel, Role::CheckBox, Role::TextField];
            let names = ["a", "b", "ab", " a ", ""];
            let mut elements: Vec<(Option<usize>, Element)> = Vec::new();
            for (parent, role, name, [root, enabled, checked]) in nodes {
                let parent =
                    if elements.is_empty() || root { None } else { Some(parent.index(elements.len())) };
                let mut element = element(roles[role], names[name]);
                element.value = enabled.then(|| names[role].to_owned());
                element.states = States::of(enabled.then_some(State::Enabled));
                if checked {
                    element.states = element.states.with(State::Checked);
                }
                elements.push((parent, element));
            }
            tree(elements)
        })
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in any::<String>()) {
            let _ = Selector::parse(&text);
        }

        #[test]
        fn parsing_never_panics_on_what_looks_like_a_selector(
            text in "([a-z*_ ]|\\[|\\]|[=~^/\"'\\\\,>:()0-9]|name|:nth\\(|:not\\(:|button|menu item){0,30}"
        ) {
            if let Ok(selector) = Selector::parse(&text) {
                prop_assert_eq!(&Selector::parse(&selector.to_string()).unwrap(), &selector);
            }
        }

        #[test]
        fn what_is_shown_parses_to_the_same(text in selector_text()) {
            let selector = Selector::parse(&text).unwrap();
            prop_assert_eq!(&Selector::parse(&selector.to_string()).unwrap(), &selector);
        }

        #[test]
        fn matching_agrees_with_the_obvious_way(text in selector_text(), tree in random_tree()) {
            let selector = Selector::parse(&text).unwrap();
            prop_assert_eq!(selector.select(&tree), naive_select(&selector, &tree));
            for near in selector.explain(&tree) {
                prop_assert!(near < tree.nodes.len());
            }
        }
    }
}
