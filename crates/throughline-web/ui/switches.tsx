// The switches: what may be given, everywhere and per workspace. They edit the configuration file.

import type { JSX } from "preact";
import { type Keeping, type SwitchAnswer, type Workspace, call, get } from "./api";
import { confirmDialog } from "./dialog";
import { failure, show } from "./notice";
import { Show, load, loaded } from "./state";
import { Ago, count, visible } from "./text";

export const workspaces = loaded<Workspace[]>();
const keeping = loaded<Keeping>();

/** Workspaces with the latest work first. */
export function byUse(list: Workspace[]): Workspace[] {
  return list.toSorted((a, b) => (b.last ?? "").localeCompare(a.last ?? "") || b.sessions - a.sessions);
}

export async function loadSwitches(): Promise<void> {
  await Promise.all([load(workspaces, get<Workspace[]>("/workspaces")), load(keeping, get<Keeping>("/retention"))]);
}

interface Switch {
  switch: "injection" | "sensitive";
  workspace?: string;
}

/** Sets a switch after showing the lines that change. Undo sets it back. */
export async function setSwitch(which: Switch, on: boolean, isUndo = false): Promise<void> {
  try {
    const planned = await call<SwitchAnswer>("POST", "/config/switch", { ...which, on });
    if (!planned.confirm) {
      show("It is set like that already");
      return loadSwitches();
    }
    const apply = async () => {
      await call<SwitchAnswer>("POST", "/config/switch", { ...which, on, confirm: planned.confirm });
      show("The configuration file was changed; it is in effect", isUndo ? undefined : () => void setSwitch(which, !on, true));
      await loadSwitches();
    };
    if (isUndo) return await apply();
    const content = (
      <>
        <p>This changes <code>{planned.file}</code>:</p>
        <pre class="diff-text" role="region" aria-label="Diff" tabIndex={0}>{planned.diff.trimEnd().split("\n").map((line) => <span class={line.startsWith("+") ? "added" : "removed"}>{visible(line)}{"\n"}</span>)}</pre>
        <p class="faint">Everything else in the file stays as it is, comments too.</p>
      </>
    );
    confirmDialog("Change the configuration?", content, "Change", () => void apply().catch(failure), false);
  } catch (error) {
    failure(error);
  }
}

function Toggle({ label, on, disabled, set }: { label: string; on: boolean; disabled?: boolean; set: (on: boolean) => void }): JSX.Element {
  return <button type="button" role="switch" class="switch" aria-checked={on} aria-label={label} disabled={disabled ?? false} onClick={() => set(!on)}><i aria-hidden="true" /></button>;
}

function Row({ workspace, kept }: { workspace: Workspace; kept: Keeping }): JSX.Element {
  const { key } = workspace;
  return (
    <tr>
      <td class="wide">
        <b>{visible(key)}</b><br />
        <span class="faint">{count(workspace.sessions, "session")}, {count(workspace.facts, "fact")}{workspace.last && <>, last <Ago at={workspace.last} /></>}{workspace.injection_off && ` · no memory: ${workspace.injection_off}`}</span>
      </td>
      <td class="middle"><Toggle label={`Give memory in ${key}`} on={!workspace.injection_off} disabled={!kept.injection || !workspace.captured} set={(on) => void setSwitch({ switch: "injection", workspace: key }, on)} /></td>
      <td class="middle"><Toggle label={`Give texts that may contain a secret in ${key}`} on={workspace.sensitive} disabled={kept.sensitive} set={(on) => void setSwitch({ switch: "sensitive", workspace: key }, on)} /></td>
    </tr>
  );
}

export function Switches(): JSX.Element {
  return (
    <Show of={keeping} retry={() => void loadSwitches()}>
      {(kept) => (
        <>
          <dl class="switches card">
            <div><dt>Give memory to prompts<small>Off: agents get nothing, anywhere. Capture goes on.</small></dt><dd><Toggle label="Give memory to prompts" on={kept.injection} set={(on) => void setSwitch({ switch: "injection" }, on)} /></dd></div>
            <div><dt>Give texts that may contain a secret<small>Texts that look sensitive although no rule knows the secret. On: in all workspaces.</small></dt><dd><Toggle label="Give texts that may contain a secret" on={kept.sensitive} set={(on) => void setSwitch({ switch: "sensitive" }, on)} /></dd></div>
            <div><dt>Leaves this machine<small>{kept.leaves_the_machine.length === 0 ? "No model is configured, so no text leaves this machine." : kept.leaves_the_machine.join("; ")}</small></dt><dd><strong>{kept.leaves_the_machine.length === 0 ? "nothing" : "to the model"}</strong></dd></div>
          </dl>
          <h2>Workspaces</h2>
          <Show of={workspaces}>
            {(list) => (
              <div class="scroll-x" tabIndex={0} role="region" aria-label="Switches of workspaces">
                <table>
                  <thead><tr><th>Workspace</th><th>Give memory</th><th>Also sensitive texts</th></tr></thead>
                  <tbody>{byUse(list).map((workspace) => <Row key={workspace.key} workspace={workspace} kept={kept} />)}</tbody>
                </table>
              </div>
            )}
          </Show>
        </>
      )}
    </Show>
  );
}
