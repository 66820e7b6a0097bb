//! Sessions that continue during a fault. Afterwards their logs must be ingested and their
//! injections recorded.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::faults::PATIENT;
use super::{Line, at_once, call_with, claude};
use crate::env::TestEnv;

pub struct Live<'a> {
    env: &'a TestEnv,
    memory: PathBuf,
    deadline: (&'static str, &'static str),
    /// Sessions whose `Stop` event was sent.
    ended: Mutex<BTreeSet<String>>,
    /// Sessions that were given context.
    shown: Mutex<BTreeSet<String>>,
}

impl<'a> Live<'a> {
    pub fn new(env: &'a TestEnv) -> Self {
        Self::in_folder(env, &env.home().join("memory"))
    }

    pub fn in_folder(env: &'a TestEnv, memory: &Path) -> Self {
        Self {
            env,
            memory: memory.to_owned(),
            deadline: PATIENT,
            ended: Mutex::default(),
            shown: Mutex::default(),
        }
    }

    pub fn within(env: &'a TestEnv, deadline: (&'static str, &'static str)) -> Self {
        Self {
            deadline,
            ..Self::new(env)
        }
    }

    /// Runs this many sessions from start to `Stop`, several at the same time.
    pub fn sessions(&self, count: usize) {
        let numbers: Vec<_> = (0..count).collect();
        at_once(&numbers, |number| self.session(*number));
    }

    pub fn session(&self, number: usize) {
        let id = format!("live-{number}");
        let start = self.hook(
            &id,
            &json!({"hook_event_name": "SessionStart", "source": "startup"}),
        );
        if start.contains("unittest -q") {
            self.shown.lock().unwrap().insert(format!("claude:{id}"));
        }
        self.write_log(&id);
        self.hook(
            &id,
            &json!({"hook_event_name": "Stop", "stop_hook_active": false}),
        );
        self.ended.lock().unwrap().insert(format!("claude:{id}"));
    }

    fn hook(&self, id: &str, event: &Value) -> String {
        let mut payload = json!({
            "session_id": id, "transcript_path": self.log(id), "cwd": "/w",
        });
        payload
            .as_object_mut()
            .unwrap()
            .extend(event.as_object().unwrap().clone());
        let line: Line = claude(payload);
        let home = self.memory.display().to_string();
        let ran = call_with(
            self.env,
            &line,
            &[self.deadline, ("THROUGHLINE_HOME", &home)],
        );
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{id}");
        ran.stdout
    }

    fn log(&self, id: &str) -> PathBuf {
        self.env
            .home()
            .join(format!(".claude/projects/-w/{id}.jsonl"))
    }

    fn write_log(&self, id: &str) {
        let line = json!({
            "type": "user", "uuid": format!("u-{id}"), "sessionId": id, "cwd": "/w",
            "timestamp": "2026-11-16T08:59:00Z", "version": "2.1.0",
            "message": {"role": "user", "content": format!("where is the heron of {id}?")},
        });
        let log = self.log(id);
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        fs::write(log, format!("{line}\n")).unwrap();
    }

    /// Returns how many sessions were given context.
    pub fn shown(&self) -> usize {
        self.shown.lock().unwrap().len()
    }

    /// Returns the sessions that are not ingested, and those whose injection is not recorded.
    pub fn lost(&self) -> (Vec<String>, Vec<String>) {
        let known = self.listed("sessions", "id");
        let recorded = self.listed("injections", "session");
        let lost = |all: &Mutex<BTreeSet<String>>, found: &BTreeSet<String>| {
            let all = all.lock().unwrap();
            all.difference(found).cloned().collect()
        };
        (lost(&self.ended, &known), lost(&self.shown, &recorded))
    }

    fn listed(&self, command: &str, field: &str) -> BTreeSet<String> {
        let mut command = self.env.command(&[command, "--json", "-n", "1000000"]);
        let ran = command
            .env("THROUGHLINE_HOME", &self.memory)
            .output()
            .unwrap();
        let listed: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
        let listed = listed.as_array().cloned().unwrap_or_default();
        let field = |one: &Value| one[field].as_str().map(str::to_owned);
        listed.iter().filter_map(field).collect()
    }

    /// Checks after the fault that the queue is empty and nothing is missing.
    #[track_caller]
    pub fn nothing_is_lost(&self) {
        self.sessions_are_there();
        assert_eq!(self.lost().1, Vec::<String>::new());
    }

    #[track_caller]
    pub fn sessions_are_there(&self) {
        let mut ingest = self.env.command(&["ingest"]);
        let ran = ingest
            .env("THROUGHLINE_HOME", &self.memory)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{said}");
        assert_eq!(self.lost().0, Vec::<String>::new());
    }
}
