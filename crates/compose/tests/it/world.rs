//! Components for tests: what they take, and a shell that stands for all of them.

use compose::{Kind, Launcher, Parameter, Takes};

fn kind(names: &[&str], parameters: &[(&str, Takes, bool)]) -> Kind {
    let parameter = |(name, takes, is_positional): &(&str, Takes, bool)| Parameter {
        name: (*name).to_owned(),
        takes: *takes,
        is_positional: *is_positional,
    };
    Kind {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        parameters: parameters.iter().map(parameter).collect(),
    }
}

/// Some of them are as the real ones are, and some do what is only done in tests.
pub fn kinds() -> Vec<Kind> {
    vec![
        kind(&["load-server"], &[("step", Takes::Value, false)]),
        kind(&["buffer", "measure-buffer"], &[("n", Takes::Value, true)]),
        kind(
            &["pred-server"],
            &[("model", Takes::Value, false), ("history", Takes::Endpoint, false), ("quiet", Takes::Nothing, false)],
        ),
        kind(&["steady"], &[]),
        kind(&["stubborn"], &[]),
        kind(&["failing"], &[]),
        kind(&["brief"], &[]),
        kind(&["third-time"], &[("notes", Takes::Value, false)]),
    ]
}

const SCRIPT: &str = r#"
case "$1" in
steady) trap 'exit 0' TERM; echo "steady is up"; while :; do sleep 1000 & wait; done ;;
stubborn) trap '' TERM; echo "stubborn is up"; while :; do sleep 1000; done ;;
failing) echo "there is no such model" >&2; exit 3 ;;
brief) exit 0 ;;
third-time) echo x >> "$3"; [ "$(wc -l < "$3")" -ge 3 ] || exit 1; trap 'exit 0' TERM; while :; do sleep 1000 & wait; done ;;
esac
"#;

/// Each component is a shell that does as its name says.
pub fn launcher() -> Launcher {
    let arguments = ["-c", SCRIPT, "sh"].map(str::to_owned);
    Launcher { program: "/bin/sh".into(), arguments: arguments.into() }
}
