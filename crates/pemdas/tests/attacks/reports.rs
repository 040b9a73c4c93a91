//! The Service whose response is a status, from its HTTP answer to what `kubectl get` shows.

use serde_json::{Value, json};

use super::{
    bed::{condition, until},
    operators::{Operator, Plan, events, warned},
    server::{Manner, Server},
    space::Space,
};

const SITE: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
{
  name = "site",
  kinds.Site = { group = "GROUP", versions.v1 = {
    spec = { value | String | doc "A value" },
    status = { stats | STATS | optional },
  } },
  nodes = {
    instance = { root = kinds.Site, also = ["web"], report = { service = "web", path = "/stats", field = "stats" MAP } },
    web.template = fun the => {
      apiVersion = "v1", kind = "Service", metadata.name = the.root.metadata.name, spec.ports = [{ port = 80 }],
    },
  },
} | Blueprint
"#;

/// A site whose Service is this server, and one beside it that has none.
fn site(about: &str, stats: &str, map: &str, server: &Server) -> (Space, Operator) {
    let space = Space::new(about);
    let operator = Plan::over(&[&space]).start();
    server.stand_behind(&space, "one");
    space.blueprint("blueprint", &SITE.replace("STATS", stats).replace("MAP", map));
    space.runs("blueprint");
    space.instance("Site", "one", &json!({ "value": "a" }));
    (space, operator)
}

fn shows(space: &Space, what: &Value) -> Value {
    until(&format!("the status shows {what}"), || {
        let site = space.get(&space.kind("Site"), "one")?;
        (site["status"]["stats"] == *what && condition(&site, "Reported")["status"] == "True").then_some(site)
    })
}

/// The report is in trouble, and says this.
fn in_trouble(space: &Space, words: &str) -> Value {
    until(&format!("the trouble is told: {words}"), || {
        let site = space.get(&space.kind("Site"), "one")?;
        let reported = condition(&site, "Reported");
        (reported["status"] == "False" && reported["message"].as_str()?.contains(words)).then_some(site)
    })
}

fn status_writes(space: &Space) -> usize {
    space.writes().iter().filter(|it| it.contains("sites/status")).count()
}

#[test]
fn a_response_is_copied_into_the_status_when_it_changes_and_nothing_is_written_when_it_does_not() {
    let server = Server::start(Manner::json(&json!({ "rows": 1, "deep": { "list": [1, { "a": true }] } })));
    let (space, mut operator) = site("copied", "{ ; Dyn }", "", &server);
    let site = shows(&space, &json!({ "rows": 1, "deep": { "list": [1, { "a": true }] } }));
    assert_eq!(condition(&site, "Ready")["status"], "True");
    server.asked_again(2);
    let before = status_writes(&space);
    server.asked_again(3);
    assert_eq!(status_writes(&space), before, "nothing changed, nothing is written");
    server.turns(Manner::json(&json!({ "rows": 2 })));
    shows(&space, &json!({ "rows": 2 }));
    server.asked_again(2);
    assert_eq!(status_writes(&space), before + 1, "one write for one change");
    // Nothing that a status cannot hold is written again and again.
    server.turns(Manner::json(&json!({ "rows": 3, "none": null, "list": [null, { "none": null }] })));
    until("the status shows it", || {
        space.get(&space.kind("Site"), "one").filter(|it| it["status"]["stats"]["rows"] == 3)
    });
    server.asked_again(3);
    let before = before + 1;
    assert_eq!(status_writes(&space), before + 1, "one write for one change");
    // A process that starts anew finds what is there.
    operator.kill();
    operator.start();
    server.asked_again(3);
    assert_eq!(status_writes(&space), before + 1, "a restart writes nothing");
    // Its Service goes with the instance, and nobody asks any more.
    space.delete(&space.kind("Site"), "one");
    space.gone("service", "one");
    until("nobody asks any more", || {
        let asked = server.asked();
        // That takes longer than the time between two questions.
        space.settles("Site", |turn| json!({ "value": turn }));
        (server.asked() == asked).then_some(())
    });
}

#[test]
fn a_service_that_leads_out_of_the_cluster_is_not_asked() {
    let space = Space::new("leads-out");
    let _operator = Plan::over(&[&space]).start();
    let source = SITE.replace("STATS", "Dyn").replace("MAP", "");
    let plain = "spec.ports = [{ port = 80 }]";
    assert!(source.contains(plain));
    let external =
        r#"spec = { type = "ExternalName", externalName = "example.com", ports = [{ port = 80 }] }"#;
    space.blueprint("blueprint", &source.replace(plain, external));
    space.runs("blueprint");
    space.instance("Site", "one", &json!({ "value": "a" }));
    in_trouble(&space, "leads out of the cluster");
}

