//! The blueprints of a cluster, read in worker processes: they are somebody else's code.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc};

use pemdas_core::{
    blueprint::Blueprint,
    evaluate::{Answer, Evaluator, Question},
    graph::Graph,
    program::{Program, Revision},
    world::KindKey,
};
use pemdas_kube::{
    compile::{Compiler, Evaluate},
    connect::Trouble,
    survey::{Found, roots},
};

use super::Session;
use crate::draw::Picture;

/// A blueprint of the cluster that can run.
pub(crate) struct Compiled {
    /// As data.
    pub(crate) blueprint: Blueprint,
    /// Its graphs.
    pub(crate) graph: Graph,
    /// Both graphs, to be drawn.
    pub(crate) picture: Arc<Picture>,
    evaluator: Arc<dyn Evaluate>,
}

impl Compiled {
    /// One of its roots, ready to run.
    pub(crate) fn program(&self, root: &str) -> Option<Program> {
        let revision = Revision { name: "looked-at".to_owned(), ordinal: u64::MAX };
        Program::new(self.blueprint.clone(), &self.graph, root, revision)
    }

    /// What answers for its functions.
    pub(crate) fn evaluator(&self) -> impl Evaluator + use<> {
        Asked(self.evaluator.clone())
    }
}

struct Asked(Arc<dyn Evaluate>);

impl Evaluator for Asked {
    fn evaluate(&mut self, batch: &[Question]) -> Vec<Answer> {
        self.0.evaluate(batch)
    }
}

/// A blueprint, with how it can run or why it cannot.
pub(crate) type Readable = (Found, Result<Rc<Compiled>, String>);

/// A blueprint by its ConfigMap and its files.
type Read = (String, BTreeMap<String, String>);

/// Reads blueprints of the cluster, each once.
pub(crate) struct Reader {
    compiler: Box<dyn Compiler>,
    read: RefCell<BTreeMap<Read, Result<Rc<Compiled>, String>>>,
}

impl Reader {
    pub(crate) fn new(compiler: impl Compiler) -> Self {
        Self { compiler: Box::new(compiler), read: RefCell::default() }
    }

    /// Reads a blueprint.
    ///
    /// # Errors
    /// Why it cannot run, in one line.
    pub(crate) fn compiled(
        &self,
        found: &Found,
        files: &BTreeMap<String, String>,
    ) -> Result<Rc<Compiled>, String> {
        let which = (found.title(), files.clone());
        if let Some(known) = self.read.borrow().get(&which) {
            return known.clone();
        }
        let verdict = self.compiler.compile(&found.account, files);
        let compiled = match verdict.compiled {
            Some(it) => {
                let picture = Arc::new(Picture::of(&it.blueprint, &it.graph, files));
                let (blueprint, graph, evaluator) = (it.blueprint, it.graph, it.evaluator);
                Ok(Rc::new(Compiled { blueprint, graph, picture, evaluator }))
            }
            None => {
                let first = verdict.problems.iter().find(|it| it.error);
                let said = first.map(|it| format!("{} {}: {}", it.code, it.place, it.message));
                Err(said.unwrap_or_else(|| "it cannot be read".to_owned()))
            }
        };
        self.read.borrow_mut().insert(which, compiled.clone());
        compiled
    }

    /// All blueprints that the user may see, each with how it can run, or why it cannot.
    pub(crate) fn all(&self, session: &Session) -> Result<Vec<Readable>, Trouble> {
        let all = session.ask(async |survey| survey.blueprints(session.namespace()).await)?;
        let read = |found: Found| {
            let compiled = self.compiled(&found, &running(session, &found, None));
            (found, compiled)
        };
        Ok(all.into_iter().map(read).collect())
    }

    /// The blueprints that may start with objects of a kind, with the names of those roots. Only those whose text has the kind's name
    /// are read further; one that cannot run counts, because an earlier revision of it may have.
    pub(crate) fn of_kind(
        &self,
        session: &Session,
        kind: &KindKey,
    ) -> Result<Vec<(Found, Vec<String>)>, Trouble> {
        let all = session.ask(async |survey| survey.blueprints(session.namespace()).await)?;
        let own = *kind == KindKey::new("v1", "ConfigMap");
        let named = |it: &Found| own || it.mentions(&kind.kind);
        let mut found = Vec::new();
        for it in all.into_iter().filter(named) {
            let current = running(session, &it, None);
            let Ok(compiled) = self.compiled(&it, &current) else {
                found.push((it, Vec::new()));
                continue;
            };
            let of_kind = roots(&compiled.blueprint)
                .into_iter()
                .filter(|(_, api_version, name)| KindKey::new(api_version, name) == *kind)
                .map(|(root, ..)| root);
            let names: Vec<_> = of_kind.collect();
            if !names.is_empty() {
                found.push((it, names));
            }
        }
        Ok(found)
    }
}

/// The files of the revision that an instance is at, or else of the one that runs, or else of the ConfigMap as it is.
pub(crate) fn running(session: &Session, found: &Found, revision: Option<&str>) -> BTreeMap<String, String> {
    let told = found.told.get("revision").and_then(serde_json::Value::as_str);
    let kept =
        revision.or(told).and_then(|name| session.ask(async |survey| survey.revision(found, name).await));
    kept.unwrap_or_else(|| found.files.clone().unwrap_or_default())
}
