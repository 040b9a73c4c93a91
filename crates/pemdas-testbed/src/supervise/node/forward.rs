//! A port of the host's loopback interface that leads to the API server inside the node's network namespace. The
//! host's own addresses, routes and firewall stay as they are.

use std::fs::File;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::{Doing, Result};

/// Leads every connection of `listener` to `target` inside the network namespace of the process `inside`, for as
/// long as this process lives.
pub(super) fn start(listener: TcpListener, inside: u32, target: &'static str) -> Result<()> {
    let path = format!("/proc/{inside}/ns/net");
    let namespace = Arc::new(File::open(&path).doing(|| format!("open {path}"))?);
    thread::spawn(move || {
        for client in listener.incoming().filter_map(io::Result::ok) {
            let namespace = Arc::clone(&namespace);
            // A connection that fails is closed: its client sees that, nobody else need.
            thread::spawn(move || drop(connect(&namespace, target).and_then(|server| join(client, server))));
        }
    });
    Ok(())
}

/// A namespace belongs to a thread, and a socket to the namespace it was made in: this thread is ours to move.
fn connect(namespace: &File, target: &str) -> io::Result<TcpStream> {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
    TcpStream::connect(target)
}

fn join(client: TcpStream, server: TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let upward = thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let (mut from_server, mut to_client) = (server, client);
    let _ = io::copy(&mut from_server, &mut to_client);
    let _ = to_client.shutdown(Shutdown::Write);
    let _ = upward.join();
    Ok(())
}
