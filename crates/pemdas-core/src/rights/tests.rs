use super::{Rights, Rule, Served, Setting, rights, rules};
use crate::{
    blueprint::{Body, NamePart, NameSegment, OnDelete, OnImmutable},
    crd::install::Policy,
    graph::{Graph, sketch},
    program::{Program, Revision},
    world::KindKey,
};

fn programs(blueprint: &crate::blueprint::Blueprint) -> Vec<Program> {
    let (graph, problems) = Graph::of(blueprint);
    let revision = Revision { name: String::new(), ordinal: 0 };
    assert!(!graph.roots.is_empty(), "{problems:?}");
    let program = |root: &String| Program::new(blueprint.clone(), &graph, root, revision.clone());
    graph.roots.iter().filter_map(program).collect()
}

fn of(blueprint: &crate::blueprint::Blueprint, setting: Setting) -> Rights {
    let served = |_: &str, kind: &str| {
        let known = kind == "Certificate";
        known.then(|| Served {
            group: "cert.io".to_owned(),
            plural: "certificates".to_owned(),
            namespaced: true,
        })
    };
    rights(&programs(blueprint), setting, &served)
}

fn awaited() -> Setting {
    Setting { definitions: Policy::Await }
}

fn shown(rights: &std::collections::BTreeMap<super::Right, std::collections::BTreeSet<String>>) -> String {
    let mut out = String::new();
    for (namespace, rules) in rules(rights, "home") {
        for Rule { group, resources, names, verbs, nodes } in rules {
            let list = |it: std::collections::BTreeSet<String>| it.into_iter().collect::<Vec<_>>().join("+");
            let place = namespace.as_deref().unwrap_or("*");
            let name = if names.is_empty() { String::new() } else { format!(" {}", list(names)) };
            let (resources, nodes, verbs) = (list(resources), list(nodes), verbs.join(","));
            out.push_str(&format!("{place} {group}/{resources}{name}: {verbs} ({nodes})\n"));
        }
    }
    out
}

#[test]
fn each_kind_of_node_needs_what_its_actions_need() {
    let sketch = "
kind Foo
foo: root Foo
  also web
  also old
  also ran
web: template apps/v1 Deployment {root.metadata.name}
  before seen
seen: observe v1 Secret {root.metadata.name}
old: absent v1 ConfigMap {root.metadata.name}
ran: template batch/v1 Job {root.metadata.name}
  once
";
    let found = of(&sketch::blueprint(sketch), Setting::default());
    let account = "\
* /configmaps: get,list,watch,delete (old)
* /secrets: list,watch (seen)
* apiextensions.k8s.io/customresourcedefinitions foos.example.com: create,patch (kinds.Foo)
* apps/deployments: get,list,watch,create,patch,delete (web)
* batch/jobs: get,list,watch,create,patch,delete (ran)
* example.com/foos: list,watch,patch (foo)
* example.com/foos/status: update (foo)
";
    assert_eq!(shown(&found.account), account);
    assert_eq!(shown(&found.operator), "* batch/jobs: patch (ran)\n* example.com/foos: patch (foo)\n");
    let found = of(&sketch::blueprint(sketch), awaited());
    assert!(!shown(&found.account).contains("apiextensions"), "somebody else makes the definitions");
}

#[test]
fn what_nothing_orders_and_nothing_remembers_needs_no_finalizer() {
    let sketch = "kind Foo\nfoo: root Foo\n  also web\nweb: template v1 ConfigMap {root.metadata.name}\n";
    assert_eq!(shown(&of(&sketch::blueprint(sketch), awaited()).operator), "");
    for reason in ["the.seed", "the"] {
        let with = format!("{} {reason}\n", sketch.trim_end());
        let found = of(&sketch::blueprint(&with), awaited());
        assert_eq!(shown(&found.operator), "* example.com/foos: patch (foo)\n", "{reason}");
    }
}

#[test]
fn what_is_left_to_others_is_let_go_by_the_account_and_deleted_by_nobody() {
    let sketch = "kind Foo\nfoo: root Foo\n  also disk\ndisk: template v1 PersistentVolumeClaim {root.metadata.name}\n";
    let mut blueprint = sketch::blueprint(sketch);
    blueprint.nodes.get_mut("disk").unwrap().on_delete = OnDelete::Orphan;
    let found = of(&blueprint, awaited());
    let kept = "* /persistentvolumeclaims: get,list,watch,create,patch (disk)\n";
    assert!(shown(&found.account).contains(kept), "{}", shown(&found.account));
    assert_eq!(shown(&found.operator), "");
    // What is made anew is deleted first.
    blueprint.nodes.get_mut("disk").unwrap().on_immutable = OnImmutable::Recreate;
    assert!(shown(&of(&blueprint, awaited()).account).contains("create,patch,delete (disk)"));
}

