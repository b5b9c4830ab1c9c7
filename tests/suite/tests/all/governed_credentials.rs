//! Credentials and stores through the governed way: C9, G6, H50, R-582 … R-596. A canary is
//! searched, in every form, in all that a call leaves and in all that is recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bindery::{
    Change, Credential, ErrorType, KeyValueStore, MemoryStore, Resources, Room, Secret,
    SecretProvider, SecretUnavailable,
};
use bindery_artefacts::rust_guest;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::governed_scene::{Stand, bind, call, refusal, spec, value};
use crate::http_secrets::{CANARY, assert_unseen, forms};
use crate::http_servers::{Server, decode, ok};

const GET_JSON: &str = "acme:http-json/http#get-json";
const ACT: &str = "acme:store-driver/driver#act";

/// A provider whose value can be taken away.
struct Withdrawable(Arc<AtomicBool>);

#[async_trait]
impl SecretProvider for Withdrawable {
    async fn secret(&self) -> Result<Secret, SecretUnavailable> {
        match self.0.load(Ordering::SeqCst) {
            true => Ok(Secret::new(CANARY.to_owned()).unwrap()),
            false => Err(SecretUnavailable::Absent("it was withdrawn".to_owned())),
        }
    }
}

struct Scene {
    stand: Stand,
    there: Arc<AtomicBool>,
}

impl Scene {
    /// A host whose document is `document`, with the credential `token` and the adapter.
    async fn new(document: &str) -> Self {
        let there = Arc::new(AtomicBool::new(true));
        let provider = Arc::new(Withdrawable(Arc::clone(&there)));
        let token = Credential::new("token".parse().unwrap(), provider);
        let resources = Resources::default().credential(token);
        let mut stand = Stand::new(document, resources, |builder| builder).await;
        let bytes = std::fs::read(rust_guest("http-json").unwrap()).unwrap();
        stand.admit("http-json.wasm", bytes).await;
        Self { stand, there }
    }

    fn assert_canary_unseen(&self, reply: &bindery::Reply) {
        assert_unseen(&format!("{reply:?}"));
        let records = serde_json::to_string(&self.stand.records()).unwrap();
        assert_unseen(&records);
    }
}

/// Answers with what it was told, in every form, as JSON.
async fn echo() -> Server {
    Server::start(|mut stream, head| async move {
        let told = authorization(&head);
        let token = told.strip_prefix("Bearer ").unwrap_or(&told);
        // A mask of base64 covers the characters beside it, so there are some to spare.
        let forms = format!(" {} . ", forms(token).join(" | "));
        let body = json!({ "told": told, "forms": forms }).to_string();
        stream.write_all(ok(&body).as_bytes()).await
    })
    .await
}

fn authorization(head: &str) -> String {
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("authorization: "));
    line.unwrap_or("none").to_owned()
}

fn endpoint(name: &str, server: &Server, more: &str) -> String {
    let authority = server.authority();
    format!("[grants.{name}]\nkind = \"endpoint\"\nurl = \"http://{authority}/\"\n{more}\n")
}

fn rule(grants: &str) -> String {
    format!(
        "[[policy.rule]]\ndecision = \"allow\"\nwhy = \"the scenario\"\nnamespaces = [\"acme\"]\ngrants = [{grants}]\n"
    )
}

const TOKEN: &str = "[credentials.token]\nenv = \"UNUSED\"\n";

fn url(server: &Server) -> Value {
    json!({ "url": format!("http://{}/data", server.authority()) })
}

/// I25, R-891, R-893.
#[tokio::test(flavor = "multi_thread")]
async fn a_scope_with_a_credential_sends_it_and_nothing_that_is_left_says_it() {
    let server = echo().await;
    let grant = endpoint("api", &server, "credential = \"token\"");
    let scene = Scene::new(&format!("{TOKEN}{grant}{}", rule("\"api\""))).await;
    let bound = scene.stand.bind(GET_JSON, None).await.unwrap();
    let reply = call(&scene.stand.session, &bound, &url(&server)).await;
    assert_eq!(value(&reply)["status"], 200);
    assert_eq!(
        authorization(&server.heads()[0]),
        format!("Bearer {CANARY}"),
        "H50: the server got it"
    );
    scene.assert_canary_unseen(&reply);
    let opened = scene.stand.records();
    let opened = serde_json::to_string(&opened).unwrap();
    assert!(opened.contains("provider_secret"), "R-595");
}

