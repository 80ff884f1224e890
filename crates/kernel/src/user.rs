//! Points that a user names in TOML: raw tracepoints, functions and USDT probes, through programs that are compiled in.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::recorder::trace_fields;
use crate::{Arguments, Attach, Drive, Error, FIELDS_MAX, Point, Program, Reading, Subsystem, Timing};

/// The subsystem `user` without points.
pub const EMPTY: Subsystem = Subsystem {
    name: "user",
    title: "User",
    purpose: "points that a user named",
    points: &[],
    programs: &[],
    totals: &[],
    from_proc: |_| Ok(Reading::default()),
    proc_lacks: "all of it",
    drive: Drive::None,
};

/// Greatest number of points, as many as the programs have room for.
const POINTS_MAX: usize = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    point: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    label: String,
    tracepoint: Option<String>,
    function: Option<String>,
    usdt: Option<String>,
    file: Option<String>,
    size: Option<u8>,
    /// Fields of traced records, and the arguments that they are.
    #[serde(default)]
    fields: BTreeMap<String, u8>,
}

/// Builds the subsystem `user` with the points of a TOML text. It lives as long as the process.
///
/// # Errors
/// With the point, and what would be right.
pub fn subsystem(text: &str) -> Result<&'static Subsystem, Error> {
    let file: File = toml::from_str(text).map_err(|error| Error::UserPoints { wrong: error.to_string() })?;
    if file.point.is_empty() || file.point.len() > POINTS_MAX {
        return Err(Error::UserPoints { wrong: format!("{} points; give from 1 to {POINTS_MAX}", file.point.len()) });
    }
    let (mut points, mut programs) = (Vec::new(), Vec::new());
    for (number, named) in file.point.into_iter().enumerate() {
        programs.push(program(number, &named)?);
        let label = leaked(named.label);
        if points.iter().any(|point: &Point| point.name == label) {
            return Err(Error::UserPoints { wrong: format!("the label `{label}` is given twice") });
        }
        points.push(Point { name: label, label, timing: Timing::Counted, is_sized: named.size.is_some() });
    }
    let (points, programs) = (Box::leak(points.into_boxed_slice()), Box::leak(programs.into_boxed_slice()));
    Ok(Box::leak(Box::new(Subsystem { points, programs, ..EMPTY })))
}

fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn wrong<T>(label: &str, what: &str) -> Result<T, Error> {
    Err(Error::UserPoints { wrong: format!("the point `{label}` {what}") })
}

/// Programs, one for each number of arguments, as a program may read only those that its tracepoint has.
const AT_TRACEPOINTS: [&str; 5] =
    ["user_tracepoint", "user_tracepoint_1", "user_tracepoint_2", "user_tracepoint_3", "user_tracepoint_4"];

fn program(number: usize, named: &Named) -> Result<Program, Error> {
    let label = &named.label;
    let text = |text: &str| leaked(text.to_owned());
    let Named { tracepoint, function, usdt, file, .. } = named;
    let (name, attach) = match (tracepoint, function, usdt, file) {
        (Some(name), None, None, None) => {
            let arguments = arguments(named, "tracepoint", 4)?;
            let last = named.arguments().max().unwrap_or(0);
            (AT_TRACEPOINTS[usize::from(last)], Attach::UserTracepoint(text(name), number, arguments))
        }
        (None, Some(function), None, Some(file)) => {
            let arguments = arguments(named, "function", 3)?;
            ("user_function", Attach::UserFunction(text(file), text(function), number, arguments))
        }
        (None, None, Some(probe), Some(file)) => {
            let arguments = arguments(named, "probe", 12)?;
            let Some((provider, name)) =
                probe.split_once(':').filter(|(provider, name)| ![provider, name].contains(&&""))
            else {
                let what = "has a `usdt` that is no probe: write `provider:name`, as `readelf --notes` lists them";
                return wrong(label, what);
            };
            ("user_probe", Attach::UserProbe(text(file), text(provider), text(name), number, arguments))
        }
        _ => return wrong(label, "needs either `tracepoint`, or the `file` that its `function` or `usdt` is in"),
    };
    Ok(Program { name, attach, without: text(label) })
}

