//! Roles and bindings by chance, and questions about who may do what.

use pemdas_sim::{Access, Method, Request, Seed, Server, Time};
use serde_json::{Value, json};

use crate::real::Real;

/// How many questions are asked in a namespace.
pub(crate) const QUESTIONS: usize = 60;
const RBAC: &str = "rbac.authorization.k8s.io";
const VERBS: &[&str] = &["get", "list", "create", "*"];
const GROUPS: &[&str] = &["", "apps", "*"];
const RESOURCES: &[&str] =
    &["configmaps", "deployments", "deployments/status", "*/status", "pods/log", "pods", "*"];
const NAMES: &[&str] = &["one", "two"];
/// What the last role grants: whoever may do it shows that the real server knows all roles.
const LAST: &str = "last";

fn one_of<'a>(all: &[&'a str], seed: &mut Seed) -> &'a str {
    all[usize::try_from(seed.below(all.len() as u64)).unwrap()]
}

fn some(all: &[&str], seed: &mut Seed) -> Vec<String> {
    (0..=seed.below(2)).map(|_| one_of(all, seed).to_owned()).collect()
}

fn rule(seed: &mut Seed) -> Value {
    let mut rule = json!({
        "verbs": some(VERBS, seed), "apiGroups": some(GROUPS, seed), "resources": some(RESOURCES, seed),
    });
    if seed.below(3) == 0 {
        rule["resourceNames"] = json!(some(NAMES, seed));
    }
    rule
}

fn subject(namespace: &str, seed: &mut Seed) -> Value {
    match seed.below(4) {
        0 => json!({ "apiGroup": RBAC, "kind": "User", "name": user(namespace, seed) }),
        1 => json!({ "apiGroup": RBAC, "kind": "Group", "name": group(namespace, seed) }),
        _ => json!({ "kind": "ServiceAccount", "namespace": namespace, "name": one_of(NAMES, seed) }),
    }
}

fn user(namespace: &str, seed: &mut Seed) -> String {
    let name = one_of(NAMES, seed);
    if seed.below(3) == 0 { name.to_owned() } else { format!("system:serviceaccount:{namespace}:{name}") }
}

fn group(namespace: &str, seed: &mut Seed) -> String {
    if seed.below(2) == 0 { format!("system:serviceaccounts:{namespace}") } else { "builders".to_owned() }
}

/// Roles and bindings in a namespace, and in the whole cluster under names of its own.
fn objects(namespace: &str, seed: &mut Seed) -> Vec<(String, Value)> {
    let near = format!("/apis/{RBAC}/v1/namespaces/{namespace}");
    let wide = format!("/apis/{RBAC}/v1");
    let mut all = Vec::new();
    let mut role = |at: &str, kind: &str, name: &str, rules: Vec<Value>| {
        all.push((format!("{at}/{kind}"), json!({ "metadata": { "name": name }, "rules": rules })));
    };
    for number in 0..2 {
        let name = format!("{namespace}-{number}");
        role(&near, "roles", &name, (0..=seed.below(2)).map(|_| rule(seed)).collect());
        role(&wide, "clusterroles", &name, (0..=seed.below(2)).map(|_| rule(seed)).collect());
    }
    let last = json!({ "verbs": ["know"], "apiGroups": [LAST], "resources": ["all"] });
    role(&near, "roles", LAST, vec![last.clone()]);
    role(&wide, "clusterroles", &format!("{namespace}-{LAST}"), vec![last]);
    let mut bind = |at: &str, kind: &str, name: String, role: (&str, String), subjects: Vec<Value>| {
        let refers = json!({ "apiGroup": RBAC, "kind": role.0, "name": role.1 });
        let body = json!({ "metadata": { "name": name }, "roleRef": refers, "subjects": subjects });
        all.push((format!("{at}/{kind}"), body));
    };
    for number in 0..3 {
        let of = format!("{namespace}-{}", seed.below(3));
        let kind = one_of(&["Role", "ClusterRole"], seed);
        let subjects = (0..=seed.below(2)).map(|_| subject(namespace, seed)).collect();
        bind(&near, "rolebindings", format!("{namespace}-{number}"), (kind, of), subjects);
    }
    // What is bound in the whole cluster is bound to accounts of this namespace only: others ask, too.
    let account = json!({ "kind": "ServiceAccount", "namespace": namespace, "name": one_of(NAMES, seed) });
    let of = format!("{namespace}-{}", seed.below(2));
    bind(&wide, "clusterrolebindings", format!("{namespace}-0"), ("ClusterRole", of), vec![account]);
    let (near_one, wide_one) = (
        json!({ "apiGroup": RBAC, "kind": "User", "name": format!("{namespace}-near") }),
        json!({ "apiGroup": RBAC, "kind": "User", "name": format!("{namespace}-wide") }),
    );
    bind(&near, "rolebindings", LAST.to_owned(), ("Role", LAST.to_owned()), vec![near_one]);
    let last = format!("{namespace}-{LAST}");
    bind(&wide, "clusterrolebindings", last.clone(), ("ClusterRole", last), vec![wide_one]);
    all
}

