//! What the tests of endpoint grants stand on: scripted servers on loopback, a network
//! that says where names lead, and the driver guest.
//!
//! Rule: a server counts what it sees by itself, so that what the receipt says can be held
//! against it (I37); a script that waits ends when its peer closes (B1).

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bindery_grants::endpoint::Network;
use bindery_grants::{EndpointGrant, Grants};
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox, SandboxConfig};
use bindery_types::{Budget, LimitName, Outcome, Run};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OnceCell;

/// A server on loopback: each connection is read to the end of its head, then scripted.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Seen>,
}

/// What a server saw.
#[derive(Default)]
struct Seen {
    heads: Mutex<Vec<String>>,
    open: AtomicUsize,
}

impl Server {
    /// Starts one; `script` gets the connection and the head it sent.
    pub(crate) async fn start<F, Fut>(script: F) -> Self
    where
        F: Fn(TcpStream, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = io::Result<()>> + Send,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let (script, noted) = (Arc::new(script), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (script, seen) = (Arc::clone(&script), Arc::clone(&noted));
                seen.open.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    if let Ok(head) = read_head(&mut stream).await {
                        seen.heads.lock().unwrap().push(head.clone());
                        // A peer that goes away in the middle is what some tests want.
                        let _ = script(stream, head).await;
                    }
                    seen.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, seen }
    }

    /// Starts one that answers every request with these bytes and closes.
    pub(crate) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::start(move |mut stream, _| {
            let answer = Arc::clone(&answer);
            async move {
                stream.write_all(&answer).await?;
                stream.shutdown().await?;
                until_closed(&mut stream).await
            }
        })
        .await
    }

    /// The heads of the requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.seen.heads.lock().unwrap().clone()
    }

    /// Waits until no connection is open: the client must have closed them (B1).
    pub(crate) async fn all_closed(&self) {
        for _ in 0..500 {
            if self.seen.open.load(Ordering::SeqCst) == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("a connection was left open");
    }

    /// Where it is, as an authority.
    pub(crate) fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

async fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Reads and forgets until the peer closes; for servers that have nothing more to say.
pub(crate) async fn until_closed(stream: &mut TcpStream) -> io::Result<()> {
    let mut sink = vec![0; 64 << 10];
    while stream.read(&mut sink).await? > 0 {}
    Ok(())
}

/// A head and a body with its length.
pub(crate) fn ok(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// Names that lead where a test says, in turn; every public address is really one server.
#[derive(Default)]
pub(crate) struct FakeNetwork {
    answers: Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>,
    /// The loopback port behind all addresses; 0 refuses.
    port: u16,
    asked: Mutex<Vec<String>>,
    connected: Mutex<Vec<SocketAddr>>,
    trusted: Option<Vec<u8>>,
}

impl FakeNetwork {
    /// All addresses lead to `port`; each name has its answers, the last one repeated, and
    /// `*` those of every other name.
    pub(crate) fn new(port: u16, names: &[(&str, &[&str])]) -> Arc<Self> {
        Arc::new(Self::with(port, names, None))
    }

    /// The same, trusting one certificate and no other.
    pub(crate) fn trusting(port: u16, names: &[(&str, &[&str])], certificate: &[u8]) -> Arc<Self> {
        Arc::new(Self::with(port, names, Some(certificate.to_vec())))
    }

    fn with(port: u16, names: &[(&str, &[&str])], trusted: Option<Vec<u8>>) -> Self {
        let addresses = |text: &&str| -> Vec<IpAddr> {
            text.split(',').map(|one| one.parse().unwrap()).collect()
        };
        let answers = names
            .iter()
            .map(|(name, turns)| ((*name).to_owned(), turns.iter().map(addresses).collect()));
        Self {
            answers: Mutex::new(answers.collect()),
            port,
            trusted,
            ..Self::default()
        }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn connected(&self) -> Vec<SocketAddr> {
        self.connected.lock().unwrap().clone()
    }
}

#[async_trait]
impl Network for FakeNetwork {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let known = if answers.contains_key(host) {
            host
        } else {
            "*"
        };
        let turns = answers.get_mut(known).ok_or(io::ErrorKind::NotFound)?;
        Ok(match turns.len() {
            0 => Vec::new(),
            1 => turns[0].clone(),
            _ => turns.remove(0),
        })
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.connected.lock().unwrap().push(address);
        match self.port {
            0 => Err(io::ErrorKind::ConnectionRefused.into()),
            port => TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await,
        }
    }

    fn roots(&self) -> rustls::RootCertStore {
        let mut roots = rustls::RootCertStore::empty();
        if let Some(certificate) = &self.trusted {
            roots.add(certificate.clone().into()).unwrap();
        }
        roots
    }
}

/// Endpoint grants and nothing else.
pub(crate) fn grants(endpoints: &[&str]) -> Grants {
    Grants {
        endpoints: endpoints
            .iter()
            .map(|text| EndpointGrant::parse(text).unwrap())
            .collect(),
        ..Grants::default()
    }
}

/// The same, through `network`.
pub(crate) fn grants_through(network: &Arc<FakeNetwork>, endpoints: &[&str]) -> Grants {
    let mut grants = grants(endpoints);
    let through =
        |grant: EndpointGrant| grant.with_network(Arc::clone(network) as Arc<dyn Network>);
    grants.endpoints = grants.endpoints.into_iter().map(through).collect();
    grants
}

/// A budget for bodies of a few MiB, with these limits on top.
pub(crate) fn budget(limits: &[(LimitName, u64)]) -> Budget {
    let mut budget = Budget::default()
        .with(LimitName::Output, 16 << 20)
        .and_then(|budget| budget.with(LimitName::Deadline, 20_000))
        .unwrap();
    for (name, value) in limits {
        budget = budget.with(*name, *value).unwrap();
    }
    budget
}

/// A plain GET of `http://authority/path`.
pub(crate) fn get(authority: &str, path: &str) -> Value {
    order("GET", "http", authority, path)
}

/// One request for the driver, without fields, body or times.
pub(crate) fn order(method: &str, scheme: &str, authority: &str, path: &str) -> Value {
    json!({ "method": method, "scheme": scheme, "authority": authority, "path": path,
            "fields": [], "finish": true })
}

/// `order` with one more field.
pub(crate) fn with_field(mut order: Value, name: &str, value: &[u8]) -> Value {
    order["fields"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "name": name, "value": encode(value) }));
    order
}

