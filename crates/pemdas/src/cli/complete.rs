//! What a shell offers while a command is typed: names of kinds, objects, namespaces and contexts, as the cluster has them now.
//!
//! A shell is never kept waiting for long, and never told of trouble: whoever presses a key wants names or nothing.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    time::Duration,
};

use clap::CommandFactory as _;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use pemdas_kube::{
    connect::{Target, connect, contexts},
    resource::Resource,
    survey::{Kinds, Survey},
};

use super::Arguments;

/// How long a shell waits for a cluster, in seconds, where [`WAITING`] does not say otherwise.
const PATIENCE: u64 = 2;
/// The variable that says so: for clusters that are far away, and machines that are slow.
const WAITING: &str = "PEMDAS_COMPLETE_SECONDS";
/// The variable by which a shell asks for completions.
pub(super) const ASKED: &str = "PEMDAS_COMPLETE";
/// By this name `kubectl` asks a plugin for completions.
const FOR_KUBECTL: &str = "kubectl_complete-pemdas";

/// Answers a shell, if one asks; whether it did.
pub(crate) fn answered() -> bool {
    let mut words = std::env::args_os();
    let program = words.next().map(PathBuf::from).unwrap_or_default();
    if program.file_name() == Some(OsStr::new(FOR_KUBECTL)) {
        for_kubectl(words.collect());
        return true;
    }
    let asked = clap_complete::CompleteEnv::with_factory(Arguments::command).var(ASKED);
    asked.try_complete(std::env::args_os(), std::env::current_dir().ok().as_deref()).unwrap_or(true)
}

/// As `kubectl` reads it: a line for each candidate, then a number that says that files are not meant besides, and whether a word goes
/// on after what was completed.
fn for_kubectl(words: Vec<OsString>) {
    let words: Vec<OsString> = std::iter::once("kubectl-pemdas".into()).chain(words).collect();
    let (last, folder) = (words.len() - 1, std::env::current_dir().ok());
    let mut command = Arguments::command();
    let found = clap_complete::engine::complete(&mut command, words, last, folder.as_deref());
    let (mut text, mut goes_on) = (String::new(), false);
    for candidate in found.unwrap_or_default() {
        let value = candidate.get_value().to_string_lossy();
        goes_on |= value.ends_with('/');
        text.push_str(&value);
        if let Some(help) = candidate.get_help() {
            text.push('\t');
            text.push_str(help.to_string().lines().next().unwrap_or_default());
        }
        text.push('\n');
    }
    crate::terminal::hand_over(&format!("{text}:{}\n", if goes_on { 6 } else { 4 }));
}

/// KIND.
pub(super) fn kinds() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let kinds = asked(async |survey| Some(words(&survey.kinds().await.ok()?))).unwrap_or_default();
        beginning(kinds, &current.to_string_lossy())
    })
}

/// KIND/NAME, or KIND.
pub(super) fn objects() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| named(&current.to_string_lossy(), true))
}

/// A file, or KIND/NAME.
pub(super) fn files_or_objects() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let text = current.to_string_lossy();
        let mut found = PathCompleter::any().stdio().complete(current);
        // Whoever begins with a dot or a slash means a file.
        if !text.starts_with(['.', '/', '~']) && (found.is_empty() || text.is_empty()) {
            found.extend(named(&text, false));
        }
        found
    })
}

/// The namespaces of the cluster.
pub(super) fn namespaces() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let found = asked(async |survey| {
            let resource = Resource::built_in("v1", "Namespace")?;
            let all = survey.list(&resource, None, None).await.ok()?;
            Some(all.into_iter().map(|it| it.key.name.clone()).collect())
        });
        beginning(found.unwrap_or_default(), &current.to_string_lossy())
    })
}

/// The contexts of the kubeconfig.
pub(super) fn of_kubeconfig() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let kubeconfig = said(&["--kubeconfig"]).map(PathBuf::from);
        beginning(contexts(kubeconfig.as_deref()), &current.to_string_lossy())
    })
}

