use serde_json::{Value, json};

use super::{HealthState, HealthState::*, of};

/// An object of a kind with a spec and a status, at generation 2.
fn object(api_version: &str, kind: &str, spec: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": { "name": "it", "generation": 2 }, "spec": spec, "status": status,
    })
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({ "type": kind, "status": status, "reason": reason, "message": "" })
}

#[track_caller]
fn check(state: HealthState, why: &str, object: &Value) {
    let health = of(object);
    let said = if health.state == Current { String::new() } else { health.why.to_string() };
    assert_eq!((health.state, said.as_str()), (state, why), "{object:#}");
}

fn deployment(spec: &Value, status: &Value) -> Value {
    object("apps/v1", "Deployment", spec, status)
}

#[test]
fn deployments() {
    let available = condition("Available", "True", "MinimumReplicasAvailable");
    let done = condition("Progressing", "True", "NewReplicaSetAvailable");
    let spec = json!({ "replicas": 3, "progressDeadlineSeconds": 600 });
    let status = |replicas: [i64; 4], conditions: &[&Value]| {
        json!({
            "observedGeneration": 2, "replicas": replicas[0], "updatedReplicas": replicas[1],
            "readyReplicas": replicas[2], "availableReplicas": replicas[3], "conditions": conditions,
        })
    };
    check(InProgress, "status.replicas is 0, wants 3", &deployment(&spec, &json!({})));
    check(InProgress, "status.replicas is 2, wants 3", &deployment(&spec, &status([2, 2, 2, 2], &[])));
    check(InProgress, "status.updatedReplicas is 1, wants 3", &deployment(&spec, &status([4, 1, 3, 3], &[])));
    check(InProgress, "status.replicas is 4, wants 3", &deployment(&spec, &status([4, 3, 3, 3], &[])));
    check(
        InProgress,
        "status.availableReplicas is 2, wants 3",
        &deployment(&spec, &status([3, 3, 3, 2], &[])),
    );
    check(InProgress, "status.readyReplicas is 2, wants 3", &deployment(&spec, &status([3, 3, 2, 3], &[])));
    let rolling = condition("Progressing", "True", "ReplicaSetUpdated");
    check(
        InProgress,
        "status.conditions[Progressing] is \"True\" (ReplicaSetUpdated), wants \"True\" (NewReplicaSetAvailable)",
        &deployment(&spec, &status([3, 3, 3, 3], &[&available, &rolling])),
    );
    check(
        InProgress,
        "status.conditions[Available] is missing, wants \"True\"",
        &deployment(&spec, &status([3, 3, 3, 3], &[&done])),
    );
    let late = condition("Progressing", "False", "ProgressDeadlineExceeded");
    check(
        Failed,
        "status.conditions[Progressing] is \"False\" (ProgressDeadlineExceeded), wants progress before its deadline",
        &deployment(&spec, &status([3, 1, 2, 2], &[&available, &late])),
    );
    check(Current, "", &deployment(&spec, &status([3, 3, 3, 3], &[&available, &done])));
    // Without a deadline the controller reports no progress; without replicas there is one.
    let one = status([1, 1, 1, 1], &[&available]);
    check(Current, "", &deployment(&json!({}), &one));
    // Scaled to nothing: the API server leaves zero counters out.
    let none = json!({ "observedGeneration": 2, "conditions": [available, done] });
    check(Current, "", &deployment(&json!({ "replicas": 0, "progressDeadlineSeconds": 600 }), &none));
    // All is well, but it is said of the previous generation.
    let mut old = status([3, 3, 3, 3], &[&available, &done]);
    old["observedGeneration"] = json!(1);
    check(InProgress, "status.observedGeneration is 1, wants 2", &deployment(&spec, &old));
}

#[test]
fn stateful_sets() {
    let stateful = |spec: Value, status: Value| object("apps/v1", "StatefulSet", &spec, &status);
    check(
        InProgress,
        "status.replicas is 1, wants 2",
        &stateful(json!({"replicas": 2}), json!({"replicas": 1})),
    );
    let status = |ready: i64, updated: i64, current: i64, revisions: [&str; 2]| {
        json!({
            "observedGeneration": 2, "replicas": 2, "readyReplicas": ready, "updatedReplicas": updated,
            "currentReplicas": current, "currentRevision": revisions[0], "updateRevision": revisions[1],
        })
    };
    let spec = json!({ "replicas": 2 });
    check(
        InProgress,
        "status.readyReplicas is 1, wants 2",
        &stateful(spec.clone(), status(1, 2, 2, ["a", "a"])),
    );
    check(InProgress, "status.replicas is 2, wants 1", &stateful(json!({}), status(2, 2, 2, ["a", "a"])));
    check(
        InProgress,
        "status.currentReplicas is 1, wants 2",
        &stateful(spec.clone(), status(2, 1, 1, ["a", "b"])),
    );
    check(
        InProgress,
        "status.currentRevision is \"a\", wants \"b\"",
        &stateful(spec.clone(), status(2, 0, 2, ["a", "b"])),
    );
    check(Current, "", &stateful(spec, status(2, 2, 2, ["b", "b"])));
    let partitioned = |partition: i64| json!({ "replicas": 2, "updateStrategy": { "rollingUpdate": { "partition": partition } } });
    check(
        InProgress,
        "status.updatedReplicas is 1, wants 2",
        &stateful(partitioned(0), status(2, 1, 1, ["a", "b"])),
    );
    check(Current, "", &stateful(partitioned(1), status(2, 1, 1, ["a", "b"])));
    check(
        Current,
        "",
        &stateful(json!({ "replicas": 2, "updateStrategy": { "type": "OnDelete" } }), json!({})),
    );
}