/// `order` with a body in these parts.
pub(crate) fn with_body(mut order: Value, parts: &[&[u8]]) -> Value {
    order["body"] = parts.iter().map(|part| Value::from(encode(part))).collect();
    order
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

pub(crate) fn decode(value: &Value) -> Vec<u8> {
    base64_simd::STANDARD
        .decode_to_vec(value.as_str().unwrap())
        .unwrap()
}

async fn loaded(guest: &'static str) -> &'static (Sandbox, LoadedComponent) {
    static DRIVER: OnceCell<(Sandbox, LoadedComponent)> = OnceCell::const_new();
    static HTTP_JSON: OnceCell<(Sandbox, LoadedComponent)> = OnceCell::const_new();
    let cell = match guest {
        "http-driver" => &DRIVER,
        _ => &HTTP_JSON,
    };
    let load = || async move {
        let bytes = std::fs::read(bindery_artefacts::rust_guest(guest).unwrap()).unwrap();
        let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
        let component = sandbox.load(bytes).await.unwrap();
        (sandbox, component)
    };
    cell.get_or_init(load).await
}

/// Calls a function of a guest.
pub(crate) async fn call(
    guest: &'static str,
    function: &str,
    arguments: &Value,
    grants: Grants,
    budget: &Budget,
    cancel: &Cancel,
) -> Run {
    let (sandbox, component) = loaded(guest).await;
    let arguments = arguments.to_string();
    sandbox
        .run(component, function, &arguments, grants, budget, cancel)
        .await
}

/// Sends one request through the driver.
pub(crate) async fn send(order: &Value, grants: Grants, budget: &Budget) -> Run {
    let arguments = json!({ "order": order });
    call(
        "http-driver",
        "#send",
        &arguments,
        grants,
        budget,
        &Cancel::new(),
    )
    .await
}

/// The answer of a request that must have one.
pub(crate) fn answer(run: &Run) -> Value {
    match &run.outcome {
        Outcome::Value(json) => serde_json::from_str(json).unwrap(),
        other => panic!("no answer: {other:?}"),
    }
}

/// The error of a request that must have none.
pub(crate) fn error(run: &Run) -> String {
    match &run.outcome {
        Outcome::CapabilityError(json) => serde_json::from_str::<Value>(json)
            .map(|value| value.as_str().map_or(value.to_string(), str::to_owned))
            .unwrap(),
        other => panic!("no error: {other:?}"),
    }
}

/// The resources of the effects.
pub(crate) fn effects(run: &Run) -> Vec<String> {
    let effects = &run.receipt.as_ref().unwrap().effects;
    effects
        .iter()
        .map(|effect| effect.resource.clone())
        .collect()
}

/// The names of the limits that the receipt says were met.
pub(crate) fn hits(run: &Run) -> &[&'static str] {
    &run.receipt.as_ref().unwrap().limits_hit
}
