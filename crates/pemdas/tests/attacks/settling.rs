//! Objects come to rest, on a real API server and with the controllers of a cluster: they are written at most twice, and they become ready.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    bed::{condition, until},
    operators::{Operator, Plan, events, warned},
    space::Space,
};

/// All that an API server drops where it is empty, and every kind whose controller reports the generation that it observed.
const EVERYTHING: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
let marks = { app = "every" } in
let bare = {
  volumes = [], imagePullSecrets = [], initContainers = [], ephemeralContainers = [], hostAliases = [], tolerations = [],
  topologySpreadConstraints = [], resourceClaims = [], schedulingGates = [], nodeSelector = {}, affinity = {}, securityContext = {},
  automountServiceAccountToken = false,
  containers = [{
    name = "c", image = "i", command = [], args = [], env = [], envFrom = [], ports = [], volumeMounts = [], volumeDevices = [],
    resources = { claims = [], limits = {}, requests = {} },
  }],
} in
let workload = { metadata = { labels = marks, annotations = {}, finalizers = [] }, spec = bare } in
let named = fun the => { name = the.root.metadata.name, finalizers = [], labels = {}, annotations = {} } in
let picks = { matchLabels = marks, matchExpressions = [] } in
{
  name = "every",
  kinds.Every = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = {
      root = kinds.Every,
      also = [
        "deployment", "statefulset", "daemonset", "replicaset", "controller", "pod", "budget", "autoscaler", "policy", "definition",
        "service", "account", "webhooks",
      ],
    },
    deployment.template = fun the => {
      apiVersion = "apps/v1", kind = "Deployment", metadata = named the,
      spec = { replicas = 1, selector = picks, template = workload },
    },
    statefulset.template = fun the => {
      apiVersion = "apps/v1", kind = "StatefulSet", metadata = named the,
      spec = { replicas = 1, serviceName = "none", selector = picks, template = workload, volumeClaimTemplates = [] },
    },
    daemonset.template = fun the => {
      apiVersion = "apps/v1", kind = "DaemonSet", metadata = named the, spec = { selector = picks, template = workload },
    },
    replicaset.template = fun the => {
      apiVersion = "apps/v1", kind = "ReplicaSet", metadata = named the, spec = { replicas = 1, selector = picks, template = workload },
    },
    controller.template = fun the => {
      apiVersion = "v1", kind = "ReplicationController", metadata = named the,
      spec = { replicas = 1, selector = marks, template = workload },
    },
    pod.template = fun the => { apiVersion = "v1", kind = "Pod", metadata = named the, spec = bare },
    budget.template = fun the => {
      apiVersion = "policy/v1", kind = "PodDisruptionBudget", metadata = named the, spec = { maxUnavailable = 1, selector.matchLabels.app = "none" },
    },
    autoscaler.template = fun the => {
      apiVersion = "autoscaling/v2", kind = "HorizontalPodAutoscaler", metadata = named the,
      spec = { maxReplicas = 2, metrics = [], scaleTargetRef = { apiVersion = "apps/v1", kind = "Deployment", name = "none" } },
    },
    policy.template = fun the => {
      apiVersion = "admissionregistration.k8s.io/v1", kind = "ValidatingAdmissionPolicy",
      metadata.name = "%{the.root.metadata.name}.GROUP",
      spec = {
        matchConstraints = {
          resourceRules = [{ apiGroups = ["none.GROUP"], apiVersions = ["v1"], operations = ["CREATE"], resources = ["nones"] }],
          excludeResourceRules = [],
        },
        validations = [{ expression = "true" }], variables = [], auditAnnotations = [], matchConditions = [],
      },
    },
    definition.template = fun the => {
      apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
      metadata.name = "%{the.root.metadata.name}s.more.GROUP",
      spec = {
        group = "more.GROUP", scope = "Namespaced",
        names = { plural = "%{the.root.metadata.name}s", kind = std.string.uppercase the.root.metadata.name, shortNames = [], categories = [] },
        versions = [{
          name = "v1", served = true, storage = true, additionalPrinterColumns = [], schema.openAPIV3Schema = { type = "object", required = [] },
        }],
      },
    },
    service.template = fun the => {
      apiVersion = "v1", kind = "Service", metadata = named the, spec = { clusterIP = "None", ports = [], externalIPs = [], selector = {} },
    },
    account.template = fun the => {
      apiVersion = "v1", kind = "ServiceAccount", metadata = named the, secrets = [], imagePullSecrets = [],
    },
    webhooks.template = fun the => {
      apiVersion = "admissionregistration.k8s.io/v1", kind = "ValidatingWebhookConfiguration",
      metadata.name = "%{the.root.metadata.name}.GROUP", webhooks = [],
    },
  },
} | Blueprint
"#;

