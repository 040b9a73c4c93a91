//! The formats of values, against the answers of Kubernetes' own code and by their properties.

use std::collections::BTreeSet;

use pemdas_core::kube_types::format::{self, Duration, Notation, Quantity, QuantityError};
use proptest::prelude::*;

/// `crates/kube-types-gen/formats/main.go` asked Kubernetes' own code for these answers.
const ANSWERS: &str = include_str!("../data/kube_formats.txt");

/// What we say: the canonical form where there is one, or nothing for a refusal.
fn ours(format: &str, text: &str) -> Option<String> {
    let named = |answer: Result<(), &str>| answer.ok().map(|()| String::new());
    match format {
        "quantity" => text.parse::<Quantity>().ok().map(|it| it.canonical()),
        "duration" => text.parse::<Duration>().ok().map(|it| format!("{}={it}", it.as_nanoseconds())),
        "dns_label" => named(format::dns_label(text)),
        "dns_1035_label" => named(format::dns_1035_label(text)),
        "dns_subdomain" => named(format::dns_subdomain(text)),
        "path_segment" => named(format::path_segment(text)),
        "label_key" => named(format::label_key(text)),
        "label_value" => named(format::label_value(text)),
        "annotation_key" => named(format::annotation_key(text)),
        "port_name" => named(format::port_name(text)),
        "date_time" => named(format::date_time(text)),
        "base64" => named(format::base64(text)),
        other => panic!("unknown format {other}"),
    }
}

