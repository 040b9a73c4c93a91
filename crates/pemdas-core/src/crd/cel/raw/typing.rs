//! The type, the size and the cost of every part of an expression.

use std::collections::BTreeMap;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr};

use super::functions::{FUNCTIONS, OPERATORS, ORDERED, Overload, Price, Shape};
use super::kind::Kind;
use crate::crd::cel::cost::{UNBOUNDED_ENTRIES, size_of};
use crate::crd::cel::expression::{escaped, unseen};
use crate::crd::pattern;
use crate::crd::schema::{Schema, Type};

/// The cost of a list and of a dictionary that are written out.
const NEW_LIST: u64 = 10;
const NEW_MAP: u64 = 30;

/// What is known of a part.
#[derive(Debug, Clone)]
pub(super) struct Seen<'s> {
    pub(super) kind: Kind<'s>,
    /// The most bytes that its value has.
    bytes: u64,
    /// The most entries that it has, if it is a list or a dictionary.
    entries: u64,
    /// The schema, where it is a part of the object.
    schema: Option<&'s Schema>,
    /// What it costs to have it.
    pub(super) cost: u64,
}

impl<'s> Seen<'s> {
    fn new(kind: Kind<'s>, bytes: u64, cost: u64) -> Self {
        Self { kind, bytes, entries: 1, schema: None, cost }
    }

    fn of(schema: &'s Schema, cost: u64) -> Option<Self> {
        let entries = match &schema.of {
            Type::List(_) => schema.max_items.unwrap_or(UNBOUNDED_ENTRIES),
            Type::Dictionary(_) => schema.max_properties.unwrap_or(UNBOUNDED_ENTRIES),
            _ => 1,
        };
        Some(Self { kind: Kind::of(schema)?, bytes: size_of(schema), entries, schema: Some(schema), cost })
    }
}

/// Gives types to the parts of one expression.
pub(super) struct Typing<'s, 'e> {
    rule: &'e str,
    variables: BTreeMap<String, Seen<'s>>,
}

type Found<'s> = Result<Seen<'s>, String>;

impl<'s, 'e> Typing<'s, 'e> {
    pub(super) fn new(rule: &'e str, of_self: Kind<'s>, schema: &'s Schema) -> Self {
        let known = Seen::of(schema, 1).unwrap_or_else(|| Seen::new(of_self, size_of(schema), 1));
        let variables =
            ["self", "oldSelf"].into_iter().map(|name| (name.to_owned(), known.clone())).collect();
        Self { rule, variables }
    }

