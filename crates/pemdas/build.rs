//! Gathers the documentation pages of the diagnostic codes, so that `pemdas check --explain` needs no files; and lets the linker put what
//! an operator at work goes through side by side.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    gather_pages(&manifest.join("../../docs/diagnostics"), &out)?;
    let order = manifest.join("link/at-work.txt");
    println!("cargo:rerun-if-changed={}", order.display());
    // A build for tests is not worth it.
    if variable("PROFILE")? == "release" {
        if env::var_os("CARGO_FEATURE_JEMALLOC").is_none() {
            println!(
                "cargo:warning=without `--features jemalloc` an operator needs about a tenth more memory"
            );
        }
        let wanted = [
            format!("-Wl,--symbol-ordering-file={}", order.display()),
            "-Wl,--no-warn-symbol-ordering".to_owned(),
        ];
        if linker_takes(&wanted, &out)? {
            wanted.iter().for_each(|it| println!("cargo:rustc-link-arg-bins={it}"));
        }
    }
    Ok(())
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(io::Error::other)
}

fn gather_pages(folder: &Path, out: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder)? {
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
    fs::write(out.join("pages.rs"), format!("&[\n{rows}]\n"))
}

/// Whether the linker knows these arguments: `rust-lld` does, which is what rustc uses on x86-64 Linux unless it is told otherwise.
fn linker_takes(arguments: &[String], out: &Path) -> io::Result<bool> {
    let source = out.join("nothing.rs");
    fs::write(&source, "fn main() {}\n")?;
    let mut rustc = Command::new(variable("RUSTC")?);
    rustc.args(["--edition=2024", "--target", &variable("TARGET")?]);
    rustc.arg(&source).arg("-o").arg(out.join("nothing"));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\u{1f}').filter(|it| !it.is_empty()));
    rustc.args(arguments.iter().map(|it| format!("-Clink-arg={it}")));
    Ok(rustc.output()?.status.success())
}
