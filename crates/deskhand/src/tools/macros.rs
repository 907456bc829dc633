//! Macros: steps with a name and parameters.

use super::page::page;
use super::steps::patience;
use crate::call::Context;
use crate::files;
use crate::macros::{Macro, Parameter};
use crate::steps::{Ran, Run, StepList};
use crate::tool::{Data, Effect, Group, Ranged, Row, Tool};
use deskhand_core::{Code, Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The table of this noun.
pub static TOOLS: &[Row] = &[
    Row::of::<CreateMacro>(),
    Row::of::<GetMacro>(),
    Row::of::<ListMacros>(),
    Row::of::<DeleteMacro>(),
    Row::of::<ExecuteMacro>(),
];

/// Make a macro of steps as run_steps takes them; `{"$from": "params.name"}` refers to a parameter. With
/// file_path it is also saved there; with file_path and no steps it is loaded from there.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct CreateMacro {
    /// Its name: letters, digits, _ and -. A file has its own.
    pub name: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// What can be chosen when it runs.
    pub parameters: Vec<Parameter>,
    /// What it does, in order.
    pub steps: StepList,
    /// A JSON file to save it in, or to load it from.
    pub file_path: Option<String>,
    /// Replace a macro of this name, and the file.
    pub overwrite: bool,
}

/// A macro as it is shown to callers.
#[derive(Serialize, JsonSchema)]
pub struct MacroInfo {
    /// Its name.
    pub name: String,
    /// Its resource name.
    pub resource: String,
    /// What it does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// How many steps its outermost list has.
    pub step_count: usize,
    /// The steps, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Value>,
    /// The file that it was written to or read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
}

impl MacroInfo {
    /// A macro without its steps.
    pub fn of(one: &Macro) -> MacroInfo {
        MacroInfo {
            name: one.name.clone(),
            resource: format!("macros/{}", one.name),
            description: one.description.clone(),
            parameters: one.parameters.clone(),
            step_count: one.steps.0.len(),
            steps: None,
            file_path: None,
        }
    }

    /// A macro with its steps.
    pub fn whole(one: &Macro) -> MacroInfo {
        MacroInfo { steps: Some(json!(one.steps)), ..MacroInfo::of(one) }
    }
}

impl Tool for CreateMacro {
    const NAME: &'static str = "create_macro";
    const EFFECT: Effect = Effect::File;
    const ERRORS: &'static [Code] =
        &[Code::PathNotFound, Code::PathExists, Code::PermissionDenied, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("macro", "name"), ("macro_name", "name"), ("params", "parameters"), ("path", "file_path")];
    // What is typed in steps may be meant for nobody's log.
    const SECRET: &'static [&'static str] = &["steps", "parameters"];
    const GROUP: Group = Group::Steps;
    type Output = Data<MacroInfo>;

    fn effect(&self) -> Effect {
        if self.file_path.is_some() && !self.steps.0.is_empty() { Effect::File } else { Effect::Read }
    }

    fn call(self, cx: &Context) -> Result<Data<MacroInfo>> {
        let loaded = self.steps.0.is_empty();
        let mut made = match (&self.file_path, self.name, loaded) {
            (Some(path), name, true) => {
                let mut made = Macro::load(cx, path)?;
                made.name = name.unwrap_or(made.name);
                made
            }
            (_, Some(name), false) => {
                Macro { name, description: String::new(), parameters: self.parameters, steps: self.steps }
            }
            (None, name, true) => {
                let name = if name.is_none() { "name and steps are" } else { "steps is" };
                return Err(Error::new(Code::MissingRequiredParameter, format!("{name} missing."))
                    .expected("name and steps, or the file_path of a macro to load"));
            }
            (_, None, false) => {
                return Err(Error::new(
                    Code::MissingRequiredParameter,
                    "name is missing: what is it called?",
                ));
            }
        };
        made.description = self.description.unwrap_or(made.description);
        made.plan()?;
        let saved = keep(cx, made, self.file_path.filter(|_| !loaded).as_deref(), self.overwrite)?;
        Ok(Data(saved))
    }
}

/// Keeps a macro, and writes it to a file if one is named. Nothing is done when one of both cannot be.
pub fn keep(cx: &Context, made: Macro, path: Option<&str>, overwrite: bool) -> Result<MacroInfo> {
    cx.server.macros.check(&made.name, overwrite)?;
    let path = path.map(|path| files::writable(cx, path, overwrite)).transpose()?;
    if let Some(path) = &path {
        files::write(path, &made.to_file()?, overwrite)?;
    }
    let kept = cx.server.macros.keep(made, overwrite)?;
    Ok(MacroInfo { file_path: path.map(|path| path.display().to_string()), ..MacroInfo::of(&kept) })
}

