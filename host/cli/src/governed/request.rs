//! Words into a request: texts are read, values are converted, nothing is decided.

use bindery::policy::Registration;
use bindery::{Budget, Contract, ErrorType, Limit, LimitName, Refusal};
use bindery_service::{BindWish, Request, RevokeTarget, SessionWish};
use serde_json::{Map, Value, json};

use super::args::{
    AdmitArgs, AskArgs, ConfigVerb, PolicyVerb, SessionVerb, SessionWishArgs, StagesArgs,
    StagesVerb, Switch, WishArgs, stage,
};
use crate::args::Command;
use crate::operands;

/// Bytes of one text that is sent to a host.
const TEXT_BYTES_MAX: u64 = 128 << 20;

/// The request that a command makes of a host, with whose and where it is; nothing for
/// commands that make none.
pub(crate) fn request(command: &Command) -> Result<Option<(Request, AskArgs)>, Refusal> {
    let made = match command {
        Command::Env(args) => (Request::Environment, args.ask.clone()),
        Command::Describe(args) => {
            let id = args.id.clone();
            (Request::Describe { id }, args.ask.clone())
        }
        Command::Validate(args) => {
            let id = args.id.clone();
            (Request::Validate { id }, args.ask.clone())
        }
        Command::Bind(args) => {
            let (id, wish) = (args.id.clone(), wish(&args.wish)?);
            (Request::Bind { id, wish }, args.ask.clone())
        }
        Command::Call(args) => {
            let call = Request::Call {
                target: args.target.clone(),
                arguments: arguments(&args.arguments)?,
                idempotency_key: args.idempotency_key.clone(),
                wish: wish(&args.wish)?,
            };
            (call, args.ask.clone())
        }
        Command::Release(args) => {
            let (handle, reason) = (args.handle.clone(), args.reason.clone());
            (Request::Release { handle, reason }, args.ask.clone())
        }
        Command::Renew(args) => {
            let limit = LimitName::Deadline.parse_value(&args.ttl);
            let limit = limit.map_err(|error| usage(format!("--ttl: {error}")))?;
            let renew = Request::Renew {
                handle: args.handle.clone(),
                ttl_ms: limit.or_max(),
            };
            (renew, args.ask.clone())
        }
        Command::Admit(args) => (admit(args)?, asks(args)),
        Command::Ledger(args) => {
            let ledger = Request::Ledger {
                id: args.id.clone(),
                from: args.from,
                count: usize::try_from(args.count).unwrap_or(usize::MAX),
            };
            (ledger, args.ask.clone())
        }
        Command::Binding(args) => {
            let handle = args.handle.clone();
            (Request::Binding { handle }, args.ask.clone())
        }
        Command::Trace(args) => {
            let id = args.id.clone();
            (Request::Trace { id }, args.ask.clone())
        }
        Command::Actions(args) => {
            let run = args.run.clone();
            (Request::Actions { run }, args.ask.clone())
        }
        Command::Proposals(args) => (Request::Proposals { id: args.id }, args.ask.clone()),
        Command::Approve(args) => {
            let (id, reason) = (args.id, args.reason.clone());
            (Request::Approve { id, reason }, args.ask.clone())
        }
        Command::Deny(args) => {
            let (id, reason) = (args.id, args.reason.clone());
            (Request::Deny { id, reason }, args.ask.clone())
        }
        Command::Revoke(args) => {
            let target = args.target.clone();
            let revoke = Request::Revoke {
                target: target.map_or(RevokeTarget::All, RevokeTarget::Named),
                reason: args.reason.clone(),
                lift: args.lift,
            };
            (revoke, args.ask.clone())
        }
        Command::Invalidate(args) => {
            let invalidate = Request::Invalidate {
                subject: args.subject.clone(),
                finding: args.finding.clone(),
                evidence: args.evidence.clone(),
            };
            (invalidate, args.ask.clone())
        }
        Command::Review(args) => {
            let review = Request::Review {
                id: args.id.clone(),
                trust: args.trust,
                evidence: args.evidence.clone(),
            };
            (review, args.ask.clone())
        }
        Command::Reconcile(args) => {
            let reconcile = Request::Reconcile {
                call: args.call.clone(),
                done: args.done,
                evidence: args.evidence.clone(),
            };
            (reconcile, args.ask.clone())
        }
        Command::Stages(args) => stages(args)?,
        Command::Session(args) => session(&args.verb),
        Command::Config(args) => match config(&args.verb) {
            Some(made) => made,
            None => return Ok(None),
        },
        Command::Policy(args) => match explain(&args.verb)? {
            Some(made) => made,
            None => return Ok(None),
        },
        Command::Inspect(_)
        | Command::Run(_)
        | Command::Cache(_)
        | Command::Limits(_)
        | Command::Init(_)
        | Command::Host(_) => return Ok(None),
    };
    Ok(Some(made))
}

