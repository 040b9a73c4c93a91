//! Rule 4: when an edge is open, and what flows along it.
//!
//! *The accident*: a successor acts because its precursor *was* ready, although the precursor was just changed, is
//! being deleted, or was seen before our own last write.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;

use super::{
    Cause,
    facts::Facts,
    pass::{Asked, Data, Found, Member, Pass, record},
};
use crate::{
    blueprint::{Body, Function, SequenceEdge, WantedShape, WantedShapeForm},
    digest::Digest,
    evaluate::{Form, projected},
    graph::Vertex,
    ledger::{End, Slot},
    path::FieldPath,
    program::Program,
    shape::{Contracts, Judgement, Live as Judged, Shape, Why},
    truth::Truth,
    world::Touch,
};

/// What an edge took from a precursor: the digest of the question says whether it would take the same again.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Taken {
    slot: Slot,
    pub(super) precursor: String,
    question: Digest,
}

/// The edges into a node, or into one member of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edges {
    pub(super) open: Truth,
    pub(super) extracts: BTreeMap<String, Data>,
    /// The extracts that are not known, and why.
    pub(super) missing: BTreeMap<String, String>,
    pub(super) causes: Vec<Cause>,
}

impl Pass<'_> {
    /// Judges the edges into a node or member: first what flows along them, then (a shape may be a function of
    /// that) whether they are open.
    pub(super) fn edges(
        &mut self,
        slot: &Slot,
        before: &BTreeMap<String, SequenceEdge>,
        each: Option<&Value>,
    ) -> Edges {
        let mut edges = Edges {
            open: Truth::True,
            extracts: BTreeMap::new(),
            missing: BTreeMap::new(),
            causes: Vec::new(),
        };
        for (precursor, edge) in before {
            let Some(extract) = &edge.extract else { continue };
            match self.extract(slot, precursor, edge, extract) {
                Asked::Value(value) => {
                    edges.extracts.insert(precursor.clone(), value);
                }
                Asked::Unknown(why) | Asked::Error(why) => {
                    edges.missing.insert(precursor.clone(), why);
                }
            }
        }
        for (precursor, edge) in before {
            let (truth, causes) = self.edge(slot, precursor, edge, &edges, each);
            let truth = if truth != Truth::True && mutant!(EdgesAlwaysOpen) { Truth::True } else { truth };
            edges.open = edges.open.and(truth);
            if truth != Truth::True {
                edges.causes.extend(causes);
            }
        }
        // Data that is not there closes an edge as much as a wrong shape does.
        if let Some((name, why)) = edges.missing.iter().next() {
            edges.open = edges.open.and(Truth::Unknown);
            if edges.causes.is_empty() {
                let reasons = vec![Why::new(FieldPath::root(), why.clone(), "what is taken from it")];
                edges.causes.push(Cause::Waits { on: Slot::new(name, ""), reasons });
            }
        }
        edges
    }

    fn extract(&mut self, slot: &Slot, precursor: &str, edge: &SequenceEdge, function: &Function) -> Asked {
        match self.source(slot, precursor, edge) {
            Found::Present(value) => {
                let (question, asked) = self.ask_keyed(function, Form::Whole, value.value());
                if precursor != self.program.root {
                    let (slot, precursor) = (slot.clone(), precursor.to_owned());
                    self.taken.push(Taken { slot, precursor, question });
                }
                asked
            }
            Found::Absent => {
                self.facts.read(Touch::found(precursor));
                Asked::Unknown(format!("{precursor} is not there"))
            }
            Found::Unknown(why) => {
                self.facts.read(Touch::found(precursor));
                Asked::Unknown(why)
            }
        }
    }

    /// What an edge takes data from.
    fn source(&self, slot: &Slot, precursor: &str, edge: &SequenceEdge) -> Found {
        if precursor == self.program.root {
            return Found::Present(self.root_body());
        }
        let Some(view) = self.earlier(precursor).filter(|it| it.need != Truth::False) else {
            return Found::Unknown(format!("{precursor} is not needed"));
        };
        let members = || view.members.iter().filter(|(key, _)| !edge.each || **key == slot.member);
        let optional =
            matches!(self.program.node(precursor).map(|it| &it.body), Some(Body::Observe(it)) if it.optional);
        let found = if !view.members_known && view.collection {
            Found::Unknown(format!("the members of {precursor} are not known"))
        } else if view.collection && !edge.each {
            together(precursor, members(), optional)
        } else {
            members().next().map_or(Found::Absent, |(_, it)| it.found.clone())
        };
        match found {
            Found::Absent if optional => Found::Present(Data::from(Value::Null)),
            found => found,
        }
    }

    /// Whether a step would still take the same from a precursor whose objects look different now.
    pub(super) fn takes_the_same(&self, vertex: &Vertex, taken: &Taken) -> bool {
        let program = self.program;
        let before = match vertex {
            Vertex::Node(_) => program.node(&taken.slot.node).map(|it| &it.before),
            Vertex::Condition { from, to, deleting } => {
                program.condition(from, to, *deleting).map(|it| &it.before)
            }
        };
        let Some(edge) = before.and_then(|it| it.get(&taken.precursor)) else { return false };
        let (Some(function), Found::Present(value)) =
            (&edge.extract, self.source(&taken.slot, &taken.precursor, edge))
        else {
            return false;
        };
        let (secret, revision) = (self.facts.secret(), &program.revision.name);
        projected(secret, revision, function, Form::Whole, value.value()).0 == taken.question
    }

    fn edge(
        &mut self,
        slot: &Slot,
        precursor: &str,
        edge: &SequenceEdge,
        edges: &Edges,
        each: Option<&Value>,
    ) -> (Truth, Vec<Cause>) {
        let on = Slot::new(precursor, "");
        if precursor == self.program.root {
            let Some(until) = &edge.until else { return (Truth::True, Vec::new()) };
            let found = Found::Present(self.root_body());
            let judgement = self.judge(until, &found, edges, each, None);
            return (judgement.truth, vec![Cause::Waits { on, reasons: judgement.why }]);
        }
        if wants_absence(edge) && self.is_made(precursor) {
            let (gone, mut causes) = self.absence(precursor);
            let (open, more) = match self.earlier(precursor).map_or(Truth::False, |it| it.need) {
                Truth::False => self.passed_on(precursor, &slot.member, edge.each),
                _ => (Truth::True, Vec::new()),
            };
            causes.extend(more);
            return (gone.and(open), causes);
        }
        let view = if edge.until.is_some() || mutant!(ReadyWithoutSettled) {
            self.earlier_found(precursor)
        } else {
            self.earlier(precursor)
        };
        match view.map_or(Truth::False, |it| it.need) {
            Truth::False if edge.extract.is_none() => {
                return self.passed_on(precursor, &slot.member, edge.each);
            }
            Truth::False => {
                return (Truth::Unknown, vec![Cause::Unknown(format!("{precursor} is not needed"))]);
            }
            Truth::Unknown if mutant!(PerhapsNeededIsOpen) => return (Truth::True, Vec::new()),
            Truth::Unknown => {
                let text = format!("whether {precursor} is needed is not known");
                return (Truth::Unknown, vec![Cause::Unknown(text)]);
            }
            Truth::True => {}
        }
        let Some(view) = view else { return (Truth::True, Vec::new()) };
        let mut members: Vec<(String, Box<Member>)> = view
            .members
            .iter()
            .filter(|(key, _)| !edge.each || **key == slot.member)
            .map(|(key, member)| (key.clone(), member.clone()))
            .collect();
        // With `each`, a member whose counterpart may still come waits as the others do.
        let missing = edge.each && members.is_empty() && !mutant!(EachOpensEmpty);
        if !view.members_known && (!edge.each || missing) {
            // Why they are not known is said of the precursor.
            let on = Slot::new(precursor, "");
            return (Truth::Unknown, vec![Cause::Waits { on, reasons: Vec::new() }]);
        }
        if members.is_empty() {
            return self.passed_on(precursor, &slot.member, edge.each);
        }
        if mutant!(OneMemberIsEnough) {
            members.truncate(1);
        }
        let mut open = Truth::True;
        let mut causes = Vec::new();
        for (key, member) in members {
            let on = Slot::new(precursor, &key);
            let (truth, reasons) = self.member_edge(precursor, &key, edge, &member, edges, each);
            open = open.and(truth);
            if truth != Truth::True {
                causes.push(Cause::Waits { on, reasons });
            }
        }
        (open, causes)
    }

    /// What is not needed or has no members passes the order on: what it comes after has to be ready. Its own `until` is not
    /// asked: whoever waits for it said nothing of that, and what it wants may never come while it is not needed.
    fn passed_on(&self, precursor: &str, member: &str, each: bool) -> (Truth, Vec<Cause>) {
        let mut found = (Truth::True, Vec::new());
        if mutant!(OrderEndsWithNeed) {
            return found;
        }
        let (mut open, mut seen) = (vec![(precursor, each)], BTreeSet::new());
        while let Some((at, each)) = open.pop() {
            let view = self.earlier(at).filter(|it| it.need != Truth::False);
            let needed = view.is_some();
            if let Some(view) = view.filter(|it| it.open != Truth::True) {
                found.0 = found.0.and(view.open);
                found.1.push(Cause::Waits { on: Slot::new(at, ""), reasons: Vec::new() });
            }
            for (name, edge) in self.program.directly_before(at) {
                let each = each && edge.is_none_or(|it| it.each);
                // The edges into an empty set of members are asked as they are written, but for those of each member.
                let asked = needed && edge.is_some_and(|it| !it.each);
                if asked || name == self.program.root || !seen.insert((name, each)) {
                    continue;
                }
                if !self.stands_ready(name, each.then_some(member), &mut found) {
                    open.push((name, each));
                }
            }
        }
        found
    }

    /// Notes whether a node, or one member of it, is ready; false where it has nothing that could be.
    fn stands_ready(&self, name: &str, member: Option<&str>, found: &mut (Truth, Vec<Cause>)) -> bool {
        let Some(view) = self.earlier(name).filter(|it| it.need != Truth::False) else { return false };
        if view.need == Truth::Unknown || !view.members_known {
            found.0 = found.0.and(Truth::Unknown);
            found.1.push(if view.need == Truth::Unknown {
                Cause::Unknown(format!("whether {name} is needed is not known"))
            } else {
                Cause::Waits { on: Slot::new(name, ""), reasons: Vec::new() }
            });
            return true;
        }
        let mut members =
            view.members.iter().filter(|(key, _)| member.is_none_or(|it| *key == it)).peekable();
        let any = members.peek().is_some();
        for (key, it) in members {
            let ready = it.settled.and(it.ready);
            found.0 = found.0.and(ready);
            if ready != Truth::True {
                found.1.push(Cause::Waits { on: Slot::new(name, key), reasons: Vec::new() });
            }
        }
        any
    }

    fn member_edge(
        &mut self,
        precursor: &str,
        key: &str,
        edge: &SequenceEdge,
        member: &Member,
        edges: &Edges,
        each: Option<&Value>,
    ) -> (Truth, Vec<Why>) {
        let own = |member: &Member| {
            member
                .causes
                .iter()
                .find_map(|it| match it {
                    Cause::Shape(whys) => Some(whys.clone()),
                    _ => None,
                })
                .unwrap_or_default()
        };
        let once = self.program.node(precursor).is_some_and(|it| it.once.is_some());
        let Some(until) = &edge.until else {
            let truth = if mutant!(ReadyWithoutSettled) && !once && !member.by_memory {
                member.settled.or(Truth::True).and(match &member.found {
                    Found::Present(live) => Shape::Ready.judge(Judged::Present(live.value())).truth,
                    _ => Truth::False,
                })
            } else {
                member.settled.and(member.ready)
            };
            return (truth, own(member));
        };
        if member.by_memory && !once {
            return (Truth::True, Vec::new());
        }
        if once && let WantedShapeForm::Native(shape) = &until.form {
            let ended = match shape {
                Shape::Failed => Some(member.end == Some(End::Failed)),
                Shape::Finished => Some(matches!(member.end, Some(End::Failed | End::Passed))),
                Shape::Complete | Shape::Ready => Some(member.end == Some(End::Passed)),
                _ => None,
            };
            if let Some(ended) = ended {
                return (Truth::from(ended).and(member.settled.or(ended.into())), own(member));
            }
        }
        let judgement = match self.shape_of(until, edges, each, None) {
            Ok(shape)
                if shape.names_absence()
                    && self.is_absent(precursor, key, member)
                    && !mutant!(AbsenceIsAWord) =>
            {
                let judgement = self.judge_shape(&shape, &Found::Absent);
                if judgement.truth == Truth::True {
                    return (Truth::True, Vec::new());
                }
                judgement
            }
            Ok(shape) => self.judge_shape(&shape, &member.found),
            Err(not_yet) => not_yet,
        };
        let settled = if once { Truth::from(member.end.is_some()) } else { member.settled };
        let settled = if mutant!(UntilWithoutSettled) { Truth::True } else { settled };
        // What is not known because it waits itself says why in its own place.
        let waits = member.causes.iter().any(|it| matches!(it, Cause::Waits { .. }));
        let elsewhere = waits && matches!(member.found, Found::Unknown(_));
        let why = if judgement.truth == Truth::True || elsewhere { own(member) } else { judgement.why };
        (judgement.truth.and(settled), why)
    }

    /// Waiting for the absence of something that a node makes or makes go: always by the live objects, also when
    /// the node is no longer needed and its object is on its way out.
    fn absence(&mut self, precursor: &str) -> (Truth, Vec<Cause>) {
        let on = Slot::new(precursor, "");
        let kind = self
            .program
            .node(precursor)
            .and_then(|it| it.body.identity())
            .and_then(|it| Some(crate::world::KindKey::new(it.api_version.known()?, it.kind.known()?)));
        if let Some(why) = kind.and_then(|kind| self.facts.blind(&kind)) {
            return (Truth::Unknown, vec![Cause::Unknown(why)]);
        }
        let key = self.earlier(precursor).and_then(|it| it.members.get("")).and_then(|it| it.key.clone());
        let there = self.claims_of(precursor).next().map(|(key, _)| key.clone());
        let there = there.or_else(|| key.filter(|it| self.facts.object(it).is_some()));
        if mutant!(AbsenceNeedsNeed) && self.needed(precursor) == Truth::False {
            return (Truth::True, Vec::new());
        }
        match there {
            None => (Truth::True, Vec::new()),
            Some(key) => {
                let why = Why::new(FieldPath::root(), format!("{key} exists"), "absent");
                (Truth::False, vec![Cause::Waits { on, reasons: vec![why] }])
            }
        }
    }

    /// Whether a member of a node that makes or observes an object certainly has none: then nothing of it has to settle,
    /// whatever it waits for itself.
    fn is_absent(&self, precursor: &str, key: &str, member: &Member) -> bool {
        let (Some(node), Some(object)) = (self.program.node(precursor), &member.key) else { return false };
        match &node.body {
            Body::Template(_) if node.once.is_none() => {
                let made = self.claims_of(precursor).any(|(_, item)| item.claim.member == key);
                !made && self.found_ours(object) == Found::Absent
            }
            Body::Observe(_) => member.found == Found::Absent,
            _ => false,
        }
    }

    fn is_made(&self, name: &str) -> bool {
        self.program.node(name).is_some_and(|it| matches!(it.body, Body::Template(_)))
    }

    /// Judges a shape on what was found. A function in its place sees what its carrier sees: `own` is its object.
    pub(super) fn judge(
        &mut self,
        wanted: &WantedShape,
        found: &Found,
        edges: &Edges,
        each: Option<&Value>,
        own: Option<&Found>,
    ) -> Judgement {
        match self.shape_of(wanted, edges, each, own) {
            Ok(shape) => self.judge_shape(&shape, found),
            Err(not_yet) => not_yet,
        }
    }

    fn shape_of(
        &mut self,
        wanted: &WantedShape,
        edges: &Edges,
        each: Option<&Value>,
        own: Option<&Found>,
    ) -> Result<Shape, Judgement> {
        let not_yet = |why: String| Judgement::unknown(Why::new(FieldPath::root(), why, "a shape"));
        match &wanted.form {
            WantedShapeForm::Native(shape) => Ok(shape.clone()),
            WantedShapeForm::Contract(contract) => Ok(Shape::Contract(contract.path.clone())),
            WantedShapeForm::Function(function) => {
                let the = self.the(function, edges, each, own).map_err(|cause| not_yet(cause.to_string()))?;
                match self.ask(function, Form::Whole, &the) {
                    Asked::Value(value) => {
                        Shape::from_value(value.value()).map_err(|problem| not_yet(problem.to_string()))
                    }
                    Asked::Unknown(why) | Asked::Error(why) => Err(not_yet(why)),
                }
            }
        }
    }

    pub(super) fn judge_shape(&mut self, shape: &Shape, found: &Found) -> Judgement {
        let asked = RefCell::new(std::mem::take(&mut self.asked));
        let contracts = AskedContracts { facts: &self.facts, program: self.program, asked };
        let mut judgement = match found {
            Found::Unknown(why) => shape.judge_with(Judged::Unknown(why), &contracts),
            Found::Absent => shape.judge_with(Judged::Absent, &contracts),
            Found::Present(live) => shape.judge_with(Judged::Present(live.value()), &contracts),
        };
        self.asked = contracts.asked.into_inner();
        if let Found::Present(live) = found
            && holds_secrets(live.value())
        {
            judgement.why.iter_mut().for_each(conceal);
        }
        judgement
    }
}

