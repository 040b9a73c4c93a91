use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, slice};

use pemdas_core::diagnostic::{Diagnostic, Severity};
use pemdas_core::import::{Given as Object, Tree, Wishes};
use pemdas_core::kube_types::Kind;
use serde_json::{Map, Value, json};

#[path = "../../../pemdas-core/src/import/tests/chart.rs"]
mod chart;

use super::{DEFINITIONS, Gathered, Imported, files, import, yaml};
use crate::input::{Given, MAIN, Place};
use crate::plan::{Prepared, observed::Files};

/// The manifests of the corpus, by name.
fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut all: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    all.sort();
    all
}

fn gathered(name: &str, text: &str) -> Gathered {
    let objects = yaml::objects(name, name, text).unwrap_or_else(|problem| panic!("{name}: {problem:?}"));
    let mut given = Given::default();
    given.files.insert(name.to_owned(), text.to_owned());
    Gathered { objects, given, problems: Vec::new() }
}

fn imported(gathered: Gathered, wishes: &Wishes) -> Imported {
    let outcome = import(gathered, wishes);
    let told = &outcome.of_input.diagnostics;
    let imported = outcome.imported.unwrap_or_else(|| panic!("{told:#?}"));
    let blueprint = outcome.of_blueprint.unwrap();
    let errors: Vec<_> = blueprint.diagnostics.iter().filter(|it| it.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{}", imported.source);
    imported
}

/// An object as whoever wrote it means it, by other means than those of the import.
fn meant(mut object: Value, namespace: &str) -> Value {
    fn no_nulls(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|_, it| !it.is_null());
                fields.values_mut().for_each(no_nulls);
            }
            Value::Array(items) => items.iter_mut().for_each(no_nulls),
            _ => {}
        }
    }
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let kind = Kind::find(&text("apiVersion"), &text("kind")).ok();
    let cluster = kind.is_some_and(|it| it.scope == pemdas_core::kube_types::Scope::Cluster);
    if kind.is_some() {
        no_nulls(&mut object);
    }
    object.as_object_mut().unwrap().remove("status");
    let metadata = object["metadata"].as_object_mut().unwrap();
    // A hook becomes a node with an order.
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !name.starts_with("helm.sh/"));
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    if cluster {
        metadata.remove("namespace");
    } else {
        metadata.entry("namespace").or_insert(json!(namespace));
    }
    object
}

fn values(gathered: &Gathered) -> Vec<Value> {
    gathered.objects.iter().map(|it| it.tree.to_json()).collect()
}

/// What the engine would write for the proposed instance.
fn played(imported: &Imported) -> Vec<Value> {
    let mut given = Given { title: "imported".to_owned(), ..Given::default() };
    given.files.insert(MAIN.to_owned(), imported.source.clone());
    given.places.insert(MAIN.to_owned(), Place::file(MAIN));
    let mut prepared = Prepared::new(given).unwrap_or_else(|it| panic!("{:?}", it.diagnostics));
    let root: Value = serde_saphyr::from_str(&imported.instance).unwrap();
    let instance = prepared.live(root, &imported.draft.root);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(DEFINITIONS);
    fs::write(&file, &imported.definitions).unwrap();
    let mut observed = Files::new(None).and_definitions(Some(file));
    let played = prepared.plan(instance, false, &mut observed).unwrap_or_else(|it| panic!("{it:?}"));
    let steps = played.plan.rounds.into_iter().flat_map(|it| it.steps);
    let object = |mut it: Value| {
        // Where nothing has an order, the root owns its objects.
        it["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        it
    };
    steps.filter_map(|it| it.after).map(object).collect()
}

/// The engine knows what a server does with `stringData`; the values were compared before.
fn as_kept(mut object: Value) -> Value {
    if object["kind"] == "Secret" {
        let mut names: Vec<Value> = Vec::new();
        for field in ["data", "stringData"] {
            let data = object.as_object_mut().unwrap().remove(field);
            names.extend(data.iter().flat_map(|it| it.as_object().unwrap().keys().cloned()).map(Value::from));
        }
        object["names"] = json!(names);
    }
    object
}

/// The name of a Job that runs once ends in a digest of its key.
fn without_digest(mut object: Value) -> Value {
    if object["kind"] == "Job" {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let plain = name.rsplit_once('-').map(|it| it.0.to_owned());
        object["metadata"]["name"] = json!(plain);
    }
    object
}

/// What autoscalers scale, by kind and name.
fn autoscaled(objects: &[Value]) -> BTreeSet<String> {
    let scalers = objects.iter().filter(|it| it["kind"] == "HorizontalPodAutoscaler");
    let targets = scalers.map(|it| &it["spec"]["scaleTargetRef"]);
    targets.map(|it| format!("{} {}", it["kind"], it["name"])).collect()
}

/// An object without the number of replicas that is left to an autoscaler.
fn unscaled(mut object: Value, scaled: &BTreeSet<String>) -> Value {
    if scaled.contains(&format!("{} {}", object["kind"], object["metadata"]["name"])) {
        object["spec"].as_object_mut().map(|it| it.remove("replicas"));
    }
    object
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|it| {
        let text = |pointer: &str| it.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        [text("/kind"), text("/metadata/namespace"), text("/metadata/name")]
    });
    objects
}

