//! How a worker shuts itself in before it reads a byte of anybody's code.
//!
//! Several barriers, each of which some kernel or container refuses: so each is tried, none is trusted to have worked, and at the end
//! the worker tries to do what it must not be able to do. What it reports is what it saw.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetStatus, Scope,
};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{DumpableBehavior, Resource, Rlimit, chroot, set_dumpable_behavior, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags, set_capabilities, set_no_new_privs};
use serde::{Deserialize, Serialize};

use super::seccomp;

/// How well a worker is shut in on this kernel, in this container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// It can gain no privileges any more.
    pub no_new_privileges: bool,
    /// It holds none either.
    pub no_capabilities: bool,
    /// It is in namespaces of its own: no network device, no other process' mounts.
    pub namespaces: bool,
    /// Its root directory is empty.
    pub empty_root: bool,
    /// Landlock refuses it every file, and, as far as the kernel can, TCP.
    pub landlock: Landlock,
    /// Only the few system calls that computing needs are answered.
    pub seccomp: bool,
    /// Address space, open files and core dumps are limited.
    pub limits: bool,
    /// Seen: it cannot open a file or list a directory.
    pub files_denied: bool,
    /// Seen: it cannot open a socket.
    pub network_denied: bool,
    /// Seen: it cannot start a process.
    pub processes_denied: bool,
}

/// What Landlock does on this kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Landlock {
    /// Everything that was asked for.
    Full,
    /// Less than that: an older kernel.
    Partial,
    /// Nothing: the kernel has none, or it is not switched on.
    #[default]
    None,
}

impl Isolation {
    /// Whether a worker so shut in may be given somebody's code.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.files_denied && self.network_denied && self.processes_denied && self.limits
    }
}

/// What is done while the process still has one thread: everything that a new thread inherits.
pub(super) fn shut_in(address_space: u64) -> Isolation {
    let namespaces = own_namespaces();
    let empty_root = namespaces && empty_root();
    Isolation {
        no_new_privileges: set_no_new_privs(true).is_ok(),
        namespaces,
        empty_root,
        landlock: landlock(),
        no_capabilities: drop_capabilities(),
        limits: limit(address_space),
        ..Isolation::default()
    }
}

/// What is done on the evaluating thread, the last that the process ever starts; then a look whether it all holds.
pub(super) fn close_the_door(isolation: &mut Isolation) {
    isolation.seccomp = seccomp::restrict();
    let listed = fs::read_dir("/").is_ok_and(|mut entries| entries.next().is_some());
    isolation.files_denied = !listed && fs::File::open("/").is_err() && fs::metadata("/proc/self").is_err();
    isolation.network_denied = TcpListener::bind("127.0.0.1:0").is_err();
    isolation.processes_denied = Command::new("/proc/self/exe").spawn().is_err();
}

/// Leaves the machine's namespaces: as root, or as anybody where the kernel allows user namespaces.
#[allow(unsafe_code, reason = "leaving namespaces has no safe wrapper; see SAFETY")]
fn own_namespaces() -> bool {
    let others = UnshareFlags::NEWNS | UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    // SAFETY: `unshare` is unsafe only because of `CLONE_FILES`, which would give this thread a table of open files of its own and so
    // invalidate what other threads borrow. It is not among the flags, and there is no other thread yet.
    let with_user = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | others) };
    if with_user.is_ok() {
        return true;
    }
    // SAFETY: as above.
    unsafe { rustix::thread::unshare_unsafe(others) }.is_ok()
}

/// Puts an empty, unwritable file system over a directory that every machine has, and makes it the root.
fn empty_root() -> bool {
    // What is mounted from here on is not to be seen outside.
    if mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).is_err() {
        return false;
    }
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    ["/proc", "/tmp"].into_iter().any(|target| {
        mount("tmpfs", target, "tmpfs", flags, None).is_ok()
            && std::env::set_current_dir(target).is_ok()
            && chroot(".").is_ok()
            && std::env::set_current_dir("/").is_ok()
    })
}

/// No file at all, and no TCP where the kernel knows how.
fn landlock() -> Landlock {
    let restricted = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V6))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V6)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    match restricted.map(|status| status.ruleset) {
        Ok(RulesetStatus::FullyEnforced) => Landlock::Full,
        Ok(RulesetStatus::PartiallyEnforced) => Landlock::Partial,
        Ok(RulesetStatus::NotEnforced) | Err(_) => Landlock::None,
    }
}

fn drop_capabilities() -> bool {
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).is_ok()
}

fn limit(address_space: u64) -> bool {
    // Nobody may read the memory of this process from outside, nor from a dump of it.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let all = [
        (Resource::As, address_space),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        // What is open stays open; nothing new can be, because the one number that is left is taken. (With none left, the worker could
        // not wait for its parent's end either.)
        (Resource::Nofile, 1),
    ];
    all.into_iter().all(|(resource, most)| {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).is_ok()
    })
}
