//! Words of the policy document.
//!
//! Rule (C-16): closed sets, underscores only.

use bindery_types::words;

words! {
    /// What a rule or a decision says (C-18).
    Verdict, "a decision" {
        /// The action may start.
        Allow = "allow",
        /// Somebody has to approve first.
        Ask = "ask",
        /// The action is blocked.
        Deny = "deny",
    }
}

words! {
    /// What a grant gives a component access to.
    GrantKind, "a kind of grant" {
        /// A folder of the host, seen at a path of the guest's.
        Directory = "directory",
        /// Requests below one URL.
        Endpoint = "endpoint",
        /// A durable key-value store.
        Store = "store",
        /// Values from the configuration.
        Config = "config",
        /// A credential that the host adds to requests of one endpoint grant.
        Secret = "secret",
        /// The real clock.
        Clock = "clock",
        /// Real randomness.
        Random = "random",
        /// The log of the host.
        Log = "log",
        /// Calls of another capability.
        Binding = "binding",
    }
}

words! {
    /// What may be done to what a directory or store grant names.
    Access, "an access" {
        /// Looked at.
        ReadOnly = "read_only",
        /// Changed as well.
        ReadWrite = "read_write",
    }
}

words! {
    /// Whether an agent's definition has an implementation behind it.
    ImplementationStatus, "an implementation status" {
        /// It runs.
        Active = "active",
        /// It is only described.
        Stub = "stub",
    }
}

words! {
    /// Whose many calls a limit counts together (X44).
    Subject, "a subject" {
        /// One session.
        Session = "session",
        /// One principal, over its sessions.
        Principal = "principal",
        /// Everybody.
        Environment = "environment",
    }
}

words! {
    /// What is counted over many calls.
    Counter, "a counter" {
        /// Searches.
        Searches = "searches",
        /// Probes.
        Probes = "probes",
        /// Bindings asked for.
        Binds = "binds",
        /// Calls.
        Calls = "calls",
        /// Proposals made.
        Proposals = "proposals",
        /// Fuel used, in fuel units.
        Fuel = "fuel",
        /// Wall time used, in milliseconds.
        Time = "time",
        /// Bytes sent and received.
        EgressBytes = "egress_bytes",
        /// Bytes written.
        WrittenBytes = "written_bytes",
    }
}

words! {
    /// What happens to a result in which a secret is found before a model sees it.
    Screening, "a screening" {
        /// The secret is masked.
        Redact = "redact",
        /// The whole result is withheld.
        Withhold = "withhold",
    }
}

words! {
    /// What a name in an allow list that names nothing is.
    Missing, "a treatment of missing names" {
        /// The policy is refused.
        Error = "error",
        /// The policy is used, and the name is reported.
        Warning = "warning",
    }
}
