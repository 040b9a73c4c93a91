//! What the comparison with a real server does not reach: watches, controllers, time, access, and that a seed decides everything.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says so by panicking")]

use pemdas_sim::{
    Access, Answer, Behaviour, Cluster, Method, Outcome, Reply, Request, Rule, Scenario, Server, Time, Watch,
};
use serde_json::{Value, json};

const START: Time = Time(1_700_000_000_000);

fn cluster() -> Cluster {
    Cluster::new(1, START, Scenario::default())
}

fn send(cluster: &mut Cluster, method: Method, target: &str, body: &Value) -> (u16, Value) {
    let mut request = Request::new(method, target);
    if !body.is_null() {
        let kind = if method == Method::Patch { "application/merge-patch+json" } else { "application/json" };
        request = request.json(kind, body);
    }
    let response = cluster.handle(&request).whole().unwrap();
    (response.status, response.body)
}

fn watch(cluster: &mut Cluster, target: &str) -> Watch {
    match cluster.handle(&Request::new(Method::Get, target)) {
        Reply::Watch(watch) => *watch,
        Reply::Whole(response) => panic!("{}", response.body),
    }
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn config_map(name: &str, owner: Option<&Value>) -> Value {
    let mut body = json!({ "metadata": { "name": name } });
    if let Some(owner) = owner {
        body["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": true,
        }]);
    }
    body
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn a_watch_tells_what_happens_after_its_version_and_ends_when_that_is_forgotten() {
    let mut cluster = cluster();
    let (_, created) = send(&mut cluster, Method::Post, MAPS, &config_map("a", None));
    let version = created["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let mut all = watch(&mut cluster, &format!("{MAPS}?watch=1&resourceVersion={version}"));
    let mut labelled =
        watch(&mut cluster, &format!("{MAPS}?watch=1&resourceVersion={version}&labelSelector=x%3D1"));
    send(
        &mut cluster,
        Method::Patch,
        &format!("{MAPS}/a"),
        &json!({ "metadata": { "labels": { "x": "1" } } }),
    );
    send(
        &mut cluster,
        Method::Patch,
        &format!("{MAPS}/a"),
        &json!({ "metadata": { "labels": { "x": "2" } } }),
    );
    let (_, gone) = send(&mut cluster, Method::Delete, &format!("{MAPS}/a"), &Value::Null);
    assert_eq!(gone["status"], "Success");
    assert_eq!(types(&cluster.poll(&mut all)), ["MODIFIED", "MODIFIED", "DELETED"]);
    assert_eq!(types(&cluster.poll(&mut labelled)), ["ADDED", "DELETED"], "it left the selection, then went");
    assert!(cluster.poll(&mut all).is_empty());

    send(&mut cluster, Method::Post, MAPS, &config_map("b", None));
    cluster.server_mut().compact();
    let events = cluster.poll(&mut all);
    assert_eq!((types(&events), all.ended()), (vec!["ERROR"], true));
    assert_eq!(events[0]["object"]["code"], 410);
    let mut old = watch(&mut cluster, &format!("{MAPS}?watch=1&resourceVersion={version}"));
    assert_eq!(cluster.poll(&mut old)[0]["object"]["reason"], "Expired");
}

#[test]
fn a_watch_can_begin_with_what_there_is_and_gets_bookmarks() {
    let mut cluster = cluster();
    let target = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=300"
    );
    send(&mut cluster, Method::Post, MAPS, &config_map("a", None));
    let mut watch = watch(&mut cluster, &target);
    let events = cluster.poll(&mut watch);
    assert_eq!(
        types(&events),
        ["ADDED", "ADDED", "BOOKMARK"],
        "with the certificate that every namespace has"
    );
    assert_eq!(events[2]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    cluster.advance(START.after(61_000));
    assert_eq!(types(&cluster.poll(&mut watch)), ["BOOKMARK"]);
    cluster.advance(START.after(300_000));
    cluster.poll(&mut watch);
    assert!(watch.ended(), "its time is over");
}

fn names(cluster: &mut Cluster, target: &str) -> Vec<String> {
    let (_, list) = send(cluster, Method::Get, target, &Value::Null);
    let names = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

#[test]
fn a_definition_that_goes_serves_what_there_is_and_makes_nothing_new() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const GADGETS: &str = "/apis/example.com/v1/namespaces/default/gadgets";
    let mut cluster = cluster();
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "metadata": { "name": "gadgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "gadgets", "kind": "Gadget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    assert_eq!(send(&mut cluster, Method::Post, DEFINITIONS, &definition).0, 201);
    let gadget = |name: &str| json!({ "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": { "name": name, "finalizers": ["example.com/held"] } });
    assert_eq!(send(&mut cluster, Method::Post, GADGETS, &gadget("a")).0, 201);
    let path = format!("{DEFINITIONS}/gadgets.example.com");
    assert_eq!(send(&mut cluster, Method::Delete, &path, &Value::Null).0, 200);
    let (_, going) = send(&mut cluster, Method::Get, &path, &Value::Null);
    let conditions = going["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|it| it["type"] == "Terminating" && it["status"] == "True"), "{going:#}");
    // What there is can be read and changed; it is being deleted.
    let (_, a) = send(&mut cluster, Method::Get, &format!("{GADGETS}/a"), &Value::Null);
    assert!(a["metadata"]["deletionTimestamp"].is_string(), "{a:#}");
    let labels = json!({ "metadata": { "labels": { "x": "1" } } });
    assert_eq!(send(&mut cluster, Method::Patch, &format!("{GADGETS}/a"), &labels).0, 200);
    // Nothing new is made.
    let words = "create not allowed while custom resource definition is terminating";
    let (code, refused) = send(&mut cluster, Method::Post, GADGETS, &gadget("b"));
    assert_eq!((code, refused["message"].as_str().unwrap()), (405, words));
    let apply = Request::new(Method::Patch, &format!("{GADGETS}/b?fieldManager=x"));
    let apply = apply.json("application/apply-patch+yaml", &gadget("b"));
    let refused = cluster.handle(&apply).whole().unwrap();
    let message = refused.body["message"].as_str().unwrap().to_owned();
    assert_eq!((refused.status, message), (403, format!("gadgets.example.com \"b\" is forbidden: {words}")));
    // With its last object it goes.
    let free = json!({ "metadata": { "finalizers": null } });
    assert_eq!(send(&mut cluster, Method::Patch, &format!("{GADGETS}/a"), &free).0, 200);
    assert_eq!(send(&mut cluster, Method::Get, &path, &Value::Null).0, 404);
}

#[test]
fn what_belongs_to_nothing_is_collected() {
    for (policy, left) in [("Background", vec![]), ("Foreground", vec![]), ("Orphan", vec!["child"])] {
        let mut cluster = cluster();
        let (_, owner) = send(&mut cluster, Method::Post, MAPS, &config_map("owner", None));
        send(&mut cluster, Method::Post, MAPS, &config_map("child", Some(&owner)));
        send(&mut cluster, Method::Delete, &format!("{MAPS}/owner"), &json!({ "propagationPolicy": policy }));
        assert_eq!(names(&mut cluster, MAPS), left, "{policy}");
    }
    // An owner that never was is none.
    let mut cluster = cluster();
    let ghost = json!({ "metadata": { "name": "ghost", "uid": "12345678-0000-4000-8000-000000000000" } });
    send(&mut cluster, Method::Post, MAPS, &config_map("child", Some(&ghost)));
    assert!(names(&mut cluster, MAPS).is_empty());
}

#[test]
fn a_foreground_deletion_waits_for_a_child_that_is_held() {
    let mut cluster = cluster();
    let (_, owner) = send(&mut cluster, Method::Post, MAPS, &config_map("owner", None));
    let mut child = config_map("child", Some(&owner));
    child["metadata"]["finalizers"] = json!(["example.com/hold"]);
    send(&mut cluster, Method::Post, MAPS, &child);
    let (status, _) = send(
        &mut cluster,
        Method::Delete,
        &format!("{MAPS}/owner"),
        &json!({ "propagationPolicy": "Foreground" }),
    );
    assert_eq!(status, 200);
    assert_eq!(names(&mut cluster, MAPS), ["child", "owner"]);
    send(
        &mut cluster,
        Method::Patch,
        &format!("{MAPS}/child"),
        &json!({ "metadata": { "finalizers": null } }),
    );
    assert!(names(&mut cluster, MAPS).is_empty());
}

#[test]
fn a_namespace_takes_what_is_in_it_along() {
    let mut cluster = cluster();
    let maps = "/api/v1/namespaces/team/configmaps";
    assert_eq!(send(&mut cluster, Method::Post, maps, &config_map("a", None)).0, 404, "it is not there yet");
    send(&mut cluster, Method::Post, "/api/v1/namespaces", &json!({ "metadata": { "name": "team" } }));
    let mut held = config_map("a", None);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    assert_eq!(send(&mut cluster, Method::Post, maps, &held).0, 201);
    let (status, going) = send(&mut cluster, Method::Delete, "/api/v1/namespaces/team", &Value::Null);
    assert_eq!((status, &going["status"]["phase"]), (200, &json!("Terminating")));
    let (status, refused) = send(&mut cluster, Method::Post, maps, &config_map("b", None));
    assert_eq!((status, &refused["reason"]), (403, &json!("Forbidden")));
    assert_eq!(names(&mut cluster, maps), ["a"]);
    send(&mut cluster, Method::Patch, &format!("{maps}/a"), &json!({ "metadata": { "finalizers": null } }));
    assert_eq!(send(&mut cluster, Method::Get, "/api/v1/namespaces/team", &Value::Null).0, 404);
}

fn deployment(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": {
        "replicas": 2, "selector": { "matchLabels": { "app": name } },
        "template": { "metadata": { "labels": { "app": name } }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } },
    } })
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn rule(name: &str, after: u64, outcome: Outcome) -> Rule {
    Rule {
        name: Some(name.to_owned()),
        behaviour: Behaviour { after, outcome, status: None },
        ..Rule::default()
    }
}

#[test]
fn workloads_behave_as_the_scenario_says() {
    let scenario = Scenario {
        rules: vec![
            rule("slow", 30_000, Outcome::Ready),
            rule("bad", 5_000, Outcome::Fails("no image".to_owned())),
            rule("odd", 1_000, Outcome::Flaps(10_000)),
        ],
        ..Scenario::default()
    };
    let mut cluster = Cluster::new(1, START, scenario);
    for name in ["slow", "bad", "odd"] {
        assert_eq!(send(&mut cluster, Method::Post, DEPLOYMENTS, &deployment(name)).0, 201);
    }
    let ready = |cluster: &mut Cluster, name: &str| {
        let (_, object) = send(cluster, Method::Get, &format!("{DEPLOYMENTS}/{name}"), &Value::Null);
        assert_eq!(object["status"]["observedGeneration"], object["metadata"]["generation"]);
        object["status"]["readyReplicas"].as_i64().unwrap_or(0)
    };
    cluster.advance(START.after(2_000));
    assert_eq!([ready(&mut cluster, "slow"), ready(&mut cluster, "odd")], [0, 2]);
    cluster.advance(START.after(12_000));
    assert_eq!(ready(&mut cluster, "odd"), 0);
    let (_, bad) = send(&mut cluster, Method::Get, &format!("{DEPLOYMENTS}/bad"), &Value::Null);
    assert_eq!(bad["status"]["conditions"][1]["reason"], "ProgressDeadlineExceeded");
    cluster.advance(START.after(31_000));
    assert_eq!(ready(&mut cluster, "slow"), 2);
    // A change begins anew.
    send(&mut cluster, Method::Patch, &format!("{DEPLOYMENTS}/slow"), &json!({ "spec": { "replicas": 3 } }));
    assert_eq!(ready(&mut cluster, "slow"), 0);
    cluster.advance(START.after(70_000));
    assert_eq!(ready(&mut cluster, "slow"), 3);
}

#[test]
fn jobs_complete_and_claims_are_bound() {
    let mut cluster = cluster();
    let template =
        json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i:1" }] } });
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    assert_eq!(
        send(
            &mut cluster,
            Method::Post,
            jobs,
            &json!({ "metadata": { "name": "j" }, "spec": { "template": template } })
        )
        .0,
        201
    );
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
    assert_eq!(
        send(&mut cluster, Method::Post, claims, &json!({ "metadata": { "name": "p" }, "spec": spec })).0,
        201
    );
    assert_eq!(cluster.next_event(), Some(START.after(1_000)));
    cluster.advance(START.after(1_000));
    assert_eq!(cluster.next_event(), None);
    let (_, job) = send(&mut cluster, Method::Get, &format!("{jobs}/j"), &Value::Null);
    assert_eq!(job["status"]["succeeded"], 1);
    let (_, claim) = send(&mut cluster, Method::Get, &format!("{claims}/p"), &Value::Null);
    assert_eq!(claim["status"]["phase"], "Bound");
}

#[test]
fn only_what_is_granted_may_be_done_and_reviews_say_so() {
    let mut server = Server::new(1, START).with_access(Access::Roles);
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let rules = json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] }]);
    let role = json!({ "metadata": { "name": "read" }, "rules": rules });
    let refers = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "read" });
    let subject = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited" });
    let binding = json!({ "metadata": { "name": "read" }, "roleRef": refers, "subjects": [subject] });
    for (resource, body) in [("roles", role), ("rolebindings", binding)] {
        let request =
            Request::new(Method::Post, &format!("{rbac}/{resource}")).json("application/json", &body);
        assert_eq!(server.handle(START, &request).whole().unwrap().status, 201);
    }
    let mut ask = |target: &str| {
        let request = Request::new(Method::Get, target).header("impersonate-user", "limited");
        server.handle(START, &request).whole().unwrap()
    };
    assert_eq!(ask(&format!("{MAPS}/a")).status, 404);
    let refused = ask(MAPS);
    assert_eq!(refused.status, 403);
    assert_eq!(
        refused.body["message"],
        "configmaps is forbidden: User \"limited\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\""
    );
    let attributes = json!({ "namespace": "default", "verb": "list", "resource": "configmaps" });
    let body = json!({ "spec": { "user": "limited", "resourceAttributes": attributes } });
    let review = Request::new(Method::Post, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
    let review = server.handle(START, &review.json("application/json", &body)).whole().unwrap();
    assert_eq!((review.status, &review.body["status"]["allowed"]), (201, &json!(false)));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seed| {
        let mut cluster = Cluster::new(seed, START, Scenario::default());
        for name in ["a", "b"] {
            send(&mut cluster, Method::Post, DEPLOYMENTS, &deployment(name));
        }
        cluster.advance(START.after(5_000));
        let all: Vec<String> =
            cluster.server().store().all().map(|(key, object)| format!("{key:?} {object}")).collect();
        all.join("\n")
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn a_service_answers_what_the_scenario_says_while_something_ready_is_behind_it() {
    let answer = |path: &str, body: Value| Answer {
        label: Some(("app".to_owned(), "report".to_owned())),
        path: path.to_owned(),
        body,
        ..Answer::default()
    };
    let answers = vec![
        answer("/report.json", json!({ "version": "$(VERSION)", "of": ["$(OTHER)", 3] })),
        answer("/live", json!("$(VERSION) lives")),
    ];
    let mut cluster = Cluster::new(1, START, Scenario { answers, ..Scenario::default() });
    let services = "/api/v1/namespaces/default/services";
    let at = |port: &str, path: &str| format!("{services}/report{port}/proxy{path}");
    let get = |cluster: &mut Cluster, at: &str| {
        let (status, body) = send(cluster, Method::Get, at, &Value::Null);
        let said = body.get("message").cloned().unwrap_or(body);
        (status, said)
    };
    let labels = json!({ "app": "report" });
    assert_eq!(get(&mut cluster, &at(":80", "/live")), (404, json!("services \"report\" not found")));
    let service = |name: &str, labels: &Value| json!({ "metadata": { "name": name, "labels": labels }, "spec": { "selector": { "app": "report" }, "ports": [{ "name": "http", "port": 80 }] } });
    send(&mut cluster, Method::Post, services, &service("report", &labels));
    let nobody = (503, json!("no endpoints available for service \"report\""));
    assert_eq!(get(&mut cluster, &at(":80", "/live")), nobody);
    let containers = json!([{ "name": "a", "image": "a", "env": [{ "name": "VERSION", "value": "42" }] }]);
    let workload = json!({ "metadata": { "name": "any" }, "spec": { "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": { "containers": containers } } } });
    send(&mut cluster, Method::Post, "/apis/apps/v1/namespaces/default/deployments", &workload);
    assert_eq!(get(&mut cluster, &at(":80", "/live")), nobody, "not ready yet");
    cluster.advance(START.after(5_000));
    let report = json!({ "version": "42", "of": ["$(OTHER)", 3] });
    for port in [":80", ":http", ""] {
        assert_eq!(get(&mut cluster, &at(port, "/report.json")), (200, report.clone()), "{port}");
    }
    assert_eq!(get(&mut cluster, &at(":80", "/live?x=1")), (200, json!("42 lives")));
    assert_eq!(get(&mut cluster, &at(":80", "/other")), (404, json!("404 page not found\n")));
    let no_port = "no service port \"81\" found for service \"report\"";
    assert_eq!(get(&mut cluster, &at(":81", "/live")), (503, json!(no_port)));
    send(&mut cluster, Method::Post, services, &service("silent", &json!({})));
    let silent = get(&mut cluster, &format!("{services}/silent:80/proxy/live"));
    assert_eq!(silent, (503, json!("error trying to reach service: connect: connection refused")));
}

#[test]
fn a_claim_goes_when_nobody_uses_it() {
    let mut cluster = cluster();
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = json!({ "metadata": { "name": "data" }, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
    } });
    send(&mut cluster, Method::Post, claims, &claim);
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let job = json!({ "metadata": { "name": "user" }, "spec": { "ttlSecondsAfterFinished": 60, "template": { "spec": {
        "restartPolicy": "Never",
        "containers": [{ "name": "a", "image": "a" }],
        "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }],
    } } } });
    send(&mut cluster, Method::Post, jobs, &job);
    let (claim, job) = (format!("{claims}/data"), format!("{jobs}/user"));
    cluster.advance(START.after(500));
    send(&mut cluster, Method::Delete, &claim, &Value::Null);
    let mut there = |at: u64, path: &str| {
        cluster.advance(START.after(at));
        send(&mut cluster, Method::Get, path, &Value::Null).0 == 200
    };
    assert!(there(900, &claim), "the Job runs");
    assert!(!there(2_000, &claim), "it has ended");
    assert!(there(60_000, &job), "a Job that ended is kept as long as it says");
    assert!(!there(62_000, &job));
}
