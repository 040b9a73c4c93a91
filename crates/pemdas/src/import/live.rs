//! Objects of a cluster: one that is named, and everything that it owns, however far down.

use std::collections::BTreeSet;

use pemdas_core::diagnostic::Diagnostic;
use pemdas_core::import::{Given as Object, Tree, codes};
use pemdas_core::world::Live;
use pemdas_kube::connect::Trouble;
use serde_json::Value;

use super::Gathered;
use crate::live::{Lost, Session};

/// What tells of objects, and is no part of them.
const ABOUT: &[&str] = &["Event", "Lease"];

/// Reads an object and what it owns.
///
/// # Errors
/// If there is no such object, or the cluster does not answer.
pub(crate) fn owned(session: &Session, kind: &str, name: &str, gathered: &mut Gathered) -> Result<(), Lost> {
    let served = session.kind(kind)?;
    let namespace = if served.resource.namespaced { session.namespace() } else { "" };
    let found = session.ask(async |survey| survey.object(&served.resource, namespace, name).await)?;
    let Some(first) = found else {
        let place =
            if namespace.is_empty() { String::new() } else { format!(" in the namespace {namespace}") };
        let message = format!("there is no {} {name}{place}", served.resource.kind.kind);
        let hint = served.resource.namespaced.then(|| "-n says in which namespace to look".to_owned());
        return Err(Lost::Nothing { message, hint });
    };
    let all = children(session, namespace, gathered)?;
    let mut uids = BTreeSet::from([first.uid.clone()]);
    let mut chosen = vec![first];
    let mut next = 0;
    // Each round takes what the round before owns.
    while next < chosen.len() {
        next = chosen.len();
        let more: Vec<Live> = all
            .iter()
            .filter(|it| !uids.contains(&it.uid) && owners(it).any(|it| uids.contains(it)))
            .cloned()
            .collect();
        uids.extend(more.iter().map(|it| it.uid.clone()));
        chosen.extend(more);
    }
    let given = |live: Live| Object { file: "<cluster>".to_owned(), tree: Tree::from((*live.body).clone()) };
    gathered.objects.extend(chosen.into_iter().map(given));
    Ok(())
}

fn owners(live: &Live) -> impl Iterator<Item = &str> {
    let all = live.body.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(|it| it.get("uid")?.as_str())
}

/// Every object that somebody owns.
fn children(session: &Session, namespace: &str, gathered: &mut Gathered) -> Result<Vec<Live>, Lost> {
    let within = (!namespace.is_empty()).then_some(namespace);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for served in session.kinds()?.iter() {
        let resource = &served.resource;
        let wanted =
            (resource.namespaced || within.is_none()) && !ABOUT.contains(&resource.kind.kind.as_str());
        if !wanted || !seen.insert(resource.kind.clone()) {
            continue;
        }
        match session.ask(async |survey| survey.list(resource, within, None).await) {
            Ok(objects) => found.extend(objects.into_iter().filter(|it| owners(it).next().is_some())),
            Err(Trouble::Forbidden { why, .. }) => {
                let message = format!("what is owned of {} is not imported: {why}", resource.kind);
                gathered.problems.push(Diagnostic::remark(codes::LEFT_OUT, message));
            }
            // Some kinds are questions, and have no list.
            Err(Trouble::Refused { .. }) => {}
            Err(trouble) => return Err(trouble.into()),
        }
    }
    Ok(found)
}
