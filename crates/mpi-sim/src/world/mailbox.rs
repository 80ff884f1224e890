//! What has been sent to a rank, and what it asked to receive.
//!
//! The first message by arrival goes to the first receive that fits it, then the next message, and so on. As both
//! orders are the same for everybody, that matching is the only stable one, and whether a message or its receive was
//! there first does not matter. So a receive that names its source is matched as soon as both are there, unless an
//! earlier one that names none may take the message; and that one when no earlier message can come.

use units::SimTime;

use crate::message::{Envelope, Handle, Message, MessageId, Wanted};

/// A receive that has no message yet.
pub(crate) struct Post {
    pub(crate) handle: Handle,
    pub(crate) wanted: Wanted,
    pub(crate) at: SimTime,
}

/// Messages and receives that have not found each other.
#[derive(Default)]
pub(super) struct Mailbox {
    /// In the order in which they were asked for.
    posts: Vec<Post>,
    /// Of one source in the order of sending.
    messages: Vec<Message>,
    /// Receives among `posts` that name no source.
    n_wild: u32,
}

impl Mailbox {
    /// Takes a message: the receive that it goes to, if that is known; else it stays.
    pub(super) fn deliver(&mut self, message: Message) -> Option<(Post, Message)> {
        let first = self.posts.iter().position(|post| post.wanted.fits(&message.envelope));
        match first {
            Some(idx) if self.posts[idx].wanted.source.is_some() => Some((self.posts.remove(idx), message)),
            _ => {
                self.messages.push(message);
                None
            }
        }
    }

    /// Takes a receive: the message that it gets, if that is known; else it stays.
    pub(super) fn post(&mut self, post: Post) -> Option<(Post, Message)> {
        if post.wanted.source.is_some() {
            let found = self.messages.iter().position(|message| post.wanted.fits(&message.envelope));
            if let Some(idx) = found
                && !self.is_claimed(&self.messages[idx].envelope)
            {
                return Some((post, self.messages.remove(idx)));
            }
        } else {
            self.n_wild += 1;
        }
        self.posts.push(post);
        None
    }

    /// Gives the next message that arrives before `bound`, before which none can come any more, to its receive. To be
    /// called until there is none.
    pub(super) fn settle(&mut self, bound: SimTime) -> Option<(Post, Message)> {
        if self.n_wild == 0 {
            return None;
        }
        let fitted = |message: &Message| self.posts.iter().any(|post| post.wanted.fits(&message.envelope));
        let idx = self.first(|message| message.at < bound && fitted(message))?;
        let envelope = self.messages[idx].envelope;
        let post_idx = self.posts.iter().position(|post| post.wanted.fits(&envelope))?;
        Some((self.remove_post(post_idx), self.messages.remove(idx)))
    }

    /// When the first message arrives that `wanted` may get.
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
        Some(self.messages.remove(idx))
    }

    /// Takes back a receive that has no message.
    pub(super) fn withdraw(&mut self, handle: Handle) -> bool {
        let found = self.posts.iter().position(|post| post.handle == handle);
        found.map(|idx| self.remove_post(idx)).is_some()
    }

    /// The receive of an operation, if it has no message.
    pub(super) fn posted(&self, handle: Handle) -> Option<&Post> {
        self.posts.iter().find(|post| post.handle == handle)
    }

    /// Whether a receive that names no source waits: then other sources matter to those that name one.
    pub(super) fn has_wild(&self) -> bool {
        self.n_wild > 0
    }

    /// Whether a receive that names no source may get a message that `wanted` fits.
    pub(super) fn is_contested(&self, wanted: &Wanted) -> bool {
        self.n_wild > 0 && self.posts.iter().any(|post| post.wanted.source.is_none() && post.wanted.overlaps(wanted))
    }

    /// What nobody received.
    pub(super) fn left(&self) -> impl Iterator<Item = &Envelope> {
        self.messages.iter().map(|message| &message.envelope)
    }

    fn is_claimed(&self, envelope: &Envelope) -> bool {
        self.posts.iter().any(|post| post.wanted.fits(envelope))
    }

    fn remove_post(&mut self, idx: usize) -> Post {
        let post = self.posts.remove(idx);
        self.n_wild -= u32::from(post.wanted.source.is_none());
        post
    }

    /// The first by arrival, source, and order of sending.
    fn first(&self, fits: impl Fn(&Message) -> bool) -> Option<usize> {
        let found = self.messages.iter().enumerate().filter(|(_, message)| fits(message));
        found.min_by_key(|(_, message)| (message.at, message.envelope.source)).map(|(idx, _)| idx)
    }
}
