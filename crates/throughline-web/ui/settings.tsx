// Settings: those of this browser, and the effective configuration with file and line.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type ConfigAnswer, get } from "./api";
import { hasSingleKeys, setSingleKeys } from "./keys";
import { onScreen } from "./route";
import { Show, load, loaded } from "./state";
import { visible } from "./text";
import { setTextSize, setTheme, textSize, theme } from "./theme";

const config = loaded<ConfigAnswer>();
const filter = signal("");
const onlyOwn = signal(false);

const loadConfig = () => void load(config, get<ConfigAnswer>("/config"));
onScreen("settings", loadConfig);

function Browser(): JSX.Element {
  const themes: ["" | "light" | "dark", string][] = [["", "System"], ["light", "Light"], ["dark", "Dark"]];
  return (
    <section class="card" aria-labelledby="browser-title">
      <h2 id="browser-title">This browser</h2>
      <dl class="switches">
        <div><dt>Theme</dt><dd><span class="segmented" role="group" aria-label="Theme">{themes.map(([name, label]) => <button type="button" aria-pressed={theme.value === name} onClick={() => setTheme(name)}>{label}</button>)}</span></dd></div>
        <div><dt>Text size</dt><dd><span class="segmented" role="group" aria-label="Text size">{[90, 100, 115, 130].map((size) => <button type="button" aria-pressed={textSize.value === size} onClick={() => setTextSize(size)}>{size} %</button>)}</span></dd></div>
        <div><dt>Single keys<small>Off: only Ctrl K, Escape, Enter and the arrows work as keys.</small></dt><dd><button type="button" role="switch" class="switch" aria-label="Single keys" aria-checked={hasSingleKeys.value} onClick={() => setSingleKeys(!hasSingleKeys.value)}><i aria-hidden="true" /></button></dd></div>
      </dl>
    </section>
  );
}

function Settings({ answer }: { answer: ConfigAnswer }): JSX.Element {
  const words = filter.value.toLowerCase();
  const shown = answer.settings.filter((setting) => setting.key.toLowerCase().includes(words) && (!onlyOwn.value || setting.line));
  return (
    <>
      <p>
        <code>{answer.file}</code>{" "}
        {answer.exists ? "" : "does not exist; the defaults apply. "}
        <span class="faint">Edit it in an editor; the switches are under <a href="/ui/given?tab=switches">Given</a>.</span>
      </p>
      <div class="filters">
        <label><span>Contains</span><input type="search" aria-label="Filter the settings" value={filter.value} onInput={(event) => (filter.value = event.currentTarget.value)} /></label>
        <label class="check"><input type="checkbox" checked={onlyOwn.value} onChange={(event) => (onlyOwn.value = event.currentTarget.checked)} /> only what the file sets</label>
      </div>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Settings">
        <table>
          <thead><tr><th>Setting</th><th>Value</th><th>From</th></tr></thead>
          <tbody>{shown.map((setting) => (
            <tr><td class="nowrap"><code>{setting.key}</code></td><td class="wrap"><code>{visible(setting.value)}</code></td><td class="faint nowrap">{setting.line ? `line ${setting.line}` : "default"}</td></tr>
          ))}</tbody>
        </table>
      </div>
    </>
  );
}

export function SettingsScreen(): JSX.Element {
  return (
    <main>
      <div class="screen-head"><h1>Settings</h1></div>
      <Browser />
      <h2>Configuration in effect</h2>
      <Show of={config} retry={loadConfig}>{(answer) => <Settings answer={answer} />}</Show>
    </main>
  );
}
