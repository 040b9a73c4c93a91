//! The examples of the repository, within the binary: a demonstration works from any directory.

/// An example as it lies in its folder.
pub(crate) struct Source {
    /// The name of the folder.
    pub(crate) name: &'static str,
    /// Its files: Nickel, and manifests but for what only tests read.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

macro_rules! example {
    ($name:literal: $($file:literal),+) => {
        Source {
            name: $name,
            files: &[$(($file, include_str!(concat!("../../../../examples/", $name, "/", $file)))),+],
        }
    };
}

/// All of them.
pub(crate) const EXAMPLES: &[Source] = &[
    example!("blue-green": "access.yaml", "demo.yaml", "main.ncl", "sample/site.yaml"),
    example!("foo-service": "access.yaml", "database.yaml", "demo.yaml", "main.ncl", "sample/app.yaml", "sample/schema.yaml"),
    example!("namespace-defaults": "access.yaml", "demo.yaml", "main.ncl", "sample/namespace.yaml"),
    example!("on-secret": "access.yaml", "demo.yaml", "main.ncl", "sample/secret.yaml"),
    example!("postgres": "access.yaml", "demo.yaml", "jobs.ncl", "main.ncl", "orders.yaml", "sample/backup.yaml", "sample/instance.yaml"),
    example!("redis-cache": "access.yaml", "demo.yaml", "main.ncl", "sample/database.yaml"),
    example!("web-app": "access.yaml", "demo.yaml", "main.ncl", "sample/app.yaml"),
];

impl Source {
    /// What it is about: the first sentence of its blueprint.
    pub(crate) fn about(&self) -> String {
        let main = self.files.iter().find(|(name, _)| *name == crate::input::MAIN).map_or("", |it| it.1);
        let comment = main.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
        let words = comment.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        let end = words.find(". ").map_or(words.len(), |end| end + 1);
        words.get(..end).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::EXAMPLES;

    /// The files of a folder that a demonstration may need.
    fn files(folder: &Path, within: &str) -> BTreeSet<String> {
        let all = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
        let wanted = all.filter(|it| {
            let of_tests = it.file_name().is_some_and(|it| it == "live.yaml");
            it.extension().is_some_and(|it| it == "ncl" || it == "yaml") && !of_tests
        });
        wanted.map(|it| format!("{within}{}", it.file_name().unwrap().to_string_lossy())).collect()
    }

    #[test]
    fn every_example_is_there_with_all_its_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let mut names = BTreeSet::new();
        for path in fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut wanted = files(&path, "");
            wanted.extend(files(&path.join("sample"), "sample/"));
            let found = EXAMPLES.iter().find(|it| it.name == name);
            let found = found.unwrap_or_else(|| panic!("the example {name} is not in the binary"));
            assert_eq!(
                found.files.iter().map(|it| it.0.to_owned()).collect::<BTreeSet<_>>(),
                wanted,
                "{name}"
            );
            names.insert(name);
        }
        assert_eq!(EXAMPLES.len(), names.len());
    }

    #[test]
    fn each_says_in_a_line_what_it_is_about() {
        for example in EXAMPLES {
            let about = example.about();
            assert!((20..160).contains(&about.len()) && !about.contains('\n'), "{}: {about}", example.name);
        }
    }
}
