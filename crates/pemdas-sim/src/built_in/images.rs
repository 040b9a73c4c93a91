//! Names of images, as far as pulling goes.

/// When an image is pulled unless its container says so.
pub(super) fn pull_policy(image: &str) -> &'static str {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or_default();
    let tag = last.split_once(':').map(|(_, tag)| tag);
    match (tag, digest) {
        (Some("latest"), _) | (None, None) => "Always",
        _ => "IfNotPresent",
    }
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn only_the_latest_is_always_pulled() {
        for image in ["nginx", "nginx:latest", "host:5000/nginx"] {
            assert_eq!(pull_policy(image), "Always", "{image}");
        }
        for image in ["nginx:1", "host:5000/nginx:1", "nginx@sha256:ab"] {
            assert_eq!(pull_policy(image), "IfNotPresent", "{image}");
        }
    }
}
