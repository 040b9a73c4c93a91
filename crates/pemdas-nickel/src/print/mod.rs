//! A drafted blueprint as Nickel, laid out as the formatter of the language leaves it.
//!
//! The text is for people: fields in their order, paths instead of records of one field, what fits on one line on one line. It
//! gives what the draft says, whatever the strings hold; the tests evaluate it.

mod labels;
mod strings;

use std::collections::BTreeSet;

use pemdas_core::import::{
    Contract, Draft, Edge, Expression, Made, Node, Observed, Once, Order, Parameter, Part, What,
};
use serde_json::{Number, Value};

pub use strings::{field_name, string};

/// Lines are at most so long where that can be had.
const WIDTH: usize = 110;
/// A record on one line has at most so many fields.
const MAX_INLINE: usize = 5;

/// The whole blueprint.
#[must_use]
pub fn blueprint(draft: &Draft) -> String {
    let mut out = String::new();
    let names = imported(draft);
    out.push_str(&format!("let {{ {}, .. }} = import \"pemdas/v1.ncl\" in\n", names.join(", ")));
    out.push_str(&labels::functions(&draft.labels));
    out.push_str("{\n");
    out.push_str(&format!("  name = {},\n\n", string(&draft.name)));
    kind(draft, &mut out);
    out.push_str("\n  nodes = {\n");
    root(draft, &mut out);
    for seen in &draft.observed {
        out.push_str(&observed(seen));
    }
    for node in &draft.nodes {
        out.push('\n');
        out.push_str(&self::node(node, 2));
    }
    out.push_str("  },\n} | Blueprint\n");
    out
}

/// What the blueprint uses of the library.
#[must_use]
pub fn imported(draft: &Draft) -> Vec<&'static str> {
    let mut names = BTreeSet::new();
    if draft.nodes.iter().flat_map(|it| &it.edges).any(|it| it.order == Order::There) {
        names.insert("Any");
    }
    if draft.nodes.iter().flat_map(|it| &it.edges).any(|it| !it.digest.is_empty()) {
        names.insert("at");
    }
    if draft.nodes.iter().any(|it| encodes(&it.template)) {
        names.insert("base64");
    }
    if draft.nodes.iter().filter_map(|it| it.once.as_ref()).any(|it| !it.pod) {
        names.insert("Failed");
    }
    names.extend(draft.parameters.iter().map(|it| contract(it.contract)).filter(|it| *it != "String"));
    std::iter::once("Blueprint").chain(names).collect()
}

fn contract(contract: Contract) -> &'static str {
    match contract {
        Contract::Text => "String",
        Contract::NonEmpty => "NonEmpty",
        Contract::Natural => "Nat",
        Contract::Quantity => "Quantity",
        Contract::Host => "DnsSubdomain",
    }
}

fn kind(draft: &Draft, out: &mut String) {
    out.push_str(&format!("  kinds.{} = {{\n", field_name(&draft.kind)));
    out.push_str(&format!("    group = {},\n", string(&draft.group)));
    if draft.cluster {
        out.push_str("    scope = 'Cluster,\n");
    }
    if draft.parameters.is_empty() {
        out.push_str("    versions.v1.spec = {},\n  },\n");
        return;
    }
    out.push_str("    versions.v1.spec = {\n");
    for parameter in &draft.parameters {
        out.push_str(&self::parameter(parameter, 3));
    }
    out.push_str("    },\n  },\n");
}

/// One parameter as a field of a spec, at a level of indentation.
#[must_use]
pub fn parameter(parameter: &Parameter, level: usize) -> String {
    let indent = "  ".repeat(level);
    let name = field_name(&parameter.name);
    let doc = string(&parameter.doc);
    let default = parameter.has_default.then(|| format!(" | default = {}", scalar(&parameter.value)));
    format!("{indent}{name} | {} | doc {doc}{},\n", contract(parameter.contract), default.unwrap_or_default())
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => string(text),
        Value::Number(it) => number(it),
        other => other.to_string(),
    }
}

