//! Plans in a cluster: of an instance that it has, of a file applied to it, of all instances of a blueprint.

use std::{collections::BTreeSet, path::Path};

use pemdas_core::{blueprint::Body, diagnostic::Diagnostic, world::KindKey};
use pemdas_kube::{
    compile::Compiler,
    files::Unreadable,
    resource::Resource,
    survey::{Found, instance_name, roots},
};
use serde_json::{Value, json};

use super::{
    Instance, Played, Prepared,
    fleet::{Fleet, Member, Verdict},
};
use crate::{
    input::{Given, Place},
    live::{Field, Look, Lost, Reader, Session, running},
    load::Checked,
};

/// Why there is no plan.
pub(crate) enum NoPlan {
    /// Something is not there, or may not be read.
    Lost(Lost),
    /// The instance does not fit.
    Problems(Vec<Diagnostic>),
}

impl<T: Into<Lost>> From<T> for NoPlan {
    fn from(lost: T) -> Self {
        Self::Lost(lost.into())
    }
}

/// A blueprint to plan with, in a cluster.
pub(crate) struct Live<'a> {
    session: &'a Session,
    prepared: Prepared,
    reader: Reader,
    /// The ConfigMap that a person named.
    named: Option<&'a str>,
    home: Option<Home>,
}

/// The ConfigMap that the blueprint is, or will be.
#[derive(Clone)]
struct Home {
    namespace: String,
    name: String,
    /// As it is, if it is.
    found: Option<Found>,
}

impl Home {
    fn of(found: Found) -> Self {
        Self { namespace: found.namespace.clone(), name: found.name.clone(), found: Some(found) }
    }
}

/// A blueprint that the cluster has: in the namespace that is meant, or else the only one of that name, since a blueprint may serve
/// instances of other namespaces.
pub(crate) fn of_cluster(session: &Session, name: &str) -> Result<(Given, Found), Lost> {
    let nothing = |message: String| Lost::Nothing {
        message,
        hint: Some("`kubectl get configmaps -A -l pemdas.dev/blueprint` lists the blueprints".to_owned()),
    };
    let namespace = session.namespace();
    let found = match configmap(session, namespace, name)? {
        Some(found) => found,
        None => {
            let all = session.ask(async |survey| survey.blueprints(namespace).await)?;
            let mut all: Vec<_> = all.into_iter().filter(|it| it.name == name).collect();
            match (all.pop(), all.len()) {
                (Some(found), 0) => found,
                (Some(found), _) => {
                    let titles: Vec<_> = all.iter().chain([&found]).map(Found::title).collect();
                    let message = format!("several blueprints are called {name}: {}", titles.join(", "));
                    return Err(nothing(message));
                }
                (None, _) => {
                    let message = format!(
                        "there is no blueprint {name} in the namespace {namespace}, nor in another one"
                    );
                    return Err(nothing(message));
                }
            }
        }
    };
    let mut given = Given { title: format!("cm/{name}"), ..Given::default() };
    let files = match &found.files {
        Ok(files) => files,
        Err(why) => {
            let hint = Some(Unreadable::HINT.to_owned());
            return Err(Lost::Nothing { message: format!("cm/{name} cannot be read: {why}"), hint });
        }
    };
    for (file, text) in files {
        given.files.insert(file.clone(), text.clone());
        given.places.insert(file.clone(), Place::file(format!("cm/{name}:{file}")));
    }
    Ok((given, found))
}

fn configmap(session: &Session, namespace: &str, name: &str) -> Result<Option<Found>, Lost> {
    let Some(resource) = Resource::built_in("v1", "ConfigMap") else { return Ok(None) };
    let live = session.ask(async |survey| survey.object(&resource, namespace, name).await)?;
    Ok(live.and_then(Found::read))
}

impl<'a> Live<'a> {
    pub(crate) fn new(
        session: &'a Session,
        prepared: Prepared,
        compiler: impl Compiler,
        named: Option<&'a str>,
        found: Option<Found>,
    ) -> Self {
        Self { session, prepared, reader: Reader::new(compiler), named, home: found.map(Home::of) }
    }

    /// The blueprint, for messages.
    pub(crate) fn into_checked(self) -> Checked {
        self.prepared.checked
    }

    /// The blueprint with what is wrong with an instance.
    pub(crate) fn with_problems(&mut self, problems: Vec<Diagnostic>) -> &Checked {
        self.prepared.checked.diagnostics = problems;
        &self.prepared.checked
    }

