//! One pass over the nodes: what the rules share.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{Cause, Conditions, Decision, Mode, NodeState, reason};
use crate::{
    action::Action,
    blueprint::Function,
    digest::Digest,
    evaluate::{Answer, Form, Question, question},
    graph::Vertex,
    ledger::{End, Ledger, Slot},
    program::Program,
    truth::Truth,
    world::{
        Claim, KindKey, LedgerFact, Live, OUR_PREFIX, ObjectKey, OwnWrite, Owner, World, manager, owner,
    },
};

/// What was asked of the evaluator, or could not be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Asked {
    Value(Value),
    /// Not known (yet): nothing may follow from it.
    Unknown(String),
    /// A human must mend the blueprint or the root.
    Error(String),
}

/// What edges judge and extract from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    Unknown(String),
    Absent,
    Present(Value),
}

/// A member of a node, as the nodes after it see it.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) key: Option<ObjectKey>,
    pub(super) found: Found,
    pub(super) settled: Truth,
    pub(super) ready: Truth,
    /// Of a once: how its current attempt ended. Its edges are judged by this, not by the object.
    pub(super) end: Option<End>,
    /// Settled and ready by what is recorded, whatever the object looks like.
    pub(super) by_memory: bool,
    pub(super) causes: Vec<Cause>,
    /// Whether the edges into it are open.
    pub(super) open: Truth,
    /// Of a state: its patch and its key, for the object's step.
    pub(super) patch: Option<Value>,
    pub(super) state_key: Option<Digest>,
}

impl Member {
    pub(super) fn new(key: Option<ObjectKey>) -> Self {
        Self {
            key,
            found: Found::Absent,
            settled: Truth::False,
            ready: Truth::False,
            end: None,
            by_memory: false,
            causes: Vec::new(),
            open: Truth::False,
            patch: None,
            state_key: None,
        }
    }

    /// Something of it is not known: so is everything that follows.
    pub(super) fn unknown(mut self, cause: Cause) -> Self {
        let text = cause.to_string();
        self.settled = Truth::Unknown;
        self.ready = Truth::Unknown;
        if !matches!(self.found, Found::Present(_)) {
            self.found = Found::Unknown(text);
        }
        self.causes.push(cause);
        self
    }
}

/// A node, as the nodes after it see it.
#[derive(Debug, Clone)]
pub(super) struct NodeView {
    pub(super) need: Truth,
    /// By key; a node with one object has it under the empty key.
    pub(super) members: BTreeMap<String, Member>,
    /// Whether the set of members is known; otherwise the last one stands.
    pub(super) members_known: bool,
    pub(super) collection: bool,
    /// What is wrong with the node as a whole.
    pub(super) causes: Vec<Cause>,
    /// Of a selector: the kind, and the namespace where it is one.
    pub(super) selects: Option<(KindKey, Option<String>)>,
}

impl NodeView {
    pub(super) fn new(need: Truth) -> Self {
        Self {
            need,
            members: BTreeMap::new(),
            members_known: true,
            collection: false,
            causes: Vec::new(),
            selects: None,
        }
    }
}

pub(super) struct Pass<'a> {
    pub(super) program: &'a Program,
    pub(super) world: &'a World,
    pub(super) mode: Mode,
    pub(super) root: &'a Live,
    pub(super) manager: String,
    pub(super) root_input: Value,
    /// The ledger as it is; nothing while our last write to it was not seen.
    pub(super) ledger: Option<Ledger>,
    /// The ledger as it shall be.
    pub(super) next_ledger: Ledger,
    pub(super) need: BTreeMap<String, Truth>,
    pub(super) deletion: BTreeMap<String, Truth>,
    pub(super) decided: BTreeMap<Vertex, Truth>,
    pub(super) nodes: BTreeMap<String, NodeView>,
    pub(super) inventory: BTreeMap<ObjectKey, (Arc<Live>, Claim)>,
    pub(super) asked: Questions,
    pub(super) actions: Vec<Action>,
    pub(super) wake: Option<u64>,
    /// What stands in the way of removal, and of being ready, apart from the nodes.
    pub(super) instance: Vec<Cause>,
    pub(super) removing: BTreeMap<Slot, NodeState>,
}

