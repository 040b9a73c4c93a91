//! The image of Pemdas as one archive, made without Docker.
//!
//! It is an OCI layout, and what `docker save` writes, at once: one set of blobs under two tables of contents. So `ctr`,
//! `podman`, `docker`, `skopeo` and `kind` all load it. The same program gives the same bytes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::assets::image::{Content, append_bytes, header, hex, write_layer};
use crate::error::{Doing, Error, Result};

/// The user that Pemdas runs as: a number, so that Kubernetes can tell that it is not root.
pub const USER: &str = "65532:65532";

/// What an image says of itself.
#[derive(Debug, Clone)]
pub struct About<'a> {
    /// Name and tag, such as `pemdas:0.1.0`.
    pub name: &'a str,
    /// The processor, as Go calls it: `amd64` or `arm64`.
    pub architecture: &'a str,
    /// The version of Pemdas.
    pub version: &'a str,
    /// The commit.
    pub revision: &'a str,
    /// When that was made, as in `2026-01-31T12:00:00Z`.
    pub created: &'a str,
}

/// Writes the image of a program that is linked statically: nothing else is in it.
pub fn pack(about: &About<'_>, program: &Path, output: &Path) -> Result<()> {
    if wants_loader(program).doing(|| format!("read {}", program.display()))? {
        return Err(Error::new(format!("{} is not linked statically", program.display()))
            .hint("`cargo xtask image` links it so that it needs no library"));
    }
    pack_with(about, program, &[], output)
}

/// Writes the image of a program with whatever it is linked to: what a build for development is.
pub fn pack_for_development(about: &About<'_>, program: &Path, output: &Path) -> Result<()> {
    pack_with(about, program, &libraries(program)?, output)
}

fn pack_with(about: &About<'_>, program: &Path, more: &[(PathBuf, String)], output: &Path) -> Result<()> {
    let [layer, smaller] = ["layer", "program"].map(|it| output.with_extension(it));
    let mut files = vec![(without_debug_information(program, &smaller), "pemdas".to_owned())];
    files.extend_from_slice(more);
    let result = write_layer(Content::Programs(&files), &layer)
        .and_then(|digest| write_archive(about, &layer, &digest, output));
    for leftover in [layer, smaller] {
        // It may never have been made.
        let _ = fs::remove_file(leftover);
    }
    result.doing(|| format!("pack the image {}", about.name))
}

/// A part of an image, as its parents refer to it.
struct Blob {
    kind: &'static str,
    digest: String,
    size: u64,
}

impl Blob {
    fn of(kind: &'static str, bytes: &[u8]) -> Self {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Self { kind, digest: hex(Sha256::new_with_prefix(bytes)), size }
    }

    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest)
    }

    fn described(&self) -> Value {
        json!({ "mediaType": self.kind, "digest": format!("sha256:{}", self.digest), "size": self.size })
    }
}

fn write_archive(about: &About<'_>, layer: &Path, digest: &str, output: &Path) -> io::Result<()> {
    let size = fs::metadata(layer)?.len();
    let layer_blob = Blob { kind: "application/vnd.oci.image.layer.v1.tar", digest: digest.to_owned(), size };
    let config = config(about, digest).to_string();
    let config_blob = Blob::of("application/vnd.oci.image.config.v1+json", config.as_bytes());
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config_blob.described(), "layers": [layer_blob.described()],
        "annotations": labels(about),
    })
    .to_string();
    let manifest_blob = Blob::of("application/vnd.oci.image.manifest.v1+json", manifest.as_bytes());
    let mut entry = manifest_blob.described();
    let tag = about.name.rsplit_once(':').map_or("latest", |(_, tag)| tag);
    entry["platform"] = json!({ "architecture": about.architecture, "os": "linux" });
    // The first is for containerd, which wants the whole name; the second for everybody else.
    entry["annotations"] = json!({
        "io.containerd.image.name": whole_name(about.name), "org.opencontainers.image.ref.name": tag,
    });
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry],
    });
    let for_docker = json!([{
        "Config": config_blob.path(), "RepoTags": [about.name], "Layers": [layer_blob.path()],
    }]);

    let mut archive = tar::Builder::new(BufWriter::new(File::create(output)?));
    for folder in ["blobs/", "blobs/sha256/"] {
        let mut header = header(0, 0o755);
        header.set_entry_type(tar::EntryType::Directory);
        archive.append_data(&mut header, folder, io::empty())?;
    }
    append_bytes(&mut archive, &config_blob.path(), config.as_bytes(), 0o644)?;
    append_bytes(&mut archive, &manifest_blob.path(), manifest.as_bytes(), 0o644)?;
    archive.append_data(&mut header(size, 0o644), layer_blob.path(), File::open(layer)?)?;
    append_bytes(&mut archive, "index.json", index.to_string().as_bytes(), 0o644)?;
    append_bytes(&mut archive, "manifest.json", for_docker.to_string().as_bytes(), 0o644)?;
    append_bytes(&mut archive, "oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#, 0o644)?;
    archive.into_inner()?.flush()
}

