//! Loading: texts in memory, guarded, parsed, typechecked and compiled once.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nickel_lang_core::ast::InputFormat;
use nickel_lang_core::cache::{CacheHub, SourcePath};
use nickel_lang_core::error::{Error, NullReporter};
use nickel_lang_core::eval::VmContext;
use nickel_lang_core::files::FileId;
use pemdas_core::diagnostic::Diagnostic;

use super::files::{FileTable, ROOT};

use super::{Engine, guard};
use crate::codes;
use crate::kube_contracts;
use crate::library::{LIBRARY, LibraryFile};
use crate::limits::{Limits, Size};
use crate::memory::MemoryProbe;
use crate::request::Failure;
use crate::sources::{MAIN, Sources};

impl Engine {
    /// Loads a blueprint. All that the guards and the parser find wrong is reported at once.
    pub(crate) fn load(sources: &Sources, limits: Limits) -> Result<Self, Failure> {
        Self::load_with(sources, limits, LIBRARY)
    }

    /// Loads a blueprint with some library.
    pub(super) fn load_with(
        sources: &Sources,
        limits: Limits,
        library: &'static [LibraryFile],
    ) -> Result<Self, Failure> {
        sources.validate(&limits)?;
        let ctx: VmContext<CacheHub, super::meter::MeteredCache> =
            VmContext::new(CacheHub::new(), io::sink(), NullReporter {});
        let meter = ctx.cache.meter();
        meter.start(limits.load_fuel, Instant::now() + Duration::from_millis(limits.millis));
        let mut engine = Self {
            ctx,
            env: nickel_lang_core::eval::Environment::new(),
            files: FileTable::default(),
            ids: BTreeMap::new(),
            sources: sources.clone(),
            library,
            meter,
            roots: BTreeMap::new(),
            found: BTreeMap::new(),
            found_bytes: 0,
            quote_values: true,
            placed: None,
            told: None,
            describer: None,
            known: None,
            limits,
        };
        engine.add_files(sources);
        engine.guard_imports(sources)?;
        engine.prepare(MAIN)?;
        engine.env = engine.ctx.import_resolver.mk_eval_env(&mut engine.ctx.cache);
        Ok(engine)
    }

    /// Holds the process' memory to a limit as well: for a process that does nothing else.
    pub(crate) fn watch_memory(&self, probe: MemoryProbe, limit: u64) {
        self.meter.watch_memory(probe, limit);
    }

    /// Puts the files of blueprint and library where imports find them: the library's in every directory that has a file.
    fn add_files(&mut self, sources: &Sources) {
        for (name, text) in sources.iter() {
            self.add_file(name, guard::format_of(name), text);
        }
        let mut directories: Vec<String> = sources
            .iter()
            .map(|(name, _)| name.rsplit_once('/').map_or(String::new(), |(dir, _)| format!("{dir}/")))
            .collect();
        directories.push(String::new());
        directories.sort();
        directories.dedup();
        for file in self.library {
            self.add_file(file.name, InputFormat::Nickel, file.text);
            let table = &mut self.ctx.import_resolver.sources.file_ids;
            let entry = table.get(&virtual_path(file.name, InputFormat::Nickel)).copied();
            if let Some(entry) = entry {
                for directory in &directories {
                    let alias = virtual_path(&format!("{directory}{}", file.name), InputFormat::Nickel);
                    table.insert(alias, entry);
                }
            }
        }
    }

    /// Writes the contract of a type of Kubernetes that a file imports, and those it is made of.
    fn add_contracts(&mut self, importer: &str, target: &str) {
        if !kube_contracts::is_file(target) {
            return;
        }
        let missing = kube_contracts::with_missing_imports(target, |name| self.ids.contains_key(name));
        for (name, text) in missing {
            self.add_file(&name, InputFormat::Nickel, &text);
        }
        let directory =
            importer.rsplit_once('/').map_or(String::new(), |(directory, _)| format!("{directory}/"));
        let table = &mut self.ctx.import_resolver.sources.file_ids;
        if let Some(entry) = table.get(&virtual_path(target, InputFormat::Nickel)).copied() {
            table.insert(virtual_path(&format!("{directory}{target}"), InputFormat::Nickel), entry);
        }
    }

