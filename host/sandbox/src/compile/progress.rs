//! Progress of a compile that takes long enough to be noticed (U2).

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery_types::Digest;

use super::bytes::ComponentBytes;

/// A compile is silent for this long.
const SILENT: Duration = Duration::from_millis(300);
/// And then reports this often.
const EVERY: Duration = Duration::from_secs(1);

/// Where a compile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompilePhase {
    /// At work, or waiting for a slot.
    Compiling,
    /// There is code.
    Compiled,
    /// There is none; the load's error says why.
    Failed,
}

/// One report. Whoever loads knows the component's name by its digest.
#[derive(Clone, Copy, Debug)]
pub struct CompileProgress {
    /// Where it is.
    pub phase: CompilePhase,
    /// Which component.
    pub digest: Digest,
    /// Size of the component in bytes.
    pub bytes: u64,
    /// Time since the compile was asked for.
    pub elapsed: Duration,
}

/// Who is told; called on the runtime's threads, so it must not block.
pub type ProgressSink = Arc<dyn Fn(CompileProgress) + Send + Sync>;

/// Drives `compile`, telling `sink` about it once it takes longer than 300 ms.
pub(super) async fn watched<T, E>(
    sink: Option<&ProgressSink>,
    component: &ComponentBytes,
    compile: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let Some(sink) = sink else {
        return compile.await;
    };
    let started = Instant::now();
    let tell = |phase| {
        sink(CompileProgress {
            phase,
            digest: component.digest(),
            bytes: component.len_bytes(),
            elapsed: started.elapsed(),
        });
    };
    let mut compile = std::pin::pin!(compile);
    let mut wait = SILENT;
    loop {
        match tokio::time::timeout(wait, &mut compile).await {
            Err(_) => tell(CompilePhase::Compiling),
            Ok(result) => {
                if wait != SILENT {
                    tell(match result {
                        Ok(_) => CompilePhase::Compiled,
                        Err(_) => CompilePhase::Failed,
                    });
                }
                return result;
            }
        }
        wait = EVERY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    use CompilePhase::{Compiled, Compiling, Failed};

    /// The phases told of a compile that ends with `result` after `reports` reports.
    async fn told(reports: usize, result: Result<(), ()>) -> Vec<CompilePhase> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let record = seen.clone();
        let sink: ProgressSink = Arc::new(move |progress: CompileProgress| {
            record.lock().unwrap().push(progress.phase);
        });
        let compile = async {
            while seen.lock().unwrap().len() < reports {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            result
        };
        let component = ComponentBytes::new(vec![1, 2, 3]);
        assert_eq!(watched(Some(&sink), &component, compile).await, result);
        seen.lock().unwrap().clone()
    }

    #[tokio::test]
    async fn u2_a_long_compile_reports_and_how_it_ended_and_a_short_one_is_silent() {
        assert_eq!(told(0, Ok(())).await, []);
        assert_eq!(told(0, Err(())).await, []);
        assert_eq!(told(2, Ok(())).await, [Compiling, Compiling, Compiled]);
        assert_eq!(told(1, Err(())).await, [Compiling, Failed]);
    }
}
