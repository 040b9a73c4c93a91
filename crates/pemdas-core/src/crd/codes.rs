//! The codes of what can be wrong with the kinds of a blueprint as definitions. Each has a page of documentation.

/// A field whose contract is a function: no object can hold one.
pub const FUNCTION: &str = "PM0401";
/// A contract that contains itself, or is nested too deep.
pub const RECURSIVE: &str = "PM0402";
/// Contracts of one field of which no value fits all.
pub const CONTRADICTION: &str = "PM0403";
/// A rule that names a field which is not there, or is of a type that the rule does not go with.
pub const RULE: &str = "PM0404";
/// A rule that the API server would refuse as too expensive.
pub const COST: &str = "PM0405";
/// A rule about the change of a value whose old value cannot be found.
pub const NO_OLD_VALUE: &str = "PM0406";
/// A default that the CRD cannot hold.
pub const DEFAULT: &str = "PM0407";
/// A field of the author's status that is Pemdas' own.
pub const STATUS_FIELD: &str = "PM0408";
/// A column or scale path that leads nowhere.
pub const PRESENTATION: &str = "PM0409";
/// A change that breaks objects or clients, without a new version.
pub const BREAKING: &str = "PM0410";
/// A conversion that loses something on the way there and back.
pub const CONVERSION_LOSS: &str = "PM0411";
/// A conversion that fails, or yields what the other version does not accept.
pub const CONVERSION_FAILS: &str = "PM0412";
/// Versions that differ, with no conversion between them.
pub const NO_CONVERSION: &str = "PM0413";
/// A pattern that the API server would read otherwise.
pub const PATTERN: &str = "PM0414";
/// A keyword of a schema that there is not.
pub const KEYWORD: &str = "PM0415";
/// A rule of the API server whose meaning the contract does not know.
pub const UNCHECKED: &str = "PM0416";
/// A contract that depends on other fields of the object.
pub const DEPENDENT: &str = "PM0417";
/// A kind with very many fields.
pub const FAT_KIND: &str = "PM0420";
/// A unit in the name of a field.
pub const UNIT_IN_NAME: &str = "PM0421";
/// A field of the spec that sounds like a status.
pub const STATUS_IN_SPEC: &str = "PM0422";
/// A field without documentation.
pub const UNDOCUMENTED: &str = "PM0423";
/// A boolean where an enumeration will be wanted.
pub const BOOLEAN: &str = "PM0424";
/// A list or string without a bound where rules are checked.
pub const UNBOUNDED: &str = "PM0425";

/// Those of advice, which a kind may decline.
pub const ADVICE: &[&str] = &[FAT_KIND, UNIT_IN_NAME, STATUS_IN_SPEC, UNDOCUMENTED, BOOLEAN, UNBOUNDED];

/// All of them.
pub const ALL: &[&str] = &[
    FUNCTION,
    UNCHECKED,
    DEPENDENT,
    RECURSIVE,
    CONTRADICTION,
    RULE,
    COST,
    NO_OLD_VALUE,
    DEFAULT,
    STATUS_FIELD,
    PRESENTATION,
    BREAKING,
    CONVERSION_LOSS,
    CONVERSION_FAILS,
    NO_CONVERSION,
    PATTERN,
    KEYWORD,
    FAT_KIND,
    UNIT_IN_NAME,
    STATUS_IN_SPEC,
    UNDOCUMENTED,
    BOOLEAN,
    UNBOUNDED,
];
