//! A scenario being played: the steps one after the other, and what is watched over all the while.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use pemdas_box::Host;
use pemdas_core::{
    shape::{Contracts, Judgement},
    truth::Truth,
    world::CLAIM_ANNOTATION,
};
use pemdas_sim::{Cluster, Resource, Scenario, Time};
use serde_json::{Value, json};

use super::{
    Bench,
    facts::{Fact, Object, namespace_of, served},
    journal::Journal,
    oracle::differing,
    order::Order,
    person::{Made, Person, path_of},
    rollback::inverse,
    script::{Script, What, seconds},
    state::State,
};
use crate::demo::story::{self, Moment};

/// How long nothing is written before the operator counts as at rest, in milliseconds.
pub(crate) const REST: u64 = 60_000;
/// How long a kind is waited for, in milliseconds.
const TO_SERVE: u64 = 300_000;
/// Who the author is in the cluster.
const AUTHOR: &str = "scenario";

/// Something that was expected and is not so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The number of the step; those that begin every scenario have none.
    pub(crate) step: Option<usize>,
    /// What is wrong.
    pub(crate) message: String,
    /// Why it is not as it was expected.
    pub(crate) why: Option<Judgement>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Happening {
    /// When.
    pub(crate) at: Time,
    /// What.
    pub(crate) moment: Moment,
}

/// Something that is watched over.
struct Watch {
    step: usize,
    first: Option<Fact>,
    never: Fact,
    /// Whether what has to come first has come.
    open: bool,
}

/// How a life of the operator ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The scenario is over.
    Over,
    /// The operator is to be started anew.
    Restart,
    /// It cannot go on.
    Failed,
}

/// What became of a step.
enum Went {
    On,
    /// It is looked again when something happens, and at this time at the latest.
    Wait(Time),
    Restart,
    Failed(Failure),
}

/// A scenario being played. It outlives the operator.
pub(crate) struct Playing<'b> {
    bench: &'b Bench,
    script: &'b Script,
    journal: Arc<Journal>,
    scenario: Scenario,
    files: BTreeMap<String, String>,
    /// Objects that still have to be applied.
    open: Vec<Value>,
    prepared: bool,
    at: usize,
    /// When the step began.
    since: Option<Time>,
    /// Objects that outlive their instance, by kind and path.
    orphans: BTreeSet<(String, String)>,
    /// The step of which it was told that it waits.
    waits_at: Option<usize>,
    watches: Vec<Watch>,
    /// Up to which change of the store everything was looked at.
    seen: u64,
    nonce: u32,
    /// How everything was before a change that is to be taken back, and what is changed.
    kept: Option<(State, Option<Value>)>,
    /// In which order things come and go.
    pub(crate) order: Order,
    /// How many writes there were, and when that was seen first.
    rest: (usize, Time),
    /// What happened.
    pub(crate) story: Vec<Happening>,
    /// What went wrong.
    pub(crate) failure: Option<Failure>,
    /// Until when it was played.
    pub(crate) now: Time,
}

impl<'b> Playing<'b> {
    pub(crate) fn new(bench: &'b Bench, script: &'b Script, journal: Arc<Journal>) -> Self {
        let mut open = bench.beside.clone();
        open.push(bench.blueprint(&bench.files));
        open.extend(script.given.iter().cloned());
        Self {
            bench,
            script,
            journal,
            scenario: scenario_of(script),
            files: bench.files.clone(),
            open,
            prepared: false,
            at: 0,
            since: None,
            orphans: BTreeSet::new(),
            waits_at: None,
            watches: Vec::new(),
            seen: 0,
            nonce: 0,
            kept: None,
            order: Order::new(Arc::clone(&bench.measures)),
            rest: (0, Time(0)),
            story: Vec::new(),
            failure: None,
            now: super::arena::BEGINS,
        }
    }

    /// Goes on until the scenario is over, or the operator is to be started anew.
    pub(crate) async fn go(&mut self, host: &Host) -> End {
        loop {
            let happenings = host.happenings();
            let now = host.with(|cluster| {
                self.order.look(cluster);
                self.look(cluster);
                cluster.now()
            });
            self.now = now;
            if self.failure.is_some() {
                return End::Failed;
            }
            if self.prepared && self.at >= self.script.steps.len() {
                return End::Over;
            }
            let began = *self.since.get_or_insert(now);
            let went = if self.prepared { self.step(host, began, now) } else { self.prepare(host, began) };
            match went {
                Went::On => self.next(),
                Went::Restart => {
                    self.next();
                    return End::Restart;
                }
                Went::Failed(failure) => {
                    self.failure = Some(failure);
                    return End::Failed;
                }
                Went::Wait(until) => {
                    self.say_wait(now);
                    let pause = Duration::from_millis(until.0.saturating_sub(now.0).max(1));
                    tokio::select! {
                        biased;
                        () = host.more_than(happenings) => {}
                        () = tokio::time::sleep(pause) => {}
                    }
                }
            }
        }
    }

