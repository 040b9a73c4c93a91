//! Pemdas' own part of a status, in the structure that drafted definitions have for it.
//!
//! *The accident*: a time that is written anew with every pass makes every status differ from the last, and the
//! instance writes for ever. So times are taken over from the status that is there, as long as what they speak of holds.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    Cause, Conditions, Phase, chain,
    report::{LOWERED, MAX_STATUS_NODES, STATUS_FAILED},
    suspended::SUSPENDED,
    tally::Tally,
};
use crate::{crd::STATUS_VERSION, ledger::Slot, moment::timestamp, text};

/// How long the message of a condition may be.
const MAX_MESSAGE: usize = 4_096;
/// How many conditions of an author are taken.
const MAX_AUTHORED: usize = 40;

/// The condition that tells of fields of a status that its definition drops.
pub(crate) const STATUS_PRUNED: &str = "StatusPruned";
/// The conditions that Pemdas writes.
const OURS: [&str; 5] = ["Ready", "Reconciling", "Stalled", "Reported", STATUS_PRUNED];

/// What a status is made of.
pub(super) struct Parts<'a> {
    /// The fields of the author.
    pub(super) author: Value,
    /// The conditions of the author, by type.
    pub(super) authored: Option<Value>,
    pub(super) conditions: &'a Conditions,
    pub(super) tally: &'a Tally,
    /// The word for what stalls the instance as a whole.
    pub(super) stalled: Option<&'static str>,
    pub(super) generation: Option<i64>,
    pub(super) revision: &'a str,
    /// What the instance itself waits for, whatever its nodes do.
    pub(super) waits: Option<String>,
    /// Whether the author's fields were refused by the server, and so are left out.
    pub(super) unfit: bool,
    /// Why a function of the author fails.
    pub(super) failed: Option<String>,
    /// Where a Service is asked for a report: whether there is one, and what is wrong.
    pub(super) report: Option<(bool, Option<Trouble>)>,
    /// What is said of fields that the definition drops.
    pub(super) pruned: Option<String>,
    /// Why nothing is written, and what waits for that.
    pub(super) suspended: Option<String>,
    /// The status that is there.
    pub(super) before: Option<&'a Value>,
    /// The time in milliseconds.
    pub(super) now: u64,
    /// What may be told of a text.
    pub(super) public: &'a dyn Fn(&str) -> String,
}

