//! An operator for the two shapes of the benchmark, written by hand and with care: the limit of what a general one can
//! reach. One thread, one watch for each kind (of children only their metadata), server-side apply, no request that is
//! not needed: the applies of an instance and one status.
//!
//! `hand-written fan-out` or `hand-written chain`; the cluster is that of `KUBECONFIG`.
#![allow(clippy::print_stderr, reason = "a program for people speaks to the terminal")]

mod desired;
mod seen;
mod work;

use std::collections::{HashMap, HashSet, VecDeque};
use std::process::ExitCode;

use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use kube::Client;

use desired::Shape;
use seen::{Change, RootKey, Seen};
use work::Done;

/// How many instances are worked on at once: more only makes the API server queue.
const AT_ONCE: usize = 16;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let shape = match std::env::args().nth(1).as_deref() {
        Some("fan-out") => Shape::FanOut,
        Some("chain") => Shape::Chain,
        _ => {
            eprintln!("hand-written fan-out | chain");
            return ExitCode::FAILURE;
        }
    };
    match Client::try_default().await {
        Ok(client) => {
            Operator::new(client, shape).run().await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

struct Operator {
    client: Client,
    shape: Shape,
    seen: Seen,
    /// Instances that something changed for, in order, each once.
    queue: VecDeque<RootKey>,
    queued: HashSet<RootKey>,
    /// Instances that are worked on; what happens to them meanwhile is looked at afterwards.
    busy: HashMap<RootKey, bool>,
    running: FuturesUnordered<BoxFuture<'static, Done>>,
}

impl Operator {
    fn new(client: Client, shape: Shape) -> Self {
        Self {
            client,
            shape,
            seen: Seen::default(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
            busy: HashMap::new(),
            running: FuturesUnordered::new(),
        }
    }

    async fn run(mut self) {
        let mut changes = seen::changes(&self.client, self.shape);
        let mut terminated = terminated();
        loop {
            tokio::select! {
                biased;
                () = &mut terminated => return,
                Some(done) = self.running.next() => self.finish(done),
                Some(change) = changes.next() => self.learn(change),
            }
            self.start();
        }
    }

    fn learn(&mut self, change: Change) {
        for root in self.seen.learn(change) {
            self.wake(root);
        }
    }

    fn wake(&mut self, root: RootKey) {
        if let Some(again) = self.busy.get_mut(&root) {
            *again = true;
        } else if self.queued.insert(root.clone()) {
            self.queue.push_back(root);
        }
    }

    fn start(&mut self) {
        // Before everything was listed once, what is missing may only not have been seen.
        if !self.seen.is_complete(self.shape) {
            return;
        }
        while self.running.len() < AT_ONCE {
            let Some(root) = self.queue.pop_front() else { return };
            self.queued.remove(&root);
            if let Some(plan) = self.seen.plan(self.shape, &root) {
                self.busy.insert(root, false);
                self.running.push(Box::pin(plan.carry_out(self.client.clone())));
            }
        }
    }

    fn finish(&mut self, done: Done) {
        let again = self.busy.remove(&done.root).unwrap_or_default();
        let root = done.root.clone();
        let failed = done.failed;
        self.seen.wrote(done);
        if again || failed {
            self.wake(root);
        }
    }
}

/// When we are asked to end.
fn terminated() -> BoxFuture<'static, ()> {
    Box::pin(async {
        let signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        match signal {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    })
}
