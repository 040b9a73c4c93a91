//! `pemdas explain` and `pemdas plan` beside an operator that runs: what they say is what is there, and nothing is written.

use std::process::{Command, Output};

use serde_json::{Value, json};

use super::{
    bed::{bed, shared, token, until, with_token},
    space::Space,
};

const SHOP: &str = r#"
let { Blueprint, Failed, .. } = import "pemdas/v1.ncl" in
{
  name = "shop",
  kinds.Shop = { group = "GROUP", versions.v1.spec = { text | String | doc "A text" | default = "one" } },
  nodes = {
    shop = { root = kinds.Shop, also = ["first", "second", "secret"] },
    first = {
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-first", data.text = the.root.spec.text,
      },
      ready = { metadata.annotations.seen = "yes" },
    },
    second = {
      before = ["first"],
      template = fun the => {
        apiVersion = "v1", kind = "ConfigMap", metadata.name = "%{the.root.metadata.name}-second", data.text = the.root.spec.text,
      },
    },
    secret.template = fun the => {
      apiVersion = "v1", kind = "Secret", metadata.name = the.root.metadata.name, stringData.password = "very-secret-%{the.root.spec.text}",
    },
  },
} | Blueprint
"#;

struct Said {
    status: i32,
    out: String,
    errors: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.errors))
    }
}

impl Space {
    /// What `pemdas` says in this namespace, as the administrator. Other tests have a kind `Shop` too: it is named with its group.
    fn asks(&self, arguments: &[&str]) -> Said {
        let whole = |it: &&str| match it.split_once('/') {
            Some(("shop", name)) => format!("{}/{name}", self.kind("Shop")),
            None if *it == "shop" => self.kind("Shop"),
            _ => (*it).to_owned(),
        };
        let arguments: Vec<String> = arguments.iter().map(whole).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        said(&arguments, &["-n", &self.name], bed().cluster.kubeconfig())
    }

    fn shop(&self, name: &str) {
        self.instance("Shop", name, &json!({}));
        until("it is made", || self.get("configmap", &format!("{name}-first")));
    }

    fn opens(&self, name: &str) {
        self.annotate("configmap", &format!("{name}-first"), "seen", "yes");
        self.ready("Shop", name);
    }

    /// A changed blueprint, in a file.
    fn changed(&self, from: &str, to: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let source = SHOP.replace("GROUP", &self.group);
        assert!(source.contains(from), "{from}");
        std::fs::write(folder.path().join("main.ncl"), source.replace(from, to)).unwrap();
        folder
    }
}

fn said(arguments: &[&str], more: &[&str], kubeconfig: &std::path::Path) -> Said {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_pemdas"))
        .args(arguments)
        .args(more)
        .env("KUBECONFIG", kubeconfig)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { status: status.code().unwrap(), out: text(&stdout), errors: text(&stderr) }
}

fn shops(about: &str) -> Space {
    let space = Space::new(about);
    space.blueprint("blueprint", SHOP);
    space.runs("blueprint");
    space
}

#[test]
fn a_chain_of_waits_is_told_to_its_root_cause_with_times() {
    let _running = shared();
    let space = shops("chain");
    space.shop("one");
    let kind = space.kind("Shop");
    let told = until("it is told since when", || {
        let told = space.asks(&["explain", &format!("{kind}/one"), "-o", "json"]);
        assert_eq!(told.status, 1, "{}", told.errors);
        let told = told.json()["explained"][0].clone();
        Some(told).filter(|it| it["chain"][0]["since"].is_string() && it["chain"][1]["since"].is_string())
    });
    let link = |at: usize| {
        (told["chain"][at]["node"].as_str().unwrap(), told["chain"][at]["text"].as_str().unwrap())
    };
    assert_eq!(link(0), ("second", "waits for first"));
    assert_eq!(link(1), ("first", "metadata.annotations.seen is missing, wants \"yes\""));
    assert_eq!(told["chain"][1]["rootCause"], true);
    assert_eq!(told["state"], "Reconciling");
    let words = space.asks(&["explain", "shop", "one"]);
    assert!(words.out.contains("└ first: metadata.annotations.seen is missing"), "{}", words.out);

    let object = space.asks(&["explain", "cm/one-first", "-o", "yaml"]);
    assert!(object.out.contains("node: first"), "{}", object.out);
    let object = space.asks(&["explain", "configmaps", "one-first"]).out;
    for words in ["is of the node first", "shop → first needs it", "waiting for it  second"] {
        assert!(object.contains(words), "{words}: {object}");
    }

    space.opens("one");
    let well = space.asks(&["explain", &format!("{kind}/one")]);
    assert_eq!(well.status, 0, "{}", well.out);
    assert!(well.out.contains("is Ready since"), "{}", well.out);
}

