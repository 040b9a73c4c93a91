//! A whole cluster: the API server, its controllers, and time.

use serde_json::Value;

use crate::api::Request;
use crate::controllers::{ALWAYS, Scenario, Workloads};
use crate::read::Watch;
use crate::server::{Reply, Server};
use crate::time::Time;

/// After so many passes without rest the controllers stop: they chase each other.
const MOST_PASSES: usize = 100;

/// A simulated cluster. Time passes only when it is told to.
#[derive(Debug, Clone)]
pub struct Cluster {
    server: Server,
    workloads: Workloads,
    now: Time,
    /// The last change after which the controllers had nothing more to do.
    settled: Option<u64>,
}

impl Cluster {
    /// A new cluster. Everything that happens in it follows from these and from what it is asked.
    #[must_use]
    pub fn new(seed: u64, start: Time, scenario: Scenario) -> Self {
        let server = Server::new(seed, start);
        let mut cluster = Self { server, workloads: Workloads::default(), now: start, settled: None };
        cluster.set_scenario(scenario);
        cluster
    }

    /// Answers a request, and lets the controllers do what follows from it.
    pub fn handle(&mut self, request: &Request) -> Reply {
        let reply = self.server.handle(self.now, request);
        if request.method != crate::Method::Get {
            self.settle();
        }
        reply
    }

    /// Answers a request and lets nothing follow yet: for tests of what clients see in between.
    pub fn handle_only(&mut self, request: &Request) -> Reply {
        self.server.handle(self.now, request)
    }

    /// What has happened since a watch was polled last.
    pub fn poll(&self, watch: &mut Watch) -> Vec<Value> {
        self.server.poll(watch, self.now)
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The API server.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The API server, for whoever injects faults.
    pub fn server_mut(&mut self) -> &mut Server {
        &mut self.server
    }

    /// Says from now on how workloads behave, and what Services answer.
    pub fn set_scenario(&mut self, scenario: Scenario) {
        self.server.set_answers(scenario.answers.clone());
        self.workloads.set(scenario);
        self.settled = None;
        self.settle();
    }

    /// When something will happen by itself, if anything will.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        self.workloads.next_event()
    }

    /// Lets time pass, with everything that happens until then in its order.
    pub fn advance(&mut self, to: Time) {
        while let Some(next) = self.next_event().filter(|next| *next <= to) {
            self.now = self.now.max(next);
            self.settle();
        }
        self.now = self.now.max(to);
        self.settle();
    }

    /// Lets the controllers work until they have nothing to do at this instant.
    pub fn settle(&mut self) {
        let due = self.next_event().is_some_and(|it| it <= self.now);
        if !due && self.settled == Some(self.server.store().revision()) {
            return;
        }
        for _ in 0..MOST_PASSES {
            let mut changed = self.workloads.pass(&mut self.server, self.now);
            for pass in ALWAYS {
                changed |= pass(&mut self.server, self.now);
            }
            if !changed {
                self.settled = Some(self.server.store().revision());
                return;
            }
        }
        self.settled = None;
    }
}
