//! The structure of a contract.

use super::Engine;
use crate::contract::{Contract, Form};
use crate::request::{Failure, Place};

impl Engine {
    /// Describes the contract at a place.
    pub(super) fn describe(&mut self, place: &Place) -> Result<Contract, Failure> {
        let _value = self.resolve(place)?;
        Ok(Contract { form: Form::Opaque(None), span: None })
    }
}