#[test]
fn an_imported_manifest_is_planned_as_it_was_written() {
    let (mut count, mut kinds) = (0, BTreeSet::new());
    for path in corpus() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let read = gathered(&name, &fs::read_to_string(&path).unwrap());
        let written = values(&read);
        let imported = imported(read, &Wishes::default());
        let namespace = &imported.draft.namespace;
        let wanted: Vec<Value> = written.into_iter().map(|it| meant(it, namespace)).collect();
        let scaled = autoscaled(&wanted);
        let wanted: Vec<Value> = wanted.into_iter().map(|it| unscaled(it, &scaled)).collect();
        kinds.extend(wanted.iter().map(|it| it["kind"].to_string()));
        count += wanted.len();
        let outside = !imported.draft.definitions.is_empty();
        let is_outside = |it: &Value| outside && it["kind"] == "CustomResourceDefinition";
        let (definitions, wanted): (Vec<_>, Vec<_>) = wanted.into_iter().partition(is_outside);
        assert_eq!(imported.draft.definitions, definitions, "{name}");
        assert_eq!(imported.draft.objects, wanted, "{name}");
        let wanted: Vec<Value> = wanted.into_iter().map(as_kept).collect();
        let planned: Vec<Value> = played(&imported).into_iter().map(as_kept).map(without_digest).collect();
        for (is, wants) in sorted(planned.clone()).iter().zip(&sorted(wanted.clone())) {
            assert_eq!(is, wants, "{name}\n{}", imported.source);
        }
        assert_eq!(planned.len(), wanted.len(), "{name}\n{}", imported.source);
    }
    assert!(count >= 80 && kinds.len() >= 40, "{count} objects of {} kinds", kinds.len());
}

/// Strings that are awkward somewhere: in YAML, in Nickel, in a terminal.
const ODD: &[&str] = &[
    "",
    " ",
    "%{the.root.metadata.name}",
    "%%{x} \"%% m%\"",
    "\\%{x}\\",
    "a\n  b\n",
    "\n\n a\n",
    "tab\tand\r\nreturn",
    "null",
    "0x1F",
    "1e3",
    "\u{0}\u{7f}\u{200b}\u{feff}",
    "𝒳 ö 日本語 🙂",
    "# no comment",
    "{{ $labels.pod }}",
    "ends in %",
    "a: b\n- c\n",
];