    /// The type, size and cost of a part.
    pub(super) fn value(&mut self, part: &IdedExpr) -> Found<'s> {
        match &part.expr {
            Expr::Literal(literal) => Ok(literal_of(literal)),
            Expr::Ident(name) => match self.variables.get(name) {
                Some(seen) => Ok(Seen { cost: 1, ..seen.clone() }),
                None => Err(format!("it speaks of `{name}`, and there are `self` and `oldSelf`")),
            },
            Expr::Select(select) => self.select(select),
            Expr::List(list) => {
                let (mut kind, mut bytes, mut cost) = (Kind::Dyn, 2_u64, NEW_LIST);
                for element in &list.elements {
                    let seen = self.value(element)?;
                    kind = kind
                        .with(&seen.kind)
                        .ok_or_else(|| format!("the list `{}` has items of different types", self.rule))?;
                    bytes = bytes.saturating_add(seen.bytes);
                    cost = cost.saturating_add(seen.cost);
                }
                let entries = list.elements.len() as u64;
                Ok(Seen { entries, ..Seen::new(Kind::List(Box::new(kind)), bytes, cost) })
            }
            Expr::Map(map) => self.map(&map.entries),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(_) | Expr::Unspecified => {
                Err(format!("`{}` is nothing that a rule can hold", self.rule))
            }
        }
    }

    fn map(&mut self, entries: &[cel::common::ast::IdedEntryExpr]) -> Found<'s> {
        let (mut keys, mut values, mut bytes, mut cost) = (Kind::Dyn, Kind::Dyn, 2_u64, NEW_MAP);
        for entry in entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(format!("`{}` is nothing that a rule can hold", self.rule));
            };
            let (key, value) = (self.value(&entry.key)?, self.value(&entry.value)?);
            let different = || format!("`{}` has entries of different types", self.rule);
            keys = keys.with(&key.kind).ok_or_else(different)?;
            values = values.with(&value.kind).ok_or_else(different)?;
            bytes = bytes.saturating_add(key.bytes).saturating_add(value.bytes);
            cost = cost.saturating_add(key.cost).saturating_add(value.cost);
        }
        let kind = Kind::Map(Box::new(keys), Box::new(values));
        Ok(Seen { entries: entries.len() as u64, ..Seen::new(kind, bytes, cost) })
    }

    fn select(&mut self, select: &SelectExpr) -> Found<'s> {
        let from = self.value(&select.operand)?;
        let cost = from.cost.saturating_add(1);
        let mut found = match &from.kind {
            Kind::Dyn => Seen::new(Kind::Dyn, from.bytes, cost),
            Kind::Map(_, values) => match from.schema.and_then(inner) {
                Some(schema) => {
                    Seen::of(schema, cost).unwrap_or_else(|| Seen::new(Kind::Dyn, from.bytes, cost))
                }
                None => Seen::new((**values).clone(), from.bytes, cost),
            },
            Kind::Object(schema) => {
                let fields = schema.as_record().into_iter().flat_map(|record| &record.fields);
                let field =
                    fields.into_iter().find(|(name, _)| escaped(name).as_deref() == Some(&select.field));
                let Some((_, field)) = field else {
                    return Err(format!("there is no field `{}`", select.field));
                };
                if field.filled {
                    return Err(unseen(&select.field));
                }
                Seen::of(&field.schema, cost).ok_or_else(|| {
                    format!("`{}` may be anything, and rules cannot see such fields", select.field)
                })?
            }
            other => {
                return Err(format!("`{}` asks {} for a field", self.rule, other.words()));
            }
        };
        if select.test {
            found = Seen::new(Kind::Bool, 1, cost);
        }
        Ok(found)
    }

    fn call(&mut self, call: &CallExpr) -> Found<'s> {
        // `sets.contains` is written as a call on a name.
        let namespaced = match call.target.as_deref() {
            Some(IdedExpr { expr: Expr::Ident(name), .. }) if !self.variables.contains_key(name) => {
                Some(format!("{name}.{}", call.func_name))
            }
            _ => None,
        };
        let target = call.target.iter().filter(|_| namespaced.is_none()).map(|it| &**it);
        let parts: Vec<&IdedExpr> = target.chain(&call.args).collect();
        let mut arguments = Vec::new();
        for argument in &parts {
            arguments.push(self.value(argument)?);
        }
        let name = namespaced.as_deref().unwrap_or(&call.func_name);
        let receiver = namespaced.is_none() && call.target.is_some();
        self.literals(name, &parts)?;
        let kinds: Vec<&Kind<'s>> = arguments.iter().map(|it| &it.kind).collect();
        let (result, price) = match (name, kinds.as_slice()) {
            ("_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) if comparable(left, right) => {
                (Kind::Bool, Price::Through)
            }
            ("_[_]", [Kind::Map(_, values), Kind::Text | Kind::Dyn]) => ((**values).clone(), Price::One),
            ("_[_]" | "dyn", [Kind::Dyn, ..]) => (Kind::Dyn, Price::One),
            ("dyn", [_]) => (Kind::Dyn, Price::One),
            _ => {
                let rows = OPERATORS.iter().chain(FUNCTIONS);
                let named: Vec<&Overload> =
                    rows.filter(|row| row.name == name && row.receiver == receiver).collect();
                if named.is_empty() {
                    return Err(format!("`{name}` is no function that is known here"));
                }
                let fitting =
                    named.iter().find_map(|row| result_of(row, &kinds).map(|kind| (kind, row.price)));
                fitting.ok_or_else(|| {
                    let given: Vec<String> = kinds.iter().map(|kind| kind.words()).collect();
                    format!("`{}` does not go with {}", plain(name, self.rule), given.join(" and "))
                })?
            }
        };
        Ok(self.priced(name, result, price, &arguments))
    }

    /// What is written out must be right: the API server looks at literals when a CRD is installed.
    fn literals(&self, name: &str, parts: &[&IdedExpr]) -> Result<(), String> {
        let literal = |index: usize| match parts.get(index).map(|part| &part.expr) {
            Some(Expr::Literal(LiteralValue::String(text))) => Some(text.inner()),
            _ => None,
        };
        let place = match name {
            "matches" | "find" | "findAll" => 1,
            "duration" | "timestamp" | "quantity" | "ip" | "cidr" | "url" => 0,
            _ => return Ok(()),
        };
        let Some(text) = literal(place) else { return Ok(()) };
        let wrong = match name {
            "matches" | "find" | "findAll" => match regex::Regex::new(text) {
                Err(_) => Some("it is no regular expression".to_owned()),
                Ok(_) => pattern::difference(text),
            },
            "duration" => (!fits(DURATION, text)).then(|| "it is no duration such as 1h30m".to_owned()),
            "timestamp" => {
                (!fits(TIMESTAMP, text)).then(|| "it is no time such as 2030-01-31T12:00:00Z".to_owned())
            }
            "quantity" => {
                text.parse::<crate::kube_types::format::Quantity>().err().map(|why| why.to_string())
            }
            _ => None,
        };
        wrong.map_or(Ok(()), |why| Err(format!("the text \"{text}\" of `{name}` cannot be used: {why}")))
    }

    fn priced(&self, name: &str, kind: Kind<'s>, price: Price, arguments: &[Seen<'s>]) -> Seen<'s> {
        let sizes: Vec<u64> = arguments.iter().map(|it| it.bytes).collect();
        let through = |bytes: u64| bytes / 10 + 1;
        let own = match (name, price) {
            (_, Price::One) => 1,
            // The API server knows the size of strings in lists of the object, and takes those of others for endless.
            ("indexOf" | "lastIndexOf" | "isSorted" | "join", _)
                if arguments
                    .first()
                    .is_some_and(|it| matches!(it.kind, Kind::List(_)) && it.schema.is_none()) =>
            {
                u64::MAX
            }
            // Comparing ends where the shorter one ends.
            ("_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_", _) => {
                through(sizes.iter().copied().min().unwrap_or_default())
            }
            ("startsWith" | "endsWith", _) => through(sizes.get(1).copied().unwrap_or_default()),
            (_, Price::Through) => {
                let entries: u64 = arguments.iter().map(|it| it.entries).fold(0, u64::saturating_add);
                through(sizes.iter().copied().fold(0, u64::saturating_add)).saturating_add(entries)
            }
            (_, Price::Times) => {
                let second = sizes.get(1).copied().unwrap_or_default() / 4 + 1;
                through(sizes.first().copied().unwrap_or_default()).saturating_mul(second)
            }
        };
        let cost = arguments.iter().map(|it| it.cost).fold(own, u64::saturating_add);
        let whole = sizes.iter().copied().fold(0, u64::saturating_add);
        let most = sizes.first().copied().unwrap_or_default();
        let bytes = match (&kind, name) {
            (Kind::Text, "replace") => sizes.iter().copied().fold(1, u64::saturating_mul),
            (Kind::Text | Kind::Bytes | Kind::List(_) | Kind::Map(..) | Kind::Dyn | Kind::Object(_), _) => {
                whole
            }
            (Kind::Named(_), _) => most,
            _ => 24,
        };
        let entries = match &kind {
            Kind::List(_) if name == "split" || name == "findAll" => most,
            Kind::List(_) | Kind::Map(..) => {
                arguments.iter().map(|it| it.entries).fold(0, u64::saturating_add)
            }
            _ => 1,
        };
        let schema = match (name, arguments) {
            ("_[_]", [from, ..]) => from.schema.and_then(inner),
            _ => None,
        };
        match schema.and_then(|schema| Seen::of(schema, cost)) {
            Some(seen) => seen,
            None => Seen { entries, ..Seen::new(kind, bytes, cost) },
        }
    }

    /// `all`, `exists`, `map` and their like, as the parser writes them out.
    fn comprehension(&mut self, it: &ComprehensionExpr) -> Found<'s> {
        let range = self.value(&it.iter_range)?;
        let (first, second) = match &range.kind {
            Kind::List(items) => (Kind::Int, (**items).clone()),
            Kind::Map(keys, values) => ((**keys).clone(), (**values).clone()),
            other => return Err(format!("`{}` goes through {}", self.rule, other.words())),
        };
        let entry = range.bytes / range.entries.max(1) + 1;
        let of_schema = |kind: Kind<'s>| match range.schema.and_then(inner).and_then(|one| Seen::of(one, 1)) {
            Some(seen) => seen,
            None => Seen::new(kind, entry, 1),
        };
        let is_list = matches!(range.kind, Kind::List(_));
        let mut own = vec![];
        match &it.iter_var2 {
            Some(other) => {
                own.push((it.iter_var.clone(), Seen::new(first, 256, 1)));
                own.push((other.clone(), of_schema(second)));
            }
            None if is_list => own.push((it.iter_var.clone(), of_schema(second))),
            None => own.push((it.iter_var.clone(), Seen::new(first, 256, 1))),
        }
        let start = self.value(&it.accu_init)?;
        let mut cost = range.cost.saturating_add(start.cost);
        own.push((it.accu_var.clone(), Seen { cost: 1, ..start.clone() }));
        let before: Vec<(String, Option<Seen<'s>>)> =
            own.into_iter().map(|(name, seen)| (name.clone(), self.variables.insert(name, seen))).collect();
        let inside = self.inside(it, &start, range.entries);
        for (name, seen) in before.into_iter().rev() {
            match seen {
                Some(seen) => self.variables.insert(name, seen),
                None => self.variables.remove(&name),
            };
        }
        let (result, looped) = inside?;
        cost = cost.saturating_add(looped).saturating_add(result.cost);
        Ok(Seen { cost, ..result })
    }

    fn inside(
        &mut self,
        it: &ComprehensionExpr,
        start: &Seen<'s>,
        entries: u64,
    ) -> Result<(Seen<'s>, u64), String> {
        let condition = self.value(&it.loop_cond)?;
        let step = self.value(&it.loop_step)?;
        let whole = step.kind.with(&start.kind).ok_or_else(|| {
            format!("`{}` yields {}, where {} is wanted", self.rule, step.kind.words(), start.kind.words())
        })?;
        let grown = Seen {
            bytes: step.bytes.saturating_mul(entries.max(1)),
            entries: step.entries.saturating_mul(entries.max(1)),
            ..Seen::new(whole, 0, 1)
        };
        self.variables.insert(it.accu_var.clone(), grown);
        let result = self.value(&it.result)?;
        let looped = entries.saturating_mul(condition.cost.saturating_add(step.cost).saturating_add(1));
        Ok((result, looped))
    }
}

