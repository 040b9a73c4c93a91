//! What an account may do, as RBAC of a real API server has it.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::{Api, Client, api::PostParams};
use pemdas_kube::{
    access::{Access, Permission},
    identity::Identity,
};
use serde_json::json;

use crate::server::{client, namespace};

fn permission(
    verb: &str,
    group: &str,
    resource: &str,
    namespace: Option<&str>,
    name: Option<&str>,
) -> Permission {
    Permission {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.map(ToOwned::to_owned),
        name: name.map(ToOwned::to_owned),
    }
}

fn account_of(namespace: &str, name: &str) -> Identity {
    Identity::Account { namespace: namespace.to_owned(), name: name.to_owned() }
}

/// Lets the account do something in the namespace.
async fn grant(client: &Client, account: &Identity, namespace: &str, name: &str, rule: serde_json::Value) {
    let role: Role =
        serde_json::from_value(json!({ "metadata": { "name": name }, "rules": [rule] })).unwrap();
    let roles: Api<Role> = Api::namespaced(client.clone(), namespace);
    roles.create(&PostParams::default(), &role).await.unwrap();
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": account.user() }],
    }))
    .unwrap();
    let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), namespace);
    bindings.create(&PostParams::default(), &binding).await.unwrap();
}

#[tokio::test]
async fn what_an_account_may_not_do_is_named_and_found_again_when_it_is_granted() {
    let client = client().await;
    let namespace = namespace(&client, "access").await;
    let account = account_of(&namespace, "operator");
    let rule = json!({ "apiGroups": ["apps"], "resources": ["deployments", "deployments/status"], "verbs": ["get"] });
    grant(&client, &account, &namespace, "first", rule).await;
    let here = Some(namespace.as_str());
    let wanted = BTreeSet::from([
        permission("get", "apps", "deployments", here, None),
        permission("get", "apps", "deployments/status", here, Some("web")),
        permission("patch", "apps", "deployments", here, Some("web")),
        permission("list", "", "secrets", None, None),
    ]);
    let access = Access::new(client.clone());
    // The API server's authorizer learns of roles by a watch of its own.
    let sentences = crate::server::until("the role is in force", || async {
        access.forget(&account);
        let review = access.review(&account, &wanted).await;
        assert_eq!(review.unknown.len(), 0);
        (review.missing.len() == 2).then(|| review.sentences(&account))
    })
    .await;
    assert_eq!(
        sentences,
        [
            format!("ServiceAccount {namespace}/operator may not list secrets in the whole cluster"),
            format!(
                "ServiceAccount {namespace}/operator may not patch deployments of apps named web in namespace {namespace}"
            ),
        ]
    );

    // Answers are remembered: what is granted is seen when they are too old, or are known to be.
    let rule = json!({ "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"] });
    grant(&client, &account, &namespace, "second", rule).await;
    assert_eq!(access.review(&account, &wanted).await.missing.len(), 2);
    crate::server::until("the grant is seen", || async {
        access.forget(&account);
        (access.review(&account, &wanted).await.missing.len() == 1).then_some(())
    })
    .await;

    let other = account_of(&namespace, "another");
    assert_eq!(access.review(&other, &wanted).await.missing, wanted, "answers are of one account only");
    assert!(access.review(&Identity::Pemdas, &wanted).await.is_complete(), "this test runs as the admin");
}

#[tokio::test]
async fn remembered_answers_cost_no_request() {
    let client = client().await;
    let namespace = namespace(&client, "access").await;
    let account = account_of(&namespace, "operator");
    let (gated, shut) = crate::server::gated_client().await;
    let access = Access::new(gated);
    let known = BTreeSet::from([permission("get", "", "pods", Some(&namespace), None)]);
    assert_eq!(access.review(&account, &known).await.missing, known);
    // Without a way to the server, only what is remembered can be answered.
    shut.send(true).unwrap();
    assert_eq!(access.review(&account, &known).await.missing, known);
    let fresh = BTreeSet::from([permission("get", "", "services", Some(&namespace), None)]);
    let review = access.review(&account, &fresh).await;
    assert!(review.missing.is_empty() && !review.is_complete(), "not known is not allowed: {review:?}");
}

#[tokio::test]
async fn who_asks_the_same_at_the_same_time_asks_once() {
    let client = client().await;
    let namespace = namespace(&client, "access").await;
    let account = account_of(&namespace, "operator");
    let wanted: BTreeSet<_> = ["pods", "services", "secrets", "configmaps"]
        .map(|resource| permission("get", "", resource, Some(&namespace), None))
        .into();
    let access = Access::new(client);
    let reviews = futures::future::join_all((0..5).map(|_| access.review(&account, &wanted))).await;
    assert!(reviews.iter().all(|it| it.missing == wanted));
    // The audit log may be behind for a moment: what another account asks afterwards says when it is not.
    let last = account_of(&namespace, "last");
    access.review(&last, &wanted).await;
    let log = &crate::server::cluster().ready().audit_log;
    let asked = crate::server::until("the questions are in the log", || async {
        let (requests, _) = pemdas_testbed::audit::read(log, 0).unwrap();
        let of = |who: &Identity| {
            requests.iter().filter(|it| it.complete && it.impersonated == who.user()).count()
        };
        (of(&last) == wanted.len()).then(|| of(&account))
    })
    .await;
    assert_eq!(asked, wanted.len());
}
