//! The node's own root: a throw-away layer over the root file system from the cache. What the kubelet, containerd and
//! the network plugins write never reaches the host's folders.

use std::ffi::CString;
use std::fs;
use std::path::Path;

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change, unmount,
};

use crate::error::{Doing, Error, Result};
use crate::supervise::spec::NodeSpec;

/// Makes the node's root and moves this process, which must be alone in its mount namespace, into it.
pub(super) fn enter(spec: &NodeSpec) -> Result<()> {
    let [root, upper, work] = ["root", "upper", "work"].map(|name| spec.folder.join(name));
    for folder in [&root, &upper, &work] {
        make(folder)?;
    }
    let layers =
        format!("lowerdir={},upperdir={},workdir={}", spec.rootfs.display(), upper.display(), work.display());
    let layers = CString::new(layers).doing(|| "name the root's layers".into())?;
    mount("overlay", &root, "overlay", MountFlags::empty(), layers.as_c_str())
        .doing(|| format!("mount the node's root over {}", spec.rootfs.display()))?;
    for (name, kind, options) in
        [("proc", "proc", c""), ("run", "tmpfs", c"mode=755"), ("tmp", "tmpfs", c"mode=1777")]
    {
        let target = root.join(name);
        mount(kind, &target, kind, MountFlags::empty(), options)
            .doing(|| format!("mount /{name} of the node"))?;
    }
    let modules = Path::new("/lib/modules");
    let seen_inside = [Path::new("/dev"), Path::new("/sys"), modules, &spec.folder];
    for path in seen_inside.into_iter().chain(spec.visible.iter().map(std::path::PathBuf::as_path)) {
        if path.exists() {
            bind(path, &root)?;
        }
    }
    write(&root.join("etc/hosts"), "127.0.0.1 localhost\n")?;
    write(&root.join("etc/resolv.conf"), "")?;
    change_root(&root)
}

/// Shows a folder of the host inside, under the same path.
fn bind(path: &Path, root: &Path) -> Result<()> {
    let inside =
        path.strip_prefix("/").map_err(|_| Error::new(format!("{} is not absolute", path.display())))?;
    let target = root.join(inside);
    make(&target)?;
    mount_bind_recursive(path, &target).doing(|| format!("show {} to the node", path.display()))
}

fn change_root(root: &Path) -> Result<()> {
    let old = root.join(".host");
    make(&old)?;
    rustix::process::pivot_root(root, &old).doing(|| "move into the node's root".into())?;
    std::env::set_current_dir("/").doing(|| "move into the node's root".into())?;
    unmount("/.host", UnmountFlags::DETACH).doing(|| "leave the host's root".into())?;
    // The kubelet's mounts for pods must be seen by containerd and the other way round.
    mount_change("/", MountPropagationFlags::SHARED | MountPropagationFlags::REC)
        .doing(|| "share the node's mounts within the node".into())
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).doing(|| format!("make {}", folder.display()))
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).doing(|| format!("write {}", file.display()))
}