/// The same manifest in many clothes: other names, another order, strings that nobody expects, as read from a server.
fn varied(objects: &[Object], round: usize) -> Vec<Object> {
    let mut objects: Vec<Value> = objects.iter().map(|it| it.tree.to_json()).collect();
    let turn = round % objects.len();
    objects.rotate_left(turn);
    for (index, object) in objects.iter_mut().enumerate() {
        let metadata = object["metadata"].as_object_mut().unwrap();
        let odd = |at: usize| ODD[(round * 7 + index + at) % ODD.len()];
        let annotations = metadata.entry("annotations").or_insert(json!({})).as_object_mut().unwrap();
        annotations.insert(format!("odd.example.com/{round}"), json!(odd(0)));
        annotations.insert(
            "odd.example.com/lines".to_owned(),
            json!(format!("{}\nx {}\n{}", odd(1), odd(2), odd(3))),
        );
        if round % 2 == 1 {
            metadata.insert("uid".to_owned(), json!(format!("uid-{index}")));
            metadata.insert("resourceVersion".to_owned(), json!("12"));
            metadata.insert("generation".to_owned(), json!(3));
            metadata.insert("creationTimestamp".to_owned(), json!("2026-01-01T00:00:00Z"));
            metadata
                .insert("managedFields".to_owned(), json!([{ "manager": "kubectl", "operation": "Apply" }]));
            object["status"] = json!({ "observedGeneration": 3, "conditions": [] });
        }
        if object["kind"] == "ConfigMap" {
            let data =
                object.as_object_mut().unwrap().entry("data").or_insert(json!({})).as_object_mut().unwrap();
            data.insert(format!("odd-{round}.conf"), json!(odd(4)));
        }
    }
    let given = |value: Value| Object { file: "varied".to_owned(), tree: Tree::from(value) };
    objects.into_iter().map(given).collect()
}

#[test]
fn whatever_is_imported_is_given_again() {
    let mut count = 0;
    for (index, path) in corpus().into_iter().enumerate() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let prefixes = ["blue-green-shop", "x1", "a"];
        // The default tier tries one of them with each file.
        let first = pemdas_tier::size(index % prefixes.len(), 0);
        let tried = pemdas_tier::size(1, prefixes.len());
        for (round, prefix) in prefixes.iter().enumerate().skip(first).take(tried) {
            // Another beginning of all names, wherever they are mentioned.
            let renamed =
                ["shop", "pg", "cache", "team", "agent", "site"].iter().fold(text.clone(), |text, old| {
                    text.replace(&format!("name: {old}"), &format!("name: {prefix}"))
                });
            let read = gathered(&name, &renamed);
            let objects = varied(&read.objects, round);
            count += objects.len();
            let wishes =
                Wishes { namespace: (round == 2).then(|| "elsewhere".to_owned()), ..Wishes::default() };
            let imported = imported(Gathered { objects, ..Gathered::default() }, &wishes);
            for unwanted in ["resourceVersion", "managedFields", "uid-1", "observedGeneration"] {
                assert!(!imported.source.contains(unwanted), "{name}: {unwanted}\n{}", imported.source);
            }
        }
    }
    assert!(count >= pemdas_tier::size(60, 200), "{count} objects");
    pemdas_tier::tried(count as u64, "imported objects");
}

#[test]
fn comments_are_kept_at_their_fields() {
    let path = corpus().into_iter().find(|it| it.ends_with("web-shop.yaml")).unwrap();
    let imported = imported(files(slice::from_ref(&path)), &Wishes::default());
    for wanted in [
        "      # A shop on the web: what most manifests look like.\n      template = fun the =>",
        "LOG_LEVEL = \"info\", # debug is very loud\n",
        "                # the shop itself\n                {\n                  name = \"web\",\n",
    ] {
        assert!(imported.source.contains(wanted), "{wanted}\n{}", imported.source);
    }
    assert!(
        !imported.source.contains("# the api\n                {"),
        "a comment of nginx is no comment of ours"
    );
}

fn refused(text: &str) -> Vec<Diagnostic> {
    let mut read = Gathered::default();
    match yaml::objects("in.yaml", "in.yaml", text) {
        Ok(objects) => read.objects = objects,
        Err(problem) => read.problems.push(*problem),
    }
    let outcome = import(read, &Wishes::default());
    assert!(outcome.imported.is_none(), "{text}");
    outcome.of_input.diagnostics
}

