//! foretop-ace.
