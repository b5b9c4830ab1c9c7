//! Waiting for a host: whoever waits long is told for what, and how it ends.
//!
//! Rule: told beside the answer and never in it; a person soon and often, a log
//! late and seldom.

use std::time::Duration;

use tokio::time::Instant;

use crate::screen;

/// When somebody is told first, and how often then.
struct Pace {
    first: Duration,
    then: Duration,
}

const PERSON: Pace = Pace {
    first: Duration::from_secs(1),
    then: Duration::from_secs(2),
};
const LOG: Pace = Pace {
    first: Duration::from_secs(5),
    then: Duration::from_secs(10),
};

/// Waits for the answer to `verb`, and says so when it takes long.
pub(super) async fn waited<T>(verb: &str, answer: impl Future<Output = T>) -> T {
    let pace = match screen::stderr_is_terminal() {
        true => PERSON,
        false => LOG,
    };
    told(&pace, verb, answer, screen::write_stderr).await
}

async fn told<T>(
    pace: &Pace,
    verb: &str,
    answer: impl Future<Output = T>,
    mut tell: impl FnMut(&str),
) -> T {
    let mut answer = std::pin::pin!(answer);
    let begun = Instant::now();
    let mut due = begun + pace.first;
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = tokio::time::sleep_until(due) => {
                let seconds = begun.elapsed().as_secs();
                tell(&format!("waiting for the host: {verb}, {seconds} s; Ctrl-C ends it\n"));
                due += pace.then;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(pace: &Pace, takes: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        let answer = async {
            tokio::time::sleep(takes).await;
            7
        };
        let answer = told(pace, "call", answer, |line| lines.push(line.to_owned())).await;
        assert_eq!(answer, 7);
        lines
    }

    const QUICK: Pace = Pace {
        first: Duration::from_millis(100),
        then: Duration::from_millis(200),
    };

    #[tokio::test]
    async fn who_waits_long_is_told_again_and_again_and_who_does_not_is_told_nothing() {
        assert!(lines(&QUICK, Duration::ZERO).await.is_empty());
        let told = lines(&QUICK, Duration::from_millis(450)).await;
        assert!((1..=2).contains(&told.len()), "{told:?}");
        assert_eq!(told[0], "waiting for the host: call, 0 s; Ctrl-C ends it\n");
    }
}
