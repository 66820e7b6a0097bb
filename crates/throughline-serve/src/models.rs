//! Access to the model that the user configured.
//!
//! The binary implements [`ModelProvider`], because only it reads the configuration, the API key
//! and the clock. Stages and requests borrow a session with the model for one piece of work. Where
//! no model is configured there is no provider.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use distill::model::ModelSession;
use memory::SessionId;
use store::Store;

/// Opens sessions with the configured model.
pub trait ModelProvider: Debug + Send + Sync {
    /// Runs `work` once with a model session. Returns the reason if the model is not available.
    fn with_model(
        &self,
        loan: &ModelRequest<'_>,
        work: &mut dyn FnMut(&ModelSession<'_>),
    ) -> Result<(), String>;
}

/// What a model session is wanted for.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The store that records what the model costs.
    pub store: &'a Store,
    pub purpose: &'static str,
    pub session: Option<&'a SessionId>,
    /// Cancels waiting for the model once it is set.
    pub stop: &'a Arc<AtomicBool>,
}

/// Runs `work` with a model session and returns its result.
pub fn run_with_model<T>(
    models: &dyn ModelProvider,
    loan: &ModelRequest<'_>,
    work: impl FnOnce(&ModelSession<'_>) -> T,
) -> Result<T, String> {
    let mut work = Some(work);
    let mut came = None;
    models.with_model(loan, &mut |asker| {
        came = work.take().map(|work| work(asker));
    })?;
    came.ok_or_else(|| "the model was not lent".to_owned())
}
