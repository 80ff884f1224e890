//! Small linear algebra and searches for a minimum, which know nothing of models.

pub(crate) mod levenberg_marquardt;
pub(crate) mod nelder_mead;
pub(crate) mod positive_definite;
pub(crate) mod triangle;
