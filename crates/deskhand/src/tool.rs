//! A tool is its argument struct: fields are parameters, doc comments are descriptions.
//!
//! [`Row::of`] makes the one row that listing, command line, documentation, annotations and policy read.

use crate::arguments;
use crate::call::Context;
use crate::encode;
use deskhand_core::{Code, Error, Result};
use schemars::generate::SchemaSettings;
use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// One tool. The type's own fields are its arguments.
pub trait Tool: DeserializeOwned + JsonSchema + Send + 'static {
    /// The canonical name: `verb_noun`.
    const NAME: &'static str;
    /// The most that a call of it can do.
    const EFFECT: Effect;
    /// The least that a call of it can do: where that is allowed, the tool is listed.
    const LEAST: Effect = match Self::EFFECT {
        Effect::File => Effect::Read,
        effect => effect,
    };
    /// What it can fail with, besides what every tool can ([`COMMON_ERRORS`]).
    const ERRORS: &'static [Code];
    /// Other names of its parameters, besides those that hold everywhere.
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// Parameters that are logged by their length only.
    const SECRET: &'static [&'static str] = &[];
    /// Parameters that are taken and not listed: other tool sets have them.
    const HIDDEN: &'static [&'static str] = &[];
    /// How its failures are shown where the contract that it keeps has a shape of its own for them: what
    /// clients see of the arguments as they came and of what went wrong.
    const FAILURE: Option<fn(&Value, &Error) -> Value> = None;
    /// Whether it takes `session`: what it leaves behind, or what it works with, belongs to one.
    const SESSION: bool = false;
    /// Which group of the full set it belongs to, for listing and `enable_tools`.
    const GROUP: Group;
    /// What it answers.
    type Output: Output;

    /// What this call does, at the most [`Tool::EFFECT`].
    fn effect(&self) -> Effect {
        Self::EFFECT
    }

    /// Time that the caller asked for (a delay, a hold, a wait), added to the default time limit.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    /// Does it.
    fn call(self, cx: &Context) -> Result<Self::Output>;
}

/// What a call does to the world, from nothing to anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Looks, and changes nothing.
    Read,
    /// Writes a file that the caller named.
    File,
    /// Changes the desktop: windows, applications, the clipboard.
    Change,
    /// Makes input as a person would: anything that a person can do.
    Input,
    /// Runs code.
    Script,
}

impl Effect {
    /// Every effect.
    pub const ALL: [Effect; 5] = [Effect::Read, Effect::File, Effect::Change, Effect::Input, Effect::Script];

    /// The name in the policy and in the log.
    pub const fn name(self) -> &'static str {
        match self {
            Effect::Read => "read",
            Effect::File => "file",
            Effect::Change => "change",
            Effect::Input => "input",
            Effect::Script => "script",
        }
    }

    /// Whether calls with it take the lane.
    pub const fn takes_lane(self) -> bool {
        match self {
            Effect::Read | Effect::File => false,
            Effect::Change | Effect::Input | Effect::Script => true,
        }
    }
}

/// A group of tools that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Pointer.
    Pointer,
    /// Keyboard.
    Keyboard,
    /// Displays and pixels.
    Screen,
    /// Accessibility elements.
    Elements,
    /// Being told what changes.
    Observations,
    /// Windows.
    Windows,
    /// Applications.
    Applications,
    /// Menus.
    Menus,
    /// The notification area.
    StatusItems,
    /// Audio outputs.
    Audio,
    /// The file manager.
    Files,
    /// Commands and scripts.
    Scripting,
    /// The machine.
    System,
    /// The clipboard.
    Clipboard,
    /// Notifications.
    Notifications,
    /// Several calls in one, and macros.
    Steps,
    /// Who owns what outlives a call.
    Sessions,
}

/// What every tool can fail with.
pub const COMMON_ERRORS: &[Code] = &[
    Code::InvalidArgument,
    Code::MissingRequiredParameter,
    Code::Unsupported,
    Code::Timeout,
    Code::Cancelled,
    Code::PausedByUser,
    Code::DeniedByPolicy,
    Code::Backend,
    Code::Internal,
];

