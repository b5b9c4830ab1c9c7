//! What tracing shows of a load and a run: ids and figures, at every level.
//!
//! Guards R-024: a test subscriber sees the spans and never an argument, an output or
//! text of the guest.

use std::io::Write;
use std::sync::{Arc, Mutex};

use bindery_types::{Budget, LimitName};
use tracing_subscriber::fmt::format::FmtSpan;

use crate::rig::{budget, call, hostile, refusal, sandbox, value};

/// Where the subscriber writes.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// R-001, R-024: what runs is a component, named by its digest.
#[tokio::test]
async fn spans_of_inspect_compile_and_run_hold_ids_and_figures_only() {
    let page = Page::default();
    let writer = page.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let sandbox = sandbox();
    let output = hostile(&sandbox, "output/text").await;
    let run = call(
        &sandbox,
        &output,
        "text",
        r#"{"bytes": 64}"#,
        &Budget::default(),
    )
    .await;
    value(&run);
    let realloc = hostile(&sandbox, "spin/realloc").await;
    let arguments = r#"{"text": "argument-canary"}"#;
    let tight = budget(&[(LimitName::Fuel, 1_000)]);
    refusal(&call(&sandbox, &realloc, "go", arguments, &tight).await);

    let seen = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    for span in ["inspect{", "compile{", "run{"] {
        assert!(seen.contains(span), "R-024: {span} in {seen}");
    }
    let digest = output.digest().to_string();
    assert!(
        seen.contains(&digest),
        "R-024: the component is named by its digest"
    );
    for figure in [
        "fuel=",
        "wall_us=",
        "host_calls=0",
        "exit_code=7",
        "outcome=\"value\"",
    ] {
        assert!(seen.contains(figure), "R-024: {figure} in {seen}");
    }
    for told in ["argument-canary", "aaaaaaaa", "\"bytes\""] {
        assert!(!seen.contains(told), "R-024: {told} in {seen}");
    }
}
