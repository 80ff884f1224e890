//! `foretop stream`: the components of prediction systems, each a program that is wired to others by its endpoints.

mod buffer;
mod client;
mod eval_fit;
mod find;
mod line;
mod monolith;
mod pool;
mod pred_once;
mod pred_server;
mod question;
mod record;
mod sensor;
mod status;
mod to_measure;
pub mod wiring;

use std::io::Write;

use clap::{Args, Subcommand};

use command_line::failure::end_on_panic;
pub use question::PredReconfig;
use text::help::examples;

/// Run one component of a prediction system
///
/// Endpoints connect sensors, buffers, prediction servers and more to each other.
///
/// An endpoint is ROLE:TRANSPORT:PLACE as in RPS: source:tcp:pyramid:5009 reads a stream, connect:tcp:5011 offers one
/// to any client that connects, target:udp:239.99.99.99:5012 sends one there, accept:tcp:5013 reads from any client
/// that connects, server:unix:/run/load answers requests. docs/formats/stream.md lists them all, docs/components/ has a
/// page for each component.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop stream load-server connect:tcp:5001 server:tcp:5000",
    "foretop stream to-measure load.1m source:tcp:localhost:5001 connect:tcp:5002",
    "foretop stream buffer 1000 source:tcp:localhost:5002 server:tcp:5003 connect:tcp:5004",
    "foretop stream pred-server --model 'AR(16)' --history source:tcp:localhost:5003 source:tcp:localhost:5004 server:tcp:5005 connect:tcp:5006",
    "foretop stream client source:tcp:localhost:5006",
]))]
pub struct Stream {
    #[command(subcommand)]
    component: Component,
}

#[derive(Subcommand)]
enum Component {
    LoadServer(sensor::LoadServer),
    FlowServer(sensor::FlowServer),
    #[command(visible_aliases = ["load-client", "flow-client", "measure-client", "pred-client"])]
    Client(client::Client),
    #[command(visible_aliases = ["load-to-measure", "flow-to-measure"])]
    ToMeasure(to_measure::ToMeasure),
    #[command(visible_aliases = ["load-buffer", "flow-buffer", "measure-buffer", "pred-buffer"])]
    Buffer(buffer::KeepBuffer),
    #[command(visible_aliases = ["load-buffer-client", "flow-buffer-client", "measure-buffer-client", "pred-buffer-client"])]
    BufferClient(buffer::BufferClient),
    #[command(visible_aliases = ["load-reconfig", "flow-reconfig"])]
    Reconfig(question::Reconfig),
    PredServer(pred_server::PredServer),
    PredReconfig(PredReconfig),
    EvalFit(eval_fit::WatchFit),
    #[command(visible_alias = "pred-reqresp-server")]
    PredOnceServer(pred_once::PredOnceServer),
    #[command(visible_alias = "pred-reqresp-client")]
    PredOnceClient(pred_once::PredOnceClient),
    Record(record::Record),
    Play(record::Play),
    Monolith(monolith::RunMonolith),
    Status(status::Status),
    Find(Box<find::Find>),
    PredPool(pool::PredPool),
}

impl Stream {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        end_on_panic();
        match self.component {
            Component::LoadServer(component) => component.run(out),
            Component::FlowServer(component) => component.run(out),
            Component::Client(component) => component.run(out),
            Component::ToMeasure(component) => component.run(out),
            Component::Buffer(component) => component.run(out),
            Component::BufferClient(component) => component.run(out),
            Component::Reconfig(component) => component.run(),
            Component::PredServer(component) => component.run(out),
            Component::PredReconfig(component) => component.run(out),
            Component::EvalFit(component) => component.run(out),
            Component::PredOnceServer(component) => component.run(out),
            Component::PredOnceClient(component) => component.run(out),
            Component::Record(component) => component.run(out),
            Component::Play(component) => component.run(out),
            Component::Monolith(component) => component.run(out),
            Component::Status(component) => component.run(out),
            Component::Find(command) => command.run(out),
            Component::PredPool(component) => component.run(out),
        }
    }
}