impl Named {
    fn arguments(&self) -> impl Iterator<Item = u8> {
        self.size.iter().chain(self.fields.values()).copied()
    }
}

/// Returns the size and fields of a point, which is at something with so many arguments at most.
fn arguments(named: &Named, at: &str, most: u8) -> Result<Arguments, Error> {
    let Named { label, size, fields, .. } = named;
    if named.arguments().any(|argument| !(1..=most).contains(&argument)) {
        return wrong(label, &format!("has a size or field that is no argument: of a {at}, give 1 to {most}"));
    }
    if fields.len() > FIELDS_MAX {
        return wrong(label, &format!("has {} fields; give up to {FIELDS_MAX}", fields.len()));
    }
    let all = trace_fields();
    if let Some(name) = fields.keys().find(|name| all.iter().any(|field| field.name == **name)) {
        let what = format!("has a field `{name}`, which all records of events have: call it something else");
        return wrong(label, &what);
    }
    let fields = fields.iter().map(|(name, argument)| (leaked(name.clone()), *argument));
    Ok(Arguments { size: *size, fields: Box::leak(fields.collect()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_tracepoints_or_functions() {
        let text = "[[point]]\nlabel = \"execs\"\ntracepoint = \"sched_process_exec\"\n\n\
                    [[point]]\nlabel = \"malloc\"\nfunction = \"malloc\"\nfile = \"/lib/libc.so\"\nsize = 1\n";
        let user = subsystem(text).unwrap();
        assert_eq!(user.programs[0].attach, Attach::UserTracepoint("sched_process_exec", 0, Arguments::default()));
        assert_eq!(
            user.programs[1].attach,
            Attach::UserFunction("/lib/libc.so", "malloc", 1, Arguments { size: Some(1), fields: &[] })
        );
        assert_eq!(user.points.iter().map(|point| point.is_sized).collect::<Vec<_>>(), [false, true]);
        let text = "[[point]]\nlabel = \"queries\"\nusdt = \"postgresql:query__start\"\nfile = \"/bin/postgres\"\nsize = 12\n\
                    fields = { rows = 3, database = 2 }\n";
        let arguments = Arguments { size: Some(12), fields: &[("database", 2), ("rows", 3)] };
        let expected = Attach::UserProbe("/bin/postgres", "postgresql", "query__start", 0, arguments);
        let user = subsystem(text).unwrap();
        assert_eq!((user.programs[0].attach, user.fields(0)), (expected, arguments.fields));
        let text =
            "[[point]]\nlabel = \"forks\"\ntracepoint = \"sched_process_fork\"\nsize = 1\nfields = { child = 2 }\n";
        assert_eq!(subsystem(text).unwrap().programs[0].name, "user_tracepoint_2", "the last argument that it reads");
    }

    #[track_caller]
    fn check_refused(point: &str, part: &str) {
        let error = subsystem(&format!("[[point]]\nlabel = \"a\"\n{point}")).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn what_is_no_point_is_told_with_its_label() {
        check_refused("", "the point `a` needs either `tracepoint`");
        check_refused("function = \"f\"", "the `file` that");
        check_refused("usdt = \"p:n\"", "the `file` that");
        check_refused("usdt = \"p:\"\nfile = \"f\"", "`provider:name`");
        check_refused("usdt = \"p:n\"\nfile = \"f\"\nsize = 13", "give 1 to 12");
        check_refused("tracepoint = \"t\"\nsize = 9", "give 1 to 4");
        check_refused("tracepoint = \"t\"\nfields = { a = 0 }", "give 1 to 4");
        check_refused("tracepoint = \"t\"\nfields = { a = 1, b = 1, c = 1, d = 1, e = 1 }", "up to 4");
        check_refused("tracepoint = \"t\"\nfields = { start_ns = 1 }", "call it something else");
        check_refused("kprobe = \"t\"", "kprobe");
        check_refused("tracepoint = \"t\"\n[[point]]\nlabel = \"a\"\ntracepoint = \"t\"", "given twice");
    }
}
