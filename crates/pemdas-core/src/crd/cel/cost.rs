//! What rules cost, estimated a little higher than the API server does: it refuses a CRD whose rules could
//! cost too much on the largest object that it takes.

use crate::crd::schema::{Schema, Type};

/// How many bytes the largest object has.
const LARGEST_OBJECT: u64 = 3 * 1024 * 1024;
/// How many entries a list or dictionary without a bound may have.
pub(super) const UNBOUNDED_ENTRIES: u64 = LARGEST_OBJECT / 3;
/// What a rule may cost: half of the API server's limit.
const MOST_OF_ONE: u64 = 5_000_000;
/// What all rules of a version may cost: half of the limit.
const MOST_OF_ALL: u64 = 50_000_000;

/// What may still be spent.
pub(super) struct Budget {
    left: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: MOST_OF_ALL }
    }
}

impl Budget {
    /// Whether a rule of this cost may stand where so many values may be; if so, it is spent.
    pub(super) fn allows(&mut self, repeat: u64, cost: u64) -> bool {
        let whole = repeat.saturating_mul(cost);
        if whole > MOST_OF_ONE || whole > self.left {
            return false;
        }
        self.left -= whole;
        true
    }
}

/// The cost of an expression without strings or lists to go through.
pub(super) fn of_expression(expression: &str) -> u64 {
    expression.len() as u64 / 3 + 4
}

/// The cost of comparing two values.
pub(super) fn of_comparison(schema: &Schema) -> u64 {
    size_of(schema) / 10 + 4
}

/// The greatest number of bytes of a value.
#[must_use]
pub fn size_of(schema: &Schema) -> u64 {
    let size = match &schema.of {
        Type::Boolean | Type::Integer | Type::Number => 24,
        Type::String | Type::IntOrString => match (&schema.allowed, schema.max_length) {
            (Some(allowed), _) => allowed.iter().map(|one| one.to_string().len() as u64).max().unwrap_or(2),
            (None, Some(most)) => most.saturating_mul(4) + 2,
            (None, None) => LARGEST_OBJECT,
        },
        Type::Any => LARGEST_OBJECT,
        Type::List(items) => entries(schema.max_items, items),
        Type::Dictionary(values) => entries(schema.max_properties, values),
        Type::Record(record) if record.open => LARGEST_OBJECT,
        Type::Record(record) => record
            .fields
            .iter()
            .map(|(name, field)| size_of(&field.schema).saturating_add(name.len() as u64 + 4))
            .fold(2, u64::saturating_add),
    };
    size.min(LARGEST_OBJECT)
}

fn entries(most: Option<u64>, entry: &Schema) -> u64 {
    most.map_or(LARGEST_OBJECT, |most| most.saturating_mul(size_of(entry).saturating_add(1)))
}
