//! The codes of what can be wrong with loading and evaluating a blueprint. Each has a page of documentation.

/// The text is not Nickel.
pub const SYNTAX: &str = "PM0001";
/// The typechecker refuses it.
pub const TYPES: &str = "PM0002";
/// An import of something that is neither of the blueprint nor of the library.
pub const IMPORT: &str = "PM0003";
/// A contract is broken.
pub const CONTRACT: &str = "PM0004";
/// A field that is read is not there, or has no value.
pub const MISSING_FIELD: &str = "PM0005";
/// A value that needs itself.
pub const RECURSION: &str = "PM0006";
/// Any other failure of evaluation.
pub const EVALUATION: &str = "PM0007";
/// A result that JSON cannot say, such as a function.
pub const NOT_DATA: &str = "PM0008";
/// More steps than allowed.
pub const FUEL: &str = "PM0009";
/// Larger or deeper than allowed.
pub const TOO_LARGE: &str = "PM0010";
/// Stopped from outside: time or memory.
pub const KILLED: &str = "PM0011";
/// Something was read that cannot be known here.
pub const UNKNOWABLE: &str = "PM0012";
/// No `main.ncl`.
pub const NO_MAIN: &str = "PM0013";
/// A file name that a blueprint cannot have.
pub const SOURCE_NAME: &str = "PM0014";
/// A path given on the command line cannot be read as a blueprint.
pub const UNREADABLE: &str = "PM0015";
/// No evaluator could be had: too many are waiting, or a worker cannot be started.
pub const UNAVAILABLE: &str = "PM0016";
/// The evaluator itself failed on this program.
pub const FAULT: &str = "PM0017";
