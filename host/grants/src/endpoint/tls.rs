//! TLS to an endpoint: rustls with the ring provider and the web's own authorities.
//!
//! Rule: no session outlives its request, so nothing is left for the next one. The
//! certificate must be for the host that was granted, not for the address it resolved to.

use std::sync::{Arc, LazyLock};

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::{Connect, TlsConnector};
use wasmtime_wasi_http::Error;

use super::host::Host;
use super::network::Network;
use super::wire::Wire;

/// Begins the handshake with `host` over `wire`.
pub(super) fn handshake(
    host: &Host,
    network: &dyn Network,
    wire: Wire,
) -> Result<Connect<Wire>, Error> {
    let name = match host {
        Host::Address(address) => ServerName::from(*address),
        Host::Name(_) | Host::Localhost => {
            ServerName::try_from(host.to_string()).map_err(|_| Error::HttpRequestUriInvalid)?
        }
    };
    let config = config(network.roots())?;
    Ok(TlsConnector::from(config).connect(name, wire))
}

fn config(roots: RootCertStore) -> Result<Arc<ClientConfig>, Error> {
    static PROVIDER: LazyLock<Arc<rustls::crypto::CryptoProvider>> =
        LazyLock::new(|| Arc::new(rustls::crypto::ring::default_provider()));
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&PROVIDER))
        .with_safe_default_protocol_versions()
        .map_err(|_| Error::ConfigurationError)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
