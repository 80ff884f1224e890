//! Weights of hosts: the availability that their nodes forecast.

use std::time::Duration;

use anyhow::Context;
use node_api::NodeUrl;
use units::Confidence;

use command_line::argument::NodeAccess;

/// Port of a node, where no other is configured.
const PORT: u16 = 7311;
/// Share of a core that a new process gets.
const SIGNAL: &str = "cpu.availability";

/// Asks the node of each host for its mean availability over the time ahead.
pub fn forecast(hosts: &[String], ahead: Duration, access: &NodeAccess) -> anyhow::Result<Vec<f64>> {
    let url = |host: &String| Ok(format!("http://{host}:{PORT}").parse::<NodeUrl>()?);
    let urls = hosts.iter().map(url).collect::<anyhow::Result<Vec<NodeUrl>>>()?;
    let clients = access.clients(urls)?;
    let weight = |(client, host): (node_api::Client, &String)| {
        let forecast = client.forecast(SIGNAL, ahead, Confidence::default());
        let forecast = forecast.with_context(|| format!("cannot weigh `{host}`: its node must forecast {SIGNAL}"))?;
        let n_steps = forecast.mean.len().max(1);
        Ok(forecast.mean.iter().map(|mean| mean.clamp(0.0, 1.0)).sum::<f64>() / n_steps as f64)
    };
    clients.into_iter().zip(hosts).map(weight).collect()
}
