//! One pass over the nodes: what the rules share.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    Cause, Conditions, Decision, Mode, NodeState,
    desired::Kept,
    edges::Taken,
    facts::Facts,
    inventory::Inventory,
    reason,
    remembered::{self, Memory},
};
use crate::{
    action::Action,
    blueprint::Function,
    digest::Digest,
    evaluate::{Answer, Argument, Form, Question, projected},
    graph::Vertex,
    ledger::{End, Ledger, Slot},
    program::Program,
    secrets::Secrets,
    truth::Truth,
    world::{KindKey, LedgerFact, Live, OUR_PREFIX, ObjectKey, OwnWrite, Refused, Touch, World, manager},
};

/// A value that somebody else keeps: shared, never copied.
#[derive(Debug, Clone)]
pub(super) enum Data {
    Live(Arc<Live>),
    Answer(Arc<Answer>),
    Value(Arc<Value>),
}

impl Data {
    pub(super) fn value(&self) -> &Value {
        match self {
            Self::Live(live) => &live.body,
            Self::Answer(answer) => match &**answer {
                Answer::Value(value) | Answer::Partial(value, _) => value,
                _ => &Value::Null,
            },
            Self::Value(value) => value,
        }
    }
}

impl Data {
    /// Why a field of it could not be evaluated.
    pub(super) fn failed(&self) -> Option<&str> {
        match self {
            Self::Answer(answer) => match &**answer {
                Answer::Partial(_, why) => Some(why),
                _ => None,
            },
            Self::Live(_) | Self::Value(_) => None,
        }
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        let same = match (self, other) {
            (Self::Live(one), Self::Live(other)) => Arc::ptr_eq(one, other),
            (Self::Answer(one), Self::Answer(other)) => Arc::ptr_eq(one, other),
            (Self::Value(one), Self::Value(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        same || self.value() == other.value()
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Self {
        Self::Value(Arc::new(value))
    }
}

/// What was asked of the evaluator, or could not be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Asked {
    Value(Data),
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
    Present(Data),
}

/// A member of a node, as the nodes after it see it.
#[derive(Debug, Clone, PartialEq)]
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
    /// Which fields of its object the API server dropped.
    pub(super) dropped: Option<String>,
    /// Whether the edges into it are open.
    pub(super) open: Truth,
    /// Of a state: its patch and its key, for the object's step.
    pub(super) patch: Option<Data>,
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
            dropped: None,
            open: Truth::False,
            patch: None,
            state_key: None,
        }
    }

    fn same_beside_found(&self, other: &Self) -> bool {
        let both_there = matches!((&self.found, &other.found), (Found::Present(_), Found::Present(_)));
        (both_there || self.found == other.found)
            && self.settled == other.settled
            && self.ready == other.ready
            && self.key == other.key
            && self.end == other.end
            && self.by_memory == other.by_memory
            && self.open == other.open
            && self.patch == other.patch
            && self.state_key == other.state_key
            && self.causes == other.causes
            && self.dropped == other.dropped
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
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeView {
    pub(super) need: Truth,
    /// By key; a node with one object has it under the empty key.
    pub(super) members: BTreeMap<String, Box<Member>>,
    /// Whether the set of members is known; otherwise the last one stands.
    pub(super) members_known: bool,
    pub(super) collection: bool,
    /// Of a selector: whether the edges into it are open. Those into a `for_each` are where its members are known.
    pub(super) open: Truth,
    /// What is wrong with the node as a whole.
    pub(super) causes: Vec<Cause>,
    /// A digest of the identities of its objects; none while one of them is not known.
    pub(super) token: Option<Digest>,
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
            open: Truth::True,
            causes: Vec::new(),
            token: None,
            selects: None,
        }
    }

    /// Whether another view differs in more than what is found of the objects.
    pub(super) fn differs_beside_found(&self, other: &Self) -> bool {
        self.need != other.need
            || self.members_known != other.members_known
            || self.collection != other.collection
            || self.open != other.open
            || self.token != other.token
            || self.selects != other.selects
            || self.causes != other.causes
            || self.members.len() != other.members.len()
            || self
                .members
                .iter()
                .zip(&other.members)
                .any(|((key, one), (other_key, other))| key != other_key || !one.same_beside_found(other))
    }
}

