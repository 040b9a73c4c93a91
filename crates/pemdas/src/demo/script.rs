//! How an example is played: `demo.yaml` in its folder says what a simulated cluster cannot know.

use std::collections::BTreeMap;

use pemdas_sim::{Answer, Behaviour, Outcome, Rule, Scenario};
use serde::Deserialize;
use serde_json::Value;

/// The name of the file.
pub(crate) const FILE: &str = "demo.yaml";

/// How long workloads take unless the script says otherwise, in milliseconds: long enough to be seen.
const PACE: &[(&str, u64)] =
    &[("Deployment", 2_000), ("StatefulSet", 2_000), ("DaemonSet", 2_000), ("Job", 2_000)];

/// What `demo.yaml` says. All of it may be left out.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Script {
    /// The manifests to apply, in this order; all of `sample` where nothing is said.
    pub(crate) apply: Option<Vec<String>>,
    /// What Services answer.
    services: Vec<Served>,
    /// How workloads behave.
    workloads: Vec<Workload>,
    /// What is worth trying.
    #[serde(rename = "try")]
    pub(crate) attempts: Vec<Attempt>,
}

/// What Services with a label answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Served {
    /// As `name=value`.
    label: String,
    path: String,
    /// A text or JSON; `$(NAME)` is a variable of the container behind it.
    answers: Value,
}

/// How some workloads behave.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workload {
    kind: Option<String>,
    name: Option<String>,
    /// As `name=value`.
    label: Option<String>,
    /// After so many seconds.
    after: Option<f64>,
    /// It fails, with this message.
    fails: Option<String>,
}

/// A command to try.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attempt {
    /// The command.
    pub(crate) run: String,
    /// What is seen then.
    pub(crate) then: String,
}

impl Script {
    /// Reads it from the manifests of a folder.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(manifests: &BTreeMap<String, String>) -> Result<Self, String> {
        let Some(text) = manifests.get(FILE) else { return Ok(Self::default()) };
        let script: Self = serde_saphyr::from_str(text).map_err(|error| {
            // Below the first line stands a snippet of the file.
            let said = error.to_string();
            format!("{FILE}: {}", said.lines().next().unwrap_or_default().trim_start_matches("error: "))
        })?;
        script.scenario()?;
        Ok(script)
    }

    /// How the cluster behaves.
    ///
    /// # Errors
    /// What is wrong with the script.
    pub(crate) fn scenario(&self) -> Result<Scenario, String> {
        let pace = |kind: &str| PACE.iter().find(|(known, _)| *known == kind).map(|it| it.1);
        let mut rules = Vec::new();
        for workload in &self.workloads {
            let usual = workload.kind.as_deref().and_then(pace).unwrap_or(Behaviour::default().after);
            let outcome = workload.fails.clone().map_or(Outcome::Ready, Outcome::Fails);
            rules.push(Rule {
                kind: workload.kind.clone(),
                name: workload.name.clone(),
                label: workload.label.as_deref().map(label).transpose()?,
                behaviour: Behaviour {
                    after: workload.after.map_or(Ok(usual), millis)?,
                    outcome,
                    status: None,
                },
                ..Rule::default()
            });
        }
        rules.extend(PACE.iter().map(|(kind, after)| Rule {
            kind: Some((*kind).to_owned()),
            behaviour: Behaviour { after: *after, outcome: Outcome::Ready, status: None },
            ..Rule::default()
        }));
        let answers = self.services.iter().map(|it| {
            let (path, body) = (it.path.clone(), it.answers.clone());
            Ok(Answer { label: Some(label(&it.label)?), path, body, ..Answer::default() })
        });
        Ok(Scenario { rules, answers: answers.collect::<Result<_, String>>()?, ..Scenario::default() })
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let pair =
        text.split_once('=').ok_or_else(|| format!("{FILE}: {text:?} is no label: write name=value"))?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

fn millis(seconds: f64) -> Result<u64, String> {
    if !(0.0..=3_600.0).contains(&seconds) {
        return Err(format!("{FILE}: after: {seconds} is no time between 0 and 3600 seconds"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within these bounds")]
    let millis = (seconds * 1_000.0) as u64;
    Ok(millis)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pemdas_sim::Outcome;

    use super::{FILE, Script};

    fn read(text: &str) -> Result<Script, String> {
        Script::read(&BTreeMap::from([(FILE.to_owned(), text.to_owned())]))
    }

    #[test]
    fn what_it_says_comes_before_the_usual() {
        let text = "workloads: [{ kind: Job, label: a=b, fails: no }]\nservices: [{ label: x=y, path: /p, answers: hi }]";
        let scenario = read(text).unwrap().scenario().unwrap();
        assert_eq!(scenario.rules[0].behaviour.outcome, Outcome::Fails("no".to_owned()));
        assert_eq!(scenario.rules[0].label, Some(("a".to_owned(), "b".to_owned())));
        assert_eq!(scenario.answers[0].path, "/p");
        assert!(read("{}").unwrap().apply.is_none());
    }

    #[test]
    fn mistakes_are_told() {
        for (text, part) in [
            ("aply: []", "unknown field"),
            ("workloads: [{ label: a }]", "is no label"),
            ("workloads: [{ after: -1 }]", "is no time"),
            ("workloads: [{ after: .nan }]", "is no time"),
            ("{{{", "demo.yaml: "),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
