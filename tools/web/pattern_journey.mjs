// Decides about a pattern in the page, with the keyboard alone.
//
// Usage: node pattern_journey.mjs URL ID
//   URL   the address that `throughline web --print` printed
//   ID    the pattern; its repository has no catalog yet

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [url, id] = process.argv.slice(2);
const origin = new URL(url).origin;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
context.setDefaultTimeout(20_000);
const page = await context.newPage();
const errors = [];
page.on("pageerror", (error) => errors.push(String(error.stack ?? error)));

/** Moves the focus with Tab until it is on the named button, and presses Enter. */
async function pressButton(name) {
  for (let presses = 0; presses < 60; presses++) {
    const focused = await page.evaluate(() => document.activeElement?.innerText?.trim() ?? "");
    if (focused === name) return page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${name}`);
}

/** Checks the accessibility of the screen. */
async function checkAccessibility(name) {
  const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
  assert.deepEqual(found.violations.map((rule) => rule.id), [], name);
}

try {
  await page.goto(url);
  await page.getByRole("searchbox").first().waitFor();
  await page.goto(`${origin}/ui/patterns`);
  const row = page.locator(`a.pattern[href="/ui/patterns/${id}"]`);
  await row.waitFor();
  assert.match(await row.innerText(), /needs a decision/);
  await row.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Evidence" }).waitFor();
  await page.locator(".answers li").first().waitFor();
  await checkAccessibility("a pattern");

  await page.getByLabel("Why").focus();
  await page.keyboard.type("not now");
  await pressButton("Reject");
  await page.getByText("Decided: reject").waitFor();
  await page.getByText("reject: not now").waitFor();

  await pressButton("Approve…");
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  await dialog.getByText(`${id}.md`).first().waitFor();
  await dialog.locator(".added").first().waitFor();
  await checkAccessibility("the diff of an approval");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await pressButton("Approve…");
  await dialog.waitFor();
  await pressButton("Approve");
  await page.getByText("Decided: approve").waitFor();

  await pressButton("Withdraw…");
  await dialog.waitFor();
  await pressButton("Withdraw");
  await page.getByText("Decided: withdraw").waitFor();
  await page.goto(`${origin}/ui/patterns`);
  await row.waitFor();
  assert.match(await row.innerText(), /withdrawn/);
  assert.deepEqual(errors, []);
  console.log("ok a pattern is decided with the keyboard");
} catch (error) {
  console.log(`failed at ${page.url()}`);
  console.log(await page.locator("body").innerText().catch(() => "no page"));
  console.log(errors.join("\n"));
  throw error;
} finally {
  await browser.close();
}