/// Two lists of codes in one, whose length has to be given.
pub const fn both<const ALL: usize>(some: &[Code], more: &[Code]) -> [Code; ALL] {
    assert!(some.len() + more.len() == ALL);
    let mut all = [Code::Internal; ALL];
    let mut index = 0;
    while index < ALL {
        all[index] = if index < some.len() { some[index] } else { more[index - some.len()] };
        index += 1;
    }
    all
}

/// One row of the table of tools.
pub struct Row {
    /// The canonical name.
    pub name: &'static str,
    /// The most that a call can do.
    pub effect: Effect,
    /// The least that a call can do.
    pub least: Effect,
    /// The group.
    pub group: Group,
    /// What it can fail with, besides [`COMMON_ERRORS`].
    pub errors: &'static [Code],
    /// Other names of its parameters.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Parameters that are logged by their length only.
    pub secret: &'static [&'static str],
    /// Parameters that are taken and not listed.
    pub hidden: &'static [&'static str],
    failure: Option<fn(&Value, &Error) -> Value>,
    /// Whether it takes `session`.
    pub session: bool,
    schema: fn() -> Value,
    output: fn() -> Option<Value>,
    bind: fn(Value) -> Result<Bound>,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Row({})", self.name)
    }
}

struct Made {
    input: Value,
    output: Option<Value>,
    description: String,
}

/// A call with typed arguments, ready to run.
pub struct Bound {
    /// What this call does.
    pub effect: Effect,
    /// Time that the caller asked for.
    pub patience: Duration,
    /// The time limit that the caller set.
    pub timeout: Option<Duration>,
    /// The session that the caller named.
    pub session: Option<String>,
    /// Does it.
    pub run: Box<dyn FnOnce(&Context) -> Result<Reply> + Send>,
}

impl Row {
    /// The row of a tool.
    pub const fn of<T: Tool>() -> Row {
        Row {
            name: T::NAME,
            effect: T::EFFECT,
            least: T::LEAST,
            group: T::GROUP,
            errors: T::ERRORS,
            aliases: T::ALIASES,
            secret: T::SECRET,
            hidden: T::HIDDEN,
            failure: T::FAILURE,
            session: T::SESSION,
            schema: schema_of::<T>,
            output: <T::Output as Output>::schema,
            bind: bind::<T>,
        }
    }

    /// The schema of the arguments.
    pub fn input_schema(&self) -> &'static Value {
        &self.made().input
    }

    /// The schema of the answer, for tools whose answer is data.
    pub fn output_schema(&self) -> Option<&'static Value> {
        self.made().output.as_ref()
    }

    /// What the tool does, for the model and the documentation.
    pub fn description(&self) -> &'static str {
        &self.made().description
    }

    /// The failure of a call as its clients are to see it.
    pub fn shape(&self, arguments: &Value, error: Error) -> Error {
        match self.failure {
            Some(show) if encode::shown(&error).is_none() => {
                let shown = show(arguments, &error);
                encode::show_as(error, shown)
            }
            _ => error,
        }
    }

    /// Takes arguments in three steps: other names rewritten, the schema checked with all faults at once,
    /// then the types.
    pub fn bind(&self, arguments: Value) -> Result<Bound> {
        self.bind_rewritten(arguments::rewrite(self, arguments)?)
    }

    /// The last two steps, of arguments that [`arguments::rewrite`] made.
    pub fn bind_rewritten(&self, arguments: Value) -> Result<Bound> {
        arguments::check(self, &arguments)?;
        (self.bind)(arguments)
    }

    /// What is derived from the type, made when it is first asked for: a program that makes one call
    /// does not pay for fifty schemas.
    fn made(&self) -> &'static Made {
        static MADE: RwLock<BTreeMap<&'static str, &'static Made>> = RwLock::new(BTreeMap::new());
        if let Some(made) = MADE.read().unwrap_or_else(PoisonError::into_inner).get(self.name) {
            return made;
        }
        let made: &'static Made = Box::leak(Box::new(self.make()));
        MADE.write().unwrap_or_else(PoisonError::into_inner).entry(self.name).or_insert(made)
    }

    fn make(&self) -> Made {
        let mut input = (self.schema)();
        let description = match input.as_object_mut().and_then(|object| object.remove("description")) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let mut common = json!({ "timeout_ms": { "type": "integer" } });
        if self.session {
            common["session"] = json!({ "type": "string", "description": "One from create_session." });
        }
        match (input.get_mut("properties"), common) {
            (Some(Value::Object(properties)), Value::Object(common)) => properties.extend(common),
            (_, common) => input["properties"] = common,
        }
        Made { input, output: (self.output)(), description }
    }
}