#[test]
fn what_a_human_can_do_is_named_and_a_refusal_is_told_in_the_servers_words() {
    let _running = shared();
    let space = shops("advice");
    space.map_of_a_hand("one-second");
    space.shop("one");
    space.annotate("configmap", "one-first", "seen", "yes");
    space.stalls("Shop", "one", "exists and is not ours");
    let told = space.asks(&["explain", "shop/one"]);
    assert_eq!(told.status, 1);
    assert!(told.out.contains("is Stalled since") && told.out.contains("own = 'Adopt"), "{}", told.out);

    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "none" },
        "spec": { "hard": { "count/secrets": "0" } },
    });
    space.apply(&quota);
    until("the quota counts", || {
        space.get("resourcequota", "none").filter(|it| it["status"]["used"].is_object())
    });
    space.shop("two");
    let told = until("the refusal is told", || {
        let told = space.asks(&["explain", "shop/two"]);
        // At first it is only tried again; later it is stalled.
        ["secret: refused: ", "secret: Refused: "].iter().any(|it| told.out.contains(it)).then_some(told)
    });
    assert!(told.out.contains("exceeded quota: none"), "{}", told.out);
    let list = space.asks(&["explain", "shop"]);
    assert_eq!((list.status, list.out.lines().count()), (1, 3), "{}", list.out);
    let everywhere = space.asks(&["explain", &space.kind("Shop"), "-A", "-o", "json"]).json();
    assert_eq!(everywhere["instances"].as_array().unwrap().len(), 2);
}

