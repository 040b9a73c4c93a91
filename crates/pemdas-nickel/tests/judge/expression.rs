//! Expressions of Nickel, small enough to be drawn by chance, shrunk and moved to another place.

use std::fmt::Write as _;

use super::dice::Dice;

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
    yields: Sort,
    text: &'static str,
    wants: &'static [Sort],
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Of(&'static Form, Vec<Expression>),
    /// What an edge from this node carries.
    From(usize),
    /// A constant part of a name.
    Word(String),
    /// A function of the blueprint's own.
    Helper(usize, Sort),
}

const fn form(yields: Sort, text: &'static str, wants: &'static [Sort]) -> Form {
    Form { yields, text, wants }
}

/// What every function that has `the` can read.
static OF_ROOT: &[Form] = &[
    form(Label, "the.root.metadata.name", &[]),
    form(Label, "the.root.spec.mode", &[]),
    form(Label, r#"at "spec.where" "z" the.root"#, &[]),
    form(Label, r#"(labels_of "web" the.root)."app.kubernetes.io/instance""#, &[]),
    form(Text, "the.root.metadata.namespace", &[]),
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
    form(Record, r#"at "spec.map" {} the.root"#, &[]),
];

/// What a function of a live object can read.
static OF_LIVE: &[Form] = &[
    form(Label, "live.metadata.name", &[]),
    form(Text, r#"at "data.k0" "missing" live"#, &[]),
    form(Text, r#"at "data.k1" "" live"#, &[]),
    form(Text, "live.metadata.namespace", &[]),
    form(Text, r#"at ["metadata", "labels", "tier"] "none" live"#, &[]),
    form(Bool, r#"at "data" null live == null"#, &[]),
    form(Record, r#"at "data" {} live"#, &[]),
];

/// What a function of many objects can read.
static OF_MANY: &[Form] = &[
    form(List, "std.record.fields live", &[]),
    form(Number, "std.array.length (std.record.fields live)", &[]),
    form(List, "std.array.map (fun one_ => one_.metadata.name) (std.record.values live)", &[]),
    form(Bool, "live == {}", &[]),
];

/// What a function of a value, a text, can read.
static OF_VALUE: &[Form] = &[form(Text, "live", &[])];

static OF_MEMBER: &[Form] =
    &[form(Label, "the.each.key", &[]), form(Text, r#"at "each.value.word" "" the"#, &[])];

static CONSTANT: &[Form] = &[
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

static FORMS: &[Form] = &[
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
    form(List, "std.record.fields §", &[Record]),
    form(List, "if § then § else §", &[Bool, List, List]),
    form(Record, r#"record_of [{ field = "k0", value = § }]"#, &[Text]),
    form(Record, "{ k1 = §, k2 = § }", &[Text, Label]),
    form(Record, r#"keep_fields (fun _name_ one_ => one_ != "") §"#, &[Record]),
    form(Record, r#"std.record.map (fun _name_ one_ => "%{one_}.") §"#, &[Record]),
    form(Record, "if § then § else §", &[Bool, Record, Record]),
];

/// What expressions may read where they stand.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    leaves: Vec<&'static [Form]>,
    /// Nodes from which an edge carries something.
    pub(super) from: Vec<usize>,
}

impl Scope {
    /// A function of `the`.
    pub(super) fn the() -> Self {
        Self { leaves: vec![OF_ROOT], from: Vec::new() }
    }

    /// The same in a member.
    pub(super) fn member(mut self) -> Self {
        self.leaves.push(OF_MEMBER);
        self
    }

    /// A function of a live object.
    pub(super) fn live() -> Self {
        Self { leaves: vec![OF_LIVE], from: Vec::new() }
    }

    /// A function of all members, or of all that a selector picks.
    pub(super) fn many() -> Self {
        Self { leaves: vec![OF_MANY], from: Vec::new() }
    }

    /// A function of a value.
    pub(super) fn value() -> Self {
        Self { leaves: vec![OF_VALUE], from: Vec::new() }
    }

    fn leaf(&self, sort: Sort, dice: &mut Dice) -> Option<Expression> {
        if matches!(sort, Text) && !self.from.is_empty() && dice.coin() {
            return Some(Expression::From(dice.one_of(&self.from)));
        }
        let fits: Vec<_> =
            self.leaves.iter().flat_map(|it| it.iter()).filter(|it| it.yields == sort).collect();
        (!fits.is_empty()).then(|| Expression::Of(dice.one_of(&fits), Vec::new()))
    }
}

/// An expression by chance.
pub(super) fn any(sort: Sort, depth: usize, scope: &Scope, dice: &mut Dice) -> Expression {
    if depth == 0 || dice.once_in(4) {
        if !dice.once_in(5)
            && let Some(leaf) = scope.leaf(sort, dice)
        {
            return leaf;
        }
        return simplest(sort, dice.below(2));
    }
    let fits: Vec<_> = FORMS.iter().filter(|it| it.yields == sort).collect();
    let form = fits[dice.below(fits.len())];
    Expression::Of(form, form.wants.iter().map(|it| any(*it, depth - 1, scope, dice)).collect())
}

/// A constant.
pub(super) fn simplest(sort: Sort, at: usize) -> Expression {
    let fits: Vec<_> = CONSTANT.iter().filter(|it| it.yields == sort).collect();
    Expression::Of(fits[at.min(fits.len() - 1)], Vec::new())
}

impl Expression {
    pub(super) fn sort(&self) -> Sort {
        match self {
            Self::Of(form, _) => form.yields,
            Self::From(_) => Text,
            Self::Word(_) => Label,
            Self::Helper(_, sort) => *sort,
        }
    }

    /// Whether it reads the root, and nothing else.
    pub(super) fn is_of_root(&self) -> bool {
        let texts = self.texts();
        texts.as_ref().is_some_and(|all| {
            let of_root = |it: &&str| it.contains("the.root");
            let of_other =
                |it: &&str| it.contains("live") || it.contains("the.each") || it.ends_with("\" the");
            all.iter().any(of_root) && !all.iter().any(of_other)
        })
    }

    /// The forms that it is made of, if that is all.
    fn texts(&self) -> Option<Vec<&'static str>> {
        match self {
            Self::From(_) | Self::Helper(..) => None,
            Self::Word(_) => Some(Vec::new()),
            Self::Of(form, arguments) => {
                let mut all = vec![form.text];
                for it in arguments {
                    all.extend(it.texts()?);
                }
                Some(all)
            }
        }
    }

    /// The whole of a live object, or of a value.
    pub(super) fn live() -> Self {
        Self::Of(&OF_VALUE[0], Vec::new())
    }

    /// As it is written; `names` are the nodes'.
    pub(super) fn text(&self, names: &[String]) -> String {
        match self {
            Self::From(node) => format!("the.{}.v", quoted(&names[*node])),
            Self::Helper(number, _) => format!("helper{number} the"),
            Self::Word(word) => format!("\"{word}\""),
            Self::Of(form, arguments) => {
                let mut out = String::new();
                let mut arguments = arguments.iter();
                for (at, part) in form.text.split('§').enumerate() {
                    if at > 0 {
                        let argument = arguments.next().expect("as many arguments as places");
                        let _ = write!(out, "({})", argument.text(names));
                    }
                    out.push_str(part);
                }
                out
            }
        }
    }

    /// Everything that an edge from a node carried becomes a constant; the nodes after `gone` move up if it is gone.
    pub(super) fn without(&mut self, node: usize, gone: bool) {
        match self {
            Self::From(from) if *from == node => *self = simplest(Text, 0),
            Self::From(from) if gone && *from > node => *from -= 1,
            Self::From(_) | Self::Word(_) | Self::Helper(..) => {}
            Self::Of(_, arguments) => arguments.iter_mut().for_each(|it| it.without(node, gone)),
        }
    }

    /// The same, in a `let`.
    pub(super) fn in_a_let(self) -> Self {
        let fits = FORMS.iter().find(|it| it.yields == self.sort() && it.text == "let v_ = § in v_");
        match fits {
            Some(form) => Self::Of(form, vec![self]),
            None => self,
        }
    }

    /// Simpler ones, the simplest first.
    pub(super) fn simpler(&self) -> Vec<Self> {
        let mut found = Vec::new();
        let constant = simplest(self.sort(), 0);
        if let Self::Of(_, arguments) = self {
            let is_constant = !CONSTANT.iter().all(|it| Self::Of(it, Vec::new()) != *self);
            if !is_constant {
                found.push(constant);
            }
            found.extend(arguments.iter().filter(|it| it.sort() == self.sort()).cloned());
            for at in 0..arguments.len() {
                for simpler in arguments[at].simpler() {
                    let Self::Of(form, mut arguments) = self.clone() else { continue };
                    arguments[at] = simpler;
                    found.push(Self::Of(form, arguments));
                }
            }
        } else if matches!(self, Self::From(_)) {
            found.push(constant);
        }
        found
    }

    /// The name of a node's objects: no other node's are called so.
    pub(super) fn tagged(label: &Self, node: usize, member: bool, dice: &mut Dice) -> Self {
        let name =
            |label: Self| Self::Of(&TAGGED[usize::from(member)], vec![label, Self::Word(format!("t{node}"))]);
        let form = &AROUND_NAMES[dice.below(AROUND_NAMES.len())];
        let wants = form.wants.iter().map(|it| match it {
            Bool => any(Bool, 2, &Scope::the(), dice),
            _ => name(label.clone()),
        });
        Self::Of(form, wants.collect())
    }

    /// The name of something that is to be gone.
    pub(super) fn gone(dice: &mut Dice) -> Self {
        Self::Of(&GONE, vec![any(Label, 2, &Scope::the(), dice)])
    }

    /// A namespace that there is.
    pub(super) fn place(dice: &mut Dice) -> Self {
        let form = &PLACES[dice.below(PLACES.len())];
        Self::Of(form, form.wants.iter().map(|it| any(*it, 2, &Scope::the(), dice)).collect())
    }
}

static TAGGED: [Form; 2] = [
    form(Label, r#""x%{§}-%{§}""#, &[Label, Label]),
    form(Label, r#""x%{§}-%{the.each.key}-%{§}""#, &[Label, Label]),
];

static GONE: Form = form(Label, r#""gone-%{§}""#, &[Label]);

/// What may stand around a name and leaves it one of its own.
static AROUND_NAMES: &[Form] = &[
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

static PLACES: &[Form] = &[
    form(Label, "the.root.metadata.namespace", &[]),
    form(Label, r#""team""#, &[]),
    form(Label, r#"std.string.lowercase "TEAM""#, &[]),
    form(Label, r#"if § then "k" else the.root.metadata.namespace"#, &[Bool]),
];

/// A field as it is written.
pub(super) fn quoted(name: &str) -> String {
    let plain = name.starts_with(|it: char| it.is_ascii_alphabetic())
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    if plain { name.to_owned() } else { format!("\"{name}\"") }
}
