//! The table of tools itself: what holds for every row, and the documentation made from it.

use deskhand::arguments;
use deskhand::profiles::{Listed, Profile};
use deskhand::tool::{COMMON_ERRORS, Effect, Row};
use deskhand::tools;
use deskhand::tools::mouse_control;
use deskhand_core::Code;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

#[test]
fn names_are_unique_and_fit_every_client() {
    let mut seen = HashSet::new();
    for name in tools::names() {
        assert!(seen.insert(name), "{name} stands for two tools");
        let fits = name.len() <= 40
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        // The clients of plain JSON-RPC know theirs by names in camelCase, which the others take as well.
        let theirs = Profile::JsonRpc.shown().iter().any(|shown| shown.name == name)
            && name.bytes().all(|b| b.is_ascii_alphanumeric());
        assert!(fits || theirs, "{name} does not fit ^[a-z][a-z0-9_]{{0,39}}$");
    }
    for alias in tools::aliases() {
        assert!(tools::row(alias.tool).is_some(), "{} leads to no tool", alias.name);
    }
}

#[test]
fn every_tool_and_parameter_is_documented() {
    for row in tools::all() {
        assert!(row.description().ends_with('.'), "{} has no sentence", row.name);
        for (name, schema) in properties(row) {
            let documented = name == "timeout_ms" || schema["description"].is_string();
            assert!(documented, "{}.{name} is not documented", row.name);
        }
    }
}

#[test]
fn schemas_are_plain_enough_for_every_client() {
    for row in tools::all() {
        for schema in [Some(row.input_schema()), row.output_schema()].into_iter().flatten() {
            assert_eq!(schema["type"], "object", "{}: {schema}", row.name);
            for choice in ["oneOf", "anyOf", "allOf", "if", "$ref", "$defs", "enum"] {
                assert!(schema.get(choice).is_none(), "{} has {choice} at the top", row.name);
            }
            let text = schema.to_string();
            for trouble in ["\"null\"", "\"$ref\"", "\"$schema\""] {
                assert!(!text.contains(trouble), "{} has {trouble}: {text}", row.name);
            }
        }
        assert_eq!(row.input_schema()["additionalProperties"], false, "{} takes anything", row.name);
    }
}

#[test]
fn errors_are_named_once_and_not_repeated_from_the_common_ones() {
    for row in tools::all() {
        let mut seen = HashSet::new();
        for code in row.errors {
            assert!(seen.insert(code), "{} names {code} twice", row.name);
            assert!(!COMMON_ERRORS.contains(code), "{} repeats {code}", row.name);
        }
    }
}

#[test]
fn the_standard_set_is_small() {
    let shown = Profile::Standard.shown();
    assert!(shown.len() <= 30, "{} tools", shown.len());
    let listed: Vec<Listed> = shown.iter().map(|shown| Profile::Standard.show(shown)).collect();
    let bytes = serde_json::to_string(&listed).unwrap().len() + 60;
    assert!(bytes <= 30_000, "{bytes} bytes of tools/list");
}

#[test]
fn every_profile_lists_names_that_can_be_called_with_parameters_that_are_known() {
    for profile in Profile::ALL {
        let mut seen = HashSet::new();
        for shown in profile.shown() {
            let name = shown.name;
            assert!(seen.insert(name), "{} lists {name} twice", profile.name());
            let listed = profile.show(&shown);
            for (parameter, schema) in listed.input_schema["properties"].as_object().into_iter().flatten() {
                let about = format!("{} of {name} in the profile {}", parameter, profile.name());
                let known = arguments::meaning(shown.row, parameter).is_some()
                    || shown.row.hidden.contains(&parameter.as_str());
                assert!(known, "{about} is not taken");
                assert!(schema["description"].is_string(), "{about} is not documented: {schema}");
            }
            for required in shown.row.input_schema()["required"].as_array().into_iter().flatten() {
                let required = required.as_str().unwrap();
                let is_there = listed.input_schema["required"].as_array().is_some_and(|all| {
                    all.iter().any(|name| {
                        arguments::meaning(shown.row, name.as_str().unwrap())
                            .is_some_and(|meaning| meaning.name == required)
                    })
                });
                assert!(is_there, "{name} in the profile {} cannot do without {required}", profile.name());
            }
        }
    }
    // The catalogue has 44, five that it could not have and eight that it put off; the requirements have 44.
    assert_eq!(Profile::Catalogue.shown().len(), 57);
    assert_eq!(Profile::Requirements.shown().len(), 44);
    assert_eq!(Profile::JsonRpc.shown().len(), 7);
}

