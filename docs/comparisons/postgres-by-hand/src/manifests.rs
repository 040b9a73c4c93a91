//! The objects that are made.

use std::collections::BTreeMap;

use kube::{Resource, ResourceExt as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::kinds::{self, Backup, Instance, Restore};

pub(crate) const NAME: &str = "app.kubernetes.io/name";
pub(crate) const INSTANCE: &str = "app.kubernetes.io/instance";
pub(crate) const POSTGRES: &str = "postgres";
pub(crate) const BACKUP: &str = "postgres-backup";
/// Where the backups of a server are kept, for those who see only the server.
pub(crate) const BACKUPS: &str = "db.example.com/backups";
/// Whose last backup it is.
pub(crate) const MADE_FOR: &str = "db.example.com/made-for";

pub(crate) fn labels<K: Resource>(component: &str, of: &K) -> BTreeMap<String, String> {
    let labels = [
        (NAME, component.to_owned()),
        (INSTANCE, of.name_any()),
        ("app.kubernetes.io/managed-by", "postgres-by-hand".to_owned()),
    ];
    labels.map(|(key, value)| (key.to_owned(), value)).into()
}

fn password_of(instance: &str) -> String {
    format!("{instance}-password")
}

pub(crate) fn password(instance: &Instance, password: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": password_of(&instance.name_any()), "labels": labels(POSTGRES, instance) },
        "type": "Opaque",
        "stringData": { "username": "postgres", "password": password },
    })
}

/// A claim of its own, because those of a StatefulSet cannot grow.
pub(crate) fn disk(instance: &Instance) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": format!("{}-data", instance.name_any()), "labels": labels(POSTGRES, instance) },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": instance.spec.storage } },
        },
    })
}

pub(crate) fn service(instance: &Instance) -> Value {
    let labels = labels(POSTGRES, instance);
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": instance.name_any(), "labels": labels, "ownerReferences": owner(instance) },
        "spec": { "selector": labels, "ports": [{ "name": "postgres", "port": 5432, "targetPort": "postgres" }] },
    })
}

pub(crate) fn server(instance: &Instance) -> Value {
    let (name, labels) = (instance.name_any(), labels(POSTGRES, instance));
    let secret = password_of(&name);
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": { BACKUPS: instance.spec.backups },
            "ownerReferences": owner(instance),
        },
        "spec": {
            "replicas": 1,
            "serviceName": name,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "securityContext": user(),
                    "terminationGracePeriodSeconds": 60,
                    "containers": [{
                        "name": "postgres",
                        "image": image(instance),
                        "ports": [{ "name": "postgres", "containerPort": 5432 }],
                        "env": [
                            from_secret("POSTGRES_USER", &secret, "username"),
                            from_secret("POSTGRES_PASSWORD", &secret, "password"),
                            { "name": "PGDATA", "value": "/var/lib/postgresql/data/pgdata" },
                        ],
                        "readinessProbe": probe(&json!({ "periodSeconds": 5 })),
                        "livenessProbe": probe(&json!({ "initialDelaySeconds": 30, "failureThreshold": 6 })),
                        "resources": { "requests": { "cpu": "250m", "memory": "512Mi" }, "limits": { "memory": "1Gi" } },
                        "volumeMounts": [{ "name": "data", "mountPath": "/var/lib/postgresql/data" }],
                    }],
                    "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": format!("{name}-data") } }],
                },
            },
        },
    })
}

/// A Job that is a client of a server, with the volume of backups.
pub(crate) struct Task {
    name: String,
    labels: BTreeMap<String, String>,
    owner: Value,
    image: String,
    secret: String,
    host: String,
    claim: String,
    command: String,
}

impl Task {
    /// Its name has a digest of the request: another request is another Job.
    pub(crate) fn restore(instance: &Instance, wanted: &Restore) -> Self {
        let digest: String =
            Sha256::digest(&wanted.request).iter().take(4).map(|it| format!("{it:02x}")).collect();
        let name = instance.name_any();
        Self {
            labels: labels("postgres-restore", instance),
            owner: owner(instance),
            image: image(instance),
            secret: password_of(&name),
            claim: instance.spec.backups.clone(),
            command: format!(
                "pg_restore --clean --if-exists --dbname=postgres /backups/{}.dump",
                wanted.backup
            ),
            host: name.clone(),
            name: format!("{name}-restore-{digest}"),
        }
    }

    pub(crate) fn dump(backup: &Backup, image: String, claim: String) -> Self {
        let name = backup.name_any();
        let api = kinds::resource("PostgresBackup");
        Self {
            labels: labels("postgres-dump", backup),
            owner: json!([backup.controller_owner_ref(&api)]),
            image,
            secret: password_of(&backup.spec.instance),
            host: backup.spec.instance.clone(),
            claim,
            command: format!("pg_dump --format=custom --file=/backups/{name}.dump postgres"),
            name: format!("{name}-dump"),
        }
    }

    pub(crate) fn job(&self) -> Value {
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": self.name, "labels": self.labels, "ownerReferences": self.owner },
            "spec": {
                "backoffLimit": 1,
                "template": {
                    "metadata": { "labels": self.labels },
                    "spec": {
                        "restartPolicy": "Never",
                        "securityContext": user(),
                        "containers": [{
                            "name": "task",
                            "image": self.image,
                            "command": ["sh", "-ceu", self.command],
                            "env": [
                                { "name": "PGHOST", "value": self.host },
                                from_secret("PGUSER", &self.secret, "username"),
                                from_secret("PGPASSWORD", &self.secret, "password"),
                            ],
                            "resources": { "requests": { "cpu": "100m", "memory": "128Mi" }, "limits": { "memory": "512Mi" } },
                            "volumeMounts": [{ "name": "backups", "mountPath": "/backups" }],
                        }],
                        "volumes": [{ "name": "backups", "persistentVolumeClaim": { "claimName": self.claim } }],
                    },
                },
            },
        })
    }
}

fn owner(instance: &Instance) -> Value {
    json!([instance.controller_owner_ref(&kinds::resource("PostgresInstance"))])
}

fn image(instance: &Instance) -> String {
    format!("postgres:{}", instance.spec.version)
}

fn user() -> Value {
    json!({ "runAsUser": 999, "runAsGroup": 999, "fsGroup": 999, "runAsNonRoot": true })
}

fn from_secret(name: &str, secret: &str, key: &str) -> Value {
    json!({ "name": name, "valueFrom": { "secretKeyRef": { "name": secret, "key": key } } })
}

fn probe(more: &Value) -> Value {
    let mut probe = json!({ "exec": { "command": ["pg_isready", "-U", "postgres"] }, "timeoutSeconds": 10 });
    for (key, value) in more.as_object().into_iter().flatten() {
        probe[key] = value.clone();
    }
    probe
}
