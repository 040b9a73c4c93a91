//! `cargo kube-types` writes the table of the built-in Kubernetes types; `cargo kube-types --check` only says
//! whether the committed one is current.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use kube_types_gen::{DATA, generate, workspace_root};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => {
            eprintln!("usage: cargo kube-types [--check]");
            return ExitCode::from(2);
        }
    };
    match run(check) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("kube-types: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(check: bool) -> anyhow::Result<bool> {
    let root = workspace_root();
    let table = generate(&root)?;
    if check {
        let differences = table.differences(&root)?;
        for difference in &differences {
            eprintln!("{difference}");
        }
        return Ok(differences.is_empty());
    }
    table.write(&root)?;
    println!(
        "{DATA}: kinds.txt {} bytes, types.txt {} bytes, docs.txt {} bytes, index.txt {} bytes",
        table.kinds.len(),
        table.types.len(),
        table.docs.len(),
        table.index.len()
    );
    Ok(true)
}
