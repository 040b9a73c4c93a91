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
    ) -> Review {
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
        review.unknown.extend(wide.unknown);
        review
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
