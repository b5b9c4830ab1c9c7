//! Bindings made narrower: I4, I6, I10, R-493. That scopes are a lattice is proved by
//! properties beside the scopes themselves; here, that a narrower binding is held to it.

use bindery::policy::ScopeRequest;
use bindery::{Access, Bound, DirectoryGrant, ErrorType, Outcome, Refusal, Reply, Resources};
use bindery_artefacts::rust_guest;
use cap_std::fs::Dir;
use serde_json::{Value, json};

use crate::governed_scene::{Stand, call, refusal, spec};

const READ: &str = "acme:file-tools/files#read-file";
const DOCUMENT: &str = r#"
[grants.source]
kind = "directory"
host = "source"
guest = "/src"
[[policy.rule]]
decision = "allow"
why = "the scenario reads its own folder"
namespaces = ["acme"]
grants = ["source"]
"#;

struct Scene {
    stand: Stand,
    wide: Bound,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("in/side")).unwrap();
        for name in ["a.txt", "in/b.txt", "in/side/c.txt"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let dir = Dir::from_std_file(std::fs::File::open(folder.path()).unwrap());
        let grant = DirectoryGrant::new(dir, "/src", Access::ReadWrite).unwrap();
        let resources = Resources::default().directory("source".parse().unwrap(), grant);
        let mut stand = Stand::new(DOCUMENT, resources, |builder| builder).await;
        let bytes = std::fs::read(rust_guest("file-tools").unwrap()).unwrap();
        stand.admit("file-tools.wasm", bytes).await;
        let wide = stand.bind(READ, None).await.unwrap();
        Self {
            stand,
            wide,
            _folder: folder,
        }
    }

    async fn narrow(&self, of: &Bound, request: Value) -> Result<Bound, Refusal> {
        let request: ScopeRequest = serde_json::from_value(request).unwrap();
        let handle = of.handle.to_string();
        self.stand.session.narrow(&handle, &request).await
    }

    async fn read(&self, through: &Bound, path: &str) -> Reply {
        call(&self.stand.session, through, &json!({ "path": path })).await
    }
}

fn folder(path: &str) -> Value {
    json!({ "grants": { "source": { "path": path } } })
}

fn reads(reply: &Reply) -> bool {
    matches!(reply.run.outcome, Outcome::Value(_))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_narrower_binding_reaches_what_is_left_and_the_wide_one_stays_as_it_was() {
    let scene = Scene::new().await;
    let inner = scene.narrow(&scene.wide, folder("in")).await.unwrap();
    let within = [
        (&scene.wide, "/src/a.txt", true),
        (&scene.wide, "/src/in/b.txt", true),
        (&inner, "/src/a.txt", false),
    ];
    for (binding, path, passes) in within {
        assert_eq!(
            reads(&scene.read(binding, path).await),
            passes,
            "I4: {path}"
        );
    }
    let left = scene.read(&inner, "/src/b.txt").await;
    let under = scene.read(&inner, "/src/in/b.txt").await;
    assert!(reads(&left) || reads(&under), "{left:?} {under:?}");
    assert_ne!(inner.handle, scene.wide.handle);
    assert!(inner.expires_at <= scene.wide.expires_at, "I10");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_widened_by_narrowing_however_often_it_is_tried() {
    let scene = Scene::new().await;
    let inner = scene.narrow(&scene.wide, folder("in")).await.unwrap();
    let refused = [
        (folder("other"), "beside it"),
        (json!({ "grants": { "elsewhere": {} } }), "no such grant"),
        (
            json!({ "grants": { "source": { "methods": ["GET"] } } }),
            "another kind",
        ),
    ];
    for (request, why) in refused {
        let refusal = scene.narrow(&inner, request).await.unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::BindingDenied, "R-493: {why}");
    }
    assert_eq!(scene.stand.count("bind_refused"), 3);
    // Asking for the whole folder, or for writing, gives what there is.
    let same = scene.narrow(&inner, folder("")).await.unwrap();
    assert!(!reads(&scene.read(&same, "/src/a.txt").await), "I4");
    let writing = json!({ "grants": { "source": { "access": "read_write" } } });
    let writing = scene.narrow(&inner, writing).await.unwrap();
    assert_eq!(writing.scope["slices"], inner.scope["slices"], "I4");
    let none = scene.narrow(&inner, json!({ "grants": {} })).await.unwrap();
    assert!(!reads(&scene.read(&none, "/src/in/b.txt").await));
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_and_time_only_shrink() {
    let scene = Scene::new().await;
    let little = json!({ "budget": { "fuel": "1000" }, "ttl_ms": 60_000 });
    let little = scene.narrow(&scene.wide, little).await.unwrap();
    let reply = scene.read(&little, "/src/a.txt").await;
    assert_eq!(refusal(&reply).kind(), ErrorType::BudgetExhausted);
    assert!(little.expires_at < scene.wide.expires_at, "I10");
    let more = json!({ "budget": { "fuel": "5e9" }, "ttl_ms": 600_000_000_u64 });
    let more = scene.narrow(&little, more).await.unwrap();
    assert_eq!(more.limits["fuel"], 1_000, "I4");
    assert!(more.expires_at <= little.expires_at, "I10");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_narrowed_ends_with_what_it_came_from_and_not_the_other_way() {
    let scene = Scene::new().await;
    let inner = scene.narrow(&scene.wide, json!({})).await.unwrap();
    let second = scene.narrow(&scene.wide, json!({})).await.unwrap();
    let session = &scene.stand.session;
    session
        .release(&inner.handle.to_string(), "done")
        .await
        .unwrap();
    assert!(reads(&scene.read(&scene.wide, "/src/a.txt").await));
    session
        .release(&scene.wide.handle.to_string(), "done")
        .await
        .unwrap();
    let after = scene.read(&second, "/src/a.txt").await;
    assert_eq!(refusal(&after).kind(), ErrorType::BindingStale, "I6");
    let dead = scene.narrow(&scene.wide, json!({})).await.unwrap_err();
    assert_eq!(dead.kind(), ErrorType::BindingStale);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_of_another_session_cannot_be_narrowed() {
    let scene = Scene::new().await;
    let other = scene.stand.host.session(spec(2, "tester")).await.unwrap();
    let handle = scene.wide.handle.to_string();
    let foreign = other.narrow(&handle, &ScopeRequest::default()).await;
    assert_eq!(
        foreign.unwrap_err().kind(),
        ErrorType::HandleInvalid,
        "C-48"
    );
}
