//! A cluster as commands see it: read only, with the rights of whoever runs them. Here the survey of the cluster meets the
//! evaluator, so that the core can say of a live instance what it says of files.

mod blueprints;
mod look;

use std::{
    cell::OnceCell,
    time::{SystemTime, UNIX_EPOCH},
};

use pemdas_core::{suggest, world::Seal};
use pemdas_kube::{
    connect::{Connection, Trouble},
    survey::{Kinds, Served, Survey},
};
use tokio::runtime::Runtime;

pub(crate) use blueprints::{Compiled, Readable, Reader, running};
pub(crate) use look::{Field, Look};

/// A cluster that is looked at while a command runs.
pub(crate) struct Session {
    runtime: Runtime,
    survey: Survey,
    namespace: String,
    operator: String,
    kinds: OnceCell<Kinds>,
    /// The time, where the cluster has one of its own.
    now: Option<u64>,
}

/// Why something that a person named was not found, or could not be asked for.
#[derive(Debug)]
pub(crate) enum Lost {
    /// The cluster does not answer, or not to them.
    Trouble(Trouble),
    /// There is no such thing.
    Nothing {
        /// What there is not.
        message: String,
        /// What may have been meant.
        hint: Option<String>,
    },
}

impl From<Trouble> for Lost {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl Session {
    /// Over a connection.
    pub(crate) fn new(
        runtime: Runtime,
        connection: Connection,
        namespace: Option<String>,
        operator: String,
    ) -> Self {
        let namespace = namespace.unwrap_or_else(|| connection.namespace.clone());
        let (survey, kinds) = (Survey::new(connection), OnceCell::new());
        Self { runtime, survey, namespace, operator, kinds, now: None }
    }

    /// In a cluster whose time is another one.
    #[cfg(test)]
    pub(crate) fn at(self, now: u64) -> Self {
        Self { now: Some(now), ..self }
    }

    /// The time in milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.now.unwrap_or_else(now)
    }

    /// Waits for what is asked of the cluster.
    pub(crate) fn ask<'a, T>(&'a self, question: impl AsyncFnOnce(&'a Survey) -> T) -> T {
        self.runtime.block_on(question(&self.survey))
    }

    /// The namespace that is meant where none is said.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The key of the operator's digests, where it may be read.
    pub(crate) fn key(&self) -> Option<Vec<u8>> {
        self.ask(async |survey| survey.key(&self.operator).await)
    }

    /// The keys of the operator's seals, where they may be read.
    pub(crate) fn seal(&self) -> Seal {
        self.ask(async |survey| survey.seal(&self.operator).await)
    }

    /// Forgets which kinds the cluster serves: the next question asks anew.
    pub(crate) fn forget_kinds(&mut self) {
        self.kinds.take();
    }

    /// The kinds that the cluster serves.
    pub(crate) fn kinds(&self) -> Result<&Kinds, Trouble> {
        if let Some(kinds) = self.kinds.get() {
            return Ok(kinds);
        }
        let kinds = self.ask(async |survey| survey.kinds().await)?;
        Ok(self.kinds.get_or_init(|| kinds))
    }

    /// The kind that a word names.
    pub(crate) fn kind(&self, word: &str) -> Result<&Served, Lost> {
        let kinds = self.kinds()?;
        kinds.find(word).ok_or_else(|| {
            let names = kinds.iter().flat_map(|it| [it.resource.plural.as_str(), it.singular.as_str()]);
            let near = suggest::closest(word, names);
            Lost::Nothing {
                message: format!("the cluster serves no kind {word}"),
                hint: Some(match near {
                    Some(near) => format!("did you mean {near}? `kubectl api-resources` lists all"),
                    None => "`kubectl api-resources` lists all; a kind of a blueprint is served once the blueprint runs"
                        .to_owned(),
                }),
            }
        })
    }
}

/// The time in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_millis());
    u64::try_from(passed).unwrap_or(u64::MAX)
}
