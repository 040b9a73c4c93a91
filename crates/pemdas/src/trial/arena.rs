//! Where a trial takes place: a simulated cluster and the operator that lives in it, dies, and lives again.
//!
//! Each life has a runtime of its own with one thread, whose clock stands still while anybody has something to do. When nobody has,
//! it jumps to what is due next. A death drops the runtime with everything in it, as the end of a process would.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use jiff::Timestamp;
use pemdas_box::{Clock, Host, Line};
use pemdas_core::world::Seal;
use pemdas_kube::{connect, key::Keys, limits::Limits, machine::Machine, metrics::Metrics};
use pemdas_sim::{Cluster, Scenario, Time};
use tokio::sync::watch;

use super::{
    journal::{Fault, Journal},
    readers::Readers,
    state::State,
};
use crate::operate::{Operation, Wanted};

/// When every trial begins: 2030-01-01T00:00:00Z.
pub(crate) const BEGINS: Time = Time(1_893_456_000_000);

/// How a life went.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lived<T> {
    /// What was to be done is done.
    Done(T),
    /// The operator died before.
    Died,
}

/// A simulated cluster and the operator in it.
pub(crate) struct Arena {
    seed: u64,
    scenario: Scenario,
    host: Option<Host>,
    lives: u64,
    journal: Arc<Journal>,
    readers: Readers,
}

impl Arena {
    /// A new one. Blueprints that some other trial has read are known already.
    pub(crate) fn new(seed: u64, scenario: Scenario, readers: &Readers, faults: Vec<(usize, Fault)>) -> Self {
        let journal = Arc::new(Journal::with(faults));
        Self { seed, scenario, host: None, lives: 0, journal, readers: readers.clone() }
    }

    /// What the operator sent.
    pub(crate) fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// The cluster, once somebody has lived in it.
    #[cfg(test)]
    pub(crate) fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    /// What there is now.
    pub(crate) fn state(&self) -> State {
        self.host.as_ref().map(|host| host.with(|cluster| State::of(cluster))).unwrap_or_default()
    }

    /// Lets the operator live until something is done, or until it dies.
    ///
    /// # Errors
    /// If this machine does not even give what one thread needs.
    pub(crate) fn live<T>(&mut self, done: impl AsyncFnOnce(Host) -> T) -> std::io::Result<Lived<T>> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
        let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(self.lives);
        self.lives += 1;
        // What spreads pauses asks the thread for chance.
        fastrand::seed(seed);
        Ok(runtime.block_on(async {
            let host = match self.host.take() {
                Some(host) => host.in_a_new_runtime(),
                None => {
                    let cluster = Cluster::new(self.seed, BEGINS, self.scenario.clone());
                    Host::new(cluster, Clock::Runtime)
                }
            };
            self.host = Some(host.clone());
            self.journal.begin();
            let copies = if self.journal.needs_two() { 2 } else { 1 };
            let _operations: Vec<Operation> =
                (0..copies).map(|it| self.operation(&host, seed, it, copies)).collect();
            tokio::select! {
                biased;
                () = self.journal.death() => Lived::Died,
                result = done(host) => Lived::Done(result),
            }
        }))
    }

    /// A copy of the operator; where there are several, one leads.
    fn operation(&self, host: &Host, seed: u64, copy: u64, copies: u64) -> Operation {
        let metrics = Metrics::new();
        let line = Line::new(host.clone(), self.journal.ear());
        let client = connect::over(line, &metrics).client;
        let machine_seed = seed.wrapping_add(copy.wrapping_mul(7_919));
        let now = i64::try_from(host.with(|cluster| cluster.now()).0).unwrap_or_default();
        let machine = Machine::simulated(Timestamp::from_millisecond(now).unwrap_or_default(), machine_seed);
        let compiler = self.readers.under(Arc::clone(&self.journal), machine.clone());
        let wanted = Wanted {
            namespaces: BTreeSet::new(),
            keys: Keys { digests: vec![7; 32], seal: Seal::with(vec![vec![8; 32]]) },
            recheck: Duration::from_secs(300),
            lease_in: (copies > 1).then(|| "default".to_owned()),
            process: format!("trial-{}-{copy}", self.lives),
            report_every: Duration::from_secs(10),
            suspended: false,
            limits: Limits::default(),
            machine,
        };
        let (ready, _) = watch::channel(Vec::new());
        Operation::start(client, Arc::new(compiler), wanted, &metrics, ready)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Arena, Lived};
    use crate::{
        demo::play,
        trial::{
            journal::{Entry, Fault},
            person::{Made, Person},
            readers::Readers,
        },
    };

    /// Plays an example for two simulated minutes, and tells what the operator sent and what is there then.
    fn played(seed: u64, readers: &Readers, faults: Vec<(usize, Fault)>) -> (Vec<Entry>, Vec<String>) {
        let play = play::find("foo-service").unwrap();
        let mut arena = Arena::new(seed, play.script.scenario().unwrap(), readers, faults);
        let mut open: Vec<_> = std::iter::once(play.blueprint("foo-service"))
            .chain(play.objects.iter().map(|it| it.1.clone()))
            .collect();
        let mut left = 120;
        let objects = loop {
            let lived = arena.live(async |host| {
                let person = Person::new(host.clone(), "test");
                while left > 0 {
                    open.retain(|it| match person.create(it) {
                        Made::Done | Made::Unchanged => false,
                        Made::NotServed => true,
                        Made::Refused(why) => panic!("{why}"),
                    });
                    left -= 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                host.with(|cluster| {
                    let all = cluster.server().store().all();
                    all.map(|(key, object)| format!("{key:?} {object}")).collect::<Vec<_>>()
                })
            });
            if let Lived::Done(objects) = lived.unwrap() {
                break objects;
            }
        };
        (arena.journal().entries(), objects)
    }

    #[test]
    fn the_same_seed_gives_the_same_run_to_the_last_request() {
        let readers = Readers::default();
        let (one, first) = played(1, &readers, Vec::new());
        let (other, second) = played(1, &Readers::default(), Vec::new());
        let lines = |all: &[Entry]| all.iter().map(|it| format!("{it}\n")).collect::<String>();
        assert_eq!(lines(&one), lines(&other));
        assert_eq!(first, second);
        assert!(one.iter().any(|it| it.writes() && it.target.contains("deployments/foo")), "{}", lines(&one));
        let (third, _) = played(2, &readers, Vec::new());
        assert_ne!(lines(&one), lines(&third), "another seed is another run");
    }

    #[test]
    fn an_operator_that_dies_lives_again() {
        let readers = Readers::default();
        let (whole, _) = played(1, &readers, Vec::new());
        let write = whole.iter().position(|it| it.target.contains("deployments/foo") && it.writes()).unwrap();
        for fault in [Fault::CrashBefore, Fault::CrashAfter] {
            let (entries, _) = played(1, &readers, vec![(write, fault)]);
            let lines = |all: &[Entry]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(lines(&entries[..write]), lines(&whole[..write]));
            assert_eq!(entries[write].code.is_some(), fault == Fault::CrashAfter);
            assert_eq!(entries[write + 1].life, 1);
            assert!(entries.iter().any(|it| it.life == 1 && it.target.contains("fooservices/foo/status")));
        }
    }
}