fn wants_absence(edge: &SequenceEdge) -> bool {
    matches!(&edge.until, Some(WantedShape { form: WantedShapeForm::Native(Shape::Absent), .. }))
}

/// The members of a collection as one record; not known if one of them is not. One that may be missing is null then.
fn together<'m>(
    precursor: &str,
    members: impl Iterator<Item = (&'m String, &'m Box<Member>)>,
    optional: bool,
) -> Found {
    let mut all = Vec::new();
    for (key, member) in members {
        match &member.found {
            Found::Present(live) => all.push((key.clone(), live.value().clone())),
            Found::Absent if optional => all.push((key.clone(), Value::Null)),
            Found::Absent => return Found::Unknown(format!("{precursor}[{key}] is not there")),
            Found::Unknown(why) => return Found::Unknown(why.clone()),
        }
    }
    Found::Present(Data::from(record(all)))
}

/// Contracts inside shapes are questions too.
struct AskedContracts<'a> {
    facts: &'a Facts<'a>,
    program: &'a Program,
    asked: RefCell<super::pass::Questions>,
}

impl Contracts for AskedContracts<'_> {
    fn judge(&self, contract: &[String], value: &Value) -> Option<Result<(), String>> {
        let whole = crate::blueprint::Read { path: Vec::new(), span: self.program.blueprint.span.clone() };
        let function = Function {
            path: contract.to_vec(),
            span: self.program.blueprint.span.clone(),
            reads: vec![whole],
            plain: None,
        };
        let revision = &self.program.revision.name;
        match self.asked.borrow_mut().ask(self.facts, revision, &function, Form::Contract, value).1 {
            Asked::Value(it) if *it.value() == Value::Bool(true) => Some(Ok(())),
            Asked::Value(other) => Some(Err(other.value().as_str().unwrap_or("it does not fit").to_owned())),
            Asked::Error(why) => Some(Err(why)),
            Asked::Unknown(_) => None,
        }
    }
}

/// Whether a value is a Secret, or a collection of them.
fn holds_secrets(value: &Value) -> bool {
    let is_secret = |it: &Value| it.get("kind").is_some_and(|kind| kind == "Secret");
    is_secret(value) || value.as_object().is_some_and(|it| it.values().any(is_secret))
}

/// Says where something is not as wanted, and neither what is there nor what should be.
fn conceal(why: &mut Why) {
    let public = ["metadata", "type", "immutable", "kind", "apiVersion"];
    if why.path.parts().iter().any(|it| public.contains(&it.as_str())) {
        return;
    }
    "not as wanted".clone_into(&mut why.is);
    "what is not shown".clone_into(&mut why.wants);
}
