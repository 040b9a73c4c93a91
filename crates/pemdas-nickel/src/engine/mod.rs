//! The evaluator itself, for one blueprint, on one thread. Everything that names Nickel is in here.

mod describe;
mod errors;
mod files;
mod guard;
mod load;
mod look;
mod meter;
pub(crate) mod pieces;
mod placed;
mod plain_words;
mod render;
mod syntax_tree;
mod values;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nickel_lang_core::cache::CacheHub;
use nickel_lang_core::closurize::Closurize as _;
use nickel_lang_core::error::EvalError;
use nickel_lang_core::eval::value::NickelValue;
use nickel_lang_core::eval::{Closure, Environment, VirtualMachine, VmContext};
use nickel_lang_core::files::FileId;
use nickel_lang_core::identifier::LocIdent;
use nickel_lang_core::label::Label;
use nickel_lang_core::position::PosIdx;
use nickel_lang_core::term::{BinaryOp, RuntimeContract, Term, make};
use pemdas_core::diagnostic::Diagnostic;
use serde_json::Value;

use crate::codes;
use crate::contract::Contract;
use crate::library::LibraryFile;
use crate::limits::Limits;
use crate::request::{Answer, Failure, Input, Place, Request, Step};
use crate::sources::Sources;
use files::FileTable;
pub(crate) use guard::{import_paths, name_within};
use meter::{Meter, MeteredCache};
pub(crate) use values::{check_call, check_request};

/// How many bytes of addresses an engine remembers the values of.
const REMEMBERED_BYTES: usize = 1 << 20;

/// A loaded blueprint.
pub(crate) struct Engine {
    ctx: VmContext<CacheHub, MeteredCache>,
    /// The evaluator's standard library.
    env: Environment,
    files: FileTable,
    ids: BTreeMap<String, FileId>,
    sources: Sources,
    library: &'static [LibraryFile],
    meter: Rc<Meter>,
    /// The value of each file that was asked for.
    roots: BTreeMap<String, NickelValue>,
    /// What was found at places without calls: a field's contracts run at its first use only.
    found: BTreeMap<String, NickelValue>,
    found_bytes: usize,
    /// Whether diagnostics may quote values: not while a request carries data that may be a secret.
    quote_values: bool,
    /// The data of a check that failed, while it is looked at once more.
    placed: Option<placed::PlacedData>,
    /// What the last failure may say where no data may be quoted.
    told: Option<plain_words::Told>,
    /// An engine that only describes contracts, and what it knows of the library.
    describer: Option<Box<Engine>>,
    known: Option<Rc<Vec<describe::Known>>>,
    limits: Limits,
}

