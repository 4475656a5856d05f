//! Callers at the same time, each with one message at a time.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use pubsink_bench::Error;
use smol::Executor;

use crate::quantiles::Quantiles;
use crate::requests::Load;

/// Publishes one message and waits for its id.
pub(crate) trait Call: Send + 'static {
    /// Publishes the message of that number.
    fn call(&mut self, number: usize) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Where callers run, each as a task of its own.
pub(crate) enum Place {
    /// The tokio runtime this is used in.
    Tokio,
    Smol(Arc<Executor<'static>>),
}

/// Lets the callers share the messages out; how long each call took, but for the first tenth, in
/// which connections are made and memory is got.
pub(crate) async fn measure<C: Call>(
    place: &Place,
    callers: Vec<C>,
    load: &Load,
) -> Result<Quantiles, Error> {
    let step = callers.len();
    let tasks = callers.into_iter().enumerate().map(|(first, mut caller)| {
        let numbers = (first..load.messages).step_by(step);
        let work = async move {
            let mut times = Vec::with_capacity(numbers.len());
            for number in numbers {
                let started = Instant::now();
                caller.call(number).await?;
                times.push(started.elapsed());
            }
            let warm_up = times.len() / 10;
            Ok(times.split_off(warm_up))
        };
        spawn(place, work).times()
    });
    let times = try_join_all(tasks).await?.concat();
    Quantiles::of(times).ok_or_else(|| "no calls were measured".into())
}

type Times = Result<Vec<Duration>, Error>;

/// A caller's task.
enum Task {
    Tokio(tokio::task::JoinHandle<Times>),
    Smol(smol::Task<Times>),
}

fn spawn(place: &Place, work: impl Future<Output = Times> + Send + 'static) -> Task {
    match place {
        Place::Tokio => Task::Tokio(tokio::spawn(work)),
        Place::Smol(executor) => Task::Smol(executor.spawn(work)),
    }
}

impl Task {
    async fn times(self) -> Times {
        match self {
            Self::Tokio(task) => task.await?,
            Self::Smol(task) => task.await,
        }
    }
}
