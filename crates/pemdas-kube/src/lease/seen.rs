//! What a Lease says, and for how long it has said so.

use std::time::Duration;

use k8s_openapi::{
    api::coordination::v1::{Lease as LeaseObject, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::api::ObjectMeta;
use tokio::time::Instant;

use super::Candidate;

/// No record keeps others away for longer, whatever a hand wrote into it.
const MAX_DURATION: Duration = Duration::from_secs(600);

/// A Lease, and since when it has been as it is: by our clock, never by the one that is written in it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) lease: Option<LeaseObject>,
    since: Instant,
    not_before: Instant,
}

impl Seen {
    /// The same with what was found now. A record that has not changed keeps its age.
    pub(super) fn after(before: Option<Self>, lease: Option<LeaseObject>, now: Instant) -> Self {
        let since = match &before {
            Some(old) if record(old.lease.as_ref()) == record(lease.as_ref()) => old.since,
            _ => now,
        };
        Self { lease, since, not_before: before.map_or(now, |it| it.not_before) }
    }

    /// The same, left alone until then.
    pub(super) fn not_before(self, when: Instant) -> Self {
        Self { not_before: when, ..self }
    }

    /// When anybody may take it.
    pub(super) fn free_at(&self) -> Instant {
        if mutant!(LeaseTakenAtOnce) {
            return self.not_before;
        }
        let spec = self.lease.as_ref().and_then(|it| it.spec.as_ref());
        let held = spec.filter(|it| it.holder_identity.as_ref().is_some_and(|who| !who.is_empty()));
        let free = held.map_or(self.since, |it| {
            let seconds = it.lease_duration_seconds.and_then(|it| u64::try_from(it).ok()).unwrap_or_default();
            self.since + Duration::from_secs(seconds.max(1)).min(MAX_DURATION)
        });
        free.max(self.not_before)
    }
}

/// What a holder changes when it renews; what others write beside it does not make a dead holder live.
fn record(lease: Option<&LeaseObject>) -> Option<(Option<&LeaseSpec>, Option<&str>)> {
    lease.map(|it| (it.spec.as_ref(), it.metadata.uid.as_deref()))
}

/// How often the Lease changed hands.
pub(super) fn epoch(lease: &LeaseObject) -> u64 {
    let count = lease.spec.as_ref().and_then(|it| it.lease_transitions).unwrap_or_default();
    u64::try_from(count).unwrap_or_default()
}

/// The Lease as held by us in this epoch. What others wrote beside our fields stays.
pub(super) fn written(over: Option<LeaseObject>, candidate: &Candidate, epoch: u64) -> LeaseObject {
    let now = MicroTime(candidate.machine.now());
    let mut lease = over.unwrap_or_else(|| LeaseObject {
        metadata: ObjectMeta { name: Some(candidate.name.clone()), ..ObjectMeta::default() },
        spec: None,
    });
    let before = lease.spec.take().unwrap_or_default();
    let transitions = i32::try_from(epoch).unwrap_or(i32::MAX);
    let renewal = before.holder_identity.as_deref() == Some(&candidate.identity)
        && before.lease_transitions == Some(transitions);
    lease.spec = Some(LeaseSpec {
        acquire_time: before.acquire_time.filter(|_| renewal).or_else(|| Some(now.clone())),
        holder_identity: Some(candidate.identity.clone()),
        lease_duration_seconds: i32::try_from(candidate.timing.duration.as_secs()).ok(),
        lease_transitions: Some(transitions),
        renew_time: Some(now),
        preferred_holder: None,
        strategy: None,
    });
    lease
}

/// The Lease as nobody's. The count of its changes stays.
pub(super) fn released(mut lease: LeaseObject) -> LeaseObject {
    if let Some(spec) = &mut lease.spec {
        spec.holder_identity = None;
        spec.acquire_time = None;
        spec.renew_time = None;
        spec.lease_duration_seconds = Some(1);
    }
    lease
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Duration, Instant, LeaseObject, LeaseSpec, MicroTime, Seen};

    fn held(renewed_at: i64) -> Option<LeaseObject> {
        let spec = LeaseSpec {
            holder_identity: Some("a".to_owned()),
            lease_duration_seconds: Some(15),
            renew_time: Some(MicroTime(Timestamp::from_second(renewed_at).unwrap())),
            ..LeaseSpec::default()
        };
        Some(LeaseObject { spec: Some(spec), ..LeaseObject::default() })
    }

    #[test]
    fn the_clock_of_the_holder_does_not_matter() {
        let start = Instant::now();
        for written in [0, 4_000_000_000] {
            let seen = Seen::after(None, held(written), start);
            assert_eq!(seen.free_at(), start + Duration::from_secs(15), "counted from when it was seen");
        }
    }

    #[test]
    fn only_a_renewal_makes_a_record_young_again() {
        let start = Instant::now();
        let later = start + Duration::from_secs(10);
        let same = Seen::after(Some(Seen::after(None, held(1), start)), held(1), later);
        assert_eq!(same.free_at(), start + Duration::from_secs(15));
        let mut touched = held(1);
        touched.as_mut().unwrap().metadata.resource_version = Some("7".to_owned());
        let touched = Seen::after(Some(same), touched, later);
        assert_eq!(touched.free_at(), start + Duration::from_secs(15), "an annotation is no sign of life");
        // A clock that was set back still gives a record that differs.
        let renewed = Seen::after(Some(touched), held(0), later);
        assert_eq!(renewed.free_at(), later + Duration::from_secs(15));
    }

    #[test]
    fn nobodys_lease_is_free_at_once_and_no_record_lasts_for_ever() {
        let start = Instant::now();
        assert_eq!(Seen::after(None, None, start).free_at(), start);
        assert_eq!(Seen::after(None, held(1).map(super::released), start).free_at(), start);
        let mut forever = held(1);
        forever.as_mut().unwrap().spec.as_mut().unwrap().lease_duration_seconds = Some(i32::MAX);
        assert_eq!(Seen::after(None, forever, start).free_at(), start + super::MAX_DURATION);
    }
}
