//! Expressions that authors write themselves: read, given types and a price as the API server does when a CRD is
//! installed, so that it never refuses one for them.
//!
//! What is not known here is refused, although the API server may know it (optional values, for example): a draft that is
//! refused as a whole is worse than a rule that is told and left out.

mod functions;
mod kind;
mod typing;

use cel::parser::PrattParser;

use self::kind::Kind;
use self::typing::Typing;
use crate::crd::schema::Schema;

/// How long an expression may be.
const LONGEST: usize = 4_096;
/// How deep it may be nested: the parser, and what goes through its result, call themselves for each level.
const DEEPEST: u16 = 24;
/// How many parts it may have.
const MOST_PARTS: usize = 400;

/// What an expression costs on the largest value; an error says why the API server would not take it.
pub(super) fn price(schema: &Schema, rule: &str) -> Result<u64, String> {
    if rule.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    let parser = PrattParser::new().max_recursion_depth(DEEPEST).max_expression_node_count(MOST_PARTS);
    let expression = parser.parse(rule).map_err(|errors| match errors.errors.first() {
        // The position is of the expression's own text, counted from one.
        // The messages speak of the grammar's own words.
        Some(first) if first.msg.contains("<EOF>") && from(rule, first.pos) == "the end" => {
            "it ends where more has to follow".to_owned()
        }
        Some(first) if first.msg.starts_with("Syntax error") => {
            format!("it cannot be read from `{}` on", from(rule, first.pos))
        }
        Some(first) => format!("{} at `{}`", first.msg.trim(), from(rule, first.pos)),
        None => "it is no expression".to_owned(),
    })?;
    let Some(of_self) = Kind::of(schema) else {
        return Err(format!("`self` would be {}, which rules cannot see", schema.type_name()));
    };
    let mut typing = Typing::new(rule, of_self, schema);
    let result = typing.value(&expression)?;
    if !matches!(result.kind, Kind::Bool) {
        return Err(format!("it yields {}, and a rule is true or false", result.kind.words()));
    }
    Ok(result.cost)
}

/// The text from a position on, shortened.
fn from(rule: &str, (line, column): (isize, isize)) -> String {
    let line = usize::try_from(line).unwrap_or(1).max(1) - 1;
    let column = usize::try_from(column).unwrap_or(1).max(1) - 1;
    let rest: String = rule.lines().nth(line).unwrap_or_default().chars().skip(column).take(24).collect();
    if rest.is_empty() { "the end".to_owned() } else { rest }
}

#[cfg(test)]
mod tests;
