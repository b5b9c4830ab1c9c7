//! The governed way as commands: a place of its own for each test, a real host where one is
//! needed, real components.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use bindery_artefacts::rust_guest;
use serde_json::Value;

use crate::cases::path_of;
use crate::process::{Printed, command, finish};

/// A configuration, a folder of data, and a host if one was started.
pub(crate) struct Site {
    folder: tempfile::TempDir,
    pub(crate) host: Option<Child>,
}

const FRAME: &str = r#"
[mode]
default = "full_access"
ceiling = "full_access"
[stages]
preset = "late_bound"
[agents.cli]
implementation_status = "active"
[principals."token:model"]
rights = "model"
tenant = "local"
[grants.source]
kind = "directory"
host = "source"
guest = "/src"
access = "read_only"
"#;

pub(crate) const ALLOW: &str = r#"
[[policy.rule]]
decision = "allow"
why = "the test reads its own folder"
namespaces = ["acme"]
grants = ["source"]
"#;

impl Site {
    pub(crate) fn new(rules: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("source")).unwrap();
        std::fs::write(folder.path().join("source/a.txt"), "one\ntwo\n").unwrap();
        let site = Self { folder, host: None };
        site.configure(rules);
        site
    }

    pub(crate) fn configure(&self, rules: &str) {
        let text = format!("{FRAME}{rules}");
        std::fs::write(self.path("bindery.toml"), text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, words: &[&str]) -> std::process::Command {
        let mut command = command(words);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Printed {
        finish(&mut self.command(words))
    }

    /// The JSON of a command that has to succeed.
    pub(crate) fn ok(&self, words: &[&str]) -> Value {
        let printed = self.json(words);
        assert_eq!(printed.0, 0, "{words:?}: {}", printed.1);
        printed.1
    }

    /// The exit code and the JSON of a command.
    pub(crate) fn json(&self, words: &[&str]) -> (i32, Value) {
        let mut words = words.to_vec();
        words.extend(["-o", "json"]);
        let printed = self.run(&words);
        (printed.code, printed.json())
    }

    pub(crate) fn admit(&self, component: &str) -> Value {
        let approval = "no_approval";
        self.ok(&[
            "admit",
            component,
            "--namespace",
            "acme",
            "--approval",
            approval,
        ])
    }

    /// Starts a host in the foreground of a child and waits until it answers.
    pub(crate) fn start(&mut self) {
        let child = self
            .command(&["host", "start", "--foreground"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.host = Some(child);
        let begun = Instant::now();
        while self.run(&["host", "status"]).code != 0 {
            assert!(begun.elapsed() < Duration::from_secs(120), "no host");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the host as a crash does.
    pub(crate) fn kill(&mut self) {
        let mut host = self.host.take().unwrap();
        host.kill().unwrap();
        host.wait().unwrap();
    }

    pub(crate) fn bind(&self, id: &str, more: &[&str]) -> String {
        let mut words = vec!["bind", id];
        words.extend(more);
        self.ok(&words)["handle"].as_str().unwrap().to_owned()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(mut host) = self.host.take() {
            drop(host.kill());
            drop(host.wait());
        }
    }
}

pub(crate) fn file_tools() -> String {
    path_of(&rust_guest("file-tools").unwrap())
}

pub(crate) const READ: &str = "acme:file-tools/files#read-file";