fn session(verb: &SessionVerb) -> (Request, AskArgs) {
    match verb {
        SessionVerb::New { wish, ask } => {
            let wish = session_wish(wish);
            (Request::SessionNew { wish }, ask.clone())
        }
        SessionVerb::List(ask) => (Request::SessionList, ask.clone()),
        SessionVerb::Move {
            run,
            to,
            reason,
            ask,
        } => {
            let moved = Request::RunMove {
                run: run.clone(),
                to: to.clone(),
                reason: reason.clone(),
            };
            (moved, ask.clone())
        }
        SessionVerb::Show(ask) => (Request::SessionShow, ask.clone()),
        SessionVerb::Cancel(ask) => (Request::SessionCancel, ask.clone()),
        SessionVerb::End(ask) => (Request::SessionEnd, ask.clone()),
    }
}

fn config(verb: &ConfigVerb) -> Option<(Request, AskArgs)> {
    match verb {
        ConfigVerb::Check(_) | ConfigVerb::Show { .. } => None,
        ConfigVerb::Reload(ask) => Some((Request::ConfigReload, ask.clone())),
        ConfigVerb::AcceptWrites { evidence, ask } => {
            let evidence = evidence.clone();
            Some((Request::AcceptWrites { evidence }, ask.clone()))
        }
    }
}

fn explain(verb: &PolicyVerb) -> Result<Option<(Request, AskArgs)>, Refusal> {
    let PolicyVerb::Explain {
        id,
        arguments,
        principal,
        session_wish: session,
        wish: wanted,
        ask,
    } = verb
    else {
        return Ok(None);
    };
    let arguments = arguments.as_deref();
    let arguments = arguments.map(self::arguments);
    let explain = Request::Explain {
        id: id.clone(),
        arguments: arguments.transpose()?,
        principal: principal.clone(),
        wish: wish(wanted)?,
        session: session_wish(session),
    };
    Ok(Some((explain, (**ask).clone())))
}

fn stages(args: &StagesArgs) -> Result<(Request, AskArgs), Refusal> {
    let Some(StagesVerb::Set {
        stage: text,
        to,
        evidence,
        ask,
    }) = &args.verb
    else {
        return Ok((Request::Stages, args.ask.clone()));
    };
    let set = Request::StageSet {
        stage: stage(text).map_err(usage)?,
        on: *to == Switch::On,
        evidence: evidence.clone(),
    };
    Ok((set, (**ask).clone()))
}

fn asks(args: &AdmitArgs) -> AskArgs {
    AskArgs {
        place: args.place.clone(),
        session: String::new(),
        acting_as: None,
        store: args.store.clone(),
    }
}

