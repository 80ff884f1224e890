//! Time that the operating system takes: late iterations under allreduce, detours of a single host, and their causes.
