//! `wasi:sockets`: linked because toolchains import it unasked, closed because no grant
//! opens it.
//!
//! Rule (C7, H26, R-006): an attempt to make a socket or to look a name up is answered
//! with `access-denied` before the host does anything, and is reported as a request that
//! was refused; an HTTP grant gives nothing here.

use bindery_types::EffectKind;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddress, IpAddressFamily};
use wasmtime_wasi::p2::bindings::sockets::{
    instance_network, ip_name_lookup, network, tcp_create_socket, udp_create_socket,
};
use wasmtime_wasi::p2::{Network, SocketError, SocketResult, TcpSocket, UdpSocket};
use wasmtime_wasi_io::poll::DynPollable;

use crate::call::CallGrants;
use crate::text::one_line;

/// Bytes of a host name that the trace keeps; no name on the wire is longer.
const NAME_BYTES_MAX: usize = 255;

impl CallGrants {
    fn refuse<T>(&mut self, what: String) -> SocketResult<T> {
        self.meter.enter().map_err(SocketError::trap)?;
        self.meter.note(EffectKind::Request, what, 0);
        Err(ErrorCode::AccessDenied.into())
    }
}

impl network::Host for CallGrants {
    fn convert_error_code(&mut self, error: SocketError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn network_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.enter()?;
        network::Host::network_error_code(&mut self.closed_sockets(), error)
    }
}

impl network::HostNetwork for CallGrants {
    fn drop(&mut self, this: Resource<Network>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl instance_network::Host for CallGrants {
    fn instance_network(&mut self) -> wasmtime::Result<Resource<Network>> {
        self.enter()?;
        instance_network::Host::instance_network(&mut self.closed_sockets())
            .map_err(|error| self.handles(error))
    }
}

impl tcp_create_socket::Host for CallGrants {
    fn create_tcp_socket(&mut self, _: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        self.refuse("tcp socket (refused)".to_owned())
    }
}

impl udp_create_socket::Host for CallGrants {
    async fn create_udp_socket(&mut self, _: IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
        self.refuse("udp socket (refused)".to_owned())
    }
}

impl ip_name_lookup::Host for CallGrants {
    fn resolve_addresses(
        &mut self,
        _: Resource<Network>,
        name: String,
    ) -> SocketResult<Resource<ip_name_lookup::ResolveAddressStream>> {
        self.refuse(format!("dns {} (refused)", one_line(&name, NAME_BYTES_MAX)))
    }
}

/// No lookup ever starts, so these meet no stream of theirs: the table answers.
impl ip_name_lookup::HostResolveAddressStream for CallGrants {
    fn resolve_next_address(
        &mut self,
        stream: Resource<ip_name_lookup::ResolveAddressStream>,
    ) -> SocketResult<Option<IpAddress>> {
        ip_name_lookup::HostResolveAddressStream::resolve_next_address(
            &mut self.closed_sockets(),
            stream,
        )
    }

    fn subscribe(
        &mut self,
        stream: Resource<ip_name_lookup::ResolveAddressStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        ip_name_lookup::HostResolveAddressStream::subscribe(&mut self.closed_sockets(), stream)
    }

    fn drop(
        &mut self,
        stream: Resource<ip_name_lookup::ResolveAddressStream>,
    ) -> wasmtime::Result<()> {
        ip_name_lookup::HostResolveAddressStream::drop(&mut self.closed_sockets(), stream)
    }
}
