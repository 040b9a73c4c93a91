//! What expressions are made of: what can be read where they stand, and how expressions are put together.

/// What an expression yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Part of a name: lower-case letters, digits and dashes inside. Any text may be one.
    Label,
    Text,
    Bool,
    Number,
    /// Of texts.
    List,
    /// Of texts, by field.
    Record,
}
use Sort::{Bool, Label, List, Number, Record, Text};

/// One way to put expressions together: each `§` is an argument.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) yields: Sort,
    pub(super) text: &'static str,
    pub(super) wants: &'static [Sort],
}

const fn form(yields: Sort, text: &'static str, wants: &'static [Sort]) -> Form {
    Form { yields, text, wants }
}

/// What every function that has `the` can read.
pub(super) static OF_ROOT: &[Form] = &[
    form(Label, "the.root.metadata.name", &[]),
    form(Label, "the.root.spec.mode", &[]),
    form(Label, r#"at "spec.where" "z" the.root"#, &[]),
    form(Label, r#"(labels_of "web" the.root)."app.kubernetes.io/instance""#, &[]),
    form(Text, r#"at "metadata.namespace" "none" the.root"#, &[]),
    form(Text, "the.root.spec.text", &[]),
    form(Text, r#"at ["metadata", "labels", "tier"] "front" the.root"#, &[]),
    form(Text, r#"at "spec.note" "" the.root"#, &[]),
    form(Bool, "the.root.spec.a", &[]),
    form(Bool, "the.root.spec.b", &[]),
    form(Bool, "the.root.spec.c", &[]),
    form(Bool, r#"at "spec.flag" false the.root"#, &[]),
    form(Bool, r#"at "spec.note" null the.root == null"#, &[]),
    form(Number, "the.root.spec.size", &[]),
    form(Number, r#"at "spec.count" 0 the.root"#, &[]),
    form(List, "the.root.spec.items", &[]),
    form(List, r#"at "spec.hosts" [] the.root"#, &[]),
    // Not each root has these.
    form(Label, "the.root.spec.where", &[]),
    form(List, "the.root.spec.hosts", &[]),
    form(Record, r#"at "spec.map" {} the.root"#, &[]),
];

/// What a function of a live object can read.
pub(super) static OF_LIVE: &[Form] = &[
    form(Label, "live.metadata.name", &[]),
    form(Text, r#"at "data.k0" "missing" live"#, &[]),
    form(Text, r#"at "data.k1" "" live"#, &[]),
    form(Text, "live.metadata.namespace", &[]),
    form(Text, r#"at ["metadata", "labels", "tier"] "none" live"#, &[]),
    form(Bool, r#"at "data" null live == null"#, &[]),
    form(Record, r#"at "data" {} live"#, &[]),
];

/// What a function of many objects can read.
pub(super) static OF_MANY: &[Form] = &[
    form(List, "std.record.fields live", &[]),
    form(Number, "std.array.length (std.record.fields live)", &[]),
    form(List, "std.array.map (fun one_ => one_.metadata.name) (std.record.values live)", &[]),
    form(Bool, "live == {}", &[]),
];

/// What a function of a value, a text, can read.
pub(super) static OF_VALUE: &[Form] = &[form(Text, "live", &[])];

pub(super) static OF_MEMBER: &[Form] =
    &[form(Label, "the.each.key", &[]), form(Text, r#"at "each.value.word" "" the"#, &[])];

/// What a template can read of its own object.
pub(super) static OF_SELF: &[Form] = &[form(Text, r#"at "data.k0" "first" the.self"#, &[])];

/// What can be said of a random string without telling it.
pub(super) static OF_SEED: &[Form] = &[form(Bool, "std.string.length the.seed > 2", &[])];

/// What a result can be made of.
pub(super) static OF_JOB: &[Form] = &[
    form(Text, r#"at ["metadata", "annotations", "k0"] "none" live"#, &[]),
    form(Text, "live.metadata.namespace", &[]),
    form(Bool, r#"at ["metadata", "annotations", "k1"] null live == null"#, &[]),
];

/// What can be read of a result.
pub(super) static OF_RESULT: &[Form] =
    &[form(Text, r#"at "v" "none" live"#, &[]), form(Bool, "live == null", &[])];

/// What something is done for, or null.
pub(super) static KEYS: &[Form] = &[
    form(Text, r#"at "spec.where" null the.root"#, &[]),
    form(Text, r#"if § then "due" else null"#, &[Bool]),
    form(Text, "[§]", &[Text]),
    form(Text, "§", &[Text]),
];

pub(super) static CONSTANT: &[Form] = &[
    form(Label, r#""k""#, &[]),
    form(Label, r#""two-words""#, &[]),
    form(Text, r#""""#, &[]),
    form(Text, r#""Some Text""#, &[]),
    form(Bool, "true", &[]),
    form(Bool, "false", &[]),
    form(Number, "0", &[]),
    form(Number, "2", &[]),
    form(List, "[]", &[]),
    form(List, r#"["b", "a"]"#, &[]),
    form(Record, "{}", &[]),
];

pub(super) static FORMS: &[Form] = &[
    form(Label, "§", &[Label]),
    form(Label, "std.string.lowercase §", &[Label]),
    form(Label, r#"std.string.replace "o" "0" §"#, &[Label]),
    form(Label, r#"std.string.replace_regex "[^a-z0-9]" "" "b%{std.string.lowercase (base64 §)}""#, &[Text]),
    form(Label, r#"short 20 "application-%{§}""#, &[Label]),
    form(Label, "short 12 §", &[Label]),
    form(Label, "std.string.substring 0 10 (std.hash 'Sha256 §)", &[Text]),
    form(Label, "if § then § else §", &[Bool, Label, Label]),
    form(Label, "let v_ = § in v_", &[Label]),
    form(Label, r#"let v_ = § in "%{v_}-%{v_}""#, &[Label]),
    form(Label, r#"let f_ = fun x_ => "f%{x_}" in f_ §"#, &[Label]),
    form(Label, r#"§ |> match { "prod" => "p", other_ => other_ }"#, &[Label]),
    form(Label, r#"§ |> match { "two-words" => §, "k" => "kk", _ => § }"#, &[Text, Label, Label]),
    form(Label, r#""%{§}-%{§}""#, &[Label, Label]),
    form(Label, r#""x%{§}y""#, &[Label]),
    form(Label, r#"§ ++ "-" ++ §"#, &[Label, Label]),
    form(Label, r#"std.array.first (std.string.split "-" §)"#, &[Label]),
    form(Label, r#"std.string.join "-" [§, §]"#, &[Label, Label]),
    form(Label, "std.string.from_number §", &[Number]),
    form(Label, "(fun { left_, .. } => left_) { left_ = §, right_ = § }", &[Label, Number]),
    form(Label, "({ x_ = { y_ = § } }).x_.y_", &[Label]),
    form(Label, r#"std.record.get_or "k0" § { k0 = § }"#, &[Label, Label]),
    form(
        Label,
        r#"fold (fun all_ one_ => "%{all_}%{std.string.from_number (std.string.length one_)}") § §"#,
        &[Label, List],
    ),
    form(Label, "§ | String", &[Label]),
    form(Label, "shouted §", &[Label]),
    form(Label, "std.string.trim §", &[Label]),
    form(Text, "§", &[Label]),
    form(Text, "std.string.uppercase §", &[Text]),
    form(Text, r#""%{§} and %{§}""#, &[Text, Label]),
    form(Text, "base64 §", &[Text]),
    form(Text, "base64_decode (base64 §)", &[Text]),
    form(Text, "if § then § else §", &[Bool, Text, Text]),
    form(Text, "std.to_string §", &[Number]),
    form(Text, "std.to_string §", &[Bool]),
    form(Text, r#"std.string.join "," §"#, &[List]),
    form(Text, r#"std.string.join ";" (std.record.fields §)"#, &[Record]),
    form(Text, "std.serialize 'Json §", &[Record]),
    form(Text, "std.serialize 'Json §", &[List]),
    form(Text, r#"at "k0" "none" §"#, &[Record]),
    form(Text, "std.hash 'Md5 §", &[Text]),
    form(Text, r#"std.array.first (§ @ ["last"])"#, &[List]),
    form(Text, "std.array.first §", &[List]),
    form(Text, r#"std.string.replace "a" "" §"#, &[Text]),
    form(Text, "let v_ = § in v_", &[Text]),
    form(Text, "std.array.fold_left (fun all_ one_ => all_ ++ one_) \"\" §", &[List]),
    form(Text, r#"std.string.join "" (std.array.reverse (std.string.characters §))"#, &[Text]),
    form(Text, "std.serialize 'Json §", &[Bool]),
    form(
        Text,
        r#"std.string.join "-" (std.array.map (fun one_ => one_.field) (std.record.to_array §))"#,
        &[Record],
    ),
    form(Text, r#"§ |> std.string.split " " |> std.array.first |> std.string.lowercase"#, &[Text]),
    form(Text, r#"if § == null then "null" else "some""#, &[Text]),
    form(Bool, "!(§)", &[Bool]),
    form(Bool, "§ && §", &[Bool, Bool]),
    form(Bool, "§ || §", &[Bool, Bool]),
    form(Bool, "§ > §", &[Number, Number]),
    form(Bool, "§ == §", &[Text, Text]),
    form(Bool, r#"§ == "prod""#, &[Label]),
    form(Bool, r#"std.string.contains "o" §"#, &[Text]),
    form(Bool, r#"std.string.is_match "^[a-m]" §"#, &[Text]),
    form(Bool, "std.array.elem § §", &[Text, List]),
    form(Bool, r#"std.record.has_field "k0" §"#, &[Record]),
    form(Bool, "if § then § else §", &[Bool, Bool, Bool]),
    form(Bool, r#"std.array.any (fun one_ => one_ == "a") §"#, &[List]),
    form(Bool, r#"std.array.all (fun one_ => one_ != "b") §"#, &[List]),
    form(Bool, "std.record.is_empty §", &[Record]),
    form(Number, "§ + §", &[Number, Number]),
    form(Number, "std.string.length §", &[Text]),
    form(Number, "std.array.length §", &[List]),
    form(Number, "std.number.max § §", &[Number, Number]),
    form(Number, "if § then § else §", &[Bool, Number, Number]),
    form(List, "[§, §]", &[Text, Label]),
    form(List, r#"std.string.split "-" §"#, &[Text]),
    form(List, r#"std.array.map (fun one_ => "%{one_}!") §"#, &[List]),
    form(List, "sort §", &[List]),
    form(List, r#"keep (fun one_ => one_ != "b") §"#, &[List]),
    form(List, "join_lists [§, §]", &[List, List]),
    form(List, "§ @ [§]", &[List, Text]),
    form(List, "std.array.reverse §", &[List]),
    form(List, "sort_by std.string.length §", &[List]),
    form(List, "std.array.flat_map (fun one_ => [one_, one_]) §", &[List]),
    form(List, r#"std.array.filter (fun one_ => one_ != "") §"#, &[List]),
    form(List, "std.record.values §", &[Record]),
    form(List, "std.array.generate (fun at_ => std.to_string at_) §", &[Number]),
    form(List, "std.record.fields §", &[Record]),
    form(List, "if § then § else §", &[Bool, List, List]),
    form(Record, r#"record_of [{ field = "k0", value = § }]"#, &[Text]),
    form(Record, "{ k1 = §, k2 = § }", &[Text, Label]),
    form(
        Record,
        r#"record_of (std.array.map (fun one_ => { field = "x%{one_}", value = one_ }) (std.array.slice 0 (std.number.min 1 (std.array.length §)) §))"#,
        &[List, List],
    ),
    form(Record, r#"std.record.insert "k7" § §"#, &[Text, Record]),
    form(Record, "{ k1 = §, k2 = null } |> keep_fields (fun _name_ one_ => one_ != null)", &[Text]),
    form(Record, r#"keep_fields (fun _name_ one_ => one_ != "") §"#, &[Record]),
    form(Record, r#"std.record.map (fun _name_ one_ => "%{one_}.") §"#, &[Record]),
    form(Record, "if § then § else §", &[Bool, Record, Record]),
];

pub(super) static TAGGED: [Form; 2] = [
    form(Label, r#""x%{§}-%{§}""#, &[Label, Label]),
    form(Label, r#""x%{§}-%{the.each.key}-%{§}""#, &[Label, Label]),
];

pub(super) static GONE: Form = form(Label, r#""gone-%{§}""#, &[Label]);

/// What may stand around a name and leaves it one of its own.
pub(super) static AROUND_NAMES: &[Form] = &[
    form(Label, "§", &[Label]),
    form(Label, "§", &[Label]),
    form(Label, "std.string.lowercase §", &[Label]),
    form(Label, "let v_ = § in v_", &[Label]),
    form(Label, "shouted §", &[Label]),
    form(Label, "short 100 §", &[Label]),
    form(Label, r#"if § then "a%{§}" else §"#, &[Bool, Label, Label]),
    form(Label, r#"§ |> std.string.replace "o" "0""#, &[Label]),
    form(Label, r#"§ |> match { "x" => "y", other_ => other_ }"#, &[Label]),
];

pub(super) static PLACES: &[Form] = &[
    form(Label, r#"at "metadata.namespace" "team" the.root"#, &[]),
    form(Label, r#""team""#, &[]),
    form(Label, r#"std.string.lowercase "TEAM""#, &[]),
    form(Label, r#"if § then "k" else at "metadata.namespace" "default" the.root"#, &[Bool]),
];

/// Where a selector looks besides.
pub(super) static EVERYWHERE: Form = form(Label, r#""*""#, &[]);

/// The name of something for each member.
pub(super) static FOR_EACH: [Form; 2] =
    [form(Label, "the.each.key", &[]), form(Label, r#""gone-%{the.each.key}""#, &[])];
