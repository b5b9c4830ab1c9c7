//! Flags into values: limits, grants, argument text. Every refusal names the flag.

use std::io::Read;
use std::path::Path;

use bindery::{
    Access, Budget, Clock, DirectoryGrant, EndpointGrant, ErrorType, Grants, LimitName, Randomness,
    Refusal,
};
use cap_std::AmbientAuthority;
use cap_std::fs::Dir;

use crate::args::RunArgs;

/// The budget that the flags of a run ask for.
pub(crate) fn budget(args: &RunArgs) -> Result<Budget, Refusal> {
    let short = [
        ("--fuel", LimitName::Fuel, &args.fuel),
        ("--deadline", LimitName::Deadline, &args.deadline),
        ("--memory", LimitName::Memory, &args.memory),
        ("--output", LimitName::Output, &args.output),
        ("--log", LimitName::Log, &args.log),
    ];
    let short = short
        .iter()
        .filter_map(|(flag, name, text)| Some((*flag, *name, text.as_deref()?)));
    let mut budget = Budget::default();
    let mut seen = std::collections::BTreeSet::new();
    for (flag, name, text) in short {
        seen.insert(name);
        set(&mut budget, flag, name, text)?;
    }
    set_named(&mut budget, &args.limits, &mut seen)?;
    Ok(budget)
}

/// A budget from `--limit NAME=VALUE` alone.
pub(crate) fn budget_of_limits(limits: &[String]) -> Result<Budget, Refusal> {
    let mut budget = Budget::default();
    set_named(&mut budget, limits, &mut std::collections::BTreeSet::new())?;
    Ok(budget)
}

fn set_named(
    budget: &mut Budget,
    limits: &[String],
    seen: &mut std::collections::BTreeSet<LimitName>,
) -> Result<(), Refusal> {
    for text in limits {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            usage(format!(
                "--limit takes NAME=VALUE, such as `fuel=5e9`; got `{text}`"
            ))
        })?;
        let name = LimitName::parse(name).map_err(|error| usage(format!("--limit: {error}")))?;
        if !seen.insert(name) {
            return Err(usage(format!("limit `{}` is set twice", name.as_str())));
        }
        set(budget, "--limit", name, value)?;
    }
    Ok(())
}

fn set(budget: &mut Budget, flag: &str, name: LimitName, text: &str) -> Result<(), Refusal> {
    let limit = name
        .parse_value(text)
        .map_err(|error| usage(format!("{flag}: {error}")))?;
    budget
        .set(name, limit)
        .map_err(|error| usage(format!("{flag}: {error}")))
}

/// The grants that the flags of a run give.
pub(crate) fn grants(args: &RunArgs) -> Result<Grants, Refusal> {
    Ok(Grants {
        directories: args
            .directories
            .iter()
            .map(|text| directory(text))
            .collect::<Result<_, _>>()?,
        endpoints: args
            .endpoints
            .iter()
            .map(|text| endpoint(text))
            .collect::<Result<_, _>>()?,
        config: config(&args.config)?,
        clock: if args.clock {
            Clock::Real
        } else {
            Clock::Virtual
        },
        randomness: if args.random {
            Randomness::Real
        } else {
            Randomness::Seeded
        },
        // No flag gives a store: it would need a place of its own on the host.
        ..Grants::default()
    })
}

fn directory(text: &str) -> Result<DirectoryGrant, Refusal> {
    let (host, guest) = text
        .rsplit_once("::")
        .filter(|(host, guest)| !host.is_empty() && !guest.is_empty())
        .ok_or_else(|| {
            usage(format!(
                "--dir takes HOST::GUEST[:ro|:rw], such as `./data::/data:ro`; got `{text}`"
            ))
        })?;
    let (guest, access) = match guest.rsplit_once(':') {
        None | Some((_, "ro")) => (guest.strip_suffix(":ro").unwrap_or(guest), Access::ReadOnly),
        Some((guest, "rw")) => (guest, Access::ReadWrite),
        Some((_, other)) => {
            return Err(usage(format!(
                "--dir `{text}`: access is `ro` or `rw`, got `{other}`"
            )));
        }
    };
    if guest.contains(':') || !(guest.starts_with('/') || guest == ".") {
        return Err(usage(format!(
            "--dir `{text}`: the guest's path begins with `/` (or is `.`) and has no `:`; got `{guest}`"
        )));
    }
    let dir = open_directory(Path::new(host))
        .map_err(|error| usage(format!("--dir: cannot open `{host}`: {error}")))?;
    DirectoryGrant::new(dir, guest, access)
        .map_err(|error| usage(format!("--dir `{text}`: {error}")))
}

/// Opens a directory with the authority of this process.
///
/// # Ambient Authority
///
/// The one place where a path of the host becomes a handle; everything after holds the
/// handle.
fn open_directory(path: &Path) -> std::io::Result<Dir> {
    Dir::open_ambient_dir(path, authority())
}

/// The process's own authority over the file system: minted here and nowhere else.
#[allow(
    clippy::disallowed_methods,
    reason = "the operator's word turns into a handle here"
)]
pub(crate) fn authority() -> AmbientAuthority {
    cap_std::ambient_authority()
}

fn endpoint(text: &str) -> Result<EndpointGrant, Refusal> {
    EndpointGrant::parse(text).map_err(|error| usage(format!("--endpoint `{text}`: {error}")))
}

fn config(pairs: &[String]) -> Result<Option<std::collections::BTreeMap<String, String>>, Refusal> {
    if pairs.is_empty() {
        return Ok(None);
    }
    let mut values = std::collections::BTreeMap::new();
    for pair in pairs {
        let (key, value) = pair
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| usage(format!("--config takes KEY=VALUE, got `{pair}`")))?;
        if values.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(usage(format!("--config: key `{key}` is given twice")));
        }
    }
    Ok(Some(values))
}

/// The argument text: as given, from a plain file after `@`, or from standard input for `-`;
/// never more than the limit and one byte is read.
pub(crate) fn arguments(given: &str, budget: &Budget) -> Result<String, Refusal> {
    let limit = budget.get(LimitName::Arguments);
    let bytes = match given.strip_prefix('@') {
        Some(path) => bindery::read_arguments(Path::new(path), budget)?,
        None if given == "-" => read_bounded(std::io::stdin().lock(), limit.or_max())
            .map_err(|error| usage(format!("cannot read the arguments: {error}")))?,
        None => return Ok(given.to_owned()),
    };
    String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        Refusal::new(
            ErrorType::ArgumentsInvalid,
            format!("the arguments are not UTF-8 at byte {position}"),
        )
        .with("position", position)
    })
}

fn read_bounded(from: impl Read, limit_bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn usage(message: String) -> Refusal {
    Refusal::new(ErrorType::Usage, message)
}
