//! The functions that the API server offers to rules, with their types and what they cost.

use super::kind::Kind;

/// A type in the table; `A` is the same wherever it stands in one row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    A,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Duration,
    Timestamp,
    ListOf(&'static Shape),
    MapOf,
    Named(&'static str),
}

/// What a call costs beside its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Price {
    /// The same always.
    One,
    /// Going once through what it is given.
    Through,
    /// Going through the first once for each part of the second.
    Times,
}

/// One way to call a function: its arguments, the receiver first.
pub(super) struct Overload {
    pub(super) name: &'static str,
    pub(super) receiver: bool,
    pub(super) arguments: &'static [Shape],
    pub(super) result: Shape,
    pub(super) price: Price,
}

const fn method(name: &'static str, arguments: &'static [Shape], result: Shape, price: Price) -> Overload {
    Overload { name, receiver: true, arguments, result, price }
}

const fn function(name: &'static str, arguments: &'static [Shape], result: Shape, price: Price) -> Overload {
    Overload { name, receiver: false, arguments, result, price }
}

use Price::{One, Through, Times};
use Shape::{A, Bool, Bytes, Double, Duration, Int, ListOf, MapOf, Named, Text, Timestamp, Uint};

const ANY_LIST: Shape = ListOf(&A);
const TEXTS: Shape = ListOf(&Text);
const QUANTITY: Shape = Named("quantity");
const URL: Shape = Named("URL");
const IP: Shape = Named("IP address");
const CIDR: Shape = Named("CIDR");

/// The operators.
pub(super) const OPERATORS: &[Overload] = &[
    function("_&&_", &[Bool, Bool], Bool, One),
    function("_||_", &[Bool, Bool], Bool, One),
    function("!_", &[Bool], Bool, One),
    function("@not_strictly_false", &[Bool], Bool, One),
    function("_?_:_", &[Bool, A, A], A, One),
    function("_==_", &[A, A], Bool, Through),
    function("_!=_", &[A, A], Bool, Through),
    function("-_", &[Int], Int, One),
    function("-_", &[Double], Double, One),
    function("_+_", &[Int, Int], Int, One),
    function("_+_", &[Uint, Uint], Uint, One),
    function("_+_", &[Double, Double], Double, One),
    function("_+_", &[Text, Text], Text, Through),
    function("_+_", &[Bytes, Bytes], Bytes, Through),
    function("_+_", &[ANY_LIST, ANY_LIST], ANY_LIST, One),
    function("_+_", &[Duration, Duration], Duration, One),
    function("_+_", &[Timestamp, Duration], Timestamp, One),
    function("_+_", &[Duration, Timestamp], Timestamp, One),
    function("_-_", &[Int, Int], Int, One),
    function("_-_", &[Uint, Uint], Uint, One),
    function("_-_", &[Double, Double], Double, One),
    function("_-_", &[Duration, Duration], Duration, One),
    function("_-_", &[Timestamp, Timestamp], Duration, One),
    function("_-_", &[Timestamp, Duration], Timestamp, One),
    function("_*_", &[Int, Int], Int, One),
    function("_*_", &[Uint, Uint], Uint, One),
    function("_*_", &[Double, Double], Double, One),
    function("_/_", &[Int, Int], Int, One),
    function("_/_", &[Uint, Uint], Uint, One),
    function("_/_", &[Double, Double], Double, One),
    function("_%_", &[Int, Int], Int, One),
    function("_%_", &[Uint, Uint], Uint, One),
    function("@in", &[A, ANY_LIST], Bool, Through),
    function("@in", &[Text, MapOf], Bool, One),
    function("_[_]", &[ANY_LIST, Int], A, One),
];

/// What can be put in order.
pub(super) const ORDERED: &[Shape] = &[Int, Uint, Double, Text, Bytes, Bool, Duration, Timestamp];

