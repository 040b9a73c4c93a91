//! The functions of a program, as its file tells them.

use std::{collections::BTreeMap, path::Path};

use object::{Object as _, ObjectSymbol as _, SymbolKind};

use crate::Error;

/// By address: the names of the function. What is the same code has several.
pub(crate) struct Functions(BTreeMap<u64, Vec<String>>);

impl Functions {
    pub(crate) fn of(program: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(program)?;
        let file = object::File::parse(bytes.as_slice())?;
        let mut functions: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for symbol in file.symbols().filter(|it| it.kind() == SymbolKind::Text && it.is_definition()) {
            functions.entry(symbol.address()).or_default().push(symbol.name()?.to_owned());
        }
        if functions.is_empty() {
            return Err("it has no symbols: build it with `-C strip=none`".into());
        }
        Ok(Self(functions))
    }

    pub(crate) fn addresses(&self) -> Vec<u64> {
        self.0.keys().copied().collect()
    }

    pub(crate) fn all_names(&self) -> impl Iterator<Item = &str> {
        self.0.values().flatten().map(String::as_str)
    }

    pub(crate) fn names(&self, address: u64) -> impl Iterator<Item = &str> {
        self.0.get(&address).into_iter().flatten().map(String::as_str)
    }
}
