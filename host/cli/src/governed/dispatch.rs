//! A request on its way: to the host that runs, else answered here as far as C-50 lets it.

use std::sync::Arc;

use bindery::{Cancel, ErrorType, Host, HostBuilder, Refusal};
use bindery_service::{Caller, Desk, Envelope, Place, Reach, Recording, Reply, Request, ask};
use tokio::runtime::Runtime;

use super::args::{AskArgs, PlaceArgs};
use super::{render, request};
use crate::answer::{Answer, Format};
use crate::args::Command;
use crate::command::run::{asked_to_end, prepared};
use crate::operands;

/// Answers a command of the governed way; nothing when it is none that asks a host.
pub(crate) fn run(command: &Command) -> Option<Answer> {
    match request::request(command) {
        Ok(None) => None,
        Ok(Some((request, asked))) => Some(answered(request, &asked)),
        Err(refusal) => Some(Answer::refusal(format_of(command), &refusal, None)),
    }
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
    let format = asked.place.format;
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return Answer::refusal(format, &no_runtime(&error), None),
    };
    let answer = runtime.block_on(async {
        let place = place(&asked.place);
        let envelope = Envelope {
            acting_as: asked.acting_as.clone(),
            session: asked.session.clone(),
            json: format == Format::Json,
            request,
        };
        tokio::select! {
            answer = exchange(&place, &envelope) => match answer {
                Ok(Some(rendered)) => Answer::rendered(rendered),
                Ok(None) => here(place, &envelope, asked).await,
                Err(refusal) => Answer::refusal(format, &refusal, None),
            },
            // The host ends the call when this end of the connection is gone.
            _ = asked_to_end(), if is_hosted(&envelope.request) => {
                let text = "the command was ended; the host ends what it had begun";
                Answer::refusal(format, &Refusal::new(ErrorType::Cancelled, text), None)
            }
        }
    });
    runtime.shutdown_background();
    answer
}

/// Whether a signal may simply end the command: what it began here has an end of its own.
fn is_hosted(request: &Request) -> bool {
    !matches!(request, Request::Call { target, .. } if !target.starts_with("bindh_"))
}

async fn exchange(
    place: &Place,
    envelope: &Envelope,
) -> Result<Option<bindery_service::Rendered>, Refusal> {
    ask(place, envelope).await
}

/// No host runs: this process answers what it may.
async fn here(place: Place, envelope: &Envelope, asked: &AskArgs) -> Answer {
    let format = asked.place.format;
    let reply = match recording(&envelope.request) {
        Ok(recording) => served_here(place, recording, envelope, asked).await,
        Err(refusal) => Err(refusal),
    };
    match reply {
        Ok(reply) => Answer::rendered(render::render(reply, format == Format::Json)),
        Err(refusal) => Answer::refusal(format, &refusal, None),
    }
}

fn recording(request: &Request) -> Result<Recording, Refusal> {
    match request.reach() {
        Reach::Catalogue => Ok(Recording::Nothing),
        Reach::Record => Ok(Recording::Read),
        Reach::Owner => Ok(Recording::Store),
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
    envelope: &Envelope,
    asked: &AskArgs,
) -> Result<Reply, Refusal> {
    let desk = Desk::open(place, builder(asked), recording, operands::authority()).await?;
    let cancel = Cancel::new();
    let user = user()?;
    let mut reply = std::pin::pin!(desk.answer(&user, envelope, &cancel));
    Ok(tokio::select! {
        reply = &mut reply => reply,
        _ = asked_to_end() => {
            cancel.cancel();
            reply.await
        }
    })
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
