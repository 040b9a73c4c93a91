//! Every known difference between the simulator and the real API server, with its reason.
//!
//! An answer that differs fails the test unless a line here says why it may. What is not compared at all stands in
//! `docs/design/simulator.md`.

use pemdas_sim::Request;
use serde_json::Value;

/// An answer: code and body, normalised.
pub(crate) type Answer = (u16, Value);

/// A known difference.
pub(crate) struct Difference {
    /// Why it is so.
    #[allow(dead_code, reason = "it is for whoever reads this")]
    pub(crate) reason: &'static str,
    /// Whether it is this one.
    pub(crate) is: fn(&Request, real: &Answer, simulated: &Answer) -> bool,
}

fn message(answer: &Answer) -> &str {
    answer.1["message"].as_str().unwrap_or_default()
}

fn same_verdict(real: &Answer, simulated: &Answer) -> bool {
    real.0 == simulated.0 && real.1["reason"] == simulated.1["reason"]
}

/// What is wrong with the types of something that is applied.
fn mistakes(answer: &Answer) -> Option<Vec<&str>> {
    let (heading, rest) = message(answer).split_once("): ")?;
    heading
        .starts_with("failed to create typed patch object")
        .then(|| rest.strip_prefix("errors:\n").unwrap_or(rest).lines().map(str::trim).collect())
}

/// All of them.
pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        reason: "What Go's JSON decoder says of a value that it cannot read is not copied word by word: code and reason are the same.",
        is: |_, real, simulated| {
            same_verdict(real, simulated) && real.0 == 400 && message(real).contains("cannot be handled as")
        },
    },
    Difference {
        reason: "Several things that are wrong with an object are told in another order: the real server goes through maps of Go.",
        is: |_, real, simulated| {
            same_verdict(real, simulated) && real.0 == 422 && real.1["details"] == simulated.1["details"]
        },
    },
    Difference {
        reason: "Of something applied that has a field of no type, the real server tells only what it finds on the way to that field, and it goes through maps of Go: some of the mistakes, others each time.",
        is: |_, real, simulated| {
            let (Some(some), Some(all)) = (mistakes(real), mistakes(simulated)) else { return false };
            let undeclared = |it: &&str| it.ends_with("field not declared in schema");
            same_verdict(real, simulated)
                && some.iter().any(undeclared)
                && some.iter().all(|it| all.contains(it))
        },
    },
    Difference {
        reason: "A Service without a name: the real server finds out when it has failed to give it an address.",
        is: |_, real, simulated| {
            same_verdict(real, simulated) && message(real).contains("failed to allocate IP")
        },
    },
    Difference {
        reason: "For a resource that nothing defines, in a group that only definitions make, the real server answers with plain text.",
        is: |_, real, simulated| real.0 == 404 && simulated.0 == 404 && real.1.is_null(),
    },
];

/// Whether two answers are the same, or differ in a known way.
pub(crate) fn agree(request: &Request, real: &Answer, simulated: &Answer) -> bool {
    real == simulated || DIFFERENCES.iter().any(|one| (one.is)(request, real, simulated))
}
