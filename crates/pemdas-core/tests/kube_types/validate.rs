//! What the validator says of wrong objects: code, place, words and hint.

use pemdas_core::diagnostic::Severity;
use pemdas_core::kube_types::{Kind, MAX_FINDINGS, Problem, Purpose, Type, validate, validate_type};
use serde_json::{Value, json};

use super::kind_of;

/// The findings as lines: code, message, hint.
fn told(object: &Value, purpose: Purpose) -> Vec<String> {
    let checked = validate(&kind_of(object), object, purpose);
    assert!(!checked.truncated);
    let line = |finding: &pemdas_core::kube_types::Finding| {
        let hint = finding.problem.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{} {}{hint}", finding.problem.code(), finding.message())
    };
    checked.findings.iter().map(line).collect()
}

fn deployment(spec: &Value, container: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [container] } },
        },
    });
    for (name, value) in spec.as_object().unwrap() {
        object["spec"][name] = value.clone();
    }
    object
}

fn container(fields: &Value) -> Value {
    let mut container = json!({ "name": "web", "image": "web:1" });
    for (name, value) in fields.as_object().unwrap() {
        container[name] = value.clone();
    }
    container
}

/// The one finding about a container with these fields, its path cut off to the container.
fn of_container(fields: &Value) -> String {
    let found = told(&deployment(&json!({}), &container(fields)), Purpose::Apply);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].replace("spec.template.spec.containers[0]", "*")
}

#[test]
fn unknown_fields_come_with_what_was_meant() {
    assert_eq!(
        of_container(&json!({ "imagePullpolicy": "Always" })),
        "PM0301 *: Container has no field \"imagePullpolicy\" (did you mean imagePullPolicy?)"
    );
    assert_eq!(
        of_container(&json!({ "volumeMount": [] })),
        "PM0301 *: Container has no field \"volumeMount\" (did you mean volumeMounts?)"
    );
    // Where nothing is near, the fields that there are.
    let found = of_container(&json!({ "enviroment": [] }));
    assert!(found.contains("(Container has args, command, env, envFrom, image,"), "{found}");
    assert!(found.ends_with("and 9 more)"), "{found}");
}

#[test]
fn misplaced_fields_come_with_their_place() {
    let object = deployment(&json!({ "containers": [], "hostNetwork": true }), &container(&json!({})));
    assert_eq!(
        told(&object, Purpose::Apply),
        [
            "PM0301 spec: DeploymentSpec has no field \"containers\" (it belongs at spec.template.spec.containers)",
            "PM0301 spec: DeploymentSpec has no field \"hostNetwork\" (it belongs at spec.template.spec.hostNetwork)",
        ]
    );
    assert_eq!(
        of_container(&json!({ "limits": { "cpu": 1 } })),
        "PM0301 *: Container has no field \"limits\" (it belongs at *.resources.limits)"
    );
}

#[test]
fn wrong_types_come_with_a_cure() {
    for (fields, expected) in [
        (json!({ "tty": "true" }), "PM0302 *.tty is a string, wants a boolean (write true without quotes)"),
        (json!({ "image": 7 }), "PM0302 *.image is a number, wants a string (write \"7\" in quotes)"),
        (
            json!({ "args": "--verbose" }),
            "PM0302 *.args is a string, wants a list of strings (put it in a list: [ ... ])",
        ),
        (
            json!({ "env": { "A": "b" } }),
            "PM0302 *.env is a record, wants a list of EnvVar (put it in a list: [ ... ])",
        ),
        (
            json!({ "env": [{ "name": "PORT", "value": 8080 }] }),
            "PM0302 *.env[0].value is a number, wants a string (write \"8080\" in quotes)",
        ),
        (json!({ "resources": [] }), "PM0302 *.resources is a list, wants a record (ResourceRequirements)"),
        (
            json!({ "resources": { "limits": { "cpu": true } } }),
            "PM0302 *.resources.limits.cpu is a boolean, wants a quantity, a string such as \"100m\" or \"1Gi\", or a number",
        ),
        (
            json!({ "livenessProbe": { "periodSeconds": 1.5 } }),
            "PM0302 *.livenessProbe.periodSeconds is a number with a fraction, wants a whole number",
        ),
        (
            json!({ "livenessProbe": { "tcpSocket": { "port": true } } }),
            "PM0302 *.livenessProbe.tcpSocket.port is a boolean, wants a whole number or a string",
        ),
    ] {
        assert_eq!(of_container(&fields), expected);
    }
}