/// A number as Nickel reads it: without the plus of an exponent, which JSON may have, nothing else differs.
fn number(number: &Number) -> String {
    number.to_string()
}

fn root(draft: &Draft, out: &mut String) {
    out.push_str(&format!(
        "    {} = {{\n      root = kinds.{},\n",
        field_name(&draft.root),
        field_name(&draft.kind)
    ));
    let needs: Vec<String> = draft.needs.iter().map(|it| string(it)).collect();
    out.push_str(&list("also", &needs, 3));
    if !draft.deleting.is_empty() {
        let last: Vec<String> = draft.deleting.iter().map(|it| string(it)).collect();
        out.push_str("      # Before everything goes.\n");
        out.push_str(&list("deleting", &last, 3));
    }
    out.push_str("    },\n");
}

/// A field with a list of words, on one line if it fits.
fn list(name: &str, words: &[String], level: usize) -> String {
    let indent = "  ".repeat(level);
    let line = format!("{indent}{name} = [{}],\n", words.join(", "));
    if line.chars().count() <= WIDTH + 1 {
        return line;
    }
    let items: String = words.iter().map(|it| format!("{indent}  {it},\n")).collect();
    format!("{indent}{name} = [\n{items}{indent}],\n")
}

/// One node as a field, at a level of indentation.
#[must_use]
pub fn node(node: &Node, level: usize) -> String {
    let indent = "  ".repeat(level);
    let mut out = format!("{indent}{} = {{\n", field_name(&node.name));
    for remark in &node.remarks {
        out.push_str(&format!("{indent}  # {remark}\n"));
    }
    edges(node, level + 1, &mut out);
    if let Some(once) = &node.once {
        self::once(once, level + 1, &mut out);
    }
    if node.orphan {
        out.push_str(&format!("{indent}  on_delete = 'Orphan,\n"));
    }
    let printer = Printer { argument: argument(&node.template) };
    // A function even where it reads nothing: whoever goes on from here has less to change.
    let function = match reads(&node.template) {
        true => format!("fun {} => ", printer.argument),
        false => "fun _the => ".to_owned(),
    };
    for comment in &node.template.above {
        out.push_str(&comment_line(comment, level + 1));
    }
    out.push_str(&format!(
        "{indent}  template = {function}{},\n",
        printer.block(&node.template.what, level + 1)
    ));
    out.push_str(&format!("{indent}}},\n"));
    out
}

/// An object of somebody else that is only looked at.
fn observed(seen: &Observed) -> String {
    let field = |name: &str, text: &str| format!("{name} = {}", string(text));
    let fields =
        [field("apiVersion", &seen.api_version), field("kind", &seen.kind), field("name", &seen.object)];
    format!("\n    {}.observe = {{ {} }},\n", field_name(&seen.name), fields.join(", "))
}

/// That something is done once, and for what.
fn once(once: &Once, level: usize, out: &mut String) {
    let indent = "  ".repeat(level);
    out.push_str(&format!("{indent}# It runs once, and again when its key changes.\n"));
    let done = if once.pod { "{ done = { status.phase = \"Succeeded\" } }" } else { "true" };
    out.push_str(&format!("{indent}once = {done},\n"));
    let printer = Printer { argument: argument(&once.key) };
    let function =
        if reads(&once.key) { format!("fun {} => ", printer.argument) } else { "fun _the => ".to_owned() };
    let line = printer.inline(&once.key.what).map(|it| format!("{indent}key = {function}{it},\n"));
    let line = line.filter(|it| it.chars().count() <= WIDTH + 1);
    out.push_str(
        &line.unwrap_or_else(|| {
            format!("{indent}key = {function}{},\n", printer.block(&once.key.what, level))
        }),
    );
    if once.skip_first {
        out.push_str(&format!("{indent}# A new instance has nothing to upgrade.\n{indent}first = 'Skip,\n"));
    }
    let fails = if once.pod { "{ status.phase = \"Failed\" }" } else { "Failed" };
    out.push_str(&format!("{indent}fails = {fails},\n"));
}

