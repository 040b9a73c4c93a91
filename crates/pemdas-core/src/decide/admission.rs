//! Before all rules: a root is judged by the contract of its kind, and what the contract fills in is filled.
//!
//! *The accident*: a value that no definition could refuse goes into the templates, and half of an instance is changed
//! before the first of them fails. So nothing is created, changed or removed while the contract is broken; what is there
//! stays as it is.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Cause,
    pass::{Asked, Pass},
    reason,
};
use crate::{
    blueprint::{Function, Read},
    evaluate::Form,
};

/// What an admission is about.
const SPEC: &str = "spec";

impl Pass<'_> {
    /// Applies the contract of the root's kind; whether the nodes can be looked at.
    pub(super) fn admit(&mut self) -> bool {
        let api_version = self.root.body.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let Some(contract) = self.program.contract(api_version) else { return true };
        let nothing = Value::Object(Map::new());
        let root = self.root;
        let spec = root.body.get(SPEC).unwrap_or(&nothing);
        let fits = contract.fits.as_ref().filter(|_| !at_length!());
        if let Some(filled) = fits.and_then(|it| it.filled(spec)) {
            self.admitted = None;
            self.fill(&filled);
            return true;
        }
        let function = Function {
            path: contract.path.clone(),
            span: contract.span.clone(),
            reads: vec![Read { path: Vec::new(), span: contract.span.clone() }],
            plain: None,
        };
        let (digest, asked) = self.ask_keyed(&function, Form::Admitted, spec);
        self.facts.take_reads();
        let cause = match asked {
            Asked::Value(filled) => {
                self.admitted = Some(digest);
                self.fill(filled.value());
                return true;
            }
            Asked::Unknown(why) => Cause::Unknown(why),
            Asked::Error(why) => {
                Cause::stalled(reason::CONTRACT, format!("the spec breaks its contract at {why}"))
            }
        };
        self.instance.push(cause);
        self.barred = true;
        false
    }

    /// Templates see the spec with what the contract filled in.
    fn fill(&mut self, filled: &Value) {
        if self.root_input.get(SPEC) != Some(filled) {
            let mut input = Value::clone(&self.root_input);
            input[SPEC] = filled.clone();
            self.root_input = Arc::new(input);
        }
    }
}
