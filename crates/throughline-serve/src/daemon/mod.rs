//! The daemon: one process that answers, watches the logs, and does what is due.
//!
//! Hooks are answered on [`lanes`] of their own, before any other work. Everything that is not an answer
//! happens in one loop over what [`Wake`]s it, one stage at a time on a thread of lower [`priority`].
//! [`schedule`] holds the periodic work and its intervals, [`home`] the files of a running daemon.
//! Our own commands speak to it through [`crate::client`].

pub mod home;
mod lanes;
mod origin;
mod priority;
mod schedule;
mod wake;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use capture::{Sources, WatchOptions};
use store::Store;
use thiserror::Error;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

pub use self::home::{DaemonInfo, is_locked, running_daemon};
use self::lanes::{HOOK_WORKERS, HookWorkers};
pub use self::origin::StartupFiles;
use self::schedule::Schedule;
use self::wake::WakeReceiver;
pub use self::wake::{DaemonHandle, WakeReason};
use crate::ServeContext;
use crate::hook::{self, FollowUp};
use crate::http::listen::{HttpListener, serve_listener};
use crate::http::{HttpLimits, HttpState, RequestGuard, router};
use crate::stages::{self, Stage, StageContext, StageSettings};

/// Threads that serve connections, and threads that read the store for them. Of the latter there are
/// enough for every request that is answered at once, every listener and every export.
const HTTP_THREADS: usize = 2;
const BLOCKING_THREADS_MAX: usize = 64;
/// Threads that run stages: one for the loop, one for what asks a model, and one to spare for a stage
/// that is still ending.
const BACKGROUND_THREADS_MAX: usize = 3;
/// What waits for the model.
const MODEL_STAGES_MAX: usize = 4;
/// How long what still runs may take when the daemon stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// How the daemon runs.
#[derive(Debug)]
pub struct DaemonOptions {
    pub home: PathBuf,
    /// The port on loopback; none when it is not to be reached there.
    pub port: Option<u16>,
    /// Ends when nobody has needed it for so long.
    pub idle_timeout: Option<Duration>,
    /// Nobody's terminal holds it, and whoever needs it starts it again.
    pub background: bool,
    /// What it was started from.
    pub startup_files: StartupFiles,
    pub stages: StageSettings,
    pub sources: Sources,
    pub limits: HttpLimits,
    /// A socket that whoever started us has opened already.
    pub inherited_socket: Option<std::os::unix::net::UnixListener>,
}

