//! A guest that asks WASI for what a program at home takes for granted: environment,
//! input, time, randomness, network, exit (R-005 … R-010, B1, B3, B5, C5, C7, D7).

use wasip2::cli;
use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::io::streams::OutputStream;
use wasip2::random::{insecure, insecure_seed, random};
use wasip2::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::{instance_network, ip_name_lookup, tcp_create_socket, udp_create_socket};

#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({ world: "ambient-driver", path: "wit" });
    use super::Driver;
    export!(Driver);
}

use bindings::exports::hostile::ambient_driver::ambient::{Guest, Surroundings, Time};

struct Driver;

const MILLISECOND_NS: u64 = 1_000_000;

fn write_all(stream: &OutputStream, bytes: &[u8]) {
    for piece in bytes.chunks(4_096) {
        stream.blocking_write_and_flush(piece).unwrap();
    }
}

fn told<T>(result: Result<T, ErrorCode>) -> String {
    result.map_or_else(|error| error.name().to_owned(), |_| "ok".to_owned())
}

/// What each kind of socket says to being made and bound to an address.
fn tried() -> Vec<(String, String)> {
    let network = instance_network::instance_network();
    let address = IpSocketAddress::Ipv4(Ipv4SocketAddress {
        port: 0,
        address: (127, 0, 0, 1),
    });
    let tcp = tcp_create_socket::create_tcp_socket(IpAddressFamily::Ipv4)
        .and_then(|socket| socket.start_bind(&network, address));
    let udp = udp_create_socket::create_udp_socket(IpAddressFamily::Ipv4)
        .and_then(|socket| socket.start_bind(&network, address));
    vec![("tcp".to_owned(), told(tcp)), ("udp".to_owned(), told(udp))]
}

impl Guest for Driver {
    fn around() -> Surroundings {
        let input = cli::stdin::get_stdin();
        let mut read = 0;
        while let Ok(bytes) = input.blocking_read(4_096) {
            read += bytes.len() as u64;
        }
        let terminals = [
            cli::terminal_stdin::get_terminal_stdin().is_some(),
            cli::terminal_stdout::get_terminal_stdout().is_some(),
            cli::terminal_stderr::get_terminal_stderr().is_some(),
        ];
        let preopens = wasip2::filesystem::preopens::get_directories();
        Surroundings {
            environment: cli::environment::get_environment(),
            arguments: cli::environment::get_arguments(),
            directory: cli::environment::initial_cwd(),
            input: read,
            preopens: preopens.into_iter().map(|(_, path)| path).collect(),
            terminals: terminals.into_iter().filter(|is_there| *is_there).count() as u32,
        }
    }

    fn print(text: Vec<u8>, error: Vec<u8>, times: u32) -> u32 {
        let (out, err) = (cli::stdout::get_stdout(), cli::stderr::get_stderr());
        for _ in 0..times {
            write_all(&out, &text);
            write_all(&err, &error);
        }
        times
    }

    fn sleep(milliseconds: u64) -> Time {
        let begin = monotonic_clock::now();
        monotonic_clock::subscribe_duration(milliseconds * MILLISECOND_NS).block();
        let slept = monotonic_clock::now() - begin;
        Time {
            wall: wall_clock::now().seconds,
            slept,
            drawn: (
                random::get_random_u64(),
                insecure::get_insecure_random_u64(),
                insecure_seed::insecure_seed().0,
                insecure_seed::insecure_seed().1,
            ),
        }
    }

    fn spin(milliseconds: u64) -> u64 {
        let begin = monotonic_clock::now();
        let mut readings = 1;
        while monotonic_clock::now() - begin < milliseconds * MILLISECOND_NS {
            readings += 1;
        }
        readings
    }

    fn draw(bytes: u64) -> u64 {
        random::get_random_bytes(bytes).len() as u64
    }

    fn hoard(timers: u32) -> u32 {
        let held: Vec<_> = (0..timers)
            .map(|_| monotonic_clock::subscribe_duration(1))
            .collect();
        held.len() as u32
    }

    fn reach(name: String) -> Vec<(String, String)> {
        let network = instance_network::instance_network();
        let looked = ip_name_lookup::resolve_addresses(&network, &name);
        let mut all = tried();
        all.push(("dns".to_owned(), told(looked)));
        all
    }

    fn leave(succeed: bool, code: Option<u8>) -> u32 {
        write_all(&cli::stdout::get_stdout(), b"leaving\n");
        match code {
            Some(code) => cli::exit::exit_with_code(code),
            None => cli::exit::exit(if succeed { Ok(()) } else { Err(()) }),
        }
        0
    }
}