#[test]
fn daemon_sets() {
    let daemon = |status: Value| object("apps/v1", "DaemonSet", &json!({}), &status);
    check(InProgress, "status.observedGeneration is missing, wants 2", &daemon(json!({})));
    check(
        InProgress,
        "status.desiredNumberScheduled is missing, wants a number",
        &daemon(json!({ "observedGeneration": 2 })),
    );
    let status = |counters: [i64; 4]| {
        json!({
            "observedGeneration": 2, "desiredNumberScheduled": 3, "currentNumberScheduled": counters[0],
            "updatedNumberScheduled": counters[1], "numberAvailable": counters[2], "numberReady": counters[3],
        })
    };
    check(InProgress, "status.currentNumberScheduled is 2, wants 3", &daemon(status([2, 3, 3, 3])));
    check(InProgress, "status.updatedNumberScheduled is 2, wants 3", &daemon(status([3, 2, 3, 3])));
    check(InProgress, "status.numberAvailable is 2, wants 3", &daemon(status([3, 3, 2, 3])));
    check(InProgress, "status.numberReady is 2, wants 3", &daemon(status([3, 3, 3, 2])));
    check(Current, "", &daemon(status([3, 3, 3, 3])));
    let nowhere = json!({ "observedGeneration": 2, "desiredNumberScheduled": 0 });
    check(Current, "", &daemon(nowhere));
}

#[test]
fn replica_sets() {
    let set = |status: Value| object("apps/v1", "ReplicaSet", &json!({ "replicas": 2 }), &status);
    let status = |counters: [i64; 4]| {
        json!({
            "replicas": counters[0], "fullyLabeledReplicas": counters[1],
            "availableReplicas": counters[2], "readyReplicas": counters[3],
        })
    };
    check(InProgress, "status.fullyLabeledReplicas is 1, wants 2", &set(status([2, 1, 2, 2])));
    check(InProgress, "status.availableReplicas is 1, wants 2", &set(status([2, 2, 1, 2])));
    check(InProgress, "status.readyReplicas is 1, wants 2", &set(status([2, 2, 2, 1])));
    check(InProgress, "status.replicas is 3, wants 2", &set(status([3, 3, 3, 3])));
    check(Current, "", &set(status([2, 2, 2, 2])));
    let mut refused = status([2, 2, 2, 2]);
    refused["conditions"] = json!([condition("ReplicaFailure", "True", "FailedCreate")]);
    check(
        InProgress,
        "status.conditions[ReplicaFailure] is \"True\" (FailedCreate), wants \"False\"",
        &set(refused),
    );
}

#[test]
fn jobs() {
    let job = |status: Value| object("batch/v1", "Job", &json!({}), &status);
    check(InProgress, "status.startTime is missing, wants the Job to start", &job(json!({})));
    check(Current, "", &job(json!({ "startTime": "2026-01-01T00:00:00Z", "active": 1 })));
    let complete = json!({ "startTime": "t", "conditions": [condition("Complete", "True", "")] });
    check(Current, "", &job(complete));
    let failed =
        json!({ "startTime": "t", "conditions": [condition("Failed", "True", "BackoffLimitExceeded")] });
    check(
        Failed,
        "status.conditions[Failed] is \"True\" (BackoffLimitExceeded), wants \"False\"",
        &job(failed),
    );
}

#[test]
fn pods() {
    let pod = |status: Value| object("v1", "Pod", &json!({}), &status);
    check(InProgress, "status.phase is missing, wants \"Running\"", &pod(json!({})));
    check(InProgress, "status.phase is \"Pending\", wants \"Running\"", &pod(json!({ "phase": "Pending" })));
    let unready =
        json!({ "phase": "Running", "conditions": [condition("Ready", "False", "ContainersNotReady")] });
    check(
        InProgress,
        "status.conditions[Ready] is \"False\" (ContainersNotReady), wants \"True\"",
        &pod(unready.clone()),
    );
    let mut looping = unready;
    looping["containerStatuses"] =
        json!([{ "name": "web", "state": { "waiting": { "reason": "CrashLoopBackOff" } } }]);
    check(Failed, "status.containerStatuses[web] is in CrashLoopBackOff, wants running", &pod(looping));
    check(Current, "", &pod(json!({ "phase": "Running", "conditions": [condition("Ready", "True", "")] })));
    check(Current, "", &pod(json!({ "phase": "Succeeded" })));
    check(
        Failed,
        "status.phase is \"Failed\" (Evicted), wants \"Running\" or \"Succeeded\"",
        &pod(json!({ "phase": "Failed", "reason": "Evicted" })),
    );
}

