//! Kinds of components: the subcommands of `foretop stream`, as the command line defines them.

use clap::{Arg, CommandFactory};
use compose::{Kind, Parameter, Takes};

use crate::Cli;

/// Placeholder of a place to connect to, in the help and here.
const ENDPOINT: &str = "ENDPOINT";

/// The components and what each takes.
pub fn kinds() -> Vec<Kind> {
    let mut command = Cli::command();
    // Without it, arguments do not know yet what they take.
    command.build();
    let Some(stream) = command.find_subcommand("stream") else { return Vec::new() };
    let of = |component: &clap::Command| Kind {
        names: std::iter::once(component.get_name()).chain(component.get_all_aliases()).map(str::to_owned).collect(),
        parameters: component.get_arguments().filter_map(parameter).collect(),
    };
    stream.get_subcommands().filter(|component| component.get_name() != "help").map(of).collect()
}

/// `None` for what is not set in a file: the endpoints, which are made of references, and what prints help.
fn parameter(argument: &Arg) -> Option<Parameter> {
    let is_endpoint = argument.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains(ENDPOINT)));
    let is_help = matches!(argument.get_id().as_str(), "help" | "version");
    if is_help || (argument.is_positional() && is_endpoint) {
        return None;
    }
    let takes = match (argument.get_action().takes_values(), is_endpoint) {
        (false, _) => Takes::Nothing,
        (true, true) => Takes::Endpoint,
        (true, false) => Takes::Value,
    };
    let name = argument.get_long().map_or_else(|| argument.get_id().as_str().replace('_', "-"), str::to_owned);
    Some(Parameter { name, takes, is_positional: argument.is_positional() })
}
