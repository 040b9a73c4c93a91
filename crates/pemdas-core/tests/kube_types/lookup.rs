//! Lookups in the table.

use pemdas_core::kube_types::{Kind, ListType, Scope, Shape, Type, UnknownKind, version};

fn kind(api_version: &str, name: &str) -> Kind {
    Kind::find(api_version, name).unwrap()
}

#[test]
fn knows_how_kinds_are_served() {
    let deployment = kind("apps/v1", "Deployment");
    assert_eq!((deployment.plural, deployment.scope), ("deployments", Scope::Namespaced));
    assert_eq!(deployment.group(), "apps");
    assert!(
        deployment.has_status_subresource() && deployment.has_scale() && deployment.observes_generation()
    );
    assert!(deployment.allows("patch") && deployment.allows("watch") && !deployment.allows("impersonate"));

    let namespace = kind("v1", "Namespace");
    assert_eq!((namespace.plural, namespace.scope, namespace.group()), ("namespaces", Scope::Cluster, ""));
    assert!(namespace.has_status_subresource() && !namespace.has_scale() && !namespace.observes_generation());
    assert!(!namespace.allows("deletecollection"));

    let review = kind("authorization.k8s.io/v1", "SubjectAccessReview");
    assert_eq!(review.verbs().collect::<Vec<_>>(), ["create"]);
    assert_eq!(kind("networking.k8s.io/v1", "NetworkPolicy").plural, "networkpolicies");
    let pod: Vec<_> = kind("v1", "Pod").subresources().collect();
    assert!(pod.contains(&"eviction") && pod.contains(&"log"));
}

/// The accidents: a CustomResourceDefinition was waited for for ever, and so was a Pod on a node whose kubelet is older than the API
/// server: the field is in the schema, and nobody fills it in.
#[test]
fn knows_which_kinds_observe_their_generation() {
    let observing: Vec<String> = Kind::all()
        .filter(Kind::observes_generation)
        .map(|kind| format!("{} {}", kind.api_version, kind.name))
        .collect();
    assert_eq!(
        observing,
        [
            "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
            "apps/v1 DaemonSet",
            "apps/v1 Deployment",
            "apps/v1 ReplicaSet",
            "apps/v1 StatefulSet",
            "policy/v1 PodDisruptionBudget",
            "v1 ReplicationController"
        ]
    );
}

#[test]
fn every_kind_has_a_type_and_every_type_is_whole() {
    let kinds: Vec<Kind> = Kind::all().collect();
    assert!(kinds.len() >= 90, "{}", kinds.len());
    for kind in &kinds {
        let body = kind.body().unwrap();
        assert!(body.field("metadata").is_some() || body.field("apiVersion").is_some(), "{}", kind.name);
        assert_eq!(Kind::find(kind.api_version, kind.name).as_ref(), Ok(kind));
        assert!(kind.verbs().next().is_some());
    }
    let ids: Vec<&str> = Type::all_ids().collect();
    assert!(ids.len() > 600, "{}", ids.len());
    assert!(ids.is_sorted());
    for id in ids {
        let body = Type::find(id).unwrap_or_else(|| panic!("{id} is not found"));
        assert_eq!(body.id(), id);
        for field in body.fields() {
            assert_eq!(body.field(field.name), Some(field), "{id}.{}", field.name);
            every_shape_is_known(id, field.name, field.shape());
            if let Some(default) = field.default() {
                serde_json::from_str::<serde_json::Value>(default).unwrap();
            }
        }
    }
}

fn every_shape_is_known(id: &str, field: &str, shape: Shape) {
    match shape {
        Shape::List(item) | Shape::Dictionary(item) => every_shape_is_known(id, field, item.shape()),
        Shape::Record(inner) => assert!(Type::find(inner).is_some(), "{id}.{field}: {inner}"),
        Shape::OneOf(choices) => {
            choices.choices().for_each(|choice| every_shape_is_known(id, field, choice));
        }
        // Only the values of JSON itself may be anything.
        Shape::Any => assert!(id.starts_with("apiextensions/v1/JSONSchemaProps"), "{id}.{field} is anything"),
        _ => {}
    }
}

#[test]
fn what_is_not_there_is_not_found() {
    for id in ["", "a", "core/v1/Containe", "core/v1/Container2", "zzz/v1/Z", "=core/v1/Pod", "core/v1/Pod\n"]
    {
        assert_eq!(Type::find(id), None, "{id:?}");
    }
    let container = Type::find("core/v1/Container").unwrap();
    for name in ["", "imag", "images", "image\t", "name\ts", "=core/v1/ContainerImage"] {
        assert_eq!(container.field(name), None, "{name:?}");
    }
    for (api_version, name) in
        [("", ""), ("apps/v1\tDeployment", ""), ("apps", "Deployment"), ("#v1.36.3", "")]
    {
        assert!(Kind::find(api_version, name).is_err());
    }
}