#[test]
fn what_pods_need() {
    let claim = |status: Value| object("v1", "PersistentVolumeClaim", &json!({}), &status);
    check(InProgress, "status.phase is \"Pending\", wants \"Bound\"", &claim(json!({ "phase": "Pending" })));
    check(Failed, "status.phase is \"Lost\", wants \"Bound\"", &claim(json!({ "phase": "Lost" })));
    check(Current, "", &claim(json!({ "phase": "Bound" })));
    let service = |spec: Value| object("v1", "Service", &spec, &json!({}));
    check(Current, "", &service(json!({})));
    check(
        InProgress,
        "spec.clusterIP is missing, wants an address",
        &service(json!({ "type": "LoadBalancer" })),
    );
    check(Current, "", &service(json!({ "type": "LoadBalancer", "clusterIP": "10.0.0.7" })));
    let budget = |status: Value| object("policy/v1", "PodDisruptionBudget", &json!({}), &status);
    check(
        InProgress,
        "status.observedGeneration is missing, wants the allowed disruptions to be computed",
        &budget(json!({})),
    );
    check(Current, "", &budget(json!({ "observedGeneration": 2 })));
    for (api_version, kind) in
        [("v1", "ConfigMap"), ("v1", "Secret"), ("v1", "Namespace"), ("batch/v1", "CronJob")]
    {
        check(Current, "", &object(api_version, kind, &json!({}), &json!({})));
    }
}

#[test]
fn definitions() {
    let crd = |conditions: Value| {
        let status = json!({ "conditions": conditions });
        object("apiextensions.k8s.io/v1", "CustomResourceDefinition", &json!({}), &status)
    };
    check(InProgress, "status.conditions[Established] is missing, wants \"True\"", &crd(json!([])));
    check(
        InProgress,
        "status.conditions[Established] is \"False\" (Installing), wants \"True\"",
        &crd(json!([
            condition("NamesAccepted", "True", ""),
            condition("Established", "False", "Installing")
        ])),
    );
    check(
        Failed,
        "status.conditions[NamesAccepted] is \"False\" (ListKindConflict), wants \"True\"",
        &crd(json!([
            condition("NamesAccepted", "False", "ListKindConflict"),
            condition("Established", "True", "")
        ])),
    );
    check(
        Failed,
        "status.conditions[Established] is \"False\" (Gone), wants \"True\"",
        &crd(json!([condition("Established", "False", "Gone")])),
    );
    check(
        Current,
        "",
        &crd(json!([condition("NamesAccepted", "True", ""), condition("Established", "True", "")])),
    );
}

#[test]
fn custom_resources() {
    let custom = |status: Value| object("example.com/v1", "Database", &json!({}), &status);
    check(Current, "", &custom(json!({})));
    check(Current, "", &custom(json!({ "conditions": [condition("Ready", "True", "")] })));
    for status in ["False", "Unknown"] {
        check(
            InProgress,
            &format!("status.conditions[Ready] is \"{status}\" (Starting), wants \"True\""),
            &custom(json!({ "conditions": [condition("Ready", status, "Starting")] })),
        );
    }
    // Ready, but of the previous generation: once said by the status, once by the condition.
    let old = json!({ "observedGeneration": 1, "conditions": [condition("Ready", "True", "")] });
    check(InProgress, "status.observedGeneration is 1, wants 2", &custom(old));
    let mut ready = condition("Ready", "True", "");
    ready["observedGeneration"] = json!(1);
    check(
        InProgress,
        "status.conditions[Ready] is of generation 1, wants generation 2",
        &custom(json!({ "conditions": [ready] })),
    );
    // A fresh object of a kind that defaults its status can not be taken for ready.
    check(
        InProgress,
        "status.observedGeneration is -1, wants 2",
        &custom(json!({ "observedGeneration": -1 })),
    );
    let ready_and = |other: Value| custom(json!({ "conditions": [condition("Ready", "True", ""), other] }));
    check(
        InProgress,
        "status.conditions[Reconciling] is \"True\" (Working), wants \"False\"",
        &ready_and(condition("Reconciling", "True", "Working")),
    );
    check(
        Failed,
        "status.conditions[Stalled] is \"True\" (NoQuota), wants \"False\"",
        &ready_and(condition("Stalled", "True", "NoQuota")),
    );
    check(Current, "", &ready_and(condition("Stalled", "False", "")));
}

#[test]
fn what_is_going_is_not_ready() {
    for (api_version, kind) in [("v1", "ConfigMap"), ("v1", "Namespace"), ("example.com/v1", "Database")] {
        let mut going = object(api_version, kind, &json!({}), &json!({}));
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        check(Terminating, "metadata.deletionTimestamp is \"2026-01-01T00:00:00Z\", wants absent", &going);
    }
}

#[test]
fn nonsense_is_judged_without_panic() {
    for nonsense in
        [json!(null), json!(7), json!([]), json!({ "kind": 3 }), json!({ "status": { "conditions": 4 } })]
    {
        check(Current, "", &nonsense);
    }
}
