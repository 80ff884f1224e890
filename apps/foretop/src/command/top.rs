//! `foretop top`: the terminal view, of a node or on its own.

mod band;
mod feed;
mod inquiry;
mod keys;
mod own;
mod processes;
mod row;
#[cfg(test)]
mod sample;
mod screen;
mod snapshot;
mod state;
mod view;

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use own::OwnNode;
use processes::{LOOK_EVERY, ProcessPane, ROWS_MAX, is_measured};
use snapshot::Snapshot;
use state::{Link, Mode, Sort, State, Update};
use view::Palette;

use command_line::argument::{NodeArgs, TextOrJson};
use command_line::failure::OrUsage;
use command_line::terminal::{has_screen, wants_colour, write_json};
use node_api::{Client, ProcessGrouping, ProcessOrder};
use text::help::examples;
use units::Moment;

/// Longest wait of `--once` for values and forecasts of a node that samples each second.
const PATIENCE: Duration = Duration::from_secs(30);
/// Width of `--once` where there is no terminal to ask.
const WIDTH_DEFAULT: u16 = 120;
/// Height of `--once` with programs, of which there are more than anybody reads.
const PROCESSES_HEIGHT: u16 = 24;

/// Watch signals in the terminal: past, present and forecast
///
/// Without --node, and if no node answers at the default address, it measures this host itself, in memory.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop top",
    "foretop top --node http://db1:7311 --token-file token --sort change",
    "foretop top --once --filter cpu.",
    "foretop top --processes=memory",
    "foretop top --once --processes --at -10min",
]))]
pub struct Top {
    #[command(flatten)]
    node: NodeArgs,

    /// The initial sort order
    #[arg(long, value_enum, default_value = "table")]
    sort: Sort,

    /// Show only signals with this text in their names
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,

    /// Show programs instead of signals, sorted by cpu, memory, read or written
    #[arg(long, value_name = "ORDER", num_args = 0..=1, require_equals = true, default_missing_value = "cpu")]
    processes: Option<ProcessOrder>,

    /// The minute that --processes begins at: a moment, or a length of time before now such as -10min
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true, requires = "processes")]
    at: Option<Moment>,

    /// Print one frame of all signals, or of programs, and exit
    #[arg(long)]
    once: bool,

    /// The format of the output
    #[arg(long, value_enum, default_value = "text", requires = "once")]
    format: TextOrJson,
}

impl Top {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        if !self.once && !has_screen() {
            Err(anyhow::anyhow!("there is no terminal to draw on; `foretop top --once` prints one frame"))
                .or_usage()?;
        }
        let client = self.node.client()?;
        let own = match client.list() {
            Err(error) if error.is_no_node() && self.node.node.is_none() => Some(OwnNode::start()?),
            Err(error) if self.once => return Err(error.into()),
            // A view waits for its node: it may be about to start.
            _ => None,
        };
        let (client, place) = match &own {
            Some(own) => (Client::new(own.url(), None), "this host by itself, in memory".to_owned()),
            None => (client.clone(), client.url().to_string()),
        };
        let mut state = State::new(&place, self.sort, &self.filter);
        if let Some(order) = self.processes {
            (state.mode, state.processes) = (Mode::Processes, ProcessPane::new(order, self.at));
        }
        let ended = if self.once && state.mode == Mode::Processes {
            processes_once(state, &client, self.format, out)
        } else if self.once {
            once(state, client, self.format, out)
        } else {
            let palette = if wants_colour() { Palette::coloured() } else { Palette::plain() };
            screen::run(state, client, &palette)
        };
        if let Some(own) = own {
            own.stop();
        }
        ended
    }
}

fn once(mut state: State, client: Client, format: TextOrJson, out: &mut dyn Write) -> anyhow::Result<()> {
    let (sender, updates) = mpsc::channel();
    feed::start(client, sender);
    let start = clock::instant();
    while !has_forecasts(&state) {
        let update = updates.recv_timeout(PATIENCE.saturating_sub(start.elapsed()));
        let Ok(update) = update else {
            bail!("no forecast came within {} s; the node may sample more slowly", PATIENCE.as_secs());
        };
        if let Update::Link(Link::Lost { reason }) = update {
            bail!("{reason}");
        }
        state.apply(update);
    }
    match format {
        TextOrJson::Json => write_json(out, &Snapshot::of(&state))?,
        TextOrJson::Text => {
            let (width, height) = (width(), view::height_of_all(&state));
            out.write_all(snapshot::to_text(&state, width, height).context("cannot draw the frame")?.as_bytes())?;
        }
    }
    Ok(())
}

/// Prints programs: now as soon as nearly all processes were read twice.
fn processes_once(mut state: State, client: &Client, format: TextOrJson, out: &mut dyn Write) -> anyhow::Result<()> {
    state.apply(Update::Series(client.list()?));
    state.apply(Update::Link(Link::Live));
    let start = clock::instant();
    let table = loop {
        let pane = &state.processes;
        let table = client.processes(ProcessGrouping::Program, pane.sort, ROWS_MAX, pane.at)?;
        if is_measured(&table) || start.elapsed() >= PATIENCE {
            break table;
        }
        clock::sleep(LOOK_EVERY);
    };
    match format {
        TextOrJson::Json => write_json(out, &table)?,
        TextOrJson::Text => {
            state.processes.table = Some(table);
            let text = snapshot::to_text(&state, width(), PROCESSES_HEIGHT).context("cannot draw the frame")?;
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

/// Any one of them will do: a signal that does not vary may never have one.
fn has_forecasts(state: &State) -> bool {
    state.rows.iter().any(|row| row.forecast.is_some())
}

/// The terminal's width if there is one, else that of `COLUMNS`.
fn width() -> u16 {
    let of_terminal = || io::stdout().is_terminal().then(ratatui::crossterm::terminal::size)?.ok();
    let of_environment = || std::env::var("COLUMNS").ok()?.parse().ok();
    of_terminal().map(|(width, _)| width).or_else(of_environment).unwrap_or(WIDTH_DEFAULT).clamp(40, 500)
}
