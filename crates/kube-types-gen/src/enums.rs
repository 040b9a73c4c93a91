//! The allowed values of string fields.
//!
//! The OpenAPI files of the repository leave them out; a running API server shows them. Both are made from one
//! generated Go file, whose layout (a tool's, so a regular one) is read here line by line.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// (type, field) to the values that the field, or each of its items, may have.
pub(crate) type Enums = BTreeMap<(String, String), Vec<String>>;

const FILE: &str = "pkg/generated/openapi/zz_generated.openapi.go";
/// Less than this means that the layout of the file has changed and nothing was understood.
const FEWEST: usize = 100;

pub(crate) fn read(module: &Path) -> Result<Enums> {
    let path = module.join(FILE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let enums = parse(&text)?;
    if enums.len() < FEWEST {
        bail!("{FILE} has only {} enumerations: has its layout changed?", enums.len());
    }
    Ok(enums)
}

fn parse(text: &str) -> Result<Enums> {
    let mut enums = Enums::new();
    let (mut owner, mut field) = (None, None);
    for line in text.lines() {
        let code = line.trim_start_matches('\t');
        let depth = line.len() - code.len();
        if let Some(rest) = line.strip_prefix("func schema_") {
            owner = type_id(rest.split('(').next().unwrap_or_default());
            field = None;
        } else if depth == 5 && code.starts_with('"') && code.ends_with("\": {") {
            field = code.split('"').nth(1).map(str::to_owned);
        } else if let Some(list) = code.strip_prefix("Enum:") {
            let (Some(owner), Some(field)) = (&owner, &field) else { continue };
            let values = quoted(list.trim())
                .with_context(|| format!("the allowed values of {owner}.{field}: {list}"))?;
            enums.insert((owner.clone(), field.clone()), values);
        }
    }
    Ok(enums)
}

/// `k8sio_api_core_v1_Container` to `core/v1/Container`.
fn type_id(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.rsplitn(4, '_').collect();
    match parts[..] {
        [kind, version, package, _] => Some(format!("{package}/{version}/{kind}")),
        _ => None,
    }
}

/// `[]interface{}{"A", "B"},` to its strings.
fn quoted(list: &str) -> Option<Vec<String>> {
    let inner = list.strip_prefix("[]interface{}{")?.strip_suffix("},")?;
    let values: Vec<String> =
        inner.split(", ").map(serde_json::from_str).collect::<std::result::Result<_, _>>().ok()?;
    (!values.is_empty()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_values_of_a_field_and_of_its_items() {
        let text = "func schema_k8sio_api_core_v1_Thing(ref X) Y {\n\t\t\t\t\t\"policy\": {\n\t\t\t\t\t\t\tEnum:        []interface{}{\"A\", \"B\"},\n\t\t\t\t\t\"modes\": {\n\t\t\t\t\t\t\t\t\t\tEnum:    []interface{}{\"C\"},\n";
        let enums = parse(text).unwrap();
        assert_eq!(enums[&("core/v1/Thing".into(), "policy".into())], ["A", "B"]);
        assert_eq!(enums[&("core/v1/Thing".into(), "modes".into())], ["C"]);
        assert_eq!(enums.len(), 2);
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        let text = "func schema_k8sio_api_core_v1_Thing(ref X) Y {\n\t\t\t\t\t\"policy\": {\n\t\t\t\t\t\t\tEnum: allowed(),\n";
        assert!(parse(text).unwrap_err().to_string().contains("core/v1/Thing.policy"));
    }
}
