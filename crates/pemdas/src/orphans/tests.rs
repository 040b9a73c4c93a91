//! What counts as left behind, and what a person sees of it.

use std::collections::{BTreeMap, BTreeSet};

use pemdas_core::{
    digest::Digest,
    packed::Packed,
    world::{Claim, KindKey, Live, ObjectKey, Seal},
};
use pemdas_sim::Scenario;
use serde_json::json;

use super::{Root, Verdict, find, judge, text};
use crate::{demo::play, trial::scene::Scene};

fn key(kind: &str, name: &str) -> ObjectKey {
    ObjectKey::new(KindKey::new("v1", kind), "shop".to_owned(), name.to_owned())
}

fn seal() -> Seal {
    Seal::with(vec![vec![7; 32]])
}

fn claim(orphan: bool) -> Claim {
    Claim {
        root: key("Secret", "root"),
        object: "shop/part".to_owned(),
        node: "part".to_owned(),
        state: None,
        member: String::new(),
        after: BTreeMap::new(),
        revision: "r".to_owned(),
        ordinal: 1,
        applied: Digest::of(&[], &json!(1)),
        fields: String::new(),
        unkept: BTreeSet::new(),
        dropped: BTreeSet::new(),
        patch: None,
        orphan,
        owned: false,
        attempt: None,
        seal: String::new(),
        older: false,
    }
}

fn made(name: &str, claim: &Claim, by: &Seal) -> Live {
    let text = claim.clone().sealed("uid.1", &KindKey::new("v1", "ConfigMap"), by);
    Live {
        key: key("ConfigMap", name),
        uid: "u".to_owned(),
        resource_version: 1,
        generation: None,
        terminating: false,
        finalizers: BTreeSet::new(),
        managed: Packed::default(),
        body: json!({ "metadata": {
            "labels": { "pemdas.dev/root": "uid.1" }, "annotations": { "pemdas.dev/claim": text },
        } })
        .into(),
    }
}

#[test]
fn only_what_pemdas_made_for_a_root_that_is_gone_is_left_behind() {
    let ours = made("part", &claim(false), &seal());
    let orphan = Verdict::Orphan(Box::new(Claim {
        seal: serde_json::from_str::<Claim>(ours.annotation("pemdas.dev/claim").unwrap()).unwrap().seal,
        ..claim(false)
    }));
    assert_eq!(judge(&ours, &seal(), &Root::Gone), orphan);
    // Another root of the same name.
    assert_eq!(judge(&ours, &seal(), &Root::Lives("other".to_owned())), orphan);
    assert_eq!(judge(&ours, &seal(), &Root::Lives("uid".to_owned())), Verdict::NoMatter);
    assert_eq!(judge(&ours, &seal(), &Root::Unknown), Verdict::NoMatter);
    let stays = made("part", &claim(true), &seal());
    assert_eq!(judge(&stays, &seal(), &Root::Gone), Verdict::OnPurpose);
    // A copy under another name says so itself.
    let copy = made("copy", &claim(false), &seal());
    assert_eq!(judge(&copy, &seal(), &Root::Gone), Verdict::NoMatter);
    let forged = made("part", &claim(false), &Seal::with(vec![vec![8; 32]]));
    assert_eq!(judge(&forged, &seal(), &Root::Gone), Verdict::Forged);
}

/// A cluster-scoped root that a node observes, and what is made for it in a namespace.
const OBSERVED_ROOT: &str = r#"let { Blueprint, Any, .. } = import "pemdas/v1.ncl" in
{
  name = "observed-root",
  kinds.Case = { scope = 'Cluster, group = "cases.example.com", versions.v1.spec = {} },
  nodes = {
    case = { root = kinds.Case, also = ["itself", "part"] },
    itself = { observe = fun the => { apiVersion = "cases.example.com/v1", kind = "Case", name = the.root.metadata.name } },
    part.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata = { name = the.root.metadata.name, namespace = "default" },
    },
  },
} | Blueprint"#;

#[test]
fn nothing_is_left_of_a_root_that_a_node_observes() {
    let mut scene = Scene::new(Scenario::default());
    let files = [("main.ncl".to_owned(), OBSERVED_ROOT.to_owned())].into();
    let case = json!({ "apiVersion": "cases.example.com/v1", "kind": "Case", "metadata": { "name": "one" }, "spec": {} });
    scene.apply(&[play::config_map("observed-root", &files, None), case.clone()]);
    let made = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one", "namespace": "default" } });
    assert!(scene.object(&made).is_some());
    scene.delete(&case);
    assert_eq!(scene.object(&case), None);
    assert_eq!(scene.object(&made), None);
    let found = find(&scene.session("default"), &[], true).unwrap_or_else(|lost| panic!("{lost:?}"));
    assert_eq!(text::found(&found), "nothing is left of instances that are gone\n");
}
