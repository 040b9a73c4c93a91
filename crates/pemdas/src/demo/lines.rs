//! A demonstration where there is no terminal: one line for each thing that changes.

use std::collections::BTreeMap;

use super::{tree::reason, watch::Watched};

/// What was told already.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// How each node is: by instance and node.
    nodes: BTreeMap<(String, String), (String, String)>,
    /// How each instance is.
    instances: BTreeMap<String, &'static str>,
    story: usize,
    /// What was wrong with the files.
    trouble: Vec<String>,
}

impl Told {
    /// What is new.
    pub(crate) fn news(&mut self, watched: &Watched<'_>) -> Vec<String> {
        let mut news = Vec::new();
        // First what is wrong with the files, or not any more: what the cluster makes of them comes after it.
        if self.trouble != watched.trouble {
            self.trouble.clone_from(&watched.trouble);
            let said = if self.trouble.is_empty() {
                vec!["the blueprint has no errors any more".to_owned()]
            } else {
                self.trouble.clone()
            };
            let when = watched.elapsed().as_secs_f64();
            news.extend(said.iter().map(|it| format!("{when:>6.1}s  {it}")));
        }
        for (when, moment) in watched.story.iter().skip(self.story) {
            news.push(format!("{:>6.1}s  {} {}", when.as_secs_f64(), moment.mark, moment.text));
        }
        self.story = watched.story.len();
        let when = format!("{:>6.1}s", watched.elapsed().as_secs_f64());
        let mut nodes = BTreeMap::new();
        let mut instances = BTreeMap::new();
        for instance in &watched.instances {
            let name = instance.root.to_string();
            for (slot, node) in &instance.nodes {
                let at = (name.clone(), slot.to_string());
                let now = (node.phase.clone(), reason(node));
                if self.nodes.get(&at) != Some(&now) {
                    let why = if now.1.is_empty() { String::new() } else { format!(": {}", now.1) };
                    news.push(format!("{when}  {name}  {slot} is {}{why}", now.0));
                }
                nodes.insert(at, now);
            }
            let state = instance.state.word();
            if self.instances.get(&name) != Some(&state) {
                let (ready, all) = Watched::count(instance);
                news.push(format!("{when}  {name}  is {state}, {ready} of {all} nodes ready"));
            }
            instances.insert(name, state);
        }
        for gone in self.instances.keys().filter(|it| !instances.contains_key(*it)) {
            news.push(format!("{when}  {gone}  is deleted"));
        }
        (self.nodes, self.instances) = (nodes, instances);
        news
    }
}
