//! The command line program of an agent, used as a model. It reads the prompt from standard input
//! and prints its answer.
//!
//! Such a program cannot call our tools, so the prompt asks for the edits as JSON. They are checked
//! like the tool calls of any other model.

#![expect(
    clippy::disallowed_methods,
    reason = "the binary may start processes and read the clock"
)]

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use distill::model::{
    Completion, CompletionRequest, Model, ModelError, ModelFailure, ModelToolCall, ModelTurn,
};
use memory::fence;
use serde_json::Value;

use crate::output::error_with_hint;

/// The rest of a longer answer is ignored.
const ANSWER_BYTES_MAX: u64 = 4 << 20;
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct AgentCli {
    command: Vec<String>,
    name: String,
}

impl AgentCli {
    pub(crate) fn new(command: &[String], model: &str) -> anyhow::Result<Self> {
        let Some(program) = command.first() else {
            return Err(error_with_hint(
                "no program is configured",
                "set `command` under [model], for example [\"claude\", \"-p\"]",
            ));
        };
        Ok(Self {
            name: if model.is_empty() {
                program.clone()
            } else {
                model.to_owned()
            },
            command: command.to_vec(),
        })
    }
}

impl Model for AgentCli {
    fn name(&self) -> &str {
        &self.name
    }

    fn complete(
        &self,
        request: &CompletionRequest,
        timeout: Duration,
    ) -> Result<Completion, ModelError> {
        // The program cannot receive tool results, so there is only one round.
        if request
            .turns
            .iter()
            .any(|turn| matches!(turn, ModelTurn::Results(_)))
        {
            return Ok(Completion::default());
        }
        let answer = self.run(&request_text(request), timeout)?;
        Ok(Completion {
            calls: parse_edit_calls(&answer),
            text: answer,
            ..Completion::default()
        })
    }
}

impl AgentCli {
    fn run(&self, prompt: &str, timeout: Duration) -> Result<String, ModelError> {
        let started = Command::new(&self.command[0])
            .args(&self.command[1..])
            // The program's own hooks must not call us: that could recurse without end.
            .env("THROUGHLINE_INSIDE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = started
            .map_err(|error| ModelFailure::Connection(format!("{}: {error}", self.command[0])))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ModelFailure::Connection("no pipes".to_owned()).into());
        };
        let prompt = prompt.to_owned();
        let writing = std::thread::spawn(move || stdin.write_all(prompt.as_bytes()));
        let reading = std::thread::spawn(move || {
            let mut answer = Vec::new();
            stdout
                .take(ANSWER_BYTES_MAX)
                .read_to_end(&mut answer)
                .map(|_| answer)
        });
        let exit_code = wait_for_exit(&mut child, timeout);
        if exit_code.is_err() {
            // Both fail only if the program has ended in the meantime.
            child.kill().ok();
            child.wait().ok();
        }
        let code = exit_code?;
        // A program need not read all of its input, so a broken pipe is not an error.
        drop(writing.join());
        let answer = reading.join().ok().and_then(Result::ok).unwrap_or_default();
        if code != Some(0) {
            let message = match code {
                Some(code) => format!("{} exited with status {code}", self.command[0]),
                None => format!("{} was killed by a signal", self.command[0]),
            };
            return Err(ModelFailure::Connection(message).into());
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

fn wait_for_exit(child: &mut Child, timeout: Duration) -> Result<Option<i32>, ModelError> {
    let deadline = Instant::now() + timeout;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code()),
            Ok(None) if Instant::now() >= deadline => return Err(ModelFailure::Timeout.into()),
            Ok(None) => std::thread::sleep(POLL_INTERVAL),
            Err(error) => return Err(ModelFailure::Connection(error.to_string()).into()),
        }
    }
}

/// Formats the request as one text. All of it is fenced, so that our own request is not captured as
/// a user's prompt when the program's log is read.
fn request_text(request: &CompletionRequest) -> String {
    let mut text = request.system.clone();
    for turn in &request.turns {
        if let ModelTurn::User(said) = turn {
            text += &format!("\n\n{said}");
        }
    }
    if let Some(tool) = &request.tool {
        text += &format!(
            "\n\nYou have no tools here. Answer with nothing but a JSON array of the arguments of \
             your `{}` calls, each as in this schema: {}",
            tool.name, tool.schema
        );
    }
    fence::enclose("request", &text)
}

/// Finds the array of edits in an answer. It may be in a code block or surrounded by prose.
fn parse_edit_calls(answer: &str) -> Vec<ModelToolCall> {
    let arrays = answer.match_indices('[').filter_map(|(start, _)| {
        let mut values =
            serde_json::Deserializer::from_str(&answer[start..]).into_iter::<Vec<Value>>();
        values.next()?.ok()
    });
    let edits = arrays.into_iter().find(|edits| {
        !edits.is_empty() && edits.iter().all(|edit| edit.get("old_string").is_some())
    });
    (edits.unwrap_or_default().into_iter().enumerate())
        .map(|(index, input)| ModelToolCall {
            id: format!("call_{index}"),
            tool: distill::summary::EDIT_TOOL.to_owned(),
            input,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_found_in_prose() {
        let answer = concat!(
            "Here [as asked]:\n```json\n",
            "[{\"file_path\":\"f\",\"old_string\":\"a]\",\"new_string\":\"b\"}]\n```"
        );
        let calls = parse_edit_calls(answer);
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].input["old_string"], "a]");
        assert!(parse_edit_calls("I have nothing to add []").is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_hangs_is_killed() {
        let ask = |script: &str, timeout: u64| {
            let command = ["sh", "-c", script].map(str::to_owned);
            let cli = AgentCli::new(&command, "").unwrap();
            let request = CompletionRequest {
                turns: vec![ModelTurn::User("go".into())],
                ..CompletionRequest::default()
            };
            cli.complete(&request, Duration::from_secs(timeout))
        };
        let reply = ask("cat >/dev/null; echo '[{\"old_string\":\"a\"}]'", 60).unwrap();
        assert_eq!(reply.calls.len(), 1);
        assert_eq!(
            ask("sleep 60", 0).unwrap_err().failure,
            ModelFailure::Timeout
        );
        assert!(matches!(
            ask("exit 3", 60).unwrap_err().failure,
            ModelFailure::Connection(_)
        ));
    }
}
