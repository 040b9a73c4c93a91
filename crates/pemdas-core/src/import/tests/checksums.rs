//! Checksums of Helm that follow an object, and labels that stand once.

use serde_json::{Value, json};

use super::{drafted, map};
use crate::import::{Draft, Order, What, Which};

/// A Deployment whose pods have annotations with checksums, and mount and read what is said.
fn web(checksums: &[&str], maps: &[&str], secrets: &[&str], argument: &str) -> Value {
    let annotations: Value = checksums.iter().map(|it| (format!("checksum/{it}"), json!("0123"))).collect();
    let maps = maps.iter().map(|it| json!({ "configMapRef": { "name": it } }));
    let secrets = secrets.iter().map(|it| json!({ "secretRef": { "name": it } }));
    let from: Vec<Value> = maps.chain(secrets).collect();
    json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "shop-web" }, "spec": {
        "selector": { "matchLabels": { "app": "shop-web" } }, "template": {
            "metadata": { "labels": { "app": "shop-web" }, "annotations": annotations },
            "spec": { "containers": [{ "name": "c", "image": "web:1", "envFrom": from, "args": [argument] }] } } } })
}

fn secret(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name } })
}

/// Which node each checksum of the first node follows.
fn follows(draft: &Draft) -> Vec<(String, Vec<String>)> {
    let edges = draft.nodes[0].edges.iter().filter(|it| !it.digest.is_empty());
    edges.map(|it| (it.to.clone(), it.digest.clone())).collect()
}

/// A checksum, the maps and Secrets that the pods use, an argument, and what the checksum follows.
type Case<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a str, Option<&'a str>);

#[test]
fn a_checksum_follows_the_object_that_its_words_and_the_pods_mean() {
    let others = || {
        [
            map("shop-web"),
            map("shop-scripts"),
            map("shop-log-config"),
            secret("shop-web-auth"),
            secret("shop-web-config"),
        ]
    };
    let cases: [Case<'_>; 14] = [
        ("config", &["shop-scripts"], &["shop-web-auth"], "", Some("scripts")),
        ("secret", &["shop-scripts"], &["shop-web-auth"], "", Some("web_auth")),
        ("scripts", &["shop-scripts", "shop-web"], &[], "", Some("scripts")),
        ("log-config", &["shop-scripts", "shop-log-config"], &[], "", Some("log_config")),
        // Of several, the one that is called as the workload is.
        ("config", &["shop-scripts", "shop-web"], &[], "", Some("web_config_map")),
        ("config", &[], &[], "--from=shop-scripts", Some("scripts")),
        // A Secret that is called so.
        ("config", &["shop-scripts"], &["shop-web-config"], "", Some("web_config")),
        ("config", &["shop-log-config"], &["shop-web-config"], "", Some("log_config")),
        // Nobody can say which.
        ("configmap", &["shop-scripts", "shop-log-config"], &[], "", None),
        ("config", &[], &["shop-web-auth"], "", None),
        ("config", &[], &[], "", None),
        ("config", &[], &[], "--from=shop-scripts-2", None),
        ("other", &["shop-scripts"], &[], "", None),
        ("dashboards", &["shop-web"], &["shop-web-auth"], "", None),
    ];
    for (checksum, maps, secrets, argument, wanted) in cases {
        let mut objects = vec![web(&[checksum], maps, secrets, argument)];
        objects.extend(others());
        let draft = drafted(&objects);
        let found: Vec<_> = follows(&draft).into_iter().map(|it| it.0).collect();
        assert_eq!(found, wanted.map(str::to_owned).into_iter().collect::<Vec<_>>(), "{checksum} {maps:?}");
        let digests = draft.nodes[0].digests();
        assert_eq!(
            digests.values().copied().collect::<Vec<_>>(),
            wanted.map(|_| "0123").into_iter().collect::<Vec<_>>()
        );
        let noted = draft.nodes[0].remarks.iter().any(|it| it.contains("no longer follows"));
        assert_eq!(noted, wanted.is_none(), "{checksum}");
        assert_eq!(draft.attention.iter().any(|it| it.why.starts_with("checksums")), wanted.is_none());
        let edge = draft.nodes[0].edges.iter().find(|it| !it.digest.is_empty());
        assert!(edge.is_none_or(|it| it.order == Order::Ready));
        assert_eq!(draft.rendered()[0]["spec"]["template"], draft.objects[0]["spec"]["template"]);
    }
}

