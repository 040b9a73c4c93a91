//! What the API server refuses for as long as it likes: rights that are taken away, policies, quotas, definitions that go. Nothing leaks,
//! nothing is silent, and everything goes on by itself once it may.

use serde_json::{Value, json};

use super::{
    bed::{condition, until},
    given::{CHAIN, allow},
    operators::{Plan, events, warned},
    space::Space,
};

/// What the account of a space needs for a chain; with or without the right to delete what it makes.
fn rules(space: &Space, deletes: bool) -> Vec<Value> {
    let mut verbs = vec!["get", "list", "watch", "create", "patch", "update"];
    verbs.extend(deletes.then_some("delete"));
    vec![
        json!({ "apiGroups": [space.group], "resources": ["*"], "verbs": ["*"] }),
        json!({ "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"] }),
        json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }),
    ]
}

/// Waits until the account may not do this with ConfigMaps any more.
fn may_not(space: &Space, verb: &str) {
    let account = format!("--as=system:serviceaccount:{}:default", space.name);
    until(&format!("nobody may {verb}"), || {
        space.kubectl(&["auth", "can-i", verb, "configmaps", &account]).is_err().then_some(())
    });
}

/// A chain that is ready.
fn chained(space: &Space) {
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    space.instance("Chain", "one", &json!({ "value": "a" }));
    space.ready("Chain", "one");
}

/// A root that is being deleted says why it is still there: in its status, and in an Event.
fn is_held(space: &Space, words: &str) -> Value {
    let root = space.stalls("Chain", "one", words);
    assert_eq!(condition(&root, "Stalled")["reason"], "Refused");
    assert_eq!(condition(&root, "Ready")["status"], "False");
    assert_eq!(condition(&root, "Reconciling")["status"], "False");
    assert!(root["metadata"]["deletionTimestamp"].is_string());
    warned(space, "one", words);
    root
}

/// A ConfigMap that stays when its instance goes.
const KEPT: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "kept",
  kinds.Note = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Note, also = ["map"] },
    map = {
      on_delete = 'Orphan,
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name, data.seed = the.seed,
      },
    },
  },
} | Blueprint
"#;

#[test]
fn what_stays_is_let_go_as_the_account_and_only_if_that_may() {
    let space = Space::poor("kept");
    let all = |verbs: &Value| {
        vec![
            json!({ "apiGroups": ["apiextensions.k8s.io", space.group], "resources": ["*"], "verbs": ["*"] }),
            json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }),
        ]
    };
    allow(&space, &all(&json!(["*"])));
    let operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", KEPT);
    space.runs("blueprint");
    space.instance("Note", "one", &json!({ "value": "a" }));
    space.ready("Note", "one");
    allow(&space, &all(&json!(["get", "list", "watch", "delete"])));
    may_not(&space, "patch");
    space.delete_soon(&space.kind("Note"), "one");
    space.stalls("Note", "one", "cannot be released");
    let claimed = |map: &Value| map["metadata"]["labels"]["pemdas.dev/root"].is_string();
    assert!(claimed(&space.get("configmap", "one").unwrap()));
    allow(&space, &all(&json!(["*"])));
    space.gone(&space.kind("Note"), "one");
    assert!(!claimed(&space.get("configmap", "one").unwrap()));
    let written = operator
        .requests()
        .into_iter()
        .filter(|it| it.verb == "patch" && it.resource == "configmaps" && it.name.as_deref() == Some("one"));
    assert!(written.map(|it| it.impersonated).all(|it| it.is_some()));
}

#[test]
fn a_root_stays_while_its_account_may_not_delete_what_it_made() {
    let space = Space::poor("undeletable");
    allow(&space, &rules(&space, true));
    let mut operator = Plan::over(&[&space]).start();
    chained(&space);
    until("nothing is missing", || space.told("blueprint").filter(|it| it["missing"] == json!([])));
    allow(&space, &rules(&space, false));
    may_not(&space, "delete");
    space.delete_soon(&space.kind("Chain"), "one");
    is_held(&space, "cannot delete resource");
    assert_eq!(space.names("configmap"), ["blueprint", "one-a", "one-b", "one-c"]);
    let lacks = format!("ServiceAccount {}/default may not delete configmaps", space.name);
    until("the blueprint says what is missing", || {
        space.told("blueprint").filter(|it| it["missing"].to_string().contains(&lacks))
    });
    // Another process finds the same, and says it once.
    operator.kill();
    operator.start();
    is_held(&space, "cannot delete resource");
    let told = events(&space, "one").into_iter().filter(|it| it.starts_with("Warning Refused")).count();
    assert_eq!(told, 1, "{:?}", events(&space, "one"));
    allow(&space, &rules(&space, true));
    space.gone(&space.kind("Chain"), "one");
    assert_eq!(space.names("configmap"), ["blueprint"]);
    until("nothing is missing any more", || space.told("blueprint").filter(|it| it["missing"] == json!([])));
}