#[test]
fn missing_fields_are_told_once() {
    let object = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "spec": { "template": { "spec": {
        "containers": [{ "image": "a", "volumeMounts": [{ "mountPath": null }] }] } } } });
    let expected = [
        "PM0303 spec.template.spec.containers[0].volumeMounts[0]: VolumeMount needs the field mountPath",
        "PM0303 spec.template.spec.containers[0].volumeMounts[0]: VolumeMount needs the field name",
        "PM0303 spec.template.spec.containers[0]: Container needs the field name",
        "PM0303 spec: DeploymentSpec needs the field selector",
    ];
    assert_eq!(told(&object, Purpose::Apply), expected);
    assert_eq!(told(&object, Purpose::Patch), Vec::<String>::new());
}

#[test]
fn values_must_be_of_their_format() {
    for (fields, expected) in [
        (
            json!({ "resources": { "limits": { "memory": "1GiB" } } }),
            "PM0304 *.resources.limits.memory is \"1GiB\": its suffix must be one of n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, or e and an exponent",
        ),
        (
            json!({ "ports": [{ "containerPort": 70_000 }] }),
            "PM0304 *.ports[0].containerPort is 70000: a port is a whole number from 1 to 65535",
        ),
        (
            json!({ "livenessProbe": { "periodSeconds": 3_000_000_000_u32 } }),
            "PM0304 *.livenessProbe.periodSeconds is 3000000000: it must be from -2147483648 to 2147483647",
        ),
        (
            json!({ "name": "Web_1" }),
            "PM0304 *.name is \"Web_1\": it must be a DNS label: at most 63 lower-case letters, digits and -, beginning and ending with a letter or digit",
        ),
        (
            json!({ "imagePullPolicy": "always" }),
            "PM0305 *.imagePullPolicy is \"always\", which is not an allowed value (did you mean \"Always\"?)",
        ),
        (
            json!({ "imagePullPolicy": "Sometimes" }),
            "PM0305 *.imagePullPolicy is \"Sometimes\", which is not an allowed value (it may be Always, IfNotPresent, Never)",
        ),
    ] {
        assert_eq!(of_container(&fields), expected);
    }
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "data": { "k": "not base64!" } });
    assert_eq!(
        told(&secret, Purpose::Apply),
        ["PM0304 data.k is \"not base64!\": it must be base64, padded with ="]
    );
    let lease =
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": { "renewTime": "noon" } });
    assert_eq!(
        told(&lease, Purpose::Apply),
        ["PM0304 spec.renewTime is \"noon\": it must be a time such as 2026-01-31T12:00:00Z"]
    );
}

#[test]
fn whole_numbers_may_be_written_with_a_point() {
    let object = deployment(&json!({ "replicas": 3.0 }), &container(&json!({})));
    assert_eq!(told(&object, Purpose::Apply), Vec::<String>::new());
}

#[test]
fn labels_and_names_are_checked() {
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "My_Map",
        "labels": { "a b": "c", "ok": "a value" },
        "annotations": { "Upper.case/Key": "any text at all", "/x": "" },
    } });
    let found = told(&object, Purpose::Apply);
    let starts: Vec<&str> = found.iter().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(
        starts,
        [
            "PM0304 metadata.name is \"My_Map\"",
            "PM0304 metadata.annotations[\"/x\"] is \"/x\"",
            "PM0304 metadata.labels[\"a b\"] is \"a b\"",
            "PM0304 metadata.labels.ok is \"a value\"",
        ]
    );
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "A:b" } });
    assert_eq!(told(&role, Purpose::Apply), Vec::<String>::new());
}

