//! `pemdas rbac`: the least that a blueprint has to be allowed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use pemdas_core::{
    crd::install::Policy,
    diagnostic::Severity,
    kube_types::format,
    rights::{Rights, Served, Setting},
};
use serde_json::{Value, json};

use super::{Outcome, bundle::foreign, could_not_run, import::name, one_blueprint};
use crate::{
    load::{self, Checked},
    render,
    roles::{self, Role, Whom},
    terminal::{self, Colour, Style},
};

/// Write the smallest roles that a blueprint needs, from the blueprint alone
///
/// For the ServiceAccount that the blueprint acts as, and for the operator, which removes finalizers. Objects whose namespace the
/// blueprint fixes get a Role there; instances may be in any namespace, and need a ClusterRole, unless --only-in names their
/// namespaces.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 written, 1 errors in the blueprint, or it says too little, 2 it could not be read.",
    after_long_help = "\
Examples:
  pemdas rbac shop --only-in team-a --only-in team-b      Roles in these namespaces, and no ClusterRole for them
  pemdas rbac shop | kubectl apply -f -                   instances in any namespace: a ClusterRole
  pemdas rbac shop -n live --service-account shop-operator

Exit status: 0 written, 1 errors in the blueprint, or it says too little, 2 it could not be read."
)]
pub(super) struct Rbac {
    /// The blueprint: a directory with a main.ncl, an .ncl file, a manifest with a ConfigMap, or - for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    /// Who creates the CRDs of the blueprint's kinds: what the annotation pemdas.dev/crds of its ConfigMap says
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    crds: Crds,
    #[command(flatten)]
    wanted: Wanted,
}

/// What the roles depend on besides the blueprint
#[derive(Debug, Clone, Args)]
pub(super) struct Wanted {
    /// The namespace of the blueprint
    #[arg(long, short, value_name = "NAMESPACE", value_parser = name, default_value = "default")]
    namespace: String,
    /// The name of its ConfigMap; without it, the name of the blueprint
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// The ServiceAccount that it acts as; without it, one with the name of the ConfigMap
    #[arg(long, value_name = "NAME", value_parser = name)]
    service_account: Option<String>,
    /// Allow instances in this namespace only, by a Role there; may be given several times
    #[arg(long, value_name = "NAMESPACE", value_parser = name)]
    only_in: Vec<String>,
    /// The namespace of the operator
    #[arg(
        long,
        value_name = "NAMESPACE",
        value_parser = name,
        env = "PEMDAS_NAMESPACE",
        default_value = "pemdas-system"
    )]
    operator_namespace: String,
    /// The ServiceAccount of the operator
    #[arg(long, value_name = "NAME", value_parser = name, default_value = "pemdas")]
    operator_service_account: String,
    /// The resource of a kind that is neither built in nor the blueprint's own, such as
    /// Certificate.cert-manager.io=certificates; a cluster-scoped kind ends in /cluster
    #[arg(long, value_name = "KIND.GROUP=RESOURCE", value_parser = resource)]
    resource: Vec<((String, String), Served)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// To apply and to read, with the nodes that need each rule
    #[default]
    Yaml,
    /// For programs
    Json,
    /// One TYPE/NAME a line, as kubectl prints and reads it
    Name,
}

/// Who creates CRDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Crds {
    /// The operator, as the ServiceAccount of the blueprint
    #[default]
    Create,
    /// You: `bundle` packs them, `pemdas crds` prints them
    Await,
    /// You: the operator writes them into the annotation pemdas.dev/definitions of the ConfigMap
    Publish,
}

impl Crds {
    pub(super) fn policy(self) -> Policy {
        match self {
            Self::Create => Policy::Create,
            Self::Await => Policy::Await,
            Self::Publish => Policy::Publish,
        }
    }
}

fn resource(text: &str) -> Result<((String, String), Served), String> {
    let parts = text.split_once('=').and_then(|(kind, plural)| Some((kind.split_once('.')?, plural)));
    let ((kind, group), plural) =
        parts.ok_or("it is KIND.GROUP=RESOURCE, such as Certificate.cert-manager.io=certificates")?;
    let (plural, namespaced) = match plural.split_once('/') {
        None => (plural, true),
        Some((plural, "cluster")) => (plural, false),
        Some((_, other)) => return Err(format!("/{other} is not known: /cluster is")),
    };
    if format::dns_subdomain(group).is_err() || format::dns_label(plural).is_err() || kind.is_empty() {
        return Err("a group is a domain, and a resource a word in lower-case letters".to_owned());
    }
    let served = Served { group: group.to_owned(), plural: plural.to_owned(), namespaced };
    Ok(((kind.to_owned(), group.to_owned()), served))
}

