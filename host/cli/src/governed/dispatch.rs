//! A request on its way: to the host that runs, else answered here as far as C-50 lets it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery::{Cancel, ErrorType, Host, HostBuilder, Refusal};
use bindery_service::{Caller, Desk, Envelope, Place, Reach, Recording, Reply, Request, ask};

use super::args::{AskArgs, PlaceArgs};
use super::waiting::waited;
use super::{render, request};
use crate::answer::{Answer, Format};
use crate::args::Command;
use crate::command::run::prepared;
use crate::{ending, operands};

/// How long a store that another process owns is waited for (X72).
const TURN_MAX: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Answers a command of the governed way.
pub(crate) fn run(command: Command) -> Answer {
    let format = format_of(&command);
    let answered = ending::drive(async move |cancel| {
        // Reading may wait for standard input as long as that is open.
        let made = ending::unless_ended(&cancel, move || request::request(&command)).await?;
        let (request, asked) = made
            .ok_or_else(|| Refusal::new(ErrorType::Usage, "this command asks nothing of a host"))?;
        Ok(sent(request, &asked, &cancel).await)
    });
    answered.unwrap_or_else(|refusal| Answer::refusal(format, &refusal, None))
}

/// How a command is to be printed whose words made no request.
fn format_of(command: &Command) -> Format {
    match command {
        Command::Call(args) => args.ask.place.format,
        Command::Bind(args) => args.ask.place.format,
        Command::Admit(args) => args.place.format,
        Command::Stages(args) => match &args.verb {
            Some(super::args::StagesVerb::Set { ask, .. }) => ask.place.format,
            None => args.ask.place.format,
        },
        Command::Policy(args) => match &args.verb {
            super::args::PolicyVerb::Explain { ask, .. } => ask.place.format,
            super::args::PolicyVerb::Test { place, .. } => place.format,
        },
        _ => Format::Text,
    }
}

/// Sends `request`, or answers it here.
pub(crate) fn answered(request: Request, asked: &AskArgs) -> Answer {
    let (format, asked) = (asked.place.format, asked.clone());
    let answered = ending::drive(async move |cancel| Ok(sent(request, &asked, &cancel).await));
    answered.unwrap_or_else(|refusal| Answer::refusal(format, &refusal, None))
}

async fn sent(request: Request, asked: &AskArgs, cancel: &Cancel) -> Answer {
    let format = asked.place.format;
    let place = place(&asked.place);
    let envelope = Envelope {
        acting_as: asked.acting_as.clone(),
        session: asked.session.clone(),
        json: format == Format::Json,
        request,
    };
    let begun = Instant::now();
    let answered = loop {
        let answered = answered_once(&place, &envelope, asked, cancel).await;
        // Another command has the store for a moment, or a host is starting with it.
        let owned = matches!(&answered, Err(refusal) if refusal.details().contains_key("owned_by"));
        if !owned || begun.elapsed() > TURN_MAX {
            break answered;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    };
    answered.unwrap_or_else(|refusal| Answer::refusal(format, &refusal, None))
}

/// The answer of the host that runs; where none does, this process answers what it may.
async fn answered_once(
    place: &Place,
    envelope: &Envelope,
    asked: &AskArgs,
    cancel: &Cancel,
) -> Result<Answer, Refusal> {
    let hosted = tokio::select! {
        hosted = waited(envelope.request.verb(), ask(place, envelope)) => hosted?,
        // The host ends what it began for a connection when that is gone.
        () = cancel.cancelled() => return Err(ending::ended_early()),
    };
    if let Some(rendered) = hosted {
        return Ok(Answer::rendered(rendered));
    }
    let recording = recording(&envelope.request, place)?;
    let reply = served_here(place.clone(), recording, (envelope, asked), cancel).await?;
    Ok(Answer::rendered(render::render(reply, envelope.json)))
}

fn recording(request: &Request, place: &Place) -> Result<Recording, Refusal> {
    match request.reach() {
        Reach::Catalogue => Ok(Recording::Nothing),
        Reach::Record => Ok(Recording::Read),
        Reach::Owner => Ok(Recording::Store),
        Reach::Host if !place.is_free() => {
            let text = "a host runs and does not answer at its socket";
            Err(Refusal::new(ErrorType::EnvironmentUnavailable, text)
                .for_operator(format!(
                    "it may be starting; if {} is gone, end the process whose number stands in {} (SIGTERM) and start a host again",
                    place.data().join("host.sock").display(),
                    place.data().join("store/owner").display(),
                ))
                .with("verb", request.verb()))
        }
        Reach::Host => {
            let text = "no host runs, and this needs one: handles and proposals live in it";
            Err(Refusal::new(ErrorType::EnvironmentUnavailable, text)
                .for_operator("start one with `bindery host start`")
                .with("verb", request.verb()))
        }
    }
}

async fn served_here(
    place: Place,
    recording: Recording,
    (envelope, asked): (&Envelope, &AskArgs),
    cancel: &Cancel,
) -> Result<Reply, Refusal> {
    let opening = Desk::open(place, builder(asked), recording, operands::authority());
    let desk = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ending::ended_early()),
        desk = opening => desk?,
    };
    Ok(desk.answer(&user()?, envelope, cancel).await)
}

/// The user of this process (C-65).
pub(crate) fn user() -> Result<Caller, Refusal> {
    Caller::local(bindery_service::user_id())
}

pub(crate) fn place(args: &PlaceArgs) -> Place {
    Place::new(args.file.clone(), args.data.clone())
}

pub(crate) fn builder(asked: &AskArgs) -> HostBuilder {
    prepared(Host::builder(), &asked.store)
}

pub(crate) fn no_runtime(error: &std::io::Error) -> Refusal {
    let text = "the host could not start its threads";
    Refusal::new(ErrorType::Internal, text).for_operator(error.to_string())
}

/// A desk that is shared with a server.
pub(crate) type Shared = Arc<Desk>;
