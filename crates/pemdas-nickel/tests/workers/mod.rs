//! What the tests of worker processes share.

use pemdas_nickel::{Pool, PoolConfig, WorkerCommand};

/// The pool of a test: real workers, the usual limits unless changed.
pub(crate) fn pool(change: impl FnOnce(&mut PoolConfig)) -> Pool {
    let command =
        WorkerCommand { program: env!("CARGO_BIN_EXE_pemdas-nickel-worker").into(), arguments: Vec::new() };
    let mut config = PoolConfig::new(command);
    config.workers = 2;
    change(&mut config);
    Pool::new(config)
}
