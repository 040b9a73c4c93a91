//! Gives back the pages of the program that are not used any more.
//!
//! The kernel maps what lies around each piece of code that runs, and never takes it away while there is memory. Starting touches most of
//! the program once: flags, certificates, discovery, the first blueprints. An operator at work needs less than half of that. What is
//! given back stays in the page cache: whatever is needed after all is mapped again at once, without reading from a disk.

use std::{ops::Range, time::Duration};

/// So long after the start for the first time; twice as long before each further one, since most is new at first.
const SOON: Duration = Duration::from_secs(2);
/// And so often in the end.
const EVERY: Duration = Duration::from_secs(64);

/// Gives back what is not used, again and again.
pub(crate) async fn kept_small() {
    let mut pause = SOON;
    loop {
        tokio::time::sleep(pause).await;
        give_back();
        pause = EVERY.min(pause * 2);
    }
}

/// Gives back all pages of the program that are as its file has them.
fn give_back() {
    let Ok(program) = std::fs::read_link("/proc/self/exe") else { return };
    let Ok(mappings) = std::fs::read_to_string("/proc/self/smaps") else { return };
    for part in unchanged(&mappings, &program.to_string_lossy()) {
        drop_mapping(&part);
    }
}

#[allow(unsafe_code, reason = "the system call takes an address")]
fn drop_mapping(part: &Range<usize>) {
    let start = std::ptr::with_exposed_provenance_mut(part.start);
    // SAFETY: nothing can write there, and nothing has: all pages are those of the program's file, which cannot change while it runs.
    // Whoever reads or runs them next gets the same bytes from it. If it is refused, they stay, which harms nobody.
    let _dropped = unsafe { rustix::mm::madvise(start, part.len(), rustix::mm::Advice::LinuxDontNeed) };
}

/// The parts of the address space that hold a file, cannot be written, and have no page that differs from it.
fn unchanged(mappings: &str, file: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut candidate = None;
    for line in mappings.lines() {
        if let Some((range, rights)) = heading(line, file) {
            candidate = rights.starts_with("r-").then_some(range);
        } else if line.split_whitespace().eq(["Anonymous:", "0", "kB"]) {
            parts.extend(candidate.take());
        } else if !line.contains(": ") {
            // The heading of another file.
            candidate = None;
        }
    }
    parts
}

/// The range and the rights of a mapping of a file, if the line begins one.
fn heading<'a>(line: &'a str, file: &str) -> Option<(Range<usize>, &'a str)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let range = number(start)?..number(end)?;
    let (rights, rest) = rest.split_once(' ')?;
    rest.ends_with(file).then_some((range, rights))
}

#[cfg(test)]
mod tests {
    use super::{give_back, unchanged};

    const MAPPINGS: &str = "\
1000-3000 r--p 00000000 fe:00 12 /usr/bin/pemdas
Size:                  8 kB
Rss:                   8 kB
Anonymous:             0 kB
3000-7000 r-xp 00002000 fe:00 12 /usr/bin/pemdas
Anonymous:             0 kB
VmFlags: rd ex mr mw me sd
7000-8000 r--p 00006000 fe:00 12 /usr/bin/pemdas
Anonymous:             4 kB
8000-9000 rw-p 00007000 fe:00 12 /usr/bin/pemdas
Anonymous:             0 kB
9000-a000 rw-p 00000000 00:00 0
Anonymous:             0 kB
a000-b000 r-xp 00000000 fe:00 13 /usr/lib/libc.so.6
Anonymous:             0 kB
";

    #[test]
    fn only_what_is_as_the_file_has_it_is_given_back() {
        assert_eq!(unchanged(MAPPINGS, "/usr/bin/pemdas"), [0x1000..0x3000, 0x3000..0x7000]);
        assert!(unchanged(MAPPINGS, "/usr/bin/other").is_empty());
        assert!(unchanged("not a mapping\n7000-x r--p /usr/bin/pemdas\n", "/usr/bin/pemdas").is_empty());
    }

    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|it| it.strip_prefix("RssFile:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn less_of_the_program_is_resident_afterwards() {
        let shrinks = || {
            let before = resident();
            give_back();
            resident() < before
        };
        // Other tests run meanwhile, and map pages of their own.
        assert!((0..20).any(|_| shrinks()));
    }
}