/// How a kind is called that a definition defines.
fn served_by(definition: &Value) -> Option<((String, String), Served)> {
    let text = |at: &str| definition.pointer(at).and_then(Value::as_str).map(str::to_owned);
    let (group, kind) = (text("/spec/group")?, text("/spec/names/kind")?);
    let namespaced = text("/spec/scope").as_deref() != Some("Cluster");
    let served = Served { group: group.clone(), plural: text("/spec/names/plural")?, namespaced };
    Some(((kind, group), served))
}

/// For a blueprint that says everything itself.
impl Default for Wanted {
    fn default() -> Self {
        Self {
            namespace: "default".to_owned(),
            name: None,
            service_account: None,
            only_in: Vec::new(),
            operator_namespace: "pemdas-system".to_owned(),
            operator_service_account: "pemdas".to_owned(),
            resource: Vec::new(),
        }
    }
}

impl Wanted {
    /// The rights of a blueprint, and whose they are. What it says too little of is told.
    pub(super) fn rights(
        &self,
        checked: &mut Checked,
        definitions: Policy,
        colour: Colour,
        foreign: &[Value],
    ) -> Result<(Whom, Rights), Outcome> {
        let setting = Setting { definitions };
        let mut served: BTreeMap<_, _> = foreign.iter().filter_map(served_by).collect();
        served.extend(self.resource.iter().cloned());
        let broken = checked.worst() == Some(Severity::Error);
        let rights = (!broken).then(|| roles::rights_of(checked, setting, &served)).flatten();
        let rights = rights.map(|Rights { open, account, operator }| {
            checked.diagnostics.extend(open);
            Rights { account, operator, open: Vec::new() }
        });
        // Remarks are for whoever checks the blueprint.
        checked.diagnostics.retain(|it| it.severity != Severity::Note);
        load::tidy(&mut checked.diagnostics);
        if !checked.diagnostics.is_empty() {
            terminal::remark(&render::text::diagnostics(checked, colour.on_stderr()));
        }
        let problems = if checked.given.unreadable { Outcome::CouldNotRun } else { Outcome::Problems };
        let rights = rights.filter(|_| checked.worst() != Some(Severity::Error)).ok_or(problems)?;
        Ok((self.whom(checked)?, rights))
    }

    fn whom(&self, checked: &Checked) -> Result<Whom, Outcome> {
        let own = checked.blueprint.as_ref().map(|it| it.name.as_str()).unwrap_or_default();
        let name = match &self.name {
            Some(name) => name.clone(),
            None => name(own).map_err(|_| {
                could_not_run(
                    &format!("{own:?} is no name for a ConfigMap and its roles"),
                    Some("--name gives another one"),
                )
            })?,
        };
        Ok(Whom {
            account: self.service_account.clone().unwrap_or_else(|| name.clone()),
            name,
            namespace: self.namespace.clone(),
            only_in: self.only_in.iter().cloned().collect::<BTreeSet<_>>(),
            operator: (self.operator_namespace.clone(), self.operator_service_account.clone()),
        })
    }
}

impl Rbac {
    pub(super) fn run(&self, colour: Colour) -> Outcome {
        let given = match one_blueprint(&self.path, "keep the one that is meant in a file of its own") {
            Ok(given) => given,
            Err(outcome) => return outcome,
        };
        let mut checked = load::check(given);
        let foreign = match foreign(&self.path) {
            Ok(foreign) => foreign,
            Err(outcome) => return outcome,
        };
        let (whom, rights) = match self.wanted.rights(&mut checked, self.crds.policy(), colour, &foreign) {
            Ok(found) => found,
            Err(outcome) => return outcome,
        };
        let roles = whom.roles(&rights);
        let blueprint = checked.blueprint.as_ref().map(|it| it.name.as_str()).unwrap_or_default();
        terminal::hand_over(&match self.output {
            Format::Yaml => roles::text::manifest(&whom, blueprint, &roles),
            Format::Json => list(&whom, &roles),
            Format::Name => render::names(&whom.objects(&roles)),
        });
        warn(&whom, &rights, colour);
        Outcome::Clean
    }
}

/// Says what somebody who only applies the roles should know: that they grant Secrets in the whole cluster.
pub(super) fn warn(whom: &Whom, rights: &Rights, colour: Colour) {
    let nodes = whom.with_all_secrets(rights);
    if nodes.is_empty() {
        return;
    }
    let style = Style { colour: colour.on_stderr() };
    let message = format!(
        "{}: ServiceAccount {}/{} may read Secrets in every namespace, for {}",
        style.paint("1;33", "warning"),
        whom.namespace,
        whom.account,
        nodes.join(", "),
    );
    let hint =
        "--only-in NAMESPACE writes Roles in the namespaces of the instances, in place of a ClusterRole";
    terminal::remark(&format!("{message}\n\nhint: {hint}\n"));
}

fn list(whom: &Whom, roles: &[Role]) -> String {
    format!("{:#}\n", json!({ "apiVersion": "v1", "kind": "List", "items": whom.objects(roles) }))
}
