//! Overlap of computation and communication: polling, post-work-wait, double buffering, and verdicts on the three.