/// The code of the first problem and the line of its place.
fn first(text: &str) -> (String, usize) {
    let problems = refused(text);
    let problem = problems.iter().find(|it| it.severity == Severity::Error).unwrap();
    let line = problem.labels.first().map_or(0, |it| crate::input::position(text, it.span.start).line);
    (problem.code.clone(), line)
}

#[test]
fn what_cannot_be_imported_is_told_with_its_place() {
    let good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    for (text, code, line) in [
        ("a: [1, 2\nb: }\n".to_owned(), "PM0601", 2),
        (format!("{good}---\nimage: nginx\n"), "PM0602", 5),
        (format!("{good}---\njust text\n"), "PM0602", 5),
        ("apiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}\n".to_owned(), "PM0602", 1),
        (format!("{good}---\n{good}"), "PM0603", 6),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n".to_owned(), "PM0604", 4),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: \"{{ .Release.Name }}-x\"\n".to_owned(),
            "PM0604",
            4,
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels:\n    app: x-{{ .Release.Name }}\n".to_owned(),
            "PM0604",
            6,
        ),
        ("{{- if .Values.on }}\napiVersion: v1\n{{- end }}\n".to_owned(), "PM0604", 1),
        ("apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n".to_owned(), "PM0605", 2),
        ("apiVersion: apps/v1\nkind: Deploymet\nmetadata: {name: a}\n".to_owned(), "PM0605", 2),
        ("# nothing\n---\n".to_owned(), "PM0607", 0),
    ] {
        assert_eq!(first(&text), (code.to_owned(), line), "{text}");
    }
}

#[test]
fn what_the_parser_says_of_itself_is_not_told() {
    let twice = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nmetadata: {name: b}\n".to_owned();
    let deep = format!("a: {}{}\n", "[".repeat(3_000), "]".repeat(3_000));
    let mut repeats = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..8 {
        let all = vec![format!("*a{}", level - 1); 9].join(", ");
        repeats.push_str(&format!("a{level}: &a{level} [{all}]\n"));
    }
    for (text, says) in [
        (twice, "gives metadata twice in one record"),
        (deep, "is nested too deep"),
        (repeats, "with everything that its aliases repeat"),
    ] {
        let problem = refused(&text).remove(0);
        assert_eq!(problem.code, "PM0601");
        assert!(problem.message.ends_with(says), "{}", problem.message);
        assert_eq!(problem.labels.len(), 1, "it has a place");
    }
}

#[test]
fn of_a_kind_that_nobody_defines_a_note_is_made_once() {
    let widget =
        |name: &str| format!("---\napiVersion: example.org/v1\nkind: Widget\nmetadata: {{name: {name}}}\n");
    let mut read = Gathered::default();
    let text = format!("{}{}", widget("a"), widget("b"));
    read.objects = yaml::objects("input", "input", &text).unwrap();
    let outcome = import(read, &Wishes::default());
    assert_eq!(outcome.imported.unwrap().draft.nodes.len(), 2);
    let codes: Vec<_> = outcome.of_input.diagnostics.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(codes, ["PM0611"]);
}

#[test]
fn what_a_controller_makes_is_left_to_it() {
    let owned = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": "a-1", "uid": "2",
        "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "uid": "1", "controller": true }] },
        "spec": { "selector": { "matchLabels": { "a": "a" } } } });
    let owner = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a", "uid": "1" }, "spec": {
        "progressDeadlineSeconds": 600, "selector": { "matchLabels": { "a": "a" } }, "template": {
        "metadata": { "labels": { "a": "a" } }, "spec": { "dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
        "containers": [{ "name": "a", "image": "a", "terminationMessagePath": "/dev/termination-log" }] } } } });
    let given = |value: &Value| Object { file: "live".to_owned(), tree: Tree::from(value.clone()) };
    let read = Gathered { objects: vec![given(&owned), given(&owner)], ..Gathered::default() };
    let outcome = import(read, &Wishes::default());
    assert!(
        outcome.of_input.diagnostics.iter().any(|it| it.code == "PM0609"),
        "{:?}",
        outcome.of_input.diagnostics
    );
    let draft = outcome.imported.unwrap().draft;
    assert_eq!(draft.nodes.len(), 1);
    let spec: &Map<String, Value> = draft.objects[0]["spec"].as_object().unwrap();
    assert_eq!(spec.keys().collect::<Vec<_>>(), ["selector", "template"], "defaults go");
    assert_eq!(spec["template"]["spec"], json!({ "containers": [{ "name": "a", "image": "a" }] }));
}

