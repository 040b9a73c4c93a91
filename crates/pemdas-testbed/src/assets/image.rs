//! Container images without a registry: a root file system packed as a docker archive, which containerd imports.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::error::{Doing, Result};

/// What an image is called and what it runs.
#[derive(Debug, Clone)]
pub struct ImageSpec<'a> {
    /// Name and tag, such as `testbed.example/workload:1`.
    pub name: &'a str,
    /// What always comes first in the command.
    pub entrypoint: &'a [&'a str],
    /// The command of a container that names none.
    pub command: &'a [&'a str],
    /// The user it runs as, by number; empty for root.
    pub user: &'a str,
    /// The value of `PATH` inside.
    pub path: &'a str,
}

/// Where the files of an image come from.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// A whole folder.
    Folder(&'a Path),
    /// Programs and libraries, each with its path inside.
    Programs(&'a [(PathBuf, String)]),
}

/// A file that is added to an image.
#[derive(Debug, Clone)]
pub struct Added<'a> {
    /// Its path, without a leading slash; a folder's ends with one.
    pub path: &'a str,
    /// Its mode.
    pub mode: u32,
    /// What is in it.
    pub text: &'a str,
}

/// Writes the image to `output`.
pub fn pack(spec: &ImageSpec<'_>, content: Content<'_>, output: &Path) -> Result<()> {
    let layer = output.with_extension("layer");
    let result = write_layer(content, &layer).and_then(|digest| write_archive(spec, &layer, &digest, output));
    let _ = fs::remove_file(&layer);
    result.doing(|| format!("pack the image {}", spec.name))
}

/// Writes a layer; its digest.
pub(crate) fn write_layer(content: Content<'_>, layer: &Path) -> io::Result<String> {
    let mut hashing = Hashing { inner: BufWriter::new(File::create(layer)?), hash: Sha256::new() };
    {
        let mut archive = tar::Builder::new(&mut hashing);
        archive.follow_symlinks(false);
        // containerd does not know the entries that stand for files with holes.
        archive.sparse(false);
        match content {
            Content::Folder(folder) => append_sorted(&mut archive, folder, Path::new(""))?,
            Content::Programs(files) => {
                for (file, name) in files {
                    let mut header = header(fs::metadata(file)?.len(), 0o755);
                    archive.append_data(&mut header, name, File::open(file)?)?;
                }
            }
        }
        archive.finish()?;
    }
    hashing.flush()?;
    Ok(hex(hashing.hash))
}

/// Appends a folder with its entries in the order of their names, so that the same files give the same image.
fn append_sorted<W: Write>(archive: &mut tar::Builder<W>, root: &Path, inside: &Path) -> io::Result<()> {
    let mut entries = fs::read_dir(root.join(inside))?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = inside.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            archive.append_dir(&name, entry.path())?;
            append_sorted(archive, root, &name)?;
        } else if kind.is_file() || kind.is_symlink() {
            archive.append_path_with_name(entry.path(), &name)?;
        }
        // Devices and sockets are the container runtime's business.
    }
    Ok(())
}

fn write_archive(spec: &ImageSpec<'_>, layer: &Path, digest: &str, output: &Path) -> io::Result<()> {
    let mut archive = tar::Builder::new(BufWriter::new(File::create(output)?));
    archive.append_path_with_name(layer, "layer.tar")?;
    append_images(&mut archive, &[spec], &["layer.tar"], &[format!("sha256:{digest}")])?;
    archive.into_inner()?.flush()
}

