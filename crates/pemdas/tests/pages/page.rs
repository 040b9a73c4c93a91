//! A page of the documentation, as blocks between fences.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

/// What stands between two fences.
#[derive(Debug, PartialEq)]
pub(crate) struct Block {
    /// The line of the opening fence.
    pub(crate) line: usize,
    /// The language, and what follows it.
    pub(crate) words: Vec<String>,
    /// Where its text is in the page.
    pub(crate) range: Range<usize>,
}

impl Block {
    /// Whether it is of this language.
    pub(crate) fn is(&self, language: &str) -> bool {
        self.words.first().is_some_and(|it| it == language)
    }

    /// What is said after the language as `NAME=VALUE`.
    pub(crate) fn named(&self, name: &str) -> Option<&str> {
        self.words.iter().skip(1).find_map(|it| it.strip_prefix(name)?.strip_prefix('='))
    }

    /// Whether a word is said after the language.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().skip(1).any(|it| it == word)
    }
}

/// All blocks, in their order.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut at = 0;
    for (number, line) in (1..).zip(page.split_inclusive('\n')) {
        let next = at + line.len();
        if let Some(info) = line.strip_prefix("```") {
            if let Some(block) = open.take() {
                blocks.push(Block { range: block.range.start..at, ..block });
            } else {
                let words = info.split_whitespace().map(str::to_owned).collect();
                open = Some(Block { line: number, words, range: next..next });
            }
        }
        at = next;
    }
    blocks
}

/// All pages below a folder, in the order of their names.
pub(crate) fn pages_below(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    entries.sort();
    let inside = |path: PathBuf| if path.is_dir() { pages_below(&path) } else { vec![path] };
    entries.into_iter().flat_map(inside).filter(|it| it.extension().is_some_and(|it| it == "md")).collect()
}

#[test]
fn blocks_are_found_with_their_words() {
    let page = "a\n```nickel file=x/main.ncl\n{}\n```\nb\n```console cluster\n$ one\nx\n```\n";
    let found = blocks(page);
    assert_eq!(found.len(), 2);
    assert_eq!((&page[found[0].range.clone()], found[0].line), ("{}\n", 2));
    assert!(found[0].is("nickel") && found[0].named("file") == Some("x/main.ncl"));
    assert!(found[1].has("cluster") && !found[1].has("console") && found[1].named("file").is_none());
}
