use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::advice;
use crate::blueprint::Scope;
use crate::crd::{KindDraft, Schema, VersionDraft, codes, from_json};
use crate::diagnostic::Span;

fn kind(spec: &Value) -> KindDraft {
    let span = Span { file: "main.ncl".to_owned(), start: 0, end: 1 };
    let version = VersionDraft {
        served: true,
        stored: true,
        deprecated: None,
        spec: from_json(spec),
        status: Schema::record([]),
        columns: Vec::new(),
        scale: None,
        span: span.clone(),
    };
    KindDraft {
        kind: "Thing".to_owned(),
        group: "example.com".to_owned(),
        scope: Scope::Namespaced,
        plural: None,
        singular: None,
        short_names: Vec::new(),
        categories: Vec::new(),
        description: None,
        versions: BTreeMap::from([("v1".to_owned(), version)]),
        span,
    }
}

fn told(properties: &Value, declined: &[&str]) -> Vec<String> {
    let kind = kind(&json!({ "type": "object", "properties": properties }));
    let declined: BTreeSet<String> = declined.iter().map(|&code| code.to_owned()).collect();
    advice(&kind, &declined).into_iter().map(|one| one.code).collect()
}

#[test]
fn each_piece_of_advice_is_given_where_it_applies_and_can_be_declined() {
    let rule = json!([{ "rule": "self.a <= self.b" }]);
    let cases = [
        (json!({ "timeoutSeconds": { "type": "integer", "description": "x" } }), codes::UNIT_IN_NAME),
        (json!({ "cache_mb": { "type": "number", "description": "x" } }), codes::UNIT_IN_NAME),
        (json!({ "phase": { "type": "string", "description": "x" } }), codes::STATUS_IN_SPEC),
        (json!({ "image": { "type": "string" } }), codes::UNDOCUMENTED),
        (json!({ "useTls": { "type": "boolean", "description": "x" } }), codes::BOOLEAN),
        (
            json!({ "ranges": { "type": "array", "description": "x", "items": { "type": "object", "x-kubernetes-validations": rule } } }),
            codes::UNBOUNDED,
        ),
    ];
    let reads = |rule: &str| json!({ "text": { "type": "string", "description": "x", "x-kubernetes-validations": [{ "rule": rule }] } });
    let cases = cases.into_iter().chain([
        (reads("self.contains('x')"), codes::UNBOUNDED),
        (
            json!({ "inner": { "type": "object", "description": "x", "properties": { "hosts": { "type": "array", "description": "x", "items": { "type": "string" } } },
                "x-kubernetes-validations": [{ "rule": "!has(self.hosts) || self.hosts.all(host, host != '')" }] } }),
            codes::UNBOUNDED,
        ),
    ]);
    for (properties, code) in cases {
        assert_eq!(told(&properties, &[]), [code], "{properties}");
        assert_eq!(told(&properties, &[code]), Vec::<String>::new(), "{properties}");
    }
    let cheap = json!({ "inner": { "type": "object", "description": "x", "properties": {
        "a": { "type": "string", "description": "x" }, "b": { "type": "string", "description": "x" },
        "short": { "type": "string", "maxLength": 9, "description": "x" },
    }, "x-kubernetes-validations": [{ "rule": "has(self.a) != has(self.b) && self.a != 'x' && self.short == self.short" }] } });
    assert_eq!(told(&cheap, &[]), Vec::<String>::new());
    let good = json!({
        "timeout": { "type": "string", "description": "x" }, "user": { "type": "string", "description": "x" },
        "enabled": { "type": "boolean", "description": "x" }, "seconds": { "type": "string", "description": "x" },
    });
    assert_eq!(told(&good, &[]), Vec::<String>::new());
}

#[test]
fn a_kind_with_very_many_fields_is_told() {
    let fields = |count: usize| -> Value {
        let all: serde_json::Map<String, Value> = (0..count)
            .map(|index| (format!("f{index}"), json!({ "type": "string", "description": "x" })))
            .collect();
        all.into()
    };
    assert_eq!(told(&fields(40), &[]), Vec::<String>::new());
    assert_eq!(told(&fields(41), &[]), [codes::FAT_KIND]);
}

#[test]
fn a_kind_of_several_unrelated_groups_is_told() {
    let group = |count: usize| -> Value {
        let fields: serde_json::Map<String, Value> = (0..count)
            .map(|index| (format!("f{index}"), json!({ "type": "string", "description": "x" })))
            .collect();
        json!({ "type": "object", "description": "x", "properties": fields })
    };
    let text = json!({ "type": "string", "description": "x" });
    let three = json!({ "backup": group(4), "backupSchedule": text, "cache": group(5), "proxy": group(6), "image": text });
    assert_eq!(told(&three, &[]), [codes::FAT_KIND]);
    let two = json!({ "backup": group(5), "cache": group(5), "proxy": group(4), "image": text });
    assert_eq!(told(&two, &[]), Vec::<String>::new());
    // A rule makes one of two.
    let rule = json!([{ "rule": "!has(self.cache.f0) || has(self.proxy.f0)" }]);
    let spec = json!({ "type": "object", "properties": three, "x-kubernetes-validations": rule });
    assert_eq!(advice(&kind(&spec), &BTreeSet::new()), []);
}
