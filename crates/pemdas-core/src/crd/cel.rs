//! From rules as authors mean them to rules as the API server evaluates them.

mod change;
mod cost;
mod expression;
mod raw;
mod relation;

use super::rule::{CelRule, Relation, Wanted};
use super::schema::{ListType, Schema, Type};
use change::Change;
use cost::Budget;
pub use cost::size_of;

/// Why a rule is left out of a draft.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// It does not go with the fields that it names.
    Wrong(String),
    /// The API server would refuse it as too expensive.
    TooExpensive,
    /// It is about a change, in a place where the old value cannot be found.
    NoOldValue,
}

/// A rule that is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// Where it was meant to stand, such as `spec.hosts[]`.
    pub path: String,
    /// The rule.
    pub wanted: Wanted,
    /// Why it is left out.
    pub trouble: Trouble,
}

/// Makes all rules that are wanted in a schema into rules of the API server. What is left out is given back.
pub fn compile(schema: &mut Schema, path: &str) -> Vec<LeftOut> {
    let mut compiler = Compiler { left_out: Vec::new(), budget: Budget::default() };
    let place = Place { path: path.to_owned(), repeat: 1, old_known: true, always: true };
    let changes = compiler.walk(schema, &place);
    compiler.host(schema, &place, changes);
    compiler.left_out
}

/// Where the compiler is.
#[derive(Clone)]
struct Place {
    path: String,
    /// How often a value may stand here in one object.
    repeat: u64,
    /// Whether the API server finds the old value that belongs to one here.
    old_known: bool,
    /// Whether a value stands here whenever one stands at the nearest place above that can carry rules of change.
    always: bool,
}

impl Place {
    fn field(&self, name: &str, always: bool) -> Self {
        Self { path: format!("{}.{name}", self.path), always: self.always && always, ..self.clone() }
    }

    fn entries(&self, sign: &str, most: Option<u64>, old_known: bool) -> Self {
        Self {
            path: format!("{}{sign}", self.path),
            repeat: self.repeat.saturating_mul(most.unwrap_or(cost::UNBOUNDED_ENTRIES)),
            old_known: self.old_known && old_known,
            always: true,
        }
    }
}

struct Compiler {
    left_out: Vec<LeftOut>,
    budget: Budget,
}

impl Compiler {
    /// Compiles what stands here and below; gives back the rules of change that have to stand further up.
    fn walk(&mut self, schema: &mut Schema, place: &Place) -> Vec<Change> {
        let mut up = Vec::new();
        for wanted in std::mem::take(&mut schema.wanted) {
            match wanted.relation {
                Relation::Immutable | Relation::GrowOnly => match Change::of(schema, wanted, &place.path) {
                    Ok(change) if place.always => self.host(schema, place, vec![change]),
                    Ok(change) => up.push(change),
                    Err(left_out) => self.left_out.push(*left_out),
                },
                _ => self.relation(schema, wanted, place),
            }
        }
        let list_is_map = matches!(schema.list_type, Some(ListType::Map(_)));
        let (max_items, max_properties, atomic) = (schema.max_items, schema.max_properties, schema.atomic);
        match &mut schema.of {
            Type::Record(record) => {
                for (name, field) in &mut record.fields {
                    let always = field.is_always_there() && !field.schema.nullable;
                    let below = self.walk(&mut field.schema, &place.field(name, always));
                    up.extend(below.into_iter().map(|change| change.below(name, always)));
                }
            }
            Type::List(items) => {
                let below = place.entries("[]", max_items, list_is_map);
                let changes = self.walk(items, &below);
                self.host(items, &below, changes);
            }
            Type::Dictionary(values) => {
                let below = place.entries("{}", max_properties, !atomic);
                let changes = self.walk(values, &below);
                self.host(values, &below, changes);
            }
            _ => {}
        }
        up
    }

    /// Puts rules of change where they can stand.
    fn host(&mut self, schema: &mut Schema, place: &Place, changes: Vec<Change>) {
        for change in changes {
            let made = match change.rule() {
                Err(why) => Err(Trouble::Wrong(why)),
                Ok(_) if !place.old_known => Err(Trouble::NoOldValue),
                Ok(_) if !self.budget.allows(place.repeat, change.cost()) => Err(Trouble::TooExpensive),
                Ok(rule) => Ok(rule),
            };
            match made {
                Ok(rule) => schema.rules.push(rule),
                Err(trouble) => {
                    self.left_out.push(LeftOut { path: change.path, wanted: change.wanted, trouble });
                }
            }
        }
    }

    fn relation(&mut self, schema: &mut Schema, wanted: Wanted, place: &Place) {
        let written = match &wanted.relation {
            Relation::Cel { rule, .. } => Some(raw::price(schema, rule)),
            _ => None,
        };
        let made = written.transpose().and_then(|price| Ok((relation::rules(schema, &wanted)?, price)));
        let trouble = match made {
            Err(why) => Trouble::Wrong(why),
            Ok(_) if wanted.relation.is_about_change() && !place.old_known => Trouble::NoOldValue,
            Ok((rules, written)) => {
                let made: u64 = rules.iter().map(|rule: &CelRule| cost::of_expression(&rule.rule)).sum();
                let price = written.unwrap_or(made);
                if self.budget.allows(place.repeat, price) {
                    schema.rules.extend(rules);
                    return;
                }
                Trouble::TooExpensive
            }
        };
        self.left_out.push(LeftOut { path: place.path.clone(), wanted, trouble });
    }
}

#[cfg(test)]
mod tests;