#[test]
fn names_and_namespaces_that_are_always_the_same_are_all_that_is_allowed() {
    let sketch = "
one: template v1 ConfigMap settings
two: template v1 ConfigMap more
any: template v1 Secret {root.metadata.name}
away: template v1 Service fixed
";
    let mut blueprint = sketch::blueprint(sketch);
    let away = blueprint.nodes.get_mut("away").unwrap();
    if let Body::Template(it) = &mut away.body {
        it.object.namespace = NamePart::Pattern(vec![NameSegment::Text("away".to_owned())]);
    }
    let found = of(&blueprint, Setting::default());
    let account = "\
away /services: list,watch (away)
away /services fixed: get,create,patch,delete (away)
home /configmaps: list,watch (one+two)
home /configmaps more+settings: get,create,patch,delete (one+two)
home /secrets: get,list,watch,create,patch,delete (any)
";
    assert_eq!(shown(&found.account), account);
    let places = |kind: &str| super::places(&blueprint, &KindKey::new("v1", kind), "home");
    assert_eq!(places("Service"), Some(["away".to_owned()].into()));
    assert_eq!(places("Secret"), Some(["home".to_owned()].into()));
    assert_eq!(places("Pod"), None);
}

#[test]
fn a_selector_reads_the_namespace_that_it_says() {
    let read = |namespace: NamePart| {
        let mut blueprint = sketch::blueprint("all: select v1 Secret x\n");
        if let Body::Observe(it) = &mut blueprint.nodes.get_mut("all").unwrap().body {
            it.object.namespace = namespace;
        }
        shown(&of(&blueprint, Setting::default()).account)
    };
    let text = |it: &str| NamePart::Pattern(vec![NameSegment::Text(it.to_owned())]);
    assert_eq!(read(NamePart::Missing), "home /secrets: list,watch (all)\n");
    assert_eq!(read(text("away")), "away /secrets: list,watch (all)\n");
    assert_eq!(read(text("*")), "* /secrets: list,watch (all)\n");
}

#[test]
fn what_a_wider_rule_allows_is_not_said_again() {
    let sketch = "
kind Foo
foo: root Foo
  also one
  also two
one: template v1 ConfigMap settings
two: template v1 ConfigMap {root.metadata.name}
";
    let found = of(&sketch::blueprint(sketch), awaited());
    assert!(
        shown(&found.account).contains("* /configmaps: get,list,watch,create,patch,delete (one+two)\n")
            || shown(&found.account).contains("* /configmaps: get,list,watch,create,patch,delete (two)\n")
    );
    assert!(!shown(&found.account).contains("settings"), "{}", shown(&found.account));
}

#[test]
fn what_cannot_be_known_is_told() {
    let sketch = "
kind Foo
foo: root Foo
  also cert
  also other
  also role
cert: template cert.io/v1 Certificate {root.metadata.name}
other: template other.io/v1 Thing {root.metadata.name}
role: template rbac.authorization.k8s.io/v1 Role {root.metadata.name}
";
    let found = of(&sketch::blueprint(sketch), awaited());
    assert!(
        shown(&found.account).contains("* cert.io/certificates: get,list,watch,create,patch,delete (cert)")
    );
    let codes: Vec<_> = found.open.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(codes, [super::codes::UNKNOWN_RESOURCE, super::codes::GRANTS]);
}

#[test]
fn a_binding_needs_the_right_to_hand_out_its_role() {
    let sketch = "
ns: root v1/Namespace
  also team
team: template rbac.authorization.k8s.io/v1 RoleBinding team
";
    let mut blueprint = sketch::blueprint(sketch);
    let role = ("ClusterRole".to_owned(), "edit".to_owned());
    if let Body::Template(it) = &mut blueprint.nodes.get_mut("team").unwrap().body {
        it.role = Some(role);
        it.object.namespace = NamePart::Computed(Vec::new());
    }
    let found = of(&blueprint, awaited());
    assert!(shown(&found.account).contains("* rbac.authorization.k8s.io/clusterroles edit: bind (team)\n"));
    assert!(shown(&found.account).contains("rolebindings team: get,create,patch,delete (team)\n"));
    // The objects of a root beside the namespaces go with it.
    assert_eq!(shown(&found.operator), "");
}

#[test]
fn a_service_is_asked_by_the_account() {
    let sketch = "
kind Foo
foo: root Foo
  also web
  report web
web: template v1 Service {root.metadata.name}
";
    let found = of(&sketch::blueprint(sketch), awaited());
    assert!(shown(&found.account).contains("* /services/proxy: get (web)\n"));
}