fn admit(args: &AdmitArgs) -> Result<Request, Refusal> {
    let text = args.contract.as_deref();
    let text = text.map(arguments);
    let contract = text.transpose()?.map(|text| serde_json::from_str(&text));
    let mut contract: Contract = contract
        .transpose()
        .map_err(|error| usage(format!("--contract: {error}")))?
        .unwrap_or_default();
    if let Some(word) = &args.approval {
        let approval = word
            .parse()
            .map_err(|error| usage(format!("--approval: {error}")))?;
        if contract.approval.is_some_and(|said| said != approval) {
            return Err(usage("--approval and --contract differ".to_owned()));
        }
        contract.approval = Some(approval);
    }
    // A host beside this process has a folder of its own to start from.
    let path = std::path::absolute(&args.component)
        .map_err(|error| usage(format!("`{}`: {error}", args.component.display())))?;
    let path = path.into_os_string().into_string();
    Ok(Request::Admit {
        path: path.map_err(|_| usage("the path of the component is not UTF-8".to_owned()))?,
        namespace: args.namespace.clone(),
        package: args.package.clone(),
        contract: Box::new(contract),
        registration: if args.is_static {
            Registration::Static
        } else {
            Registration::LateBound
        },
    })
}

fn session_wish(args: &SessionWishArgs) -> SessionWish {
    SessionWish {
        agent: args.agent.clone(),
        archetype: args.archetype.clone(),
        run: args.run.clone(),
        workspace: args.workspace.clone(),
        provider: args.provider.clone(),
        mode: args.mode,
        // Left out is no list; an empty list cannot be said by a flag.
        allow: (!args.allow.is_empty()).then(|| args.allow.clone()),
        deny: args.deny.clone(),
    }
}

fn wish(args: &WishArgs) -> Result<BindWish, Refusal> {
    Ok(BindWish {
        digest: args.digest,
        descriptor: args.descriptor,
        generation: args.generation,
        scope: scope(args)?,
    })
}

/// The three parts of a scope, when any is said.
fn scope(args: &WishArgs) -> Result<Option<Value>, Refusal> {
    let mut scope = Map::new();
    if let Some(text) = &args.scope {
        let text = arguments(text)?;
        let grants = serde_json::from_str(&text);
        let grants: Value = grants.map_err(|error| usage(format!("--scope: {error}")))?;
        scope.insert("grants".to_owned(), grants);
    }
    if let Some(text) = &args.ttl {
        let limit = LimitName::Deadline.parse_value(text);
        let limit = limit.map_err(|error| usage(format!("--ttl: {error}")))?;
        scope.insert("ttl_ms".to_owned(), json!(limit.or_max()));
    }
    if !args.budget.is_empty() {
        let mut budget = Map::new();
        for pair in &args.budget {
            let split = pair.split_once('=');
            let (name, value) =
                split.ok_or_else(|| usage(format!("--budget takes NAME=VALUE, got `{pair}`")))?;
            if budget.insert(name.to_owned(), value.into()).is_some() {
                return Err(usage(format!("--budget: `{name}` is set twice")));
            }
        }
        scope.insert("budget".to_owned(), Value::Object(budget));
    }
    Ok((!scope.is_empty()).then_some(Value::Object(scope)))
}

fn usage(message: String) -> Refusal {
    Refusal::new(ErrorType::Usage, message)
}

/// The text of `@file` or `-`, whole: the host knows what its arguments may be.
fn arguments(given: &str) -> Result<String, Refusal> {
    let mut budget = Budget::default();
    let most = Limit::Finite(TEXT_BYTES_MAX);
    let settable = budget.set(LimitName::Arguments, most);
    settable.map_err(|error| Refusal::new(ErrorType::Internal, error.to_string()))?;
    let text = operands::arguments(given, &budget)?;
    if text.len() as u64 > TEXT_BYTES_MAX {
        let message = format!("the text is longer than {TEXT_BYTES_MAX} bytes");
        return Err(Refusal::new(ErrorType::BudgetExhausted, message).with("limit", TEXT_BYTES_MAX));
    }
    Ok(text)
}
