//! Jobs that Kubernetes deletes some time after they have finished, on nodes that want them to be there: they run again and again.

use pemdas_core::{
    blueprint::{Blueprint, Body},
    diagnostic::Diagnostic,
    kube_types::template_tree::Form,
};

use super::{
    codes,
    outliner::{Outliner, Spot},
};

/// Looks at every Job.
pub(super) fn run(outliner: &mut Outliner<'_>, blueprint: &Blueprint) {
    let mut found = Vec::new();
    for (name, node) in &blueprint.nodes {
        let Body::Template(template) = &node.body else { continue };
        let is_job = template.object.kind.known() == Some("Job")
            && template.object.api_version.known().is_some_and(|it| it.starts_with("batch/"));
        if !is_job || node.once.is_some() || node.state_of.is_some() {
            continue;
        }
        let spot = Spot::root().field("nodes").field(name).field("template");
        let written = outliner.written(&spot, &template.function.span);
        let time = written.as_ref().and_then(|it| it.field("spec")?.field("ttlSecondsAfterFinished"));
        let Some(time) = time.filter(|it| it.form != Form::Null) else { continue };
        found.push(
            Diagnostic::warning(
                codes::MADE_AGAIN,
                format!(
                    "the Job of `{name}` deletes itself when it has finished, and is made again for ever"
                ),
            )
            .at(time.span.clone().unwrap_or_else(|| node.span.clone()), "it goes after this time")
            .hint("say `once = true`: that it is done is remembered"),
        );
    }
    outliner.diagnostics.extend(found);
}
