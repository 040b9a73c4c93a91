//! Names, paths and literals in expressions.

use serde_json::Value;

use crate::crd::schema::{Schema, Type};

/// Words of the language that a field may be called all the same.
const RESERVED: [&str; 22] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "self",
];

/// A field's name as expressions write it; none if they cannot.
pub(super) fn escaped(name: &str) -> Option<String> {
    let first_fits = name.starts_with(|c: char| c.is_ascii_alphabetic() || "_.-/".contains(c));
    if !first_fits || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-/".contains(c)) {
        return None;
    }
    if RESERVED.contains(&name) && name != "self" {
        return Some(format!("__{name}__"));
    }
    Some(
        name.replace("__", "__underscores__")
            .replace('.', "__dot__")
            .replace('-', "__dash__")
            .replace('/', "__slash__"),
    )
}

/// The path of a field as `fieldPath` writes it; none if it has names that are no plain words.
pub(super) fn field_path(path: &str) -> Option<String> {
    let plain = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    path.split('.').all(plain).then(|| format!(".{path}"))
}

/// Says why no rule goes with a field that only the contract fills in.
pub(super) fn unseen(path: &str) -> String {
    format!("where `{path}` is missing, the contract computes it, and the API server sees nothing there")
}

/// A field that a rule names.
pub(super) struct Named<'s> {
    /// Its value: `self.a.b`.
    pub(super) value: String,
    /// What must hold for it to be given; empty if it always is.
    presence: Vec<String>,
    pub(super) schema: &'s Schema,
}

impl<'s> Named<'s> {
    /// Finds a field by its path, with dots between names.
    pub(super) fn find(schema: &'s Schema, path: &str) -> Result<Self, String> {
        let mut found = Named { value: "self".to_owned(), presence: Vec::new(), schema };
        for name in path.split('.') {
            let Some(record) = found.schema.as_record() else {
                return Err(format!("`{path}` leads through {}, not a record", found.schema.a_type()));
            };
            let Some(field) = record.fields.get(name) else {
                return Err(format!("there is no field `{path}`"));
            };
            let Some(written) = escaped(name) else {
                return Err(format!("rules cannot speak of a field that is called `{name}`"));
            };
            if field.filled {
                return Err(unseen(path));
            }
            found.value = format!("{}.{written}", found.value);
            if !field.is_always_there() {
                found.presence.push(format!("has({})", found.value));
            }
            if field.schema.nullable {
                return Err(format!("`{path}` may be null: say it with the field left out instead"));
            }
            found.schema = &field.schema;
        }
        match &found.schema.of {
            Type::Any => Err(format!("`{path}` may be anything, and rules cannot see such fields")),
            _ => Ok(found),
        }
    }

    /// Whether it is given, as an expression.
    pub(super) fn is_given(&self) -> String {
        match self.presence.as_slice() {
            [] => "true".to_owned(),
            [one] => one.clone(),
            several => format!("({})", several.join(" && ")),
        }
    }

    /// What lets a rule pass where the field is missing: `!has(self.a) || `.
    pub(super) fn unless_missing(&self) -> String {
        self.presence.iter().map(|given| format!("!{given} || ")).collect()
    }

    /// Whether it is given and has this value, as an expression.
    pub(super) fn is(&self, path: &str, value: &Value) -> Result<String, String> {
        if let Some(why) = crate::crd::refusal(self.schema, value) {
            return Err(format!("`{path}` is never {value}: {why}"));
        }
        let literal = match (&self.schema.of, value) {
            (Type::Number, Value::Number(number)) => format!("double({number})"),
            (Type::String | Type::Integer | Type::Boolean, literal) => literal.to_string(),
            _ => {
                return Err(format!(
                    "`{path}` is {}: rules compare strings, numbers and booleans",
                    self.schema.a_type()
                ));
            }
        };
        let mut parts = self.presence.clone();
        parts.push(format!("{} == {literal}", self.value));
        Ok(parts.join(" && "))
    }
}