    fn add_file(&mut self, name: &str, format: InputFormat, text: &str) -> FileId {
        let path = virtual_path(name, format);
        let id = self.ctx.import_resolver.sources.add_string(path, text.to_owned());
        self.files.insert(id, name);
        self.ids.entry(name.to_owned()).or_insert(id);
        id
    }

    /// The first guard: parses the blueprint's own files and refuses every import that is not in memory.
    fn guard_imports(&mut self, sources: &Sources) -> Result<(), Failure> {
        let mut problems = Vec::new();
        let mut other_formats = Vec::new();
        for (name, text) in sources.iter() {
            if guard::format_of(name) != InputFormat::Nickel {
                continue;
            }
            if !guard::is_lexable(text) {
                return Err(Failure::TooLarge { what: Size::Comments, limit: guard::MAX_COMMENT_LINES });
            }
            let tokens = guard::tokens(text);
            if tokens.nesting > self.limits.depth {
                return Err(Failure::TooLarge { what: Size::Depth, limit: self.limits.depth });
            }
            match self.imports_of(name, tokens.imports, sources, &mut other_formats)? {
                Ok(refused) => problems.extend(refused),
                Err(syntax) => problems.extend(syntax),
            }
        }
        if !problems.is_empty() {
            problems.truncate(super::errors::MAX_DIAGNOSTICS);
            return Err(Failure::Failed { diagnostics: problems });
        }
        for (name, format) in other_formats {
            if let Some(text) = sources.get(&name) {
                self.add_file(&name, format, text);
            }
        }
        Ok(())
    }

    /// What is wrong with the imports of one file, or with its syntax.
    #[allow(clippy::type_complexity, reason = "both lists are diagnostics; the caller treats them alike")]
    fn imports_of(
        &mut self,
        name: &str,
        expected: usize,
        sources: &Sources,
        other_formats: &mut Vec<(String, InputFormat)>,
    ) -> Result<Result<Vec<Diagnostic>, Vec<Diagnostic>>, Failure> {
        let Some(id) = self.ids.get(name).copied() else { return Ok(Ok(Vec::new())) };
        if let Err(errors) = self.ctx.import_resolver.parse_to_ast(id) {
            return Ok(Err(self.diagnostics_of(Error::ParseErrors(errors))));
        }
        let Some(ast) = self.ctx.import_resolver.asts.get(id) else { return Ok(Ok(Vec::new())) };
        let Some(imports) = guard::imports_of(ast, self.limits.depth) else {
            return Err(Failure::TooLarge { what: Size::Depth, limit: self.limits.depth });
        };
        if imports.len() != expected {
            return Ok(Ok(vec![guard::hidden(name)]));
        }
        let mut refused = Vec::new();
        for import in imports {
            let target = import
                .path
                .as_deref()
                .and_then(|path| guard::resolve(name, path, |candidate| sources.get(candidate).is_some()));
            match target {
                Some(target) if sources.get(&target).is_some() => {
                    if guard::format_of(&target) != import.format {
                        other_formats.push((target, import.format));
                    }
                }
                // The library is Nickel and nothing else.
                Some(target) if import.format == InputFormat::Nickel => self.add_contracts(name, &target),
                _ => refused.push(guard::refused(&import, self.files.of_pos(import.pos))),
            }
        }
        Ok(Ok(refused))
    }

    /// Parses, typechecks and compiles a file with all that it imports; then the second guard.
    pub(super) fn prepare(&mut self, name: &str) -> Result<(), Failure> {
        let Some(id) = self.ids.get(name).copied() else {
            let message = format!("there is no file {name} in the blueprint or the library");
            return Err(Failure::of(Diagnostic::error(codes::EVALUATION, message)));
        };
        let prepared = self.ctx.prepare_eval(id);
        if guard::stranger(&self.ctx.import_resolver.sources, &self.files) {
            let message = "an import left the blueprint";
            return Err(Failure::of(Diagnostic::error(codes::IMPORT, message)));
        }
        match prepared {
            Ok(value) => {
                self.roots.insert(name.to_owned(), value);
                Ok(())
            }
            Err(error) => Err(self.failure(error)),
        }
    }
}

/// Where a file seems to be.
fn virtual_path(name: &str, format: InputFormat) -> SourcePath {
    SourcePath::Path(PathBuf::from(format!("{ROOT}/{name}")), format)
}
