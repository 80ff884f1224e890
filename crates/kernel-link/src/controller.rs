//! A controller: an agent's socket, the nodes that changes are for, and a lease.

use std::path::PathBuf;
use std::time::Duration;

use clock::Stopwatch;
use kernel::control::{Answer, Change, Request, Status};
use kernel::{Client, DEFAULT_SOCKET, Error};

/// Time between two questions whether the lease has come.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Asks one agent. Each question is a connection of its own, so that nothing is shared over a fork, and an agent may
/// begin anew.
pub struct Controller {
    path: PathBuf,
    /// All where there is nothing.
    nodes: Option<Vec<u32>>,
    token: Option<String>,
}

impl Controller {
    /// Opens a controller of the agent at this socket, which has to answer.
    pub fn open(socket: Option<&str>) -> Result<Self, Error> {
        let path = socket.unwrap_or(DEFAULT_SOCKET).into();
        let controller = Self { path, nodes: None, token: None };
        controller.status().map(|_| controller)
    }

    /// Changes are for these nodes from now on; for all, where none is named.
    pub fn set_nodes(&mut self, numbers: &str) -> Result<(), Error> {
        let number = |word: &str| {
            let right = "a number, as in `foretop kernel agent --node 7=tree:4711`";
            word.parse().map_err(|_| Error::Setting { what: "node", value: word.into(), right })
        };
        let nodes: Vec<u32> = numbers.split_whitespace().map(number).collect::<Result<_, _>>()?;
        self.nodes = (!nodes.is_empty()).then_some(nodes);
        Ok(())
    }

    pub fn change(&self, change: Change) -> Result<(), Error> {
        let (token, nodes) = (self.token.clone(), self.nodes.clone());
        self.ask(&Request::Set(Change { token, nodes, ..change })).map(|_| ())
    }

    pub fn status(&self) -> Result<Status, Error> {
        match self.ask(&Request::Status)? {
            Answer::Status(status) => Ok(status),
            other => Err(strange(&other)),
        }
    }

    /// Gets the lease, and waits for it so long at most. One that this controller has is given back first.
    pub fn lease(&mut self, name: &str, seconds: u32, longest: Duration) -> Result<(), Error> {
        self.release()?;
        let wait = !longest.is_zero();
        let (token, mut is_held) = match self.ask(&Request::Lease { name: name.into(), seconds, wait })? {
            Answer::Leased { token, is_held, .. } => (token, is_held),
            other => return Err(strange(&other)),
        };
        let waited = Stopwatch::start();
        while !is_held {
            // A change of nothing is refused, with who holds the lease, until it is this controller's turn.
            match self.ask(&Request::Set(Change { token: Some(token.clone()), ..Change::default() })) {
                Ok(_) => is_held = true,
                Err(Error::AgentRefused { .. }) if waited.elapsed() < longest => clock::sleep(ASK_EVERY),
                Err(error) => {
                    // It leaves the queue; if the agent is gone, so is the queue.
                    let _ = self.ask(&Request::Release { token });
                    return Err(error);
                }
            }
        }
        self.token = Some(token);
        Ok(())
    }

    /// Gives the lease back, if there is one. One whose time is over is not missed.
    pub fn release(&mut self) -> Result<(), Error> {
        let Some(token) = self.token.take() else { return Ok(()) };
        match self.ask(&Request::Release { token }) {
            Ok(_) | Err(Error::AgentRefused { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn ask(&self, request: &Request) -> Result<Answer, Error> {
        Client::connect(&self.path)?.ask(request)
    }
}

/// An agent that answers another question than was asked.
fn strange(answer: &Answer) -> Error {
    Error::AgentRefused { why: format!("its answer is of another question: {answer:?}") }
}
