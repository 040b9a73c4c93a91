//! What an operator may write under its own name: a short list, which the audit log is held against.

use pemdas_testbed::audit::Request;

/// Whether an operator wrote this under its own name, and it is not on the list. `at_home` says that it was in a namespace of the
/// operator's own.
pub(crate) fn oversteps(request: &Request, at_home: bool) -> bool {
    let reads = ["get", "list", "watch"].contains(&request.verb.as_str());
    request.impersonated.is_none() && !reads && !is_its_own(request, at_home)
}

/// Whether Pemdas may write this under its own name: its bookkeeping, what it tells, and taking its finalizers and notes off. Everything else is
/// written as the account of a blueprint.
fn is_its_own(request: &Request, at_home: bool) -> bool {
    let ledger = request.name.as_ref().is_none_or(|it| it.starts_with("pemdas-ledger-"));
    match request.resource.as_str() {
        "events" => ["create", "patch"].contains(&request.verb.as_str()),
        "subjectaccessreviews" | "selfsubjectaccessreviews" => request.verb == "create",
        "controllerrevisions" => true,
        "leases" => at_home,
        "secrets" if request.verb != "patch" => at_home || ledger,
        resource => {
            let told =
                ["metadata.annotations.pemdas.dev/status", "metadata.annotations.pemdas.dev/definitions"];
            let may_touch = |it: &String| {
                it == "metadata.finalizers"
                    || it.starts_with("metadata.annotations.pemdas.dev/memory")
                    || (resource == "configmaps" && told.contains(&it.as_str()))
            };
            request.verb == "patch" && !request.touched.is_empty() && request.touched.iter().all(may_touch)
        }
    }
}
