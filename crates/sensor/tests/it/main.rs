//! The sensors on recorded and on made-up hosts, and on exporters.

mod cpu_availability;
mod document;
mod exporter_hostile;
mod exporter_http;
mod exporter_pages;
mod hostile;
mod node_exporter;
mod query;
mod recorded;
mod root;
mod scene;
mod simulated_agent;
mod snmp;
mod snmpd;
mod transfer;
mod trouble;
