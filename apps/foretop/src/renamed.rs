//! Commands of 0.1.0 that have other names. The old ones answer for one version.

use std::ffi::OsString;

/// The words typed after `foretop`, and the present name of the command.
const RENAMED: [(&[&str], &[&str]); 2] =
    [(&["load"], &["workload"]), (&["stream", "pool-load"], &["internal", "pool-load"])];

/// The words of a command line, the program's own name first, with today's name of the command; and what to tell
/// whoever typed another one.
pub fn with_current_names(mut words: Vec<OsString>) -> (Vec<OsString>, Option<String>) {
    let first = if words.get(1).is_some_and(|word| word == "help") { 2 } else { 1 };
    let typed = words.get(first..).unwrap_or_default();
    let Some((old, current)) = RENAMED
        .iter()
        .find(|(old, _)| typed.len() >= old.len() && typed.iter().zip(*old).all(|(word, old)| word == old))
    else {
        return (words, None);
    };
    words.splice(first..first + old.len(), current.iter().map(OsString::from));
    let (old, current) = (old.join(" "), current.join(" "));
    let told = format!("`foretop {old}` is called `foretop {current}`; the old name will not work in the next version");
    (words, Some(told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, current: &str) {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        let (got, told) = with_current_names(words(line));
        assert_eq!(got, words(current));
        assert_eq!(told.is_some(), line != current, "{told:?}");
    }

    #[test]
    fn an_old_name_stands_for_the_current_one() {
        check("foretop load mixed --seed 7", "foretop workload mixed --seed 7");
        check("foretop help load", "foretop help workload");
        check("foretop stream pool-load --hosts 5", "foretop internal pool-load --hosts 5");
    }

    #[test]
    fn other_words_stay() {
        for line in
            ["foretop", "foretop help", "foretop workload load", "foretop stream load-server", "foretop ask load"]
        {
            check(line, line);
        }
    }
}
