use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};

use super::{Secrets, decoded, encoded};
use crate::{
    graph::sketch,
    ledger::{Ledger, Slot},
    world::{KindKey, LedgerFact, Live, ObjectKey, World},
};

fn live(kind: &str, name: &str, body: Value) -> Live {
    let key = ObjectKey::new(KindKey::new("v1", kind), "n", name);
    Live {
        key,
        uid: "u".to_owned(),
        resource_version: 1,
        generation: None,
        terminating: false,
        finalizers: BTreeSet::new(),
        managed: Default::default(),
        body: body.into(),
    }
}

/// A world with a Secret of these values, encoded as the API server has them.
fn world(values: &[&str]) -> World {
    let data: serde_json::Map<String, Value> =
        values.iter().enumerate().map(|(at, it)| (format!("k{at}"), json!(base64(it)))).collect();
    let mut world = World::new(ObjectKey::new(KindKey::new("v1", "ConfigMap"), "n", "root"), "u");
    let secret = live("Secret", "s", json!({ "kind": "Secret", "data": data }));
    world.objects.insert(secret.key.clone(), Arc::new(secret));
    world
}

fn base64(text: &str) -> String {
    let full = encoded(format!("{text}\0\0").as_bytes(), 0);
    let (signs, padding) = (text.len().div_ceil(3) * 4, (3 - text.len() % 3) % 3);
    format!("{}{}", &full[..signs - padding], &"=="[..padding])
}

fn masked(values: &[&str], text: &str) -> String {
    Secrets::of(&world(values), None).mask(text)
}

#[test]
fn base64_is_as_everybody_has_it() {
    for (text, code) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
        assert_eq!(base64(text), code);
        assert_eq!(decoded(code).as_deref(), Some(text));
    }
    assert_eq!(decoded("a.b"), None);
    assert_eq!(decoded("/w=="), None, "no text");
}

#[test]
fn a_value_is_not_told_in_whatever_text_it_is() {
    let secret = "hunter2-and-more";
    let cases = [
        ("namespaces \"hunter2-and-more\" not found", "namespaces \"***\" not found"),
        (".data.hunter2-and-more no/key: expected string", ".data.*** no/key: expected string"),
        ("cut off: hunter2-", "cut off: ***"),
        ("hunter2-and-morehunter2-and-more", "******"),
        ("hunter2", "hunter2"),
        ("nothing of it", "nothing of it"),
    ];
    for (said, told) in cases {
        assert_eq!(masked(&[secret], said), told);
    }
    // Encoded, wherever it stands in what was encoded.
    for around in ["", "a", "ab", "abc"] {
        let code = base64(&format!("{around}{secret}!"));
        let told = masked(&[secret], &code);
        assert!(told.contains("***") && told.len() < code.len() - 12, "{around}: {code} is told as {told}");
    }
    // What an API server holds is encoded already.
    assert_eq!(masked(&[secret], &base64(&base64(secret))), "***");
}

#[test]
fn parts_of_a_value_are_values() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----\n";
    assert_eq!(masked(&[key], "got MIIEvQIBADANBg"), "got ***");
    assert_eq!(masked(&["say \"very secret\""], r#"is "say \"very secret\"""#), r#"is "***""#);
    let config = r#"{ "auths": { "registry": { "password": "correct horse" } } }"#;
    assert_eq!(masked(&[config], "no correct horse here"), "no *** here");
}

#[test]
fn what_is_short_or_stands_openly_is_told() {
    assert_eq!(masked(&["seven77", "ab"], "seven77 ab"), "seven77 ab");
    // Eight characters are counted, not bytes.
    assert_eq!(masked(&["äöüßäöü"], "äöüßäöü"), "äöüßäöü");
    assert_eq!(masked(&["äöüßäöüß"], "äöüßäöüß"), "***");
    let mut world = world(&["administrator", "my-database", "something-else"]);
    let root = live("ConfigMap", "root", json!({ "data": { "user": "administrator" } }));
    world.root.live = Some(Arc::new(root));
    let mut blueprint = sketch::blueprint("one: template v1 ConfigMap my-database\n");
    let text = "administrator of my-database and something-else";
    assert_eq!(Secrets::of(&world, Some(&blueprint)).mask(text), "administrator of my-database and ***");
    blueprint.texts.insert("this is something-else".to_owned());
    assert_eq!(Secrets::of(&world, Some(&blueprint)).mask(text), text, "written in a file");
}

#[test]
fn seeds_are_values_and_other_objects_are_not() {
    let mut world = world(&[]);
    let map = live("ConfigMap", "m", json!({ "data": { "a": "a long public text" } }));
    world.objects.insert(map.key.clone(), Arc::new(map));
    let mut ledger = Ledger::default();
    ledger.seeds.insert(Slot::new("db", ""), "k3tn5zq8w2v7x4c6".to_owned());
    world.ledger = LedgerFact::Present { resource_version: 1, ledger: Box::new(ledger) };
    let secrets = Secrets::of(&world, None);
    assert_eq!(secrets.mask("a long public text, k3tn5zq8w2v7x4c6"), "a long public text, ***");
    let mut value = json!({ "k3tn5zq8w2v7x4c6": ["k3tn5zq8w2v7", 1] });
    secrets.mask_all(&mut value);
    assert_eq!(value, json!({ "***": ["***", 1] }));
}