fn edges(node: &Node, level: usize, out: &mut String) {
    if node.edges.is_empty() {
        return;
    }
    let indent = "  ".repeat(level);
    out.push_str(&format!("{indent}also = [\n"));
    for edge in &node.edges {
        out.push_str(&format!("{indent}  # {}\n{indent}  {},\n", edge.why, string(&edge.to)));
    }
    out.push_str(&format!("{indent}],\n"));
    let ordered: Vec<_> = node.edges.iter().filter(|it| it.order != Order::None).collect();
    if ordered.is_empty() {
        return;
    }
    out.push_str(&format!("{indent}# What it refers to comes first.\n"));
    if ordered.iter().all(|it| it.order == Order::Ready && it.digest.is_empty()) {
        out.push_str(&list("before", &ordered.iter().map(|it| string(&it.to)).collect::<Vec<_>>(), level));
        return;
    }
    if let [only] = ordered.as_slice() {
        out.push_str(&format!("{indent}before.{}", self::ordered(only, level)));
        return;
    }
    let lines: String =
        ordered.iter().map(|it| format!("{indent}  {}", self::ordered(it, level + 1))).collect();
    out.push_str(&format!("{indent}before = {{\n{lines}{indent}}},\n"));
}

/// How a node waits for another one, and what it takes from it.
fn ordered(edge: &Edge, level: usize) -> String {
    let name = field_name(&edge.to);
    let parts: Vec<String> = edge.digest.iter().map(|it| format!("at {} {{}} live", string(it))).collect();
    let data = match parts.as_slice() {
        [] => {
            return match edge.order {
                Order::There => format!("{name}.until = Any,\n"),
                _ => format!("{name} = {{}},\n"),
            };
        }
        [only] => format!("({only})"),
        all => format!("[{}]", all.join(", ")),
    };
    let digest = format!("fun live => std.hash 'Sha256 (std.serialize 'Json {data})");
    let line = format!("{name}.extract = {digest},\n");
    if line.chars().count() + 2 * level + "before.".len() <= WIDTH {
        return line;
    }
    let indent = "  ".repeat(level + 1);
    let body = digest.trim_start_matches("fun live => ");
    format!("{name}.extract = fun live =>\n{indent}{body},\n")
}

/// The name of a template's argument: one that no field of the object hides.
fn argument(template: &Expression) -> String {
    let mut fields = BTreeSet::new();
    names(template, &mut fields);
    let mut name = "the".to_owned();
    while fields.contains(name.as_str()) {
        name.push('_');
    }
    name
}

fn names<'a>(expression: &'a Expression, found: &mut BTreeSet<&'a str>) {
    match &expression.what {
        What::List(items) => items.iter().for_each(|it| names(it, found)),
        What::Record(fields) | What::Labels(_, fields) => {
            for (name, value) in fields {
                found.insert(name);
                names(value, found);
            }
        }
        _ => {}
    }
}

fn reads(expression: &Expression) -> bool {
    match &expression.what {
        What::Read(_) => true,
        What::Text(parts) | What::Encoded(parts) => parts.iter().any(|it| !matches!(it, Part::Literal(_))),
        What::List(items) => items.iter().any(reads),
        What::Record(fields) => fields.iter().any(|it| reads(&it.1)),
        What::Labels(..) | What::Made(_) => true,
        _ => false,
    }
}

/// Whether something in it is written in base64 when it is made.
fn encodes(expression: &Expression) -> bool {
    match &expression.what {
        What::Made(made) => made.encoded,
        What::Encoded(_) => true,
        What::List(items) => items.iter().any(encodes),
        What::Record(fields) | What::Labels(_, fields) => fields.iter().any(|it| encodes(&it.1)),
        _ => false,
    }
}

fn comment_line(comment: &str, level: usize) -> String {
    let comment: String = comment.chars().filter(|it| !it.is_control() || *it == '\t').collect();
    let indent = "  ".repeat(level);
    format!("{indent}# {}", comment.trim()).trim_end().to_owned() + "\n"
}