/// Kubernetes takes a text without any digit for zero: `Gi` is a mistake all the same.
fn digitless(format: &str, text: &str) -> bool {
    let number = text.trim_start_matches(['+', '-']);
    format == "quantity" && !number.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || (format == "quantity"
            && number.starts_with('.')
            && !number[1..].starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn agree_with_kubernetes() {
    let (mut wrong, mut formats) = (Vec::new(), BTreeSet::new());
    let (mut accepted, mut refused) = (0, 0);
    for line in ANSWERS.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let text: String = serde_json::from_str(words[1]).unwrap();
        let theirs = (words[2] != "!").then(|| words[2].to_owned());
        formats.insert(words[0]);
        if theirs.is_some() {
            accepted += 1;
        } else {
            refused += 1;
        }
        let our_answer = ours(words[0], &text);
        let tolerated = our_answer.is_none() && digitless(words[0], &text);
        if our_answer != theirs && !tolerated {
            wrong.push(format!("{} {text:?}: Kubernetes {theirs:?}, we {our_answer:?}", words[0]));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(formats.len(), 12);
    assert!(accepted > 1_500 && refused > 1_500, "{accepted} accepted, {refused} refused");
}

fn quantity(text: &str) -> Quantity {
    text.parse().unwrap()
}

#[test]
fn quantities_compare_by_their_amount() {
    let ordered = [
        "-1Ki", "-1", "0", "1n", "0.1", "100.5m", "1", "1.5", "999", "1k", "1Ki", "1M", "1Mi", "1e12", "1Ti",
        "8E",
    ];
    for (index, low) in ordered.iter().enumerate() {
        for high in &ordered[index + 1..] {
            assert!(quantity(low) < quantity(high), "{low} < {high}");
        }
    }
    for (one, other) in [("1000m", "1"), ("1024", "1Ki"), ("0.5Gi", "512Mi"), ("1e3", "1k"), ("-0", "0")] {
        assert_eq!(quantity(one), quantity(other), "{one} = {other}");
    }
    assert_eq!(quantity("1.5Gi").canonical(), "1536Mi");
    assert_eq!(quantity("2Gi").notation(), Notation::Binary);
    assert_eq!(quantity("2Ki").as_integer(), Some(2048));
    assert_eq!(quantity("0.5").as_integer(), None);
}

#[test]
fn a_quantity_without_a_number_is_refused() {
    for text in ["Gi", "-", ".", "+Ki", "e3"] {
        assert_eq!(text.parse::<Quantity>(), Err(QuantityError::Form), "{text}");
    }
    assert_eq!("1e1000".parse::<Quantity>(), Err(QuantityError::Size));
    assert_eq!("9".repeat(129).parse::<Quantity>(), Err(QuantityError::Size));
    assert_eq!("1GiB".parse::<Quantity>(), Err(QuantityError::Suffix));
}

#[test]
fn ports() {
    for good in [1, 80, 65_535] {
        assert_eq!(format::port(good), Ok(()));
    }
    for bad in [i64::MIN, -1, 0, 65_536, i64::MAX] {
        assert!(format::port(bad).is_err());
    }
}

const SUFFIXES: [&str; 18] =
    ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e4", "e-2"];

/// Quantities that are neither rounded nor capped.
fn exact_quantities() -> impl Strategy<Value = String> {
    (-999_999_i64..1_000_000, proptest::sample::select(SUFFIXES.as_slice()))
        .prop_filter("the cap of binary quantities", |(number, suffix)| *suffix != "Ei" || number.abs() < 8)
        .prop_filter("the cap of binary quantities", |(number, suffix)| {
            *suffix != "Pi" || number.abs() < 8_000
        })
        .prop_map(|(number, suffix)| format!("{number}{suffix}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(pemdas_tier::size(256, 50_000)))]

    #[test]
    fn the_canonical_form_means_the_same(text in exact_quantities()) {
        let parsed = quantity(&text);
        let again = quantity(&parsed.canonical());
        prop_assert_eq!(&again, &parsed);
        prop_assert_eq!(again.canonical(), parsed.canonical());
    }

    #[test]
    fn equal_quantities_of_one_notation_are_written_alike(number in 1_i64..1_000_000) {
        prop_assert_eq!(quantity(&format!("{number}k")).canonical(), quantity(&format!("{number}000")).canonical());
        prop_assert_eq!(quantity(&format!("{number}")), quantity(&format!("{number}000m")));
    }

    #[test]
    fn whole_quantities_are_ordered_as_their_numbers(one in any::<i64>(), other in any::<i64>()) {
        let (left, right) = (Quantity::from(one), Quantity::from(other));
        prop_assert_eq!(left.cmp(&right), one.cmp(&other));
        prop_assert_eq!(left.as_integer(), Some(one));
        prop_assert_eq!(quantity(&one.to_string()), left);
    }

    #[test]
    fn the_order_of_quantities_is_total(texts in proptest::collection::vec(exact_quantities(), 3)) {
        let (a, b, c) = (quantity(&texts[0]), quantity(&texts[1]), quantity(&texts[2]));
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
    }

    #[test]
    fn durations_survive_being_written(nanoseconds in any::<i64>()) {
        let duration = Duration::from_nanoseconds(nanoseconds);
        prop_assert_eq!(duration.to_string().parse::<Duration>(), Ok(duration));
    }

    #[test]
    fn no_text_does_harm(text in any::<String>()) {
        let _ = (text.parse::<Quantity>(), text.parse::<Duration>());
        let _ = (format::date_time(&text), format::base64(&text), format::annotation_key(&text));
    }

    #[test]
    fn every_label_is_a_name_and_every_name_a_path_segment(text in "[a-z0-9.-]{0,70}") {
        if format::dns_1035_label(&text).is_ok() {
            prop_assert!(format::dns_label(&text).is_ok());
        }
        if format::dns_label(&text).is_ok() {
            prop_assert!(format::dns_subdomain(&text).is_ok());
            prop_assert!(format::label_value(&text).is_ok());
        }
        if format::dns_subdomain(&text).is_ok() {
            prop_assert!(format::path_segment(&text).is_ok());
        }
    }

    #[test]
    fn labels_are_what_their_pattern_says(text in "[a-zA-Z0-9_./-]{0,8}") {
        let pattern = |text: &str| {
            let edge = |c: char| c.is_ascii_alphanumeric();
            text.starts_with(edge) && text.ends_with(edge) && !text.contains('/')
        };
        prop_assert_eq!(format::label_value(&text).is_ok(), text.is_empty() || pattern(&text));
    }
}
