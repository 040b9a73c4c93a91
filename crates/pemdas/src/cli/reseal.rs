//! `pemdas reseal`: after a new key, what an older one sealed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use pemdas_kube::{
    connect::{Connection, Trouble},
    reseal::{Progress, ask},
    survey::{Found, Survey},
};

use super::{Outcome, cluster::Cluster, complete, could_not_run};
use crate::terminal;

/// How often it is looked how far the operator is.
const LOOK: Duration = Duration::from_millis(500);

/// Seal ledgers with the newest key, so that you can delete an older one
///
/// Only the operator reads the keys. The command asks it by the annotation pemdas.dev/reseal on each blueprint in turn, and shows the
/// progress. The operator takes four instances at a time, and changes only seals. You can stop and restart the command at any time.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 everything is sealed with the new key, 1 something is not yet, 2 no operator answers.",
    after_long_help = "\
Examples:
  pemdas reseal                   all blueprints that you may see
  pemdas reseal -n shop           the blueprints of a namespace
  pemdas reseal web -n shop       one blueprint

Exit status: 0 everything is sealed with the new key, 1 something is not yet, 2 no operator answers."
)]
pub(super) struct Reseal {
    /// The blueprints, by the names of their ConfigMaps; all of them without a name
    #[arg(value_name = "BLUEPRINT")]
    names: Vec<String>,
    /// Only blueprints of this namespace
    #[arg(long, short, value_name = "NAMESPACE", add = complete::namespaces())]
    namespace: Option<String>,
    /// How many seconds to wait for an operator
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    patience: u64,
    #[command(flatten)]
    cluster: Cluster,
}

impl Reseal {
    pub(super) fn run(&self) -> Outcome {
        match self.cluster.ask(async |connection| self.all(&connection).await) {
            Ok(outcome) => outcome,
            Err(not_asked) => not_asked.told(),
        }
    }

    /// One blueprint after the other.
    async fn all(&self, connection: &Connection) -> Result<Outcome, Trouble> {
        let survey = Survey::new(connection.clone());
        let namespace = self.namespace.as_deref().unwrap_or(&connection.namespace);
        let mut found = survey.blueprints(namespace).await?;
        found.retain(|it| self.namespace.as_ref().is_none_or(|wanted| it.namespace == *wanted));
        let missing = self.names.iter().find(|name| found.iter().all(|it| it.name != **name));
        if let Some(name) = missing {
            let hint = "kubectl get configmaps -A -l pemdas.dev/blueprint lists them";
            return Ok(could_not_run(&format!("there is no blueprint {name}"), Some(hint)));
        }
        found.retain(|it| self.names.is_empty() || self.names.contains(&it.name));
        if found.is_empty() {
            terminal::say("there is no blueprint: nothing to seal\n");
        }
        let mut outcome = Outcome::Clean;
        for blueprint in &found {
            let word = word();
            ask(connection, blueprint, Some(&word)).await?;
            let sealed = self.follow(connection, blueprint, &word).await;
            ask(connection, blueprint, None).await?;
            outcome = outcome.max(sealed?);
        }
        Ok(outcome)
    }

    /// Shows how far the operator is with a blueprint, until it is through.
    async fn follow(
        &self,
        connection: &Connection,
        blueprint: &Found,
        word: &str,
    ) -> Result<Outcome, Trouble> {
        let (title, started) = (blueprint.title(), Instant::now());
        let survey = Survey::new(connection.clone());
        let mut last = None;
        loop {
            let now = survey.blueprint(&blueprint.namespace, &blueprint.name).await?;
            let progress = now.as_ref().and_then(|it| Progress::of(it, word));
            match progress {
                None if now.is_none() => {
                    terminal::say(&format!("{title}: it is gone\n"));
                    return Ok(Outcome::Clean);
                }
                None if started.elapsed() > Duration::from_secs(self.patience) => {
                    let message = format!("no operator has answered for {title} within {} s", self.patience);
                    let hint = "is an operator running that looks after this namespace, and does it act for this blueprint? \
                                pemdas explain says what it tells";
                    return Ok(could_not_run(&message, Some(hint)));
                }
                None => {}
                Some(it) if it.is_over() => {
                    terminal::say(&format!("{title}: {}\n", end(&it)));
                    return Ok(if it.stuck == 0 { Outcome::Clean } else { Outcome::Problems });
                }
                Some(it) => {
                    if last.as_ref() != Some(&it) {
                        terminal::say(&format!("{title}: {} of {} instances\n", it.sealed, it.instances));
                    }
                    last = Some(it);
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// What came of it.
fn end(it: &Progress) -> String {
    let Progress { instances, sealed, stuck, named, older_keys, .. } = it;
    if !older_keys {
        return "the operator has no older key: nothing to seal".to_owned();
    }
    let far = format!("{sealed} of {instances} instances are sealed with the new key");
    if *stuck == 0 {
        return far;
    }
    format!(
        "{far}; {stuck} wait for something, which pemdas explain says ({}): keep the older key, and ask again later",
        named.join(", ")
    )
}

/// A word that nobody asked with before.
fn word() -> String {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_micros()).to_string()
}

#[cfg(test)]
mod tests {
    use pemdas_kube::reseal::Progress;

    use super::end;

    #[test]
    fn what_is_left_is_named_and_says_to_keep_the_key() {
        let all = Progress { older_keys: true, instances: 3, sealed: 3, ..Progress::default() };
        assert_eq!(end(&all), "3 of 3 instances are sealed with the new key");
        let named = vec!["Db.example.com shop/one".to_owned()];
        let some = end(&Progress { sealed: 2, stuck: 1, named, ..all.clone() });
        assert!(
            some.contains("2 of 3") && some.contains("shop/one") && some.contains("keep the older key"),
            "{some}"
        );
        assert!(end(&Progress { older_keys: false, ..all }).contains("no older key"));
    }
}