    /// Tells once for each step what is waited for.
    fn say_wait(&mut self, now: Time) {
        let step = self.script.steps.get(self.at).filter(|_| self.prepared && self.waits_at != Some(self.at));
        let Some(step) = step.filter(|it| matches!(it.what, What::Eventually(..) | What::Settles(_))) else {
            return;
        };
        self.waits_at = Some(self.at);
        let moment = Moment { mark: '?', text: format!("wait: {}", step.what) };
        self.story.push(Happening { at: now, moment });
    }

    fn next(&mut self) {
        if self.prepared {
            self.at += 1;
        }
        self.prepared = true;
        self.since = None;
    }

    /// Looks at every change since the last look: what it says, and whether it may be.
    fn look(&mut self, cluster: &Cluster) {
        let revision = cluster.server().store().revision();
        // What is forgotten by then was too much to be told.
        let changes = cluster.server().store().since(self.seen).unwrap_or_default().to_vec();
        self.seen = revision;
        let contracts = self.bench.contracts(self.script);
        for change in changes {
            let told = story::told(&change, is_of_author);
            if let Some(after) = change.after.as_ref().filter(|it| is_orphan(it)) {
                let kind = text(after, "/kind").to_owned();
                self.orphans.insert((kind, change.key.path.clone()));
            }
            if let Some(moment) = told {
                self.story.push(Happening { at: cluster.now(), moment });
            }
            for watch in &mut self.watches {
                watch.open |= watch.first.as_ref().is_some_and(|it| it.begins(cluster, &change, &contracts));
                let broken = !watch.open && watch.never.begins(cluster, &change, &contracts);
                if broken && self.failure.is_none() {
                    let message = match &watch.first {
                        None => format!("{}, and never should be", watch.never),
                        Some(first) => format!("{} before {first}", watch.never),
                    };
                    self.failure = Some(Failure { step: Some(watch.step), message, why: None });
                }
            }
        }
    }

    fn prepare(&mut self, host: &Host, began: Time) -> Went {
        host.with(|cluster| cluster.set_scenario(self.scenario.clone()));
        let went = self.apply(host, began, None);
        // What every scenario begins with is no part of its story.
        self.seen = host.with(|cluster| cluster.server().store().revision());
        went
    }

    /// Applies what is open, each as soon as its kind is served.
    fn apply(&mut self, host: &Host, began: Time, step: Option<usize>) -> Went {
        let person = Person::new(host.clone(), AUTHOR);
        while let Some(object) = self.open.first() {
            let name = || format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"));
            match person.apply_whole(object) {
                Made::Done | Made::Unchanged => drop(self.open.remove(0)),
                Made::NotServed => {
                    let until = began.after(TO_SERVE);
                    if host.with(|cluster| cluster.now()) < until {
                        return Went::Wait(until);
                    }
                    let message = format!("{}: its kind is not served", name());
                    return Went::Failed(Failure { step, message, why: None });
                }
                Made::Refused(why) => {
                    return Went::Failed(Failure {
                        step,
                        message: format!("{} is refused: {why}", name()),
                        why: None,
                    });
                }
            }
        }
        Went::On
    }

