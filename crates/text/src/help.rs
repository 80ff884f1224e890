//! Common parts of the help texts of all programs.

/// The end of a command's help: what it looks like in use, and how it exits.
#[must_use]
pub fn examples(lines: &[&str]) -> String {
    let heading = if lines.len() == 1 { "Example" } else { "Examples" };
    let shown: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!(
        "{heading}:\n{shown}\nExit status:\n  0 done, 1 the work failed, 2 the command or the configuration makes no sense"
    )
}
