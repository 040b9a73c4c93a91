//! From a blueprint's files to the core's picture of it, with everything that is wrong with its clauses at once.
//!
//! The evaluator says what each clause is, one by one, so that one mistake hides no other. The syntax says where it
//! is written and what each function reads. Nothing here needs an instance.

mod autoscalers;
pub mod codes;
mod edges;
mod failures;
mod field_reads;
mod identity;
mod imported;
mod jobs;
mod kinds;
mod kube_types;
mod lints;
mod mistakes;
mod names;
mod nodes;
mod openings;
mod outliner;
mod plain;
mod reads;
mod root_fields;
mod scopes;
mod selectors;
mod shapes;
mod status_fields;
mod template_tree;
mod trees;

pub use openings::{Opening, openings};

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::blueprint::Blueprint;
use pemdas_core::diagnostic::{Diagnostic, Severity, Span};
use pemdas_core::secrets::SHORTEST;

use crate::evaluator::{Evaluator, InProcess};
use crate::kinds::{Drafts, check_conversions, draft as kinds_draft};
use crate::limits::Limits;
use crate::request::{Failure, Kind};
use crate::sources::{MAIN, Sources};
use crate::syntax::{Expr, Syntax};
use outliner::{Outliner, Spot};
use trees::Trees;

/// What a blueprint may have: names and texts of its files together. Compressed, that mostly fits into a ConfigMap.
pub const MAX_BYTES: u64 = 4 << 20;

/// The field by which the library's contract says that it was applied.
const LIBRARY_FIELD: &str = "~library";

/// How many problems of one blueprint are told.
const MAX_DIAGNOSTICS: usize = 200;

/// A blueprint as far as it could be understood, and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// The blueprint; none if there is nothing that could be called one. Where there are errors, it is what was
    /// understood: good for finding more of them, not for running.
    pub blueprint: Option<Blueprint>,
    /// The definitions of its kinds, drafted; what is wrong with them is among the diagnostics.
    pub drafts: Drafts,
    /// What is wrong with it, in the order of the files.
    pub diagnostics: Vec<Diagnostic>,
}

impl Outline {
    /// Whether nothing keeps the blueprint from running, as far as its clauses go.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.blueprint.is_some()
            && self.diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
    }
}

/// Loads a blueprint into an evaluator of this process and outlines it. The evaluator is there to be used further.
pub fn load(sources: &Sources, limits: &Limits) -> (Option<InProcess>, Outline) {
    let diagnostics = too_large(sources);
    // Too large is a mistake to report with all others, not a reason to look no further.
    let limits = Limits { source_bytes: limits.source_bytes.max(MAX_BYTES * 2), ..limits.clone() };
    match InProcess::load(sources, &limits) {
        Ok(evaluator) => {
            let mut outline = of(&evaluator, sources);
            outline.diagnostics.splice(0..0, diagnostics);
            (Some(evaluator), outline)
        }
        Err(failure) => {
            let mut outline = not_loaded(&failure, sources);
            outline.diagnostics.splice(0..0, diagnostics);
            (None, outline)
        }
    }
}

/// What there is to say of a blueprint that no evaluator could load.
pub(crate) fn not_loaded(failure: &Failure, sources: &Sources) -> Outline {
    let mut diagnostics = failures::of_loading(failure, sources);
    mistakes::explain(&mut diagnostics, sources);
    unknown(diagnostics)
}

/// Nothing is known of a blueprint but what is wrong with it.
pub(crate) fn unknown(diagnostics: Vec<Diagnostic>) -> Outline {
    Outline { blueprint: None, drafts: Drafts::default(), diagnostics }
}

