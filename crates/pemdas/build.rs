//! Gathers the documentation pages of the diagnostic codes, so that `pemdas check --explain` needs no files.

use std::{env, fs, io, path::Path};

fn main() -> io::Result<()> {
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&manifest).join("../../docs/diagnostics");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut pages = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let code = path.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        if path.extension().is_some_and(|it| it == "md") && code.starts_with("PM") {
            pages.push((code, path.canonicalize()?));
        }
    }
    pages.sort();
    let rows: String = pages
        .iter()
        .map(|(code, path)| format!("    ({code:?}, include_str!({:?})),\n", path.display().to_string()))
        .collect();
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("pages.rs"), format!("&[\n{rows}]\n"))
}
