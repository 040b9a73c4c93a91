//! Free ports on the loopback interface.

use std::net::{Ipv4Addr, TcpListener};

use crate::error::{Doing, Error, Result};

/// The ports of one control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ports {
    pub(crate) api: u16,
    pub(crate) etcd_client: u16,
    pub(crate) etcd_peer: u16,
}

impl Ports {
    /// Three ports that are free at this moment. Somebody else may take one before the servers do: whoever starts
    /// them tries again then.
    pub(crate) fn free(api: Option<u16>) -> Result<Self> {
        let bound = [listener(api.unwrap_or(0))?, listener(0)?, listener(0)?];
        let [api, etcd_client, etcd_peer] =
            bound.each_ref().map(|it| it.local_addr().map_or(0, |at| at.port()));
        Ok(Self { api, etcd_client, etcd_peer })
    }
}

/// Takes a port, or any free one for zero.
pub(crate) fn listener(port: u16) -> Result<TcpListener> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    if let Err(cause) = &bound
        && cause.kind() == std::io::ErrorKind::AddrInUse
        && port != 0
    {
        return Err(
            Error::new(format!("port {port} is in use")).hint("choose another with --port, or leave it out")
        );
    }
    bound.doing(|| format!("listen on port {port} of the loopback interface"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_differ_from_one_another() {
        let ports = Ports::free(None).unwrap();
        assert!(
            ports.api != ports.etcd_client
                && ports.etcd_client != ports.etcd_peer
                && ports.api != ports.etcd_peer
        );
    }

    #[test]
    fn a_busy_port_is_named() {
        let taken = listener(0).unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = Ports::free(Some(port)).unwrap_err().to_string();
        assert!(error.contains(&format!("port {port} is in use")) && error.contains("--port"), "{error}");
    }
}
