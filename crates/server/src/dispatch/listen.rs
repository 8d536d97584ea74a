//! `subscriptions/listen`: a request that stays open.

use std::sync::Arc;

use attache_protocol::{ListenParams, ListenResult};

use crate::asking::Asking;
use crate::changes::{Listen, TaskSubscriptions, closing_meta, granted};
use crate::kernel::Kernel;
use crate::service::Work;
use crate::ticking;

use super::handlers::Client;
use super::modern::declares_tasks;
use super::running::wait;
use super::{Asked, encode};

impl Asked<'_> {
    pub(super) fn listen(&self, client: &Client) -> Work {
        let wanted = match self.params.decode::<ListenParams>() {
            Ok(params) => params.notifications,
            Err(error) => return self.refuse(&error),
        };
        let tasks = if declares_tasks(&client.capabilities) && self.kernel.areas().tasks {
            TaskSubscriptions::Granted
        } else {
            TaskSubscriptions::Refused
        };
        let principal = &self.session.principal;
        let opened = granted(self.kernel, principal, wanted, tasks).and_then(|filter| {
            let limit = self.kernel.limits.max_listens;
            let outlet = Arc::clone(self.outlet);
            self.kernel
                .subscribers
                .listen(self.id.clone(), filter, outlet, limit)
        });
        let listen = match opened {
            Ok(listen) => listen,
            Err(error) => return self.refuse(&error),
        };
        for uri in listen.watched() {
            ticking::watched(self.kernel, uri);
        }
        let open = Open {
            kernel: Arc::clone(self.kernel),
            listen,
        };
        let call = self.call(
            Client {
                revision: client.revision,
                capabilities: Arc::clone(&client.capabilities),
                identity: None,
                log_level: None,
                progress_token: None,
            },
            Asking::Never,
        );
        let id = self.id.clone();
        let session = Arc::clone(self.session);
        wait(call, async move {
            tokio::select! {
                () = open.listen.ended.notified() => {}
                () = session.hung_up() => {}
            }
            let result = ListenResult {
                meta: Some(closing_meta(&id)),
                ..ListenResult::default()
            };
            encode::modern(&open.kernel, &id, "complete", None, result)
        })
    }
}

/// A subscription that ends with its request, however that ends.
struct Open {
    kernel: Arc<Kernel>,
    listen: Arc<Listen>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.kernel.subscribers.end(&self.listen);
    }
}
