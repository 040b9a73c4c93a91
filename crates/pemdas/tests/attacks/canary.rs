//! Values of Secrets are nowhere but in Secrets: not in logs at any level, Events, statuses, annotations, metrics or revisions,
//! whatever a blueprint does with them and however it fails.

use serde_json::json;

use super::{
    bed::{condition, until},
    operators::{Plan, events},
    server::{Manner, Server},
    space::Space,
};

/// What is in the observed Secret. As text it is also what its encoded form begins with being looked for.
const CANARY: &str = "canary-Zx8vQ2-of-a-secret";

/// Something else in it that could be the name of a namespace, just as it stands there.
const PLACE: &str = "canaryplaceofasecret";

/// Uses a Secret in every way there is. What is done to it depends on the instance.
const BLUEPRINT: &str = r#"
let { Blueprint, Complete, fits, at, .. } = import "pemdas/v1.ncl" in
let password = fun secret => secret.data.password in
# What no check before it runs can look through.
let hidden = fun value => std.deserialize 'Json (std.serialize 'Json value) in
{
  name = "canary",
  kinds.Vault = { group = "GROUP", versions.v1 = {
    spec = { way | String | doc "What is done with the Secret" },
    status = { stats | Dyn | optional, length | Number | optional },
  } },
  nodes = {
    instance = {
      root = kinds.Vault,
      also = {
        copy = {}, placed = {}, web = {}, generated = {}, follows = {}, waits = {}, job = {},
        conditional = { before.secret.extract = password, when = fun the => std.string.length the.secret > 1 },
      },
      status = fun the => { length = std.string.length (at "data.password" "" the.copy) },
      conditions = fun the => { Odd = { status = at "data.password" "" the.copy == "x" } },
      report = { service = "web", path = "/", field = "stats", map = fun response => (response | { ok | Bool, .. }).ok },
    },
    secret.observe = fun _the => { apiVersion = "v1", kind = "Secret", name = "observed" },
    copy = {
      before.secret.extract = password,
      template = fun the => {
        apiVersion = "v1", kind = "Secret",
        metadata = {
          name = "%{the.root.metadata.name}-copy",
          labels = if the.root.spec.way == "label" then { label = "%{the.secret} is no value of a label" } else {},
        },
        type = if the.root.spec.way == "type" then hidden [the.secret] else "Opaque",
        data =
          the.root.spec.way |> match {
            "fail" => std.fail_with "the password is %{the.secret}",
            "contract" => { password = the.secret | Number },
            "blame" => { password = "%{std.to_string (the.secret + 1)}" },
            "field" => { password = (the.root & { x = the.secret }).x.y },
            "enum" => { password = std.string.to_enum the.secret |> match { 'x => "" } },
            "invalid" => { password = "%{the.secret} is no base64!" },
            "key" => { password = the.secret, "%{the.secret} no/key" = the.secret },
            "list" => hidden [the.secret],
            "map" => hidden { "%{the.secret}" = [1] },
            "text" => the.secret,
            "number" => { password = hidden { a = the.secret } },
            "unfit" => { password = the.secret | std.contract.from_predicate (fun value => value == "x") },
            _ => { password = the.secret },
          },
      },
    },
    # The name of a namespace that is not there.
    placed = {
      before.secret.extract = fun secret => secret.data.place,
      late_name = true,
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = the.root.metadata.name, namespace = if the.root.spec.way == "place" then the.secret else the.root.metadata.namespace },
      },
    },
    generated.template = fun the => {
      apiVersion = "v1", kind = "Secret", metadata.name = "%{the.root.metadata.name}-generated", stringData.password = the.seed,
    },
    follows = {
      before.copy = { until = fits { data | { password | String, .. }, .. }, extract = fun live => { held = live.data.password } },
      template = fun the => {
        apiVersion = "v1", kind = "Secret", metadata.name = "%{the.root.metadata.name}-follows", data.password = the.copy.held,
      },
    },
    # It waits for a value that the Secret does not have: the reason must not say which one it has.
    waits = {
      before.copy.until = { data.password = "bm90IHRoaXM=" },
      template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-waits" },
    },
    conditional.template = fun the => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-conditional" },
    job = {
      before.secret.extract = password,
      once = { done = Complete, result = fun live => live.metadata.annotations },
      key = fun the => the.secret,
      template = fun the => {
        apiVersion = "batch/v1", kind = "Job",
        metadata = { name = the.root.metadata.name, annotations.password = the.secret },
        spec = {
          backoffLimit = 0,
          template.spec = { restartPolicy = "Never", containers = [{ name = "run", image = "testbed.example/workload:1" }] },
        },
      },
    },
    web.template = fun the => {
      apiVersion = "v1", kind = "Service", metadata.name = the.root.metadata.name, spec.ports = [{ port = 80 }],
    },
  },
} | Blueprint
"#;

