//! Pemdas' own part of a status: one versioned structure beside the author's fields.

use serde_json::json;

use super::schema::{ListType, Schema, Type};

/// The version of Pemdas' part of the status, written into it: readers know by it what the fields mean.
pub const STATUS_VERSION: u32 = 1;

/// Names in a status that are not the author's to use.
pub const AUTHOR_MAY_NOT_USE: [&str; 3] = ["conditions", "observedGeneration", "pemdas"];

/// How many nodes are listed at most.
const MAX_NODES: u64 = 100;
/// How many conditions there are at most.
const MAX_CONDITIONS: u64 = 50;

/// The schema of a whole status: the author's fields and our own. A fresh object starts with a generation that no
/// object has, so that it is never taken for ready before its status was first written.
#[must_use]
pub fn with_own_part(mut author: Schema) -> Schema {
    if author.as_record().is_none() {
        author = Schema::record([]);
    }
    if let Some(record) = author.as_record_mut() {
        for field in record.fields.values_mut() {
            // Each field is written when it can be computed: none is there from the start.
            field.required = false;
        }
        for (name, schema) in own_part() {
            record.fields.insert(name.to_owned(), super::Field { schema, required: false, filled: false });
        }
    }
    author.nullable = false;
    // Nobody else writes any of it, and it is replaced as a whole: who owns each of its fields would be more text than the
    // object, and the server reads and compares it with every write.
    author.atomic = true;
    author.default = Some(json!({ "observedGeneration": -1 }));
    author.description = Some("What is, as last seen. Written by Pemdas.".to_owned());
    author
}

fn own_part() -> [(&'static str, Schema); 3] {
    let generation = integer("The generation of the object that this status speaks of; -1 before the first.");
    let mut conditions = Schema::list(condition())
        .described("Ready, Reconciling and Stalled, and the conditions of the author.");
    conditions.list_type = Some(ListType::Map(vec!["type".to_owned()]));
    conditions.max_items = Some(MAX_CONDITIONS);
    let mut nodes = Schema::list(Schema::record([
        ("name", true, text(253, "The node in the blueprint.")),
        (
            "member",
            true,
            Schema { default: Some(json!("")), ..text(253, "The member of the node; empty if it has none.") },
        ),
        ("state", true, text(64, "Where the node is, such as Ready or Waiting.")),
        ("why", false, text(4096, "Why it is not ready.")),
        ("since", false, time("Since when it is in this state.")),
    ]))
    .described("The nodes that are not ready, then others, up to a limit.");
    nodes.list_type = Some(ListType::Atomic);
    nodes.max_items = Some(MAX_NODES);
    let own = Schema::record([
        ("version", true, integer("The version of this structure.")),
        ("revision", false, text(253, "The revision of the blueprint that the object is at.")),
        ("nodes", false, nodes),
        ("moreNodes", false, integer("How many nodes are not listed.")),
    ])
    .described("Where the blueprint's nodes are.");
    [("observedGeneration", generation), ("conditions", conditions), ("pemdas", own)]
}

fn condition() -> Schema {
    let mut status = text(7, "Whether it holds: True, False or Unknown.");
    status.allowed = Some(vec![json!("True"), json!("False"), json!("Unknown")]);
    let mut kind = text(316, "The condition.");
    kind.min_length = Some(1);
    Schema::record([
        ("type", true, kind),
        ("status", true, status),
        ("reason", true, text(1024, "One word for the reason.")),
        ("message", true, text(32_768, "The reason for people.")),
        ("lastTransitionTime", true, time("When the status changed last.")),
        ("observedGeneration", false, integer("The generation of the object that the condition speaks of.")),
    ])
}

fn integer(description: &str) -> Schema {
    Schema { format: Some("int64".to_owned()), ..Schema::new(Type::Integer) }.described(description)
}

fn time(description: &str) -> Schema {
    Schema { format: Some("date-time".to_owned()), ..Schema::new(Type::String) }.described(description)
}

fn text(longest: u64, description: &str) -> Schema {
    Schema { max_length: Some(longest), ..Schema::new(Type::String) }.described(description)
}