/// How often objects of this name were written, by resource.
fn writes(operator: &Operator, space: &Space, names: &[&str]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    // The root gets a finalizer.
    let is_applied = |it: &&str| !["everies", "everys", "notes"].contains(it);
    for request in
        operator.requests().into_iter().filter(|it| it.verb == "patch" && is_applied(&&*it.resource))
    {
        let own = request.namespace.as_deref().is_none_or(|it| it == space.name);
        if own && request.name.as_deref().is_some_and(|it| names.contains(&it)) {
            *counts.entry(request.resource).or_insert(0) += 1;
        }
    }
    counts
}

#[test]
fn every_kind_that_reports_its_generation_becomes_ready_and_what_is_empty_is_settled() {
    let space = Space::new("every");
    let mut operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", EVERYTHING);
    space.runs("blueprint");
    let value = |turn: &str| json!({ "value": turn });
    space.instance("Every", "one", &value("a"));
    space.ready("Every", "one");
    let names = ["one", &format!("one.{}", space.group), &format!("ones.more.{}", space.group)];
    space.settles("Every", value);
    let before = writes(&operator, &space, &names);
    assert_eq!(before.len(), 13, "{before:?}");
    assert!(before.values().all(|it| *it <= 2), "{before:?}");
    operator.kill();
    operator.start();
    space.settles("Every", value);
    assert_eq!(writes(&operator, &space, &names), before, "nothing is written by another process");
    space.ready("Every", "one");
}

/// A kind of somebody else: `settings` is a record of which the CRD says nothing more.
fn open(space: &Space) {
    space.apply(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": format!("opens.open.{}", space.group) },
        "spec": {
            "group": format!("open.{}", space.group), "scope": "Namespaced",
            "names": { "plural": "opens", "singular": "open", "kind": "Open" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": {
                    "known": { "type": "string" }, "settings": { "type": "object" },
                } } },
            } } }],
        },
    }));
}

const DROPS: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "drops",
  kinds.Note = { group = "GROUP", versions.v1.spec = {
    value | String | doc "A value", wrong | Bool | doc "Whether a field is set that nobody knows" | default = false,
  } },
  nodes = {
    instance = { root = kinds.Note, also = ["open"] },
    open.template = fun the => {
      apiVersion = "open.GROUP/v1", kind = "Open", metadata.name = the.root.metadata.name,
      spec = { known = the.root.spec.value, settings.password = "hunter2" }
        & (if the.root.spec.wrong then { nosuch = "hunter2" } else {}),
    },
  },
} | Blueprint
"#;

#[test]
fn what_the_api_server_drops_is_told_once_and_what_it_does_not_know_stalls() {
    let space = Space::new("drops");
    open(&space);
    let mut operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", DROPS);
    space.runs("blueprint");
    let value = |turn: &str| json!({ "value": turn });
    space.instance("Note", "one", &value("a"));
    let sentence = format!(
        "the API server dropped spec.settings.password of Open.open.{} {}/one",
        space.group, space.name
    );
    let told =
        || events(&space, "one").into_iter().filter(|it| it.contains("FieldsDropped")).collect::<Vec<_>>();
    assert!(warned(&space, "one", &sentence).starts_with("Warning FieldsDropped: "));
    let says = || {
        until("the status says it", || {
            let note = space.ready("Note", "one");
            condition(&note, "Ready")["message"]
                .as_str()
                .filter(|it| it.ends_with(&format!("; open: {sentence}")))
                .map(str::to_owned)
        })
    };
    says();
    // Also after a restart, and after a change that drops the same.
    space.settles("Note", value);
    assert_eq!(writes(&operator, &space, &["one"])["opens"], 2);
    operator.kill();
    operator.start();
    space.settles("Note", value);
    assert_eq!(writes(&operator, &space, &["one"])["opens"], 2, "nothing is written by another process");
    says();
    space.instance("Note", "one", &value("b"));
    let kind = format!("open.open.{}", space.group);
    until("it is changed", || space.get(&kind, "one").filter(|it| it["spec"]["known"] == "b"));
    space.settles("Note", value);
    assert_eq!(writes(&operator, &space, &["one"])["opens"], 3);
    says();
    assert_eq!(told().len(), 1, "{:?}", told());
    // A field that the CRD does not have.
    space.instance("Note", "one", &json!({ "value": "c", "wrong": true }));
    let note = space.stalls("Note", "one", "its kind has no field spec.nosuch");
    assert_eq!(condition(&note, "Stalled")["reason"], "UnknownField");
    warned(&space, "one", "UnknownField: its kind has no field spec.nosuch");
    space.settles("Note", value);
    assert_eq!(writes(&operator, &space, &["one"])["opens"], 4, "it is not tried again and again");
    space.stalls("Note", "one", "spec.nosuch");
    let all =
        format!("{}{:?}", space.get(&space.kind("Note"), "one").unwrap()["status"], events(&space, "one"));
    assert!(!all.contains("hunter2"), "no value is told: {all}");
    // Without it, the instance goes on at once.
    space.instance("Note", "one", &value("d"));
    until("it is changed", || space.get(&kind, "one").filter(|it| it["spec"]["known"] == "d"));
    space.ready("Note", "one");
}
