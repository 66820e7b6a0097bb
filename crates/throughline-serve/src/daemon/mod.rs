//! The daemon: one process that answers, watches the logs, and does what is due.
//!
//! Hooks are answered on [`lanes`] of their own, before any other work. Everything that is not an answer
//! happens in one loop over what [`Wake`]s it, one stage at a time on a thread of lower [`priority`].
//! [`schedule`] says when what is due, [`home`] is what lies in the folder while it runs, [`call`] how
//! our own commands speak to it.

pub mod call;
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

use store::Store;
use thiserror::Error;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

pub use self::home::{Running, is_held, running};
use self::lanes::{HookLanes, LANES};
pub use self::origin::Origin;
use self::schedule::Schedule;
use self::wake::Inbox;
pub use self::wake::{Wake, Waker};
use crate::Desk;
use crate::hook::{self, After, Works};
use crate::http::listen::{Listener, listen};
use crate::http::{Front, Gate, Limits, router};
use crate::stages::{self, Logs, Stages};

/// Threads that serve connections, and threads that read the store for them. Of the latter there are
/// enough for every request that is answered at once, every listener and every export.
const WORKERS: usize = 2;
const BLOCKING_MAX: usize = 64;
/// Threads that run stages: one for the loop, one for what asks a model, and one to spare for a stage
/// that is still ending.
const BACKGROUND_MAX: usize = 3;
/// What waits for the model.
const SLOW_MAX: usize = 4;
/// How long what still runs may take when the daemon stops.
const GRACE: Duration = Duration::from_secs(3);

/// How the daemon runs.
#[derive(Debug)]
pub struct Plan {
    pub home: PathBuf,
    /// The port on loopback; none when it is not to be reached there.
    pub port: Option<u16>,
    /// Ends when nobody has needed it for so long.
    pub idle: Option<Duration>,
    /// Nobody's terminal holds it, and whoever needs it starts it again.
    pub background: bool,
    /// What it was started from.
    pub origin: Origin,
    pub stages: Stages,
    pub logs: Logs,
    pub limits: Limits,
    /// A socket that whoever started us has opened already.
    pub given: Option<std::os::unix::net::UnixListener>,
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
pub enum Ended {
    Stopped,
    Idle,
    /// Its program or its configuration is another now.
    Outdated,
}

/// Runs until it is stopped or nobody needs it. `open` opens the store, `open_to_read` the same store once
/// more for a lane that answers hooks; `ready` hears when the daemon can be reached.
pub fn run(
    open: impl FnOnce() -> Result<Desk, DaemonError>,
    open_to_read: impl Fn() -> store::Result<Store>,
    plan: Plan,
    ready: impl FnOnce(&Running),
) -> Result<Ended, DaemonError> {
    let lock = home::lock(&plan.home)?;
    let desk = open()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_MAX)
        .enable_all()
        .build()?;
    let background = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(BACKGROUND_MAX)
        .on_thread_start(priority::lower)
        .build()?;
    let stores = hook_stores(&desk, open_to_read);
    let served = serve(
        desk.clone(),
        stores,
        plan,
        background.handle().clone(),
        ready,
    );
    let ended = runtime.block_on(served);
    background.shutdown_timeout(GRACE);
    runtime.shutdown_timeout(GRACE);
    // The store goes last but for the lock: closing it writes its log back into the file.
    drop(desk);
    drop(lock);
    ended
}

/// Opens the store once for each lane. One that cannot be opened shares the daemon's own connections.
fn hook_stores(desk: &Desk, open_to_read: impl Fn() -> store::Result<Store>) -> Vec<Arc<Store>> {
    let open = |_| match open_to_read() {
        Ok(store) => Arc::new(store),
        Err(error) => {
            tracing::warn!(%error, "hooks share the connections of other requests");
            Arc::clone(&desk.store)
        }
    };
    (0..LANES).map(open).collect()
}

