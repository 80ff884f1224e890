//! The sensors on recorded and on made-up hosts.

mod cpu_availability;
mod document;
mod hostile;
mod recorded;
mod scene;
mod simulated_agent;
mod snmp;
mod snmpd;
mod trouble;
