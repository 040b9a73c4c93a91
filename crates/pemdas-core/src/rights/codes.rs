//! The codes of what cannot be known of rights without an instance or a cluster. Each has a page.

use crate::{blueprint::Node, diagnostic::Diagnostic};

/// How a kind is called in permissions is not known.
pub const UNKNOWN_RESOURCE: &str = "PM0701";
/// A node gives rights to somebody.
pub const GRANTS: &str = "PM0702";

/// The account does not let the blueprint act as it.
pub const NO_CONSENT: &str = "PM0703";

/// All of them.
pub const ALL: &[&str] = &[UNKNOWN_RESOURCE, GRANTS, NO_CONSENT];

pub(super) fn unknown_resource(group: &str, kind: &str, node: &Node) -> Diagnostic {
    Diagnostic::error(
        UNKNOWN_RESOURCE,
        format!("how {kind}.{group} is called in permissions is not known: it is no built-in kind, and none of this blueprint"),
    )
    .at(node.span_of(node.body.clause()).clone(), "of that kind")
    .hint(format!("say so, such as `--resource {kind}.{group}={}`", crate::crd::plural_of(kind)))
}

pub(super) fn grants(name: &str, node: &Node, kind: &str) -> Diagnostic {
    let made = if kind.ends_with("Binding") {
        "which role it binds is not known without an instance"
    } else {
        "the account that creates it must itself have the permissions that it grants"
    };
    Diagnostic::warning(GRANTS, format!("`{name}` is a {kind}: {made}"))
        .at(node.span_of(node.body.clause()).clone(), "grants permissions")
        .hint("Kubernetes lets nobody grant permissions that they do not have: grant them to the account too, or the verb `bind` (for a role, `escalate`) on that one object")
}