/// The images of one archive, which all have the same layers.
fn append_images<W: Write>(
    archive: &mut tar::Builder<W>,
    images: &[&ImageSpec<'_>],
    layers: &[&str],
    digests: &[String],
) -> io::Result<()> {
    let mut manifest = Vec::new();
    for spec in images {
        let config = json!({
            "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
            "os": "linux",
            "created": "2026-01-01T00:00:00Z",
            "config": {
                "Env": [format!("PATH={}", spec.path)], "Entrypoint": spec.entrypoint, "Cmd": spec.command,
                "WorkingDir": "/", "User": spec.user,
            },
            "rootfs": { "type": "layers", "diff_ids": digests },
            "history": digests.iter().map(|_| json!({ "created_by": "testbed" })).collect::<Vec<_>>(),
        })
        .to_string();
        let config_name = format!("{}.json", hex(Sha256::new_with_prefix(&config)));
        append_bytes(archive, &config_name, config.as_bytes(), 0o644)?;
        manifest.push(json!({ "Config": config_name, "RepoTags": [spec.name], "Layers": layers }));
    }
    append_bytes(archive, "manifest.json", json!(manifest).to_string().as_bytes(), 0o644)
}

/// Writes images that are the one of the archive `base` with some files more. What they share is unpacked once.
pub fn pack_over(base: &Path, files: &[Added<'_>], images: &[ImageSpec<'_>], output: &Path) -> Result<()> {
    write_over(base, files, images, output).doing(|| format!("pack images over {}", base.display()))
}

fn write_over(base: &Path, files: &[Added<'_>], images: &[ImageSpec<'_>], output: &Path) -> io::Result<()> {
    let mut archive = tar::Builder::new(BufWriter::new(File::create(output)?));
    let mut digests = Vec::new();
    for entry in tar::Archive::new(File::open(base)?).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        if name == "layer.tar" {
            let mut header = entry.header().clone();
            archive.append_data(&mut header, "base.tar", &mut entry)?;
        } else if name != "manifest.json" {
            let config: serde_json::Value = serde_json::from_reader(&mut entry)?;
            let known = config.pointer("/rootfs/diff_ids").and_then(|it| it.as_array());
            digests.extend(known.into_iter().flatten().filter_map(|it| it.as_str()).map(str::to_owned));
        }
    }
    let mut layer = tar::Builder::new(Vec::new());
    for file in files {
        if file.path.ends_with('/') {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::Directory);
            header.set_size(0);
            header.set_mode(file.mode);
            layer.append_data(&mut header, file.path, io::empty())?;
        } else {
            append_bytes(&mut layer, file.path, file.text.as_bytes(), file.mode)?;
        }
    }
    let layer = layer.into_inner()?;
    digests.push(format!("sha256:{}", hex(Sha256::new_with_prefix(&layer))));
    append_bytes(&mut archive, "added.tar", &layer, 0o644)?;
    let images: Vec<_> = images.iter().collect();
    append_images(&mut archive, &images, &["base.tar", "added.tar"], &digests)?;
    archive.into_inner()?.flush()
}

pub(crate) fn append_bytes<W: Write>(
    archive: &mut tar::Builder<W>,
    name: &str,
    bytes: &[u8],
    mode: u32,
) -> io::Result<()> {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    archive.append_data(&mut header(size, mode), name, bytes)
}

/// Of a file that belongs to root and was never changed: the same content gives the same bytes.
pub(crate) fn header(size: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    header
}

pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Hashing<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A short digest of a file, to name what was made from it.
pub(crate) fn file_digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(hash).chars().take(12).collect()),
            read => hash.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(folder: &Path, output: &Path) -> Vec<u8> {
        let spec =
            ImageSpec { name: "testbed/x:1", entrypoint: &[], command: &["/x"], user: "", path: "/bin" };
        pack(&spec, Content::Folder(folder), output).unwrap();
        fs::read(output).unwrap()
    }

    #[test]
    fn an_image_holds_its_files_links_and_a_manifest_that_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::write(root.join("bin/x"), "program").unwrap();
        std::os::unix::fs::symlink("x", root.join("bin/y")).unwrap();
        let output = folder.path().join("image.tar");
        let bytes = packed(&root, &output);
        assert_eq!(bytes, packed(&root, &output), "the same files give the same image");

        let mut names = Vec::new();
        let mut layer_names = Vec::new();
        for entry in tar::Archive::new(bytes.as_slice()).entries().unwrap() {
            let entry = entry.unwrap();
            let name = entry.path().unwrap().to_string_lossy().into_owned();
            if name == "layer.tar" {
                for inner in tar::Archive::new(entry).entries().unwrap() {
                    layer_names.push(inner.unwrap().path().unwrap().to_string_lossy().into_owned());
                }
            }
            names.push(name);
        }
        assert!(names.iter().any(|name| name == "manifest.json"), "{names:?}");
        assert_eq!(layer_names, ["bin", "bin/x", "bin/y"]);
        assert!(!output.with_extension("layer").exists());
    }

    #[test]
    fn images_over_another_share_its_layer_and_add_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("x"), "program").unwrap();
        let [base, output] = ["base.tar", "over.tar"].map(|it| folder.path().join(it));
        packed(&root, &base);
        let image = |name| ImageSpec { name, entrypoint: &["/y"], command: &[], user: "7", path: "/bin" };
        let added = Added { path: "y", mode: 0o755, text: "more" };
        pack_over(&base, &[added], &[image("testbed/y:1"), image("testbed/z:1")], &output).unwrap();

        let mut texts = std::collections::BTreeMap::new();
        for entry in tar::Archive::new(File::open(&output).unwrap()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            texts.insert(entry.path().unwrap().to_string_lossy().into_owned(), bytes);
        }
        let manifest: serde_json::Value = serde_json::from_slice(&texts["manifest.json"]).unwrap();
        assert_eq!(manifest[1]["RepoTags"], json!(["testbed/z:1"]));
        assert_eq!(manifest[0]["Layers"], json!(["base.tar", "added.tar"]));
        let config = &texts[manifest[0]["Config"].as_str().unwrap()];
        let config: serde_json::Value = serde_json::from_slice(config).unwrap();
        let digests: Vec<_> = ["base.tar", "added.tar"]
            .map(|it| format!("sha256:{}", hex(Sha256::new_with_prefix(&texts[it]))))
            .into();
        assert_eq!(config["rootfs"]["diff_ids"], json!(digests));
        assert_eq!(config["config"]["User"], "7");
    }
}
