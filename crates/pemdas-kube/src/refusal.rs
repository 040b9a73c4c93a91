//! What a refusal of the API server means.

use kube::core::Status;
use pemdas_core::world::Refusal;

/// How the words of a server are bounded.
const MAX_MESSAGE: usize = 512;

/// What the server says of a field that the schema of a kind does not have, after its path.
const UNKNOWN_FIELD: &str = ": field not declared in schema";

/// Whether the write was meant to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// A create.
    Create,
    /// A change or a delete of an object that was seen.
    Change,
}

/// Whether a namespace takes nothing new because it is being deleted.
#[must_use]
pub fn is_namespace_ending(status: &Status) -> bool {
    let causes = status.details.as_ref().map(|it| it.causes.as_slice()).unwrap_or_default();
    causes.iter().any(|it| it.reason == "NamespaceTerminating")
}

/// Sorts a refusal.
#[must_use]
pub fn refusal(status: &Status, meant: Meant) -> Refusal {
    let message = bounded(&without_keys(&without_values(&status.message)));
    let causes = status.details.as_ref().map(|it| it.causes.as_slice()).unwrap_or_default();
    let has = |reason: &str| causes.iter().any(|it| it.reason == reason);
    match status.code {
        409 if has("FieldManagerConflict") => {
            let conflicts = causes.iter().filter(|it| it.reason == "FieldManagerConflict");
            Refusal::FieldConflict(
                conflicts
                    .map(|it| (manager(&it.message), it.field.trim_start_matches('.').to_owned()))
                    .collect(),
            )
        }
        409 if is_namespace_ending(status) => Refusal::NoNamespace(message),
        409 if meant == Meant::Create => Refusal::Exists,
        409 => Refusal::Changed,
        422 => match causes.iter().find(|it| is_immutable(&it.message)) {
            Some(cause) => Refusal::Immutable(without_keys(&cause.field)),
            None if is_immutable(&status.message) => Refusal::Immutable("a field".to_owned()),
            None => Refusal::Invalid(message),
        },
        400 | 406 | 413 | 415 => Refusal::Invalid(message),
        403 if is_namespace_ending(status) => Refusal::NoNamespace(message),
        401 => Refusal::Forbidden(message),
        403 if status.message.contains("cannot ") => Refusal::Forbidden(message),
        403 => Refusal::Denied(message),
        404 if status.details.as_ref().is_some_and(|it| it.kind == "namespaces") => {
            Refusal::NoNamespace(message)
        }
        404 if meant == Meant::Change => Refusal::Gone,
        500 if status.message.contains(UNKNOWN_FIELD) => {
            Refusal::UnknownField(unknown_fields(&status.message))
        }
        // What has the wrong type cannot even be compared with the schema, and the server takes that for its own fault.
        500 if status.message.starts_with("failed to create typed patch object") => Refusal::Invalid(message),
        _ => Refusal::Busy(message),
    }
}

/// The fields of which the server says that it does not know them.
fn unknown_fields(message: &str) -> String {
    let told: Vec<_> = message.split(UNKNOWN_FIELD).collect();
    let path = |it: &&str| {
        let at = it.split_once("): ").map_or(*it, |(_, at)| at);
        let at = at.rsplit_once('\n').map_or(at, |(_, at)| at);
        without_subscripts(at.trim().trim_start_matches('.'))
    };
    let fields: Vec<_> = told[..told.len() - 1].iter().map(path).collect();
    bounded(&fields.join(", "))
}

/// A path without what tells elements of lists apart: `containers[name="web"]` is `containers[]`.
fn without_subscripts(path: &str) -> String {
    let mut kept = String::new();
    let (mut inside, mut quoted, mut escaped) = (false, false, false);
    for letter in path.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' if inside => quoted = !quoted,
            _ if quoted => {}
            '[' | ']' => {
                inside = letter == '[';
                kept.push(letter);
            }
            _ if inside => {}
            _ => kept.push(letter),
        }
    }
    kept
}

fn is_immutable(message: &str) -> bool {
    let message = message.to_lowercase();
    let words = [
        "immutable",
        "may not be changed",
        "may not change",
        "may not be updated",
        "cannot change",
        "cannot be changed",
    ];
    words.iter().any(|it| message.contains(it))
        || (message.contains("updates to") && message.contains("forbidden"))
}

/// The manager's name from `conflict with "kubectl" using apps/v1`.
fn manager(message: &str) -> String {
    message.split('"').nth(1).unwrap_or(message).to_owned()
}

