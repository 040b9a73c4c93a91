//! Rule 2: what a function of the blueprint sees.
//!
//! *The accident*: our own write of the root's status changes the inputs of every template, and the instance writes
//! for ever.

use serde_json::{Value, json};

use super::{
    Cause,
    edges::Edges,
    pass::{Found, Pass, record},
};
use crate::{
    blueprint::{Function, Input},
    ledger::{MAX_ENTRIES, Slot},
};

impl Pass<'_> {
    /// The argument of a function: the root, the extracts, `each`, and where it is read `self`.
    pub(super) fn the(
        &self,
        function: &Function,
        edges: &Edges,
        each: Option<&Value>,
        own: Option<&Found>,
    ) -> Result<Value, Cause> {
        let whole = function.reads.iter().any(|read| read.input() == Input::Whole);
        let reads = |name: &str| whole || function.reads.iter().any(|it| it.input() == Input::Node(name));
        if let Some((name, why)) = edges.missing.iter().find(|(name, _)| reads(name)) {
            return Err(Cause::Unknown(format!("what is taken from {name}: {why}")));
        }
        let mut the = vec![("root".to_owned(), self.root_input.clone())];
        the.extend(edges.extracts.iter().map(|(name, value)| (name.clone(), value.clone())));
        the.extend(each.map(|it| ("each".to_owned(), it.clone())));
        match own {
            Some(Found::Present(live)) => the.push(("self".to_owned(), live.clone())),
            Some(Found::Absent) => the.push(("self".to_owned(), Value::Null)),
            Some(Found::Unknown(why)) if reads_own(function) => return Err(Cause::Unknown(why.clone())),
            Some(Found::Unknown(_)) | None => {}
        }
        Ok(record(the))
    }

    /// The random string of a slot: recorded before it is used, so that it never changes.
    pub(super) fn seed(&mut self, slot: &Slot) -> Result<Value, Cause> {
        let Some(ledger) = &self.ledger else {
            return Err(Cause::Pending("the ledger is being written".to_owned()));
        };
        if let Some(seed) = ledger.seeds.get(slot) {
            return Ok(json!(seed));
        }
        if ledger.seeds.len() >= MAX_ENTRIES {
            return Err(Cause::Unknown(format!("the ledger has its {MAX_ENTRIES} seeds already")));
        }
        let seed = self.world.digest(&json!([self.world.entropy, slot])).to_string();
        self.next_ledger.seeds.insert(slot.clone(), seed.clone());
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
