//! Why a reconciliation did not come to its end.

use std::time::Duration;

use kube::runtime::finalizer;

/// When what failed is tried again.
pub(crate) const RETRY: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    #[error("no random numbers: {0}")]
    Chance(getrandom::Error),
    #[error("an object without a namespace")]
    NoNamespace,
    /// A deletion goes on when this is so. An error, because `finalizer` takes everything else for the end.
    #[error("waiting for {0}")]
    Waiting(String),
    #[error("{0}")]
    Finalizer(#[from] Box<finalizer::Error<Error>>),
}

impl Error {
    pub(crate) fn is_waiting(&self) -> bool {
        match self {
            Self::Waiting(_) => true,
            Self::Finalizer(inner) => {
                matches!(&**inner, finalizer::Error::CleanupFailed(Self::Waiting(_)))
            }
            _ => false,
        }
    }
}

/// Nothing where there is nothing.
pub(crate) fn found<T>(result: Result<T, kube::Error>) -> Result<Option<T>, kube::Error> {
    match result {
        Ok(it) => Ok(Some(it)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