fn config(about: &About<'_>, layer: &str) -> Value {
    json!({
        "architecture": about.architecture, "os": "linux", "created": about.created,
        "config": {
            "Entrypoint": ["/pemdas"], "Env": ["PATH=/"], "WorkingDir": "/", "User": USER, "Labels": labels(about),
            "ExposedPorts": { "8080/tcp": {} },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
        "history": [{ "created": about.created, "created_by": "cargo xtask image" }],
    })
}

fn labels<'a>(about: &About<'a>) -> BTreeMap<String, &'a str> {
    let said = [
        ("title", "pemdas"),
        ("description", "A universal Kubernetes operator"),
        ("licenses", "Apache-2.0"),
        ("version", about.version),
        ("revision", about.revision),
        ("created", about.created),
    ];
    said.into_iter().map(|(name, value)| (format!("org.opencontainers.image.{name}"), value)).collect()
}

/// The name with its registry, as the kubelet asks for it.
fn whole_name(name: &str) -> String {
    let first = name.split('/').next().unwrap_or_default();
    match name.contains('/') {
        false => format!("docker.io/library/{name}"),
        true if first.contains(['.', ':']) || first == "localhost" => name.to_owned(),
        true => format!("docker.io/{name}"),
    }
}

/// The program as it is shipped: what debuggers read is most of it. Without the tool for that, as it is.
pub(crate) fn without_debug_information(program: &Path, smaller: &Path) -> PathBuf {
    let stripped = Command::new("strip").arg("--strip-debug").arg("-o").arg(smaller).arg(program).output();
    if stripped.is_ok_and(|it| it.status.success()) { smaller.to_path_buf() } else { program.to_path_buf() }
}

/// Whether a program is linked dynamically: one of its ELF program headers then names the loader (`PT_INTERP`). `ldd` can answer that
/// only for programs of this machine's processor.
fn wants_loader(program: &Path) -> io::Result<bool> {
    const PT_INTERP: usize = 3;
    let mut start = Vec::new();
    File::open(program)?.take(1 << 16).read_to_end(&mut start)?;
    let number = |at: usize, bytes: usize| {
        let bytes = start.get(at..at.saturating_add(bytes))?;
        Some(bytes.iter().rev().fold(0_usize, |all, byte| (all << 8) | usize::from(*byte)))
    };
    // Both processors that we build for are 64-bit and little-endian. The offsets are those of `Elf64_Ehdr`.
    let headers = (number(0x20, 8), number(0x36, 2), number(0x38, 2)); // e_phoff, e_phentsize, e_phnum
    let (true, (Some(first), Some(size), Some(count))) = (start.starts_with(b"\x7fELF\x02\x01"), headers)
    else {
        return Ok(false);
    };
    Ok((0..count).any(|it| number(first.saturating_add(it * size), 4) == Some(PT_INTERP)))
}

