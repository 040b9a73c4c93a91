use serde_json::{Value, json};

mod chart;
mod checksums;
mod helm;

use super::{Draft, Given, Order, Tree, Wishes, draft, names};

fn drafted(objects: &[Value]) -> Draft {
    let given = |value: &Value| Given { file: "in".to_owned(), tree: Tree::from(value.clone()) };
    let (draft, problems) = draft(objects.iter().map(given).collect(), &Wishes::default());
    draft.unwrap_or_else(|| panic!("{problems:#?}"))
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
}

fn nodes(names: &[&str]) -> (String, Vec<String>) {
    let draft = drafted(&names.iter().map(|it| map(it)).collect::<Vec<_>>());
    (draft.instance, draft.nodes.into_iter().map(|it| it.name).collect())
}

#[test]
fn the_instance_is_what_most_names_begin_with() {
    for (names, instance, wanted) in [
        (&["shop", "shop-api", "shop-db"][..], "shop", &["config_map", "api", "db"][..]),
        (&["my-shop-api", "my-shop-db"], "my-shop", &["api", "db"]),
        (&["alone"], "alone", &["config_map"]),
        (&["web", "redis", "Not.A.Label"], "app", &["web", "redis", "not_a_label"]),
        (&["xy-root", "xy-self", "xy-1"], "xy", &["root_config_map", "self_config_map", "config_map_1"]),
    ] {
        let (is, nodes) = nodes(names);
        assert_eq!((is.as_str(), nodes), (instance, wanted.iter().map(|it| (*it).to_owned()).collect()));
    }
}

#[test]
fn words_become_names() {
    for (text, snake, camel) in [
        ("LOG_LEVEL", "log_level", "logLevel"),
        ("HTTPRoute", "http_route", "httpRoute"),
        ("some-name.of/it", "some_name_of_it", "someNameOfIt"),
        ("v1beta1Thing", "v1beta1_thing", "v1beta1Thing"),
    ] {
        assert_eq!((names::snake(text).as_str(), names::camel(text, false).as_str()), (snake, camel));
    }
}

#[test]
fn a_setting_that_says_the_host_is_the_host() {
    let ingress = json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": { "name": "shop" },
        "spec": { "rules": [{ "host": "shop.example.com" }] } });
    let settings = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shop-settings" },
        "data": { "HOST": "shop.example.com", "OTHER": "shop.example.org", "AGAIN": "shop.example.org" } });
    let draft = drafted(&[settings, ingress]);
    let names: Vec<_> = draft.parameters.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["host"], "what has the name of the instance in it is no parameter of its own");
    let settings = format!("{:?}", draft.nodes[0].template);
    assert!(settings.contains("Parameter(\"host\")"), "{settings}");
    assert_eq!(draft.rendered().len(), 2);
}

#[test]
fn the_same_value_is_one_parameter_and_counts_are_not() {
    let server = |name: &str, image: &str| {
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name }, "spec": { "replicas": 2,
            "template": { "spec": { "containers": [{ "name": "c", "image": image, "env": [
                { "name": "REGION", "value": "eu-central-1" }, { "name": "PASSWORD", "value": "hunter2" }] }] } } } })
    };
    let draft = drafted(&[server("web-one", "x:1"), server("web-two", "x:1")]);
    let names: Vec<_> = draft.parameters.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        ["image", "oneReplicas", "twoReplicas", "region"],
        "what may be secret is no parameter"
    );
    assert_eq!(draft.rendered().len(), 2);
}

#[test]
fn two_that_name_each_other_have_an_order_one_way_only() {
    let set = json!({ "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": "db" }, "spec": { "serviceName": "db",
        "selector": {}, "template": { "metadata": { "labels": { "app": "db" } } } } });
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "db" },
        "spec": { "selector": { "app": "db" }, "fooRef": { "kind": "StatefulSet", "name": "db" } } });
    let draft = drafted(&[set, service]);
    let orders: Vec<_> =
        draft.nodes.iter().map(|it| it.edges.iter().map(|it| it.order).collect::<Vec<_>>()).collect();
    assert_eq!(orders, [[Order::There], [Order::None]]);
    assert_eq!(draft.needs, ["stateful_set"], "all is needed through one of them");
}

#[test]
fn a_namespace_that_comes_along_makes_the_root_live_beside_namespaces() {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } });
    let mut inside = map("shop-a");
    inside["metadata"]["namespace"] = json!("shop");
    let draft = drafted(&[space, inside, map("shop-b")]);
    assert!(draft.cluster);
    assert_eq!(draft.objects[2]["metadata"]["namespace"], json!("shop"), "where the others are");
    assert_eq!(draft.rendered(), draft.objects);
    assert!(draft.instance()["metadata"].get("namespace").is_none());
}

#[test]
fn the_same_name_in_two_namespaces_is_told_apart_by_them() {
    let within = |namespace: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "limits", "namespace": namespace } });
    let space = |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let draft = drafted(&[space("team-a"), space("team-b"), within("team-a"), within("team-b")]);
    let names: Vec<_> = draft.nodes.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((draft.instance.as_str(), names), ("team", vec!["a", "b", "limits", "b_limits"]));
    assert!(draft.nodes.iter().all(|it| it.remarks.is_empty()), "each instance has namespaces of its own");
}

#[test]
fn an_owner_needs_what_it_owned() {
    let owner =
        json!({ "apiVersion": "example.org/v1", "kind": "App", "metadata": { "name": "xy" }, "spec": {} });
    let mut owned = map("xy-map");
    owned["metadata"]["ownerReferences"] =
        json!([{ "apiVersion": "example.org/v1", "kind": "App", "name": "xy", "uid": "1" }]);
    let draft = drafted(&[owned, owner]);
    assert_eq!(draft.needs, ["app"]);
    assert_eq!(draft.nodes[1].edges[0].to, "map");
    assert!(draft.objects[0]["metadata"].get("ownerReferences").is_none());
}

#[test]
fn the_number_of_replicas_is_left_to_an_autoscaler() {
    let web = |kind: &str, name: &str, replicas: i64| {
        json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name },
            "spec": { "replicas": replicas, "selector": { "matchLabels": { "app": name } }, "template": {
                "metadata": { "labels": { "app": name } }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } } } })
    };
    let scaler = json!({ "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "web" },
        "spec": { "maxReplicas": 5, "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" } } });
    let keda = json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": { "name": "jobs" },
        "spec": { "scaleTargetRef": { "name": "jobs" } } });
    let objects = [
        web("Deployment", "web", 3),
        web("Deployment", "jobs", 4),
        web("StatefulSet", "web", 2),
        scaler,
        keda,
    ];
    let given = |value: &Value| Given { file: "in".to_owned(), tree: Tree::from(value.clone()) };
    let (draft, problems) = draft(objects.iter().map(given).collect(), &Wishes::default());
    let told: Vec<_> =
        problems.iter().filter(|it| it.code == "PM0612").map(|it| it.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "`replicas` of Deployment web is left out: HorizontalPodAutoscaler web sets it",
            "`replicas` of Deployment jobs is left out: ScaledObject jobs sets it",
        ]
    );
    let made = draft.unwrap().objects;
    let numbers: Vec<_> = made.iter().map(|it| it["spec"].get("replicas").cloned()).collect();
    assert_eq!(numbers[..3], [None, None, Some(json!(2))], "{made:#?}");
}
