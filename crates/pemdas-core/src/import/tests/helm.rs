//! What charts say beside their objects: releases, hooks, books.

use serde_json::{Value, json};

use super::{chart::chart, drafted, map};
use crate::import::{Draft, Given, Node, Order, Part, Tree, What, Wishes, draft};

fn job(name: &str, hook: &str, weight: i64) -> Value {
    let mut job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name, "annotations": {} },
        "spec": { "ttlSecondsAfterFinished": 60, "template": { "spec": { "restartPolicy": "Never", "containers": [
            { "name": "c", "image": "tool:1", "args": ["migrate"] }] } } } });
    if !hook.is_empty() {
        job["metadata"]["annotations"] = json!({ "helm.sh/hook": hook, "helm.sh/hook-weight": weight.to_string(),
            "helm.sh/hook-delete-policy": "before-hook-creation" });
    }
    job
}

fn server(name: &str) -> Value {
    json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name }, "spec": {
        "selector": { "matchLabels": { "app": name } }, "template": { "metadata": { "labels": { "app": name } },
        "spec": { "containers": [{ "name": "c", "image": "server:1" }] } } } })
}

fn node<'a>(draft: &'a Draft, name: &str) -> &'a Node {
    draft.nodes.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("{name}: {draft:#?}"))
}

/// What a node comes after.
fn after(node: &Node) -> Vec<&str> {
    node.edges.iter().filter(|it| it.order == Order::Ready).map(|it| it.to.as_str()).collect()
}

#[test]
fn a_job_runs_once_for_what_it_does() {
    let draft = drafted(&[job("shop-load", "", 0), server("shop-web")]);
    let once = node(&draft, "load").once.clone().unwrap();
    let What::Record(fields) = &once.key.what else { panic!("{once:?}") };
    let names: Vec<_> = fields.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(names, ["image", "args"]);
    assert_eq!(fields[0].1.what, What::Text(vec![Part::Parameter("cImage".to_owned())]));
    assert!(!once.skip_first && node(&draft, "web").once.is_none());
    assert_eq!(draft.objects[0]["spec"]["ttlSecondsAfterFinished"], 60);
    let mut hasty = job("shop-load", "", 0);
    hasty["spec"]["ttlSecondsAfterFinished"] = json!(0);
    let draft = drafted(&[hasty, server("shop-web")]);
    assert!(draft.objects[0]["spec"].get("ttlSecondsAfterFinished").is_none());
}

#[test]
fn hooks_run_before_and_after_what_they_hook() {
    let draft = drafted(&[
        server("shop-web"),
        job("shop-migrate", "pre-install,pre-upgrade", 5),
        job("shop-prepare", "pre-install", -5),
        job("shop-warm", "post-install", 0),
        job("shop-fill", "post-install,pre-upgrade", 0),
        job("shop-only", "pre-upgrade", 0),
        job("shop-bye", "pre-delete", 0),
        map("shop-settings"),
    ]);
    assert_eq!(after(node(&draft, "web")), ["migrate", "prepare", "only"]);
    assert_eq!(after(node(&draft, "migrate")), ["only"]);
    assert_eq!(after(node(&draft, "only")), ["prepare"]);
    assert_eq!(after(node(&draft, "warm")), ["web"]);
    assert_eq!(after(node(&draft, "fill")), ["web"]);
    assert_eq!(draft.deleting, ["bye"]);
    assert!(!draft.needs.contains(&"bye".to_owned()));
    assert_eq!(draft.needs, ["warm", "fill", "settings"], "the rest is needed by these");
    let key = |name: &str| node(&draft, name).once.clone().unwrap().key.what;
    assert_eq!(key("prepare"), What::Text(vec![Part::Literal("install".to_owned())]));
    assert!(
        matches!(key("migrate"), What::Record(fields) if fields[0].1.what == What::Read("release".to_owned()))
    );
    let skipped = draft.nodes.iter().filter(|it| it.once.as_ref().is_some_and(|it| it.skip_first));
    assert_eq!(skipped.map(|it| it.name.as_str()).collect::<Vec<_>>(), ["only"]);
    assert!(draft.parameters.iter().any(|it| it.name == "release" && it.has_default));
    assert!(!format!("{:?}", draft.objects).contains("helm.sh"));
}

