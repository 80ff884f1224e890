//! The bandwidth that a new flow between two addresses would get.

mod snmp;

pub use snmp::{
    AgentSettings, Authentication, Cipher, Credentials, Digest, Direction, FlowSettings, Hop, Implausible, Interface,
    LinkSettings, Path, Secret, SecretError, SettingsError, SnmpError, SnmpSettings, SnmpSource, User,
};
