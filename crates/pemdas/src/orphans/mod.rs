//! Objects that Pemdas made for an instance that is not there any more, and that nothing deletes.
//!
//! They are left where somebody takes a root's finalizer off by hand, or restores a part of a backup. Anybody may write the label
//! and the claim of such an object onto another one. So a claim is verified with the key of the operator's seals, and what cannot be
//! verified is never deleted.

pub(crate) mod json;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use std::collections::BTreeMap;

use pemdas_core::world::{CLAIM_ANNOTATION, Claim, KindKey, Live, ObjectKey, Owner, ROOT_LABEL, Seal, owner};
use pemdas_kube::{connect::Trouble, resource::Resource, survey::Served};

use crate::live::{Lost, Session};

/// How many objects of one kind are looked at.
pub(crate) const MAX_ORPHANS: usize = 10_000;

/// An object whose root is gone.
#[derive(Debug, Clone)]
pub(crate) struct Orphan {
    /// The object as it is.
    pub(crate) live: Live,
    /// How its kind is served.
    pub(crate) resource: Resource,
    /// How kubectl is told of it: `-n shop deployments.apps/web`.
    pub(crate) address: String,
    /// The node that made it.
    pub(crate) node: String,
    /// The root that it was made for.
    pub(crate) root: ObjectKey,
    /// What names that instance.
    pub(crate) instance: String,
    /// Whether its claim is known to be what Pemdas wrote.
    pub(crate) verified: bool,
}

/// All that was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// By instance, then by object.
    pub(crate) orphans: Vec<Orphan>,
    /// Whether claims could be verified.
    pub(crate) has_key: bool,
    /// How many carry the label without a claim that Pemdas wrote.
    pub(crate) forged: usize,
    /// How many stay on purpose: their node says so.
    pub(crate) on_purpose: usize,
    /// What may not be read, in sentences.
    pub(crate) unseen: Vec<String>,
}

/// What is known of a root.
enum Root {
    /// It is there with this uid.
    Lives(String),
    Gone,
    /// It may not be read.
    Unknown,
}

/// What an object is, as far as its root is known.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Its root is gone.
    Orphan(Box<Claim>),
    /// Its root is gone, and it stays.
    OnPurpose,
    /// The claim is not one that Pemdas wrote.
    Forged,
    /// Its instance lives, or may live; or it is nobody's.
    NoMatter,
}

/// Judges an object by what is known of the root that its claim names.
fn judge(live: &Live, seal: &Seal, root: &Root) -> Verdict {
    let Some(label) = live.label(ROOT_LABEL) else { return Verdict::NoMatter };
    match owner(live, label, seal) {
        Owner::Nobody | Owner::Another { .. } => Verdict::NoMatter,
        Owner::Forged => Verdict::Forged,
        Owner::Us(claim) => match root {
            Root::Unknown => Verdict::NoMatter,
            Root::Lives(uid) if label.split('.').next() == Some(uid) => Verdict::NoMatter,
            Root::Lives(_) | Root::Gone if claim.orphan => Verdict::OnPurpose,
            Root::Lives(_) | Root::Gone => Verdict::Orphan(claim),
        },
    }
}

/// The root that an object's claim names, whoever wrote that.
fn named_root(live: &Live) -> Option<ObjectKey> {
    let claim: Claim = serde_json::from_str(live.annotation(CLAIM_ANNOTATION)?).ok()?;
    Some(claim.root)
}

/// Looks for them: in one namespace, or everywhere; of some kinds, or of all.
pub(crate) fn find(session: &Session, words: &[String], everywhere: bool) -> Result<Found, Lost> {
    let mut kinds: BTreeMap<KindKey, &Served> = BTreeMap::new();
    if words.is_empty() {
        // Of the versions of a kind, the one that the cluster prefers comes first.
        for served in session.kinds()?.iter().filter(|it| it.listed && (everywhere || it.resource.namespaced))
        {
            kinds.entry(served.resource.kind.clone()).or_insert(served);
        }
    }
    for word in words {
        let served = session.kind(word)?;
        kinds.insert(served.resource.kind.clone(), served);
    }
    let seal = session.seal();
    let mut found = Found { has_key: seal != Seal::Unverified, ..Found::default() };
    let mut roots = BTreeMap::new();
    for served in kinds.values() {
        let namespace = Some(session.namespace()).filter(|_| !everywhere && served.resource.namespaced);
        let listed =
            session.ask(async |survey| survey.list(&served.resource, namespace, Some(ROOT_LABEL)).await);
        let listed = match listed {
            Ok(listed) => listed,
            Err(Trouble::Forbidden { .. }) => {
                found.unseen.push(format!("{} may not be listed with your permissions", served.word()));
                continue;
            }
            // Not every kind that is served has a list.
            Err(Trouble::Refused { code: 404 | 405, .. }) => continue,
            Err(trouble) => return Err(trouble.into()),
        };
        for live in listed {
            let Some(key) = named_root(&live) else {
                found.forged += 1;
                continue;
            };
            let root = match roots.get(&key) {
                Some(root) => root,
                None => {
                    let root = look(session, &key, &mut found)?;
                    roots.entry(key.clone()).or_insert(root)
                }
            };
            match judge(&live, &seal, root) {
                Verdict::NoMatter => {}
                Verdict::Forged => found.forged += 1,
                Verdict::OnPurpose => found.on_purpose += 1,
                Verdict::Orphan(claim) if found.orphans.len() < MAX_ORPHANS => {
                    found.orphans.push(orphan(served, live, *claim, found.has_key));
                }
                Verdict::Orphan(_) => {
                    let more = format!("there are more than {MAX_ORPHANS}: these are the first");
                    if !found.unseen.contains(&more) {
                        found.unseen.push(more);
                    }
                }
            }
        }
    }
    found
        .orphans
        .sort_by(|a, b| (&a.root, &a.instance, &a.live.key).cmp(&(&b.root, &b.instance, &b.live.key)));
    Ok(found)
}

fn orphan(served: &Served, live: Live, claim: Claim, verified: bool) -> Orphan {
    let place = match live.key.namespace.as_str() {
        "" => String::new(),
        namespace => format!("-n {namespace} "),
    };
    let address = format!("{place}{}/{}", served.word(), live.key.name);
    let instance = live.label(ROOT_LABEL).unwrap_or_default().to_owned();
    Orphan {
        live,
        resource: served.resource.clone(),
        address,
        node: claim.node,
        root: claim.root,
        instance,
        verified,
    }
}

/// Looks whether a root is there.
fn look(session: &Session, key: &ObjectKey, found: &mut Found) -> Result<Root, Lost> {
    // A kind that is not served has no objects.
    let Some(served) = session.kinds()?.of(&key.kind) else { return Ok(Root::Gone) };
    let (resource, namespace) = (&served.resource, &key.namespace);
    match session.ask(async |survey| survey.object(resource, namespace, &key.name).await) {
        Ok(Some(live)) => Ok(Root::Lives(live.uid)),
        Ok(None) => Ok(Root::Gone),
        Err(Trouble::Forbidden { .. }) => {
            found
                .unseen
                .push(format!("{key} may not be read with your permissions, so its objects are left out"));
            Ok(Root::Unknown)
        }
        Err(trouble) => Err(trouble.into()),
    }
}
