//! Both ends of a connection prove that they have the same token, and neither shows it.
//!
//! Whoever connects says what for; the listener proves first, so that nobody learns anything by listening at an address
//! that others are sent to. A proof is of both nonces, of the purpose, of who speaks and, under TLS, of that very
//! connection (RFC 5705), so that nobody in the middle can pass it on. Specified in `docs/formats/stream.md`.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use secret::Token;
use secret::proof::{Nonce, Seal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::error::{LoginError, ReadError};
use crate::frame::{Decoder, Frame};
use crate::message::{Greeting, Message, Payload, Purpose};
use crate::transport::{Binding, Connection};

/// Time limit within which a visitor must identify itself.
pub(crate) const LOGIN_LIMIT: Duration = Duration::from_secs(5);

/// Time that a visitor with a wrong proof has to wait before it can try again on a connection of its own.
const WRONG_PAUSE: Duration = Duration::from_secs(1);

/// Greetings are of some dozen bytes. Nobody gets more room before it has proved anything.
const GREETING_BYTES_MAX: usize = 1024;

const LISTENER: &[u8] = b"foretop stream 2 listener";
const VISITOR: &[u8] = b"foretop stream 2 visitor";

/// The side that connects: has the listener prove itself, and proves itself then.
pub(crate) async fn log_in(
    connection: &mut Connection,
    binding: Binding,
    purpose: Purpose,
    token: &Token,
) -> Result<(), LoginError> {
    let said = said(purpose, binding);
    let mut decoder = Decoder::with_limit(GREETING_BYTES_MAX);
    let ours = nonce()?;
    say(connection, &Greeting::Hello { purpose, nonce: ours }).await?;
    let answer = next_greeting(connection, &mut decoder).await;
    let Ok(Greeting::Challenge { nonce, proof }) = answer else {
        return Err(LoginError::Listener { answer: answer.err().map(Box::new) });
    };
    let seal = Seal::new(token.clone(), ours, nonce);
    if !seal.is_proof(LISTENER, &said, &proof) {
        return Err(LoginError::Proof);
    }
    say(connection, &Greeting::Response { proof: seal.proof(VISITOR, &said) }).await
}

/// The side that listens: proves itself, and has the visitor prove itself then. A wrong proof is told after a pause.
pub(crate) async fn check_in(
    connection: &mut Connection,
    binding: Binding,
    purpose: Purpose,
    token: &Token,
) -> Result<Decoder, LoginError> {
    let said = said(purpose, binding);
    let mut decoder = Decoder::with_limit(GREETING_BYTES_MAX);
    let Greeting::Hello { purpose: wanted, nonce: theirs } = next_greeting(connection, &mut decoder).await? else {
        return Err(LoginError::Order);
    };
    if wanted != purpose {
        return Err(LoginError::Purpose { wanted, purpose });
    }
    let ours = nonce()?;
    let seal = Seal::new(token.clone(), theirs, ours);
    say(connection, &Greeting::Challenge { nonce: ours, proof: seal.proof(LISTENER, &said) }).await?;
    let Greeting::Response { proof } = next_greeting(connection, &mut decoder).await? else {
        return Err(LoginError::Order);
    };
    if !seal.is_proof(VISITOR, &said, &proof) {
        tokio::time::sleep(WRONG_PAUSE).await;
        return Err(LoginError::Proof);
    }
    Ok(decoder.without_limit())
}

fn said(purpose: Purpose, binding: Binding) -> Vec<u8> {
    [&[purpose as u8], &binding[..]].concat()
}

fn nonce() -> Result<Nonce, LoginError> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(io::Error::other).map_err(ReadError::Io)?;
    Ok(nonce)
}

async fn say(connection: &mut Connection, greeting: &Greeting) -> Result<(), LoginError> {
    let mut bytes = BytesMut::new();
    greeting.encode(&mut bytes).map_err(ReadError::Message)?;
    let sent = async {
        connection.bytes_out.write_all(&bytes).await?;
        connection.bytes_out.flush().await
    };
    Ok(sent.await.map_err(ReadError::Io)?)
}

async fn next_greeting(connection: &mut Connection, decoder: &mut Decoder) -> Result<Greeting, LoginError> {
    let frame = next_frame(connection, decoder).await?;
    match Message::decode(&frame).map_err(ReadError::Message)? {
        Message::Greeting(greeting) => Ok(greeting),
        _ => Err(LoginError::Order),
    }
}

