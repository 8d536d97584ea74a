//! A TCP proxy that makes a good connection bad: slow, in slices, cut or reset after some bytes.
//!
//! Stands between a client and any server, real ones included. Knows nothing of what it carries.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// What is done to the bytes from the server to the client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Harm {
    /// Each piece is held back for so long.
    pub latency: Duration,
    /// Pieces are of this size at the most.
    pub slice: Option<usize>,
    /// The connection ends after so many bytes.
    pub cut_after: Option<usize>,
    /// How it ends then.
    pub cut: Cut,
}

/// How a connection is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// It is closed.
    #[default]
    Close,
    /// It is reset.
    Reset,
}

/// A running proxy. It stops when it is dropped.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    listening: JoinHandle<()>,
}

impl FaultProxy {
    /// Starts a proxy to `upstream` on a free port of the loopback interface.
    pub async fn start(upstream: SocketAddr, harm: Harm) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = connections.clone();
        let listening = tokio::spawn(async move {
            let mut carried = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                // Either side may go away at any point.
                carried.spawn(async move { drop(carry(client, upstream, harm).await) });
                while carried.try_join_next().is_some() {}
            }
        });
        Ok(Self {
            address,
            connections,
            listening,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn carry(client: TcpStream, upstream: SocketAddr, harm: Harm) -> io::Result<()> {
    let server = TcpStream::connect(upstream).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let upwards = async {
        tokio::io::copy(&mut from_client, &mut to_server).await?;
        to_server.shutdown().await
    };
    let downwards = async {
        let mut left = harm.cut_after.unwrap_or(usize::MAX);
        let mut buffer = vec![0; harm.slice.unwrap_or(64 * 1024).max(1)];
        loop {
            let read = from_server.read(&mut buffer).await?;
            if read == 0 {
                return to_client.shutdown().await;
            }
            tokio::time::sleep(harm.latency).await;
            let allowed = read.min(left);
            to_client.write_all(&buffer[..allowed]).await?;
            left -= allowed;
            if left == 0 {
                if harm.cut == Cut::Reset {
                    to_client.as_ref().set_zero_linger()?;
                }
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
        }
    };
    tokio::try_join!(upwards, downwards).map(drop)
}
