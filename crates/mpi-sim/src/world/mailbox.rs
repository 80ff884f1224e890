//! Messages that have been sent to a rank, and the receives that the rank posted.
//!
//! The first message by arrival goes to the first receive that fits it, then the next message, and so on. As both
//! orders are the same for everybody, that matching is the only stable one, and whether a message or its receive was
//! there first does not matter. So a receive that names its source is matched as soon as both are there, unless an
//! earlier receive may take the message or an earlier message may go to the receive; and one that names none when no
//! earlier message can come.

use units::SimTime;

use crate::message::{Envelope, Handle, Message, MessageId, Wanted};

/// A receive that has no message yet.
pub(crate) struct Post {
    pub(crate) handle: Handle,
    pub(crate) wanted: Wanted,
    pub(crate) at: SimTime,
    /// Whether messages of several sources may fit, so that the first to arrive has to be known.
    pub(crate) is_wild: bool,
}

/// Messages and receives that have not found each other.
#[derive(Default)]
pub(super) struct Mailbox {
    /// Posted receives, in the order of posting.
    posts: Vec<Post>,
    /// Messages without a receive; those of one source are in the order of sending.
    messages: Vec<Message>,
    /// Wild ones among `posts`.
    n_wild: u32,
    /// Whether something went that stood between a message and its receive.
    is_cleared: bool,
}

impl Mailbox {
    /// Takes a message: the receive that it goes to, if that is known; else it stays.
    pub(super) fn deliver(&mut self, message: Message) -> Option<(Post, Message)> {
        if let Some(idx) = self.receive_of(&message.envelope, self.messages.len()) {
            return Some((self.posts.remove(idx), message));
        }
        self.messages.push(message);
        None
    }

    /// Takes a receive: the message that it gets, if that is known; else it stays.
    pub(super) fn post(&mut self, post: Post) -> Option<(Post, Message)> {
        if post.is_wild {
            self.n_wild += 1;
        } else {
            let found = self.messages.iter().position(|message| post.wanted.fits(&message.envelope));
            if let Some(idx) = found.filter(|idx| !self.is_claimed(&self.messages[*idx].envelope)) {
                return Some((post, self.messages.remove(idx)));
            }
        }
        self.posts.push(post);
        None
    }

    /// Gives a message that arrives before `bound`, before which none can come any more, to its receive. To be called
    /// until there is none.
    pub(super) fn settle(&mut self, bound: SimTime) -> Option<(Post, Message)> {
        if self.is_cleared {
            for idx in 0..self.messages.len() {
                if let Some(post_idx) = self.receive_of(&self.messages[idx].envelope, idx) {
                    return Some((self.posts.remove(post_idx), self.messages.remove(idx)));
                }
            }
            self.is_cleared = false;
        }
        let idx = self.first_claimed().filter(|idx| self.messages[*idx].at < bound)?;
        let message = self.messages.remove(idx);
        let post_idx = self.posts.iter().position(|post| post.wanted.fits(&message.envelope))?;
        Some((self.remove_post(post_idx), message))
    }

    /// Returns the arrival time of the first message that some receive waits for; none if bounds do not matter.
    pub(super) fn settles(&self) -> Option<SimTime> {
        self.first_claimed().map(|idx| self.messages[idx].at)
    }

    /// Returns the arrival time of the first message that `wanted` may get.
    pub(super) fn earliest(&self, wanted: &Wanted) -> Option<SimTime> {
        self.first(|message| wanted.fits(&message.envelope)).map(|idx| self.messages[idx].at)
    }

    /// The message that a probe finds: the first that is not for an earlier receive.
    pub(super) fn probe(&self, wanted: &Wanted) -> Option<&Message> {
        let idx = self.first(|message| wanted.fits(&message.envelope) && !self.is_claimed(&message.envelope))?;
        Some(&self.messages[idx])
    }

    /// Takes out what a probe found.
    pub(super) fn take(&mut self, id: MessageId) -> Option<Message> {
        let idx = self.messages.iter().position(|message| message.id == id)?;
        self.is_cleared = true;
        Some(self.messages.remove(idx))
    }

    /// Puts a message back before all others.
    pub(super) fn put_back(&mut self, message: Message) {
        self.messages.insert(0, message);
        self.is_cleared = true;
    }

    /// Takes back a receive that has no message.
    pub(super) fn withdraw(&mut self, handle: Handle) {
        if let Some(idx) = self.posts.iter().position(|post| post.handle == handle) {
            self.remove_post(idx);
        }
    }

    /// The receive of an operation, if it has no message.
    pub(super) fn posted(&self, handle: Handle) -> Option<&Post> {
        self.posts.iter().find(|post| post.handle == handle)
    }

    /// Whether a wild receive waits: then other sources matter to receives that name one.
    pub(super) fn has_wild(&self) -> bool {
        self.n_wild > 0
    }

    /// Returns the requests of wild receives.
    pub(super) fn wild(&self) -> impl Iterator<Item = &Wanted> {
        let posts = if self.n_wild > 0 { self.posts.as_slice() } else { &[] };
        posts.iter().filter(|post| post.is_wild).map(|post| &post.wanted)
    }

    /// Whether a wild receive may get a message that `wanted` fits.
    pub(super) fn is_contested(&self, wanted: &Wanted) -> bool {
        self.wild().any(|wild| wild.overlaps(wanted))
    }

    /// Returns the messages that nobody received.
    pub(super) fn left(&self) -> impl Iterator<Item = &Envelope> {
        self.messages.iter().map(|message| &message.envelope)
    }

    fn is_claimed(&self, envelope: &Envelope) -> bool {
        self.posts.iter().any(|post| post.wanted.fits(envelope))
    }

    /// The receive that a message of this envelope goes to in any case; `n_before` messages came before it.
    fn receive_of(&self, envelope: &Envelope, n_before: usize) -> Option<usize> {
        let idx = self.posts.iter().position(|post| post.wanted.fits(envelope))?;
        let post = &self.posts[idx];
        let is_first = || !self.messages[..n_before].iter().any(|message| post.wanted.fits(&message.envelope));
        (!post.is_wild && is_first()).then_some(idx)
    }

    /// The first message that some receive waits for, where a wild one waits.
    fn first_claimed(&self) -> Option<usize> {
        if self.n_wild == 0 {
            return None;
        }
        self.first(|message| self.is_claimed(&message.envelope))
    }

    fn remove_post(&mut self, idx: usize) -> Post {
        let post = self.posts.remove(idx);
        self.n_wild -= u32::from(post.is_wild);
        self.is_cleared = true;
        post
    }

    /// The first by arrival, source, and order of sending.
    fn first(&self, fits: impl Fn(&Message) -> bool) -> Option<usize> {
        let found = self.messages.iter().enumerate().filter(|(_, message)| fits(message));
        found.min_by_key(|(_, message)| (message.at, message.envelope.source)).map(|(idx, _)| idx)
    }
}
