//! Parts of help texts: the examples at the end of a command's help, and the overview of all commands.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;

use crate::catalogue::{GROUPS, Program, started_by_name};

/// The purpose of `help` itself, which is not a command of ours.
const PURPOSE_OF_HELP: &str = "Print this overview, or the help of a command";

/// A help template that lists the commands by group, with the programs after those that are built in.
pub fn overview(command: &Command, programs: &[Program]) -> StyledStr {
    let groups = GROUPS.map(|(group, title, built_in)| {
        let built_in = built_in.iter().map(|name| (*name, purpose(command, name)));
        let of_group = started_by_name(programs).filter(|program| program.group == group);
        let rows: Vec<_> = built_in.chain(of_group.map(|program| (program.name, program.purpose.to_owned()))).collect();
        (title, rows)
    });
    let width = groups.iter().flat_map(|(_, rows)| rows).map(|(name, _)| name.len()).max().unwrap_or(0);
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut template = StyledStr::new();
    let mut push = |text: std::fmt::Arguments<'_>| template.write_fmt(text).expect("a string takes everything");
    push(format_args!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n"));
    for (title, rows) in groups.iter().filter(|(_, rows)| !rows.is_empty()) {
        push(format_args!("\n{header}{title}:{header:#}\n"));
        for (name, purpose) in rows {
            push(format_args!("  {literal}{name}{literal:#}{:gap$}{purpose}\n", "", gap = width - name.len() + 2));
        }
    }
    push(format_args!("\n{header}Options:{header:#}\n{{options}}{{after-help}}"));
    template
}

/// The first line of a command's help.
fn purpose(command: &Command, name: &str) -> String {
    let about = command.find_subcommand(name).and_then(Command::get_about);
    about.map_or_else(|| PURPOSE_OF_HELP.to_owned(), ToString::to_string)
}