#[test]
fn hooks_of_tests_are_left_out_and_told() {
    let objects = [job("shop-check", "test", 0), job("shop-back", "post-rollback", 0), map("shop")];
    let given = |value: &Value| Given { file: "in".to_owned(), tree: Tree::from(value.clone()) };
    let (draft, problems) = draft(objects.iter().map(given).collect(), &Wishes::default());
    assert_eq!(draft.unwrap().nodes.len(), 1);
    let told: Vec<_> =
        problems.iter().filter(|it| it.code == "PM0613").map(|it| it.message.as_str()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("Job shop-check is left out"), "{told:?}");
}

#[test]
fn the_release_names_the_instance_and_the_chart_the_kind() {
    let labelled = |mut object: Value, chart: bool| {
        object["metadata"]["labels"] =
            json!({ "app.kubernetes.io/instance": "rel", "app.kubernetes.io/managed-by": "Helm" });
        if chart {
            object["metadata"]["labels"]["helm.sh/chart"] = json!("metrics-server-3.12.1");
        }
        object
    };
    for chart in [true, false] {
        let objects = ["rel-metrics-server", "rel-metrics-server-view"].map(|it| labelled(map(it), chart));
        let draft = drafted(&objects);
        assert_eq!((draft.instance.as_str(), draft.name.as_str()), ("rel", "metrics-server"));
        assert_eq!(draft.kind, "MetricsServer");
        assert_eq!(draft.rendered().len(), 2);
        assert!(!format!("{:?}", draft.objects).contains("Helm"));
    }
}

#[test]
fn a_label_that_something_is_selected_by_stays() {
    let mut web = server("shop-web");
    let labels = json!({ "app": "shop-web", "heritage": "Helm", "chart": "shop-1.0.0", "release": "shop" });
    web["metadata"]["labels"] = labels.clone();
    web["spec"]["template"]["metadata"]["labels"] = labels;
    web["spec"]["selector"]["matchLabels"] = json!({ "app": "shop-web", "heritage": "Helm" });
    let draft = drafted(&[web, map("shop")]);
    let left = &draft.objects[0]["spec"]["template"]["metadata"]["labels"];
    assert_eq!(*left, json!({ "app": "shop-web", "heritage": "Helm", "release": "shop" }));
}

#[test]
fn the_blueprint_does_not_take_the_name_of_a_config_map() {
    let draft = drafted(&[map("web"), server("web-server")]);
    assert_eq!((draft.name.as_str(), draft.kind.as_str()), ("web-blueprint", "Web"));
    assert_eq!((draft.instance.as_str(), draft.root.as_str()), ("web", "web"));
}

#[test]
fn what_holds_data_stays_when_the_instance_goes() {
    let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "db" }, "spec": {} });
    let mut kept = map("db-keep");
    kept["metadata"]["annotations"] = json!({ "helm.sh/resource-policy": "keep" });
    let draft = drafted(&[claim, kept, map("db-goes")]);
    assert_eq!(draft.nodes.iter().map(|it| it.orphan).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(draft.nodes[0].remarks.len(), 1);
}

#[test]
fn images_with_one_tag_share_a_version() {
    let of = |name: &str, image: &str| {
        let mut object = server(name);
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        object
    };
    let objects = [
        of("shop-a", "registry:5000/x/a:1.2"),
        of("shop-b", "registry:5000/x/b:1.2"),
        of("shop-c", "elsewhere/c:1.2"),
        of("shop-d", "registry:5000/d"),
    ];
    let draft = drafted(&objects);
    let names: Vec<_> = draft.parameters.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["version", "cImage", "dCImage"]);
    assert_eq!(draft.rendered()[0]["spec"], draft.objects[0]["spec"]);
}