async fn serve(
    desk: Desk,
    stores: Vec<Arc<Store>>,
    plan: Plan,
    background: tokio::runtime::Handle,
    ready: impl FnOnce(&Running),
) -> Result<Ended, DaemonError> {
    let token = home::token(&plan.home)?;
    let is_given = plan.given.is_some();
    let socket = socket(&plan.home, plan.given)?;
    let hook_socket = bind(&home::hook_socket_in(&plan.home))?;
    let tcp = tcp(plan.port).await?;
    let running = Running::here(
        &plan.home,
        tcp.as_ref().map(|(_, port)| *port),
        plan.background,
    );
    let (waker, inbox) = wake::channel();
    let (stopping, stopped) = watch::channel(false);
    let gate = Gate::new(token, plan.limits);
    let front = Front::new(
        desk.clone(),
        gate,
        waker.clone(),
        stopped.clone(),
        &running.boot,
        plan.origin,
    );
    let lanes = HookLanes::start(&hook_socket, stores, &front, &stopped)?;
    let routes = router(&front);
    let mut doors = vec![tokio::spawn(listen(
        Listener::Socket(socket),
        routes.clone(),
        plan.limits,
        stopped.clone(),
    ))];
    if let Some((tcp, port)) = tcp {
        let tcp = Listener::Tcp(tcp, port);
        doors.push(tokio::spawn(listen(tcp, routes, plan.limits, stopped)));
    }
    running.write(&plan.home)?;
    home::came(&plan.home);
    ready(&running);
    let stop = Arc::new(AtomicBool::new(false));
    let signals = tokio::spawn(signals(waker.clone())?);
    let watching = watch_logs(&desk, &plan.logs, waker, &stop);
    let (slow, asked) = mpsc::channel(SLOW_MAX);
    let work = Work {
        desk,
        stages: Arc::new(plan.stages),
        logs: Arc::new(plan.logs),
        home: plan.home.clone(),
        stop: Arc::clone(&stop),
        ends_when_outdated: plan.background,
        background,
        slow,
    };
    let asking = tokio::spawn(ask_models(work.clone(), asked));
    let ended = round(&work, inbox, &front, plan.idle).await;
    signals.abort();
    asking.abort();
    stop.store(true, Ordering::Relaxed);
    // Nobody listens any more; who was being answered is.
    let _all = stopping.send(true);
    for door in doors {
        let _ended = door.await;
    }
    home::leave(&plan.home, is_given);
    let _joined = tokio::task::spawn_blocking(move || lanes.join()).await;
    if let Some(watching) = watching {
        let _joined = tokio::task::spawn_blocking(move || watching.join()).await;
    }
    Ok(ended)
}

/// What the stages need.
#[derive(Clone)]
struct Work {
    desk: Desk,
    stages: Arc<Stages>,
    logs: Arc<Logs>,
    home: PathBuf,
    stop: Arc<AtomicBool>,
    /// The daemon ends when its program or configuration has changed: a hook starts it again.
    ends_when_outdated: bool,
    /// Runs the stages, on threads of lower priority.
    background: tokio::runtime::Handle,
    slow: mpsc::Sender<Slow>,
}

/// What a model is asked for.
#[derive(Clone, Copy, Debug)]
enum Slow {
    Summaries,
    Facts,
}

/// Lets the model work beside the loop, one thing at a time: it may take minutes, and hooks wait for nobody.
async fn ask_models(work: Work, mut asked: mpsc::Receiver<Slow>) {
    while let Some(slow) = asked.recv().await {
        let stage: Stage = match slow {
            Slow::Summaries => Box::new(Work::renew),
            Slow::Facts => Box::new(|work| {
                let (store, stages) = (&work.desk.store, &work.stages);
                stages::ask_for_facts(store, stages, &work.stop, work.now()).map(drop)
            }),
        };
        run_stage(&work, stage).await;
    }
}

/// The loop: whatever wakes it is done, one thing after the other.
async fn round(work: &Work, mut inbox: Inbox, front: &Front, idle: Option<Duration>) -> Ended {
    let mut schedule = Schedule::new();
    loop {
        let left = idle.map(|idle| idle.saturating_sub(front.gate.idle()));
        let wake = match inbox.next(schedule.next_in(left)).await {
            Some(wake) => wake,
            None => match schedule.due() {
                Some(wake) => wake,
                None if idle.is_some_and(|idle| front.gate.idle() >= idle) => Wake::Idle,
                None => continue,
            },
        };
        tracing::debug!(?wake, "woken");
        if work.ends_when_outdated && wake != Wake::Stop && front.origin.has_changed() {
            return Ended::Outdated;
        }
        let asked: Stage = match wake {
            Wake::LogGrew => {
                front.gate.asked();
                Box::new(Work::renew_soon)
            }
            // A hook that printed our answer has left a note of it.
            Wake::Hooked(after) => Box::new(move |work| {
                work.carry_out(after)?;
                work.drain_pending()
            }),
            Wake::PendingDue => Box::new(Work::drain_pending),
            Wake::DistillDue => Box::new(|work| {
                work.ask_model(Slow::Facts);
                stages::look_back(&work.desk.store, &work.stages, &work.stop, work.now()).map(drop)
            }),
            Wake::RetentionDue => Box::new(|work| {
                let (store, stages) = (&work.desk.store, &work.stages);
                stages::digest_and_evict(store, stages, &work.stop, work.now()).map(drop)
            }),
            Wake::HouseDue => Box::new(|work| {
                let (store, stages) = (&work.desk.store, &work.stages);
                stages::keep_house(store, stages, &work.stop, work.now()).map(drop)
            }),
            Wake::Idle => return Ended::Idle,
            Wake::Stop => return Ended::Stopped,
        };
        // Told to stop, a long stage ends early; what it left undone is due again.
        tokio::select! {
            () = run_stage(work, asked) => {}
            () = inbox.stop_asked() => {
                work.stop.store(true, Ordering::Relaxed);
                return Ended::Stopped;
            }
        }
    }
}

