//! What says that a role, a binding or an account belongs to a blueprint, and what keeps it there while that one has instances.

/// The label of what belongs to a blueprint; its value says nothing.
pub const PERMISSIONS_LABEL: &str = "pemdas.dev/permissions";
/// The blueprint it belongs to: the namespace and the name of its ConfigMap, with a slash between them.
pub const PERMISSIONS_ANNOTATION: &str = "pemdas.dev/permissions-of";
/// What Pemdas puts on it.
pub const PERMISSIONS_FINALIZER: &str = "pemdas.dev/permissions";
