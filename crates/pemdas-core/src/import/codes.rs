//! The codes of what keeps objects from being imported, or is to be known about it. Each has a page.

/// A file cannot be read, or is no YAML.
pub const UNREADABLE: &str = "PM0601";
/// A document is no Kubernetes object.
pub const NO_OBJECT: &str = "PM0602";
/// The same object is given twice.
pub const TWICE: &str = "PM0603";
/// A template of Helm that was not rendered.
pub const TEMPLATE: &str = "PM0604";
/// Kubernetes has no such kind.
pub const UNKNOWN_KIND: &str = "PM0605";
/// Values of a Secret stand in the blueprint.
pub const SECRET: &str = "PM0606";
/// There is nothing to import.
pub const NOTHING: &str = "PM0607";
/// There is more than a blueprint holds.
pub const TOO_MUCH: &str = "PM0608";
/// An object is left to the controller that makes it.
pub const LEFT_OUT: &str = "PM0609";
/// The draft does not give the objects again.
pub const NOT_THE_SAME: &str = "PM0610";
/// Nothing is known of a kind.
pub const CUSTOM_KIND: &str = "PM0611";
/// How many replicas there are is left to an autoscaler.
pub const AUTOSCALED: &str = "PM0612";
/// Something is a hook of Helm.
pub const HOOK: &str = "PM0613";
/// Labels and annotations in which Helm keeps its books are left out.
pub const BOOKS: &str = "PM0614";
/// What became of a checksum of Helm.
pub const CHECKSUM: &str = "PM0615";
/// Values of Secrets look as if a chart had made them at random.
pub const RANDOM: &str = "PM0616";
/// A value that is to be made cannot be.
pub const SEED: &str = "PM0617";

/// All of them.
pub const ALL: &[&str] = &[
    UNREADABLE,
    NO_OBJECT,
    TWICE,
    TEMPLATE,
    UNKNOWN_KIND,
    SECRET,
    NOTHING,
    TOO_MUCH,
    LEFT_OUT,
    NOT_THE_SAME,
    CUSTOM_KIND,
    AUTOSCALED,
    HOOK,
    BOOKS,
    CHECKSUM,
    RANDOM,
    SEED,
];
