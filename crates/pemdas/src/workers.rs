//! Where the commands evaluate blueprints: in worker processes of this same binary, behind the walls and within the limits of the
//! operator. Whoever checks a blueprint need not trust it.

use std::{io, sync::Arc, time::Duration};

use pemdas_nickel::{Evaluator, Failure, Limits, Loaded, Patient, Sources, WorkerCommand, outline};

/// What answers for a blueprint in a command.
pub(crate) type Evaluation = Patient<Arc<dyn Evaluator + Send + Sync>>;

/// How many evaluations may be stopped before no more is asked: one of many together, and the guilty one alone.
const STOPS: u32 = 2;
/// How long the evaluations of a command may take together.
const TIME: Duration = Duration::from_secs(600);

/// How a worker is started.
pub(crate) fn command() -> io::Result<WorkerCommand> {
    Ok(WorkerCommand { program: std::env::current_exe()?, arguments: vec![crate::WORKER.into()] })
}

/// How much a blueprint may use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// As the operator has it.
    Usual,
    /// A minute for each request: how fast this machine is must not matter, because steps are counted.
    Unhurried,
}

impl Pace {
    fn limits(self) -> Limits {
        let usual = Limits::default();
        let millis = match self {
            Self::Usual => usual.millis,
            Self::Unhurried => 60_000,
        };
        // Too large is a mistake to report with all others, not a reason to look no further.
        Limits { millis, source_bytes: outline::MAX_BYTES * 2, ..usual }
    }

    fn time(self) -> Duration {
        match self {
            Self::Usual => TIME,
            Self::Unhurried => Duration::MAX,
        }
    }
}

/// Loads a blueprint, and reports everything that is wrong with it.
pub(crate) fn load(sources: &Sources, pace: Pace) -> Loaded<Evaluation> {
    let loaded = start(sources, pace).map(|it| (it.clone(), Patient::new(it, STOPS, pace.time())));
    Loaded::told(loaded, sources, pace.limits())
}

/// An evaluator of files.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn evaluator(sources: &Sources, pace: Pace) -> Result<Evaluation, Failure> {
    Ok(Patient::new(start(sources, pace)?, STOPS, pace.time()))
}

#[cfg(not(test))]
fn start(sources: &Sources, pace: Pace) -> Result<Arc<dyn Evaluator + Send + Sync>, Failure> {
    use pemdas_nickel::{Pool, PoolConfig};
    use std::sync::OnceLock;

    /// For whom: all blueprints on a command line are of one person, and each has a process of its own anyway.
    const IDENTITY: &str = "command line";
    static POOLS: [OnceLock<Pool>; 2] = [OnceLock::new(), OnceLock::new()];
    let pool = &POOLS[match pace {
        Pace::Usual => 0,
        Pace::Unhurried => 1,
    }];
    let pool = match pool.get() {
        Some(pool) => pool,
        None => {
            let command = command().map_err(|why| Failure::Unavailable { reason: why.to_string() })?;
            pool.get_or_init(|| Pool::new(PoolConfig { limits: pace.limits(), ..PoolConfig::new(command) }))
        }
    };
    Ok(Arc::new(pool.load(IDENTITY, sources)?))
}

/// The program of a unit test cannot be a worker.
#[cfg(test)]
fn start(sources: &Sources, pace: Pace) -> Result<Arc<dyn Evaluator + Send + Sync>, Failure> {
    Ok(Arc::new(pemdas_nickel::InProcess::load(sources, &pace.limits())?))
}
