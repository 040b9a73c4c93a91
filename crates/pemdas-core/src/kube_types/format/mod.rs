//! The formats of values that Kubernetes knows: quantities, durations, names, labels, ports, times, base64.
//!
//! Each follows what the API server itself accepts, so that a value is refused here exactly if it is refused
//! there. `tests/kube_formats.rs` compares them with answers of Kubernetes' own code.

mod duration;
mod encoded;
mod name;
mod quantity;

pub use duration::{Duration, DurationError};
pub use encoded::{base64, date_time};
pub use name::{
    annotation_key, dns_1035_label, dns_label, dns_subdomain, label_key, label_value, path_segment, port,
    port_name,
};
pub use quantity::{Notation, Quantity, QuantityError};
