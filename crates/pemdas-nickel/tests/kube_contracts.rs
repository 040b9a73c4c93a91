//! The generated contracts of Kubernetes' types: they load, and judge as the native validator does.
// The helpers of tests stand outside the functions that the lint takes for tests.
#![allow(clippy::unwrap_used, clippy::panic)]

use pemdas_core::kube_types::{Finding, Kind, Problem, Purpose, Type, validate};
use pemdas_nickel::kube_contracts::{file, is_file, with_imports};
use pemdas_nickel::{Evaluator, Failure, InProcess, Limits, Place, Sources};
use serde_json::{Value, json};

const MANIFESTS: &str = include_str!("../../pemdas-core/tests/data/manifests.json");
const VERDICTS: &str = include_str!("../../pemdas-core/tests/data/verdicts.txt");

fn load(text: &str) -> InProcess {
    load_all(&Sources::single(text))
}

fn load_all(sources: &Sources) -> InProcess {
    InProcess::load(sources, &Limits::default()).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn told(failure: &Failure) -> String {
    match failure {
        Failure::Failed { diagnostics } => {
            diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).collect::<Vec<_>>().join("\n")
        }
        other => format!("{other:?}"),
    }
}

/// All types as one program: each is parsed, typechecked and compiled, and is a contract.
#[test]
fn every_type_has_a_contract_that_loads() {
    let ids: Vec<&str> = Type::all_ids().collect();
    let fields: Vec<String> = ids.iter().map(|id| format!("\"{id}\" = import \"k8s/{id}.ncl\"")).collect();
    let evaluator = load(&format!("{{ {} }}", fields.join(",\n")));
    for id in ids {
        let refused = evaluator.check(&Place::at([id]), &json!({ "noSuchField": 1 }));
        assert!(
            matches!(&refused, Err(failure @ Failure::Failed { .. }) if told(failure).contains("noSuchField") || told(failure).contains("without fields")),
            "{id}: {refused:?}"
        );
    }
}

#[test]
fn kinds_are_found_by_their_api_version() {
    for kind in Kind::all() {
        let name = format!("k8s/{}/{}.ncl", kind.api_version, kind.name);
        assert!(is_file(&name), "{name}");
        let files = with_imports(&name);
        assert!(files.contains_key(&format!("k8s/{}.ncl", kind.body().unwrap().id())), "{name}");
        assert!(files.contains_key("k8s/scalars.ncl"));
    }
    for name in [
        "k8s/",
        "k8s/.ncl",
        "k8s/apps/v1/Deployment",
        "apps/v1/Deployment.ncl",
        "k8s/apps/v1/Nope.ncl",
        "k8s/../x.ncl",
    ] {
        assert!(!is_file(name) && file(name).is_none(), "{name}");
    }
}

#[test]
fn contracts_can_be_imported_from_any_folder_and_share_their_parts() {
    let sources = Sources::single(
        r#"let Service = import "k8s/v1/Service.ncl" in
        { parts = import "parts/web.ncl", service = { metadata.name = "web", spec.ports = [{ port = 80 }] } | Service }"#,
    )
    .with(
        "parts/web.ncl",
        r#"{ metadata.name = "web", spec.rules = [] } | (import "k8s/networking.k8s.io/v1/Ingress.ncl")"#,
    );
    let value = load_all(&sources).evaluate(&Place::root()).unwrap();
    // A contract judges and adds nothing.
    assert_eq!(
        value["service"],
        json!({ "metadata": { "name": "web" }, "spec": { "ports": [{ "port": 80 }] } })
    );
    assert_eq!(value["parts"]["spec"]["rules"], json!([]));
}

#[test]
fn a_file_of_the_blueprint_may_not_take_the_name_of_a_contract() {
    let sources = Sources::single("{}").with("k8s/apps/v1/Deployment.ncl", "{}");
    let failure = InProcess::load(&sources, &Limits::default()).unwrap_err();
    assert!(told(&failure).contains("library"), "{}", told(&failure));
}