const DURATION: &str = "^[+-]?([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$";
const TIMESTAMP: &str = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?Z$";

fn fits(pattern: &str, text: &str) -> bool {
    regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

/// The schema of the entries of a list or dictionary.
fn inner(schema: &Schema) -> Option<&Schema> {
    match &schema.of {
        Type::List(inner) | Type::Dictionary(inner) => Some(inner),
        _ => None,
    }
}

fn comparable(left: &Kind<'_>, right: &Kind<'_>) -> bool {
    let in_order = |kind: &Kind<'_>| ORDERED.iter().any(|shape| shape.takes(kind, &mut None));
    let number = |kind: &Kind<'_>| matches!(kind, Kind::Int | Kind::Uint | Kind::Double | Kind::Dyn);
    in_order(left) && in_order(right) && (left.with(right).is_some() || (number(left) && number(right)))
}

fn result_of<'s>(row: &Overload, kinds: &[&Kind<'s>]) -> Option<Kind<'s>> {
    if row.arguments.len() != kinds.len() {
        return None;
    }
    let mut bound = None;
    // Lists first: `x in []` is about the list's items.
    let fits =
        row.arguments.iter().zip(kinds).all(|(shape, kind): (&Shape, _)| shape.takes(kind, &mut bound));
    fits.then(|| row.result.kind(bound.as_ref()))
}

/// An operator or a call as people write it.
fn plain(name: &str, text: &str) -> String {
    match name {
        "@in" => "in".to_owned(),
        _ if name.contains('_') => name.replace('_', ""),
        _ => text.to_owned(),
    }
}

fn literal_of<'s>(literal: &LiteralValue) -> Seen<'s> {
    let (kind, bytes) = match literal {
        LiteralValue::Boolean(_) => (Kind::Bool, 5),
        LiteralValue::Bytes(bytes) => (Kind::Bytes, bytes.inner().len() as u64),
        LiteralValue::Double(_) => (Kind::Double, 24),
        LiteralValue::Int(_) => (Kind::Int, 24),
        LiteralValue::Null => (Kind::Null, 4),
        LiteralValue::String(text) => (Kind::Text, text.inner().len() as u64),
        LiteralValue::UInt(_) => (Kind::Uint, 24),
    };
    Seen::new(kind, bytes, 0)
}
