//! The daemon: one background process that answers requests, watches the agents' logs and runs
//! periodic work.
//!
//! Hooks are answered by [`hook_workers`] of their own, ahead of any other work. All background
//! work runs in one loop that waits for a [`WakeReason`], one stage at a time on a thread of lower
//! [`priority`]. [`schedule`] holds the intervals of periodic work and [`home`] the daemon's files
//! in the data folder. Our own commands send requests to a running daemon with [`crate::client`].

pub mod home;
mod hook_workers;
mod priority;
mod schedule;
mod startup_files;
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
use self::hook_workers::{HOOK_WORKERS, HookWorkers};
use self::schedule::Schedule;
pub use self::startup_files::StartupFiles;
use self::wake::WakeReceiver;
pub use self::wake::{DaemonHandle, WakeReason};
use crate::command::CommandRunner;
use crate::hook::{self, FollowUp};
use crate::http::listen::{HttpListener, bind_loopback, serve_listener};
use crate::http::{HttpLimits, HttpState, RequestGuard, router};
use crate::live::FlushMode;
use crate::stages::{self, Stage, StageContext, StageSettings, SweepLog};
use crate::{ConfigFile, ServeContext};

/// Threads that serve connections, and threads that read the store for them. The latter are enough
/// for every concurrent request, every event listener and every export.
const HTTP_THREADS: usize = 2;
const BLOCKING_THREADS_MAX: usize = 64;
/// Threads that run stages: one for the loop, one for work that waits for a model, and a spare one
/// for a stage that is still ending.
const BACKGROUND_THREADS_MAX: usize = 3;
/// Stages that may wait for the model.
const MODEL_STAGES_MAX: usize = 4;
/// How long running work may take to finish when the daemon stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// How a daemon is started.
#[derive(Debug)]
pub struct DaemonOptions {
    pub home: PathBuf,
    /// The port on loopback; `None` for a daemon without TCP.
    pub port: Option<u16>,
    /// The daemon exits after this long without a request.
    pub idle_timeout: Option<Duration>,
    /// The daemon runs without a terminal, and a hook starts it again when it is needed.
    pub background: bool,
    /// The program and configuration files at startup.
    pub startup_files: StartupFiles,
    /// The configuration file, for the switches of the page.
    pub config_file: Option<Arc<dyn ConfigFile>>,
    /// Runs our own commands.
    pub command_runner: Option<Arc<dyn CommandRunner>>,
    pub stages: StageSettings,
    pub sources: Sources,
    pub watch: WatchOptions,
    pub limits: HttpLimits,
    /// A listening socket inherited from the service manager.
    pub inherited_socket: Option<std::os::unix::net::UnixListener>,
}

/// Why a daemon could not start.
#[derive(Debug, Error)]
pub enum DaemonError {
    #[error("a daemon is already running for {home}")]
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

/// Why a daemon exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    Stopped,
    Idle,
    /// Its program or configuration file has changed.
    Outdated,
}

/// Runs the daemon until it is stopped or idle for too long. `open` opens the store, `open_to_read`
/// opens it once more for each hook worker, and `ready` is called when the daemon accepts
/// connections.
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
    desk.layers.start(&desk.store)?;
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
    if let Err(error) = desk.layers.flush(&desk.store, FlushMode::Now, desk.now()) {
        tracing::warn!(%error, "the counts of the memory layers were not written");
    }
    // The store is closed before the lock is released: closing it checkpoints the write-ahead log.
    drop(desk);
    drop(lock);
    ended
}

