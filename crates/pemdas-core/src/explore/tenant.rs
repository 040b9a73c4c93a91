//! Another tenant of the same cluster. On objects of their own they write whatever could move somebody else's operator:
//! the label of an instance, claims that are made up, copied, or meant for something else, and our finalizers.
//!
//! They may make objects beside ours, also under a name that an instance is about to use. They may not write to objects
//! of others, and have no key of ours.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    laws::{both, gone_or_asked},
    loss::{guarded, restored, wrong},
    sim::{Sim, seal},
    subject::Subject,
    walk::{Faults, at_every_step, explore},
};
use crate::{
    action::Action,
    ledger::Ledger,
    world::{CLAIM_ANNOTATION, Claim, Finalizers, Live, ONCE_FINALIZER, ObjectKey, ROOT_LABEL, place},
};

/// A namespace of their own.
const NAMESPACE: &str = "tenant";
/// An instance of their own, whose claims Pemdas wrote.
const INSTANCE: &str = "u99";
/// An instance that never was.
const INVENTED: &str = "u98";
/// How many forms of forgery there are.
const FORMS: u8 = 14;

/// What they have.
#[derive(Clone, Default)]
pub(super) struct Tenant {
    /// The uids of their objects.
    objects: BTreeSet<String>,
    /// How many names they made up.
    names: u32,
    /// What the instance wants to make: names to be squatted on.
    wanted: Vec<ObjectKey>,
}

impl Tenant {
    /// Whether an object is theirs.
    pub(super) fn has(&self, live: &Live) -> bool {
        self.objects.contains(&live.uid)
    }
}

impl Sim {
    /// Nothing of theirs is ever written by us.
    pub(super) fn watch_tenant(&mut self, action: &Action, before: &Live) {
        if self.tenant.has(before) {
            self.violations.push(format!("{} of another tenant is written by {action:?}", before.key));
        }
    }

    /// They come, with objects that Pemdas made for them.
    fn welcome_tenant(&mut self, wanted: Vec<(ObjectKey, Claim)>) {
        let mut kinds = BTreeSet::new();
        for (key, claim) in &wanted {
            if key.namespace.is_empty() || !kinds.insert(key.kind.clone()) {
                continue;
            }
            let own = ObjectKey::new(key.kind.clone(), NAMESPACE, "own");
            let root = ObjectKey::new(claim.root.kind.clone(), NAMESPACE, "theirs");
            let claim = Claim { root, object: place(&own), ..claim.clone() };
            self.make(&own, INSTANCE, Some(claim.sealed(INSTANCE, &own.kind, &seal())), &json!({}));
        }
        self.tenant.wanted = wanted.into_iter().map(|(key, _)| key).collect();
    }

    /// They make an object, where none is.
    fn make(&mut self, key: &ObjectKey, label: &str, claim: Option<String>, spec: &Value) {
        if self.live(key).is_some() {
            return;
        }
        let mut body = json!({
            "apiVersion": format!("{}/v1", key.kind.group).trim_start_matches('/'), "kind": key.kind.kind,
            "metadata": { "name": key.name, "namespace": key.namespace, "labels": { ROOT_LABEL: label } },
            "spec": spec,
        });
        if let Some(claim) = claim {
            body["metadata"]["annotations"] = json!({ CLAIM_ANNOTATION: claim });
        }
        self.cluster.create(key, "tenant", body);
        let uid = self.live(key).map(|it| it.uid.clone());
        self.tenant.objects.extend(uid);
    }

    /// One of their objects.
    fn theirs(&self, at: usize) -> Option<Live> {
        let all: Vec<_> = self.cluster.objects.values().filter(|it| self.tenant.has(it)).collect();
        (!all.is_empty()).then(|| Live::clone(all[at % all.len()]))
    }