fn question(namespace: &str, seed: &mut Seed) -> Value {
    let resource = one_of(&["configmaps", "deployments", "pods"], seed);
    let sub = one_of(&["", "", "status", "log"], seed);
    let attributes = json!({
        "namespace": one_of(&[namespace, namespace, "default", ""], seed), "verb": one_of(&["get", "list", "create"], seed),
        "group": one_of(&["", "apps"], seed), "resource": resource, "subresource": sub,
        "name": one_of(&["", "one", "two"], seed),
    });
    let groups: Vec<String> = (0..seed.below(2)).map(|_| group(namespace, seed)).collect();
    json!({ "user": user(namespace, seed), "groups": groups, "resourceAttributes": attributes })
}

fn review(spec: &Value) -> Request {
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let body =
        json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec });
    Request::new(Method::Post, path).json("application/json", &body)
}

/// Draws roles, bindings and questions, and compares every answer.
pub(crate) fn compare(real: &Real, number: u64) {
    let mut seed = Seed::new(number.wrapping_mul(104_729).wrapping_add(3));
    let namespace = format!("access-{number}");
    let mut simulated = Server::new(number, Time(0)).with_access(Access::Roles);
    let space = ("/api/v1/namespaces".to_owned(), json!({ "metadata": { "name": namespace } }));
    for (path, body) in std::iter::once(space).chain(objects(&namespace, &mut seed)) {
        let request = Request::new(Method::Post, &path).json("application/json", &body);
        let here = simulated.handle(Time(0), &request).whole().unwrap();
        let (there, answer) = real.send(&request);
        assert_eq!((here.status, there), (201, 201), "{path} {body} {} {answer}", here.body);
    }
    for who in ["near", "wide"] {
        let attributes = json!({ "namespace": namespace, "verb": "know", "group": LAST, "resource": "all" });
        let spec = json!({ "user": format!("{namespace}-{who}"), "resourceAttributes": attributes });
        let knows = || real.send(&review(&spec)).1["status"]["allowed"] == true;
        assert!(
            (0..600).any(|_| knows() || {
                std::thread::sleep(std::time::Duration::from_millis(50));
                false
            }),
            "the server never knows the roles of {namespace}"
        );
    }
    let mut granted = 0;
    for _ in 0..QUESTIONS {
        let spec = question(&namespace, &mut seed);
        let here =
            simulated.handle(Time(0), &review(&spec)).whole().unwrap().body["status"]["allowed"].clone();
        let there = real.send(&review(&spec)).1["status"]["allowed"].clone();
        assert_eq!(here, there, "seed {number}: {spec}");
        granted += usize::from(here == true);
    }
    assert!(granted > 0 || number > 0, "nothing is granted at all");
}
