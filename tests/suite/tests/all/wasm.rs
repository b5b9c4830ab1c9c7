//! Binary components made to measure, for tests that need them large or odd.

/// An unsigned number as the binary format writes it.
pub(crate) fn leb(out: &mut Vec<u8>, mut value: u32) {
    loop {
        let byte = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

/// Appends a section.
pub(crate) fn section(out: &mut Vec<u8>, id: u8, content: &[u8]) {
    out.push(id);
    leb(out, u32::try_from(content.len()).unwrap());
    out.extend(content);
}

/// A core module of `functions` functions `(i32) -> i32` that all have `body` (its locals,
/// instructions and end).
pub(crate) fn module(functions: u32, body: &[u8]) -> Vec<u8> {
    let mut out = b"\0asm\x01\0\0\0".to_vec();
    section(&mut out, 1, &[1, 0x60, 1, 0x7f, 1, 0x7f]);
    let mut types = Vec::new();
    leb(&mut types, functions);
    types.extend((0..functions).map(|_| 0));
    section(&mut out, 3, &types);
    let mut code = Vec::new();
    leb(&mut code, functions);
    for _ in 0..functions {
        leb(&mut code, u32::try_from(body.len()).unwrap());
        code.extend(body);
    }
    section(&mut out, 10, &code);
    out
}

/// A component that holds `module` and instantiates it.
pub(crate) fn component(module: &[u8]) -> Vec<u8> {
    let mut out = b"\0asm\x0d\0\x01\0".to_vec();
    section(&mut out, 1, module);
    // One core instance: instantiate module 0 with no arguments.
    section(&mut out, 2, &[1, 0, 0, 0]);
    out
}

/// A component that takes the compiler a while: `functions` functions of `rounds` rounds of
/// arithmetic that depends on what came before.
pub(crate) fn heavy(functions: u32, rounds: usize) -> Vec<u8> {
    let mut body = vec![0x00, 0x20, 0x00];
    for round in 0..rounds {
        let number = u8::try_from(round % 61).unwrap() + 1;
        // i32.const n, i32.mul, local.get 0, i32.rotl, local.get 0, i32.add
        body.extend([0x41, number, 0x6c, 0x20, 0x00, 0x77, 0x20, 0x00, 0x6a]);
    }
    body.push(0x0b);
    component(&module(functions, &body))
}
