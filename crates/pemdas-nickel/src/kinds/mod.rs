//! From the contracts of a blueprint's kinds to drafts of their definitions.
//!
//! The description of a contract becomes a schema of the core. What a schema cannot say is left out and told: as a gap
//! between contract and definition, and where it is probably a mistake, as a diagnostic.

mod computed;
mod conversions;
mod fits;
mod keywords;
mod presentation;
mod schemas;

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::blueprint::{Blueprint, Body, ContractRef, Fits, KindVersion, OwnedKind, Root, RootTarget};
use pemdas_core::crd::cel::{self, LeftOut, Trouble};
use pemdas_core::crd::{
    AUTHOR_MAY_NOT_USE, Field, Gap, KindDraft, Record, Schema, Side, Type, VersionDraft, codes,
};
use pemdas_core::diagnostic::{Diagnostic, Span};
use pemdas_core::kube_types;

use crate::evaluator::Evaluator;
use crate::request::Place;
use computed::Reads;
use schemas::Converter;

pub use computed::{Around, FieldRead};
pub use conversions::check as check_conversions;

/// The kinds of a blueprint as drafts, what only one side checks, and what is wrong.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Drafts {
    /// The kinds, in the order of their names.
    pub kinds: Vec<KindDraft>,
    /// What a CRD cannot say of the contracts.
    pub gaps: Vec<Gap>,
    /// Codes of advice that a kind does not want, by kind.
    pub accepted: BTreeMap<String, BTreeSet<String>>,
    /// What the contracts of specs ask for, where that is said without them; by the path of the contract.
    pub fits: BTreeMap<Vec<String>, Fits>,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// Drafts the definitions of all kinds that a blueprint owns. The reads are those of its own files.
pub fn draft(evaluator: &dyn Evaluator, blueprint: &Blueprint, reads: &[FieldRead]) -> Drafts {
    let mut drafts = Drafts::default();
    let reads = Reads::new(reads);
    for (name, kind) in &blueprint.kinds {
        let mut drafter = Drafter { evaluator, kind: name, owned: kind, reads: &reads, drafts: &mut drafts };
        let mut draft = drafter.kind();
        statuses_of_successors(blueprint, name, &mut draft);
        drafts.kinds.push(draft);
    }
    drafts
}

/// Without a word of the author, a status holds the statuses of what the root needs: the CRD has room for them.
fn statuses_of_successors(blueprint: &Blueprint, kind: &str, draft: &mut KindDraft) {
    let is_root =
        |body: &Body| matches!(body, Body::Root(Root { target: RootTarget::Owned(of) }) if of == kind);
    for root in blueprint.nodes.values().filter(|it| is_root(&it.body) && it.status.is_none()) {
        for name in root.also.keys() {
            let Some(object) = blueprint.nodes.get(name).and_then(|it| it.body.identity()) else { continue };
            let (Some(api_version), Some(kind)) = (object.api_version.known(), object.kind.known()) else {
                continue;
            };
            // A kind that is not built in may have one.
            if kube_types::Kind::find(api_version, kind).is_ok_and(|it| !it.has_status_subresource()) {
                continue;
            }
            for version in draft.versions.values_mut() {
                let Some(record) = version.status.as_record_mut() else { continue };
                let status_ = Record { fields: BTreeMap::new(), open: true };
                let schema = Schema::new(Type::Record(status_))
                    .described(&format!("The status of the {kind} of the node {name}."));
                record.fields.entry(name.clone()).or_insert(Field { schema, required: false, filled: false });
            }
        }
    }
}

/// Drafts one kind.
struct Drafter<'a> {
    evaluator: &'a dyn Evaluator,
    kind: &'a str,
    owned: &'a OwnedKind,
    reads: &'a Reads<'a>,
    drafts: &'a mut Drafts,
}