/// Outlines a blueprint that an evaluator has loaded from these sources.
pub fn of(evaluator: &dyn Evaluator, sources: &Sources) -> Outline {
    let length = u32::try_from(sources.get(MAIN).unwrap_or_default().len()).unwrap_or(u32::MAX);
    let whole = Span { file: MAIN.to_owned(), start: 0, end: length };
    let syntax = match evaluator.syntax() {
        Ok(syntax) => syntax,
        Err(failure) => {
            let diagnostics = failures::diagnostics(&failure, &whole);
            return Outline { blueprint: None, drafts: Drafts::default(), diagnostics };
        }
    };
    let trees = Trees::new(&syntax, sources);
    let mut outliner = Outliner {
        evaluator,
        trees: &trees,
        whole,
        diagnostics: Vec::new(),
        fields_of_kinds: BTreeMap::new(),
    };
    unpinned_imports(&mut outliner, &syntax);
    let mut blueprint = blueprint(&mut outliner);
    lints::run(&mut outliner);
    let mut drafts = Drafts::default();
    if let Some(blueprint) = &mut blueprint {
        blueprint.texts = texts(&syntax);
        kube_types::run(&mut outliner, blueprint);
        autoscalers::run(&mut outliner, blueprint);
        jobs::run(&mut outliner, blueprint);
        selectors::run(&mut outliner, blueprint);
        drafts = kinds_draft(evaluator, blueprint, &field_reads::of(&trees));
        outliner.diagnostics.extend(check_conversions(evaluator, blueprint, &drafts));
        outliner.diagnostics.append(&mut drafts.diagnostics);
        outliner.diagnostics.extend(root_fields::check(blueprint, &drafts.kinds));
        outliner.diagnostics.extend(status_fields::check(&trees, blueprint, &drafts.kinds));
        let versions = blueprint.kinds.values_mut().flat_map(|it| it.versions.values_mut());
        for contract in versions.filter_map(|it| it.spec.as_mut()) {
            contract.fits = drafts.fits.remove(&contract.path);
        }
    }
    imported::run(&mut outliner);
    let mut diagnostics = tidy(outliner.diagnostics);
    mistakes::explain(&mut diagnostics, sources);
    Outline { blueprint, drafts, diagnostics }
}

/// The longer texts that are written in its files.
fn texts(syntax: &BTreeMap<String, Syntax>) -> BTreeSet<String> {
    let written = |expr: &Expr| match expr {
        Expr::String(text) if text.len() >= SHORTEST => Some(text.clone()),
        _ => None,
    };
    syntax.values().flat_map(|tree| &tree.nodes).filter_map(|node| written(&node.expr)).collect()
}

/// Names of a file beside the blueprint that mean a field of a record around them instead of what stands outside of it.
pub fn hidden_names(evaluator: &dyn Evaluator, sources: &Sources, file: &str) -> Vec<Diagnostic> {
    // A file that cannot be read is reported by whoever evaluates it.
    let Ok(mut syntax) = evaluator.syntax() else { return Vec::new() };
    syntax.retain(|name, _| name == file);
    lints::hidden_names(&Trees::new(&syntax, sources))
}

/// Whether a blueprint has more than it may have.
pub(crate) fn too_large(sources: &Sources) -> Option<Diagnostic> {
    if sources.bytes() <= MAX_BYTES {
        return None;
    }
    let mut sizes: Vec<(usize, &str)> = sources.iter().map(|(name, text)| (text.len(), name)).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let largest = sizes.first().map_or(MAIN, |(_, name)| name);
    let place = Span { file: largest.to_owned(), start: 0, end: 0 };
    let told = Diagnostic::error(
        codes::TOO_LARGE,
        format!("the blueprint has {} bytes; it may have {MAX_BYTES}", sources.bytes()),
    );
    let hint = "keep data such as SQL or dashboards in ConfigMaps of its own, and `observe` or mount them";
    Some(told.at(place, "the largest file").hint(hint))
}

