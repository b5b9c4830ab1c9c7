//! The grants of one call at work: moved into its store, gone with it.
//!
//! Rule (style 21, R-019): all state a host function needs is here, none is captured in a
//! linker and none is shared between calls but the pool of blocking threads.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bindery_screen::Screen;
use bindery_types::{
    Budget, Captured, EffectTrace, ErrorType, Limit, LimitHit, LimitName, NestedUse, Refusal,
};
use wasmtime::component::{ResourceTable, ResourceTableError};
use wasmtime_wasi::sockets::{WasiSocketsCtx, WasiSocketsCtxView};

use crate::blocking::InFlight;
use crate::capture::SharedCapture;
use crate::clock::Time;
use crate::credential;
use crate::directory::Directories;
use crate::endpoint::{Denial, EndpointState, EndpointView};
use crate::grants::{GrantError, Grants};
use crate::log::Log;
use crate::meter::Meter;
use crate::nested::Nested;
use crate::random::Generators;
use crate::store::Stores;

/// Gives host functions the grants of the call whose store they run in.
pub trait GrantView: Send + 'static {
    /// The grants.
    fn grants(&mut self) -> &mut CallGrants;
}

/// The grants of one call with everything that was used of them.
pub struct CallGrants {
    pub(crate) meter: Meter,
    /// Every host object that the guest holds a handle to (R-011, H19).
    pub(crate) table: ResourceTable,
    pub(crate) directories: Directories,
    endpoint: EndpointState,
    pub(crate) stores: Stores,
    pub(crate) config: Option<std::collections::BTreeMap<String, String>>,
    pub(crate) time: Time,
    pub(crate) generators: Generators,
    /// Random bytes that one host call gives.
    pub(crate) random_max: Limit,
    pub(crate) stdout: SharedCapture,
    pub(crate) stderr: SharedCapture,
    pub(crate) log: Log,
    /// The effect that a stream's bytes belong to, by the stream's place in the table.
    pub(crate) streams: HashMap<u32, Option<usize>>,
    /// Always closed (H26); made when a guest first names one.
    sockets: Option<WasiSocketsCtx>,
    pub(crate) in_flight: InFlight,
    /// Masks the credentials of the call in what it leaves; none when it holds none.
    screen: Option<Screen>,
    pub(crate) nested: Option<Arc<dyn Nested>>,
    pub(crate) nested_use: NestedUse,
}

/// What a call left behind.
#[derive(Clone, Debug)]
pub struct Captures {
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// The log.
    pub log: Captured,
    /// What was touched.
    pub trace: EffectTrace,
    /// Calls from the guest to the host.
    pub host_calls: u64,
    /// Limits that the guest met as an error value (`quota`) and could go on from; those
    /// that end a call are thrown as a [`LimitHit`].
    pub limit_hits: Vec<LimitHit>,
    /// For the operator: what was refused for want of a grant, and which grant it takes
    /// (U1). The first ones.
    pub denials: Vec<Denial>,
    /// How many more there were.
    pub denials_dropped: u64,
}

impl Captures {
    /// C9: whatever a guest wrote, asked for or touched by name.
    fn screen(&mut self, screen: &Screen) {
        let captured = [&mut self.stdout, &mut self.stderr, &mut self.log];
        let mut texts: Vec<&mut String> = captured.map(|captured| &mut captured.text).into();
        for denial in &mut self.denials {
            texts.extend([&mut denial.asked, &mut denial.rule]);
            texts.extend(denial.allow.as_mut());
        }
        texts.extend(self.trace.resources_mut());
        for text in texts {
            let screened = screen.screen(text);
            if screened.masked > 0 {
                *text = screened.text.into_owned();
            }
        }
    }
}

/// Thrown by `wasi:cli/exit`, whatever the code; what it means depends on the function
/// that was called (C-47).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the component exited with code {0}")]
pub struct Exit(pub u8);

impl CallGrants {
    /// The state of one call that was granted `grants` under `budget`.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] when two grants clash.
    pub fn new(grants: Grants, budget: &Budget) -> Result<Self, Refusal> {
        let Grants {
            directories,
            endpoints,
            stores,
            config,
            clock,
            randomness,
            nested,
        } = grants;
        let malformed =
            |error: GrantError| Refusal::new(ErrorType::PolicyMalformed, error.to_string());
        let directories = Directories::new(directories, budget).map_err(malformed)?;
        let stores = Stores::new(stores, budget).map_err(malformed)?;
        let mut table = ResourceTable::new();
        table.set_max_capacity(budget.get(LimitName::Handles).or_max_usize());
        Ok(Self {
            meter: Meter::new(budget),
            table,
            directories,
            endpoint: EndpointState::new(endpoints, budget),
            stores,
            config,
            time: Time::new(clock),
            generators: Generators::new(randomness),
            random_max: budget.get(LimitName::Random),
            stdout: SharedCapture::new(budget.get(LimitName::Stdout)),
            stderr: SharedCapture::new(budget.get(LimitName::Stderr)),
            log: Log::new(budget.get(LimitName::Log)),
            streams: HashMap::new(),
            sockets: None,
            in_flight: InFlight::default(),
            screen: None,
            nested,
            nested_use: NestedUse::default(),
        })
    }

