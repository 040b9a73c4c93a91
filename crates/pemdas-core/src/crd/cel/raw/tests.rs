//! What the API server would say of an expression is said here.

use serde_json::json;

use super::price;
use crate::crd::{Schema, from_json};

fn schema() -> Schema {
    from_json(&json!({
        "type": "object", "required": ["name"],
        "properties": {
            "name": { "type": "string", "maxLength": 20 },
            "some-name": { "type": "string" },
            "count": { "type": "integer" },
            "share": { "type": "number" },
            "on": { "type": "boolean" },
            "size": { "x-kubernetes-int-or-string": true },
            "when": { "type": "string", "format": "date-time" },
            "hosts": { "type": "array", "maxItems": 10, "items": { "type": "string", "maxLength": 50 } },
            "many": { "type": "array", "items": { "type": "string" } },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "ports": { "type": "array", "maxItems": 5, "items": { "type": "object", "properties": {
                "number": { "type": "integer" }, "name": { "type": "string", "maxLength": 63 } } } },
            "inner": { "type": "object", "properties": { "deep": { "type": "string" } } },
            "free": { "x-kubernetes-preserve-unknown-fields": true },
        },
    }))
}

#[test]
fn right_expressions_have_a_price() {
    for rule in [
        "true",
        "self.name == 'x' || self.count > 3",
        "has(self.inner) && has(self.inner.deep) ? self.inner.deep.startsWith('a') : true",
        "self.hosts.all(host, host.endsWith('.com') && size(host) > 4)",
        "self.hosts.exists_one(host, host == self.name)",
        "self.ports.filter(port, port.number > 1024).size() <= 2",
        "self.ports.map(port, port.name).exists(name, name in ['a', 'b'])",
        "self.labels.all(key, key.startsWith('a')) && 'x' in self.labels && self.labels['x'] != ''",
        "self.some__dash__name.matches('^[a-z]+$')",
        "double(self.count) * self.share <= 10.0 && self.share < self.count",
        "quantity(string(self.size)).isGreaterThan(quantity('1Gi'))",
        "self.when > timestamp('2030-01-01T00:00:00Z')",
        "self.name + '-x' in self.hosts || self.hosts[0] == 'a'",
        "oldSelf.count <= self.count",
        "url(self.name).getHost() == 'x' && !isIP(self.name)",
        "sets.contains(self.hosts, ['a'])",
        "self.size == 3 || self.size == '3'",
        "self.hosts.map(host, host.size()).sum() < 100",
    ] {
        assert!(price(&schema(), rule).is_ok(), "{rule}: {:?}", price(&schema(), rule));
    }
}

#[test]
fn wrong_expressions_are_refused_with_the_reason() {
    for (rule, why) in [
        ("self.name ==", "it ends where more has to follow"),
        ("self.name = 'x'", "`"),
        ("self.nmae == 'x'", "there is no field `nmae`"),
        ("self.count == 'x'", "`==` does not go with a whole number and a string"),
        ("self.count == 1.0", "`==` does not go with"),
        ("self.count + self.share > 1.0", "`+` does not go with"),
        ("self.name", "it yields a string"),
        ("name == 'x'", "it speaks of `name`"),
        ("self.free.x == 1", "may be anything"),
        ("self.name.foo()", "`foo` is no function"),
        ("self.name.startsWith(1)", "does not go with a string and a whole number"),
        ("self.name.deep == 'x'", "asks a string for a field"),
        ("self.count.all(x, x > 1)", "goes through a whole number"),
        ("self.hosts.all(x, x)", ""),
        ("self.name.matches('[')", "cannot be used"),
        ("self.when > timestamp('soon')", "cannot be used"),
        ("[1, 'a'].size() > 1", "items of different types"),
        ("self.?inner.deep == 'x'", "`"),
        ("", "it ends where more has to follow"),
    ] {
        let refusal = price(&schema(), rule).unwrap_err();
        assert!(refusal.contains(why), "{rule}: {refusal}");
    }
    let deep = |open: &str, close: &str| format!("{}true{}", open.repeat(500), close.repeat(500));
    assert_eq!(price(&schema(), &deep("(", ")")), Ok(0));
    assert!(price(&schema(), &deep("[", "]")).unwrap_err().contains("recursion limit"));
    assert!(price(&schema(), &deep("size([", "])")).is_err());
    for chain in ["!", "-", "1+", "true&&", "true ? true : "] {
        // Whatever is said of it, it ends.
        let _ = price(&schema(), &format!("{}true", chain.repeat(2_000 / chain.len())));
    }
    assert!(price(&schema(), &" ".repeat(5_000)).unwrap_err().contains("longer"));
}

#[test]
fn what_goes_through_unbounded_values_is_dear() {
    let cost = |rule: &str| price(&schema(), rule).unwrap();
    assert!(cost("self.hosts.all(x, x == 'a')") < 1_000);
    assert!(cost("self.many.all(x, x.contains('abcdefgh'))") > 5_000_000);
    assert!(cost("['a', 'b'].indexOf(self.name) > 0") > 5_000_000);
    assert!(cost("{'a': 1, 'b': 2}[self.name] > 0") < 1_000);
    assert!(cost("self.hosts.all(x, self.hosts.all(y, x != y))") > 10 * cost("self.hosts.all(x, x != 'a')"));
}
