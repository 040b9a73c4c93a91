//! Rule 2: what a function of the blueprint sees.
//!
//! *The accident*: our own write of the root's status changes the inputs of every template, and the instance writes
//! for ever.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Cause,
    edges::Edges,
    pass::{Data, Found, Pass, record},
};
use crate::{
    blueprint::{Function, Input},
    evaluate::Argument,
    ledger::{MAX_ENTRIES, Slot},
};

/// The argument of a function of the blueprint, from parts that others keep.
pub(super) struct The<'v> {
    pub(super) root: Data,
    pub(super) extracts: Option<&'v BTreeMap<String, Data>>,
    pub(super) each: Option<&'v Value>,
    pub(super) own: Option<Data>,
    pub(super) seed: Option<Value>,
}

impl Argument for The<'_> {
    fn part(&self, name: &str) -> Option<&Value> {
        match name {
            "root" => Some(self.root.value()),
            "each" => self.each,
            "self" => self.own.as_ref().map(Data::value),
            "seed" => self.seed.as_ref(),
            _ => self.extracts?.get(name).map(Data::value),
        }
    }

    fn whole(&self) -> Value {
        let extracts = self.extracts.into_iter().flatten();
        let named = |name: &str, value: &Value| (name.to_owned(), value.clone());
        let fixed = ["root", "each", "self", "seed"];
        record(
            extracts
                .map(|(name, value)| named(name, value.value()))
                .chain(fixed.iter().filter_map(|name| Some(named(name, self.part(name)?)))),
        )
    }
}

impl Pass<'_> {
    /// The argument of a function: the root, the extracts, `each`, and where it is read `self`.
    pub(super) fn the<'v>(
        &self,
        function: &Function,
        edges: &'v Edges,
        each: Option<&'v Value>,
        own: Option<&Found>,
    ) -> Result<The<'v>, Cause> {
        let whole = function.reads.iter().any(|read| read.input() == Input::Whole);
        let reads = |name: &str| whole || function.reads.iter().any(|it| it.input() == Input::Node(name));
        if let Some((name, why)) = edges.missing.iter().find(|(name, _)| reads(name)) {
            return Err(Cause::Unknown(format!("what is taken from {name}: {why}")));
        }
        let own = match own {
            Some(Found::Present(live)) => Some(live.clone()),
            Some(Found::Absent) => Some(Data::from(Value::Null)),
            Some(Found::Unknown(why)) if reads_own(function) => return Err(Cause::Unknown(why.clone())),
            Some(Found::Unknown(_)) | None => None,
        };
        Ok(The {
            root: Data::Value(self.root_input()),
            extracts: Some(&edges.extracts),
            each,
            own,
            seed: None,
        })
    }

    /// The random string of a slot: recorded before it is used, so that it never changes.
    pub(super) fn seed(&mut self, slot: &Slot) -> Result<Value, Cause> {
        let Some(ledger) = self.ledger() else {
            return Err(Cause::Pending("the ledger is being written".to_owned()));
        };
        if let Some(seed) = ledger.seeds.get(slot) {
            return Ok(json!(seed));
        }
        if ledger.seeds.len() >= MAX_ENTRIES {
            return Err(Cause::Unknown(format!("the ledger has its {MAX_ENTRIES} seeds already")));
        }
        let seed = self.facts.digest(&json!([self.facts.entropy(), slot])).to_string();
        self.record().seeds.insert(slot.clone(), seed.clone());
        if mutant!(SeedUnrecorded) {
            return Ok(json!(seed));
        }
        Err(Cause::Pending("its seed is being recorded".to_owned()))
    }
}

pub(super) fn reads_own(function: &Function) -> bool {
    function.reads.iter().any(|read| matches!(read.input(), Input::Own | Input::Whole))
}

pub(super) fn reads_seed(function: &Function) -> bool {
    function.reads.iter().any(|read| matches!(read.input(), Input::Seed | Input::Whole))
}