#[test]
fn schemas_within_schemas_are_compared_once() {
    // Twice on each level would be more comparisons than anybody waits for.
    let schema = (0..30).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ "type": "object", "properties": { "inner": inner } }),
    );
    let definition = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "deeps.example.org" }, "spec": { "group": "example.org", "scope": "Namespaced",
        "names": { "kind": "Deep", "plural": "deeps", "singular": "deep" },
        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }] } });
    let object = Object { file: "deep".to_owned(), tree: Tree::from(definition) };
    let imported = imported(Gathered { objects: vec![object], ..Gathered::default() }, &Wishes::default());
    assert_eq!(imported.draft.nodes.len(), 1);
}

#[test]
fn a_template_in_a_string_is_data() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: injector}\ndata:\n  quoted: \"{{- if .Values.x }}y{{ end }}\"\n  \
                single: '{{ .Release.Name }}'\n  block: |\n    {{- if .Values.global }}\n    {{ toYaml .Values }}\n    {{- end }}\n  \
                folded: >-\n    {{ include \"x\" . }}\n";
    let read = gathered("in.yaml", text);
    let draft = imported(read, &Wishes::default()).draft;
    assert_eq!(draft.objects[0]["data"]["folded"], "{{ include \"x\" . }}");
}

#[test]
fn a_file_mode_is_what_kubectl_makes_of_it() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: mode}\nspec:\n  containers: [{name: c, image: i}]\n  volumes:\n  \
                - {name: a, secret: {secretName: s, defaultMode: 0400}}\n  - {name: b, configMap: {name: m, defaultMode: 0755}}\n";
    let draft = imported(gathered("in.yaml", text), &Wishes::default()).draft;
    let volumes = &draft.objects[0]["spec"]["volumes"];
    assert_eq!(volumes[0]["secret"]["defaultMode"], 256);
    assert_eq!(volumes[1]["configMap"]["defaultMode"], 493);
}

#[test]
fn charts_are_imported_and_planned_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/charts");
    let mut charts: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    charts.sort();
    let mut seen = Vec::new();
    for path in charts {
        let imported = imported(files(slice::from_ref(&path)), &Wishes::default());
        let planned = played(&imported);
        // What belongs to the deletion is not made before.
        assert_eq!(planned.len(), imported.draft.nodes.len(), "{}\n{}", path.display(), imported.source);
        let draft = imported.draft;
        seen.push((draft.name, draft.kind, draft.instance));
        assert!(
            !imported.source.contains("helm.sh") && !imported.source.contains("Helm\""),
            "{}",
            imported.source
        );
    }
    let named =
        |name: &str, kind: &str, instance: &str| (name.to_owned(), kind.to_owned(), instance.to_owned());
    let [_, charts @ ..] = &*seen else { panic!("there are charts") };
    assert_eq!(
        charts,
        [
            named("broker", "Broker", "rel"),
            named("cache", "Cache", "rel"),
            named("entrance", "Entrance", "rel")
        ]
    );
}

