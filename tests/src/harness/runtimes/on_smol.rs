//! smol, on an executor of its own.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use async_channel::Sender;
use futures_util::future::BoxFuture;
use pubsink_core::options::Wire;
use pubsink_core::subscribe::SubscriberOptions;
use pubsink_runtime::dispatch::Dispatch;
use pubsink_runtime::seam::{Calls, Runtime as _};
use pubsink_runtime::service::{Service, ServiceHandle};
use pubsink_runtime::subscribe::Subscription;
use pubsink_runtime::{Driver, Publisher};
use pubsink_smol::http2::SmolConnector;
use pubsink_smol::{Http2Client, HttpClient, Smol};
use smol::Executor;

use crate::harness::any::{AnyClaims, AnyTransport};
use crate::harness::dispatching::Plan;
use crate::harness::host::{
    Client, Flavor, Host, Sink, Spec, Started, connect_dispatch, serve, sleep,
};

pub(super) fn start(flavor: Flavor, thread_name: &str) -> Box<dyn Started> {
    let executor = Arc::new(Executor::new());
    let (stop, stopped) = async_channel::bounded::<()>(1);
    let workers = match flavor {
        Flavor::CurrentThread => 0,
        Flavor::Workers(count) => count,
    };
    for _ in 0..workers {
        let (executor, stopped) = (Arc::clone(&executor), stopped.clone());
        let worker = move || smol::block_on(executor.run(stopped.recv()));
        let thread = thread::Builder::new().name(thread_name.to_owned());
        thread.spawn(worker).expect("a thread starts");
    }
    Box::new(OnSmol {
        executor,
        flavor,
        stop,
    })
}

struct OnSmol {
    /// The only lasting reference beside the workers': with them the executor and its tasks go.
    executor: Arc<Executor<'static>>,
    flavor: Flavor,
    stop: Sender<()>,
}

impl Started for OnSmol {
    fn host(&self) -> Arc<dyn Host> {
        Arc::new(SmolHost(Smol::from(&self.executor)))
    }

    fn block_on(&self, future: BoxFuture<'_, ()>) {
        match self.flavor {
            Flavor::CurrentThread => smol::block_on(self.executor.run(future)),
            Flavor::Workers(_) => smol::block_on(future),
        }
    }
}

impl Drop for OnSmol {
    fn drop(&mut self) {
        self.stop.close();
    }
}

struct SmolHost(Smol);

impl Host for SmolHost {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.0.spawn(task);
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        sleep(self.0.clone(), time)
    }

    fn transport(&self, client: &Client) -> AnyTransport {
        match client {
            Client::Default => AnyTransport::new(HttpClient::new()),
            Client::Http2 => AnyTransport::new(HttpClient::builder().http2(true).build()),
            Client::Calls => {
                let connector = SmolConnector::on(self.0.clone());
                let client = Http2Client::builder().connector(connector).build();
                AnyTransport::new(Calls::new(client))
            }
            Client::IdleTimeout(time) => {
                AnyTransport::new(HttpClient::builder().idle_timeout(*time).build())
            }
            Client::Own(transport) => transport.clone(),
        }
    }

    fn publisher(&self, spec: Spec) -> Publisher {
        if spec.options.wire() == Wire::Grpc && !matches!(spec.client, Client::Default) {
            // Its transport is one already.
            let (publisher, driver) = self.connect(spec);
            self.spawn(Box::pin(driver));
            return publisher;
        }
        let builder = pubsink_smol::publisher(spec.options);
        let spawned = match (spec.client, spec.tokens) {
            (Client::Default, None) => builder.spawn_on(self.0.clone()),
            (Client::Default, Some(tokens)) => {
                builder.token_provider(tokens).spawn_on(self.0.clone())
            }
            (client, None) => {
                let builder = builder.transport(self.transport(&client));
                builder.spawn_on(self.0.clone())
            }
            (client, Some(tokens)) => {
                let builder = builder.transport(self.transport(&client));
                builder.token_provider(tokens).spawn_on(self.0.clone())
            }
        };
        spawned.expect("it has the feature `grpc`")
    }

    fn connect(&self, spec: Spec) -> (Publisher, Driver) {
        let spec = spec.explicit();
        let transport = self.transport(&spec.client);
        let runtime = self.0.clone();
        pubsink_runtime::connect(spec.options, runtime, transport, spec.tokens, 1)
    }

    fn connect_recorded(&self, spec: Spec, sink: Sink) -> (Publisher, Driver) {
        let spec = spec.explicit();
        let transport = self.transport(&spec.client);
        let runtime = self.0.clone();
        pubsink_runtime::connect_recorded(spec.options, runtime, transport, spec.tokens, 1, sink)
    }

    fn claims(&self, url: &str) -> AnyClaims {
        AnyClaims::new(pubsink_smol::claims::open(url).expect("it is the URL of a directory"))
    }

    fn dispatch(&self, plan: Plan) -> Dispatch {
        let mut builder = pubsink_smol::dispatch(plan.journal).options(plan.options);
        for (name, sink) in plan.sinks {
            builder = builder.sink(name, sink);
        }
        if let Some(claims) = plan.claims {
            builder = builder.claims(claims);
        }
        let builder = builder.on_event(plan.observer).seed(1);
        let spawned = builder.spawn_on(self.0.clone());
        spawned.expect("the case's options are in range")
    }

    fn connect_dispatch(&self, plan: Plan) -> (Dispatch, Driver) {
        connect_dispatch(self.0.clone(), plan)
    }

    fn subscription(&self, options: SubscriberOptions) -> Subscription {
        let builder = pubsink_smol::subscription(options).seed(1);
        let spawned = builder.spawn_on(self.0.clone());
        spawned.expect("it has the feature `grpc`")
    }

    fn serve(&self, service: Service) -> ServiceHandle {
        serve(&self.0, service)
    }
}