/// Warns of imports of the library that do not say which major version they mean.
fn unpinned_imports(outliner: &mut Outliner<'_>, syntax: &BTreeMap<String, Syntax>) {
    for node in syntax.values().flat_map(|tree| &tree.nodes) {
        let (Expr::Import(path), Some(span)) = (&node.expr, &node.span) else { continue };
        if path == "pemdas.ncl" {
            outliner.report(
                Diagnostic::warning(codes::UNPINNED, "this import names no major version of the library")
                    .at(span.clone(), "")
                    .hint("write `import \"pemdas/v1.ncl\"`: a new major version then changes nothing here"),
            );
        }
    }
}

fn blueprint(outliner: &mut Outliner<'_>) -> Option<Blueprint> {
    let root = Spot::root();
    let seen = outliner.look(&root)?;
    let whole = outliner.whole.clone();
    if seen.kind != Kind::Record {
        outliner.report(
            Diagnostic::error(codes::NO_BLUEPRINT, "main.ncl does not yield a blueprint")
                .at(seen.span.unwrap_or(whole), "")
                .hint("a blueprint is a record: `{ name = \"...\", nodes = { ... } } | Blueprint`"),
        );
        return None;
    }
    let Some(library) = contract_version(outliner) else {
        outliner.report(
            Diagnostic::error(codes::NO_BLUEPRINT, "the blueprint does not end in `| Blueprint`")
                .at(seen.span.clone().unwrap_or_else(|| whole.clone()), "")
                .hint("`let { Blueprint, .. } = import \"pemdas/v1.ncl\" in { ... } | Blueprint` lets the library check it"),
        );
        return None;
    };
    let has = |name: &str| seen.fields.iter().any(|field| field.defined && field.name == name);
    for field in seen.fields.iter().filter(|field| field.defined) {
        if !["name", "kinds", "nodes", "rollout", LIBRARY_FIELD].contains(&field.name.as_str()) {
            let span = outliner.span_of(std::slice::from_ref(&field.name));
            outliner.report(
                Diagnostic::error(codes::NO_BLUEPRINT, format!("a blueprint has no field `{}`", field.name))
                    .at(span, "")
                    .hint(
                        "it has `name`, `kinds`, `nodes` and `rollout`; what they share goes into a `let` before them",
                    ),
            );
        }
    }
    for name in ["name", "nodes"] {
        if !has(name) {
            outliner.report(
                Diagnostic::error(codes::NO_BLUEPRINT, format!("the blueprint has no `{name}`"))
                    .at(whole.clone(), ""),
            );
        }
    }
    let name = if has("name") { outliner.text(&root.field("name")) } else { None };
    let mut blueprint = Blueprint::new(name.unwrap_or_default(), library, seen.span.unwrap_or(whole));
    if has("kinds") {
        blueprint.kinds = outliner.kinds(&root.field("kinds"));
    }
    if has("nodes") {
        let nodes = root.field("nodes");
        for field in outliner.fields(&nodes).unwrap_or_default() {
            let node = outliner.node(&nodes.field(&field.name));
            blueprint.nodes.insert(field.name, node);
        }
    }
    if has("rollout") {
        blueprint.rollout = outliner.rollout(&root.field("rollout"));
    }
    Some(blueprint)
}

/// The major version of the library whose contract has been applied; none if none was.
fn contract_version(outliner: &Outliner<'_>) -> Option<u32> {
    let version = outliner.evaluator.evaluate(&Spot::root().field(LIBRARY_FIELD).place).ok()?;
    version.as_u64().and_then(|version| u32::try_from(version).ok())
}

/// In the order of the files, each problem once, not without end.
pub(crate) fn tidy(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut seen = BTreeSet::new();
    let mut kept: Vec<Diagnostic> = Vec::new();
    for diagnostic in diagnostics {
        let place = diagnostic.labels.first().map(|label| label.span.clone());
        if seen.insert((place, diagnostic.code.clone(), diagnostic.message.clone())) {
            kept.push(diagnostic);
        }
    }
    kept.sort_by_key(|diagnostic| diagnostic.labels.first().map(|label| label.span.clone()));
    kept.truncate(MAX_DIAGNOSTICS);
    kept
}
