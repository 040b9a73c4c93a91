//! The codes of what can be wrong with the clauses and templates of a blueprint. Each has a page of documentation.

/// The value is no blueprint: not a record, a name or nodes missing, an unknown field.
pub const NO_BLUEPRINT: &str = "PM0200";
/// A clause has a form that it cannot have.
pub const CLAUSE_FORM: &str = "PM0201";
/// A node that is none or several of `root`, `template`, `observe`, `absent`, `value`.
pub const BODY: &str = "PM0202";
/// A clause that the language will have, and does not accept yet.
pub const LATER: &str = "PM0203";
/// A clause that there is not.
pub const UNKNOWN_CLAUSE: &str = "PM0204";
/// A clause where it means nothing.
pub const MISPLACED: &str = "PM0205";
/// A tag that a clause does not know.
pub const CHOICE: &str = "PM0206";
/// An owned kind that is not well defined.
pub const OWNED_KIND: &str = "PM0209";
/// Something that has to be given is missing from what a function yields.
pub const INCOMPLETE_OBJECT: &str = "PM0210";
/// A field that is defined as itself.
pub const SELF_REFERENCE: &str = "PM0220";
/// A node's name, or a clause's, where a field of `the` was meant.
pub const BARE_NAME: &str = "PM0221";
/// A field that hides an input or a `let` of the same name.
pub const SHADOWED: &str = "PM0222";
/// A tag where a string is meant, or the other way round.
pub const TAG_OR_STRING: &str = "PM0223";
/// Two definitions of a field that cannot be merged.
pub const MERGE_CONFLICT: &str = "PM0225";
/// `<` and its like on strings.
pub const STRING_ORDER: &str = "PM0226";
/// A clause that reads its inputs without being a function of them.
pub const MISSING_THE: &str = "PM0227";
/// An import of the library that names no major version.
pub const UNPINNED: &str = "PM0228";
/// More than is taken as a blueprint.
pub const TOO_LARGE: &str = "PM0229";
/// A name that an imported file does not have, or a pattern that leaves no room for its other names.
pub const IMPORTED_NAME: &str = "PM0230";
/// A field of the root that its contract does not have.
pub const UNKNOWN_FIELD: &str = "PM0231";
/// A field of a status that its contract does not have.
pub const UNKNOWN_STATUS: &str = "PM0232";
/// A number of replicas in a template, beside an autoscaler that sets it.
pub const AUTOSCALED: &str = "PM0233";
/// A Job that deletes itself, on a node that wants it to be there.
pub const MADE_AGAIN: &str = "PM0234";
/// A selector that picks the pods of every instance.
pub const SHARED_PODS: &str = "PM0235";
