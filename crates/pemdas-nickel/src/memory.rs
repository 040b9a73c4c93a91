//! How much memory this process holds, asked through a file that was opened before the file system went away.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// An open look at the process' own memory.
#[derive(Debug)]
pub(crate) struct MemoryProbe {
    statm: File,
    page: u64,
}

impl MemoryProbe {
    /// Opens it; none where the kernel does not tell.
    pub(crate) fn open() -> Option<Self> {
        let statm = File::open("/proc/self/statm").ok()?;
        Some(Self { statm, page: rustix::param::page_size() as u64 })
    }

    /// Bytes of memory that are resident now.
    pub(crate) fn resident(&self) -> Option<u64> {
        let mut text = [0_u8; 128];
        let length = self.statm.read_at(&mut text, 0).ok()?;
        resident_pages(text.get(..length)?).map(|pages| pages * self.page)
    }
}

/// Bytes of memory that another process holds now; none if it is gone or the kernel does not tell.
pub(crate) fn resident_of(pid: u32) -> Option<u64> {
    let text = std::fs::read(format!("/proc/{pid}/statm")).ok()?;
    resident_pages(&text).map(|pages| pages * rustix::param::page_size() as u64)
}

fn resident_pages(statm: &[u8]) -> Option<u64> {
    std::str::from_utf8(statm).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_sees_this_process() {
        let probe = MemoryProbe::open().unwrap();
        // Other tests of this process come and go: what is held here is there in any case.
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        let resident = probe.resident().unwrap();
        assert!(resident > 60 << 20, "{resident} with {} held", held.len());
        assert!(resident_of(std::process::id()).unwrap() > 1 << 20);
        assert_eq!(resident_pages(b"10 3 2"), Some(3));
        assert_eq!(resident_pages(b"garbage"), None);
    }
}
