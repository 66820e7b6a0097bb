//! The model that the user configured, as stages and requests get it: lent by whoever read the
//! configuration, with its budget, its ledger and its clock. Where there is none, none is asked.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use distill::model::ModelSession;
use memory::SessionId;
use store::Store;

/// Who lends the model.
pub trait ModelProvider: Debug + Send + Sync {
    /// Lets `work` ask it, once. Where it cannot be had, says why.
    fn with_model(
        &self,
        loan: &ModelRequest<'_>,
        work: &mut dyn FnMut(&ModelSession<'_>),
    ) -> Result<(), String>;
}

/// What it is lent for.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// Where the ledger is.
    pub store: &'a Store,
    pub purpose: &'static str,
    pub session: Option<&'a SessionId>,
    /// Once it is set, nobody waits for the model any longer.
    pub stop: &'a Arc<AtomicBool>,
}

/// Runs `work` with an asker and returns what comes of it.
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
