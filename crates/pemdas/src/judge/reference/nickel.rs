//! What Nickel says of a blueprint: the clauses as they are written, and what a function yields for all of its input.

use std::collections::BTreeMap;

use pemdas_nickel::{Evaluator as _, InProcess, Limits, Place, Sources};
use serde_json::{Value, json};

/// Everything but functions as data; each function by its path.
const READING: &str = r#"
let blueprint = import "blueprint.ncl" in
let rec shown = fun value =>
  if std.is_function value then { "~function" = true }
  else if std.is_record value then std.record.map (fun _name field => shown field) value
  else if std.is_array value then std.array.map shown value
  else if std.is_enum value then std.string.from_enum value
  else value
in
let rec found = fun path value =>
  if path == [] then value
  else found (std.array.drop_first path) (value."%{std.array.first path}")
in
{
  nodes = shown blueprint.nodes,
  admit = fun spec => (spec | blueprint.kinds.Case.versions.v1.spec),
  call = fun path the => found path blueprint.nodes the,
  name = fun node the => blueprint.nodes."%{node}".template the |> std.record.get "metadata" |> std.record.get "name",
}
"#;

pub(super) struct Nickel(InProcess);

impl Nickel {
    /// The blueprint, if Nickel can read it.
    pub(super) fn load(blueprint: &str) -> Result<Self, String> {
        let sources = Sources::single(READING).with("blueprint.ncl", blueprint);
        let limits = Limits { fuel: 50_000_000, load_fuel: 50_000_000, millis: 600_000, ..Limits::default() };
        InProcess::load(&sources, &limits).map(Self).map_err(|it| format!("{it:?}"))
    }

    /// The clauses of the nodes.
    pub(super) fn nodes(&self) -> Result<BTreeMap<String, Value>, String> {
        let nodes = self.0.evaluate(&Place::at(["nodes"])).map_err(|it| format!("{it:?}"))?;
        Ok(nodes.as_object().cloned().unwrap_or_default().into_iter().collect())
    }

    /// A spec with its defaults.
    pub(super) fn admit(&self, spec: &Value) -> Result<Value, String> {
        let place = Place::at(["admit"]).call([spec.clone().into()]);
        self.0.evaluate(&place).map_err(|it| format!("{it:?}"))
    }

    /// What the function at a path yields.
    pub(super) fn call(&self, path: &[&str], the: &Value) -> Result<Value, String> {
        self.evaluate(&Place::at(["call"]).call([json!(path).into(), the.clone().into()]))
    }

    /// What a template calls its object, whatever the rest of it comes to.
    pub(super) fn name(&self, node: &str, the: &Value) -> Result<Value, String> {
        self.evaluate(&Place::at(["name"]).call([json!(node).into(), the.clone().into()]))
    }

    fn evaluate(&self, place: &Place) -> Result<Value, String> {
        self.0
            .evaluate(place)
            .map_err(|failure| failure.diagnostics().first().map(|it| it.message.clone()).unwrap_or_default())
    }
}
