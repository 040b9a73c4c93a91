//! What a human can do about a reason. Reasons are sentences of the core, the same in a status and when they are computed.

use pemdas_core::{crd::install::Policy, ledger::Slot};
use serde_json::Value;

use super::{Instance, Node};

/// What can be done, most of it as a command.
pub(super) fn of_instance(instance: &Instance) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for (slot, node) in instance.nodes.iter().filter(|(_, it)| !it.is_ready()) {
        for why in node.why.iter().filter(|it| it.on.is_none()) {
            if let Some(text) = of_reason(instance, slot, node, &why.text)
                && !told.contains(&text)
            {
                told.push(text);
            }
        }
    }
    for cause in &instance.causes {
        let nobody = (Slot::new(&instance.root.kind.kind, ""), Node::default());
        told.extend(of_reason(instance, &nobody.0, &nobody.1, cause));
    }
    told.dedup();
    told
}

fn of_reason(instance: &Instance, slot: &Slot, node: &Node, text: &str) -> Option<String> {
    let Instance { address, account, blueprint, .. } = instance;
    let name = &slot.node;
    let object = node.objects.first().map_or_else(|| format!("the object of {slot}"), ToString::to_string);
    let annotate = |what: &str| format!("kubectl annotate --overwrite {address} pemdas.dev/{what}");
    let (reason, rest) = text.split_once(": ").unwrap_or((text, ""));
    Some(match reason {
        "Exists" => of_existing(name, rest, annotate),
        "Conflict" => format!(
            "conflict = 'Force on {name} takes these fields, conflict = 'Yield leaves them; or the other manager lets go of them"
        ),
        "Contended" => format!("find out who writes to {object} besides Pemdas, and let one of them decide"),
        "Recreated" if rest.contains("came back") => {
            let object = rest.split(" was deleted").next().unwrap_or(&object);
            format!("find out who creates {object} again and again, and let one of the two decide")
        }
        "Recreated" => {
            format!("find out who deletes {object}; a Job that ends and is cleaned up belongs into a once")
        }
        "UnknownField" => {
            format!("fix the field's name in the template of {name}, or install a CRD that has the field")
        }
        "Immutable" => {
            format!(
                "on_immutable = 'Recreate on {name} makes it anew; or undo the change; or delete {object} yourself"
            )
        }
        "Failed" | "Cut" if rest.contains("attempt") => {
            format!("look at {object}; when it is mended, try again: {}", annotate("resume=$(date +%s)"))
        }
        "Failed" => format!("look at {object}: it goes on by itself once it is fixed"),
        "Superseded" => format!("wait until {object} has ended, or delete it"),
        "Error" | "DoesNotSettle" => format!("fix {name} in the blueprint {blueprint}"),
        "ClaimInvalid" => {
            format!("delete or rename {object}, or restore its annotation pemdas.dev/claim from a backup")
        }
        "Suspended" | "MemoryLost" => of_the_whole(instance, reason, rest),
        "DeletionBlocked" => {
            format!("go on without the nodes of the deletion: {}", annotate("skip-deletion=yes"))
        }
        _ if reason.starts_with("waits for approval of ") => {
            let digest = reason.rsplit(' ').next().unwrap_or_default();
            format!("approve what pemdas plan shows: {}", annotate(&format!("approve.{name}={digest}")))
        }
        "Refused" if rest.contains("pemdas.dev/skip-deletion=") => {
            let (_, given_up) = rest.rsplit_once("pemdas.dev/").unwrap_or_default();
            format!("fix what the refusal names; or leave it: {}", annotate(given_up))
        }
        "Held" => {
            let entry =
                format!("skip-deletion={}/NAME", node.objects.first().map_or("KIND", |it| &it.kind.kind));
            format!("find out whose finalizer it is; or leave the object: {}", annotate(&entry))
        }
        "Refused" | "refused" if rest.starts_with("forbidden") => {
            format!("allow it to the ServiceAccount {account}: {rest}")
        }
        "Refused" | "refused" => "it is tried again by itself; fix what the refusal names".to_owned(),
        _ if text.contains("may not be listed by this account") => {
            let kind = text.split(' ').next().unwrap_or_default();
            format!("allow the ServiceAccount {account} to get, list and watch {kind}")
        }
        _ if text.contains("there is no kind ") => {
            "apply the missing CRD; the operator picks it up".to_owned()
        }
        _ => return None,
    })
}

/// What can be done about an object that already exists.
fn of_existing(node: &str, told: &str, annotate: impl Fn(&str) -> String) -> String {
    match told.split_once("pemdas.dev/reclaim=") {
        Some((_, uid)) => {
            let uid = uid.split(' ').next().unwrap_or_default();
            format!("take over what an earlier root made: {}", annotate(&format!("reclaim={uid}")))
        }
        None if told.contains("belongs to another instance") => {
            "two instances want one object: give it another name in one of them".to_owned()
        }
        None => format!("delete it or rename it, or let {node} adopt it: own = 'Adopt in the blueprint"),
    }
}

