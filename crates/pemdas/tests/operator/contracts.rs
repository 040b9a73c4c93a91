//! The contract of a root at run time: what a CRD cannot say is judged by the operator.

use serde_json::json;

use super::{
    bed::{condition, shared, until},
    space::Space,
};

/// `word` may be no palindrome, which no CRD can say; `copy` is computed from `word`.
const WORDS: &str = r#"
let { Blueprint, .. } = import "pemdas/v1.ncl" in
let NoPalindrome = std.contract.from_validator (fun word =>
  if std.array.reverse (std.string.characters word) == std.string.characters word
  then 'Error { message = "a palindrome is no word here" }
  else 'Ok)
in
{
  name = "words",
  kinds.Word = {
    group = "GROUP",
    versions.v1.spec = {
      word | String | NoPalindrome | doc "Any word that is no palindrome",
      copies | Number | default = 2,
    },
  },
  nodes = {
    instance = { root = kinds.Word, also = ["map", "last"], deleting = DELETING },
    map.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = the.root.metadata.name,
      data = { word = the.root.spec.word, copies = std.to_string the.root.spec.copies },
    },
    last = {
      before = ["map"],
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-last",
        data.word = the.root.spec.word,
      },
    },
    MORE
  },
} | Blueprint
"#;

fn words(deleting: &str, more: &str) -> String {
    WORDS.replace("DELETING", deleting).replace("MORE", more)
}

#[test]
fn an_instance_that_breaks_its_contract_is_stalled_alone_until_it_is_mended() {
    let _running = shared();
    let space = Space::new("contract");
    space.blueprint("blueprint", &words("[]", ""));
    space.runs("blueprint");
    space.instance("Word", "broken", &json!({ "word": "level" }));
    space.instance("Word", "fine", &json!({ "word": "lever" }));
    space.ready("Word", "fine");
    let word = space.stalls("Word", "broken", "a palindrome is no word here");
    let stalled = condition(&word, "Stalled");
    assert_eq!(stalled["reason"], "BreaksContract", "{stalled}");
    let message = stalled["message"].as_str().unwrap();
    assert!(message.contains("at word: ") && message.contains("main.ncl:"), "{message}");
    assert!(!message.contains("level"), "no value is quoted: {message}");
    assert_eq!(condition(&word, "Ready")["status"], "False");
    assert!(space.get("configmap", "broken").is_none());
    let events = until("an Event tells it", || {
        space.list("event").into_iter().find(|it| it["reason"] == "BreaksContract")
    });
    assert_eq!((&events["type"], &events["regarding"]["name"]), (&json!("Warning"), &json!("broken")));
    // Mended, it goes on.
    space.instance("Word", "broken", &json!({ "word": "wheel" }));
    space.ready("Word", "broken");
    assert_eq!(space.get("configmap", "broken").unwrap()["data"], json!({ "word": "wheel", "copies": "2" }));
    // Broken again, what is there stays as it is.
    space.instance("Word", "broken", &json!({ "word": "noon" }));
    space.stalls("Word", "broken", "a palindrome");
    space.passes_by("Word", |turn| json!({ "word": turn }));
    assert_eq!(space.get("configmap", "broken").unwrap()["data"]["word"], "wheel");
    // And it can be deleted.
    space.delete(&space.kind("Word"), "broken");
    space.gone("configmap", "broken");
    space.gone("configmap", "broken-last");
    space.ready("Word", "fine");
}

#[test]
fn what_never_kept_its_contract_has_nothing_to_do_when_it_is_deleted() {
    let _running = shared();
    let space = Space::new("contract-deleting");
    let more = r#"final.template = fun the => {
      apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-final", data.word = the.root.spec.word,
    },"#;
    space.blueprint("blueprint", &words(r#"["final"]"#, more));
    space.runs("blueprint");
    space.instance("Word", "never", &json!({ "word": "level" }));
    space.stalls("Word", "never", "a palindrome");
    space.delete(&space.kind("Word"), "never");
    // One that kept it once has nodes of its deletion to run: they are not skipped silently.
    space.instance("Word", "once", &json!({ "word": "lever" }));
    space.ready("Word", "once");
    space.instance("Word", "once", &json!({ "word": "noon" }));
    space.stalls("Word", "once", "a palindrome");
    space.delete_soon(&space.kind("Word"), "once");
    space.stalls("Word", "once", "skip-deletion");
    assert!(space.get("configmap", "once").is_some(), "nothing is torn down before");
    space.instance("Word", "once", &json!({ "word": "lever" }));
    until("it is gone", || space.get(&space.kind("Word"), "once").is_none().then_some(()));
    space.gone("configmap", "once");
}
