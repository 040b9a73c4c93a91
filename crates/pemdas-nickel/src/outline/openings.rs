//! Where something can be added to a blueprint as it is written: just after the bracket that opens a literal.

use super::trees::Trees;
use crate::evaluator::Evaluator;
use crate::library::is_library_file;
use crate::sources::Sources;
use crate::syntax::Expr;

/// A record or a list that is written down, and where its inside begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The file.
    pub file: String,
    /// The byte after the bracket.
    pub at: usize,
    /// Whether it is a list.
    pub list: bool,
    /// Whether there is nothing in it.
    pub empty: bool,
    /// Whether what is in it begins on the same line.
    pub inline: bool,
    /// How far what is in it is indented.
    pub indent: usize,
}

/// For each path of a blueprint: the literal that is there; none where it is made otherwise, or in several places.
#[must_use]
pub fn openings(evaluator: &dyn Evaluator, sources: &Sources, paths: &[Vec<String>]) -> Vec<Option<Opening>> {
    let Ok(syntax) = evaluator.syntax() else { return vec![None; paths.len()] };
    let trees = Trees::new(&syntax, sources);
    paths.iter().map(|path| opening(&trees, sources, path)).collect()
}

fn opening(trees: &Trees<'_>, sources: &Sources, path: &[String]) -> Option<Opening> {
    let [at] = trees.views(trees.value_of(path)?)[..] else { return None };
    let (list, empty) = match trees.expr(at)? {
        Expr::Record { fields, includes, .. } => (false, fields.is_empty() && includes.is_empty()),
        Expr::Array(items) => (true, items.is_empty()),
        _ => return None,
    };
    let span = trees.span(at).filter(|it| !is_library_file(&it.file))?;
    let text = sources.get(&span.file)?;
    let start = span.start as usize;
    let inside = text.get(start..)?.strip_prefix(if list { '[' } else { '{' })?;
    let first_line = inside.lines().next().unwrap_or_default().trim_start();
    let inline = !first_line.is_empty() && !first_line.starts_with('#');
    let width = |line: &str| line.len() - line.trim_start().len();
    let line = text.get(..start)?.rsplit('\n').next().unwrap_or_default();
    let next = inside.lines().skip(1).find(|it| !it.trim().is_empty());
    let indent = match next {
        Some(next) if !inline && !empty => width(next),
        _ => width(line) + 2,
    };
    Some(Opening { file: span.file, at: start + 1, list, empty, inline, indent })
}

#[cfg(test)]
mod tests {
    use super::openings;
    use crate::evaluator::InProcess;
    use crate::limits::Limits;
    use crate::sources::Sources;

    #[test]
    fn what_is_written_down_can_be_added_to() {
        let main = "let { Blueprint, .. } = import \"pemdas/v1.ncl\" in\n{\n  name = \"x\",\n  nodes = import \"nodes.ncl\",\n} | Blueprint\n";
        let nodes = "{\n  # first\n  app = { also = [\"a\"], root = { apiVersion = \"v1\", kind = \"Secret\" } },\n  a = std.record.map (fun _ it => it) { value = 1 },\n}\n";
        let sources = Sources::new().with("main.ncl", main).with("nodes.ncl", nodes);
        let evaluator = InProcess::load(&sources, &Limits::default()).expect("a blueprint");
        let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        let found = openings(
            &evaluator,
            &sources,
            &[path("nodes"), path("nodes.app.also"), path("nodes.a"), path("kinds")],
        );
        let all = found[0].as_ref().expect("a record");
        assert_eq!(
            (all.file.as_str(), all.at, all.list, all.inline, all.indent),
            ("nodes.ncl", 1, false, false, 2)
        );
        let also = found[1].as_ref().expect("a list");
        assert!(also.list && also.inline && nodes[also.at..].starts_with("\"a\"]"));
        assert_eq!(found[2..], [None, None]);
    }
}