fn bind<T: Tool>(mut arguments: Value) -> Result<Bound> {
    let timeout = arguments.as_object_mut().and_then(|object| object.remove("timeout_ms"));
    if let Some(wrong) = timeout.as_ref().filter(|timeout| timeout.as_u64().is_none_or(|ms| ms == 0)) {
        return Err(Error::argument(format!("timeout_ms has to be at least 1, not {wrong}.")));
    }
    let session = match arguments.as_object_mut() {
        Some(object) if T::SESSION => object.remove("session"),
        _ => None,
    };
    let read = |arguments: &Value| T::deserialize(arguments).map_err(|error| error.to_string());
    let tool = read(&arguments).map_err(|fault| {
        Error::argument(format!("{}.", arguments::placed(&arguments, fault, &|other| read(other).err())))
    })?;
    Ok(Bound {
        effect: tool.effect(),
        patience: tool.patience(),
        session: session.as_ref().and_then(Value::as_str).map(str::to_owned),
        timeout: timeout.as_ref().and_then(Value::as_u64).map(Duration::from_millis),
        run: Box::new(move |cx| Ok(tool.call(cx)?.reply())),
    })
}

/// What a tool answers, of one of three kinds.
pub enum Reply {
    /// A picture: an image block and one short text.
    Picture(Picture),
    /// Text for reading.
    Reading(String),
    /// Data: the same JSON as text and as structured content.
    Data(Value),
}

/// An encoded picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The encoded bytes in base64, in pieces that follow each other.
    pub base64: Vec<std::sync::Arc<str>>,
    /// `image/png` and the like.
    pub mime: &'static str,
    /// How to use it.
    pub text: String,
    /// The same as data, for surfaces that have no image blocks.
    pub data: Value,
}

/// A type that a tool can answer with.
pub trait Output {
    /// The schema of structured content, for data only: clients that see structured content drop
    /// pictures.
    fn schema() -> Option<Value>;
    /// The answer.
    fn reply(self) -> Reply;
}

/// Data as a tool's answer.
pub struct Data<T>(pub T);

impl<T: Serialize + JsonSchema> Output for Data<T> {
    fn schema() -> Option<Value> {
        // What is left out when it is empty must not be required: clients refuse the whole answer.
        Some(outline(&plain_schema(SchemaSettings::draft2020_12().for_serialize(), T::json_schema), 0))
    }

    fn reply(self) -> Reply {
        Reply::Data(
            serde_json::to_value(self.0).unwrap_or_else(|error| json!({ "error": error.to_string() })),
        )
    }
}

impl Output for Picture {
    fn schema() -> Option<Value> {
        None
    }

    fn reply(self) -> Reply {
        Reply::Picture(self)
    }
}

impl Output for Reply {
    fn schema() -> Option<Value> {
        None
    }

    fn reply(self) -> Reply {
        self
    }
}

/// An integer within bounds: the schema and the check are one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Ranged<const LOW: i64, const HIGH: i64>(i64);

impl<const LOW: i64, const HIGH: i64> Ranged<LOW, HIGH> {
    /// The number, if it lies within the bounds.
    pub fn new(value: i64) -> Option<Self> {
        (LOW <= value && value <= HIGH).then_some(Ranged(value))
    }

    /// The number.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The number, which is not negative.
    pub fn unsigned(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }

    /// The number as milliseconds.
    pub fn milliseconds(self) -> Duration {
        Duration::from_millis(self.unsigned())
    }
}

impl<'de, const LOW: i64, const HIGH: i64> Deserialize<'de> for Ranged<LOW, HIGH> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = i64::deserialize(deserializer)?;
        Ranged::new(value)
            .ok_or_else(|| serde::de::Error::custom(format!("{value} is outside {LOW} to {HIGH}")))
    }
}