#[test]
fn who_may_read_less_is_told_from_the_status_and_bad_input_gets_a_hint() {
    let _running = shared();
    let space = shops("hints");
    space.shop("one");
    until("the status says why", || {
        space.get(&space.kind("Shop"), "one").filter(|it| it["status"]["pemdas"].is_object())
    });
    for (arguments, words) in [
        (vec!["explain", "shopp/one"], "did you mean"),
        (vec!["explain", "shop/onee"], "did you mean `one`?"),
        (vec!["explain", "shop/one/two"], "KIND/NAME"),
        (vec!["explain", "shop/one", "--context", "nowhere"], "no context \"nowhere\""),
        (vec!["plan", "nowhere", "--fleet"], "nowhere"),
        (vec!["plan", "cm/nowhere", "--fleet"], "there is no blueprint nowhere"),
    ] {
        let told = space.asks(&arguments);
        assert_eq!((told.status, told.out.as_str()), (2, ""), "{arguments:?}");
        assert!(told.errors.contains(words), "{arguments:?}: {}", told.errors);
    }
    let elsewhere = said(
        &["explain", &format!("{}/one", space.kind("Shop")), "-n", "default"],
        &[],
        bed().cluster.kubeconfig(),
    );
    assert!(elsewhere.errors.contains(&format!("-n {}", space.name)), "{}", elsewhere.errors);

    space.apply(&json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "reader" } }));
    let rules = json!([
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"] },
        { "apiGroups": [space.group], "resources": ["shops"], "verbs": ["get", "list"] },
    ]);
    space.allows("reader", &rules, &space.account("reader"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let config = with_token(&bed().cluster, &token(&bed().cluster, &space.name, "reader"));
    std::fs::write(&path, config.to_string()).unwrap();
    let told = until("the right counts", || {
        Some(said(&["explain", &format!("{}/one", space.kind("Shop"))], &["-n", &space.name], &path))
            .filter(|it| it.status == 1)
    });
    assert!(told.out.contains("read from the status"), "{}", told.out);
    assert!(told.out.contains("└ first: metadata.annotations.seen is missing"), "{}", told.out);
}

#[test]
fn a_plan_of_a_live_instance_is_what_would_be_done_and_writes_nothing() {
    let _running = shared();
    let space = shops("planned");
    space.shop("one");
    space.opens("one");
    let writes = space.writes().len();
    let same = space.changed("name = \"shop\"", "name = \"shop\"");
    let path = same.path().to_string_lossy().into_owned();
    let idle = space.asks(&["plan", &path, "--instance", "shop/one", "--exit-code"]);
    assert_eq!(idle.status, 0, "{}{}", idle.out, idle.errors);
    assert!(idle.out.contains("nothing to do"), "{}", idle.out);
    let asked = ["plan", "cm/blueprint", "--instance", "shop/one", "--exit-code", "-o", "json"];
    let own = space.asks(&asked);
    assert_eq!((own.status, &own.json()["summary"]["change"]), (0, &json!(0)));

    let other = space.changed("data.text = the.root.spec.text", "data.text = \"new %{the.root.spec.text}\"");
    let path = other.path().to_string_lossy().into_owned();
    let plan = space.asks(&["plan", &path, "--instance", "shop/one"]);
    assert_eq!(plan.status, 0, "{}", plan.errors);
    let plan = space.asks(&["plan", &path, "--instance", "shop/one", "--exit-code"]);
    assert_eq!(plan.status, 1, "{}", plan.errors);
    assert!(plan.out.contains("-  text: one") && plan.out.contains("+  text: new one"), "{}", plan.out);

    // A file over what is there: the Secret changes, and is not shown.
    let file = other.path().join("instance.yaml");
    let kind = format!(
        "apiVersion: {}/v1\nkind: Shop\nmetadata: {{ name: one }}\nspec: {{ text: two }}\n",
        space.group
    );
    std::fs::write(&file, kind).unwrap();
    let file = file.to_string_lossy().into_owned();
    let plan = space.asks(&["plan", "cm/blueprint", "--instance", &file, "--live", "-o", "json"]);
    assert_eq!(plan.json()["summary"]["change"], 3, "{}", plan.out);
    assert!(!plan.out.contains("very-secret"), "{}", plan.out);

    let asked = ["plan", "cm/blueprint", "--instance", "shop/one", "--delete", "--exit-code", "-o", "json"];
    let gone = space.asks(&asked);
    assert_eq!((gone.status, &gone.json()["summary"]["delete"]), (1, &json!(3)), "{}", gone.out);
    assert_eq!(space.writes().len(), writes, "nothing was written");
    let by_hand = bed().cluster.requests().unwrap();
    let admin: Vec<_> = by_hand
        .iter()
        .filter(|it| it.namespace.as_deref() == Some(&space.name) && it.impersonated.is_none() && it.complete)
        .filter(|it| !it.user.starts_with("system:") && it.verb == "delete")
        .collect();
    assert!(admin.is_empty(), "{admin:?}");
}

#[test]
fn a_changed_blueprint_is_planned_over_the_whole_fleet() {
    let _running = shared();
    let space = shops("fleet");
    for name in ["one", "two", "three"] {
        space.shop(name);
        space.opens(name);
    }
    space.instance("Shop", "two", &json!({ "text": "other" }));
    space.ready("Shop", "two");
    let fleet = |folder: &tempfile::TempDir, more: &[&str]| {
        let path = folder.path().to_string_lossy().into_owned();
        space.asks(&[&["plan", &path, "--fleet", "--exit-code"][..], more].concat())
    };
    let same = space.changed("name = \"shop\"", "name = \"shop\"");
    let idle = fleet(&same, &[]);
    assert_eq!(idle.status, 0, "{}{}", idle.out, idle.errors);
    assert!(idle.out.contains("3 unchanged"), "{}", idle.out);

    // Only the one with another text is touched by a change of what is done with that.
    let some = space.changed(
        "data.text = the.root.spec.text,\n      },\n    },\n    secret",
        "data.text = if the.root.spec.text == \"other\" then \"x\" else the.root.spec.text,\n      },\n    },\n    secret",
    );
    let names = fleet(&some, &["-o", "name"]);
    assert_eq!(names.out, format!("shop.{}/two\n", space.group), "{}", names.errors);
    let told = fleet(&some, &["-o", "json"]);
    assert_eq!(told.status, 1, "{}", told.errors);
    let told = told.json();
    assert_eq!(
        (&told["summary"]["unchanged"], &told["summary"]["changed"]),
        (&json!(2), &json!(1)),
        "{told:#}"
    );
    assert_eq!(told["instances"][0]["instance"]["name"], "two");
    assert_eq!(told["nodes"]["second"]["change"], 1);

    let renamed = space.changed(
        "metadata.name = \"%{the.root.metadata.name}-second\"",
        "metadata.name = \"%{the.root.metadata.name}-2\"",
    );
    let told = fleet(&renamed, &["--summary"]);
    assert!(told.out.contains("3 recreated"), "{}", told.out);
    let fewer = space.changed(
        "also = [\"first\", \"second\", \"secret\"]",
        "also = { first = {}, second.when = fun _the => false, secret = {} }",
    );
    let told = fleet(&fewer, &["--limit", "1"]);
    assert!(told.out.contains("3 deleted") && told.out.contains("and 2 more"), "{}{}", told.out, told.errors);
    let strict = space.changed(
        "text | String | doc",
        "text | std.string.NonEmpty | std.contract.from_predicate (fun it => it != \"other\") | doc",
    );
    let told = fleet(&strict, &["--summary"]);
    assert!(told.out.contains("1 broken") && told.out.contains("2 unchanged"), "{}{}", told.out, told.errors);
}
