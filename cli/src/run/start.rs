//! How a run is started: everything that can be wrong is found before anything is written.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pubsink_core::delivery::DeliveryContext;
use pubsink_core::journal::ReplayJob;
use pubsink_core::options::PublisherOptions;
use pubsink_runtime::dispatch::DispatchBuilder;
use pubsink_runtime::sink::PubsubSink;
use pubsink_tokio::Publisher;
use pubsink_tokio::seam::{Runtime, Transport};

use super::attempts::Attempts;
use super::check_ins::CheckIns;
use super::dead_letters::DeadLetters;
use super::direct::Direct;
use super::files::{check_apart, check_claims_outside, check_outside};
use super::flags::{SendFlags, Settings};
use super::journaled::{Connected, Journaled};
use super::level::Level;
use super::lines::{self, Input};
use super::opened::{Opened, Replay};
use super::outcomes::Destination;
use super::pace::Pace;
use super::paced::Paced;
use super::progress::Progress;
use super::report::Report;
use super::watch::Watch;
use super::{Parts, run, windows};
use crate::claims::Store;
use crate::exit::{CommandError, Exit};
use crate::groups;
use crate::interrupt::Interrupt;
use crate::runtime::{Tasks, Work};
use crate::say::say;
use crate::telemetry::trace_context;
use crate::topic::Topic;

/// How much longer than an interrupt's limit a run that still gets on may take.
const STALLED: Duration = Duration::from_secs(5);
/// How much longer a journal's disk may take.
const JOURNAL_STALLED: Duration = Duration::from_secs(10);

/// How hooks get to the topic.
#[derive(Debug)]
pub(crate) enum Route<'a> {
    /// From memory.
    Direct {
        /// The replay they are sent under, if any.
        replay_id: Option<String>,
        /// At most so many a second.
        per_second: Option<u32>,
    },
    /// By way of the journal in this directory.
    Journal {
        dir: &'a Path,
        /// A replay of its dead letters.
        replay: Option<Replay>,
    },
}

/// Sends the hooks of the input, a flag and its file, and whatever else the route brings.
pub(crate) fn start(
    topic: &Topic,
    flags: &SendFlags,
    input: Option<(&str, &Path)>,
    route: Route<'_>,
) -> Result<Exit, CommandError> {
    let (options, emulator) = topic.options()?;
    let journaled = matches!(route, Route::Journal { .. });
    // Dispatch is fair already, and a hook that the publisher refuses costs a write to the disk.
    let options = if journaled {
        options.batch_queue_tenant(usize::MAX)
    } else {
        options
    };
    let options = flags.publisher.apply(options)?;
    flags.check(&options)?;
    let mut tokens = flags.credentials.provider()?;
    if emulator && tokens.take().is_some() {
        say("pubsink: no token is sent to the emulator of PUBSUB_EMULATOR_HOST");
    }
    let claims = flags.claims.as_deref();
    if let (Route::Journal { dir, .. }, Some(url)) = (&route, claims) {
        check_claims_outside(dir, url)?;
    }
    let claims = claims
        .map(|url| flags.runtime.open_claims(url))
        .transpose()?;
    let input = input.map(|(flag, path)| Input::open(flag, path));
    let input = input.transpose()?;
    if let Route::Journal { dir, .. } = &route {
        check_outside(dir, "--outcomes", flags.outcomes.as_deref())?;
        check_outside(dir, "--dead-letters", flags.dead_letters.as_deref())?;
    }
    let outcomes = Destination::open(flags.outcomes.as_deref())?;
    let dead_letters = DeadLetters::open(flags.dead_letters.as_deref())?;
    let read = input.as_ref().map(Input::file);
    check_apart(read, outcomes.file(), dead_letters.file())?;
    let by = match route {
        Route::Direct {
            replay_id,
            per_second,
        } => By::Memory {
            replay_id,
            pace: per_second.map(Pace::new),
        },
        Route::Journal { dir, replay } => {
            let opened = match replay {
                Some(_) => Opened::existing(dir)?,
                None => Opened::open(dir)?,
            };
            let has_claims = claims.is_some();
            smol::block_on(opened.check(&options, has_claims))?;
            let mut job = None;
            if let Some(replay) = &replay {
                let nothing = opened.nothing(replay, options.topic_name());
                if let Some((words, exit)) = smol::block_on(nothing)? {
                    say(words);
                    return Ok(exit);
                }
                let checked = opened.check_replay(replay, &options, has_claims);
                smol::block_on(checked)?;
                job = Some(Box::new(smol::block_on(opened.replay(replay))?));
            }
            By::Journal { opened, job }
        }
    };
    let interrupt = Interrupt::listen()?;
    if input.as_ref().is_some_and(Input::is_typed) {
        say("pubsink: reading hooks from the terminal, one a line of JSON; Ctrl-D ends them");
    }
    let work = Sending {
        settings: flags.settings(journaled),
        input,
        outcomes,
        dead_letters,
        claims,
        by,
        interrupt,
    };
    flags.runtime.run(Tasks::Aside, options, tokens, work)
}

