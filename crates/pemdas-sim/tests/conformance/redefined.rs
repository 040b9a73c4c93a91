//! A watch keeps the schema that the CRD had when the watch began. The server ends it soon after the CRD changes, and the client has to
//! list again.

use std::{io::BufRead as _, thread, time::Duration};

use pemdas_sim::{Method, Reply, Request, Server, Time};
use serde_json::{Map, Value, json};

use crate::real;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const OBJECTS: &str = "/apis/redefined.example.com/v1/namespaces/default/cards";

/// A CRD whose spec has these fields.
fn definition(fields: &[&str]) -> Value {
    let fields: Map<_, _> = fields.iter().map(|it| ((*it).to_owned(), json!({ "type": "string" }))).collect();
    let spec = json!({ "type": "object", "properties": fields });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "cards.redefined.example.com" },
        "spec": {
            "group": "redefined.example.com", "scope": "Namespaced",
            "names": { "kind": "Card", "listKind": "CardList", "plural": "cards", "singular": "card" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": spec },
            } } }],
        },
    })
}

fn card(name: &str) -> Value {
    let spec = json!({ "old": "a", "new": "b" });
    json!({ "apiVersion": "redefined.example.com/v1", "kind": "Card", "metadata": { "name": name }, "spec": spec })
}

fn post(path: &str, body: &Value) -> Request {
    Request::new(Method::Post, path).json("application/json", body)
}

/// The CRD gets a field more.
fn widen() -> Request {
    let body = json!({ "spec": { "versions": definition(&["old", "new"])["spec"]["versions"] } });
    let at = format!("{DEFINITIONS}/cards.redefined.example.com");
    Request::new(Method::Patch, &at).json("application/merge-patch+json", &body)
}

#[test]
fn a_watch_of_an_old_schema_ends_alike() {
    let watch = Request::new(Method::Get, &format!("{OBJECTS}?watch=1&resourceVersion=0&timeoutSeconds=120"));

    let mut server = Server::new(1, Time(0));
    server.handle(Time(0), &post("/api/v1/namespaces", &json!({ "metadata": { "name": "default" } })));
    server.handle(Time(0), &post(DEFINITIONS, &definition(&["old"])));
    let Reply::Watch(mut watched) = server.handle(Time(0), &watch) else { panic!("no watch") };
    server.handle(Time(0), &widen());
    let made = server.handle(Time(0), &post(OBJECTS, &card("one"))).whole().unwrap();
    assert_eq!(made.body["spec"]["new"], "b", "{:#}", made.body);
    let simulated = server.poll(&mut watched, Time(0));
    assert_eq!(simulated[0]["object"]["spec"], json!({ "old": "a" }));
    server.poll(&mut watched, Time(2_000));
    assert!(watched.ended());

    let real = real();
    let (status, answer) = real.send(&post(DEFINITIONS, &definition(&["old"])));
    assert_eq!(status, 201, "{answer:#}");
    let until = |what: &str, is: &dyn Fn() -> bool| {
        for _ in 0..600 {
            if is() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("never: {what}");
    };
    until("it is served", &|| real.send(&Request::new(Method::Get, OBJECTS)).0 == 200);
    // That it is established is a change of the CRD as well, which ends watches that began before.
    let short = Request::new(Method::Get, &format!("{OBJECTS}?watch=1&resourceVersion=0&timeoutSeconds=3"));
    assert_eq!(real.watch(&short).unwrap().lines().count(), 0);
    let events = real.watch(&watch).unwrap();
    real.send(&widen());
    // The server uses the new schema a moment later. A dry run causes no event.
    until("the field is kept", &|| {
        let tried = post(&format!("{OBJECTS}?dryRun=All"), &card("tried"));
        real.send(&tried).1["spec"]["new"] == "b"
    });
    let (status, answer) = real.send(&post(OBJECTS, &card("one")));
    assert_eq!(status, 201, "{answer:#}");
    let told: Vec<Value> = events.lines().map(|it| serde_json::from_str(&it.unwrap()).unwrap()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["object"]["spec"], simulated[0]["object"]["spec"]);
}