#[test]
fn an_unknown_contract_is_no_file() {
    let failure =
        InProcess::load(&Sources::single(r#"import "k8s/apps/v1/Deploymnet.ncl""#), &Limits::default())
            .unwrap_err();
    assert!(told(&failure).contains("k8s/apps/v1/Deploymnet.ncl"), "{}", told(&failure));
}

#[test]
fn a_misspelt_field_is_told_at_its_place() {
    let text = r#"{ spec = { replicsa = 3, selector = {}, template = {} } } | (import "k8s/apps/v1/Deployment.ncl")"#;
    let Err(Failure::Failed { diagnostics }) = load(text).evaluate(&Place::root()) else {
        panic!("accepted")
    };
    assert!(diagnostics[0].message.contains("replicsa"), "{diagnostics:?}");
    let start = u32::try_from(text.find("replicsa").unwrap()).unwrap();
    let places: Vec<u32> = diagnostics[0].labels.iter().map(|label| label.span.start).collect();
    assert!(places.iter().any(|place| *place <= start && start < place + 60), "{places:?}");
}

#[test]
fn tags_become_strings() {
    let text = r#"{ spec = { type = 'ClusterIP, ports = [{ port = 1, protocol = 'UDP }] } } | (import "k8s/v1/Service.ncl")"#;
    let value = load(text).evaluate(&Place::root()).unwrap();
    assert_eq!(value["spec"], json!({ "type": "ClusterIP", "ports": [{ "port": 1, "protocol": "UDP" }] }));
}

#[test]
fn a_contract_says_which_type_it_is_of() {
    let text = r#"'"pemdas/describe" | (import "k8s/core/v1/EnvVar.ncl")"#;
    let value = load(text).evaluate(&Place::root()).unwrap();
    assert_eq!(value, json!({ "type": "object", "x-pemdas-kubernetes-type": "core/v1/EnvVar" }));
}

#[test]
fn recursive_types_are_judged_all_the_way_down() {
    let contract = load(r#"import "k8s/apiextensions/v1/JSONSchemaProps.ncl""#);
    let good = json!({ "properties": { "a": { "items": { "properties": { "b": { "type": "string" } } } } } });
    assert_eq!(contract.check(&Place::root(), &good), Ok(good.clone()));
    let bad = json!({ "properties": { "a": { "items": { "properties": { "b": { "typo": "string" } } } } } });
    assert!(told(&contract.check(&Place::root(), &bad).unwrap_err()).contains("typo"));
    for (value, accepted) in [(json!(true), true), (json!({ "type": "string" }), true), (json!("x"), false)] {
        let schema = json!({ "additionalProperties": value });
        assert_eq!(contract.check(&Place::root(), &schema).is_ok(), accepted, "{schema}");
    }
}

/// What the contracts judge as well. Labels, ports, keys of lists and namespaces are the validator's alone.
fn shared(finding: &Finding) -> bool {
    matches!(
        finding.problem,
        Problem::UnknownField { .. }
            | Problem::MissingField { .. }
            | Problem::NotAllowed { .. }
            | Problem::WrongType { .. }
    )
}

fn changed(object: &Value, path: &[Value], change: &str) -> Value {
    let pointer: String = path[..path.len() - 1]
        .iter()
        .map(|step| {
            format!(
                "/{}",
                step.as_str().map_or(step.to_string(), |name| name.replace('~', "~0").replace('/', "~1"))
            )
        })
        .collect();
    let mut object = object.clone();
    let parent = object.pointer_mut(&pointer).unwrap();
    let value = match change {
        "s" => json!("zzz"),
        "n" => json!(7),
        "f" => json!(1.5),
        "b" => json!(true),
        "a" => json!([]),
        "o" => json!({}),
        _ => Value::Null,
    };
    match (path.last().unwrap(), change) {
        (Value::String(name), "r" | "d") => {
            let value = parent.as_object_mut().unwrap().remove(name).unwrap();
            if change == "r" {
                parent[format!("{name}Q")] = value;
            }
        }
        (Value::String(name), _) => parent[name.as_str()] = value,
        (index, _) => parent[usize::try_from(index.as_u64().unwrap()).unwrap()] = value,
    }
    object
}

/// One change in so many is tried in the default tier, and in a round of the deep one: as many rounds try all.
const CHANGES: (usize, usize) = (30, 3);

/// Every manifest, and every manifest changed in one place: contract and validator agree.
#[test]
fn contracts_agree_with_the_validator() {
    let manifests: Vec<Value> = serde_json::from_str(MANIFESTS).unwrap();
    let kind_of = |object: &Value| {
        Kind::find(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap()).unwrap()
    };
    let fields: Vec<String> = manifests
        .iter()
        .enumerate()
        .map(|(index, object)| {
            let kind = kind_of(object);
            format!("m{index} = import \"k8s/{}/{}.ncl\"", kind.api_version, kind.name)
        })
        .collect();
    let evaluator = load(&format!("{{ {} }}", fields.join(", ")));
    let contract = |index: usize| Place::at([format!("m{index}").as_str()]);
    for (index, object) in manifests.iter().enumerate() {
        assert_eq!(evaluator.check(&contract(index), object).as_ref(), Ok(object), "{}", object["kind"]);
    }
    let (mut wrong, mut accepted, mut refused) = (Vec::new(), 0, 0);
    let step = pemdas_tier::size(CHANGES.0, CHANGES.1);
    let first = usize::try_from(pemdas_tier::round().unwrap_or(0)).unwrap() % step;
    for line in VERDICTS.lines().skip(first).step_by(step) {
        let words: Vec<&str> = line.split('\t').collect();
        let index: usize = words[0].parse().unwrap();
        let path: Vec<Value> = serde_json::from_str(words[1]).unwrap();
        for change in words[2].split(' ').filter_map(|verdict| verdict.split('=').next()) {
            let object = changed(&manifests[index], &path, change);
            let native = validate(&kind_of(&manifests[index]), &object, Purpose::Apply);
            let theirs = evaluator.check(&contract(index), &object);
            let agreed = match &theirs {
                Ok(_) => !native.findings.iter().any(shared),
                // Definitions of one's own that embed these types take no amount with a fraction but in a string: the contract is
                // the same for both.
                Err(failure @ Failure::Failed { .. }) => {
                    let fraction = change == "f" && told(failure).contains("a quantity in a string");
                    // Without a value two items may have the same key: an apply of them is refused, which only the contract knows.
                    let twice = change == "z" && told(failure).contains("an item stands twice in this list");
                    fraction || twice || !native.findings.is_empty()
                }
                Err(other) => panic!("{other:?}"),
            };
            if theirs.is_ok() {
                accepted += 1;
            } else {
                refused += 1;
            }
            if !agreed {
                let messages: Vec<String> = native.findings.iter().map(Finding::message).collect();
                wrong.push(format!(
                    "{} {} {change}: contract {:?}, validator {messages:?}",
                    manifests[index]["kind"],
                    words[1],
                    theirs.map(|_| ()).map_err(|failure| told(&failure))
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        accepted > 900 / step as u64 && refused > 4_500 / step as u64,
        "{accepted} accepted, {refused} refused"
    );
    pemdas_tier::tried(accepted + refused, "changed manifests");
}

#[test]
fn the_text_is_documented() {
    let text = file("k8s/apps/v1/DeploymentSpec.ncl").unwrap();
    assert!(
        text.contains("# DeploymentSpec is the specification of the desired behavior of the Deployment."),
        "{text}"
    );
    assert!(
        text.contains("replicas | k8s.optional (k8s.Int32) | doc \"Number of desired pods.\" | optional,"),
        "{text}"
    );
    assert!(
        text.contains(
            "selector | (import \"../../meta/v1/LabelSelector.ncl\") | doc \"Label selector for pods."
        ),
        "{text}"
    );
}

#[test]
fn only_what_is_imported_is_written() {
    // A ConfigMap is made of metadata; a Deployment of some two hundred types.
    let small = with_imports("k8s/v1/ConfigMap.ncl");
    assert_eq!(
        small.keys().map(String::as_str).collect::<Vec<_>>(),
        [
            "k8s/core/v1/ConfigMap.ncl",
            "k8s/meta/v1/ManagedFieldsEntry.ncl",
            "k8s/meta/v1/ObjectMeta.ncl",
            "k8s/meta/v1/OwnerReference.ncl",
            "k8s/scalars.ncl",
            "k8s/v1/ConfigMap.ncl"
        ]
    );
}
