// Measures the page: first paint, hits while typing, scrolling a long timeline, opening a hit, a live
// record, and the heap. An empty page is measured in the same run.
//
// Usage: node bench.mjs URL MINUTES

import { createServer } from "node:http";
import { chromium } from "playwright-core";

const [url, minutes] = process.argv.slice(2);
const origin = new URL(url).origin;
const LONG = "claude:00000000-0000-4000-8000-000000000000";

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--enable-precise-memory-info"] });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
context.setDefaultTimeout(60_000);
const page = await context.newPage();

const sorted = (values) => [...values].sort((a, b) => a - b);
const share = (values, part) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * part))];
const line = (name, text) => console.log(`${name.padEnd(26)} ${text}`);
const times = (values) => `p50 ${share(values, 0.5).toFixed(1)} p95 ${share(values, 0.95).toFixed(1)} ms`;

const empty = createServer((_, response) => response.setHeader("content-type", "text/html")
  .end("<!doctype html><title>empty</title><body><div id=a style='height:600px;overflow:auto'><div style='height:4000000px'>text</div></div>"));
await new Promise((resolve) => empty.listen(0, "127.0.0.1", resolve));
const emptyUrl = `http://127.0.0.1:${empty.address().port}/`;

/** Opens an address several times; returns the times of the first contentful paint. */
async function paints(target, address) {
  const found = [];
  for (let run = 0; run < 10; run++) {
    await target.goto(address);
    await target.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
    found.push(await target.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
  }
  return found;
}

/** Scrolls an element for some frames; returns the time of each frame and the long tasks. */
function scroll(target, selector, step) {
  return target.evaluate(([selector, step]) => new Promise((resolve) => {
    const box = document.querySelector(selector);
    box.dispatchEvent(new WheelEvent("wheel", { bubbles: true }));
    const frames = [];
    const tasks = [];
    const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration)));
    observer.observe({ type: "longtask" });
    let last = performance.now();
    const next = (now) => {
      frames.push(now - last);
      last = now;
      box.scrollTop += step;
      if (frames.length < 400) requestAnimationFrame(next);
      else { observer.disconnect(); resolve({ frames: frames.slice(1), tasks }); }
    };
    requestAnimationFrame(next);
  }), [selector, step]);
}

await page.goto(url);
await page.getByRole("searchbox").first().waitFor();
const other = await browser.newPage();
const emptyPaints = await paints(other, emptyUrl);
const ownPaints = await paints(page, `${origin}/ui/`);
line("first contentful paint", `${times(ownPaints)}; empty page ${times(emptyPaints)}`);

// From a key to the painted answer of that key.
await page.goto(`${origin}/ui/`);
await page.locator(".sessions li").first().waitFor();
await page.evaluate(() => {
  window.keys = [];
  let pressed;
  const input = document.getElementById("search");
  input.addEventListener("input", () => (pressed = { at: performance.now(), q: input.value }), true);
  const fetchNow = window.fetch;
  window.fetch = async (path, options) => {
    const answer = await fetchNow(path, options);
    const asked = new URL(path, location.href);
    if (asked.pathname === "/memory/search" && asked.searchParams.has("typing") && asked.searchParams.get("q") === pressed?.q) {
      const { at } = pressed;
      const json = answer.json.bind(answer);
      answer.json = async () => {
        const body = await json();
        setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => window.keys.push(performance.now() - at))));
        return body;
      };
    }
    return answer;
  };
});
for (const words of ["rebuild cache", "invoice planner", "drain socket17", "merge tenant", "metric vector"]) {
  await page.getByRole("searchbox").first().fill("");
  for (const key of words) {
    const before = await page.evaluate(() => window.keys.length);
    await page.keyboard.type(key);
    if (key !== " ") await page.waitForFunction((count) => window.keys.length > count, before, { timeout: 5_000 }).catch(() => undefined);
  }
}
const keys = await page.evaluate(() => window.keys);
line("key to painted hits", `${times(keys)}, ${keys.length} keys`);

// Opening a hit anywhere in the long session.
const token = await page.evaluate(() => sessionStorage.getItem("throughline-token"));
const ask = async (path) => (await fetch(origin + path, { headers: { authorization: `Bearer ${token}` } })).json();
const { total } = await ask(`/sessions/${LONG}/timeline?limit=1`);
const opened = [];
for (let run = 0; run < 20; run++) {
  const { records } = await ask(`/sessions/${LONG}/timeline?from=${Math.floor((total * (run * 7 % 20)) / 20)}&limit=1&cut=1`);
  await page.goto(`${origin}/ui/?q=zz${run}`);
  await page.getByRole("searchbox").first().waitFor();
  opened.push(await page.evaluate(([path, id]) => new Promise((resolve) => {
    const start = performance.now();
    const link = document.createElement("a");
    link.href = path;
    document.body.append(link);
    link.click();
    link.remove();
    const look = () => {
      const row = document.querySelector(".row[aria-current]");
      if (row && row.getAttribute("aria-posinset") === String(id + 1)) requestAnimationFrame(() => resolve(performance.now() - start));
      else requestAnimationFrame(look);
    };
    look();
  }), [`/ui/s/${LONG}?at=${records[0].id}`, records[0].n]));
}
line("open a hit in place", `${times(opened)}, session of ${total} records`);

// Scrolling the long session.
await page.goto(`${origin}/ui/s/${LONG}`);
await page.locator(".row.kind-prompt").first().waitFor();
const own = await scroll(page, ".timeline", 60);
await other.goto(emptyUrl);
const none = await scroll(other, "#a", 60);
const longest = (run) => (run.tasks.length ? `${Math.max(...run.tasks).toFixed(0)} ms` : "none");
line("scroll, time of a frame", `${times(own.frames)}, longest task ${longest(own)}; empty page ${times(none.frames)}, longest task ${longest(none)}`);
const jump = await page.evaluate(() => new Promise((resolve) => {
  const start = performance.now();
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "G", bubbles: true }));
  const look = () => {
    const row = document.querySelector(".row[aria-current]");
    if (row && row.getAttribute("aria-posinset") === row.getAttribute("aria-setsize")) requestAnimationFrame(() => resolve(performance.now() - start));
    else requestAnimationFrame(look);
  };
  look();
}));
line("jump to the end", `${jump.toFixed(1)} ms`);

// A live record.
const live = [];
await page.keyboard.press("t");
for (let run = 0; run < 5; run++) {
  const text = `live record ${run}`;
  const start = Date.now();
  await fetch(`${origin}/memory/record`, {
    method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ session_id: LONG, type: "assistant", content: text, workspace: "/home/dev/bench", ts: Date.now() }),
  });
  await page.locator(".row", { hasText: text }).waitFor();
  live.push(Date.now() - start);
}
line("live record on screen", times(live));

// The heap after some time of use.
const end = Date.now() + 60_000 * Number(minutes);
while (Date.now() < end) {
  await page.keyboard.press("g");
  await scroll(page, ".timeline", 900);
  await page.keyboard.press("G");
}
const session = await context.newCDPSession(page);
await session.send("HeapProfiler.collectGarbage");
const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
line(`heap after ${minutes} min`, `${(heap / 1e6).toFixed(1)} MB, ${nodes} elements`);

const size = async (name) => (await (await fetch(`${origin}/ui/${name}`)).arrayBuffer()).byteLength;
const firstLoad = (await size("app.js")) + (await size("shared.js"));
const all = firstLoad + (await size("more.js")) + (await size("highlight.js"));
line("script", `${(firstLoad / 1e3).toFixed(1)} kB on the first load, ${(all / 1e3).toFixed(1)} kB in all`);
await browser.close();
empty.close();