#[test]
fn the_documentation_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let fresh = documentation();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == fresh, "docs/tools.md is stale: run UPDATE_EXPECT=1 cargo test -p deskhand --test table");
}

fn properties(row: &Row) -> Map<String, Value> {
    row.input_schema()["properties"].as_object().cloned().unwrap_or_default()
}

fn documentation() -> String {
    let mut text = String::from(
        "# Tools\n\n\
         Generated from the table of tools; `UPDATE_EXPECT=1 cargo test -p deskhand --test table` rewrites it.\n\n\
         Every tool takes `timeout_ms` as well. Parameters are shown in snake_case; camelCase is understood.\n\
         A tool marked ● is in the standard profile; all are in `full`, and all can be called under every profile.\n\n\
         Errors that every tool can answer: ",
    );
    let names = |codes: &[Code]| codes.iter().map(|code| format!("`{code}`")).collect::<Vec<_>>().join(", ");
    text.push_str(&names(COMMON_ERRORS));
    text.push_str(".\n");
    let standard: HashSet<&str> = Profile::Standard.shown().iter().map(|shown| shown.name).collect();
    let mut group = None;
    let headings = tools::rows().map(|row| (row, format!("{:?}", row.group)));
    let others = tools::adapters().map(|row| (row, "Tools of other sets".to_owned()));
    for (row, heading) in headings.chain(others) {
        if group.as_ref() != Some(&heading) {
            let _ = write!(text, "\n## {heading}\n");
            group = Some(heading);
        }
        let mark = if standard.contains(row.name) { " ●" } else { "" };
        let _ = write!(text, "\n### `{}`{mark}\n\n{}\n\n", row.name, row.description());
        let others: Vec<String> = tools::aliases()
            .filter(|alias| alias.tool == row.name)
            .map(|alias| format!("`{}`", alias.name))
            .collect();
        let effect =
            if row.effect == Effect::File { "reads; writes a file when asked to" } else { row.effect.name() };
        let _ = write!(text, "Effect: {effect}.");
        if !others.is_empty() {
            let _ = write!(text, " Also called {}.", others.join(", "));
        }
        if !row.errors.is_empty() {
            let _ = write!(text, " Errors: {}.", names(row.errors));
        }
        if row.name == "mouse_control" {
            let others = mouse_control::CODES.iter();
            let others: Vec<String> =
                others.map(|(ours, theirs)| format!("`{theirs}` for `{ours}`")).collect();
            let _ = write!(
                text,
                " Its clients know some codes by other names: {}; a wrong `action` is `invalid_action`, a wrong \
                 `direction` `invalid_scroll_direction`. A drag whose window goes away succeeds with `partial` and \
                 `window_lost_during_drag`.",
                others.join(", ")
            );
        }
        text.push('\n');
        let required: Vec<&str> = row.input_schema()["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let parameters = properties(row);
        let shown: Vec<_> = parameters.iter().filter(|(name, _)| *name != "timeout_ms").collect();
        if !shown.is_empty() {
            text.push_str("\n| parameter | type | |\n|---|---|---|\n");
        }
        for (name, schema) in shown {
            let need = if required.contains(&name.as_str()) { " (required)" } else { "" };
            let about = schema["description"].as_str().unwrap_or_default().replace('|', "\\|");
            let _ = writeln!(text, "| `{name}`{need} | {} | {about} |", kind(schema));
        }
    }
    text.push_str("\n# Error codes\n\n| code | a retry | |\n|---|---|---|\n");
    for code in Code::ALL {
        let retry = if code.retry() { "may help" } else { "does not help" };
        let _ = writeln!(text, "| `{code}` | {retry} | {} |", code.doc());
    }
    text
}

fn kind(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    }
    let kind = schema["type"].as_str().unwrap_or("any");
    let bounds = match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some(low), Some(high)) => format!(" {low}–{high}"),
        (Some(low), None) => format!(" ≥ {low}"),
        _ => String::new(),
    };
    match schema.get("items") {
        Some(items) => format!("array of {}", self::kind(items)),
        None => format!("{kind}{bounds}"),
    }
}