#[test]
fn binary_data_counts_in_a_digest() {
    let mut binary = map("shop-logo");
    binary["binaryData"] = json!({ "logo": "AAEC" });
    let draft = drafted(&[web(&["config"], &["shop-logo"], &[], ""), binary]);
    assert_eq!(follows(&draft), [("logo".to_owned(), vec!["data".to_owned(), "binaryData".to_owned()])]);
}

/// An object with labels.
fn labelled(name: &str, labels: &Value) -> Value {
    let mut object = map(name);
    object["metadata"]["labels"] = labels.clone();
    object
}

fn labels(draft: &Draft, node: usize) -> Option<(Which, Vec<&str>)> {
    let What::Record(fields) = &draft.nodes[node].template.what else { panic!() };
    let What::Record(fields) = &fields.iter().find(|it| it.0 == "metadata")?.1.what else { panic!() };
    match &fields.iter().find(|it| it.0 == "labels")?.1.what {
        What::Labels(which, more) => Some((*which, more.iter().map(|it| it.0.as_str()).collect())),
        _ => None,
    }
}

#[test]
fn labels_that_the_objects_share_stand_once() {
    let all = json!({ "name": "shop", "app.kubernetes.io/instance": "rel", "version": "1" });
    let mut more = all.clone();
    more["part"] = json!("web");
    let other = json!({ "name": "shop", "app.kubernetes.io/instance": "rel" });
    let objects = [
        labelled("rel-a", &all),
        labelled("rel-b", &more),
        labelled("rel-c", &all),
        labelled("rel-d", &other),
    ];
    let draft = drafted(&objects);
    assert_eq!(draft.labels.common.len(), 3);
    assert!(draft.labels.selecting.is_empty());
    assert_eq!(labels(&draft, 0), Some((Which::Common, Vec::new())));
    assert_eq!(labels(&draft, 1), Some((Which::Common, vec!["part"])));
    assert_eq!(labels(&draft, 3), None, "it has less");
    let rendered = draft.rendered();
    for (rendered, object) in rendered.iter().zip(&objects) {
        assert_eq!(rendered["metadata"]["labels"], object["metadata"]["labels"]);
    }
    assert!(drafted(&objects[..2]).labels.common.is_empty(), "of two, nothing is shared");
}

#[test]
fn what_selectors_have_is_not_changed_with_the_version() {
    let selector = json!({ "app": "shop", "app.kubernetes.io/instance": "rel" });
    let mut all = selector.clone();
    all["version"] = json!("1");
    let mut web = web(&[], &[], &[], "");
    web["metadata"] = json!({ "name": "rel-web", "labels": all });
    web["spec"]["selector"]["matchLabels"] = selector.clone();
    web["spec"]["template"]["metadata"]["labels"] = all.clone();
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "rel-web", "labels": all },
        "spec": { "selector": selector, "ports": [{ "port": 80 }] } });
    let draft = drafted(&[web, service, labelled("rel-a", &all)]);
    assert_eq!((draft.labels.selecting.len(), draft.labels.common.len()), (2, 3));
    let text = format!("{:?}", draft.nodes[0].template);
    assert_eq!(text.matches("Labels(Selecting").count(), 1, "{text}");
    assert_eq!(text.matches("Labels(Common").count(), 2, "the pods have the version too: {text}");
    assert_eq!(draft.rendered()[1]["spec"], draft.objects[1]["spec"]);
}
