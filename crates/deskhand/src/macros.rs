//! Macros: steps with a name and typed parameters, kept in memory, and as files when somebody asks for it.

use crate::call::Context;
use crate::files;
use crate::steps::{Plan, StepList};
use deskhand_core::near::near;
use deskhand_core::{Code, Error, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many macros are kept.
pub const MOST_MACROS: usize = 500;
/// How many parameters one may have.
pub const MOST_PARAMETERS: usize = 50;
/// How large a file may be that one is loaded from.
pub const MOST_BYTES: u64 = 4 << 20;

/// What a parameter takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A text.
    #[default]
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
}

impl Kind {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Kind::String => value.is_string(),
            Kind::Integer => value.is_i64() || value.is_u64(),
            Kind::Number => value.is_number(),
            Kind::Boolean => value.is_boolean(),
        }
    }
}

/// A value of any [`Kind`]. Said as a choice, since some clients drop tools whose types are lists.
fn scalar(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "anyOf": [{ "type": "string" }, { "type": "number" }, { "type": "boolean" }] })
}

fn scalars(generator: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": "array", "items": scalar(generator) })
}

/// A parameter of a macro.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name: steps refer to it as `params.name`.
    pub name: String,
    /// What it takes; string by default.
    #[serde(default, rename = "type")]
    pub kind: Kind,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its value when none is given. Without one it has to be given.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[schemars(schema_with = "scalar")]
    pub default: Value,
    /// The values that it may have; any of its type if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "scalars")]
    pub options: Vec<Value>,
    /// A password: in no reply and in no file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub secret: bool,
}

/// A macro. As JSON it is what `create_macro` takes, and what stands in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Macro {
    /// Its name.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// Its steps.
    pub steps: StepList,
}

/// The values of a macro's parameters for one run.
pub struct Given {
    /// Each parameter's value.
    pub values: Map<String, Value>,
    /// Those that no reply may show.
    pub secrets: Vec<String>,
}

impl Macro {
    /// Understands it, or names all that is wrong with it.
    pub fn plan(&self) -> Result<Plan> {
        let mut faults = Vec::new();
        if !is_name(&self.name) {
            faults.push(format!("the name {:?} is none: letters, digits, _ and -, at most 64", self.name));
        }
        if MOST_PARAMETERS < self.parameters.len() {
            faults.push(format!("it has more than {MOST_PARAMETERS} parameters"));
        }
        for (index, parameter) in self.parameters.iter().enumerate() {
            let name = &parameter.name;
            if !is_name(name) {
                faults.push(format!("parameters[{index}].name {name:?} is none: letters, digits, _ and -"));
            }
            if self.parameters[..index].iter().any(|other| other.name == *name) {
                faults.push(format!("there are two parameters called {name}"));
            }
            faults.extend(parameter.faults());
        }
        let plan = match Plan::parse(&self.steps, true) {
            Ok(plan) => {
                let unknown = plan
                    .parameters
                    .iter()
                    .filter(|name| !self.parameters.iter().any(|parameter| parameter.name == **name));
                let mut unknown: Vec<_> = unknown.cloned().collect();
                unknown.sort_unstable();
                unknown.dedup();
                faults.extend(
                    unknown
                        .into_iter()
                        .map(|name| format!("the steps refer to params.{name}, which is no parameter")),
                );
                plan
            }
            Err(error) if faults.is_empty() => return Err(error),
            Err(error) => {
                faults.push(error.message.trim_end_matches('.').to_owned());
                return Err(wrong(&faults));
            }
        };
        if faults.is_empty() { Ok(plan) } else { Err(wrong(&faults)) }
    }

    /// Holds given values against the parameters: every fault is named.
    pub fn given(&self, mut given: Map<String, Value>) -> Result<Given> {
        let mut faults = Vec::new();
        let mut missing_only = true;
        let mut values = Map::new();
        for parameter in &self.parameters {
            let value = given.remove(&parameter.name).filter(|value| !value.is_null());
            match value {
                Some(value) => {
                    if let Some(fault) = parameter.fault(&value) {
                        missing_only = false;
                        faults.push(fault);
                    }
                    values.insert(parameter.name.clone(), value);
                }
                None if parameter.default.is_null() => {
                    faults.push(format!("{} ({}) is required", parameter.name, parameter.form()));
                }
                None => drop(values.insert(parameter.name.clone(), parameter.default.clone())),
            }
        }
        for name in given.keys() {
            missing_only = false;
            let known = self.parameters.iter().map(|parameter| parameter.name.as_str());
            let meant =
                near(name, known).first().map(|near| format!(" (is {near} meant?)")).unwrap_or_default();
            faults.push(format!("{name} is no parameter{meant}"));
        }
        if !faults.is_empty() {
            let code = if missing_only { Code::MissingRequiredParameter } else { Code::InvalidArgument };
            let message = format!("The parameters of {} do not fit: {}.", self.name, faults.join("; "));
            let forms = self.parameters.iter().map(|parameter| {
                let optional = if parameter.default.is_null() { "" } else { "?" };
                format!("{}{optional}: {}", parameter.name, parameter.form())
            });
            let forms: Vec<String> = forms.collect();
            let expected = if forms.is_empty() { "no parameters".to_owned() } else { forms.join(", ") };
            return Err(Error::new(code, message).expected(expected));
        }
        let secret = self.parameters.iter().filter(|parameter| parameter.secret);
        let secrets = secret.filter_map(|parameter| values.get(&parameter.name)?.as_str());
        let secrets = secrets.filter(|secret| !secret.is_empty()).map(str::to_owned).collect();
        Ok(Given { values, secrets })
    }

