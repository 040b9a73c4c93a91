//! What only a server sets is no part of what somebody wants.
//!
//! Of an object in a file, that is its status and the books in its metadata. An object that was read from a server (it has a uid, or a
//! version) also carries what the server filled in: addresses, ports, and every default. A default that goes comes back when the
//! object is applied; a field that somebody wrote into a file stays, even if it is the default.

use crate::kube_types::{self, Kind, Shape};

use super::tree::{Content, Field, Tree};

/// The books that a server keeps in the metadata of every object.
const BOOKS: &[&str] = &[
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "ownerReferences",
];
/// Annotations that controllers and tools keep for themselves.
const ANNOTATIONS: &[&str] = &[
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/",
    "deprecated.daemonset.template.generation",
    "pv.kubernetes.io/",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/",
    "endpoints.kubernetes.io/last-change-trigger-time",
    "batch.kubernetes.io/job-tracking",
    "control-plane.alpha.kubernetes.io/leader",
    "pemdas.dev/",
];
/// Finalizers that the cluster itself puts on objects.
const FINALIZERS: &[&str] =
    &["kubernetes.io/", "foregroundDeletion", "orphan", "service.kubernetes.io/", "pemdas.dev/"];
/// Labels that the Job controller makes from the uid of a Job.
const OF_A_JOB: &[&str] =
    &["controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"];

/// Whether an object was read from a server.
#[must_use]
pub fn is_of_a_server(tree: &Tree) -> bool {
    let has = |name: &str| tree.find(&["metadata", name]).is_some_and(|it| it.content != Content::Null);
    has("uid") || has("resourceVersion") || has("managedFields")
}

/// Who owns an object, by kind and name.
pub(super) fn owners(tree: &Tree) -> Vec<(String, String)> {
    let references = tree.find(&["metadata", "ownerReferences"]).map(Tree::items).unwrap_or_default();
    let owner = |it: &Tree| Some((it.text(&["kind"])?.to_owned(), it.text(&["name"])?.to_owned()));
    references.iter().filter_map(owner).collect()
}

/// Takes away what only a server sets.
pub(super) fn strip(tree: &mut Tree, api_version: &str, kind: &str) {
    let live = is_of_a_server(tree);
    tree.remove(&["status"]);
    for book in BOOKS {
        tree.remove(&["metadata", book]);
    }
    let ours =
        |name: &str| ANNOTATIONS.iter().any(|it| name == *it || (it.ends_with('/') && name.starts_with(it)));
    tree.retain(&["metadata", "annotations"], |it| !ours(&it.name));
    tree.retain(&["metadata", "labels"], |it| !it.name.starts_with("pemdas.dev/"));
    let theirs = |it: &Tree| match &it.content {
        Content::Text(text) => FINALIZERS.iter().any(|known| text.starts_with(known)),
        _ => false,
    };
    tree.keep_items(&["metadata", "finalizers"], |it| !theirs(it));
    no_times(tree);
    for claim in tree.items_mut(&["spec", "volumeClaimTemplates"]) {
        claim.remove(&["status"]);
    }
    let Ok(built_in) = Kind::find(api_version, kind) else { return };
    no_nulls(tree);
    if let Some(body) = built_in.body() {
        no_empties(tree, &body);
    }
    for name in ["labels", "annotations"] {
        tree.remove_if(&["metadata", name], is_empty);
    }
    if live {
        filled_in(tree, kind);
        if let Some(body) = built_in.body() {
            no_defaults(tree, &body, true, 0);
        }
    }
}

/// Templates within objects are written with a `creationTimestamp: null` by whatever prints them from Go.
fn no_times(tree: &mut Tree) {
    match &mut tree.content {
        Content::List(items) => items.iter_mut().for_each(no_times),
        Content::Record(fields) => {
            for field in fields.iter_mut() {
                if field.name == "metadata" {
                    field.value.remove_if(&["creationTimestamp"], |it| it.content == Content::Null);
                }
                no_times(&mut field.value);
            }
        }
        _ => {}
    }
}

/// To the API server, null in a field of a built-in kind is the same as no field.
fn no_nulls(tree: &mut Tree) {
    match &mut tree.content {
        Content::List(items) => items.iter_mut().for_each(no_nulls),
        Content::Record(fields) => {
            fields.retain(|it| it.value.content != Content::Null);
            fields.iter_mut().for_each(|it| no_nulls(&mut it.value));
        }
        _ => {}
    }
}

