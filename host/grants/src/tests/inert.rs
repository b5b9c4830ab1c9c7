//! Standard streams, environment, exit, randomness, sockets, configuration, log.

use bindery_types::{Budget, EffectKind, LimitName};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::StreamError;
use wasmtime_wasi::p2::bindings::cli::{
    environment, exit, stderr, stdin, stdout, terminal_stderr, terminal_stdin, terminal_stdout,
};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddressFamily};
use wasmtime_wasi::p2::bindings::sockets::{
    instance_network, ip_name_lookup, tcp_create_socket, udp_create_socket,
};
use wasmtime_wasi_io::bindings::wasi::io::streams::{HostInputStream, HostOutputStream};

use super::{call, limit};
use crate::bindings::bindery::runtime::{bindings, log};
use crate::{CALL_FUEL, CallGrants, Exit, Grants, Randomness};

#[test]
fn nothing_of_the_host_s_environment_is_there() {
    assert!(std::env::vars_os().count() > 0, "the host has variables");
    let mut call = call(Grants::default());
    assert_eq!(
        environment::Host::get_environment(&mut call).unwrap(),
        [],
        "R-007, C5"
    );
    assert!(
        environment::Host::get_arguments(&mut call)
            .unwrap()
            .is_empty(),
        "R-008, C5"
    );
    assert_eq!(
        environment::Host::initial_cwd(&mut call).unwrap(),
        None,
        "C5"
    );
    assert!(
        terminal_stdin::Host::get_terminal_stdin(&mut call)
            .unwrap()
            .is_none()
    );
    assert!(
        terminal_stdout::Host::get_terminal_stdout(&mut call)
            .unwrap()
            .is_none()
    );
    assert!(
        terminal_stderr::Host::get_terminal_stderr(&mut call)
            .unwrap()
            .is_none()
    );
    assert!(call.finish().trace.effects().is_empty(), "I1");
}

#[tokio::test]
async fn standard_input_is_at_its_end() {
    let mut call = call(Grants::default());
    let stream = stdin::Host::get_stdin(&mut call).unwrap();
    let read = HostInputStream::blocking_read(&mut call, stream, 10).await;
    assert!(matches!(read, Err(StreamError::Closed)), "R-008");
}

#[tokio::test]
async fn outputs_are_kept_apart_bounded_and_the_guest_goes_on() {
    let budget = Budget::default().with(LimitName::Stdout, 8).unwrap();
    let mut call = CallGrants::new(Grants::default(), &budget).unwrap();
    let out = stdout::Host::get_stdout(&mut call).unwrap();
    let err = stderr::Host::get_stderr(&mut call).unwrap();
    for _ in 0..100 {
        let place = Resource::new_borrow(out.rep());
        call.blocking_write_and_flush(place, b"0123456".to_vec())
            .await
            .unwrap();
        let place = Resource::new_borrow(err.rep());
        call.blocking_write_and_flush(place, b"e".to_vec())
            .await
            .unwrap();
    }
    // The same output opened again is the same output.
    let again = stdout::Host::get_stdout(&mut call).unwrap();
    call.write(again, vec![0; 64 << 10]).unwrap();
    let captures = call.finish();
    assert_eq!(captures.stdout.text, "01234560", "B3");
    assert_eq!(captures.stdout.dropped_bytes, 700 - 8 + (64 << 10), "B3");
    assert_eq!(
        captures.stderr.text,
        "e".repeat(100),
        "B3: streams are limited separately"
    );
    assert!(!captures.stderr.truncated);
}

#[test]
fn exit_is_thrown_with_its_code_and_ends_nothing_else() {
    let mut call = call(Grants::default());
    let code = |thrown: wasmtime::Result<()>| thrown.unwrap_err().downcast::<Exit>().unwrap();
    assert_eq!(code(exit::Host::exit(&mut call, Ok(()))), Exit(0), "D7");
    assert_eq!(code(exit::Host::exit(&mut call, Err(()))), Exit(1), "D7");
    assert_eq!(
        code(exit::Host::exit_with_code(&mut call, 3)),
        Exit(3),
        "D7"
    );
}

#[test]
fn seeded_numbers_repeat_and_real_ones_do_not() {
    let draw = |randomness| {
        let mut call = call(Grants {
            randomness,
            ..Grants::default()
        });
        let mut drawn = random::Host::get_random_bytes(&mut call, 33).unwrap();
        drawn.extend(
            random::Host::get_random_u64(&mut call)
                .unwrap()
                .to_le_bytes(),
        );
        drawn.extend(insecure::Host::get_insecure_random_bytes(&mut call, 7).unwrap());
        drawn.extend(
            insecure_seed::Host::insecure_seed(&mut call)
                .unwrap()
                .0
                .to_le_bytes(),
        );
        let trace = call.finish().trace;
        let effects: Vec<_> = trace.effects().iter().map(|e| (e.kind, e.bytes)).collect();
        (drawn, effects)
    };
    let (first, effects) = draw(Randomness::Seeded);
    assert_eq!(draw(Randomness::Seeded).0, first, "R-010, I32");
    assert_eq!(effects, [], "nothing of the host was touched");
    assert_ne!(&first[..8], &[0; 8]);
    let (real, effects) = draw(Randomness::Real);
    assert_ne!(draw(Randomness::Real).0, real, "R-010");
    assert_eq!(
        effects,
        [(EffectKind::Random, 33 + 8 + 7 + 16)],
        "the grant shows"
    );
}

