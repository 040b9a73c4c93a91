//! Who manages which fields: what server-side apply is about.
//!
//! Every write leaves behind who set what (`metadata.managedFields`). An apply says all that its manager wants: what others own and is
//! given another value is a conflict, and what the manager gave up, and nobody else has, is removed.

use serde_json::{Map, Value, json};

use crate::api::{Cause, Failure};
use crate::typed::{
    Comparison, Element, FieldSet, TypeRef, compare, fields_of, merge, remove, with_named_fields,
};

/// After so many managers that wrote without applying, the oldest are put together.
const MOST_UPDATERS: usize = 10;

/// Who writes, how, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) manager: String,
    pub(crate) applies: bool,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

impl Writer {
    /// Whether an entry is this writer's. One that applies is the same in every version.
    fn is(&self, other: &Self) -> bool {
        let versions = self.applies || self.api_version == other.api_version;
        self.manager == other.manager
            && self.applies == other.applies
            && self.subresource == other.subresource
            && versions
    }

    fn operation(&self) -> &'static str {
        if self.applies { "Apply" } else { "Update" }
    }

    /// As messages about conflicts call it.
    fn shown(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text = format!("{text} with subresource {:?}", self.subresource);
        }
        if self.applies { text } else { format!("{text} using {}", self.api_version) }
    }

    /// What entries are ordered by in messages.
    fn order(&self) -> String {
        let mut text = format!("{{\"manager\":{:?},\"operation\":{:?}", self.manager, self.operation());
        if !self.applies {
            text.push_str(&format!(",\"apiVersion\":{:?}", self.api_version));
        }
        if !self.subresource.is_empty() {
            text.push_str(&format!(",\"subresource\":{:?}", self.subresource));
        }
        text
    }
}

/// What one writer manages.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    writer: Writer,
    time: Option<String>,
    fields: FieldSet,
}

/// What a write changes, as those see it who wrote in its version, and as others do: which fields a write of a custom object itself
/// cannot set is known for its own version only, so others lose what they manage of them. Of a status it is known for all.
struct Changes {
    seen: Comparison,
    /// The version, and what others see.
    others: Option<(String, Comparison)>,
}

impl Changes {
    fn new(of: TypeRef<'_>, whole: Comparison, ignored: &FieldSet, by: &Writer) -> Self {
        let apart = matches!(of, TypeRef::Root(_)) && by.subresource.is_empty();
        Self { seen: whole.outside(ignored), others: apart.then(|| (by.api_version.clone(), whole)) }
    }

    fn for_writer(&self, writer: &Writer) -> &Comparison {
        match &self.others {
            Some((version, whole)) if writer.api_version != *version => whole,
            _ => &self.seen,
        }
    }
}

/// All writers of an object with what they manage.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Managers(Vec<Entry>);

impl Managers {
    /// From `metadata.managedFields`; none if it cannot be read.
    pub(crate) fn decode(object: &Value) -> Option<Self> {
        let Some(entries) = object.pointer("/metadata/managedFields").filter(|it| !it.is_null()) else {
            return Some(Self::default());
        };
        let read = |entry: &Value| {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let applies = match text("operation").as_str() {
                "Apply" => true,
                "Update" => false,
                _ => return None,
            };
            let writer = Writer {
                manager: text("manager"),
                applies,
                api_version: text("apiVersion"),
                subresource: text("subresource"),
            };
            let fields = FieldSet::from_json(entry.get("fieldsV1").unwrap_or(&json!({})))?;
            Some(Entry { writer, time: Some(text("time")).filter(|time| !time.is_empty()), fields })
        };
        // Of two entries of one writer the last one counts.
        let mut managers = Self::default();
        for entry in entries.as_array()? {
            managers.set(read(entry)?);
        }
        Some(managers)
    }

    /// As `metadata.managedFields`.
    pub(crate) fn encode(&self) -> Value {
        let mut entries: Vec<&Entry> = self.0.iter().collect();
        let key = |entry: &&Entry| {
            let writer = &entry.writer;
            (
                writer.operation(),
                entry.time.clone(),
                writer.manager.clone(),
                writer.api_version.clone(),
                writer.subresource.clone(),
            )
        };
        entries.sort_by_key(key);
        let write = |entry: &Entry| {
            let mut json = json!({
                "manager": entry.writer.manager, "operation": entry.writer.operation(),
                "apiVersion": entry.writer.api_version,
                "fieldsType": "FieldsV1", "fieldsV1": entry.fields.to_json(),
            });
            if let Some(time) = &entry.time {
                json["time"] = Value::from(time.as_str());
            }
            if !entry.writer.subresource.is_empty() {
                json["subresource"] = Value::from(entry.writer.subresource.as_str());
            }
            json
        };
        entries.into_iter().map(write).collect()
    }

