//! TLS to endpoints: a certificate for another name, from nobody known or from nobody at
//! all ends the request; one that is trusted and fits does not.

use std::net::Ipv4Addr;
use std::sync::Arc;

use bindery_types::Budget;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::http_servers::{FakeNetwork, Server, answer, error, grants_through, ok, order, send};

const CERTIFICATE: &[u8] = include_bytes!("../../data/tls/certificate.der");
const KEY: &[u8] = include_bytes!("../../data/tls/key.der");
const NAMES: &[(&str, &[&str])] = &[
    ("allowed.test", &["93.184.215.14"]),
    ("other.test", &["93.184.215.14"]),
];

/// A server with a certificate for `allowed.test`, signed by itself.
async fn secured() -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CERTIFICATE.into()], KEY.to_vec().try_into().unwrap())
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await?;
                let mut head = [0; 1_024];
                let _ = stream.read(&mut head).await?;
                stream.write_all(ok("{}").as_bytes()).await?;
                stream.shutdown().await
            });
        }
    });
    port
}

async fn ask(network: &Arc<FakeNetwork>, host: &str) -> bindery_types::Run {
    let granted = grants_through(network, &["https://allowed.test", "https://other.test"]);
    send(
        &order("GET", "https", host, "/"),
        granted,
        &Budget::default(),
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trusted_certificate_for_the_granted_name_is_enough_and_nothing_less_is() {
    let port = secured().await;
    let trusting = FakeNetwork::trusting(port, NAMES, CERTIFICATE);
    let run = ask(&trusting, "allowed.test").await;
    assert_eq!(answer(&run)["status"], 200);
    assert!(
        run.receipt.unwrap().effects[0].bytes > 500,
        "the handshake is counted"
    );
    let misnamed = ask(&trusting, "other.test").await;
    assert!(
        error(&misnamed).contains("TlsCertificateError"),
        "{}",
        error(&misnamed)
    );
    let untrusting = FakeNetwork::new(port, NAMES);
    let unknown = ask(&untrusting, "allowed.test").await;
    assert!(
        error(&unknown).contains("TlsCertificateError"),
        "{}",
        error(&unknown)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tls_gets_no_request_over_https() {
    let plain = Server::answering("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let network = FakeNetwork::trusting(plain.port, NAMES, CERTIFICATE);
    let run = {
        let mut budget = Budget::default();
        budget
            .set(
                bindery_types::LimitName::HttpTime,
                bindery_types::Limit::Finite(500),
            )
            .unwrap();
        let granted = grants_through(&network, &["https://allowed.test"]);
        send(
            &order("GET", "https", "allowed.test", "/"),
            granted,
            &budget,
        )
        .await
    };
    let error = error(&run);
    assert!(
        ["Tls", "Timeout"].iter().any(|part| error.contains(part)),
        "{error}"
    );
    assert!(plain.heads().is_empty());
}
