//! The page in a browser: what a person reads and presses, with the page's policy switched on.

use std::path::Path;

use super::{
    bed::{Demo, Ui, folder, pictures},
    browser::Browser,
};

/// A blueprint that waits for somebody else: the one of docs/guides/debugging.md, with a node for each stop, and hostile words in it.
const PARCELS: &str = r#"let { Blueprint, matches, .. } = import "pemdas/v1.ncl" in
let map = fun root name_ => { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "%{root.metadata.name}-%{name_}", annotations.hostile = "<img src=x onerror=alert(1)>" } } in
{
  name = "parcels",
  kinds.Parcel = { group = "example.com", versions.v1.spec = { address | String } },
  nodes = {
    parcel = { root = kinds.Parcel, also = ["weighed", "stamped", "sent", "insured", "label"] },
    label.template = fun the => map the.root "label",
    weighed = {
      before = ["label"],
      template = fun the => map the.root "weighed",
      ready = { metadata.annotations.grams = matches "^[0-9]+$" },
    },
    insured = { before = ["label"], template = fun the => map the.root "insured" },
    stamped = { before = ["weighed"], template = fun the => map the.root "stamped" },
    sent = { before = ["stamped", "insured"], template = fun the => map the.root "sent" },
  },
} | Blueprint"#;
const GIFT: &str = "apiVersion: example.com/v1\nkind: Parcel\nmetadata: { name: gift, namespace: default, labels: { a: b } }\n\
                    spec: { address: \"<script>alert(1)</script>\" }\n";
const SCREEN: &str = "/i/example.com/Parcel/default/gift";
const CAUSE: &str = "metadata.annotations.grams is missing, wants a match of /^[0-9]+$/";

/// Nothing is wider than the page, and nothing was complained about.
fn is_well(browser: &mut Browser, place: &str) {
    let wide = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assert_eq!(wide, 0, "{place} is wider than the window");
    assert_eq!(browser.complaints, Vec::<String>::new(), "{place}");
    let made = browser.value("document.querySelectorAll('main img, main script, main iframe').length");
    assert_eq!(made, 0, "{place}: text became markup");
    let unnamed = browser.value(
        "[...document.querySelectorAll('a, button, input')].filter((it) => !(it.getAttribute('aria-label') \
         || it.textContent.trim())).map((it) => it.outerHTML)",
    );
    assert_eq!(unnamed, serde_json::json!([]), "{place}: what can be pressed has a name");
    let headings = browser.value("document.querySelectorAll('h1').length");
    assert_eq!(headings, 1, "{place} has one heading");
}

/// The picture of a page of the documentation, taken anew where that is asked for.
fn for_docs(browser: &mut Browser, name: &str, height: u32) {
    if std::env::var_os("PEMDAS_RENEW").is_some() {
        browser.size(1_280, height);
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures");
        browser.picture(&Path::new(place).join(format!("ui-{name}.png")));
        browser.size(1_400, 900);
    }
}

/// Pictures in light and dark, wide and narrow.
fn pictured(browser: &mut Browser, name: &str) {
    for (dark, scheme) in [(false, "light"), (true, "dark")] {
        browser.dark(dark);
        for (width, height) in [(1_400, 900), (360, 780)] {
            browser.size(width, height);
            is_well(browser, &format!("{name} {scheme} {width}"));
            browser.picture(&pictures().join(format!("{name}-{scheme}-{width}.png")));
        }
    }
    browser.size(1_400, 900);
    browser.dark(false);
}

#[test]
fn a_person_reads_why_and_sees_it_become_ready() {
    let folder = folder(PARCELS, GIFT);
    let demo = Demo::start(folder.path().to_str().unwrap());
    let mut browser = Browser::start();
    browser.open(&demo.link);
    browser.until_shown("1 instance: 1 reconciling");
    assert_eq!(browser.value("location.hash"), "", "the token has left the address");
    browser.until_shown(CAUSE);
    pictured(&mut browser, "fleet");

    // By keys alone: to the row, into the instance, to the root cause.
    browser.press("j");
    browser.until("document.activeElement.dataset.row !== undefined");
    browser.press("Enter");
    browser.until(&format!("location.pathname === '{SCREEN}'"));
    browser.until_shown("Parcel default/gift is reconciling");
    browser.until_shown(CAUSE);
    browser.until("document.querySelectorAll('.box').length === 5");
    assert_eq!(browser.value("document.querySelector('.box.cause').dataset.node"), "weighed");
    assert_eq!(
        browser.value("document.querySelectorAll('.edge.closed').length"),
        2,
        "weighed holds stamped, which holds sent"
    );
    pictured(&mut browser, "instance");
    for_docs(&mut browser, "instance", 660);
    browser.press("x");
    browser.until("location.search === '?node=weighed'");
    browser.until("document.querySelector('.reasons td')?.textContent === 'missing'");
    browser.until("document.querySelector('.node .text')?.textContent.includes('name: gift-weighed')");
    browser.until_shown("<img src=x onerror=alert(1)>");
    pictured(&mut browser, "node");
    for_docs(&mut browser, "node", 900);
    browser.press("ArrowRight");
    browser.until("location.search === '?node=stamped'");
    browser.press("Escape");
    browser.until("location.search === ''");

    // Somebody weighs it: the page shows it without being loaded again.
    browser.value("window.stayed = true");
    let patch = r#"{"metadata":{"annotations":{"grams":"250"}}}"#;
    let place = "/api/v1/namespaces/default/configmaps/gift-weighed";
    assert_eq!(demo.cluster("PATCH", place, "application/merge-patch+json", patch).status, 200);
    browser.until_shown("Parcel default/gift is ready");
    browser.until("document.querySelectorAll('.box.ready').length === 5");
    assert_eq!(browser.value("window.stayed"), true);
    pictured(&mut browser, "ready");

    browser.press("g");
    browser.press("f");
    browser.until_shown("1 instance, all ready");
    browser.open(&demo.screen("/b/default/parcels"));
    browser.until_shown("Blueprint default/parcels: 1 of 1 instance ready");
    browser.until("document.querySelectorAll('.box').length === 5");
    pictured(&mut browser, "blueprint");
    browser.press("?");
    browser.until("document.querySelector('dialog').open");
}

#[test]
fn a_link_without_its_token_or_its_object_says_what_to_do() {
    let demo = Demo::start("web-app");
    let mut browser = Browser::start();
    browser.open(&format!("{}{SCREEN}", demo.origin()));
    browser.until_shown("open the link that `pemdas ui` printed");
    browser.complaints.clear();
    browser.open(&demo.screen("/i/example.com/Parcel/default/gift"));
    browser.until_shown("the cluster serves no kind");
}

#[test]
fn the_page_says_who_does_not_answer_and_keeps_what_it_knew() {
    let mut demo = Demo::start("web-app");
    demo.until(" is Ready, ");
    let ui = Ui::start(&demo.kubeconfig);
    let mut browser = Browser::start();
    browser.open(&ui.screen("/i/web.example.com/WebApp/default/shop"));
    browser.until_shown("WebApp default/shop is ready");
    browser.until_shown("● live");
    drop(demo);
    browser.until_shown("The cluster does not answer:");
    browser.until_shown("The last news are of");
    browser.until_shown("WebApp default/shop is ready");
    pictured(&mut browser, "away");
    drop(ui);
    browser.until_shown("pemdas ui does not answer.");
    browser.until_shown("WebApp default/shop is ready");
}