/// Charts by chance give blueprints without a warning but for their Secrets, and an instance of another name shares nothing with the first.
#[test]
fn charts_by_chance_are_imported_and_another_instance_has_names_of_its_own() {
    let seeds = pemdas_tier::seeds(6, 300);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let objects = |release: &str| {
            let tree = |it: Value| Object { file: "chart".to_owned(), tree: Tree::from(it) };
            chart::chart(seed, release).into_iter().map(tree).collect::<Vec<_>>()
        };
        let gathered = Gathered { objects: objects("rel"), ..Gathered::default() };
        let outcome = import(gathered, &Wishes::default());
        let imported =
            outcome.imported.unwrap_or_else(|| panic!("{seed}: {:#?}", outcome.of_input.diagnostics));
        let told = outcome.of_blueprint.unwrap().diagnostics;
        assert!(told.is_empty(), "{seed}: {told:#?}\n{}", imported.source);
        let other = "name: another-one";
        assert!(imported.instance.contains("name: rel\n"), "{}", imported.instance);
        let instance = imported.instance.replace("name: rel\n", &format!("{other}\n"));
        let second = played(&Imported { instance, ..imported });
        let text = serde_json::to_string(&second).unwrap();
        let rest = text.replace("release", "");
        assert!(!rest.contains("\"rel") && !rest.contains("rel-"), "{seed}: {text}");
        let named: BTreeSet<_> = objects("another-one")
            .iter()
            .map(|it| it.tree.to_json())
            .filter(|it| it["kind"] != "Job")
            .map(|it| (it["kind"].to_string(), it["metadata"]["name"].to_string()))
            .collect();
        let is: BTreeSet<_> = second
            .iter()
            .filter(|it| it["kind"] != "Job")
            .map(|it| (it["kind"].to_string(), it["metadata"]["name"].to_string()))
            .collect();
        assert_eq!(is, named, "{seed}");
    }
    pemdas_tier::tried(count, "charts");
}

#[test]
fn a_value_that_is_to_be_made_is_made_and_the_others_stay() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: rel-db}\ndata: {password: WHk3UXBMbTJaaw==, admin: bjRWdFI4c1dxZQ==, user: c2hvcA==}\n\
                stringData: {token: aB3xY9kQz7LmN2pR}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: rel-settings}\ndata: {URL: HOLDS}\n";
    let seeds = |keys: &[&str]| Wishes {
        seeds: keys.iter().map(|it| ("rel-db".to_owned(), (*it).to_owned())).collect(),
        ..Wishes::default()
    };
    let one = imported(gathered("in.yaml", text), &seeds(&["password"]));
    assert!(one.source.contains("password = base64 the.seed,"), "{}", one.source);
    assert!(one.source.contains("user = \"c2hvcA==\""), "{}", one.source);
    let all = imported(gathered("in.yaml", text), &seeds(&["password", "admin", "token"]));
    for wanted in [
        "password = base64 (std.hash 'Sha256 \"%{the.seed} password\")",
        "admin = base64 (std.hash 'Sha256 \"%{the.seed} admin\")",
        "token = std.hash 'Sha256 \"%{the.seed} token\"",
    ] {
        assert!(all.source.contains(wanted), "{}", all.source);
    }
    let told = |text: &str, wishes: &Wishes| {
        let outcome = import(gathered("in.yaml", text), wishes);
        let told = outcome.of_input.diagnostics.into_iter().map(|it| format!("{} {}", it.code, it.message));
        (outcome.imported.is_some(), told.collect::<Vec<_>>().join("\n"))
    };
    let (done, said) = told(text, &Wishes::default());
    assert!(done && said.contains("PM0616"), "{said}");
    let looks = "`rel-db/password`, `rel-db/admin`, `rel-db/token`";
    assert!(said.contains(looks), "{said}");
    for (text, key, why) in [
        (
            text.replace("HOLDS", "db://shop:Xy7QpLm2Zk@rel-db"),
            "password",
            "stands in ConfigMap rel-settings",
        ),
        (text.replace("aB3xY9kQz7LmN2pR", "Xy7QpLm2Zk"), "password", "stands in Secret rel-db"),
        (text.to_owned(), "passwort", "has no value `passwort`"),
    ] {
        let (done, said) = told(&text, &seeds(&[key]));
        assert!(!done && said.contains("PM0617") && said.contains(why), "{said}");
    }
    let other = Wishes { seeds: vec![("db".to_owned(), "password".to_owned())], ..Wishes::default() };
    assert!(told(text, &other).1.contains("no Secret `db`"));
}
