//! A page in the browser that says why: of the whole fleet, of an instance, of a node, of a blueprint.
//!
//! `guard` says who may ask, `route` what is asked, `layout` where boxes stand, and `changes` what is new: pure functions. `desk` owns
//! the session with the cluster in a thread of its own, looks with the permissions of whoever started it, and hears of changes by
//! watches of metadata; `answer` makes documents of what it finds, in the forms of `pemdas explain` and `pemdas graph`. `http` is the
//! thin shell around them. The page itself lies in `page`: ES modules as they are served, without a bundler.
//!
//! **Safety rule.** Only loopback addresses are served. Without the token of the run nothing is told of the cluster, and nothing is
//! ever written.

mod answer;
mod assets;
mod changes;
mod desk;
mod guard;
mod http;
mod layout;
mod route;

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
};

use pemdas_core::world::ObjectKey;

use crate::{live::Session, operate::Workers};
use desk::Desk;
use guard::{Guard, Token};

/// The port where nothing else is said.
pub(crate) const PORT: u16 = 7364;

/// A page that waits for browsers.
pub(crate) struct Ui {
    listener: TcpListener,
    guard: Guard,
    desk: Desk,
}

impl Ui {
    /// Takes a port of this machine; with the number 0 one that is free. The session is looked at from a thread of its own.
    ///
    /// # Errors
    /// If the port or a token cannot be had.
    pub(crate) fn open(
        port: u16,
        session: impl FnOnce() -> Option<Session> + Send + 'static,
        workers: Workers,
    ) -> io::Result<Self> {
        // Not within a runtime: a session that is not needed ends its own, which may not happen there.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let guard = Guard::new(listener.local_addr()?.port(), Token::new()?);
        Ok(Self { listener, guard, desk: Desk::start(session, workers) })
    }

    /// The address for a browser, with the token: behind the `#`, which browsers send nowhere.
    pub(crate) fn link(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}#token={}", self.guard.port(), self.guard.token())
    }

    /// Serves until the future is dropped.
    ///
    /// # Errors
    /// If the socket fails.
    pub(crate) async fn serve(self) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        http::serve(listener, self.guard, self.desk).await
    }
}

/// Where the page shows an instance.
pub(crate) fn path_of(root: &ObjectKey) -> String {
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let (group, namespace) = (or_dash(&root.kind.group), or_dash(&root.namespace));
    format!("/i/{group}/{}/{namespace}/{}", root.kind.kind, root.name)
}
