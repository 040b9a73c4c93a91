//! What an account may do, asked of the API server itself.
//!
//! A fact reaches an instance only if its account may see it, and what an account may not do is told by name when a
//! blueprint is loaded. Both ask here. Answers are remembered for a while, because there are as many questions as
//! resources; not for long, because rights change without a sign.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::{Api, Client, api::PostParams};
use pemdas_core::rights::{Reach, Right};
use tokio::time::{Instant, timeout};

use crate::identity::{Clients, Identity};

/// How long a permission is believed.
pub const ALLOWED_FOR: Duration = Duration::from_secs(300);
/// How long a missing one is: somebody is probably about to grant it.
pub const DENIED_FOR: Duration = Duration::from_secs(30);
/// How many answers are remembered.
pub const MAX_ANSWERS: usize = 10_000;
/// How many questions are under way at once.
const AT_ONCE: usize = 8;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Something that an account may need to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// `get`, `list`, `watch`, `create`, `patch`, `delete`, ...
    pub verb: String,
    /// The API group; empty for the oldest one.
    pub group: String,
    /// The plural name of the resource, with its subresource after a slash.
    pub resource: String,
    /// The namespace; none for all of them, or for what lives in none.
    pub namespace: Option<String>,
    /// One object; none for all.
    pub name: Option<String>,
}

impl std::fmt::Display for Permission {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(out, " of {}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(out, " named {name}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(out, " in namespace {namespace}"),
            None => write!(out, " in the whole cluster"),
        }
    }
}

/// Rights as they are asked for, each with whether namespaces suffice where it is not given in the whole cluster. What is
/// needed in certain namespaces only is asked for there.
#[must_use]
pub fn permissions(rights: &BTreeMap<Right, BTreeSet<String>>, home: &str) -> BTreeMap<Permission, bool> {
    let permission = |right: &Right| {
        let namespace = match &right.reach {
            Reach::Cluster | Reach::Everywhere => None,
            Reach::Home => Some(home.to_owned()),
            Reach::Namespace(namespace) => Some(namespace.clone()),
        };
        let permission = Permission {
            verb: right.verb.to_owned(),
            group: right.group.clone(),
            resource: right.resource.clone(),
            namespace,
            name: right.name.clone(),
        };
        (permission, right.reach == Reach::Everywhere)
    };
    rights.keys().map(permission).collect()
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Review {
    /// What the account may not do.
    pub missing: BTreeSet<Permission>,
    /// What could not be found out, and why. It counts as missing until it can.
    pub unknown: BTreeMap<Permission, String>,
}

/// What came of asking where namespaces may suffice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Within {
    /// What is missing: named by namespace where the whole cluster is not needed.
    pub review: Review,
    /// What is not given in the whole cluster, or not known to be.
    not_wide: BTreeSet<Permission>,
    /// The namespaces that were asked about.
    namespaces: BTreeSet<String>,
}

impl Within {
    /// Whether everything that was asked about a resource and its subresources may be done in a namespace, or with none in the
    /// whole cluster; nothing where that could not be found out. What was not asked there is not given there.
    #[must_use]
    pub fn allows(&self, group: &str, resource: &str, namespace: Option<&str>) -> Option<bool> {
        let of_it = |it: &&Permission| it.group == group && it.resource.split('/').next() == Some(resource);
        let mut found = Some(true);
        for wide in self.not_wide.iter().filter(of_it) {
            let here = match (&wide.namespace, namespace) {
                // It is wanted in that namespace alone.
                (Some(only), _) if namespace != Some(only) => continue,
                (None, Some(at)) if self.namespaces.contains(at) => {
                    Permission { namespace: Some(at.to_owned()), ..wide.clone() }
                }
                (None, Some(_)) => return Some(false),
                (Some(_), _) | (None, None) => wide.clone(),
            };
            if self.review.unknown.contains_key(wide) || self.review.unknown.contains_key(&here) {
                found = None;
            } else if here == *wide || self.review.missing.contains(&here) {
                return Some(false);
            }
        }
        found
    }
}

impl Review {
    /// Whether everything may be done.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.unknown.is_empty()
    }

    /// In sentences, one for each permission.
    #[must_use]
    pub fn sentences(&self, who: &Identity) -> Vec<String> {
        let who = match who {
            Identity::Pemdas => "Pemdas itself".to_owned(),
            Identity::Account { namespace, name } => format!("ServiceAccount {namespace}/{name}"),
        };
        let missing = self.missing.iter().map(|it| format!("{who} may not {it}"));
        let unknown = self
            .unknown
            .iter()
            .map(|(it, why)| format!("whether {who} may {it} could not be found out: {why}"));
        missing.chain(unknown).collect()
    }
}

