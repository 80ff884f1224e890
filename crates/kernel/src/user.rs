//! Points that a user names in TOML: raw tracepoints, functions and USDT probes, through programs that are compiled in.

use serde::Deserialize;

use crate::{Attach, Drive, Error, Point, Program, Reading, Subsystem, Timing};

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

/// As many as the programs have room for.
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
}

/// The subsystem `user` with the points of a TOML text. It lives as long as the process.
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

fn program(number: usize, named: &Named) -> Result<Program, Error> {
    let label = &named.label;
    let wrong = |what: &str| Err(Error::UserPoints { wrong: format!("the point `{label}` {what}") });
    let without = leaked(label.clone());
    let Named { tracepoint, function, usdt, file, .. } = named;
    match (tracepoint, function, usdt, file, named.size) {
        (Some(name), None, None, None, size) => {
            let program = match size {
                None => "user_tracepoint",
                Some(1) => "user_tracepoint_1",
                Some(2) => "user_tracepoint_2",
                Some(3) => "user_tracepoint_3",
                Some(4) => "user_tracepoint_4",
                Some(_) => return wrong("has a size that is no argument: of a tracepoint, give 1 to 4"),
            };
            let attach = Attach::UserTracepoint(leaked(name.clone()), number, size);
            Ok(Program { name: program, attach, without })
        }
        (None, Some(function), None, Some(file), None | Some(1..=3)) => {
            let attach = Attach::UserFunction(leaked(file.clone()), leaked(function.clone()), number, named.size);
            Ok(Program { name: "user_function", attach, without })
        }
        (None, Some(_), None, Some(_), _) => wrong("has a size that is no argument: of a function, give 1 to 3"),
        (None, None, Some(probe), Some(file), None | Some(1..=12)) => {
            let Some((provider, name)) =
                probe.split_once(':').filter(|(provider, name)| ![provider, name].contains(&&""))
            else {
                return wrong("has a `usdt` that is no probe: write `provider:name`, as `readelf --notes` lists them");
            };
            let [file, provider, name] = [file, provider, name].map(|text| leaked(text.to_owned()));
            let attach = Attach::UserProbe(file, provider, name, number, named.size);
            Ok(Program { name: "user_probe", attach, without })
        }
        (None, None, Some(_), Some(_), _) => wrong("has a size that is no argument: of a probe, give 1 to 12"),
        _ => wrong("needs either `tracepoint`, or the `file` that its `function` or `usdt` is in"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_tracepoints_or_functions() {
        let text = "[[point]]\nlabel = \"execs\"\ntracepoint = \"sched_process_exec\"\n\n\
                    [[point]]\nlabel = \"malloc\"\nfunction = \"malloc\"\nfile = \"/lib/libc.so\"\nsize = 1\n";
        let user = subsystem(text).unwrap();
        assert_eq!(user.programs[0].attach, Attach::UserTracepoint("sched_process_exec", 0, None));
        assert_eq!(user.programs[1].attach, Attach::UserFunction("/lib/libc.so", "malloc", 1, Some(1)));
        assert_eq!(user.points.iter().map(|point| point.is_sized).collect::<Vec<_>>(), [false, true]);
        let text =
            "[[point]]\nlabel = \"queries\"\nusdt = \"postgresql:query__start\"\nfile = \"/bin/postgres\"\nsize = 12\n";
        let expected = Attach::UserProbe("/bin/postgres", "postgresql", "query__start", 0, Some(12));
        assert_eq!(subsystem(text).unwrap().programs[0].attach, expected);
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
        check_refused("kprobe = \"t\"", "kprobe");
        check_refused("tracepoint = \"t\"\n[[point]]\nlabel = \"a\"\ntracepoint = \"t\"", "given twice");
    }
}