#[test]
fn the_address_of_a_service_is_an_edge_and_no_parameter() {
    let calls = |name: &str| {
        let mut object = server(name);
        object["spec"]["template"]["spec"]["containers"][0]["env"] = json!([
            { "name": "REDIS_ADDR", "value": "redis-cart:6379" }, { "name": "HUB", "value": "hub" },
            { "name": "CART", "value": "http://cart.default.svc.cluster.local/x" },
        ]);
        object
    };
    let service = |name: &str| {
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name },
        "spec": { "ports": [{ "port": 80 }] } })
    };
    let draft = drafted(&[calls("one"), calls("two"), service("redis-cart"), service("cart")]);
    let names: Vec<_> = draft.parameters.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["image"]);
    let to: Vec<_> = draft.nodes[0].edges.iter().map(|it| (it.to.as_str(), it.order)).collect();
    assert_eq!(to, [("redis_cart", Order::None), ("cart", Order::None)]);
}

#[test]
fn definitions_stand_beside_the_blueprint_and_are_only_looked_at() {
    let definition = |kind: &str| {
        let plural = format!("{}s", kind.to_lowercase());
        json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.example.org") }, "spec": { "group": "example.org", "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural }, "versions": [] } })
    };
    let widget = json!({ "apiVersion": "example.org/v1", "kind": "Widget", "metadata": { "name": "shop" }, "spec": {} });
    let objects = [definition("Widget"), definition("Other"), widget];
    let draft = drafted(&objects);
    assert_eq!(draft.definitions.len(), 2);
    assert_eq!((draft.nodes.len(), draft.objects.len()), (1, 1));
    let observed: Vec<_> = draft.observed.iter().map(|it| it.object.as_str()).collect();
    assert_eq!(observed, ["widgets.example.org"], "nobody needs the other one");
    assert_eq!(after(&draft.nodes[0]), [draft.observed[0].name.as_str()]);
    assert_eq!(draft.needs, ["shop"]);
    assert_eq!(drafted(&objects[..2]).nodes.len(), 2, "of definitions alone, they are the objects");
}

#[test]
fn empty_lists_and_maps_that_mean_nothing_are_left_out() {
    let mut web = server("web");
    web["metadata"]["annotations"] = json!({});
    let pod = &mut web["spec"]["template"]["spec"];
    pod["tolerations"] = json!([]);
    pod["nodeSelector"] = json!({});
    pod["affinity"] = json!({});
    pod["volumes"] = json!([{ "name": "tmp", "emptyDir": {} }]);
    pod["containers"][0]["resources"] = json!({ "limits": {}, "requests": {} });
    pod["containers"][0]["env"] = json!([]);
    let policy = json!({ "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": { "name": "web-all" },
        "spec": { "podSelector": {}, "ingress": [{}] } });
    let draft = drafted(&[web, policy]);
    let pod = &draft.objects[0]["spec"]["template"]["spec"];
    let fields: Vec<_> = pod.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["containers", "volumes"]);
    assert_eq!(pod["volumes"][0]["emptyDir"], json!({}));
    assert_eq!(pod["containers"][0], json!({ "name": "c", "image": "server:1" }));
    assert!(draft.objects[0]["metadata"].get("annotations").is_none());
    assert_eq!(draft.objects[1]["spec"], json!({ "podSelector": {}, "ingress": [{}] }));
}

#[test]
fn what_wants_to_be_looked_at_is_named_with_its_reason() {
    let mut web = server("shop-web");
    web["spec"]["template"]["metadata"]["annotations"] = json!({ "checksum/config": "0123" });
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "shop-secret" }, "stringData": { "a": "b" } });
    let draft = drafted(&[web, secret, job("shop-go", "pre-install", 0), map("other")]);
    let named: Vec<_> = draft.attention.iter().map(|it| it.nodes.join(",")).collect();
    assert_eq!(named, ["secret", "go", "other", "web"]);
}

