//! The guards of imports.
//!
//! The evaluator reads imported files from the file system, and its error texts quote them. So before it may resolve anything, every
//! import of a blueprint must name a file that is in memory ([`imports_of`], [`resolve`]); a walk could miss a place
//! where an import can stand, so the number of `import` tokens must agree with the number of imports found; and when all is loaded, the
//! evaluator must know no file that we did not give it ([`stranger`]).

use std::collections::BTreeMap;

use nickel_lang_core::ast::{Ast, Import, InputFormat, Node};
use nickel_lang_core::cache::{SourceCache, SourcePath};
use nickel_lang_core::parser::lexer::{Lexer, MultiStringToken, NormalToken, StringToken, Token};
use nickel_lang_core::position::TermPos;
use pemdas_core::diagnostic::{Diagnostic, Span};

use super::files::FileTable;
use super::walk::walk;
use crate::codes;
use crate::library::is_library_file;

/// An import of a blueprint's file.
pub(crate) struct FoundImport {
    /// What is imported, as written; none for a package.
    pub(crate) path: Option<String>,
    /// As what it is read.
    pub(crate) format: InputFormat,
    /// Where.
    pub(crate) pos: TermPos,
}

/// What the lexer sees in a text, before anything recursive looks at it.
pub(crate) struct Tokens {
    /// How many `import` tokens.
    pub(crate) imports: usize,
    /// How deep brackets are nested.
    pub(crate) nesting: u64,
}

/// How many lines of comments may follow one another: Nickel's lexer calls itself for each, and a stack that overflows ends the process.
pub(crate) const MAX_COMMENT_LINES: u64 = 20_000;

/// Whether the lexer may be let loose on a text. Lines that only look like comments, in a long string, are counted too: nobody has as many.
pub(crate) fn is_lexable(text: &str) -> bool {
    let mut in_a_row = 0;
    text.lines().map(str::trim_start).filter(|line| !line.is_empty()).all(|line| {
        in_a_row = if line.starts_with('#') { in_a_row + 1 } else { 0 };
        in_a_row <= MAX_COMMENT_LINES
    })
}