/// Whether nothing is said about something or its parts, and no string has lines.
fn is_quiet(expression: &Expression) -> bool {
    let inside = match &expression.what {
        What::List(items) => items.iter().all(is_quiet),
        What::Record(fields) | What::Labels(_, fields) => fields.iter().all(|it| is_quiet(&it.1)),
        What::Text(parts) | What::Encoded(parts) => !strings::wants_lines(parts),
        _ => true,
    };
    inside && expression.above.is_empty() && expression.beside.is_none()
}

struct Printer {
    argument: String,
}

impl Printer {
    /// Something that begins behind a `=` on a line of this level, over several lines.
    fn block(&self, what: &What, level: usize) -> String {
        let indent = "  ".repeat(level);
        match what {
            What::Record(fields) if !fields.is_empty() => {
                let fields: String =
                    fields.iter().map(|(name, it)| self.field(name, it, level + 1)).collect();
                format!("{{\n{fields}{indent}}}")
            }
            What::List(items) if !items.is_empty() => {
                let items: String = items.iter().map(|it| self.item(it, level + 1)).collect();
                format!("[\n{items}{indent}]")
            }
            What::Text(parts) if strings::wants_lines(parts) => {
                strings::lines(parts, level + 1, &|part| self.part(part))
            }
            What::Encoded(parts) if strings::wants_lines(parts) => {
                format!("base64 {}", self.block(&What::Text(parts.clone()), level))
            }
            What::Labels(which, more) if !more.is_empty() => {
                let more = self.block(&What::Record(more.clone()), level);
                format!("{} {} & {more}", labels::name(*which), self.argument)
            }
            other => self.line(other),
        }
    }

    /// A field with its comments; records of one field become a path.
    fn field(&self, name: &str, expression: &Expression, level: usize) -> String {
        let mut path = field_name(name);
        let mut inner = expression;
        let mut above = expression.above.clone();
        let mut beside = expression.beside.clone();
        while let What::Record(fields) = &inner.what {
            let [(name, value)] = fields.as_slice() else { break };
            if inner.beside.is_some() && !std::ptr::eq(inner, expression) {
                break;
            }
            path = format!("{path}.{}", field_name(name));
            above.extend(value.above.iter().cloned());
            beside = beside.or_else(|| value.beside.clone());
            inner = value;
        }
        self.placed(&format!("{path} = "), &inner.what, &above, beside.as_deref(), level)
    }

    fn item(&self, expression: &Expression, level: usize) -> String {
        self.placed("", &expression.what, &expression.above, expression.beside.as_deref(), level)
    }

    /// Behind some words, on one line if it fits, with comments around it.
    fn placed(
        &self,
        words: &str,
        what: &What,
        above: &[String],
        beside: Option<&str>,
        level: usize,
    ) -> String {
        let indent = "  ".repeat(level);
        let mut out: String = above.iter().map(|it| comment_line(it, level)).collect();
        let line = self.inline(what).map(|it| format!("{indent}{words}{it},"));
        let line = line.filter(|it| it.chars().count() <= WIDTH || !is_open(what));
        let said = beside.map(|it| comment_line(it, 0).trim_end().to_owned());
        match (line, said) {
            (Some(line), Some(said)) => out.push_str(&format!("{line} {said}\n")),
            (Some(line), None) => out.push_str(&format!("{line}\n")),
            (None, said) => {
                // The end of the line is taken by what follows: above is the next best place.
                out.extend(said.map(|it| format!("{indent}{it}\n")));
                out.push_str(&format!("{indent}{words}{},\n", self.block(what, level)));
            }
        }
        out
    }

