//! Names that do not exist, and values in the wrong place.

use pemdas_core::diagnostic::Diagnostic;
use pemdas_core::suggest::closest;

use crate::engine::pieces::{Piece, pieces};
use crate::library::{LIBRARY, exports};
use crate::sources::Sources;

/// The name that nothing binds, if that is what a diagnostic of the evaluator is about.
pub(in crate::outline) fn unbound_name(diagnostic: &Diagnostic) -> Option<String> {
    let name = diagnostic.message.strip_prefix("unbound identifier `")?.strip_suffix('`')?;
    Some(name.to_owned())
}

/// A name that nothing binds.
pub(super) fn unbound(diagnostic: &mut Diagnostic, text: &str, start: usize, end: usize) {
    let Some(name) = unbound_name(diagnostic) else { return };
    if diagnostic.hint.is_some() {
        return;
    }
    let before = text.get(..start).unwrap_or_default().trim_end();
    let after = text.get(end..).unwrap_or_default();
    if before.ends_with(':') && !before.ends_with("::") && type_of(&name).is_none() {
        "a field is set with `=`, not with `:`".clone_into(&mut diagnostic.message);
        diagnostic.hint = Some(if text.trim_start().starts_with("apiVersion:") {
            "this is YAML: `pemdas import FILE` makes a blueprint of manifests".to_owned()
        } else {
            "write `=`, and strings in quotes; a `:` declares a type".to_owned()
        });
        return;
    }
    let value = word_of(&name);
    diagnostic.hint = if let Some(known) = exports().into_iter().find(|it| *it == name) {
        Some(format!("take it from the library: `let {{ {known}, .. }} = import \"pemdas/v1.ncl\" in`"))
    } else if let Some(known) = type_of(&name) {
        Some(format!("did you mean `{known}`? The types are Number, String, Bool, Dyn, Array, and records"))
    } else if let Some(known) = value {
        Some(format!("did you mean `{known}`?"))
    } else if before.ends_with('=') && after.trim_start().starts_with([',', '}']) {
        Some(format!("a string stands in quotes: \"{name}\""))
    } else {
        closest(&name, exports()).map(|it| format!("did you mean `{it}`?"))
    };
}

/// A type by the name that it has elsewhere.
fn type_of(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "number" | "int" | "integer" | "float" | "int32" | "int64" => "Number",
        "string" | "str" | "text" => "String",
        "bool" | "boolean" => "Bool",
        "array" | "list" => "Array",
        "any" | "object" => "Dyn",
        _ => return None,
    })
}

/// A value by the name that it has elsewhere.
fn word_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "True" | "yes" | "on" => "true",
        "False" | "no" | "off" => "false",
        "None" | "nil" | "undefined" | "Null" => "null",
        _ => return None,
    })
}

/// A file that does not exist.
pub(super) fn import(diagnostic: &mut Diagnostic, sources: &Sources) {
    let Some(wanted) = diagnostic.message.strip_prefix('"').and_then(|it| it.split('"').next()) else {
        return;
    };
    let own = sources.iter().map(|(name, _)| name);
    let library =
        LIBRARY.iter().map(|it| it.name).filter(|it| ["pemdas/v1.ncl", "pemdas/test/v1.ncl"].contains(it));
    let known: Vec<&str> = own.chain(library).filter(|it| *it != crate::sources::MAIN).collect();
    let near = closest(wanted, known.iter().copied()).or_else(|| {
        // A right name in another folder.
        let last = |it: &str| it.rsplit('/').next().map(str::to_owned);
        known.iter().copied().find(|it| last(it) == last(wanted))
    });
    if let Some(near) = near {
        diagnostic.hint = Some(format!("did you mean \"{near}\"?"));
    } else if wanted.starts_with("k8s/") {
        diagnostic.hint =
            Some("a contract of Kubernetes is imported as \"k8s/apps/v1/Deployment.ncl\"".to_owned());
    }
}

/// A value that needs itself.
pub(super) fn recursion(diagnostic: &mut Diagnostic, text: &str, start: usize, end: usize) {
    let Some(name) = text.get(start..end).filter(|it| it.len() <= 80 && !it.contains('\n')) else { return };
    let inside = field_at(&pieces(text), start);
    diagnostic.message = if inside.is_empty() || inside == name {
        format!("infinite recursion: `{name}` needs its own value")
    } else {
        format!("infinite recursion: the value of `{inside}` needs `{name}`, which needs `{inside}`")
    };
    if diagnostic.hint.is_none() {
        let hint =
            "inside of a record a field's name means the field itself: give the outer value another name";
        diagnostic.hint = Some(hint.to_owned());
    }
}

