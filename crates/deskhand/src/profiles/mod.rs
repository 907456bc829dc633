//! What a client is shown. Every tool can be called under every profile, unless policy denies it.

mod catalogue;
mod requirements;

use crate::arguments;
use crate::call::Server;
use crate::tool::{Effect, Group, Row};
use crate::tools;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A public surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The curated set.
    #[default]
    Standard,
    /// Every canonical tool.
    Full,
    /// `mouse_control` and what goes with it.
    MouseControl,
    /// The names and parameters of the tool catalogue.
    Catalogue,
    /// The names and parameters of the requirements document.
    Requirements,
    /// The seven tools of plain JSON-RPC clients; always what `POST /` lists.
    JsonRpc,
}

impl Profile {
    /// Every profile.
    pub const ALL: &'static [Profile] = &[
        Profile::Standard,
        Profile::Full,
        Profile::MouseControl,
        Profile::Catalogue,
        Profile::Requirements,
        Profile::JsonRpc,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Standard => "standard",
            Profile::Full => "full",
            Profile::MouseControl => "mouse-control",
            Profile::Catalogue => "catalogue",
            Profile::Requirements => "requirements",
            Profile::JsonRpc => "json-rpc",
        }
    }

    /// The profile of this name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Profile::ALL.iter().copied().find(|profile| profile.name() == name)
    }

    /// What it lists, in its order.
    pub fn shown(self) -> Vec<Shown> {
        let own = |names: &[&'static str]| names.iter().filter_map(|name| Shown::new(name, None)).collect();
        let theirs = |names: &[(&'static str, &'static [&'static str])]| {
            names.iter().filter_map(|(name, parameters)| Shown::new(name, Some(parameters))).collect()
        };
        match self {
            Profile::Standard => own(STANDARD),
            Profile::Full => tools::rows().map(Shown::own).collect(),
            Profile::MouseControl => own(MOUSE_CONTROL),
            Profile::Catalogue => theirs(catalogue::TOOLS),
            Profile::Requirements => theirs(requirements::TOOLS),
            Profile::JsonRpc => tools::automation::TOOLS.iter().map(Shown::own).collect(),
        }
    }

    /// Whether pictures come in native size unless the caller says otherwise.
    const fn is_native(self) -> bool {
        match self {
            Profile::Standard | Profile::Full => false,
            // Their coordinates are pixels of a display: those of a picture that was not scaled.
            Profile::MouseControl | Profile::Catalogue | Profile::Requirements | Profile::JsonRpc => true,
        }
    }

    /// The arguments of a call with what the profile takes for granted.
    pub fn adapt(self, name: &str, arguments: Value) -> Value {
        match name {
            "take_screenshot" if self.is_native() => tools::screen::native(arguments),
            // Its document asks for elements with their places.
            "get_ui_elements" if self == Profile::Requirements => {
                tools::with(arguments, "include_bounds", json!(true))
            }
            _ => arguments,
        }
    }

    /// What `tools/list` shows, with more groups and without what policy denies.
    pub fn list(self, server: &Server, more: &BTreeSet<Group>) -> Vec<Listed> {
        let mut shown = self.shown();
        let others = tools::rows().filter(|row| more.contains(&row.group));
        let names: Vec<&str> = shown.iter().map(|shown| shown.name).collect();
        shown.extend(others.filter(|row| !names.contains(&row.name)).map(Shown::own));
        shown.extend(server.config.tools.iter().map(Shown::own));
        shown.retain(|shown| server.config.policy.lists(shown.row));
        shown.iter().map(|shown| self.show(shown)).collect()
    }

    /// A tool as this profile lists it.
    pub fn show(self, shown: &Shown) -> Listed {
        let mut listed = Listed { name: shown.name, ..Listed::of(shown.row) };
        if self.is_native() && shown.name == "take_screenshot" {
            let size = &mut listed.input_schema["properties"];
            size["max_width"]["description"] = json!("At most this wide; native by default.");
            size["max_bytes"]["description"] = json!("At most this much base64; any by default.");
        }
        if let Some(parameters) = shown.parameters {
            listed.input_schema = theirs(shown.row, parameters);
        }
        listed
    }
}

/// One tool of a profile.
#[derive(Clone, Copy)]
pub struct Shown {
    /// The name that it is listed and called by.
    pub name: &'static str,
    /// The tool.
    pub row: &'static Row,
    /// The names of the parameters that are listed; all of the tool's own without.
    parameters: Option<&'static [&'static str]>,
}

impl Shown {
    fn new(name: &'static str, parameters: Option<&'static [&'static str]>) -> Option<Shown> {
        let (row, _) = tools::find(name, Value::Null)?;
        Some(Shown { name, row, parameters })
    }

    /// A tool with its own parameters.
    pub fn own(row: &'static Row) -> Shown {
        Shown { name: row.name, row, parameters: None }
    }
}

/// The curated set: what a model needs to see and work a desktop, within what it can keep in mind.
const STANDARD: &[&str] = &[
    "take_screenshot",
    "get_ui_elements",
    "find_elements",
    "wait_for",
    "list_windows",
    "list_displays",
    "list_running_apps",
    "get_system_info",
    "click",
    "move_mouse",
    "drag",
    "scroll",
    "type_text",
    "press_key",
    "click_ui_element",
    "set_ui_element_value",
    "perform_element_action",
    "focus_window",
    "set_window",
    "launch_app",
    "quit_app",
    "list_menu_items",
    "click_menu_item",
    "list_status_bar_items",
    "click_status_bar_menu_item",
    "get_clipboard",
    "set_clipboard",
    "send_notification",
    "run_steps",
    "enable_tools",
];

/// The pointer in one tool, and what tells where to put it.
const MOUSE_CONTROL: &[&str] = &["mouse_control", "take_screenshot", "list_displays", "list_windows"];

/// One tool as `tools/list` shows it, by the MCP specification ("Tool").
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The name to call it by.
    pub name: &'static str,
    /// What it does.
    pub description: String,
    /// Its arguments.
    pub input_schema: Value,
    /// Its answer, for tools whose answer is data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints about its effect.
    pub annotations: Value,
}

impl Listed {
    /// A row as it is listed.
    pub fn of(row: &'static Row) -> Listed {
        Listed {
            name: row.name,
            description: row.description().to_owned(),
            input_schema: listed_input(row),
            output_schema: row.output_schema().cloned(),
            annotations: match row.effect {
                Effect::Read | Effect::File => json!({ "readOnlyHint": row.effect == Effect::Read }),
                Effect::Change | Effect::Input | Effect::Script => json!({ "destructiveHint": true }),
            },
        }
    }
}

/// The arguments as they are listed. What every tool takes, or every one that acts, is said once, in the
/// instructions; and since other names of parameters are understood as well, no client need refuse what is
/// not listed.
fn listed_input(row: &Row) -> Value {
    let mut schema = row.input_schema().clone();
    if let Some(object) = schema.as_object_mut() {
        object.remove("additionalProperties");
    }
    if let Some(properties) = schema["properties"].as_object_mut() {
        for common in ["timeout_ms", "settle_ms"] {
            properties.remove(common);
        }
    }
    schema
}

/// The arguments of a tool under other names of its parameters.
fn theirs(row: &Row, parameters: &[&str]) -> Value {
    let schema = row.input_schema();
    let is_required =
        |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    for parameter in parameters {
        let (name, property) = match arguments::meaning(row, parameter) {
            Some(meaning) => {
                let mut property = schema["properties"][&meaning.name].clone();
                if meaning.in_seconds {
                    let about = property["description"].as_str().unwrap_or("The time limit.");
                    property = json!({ "type": "number", "description": format!("{about} In seconds.") });
                }
                (meaning.name, property)
            }
            // What has no effect is taken all the same.
            None => (String::new(), json!({ "type": "boolean", "description": "Has no effect." })),
        };
        if is_required(&name) {
            required.push(parameter);
        }
        properties.insert((*parameter).to_owned(), property);
    }
    let mut theirs = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        theirs["required"] = json!(required);
    }
    theirs
}
