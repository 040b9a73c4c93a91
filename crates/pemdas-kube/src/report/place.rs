//! Where a report is had.

/// A Service, and what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The namespace of the Service: the instance's own.
    pub namespace: String,
    /// Its name.
    pub service: String,
    /// Its port.
    pub port: u16,
    /// The path, with a query if there is one.
    pub path: String,
}

impl Place {
    /// What is wrong with it. Nothing of a place may lead to another one: through the API server's proxy, dots in a path
    /// would lead out of the Service.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        for (what, name) in [("namespace", &self.namespace), ("Service", &self.service)] {
            if !is_label(name) {
                return Err(format!("{name:?} is no name of a {what}"));
            }
        }
        let path = self.path.split('?').next().unwrap_or_default();
        let leads_out = path.split('/').any(|it| {
            let plain = it.to_ascii_lowercase().replace("%2e", ".");
            plain == "." || plain == ".."
        });
        let hidden = path.to_ascii_lowercase();
        if leads_out || hidden.contains("%2f") || hidden.contains("%5c") || path.contains('\\') {
            return Err(format!("the path {:?} could lead out of the Service", self.path));
        }
        let plain = self.path.bytes().all(|it| it.is_ascii_graphic() && it != b'#');
        if !plain || self.path.len() > 1_000 {
            return Err(format!("{:?} is no path", self.path));
        }
        Ok(())
    }

    /// The path with its beginning.
    pub(super) fn rooted(&self) -> String {
        format!("/{}", self.path.trim_start_matches('/'))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Service {}/{}:{}{}", self.namespace, self.service, self.port, self.rooted())
    }
}

/// A name as DNS has it.
fn is_label(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 63
        && name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::Place;

    fn at(service: &str, path: &str) -> Result<(), String> {
        let place =
            Place { namespace: "n".to_owned(), service: service.to_owned(), port: 80, path: path.to_owned() };
        place.check()
    }

    #[test]
    fn a_place_leads_nowhere_else() {
        for path in ["/report", "report.json", "", "/", "/a/b?x=../..", "/a..b/...", "/v1.2/%20"] {
            assert_eq!(at("web", path), Ok(()), "{path}");
        }
        let out = [
            "/../../secrets",
            "/a/..",
            "/./a",
            "/%2e%2E/x",
            "/.%2e/x",
            "/..%2f..%2fsecrets",
            "/..\\x",
            "/%5c",
        ];
        for path in out {
            let why = at("web", path).unwrap_err();
            assert!(why.contains("could lead out"), "{path}: {why}");
        }
        for path in ["/a b", "/a\r\nX: y", "/a#b", "/ü"] {
            assert!(at("web", path).is_err(), "{path}");
        }
        for service in ["", "a/b", "a.b", "a:80/proxy/x", "-a", "A", &"a".repeat(64)] {
            assert!(at(service, "/").is_err(), "{service}");
        }
    }
}
