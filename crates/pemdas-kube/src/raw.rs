//! An object as it came, read once: what the client of the field needs of it, and the rest untouched.
//!
//! Reading into types and writing out again would cost more than everything else that is done with an event.

use std::borrow::Cow;

use kube::{
    Resource,
    api::{ApiResource, ObjectMeta},
    core::DynamicResourceScope,
};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// An object as it came; of one that is only asked for its metadata, that.
#[derive(Debug, Clone)]
pub(crate) struct Raw<const METADATA_ONLY: bool> {
    /// Only its resourceVersion: by it a watch is taken up again.
    meta: ObjectMeta,
    pub(crate) body: Value,
}

impl<const METADATA_ONLY: bool> Raw<METADATA_ONLY> {
    pub(crate) fn version(&self) -> Option<&str> {
        self.meta.resource_version.as_deref()
    }
}

impl<'de, const METADATA_ONLY: bool> Deserialize<'de> for Raw<METADATA_ONLY> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let body = Value::deserialize(from)?;
        let version = body.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let meta = ObjectMeta { resource_version: version.map(str::to_owned), ..ObjectMeta::default() };
        Ok(Self { meta, body })
    }
}

impl<const METADATA_ONLY: bool> Resource for Raw<METADATA_ONLY> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn metadata_api() -> bool {
        METADATA_ONLY
    }

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn group(of: &ApiResource) -> Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        of.version.as_str().into()
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}
