//! For whom something is done: every write and every look carries an account, and so does every question about rights.

use http::{HeaderMap, HeaderName, HeaderValue, header::InvalidHeaderValue};

/// A ServiceAccount.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Account {
    /// The name that the API server knows it by.
    #[must_use]
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// The groups that the API server puts it into. Who impersonates has to name them: a user alone is in none.
    #[must_use]
    pub fn groups(&self) -> [String; 3] {
        [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{}", self.namespace),
            "system:authenticated".to_owned(),
        ]
    }

    /// The headers that make a request this account's.
    ///
    /// # Errors
    /// If the names could not be those of an account.
    pub fn headers(&self) -> Result<HeaderMap, InvalidHeaderValue> {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static("impersonate-user"), HeaderValue::from_str(&self.user())?);
        for group in self.groups() {
            headers.append(HeaderName::from_static("impersonate-group"), HeaderValue::from_str(&group)?);
        }
        Ok(headers)
    }
}

impl std::fmt::Display for Account {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "ServiceAccount {}/{}", self.namespace, self.name)
    }
}
