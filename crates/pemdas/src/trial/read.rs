//! From what an author has written to scenarios, with everything that is wrong with it.

use pemdas_core::{diagnostic::Diagnostic, shape::Shape, suggest::did_you_mean};
use pemdas_nickel::Written;
use pemdas_sim::{Answer, Behaviour, Outcome, Rule};
use serde_json::{Map, Value};

use super::{
    facts::{Fact, Object},
    script::{Script, Step, What},
};

/// A field or a step that means nothing.
pub(crate) const UNKNOWN: &str = "PM0801";
/// Something of another form than it has to have.
pub(crate) const FORM: &str = "PM0802";

/// How long is waited, unless said, in milliseconds.
const USUAL: u64 = 300_000;
/// The longest time that may be given, in seconds: a year.
const MAX_SECONDS: f64 = 31_536_000.0;

const OF_SCENARIO: &[&str] = &["given", "workloads", "services", "steps"];
const OF_OBJECT: &[&str] = &["kind", "apiVersion", "namespace", "name"];
const OF_FACT: &[&str] = &["kind", "apiVersion", "namespace", "name", "labels", "is", "count"];
const OF_WORKLOAD: &[&str] = &["kind", "name", "label", "after", "fails", "flaps", "hangs", "status"];
const OF_SERVICE: &[&str] = &["label", "name", "path", "answers"];
/// Each verb, with what may stand beside it.
const VERBS: &[(&str, &[&str])] = &[
    ("apply", &[]),
    ("patch", &["with"]),
    ("delete", &[]),
    ("pass", &[]),
    ("workloads", &["services"]),
    ("services", &["workloads"]),
    ("restart", &[]),
    ("edit", &["replace", "by"]),
    ("resume", &[]),
    ("approve", &["node"]),
    ("eventually", &["within"]),
    ("now", &[]),
    ("never", &[]),
    ("first", &["before"]),
    ("settles", &["within"]),
];

/// The scenarios of a file.
pub(crate) fn scenarios(written: &Written, owned: &[String]) -> (Vec<Script>, Vec<Diagnostic>) {
    let mut reader = Reader { written, owned, problems: Vec::new() };
    let mut scripts = Vec::new();
    match &written.value {
        Value::Object(all) => {
            for (name, value) in all {
                scripts.extend(reader.scenario(name, value));
            }
        }
        _ => reader.wrong(&[], "a file of scenarios is a record: a name and a scenario in each field"),
    }
    // In the order in which they stand in the file.
    scripts.sort_by_key(|it| written.span(std::slice::from_ref(&it.name)).start);
    (scripts, reader.problems)
}