    /// Puts them into an object; none leaves no trace.
    pub(crate) fn put_into(&self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        if self.0.is_empty() {
            metadata.remove("managedFields");
        } else {
            metadata.insert("managedFields".to_owned(), self.encode());
        }
    }

    fn of(&self, writer: &Writer) -> Option<&Entry> {
        self.0.iter().find(|entry| writer.is(&entry.writer))
    }

    fn set(&mut self, entry: Entry) {
        self.0.retain(|other| !entry.writer.is(&other.writer));
        self.0.push(entry);
    }

    /// After a write that is no apply: the writer manages what it changed, and nobody else does any more.
    pub(crate) fn update(
        &mut self,
        of: TypeRef<'_>,
        old: &Value,
        new: &Value,
        by: &Writer,
        ignored: &FieldSet,
        now: &str,
    ) {
        let changes =
            Changes::new(of, compare(of, &without_managers(old), &without_managers(new)), ignored, by);
        self.take(&changes, None);
        let taken = changes.seen.modified.union(&changes.seen.added);
        let taken = taken.outside(ignored).difference(&stripped());
        if !taken.is_empty() {
            let before = self.of(by).map(|entry| entry.fields.clone()).unwrap_or_default();
            self.set(Entry { writer: by.clone(), time: Some(now.to_owned()), fields: before.union(&taken) });
        }
        self.strip();
        self.cap();
    }

    /// Takes from everybody (but one) what has changed or is gone.
    fn take(&mut self, changes: &Changes, but: Option<&Writer>) {
        for entry in &mut self.0 {
            let mine = but.is_some_and(|but| but.is(&entry.writer));
            if !mine {
                let changed = changes.for_writer(&entry.writer);
                entry.fields = entry.fields.difference(&changed.modified).difference(&changed.added);
                entry.fields = entry.fields.difference(&changed.removed);
            }
        }
        self.0.retain(|entry| !entry.fields.is_empty());
    }

    /// After the number of replicas was written through the scale, which has managers of its own in the real server, made from
    /// those that manage the number: what nobody managed before, nobody does now. It is written to a scale as nothing if it is 0, and
    /// then nobody manages it any more. Otherwise its manager is the writer, if it changed, or whoever was: in an entry without a time
    /// and beside its other one, because an entry of a scale is found again in that of the object only if it is of an apply.
    pub(crate) fn scale(&mut self, replicas: &FieldSet, before: Option<i64>, after: i64, by: &Writer) {
        let owners: Vec<Writer> = self
            .0
            .iter()
            .filter(|entry| !entry.fields.intersection(replicas).is_empty())
            .map(|entry| entry.writer.clone())
            .collect();
        let changed = before != Some(after);
        let lost = |writer: &Writer| owners.contains(writer) && (changed || !writer.applies);
        for entry in self.0.iter_mut().filter(|entry| lost(&entry.writer)) {
            entry.fields = entry.fields.difference(replicas);
        }
        self.0.retain(|entry| !entry.fields.is_empty());
        let now: Vec<Writer> = match (changed, after) {
            (true, 0) => Vec::new(),
            (true, _) => owners.first().map(|_| by.clone()).into_iter().collect(),
            (false, _) => owners.into_iter().filter(|owner| !owner.applies).collect(),
        };
        let entry = |writer: Writer| Entry { writer, time: None, fields: replicas.clone() };
        self.0.extend(now.into_iter().map(entry));
    }

    fn strip(&mut self) {
        let stripped = stripped();
        for entry in &mut self.0 {
            entry.fields = entry.fields.difference(&stripped);
        }
        self.0.retain(|entry| !entry.fields.is_empty());
    }

    fn cap(&mut self) {
        loop {
            let mut updaters: Vec<Entry> = self.0.iter().filter(|it| !it.writer.applies).cloned().collect();
            if updaters.len() <= MOST_UPDATERS {
                return;
            }
            updaters.sort_by_key(|entry| (entry.time.clone(), entry.writer.order()));
            let (Some(first), Some(second)) = (updaters.first(), updaters.get(1)) else { return };
            let fields = first.fields.clone().union(&second.fields);
            let writer = Writer {
                manager: "ancient-changes".to_owned(),
                applies: false,
                api_version: second.writer.api_version.clone(),
                subresource: String::new(),
            };
            let time = second.time.clone();
            let gone = [first.writer.clone(), second.writer.clone()];
            self.0.retain(|entry| !gone.contains(&entry.writer));
            let before = self.of(&writer).map(|entry| entry.fields.clone()).unwrap_or_default();
            self.set(Entry { writer, time, fields: fields.union(&before) });
        }
    }

