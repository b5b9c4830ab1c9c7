//! The way to the outside: names to addresses, addresses to connections.
//!
//! Rule (H27): a name is resolved once and the connection goes to an address that was
//! checked; there is no step between that could resolve again. Proxy variables are never
//! read.

use std::io;
use std::net::{IpAddr, SocketAddr};

use async_trait::async_trait;
use rustls::RootCertStore;
use tokio::net::{TcpStream, lookup_host};

/// How the host reaches endpoints. The runtime has its own; an embedder or a test may put
/// another in a grant. Whatever it resolves to is still checked.
#[async_trait]
pub trait Network: Send + Sync + 'static {
    /// All addresses of `host`, asked once a request.
    ///
    /// # Errors
    ///
    /// Whatever the resolver says; the guest sees a DNS error.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;

    /// A connection to exactly this address.
    ///
    /// # Errors
    ///
    /// Whatever the system says; the guest sees a refused connection.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;

    /// The authorities whose certificates are trusted.
    fn roots(&self) -> RootCertStore {
        RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        }
    }
}

/// The host's own resolver and sockets.
pub(super) struct System;

#[async_trait]
impl Network for System {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        // The port plays no part in resolving.
        Ok(lookup_host((host, 0))
            .await?
            .map(|found| found.ip())
            .collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }
}