impl Drafter<'_> {
    fn place(&self) -> Place {
        Place::at(["kinds", self.kind])
    }

    fn kind(&mut self) -> KindDraft {
        let mut draft = KindDraft {
            kind: self.kind.to_owned(),
            group: self.owned.group.clone(),
            scope: self.owned.scope,
            plural: self.owned.plural.clone(),
            singular: None,
            short_names: self.owned.short_names.clone(),
            categories: Vec::new(),
            description: None,
            versions: BTreeMap::new(),
            span: self.owned.span.clone(),
        };
        self.names(&mut draft);
        for (name, version) in &self.owned.versions {
            let drafted = self.version(name, version);
            draft.versions.insert(name.clone(), drafted);
        }
        draft
    }

    fn version(&mut self, name: &str, version: &KindVersion) -> VersionDraft {
        let spec = self.contract(name, version.spec.as_ref(), "spec", &version.span);
        let mut status = self.contract(name, version.status.as_ref(), "status", &version.span);
        self.own_status_fields(&mut status, &version.span);
        let mut draft = VersionDraft {
            served: version.served,
            stored: version.stored,
            deprecated: None,
            spec,
            status,
            columns: Vec::new(),
            scale: None,
            span: version.span.clone(),
        };
        self.shown(name, &mut draft);
        draft
    }

    /// The schema of a contract, with its rules.
    fn contract(&mut self, version: &str, contract: Option<&ContractRef>, root: &str, near: &Span) -> Schema {
        let Some(contract) = contract else { return Schema::record([]) };
        let described = match self.evaluator.describe(&Place::at(contract.path.clone())) {
            Ok(described) => described,
            Err(failure) => {
                self.drafts.diagnostics.extend(failure.diagnostics().into_iter().map(|diagnostic| {
                    if diagnostic.labels.is_empty() { diagnostic.at(near.clone(), "") } else { diagnostic }
                }));
                return Schema::any();
            }
        };
        let mut converter = Converter::new(self.kind, version, contract.span.clone());
        converter.reads = self.reads.within(&described);
        let mut schema = converter.schema(&described, root, &contract.span);
        let left_out = cel::compile(&mut schema, root);
        for one in left_out {
            converter.left_out(&one);
        }
        if !converter.varies
            && let Some(fits) = fits::fits(&described, &schema)
        {
            self.drafts.fits.insert(contract.path.clone(), fits);
        }
        self.drafts.gaps.extend(converter.gaps);
        self.drafts.diagnostics.extend(converter.diagnostics);
        schema
    }

    /// Takes out of the author's status what is ours.
    fn own_status_fields(&mut self, status: &mut Schema, near: &Span) {
        let Some(record) = status.as_record_mut() else { return };
        for name in AUTHOR_MAY_NOT_USE {
            if let Some(field) = record.fields.remove(name) {
                let message = format!("`status.{name}` is written by Pemdas itself");
                let span = field.schema.span.unwrap_or_else(|| near.clone());
                self.drafts.diagnostics.push(
                    Diagnostic::error(codes::STATUS_FIELD, message).at(span, "").hint(
                        "call the field something else; conditions are the clause `conditions` of the root",
                    ),
                );
            }
        }
    }
}

impl Converter<'_> {
    /// Tells of a rule that the CRD cannot have.
    fn left_out(&mut self, one: &LeftOut) {
        let words = one.wanted.relation.words();
        let span = one.wanted.span.clone().unwrap_or_else(|| self.near.clone());
        self.gaps.push(Gap {
            kind: self.kind.to_owned(),
            version: self.version.to_owned(),
            path: one.path.clone(),
            side: Side::OnlyContract,
            what: words.clone(),
            span: one.wanted.span.clone(),
        });
        let diagnostic = match &one.trouble {
            Trouble::Wrong(why) => Diagnostic::error(codes::RULE, format!("this rule cannot hold: {why}")),
            Trouble::TooExpensive => {
                Diagnostic::warning(codes::COST, "the API server would refuse this rule as too expensive")
                    .hint("bound the lists and strings that it goes through: `ListBetween`, `AtMostLong`, `ListMap` with a bound")
            }
            Trouble::NoOldValue => Diagnostic::warning(
                codes::NO_OLD_VALUE,
                "this rule is about a change, and items of this list have no old value to compare with",
            )
            .hint("make the list a `ListMap`: its items are told apart by their keys"),
        };
        self.diagnostics
            .push(diagnostic.at(span, "").note(format!("the CRD leaves out: {} {words}", one.path)));
    }
}
