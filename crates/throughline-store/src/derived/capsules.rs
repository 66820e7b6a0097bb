//! Knowledge capsules of workspaces, and the records that skills and configuration are known from.
//!
//! A capsule is text of records, facts and patterns. Forgetting, eviction and newly found secrets
//! delete the capsules of the workspace, which are made again from what is left.

use jiff::Timestamp;
use memory::layers::{Capsule, CapsuleKind};
use memory::{Flavor, RecordId, RecordKind, SessionId};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::Store;
use crate::derived::cards;
use crate::error::Result;
use crate::query::query_all;
use crate::records::sessions::timestamp_from_millis;

/// A record about a skill, or about an instruction file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnowledgeRecord {
    pub id: RecordId,
    pub session: SessionId,
    pub kind: RecordKind,
    pub tool: Option<String>,
    pub path: Option<String>,
    /// The folder of the session.
    pub cwd: Option<String>,
    pub at: Option<Timestamp>,
}

/// A tool that an agent called in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentTool {
    pub flavor: Flavor,
    pub tool: String,
    /// The number of sessions that called it.
    pub sessions: u64,
}

impl Store {
    /// Replaces the capsules of a workspace. Returns false, and writes nothing, if text was
    /// forgotten or redacted since `generation`.
    pub fn put_capsules(
        &self,
        workspace: &str,
        generation: i64,
        capsules: Vec<Capsule>,
    ) -> Result<bool> {
        if self.capsules(workspace)? == capsules {
            return Ok(true);
        }
        let workspace = workspace.to_owned();
        let redactor = self.redactor_handle();
        let clean = move |text: &str| redactor.clean(text).into_owned().as_str().to_owned();
        self.write(move |tx, _| {
            let sql = "SELECT id FROM workspaces WHERE key = ?1";
            let id: Option<i64> = tx
                .prepare_cached(sql)?
                .query_row([&workspace], |row| row.get(0))
                .optional()?;
            let Some(id) = id else {
                return Ok(false);
            };
            if cards::generation(tx)? != generation {
                return Ok(false);
            }
            delete_capsules(tx, id)?;
            let mut insert = tx.prepare_cached(
                "INSERT OR REPLACE INTO capsules (workspace, kind, name, data)
                 VALUES (?1, ?2, ?3, ?4)",
            )?;
            for capsule in &capsules {
                let data = serde_json::to_string(capsule).unwrap_or_default();
                let (kind, name) = (capsule.kind.name(), clean(&capsule.name));
                insert.execute(params![id, kind, name, clean(&data)])?;
            }
            Ok(true)
        })
    }

    /// Returns the capsules of a workspace, by kind and name.
    pub fn capsules(&self, workspace: &str) -> Result<Vec<Capsule>> {
        let sql = "SELECT c.data FROM capsules c JOIN workspaces w ON w.id = c.workspace
            WHERE w.key = ?1";
        let rows: Vec<String> =
            self.read(|connection| query_all(connection, sql, [workspace], |row| row.get(0)))?;
        let parse = |data: &String| serde_json::from_str(data).ok();
        let mut capsules: Vec<Capsule> = rows.iter().filter_map(parse).collect();
        capsules.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| a.name.cmp(&b.name)));
        Ok(capsules)
    }

    /// Returns the latest records of a workspace whose file has one of these names, and the calls
    /// of a tool.
    pub fn knowledge_records(
        &self,
        workspace: &str,
        file_names: &[&str],
        tool: &str,
        limit: usize,
    ) -> Result<Vec<KnowledgeRecord>> {
        let sql = "SELECT r.id, s.name, r.kind, r.tool, r.path, s.cwd, r.at
            FROM workspaces w JOIN sessions s ON s.workspace = w.id
            JOIN records r ON r.session = s.id
            WHERE w.key = ?1 AND r.copy = 0 AND (r.tool = ?2 OR EXISTS (
              SELECT 1 FROM json_each(?3) n WHERE r.path = n.value
                OR substr(r.path, -length(n.value) - 1) = '/' || n.value))
            ORDER BY r.at DESC, r.row DESC LIMIT ?4";
        let names = serde_json::to_string(file_names).unwrap_or_default();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            query_all(
                connection,
                sql,
                params![workspace, tool, names, limit],
                |row| {
                    Ok(KnowledgeRecord {
                        id: RecordId::from_bytes(row.get(0)?),
                        session: SessionId::new(row.get::<_, String>(1)?),
                        kind: crate::records::kind_from_number(row.get(2)?),
                        tool: row.get(3)?,
                        path: row.get(4)?,
                        cwd: row.get(5)?,
                        at: timestamp_from_millis(row.get(6)?),
                    })
                },
            )
        })
    }

    /// Returns the tools that agents called in a workspace, the most used first.
    pub fn agent_tools(&self, workspace: &str) -> Result<Vec<AgentTool>> {
        let sql = "SELECT s.flavor, r.tool, count(DISTINCT s.id) FROM workspaces w
            JOIN sessions s ON s.workspace = w.id JOIN records r ON r.session = s.id
            WHERE w.key = ?1 AND r.kind = ?2 AND r.tool IS NOT NULL
            GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2";
        let rows: Vec<(String, String, u64)> = self.read(|connection| {
            let call = RecordKind::ToolUse as i64;
            query_all(connection, sql, params![workspace, call], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
        })?;
        let tool = |(flavor, tool, sessions): (String, String, u64)| {
            Some(AgentTool {
                flavor: Flavor::from_name(&flavor)?,
                tool,
                sessions,
            })
        };
        Ok(rows.into_iter().filter_map(tool).collect())
    }
}

pub(crate) fn delete_capsules(tx: &Transaction<'_>, workspace: i64) -> Result<()> {
    tx.prepare_cached("DELETE FROM capsules WHERE workspace = ?1")?
        .execute([workspace])?;
    Ok(())
}

/// Deletes the capsules that quote facts.
pub(crate) fn forget_facts(tx: &Transaction<'_>) -> Result<()> {
    let mut delete = tx.prepare_cached("DELETE FROM capsules WHERE kind = ?1")?;
    for kind in [CapsuleKind::Preference, CapsuleKind::History] {
        delete.execute([kind.name()])?;
    }
    Ok(())
}