    /// On one line, unless there is too much of it.
    fn inline(&self, what: &What) -> Option<String> {
        let quiet = match what {
            What::List(items) => items.iter().all(is_quiet),
            What::Record(fields) | What::Labels(_, fields) => fields.iter().all(|it| is_quiet(&it.1)),
            What::Text(parts) | What::Encoded(parts) => !strings::wants_lines(parts),
            _ => true,
        };
        let small = match what {
            What::List(items) => {
                let plain = items.iter().all(|it| !matches!(it.what, What::Record(_) | What::List(_)));
                plain || items.len() == 1
            }
            What::Record(fields) | What::Labels(_, fields) => fields.len() <= MAX_INLINE,
            _ => true,
        };
        (quiet && small && depth(what) <= 3).then(|| self.line(what))
    }

    fn line(&self, what: &What) -> String {
        match what {
            What::Null => "null".to_owned(),
            What::Bool(it) => it.to_string(),
            What::Number(it) => number(it),
            What::Read(name) => format!("{}.root.spec.{}", self.argument, field_name(name)),
            What::Made(made) => self.made(made),
            What::Encoded(parts) => format!("base64 {}", self.line(&What::Text(parts.clone()))),
            What::Text(parts) => match parts.as_slice() {
                [part] if !matches!(part, Part::Literal(_)) => self.part(part),
                parts => strings::quoted(parts, &|part| self.part(part)),
            },
            What::List(items) => {
                format!("[{}]", items.iter().map(|it| self.line(&it.what)).collect::<Vec<_>>().join(", "))
            }
            What::Record(fields) if fields.is_empty() => "{}".to_owned(),
            What::Labels(which, more) if more.is_empty() => {
                format!("{} {}", labels::name(*which), self.argument)
            }
            What::Labels(which, more) => {
                let more = self.line(&What::Record(more.clone()));
                format!("{} {} & {more}", labels::name(*which), self.argument)
            }
            What::Record(fields) => {
                let field = |(name, value): &(String, Expression)| {
                    let mut path = field_name(name);
                    let mut inner = value;
                    while let What::Record(fields) = &inner.what {
                        let [(name, value)] = fields.as_slice() else { break };
                        path = format!("{path}.{}", field_name(name));
                        inner = value;
                    }
                    format!("{path} = {}", self.line(&inner.what))
                };
                format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// A value that is made from the seed of the node.
    fn made(&self, Made { of, encoded }: &Made) -> String {
        let seed = format!("{}.seed", self.argument);
        let text = match of {
            None => seed,
            Some(of) => {
                let around = strings::quoted(&[Part::Literal(format!(" {of}"))], &|_| String::new());
                format!("std.hash 'Sha256 \"%{{{seed}}}{}", around.trim_start_matches('"'))
            }
        };
        match (encoded, of) {
            (false, _) => text,
            (true, None) => format!("base64 {text}"),
            (true, Some(_)) => format!("base64 ({text})"),
        }
    }

    fn part(&self, part: &Part) -> String {
        let argument = &self.argument;
        match part {
            Part::Literal(text) => string(text),
            Part::RootName => format!("{argument}.root.metadata.name"),
            Part::RootNamespace => format!("{argument}.root.metadata.namespace"),
            Part::Parameter(name) => format!("{argument}.root.spec.{}", field_name(name)),
            Part::Digest { node, .. } => format!("{argument}.{}", field_name(node)),
        }
    }
}

/// Whether something can be broken into lines.
fn is_open(what: &What) -> bool {
    match what {
        What::List(items) => !items.is_empty(),
        What::Record(fields) | What::Labels(_, fields) => !fields.is_empty(),
        _ => false,
    }
}

fn depth(what: &What) -> usize {
    match what {
        What::List(items) => 1 + items.iter().map(|it| depth(&it.what)).max().unwrap_or_default(),
        What::Record(fields) => match fields.as_slice() {
            // A path of fields is no deeper than its end.
            [(_, only)] => depth(&only.what).max(1),
            all => 1 + all.iter().map(|it| depth(&it.1.what)).max().unwrap_or_default(),
        },
        What::Labels(_, more) => 1 + more.iter().map(|it| depth(&it.1.what)).max().unwrap_or_default(),
        _ => 0,
    }
}
