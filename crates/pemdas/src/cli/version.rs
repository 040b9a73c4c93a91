//! `pemdas version`: what this program is, and what it reads and writes.

use clap::{Args, ValueEnum};
use pemdas_core::{crd::STATUS_VERSION, kube_types, world::SEAL_FORMAT};
use pemdas_nickel::LIBRARY;
use serde_json::json;

use super::{Outcome, explain::Format};

/// Show the version of this program, and the formats that it reads and writes
///
/// Another version with the same formats takes over what this one left in a cluster. CHANGELOG.md says what is promised about them.
#[derive(Debug, Args)]
pub(super) struct Version {
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Form {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

impl Form {
    /// The same of the commands that also print names of objects.
    fn format(self) -> Format {
        match self {
            Self::Text => Format::Text,
            Self::Json => Format::Json,
            Self::Yaml => Format::Yaml,
        }
    }
}

impl Version {
    pub(super) fn run(&self) -> Outcome {
        let version = env!("CARGO_PKG_VERSION");
        let types = kube_types::version();
        // What blueprints import: its files are parts of these.
        let libraries: Vec<_> =
            LIBRARY.iter().map(|it| it.name).filter(|it| it.ends_with("/v1.ncl")).collect();
        self.output.format().say(
            || {
                let formats = json!({ "claimsAndLedgers": SEAL_FORMAT, "status": STATUS_VERSION.to_string() });
                json!({ "version": version, "libraries": libraries, "formats": formats, "kubernetesTypes": types })
            },
            || {
                let libraries = libraries.join(", ");
                format!(
                    "pemdas {version}\n\
                     libraries           {libraries}\n\
                     claims and ledgers  format {SEAL_FORMAT}\n\
                     status              format {STATUS_VERSION}\n\
                     Kubernetes types    {types}\n"
                )
            },
            Vec::new,
        );
        Outcome::Clean
    }
}