/// Opens the store once for each hook worker. A worker whose store cannot be opened shares the
/// daemon's own connections.
fn open_hook_stores(
    desk: &ServeContext,
    open_to_read: impl Fn() -> store::Result<Store>,
) -> Vec<Arc<Store>> {
    let open = |_| match open_to_read() {
        Ok(store) => Arc::new(store),
        Err(error) => {
            tracing::warn!(%error, "cannot open the store for a hook worker");
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
    let (stages, sources) = (Arc::new(plan.stages), Arc::new(plan.sources));
    let gate = RequestGuard::new(token, plan.limits);
    let front = HttpState::new(
        desk.clone(),
        gate,
        waker.clone(),
        stopped.clone(),
        &running.boot,
        plan.startup_files,
        (Arc::clone(&stages), Arc::clone(&sources)),
    )
    .with_config_file(plan.config_file)
    .with_command_runner(plan.command_runner);
    let lanes = HookWorkers::start(&hook_socket, stores, &front, &stopped)?;
    let routes = router(&front);
    let mut doors = vec![tokio::spawn(serve_listener(
        HttpListener::Socket(socket),
        routes.clone(),
        plan.limits,
        stopped.clone(),
    ))];
    if let Some((tcp, port)) = tcp {
        let _first = front.port.set(port);
        let tcp = HttpListener::Tcp(tcp, port);
        doors.push(tokio::spawn(serve_listener(
            tcp, routes, plan.limits, stopped,
        )));
    }
    running.write(&plan.home)?;
    home::reset_start_attempts(&plan.home);
    ready(&running);
    let stop = Arc::new(AtomicBool::new(false));
    let signals = tokio::spawn(handle_signals(waker.clone())?);
    let watching = watch_logs(&desk, &sources, plan.watch, waker, &stop);
    let (model_stages, queued) = mpsc::channel(MODEL_STAGES_MAX);
    let work = BackgroundWorker {
        context: desk,
        stages,
        sources,
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
    // The listeners stop accepting; requests that are being answered still finish.
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

/// Runs stages in the background.
#[derive(Clone)]
struct BackgroundWorker {
    context: ServeContext,
    stages: Arc<StageSettings>,
    sources: Arc<Sources>,
    home: PathBuf,
    stop: Arc<AtomicBool>,
    /// Exit when the program or the configuration has changed; a hook then starts the new version.
    ends_when_outdated: bool,
    /// The runtime whose threads have a lower priority.
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

/// Runs the stage for each wake reason, one after the other, until the daemon has to exit.
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
        let stage: StageFn = match wake {
            WakeReason::LogGrew => {
                front.guard.record_activity();
                Box::new(|work| {
                    work.feed_layers(FlushMode::WhenDue)?;
                    work.schedule_summaries()
                })
            }
            // The hook's process may have queued follow-up work after it printed our answer.
            WakeReason::HookAnswered(after) => Box::new(move |work| {
                let ends_turn = after.contains(&FollowUp::Renew)
                    || after
                        .iter()
                        .any(|after| matches!(after, FollowUp::Summarize(_)));
                // The next prompt, or another process, may need the cards of this turn at once.
                let flush = if ends_turn {
                    FlushMode::Now
                } else {
                    FlushMode::WhenDue
                };
                // A failed follow-up must not keep new records from the memory layers.
                let followed_up = work.run_follow_ups(after);
                work.feed_layers(flush)?;
                followed_up?;
                work.run_pending_follow_ups()
            }),
            WakeReason::FollowUpsDue => Box::new(|work| {
                work.run_pending_follow_ups()?;
                work.feed_layers(FlushMode::WhenDue)
            }),
            WakeReason::FactsDue => Box::new(|work| {
                work.queue_model_stage(Stage::ModelFacts);
                work.run(&Stage::Checkpoints)?;
                work.run(&Stage::Facts)
            }),
            WakeReason::RetentionDue => Box::new(|work| {
                work.run(&Stage::Retention)?;
                work.run(&Stage::Patterns)?;
                work.run(&Stage::Capsules)
            }),
            WakeReason::MaintenanceDue => Box::new(|work| work.run(&Stage::Maintenance)),
            WakeReason::Idle => return ExitReason::Idle,
            WakeReason::Stop => return ExitReason::Stopped,
        };
        // A long stage notices the stop flag and ends early; its remaining work stays due.
        tokio::select! {
            () = run_stage(work, stage) => {}
            () = inbox.wait_for_stop() => {
                work.stop.store(true, Ordering::Relaxed);
                return ExitReason::Stopped;
            }
        }
    }
}

type StageFn = Box<dyn FnOnce(&BackgroundWorker) -> store::Result<()> + Send>;

/// Runs a stage on a thread of lower priority. A failure is logged, and the stage is retried when
/// it is next due.
async fn run_stage(work: &BackgroundWorker, stage: StageFn) {
    let background = work.background.clone();
    let work = work.clone();
    let done = background.spawn_blocking(move || stage(&work)).await;
    match done {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a stage failed and will be retried"),
        Err(error) => tracing::error!(%error, "a stage panicked"),
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

    /// Feeds new records to the memory layers of live sessions, and writes caches and counts.
    fn feed_layers(&self, flush: FlushMode) -> store::Result<()> {
        let ServeContext {
            store,
            settings,
            layers,
            ..
        } = &self.context;
        layers.feed(store, settings, self.now())?;
        layers.flush(store, flush, self.now())
    }

    /// Updates the summaries that are due, or queues that for the model.
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

    /// Runs the follow-up work that hooks queued while no daemon ran. Work that fails stays queued.
    fn run_pending_follow_ups(&self) -> store::Result<()> {
        let drained: Result<usize, DrainError> =
            hook::pending::drain(&self.home, |after| Ok(self.run_follow_ups(after)?));
        match drained {
            Ok(_) => Ok(()),
            Err(DrainError::Store(error)) => Err(error),
            Err(DrainError::Io(error)) => {
                tracing::warn!(%error, "some deferred hook work failed");
                Ok(())
            }
        }
    }
}

/// Why queued follow-up work was not finished.
#[derive(Debug, Error)]
enum DrainError {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Watches the agents' folders on a thread of its own, which stores new records as it reads them.
fn watch_logs(
    desk: &ServeContext,
    sources: &Sources,
    options: WatchOptions,
    waker: DaemonHandle,
    stop: &Arc<AtomicBool>,
) -> Option<std::thread::JoinHandle<()>> {
    let (desk, sources, stop) = (desk.clone(), sources.clone(), Arc::clone(stop));
    let watching = move || {
        priority::lower_thread_priority();
        let now = || desk.now();
        let mut log = SweepLog::default();
        let mut on_sweep = |sweep: &capture::SweepReport| {
            if sweep.records > 0 {
                waker.wake(WakeReason::LogGrew);
            }
            log.add(&desk.store, sweep, now());
        };
        let watched = capture::watch(&desk.store, &sources, options, &stop, &mut on_sweep, &now);
        log.flush(&desk.store, now());
        if let Err(error) = watched {
            tracing::error!(%error, "stopped watching the logs");
        }
    };
    let started = std::thread::Builder::new()
        .name("throughline-watch".into())
        .spawn(watching);
    started
        .inspect_err(|error| tracing::error!(%error, "cannot watch the logs"))
        .ok()
}

/// Stops the daemon on SIGTERM and SIGINT. SIGHUP is ignored, so a closed terminal does not end it.
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

/// Opens the main socket. The daemon lock is held, so an existing socket file is stale.
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

/// Binds a socket for an async runtime.
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

/// Binds a port on loopback, if one is requested.
async fn bind_tcp(port: Option<u16>) -> Result<Option<(TcpListener, u16)>, DaemonError> {
    let Some(port) = port else {
        return Ok(None);
    };
    let bound = bind_loopback(port).await;
    bound.map(Some).map_err(|error| DaemonError::Listen {
        place: format!("127.0.0.1:{port}"),
        error,
    })
}

#[cfg(test)]
mod tests;