    fn step(&mut self, host: &Host, began: Time, now: Time) -> Went {
        let Some(step) = self.script.steps.get(self.at) else { return Went::On };
        let failed = |message: String| Went::Failed(Failure { step: Some(self.at), message, why: None });
        if began == now && step.what.acts() && !matches!(step.what, What::Pass(_)) && self.open.is_empty() {
            let moment = Moment { mark: '>', text: step.what.to_string() };
            self.story.push(Happening { at: now, moment });
        }
        match &step.what {
            What::Apply(objects) => {
                if began == now && self.open.is_empty() {
                    self.open.clone_from(objects);
                }
                self.apply(host, began, Some(self.at))
            }
            What::Edit(file, old, new) => self.edit(host, began, file, old, new),
            What::Patch(object, with) => {
                self.on(host, object, |person, kind, path| person.patch(kind, path, with))
            }
            What::Keep(object) => {
                self.kept = Some((all(host), self.object(host, object)));
                Went::On
            }
            What::Restore(object, with) => self.restore(host, object, with),
            What::AsKept => self.as_kept(host),
            What::Delete(object) => self.on(host, object, |person, _, path| person.delete(path)),
            What::Resume(object) => {
                self.nonce += 1;
                let with = annotated("pemdas.dev/resume", &format!("scenario-{}", self.nonce));
                self.on(host, object, |person, kind, path| person.patch(kind, path, &with))
            }
            What::Approve(object, node) => self.approve(host, object, node, began),
            What::Pass(millis) => {
                let until = began.after(*millis);
                if now < until { Went::Wait(until) } else { Went::On }
            }
            What::Behave(rules, answers) => {
                self.scenario.rules.splice(0..0, rules.iter().cloned());
                self.scenario.answers.splice(0..0, answers.iter().cloned());
                host.with(|cluster| cluster.set_scenario(self.scenario.clone()));
                Went::On
            }
            What::Restart => Went::Restart,
            What::Eventually(fact, within) => {
                let judgement = self.judge(host, fact);
                let until = began.after(*within);
                match judgement.truth {
                    Truth::True => Went::On,
                    _ if now < until => Went::Wait(until),
                    _ => self.unfulfilled(fact, judgement, &format!(" after {} s", seconds(*within))),
                }
            }
            What::Now(fact) => {
                let judgement = self.judge(host, fact);
                if judgement.truth == Truth::True { Went::On } else { self.unfulfilled(fact, judgement, "") }
            }
            What::Never(fact) => {
                if self.judge(host, fact).truth == Truth::True {
                    return failed(format!("{fact}, and never should be"));
                }
                self.watches.push(Watch { step: self.at, first: None, never: fact.clone(), open: false });
                Went::On
            }
            What::Order(first, before) => {
                let open = self.judge(host, first).truth == Truth::True;
                let (first, never) = (Some(*first.clone()), *before.clone());
                self.watches.push(Watch { step: self.at, first, never, open });
                Went::On
            }
            What::Settles(within) => self.settles(host, began, now, *within),
        }
    }

    /// Changes a text of the blueprint, and applies it.
    fn edit(&mut self, host: &Host, began: Time, file: &str, old: &str, new: &str) -> Went {
        let failed = |message: String| Went::Failed(Failure { step: Some(self.at), message, why: None });
        let Some(source) = self.files.get(file) else {
            return failed(format!("the blueprint has no file {file}"));
        };
        if !source.contains(old) {
            return failed(format!("{file} has no text {old:?} that could be replaced"));
        }
        let changed = source.replace(old, new);
        self.files.insert(file.to_owned(), changed);
        self.open = vec![self.bench.blueprint(&self.files)];
        self.apply(host, began, Some(self.at))
    }

    fn unfulfilled(&self, fact: &Fact, why: Judgement, when: &str) -> Went {
        let message = format!("it is not so{when}: {fact}");
        Went::Failed(Failure { step: Some(self.at), message, why: Some(why) })
    }

    fn judge(&self, host: &Host, fact: &Fact) -> Judgement {
        let contracts = self.bench.contracts(self.script);
        host.with(|cluster| fact.judge(cluster, &contracts as &dyn Contracts))
    }

    /// An object that a step names.
    fn object(&self, host: &Host, object: &Object) -> Option<Value> {
        host.with(|cluster| {
            let resource = served(cluster, object.api_version.as_deref(), &object.kind)?;
            let namespace = namespace_of(&resource, object.namespace.as_deref());
            let key = pemdas_sim::Key::new(&resource.id(), namespace, &object.name);
            cluster.server().store().get(&key).map(|it| Value::clone(it))
        })
    }

    /// Takes a change back.
    fn restore(&mut self, host: &Host, object: &Object, with: &Value) -> Went {
        let was = self.kept.as_ref().and_then(|it| it.1.as_ref());
        let back = inverse(with, was);
        let mut refused = false;
        let went = self.on(host, object, |person, kind, path| {
            let made = person.patch(kind, path, &back);
            refused = matches!(made, Made::Refused(_));
            // The operator may have taken it back already.
            if refused || made == Made::Unchanged { Made::Done } else { made }
        });
        // Some changes may not be taken back, and whoever tries is told so.
        if refused {
            self.kept = None;
        }
        went
    }

