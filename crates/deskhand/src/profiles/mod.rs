//! Which rows a client is shown. Every tool can be called under every profile, unless policy denies it.

use crate::call::Server;
use crate::tool::{Effect, Row};
use crate::tools;
use serde::Serialize;
use serde_json::{Value, json};

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
}

impl Profile {
    /// Every profile.
    pub const ALL: &'static [Profile] = &[Profile::Standard, Profile::Full, Profile::MouseControl];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Standard => "standard",
            Profile::Full => "full",
            Profile::MouseControl => "mouse-control",
        }
    }

    /// The profile of this name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Profile::ALL.iter().copied().find(|profile| profile.name() == name)
    }

    /// The rows that it lists, in their order.
    pub fn rows(self) -> Vec<&'static Row> {
        match self {
            Profile::Standard => STANDARD.iter().filter_map(|name| tools::row(name)).collect(),
            Profile::Full => tools::rows().collect(),
            Profile::MouseControl => MOUSE_CONTROL.iter().filter_map(|name| tools::row(name)).collect(),
        }
    }

    /// Whether pictures come in native size unless the caller says otherwise.
    const fn is_native(self) -> bool {
        match self {
            Profile::Standard | Profile::Full => false,
            // Its coordinates are pixels of a monitor: those of a picture that was not scaled.
            Profile::MouseControl => true,
        }
    }

    /// The arguments of a call with what the profile takes for granted.
    pub fn adapt(self, name: &str, arguments: Value) -> Value {
        if self.is_native() && name == "take_screenshot" {
            return tools::screen::native(arguments);
        }
        arguments
    }

    /// The rows as `tools/list` shows them, without what policy denies.
    pub fn list(self, server: &Server) -> Vec<Listed> {
        self.rows()
            .into_iter()
            .filter(|row| server.config.policy.lists(row))
            .map(|row| self.show(row))
            .collect()
    }

    /// A row as this profile lists it.
    pub fn show(self, row: &'static Row) -> Listed {
        let mut listed = Listed::of(row);
        if self.is_native() && row.name == "take_screenshot" {
            let size = &mut listed.input_schema["properties"];
            size["max_width"]["description"] = json!("At most this wide; native by default.");
            size["max_bytes"]["description"] = json!("At most this much base64; any by default.");
        }
        listed
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

/// The arguments as they are listed. What every tool takes is said once, in the instructions; and since other
/// names of parameters are understood as well, no client need refuse what is not listed.
fn listed_input(row: &Row) -> Value {
    let mut schema = row.input_schema().clone();
    if let Some(object) = schema.as_object_mut() {
        object.remove("additionalProperties");
    }
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.remove("timeout_ms");
    }
    schema
}