pub(super) struct Pass<'a> {
    pub(super) program: &'a Program,
    pub(super) facts: Facts<'a>,
    pub(super) mode: Mode,
    pub(super) root: &'a Arc<Live>,
    pub(super) manager: String,
    /// The root as templates see it.
    pub(super) root_input: Arc<Value>,
    /// The question by which the root was admitted.
    pub(super) admitted: Option<Digest>,
    /// The root is not admitted: no node was looked at.
    pub(super) barred: bool,
    /// The ledger as it is; nothing while our last write to it was not seen.
    ledger: Option<&'a Ledger>,
    /// The ledger as it shall be, where that differs.
    next_ledger: Option<Ledger>,
    /// How often something was recorded in it.
    edits: u32,
    pub(super) need: BTreeMap<String, Truth>,
    pub(super) deletion: BTreeMap<String, Truth>,
    pub(super) decided: BTreeMap<Vertex, Truth>,
    /// Conditions that were judged before their node was known to be needed: they are judged again, before anything else.
    pub(super) early: BTreeSet<Vertex>,
    pub(super) nodes: BTreeMap<String, NodeView>,
    pub(super) inventory: Inventory,
    /// What each slot wanted last: the same question need not be digested again.
    pub(super) kept: BTreeMap<Slot, Kept>,
    pub(super) asked: Questions,
    /// What the edges of this step took from the nodes before it.
    pub(super) taken: Vec<Taken>,
    pub(super) actions: Vec<Action>,
    pub(super) wake: Option<u64>,
    /// What stands in the way of removal, and of being ready, apart from the nodes.
    pub(super) instance: Vec<Cause>,
    pub(super) removing: BTreeMap<Slot, NodeState>,
    /// Whether the root's status says what it should.
    pub(super) told_all: bool,
    /// Whether something is to be written besides the report.
    pub(super) moves: bool,
    /// Why that waits, and what, where a human said so.
    pub(super) suspended: Option<String>,
    /// What is wrong with the report.
    pub(super) trouble: Option<super::status::Trouble>,
    /// What may not be told; collected when something is told.
    secrets: OnceCell<Secrets<'a>>,
    /// What the definition of the status drops.
    pub(super) pruned: Option<String>,
}

static NOTHING_RECORDED: Ledger = Ledger {
    entries: BTreeMap::new(),
    seeds: BTreeMap::new(),
    resumed: String::new(),
    deleting: None,
    removing: false,
    older: false,
};

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
        facts: &Facts<'_>,
        revision: &str,
        function: &Function,
        form: Form,
        argument: &dyn Argument,
    ) -> (Digest, Asked) {
        let (digest, input) = projected(facts.secret(), revision, function, form, argument);
        let plain = function.plain.as_ref().filter(|_| !at_length!());
        if let Some(value) = plain.and_then(|it| it.answer(form, argument)) {
            return (digest, Asked::Value(Data::from(value)));
        }
        self.used.insert(digest);
        let question = || Question { digest, path: function.path.clone(), form, input };
        let Some((answer, again)) = facts.answer(digest) else {
            self.open.insert(digest, question());
            return (digest, Asked::Unknown(format!("{} is being evaluated", function.path.join("."))));
        };
        let asked = match &**answer {
            Answer::Value(_) | Answer::Partial(..) => Asked::Value(Data::Answer(answer.clone())),
            Answer::Missing(field) => Asked::Unknown(format!("{field} is missing")),
            Answer::Error(text) if mutant!(ErrorIsUnknown) => Asked::Unknown(text.clone()),
            Answer::Error(text) => Asked::Error(text.clone()),
            Answer::Unknown(text) => {
                match again {
                    Some(again) if again > facts.now() => {
                        self.wake = Some(self.wake.map_or(again, |it| it.min(again)));
                    }
                    _ => {
                        self.open.insert(digest, question());
                    }
                }
                Asked::Unknown(text.clone())
            }
        };
        (digest, asked)
    }
}

impl<'a> Pass<'a> {
    pub(super) fn new(program: &'a Program, world: &'a World, root: &'a Arc<Live>, mode: Mode) -> Self {
        let mut pass = Self::empty(program, world, root, mode, Arc::new(root_input(&root.body)));
        pass.inventory = Inventory::of(world);
        pass
    }

