//! The bandwidth that a new flow would get.

mod transfer;

pub use self::transfer::{
    Direction, Directions, Greeting, MessageError, Request, Responder, ResponderCounts, ResponderSettings,
    SEALED_BYTES, Seal, SharedToken, Speaker, TokenTooShort, TransferSettings, TransferSettingsError, TransferSource,
    Verdict,
};