    /// As it stands in a file.
    pub fn to_file(&self) -> Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::new(Code::Internal, "The macro cannot be written as JSON.").os(error))?;
        text.push(b'\n');
        Ok(text)
    }

    /// Reads one from a file that [`Macro::to_file`] or a person wrote.
    pub fn load(cx: &Context, path: &str) -> Result<Macro> {
        let text = files::read(cx, path, MOST_BYTES)?;
        serde_json::from_str(&text).map_err(|error| {
            Error::argument(format!("{path} holds no macro: {error}."))
                .expected("JSON with name, description, parameters and steps, as create_macro takes them")
        })
    }
}

impl Parameter {
    fn faults(&self) -> Vec<String> {
        let name = &self.name;
        let mut faults: Vec<String> = Vec::new();
        if self.secret && (!self.default.is_null() || !self.options.is_empty()) {
            faults.push(format!("{name} is secret and can have neither a default nor options"));
        }
        if self.secret && self.kind != Kind::String {
            faults.push(format!("{name} is secret and has to be a string"));
        }
        let odd = self.options.iter().filter(|option| !self.kind.fits(option));
        faults.extend(odd.map(|option| format!("the option {option} of {name} is no {}", self.kind.name())));
        if !self.default.is_null() {
            faults.extend(self.fault(&self.default).map(|fault| format!("the default: {fault}")));
        }
        faults
    }

    fn fault(&self, value: &Value) -> Option<String> {
        if !self.kind.fits(value) || !(self.options.is_empty() || self.options.contains(value)) {
            let found = match value {
                _ if self.secret => "something else".to_owned(),
                Value::String(text) if 40 < text.chars().count() => "a longer string".to_owned(),
                Value::Array(_) => "an array".to_owned(),
                Value::Object(_) => "an object".to_owned(),
                other => other.to_string(),
            };
            return Some(format!("{} has to be {}, not {found}", self.name, self.form()));
        }
        None
    }

    /// What it takes, in words.
    fn form(&self) -> String {
        if !self.options.is_empty() {
            let options: Vec<String> = self.options.iter().map(Value::to_string).collect();
            return format!("one of {}", options.join(", "));
        }
        match self.kind {
            Kind::String => "a string",
            Kind::Integer => "an integer",
            Kind::Number => "a number",
            Kind::Boolean => "true or false",
        }
        .to_owned()
    }
}

fn wrong(faults: &[String]) -> Error {
    Error::argument(format!("The macro does not fit: {}.", faults.join("; ")))
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.chars().count() <= 64 && name.chars().all(fits)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// The macros that are known, by name.
#[derive(Default)]
pub struct Macros(Mutex<BTreeMap<String, Arc<Macro>>>);

impl Macros {
    /// Keeps one. Another of its name is replaced only when that was asked for.
    pub fn keep(&self, made: Macro, overwrite: bool) -> Result<Arc<Macro>> {
        let mut all = self.all();
        if !overwrite && all.contains_key(&made.name) {
            return Err(Error::argument(format!("There is a macro called {:?} already.", made.name))
                .remedy("Choose another name, or pass overwrite: true."));
        }
        if MOST_MACROS <= all.len() && !all.contains_key(&made.name) {
            return Err(Error::new(Code::Busy, format!("{MOST_MACROS} macros are kept already."))
                .remedy("Delete one that is no longer needed with delete_macro."));
        }
        let made = Arc::new(made);
        all.insert(made.name.clone(), made.clone());
        Ok(made)
    }

    /// Whether one of this name could be kept.
    pub fn check(&self, name: &str, overwrite: bool) -> Result<()> {
        if !overwrite && self.all().contains_key(name) {
            return Err(Error::argument(format!("There is a macro called {name:?} already."))
                .remedy("Choose another name, or pass overwrite: true."));
        }
        Ok(())
    }

    /// All of them, by name.
    pub fn list(&self) -> Vec<Arc<Macro>> {
        self.all().values().cloned().collect()
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Result<Arc<Macro>> {
        let all = self.all();
        all.get(plain(name)).cloned().ok_or_else(|| not_found(&all, name))
    }

    /// Forgets one. Its file, if it has one, stays.
    pub fn remove(&self, name: &str) -> Result<Arc<Macro>> {
        let mut all = self.all();
        all.remove(plain(name)).ok_or_else(|| not_found(&all, name))
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Macro>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_found(all: &BTreeMap<String, Arc<Macro>>, name: &str) -> Error {
    let near = near(plain(name), all.keys().map(String::as_str));
    let found: Vec<String> = if near.is_empty() {
        all.keys().cloned().collect()
    } else {
        near.into_iter().map(str::to_owned).collect()
    };
    Error::new(Code::MacroNotFound, format!("There is no macro called {name:?}."))
        .expected("one that list_macros lists")
        .found(found)
        .remedy("Make one with create_macro, or load it from its file by create_macro with file_path.")
}

/// `form` of `macros/form`.
fn plain(name: &str) -> &str {
    let name = name.trim();
    name.strip_prefix("macros/").unwrap_or(name)
}