    /// A pass that has looked at nothing yet, not even the inventory.
    pub(super) fn empty(
        program: &'a Program,
        world: &'a World,
        root: &'a Arc<Live>,
        mode: Mode,
        root_input: Arc<Value>,
    ) -> Self {
        let unseen = (world.ledger_write.is_some() && !mutant!(UnseenLedger))
            || super::reclaim::is_unreadable(world, root)
            || remembered::memory(world, root) != Memory::Known;
        let ledger = match &world.ledger {
            _ if unseen => None,
            LedgerFact::Unknown | LedgerFact::Unreadable => None,
            LedgerFact::Absent => Some(&NOTHING_RECORDED),
            LedgerFact::Present { ledger, .. } => Some(&**ledger),
        };
        Self {
            program,
            facts: Facts::new(world),
            mode,
            root,
            manager: manager(&world.root.instance),
            root_input,
            admitted: None,
            barred: false,
            ledger,
            next_ledger: None,
            edits: 0,
            need: BTreeMap::new(),
            deletion: BTreeMap::new(),
            decided: BTreeMap::new(),
            early: BTreeSet::new(),
            nodes: BTreeMap::new(),
            inventory: Inventory::default(),
            kept: BTreeMap::new(),
            asked: Questions::default(),
            taken: Vec::new(),
            actions: Vec::new(),
            wake: None,
            instance: Vec::new(),
            removing: BTreeMap::new(),
            told_all: true,
            moves: false,
            suspended: None,
            trouble: None,
            secrets: OnceCell::new(),
            pruned: None,
        }
    }

    /// A text as everybody may read it.
    pub(super) fn public(&self, text: &str) -> String {
        let secrets = || Secrets::of(self.facts.all(), Some(&self.program.blueprint));
        self.secrets.get_or_init(secrets).mask(text)
    }

    /// What contradicts itself in the world, whatever the nodes say.
    pub(super) fn contradictions(&mut self) {
        self.tell_lost_memory();
        if super::reclaim::is_unreadable(self.facts.all(), self.root) {
            let text = "the ledger of the earlier root cannot be read";
            self.instance.push(Cause::stalled(reason::MEMORY_LOST, text));
        }
    }

    /// Through the nodes and conditions in their order.
    pub(super) fn walk(&mut self) {
        self.begin_need();
        for step in &self.program.steps {
            self.take(step);
            while let Some(condition) = self.early.pop_first() {
                self.take(&condition);
            }
        }
    }

    pub(super) fn take(&mut self, step: &Vertex) {
        match step {
            Vertex::Node(name) if *name == self.program.root => {}
            Vertex::Node(name) => self.step(name),
            Vertex::Condition { from, to, deleting } => self.judge_condition(from, to, *deleting),
        }
    }

    /// The root as templates see it.
    pub(super) fn root_input(&self) -> Arc<Value> {
        self.facts.read(Touch::ROOT_INPUT);
        self.root_input.clone()
    }

    /// The root with all that is on it.
    pub(super) fn root_body(&self) -> Data {
        self.facts.read(Touch::ROOT);
        Data::Live(self.root.clone())
    }

    /// A node before this one; what is found of its objects is noted apart.
    pub(super) fn earlier(&self, name: &str) -> Option<&NodeView> {
        self.facts.read(Touch::node(name));
        self.nodes.get(name)
    }

    /// A node before this one, with what is found of its objects.
    pub(super) fn earlier_found(&self, name: &str) -> Option<&NodeView> {
        self.facts.read(Touch::found(name));
        self.earlier(name)
    }

