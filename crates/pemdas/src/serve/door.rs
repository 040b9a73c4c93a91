//! Whom the operator listens to: a few connections at a time, each for a moment.
//!
//! Anybody in the cluster may connect and say nothing. A probe that waits behind them would restart the operator, and every
//! connection is a file descriptor that a worker may need. So a new connection is always let in, the oldest gives way to it, and
//! none lasts longer than a probe or a scrape takes.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::serve::Listener;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    time::{Sleep, sleep},
};

/// How many connections there are at most.
pub(super) const GUESTS: usize = 64;
/// How long a connection lasts. A scrape has ten seconds by default, and Prometheus connects again.
pub(super) const STAY: Duration = Duration::from_secs(10);

/// A listener that keeps few connections, and each not for long.
pub(super) struct Door {
    listener: TcpListener,
    guests: usize,
    stay: Duration,
    /// What ends each connection when it is dropped, the oldest first.
    inside: VecDeque<oneshot::Sender<()>>,
}

impl Door {
    pub(super) fn new(listener: TcpListener, guests: usize, stay: Duration) -> Self {
        Self { listener, guests, stay, inside: VecDeque::new() }
    }
}

impl Listener for Door {
    type Io = Guest;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guest, SocketAddr) {
        // What cannot be accepted for lack of descriptors is tried again after a while.
        let (stream, from) = Listener::accept(&mut self.listener).await;
        self.inside.retain(|it| !it.is_closed());
        while self.inside.len() >= self.guests {
            self.inside.pop_front();
        }
        let (stays, shown_out) = oneshot::channel();
        self.inside.push_back(stays);
        (Guest { stream, shown_out, stay: Box::pin(sleep(self.stay)) }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection, for as long as it may stay.
pub(super) struct Guest {
    stream: TcpStream,
    shown_out: oneshot::Receiver<()>,
    stay: Pin<Box<Sleep>>,
}

impl Guest {
    /// An error once the connection has to end; whoever asks is woken then.
    fn may_stay(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let over = self.stay.as_mut().poll(cx).is_ready();
        if over || Pin::new(&mut self.shown_out).poll(cx).is_ready() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl AsyncRead for Guest {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.may_stay(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, to)
    }
}

impl AsyncWrite for Guest {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.may_stay(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.may_stay(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