#[test]
fn a_root_stays_while_its_account_may_not_see_what_it_made() {
    let space = Space::poor("unseen");
    allow(&space, &rules(&space, true));
    let mut operator = Plan::over(&[&space]).start();
    chained(&space);
    operator.kill();
    let blind = &rules(&space, true)[..2];
    allow(&space, blind);
    may_not(&space, "list");
    space.delete_soon(&space.kind("Chain"), "one");
    operator.start();
    is_held(&space, "ConfigMap may not be listed by this account");
    assert_eq!(space.names("configmap"), ["blueprint", "one-a", "one-b", "one-c"]);
    allow(&space, &rules(&space, true));
    space.gone(&space.kind("Chain"), "one");
    assert_eq!(space.names("configmap"), ["blueprint"]);
}

/// What lets nobody delete the ConfigMaps of a space.
fn policy(space: &Space) -> [Value; 2] {
    let name = json!({ "name": space.name });
    let version = "admissionregistration.k8s.io/v1";
    let policy = json!({
        "apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": name,
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": [
                { "apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"] },
            ] },
            "validations": [{ "expression": "false", "message": "nobody deletes anything here" }],
        },
    });
    let selector = json!({ "matchLabels": { "kubernetes.io/metadata.name": space.name } });
    let binding = json!({
        "apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": name,
        "spec": { "policyName": space.name, "validationActions": ["Deny"], "matchResources": { "namespaceSelector": selector } },
    });
    [policy, binding]
}

#[test]
fn a_root_stays_while_a_policy_denies_the_deletion_of_what_it_made() {
    let space = Space::new("denied");
    let _operator = Plan::over(&[&space]).start();
    chained(&space);
    let deny = |it: &Value| {
        let plural = if it["kind"] == "ValidatingAdmissionPolicy" { "policies" } else { "policybindings" };
        format!("/apis/admissionregistration.k8s.io/v1/validatingadmission{plural}")
    };
    for it in policy(&space) {
        Space::client().create(&deny(&it), &it).unwrap();
    }
    space.map_of_a_hand("victim");
    until("the policy is in force", || {
        let deleted = Space::client().delete(&space.path("configmap", "victim"));
        match deleted {
            Err(_) => Some(()),
            Ok(_) => {
                space.map_of_a_hand("victim");
                None
            }
        }
    });
    space.delete_soon(&space.kind("Chain"), "one");
    is_held(&space, "nobody deletes anything here");
    assert_eq!(space.names("configmap"), ["blueprint", "one-a", "one-b", "one-c", "victim"]);
    // Somebody gives one up by name, and it is left; the rest still waits.
    space.annotate(&space.kind("Chain"), "one", "pemdas.dev/skip-deletion", "ConfigMap/one-c");
    until("the next one is what holds it", || {
        let root = space.get(&space.kind("Chain"), "one")?;
        condition(&root, "Stalled")["message"].as_str().filter(|it| it.contains("one-b"))?;
        Some(())
    });
    let [_, binding] = policy(&space);
    Space::client().delete(&format!("{}/{}", deny(&binding), space.name)).unwrap();
    space.gone(&space.kind("Chain"), "one");
    assert_eq!(space.names("configmap"), ["blueprint", "one-c", "victim"]);
    warned(&space, "one", "one-c is given up: it is left");
}

#[test]
fn what_a_quota_refuses_is_stalled_and_goes_on_by_itself() {
    let space = Space::new("quota");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", CHAIN);
    space.runs("blueprint");
    let quota = |count: &str| {
        space.apply(&json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "quota" },
            "spec": { "hard": { "count/configmaps": count } },
        }));
        until("the quota is counted", || {
            let status = space.get("resourcequota", "quota")?["status"].clone();
            (status["hard"]["count/configmaps"] == count && status["used"].is_object()).then_some(())
        });
    };
    // The blueprint, the certificate of every namespace, and one of three.
    quota("3");
    space.instance("Chain", "one", &json!({ "value": "a" }));
    let root = space.stalls("Chain", "one", "exceeded quota");
    assert_eq!(condition(&root, "Stalled")["reason"], "Refused");
    assert_eq!(condition(&root, "Reconciling")["status"], "False");
    warned(&space, "one", "exceeded quota");
    assert_eq!(space.names("configmap"), ["blueprint", "one-a"]);
    quota("10");
    let root = space.ready("Chain", "one");
    assert_eq!(condition(&root, "Stalled")["status"], "False");
}