/// The libraries that a program is linked to, each with its path inside an image; none if it is static.
pub(crate) fn libraries(program: &Path) -> Result<Vec<(PathBuf, String)>> {
    let said = Command::new("ldd").arg(program).output().doing(|| "run ldd".into())?;
    let said = String::from_utf8_lossy(&said.stdout);
    let paths = said.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':'));
    Ok(paths.map(|path| (path.into(), path.trim_start_matches('/').to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: About<'_> = About {
        name: "pemdas:1.2.3",
        architecture: "amd64",
        version: "1.2.3",
        revision: "c0ffee",
        created: "2026-01-31T12:00:00Z",
    };

    /// A program that needs no library.
    fn packed(folder: &Path) -> Vec<u8> {
        let program = folder.join("any-name");
        fs::write(&program, "#!/bin/true").unwrap();
        let output = folder.join("image.tar");
        pack(&ABOUT, &program, &output).unwrap();
        fs::read(output).unwrap()
    }

    fn entries(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        for entry in tar::Archive::new(archive).entries().unwrap() {
            let mut entry = entry.unwrap();
            let owner = (entry.header().uid().unwrap(), entry.header().gid().unwrap());
            assert_eq!((owner, entry.header().mtime().unwrap()), ((0, 0), 0), "of root, and never changed");
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            found.insert(entry.path().unwrap().to_string_lossy().into_owned(), bytes);
        }
        found
    }

    /// What a reference means: its digest and its size are those of the blob.
    fn blob<'a>(files: &'a BTreeMap<String, Vec<u8>>, reference: &Value) -> &'a [u8] {
        let digest = reference["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let bytes = &files[&format!("blobs/sha256/{digest}")];
        assert_eq!(hex(Sha256::new_with_prefix(bytes)), digest);
        assert_eq!(reference["size"], bytes.len());
        bytes
    }

    fn read(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    #[test]
    fn both_tables_of_contents_lead_to_the_same_program() {
        let folder = tempfile::tempdir().unwrap();
        let files = entries(&packed(folder.path()));
        let index = read(&files["index.json"]);
        let manifest = read(blob(&files, &index["manifests"][0]));
        let config = read(blob(&files, &manifest["config"]));
        let layer = blob(&files, &manifest["layers"][0]);
        assert_eq!(config["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"], "it is not compressed");
        assert_eq!(
            entries(layer).into_iter().collect::<Vec<_>>(),
            [("pemdas".into(), b"#!/bin/true".into())]
        );

        let for_docker = &read(&files["manifest.json"])[0];
        let same = |path: &Value, reference: &Value| {
            assert_eq!(files[path.as_str().unwrap()], blob(&files, reference));
        };
        same(&for_docker["Config"], &manifest["config"]);
        same(&for_docker["Layers"][0], &manifest["layers"][0]);
        assert_eq!(for_docker["RepoTags"], json!(["pemdas:1.2.3"]));
        let names = &index["manifests"][0]["annotations"];
        assert_eq!(names["io.containerd.image.name"], "docker.io/library/pemdas:1.2.3");
        assert_eq!(config["config"]["User"], USER);
        assert_eq!(config["config"]["Labels"]["org.opencontainers.image.revision"], "c0ffee");
    }

    #[test]
    fn the_same_program_gives_the_same_bytes() {
        let [one, two] = [(); 2].map(|()| packed(tempfile::tempdir().unwrap().path()));
        assert!(one == two);
    }

    #[test]
    fn nothing_is_left_beside_the_archive() {
        let folder = tempfile::tempdir().unwrap();
        packed(folder.path());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_program_that_needs_libraries_is_refused_unless_it_is_for_development() {
        let folder = tempfile::tempdir().unwrap();
        let (us, output) = (std::env::current_exe().unwrap(), folder.path().join("image.tar"));
        let refused = pack(&ABOUT, &us, &output).unwrap_err().to_string();
        assert!(refused.contains("is not linked") && refused.contains("cargo xtask image"), "{refused}");
        assert!(!output.exists());
        pack_for_development(&ABOUT, &us, &output).unwrap();
        let files = entries(&fs::read(&output).unwrap());
        let layer = files.values().max_by_key(|it| it.len()).unwrap();
        assert!(entries(layer).keys().any(|it| it.contains("libc.so")));
    }

    #[test]
    fn names_are_those_that_the_kubelet_asks_for() {
        assert_eq!(whole_name("me/pemdas:1"), "docker.io/me/pemdas:1");
        for whole in ["registry.example.com/pemdas:1", "localhost/pemdas:1", "127.0.0.1:5000/x:1"] {
            assert_eq!(whole_name(whole), whole);
        }
    }
}