    /// An apply: what the object becomes, or none if nothing changes but who manages what.
    ///
    /// # Errors
    /// If others manage fields that are given another value, and nothing is forced.
    pub(crate) fn apply(
        &mut self,
        of: TypeRef<'_>,
        live: &Value,
        applied: &Value,
        by: &Writer,
        ignored: &FieldSet,
        force: bool,
    ) -> Result<Option<Value>, Failure> {
        let live = without_managers(live);
        let merged = merge(of, Some(&live), Some(applied)).unwrap_or(Value::Null);
        let before = self.of(by).map(|entry| entry.fields.clone());
        let time = self.of(by).and_then(|entry| entry.time.clone());
        let fields = fields_of(of, applied).outside(ignored);
        self.set(Entry { writer: by.clone(), time, fields });
        let pruned = match before {
            Some(before) if !before.is_empty() => self.prune(of, &merged, &before),
            _ => merged,
        };
        let changes = Changes::new(of, compare(of, &live, &pruned), ignored, by);
        if !force {
            self.refuse_conflicts(&changes, by)?;
        }
        self.take(&changes, Some(by));
        self.strip();
        Ok((pruned != live).then_some(pruned))
    }

    /// Removes what the manager had applied and does no more, unless somebody else has it.
    fn prune(&self, of: TypeRef<'_>, merged: &Value, before: &FieldSet) -> Value {
        let named = |set: &FieldSet| with_named_fields(set, of, merged);
        let last = named(before);
        let pruned = remove(of, merged, &last);
        let mut managed = FieldSet::default();
        for entry in &self.0 {
            managed.add(&entry.fields);
        }
        let all = named(&fields_of(of, merged));
        let kept = named(&fields_of(of, &pruned)).union(&named(&managed));
        let pruned = remove(of, merged, &all.difference(&kept));
        // Only what was the manager's goes: not what nobody has.
        let gone = all.difference(&named(&fields_of(of, &pruned))).intersection(&last);
        remove(of, merged, &gone)
    }

    fn refuse_conflicts(&self, changes: &Changes, by: &Writer) -> Result<(), Failure> {
        let mut conflicts: Vec<(&Writer, Vec<String>)> = Vec::new();
        for entry in self.0.iter().filter(|entry| !by.is(&entry.writer)) {
            let changed = changes.for_writer(&entry.writer);
            let set = changed.modified.clone().union(&changed.added);
            let both = entry.fields.intersection(&set);
            if !both.is_empty() {
                let shown = |path: Vec<Element>| path.iter().map(ToString::to_string).collect::<String>();
                conflicts.push((&entry.writer, both.paths().into_iter().map(shown).collect()));
            }
        }
        if conflicts.is_empty() {
            return Ok(());
        }
        conflicts.sort_by_key(|(writer, _)| writer.order());
        let causes: Vec<Cause> = conflicts
            .iter()
            .flat_map(|(writer, paths)| {
                let message = format!("conflict with {}", writer.shown());
                paths.iter().map(move |path| Cause {
                    reason: "FieldManagerConflict",
                    message: message.clone(),
                    field: path.clone(),
                })
            })
            .collect();
        let message = match causes.as_slice() {
            [one] => format!("Apply failed with 1 conflict: {}: {}", one.message, one.field),
            _ => {
                let lines = conflicts.iter().map(|(writer, paths)| {
                    let paths: String = paths.iter().map(|path| format!("\n- {path}")).collect();
                    format!("conflicts with {}:{paths}", writer.shown())
                });
                let lines: Vec<String> = lines.collect();
                format!("Apply failed with {} conflicts: {}", causes.len(), lines.join("\n"))
            }
        };
        Err(Failure::apply_conflict(message, &causes))
    }

    /// Marks the time of a writer's entry.
    pub(crate) fn touch(&mut self, by: &Writer, now: &str) {
        for entry in &mut self.0 {
            if by.is(&entry.writer) {
                entry.time = Some(now.to_owned());
                entry.writer.api_version.clone_from(&by.api_version);
            }
        }
    }
}

/// Whether the managers of two objects differ in nothing but times.
pub(crate) fn same_but_times(one: &Value, other: &Value) -> bool {
    let plain = |object: &Value| {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        let mut entries = entries.cloned().unwrap_or_default();
        for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        entries.sort_by_key(Value::to_string);
        entries
    };
    plain(one) == plain(other)
}

/// What is never managed by anybody.
fn stripped() -> FieldSet {
    let mut all = FieldSet::default();
    for path in [&["apiVersion"][..], &["kind"], &["metadata"]] {
        all.add(&FieldSet::of_names(path));
    }
    for name in [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ] {
        all.add(&FieldSet::of_names(&["metadata", name]));
    }
    all
}

fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Whether the managers that a request brings mean that all are to be forgotten.
pub(crate) fn is_reset(object: &Value) -> bool {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.is_some_and(|entries| {
        entries.len() == 1 && entries.iter().all(|it| it.as_object().is_some_and(Map::is_empty))
    })
}