/// The next frame that comes; that there is none is an error.
pub(crate) async fn next_frame(connection: &mut Connection, decoder: &mut Decoder) -> Result<Frame, ReadError> {
    loop {
        if let Some(frame) = decoder.next_frame()? {
            return Ok(frame);
        }
        if connection.bytes_in.read_buf(decoder.buffer()).await? == 0 {
            decoder.finish()?;
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::DuplexStream;

    use super::*;

    const OURS: &str = "a-secret-of-some-length";

    fn token(text: &str) -> Token {
        Token::new(text).unwrap()
    }

    fn pair() -> [Connection; 2] {
        let (visitor, listener): (DuplexStream, DuplexStream) = tokio::io::duplex(4096);
        [Connection::new(visitor), Connection::new(listener)]
    }

    /// Returns the results of both sides of a login, whose tokens and connections may differ.
    async fn meet(
        (visitors, listeners): (&str, &str),
        bindings: [u8; 2],
    ) -> (Result<(), LoginError>, Result<(), LoginError>) {
        let [visitor, mut listener] = pair();
        let [theirs, ours] = bindings.map(|byte| [byte; 32]);
        let (visitors, listeners) = (token(visitors), token(listeners));
        let visit = async {
            // One that is refused goes.
            let mut visitor = visitor;
            log_in(&mut visitor, theirs, Purpose::Reader, &visitors).await
        };
        let (visited, checked) = tokio::join!(visit, check_in(&mut listener, ours, Purpose::Reader, &listeners));
        (visited, checked.map(drop))
    }

    #[test]
    fn the_proofs_are_those_of_the_document() {
        let document = include_str!("../../../docs/formats/stream.md");
        let seal = Seal::new(token("sixteen bytes ok"), [0xa1; 32], [0xb2; 32]);
        for speaker in [LISTENER, VISITOR] {
            let proof = seal.proof(speaker, &said(Purpose::Reader, Binding::default()));
            let written: String = proof.iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(document.contains(&written), "the document lacks {written}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_token_on_the_same_connection_lets_in_and_nothing_else_does() {
        let (visited, checked) = meet((OURS, OURS), [0, 0]).await;
        assert!(visited.is_ok() && checked.is_ok(), "{visited:?} {checked:?}");
        for (tokens, bindings) in [((OURS, "another-of-some-length"), [0, 0]), ((OURS, OURS), [1, 2])] {
            let (visited, checked) = meet(tokens, bindings).await;
            assert!(matches!(visited, Err(LoginError::Proof)), "{visited:?}");
            assert!(checked.is_err(), "who is not believed leaves without a proof");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn somebody_who_only_repeats_what_was_said_is_told_so_after_a_pause() {
        let [mut visitor, mut listener] = pair();
        let repeat = async {
            say(&mut visitor, &Greeting::Hello { purpose: Purpose::Reader, nonce: [1; 32] }).await.unwrap();
            let mut decoder = Decoder::default();
            let Greeting::Challenge { proof, .. } = next_greeting(&mut visitor, &mut decoder).await.unwrap() else {
                panic!("no challenge")
            };
            say(&mut visitor, &Greeting::Response { proof }).await.unwrap();
        };
        let began = tokio::time::Instant::now();
        let (ours, purpose) = (token(OURS), Purpose::Reader);
        let (checked, ()) = tokio::join!(check_in(&mut listener, [0; 32], purpose, &ours), repeat);
        assert!(matches!(checked, Err(LoginError::Proof)));
        assert_eq!(began.elapsed(), WRONG_PAUSE);
    }

    #[tokio::test]
    async fn whoever_has_not_proved_itself_is_shown_nothing_and_given_no_room() {
        let [mut visitor, mut listener] = pair();
        let mut long = BytesMut::new();
        crate::frame::encode(crate::frame::Kind::Greeting, &mut long, |out| {
            out.extend_from_slice(&[1; GREETING_BYTES_MAX + 1]);
            Ok(())
        })
        .unwrap();
        visitor.bytes_out.write_all(&long).await.unwrap();
        let error = check_in(&mut listener, [0; 32], Purpose::Reader, &token(OURS)).await.unwrap_err();
        assert!(matches!(error, LoginError::Read(ReadError::Frame(_))), "{error:?}");

        let [mut visitor, mut impostor] = pair();
        let guess = async {
            let mut decoder = Decoder::default();
            let hello = next_greeting(&mut impostor, &mut decoder).await.unwrap();
            assert!(matches!(hello, Greeting::Hello { .. }));
            say(&mut impostor, &Greeting::Challenge { nonce: [2; 32], proof: [3; 32] }).await.unwrap();
            let mut rest = Vec::new();
            impostor.bytes_in.read_to_end(&mut rest).await.unwrap();
            rest
        };
        let ask = async {
            let refused = log_in(&mut visitor, [0; 32], Purpose::Reader, &token(OURS)).await;
            drop(visitor);
            refused
        };
        let (rest, refused) = tokio::join!(guess, ask);
        assert!(rest.is_empty() && matches!(refused, Err(LoginError::Proof)), "{rest:?}");
    }
}
