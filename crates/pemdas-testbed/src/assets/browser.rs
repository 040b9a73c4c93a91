//! A browser for tests: Debian's Chromium without a window, unpacked into the cache. Nothing is installed.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    cache::{Builder, Cache},
    debian, pins,
};
use crate::{
    error::{Doing, Result},
    say::say,
};

/// Where its libraries are, within the packages.
const LIBRARIES: [&str; 2] = ["usr/lib", "lib"];
/// What a page needs none of.
const UNUSED: [&str; 4] = ["usr/share/doc", "usr/share/man", "usr/share/icons", "usr/share/locale"];

/// The packages of the browser, unpacked.
#[derive(Debug, Clone)]
pub struct Browser {
    root: PathBuf,
}

impl Browser {
    /// Finds the browser, or fetches it.
    ///
    /// # Errors
    /// If its packages cannot be had: there is no Debian, or no mirror of it.
    pub fn find(cache: &Cache) -> Result<Self> {
        let name = format!("browser-{}/root", pins::digest("browser.toml")?);
        let root = cache.place(&name);
        if !root.exists() {
            let builder: Builder<'_> = cache.lock()?;
            cache.needs_space(1_500, "unpacking the browser")?;
            builder.publish(&name, |output| {
                say!("fetching a browser from Debian's packages (once, 170 MB)");
                debian::unpack(&pins::browser()?.packages, &cache.place("partial").join("browser"), output)?;
                for folder in UNUSED {
                    let _absent = std::fs::remove_dir_all(output.join(folder));
                }
                Ok(())
            })?;
        }
        Ok(Self { root })
    }

    /// The command that starts it: with its own libraries and fonts, its settings in a folder that is given.
    ///
    /// # Errors
    /// If that folder cannot be written.
    pub fn command(&self, folder: &Path) -> Result<Command> {
        let fonts = folder.join("fonts.conf");
        let of_packages = self.root.join("usr/share/fonts");
        let text = format!(
            "<fontconfig><dir>{}</dir><cachedir>{}</cachedir></fontconfig>\n",
            of_packages.display(),
            folder.join("fonts").display()
        );
        std::fs::write(&fonts, text).doing(|| format!("write {}", fonts.display()))?;
        let mut command = Command::new(self.root.join("usr/lib/chromium/chromium-headless-shell"));
        command
            .env("LD_LIBRARY_PATH", self.libraries())
            .env("FONTCONFIG_FILE", fonts)
            .env("HOME", folder)
            .env_remove("DBUS_SESSION_BUS_ADDRESS");
        Ok(command)
    }

    fn libraries(&self) -> String {
        let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
        let folders = LIBRARIES.iter().map(|it| self.root.join(it).join(&triple));
        // The sound library keeps a part of itself in a folder of its own.
        let folders = folders.flat_map(|it| [it.join("pulseaudio"), it]);
        folders.map(|it| it.display().to_string()).collect::<Vec<_>>().join(":")
    }
}