impl Engine {
    /// Answers one request within the limits.
    pub(crate) fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        self.quote_values = !check_request(request, &self.limits)?;
        self.restart();
        match request {
            Request::Evaluate { place } => {
                let value = self.resolve(place)?;
                self.export(value).map(Answer::Json)
            }
            Request::Select { place, fields } => self.select(place, fields).map(Answer::Selected),
            Request::Check { contract, value } => {
                self.describer = None;
                match values::spelled_as_fraction(value) {
                    Some(path) => Err(Failure::of(spelling(&path))),
                    None => self.check(contract, value).map(Answer::Json),
                }
            }
            Request::Look { place } => self.look(place).map(|seen| Answer::Seen(Box::new(seen))),
            Request::Describe { place } => {
                self.described(place).map(|contract| Answer::Contract(Box::new(contract)))
            }
            Request::Syntax => self.syntax().map(Answer::Syntax),
            Request::Render { calls } => {
                self.describer = None;
                self.render(calls).map(Answer::Rendered)
            }
        }
    }

    /// Describes a contract. What it is made of can be read only before it is first used, so this is done by an engine that is used for
    /// nothing else. It is kept as long as descriptions are asked for: loading it anew for each would cost more than all else.
    fn described(&mut self, place: &Place) -> Result<Contract, Failure> {
        let mut describer = match self.describer.take() {
            Some(describer) => describer,
            None => Box::new(Self::load_with(&self.sources, self.limits.clone(), self.library)?),
        };
        let described = describer.describe(place);
        // What an evaluation that was broken off left behind is not used again.
        if described.is_ok() {
            self.describer = Some(describer);
        }
        described
    }

    /// Fresh fuel and time.
    fn restart(&self) {
        self.meter.start(self.limits.fuel, Instant::now() + Duration::from_millis(self.limits.millis));
    }

    /// Fresh fuel; the time goes on.
    fn refuel(&self) {
        self.meter.refuel(self.limits.fuel);
    }

    /// Evaluates to the first constructor.
    fn whnf(&mut self, value: NickelValue) -> Result<Closure, Failure> {
        let mut vm = VirtualMachine::new_empty_env(&mut self.ctx).with_initial_env(self.env.clone());
        let result: Result<Closure, EvalError> = vm.eval_closure(value.into());
        drop(vm);
        result.map_err(|error| self.failure(error.into()))
    }

    /// Evaluates to the first constructor, as a value that carries its environment.
    fn kept(&mut self, value: NickelValue) -> Result<NickelValue, Failure> {
        let Closure { value, env } = self.whnf(value)?;
        Ok(value.closurize(&mut self.ctx.cache, env))
    }

    /// Evaluates fully, to JSON.
    fn export(&mut self, value: NickelValue) -> Result<Value, Failure> {
        let mut vm = VirtualMachine::new_empty_env(&mut self.ctx).with_initial_env(self.env.clone());
        let result = vm.eval_full_for_export(value);
        drop(vm);
        match result {
            Ok(value) => self.json_of(&value),
            Err(error) => Err(self.failure(error.into())),
        }
    }

    /// The value at a place.
    fn resolve(&mut self, place: &Place) -> Result<NickelValue, Failure> {
        if !self.roots.contains_key(&place.file) {
            self.prepare(&place.file)?;
        }
        let Some(mut value) = self.roots.get(&place.file).cloned() else {
            return Err(Failure::Unavailable { reason: "a file was not prepared".to_owned() });
        };
        // The address so far; none once a call has been made.
        let mut address = Some(place.file.clone());
        for step in &place.steps {
            match step {
                Step::Field(name) => {
                    address = address.map(|address| format!("{address}\0{name}"));
                    value = make::static_access(value, [LocIdent::from(name.as_str())]);
                }
                Step::Index(index) => {
                    address = address.map(|address| format!("{address}\0\0{index}"));
                    let index = NickelValue::number_posless(*index);
                    value = make::op2(BinaryOp::ArrayAt, value, index);
                }
                Step::Call(arguments) => {
                    address = None;
                    value = self.call(value, arguments)?;
                    continue;
                }
            }
            value = self.remembered(address.as_deref(), value)?;
        }
        Ok(value)
    }

    /// Evaluates what an address leads to, or takes what was found there before.
    fn remembered(&mut self, address: Option<&str>, value: NickelValue) -> Result<NickelValue, Failure> {
        let Some(address) = address else { return Ok(value) };
        if let Some(found) = self.found.get(address) {
            return Ok(found.clone());
        }
        let found = self.kept(value)?;
        if self.found_bytes + address.len() <= REMEMBERED_BYTES {
            self.found_bytes += address.len();
            self.found.insert(address.to_owned(), found.clone());
        }
        Ok(found)
    }

    fn call(&mut self, function: NickelValue, arguments: &[Input]) -> Result<NickelValue, Failure> {
        let mut applied = function;
        for argument in arguments {
            let argument = self.value_of(argument)?;
            applied = NickelValue::term_posless(Term::app(applied, argument));
        }
        Ok(applied)
    }

    /// Some fields of a record, each on its own: one that fails does not hide the others.
    fn select(
        &mut self,
        place: &Place,
        fields: &[Vec<String>],
    ) -> Result<Vec<Result<Value, Failure>>, Failure> {
        let value = self.resolve(place)?;
        let record = self.kept(value)?;
        let mut selected = Vec::with_capacity(fields.len());
        for path in fields {
            let names = path.iter().map(|name| LocIdent::from(name.as_str()));
            let field = make::static_access(record.clone(), names);
            let result = self.export(field);
            // What ends the whole request ends it here; what is one field's fault is told for that field.
            match result {
                Err(failure @ (Failure::Killed { .. } | Failure::FuelExhausted { .. })) => {
                    return Err(failure);
                }
                result => selected.push(result),
            }
        }
        Ok(selected)
    }

    /// Applies a contract to data.
    fn check(&mut self, contract: &Place, value: &Value) -> Result<Value, Failure> {
        let contract = self.resolve(contract)?;
        let plain = self.value_of(&Input::Json(value.clone()))?;
        match self.export(applied(contract.clone(), plain)) {
            Err(Failure::Failed { .. }) => {}
            done => return done,
        }
        // Once more, to see where in the data it is.
        self.refuel();
        let (value, places) = self.placed(value)?;
        self.placed = Some(places);
        let told = self.export(applied(contract, value));
        self.placed = None;
        told
    }
}

/// Says that a whole number is written as nobody writes one. The contract sees numbers, not how they are written; the API server sees
/// that in its rules, and refuses such an object.
fn spelling(path: &str) -> Diagnostic {
    Diagnostic::error(codes::CONTRACT, "a whole number is written with a fraction")
        .note(format!("{}{path}", placed::IN_THE_DATA))
        .hint("write it without: every client of Kubernetes does, and the API server takes it for another number in rules")
}

/// A contract applied to a value.
fn applied(contract: NickelValue, value: NickelValue) -> NickelValue {
    RuntimeContract::new(contract, Label::default()).apply(value, PosIdx::NONE)
}