/// What is wrong with a report: one word and one sentence.
pub(super) type Trouble = (&'static str, String);

/// The whole status.
pub(super) fn whole(mut parts: Parts<'_>) -> Value {
    let mut status = match std::mem::take(&mut parts.author) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let now = timestamp(parts.now);
    let authored = authored(parts.authored.as_ref());
    // An author's word may lower Ready, never raise it.
    let lowered = authored.iter().find(|it| it.name == "Ready" && it.status != "True");
    let refused = parts.unfit.then(|| Condition {
        name: "Ready".to_owned(),
        status: "False",
        reason: "StatusRefused".to_owned(),
        message: "the fields that the blueprint gives to the status do not fit its CRD".to_owned(),
    });
    let failed = parts.failed.as_ref().map(|why| Condition {
        name: "Ready".to_owned(),
        status: "False",
        reason: STATUS_FAILED.to_owned(),
        message: why.clone(),
    });
    let mut all = own(&parts, refused.as_ref().or(failed.as_ref()).or(lowered));
    let written = parts.before.and_then(|it| it.get("conditions")).and_then(Value::as_array);
    all.extend(parts.report.map(|(there, trouble)| reported(there, trouble, written)));
    all.extend(parts.pruned.map(|message| Condition {
        name: STATUS_PRUNED.to_owned(),
        status: "True",
        reason: "UnknownFields".to_owned(),
        message,
    }));
    all.extend(parts.suspended.as_ref().map(|message| suspension(message.clone())));
    all.extend(authored.into_iter().filter(|it| {
        let stands = it.name != SUSPENDED || parts.suspended.is_none();
        !OURS.contains(&&*it.name) && stands
    }));
    let public = |it: Condition| Condition { message: (parts.public)(&it.message), ..it };
    let conditions = all.into_iter().map(|it| public(it).written(written, parts.generation, &now));
    status.insert("conditions".to_owned(), conditions.collect());
    if let Some(generation) = parts.generation {
        status.insert("observedGeneration".to_owned(), json!(generation));
    }
    let known = parts.before.and_then(|it| it.pointer("/pemdas/nodes")).and_then(Value::as_array);
    status.insert("pemdas".to_owned(), nodes(parts.tally, parts.revision, known, &now, parts.public));
    Value::Object(status)
}

/// A condition before it has a time.
struct Condition {
    name: String,
    status: &'static str,
    reason: String,
    message: String,
}

impl Condition {
    fn written(self, before: Option<&Vec<Value>>, generation: Option<i64>, now: &str) -> Value {
        let same = |it: &&Value| it["type"] == self.name.as_str() && it["status"] == self.status;
        let since =
            before.and_then(|it| it.iter().find(same)).and_then(|it| it["lastTransitionTime"].as_str());
        let mut condition = json!({
            "type": self.name, "status": self.status, "reason": self.reason,
            "message": text::shorten_to(&self.message, MAX_MESSAGE),
            "lastTransitionTime": since.unwrap_or(now),
        });
        if let Some(generation) = generation {
            condition["observedGeneration"] = json!(generation);
        }
        condition
    }
}

fn own(parts: &Parts<'_>, lowered: Option<&Condition>) -> Vec<Condition> {
    let (conditions, tally) = (parts.conditions, parts.tally);
    let truth = |holds: bool| if holds { "True" } else { "False" };
    let stalled = conditions.stalled.join("; ");
    let stalled_reason = tally.unready().flat_map(|(_, it)| &it.causes).find_map(|it| match it {
        Cause::Stalled { reason, .. } => Some((*reason).to_owned()),
        _ => None,
    });
    let stalled_reason =
        stalled_reason.or(parts.stalled.map(str::to_owned)).unwrap_or_else(|| "Stalled".to_owned());
    let waits = parts.waits.clone().unwrap_or_else(|| root_cause(tally));
    let halted = parts.suspended.as_ref().filter(|_| !conditions.ready);
    let waits = halted.cloned().unwrap_or(waits);
    let progressing = if halted.is_some() { SUSPENDED } else { "Progressing" };
    let (ready, reason, message) = match lowered {
        _ if !conditions.stalled.is_empty() => (false, stalled_reason.clone(), stalled.clone()),
        _ if !conditions.ready => (false, progressing.to_owned(), waits.clone()),
        Some(lowered) => (false, lowered.reason.clone(), lowered.message.clone()),
        None => (true, "Ready".to_owned(), "everything that is needed is ready".to_owned()),
    };
    let condition = |name: &str, holds: bool, reason: String, message: String| Condition {
        name: name.to_owned(),
        status: truth(holds),
        reason,
        message,
    };
    let dropped = tally.dropped().map(|(slot, sentence)| told_dropped(slot, sentence));
    let message = std::iter::once(message).chain(dropped).collect::<Vec<_>>().join("; ");
    let is_stalled = !conditions.stalled.is_empty();
    let progress = if conditions.reconciling { progressing } else { "Done" };
    let progress_message = if conditions.reconciling { waits } else { String::new() };
    let stall = if is_stalled { stalled_reason } else { "Fine".to_owned() };
    vec![
        condition("Ready", ready, reason, message),
        condition("Reconciling", conditions.reconciling, progress.to_owned(), progress_message),
        condition("Stalled", is_stalled, stall, stalled),
    ]
}

/// That nothing is written because a human said so.
fn suspension(message: String) -> Condition {
    Condition { name: SUSPENDED.to_owned(), status: "True", reason: SUSPENDED.to_owned(), message }
}

/// Whether the Service of a `report` answers.
fn reported(there: bool, trouble: Option<Trouble>, before: Option<&Vec<Value>>) -> Condition {
    let known = before.into_iter().flatten().find(|it| it["type"] == "Reported");
    if let (false, None, Some(known)) = (there, &trouble, known) {
        // Another process asked before: what it found stands until this one has asked.
        let text = |field: &str| known[field].as_str().unwrap_or_default().to_owned();
        let status = match known["status"].as_str() {
            Some("True") => "True",
            Some("False") => "False",
            _ => "Unknown",
        };
        return Condition { name: text("type"), status, reason: text("reason"), message: text("message") };
    }
    let (status, reason) = match (there, &trouble) {
        (_, Some((reason, _))) => ("False", *reason),
        (true, None) => ("True", "Answered"),
        (false, None) => ("Unknown", "NotAsked"),
    };
    Condition {
        name: "Reported".to_owned(),
        status,
        reason: reason.to_owned(),
        message: trouble.map(|(_, it)| it).unwrap_or_default(),
    }
}

/// What the first node that is not ready waits for in the end.
fn root_cause(tally: &Tally) -> String {
    let Some(slot) = tally.unready.first() else { return String::new() };
    let links: Vec<_> =
        chain(&tally.states, slot).iter().map(|(slot, cause)| format!("{slot} {cause}")).collect();
    if links.is_empty() { format!("{slot} is not ready yet") } else { links.join("; ") }
}

/// The conditions of the author: a record by type, each with a status and perhaps a reason and a message.
fn authored(value: Option<&Value>) -> Vec<Condition> {
    let Some(record) = value.and_then(Value::as_object) else { return Vec::new() };
    let read = |(name, it): (&String, &Value)| {
        let status = match it.get("status").unwrap_or(it) {
            Value::Bool(true) => "True",
            Value::Bool(false) => "False",
            Value::String(text) if text == "True" => "True",
            Value::String(text) if text == "False" => "False",
            _ => "Unknown",
        };
        let text = |field: &str| it.get(field).and_then(Value::as_str).map(str::to_owned);
        let reason = text("reason").filter(|it| !it.is_empty()).unwrap_or_else(|| name.clone());
        Condition { name: name.clone(), status, reason, message: text("message").unwrap_or_default() }
    };
    record.iter().take(MAX_AUTHORED).map(read).collect()
}

fn nodes(
    tally: &Tally,
    revision: &str,
    before: Option<&Vec<Value>>,
    now: &str,
    public: &dyn Fn(&str) -> String,
) -> Value {
    let text_of = |it: &'_ Value, field: &str| it[field].as_str().map(str::to_owned);
    let known: BTreeMap<_, _> =
        before.into_iter().flatten().map(|it| ((text_of(it, "name"), text_of(it, "member")), it)).collect();
    let ready = tally.states.iter().filter(|(_, state)| state.phase == Phase::Ready);
    let mut masked = 0;
    let listed = tally.unready().chain(ready).take(MAX_STATUS_NODES).map(|(slot, state)| {
        let phase = json!(state.phase);
        let mut member = public(&slot.member);
        if member != slot.member {
            // Each entry has a name of its own.
            masked += 1;
            member = format!("{member} {masked}");
        }
        let known = known.get(&(Some(slot.node.clone()), Some(member.clone())));
        let since = known.filter(|it| it["state"] == phase).and_then(|it| it["since"].as_str());
        let mut node = json!({
            "name": slot.node, "member": member, "state": phase, "since": since.unwrap_or(now),
        });
        if let Some(why) = state.causes.first() {
            node["why"] = json!(text::shorten_to(&public(&why.to_string()), MAX_MESSAGE));
        }
        node
    });
    let mut own =
        json!({ "version": STATUS_VERSION, "revision": revision, "nodes": listed.collect::<Vec<_>>() });
    if let Some(more) = tally.states.len().checked_sub(MAX_STATUS_NODES).filter(|it| *it > 0) {
        own["moreNodes"] = json!(more);
    }
    own
}

/// Whether a status says already that its report is in this trouble.
pub(super) fn says_of_report(status: &Value, reason: &str) -> bool {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    conditions
        .filter(|it| it["type"] == "Reported")
        .any(|it| it["status"] == "False" && it["reason"] == reason)
}

/// What a status says already of fields that its definition drops.
pub(super) fn pruned_fields(status: &Value) -> Option<String> {
    let mut conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let found = conditions.find(|it| it["type"] == STATUS_PRUNED && it["status"] == "True")?;
    found["message"].as_str().map(str::to_owned)
}

/// The author's part of a status.
pub(super) fn authors(status: Option<&Value>) -> Value {
    let fields = status.and_then(Value::as_object).into_iter().flatten();
    let theirs =
        fields.filter(|(name, _)| !["conditions", "observedGeneration", "pemdas"].contains(&name.as_str()));
    theirs.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What is told while everything is being removed.
pub(super) const REMOVING: &str = "Removing";

/// Whether a condition is one of those that say how an instance is.
fn is_own(condition: &Value) -> bool {
    ["Reconciling", "Stalled"].iter().any(|it| condition["type"] == *it)
}

/// The status of an instance of which everything is being removed, and what that waits for. Only what Pemdas says is
/// changed: what the author said last stands.
pub(super) fn removing(
    before: &Value,
    waits: &str,
    tally: &Tally,
    (reason, stalled): (&str, &[String]),
    generation: Option<i64>,
    now: u64,
    public: &dyn Fn(&str) -> String,
) -> Value {
    let (mut status, now) = (before.clone(), timestamp(now));
    let written = before.get("conditions").and_then(Value::as_array);
    let condition = |name: &str, status, reason: &str, message: String| {
        let (name, reason) = (name.to_owned(), reason.to_owned());
        Condition { name, status, reason, message }.written(written, generation, &now)
    };
    // What only waits is not stalled, although something may be left in the end.
    let is_suspended = reason == SUSPENDED;
    let is_stalled = reason != REMOVING && !is_suspended;
    let progress = if is_suspended { SUSPENDED } else { REMOVING };
    let (moves, stall) = if is_stalled { ("False", ("True", reason)) } else { ("True", ("False", "Fine")) };
    let mut conditions = vec![
        condition("Ready", "False", reason, waits.to_owned()),
        condition("Reconciling", moves, progress, waits.to_owned()),
        condition("Stalled", stall.0, stall.1, if is_stalled { stalled.join("; ") } else { String::new() }),
    ];
    if is_suspended {
        conditions.push(condition(SUSPENDED, "True", SUSPENDED, waits.to_owned()));
    }
    let is_brake = |it: &Value| it["type"] == SUSPENDED && it["reason"] == SUSPENDED;
    let others =
        written.into_iter().flatten().filter(|it| !is_own(it) && it["type"] != "Ready" && !is_brake(it));
    conditions.extend(others.cloned());
    status["conditions"] = Value::Array(conditions);
    let known = before.pointer("/pemdas/nodes").and_then(Value::as_array);
    let revision = before.pointer("/pemdas/revision").and_then(Value::as_str).unwrap_or_default();
    status["pemdas"] = nodes(tally, revision, known, &now, public);
    status
}

/// Why a status says that an instance is not ready: the reason and the message.
pub(super) fn lowered(status: &Value) -> Option<(String, String)> {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let ready = conditions.into_iter().find(|it| it["type"] == "Ready" && it["status"] != "True")?;
    let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
    Some((text("reason"), text("message")))
}

fn told_dropped(slot: &Slot, sentence: &str) -> String {
    format!("{slot}: {sentence}")
}

/// Whether a status says already which fields the API server dropped of a node's object.
pub(super) fn says_dropped(status: &Value, slot: &Slot, sentence: &str) -> bool {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let message =
        |it: &Value| it["message"].as_str().is_some_and(|it| it.contains(&told_dropped(slot, sentence)));
    conditions.into_iter().any(|it| it["type"] == "Ready" && message(it))
}

/// Whether a status says already that the instance is ready, that it is stalled for this reason, or that this node is
/// stalled.
pub(super) fn says(status: &Value, about: Option<&Slot>, reason: &str) -> bool {
    let list = |path: &str| status.pointer(path).and_then(Value::as_array).into_iter().flatten();
    match about {
        None => list("/conditions").any(|it| {
            let ready = it["type"] == "Ready" && reason == "Ready";
            let stalled = it["type"] == "Stalled" && it["reason"] == reason;
            let failed = it["reason"] == STATUS_FAILED;
            let lowered = it["type"] == "Ready"
                && it["status"] == "False"
                && (if failed { reason == STATUS_FAILED } else { reason == LOWERED })
                && list("/conditions")
                    .all(|it| it["type"] == "Ready" || it["status"] == "False" || !is_own(it));
            let removing = it["type"] == "Reconciling" && reason == REMOVING && it["reason"] == REMOVING;
            let suspended = reason == SUSPENDED && it["type"] == SUSPENDED && it["reason"] == SUSPENDED;
            ((ready || stalled || removing || suspended) && it["status"] == "True") || lowered
        }),
        Some(slot) => list("/pemdas/nodes").any(|it| {
            it["name"] == slot.node.as_str()
                && it["member"] == slot.member.as_str()
                && it["state"] == json!(Phase::Stalled)
        }),
    }
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::{Parts, whole};
    use crate::{
        crd,
        decide::{Cause, Conditions, NodeState, Phase, tally::Tally},
        ledger::Slot,
    };

    fn status(before: Option<&serde_json::Value>, ready: bool, now: u64) -> serde_json::Value {
        let (phase, causes) = if ready {
            (Phase::Ready, Vec::new())
        } else {
            (Phase::Progressing, vec![Cause::Pending("it is being created".to_owned())])
        };
        let mut tally = Tally::default();
        if !ready {
            tally.unready.insert(Slot::new("web", ""));
        }
        tally.states.insert(Slot::new("web", ""), NodeState { phase, causes, dropped: None });
        let conditions = Conditions { ready, reconciling: !ready, stalled: Vec::new() };
        let authored =
            json!({ "Nice": { "status": true, "reason": "Weather" }, "Ready": { "status": false } });
        whole(Parts {
            author: json!({ "url": "x" }),
            authored: Some(authored).filter(|_| !ready),
            conditions: &conditions,
            tally: &tally,
            stalled: None,
            generation: Some(3),
            revision: "r1",
            waits: None,
            unfit: false,
            failed: None,
            report: None,
            pruned: None,
            suspended: None,
            before,
            now,
            public: &str::to_owned,
        })
    }

    #[test]
    fn it_fits_the_definitions_that_are_drafted() {
        let schema =
            crd::with_own_part(crd::Schema::record([("url", false, crd::Schema::new(crd::Type::String))]));
        for ready in [true, false] {
            let status = status(None, ready, 1_000);
            assert_eq!(crd::refusal(&schema, &status), None, "{status:#}");
        }
    }

    #[test]
    fn a_time_stands_while_what_it_speaks_of_holds() {
        let first = status(None, false, 1_000);
        assert_eq!(status(Some(&first), false, 9_000), first);
        let ready = status(Some(&first), true, 9_000);
        assert_eq!(ready["conditions"][0]["status"], "True");
        assert_eq!(ready["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:09Z");
        assert_eq!(ready["conditions"][2]["lastTransitionTime"], "1970-01-01T00:00:01Z");
        assert_eq!(ready["pemdas"]["nodes"][0]["since"], "1970-01-01T00:00:09Z");
    }

    #[test]
    fn an_author_may_lower_ready() {
        let status = status(None, false, 0);
        assert_eq!(status["conditions"][3]["type"], "Nice");
        assert_eq!(status["conditions"].as_array().unwrap().len(), 4);
    }
}