    /// They forge something: what, and of which object, the number says.
    pub(super) fn forge(&mut self, number: u8) {
        let (form, at) = (number % FORMS, usize::from(number / FORMS));
        let ours: Vec<_> =
            self.claimed().into_iter().filter(|(key, _, _)| !key.namespace.is_empty()).collect();
        if ours.is_empty() {
            return;
        }
        let (key, live, claim) = ours[at % ours.len()].clone();
        let spec = live.body["spec"].clone();
        let copied = || live.annotation(CLAIM_ANNOTATION).map(str::to_owned);
        // With the seal of the object from which it was copied.
        let rewritten =
            |to: &ObjectKey| serde_json::to_string(&Claim { object: place(to), ..claim.clone() }).ok();
        let label = self.uid.clone();
        let elsewhere = ObjectKey::new(key.kind.clone(), NAMESPACE, &*key.name);
        let mut beside = || {
            self.tenant.names += 1;
            ObjectKey::new(key.kind.clone(), &*key.namespace, format!("forged-{}", self.tenant.names))
        };
        match form {
            // Somebody's `kubectl get -o yaml`, applied in another namespace, and the same with the place put right.
            0 => self.make(&elsewhere, &label, copied(), &spec),
            1 => self.make(&elsewhere, &label, rewritten(&elsewhere), &spec),
            2 => {
                let it = beside();
                self.make(&it, &label, copied(), &spec);
            }
            3..=5 => {
                let it = beside();
                let claim =
                    [rewritten(&it), None, Some("{}".to_owned())].into_iter().nth(usize::from(form) - 3);
                self.make(&it, &label, claim.flatten(), &spec);
            }
            // The claim that Pemdas wrote for their own instance.
            6 => {
                let own = self.cluster.objects.values().find(|it| it.label(ROOT_LABEL) == Some(INSTANCE));
                let own = own.and_then(|it| it.annotation(CLAIM_ANNOTATION)).map(str::to_owned);
                let it = beside();
                self.make(&it, &label, own, &spec);
            }
            // An earlier instance of our root, which never was: what is of it, a human may tell us to take over.
            7 => {
                let it = beside();
                let claim = rewritten(&it);
                self.make(&it, INVENTED, claim, &spec);
            }
            8 => self.squat(at, &label, &claim, &spec),
            9 => self.relabel(&label),
            // The place is that of our object, the kind is not.
            10 => {
                let kinds: Vec<_> =
                    self.kinds.iter().filter(|(_, it)| it.namespaced).map(|(it, _)| it).collect();
                let kind = kinds[at % kinds.len()].clone();
                let it = ObjectKey::new(kind, &*key.namespace, &*key.name);
                if !self.tenant.wanted.contains(&it) && it != self.cluster.root {
                    self.make(&it, &label, copied(), &spec);
                }
            }
            11 => self.hold(at),
            12 => {
                if let Some(theirs) = self.theirs(at) {
                    self.cluster.delete(&theirs.key);
                }
            }
            _ => {
                if let Some(mut theirs) = self.theirs(at) {
                    theirs.body["metadata"]["labels"][ROOT_LABEL] = json!(label);
                    theirs.body["metadata"]["annotations"][CLAIM_ANNOTATION] = json!(copied());
                    self.cluster.store(theirs);
                }
            }
        }
    }

    /// They take a name before we do.
    fn squat(&mut self, at: usize, label: &str, claim: &Claim, spec: &Value) {
        let free: Vec<_> = self.tenant.wanted.iter().filter(|it| self.live(it).is_none()).cloned().collect();
        if free.is_empty() {
            return;
        }
        let key = free[at % free.len()].clone();
        let claim = serde_json::to_string(&Claim { object: place(&key), ..claim.clone() }).ok();
        self.make(&key, label, claim, spec);
    }

    /// What Pemdas made for their own instance, they call ours: the claim is genuine, and so is the object.
    fn relabel(&mut self, label: &str) {
        let own = self.cluster.objects.values().find(|it| it.label(ROOT_LABEL) == Some(INSTANCE)).cloned();
        if let Some(own) = own {
            let mut own = Live::clone(&own);
            own.body["metadata"]["labels"][ROOT_LABEL] = json!(label);
            self.cluster.store(own);
        }
    }

    /// They put our finalizers on an object of theirs, so that somebody waits for it.
    fn hold(&mut self, at: usize) {
        let Some(mut theirs) = self.theirs(at).filter(|it| !it.terminating) else { return };
        let Finalizers { removal, deletion } = Finalizers::of(&self.uid);
        theirs.finalizers.extend([ONCE_FINALIZER.to_owned(), removal, deletion]);
        self.cluster.store(theirs);
    }

    /// They give the names back that somebody else needs: until then that is a conflict, as with any foreign object.
    pub(super) fn tenant_makes_room(&mut self) {
        for key in self.tenant.wanted.clone() {
            let theirs = self.live(&key).filter(|it| self.tenant.has(it)).cloned();
            if let Some(theirs) = theirs {
                self.cluster.store(Live {
                    finalizers: BTreeSet::new(),
                    terminating: true,
                    ..Live::clone(&theirs)
                });
            }
        }
    }
}