/// What can be done about what stands in the way of a whole instance, and waits for a human.
fn of_the_whole(instance: &Instance, reason: &str, rest: &str) -> String {
    let Instance { address, blueprint, .. } = instance;
    let lift = |what: &str| format!("to go on: kubectl annotate {what} pemdas.dev/suspend-");
    match reason {
        "Suspended" if rest.contains("its root") => lift(address),
        "Suspended" if rest.contains("--suspend") => {
            "to go on: start the operator without --suspend".to_owned()
        }
        "Suspended" => match blueprint.split_once('/') {
            Some((namespace, name)) => lift(&format!("-n {namespace} configmap/{name}")),
            None => lift(blueprint),
        },
        _ => {
            let restore = "restore the ledger (the Secret pemdas-ledger-...) from a backup";
            let word = rest.split_once("pemdas.dev/start-over=").map(|(_, it)| it);
            match word.filter(|_| !rest.contains("delete pemdas-ledger-")) {
                Some(word) => {
                    let word = word.split([' ', ';']).next().unwrap_or_default();
                    let anew = format!("kubectl annotate --overwrite {address} pemdas.dev/start-over={word}");
                    format!("{restore}; or begin without it, which runs everything once again: {anew}")
                }
                None => restore.to_owned(),
            }
        }
    }
}

/// What can be done about CRDs that do not serve a revision: it waits for them.
fn of_refused(name: &str, told: &Value) -> Option<String> {
    let revision = told.pointer("/upcoming/revision")?.as_str()?;
    let running = told["revision"].as_str().unwrap_or_default();
    let crds: Vec<&str> = refused(told).map(|(crd, _)| crd).collect();
    (!crds.is_empty()).then(|| {
        format!(
            "{revision} runs once the API server serves {} as it needs: undo the breaking change in {name}, or make it in a new \
             version of the kind. Until then {running} runs",
            crds.join(", ")
        )
    })
}

/// The CRDs that a revision waits for and that somebody has to do something about, each with what differs.
pub(super) fn refused(told: &Value) -> impl Iterator<Item = (&str, &str)> {
    let all = told.pointer("/upcoming/refused").and_then(Value::as_object);
    all.into_iter().flatten().filter_map(|(crd, why)| Some((crd.as_str(), why.as_str()?)))
}

/// How many instances are named.
const MAX_NAMED: usize = 10;

/// What a blueprint that is being deleted waits for.
pub(super) fn of_going_blueprint(name: &str, left: &[String], told: &Value) -> String {
    let total = told.pointer("/instances/total").and_then(Value::as_u64).unwrap_or_default();
    let more = if left.len() > MAX_NAMED { ", ..." } else { "" };
    let named = left.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match (left.len(), total) {
        (0, 0) => format!("{name} is being deleted: it goes once the operator has seen that nothing is left"),
        (0, total) => {
            format!("{name} is being deleted, and stays until its {total} instances are gone: delete them")
        }
        (count, _) => format!(
            "{name} is being deleted, and stays until its {count} instances are gone: delete {named}{more}"
        ),
    }
}

/// What can be done about a blueprint.
pub(super) fn of_blueprint(name: &str, account: &str, policy: Policy, told: &Value) -> Vec<String> {
    let list = |field: &str| told.get(field).and_then(Value::as_array).map_or(0, Vec::len);
    let mut advice = Vec::new();
    if told.is_null() {
        advice.push(
            "no operator has looked at it: is one running, and does it watch this namespace?".to_owned(),
        );
    }
    if list("problems") > 0 {
        advice.push(format!("fix the blueprint {name}; `pemdas check` shows the places"));
    }
    advice.extend(of_refused(name, told));
    let served = told.get("definitions").and_then(Value::as_object).into_iter().flatten();
    for (crd, why) in served {
        let why = why.as_str().unwrap_or_default();
        // That one only the contract checks something is no fault.
        if told.pointer("/upcoming/refused").is_none_or(|it| it.get(crd).is_none())
            && !why.contains(" the blueprint ")
            && why.contains("only the API server checks it")
        {
            advice.push(format!("the CRD {crd} differs from what {name} wants ({why}): {}", policy.advice()));
        }
    }
    if list("missing") > 0 {
        advice.push(format!("allow the ServiceAccount {account} what is missing"));
    }
    if told.pointer("/rollout/paused").is_some_and(|it| !it.is_null()) {
        advice.push(
            "fix the stalled instance, or apply a corrected blueprint: the rollout goes on by itself"
                .to_owned(),
        );
    }
    advice
}
