//! Whether an account may be used for a blueprint: the account says so itself.
//!
//! *The accident*: whoever may create ConfigMaps in a namespace writes a blueprint that names the most powerful account there is in
//! it, and has Pemdas act as that. Creating ConfigMaps is granted far more freely than writing ServiceAccounts.

/// On a ServiceAccount: the names of the blueprints of its namespace that may act as it, with commas between; `*` for all of them.
pub const BLUEPRINTS_ANNOTATION: &str = "pemdas.dev/blueprints";
/// The longest value that is looked at, in bytes: some sixty names of the longest kind.
pub const MAX_BLUEPRINTS: usize = 16_384;

/// Whether a value of the annotation names a blueprint.
#[must_use]
pub fn names(value: &str, blueprint: &str) -> bool {
    value.len() <= MAX_BLUEPRINTS
        && value.split(',').map(str::trim).any(|it| it == "*" || (it == blueprint && !it.is_empty()))
}

/// What is wrong where an account is not to be used, and what to do about it.
#[must_use]
pub fn refusal(namespace: &str, account: &str, blueprint: &str) -> (String, String) {
    (
        format!("the ServiceAccount {namespace}/{account} does not let the blueprint {blueprint} act as it"),
        format!(
            "`pemdas rbac` writes a ServiceAccount that does. Whoever may write this one can say so too: \
             kubectl annotate serviceaccount {account} -n {namespace} {BLUEPRINTS_ANNOTATION}={blueprint} \
             (with several names, commas between them)"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::{MAX_BLUEPRINTS, names};

    #[test]
    fn an_account_names_its_blueprints() {
        for (value, blueprint, named) in [
            ("shop", "shop", true),
            ("shop, mail", "mail", true),
            ("*", "anything", true),
            ("a,*", "b", true),
            ("", "shop", false),
            ("", "", false),
            ("shops", "shop", false),
            ("shop mail", "shop", false),
            ("sh*", "shop", false),
            ("Shop", "shop", false),
        ] {
            assert_eq!(names(value, blueprint), named, "{value:?} {blueprint}");
        }
        let long = format!("shop,{}", "x".repeat(MAX_BLUEPRINTS));
        assert!(!names(&long, "shop"));
    }
}