/// The functions.
pub(super) const FUNCTIONS: &[Overload] = &[
    function("size", &[Text], Int, One),
    function("size", &[Bytes], Int, One),
    function("size", &[ANY_LIST], Int, One),
    function("size", &[MapOf], Int, One),
    method("size", &[Text], Int, One),
    method("size", &[Bytes], Int, One),
    method("size", &[ANY_LIST], Int, One),
    method("size", &[MapOf], Int, One),
    method("contains", &[Text, Text], Bool, Times),
    method("startsWith", &[Text, Text], Bool, Through),
    method("endsWith", &[Text, Text], Bool, Through),
    method("matches", &[Text, Text], Bool, Times),
    function("matches", &[Text, Text], Bool, Times),
    function("string", &[A], Text, Through),
    function("int", &[Int], Int, One),
    function("int", &[Double], Int, One),
    function("int", &[Uint], Int, One),
    function("int", &[Text], Int, Through),
    function("int", &[Timestamp], Int, One),
    function("double", &[Int], Double, One),
    function("double", &[Double], Double, One),
    function("double", &[Uint], Double, One),
    function("double", &[Text], Double, Through),
    function("uint", &[Int], Uint, One),
    function("uint", &[Double], Uint, One),
    function("bool", &[Text], Bool, One),
    function("bool", &[Bool], Bool, One),
    function("duration", &[Text], Duration, Through),
    function("timestamp", &[Text], Timestamp, Through),
    method("getHours", &[Duration], Int, One),
    method("getMinutes", &[Duration], Int, One),
    method("getSeconds", &[Duration], Int, One),
    method("getMilliseconds", &[Duration], Int, One),
    method("getFullYear", &[Timestamp], Int, One),
    method("getMonth", &[Timestamp], Int, One),
    method("getDate", &[Timestamp], Int, One),
    method("getDayOfWeek", &[Timestamp], Int, One),
    method("getHours", &[Timestamp], Int, One),
    // Strings.
    method("charAt", &[Text, Int], Text, Through),
    method("indexOf", &[Text, Text], Int, Times),
    method("lastIndexOf", &[Text, Text], Int, Times),
    method("lowerAscii", &[Text], Text, Through),
    method("upperAscii", &[Text], Text, Through),
    method("replace", &[Text, Text, Text], Text, Times),
    method("split", &[Text, Text], TEXTS, Times),
    method("substring", &[Text, Int], Text, Through),
    method("substring", &[Text, Int, Int], Text, Through),
    method("trim", &[Text], Text, Through),
    method("join", &[TEXTS], Text, Through),
    method("join", &[TEXTS, Text], Text, Through),
    method("find", &[Text, Text], Text, Times),
    method("findAll", &[Text, Text], TEXTS, Times),
    // Lists.
    method("isSorted", &[ListOf(&Int)], Bool, Through),
    method("isSorted", &[ListOf(&Double)], Bool, Through),
    method("isSorted", &[TEXTS], Bool, Through),
    method("sum", &[ListOf(&Int)], Int, Through),
    method("sum", &[ListOf(&Double)], Double, Through),
    method("min", &[ListOf(&Int)], Int, Through),
    method("min", &[ListOf(&Double)], Double, Through),
    method("max", &[ListOf(&Int)], Int, Through),
    method("max", &[ListOf(&Double)], Double, Through),
    method("indexOf", &[ANY_LIST, A], Int, Through),
    method("lastIndexOf", &[ANY_LIST, A], Int, Through),
    function("sets.contains", &[ANY_LIST, ANY_LIST], Bool, Times),
    function("sets.equivalent", &[ANY_LIST, ANY_LIST], Bool, Times),
    function("sets.intersects", &[ANY_LIST, ANY_LIST], Bool, Times),
    // Amounts.
    function("isQuantity", &[Text], Bool, Through),
    function("quantity", &[Text], QUANTITY, Through),
    method("compareTo", &[QUANTITY, QUANTITY], Int, One),
    method("isGreaterThan", &[QUANTITY, QUANTITY], Bool, One),
    method("isLessThan", &[QUANTITY, QUANTITY], Bool, One),
    method("isInteger", &[QUANTITY], Bool, One),
    method("asInteger", &[QUANTITY], Int, One),
    method("asApproximateFloat", &[QUANTITY], Double, One),
    method("sign", &[QUANTITY], Int, One),
    method("add", &[QUANTITY, QUANTITY], QUANTITY, One),
    method("add", &[QUANTITY, Int], QUANTITY, One),
    method("sub", &[QUANTITY, QUANTITY], QUANTITY, One),
    method("sub", &[QUANTITY, Int], QUANTITY, One),
    // Addresses.
    function("isURL", &[Text], Bool, Through),
    function("url", &[Text], URL, Through),
    method("getScheme", &[URL], Text, Through),
    method("getHost", &[URL], Text, Through),
    method("getHostname", &[URL], Text, Through),
    method("getPort", &[URL], Text, Through),
    method("getEscapedPath", &[URL], Text, Through),
    function("isIP", &[Text], Bool, Through),
    function("ip", &[Text], IP, Through),
    method("family", &[IP], Int, One),
    method("isLoopback", &[IP], Bool, One),
    function("isCIDR", &[Text], Bool, Through),
    function("cidr", &[Text], CIDR, Through),
    method("containsIP", &[CIDR, IP], Bool, Through),
    method("containsIP", &[CIDR, Text], Bool, Through),
    method("containsCIDR", &[CIDR, CIDR], Bool, Through),
    method("containsCIDR", &[CIDR, Text], Bool, Through),
    method("prefixLength", &[CIDR], Int, One),
];

impl Shape {
    /// Whether a type has this shape; `A` is bound on the way.
    pub(super) fn takes<'s>(&self, kind: &Kind<'s>, bound: &mut Option<Kind<'s>>) -> bool {
        match (self, kind) {
            (Self::A, kind) => match bound.as_ref().map_or_else(|| Some(kind.clone()), |it| it.with(kind)) {
                Some(both) => {
                    *bound = Some(both);
                    true
                }
                None => false,
            },
            (_, Kind::Dyn)
            | (Self::Bool, Kind::Bool)
            | (Self::Int, Kind::Int)
            | (Self::Uint, Kind::Uint)
            | (Self::Double, Kind::Double)
            | (Self::Text, Kind::Text)
            | (Self::Bytes, Kind::Bytes)
            | (Self::Duration, Kind::Duration)
            | (Self::Timestamp, Kind::Timestamp)
            | (Self::MapOf, Kind::Map(..)) => true,
            (Self::ListOf(of), Kind::List(items)) => of.takes(items, bound),
            (Self::Named(name), Kind::Named(other)) => name == other,
            _ => false,
        }
    }

    /// The type, once `A` is known.
    pub(super) fn kind<'s>(&self, bound: Option<&Kind<'s>>) -> Kind<'s> {
        match self {
            Self::A => bound.cloned().unwrap_or(Kind::Dyn),
            Self::Bool => Kind::Bool,
            Self::Int => Kind::Int,
            Self::Uint => Kind::Uint,
            Self::Double => Kind::Double,
            Self::Text => Kind::Text,
            Self::Bytes => Kind::Bytes,
            Self::Duration => Kind::Duration,
            Self::Timestamp => Kind::Timestamp,
            Self::ListOf(of) => Kind::List(Box::new(of.kind(bound))),
            Self::MapOf => Kind::Map(Box::new(Kind::Text), Box::new(Kind::Dyn)),
            Self::Named(name) => Kind::Named(name),
        }
    }
}