impl<const LOW: i64, const HIGH: i64> JsonSchema for Ranged<LOW, HIGH> {
    fn schema_name() -> Cow<'static, str> {
        format!("Ranged_{LOW}_{HIGH}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "integer", "minimum": LOW, "maximum": HIGH })
    }
}

/// The schema of a type in the plain form that every client takes: no references, no titles, no
/// `type: [x, "null"]`, no formats, and enumerations as `enum`.
pub fn schema_of<T: JsonSchema>() -> Value {
    plain_schema(SchemaSettings::draft2020_12().for_deserialize(), T::json_schema)
}

/// Nothing in it is generic over a tool's type, of which there are a hundred.
fn plain_schema(settings: SchemaSettings, of: fn(&mut SchemaGenerator) -> Schema) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = of(&mut settings.into_generator());
    Plain.transform(&mut schema);
    schema.to_value()
}

struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        schemars::transform::transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        for noise in ["$schema", "title", "format", "$defs"] {
            object.remove(noise);
        }
        if object.get("default").is_some_and(says_nothing) {
            object.remove("default");
        }
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [only] = &types[..] {
                let only = only.clone();
                object.insert("type".into(), only);
            }
        }
        if let Some(Value::Array(values)) = object.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        for choice in ["anyOf", "oneOf"] {
            flatten_choice(object, choice);
        }
        // `uint` types carry a minimum of zero; that is worth keeping. Their maximum is not.
        if object.get("maximum").and_then(Value::as_u64).is_some_and(|most| most >= u64::from(u32::MAX)) {
            object.remove("maximum");
        }
        if object.contains_key("description")
            && let Some(Value::Object(items)) = object.get_mut("items")
        {
            // What the list is says what its items are.
            items.remove("description");
        }
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
    }
}

/// A default that anyone would expect of a parameter left out.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// `anyOf [X, null]` is X; a choice of constants is an `enum`.
fn flatten_choice(object: &mut Map<String, Value>, choice: &str) {
    let Some(Value::Array(mut options)) = object.remove(choice) else { return };
    options.retain(|option| option.get("type") != Some(&json!("null")));
    let constants: Option<Vec<Value>> = options
        .iter()
        .map(|option| match (option.get("const"), option.get("enum")) {
            (Some(only), _) => Some(vec![only.clone()]),
            (None, Some(Value::Array(values))) => Some(values.clone()),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()
        .map(|lists| lists.concat());
    if let Some(values) = constants {
        object.insert("type".into(), json!("string"));
        object.insert("enum".into(), Value::Array(values));
    } else if let [Value::Object(only)] = &options[..] {
        for (key, value) in only {
            object.entry(key.clone()).or_insert_with(|| value.clone());
        }
    } else {
        object.insert(choice.into(), Value::Array(options));
    }
}

/// The outline of an answer: what is always there. Its words say what they mean, and each one costs every
/// client's model; types below the second level and long vocabularies are left out.
fn outline(schema: &Value, depth: u32) -> Value {
    let mut kept = Map::new();
    for name in ["type", "required"] {
        if let Some(value) = schema.get(name) {
            kept.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array).filter(|values| values.len() <= 2) {
        kept.insert("enum".to_owned(), json!(values));
    }
    if depth == 0 {
        let inside = schema.get("properties").and_then(Value::as_object);
        let always = |name: &str| {
            schema.get("required").and_then(Value::as_array).is_none_or(|all| all.contains(&json!(name)))
        };
        let inside = inside.into_iter().flatten().filter(|(name, _)| always(name));
        let inside = inside.map(|(name, member)| (name.clone(), outline(member, 1)));
        // Of what can be anything there is nothing to say, and some clients refuse a schema that says nothing.
        let inside = inside.filter(|(_, member)| member.as_object().is_some_and(|said| !said.is_empty()));
        kept.insert("properties".to_owned(), Value::Object(inside.collect()));
    } else {
        kept.remove("required");
    }
    if let Some(items) = schema.get("items") {
        kept.insert("items".to_owned(), json!({ "type": items.get("type") }));
    }
    Value::Object(kept)
}