type Stage = Box<dyn FnOnce(&Work) -> store::Result<()> + Send>;

/// Runs a stage on a thread of lower priority. What fails is logged and tried again when it is next due.
async fn run_stage(work: &Work, stage: Stage) {
    let background = work.background.clone();
    let work = work.clone();
    let done = background.spawn_blocking(move || stage(&work)).await;
    match done {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a stage failed and will be tried again"),
        Err(error) => tracing::error!(%error, "a stage broke off"),
    }
}

impl Work {
    fn now(&self) -> jiff::Timestamp {
        self.desk.now()
    }

    /// Leaves something to the model. What waits already is only more of the same.
    fn ask_model(&self, slow: Slow) {
        if self.stages.models.is_some()
            && let Err(error) = self.slow.try_send(slow)
        {
            tracing::debug!(%error, ?slow, "left to its next turn");
        }
    }

    /// Writes the summaries that are due, or leaves them to the model.
    fn renew_soon(&self) -> store::Result<()> {
        if self.stages.models.is_none() {
            return self.renew();
        }
        self.ask_model(Slow::Summaries);
        Ok(())
    }

    fn renew(&self) -> store::Result<()> {
        stages::renew(&self.desk.store, &self.stages, &self.stop, self.now()).map(drop)
    }

    /// Does what follows from hooks.
    fn carry_out(&self, mut after: Vec<After>) -> store::Result<()> {
        let store = &self.desk.store;
        if self.stages.models.is_some() && after.contains(&After::Renew) {
            after.retain(|after| *after != After::Renew);
            self.ask_model(Slow::Summaries);
        }
        let works = Works {
            adapters: &self.logs.adapters,
            roots: &self.logs.roots,
            scope: &self.logs.scope,
            archive: self.logs.archive,
            threads: self.logs.threads,
            summaries: self
                .stages
                .summary
                .as_ref()
                .filter(|_| !store.is_encrypted()),
            facts: self.stages.facts,
            stop: &self.stop,
        };
        hook::carry_out(store, &works, after, self.now())
    }

    /// Does what hooks left while no daemon ran. What cannot be done now goes on waiting.
    fn drain_pending(&self) -> store::Result<()> {
        let drained: Result<usize, Undone> =
            hook::pending::drain(&self.home, |after| Ok(self.carry_out(after)?));
        match drained {
            Ok(_) => Ok(()),
            Err(Undone::Store(error)) => Err(error),
            Err(Undone::Io(error)) => {
                tracing::warn!(%error, "what hooks left is not all done");
                Ok(())
            }
        }
    }
}

/// Why something that hooks left is not done.
#[derive(Debug, Error)]
enum Undone {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Watches the agents' folders on a thread of its own. What it reads is stored there and then.
fn watch_logs(
    desk: &Desk,
    logs: &Logs,
    waker: Waker,
    stop: &Arc<AtomicBool>,
) -> Option<std::thread::JoinHandle<()>> {
    let (desk, logs, stop) = (desk.clone(), logs.clone(), Arc::clone(stop));
    let watching = move || {
        priority::lower();
        let mut on_sweep = |sweep: &capture::Sweep| {
            if sweep.records > 0 {
                waker.wake(Wake::LogGrew);
            }
        };
        let now = || desk.now();
        let watched = capture::watch(&desk.store, &logs.watch(), &stop, &mut on_sweep, &now);
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
fn signals(waker: Waker) -> io::Result<impl Future<Output = ()>> {
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
fn socket(
    folder: &Path,
    given: Option<std::os::unix::net::UnixListener>,
) -> Result<UnixListener, DaemonError> {
    let path = home::socket_in(folder);
    let listener = match given {
        Some(given) => {
            given.set_nonblocking(true).map_err(listen_error(&path))?;
            given
        }
        None => bind(&path)?,
    };
    UnixListener::from_std(listener).map_err(listen_error(&path))
}

/// Opens a socket for use by an async runtime.
fn bind(path: &Path) -> Result<std::os::unix::net::UnixListener, DaemonError> {
    let listener = home::bind(path).map_err(listen_error(path))?;
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
async fn tcp(port: Option<u16>) -> Result<Option<(TcpListener, u16)>, DaemonError> {
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
