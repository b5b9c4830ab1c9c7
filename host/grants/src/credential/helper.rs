//! A secret that a program of the host prints: a keyring, a vault's client.
//!
//! Rule (C5, H50): an absolute path and its arguments, no shell; an empty environment, the
//! root as its directory, nothing on its input; its output is read to a bound, its errors
//! are not; it and what it started end with the time they were given.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use bindery_screen::Secret;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::provider::{SecretProvider, SecretUnavailable};
use super::secret_file::BYTES_READ_MAX;

/// What a helper may take when nothing else is said.
const TIME_DEFAULT: Duration = Duration::from_secs(5);

/// What a program of the host prints.
#[derive(Clone, Debug)]
pub struct SecretHelper {
    program: PathBuf,
    arguments: Vec<OsString>,
    time: Duration,
}

/// Ends a helper and what it started, unless it has ended.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended on its own meanwhile.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl SecretHelper {
    /// The program at an absolute path, run at each call, for at most five seconds.
    ///
    /// # Errors
    ///
    /// [`SecretUnavailable::Unsafe`] when the path is not absolute: which program it means
    /// would depend on where the host was started.
    pub fn new(program: impl Into<PathBuf>) -> Result<Self, SecretUnavailable> {
        let program = program.into();
        match program.is_absolute() {
            true => Ok(Self {
                program,
                arguments: Vec::new(),
                time: TIME_DEFAULT,
            }),
            false => Err(SecretUnavailable::Unsafe(format!(
                "the helper {} is no absolute path",
                program.display()
            ))),
        }
    }

    /// With one more argument, as it is: no shell reads it.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// With another time.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    fn origin(&self) -> String {
        format!("the helper {}", self.program.display())
    }

    fn failed(&self, why: &str) -> SecretUnavailable {
        SecretUnavailable::Unsafe(format!("{} {why}", self.origin()))
    }

    async fn printed(&self) -> Result<Vec<u8>, SecretUnavailable> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .process_group(0)
            .spawn()
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    SecretUnavailable::Absent(format!("there is no program for {}", self.origin()))
                }
                _ => self.failed(&format!("cannot be started: {error}")),
            })?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let mut group = Group(id.and_then(Pid::from_raw));
        let mut bytes = Vec::with_capacity(BYTES_READ_MAX + 1);
        if let Some(output) = child.stdout.take() {
            let most = u64::try_from(BYTES_READ_MAX).unwrap_or(u64::MAX);
            let mut output = output.take(most);
            let read = output.read_to_end(&mut bytes).await;
            read.map_err(|error| self.failed(&format!("cannot be read: {error}")))?;
        }
        if bytes.len() == BYTES_READ_MAX {
            // More than any secret: it may go on for ever.
            return Ok(bytes);
        }
        let status = child.wait().await;
        group.0 = None;
        match status {
            Ok(status) if status.success() => Ok(bytes),
            Ok(status) => Err(self.failed(&format!("failed: {status}"))),
            Err(error) => Err(self.failed(&format!("was lost: {error}"))),
        }
    }
}

#[async_trait]
impl SecretProvider for SecretHelper {
    async fn secret(&self) -> Result<Secret, SecretUnavailable> {
        let bytes = timeout(self.time, self.printed()).await.map_err(|_| {
            self.failed(&format!("did not end within {} ms", self.time.as_millis()))
        })??;
        Secret::from_bytes(bytes).map_err(SecretUnavailable::unfit(self.origin()))
    }
}

#[cfg(test)]
mod tests {
    use bindery_screen::SecretFault;

    use super::*;

    fn shell(script: &str) -> SecretHelper {
        let shell = SecretHelper::new("/bin/sh").unwrap();
        shell.argument("-c").argument(script)
    }

    async fn failure(helper: SecretHelper) -> String {
        helper.secret().await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn what_a_helper_prints_is_the_secret_and_its_errors_are_not() {
        let secret = shell("echo noise >&2; echo CANARY-1")
            .secret()
            .await
            .unwrap();
        assert_eq!(secret.expose(), "CANARY-1");
    }

    #[tokio::test]
    async fn a_helper_sees_no_environment_no_input_and_no_folder_of_the_host() {
        assert!(
            std::env::vars_os().count() > 0,
            "there is something to leak"
        );
        let environment = SecretHelper::new("/usr/bin/env").unwrap();
        let told = environment.secret().await;
        assert_eq!(
            told.unwrap_err(),
            SecretUnavailable::Absent("the helper /usr/bin/env is empty".to_owned()),
            "C5"
        );
        let around = shell("pwd; cat; echo CANARY").secret().await;
        match around {
            // A line break inside: the folder is one line, what was said another.
            Err(SecretUnavailable::Unfit { fault, .. }) => {
                assert_eq!(fault, SecretFault::Character)
            }
            other => panic!("{other:?}"),
        }
        let folder = shell("test \"$(pwd)\" = / && echo CANARY-1").secret().await;
        assert_eq!(folder.unwrap().expose(), "CANARY-1", "C5");
    }

    #[tokio::test]
    async fn arguments_are_not_read_by_a_shell() {
        let echo = SecretHelper::new("/bin/echo").unwrap();
        let secret = echo.argument("$(id) ; CANARY-1").secret().await.unwrap();
        assert_eq!(secret.expose(), "$(id) ; CANARY-1");
        assert!(
            SecretHelper::new("sh").is_err(),
            "a name is no absolute path"
        );
    }

    #[tokio::test]
    async fn a_helper_that_fails_or_prints_nothing_gives_no_secret() {
        assert!(
            failure(shell("echo CANARY-1; exit 3"))
                .await
                .contains("failed"),
            "R-592"
        );
        assert!(failure(shell("exit 0")).await.contains("is empty"), "R-592");
        let none = SecretHelper::new("/no/such/program").unwrap();
        assert!(failure(none).await.contains("no program"), "R-592");
    }

    #[tokio::test]
    async fn a_helper_that_prints_for_ever_or_never_ends_is_ended() {
        let flood = failure(shell("while :; do echo CANARY-CANARY; done")).await;
        assert!(flood.contains("more than"), "{flood}");
        // What it started holds its output open and is ended with it.
        let slow = shell("sleep 1000 & sleep 1000").within(Duration::from_millis(200));
        assert!(failure(slow).await.contains("did not end within 200 ms"));
    }
}