    fn as_kept(&self, host: &Host) -> Went {
        let Some((was, _)) = &self.kept else { return Went::On };
        // What is orphaned stays, and is nobody's.
        let (was, is) = (was.clone().without(&self.orphans), all(host).without(&self.orphans));
        let (was, is) = was.without_holders(is);
        // What is done once is done again for what is asked again, and may end otherwise then. A name that was free for a moment
        // belongs to another one now. And the scenario itself may hold something.
        let excused = was.excused(&is);
        match differing(&was.without_these(&excused), &is.without_these(&excused)) {
            None => Went::On,
            Some(how) => {
                let message = format!("a change was taken back, and it is not as before: {how}");
                Went::Failed(Failure { step: Some(self.at), message, why: None })
            }
        }
    }

    /// Does something to an object that a step names.
    fn on(&self, host: &Host, object: &Object, act: impl FnOnce(&Person, &Resource, &str) -> Made) -> Went {
        let failed = |message: String| Went::Failed(Failure { step: Some(self.at), message, why: None });
        let resource = host.with(|cluster| served(cluster, object.api_version.as_deref(), &object.kind));
        let Some(resource) = resource else { return failed(format!("{object}: its kind is not served")) };
        let namespace = namespace_of(&resource, object.namespace.as_deref()).unwrap_or_default();
        let path = format!("{}/{}", path_of(&resource, namespace), object.name);
        match act(&Person::new(host.clone(), AUTHOR), &resource, &path) {
            Made::Done => Went::On,
            Made::Unchanged => {
                failed(format!("{object}: the patch changes nothing, all of its fields are so already"))
            }
            Made::NotServed => failed(format!("{object}: its kind is not served")),
            Made::Refused(why) => failed(format!("{object}: {why}")),
        }
    }

    /// A human reads in the status what is to be approved, and approves it.
    fn approve(&self, host: &Host, object: &Object, node: &str, began: Time) -> Went {
        let asked = host.with(|cluster| {
            let resource = served(cluster, object.api_version.as_deref(), &object.kind)?;
            let namespace = namespace_of(&resource, object.namespace.as_deref());
            let key = pemdas_sim::Key::new(&resource.id(), namespace, &object.name);
            let status = cluster.server().store().get(&key)?["status"].to_string();
            let (_, rest) = status.split_once("waits for approval of ")?;
            Some(rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>())
        });
        let until = began.after(TO_SERVE);
        match asked {
            Some(digest) => {
                let with = annotated(&format!("pemdas.dev/approve.{node}"), &digest);
                self.on(host, object, |person, kind, path| person.patch(kind, path, &with))
            }
            None if host.with(|cluster| cluster.now()) < until => Went::Wait(until),
            None => Went::Failed(Failure {
                step: Some(self.at),
                message: format!("{object} waits for no approval"),
                why: None,
            }),
        }
    }

    fn settles(&mut self, host: &Host, began: Time, now: Time, within: u64) -> Went {
        let writes = self.journal.writes();
        if self.rest.0 != writes || self.rest.1 < began {
            self.rest = (writes, now);
        }
        let at_rest = self.rest.1.after(REST);
        let plays = host.with(|cluster| cluster.next_event().is_some_and(|it| it < at_rest));
        if now >= at_rest && !plays {
            return Went::On;
        }
        let until = began.after(within.max(REST));
        if now < until {
            return Went::Wait(at_rest.max(now.after(1)).min(until));
        }
        let message = format!("the operator still writes after {} s", seconds(within));
        Went::Failed(Failure { step: Some(self.at), message, why: None })
    }
}

/// How the cluster behaves in the beginning.
pub(crate) fn scenario_of(script: &Script) -> Scenario {
    Scenario { rules: script.workloads.clone(), answers: script.services.clone(), ..Scenario::default() }
}

/// How everything is, but for the way that led there.
fn all(host: &Host) -> State {
    host.with(|cluster| State::of(cluster)).without_history(AUTHOR)
}

/// Whether an object stays when its instance has no more use for it.
fn is_orphan(object: &Value) -> bool {
    let at = format!("/metadata/annotations/{}", CLAIM_ANNOTATION.replace('/', "~1"));
    let claim =
        object.pointer(&at).and_then(Value::as_str).and_then(|it| serde_json::from_str::<Value>(it).ok());
    claim.is_some_and(|it| it["orphan"] == true)
}

/// Whether the author wrote an object.
fn is_of_author(object: &Value) -> bool {
    let managers = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    managers.into_iter().flatten().any(|it| it["manager"] == AUTHOR)
}

fn annotated(name: &str, value: &str) -> Value {
    json!({ "metadata": { "annotations": { name: value } } })
}

fn text<'v>(object: &'v Value, at: &str) -> &'v str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}