#[test]
fn the_two_qualities_of_seeded_numbers_are_two_sequences() {
    let mut call = call(Grants::default());
    let secure = random::Host::get_random_bytes(&mut call, 16).unwrap();
    let insecure = insecure::Host::get_insecure_random_bytes(&mut call, 16).unwrap();
    assert_ne!(secure, insecure);
}

#[test]
fn a_huge_draw_makes_nothing_and_many_small_ones_are_charged() {
    let mut call = call(Grants::default());
    let whole = random::Host::get_random_bytes(&mut call, 64 << 10).unwrap();
    assert_eq!(whole.len(), 64 << 10, "H28");
    for len in [(64 << 10) + 1, 1 << 31] {
        let hit = limit(random::Host::get_random_bytes(&mut call, len));
        assert_eq!((hit.name, hit.used), (LimitName::Random, len), "H28, B5");
    }
    let hit = limit(random::Host::get_random_bytes(&mut call, 1 << 63));
    assert_eq!(hit.name, LimitName::Fuel, "X14");
    let budget = Budget::default().with(LimitName::HostCalls, 1_000).unwrap();
    let mut call = CallGrants::new(Grants::default(), &budget).unwrap();
    for _ in 0..1_000 {
        random::Host::get_random_u64(&mut call).unwrap();
    }
    assert_eq!(
        limit(random::Host::get_random_u64(&mut call)).name,
        LimitName::HostCalls,
        "X14"
    );
}

#[tokio::test]
async fn no_socket_is_made_no_name_is_looked_up_and_each_attempt_shows() {
    let mut call = call(Grants::default());
    let tcp = tcp_create_socket::Host::create_tcp_socket(&mut call, IpAddressFamily::Ipv4);
    assert_eq!(
        tcp.unwrap_err().downcast().unwrap(),
        ErrorCode::AccessDenied,
        "C7, R-006"
    );
    let udp = udp_create_socket::Host::create_udp_socket(&mut call, IpAddressFamily::Ipv6).await;
    assert_eq!(
        udp.unwrap_err().downcast().unwrap(),
        ErrorCode::AccessDenied,
        "C7, R-006"
    );
    let network = instance_network::Host::instance_network(&mut call).unwrap();
    let name = "secret-data.evil.test".to_owned();
    let looked = ip_name_lookup::Host::resolve_addresses(&mut call, network, name);
    assert_eq!(
        looked.unwrap_err().downcast().unwrap(),
        ErrorCode::AccessDenied,
        "C7: DNS"
    );
    let trace = call.finish().trace;
    let effects: Vec<_> = trace
        .effects()
        .iter()
        .map(|e| (e.kind, e.resource.as_str()))
        .collect();
    assert_eq!(
        effects,
        [
            (EffectKind::Request, "tcp socket (refused)"),
            (EffectKind::Request, "udp socket (refused)"),
            (EffectKind::Request, "dns secret-data.evil.test (refused)"),
        ],
        "H26"
    );
}

#[test]
fn a_log_line_is_one_line_whatever_it_says() {
    let mut call = call(Grants::default());
    let message = "a\n{\"jsonrpc\":\"2.0\"}\u{1b}[2J".to_owned();
    log::Host::write(&mut call, log::Level::Warn, message).unwrap();
    log::Host::write(&mut call, log::Level::Info, "second".to_owned()).unwrap();
    let captures = call.finish();
    assert_eq!(
        captures.log.text, "warn: a\\n{\"jsonrpc\":\"2.0\"}\\x1b[2J\ninfo: second\n",
        "X18, H39"
    );
    let effects = captures.trace.effects();
    assert_eq!((effects.len(), effects[0].kind), (1, EffectKind::Log));
}

#[test]
fn a_flood_of_log_lines_ends_with_the_budget() {
    let fuel = 1_000 * CALL_FUEL;
    let budget = Budget::default().with(LimitName::Fuel, fuel).unwrap();
    let mut call = CallGrants::new(Grants::default(), &budget).unwrap();
    let hit = (0..1_000_000)
        .find_map(|_| log::Host::write(&mut call, log::Level::Info, "x".into()).err())
        .unwrap();
    assert_eq!(limit::<()>(Err(hit)).name, LimitName::Fuel, "X22");
}

#[test]
fn a_run_without_bindings_sees_no_names_and_gets_none() {
    let mut call = call(Grants::default());
    assert!(bindings::Host::names(&mut call).unwrap().is_empty(), "C-46");
    let failure = bindings::Host::get(&mut call, "mail\n".into())
        .unwrap()
        .unwrap_err();
    assert_eq!(
        (failure.kind.as_str(), failure.category.as_str()),
        ("handle_invalid", "invalid_scope")
    );
    assert_eq!(failure.message, "no binding is named `mail\\n` here");
    assert!(!failure.next.is_empty(), "R-757");
    let forged = bindings::HostBinding::describe(&mut call, Resource::new_borrow(7));
    assert!(forged.is_err(), "I3");
}
