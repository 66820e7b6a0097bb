// Journeys through the page in a real browser, with the keyboard alone.
//
// Usage: node journeys.mjs URL OTHER_URL PICTURES
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
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
const foreign = [];
const violations = [];
const errors = [];
context.on("request", (request) => {
  if (new URL(request.url()).origin !== origin) foreign.push(request.url());
});
const page = await context.newPage();
page.on("pageerror", (error) => errors.push(String(error)));
page.on("console", (message) => {
  if (message.type() === "error") (message.text().includes("Content Security Policy") ? violations : errors).push(message.text());
});

/** Checks the accessibility of the screen, and takes its picture in both themes. */
async function inspect(name) {
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
    const broken = found.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html).join(" ").slice(0, 300)}`);
    assert.deepEqual(broken, [], `${name} in the ${theme} theme`);
    if (pictures && pictures !== "-") await page.screenshot({ path: `${pictures}/${name}-${theme}.png` });
  }
  await page.emulateMedia({ colorScheme: null });
}

async function journey(name, steps) {
  try {
    await steps();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`failed ${name}`);
    console.log(await page.locator("body").innerText().catch(() => "no page"));
    throw error;
  }
}

page.on("console", (message) => {
  if (message.type() === "warning") console.log(`the page warns: ${message.text()}`);
});

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
});

await journey("sessions are listed, and a search shows hits as it is typed", async () => {
  await inspect("search-empty");
  await page.keyboard.type("thresh");
  await page.locator(".hit").first().waitFor();
  assert.match(await page.locator(".hit mark").first().innerText(), /thresh/i);
  await inspect("search");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.locator(".row[aria-current]").waitFor();
});

await journey("a hit opens in its place, and keys move through the session", async () => {
  assert.match(page.url(), /\/ui\/s\/.*at=/);
  await page.locator(".row.kind-prompt").first().waitFor();
  await inspect("session");
  await page.keyboard.press("g");
  const first = await page.locator(".row[aria-current]").innerText();
  await page.keyboard.press("G");
  await page.waitForFunction((before) => document.querySelector(".row[aria-current]")?.innerText !== before, first);
  await page.keyboard.press("f");
  await page.keyboard.type("threshold");
  await page.keyboard.press("Enter");
  await page.getByText(/\d+ matches/).waitFor();
  await page.keyboard.press("c");
  await page.getByText("in the clipboard").waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^throughline resume /);
});

await journey("a passage becomes a pin in two keys", async () => {
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.getByText("Pinned").waitFor();
  await page.keyboard.press("2");
  await page.getByRole("heading", { name: "Memory" }).waitFor();
  await page.locator(".fact").first().waitFor();
  await inspect("memory");
});

await journey("a fact is added, edited, forgotten, and forgetting is undone", async () => {
  await page.getByLabel("A new fact").focus();
  await page.keyboard.type("The quokka service listens on port 7001");
  await page.keyboard.press("Enter");
  const fact = page.locator(".fact", { hasText: "quokka" });
  await fact.waitFor();
  await fact.getByRole("button", { name: "Edit" }).focus();
  await page.keyboard.press("Enter");
  const box = page.getByLabel("The fact", { exact: true });
  await box.fill("The quokka service listens on port 7002");
  await fact.getByRole("button", { name: "Save" }).press("Enter").catch(() => page.getByRole("button", { name: "Save" }).press("Enter"));
  await page.locator(".fact", { hasText: "7002" }).waitFor();
  await page.locator(".fact", { hasText: "7002" }).getByRole("button", { name: "Forget" }).press("Enter");
  await page.getByRole("button", { name: "Undo" }).waitFor();
  await page.waitForFunction(() => !document.querySelector(".facts")?.innerText.includes("7002"));
  await page.getByRole("button", { name: "Undo" }).press("Enter");
  await page.locator(".fact", { hasText: "7002" }).waitFor();
});

await journey("a prompt is tried without being recorded", async () => {
  await page.locator("body").press("Escape").catch(() => {});
  await page.goto(`${origin}/ui/given`);
  await page.getByRole("heading", { name: "What agents were given" }).waitFor();
  await page.getByLabel("A prompt to try").fill("Which port does the quokka service listen on?");
  await page.getByLabel("The folder of the session").fill("/home/dev/proj");
  await page.keyboard.press("Enter");
  await page.getByLabel("What this prompt would get").waitFor();
  await inspect("given");
  await page.reload();
  await page.getByText("Nothing was given yet").waitFor();
});

await journey("usage and what is kept are shown", async () => {
  await page.keyboard.press("4");
  await page.locator("table").first().waitFor();
  await inspect("usage");
  await page.keyboard.press("5");
  await page.getByRole("heading", { name: "What is kept" }).waitFor();
  await page.locator("table").first().waitFor();
  await inspect("keep");
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await inspect("keys");
  await page.keyboard.press("Escape");
});

await journey("an attack in a transcript does nothing", async () => {
  await page.goto(`${origin}/ui/?q=zzattack`);
  await page.locator(".hit").first().waitFor();
  await page.locator(".hit").first().click();
  await page.locator(".row").first().waitFor();
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(() => window.attacked), undefined);
  assert.equal(await page.locator("main img, main script, main iframe").count(), 0);
  assert.ok((await page.locator(".hidden-character").count()) > 0, "hidden characters are drawn");
});

await journey("narrow screens and zoom keep everything reachable", async () => {
  await page.setViewportSize({ width: 320, height: 640 });
  await page.goto(`${origin}/ui/`);
  await page.locator(".sessions li").first().waitFor();
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(overflow, 0);
  await inspect("search-narrow");
  await page.setViewportSize({ width: 1280, height: 800 });
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
    let framed = "blocked";
    try { framed = frame.contentDocument ? "blocked" : "cross"; } catch { framed = "cross"; }
    return [await tried("/sessions"), await tried("/ui/"), await tried("/ui/session", { method: "POST", body: "{}" }), framed];
  }, origin);
  assert.deepEqual(attempts.slice(0, 3), ["failed", "failed", "failed"]);
  await other.close();
  server.close();
});

assert.deepEqual(foreign, [], "requests to other hosts");
assert.deepEqual(violations, [], "violations of the policy");
assert.deepEqual(errors.filter((text) => !text.includes("401")), [], "errors in the page");
await browser.close();
