//! What becomes of each message of a batch.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use crate::after::with;
use crate::service::contain::Panicked;
use crate::service::outcome::{BoxError, HandlerError, Outcome};
use crate::service::running::Signal;

/// What was said of a message.
#[derive(Debug, Clone)]
pub(super) enum Given {
    Outcome(Outcome),
    Failed(HandlerError),
    Panicked(Panicked),
}

impl From<Given> for Result<Outcome, BoxError> {
    fn from(given: Given) -> Self {
        match given {
            Given::Outcome(outcome) => Ok(outcome),
            Given::Failed(error) => Err(error.into()),
            Given::Panicked(error) => Err(error.into()),
        }
    }
}

/// A place for each message of one batch. The first word on a message counts.
#[derive(Debug)]
pub(super) struct Answers {
    places: Mutex<Vec<Place>>,
    /// Wakes the batch's task.
    pub(super) signal: Signal,
}

#[derive(Debug)]
enum Place {
    /// Nothing was said; whoever waits is woken.
    Awaited(Option<Waker>),
    Given(Given),
    /// It was said, and heard.
    Read,
    /// Nobody waits any more: its handling was stopped.
    Abandoned,
}

impl Answers {
    pub(super) fn new() -> Self {
        Self {
            places: Mutex::default(),
            signal: Signal::default(),
        }
    }

    /// A place for one more message, and the future that waits in it.
    pub(super) fn open(self: &Arc<Self>) -> Answering {
        let place = with(&self.places, |places, _| {
            places.push(Place::Awaited(None));
            places.len() - 1
        });
        Answering {
            answers: Arc::clone(self),
            place,
        }
    }

    pub(super) fn give(&self, place: usize, given: Given) {
        with(&self.places, |places, after| {
            let place = &mut places[place];
            if let Place::Awaited(waker) = place {
                after.wake.extend(waker.take());
                *place = Place::Given(given);
            }
        });
    }

    /// Says it of all that nothing was said of.
    pub(super) fn give_rest(&self, given: &Given) {
        with(&self.places, |places, after| {
            for place in places {
                if let Place::Awaited(waker) = place {
                    after.wake.extend(waker.take());
                    *place = Place::Given(given.clone());
                }
            }
        });
    }

    /// Whether a message is still waited for. One that is not was given back before its batch
    /// began, and no more is thought of it.
    pub(super) fn keeps(&self, place: usize) -> bool {
        with(&self.places, |places, _| {
            let place = &mut places[place];
            let keeps = matches!(place, Place::Awaited(_));
            if !keeps {
                *place = Place::Read;
            }
            keeps
        })
    }

    /// Whether nothing is left to be said, and some of the messages were given back meanwhile:
    /// what the handler still does is for nobody.
    pub(super) fn is_deserted(&self) -> bool {
        with(&self.places, |places, _| {
            let awaited = |place: &Place| matches!(place, Place::Awaited(_));
            let abandoned = |place: &Place| matches!(place, Place::Abandoned);
            places.iter().any(abandoned) && !places.iter().any(awaited)
        })
    }

    fn poll(&self, place: usize, cx: &mut Context<'_>) -> Poll<Given> {
        with(&self.places, |places, after| {
            let place = &mut places[place];
            match place {
                Place::Awaited(waker) => {
                    after.drop(waker.replace(cx.waker().clone()));
                    Poll::Pending
                }
                Place::Given(_) => match std::mem::replace(place, Place::Read) {
                    Place::Given(given) => Poll::Ready(given),
                    Place::Awaited(_) | Place::Read | Place::Abandoned => Poll::Pending,
                },
                // Polled after it was ready.
                Place::Read | Place::Abandoned => Poll::Pending,
            }
        })
    }

    fn abandon(&self, place: usize) {
        let was_awaited = with(&self.places, |places, after| {
            let place = &mut places[place];
            let Place::Awaited(waker) = place else {
                return false;
            };
            after.drop(waker.take());
            *place = Place::Abandoned;
            true
        });
        if was_awaited {
            self.signal.wake();
        }
    }
}

/// Waits for what becomes of a message of a batch.
#[derive(Debug)]
pub(super) struct Answering {
    answers: Arc<Answers>,
    pub(super) place: usize,
}

impl Future for Answering {
    type Output = Given;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Given> {
        self.answers.poll(self.place, cx)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.answers.abandon(self.place);
    }
}
