//! The cases of the table as data: argument text in, the output form or the faults out.

mod faults;
mod fits;
mod limits;
mod syntax;

use std::sync::Arc;

use bindery_types::{
    Budget, Case, Enum, Field, Flags, Function, FunctionName, Param, Record, Refusal, Ty, TyId,
    TypeTable, TypeTableBuilder, Variant,
};

use crate::{read_arguments, render};

fn record(builder: &mut TypeTableBuilder, fields: &[(&str, TyId)]) -> TyId {
    let fields = fields
        .iter()
        .map(|(name, ty)| Field {
            name: (*name).into(),
            ty: *ty,
            docs: None,
        })
        .collect();
    builder.add(Ty::Record(Arc::new(Record { name: None, fields })))
}

fn names(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| (*name).into()).collect()
}

/// One parameter of every kind that the cases speak of, each its own function.
struct World {
    types: TypeTable,
    functions: Vec<Function>,
}

fn world() -> World {
    let mut b = TypeTableBuilder::new();
    let [bool_, u8_, u32_, u64_, s8_, s64_] =
        [Ty::Bool, Ty::U8, Ty::U32, Ty::U64, Ty::S8, Ty::S64].map(|ty| b.add(ty));
    let [f32_, f64_, char_, string, bytes] =
        [Ty::F32, Ty::F64, Ty::Char, Ty::String, Ty::Bytes].map(|ty| b.add(ty));
    let opt_u32 = b.add(Ty::Option(u32_));
    let opt_opt = b.add(Ty::Option(opt_u32));
    let opt3 = b.add(Ty::Option(opt_opt));
    let opt_bool = b.add(Ty::Option(bool_));
    let opt_opt_bool = b.add(Ty::Option(opt_bool));
    let opt_string = b.add(Ty::Option(string));
    let absent = record(&mut b, &[("a", opt_string), ("b", opt_opt_bool)]);
    let case = |name: &str, ty| Case {
        name: name.into(),
        ty,
        docs: None,
    };
    let item = b.add(Ty::Variant(Arc::new(Variant {
        name: None,
        cases: vec![case("sku", Some(string)), case("free", None)],
    })));
    let pair = b.add(Ty::Tuple([string, u32_].into()));
    let pairs = b.add(Ty::List(pair));
    let order = record(&mut b, &[("item", item), ("qty", pairs)]);
    let perms = b.add(Ty::Flags(Arc::new(Flags {
        name: None,
        labels: names(&["r", "w", "x"]),
    })));
    let color = b.add(Ty::Enum(Arc::new(Enum {
        name: None,
        cases: names(&["red", "green"]),
    })));
    let opts = record(&mut b, &[("n", u32_)]);
    let strings = b.add(Ty::List(string));
    let numbers = b.add(Ty::List(u8_));
    let result = b.add(Ty::Result {
        ok: Some(u32_),
        err: None,
    });
    let wide_names: Vec<String> = (0..40).map(|n| format!("field-{n}")).collect();
    let wide_fields: Vec<(&str, TyId)> = wide_names.iter().map(|n| (&**n, opt_u32)).collect();
    let wide = record(&mut b, &wide_fields);
    let many = b.add(Ty::List(wide));
    let function = |name: &str, params: &[(&str, TyId)]| Function {
        name: FunctionName::new(None, name).unwrap(),
        docs: None,
        params: params
            .iter()
            .map(|(name, ty)| Param {
                name: (*name).into(),
                ty: *ty,
            })
            .collect(),
        result: None,
        uncallable: None,
    };
    let functions = vec![
        function("nothing", &[]),
        function("ints", &[("x", u64_), ("y", s64_)]),
        function("small", &[("a", u8_), ("b", u32_), ("c", u64_)]),
        function("s8", &[("v", s8_)]),
        function("g", &[("v", opt_opt)]),
        function("g3", &[("v", opt3)]),
        function("h", &[("r", absent)]),
        function("place", &[("o", order)]),
        function("perms", &[("v", perms)]),
        function("color", &[("v", color)]),
        function(
            "json",
            &[("opts", opts), ("tags", strings), ("body", string)],
        ),
        function("f32", &[("v", f32_)]),
        function("f64", &[("v", f64_)]),
        function("char", &[("v", char_)]),
        function("string", &[("v", string)]),
        function("bytes", &[("v", bytes)]),
        function("numbers", &[("v", numbers)]),
        function("result", &[("v", result)]),
        function("many", &[("v", many)]),
    ];
    World {
        types: b.finish(),
        functions,
    }
}

impl World {
    fn read(&self, function: &str, text: &str, budget: &Budget) -> Result<String, Refusal> {
        let function = self
            .functions
            .iter()
            .find(|f| f.name.function() == function)
            .unwrap();
        let tape = read_arguments(text, function, &self.types, budget)?;
        Ok(render(&tape, function, &self.types).unwrap())
    }
}