    pub(super) fn ledger(&self) -> Option<&'a Ledger> {
        self.facts.read(Touch::LEDGER);
        // The root says whether there is one.
        self.facts.read(Touch::ROOT_MARKS);
        self.ledger
    }

    /// The ledger as it shall be, so far.
    pub(super) fn next_ledger(&self) -> &Ledger {
        self.facts.read(Touch::LEDGER);
        self.next_ledger.as_ref().or(self.ledger).unwrap_or(&NOTHING_RECORDED)
    }

    /// The ledger as it shall be, to write in.
    pub(super) fn record(&mut self) -> &mut Ledger {
        self.facts.read(Touch::LEDGER);
        let ledger = self.ledger;
        self.edits += 1;
        self.next_ledger.get_or_insert_with(|| ledger.cloned().unwrap_or_default())
    }

    /// Whether something is to be recorded.
    pub(super) fn records(&self) -> bool {
        self.next_ledger.is_some()
    }

    /// How often something was to be recorded.
    pub(super) fn edits(&self) -> u32 {
        self.edits
    }

    /// What is to be recorded, if it differs from what is on record.
    pub(super) fn take_record(&mut self) -> Option<Ledger> {
        let ledger = self.ledger?;
        self.next_ledger.take().filter(|it| it != ledger)
    }

    pub(super) fn ask(&mut self, function: &Function, form: Form, argument: &dyn Argument) -> Asked {
        self.ask_keyed(function, form, argument).1
    }

    /// The same, with the digest of the question.
    pub(super) fn ask_keyed(
        &mut self,
        function: &Function,
        form: Form,
        argument: &dyn Argument,
    ) -> (Digest, Asked) {
        self.asked.ask(&self.facts, &self.program.revision.name, function, form, argument)
    }

    pub(super) fn wake_at(&mut self, time: u64) {
        self.wake = Some(self.wake.map_or(time, |it| it.min(time)));
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&'a str> {
        self.facts.read(Touch::ROOT_MARKS);
        self.root.annotation(&format!("{OUR_PREFIX}{name}"))
    }

    /// What keeps us from writing to an object now; a look is asked for where an answer was lost.
    pub(super) fn unseen(&mut self, key: &ObjectKey) -> Option<Cause> {
        if mutant!(ActOnOldView) {
            return None;
        }
        match self.facts.unseen_write(key)? {
            OwnWrite::Lost => {
                self.push(Action::Look { key: key.clone() });
                Some(Cause::Pending(format!("what became of the last write to {key} is being looked up")))
            }
            // While a write that is refused again and again is tried once more, nothing has changed.
            _ => self
                .refused_for_long(key)
                .or_else(|| Some(Cause::Pending(format!("our last write to {key} was not seen yet")))),
        }
    }

    pub(super) fn push(&mut self, action: Action) {
        if !self.actions.contains(&action) {
            self.actions.push(action);
        }
    }

    /// Why a write is refused again and again.
    fn refused_for_long(&self, key: &ObjectKey) -> Option<Cause> {
        self.facts.refused(key).filter(|it| it.lasts()).map(Cause::refused)
    }

    /// Sends a write unless the same was refused a short while ago; otherwise why not.
    pub(super) fn try_again(&mut self, action: Action) -> Option<Cause> {
        let refused = action.written().and_then(|key| self.facts.refused(key));
        let refused = refused.filter(|it| it.tried == action.tried());
        let again = refused.map(Refused::again).filter(|it| *it > self.facts.now());
        let cause = refused.filter(|it| again.is_some() || it.lasts()).map(Cause::refused);
        match again {
            Some(again) => self.wake_at(again),
            None => self.push(action),
        }
        cause
    }
}

/// The root as templates see it: without its status and what we or the server write on it.
pub(super) fn root_input(body: &Value) -> Value {
    let mut root = body.clone();
    if mutant!(StatusIsInput) {
        return root;
    }
    if let Some(fields) = root.as_object_mut() {
        fields.remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in UNSEEN_METADATA {
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

/// What the server or we write into the metadata of a root; templates do not see it.
const UNSEEN_METADATA: [&str; 5] =
    ["managedFields", "resourceVersion", "generation", "finalizers", "deletionTimestamp"];

/// Whether two versions of a root are the same for templates; cheaper than [`root_input`] of both.
pub(super) fn same_input(one: &Value, other: &Value) -> bool {
    fn fields(value: &Value, seen: impl Fn(&str) -> bool) -> impl Iterator<Item = (&String, &Value)> {
        value.as_object().into_iter().flatten().filter(move |(name, _)| seen(name))
    }
    if mutant!(StatusIsInput) {
        return one == other;
    }
    let empty = Value::Null;
    let top = |it: &str| it != "status" && it != "metadata";
    let (one_meta, other_meta) =
        (one.get("metadata").unwrap_or(&empty), other.get("metadata").unwrap_or(&empty));
    let meta = |it: &str| !UNSEEN_METADATA.contains(&it) && it != "annotations";
    let theirs = |it: &str| !it.starts_with(OUR_PREFIX);
    let (one_notes, other_notes) =
        (one_meta.get("annotations").unwrap_or(&empty), other_meta.get("annotations").unwrap_or(&empty));
    fields(one, top).eq(fields(other, top))
        && fields(one_meta, meta).eq(fields(other_meta, meta))
        && fields(one_notes, theirs).eq(fields(other_notes, theirs))
}

/// Whether two versions of a root say the same to us: our annotations and finalizers.
pub(super) fn same_marks(one: &Live, other: &Live) -> bool {
    fn ours(live: &Live) -> impl Iterator<Item = (&String, &Value)> {
        let notes = live.body.get("metadata").and_then(|it| it.get("annotations"));
        let notes = notes.and_then(Value::as_object).into_iter().flatten();
        notes.filter(|(name, _)| name.starts_with(OUR_PREFIX))
    }
    ours(one).eq(ours(other)) && one.finalizers == other.finalizers && one.terminating == other.terminating
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
        status_differs: false,
        wake: None,
        interests: Arc::default(),
        used: BTreeMap::new(),
        ignores: false,
        suspended: false,
        older_seals: 0,
    }
}
