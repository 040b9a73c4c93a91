//! Names that are taken out of an imported file and are not in it.
//!
//! The evaluator says of such a pattern only that it does not match. What the library has is fixed, so there every name is
//! looked at; what the blueprint's own files have may depend on anything, so there only what the evaluator has
//! stumbled over is explained.

use std::collections::BTreeMap;

use pemdas_core::diagnostic::{Diagnostic, Span};

use super::codes;
use super::outliner::{Outliner, nearest};
use super::scopes::{Binding, Scopes};
use crate::evaluator::Evaluator;
use crate::library::is_library_file;
use crate::request::{Kind, Place};
use crate::syntax::{Expr, Name, NodeId, PatternSyntax, Syntax, TakenFields};

/// How the evaluator says that a pattern does not match.
const NO_MATCH: &str = "destructuring failed";
/// How many names are followed in a row to the import behind them.
const MAX_HOPS: usize = 8;

/// Tells of names that imported files do not have, in place of what the evaluator said of them.
pub(super) fn run(outliner: &mut Outliner<'_>) {
    let mut files = Files { evaluator: outliner.evaluator, names: BTreeMap::new() };
    let mut of_library = Vec::new();
    let mut of_own = Vec::new();
    for (file, tree, scopes) in outliner.trees.each() {
        let resolve = |path: &str| outliner.trees.imported_name(file, path);
        for (id, node) in (0..).zip(&tree.nodes) {
            match &node.expr {
                Expr::Let { bindings, .. } => {
                    for (pattern, value) in bindings {
                        let Some(imported) = import_behind(tree, scopes, *value, &resolve) else { continue };
                        let found = if is_library_file(&imported) { &mut of_library } else { &mut of_own };
                        found.extend(files.pattern(pattern, &imported));
                    }
                }
                Expr::Access { inner, field } => {
                    let Some(imported) = import_behind(tree, scopes, *inner, &resolve) else { continue };
                    if is_library_file(&imported) {
                        let whole = tree.get(id).and_then(|node| node.span.clone());
                        of_library.extend(files.access(field, whole, &imported));
                    }
                }
                _ => {}
            }
        }
    }
    let same = |told: &Diagnostic, place: &Span| {
        told.labels.iter().any(|label| label.primary && &label.span == place)
            && (told.message == NO_MATCH || told.code == crate::codes::MISSING_FIELD)
    };
    let failed: Vec<&Diagnostic> =
        outliner.diagnostics.iter().filter(|told| told.message == NO_MATCH).collect();
    of_own.retain(|one| failed.iter().any(|told| same(told, &one.place)));
    let found: Vec<Missing> = of_library.into_iter().chain(of_own).collect();
    outliner.diagnostics.retain(|told| !found.iter().any(|one| same(told, &one.place)));
    outliner.diagnostics.extend(found.into_iter().map(|one| one.told));
}

/// A name that is not there.
struct Missing {
    /// What the evaluator cannot evaluate for it.
    place: Span,
    told: Diagnostic,
}

/// The file that an expression is the value of.
fn import_behind(
    tree: &Syntax,
    scopes: &Scopes,
    value: NodeId,
    resolve: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut at = value;
    for _ in 0..MAX_HOPS {
        match &tree.get(at)?.expr {
            Expr::Import(path) => return resolve(path),
            Expr::Var(_) => match scopes.of_var(at)?.binding {
                Some(Binding::Let { value, whole: true, .. }) => at = value,
                _ => return None,
            },
            _ => return None,
        }
    }
    None
}

/// The names that files have, asked once.
struct Files<'e> {
    evaluator: &'e dyn Evaluator,
    names: BTreeMap<String, Option<Vec<String>>>,
}

impl Files<'_> {
    /// The names of a file; none if it is no record.
    fn names(&mut self, file: &str) -> Option<&[String]> {
        let evaluator = self.evaluator;
        let names = self.names.entry(file.to_owned()).or_insert_with(|| {
            let seen = evaluator.look(&Place::file(file)).ok().filter(|seen| seen.kind == Kind::Record)?;
            let defined = seen.fields.into_iter().filter(|field| field.defined);
            Some(defined.map(|field| field.name).collect())
        });
        names.as_deref()
    }

    fn pattern(&mut self, pattern: &PatternSyntax, file: &str) -> Vec<Missing> {
        let (Some(TakenFields { needed, named, open, .. }), Some(place)) = (&pattern.takes, &pattern.span)
        else {
            return Vec::new();
        };
        let Some(names) = self.names(file) else { return Vec::new() };
        let mut found: Vec<Missing> = needed
            .iter()
            .filter(|name| !names.contains(&name.text))
            .map(|name| Missing { place: place.clone(), told: unknown(name, place, file, names) })
            .collect();
        if !open && names.iter().any(|name| !named.contains(name)) {
            let message = format!("{} has more names than these", shown(file));
            let told = Diagnostic::error(codes::IMPORTED_NAME, message)
                .at(place.clone(), "")
                .hint(format!("end the pattern in `..`: `{{ {}, .. }}`", named.join(", ")));
            found.push(Missing { place: place.clone(), told });
        }
        found
    }

    fn access(&mut self, field: &Name, whole: Option<Span>, file: &str) -> Option<Missing> {
        let names = self.names(file)?;
        let place = whole.or_else(|| field.span.clone())?;
        (!names.contains(&field.text)).then(|| Missing { told: unknown(field, &place, file, names), place })
    }
}

fn unknown(name: &Name, place: &Span, file: &str, names: &[String]) -> Diagnostic {
    let message = format!("{} has no `{}`", shown(file), name.text);
    let span = name.span.clone().unwrap_or_else(|| place.clone());
    let told = Diagnostic::error(codes::IMPORTED_NAME, message).at(span, "");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match nearest(&name.text, &names) {
        Some(other) => told.hint(format!("did you mean `{other}`?")),
        None if is_library_file(file) => told.hint("the pages of the language list what the library has"),
        None => told.hint(format!("it has: {}", some_of(&names))),
    }
}

/// A file in a sentence.
fn shown(file: &str) -> String {
    if is_library_file(file) { format!("the library {file}") } else { file.to_owned() }
}

/// A list that does not go on for ever.
fn some_of(names: &[&str]) -> String {
    const MOST: usize = 12;
    let mut listed = names.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
    if names.is_empty() {
        "nothing".clone_into(&mut listed);
    } else if names.len() > MOST {
        listed.push_str(", ...");
    }
    listed
}