#[test]
fn the_name_of_a_release_is_the_roots_wherever_it_stands() {
    let mut web = server("rel-shop-web");
    web["metadata"]["labels"] = json!({ "app.kubernetes.io/instance": "rel", "helm.sh/chart": "shop-1.0.0" });
    let pod = &mut web["spec"]["template"]["spec"]["containers"][0];
    pod["args"] =
        json!(["--election-id=rel-leader", "--publish=$(NS)/rel-shop-web", "--barrel-size=1", "--x=rel"]);
    pod["env"] = json!([{ "name": "RELEASE_NAME", "value": "rel" }]);
    let mut settings = map("rel-shop");
    settings["metadata"]["labels"] = web["metadata"]["labels"].clone();
    let draft = drafted(&[web, settings]);
    assert_eq!(draft.rendered()[0]["spec"], draft.objects[0]["spec"]);
    let mut renamed = draft.clone();
    "other".clone_into(&mut renamed.instance);
    let pod = &renamed.rendered()[0]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        pod["args"],
        json!(["--election-id=other-leader", "--publish=$(NS)/other-shop-web", "--barrel-size=1", "--x=rel"])
    );
    assert_eq!(pod["env"][0]["value"], "other");
}

#[test]
fn the_name_of_a_release_that_is_a_word_of_the_chart_is_only_that_in_names() {
    let mut web = server("redis-web");
    web["metadata"]["labels"] =
        json!({ "app.kubernetes.io/instance": "redis", "helm.sh/chart": "redis-1.0.0" });
    web["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["redis-server", "--host=redis-web"]);
    let mut settings = map("redis");
    settings["metadata"]["labels"] = web["metadata"]["labels"].clone();
    let mut renamed = drafted(&[web, settings]);
    "other".clone_into(&mut renamed.instance);
    let command = &renamed.rendered()[0]["spec"]["template"]["spec"]["containers"][0]["command"];
    assert_eq!(*command, json!(["redis-server", "--host=other-web"]));
}

#[test]
fn another_name_of_a_release_changes_the_name_of_the_instance_and_nothing_else() {
    for seed in 0..60 {
        let [one, other] = ["rel", "another-one"].map(|it| drafted(&chart(seed, it)));
        assert_eq!((one.instance.as_str(), other.instance.as_str()), ("rel", "another-one"), "{seed}");
        assert_eq!((&one.name, &one.kind), (&other.name, &other.kind), "{seed}");
        assert_eq!(one.parameters, other.parameters, "{seed}");
        assert_eq!(one.labels, other.labels, "{seed}");
        for (one, other) in one.nodes.iter().zip(&other.nodes) {
            // What is said of a node may name an object.
            assert_eq!((&one.name, &one.template), (&other.name, &other.template), "{seed}");
            assert_eq!(
                (&one.edges, &one.once, one.orphan),
                (&other.edges, &other.once, other.orphan),
                "{seed}"
            );
        }
        assert_eq!((&one.needs, &one.deleting), (&other.needs, &other.deleting), "{seed}");
        assert_eq!(one.nodes.len(), other.nodes.len(), "{seed}");
        // An instance of the other name has the objects of the other release.
        let mut renamed = one.clone();
        renamed.instance.clone_from(&other.instance);
        for (rendered, object) in renamed.rendered().iter().zip(&other.objects) {
            for field in ["spec", "data", "rules", "roleRef", "subjects"] {
                assert_eq!(rendered.get(field), object.get(field), "{seed}");
            }
            assert_eq!(rendered["metadata"]["labels"], object["metadata"]["labels"], "{seed}");
        }
    }
}

/// A release in whose objects no namespace stands, but in what names them.
fn released(namespace: &str) -> Vec<Value> {
    let labels = json!({ "app.kubernetes.io/instance": "rel" });
    let called = |mut it: Value, name: &str| {
        it["metadata"] = json!({ "name": name, "labels": labels });
        it
    };
    let host = format!("amqp://rel-mq-0.rel-mq-headless.{namespace}.svc.cluster.local:5672");
    let env = json!([
        { "name": "URL", "value": host },
        { "name": "HOST", "value": format!("mq.$(SERVICE).{namespace}.svc") },
        { "name": "API", "value": format!("https://kubernetes.{namespace}.svc") },
    ]);
    let conf = format!("peers = rel-mq-headless.{namespace}.svc");
    vec![
        called(json!({ "apiVersion": "v1", "kind": "ServiceAccount" }), "rel-mq"),
        called(
            json!({ "apiVersion": "v1", "kind": "Service", "spec": { "clusterIP": "None" } }),
            "rel-mq-headless",
        ),
        called(
            json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "mq.conf": conf },
            "data": { "raw": super::super::seeds::base64(conf.as_bytes()), "password": "cDJ4VjhrTG1ROQ==" } }),
            "rel-mq-config",
        ),
        called(
            json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
            "subjects": [{ "kind": "ServiceAccount", "name": "rel-mq", "namespace": namespace }] }),
            "rel-mq",
        ),
        called(
            json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "spec": { "serviceName": "rel-mq-headless",
            "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "mq", "image": "mq:1", "env": env }] } } } }),
            "rel-mq",
        ),
    ]
}

