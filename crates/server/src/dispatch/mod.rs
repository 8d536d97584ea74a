//! What each message means: the pure part of a server.
//!
//! A request and a session go in, an answer or the work that will give one comes out. Nothing here
//! knows how messages travel.

mod encode;
mod handlers;
mod legacy;
mod listen;
mod lists;
mod modern;
mod older;
mod params;
mod running;
mod task_methods;

use std::sync::Arc;

use attache_protocol::{
    Cancelled, CancelledParams, Discover, Era, ErrorObject, Initialized, Method as _, Notification,
    Outcome, RequestId, Revision, codes,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::kernel::Kernel;
use crate::schema::MirroredArgument;
use crate::server::Server;
use crate::service::{After, Answer, Outlet, Principal, Request, Service, Work};
use crate::session::Session;

use params::Params;

/// A request on its way through the dispatcher.
struct Asked<'a> {
    kernel: &'a Arc<Kernel>,
    session: &'a Arc<Session>,
    outlet: &'a Arc<dyn Outlet>,
    id: RequestId,
    method: &'a str,
    params: Params<'a>,
}

impl Asked<'_> {
    fn refuse(&self, error: &ErrorObject) -> Work {
        Work::Done(Answer::error(&self.id, error))
    }

    fn unknown_method(&self) -> Work {
        let message = format!("there is no method \"{}\"", self.method);
        self.refuse(&ErrorObject::new(codes::METHOD_NOT_FOUND, message))
    }
}

/// The form of a cancellation in the dialect of seed 003 (seeds row 1).
const CANCEL_ALIAS: &str = "$/cancelRequest";

#[derive(Deserialize)]
struct CancelAliasParams {
    id: RequestId,
}

impl Service for Server {
    type Session = Session;

    fn open(&self, principal: Principal, outlet: Arc<dyn Outlet>) -> Arc<Session> {
        Arc::new(Session::new(principal, outlet))
    }

    fn request(
        &self,
        session: &Arc<Session>,
        request: Request<'_>,
        outlet: &Arc<dyn Outlet>,
    ) -> Work {
        let params = match Params::read(request.params) {
            Ok(params) => params,
            Err(error) => return Work::Done(Answer::error(&request.id, &error)),
        };
        let era = request.era.unwrap_or_else(|| match request.method {
            // Refusing it as unknown would pass for a legacy server (S-MOD-11), so one that lacks
            // its metadata is told what it lacks.
            Discover::NAME if self.kernel.speaks(Era::Modern) => Era::Modern,
            _ => params.era(),
        });
        let asked = Asked {
            kernel: &self.kernel,
            session,
            outlet,
            id: request.id,
            method: request.method,
            params,
        };
        match era {
            Era::Legacy => asked.legacy(),
            Era::Modern => asked.modern(),
        }
    }

    fn notification(
        &self,
        session: &Arc<Session>,
        method: &str,
        params: Option<&RawValue>,
    ) -> After {
        match method {
            Initialized::NAME => {
                session.note_initialized();
            }
            Cancelled::NAME => {
                // Malformed and unknown cancellations are ignored (X-CANC-04).
                if let Some(id) = read::<CancelledParams>(params).and_then(|it| it.request_id) {
                    session.cancel(&id);
                }
            }
            CANCEL_ALIAS => {
                if let Some(CancelAliasParams { id }) = read(params) {
                    session.cancel(&id);
                }
            }
            "exit" if session.opened().is_some() => return After::Leave,
            _ => {}
        }
        After::GoOn
    }

    fn response(&self, session: &Arc<Session>, id: &RequestId, outcome: Outcome<'_>) {
        session.answer(id, outcome);
    }

    fn supported(&self) -> &[Revision] {
        &self.kernel.revisions
    }

    fn revision(&self, session: &Arc<Session>) -> Option<Revision> {
        session.opened().map(|opened| opened.revision)
    }

    fn input_ended(&self, session: &Arc<Session>) {
        session.hang_up();
    }

    fn close(&self, session: &Arc<Session>) {
        session.close();
    }

    fn mirrored_arguments(&self, tool: &str) -> Arc<[MirroredArgument]> {
        let catalog = self.kernel.catalog();
        match catalog.tools.get(tool) {
            Some(tool) => Arc::clone(&tool.mirrored),
            None => Arc::new([]),
        }
    }
}

fn read<T: for<'de> Deserialize<'de>>(params: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(params?.get()).ok()
}