/// The questions of a pass, and what it used.
#[derive(Default)]
pub(super) struct Questions {
    pub(super) open: BTreeMap<Digest, Question>,
    pub(super) used: BTreeSet<Digest>,
    pub(super) wake: Option<u64>,
}

impl Questions {
    pub(super) fn ask(
        &mut self,
        world: &World,
        revision: &str,
        function: &Function,
        form: Form,
        argument: &Value,
    ) -> Asked {
        let question = question(&world.secret, revision, function, form, argument);
        self.used.insert(question.digest);
        match world.answers.get(question.digest) {
            None => {
                let text = format!("{} is being evaluated", function.path.join("."));
                self.open.insert(question.digest, question);
                Asked::Unknown(text)
            }
            Some((Answer::Value(value), _)) => Asked::Value(value.clone()),
            Some((Answer::Missing(field), _)) => Asked::Unknown(format!("{field} is missing")),
            Some((Answer::Error(text), _)) if mutant!(ErrorIsUnknown) => Asked::Unknown(text.clone()),
            Some((Answer::Error(text), _)) => Asked::Error(text.clone()),
            Some((Answer::Unknown(text), again)) => {
                match again {
                    Some(again) if again > world.now => {
                        self.wake = Some(self.wake.map_or(again, |it| it.min(again)));
                    }
                    _ => {
                        self.open.insert(question.digest, question);
                    }
                }
                Asked::Unknown(text.clone())
            }
        }
    }
}

impl<'a> Pass<'a> {
    pub(super) fn run(program: Option<&Program>, world: &World) -> Decision {
        if !world.lease.held {
            return idle(&Cause::Pending("another process leads".to_owned()));
        }
        let recorded = world.ledger_or_empty();
        let Some(root) = &world.root.live else {
            if world.root.seen_going || recorded.deleting.is_some() || mutant!(EatStrays) {
                return super::deletion::remove(program, world);
            }
            let text = format!("{} is not there, and was not seen going", world.root.key);
            return idle(&Cause::stalled(reason::STRAY, text));
        };
        if world.ledger == LedgerFact::Unknown {
            return idle(&Cause::Unknown("the ledger is not read yet".to_owned()));
        }
        let going = root.terminating || !world.root.selected || recorded.deleting.is_some();
        if !going {
            let Some(program) = program else {
                let text = "no revision of the blueprint can run";
                return idle(&Cause::stalled(reason::ERROR, text));
            };
            let mut pass = Pass::new(program, world, root, Mode::Present);
            pass.present();
            return pass.finish();
        }
        super::deletion::delete(program, world, root)
    }

    pub(super) fn new(program: &'a Program, world: &'a World, root: &'a Live, mode: Mode) -> Self {
        let unseen = world.ledger_write.is_some() && !mutant!(UnseenLedger);
        let readable = !matches!(world.ledger, LedgerFact::Unknown | LedgerFact::Unreadable);
        let ledger = (readable && !unseen).then(|| world.ledger_or_empty());
        let mut pass = Self {
            program,
            world,
            mode,
            root,
            manager: manager(&world.root.instance),
            root_input: root_input(&root.body),
            next_ledger: ledger.clone().unwrap_or_default(),
            ledger,
            need: BTreeMap::new(),
            deletion: BTreeMap::new(),
            decided: BTreeMap::new(),
            nodes: BTreeMap::new(),
            inventory: BTreeMap::new(),
            asked: Questions::default(),
            actions: Vec::new(),
            wake: None,
            instance: Vec::new(),
            removing: BTreeMap::new(),
        };
        pass.take_inventory();
        if world.ledger == LedgerFact::Unreadable {
            pass.instance.push(Cause::stalled(reason::UNREADABLE, "the ledger cannot be read"));
        }
        pass
    }

