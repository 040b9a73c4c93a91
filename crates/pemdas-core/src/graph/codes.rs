//! The codes of what can be wrong with the graphs. A code is never used again for something else.

/// An edge or a clause names a node that does not exist.
pub const UNKNOWN_NODE: &str = "PM0101";
/// A root names a kind that the blueprint does not own.
pub const UNKNOWN_KIND: &str = "PM0102";
/// Nodes wait for each other in a circle.
pub const SEQUENCE_CYCLE: &str = "PM0103";
/// No root leads to a node.
pub const UNREACHABLE_NODE: &str = "PM0104";
/// A function reads a node from which it has no Sequence edge.
pub const NOT_A_PRECURSOR: &str = "PM0105";
/// A function reads a precursor whose edge extracts nothing.
pub const NO_EXTRACT: &str = "PM0106";
/// An extract reads a node that may not be needed.
pub const MAY_NOT_BE_NEEDED: &str = "PM0107";
/// The kind of an object depends on an instance.
pub const KIND_NOT_STATIC: &str = "PM0108";
/// Two nodes are one object.
pub const DUPLICATE_IDENTITY: &str = "PM0109";
/// The members of a node are one object.
pub const SHARED_BY_MEMBERS: &str = "PM0110";
/// The name of an object depends on more than the root and the member.
pub const LATE_IDENTITY: &str = "PM0111";
/// An order that cannot be torn down.
pub const IMPOSSIBLE_TEARDOWN: &str = "PM0112";
/// Two states of an object without an order.
pub const UNORDERED_STATES: &str = "PM0113";
/// A node that is always needed waits for a failure.
pub const WAITS_FOR_FAILURE: &str = "PM0114";
/// A node waits for the absence of what is needed with it.
pub const WAITS_FOR_ABSENCE: &str = "PM0115";
/// A node has a name that it cannot have.
pub const BAD_NAME: &str = "PM0116";
/// A clause stands on a kind of node that it says nothing of.
pub const MISPLACED_CLAUSE: &str = "PM0117";
/// A function reads an input that it does not have.
pub const NO_SUCH_INPUT: &str = "PM0118";
/// A state of something that has no states.
pub const BAD_STATE: &str = "PM0119";
/// An edge from member to member where there are no members.
pub const NO_MEMBERS: &str = "PM0120";
/// A root where only other nodes can stand, or two roots of one kind.
pub const MISPLACED_ROOT: &str = "PM0121";
/// A finalizer on somebody else's object.
pub const FOREIGN_FINALIZER: &str = "PM0122";
/// An edge waits for a Job to start, not to end.
pub const JOB_STARTED: &str = "PM0123";
/// All instances name the same object.
pub const FIXED_NAME: &str = "PM0124";
/// Too many nodes or edges.
pub const TOO_LARGE: &str = "PM0125";
/// A report from something that is no Service of this root.
pub const BAD_REPORT: &str = "PM0126";
/// A status reads a node that its root never needs.
pub const NEVER_IN_STATUS: &str = "PM0127";
/// A namespaced object without a namespace, under a cluster-scoped root.
pub const NO_NAMESPACE: &str = "PM0129";
/// A node makes an object with the name of the blueprint's own ConfigMap.
pub const OWN_NAME: &str = "PM0130";

/// Every code of this module.
pub const ALL: [&str; 29] = [
    UNKNOWN_NODE,
    UNKNOWN_KIND,
    SEQUENCE_CYCLE,
    UNREACHABLE_NODE,
    NOT_A_PRECURSOR,
    NO_EXTRACT,
    MAY_NOT_BE_NEEDED,
    KIND_NOT_STATIC,
    DUPLICATE_IDENTITY,
    SHARED_BY_MEMBERS,
    LATE_IDENTITY,
    IMPOSSIBLE_TEARDOWN,
    UNORDERED_STATES,
    WAITS_FOR_FAILURE,
    WAITS_FOR_ABSENCE,
    BAD_NAME,
    MISPLACED_CLAUSE,
    NO_SUCH_INPUT,
    BAD_STATE,
    NO_MEMBERS,
    MISPLACED_ROOT,
    FOREIGN_FINALIZER,
    JOB_STARTED,
    FIXED_NAME,
    TOO_LARGE,
    BAD_REPORT,
    NEVER_IN_STATUS,
    NO_NAMESPACE,
    OWN_NAME,
];