/// A message without the values that it quotes: a refusal is told to people who may not see what a Secret holds. Where, and what is
/// wanted there, stays.
fn without_values(message: &str) -> String {
    const MARKS: [&str; 4] = ["nvalid value: ", "nsupported value: ", "uplicate value: ", ", got "];
    let mut kept = String::new();
    let mut rest = message;
    while let Some(at) = MARKS.iter().filter_map(|it| Some(rest.find(it)? + it.len())).min() {
        kept.push_str(&rest[..at]);
        kept.push_str("(not shown)");
        rest = after_value(&rest[at..]);
    }
    kept + rest
}

/// A message without the keys that its paths name (`data[key]`): a blueprint may have made them of anything. Places in lists stay;
/// where the end of a key cannot be told, nothing more is said.
fn without_keys(message: &str) -> String {
    let mut kept = String::new();
    let mut rest = message;
    while let Some(at) = rest.find('[') {
        let (before, subscript) = (&rest[..at], &rest[at + 1..]);
        kept.push_str(before);
        kept.push('[');
        rest = subscript;
        let place = rest.split(']').next().is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()));
        if place || !before.ends_with(|it: char| it.is_ascii_alphanumeric()) {
            continue;
        }
        kept.push_str("(not shown)");
        let ends = |(at, _): &(usize, &str)| goes_on(&rest[at + 1..]);
        rest = match rest.match_indices(']').find(ends) {
            Some((at, _)) => &rest[at..],
            None => "]",
        };
    }
    kept + rest
}

/// Whether this is what follows a path's subscript: more of the path, and what is wrong there.
fn goes_on(text: &str) -> bool {
    const WRONG: [&str; 8] = [
        "Invalid value",
        "Required value",
        "Unsupported value",
        "Duplicate value",
        "Forbidden",
        "Too long",
        "Too many",
        "Not found",
    ];
    let path = |it: char| it.is_ascii_alphanumeric() || ".[]".contains(it);
    let rest = text.trim_start_matches(path);
    rest.strip_prefix(": ").is_some_and(|it| WRONG.iter().any(|wrong| it.starts_with(wrong)))
}

/// What follows a value; nothing where its end cannot be told.
fn after_value(text: &str) -> &str {
    if let Some(quoted) = text.strip_prefix('"') {
        return closing_quote(quoted).and_then(|at| quoted.get(at + 1..)).unwrap_or_default();
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    match values.next() {
        Some(Ok(_)) => text.get(values.byte_offset()..).unwrap_or_default(),
        _ => "",
    }
}

/// Where a quoted text ends: escaped quotes are part of it.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, it)| {
        let ends = it == '"' && !escaped;
        escaped = it == '\\' && !escaped;
        ends.then_some(at)
    })
}