    /// The same with the credentials that `grants` name, read now and for this call only
    /// . Boxed, since it is handed on a dozen times before and after the call.
    ///
    /// # Errors
    ///
    /// `credential_missing` when one cannot be had, and as [`CallGrants::new`].
    pub async fn with_credentials(
        mut grants: Grants,
        budget: &Budget,
    ) -> Result<Box<Self>, Refusal> {
        let keyring = credential::arm(&mut grants.endpoints).await?;
        let mut call = Box::new(Self::new(grants, budget)?);
        if let Some(keyring) = keyring {
            call.screen = Some(keyring.screen());
            call.endpoint.search_for(keyring);
        }
        Ok(call)
    }

    /// JSON text that leaves the call, without the credentials that it holds (C9).
    pub fn screened(&self, json: String) -> String {
        match &self.screen {
            Some(screen) => screen.screen_json(&json).text.into_owned(),
            None => json,
        }
    }

    /// The meter, for the sandbox's call hook.
    pub fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Writes to the host that have begun and not ended. Asked after a call was cancelled:
    /// when it is not 0, whether they happen is not known (H25).
    pub fn unfinished_writes(&self) -> usize {
        self.in_flight.writes()
    }

    /// Waits until no write is in flight, at most `bound`; says how many are left. Holds
    /// nothing of the call, so it may be awaited where the call's state is not shared.
    pub fn wait_for_writes(&self, bound: Duration) -> impl Future<Output = usize> + Send + use<> {
        let in_flight = self.in_flight.clone();
        async move { in_flight.wait(bound).await }
    }

    /// What the call left behind; to be asked once, at its end.
    pub fn finish(&mut self) -> Captures {
        let endpoint = self.endpoint.settle(&mut self.meter);
        let mut limit_hits = self.directories.limit_hits();
        limit_hits.extend(endpoint.hits);
        limit_hits.extend(self.stores.take_hits());
        let (mut denials, dropped) = self.directories.take_denials();
        denials.extend(endpoint.denials);
        let (of_stores, dropped_of_stores) = self.stores.take_denials();
        denials.extend(of_stores);
        let dropped = dropped.saturating_add(dropped_of_stores);
        let mut captures = Captures {
            stdout: self.stdout.shown(),
            stderr: self.stderr.shown(),
            log: self.log.shown(),
            trace: self.meter.take_trace(),
            host_calls: self.meter.host_calls(),
            limit_hits,
            denials,
            denials_dropped: endpoint.denials_dropped.saturating_add(dropped),
        };
        if let Some(screen) = &self.screen {
            captures.screen(screen);
        }
        captures
    }

    /// One host call begins.
    pub(crate) fn enter(&mut self) -> wasmtime::Result<()> {
        Ok(self.meter.enter()?)
    }

    /// The host moves bytes for the guest.
    pub(crate) fn work(&mut self, bytes: usize) -> wasmtime::Result<()> {
        Ok(self.meter.work(u64::try_from(bytes).unwrap_or(u64::MAX))?)
    }

    /// A full table is the limit `handles`, wherever it shows.
    pub(crate) fn handles(&self, error: wasmtime::Error) -> wasmtime::Error {
        match error.downcast_ref::<ResourceTableError>() {
            Some(ResourceTableError::Full) => self.handles_hit().into(),
            _ => error,
        }
    }

    pub(crate) fn handles_hit(&self) -> LimitHit {
        let limit = u64::try_from(self.table.max_capacity()).unwrap_or(u64::MAX);
        LimitHit {
            name: LimitName::Handles,
            limit: bindery_types::Limit::Finite(limit),
            used: limit.saturating_add(1),
        }
    }

    /// What a call to `wasi:http` works on.
    pub(crate) fn endpoint(&mut self) -> EndpointView<'_> {
        EndpointView {
            meter: &mut self.meter,
            table: &mut self.table,
            state: &mut self.endpoint,
        }
    }

    /// The view of sockets that are off: nothing is allowed in it, ever.
    pub(crate) fn closed_sockets(&mut self) -> WasiSocketsCtxView<'_> {
        WasiSocketsCtxView {
            ctx: self.sockets.get_or_insert_default(),
            table: &mut self.table,
        }
    }
}
