//! What the API server demands of some fields beyond what the OpenAPI document says.
//!
//! Only what it refuses for certain: a rule that is right most of the time would refuse somebody's good object.

use crate::kube_types::format;
use crate::kube_types::kind::Kind;

/// A demand on the value of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    /// The keys and values of labels.
    Labels,
    /// The keys of annotations.
    Annotations,
    /// A text in a format.
    Text(fn(&str) -> Result<(), &'static str>),
    /// The number of a port.
    Port,
    /// The number of a port, or 0 for none.
    PortOrNone,
    /// The number or the name of a port.
    PortOrName,
}

/// The rule of a field of a type.
pub(crate) fn rule_of(owner: &str, field: &str) -> Option<Rule> {
    Some(match (owner, field) {
        ("meta/v1/ObjectMeta", "labels")
        | ("meta/v1/LabelSelector", "matchLabels")
        | ("core/v1/ServiceSpec" | "core/v1/ReplicationControllerSpec", "selector")
        | ("core/v1/PodSpec", "nodeSelector") => Rule::Labels,
        ("meta/v1/ObjectMeta", "annotations") => Rule::Annotations,
        ("meta/v1/ObjectMeta", "namespace")
        | ("core/v1/Container" | "core/v1/EphemeralContainer" | "core/v1/Volume", "name") => {
            Rule::Text(format::dns_label)
        }
        ("core/v1/ContainerPort", "name") => Rule::Text(format::port_name),
        ("core/v1/ContainerPort", "containerPort") | ("core/v1/ServicePort", "port") => Rule::Port,
        ("core/v1/ContainerPort", "hostPort") => Rule::PortOrNone,
        ("core/v1/HTTPGetAction" | "core/v1/TCPSocketAction", "port")
        | ("core/v1/ServicePort", "targetPort") => Rule::PortOrName,
        _ => return None,
    })
}

/// What the name of an object of a kind must be.
pub(crate) fn name_rule(kind: &Kind) -> fn(&str) -> Result<(), &'static str> {
    match (kind.group(), kind.name) {
        ("rbac.authorization.k8s.io", _)
        | (_, "IPAddress" | "ClusterTrustBundle" | "Event" | "StorageVersion") => format::path_segment,
        ("", "Namespace" | "Service") => format::dns_label,
        _ => format::dns_subdomain,
    }
}

/// Who writes a field of the metadata, if it is not the author of the object.
pub(crate) fn server_field(owner: &str, field: &str) -> Option<&'static str> {
    let server = matches!(
        (owner, field),
        (
            "meta/v1/ObjectMeta",
            "creationTimestamp"
                | "deletionGracePeriodSeconds"
                | "deletionTimestamp"
                | "generation"
                | "managedFields"
                | "resourceVersion"
                | "selfLink"
                | "uid"
        )
    );
    server.then_some("the API server")
}
