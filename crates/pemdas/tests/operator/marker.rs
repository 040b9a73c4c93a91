//! How a test knows that nothing more comes: it asks the operator for something that it can only do after everything before, and
//! waits for that. What a marker costs is not counted.

use std::sync::{
    PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;

use super::{bed::until, space::Space};

/// What the names of markers begin with.
const MARKER: &str = "marker";

/// Every turn is another: so that each is something to do.
fn turn() -> String {
    static TURNS: AtomicUsize = AtomicUsize::new(0);
    format!("turn-{}", TURNS.fetch_add(1, Ordering::Relaxed))
}

impl Space {
    /// The operator has dealt with all that was there before: it has made, or changed, one more instance of the blueprint, which came to
    /// it by the same watch and in the same queue. The spec is made of a text that is another each time.
    pub(crate) fn passes_by(&self, kind: &str, spec: impl Fn(&str) -> Value) {
        self.instance(kind, MARKER, &spec(&turn()));
        self.not_counted(&self.kind(kind), MARKER);
        self.ready(kind, MARKER);
    }

    /// The same, and what was put off has come: a status is not written sooner than a second after the one before, and neither is that
    /// of the marker, which is changed again. That second is the operator's own, however slow the machine is.
    pub(crate) fn settles(&self, kind: &str, spec: impl Fn(&str) -> Value) {
        self.passes_by(kind, &spec);
        self.passes_by(kind, &spec);
    }

    /// For who counts the instances of a blueprint, or deletes it.
    pub(crate) fn takes_the_marker_away(&self, kind: &str) {
        self.delete(&self.kind(kind), MARKER);
    }

    /// The operator has seen what became of blueprints before: it has read one more, which came to it by the same watch. That it is none
    /// is told no sooner than a second later.
    pub(crate) fn sees_blueprints(&self) {
        let name = format!("{MARKER}-{}", turn());
        self.not_counted("configmap", &name);
        self.blueprint(&name, "this is no blueprint");
        until("the marker is told", || {
            self.told(&name).filter(|it| it["problems"][0]["message"].is_string())
        });
    }

    fn not_counted(&self, kind: &str, name: &str) {
        let mut names = vec![name.to_owned()];
        // Ledgers are named by the uids of roots.
        names.extend(self.get(kind, name).and_then(|it| it["metadata"]["uid"].as_str().map(str::to_owned)));
        let mut markers = self.markers.lock().unwrap_or_else(PoisonError::into_inner);
        names.retain(|it| !markers.contains(it));
        markers.append(&mut names);
    }
}