/// The route, once it is open.
enum By {
    Memory {
        replay_id: Option<String>,
        pace: Option<Pace>,
    },
    Journal {
        opened: Opened,
        job: Option<Box<ReplayJob>>,
    },
}

/// Sending, once there is a publisher.
struct Sending {
    settings: Settings,
    input: Option<Input>,
    outcomes: Destination,
    dead_letters: DeadLetters,
    claims: Option<Store>,
    by: By,
    interrupt: Interrupt,
}

impl Work for Sending {
    type Done = Exit;

    async fn run<R: Runtime, T: Transport>(
        self,
        runtime: R,
        _client: T,
        publisher: Publisher,
    ) -> Result<Exit, CommandError> {
        let (settings, interrupt) = (self.settings, self.interrupt);
        let typed = self.input.as_ref().is_none_or(Input::is_typed);
        let size = self.input.as_ref().and_then(Input::size);
        let progress = Progress::new(size, typed || self.outcomes.is_seen());
        // Nothing can be wrong with the usage any more: what is there may be overwritten.
        let outcomes = self.outcomes.start(&progress)?;
        let report = Report::new(outcomes, self.dead_letters, progress);
        let mut parts = Parts {
            runtime: runtime.clone(),
            lines: self.input.map_or_else(lines::none, Input::read),
            pace: None,
            report,
            interrupt: interrupt.clone(),
            shutdown_limit: settings.shutdown_limit,
        };
        match self.by {
            By::Memory { replay_id, pace } => {
                end_in_any_case(&interrupt, settings.shutdown_limit.saturating_add(STALLED));
                let at_once = publisher.options().sink_concurrency();
                let attempts = Attempts {
                    runtime,
                    check_ins: self.claims.map(|store| CheckIns::new(store, at_once)),
                    publisher,
                    policy: settings.policy,
                    context: Arc::new(settings.headers.of(DeliveryContext {
                        replay_id,
                        ..DeliveryContext::batched()
                    })),
                    interrupt,
                };
                parts.pace = pace;
                Ok(run(parts, Direct::new(attempts)).await)
            }
            By::Journal { opened, job } => {
                let limit = settings.shutdown_limit.saturating_add(JOURNAL_STALLED);
                end_in_any_case(&interrupt, limit);
                let waiting = parts.report.waiting();
                let replay = job.map(|job| (*job, settings.shutdown_limit));
                let connected = connect(
                    &runtime,
                    publisher,
                    &settings,
                    &opened,
                    self.claims,
                    waiting,
                )?;
                let way = Journaled::new(
                    runtime,
                    Connected {
                        replay,
                        ..connected
                    },
                );
                Ok(run(parts, way).await)
            }
        }
    }
}

/// Starts a dispatcher from the journal to the topic.
fn connect<R: Runtime>(
    runtime: &R,
    publisher: Publisher,
    settings: &Settings,
    opened: &Opened,
    claims: Option<Store>,
    waiting: Option<Arc<Level>>,
) -> Result<Connected, CommandError> {
    let (watch, observer) = Watch::new();
    let levels: Vec<_> = waiting.into_iter().chain([watch.untold()]).collect();
    let journal = Paced {
        journal: Arc::clone(&opened.journal),
        levels: levels.clone(),
    };
    let options: &PublisherOptions = publisher.options();
    let mut sink = settings.headers.sink(PubsubSink::new(publisher.clone()));
    if options.trace_context() {
        sink = sink.trace_context_of(trace_context);
    }
    let mut builder = DispatchBuilder::new(journal).sink(options.topic_name(), sink);
    if let Some(store) = claims {
        builder = builder.claims(store);
    }
    let (dispatch, driver) = builder
        .options(windows::dispatch_options(options, settings))
        .on_event(observer)
        .connect(runtime.clone(), fastrand::u64(..))
        .map_err(|error| CommandError(error.to_string()))?;
    runtime.spawn(driver);
    Ok(Connected {
        journal: Arc::clone(&opened.journal),
        dir: opened.dir.clone(),
        dispatch,
        publisher,
        watch,
        levels,
        replay: None,
    })
}

/// Ends the process after an interrupt's limit even where standard error or the dead letters are
/// a pipe that nobody reads, so that not even words about it can be written.
fn end_in_any_case(interrupt: &Interrupt, limit: Duration) {
    let interrupt = interrupt.clone();
    thread::spawn(move || {
        interrupt.wait();
        thread::sleep(limit);
        groups::end_all();
        std::process::exit(Exit::Interrupted.code().into());
    });
}