/// A contract that is broken: of which field.
pub(super) fn field(diagnostic: &mut Diagnostic, text: &str, start: usize) {
    let field = field_at(&pieces(text), start);
    if !field.is_empty() && !diagnostic.message.contains(&format!("`{field}`")) {
        diagnostic.message = format!("`{field}`: {}", diagnostic.message);
    }
}

/// A clause that has another name here.
pub(super) fn clause(diagnostic: &mut Diagnostic) {
    let Some(name) = diagnostic.message.split('`').nth(1) else { return };
    let meant = match name {
        "after" | "dependsOn" | "depends_on" | "depends" | "waitFor" | "wait_for" | "follows" => {
            "what comes before this node stands in `before = [\"NODE\"]`"
        }
        "needs" | "need" | "requires" | "uses" | "children" => {
            "what this node needs stands in `also = [\"NODE\"]`"
        }
        "when" | "if" | "condition" | "includeWhen" | "enabled" => {
            "a condition stands on the edge to this node: `also.NODE.when = fun the => ...`"
        }
        "readyWhen" | "ready_when" | "readiness" | "readinessProbe" => "when it is ready says `ready`",
        "apiVersion" | "kind" | "metadata" | "spec" | "data" | "object" | "manifest" | "resource" => {
            "the object is what `template = fun the => { ... }` gives"
        }
        "forEach" | "foreach" | "for" | "loop" | "with_items" => "a node for each element has `for_each`",
        _ => return,
    };
    diagnostic.hint = Some(meant.to_owned());
}

/// A string with what another template language would fill in, and a sum of strings.
pub(super) fn string(diagnostic: &mut Diagnostic, text: &str, start: usize, end: usize) {
    let Some(value) = text.get(start..end) else { return };
    if ["${", "{{", "$("].iter().any(|it| value.contains(it)) && diagnostic.message.contains("it must be") {
        diagnostic.hint =
            Some("Nickel fills a string with `%{...}`: \"%{the.root.metadata.name}\"".to_owned());
    } else if value.contains(" + ") && value.contains('"') && diagnostic.message.contains("wants a string") {
        diagnostic.hint =
            Some("`+` adds numbers; strings are joined with `++`, or as \"%{a}-%{b}\"".to_owned());
    } else if value.starts_with('"')
        && diagnostic.hint.is_none()
        && diagnostic.message.contains("wants a whole number")
    {
        diagnostic.hint = Some("a number stands without quotes".to_owned());
    }
}

/// The path of the field whose value holds a place, from the outermost record.
fn field_at(all: &[Piece<'_>], at: usize) -> String {
    let mut outer: Vec<String> = Vec::new();
    let mut path = String::new();
    // The path that is being written, until a `=` or the end of the field.
    let mut writing = true;
    for piece in all.iter().filter(|it| it.start < at) {
        match piece.text {
            "{" if !piece.quoted => {
                outer.push(std::mem::take(&mut path));
                writing = true;
            }
            "[" | "(" | "%{" if !piece.quoted => {
                outer.push(std::mem::take(&mut path));
                writing = false;
            }
            "}" | "]" | ")" if !piece.quoted => {
                path = outer.pop().unwrap_or_default();
                writing = false;
            }
            "," | "in" if !piece.quoted => {
                path.clear();
                writing = !outer.is_empty();
            }
            "let" if !piece.quoted => writing = false,
            "=" | "|" | ":" if !piece.quoted => writing = false,
            "\"" => {}
            text if writing => path.push_str(text),
            _ => {}
        }
    }
    let parts: Vec<&str> =
        outer.iter().map(String::as_str).chain([path.as_str()]).filter(|it| !it.is_empty()).collect();
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::field_at;
    use crate::engine::pieces::pieces;

    #[test]
    fn the_field_of_a_place_is_known_by_its_path() {
        let text = "let { A, .. } = import \"x\" in { a = 1, b.c | A = { d = [{ e = 2 }], f = fun g => { h = \"%{i}\" } } } | A";
        let at = |part: &str| field_at(&pieces(text), text.find(part).unwrap());
        assert_eq!(at("1,"), "a");
        assert_eq!(at("2 }"), "b.c.d.e");
        assert_eq!(at("i}"), "b.c.f.h");
        assert_eq!(at("import"), "");
    }
}