/// I25, R-890.
#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_carry_the_credential_are_masked_in_every_record() {
    let server = echo().await;
    let grant = endpoint("api", &server, "credential = \"token\"");
    let asks = rule("\"api\"").replace("\"allow\"", "\"ask\"");
    for (rule, kind) in [(rule("\"api\""), "call_intent"), (asks, "proposal_made")] {
        let scene = Scene::new(&format!("{TOKEN}{grant}{rule}")).await;
        let bound = scene.stand.bind(GET_JSON, None).await.unwrap();
        for form in forms(CANARY) {
            let header = json!([{ "name": "x-note", "value": format!("it is {form}.") }]);
            let mut arguments = url(&server);
            arguments["headers"] = header;
            let reply = call(&scene.stand.session, &bound, &arguments).await;
            scene.assert_canary_unseen(&reply);
        }
        assert!(scene.stand.count(kind) > 0, "G6, R-586, {kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_grant_adds_its_credential_to_its_own_endpoint_and_to_no_other() {
    let (own, other) = (echo().await, echo().await);
    let secret = "[grants.login]\nkind = \"secret\"\ncredential = \"token\"\nendpoint = \"api\"\n";
    let document = format!(
        "{TOKEN}{}{}{secret}{}",
        endpoint("api", &own, ""),
        endpoint("elsewhere", &other, ""),
        rule("\"api\", \"elsewhere\", \"login\"")
    );
    let scene = Scene::new(&document).await;
    let all = json!({ "grants": { "api": {}, "elsewhere": {}, "login": {} } });
    let bound = scene.stand.bind(GET_JSON, Some(all)).await.unwrap();
    for server in [&own, &other] {
        let reply = call(&scene.stand.session, &bound, &url(server)).await;
        assert_eq!(value(&reply)["status"], 200);
        scene.assert_canary_unseen(&reply);
    }
    assert_eq!(authorization(&own.heads()[0]), format!("Bearer {CANARY}"));
    assert_eq!(authorization(&other.heads()[0]), "none", "R-581, X35");

    // Its deny twins: the endpoint alone sends none, the secret alone is no endpoint.
    let plain = json!({ "grants": { "api": {} } });
    let bound = scene.stand.bind(GET_JSON, Some(plain)).await.unwrap();
    value(&call(&scene.stand.session, &bound, &url(&own)).await);
    assert_eq!(authorization(&own.heads()[1]), "none");
    let lone = json!({ "grants": { "elsewhere": {}, "login": {} } });
    let bound = scene.stand.bind(GET_JSON, Some(lone)).await.unwrap();
    let reply = call(&scene.stand.session, &bound, &url(&other)).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::CapabilityUnavailable);
    assert_eq!(other.heads().len(), 1, "nothing was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_the_credential_is_not_for_is_told_that_it_is_missing() {
    let server = echo().await;
    let credential = "[credentials.token]\nenv = \"UNUSED\"\nagents = [\"tester\"]\n";
    let grant = endpoint("api", &server, "credential = \"token\"");
    let scene = Scene::new(&format!("{credential}{grant}{}", rule("\"api\""))).await;
    assert!(scene.stand.bind(GET_JSON, None).await.is_ok());
    let other = scene.stand.host.session(spec(2, "other")).await.unwrap();
    let refusal = bind(&scene.stand.host, &other, GET_JSON, None).await;
    let refusal = refusal.unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::CredentialMissing, "R-582, R-592");
}