/// Kinds, or objects of one; a kind may stand alone, or wants a name.
fn named(current: &str, alone: bool) -> Vec<CompletionCandidate> {
    let Some((kind, _)) = current.split_once('/') else {
        let kinds = asked(async |survey| Some(words(&survey.kinds().await.ok()?))).unwrap_or_default();
        let ending = if alone { "" } else { "/" };
        return beginning(kinds.into_iter().map(|it| format!("{it}{ending}")).collect(), current);
    };
    let found = asked(async |survey| {
        let kinds = survey.kinds().await.ok()?;
        let resource = &kinds.find(kind)?.resource;
        let namespace = said(&["-n", "--namespace"]).unwrap_or_else(|| survey.namespace().to_owned());
        let everywhere = !resource.namespaced || flagged(&["-A", "--all-namespaces"]);
        let place = (!everywhere).then_some(namespace.as_str());
        let all = survey.list(resource, place, None).await.ok()?;
        Some(all.into_iter().map(|it| format!("{kind}/{}", it.key.name)).collect())
    });
    beginning(found.unwrap_or_default(), current)
}

/// The words for kinds: in the plural, with the group where the same word names several.
fn words(kinds: &Kinds) -> Vec<String> {
    let same = |plural: &str| kinds.iter().filter(|it| it.resource.plural == plural).count();
    let word = |it: &pemdas_kube::survey::Served| match same(&it.resource.plural) {
        1 => it.resource.plural.clone(),
        _ => it.word(),
    };
    let mut words: Vec<_> = kinds.iter().map(word).collect();
    words.sort();
    words.dedup();
    words
}

fn beginning(words: Vec<String>, current: &str) -> Vec<CompletionCandidate> {
    let fits = words.into_iter().filter(|it| it.starts_with(current));
    fits.map(CompletionCandidate::new).collect()
}

/// Asks the cluster that is meant by what was typed so far.
fn asked<T>(question: impl AsyncFnOnce(&Survey) -> Option<T>) -> Option<T> {
    let kubeconfig = said(&["--kubeconfig"]).map(PathBuf::from);
    let target = Target { kubeconfig, context: said(&["--context"]) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let answer = runtime.block_on(async {
        let all = async { question(&Survey::new(connect(&target).await.ok()?)).await };
        tokio::time::timeout(patience(), all).await.ok().flatten()
    });
    runtime.shutdown_background();
    answer
}

fn patience() -> Duration {
    let seconds = std::env::var(WAITING).ok().and_then(|it| it.parse().ok());
    Duration::from_secs(seconds.unwrap_or(PATIENCE))
}

/// The value of a flag among the words that were typed.
fn said(flags: &[&str]) -> Option<String> {
    value_of(flags, std::env::args_os().map(|it| it.to_string_lossy().into_owned()))
}

fn value_of(flags: &[&str], words: impl Iterator<Item = String>) -> Option<String> {
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        for flag in flags {
            if word == *flag {
                return words.peek().filter(|it| !it.is_empty()).cloned();
            }
            if let Some(value) = word.strip_prefix(flag).and_then(|it| it.strip_prefix('=')) {
                return Some(value.to_owned());
            }
        }
    }
    None
}

fn flagged(flags: &[&str]) -> bool {
    std::env::args_os().any(|it| flags.iter().any(|flag| it == *flag))
}

#[cfg(test)]
mod tests {
    use super::value_of;

    #[test]
    fn a_flag_is_found_as_kubectl_takes_it() {
        let value = |line: &str| value_of(&["-n", "--namespace"], line.split(' ').map(str::to_owned));
        assert_eq!(value("pemdas explain foo/ -n shop").as_deref(), Some("shop"));
        assert_eq!(value("pemdas explain --namespace=shop foo/").as_deref(), Some("shop"));
        assert_eq!(value("pemdas explain --namespace shop").as_deref(), Some("shop"));
        assert_eq!(value("pemdas explain foo -n"), None);
        assert_eq!(value("pemdas explain -no"), None);
    }
}