/// Counts tokens. A text that cannot be read to its end is the parser's to refuse.
pub(crate) fn tokens(text: &str) -> Tokens {
    let mut seen = Tokens { imports: 0, nesting: 0 };
    let mut depth = 0_u64;
    for token in Lexer::new(text) {
        let Ok((_, token, _)) = token else { break };
        match token {
            Token::Normal(NormalToken::Import) => seen.imports += 1,
            // Both ends of a string are the same token, so strings are not counted; what is nested in them is.
            Token::Normal(
                NormalToken::LParen | NormalToken::LBrace | NormalToken::LBracket | NormalToken::EnumOpen,
            )
            | Token::Str(StringToken::Interpolation)
            | Token::MultiStr(MultiStringToken::Interpolation) => {
                depth += 1;
                seen.nesting = seen.nesting.max(depth);
            }
            Token::Normal(
                NormalToken::RParen | NormalToken::RBrace | NormalToken::RBracket | NormalToken::EnumClose,
            ) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    seen
}

/// The paths that a text imports, as far as its tokens tell: for who looks for the files of a program, not for who guards them.
pub(crate) fn import_paths(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    if !is_lexable(text) {
        return paths;
    }
    let mut last: Option<Token<'_>> = None;
    let mut before: Option<Token<'_>> = None;
    for token in Lexer::new(text) {
        let Ok((_, token, _)) = token else { break };
        let after_import = matches!(before, Some(Token::Normal(NormalToken::Import)))
            && matches!(last, Some(Token::Normal(NormalToken::DoubleQuote)));
        if let (true, Token::Str(StringToken::Literal(path))) = (after_import, &token) {
            paths.push(path.clone());
        }
        before = last.replace(token);
    }
    paths
}

/// All imports in a syntax tree; none if it is nested too deeply to be looked at.
pub(crate) fn imports_of<'a>(ast: &'a Ast<'a>, max_depth: u64) -> Option<Vec<FoundImport>> {
    let mut found = Vec::new();
    walk(ast, max_depth, &mut |node| {
        if let Node::Import(import) = &node.node {
            found.push(match import {
                Import::Path { path, format } => {
                    FoundImport { path: path.to_str().map(str::to_owned), format: *format, pos: node.pos }
                }
                Import::Package { .. } => {
                    FoundImport { path: None, format: InputFormat::Nickel, pos: node.pos }
                }
            });
        }
    })?;
    Some(found)
}

/// The file that an import means: its name in the blueprint, or in the library. None if there is no such file.
pub(crate) fn resolve(importer: &str, path: &str, exists: impl Fn(&str) -> bool) -> Option<String> {
    let name = name_within(importer, path)?;
    if exists(&name) {
        return Some(name);
    }
    is_library_file(path).then(|| path.to_owned())
}

/// The name within the blueprint that an import of `importer` means. None if it leads out of it.
pub(crate) fn name_within(importer: &str, path: &str) -> Option<String> {
    if path.starts_with('/') || path.contains(['\0', '\\']) {
        return None;
    }
    let mut parts: Vec<&str> = importer.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Says why an import is refused.
pub(crate) fn refused(import: &FoundImport, span: Option<Span>) -> Diagnostic {
    let message = match &import.path {
        Some(path) => {
            let shown: String = path.chars().filter(|c| !c.is_control()).take(120).collect();
            format!("\"{shown}\" is neither a file of this blueprint nor of the library")
        }
        None => "packages cannot be imported".to_owned(),
    };
    let diagnostic = Diagnostic::error(codes::IMPORT, message)
        .hint("a blueprint imports its own files by relative path, and the library as \"pemdas/v1.ncl\"");
    match span {
        Some(span) => diagnostic.at(span, "imported here"),
        None => diagnostic,
    }
}

/// Says that a text has imports in places that cannot be checked.
pub(crate) fn hidden(file: &str) -> Diagnostic {
    Diagnostic::error(codes::IMPORT, format!("{file} has an import where none can be checked"))
        .hint("import files in a let at the top of the file")
}

/// Whether the evaluator holds a file that is not one of ours. Nothing that it says may then be shown.
pub(crate) fn stranger(sources: &SourceCache, known: &FileTable) -> bool {
    sources.file_paths.iter().any(|(id, path)| match path {
        // The evaluator's own library, and data of a request that was written out: never files.
        SourcePath::Std(_) | SourcePath::Generated(_) => false,
        _ => known.name(*id).is_none(),
    })
}

/// The format that a file has by its name, as the evaluator takes it.
pub(crate) fn format_of(name: &str) -> InputFormat {
    let formats: BTreeMap<&str, InputFormat> = BTreeMap::from([
        ("ncl", InputFormat::Nickel),
        ("json", InputFormat::Json),
        ("yaml", InputFormat::Yaml),
        ("yml", InputFormat::Yaml),
        ("toml", InputFormat::Toml),
        ("txt", InputFormat::Text),
    ]);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    formats.get(extension).copied().unwrap_or(InputFormat::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_resolve_within_the_blueprint_only() {
        let exists = |name: &str| matches!(name, "main.ncl" | "a/b.ncl" | "x.json");
        assert_eq!(resolve("main.ncl", "a/b.ncl", exists).as_deref(), Some("a/b.ncl"));
        assert_eq!(resolve("a/b.ncl", "../x.json", exists).as_deref(), Some("x.json"));
        assert_eq!(resolve("a/b.ncl", "./b.ncl", exists).as_deref(), Some("a/b.ncl"));
        assert_eq!(resolve("a/b.ncl", "pemdas.ncl", exists).as_deref(), Some("pemdas.ncl"));
        for bad in
            ["/etc/passwd", "../../main.ncl", "../..", "c.ncl", "", "a\\b.ncl", "x.json\0", "a/pemdas.ncl"]
        {
            assert_eq!(resolve("a/b.ncl", bad, exists), None, "{bad}");
        }
    }

    #[test]
    fn tokens_are_counted_inside_interpolation_only_where_they_are_code() {
        let seen = tokens("# import \"x\"\n{ a = \"import %{import \"y\"}\", b = [import \"z\"] }");
        assert_eq!(seen.imports, 2);
        assert_eq!(tokens("((([[[{}]]])))").nesting, 7);
    }

    #[test]
    fn comments_in_a_row_are_counted_before_the_lexer_sees_them() {
        let comments = "  # x\n\n".repeat(20_000);
        assert!(is_lexable(&comments));
        assert!(!is_lexable(&format!("{comments}# one more")));
        assert!(is_lexable(&format!("{comments}1\n{comments}")));
        assert_eq!(import_paths(&format!("{comments}# one more\nimport \"x\"")), [""; 0]);
    }

    #[test]
    fn strings_side_by_side_are_not_nested() {
        let text = "{ a = \"x\", \"b\" = m%\"y\"%, c = \"%{z}\", }".repeat(1_000);
        assert_eq!(tokens(&text).nesting, 2);
        assert_eq!(tokens("\"%{\"%{\"%{x}\"}\"}\"").nesting, 3);
        assert_eq!(tokens("m%\"%{m%%\"%%{x}\"%%}\"%").nesting, 2);
    }
}
