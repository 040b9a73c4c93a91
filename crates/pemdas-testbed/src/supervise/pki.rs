//! The certificates, keys and tokens of one cluster.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_STANDARD, Engine};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use crate::error::{Doing, Result};

/// Somebody the API server knows by a token.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) name: &'static str,
    pub(crate) groups: &'static str,
    pub(crate) token: String,
}

/// Where the files of the cluster's trust lie, and who may talk to it.
#[derive(Debug)]
pub(crate) struct Pki {
    folder: PathBuf,
    users: Vec<User>,
}

/// The name of the person's (and the tests') own user.
pub const ADMIN: &str = "admin";

const USERS: [(&str, &str); 7] = [
    (ADMIN, "system:masters"),
    ("system:kube-controller-manager", ""),
    ("system:kube-scheduler", ""),
    ("system:kube-proxy", ""),
    ("system:node:node-1", "system:nodes"),
    ("testbed:kwok", "system:masters"),
    ("testbed:dns", "system:masters"),
];

impl Pki {
    /// Makes everything in `folder`; the API server will answer at the given addresses.
    pub(crate) fn create(folder: &Path, addresses: &[&str]) -> Result<Self> {
        fs::create_dir_all(folder).doing(|| format!("make {}", folder.display()))?;
        write_certificates(folder, addresses).doing(|| "make the cluster's certificates".into())?;
        let users = USERS
            .iter()
            .map(|&(name, groups)| Ok(User { name, groups, token: random_hex()? }))
            .collect::<Result<Vec<_>>>()?;
        let tokens: String = users
            .iter()
            .map(|user| {
                let groups =
                    if user.groups.is_empty() { String::new() } else { format!(",\"{}\"", user.groups) };
                format!("{},{},{}{groups}\n", user.token, user.name, user.name)
            })
            .collect();
        let pki = Self { folder: folder.to_path_buf(), users };
        fs::write(pki.file("tokens.csv"), tokens).doing(|| "write the tokens".into())?;
        Ok(pki)
    }

    /// One of the files.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The token of a user.
    pub(crate) fn token(&self, user: &str) -> &str {
        self.users.iter().find(|known| known.name == user).map_or("", |known| known.token.as_str())
    }

    /// Writes a kubeconfig for a user, and gives its path.
    pub(crate) fn kubeconfig(&self, user: &str, server: &str, path: &Path) -> Result<PathBuf> {
        write_kubeconfig(&Access { user, token: self.token(user), server, ca: &self.file("ca.crt"), path })
    }
}

/// Who reaches which server, and where that is written down.
pub(crate) struct Access<'a> {
    pub(crate) user: &'a str,
    pub(crate) token: &'a str,
    pub(crate) server: &'a str,
    pub(crate) ca: &'a Path,
    pub(crate) path: &'a Path,
}

/// Writes a kubeconfig, and gives its path.
pub(crate) fn write_kubeconfig(access: &Access<'_>) -> Result<PathBuf> {
    let ca = fs::read(access.ca).doing(|| format!("read {}", access.ca.display()))?;
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{ "name": "testbed", "cluster": {
            "server": access.server, "certificate-authority-data": BASE64_STANDARD.encode(ca),
        }}],
        "users": [{ "name": access.user, "user": { "token": access.token } }],
        "contexts": [{ "name": "testbed", "context": { "cluster": "testbed", "user": access.user } }],
        "current-context": "testbed",
    });
    fs::write(access.path, format!("{config:#}\n")).doing(|| format!("write {}", access.path.display()))?;
    Ok(access.path.to_path_buf())
}

fn write_certificates(
    folder: &Path,
    addresses: &[&str],
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "testbed-ca");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    fs::write(folder.join("ca.crt"), authority.pem())?;

    let issue = |name: &str, organisation: Option<&str>, usage, names: &[&str], file: &str| {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut certificate = CertificateParams::new(names)?;
        certificate.distinguished_name.push(DnType::CommonName, name);
        if let Some(organisation) = organisation {
            certificate.distinguished_name.push(DnType::OrganizationName, organisation);
        }
        certificate.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        certificate.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        fs::write(folder.join(format!("{file}.crt")), certificate.signed_by(&key, &authority)?.pem())?;
        fs::write(folder.join(format!("{file}.key")), key.serialize_pem())?;
        std::result::Result::<(), Box<dyn std::error::Error>>::Ok(())
    };
    issue("kube-apiserver", None, ExtendedKeyUsagePurpose::ServerAuth, addresses, "apiserver")?;
    let masters = Some("system:masters");
    issue(
        "kube-apiserver-kubelet-client",
        masters,
        ExtendedKeyUsagePurpose::ClientAuth,
        &[],
        "kubelet-client",
    )?;
    let signing = KeyPair::generate()?;
    fs::write(folder.join("service-accounts.key"), signing.serialize_pem())?;
    fs::write(folder.join("service-accounts.pub"), signing.public_key_pem())?;
    Ok(())
}

fn random_hex() -> Result<String> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .doing(|| "draw a random token".into())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
