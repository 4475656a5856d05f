//! Stopping an ordering key after a failure, and going on with it.

use super::Publisher;
use super::fate::{Fate, FateClass};
use crate::failure::{Class, ErrorClass};
use crate::publish::stopped::FirstFailure;
use crate::reason::StoppedKey;
use crate::text::Text;

impl<T> Publisher<T> {
    /// The ordering keys that are stopped, by name, each with the failure it is stopped for. Where
    /// every key is stopped, the one it is for comes last.
    pub fn stopped_keys(&self) -> impl Iterator<Item = &StoppedKey> {
        self.stopped.iter()
    }

    /// A request of `job` failed with `fate`. Where its key is held, all that waits of it, wherever
    /// it waits, fails behind it: what is left of the same batch, then what came later.
    pub(super) fn stop_key(&mut self, job: u64, fate: &Fate) {
        if !self.stopped.holds() {
            return;
        }
        let Some(key) = self.jobs.get(&job).and_then(|job| job.key.clone()) else {
            return;
        };
        let stopped = self.stopped.stop(&key, first_failure(fate));
        self.fail_behind(job, &key, &Fate::is(Class::Transient, stopped.reason));
        if stopped.every_key {
            self.stop_every_key();
        }
    }

    pub(super) fn resume_key(&mut self, key: &Text) {
        self.stopped.resume(key);
    }

    pub(super) fn resume_all_keys(&mut self) {
        self.stopped.resume_all();
    }

    /// There was no room to remember a key, so all of them stop. A request in flight is not
    /// called back; it has the only messages of its key.
    fn stop_every_key(&mut self) {
        let Some(reason) = self.stopped.every_key() else {
            return;
        };
        let fate = Fate::is(Class::Transient, reason.clone());
        let jobs = self.jobs.iter();
        let keyed: Vec<_> = jobs
            .filter_map(|(id, job)| Some((*id, job.key.clone()?)))
            .collect();
        for (id, key) in keyed {
            self.fail_behind(id, &key, &fate);
            // One between two parts has no request that would end it.
            if self.jobs.get(&id).is_some_and(|job| job.is_done()) {
                self.remove_job(id);
                for parts in &mut self.parts {
                    parts.retain(|job| *job != id);
                }
                self.waiting.release(&key);
            }
        }
        for entry in self.waiting.take_idle_keys() {
            self.fail_entry(entry, &fate);
        }
        self.report_flushes();
    }

    /// Fails what waits behind the request of a key: parts of its job, then the key's lane.
    fn fail_behind(&mut self, job: u64, key: &Text, fate: &Fate) {
        self.fail_parts(job, fate);
        for entry in self.waiting.take_behind(key) {
            self.fail_entry(entry, fate);
        }
    }
}

fn first_failure(fate: &Fate) -> FirstFailure {
    let (class, config) = match fate.class {
        FateClass::Is(class) => (class.error_class(), class.is_config()),
        FateClass::Throttled(_) => (ErrorClass::Throttled, false),
    };
    FirstFailure {
        cause: fate.reason.clone(),
        class,
        config,
    }
}
