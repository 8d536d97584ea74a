//! An HTTP proxy that opens tunnels to a server behind it, or refuses everybody.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::request::HttpRequest;

/// What a proxy does for those who ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// It connects them to this server, whichever they asked for.
    To(SocketAddr),
    /// It answers with this status.
    Refused(u16),
}

/// A running proxy. It stops when it is dropped.
#[derive(Debug)]
pub struct TunnelProxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<HttpRequest>>>,
    listening: JoinHandle<()>,
}

impl TunnelProxy {
    /// Starts a proxy on a free port of the loopback interface.
    pub async fn start(tunnel: Tunnel) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let asked = Arc::<Mutex<Vec<HttpRequest>>>::default();
        let noted = asked.clone();
        let listening = tokio::spawn(async move {
            let mut carried = JoinSet::new();
            for number in 1.. {
                let Ok((client, _)) = listener.accept().await else {
                    break;
                };
                let noted = noted.clone();
                // Either side may go away at any point.
                carried.spawn(async move { drop(serve(client, number, tunnel, &noted).await) });
                while carried.try_join_next().is_some() {}
            }
        });
        Ok(Self {
            address,
            asked,
            listening,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it was asked, `CONNECT` with the server as the path.
    pub fn asked(&self) -> Vec<HttpRequest> {
        let asked = self.asked.lock();
        asked.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for TunnelProxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn serve(
    client: TcpStream,
    number: usize,
    tunnel: Tunnel,
    noted: &Mutex<Vec<HttpRequest>>,
) -> io::Result<()> {
    let mut input = BufReader::new(client);
    let Some(request) = HttpRequest::read(&mut input, number).await? else {
        return Ok(());
    };
    noted
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(request.clone());
    // Nobody speaks before the tunnel is open, so nothing more was read.
    let mut client = input.into_inner();
    let refusal = match tunnel {
        Tunnel::To(upstream) if request.verb == "CONNECT" => {
            let mut server = TcpStream::connect(upstream).await?;
            client.write_all(b"HTTP/1.1 200 Open\r\n\r\n").await?;
            tokio::io::copy_bidirectional(&mut client, &mut server).await?;
            return Ok(());
        }
        Tunnel::To(_) => 501,
        Tunnel::Refused(status) => status,
    };
    let head = format!(
        "HTTP/1.1 {refusal} Refused\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\
         Connection: close\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await?;
    client.shutdown().await
}
