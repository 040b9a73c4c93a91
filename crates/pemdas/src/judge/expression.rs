//! Expressions of Nickel, small enough to be drawn by chance, shrunk and moved to another place.

use std::fmt::Write as _;

use super::{
    dice::Dice,
    forms::{
        AROUND_NAMES, CONSTANT, EVERYWHERE, FOR_EACH, FORMS, Form, GONE, KEYS, OF_JOB, OF_LIVE, OF_MANY,
        OF_MEMBER, OF_RESULT, OF_ROOT, OF_SEED, OF_SELF, OF_VALUE, PLACES,
        Sort::{self, Bool, Label, Text},
        TAGGED,
    },
};

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

    /// The same with what edges from these nodes carry.
    pub(super) fn with(mut self, from: &[usize]) -> Self {
        self.from.extend(from);
        self
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

    /// A function of what a once left.
    pub(super) fn result() -> Self {
        Self { leaves: vec![OF_RESULT], from: Vec::new() }
    }

    /// A function of what is done once.
    pub(super) fn job() -> Self {
        Self { leaves: vec![OF_JOB], from: Vec::new() }
    }

    /// The same with its own object, or a random string.
    pub(super) fn own(mut self, dice: &mut Dice) -> Self {
        if dice.once_in(8) {
            self.leaves.push(OF_SELF);
        }
        if dice.once_in(8) {
            self.leaves.push(OF_SEED);
        }
        self
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
            let others = ["live", "the.each", "the.self", "the.seed"];
            let of_other =
                |it: &&str| others.iter().any(|other| it.contains(other)) || it.ends_with("\" the");
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

    /// What stands there already.
    pub(super) fn own() -> Self {
        Self::Of(&OF_SELF[0], Vec::new())
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

    /// The name of something that is to be there, or gone, for each member.
    pub(super) fn for_each(gone: bool) -> Self {
        Self::Of(&FOR_EACH[usize::from(gone)], Vec::new())
    }

    /// A namespace that there is.
    pub(super) fn place(dice: &mut Dice) -> Self {
        Self::one_of(PLACES, dice)
    }

    /// All namespaces.
    pub(super) fn everywhere() -> Self {
        Self::Of(&EVERYWHERE, Vec::new())
    }

    /// What something is done for.
    pub(super) fn key(dice: &mut Dice) -> Self {
        Self::one_of(KEYS, dice)
    }

    fn one_of(forms: &'static [Form], dice: &mut Dice) -> Self {
        let form = &forms[dice.below(forms.len())];
        Self::Of(form, form.wants.iter().map(|it| any(*it, 2, &Scope::the(), dice)).collect())
    }
}

/// A field as it is written.
pub(super) fn quoted(name: &str) -> String {
    let plain = name.starts_with(|it: char| it.is_ascii_alphabetic())
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    if plain { name.to_owned() } else { format!("\"{name}\"") }
}