#[test]
fn a_release_lives_where_what_names_its_objects_says() {
    for namespace in ["apps", "default"] {
        let draft = drafted(&released(namespace));
        assert_eq!((draft.namespace.as_str(), draft.cluster), (namespace, false));
        let binding = node(&draft, "mq_cluster_role_binding");
        assert!(binding.edges.iter().any(|it| it.to == "mq_account"), "{binding:?}");
        assert!(
            draft
                .objects
                .iter()
                .all(|it| it["kind"] == "ClusterRoleBinding" || it["metadata"]["namespace"] == namespace)
        );
    }
    // Nobody can say which of two.
    let mut objects = released("apps");
    objects[4]["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] =
        json!("rel-mq-headless.other.svc:80");
    assert_eq!(drafted(&objects).namespace, "default");
}

#[test]
fn addresses_and_secrets_follow_the_instance_and_its_namespace() {
    let mut draft = drafted(&released("apps"));
    assert_eq!(draft.rendered()[2]["data"]["raw"], draft.objects[2]["data"]["raw"]);
    (draft.instance, draft.namespace) = ("other".to_owned(), "there".to_owned());
    let made = draft.rendered();
    let env = made[4].pointer("/spec/template/spec/containers/0/env").unwrap();
    let values: Vec<_> = env.as_array().unwrap().iter().map(|it| it["value"].as_str().unwrap()).collect();
    assert_eq!(
        values,
        [
            "amqp://other-mq-0.other-mq-headless.there.svc.cluster.local:5672",
            "mq.$(SERVICE).there.svc",
            // That one is not of the release.
            "https://kubernetes.apps.svc",
        ]
    );
    assert_eq!(made[3]["subjects"][0]["namespace"], "there");
    let conf = "peers = other-mq-headless.there.svc";
    assert_eq!(made[2]["stringData"]["mq.conf"], conf);
    assert_eq!(
        made[2]["data"],
        json!({ "raw": super::super::seeds::base64(conf.as_bytes()), "password": "cDJ4VjhrTG1ROQ==" })
    );
}

#[test]
fn the_only_other_image_beside_a_version_is_called_after_its_container() {
    let web = |name: &str, container: &str, image: &str| {
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name }, "spec": {
            "selector": { "matchLabels": { "app": name } }, "template": { "metadata": { "labels": { "app": name } },
            "spec": { "containers": [{ "name": container, "image": image }] } } } })
    };
    let draft = drafted(&[
        web("shop-api", "api", "quay.io/shop/api:v2"),
        web("shop-web", "web", "quay.io/shop/web:v2"),
        web("shop-db", "postgres", "docker.io/library/postgres:16"),
    ]);
    let names: Vec<_> = draft.parameters.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["version", "postgresImage"]);
}

#[test]
fn a_label_that_is_called_after_the_release_is_among_what_to_look_at() {
    let mut objects = released("apps");
    let look = |objects: &[Value]| {
        let draft = drafted(objects);
        let fixed = draft.attention.into_iter().find(|it| it.why.starts_with("fixed names"));
        fixed.map_or_else(Vec::new, |it| it.nodes)
    };
    assert_eq!(look(&objects), Vec::<String>::new());
    objects.push(json!({ "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": { "name": "rel-mq-door", "labels": { "app.kubernetes.io/instance": "rel" } },
        "spec": { "podSelector": {}, "ingress": [{ "from": [{ "podSelector": { "matchLabels": { "rel-mq-client": "true" } } }] }] } }));
    assert_eq!(look(&objects), ["door"]);
}