/// Asks, and remembers the answers for a while.
pub struct Access {
    others: Api<SubjectAccessReview>,
    clients: Mutex<Clients>,
    answers: Mutex<BTreeMap<(Identity, Permission), Answer>>,
    /// Accounts that are asked about now: whoever wants to know the same waits for the answers.
    turns: Mutex<BTreeMap<Identity, Arc<tokio::sync::Mutex<()>>>>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Access").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy)]
struct Answer {
    allowed: bool,
    until: Instant,
}

impl Access {
    /// Asks by this client, in the name of the account: everybody may ask about himself. Where even that is refused, it
    /// asks about the account, for which the client has to have the right.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let clients = Mutex::new(Clients::new(client.clone()));
        Self { others: Api::all(client), clients, answers: Mutex::default(), turns: Mutex::default() }
    }

    /// What of this the account may not do.
    pub async fn review(&self, who: &Identity, wanted: &BTreeSet<Permission>) -> Review {
        let (review, open) = self.known(who, wanted);
        if open.is_empty() {
            return review;
        }
        let turn = self.turn(who);
        let _alone = turn.lock().await;
        // Somebody may have asked the same meanwhile.
        let (mut review, open) = self.known(who, wanted);
        let mut asked = stream::iter(open)
            .map(|permission| async {
                let answer = self.ask(who, &permission).await;
                (permission, answer)
            })
            .buffer_unordered(AT_ONCE);
        while let Some((permission, answer)) = asked.next().await {
            match answer {
                Ok(allowed) => {
                    self.remember(who, &permission, allowed);
                    if !allowed {
                        review.missing.insert(permission);
                    }
                }
                Err(why) => drop(review.unknown.insert(permission, why)),
            }
        }
        review
    }

    /// The same for permissions that suffice in some namespaces where they are not given in the whole cluster; each with
    /// whether its kind lives in namespaces. What is missing is named by namespace then.
    pub async fn review_within(
        &self,
        who: &Identity,
        wanted: &BTreeMap<Permission, bool>,
        namespaces: &BTreeSet<String>,
    ) -> Within {
        let wide = self.review(who, &wanted.keys().cloned().collect()).await;
        let is_local = |it: &&Permission| wanted.get(*it) == Some(&true);
        let narrow: BTreeSet<_> = wide
            .missing
            .iter()
            .filter(is_local)
            .flat_map(|it| {
                namespaces.iter().map(|at| Permission { namespace: Some(at.clone()), ..it.clone() })
            })
            .collect();
        let mut review = self.review(who, &narrow).await;
        review.missing.extend(wide.missing.iter().filter(|it| !is_local(it)).cloned());
        let not_wide = wide.missing.into_iter().chain(wide.unknown.keys().cloned()).collect();
        review.unknown.extend(wide.unknown);
        Within { review, not_wide, namespaces: namespaces.clone() }
    }

    /// Forgets what is known of an account: it was just refused something, or its rights are known to have changed.
    pub fn forget(&self, who: &Identity) {
        self.answers().retain(|(whose, _), _| whose != who);
    }

    /// Forgets some answers: they are asked anew.
    pub fn forget_these(&self, who: &Identity, asked: &BTreeSet<Permission>) {
        self.answers().retain(|(whose, permission), _| whose != who || !asked.contains(permission));
    }

    /// What is remembered, and what has to be asked.
    fn known(&self, who: &Identity, wanted: &BTreeSet<Permission>) -> (Review, Vec<Permission>) {
        let (mut review, mut open) = (Review::default(), Vec::new());
        let now = Instant::now();
        for permission in wanted {
            match self.remembered(who, permission, now) {
                Some(true) => {}
                Some(false) => drop(review.missing.insert(permission.clone())),
                None => open.push(permission.clone()),
            }
        }
        (review, open)
    }

