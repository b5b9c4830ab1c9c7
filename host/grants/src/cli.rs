//! `wasi:cli`: two bounded outputs, and nothing of the host's.
//!
//! Rule (R-007, R-008, C-63, C5): environment, arguments, working directory, terminals
//! and standard input are empty whatever the host has. `exit` ends the call as data (H30,
//! C-47, D7): it is thrown as [`Exit`] and never touches the process.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::cli::{
    environment, exit, stderr, stdin, stdout, terminal_input, terminal_output, terminal_stderr,
    terminal_stdin, terminal_stdout,
};
use wasmtime_wasi::p2::pipe::ClosedInputStream;
use wasmtime_wasi_io::streams::{DynInputStream, DynOutputStream};

use crate::call::{CallGrants, Exit};

impl environment::Host for CallGrants {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        self.enter()?;
        Ok(Vec::new())
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        self.enter()?;
        Ok(Vec::new())
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        self.enter()?;
        Ok(None)
    }
}

impl exit::Host for CallGrants {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        self.enter()?;
        Err(Exit(u8::from(status.is_err())).into())
    }

    fn exit_with_code(&mut self, code: u8) -> wasmtime::Result<()> {
        self.enter()?;
        Err(Exit(code).into())
    }
}

impl stdin::Host for CallGrants {
    fn get_stdin(&mut self) -> wasmtime::Result<Resource<DynInputStream>> {
        self.enter()?;
        let stream: DynInputStream = Box::new(ClosedInputStream);
        let pushed = self.table.push(stream);
        pushed.map_err(|error| self.handles(error.into()))
    }
}

impl CallGrants {
    fn output(&mut self, stream: DynOutputStream) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.enter()?;
        let pushed = self.table.push(stream);
        pushed.map_err(|error| self.handles(error.into()))
    }
}

impl stdout::Host for CallGrants {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.output(self.stdout.stream())
    }
}

impl stderr::Host for CallGrants {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.output(self.stderr.stream())
    }
}

impl terminal_input::Host for CallGrants {}
impl terminal_output::Host for CallGrants {}

/// There is no terminal, so no handle to one: the table answers.
impl terminal_input::HostTerminalInput for CallGrants {
    fn drop(&mut self, this: Resource<terminal_input::TerminalInput>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl terminal_output::HostTerminalOutput for CallGrants {
    fn drop(&mut self, this: Resource<terminal_output::TerminalOutput>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl terminal_stdin::Host for CallGrants {
    fn get_terminal_stdin(
        &mut self,
    ) -> wasmtime::Result<Option<Resource<terminal_input::TerminalInput>>> {
        self.enter()?;
        Ok(None)
    }
}

impl terminal_stdout::Host for CallGrants {
    fn get_terminal_stdout(
        &mut self,
    ) -> wasmtime::Result<Option<Resource<terminal_output::TerminalOutput>>> {
        self.enter()?;
        Ok(None)
    }
}

impl terminal_stderr::Host for CallGrants {
    fn get_terminal_stderr(
        &mut self,
    ) -> wasmtime::Result<Option<Resource<terminal_output::TerminalOutput>>> {
        self.enter()?;
        Ok(None)
    }
}