///
#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_the_host_does_not_hold_is_missing_at_the_binding() {
    let server = echo().await;
    let grant = endpoint("api", &server, "credential = \"elsewhere\"");
    let credential = "[credentials.elsewhere]\nenv = \"UNUSED\"\n";
    let scene = Scene::new(&format!("{credential}{grant}{}", rule("\"api\""))).await;
    let refusal = scene.stand.bind(GET_JSON, None).await.unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::CredentialMissing, "R-592");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_was_withdrawn_is_missing_at_the_next_call() {
    let server = echo().await;
    let grant = endpoint("api", &server, "credential = \"token\"");
    let scene = Scene::new(&format!("{TOKEN}{grant}{}", rule("\"api\""))).await;
    let bound = scene.stand.bind(GET_JSON, None).await.unwrap();
    value(&call(&scene.stand.session, &bound, &url(&server)).await);
    scene.there.store(false, Ordering::SeqCst);
    let reply = call(&scene.stand.session, &bound, &url(&server)).await;
    assert_eq!(
        refusal(&reply).kind(),
        ErrorType::CredentialMissing,
        "R-596"
    );
    assert_eq!(server.heads().len(), 1, "R-593: nothing was sent");
}

fn notes() -> Arc<MemoryStore> {
    let notes = Arc::new(MemoryStore::default());
    let room = Room {
        entries_max: 10,
        bytes_max: 1_000,
    };
    let set = |key: &str| Change::Set(key.to_owned(), key.as_bytes().to_vec());
    notes.apply(&[set("a"), set("b")], room).unwrap();
    notes
}

async fn store_scene(grants: &str) -> Stand {
    let document = format!(
        "[grants.notes]\nkind = \"store\"\nstore = \"main\"\n{}",
        rule(grants)
    );
    let resources = Resources::default().store("main", notes());
    let mut stand = Stand::new(&document, resources, |builder| builder).await;
    let bytes = std::fs::read(rust_guest("store-driver").unwrap()).unwrap();
    stand.admit("store-driver.wasm", bytes).await;
    stand
}

fn steps(store: &str, steps: Value) -> Value {
    json!({ "store": store, "steps": steps })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_scope_is_opened_by_the_name_of_its_grant_and_no_other_is() {
    let stand = store_scene("\"notes\"").await;
    let reply = stand
        .call(ACT, &steps("notes", json!([{ "get": "a" }])))
        .await;
    let got = &value(&reply)[0]["value"];
    assert_eq!(decode(got), b"a", "{got}");
    for store in ["main", "other"] {
        let reply = stand
            .call(ACT, &steps(store, json!([{ "get": "a" }])))
            .await;
        assert!(format!("{:?}", reply.run.outcome).contains("no-such-store"));
    }
    let write = json!([{ "delete": "a" }]);
    let reply = stand.call(ACT, &steps("notes", write)).await;
    assert!(value(&reply).to_string().contains("access-denied"), "R-493");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capability_that_needs_a_store_is_not_bound_without_one_in_scope() {
    let stand = store_scene("").await;
    let refusal = stand.bind(ACT, None).await.unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::BindingDenied, "C-46");
    assert_eq!(stand.count("binding_opened"), 0, "I42");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_narrowed_to_keys_neither_reads_nor_lists_another() {
    let stand = store_scene("\"notes\"").await;
    let one = json!({ "grants": { "notes": { "keys": ["a", "z"] } } });
    let bound = stand.bind(ACT, Some(one)).await.unwrap();
    let order = steps(
        "notes",
        json!([{ "get": "a" }, { "list-keys": null }, { "get": "b" }]),
    );
    let answer = value(&call(&stand.session, &bound, &order).await);
    assert_eq!(answer[1]["keys"][0], json!(["a"]), "R-493: {answer}");
    assert!(answer[2].to_string().contains("access-denied"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_the_host_has_not_opened_is_unavailable_when_it_is_called() {
    let document = format!(
        "[grants.notes]\nkind = \"store\"\nstore = \"none\"\n{}",
        rule("\"notes\"")
    );
    let resources = Resources::default().store("main", notes());
    let mut stand = Stand::new(&document, resources, |builder| builder).await;
    let bytes = std::fs::read(rust_guest("store-driver").unwrap()).unwrap();
    stand.admit("store-driver.wasm", bytes).await;
    let reply = stand.call(ACT, &steps("notes", json!([]))).await;
    let refusal = refusal(&reply);
    assert_eq!(refusal.kind(), ErrorType::CapabilityUnavailable);
    assert!(refusal.operator().unwrap().contains("no store `none`"));
}
