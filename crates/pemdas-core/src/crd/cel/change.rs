//! Rules about the change of one value.
//!
//! A rule that stands on a field is not asked when the field comes or goes. Where a field may be left out, its rule stands
//! on the nearest value above that is always there, and speaks of its being there as well.

use super::expression::{escaped, field_path};
use super::relation::made;
use super::{LeftOut, Trouble, cost};
use crate::crd::rule::{CelRule, Reason, Relation, Wanted};
use crate::crd::schema::{Schema, Type};

/// How many items a list may have of which nothing may be taken away.
const MOST_ITEMS: u64 = 500;

/// A rule of change on its way to where it can stand.
pub(super) struct Change {
    /// The place of the field.
    pub(super) path: String,
    pub(super) wanted: Wanted,
    /// The names from where it is now down to the field, and whether each is always there.
    names: Vec<(String, bool)>,
    /// What must hold, with `$new` and `$old` for the values.
    holds: String,
    comparison: u64,
}

impl Change {
    /// The rule of a field.
    pub(super) fn of(schema: &Schema, wanted: Wanted, path: &str) -> Result<Self, Box<LeftOut>> {
        let own_field = wanted.field_path.is_none();
        let compared = if own_field {
            comparison(schema, &wanted.relation)
        } else {
            Err("a rule of change is about its own field, and cannot name another".to_owned())
        };
        match compared {
            Ok((holds, comparison)) => {
                Ok(Self { path: path.to_owned(), wanted, names: Vec::new(), holds, comparison })
            }
            Err(why) => {
                Err(Box::new(LeftOut { path: path.to_owned(), wanted, trouble: Trouble::Wrong(why) }))
            }
        }
    }

    /// The same rule, seen from one record further up.
    pub(super) fn below(mut self, name: &str, always: bool) -> Self {
        self.names.insert(0, (name.to_owned(), always));
        self
    }

    pub(super) fn cost(&self) -> u64 {
        self.comparison.saturating_add(self.names.len() as u64 * 6)
    }

    /// The rule, to stand where the names begin; an error names a field that rules cannot speak of.
    pub(super) fn rule(&self) -> Result<CelRule, String> {
        let (mut new, mut old) = ("self".to_owned(), "oldSelf".to_owned());
        let (mut was_missing, mut is_there) = (String::new(), String::new());
        for (name, always) in &self.names {
            let Some(written) = escaped(name) else {
                return Err(format!("rules cannot speak of a field that is called `{name}`"));
            };
            new = format!("{new}.{written}");
            old = format!("{old}.{written}");
            if !always {
                was_missing = format!("{was_missing}!has({old}) || ");
                is_there = format!("{is_there}has({new}) && ");
            }
        }
        let holds = self.holds.replace("$new", &new).replace("$old", &old);
        let rule = if was_missing.is_empty() { holds } else { format!("{was_missing}({is_there}{holds})") };
        let names: Vec<&str> = self.names.iter().map(|(name, _)| name.as_str()).collect();
        let path = if names.is_empty() { None } else { field_path(&names.join(".")) };
        let last = self.path.rsplit('.').next().unwrap_or_default();
        let message = format!("{last} {}", self.wanted.relation.words());
        Ok(made(&self.wanted, rule, Some(message), Some(Reason::Forbidden), path))
    }
}

fn comparison(schema: &Schema, relation: &Relation) -> Result<(String, u64), String> {
    if holds_anything(schema) {
        return Err("it may hold anything, and rules cannot see that".to_owned());
    }
    if schema.nullable {
        return Err("it may be null, and rules of change do not go with that".to_owned());
    }
    let price = cost::of_comparison(schema);
    if matches!(relation, Relation::Immutable) {
        return Ok(("$new == $old".to_owned(), price));
    }
    match &schema.of {
        Type::Integer | Type::Number => Ok(("$new >= $old".to_owned(), 6)),
        Type::IntOrString if schema.quantity => {
            let compared = "quantity(string($new)).compareTo(quantity(string($old))) >= 0";
            Ok((compared.to_owned(), price.saturating_mul(4)))
        }
        Type::List(items) if matches!(items.of, Type::String | Type::Integer) => match schema.max_items {
            Some(most) if most <= MOST_ITEMS => {
                let each = cost::of_comparison(items).saturating_add(4);
                Ok(("$old.all(one, one in $new)".to_owned(), most.saturating_mul(most).saturating_mul(each)))
            }
            _ => Err(format!("a list that only grows needs a bound of at most {MOST_ITEMS} items")),
        },
        _ => Err(format!(
            "it is {}; numbers, quantities and lists of strings or integers can be told to grow only",
            schema.a_type()
        )),
    }
}

/// Whether some of it is not described.
fn holds_anything(schema: &Schema) -> bool {
    match &schema.of {
        Type::Any => true,
        Type::List(inner) | Type::Dictionary(inner) => holds_anything(inner),
        Type::Record(record) => {
            record.open || record.fields.values().any(|field| holds_anything(&field.schema))
        }
        _ => false,
    }
}
