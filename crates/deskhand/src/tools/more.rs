//! More tools than the profile lists, when a job needs them.

use crate::call::Context;
use crate::tool::{Data, Effect, Group, Row, Tool};
use crate::tools;
use deskhand_core::{Code, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The table of this noun.
pub static TOOLS: &[Row] = &[Row::of::<EnableTools>()];

/// List more tools, by groups. Every tool can be called at once, listed or not.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnableTools {
    /// Which.
    pub groups: Vec<Group>,
}

/// The tools of the groups.
#[derive(Serialize, JsonSchema)]
pub struct Enabled {
    /// Each with its parameters; a question mark stands behind those that may be left out.
    pub tools: Vec<Brief>,
}

/// A tool in short.
#[derive(Serialize, JsonSchema)]
pub struct Brief {
    /// How to call it.
    pub call: String,
    /// What it does.
    pub description: &'static str,
}

impl Tool for EnableTools {
    const NAME: &'static str = "enable_tools";
    const EFFECT: Effect = Effect::Read;
    const ERRORS: &'static [Code] = &[];
    const ALIASES: &'static [(&'static str, &'static str)] = &[("group", "groups")];
    const GROUP: Group = Group::Steps;
    type Output = Data<Enabled>;

    fn call(self, cx: &Context) -> Result<Data<Enabled>> {
        let allowed = tools::rows().filter(|row| self.groups.contains(&row.group));
        let tools = allowed.filter(|row| cx.server.config.policy.lists(row)).map(Brief::of).collect();
        if cx.client.list_more(&self.groups) {
            cx.client.tell("notifications/tools/list_changed", json!({}));
        }
        Ok(Data(Enabled { tools }))
    }
}

impl Brief {
    fn of(row: &'static Row) -> Brief {
        let schema = row.input_schema();
        let is_required =
            |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name));
        let parameters: Vec<String> = schema["properties"]
            .as_object()
            .into_iter()
            .flat_map(|properties| properties.keys())
            .filter(|name| *name != "timeout_ms")
            .map(|name| if is_required(name) { name.clone() } else { format!("{name}?") })
            .collect();
        Brief { call: format!("{}({})", row.name, parameters.join(", ")), description: row.description() }
    }
}
