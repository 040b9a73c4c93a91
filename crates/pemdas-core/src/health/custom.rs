//! Definitions of custom kinds, and objects of kinds that have no rule of their own.

use serde_json::Value;

use super::{Health, Rule, conditions, current, failed, in_progress};

pub(super) fn definition(object: &Value) -> Health {
    if let Some(names) = conditions::find(object, "NamesAccepted").filter(|it| it.status == "False") {
        return failed(conditions::path("NamesAccepted"), names.in_words(), "\"True\"");
    }
    match conditions::find(object, "Established") {
        Some(it) if it.status == "True" => current(),
        Some(it) if it.status == "False" && it.reason != "Installing" => {
            failed(conditions::path("Established"), it.in_words(), "\"True\"")
        }
        Some(it) => in_progress(&["status", "conditions", "[Established]"], it.in_words(), "\"True\""),
        None => in_progress(&["status", "conditions", "[Established]"], "missing", "\"True\""),
    }
}

/// An object that has a condition `Ready` is ready when that says so, and speaks of this generation.
pub(super) fn ready_condition(object: &Value) -> Rule {
    let ready = conditions::find(object, "Ready")?;
    let at = ["status", "conditions", "[Ready]"];
    if let Some((seen, generation)) = ready.stale {
        return Some(in_progress(&at, format!("of generation {seen}"), format!("generation {generation}")));
    }
    if ready.status == "True" {
        return Some(current());
    }
    Some(in_progress(&at, ready.in_words(), "\"True\""))
}