    fn take_inventory(&mut self) {
        for (key, live) in &self.world.objects {
            match owner(live, &self.world.root.instance) {
                Owner::Us(claim) => {
                    self.inventory.insert(key.clone(), (live.clone(), *claim));
                }
                Owner::Unreadable => {
                    let text = format!("{key} has our label and an annotation that cannot be read");
                    self.instance.push(Cause::stalled(reason::UNREADABLE, text));
                }
                Owner::Nobody | Owner::Another { .. } => {}
            }
        }
    }

    /// Mode present: reach the target state.
    fn present(&mut self) {
        self.walk();
        self.remove_unneeded();
    }

    /// Through the nodes and conditions in their order.
    pub(super) fn walk(&mut self) {
        self.begin_need();
        let program = self.program;
        for step in &program.steps {
            match step {
                Vertex::Node(name) if *name == program.root => {}
                Vertex::Node(name) => self.step(name),
                Vertex::Condition { from, to, deleting } => self.judge_condition(from, to, *deleting),
            }
        }
    }

    pub(super) fn ask(&mut self, function: &Function, form: Form, argument: &Value) -> Asked {
        self.asked.ask(self.world, &self.program.revision.name, function, form, argument)
    }

    pub(super) fn wake_at(&mut self, time: u64) {
        self.wake = Some(self.wake.map_or(time, |it| it.min(time)));
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&'a str> {
        self.root.annotation(&format!("{OUR_PREFIX}{name}"))
    }

    /// What keeps us from writing to an object now; a look is asked for where an answer was lost.
    pub(super) fn unseen(&mut self, key: &ObjectKey) -> Option<Cause> {
        if mutant!(ActOnOldView) {
            return None;
        }
        match self.world.unseen_write(key)? {
            OwnWrite::Lost => {
                self.push(Action::Look { key: key.clone() });
                Some(Cause::Pending(format!("what became of the last write to {key} is being looked up")))
            }
            _ => Some(Cause::Pending(format!("our last write to {key} was not seen yet"))),
        }
    }

    pub(super) fn push(&mut self, action: Action) {
        if !self.actions.contains(&action) {
            self.actions.push(action);
        }
    }

    /// Whether a refused write may be tried again; otherwise why not.
    pub(super) fn back_off(&mut self, action: &Action) -> Option<Cause> {
        let key = action.written()?;
        let refused = self.world.refused.get(key)?;
        if refused.tried != action.tried() || refused.again() <= self.world.now {
            return None;
        }
        let again = refused.again();
        self.wake_at(again);
        Some(Cause::Refused { message: format!("{:?}", refused.refusal), again })
    }
}

/// The root as templates see it: without its status and what we or the server write on it.
fn root_input(body: &Value) -> Value {
    let mut root = body.clone();
    if mutant!(StatusIsInput) {
        return root;
    }
    if let Some(fields) = root.as_object_mut() {
        fields.remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["managedFields", "resourceVersion", "generation", "finalizers", "deletionTimestamp"]
            {
                metadata.remove(field);
            }
            let empty = metadata.get_mut("annotations").and_then(Value::as_object_mut).is_some_and(|it| {
                it.retain(|name, _| !name.starts_with(OUR_PREFIX));
                it.is_empty()
            });
            if empty {
                metadata.remove("annotations");
            }
        }
    }
    root
}

pub(super) fn record(fields: impl IntoIterator<Item = (String, Value)>) -> Value {
    Value::Object(fields.into_iter().collect::<Map<_, _>>())
}

pub(super) fn idle(cause: &Cause) -> Decision {
    let stalled = match cause {
        Cause::Stalled { .. } => vec![cause.to_string()],
        _ => Vec::new(),
    };
    Decision {
        mode: Mode::Idle,
        actions: Vec::new(),
        conditions: Conditions { ready: false, reconciling: stalled.is_empty(), stalled },
        nodes: BTreeMap::new(),
        status: None,
        wake: None,
        interests: super::Interests::default(),
        used: BTreeSet::new(),
    }
}