/// What is done with the Secret.
const WAYS: [&str; 16] = [
    "good", "fail", "contract", "blame", "field", "enum", "invalid", "key", "list", "text", "number",
    "unfit", "label", "type", "map", "place",
];

fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let sign = SIGNS[(bits >> (18 - 6 * place) & 63) as usize];
            let _ = write!(out, "{}", char::from(sign));
        }
        out.push_str(&"==="[..3 - chunk.len()]);
    }
    out
}

/// Everything that people and programs may read without the right to read Secrets.
fn public(space: &Space) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let kinds = [
        space.kind("Vault"),
        "configmap".to_owned(),
        "event".to_owned(),
        "controllerrevision".to_owned(),
        "lease".to_owned(),
        "service".to_owned(),
        "crd".to_owned(),
    ];
    for kind in kinds {
        let list = Space::client().get(&space.path(&kind, "")).unwrap().expect("the kind is served");
        found.push((kind, list.to_string()));
    }
    // Of Secrets and Jobs, everything but what the blueprint itself puts there.
    for kind in ["secret", "job"] {
        for item in space.list(kind) {
            let mut metadata = item["metadata"].clone();
            metadata["annotations"].as_object_mut().map(|it| it.remove("password"));
            found.push((format!("the metadata of {kind}"), metadata.to_string()));
        }
    }
    found
}

#[test]
fn values_of_secrets_are_nowhere_but_in_secrets() {
    let space = Space::new("canary");
    let all = "trace,hyper=info,h2=info,rustls=info,tower=info,hyper_util=info";
    let mut operator = Plan::over(&[&space]).log(all).start();
    let value = encoded(CANARY);
    space.apply(&json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "observed" }, "data": { "password": value, "place": PLACE } }));
    let server = Server::start(Manner::json(&json!({ "ok": CANARY })));
    server.stand_behind(&space, "good");
    space.blueprint("blueprint", BLUEPRINT);
    space.runs("blueprint");
    for way in WAYS {
        space.instance("Vault", way, &json!({ "way": way }));
    }
    // The good one does all it can; each of the others says something.
    until("the good one is made", || space.get("secret", "good-follows"));
    until("its Job is done", || {
        space.get("job", &job(&space, "good")?).filter(|it| it["status"]["succeeded"] == 1)
    });
    for way in WAYS {
        until("it says something", || {
            space.get(&space.kind("Vault"), way).filter(|it| it["status"]["pemdas"]["nodes"].is_array())
        });
    }
    let good = until("the response is judged", || {
        space.get(&space.kind("Vault"), "good").filter(|it| condition(it, "Reported")["status"] == "False")
    });
    assert_eq!(good["status"]["length"], value.len(), "the blueprint works with it");
    // A conflict with another manager over a field of a Secret.
    let other = encoded("canary-Zx8vQ2-of-a-hand");
    space.apply(&json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "good-copy" }, "data": { "password": other } }));
    until("drift is repaired", || {
        space.get("secret", "good-copy").filter(|it| it["data"]["password"] == value.as_str())
    });
    // The key of the once changes, and everything is done again; a second process starts from what is there.
    let second = encoded("canary-Zx8vQ2-the-second");
    space.apply(&json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "observed" }, "data": { "password": second, "place": PLACE } }));
    until("it is copied", || {
        space.get("secret", "good-copy").filter(|it| it["data"]["password"] == second.as_str())
    });
    operator.kill();
    operator.start();
    server.turns(Manner::Says("text/plain", CANARY.to_owned()));
    server.asked_again(2);
    let seed =
        space.get("secret", "good-generated").unwrap()["data"]["password"].as_str().unwrap().to_owned();
    let metrics = operator.page("/metrics");
    space.delete_soon(&space.kind("Vault"), "");
    space.gone("secret", "good-copy");

    let mut places = public(&space);
    places.push(("the log".to_owned(), operator.log()));
    places.push(("metrics".to_owned(), metrics));
    let told: Vec<_> = WAYS.iter().flat_map(|it| events(&space, it)).collect();
    assert!(told.len() >= WAYS.len() - 1, "failures are told: {told:?}");
    assert!(operator.log().contains("TRACE"), "the log says all it can");
    search(&places, &["canary-Zx8vQ2", PLACE, &value, &other, &second, &seed, &encoded(&value)]);
}

/// None of these is anywhere, nor what they begin with.
fn search(places: &[(String, String)], canaries: &[&str]) {
    for (place, text) in places {
        for canary in canaries {
            let begin: String = canary.chars().take(20).collect();
            if let Some(at) = text.find(&begin) {
                let from = text[..at].char_indices().rev().nth(300).map_or(0, |(at, _)| at);
                let to = text[at..].char_indices().nth(100).map_or(text.len(), |(more, _)| at + more);
                panic!("{place} has {canary}: {}", &text[from..to]);
            }
        }
    }
}

fn job(space: &Space, of: &str) -> Option<String> {
    space.names("job").into_iter().find(|it| it.starts_with(of))
}