    fn turn(&self, who: &Identity) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(who.clone()).or_default().clone()
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, BTreeMap<(Identity, Permission), Answer>> {
        // A panic elsewhere cannot leave a half-written answer.
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remembered(&self, who: &Identity, permission: &Permission, now: Instant) -> Option<bool> {
        let answers = self.answers();
        let found = answers.get(&(who.clone(), permission.clone()))?;
        (now < found.until).then_some(found.allowed)
    }

    fn remember(&self, who: &Identity, permission: &Permission, allowed: bool) {
        let now = Instant::now();
        let mut answers = self.answers();
        if answers.len() >= MAX_ANSWERS {
            answers.retain(|_, it| now < it.until);
        }
        if answers.len() >= MAX_ANSWERS {
            // They are asked again, which costs requests and does no harm.
            answers.clear();
        }
        let until = now + if allowed { ALLOWED_FOR } else { DENIED_FOR };
        answers.insert((who.clone(), permission.clone()), Answer { allowed, until });
    }

    async fn ask(&self, who: &Identity, permission: &Permission) -> Result<bool, String> {
        match timeout(PATIENCE, self.send(who, attributes(permission))).await {
            Ok(Ok(status)) => match status.evaluation_error.filter(|_| !status.allowed) {
                Some(why) => Err(why),
                None => Ok(status.allowed),
            },
            Ok(Err(kube::Error::Api(status))) => Err(status.message),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }

    async fn send(
        &self,
        who: &Identity,
        attributes: ResourceAttributes,
    ) -> Result<SubjectAccessReviewStatus, kube::Error> {
        let resource_attributes = Some(attributes);
        let parameters = PostParams::default();
        let spec = SelfSubjectAccessReviewSpec {
            resource_attributes: resource_attributes.clone(),
            ..SelfSubjectAccessReviewSpec::default()
        };
        let body = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
        let client = self.clients.lock().unwrap_or_else(PoisonError::into_inner).of(who);
        let asked = Api::<SelfSubjectAccessReview>::all(client).create(&parameters, &body).await;
        let status = match (asked, who) {
            (Err(kube::Error::Api(refused)), Identity::Account { namespace, .. }) if refused.code == 403 => {
                let spec = SubjectAccessReviewSpec {
                    user: who.user(),
                    groups: Some(groups(namespace)),
                    resource_attributes,
                    ..SubjectAccessReviewSpec::default()
                };
                let body = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
                self.others.create(&parameters, &body).await?.status
            }
            (asked, _) => asked?.status,
        };
        Ok(status.unwrap_or_default())
    }
}

/// The groups that the API server puts the accounts of a namespace into. A review does not add them by itself.
fn groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
        "system:authenticated".to_owned(),
    ]
}

fn attributes(permission: &Permission) -> ResourceAttributes {
    let (resource, subresource) = match permission.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (permission.resource.as_str(), None),
    };
    ResourceAttributes {
        group: Some(permission.group.clone()),
        name: permission.name.clone(),
        namespace: permission.namespace.clone(),
        resource: Some(resource.to_owned()),
        subresource,
        verb: Some(permission.verb.clone()),
        version: Some("*".to_owned()),
        ..ResourceAttributes::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{Permission, Review, Within};

    fn may(verb: &str, resource: &str, namespace: Option<&str>) -> Permission {
        Permission {
            verb: verb.to_owned(),
            group: "g".to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: None,
        }
    }

    fn within(not_wide: &[Permission], missing: &[Permission], unknown: &[Permission]) -> Within {
        let unknown: BTreeMap<_, _> = unknown.iter().map(|it| (it.clone(), String::new())).collect();
        Within {
            review: Review { missing: missing.iter().cloned().collect(), unknown },
            not_wide: not_wide.iter().cloned().collect(),
            namespaces: BTreeSet::from(["a".to_owned(), "b".to_owned()]),
        }
    }

    #[test]
    fn what_is_given_in_the_whole_cluster_is_given_in_each_namespace() {
        let all = within(&[], &[], &[]);
        assert_eq!([None, Some("a"), Some("c")].map(|it| all.allows("g", "notes", it)), [Some(true); 3]);
    }

    #[test]
    fn what_is_given_in_a_namespace_is_given_nowhere_else() {
        let status = |at| may("update", "notes/status", at);
        let it = within(&[status(None)], &[status(Some("b"))], &[]);
        let given = [Some("a"), Some("b"), Some("c"), None].map(|at| it.allows("g", "notes", at));
        assert_eq!(given, [Some(true), Some(false), Some(false), Some(false)]);
        assert_eq!(it.allows("g", "other", None), Some(true), "another kind");
        assert_eq!(it.allows("h", "notes", None), Some(true), "another group");
    }

    #[test]
    fn what_could_not_be_found_out_is_neither_given_nor_refused() {
        let list = |at| may("list", "notes", at);
        let wide = within(&[list(None)], &[], &[list(None)]);
        assert_eq!(wide.allows("g", "notes", Some("a")), None);
        let narrow = within(&[list(None)], &[list(Some("b"))], &[list(Some("a"))]);
        assert_eq!(
            [Some("a"), Some("b"), None].map(|at| narrow.allows("g", "notes", at)),
            [None, Some(false), Some(false)]
        );
    }
}