#[test]
fn two_items_may_not_have_one_key() {
    let two = json!({ "ports": [
        { "containerPort": 80, "name": "a" }, { "containerPort": 80, "protocol": "UDP" }, { "containerPort": 80, "protocol": "TCP" },
    ] });
    assert_eq!(
        of_container(&two),
        "PM0306 *.ports[2] has containerPort 80 and protocol \"TCP\", as item 0 has (remove one of them, or give it another key)"
    );
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "finalizers": ["a", "a"] } });
    assert_eq!(
        told(&pod, Purpose::Patch),
        [
            "PM0306 metadata.finalizers[1] has the value \"a\", as item 0 has (remove one of them, or give it another key)"
        ]
    );
}

#[test]
fn cluster_kinds_have_no_namespace() {
    let object =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a", "namespace": "b" } });
    assert_eq!(
        told(&object, Purpose::Apply),
        [
            "PM0308 metadata.namespace is set, but a Namespace belongs to no namespace (remove metadata.namespace)"
        ]
    );
}

#[test]
fn what_the_server_writes_is_a_warning_unless_it_is_live() {
    let object = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "uid": "x", "managedFields": [] },
        "spec": { "containers": [] }, "status": { "phase": "Running" } });
    let checked = validate(&kind_of(&object), &object, Purpose::Apply);
    let paths: Vec<&str> = checked.findings.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(paths, ["metadata.managedFields", "metadata.uid", "status"]);
    assert!(checked.findings.iter().all(|finding| finding.problem.severity() == Severity::Warning));
    assert_eq!(validate(&kind_of(&object), &object, Purpose::Live).findings, []);
}

#[test]
fn findings_are_bounded() {
    let env: Vec<Value> = (0..1_000).map(|index| json!({ "nmae": index })).collect();
    let object = deployment(&json!({}), &container(&json!({ "env": env })));
    let checked = validate(&kind_of(&object), &object, Purpose::Apply);
    assert_eq!(checked.findings.len(), MAX_FINDINGS);
    assert!(checked.truncated);
}

#[test]
fn depth_is_bounded() {
    let mut schema = json!({ "type": "object" });
    for _ in 0..200 {
        schema = json!({ "properties": { "a": schema } });
    }
    let body = Type::find("apiextensions/v1/JSONSchemaProps").unwrap();
    let checked = validate_type(body, &schema, Purpose::Apply);
    assert_eq!(checked.findings.len(), 1);
    assert_eq!(checked.findings[0].problem, Problem::TooDeep);
}

#[test]
fn long_values_are_cut_off() {
    let long = "x".repeat(10_000);
    let found = of_container(&json!({ "imagePullPolicy": long }));
    assert!(found.len() < 250, "{found}");
    let found = of_container(&json!({ long: 1 }));
    assert!(found.len() < 450, "{found}");
}

#[test]
fn embedded_types_can_be_checked_alone() {
    let body = Type::find("core/v1/EnvVar").unwrap();
    let checked = validate_type(body, &json!({ "nam": "A" }), Purpose::Apply);
    let told: Vec<String> = checked.findings.iter().map(pemdas_core::kube_types::Finding::message).collect();
    assert_eq!(told, ["the object: EnvVar has no field \"nam\"", "the object: EnvVar needs the field name"]);
}

#[test]
fn an_object_of_another_kind_is_told() {
    let service = Kind::find("v1", "Service").unwrap();
    let checked = validate(&service, &json!({ "apiVersion": "v1", "kind": "Servce" }), Purpose::Apply);
    assert_eq!(checked.findings[0].message(), "kind is \"Servce\", which is not an allowed value");
    assert_eq!(checked.findings[0].problem.hint().unwrap(), "did you mean \"Service\"?");
}

#[test]
fn no_value_does_harm() {
    for kind in Kind::all() {
        for value in
            [json!(null), json!(1), json!("x"), json!([]), json!({}), json!({ "spec": [], "status": 1 })]
        {
            let _ = validate(&kind, &value, Purpose::Apply);
        }
    }
}