fn bounded(message: &str) -> String {
    if message.len() <= MAX_MESSAGE {
        return message.to_owned();
    }
    let mut end = MAX_MESSAGE;
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{} ...", &message[..end])
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use pemdas_core::world::Refusal;
    use serde_json::json;

    use super::{Meant, refusal};

    fn status(value: serde_json::Value) -> Status {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_conflict_names_fields_and_managers() {
        let status = status(json!({ "code": 409, "message": "Apply failed", "details": { "causes": [
            { "reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using apps/v1", "field": ".spec.replicas" },
        ] } }));
        let conflict = Refusal::FieldConflict(vec![("kubectl".to_owned(), "spec.replicas".to_owned())]);
        assert_eq!(refusal(&status, Meant::Create), conflict);
    }

    #[test]
    fn the_same_code_means_different_things() {
        let conflict = status(json!({ "code": 409, "message": "Operation cannot be fulfilled" }));
        assert_eq!(refusal(&conflict, Meant::Create), Refusal::Exists);
        assert_eq!(refusal(&conflict, Meant::Change), Refusal::Changed);
        let rbac =
            status(json!({ "code": 403, "message": "configmaps is forbidden: User \"x\" cannot create" }));
        assert!(matches!(refusal(&rbac, Meant::Create), Refusal::Forbidden(_)));
        let quota = status(json!({ "code": 403, "message": "exceeded quota: small" }));
        assert!(matches!(refusal(&quota, Meant::Create), Refusal::Denied(_)));
        let ending = status(
            json!({ "code": 403, "message": "unable to create", "details": { "causes": [{ "reason": "NamespaceTerminating" }] } }),
        );
        assert!(matches!(refusal(&ending, Meant::Create), Refusal::NoNamespace(_)));
        let untyped = status(json!({
            "code": 500, "message": "failed to create typed patch object (n/x; /v1, Kind=ConfigMap): .data: expected map, got &{x}",
        }));
        assert!(matches!(refusal(&untyped, Meant::Create), Refusal::Invalid(_)));
        let gone =
            status(json!({ "code": 404, "message": "x not found", "details": { "kind": "configmaps" } }));
        assert_eq!(refusal(&gone, Meant::Change), Refusal::Gone);
        let nowhere = status(
            json!({ "code": 404, "message": "namespaces \"n\" not found", "details": { "kind": "namespaces" } }),
        );
        assert!(matches!(refusal(&nowhere, Meant::Create), Refusal::NoNamespace(_)));
    }

    /// As an API server 1.36 says it.
    #[test]
    fn a_field_that_the_schema_does_not_have_is_named() {
        let said =
            |message: &str| refusal(&status(json!({ "code": 500, "message": message })), Meant::Create);
        let one = r#"failed to create typed patch object (n/d; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="a ] b\"]c"].nah: field not declared in schema"#;
        let told = "spec.template.spec.containers[].nah".to_owned();
        assert_eq!(said(one), Refusal::UnknownField(told));
        let two = "failed to create typed patch object (/d; /v1, Kind=ConfigMap): errors:\n  .a: field not declared in schema\n  .b: field not declared in schema";
        assert_eq!(said(two), Refusal::UnknownField("a, b".to_owned()));
    }

    #[test]
    fn keys_that_a_path_names_are_not_told() {
        let cases = [
            (
                "data[very secret/key]: Invalid value: (not shown): no",
                "data[(not shown)]: Invalid value: (not shown): no",
            ),
            (
                "[data[a]: b]: Invalid value: x, spec.a[0].b: Required value]",
                "[data[(not shown)]: Invalid value: x, spec.a[0].b: Required value]",
            ),
            ("spec.ports[10].name: Too long: may not be", "spec.ports[10].name: Too long: may not be"),
            ("spec.map[k].x[3].y: Forbidden: no", "spec.map[(not shown)].x[3].y: Forbidden: no"),
            ("data[secret and no end: Inv", "data[(not shown)]"),
            ("data[field]", "data[(not shown)]"),
            ("nothing of the sort", "nothing of the sort"),
        ];
        for (said, told) in cases {
            assert_eq!(super::without_keys(said), told);
        }
    }

    #[test]
    fn values_that_a_refusal_quotes_are_not_told() {
        let message = r#"Secret "x" is invalid: [data[a b]: Invalid value: "hun\"ter2": a key, type: Unsupported value: "top-secret": supported values: "Opaque", spec: Invalid value: {"a":"c2VjcmV0"}: no]"#;
        let Refusal::Invalid(told) =
            refusal(&status(json!({ "code": 422, "message": message })), Meant::Create)
        else {
            panic!("it is invalid")
        };
        for value in ["hun", "ter2", "top-secret", "c2VjcmV0"] {
            assert!(!told.contains(value), "{told}");
        }
        assert!(told.contains("data[(not shown)]: Invalid value: (not shown): a key"), "{told}");
        assert!(told.ends_with("(not shown): no]"), "{told}");
        let cases = [
            (
                "spec.a: Invalid value: 70000: must be small",
                "spec.a: Invalid value: (not shown): must be small",
            ),
            (".data.x: expected string, got &{very-secret}", ".data.x: expected string, got (not shown)"),
            ("spec: Invalid value: map[a:very: secret]: no", "spec: Invalid value: (not shown)"),
            (r#"a: Invalid value: "very-secret"#, "a: Invalid value: (not shown)"),
            ("spec.x: Required value", "spec.x: Required value"),
        ];
        for (said, told) in cases {
            assert_eq!(super::without_values(said), told);
        }
    }

    #[test]
    fn what_may_not_change_is_known_by_its_words() {
        let immutable = status(json!({ "code": 422, "message": "invalid", "details": { "causes": [
            { "reason": "FieldValueInvalid", "message": "Invalid value: field is immutable", "field": "spec.selector" },
        ] } }));
        assert_eq!(refusal(&immutable, Meant::Change), Refusal::Immutable("spec.selector".to_owned()));
        // What the API server says of a RoleBinding.
        let other = status(json!({ "code": 422, "message": "invalid", "details": { "causes": [
            { "reason": "FieldValueInvalid", "message": "Invalid value: {}: cannot change roleRef", "field": "roleRef" },
        ] } }));
        assert_eq!(refusal(&other, Meant::Change), Refusal::Immutable("roleRef".to_owned()));
        let wrong = status(json!({ "code": 422, "message": "spec.x: Required value" }));
        assert!(matches!(refusal(&wrong, Meant::Change), Refusal::Invalid(_)));
    }
}