fn is_empty(tree: &Tree) -> bool {
    match &tree.content {
        Content::List(items) => items.is_empty(),
        Content::Record(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Records that say as much with nothing in them as if they were not there.
const SAY_NOTHING: &[&str] = &["resources", "affinity", "securityContext"];

/// To the API server, an empty list or map in a field that may be left out is the same as no field. An empty record may say something:
/// `emptyDir: {}`, `podSelector: {}`.
fn no_empties(tree: &mut Tree, body: &kube_types::Type) {
    let Content::Record(fields) = &mut tree.content else { return };
    for field in fields.iter_mut() {
        let Some(known) = body.field(&field.name) else { continue };
        no_empties_within(&mut field.value, known.shape());
    }
    fields.retain(|field| {
        let Some(known) = body.field(&field.name).filter(|it| !it.is_required()) else { return true };
        let says_nothing = match known.shape() {
            Shape::List(_) | Shape::Dictionary(_) => true,
            _ => SAY_NOTHING.contains(&field.name.as_str()),
        };
        !(says_nothing && is_empty(&field.value))
    });
}

fn no_empties_within(tree: &mut Tree, shape: Shape) {
    match (&mut tree.content, shape) {
        (_, Shape::Record(id)) => {
            if let Some(body) = kube_types::Type::find(id) {
                no_empties(tree, &body);
            }
        }
        (Content::List(items), Shape::List(inner)) => {
            items.iter_mut().for_each(|it| no_empties_within(it, inner.shape()));
        }
        (Content::Record(fields), Shape::Dictionary(inner)) => {
            fields.iter_mut().for_each(|it| no_empties_within(&mut it.value, inner.shape()));
        }
        _ => {}
    }
}

/// What the server gives an object of its own accord.
fn filled_in(tree: &mut Tree, kind: &str) {
    let text_is =
        |wanted: &'static str| move |it: &Tree| matches!(&it.content, Content::Text(text) if text == wanted);
    match kind {
        "Service" => {
            let headless = tree.text(&["spec", "clusterIP"]) == Some("None");
            for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"] {
                tree.remove(&["spec", field]);
            }
            if !headless {
                tree.remove(&["spec", "clusterIP"]);
            }
            for port in tree.items_mut(&["spec", "ports"]) {
                port.remove(&["nodePort"]);
            }
            tree.remove_if(&["spec", "internalTrafficPolicy"], text_is("Cluster"));
            tree.remove_if(&["spec", "externalTrafficPolicy"], text_is("Cluster"));
            tree.remove_if(&["spec", "sessionAffinity"], text_is("None"));
            tree.remove_if(&["spec", "type"], text_is("ClusterIP"));
        }
        "PersistentVolumeClaim" => {
            tree.remove(&["spec", "volumeName"]);
            tree.remove_if(&["spec", "volumeMode"], text_is("Filesystem"));
        }
        "Namespace" => {
            tree.remove(&["spec"]);
            tree.retain(&["metadata", "labels"], |it| it.name != "kubernetes.io/metadata.name");
        }
        "Pod" => {
            for field in ["nodeName", "serviceAccount"] {
                tree.remove(&["spec", field]);
            }
        }
        "Job" => {
            tree.remove(&["spec", "selector"]);
            let own = |it: &Field| !OF_A_JOB.contains(&it.name.as_str());
            tree.retain(&["metadata", "labels"], own);
            tree.retain(&["spec", "template", "metadata", "labels"], own);
        }
        "ServiceAccount" => {
            tree.remove(&["secrets"]);
        }
        _ => {}
    }
    for path in [&["spec", "template", "spec"][..], &["spec", "jobTemplate", "spec", "template", "spec"]] {
        if let Some(pod) = tree.record_mut(path) {
            pod.remove(&["serviceAccount"]);
        }
    }
}

/// Defaults that the API server writes in code and its schema does not know, by the type that has the field.
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("PodSpec", "restartPolicy", "\"Always\""),
    ("PodSpec", "dnsPolicy", "\"ClusterFirst\""),
    ("PodSpec", "schedulerName", "\"default-scheduler\""),
    ("PodSpec", "terminationGracePeriodSeconds", "30"),
    ("PodSpec", "securityContext", "{}"),
    ("PodSpec", "enableServiceLinks", "true"),
    ("Container", "terminationMessagePath", "\"/dev/termination-log\""),
    ("Container", "terminationMessagePolicy", "\"File\""),
    ("Container", "resources", "{}"),
    ("Probe", "timeoutSeconds", "1"),
    ("Probe", "periodSeconds", "10"),
    ("Probe", "successThreshold", "1"),
    ("Probe", "failureThreshold", "3"),
    ("HTTPGetAction", "scheme", "\"HTTP\""),
    ("ContainerPort", "protocol", "\"TCP\""),
    ("ServicePort", "protocol", "\"TCP\""),
    ("ObjectFieldSelector", "apiVersion", "\"v1\""),
    ("ConfigMapVolumeSource", "defaultMode", "420"),
    ("SecretVolumeSource", "defaultMode", "420"),
    ("ProjectedVolumeSource", "defaultMode", "420"),
    ("DownwardAPIVolumeSource", "defaultMode", "420"),
    ("DeploymentSpec", "progressDeadlineSeconds", "600"),
    ("DeploymentSpec", "revisionHistoryLimit", "10"),
    (
        "DeploymentSpec",
        "strategy",
        r#"{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"}"#,
    ),
    ("StatefulSetSpec", "revisionHistoryLimit", "10"),
    ("StatefulSetSpec", "podManagementPolicy", "\"OrderedReady\""),
    ("StatefulSetSpec", "updateStrategy", r#"{"rollingUpdate":{"partition":0},"type":"RollingUpdate"}"#),
    (
        "StatefulSetSpec",
        "persistentVolumeClaimRetentionPolicy",
        r#"{"whenDeleted":"Retain","whenScaled":"Retain"}"#,
    ),
    ("DaemonSetSpec", "revisionHistoryLimit", "10"),
    (
        "DaemonSetSpec",
        "updateStrategy",
        r#"{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1},"type":"RollingUpdate"}"#,
    ),
    ("JobSpec", "backoffLimit", "6"),
    ("JobSpec", "completionMode", "\"NonIndexed\""),
    ("JobSpec", "completions", "1"),
    ("JobSpec", "parallelism", "1"),
    ("JobSpec", "suspend", "false"),
    ("JobSpec", "manualSelector", "false"),
    ("JobSpec", "podReplacementPolicy", "\"TerminatingOrFailed\""),
    ("CronJobSpec", "concurrencyPolicy", "\"Allow\""),
    ("CronJobSpec", "failedJobsHistoryLimit", "1"),
    ("CronJobSpec", "successfulJobsHistoryLimit", "3"),
    ("CronJobSpec", "suspend", "false"),
    ("PersistentVolumeClaimSpec", "volumeMode", "\"Filesystem\""),
];

/// Takes away the fields whose value is what the server would fill in. A required field stays.
fn no_defaults(tree: &mut Tree, body: &kube_types::Type, top: bool, depth: usize) {
    if depth > 64 {
        return;
    }
    let Content::Record(fields) = &mut tree.content else { return };
    let name = body.short_name();
    fields.retain(|field| {
        let Some(known) = body.field(&field.name) else { return true };
        if known.is_required() || (top && matches!(&*field.name, "apiVersion" | "kind" | "metadata")) {
            return true;
        }
        let listed = DEFAULTS.iter().filter(|it| it.0 == name && it.1 == field.name).map(|it| it.2);
        let value = field.value.to_json();
        !known
            .default()
            .into_iter()
            .chain(listed)
            .any(|it| serde_json::from_str::<serde_json::Value>(it).is_ok_and(|it| it == value))
    });
    for field in fields {
        if let Some(known) = body.field(&field.name) {
            no_defaults_within(&mut field.value, known.shape(), depth + 1);
        }
    }
}

fn no_defaults_within(tree: &mut Tree, shape: Shape, depth: usize) {
    match (&mut tree.content, shape) {
        (_, Shape::Record(id)) => {
            if let Some(body) = kube_types::Type::find(id) {
                no_defaults(tree, &body, false, depth);
            }
        }
        (Content::List(items), Shape::List(inner)) => {
            items.iter_mut().for_each(|it| no_defaults_within(it, inner.shape(), depth));
        }
        (Content::Record(fields), Shape::Dictionary(inner)) => {
            fields.iter_mut().for_each(|it| no_defaults_within(&mut it.value, inner.shape(), depth));
        }
        _ => {}
    }
}
