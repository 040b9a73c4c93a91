//! What the examples and the documentation show is what the commands say. `PEMDAS_RENEW=1` writes it anew.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A block of a page that shows a command, and what comes after it.
const OPEN: &str = "```console\n$ pemdas ";
const CLOSE: &str = "```\n";

/// The page with what the commands say today; how many commands there are.
fn renewed(page: &str, folder: &Path) -> (String, usize) {
    let mut parts = page.split(OPEN);
    let mut text = parts.next().unwrap().to_owned();
    let mut commands = 0;
    for part in parts {
        let (block, rest) = part.split_once(CLOSE).unwrap();
        let command = block.lines().next().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_pemdas"))
            .args(command.split_whitespace())
            .current_dir(folder)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.stderr.is_empty(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        text.push_str(&format!("{OPEN}{command}\n{said}{CLOSE}{rest}"));
        commands += 1;
    }
    (text, commands)
}

#[test]
fn what_the_pages_show_is_what_the_commands_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> =
        ["docs/demo.md", "docs/plan.md", "docs/test.md"].map(|it| root.join(it)).into();
    for folder in ["examples", "docs/comparisons"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap().map(|it| it.unwrap().path());
        pages.extend(entries.filter(|it| it.join("main.ncl").is_file()).map(|it| it.join("README.md")));
    }
    for path in pages {
        let page = std::fs::read_to_string(&path).unwrap();
        let (today, commands) = renewed(&page, path.parent().unwrap());
        assert!(commands > 0, "{} shows no command", path.display());
        if std::env::var_os("PEMDAS_RENEW").is_some() {
            std::fs::write(&path, &today).unwrap();
        }
        assert!(
            page == today,
            "{} is out of date: run this test with PEMDAS_RENEW=1\n{today}",
            path.display()
        );
    }
}
