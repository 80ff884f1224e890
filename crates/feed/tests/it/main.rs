//! Feeds against exporters, servers, agents and peers: made-up, hostile and real ones.

mod exporter_hostile;
mod exporter_http;
mod exporter_pages;
mod node_exporter;
mod query;
mod root;
mod simulated_agent;
mod snmp;
mod snmpd;
mod transfer;