    /// The ConfigMap that the blueprint is: the one that was named, or the only one with the same kind of root.
    fn home(&mut self) -> Result<Home, Lost> {
        if let Some(home) = &self.home {
            return Ok(home.clone());
        }
        let blueprint = &self.prepared.blueprint;
        let home = if let Some(named) = self.named {
            let (namespace, name) = named.split_once('/').unwrap_or((self.session.namespace(), named));
            let found = configmap(self.session, namespace, name)?;
            Home { namespace: namespace.to_owned(), name: name.to_owned(), found }
        } else {
            let mut found: Vec<Found> = Vec::new();
            for (_, api_version, kind) in roots(blueprint) {
                let kind = KindKey::new(&api_version, &kind);
                for (it, _) in self.reader.of_kind(self.session, &kind)? {
                    if !found.iter().any(|other| other.live.key == it.live.key) {
                        found.push(it);
                    }
                }
            }
            self.choose(found)?
        };
        self.home = Some(home.clone());
        Ok(home)
    }

    fn choose(&self, mut found: Vec<Found>) -> Result<Home, Lost> {
        let name = &self.prepared.blueprint.name;
        let own = roots(&self.prepared.blueprint).iter().all(|(_, _, kind)| kind == "ConfigMap");
        if found.len() > 1 || own {
            let same = |it: &Found| it.name == *name || it.mentions(&format!("{name:?}"));
            found.retain(same);
        }
        if found.len() > 1 {
            let titles: Vec<_> = found.iter().map(Found::title).collect();
            return Err(Lost::Nothing {
                message: format!("several blueprints of the cluster may be this one: {}", titles.join(", ")),
                hint: Some("say which with --configmap NAMESPACE/NAME".to_owned()),
            });
        }
        Ok(match found.pop() {
            Some(found) => Home::of(found),
            None => Home { namespace: self.session.namespace().to_owned(), name: name.clone(), found: None },
        })
    }