/// Show a macro with its steps; with file_path it is saved there too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMacro {
    /// Its name.
    pub name: String,
    /// A JSON file to save it in.
    #[serde(default)]
    pub file_path: Option<String>,
    /// Replace the file.
    #[serde(default)]
    pub overwrite: bool,
}

impl Tool for GetMacro {
    const NAME: &'static str = "get_macro";
    const EFFECT: Effect = Effect::File;
    const ERRORS: &'static [Code] =
        &[Code::MacroNotFound, Code::PathNotFound, Code::PathExists, Code::PermissionDenied];
    const ALIASES: &'static [(&'static str, &'static str)] = NAMES;
    const GROUP: Group = Group::Steps;
    type Output = Data<MacroInfo>;

    fn effect(&self) -> Effect {
        if self.file_path.is_some() { Effect::File } else { Effect::Read }
    }

    fn call(self, cx: &Context) -> Result<Data<MacroInfo>> {
        let one = cx.server.macros.get(&self.name)?;
        let mut info = MacroInfo::whole(&one);
        if let Some(path) = &self.file_path {
            let path = files::writable(cx, path, self.overwrite)?;
            files::write(&path, &one.to_file()?, self.overwrite)?;
            info.file_path = Some(path.display().to_string());
        }
        Ok(Data(info))
    }
}

/// Other names of the one parameter that says which macro.
const NAMES: &[(&str, &str)] =
    &[("macro", "name"), ("macro_name", "name"), ("macro_id", "name"), ("path", "file_path")];

/// List the macros.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub struct ListMacros {
    /// How many at the most.
    pub page_size: Option<Ranged<1, 1000>>,
    /// next_page_token of the page before.
    pub page_token: Option<String>,
}

/// Macros.
#[derive(Serialize, JsonSchema)]
pub struct MacroList {
    /// The macros, by name, without their steps.
    pub macros: Vec<MacroInfo>,
    /// Pass it as page_token for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

impl Tool for ListMacros {
    const NAME: &'static str = "list_macros";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const GROUP: Group = Group::Steps;
    type Output = Data<MacroList>;

    fn call(self, cx: &Context) -> Result<Data<MacroList>> {
        let size = self.page_size.map_or(100, Ranged::get);
        let (macros, next_page_token) =
            page(cx.server.macros.list(), Some(size), self.page_token.as_deref())?;
        Ok(Data(MacroList { macros: macros.iter().map(|one| MacroInfo::of(one)).collect(), next_page_token }))
    }
}

/// Forget a macro. A file that it was saved in stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteMacro {
    /// Its name.
    pub name: String,
}

impl Tool for DeleteMacro {
    const NAME: &'static str = "delete_macro";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[Code::MacroNotFound];
    const ALIASES: &'static [(&'static str, &'static str)] = NAMES;
    const GROUP: Group = Group::Steps;
    type Output = Data<MacroInfo>;

    fn call(self, cx: &Context) -> Result<Data<MacroInfo>> {
        let removed = cx.server.macros.remove(&self.name)?;
        Ok(Data(MacroInfo::of(&removed)))
    }
}

/// Run a macro. Stops at the first step that fails and says which one, with what each step before it did.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteMacro {
    /// Its name.
    pub name: String,
    /// Its parameters' values, by name.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// Between steps.
    #[serde(default)]
    pub delay_ms: Option<Ranged<0, 10_000>>,
}

/// What came of a macro.
#[derive(Serialize, JsonSchema)]
pub struct Executed {
    /// The macro.
    #[serde(rename = "macro")]
    pub name: String,
    /// What came of its steps.
    #[serde(flatten)]
    pub ran: Ran,
}

impl Tool for ExecuteMacro {
    const NAME: &'static str = "execute_macro";
    const EFFECT: Effect = Effect::Input;
    const ERRORS: &'static [Code] =
        &[Code::MacroNotFound, Code::SessionNotFound, Code::SecureDesktopActive, Code::Busy];
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("macro", "name"),
        ("macro_name", "name"),
        ("macro_id", "name"),
        ("params", "parameters"),
        ("parameter_values", "parameters"),
        ("arguments", "parameters"),
    ];
    const SECRET: &'static [&'static str] = &["parameters"];
    const SESSION: bool = true;
    const GROUP: Group = Group::Steps;
    type Output = Data<Executed>;

    fn patience(&self) -> Duration {
        // How many steps there are is not known before the call has begun.
        patience(20, self.delay_ms)
    }

    fn call(self, cx: &Context) -> Result<Data<Executed>> {
        let one: Arc<Macro> = cx.server.macros.get(&self.name)?;
        let given = one.given(self.parameters)?;
        let plan = one.plan()?;
        cx.desktop.enter(&cx.call)?;
        let mut run = Run::new(cx, given.values, given.secrets);
        run.delay = self.delay_ms;
        Ok(Data(Executed { name: one.name.clone(), ran: run.all(&plan) }))
    }
}
