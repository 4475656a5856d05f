//! Gathers messages into batches.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use pubsink_core::text::Text;
use tracing::Span;

use super::answers::{Answering, Answers, Given};
use super::{Batch, Item, Ticket};
use crate::in_span::in_span;
use crate::place::{Place, spawn};
use crate::service::contain::contained_future;
use crate::service::context::Context;
use crate::service::from_message::FromMessage;
use crate::service::outcome::{BoxError, HandlerError, Outcome};
use crate::service::pump::poll_until;

/// How large a batch becomes, and how long it waits for that.
#[derive(Debug, Clone, Copy)]
pub(in crate::service) struct BatchOptions {
    pub(in crate::service) max: usize,
    pub(in crate::service) linger: Duration,
}

type Run<T> = Box<dyn Fn(Batch<T>) -> Running + Send + Sync>;
type Running = Pin<Box<dyn Future<Output = Result<Outcome, BoxError>> + Send>>;

/// Gathers messages into batches, and runs the handler on each.
///
/// To the layers around it, it is a handler of single messages that waits for what becomes of
/// each. So a message that a layer gives up while it waits is given up alone.
pub(in crate::service) struct Collector<T> {
    options: BatchOptions,
    subscription: Text,
    place: Arc<dyn Place>,
    run: Run<T>,
    /// No more will come: nothing waits for company.
    hurried: AtomicBool,
    open: Mutex<Option<Arc<Gathering<T>>>>,
}

/// A batch that is being gathered, and then handled.
struct Gathering<T> {
    items: Mutex<Vec<Item<T>>>,
    full: AtomicBool,
    answers: Arc<Answers>,
}

impl<T: FromMessage + Send + 'static> Collector<T> {
    pub(in crate::service) fn new(
        options: BatchOptions,
        subscription: Text,
        place: Arc<dyn Place>,
        run: Run<T>,
    ) -> Arc<Self> {
        Arc::new(Self {
            options,
            subscription,
            place,
            run,
            hurried: AtomicBool::new(false),
            open: Mutex::default(),
        })
    }

    /// No more will come: what is gathered goes now.
    pub(in crate::service) fn hurry(&self) {
        self.hurried.store(true, Ordering::Release);
        let open = self.open().clone();
        if let Some(gathering) = open {
            gathering.answers.signal.wake();
        }
    }

    async fn handle(self: Arc<Self>, context: Context) -> Result<Outcome, BoxError> {
        let value = T::from_message(&context)?;
        self.join(value, context).await.into()
    }

    /// Puts a message into the batch that is being gathered.
    fn join(self: &Arc<Self>, value: T, context: Context) -> Answering {
        let mut open = self.open();
        let is_new = open.is_none();
        let gathering = Arc::clone(open.get_or_insert_with(Gathering::new));
        let answering = gathering.answers.open();
        let ticket = Ticket {
            context,
            answers: Arc::clone(&gathering.answers),
            place: answering.place,
            span: Span::current().id(),
        };
        let is_full = {
            let mut items = gathering.items();
            items.push(Item { value, ticket });
            items.len() >= self.options.max
        };
        if is_full {
            *open = None;
        }
        drop(open);
        if is_full {
            gathering.full.store(true, Ordering::Release);
            gathering.answers.signal.wake();
        }
        if is_new {
            spawn(&*self.place, handle_batch(Arc::clone(self), gathering));
        }
        answering
    }

    fn close(&self, gathering: &Arc<Gathering<T>>) -> Vec<Item<T>> {
        let mut open = self.open();
        if open.as_ref().is_some_and(|it| Arc::ptr_eq(it, gathering)) {
            *open = None;
        }
        drop(open);
        std::mem::take(&mut *gathering.items())
    }

    fn open(&self) -> MutexGuard<'_, Option<Arc<Gathering<T>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Gathering<T> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            items: Mutex::default(),
            full: AtomicBool::new(false),
            answers: Arc::new(Answers::new()),
        })
    }

    fn items(&self) -> MutexGuard<'_, Vec<Item<T>>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A batch's task: waits until it is full or has waited for long enough, and runs the handler.
async fn handle_batch<T: FromMessage + Send + 'static>(
    collector: Arc<Collector<T>>,
    gathering: Arc<Gathering<T>>,
) {
    let answers = Arc::clone(&gathering.answers);
    let open = Open(collector, gathering);
    let (collector, gathering) = (&open.0, &open.1);
    gathered(collector, gathering).await;
    let mut items = collector.close(gathering);
    items.retain(|item| answers.keeps(item.ticket.place));
    if items.is_empty() {
        return;
    }
    let span = tracing::info_span!(
        "ankusa.subscribe.batch",
        subscription = collector.subscription.as_str(),
        messages = items.len(),
    );
    for item in &items {
        span.follows_from(item.ticket.span.clone());
    }
    let run = async { (collector.run)(Batch { items }).await };
    let mut run = pin!(in_span(&span, contained_future(run)));
    let done = poll_fn(|cx| {
        answers.signal.register(cx.waker());
        match run.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if answers.is_deserted() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    });
    let given = match done.await {
        None => return,
        Some(Err(panicked)) => Given::Panicked(panicked),
        Some(Ok(Err(error))) => match error.downcast::<HandlerError>() {
            Ok(error) => Given::Failed(*error),
            Err(error) => Given::Failed(HandlerError::new(error)),
        },
        // One reply for many messages: it would be published for each of them.
        Some(Ok(Ok(outcome))) if outcome.reply.is_some() => Given::Failed(HandlerError::new(
            "a batch handler replies message by message, and never with what it returns",
        )),
        Some(Ok(Ok(outcome))) => Given::Outcome(outcome),
    };
    answers.give_rest(&given);
}

/// Until it is full, its time is up, or no more will come.
async fn gathered<T>(collector: &Collector<T>, gathering: &Gathering<T>) {
    let place = &*collector.place;
    let mut timer = place.timer();
    let due = place.now().checked_add(collector.options.linger);
    poll_fn(|cx| {
        gathering.answers.signal.register(cx.waker());
        let hurried = collector.hurried.load(Ordering::Acquire);
        if hurried || gathering.full.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        match due {
            Some(due) => poll_until(place, &mut timer, cx, due),
            None => Poll::Pending,
        }
    })
    .await;
}

/// A batch whose task lives. Whatever ends it, nobody waits for it in vain.
struct Open<T: FromMessage + Send + 'static>(Arc<Collector<T>>, Arc<Gathering<T>>);

impl<T: FromMessage + Send + 'static> Drop for Open<T> {
    fn drop(&mut self) {
        let Self(collector, gathering) = self;
        let items = collector.close(gathering);
        let lost = HandlerError::new("the batch was dropped before its end");
        gathering.answers.give_rest(&Given::Failed(lost));
        drop(items);
    }
}

/// A collector as a service of `tower`.
pub(in crate::service) struct CollectorService<T>(pub(in crate::service) Arc<Collector<T>>);

impl<T: FromMessage + Send + 'static> tower_service::Service<Context> for CollectorService<T> {
    type Response = Outcome;
    type Error = BoxError;
    type Future = Running;

    fn poll_ready(&mut self, _cx: &mut std::task::Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, context: Context) -> Running {
        Box::pin(Arc::clone(&self.0).handle(context))
    }
}

impl<T> Clone for CollectorService<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for CollectorService<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CollectorService")
    }
}