    /// What there is to see for one instance, or for all.
    fn field(&self, home: &Home, instance: Option<&str>, namespace: &str) -> Result<Field<'a>, Lost> {
        // What the revision that runs speaks of may have to go.
        let old = home.found.as_ref().and_then(|it| {
            let files = running(self.session, it, None);
            self.reader.compiled(it, &files).ok()
        });
        let mut blueprints = vec![&self.prepared.blueprint];
        blueprints.extend(old.as_ref().map(|it| &it.blueprint));
        Ok(Field::new(self.session, &blueprints, instance, namespace)?)
    }

    /// An instance that the cluster has.
    pub(crate) fn named(&mut self, kind: &str, name: &str, delete: bool) -> Result<Played, NoPlan> {
        let served = self.session.kind(kind)?;
        let (session, resource) = (self.session, &served.resource);
        let namespace = if resource.namespaced { session.namespace() } else { "" };
        let live = session.ask(async |survey| survey.object(resource, namespace, name).await)?;
        let Some(live) = live else {
            return Err(NoPlan::Lost(Lost::Nothing {
                message: format!("there is no {} {name} in the cluster", resource.kind),
                hint: Some(
                    "-n chooses the namespace; for one that is not there yet, give a file and --live"
                        .to_owned(),
                ),
            }));
        };
        let root = self.prepared.root_of(&live.body).map_err(NoPlan::Problems)?;
        let given = self.prepared.live(spoken(Value::clone(&live.body)), &root);
        self.play(given, &root, Some(live), delete)
    }

    /// A file, applied to the cluster.
    pub(crate) fn file(&mut self, path: Option<&Path>, delete: bool) -> Result<Played, NoPlan> {
        let mut given = self.prepared.read(path).map_err(NoPlan::Problems)?;
        let text = |at: &str| given.object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
        let session = self.session;
        let resource = session.ask(async |survey| survey.resource(&api_version, &kind).await)?;
        let namespaced = resource.as_ref().is_none_or(|it| it.namespaced);
        let own = path.is_none();
        let (namespace, name) = if own {
            let home = self.home()?;
            (home.namespace, home.name)
        } else {
            let namespace = Some(text("/metadata/namespace")).filter(|it| !it.is_empty());
            (namespace.unwrap_or_else(|| session.namespace().to_owned()), name)
        };
        if namespaced {
            given.object["metadata"]["namespace"] = json!(namespace);
        }
        given.object["metadata"]["name"] = json!(name);
        given.notes.clear();
        let live = match &resource {
            Some(resource) => session.ask(async |survey| survey.object(resource, &namespace, &name).await)?,
            None => None,
        };
        if delete && live.is_none() {
            return Err(NoPlan::Lost(Lost::Nothing {
                message: format!("there is no {kind} {name} in the cluster to delete"),
                hint: Some("without --live the deletion is planned from files".to_owned()),
            }));
        }
        if let Some(live) = live.as_ref().filter(|_| own) {
            given.object = spoken(Value::clone(&live.body));
        }
        let root = given.root.clone();
        self.play(given, &root, live, delete)
    }

    fn play(
        &mut self,
        given: Instance,
        root: &str,
        live: Option<pemdas_core::world::Live>,
        delete: bool,
    ) -> Result<Played, NoPlan> {
        let home = self.home()?;
        let uid = live.as_ref().map_or("planned", |it| it.uid.as_str());
        let name = instance_name(&home.namespace, &home.name, root, uid);
        let namespace = live.as_ref().map_or_else(String::new, |it| it.key.namespace.clone());
        let field = self.field(&home, Some(&name), &namespace)?;
        let mut look = Look::new(&field, live, name, &home.namespace);
        let mut played = self.prepared.plan(given, delete, &mut look).map_err(NoPlan::Problems)?;
        if home.found.is_none() {
            played.notes.push(format!(
                "the cluster has no such blueprint yet: it is taken to be {}/{}",
                home.namespace, home.name
            ));
        }
        played.notes.extend(field.notes());
        Ok(played)
    }

    /// All instances that the cluster has, in one namespace or in all.
    pub(crate) fn fleet(
        &mut self,
        namespace: Option<&str>,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Fleet, Lost> {
        let home = self.home()?;
        let mut fleet = Fleet {
            blueprint: self.prepared.blueprint.name.clone(),
            configmap: format!("{}/{}", home.namespace, home.name),
            members: Vec::new(),
            example: None,
            notes: BTreeSet::new(),
        };
        if home.found.is_none() {
            fleet.notes.insert("the cluster has no such blueprint yet".to_owned());
        }
        let found = self.instances(&home, namespace)?;
        let field = self.field(&home, None, namespace.unwrap_or_default())?;
        let total = found.len();
        for (at, (root, live)) in found.into_iter().enumerate() {
            let name = instance_name(&home.namespace, &home.name, &root, &live.uid);
            let (key, given) =
                (live.key.clone(), self.prepared.live(spoken(Value::clone(&live.body)), &root));
            let mut look = Look::new(&field, Some(live), name, &home.namespace);
            let going = look.is_going();
            match self.prepared.plan(given, false, &mut look) {
                Ok(played) => {
                    let member = Member::planned(&played);
                    if fleet.example.is_none() && member.verdict != Verdict::Unchanged && !going {
                        fleet.notes.extend(played.notes.iter().cloned());
                        fleet.example = Some(played);
                    }
                    fleet.members.push(member);
                }
                Err(problems) => {
                    let why = problems.into_iter().map(|it| it.message).collect();
                    fleet.members.push(Member::broken(key, why));
                }
            }
            progress(at + 1, total);
        }
        fleet.notes.extend(field.notes());
        Ok(fleet)
    }

    /// The live roots, each with the name of its node.
    fn instances(
        &self,
        home: &Home,
        namespace: Option<&str>,
    ) -> Result<Vec<(String, pemdas_core::world::Live)>, Lost> {
        let session = self.session;
        let mut found = Vec::new();
        for (root, api_version, kind) in roots(&self.prepared.blueprint) {
            let own = !matches!(
                self.prepared.blueprint.nodes.get(&root).map(|it| &it.body),
                Some(Body::Root(it)) if it.target != pemdas_core::blueprint::RootTarget::Blueprint
            );
            if own {
                found.extend(home.found.iter().map(|it| (root.clone(), it.live.clone())));
                continue;
            }
            let resource = session.ask(async |survey| survey.resource(&api_version, &kind).await)?;
            let Some(resource) = resource else { continue };
            let all = session.ask(async |survey| survey.list(&resource, namespace, None).await)?;
            let picked =
                all.into_iter().filter(|it| self.prepared.root_of(&it.body).is_ok_and(|name| name == root));
            found.extend(picked.map(|it| (root.clone(), it)));
        }
        Ok(found)
    }
}

/// An object as somebody would apply it: without what only servers and operators say.
fn spoken(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    object
}