/// Why there is no daemon.
#[derive(Debug, Error)]
pub enum DaemonError {
    #[error("a daemon runs already for {home}")]
    Running { home: PathBuf },
    #[error("cannot listen at {place}: {error}")]
    Listen { place: String, error: io::Error },
    #[error("cannot write {path}: {error}")]
    Write { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Runtime(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    Stopped,
    Idle,
    /// Its program or its configuration is another now.
    Outdated,
}

/// Runs until it is stopped or nobody needs it. `open` opens the store, `open_to_read` the same store once
/// more for a lane that answers hooks; `ready` hears when the daemon can be reached.
pub fn run(
    open: impl FnOnce() -> Result<ServeContext, DaemonError>,
    open_to_read: impl Fn() -> store::Result<Store>,
    plan: DaemonOptions,
    ready: impl FnOnce(&DaemonInfo),
) -> Result<ExitReason, DaemonError> {
    let lock = home::acquire_lock(&plan.home)?;
    let desk = open()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(HTTP_THREADS)
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .enable_all()
        .build()?;
    let background = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(BACKGROUND_THREADS_MAX)
        .on_thread_start(priority::lower_thread_priority)
        .build()?;
    let stores = open_hook_stores(&desk, open_to_read);
    let served = serve_until_stopped(
        desk.clone(),
        stores,
        plan,
        background.handle().clone(),
        ready,
    );
    let ended = runtime.block_on(served);
    background.shutdown_timeout(SHUTDOWN_GRACE);
    runtime.shutdown_timeout(SHUTDOWN_GRACE);
    // The store goes last but for the lock: closing it writes its log back into the file.
    drop(desk);
    drop(lock);
    ended
}

/// Opens the store once for each lane. One that cannot be opened shares the daemon's own connections.
fn open_hook_stores(
    desk: &ServeContext,
    open_to_read: impl Fn() -> store::Result<Store>,
) -> Vec<Arc<Store>> {
    let open = |_| match open_to_read() {
        Ok(store) => Arc::new(store),
        Err(error) => {
            tracing::warn!(%error, "hooks share the connections of other requests");
            Arc::clone(&desk.store)
        }
    };
    (0..HOOK_WORKERS).map(open).collect()
}

async fn serve_until_stopped(
    desk: ServeContext,
    stores: Vec<Arc<Store>>,
    plan: DaemonOptions,
    background: tokio::runtime::Handle,
    ready: impl FnOnce(&DaemonInfo),
) -> Result<ExitReason, DaemonError> {
    let token = home::load_or_create_token(&plan.home)?;
    let is_given = plan.inherited_socket.is_some();
    let socket = open_socket(&plan.home, plan.inherited_socket)?;
    let hook_socket = bind_nonblocking(&home::hook_socket_path(&plan.home))?;
    let tcp = bind_tcp(plan.port).await?;
    let running = DaemonInfo::for_this_process(
        &plan.home,
        tcp.as_ref().map(|(_, port)| *port),
        plan.background,
    );
    let (waker, inbox) = wake::wake_channel();
    let (stopping, stopped) = watch::channel(false);
    let gate = RequestGuard::new(token, plan.limits);
    let front = HttpState::new(
        desk.clone(),
        gate,
        waker.clone(),
        stopped.clone(),
        &running.boot,
        plan.startup_files,
    );
    let lanes = HookWorkers::start(&hook_socket, stores, &front, &stopped)?;
    let routes = router(&front);
    let mut doors = vec![tokio::spawn(serve_listener(
        HttpListener::Socket(socket),
        routes.clone(),
        plan.limits,
        stopped.clone(),
    ))];
    if let Some((tcp, port)) = tcp {
        let tcp = HttpListener::Tcp(tcp, port);
        doors.push(tokio::spawn(serve_listener(
            tcp,
            routes,
            plan.limits,
            stopped,
        )));
    }
    running.write(&plan.home)?;
    home::reset_start_attempts(&plan.home);
    ready(&running);
    let stop = Arc::new(AtomicBool::new(false));
    let signals = tokio::spawn(handle_signals(waker.clone())?);
    let watching = watch_logs(&desk, &plan.sources, waker, &stop);
    let (model_stages, queued) = mpsc::channel(MODEL_STAGES_MAX);
    let work = BackgroundWorker {
        context: desk,
        stages: Arc::new(plan.stages),
        sources: Arc::new(plan.sources),
        home: plan.home.clone(),
        stop: Arc::clone(&stop),
        ends_when_outdated: plan.background,
        background,
        model_stages,
    };
    let asking = tokio::spawn(run_model_stages(work.clone(), queued));
    let ended = run_loop(&work, inbox, &front, plan.idle_timeout).await;
    signals.abort();
    asking.abort();
    stop.store(true, Ordering::Relaxed);
    // Nobody listens any more; who was being answered is.
    let _all = stopping.send(true);
    for door in doors {
        let _ended = door.await;
    }
    home::remove_runtime_files(&plan.home, is_given);
    let _joined = tokio::task::spawn_blocking(move || lanes.join()).await;
    if let Some(watching) = watching {
        let _joined = tokio::task::spawn_blocking(move || watching.join()).await;
    }
    Ok(ended)
}

/// What the stages need.
#[derive(Clone)]
struct BackgroundWorker {
    context: ServeContext,
    stages: Arc<StageSettings>,
    sources: Arc<Sources>,
    home: PathBuf,
    stop: Arc<AtomicBool>,
    /// The daemon ends when its program or configuration has changed: a hook starts it again.
    ends_when_outdated: bool,
    /// Runs the stages, on threads of lower priority.
    background: tokio::runtime::Handle,
    model_stages: mpsc::Sender<Stage>,
}

/// Runs the stages that ask the model beside the loop, one at a time: a model may take minutes, and
/// no hook may wait for it.
async fn run_model_stages(worker: BackgroundWorker, mut stages: mpsc::Receiver<Stage>) {
    while let Some(stage) = stages.recv().await {
        run_stage(&worker, Box::new(move |worker| worker.run(&stage))).await;
    }
}

/// The loop: whatever wakes it is done, one thing after the other.
async fn run_loop(
    work: &BackgroundWorker,
    mut inbox: WakeReceiver,
    front: &HttpState,
    idle: Option<Duration>,
) -> ExitReason {
    let mut schedule = Schedule::new();
    loop {
        let left = idle.map(|idle| idle.saturating_sub(front.guard.idle_time()));
        let wake = match inbox.next(schedule.time_until_next(left)).await {
            Some(wake) => wake,
            None => match schedule.take_due() {
                Some(wake) => wake,
                None if idle.is_some_and(|idle| front.guard.idle_time() >= idle) => {
                    WakeReason::Idle
                }
                None => continue,
            },
        };
        tracing::debug!(?wake, "woken");
        if work.ends_when_outdated && wake != WakeReason::Stop && front.startup_files.has_changed()
        {
            return ExitReason::Outdated;
        }
        let asked: StageFn = match wake {
            WakeReason::LogGrew => {
                front.guard.record_activity();
                Box::new(BackgroundWorker::schedule_summaries)
            }
            // A hook that printed our answer has left a note of it.
            WakeReason::HookAnswered(after) => Box::new(move |work| {
                work.run_follow_ups(after)?;
                work.run_pending_follow_ups()
            }),
            WakeReason::FollowUpsDue => Box::new(BackgroundWorker::run_pending_follow_ups),
            WakeReason::FactsDue => Box::new(|work| {
                work.queue_model_stage(Stage::ModelFacts);
                work.run(&Stage::Facts)
            }),
            WakeReason::RetentionDue => Box::new(|work| work.run(&Stage::Retention)),
            WakeReason::MaintenanceDue => Box::new(|work| work.run(&Stage::Maintenance)),
            WakeReason::Idle => return ExitReason::Idle,
            WakeReason::Stop => return ExitReason::Stopped,
        };
        // Told to stop, a long stage ends early; what it left undone is due again.
        tokio::select! {
            () = run_stage(work, asked) => {}
            () = inbox.wait_for_stop() => {
                work.stop.store(true, Ordering::Relaxed);
                return ExitReason::Stopped;
            }
        }
    }
}

type StageFn = Box<dyn FnOnce(&BackgroundWorker) -> store::Result<()> + Send>;

/// Runs a stage on a thread of lower priority. What fails is logged and tried again when it is next due.
async fn run_stage(work: &BackgroundWorker, stage: StageFn) {
    let background = work.background.clone();
    let work = work.clone();
    let done = background.spawn_blocking(move || stage(&work)).await;
    match done {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a stage failed and will be tried again"),
        Err(error) => tracing::error!(%error, "a stage broke off"),
    }
}

impl BackgroundWorker {
    fn now(&self) -> jiff::Timestamp {
        self.context.now()
    }

    fn run(&self, stage: &Stage) -> store::Result<()> {
        stages::run(stage, &self.stage_context())
    }

    fn stage_context(&self) -> StageContext<'_> {
        StageContext {
            store: &self.context.store,
            settings: &self.stages,
            sources: &self.sources,
            stop: &self.stop,
            now: self.now(),
        }
    }

    /// Leaves a stage to the model's own queue. If the queue is full, the same work waits in it
    /// already.
    fn queue_model_stage(&self, stage: Stage) {
        if self.stages.model_provider.is_some()
            && let Err(error) = self.model_stages.try_send(stage)
        {
            tracing::debug!(%error, "the model is busy; the stage runs when it is next due");
        }
    }

    /// Writes the summaries that are due, or leaves them to the model.
    fn schedule_summaries(&self) -> store::Result<()> {
        if self.stages.model_provider.is_none() {
            return self.run(&Stage::Summaries);
        }
        self.queue_model_stage(Stage::Summaries);
        Ok(())
    }

    /// Runs the follow-ups of hooks.
    fn run_follow_ups(&self, mut follow_ups: Vec<FollowUp>) -> store::Result<()> {
        if self.stages.model_provider.is_some() && follow_ups.contains(&FollowUp::Renew) {
            follow_ups.retain(|follow_up| *follow_up != FollowUp::Renew);
            self.queue_model_stage(Stage::Summaries);
        }
        hook::run_follow_ups(follow_ups, &self.stage_context())
    }

    /// Does what hooks left while no daemon ran. What cannot be done now goes on waiting.
    fn run_pending_follow_ups(&self) -> store::Result<()> {
        let drained: Result<usize, DrainError> =
            hook::pending::drain(&self.home, |after| Ok(self.run_follow_ups(after)?));
        match drained {
            Ok(_) => Ok(()),
            Err(DrainError::Store(error)) => Err(error),
            Err(DrainError::Io(error)) => {
                tracing::warn!(%error, "what hooks left is not all done");
                Ok(())
            }
        }
    }
}

/// Why something that hooks left is not done.
#[derive(Debug, Error)]
enum DrainError {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Watches the agents' folders on a thread of its own. What it reads is stored there and then.
fn watch_logs(
    desk: &ServeContext,
    sources: &Sources,
    waker: DaemonHandle,
    stop: &Arc<AtomicBool>,
) -> Option<std::thread::JoinHandle<()>> {
    let (desk, sources, stop) = (desk.clone(), sources.clone(), Arc::clone(stop));
    let watching = move || {
        priority::lower_thread_priority();
        let mut on_sweep = |sweep: &capture::SweepReport| {
            if sweep.records > 0 {
                waker.wake(WakeReason::LogGrew);
            }
        };
        let now = || desk.now();
        let options = WatchOptions::default();
        let watched = capture::watch(&desk.store, &sources, options, &stop, &mut on_sweep, &now);
        if let Err(error) = watched {
            tracing::error!(%error, "the logs are no longer watched");
        }
    };
    let started = std::thread::Builder::new()
        .name("throughline-watch".into())
        .spawn(watching);
    started
        .inspect_err(|error| tracing::error!(%error, "the logs are not watched"))
        .ok()
}

/// Stops on the signals that ask for it. A terminal that is closed does not.
fn handle_signals(waker: DaemonHandle) -> io::Result<impl Future<Output = ()>> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = term.recv() => waker.stop(),
                _ = int.recv() => waker.stop(),
                _ = hangup.recv() => {}
            }
        }
    })
}