/// Whatever another tenant forges, at any moment: nothing of theirs is written, and everything ends as without them.
pub(super) fn what_another_tenant_forges_moves_nothing(subject: &Subject, walks: u64) {
    let adopts = |node: &str| {
        subject.programs[0].0.node(node).is_some_and(|it| it.own == crate::blueprint::Own::Adopt)
    };
    let wanted: Vec<_> = subject
        .at_rest()
        .claimed()
        .into_iter()
        .filter(|(_, _, it)| it.attempt.is_none() && !adopts(&it.node))
        .map(|(key, _, claim)| (key, claim))
        .collect();
    let prepare = |sim: &mut Sim| sim.welcome_tenant(wanted.clone());
    let faults = Faults { tenant: true, ..Faults::ALL };
    explore("forged", subject, faults, (walks, 110), prepare, &both(subject));
    let faults = Faults { deletion: true, hands: !subject.has_deletion(), ..faults };
    explore("forged, deletion", subject, faults, (walks, 100), prepare, &|sim: &mut Sim| gone_or_asked(sim));
}

/// Somebody who may write Secrets puts something else into the ledger, at any moment: nothing runs, and no random value becomes another
/// one, until it is restored.
pub(super) fn a_forged_ledger_is_not_believed(subject: &Subject, _: u64) {
    at_every_step("forged ledger", subject, 400, subject.start(), &|sim, at| {
        let (_, had) = sim.cluster.ledger.clone()?;
        forgeries(&sim, &had).into_iter().find_map(|forged| {
            let mut sim = sim.clone();
            // What was written and not seen again cannot be told from what somebody wrote.
            if at % 2 == 0 || sim.world.ledger_write.is_some() || !sim.flights.is_empty() {
                sim.crash();
            }
            let before = guarded(&sim, &had);
            let version = sim.cluster.next_version();
            sim.cluster.ledger = Some((version, had.clone()));
            sim.cluster.forged_ledger = Some(forged);
            sim.settle();
            let new = guarded(&sim, &had).into_iter().find(|it| !before.contains(it));
            let told = sim.stalled().iter().any(|it| it.contains("MemoryLost"));
            wrong(&sim)
                .or_else(|| new.map(|(key, _)| format!("{key} was made or changed by a forged memory")))
                .or_else(|| (!told).then(|| format!("it believes a forged ledger: {:?}", sim.stalled())))
                .or_else(|| restored(sim, &had))
        })
    });
}

/// Texts with something like a seal: of nothing that was done, with the seal of what was; the genuine ledger of another
/// instance; and the genuine text under a seal of another namespace.
fn forgeries(sim: &Sim, had: &Ledger) -> [(String, String); 3] {
    let text = |it: &Ledger| serde_json::to_string(it).expect("a ledger");
    let root = &sim.world.root;
    let (nothing, all) = (text(&Ledger::default()), text(had));
    let sealed = |namespace: &str, instance: &str, text: &str| seal().of_ledger(namespace, instance, text);
    [
        (nothing.clone(), sealed(&root.key.namespace, &root.instance, &all)),
        (nothing.clone(), sealed(&root.key.namespace, INSTANCE, &nothing)),
        (all.clone(), sealed(NAMESPACE, &root.instance, &all)),
    ]
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use crate::{
        explore::{properties, subject::Subject, zoo},
        mutation::{Mutation, with},
    };

    /// Whoever leaves out a part of what makes a claim or a ledger genuine is noticed by what others forge.
    #[test]
    fn what_makes_a_claim_genuine_is_needed_in_every_part() {
        let silent = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let unnoticed: Vec<_> = [
            Mutation::ForgedClaims,
            Mutation::CopiedClaims,
            Mutation::ClaimsOfAnyInstance,
            Mutation::ClaimsOfAnyKind,
            Mutation::ForgedLedgers,
        ]
        .into_iter()
        .filter(|it| {
            with(Some(*it), || catch_unwind(AssertUnwindSafe(|| properties::forgeries_move_nothing(20))))
                .is_ok()
        })
        .collect();
        std::panic::set_hook(silent);
        assert!(unnoticed.is_empty(), "{unnoticed:?}");
    }

    /// The forgeries are really there when a walk ends, and are seen by the instance.
    #[test]
    fn a_tenant_forges_in_every_form() {
        let subject = Subject::of_labs("forged", &[zoo::chain()], &zoo::versions());
        let mut sim = subject.at_rest();
        let wanted = sim.claimed().into_iter().map(|(key, _, claim)| (key, claim)).collect();
        sim.welcome_tenant(wanted);
        for form in 0..super::FORMS {
            let (version, count) = (sim.cluster.version, sim.cluster.objects.len());
            if form == 8 {
                let (key, _, _) = sim.claimed()[0].clone();
                sim.cluster.delete(&key);
            }
            // Each of another object, as far as there are some.
            sim.forge(form + super::FORMS * form);
            assert!(sim.cluster.version > version, "{form} did nothing to {count} objects");
        }
    }
}
