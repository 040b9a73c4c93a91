//! What a request asks for.

use super::assets::{self, Asset};

/// How long a name in an address may be: longer than any name in Kubernetes.
const MAX_WORD: usize = 300;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    /// A file of the page. Every path of a screen is the same one: the page reads the rest from its address.
    File(&'static Asset),
    /// Something about the cluster, once.
    Once(Question),
    /// The same, and what becomes of it.
    Follow(Question),
    /// Nothing that there is.
    Unknown,
}

/// A question about the cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    /// All instances: worst first, those whose line has these words.
    Fleet { words: String },
    /// What `pemdas explain -o json` says of an object.
    Explain(Named),
    /// An instance, with the places of its boxes.
    Instance(Named),
    /// A blueprint, the same way.
    Blueprint(Named),
    /// An object as YAML.
    Object(Named),
}

/// An object by the words of an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Named {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Named {
    /// The kind as `kubectl` is told of it.
    pub(super) fn word(&self) -> String {
        if self.group.is_empty() { self.kind.clone() } else { format!("{}.{}", self.kind, self.group) }
    }
}

/// What is asked for.
pub(super) fn route(path: &str, query: &str) -> Route {
    if let Some(name) = path.strip_prefix("/assets/") {
        return assets::find(name).map_or(Route::Unknown, Route::File);
    }
    if let Some(rest) = path.strip_prefix("/api/v1/") {
        let (name, follows) = match rest.strip_prefix("stream/") {
            Some(name) => (name, true),
            None => (rest, false),
        };
        return match question(name, query) {
            Some(it) if follows => Route::Follow(it),
            Some(it) => Route::Once(it),
            None => Route::Unknown,
        };
    }
    let is_screen = path == "/" || path.starts_with("/i/") || path.starts_with("/b/");
    if is_screen { Route::File(assets::page()) } else { Route::Unknown }
}

/// Whether the answer tells something of the cluster.
pub(super) fn needs_token(path: &str) -> bool {
    path.starts_with("/api/")
}

fn question(name: &str, query: &str) -> Option<Question> {
    let word = |name: &str| {
        let found = form_urlencoded::parse(query.as_bytes()).find(|(it, _)| it == name);
        found.map(|(_, value)| value.chars().take(MAX_WORD).collect::<String>()).unwrap_or_default()
    };
    let named = || {
        let named = Named {
            group: word("group"),
            kind: word("kind"),
            namespace: word("namespace"),
            name: word("name"),
        };
        (!named.kind.is_empty() && !named.name.is_empty()).then_some(named)
    };
    match name {
        "fleet" => Some(Question::Fleet { words: word("q") }),
        "explain" => named().map(Question::Explain),
        "instance" => named().map(Question::Instance),
        "object" => named().map(Question::Object),
        "blueprint" => {
            let kind = "ConfigMap".to_owned();
            let named =
                Named { group: String::new(), kind, namespace: word("namespace"), name: word("name") };
            (!named.name.is_empty()).then_some(Question::Blueprint(named))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Named, Question, Route, needs_token, route};

    #[test]
    fn every_screen_is_the_page_and_nothing_else_is() {
        for path in ["/", "/i/web.example.com/WebApp/default/shop", "/b/default/shop", "/i/a/b/c/%3Cimg%3E"] {
            assert!(matches!(route(path, ""), Route::File(it) if it.name == "index.html"), "{path}");
            assert!(!needs_token(path));
        }
        for path in
            ["/etc/passwd", "/assets/../main.rs", "/assets/", "/api/v1/secrets", "/api/v2/fleet", "/metrics"]
        {
            assert_eq!(route(path, ""), Route::Unknown, "{path}");
        }
    }

    #[test]
    fn what_is_asked_about_the_cluster_needs_a_token() {
        let named = Named {
            group: "web.example.com".to_owned(),
            kind: "WebApp".to_owned(),
            namespace: "a b".to_owned(),
            name: "sh/op".to_owned(),
        };
        let query = "group=web.example.com&kind=WebApp&namespace=a+b&name=sh%2Fop";
        assert_eq!(named.word(), "WebApp.web.example.com");
        assert_eq!(route("/api/v1/stream/instance", query), Route::Follow(Question::Instance(named.clone())));
        assert_eq!(route("/api/v1/explain", query), Route::Once(Question::Explain(named)));
        assert_eq!(route("/api/v1/instance", "kind=WebApp"), Route::Unknown, "without a name");
        let words = "x".repeat(300);
        let long = format!("q={}", "x".repeat(5_000));
        assert_eq!(route("/api/v1/fleet", &long), Route::Once(Question::Fleet { words }));
        assert!(
            needs_token("/api/v1/fleet") && needs_token("/api/v1/stream/fleet") && needs_token("/api/v9/x")
        );
    }
}
