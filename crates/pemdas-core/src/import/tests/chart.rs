//! Charts by chance: what runs, what it refers to, labels, checksums and hooks. Of one seed and two releases, only names differ.

use serde_json::{Value, json};

/// Numbers by chance (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).unwrap_or(1)).unwrap_or_default()
    }

    fn is(&mut self) -> bool {
        self.below(2) == 0
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let at = self.below(words.len());
        words.get(at).copied().unwrap_or_default()
    }
}

const PARTS: [&str; 4] = ["api", "worker", "web", "queue"];
const HOOKS: [&str; 7] = [
    "pre-install",
    "pre-install,pre-upgrade",
    "post-install",
    "post-upgrade",
    "pre-delete",
    "test",
    "post-delete",
];

/// What all objects of a chart have in common.
struct Release<'a> {
    name: &'a str,
    /// Whether labels are as charts wrote them years ago.
    old: bool,
}

impl Release<'_> {
    fn called(&self, rest: &str) -> String {
        format!("{}-stack{}{rest}", self.name, if rest.is_empty() { "" } else { "-" })
    }

    fn selector(&self, part: &str) -> Value {
        match self.old {
            true => json!({ "app": "stack", "component": part, "release": self.name }),
            false => json!({ "app.kubernetes.io/instance": self.name, "app.kubernetes.io/name": "stack",
                "app.kubernetes.io/component": part }),
        }
    }

    fn labels(&self) -> Value {
        match self.old {
            true => {
                json!({ "app": "stack", "release": self.name, "heritage": "Helm", "chart": "stack-1.2.3" })
            }
            false => json!({ "app.kubernetes.io/instance": self.name, "app.kubernetes.io/name": "stack",
                "app.kubernetes.io/version": "1.2", "app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "stack-1.2.3" }),
        }
    }

    fn object(&self, api_version: &str, kind: &str, rest: &str, more: Value) -> Value {
        let metadata = json!({ "name": self.called(rest), "labels": self.labels() });
        let mut object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
        if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
            object.extend(more);
        }
        object
    }
}

/// The objects of a chart.
pub(crate) fn chart(seed: u64, release: &str) -> Vec<Value> {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let release = Release { name: release, old: chance.is() };
    let mut objects = Vec::new();
    for part in PARTS.iter().take(2 + chance.below(3)) {
        workload(&mut chance, &release, part, &mut objects);
    }
    let settings = json!({ "data": { "peer.conf": format!("peer = \"{}\";\n", release.called("api")), "LEVEL": "info" } });
    objects.push(release.object("v1", "ConfigMap", "settings", settings));
    objects.push(release.object(
        "v1",
        "Secret",
        "auth",
        json!({ "data": { "password": "WHk3UXBMbTJaaw==" } }),
    ));
    if chance.is() {
        objects.extend(rights(&release));
    }
    for at in 0..chance.below(4) {
        objects.push(hook(&mut chance, &release, at));
    }
    let turn = chance.below(objects.len());
    objects.rotate_left(turn);
    objects
}

/// Something that runs, and what belongs to it.
fn workload(chance: &mut Chance, release: &Release<'_>, part: &str, objects: &mut Vec<Value>) {
    let kind = chance.one_of(&["Deployment", "Deployment", "StatefulSet", "DaemonSet"]);
    let peer = format!("http://{}:80/x", release.called(chance.one_of(&PARTS)));
    let mut env = vec![
        json!({ "name": "PEER", "value": peer }),
        json!({ "name": "QUEUE_HOST", "value": release.called("queue") }),
    ];
    let mut container =
        json!({ "name": part, "image": format!("registry.example.com/stack/{part}:1.2"), "env": [] });
    let mut pod = json!({ "nodeSelector": {}, "tolerations": [] });
    let mut annotations = json!({});
    if chance.is() {
        container["envFrom"] = json!([{ "configMapRef": { "name": release.called("settings") } }]);
        annotations["checksum/config"] = json!("0123456789abcdef");
    }
    if chance.is() {
        let key = json!({ "name": release.called("auth"), "key": "password" });
        env.push(json!({ "name": "PASSWORD", "valueFrom": { "secretKeyRef": key } }));
        annotations[chance.one_of(&["checksum/secret", "checksum/other"])] = json!("fedcba9876543210");
    }
    if chance.is() {
        container["args"] = json!([format!("--election-id={}-{part}-leader", release.name)]);
    }
    if chance.is() {
        let claim = format!("{part}-data");
        container["volumeMounts"] = json!([{ "name": "data", "mountPath": "/data" }]);
        pod["volumes"] =
            json!([{ "name": "data", "persistentVolumeClaim": { "claimName": release.called(&claim) } }]);
        let spec =
            json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
        objects.push(release.object("v1", "PersistentVolumeClaim", &claim, json!({ "spec": spec })));
    }
    container["env"] = json!(env);
    pod["containers"] = json!([container]);
    let mut metadata = json!({ "labels": release.selector(part) });
    if annotations != json!({}) {
        metadata["annotations"] = annotations;
    }
    let template = json!({ "metadata": metadata, "spec": pod });
    let mut spec = json!({ "selector": { "matchLabels": release.selector(part) }, "template": template });
    match kind {
        "StatefulSet" => spec["serviceName"] = json!(release.called(part)),
        "Deployment" => spec["replicas"] = json!(1 + chance.below(3)),
        _ => {}
    }
    if kind == "Deployment" && chance.is() {
        let target = json!({ "apiVersion": "apps/v1", "kind": kind, "name": release.called(part) });
        let spec = json!({ "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 5 });
        objects.push(release.object(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            part,
            json!({ "spec": spec }),
        ));
    }
    objects.push(release.object("apps/v1", kind, part, json!({ "spec": spec })));
    let spec = json!({ "selector": release.selector(part), "ports": [{ "port": 80 }] });
    objects.push(release.object("v1", "Service", part, json!({ "spec": spec })));
    if chance.is() {
        let spec = json!({ "maxUnavailable": 1, "selector": { "matchLabels": release.selector(part) } });
        objects.push(release.object("policy/v1", "PodDisruptionBudget", part, json!({ "spec": spec })));
    }
}

/// An account, and what it may do.
fn rights(release: &Release<'_>) -> Vec<Value> {
    let group = "rbac.authorization.k8s.io";
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    let subjects = json!([{ "kind": "ServiceAccount", "name": release.called(""), "namespace": "default" }]);
    let role = json!({ "apiGroup": group, "kind": "Role", "name": release.called("") });
    let version = format!("{group}/v1");
    vec![
        release.object("v1", "ServiceAccount", "", json!({})),
        release.object(&version, "Role", "", json!({ "rules": rules })),
        release.object(&version, "RoleBinding", "", json!({ "roleRef": role, "subjects": subjects })),
    ]
}

fn hook(chance: &mut Chance, release: &Release<'_>, at: usize) -> Value {
    let container = json!({ "name": "c", "image": "registry.example.com/stack/tool:1.2", "args": ["work"] });
    let spec = json!({ "template": { "spec": { "restartPolicy": "Never", "containers": [container] } } });
    let mut job = release.object("batch/v1", "Job", &format!("hook-{at}"), json!({ "spec": spec }));
    let weight = i64::try_from(chance.below(5)).unwrap_or_default() - 2;
    job["metadata"]["annotations"] =
        json!({ "helm.sh/hook": chance.one_of(&HOOKS), "helm.sh/hook-weight": weight.to_string() });
    job
}