/// Definitions that are being deleted when the operator starts: their instances go, with what they made.
#[test]
fn a_definition_that_goes_holds_no_instance_back_from_an_operator_that_starts() {
    for with_the_blueprint in [false, true] {
        let space = Space::new("going-definition");
        let mut operator = Plan::over(&[&space]).start();
        chained(&space);
        let crd = format!("chains.{}", space.group);
        let uid = space.get("crd", &crd).unwrap()["metadata"]["uid"].clone();
        operator.kill();
        if with_the_blueprint {
            space.delete_soon("configmap", "blueprint");
        }
        space.delete_soon("crd", &crd);
        until("its instances are being deleted", || {
            let root = space.get(&space.kind("Chain"), "one")?;
            root["metadata"]["deletionTimestamp"].as_str().map(drop)
        });
        operator.start();
        until("the CRD is gone", || {
            let now = space.get("crd", &crd).map(|it| it["metadata"]["uid"].clone());
            (now.as_ref() != Some(&uid)).then_some(())
        });
        for name in ["one-a", "one-b", "one-c"] {
            space.gone("configmap", name);
        }
        if with_the_blueprint {
            space.gone("configmap", "blueprint");
        }
    }
}

/// A field of the status that is called as the root says: nobody knows before whether the CRD has it.
const NAMED: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "named",
  kinds.Named = {
    group = "GROUP",
    versions.v1 = { spec = { field | String | doc "A name" }, status = { known | String | optional } },
  },
  nodes = {
    instance = {
      root = kinds.Named,
      also = ["map"],
      status = fun the => { "%{the.root.spec.field}" = "x" },
    },
    map.template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name },
  },
} | Blueprint
"#;

#[test]
fn a_field_of_the_status_that_the_definition_drops_is_told_once() {
    let space = Space::new("pruned");
    let mut operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", NAMED);
    space.runs("blueprint");
    space.instance("Named", "one", &json!({ "field": "unknown" }));
    space.instance("Named", "two", &json!({ "field": "known" }));
    let told = |name: &str| {
        let root = space.ready("Named", name);
        let pruned = condition(&root, "StatusPruned");
        pruned["message"].as_str().map(str::to_owned)
    };
    until("it is told", || told("one").filter(|it| it.contains("status.unknown")));
    warned(&space, "one", "status.unknown");
    assert_eq!(told("two"), None);
    let version = || space.get(&space.kind("Named"), "one").unwrap()["metadata"]["resourceVersion"].clone();
    let before = version();
    operator.kill();
    operator.start();
    space.settles("Named", |turn| json!({ "field": format!("known{turn}") }));
    assert_eq!(version(), before, "it is written again and again");
    assert_eq!(events(&space, "one").iter().filter(|it| it.contains("StatusPruned")).count(), 1);
    space.instance("Named", "one", &json!({ "field": "known" }));
    until("it is over", || told("one").is_none().then_some(()));
}

/// A Deployment of two.
const SCALED: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "scaled",
  kinds.Scaled = { group = "GROUP", versions.v1.spec = { value | String | doc "A value" } },
  nodes = {
    instance = { root = kinds.Scaled, also = ["web"] },
    web.template = fun the => {
      apiVersion = "apps/v1", kind = "Deployment",
      metadata = { name = the.root.metadata.name, annotations.value = the.root.spec.value },
      spec = {
        replicas = 2,
        selector.matchLabels.app = the.root.metadata.name,
        template = {
          metadata.labels.app = the.root.metadata.name,
          spec.containers = [{ name = "web", image = "example.com/web:1" }],
        },
      },
    },
  },
} | Blueprint
"#;

#[test]
fn what_an_autoscaler_scales_is_left_to_it_and_what_a_person_scales_is_not() {
    let space = Space::new("scaled");
    let _operator = Plan::over(&[&space]).start();
    space.blueprint("blueprint", SCALED);
    space.runs("blueprint");
    space.instance("Scaled", "one", &json!({ "value": "a" }));
    let replicas = |count: i64| {
        until(&format!("there are {count}"), || {
            space.get("deployment", "one").filter(|it| it["spec"]["replicas"] == count)
        })
    };
    replicas(2);
    space.kubectl(&["scale", "deployment", "one", "--replicas=4"]).unwrap();
    replicas(2);
    // Below its least number an autoscaler needs no measurements.
    space.kubectl(&["autoscale", "deployment", "one", "--min=3", "--max=5"]).unwrap();
    replicas(3);
    // The rest of the template is applied, and the number stays.
    space.instance("Scaled", "one", &json!({ "value": "b" }));
    let web = until("the rest is applied", || {
        space.get("deployment", "one").filter(|it| it["metadata"]["annotations"]["value"] == "b")
    });
    assert_eq!(web["spec"]["replicas"], 3);
    space.kubectl(&["patch", "hpa", "one", "--type=merge", "-p", r#"{"spec":{"minReplicas":4}}"#]).unwrap();
    replicas(4);
    let writes = space.writes().iter().filter(|it| *it == "patch deployments one").count();
    assert!(writes <= 6, "{writes} writes: it fought");
}