/// Opens the socket. Whoever holds the lock is alone, so one that lies there is nobody's.
fn open_socket(
    folder: &Path,
    given: Option<std::os::unix::net::UnixListener>,
) -> Result<UnixListener, DaemonError> {
    let path = home::socket_path(folder);
    let listener = match given {
        Some(given) => {
            given.set_nonblocking(true).map_err(listen_error(&path))?;
            given
        }
        None => bind_nonblocking(&path)?,
    };
    UnixListener::from_std(listener).map_err(listen_error(&path))
}

/// Opens a socket for use by an async runtime.
fn bind_nonblocking(path: &Path) -> Result<std::os::unix::net::UnixListener, DaemonError> {
    let listener = home::bind_socket(path).map_err(listen_error(path))?;
    listener.set_nonblocking(true).map_err(listen_error(path))?;
    Ok(listener)
}

fn listen_error(path: &Path) -> impl Fn(io::Error) -> DaemonError {
    let place = path.display().to_string();
    move |error| DaemonError::Listen {
        place: place.clone(),
        error,
    }
}

/// Opens a port on loopback: the one asked for, or any when somebody else has it.
async fn bind_tcp(port: Option<u16>) -> Result<Option<(TcpListener, u16)>, DaemonError> {
    let Some(port) = port else {
        return Ok(None);
    };
    let bound = match TcpListener::bind(("127.0.0.1", port)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            tracing::warn!(port, "the port is taken; another is used");
            TcpListener::bind(("127.0.0.1", 0)).await
        }
        bound => bound,
    };
    let at = |error: io::Error| DaemonError::Listen {
        place: format!("127.0.0.1:{port}"),
        error,
    };
    let listener = bound.map_err(at)?;
    let port = listener.local_addr().map_err(at)?.port();
    Ok(Some((listener, port)))
}

#[cfg(test)]
mod tests;