#[test]
fn whatever_a_service_answers_the_last_good_response_stays_and_the_trouble_is_told() {
    let good = || Manner::json(&json!("fine"));
    let raw = |text: &str| Manner::Raw(text.as_bytes().to_vec());
    let server = Server::start(good());
    let (space, _operator) = site("misbehaves", "Dyn", "", &server);
    shows(&space, &json!("fine"));
    let cases = [
        ("garbage", raw("\x01\x02 very-secret \x7f\r\n\r\n"), ""),
        (
            "lies",
            Manner::Says("application/json", "very-secret".to_owned()),
            "says that it answers with JSON, and does not",
        ),
        (
            "500",
            raw("HTTP/1.1 500 Internal\r\ncontent-length: 11\r\nconnection: close\r\n\r\nvery-secret"),
            "answers 500",
        ),
        (
            "redirect",
            raw(
                "HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            ),
            "redirects are not followed",
        ),
        (
            "short",
            raw("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nvery-secret"),
            "",
        ),
        ("large", Manner::Floods(10 << 20), "more than 65536 bytes"),
        ("picture", Manner::Says("image/png", "very-secret".to_owned()), "neither JSON nor text"),
        ("nothing", Manner::Says("application/json", String::new()), "answers with nothing"),
        ("slow", Manner::Silent, "does not answer within"),
    ];
    for (name, manner, words) in cases {
        server.turns(manner);
        let site = in_trouble(&space, words);
        assert_eq!(site["status"]["stats"], "fine", "{name}");
        assert_eq!(condition(&site, "Ready")["status"], "True", "{name}: it is a courtesy");
        assert!(!site.to_string().contains("very-secret"), "{name}: {site}");
        if name != "slow" {
            // The neighbour is not harmed, and recovery is seen.
            server.turns(good());
            shows(&space, &json!("fine"));
        }
    }
    let told = warned(&space, "one", "answers 500");
    assert!(told.contains("Unreachable"), "{told}");
    assert!(!events(&space, "one").join("\n").contains("very-secret"));
    space.instance("Site", "two", &json!({ "value": "b" }));
    space.ready("Site", "two");
}

#[test]
fn a_function_maps_the_response_and_a_contract_that_it_breaks_is_told() {
    let server = Server::start(Manner::json(&json!({ "rows": 3, "noise": "x" })));
    let map = r#", map = fun response => let checked = response | { rows | Number, .. } in { count = checked.rows + 1 }"#;
    let (space, _operator) = site("mapped", "{ ; Dyn }", map, &server);
    shows(&space, &json!({ "count": 4 }));
    server.turns(Manner::json(&json!({ "rows": "very-secret" })));
    let site = in_trouble(&space, "not as the blueprint wants it");
    assert_eq!(condition(&site, "Reported")["reason"], "Unusable");
    assert_eq!(site["status"]["stats"], json!({ "count": 4 }), "the last good one stays");
    assert!(!site.to_string().contains("very-secret"), "{site}");
    warned(&space, "one", "not as the blueprint wants it");
    server.turns(Manner::json(&json!({ "rows": 7 })));
    shows(&space, &json!({ "count": 8 }));
}

#[test]
fn a_response_that_the_definition_refuses_is_left_out_and_told() {
    let server = Server::start(Manner::json(&json!({ "rows": 3 })));
    let (space, _operator) = site("unfit", "{ rows | Number }", "", &server);
    shows(&space, &json!({ "rows": 3 }));
    let before = status_writes(&space);
    server.turns(Manner::json(&json!({ "rows": "very-secret" })));
    let site = in_trouble(&space, "does not fit the status in the CRD");
    assert_eq!(site["status"]["stats"], json!({ "rows": 3 }));
    assert!(!site.to_string().contains("very-secret"), "{site}");
    server.asked_again(3);
    assert_eq!(status_writes(&space), before + 2, "one that is refused, one that says so");
    // The instance works all the same.
    space.instance("Site", "one", &json!({ "value": "b" }));
    until("the change is seen", || {
        let site = space.get(&space.kind("Site"), "one")?;
        (site["status"]["observedGeneration"] == site["metadata"]["generation"]).then_some(())
    });
    server.turns(Manner::json(&json!({ "rows": 4 })));
    shows(&space, &json!({ "rows": 4 }));
}