#[test]
fn keeps_what_a_schema_needs() {
    let container = Type::find("core/v1/Container").unwrap();
    let ports = container.field("ports").unwrap();
    assert_eq!(ports.list_type(), Some(ListType::Map));
    assert_eq!(ports.list_keys().collect::<Vec<_>>(), ["containerPort", "protocol"]);
    assert_eq!(ports.patch_merge_key(), Some("containerPort"));
    assert_eq!(ports.patch_strategies().collect::<Vec<_>>(), ["merge"]);
    assert!(container.field("name").unwrap().is_required() && !ports.is_required());
    assert_eq!(container.field("args").unwrap().list_type(), Some(ListType::Atomic));

    let protocol = container.at(&["ports", "[]", "protocol"]).unwrap();
    assert_eq!(protocol.default(), Some("\"TCP\""));
    assert_eq!(protocol.allowed().unwrap(), ["SCTP", "TCP", "UDP"]);
    let finalizers = Type::find("meta/v1/ObjectMeta").unwrap().field("finalizers").unwrap();
    assert_eq!(finalizers.list_type(), Some(ListType::Set));

    assert!(Type::find("meta/v1/LabelSelector").unwrap().is_atomic());
    let target = Type::find("core/v1/ServicePort").unwrap().field("targetPort").unwrap();
    assert_eq!(target.shape(), Shape::IntOrString);
    let limits = Type::find("core/v1/ResourceRequirements").unwrap().field("limits").unwrap();
    assert!(matches!(limits.shape(), Shape::Dictionary(item) if item.shape() == Shape::Quantity));
    let unions: Vec<_> = Type::find("core/v1/SeccompProfile").unwrap().unions().collect();
    assert_eq!(unions, [(Some("type"), vec![("localhostProfile", "LocalhostProfile")])]);
}

#[test]
fn keeps_the_descriptions() {
    let deployment = kind("apps/v1", "Deployment").body().unwrap();
    assert_eq!(deployment.doc(), "Deployment enables declarative updates for Pods and ReplicaSets.");
    let replicas = deployment.at(&["spec", "replicas"]).unwrap();
    assert!(replicas.doc().starts_with("Number of desired pods."), "{}", replicas.doc());
    // Stored once, and shared by all kinds.
    let shared = deployment.field("apiVersion").unwrap().doc();
    assert!(shared.starts_with("APIVersion defines the versioned schema"), "{shared}");
    assert_eq!(kind("v1", "Pod").body().unwrap().field("apiVersion").unwrap().doc(), shared);
    let described = Type::all_ids()
        .filter_map(Type::find)
        .flat_map(|body| body.fields().map(|field| field.doc()).collect::<Vec<_>>())
        .filter(|doc| !doc.is_empty() && !doc.starts_with('@'))
        .count();
    assert!(described > 2_400, "{described}");
    let quantity_doc = Type::find("core/v1/PodSpec").unwrap().field("hostAliases").unwrap().doc();
    assert!(!quantity_doc.contains("\\n"));
}

#[test]
fn finds_fields_by_path() {
    let deployment = kind("apps/v1", "Deployment").body().unwrap();
    let image = deployment.at(&["spec", "template", "spec", "containers", "[]", "image"]).unwrap();
    assert_eq!((image.owner(), image.name, image.shape()), ("core/v1/Container", "image", Shape::String));
    assert!(deployment.at(&["spec", "template", "spec", "containers", "image"]).is_none());
    assert!(deployment.at(&["spec", "replicas", "x"]).is_none());
    assert!(deployment.at(&[]).is_none());
}

#[test]
fn says_why_a_kind_is_unknown() {
    let why = |api_version: &str, name: &str| Kind::find(api_version, name).unwrap_err();
    assert_eq!(why("apps/v1", "Deploymnet"), UnknownKind::Misspelt(Some("Deployment")));
    assert_eq!(why("apps/v1", "deployment"), UnknownKind::Misspelt(Some("Deployment")));
    assert_eq!(why("apps/v1", "Zebra"), UnknownKind::Misspelt(None));
    assert_eq!(why("apps/v1beta1", "Deployment"), UnknownKind::OtherVersion(vec!["apps/v1"]));
    assert_eq!(why("policy/v1beta1", "PodDisruptionBudget"), UnknownKind::OtherVersion(vec!["policy/v1"]));
    assert_eq!(why("v1", "Deployment"), UnknownKind::OtherGroup(vec!["apps/v1"]));
    assert_eq!(why("extensions/v1beta1", "Ingress"), UnknownKind::OtherGroup(vec!["networking.k8s.io/v1"]));
    assert_eq!(why("batch/v2", "Zebra"), UnknownKind::NoVersion(vec!["batch/v1"]));
    assert_eq!(why("example.com/v1", "Deployment"), UnknownKind::Custom);
    assert_eq!(why("example.com/v1", "Widget"), UnknownKind::Custom);
}

#[test]
fn says_which_version_it_knows() {
    let pin = include_str!("../../../pemdas-testbed/pins/kubernetes/go.mod");
    let pinned = pin.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes ")).unwrap();
    assert_eq!(version(), pinned.split(' ').next().unwrap());
}
