// Journeys through the page in a real browser, with the keyboard alone.
//
// Usage: node journeys.mjs URL PICTURES
//   URL        the address that `throughline web --print` printed
//   PICTURES   a folder for screenshots, or "-" for none

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [url, pictures] = process.argv.slice(2);
const origin = new URL(url).origin;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
context.setDefaultTimeout(20_000);
const foreign = [];
const violations = [];
const errors = [];
context.on("request", (request) => {
  const target = new URL(request.url());
  if (target.origin !== origin && target.protocol !== "blob:") foreign.push(request.url());
});
const page = await context.newPage();
page.on("pageerror", (error) => errors.push(String(error.stack ?? error)));
page.on("console", (message) => {
  if (message.type() === "warning") console.log(`the page warns: ${message.text()}`);
  if (message.type() === "error") (message.text().includes("Content Security Policy") ? violations : errors).push(message.text());
});

/** The screens whose pictures the documentation shows. */
const PICTURED = new Set([
  "sessions", "search", "session", "compaction", "share", "memory", "ledger", "switches", "usage", "files", "patterns", "keep", "settings", "narrow",
]);

/** Checks the accessibility of the screen in both themes, and takes its picture. */
async function inspect(name) {
  const frame = page.locator("body");
  await frame.evaluate(() => document.fonts.ready);
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
    const broken = found.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html).join(" ").slice(0, 400)}`);
    assert.deepEqual(broken, [], `${name} in the ${theme} theme`);
    if (pictures && pictures !== "-" && PICTURED.has(name)) await page.screenshot({ path: `${pictures}/${name}-${theme}.png` });
  }
  await page.emulateMedia({ colorScheme: null });
}

async function journey(name, steps) {
  const start = Date.now();
  try {
    await steps();
    console.log(`ok ${name} (${Date.now() - start} ms)`);
  } catch (error) {
    console.log(`failed ${name} at ${page.url()}`);
    console.log(await page.locator("body").innerText().catch(() => "no page"));
    console.log(errors.join("\n"));
    throw error;
  }
}

const press = async (...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};
const current = page.locator(".row[aria-current]");

await journey("the ticket opens the page once and leaves the address", async () => {
  await page.goto(url);
  await page.getByRole("searchbox").first().waitFor();
  assert.equal(new URL(page.url()).hash, "");
  const second = await context.newPage();
  await second.goto(url);
  await second.getByText("not signed in").waitFor();
  await second.close();
  await page.reload();
  await page.locator(".sessions li").first().waitFor();
  assert.deepEqual(await context.cookies(), []);
});

await journey("sessions are listed, and a search shows hits as it is typed", async () => {
  await inspect("sessions");
  await page.keyboard.type("reorder thr");
  await page.locator(".hit").first().waitFor();
  assert.match(await page.locator(".hit mark").first().innerText(), /thr|reorder/i);
  assert.equal(new URL(page.url()).searchParams.get("q"), "reorder thr");
  await inspect("search");
  assert.equal(await page.getByText(/\d+ % sure/).count(), 0);
  const box = page.getByRole("searchbox").first();
  await box.fill("where does the reorder threshold come from?");
  await page.getByText(/\d+ % sure/).waitFor();
  await box.fill("reorder thr");
  await page.waitForFunction(() => new URL(location.href).searchParams.get("q") === "reorder thr");
});

await journey("filters stand in the address and can be widened when nothing is left", async () => {
  await page.getByLabel("Agent", { exact: true }).selectOption("codex");
  await page.waitForFunction(() => document.querySelector(".group .agent")?.innerText === "codex");
  await page.getByLabel("Outcome", { exact: true }).selectOption("failed");
  await page.getByText("Nothing found for").waitFor();
  assert.match(page.url(), /agent=codex&outcome=failed/);
  await page.getByRole("button", { name: "Search without filters" }).press("Enter");
  await page.locator(".hit").first().waitFor();
  await page.getByLabel("Type", { exact: true }).selectOption("facts");
  await page.waitForFunction(() => document.querySelectorAll(".hit").length === 0 || document.querySelector(".empty"));
  await page.getByRole("button", { name: "Clear filters" }).press("Enter");
});

await journey("a hit opens in its place, and keys move through the session", async () => {
  await page.goto(`${origin}/ui/?q=reorder+threshold&agent=claude`);
  await page.locator(".hit").first().waitFor();
  await page.getByRole("searchbox").first().focus();
  await press("ArrowDown", "ArrowUp", "Enter");
  await current.waitFor();
  assert.match(page.url(), /\/ui\/s\/.*at=/);
  await page.locator("#side-panel").getByText("Asked").waitFor();
  await page.waitForFunction(() => document.querySelector(".minimap"));
  await inspect("session");
  await press("g");
  assert.match(await current.innerText(), /You/);
  const first = await current.innerText();
  await press("j", "j");
  assert.notEqual(await current.innerText(), first);
  await press("d");
  assert.match(await current.innerText(), /Change/);
  await page.locator(".diff-line.added").first().waitFor();
  await press("e");
  assert.match(await current.innerText(), /Error/);
  await press("J");
  assert.match(await current.innerText(), /You/);
  await press("G", "o", "o", "g");
  await press("v");
  await page.waitForFunction(() => document.querySelectorAll(".row.kind-tool_use").length === 0);
  await press("v", "v");
  await press("f");
  await page.keyboard.type("threshold");
  await press("Enter");
  await page.getByText(/\d+ of \d+ match/).waitFor();
  const at = await current.innerText();
  await press("n");
  assert.notEqual(await current.innerText(), at);
  await press("c");
  await page.getByText("in the clipboard").waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^throughline resume /);
  await page.getByRole("tab", { name: "Turns" }).press("Enter");
  await page.locator(".turns li").first().waitFor();
  await inspect("session-turns");
  // The matches of the search are visible although their records are folded.
  assert.match(await current.locator("mark").first().innerText(), /threshold/i);
  await page.getByRole("tab", { name: "Files" }).press("Enter");
  await page.locator(".file-list .link").first().press("Enter");
  await page.waitForFunction(() => document.querySelector(".row.kind-artifact[aria-current]"));
});

await journey("a session is named, starred and shared after a review of its marks", async () => {
  await page.goto(`${origin}/ui/?q=Deploy+fails+with+401&agent=claude`);
  await page.locator(".group h2 a").first().press("Enter");
  await current.waitFor();
  await press("*");
  await page.getByText("Starred").waitFor();
  await page.getByRole("button", { name: "Rename" }).press("Enter");
  await page.getByRole("textbox", { name: "Name" }).fill("The deploy with the secrets");
  await page.getByRole("textbox", { name: "Tags" }).fill("ops");
  await press("Enter");
  await page.getByRole("heading", { name: "The deploy with the secrets" }).waitFor();
  await page.getByRole("button", { name: "Share" }).press("Enter");
  await page.locator(".marks .redacted").first().waitFor();
  await inspect("share");
  await page.locator(".marks input").first().press("Space");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as HTML" }).press("Enter");
  const saved = readFileSync(await (await download).path(), "utf8");
  assert.match(saved, /\[redacted:/);
  assert.doesNotMatch(saved, /<script/i);
  await press("1");
  await page.getByRole("button", { name: "★ Starred" }).press("Enter");
  await page.locator(".sessions .title", { hasText: "The deploy with the secrets" }).waitFor();
  // The same keys as in the terminal: 2 is the session that was open last.
  await press("2");
  await page.getByRole("heading", { name: "The deploy with the secrets" }).waitFor();
  await current.waitFor();
  await press("#");
  await page.getByRole("textbox", { name: "Tags" }).and(page.locator(":focus")).fill("ops staging");
  await press("Enter");
  await page.locator(".session-title .tag", { hasText: "staging" }).waitFor();
  await press("R");
  await page.getByRole("textbox", { name: "Name" }).and(page.locator(":focus")).fill("");
  await press("Enter");
  await page.getByRole("heading", { name: "The deploy with the secrets" }).waitFor({ state: "detached" });
  await press("A");
  await page.locator(".session-title .tag", { hasText: "archived" }).waitFor();
  await page.getByRole("button", { name: "Undo" }).press("Enter");
  await page.locator(".session-title .tag", { hasText: "archived" }).waitFor({ state: "detached" });
});

await journey("a subagent opens in place, and a compaction says what it took", async () => {
  await page.goto(`${origin}/ui/?q=Spawn+a+coverage+analysis+agent`);
  await page.locator(".group h2 a").first().press("Enter");
  await page.getByRole("button", { name: "Subagent" }).press("Enter");
  await page.locator(".subagent-records .row").first().waitFor();
  await press("s");
  await page.getByText("parent session").waitFor();
  await press("u");
  await page.goto(`${origin}/ui/s/claude:compacted-1`);
  await page.locator(".compaction").waitFor();
  await page.locator(".compaction summary").press("Enter");
  await page.getByText("not in the summary", { exact: true }).first().waitFor();
  await inspect("compaction");
});

await journey("a new record of an open session appears by itself", async () => {
  await page.goto(`${origin}/ui/s/claude:live-1`);
  await current.waitFor();
  await press("t");
  await page.evaluate(async () => {
    const headers = { authorization: `Bearer ${sessionStorage.getItem("throughline-token")}`, "content-type": "application/json" };
    const body = JSON.stringify({ session_id: "claude:live-1", type: "assistant", content: "The live record has come", workspace: "/home/dev/proj" });
    await fetch("/memory/record", { method: "POST", headers, body });
  });
  await page.locator(".row", { hasText: "The live record has come" }).waitFor();
});

await journey("a passage becomes a fact in two keys, and a pin in one", async () => {
  await page.goto(`${origin}/ui/?q=reorder+threshold&agent=claude`);
  await page.locator(".hit").first().press("Enter");
  await current.waitFor();
  await press("g", "a");
  await page.getByRole("dialog").waitFor();
  await inspect("add");
  await press("Enter");
  await page.getByText("Added to memory").waitFor();
  await press("p");
  await page.getByText("Pinned").waitFor();
  await press("3");
  await page.getByRole("heading", { name: "Rules and pins" }).waitFor();
});

await journey("a fact is edited with its history, forgotten, and forgetting is undone", async () => {
  await press("a");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.type("The quokka service listens on port 7001");
  await press("Enter");
  const fact = page.locator(".fact", { hasText: "quokka" });
  await fact.waitFor();
  await fact.getByRole("button", { name: "Edit" }).press("Enter");
  await page.getByLabel("The fact", { exact: true }).fill("The quokka service listens on port 7002");
  await page.getByRole("button", { name: "Save" }).press("Enter");
  const changed = page.locator(".fact", { hasText: "7002" });
  await changed.waitFor();
  await changed.getByRole("button", { name: "Evidence" }).press("Enter");
  await changed.locator("del", { hasText: "7001" }).waitFor();
  await inspect("memory");
  await changed.getByRole("button", { name: "Forget" }).press("Enter");
  await changed.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).press("Enter");
  await changed.waitFor();
});

await journey("deletions need the token of their own dry run", async () => {
  const status = await page.evaluate(async () => {
    const headers = { authorization: `Bearer ${sessionStorage.getItem("throughline-token")}` };
    const { facts } = await (await fetch("/memory/facts?limit=1", { headers })).json();
    const plain = await fetch(`/memory/fact/${facts[0].id}`, { method: "DELETE", headers });
    const wrong = await fetch(`/memory/fact/${facts[0].id}?confirm=0123`, { method: "DELETE", headers });
    const daemon = await fetch("/daemon/stop", { method: "POST", headers });
    return [plain.status, wrong.status, daemon.status];
  });
  assert.deepEqual(status, [400, 400, 401]);
  errors.length = 0;
});

await journey("the ledger shows what was given, takes a verdict, and tries a prompt without a record", async () => {
  await press("4");
  await page.getByRole("heading", { name: "What agents were given" }).waitFor();
  await page.locator(".given").first().waitFor();
  await page.locator(".given-prompt a", { hasText: "reorder threshold in config.toml" }).waitFor();
  const before = await page.locator(".given").count();
  await page.locator(".given").first().focus();
  await press("+");
  await page.getByText("Rated good").waitFor();
  await page.waitForFunction(() => document.querySelector('[aria-label="Good"][aria-pressed="true"]'));
  await page.getByLabel("A prompt to try").fill("Which port does the quokka service listen on?");
  await press("Enter");
  await page.getByLabel("What this prompt would get").waitFor();
  await inspect("ledger");
  await page.reload();
  await page.locator(".given").first().waitFor();
  assert.equal(await page.locator(".given").count(), before);
  await page.getByRole("button", { name: "Given nothing" }).press("Enter");
  await page.getByText("nothing in memory matches the prompt").first().waitFor();
  await inspect("ledger-silent");
});

await journey("a switch shows the lines that change, and is undone", async () => {
  await page.getByRole("button", { name: "Switches" }).press("Enter");
  const toggle = page.getByRole("switch", { name: "Give memory in /home/dev/proj" });
  await toggle.press("Enter");
  await page.getByText('+ off = ["/home/dev/proj"]').waitFor();
  await inspect("switch");
  await page.getByRole("button", { name: "Change", exact: true }).press("Enter");
  await page.locator('[role="switch"][aria-label="Give memory in /home/dev/proj"][aria-checked="false"]').waitFor();
  await page.getByRole("button", { name: "Undo" }).press("Enter");
  await page.locator('[role="switch"][aria-label="Give memory in /home/dev/proj"][aria-checked="true"]').waitFor();
  const sensitive = (checked) => page.locator(`[role="switch"][aria-label="Give texts that may contain a secret in /home/dev/proj"][aria-checked="${checked}"]`);
  await sensitive(false).press("Enter");
  await page.getByText('+ sensitive_in = ["/home/dev/proj"]').waitFor();
  await page.getByRole("button", { name: "Change", exact: true }).press("Enter");
  await sensitive(true).waitFor();
  await inspect("switches");
  await page.getByRole("button", { name: "Undo" }).press("Enter");
  await sensitive(false).waitFor();
});

await journey("usage, files, patterns, what is kept and settings are shown", async () => {
  await press("5");
  await page.locator(".calendar rect").first().waitFor();
  await page.locator("td.wide").first().waitFor();
  await inspect("usage");
  await press("8");
  await page.getByLabel("What to ask about").fill("inventory.py");
  await press("Enter");
  await page.locator(".answers li").first().waitFor();
  await inspect("files");
  await press("Escape");
  await page.getByRole("heading", { name: "Files, commands, errors" }).click();
  await press("7");
  await page.getByRole("heading", { name: "Patterns" }).waitFor();
  await page.locator(".pattern, .empty").first().waitFor();
  await inspect("patterns");
  await press("6");
  await page.getByRole("heading", { name: "How well its memory works" }).waitFor();
  await page.getByLabel("Workspace", { exact: true }).selectOption("/home/dev/proj");
  // Grok worked in no other workspace, so this is no longer the list of the one before.
  await page.locator(".capsule summary", { hasText: "Grok CLI" }).press("Enter");
  await page.locator(".capsule[open] pre").first().waitFor();
  await page.locator(".budget").waitFor();
  await page.getByText("working memory hits").waitFor();
  await inspect("keep");
  await press("9");
  await page.getByText("injection.gate").waitFor();
  await inspect("settings");
});

await journey("the palette and the keys open, and single keys can be switched off", async () => {
  await page.getByRole("switch", { name: "Single keys" }).press("Enter");
  await press("2");
  assert.match(page.url(), /settings/);
  await press("Control+k");
  await page.getByRole("option").first().waitFor();
  await page.keyboard.type("memory");
  await inspect("palette");
  await press("Enter");
  await page.getByRole("heading", { name: "Memory", exact: true }).waitFor();
  await page.evaluate(() => localStorage.clear());
  await page.reload();
  await page.getByRole("heading", { name: "Memory", exact: true }).waitFor();
  await press("?");
  await page.getByRole("dialog").waitFor();
  await inspect("keys");
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

await journey("an attack in a transcript does nothing", async () => {
  for (const words of ["zzattack", "zzlong"]) {
    await page.goto(`${origin}/ui/?q=${words}`);
    await page.locator(".hit").first().press("Enter");
    await current.waitFor();
    await press("Enter");
    await page.locator(".row").first().waitFor();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.equal(await page.evaluate(() => window.attacked), undefined);
    assert.equal(await page.locator("main img, main script, main iframe").count(), 0);
    assert.equal(await page.locator("main a[href^='javascript']").count(), 0);
  }
  await page.goto(`${origin}/ui/?q=zzattack`);
  await page.locator(".hit").first().press("Enter");
  await page.locator(".hidden-character").first().waitFor();
  await page.locator(".row a[rel~='noreferrer']").first().waitFor();
});

await journey("narrow screens, zoom and forced colors keep everything reachable", async () => {
  const paths = ["/ui/", "/ui/?q=threshold", "/ui/s/claude:compacted-1", "/ui/memory", "/ui/given", "/ui/given?tab=switches", "/ui/usage", "/ui/keep", "/ui/settings"];
  // 640 pixels are what a window of 1280 pixels has at a zoom of 200 %.
  for (const width of [320, 640]) {
    await page.setViewportSize({ width, height: 640 });
    for (const path of paths) {
      await page.goto(origin + path);
      await page.locator("main h1").first().waitFor({ state: "attached" });
      await page.waitForFunction(() => !document.querySelector(".skeleton"));
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(overflow, 0, `${path} at ${width} pixels`);
    }
  }
  await page.goto(`${origin}/ui/s/claude:compacted-1`);
  await page.getByRole("button", { name: "About" }).press("Enter");
  await page.getByRole("tab", { name: "Turns" }).waitFor();
  await inspect("session-about");
  await page.setViewportSize({ width: 320, height: 640 });
  await page.goto(`${origin}/ui/`);
  await page.locator(".sessions li").first().waitFor();
  await inspect("narrow");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ forcedColors: "active" });
  await page.goto(`${origin}/ui/s/claude:compacted-1`);
  await current.waitFor();
  const outline = await current.evaluate((row) => getComputedStyle(row).outlineStyle);
  assert.equal(outline, "solid");
  await page.emulateMedia({ forcedColors: null });
});

await journey("an address without a session says what was not found", async () => {
  await page.goto(`${origin}/ui/s/claude:nosuch`);
  await page.getByText('no session begins with "claude:nosuch"').waitFor();
  errors.length = 0;
});

await journey("a daemon that does not answer is said, and so is that it came back", async () => {
  await page.goto(`${origin}/ui/memory`);
  await page.locator(".fact").first().waitFor();
  const isRequest = (address) => !address.pathname.startsWith("/ui");
  await context.route(isRequest, (route) => route.abort());
  await press("1");
  await page.getByText("The daemon does not answer").waitFor();
  await page.locator(".load-failed").waitFor();
  await context.unroute(isRequest);
  await page.getByRole("button", { name: "Try again" }).press("Enter");
  await page.locator(".sessions li").first().waitFor();
  await page.getByText("The daemon does not answer").waitFor({ state: "detached" });
  errors.length = 0;
});

await journey("a page of another origin can neither read, post nor frame", async () => {
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end("<!doctype html><title>other</title>"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const other = await browser.newPage();
  await other.goto(`http://127.0.0.1:${server.address().port}/`);
  const attempts = await other.evaluate(async (target) => {
    const tried = async (path, options) => fetch(target + path, options).then((answer) => `${answer.type} ${answer.status}`, () => "failed");
    const frame = document.createElement("iframe");
    frame.src = `${target}/ui/`;
    document.body.append(frame);
    await new Promise((resolve) => (frame.onload = resolve));
    return [await tried("/sessions"), await tried("/ui/"), await tried("/ui/session", { method: "POST", body: "{}" })];
  }, origin);
  assert.deepEqual(attempts, ["failed", "failed", "failed"]);
  const framed = other.frames().filter((frame) => frame !== other.mainFrame());
  assert.equal(framed.length, 1);
  assert.match(await framed[0].locator("body").innerText(), /cross-origin requests are not allowed/);
  await other.close();
  server.close();
});

assert.deepEqual(foreign, [], "requests to other hosts");
assert.deepEqual(violations, [], "violations of the policy");
assert.deepEqual(errors.filter((text) => !text.includes("401")), [], "errors in the page");
await browser.close();
