//! Where the operator's loop meets the evaluator: blueprints are read and asked in worker processes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use pemdas_core::{
    crd::definition,
    diagnostic::{Diagnostic, Severity},
    evaluate::{Answer, Question},
};
use pemdas_kube::{
    compile::{Compiled, Compiler, Evaluate, Problem, Verdict},
    identity::Identity,
};
use pemdas_nickel::{Failure, Loaded, Pool, PoolConfig, Renderer, Sandboxed, Sources, WorkerCommand};

use crate::input::position;

/// How often a blueprint is read anew if no worker could be had.
const TRIES: u32 = 5;
/// How long between two tries.
const PAUSE: Duration = Duration::from_secs(2);

/// Reads blueprints in worker processes of this same binary.
pub(crate) struct Workers(Pool);

impl Workers {
    /// Workers of the program that runs.
    pub(crate) fn new() -> std::io::Result<Self> {
        let command =
            WorkerCommand { program: std::env::current_exe()?, arguments: vec![crate::WORKER.into()] };
        Ok(Self(Pool::new(PoolConfig::new(command))))
    }

    fn load(&self, identity: &str, sources: &Sources) -> Result<Loaded<Sandboxed>, Failure> {
        let mut tries = 1;
        loop {
            match Loaded::in_pool(&self.0, identity, sources) {
                Err(failure) if failure.is_transient() && tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                other => return other,
            }
        }
    }
}

struct Asked(Renderer<Sandboxed>);

impl Evaluate for Asked {
    fn evaluate(&self, batch: &[Question]) -> Vec<Answer> {
        self.0.answers(batch)
    }
}

impl Compiler for Workers {
    fn compile(&self, identity: &Identity, files: &BTreeMap<String, String>) -> Verdict {
        let sources = files.iter().fold(Sources::new(), |sources, (name, text)| sources.with(name, text));
        let Ok(loaded) = self.load(&identity.to_string(), &sources) else {
            let problem = Problem {
                code: "PM0510".to_owned(),
                place: String::new(),
                message: "no worker could be had to read the blueprint".to_owned(),
                hint: "see the log of the operator".to_owned(),
                error: true,
            };
            return Verdict { compiled: None, problems: vec![problem] };
        };
        let problems = loaded.diagnostics.iter().map(|it| problem(it, files)).collect();
        let sound = loaded.is_sound();
        let crds = loaded.drafts.kinds.iter().map(definition).collect();
        let compiled = match (loaded.renderer, loaded.blueprint, loaded.graph) {
            (Some(renderer), Some(blueprint), Some(graph)) if sound => {
                Some(Compiled { blueprint, graph, crds, evaluator: Arc::new(Asked(renderer)) })
            }
            _ => None,
        };
        Verdict { compiled, problems }
    }
}

fn problem(diagnostic: &Diagnostic, files: &BTreeMap<String, String>) -> Problem {
    let place = diagnostic.labels.first().map(|label| {
        let text = files.get(&label.span.file).map_or("", String::as_str);
        let at = position(text, label.span.start);
        format!("{}:{}:{}", label.span.file, at.line, at.column)
    });
    Problem {
        code: diagnostic.code.clone(),
        place: place.unwrap_or_default(),
        message: diagnostic.message.clone(),
        hint: diagnostic.hint.clone().unwrap_or_default(),
        error: diagnostic.severity == Severity::Error,
    }
}
