//! Where the cluster's programs, root file systems and images come from: `KUBEBUILDER_ASSETS` first, as with
//! envtest; else the cache, which is filled once.

pub mod browser;
pub mod cache;
mod debian;
pub(crate) mod go;
pub mod image;
pub mod pins;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use cache::{Builder, Cache};
use image::{Content, ImageSpec};
use pins::Program;

use crate::Level;
use crate::error::{Error, Result};
use crate::say::say;

/// The image with PostgreSQL, psql, nginx and curl.
pub const WORKLOAD_IMAGE: &str = "testbed.example/workload:1";
/// The value of `PATH` in it, and in images made over it.
pub const WORKLOAD_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/15/bin";
/// The image of the process that holds a pod's namespaces.
pub(crate) const PAUSE_IMAGE: &str = "testbed.example/pause:1";

/// Raised when root file systems or images are made in another way from the same pins, so that the cache has them anew.
const RECIPE: u32 = 2;

/// Everything that a level needs, found or built.
#[derive(Debug, Clone)]
pub struct Assets {
    programs: BTreeMap<&'static str, PathBuf>,
    /// The node's part, on the level that has one.
    pub(crate) node: Option<NodeAssets>,
}

/// What only the node needs.
#[derive(Debug, Clone)]
pub(crate) struct NodeAssets {
    pub(crate) rootfs: PathBuf,
    pub(crate) images: Vec<PathBuf>,
    /// The archive that other images are made over.
    pub(crate) workload: PathBuf,
}

impl Assets {
    /// The path of one of the cluster's programs.
    pub fn program(&self, name: &str) -> Result<&Path> {
        self.programs
            .get(name)
            .map(PathBuf::as_path)
            .ok_or_else(|| Error::new(format!("the program {name} is no part of this level")))
    }

    /// Every program by its name.
    pub(crate) fn programs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.programs.iter().map(|(&name, path)| (name, path.as_path()))
    }

    /// The folders in which they and the images lie.
    pub(crate) fn folders(&self, cache: &Cache) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> =
            self.programs.values().filter_map(|path| Some(path.parent()?.into())).collect();
        folders.retain(|folder| !folder.starts_with(cache.root()));
        folders.push(cache.root().to_path_buf());
        folders.sort();
        folders.dedup();
        folders
    }

    /// Finds what `level` needs, and builds what is missing.
    pub fn of(level: Level, cache: &Cache) -> Result<Self> {
        let wanted: Vec<Program> = match level {
            Level::ControlPlane => pins::CONTROL_PLANE.to_vec(),
            Level::Node => pins::CONTROL_PLANE.into_iter().chain(pins::NODE).collect(),
        };
        let given = std::env::var_os("KUBEBUILDER_ASSETS").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        if let Some(folder) = given.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(Error::new(format!(
                "KUBEBUILDER_ASSETS names {}, which is no folder",
                folder.display()
            ))
            .hint("name a folder with etcd and kube-apiserver in it, or unset it: then they are built"));
        }
        let mut programs = BTreeMap::new();
        let mut missing = Vec::new();
        for program in wanted {
            let places =
                [given.as_ref().map(|dir| dir.join(program.name)), Some(cache.place(&cached_name(program)?))];
            match places.into_iter().flatten().find(|path| path.is_file()) {
                Some(path) => drop(programs.insert(program.name, path)),
                None => missing.push(program),
            }
        }
        if !missing.is_empty() {
            build_programs(cache, &missing, &mut programs)?;
        }
        let node = match level {
            Level::ControlPlane => None,
            Level::Node => Some(node_assets(cache, &programs)?),
        };
        Ok(Self { programs, node })
    }
}

/// The program `helm`, found or built.
pub fn helm(cache: &Cache) -> Result<PathBuf> {
    let place = cache.place(&cached_name(pins::HELM)?);
    if !place.is_file() {
        build_programs(cache, &[pins::HELM], &mut BTreeMap::new())?;
    }
    Ok(place)
}

fn cached_name(program: Program) -> Result<String> {
    let module = pins::module(program)?;
    Ok(format!("{module}-{}/{}", pins::digest(&module)?, program.name))
}

fn build_programs(
    cache: &Cache,
    missing: &[Program],
    programs: &mut BTreeMap<&'static str, PathBuf>,
) -> Result<()> {
    let builder = cache.lock()?;
    cache.needs_space(600 * u64::try_from(missing.len()).unwrap_or(1), "building the cluster's programs")?;
    for (index, program) in missing.iter().enumerate() {
        let started = Instant::now();
        let place = builder.publish(&cached_name(*program)?, |output| {
            say!(
                "building {} from its Go module ({} of {}; once, some {} min with empty caches)",
                program.name,
                index + 1,
                missing.len(),
                program.minutes
            );
            go::build(*program, output)?;
            say!("built {} in {} s", program.name, started.elapsed().as_secs());
            Ok(())
        })?;
        programs.insert(program.name, place);
    }
    Ok(())
}

fn node_assets(cache: &Cache, programs: &BTreeMap<&'static str, PathBuf>) -> Result<NodeAssets> {
    let digest = pins::digest("debian.toml")?;
    let rootfs = format!("debian-{digest}/node-{RECIPE}");
    let workload = format!("debian-{digest}/workload-{RECIPE}.tar");
    let pause = format!("pause-{}/pause-{RECIPE}.tar", pins::digest("pause")?);
    let finished = [&rootfs, &workload, &pause].iter().all(|name| cache.place(name).exists());
    if !finished {
        let builder = cache.lock()?;
        cache.needs_space(3000, "making the node's root file systems")?;
        make_rootfs(&builder, cache, &rootfs)?;
        make_workload(&builder, cache, &workload)?;
        let program = programs.get("pause").ok_or_else(|| Error::new("pause was not built"))?;
        let spec =
            ImageSpec { name: PAUSE_IMAGE, entrypoint: &[], command: &["/pause"], user: "", path: "/" };
        let files = [(program.clone(), "pause".to_owned())];
        builder.publish(&pause, |output| image::pack(&spec, Content::Programs(&files), output))?;
    }
    let workload = cache.place(&workload);
    let images = vec![cache.place(&pause), workload.clone()];
    Ok(NodeAssets { rootfs: cache.place(&rootfs), images, workload })
}

fn make_rootfs(builder: &Builder<'_>, cache: &Cache, name: &str) -> Result<()> {
    builder.publish(name, |output| {
        say!("making the node's root file system from Debian's packages (once, some minutes)");
        debian::make_rootfs("node", &cache.place("partial"), output)
    })?;
    Ok(())
}

fn make_workload(builder: &Builder<'_>, cache: &Cache, name: &str) -> Result<()> {
    builder.publish(name, |output| {
        say!("making the image with PostgreSQL, nginx and curl from Debian's packages (once, some minutes)");
        let rootfs = cache.place("partial").join("workload-rootfs");
        debian::make_rootfs("workload", &cache.place("partial"), &rootfs)?;
        let spec = ImageSpec {
            name: WORKLOAD_IMAGE,
            entrypoint: &[],
            command: &["bash"],
            user: "",
            path: WORKLOAD_PATH,
        };
        image::pack(&spec, Content::Folder(&rootfs), output)
    })?;
    Ok(())
}
