//! What is done and then over: a Job is a node that runs once for what it does.

use serde_json::json;

use super::{
    Expression, Object, Part, What,
    draft::Once,
    hooks::{Hook, Phase, RELEASE},
    tree::Content,
};

/// The fields of a container that say what it does.
const WORK: &[&str] = &["image", "command", "args"];

/// A Job that deletes itself as soon as it has ended may be gone before anybody has seen how it ended.
const SOON: u64 = 60;

/// Takes that time out of Jobs.
pub(super) fn without_haste(objects: &mut [Object]) {
    for object in objects.iter_mut().filter(|it| it.kind == "Job") {
        let time = object.tree.find(&["spec", "ttlSecondsAfterFinished"]).map(|it| it.content.clone());
        let is_short = matches!(time, Some(Content::Number(it)) if it.as_u64().is_some_and(|it| it < SOON));
        if is_short {
            object.tree.remove(&["spec", "ttlSecondsAfterFinished"]);
            object.value = object.tree.to_json();
            object.remarks.push(
                "`ttlSecondsAfterFinished` is left out: the Job would go before its end is seen.".to_owned(),
            );
        }
    }
}

/// How the object of a template runs, if it is one that ends.
pub(super) fn of(object: &Object, template: &Expression) -> Option<Once> {
    let is_job = object.kind == "Job" && object.group() == "batch";
    let is_pod = object.kind == "Pod" && object.group().is_empty() && object.hook.is_some();
    if !is_job && !is_pod {
        return None;
    }
    let work = work(template, if is_pod { &["spec"] } else { &["spec", "template", "spec"] });
    let (key, skip_first) = match &object.hook {
        None => (work, false),
        Some(hook) => key_of(hook, work),
    };
    Some(Once { pod: is_pod, key, skip_first })
}

/// A hook of an installation runs once for each instance; one of an upgrade again whenever it does something else, or the user says so.
fn key_of(hook: &Hook, work: Expression) -> (Expression, bool) {
    let has = |all: &[Phase]| hook.phases.iter().any(|it| all.contains(it));
    if !has(&[Phase::PreUpgrade, Phase::PostUpgrade]) {
        let when = if has(&[Phase::PreDelete, Phase::PostDelete]) { "delete" } else { "install" };
        return (plain(What::Text(vec![Part::Literal(when.to_owned())])), false);
    }
    let release = plain(What::Read(RELEASE.to_owned()));
    let key = What::Record(vec![("release".to_owned(), release), ("work".to_owned(), work)]);
    (plain(key), !has(&[Phase::PreInstall, Phase::PostInstall]))
}

fn plain(what: What) -> Expression {
    Expression { what, above: Vec::new(), beside: None }
}

/// What the containers of a pod do: of one that has nothing but an image, the image.
fn work(template: &Expression, path: &[&str]) -> Expression {
    let pod = path.iter().try_fold(template, |it, name| field(it, name));
    let lists = ["initContainers", "containers"].iter().filter_map(|it| field(pod?, it));
    let containers = lists.flat_map(|it| match &it.what {
        What::List(items) => items.as_slice(),
        _ => &[],
    });
    let mut all: Vec<Expression> = containers.map(of_container).collect();
    match all.len() {
        1 => all.remove(0),
        _ => plain(What::List(all)),
    }
}

fn of_container(container: &Expression) -> Expression {
    let mut fields: Vec<(String, Expression)> = WORK
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), plain(field(container, name)?.what.clone()))))
        .collect();
    match fields.len() {
        0 => plain(What::Null),
        1 => fields.remove(0).1,
        _ => plain(What::Record(fields)),
    }
}

fn field<'a>(expression: &'a Expression, name: &str) -> Option<&'a Expression> {
    match &expression.what {
        What::Record(fields) => fields.iter().find(|it| it.0 == name).map(|it| &it.1),
        _ => None,
    }
}

/// The parameter with which a user says that the hooks of an upgrade run again.
pub(super) fn release() -> super::Parameter {
    super::Parameter {
        name: RELEASE.to_owned(),
        contract: super::Contract::Natural,
        doc: "Raise it to run again what runs at an upgrade.".to_owned(),
        value: json!(1),
        has_default: true,
    }
}