type Path<'a> = &'a [&'a str];

struct Reader<'w> {
    written: &'w Written,
    /// The kinds that the blueprint owns.
    owned: &'w [String],
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn span(&self, path: Path<'_>) -> pemdas_core::diagnostic::Span {
        self.written.span(&path.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    fn wrong(&mut self, path: Path<'_>, message: impl Into<String>) {
        let told = Diagnostic::error(FORM, message).at(self.span(path), "");
        self.problems.push(told);
    }

    /// Tells of fields that mean nothing.
    fn only(&mut self, path: Path<'_>, what: &str, value: &Map<String, Value>, known: &[&str]) {
        for name in value.keys().filter(|it| !known.contains(&it.as_str())) {
            let inner: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
            let mut told =
                Diagnostic::error(UNKNOWN, format!("{what} has no `{name}`")).at(self.span(&inner), "");
            if let Some(hint) = did_you_mean(name, known.iter().copied()) {
                told = told.hint(hint);
            }
            self.problems.push(told);
        }
    }

    fn scenario(&mut self, name: &str, value: &Value) -> Option<Script> {
        let Some(fields) = value.as_object() else {
            self.wrong(&[name], "a scenario is a record with `steps`");
            return None;
        };
        self.only(&[name], "a scenario", fields, OF_SCENARIO);
        let given = match fields.get("given") {
            Some(given) => self.objects(&[name, "given"], given),
            None => Vec::new(),
        };
        let workloads = self.list(&[name, "workloads"], fields.get("workloads"), Self::workload);
        let services = self.list(&[name, "services"], fields.get("services"), Self::service);
        if !fields.contains_key("steps") {
            self.wrong(&[name], "a scenario needs `steps`");
        }
        let steps = self.list(&[name, "steps"], fields.get("steps"), Self::step);
        let file = self.written.file.trim_start_matches("scenarios/").trim_end_matches(".ncl").to_owned();
        Some(Script { file, name: name.to_owned(), given, workloads, services, steps })
    }

    fn list<T>(
        &mut self,
        path: Path<'_>,
        value: Option<&Value>,
        item: impl Fn(&mut Self, Path<'_>, &Map<String, Value>) -> Option<T>,
    ) -> Vec<T> {
        let mut found = Vec::new();
        match value {
            None => {}
            Some(Value::Array(items)) => {
                for (index, value) in items.iter().enumerate() {
                    let index = index.to_string();
                    let path: Vec<&str> = path.iter().copied().chain([index.as_str()]).collect();
                    match value.as_object() {
                        Some(fields) => found.extend(item(self, &path, fields)),
                        None => self.wrong(&path, "this has to be a record"),
                    }
                }
            }
            Some(_) => self.wrong(path, "this has to be a list"),
        }
        found
    }

    /// One object, a list of them, or the list that a manifest holds.
    fn objects(&mut self, path: Path<'_>, value: &Value) -> Vec<Value> {
        match value {
            Value::Array(items) => {
                let mut found = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let index = index.to_string();
                    let path: Vec<&str> = path.iter().copied().chain([index.as_str()]).collect();
                    found.extend(self.objects(&path, item));
                }
                found
            }
            Value::Null => Vec::new(),
            object if object["items"].is_array() => self.objects(path, &object["items"]),
            object
                if object["apiVersion"].is_string()
                    && object["kind"].is_string()
                    && object["metadata"]["name"].is_string() =>
            {
                vec![object.clone()]
            }
            _ => {
                self.wrong(path, "an object needs apiVersion, kind and metadata.name");
                Vec::new()
            }
        }
    }

    fn step(&mut self, path: Path<'_>, fields: &Map<String, Value>) -> Option<Step> {
        let Some((verb, beside)) = VERBS.iter().find(|(verb, _)| fields.contains_key(*verb)) else {
            let verbs: Vec<&str> = VERBS.iter().map(|it| it.0).collect();
            let told =
                Diagnostic::error(UNKNOWN, "this step does and expects nothing").at(self.span(path), "");
            let near = fields
                .keys()
                .find_map(|it| did_you_mean(it, verbs.iter().copied()).filter(|it| it.ends_with('?')));
            let hint = near.unwrap_or_else(|| format!("a step has one of: {}", verbs.join(", ")));
            self.problems.push(told.hint(hint));
            return None;
        };
        let known: Vec<&str> = std::iter::once(*verb).chain(beside.iter().copied()).collect();
        self.only(path, &format!("a step with `{verb}`"), fields, &known);
        let missing = match *verb {
            "patch" => vec!["with"],
            "edit" => vec!["replace", "by"],
            "approve" => vec!["node"],
            "first" => vec!["before"],
            _ => Vec::new(),
        };
        if let Some(missing) = missing.into_iter().find(|it| !fields.contains_key(*it)) {
            self.wrong(path, format!("`{verb}` needs `{missing}` beside it"));
            return None;
        }
        let what = self.what(path, verb, fields)?;
        Some(Step { span: self.span(path), what })
    }

    fn what(&mut self, path: Path<'_>, verb: &str, fields: &Map<String, Value>) -> Option<What> {
        let at = |name: &'static str| -> Vec<&str> { path.iter().copied().chain([name]).collect() };
        let of = |name: &str| fields.get(name).cloned().unwrap_or_default();
        Some(match verb {
            "apply" => What::Apply(self.objects(&at("apply"), &of("apply"))),
            "patch" => What::Patch(self.object(&at("patch"), &of("patch"))?, of("with")),
            "delete" => What::Delete(self.object(&at("delete"), &of("delete"))?),
            "pass" => What::Pass(self.millis(&at("pass"), &of("pass"))?),
            "workloads" | "services" => {
                let rules = self.list(&at("workloads"), fields.get("workloads"), Self::workload);
                What::Behave(rules, self.list(&at("services"), fields.get("services"), Self::service))
            }
            "restart" => {
                self.flag(&at("restart"), &of("restart"))?;
                What::Restart
            }
            "edit" => What::Edit(
                self.text(&at("edit"), &of("edit"))?,
                self.text(&at("replace"), &of("replace"))?,
                self.text(&at("by"), &of("by"))?,
            ),
            "resume" => What::Resume(self.object(&at("resume"), &of("resume"))?),
            "approve" => What::Approve(
                self.object(&at("approve"), &of("approve"))?,
                self.text(&at("node"), &of("node"))?,
            ),
            "eventually" => What::Eventually(
                self.fact(&at("eventually"), &of("eventually"))?,
                self.within(&at("within"), fields)?,
            ),
            "now" => What::Now(self.fact(&at("now"), &of("now"))?),
            "never" => What::Never(self.uncounted(&at("never"), &of("never"))?),
            "first" => What::Order(
                Box::new(self.uncounted(&at("first"), &of("first"))?),
                Box::new(self.uncounted(&at("before"), &of("before"))?),
            ),
            _ => {
                self.flag(&at("settles"), &of("settles"))?;
                What::Settles(self.within(&at("within"), fields)?)
            }
        })
    }

    fn within(&mut self, path: Path<'_>, fields: &Map<String, Value>) -> Option<u64> {
        fields.get("within").map_or(Some(USUAL), |it| self.millis(path, it))
    }

    fn text(&mut self, path: Path<'_>, value: &Value) -> Option<String> {
        let found = value.as_str().map(str::to_owned);
        if found.is_none() {
            self.wrong(path, "this has to be a string");
        }
        found
    }

    fn flag(&mut self, path: Path<'_>, value: &Value) -> Option<()> {
        if *value != Value::Bool(true) {
            self.wrong(path, "this can only be true: leave it out otherwise");
            return None;
        }
        Some(())
    }

    fn millis(&mut self, path: Path<'_>, value: &Value) -> Option<u64> {
        match value.as_f64().filter(|it| (0.0..=MAX_SECONDS).contains(it)) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is within these bounds"
            )]
            Some(seconds) => Some((seconds * 1_000.0) as u64),
            None => {
                self.wrong(path, "this has to be a number of seconds");
                None
            }
        }
    }

    fn optional(&mut self, path: Path<'_>, fields: &Map<String, Value>, name: &str) -> Option<String> {
        let value = fields.get(name)?.clone();
        let path: Vec<&str> = path.iter().copied().chain([name]).collect();
        self.text(&path, &value)
    }

    fn object(&mut self, path: Path<'_>, value: &Value) -> Option<Object> {
        let Some(fields) = value.as_object() else {
            self.wrong(path, "an object is meant by { kind, name }");
            return None;
        };
        // What was applied can be named by itself.
        if fields.contains_key("metadata") {
            let text = |at: &str| value.pointer(at).and_then(Value::as_str).map(str::to_owned);
            return Some(Object {
                kind: text("/kind")?,
                api_version: text("/apiVersion"),
                namespace: text("/metadata/namespace"),
                name: text("/metadata/name")?,
            });
        }
        self.only(path, "the name of an object", fields, OF_OBJECT);
        let (kind, name) = (self.optional(path, fields, "kind"), self.optional(path, fields, "name"));
        let (Some(kind), Some(name)) = (kind, name) else {
            self.wrong(path, "an object is meant by { kind, name }");
            return None;
        };
        let api_version = self.optional(path, fields, "apiVersion");
        Some(Object { kind, api_version, namespace: self.optional(path, fields, "namespace"), name })
    }

    fn shape(&mut self, path: Path<'_>, value: Option<&Value>, usual: Shape) -> Option<Shape> {
        match value.map(Shape::from_value) {
            None => Some(usual),
            Some(Ok(shape)) => Some(shape),
            Some(Err(error)) => {
                self.wrong(path, error.to_string());
                None
            }
        }
    }

    fn fact(&mut self, path: Path<'_>, value: &Value) -> Option<Fact> {
        let at = |name: &'static str| -> Vec<&str> { path.iter().copied().chain([name]).collect() };
        let Some(fields) = value.as_object() else {
            self.wrong(path, "what is expected is a record such as { kind, name, is }");
            return None;
        };
        self.only(path, "what is expected", fields, OF_FACT);
        let Some(kind) = self.optional(path, fields, "kind") else {
            self.wrong(path, "what is expected needs a `kind`");
            return None;
        };
        let name = match fields.get("name") {
            None => None,
            some => Some(self.shape(&at("name"), some, Shape::Any)?),
        };
        let labels = fields.get("labels").and_then(Value::as_object).into_iter().flatten();
        let labels =
            labels.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()));
        let labels = labels.collect();
        let count = match fields.get("count") {
            None => None,
            Some(value) => match value.as_u64().and_then(|it| usize::try_from(it).ok()) {
                None => {
                    self.wrong(&at("count"), "this has to be a whole number");
                    return None;
                }
                some => some,
            },
        };
        let is = self.shape(&at("is"), fields.get("is"), Shape::Any)?;
        let api_version = self.optional(path, fields, "apiVersion");
        let namespace = self.optional(path, fields, "namespace");
        let own = self.owned.contains(&kind);
        Some(Fact { kind, api_version, namespace, name, labels, is, count, own })
    }

    /// Something that is watched for in every change, of one object: nothing is counted there.
    fn uncounted(&mut self, path: Path<'_>, value: &Value) -> Option<Fact> {
        let fact = self.fact(path, value)?;
        if fact.count.is_some() {
            let path: Vec<&str> = path.iter().copied().chain(["count"]).collect();
            self.wrong(&path, "`count` can only be expected by `now` and `eventually`");
            return None;
        }
        Some(fact)
    }

    fn label(&mut self, path: Path<'_>, fields: &Map<String, Value>) -> Option<Option<(String, String)>> {
        let Some(text) = self.optional(path, fields, "label") else { return Some(None) };
        match text.split_once('=') {
            Some((name, value)) => Some(Some((name.to_owned(), value.to_owned()))),
            None => {
                self.wrong(path, format!("{text:?} is no label: write name=value"));
                None
            }
        }
    }

    fn workload(&mut self, path: Path<'_>, fields: &Map<String, Value>) -> Option<Rule> {
        self.only(path, "a workload", fields, OF_WORKLOAD);
        let at = |name: &'static str| -> Vec<&str> { path.iter().copied().chain([name]).collect() };
        let after = match fields.get("after") {
            None => Behaviour::default().after,
            Some(value) => self.millis(&at("after"), value)?,
        };
        let outcome = if let Some(message) = self.optional(path, fields, "fails") {
            Outcome::Fails(message)
        } else if let Some(every) = fields.get("flaps") {
            Outcome::Flaps(self.millis(&at("flaps"), every)?)
        } else if fields.get("hangs") == Some(&Value::Bool(true)) {
            Outcome::Hangs
        } else {
            Outcome::Ready
        };
        let kind = self.optional(path, fields, "kind");
        if let Some(own) = kind.as_ref().filter(|it| self.owned.contains(it)) {
            self.wrong(
                &at("kind"),
                format!("{own} is the blueprint's own kind: the operator writes its status"),
            );
            return None;
        }
        let status = fields.get("status").cloned();
        if status.is_some() && (kind.is_none() || outcome != Outcome::Ready) {
            self.wrong(&at("status"), "`status` is what a workload of a certain `kind` has once it is ready");
            return None;
        }
        if status.as_ref().is_some_and(|it| !it.is_object()) {
            self.wrong(&at("status"), "this has to be a record");
            return None;
        }
        Some(Rule {
            kind,
            namespace: None,
            name: self.optional(path, fields, "name"),
            label: self.label(path, fields)?,
            behaviour: Behaviour { after, outcome, status },
        })
    }

    fn service(&mut self, path: Path<'_>, fields: &Map<String, Value>) -> Option<Answer> {
        self.only(path, "what a Service answers", fields, OF_SERVICE);
        let Some(at) = self.optional(path, fields, "path") else {
            self.wrong(path, "what a Service answers needs a `path`");
            return None;
        };
        Some(Answer {
            namespace: None,
            name: self.optional(path, fields, "name"),
            label: self.label(path, fields)?,
            path: at,
            body: fields.get("answers").cloned().unwrap_or_default(),
        })
    }
}
