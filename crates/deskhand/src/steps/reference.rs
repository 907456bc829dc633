//! References: objects in place of values, `{"$from": "prev.elements[0].ref"}`. Never text inside a string:
//! what an application shows can then not be taken for one.

use deskhand_core::{Code, Error, Result};
use serde_json::{Map, Value};

/// What references may lead to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope<'a> {
    /// What the last call answered.
    pub prev: Option<&'a Value>,
    /// What each step of the outermost list answered so far.
    pub steps: &'a [Value],
    /// The parameters of the macro.
    pub params: Option<&'a Map<String, Value>>,
    /// The variables of the session.
    pub vars: Option<&'a Map<String, Value>>,
    /// Which round of the innermost repeat it is, from 0 on.
    pub index: Option<u64>,
}

/// Replaces references by what stands at their paths, and `$join` by its items as one text.
pub fn resolve(value: &Value, scope: Scope) -> Result<Value> {
    Ok(match value {
        Value::Object(object) => {
            if let Some(Value::String(path)) = object.get("$from") {
                return match (look_up(path, scope), object.get("default")) {
                    (Err(_), Some(default)) => resolve(default, scope),
                    (found, _) => found,
                };
            }
            if let (1, Some(Value::Array(items))) = (object.len(), object.get("$join")) {
                return join(items, scope);
            }
            let members = object.iter().map(|(name, member)| Ok((name.clone(), resolve(member, scope)?)));
            Value::Object(members.collect::<Result<_>>()?)
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| resolve(item, scope)).collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}

fn join(items: &[Value], scope: Scope) -> Result<Value> {
    let mut text = String::new();
    for item in items {
        match resolve(item, scope)? {
            Value::String(part) => text.push_str(&part),
            Value::Null => {}
            other => text.push_str(&other.to_string()),
        }
    }
    Ok(Value::String(text))
}

enum Part<'a> {
    Member(&'a str),
    Index(usize),
}

/// `a.b[0].c` in its parts.
fn parts(path: &str) -> impl Iterator<Item = Part<'_>> {
    path.split('.').flat_map(|part| {
        let (name, indexes) = part.split_once('[').map_or((part, ""), |(name, rest)| (name, rest));
        let indexes = indexes.split('[').filter(|text| !text.is_empty());
        let named = (!name.is_empty()).then_some(Part::Member(name));
        named.into_iter().chain(
            indexes.map(|text| text.trim_end_matches(']').parse().map_or(Part::Member(text), Part::Index)),
        )
    })
}

fn look_up(path: &str, scope: Scope) -> Result<Value> {
    let wrong = |what: &str| {
        Error::argument(format!("The reference {path:?} leads nowhere: {what}."))
            .expected("prev, steps[n], params.name, vars.name or index, then .member and [index], as in prev.elements[0].ref")
    };
    let mut parts = parts(path);
    let named = |members: Option<&'_ Map<String, Value>>, part: Option<Part>, what: &str| {
        let Some(Part::Member(name)) = part else { return Err(wrong(&format!("{what} needs a name"))) };
        let found = members.and_then(|members| members.get(name));
        found.cloned().ok_or_else(|| {
            wrong(&match what {
                "params" => format!("no parameter {name} was given"),
                _ => format!("no variable {name} has a value"),
            })
        })
    };
    let mut value = match parts.next() {
        Some(Part::Member("prev" | "$prev")) => {
            scope.prev.cloned().ok_or_else(|| wrong("there is no step before the first"))?
        }
        Some(Part::Member("steps")) => match parts.next() {
            Some(Part::Index(index)) => {
                scope.steps.get(index).cloned().ok_or_else(|| wrong("that step has not run yet"))?
            }
            _ => return Err(wrong("steps needs a number in brackets")),
        },
        Some(Part::Member("params")) => named(scope.params, parts.next(), "params")?,
        Some(Part::Member("vars")) => named(scope.vars, parts.next(), "vars")?,
        Some(Part::Member("index")) => {
            Value::from(scope.index.ok_or_else(|| wrong("it stands in no repeat"))?)
        }
        _ => return Err(wrong("it has to begin with prev, steps, params, vars or index")),
    };
    for part in parts {
        let (found, missing) = match part {
            Part::Member(name) => (value.get(name).cloned(), format!("there is no {name}")),
            Part::Index(index) => (value.get(index).cloned(), format!("there is no item {index}")),
        };
        value = found.ok_or_else(|| wrong(&missing))?;
    }
    Ok(value)
}

/// The value of something that is tested; nothing where a reference leads nowhere.
pub(super) fn tested(value: &Value, scope: Scope) -> Result<Option<Value>> {
    match resolve(value, scope) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_null())),
        Err(error) if error.code == Code::InvalidArgument => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_resolved_at_any_depth_and_errors_say_where_they_end() {
        let steps = [json!({"id": 7}), json!({"elements": [{"ref": "e3"}]})];
        let params = json!({ "name": "Ada", "count": 2 });
        let scope = Scope {
            prev: steps.last(),
            steps: &steps,
            params: params.as_object(),
            vars: None,
            index: Some(4),
        };
        let resolved = resolve(
            &json!({"element": {"$from": "prev.elements[0].ref"}, "deep": [{"$from": "steps[0].id"}]}),
            scope,
        );
        assert_eq!(resolved.unwrap(), json!({"element": "e3", "deep": [7]}));
        let joined =
            json!({ "$join": ["button[name=\"", {"$from": "params.name"}, "\"]", {"$from": "index"}] });
        assert_eq!(resolve(&joined, scope).unwrap(), json!("button[name=\"Ada\"]4"));
        let default = json!({ "$from": "prev.nothing", "default": { "$from": "params.count" } });
        assert_eq!(resolve(&default, scope).unwrap(), json!(2));
        for (path, why) in [
            ("prev.elements[4].ref", "there is no item 4"),
            ("prev.nothing", "there is no nothing"),
            ("steps[9].x", "has not run yet"),
            ("params.age", "no parameter age was given"),
            ("vars.x", "no variable x has a value"),
            ("elements", "has to begin with"),
        ] {
            let error = resolve(&json!({"$from": path}), scope).unwrap_err();
            assert!(error.message.contains(why), "{error}");
        }
        // What an application shows is a value, whatever it looks like.
        let shown = json!({"$from": "params.count"});
        let scope = Scope { prev: Some(&shown), ..scope };
        assert_eq!(resolve(&json!({"$from": "prev"}), scope).unwrap(), shown);
    }
}
